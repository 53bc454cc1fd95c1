/*
 * halt.h - long loops that end early when nobody wants their result any more.
 *
 * A deadline ends a step at once for its client, but a kernel that fills an
 * output of gigabytes would go on for seconds, since the output's size came
 * from a value in the graph.  So the thread that runs a kernel whose work may
 * be left half done says where it is told to stop:
 *
 *     tfd_halt_at(&step->failed);     an int that becomes nonzero
 *     kernel->compute(...);
 *     tfd_halt_at(NULL);
 *
 * and what loops on its behalf (common/thread/pool.c on every thread that
 * helps, kernels/core/element.c) asks tfd_halted() between blocks.  What it has
 * not written by then stays as it was; the caller must not use it.  Work on
 * variables and files is never left half done: nothing is set for it.
 *
 * Asking costs two loads.  Threads: each has its own.
 */
#ifndef TFD_COMMON_HALT_H
#define TFD_COMMON_HALT_H

#include "common/base/atomic.h"
#include "common/base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes, or nanoseconds by a kernel's own estimate, between two questions: a
 * millisecond or so of either. */
#define TFD_HALT_BLOCK_SIZE ((size_t)4 << 20)
#define TFD_HALT_BLOCK_NS 2000000
/* Elements between two questions of loops that make many short passes. */
#define TFD_HALT_BLOCK_ELEMENTS (INT64_C(1) << 16)

extern __thread const int *tfd_halt_flag;

/* NULL: from now on this thread finishes what it begins.  The flag is read
 * until the next call. */
static inline void tfd_halt_at(const int *flag)
{
    tfd_halt_flag = flag;
}

static inline bool tfd_halted(void)
{
    const int *flag = tfd_halt_flag;

    return flag && TFD_LOAD_ACQUIRE(flag) != 0;
}

/* Before a pass over so many elements: asks if those since the last question
 * are TFD_HALT_BLOCK_ELEMENTS or more.  `since` is 0 at first. */
static inline bool tfd_halted_after(int64_t elements, int64_t *since)
{
    *since += elements;
    if (*since < TFD_HALT_BLOCK_ELEMENTS)
        return false;
    *since = 0;
    return tfd_halted();
}

/* Zeros, or as many of them as there are when the thread is told to stop. */
void tfd_halt_clear(void *to, size_t size);

/* For what must be whole or not be there: CANCELLED. */
enum tfd_code tfd_halt_fail(struct tfd_status *st) TFD_MUST_USE;

#endif
