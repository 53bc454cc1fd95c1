/*
 * reduce_extremes.c - Max Min of float and double.
 *
 * A comparison with NaN is false, so the larger of two is cheap where NaN does
 * not count; a sum beside tells whether there is one to look for.  Only then
 * the elements are looked at one by one.
 */
#include "kernels/reduce/reduce.h"

#include "kernels/reduce/reduce_floats.h"
#include "kernels/reduce/reduce_loops.h"

#if defined(__x86_64__)
#include <emmintrin.h>
#endif
#include <math.h>

/* ---- Elements ------------------------------------------------------------ */

#define ABOVE(a, b) ((a) > (b))
#define BELOW(a, b) ((a) < (b))

/* A NaN in acc stays: all of its bits are set.  One in x fails the comparison
 * that `extreme` was chosen by.  U: as many bits as T. */
#define DEFINE_STICKY(T, U)                                    \
    TFD_FOLD_INLINE T sticky_##T(T acc, T extreme)             \
    {                                                          \
        U bits;                                                \
                                                               \
        memcpy(&bits, &extreme, sizeof(bits));                 \
        bits |= acc == acc ? 0 : ~(U)0;                        \
        memcpy(&extreme, &bits, sizeof(bits));                 \
        return extreme;                                        \
    }                                                          \
                                                               \
    TFD_FOLD_INLINE bool has_nan_##T(const T *x, const T *end) \
    {                                                          \
        bool nan = false;                                      \
                                                               \
        for (; x < end; x++)                                   \
            nan |= *x != *x;                                   \
        return nan;                                            \
    }

DEFINE_STICKY(float, uint32_t)
DEFINE_STICKY(double, uint64_t)

#define HALF_OF_VECTORS 4 /* each beside a sum */

/* a where it comes before b, else b: what these instructions do, which no
 * compiler makes of the general way. */
