/*
 * reader_line.c - see reader.h: who asks a reader, one after the other.
 *
 * The job serves the first of the line until that one is done or needs a name.
 * Then it asks the queue and ends; the answer, on whatever thread, starts it
 * again.  So nothing recurses, however many wait in the line, and no thread
 * waits.
 */
#include "kernels/readers/reader.h"

#include "common/base/atomic.h"
#include "common/base/container.h"
#include "common/thread/halt.h"
#include "config/limits.h"
#include "kernels/io/file_check.h"
#include "kernels/state/queue_core.h"

#include <stdlib.h>
#include <string.h>

#define PAIRS_MIN 16

struct tfd_reader_request {
    struct tfd_reader_request *next; /* the lock's */
    struct tfd_reader *reader;
    struct tfd_kctx *k;
    struct tfd_cancel cancel;
    int is_cancelled;       /* atomic */
    tfd_reader_ask_fn *ask; /* NULL: it reads */
    struct tfd_queue *queue;
    int64_t max;
    /* What the queue has answered. */
    struct tfd_queue_taker taker;
    bool is_answered;
    struct tfd_queue_row *row;
    struct tfd_status answer;
    /* What was read so far. */
    struct tfd_reader_pair *pairs;
    int64_t count, room;
    size_t size;
};

/* ---- A name from the queue ----------------------------------------------- */

static void start_job(struct tfd_reader *r, struct tfd_rt *rt)
{
    struct tfd_pool *pool = tfd_rt_pool(rt);

    if (pool)
        tfd_pool_submit(pool, &r->job);
    else
        r->job.run(&r->job);
}

/* From here on the request is the job's again. */
static void take_answer(struct tfd_queue_taker *t, struct tfd_queue_row *row,
                        const struct tfd_status *st)
{
    struct tfd_reader_request *q =
        TFD_CONTAINER_OF(t, struct tfd_reader_request, taker);

    q->row = row;
    q->answer = *st;
    q->is_answered = true;
    start_job(q->reader, q->k->rt);
}

static void ask_queue(struct tfd_reader_request *q)
{
    struct tfd_queue *queue = q->queue;

    q->taker.fn = take_answer;
    (void)tfd_resource_ref(&queue->resource);
    tfd_queue_dequeue_row(queue, q->k, &q->taker);
}

static enum tfd_code name_of_row(const struct tfd_reader_request *q,
                                 struct tfd_bytes *out, struct tfd_status *st)
{
    const struct tfd_tensor *t = &q->row->part[0];

    if (q->queue->spec.count != 1)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Expected single component queue");
    if (t->dtype != TFD_STRING)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Expected queue with single string component");
    if (tfd_tensor_elements(t) != 1)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Expected to dequeue a one-element string tensor");
    tfd_bytes_add_str(out, tfd_tstring_view(tfd_tensor_data(t)));
    return tfd_bytes_ok(out, "the name of a file", st);
}

/* The answer becomes the reader's work. */
static enum tfd_code begin_work(struct tfd_reader *r,
                                struct tfd_reader_request *q,
                                struct tfd_status *st)
{
    const struct tfd_reader_kind *kind = r->options.kind;
    enum tfd_code rc;

    q->is_answered = false;
    r->broken = (struct tfd_status)TFD_STATUS_INIT;
    tfd_bytes_clear(&r->work);
    TFD_TRY(tfd_status_copy(st, &q->answer));
    rc = name_of_row(q, &r->work, st);
    tfd_queue_rows_free(q->row, q->queue->spec.count);
    q->row = NULL;
    if (rc == TFD_OK && kind->begin)
        rc = kind->begin(r, st);
    if (rc == TFD_OK)
        r->started++;
    else if (kind->end)
        kind->end(r);
    return rc;
}

/* ---- Pairs --------------------------------------------------------------- */

static enum tfd_code reserve_pair(struct tfd_reader_request *q,
                                  struct tfd_status *st)
{
    int64_t room = q->room ? 2 * q->room : PAIRS_MIN;
    struct tfd_reader_pair *pairs;

    if (q->count < q->room)
        return TFD_OK;
    pairs = realloc(q->pairs, (size_t)room * sizeof(*pairs));
    if (!pairs)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "no memory for %lld records", (long long)room);
    memset(pairs + q->room, 0, (size_t)(room - q->room) * sizeof(*pairs));
    q->pairs = pairs;
    q->room = room;
    return TFD_OK;
}

static enum tfd_code count_pair(struct tfd_reader_request *q,
                                struct tfd_status *st)
{
    const struct tfd_reader_pair *p = &q->pairs[q->count++];

