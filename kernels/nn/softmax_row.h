/*
 * softmax_row.h - what Softmax, LogSoftmax and the cross entropies do with one
 * row: its largest element, and the sum of exp(x - largest), which neither
 * overflows nor is ever 0.
 *
 * half and bfloat16 are computed in float; their exponentials are rounded when
 * they are stored, as TensorFlow's are.  All functions are inline so that they
 * are compiled for AVX2 where their caller is (simd.h).
 * Threads: any; there is no state.
 */
#ifndef TFD_KERNELS_SOFTMAX_ROW_H
#define TFD_KERNELS_SOFTMAX_ROW_H

#include "kernels/core/elementwise.h"
#include "kernels/vector/double_functions.h"

/* The softmax of rows of n numbers of bfloat16, which y may be (in
 * softmax_bfloat16.c).  False, and nothing is done: the processor rounds no
 * vectors to bfloat16, or rows are too short or long for that. */
#define TFD_SOFTMAX_BFLOAT16_MAX 4096
bool tfd_softmax_bfloat16(const uint16_t *x, int64_t n, int64_t rows,
                          uint16_t *y);

#define TFD_ROW_LANES 32

/* name, element type, type to compute in, to, from, exp, log */
#define TFD_ROW_DTYPES(X)                                            \
    TFD_ROW_WIDE_DTYPES(X)                                           \
    X(HALF, tfd_half, float, tfd_half_to_float, tfd_half_from_float, \
      tfd_row_exp, logf)                                             \
    X(BFLOAT16, tfd_bfloat16, float, tfd_bfloat16_to_float,          \
      tfd_bfloat16_from_float, tfd_row_exp, logf)
#define TFD_ROW_WIDE_DTYPES(X)                                            \
    X(FLOAT, float, float, TFD_ROW_SELF, TFD_ROW_SELF, tfd_row_exp, logf) \
    X(DOUBLE, double, double, TFD_ROW_SELF, TFD_ROW_SELF, tfd_double_exp, log)

#define TFD_ROW_SELF(v) (v)
#define TFD_ROW_INLINE static inline __attribute__((always_inline, unused))

/* e^x of x <= 0, or NaN; 0 where that is no normal number.  Quicker than
 * tfd_vector_exp. */
TFD_ROW_INLINE float tfd_row_exp(float x)
{
    const float lowest = -87.3365402f; /* log(2^-126) */
    float e = tfd_vector_exp_inside(x < lowest ? lowest : x);

    return x < lowest ? 0 : e;
}

/* y = tfd_row_exp(x - max) of n numbers, a constant, each step of all vectors
 * before the next: of a vector after the other, each a chain of 25 steps, a
 * processor has too few in flight. */
#define TFD_ROW_BLOCK 64
#define TFD_ROW_EACH(i) for (int i = 0; i < n; i++)
TFD_ROW_INLINE void tfd_row_exp_block(const float *x, const int n, float max,
                                      float *y)
{
    const float lowest = -87.3365402f; /* log(2^-126) */
    float v[TFD_ROW_BLOCK], s[TFD_ROW_BLOCK], r[TFD_ROW_BLOCK];
    float p[TFD_ROW_BLOCK], d[TFD_ROW_BLOCK];

    TFD_ROW_EACH(i) d[i] = x[i] - max;
    TFD_ROW_EACH(i) s[i] = d[i] * TFD_LOG2_E + TFD_ROUND_MAGIC;
    TFD_ROW_EACH(i) r[i] = s[i] - TFD_ROUND_MAGIC;
    TFD_ROW_EACH(i) v[i] = d[i] - r[i] * TFD_LN2_HIGH;
    TFD_ROW_EACH(i) r[i] = v[i] - r[i] * TFD_LN2_LOW;
    TFD_ROW_EACH(i) p[i] = 1.9875691500e-4f * r[i] + 1.3981999507e-3f;
    TFD_ROW_EACH(i) p[i] = p[i] * r[i] + 8.3334519073e-3f;
    TFD_ROW_EACH(i) p[i] = p[i] * r[i] + 4.1665795894e-2f;
    TFD_ROW_EACH(i) p[i] = p[i] * r[i] + 1.6666665459e-1f;
    TFD_ROW_EACH(i) p[i] = p[i] * r[i] + 5.0000001201e-1f;
    TFD_ROW_EACH(i) p[i] = p[i] * r[i] * r[i] + r[i] + 1.0f;
    TFD_ROW_EACH(i)
    {
        /* 2^by, where by has the eight bits for it. */
        const uint32_t by = tfd_half_float_bits(s[i]) - 0x4b400000u;
        const float e = p[i] * tfd_half_float_of((by + 127) << 23);

        y[i] = d[i] < lowest ? 0 : e;
    }
}

/* y, which is not x, = exp(x - max).  The last block, of half as many where
 * that is enough, may overlap the one before. */
TFD_ROW_INLINE void tfd_row_exps(const float *x, int64_t n, float max, float *y)
{
    const int half = TFD_ROW_BLOCK / 2;
    const int64_t last = n - TFD_ROW_BLOCK, end = n - half;
    int64_t i = 0;

    if (last < 0) {
        for (; i < n; i++)
            y[i] = tfd_row_exp(x[i] - max);
        return;
    }
    for (; i <= last; i += TFD_ROW_BLOCK)
        tfd_row_exp_block(x + i, TFD_ROW_BLOCK, max, y + i);
    if (i < end)
        tfd_row_exp_block(x + last, TFD_ROW_BLOCK, max, y + last);
    else if (i < n)
        tfd_row_exp_block(x + end, half, max, y + end);
}

