/*
 * multi_device_pass.c - see multi_device_pass.h.
 *
 * The producer gives an element to who waits for one of its shard, else keeps
 * it, up to a number for each shard; then it waits for room.  So a request
 * never needs a thread.
 */
#include "kernels/data/multi_device_pass.h"

#include "common/base/atomic.h"
#include "common/base/container.h"

#include <stdlib.h>

#define BUFFER_MAX 1000

struct request {
    struct tfd_kctx *k;
    struct tfd_multi_device_pass *pass;
    int shard;
    struct tfd_cancel cancel;
    struct request *next;
};

struct entry {
    struct tfd_tensor *element; /* NULL: the end, or a failure */
    struct tfd_status st;
    struct entry *next;
};

struct shard {
    struct entry *first, **last;
    int64_t used;
    struct request *waiting, **waiting_last;
};

/* From one Init to the next. */
struct tfd_multi_device_pass {
    int refs; /* atomic: the iterator's, the producer's, requests' */
    struct tfd_job job;
    struct tfd_data_scope *scope; /* its lock is of what follows */
    struct tfd_data_iterator *it;
    int64_t room;
    struct tfd_cond has_room;
    int shard_count;
    bool stop, is_over;
    struct shard shards[];
};

/* ---- A pass -------------------------------------------------------------- */

static void free_entry(struct entry *e, int32_t count)
{
    tfd_data_element_drop(e->element, count);
    free(e->element);
    free(e);
}

void tfd_multi_device_unref(struct tfd_multi_device_pass *p)
{
    int32_t count;

    if (!p || !tfd_refs_drop(&p->refs))
        return;
    count = p->it ? p->it->dataset->count : 0;
    for (int i = 0; i < p->shard_count; i++)
        while (p->shards[i].first) {
            struct entry *e = p->shards[i].first;

            p->shards[i].first = e->next;
            free_entry(e, count);
        }
    tfd_data_close(p->it);
    tfd_cond_deinit(&p->has_room);
    tfd_data_scope_unref(p->scope);
    free(p);
}

static enum tfd_code new_pass(const struct tfd_data_task *task, int shards,
                              struct tfd_dataset *d, int64_t room,
                              struct tfd_multi_device_pass **out,
                              struct tfd_status *st)
{
    struct tfd_multi_device_pass *p =
        calloc(1, sizeof(*p) + (size_t)shards * sizeof(struct shard));

    *out = p;
    if (!p)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "no memory for an iterator");
    p->refs = 1;
    p->shard_count = shards;
    p->room = room < 1 ? 1 : room < BUFFER_MAX ? room : BUFFER_MAX;
    for (int i = 0; i < p->shard_count; i++) {
        p->shards[i].last = &p->shards[i].first;
        p->shards[i].waiting_last = &p->shards[i].waiting;
    }
    tfd_cond_init(&p->has_room);
    p->scope = tfd_data_scope_new(task, st);
    if (!p->scope)
        return TFD_RESOURCE_EXHAUSTED;
    return tfd_data_open(d, p->scope, TFD_DATA_ROOT, 0, &p->it, st);
}

void tfd_multi_device_ref(struct tfd_multi_device_pass *p)
{
    tfd_refs_add(&p->refs, 1);
}

/* ---- Requests ------------------------------------------------------------ */

static void finish_request(struct request *r, struct entry *e,
                           const struct tfd_status *st)
{
    struct tfd_kctx *k = r->k;
    struct tfd_status own = e ? e->st : *st;
    int32_t count = r->pass->it->dataset->count;

    tfd_step_off_cancel(k->step, &r->cancel);
    if (own.code == TFD_OK)
        tfd_data_element_move(k->out, e->element, count);
    if (e)
        free_entry(e, count);
    tfd_multi_device_unref(r->pass);
    free(r);
    tfd_kctx_finish(k, &own);
}

