/*
 * pool.c - see pool.h.
 *
 *     submit     ---> queues of jobs ---+
 *                                       +--> thread: ranges first, then jobs,
 *     parallel   ---> list of ranges ---+            then the stack of sleepers
 *
 * A range lies on the stack of the thread in tfd_pool_parallel().  It is in the
 * list while it has pieces that nobody took; a thread that helps is counted in
 * it under the lock, so the owner knows when nobody looks at it any more.
 * Pieces are handed out without the lock, to each thread from its own share of
 * them first (shares.h).  Ranges come before jobs, since somebody waits for
 * them.
 *
 * Waking costs a system call, and whoever makes it computes nothing meanwhile.
 * So each thread that finds more to do than it can wakes one other, before it
 * begins: the caller pays for one, and the rest wake each other in a chain.
 * While a thread looks (spin.h) it is the one, and nobody is woken.
 */
#define _GNU_SOURCE 1 /* pthread_setname_np(), pthread_sigmask() */

#include "common/thread/pool.h"

#include "common/base/atomic.h"
#include "common/base/denormals.h"
#include "common/thread/halt.h"
#include "common/thread/lock.h"
#include "common/thread/shares.h"
#include "common/thread/spin.h"

#include <assert.h>
#include <signal.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Pieces per thread: enough that one that is late does not keep all waiting,
 * few enough that handing them out costs nothing. */
#define PIECES_PER_THREAD 4
/* Large pieces begin at multiples of so many elements: vectors of one that
 * began elsewhere would lie across lines of the cache, all of them. */
#define ALIGNED 64
#define ALIGNED_MIN (16 * ALIGNED)
/* Grains between two looks at whether the result is still wanted (halt.h): a
 * grain is some 10 microseconds. */
#define BLOCK_GRAINS 200
/* Of so many jobs that begin, one is of those that had a turn, if any wait: the
 * new ones are for short work, and must not keep the others from it for ever.
 */
#define NEW_IN_TURN 4

struct range {
    tfd_range_fn *fn;
    void *arg;
    int64_t n;
    int64_t piece;   /* elements in one */
    int64_t block;   /* elements between two looks at halt */
    const int *halt; /* the caller's, for those who help */
    int threads;     /* of the pool */
    int helpers;     /* written under the lock, as the rest */
    bool helped;     /* one of them took a piece */
    bool listed;
    struct range *next, *previous;
    struct tfd_cond left; /* the last helper has gone */
    struct tfd_shares shares;
};

struct worker {
    struct tfd_pool *pool;
    pthread_t thread;
    struct tfd_cond wake;
    bool asleep; /* in the stack of sleepers; under the lock */
    struct tfd_spin spin;
    struct worker *next;
};

struct line {
    struct tfd_job *first;
    struct tfd_job **last;
};

struct tfd_pool {
    struct tfd_lock lock; /* of everything below but the counts */
    struct line fresh;    /* jobs as they were submitted */
    struct line again;    /* jobs that had a turn */
    unsigned begun;       /* jobs while both waited */
    int waiting;          /* jobs in both; written under the lock */
    struct range *ranges;
    struct worker *sleepers;
    bool looking; /* a thread that does not sleep finds what comes */
    bool stop;
    unsigned arrivals; /* jobs and ranges; what the one who looks sees */
    int64_t spin_us;
    int count;
    struct worker worker[];
};

/* Which of its pool's threads this is; the first, for who is none. */
static _Thread_local int worker_index;
/* Nobody came to help with the last range of this thread. */
static _Thread_local bool was_alone;

/* ---- Waking -------------------------------------------------------------- */

/* The caller signals it after it has released the lock, which the woken thread
 * needs first. */
static struct worker *take_sleeper(struct tfd_pool *p)
{
    struct worker *w = p->sleepers;

    assert(tfd_lock_held(&p->lock));
    if (w) {
        p->sleepers = w->next;
        w->asleep = false;
    }
    return w;
}

/* For something that has come: NULL where somebody looks. */
static struct worker *announce(struct tfd_pool *p)
{
    TFD_COUNTER_ADD(&p->arrivals, 1);
    return p->looking ? NULL : take_sleeper(p);
}

static void unlock_and_wake(struct tfd_pool *p, struct worker *w)
{
    tfd_unlock(&p->lock);
    if (w)
        tfd_cond_signal(&w->wake);
}

