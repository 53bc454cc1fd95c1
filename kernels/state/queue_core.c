/*
 * queue_core.c - see queue_core.h.
 *
 * An attempt is in its line exactly while it waits; under the lock whoever
 * serves it takes it out, notes what became of it, and collects it in a list.
 * Without the lock each of these is unhooked from its step's cancellation,
 * which waits for a cancellation that is under way and finds nothing to do, and
 * finished.
 *
 * A large batch is put together on a compute thread, since whose thread brought
 * the last row is not known; it may be a loop's.
 */
#include "kernels/state/queue_core.h"

#include "common/base/container.h"
#include "kernels/core/kept.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>

/* Bytes that are copied at once; 1 MB takes about 100 microseconds. */
#define BATCH_INLINE_SIZE (UINT32_C(1) << 20)

enum outcome {
    DONE,
    CLOSED,
    CLOSED_BEFORE,
    TOO_FEW,
    CANCELLED,
    NO_MEMORY,
};

enum action { ENQUEUE, DEQUEUE, CLOSE };

struct tfd_queue_attempt {
    struct tfd_queue_attempt *next, *previous; /* in its line */
    struct tfd_cancel cancel;
    struct tfd_job job;
    struct tfd_queue *queue;
    struct tfd_kctx *k;
    struct tfd_queue_taker *taker; /* NULL: k gets the row, and is finished */
    enum action action;
    bool many, up_to, waiting;
    int64_t wanted;             /* rows that are missing yet */
    struct tfd_queue_row *rows; /* to put, in order */
    struct tfd_queue_row **got; /* taken, in order; there is room for `room` */
    int64_t taken, room;
    struct tfd_queue_row *one; /* what got is where one is wanted */
    bool kept;                 /* of the rows taken, any */
    enum outcome outcome;
    int64_t size; /* TOO_FEW: of the queue then */
};

/* ---- Queues -------------------------------------------------------------- */

/* Room for one row more, and for all that may come back. */
static bool reserve_queue(struct tfd_queue *q)
{
    int64_t room = q->room ? 2 * q->room : 16;
    struct tfd_queue_slot *rows;

    if (q->count + q->lent < q->room)
        return true;
    rows = malloc((size_t)room * sizeof(*rows));
    if (!rows)
        return false;
    for (int64_t i = 0; i < q->count; i++)
        rows[i] = q->rows[(q->head + i) & (q->room - 1)];
    free(q->rows);
    q->rows = rows;
    q->room = room;
    q->head = 0;
    return true;
}

/* ---- Lines --------------------------------------------------------------- */

static struct tfd_queue_line *line_of(struct tfd_queue_attempt *a)
{
    return a->action == DEQUEUE ? &a->queue->dequeues : &a->queue->enqueues;
}

static void append_attempt(struct tfd_queue_attempt *a)
{
    struct tfd_queue_line *line = line_of(a);

    a->waiting = true;
    a->previous = line->last;
    if (line->last)
        line->last->next = a;
    else
        line->first = a;
    line->last = a;
}

/* Out of its line, into the list of those to be finished. */
static void settle_attempt(struct tfd_queue_attempt *a, enum outcome outcome,
                           struct tfd_queue_attempt **settled)
{
    struct tfd_queue_line *line = line_of(a);

    if (a->previous)
        a->previous->next = a->next;
    else
        line->first = a->next;
    if (a->next)
        a->next->previous = a->previous;
    else
        line->last = a->previous;
    a->waiting = false;
    a->outcome = outcome;
    a->previous = NULL;
    if (a->action == DEQUEUE)
        a->queue->lent -= a->taken;
    a->next = *settled;
    *settled = a;
}

/* ---- Serving ------------------------------------------------------------- */

enum served { STUCK, MOVED, SETTLED };

static enum served serve_enqueue(struct tfd_queue *q,
                                 struct tfd_queue_attempt *a)
{
    enum served served = STUCK;

    a->outcome = DONE;
    if (q->closed) {
        a->outcome = CLOSED;
        return SETTLED;
    }
    while (a->rows && q->count < q->spec.capacity) {
        struct tfd_queue_row *row = a->rows;

        if (!reserve_queue(q)) {
            a->outcome = NO_MEMORY;
            return SETTLED;
        }
        a->rows = row->next;
        row->next = NULL;
        q->kept |= row->kept;
        q->spec.kind->put(q, row);
        served = MOVED;
    }
    return a->rows ? served : SETTLED;
}

