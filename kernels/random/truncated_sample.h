/*
 * truncated_sample.h - samples of a normal distribution that has a mean, a
 * deviation and bounds of its own, one of which may be infinite.
 *
 * Bit for bit what TensorFlow draws from the same stream on one thread: it
 * cuts a long output into as many streams as its threads make of it.
 *
 * Threads: any.
 */
#ifndef TFD_KERNELS_TRUNCATED_SAMPLE_H
#define TFD_KERNELS_TRUNCATED_SAMPLE_H

#include "common/base/status.h"
#include "common/base/tensor.h"
#include "kernels/core/kernel.h"
#include "kernels/random/philox_lanes.h"

/* Of these HALF, FLOAT and DOUBLE; numbers of the type. */
struct tfd_truncated {
    double mean, deviation, low, high;
};

/* Where samples go: `left` elements of `out`, from `at` on, `step` apart. */
struct tfd_truncated_place {
    struct tfd_tensor *out;
    int64_t at, step, left;
};

/* Blocks of a stream, made many at a time. */
struct tfd_truncated_stream {
    struct tfd_philox g; /* at the first block that is not made */
    int at;              /* the first one that is not drawn */
    int known;           /* what is in `floats`, as truncated_sample.c says */
    struct tfd_philox_lanes blocks;
    float floats[4][TFD_PHILOX_LANES];
};

void tfd_truncated_begin(struct tfd_truncated_stream *s,
                         const struct tfd_philox *g);

/* Draws whole blocks.  INVALID_ARGUMENT for parameters that have no
 * distribution, INTERNAL where too many proposals are refused in a row; a
 * halted thread (common/thread/halt.h) leaves samples out. */
enum tfd_code tfd_truncated_draw(const struct tfd_truncated *parameters,
                                 struct tfd_truncated_stream *stream,
                                 struct tfd_truncated_place place,
                                 struct tfd_status *st) TFD_MUST_USE;
/* All of `out`, by all threads, in runs of `run` samples, of which the last may
 * be shorter; each begins with a block of its own of the stream g. */
enum tfd_code tfd_truncated_draw_all(struct tfd_kctx *k,
                                     const struct tfd_truncated *parameters,
                                     const struct tfd_philox *g,
                                     struct tfd_tensor *out, int64_t run,
                                     struct tfd_status *st) TFD_MUST_USE;

#endif