static bool has_job(const struct tfd_pool *p)
{
    return p->fresh.first || p->again.first;
}

static bool has_work(const struct tfd_pool *p)
{
    return has_job(p) || p->ranges;
}

/* ---- Ranges -------------------------------------------------------------- */

static void list(struct tfd_pool *p, struct range *r)
{
    r->listed = true;
    r->next = p->ranges;
    if (r->next)
        r->next->previous = r;
    p->ranges = r;
}

static void unlist(struct tfd_pool *p, struct range *r)
{
    if (!r->listed)
        return;
    r->listed = false;
    if (r->previous)
        r->previous->next = r->next;
    else
        p->ranges = r->next;
    if (r->next)
        r->next->previous = r->previous;
}

/* Elements [begin, end), or those before the caller's step ended. */
static void run_piece(const struct range *r, int64_t begin, int64_t end)
{
    if (!r->halt) {
        r->fn(r->arg, begin, end);
        return;
    }
    while (begin < end && !tfd_halted()) {
        int64_t stop = end - begin > r->block ? begin + r->block : end;

        r->fn(r->arg, begin, stop);
        begin = stop;
    }
}

/* False: nothing was left to do. */
static bool work_on(struct range *r, struct tfd_shares_place place)
{
    struct tfd_shares *s = &r->shares;
    bool did = false;
    int64_t i;

    while ((i = tfd_shares_take(s, &place)) >= 0) {
        const int64_t begin = i * r->piece;

        run_piece(r, begin, i + 1 < s->piece_count ? begin + r->piece : r->n);
        did = true;
    }
    return did;
}

/* Called and returns with the lock held. */
static void help(struct tfd_pool *p, struct range *r)
{
    struct worker *next = NULL;
    bool helped;

    TFD_COUNTER_ADD(&r->helpers, 1);
    /* What is taken meanwhile makes a wake-up useless, not wrong. */
    if (tfd_shares_left(&r->shares) > 1 || has_job(p))
        next = take_sleeper(p);
    unlock_and_wake(p, next);
    tfd_halt_at(r->halt);
    helped = work_on(r, tfd_shares_guest(&r->shares, worker_index));
    tfd_halt_at(NULL);
    tfd_lock(&p->lock);
    r->helped = r->helped || helped;
    unlist(p, r);
    if (TFD_COUNTER_SUB(&r->helpers, 1) == 0)
        tfd_cond_signal(&r->left);
}

/* How many pieces there are. */
static int64_t cut(struct range *r, int64_t grain)
{
    int64_t pieces = ((int64_t)r->threads + 1) * PIECES_PER_THREAD;
    int64_t even = r->n / pieces + (r->n % pieces != 0);

    r->piece = even > grain ? even : grain;
    if (r->piece >= ALIGNED_MIN && r->piece <= r->n - ALIGNED)
        r->piece = (r->piece + ALIGNED - 1) / ALIGNED * ALIGNED;
    return r->n / r->piece + (r->n % r->piece != 0);
}

/* What the last helper still has to do is short.  Called and returns with the
 * lock held. */
static void wait_for_helpers(struct tfd_pool *p, struct range *r)
{
    struct tfd_spin spin;

    if (r->helpers > 0 && p->spin_us > 0) {
        tfd_spin_init_eager(&spin, p->spin_us);
        tfd_unlock(&p->lock);
        tfd_spin_begin(&spin);
        while (TFD_LOAD_RELAXED(&r->helpers) > 0 && tfd_spin_again(&spin))
            ;
        tfd_lock(&p->lock);
    }
    while (r->helpers > 0)
        tfd_cond_wait(&r->left, &p->lock);
}

static void work_together(struct tfd_pool *p, struct range *r)
{
    tfd_cond_init(&r->left);
    tfd_lock(&p->lock);
    list(p, r);
    unlock_and_wake(p, announce(p));

    (void)work_on(r, tfd_shares_host(&r->shares));

    tfd_lock(&p->lock);
    unlist(p, r);
    wait_for_helpers(p, r);
    tfd_unlock(&p->lock);
    was_alone = !r->helped;
    tfd_cond_deinit(&r->left);
}

