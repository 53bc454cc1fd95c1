/*
 * tensor_array_grad.c - see tensor_array_grad.h.
 *
 * Reads of an array write into its gradient array, writes read from there.
 * What orders them are flows: each operation of an array takes one and gives
 * one, and what flows back goes from the reads to the writes.  All gradients of
 * one request share their arrays, by the request's prefix.
 */
#include "kernels/list/tensor_array_grad.h"

#include "kernels/core/gradient.h"
#include "config/limits.h"
#include "kernels/core/gradient_walk.h"

#include <stdio.h>

#define OP_NAME_MAX 32

/* "V3", "V2" or "": the spelling of the forward node, by its handle. */
static const char *spelling(const struct tfd_gradient *b)
{
    const struct tfd_node *n = b->g->node;

    if (tfd_gradient_dtype(b, b->g->x[0]) == TFD_RESOURCE)
        return "V3";
    return n->op->name.data[n->op->name.size - 1] == '2' ? "V2" : "";
}

/* An op of arrays in that spelling. */
static const char *spelled(const struct tfd_gradient *b, const char *op,
                           char name[OP_NAME_MAX])
{
    snprintf(name, OP_NAME_MAX, "%s%s", op, spelling(b));
    return name;
}

/* The gradient array of input 0, made once `flow` is there.  None after a
 * failure.  Only the op of resources gives a flow, too. */
static struct tfd_edge gradient_array(struct tfd_gradient *b,
                                      struct tfd_edge flow)
{
    const struct tfd_gradient_builder *builder = b->g->builder;
    const struct tfd_edge in[] = {b->g->x[0], flow};
    struct tfd_edge out[2] = {TFD_EDGE_NONE, TFD_EDGE_NONE};
    struct tfd_attr source = {.name = TFD_STR("source")};
    struct tfd_bytes value;
    char name[OP_NAME_MAX];
    bool flows;

    if (b->code != TFD_OK)
        return out[0];
    flows = tfd_gradient_dtype(b, b->g->x[0]) == TFD_RESOURCE;
    tfd_bytes_init(&value, 4 * TFD_NAME_SIZE_MAX);
    tfd_attr_put_str(&value, builder->request->prefix);
    source.value = tfd_bytes_view(&value);
    b->code = tfd_bytes_ok(&value, "an attribute", b->st);
    if (b->code == TFD_OK)
        b->code =
            tfd_grad_emit_attrs(b->g, spelled(b, "TensorArrayGrad", name), in,
                                2, &source, 1, out, flows ? 2 : 1, b->st);
    tfd_bytes_deinit(&value);
    return out[0];
}

/* The flow that arrived, once the forward node is done, too: what it wrote last
 * is then in the array.  Flows are zeros. */
static struct tfd_edge flow_after(struct tfd_gradient *b)
{
    return tfd_gradient_op2(b, "AddV2", b->g->dy[0], b->g->y[0]);
}

/* An operation with one output more than the value where out_count is 2. */
static struct tfd_edge read_array(struct tfd_gradient *b, const char *op,
                                  const struct tfd_edge *in, int in_count,
                                  int value, int out_count)
{
    struct tfd_gradient_attr attrs[] = {{"dtype", 't', 0}, {NULL, 0, 0}};
    struct tfd_edge out[2] = {TFD_EDGE_NONE, TFD_EDGE_NONE};
    char name[OP_NAME_MAX];

    if (b->code != TFD_OK)
        return out[0];
    attrs[0].value = tfd_gradient_dtype(b, b->g->x[value]);
    tfd_gradient_with(b, spelled(b, op, name), in, in_count, attrs, out,
                      out_count);
    return out[0];
}

/* ---- One element, some elements ------------------------------------------ */

