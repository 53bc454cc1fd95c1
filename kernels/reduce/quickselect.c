/*
 * quickselect.c - see quickselect.h.
 *
 * What is below a pivot and what is not above it is counted, in vectors, and
 * then only the side that is wanted is copied, without a branch: with AVX-512
 * by an instruction that moves the wanted lanes together.  (Into a register: to
 * memory it takes some hundred cycles on Zen 4.)
 */
#include "kernels/reduce/quickselect.h"

#include "common/base/entropy.h"
#include "common/base/min.h"
#include "common/thread/halt.h"
#include "kernels/vector/simd.h"

/* After so many a row may be one that is made to be slow to select from. */
#define ROUNDS 64
#define SAMPLE 16 /* elements, from which a pivot is taken */
/* Elements between two looks at whether the step has ended. */
#define SELECT_PIECE (1 << 20)

/* A number below `end` that whoever made the row cannot foresee. */
static int64_t any_of(uint64_t *random, int64_t end)
{
    if (*random == 0)
        *random = tfd_entropy_id();
    *random ^= *random << 13;
    *random ^= *random >> 7;
    *random ^= *random << 17;
    return (int64_t)(*random % (uint64_t)end);
}

#define QUICKSELECT static inline __attribute__((always_inline))

#if defined(__x86_64__) && !defined(TFD_SIMD_ALIKE)
#define HAS_LANES
#endif

/* Quickselect: what is below a pivot and what is not above it is counted, in
 * vectors, and then only the side that is wanted is copied, without a branch.
 * The pivot is the element of a sample whose place in it is like that of the
 * one looked for, and so exact where the sample is all there is. */
