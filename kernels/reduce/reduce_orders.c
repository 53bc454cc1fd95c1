/*
 * reduce_orders.c - Max Min of half and bfloat16.
 *
 * Halves are compared as integers of the same order, NaN beyond infinity.  Of
 * the two zeros the negative one is the smaller.  The least is the largest of
 * the integers' complements, so one set of loops serves both operations and
 * both types.
 */
#include "kernels/reduce/reduce_halves.h"

#include "common/base/half.h"
#include "kernels/vector/narrow.h"
#include "kernels/vector/simd.h"
#include "kernels/vector/type_rows.h"

#define ORDER_PS 100 /* with vectors */

#define INLINE static inline __attribute__((always_inline))

#define MAX(a, b) ((b) > (a) ? (b) : (a))

/* What is asked for: the largest, or the least, of a type. */
struct order {
    int16_t infinite; /* bits of infinity */
    int16_t flip;     /* -1 for the least, else 0 */
};

/* A fold of either kind, and its order. */
struct ordered {
    const struct order *order;
    const void *fold;
};

/* Of a number that is not NaN; it is its own opposite. */
INLINE int16_t order_of(uint16_t x)
{
    const int16_t sign = (int16_t)((int16_t)x >> 15); /* 0 or -1 */

    return (int16_t)((int16_t)x ^ (sign & INT16_MAX));
}

/* Without a second comparison, beside which compilers take that of a fold for
 * something else and make no vectors.  NaN is beyond all others. */
INLINE int16_t into_order(struct order o, uint16_t x)
{
    const int16_t left = (int16_t)(o.infinite - (x & INT16_MAX));
    const int16_t nan = (int16_t)(left >> 15); /* 0 or -1 */

    return (int16_t)(((order_of(x) ^ o.flip) & ~nan) | (nan & INT16_MAX));
}

INLINE uint16_t from_order(struct order o, int16_t order)
{
    return (uint16_t)order_of((uint16_t)(order ^ o.flip));
}

/* What nothing folds to: infinity, of the sign that all others exceed. */
#define FIRST_OF(infinite) ((int16_t)(-(infinite)-1))

INLINE int16_t row_order(struct order o, const uint16_t *x, int64_t n,
                         int16_t best)
{
    for (int64_t i = 0; i < n; i++) {
        const int16_t order = into_order(o, x[i]);

        best = MAX(best, order);
    }
    return best;
}

/* ---- Loops --------------------------------------------------------------- */

TFD_SIMD_LOOP(order_run)
{
    const struct ordered *a = arg;
    const struct tfd_fold *f = a->fold;
    int16_t *acc = f->acc;

    *acc =
        row_order(*a->order, (const uint16_t *)f->x + begin, end - begin, *acc);
}
TFD_SIMD_CLONES_WIDE(order_run)

TFD_SIMD_LOOP(order_columns)
{
    const struct ordered *a = arg;
    const struct tfd_fold *f = a->fold;
    const struct order o = *a->order;
    const int64_t s = f->stride;
    const uint16_t *restrict x = f->x;
    int16_t *restrict acc = f->acc;
    int64_t r = 0;

    for (; f->rows - r >= 4; r += 4, x += 4 * s)
        for (int64_t j = begin; j < end; j++) {
            const int16_t one = into_order(o, x[j]);
            const int16_t two = into_order(o, x[j + s]);
            const int16_t three = into_order(o, x[j + 2 * s]);
            const int16_t four = into_order(o, x[j + 3 * s]);
            const int16_t left = MAX(one, two), right = MAX(three, four);
            const int16_t most = MAX(left, right);

            acc[j] = MAX(acc[j], most);
        }
    for (; r < f->rows; r++, x += s)
        for (int64_t j = begin; j < end; j++) {
            const int16_t order = into_order(o, x[j]);

            acc[j] = MAX(acc[j], order);
        }
}
TFD_SIMD_CLONES(order_columns)

