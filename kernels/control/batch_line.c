/*
 * batch_line.c - see batch_line.h.
 */
#include "kernels/control/batch_line.h"

#include "common/base/clock.h"
#include "config/limits.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- Batchers ------------------------------------------------------------ */

void tfd_batcher_free(struct tfd_resource *r)
{
    struct tfd_batcher *b = (struct tfd_batcher *)r;

    tfd_map_deinit(&b->lines);
    tfd_lock_deinit(&b->lock);
    free(b);
}

/* Less than none is no limit, as TensorFlow counts. */
static int64_t limit_of(int64_t n)
{
    return n < 0 ? INT64_MAX : n;
}

struct making {
    const struct tfd_batch_choices *choices;
    const struct tfd_batch_kind *kind;
    struct tfd_pool *pool;
};

static void copy_choices(struct tfd_batcher *b,
                         const struct tfd_batch_choices *c)
{
    b->threads =
        c->threads < TFD_BATCH_THREADS_MAX ? c->threads : TFD_BATCH_THREADS_MAX;
    b->timeout_us = c->timeout_us;
    b->rows_max = limit_of(c->rows_max);
    b->batch_rows_max = limit_of(c->batch_rows_max);
    b->batches_max = limit_of(c->batches_max);
    if (b->batches_max > TFD_BATCHES_WAITING_MAX)
        b->batches_max = TFD_BATCHES_WAITING_MAX;
    b->splits = c->splits;
    b->trims = c->trims;
    b->adapts = c->adapts;
    b->size_count = c->size_count;
    if (c->size_count)
        memcpy(b->sizes, c->sizes, (size_t)c->size_count * sizeof(int64_t));
}

static enum tfd_code make_batcher(void *arg, struct tfd_resource **out,
                                  struct tfd_status *st)
{
    const struct making *m = arg;
    size_t sizes = (size_t)m->choices->size_count * sizeof(int64_t);
    struct tfd_batcher *b;

    TFD_TRY(tfd_batch_check(m->choices, st));
    b = calloc(1, sizeof(*b) + sizes);
    if (!b)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "no memory for a batcher");
    tfd_resource_init(&b->resource, &m->kind->type);
    tfd_lock_init(&b->lock, TFD_LOCK_RESOURCE);
    tfd_map_init(&b->lines);
    b->kind = m->kind;
    b->pool = m->pool;
    copy_choices(b, m->choices);
    *out = &b->resource;
    return TFD_OK;
}

enum tfd_code tfd_batcher_find(struct tfd_rt *rt,
                               const struct tfd_batch_choices *c,
                               const struct tfd_batch_kind *kind,
                               struct tfd_batcher **out, struct tfd_status *st)
{
    struct making m = {c, kind, tfd_rt_pool(rt)};
    struct tfd_resource *r;

    TFD_TRY(tfd_rt_find_or_make(rt, c->container, c->name, &kind->type,
                                make_batcher, &m, &r, st));
    *out = (struct tfd_batcher *)r;
    return TFD_OK;
}

/* ---- Lines --------------------------------------------------------------- */

static void forget_line(struct tfd_batcher *b, struct tfd_batch_line *l)
{
    (void)tfd_map_remove(&b->lines, (struct tfd_str){l->name, l->name_size});
    free(l);
}

static struct tfd_batch_line *find_line(struct tfd_batcher *b,
                                        struct tfd_str name)
{
    uintptr_t found = 0;
    struct tfd_batch_line *l;