    q->size += sizeof(*p) + tfd_tstring_view(&p->key).size +
               tfd_tstring_view(&p->value).size;
    if (q->max < 0 || q->size <= TFD_READ_UP_TO_SIZE_MAX)
        return TFD_OK;
    return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                    "%lld records take more than %zu bytes, as many as one "
                    "ReaderReadUpTo gives",
                    (long long)q->count, TFD_READ_UP_TO_SIZE_MAX);
}

/* One look for a pair in the work. */
static enum tfd_code read_pair(struct tfd_reader *r,
                               struct tfd_reader_request *q,
                               struct tfd_status *st)
{
    const struct tfd_reader_kind *kind = r->options.kind;
    struct tfd_reader_found found = {.is_pair = false};
    enum tfd_code rc;

    TFD_TRY(tfd_status_copy(st, &r->broken));
    TFD_TRY(reserve_pair(q, st));
    rc = kind->next(r, &q->pairs[q->count], &found, st);
    if (rc != TFD_OK && kind->repeats && st)
        (void)tfd_status_copy(&r->broken, st);
    TFD_TRY(rc);
    if (found.at_end) {
        r->finished = r->started;
        if (kind->end)
            kind->end(r);
    }
    if (!found.is_pair)
        return TFD_OK;
    r->produced++;
    return count_pair(q, st);
}

/* Up to so many are there when a work ends that had any. */
static bool has_enough(const struct tfd_reader *r,
                       const struct tfd_reader_request *q)
{
    int64_t max = q->max < 0 ? 1 : q->max;

    return q->count >= max || (q->count > 0 && r->started <= r->finished);
}

static enum tfd_code give_pairs(struct tfd_reader_request *q,
                                struct tfd_status *st)
{
    struct tfd_shape shape = {q->max < 0 ? 0 : 1, {q->count}};
    struct tfd_tstring *keys, *values;

    TFD_TRY(tfd_kctx_output(q->k, 0, TFD_STRING, &shape, st));
    TFD_TRY(tfd_kctx_output(q->k, 1, TFD_STRING, &shape, st));
    keys = tfd_tensor_data(&q->k->out[0]);
    values = tfd_tensor_data(&q->k->out[1]);
    for (int64_t i = 0; i < q->count; i++) {
        keys[i] = q->pairs[i].key;
        values[i] = q->pairs[i].value;
        memset(&q->pairs[i], 0, sizeof(q->pairs[i]));
    }
    return TFD_OK;
}

/* ---- Serving ------------------------------------------------------------- */

static enum tfd_code check_cancelled(struct tfd_reader_request *q,
                                     struct tfd_status *st)
{
    if (!TFD_LOAD_ACQUIRE(&q->is_cancelled))
        return TFD_OK;
    return tfd_fail(st, TFD_CANCELLED, "Dequeue operation was cancelled");
}

static enum tfd_code find_files(struct tfd_reader *r, struct tfd_kctx *k,
                                struct tfd_status *st)
{
    if (r->options.kind == &tfd_reader_identity)
        return TFD_OK;
    return tfd_file_check(k, &r->files, st);
}

/* One work is begun, where its name has come, and one look taken.  *waits:
 * there is no work.  Who is cancelled gives up within a file, too, which is
 * broken then where a part of it was passed over. */
static enum tfd_code go_on(struct tfd_reader *r, struct tfd_reader_request *q,
                           bool *waits, struct tfd_status *st)
{
    *waits = !q->is_answered && r->started <= r->finished;
    if (*waits)
        return TFD_OK;
    if (q->is_answered)
        TFD_TRY(begin_work(r, q, st));
    return read_pair(r, q, st);
}

/* *waits: the queue has been asked, and the request may be gone by now. */
static enum tfd_code serve_read(struct tfd_reader *r,
                                struct tfd_reader_request *q, bool *waits,
                                struct tfd_status *st)
{
    enum tfd_code rc = find_files(r, q->k, st);

    while (rc == TFD_OK && !has_enough(r, q)) {
        TFD_TRY(check_cancelled(q, st));
        tfd_halt_at(&q->is_cancelled);
        rc = go_on(r, q, waits, st);
        tfd_halt_at(NULL);
        if (rc == TFD_OK && *waits) {
            ask_queue(q);
            return TFD_OK;
        }
    }
    return rc == TFD_OK ? give_pairs(q, st) : rc;
}

static void finish_request(struct tfd_reader_request *q,
                           const struct tfd_status *st)
{
    struct tfd_kctx *k = q->k;

    (void)tfd_step_off_cancel(k->step, &q->cancel);
    for (int64_t i = 0; i < q->room; i++) {
        tfd_tstring_deinit(&q->pairs[i].key);
        tfd_tstring_deinit(&q->pairs[i].value);
    }
    free(q->pairs);
    if (q->row)
        tfd_queue_rows_free(q->row, q->queue->spec.count);
    if (q->queue)
        tfd_resource_unref(&q->queue->resource);
    free(q);
    tfd_kctx_finish(k, st);
}

