/*
 * op_desc.c - from a description to a node; see op_desc.h.  Inputs are in
 * op_desc_inputs.c.
 */
#include "client/c_api/op_desc.h"

#include "common/graph/attr.h"
#include "common/graph/function.h"
#include "common/graph/unknown_ops.h"
#include "config/limits.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Attributes of one node hold its constant, as large as a message may be. */
#define ARENA_MAX ((size_t)TFD_GRAPH_SIZE_MAX)
#define LIST_SIZE_MAX ((size_t)16 << 20) /* far above the counts' limits */
#define LINES_SIZE_MAX ((size_t)TFD_STATUS_TEXT_MAX) /* more is not shown */

void tfd_op_desc_value_init(struct tfd_bytes *b)
{
    tfd_bytes_init(b, TFD_CAPI_MESSAGE_MAX);
}

TF_OperationDescription *tfd_op_desc_new(TF_Graph *g, struct tfd_str op,
                                         struct tfd_str name)
{
    TF_OperationDescription *d = calloc(1, sizeof(*d));

    if (!d)
        return NULL;
    d->graph = g;
    tfd_arena_init(&d->arena, ARENA_MAX);
    tfd_bytes_init(&d->edges, LIST_SIZE_MAX);
    tfd_bytes_init(&d->controls, LIST_SIZE_MAX);
    tfd_bytes_init(&d->attrs, LIST_SIZE_MAX);
    tfd_bytes_init(&d->colocation, LIST_SIZE_MAX);
    tfd_bytes_init(&d->misuse, LINES_SIZE_MAX);
    tfd_bytes_init(&d->errors, LINES_SIZE_MAX);
    tfd_lock(&g->lock);
    d->def = tfd_function_op(g->graph, op);
    tfd_unlock(&g->lock);
    d->op = tfd_arena_str(&d->arena, op);
    d->name = tfd_arena_str(&d->arena, name);
    d->device = TFD_STR_EMPTY;
    if (!d->op.data || !d->name.data) {
        tfd_op_desc_free(d);
        return NULL;
    }
    return d;
}

void tfd_op_desc_free(TF_OperationDescription *desc)
{
    if (!desc)
        return;
    tfd_bytes_deinit(&desc->edges);
    tfd_bytes_deinit(&desc->controls);
    tfd_bytes_deinit(&desc->attrs);
    tfd_bytes_deinit(&desc->colocation);
    tfd_bytes_deinit(&desc->misuse);
    tfd_bytes_deinit(&desc->errors);
    tfd_arena_deinit(&desc->arena);
    free(desc);
}

/* ---- Attributes ---------------------------------------------------------- */

static struct tfd_attr *attrs_of(TF_OperationDescription *d, size_t *count)
{
    *count = d->attrs.size / sizeof(struct tfd_attr);
    return (struct tfd_attr *)(void *)d->attrs.data;
}

static struct tfd_attr *find_attr(TF_OperationDescription *d,
                                  struct tfd_str name)
{
    size_t count;
    struct tfd_attr *attrs = attrs_of(d, &count);

    for (size_t i = 0; i < count; i++)
        if (tfd_str_eq(attrs[i].name, name))
            return &attrs[i];
    return NULL;
}

/* Two messages may differ and say the same; of tensors the text shows little.
 */
static void check_same_attr(TF_OperationDescription *d,
                            const struct tfd_attr *old, struct tfd_str value)
{
    struct tfd_pb_field f, g;
    struct tfd_bytes was, is;
    bool same_kind = tfd_attr_read(old->value, &f, NULL) == TFD_OK &&
                     tfd_attr_read(value, &g, NULL) == TFD_OK &&
                     f.tag == g.tag && f.tag != tfd_attr_tag(TFD_ATTR_TENSOR);

    if (tfd_str_eq(old->value, value))
        return;
    tfd_bytes_init(&was, LINES_SIZE_MAX);
    tfd_bytes_init(&is, LINES_SIZE_MAX);
    tfd_attr_text(old->value, &was);
    tfd_attr_text(value, &is);
    if (!same_kind || !tfd_str_eq(tfd_bytes_view(&was), tfd_bytes_view(&is)))
        tfd_op_desc_error(d,
                          "Inconsistent values for attr '" TFD_STR_FMT
                          "' " TFD_STR_FMT " vs. " TFD_STR_FMT,
                          TFD_STR_ARG(old->name),
                          TFD_STR_ARG(tfd_bytes_view(&was)),
                          TFD_STR_ARG(tfd_bytes_view(&is)));
    tfd_bytes_deinit(&was);
    tfd_bytes_deinit(&is);
}

