/*
 * batch_function.h - the kernel of BatchFunction: a function of the rows of
 * several steps at once, each of which gets the results for its own rows.
 *
 * Threads: as kernels.
 */
#ifndef TFD_KERNELS_BATCH_FUNCTION_H
#define TFD_KERNELS_BATCH_FUNCTION_H

#include "kernels/control/batch_choices.h"

struct tfd_rt_function;

struct tfd_batch_function {
    struct tfd_batch_choices choices; /* first */
    struct tfd_rt_function *function; /* lasting: no one step's */
    int32_t in_count;                 /* of inputs; the others are captured */
};

enum tfd_code tfd_batch_function_prepare(const struct tfd_prepare *p,
                                         void *state,
                                         struct tfd_status *st) TFD_MUST_USE;
void tfd_batch_function_start(struct tfd_kctx *k);

#endif