static struct request *take_waiting(struct shard *s)
{
    struct request *r = s->waiting;

    if (!r)
        return NULL;
    s->waiting = r->next;
    if (!s->waiting)
        s->waiting_last = &s->waiting;
    return r;
}

/* False when it does not wait any more. */
static bool unlink_waiting(struct shard *s, struct request *r)
{
    struct request **at = &s->waiting;

    while (*at && *at != r)
        at = &(*at)->next;
    if (!*at)
        return false;
    *at = r->next;
    if (s->waiting_last == &r->next)
        s->waiting_last = at;
    return true;
}

static void request_cancelled(struct tfd_cancel *c)
{
    struct request *r = TFD_CONTAINER_OF(c, struct request, cancel);
    struct tfd_multi_device_pass *p = r->pass;
    struct tfd_status st = TFD_STATUS_INIT;
    bool waited;

    tfd_lock(&p->scope->lock);
    waited = unlink_waiting(&p->shards[r->shard], r);
    tfd_unlock(&p->scope->lock);
    if (!waited)
        return;
    tfd_fail(&st, TFD_CANCELLED, "Operation was cancelled");
    finish_request(r, NULL, &st);
}

/* The scope's lock is held.  NULL: there is nothing yet. */
static struct entry *take_entry(struct tfd_multi_device_pass *p,
                                struct shard *s)
{
    struct entry *e = s->first;

    if (!e)
        return NULL;
    s->first = e->next;
    if (!s->first)
        s->last = &s->first;
    s->used--;
    tfd_cond_broadcast(&p->has_room);
    return e;
}

static void end_status(const struct tfd_multi_device_pass *p,
                       struct tfd_status *st)
{
    if (p->stop)
        tfd_fail(st, TFD_CANCELLED, "Iterator was begun anew");
    else
        tfd_fail(st, TFD_OUT_OF_RANGE, "End of sequence");
}

/* Waits in the line of its shard, or ends at once. */
static void place_request(struct request *r)
{
    struct tfd_multi_device_pass *p = r->pass;
    struct shard *s = &p->shards[r->shard];
    struct tfd_status st = TFD_STATUS_INIT;
    struct entry *e;
    bool waits;

    tfd_lock(&p->scope->lock);
    e = take_entry(p, s);
    waits = !e && !p->is_over && !p->stop;
    if (waits) {
        *s->waiting_last = r;
        s->waiting_last = &r->next;
    } else if (!e) {
        end_status(p, &st);
    }
    tfd_unlock(&p->scope->lock);
    if (!waits)
        finish_request(r, e, &st);
}

static enum tfd_code check_request(const struct tfd_kctx *k,
                                   const struct tfd_multi_device_pass *p,
                                   int64_t shard, struct tfd_status *st)
{
    if (shard < 0 || shard >= p->shard_count)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "shard %lld of a multi-device iterator of %d",
                        (long long)shard, p->shard_count);
    if (p->it->dataset->count == k->out_count)
        return TFD_OK;
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "Number of components does not match: expected %d types "
                    "but got %d.",
                    k->out_count, p->it->dataset->count);
}

/* The reference to the pass is taken with a request. */
static enum tfd_code make_request(struct tfd_multi_device_pass *p,
                                  struct tfd_kctx *k, int64_t shard,
                                  struct request **out, struct tfd_status *st)
{
    struct request *r;

    TFD_TRY(check_request(k, p, shard, st));
    r = calloc(1, sizeof(*r));
    if (!r)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "no memory for a request");
    r->k = k;
    r->pass = p;
    r->shard = (int)shard;
    r->cancel.fn = request_cancelled;
    *out = r;
    if (tfd_step_on_cancel(k->step, &r->cancel))
        return TFD_OK;
    free(r);
    return tfd_fail(st, TFD_CANCELLED, "Operation was cancelled");
}