void tfd_op_desc_attr(TF_OperationDescription *desc, struct tfd_str name,
                      struct tfd_str value)
{
    const struct tfd_attr *old = find_attr(desc, name);
    struct tfd_attr new;

    if (old) {
        check_same_attr(desc, old, value);
        return;
    }
    new = (struct tfd_attr){tfd_arena_str(&desc->arena, name),
                            tfd_arena_str(&desc->arena, value)};
    if (!new.name.data || !new.value.data)
        tfd_fail(&desc->st, TFD_RESOURCE_EXHAUSTED,
                 "no memory for attribute " TFD_STR_FMT, TFD_STR_ARG(name));
    else
        tfd_bytes_add(&desc->attrs, &new, sizeof(new));
}

void tfd_op_desc_take(TF_OperationDescription *desc, const char *name,
                      struct tfd_bytes *take_value)
{
    if (tfd_bytes_ok(take_value, "an attribute", &desc->st) == TFD_OK)
        tfd_op_desc_attr(desc, tfd_str_of(name), tfd_bytes_view(take_value));
    tfd_bytes_deinit(take_value);
}

/* ---- Colocation ---------------------------------------------------------- */

static int compare_strs(const void *a, const void *b)
{
    return tfd_str_cmp(*(const struct tfd_str *)a, *(const struct tfd_str *)b);
}

void tfd_op_desc_classes(TF_OperationDescription *desc, struct tfd_str value)
{
    struct tfd_attr_list list;
    struct tfd_pb_field f;
    struct tfd_str items, name;
    int64_t count;

    tfd_bytes_clear(&desc->colocation);
    if (tfd_attr_list(value, TFD_ATTR_STRING, &items, &count, NULL) != TFD_OK)
        return;
    list = tfd_attr_list_of(items);
    while (tfd_attr_list_next(&list, &f)) {
        name = tfd_arena_str(&desc->arena, f.bytes);
        if (tfd_arena_check(name.data, "_class", &desc->st) == TFD_OK)
            tfd_bytes_add(&desc->colocation, &name, sizeof(name));
    }
}

/* One sorted list without duplicates, as TensorFlow writes it. */
static enum tfd_code put_classes(TF_OperationDescription *d,
                                 struct tfd_status *st)
{
    struct tfd_str *names;
    struct tfd_bytes value;
    int count, kept = 0;

    if (!d->colocation.size)
        return TFD_OK;
    TFD_TRY(tfd_bytes_ok(&d->colocation, "_class", st));
    names = (struct tfd_str *)(void *)d->colocation.data;
    count = (int)(d->colocation.size / sizeof(*names));
    qsort(names, (size_t)count, sizeof(*names), compare_strs);
    for (int i = 0; i < count; i++)
        if (i == 0 || !tfd_str_eq(names[i], names[kept - 1]))
            names[kept++] = names[i];
    tfd_op_desc_value_init(&value);
    tfd_attr_put_strs(&value, names, kept);
    tfd_op_desc_take(d, "_class", &value);
    return d->st.code == TFD_OK ? TFD_OK : tfd_status_copy(st, &d->st);
}

/* ---- Mistakes ------------------------------------------------------------ */

void tfd_op_desc_error(TF_OperationDescription *desc, const char *fmt, ...)
{
    char text[TFD_STATUS_TEXT_MAX];
    va_list args;

    va_start(args, fmt);
    vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    tfd_bytes_printf(&desc->errors, "%s%s", desc->error_count++ ? "\n" : "",
                     text);
}

