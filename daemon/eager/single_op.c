/*
 * single_op.c - see single_op.h.
 */
#include "daemon/eager/single_op.h"

#include "common/graph/function_body.h"
#include "common/proto/graph.pb.h"
#include "common/proto/graphdef.h"
#include "config/limits.h"
#include "daemon/eager/called.h"
#include "daemon/eager/context.h"
#include "daemon/eager/graph_ends.h"
#include "daemon/eager/operation.h"

#include <stdlib.h>
#include <string.h>

/* ---- What is kept -------------------------------------------------------- */

static void unlink_graph(struct tfd_eager_ops *o, struct tfd_eager_graph *g)
{
    if (g->previous)
        g->previous->next = g->next;
    else
        o->newest = g->next;
    if (g->next)
        g->next->previous = g->previous;
    else
        o->oldest = g->previous;
    g->next = g->previous = NULL;
}

static void link_newest(struct tfd_eager_ops *o, struct tfd_eager_graph *g)
{
    g->previous = NULL;
    g->next = o->newest;
    if (g->next)
        g->next->previous = g;
    else
        o->oldest = g;
    o->newest = g;
}

static void drop_oldest(struct tfd_eager_ops *o)
{
    struct tfd_eager_graph *g = o->oldest;

    unlink_graph(o, g);
    tfd_map_remove(&o->by_key, g->key);
    free((char *)g->key.data);
    g->key = TFD_STR_EMPTY;
    tfd_eager_graph_unref(g);
}

void tfd_eager_ops_deinit(struct tfd_eager_ops *o)
{
    while (o->oldest)
        drop_oldest(o);
    tfd_map_deinit(&o->by_key);
}

static struct tfd_eager_graph *find_kept(struct tfd_eager_ops *o,
                                         struct tfd_str key)
{
    struct tfd_eager_graph *g;
    uintptr_t value;

    if (!tfd_map_get(&o->by_key, key, &value))
        return NULL;
    g = (struct tfd_eager_graph *)value;
    unlink_graph(o, g);
    link_newest(o, g);
    return g;
}

/* One that cannot be kept is only used this once. */
static void keep_graph(struct tfd_eager_ops *o, struct tfd_eager_graph *g,
                       struct tfd_str key)
{
    char *copy = malloc(key.size + 1);

    if (!copy)
        return;
    memcpy(copy, key.data, key.size);
    if (!tfd_map_put(&o->by_key, (struct tfd_str){copy, key.size},
                     (uintptr_t)g)) {
        free(copy);
        return;
    }
    g->key = (struct tfd_str){copy, key.size};
    g->refs++;
    link_newest(o, g);
    if (o->by_key.count > TFD_EAGER_OPS_MAX)
        drop_oldest(o);
}

/* ---- Keys ---------------------------------------------------------------- */

static void put_key(struct tfd_bytes *b, const struct tfd_eager_operation *o)
{
    tfd_bytes_add_str(b, o->name);
    tfd_bytes_printf(b, "\n%s\n", o->on->name);
    for (int i = 0; i < o->in_count; i++)
        tfd_bytes_printf(b, "%d ", (int)o->in[i].dtype);
    for (int i = 0; i < o->attr_count; i++) {
        tfd_bytes_printf(b, "\n%zu ", o->attrs[i].name.size);
        tfd_bytes_add_str(b, o->attrs[i].name);
        tfd_bytes_printf(b, " %zu ", o->attrs[i].value.size);
        tfd_bytes_add_str(b, o->attrs[i].value);
    }
}

/* ---- The graph ----------------------------------------------------------- */

/* How many tensors go in and come out, by its attributes.  An op that is none
 * is the worker's to refuse, with the words it has for that. */
enum tfd_code tfd_eager_single_op_results(const struct tfd_eager_context *c,
                                          const struct tfd_eager_operation *o,
                                          int *out, struct tfd_status *st)
{
    const struct tfd_op *op =
        tfd_op_find(&c->eager->options.registry->ops, o->name);
    const struct tfd_node n = {
        .name = o->name,
        .op = op,
        .attrs = o->attrs,
        .attr_count = o->attr_count,
    };
    int64_t in, results;

    *out = 0;
    if (!op)
        return TFD_OK;
    in = tfd_function_inputs(&n);
    results = tfd_function_outputs(&n);
    if (in >= 0 && in != o->in_count)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "expected %lld inputs, got %d", (long long)in,
                        o->in_count);
    if (results < 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        TFD_STR_FMT " lacks the attributes that say how many "
                                    "results it has",
                        TFD_STR_ARG(o->name));
    *out = (int)results;
    return TFD_OK;
}

static const char *end_name(char *text, int input)
{
    return tfd_eager_end_name(text, true, input);
}

