/*
 * cast.c - Cast: from every type to every type.
 *
 * What C leaves undefined follows TensorFlow on x86-64: a float that does not
 * fit int32 or int64 becomes the lowest one; narrower integers take the low
 * bits of an int32, uint32 those of an int64.  Of a complex number the real
 * part is taken.  Quantized types are the integers they lie in.
 *
 * Truncate cuts the fraction's low bits off before rounding, for the pairs of
 * types for which TensorFlow does.
 */
#include "kernels/core/families.h"

#include "common/base/half.h"
#include "kernels/core/check.h"
#include "kernels/core/elementwise.h"
#include "kernels/core/gradient.h"
#include "kernels/vector/narrow.h"
#include "kernels/vector/narrow_loops.h"

#include <string.h>

/* ---- Floating point to integers ------------------------------------------ */

/* Written as a selection, so that it can be vectorised and is defined for
 * every value, NaN included. */
#define DEFINE_TO_INT(F, suffix)                          \
    static inline int32_t int32_of_##suffix(F v)          \
    {                                                     \
        const F low = (F)-2147483648.0;                   \
                                                          \
        return (int32_t)(v >= low && v < -low ? v : low); \
    }                                                     \
    static inline int64_t int64_of_##suffix(F v)          \
    {                                                     \
        const F low = (F)-9223372036854775808.0;          \
                                                          \
        return (int64_t)(v >= low && v < -low ? v : low); \
    }                                                     \
    static inline uint64_t uint64_of_##suffix(F v)        \
    {                                                     \
        const F high = (F)9223372036854775808.0;          \
        uint64_t low = (uint64_t)int64_of_##suffix(v);    \
                                                          \
        if (low >> 63)                                    \
            low |= (uint64_t)int64_of_##suffix(v - high); \
        return low;                                       \
    }

DEFINE_TO_INT(float, float)
DEFINE_TO_INT(double, double)

/* ---- Loops --------------------------------------------------------------- */

/* Sources from which loops are compiled for AVX2 as well: the usual ones, for
 * there are many loops. */
#define COPIES_FLOAT TFD_SIMD_CLONES_WIDE
#define COPIES_DOUBLE TFD_SIMD_CLONES_WIDE
#define COPIES_INT32 TFD_SIMD_CLONES_WIDE
#define COPIES_BOOL TFD_SIMD_CLONES_WIDE
#define COPIES_UINT8 TFD_SIMD_CLONES_WIDE
#define COPIES_cut_FLOAT TFD_SIMD_CLONES_WIDE

#define ONE_COPY(name)                                      \
    static void name(void *arg, int64_t begin, int64_t end) \
    {                                                       \
        name##_loop(arg, begin, end);                       \
    }
#define COPIES_INT8 ONE_COPY
#define COPIES_INT16 ONE_COPY
#define COPIES_INT64 ONE_COPY
#define COPIES_UINT16 ONE_COPY
#define COPIES_UINT32 ONE_COPY
#define COPIES_UINT64 ONE_COPY
#define COPIES_HALF TFD_SIMD_CLONES
#define COPIES_BFLOAT16 TFD_SIMD_CLONES
#define COPIES_COMPLEX64 ONE_COPY
#define COPIES_COMPLEX128 ONE_COPY
#define COPIES_cut_DOUBLE ONE_COPY
#define COPIES_cut_COMPLEX64 ONE_COPY
#define COPIES_cut_COMPLEX128 ONE_COPY

