/*
 * reduce_orders.c - Max Min of half and bfloat16.
 *
 * Halves are compared as integers of the same order, NaN beyond infinity.  Of
 * the two zeros the negative one is the smaller.
 */
#include "kernels/reduce/reduce_halves.h"

#include "common/base/half.h"
#include "kernels/vector/narrow.h"
#include "kernels/vector/simd.h"
#include "kernels/vector/type_rows.h"

#define ORDER_PS 100 /* with vectors */

#define INLINE static inline __attribute__((always_inline))

#define MAX(a, b) ((b) > (a) ? (b) : (a))
#define MIN(a, b) ((b) < (a) ? (b) : (a))

/* Of a number that is not NaN; it is its own opposite. */
INLINE int16_t order_of(uint16_t x)
{
    const int16_t sign = (int16_t)((int16_t)x >> 15); /* 0 or -1 */

    return (int16_t)((int16_t)x ^ (sign & INT16_MAX));
}

#define FROM_ORDER(T, acc, n) ((T)order_of((T)(acc)))

/* Without a second comparison, beside which compilers take that of a fold for
 * something else and make no vectors.  NOTHING: what nothing folds to;
 * NAN_ORDER is beyond all others. */
#define ORDER(id, T, INFINITE, OF, NOTHING, NAN_ORDER)                        \
    static const int16_t first_of_##id = NOTHING;                             \
    INLINE int16_t order_##id(T x)                                            \
    {                                                                         \
        const int16_t left = (int16_t)((INFINITE) - (x & INT16_MAX));         \
        const int16_t nan = (int16_t)(left >> 15); /* 0 or -1 */              \
                                                                              \
        return (int16_t)((order_of(x) & ~nan) | (nan & (NAN_ORDER)));         \
    }                                                                         \
                                                                              \
    INLINE int16_t row_##id(const T *x, int64_t n, int16_t best)              \
    {                                                                         \
        for (int64_t i = 0; i < n; i++) {                                     \
            const int16_t order = order_##id(x[i]);                           \
                                                                              \
            best = OF(best, order);                                           \
        }                                                                     \
        return best;                                                          \
    }                                                                         \
                                                                              \
    TFD_SIMD_LOOP(run_##id)                                                   \
    {                                                                         \
        const struct tfd_fold *f = arg;                                       \
        int16_t *acc = f->acc;                                                \
                                                                              \
        *acc = row_##id((const T *)f->x + begin, end - begin, *acc);          \
    }                                                                         \
    TFD_SIMD_CLONES_WIDE(run_##id)                                            \
                                                                              \
    TFD_SIMD_LOOP(columns_##id)                                               \
    {                                                                         \
        const struct tfd_fold *f = arg;                                       \
        const int64_t s = f->stride;                                          \
        const T *restrict x = f->x;                                           \
        int16_t *restrict acc = f->acc;                                       \
        int64_t r = 0;                                                        \
                                                                              \
        for (; f->rows - r >= 4; r += 4, x += 4 * s)                          \
            for (int64_t j = begin; j < end; j++) {                           \
                const int16_t a = order_##id(x[j]), b = order_##id(x[j + s]), \
                              c = order_##id(x[j + 2 * s]),                   \
                              d = order_##id(x[j + 3 * s]);                   \
                const int16_t one = OF(a, b), two = OF(c, d);                 \
                const int16_t four = OF(one, two);                            \
                                                                              \
                acc[j] = OF(acc[j], four);                                    \
            }                                                                 \
        for (; r < f->rows; r++, x += s)                                      \
            for (int64_t j = begin; j < end; j++) {                           \
                const int16_t a = order_##id(x[j]);                           \
                                                                              \
                acc[j] = OF(acc[j], a);                                       \
            }                                                                 \
    }                                                                         \
    TFD_SIMD_CLONES(columns_##id)                                             \
                                                                              \
    TFD_SIMD_LOOP(rows_##id)                                                  \
    {                                                                         \
        const struct tfd_fold_whole *f = arg;                                 \
        const int64_t n = f->length;                                          \
        const T *restrict x = f->x;                                           \
        T *restrict y = f->y;                                                 \
                                                                              \
        x += begin * n;                                                       \
        if (n == 3) {                                                         \
            for (int64_t r = begin; r < end; r++, x += 3) {                   \
                const int16_t a = order_##id(x[0]), b = order_##id(x[1]),     \
                              c = order_##id(x[2]);                           \
                const int16_t two = OF(a, b);                                 \
                                                                              \
                y[r] = FROM_ORDER(T, OF(two, c), 1);                          \
            }                                                                 \
            return;                                                           \
        }                                                                     \
        for (int64_t r = begin; r < end; r++, x += n)                         \
            y[r] = FROM_ORDER(T, row_##id(x, n, NOTHING), n);                 \
    }                                                                         \
    TFD_SIMD_CLONES(rows_##id)                                                \
                                                                              \
    /* Orders, which the outputs hold until all rows of a slab are in. */     \
    INLINE void slab_##id(const T *restrict x, T *restrict y, int64_t rows,   \
                          int64_t width)                                      \
    {                                                                         \
        for (int64_t j = 0; j < width; j++)                                   \
            y[j] = (T)order_##id(x[j]);                                       \
        for (int64_t r = 1; r < rows; r++)                                    \
            for (int64_t j = 0; j < width; j++) {                             \
                const int16_t so_far = (int16_t)y[j],                         \
                              more = order_##id(x[r * width + j]);            \
                                                                              \
                y[j] = (T)OF(so_far, more);                                   \
            }                                                                 \
        for (int64_t j = 0; j < width; j++)                                   \
            y[j] = FROM_ORDER(T, y[j], rows);                                 \
    }                                                                         \
                                                                              \
    TFD_SIMD_LOOP(slabs_##id)                                                 \
    {                                                                         \
        const struct tfd_fold_whole *f = arg;                                 \
        const int64_t n = f->length, width = f->width;                        \
        const T *x = f->x;                                                    \
        T *y = f->y;                                                          \
                                                                              \
        for (int64_t i = begin; i < end; i++)                                 \
            slab_##id(x + i * n * width, y + i * width, n, width);            \
    }                                                                         \
    TFD_SIMD_CLONES(slabs_##id)                                               \
                                                                              \
    const struct tfd_reducer tfd_reduce_##id = {                              \
        .acc_size = sizeof(int16_t),                                          \
        .identity = &first_of_##id,                                           \
        .run = run_##id,                                                      \
        .columns = columns_##id,                                              \
        .merge = merge_##id,                                                  \
        .finish = finish_##id,                                                \
        .rows = rows_##id,                                                    \
        .slabs = slabs_##id,                                                  \
        .slab_rows = INT64_MAX,                                               \
        .element_ps = ORDER_PS,                                               \
    };

#define ORDERS(X, name, T)                                               \
    X(max_##name, T, TFD_INFINITE_##name, MAX, -TFD_INFINITE_##name - 1, \
      INT16_MAX)                                                         \
    X(min_##name, T, TFD_INFINITE_##name, MIN, TFD_INFINITE_##name, INT16_MIN)
#define MERGES(X, name, T)      \
    X(max_##name, int16_t, MAX) \
    X(min_##name, int16_t, MIN)
#define ENDS(X, name, T)                  \
    X(max_##name, T, int16_t, FROM_ORDER) \
    X(min_##name, T, int16_t, FROM_ORDER)

TFD_HALF_ROWS(MERGES, TFD_REDUCE_MERGE)
TFD_HALF_ROWS(ENDS, TFD_REDUCE_FINISH)
TFD_HALF_ROWS(ORDERS, ORDER)