static enum served serve_close(struct tfd_queue *q, struct tfd_queue_attempt *a)
{
    a->outcome = q->closed ? CLOSED_BEFORE : DONE;
    q->closed = true;
    return SETTLED;
}

static void give_back(struct tfd_queue *q, struct tfd_queue_attempt *a)
{
    q->lent -= a->taken;
    while (a->taken > 0)
        q->spec.kind->put_back(q, a->got[--a->taken]);
}

/* For `more` rows beside those taken. */
static bool reserve_taken(struct tfd_queue_attempt *a, int64_t more)
{
    int64_t need = a->taken + more;
    int64_t room = need > 2 * a->room ? need : 2 * a->room;
    struct tfd_queue_row **got;

    if (need <= a->room)
        return true;
    if (need == 1) {
        a->got = &a->one;
        a->room = 1;
        return true;
    }
    got = malloc((size_t)room * sizeof(*got));
    if (!got)
        return false;
    for (int64_t i = 0; i < a->taken; i++)
        got[i] = a->got[i];
    if (a->got != &a->one)
        free(a->got);
    a->got = got;
    a->room = room;
    return true;
}

/* False without memory: what had been taken is in the queue again. */
static bool take_rows(struct tfd_queue *q, struct tfd_queue_attempt *a,
                      int64_t count)
{
    if (!reserve_taken(a, count)) {
        give_back(q, a);
        return false;
    }
    a->kept = q->kept;
    a->wanted -= count;
    q->lent += count;
    for (int64_t end = a->taken + count; a->taken < end; a->taken++)
        a->got[a->taken] = q->spec.kind->take(q);
    return true;
}

static enum served serve_dequeue(struct tfd_queue *q,
                                 struct tfd_queue_attempt *a)
{
    enum served served = STUCK;
    int64_t available;

    a->outcome = DONE;
    if (q->closed && q->count < a->wanted) {
        a->size = q->count;
        give_back(q, a);
        if (!a->up_to || q->count == 0) {
            if (a->up_to && q->enqueues.first)
                return MOVED; /* they may still have something */
            a->outcome = TOO_FEW;
            return SETTLED;
        }
        a->wanted = q->count;
    }
    available = q->count - (q->closed ? 0 : q->spec.min_after_dequeue);
    if (q->spec.kind->whole && available < a->wanted)
        return STUCK;
    if (available > a->wanted)
        available = a->wanted;
    if (available > 0) {
        if (!take_rows(q, a, available)) {
            a->outcome = NO_MEMORY;
            return SETTLED;
        }
        served = MOVED;
    }
    return a->wanted > 0 ? served : SETTLED;
}

static enum served serve(struct tfd_queue *q, struct tfd_queue_attempt *a)
{
    switch (a->action) {
    case ENQUEUE:
        return serve_enqueue(q, a);
    case DEQUEUE:
        return serve_dequeue(q, a);
    default:
        return serve_close(q, a);
    }
}

/* True when something has changed. */
static bool serve_line(struct tfd_queue *q, struct tfd_queue_line *line,
                       struct tfd_queue_attempt **settled)
{
    bool changed = false;

    while (line->first) {
        struct tfd_queue_attempt *a = line->first;
        enum served served = serve(q, a);

        changed |= served != STUCK;
        if (served != SETTLED)
            break;
        settle_attempt(a, a->outcome, settled);
    }
    return changed;
}

static void serve_all(struct tfd_queue *q, struct tfd_queue_attempt **settled)
{
    bool changed;

    do {
        changed = serve_line(q, &q->enqueues, settled);
        changed |= serve_line(q, &q->dequeues, settled);
    } while (changed);
}

/* ---- Finishing ----------------------------------------------------------- */

/* To TensorFlow a close that waits is one of the enqueues. */
static const char *const cancelled_texts[] = {
    [ENQUEUE] = "Enqueue operation was cancelled",
    [DEQUEUE] = "Dequeue operation was cancelled",
    [CLOSE] = "Enqueue operation was cancelled",
};