static void parallel(struct tfd_pool *p, int64_t n, int64_t grain, bool back,
                     tfd_range_fn *fn, void *arg)
{
    struct range r; /* the shares are 2 KB, made only where it is cut */
    int64_t pieces;

    if (n <= 0)
        return;
    if (grain < 1)
        grain = 1;
    r.fn = fn;
    r.arg = arg;
    r.n = n;
    r.halt = tfd_halt_flag;
    r.block = grain > INT64_MAX / BLOCK_GRAINS ? grain : grain * BLOCK_GRAINS;
    r.threads = tfd_pool_threads(p);
    r.helpers = 0;
    r.helped = r.listed = false;
    r.next = r.previous = NULL;
    pieces = cut(&r, grain);
    if (!p || pieces == 1) {
        run_piece(&r, 0, n);
        return;
    }
    if (was_alone)
        tfd_shares_init_alone(&r.shares, pieces, back);
    else
        tfd_shares_init(&r.shares, pieces, r.threads, worker_index, back);
    work_together(p, &r);
}

void tfd_pool_parallel(struct tfd_pool *p, int64_t n, int64_t grain,
                       tfd_range_fn *fn, void *arg)
{
    parallel(p, n, grain, false, fn, arg);
}

void tfd_pool_parallel_back(struct tfd_pool *p, int64_t n, int64_t grain,
                            tfd_range_fn *fn, void *arg)
{
    parallel(p, n, grain, true, fn, arg);
}

bool tfd_pool_had_help(void)
{
    return !was_alone;
}

/* ---- Jobs ---------------------------------------------------------------- */

static void enqueue(struct tfd_pool *p, struct line *to, struct tfd_job *job)
{
    job->next = NULL;
    tfd_lock(&p->lock);
    *to->last = job;
    to->last = &job->next;
    TFD_COUNTER_ADD(&p->waiting, 1);
    unlock_and_wake(p, announce(p));
}

void tfd_pool_submit(struct tfd_pool *p, struct tfd_job *job)
{
    enqueue(p, &p->fresh, job);
}

void tfd_pool_yield(struct tfd_pool *p, struct tfd_job *job)
{
    enqueue(p, &p->again, job);
}

int tfd_pool_waiting(const struct tfd_pool *p)
{
    return p ? TFD_LOAD_RELAXED(&p->waiting) : 0;
}

