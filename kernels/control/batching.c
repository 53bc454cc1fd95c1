/*
 * batching.c - Batch: puts the rows of steps that come at about the same time
 * together.
 *
 *     steps --> line: the open batch --> full, or its time has come --> due
 *     (several lines of one batcher, by the attribute batching_queue)     |
 *            outputs of all its steps <-- a compute thread joins rows <---+
 *
 * The last step of a batch gets all of its rows, the others get none.  A step
 * that is cancelled leaves a batch that no thread has taken.  Every batch has
 * an alarm, which is the one way to be due: who fills a batch rings it.
 */
#include "kernels/control/batch_choices.h"
#include "kernels/control/batch_rows.h"
#include "kernels/core/check.h"
#include "kernels/core/families.h"
#include "kernels/core/runtime.h"

#include "common/base/container.h"
#include "common/base/entropy.h"
#include "common/base/map.h"
#include "common/thread/lock.h"
#include "common/thread/pool.h"
#include "config/limits.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct line {
    struct batch *open; /* NULL: the next one begins another */
    int64_t batches;    /* that no thread has taken */
    size_t name_size;
    char name[];
};

struct batcher {
    struct tfd_resource resource;
    struct tfd_pool *pool;
    int64_t threads, rows_max, timeout_us, batches_max;
    struct tfd_lock lock; /* of what follows, and of its lines */
    struct tfd_map lines; /* those that have batches */
    int64_t running;
    struct batch *due, *last_due;
    int size_count;
    int64_t sizes[];
};

struct batch {
    struct tfd_alarm alarm;
    struct tfd_job job;
    struct batcher *batcher; /* counted */
    struct line *line;       /* NULL: taken */
    struct batch *next;      /* among those that are due */
    struct task *first, *last;
    int64_t rows, count;
    bool rings; /* the alarm has rung */
};

/* One execution of a node; its cancellation waits for the batcher's lock. */
struct task {
    struct task *next, *previous;
    struct tfd_cancel cancel;
    struct tfd_kctx *k;
    struct batcher *batcher;
    struct batch *batch; /* NULL: it is not in a line any more */
    int64_t id, rows;
};

/* ---- Batchers ------------------------------------------------------------ */

static void batcher_free(struct tfd_resource *r)
{
    struct batcher *b = (struct batcher *)r;

    tfd_map_deinit(&b->lines);
    tfd_lock_deinit(&b->lock);
    free(b);
}

static const struct tfd_resource_type batcher_type = {
    .name = "N10tensorflow12_GLOBAL__N_113BatchResourceE",
    .what = "batcher",
    .free = batcher_free,
};

static enum tfd_code check_choices(const struct tfd_batch_choices *c,
                                   struct tfd_status *st)
{
    if (c->threads <= 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "num_batch_threads must be positive; was %" PRId64,
                        c->threads);
    if (c->rows_max == 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "input_batch_size_limit must be positive; was 0");
    if (c->timeout_us < 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "batch_timeout_micros must be non-negative; was "
                        "%" PRId64,
                        c->timeout_us);
    return TFD_OK;
}

/* Less than none is no limit, as TensorFlow counts. */
static int64_t limit_of(int64_t n)
{
    return n < 0 ? INT64_MAX : n;
}

struct making {
    const struct tfd_batch_choices *choices;
    struct tfd_pool *pool;
};

static enum tfd_code make_batcher(void *arg, struct tfd_resource **out,
                                  struct tfd_status *st)
{
    const struct making *m = arg;
    const struct tfd_batch_choices *c = m->choices;
    size_t sizes = (size_t)c->size_count * sizeof(int64_t);
    struct batcher *b;

    TFD_TRY(check_choices(c, st));
    b = calloc(1, sizeof(*b) + sizes);
    if (!b)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "no memory for a batcher");
    tfd_resource_init(&b->resource, &batcher_type);
    tfd_lock_init(&b->lock, TFD_LOCK_RESOURCE);
    tfd_map_init(&b->lines);
    b->pool = m->pool;
    b->threads = c->threads;
    b->rows_max = limit_of(c->rows_max);
    b->timeout_us = c->timeout_us;
    b->batches_max = limit_of(c->batches_max);
    if (b->batches_max > TFD_BATCHES_WAITING_MAX)
        b->batches_max = TFD_BATCHES_WAITING_MAX;
    b->size_count = c->size_count;
    if (sizes)
        memcpy(b->sizes, c->sizes, sizes);
    *out = &b->resource;
    return TFD_OK;
}

/* ---- Lines; the batcher's lock is held ----------------------------------- */

