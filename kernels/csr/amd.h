/*
 * amd.h - the approximate minimum degree ordering of a symmetric sparse
 * pattern, which keeps the factor of the matrix thin.
 *
 * The answer is that of TensorFlow, to the number: ties are broken by the order
 * in which nodes enter lists, so lists are kept as Amestoy, Davis and Duff
 * describe them ("An approximate minimum degree ordering algorithm", 1996), a
 * node without a diagonal entry counts as a dense one, and the diagonal stays
 * in the lists.
 *
 * Threads: any; what has ended stops by tfd_halted().
 */
#ifndef TFD_KERNELS_CSR_AMD_H
#define TFD_KERNELS_CSR_AMD_H

#include "kernels/core/kernel.h"

/* Numbers that tfd_amd_order() works in for n nodes with so many entries, both
 * halves and the diagonal counted: first the entries, then the room. */
int64_t tfd_amd_room(int64_t n, int64_t count);

/* order[i] becomes the node that comes at place i.  Node j's neighbours are
 * work[at[j] .. at[j + 1]); both arrays are used up.  `work` has
 * tfd_amd_room() numbers, `order` n + 1, of which the last means nothing. */
enum tfd_code tfd_amd_order(int32_t n, int32_t *at, int32_t *work,
                            int32_t *order, struct tfd_status *st) TFD_MUST_USE;

#endif
