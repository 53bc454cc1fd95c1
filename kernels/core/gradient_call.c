/*
 * gradient_call.c - the gradient of a call: SymbolicGradient of the function
 * that is called, which takes the call's arguments and what arrived at each of
 * its results.
 */
#include "kernels/core/gradient_call.h"

#include "common/base/pbio.h"
#include "common/graph/function_reads.h"
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

/* ---- The gradient -------------------------------------------------------- */

enum tfd_code tfd_gradient_types(struct tfd_grad *g, const struct tfd_func *f,
                                 const struct tfd_edge *in, int args,
                                 int *types, struct tfd_status *st)
{
    for (int i = 0; i < args; i++) {
        const enum tfd_dtype type =
            tfd_dtype_base(tfd_graph_type(g->graph, in[i]));

        if (type != TFD_RESOURCE)
            types[i] = (int)type;
    }
    return tfd_function_reads(g->graph, f, args, types, st);
}

static enum tfd_code emit(struct tfd_grad *g, const struct tfd_func *f,
                          const struct tfd_edge *in, int args, int results,
                          const int *types, struct tfd_edge *out,
                          struct tfd_bytes *text, struct tfd_status *st)
{
    struct tfd_attr attrs[3];
    size_t first, second;

    put_types(text, g->graph, in, args + results);
    first = text->size;
    tfd_attr_put_types(text, types, args);
    second = text->size;
    put_func(text, f);
    TFD_TRY(tfd_bytes_ok(text, "the gradient of a call", st));
    attrs[0] = (struct tfd_attr){TFD_STR("Tin"), {text->data, first}};
    attrs[1] = (struct tfd_attr){TFD_STR("Tout"),
                                 {text->data + first, second - first}};
    attrs[2] = (struct tfd_attr){TFD_STR("f"),
                                 {text->data + second, text->size - second}};
    return tfd_grad_emit_attrs(g, "SymbolicGradient", in, args + results, attrs,
                               3, out, args, st);
}

enum tfd_code tfd_gradient_symbolic(struct tfd_grad *g,
                                    const struct tfd_func *f,
                                    const struct tfd_edge *in, int args,
                                    int results, const int *types,
                                    struct tfd_edge *out, struct tfd_status *st)
{
    struct tfd_bytes text;
    enum tfd_code rc;

    tfd_bytes_init(&text, FUNC_SIZE_MAX);
    rc = emit(g, f, in, args, results, types, out, &text, st);
    tfd_bytes_deinit(&text);
    for (int i = 0; rc == TFD_OK && i < args; i++)
        if (types[i] == TFD_RESOURCE)
            out[i] = TFD_EDGE_NONE;
    return rc;
}

/* ---- Of a call ----------------------------------------------------------- */

static enum tfd_code derive_call(struct tfd_grad *g, struct tfd_arena *arena,
                                 struct tfd_status *st)
{
    const struct tfd_node *n = g->node;
    const size_t ins = (size_t)n->in_count;
    struct tfd_edge *in =
        tfd_arena_array(arena, ins + (size_t)n->out_count + 1, sizeof(*in));
    int *types = tfd_arena_array(arena, ins + 1, sizeof(*types));
    struct tfd_func f = {n->op->name, n->attrs, n->attr_count};

    TFD_TRY(tfd_arena_check(in ? types : NULL, "the gradient of a call", st));
    if (!(n->op->flags & TFD_OP_FUNCTION))
        TFD_TRY(tfd_node_func(n, "f", arena, &f, st));
    for (int32_t i = 0; i < n->in_count; i++) {
        in[i] = g->x[i];
        types[i] = TFD_RESOURCE;
    }
    for (int32_t i = 0; i < n->out_count; i++) {
        struct tfd_edge *dy = &in[n->in_count + i];

        *dy = g->dy[i];
        if (dy->node < 0 && tfd_graph_type(g->graph, g->y[i]) == TFD_RESOURCE)
            *dy = g->y[i]; /* which is left aside */
        else if (dy->node < 0)
            TFD_TRY(tfd_grad_emit(g, "ZerosLike", &g->y[i], 1, dy, st));
    }
    TFD_TRY(tfd_gradient_types(g, &f, in, n->in_count, types, st));
    return tfd_gradient_symbolic(g, &f, in, n->in_count, n->out_count, types,
                                 g->dx, st);
}

enum tfd_code tfd_gradient_of_call(struct tfd_grad *g, struct tfd_status *st)
{
    struct tfd_arena arena;
    enum tfd_code rc;

    tfd_arena_init(&arena, (size_t)TFD_GRAPH_SIZE_MAX);
    rc = derive_call(g, &arena, st);
    tfd_arena_deinit(&arena);
    return rc;
}

/* ---- Calls --------------------------------------------------------------- */

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