uint64_t tfd_pool_cpu_us(const struct tfd_pool *p)
{
    uint64_t us = 0;

    for (int i = 0; p && i < p->count; i++) {
        struct timespec t;
        clockid_t clock;

        if (pthread_getcpuclockid(p->worker[i].thread, &clock) == 0 &&
            clock_gettime(clock, &t) == 0)
            us += (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
    }
    return us;
}

static struct line *choose_line(struct tfd_pool *p)
{
    if (!p->again.first)
        return &p->fresh;
    if (!p->fresh.first)
        return &p->again;
    return ++p->begun % NEW_IN_TURN == 0 ? &p->again : &p->fresh;
}

/* Called and returns with the lock held.  A job that has had a turn makes room
 * for the event loop too: Linux takes a processor from who computes for a
 * thread that slept just now at its next tick only, up to 4 ms later. */
static void run_first(struct tfd_pool *p)
{
    struct line *from = choose_line(p);
    struct tfd_job *job = from->first;

    from->first = job->next;
    if (!from->first)
        from->last = &from->first;
    TFD_COUNTER_SUB(&p->waiting, 1);
    unlock_and_wake(p, has_work(p) ? take_sleeper(p) : NULL);
    if (from == &p->again)
        sched_yield();
    job->run(job);
    tfd_lock(&p->lock);
}

/* ---- Threads ------------------------------------------------------------- */

static void sleep_until_woken(struct tfd_pool *p, struct worker *w)
{
    w->asleep = true;
    w->next = p->sleepers;
    p->sleepers = w;
    while (w->asleep)
        tfd_cond_wait(&w->wake, &p->lock);
}

/* Called and returns with the lock held. */
static void look_for_work(struct tfd_pool *p, struct worker *w)
{
    unsigned seen = TFD_LOAD_RELAXED(&p->arrivals);

    p->looking = true;
    tfd_unlock(&p->lock);
    while (TFD_LOAD_RELAXED(&p->arrivals) == seen && tfd_spin_again(&w->spin))
        ;
    tfd_lock(&p->lock);
    p->looking = false;
}

static void wait_for_work(struct tfd_pool *p, struct worker *w)
{
    w->spin.limit_ns = p->spin_us * 1000;
    tfd_spin_begin(&w->spin);
    if (!p->looking && tfd_spin_pays(&w->spin))
        look_for_work(p, w);
    if (!has_work(p) && !p->stop)
        sleep_until_woken(p, w);
    tfd_spin_end(&w->spin);
}

static void *run_worker(void *arg)
{
    struct worker *w = arg;
    struct tfd_pool *p = w->pool;

    worker_index = (int)(w - p->worker);
    (void)tfd_denormals_flush();
    tfd_lock(&p->lock);
    for (;;) {
        if (p->ranges)
            help(p, p->ranges);
        else if (has_job(p))
            run_first(p);
        else if (p->stop)
            break;
        else
            wait_for_work(p, w);
    }
    tfd_unlock(&p->lock);
    return NULL;
}

/* The names are for people who look at threads; without one it works too. */
static int start_worker(struct tfd_pool *p, struct worker *w)
{
    int error;

    w->pool = p;
    tfd_cond_init(&w->wake);
    error = pthread_create(&w->thread, NULL, run_worker, w);
    if (error) {
        tfd_cond_deinit(&w->wake);
        return error;
    }
    (void)pthread_setname_np(w->thread, "tfd-compute");
    p->count++;
    return 0;
}

/* A thread inherits the mask of its maker.  Signals belong to the loop. */
static int start_workers(struct tfd_pool *p, int threads)
{
    sigset_t all, before;
    int error = 0;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    for (int i = 0; i < threads && !error; i++)
        error = start_worker(p, &p->worker[i]);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return error;
}

struct tfd_pool *tfd_pool_new(int threads, struct tfd_status *st)
{
    struct tfd_pool *p;
    int error;

    if (threads < 1 || threads > TFD_POOL_THREADS_MAX) {
        tfd_fail(st, TFD_INVALID_ARGUMENT,
                 "a pool of %d threads; 1 to %d are possible", threads,
                 TFD_POOL_THREADS_MAX);
        return NULL;
    }
    p = calloc(1, sizeof(*p) + (size_t)threads * sizeof(p->worker[0]));
    if (!p) {
        tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "no memory for %d threads",
                 threads);
        return NULL;
    }
    tfd_lock_init(&p->lock, TFD_LOCK_POOL);
    p->fresh.last = &p->fresh.first;
    p->again.last = &p->again.first;

    error = start_workers(p, threads);
    if (error) {
        tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                 "cannot start compute thread %d of %d: %s", p->count + 1,
                 threads, strerror(error));
        tfd_pool_free(p);
        return NULL;
    }
    return p;
}

void tfd_pool_free(struct tfd_pool *p)
{
    if (!p)
        return;
    tfd_lock(&p->lock);
    p->stop = true;
    TFD_COUNTER_ADD(&p->arrivals, 1);
    for (struct worker *w = take_sleeper(p); w; w = take_sleeper(p))
        tfd_cond_signal(&w->wake);
    tfd_unlock(&p->lock);

    for (int i = 0; i < p->count; i++)
        pthread_join(p->worker[i].thread, NULL);
    /* Only now: until its end a thread may wake another. */
    for (int i = 0; i < p->count; i++)
        tfd_cond_deinit(&p->worker[i].wake);
    assert(!has_work(p));
    tfd_lock_deinit(&p->lock);
    free(p);
}

bool tfd_pool_busy(struct tfd_pool *p)
{
    int asleep = 0;
    bool busy;

    if (!p)
        return false;
    tfd_lock(&p->lock);
    for (struct worker *w = p->sleepers; w; w = w->next)
        asleep++;
    busy = has_work(p) || asleep + p->looking < p->count;
    tfd_unlock(&p->lock);
    return busy;
}

void tfd_pool_spin(struct tfd_pool *p, int64_t limit_us)
{
    tfd_lock(&p->lock);
    p->spin_us = limit_us;
    tfd_unlock(&p->lock);
}

int tfd_pool_threads(const struct tfd_pool *p)
{
    return p ? p->count : 0;
}