/* Inputs: the array, where, a flow. */
static enum tfd_code by_writing(struct tfd_grad *g, const char *op,
                                struct tfd_status *st)
{
    struct tfd_gradient b = tfd_gradient_begin(g, st);
    const struct tfd_edge in[] = {gradient_array(&b, g->x[2]), g->x[1],
                                  g->dy[0], g->x[2]};
    char name[OP_NAME_MAX];

    if (b.code == TFD_OK)
        g->dx[2] = tfd_gradient_op(&b, spelled(&b, op, name), in, 4);
    return b.code;
}

/* Inputs: the array, where, a value, a flow. */
static enum tfd_code by_reading(struct tfd_grad *g, const char *op,
                                struct tfd_status *st)
{
    struct tfd_gradient b = tfd_gradient_begin(g, st);
    const struct tfd_edge flow = flow_after(&b);
    const struct tfd_edge in[] = {gradient_array(&b, flow), g->x[1], flow};

    g->dx[2] = read_array(&b, op, in, 3, 2, 1);
    g->dx[3] = flow;
    return b.code;
}

enum tfd_code tfd_tensor_array_read_gradient(struct tfd_grad *g,
                                             struct tfd_status *st)
{
    return by_writing(g, "TensorArrayWrite", st);
}

enum tfd_code tfd_tensor_array_gather_gradient(struct tfd_grad *g,
                                               struct tfd_status *st)
{
    return by_writing(g, "TensorArrayScatter", st);
}

enum tfd_code tfd_tensor_array_write_gradient(struct tfd_grad *g,
                                              struct tfd_status *st)
{
    return by_reading(g, "TensorArrayRead", st);
}

enum tfd_code tfd_tensor_array_scatter_gradient(struct tfd_grad *g,
                                                struct tfd_status *st)
{
    return by_reading(g, "TensorArrayGather", st);
}

/* ---- All elements -------------------------------------------------------- */

enum tfd_code tfd_tensor_array_concat_gradient(struct tfd_grad *g,
                                               struct tfd_status *st)
{
    struct tfd_gradient b = tfd_gradient_begin(g, st);
    char name[OP_NAME_MAX];
    struct tfd_edge in[4];

    if (g->dy[0].node < 0)
        return TFD_OK;
    in[0] = gradient_array(&b, g->x[1]);
    in[1] = g->dy[0];
    in[2] = g->y[1];
    in[3] = g->x[1];
    if (b.code == TFD_OK)
        g->dx[1] =
            tfd_gradient_op(&b, spelled(&b, "TensorArraySplit", name), in, 4);
    return b.code;
}

enum tfd_code tfd_tensor_array_split_gradient(struct tfd_grad *g,
                                              struct tfd_status *st)
{
    struct tfd_gradient b = tfd_gradient_begin(g, st);
    const struct tfd_edge flow = flow_after(&b);
    const struct tfd_edge in[] = {gradient_array(&b, flow), flow};

    g->dx[1] = read_array(&b, "TensorArrayConcat", in, 2, 1, 2);
    g->dx[3] = flow;
    return b.code;
}

/* ---- All elements as rows ------------------------------------------------ */

enum tfd_code tfd_tensor_array_pack_gradient(struct tfd_grad *g,
                                             struct tfd_status *st)
{
    struct tfd_gradient b = tfd_gradient_begin(g, st);
    const struct tfd_edge in[] = {gradient_array(&b, g->x[1]), g->dy[0],
                                  g->x[1]};

    g->dx[1] = tfd_gradient_op(&b, "TensorArrayUnpack", in, 3);
    return b.code;
}

enum tfd_code tfd_tensor_array_unpack_gradient(struct tfd_grad *g,
                                               struct tfd_status *st)
{
    struct tfd_gradient b = tfd_gradient_begin(g, st);
    const struct tfd_edge flow = flow_after(&b);
    const struct tfd_edge in[] = {gradient_array(&b, flow), flow};

    g->dx[1] = read_array(&b, "TensorArrayPack", in, 2, 1, 1);
    g->dx[2] = flow;
    return b.code;
}
