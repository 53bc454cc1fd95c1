/*
 * binary.c - sums, differences, products and extremes of two tensors:
 *
 *     Add AddV2 Sub Mul SquaredDifference Maximum Minimum
 *
 * Integers wrap around as they do in TensorFlow; they are computed unsigned,
 * where C defines it.  half and bfloat16 are computed in float and rounded
 * after each operation, so SquaredDifference rounds twice; their extremes are
 * found as integers.
 *
 * Maximum and Minimum give NaN when either side is NaN.  Of two equal values
 * (0 and -0) they give the second, as vector instructions do.
 */
#include "kernels/core/families.h"

#include "common/base/half.h"
#include "common/base/str.h"
#include "kernels/math/binary.h"
#include "kernels/core/check.h"
#include "kernels/vector/complex_math.h"
#include "kernels/core/elementwise.h"
#include "kernels/core/gradient.h"
#include "kernels/vector/narrow_loops.h"

#include <string.h>

/* ---- Functions of two elements ------------------------------------------- */

#define DEFINE_INT(name, T, U)           \
    static inline T add_##name(T a, T b) \
    {                                    \
        return (T)((U)a + (U)b);         \
    }                                    \
    static inline T sub_##name(T a, T b) \
    {                                    \
        return (T)((U)a - (U)b);         \
    }                                    \
    static inline T mul_##name(T a, T b) \
    {                                    \
        return (T)((U)a * (U)b);         \
    }                                    \
    static inline T max_##name(T a, T b) \
    {                                    \
        return a > b ? a : b;            \
    }                                    \
    static inline T min_##name(T a, T b) \
    {                                    \
        return a < b ? a : b;            \
    }

TFD_WRAPPING_DTYPES(DEFINE_INT)

#define DEFINE_FLOAT(name, number, T)                     \
    static inline T add_##name(T a, T b)                  \
    {                                                     \
        return a + b;                                     \
    }                                                     \
    static inline T sub_##name(T a, T b)                  \
    {                                                     \
        return a - b;                                     \
    }                                                     \
    static inline T mul_##name(T a, T b)                  \
    {                                                     \
        return a * b;                                     \
    }                                                     \
    static inline T max_##name(T a, T b)                  \
    {                                                     \
        T larger = a > b ? a : b; /* b when one is NaN */ \
                                                          \
        return a == a ? larger : a;                       \
    }                                                     \
    static inline T min_##name(T a, T b)                  \
    {                                                     \
        T smaller = a < b ? a : b;                        \
                                                          \
        return a == a ? smaller : a;                      \
    }

TFD_FLOAT_DTYPES(DEFINE_FLOAT)

/* Of floats that hold halves or bfloat16; rounded after each step. */
#define DEFINE_STEPS(name, number, T)                          \
    static inline float squared_steps_##name(float a, float b) \
    {                                                          \
        float v = TFD_ROUND_##name(a - b);                     \
                                                               \
        return v * v;                                          \
    }

TFD_HALF_DTYPES(DEFINE_STEPS)

#define DEFINE_COMPLEX(name, number, T)      \
    static inline T add_##name(T a, T b)     \
    {                                        \
        return T##_add(a, b);                \
    }                                        \
    static inline T sub_##name(T a, T b)     \
    {                                        \
        return T##_sub(a, b);                \
    }                                        \
    static inline T mul_##name(T a, T b)     \
    {                                        \
        return T##_mul(a, b);                \
    }                                        \
    static inline T squared_##name(T a, T b) \
    {                                        \
        T v = T##_sub(a, b);                 \
                                             \
        return T##_mul(T##_conj(v), v);      \
    }

TFD_COMPLEX_DTYPES(DEFINE_COMPLEX)

#define DEFINE_SQUARED(name, T)              \
    static inline T squared_##name(T a, T b) \
    {                                        \
        T v = sub_##name(a, b);              \
                                             \
        return mul_##name(v, v);             \
    }

DEFINE_SQUARED(FLOAT, float)
DEFINE_SQUARED(DOUBLE, double)
DEFINE_SQUARED(INT32, int32_t)
DEFINE_SQUARED(INT64, int64_t)

/* ---- Loops --------------------------------------------------------------- */