static void forget_line(struct batcher *b, struct line *l)
{
    (void)tfd_map_remove(&b->lines, (struct tfd_str){l->name, l->name_size});
    free(l);
}

static struct line *find_line(struct batcher *b, struct tfd_str name)
{
    uintptr_t found = 0;
    struct line *l;

    if (tfd_map_get(&b->lines, name, &found))
        return (struct line *)found;
    l = calloc(1, sizeof(*l) + name.size + 1);
    if (!l)
        return NULL;
    l->name_size = name.size;
    if (name.size)
        memcpy(l->name, name.data, name.size);
    if (tfd_map_put(&b->lines, (struct tfd_str){l->name, l->name_size},
                    (uintptr_t)l))
        return l;
    free(l);
    return NULL;
}

/* The next that is due, when a thread may take it. */
static struct batch *take_due(struct batcher *b)
{
    struct batch *x = b->running < b->threads ? b->due : NULL;

    if (!x)
        return NULL;
    b->due = x->next;
    if (!b->due)
        b->last_due = NULL;
    b->running++;
    if (x->line->open == x)
        x->line->open = NULL;
    if (--x->line->batches == 0)
        forget_line(b, x->line);
    x->line = NULL;
    for (struct task *t = x->first; t; t = t->next)
        t->batch = NULL;
    return x;
}

static void unlink_task(struct task *t)
{
    struct batch *x = t->batch;

    if (t->previous)
        t->previous->next = t->next;
    else
        x->first = t->next;
    if (t->next)
        t->next->previous = t->previous;
    else
        x->last = t->previous;
    x->rows -= t->rows;
    x->count--;
    t->batch = NULL;
    if (x->count == 0 && !x->rings)
        tfd_alarm_ring_now(&x->alarm);
}

static void add_task(struct batch *x, struct task *t)
{
    t->batch = x;
    t->previous = x->last;
    if (x->last)
        x->last->next = t;
    else
        x->first = t;
    x->last = t;
    x->rows += t->rows;
    x->count++;
    if (!x->rings &&
        (x->rows >= x->batcher->rows_max || x->count >= TFD_BATCH_TASKS_MAX))
        tfd_alarm_ring_now(&x->alarm);
}

/* ---- Ends ---------------------------------------------------------------- */

static void finish_task(struct task *t, const struct tfd_status *st)
{
    struct tfd_kctx *k = t->k;

    (void)tfd_step_off_cancel(k->step, &t->cancel);
    free(t);
    tfd_kctx_finish(k, st);
}

static enum tfd_code give_id(struct task *t, struct tfd_status *st)
{
    static const struct tfd_shape scalar = {0, {0}};
    int out = t->k->in_count + 1;

    TFD_TRY(tfd_kctx_output(t->k, out, TFD_INT64, &scalar, st));
    *(int64_t *)tfd_tensor_data(&t->k->out[out]) = t->id;
    return TFD_OK;
}

/* For a step whose rows another one gets. */
static enum tfd_code give_nothing(struct task *t, struct tfd_status *st)
{
    static const struct tfd_shape none = {2, {0, 3}};
    struct tfd_kctx *k = t->k;

    for (int i = 0; i < k->in_count; i++) {
        struct tfd_shape shape = k->in[i].shape;

        shape.dim[0] = 0;
        TFD_TRY(tfd_kctx_output(k, i, k->in[i].dtype, &shape, st));
    }
    TFD_TRY(tfd_kctx_output(k, k->in_count, TFD_INT64, &none, st));
    return give_id(t, st);
}

static enum tfd_code give_index(const struct batch *x, struct tfd_status *st)
{
    struct tfd_kctx *k = x->last->k;
    struct tfd_shape shape = {2, {x->count, 3}};
    int64_t *row, at = 0;

    TFD_TRY(tfd_kctx_output(k, k->in_count, TFD_INT64, &shape, st));
    row = tfd_tensor_data(&k->out[k->in_count]);
    for (const struct task *t = x->first; t; t = t->next, row += 3) {
        row[0] = t->id;
        row[1] = at;
        row[2] = at += t->rows;
    }
    return TFD_OK;
}

static int64_t filled_rows(const struct batch *x)
{
    const struct batcher *b = x->batcher;

    for (int i = 0; i < b->size_count; i++)
        if (b->sizes[i] >= x->rows)
            return b->sizes[i];
    return x->rows;
}

static enum tfd_code join_rows(const struct batch *x,
                               const struct tfd_tensor **part,
                               struct tfd_status *st)
{
    struct tfd_kctx *k = x->last->k;
    int64_t rows = filled_rows(x);

