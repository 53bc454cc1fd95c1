/*
 * fft_lines.h - transforms all lines of an array along one axis.
 *
 * An array here has TFD_FFT_AXES axes, of which the first is everything before
 * the transformed ones.  Input and output have strides of their own, so that
 * what is cut off is not copied, and may be the same memory.
 *
 * Elements of single precision are transformed in it, as TensorFlow does, but
 * for lengths that are convolved, which would lose digits, and lines alone that
 * are done number by number, which would win nothing.
 *
 * Threads: any; the work is split over the pool.
 */
#ifndef TFD_KERNELS_SIGNAL_FFT_LINES_H
#define TFD_KERNELS_SIGNAL_FFT_LINES_H

#include "kernels/core/kernel.h"
#include "kernels/signal/fft_lanes.h"

#define TFD_FFT_AXES 4

struct tfd_fft_side {
    void *data;
    int64_t stride[TFD_FFT_AXES]; /* in elements */
    enum tfd_fft_kind kind;
};

/* An array of such sizes that lies in a row. */
struct tfd_fft_side tfd_fft_side(void *data, const int64_t *size,
                                 enum tfd_fft_kind kind);

struct tfd_fft_lines {
    struct tfd_fft_side from, to;
    int64_t count[TFD_FFT_AXES]; /* lines side by side; not asked of `axis` */
    int axis;
    int64_t length;
    bool inverse; /* divided by the length, too */
    bool is_double;
};

enum tfd_code tfd_fft_lines_run(struct tfd_kctx *k,
                                const struct tfd_fft_lines *lines,
                                struct tfd_status *st) TFD_MUST_USE;

#endif
