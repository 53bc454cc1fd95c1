/*
 * gradient_emit.c - the nodes that gradient functions ask for, as kernel.h
 * declares them: named, placed and with inferred shapes, so that the next
 * gradient function can ask for these.
 */
#include "kernels/core/gradient_loop.h"

#include "common/base/half.h"
#include "common/base/shape_long.h"
#include "config/limits.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum tfd_dtype tfd_gradient_type(const struct tfd_graph *g, struct tfd_edge e)
{
    return tfd_dtype_base(tfd_graph_type(g, e));
}

/* Gradients look into short shapes alone. */
const struct tfd_shape *tfd_gradient_known(const struct tfd_gradients *r,
                                           struct tfd_edge e)
{
    static const struct tfd_shape unknown = TFD_SHAPE_UNKNOWN;
    const struct tfd_shape *shape =
        r->host->shape ? r->host->shape(r->host->arg, e) : &unknown;

    return tfd_shape_is_long(shape) ? &unknown : shape;
}

bool tfd_grad_shape(const struct tfd_grad *g, struct tfd_edge e,
                    struct tfd_shape *out)
{
    const struct tfd_gradient_builder *b = g->builder;

    *out = (struct tfd_shape)TFD_SHAPE_UNKNOWN;
    if (e.node >= 0)
        *out = *tfd_gradient_known(b->request, e);
    return tfd_shape_elements(out) >= 0;
}

/* ---- Nodes --------------------------------------------------------------- */

/* The scope is its first `plain` bytes and "_i", of 0 nothing.  A name that is
 * too long fails where it is used. */
static bool is_taken(struct tfd_gradient_builder *b, size_t plain, int i)
{
    b->scope.size = plain;
    if (i > 0)
        tfd_bytes_printf(&b->scope, "_%d", i);
    return !b->scope.failed &&
           tfd_graph_find(b->request->host->graph, tfd_bytes_view(&b->scope));
}

/* Appends "/op" to the scope, and "_1", "_2" until the name is free: in few
 * steps, as a loop's gradient has the same op for each of its variables. */
static void make_name(struct tfd_gradient_builder *b, const char *op)
{
    int taken = 0, free_one = 1;
    size_t plain;

    tfd_bytes_printf(&b->scope, "/%s", op);
    plain = b->scope.size;
    if (!is_taken(b, plain, 0))
        return;
    for (; is_taken(b, plain, free_one); free_one *= 2)
        taken = free_one;
    while (free_one - taken > 1) {
        const int middle = taken + (free_one - taken) / 2;

        if (is_taken(b, plain, middle))
            taken = middle;
        else
            free_one = middle;
    }
    (void)is_taken(b, plain, free_one);
}

enum tfd_code tfd_gradient_add_spec(struct tfd_gradient_builder *b,
                                    struct tfd_node_spec *spec,
                                    struct tfd_node **out,
                                    struct tfd_status *st)
{
    const struct tfd_gradient_host *host = b->request->host;
    size_t size = b->scope.size;
    enum tfd_code rc;

    make_name(b, spec->op.data);
    rc = tfd_bytes_ok(&b->scope, "the name of a gradient", st);
    spec->name = tfd_bytes_view(&b->scope);
    if (!spec->device.size)
        spec->device = b->request->device;
    if (b->request->anchor && spec->in_count + spec->control_count == 0) {
        spec->control = b->request->anchor;
        spec->control_count = 1;
    }
    if (rc == TFD_OK)
        rc = host->add(host->arg, spec, out, st);
    b->scope.size = size;
    return rc;
}

enum tfd_code tfd_gradient_add(struct tfd_gradient_builder *b, const char *op,
                               const struct tfd_edge *in, int in_count,
                               const struct tfd_attr *attrs, int attr_count,
                               const int32_t *control, int control_count,
                               struct tfd_node **out, struct tfd_status *st)
{
    struct tfd_node_spec spec = {
        .op = tfd_str_of(op),
        .in = in,
        .in_count = in_count,
        .control = control,
        .control_count = control_count,
        .attrs = attrs,
        .attr_count = attr_count,
    };

    return tfd_gradient_add_spec(b, &spec, out, st);
}

/* Inputs as the gradient's loop has them, or the loop's iteration for a node
 * without any: it must run in the same frame. */
static enum tfd_code add_in_loop(struct tfd_gradient_builder *b,
                                 struct tfd_node_spec *spec,
                                 struct tfd_node **out, struct tfd_status *st)
{
    size_t count = (size_t)spec->in_count;
    struct tfd_edge *in = calloc(count + 1, sizeof(*in));
    enum tfd_code rc = TFD_OK;
    int32_t iteration;

    if (!in)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "no memory for inputs");
    for (size_t i = 0; rc == TFD_OK && i < count; i++)
        rc = tfd_gradient_loop_input(b, spec->in[i], &in[i], st);
    spec->in = in;
    if (count == 0) {
        iteration = b->loop->iteration;
        spec->control = &iteration;
        spec->control_count = 1;
    }
    if (rc == TFD_OK)
        rc = tfd_gradient_add_spec(b, spec, out, st);
    free(in);
    return rc;
}

enum tfd_code tfd_grad_emit_attrs(struct tfd_grad *g, const char *op,
                                  const struct tfd_edge *in, int in_count,
                                  const struct tfd_attr *attrs, int attr_count,
                                  struct tfd_edge *out, int out_count,
                                  struct tfd_status *st)
{
    struct tfd_gradient_builder *b = g->builder;
    struct tfd_node_spec spec = {
        .op = tfd_str_of(op),
        .in = in,
        .in_count = in_count,
        .attrs = attrs,
        .attr_count = attr_count,
    };
    struct tfd_node *added;

    if (b->loop)
        TFD_TRY(add_in_loop(b, &spec, &added, st));
    else
        TFD_TRY(tfd_gradient_add_spec(b, &spec, &added, st));
    if (added->out_count != out_count)
        return tfd_fail(st, TFD_INTERNAL,
                        "a gradient expects %d outputs of %s, which has %d",
                        out_count, op, added->out_count);
    for (int i = 0; i < out_count; i++)
        out[i] = (struct tfd_edge){added->id, i};
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
    tfd_bytes_init(&tensor, (size_t)TFD_GRAPH_SIZE_MAX);
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

static bool store_constant(void *data, enum tfd_dtype dtype, double value)
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
    if (store_constant(t.buffer->data, dtype, value))
        rc = emit_const(g, &t, out, st);
    else
        rc = tfd_fail(st, TFD_INVALID_ARGUMENT,
                      "a gradient has no number of type %s",
                      tfd_dtype_name((int)dtype));
    tfd_tensor_unref(&t);
    return rc;
}