#if defined(__x86_64__)
#define CHOOSE_ABOVE_float(a, b) _mm_max_ps(a, b)
#define CHOOSE_BELOW_float(a, b) _mm_min_ps(a, b)
#define CHOOSE_ABOVE_double(a, b) _mm_max_pd(a, b)
#define CHOOSE_BELOW_double(a, b) _mm_min_pd(a, b)
#else
#define CHOOSE(T, which, a, b) \
    ((vector_##T)(((which) & (mask_##T)(a)) | (~(which) & (mask_##T)(b))))
#define CHOOSE_ABOVE_float(a, b) CHOOSE(float, a > b, a, b)
#define CHOOSE_BELOW_float(a, b) CHOOSE(float, a < b, a, b)
#define CHOOSE_ABOVE_double(a, b) CHOOSE(double, a > b, a, b)
#define CHOOSE_BELOW_double(a, b) CHOOSE(double, a < b, a, b)
#endif

/* ---- Loops --------------------------------------------------------------- */

/* OF: whether a comes before b. */
#define EXTREME_RUN(id, T, OF, FIRST)                                          \
    static const T first_of_##id = FIRST;                                      \
    TFD_FOLD_INLINE T join_##id(T acc, T x)                                    \
    {                                                                          \
        return sticky_##T(acc, OF(acc, x) ? acc : x);                          \
    }                                                                          \
                                                                               \
    TFD_FOLD_INLINE vector_##T choose_##id(vector_##T a, vector_##T b)         \
    {                                                                          \
        return CHOOSE_##OF##_##T(a, b);                                        \
    }                                                                          \
                                                                               \
    TFD_FOLD_INLINE T short_##id(const T *x, int64_t n)                        \
    {                                                                          \
        T one = (FIRST);                                                       \
                                                                               \
        for (int64_t i = 0; i < n; i++)                                        \
            one = join_##id(one, x[i]);                                        \
        return one;                                                            \
    }                                                                          \
                                                                               \
    /* From x to stop, in steps; NaN may be lost, but not from the sum. */     \
    TFD_FOLD_INLINE T steps_##id(const T *x, const T *stop, T *sum)            \
    {                                                                          \
        vector_##T most[HALF_OF_VECTORS], sums[HALF_OF_VECTORS];               \
                                                                               \
        for (int i = 0; i < HALF_OF_VECTORS; i++)                              \
            sums[i] = most[i] = vector_##T##_load(x + i * TFD_PER_VECTOR(T));  \
        for (x += TFD_FOLD_STEP(T) / 2; x < stop; x += TFD_FOLD_STEP(T) / 2)   \
            for (int i = 0; i < HALF_OF_VECTORS; i++) {                        \
                vector_##T in = vector_##T##_load(x + i * TFD_PER_VECTOR(T));  \
                                                                               \
                most[i] = choose_##id(in, most[i]);                            \
                sums[i] += in;                                                 \
            }                                                                  \
        most[0] = choose_##id(choose_##id(most[0], most[1]),                   \
                              choose_##id(most[2], most[3]));                  \
        sums[0] += sums[1] + (sums[2] + sums[3]);                              \
        *sum = sums[0][0];                                                     \
        for (int i = 1; i < TFD_PER_VECTOR(T); i++) {                          \
            most[0][0] = OF(most[0][i], most[0][0]) ? most[0][i] : most[0][0]; \
            *sum += sums[0][i];                                                \
        }                                                                      \
        return most[0][0];                                                     \
    }                                                                          \
                                                                               \
    TFD_FOLD_INLINE T long_##id(const T *x, int64_t n, bool wide)              \
    {                                                                          \
        const T *stop =                                                        \
            x + n / (TFD_FOLD_STEP(T) / 2) * (TFD_FOLD_STEP(T) / 2);           \
        T one, sum;                                                            \
                                                                               \
        (void)wide;                                                            \
        if (x == stop)                                                         \
            return short_##id(x, n);                                           \
        one = steps_##id(x, stop, &sum);                                       \
        /* Opposite infinities have no sum, either. */                         \
        if (sum != sum && has_nan_##T(x, stop))                                \
            one = (T)NAN;                                                      \
        return join_##id(one, short_##id(stop, x + n - stop));                 \
    }                                                                          \
                                                                               \
    TFD_SIMD_LOOP(run_##id)                                                    \
    {                                                                          \
        const struct tfd_fold *f = arg;                                        \
        T *acc = f->acc;                                                       \
                                                                               \
        *acc = join_##id(*acc,                                                 \
                         long_##id((const T *)f->x + begin, end - begin, 0));  \
    }                                                                          \
    TFD_SIMD_CLONES(run_##id)

#define EXTREME_COLUMNS(id, T, OF, FIRST)                                      \
    TFD_SIMD_LOOP(columns_##id)                                                \
    {                                                                          \
        const struct tfd_fold *f = arg;                                        \
        const int64_t s = f->stride;                                           \
        const T *restrict x = f->x;                                            \
        T *restrict acc = f->acc;                                              \
        int64_t r = 0;                                                         \
                                                                               \
        for (; f->rows - r >= 4; r += 4, x += 4 * s)                           \
            for (int64_t j = begin; j < end; j++)                              \
                acc[j] =                                                       \
                    join_##id(acc[j], TFD_FOLD_FOUR(x + j, s, TFD_FOLD_ITSELF, \
                                                    join_##id));               \
        for (; r < f->rows; r++, x += s)                                       \
            for (int64_t j = begin; j < end; j++)                              \
                acc[j] = join_##id(acc[j], x[j]);                              \
    }                                                                          \
    TFD_SIMD_CLONES(columns_##id)

/* ---- What there is ------------------------------------------------------- */

#define EXTREMES(X, name, T)           \
    X(max_##name, T, ABOVE, -INFINITY) \
    X(min_##name, T, BELOW, INFINITY)
#define SLABS(X, name, T)                              \
    X(max_##name, T, TFD_FOLD_ITSELF, join_max_##name) \
    X(min_##name, T, TFD_FOLD_ITSELF, join_min_##name)
#define OUTPUTS(X, name, T)                    \
    X(max_##name, T, max_##name, TFD_FOLD_CUT) \
    X(min_##name, T, min_##name, TFD_FOLD_CUT)
#define MERGES(X, name, T)            \
    X(max_##name, T, join_max_##name) \
    X(min_##name, T, join_min_##name)
#define ENDS(X, name, T)              \
    X(max_##name, T, T, TFD_FOLD_CUT) \
    X(min_##name, T, T, TFD_FOLD_CUT)
#define REDUCERS(X, name, T)        \
    X(max, name, max, T, INT64_MAX) \
    X(min, name, min, T, INT64_MAX)

TFD_FLOAT_ROWS(EXTREMES, EXTREME_RUN)
TFD_FLOAT_ROWS(EXTREMES, EXTREME_COLUMNS)
TFD_FLOAT_ROWS(SLABS, TFD_FOLD_SLAB)
TFD_FLOAT_ROWS(OUTPUTS, TFD_FOLD_ROWS)
TFD_FLOAT_ROWS(OUTPUTS, TFD_FOLD_SLABS)
TFD_FLOAT_ROWS(MERGES, TFD_REDUCE_MERGE)
TFD_FLOAT_ROWS(ENDS, TFD_REDUCE_FINISH)
TFD_FLOAT_ROWS(REDUCERS, TFD_FLOAT_REDUCER)
