/*
 * bucketize.h - reads and checks the boundaries of Bucketize, for the kernels
 * of all devices.
 *
 * Threads: any.
 */
#ifndef TFD_KERNELS_BUCKETIZE_H
#define TFD_KERNELS_BUCKETIZE_H

#include "kernels/core/kernel.h"

/* The state. */
struct tfd_bucketize {
    float *boundary; /* ascending; the state's */
    int count;
};
enum tfd_code tfd_bucketize_prepare(const struct tfd_prepare *p, void *state,
                                    struct tfd_status *st);
void tfd_bucketize_release(void *state);

#endif