    if (tfd_map_get(&b->lines, name, &found))
        return (struct tfd_batch_line *)found;
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

/* ---- Batches and their parts --------------------------------------------- */

static void ring(struct tfd_batch *x)
{
    if (!x->rings)
        tfd_alarm_ring_now(&x->alarm);
}

void tfd_batch_unlink(struct tfd_batch_part *p)
{
    struct tfd_batch *x = p->batch;

    if (p->previous)
        p->previous->next = p->next;
    else
        x->first = p->next;
    if (p->next)
        p->next->previous = p->previous;
    else
        x->last = p->previous;
    p->next = p->previous = NULL;
    p->batch = NULL;
    x->rows -= p->rows;
    x->count--;
    if (x->count == 0)
        ring(x);
}

static void link_part(struct tfd_batch *x, struct tfd_batch_part *p)
{
    p->batch = x;
    p->next = NULL;
    p->previous = x->last;
    if (x->last)
        x->last->next = p;
    else
        x->first = p;
    x->last = p;
    x->rows += p->rows;
    x->count++;
}

static bool has_room(const struct tfd_batch *x, int64_t rows)
{
    return rows <= x->batcher->batch_rows_max - x->rows &&
           x->count < TFD_BATCH_TASKS_MAX;
}

static enum tfd_code begin_batch(struct tfd_batcher *b,
                                 struct tfd_batch_line *l, struct tfd_rt *rt,
                                 void (*rings)(struct tfd_alarm *a),
                                 int64_t begun_us, struct tfd_status *st)
{
    struct tfd_batch *x = calloc(1, sizeof(*x));
    int64_t waited_us = tfd_clock_now_us() - begun_us;

    if (!x)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "no memory for a batch");
    x->alarm.fn = rings;
    x->batcher = (struct tfd_batcher *)tfd_resource_ref(&b->resource);
    x->line = l;
    x->begun_us = begun_us;
    if (tfd_rt_alarm(rt, &x->alarm, b->timeout_us - waited_us, st) != TFD_OK) {
        tfd_resource_unref(&b->resource); /* the caller has another */
        free(x);
        return TFD_RESOURCE_EXHAUSTED;
    }
    l->open = x;
    l->batches++;
    return TFD_OK;
}

/* ---- Entering ------------------------------------------------------------ */

/* Rows that the line takes, all batches together that it may have. */
static int64_t room_of(const struct tfd_batcher *b,
                       const struct tfd_batch_line *l)
{
    int64_t more = b->batches_max - l->batches, each = b->batch_rows_max;
    int64_t open = l->open ? each - l->open->rows : 0;

    if (more <= 0)
        return open;
    return each > (INT64_MAX - open) / more ? INT64_MAX : more * each + open;
}

static enum tfd_code refuse(const struct tfd_batcher *b,
                            const struct tfd_batch_line *l, int64_t rows,
                            struct tfd_status *st)
{
    if (b->adapts)
        return tfd_fail(st, TFD_UNAVAILABLE,
                        "The batch scheduling queue is full");
    if (!b->splits)
        return tfd_fail(
            st, TFD_UNAVAILABLE,
            "The batch scheduling queue to which this task was submitted is "
            "full; currently %" PRId64
            " batches enqueued and max_enqueued_batches is %" PRId64,
            l->batches, b->batches_max);
    return tfd_fail(
        st, TFD_UNAVAILABLE,
        "The batch scheduling queue to which this task was submitted is full; "
        "task size is %" PRId64 " but scheduling capacity is only %" PRId64
        " (num_enqueued_batches=%" PRId64 ", max_enqueued_batches=%" PRId64
        ", open_batch_size=%" PRId64 ", max_execution_batch_size=%" PRId64 ")",
        rows, room_of(b, l), l->batches + !l->open, b->batches_max,
        l->open ? l->open->rows : 0, b->batch_rows_max);
}

static enum tfd_code check_room(const struct tfd_batcher *b,
                                const struct tfd_batch_line *l, int64_t rows,
                                struct tfd_status *st)
{
    bool full = b->splits ? rows > room_of(b, l)
                          : l->open && !has_room(l->open, rows) &&
                                l->batches >= b->batches_max;

    return full ? refuse(b, l, rows, st) : TFD_OK;
}

/* Of a batch that is closed the time has come. */
static enum tfd_code open_batch(struct tfd_batch_task *t,
                                struct tfd_batch_line *l, int64_t rows,
                                void (*rings)(struct tfd_alarm *a),
                                struct tfd_status *st)
{
    if (l->open && !has_room(l->open, rows)) {
        ring(l->open);
        l->open = NULL;
    }
    if (l->open)
        return TFD_OK;
    return begin_batch(t->batcher, l, t->k->rt, rings, tfd_clock_now_us(), st);
}

