/*
 * infer.c - infers the shapes of a new operation's outputs from the shapes of
 * its inputs and from those inputs whose values are known.
 *
 * Known are small constants, and what Shape says of a tensor whose shape is
 * known.  A variable's shape stands at the operation that makes its handle, so
 * for reads that one is asked; shape functions see only tensors.
 */
#include "client/c_api/capi.h"

#include "common/base/shape_long.h"

#include <stdlib.h>

/* Shapes, axes, paddings; a larger constant is data and decides no shape. */
#define VALUE_ELEMENTS_MAX 256

struct inference {
    const TF_Graph *g;
    TF_Operation *op;
    struct tfd_shape *in;
    struct tfd_tensor *tensors;
    const struct tfd_tensor **values;
};

static const TF_Operation *producer(const struct inference *f, int32_t input)
{
    int32_t id = f->op->node->in[input].node;

    /* A loop's back edge, or a node that is not adopted yet. */
    return id < 0 || id >= f->g->operation_count ? NULL : f->g->operations[id];
}

static bool constant_value(const struct tfd_node *n, struct tfd_tensor *out)
{
    struct tfd_shape shape;
    enum tfd_dtype dtype;
    int64_t elements;

    if (tfd_node_tensor_shape(n, "value", &shape, NULL) != TFD_OK ||
        tfd_node_type(n, "dtype", &dtype, NULL) != TFD_OK)
        return false;
    elements = tfd_shape_elements(&shape);
    return elements >= 0 && elements <= VALUE_ELEMENTS_MAX &&
           tfd_dtype_is_pod(dtype) &&
           tfd_node_tensor(n, "value", out, NULL) == TFD_OK;
}

/* What Shape gives for a shape that is known. */
static bool shape_value(const struct inference *f, const TF_Operation *op,
                        struct tfd_tensor *out)
{
    struct tfd_edge from = op->node->in[0];
    struct tfd_shape vector = {1, {0}};
    int64_t dim[TFD_RANK_LONG_MAX];
    const struct tfd_shape *shape;
    enum tfd_dtype dtype;

    if (from.node < 0 || from.node >= f->g->operation_count)
        return false;
    shape = &f->g->operations[from.node]->shapes[from.output];
    if (tfd_shape_elements(shape) < 0 ||
        tfd_node_type(op->node, "out_type", &dtype, NULL) != TFD_OK)
        return false;
    vector.dim[0] = shape->rank;
    if (tfd_tensor_new(out, dtype, &vector, NULL) != TFD_OK)
        return false;
    tfd_shape_dims(shape, dim);
    for (int i = 0; i < shape->rank; i++)
        if (dtype == TFD_INT64)
            ((int64_t *)tfd_tensor_data(out))[i] = dim[i];
        else
            ((int32_t *)tfd_tensor_data(out))[i] = (int32_t)dim[i];
    return true;
}

static bool find_value(const struct inference *f, int32_t input,
                       struct tfd_tensor *out)
{
    const TF_Operation *op = producer(f, input);

    if (!op)
        return false;
    if (op->node->op->flags & TFD_OP_CONST)
        return constant_value(op->node, out);
    return tfd_str_is(op->node->op->name, "Shape") && shape_value(f, op, out);
}

static enum tfd_code fill_in(const struct inference *f, struct tfd_status *st)
{
    const struct tfd_node *n = f->op->node;

    if (n->in_count && (!f->in || !f->tensors || !f->values))
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "no memory for shapes");
    for (int32_t i = 0; i < n->in_count; i++) {
        const TF_Operation *from = producer(f, i);

        f->in[i] = from ? from->shapes[n->in[i].output]
                        : (struct tfd_shape)TFD_SHAPE_UNKNOWN;
        if (find_value(f, i, &f->tensors[i]))
            f->values[i] = &f->tensors[i];
    }
    return TFD_OK;
}

/* The declared shape of the variable that is read. */
static enum tfd_code infer_read(const struct inference *f,
                                struct tfd_status *st)
{
    const TF_Operation *handle;
    struct tfd_shape shape;

    if (!tfd_str_is(f->op->node->op->name, "ReadVariableOp"))
        return TFD_OK;
    handle = producer(f, 0);
    if (!handle || !tfd_str_is(handle->node->op->name, "VarHandleOp"))
        return TFD_OK;
    TFD_TRY(tfd_node_shape_any(handle->node, "shape", &shape, st));
    return tfd_shape_merge(&f->op->shapes[0], &shape, st);
}

static enum tfd_code infer(const struct inference *f, struct tfd_status *st)
{
    struct tfd_shape_ctx ctx = {
        .node = f->op->node,
        .in = f->in,
        .in_count = f->op->node->in_count,
        .value = f->values,
        .out = f->op->shapes,
        .out_count = f->op->node->out_count,
        .graph = f->g->graph,
    };

    TFD_TRY(fill_in(f, st));
    TFD_TRY(tfd_registry_infer(&ctx, st));
    return infer_read(f, st);
}

enum tfd_code tfd_capi_infer(const TF_Graph *g, TF_Operation *op,
                             struct tfd_status *st)
{
    size_t count = (size_t)op->node->in_count;
    struct inference f = {
        .g = g,
        .op = op,
        .in = calloc(count + 1, sizeof(*f.in)),
        .tensors = calloc(count + 1, sizeof(*f.tensors)),
        .values = calloc(count + 1, sizeof(*f.values)),
    };
    enum tfd_code rc = infer(&f, st);

    for (size_t i = 0; f.tensors && i < count; i++)
        tfd_tensor_unref(&f.tensors[i]);
    free(f.in);
    free(f.tensors);
    free(f.values);
    return rc;
}
