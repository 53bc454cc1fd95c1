/*
 * op_def.c - see op_def.h.
 */
#include "daemon/eager/parts/op_def.h"

#include "common/proto/graphdef.h"
#include "config/limits.h"
#include "daemon/eager/graph_ends.h"
#include "daemon/eager/parts/part_def.h"
#include "daemon/eager/parts/tasks.h"
#include "daemon/eager/single_op.h"
#include "daemon/rewrite/added_node.h"

#include <stdio.h>

static struct tfd_str end_name(char text[TFD_EAGER_END_NAME_MAX],
                               const char *prefix, int number)
{
    snprintf(text, TFD_EAGER_END_NAME_MAX, "%s%d", prefix, number);
    return tfd_str_of(text);
}

/* ---- Values -------------------------------------------------------------- */

static enum tfd_code put_value(const struct tfd_eager_context *c,
                               const struct tfd_eager_operation *o, int i,
                               struct tfd_bytes *def, struct tfd_status *st)
{
    struct tfd_str device = o->inputs[i].device;
    int at = tfd_eager_tasks_find(
        c->tasks, device.size ? device : tfd_str_of(o->on->name));
    char name[TFD_EAGER_END_NAME_MAX];
    struct tfd_added_node a;
    struct tfd_nodedef node = {
        .name = end_name(name, TFD_EAGER_CUT_ARG, i),
        .op = TFD_STR("Placeholder"),
    };

    if (at < 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        TFD_STR_FMT " unknown device.", TFD_STR_ARG(device));
    if (o->inputs[i].dtype == 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "input %d of " TFD_STR_FMT " lies on " TFD_STR_FMT
                        " and does not say its type",
                        i, TFD_STR_ARG(o->name), TFD_STR_ARG(device));
    node.device = tfd_str_of(c->tasks->devices.devices[at].attributes.name);
    tfd_added_node_init(&a);
    tfd_attr_put_type(tfd_added_node_attr(&a, "dtype"), o->inputs[i].dtype);
    tfd_added_node_put(&a, def, &node);
    return TFD_OK;
}

/* ---- The op -------------------------------------------------------------- */

static const char *value_name(char *text, int input)
{
    snprintf(text, TFD_EAGER_END_NAME_MAX, "%s%d", TFD_EAGER_CUT_ARG, input);
    return text;
}

static enum tfd_code put_result(const struct tfd_eager_operation *o, int i,
                                struct tfd_bytes *def, struct tfd_status *st)
{
    char name[TFD_EAGER_END_NAME_MAX];
    struct tfd_str in;
    struct tfd_bytes from;
    struct tfd_nodedef node = {
        .name = end_name(name, TFD_EAGER_CUT_RESULT, i),
        .op = TFD_STR("Identity"),
        .device = TFD_STR_EMPTY,
        .in = &in,
        .in_count = 1,
    };
    enum tfd_code rc;

    tfd_bytes_init(&from, 2 * TFD_NAME_SIZE_MAX);
    tfd_bytes_add_str(&from, o->name);
    if (i > 0)
        tfd_bytes_printf(&from, ":%d", i);
    in = tfd_bytes_view(&from);
    rc = tfd_bytes_ok(&from, "the name of an op", st);
    if (rc == TFD_OK)
        tfd_graphdef_put(def, &node);
    tfd_bytes_deinit(&from);
    return rc;
}

enum tfd_code tfd_eager_op_def(const struct tfd_eager_context *c,
                               const struct tfd_eager_operation *o,
                               struct tfd_bytes *def, int *result_count,
                               struct tfd_status *st)
{
    bool has_library;

    TFD_TRY(tfd_eager_single_op_results(c, o, result_count, st));
    for (int i = 0; i < o->in_count; i++)
        TFD_TRY(put_value(c, o, i, def, st));
    TFD_TRY(tfd_eager_single_op_put(o, value_name, def, st));
    for (int i = 0; i < *result_count; i++)
        TFD_TRY(put_result(o, i, def, st));
    tfd_eager_put_versions(def);
    TFD_TRY(tfd_eager_single_op_library(c, o, def, &has_library, st));
    return tfd_bytes_ok(def, "an op on several tasks", st);
}
