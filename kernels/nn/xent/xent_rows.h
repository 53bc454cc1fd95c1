/*
 * xent_rows.h - rows of a cross entropy, as xent.c has its loops run over them,
 * and the loops of half and bfloat16.
 *
 * Threads: loops run on several threads at once, on separate rows.
 */
#ifndef TFD_KERNELS_XENT_ROWS_H
#define TFD_KERNELS_XENT_ROWS_H

#include "kernels/nn/softmax_row.h"

struct tfd_xent_rows {
    const void *x;      /* logits */
    const void *labels; /* dense; or int32, int64 */
    void *loss, *backprop;
    int64_t size;                    /* classes */
    int64_t x_row, x_step;           /* distance of rows and of classes; 0: */
    int64_t labels_row, labels_step; /* repeated */
    bool wide_labels;                /* int64 */
    enum tfd_dtype dtype;            /* of logits */
};

static inline int64_t tfd_xent_label(const struct tfd_xent_rows *rows,
                                     int64_t row)
{
    if (rows->wide_labels)
        return ((const int64_t *)rows->labels)[row];
    return ((const int32_t *)rows->labels)[row];
}

/* Loops over rows, which are a struct tfd_xent_rows: HALF or BFLOAT16.  Of
 * sparse labels all are known to be classes. */
void tfd_xent_dense_halves(void *arg, int64_t begin, int64_t end);
void tfd_xent_sparse_halves(void *arg, int64_t begin, int64_t end);

#define TFD_XENT_LANES 8

/* sum(labels) and sum(labels * (x - max)). */
#define TFD_XENT_SUMS(name, T, F, to, from, exp_, log_)                     \
    TFD_ROW_INLINE F xent_sums_##name(const T *x, int64_t x_step, F max,    \
                                      const T *labels, int64_t labels_step, \
                                      int64_t n, F *weight)                 \
    {                                                                       \
        F dot[TFD_XENT_LANES] = {0}, sum[TFD_XENT_LANES] = {0};             \
        int64_t i = 0;                                                      \
                                                                            \
        for (; i + TFD_XENT_LANES <= n; i += TFD_XENT_LANES)                \
            for (int l = 0; l < TFD_XENT_LANES; l++) {                      \
                const F label = to(labels[(i + l) * labels_step]);          \
                                                                            \
                sum[l] += label;                                            \
                dot[l] += label * (to(x[(i + l) * x_step]) - max);          \
            }                                                               \
        for (; i < n; i++) {                                                \
            const F label = to(labels[i * labels_step]);                    \
                                                                            \
            sum[0] += label;                                                \
            dot[0] += label * (to(x[i * x_step]) - max);                    \
        }                                                                   \
        for (int l = 1; l < TFD_XENT_LANES; l++) {                          \
            sum[0] += sum[l];                                               \
            dot[0] += dot[l];                                               \
        }                                                                   \
        *weight = sum[0];                                                   \
        return dot[0];                                                      \
    }

#endif
