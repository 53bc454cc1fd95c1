/*
 * power.c - Pow(x, y) = x to the power of y.
 *
 * Integers are squared and multiplied, wrapping around; a negative exponent
 * fails the node, whatever the base.  That of floats is vectorised
 * (vector_double.h), all else is the C library's pow.
 */
#include "kernels/core/families.h"

#include "common/base/half.h"
#include "kernels/core/check.h"
#include "kernels/vector/complex_math.h"
#include "kernels/core/elementwise.h"
#include "kernels/core/gradient.h"
#include "kernels/vector/narrow_loops.h"
#include "kernels/vector/vector_double.h"
#include "kernels/vector/type_rows.h"

#include <math.h>

/* ---- Loops --------------------------------------------------------------- */

#define INT_BLOCK 256

/* Bits of all exponents of a block in turn, the lowest first: so many that the
 * largest has.  It is unsigned, so a negative one ends, too. */
#define INT_LOOP(name, T, U)                                                   \
    static inline __attribute__((always_inline)) void power_##name(            \
        U *restrict base, U *restrict left, U *restrict product, int64_t n)    \
    {                                                                          \
        U all = 0;                                                             \
                                                                               \
        for (int64_t i = 0; i < n; i++)                                        \
            all |= left[i];                                                    \
        for (; all; all >>= 1)                                                 \
            for (int64_t i = 0; i < n; i++) {                                  \
                product[i] *= left[i] & 1 ? base[i] : 1;                       \
                base[i] *= base[i];                                            \
                left[i] >>= 1;                                                 \
            }                                                                  \
    }                                                                          \
                                                                               \
    static inline __attribute__((always_inline)) bool block_##name(            \
        const T *a, const T *b, T *y, int64_t n, int64_t p, int64_t q)         \
    {                                                                          \
        U base[INT_BLOCK], left[INT_BLOCK], product[INT_BLOCK];                \
        T lowest = 0;                                                          \
                                                                               \
        for (int64_t i = 0; i < n; i++) {                                      \
            base[i] = (U)a[p ? i : 0];                                         \
            left[i] = (U)b[q ? i : 0];                                         \
            product[i] = 1;                                                    \
            lowest = b[q ? i : 0] < lowest ? b[q ? i : 0] : lowest;            \
        }                                                                      \
        power_##name(base, left, product, n);                                  \
        for (int64_t i = 0; i < n; i++)                                        \
            y[i] = (T)product[i];                                              \
        return lowest < 0;                                                     \
    }                                                                          \
                                                                               \
    TFD_SIMD_LOOP(loop_##name)                                                 \
    {                                                                          \
        const struct tfd_row *r = arg;                                         \
        const T *a = r->a, *b = r->b;                                          \
        const int64_t p = r->a_step, q = r->b_step;                            \
        T *y = r->y;                                                           \
                                                                               \
        for (int64_t i = begin; i < end; i += INT_BLOCK)                       \
            if (block_##name(a + (p ? i : 0), b + (q ? i : 0), y + i,          \
                             end - i < INT_BLOCK ? end - i : INT_BLOCK, p, q)) \
                tfd_row_fail(r);                                               \
    }                                                                          \
    TFD_SIMD_CLONES_WIDE(loop_##name)

INT_LOOP(INT8, int8_t, uint32_t)
INT_LOOP(INT16, int16_t, uint32_t)
INT_LOOP(INT32, int32_t, uint32_t)
INT_LOOP(INT64, int64_t, uint64_t)

static inline float power_FLOAT(float x, float y)
{
    return tfd_vector_pow(x, y);
}

static inline double power_DOUBLE(double x, double y)
{
    return pow(x, y);
}

static inline tfd_complex64 power_COMPLEX64(tfd_complex64 x, tfd_complex64 y)
{
    return tfd_complex64_of(
        cpowf(tfd_complex64_native(x), tfd_complex64_native(y)));
}

static inline tfd_complex128 power_COMPLEX128(tfd_complex128 x,
                                              tfd_complex128 y)
{
    return tfd_complex128_of(
        cpow(tfd_complex128_native(x), tfd_complex128_native(y)));
}

#define LOOP(X, name, T) X(loop_##name, T, T, power_##name)
TFD_BINARY_WIDE(loop_FLOAT, float, float, power_FLOAT)
LOOP(TFD_BINARY_LOOP, DOUBLE, double)
TFD_NARROW_LOOP(loop_HALF, HALF, loop_FLOAT)
TFD_NARROW_LOOP(loop_BFLOAT16, BFLOAT16, loop_FLOAT)
TFD_COMPLEX_ROWS(LOOP, TFD_BINARY_LOOP)

/* ---- Kernels ------------------------------------------------------------- */

#define COST_NS 20
#define FLOAT_NS 2

static enum tfd_code power_cpu(struct tfd_kctx *k, struct tfd_status *st)
{
    int failed = 0;
    const enum tfd_dtype dtype = k->in[0].dtype;
    struct tfd_elementwise e = {dtype, dtype == TFD_FLOAT ? FLOAT_NS : COST_NS,
                                &failed, NULL};

    TFD_TRY(tfd_elementwise_binary(k, &e, st));
    if (failed)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Integers to negative integer powers are not allowed");
    return TFD_OK;
}

/* ---- Gradient ------------------------------------------------------------ */

/* log(x) where it makes sense, else 0: for x > 0, or any complex x but 0. */
static struct tfd_edge safe_log(struct tfd_gradient *b, struct tfd_edge x)
{
    enum tfd_dtype dtype = tfd_gradient_dtype(b, x);
    bool is_complex = dtype == TFD_COMPLEX64 || dtype == TFD_COMPLEX128;
    struct tfd_edge zero = tfd_gradient_scalar(b, x, 0);
    struct tfd_edge mask, safe, ones, zeros;

    mask = tfd_gradient_op2(b, is_complex ? "NotEqual" : "Greater", x, zero);
    ones = tfd_gradient_op1(b, "OnesLike", x);
    zeros = tfd_gradient_op1(b, "ZerosLike", x);
    safe = tfd_gradient_op3(b, "Select", mask, x, ones);
    safe = tfd_gradient_op1(b, "Log", safe);
    return tfd_gradient_op3(b, "Select", mask, safe, zeros);
}

/* y * x ** (y - 1)  and  z * log(x) */
static enum tfd_code power_gradient(struct tfd_grad *g, struct tfd_status *st)
{
    struct tfd_gradient b = tfd_gradient_begin(g, st);
    struct tfd_edge x = tfd_gradient_conj(&b, g->x[0]);
    struct tfd_edge y = tfd_gradient_conj(&b, g->x[1]);
    struct tfd_edge z = tfd_gradient_conj(&b, g->y[0]);
    struct tfd_edge less, gx, gy;

    if (b.code != TFD_OK)
        return b.code;
    less = tfd_gradient_op2(&b, "Sub", y, tfd_gradient_scalar(&b, y, 1));
    gx = tfd_gradient_op2(&b, "Mul", g->dy[0], y);
    gx = tfd_gradient_op2(&b, "Mul", gx, tfd_gradient_op2(&b, "Pow", x, less));
    gy = tfd_gradient_op2(&b, "Mul", g->dy[0], z);
    gy = tfd_gradient_op2(&b, "Mul", gy, safe_log(&b, x));
    g->dx[0] = gx;
    g->dx[1] = gy;
    tfd_gradient_reduce(&b, g->x[0], g->x[1], &g->dx[0], &g->dx[1]);
    return b.code;
}

/* ---- Tables -------------------------------------------------------------- */

static const struct tfd_opdef ops[] = {
    {
        .name = "Pow",
        .inputs = "x: T, y: T",
        .outputs = "z: T",
        .attrs = "T: {bfloat16, float, half, double, int8, int16, int32, "
                 "int64, complex64, complex128}",
        .shape = tfd_shape_broadcast2,
        .grad = power_gradient,
    },
};

#define KERNEL(name, number, T) TFD_KERNEL("Pow", name, power_cpu, loop_##name),

static const struct tfd_kernel kernels[] = {
    TFD_FLOAT_DTYPES(KERNEL) TFD_HALF_DTYPES(KERNEL) TFD_COMPLEX_DTYPES(KERNEL)
        TFD_KERNEL("Pow", INT8, power_cpu, loop_INT8),
    TFD_KERNEL("Pow", INT16, power_cpu, loop_INT16),
    TFD_KERNEL("Pow", INT32, power_cpu, loop_INT32),
    TFD_KERNEL("Pow", INT64, power_cpu, loop_INT64),
};

const struct tfd_family tfd_family_power = {
    .name = "power",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