static void explain(const struct tfd_queue_attempt *a, struct tfd_status *st)
{
    const struct tfd_queue *q = a->queue;
    const char *kind = a->many && a->action == DEQUEUE ? q->spec.kind->name
                                                       : q->spec.kind->base;

    switch (a->outcome) {
    case DONE:
        return;
    case CLOSED:
        tfd_fail(st, TFD_CANCELLED, "%s '%s' is closed.", kind, q->name);
        return;
    case CLOSED_BEFORE:
        tfd_fail(st, TFD_CANCELLED, "Queue '%s' is already closed.", q->name);
        return;
    case TOO_FEW:
        tfd_fail(st, TFD_OUT_OF_RANGE,
                 "%s '%s' is closed and has insufficient elements (requested "
                 "%" PRId64 ", current size %" PRId64 ")",
                 kind, q->name, a->wanted, a->size);
        return;
    case CANCELLED:
        tfd_fail(st, TFD_CANCELLED, "%s", cancelled_texts[a->action]);
        return;
    case NO_MEMORY:
        tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "no memory for %s '%s'", kind,
                 q->name);
    }
}

/* The parts of the one row become the outputs. */
static void hand_out(struct tfd_queue_attempt *a, struct tfd_status *st)
{
    enum tfd_code rc = TFD_OK;

    for (int i = 0; rc == TFD_OK && i < a->queue->spec.count; i++)
        rc = tfd_kept_give(a->k, i, &a->got[0]->part[i], st);
}

/* What the rows show by now. */
static enum tfd_code take_kept(const struct tfd_queue_attempt *a,
                               struct tfd_status *st)
{
    for (int64_t r = 0; a->kept && r < a->taken; r++)
        for (int i = 0; i < a->queue->spec.count; i++)
            TFD_TRY(tfd_kept_take(&a->got[r]->part[i], st));
    return TFD_OK;
}

static void free_attempt(struct tfd_queue_attempt *a)
{
    int count = a->queue->spec.count;

    tfd_queue_rows_free(a->rows, count);
    for (int64_t r = 0; r < a->taken; r++)
        tfd_queue_rows_free(a->got[r], count);
    if (a->got != &a->one)
        free(a->got);
    tfd_resource_unref(&a->queue->resource);
    free(a);
}

/* The one row goes to who asked for it. */
static void finish_taker(struct tfd_queue_attempt *a, struct tfd_status *st)
{
    struct tfd_queue_taker *taker = a->taker;
    struct tfd_queue_row *row = NULL;

    if (st->code == TFD_OK && take_kept(a, st) == TFD_OK) {
        row = a->got[0];
        a->taken = 0;
    }
    free_attempt(a);
    taker->fn(taker, row, st);
}

static void finish_attempt(struct tfd_queue_attempt *a)
{
    struct tfd_status st = TFD_STATUS_INIT;
    struct tfd_kctx *k = a->k;

    explain(a, &st);
    if (a->taker) {
        finish_taker(a, &st);
        return;
    }
    if (a->outcome == DONE && a->action == DEQUEUE) {
        if (!a->many)
            hand_out(a, &st);
        else if (take_kept(a, &st) == TFD_OK)
            (void)!tfd_queue_batch(a->queue, k, a->got, a->taken, &st);
    }
    free_attempt(a);
    tfd_kctx_finish(k, &st);
}

static void finish_job(struct tfd_job *job)
{
    finish_attempt(TFD_CONTAINER_OF(job, struct tfd_queue_attempt, job));
}

static bool is_large(const struct tfd_queue_attempt *a)
{
    return a->many && a->action == DEQUEUE && a->outcome == DONE &&
           tfd_queue_batch_size(a->queue, a->got[0], a->taken) >
               BATCH_INLINE_SIZE;
}

/* Those that were settled, in their order. */
static void finish_all(struct tfd_queue_attempt *settled)
{
    struct tfd_queue_attempt *list = NULL;

    while (settled) {
        struct tfd_queue_attempt *next = settled->next;

        settled->next = list;
        list = settled;
        settled = next;
    }
    while (list) {
        struct tfd_queue_attempt *a = list;
        struct tfd_pool *pool = tfd_rt_pool(a->k->rt);

        list = a->next;
        (void)tfd_step_off_cancel(a->k->step, &a->cancel);
        if (pool && is_large(a)) {
            a->job.run = finish_job;
            tfd_pool_submit(pool, &a->job);
        } else {
            finish_attempt(a);
        }
    }
}

/* ---- Attempts ------------------------------------------------------------ */

