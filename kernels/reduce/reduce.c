/*
 * reduce.c - Sum Mean Prod Max Min All Any, EuclideanNorm = sqrt(sum(t ^ 2)),
 * and L2Loss = sum(t ^ 2) / 2.
 *
 * float and double are folded in reduce_floats.c and reduce_extremes.c, int32
 * and int64 in reduce_ints.c, halves in reduce_halves.c and reduce_orders.c,
 * bools in reduce_bools.c.  Here accumulators are 64 bits for integers, cut to
 * the type at the end (Sum and Prod wrap, Mean does not, as in TensorFlow). Max
 * and Min give NaN when there is one.
 */
#include "kernels/core/families.h"

#include "common/base/half.h"
#include "kernels/core/check.h"
#include "kernels/vector/complex_math.h"
#include "kernels/core/elementwise.h"
#include "kernels/core/gradient.h"
#include "kernels/vector/narrow.h"
#include "kernels/reduce/reduce.h"
#include "kernels/reduce/reduce_bools.h"
#include "kernels/reduce/reduce_floats.h"
#include "kernels/reduce/reduce_grad.h"
#include "kernels/reduce/reduce_halves.h"
#include "kernels/reduce/reduce_ints.h"
#include "kernels/vector/type_rows.h"

#include <math.h>
#include <string.h>

/* ---- Loops --------------------------------------------------------------- */

/* Accumulators of a run, folded side by side.  Eight sums stay in registers.
 * Comparisons are vectorised only as a loop that is too long to be unrolled. */
#define SUM_LANES 8
#define ORDER_LANES 32

/* FOLD(acc, x) takes an element in, MERGE(acc, acc) joins two accumulators. */
#define FOLDING(LANES, id, T, A, INIT, FOLD, MERGE)                      \
    static const A init_##id = INIT;                                     \
                                                                         \
    static void run_##id(void *arg, int64_t begin, int64_t end)          \
    {                                                                    \
        const struct tfd_fold *f = arg;                                  \
        const T *x = f->x;                                               \
        A *acc = f->acc;                                                 \
        A lane[LANES], one = *acc;                                       \
        int64_t i = begin;                                               \
                                                                         \
        if (end - begin >= 2 * (LANES)) {                                \
            for (int l = 0; l < LANES; l++)                              \
                lane[l] = init_##id;                                     \
            for (; i + LANES <= end; i += LANES)                         \
                for (int l = 0; l < LANES; l++)                          \
                    lane[l] = FOLD(lane[l], x[i + l]);                   \
            for (int width = (LANES) / 2; width; width /= 2)             \
                for (int l = 0; l < width; l++)                          \
                    lane[l] = MERGE(lane[l], lane[l + width]);           \
            one = MERGE(one, lane[0]);                                   \
        }                                                                \
        for (; i < end; i++)                                             \
            one = FOLD(one, x[i]);                                       \
        *acc = one;                                                      \
    }                                                                    \
                                                                         \
    /* Four rows at a time: an accumulator is loaded and stored once. */ \
    static void columns_##id(void *arg, int64_t begin, int64_t end)      \
    {                                                                    \
        const struct tfd_fold *f = arg;                                  \
        const int64_t stride = f->stride;                                \
        const T *x = f->x;                                               \
        A *acc = f->acc;                                                 \
        int64_t r = 0;                                                   \
                                                                         \
        for (; r + 4 <= f->rows; r += 4, x += 4 * stride)                \
            for (int64_t j = begin; j < end; j++) {                      \
                A a = FOLD(acc[j], x[j]);                                \
                                                                         \
                a = FOLD(a, x[j + stride]);                              \
                a = FOLD(a, x[j + 2 * stride]);                          \
                acc[j] = FOLD(a, x[j + 3 * stride]);                     \
            }                                                            \
        for (; r < f->rows; r++, x += stride)                            \
            for (int64_t j = begin; j < end; j++)                        \
                acc[j] = FOLD(acc[j], x[j]);                             \
    }                                                                    \
                                                                         \
    static void merge_##id(void *acc, const void *other, int64_t n)      \
    {                                                                    \
        A *a = acc;                                                      \
        const A *b = other;                                              \
                                                                         \
        for (int64_t i = 0; i < n; i++)                                  \
            a[i] = MERGE(a[i], b[i]);                                    \
    }

