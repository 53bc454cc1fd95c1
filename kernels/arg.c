/*
 * arg.c - ArgMax and ArgMin: where along an axis the largest or smallest
 * element is; the first of several.
 *
 * A NaN is never chosen, unless there is nothing else: then the answer is 0.
 */
#include "kernels/families.h"

#include "common/half.h"
#include "kernels/check.h"
#include "kernels/elementwise.h"
#include "kernels/outputs.h"

#include <math.h>

/* ---- Loops --------------------------------------------------------------- */

/* The input is seen as [outer, size, inner]; output o is at outer o / inner and
 * inner o % inner. */
struct search {
    const void *x;
    void *y;
    int64_t size, inner;
    enum tfd_dtype to; /* of the output */
};

/* int16 output holds what fits, as TensorFlow's does. */
static void put(const struct search *s, int64_t at, int64_t index)
{
    switch (s->to) {
    case TFD_INT64:
        ((int64_t *)s->y)[at] = index;
        break;
    case TFD_INT32:
        ((int32_t *)s->y)[at] = (int32_t)index;
        break;
    default: /* int16, uint16 */
        ((uint16_t *)s->y)[at] = (uint16_t)index;
        break;
    }
}

#define SEARCH(id, T, F, to, WORST, BETTER)                             \
    static void id(void *arg, int64_t begin, int64_t end)               \
    {                                                                   \
        const struct search *s = arg;                                   \
        const int64_t step = s->inner;                                  \
                                                                        \
        for (int64_t o = begin; o < end; o++) {                         \
            const T *x =                                                \
                (const T *)s->x + o / step * s->size * step + o % step; \
            F best = WORST;                                             \
            int64_t index = 0;                                          \
                                                                        \
            for (int64_t i = 0; i < s->size; i++)                       \
                if (to(x[i * step]) BETTER best) {                      \
                    best = to(x[i * step]);                             \
                    index = i;                                          \
                }                                                       \
            put(s, o, index);                                           \
        }                                                               \
    }

