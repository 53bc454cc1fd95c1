/*
 * scatter_halves.h - the arithmetic of scatter.h on halves, by processors that
 * convert many of them at once.
 *
 * Threads: any; there is no state.
 */
#ifndef TFD_KERNELS_SCATTER_HALVES_H
#define TFD_KERNELS_SCATTER_HALVES_H

#include "kernels/index/scatter.h"

/* A loop over the updates of a struct tfd_scatter whose rows are in [begin,
 * end), with the bits of scatter_functions.h; for rows of several elements.
 * NULL: this function, or this processor, has none. */
tfd_range_fn *tfd_scatter_halves(enum tfd_scatter_function function);

#endif