#define REDUCER(id, folding, A)            \
    static const struct tfd_reducer id = { \
        .acc_size = sizeof(A),             \
        .identity = &init_##folding,       \
        .run = run_##folding,              \
        .columns = columns_##folding,      \
        .merge = merge_##folding,          \
        .finish = finish_##id,             \
    };

/* ---- Sum, Mean, Prod ----------------------------------------------------- */

#define ADD(acc, x) ((acc) + (x))
#define MUL(acc, x) ((acc) * (x))
#define CUT(T, acc, n) ((T)(acc))
#define COMPLEX_CUT(T, acc, n) complex_cut_##T(acc)

/* Integers: sums of 64 bits, whose low bits are those of any narrower sum. */
#define ADD_INT(acc, x) ((acc) + (uint64_t)(x))
#define MUL_INT(acc, x) ((acc) * (uint64_t)(x))
#define MEAN_SIGNED(T, acc, n) ((T)((n) ? (int64_t)(acc) / (n) : 0))
#define MEAN_UNSIGNED(T, acc, n) ((T)((n) ? (acc) / (uint64_t)(n) : 0))

/* Lists: of types, each of which makes ROWS for X, and of what a type has. */
#define INT_TYPES(ROWS, X)                   \
    ROWS(X, INT8, int8_t, MEAN_SIGNED)       \
    ROWS(X, INT16, int16_t, MEAN_SIGNED)     \
    ROWS(X, UINT8, uint8_t, MEAN_UNSIGNED)   \
    ROWS(X, UINT16, uint16_t, MEAN_UNSIGNED) \
    ROWS(X, UINT32, uint32_t, MEAN_UNSIGNED) \
    ROWS(X, UINT64, uint64_t, MEAN_UNSIGNED)

