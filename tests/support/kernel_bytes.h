/*
 * kernel_bytes.h - tensors for kernel_rig.h that texts are too slow or too tidy
 * for: arbitrary bytes of any type, at an address that is as odd as asked.
 *
 *     krig.in[0] = krig_bytes(TFD_FLOAT, 2, (int64_t[]){5, 3}, 1);
 *     krig.in[1] = krig_ints(TFD_INT32, 1, (int64_t[]){2}, (int64_t[]){4, 2});
 *     krig.in_count = 2;
 *     krig_run_well(&c, KRIG_SHARED);
 *     ... compare krig.out[0] ...
 *     krig_end();
 */
#ifndef TFD_TESTS_SUPPORT_KERNEL_BYTES_H
#define TFD_TESTS_SUPPORT_KERNEL_BYTES_H

#include "tests/support/kernel_rig.h"

#define KRIG_ODD_MAX 64 /* bytes before an odd tensor's first */

/* A tensor `odd` bytes behind an aligned address.  Its bytes repeat after a
 * prime number of elements; those of a bool are 0 and 1. */
struct tfd_tensor krig_bytes(enum tfd_dtype dtype, int rank, const int64_t *dim,
                             int odd);

/* As many whole numbers of a type; they lie aligned. */
struct tfd_tensor krig_ints(enum tfd_dtype dtype, int rank, const int64_t *dim,
                            const int64_t *values);

/* krig_run() that fails the test where the op fails. */
void krig_run_well(const struct krig_case *c, int mode);

/* Output 0 is of this shape and holds these bytes. */
void krig_expect_bytes(const struct tfd_shape *shape, const void *bytes);

#endif