static enum tfd_code fail_unknown_op(const TF_OperationDescription *d,
                                     struct tfd_status *st)
{
    struct tfd_status why = TFD_STATUS_INIT;
    struct tfd_unknown_ops unknown;

    tfd_unknown_ops_begin(&unknown, d->graph->graph, d->op);
    (void)tfd_unknown_ops_fail(&unknown, TFD_STR_EMPTY, &why);
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "%s while building NodeDef '" TFD_STR_FMT "'", why.text,
                    TFD_STR_ARG(d->name));
}

/* "... while building NodeDef 'y' using Op<...>", one mistake or several. */
static enum tfd_code check_errors(TF_OperationDescription *d,
                                  struct tfd_status *st)
{
    struct tfd_str lines;
    struct tfd_bytes op;

    if (!d->def)
        return fail_unknown_op(d, st);
    if (d->arg_count < d->def->in_count)
        tfd_op_desc_error(d, "%d inputs specified of %d inputs in Op",
                          d->arg_count, d->def->in_count);
    if (!d->error_count)
        return TFD_OK;
    lines = tfd_bytes_view(&d->errors);
    tfd_bytes_init(&op, TFD_STATUS_TEXT_MAX);
    tfd_op_summary(d->def, &op);
    if (d->error_count == 1)
        tfd_fail(st, TFD_INVALID_ARGUMENT,
                 TFD_STR_FMT " while building NodeDef '" TFD_STR_FMT
                             "' using " TFD_STR_FMT,
                 TFD_STR_ARG(lines), TFD_STR_ARG(d->name),
                 TFD_STR_ARG(tfd_bytes_view(&op)));
    else
        tfd_fail(st, TFD_INVALID_ARGUMENT,
                 "%d errors while building NodeDef '" TFD_STR_FMT
                 "' using " TFD_STR_FMT ":\n" TFD_STR_FMT,
                 d->error_count, TFD_STR_ARG(d->name),
                 TFD_STR_ARG(tfd_bytes_view(&op)), TFD_STR_ARG(lines));
    tfd_bytes_deinit(&op);
    return TFD_INVALID_ARGUMENT;
}

/* ---- The node ------------------------------------------------------------ */

static enum tfd_code check_lists(const TF_OperationDescription *d,
                                 struct tfd_status *st)
{
    TFD_TRY(tfd_bytes_ok(&d->edges, "the list of inputs", st));
    TFD_TRY(tfd_bytes_ok(&d->controls, "the list of control inputs", st));
    return tfd_bytes_ok(&d->attrs, "the list of attributes", st);
}

enum tfd_code tfd_op_desc_finish(TF_OperationDescription *desc,
                                 TF_Operation **out, struct tfd_status *st)
{
    struct tfd_node_spec spec = {
        .name = desc->name,
        .op = desc->op,
        .device = desc->device,
        .any_name = true,
        .in = (const struct tfd_edge *)(const void *)desc->edges.data,
        .in_count = (int32_t)(desc->edges.size / sizeof(struct tfd_edge)),
        .control = (const int32_t *)(const void *)desc->controls.data,
        .control_count = (int32_t)(desc->controls.size / sizeof(int32_t)),
    };
    size_t attr_count;

    if (desc->st.code != TFD_OK)
        return tfd_status_copy(st, &desc->st);
    TFD_TRY(check_lists(desc, st));
    TFD_TRY(tfd_graph_check_unused(desc->graph->graph, desc->name, st));
    TFD_TRY(put_classes(desc, st));
    if (desc->misuse.size)
        return tfd_fail(st, TFD_INVALID_ARGUMENT, TFD_STR_FMT,
                        TFD_STR_ARG(tfd_bytes_view(&desc->misuse)));
    TFD_TRY(check_errors(desc, st));
    spec.attrs = attrs_of(desc, &attr_count);
    spec.attr_count = (int32_t)attr_count;
    return tfd_capi_add(desc->graph, &spec, out, st);
}
