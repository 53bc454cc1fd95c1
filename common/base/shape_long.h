/*
 * shape_long.h - shapes of 9 to 254 dimensions, as long as TensorFlow's.
 *
 * Programs have them seldom, and every slot of a step holds a shape.  So a long
 * shape takes no more room than a short one: its dimensions are packed into the
 * 512 bits of dim[].  A dimension of 1 is one bit.  One of n over 1 is two bits
 * and the Elias gamma code of n - 1.  0 and unknown are three bits each.  As
 * the product of the dimensions over 1 fits 63 bits, all shapes without zeros
 * fit, and those with up to 80 dimensions that are zero or unknown.
 *
 * Threads: any; all calls share what tfd_shape_long_seen() tells.
 */
#ifndef TFD_COMMON_SHAPE_LONG_H
#define TFD_COMMON_SHAPE_LONG_H

#include "common/base/atomic.h"
#include "common/base/tensor.h"

/* TensorShape::MaxDimensions() of TensorFlow. */
#define TFD_RANK_LONG_MAX 254

static inline bool tfd_shape_is_long(const struct tfd_shape *s)
{
    return s->rank > TFD_RANK_MAX;
}

/* False until this process has made its first long shape. */
extern bool tfd_shape_long_made; /* by tfd_shape_pack() */
static inline bool tfd_shape_long_seen(void)
{
    return TFD_LOAD_RELAXED(&tfd_shape_long_made);
}

/* As tfd_shape_make() and tfd_shape_make_partial(), of up to TFD_RANK_LONG_MAX
 * dimensions.  For those who know that dim[] may be packed then. */
enum tfd_code tfd_shape_make_any(struct tfd_shape *out, const int64_t *dim,
                                 int rank, struct tfd_status *st) TFD_MUST_USE;
enum tfd_code tfd_shape_make_any_partial(struct tfd_shape *out,
                                         const int64_t *dim, int rank,
                                         struct tfd_status *st) TFD_MUST_USE;

/* All dimensions of any shape of known rank; dim has TFD_RANK_LONG_MAX. */
void tfd_shape_dims(const struct tfd_shape *s, int64_t *dim);

/* For shape.c: rank is over TFD_RANK_MAX, and the dimensions are checked. */
enum tfd_code tfd_shape_pack(struct tfd_shape *out, const int64_t *dim,
                             int rank, struct tfd_status *st) TFD_MUST_USE;

#endif