#define SELF(v) (v)
#define SEARCHES(name, T, F, to, LOWEST, HIGHEST) \
    SEARCH(max_##name, T, F, to, LOWEST, >)       \
    SEARCH(min_##name, T, F, to, HIGHEST, <)

SEARCHES(FLOAT, float, float, SELF, -INFINITY, INFINITY)
SEARCHES(DOUBLE, double, double, SELF, -(double)INFINITY, (double)INFINITY)
SEARCHES(HALF, tfd_half, float, tfd_half_to_float, -INFINITY, INFINITY)
SEARCHES(BFLOAT16, tfd_bfloat16, float, tfd_bfloat16_to_float, -INFINITY,
         INFINITY)
SEARCHES(INT8, int8_t, int8_t, SELF, INT8_MIN, INT8_MAX)
SEARCHES(INT16, int16_t, int16_t, SELF, INT16_MIN, INT16_MAX)
SEARCHES(INT32, int32_t, int32_t, SELF, INT32_MIN, INT32_MAX)
SEARCHES(INT64, int64_t, int64_t, SELF, INT64_MIN, INT64_MAX)
SEARCHES(UINT8, uint8_t, uint8_t, SELF, 0, UINT8_MAX)
SEARCHES(UINT16, uint16_t, uint16_t, SELF, 0, UINT16_MAX)
SEARCHES(UINT32, uint32_t, uint32_t, SELF, 0, UINT32_MAX)
SEARCHES(UINT64, uint64_t, uint64_t, SELF, 0, UINT64_MAX)
SEARCHES(BOOL, tfd_bool, tfd_bool, SELF, 0, 1)

/* ---- Kernel -------------------------------------------------------------- */

struct arg_state {
    enum tfd_dtype to;
};

static enum tfd_code arg_prepare(const struct tfd_prepare *p, void *state,
                                 struct tfd_status *st)
{
    struct arg_state *s = state;

    return tfd_node_type(p->node, "output_type", &s->to, st);
}

static int64_t axis_value(const struct tfd_tensor *t)
{
    if (t->dtype == TFD_INT16)
        return *(const int16_t *)t->buffer->data;
    return tfd_check_int_at(t, 0);
}

static enum tfd_code read_axis(const struct tfd_kctx *k, int *axis,
                               struct tfd_status *st)
{
    const struct tfd_shape *x = &k->in[0].shape;
    char text[TFD_SHAPE_TEXT_MAX];
    int64_t at;

    if (k->in[1].shape.rank != 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "dim must be a scalar, but received tensor of shape: "
                        "%s",
                        tfd_shape_text(&k->in[1].shape, text));
    at = axis_value(&k->in[1]);
    if (at < -x->rank || at >= x->rank)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Expected dimension in the range [%d, %d), but got "
                        "%lld",
                        -x->rank, x->rank, (long long)at);
    *axis = (int)(at < 0 ? at + x->rank : at);
    if (x->dim[*axis] == 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Reduction axis %d is empty in shape %s", *axis,
                        tfd_shape_text(x, text));
    return TFD_OK;
}

static void drop_axis(const struct tfd_shape *in, int axis,
                      struct tfd_shape *out)
{
    out->rank = in->rank - 1;
    for (int i = 0; i < out->rank; i++)
        out->dim[i] = in->dim[i < axis ? i : i + 1];
}

enum tfd_code tfd_arg_axis(const struct tfd_kctx *k, int *axis,
                           struct tfd_shape *out, struct tfd_status *st)
{
    TFD_TRY(read_axis(k, axis, st));
    drop_axis(&k->in[0].shape, *axis, out);
    return TFD_OK;
}

static enum tfd_code arg_cpu(struct tfd_kctx *k, struct tfd_status *st)
{
    const struct arg_state *state = k->state;
    const struct tfd_shape *x = &k->in[0].shape;
    struct search s = {.inner = 1, .to = state->to};
    struct tfd_shape shape;
    int axis = 0;

    TFD_TRY(tfd_arg_axis(k, &axis, &shape, st));
    TFD_TRY(tfd_kctx_output(k, 0, state->to, &shape, st));
    if (!k->out[0].buffer)
        return TFD_OK;
    for (int i = axis + 1; i < x->rank; i++)
        s.inner *= x->dim[i];
    s.size = x->dim[axis];
    s.x = k->in[0].buffer->data;
    s.y = k->out[0].buffer->data;
    tfd_kctx_parallel(k, tfd_shape_elements(&shape),
                      s.size < 1000000 ? (int)s.size + 5 : 1000000,
                      k->kernel->range, &s);
    return TFD_OK;
}

/* ---- Shape --------------------------------------------------------------- */

static enum tfd_code arg_shape(struct tfd_shape_ctx *s, struct tfd_status *st)
{
    const struct tfd_shape *x = &s->in[0];
    const struct tfd_tensor *value = s->value ? s->value[1] : NULL;
    struct tfd_shape *out = &s->out[0];
    int64_t axis;

    if (s->in[1].rank > 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Shape must be rank 0 but is rank %d", s->in[1].rank);
    if (x->rank == TFD_RANK_UNKNOWN)
        return TFD_OK;
    if (!value) {
        out->rank = x->rank > 0 ? x->rank - 1 : 0;
        for (int i = 0; i < out->rank; i++)
            out->dim[i] = TFD_DIM_UNKNOWN;
        return TFD_OK;
    }
    axis = axis_value(value);
    if (axis < -x->rank || axis >= x->rank)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Dimension (%lld) must be in the range [%d, %d), where "
                        "%d is the number of dimensions in the input.",
                        (long long)axis, -x->rank, x->rank, x->rank);
    drop_axis(x, (int)(axis < 0 ? axis + x->rank : axis), out);
    return TFD_OK;
}

/* ---- Tables -------------------------------------------------------------- */

#define ORDERED                                                       \
    "T: {float, double, int32, uint8, int16, int8, int64, bfloat16, " \
    "uint16, half, uint32, uint64, qint8, quint8, qint32, qint16, "   \
    "quint16, bool}; "

static const struct tfd_opdef ops[] = {
    {
        .name = "ArgMax",
        .inputs = "input: T, dimension: Tidx",
        .outputs = "output: output_type",
        .attrs =
            ORDERED "Tidx: {int16, int32, int64} = DT_INT32; "
                    "output_type: {int16, uint16, int32, int64} = DT_INT64",
        .shape = arg_shape,
        .flags = TFD_OP_NO_GRADIENT,
    },
    {
        .name = "ArgMin",
        .inputs = "input: T, dimension: Tidx",
        .outputs = "output: output_type",
        .attrs = ORDERED "Tidx: {int32, int64} = DT_INT32; "
                         "output_type: {int32, int64} = DT_INT64",
        .shape = arg_shape,
        .flags = TFD_OP_NO_GRADIENT,
    },
};

#define STATE .prepare = arg_prepare, .state_size = sizeof(struct arg_state)
#define KERNELS(name, number, T)                            \
    TFD_KERNEL("ArgMax", name, arg_cpu, max_##name, STATE), \
        TFD_KERNEL("ArgMin", name, arg_cpu, min_##name, STATE),

static const struct tfd_kernel kernels[] = {TFD_REAL_DTYPES(
    KERNELS) TFD_HALF_DTYPES(KERNELS) KERNELS(BOOL, 10, tfd_bool)};

const struct tfd_family tfd_family_arg = {
    .name = "arg",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
