/*
 * batcher.c - see batcher.h.
 *
 * Every batch has an alarm, which is the one way to be due: who fills a batch
 * rings it, and so does who closes one to begin the next.
 */
#include "kernels/control/batcher.h"

#include "kernels/control/batch_line.h"

#include "common/base/container.h"
#include "common/base/entropy.h"
#include "config/limits.h"

#include <inttypes.h>
#include <stdlib.h>

/* ---- Tasks --------------------------------------------------------------- */

static void free_task(struct tfd_batch_task *t)
{
    for (int32_t i = 0; t->in && i < t->in_count + t->captured_count; i++)
        tfd_tensor_unref(&t->in[i]);
    for (int64_t i = 0; t->results && i < t->part_count * t->out_count; i++)
        tfd_tensor_unref(&t->results[i]);
    free(t->in);
    free(t->results);
    if (t->function)
        tfd_rt_function_let_go(t->function);
    tfd_resource_unref(&t->batcher->resource);
    free(t);
}

/* The lock is not held. */
static void unref_task(struct tfd_batch_task *t)
{
    struct tfd_batcher *b = t->batcher;
    bool is_last;

    tfd_lock(&b->lock);
    is_last = --t->refs == 0;
    tfd_unlock(&b->lock);
    if (is_last)
        free_task(t);
}

static enum tfd_code check_results(const struct tfd_batch_task *t,
                                   const struct tfd_kctx *k,
                                   const struct tfd_tensor *out,
                                   struct tfd_status *st)
{
    for (int32_t i = 0; i < t->out_count; i++) {
        int want = tfd_dtype_base(k->node->out_types[i]);

        if ((int)out[i].dtype != want)
            return tfd_fail(
                st, TFD_INTERNAL,
                "Output %d of type %s does not match declared output type %s "
                "for node {{node " TFD_STR_FMT "}}",
                i, tfd_dtype_name((int)out[i].dtype), tfd_dtype_name(want),
                TFD_STR_ARG(k->node->name));
    }
    return TFD_OK;
}

/* Output i of all parts, one behind the other. */
static enum tfd_code join_results(struct tfd_batch_task *t, int32_t i,
                                  struct tfd_tensor *out, struct tfd_status *st)
{
    struct tfd_batch_rows *rows =
        calloc((size_t)t->part_count, sizeof(struct tfd_batch_rows));
    int64_t count = 0;
    enum tfd_code rc;

    if (!rows)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "no memory for a result");
    for (int64_t p = 0; p < t->part_count; p++) {
        const struct tfd_tensor *x = &t->part[p].out[i];

        rows[p] = (struct tfd_batch_rows){x, 0, x->shape.dim[0]};
        count += x->shape.dim[0];
    }
    rc = tfd_batch_join(out, rows, t->part_count, count, st);
    free(rows);
    return rc;
}

static enum tfd_code give_results(struct tfd_batch_task *t, struct tfd_kctx *k,
                                  struct tfd_status *st)
{
    for (int64_t p = 0; p < t->part_count; p++)
        TFD_TRY(check_results(t, k, t->part[p].out, st));
    for (int32_t i = 0; i < t->out_count; i++) {
        if (t->part_count > 1) {
            TFD_TRY(join_results(t, i, &k->out[i], st));
            continue;
        }
        k->out[i] = t->part[0].out[i];
        t->part[0].out[i] = (struct tfd_tensor)TFD_TENSOR_INIT;
    }
    return TFD_OK;
}

/* All of its parts are over, and its step, which is k's, is there still. */
static void finish_task(struct tfd_batch_task *t, struct tfd_kctx *k)
{
    struct tfd_status st = t->st;

    (void)tfd_step_off_cancel(k->step, &t->cancel);
    if (st.code == TFD_OK)
        (void)!give_results(t, k, &st);
    unref_task(t);
    tfd_kctx_finish(k, &st);
}

/* ---- The end of a batch -------------------------------------------------- */

/* Under the lock: the tasks whose last part this was, in their order; k stays
 * for finish_task().  Others that nobody refers to come first. */
