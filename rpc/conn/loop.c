/*
 * loop.c - see loop.h; libuv's loop and, beside it:
 *
 *   posts     a lock-free stack that any thread pushes on; the loop takes all
 *             of it at once and reverses it.  Only the push on an empty stack
 *             wakes the loop, so a burst of posts costs one system call.
 *   timers    a binary heap by (due, sequence) and one libuv timer for its top.
 *             libuv counts milliseconds, so a timer may be late by one.
 *   deferred  a list that runs in the prepare phase, just before libuv polls.
 *   waiting   is done here, on libuv's descriptor, so that the loop can spin
 *             before it sleeps (common/thread/spin.h).  While it spins, a post
 *             needs no system call to wake it.
 *
 * SIGPIPE is not ours to ignore in a process that embeds us: sockets are
 * written with MSG_NOSIGNAL instead (conn_io.c).
 */
#define _GNU_SOURCE 1 /* libuv's header needs POSIX threads */

#include "rpc/conn/loop_uv.h"

#include "common/thread/spin.h"
#include "rpc/conn/loop_turns.h"

#include <assert.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <uv.h>

#define SIGNALS_MAX 8
#define HEAP_GROWTH 64
/* Deferred work may defer more; after so many rounds in one turn the sockets
 * get their turn first. */
#define DEFER_ROUNDS 8

struct signal_watch {
    uv_signal_t handle; /* first: the handle is the watch */
    void (*fn)(void *ctx, int number);
    void *ctx;
};

struct tfd_loop {
    uv_loop_t uv;
    uv_async_t wake;
    uv_prepare_t prepare;
    uv_timer_t clock;
    pthread_t thread;
    bool running; /* atomic: thread is valid */
    bool stopped;
    bool looking; /* atomic: sees what is posted without being woken */
    struct tfd_spin spin;
    uint64_t turned_ns; /* the end of the last turn */
    struct tfd_histogram turns;

    struct tfd_post *posted; /* atomic; newest first */
    struct tfd_post *deferred, **deferred_end;

    struct tfd_timer **heap;
    int32_t heap_count, heap_capacity;
    uint64_t sequence;
    uint64_t armed_us; /* when clock fires; UINT64_MAX: it does not */
    bool firing;

    struct tfd_conn *conns;
    struct tfd_allow allow;
    struct tfd_conn_line line;
    struct signal_watch signals[SIGNALS_MAX];
    int signal_count;
    uint8_t scratch[TFD_LOOP_SCRATCH_SIZE];
};

/* ---- Posts and deferred work --------------------------------------------- */

void tfd_loop_post(struct tfd_loop *l, struct tfd_post *p)
{
    struct tfd_post *top = __atomic_load_n(&l->posted, __ATOMIC_RELAXED);

    do
        p->next = top;
    while (!__atomic_compare_exchange_n(&l->posted, &top, p, true,
                                        __ATOMIC_SEQ_CST, __ATOMIC_RELAXED));
    if (!top && !__atomic_load_n(&l->looking, __ATOMIC_SEQ_CST))
        uv_async_send(&l->wake);
}

static void run_posted(struct tfd_loop *l)
{
    struct tfd_post *p =
        __atomic_exchange_n(&l->posted, NULL, __ATOMIC_ACQUIRE);
    struct tfd_post *first = NULL;

    while (p) {
        struct tfd_post *next = p->next;

        p->next = first;
        first = p;
        p = next;
    }
    while (first) {
        p = first;
        first = p->next; /* run() may free p */
        p->run(p);
    }
}

static void run_posts(uv_async_t *wake)
{
    run_posted(wake->data);
}

void tfd_loop_defer(struct tfd_loop *l, struct tfd_post *p)
{
    p->next = NULL;
    *l->deferred_end = p;
    l->deferred_end = &p->next;
}

void tfd_loop_defer_first(struct tfd_loop *l, struct tfd_post *p)
{
    p->next = l->deferred;
    l->deferred = p;
    if (!p->next)
        l->deferred_end = &p->next;
}

static void run_deferred_once(struct tfd_loop *l)
{
    struct tfd_post *p = l->deferred;

    l->deferred = NULL;
    l->deferred_end = &l->deferred;
    while (p) {
        struct tfd_post *next = p->next;

        p->run(p);
        p = next;
    }
}

