/*
 * arg.c - ArgMax and ArgMin: where along an axis the largest or smallest
 * element is; the first of several.
 *
 * A NaN is never chosen, unless there is nothing else: then the answer is 0.
 */
#include "kernels/core/families.h"

#include "common/base/half.h"
#include "kernels/core/check.h"
#include "kernels/core/elementwise.h"
#include "kernels/vector/narrow.h"
#include "kernels/core/outputs.h"

#if defined(__x86_64__)
#include <emmintrin.h>
#endif
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
static void put_index(const struct search *s, int64_t at, int64_t index)
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

/* Where the outputs lie side by side, so do what they are compared with. */
#define TILE 256
#define ROWS 4096 /* whose numbers fit any integer of a vector */

/* Outputs [o, o + n) of one slab, n up to TILE. */
#define SEARCH_COLUMNS(id, T, F, I, to, WORST, BETTER)              \
    static inline __attribute__((always_inline)) void columns_##id( \
        const struct search *s, int64_t o, int64_t n)               \
    {                                                               \
        const int64_t step = s->inner;                              \
        const T *restrict x =                                       \
            (const T *)s->x + o / step * s->size * step + o % step; \
        F best[TILE];                                               \
        I index[TILE];                                              \
        int64_t at[TILE];                                           \
                                                                    \
        for (int64_t j = 0; j < n; j++) {                           \
            best[j] = WORST;                                        \
            at[j] = 0;                                              \
        }                                                           \
        for (int64_t from = 0; from < s->size; from += ROWS) {      \
            const int64_t left = s->size - from;                    \
            const I rows = (I)(left < ROWS ? left : ROWS);          \
                                                                    \
            for (int64_t j = 0; j < n; j++)                         \
                index[j] = -1;                                      \
            for (I i = 0; i < rows; i++, x += step)                 \
                for (int64_t j = 0; j < n; j++) {                   \
                    const F v = to(x[j]);                           \
                    const bool better = v BETTER best[j];           \
                                                                    \
                    index[j] = better ? i : index[j];               \
                    best[j] = better ? v : best[j];                 \
                }                                                   \
            for (int64_t j = 0; j < n; j++)                         \
                at[j] = index[j] < 0 ? at[j] : from + index[j];     \
        }                                                           \
        for (int64_t j = 0; j < n; j++)                             \
            put_index(s, o + j, at[j]);                             \
    }

