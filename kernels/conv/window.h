/*
 * window.h - windows that move over images: convolutions and pools.
 *
 * An image tensor has four dimensions, [batch, rows, columns, channels] (NHWC)
 * or [batch, channels, rows, columns] (NCHW).  Attributes that hold a number
 * per dimension (strides, dilations, ksize, explicit_paddings) have them in the
 * tensor's order; struct tfd_window has them by meaning.
 *
 * Sizes and paddings are TensorFlow's:
 *
 *     extent = (size - 1) * dilation + 1
 *     VALID     out = (in - extent + stride) / stride
 *     SAME      out = ceil(in / stride); what the last window lacks is split,
 *               the smaller half before the first element
 *     EXPLICIT  as VALID, over before + in + after
 *
 * Threads: any.
 */
#ifndef TFD_KERNELS_WINDOW_H
#define TFD_KERNELS_WINDOW_H

#include "kernels/core/kernel.h"

enum tfd_window_dim {
    TFD_WINDOW_BATCH,
    TFD_WINDOW_ROW,
    TFD_WINDOW_COLUMN,
    TFD_WINDOW_CHANNEL,
    TFD_WINDOW_DIMS
};

enum tfd_window_padding {
    TFD_WINDOW_VALID,
    TFD_WINDOW_SAME,
    TFD_WINDOW_EXPLICIT
};

struct tfd_window {
    enum tfd_window_padding padding;
    bool channels_second;            /* NCHW */
    const char *backward;            /* how errors name a gradient; or NULL */
    int64_t stride[TFD_WINDOW_DIMS]; /* > 0, as the others */
    int64_t dilation[TFD_WINDOW_DIMS];
    int64_t size[TFD_WINDOW_DIMS]; /* of a pool's window */
    int64_t before[TFD_WINDOW_DIMS], after[TFD_WINDOW_DIMS]; /* EXPLICIT */
};

/* One direction of the movement. */
struct tfd_window_side {
    int64_t in, out, size, stride, dilation, before;
};

/* From the attributes that the node has; the others are 1.  INVALID_ARGUMENT
 * for a list that has not four numbers, or one out of range. */
enum tfd_code tfd_window_read(const struct tfd_node *n, struct tfd_window *w,
                              struct tfd_status *st) TFD_MUST_USE;
/* The same numbers from a tensor of INT32, as MaxPoolV2 has them. */
enum tfd_code tfd_window_values(const struct tfd_tensor *t, const char *what,
                                const struct tfd_window *w, int64_t *out,
                                struct tfd_status *st) TFD_MUST_USE;

/* Where a dimension is in a tensor's shape. */
int tfd_window_at(const struct tfd_window *w, enum tfd_window_dim d);

/* INVALID_ARGUMENT where a tensor has not the shape that windows give it. */
enum tfd_code tfd_window_check_shape(const char *what,
                                     const struct tfd_shape *have,
                                     const struct tfd_shape *want,
                                     struct tfd_status *st) TFD_MUST_USE;

/* INVALID_ARGUMENT when no window fits. */
enum tfd_code tfd_window_side(const struct tfd_window *w, enum tfd_window_dim d,
                              int64_t in, int64_t size,
                              struct tfd_window_side *side,
                              struct tfd_status *st) TFD_MUST_USE;
/* The same for shape functions: unknown in, unknown out. */
enum tfd_code tfd_window_out(const struct tfd_window *w, enum tfd_window_dim d,
                             int64_t in, int64_t size, int64_t *out,
                             struct tfd_status *st) TFD_MUST_USE;

/* Windows [*first, *last) of size elements that lie inside the input when the
 * window stands at `at`. */
void tfd_window_inside(const struct tfd_window_side *side, int64_t at,
                       int64_t *first, int64_t *last);
/* Windows [*first, *last) that element `at` lies in; they have no dilation. */
void tfd_window_over(const struct tfd_window_side *side, int64_t at,
                     int64_t *first, int64_t *last);

#endif
