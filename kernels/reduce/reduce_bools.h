/*
 * reduce_bools.h - reducers of bools.
 *
 * Threads: any; there is no state.
 */
#ifndef TFD_KERNELS_REDUCE_BOOLS_H
#define TFD_KERNELS_REDUCE_BOOLS_H

#include "kernels/reduce/reduce.h"

extern const struct tfd_reducer tfd_reduce_all;
extern const struct tfd_reducer tfd_reduce_any;

#endif
