/*
 * entropy.h - numbers nobody can foresee, from the operating system: seeds of
 * random operations that were given none, names of temporary files, ids of
 * sessions and of incarnations.
 *
 * Threads: any.
 */
#ifndef TFD_COMMON_ENTROPY_H
#define TFD_COMMON_ENTROPY_H

#include "common/base/status.h"

#include <stdint.h>

enum tfd_code tfd_entropy_u64(uint64_t *out,
                              struct tfd_status *st) TFD_MUST_USE;
/* One that no other process has, and not 0; where the system gives none, of the
 * clock and the number of this process. */
uint64_t tfd_entropy_id(void);

#endif
