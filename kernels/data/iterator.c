/*
 * iterator.c - see iterator.h.
 */
#include "kernels/data/iterator_run.h"
#include "kernels/data/maker.h"

#include "common/base/atomic.h"
#include "common/base/container.h"

#include <stdlib.h>
#include <string.h>

struct request {
    struct tfd_kctx *k;
    struct tfd_iterator *iterator;
    struct tfd_cancel cancel;
    bool optional;
    struct request *next; /* the iterator's lock's */
};

struct tfd_iterator {
    struct tfd_resource resource;
    struct tfd_anonymous anonymous;
    struct tfd_data_task task;
    int32_t count;
    enum tfd_dtype *types;
    struct tfd_shape *shapes;
    struct tfd_job job;
    struct tfd_lock lock; /* of what follows */
    struct tfd_iterator_run *run;
    struct request *first, **last;
    struct request *current;
    struct tfd_iterator_run *current_run;
    bool working; /* a thread has the line, and a reference */
};

/* ---- The resource -------------------------------------------------------- */

/* Nobody is in the line, or it would hold a reference. */
static void free_iterator(struct tfd_resource *r)
{
    struct tfd_iterator *it =
        TFD_CONTAINER_OF(r, struct tfd_iterator, resource);

    tfd_anonymous_forget(&it->anonymous);
    tfd_iterator_run_unref(it->run);
    free(it->types);
    free(it->shapes);
    tfd_lock_deinit(&it->lock);
    free(it);
}

const struct tfd_resource_type tfd_iterator_type = {
    .name = "N10tensorflow4data16IteratorResourceE",
    .what = "iterator",
    .free = free_iterator,
};

enum tfd_code tfd_iterator_new(const struct tfd_data_task *task, int32_t count,
                               const enum tfd_dtype *types,
                               const struct tfd_shape *shapes,
                               struct tfd_resource **out, struct tfd_status *st)
{
    struct tfd_iterator *it = calloc(1, sizeof(*it));
    size_t n = (size_t)count;

    if (!it)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "no memory for an iterator");
    tfd_resource_init(&it->resource, &tfd_iterator_type);
    tfd_lock_init(&it->lock, TFD_LOCK_CONTAINER);
    it->last = &it->first;
    it->task = *task;
    it->count = count;
    it->types = malloc((n + 1) * sizeof(*it->types));
    it->shapes = malloc((n + 1) * sizeof(*it->shapes));
    if (!it->types || !it->shapes) {
        tfd_resource_unref(&it->resource);
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "no memory for an iterator");
    }
    if (n > 0) {
        memcpy(it->types, types, n * sizeof(*types));
        memcpy(it->shapes, shapes, n * sizeof(*shapes));
    }
    *out = &it->resource;
    return TFD_OK;
}

struct tfd_anonymous *tfd_iterator_anonymous(struct tfd_iterator *it)
{
    return &it->anonymous;
}

/* ---- Elements of the same kind ------------------------------------------- */

static enum tfd_code check_types(int32_t count, const enum tfd_dtype *expected,
                                 int32_t have, const enum tfd_dtype *types,
                                 struct tfd_status *st)
{
    if (count != have)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Number of components does not match: expected %d "
                        "types but got %d.",
                        count, have);
    for (int32_t i = 0; i < count; i++)
        if (expected[i] != types[i])
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "Data type mismatch at component %d: expected %s "
                            "but got %s.",
                            i, tfd_dtype_name((int)expected[i]),
                            tfd_dtype_name((int)types[i]));
    return TFD_OK;
}

static enum tfd_code check_shape(int32_t i, const struct tfd_shape *expected,
                                 const struct tfd_shape *have,
                                 struct tfd_status *st)
{
    char want[TFD_SHAPE_TEXT_MAX], got[TFD_SHAPE_TEXT_MAX];
    struct tfd_shape merged = *expected;

    if (tfd_shape_merge(&merged, have, NULL) == TFD_OK)
        return TFD_OK;
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "Incompatible shapes at component %d: expected %s but got "
                    "%s.",
                    i, tfd_shape_text(expected, want),
                    tfd_shape_text(have, got));
}

enum tfd_code tfd_iterator_check(const struct tfd_iterator *it, int32_t count,
                                 const enum tfd_dtype *types,
                                 const struct tfd_shape *shapes,
                                 struct tfd_status *st)
{
    if (it->count == 0 || count == 0)
        return TFD_OK;
    TFD_TRY(check_types(count, types, it->count, it->types, st));
    for (int32_t i = 0; i < count; i++)
        TFD_TRY(check_shape(i, &shapes[i], &it->shapes[i], st));
    return TFD_OK;
}

static enum tfd_code check_dataset(const struct tfd_iterator *it,
                                   const struct tfd_dataset *d,
                                   struct tfd_status *st)
{
    TFD_TRY(check_types(it->count, it->types, d->count, d->types, st));
    for (int32_t i = 0; i < d->count; i++)
        TFD_TRY(check_shape(i, &it->shapes[i], &d->shapes[i], st));
    return TFD_OK;
}

