/*
 * work_line.c - see work_line.h.
 */
#include "kernels/data_calls/work_line.h"

#include "common/base/atomic.h"
#include "common/base/container.h"
#include "common/thread/pool.h"
#include "config/limits.h"

#include <assert.h>
#include <stdlib.h>

/* At once where the program leaves it to us, for each thread. */
#define WORK_AUTO 2

struct line_work {
    struct tfd_job job;
    struct tfd_work_line *line;
    struct tfd_tensor *element, *out; /* NULL: there was no element */
    struct tfd_status st;
    bool over; /* the scope's lock's */
};

struct tfd_work_line {
    int refs; /* atomic: the iterator's, and that of each work under way */
    struct tfd_data_scope *scope;
    struct tfd_dataset *dataset;
    struct tfd_data_iterator *input; /* borrowed from the iterator */
    tfd_work_fn *work;
    bool input_over;
    int closed; /* atomic: nobody wants what is under way */
    int64_t size, first, used;
    struct line_work works[];
};

static void drop_work(struct line_work *w)
{
    const struct tfd_dataset *d = w->line->dataset;

    tfd_data_element_drop(w->element, d->inputs[0]->count);
    tfd_data_element_drop(w->out, d->count);
    free(w->element);
    free(w->out);
    w->element = w->out = NULL;
}

static void unref_line(struct tfd_work_line *l)
{
    if (!tfd_refs_drop(&l->refs))
        return;
    for (int64_t i = 0; i < l->size; i++)
        drop_work(&l->works[i]);
    tfd_dataset_unref(l->dataset);
    tfd_data_scope_unref(l->scope);
    free(l);
}

/* Without threads an element is worked on when it is asked for. */
static int64_t works_at_once(const struct tfd_data_iterator *it, int64_t calls)
{
    int64_t threads = tfd_pool_threads(it->scope->task.pool);

    if (threads == 0)
        return 1;
    if (calls < 0)
        calls = WORK_AUTO * threads;
    return calls < TFD_DATA_CALLS_MAX ? calls : TFD_DATA_CALLS_MAX;
}

enum tfd_code tfd_work_line_new(struct tfd_data_iterator *it, tfd_work_fn *work,
                                int64_t calls, struct tfd_work_line **out,
                                struct tfd_status *st)
{
    int64_t size = works_at_once(it, calls);
    struct tfd_work_line *l =
        calloc(1, sizeof(*l) + (size_t)size * sizeof(struct line_work));

    if (!l)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "no memory for elements");
    l->refs = 1;
    l->scope = tfd_data_scope_ref(it->scope);
    l->dataset = tfd_dataset_ref(it->dataset);
    l->input = it->input;
    l->work = work;
    l->size = size;
    for (int64_t i = 0; i < size; i++)
        l->works[i].line = l;
    *out = l;
    return TFD_OK;
}

void tfd_work_line_close(struct tfd_work_line *l)
{
    if (!l)
        return;
    TFD_STORE_RELEASE(&l->closed, 1); /* what is queued ends at once */
    unref_line(l);
}

/* ---- Work ---------------------------------------------------------------- */

static void run_work(struct line_work *w)
{
    const struct tfd_work_line *l = w->line;

    if (l->work(l->dataset, w->element, w->out, &w->st) != TFD_OK)
        assert(w->st.code != TFD_OK);
    tfd_data_element_drop(w->element, l->dataset->inputs[0]->count);
}

static void run_job(struct tfd_job *job)
{
    struct line_work *w = TFD_CONTAINER_OF(job, struct line_work, job);
    struct tfd_work_line *l = w->line;

    if (!TFD_LOAD_ACQUIRE(&l->closed))
        run_work(w);
    tfd_lock(&l->scope->lock);
    w->over = true;
    tfd_cond_broadcast(&l->scope->changed);
    tfd_unlock(&l->scope->lock);
    unref_line(l);
}

/* One that nobody works on beside others is worked on here. */
static void start_work(struct tfd_work_line *l, struct line_work *w)
{
    w->over = l->size == 1;
    if (w->over) {
        run_work(w);
        return;
    }
    w->job.run = run_job;
    tfd_refs_add(&l->refs, 1);
    tfd_pool_submit(l->scope->task.pool, &w->job);
}

/* The next element of the input has its place, and so has its failure. */
static enum tfd_code take_element(struct tfd_work_line *l,
                                  struct tfd_status *st)
{
    struct line_work *w = &l->works[(l->first + l->used) % l->size];

    tfd_status_clear(&w->st);
    w->element = tfd_data_element_new(l->dataset->inputs[0]->count, st);
    w->out = tfd_data_element_new(l->dataset->count, st);
    if (!w->element || !w->out) {
        drop_work(w);
        return TFD_RESOURCE_EXHAUSTED;
    }
    if (tfd_data_next(l->input, w->element, &l->input_over, &w->st) == TFD_OK &&
        !l->input_over) {
        l->used++;
        start_work(l, w);
        return TFD_OK;
    }
    drop_work(w);
    if (w->st.code == TFD_CANCELLED)
        return tfd_status_copy(st, &w->st);
    w->over = true;
    l->used += w->st.code != TFD_OK;
    return TFD_OK;
}

/* No element is asked for behind a failure of the input before it is told. */
static bool has_room(const struct tfd_work_line *l)
{
    const struct line_work *last =
        &l->works[(l->first + l->used + l->size - 1) % l->size];

    return !l->input_over && l->used < l->size &&
           (l->used == 0 || last->element);
}

static enum tfd_code take_first(struct tfd_work_line *l, struct tfd_tensor *out,
                                struct tfd_status *st)
{
    struct line_work *w = &l->works[l->first];

    tfd_lock(&l->scope->lock);
    while (!w->over && !l->scope->cancelled)
        tfd_cond_wait(&l->scope->changed, &l->scope->lock);
    tfd_unlock(&l->scope->lock);
    TFD_TRY(tfd_data_scope_check(l->scope, st));
    if (w->st.code == TFD_OK)
        tfd_data_element_move(out, w->out, l->dataset->count);
    drop_work(w);
    l->first = (l->first + 1) % l->size;
    l->used--;
    return w->st.code == TFD_OK ? TFD_OK : tfd_status_copy(st, &w->st);
}

enum tfd_code tfd_work_line_next(struct tfd_work_line *l,
                                 struct tfd_tensor *out, bool *end,
                                 struct tfd_status *st)
{
    while (has_room(l))
        TFD_TRY(take_element(l, st));
    *end = l->used == 0;
    return *end ? TFD_OK : take_first(l, out, st);
}
