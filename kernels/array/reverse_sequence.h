/*
 * reverse_sequence.h - reads the attributes of ReverseSequence and checks the
 * shapes of its inputs, for the kernels of all devices.
 *
 * Threads: any.
 */
#ifndef TFD_KERNELS_REVERSE_SEQUENCE_H
#define TFD_KERNELS_REVERSE_SEQUENCE_H

#include "kernels/core/kernel.h"

/* The state: axes as the node has them. */
struct tfd_reverse_sequence {
    int64_t sequence, batch;
};
enum tfd_code tfd_reverse_sequence_prepare(const struct tfd_prepare *p,
                                           void *state, struct tfd_status *st);
/* Shapes and axes; not the lengths themselves. */
enum tfd_code tfd_reverse_sequence_check(const struct tfd_kctx *k,
                                         struct tfd_status *st) TFD_MUST_USE;

#endif