enum tfd_code tfd_iterator_set(struct tfd_iterator *it, struct tfd_dataset *d,
                               struct tfd_status *st)
{
    struct tfd_iterator_run *run = NULL, *old;

    TFD_TRY(check_dataset(it, d, st));
    TFD_TRY(tfd_iterator_run_new(&it->task, d, &run, st));
    tfd_lock(&it->lock);
    old = it->run;
    it->run = run;
    tfd_unlock(&it->lock);
    tfd_iterator_run_unref(old);
    return TFD_OK;
}

/* ---- Positions ----------------------------------------------------------- */

static struct tfd_iterator_run *hold_run(struct tfd_iterator *it)
{
    struct tfd_iterator_run *run;

    tfd_lock(&it->lock);
    run = it->run;
    if (run)
        tfd_refs_add(&run->refs, 1);
    tfd_unlock(&it->lock);
    return run;
}

struct tfd_dataset *tfd_iterator_dataset(struct tfd_iterator *it)
{
    struct tfd_iterator_run *run = hold_run(it);
    struct tfd_dataset *d = run ? tfd_dataset_ref(run->root->dataset) : NULL;

    tfd_iterator_run_unref(run);
    return d;
}

enum tfd_code tfd_iterator_save(struct tfd_iterator *it,
                                struct tfd_iterator_position *out,
                                struct tfd_status *st)
{
    struct tfd_iterator_run *run = hold_run(it);
    enum tfd_code rc;

    if (!run)
        return tfd_fail(
            st, TFD_FAILED_PRECONDITION,
            "Save() failed because the iterator has not been initialized. "
            "Ensure that you have run the initializer operation for this "
            "iterator before saving it.");
    rc = tfd_iterator_run_save(run, out, st);
    tfd_iterator_run_unref(run);
    return rc;
}

enum tfd_code tfd_iterator_restore(struct tfd_iterator *it,
                                   const struct tfd_iterator_position *p,
                                   struct tfd_status *st)
{
    struct tfd_iterator_run *run, *old;

    TFD_TRY(tfd_iterator_run_at(&it->task, p, &run, st));
    tfd_lock(&it->lock);
    old = it->run;
    it->run = run;
    tfd_unlock(&it->lock);
    tfd_iterator_run_unref(old);
    return TFD_OK;
}

/* ---- One request --------------------------------------------------------- */

/* What the node says of its outputs. */
static enum tfd_code check_outputs(const struct tfd_kctx *k,
                                   const struct tfd_dataset *d,
                                   struct tfd_status *st)
{
    const struct tfd_dataset_maker *m = k->state;

    TFD_TRY(check_types(m->count, m->types, d->count, d->types, st));
    for (int32_t i = 0; i < m->count; i++)
        TFD_TRY(check_shape(i, &m->shapes[i], &k->out[i].shape, st));
    return TFD_OK;
}

static enum tfd_code get_into(struct tfd_iterator_run *run, struct tfd_kctx *k,
                              struct tfd_status *st)
{
    const struct tfd_dataset *d = run->root->dataset;
    struct tfd_tensor *e;
    enum tfd_code rc;
    bool end;

    if (d->count == k->out_count) {
        rc = tfd_iterator_run_next(run, k->out, &end, st);
    } else {
        e = tfd_data_element_new(d->count, st);
        if (!e)
            return TFD_RESOURCE_EXHAUSTED;
        rc = tfd_iterator_run_next(run, e, &end, st);
        tfd_data_element_drop(e, d->count);
        free(e);
    }
    if (rc == TFD_OK && end)
        return tfd_fail(st, TFD_OUT_OF_RANGE, "End of sequence");
    return rc;
}

static enum tfd_code get_values(struct tfd_iterator_run *run,
                                struct tfd_kctx *k, struct tfd_status *st)
{
    enum tfd_code rc = get_into(run, k, st);

    if (rc == TFD_OK)
        rc = check_outputs(k, run->root->dataset, st);
    if (rc != TFD_OK)
        tfd_data_element_drop(k->out, k->out_count);
    return rc;
}

static enum tfd_code put_optional(struct tfd_kctx *k, struct tfd_tensor *e,
                                  int32_t count, bool has_value,
                                  struct tfd_status *st)
{
    struct tfd_variant *v = tfd_variant_new(TFD_VARIANT_OPTIONAL, st);
    enum tfd_code rc = TFD_OK;

    if (!v)
        return TFD_RESOURCE_EXHAUSTED;
    v->has_value = has_value;
    for (int32_t i = 0; rc == TFD_OK && has_value && i < count; i++)
        rc = tfd_variant_set(v, i, &e[i], st);
    if (rc == TFD_OK)
        return tfd_variant_tensor(v, &k->out[0], st);
    tfd_variant_unref(v);
    return rc;
}

static enum tfd_code get_optional(struct tfd_iterator_run *run,
                                  struct tfd_kctx *k, struct tfd_status *st)
{
    int32_t count = run->root->dataset->count;
    struct tfd_tensor *e = tfd_data_element_new(count, st);
    enum tfd_code rc;
    bool end;