/* ---- The line ------------------------------------------------------------ */

/* NULL: nobody is there, and nobody serves it any more. */
static struct tfd_reader_request *first_request(struct tfd_reader *r)
{
    struct tfd_reader_request *q;

    tfd_lock(&r->lock);
    if (!r->current) {
        r->current = r->line.first;
        if (r->current)
            r->line.first = r->current->next;
        if (!r->line.first)
            r->line.last = &r->line.first;
    }
    q = r->current;
    r->is_served = q != NULL;
    tfd_unlock(&r->lock);
    return q;
}

static void leave_request(struct tfd_reader *r)
{
    tfd_lock(&r->lock);
    r->current = NULL;
    tfd_unlock(&r->lock);
}

static void serve_line(struct tfd_job *job)
{
    struct tfd_reader *r = TFD_CONTAINER_OF(job, struct tfd_reader, job);
    struct tfd_reader_request *q;

    while ((q = first_request(r))) {
        struct tfd_status st = TFD_STATUS_INIT;
        bool waits = false;

        if (q->ask)
            (void)q->ask(r, q->k, &st);
        else
            (void)serve_read(r, q, &waits, &st);
        if (waits)
            return;
        leave_request(r);
        finish_request(q, &st);
    }
    tfd_resource_unref(&r->resource);
}

/* False when it is not in the line any more.  The lock is held. */
static bool unlink_request(struct tfd_reader *r, struct tfd_reader_request *q)
{
    struct tfd_reader_request **at = &r->line.first;

    while (*at && *at != q)
        at = &(*at)->next;
    if (!*at)
        return false;
    *at = q->next;
    if (r->line.last == &q->next)
        r->line.last = at;
    return true;
}

/* It leaves the line; or, served at the moment, ends behind the pair that is
 * being read.  What it waits for in the queue hears of it, too. */
static void request_cancelled(struct tfd_cancel *c)
{
    struct tfd_reader_request *q =
        TFD_CONTAINER_OF(c, struct tfd_reader_request, cancel);
    struct tfd_reader *r = q->reader;
    struct tfd_status st = TFD_STATUS_INIT;
    bool waited;

    tfd_lock(&r->lock);
    waited = unlink_request(r, q);
    TFD_STORE_RELEASE(&q->is_cancelled, 1);
    tfd_unlock(&r->lock);
    if (!waited)
        return;
    (void)check_cancelled(q, &st);
    finish_request(q, &st);
}

/* False: it has been cancelled before it was in the line. */
static bool join_line(struct tfd_reader *r, struct tfd_reader_request *q)
{
    struct tfd_rt *rt = q->k->rt;
    bool starts;

    tfd_lock(&r->lock);
    if (TFD_LOAD_ACQUIRE(&q->is_cancelled)) {
        tfd_unlock(&r->lock);
        return false;
    }
    starts = !r->is_served;
    r->is_served = true;
    *r->line.last = q;
    r->line.last = &q->next;
    tfd_unlock(&r->lock);
    if (!starts)
        return true;
    (void)tfd_resource_ref(&r->resource);
    r->job.run = serve_line;
    start_job(r, rt);
    return true;
}

static void begin_request(struct tfd_reader *take_r, struct tfd_kctx *k,
                          const struct tfd_reader_request *like)
{
    struct tfd_reader_request *q = malloc(sizeof(*q));
    struct tfd_status st = TFD_STATUS_INIT;

    if (q) {
        *q = *like;
        q->reader = take_r;
        q->k = k;
        q->cancel.fn = request_cancelled;
    }
    if (q && tfd_step_on_cancel(k->step, &q->cancel)) {
        if (!join_line(take_r, q)) {
            (void)check_cancelled(q, &st);
            finish_request(q, &st);
        }
        tfd_resource_unref(&take_r->resource);
        return;
    }
    if (q)
        tfd_fail(&st, TFD_CANCELLED, "Dequeue operation was cancelled");
    else
        tfd_fail(&st, TFD_RESOURCE_EXHAUSTED, "no memory to use a reader");
    if (like->queue)
        tfd_resource_unref(&like->queue->resource);
    tfd_resource_unref(&take_r->resource);
    free(q);
    tfd_kctx_finish(k, &st);
}

void tfd_reader_ask(struct tfd_reader *take_r, struct tfd_kctx *k,
                    tfd_reader_ask_fn *ask)
{
    const struct tfd_reader_request like = {.ask = ask};

    begin_request(take_r, k, &like);
}

void tfd_reader_read(struct tfd_reader *take_r, struct tfd_resource *take_queue,
                     struct tfd_kctx *k, int64_t max)
{
    const struct tfd_reader_request like = {
        .queue = (struct tfd_queue *)take_queue,
        .max = max,
    };

    begin_request(take_r, k, &like);
}