enum tfd_code tfd_multi_device_get(struct tfd_multi_device_pass *take_pass,
                                   struct tfd_kctx *k, int64_t shard,
                                   struct tfd_status *st)
{
    struct request *r = NULL;
    enum tfd_code rc = make_request(take_pass, k, shard, &r, st);

    if (rc == TFD_OK)
        place_request(r);
    else
        tfd_multi_device_unref(take_pass);
    return rc;
}

/* ---- The producer -------------------------------------------------------- */

static struct entry *produce_entry(struct tfd_multi_device_pass *p, bool *end)
{
    int32_t count = p->it->dataset->count;
    struct entry *e = calloc(1, sizeof(*e));

    *end = !e;
    if (!e)
        return NULL;
    tfd_status_clear(&e->st);
    e->element = tfd_data_element_new(count, &e->st);
    if (e->element)
        (void)!tfd_data_next(p->it, e->element, end, &e->st);
    if (!*end)
        return e;
    free_entry(e, count);
    return NULL;
}

/* False: the pass is to stop, and the entry is the caller's still. */
static bool hand_entry(struct tfd_multi_device_pass *p, struct shard *s,
                       struct entry *e)
{
    struct request *r;
    bool stop;

    tfd_lock(&p->scope->lock);
    while (s->used == p->room && !p->stop)
        tfd_cond_wait(&p->has_room, &p->scope->lock);
    stop = p->stop;
    r = stop ? NULL : take_waiting(s);
    if (!stop && !r) {
        *s->last = e;
        s->last = &e->next;
        s->used++;
    }
    tfd_unlock(&p->scope->lock);
    if (r)
        finish_request(r, e, NULL);
    return !stop;
}

/* Everybody who waits hears that nothing comes any more. */
static void end_pass(struct tfd_multi_device_pass *p)
{
    struct tfd_status st = TFD_STATUS_INIT;
    struct request *all = NULL, *r;

    tfd_lock(&p->scope->lock);
    p->is_over = true;
    end_status(p, &st);
    for (int i = 0; i < p->shard_count; i++)
        while ((r = take_waiting(&p->shards[i]))) {
            r->next = all;
            all = r;
        }
    tfd_unlock(&p->scope->lock);
    while (all) {
        r = all;
        all = r->next;
        finish_request(r, NULL, &st);
    }
}

static void produce(struct tfd_job *job)
{
    struct tfd_multi_device_pass *p =
        TFD_CONTAINER_OF(job, struct tfd_multi_device_pass, job);
    bool end = false;

    for (int64_t n = 0; !end; n++) {
        struct entry *e = produce_entry(p, &end);

        if (e && !hand_entry(p, &p->shards[n % p->shard_count], e)) {
            free_entry(e, p->it->dataset->count);
            end = true;
        }
    }
    end_pass(p);
    tfd_multi_device_unref(p);
}

enum tfd_code tfd_multi_device_begin(const struct tfd_data_task *task,
                                     int shards, struct tfd_dataset *d,
                                     int64_t room,
                                     struct tfd_multi_device_pass **out,
                                     struct tfd_status *st)
{
    struct tfd_multi_device_pass *p;
    enum tfd_code rc = new_pass(task, shards, d, room, &p, st);

    if (rc == TFD_OK) {
        p->job.run = produce;
        tfd_refs_add(&p->refs, 1);
        rc = tfd_crew_submit(task->crew, &p->job, st);
        if (rc != TFD_OK)
            tfd_multi_device_unref(p);
    }
    if (rc == TFD_OK)
        *out = p;
    else
        tfd_multi_device_unref(p);
    return rc;
}

void tfd_multi_device_stop(struct tfd_multi_device_pass *p)
{
    if (!p)
        return;
    tfd_lock(&p->scope->lock);
    p->stop = true;
    tfd_cond_broadcast(&p->has_room);
    tfd_unlock(&p->scope->lock);
    tfd_data_scope_cancel(p->scope);
    tfd_multi_device_unref(p);
}
