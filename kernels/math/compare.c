/*
 * compare.c - comparisons of two tensors, and logic:
 *
 *     Equal NotEqual Less LessEqual Greater GreaterEqual
 *     LogicalAnd LogicalOr LogicalNot
 *     ApproximateEqual      of one shape; no further apart than the tolerance
 *
 * Equal and NotEqual of shapes that do not fit together are an error or, with
 * incompatible_shape_error false, the scalar false or true.
 */
#include "kernels/core/families.h"

#include "common/base/half.h"
#include "common/base/str.h"
#include "kernels/core/broadcast.h"
#include "kernels/core/check.h"
#include "kernels/core/elementwise.h"
#include "kernels/vector/narrow.h"

#include <math.h>
#include <string.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

/* ---- Functions of two elements ------------------------------------------- */

#define EQUAL(a, b) ((tfd_bool)((a) == (b)))
#define NOT_EQUAL(a, b) ((tfd_bool)((a) != (b)))
#define LESS(a, b) ((tfd_bool)((a) < (b)))
#define LESS_EQUAL(a, b) ((tfd_bool)((a) <= (b)))
#define AND(a, b) ((tfd_bool)((a) & (b)))
#define OR(a, b) ((tfd_bool)((a) | (b)))
#define NOT(a) ((tfd_bool) !(a))

#define DEFINE_COMPLEX(name, number, T)               \
    static inline tfd_bool equal_##name(T a, T b)     \
    {                                                 \
        return a.re == b.re && a.im == b.im;          \
    }                                                 \
    static inline tfd_bool not_equal_##name(T a, T b) \
    {                                                 \
        return !equal_##name(a, b);                   \
    }

TFD_COMPLEX_DTYPES(DEFINE_COMPLEX)

static inline tfd_bool equal_STRING(struct tfd_tstring a, struct tfd_tstring b)
{
    return tfd_str_eq(tfd_tstring_view(&a), tfd_tstring_view(&b));
}

static inline tfd_bool not_equal_STRING(struct tfd_tstring a,
                                        struct tfd_tstring b)
{
    return !equal_STRING(a, b);
}

/* ---- Loops --------------------------------------------------------------- */

static struct tfd_row sides_changed(const struct tfd_row *r)
{
    struct tfd_row row = *r;

    row.a = r->b;
    row.b = r->a;
    row.a_step = r->b_step;
    row.b_step = r->a_step;
    return row;
}

