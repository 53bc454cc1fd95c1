/*
 * pool.h - compute threads: jobs, and loops shared among threads.
 *
 * A job is embedded in what it works on, so submitting allocates nothing:
 *
 *     struct step { struct tfd_job job; ... };
 *     step->job.run = step_run;
 *     tfd_pool_submit(pool, &step->job);
 *
 * Jobs start in the order they come.  Idle threads sleep; the one that went
 * to sleep last is woken first, while its caches are warm.  One of them may
 * look a while before it does.
 *
 * A pool of NULL has no threads: loops run on the caller.
 *
 * Its threads compute with denormals as zero (common/base/denormals.h).
 *
 * Threads: any may submit and call tfd_pool_parallel(), pool threads too.
 * Neither may be called holding a lock of rank TFD_LOCK_POOL or further in.
 */
#ifndef TFD_COMMON_POOL_H
#define TFD_COMMON_POOL_H

#include "common/base/status.h"

#include <stdbool.h>
#include <stdint.h>

struct tfd_pool;

/* run() may free the job or submit it again: the pool is done with it. */
struct tfd_job {
    void (*run)(struct tfd_job *job);
    struct tfd_job *next; /* the pool's */
};

/* Works on elements [begin, end); called from several threads at once. */
typedef void tfd_range_fn(void *arg, int64_t begin, int64_t end);

#define TFD_POOL_THREADS_MAX 1024

/* NULL on failure.  Signals are blocked in the threads of a pool. */
struct tfd_pool *tfd_pool_new(int threads, struct tfd_status *st);
/* Runs what was submitted, also by those jobs, and ends the threads.  Not from
 * one of them. */
void tfd_pool_free(struct tfd_pool *p);

/* How long a thread without work looks for some before it sleeps
 * (common/thread/spin.h); 0 at first.  Before anything is submitted. */
void tfd_pool_spin(struct tfd_pool *p, int64_t limit_us);

int tfd_pool_threads(const struct tfd_pool *p); /* 0 for NULL */
/* Whether a thread works, or is about to.  False for NULL. */
bool tfd_pool_busy(struct tfd_pool *p);

/* p is not NULL: a job may wait for another, so none runs on the caller. */
void tfd_pool_submit(struct tfd_pool *p, struct tfd_job *job);
/* The same for a job that goes on after it has had a turn: those that were
 * submitted come before it, but for every fourth that a thread begins, and
 * those that had a turn earlier come before it always. */
void tfd_pool_yield(struct tfd_pool *p, struct tfd_job *job);
/* How many jobs wait for a thread, as it was a moment ago; no more than a read
 * of memory.  0 for NULL. */
int tfd_pool_waiting(const struct tfd_pool *p);
/* The processor time that its threads have used; one system call for each. */
uint64_t tfd_pool_cpu_us(const struct tfd_pool *p);

/*
 * Calls fn for pieces that together are [0, n), each of at least grain elements
 * except the last, on idle threads and on this one, and returns when all are
 * done.  A thread has the same part of each range as long as the others come in
 * time, so that its own cache still holds it.  The caller takes pieces until
 * none is left and then waits only for those that others have begun, so calls
 * may nest.  A range of many grains whose first elements show that it is over
 * before a sleeping thread would have come is the caller's alone.  fn must not
 * wait for another piece.  Where the caller may be halted
 * (common/thread/halt.h), so may those who help it: elements are left out then.
 */
void tfd_pool_parallel(struct tfd_pool *p, int64_t n, int64_t grain,
                       tfd_range_fn *fn, void *arg);
/* The same, and each thread begins with the last piece of its share, where it
 * ended in the range before. */
void tfd_pool_parallel_back(struct tfd_pool *p, int64_t n, int64_t grain,
                            tfd_range_fn *fn, void *arg);
/* Whether another thread did some of this thread's last range of two and more
 * pieces; true before there was one. */
bool tfd_pool_had_help(void);

#endif
