/*
 * bounds.c - where values belong in sorted rows: LowerBound and UpperBound, by
 * binary search, and the element that would be n-th if a row were sorted:
 * NthElement (quickselect.h).
 *
 * Halves are searched as floats.
 */
#include "common/base/alloc.h"
#include "common/base/half.h"
#include "kernels/core/check.h"
#include "kernels/core/families.h"
#include "kernels/core/gradient.h"
#include "kernels/reduce/quickselect.h"

/* ---- LowerBound, UpperBound ---------------------------------------------- */

struct search {
    const void *sorted, *values;
    int64_t length, count; /* of a row of each */
    void *y;
    bool upper, wide; /* wide: y is of int64 */
};

#define SEARCH_NS 30

#define AS_IT_IS(x) (x)

/* The first element that is not below the value, or that is above it. */
#define SEARCH(name, T, V, TO)                                                 \
    static int64_t find_##name(const T *x, int64_t n, V v, bool upper)         \
    {                                                                          \
        int64_t low = 0;                                                       \
                                                                               \
        while (n > 0) {                                                        \
            const int64_t half = n / 2;                                        \
            const V at = TO(x[low + half]);                                    \
                                                                               \
            if (upper ? !(v < at) : at < v) {                                  \
                low += half + 1;                                               \
                n -= half + 1;                                                 \
            } else {                                                           \
                n = half;                                                      \
            }                                                                  \
        }                                                                      \
        return low;                                                            \
    }                                                                          \
                                                                               \
    static void search_##name(void *arg, int64_t begin, int64_t end)           \
    {                                                                          \
        const struct search *s = arg;                                          \
        const T *values = s->values;                                           \
                                                                               \
        for (int64_t i = begin; i < end; i++) {                                \
            const T *row = s->length == 0 ? NULL                               \
                                          : (const T *)s->sorted +             \
                                                i / s->count * s->length;      \
            int64_t at = find_##name(row, s->length, TO(values[i]), s->upper); \
                                                                               \
            if (s->wide)                                                       \
                ((int64_t *)s->y)[i] = at;                                     \
            else                                                               \
                ((int32_t *)s->y)[i] = (int32_t)at;                            \
        }                                                                      \
    }

/* name, T, the type it is compared as, and how it becomes that. */
#define SEARCH_ROWS(X)                          \
    X(FLOAT, float, float, AS_IT_IS)            \
    X(DOUBLE, double, double, AS_IT_IS)         \
    X(INT8, int8_t, int8_t, AS_IT_IS)           \
    X(INT16, int16_t, int16_t, AS_IT_IS)        \
    X(INT32, int32_t, int32_t, AS_IT_IS)        \
    X(INT64, int64_t, int64_t, AS_IT_IS)        \
    X(UINT8, uint8_t, uint8_t, AS_IT_IS)        \
    X(UINT16, uint16_t, uint16_t, AS_IT_IS)     \
    X(UINT32, uint32_t, uint32_t, AS_IT_IS)     \
    X(UINT64, uint64_t, uint64_t, AS_IT_IS)     \
    X(HALF, tfd_half, float, tfd_half_to_float) \
    X(BFLOAT16, tfd_bfloat16, float, tfd_bfloat16_to_float)
SEARCH_ROWS(SEARCH)

static enum tfd_code check_sorted(const struct tfd_kctx *k, bool wide,
                                  struct tfd_status *st)
{
    const struct tfd_shape *x = &k->in[0].shape, *v = &k->in[1].shape;

    if (x->rank != 2 || v->rank != 2)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Shape must be rank 2 but is rank %d for `%s` argument",
                        x->rank != 2 ? x->rank : v->rank,
                        x->rank != 2 ? "sorted_inputs" : "values");
    if (x->dim[0] != v->dim[0])
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Leading dim_size of both tensors must match.");
    if (!wide && x->dim[1] >= INT32_MAX)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "trailing dim_size must less than INT_MAX for int32 "
                        "output type, was %lld",
                        (long long)x->dim[1]);
    return TFD_OK;
}

static enum tfd_code search(struct tfd_kctx *k, bool upper,
                            struct tfd_status *st)
{
    const struct tfd_tensor *x = &k->in[0], *v = &k->in[1];
    const enum tfd_dtype out = (enum tfd_dtype)k->node->out_types[0];
    struct search s = {.sorted = tfd_tensor_data(x),
                       .values = tfd_tensor_data(v),
                       .upper = upper,
                       .wide = out == TFD_INT64};