    if (!e)
        return TFD_RESOURCE_EXHAUSTED;
    rc = tfd_iterator_run_next(run, e, &end, st);
    if (rc == TFD_OK)
        rc = put_optional(k, e, count, !end, st);
    tfd_data_element_drop(e, count);
    free(e);
    return rc;
}

static enum tfd_code serve_request(struct request *r,
                                   struct tfd_iterator_run *run,
                                   struct tfd_status *st)
{
    if (!run)
        return tfd_fail(
            st, TFD_FAILED_PRECONDITION,
            "GetNext() failed because the iterator has not been initialized. "
            "Ensure that you have run the initializer operation for this "
            "iterator before getting the next element.");
    return r->optional ? get_optional(run, r->k, st)
                       : get_values(run, r->k, st);
}

static void finish_request(struct request *r, const struct tfd_status *st)
{
    struct tfd_kctx *k = r->k;

    tfd_step_off_cancel(k->step, &r->cancel);
    free(r);
    tfd_kctx_finish(k, st);
}

/* ---- The line ------------------------------------------------------------ */

/* NULL: it is empty, and nobody works it off any more. */
static struct request *take_request(struct tfd_iterator *it)
{
    struct request *r;

    tfd_lock(&it->lock);
    r = it->first;
    it->current = r;
    if (r) {
        it->first = r->next;
        if (!it->first)
            it->last = &it->first;
        it->current_run = it->run;
        if (it->run)
            tfd_refs_add(&it->run->refs, 1);
    } else {
        it->working = false;
    }
    tfd_unlock(&it->lock);
    return r;
}

static void leave_request(struct tfd_iterator *it)
{
    struct tfd_iterator_run *run = it->current_run;

    tfd_lock(&it->lock);
    it->current = NULL;
    it->current_run = NULL;
    tfd_unlock(&it->lock);
    if (run)
        tfd_data_scope_resume(run->scope);
    tfd_iterator_run_unref(run);
}

static void work_line(struct tfd_job *job)
{
    struct tfd_iterator *it = TFD_CONTAINER_OF(job, struct tfd_iterator, job);
    struct request *r;

    while ((r = take_request(it))) {
        struct tfd_status st = TFD_STATUS_INIT;

        (void)serve_request(r, it->current_run, &st);
        leave_request(it);
        finish_request(r, &st);
    }
    tfd_resource_unref(&it->resource);
}

/* False when it is not in the line any more.  The lock is held. */
static bool unlink_request(struct tfd_iterator *it, struct request *r)
{
    struct request **at = &it->first;

    while (*at && *at != r)
        at = &(*at)->next;
    if (!*at)
        return false;
    *at = r->next;
    if (it->last == &r->next)
        it->last = at;
    return true;
}

/* It leaves the line, or what it waits for ends early. */
static void request_cancelled(struct tfd_cancel *c)
{
    struct request *r = TFD_CONTAINER_OF(c, struct request, cancel);
    struct tfd_iterator *it = r->iterator;
    struct tfd_status st = TFD_STATUS_INIT;
    bool waited;

    tfd_lock(&it->lock);
    waited = unlink_request(it, r);
    if (!waited && it->current == r && it->current_run)
        tfd_data_scope_cancel(it->current_run->scope);
    tfd_unlock(&it->lock);
    if (!waited)
        return;
    tfd_fail(&st, TFD_CANCELLED, "Operation was cancelled");
    finish_request(r, &st);
}

static enum tfd_code join_line(struct tfd_iterator *it, struct request *r,
                               struct tfd_status *st)
{
    bool starts;

    tfd_lock(&it->lock);
    starts = !it->working;
    it->working = true;
    *it->last = r;
    it->last = &r->next;
    tfd_unlock(&it->lock);
    if (!starts)
        return TFD_OK;
    (void)tfd_resource_ref(&it->resource);
    it->job.run = work_line;
    return tfd_crew_submit(it->task.crew, &it->job, st);
}

/* No thread for it: whoever is in the line hears so. */
static void fail_line(struct tfd_iterator *it, const struct tfd_status *st)
{
    struct request *r;

    while ((r = take_request(it))) {
        leave_request(it);
        finish_request(r, st);
    }
    tfd_resource_unref(&it->resource);
}

void tfd_iterator_get(struct tfd_iterator *it, struct tfd_kctx *k,
                      bool optional)
{
    struct tfd_status st = TFD_STATUS_INIT;
    struct request *r = calloc(1, sizeof(*r));

    if (!r) {
        tfd_fail(&st, TFD_RESOURCE_EXHAUSTED, "no memory for a request");
        tfd_kctx_finish(k, &st);
        return;
    }
    r->k = k;
    r->iterator = it;
    r->optional = optional;
    r->cancel.fn = request_cancelled;
    if (!tfd_step_on_cancel(k->step, &r->cancel)) {
        free(r);
        tfd_fail(&st, TFD_CANCELLED, "Operation was cancelled");
        tfd_kctx_finish(k, &st);
        return;
    }
    if (join_line(it, r, &st) != TFD_OK)
        fail_line(it, &st);
}