static struct tfd_batch_task *end_parts(struct tfd_batch *x,
                                        const struct tfd_status *st)
{
    struct tfd_batch_task *ended = NULL, **last = &ended;

    for (struct tfd_batch_part *p = x->first; p; p = p->next) {
        struct tfd_batch_task *t = p->task;

        p->batch = NULL;
        if (st && st->code != TFD_OK && t->st.code == TFD_OK)
            tfd_status_copy(&t->st, st);
        if (--t->parts_left > 0) {
            t->refs--; /* the other parts refer to it */
            continue;
        }
        *last = t;
        last = &t->next;
    }
    *last = NULL;
    return ended;
}

static void end_tasks(struct tfd_batcher *b, struct tfd_batch_task *ended)
{
    while (ended) {
        struct tfd_batch_task *t = ended;
        struct tfd_kctx *k;

        ended = t->next;
        tfd_lock(&b->lock);
        k = t->k;
        t->k = NULL;
        t->refs -= k != NULL; /* the part's is left */
        tfd_unlock(&b->lock);
        if (k)
            finish_task(t, k);
        else
            unref_task(t);
    }
}

static void run_batch(struct tfd_job *job);

static void submit(struct tfd_batch *x)
{
    if (!x)
        return;
    x->job.run = run_batch;
    if (x->batcher->pool)
        tfd_pool_submit(x->batcher->pool, &x->job);
    else
        run_batch(&x->job);
}

void tfd_batch_end(struct tfd_batch *x, const struct tfd_status *st)
{
    struct tfd_batcher *b = x->batcher;
    struct tfd_batch_task *ended;
    struct tfd_batch *next;

    tfd_lock(&b->lock);
    ended = end_parts(x, st);
    tfd_unlock(&b->lock);
    free(x);
    end_tasks(b, ended);
    tfd_lock(&b->lock);
    b->running--;
    next = tfd_batch_take_due(b);
    tfd_unlock(&b->lock);
    submit(next);
    tfd_resource_unref(&b->resource);
}

/* A batch that all steps left while it waited has no part. */
static void run_batch(struct tfd_job *job)
{
    struct tfd_batch *x = TFD_CONTAINER_OF(job, struct tfd_batch, job);

    if (x->first)
        x->batcher->kind->process(x);
    else
        tfd_batch_end(x, NULL);
}

/* Of the loop thread. */
static void time_has_come(struct tfd_alarm *a)
{
    struct tfd_batch *x = TFD_CONTAINER_OF(a, struct tfd_batch, alarm), *next;
    struct tfd_batcher *b = x->batcher;

    tfd_lock(&b->lock);
    tfd_batch_is_due(x);
    next = tfd_batch_take_due(b);
    tfd_unlock(&b->lock);
    submit(next);
}

/* ---- Leaving ------------------------------------------------------------- */

/* Under the lock. */
static void leave_batches(struct tfd_batch_task *t)
{
    for (int64_t i = 0; i < t->part_count; i++) {
        struct tfd_batch_part *p = &t->part[i];
        struct tfd_batch *x = p->batch;

        if (x && x->line) {
            tfd_batch_unlink(p);
            t->parts_left--;
            t->refs--;
        } else if (x && --x->live == 0 && x->batcher->kind->abandon) {
            x->batcher->kind->abandon(x);
        }
    }
}

static void task_cancelled(struct tfd_cancel *c)
{
    struct tfd_batch_task *t =
        TFD_CONTAINER_OF(c, struct tfd_batch_task, cancel);
    struct tfd_batcher *b = t->batcher;
    struct tfd_status st = TFD_STATUS_INIT;
    struct tfd_kctx *k;

    tfd_resource_ref(&b->resource); /* the task may have been the last */
    tfd_lock(&b->lock);
    k = t->k;
    t->k = NULL;
    if (k)
        leave_batches(t);
    tfd_unlock(&b->lock);
    if (k) {
        tfd_fail(&st, TFD_CANCELLED, "Batching was cancelled");
        unref_task(t);
        tfd_kctx_finish(k, &st);
    }
    tfd_resource_unref(&b->resource);
}

