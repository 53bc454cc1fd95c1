/*
 * reduce_ints.c - Sum Mean Prod Max Min of int32 and int64.
 *
 * Sum and Prod wrap, so they are folded in the type's own width, which has as
 * many elements in a vector as there can be; a mean does not, so its sum has 64
 * bits.  Integers may be folded in any order, so the compiler makes vectors of
 * plain loops.
 */
#include "kernels/reduce/reduce_ints.h"

#include "kernels/reduce/reduce_loops.h"

/* ---- Elements ------------------------------------------------------------ */

#define ADD(acc, x) ((acc) + (x))
#define ADD_LONG(acc, x) ((acc) + (uint64_t)(x))
#define MULTIPLY(acc, x) ((acc) * (x))
#define LARGER(acc, x) ((acc) > (x) ? (acc) : (x))
#define SMALLER(acc, x) ((acc) < (x) ? (acc) : (x))
#define MEAN(T, acc, n) ((T)((n) ? (int64_t)(acc) / (n) : 0))

/* Lanes of a long row, each of which is folded on its own: four of the longest
 * vectors, so that none waits for another. */
#define LANES_SIZE 256
#define LONG_ROW 256 /* elements, which are several times as many */

/* ---- Loops --------------------------------------------------------------- */

#define INT_RUN(id, T, A, FIRST, JOIN)                                       \
    static const A first_of_##id = (FIRST);                                  \
    TFD_FOLD_INLINE A row_of_##id(const T *x, int64_t n)                     \
    {                                                                        \
        A one = (FIRST);                                                     \
                                                                             \
        for (int64_t i = 0; i < n; i++)                                      \
            one = JOIN(one, x[i]);                                           \
        return one;                                                          \
    }                                                                        \
                                                                             \
    /* The same where there may be many. */                                  \
    TFD_FOLD_INLINE A long_row_of_##id(const T *x, int64_t n)                \
    {                                                                        \
        enum { LANES = LANES_SIZE / sizeof(A) };                             \
        const int64_t whole = n / LANES * LANES;                             \
        A lane[LANES], one;                                                  \
                                                                             \
        if (n < LONG_ROW)                                                    \
            return row_of_##id(x, n);                                        \
        for (int k = 0; k < LANES; k++)                                      \
            lane[k] = x[k];                                                  \
        for (int64_t i = LANES; i < whole; i += LANES)                       \
            for (int k = 0; k < LANES; k++)                                  \
                lane[k] = JOIN(lane[k], x[i + k]);                           \
        one = row_of_##id(x + whole, n - whole);                             \
        for (int k = 0; k < LANES; k++)                                      \
            one = JOIN(one, lane[k]);                                        \
        return one;                                                          \
    }                                                                        \
                                                                             \
    TFD_SIMD_LOOP(run_##id)                                                  \
    {                                                                        \
        const struct tfd_fold *f = arg;                                      \
        A *acc = f->acc;                                                     \
                                                                             \
        *acc = JOIN(*acc,                                                    \
                    long_row_of_##id((const T *)f->x + begin, end - begin)); \
    }                                                                        \
    TFD_SIMD_CLONES_WIDE(run_##id)

/* Four rows at a time: an accumulator is loaded and stored once. */
#define INT_COLUMNS(id, T, A, FIRST, JOIN)           \
    TFD_SIMD_LOOP(columns_##id)                      \
    {                                                \
        const struct tfd_fold *f = arg;              \
        const int64_t s = f->stride;                 \
        const T *restrict x = f->x;                  \
        A *restrict acc = f->acc;                    \
        int64_t r = 0;                               \
                                                     \
        for (; f->rows - r >= 4; r += 4, x += 4 * s) \
            for (int64_t j = begin; j < end; j++) {  \
                A a = JOIN(acc[j], x[j]);            \
                                                     \
                a = JOIN(a, x[j + s]);               \
                a = JOIN(a, x[j + 2 * s]);           \
                acc[j] = JOIN(a, x[j + 3 * s]);      \
            }                                        \
        for (; r < f->rows; r++, x += s)             \
            for (int64_t j = begin; j < end; j++)    \
                acc[j] = JOIN(acc[j], x[j]);         \
    }                                                \
    TFD_SIMD_CLONES(columns_##id)

/* Rows of a few elements have loops of their own, in which a vector holds many
 * rows. */
#define INT_ROWS(id, T, Y, folding, DONE, CLONES)                             \
    TFD_FOLD_INLINE void each_row_##id(const struct tfd_fold_whole *f,        \
                                       int64_t begin, int64_t end, int64_t n) \
    {                                                                         \
        const T *restrict x = f->x;                                           \
        Y *restrict y = f->y;                                                 \
                                                                              \
        for (int64_t r = begin; r < end; r++)                                 \
            y[r] = DONE(Y, row_of_##folding(x + r * n, n), n);                \
    }                                                                         \
                                                                              \
    TFD_FOLD_INLINE void each_long_row_##id(const struct tfd_fold_whole *f,   \
                                            int64_t begin, int64_t end)       \
    {                                                                         \
        const int64_t n = f->length;                                          \
        const T *restrict x = f->x;                                           \
        Y *restrict y = f->y;                                                 \
                                                                              \
        for (int64_t r = begin; r < end; r++)                                 \
            y[r] = DONE(Y, long_row_of_##folding(x + r * n, n), n);           \
    }                                                                         \
                                                                              \
    TFD_SIMD_LOOP(rows_##id)                                                  \
    {                                                                         \
        const struct tfd_fold_whole *f = arg;                                 \
                                                                              \
        if (f->length == 2)                                                   \
            each_row_##id(f, begin, end, 2);                                  \
        else if (f->length == 3)                                              \
            each_row_##id(f, begin, end, 3);                                  \
        else if (f->length == 4)                                              \
            each_row_##id(f, begin, end, 4);                                  \
        else if (f->length >= LONG_ROW)                                       \
            each_long_row_##id(f, begin, end);                                \
        else                                                                  \
            each_row_##id(f, begin, end, f->length);                          \
    }                                                                         \
    CLONES(rows_##id)

/* ---- What there is ------------------------------------------------------- */

#define INT_PS_INT32 100
#define INT_PS_INT64 200

/* T: the type; U: as many bits, which wrap. */
#define TYPES(ROWS, X)                                      \
    ROWS(X, INT32, int32_t, uint32_t, INT32_MIN, INT32_MAX) \
    ROWS(X, INT64, int64_t, uint64_t, INT64_MIN, INT64_MAX)

#define FOLDS(X, name, T, U, LEAST, MOST)    \
    X(sum_##name, U, U, 0, ADD)              \
    X(long_##name, T, uint64_t, 0, ADD_LONG) \
    X(prod_##name, U, U, 1, MULTIPLY)        \
    X(max_##name, T, T, LEAST, LARGER)       \
    X(min_##name, T, T, MOST, SMALLER)
/* Only the longest vectors multiply and compare 64 bits. */
#define CLONES_INT32 TFD_SIMD_CLONES
#define CLONES_INT64 TFD_SIMD_CLONES_WIDE

#define OUTPUTS(X, name, T, U, LEAST, MOST)                        \
    X(sum_##name, U, U, sum_##name, TFD_FOLD_CUT, CLONES_##name)   \
    X(mean_##name, T, T, long_##name, MEAN, CLONES_##name)         \
    X(prod_##name, U, U, prod_##name, TFD_FOLD_CUT, CLONES_##name) \
    X(max_##name, T, T, max_##name, TFD_FOLD_CUT, CLONES_##name)   \
    X(min_##name, T, T, min_##name, TFD_FOLD_CUT, CLONES_##name)
#define SLABS(X, name, T, U, LEAST, MOST)        \
    X(sum_##name, U, TFD_FOLD_ITSELF, ADD)       \
    X(prod_##name, U, TFD_FOLD_ITSELF, MULTIPLY) \
    X(max_##name, T, TFD_FOLD_ITSELF, LARGER)    \
    X(min_##name, T, TFD_FOLD_ITSELF, SMALLER)
#define SLAB_OUTPUTS(X, name, T, U, LEAST, MOST) \
    X(sum_##name, U, sum_##name, TFD_FOLD_CUT)   \
    X(prod_##name, U, prod_##name, TFD_FOLD_CUT) \
    X(max_##name, T, max_##name, TFD_FOLD_CUT)   \
    X(min_##name, T, min_##name, TFD_FOLD_CUT)
#define MERGES(X, name, T, U, LEAST, MOST) \
    X(sum_##name, U, ADD)                  \
    X(long_##name, uint64_t, ADD)          \
    X(prod_##name, U, MULTIPLY)            \
    X(max_##name, T, LARGER)               \
    X(min_##name, T, SMALLER)
#define ENDS(X, name, T, U, LEAST, MOST) \
    X(sum_##name, U, U, TFD_FOLD_CUT)    \
    X(mean_##name, T, uint64_t, MEAN)    \
    X(prod_##name, U, U, TFD_FOLD_CUT)   \
    X(max_##name, T, T, TFD_FOLD_CUT)    \
    X(min_##name, T, T, TFD_FOLD_CUT)
#define REDUCERS(X, name, T, U, LEAST, MOST)                            \
    X(sum, name, sum, U, slabs_sum_##name, INT64_MAX, INT_PS_##name)    \
    X(mean, name, long, uint64_t, NULL, INT64_MAX, INT_PS_##name)       \
    X(prod, name, prod, U, slabs_prod_##name, INT64_MAX, INT_PS_##name) \
    X(max, name, max, T, slabs_max_##name, INT64_MAX, INT_PS_##name)    \
    X(min, name, min, T, slabs_min_##name, INT64_MAX, INT_PS_##name)

TYPES(FOLDS, INT_RUN)
TYPES(FOLDS, INT_COLUMNS)
TYPES(OUTPUTS, INT_ROWS)
TYPES(SLABS, TFD_FOLD_SLAB)
TYPES(SLAB_OUTPUTS, TFD_FOLD_SLABS)
TYPES(MERGES, TFD_REDUCE_MERGE)
TYPES(ENDS, TFD_REDUCE_FINISH)
TYPES(REDUCERS, TFD_FOLD_REDUCER)