#define LOOPS_RING(LOOP, name, T)           \
    LOOP(loop_add_##name, T, T, add_##name) \
    LOOP(loop_sub_##name, T, T, sub_##name) \
    LOOP(loop_mul_##name, T, T, mul_##name)
#define LOOPS_ORDER(LOOP, name, T)          \
    LOOP(loop_max_##name, T, T, max_##name) \
    LOOP(loop_min_##name, T, T, min_##name)
#define LOOPS_SQUARED(LOOP, name, T) \
    LOOP(loop_squared_##name, T, T, squared_##name)

#define LOOPS_INT(name, T, U)                 \
    LOOPS_RING(TFD_BINARY_OF_##name, name, T) \
    LOOPS_ORDER(TFD_BINARY_OF_##name, name, T)
TFD_WRAPPING_DTYPES(LOOPS_INT)
LOOPS_SQUARED(TFD_BINARY_LONG, INT32, int32_t)
LOOPS_SQUARED(TFD_BINARY_LONG, INT64, int64_t)

#define LOOPS_FLOAT(name, number, T)      \
    LOOPS_RING(TFD_BINARY_LONG, name, T)  \
    LOOPS_ORDER(TFD_BINARY_LONG, name, T) \
    LOOPS_SQUARED(TFD_BINARY_LONG, name, T)
TFD_FLOAT_DTYPES(LOOPS_FLOAT)

#define ADD(a, b) ((a) + (b))
#define SUB(a, b) ((a) - (b))
#define MUL(a, b) ((a) * (b))
#define MAX(a, b) ((a) != (a) || (a) > (b) ? (a) : (b))
#define MIN(a, b) ((a) != (a) || (a) < (b) ? (a) : (b))
#define SQUARED(a, b) (((a) - (b)) * ((a) - (b)))

/* Of vectors of floats: see TFD_LANES_LOOP.  Of two of which one is NaN the
 * processor's order takes the second. */
#define ADD_LANES(R, a, b) tfd_lanes_add(a, b)
#define SUB_LANES(R, a, b) SUB(a, b)
#define MUL_LANES(R, a, b) tfd_lanes_mul(a, b)
#define MAX_LANES(R, a, b) TFD_LANES_UNLESS_NAN(a, _mm256_max_ps(a, b))
#define MIN_LANES(R, a, b) TFD_LANES_UNLESS_NAN(a, _mm256_min_ps(a, b))
#define SQUARED_LANES(R, a, b) (R((a) - (b)) * R((a) - (b)))

TFD_BINARY_WIDE(loop_squared_steps_HALF, float, float, squared_steps_HALF)
TFD_BINARY_WIDE(loop_squared_steps_BFLOAT16, float, float,
                squared_steps_BFLOAT16)

#define LOOPS_NARROW(function, F, half_wide, bfloat16_wide)                \
    TFD_HALF_LOOP(loop_##function##_HALF, BINARY, F, F##_LANES, half_wide) \
    TFD_LANES_OR(loop_##function##_BFLOAT16, BFLOAT16, BINARY, F##_LANES,  \
                 bfloat16_wide)
LOOPS_NARROW(add, ADD, loop_add_FLOAT, loop_add_FLOAT)
LOOPS_NARROW(sub, SUB, loop_sub_FLOAT, loop_sub_FLOAT)
LOOPS_NARROW(mul, MUL, loop_mul_FLOAT, loop_mul_FLOAT)
LOOPS_NARROW(max, MAX, loop_max_FLOAT, loop_max_FLOAT)
LOOPS_NARROW(min, MIN, loop_min_FLOAT, loop_min_FLOAT)
TFD_HALF_LOOP_OF_STEPS(loop_squared_HALF, SQUARED, SQUARED_LANES,
                       loop_squared_steps_HALF)
TFD_LANES_OR(loop_squared_BFLOAT16, BFLOAT16, BINARY, SQUARED_LANES,
             loop_squared_steps_BFLOAT16)

/* Products put vectors together anew, of which long ones need half as many. */
#define LOOPS_COMPLEX(name, number, T)                 \
    TFD_BINARY_SIMD(loop_add_##name, T, T, add_##name) \
    TFD_BINARY_SIMD(loop_sub_##name, T, T, sub_##name) \
    TFD_BINARY_WIDE(loop_mul_##name, T, T, mul_##name) \
    LOOPS_SQUARED(TFD_BINARY_WIDE, name, T)
TFD_COMPLEX_DTYPES(LOOPS_COMPLEX)

/* ---- Strings ------------------------------------------------------------- */

static void join_texts(const struct tfd_row *r, const struct tfd_tstring *a,
                       const struct tfd_tstring *b, struct tfd_tstring *y)
{
    struct tfd_str left = tfd_tstring_view(a), right = tfd_tstring_view(b);

    if (left.size > SIZE_MAX - right.size ||
        tfd_tstring_resize(y, left.size + right.size, NULL) != TFD_OK) {
        tfd_row_fail(r);
        return;
    }
    if (left.size)
        memcpy(tfd_tstring_room(y), left.data, left.size);
    if (right.size)
        memcpy(tfd_tstring_room(y) + left.size, right.data, right.size);
}

static void loop_join(void *arg, int64_t begin, int64_t end)
{
    const struct tfd_row *r = arg;
    const struct tfd_tstring *a = r->a, *b = r->b;
    struct tfd_tstring *y = r->y;

    for (int64_t i = begin; i < end; i++)
        join_texts(r, &a[i * r->a_step], &b[i * r->b_step], &y[i]);
}

static enum tfd_code join_cpu(struct tfd_kctx *k, struct tfd_status *st)
{
    int failed = 0;
    struct tfd_elementwise e = {TFD_STRING, 30, &failed, NULL};

    TFD_TRY(tfd_elementwise_binary(k, &e, st));
    if (failed)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "OOM when concatenating strings");
    return TFD_OK;
}

/* ---- For other families -------------------------------------------------- */

tfd_range_fn *tfd_binary_add_loop(enum tfd_dtype dtype)
{
#define ADD_LOOP(name, number, T) [TFD_##name] = loop_add_##name,
    static tfd_range_fn *const add_loops[TFD_DTYPE_END] = {TFD_REAL_DTYPES(
        ADD_LOOP) TFD_HALF_DTYPES(ADD_LOOP) TFD_COMPLEX_DTYPES(ADD_LOOP)};

    return add_loops[dtype];
}

tfd_range_fn *tfd_binary_sub_loop(enum tfd_dtype dtype)
{
#define SUB_LOOP(name, number, T) [TFD_##name] = loop_sub_##name,
    static tfd_range_fn *const sub_loops[TFD_DTYPE_END] = {TFD_REAL_DTYPES(
        SUB_LOOP) TFD_HALF_DTYPES(SUB_LOOP) TFD_COMPLEX_DTYPES(SUB_LOOP)};

    return sub_loops[dtype];
}

/* ---- Gradients ----------------------------------------------------------- */

static enum tfd_code add_gradient(struct tfd_grad *g, struct tfd_status *st)
{
    struct tfd_gradient b = tfd_gradient_begin(g, st);

    g->dx[0] = g->dx[1] = g->dy[0];
    tfd_gradient_reduce(&b, g->x[0], g->x[1], &g->dx[0], &g->dx[1]);
    return b.code;
}

static enum tfd_code sub_gradient(struct tfd_grad *g, struct tfd_status *st)
{
    struct tfd_gradient b = tfd_gradient_begin(g, st);

    g->dx[0] = g->dy[0];
    g->dx[1] = tfd_gradient_op1(&b, "Neg", g->dy[0]);
    tfd_gradient_reduce(&b, g->x[0], g->x[1], &g->dx[0], &g->dx[1]);
    return b.code;
}

static enum tfd_code mul_gradient(struct tfd_grad *g, struct tfd_status *st)
{
    struct tfd_gradient b = tfd_gradient_begin(g, st);
    struct tfd_edge x = tfd_gradient_conj(&b, g->x[0]);
    struct tfd_edge y = tfd_gradient_conj(&b, g->x[1]);

    g->dx[0] = tfd_gradient_op2(&b, "Mul", g->dy[0], y);
    g->dx[1] = tfd_gradient_op2(&b, "Mul", x, g->dy[0]);
    tfd_gradient_reduce(&b, g->x[0], g->x[1], &g->dx[0], &g->dx[1]);
    return b.code;
}

static enum tfd_code squared_gradient(struct tfd_grad *g, struct tfd_status *st)
{
    struct tfd_gradient b = tfd_gradient_begin(g, st);
    struct tfd_edge two = tfd_gradient_scalar(&b, g->dy[0], 2);
    struct tfd_edge scaled = tfd_gradient_op2(&b, "Mul", two, g->dy[0]);
    struct tfd_edge v = tfd_gradient_op2(&b, "Sub", g->x[0], g->x[1]);

    g->dx[0] = tfd_gradient_op2(&b, "Mul", scaled, v);
    g->dx[1] = tfd_gradient_op1(&b, "Neg", g->dx[0]);
    tfd_gradient_reduce(&b, g->x[0], g->x[1], &g->dx[0], &g->dx[1]);
    return b.code;
}

/* The side that was taken gets the gradient; x of two equal ones. */
static enum tfd_code extreme_gradient(struct tfd_grad *g, const char *takes_x,
                                      struct tfd_status *st)
{
    struct tfd_gradient b = tfd_gradient_begin(g, st);
    struct tfd_edge zeros = tfd_gradient_op1(&b, "ZerosLike", g->dy[0]);
    struct tfd_edge mask = tfd_gradient_op2(&b, takes_x, g->x[0], g->x[1]);

    g->dx[0] = tfd_gradient_op3(&b, "SelectV2", mask, g->dy[0], zeros);
    g->dx[1] = tfd_gradient_op3(&b, "SelectV2", mask, zeros, g->dy[0]);
    tfd_gradient_reduce(&b, g->x[0], g->x[1], &g->dx[0], &g->dx[1]);
    return b.code;
}

static enum tfd_code max_gradient(struct tfd_grad *g, struct tfd_status *st)
{
    return extreme_gradient(g, "GreaterEqual", st);
}

static enum tfd_code min_gradient(struct tfd_grad *g, struct tfd_status *st)
{
    return extreme_gradient(g, "LessEqual", st);
}

/* ---- Tables -------------------------------------------------------------- */

#define OP(name_, types, grad_, flags_)                             \
    {                                                               \
        .name = (name_), .inputs = "x: T, y: T", .outputs = "z: T", \
        .attrs = "T: {" types "}", .shape = tfd_shape_broadcast2,   \
        .grad = (grad_), .flags = (flags_),                         \
    }

#define REAL "bfloat16, half, float, double, "
#define COMPLEX ", complex64, complex128"

static const struct tfd_opdef ops[] = {
    OP("Add", REAL "uint8, int8, int16, int32, int64" COMPLEX ", string",
       add_gradient, 0),
    OP("AddV2",
       REAL "uint8, uint16, uint32, uint64, int8, int16, int32, int64" COMPLEX,
       add_gradient, TFD_OP_COMMUTATIVE),
    OP("Sub",
       REAL "uint8, int8, uint16, int16, int32, int64" COMPLEX
            ", uint32, uint64",
       sub_gradient, 0),
    OP("Mul",
       REAL "uint8, int8, uint16, int16, int32, uint32, uint64, int64" COMPLEX,
       mul_gradient, TFD_OP_COMMUTATIVE),
    OP("SquaredDifference", REAL "int32, int64" COMPLEX, squared_gradient,
       TFD_OP_COMMUTATIVE),
    OP("Maximum",
       REAL "int8, uint8, int16, uint16, int32, uint32, int64, uint64",
       max_gradient, 0),
    OP("Minimum",
       REAL "int8, uint8, int16, uint16, int32, uint32, int64, uint64",
       min_gradient, 0),
};

#define KERNEL(op, name, loop)                                           \
    TFD_KERNEL(op, name, tfd_elementwise_compute2, loop_##loop##_##name, \
               .flags = TFD_KERNEL_ROW),
#define KERNELS_RING(name)     \
    KERNEL("AddV2", name, add) \
    KERNEL("Sub", name, sub)   \
    KERNEL("Mul", name, mul)
#define KERNELS_ORDER(name)      \
    KERNEL("Maximum", name, max) \
    KERNEL("Minimum", name, min)
#define KERNELS_ADD(name) KERNEL("Add", name, add)
#define KERNELS_SQUARED(name) KERNEL("SquaredDifference", name, squared)

#define KERNELS_INT(name, number, T) KERNELS_RING(name) KERNELS_ORDER(name)
#define KERNELS_REAL(name, number, T) \
    KERNELS_RING(name)                \
    KERNELS_ORDER(name)               \
    KERNELS_ADD(name)                 \
    KERNELS_SQUARED(name)
#define KERNELS_COMPLEX(name, number, T) \
    KERNELS_RING(name)                   \
    KERNELS_ADD(name)                    \
    KERNELS_SQUARED(name)

static const struct tfd_kernel kernels[] = {
    TFD_INT_DTYPES(KERNELS_INT) TFD_FLOAT_DTYPES(KERNELS_REAL)
        TFD_HALF_DTYPES(KERNELS_REAL) TFD_COMPLEX_DTYPES(KERNELS_COMPLEX)
            KERNELS_ADD(UINT8) KERNELS_ADD(INT8) KERNELS_ADD(INT16)
                KERNELS_ADD(INT32) KERNELS_ADD(INT64) KERNELS_SQUARED(INT32)
                    KERNELS_SQUARED(INT64)
                        TFD_KERNEL("Add", STRING, join_cpu, loop_join),
};

const struct tfd_family tfd_family_binary = {
    .name = "binary",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