/* ---- Starting ------------------------------------------------------------ */

static enum tfd_code check_inputs(const struct tfd_kctx *k, int32_t in_count,
                                  struct tfd_status *st)
{
    for (int32_t i = 0; i < in_count; i++) {
        if (k->in[i].shape.rank == 0)
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "Batching input tensors must have at least one "
                            "dimension");
        if (k->in[i].shape.dim[0] != k->in[0].shape.dim[0])
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "Batching input tensors supplied in a given op "
                            "invocation must have equal 0th-dimension size");
    }
    return TFD_OK;
}

/* A step without rows waits for nobody. */
static enum tfd_code give_empty(struct tfd_kctx *k, struct tfd_status *st)
{
    static const struct tfd_shape none = {1, {0}};

    for (int i = 0; i < k->out_count; i++)
        TFD_TRY(tfd_kctx_output(
            k, i, (enum tfd_dtype)tfd_dtype_base(k->node->out_types[i]), &none,
            st));
    return TFD_OK;
}

static enum tfd_code check_task_rows(const struct tfd_batcher *b, int64_t rows,
                                     struct tfd_status *st)
{
    if (rows <= b->rows_max)
        return TFD_OK;
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "Task size %" PRId64 " is larger than %s %" PRId64, rows,
                    b->adapts ? "max input task size"
                              : "maximum input batch size",
                    b->rows_max);
}

/* Parts at most: the first may be what another batch has left. */
static enum tfd_code parts_of(const struct tfd_batcher *b, int64_t rows,
                              int64_t out_count, int64_t *parts,
                              struct tfd_status *st)
{
    *parts = b->splits ? rows / b->batch_rows_max + 2 : 1;
    if (*parts <= TFD_BATCH_PARTS_MAX / (out_count + 1) || *parts == 1)
        return TFD_OK;
    return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                    "%" PRId64 " rows with %" PRId64
                    " results each are split among %" PRId64
                    " batches; the limit for both is %d",
                    rows, out_count, *parts, TFD_BATCH_PARTS_MAX);
}

static enum tfd_code fill_task(struct tfd_batch_task *t, int64_t parts,
                               struct tfd_status *st)
{
    struct tfd_kctx *k = t->k;

    t->in = calloc((size_t)k->in_count + 1, sizeof(struct tfd_tensor));
    t->results =
        calloc((size_t)(parts * t->out_count) + 1, sizeof(struct tfd_tensor));
    if (!t->in || !t->results)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "no memory for a task");
    for (int i = 0; i < k->in_count; i++)
        t->in[i] = tfd_tensor_ref(&k->in[i]);
    for (int64_t i = 0; i < parts; i++) {
        t->part[i].task = t;
        t->part[i].out = t->results + i * t->out_count;
    }
    return TFD_OK;
}

static enum tfd_code new_task(struct tfd_kctx *k, struct tfd_batcher *b,
                              struct tfd_rt_function *f, int32_t in_count,
                              struct tfd_batch_task **out,
                              struct tfd_status *st)
{
    int64_t rows = k->in[0].shape.dim[0], parts;
    struct tfd_batch_task *t;

    TFD_TRY(check_task_rows(b, rows, st));
    TFD_TRY(parts_of(b, rows, k->out_count, &parts, st));
    t = calloc(1, sizeof(*t) + (size_t)parts * sizeof(struct tfd_batch_part));
    if (!t)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "no memory for a task");
    t->k = k;
    t->batcher = (struct tfd_batcher *)tfd_resource_ref(&b->resource);
    t->cancel.fn = task_cancelled;
    t->id = (int64_t)tfd_entropy_id();
    t->rows = rows;
    t->in_count = in_count;
    t->captured_count = k->in_count - in_count;
    t->out_count = k->out_count;
    t->refs = 1;
    t->function = f;
    if (f)
        tfd_rt_function_hold(f);
    if (fill_task(t, parts, st) == TFD_OK) {
        *out = t;
        return TFD_OK;
    }
    free_task(t);
    return TFD_RESOURCE_EXHAUSTED;
}