#define SELECT(name, T, C)                                                   \
    struct pivot_##name {                                                    \
        const T *x;                                                          \
        T pivot;                                                             \
        bool above; /* those are kept, else those below */                   \
        T *kept;                                                             \
        int64_t below, upto, count;                                          \
    };                                                                       \
    QUICKSELECT void count_##name(struct pivot_##name *s, int64_t begin,     \
                                  int64_t end)                               \
    {                                                                        \
        const T *x = s->x;                                                   \
        const T pivot = s->pivot;                                            \
        C below = 0, upto = 0;                                               \
                                                                             \
        for (int64_t i = begin; i < end; i++) {                              \
            below += x[i] < pivot;                                           \
            upto += !(pivot < x[i]);                                         \
        }                                                                    \
        s->below += below;                                                   \
        s->upto += upto;                                                     \
    }                                                                        \
    QUICKSELECT void keep_##name(struct pivot_##name *s, int64_t begin,      \
                                 int64_t end)                                \
    {                                                                        \
        const T pivot = s->pivot;                                            \
        T *to = s->kept + s->count;                                          \
                                                                             \
        if (s->above)                                                        \
            for (int64_t i = begin; i < end; i++) {                          \
                const T x = s->x[i];                                         \
                                                                             \
                *to = x;                                                     \
                to += pivot < x;                                             \
            }                                                                \
        else                                                                 \
            for (int64_t i = begin; i < end; i++) {                          \
                const T x = s->x[i];                                         \
                                                                             \
                *to = x;                                                     \
                to += x < pivot;                                             \
            }                                                                \
        s->count = to - s->kept;                                             \
    }                                                                        \
    /* Of a sample the last one that has at most n below it; what is missing \
     * is taken for the largest. */                                          \
    QUICKSELECT int choose_##name(T own[SAMPLE], int64_t count, int64_t n)   \
    {                                                                        \
        int best = 0, most = -1;                                             \
        T largest = own[0];                                                  \
                                                                             \
        for (int64_t i = 1; i < count; i++)                                  \
            largest = largest < own[i] ? own[i] : largest;                   \
        for (int64_t i = count; i < SAMPLE; i++)                             \
            own[i] = largest;                                                \
        _Pragma("GCC unroll 1") for (int i = 0; i < SAMPLE; i++)             \
        {                                                                    \
            C rank = 0;                                                      \
                                                                             \
            for (int j = 0; j < SAMPLE; j++)                                 \
                rank += own[j] < own[i];                                     \
            best = rank <= n && rank > most ? i : best;                      \
            most = rank <= n && rank > most ? (int)rank : most;              \
        }                                                                    \
        return best;                                                         \
    }                                                                        \
    typedef int choose_##name##_fn(T own[SAMPLE], int64_t count, int64_t n); \
    QUICKSELECT T pivot_of_##name(const T *x, int64_t length, int64_t n,     \
                                  choose_##name##_fn *choose)                \
    {                                                                        \
        const bool all = length <= SAMPLE;                                   \
        const int64_t step = all ? 1 : (length - 1) / (SAMPLE - 1);          \
        const int64_t count = all ? length : SAMPLE;                         \
        T own[SAMPLE] = {0};                                                 \
                                                                             \
        for (int64_t i = 0; i < count; i++)                                  \
            own[i] = x[step * i];                                            \
        return x[step * choose(own, count, all ? n : n * SAMPLE / length)];  \
    }                                                                        \
    /* `kept` has room for what is below or above any element. */            \
    QUICKSELECT T nth_of_##name(                                             \
        const T *x, int64_t length, int64_t n, T *kept,                      \
        choose_##name##_fn *choose,                                          \
        void (*keep)(struct pivot_##name *, int64_t, int64_t))               \
    {                                                                        \
        uint64_t random = 0;                                                 \
                                                                             \
        for (int round = 0;; round++) {                                      \
            const T pivot = round < ROUNDS || length <= SAMPLE               \
                                ? pivot_of_##name(x, length, n, choose)      \
                                : x[any_of(&random, length)];                \
            struct pivot_##name s = {.x = x, .pivot = pivot};                \
                                                                             \
            if (length <= SAMPLE || tfd_halted())                            \
                return pivot;                                                \
            for (int64_t i = 0; i < length; i += SELECT_PIECE)               \
                count_##name(&s, i, tfd_min(i + SELECT_PIECE, length));      \
            if (n >= s.below && n < s.upto)                                  \
                return pivot;                                                \
            s.above = n >= s.upto;                                           \
            s.kept = kept;                                                   \
            for (int64_t i = 0; i < length && !tfd_halted();                 \
                 i += SELECT_PIECE)                                          \
                keep(&s, i, tfd_min(i + SELECT_PIECE, length));              \
            n -= s.above ? s.upto : 0;                                       \
            length = s.above ? length - s.upto : s.below;                    \
            x = kept;                                                        \
        }                                                                    \
    }

/* The type, and a signed one of its size to count in. */
SELECT(FLOAT, float, int32_t)
SELECT(DOUBLE, double, int64_t)
SELECT(INT32, int32_t, int32_t)
SELECT(INT64, int64_t, int64_t)

/* ---- Lanes --------------------------------------------------------------- */

#ifdef HAS_LANES
#include <immintrin.h>

#define TFD_LANES_TARGET __attribute__((target(TFD_SIMD_AVX512)))

/* The lanes of x that are wanted, of those in `mask`, are moved to the front
 * and stored, all of them where `to` has room, as it has but at the end. */
#define KEEP_LANES(name, T, V, M, lanes, suffix, set, wanted)                  \
    TFD_LANES_TARGET static void keep_lanes_##name(struct pivot_##name *s,     \
                                                   int64_t begin, int64_t end) \
    {                                                                          \
        const V pivot = set(s->pivot);                                         \
        T *to = s->kept + s->count;                                            \
                                                                               \
        for (int64_t i = begin; i < end; i += (lanes)) {                       \
            const int64_t left = end - i;                                      \
            const M all = (M)(left < (lanes) ? (1u << left) - 1 : (M)-1);      \
            const V x = _mm512_maskz_loadu_##suffix(all, s->x + i);            \
            const M keep =                                                     \
                all & (s->above ? wanted(pivot, x) : wanted(x, pivot));        \
                                                                               \
            _mm512_mask_storeu_##suffix(                                       \
                to, all, _mm512_maskz_compress_##suffix(keep, x));             \
            to += __builtin_popcount(keep);                                    \
        }                                                                      \
        s->count = to - s->kept;                                               \
    }

