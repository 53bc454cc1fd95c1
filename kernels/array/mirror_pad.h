/*
 * mirror_pad.h - makes the outputs of MirrorPad and its gradient, and computes
 * which element is mirrored into each place of the border, for the kernels of
 * all devices.
 *
 * Threads: any.
 */
#ifndef TFD_KERNELS_MIRROR_PAD_H
#define TFD_KERNELS_MIRROR_PAD_H

#include "common/base/device_code.h"
#include "kernels/array/pad.h"

#define TFD_MIRROR_PAD_RANK_MAX 5 /* TensorFlow's */

struct tfd_mirror_pad_state {
    int64_t edge; /* elements at the edge that are not repeated: 0 or 1 */
};
enum tfd_code tfd_mirror_pad_prepare(const struct tfd_prepare *p, void *state,
                                     struct tfd_status *st) TFD_MUST_USE;

/* MirrorPad: makes output 0.  *done: it is input 0, and complete. */
enum tfd_code tfd_mirror_pad_begin(struct tfd_kctx *k, struct tfd_pad *p,
                                   bool *done,
                                   struct tfd_status *st) TFD_MUST_USE;
/* MirrorPadGrad: makes output 0, the middle of input 0. */
enum tfd_code tfd_mirror_pad_grad_begin(struct tfd_kctx *k, struct tfd_pad *p,
                                        struct tfd_status *st) TFD_MUST_USE;

/* Element of the middle, which has n, that stands at place i of the whole. */
static inline TFD_DEVICE int64_t tfd_mirror_pad_source(int64_t i,
                                                       int64_t before,
                                                       int64_t n, int64_t edge)
{
    int64_t at = i - before;

    if (at < 0)
        return edge - 1 - at;
    return at < n ? at : 2 * n - 1 - edge - at;
}

#endif
