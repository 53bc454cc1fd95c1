/*
 * entropy.h - numbers nobody can foresee, from the operating system: seeds of
 * random operations that were given none, names of temporary files.
 *
 * Threads: any.
 */
#ifndef TFD_KERNELS_ENTROPY_H
#define TFD_KERNELS_ENTROPY_H

#include "common/base/status.h"

#include <stdint.h>

enum tfd_code tfd_entropy_u64(uint64_t *out,
                              struct tfd_status *st) TFD_MUST_USE;

#endif