static void run_deferred(uv_prepare_t *prepare)
{
    struct tfd_loop *l = prepare->data;

    for (int i = 0; l->deferred && i < DEFER_ROUNDS; i++)
        run_deferred_once(l);
    if (l->deferred)
        uv_async_send(&l->wake); /* do not sleep on it */
}

void tfd_loop_settle(struct tfd_loop *l)
{
    while (l->deferred || __atomic_load_n(&l->posted, __ATOMIC_ACQUIRE)) {
        run_posted(l);
        run_deferred_once(l);
    }
}

/* ---- Timers -------------------------------------------------------------- */

static bool timer_before(const struct tfd_timer *a, const struct tfd_timer *b)
{
    return a->due_us != b->due_us ? a->due_us < b->due_us
                                  : a->sequence < b->sequence;
}

static void heap_place(struct tfd_loop *l, int32_t slot, struct tfd_timer *t)
{
    l->heap[slot] = t;
    t->slot = slot;
}

static void heap_up(struct tfd_loop *l, int32_t slot, struct tfd_timer *t)
{
    while (slot > 0) {
        int32_t parent = (slot - 1) / 2;

        if (!timer_before(t, l->heap[parent]))
            break;
        heap_place(l, slot, l->heap[parent]);
        slot = parent;
    }
    heap_place(l, slot, t);
}

static void heap_down(struct tfd_loop *l, int32_t slot, struct tfd_timer *t)
{
    for (;;) {
        int32_t child = slot * 2 + 1;

        if (child >= l->heap_count)
            break;
        if (child + 1 < l->heap_count &&
            timer_before(l->heap[child + 1], l->heap[child]))
            child++;
        if (!timer_before(l->heap[child], t))
            break;
        heap_place(l, slot, l->heap[child]);
        slot = child;
    }
    heap_place(l, slot, t);
}

static bool heap_reserve(struct tfd_loop *l)
{
    struct tfd_timer **heap;
    int32_t capacity;

    if (l->heap_count < l->heap_capacity)
        return true;
    if (l->heap_capacity > INT32_MAX / 4)
        return false;
    capacity = l->heap_capacity * 2 + HEAP_GROWTH;
    heap = realloc(l->heap, (size_t)capacity * sizeof(*heap));
    if (!heap)
        return false;
    l->heap = heap;
    l->heap_capacity = capacity;
    return true;
}

static void fire_timers(uv_timer_t *clock);

/* Called when the top may have become earlier.  When it becomes later the
 * clock fires once for nothing, which is cheaper than moving it each time. */
static void arm(struct tfd_loop *l)
{
    uint64_t now, due, wait;

    if (l->heap_count == 0 || l->heap[0]->due_us >= l->armed_us)
        return;
    now = tfd_loop_now_us(l);
    due = l->heap[0]->due_us;
    wait = due > now ? (due - now + 999) / 1000 : 0;
    if (l->firing && wait == 0)
        wait = 1; /* or libuv would come back here before it looks at sockets */
    l->armed_us = due;
    uv_update_time(&l->uv);
    uv_timer_start(&l->clock, fire_timers, wait, 0);
}

static void fire_timers(uv_timer_t *clock)
{
    struct tfd_loop *l = clock->data;
    uint64_t now = tfd_loop_now_us(l);
    uint64_t end = l->sequence; /* started by those fired now: next turn */

    l->armed_us = UINT64_MAX;
    l->firing = true;
    while (l->heap_count > 0) {
        struct tfd_timer *t = l->heap[0];

        if (t->due_us > now || t->sequence >= end)
            break;
        tfd_timer_stop(t);
        t->fire(t);
    }
    arm(l);
    l->firing = false;
}

void tfd_timer_init(struct tfd_timer *t, struct tfd_loop *l,
                    void (*fire)(struct tfd_timer *t))
{
    *t = (struct tfd_timer){.fire = fire, .loop = l, .slot = -1};
}

enum tfd_code tfd_timer_start(struct tfd_timer *t, uint64_t delay_us,
                              struct tfd_status *st)
{
    struct tfd_loop *l = t->loop;
    uint64_t now = tfd_loop_now_us(l);

