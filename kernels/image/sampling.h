/*
 * sampling.h - the curves by which ScaleAndTranslate weighs pixels, and the
 * weights of a whole axis.
 *
 * Each pixel of the result is a sum of pixels [start, start + size) of the
 * image, as many for each of them, of which the last may have no weight; size
 * is that of the widest.  A gradient has the same form with the two sides
 * swapped.
 *
 * Weights are made to sum up to 1 in float, in TensorFlow's order.
 *
 * Threads: any; there is no state.
 */
#ifndef TFD_KERNELS_SAMPLING_H
#define TFD_KERNELS_SAMPLING_H

#include "kernels/core/kernel.h"

/* The weight of a pixel at this distance, never below 0. */
typedef float tfd_sampling_fn(float distance);

struct tfd_sampling {
    const char *name;
    tfd_sampling_fn *weight;
    float radius; /* farther pixels have no weight */
};

/* NULL: there is no curve of this name. */
const struct tfd_sampling *tfd_sampling_named(struct tfd_str name);

struct tfd_spans {
    int64_t count; /* of results */
    int64_t size;
    const int32_t *starts; /* [count] */
    const float *weights;  /* [count, size] */
    struct tfd_tensor memory[2];
};

/* An axis of `in` pixels made one of `out`. */
struct tfd_sampling_axis {
    int64_t in, out;
    float scale, translation;
};

/* To be released; also after a failure, when *s was zeroed before. */
enum tfd_code tfd_spans_make(const struct tfd_kctx *k,
                             const struct tfd_sampling *curve, bool antialias,
                             const struct tfd_sampling_axis *axis,
                             struct tfd_spans *s,
                             struct tfd_status *st) TFD_MUST_USE;
/* Of an axis of `in` pixels whose spans these are: which results each of them
 * is a part of. */
enum tfd_code tfd_spans_swap(const struct tfd_kctx *k,
                             const struct tfd_spans *of, int64_t in,
                             struct tfd_spans *s,
                             struct tfd_status *st) TFD_MUST_USE;
void tfd_spans_release(struct tfd_spans *s);

#endif
