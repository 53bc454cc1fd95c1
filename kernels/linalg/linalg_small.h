/*
 * linalg_small.h - solves systems of up to TFD_LINALG_SMALL_MAX real unknowns,
 * for which a call of LAPACK takes longer than the arithmetic.
 *
 * Threads: as the loops of linalg_loops.h.
 */
#ifndef TFD_KERNELS_LINALG_SMALL_H
#define TFD_KERNELS_LINALG_SMALL_H

#include "kernels/linalg/linalg_loops.h"

#define TFD_LINALG_SMALL_MAX 32 /* rows */

/* INVERSE (b is NULL, right is rows) and SOLVE of linalg_loops.h for matrices
 * [begin, end) of FLOAT or DOUBLE.  A matrix without an inverse ends it, as
 * TFD_LINALG_SINGULAR says. */
tfd_range_fn tfd_linalg_small_float, tfd_linalg_small_double;

#endif