static void begin_task(struct tfd_batch_task *t, struct tfd_str line)
{
    struct tfd_batcher *b = t->batcher;
    struct tfd_status st = TFD_STATUS_INIT;
    struct tfd_kctx *k = t->k;
    enum tfd_code rc;

    tfd_lock(&b->lock);
    rc = tfd_batch_enter(t, line, time_has_come, &st);
    if (rc == TFD_OK && !tfd_step_on_cancel(k->step, &t->cancel))
        rc = tfd_fail(&st, TFD_CANCELLED, "Batching was cancelled");
    if (rc != TFD_OK) {
        leave_batches(t);
        t->k = NULL;
    }
    tfd_unlock(&b->lock);
    if (rc == TFD_OK)
        return;
    unref_task(t);
    tfd_kctx_finish(k, &st);
}

void tfd_batcher_start(struct tfd_kctx *k, const struct tfd_batch_choices *c,
                       const struct tfd_batch_kind *kind,
                       struct tfd_rt_function *f, int32_t in_count)
{
    struct tfd_status st = TFD_STATUS_INIT;
    struct tfd_batch_task *t = NULL;
    struct tfd_batcher *b = NULL;
    enum tfd_code rc = check_inputs(k, in_count, &st);

    if (rc == TFD_OK)
        rc = tfd_batcher_find(k->rt, c, kind, &b, &st);
    if (rc == TFD_OK && k->in[0].shape.dim[0] == 0)
        rc = give_empty(k, &st);
    else if (rc == TFD_OK)
        rc = new_task(k, b, f, in_count, &t, &st);
    if (t)
        begin_task(t, c->line);
    else
        tfd_kctx_finish(k, &st);
    if (b)
        tfd_resource_unref(&b->resource);
}

/* ---- For process() ------------------------------------------------------- */

int64_t tfd_batch_filled_rows(const struct tfd_batch *x)
{
    const struct tfd_batcher *b = x->batcher;

    for (int i = 0; i < b->size_count; i++)
        if (b->sizes[i] >= x->rows)
            return b->sizes[i];
    return x->rows;
}

static enum tfd_code join_inputs(const struct tfd_batch *x,
                                 struct tfd_batch_rows *rows,
                                 struct tfd_tensor *out, struct tfd_status *st)
{
    int32_t in_count = x->last->task->in_count;
    int64_t filled = tfd_batch_filled_rows(x);

    for (const struct tfd_batch_part *p = x->first; p; p = p->next)
        if (p->task->in_count != in_count)
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "Batching inputs must have equal number of edges");
    for (int32_t i = 0; i < in_count; i++) {
        int64_t n = 0;

        for (const struct tfd_batch_part *p = x->first; p; p = p->next)
            rows[n++] =
                (struct tfd_batch_rows){&p->task->in[i], p->first, p->rows};
        TFD_TRY(tfd_batch_join(&out[i], rows, n, filled, st));
    }
    return TFD_OK;
}

enum tfd_code tfd_batch_inputs(const struct tfd_batch *x,
                               struct tfd_tensor *out, struct tfd_status *st)
{
    struct tfd_batch_rows *rows =
        calloc((size_t)x->count, sizeof(struct tfd_batch_rows));
    enum tfd_code rc;

    if (!rows)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "no memory for a batch");
    rc = join_inputs(x, rows, out, st);
    free(rows);
    for (int32_t i = 0; rc != TFD_OK && i < x->last->task->in_count; i++)
        tfd_tensor_unref(&out[i]);
    return rc;
}

struct tfd_batcher *tfd_batcher_ref(struct tfd_batcher *b)
{
    return (struct tfd_batcher *)tfd_resource_ref(&b->resource);
}

void tfd_batcher_unref(struct tfd_batcher *b)
{
    tfd_resource_unref(&b->resource);
}

void tfd_batcher_lock(struct tfd_batcher *b)
{
    tfd_lock(&b->lock);
}

void tfd_batcher_unlock(struct tfd_batcher *b)
{
    tfd_unlock(&b->lock);
}