#define SEARCH(id, T, F, I, to, WORST, BETTER)                               \
    TFD_SIMD_LOOP(id)                                                        \
    {                                                                        \
        const struct search *s = arg;                                        \
        const int64_t step = s->inner;                                       \
                                                                             \
        for (int64_t o = begin, n; o < end; o += n) {                        \
            n = step - o % step < end - o ? step - o % step : end - o;       \
            n = n < TILE ? n : TILE;                                         \
            if (step == 1)                                                   \
                put_index(s, o,                                              \
                          row_##id((const T *)s->x + o * s->size, s->size)); \
            else                                                             \
                columns_##id(s, o, n);                                       \
        }                                                                    \
    }                                                                        \
    TFD_SIMD_CLONES(id)

#define SELF(v) (v)
/* I: an integer as wide as F, so that a vector has as many. */
#define FLOATS_SEARCHED(X)                                             \
    X(max_FLOAT, float, float, int32_t, SELF, -INFINITY, >)            \
    X(min_FLOAT, float, float, int32_t, SELF, INFINITY, <)             \
    X(max_DOUBLE, double, double, int64_t, SELF, -(double)INFINITY, >) \
    X(min_DOUBLE, double, double, int64_t, SELF, (double)INFINITY, <)
#define HALVES_SEARCHED(X)                                                 \
    X(max_HALF, tfd_half, float, int32_t, tfd_half_to_float, -INFINITY, >) \
    X(min_HALF, tfd_half, float, int32_t, tfd_half_to_float, INFINITY, <)  \
    X(max_BFLOAT16, tfd_bfloat16, float, int32_t, tfd_bfloat16_to_float,   \
      -INFINITY, >)                                                        \
    X(min_BFLOAT16, tfd_bfloat16, float, int32_t, tfd_bfloat16_to_float,   \
      INFINITY, <)
#define BOTH(X, name, T, I, LOWEST, HIGHEST) \
    X(max_##name, T, T, I, SELF, LOWEST, >)  \
    X(min_##name, T, T, I, SELF, HIGHEST, <)
#define INTS_SEARCHED(X)                                   \
    BOTH(X, INT8, int8_t, int32_t, INT8_MIN, INT8_MAX)     \
    BOTH(X, INT16, int16_t, int32_t, INT16_MIN, INT16_MAX) \
    BOTH(X, INT32, int32_t, int32_t, INT32_MIN, INT32_MAX) \
    BOTH(X, INT64, int64_t, int64_t, INT64_MIN, INT64_MAX) \
    BOTH(X, UINT8, uint8_t, int32_t, 0, UINT8_MAX)         \
    BOTH(X, UINT16, uint16_t, int32_t, 0, UINT16_MAX)      \
    BOTH(X, UINT32, uint32_t, int32_t, 0, UINT32_MAX)      \
    BOTH(X, UINT64, uint64_t, int64_t, 0, UINT64_MAX)      \
    BOTH(X, BOOL, tfd_bool, int32_t, 0, UINT8_MAX)

/* ---- Rows of integers -----------------------------------------------------
 */

#define INT_BLOCK 64 /* elements, of which the first best is looked for */

/* The best of each block is found by vectors, and then where it is. */
#define INT_ROW(id, T, F, I, to, WORST, BETTER)                             \
    static inline __attribute__((always_inline))                            \
    T most_##id(const T *x, int64_t n)                                      \
    {                                                                       \
        T most = WORST;                                                     \
                                                                            \
        for (int64_t i = 0; i < n; i++)                                     \
            most = x[i] BETTER most ? x[i] : most;                          \
        return most;                                                        \
    }                                                                       \
                                                                            \
    static inline __attribute__((always_inline))                            \
    int64_t row_##id(const T *x, int64_t n)                                 \
    {                                                                       \
        T best = WORST;                                                     \
        int64_t at = 0;                                                     \
                                                                            \
        for (int64_t i = 0; i < n; i += INT_BLOCK) {                        \
            const T most = n - i < INT_BLOCK ? most_##id(x + i, n - i)      \
                                             : most_##id(x + i, INT_BLOCK); \
                                                                            \
            at = most BETTER best ? i : at;                                 \
            best = most BETTER best ? most : best;                          \
        }                                                                   \
        while (x[at] != best)                                               \
            at++;                                                           \
        return at;                                                          \
    }

/* ---- Rows of float and double -------------------------------------------- */

#if defined(__x86_64__)

/* The best first, and then where it is: both by vectors of 16 bytes.  NaN is
 * never better, so `most` has none: these instructions take their second
 * operand where a comparison is false. */
#define VECTOR_ROW(id, T, V, p, PICK, BETTER, WORST)                           \
    static inline T most_##id(const T *x, int64_t n)                           \
    {                                                                          \
        const int64_t per = 16 / sizeof(T);                                    \
        T parts[4 * 16 / sizeof(T)], most = WORST;                             \
        V v[4];                                                                \
        int64_t i = 0;                                                         \
                                                                               \
        for (int k = 0; k < 4; k++)                                            \
            v[k] = _mm_set1_##p(WORST);                                        \
        for (; n - i >= 4 * per; i += 4 * per)                                 \
            for (int k = 0; k < 4; k++)                                        \
                v[k] = PICK(_mm_loadu_##p(x + i + k * per), v[k]);             \
        v[0] = PICK(PICK(v[0], v[1]), PICK(v[2], v[3]));                       \
        _mm_storeu_##p(parts, v[0]);                                           \
        for (int k = 0; k < per; k++)                                          \
            most = parts[k] BETTER most ? parts[k] : most;                     \
        for (; i < n; i++)                                                     \
            most = x[i] BETTER most ? x[i] : most;                             \
        return most;                                                           \
    }                                                                          \
                                                                               \
    static inline int64_t row_##id(const T *x, int64_t n)                      \
    {                                                                          \
        const int64_t per = 16 / sizeof(T);                                    \
        const T most = most_##id(x, n);                                        \
        const V wanted = _mm_set1_##p(most);                                   \
        int64_t i = 0;                                                         \
                                                                               \
        if (most == (T)(WORST)) /* nothing was better */                       \
            return 0;                                                          \
        for (; n - i >= per; i += per) {                                       \
            int here =                                                         \
                _mm_movemask_##p(_mm_cmpeq_##p(_mm_loadu_##p(x + i), wanted)); \
                                                                               \
            if (here)                                                          \
                return i + __builtin_ctz((unsigned)here);                      \
        }                                                                      \
        while (x[i] != most)                                                   \
            i++;                                                               \
        return i;                                                              \
    }

VECTOR_ROW(max_FLOAT, float, __m128, ps, _mm_max_ps, >, -INFINITY)
VECTOR_ROW(min_FLOAT, float, __m128, ps, _mm_min_ps, <, INFINITY)
VECTOR_ROW(max_DOUBLE, double, __m128d, pd, _mm_max_pd, >, -(double)INFINITY)
VECTOR_ROW(min_DOUBLE, double, __m128d, pd, _mm_min_pd, <, (double)INFINITY)

#else

/* The first of the best of a row. */
#define SEARCH_ROW(id, T, F, I, to, WORST, BETTER)        \
    static inline int64_t row_##id(const T *x, int64_t n) \
    {                                                     \
        F best = WORST;                                   \
        int64_t index = 0;                                \
                                                          \
        for (int64_t i = 0; i < n; i++)                   \
            if (to(x[i]) BETTER best) {                   \
                best = to(x[i]);                          \
                index = i;                                \
            }                                             \
        return index;                                     \
    }

FLOATS_SEARCHED(SEARCH_ROW)

#endif

/* ---- Rows of half and bfloat16 ------------------------------------------- */

#define ORDER_BLOCK 256 /* elements, of which the first best is looked for */

/* Integers that are ordered as the numbers are; those of NaN come first, before
 * that of -infinity, which is never better than nothing, either. */
#define NARROW_ROW(id, T, infinite, sign)                                \
    static inline int16_t order_##id(T x)                                \
    {                                                                    \
        return tfd_narrow_order((T)(x ^ (sign)), (infinite), INT16_MIN); \
    }                                                                    \
                                                                         \
    struct block_##id {                                                  \
        const T *x;                                                      \
        int16_t most, first;                                             \
    };                                                                   \
                                                                         \
    TFD_SIMD_LOOP(most_##id)                                             \
    {                                                                    \
        struct block_##id *b = arg;                                      \
        int16_t most = INT16_MIN;                                        \
                                                                         \
        for (int64_t i = begin; i < end; i++) {                          \
            const int16_t order = order_##id(b->x[i]);                   \
                                                                         \
            most = order > most ? order : most;                          \
        }                                                                \
        b->most = most;                                                  \
    }                                                                    \
    TFD_SIMD_CLONES_WIDE(most_##id)                                      \
                                                                         \
    /* Where the first is whose order is `most`. */                      \
    TFD_SIMD_LOOP(first_##id)                                            \
    {                                                                    \
        struct block_##id *b = arg;                                      \
        int16_t first = INT16_MAX;                                       \
                                                                         \
        for (int16_t i = 0; i < end - begin; i++) {                      \
            const bool other = order_##id(b->x[begin + i]) != b->most;   \
            const int16_t at = (int16_t)(i | (-other & INT16_MAX));      \
                                                                         \
            first = at < first ? at : first;                             \
        }                                                                \
        b->first = first;                                                \
    }                                                                    \
    TFD_SIMD_CLONES_WIDE(first_##id)                                     \
                                                                         \
    static int64_t row_##id(const T *x, int64_t n)                       \
    {                                                                    \
        struct block_##id b = {x, 0, 0};                                 \
        int16_t best = -(infinite);                                      \
        int64_t at = -1;                                                 \
                                                                         \
        for (int64_t i = 0; i < n; i += ORDER_BLOCK) {                   \
            most_##id(&b, i, n - i < ORDER_BLOCK ? n : i + ORDER_BLOCK); \
            at = b.most > best ? i : at;                                 \
            best = b.most > best ? b.most : best;                        \
        }                                                                \
        if (at < 0) /* nothing was better */                             \
            return 0;                                                    \
        b.most = best;                                                   \
        first_##id(&b, at, n - at < ORDER_BLOCK ? n : at + ORDER_BLOCK); \
        return at + b.first;                                             \
    }

NARROW_ROW(max_HALF, tfd_half, TFD_INFINITE_HALF, 0)
NARROW_ROW(min_HALF, tfd_half, TFD_INFINITE_HALF, 0x8000)
NARROW_ROW(max_BFLOAT16, tfd_bfloat16, TFD_INFINITE_BFLOAT16, 0)
NARROW_ROW(min_BFLOAT16, tfd_bfloat16, TFD_INFINITE_BFLOAT16, 0x8000)

/* ---- Loops --------------------------------------------------------------- */

INTS_SEARCHED(INT_ROW)

FLOATS_SEARCHED(SEARCH_COLUMNS)
HALVES_SEARCHED(SEARCH_COLUMNS)
INTS_SEARCHED(SEARCH_COLUMNS)

FLOATS_SEARCHED(SEARCH)
HALVES_SEARCHED(SEARCH)
INTS_SEARCHED(SEARCH)

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
                      s.size < 1000000 ? (int)s.size / 4 + 5 : 250000,
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
