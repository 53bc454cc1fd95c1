/*
 * gradient_emit.c - the nodes that gradient functions ask for, as kernel.h
 * declares them: named, placed and with inferred shapes, so that the next
 * gradient function can ask for these.
 */
#include "client/gradients.h"

#include "common/half.h"
#include "config/limits.h"

#include <stdio.h>
#include <string.h>

enum tfd_dtype tfd_gradient_type(const TF_Graph *g, struct tfd_edge e)
{
    return tfd_dtype_base(tfd_graph_type(g->graph, e));
}

const struct tfd_shape *tfd_gradient_known(const TF_Graph *g, struct tfd_edge e)
{
    return &g->operations[e.node]->shapes[e.output];
}

bool tfd_grad_shape(const struct tfd_grad *g, struct tfd_edge e,
                    struct tfd_shape *out)
{
    const struct tfd_gradient_builder *b = g->builder;

    *out = (struct tfd_shape)TFD_SHAPE_UNKNOWN;
    if (e.node >= 0)
        *out = *tfd_gradient_known(b->request->g, e);
    return tfd_shape_elements(out) >= 0;
}

/* ---- Nodes --------------------------------------------------------------- */

/* Appends "/op" to the scope, and "_1", "_2" until the name is free. */
static void make_name(struct tfd_gradient_builder *b, const char *op)
{
    const struct tfd_graph *g = b->request->g->graph;
    size_t plain;

    tfd_bytes_printf(&b->scope, "/%s", op);
    plain = b->scope.size;
    for (int i = 1; tfd_graph_find(g, tfd_bytes_view(&b->scope)); i++) {
        b->scope.size = plain;
        tfd_bytes_printf(&b->scope, "_%d", i);
    }
}

static enum tfd_code add(struct tfd_gradient_builder *b,
                         struct tfd_node_spec *spec, TF_Operation **op,
                         struct tfd_status *st)
{
    size_t size = b->scope.size;
    enum tfd_code rc;

    make_name(b, spec->op.data);
    rc = tfd_bytes_ok(&b->scope, "the name of a gradient", st);
    spec->name = tfd_bytes_view(&b->scope);
    spec->device = b->request->device;
    if (rc == TFD_OK)
        rc = tfd_capi_add(b->request->g, spec, op, st);
    b->scope.size = size;
    return rc;
}

enum tfd_code tfd_grad_emit_attrs(struct tfd_grad *g, const char *op,
                                  const struct tfd_edge *in, int in_count,
                                  const struct tfd_attr *attrs, int attr_count,
                                  struct tfd_edge *out, int out_count,
                                  struct tfd_status *st)
{
    struct tfd_node_spec spec = {
        .op = tfd_str_of(op),
        .in = in,
        .in_count = in_count,
        .attrs = attrs,
        .attr_count = attr_count,
    };
    TF_Operation *added;

    TFD_TRY(add(g->builder, &spec, &added, st));
    if (added->node->out_count != out_count)
        return tfd_fail(st, TFD_INTERNAL,
                        "a gradient expects %d outputs of %s, which has %d",
                        out_count, op, added->node->out_count);
    for (int i = 0; i < out_count; i++)
        out[i] = (struct tfd_edge){added->node->id, i};
    return TFD_OK;
}

enum tfd_code tfd_grad_emit(struct tfd_grad *g, const char *op,
                            const struct tfd_edge *in, int in_count,
                            struct tfd_edge *out, struct tfd_status *st)
{
    return tfd_grad_emit_attrs(g, op, in, in_count, NULL, 0, out, 1, st);
}

/* ---- Constants ----------------------------------------------------------- */

static enum tfd_code emit_const(struct tfd_grad *g,
                                const struct tfd_tensor *value,
                                struct tfd_edge *out, struct tfd_status *st)
{
    struct tfd_attr attrs[] = {{TFD_STR("dtype"), TFD_STR_EMPTY},
                               {TFD_STR("value"), TFD_STR_EMPTY}};
    struct tfd_bytes type, tensor;
    enum tfd_code rc;

    tfd_bytes_init(&type, TFD_ATTR_SIZE_MAX);
    tfd_bytes_init(&tensor, TFD_CAPI_MESSAGE_MAX);
    tfd_attr_put_type(&type, (int)value->dtype);
    tfd_attr_put_tensor(&tensor, value);
    attrs[0].value = tfd_bytes_view(&type);
    attrs[1].value = tfd_bytes_view(&tensor);
    rc = tfd_bytes_ok(&type, "a constant", st);
    if (rc == TFD_OK)
        rc = tfd_bytes_ok(&tensor, "a constant", st);
    if (rc == TFD_OK)
        rc = tfd_grad_emit_attrs(g, "Const", NULL, 0, attrs, 2, out, 1, st);
    tfd_bytes_deinit(&type);
    tfd_bytes_deinit(&tensor);
    return rc;
}

enum tfd_code tfd_grad_int32(struct tfd_grad *g, const int32_t *values,
                             int count, struct tfd_edge *out,
                             struct tfd_status *st)
{
    struct tfd_shape shape = {count < 0 ? 0 : 1, {count < 0 ? 0 : count}};
    struct tfd_tensor t;
    enum tfd_code rc;

    TFD_TRY(tfd_tensor_new(&t, TFD_INT32, &shape, st));
    if (t.buffer)
        memcpy(t.buffer->data, values, tfd_tensor_size(&t));
    rc = emit_const(g, &t, out, st);
    tfd_tensor_unref(&t);
    return rc;
}

#define STORE(name, number, type)    \
    case TFD_##name:                 \
        *(type *)data = (type)value; \
        return true;
#define STORE_COMPLEX(name, number, type) \
    case TFD_##name:                      \
        *(type *)data = to_##type(value); \
        return true;

static tfd_complex64 to_tfd_complex64(double value)
{
    return (tfd_complex64){(float)value, 0};
}

static tfd_complex128 to_tfd_complex128(double value)
{
    return (tfd_complex128){value, 0};
}

static bool store(void *data, enum tfd_dtype dtype, double value)
{
    switch ((int)dtype) {
        TFD_REAL_DTYPES(STORE)
        TFD_COMPLEX_DTYPES(STORE_COMPLEX)
    case TFD_HALF:
        *(tfd_half *)data = tfd_half_from_float((float)value);
        return true;
    case TFD_BFLOAT16:
        *(tfd_bfloat16 *)data = tfd_bfloat16_from_float((float)value);
        return true;
    default:
        return false;
    }
}

enum tfd_code tfd_grad_scalar(struct tfd_grad *g, enum tfd_dtype dtype,
                              double value, struct tfd_edge *out,
                              struct tfd_status *st)
{
    struct tfd_shape scalar = {0, {0}};
    struct tfd_tensor t;
    enum tfd_code rc;

    TFD_TRY(tfd_tensor_new(&t, dtype, &scalar, st));
    if (store(t.buffer->data, dtype, value))
        rc = emit_const(g, &t, out, st);
    else
        rc = tfd_fail(st, TFD_INVALID_ARGUMENT,
                      "a gradient has no number of type %s",
                      tfd_dtype_name((int)dtype));
    tfd_tensor_unref(&t);
    return rc;
}