/* Here y may be x. */
TFD_ROW_INLINE void tfd_double_exps(const double *x, int64_t n, double max,
                                    double *y)
{
    for (int64_t i = 0; i < n; i++)
        y[i] = tfd_double_exp(x[i] - max);
}

#define TFD_ROW_LARGER(a, b) ((b) > (a) ? (b) : (a))

/* Of vectors: a += b, and a = TFD_ROW_LARGER(a, b). */
#define TFD_ROW_ADD(a, b) ((a) += (b))
#define TFD_ROW_RAISE(a, b)                                 \
    do {                                                    \
        const __typeof__((b) > (a)) is = (b) > (a);         \
                                                            \
        (a) = (__typeof__(a))(((__typeof__(is))(b)&is) |    \
                              ((__typeof__(is))(a) & ~is)); \
    } while (0)

/* Of the first vector at `from` of that size, joined with the next. */
#define TFD_ROW_HALVE(from, to, join)                               \
    do {                                                            \
        __typeof__(to) upper;                                       \
                                                                    \
        __builtin_memcpy(&(to), (from), sizeof(to));                \
        __builtin_memcpy(&upper, (const char *)(from) + sizeof(to), \
                         sizeof(to));                               \
        join(to, upper);                                            \
    } while (0)

/* Folds TFD_ROW_LANES lanes in halves.  They are vectors by their type: of
 * loops over lanes the compiler makes one element after the other. */
#define TFD_ROW_FOLD(name, F, join)                               \
    TFD_ROW_INLINE F name(const F *lane)                          \
    {                                                             \
        typedef F v8 __attribute__((vector_size(sizeof(F) * 8))); \
        F c __attribute__((vector_size(sizeof(F) * 4)));          \
        F d __attribute__((vector_size(sizeof(F) * 2)));          \
        F e __attribute__((vector_size(sizeof(F))));              \
        v8 b[4];                                                  \
                                                                  \
        __builtin_memcpy(b, lane, sizeof(b));                     \
        join(b[0], b[2]);                                         \
        join(b[1], b[3]);                                         \
        join(b[0], b[1]);                                         \
        TFD_ROW_HALVE(&b[0], c, join);                            \
        TFD_ROW_HALVE(&c, d, join);                               \
        TFD_ROW_HALVE(&d, e, join);                               \
        return e[0];                                              \
    }

static_assert(TFD_ROW_LANES == 32, "four vectors of eight");

/* step is 0 where one element stands for the whole row.  Lanes are folded in
 * halves. */
#define TFD_ROW_FUNCTIONS(name, T, F, to, from, exp_, log_)                 \
    TFD_ROW_FOLD(row_fold_max_##name, F, TFD_ROW_RAISE)                     \
    TFD_ROW_FOLD(row_fold_sum_##name, F, TFD_ROW_ADD)                       \
                                                                            \
    TFD_ROW_INLINE F row_max_##name(const T *x, int64_t step, int64_t n)    \
    {                                                                       \
        const int64_t last = n - TFD_ROW_LANES;                             \
        F lane[TFD_ROW_LANES], max = to(x[0]);                              \
                                                                            \
        if (step && last >= 0) {                                            \
            for (int l = 0; l < TFD_ROW_LANES; l++)                         \
                lane[l] = max;                                              \
            for (int64_t i = 0, more = 1; more;                             \
                 i = i + TFD_ROW_LANES < last ? i + TFD_ROW_LANES : last) { \
                for (int l = 0; l < TFD_ROW_LANES; l++)                     \
                    lane[l] = TFD_ROW_LARGER(lane[l], to(x[i + l]));        \
                more = i < last;                                            \
            }                                                               \
            return row_fold_max_##name(lane);                               \
        }                                                                   \
        for (int64_t i = 0; i < n; i++)                                     \
            max = TFD_ROW_LARGER(max, to(x[i * step]));                     \
        return max;                                                         \
    }                                                                       \
                                                                            \
    /* The sum of y. */                                                     \
    TFD_ROW_INLINE F row_sum_##name(const T *y, int64_t n)                  \
    {                                                                       \
        F lane[TFD_ROW_LANES] = {0}, sum = 0;                               \
        int64_t i = 0;                                                      \
                                                                            \
        for (; i + TFD_ROW_LANES <= n; i += TFD_ROW_LANES)                  \
            for (int l = 0; l < TFD_ROW_LANES; l++)                         \
                lane[l] += to(y[i + l]);                                    \
        if (i > 0) {                                                        \
            sum = row_fold_sum_##name(lane);                                \
        }                                                                   \
        for (; i < n; i++)                                                  \
            sum += to(y[i]);                                                \
        return sum;                                                         \
    }                                                                       \
                                                                            \
    /* y = exp(x - max), which it may overwrite; the sum of that. */        \
    TFD_ROW_INLINE F row_exp_##name(const T *x, int64_t step, int64_t n,    \
                                    F max, T *y)                            \
    {                                                                       \
        F lane[TFD_ROW_LANES] = {0}, sum = 0;                               \
        int64_t i = 0;                                                      \
                                                                            \
        for (; step && i + TFD_ROW_LANES <= n; i += TFD_ROW_LANES)          \
            for (int l = 0; l < TFD_ROW_LANES; l++) {                       \
                F e = exp_(to(x[i + l]) - max);                             \
                                                                            \
                y[i + l] = from(e);                                         \
                lane[l] += e;                                               \
            }                                                               \
        if (i > 0) {                                                        \
            sum = row_fold_sum_##name(lane);                                \
        }                                                                   \
        for (; i < n; i++) {                                                \
            F e = exp_(to(x[i * step]) - max);                              \
                                                                            \
            y[i] = from(e);                                                 \
            sum += e;                                                       \
        }                                                                   \
        return sum;                                                         \
    }

#endif
