/*
 * crew.c - see crew.h.
 *
 * Jobs that no thread has taken yet stand in a list; there are never more of
 * them than threads that have been woken or made for them.  A thread that finds
 * the list empty sleeps, or ends when KEEP others sleep already.
 */
#define _GNU_SOURCE 1 /* pthread_setname_np(), pthread_sigmask() */

#include "common/thread/crew.h"

#include "common/base/denormals.h"
#include "common/thread/lock.h"

#include <assert.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

/* Threads that stay without work: making one costs 20 microseconds. */
#define KEEP 8

/* What goes through TFD_VARIANT_DEPTH_MAX datasets within each other takes up
 * to 3 kB for each; what a process has by default may be less.  Only the pages
 * that are touched cost memory. */
#define STACK_SIZE ((size_t)8 << 20)

struct tfd_crew {
    struct tfd_lock lock;
    struct tfd_cond wake;  /* a job has come, or the end */
    struct tfd_cond ended; /* a thread has ended */
    struct tfd_job *first, **last;
    int max, threads;
    int asleep, woken; /* threads that sleep; those of them that were told */
    int busy;          /* jobs that run or are about to */
    void (*when_idle)(void *arg);
    void *arg;
    bool stop;
};

/* ---- A thread ------------------------------------------------------------ */

static struct tfd_job *take_job(struct tfd_crew *c)
{
    struct tfd_job *job = c->first;

    if (!job)
        return NULL;
    c->first = job->next;
    if (!c->first)
        c->last = &c->first;
    return job;
}

/* NULL: the thread ends.  The lock is held. */
static struct tfd_job *next_job(struct tfd_crew *c)
{
    struct tfd_job *job;

    while (!(job = take_job(c)) && !c->stop && c->asleep < KEEP) {
        c->asleep++;
        tfd_cond_wait(&c->wake, &c->lock);
        c->asleep--;
        if (c->woken > 0)
            c->woken--;
    }
    return job;
}

/* The lock is held, and released meanwhile. */
static void run_job(struct tfd_crew *c, struct tfd_job *job)
{
    void (*when_idle)(void *arg) = NULL;
    void *arg = NULL;

    tfd_unlock(&c->lock);
    job->run(job);
    tfd_lock(&c->lock);
    if (--c->busy == 0 && c->when_idle) {
        when_idle = c->when_idle;
        arg = c->arg;
        c->when_idle = NULL;
        tfd_unlock(&c->lock);
        when_idle(arg);
        tfd_lock(&c->lock);
    }
}

static void *run_thread(void *arg)
{
    struct tfd_crew *c = arg;
    struct tfd_job *job;

    (void)tfd_denormals_flush();
    tfd_lock(&c->lock);
    while ((job = next_job(c)))
        run_job(c, job);
    c->threads--;
    tfd_cond_broadcast(&c->ended);
    tfd_unlock(&c->lock);
    return NULL;
}

/* A thread inherits the mask of its maker.  Signals belong to the loop. */
static int start_thread(struct tfd_crew *c)
{
    sigset_t all, before;
    pthread_attr_t attr;
    pthread_t thread;
    int error = pthread_attr_init(&attr);

    if (error)
        return error;
    (void)pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    error = pthread_attr_setstacksize(&attr, STACK_SIZE);
    assert(!error);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    error = pthread_create(&thread, &attr, run_thread, c);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    (void)pthread_attr_destroy(&attr);
    return error;
}

/* ---- The crew ------------------------------------------------------------ */

struct tfd_crew *tfd_crew_new(int max, struct tfd_status *st)
{
    struct tfd_crew *c = calloc(1, sizeof(*c));

    assert(max > 0);
    if (!c) {
        tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "no memory for threads");
        return NULL;
    }
    tfd_lock_init(&c->lock, TFD_LOCK_POOL);
    tfd_cond_init(&c->wake);
    tfd_cond_init(&c->ended);
    c->last = &c->first;
    c->max = max;
    return c;
}

void tfd_crew_free(struct tfd_crew *c)
{
    if (!c)
        return;
    tfd_lock(&c->lock);
    assert(c->busy == 0);
    c->stop = true;
    tfd_cond_broadcast(&c->wake);
    while (c->threads > 0)
        tfd_cond_wait(&c->ended, &c->lock);
    tfd_unlock(&c->lock);
    tfd_cond_deinit(&c->wake);
    tfd_cond_deinit(&c->ended);
    tfd_lock_deinit(&c->lock);
    free(c);
}

/* A thread for one more job.  The lock is held. */
static enum tfd_code find_thread(struct tfd_crew *c, struct tfd_status *st)
{
    int error;

    if (c->asleep > c->woken) {
        c->woken++;
        tfd_cond_signal(&c->wake);
        return TFD_OK;
    }
    if (c->busy == c->max)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "%d threads wait for others already, which is the "
                        "limit",
                        c->max);
    error = start_thread(c);
    if (error)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "cannot start a thread beside %d: error %d", c->threads,
                        error);
    c->threads++;
    return TFD_OK;
}

enum tfd_code tfd_crew_submit(struct tfd_crew *c, struct tfd_job *job,
                              struct tfd_status *st)
{
    enum tfd_code rc;

    tfd_lock(&c->lock);
    rc = find_thread(c, st);
    if (rc == TFD_OK) {
        job->next = NULL;
        *c->last = job;
        c->last = &job->next;
        c->busy++;
    }
    tfd_unlock(&c->lock);
    return rc;
}

int tfd_crew_busy(struct tfd_crew *c)
{
    int busy;

    tfd_lock(&c->lock);
    busy = c->busy;
    tfd_unlock(&c->lock);
    return busy;
}

bool tfd_crew_when_idle(struct tfd_crew *c, void (*fn)(void *arg), void *arg)
{
    bool busy;

    tfd_lock(&c->lock);
    busy = c->busy > 0;
    if (busy) {
        c->when_idle = fn;
        c->arg = arg;
    }
    tfd_unlock(&c->lock);
    return busy;
}