INLINE void order_rows_of_3(struct order o, const uint16_t *restrict x,
                            uint16_t *restrict y, int64_t rows)
{
    for (int64_t r = 0; r < rows; r++, x += 3) {
        const int16_t one = into_order(o, x[0]), two = into_order(o, x[1]);
        const int16_t three = into_order(o, x[2]), left = MAX(one, two);

        y[r] = from_order(o, MAX(left, three));
    }
}

TFD_SIMD_LOOP(order_rows)
{
    const struct ordered *a = arg;
    const struct tfd_fold_whole *f = a->fold;
    const struct order o = *a->order;
    const int64_t n = f->length;
    const uint16_t *restrict x = (const uint16_t *)f->x + begin * n;
    uint16_t *restrict y = f->y;

    if (n == 3) {
        order_rows_of_3(o, x, y + begin, end - begin);
        return;
    }
    for (int64_t r = begin; r < end; r++, x += n)
        y[r] = from_order(o, row_order(o, x, n, FIRST_OF(o.infinite)));
}
TFD_SIMD_CLONES(order_rows)

/* Orders, which the outputs hold until all rows of a slab are in. */
INLINE void order_slab(struct order o, const uint16_t *restrict x,
                       uint16_t *restrict y, int64_t rows, int64_t width)
{
    for (int64_t j = 0; j < width; j++)
        y[j] = (uint16_t)into_order(o, x[j]);
    for (int64_t r = 1; r < rows; r++)
        for (int64_t j = 0; j < width; j++) {
            const int16_t so_far = (int16_t)y[j],
                          more = into_order(o, x[r * width + j]);

            y[j] = (uint16_t)MAX(so_far, more);
        }
    for (int64_t j = 0; j < width; j++)
        y[j] = from_order(o, (int16_t)y[j]);
}

TFD_SIMD_LOOP(order_slabs)
{
    const struct ordered *a = arg;
    const struct tfd_fold_whole *f = a->fold;
    const int64_t n = f->length, width = f->width;
    const uint16_t *x = f->x;
    uint16_t *y = f->y;

    for (int64_t i = begin; i < end; i++)
        order_slab(*a->order, x + i * n * width, y + i * width, n, width);
}
TFD_SIMD_CLONES(order_slabs)

static void finish_orders(struct order o, void *out, const void *acc, int64_t n)
{
    uint16_t *y = out;
    const int16_t *a = acc;

    for (int64_t i = 0; i < n; i++)
        y[i] = from_order(o, a[i]);
}

TFD_REDUCE_MERGE(orders, int16_t, MAX)

/* ---- Reducers ------------------------------------------------------------ */

#define ORDER_LOOP(loop, id)                                       \
    static void loop##_##id(void *arg, int64_t begin, int64_t end) \
    {                                                              \
        struct ordered fold = {&order_##id, arg};                  \
                                                                   \
        order_##loop(&fold, begin, end);                           \
    }

#define ORDER(id, INFINITE, FLIP)                                \
    static const int16_t first_of_##id = FIRST_OF(INFINITE);     \
    static const struct order order_##id = {(INFINITE), (FLIP)}; \
    ORDER_LOOP(run, id)                                          \
    ORDER_LOOP(columns, id)                                      \
    ORDER_LOOP(rows, id)                                         \
    ORDER_LOOP(slabs, id)                                        \
    static void finish_##id(void *y, const void *acc, int64_t n, \
                            int64_t folded)                      \
    {                                                            \
        finish_orders(order_##id, y, acc, n);                    \
        (void)folded;                                            \
    }                                                            \
    const struct tfd_reducer tfd_reduce_##id = {                 \
        .acc_size = sizeof(int16_t),                             \
        .identity = &first_of_##id,                              \
        .run = run_##id,                                         \
        .columns = columns_##id,                                 \
        .merge = merge_orders,                                   \
        .finish = finish_##id,                                   \
        .rows = rows_##id,                                       \
        .slabs = slabs_##id,                                     \
        .slab_rows = INT64_MAX,                                  \
        .element_ps = ORDER_PS,                                  \
    };

#define ORDERS(X, name, T)                \
    X(max_##name, TFD_INFINITE_##name, 0) \
    X(min_##name, TFD_INFINITE_##name, -1)

TFD_HALF_ROWS(ORDERS, ORDER)