#define INT_FOLDS(X, name, T, MEAN)                            \
    X(SUM_LANES, sum_##name, T, uint64_t, 0, ADD_INT, ADD_INT) \
    X(SUM_LANES, prod_##name, T, uint64_t, 1, MUL_INT, MUL_INT)
#define INT_ENDS(X, name, T, MEAN)    \
    X(sum_##name, T, uint64_t, CUT)   \
    X(mean_##name, T, uint64_t, MEAN) \
    X(prod_##name, T, uint64_t, CUT)
#define INT_REDUCERS(X, name, T, MEAN)   \
    X(sum_##name, sum_##name, uint64_t)  \
    X(mean_##name, sum_##name, uint64_t) \
    X(prod_##name, prod_##name, uint64_t)

INT_TYPES(INT_FOLDS, FOLDING)
INT_TYPES(INT_ENDS, TFD_REDUCE_FINISH)
INT_TYPES(INT_REDUCERS, REDUCER)

#define ZERO_COMPLEX \
    {                \
        0, 0         \
    }
#define ONE_COMPLEX \
    {               \
        1, 0        \
    }
#define CUT_COMPLEX(T, acc, n) T##_narrow(acc)
#define MEAN_COMPLEX(T, acc, n) T##_narrow(mean_complex(acc, n))

static tfd_complex128 mean_complex(tfd_complex128 sum, int64_t n)
{
    double count = n ? (double)n : 1;

    return (tfd_complex128){sum.re / count, sum.im / count};
}

#define DEFINE_COMPLEX(name, number, T)                           \
    static inline tfd_complex128 add_##T(tfd_complex128 acc, T x) \
    {                                                             \
        return tfd_complex128_add(acc, T##_widen(x));             \
    }                                                             \
    static inline tfd_complex128 mul_##T(tfd_complex128 acc, T x) \
    {                                                             \
        return tfd_complex128_mul(acc, T##_widen(x));             \
    }
TFD_COMPLEX_DTYPES(DEFINE_COMPLEX)

#define COMPLEX_FOLDS(X, name, T)                                      \
    X(SUM_LANES, sum_##name, T, tfd_complex128, ZERO_COMPLEX, add_##T, \
      tfd_complex128_add)                                              \
    X(SUM_LANES, prod_##name, T, tfd_complex128, ONE_COMPLEX, mul_##T, \
      tfd_complex128_mul)
#define COMPLEX_ENDS(X, name, T)                    \
    X(sum_##name, T, tfd_complex128, CUT_COMPLEX)   \
    X(mean_##name, T, tfd_complex128, MEAN_COMPLEX) \
    X(prod_##name, T, tfd_complex128, CUT_COMPLEX)
#define COMPLEX_REDUCERS(X, name, T)           \
    X(sum_##name, sum_##name, tfd_complex128)  \
    X(mean_##name, sum_##name, tfd_complex128) \
    X(prod_##name, prod_##name, tfd_complex128)

TFD_COMPLEX_ROWS(COMPLEX_FOLDS, FOLDING)
TFD_COMPLEX_ROWS(COMPLEX_ENDS, TFD_REDUCE_FINISH)
TFD_COMPLEX_ROWS(COMPLEX_REDUCERS, REDUCER)

/* ---- Max, Min ------------------------------------------------------------ */

#define MAX(acc, x) ((acc) > (x) ? (acc) : (x))
#define MIN(acc, x) ((acc) < (x) ? (acc) : (x))

#define ORDER_TYPES(ROWS, X)                      \
    ROWS(X, INT8, int8_t, INT8_MIN, INT8_MAX)     \
    ROWS(X, INT16, int16_t, INT16_MIN, INT16_MAX) \
    ROWS(X, UINT8, uint8_t, 0, UINT8_MAX)         \
    ROWS(X, UINT16, uint16_t, 0, UINT16_MAX)      \
    ROWS(X, UINT32, uint32_t, 0, UINT32_MAX)      \
    ROWS(X, UINT64, uint64_t, 0, UINT64_MAX)

#define ORDER_FOLDS(X, name, T, LOWEST, HIGHEST)       \
    X(ORDER_LANES, max_##name, T, T, LOWEST, MAX, MAX) \
    X(ORDER_LANES, min_##name, T, T, HIGHEST, MIN, MIN)
#define ORDER_ENDS(X, name, T, LOWEST, HIGHEST) \
    X(max_##name, T, T, CUT)                    \
    X(min_##name, T, T, CUT)
#define ORDER_REDUCERS(X, name, T, LOWEST, HIGHEST) \
    X(max_##name, max_##name, T)                    \
    X(min_##name, min_##name, T)

ORDER_TYPES(ORDER_FOLDS, FOLDING)
ORDER_TYPES(ORDER_ENDS, TFD_REDUCE_FINISH)
ORDER_TYPES(ORDER_REDUCERS, REDUCER)

/* ---- EuclideanNorm ------------------------------------------------------- */

/* Of a sum of squares that was cut to its type. */
static int64_t whole_root(double sum)
{
    return sum >= 0 ? (int64_t)sqrt(sum) : INT64_MIN;
}

/* Squares of floats are summed up as doubles, those of integers in 64 bits, and
 * the sum is cut to the type before its root, as in TensorFlow. */
#define ADD_SQUARE(acc, x) ((acc) + (double)(x) * (double)(x))
#define ADD_SQUARE_HALF(acc, x) ADD_SQUARE(acc, tfd_half_to_float(x))
#define ADD_SQUARE_BFLOAT16(acc, x) ADD_SQUARE(acc, tfd_bfloat16_to_float(x))
#define ADD_SQUARE_INT(acc, x) ((acc) + (uint64_t)(x) * (uint64_t)(x))
#define ROOT(T, acc, n) ((T)sqrt(acc))
#define ROOT_NARROW(T, acc, n) T##_from_float((float)sqrt(acc))
#define ROOT_INT(T, acc, n) ((T)whole_root((double)(T)(acc)))
#define ROOT_COMPLEX(T, acc, n) T##_narrow((tfd_complex128){sqrt(acc), 0})
#define SQUARE_COMPLEX(acc, x) \
    ((acc) + (double)(x).re * (double)(x).re + (double)(x).im * (double)(x).im)

#define NORM_TYPES(ROWS, X)                                                   \
    ROWS(X, FLOAT, float, double, ADD_SQUARE, ROOT)                           \
    ROWS(X, DOUBLE, double, double, ADD_SQUARE, ROOT)                         \
    ROWS(X, INT8, int8_t, uint64_t, ADD_SQUARE_INT, ROOT_INT)                 \
    ROWS(X, INT16, int16_t, uint64_t, ADD_SQUARE_INT, ROOT_INT)               \
    ROWS(X, INT32, int32_t, uint64_t, ADD_SQUARE_INT, ROOT_INT)               \
    ROWS(X, INT64, int64_t, uint64_t, ADD_SQUARE_INT, ROOT_INT)               \
    ROWS(X, UINT8, uint8_t, uint64_t, ADD_SQUARE_INT, ROOT_INT)               \
    ROWS(X, UINT16, uint16_t, uint64_t, ADD_SQUARE_INT, ROOT_INT)             \
    ROWS(X, UINT32, uint32_t, uint64_t, ADD_SQUARE_INT, ROOT_INT)             \
    ROWS(X, UINT64, uint64_t, uint64_t, ADD_SQUARE_INT, ROOT_INT)             \
    ROWS(X, HALF, tfd_half, double, ADD_SQUARE_HALF, ROOT_NARROW)             \
    ROWS(X, BFLOAT16, tfd_bfloat16, double, ADD_SQUARE_BFLOAT16, ROOT_NARROW) \
    ROWS(X, COMPLEX64, tfd_complex64, double, SQUARE_COMPLEX, ROOT_COMPLEX)   \
    ROWS(X, COMPLEX128, tfd_complex128, double, SQUARE_COMPLEX, ROOT_COMPLEX)

#define NORM_FOLDS(X, name, T, A, SQUARE, DONE) \
    X(SUM_LANES, norm_##name, T, A, 0, SQUARE, ADD)
#define NORM_ENDS(X, name, T, A, SQUARE, DONE) X(norm_##name, T, A, DONE)
#define NORM_REDUCERS(X, name, T, A, SQUARE, DONE) X(norm_##name, A)
#define NORM_REDUCER(id, A)                \
    static const struct tfd_reducer id = { \
        .acc_size = sizeof(A),             \
        .identity = &init_##id,            \
        .run = run_##id,                   \
        .columns = columns_##id,           \
        .merge = merge_##id,               \
        .finish = finish_##id,             \
        .changes_one = true,               \
    };

NORM_TYPES(NORM_FOLDS, FOLDING)
NORM_TYPES(NORM_ENDS, TFD_REDUCE_FINISH)
NORM_TYPES(NORM_REDUCERS, NORM_REDUCER)

/* ---- L2Loss -------------------------------------------------------------- */

static enum tfd_code loss(struct tfd_kctx *k, const struct tfd_reducer *r,
                          struct tfd_status *st)
{
    static const bool reduced[TFD_RANK_MAX] = {true, true, true, true,
                                               true, true, true, true};
    const struct tfd_tensor *in = &k->in[0];
    const struct tfd_shape scalar = {.rank = 0};
    size_t item = tfd_dtype_size(in->dtype);

    TFD_TRY(tfd_kctx_output(k, 0, in->dtype, &scalar, st));
    if (in->buffer)
        tfd_reduce_view(k, r, &in->shape, reduced, item, in->buffer->data,
                        k->out[0].buffer->data);
    else
        memset(k->out[0].buffer->data, 0, item);
    return TFD_OK;
}

static enum tfd_code loss_gradient(struct tfd_grad *g, struct tfd_status *st)
{
    struct tfd_gradient b = tfd_gradient_begin(g, st);

    g->dx[0] = tfd_gradient_op2(&b, "Mul", g->x[0], g->dy[0]);
    return b.code;
}

/* ---- Kernels ------------------------------------------------------------- */

#define COMPUTE_BY(id, reducer)                                              \
    static enum tfd_code id##_cpu(struct tfd_kctx *k, struct tfd_status *st) \
    {                                                                        \
        return tfd_reduce(k, &reducer, st);                                  \
    }
#define COMPUTE(id) COMPUTE_BY(id, id)
#define COMPUTE_APART_SUMS(name, number, T)         \
    COMPUTE_BY(sum_##name, tfd_reduce_sum_##name)   \
    COMPUTE_BY(mean_##name, tfd_reduce_mean_##name) \
    COMPUTE_BY(prod_##name, tfd_reduce_prod_##name)
#define COMPUTE_APART_ORDERS(name, number, T)     \
    COMPUTE_BY(max_##name, tfd_reduce_max_##name) \
    COMPUTE_BY(min_##name, tfd_reduce_min_##name)

#define COMPUTE_SUMS(name, number, T) \
    COMPUTE(sum_##name)               \
    COMPUTE(mean_##name)              \
    COMPUTE(prod_##name)
#define COMPUTE_ORDERS(name, number, T) \
    COMPUTE(max_##name)                 \
    COMPUTE(min_##name)

/* Types that are folded in files of their own, and those that are here. */
#define APART(X) TFD_FLOAT_DTYPES(X) X(INT32, 3, int32_t) X(INT64, 9, int64_t)
#define HERE(X)             \
    X(INT8, 6, int8_t)      \
    X(INT16, 5, int16_t)    \
    X(UINT8, 4, uint8_t)    \
    X(UINT16, 17, uint16_t) \
    X(UINT32, 22, uint32_t) \
    X(UINT64, 23, uint64_t)

APART(COMPUTE_APART_SUMS)
APART(COMPUTE_APART_ORDERS)
TFD_HALF_DTYPES(COMPUTE_APART_SUMS)
HERE(COMPUTE_SUMS)
HERE(COMPUTE_ORDERS)
TFD_COMPLEX_DTYPES(COMPUTE_SUMS)
TFD_HALF_DTYPES(COMPUTE_APART_ORDERS)
COMPUTE_BY(all, tfd_reduce_all)
COMPUTE_BY(any, tfd_reduce_any)

#define COMPUTE_NORM(name, number, T) COMPUTE(norm_##name)
TFD_REAL_DTYPES(COMPUTE_NORM)
TFD_HALF_DTYPES(COMPUTE_NORM)
TFD_COMPLEX_DTYPES(COMPUTE_NORM)

#define COMPUTE_LOSS(name, reducer)                               \
    static enum tfd_code loss_##name##_cpu(struct tfd_kctx *k,    \
                                           struct tfd_status *st) \
    {                                                             \
        return loss(k, &reducer, st);                             \
    }
COMPUTE_LOSS(FLOAT, tfd_reduce_loss_FLOAT)
COMPUTE_LOSS(DOUBLE, tfd_reduce_loss_DOUBLE)
COMPUTE_LOSS(HALF, tfd_reduce_loss_HALF)
COMPUTE_LOSS(BFLOAT16, tfd_reduce_loss_BFLOAT16)

const struct tfd_reducer *tfd_reduce_sum(enum tfd_dtype dtype)
{
#define SUM_OF(name, number, T) [TFD_##name] = &sum_##name,
#define SUM_APART(name, number, T) [TFD_##name] = &tfd_reduce_sum_##name,
    static const struct tfd_reducer *const sums[TFD_DTYPE_END] = {
        APART(SUM_APART) HERE(SUM_OF) TFD_HALF_DTYPES(SUM_APART)
            TFD_COMPLEX_DTYPES(SUM_OF)};

    return sums[dtype];
}

/* ---- Tables -------------------------------------------------------------- */

#define OP(name_, types_, grad_, flags_)                                \
    {                                                                   \
        .name = (name_), .inputs = "input: T, reduction_indices: Tidx", \
        .outputs = "output: T",                                         \
        .attrs = "keep_dims: bool = false; T: {" types_ "}; "           \
                 "Tidx: {int32, int64} = DT_INT32",                     \
        .shape = tfd_reduce_shape, .grad = (grad_), .flags = (flags_),  \
    }
#define BOOL_OP(name_)                                                         \
    {                                                                          \
        .name = (name_), .inputs = "input: bool, reduction_indices: Tidx",     \
        .outputs = "output: bool",                                             \
        .attrs = "keep_dims: bool = false; "                                   \
                 "Tidx: {int32, int64} = DT_INT32",                            \
        .key = "Tidx", .shape = tfd_reduce_shape, .flags = TFD_OP_NO_GRADIENT, \
    }

#define ORDERED                                                   \
    "float, double, int32, uint8, int16, int8, int64, bfloat16, " \
    "uint16, half, uint32, uint64, qint8, quint8, qint32, qint16, quint16"

static const struct tfd_opdef ops[] = {
    OP("Sum", "numbertype", tfd_reduce_sum_gradient, 0),
    OP("Mean", "numbertype", tfd_reduce_mean_gradient, 0),
    OP("Prod", "numbertype", tfd_reduce_product_gradient, 0),
    OP("Max", ORDERED, tfd_reduce_order_gradient, 0),
    OP("Min", ORDERED, tfd_reduce_order_gradient, 0),
    OP("EuclideanNorm", "numbertype", tfd_reduce_norm_gradient, 0),
    BOOL_OP("All"),
    BOOL_OP("Any"),
    {
        .name = "L2Loss",
        .inputs = "t: T",
        .outputs = "output: T",
        .attrs = "T: {half, bfloat16, float, double}",
        .shape = tfd_shape_scalar,
        .grad = loss_gradient,
    },
};

#define STATE \
    .prepare = tfd_reduce_prepare, .state_size = sizeof(struct tfd_reduce_state)
#define KERNELS_SUMS(name, number, T)                                \
    TFD_KERNEL("Sum", name, sum_##name##_cpu, STATE),                \
        TFD_KERNEL("Mean", name, mean_##name##_cpu, STATE),          \
        TFD_KERNEL("EuclideanNorm", name, norm_##name##_cpu, STATE), \
        TFD_KERNEL("Prod", name, prod_##name##_cpu, STATE),
#define KERNELS_ORDERS(name, number, T)               \
    TFD_KERNEL("Max", name, max_##name##_cpu, STATE), \
        TFD_KERNEL("Min", name, min_##name##_cpu, STATE),

#define KERNEL_LOSS(name, number, T) \
    TFD_KERNEL("L2Loss", name, loss_##name##_cpu),

static const struct tfd_kernel kernels[] = {
    TFD_REAL_DTYPES(KERNELS_SUMS) TFD_HALF_DTYPES(KERNELS_SUMS)
        TFD_COMPLEX_DTYPES(KERNELS_SUMS) TFD_REAL_DTYPES(KERNELS_ORDERS)
            TFD_HALF_DTYPES(KERNELS_ORDERS)
                TFD_KERNEL_ANY("All", all_cpu, STATE),
    TFD_KERNEL_ANY("Any", any_cpu, STATE),
    TFD_FLOAT_DTYPES(KERNEL_LOSS) TFD_HALF_DTYPES(KERNEL_LOSS)};

const struct tfd_family tfd_family_reduce = {
    .name = "reduce",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
