/*
 * trainer_queues.c - the threads that fill a model's queues, one for each
 * enqueue operation of its collection queue_runners; Python's QueueRunner and
 * Coordinator.
 *
 *     feeder    enqueue, enqueue, ... until the input ends (the last one closes
 *               the queue) or something fails (closes the session)
 *     watcher   waits for TFD_StopTraining(); a step that still waits for
 *               input a second later is let go: its queues are closed
 *
 * Sessions end by being closed, which cancels what waits in an enqueue.  The
 * queues themselves stay open then: those of other workers go on, and so does
 * the next try after a task was lost.
 */
#include "client/train/trainer.h"

#include "common/base/atomic.h"
#include "common/base/clock.h"

#include <pthread.h>
#include <stdlib.h>

/* A step that has its input is over by then. */
#define STOP_GRACE_US INT64_C(1000000)

struct feeder {
    struct tfd_trainer_queues *q;
    int runner;
    const TF_Operation *enqueue;
    TF_Status *status;
    pthread_t thread;
};

struct tfd_trainer_queues {
    TFD_Trainer *t;
    struct feeder *feeders;
    int started;
    int *left; /* by runner: feeders that go on; atomic */
    pthread_t watcher;
    TF_Status *watcher_status;
    bool watched;
    /* Under the trainer's lock. */
    bool ending;
    struct tfd_status failure; /* the first of a feeder */
};

static enum tfd_code run_one(TFD_Trainer *t, const TF_Operation *op,
                             TF_Status *status)
{
    TF_SessionRun(t->session, NULL, NULL, NULL, 0, NULL, NULL, 0, &op, 1, NULL,
                  status);
    return (enum tfd_code)TF_GetCode(status);
}

static bool is_ending(struct tfd_trainer_queues *q)
{
    bool ending;

    tfd_lock(&q->t->lock);
    ending = q->ending;
    tfd_unlock(&q->t->lock);
    return ending;
}

/* ---- Feeding ------------------------------------------------------------- */

static void note_failure(struct feeder *f)
{
    struct tfd_trainer_queues *q = f->q;
    bool first;

    tfd_lock(&q->t->lock);
    first = !q->ending && q->failure.code == TFD_OK;
    if (first)
        tfd_status_copy(&q->failure, &f->status->st);
    tfd_unlock(&q->t->lock);
    if (first)
        TF_CloseSession(q->t->session, f->status);
}

static void input_ended(struct feeder *f)
{
    const struct tfd_queue_runner *r =
        &f->q->t->training.queue_runners[f->runner];

    if (TFD_PENDING_SUB(&f->q->left[f->runner], 1) == 0)
        (void)run_one(f->q->t, r->close, f->status);
}

static void *feed(void *arg)
{
    struct feeder *f = arg;
    const struct tfd_queue_runner *r =
        &f->q->t->training.queue_runners[f->runner];
    enum tfd_code rc;

    do
        rc = run_one(f->q->t, f->enqueue, f->status);
    while (rc == TFD_OK && !is_ending(f->q));
    if (rc != TFD_OK && r->closed_codes & 1u << rc)
        input_ended(f);
    else if (rc != TFD_OK && rc != TFD_CANCELLED)
        note_failure(f);
    return NULL;
}

/* ---- Stopping ------------------------------------------------------------ */

/* False when the session ends before it. */
static bool wait_for_stop(struct tfd_trainer_queues *q)
{
    TFD_Trainer *t = q->t;
    int64_t until;
    bool ending;

    tfd_lock(&t->lock);
    while (!t->stop && !q->ending)
        tfd_cond_wait(&t->stop_cond, &t->lock);
    until = tfd_clock_now_us() + STOP_GRACE_US;
    while (!q->ending && tfd_cond_wait_until(&t->stop_cond, &t->lock, until))
        ;
    ending = q->ending;
    tfd_unlock(&t->lock);
    return !ending;
}

static void *watch(void *arg)
{
    struct tfd_trainer_queues *q = arg;
    const struct tfd_trainer_graph *g = &q->t->training;

    if (wait_for_stop(q))
        for (int i = 0; i < g->queue_runner_count; i++)
            (void)run_one(q->t, g->queue_runners[i].cancel, q->watcher_status);
    return NULL;
}

/* ---- Beginning and end --------------------------------------------------- */

static enum tfd_code no_thread(struct tfd_status *st)
{
    return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                    "no thread for the queues of a model");
}

static enum tfd_code start_feeder(struct tfd_trainer_queues *q, int runner,
                                  const TF_Operation *enqueue,
                                  struct tfd_status *st)
{
    struct feeder *f = &q->feeders[q->started];

    *f = (struct feeder){.q = q, .runner = runner, .enqueue = enqueue};
    f->status = TF_NewStatus();
    if (f->status && pthread_create(&f->thread, NULL, feed, f) == 0) {
        q->started++;
        return TFD_OK;
    }
    TF_DeleteStatus(f->status);
    return no_thread(st);
}

static enum tfd_code start_watcher(struct tfd_trainer_queues *q,
                                   struct tfd_status *st)
{
    q->watcher_status = TF_NewStatus();
    q->watched =
        q->watcher_status && pthread_create(&q->watcher, NULL, watch, q) == 0;
    return q->watched ? TFD_OK : no_thread(st);
}

static enum tfd_code start_all(struct tfd_trainer_queues *q,
                               struct tfd_status *st)
{
    const struct tfd_trainer_graph *g = &q->t->training;
    int feeders = 0;

    for (int i = 0; i < g->queue_runner_count; i++)
        feeders += g->queue_runners[i].enqueue_count;
    q->left = calloc((size_t)g->queue_runner_count, sizeof(*q->left));
    q->feeders = calloc((size_t)feeders + 1, sizeof(*q->feeders));
    if (!q->left || !q->feeders)
        return no_thread(st);
    TFD_TRY(start_watcher(q, st));
    for (int i = 0; i < g->queue_runner_count; i++)
        q->left[i] = g->queue_runners[i].enqueue_count;
    for (int i = 0; i < g->queue_runner_count; i++)
        for (int k = 0; k < g->queue_runners[i].enqueue_count; k++)
            TFD_TRY(start_feeder(q, i, g->queue_runners[i].enqueue[k], st));
    return TFD_OK;
}

enum tfd_code tfd_trainer_queues_begin(TFD_Trainer *t, struct tfd_status *st)
{
    if (t->training.queue_runner_count == 0)
        return TFD_OK;
    t->queues = calloc(1, sizeof(*t->queues));
    if (!t->queues)
        return no_thread(st);
    t->queues->t = t;
    return start_all(t->queues, st);
}

enum tfd_code tfd_trainer_queues_end(TFD_Trainer *t, struct tfd_status *st)
{
    struct tfd_trainer_queues *q = t->queues;
    enum tfd_code rc = st->code;

    if (!q)
        return rc;
    tfd_lock(&t->lock);
    q->ending = true;
    tfd_cond_broadcast(&t->stop_cond);
    tfd_unlock(&t->lock);
    TF_CloseSession(t->session, t->status);
    for (int i = 0; i < q->started; i++) {
        pthread_join(q->feeders[i].thread, NULL);
        TF_DeleteStatus(q->feeders[i].status);
    }
    if (q->watched)
        pthread_join(q->watcher, NULL);
    /* The step only heard that its session was closed. */
    if (rc != TFD_OK && q->failure.code != TFD_OK) {
        *st = q->failure;
        rc = st->code;
    }
    TF_DeleteStatus(q->watcher_status);
    free(q->feeders);
    free(q->left);
    free(q);
    t->queues = NULL;
    return rc;
}
