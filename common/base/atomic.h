/*
 * atomic.h - the atomic operations of this program on plain variables, by what
 * they are for: counters, flags that publish something, counts of references.
 *
 *     TFD_COUNTER_ADD(&s->steps, 1)      a figure; orders nothing else
 *     TFD_LOAD_RELAXED(&s->steps)
 *
 *     r->result = x;                     one thread makes something ...
 *     TFD_STORE_RELEASE(&r->ready, 1)
 *     if (TFD_LOAD_ACQUIRE(&r->ready))   ... another one sees all of it
 *
 *     tfd_refs_add(&b->refs, 1)          one more user of b
 *     if (tfd_refs_drop(&b->refs))       one user less; true: it was the last,
 *         free(b)                        and sees what the others did
 *
 * Fields are plain variables, since they are also used without while nobody
 * else has the struct; C11's <stdatomic.h> is not used beside this.
 *
 * Threads: any.
 */
#ifndef TFD_COMMON_ATOMIC_H
#define TFD_COMMON_ATOMIC_H

#include <assert.h>
#include <stdbool.h>

#define TFD_LOAD_RELAXED(at) __atomic_load_n(at, __ATOMIC_RELAXED)
#define TFD_LOAD_ACQUIRE(at) __atomic_load_n(at, __ATOMIC_ACQUIRE)
#define TFD_STORE_RELAXED(at, value) \
    __atomic_store_n(at, value, __ATOMIC_RELAXED)
#define TFD_STORE_RELEASE(at, value) \
    __atomic_store_n(at, value, __ATOMIC_RELEASE)

/* The value afterwards. */
#define TFD_COUNTER_ADD(at, n) __atomic_add_fetch(at, n, __ATOMIC_RELAXED)
#define TFD_COUNTER_SUB(at, n) __atomic_sub_fetch(at, n, __ATOMIC_RELAXED)
/* The value before. */
#define TFD_COUNTER_TAKE(at, n) __atomic_fetch_add(at, n, __ATOMIC_RELAXED)
/* What was there; what others did before they wrote that is seen. */
#define TFD_EXCHANGE(at, value) __atomic_exchange_n(at, value, __ATOMIC_ACQ_REL)
/* True: *at was *expected and is `value` now.  Else *expected is what it is. */
#define TFD_COMPARE_EXCHANGE(at, expected, value)                             \
    __atomic_compare_exchange_n(at, expected, value, false, __ATOMIC_ACQ_REL, \
                                __ATOMIC_ACQUIRE)
/* One less that others wait for: the value afterwards, and at 0 what all of
 * them did is seen. */
#define TFD_PENDING_SUB(at, n) __atomic_sub_fetch(at, n, __ATOMIC_ACQ_REL)

static inline void tfd_refs_add(int *refs, int n)
{
    int before = __atomic_fetch_add(refs, n, __ATOMIC_RELAXED);

    assert(before > 0);
    (void)before;
}

static inline bool tfd_refs_drop(int *refs)
{
    int before = __atomic_fetch_sub(refs, 1, __ATOMIC_ACQ_REL);

    assert(before > 0);
    return before == 1;
}

#endif
