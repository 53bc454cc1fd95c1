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
#include <immintrin.h>
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
    /* All of its bits are set where one of two is. */         \
    TFD_FOLD_INLINE T nan_##T(T extreme, int one, int two)     \
    {                                                          \
        U bits;                                                \
                                                               \
        memcpy(&bits, &extreme, sizeof(bits));                 \
        bits |= one ? ~(U)0 : 0;                               \
        bits |= two ? ~(U)0 : 0;                               \
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

/* ---- Vectors ------------------------------------------------------------- */

/* Lane i of a line of 64 bytes is folded with lanes i of other lines, whether
 * a processor holds a line in one vector or in four: the same zero, of two with
 * different signs, comes out. */
#define LINE_BYTES 64
#define LANES(T) ((int64_t)(LINE_BYTES / sizeof(T)))

/* So many elements come from afar, where the processor's own prefetcher does
 * not see far enough ahead: what lies so many bytes further is asked for. */
#define FAR_COUNT 16384
#define AHEAD 2048

#define DEFINE_WIDTH(width)                                          \
    typedef float float_##width __attribute__((vector_size(width))); \
    typedef double double_##width __attribute__((vector_size(width)));

DEFINE_WIDTH(16)

/* a where it comes before b, else b: what these instructions do, which no
 * compiler makes of the general way. */
#if defined(__x86_64__)
DEFINE_WIDTH(32)
DEFINE_WIDTH(64)
#define TARGET_16
#define TARGET_32 __attribute__((target("avx2")))
#define TARGET_64 __attribute__((target(TFD_SIMD_AVX512)))
#define ABOVE_float_16(a, b) _mm_max_ps(a, b)
#define BELOW_float_16(a, b) _mm_min_ps(a, b)
#define ABOVE_double_16(a, b) _mm_max_pd(a, b)
#define BELOW_double_16(a, b) _mm_min_pd(a, b)
#define ABOVE_float_32(a, b) _mm256_max_ps(a, b)
#define BELOW_float_32(a, b) _mm256_min_ps(a, b)
#define ABOVE_double_32(a, b) _mm256_max_pd(a, b)
#define BELOW_double_32(a, b) _mm256_min_pd(a, b)
#define ABOVE_float_64(a, b) _mm512_max_ps(a, b)
#define BELOW_float_64(a, b) _mm512_min_ps(a, b)
#define ABOVE_double_64(a, b) _mm512_max_pd(a, b)
#define BELOW_double_64(a, b) _mm512_min_pd(a, b)
#else
#define TARGET_16
#define CHOOSE(T, which, a, b) \
    ((vector_##T)(((which) & (mask_##T)(a)) | (~(which) & (mask_##T)(b))))
#define ABOVE_float_16(a, b) CHOOSE(float, (a) > (b), a, b)
#define BELOW_float_16(a, b) CHOOSE(float, (a) < (b), a, b)
#define ABOVE_double_16(a, b) CHOOSE(double, (a) > (b), a, b)
#define BELOW_double_16(a, b) CHOOSE(double, (a) < (b), a, b)
#endif

/* Lines from x to stop, and the one that ends at `end` where that is not stop,
 * folded into one, and one of sums; NaN may be lost, but not from the sums.  Of
 * two lines the first is chosen before the two meet what was folded, and two
 * lines of what was folded take turns: so none waits for the one before. */
#define EXTREME_LINES(id, T, OF, size)                                        \
    TARGET_##size static inline void lines_##id##_##size(                     \
        const T *x, const T *stop, const T *end, T *restrict most,            \
        T *restrict sum)                                                      \
    {                                                                         \
        enum { PER = size / sizeof(T), COUNT = LINE_BYTES / size };           \
        T##_##size best[2 * COUNT], sums[2 * COUNT], a, b;                    \
        const bool far = stop - x >= FAR_COUNT;                               \
                                                                              \
        for (int i = 0; i < COUNT; i++) {                                     \
            memcpy(&a, x + i * PER, sizeof(a));                               \
            best[i] = best[COUNT + i] = sums[i] = sums[COUNT + i] = a;        \
        }                                                                     \
        for (x += LANES(T); stop - x >= 4 * LANES(T); x += 4 * LANES(T)) {    \
            for (int i = 0; far && i < 4; i++)                                \
                __builtin_prefetch((const char *)x + AHEAD + LINE_BYTES * i); \
            for (int i = 0; i < 2 * COUNT; i++) {                             \
                memcpy(&a, x + i * PER, sizeof(a));                           \
                memcpy(&b, x + 2 * LANES(T) + i * PER, sizeof(b));            \
                sums[i] += a + b;                                             \
                a = OF##_##T##_##size(b, a);                                  \
                best[i] = OF##_##T##_##size(a, best[i]);                      \
            }                                                                 \
        }                                                                     \
        for (; x < end; x += LANES(T)) {                                      \
            const T *line = x < stop ? x : end - LANES(T);                    \
                                                                              \
            for (int i = 0; i < COUNT; i++) {                                 \
                memcpy(&a, line + i * PER, sizeof(a));                        \
                sums[i] += a;                                                 \
                best[i] = OF##_##T##_##size(a, best[i]);                      \
            }                                                                 \
        }                                                                     \
        for (int i = 0; i < COUNT; i++) {                                     \
            sums[i] += sums[COUNT + i];                                       \
            best[i] = OF##_##T##_##size(best[COUNT + i], best[i]);            \
        }                                                                     \
        memcpy(most, best, LINE_BYTES);                                       \
        memcpy(sum, sums, LINE_BYTES);                                        \
    }

#if defined(__x86_64__)
#define LINES_BY(id, x, stop, end, most, sum, size)   \
    do {                                              \
        if ((size) == 64)                             \
            lines_##id##_64(x, stop, end, most, sum); \
        else if ((size) == 32)                        \
            lines_##id##_32(x, stop, end, most, sum); \
        else                                          \
            lines_##id##_16(x, stop, end, most, sum); \
    } while (0)
#else
#define LINES_BY(id, x, stop, end, most, sum, size) \
    ((void)(size), lines_##id##_16(x, stop, end, most, sum))
#endif

/* ---- Loops --------------------------------------------------------------- */

/* Lanes of a vector of 16 bytes in front; of doubles there are but two. */
#define LAST_TWO_float(v) __builtin_shufflevector(v, v, 2, 3, 2, 3)
#define LAST_TWO_double(v) (v)
#define SECOND_float(v) __builtin_shufflevector(v, v, 1, 1, 1, 1)
#define SECOND_double(v) __builtin_shufflevector(v, v, 1, 1)

/* OF: whether a comes before b. */
#define EXTREME_RUN(id, T, OF, FIRST)                                     \
    static const T first_of_##id = FIRST;                                 \
    TFD_FOLD_INLINE T join_##id(T acc, T x)                               \
    {                                                                     \
        return sticky_##T(acc, OF(acc, x) ? acc : x);                     \
    }                                                                     \
                                                                          \
    TFD_FOLD_INLINE T short_##id(const T *x, int64_t n)                   \
    {                                                                     \
        T one = (FIRST);                                                  \
                                                                          \
        for (int64_t i = 0; i < n; i++)                                   \
            one = join_##id(one, x[i]);                                   \
        return one;                                                       \
    }                                                                     \
                                                                          \
    TFD_FOLD_INLINE T steps_##id(const T *x, int64_t n, T *sum, int size) \
    {                                                                     \
        const T *stop = x + n / LANES(T) * LANES(T);                      \
        T best[LANES(T)], sums[LANES(T)];                                 \
        vector_##T most[4], in[4];                                        \
                                                                          \
        LINES_BY(id, x, stop, x + n, best, sums, size);                   \
        memcpy(most, best, sizeof(most));                                 \
        memcpy(in, sums, sizeof(in));                                     \
        most[0] = OF##_##T##_16(most[0], most[1]);                        \
        most[2] = OF##_##T##_16(most[2], most[3]);                        \
        most[0] = OF##_##T##_16(most[0], most[2]);                        \
        in[0] += in[1] + (in[2] + in[3]);                                 \
        most[0] = OF##_##T##_16(LAST_TWO_##T(most[0]), most[0]);          \
        most[0] = OF##_##T##_16(SECOND_##T(most[0]), most[0]);            \
        in[0] += LAST_TWO_##T(in[0]);                                     \
        *sum = in[0][0] + in[0][1];                                       \
        return most[0][0];                                                \
    }                                                                     \
                                                                          \
    TFD_FOLD_INLINE T long_##id(const T *x, int64_t n, int size)          \
    {                                                                     \
        T one, sum;                                                       \
                                                                          \
        if (n < LANES(T))                                                 \
            return short_##id(x, n);                                      \
        one = steps_##id(x, n, &sum, size);                               \
        /* Opposite infinities have no sum, either. */                    \
        return sum != sum && has_nan_##T(x, x + n) ? (T)NAN : one;        \
    }                                                                     \
                                                                          \
    TFD_WIDTH_LOOP(run_##id)                                              \
    {                                                                     \
        const struct tfd_fold *f = arg;                                   \
        T *acc = f->acc;                                                  \
                                                                          \
        *acc = join_##id(                                                 \
            *acc, long_##id((const T *)f->x + begin, end - begin, size)); \
    }                                                                     \
    TFD_WIDTH_CLONES(run_##id)

/* Of four elements, s apart, two are looked at for NaN at once. */
#define EXTREME_COLUMNS(id, T, OF, FIRST)                             \
    TFD_FOLD_INLINE T four_##id(const T *x, int64_t s)                \
    {                                                                 \
        const T a = x[0], b = x[s], c = x[2 * s], d = x[3 * s];       \
        const T e = OF(a, b) ? a : b, f = OF(c, d) ? c : d;           \
                                                                      \
        return nan_##T(OF(e, f) ? e : f, __builtin_isunordered(a, b), \
                       __builtin_isunordered(c, d));                  \
    }                                                                 \
                                                                      \
    TFD_SIMD_LOOP(columns_##id)                                       \
    {                                                                 \
        const struct tfd_fold *f = arg;                               \
        const int64_t s = f->stride;                                  \
        const T *restrict x = f->x;                                   \
        T *restrict acc = f->acc;                                     \
        int64_t r = 0;                                                \
                                                                      \
        for (; f->rows - r >= 4; r += 4, x += 4 * s)                  \
            for (int64_t j = begin; j < end; j++)                     \
                acc[j] = join_##id(acc[j], four_##id(x + j, s));      \
        for (; r < f->rows; r++, x += s)                              \
            for (int64_t j = begin; j < end; j++)                     \
                acc[j] = join_##id(acc[j], x[j]);                     \
    }                                                                 \
    TFD_SIMD_CLONES(columns_##id)

/* ---- What there is ------------------------------------------------------- */

#define EXTREMES(X, name, T)           \
    X(max_##name, T, ABOVE, -INFINITY) \
    X(min_##name, T, BELOW, INFINITY)
#define LINES_16(X, name, T)    \
    X(max_##name, T, ABOVE, 16) \
    X(min_##name, T, BELOW, 16)
#define LINES_32(X, name, T)    \
    X(max_##name, T, ABOVE, 32) \
    X(min_##name, T, BELOW, 32)
#define LINES_64(X, name, T)    \
    X(max_##name, T, ABOVE, 64) \
    X(min_##name, T, BELOW, 64)
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

TFD_FLOAT_ROWS(LINES_16, EXTREME_LINES)
#if defined(__x86_64__)
TFD_FLOAT_ROWS(LINES_32, EXTREME_LINES)
TFD_FLOAT_ROWS(LINES_64, EXTREME_LINES)
#endif
TFD_FLOAT_ROWS(EXTREMES, EXTREME_RUN)
TFD_FLOAT_ROWS(EXTREMES, EXTREME_COLUMNS)
TFD_FLOAT_ROWS(SLABS, TFD_FOLD_SLAB)
TFD_FLOAT_ROWS(OUTPUTS, TFD_FOLD_ROWS)
TFD_FLOAT_ROWS(OUTPUTS, TFD_FOLD_SLABS)
TFD_FLOAT_ROWS(MERGES, TFD_REDUCE_MERGE)
TFD_FLOAT_ROWS(ENDS, TFD_REDUCE_FINISH)
TFD_FLOAT_ROWS(REDUCERS, TFD_FLOAT_REDUCER)