    for (const struct task *t = x->first; t; t = t->next)
        if (t->k->in_count != k->in_count)
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "Batching inputs must have equal number of edges");
    for (int i = 0; i < k->in_count; i++) {
        int64_t n = 0;

        for (const struct task *t = x->first; t; t = t->next)
            part[n++] = &t->k->in[i];
        TFD_TRY(tfd_batch_join(k, i, part, n, rows, st));
    }
    return TFD_OK;
}

static enum tfd_code give_batch(struct batch *x, struct tfd_status *st)
{
    const struct tfd_tensor **part =
        calloc((size_t)x->count, sizeof(struct tfd_tensor *));
    enum tfd_code rc;

    if (!part)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "no memory for a batch");
    rc = join_rows(x, part, st);
    free(part);
    TFD_TRY(rc);
    TFD_TRY(give_index(x, st));
    TFD_TRY(give_id(x->last, st));
    for (struct task *t = x->first; t != x->last; t = t->next)
        TFD_TRY(give_nothing(t, st));
    return TFD_OK;
}

static void run_batch(struct tfd_job *job);

static void submit(struct batch *x)
{
    if (!x)
        return;
    x->job.run = run_batch;
    if (x->batcher->pool)
        tfd_pool_submit(x->batcher->pool, &x->job);
    else
        run_batch(&x->job);
}

/* TensorFlow tells a failure to the last step alone, and the others wait. */
static void run_batch(struct tfd_job *job)
{
    struct batch *x = TFD_CONTAINER_OF(job, struct batch, job), *next;
    struct batcher *b = x->batcher;
    struct tfd_status st = TFD_STATUS_INIT;

    if (x->first)
        (void)!give_batch(x, &st);
    for (struct task *t = x->first, *after; t; t = after) {
        after = t->next;
        finish_task(t, &st);
    }
    free(x);
    tfd_lock(&b->lock);
    b->running--;
    next = take_due(b);
    tfd_unlock(&b->lock);
    submit(next);
    tfd_resource_unref(&b->resource);
}

static void time_has_come(struct tfd_alarm *a)
{
    struct batch *x = TFD_CONTAINER_OF(a, struct batch, alarm), *next;
    struct batcher *b = x->batcher;

    tfd_lock(&b->lock);
    x->rings = true;
    if (b->last_due)
        b->last_due->next = x;
    else
        b->due = x;
    b->last_due = x;
    next = take_due(b);
    tfd_unlock(&b->lock);
    submit(next);
}

static void task_cancelled(struct tfd_cancel *c)
{
    struct task *t = TFD_CONTAINER_OF(c, struct task, cancel);
    struct batcher *b = t->batcher;
    struct tfd_status st = TFD_STATUS_INIT;
    bool waited;

    tfd_resource_ref(&b->resource);
    tfd_lock(&b->lock);
    waited = t->batch != NULL;
    if (waited)
        unlink_task(t);
    tfd_unlock(&b->lock);
    if (waited) {
        tfd_fail(&st, TFD_CANCELLED, "Batching was cancelled");
        finish_task(t, &st);
    }
    tfd_resource_unref(&b->resource);
}

/* ---- Joining a line ------------------------------------------------------ */

static enum tfd_code begin_batch(struct batcher *b, struct line *l,
                                 struct tfd_rt *rt, struct tfd_status *st)
{
    struct batch *x = calloc(1, sizeof(*x));

    if (!x)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "no memory for a batch");
    x->alarm.fn = time_has_come;
    x->batcher = (struct batcher *)tfd_resource_ref(&b->resource);
    x->line = l;
    if (tfd_rt_alarm(rt, &x->alarm, b->timeout_us, st) != TFD_OK) {
        tfd_resource_unref(&b->resource); /* the task's caller has another */
        free(x);
        return TFD_RESOURCE_EXHAUSTED;
    }
    l->open = x;
    l->batches++;
    return TFD_OK;
}

static bool has_room(const struct batcher *b, const struct batch *x,
                     int64_t rows)
{
    return rows <= b->rows_max - x->rows && x->count < TFD_BATCH_TASKS_MAX;
}

static enum tfd_code join_open_batch(struct task *t, struct tfd_str name,
                                     struct tfd_status *st)
{
    struct batcher *b = t->batcher;
    struct line *l = find_line(b, name);
    enum tfd_code rc = TFD_OK;

