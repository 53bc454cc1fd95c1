/*
 * long_shape.h - kernels on shapes of more than TFD_RANK_MAX dimensions
 * (common/base/shape_long.h).
 *
 * Kernels see shapes of up to TFD_RANK_MAX dimensions, and stay as they are.
 * An execution with a longer one, or one that makes a longer one, goes through
 * tfd_long_compute() instead: by the op's row in long_shape.c it is brought to
 * the same computation on fewer dimensions (most ops see a few groups of
 * dimensions only), and its outputs get their true shapes.  An op without a
 * row is refused before its kernel sees anything.
 *
 * Variables: one that holds a long value was declared with a shape of as many
 * dimensions, so that whether it may be long is known without its lock.
 *
 * Threads: any.
 */
#ifndef TFD_KERNELS_LONG_SHAPE_H
#define TFD_KERNELS_LONG_SHAPE_H

#include "common/base/shape_long.h"
#include "kernels/core/kernel.h"

/* How an op may make a long shape of short ones. */
enum tfd_long_growth {
    TFD_GROWS_NEVER,
    TFD_GROWS_BY_ONE,     /* input 0 has one dimension less than the output */
    TFD_GROWS_BY_INDICES, /* the dimensions of input 1 stand for one of 0's */
    TFD_GROWS_BY_SIZES_0, /* input 0 says the output's dimensions */
    TFD_GROWS_BY_SIZES_1, /* input 1 does */
};

/* True when the shape function must not see what has come: outputs are set then
 * as far as they are known without it. */
bool tfd_long_infer(struct tfd_shape_ctx *s, tfd_shape_fn *shape);

/* Asked once, where a graph is compiled. */
enum tfd_long_growth tfd_long_growth(struct tfd_str op);

/* True when this execution is one for tfd_long_compute().  Asked before every
 * kernel: while no shape is long, an op that does not grow costs two loads. */
bool tfd_long_asked(const struct tfd_kctx *k, enum tfd_long_growth growth);
static inline bool tfd_long_wanted(const struct tfd_kctx *k,
                                   enum tfd_long_growth growth)
{
    return (growth != TFD_GROWS_NEVER || tfd_shape_long_seen()) &&
           tfd_long_asked(k, growth);
}

/* In the place of the kernel's own compute().  UNIMPLEMENTED or TensorFlow's
 * refusal where the op takes no long shape. */
enum tfd_code tfd_long_compute(struct tfd_kctx *k,
                               struct tfd_status *st) TFD_MUST_USE;

/* TFD_OK for ops that pass values on without looking at their shapes, and for
 * all others while no input is long: their kernels may run as they are. */
enum tfd_code tfd_long_admit(struct tfd_kctx *k,
                             struct tfd_status *st) TFD_MUST_USE;

/* Called with a variable that was declared long. */
enum tfd_code tfd_long_admit_variable(const struct tfd_kctx *k,
                                      struct tfd_status *st) TFD_MUST_USE;

#endif