/* y[i] = value, an expression in v, which is READ(a[i]). */
#define CAST(from, S, READ, V, to, D, value)    \
    TFD_SIMD_LOOP(from##_to_##to)               \
    {                                           \
        const struct tfd_row *r = arg;          \
        const S *a = r->a;                      \
        D *y = r->y;                            \
                                                \
        for (int64_t i = begin; i < end; i++) { \
            const V v = READ(a[i]);             \
                                                \
            y[i] = value;                       \
        }                                       \
    }                                           \
                                                \
    COPIES_##from(from##_to_##to)

#define SELF(v) (v)
#define REAL(v) ((v).re)

/* Targets of one source as rows of X: those that are written the same way from
 * any real number, complex ones, and integers from integers and others. */
#define REAL_TARGETS(X, from, S, READ, V)                              \
    X(from, S, READ, V, BOOL, tfd_bool, v != 0)                        \
    X(from, S, READ, V, HALF, tfd_half, tfd_half_from_float((float)v)) \
    X(from, S, READ, V, BFLOAT16, tfd_bfloat16,                        \
      tfd_bfloat16_from_float((float)v))                               \
    X(from, S, READ, V, FLOAT, float, (float)v)                        \
    X(from, S, READ, V, DOUBLE, double, (double)v)
#define COMPLEX_TARGETS(X, from, S, READ, V)        \
    X(from, S, READ, V, COMPLEX64, tfd_complex64,   \
      ((tfd_complex64){(float)v, 0}))               \
    X(from, S, READ, V, COMPLEX128, tfd_complex128, \
      ((tfd_complex128){(double)v, 0}))
#define INT_TARGETS(X, from, S, READ, V)               \
    X(from, S, READ, V, INT8, int8_t, (int8_t)v)       \
    X(from, S, READ, V, INT16, int16_t, (int16_t)v)    \
    X(from, S, READ, V, INT32, int32_t, (int32_t)v)    \
    X(from, S, READ, V, INT64, int64_t, (int64_t)v)    \
    X(from, S, READ, V, UINT8, uint8_t, (uint8_t)v)    \
    X(from, S, READ, V, UINT16, uint16_t, (uint16_t)v) \
    X(from, S, READ, V, UINT32, uint32_t, (uint32_t)v) \
    X(from, S, READ, V, UINT64, uint64_t, (uint64_t)v)
#define FRACTION_TARGETS(X, from, S, READ, V)                        \
    X(from, S, READ, V, INT8, int8_t, (int8_t)int32_of_##V(v))       \
    X(from, S, READ, V, INT16, int16_t, (int16_t)int32_of_##V(v))    \
    X(from, S, READ, V, INT32, int32_t, (int32_t)int32_of_##V(v))    \
    X(from, S, READ, V, INT64, int64_t, (int64_t)int64_of_##V(v))    \
    X(from, S, READ, V, UINT8, uint8_t, (uint8_t)int32_of_##V(v))    \
    X(from, S, READ, V, UINT16, uint16_t, (uint16_t)int32_of_##V(v)) \
    X(from, S, READ, V, UINT32, uint32_t, (uint32_t)int64_of_##V(v)) \
    X(from, S, READ, V, UINT64, uint64_t, (uint64_t)uint64_of_##V(v))

/* Sources, each of which makes ROWS of X. */
#define INT_SOURCES(ROWS, X)                  \
    ROWS(X, BOOL, tfd_bool, SELF, tfd_bool)   \
    ROWS(X, INT8, int8_t, SELF, int8_t)       \
    ROWS(X, INT16, int16_t, SELF, int16_t)    \
    ROWS(X, INT32, int32_t, SELF, int32_t)    \
    ROWS(X, INT64, int64_t, SELF, int64_t)    \
    ROWS(X, UINT8, uint8_t, SELF, uint8_t)    \
    ROWS(X, UINT16, uint16_t, SELF, uint16_t) \
    ROWS(X, UINT32, uint32_t, SELF, uint32_t) \
    ROWS(X, UINT64, uint64_t, SELF, uint64_t)
#define FLOAT_SOURCES(ROWS, X)         \
    ROWS(X, FLOAT, float, SELF, float) \
    ROWS(X, DOUBLE, double, SELF, double)
#define COMPLEX_SOURCES(ROWS, X)                   \
    ROWS(X, COMPLEX64, tfd_complex64, REAL, float) \
    ROWS(X, COMPLEX128, tfd_complex128, REAL, double)

INT_SOURCES(REAL_TARGETS, CAST)
INT_SOURCES(COMPLEX_TARGETS, CAST)
INT_SOURCES(INT_TARGETS, CAST)
FLOAT_SOURCES(REAL_TARGETS, CAST)
FLOAT_SOURCES(COMPLEX_TARGETS, CAST)
FLOAT_SOURCES(FRACTION_TARGETS, CAST)
COMPLEX_SOURCES(REAL_TARGETS, CAST)
COMPLEX_SOURCES(FRACTION_TARGETS, CAST)

#define BETWEEN_COMPLEX(X, from, T)                 \
    X(from, T, SELF, T, COMPLEX64, tfd_complex64,   \
      ((tfd_complex64){(float)v.re, (float)v.im}))  \
    X(from, T, SELF, T, COMPLEX128, tfd_complex128, \
      ((tfd_complex128){(double)v.re, (double)v.im}))

BETWEEN_COMPLEX(CAST, COMPLEX64, tfd_complex64)
BETWEEN_COMPLEX(CAST, COMPLEX128, tfd_complex128)

CAST(HALF, tfd_half, SELF, tfd_half, BOOL, tfd_bool, (v & 0x7fff) != 0)
CAST(BFLOAT16, tfd_bfloat16, SELF, tfd_bfloat16, BOOL, tfd_bool,
     (v & 0x7fff) != 0)

/* By way of floats that stay in the first cache. */
#define CAST_NARROW(from, to, D)                                          \
    static void from##_to_##to(void *arg, int64_t begin, int64_t end)     \
    {                                                                     \
        tfd_narrow_into(TFD_##from, FLOAT_to_##to, sizeof(D), arg, begin, \
                        end);                                             \
    }
#define FROM_NARROW(name, number, S)                                   \
    CAST_NARROW(name, HALF, tfd_half)                                  \
    CAST_NARROW(name, BFLOAT16, tfd_bfloat16)                          \
    CAST_NARROW(name, DOUBLE, double)                                  \
    CAST_NARROW(name, COMPLEX64, tfd_complex64)                        \
    CAST_NARROW(name, COMPLEX128, tfd_complex128)                      \
    CAST_NARROW(name, INT8, int8_t)                                    \
    CAST_NARROW(name, INT16, int16_t)                                  \
    CAST_NARROW(name, INT32, int32_t)                                  \
    CAST_NARROW(name, INT64, int64_t)                                  \
    CAST_NARROW(name, UINT8, uint8_t)                                  \
    CAST_NARROW(name, UINT16, uint16_t)                                \
    CAST_NARROW(name, UINT32, uint32_t)                                \
    CAST_NARROW(name, UINT64, uint64_t)                                \
    static void name##_to_FLOAT(void *arg, int64_t begin, int64_t end) \
    {                                                                  \
        const struct tfd_row *r = arg;                                 \
                                                                       \
        tfd_narrow_widen(TFD_##name, (const uint16_t *)r->a + begin,   \
                         (float *)r->y + begin, end - begin);          \
    }
TFD_HALF_DTYPES(FROM_NARROW)

/* ---- Loops that truncate ------------------------------------------------- */

/* Clears the low `bits` of the fraction.  What is left is exact in the narrow
 * type unless it is subnormal there.  NaN is told by its bits: gcc 12 drops the
 * mask of 16 bits when it stands beside the comparison v == v. */
static inline float cut_float(float v, int bits)
{
    uint32_t u = tfd_half_float_bits(v);
    uint32_t cut = u >> bits << bits;

    return tfd_half_float_of((u & 0x7fffffffu) > 0x7f800000u ? u : cut);
}

static inline double cut_double(double v, int bits)
{
    const uint64_t infinity = UINT64_C(0x7ff) << 52;
    uint64_t u, cut;

    memcpy(&u, &v, sizeof(u));
    cut = u >> bits << bits;
    cut = (u & INT64_MAX) > infinity ? u : cut;
    memcpy(&v, &cut, sizeof(v));
    return v;
}

#define CUT_13(v) cut_float(v, 13)  /* 23 bits of fraction to 10 of half */
#define CUT_16(v) cut_float(v, 16)  /* to 7 of bfloat16 */
#define CUT_29(v) cut_double(v, 29) /* 52 bits to 23 of float */
#define CUT_42(v) cut_double(v, 42)
/* TensorFlow takes a complex type to have no fraction at all. */
#define CUT_53(v) cut_double(v, 53)
#define CUT_13_REAL(v) CUT_13((v).re)
#define CUT_29_REAL(v) CUT_29((v).re)
#define CUT_42_REAL(v) CUT_42((v).re)

CAST(cut_FLOAT, float, CUT_13, float, HALF, tfd_half, tfd_half_from_float(v))
CAST(cut_FLOAT, float, CUT_16, float, BFLOAT16, tfd_bfloat16,
     tfd_bfloat16_from_float(v))
CAST(cut_DOUBLE, double, CUT_29, double, FLOAT, float, (float)v)
CAST(cut_DOUBLE, double, CUT_42, double, HALF, tfd_half,
     tfd_half_from_float((float)v))
CAST(cut_DOUBLE, double, CUT_53, double, COMPLEX64, tfd_complex64,
     ((tfd_complex64){(float)v, 0}))
CAST(cut_COMPLEX64, tfd_complex64, CUT_13_REAL, float, HALF, tfd_half,
     tfd_half_from_float(v))
CAST(cut_COMPLEX128, tfd_complex128, CUT_42_REAL, double, HALF, tfd_half,
     tfd_half_from_float((float)v))
CAST(cut_COMPLEX128, tfd_complex128, CUT_29_REAL, double, FLOAT, float,
     (float)v)
CAST(cut_COMPLEX128, tfd_complex128, SELF, tfd_complex128, COMPLEX64,
     tfd_complex64, ((tfd_complex64){(float)CUT_29(v.re), (float)CUT_29(v.im)}))

/* ---- Choice -------------------------------------------------------------- */

/* Targets of one source, by number of the type. */
#define ROW(from)                                \
    [TFD_##from] = {                             \
        [TFD_BOOL] = from##_to_BOOL,             \
        [TFD_HALF] = from##_to_HALF,             \
        [TFD_BFLOAT16] = from##_to_BFLOAT16,     \
        [TFD_FLOAT] = from##_to_FLOAT,           \
        [TFD_DOUBLE] = from##_to_DOUBLE,         \
        [TFD_COMPLEX64] = from##_to_COMPLEX64,   \
        [TFD_COMPLEX128] = from##_to_COMPLEX128, \
        [TFD_INT8] = from##_to_INT8,             \
        [TFD_INT16] = from##_to_INT16,           \
        [TFD_INT32] = from##_to_INT32,           \
        [TFD_INT64] = from##_to_INT64,           \
        [TFD_UINT8] = from##_to_UINT8,           \
        [TFD_UINT16] = from##_to_UINT16,         \
        [TFD_UINT32] = from##_to_UINT32,         \
        [TFD_UINT64] = from##_to_UINT64,         \
    },

#define ROW_OF(name, number, T) ROW(name)

static tfd_range_fn *const loops[TFD_DTYPE_END][TFD_DTYPE_END] = {
    ROW(BOOL) TFD_REAL_DTYPES(ROW_OF) TFD_HALF_DTYPES(ROW_OF)
        TFD_COMPLEX_DTYPES(ROW_OF)};

static const struct {
    enum tfd_dtype from, to;
    tfd_range_fn *loop;
} cutting[] = {
    {TFD_FLOAT, TFD_HALF, cut_FLOAT_to_HALF},
    {TFD_FLOAT, TFD_BFLOAT16, cut_FLOAT_to_BFLOAT16},
    {TFD_DOUBLE, TFD_FLOAT, cut_DOUBLE_to_FLOAT},
    {TFD_DOUBLE, TFD_HALF, cut_DOUBLE_to_HALF},
    {TFD_DOUBLE, TFD_COMPLEX64, cut_DOUBLE_to_COMPLEX64},
    {TFD_COMPLEX64, TFD_HALF, cut_COMPLEX64_to_HALF},
    {TFD_COMPLEX128, TFD_HALF, cut_COMPLEX128_to_HALF},
    {TFD_COMPLEX128, TFD_FLOAT, cut_COMPLEX128_to_FLOAT},
    {TFD_COMPLEX128, TFD_COMPLEX64, cut_COMPLEX128_to_COMPLEX64},
};

/* By way of narrow.h, which knows the processor's instructions for it. */
static void float_to_half(void *arg, int64_t begin, int64_t end)
{
    const struct tfd_row *r = arg;

    tfd_narrow_round(TFD_HALF, (const float *)r->a + begin,
                     (tfd_half *)r->y + begin, end - begin);
}

static enum tfd_dtype without_quantization(enum tfd_dtype t)
{
    switch (t) {
    case TFD_QINT8:
        return TFD_INT8;
    case TFD_QUINT8:
        return TFD_UINT8;
    case TFD_QINT16:
        return TFD_INT16;
    case TFD_QUINT16:
        return TFD_UINT16;
    case TFD_QINT32:
        return TFD_INT32;
    default:
        return t;
    }
}

static tfd_range_fn *choose_cast(enum tfd_dtype from, enum tfd_dtype to,
                                 bool truncates)
{
    from = without_quantization(from);
    to = without_quantization(to);
    for (int i = 0; truncates && i < TFD_COUNT(cutting); i++)
        if (cutting[i].from == from && cutting[i].to == to)
            return cutting[i].loop;
    if (from == TFD_FLOAT && to == TFD_HALF)
        return float_to_half;
    return loops[from][to];
}

/* ---- Kernel -------------------------------------------------------------- */

struct cast_state {
    tfd_range_fn *loop; /* NULL: same type, nothing to do */
    enum tfd_dtype to;
};

static enum tfd_code cast_prepare(const struct tfd_prepare *p, void *state,
                                  struct tfd_status *st)
{
    struct cast_state *s = state;
    enum tfd_dtype from;
    bool truncates;

    TFD_TRY(tfd_node_type(p->node, "SrcT", &from, st));
    TFD_TRY(tfd_node_type(p->node, "DstT", &s->to, st));
    TFD_TRY(tfd_node_bool(p->node, "Truncate", &truncates, st));
    if (from == s->to)
        return TFD_OK;
    s->loop = choose_cast(from, s->to, truncates);
    if (!s->loop)
        return tfd_fail(st, TFD_UNIMPLEMENTED, "Cast %s to %s is not supported",
                        tfd_dtype_name((int)from), tfd_dtype_name((int)s->to));
    return TFD_OK;
}

/* Of the sources whose loops have copies for wide vectors. */
static bool is_as_quick_as_memory(enum tfd_dtype from)
{
    return from == TFD_FLOAT || from == TFD_DOUBLE || from == TFD_INT32 ||
           from == TFD_BOOL || from == TFD_UINT8 || from == TFD_HALF ||
           from == TFD_BFLOAT16;
}

static enum tfd_code cast_cpu(struct tfd_kctx *k, struct tfd_status *st)
{
    const struct cast_state *s = k->state;
    const int cost =
        is_as_quick_as_memory(k->in[0].dtype) ? TFD_COST_MEMORY : 1;
    const struct tfd_elementwise e = {s->to, cost, NULL, s->loop};
    const struct tfd_shape shape = k->in[0].shape;

    if (s->loop)
        return tfd_elementwise_unary(k, &e, st);
    tfd_kctx_output_alias(k, 0, 0, &shape);
    return TFD_OK;
}

/* ---- Gradient ------------------------------------------------------------ */

static bool is_differentiable(enum tfd_dtype t)
{
    return t == TFD_HALF || t == TFD_FLOAT || t == TFD_DOUBLE ||
           t == TFD_BFLOAT16 || t == TFD_COMPLEX64 || t == TFD_COMPLEX128;
}

static enum tfd_code cast_gradient(struct tfd_grad *g, struct tfd_status *st)
{
    struct tfd_gradient b = tfd_gradient_begin(g, st);
    enum tfd_dtype from = tfd_gradient_dtype(&b, g->x[0]);

    if (is_differentiable(from) &&
        is_differentiable(tfd_gradient_dtype(&b, g->dy[0])))
        g->dx[0] = tfd_gradient_cast(&b, g->dy[0], from);
    return b.code;
}

/* ---- Tables -------------------------------------------------------------- */

static const struct tfd_opdef ops[] = {
    {
        .name = "Cast",
        .inputs = "x: SrcT",
        .outputs = "y: DstT",
        .attrs = "SrcT: type; DstT: type; Truncate: bool = false",
        .key = "SrcT",
        .shape = tfd_shape_like_first,
        .grad = cast_gradient,
    },
};

static const struct tfd_kernel kernels[] = {
    TFD_KERNEL_ANY("Cast", cast_cpu, .prepare = cast_prepare,
                   .state_size = sizeof(struct cast_state)),
};

const struct tfd_family tfd_family_cast = {
    .name = "cast",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
