/*
 * conv_primitives.h - the compiled convolutions of this process, by shape.
 *
 *     p = tfd_conv_primitives_acquire(&key);
 *     ... use it ...
 *     tfd_conv_primitives_release(p);
 *
 * A shape is compiled once, which takes some hundred microseconds, and others
 * wait meanwhile.  Of TFD_CONV_PRIMITIVES_MAX the one that nobody uses and was
 * not asked for longest makes room for a new one.
 *
 * Threads: any.
 */
#ifndef TFD_KERNELS_CONV_PRIMITIVES_H
#define TFD_KERNELS_CONV_PRIMITIVES_H

#include "kernels/conv_primitive.h"

/* NULL: none for this shape, or no room. */
const struct tfd_conv_primitive *
tfd_conv_primitives_acquire(const struct tfd_conv_shape_key *key) TFD_MUST_USE;
/* NULL is none. */
void tfd_conv_primitives_release(const struct tfd_conv_primitive *p);

#endif