/* As choose_...(): lanes of a sample that are missing are below none. */
#define CHOOSE_OF_LANES(name, T, V, M, lanes, suffix, set, below)    \
    TFD_LANES_TARGET QUICKSELECT int choose_lanes_##name(            \
        T own[SAMPLE], int64_t count, int64_t n)                     \
    {                                                                \
        const unsigned all = (1u << count) - 1;                      \
        int best = 0, most = -1;                                     \
        V x[SAMPLE / (lanes)];                                       \
                                                                     \
        for (int j = 0; j < SAMPLE / (lanes); j++)                   \
            x[j] = _mm512_loadu_##suffix(own + j * (lanes));         \
        for (int i = 0; i < (int)count; i++) {                       \
            const V one = set(own[i]);                               \
            int rank = 0;                                            \
                                                                     \
            for (int j = 0; j < SAMPLE / (lanes); j++)               \
                rank += __builtin_popcount((M)(all >> j * (lanes)) & \
                                           below(x[j], one));        \
            best = rank <= n && rank > most ? i : best;              \
            most = rank <= n && rank > most ? rank : most;           \
        }                                                            \
        return best;                                                 \
    }

#define BELOW_PS(a, b) _mm512_cmp_ps_mask(a, b, _CMP_LT_OQ)
#define BELOW_PD(a, b) _mm512_cmp_pd_mask(a, b, _CMP_LT_OQ)

#define TYPES_OF_LANES(X)                                                 \
    X(FLOAT, float, __m512, __mmask16, 16, ps, _mm512_set1_ps, BELOW_PS)  \
    X(DOUBLE, double, __m512d, __mmask8, 8, pd, _mm512_set1_pd, BELOW_PD) \
    X(INT32, int32_t, __m512i, __mmask16, 16, epi32, _mm512_set1_epi32,   \
      _mm512_cmplt_epi32_mask)                                            \
    X(INT64, int64_t, __m512i, __mmask8, 8, epi64, _mm512_set1_epi64,     \
      _mm512_cmplt_epi64_mask)
TYPES_OF_LANES(KEEP_LANES)
TYPES_OF_LANES(CHOOSE_OF_LANES)

#define CHOOSE_LANES(name, T)                                              \
    TFD_LANES_TARGET static T nth_lanes_##name(const T *x, int64_t length, \
                                               int64_t n, T *kept)         \
    {                                                                      \
        return nth_of_##name(x, length, n, kept, choose_lanes_##name,      \
                             keep_lanes_##name);                           \
    }
#define TRY_LANES(name)        \
    if (tfd_simd_has_avx512()) \
        return nth_lanes_##name(x, length, n, kept);
#define TRY_AVX2(name)                  \
    if (__builtin_cpu_supports("avx2")) \
        return nth_avx2_##name(x, length, n, kept);
#define CHOOSE_AVX2(name, T)                                                  \
    __attribute__((target("avx2"))) static T nth_avx2_##name(                 \
        const T *x, int64_t length, int64_t n, T *kept)                       \
    {                                                                         \
        return nth_of_##name(x, length, n, kept, choose_##name, keep_##name); \
    }
#else
#define CHOOSE_LANES(name, T)
#define CHOOSE_AVX2(name, T)
#define TRY_LANES(name)
#define TRY_AVX2(name)
#endif

#define CHOOSE(name, T)                                                       \
    CHOOSE_AVX2(name, T)                                                      \
    CHOOSE_LANES(name, T)                                                     \
                                                                              \
    T tfd_quickselect_##name(const T *x, int64_t length, int64_t n, T *kept)  \
    {                                                                         \
        TRY_LANES(name)                                                       \
        TRY_AVX2(name)                                                        \
        return nth_of_##name(x, length, n, kept, choose_##name, keep_##name); \
    }

CHOOSE(FLOAT, float)
CHOOSE(DOUBLE, double)
CHOOSE(INT32, int32_t)
CHOOSE(INT64, int64_t)