#define LOOPS_EQUAL(LOOP, name, T, equal, not_equal) \
    LOOP(loop_equal_##name, T, tfd_bool, equal)      \
    LOOP(loop_not_equal_##name, T, tfd_bool, not_equal)
/* What is greater is less the other way around. */
#define LOOP_AROUND(function, other, name)                         \
    static void loop_##function##_##name(void *arg, int64_t begin, \
                                         int64_t end)              \
    {                                                              \
        struct tfd_row row = sides_changed(arg);                   \
                                                                   \
        loop_##other##_##name(&row, begin, end);                   \
    }
#define LOOPS_ORDER(LOOP, name, T)                        \
    LOOP(loop_less_##name, T, tfd_bool, LESS)             \
    LOOP(loop_less_equal_##name, T, tfd_bool, LESS_EQUAL) \
    LOOP_AROUND(greater, less, name)                      \
    LOOP_AROUND(greater_equal, less_equal, name)

#define LOOPS_REAL(LOOP, name, T)                \
    LOOPS_EQUAL(LOOP, name, T, EQUAL, NOT_EQUAL) \
    LOOPS_ORDER(LOOP, name, T)
/* Integers of eight bytes beside one number: 64 at a time, of whose bits bytes
 * are made at once.  Lines are read in their order, as a compiler's own loop
 * does not (Zen 5: NotEqual of 4,000,000 in 780 us in place of 1,200). */
enum order { IS_EQUAL, IS_NOT_EQUAL, IS_LESS, IS_LESS_EQUAL };

#if defined(__x86_64__)
#define TARGET_avx512 __attribute__((target(TFD_SIMD_AVX512)))
#define INLINE_avx512 TARGET_avx512 static inline __attribute__((always_inline))

INLINE_avx512 __mmask64 bits_beside(enum order o, __m512i one, __m512i x)
{
    return o == IS_EQUAL       ? _mm512_cmpeq_epi64_mask(one, x)
           : o == IS_NOT_EQUAL ? _mm512_cmpneq_epi64_mask(one, x)
           : o == IS_LESS      ? _mm512_cmpgt_epi64_mask(one, x)
                               : _mm512_cmpge_epi64_mask(one, x);
}

INLINE_avx512 void blocks_beside(const enum order o, const int64_t *x,
                                 int64_t other, tfd_bool *y, int64_t n)
{
    const __m512i one = _mm512_set1_epi64(other);

    for (int64_t i = 0; i < n; i += 64) {
        __mmask64 bits = 0;

        for (int v = 0; v < 64; v += 8)
            bits |= bits_beside(o, one, _mm512_loadu_si512(x + i + v)) << v;
        _mm512_storeu_si512(y + i, _mm512_maskz_set1_epi8(bits, 1));
    }
}

TARGET_avx512 static int64_t compare_blocks(const struct tfd_row *r,
                                            enum order o, int64_t begin,
                                            int64_t end)
{
    const int64_t *x = (const int64_t *)r->a + begin, *one = r->b;
    const int64_t n = (end - begin) / 64 * 64;
    tfd_bool *y = (tfd_bool *)r->y + begin;

    if (o == IS_EQUAL)
        blocks_beside(IS_EQUAL, x, *one, y, n);
    else if (o == IS_NOT_EQUAL)
        blocks_beside(IS_NOT_EQUAL, x, *one, y, n);
    else if (o == IS_LESS)
        blocks_beside(IS_LESS, x, *one, y, n);
    else
        blocks_beside(IS_LESS_EQUAL, x, *one, y, n);
    return begin + n;
}
#endif

/* The first that is left; all, where neither side is one number, or the left.
 */
static int64_t compare_beside_one(const struct tfd_row *r, enum order o,
                                  int64_t begin, int64_t end)
{
#if defined(__x86_64__)
    if (end - begin >= 64 && !r->b_step && r->a_step && tfd_simd_has_avx512())
        return compare_blocks(r, o, begin, end);
#endif
    (void)r, (void)o, (void)end;
    return begin;
}

/* Of the others a vector of AVX2 has but four. */
#define BINARY_LONG(name, TA, TY, function)                         \
    TFD_BINARY_LONG(name##_any, TA, TY, function)                   \
    static void name(void *arg, int64_t begin, int64_t end)         \
    {                                                               \
        begin = compare_beside_one(arg, IS_##function, begin, end); \
        name##_any(arg, begin, end);                                \
    }

/* Copies for long vectors cost memory: only what is compared often has them. */
#define LOOP_OF_INT32 TFD_BINARY_WIDE
#define LOOP_OF_INT64 BINARY_LONG
#define LOOP_OF_UINT8 TFD_BINARY_LOOP
#define LOOP_OF_INT16 TFD_BINARY_SIMD
#define LOOP_OF_INT8 TFD_BINARY_LOOP
#define LOOP_OF_UINT16 TFD_BINARY_LOOP
#define LOOP_OF_UINT32 TFD_BINARY_LOOP
#define LOOP_OF_UINT64 TFD_BINARY_LOOP
#define LOOPS_INT(name, number, T) LOOPS_REAL(LOOP_OF_##name, name, T)
#define LOOPS_FLOAT(name, number, T) LOOPS_REAL(TFD_BINARY_WIDE, name, T)
TFD_INT_DTYPES(LOOPS_INT)
TFD_FLOAT_DTYPES(LOOPS_FLOAT)

/* Halves or bfloat16, of which nothing is widened: bits without the sign are
 * in the order of sizes, and those above `infinite` are NaN's.  What is below
 * `least` in size is 0. */
struct ordering {
    const uint16_t *a, *b;
    tfd_bool *y;
    int16_t infinite, least;
    int16_t other; /* less: 1 where equal ones are, too; equal: 1 for not so */
};

#define SIZE_OF(x) ((int16_t)((x)&INT16_MAX))
/* An integer for each, in their order but that -0 is below 0. */
#define PLACE_OF(x) ((int16_t)((x) ^ (((int16_t)(x) >> 15) & INT16_MAX)))

TFD_SIMD_LOOP(less_narrow)
{
    const struct ordering *o = arg;
    const uint16_t *a = o->a, *b = o->b;
    const int16_t infinite = o->infinite, least = o->least, other = o->other;
    tfd_bool *y = o->y;

    for (int64_t i = begin; i < end; i++) {
        const uint16_t p = a[i], q = b[i];
        const int16_t place = (int16_t)(PLACE_OF(p) - other);
        const int16_t less = place < PLACE_OF(q);
        const int16_t less_or_zero = SIZE_OF(p | q) < least ? other : less;
        const int16_t largest =
            SIZE_OF(p) > SIZE_OF(q) ? SIZE_OF(p) : SIZE_OF(q);

        y[i] = (tfd_bool)(largest > infinite ? 0 : less_or_zero);
    }
}
TFD_SIMD_CLONES_WIDE(less_narrow)

TFD_SIMD_LOOP(equal_narrow)
{
    const struct ordering *o = arg;
    const uint16_t *a = o->a, *b = o->b;
    const int16_t infinite = o->infinite, least = o->least, other = o->other;
    const int16_t equal = other ^ 1;
    tfd_bool *y = o->y;

    for (int64_t i = begin; i < end; i++) {
        const uint16_t p = a[i], q = b[i];
        const int16_t same = p == q ? equal : other;
        const int16_t number = SIZE_OF(p) > infinite ? other : same;

        y[i] = (tfd_bool)(SIZE_OF(p | q) < least ? equal : number);
    }
}
TFD_SIMD_CLONES(equal_narrow)

/* Of the bits of the least normal number as a float, where the thread takes
 * those below it for 0, as those of a step do; halves are all normal. */
static int16_t least_of(enum tfd_dtype t)
{
    const volatile float denormal = 1e-45f;

    return t == TFD_BFLOAT16 && !(denormal > 0) ? 0x80 : 1;
}

/* What is compared with one number: places in a range, or all others. */
struct within {
    const uint16_t *x;
    tfd_bool *y;
    int16_t from, outside; /* outside: the answer for the others */
    uint16_t span;         /* to the last place, which is one of them */
};

TFD_SIMD_LOOP(within_narrow)
{
    const struct within *w = arg;
    const uint16_t *x = w->x, span = w->span;
    const int16_t from = w->from, outside = w->outside;
    tfd_bool *y = w->y;

    for (int64_t i = begin; i < end; i++) {
        const uint16_t at = (uint16_t)(PLACE_OF(x[i]) - from);
        const int16_t inside = at <= span;

        y[i] = (tfd_bool)(inside ^ outside);
    }
}
TFD_SIMD_CLONES(within_narrow)

/* o->a or o->b is the one: of x < one those from -infinity to before it. */
static void compare_with_one(const struct ordering *o, bool equal, bool left,
                             int64_t begin, int64_t end)
{
    const uint16_t one = left ? *o->a : *o->b;
    const bool zero = SIZE_OF(one) < o->least;
    const int low = zero ? -o->least : PLACE_OF(one); /* as large as one: */
    const int high = zero ? o->least - 1 : PLACE_OF(one);
    int from = -o->infinite - 1, to = o->infinite;
    struct within w = {.x = left ? o->b : o->a, .y = o->y};

    if (equal || left)
        from = equal || o->other ? low : high + 1;
    if (equal || !left)
        to = equal || o->other ? high : low - 1;
    w.outside = equal && o->other;
    if (SIZE_OF(one) > o->infinite || from > to) { /* nothing is inside */
        w.outside ^= 1;
        from = INT16_MIN;
        to = INT16_MAX;
    }
    w.from = (int16_t)from;
    w.span = (uint16_t)(to - from);
    within_narrow(&w, begin, end);
}

static void compare_narrow(enum tfd_dtype t, bool equal, int16_t other,
                           const struct tfd_row *r, int64_t begin, int64_t end)
{
    tfd_range_fn *loop = equal ? equal_narrow : less_narrow;
    struct ordering o = {.a = r->a,
                         .b = r->b,
                         .y = r->y,
                         .infinite = t == TFD_HALF ? TFD_INFINITE_HALF
                                                   : TFD_INFINITE_BFLOAT16,
                         .least = least_of(t),
                         .other = other};

    if (begin < end && !(r->a_step && r->b_step))
        compare_with_one(&o, equal, !r->a_step, begin, end);
    else
        loop(&o, begin, end);
}

#define LOOP_NARROW(function, equal, other, name)                      \
    static void loop_##function##_##name(void *arg, int64_t begin,     \
                                         int64_t end)                  \
    {                                                                  \
        compare_narrow(TFD_##name, (equal), (other), arg, begin, end); \
    }
#define LOOPS_NARROW(name, number, T)       \
    LOOP_NARROW(equal, true, 0, name)       \
    LOOP_NARROW(not_equal, true, 1, name)   \
    LOOP_NARROW(less, false, 0, name)       \
    LOOP_NARROW(less_equal, false, 1, name) \
    LOOP_AROUND(greater, less, name)        \
    LOOP_AROUND(greater_equal, less_equal, name)
TFD_HALF_DTYPES(LOOPS_NARROW)

#define LOOPS_COMPLEX(name, number, T) \
    LOOPS_EQUAL(TFD_BINARY_LOOP, name, T, equal_##name, not_equal_##name)
TFD_COMPLEX_DTYPES(LOOPS_COMPLEX)

LOOPS_EQUAL(TFD_BINARY_LOOP, STRING, struct tfd_tstring, equal_STRING,
            not_equal_STRING)
LOOPS_EQUAL(TFD_BINARY_LOOP, BOOL, tfd_bool, EQUAL, NOT_EQUAL)
TFD_BINARY_SIMD(loop_and, tfd_bool, tfd_bool, AND)
TFD_BINARY_SIMD(loop_or, tfd_bool, tfd_bool, OR)
TFD_UNARY_SIMD(loop_not, tfd_bool, tfd_bool, NOT)

/* The tolerance is a float, whatever the elements are. */
struct near {
    struct tfd_row row;
    float tolerance;
};

#define LOOP_NEAR(name, T, magnitude)                   \
    TFD_SIMD_LOOP(loop_near_##name)                     \
    {                                                   \
        const struct near *s = arg;                     \
        const T *a = s->row.a, *b = s->row.b;           \
        const T tolerance = (T)s->tolerance;            \
        tfd_bool *y = s->row.y;                         \
                                                        \
        for (int64_t i = begin; i < end; i++)           \
            y[i] = magnitude(a[i] - b[i]) <= tolerance; \
    }                                                   \
    TFD_SIMD_CLONES_WIDE(loop_near_##name)

LOOP_NEAR(FLOAT, float, fabsf)
LOOP_NEAR(DOUBLE, double, fabs)

/* ---- Kernels ------------------------------------------------------------- */

struct equal_state {
    bool lenient;  /* incompatible_shape_error is false */
    tfd_bool none; /* the answer for shapes that do not fit */
};

static enum tfd_code equal_prepare(const struct tfd_prepare *p, void *state,
                                   struct tfd_status *st)
{
    struct equal_state *s = state;
    bool error;

    TFD_TRY(tfd_node_bool(p->node, "incompatible_shape_error", &error, st));
    s->lenient = !error;
    s->none = tfd_str_is(p->node->op->name, "NotEqual");
    return TFD_OK;
}

static enum tfd_code equal_cpu(struct tfd_kctx *k, struct tfd_status *st)
{
    const struct equal_state *s = k->state;
    const struct tfd_shape scalar = {.rank = 0};

    if (!s->lenient || tfd_broadcast_fits(&k->in[0].shape, &k->in[1].shape))
        return tfd_elementwise_compare(k, st);
    TFD_TRY(tfd_kctx_output(k, 0, TFD_BOOL, &scalar, st));
    *(tfd_bool *)k->out[0].buffer->data = s->none;
    return TFD_OK;
}

static enum tfd_code near_prepare(const struct tfd_prepare *p, void *state,
                                  struct tfd_status *st)
{
    return tfd_node_float(p->node, "tolerance", state, st);
}

static enum tfd_code near_cpu(struct tfd_kctx *k, struct tfd_status *st)
{
    struct near s = {.tolerance = *(const float *)k->state};
    char one[TFD_SHAPE_TEXT_MAX], other[TFD_SHAPE_TEXT_MAX];

    if (!tfd_shape_equal(&k->in[0].shape, &k->in[1].shape))
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "x and y must be of the same shape. x shape: %s. y "
                        "shape: %s",
                        tfd_shape_text(&k->in[0].shape, one),
                        tfd_shape_text(&k->in[1].shape, other));
    TFD_TRY(tfd_kctx_output(k, 0, TFD_BOOL, &k->in[0].shape, st));
    s.row.a = tfd_tensor_data(&k->in[0]);
    s.row.b = tfd_tensor_data(&k->in[1]);
    s.row.y = tfd_tensor_data(&k->out[0]);
    tfd_elementwise_streams(k, k->in[0].dtype, 2,
                            tfd_tensor_elements(&k->in[0]), k->kernel->range,
                            &s);
    return TFD_OK;
}

/* ---- Shapes -------------------------------------------------------------- */

/* With incompatible_shape_error false nothing is certain before the values
 * come, unless the shapes are known and equal in every dimension. */
static enum tfd_code equal_shape(struct tfd_shape_ctx *s, struct tfd_status *st)
{
    bool error = true;

    if (s->node)
        TFD_TRY(tfd_node_bool(s->node, "incompatible_shape_error", &error, st));
    if (error)
        return tfd_shape_broadcast2(s, st);
    if (tfd_shape_elements(&s->in[0]) >= 0 &&
        tfd_shape_equal(&s->in[0], &s->in[1]))
        s->out[0] = s->in[0];
    return TFD_OK;
}

/* ---- Tables -------------------------------------------------------------- */

#define EQUAL_OP(name_)                                                \
    {                                                                  \
        .name = (name_), .inputs = "x: T, y: T", .outputs = "z: bool", \
        .attrs = "T: type; incompatible_shape_error: bool = true",     \
        .shape = equal_shape,                                          \
        .flags = TFD_OP_COMMUTATIVE | TFD_OP_NO_GRADIENT,              \
    }
#define ORDER_OP(name_)                                                  \
    {                                                                    \
        .name = (name_), .inputs = "x: T, y: T", .outputs = "z: bool",   \
        .attrs = "T: {float, double, int32, uint8, int16, int8, int64, " \
                 "bfloat16, uint16, half, uint32, uint64}",              \
        .shape = tfd_shape_broadcast2, .flags = TFD_OP_NO_GRADIENT,      \
    }
#define LOGIC_OP(name_)                                                      \
    {                                                                        \
        .name = (name_), .inputs = "x: bool, y: bool", .outputs = "z: bool", \
        .shape = tfd_shape_broadcast2,                                       \
        .flags = TFD_OP_COMMUTATIVE | TFD_OP_NO_GRADIENT,                    \
    }

static const struct tfd_opdef ops[] = {
    EQUAL_OP("Equal"),
    EQUAL_OP("NotEqual"),
    ORDER_OP("Less"),
    ORDER_OP("LessEqual"),
    ORDER_OP("Greater"),
    ORDER_OP("GreaterEqual"),
    {
        .name = "ApproximateEqual",
        .inputs = "x: T, y: T",
        .outputs = "z: bool",
        .attrs = "T: numbertype; tolerance: float = 1e-05",
        .shape = tfd_shape_same,
        .flags = TFD_OP_COMMUTATIVE | TFD_OP_NO_GRADIENT,
    },
    LOGIC_OP("LogicalAnd"),
    LOGIC_OP("LogicalOr"),
    {
        .name = "LogicalNot",
        .inputs = "x: bool",
        .outputs = "y: bool",
        .shape = tfd_shape_like_first,
        .flags = TFD_OP_NO_GRADIENT,
    },
};

/* Quantized types compare as the integers they lie in. */
#define KERNELS_EQUAL_AS(name, loops)                                   \
    TFD_KERNEL("Equal", name, equal_cpu, loop_equal_##loops,            \
               .prepare = equal_prepare,                                \
               .state_size = sizeof(struct equal_state)),               \
        TFD_KERNEL("NotEqual", name, equal_cpu, loop_not_equal_##loops, \
                   .prepare = equal_prepare,                            \
                   .state_size = sizeof(struct equal_state)),
#define KERNELS_EQUAL(name, number, T) KERNELS_EQUAL_AS(name, name)
#define KERNEL_ORDER(op, name, loop)                                    \
    TFD_KERNEL(op, name, tfd_elementwise_compare, loop_##loop##_##name, \
               .flags = TFD_KERNEL_ROW),
#define KERNEL_NEAR(name, number, T)                                 \
    TFD_KERNEL("ApproximateEqual", name, near_cpu, loop_near_##name, \
               .prepare = near_prepare, .state_size = sizeof(float)),
#define KERNELS_ORDER(name, number, T)          \
    KERNELS_EQUAL_AS(name, name)                \
    KERNEL_ORDER("Less", name, less)            \
    KERNEL_ORDER("LessEqual", name, less_equal) \
    KERNEL_ORDER("Greater", name, greater)      \
    KERNEL_ORDER("GreaterEqual", name, greater_equal)

static const struct tfd_kernel kernels[] = {
    TFD_REAL_DTYPES(KERNELS_ORDER) TFD_HALF_DTYPES(KERNELS_ORDER)
        TFD_COMPLEX_DTYPES(KERNELS_EQUAL) KERNELS_EQUAL_AS(STRING, STRING)
            KERNELS_EQUAL_AS(BOOL, BOOL) KERNELS_EQUAL_AS(QINT8, INT8)
                KERNELS_EQUAL_AS(QUINT8, UINT8) KERNELS_EQUAL_AS(QINT16, INT16)
                    KERNELS_EQUAL_AS(QUINT16, UINT16)
                        KERNELS_EQUAL_AS(QINT32, INT32) TFD_KERNEL_ANY(
                            "LogicalAnd", tfd_elementwise_compare, loop_and),
    TFD_FLOAT_DTYPES(KERNEL_NEAR)
        TFD_KERNEL_ANY("LogicalOr", tfd_elementwise_compare, loop_or),
    TFD_KERNEL_ANY("LogicalNot", tfd_elementwise_test, loop_not),
};

const struct tfd_family tfd_family_compare = {
    .name = "compare",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
