/*
 * softmax_row.h - what Softmax, LogSoftmax and the cross entropies do with one
 * row: its largest element, and the sum of exp(x - largest), which neither
 * overflows nor is ever 0.
 *
 * half and bfloat16 are computed in float; their exponentials are rounded when
 * they are stored, as TensorFlow's are.  All functions are inline so that they
 * are compiled for AVX2 where their caller is (simd.h).  Threads: pure.
 */
#ifndef TFD_KERNELS_SOFTMAX_ROW_H
#define TFD_KERNELS_SOFTMAX_ROW_H

#include "kernels/elementwise.h"
#include "kernels/vector_math.h"

#define TFD_ROW_LANES 32

/* name, element type, type to compute in, to, from, exp, log */
#define TFD_ROW_DTYPES(X)                                                    \
    X(FLOAT, float, float, TFD_ROW_SELF, TFD_ROW_SELF, tfd_vector_exp, logf) \
    X(DOUBLE, double, double, TFD_ROW_SELF, TFD_ROW_SELF, exp, log)          \
    X(HALF, tfd_half, float, tfd_half_to_float, tfd_half_from_float,         \
      tfd_vector_exp, logf)                                                  \
    X(BFLOAT16, tfd_bfloat16, float, tfd_bfloat16_to_float,                  \
      tfd_bfloat16_from_float, tfd_vector_exp, logf)

#define TFD_ROW_SELF(v) (v)
#define TFD_ROW_INLINE static inline __attribute__((always_inline))

/* step is 0 where one element stands for the whole row. */
#define TFD_ROW_FUNCTIONS(name, T, F, to, from, exp_, log_)              \
    TFD_ROW_INLINE F row_max_##name(const T *x, int64_t step, int64_t n) \
    {                                                                    \
        F lane[TFD_ROW_LANES], max = to(x[0]);                           \
        int64_t i = 0;                                                   \
                                                                         \
        if (step && n >= 2 * TFD_ROW_LANES) {                            \
            for (int l = 0; l < TFD_ROW_LANES; l++)                      \
                lane[l] = max;                                           \
            for (; i + TFD_ROW_LANES <= n; i += TFD_ROW_LANES)           \
                for (int l = 0; l < TFD_ROW_LANES; l++) {                \
                    F v = to(x[i + l]);                                  \
                                                                         \
                    lane[l] = v > lane[l] ? v : lane[l];                 \
                }                                                        \
            for (int l = 0; l < TFD_ROW_LANES; l++)                      \
                max = lane[l] > max ? lane[l] : max;                     \
        }                                                                \
        for (; i < n; i++)                                               \
            max = to(x[i * step]) > max ? to(x[i * step]) : max;         \
        return max;                                                      \
    }                                                                    \
                                                                         \
    /* y = exp(x - max), which it may overwrite; the sum of that. */     \
    TFD_ROW_INLINE F row_exp_##name(const T *x, int64_t step, int64_t n, \
                                    F max, T *y)                         \
    {                                                                    \
        F lane[TFD_ROW_LANES], sum = 0;                                  \
        int64_t i = 0;                                                   \
                                                                         \
        if (step && n >= TFD_ROW_LANES) {                                \
            for (int l = 0; l < TFD_ROW_LANES; l++)                      \
                lane[l] = 0;                                             \
            for (; i + TFD_ROW_LANES <= n; i += TFD_ROW_LANES)           \
                for (int l = 0; l < TFD_ROW_LANES; l++) {                \
                    F e = exp_(to(x[i + l]) - max);                      \
                                                                         \
                    y[i + l] = from(e);                                  \
                    lane[l] += e;                                        \
                }                                                        \
            for (int width = TFD_ROW_LANES / 2; width; width /= 2)       \
                for (int l = 0; l < width; l++)                          \
                    lane[l] += lane[l + width];                          \
            sum = lane[0];                                               \
        }                                                                \
        for (; i < n; i++) {                                             \
            F e = exp_(to(x[i * step]) - max);                           \
                                                                         \
            y[i] = from(e);                                              \
            sum += e;                                                    \
        }                                                                \
        return sum;                                                      \
    }

#endif
