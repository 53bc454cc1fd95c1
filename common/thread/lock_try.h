/*
 * lock_try.h - a lock for who must not wait: the loop's thread, at objects
 * whose kernels hold their locks for as long as they work.
 *
 * Threads: any.
 */
#ifndef TFD_COMMON_LOCK_TRY_H
#define TFD_COMMON_LOCK_TRY_H

#include "common/thread/lock.h"

/* False: another thread has it, or whoever asks. */
bool tfd_lock_try(struct tfd_lock *l);

#endif