    TFD_TRY(check_sorted(k, s.wide, st));
    TFD_TRY(tfd_kctx_output(k, 0, out, &v->shape, st));
    if (!v->buffer)
        return TFD_OK;
    s.y = tfd_tensor_data(&k->out[0]);
    s.length = x->shape.dim[1];
    s.count = v->shape.dim[1];
    tfd_kctx_parallel(k, v->shape.dim[0] * s.count, SEARCH_NS, k->kernel->range,
                      &s);
    return TFD_OK;
}

static enum tfd_code lower_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    return search(k, false, st);
}

static enum tfd_code upper_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    return search(k, true, st);
}

static enum tfd_code bounds_shape(struct tfd_shape_ctx *s,
                                  struct tfd_status *st)
{
    struct tfd_shape matrix = {2, {TFD_DIM_UNKNOWN, TFD_DIM_UNKNOWN}};

    TFD_TRY(tfd_shape_merge(&matrix, &s->in[1], st));
    s->out[0] = matrix;
    return TFD_OK;
}

/* ---- NthElement ---------------------------------------------------------- */

struct nth {
    const void *x;
    void *y;
    int64_t length, n;
};

/* In the order of signed numbers, and back. */
#define LOWERED(x) ((uint64_t)(x) ^ UINT64_C(1) << 63)

/* Rows of T are selected from as WIDE, in which each has its own value. */
#define NTH(name, T, WIDE, V, TO, FROM)                                    \
    static enum tfd_code nth_##name(void *arg, int64_t begin, int64_t end, \
                                    struct tfd_status *st)                 \
    {                                                                      \
        struct nth s = *(const struct nth *)arg;                           \
        const T *x = (const T *)s.x + begin * s.length;                    \
        struct tfd_buffer *room =                                          \
            tfd_buffer_new(sizeof(V) * (size_t)(s.length + 1));            \
        V *wide = room ? room->data : NULL, found;                         \
                                                                           \
        if (!room)                                                         \
            return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,                    \
                            "OOM when selecting from %lld elements",       \
                            (long long)s.length);                          \
        for (int64_t row = begin; row < end; row++, x += s.length) {       \
            const V *from = (const V *)(const void *)x;                    \
                                                                           \
            if (TFD_##name != TFD_##WIDE) {                                \
                for (int64_t i = 0; i < s.length; i++)                     \
                    wide[i] = (V)TO(x[i]);                                 \
                from = wide;                                               \
            }                                                              \
            found = tfd_quickselect_##WIDE(from, s.length, s.n, wide);     \
            ((T *)s.y)[row] = FROM(found);                                 \
        }                                                                  \
        tfd_buffer_unref(room);                                            \
        return TFD_OK;                                                     \
    }

#define NTH_ROWS(X)                                                         \
    X(FLOAT, float, FLOAT, float, AS_IT_IS, AS_IT_IS)                       \
    X(DOUBLE, double, DOUBLE, double, AS_IT_IS, AS_IT_IS)                   \
    X(INT8, int8_t, INT32, int32_t, AS_IT_IS, (int8_t))                     \
    X(INT16, int16_t, INT32, int32_t, AS_IT_IS, (int16_t))                  \
    X(INT32, int32_t, INT32, int32_t, AS_IT_IS, AS_IT_IS)                   \
    X(INT64, int64_t, INT64, int64_t, AS_IT_IS, AS_IT_IS)                   \
    X(UINT8, uint8_t, INT32, int32_t, AS_IT_IS, (uint8_t))                  \
    X(UINT16, uint16_t, INT32, int32_t, AS_IT_IS, (uint16_t))               \
    X(UINT32, uint32_t, INT64, int64_t, AS_IT_IS, (uint32_t))               \
    X(UINT64, uint64_t, INT64, int64_t, LOWERED, LOWERED)                   \
    X(HALF, tfd_half, FLOAT, float, tfd_half_to_float, tfd_half_from_float) \
    X(BFLOAT16, tfd_bfloat16, FLOAT, float, tfd_bfloat16_to_float,          \
      tfd_bfloat16_from_float)
NTH_ROWS(NTH)

#define NTH_ROW(name, T, WIDE, V, TO, FROM) [TFD_##name] = nth_##name,
static tfd_try_fn *const selections[TFD_DTYPE_END] = {NTH_ROWS(NTH_ROW)};

#define SELECT_NS 2 /* an element is looked at about three times */

static enum tfd_code nth_prepare(const struct tfd_prepare *p, void *state,
                                 struct tfd_status *st)
{
    return tfd_node_bool(p->node, "reverse", state, st);
}

static enum tfd_code read_n(const struct tfd_kctx *k, struct nth *s,
                            struct tfd_status *st)
{
    const struct tfd_shape *x = &k->in[0].shape;