/* The step of the attempt has been cancelled, or has failed. */
static void attempt_cancelled(struct tfd_cancel *c)
{
    struct tfd_queue_attempt *a =
        TFD_CONTAINER_OF(c, struct tfd_queue_attempt, cancel);
    struct tfd_queue_attempt *settled = NULL;
    struct tfd_queue *q = a->queue;

    tfd_resource_ref(&q->resource);
    tfd_lock(&q->lock);
    if (a->waiting) {
        if (a->action == DEQUEUE)
            give_back(q, a);
        settle_attempt(a, CANCELLED, &settled);
        serve_all(q, &settled);
    }
    tfd_unlock(&q->lock);
    finish_all(settled);
    tfd_resource_unref(&q->resource);
}

/* NULL without memory; drops the queue then. */
static struct tfd_queue_attempt *make_attempt(struct tfd_queue *take_q,
                                              struct tfd_kctx *k,
                                              enum action action,
                                              struct tfd_status *st)
{
    struct tfd_queue_attempt *a = calloc(1, sizeof(*a));

    if (!a) {
        tfd_resource_unref(&take_q->resource);
        tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "no memory to use a queue");
        return NULL;
    }
    a->queue = take_q;
    a->k = k;
    a->action = action;
    a->cancel.fn = attempt_cancelled;
    return a;
}

/* NULL without memory: k is finished then. */
static struct tfd_queue_attempt *
attempt_new(struct tfd_queue *take_q, struct tfd_kctx *k, enum action action)
{
    struct tfd_status st = TFD_STATUS_INIT;
    struct tfd_queue_attempt *a = make_attempt(take_q, k, action, &st);

    if (!a)
        tfd_kctx_finish(k, &st);
    return a;
}

static void begin_attempt(struct tfd_queue_attempt *a)
{
    struct tfd_queue_attempt *settled = NULL;
    struct tfd_queue *q = a->queue;

    tfd_lock(&q->lock);
    append_attempt(a);
    if (tfd_step_on_cancel(a->k->step, &a->cancel))
        serve_all(q, &settled);
    else
        settle_attempt(a, CANCELLED, &settled);
    tfd_unlock(&q->lock);
    finish_all(settled);
}

void tfd_queue_enqueue(struct tfd_queue *take_q, struct tfd_kctx *k,
                       struct tfd_queue_row *take_rows)
{
    int count = take_q->spec.count;
    struct tfd_queue_attempt *a = attempt_new(take_q, k, ENQUEUE);

    if (!a) {
        tfd_queue_rows_free(take_rows, count);
        return;
    }
    a->rows = take_rows;
    begin_attempt(a);
}

void tfd_queue_dequeue(struct tfd_queue *take_q, struct tfd_kctx *k)
{
    struct tfd_queue_attempt *a = attempt_new(take_q, k, DEQUEUE);

    if (!a)
        return;
    a->wanted = 1;
    begin_attempt(a);
}

void tfd_queue_dequeue_row(struct tfd_queue *take_q, struct tfd_kctx *k,
                           struct tfd_queue_taker *t)
{
    struct tfd_status st = TFD_STATUS_INIT;
    struct tfd_queue_attempt *a = make_attempt(take_q, k, DEQUEUE, &st);

    if (!a) {
        t->fn(t, NULL, &st);
        return;
    }
    a->taker = t;
    a->wanted = 1;
    begin_attempt(a);
}

void tfd_queue_dequeue_many(struct tfd_queue *take_q, struct tfd_kctx *k,
                            int64_t wanted, bool up_to)
{
    struct tfd_queue_attempt *a = attempt_new(take_q, k, DEQUEUE);

    if (!a)
        return;
    a->many = true;
    a->up_to = up_to;
    a->wanted = wanted;
    begin_attempt(a);
}

void tfd_queue_shut(struct tfd_queue *q)
{
    struct tfd_queue_attempt *settled = NULL;

    tfd_lock(&q->lock);
    q->closed = true;
    while (q->enqueues.first)
        settle_attempt(q->enqueues.first, CANCELLED, &settled);
    serve_all(q, &settled);
    tfd_unlock(&q->lock);
    finish_all(settled);
}

static void close_and_cancel(struct tfd_queue *take_q, struct tfd_kctx *k)
{
    tfd_queue_shut(take_q);
    tfd_resource_unref(&take_q->resource);
    tfd_kctx_finish(k, NULL);
}

void tfd_queue_close(struct tfd_queue *take_q, struct tfd_kctx *k, bool cancel)
{
    struct tfd_queue_attempt *a;

    if (cancel) {
        close_and_cancel(take_q, k);
        return;
    }
    a = attempt_new(take_q, k, CLOSE);
    if (a)
        begin_attempt(a);
}
