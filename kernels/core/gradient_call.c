/*
 * gradient_call.c - the gradient of a call: SymbolicGradient of the function
 * that is called, which takes the call's arguments and what arrived at each of
 * its results.
 */
#include "kernels/core/gradient_call.h"

#include "common/base/pbio.h"
#include "common/proto/graph.pb.h"
#include "config/limits.h"

#include <stdlib.h>

#define FUNC_SIZE_MAX ((size_t)TFD_GRAPH_SIZE_MAX)

bool tfd_gradient_is_call(const struct tfd_node *n)
{
    return (n->op->flags & TFD_OP_FUNCTION) != 0 ||
           tfd_str_is(n->op->name, "PartitionedCall") ||
           tfd_str_is(n->op->name, "StatefulPartitionedCall");
}

/* ---- Attributes ---------------------------------------------------------- */

static void put_func(struct tfd_bytes *b, const struct tfd_func *f)
{
    size_t func = tfd_pb_begin(b, tensorflow_AttrValue_func_tag);

    tfd_pb_put_str(b, tensorflow_NameAttrList_name_tag, f->name);
    for (int32_t i = 0; i < f->attr_count; i++) {
        size_t entry = tfd_pb_begin(b, tensorflow_NameAttrList_attr_tag);

        tfd_pb_put_str(b, tensorflow_NameAttrList_AttrEntry_key_tag,
                       f->attrs[i].name);
        tfd_pb_put_str(b, tensorflow_NameAttrList_AttrEntry_value_tag,
                       f->attrs[i].value);
        tfd_pb_finish(b, entry);
    }
    tfd_pb_finish(b, func);
}

static void put_types(struct tfd_bytes *b, const struct tfd_graph *g,
                      const struct tfd_edge *in, int count)
{
    int *types = calloc((size_t)count + 1, sizeof(*types));

    if (!types) {
        b->failed = true;
        return;
    }
    for (int i = 0; i < count; i++)
        types[i] = (int)tfd_dtype_base(tfd_graph_type(g, in[i]));
    tfd_attr_put_types(b, types, count);
    free(types);
}

/* ---- The call ------------------------------------------------------------ */

/* What is called: `raw`, an AttrValue, or where that has no bytes f. */
struct called {
    struct tfd_str raw;
    const struct tfd_func *f;
};

static enum tfd_code emit(struct tfd_grad *g, const struct called *c,
                          const struct tfd_edge *in, int args, int results,
                          struct tfd_edge *out, struct tfd_bytes *text,
                          struct tfd_status *st)
{
    struct tfd_attr attrs[3];
    size_t first, second;

    put_types(text, g->graph, in, args + results);
    first = text->size;
    put_types(text, g->graph, in, args);
    second = text->size;
    if (c->raw.size > 0)
        tfd_bytes_add_str(text, c->raw);
    else
        put_func(text, c->f);
    TFD_TRY(tfd_bytes_ok(text, "the gradient of a call", st));
    attrs[0] = (struct tfd_attr){TFD_STR("Tin"), {text->data, first}};
    attrs[1] = (struct tfd_attr){TFD_STR("Tout"),
                                 {text->data + first, second - first}};
    attrs[2] = (struct tfd_attr){TFD_STR("f"),
                                 {text->data + second, text->size - second}};
    return tfd_grad_emit_attrs(g, "SymbolicGradient", in, args + results, attrs,
                               3, out, args, st);
}

static enum tfd_code emit_called(struct tfd_grad *g, const struct called *c,
                                 const struct tfd_edge *in, int args,
                                 int results, struct tfd_edge *out,
                                 struct tfd_status *st)
{
    struct tfd_bytes text;
    enum tfd_code rc;

    tfd_bytes_init(&text, FUNC_SIZE_MAX);
    rc = emit(g, c, in, args, results, out, &text, st);
    tfd_bytes_deinit(&text);
    return rc;
}

enum tfd_code tfd_gradient_symbolic(struct tfd_grad *g,
                                    const struct tfd_func *f,
                                    const struct tfd_edge *in, int args,
                                    int results, struct tfd_edge *out,
                                    struct tfd_status *st)
{
    const struct called c = {.f = f};

    return emit_called(g, &c, in, args, results, out, st);
}

enum tfd_code tfd_gradient_of_call(struct tfd_grad *g, struct tfd_status *st)
{
    const struct tfd_node *n = g->node;
    size_t count = (size_t)n->in_count + (size_t)n->out_count;
    struct tfd_edge *in = calloc(count + 1, sizeof(*in));
    const struct tfd_func own = {n->op->name, n->attrs, n->attr_count};
    struct called c = {.f = &own};
    enum tfd_code rc = TFD_OK;

    if (!in)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "no memory for inputs");
    for (int32_t i = 0; i < n->in_count; i++)
        in[i] = g->x[i];
    for (int32_t i = 0; rc == TFD_OK && i < n->out_count; i++) {
        struct tfd_edge *dy = &in[n->in_count + i];

        *dy = g->dy[i];
        if (dy->node < 0)
            rc = tfd_grad_emit(g, "ZerosLike", &g->y[i], 1, dy, st);
    }
    if (!(n->op->flags & TFD_OP_FUNCTION))
        (void)tfd_node_attr(n, "f", &c.raw);
    if (rc == TFD_OK)
        rc = emit_called(g, &c, in, n->in_count, n->out_count, g->dx, st);
    free(in);
    return rc;
}

static enum tfd_code emit_call(struct tfd_grad *g, const char *op,
                               const struct tfd_func *f,
                               const struct tfd_edge *in, int in_count,
                               const int *types, struct tfd_edge *out,
                               int out_count, struct tfd_bytes *text,
                               struct tfd_status *st)
{
    struct tfd_attr attrs[3];
    size_t first, second;

    put_types(text, g->graph, in, in_count);
    first = text->size;
    tfd_attr_put_types(text, types, out_count);
    second = text->size;
    put_func(text, f);
    TFD_TRY(tfd_bytes_ok(text, "a call", st));
    attrs[0] = (struct tfd_attr){TFD_STR("Tin"), {text->data, first}};
    attrs[1] = (struct tfd_attr){TFD_STR("Tout"),
                                 {text->data + first, second - first}};
    attrs[2] = (struct tfd_attr){TFD_STR("f"),
                                 {text->data + second, text->size - second}};
    return tfd_grad_emit_attrs(g, op, in, in_count, attrs, 3, out, out_count,
                               st);
}

enum tfd_code tfd_gradient_call(struct tfd_grad *g, const char *op,
                                const struct tfd_func *f,
                                const struct tfd_edge *in, int in_count,
                                const int *types, struct tfd_edge *out,
                                int out_count, struct tfd_status *st)
{
    struct tfd_bytes text;
    enum tfd_code rc;

    tfd_bytes_init(&text, FUNC_SIZE_MAX);
    rc = emit_call(g, op, f, in, in_count, types, out, out_count, &text, st);
    tfd_bytes_deinit(&text);
    return rc;
}