    TFD_TRY(tfd_check_int(k, 1, &s->n, st));
    if (s->n < 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "n must be non-negative but is %lld", (long long)s->n);
    if (x->rank < 1)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Input must be at least rank 1 but is rank %d",
                        x->rank);
    s->length = x->dim[x->rank - 1];
    if (s->length <= s->n)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Input must have last dimension > n = %lld",
                        (long long)s->n);
    if (*(const bool *)k->state)
        s->n = s->length - s->n - 1;
    return TFD_OK;
}

static enum tfd_code nth_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    const struct tfd_tensor *x = &k->in[0];
    struct tfd_shape out = x->shape;
    struct nth s = {.n = 0};

    TFD_TRY(read_n(k, &s, st));
    out.rank--;
    TFD_TRY(tfd_kctx_output(k, 0, x->dtype, &out, st));
    if (!x->buffer)
        return TFD_OK;
    s.x = tfd_tensor_data(x);
    s.y = tfd_tensor_data(&k->out[0]);
    return tfd_kctx_try(k, tfd_shape_elements(&out),
                        s.length < INT16_MAX ? SELECT_NS * (int)s.length
                                             : INT16_MAX,
                        selections[x->dtype], &s, st);
}

static enum tfd_code nth_shape(struct tfd_shape_ctx *s, struct tfd_status *st)
{
    struct tfd_shape scalar = {.rank = 0};
    const struct tfd_shape *x = &s->in[0];
    int64_t n;

    if (x->rank == TFD_RANK_UNKNOWN)
        return TFD_OK;
    if (x->rank == 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Shape must be at least rank 1 but is rank 0");
    s->out[0] = *x;
    s->out[0].rank--;
    TFD_TRY(tfd_shape_merge(&scalar, &s->in[1], st));
    if (!s->value || !s->value[1] || x->dim[x->rank - 1] < 0)
        return TFD_OK;
    n = tfd_check_int_at(s->value[1], 0);
    if (n >= x->dim[x->rank - 1])
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Input must have last dimension > n = %lld but is %lld",
                        (long long)n, (long long)x->dim[x->rank - 1]);
    return TFD_OK;
}

/* Elements that are the n-th share its gradient equally. */
static enum tfd_code nth_gradient(struct tfd_grad *g, struct tfd_status *st)
{
    struct tfd_gradient b = tfd_gradient_begin(g, st);
    const int32_t last = -1;
    struct tfd_edge axis = tfd_gradient_ints(&b, &last, -1);
    struct tfd_edge y = tfd_gradient_op2(&b, "ExpandDims", g->y[0], axis);
    struct tfd_edge dy = tfd_gradient_op2(&b, "ExpandDims", g->dy[0], axis);
    struct tfd_edge same = tfd_gradient_op2(&b, "Equal", y, g->x[0]), count;

    if (b.code == TFD_OK)
        same = tfd_gradient_cast(&b, same, tfd_gradient_dtype(&b, dy));
    count = tfd_gradient_op2(&b, "Sum", same, axis);
    count = tfd_gradient_op2(&b, "ExpandDims", count, axis);
    same = tfd_gradient_op2(&b, "RealDiv", same, count);
    g->dx[0] = tfd_gradient_op2(&b, "Mul", same, dy);
    return b.code;
}

/* ---- Tables -------------------------------------------------------------- */

#define BOUND(name_)                                             \
    {                                                            \
        .name = name_, .inputs = "sorted_inputs: T, values: T",  \
        .outputs = "output: out_type",                           \
        .attrs = "T: type; out_type: {int32, int64} = DT_INT32", \
        .shape = bounds_shape, .flags = TFD_OP_NO_GRADIENT,      \
    }

static const struct tfd_opdef ops[] = {
    BOUND("LowerBound"),
    BOUND("UpperBound"),
    {
        .name = "NthElement",
        .inputs = "input: T, n: int32",
        .outputs = "values: T",
        .attrs = "reverse: bool = false; T: realnumbertype",
        .checks = "n: scalar 'N must be scalar but has rank %d'",
        .shape = nth_shape,
        .grad = nth_gradient,
    },
};

#define KERNELS(name, T, V, TO)                                             \
    TFD_KERNEL("LowerBound", name, lower_compute, search_##name),           \
        TFD_KERNEL("UpperBound", name, upper_compute, search_##name),       \
        TFD_KERNEL("NthElement", name, nth_compute, .prepare = nth_prepare, \
                   .state_size = sizeof(bool)),

static const struct tfd_kernel kernels[] = {SEARCH_ROWS(KERNELS)};

const struct tfd_family tfd_family_bounds = {
    .name = "bounds",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