enum tfd_code tfd_eager_single_op_put(const struct tfd_eager_operation *o,
                                      tfd_eager_input_name_fn *input_name,
                                      struct tfd_bytes *def,
                                      struct tfd_status *st)
{
    size_t count = (size_t)o->in_count;
    struct tfd_str *in =
        malloc(count * (sizeof(*in) + TFD_EAGER_END_NAME_MAX) + 1);
    struct tfd_nodedef node = {
        .name = o->name,
        .op = o->name,
        .device = tfd_str_of(o->on->name),
        .in = in,
        .in_count = o->in_count,
        .attrs = o->attrs,
        .attr_count = o->attr_count,
    };
    char *name = (char *)(in + count);

    if (!in)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "no memory for an op");
    for (size_t i = 0; i < count; i++, name += TFD_EAGER_END_NAME_MAX)
        in[i] = tfd_str_of(input_name(name, (int)i));
    tfd_graphdef_put(def, &node);
    free(in);
    return TFD_OK;
}

static enum tfd_code write_graph(const struct tfd_eager_operation *o,
                                 int results, struct tfd_bytes *def,
                                 struct tfd_status *st)
{
    struct tfd_bytes from;
    enum tfd_code rc;

    for (int i = 0; i < o->in_count; i++)
        tfd_eager_put_arg(def, o->on, i, (int)o->in[i].dtype);
    TFD_TRY(tfd_eager_single_op_put(o, end_name, def, st));
    tfd_bytes_init(&from, TFD_NAME_SIZE_MAX);
    for (int i = 0; i < results && !from.failed; i++) {
        tfd_bytes_clear(&from);
        tfd_bytes_add_str(&from, o->name);
        tfd_bytes_printf(&from, ":%d", i);
        tfd_eager_put_result(def, o->on, i, tfd_bytes_view(&from));
    }
    rc = tfd_bytes_ok(&from, "the name of an op", st);
    tfd_bytes_deinit(&from);
    tfd_eager_put_versions(def);
    return rc;
}

/* What its attributes name: of a dataset's op, what it calls. */
enum tfd_code tfd_eager_single_op_library(const struct tfd_eager_context *c,
                                          const struct tfd_eager_operation *o,
                                          struct tfd_bytes *def,
                                          bool *has_library,
                                          struct tfd_status *st)
{
    struct tfd_bytes library;
    enum tfd_code rc;

    tfd_bytes_init(&library, (size_t)TFD_GRAPH_SIZE_MAX);
    rc = tfd_eager_called_by(&c->functions, o->attrs, o->attr_count, &library,
                             st);
    if (rc == TFD_OK)
        rc = tfd_bytes_ok(&library, "the functions of an op", st);
    *has_library = rc == TFD_OK && library.size > 0;
    if (*has_library)
        tfd_pb_put_str(def, tensorflow_GraphDef_library_tag,
                       tfd_bytes_view(&library));
    tfd_bytes_deinit(&library);
    return rc;
}

static enum tfd_code make_graph(struct tfd_eager_context *c,
                                const struct tfd_eager_operation *o,
                                struct tfd_eager_graph **out, bool *has_library,
                                struct tfd_status *st)
{
    struct tfd_bytes def;
    int results;

    TFD_TRY(tfd_eager_single_op_results(c, o, &results, st));
    tfd_bytes_init(&def, (size_t)TFD_GRAPH_SIZE_MAX);
    if (write_graph(o, results, &def, st) == TFD_OK &&
        tfd_eager_single_op_library(c, o, &def, has_library, st) == TFD_OK)
        return tfd_eager_graph_new(c, &def, o->in_count, results, out, st);
    tfd_bytes_deinit(&def);
    return st ? st->code : TFD_RESOURCE_EXHAUSTED;
}

enum tfd_code tfd_eager_single_op(struct tfd_eager_context *c,
                                  const struct tfd_eager_operation *o,
                                  struct tfd_eager_graph **out,
                                  struct tfd_status *st)
{
    bool has_library = false; /* functions come and go: not kept */
    struct tfd_bytes key;
    enum tfd_code rc;

    tfd_bytes_init(&key, (size_t)TFD_GRAPH_SIZE_MAX);
    put_key(&key, o);
    rc = tfd_bytes_ok(&key, "an operation", st);
    if (rc == TFD_OK) {
        struct tfd_eager_graph *g = find_kept(&c->ops, tfd_bytes_view(&key));

        if (g)
            g->refs++;
        else
            rc = make_graph(c, o, &g, &has_library, st);
        if (rc == TFD_OK && !g->key.size && !has_library &&
            !tfd_str_is(o->name, "_Recv") && !tfd_str_is(o->name, "Recv"))
            keep_graph(&c->ops, g, tfd_bytes_view(&key));
        *out = g;
    }
    tfd_bytes_deinit(&key);
    return rc;
}