    tfd_timer_stop(t);
    if (!heap_reserve(l))
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "no memory for timer %d of the loop", l->heap_count);
    t->due_us = delay_us < UINT64_MAX - now ? now + delay_us : UINT64_MAX;
    t->sequence = l->sequence++;
    heap_up(l, l->heap_count++, t);
    arm(l);
    return TFD_OK;
}

void tfd_timer_stop(struct tfd_timer *t)
{
    struct tfd_loop *l = t->loop;
    int32_t slot = t->slot;
    struct tfd_timer *last;

    if (slot < 0)
        return;
    assert(slot < l->heap_count && l->heap[slot] == t);
    t->slot = -1;
    last = l->heap[--l->heap_count];
    if (last == t)
        return;
    if (slot > 0 && timer_before(last, l->heap[(slot - 1) / 2]))
        heap_up(l, slot, last);
    else
        heap_down(l, slot, last);
}

/* ---- Signals ------------------------------------------------------------- */

static void on_signal(uv_signal_t *handle, int number)
{
    struct signal_watch *w = (struct signal_watch *)handle;

    w->fn(w->ctx, number);
}

enum tfd_code tfd_loop_signal(struct tfd_loop *l, int number,
                              void (*fn)(void *ctx, int number), void *ctx,
                              struct tfd_status *st)
{
    struct signal_watch *w = &l->signals[l->signal_count];
    int rc;

    if (l->signal_count == SIGNALS_MAX)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "signal %d: a loop watches at most %d signals", number,
                        SIGNALS_MAX);
    rc = uv_signal_init(&l->uv, &w->handle);
    assert(rc == 0);
    l->signal_count++; /* the handle must be closed from now on */
    w->fn = fn;
    w->ctx = ctx;
    rc = uv_signal_start(&w->handle, on_signal, number);
    if (rc != 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT, "cannot watch signal %d: %s",
                        number, uv_strerror(rc));
    return TFD_OK;
}

/* ---- The loop ------------------------------------------------------------ */

struct tfd_loop *tfd_loop_new(struct tfd_status *st)
{
    struct tfd_loop *l = calloc(1, sizeof(*l));
    int rc;

    if (!l) {
        (void)tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "no memory for a loop");
        return NULL;
    }
    rc = uv_loop_init(&l->uv);
    if (rc == 0) {
        rc = uv_async_init(&l->uv, &l->wake, run_posts);
        if (rc != 0)
            uv_loop_close(&l->uv);
    }
    if (rc != 0) {
        (void)tfd_fail(st, TFD_UNAVAILABLE, "no event loop: %s",
                       uv_strerror(rc));
        free(l);
        return NULL;
    }
    uv_loop_configure(&l->uv, UV_METRICS_IDLE_TIME);
    uv_prepare_init(&l->uv, &l->prepare);
    uv_timer_init(&l->uv, &l->clock);
    l->wake.data = l->prepare.data = l->clock.data = l;
    l->deferred_end = &l->deferred;
    l->armed_us = UINT64_MAX;
    uv_prepare_start(&l->prepare, run_deferred);
    return l;
}

/* libuv gives the signal its default meaning back; one that comes while the
 * rest is taken down must not end the process by it. */
static void close_signal(struct signal_watch *w)
{
    int number = w->handle.signum;

    uv_close((uv_handle_t *)&w->handle, NULL);
    if (number > 0)
        signal(number, SIG_IGN);
}

void tfd_loop_free(struct tfd_loop *l)
{
    int rc;

    if (!l)
        return;
    l->line.ending = true;
    tfd_loop_settle(l);
    for (int i = 0; i < l->signal_count; i++)
        close_signal(&l->signals[i]);
    uv_close((uv_handle_t *)&l->wake, NULL);
    uv_close((uv_handle_t *)&l->prepare, NULL);
    uv_close((uv_handle_t *)&l->clock, NULL);
    while (uv_run(&l->uv, UV_RUN_DEFAULT) != 0)
        ;
    tfd_loop_settle(l); /* of handles that closed just now */
    rc = uv_loop_close(&l->uv);
    assert(rc == 0);
    (void)rc;
    free(l->heap);
    free(l);
}

static bool has_posts(const struct tfd_loop *l)
{
    return __atomic_load_n(&l->posted, __ATOMIC_SEQ_CST) != NULL;
}

