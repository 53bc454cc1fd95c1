/*
 * reduce_loops.h - what the loops of sums (reduce_floats.c) and of extremes
 * (reduce_extremes.c) of float and double share: vectors of 16 bytes, copies
 * of a loop for processors with long vectors, and loops over whole rows and
 * slabs that make outputs without accumulators.
 *
 * Each macro that defines loops takes id, the end of the names it defines, and
 * expands to functions for one type and one operation; lists of those are in
 * the two files.
 *
 * Threads: any; there is no state.
 */
#ifndef TFD_KERNELS_REDUCE_LOOPS_H
#define TFD_KERNELS_REDUCE_LOOPS_H

#include "kernels/reduce/reduce.h"
#include "kernels/vector/simd.h"
#include "kernels/vector/type_rows.h"

#include <string.h>

#define TFD_FOLD_VECTORS 8 /* side by side, so that none waits for another */
#define TFD_FOLD_SHORT 8   /* elements of a row that are taken one by one */

#define TFD_FOLD_ITSELF(x) (x)
#define TFD_FOLD_CUT(T, acc, n) ((T)(acc))

#define TFD_FOLD_INLINE static inline __attribute__((always_inline))

/* ---- Vectors ------------------------------------------------------------- */

/* V: T in a vector, M: the integers that comparisons of it give. */
#define TFD_DEFINE_VECTOR(T, I, V, M)             \
    typedef T V __attribute__((vector_size(16))); \
    typedef I M __attribute__((vector_size(16))); \
                                                  \
    TFD_FOLD_INLINE V V##_load(const T *x)        \
    {                                             \
        V v;                                      \
                                                  \
        memcpy(&v, x, sizeof(v));                 \
        return v;                                 \
    }

TFD_DEFINE_VECTOR(float, int32_t, vector_float, mask_float)
TFD_DEFINE_VECTOR(double, int64_t, vector_double, mask_double)

#define TFD_PER_VECTOR(T) ((int64_t)(16 / sizeof(T)))
#define TFD_FOLD_STEP(T) (TFD_FOLD_VECTORS * TFD_PER_VECTOR(T))

/* A loop that is told how many bytes a vector of the processor has: 16, 32 or
 * 64, a constant. */
#define TFD_WIDTH_LOOP(name)                                              \
    TFD_FOLD_INLINE void name##_by(void *arg, int64_t begin, int64_t end, \
                                   const int size)

#if defined(__x86_64__)
#define TFD_WIDTH_COPY(name, suffix, instructions, size)            \
    __attribute__((target(instructions))) static void name##suffix( \
        void *arg, int64_t begin, int64_t end)                      \
    {                                                               \
        name##_by(arg, begin, end, size);                           \
    }
#define TFD_WIDTH_CLONES(name)                              \
    TFD_WIDTH_COPY(name, _halves, "avx2", 32)               \
    TFD_WIDTH_COPY(name, _whole, TFD_SIMD_AVX512, 64)       \
                                                            \
    static void name(void *arg, int64_t begin, int64_t end) \
    {                                                       \
        if (tfd_simd_has_avx512())                          \
            name##_whole(arg, begin, end);                  \
        else if (__builtin_cpu_supports("avx2"))            \
            name##_halves(arg, begin, end);                 \
        else                                                \
            name##_by(arg, begin, end, 16);                 \
    }
#else
#define TFD_WIDTH_CLONES(name)                              \
    static void name(void *arg, int64_t begin, int64_t end) \
    {                                                       \
        name##_by(arg, begin, end, 16);                     \
    }
#endif

/* ---- Rows and slabs ------------------------------------------------------ */

/* Whole rows, each of which is an output. */
#define TFD_FOLD_ROWS(id, T, run, DONE)                            \
    TFD_WIDTH_LOOP(rows_##id)                                      \
    {                                                              \
        const struct tfd_fold_whole *f = arg;                      \
        const int64_t n = f->length;                               \
        const T *x = f->x;                                         \
        T *y = f->y;                                               \
                                                                   \
        if (n < TFD_FOLD_SHORT)                                    \
            for (int64_t r = begin; r < end; r++)                  \
                y[r] = DONE(T, short_##run(x + r * n, n), n);      \
        else                                                       \
            for (int64_t r = begin; r < end; r++)                  \
                y[r] = DONE(T, long_##run(x + r * n, n, size), n); \
    }                                                              \
    TFD_WIDTH_CLONES(rows_##id)

/* Rows from x that lie `width` apart, folded into y: one or two, so that the
 * rest are pairs; then those. */
#define TFD_FOLD_SLAB(id, T, TERM, JOIN)                               \
    TFD_FOLD_INLINE void slab_##id(const T *restrict x, T *restrict y, \
                                   int64_t width, int64_t rows)        \
    {                                                                  \
        const int64_t s = width, first = 2 - rows % 2;                 \
                                                                       \
        for (int64_t j = 0; j < width && first == 1; j++)              \
            y[j] = TERM(x[j]);                                         \
        for (int64_t j = 0; j < width && first == 2; j++)              \
            y[j] = JOIN(TERM(x[j]), TERM(x[j + s]));                   \
        x += first * s;                                                \
        for (int64_t r = first; r < rows; r += 2, x += 2 * s)          \
            for (int64_t j = 0; j < width; j++)                        \
                y[j] = JOIN(y[j], JOIN(TERM(x[j]), TERM(x[j + s])));   \
    }

#define TFD_FOLD_SLABS(id, T, slab, DONE)                            \
    TFD_SIMD_LOOP(slabs_##id)                                        \
    {                                                                \
        const struct tfd_fold_whole *f = arg;                        \
        const int64_t n = f->length, width = f->width;               \
        const T *x = f->x;                                           \
        T *y = f->y;                                                 \
                                                                     \
        for (int64_t i = begin; i < end; i++)                        \
            slab_##slab(x + i * n * width, y + i * width, width, n); \
        for (int64_t i = begin * width; i < end * width; i++)        \
            y[i] = DONE(T, y[i], n);                                 \
    }                                                                \
    TFD_SIMD_CLONES(slabs_##id)

/* ---- Reducers ------------------------------------------------------------ */

/* SLABS: the loop over slabs of up to ROWS rows, or NULL; PS: picoseconds that
 * an element takes. */
#define TFD_FOLD_REDUCER(id, name, folding, A, SLABS, ROWS, PS) \
    const struct tfd_reducer tfd_reduce_##id##_##name = {       \
        .acc_size = sizeof(A),                                  \
        .identity = &first_of_##folding##_##name,               \
        .run = run_##folding##_##name,                          \
        .columns = columns_##folding##_##name,                  \
        .merge = merge_##folding##_##name,                      \
        .finish = finish_##id##_##name,                         \
        .rows = rows_##id##_##name,                             \
        .slabs = (SLABS),                                       \
        .slab_rows = (ROWS),                                    \
        .element_ps = (PS),                                     \
    };

#define TFD_FLOAT_REDUCER(id, name, folding, A, ROWS)                 \
    TFD_FOLD_REDUCER(id, name, folding, A, slabs_##id##_##name, ROWS, \
                     TFD_FLOAT_PS)

#define TFD_FLOAT_PS 100 /* with vectors, from a second cache */

#endif