static void add_part(struct tfd_batch_task *t, struct tfd_batch *x,
                     int64_t first, int64_t rows)
{
    struct tfd_batch_part *p = &t->part[t->part_count++];

    p->first = first;
    p->rows = rows;
    t->parts_left++;
    t->refs++;
    link_part(x, p);
    if (x->rows >= x->batcher->batch_rows_max ||
        x->count >= TFD_BATCH_TASKS_MAX)
        ring(x);
}

static enum tfd_code add_task_rows(struct tfd_batch_task *t,
                                   struct tfd_batch_line *l,
                                   void (*rings)(struct tfd_alarm *a),
                                   struct tfd_status *st)
{
    const struct tfd_batcher *b = t->batcher;

    for (int64_t at = 0, n; at < t->rows; at += n) {
        int64_t left = t->rows - at, room;

        TFD_TRY(open_batch(t, l, b->splits ? 1 : left, rings, st));
        room = b->batch_rows_max - l->open->rows;
        n = left < room ? left : room;
        add_part(t, l->open, at, n);
    }
    return TFD_OK;
}

enum tfd_code tfd_batch_enter(struct tfd_batch_task *t, struct tfd_str line,
                              void (*rings)(struct tfd_alarm *a),
                              struct tfd_status *st)
{
    struct tfd_batcher *b = t->batcher;
    struct tfd_batch_line *l = find_line(b, line);
    enum tfd_code rc;

    if (!l)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "no memory for a line");
    rc = check_room(b, l, t->rows, st);
    if (rc == TFD_OK)
        rc = add_task_rows(t, l, rings, st);
    if (rc != TFD_OK && l->batches == 0)
        forget_line(b, l);
    return rc;
}

/* ---- Being due ----------------------------------------------------------- */

void tfd_batch_is_due(struct tfd_batch *x)
{
    struct tfd_batcher *b = x->batcher;

    x->rings = true;
    if (b->last_due)
        b->last_due->next = x;
    else
        b->due = x;
    b->last_due = x;
}

/* The largest of the sizes that the batch has rows for; all rows where there is
 * none. */
static int64_t trimmed_rows(const struct tfd_batch *x)
{
    const struct tfd_batcher *b = x->batcher;
    int64_t rows = x->rows;

    for (int i = 0; i < b->size_count && b->sizes[i] <= x->rows; i++)
        if (b->sizes[i] > 0)
            rows = b->sizes[i];
    return rows;
}

/* The first part that a batch of so many rows has not; NULL where none begins
 * there. */
static struct tfd_batch_part *part_behind(const struct tfd_batch *x,
                                          int64_t rows)
{
    struct tfd_batch_part *p = x->first;
    int64_t at = 0;

    for (; p && at < rows; p = p->next)
        at += p->rows;
    return at == rows ? p : NULL;
}

/* What is left over begins the next batch, which counts as begun in between, as
 * if rows had come evenly.  Without memory for it the batch stays whole. */
static void trim_open_batch(struct tfd_batch *x)
{
    struct tfd_batcher *b = x->batcher;
    struct tfd_batch_line *l = x->line;
    int64_t rows = trimmed_rows(x);
    struct tfd_batch_part *p = part_behind(x, rows), *next;
    double share = (double)rows / (double)(x->rows ? x->rows : 1);
    int64_t waited_us = tfd_clock_now_us() - x->begun_us;

    if (!p || begin_batch(b, l, p->task->k->rt, x->alarm.fn,
                          x->begun_us + (int64_t)((double)waited_us * share),
                          NULL) != TFD_OK)
        return;
    for (; p; p = next) {
        next = p->next;
        tfd_batch_unlink(p);
        link_part(l->open, p);
    }
}

struct tfd_batch *tfd_batch_take_due(struct tfd_batcher *b)
{
    struct tfd_batch *x = b->running < b->threads ? b->due : NULL;

    if (!x)
        return NULL;
    b->due = x->next;
    if (!b->due)
        b->last_due = NULL;
    b->running++;
    if (b->trims && x->line->open == x && x->line->batches == 1)
        trim_open_batch(x);
    if (x->line->open == x)
        x->line->open = NULL;
    if (--x->line->batches == 0)
        forget_line(b, x->line);
    x->line = NULL;
    x->live = x->count;
    return x;
}
