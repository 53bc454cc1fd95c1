/*
 * lock.c - see lock.h.  The ranks a thread holds are bits of one word, so the
 * check costs two instructions and locks may be released in any order.
 */
#define _GNU_SOURCE 1 /* pthread_condattr_setclock() */

#include "common/thread/lock.h"
#include "common/thread/lock_try.h"

#include <assert.h>
#include <errno.h>
#include <time.h>

static _Thread_local uint32_t held;
static _Thread_local struct tfd_deferred *postponed;
static _Thread_local bool runs_postponed;

static_assert(TFD_LOCK_RANK_COUNT <= 32, "held has a bit for each rank");

/* A failure of pthreads is one of ours: a lock that is not initialised. */
static void must(int error)
{
    assert(error == 0);
    (void)error;
}

void tfd_lock_init(struct tfd_lock *l, enum tfd_lock_rank rank)
{
    assert(rank < TFD_LOCK_RANK_COUNT);
    must(pthread_mutex_init(&l->mutex, NULL));
    l->rank = rank;
}

void tfd_lock_deinit(struct tfd_lock *l)
{
    must(pthread_mutex_destroy(&l->mutex));
}

void tfd_lock(struct tfd_lock *l)
{
    assert(held >> l->rank == 0);
    must(pthread_mutex_lock(&l->mutex));
    held |= 1u << l->rank;
}

/* Who does not wait deadlocks with nobody: of the order only one rank once is
 * left. */
bool tfd_lock_try(struct tfd_lock *l)
{
    int error;

    if (tfd_lock_held(l))
        return false;
    error = pthread_mutex_trylock(&l->mutex);
    if (error == EBUSY)
        return false;
    must(error);
    held |= 1u << l->rank;
    return true;
}

/* One after the other: what they postpone is run here, not within them. */
static void run_postponed(void)
{
    runs_postponed = true;
    while (postponed) {
        struct tfd_deferred *u = postponed;

        postponed = u->next;
        u->run(u);
    }
    runs_postponed = false;
}

void tfd_unlock(struct tfd_lock *l)
{
    assert(tfd_lock_held(l));
    held &= ~(1u << l->rank);
    must(pthread_mutex_unlock(&l->mutex));
    if (postponed && !held && !runs_postponed)
        run_postponed();
}

void tfd_lock_defer(struct tfd_deferred *u)
{
    if (!held) {
        u->run(u);
        return;
    }
    u->next = postponed;
    postponed = u;
}

bool tfd_lock_held(const struct tfd_lock *l)
{
    return held >> l->rank & 1;
}

/* Deadlines are of the clock that nobody sets. */
void tfd_cond_init(struct tfd_cond *c)
{
    pthread_condattr_t attr;

    must(pthread_condattr_init(&attr));
    must(pthread_condattr_setclock(&attr, CLOCK_MONOTONIC));
    must(pthread_cond_init(&c->cond, &attr));
    must(pthread_condattr_destroy(&attr));
}

void tfd_cond_deinit(struct tfd_cond *c)
{
    must(pthread_cond_destroy(&c->cond));
}

void tfd_cond_wait(struct tfd_cond *c, struct tfd_lock *l)
{
    assert(tfd_lock_held(l));
    must(pthread_cond_wait(&c->cond, &l->mutex));
}

bool tfd_cond_wait_until(struct tfd_cond *c, struct tfd_lock *l,
                         int64_t until_us)
{
    struct timespec until = {0, 0};
    int error;

    assert(tfd_lock_held(l));
    if (until_us > 0) {
        until.tv_sec = (time_t)(until_us / 1000000);
        until.tv_nsec = (long)(until_us % 1000000 * 1000);
    }
    error = pthread_cond_timedwait(&c->cond, &l->mutex, &until);
    if (error == ETIMEDOUT)
        return false;
    must(error);
    return true;
}

void tfd_cond_signal(struct tfd_cond *c)
{
    must(pthread_cond_signal(&c->cond));
}

void tfd_cond_broadcast(struct tfd_cond *c)
{
    must(pthread_cond_broadcast(&c->cond));
}
