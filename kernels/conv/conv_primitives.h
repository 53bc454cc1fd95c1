/*
 * conv_primitives.h - the compiled convolutions of this process, by shape.
 *
 *     p = tfd_conv_primitives_acquire(&key);
 *     ... use it ...
 *     tfd_conv_primitives_release(p);
 *
 * A shape is compiled when it is first asked for, which takes some hundred
 * microseconds, tens of milliseconds where windows are large; nobody waits for
 * another's.  Of TFD_CONV_PRIMITIVES_MAX the one that nobody uses and was not
 * asked for longest makes room for a new one.
 *
 * Threads: any.
 */
#ifndef TFD_KERNELS_CONV_PRIMITIVES_H
#define TFD_KERNELS_CONV_PRIMITIVES_H

#include "kernels/conv/conv_primitive.h"

/* NULL: none for this shape, no room, or no memory. */
const struct tfd_conv_primitive *
tfd_conv_primitives_acquire(const struct tfd_conv_shape_key *key) TFD_MUST_USE;
/* NULL is none. */
void tfd_conv_primitives_release(const struct tfd_conv_primitive *p);

#endif