static bool has_events(struct tfd_loop *l)
{
    struct pollfd p = {.fd = uv_backend_fd(&l->uv), .events = POLLIN};

    return has_posts(l) || poll(&p, 1, 0) != 0;
}

/* Posts made meanwhile wake nobody, so their list is looked at once more after
 * the others know that they have to. */
static bool look_for_work(struct tfd_loop *l)
{
    bool found = false;

    __atomic_store_n(&l->looking, true, __ATOMIC_SEQ_CST);
    while (!found && tfd_spin_again(&l->spin))
        found = has_events(l);
    __atomic_store_n(&l->looking, false, __ATOMIC_SEQ_CST);
    return found || has_posts(l);
}

/* True when there is something to handle. */
static bool look_before_sleeping(struct tfd_loop *l, int64_t *looked_ns)
{
    bool found;

    run_deferred(&l->prepare);
    if (uv_backend_timeout(&l->uv) == 0)
        return true;
    tfd_spin_begin(&l->spin);
    found = look_for_work(l);
    *looked_ns = tfd_spin_elapsed_ns(&l->spin);
    run_posted(l);
    return found;
}

static void count_turn(struct tfd_loop *l, int64_t waited_ns)
{
    uint64_t now = uv_hrtime();
    int64_t took = (int64_t)(now - l->turned_ns) - waited_ns;

    tfd_histogram_add(&l->turns, took > 0 ? (uint64_t)took / 1000 : 0);
    l->turned_ns = now;
}

const struct tfd_histogram *tfd_loop_turns(const struct tfd_loop *l)
{
    return &l->turns;
}

/* libuv does not tell when it has something to register with the system, so
 * its descriptor alone is not to be relied on: uv_run() does the sleeping. */
static void turn(struct tfd_loop *l)
{
    uint64_t idle_ns = uv_metrics_idle_time(&l->uv);
    int64_t waited_ns = 0;
    bool busy = l->stopped;

    if (!busy && tfd_spin_pays(&l->spin))
        busy = look_before_sleeping(l, &waited_ns);
    uv_run(&l->uv, busy ? UV_RUN_NOWAIT : UV_RUN_ONCE);
    waited_ns += (int64_t)(uv_metrics_idle_time(&l->uv) - idle_ns);
    tfd_spin_learn(&l->spin, waited_ns);
    count_turn(l, waited_ns);
}

void tfd_loop_run(struct tfd_loop *l)
{
    /* Atomic: a thread may ask tfd_loop_inside() between two runs. */
    __atomic_store_n(&l->thread, pthread_self(), __ATOMIC_RELAXED);
    __atomic_store_n(&l->running, true, __ATOMIC_RELEASE);
    l->turned_ns = uv_hrtime();
    do
        turn(l);
    while (!l->stopped);
    l->stopped = false;
    __atomic_store_n(&l->running, false, __ATOMIC_RELEASE);
}

void tfd_loop_stop(struct tfd_loop *l)
{
    l->stopped = true;
    if (tfd_loop_inside(l))
        uv_stop(&l->uv); /* it may be about to sleep */
}

void tfd_loop_spin(struct tfd_loop *l, int64_t limit_us)
{
    tfd_spin_init(&l->spin, limit_us);
}

bool tfd_loop_inside(const struct tfd_loop *l)
{
    return __atomic_load_n(&l->running, __ATOMIC_ACQUIRE) &&
           pthread_equal(__atomic_load_n(&l->thread, __ATOMIC_RELAXED),
                         pthread_self());
}

uint64_t tfd_loop_now_us(struct tfd_loop *l)
{
    (void)l;
    return uv_hrtime() / 1000;
}

uint8_t *tfd_loop_scratch(struct tfd_loop *l)
{
    return l->scratch;
}

struct uv_loop_s *tfd_loop_uv(struct tfd_loop *l)
{
    return &l->uv;
}

struct tfd_allow *tfd_loop_allow(struct tfd_loop *l)
{
    return &l->allow;
}

struct tfd_conn_line *tfd_loop_line(struct tfd_loop *l)
{
    return &l->line;
}

struct tfd_conn **tfd_loop_conns(struct tfd_loop *l)
{
    return &l->conns;
}