    if (!l)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "no memory for a line");
    if (l->open && !has_room(b, l->open, t->rows)) {
        if (l->batches >= b->batches_max)
            return tfd_fail(
                st, TFD_UNAVAILABLE,
                "The batch scheduling queue to which this task was submitted "
                "is full; currently %" PRId64 " batches enqueued and "
                "max_enqueued_batches is %" PRId64,
                l->batches, b->batches_max);
        l->open = NULL;
    }
    if (!l->open)
        rc = begin_batch(b, l, t->k->rt, st);
    if (rc == TFD_OK)
        add_task(l->open, t);
    else if (l->batches == 0)
        forget_line(b, l);
    return rc;
}

static void begin_task(struct task *t, struct tfd_str line)
{
    struct batcher *b = t->batcher;
    struct tfd_status st = TFD_STATUS_INIT;
    struct tfd_kctx *k = t->k;

    tfd_lock(&b->lock);
    if (join_open_batch(t, line, &st) == TFD_OK &&
        !tfd_step_on_cancel(k->step, &t->cancel)) {
        unlink_task(t);
        tfd_fail(&st, TFD_CANCELLED, "Batching was cancelled");
    }
    tfd_unlock(&b->lock);
    if (st.code != TFD_OK) {
        free(t);
        tfd_kctx_finish(k, &st);
    }
}

/* ---- The node ------------------------------------------------------------ */

static enum tfd_code check_inputs(const struct tfd_kctx *k,
                                  struct tfd_status *st)
{
    for (int i = 0; i < k->in_count; i++) {
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
            k, i, i < k->in_count ? k->in[i].dtype : TFD_INT64, &none, st));
    return TFD_OK;
}

static enum tfd_code new_task(struct tfd_kctx *k, struct batcher *b,
                              struct task **out, struct tfd_status *st)
{
    int64_t rows = k->in[0].shape.dim[0];
    struct task *t;

    if (rows > b->rows_max)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Task size %" PRId64
                        " is larger than maximum input batch size %" PRId64,
                        rows, b->rows_max);
    t = calloc(1, sizeof(*t));
    if (!t)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "no memory for a task");
    t->k = k;
    t->batcher = b;
    t->cancel.fn = task_cancelled;
    t->id = (int64_t)tfd_entropy_id();
    t->rows = rows;
    *out = t;
    return TFD_OK;
}

static void batch_start(struct tfd_kctx *k)
{
    const struct tfd_batch_choices *c = k->state;
    struct making m = {c, tfd_rt_pool(k->rt)};
    struct tfd_status st = TFD_STATUS_INIT;
    struct tfd_resource *r = NULL;
    struct task *t = NULL;
    enum tfd_code rc = check_inputs(k, &st);

    if (rc == TFD_OK)
        rc = tfd_rt_find_or_make(k->rt, c->container, c->name, &batcher_type,
                                 make_batcher, &m, &r, &st);
    if (rc == TFD_OK && k->in[0].shape.dim[0] == 0)
        rc = give_empty(k, &st);
    else if (rc == TFD_OK)
        rc = new_task(k, (struct batcher *)r, &t, &st);
    if (t)
        begin_task(t, c->line);
    else
        tfd_kctx_finish(k, &st);
    tfd_resource_unref(r);
}

static enum tfd_code batch_shape(struct tfd_shape_ctx *s, struct tfd_status *st)
{
    (void)st;
    if (s->out_count != s->in_count + 2)
        return TFD_OK;
    for (int i = 0; i < s->in_count; i++) {
        s->out[i] = s->in[i];
        if (s->in[i].rank > 0)
            s->out[i].dim[0] = -1;
    }
    s->out[s->in_count] = (struct tfd_shape){2, {-1, 3}};
    s->out[s->in_count + 1] = (struct tfd_shape){0, {0}};
    return TFD_OK;
}

static const struct tfd_opdef ops[] = {
    {
        .name = "Batch",
        .inputs = "in_tensors: T",
        .outputs = "batched_tensors: T, batch_index: int64, id: int64",
        .attrs = "num_batch_threads: int; max_batch_size: int; "
                 "max_enqueued_batches: int = 10; batch_timeout_micros: int; "
                 "allowed_batch_sizes: list(int) = []; "
                 "grad_timeout_micros: int; container: string = ''; "
                 "shared_name: string = ''; batching_queue: string = ''; "
                 "T: list(type) >= 1",
        .shape = batch_shape,
        .flags = TFD_OP_STATEFUL,
    },
};

static const struct tfd_kernel kernels[] = {
    TFD_KERNEL_ANY("Batch", NULL, .start = batch_start,
                   .prepare = tfd_batch_prepare, .release = tfd_batch_release,
                   .state_size = sizeof(struct tfd_batch_choices),
                   .flags = TFD_KERNEL_WAITS),
};

const struct tfd_family tfd_family_batching = {
    .name = "batching",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
