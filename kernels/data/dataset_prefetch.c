/*
 * dataset_prefetch.c - a thread that works ahead.
 *
 *     consumer   [scope: lock, changed]     takes from the ring
 *        ^
 *      ring      elements and failures in their order; `room` says that
 *        ^       there is room again, under the consumer's lock
 *     producer   [scope of its own]         pulls from the input
 *
 * The producer begins with the first element that is asked for.  When the
 * iterator goes it is told so; it frees the input's iterator and the ring, then
 * or later: nobody waits for it.
 */
#include "kernels/data/data_table.h"

#include "common/base/atomic.h"
#include "common/base/container.h"

#include <stdlib.h>

/* Elements ahead where the program leaves it to us, and at most. */
#define BUFFER_AUTO 8
#define BUFFER_MAX 100000

struct prefetched {
    struct tfd_dataset dataset;
    int64_t size;
};

struct entry {
    struct tfd_tensor *element;
    struct tfd_status *st; /* NULL: OK */
    bool end;
};

struct ahead {
    int refs; /* atomic: the iterator's and the producer's */
    struct tfd_job job;
    struct tfd_data_scope *consumer, *producer;
    struct tfd_data_iterator *input;
    int32_t count;
    struct tfd_cond room; /* with the consumer's lock, as what follows */
    struct entry *ring;
    int64_t size, first, used;
    bool stop;
};

struct prefetched_iterator {
    struct tfd_data_iterator iterator;
    struct ahead *ahead;
    bool started, is_over;
};

/* ---- What both have ------------------------------------------------------ */

static void drop_entry(struct entry *e, int32_t count)
{
    tfd_data_element_drop(e->element, count);
    free(e->element);
    free(e->st);
    *e = (struct entry){NULL, NULL, false};
}

static void unref_ahead(struct ahead *a)
{
    if (!tfd_refs_drop(&a->refs))
        return;
    for (int64_t i = 0; a->ring && i < a->size; i++)
        drop_entry(&a->ring[i], a->count);
    free(a->ring);
    tfd_data_close(a->input);
    tfd_cond_deinit(&a->room);
    tfd_data_scope_unref(a->producer);
    tfd_data_scope_unref(a->consumer);
    free(a);
}

/* ---- The producer -------------------------------------------------------- */

static void produce_entry(struct ahead *a, struct entry *e)
{
    struct tfd_status st = TFD_STATUS_INIT;

    e->element = tfd_data_element_new(a->count, &st);
    if (e->element)
        (void)!tfd_data_next(a->input, e->element, &e->end, &st);
    if (st.code == TFD_OK)
        return;
    e->st = malloc(sizeof(*e->st));
    if (e->st)
        *e->st = st;
    else
        e->end = true;
}

/* False: there is nobody to produce for.  A failure without memory for its
 * text ends the sequence. */
static bool put_entry(struct ahead *a, struct entry *e)
{
    bool stop;

    tfd_lock(&a->consumer->lock);
    while (a->used == a->size && !a->stop)
        tfd_cond_wait(&a->room, &a->consumer->lock);
    stop = a->stop;
    if (!stop) {
        a->ring[(a->first + a->used++) % a->size] = *e;
        tfd_cond_broadcast(&a->consumer->changed);
    }
    tfd_unlock(&a->consumer->lock);
    return !stop;
}

static void produce(struct tfd_job *job)
{
    struct ahead *a = TFD_CONTAINER_OF(job, struct ahead, job);
    bool end = false;

    while (!end) {
        struct entry e = {NULL, NULL, false};

        produce_entry(a, &e);
        end = e.end;
        if (!put_entry(a, &e)) {
            drop_entry(&e, a->count);
            break;
        }
    }
    unref_ahead(a);
}

/* ---- The consumer -------------------------------------------------------- */

static enum tfd_code make_ahead(struct tfd_data_iterator *it, int64_t size,
                                struct ahead **out, struct tfd_status *st)
{
    struct ahead *a = calloc(1, sizeof(*a));

    *out = a;
    if (!a)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "no memory for a buffer");
    a->refs = 1;
    tfd_cond_init(&a->room);
    a->consumer = tfd_data_scope_ref(it->scope);
    a->size = size;
    a->count = it->dataset->count;
    a->job.run = produce;
    a->ring = calloc((size_t)size, sizeof(*a->ring));
    a->producer = tfd_data_scope_new(&it->scope->task, st);
    if (!a->ring || !a->producer)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "no memory for a buffer of %lld elements",
                        (long long)size);
    return tfd_data_open(it->dataset->inputs[0], a->producer, it->path,
                         it->depth, &a->input, st);
}

static enum tfd_code prefetch_begin(struct tfd_data_iterator *it,
                                    struct tfd_status *st)
{
    struct prefetched_iterator *i = (struct prefetched_iterator *)it;
    int64_t size = ((const struct prefetched *)it->dataset)->size;

    if (size < 0)
        size = BUFFER_AUTO;
    if (size > BUFFER_MAX)
        size = BUFFER_MAX;
    if (size == 0 || it->by_number)
        return tfd_data_open_input(it, 0, &it->input, st);
    return make_ahead(it, size, &i->ahead, st);
}

static void prefetch_end(struct tfd_data_iterator *it)
{
    struct ahead *a = ((struct prefetched_iterator *)it)->ahead;

    if (!a)
        return;
    tfd_lock(&a->consumer->lock);
    a->stop = true;
    tfd_cond_broadcast(&a->room);
    tfd_unlock(&a->consumer->lock);
    if (a->producer)
        tfd_data_scope_cancel(a->producer);
    unref_ahead(a);
}

static enum tfd_code start_producer(struct prefetched_iterator *i,
                                    struct tfd_status *st)
{
    struct ahead *a = i->ahead;

    if (i->started)
        return TFD_OK;
    tfd_refs_add(&a->refs, 1);
    if (tfd_crew_submit(a->consumer->task.crew, &a->job, st) != TFD_OK) {
        unref_ahead(a);
        return TFD_RESOURCE_EXHAUSTED;
    }
    i->started = true;
    return TFD_OK;
}

static enum tfd_code take_entry(struct ahead *a, struct entry *out,
                                struct tfd_status *st)
{
    struct tfd_data_scope *s = a->consumer;
    bool there;

    tfd_lock(&s->lock);
    while (a->used == 0 && !s->cancelled)
        tfd_cond_wait(&s->changed, &s->lock);
    there = a->used > 0;
    if (there) {
        *out = a->ring[a->first];
        a->ring[a->first] = (struct entry){NULL, NULL, false};
        a->first = (a->first + 1) % a->size;
        a->used--;
        tfd_cond_signal(&a->room);
    }
    tfd_unlock(&s->lock);
    if (there)
        return TFD_OK;
    return tfd_fail(st, TFD_CANCELLED, "Operation was cancelled");
}

static enum tfd_code prefetch_next(struct tfd_data_iterator *it,
                                   struct tfd_tensor *out, bool *end,
                                   struct tfd_status *st)
{
    struct prefetched_iterator *i = (struct prefetched_iterator *)it;
    struct entry e = {NULL, NULL, false};
    enum tfd_code rc = TFD_OK;

    if (!i->ahead)
        return tfd_data_next(it->input, out, end, st);
    *end = i->is_over;
    if (i->is_over)
        return TFD_OK;
    TFD_TRY(start_producer(i, st));
    TFD_TRY(take_entry(i->ahead, &e, st));
    i->is_over = *end = e.end;
    if (e.st) {
        rc = e.st->code;
        tfd_status_copy(st, e.st);
    } else if (!e.end) {
        tfd_data_element_move(out, e.element, it->dataset->count);
    }
    drop_entry(&e, it->dataset->count);
    return rc;
}

/* Nobody knows what will be asked for next. */
static enum tfd_code prefetch_at(struct tfd_data_iterator *it, int64_t index,
                                 struct tfd_tensor *out, bool *end,
                                 struct tfd_status *st)
{
    return tfd_data_at(it->input, index, out, end, st);
}

/* ---- Making -------------------------------------------------------------- */

static int64_t prefetch_cardinality(const struct tfd_dataset *d)
{
    return tfd_dataset_cardinality(d->inputs[0]);
}

static const struct tfd_dataset_kind prefetch_kind = {
    .name = "Prefetch",
    .iterator_size = sizeof(struct prefetched_iterator),
    .same_elements = true,
    .begin = prefetch_begin,
    .next = prefetch_next,
    .at = prefetch_at,
    .end = prefetch_end,
    .cardinality = prefetch_cardinality,
};

static enum tfd_code prefetch_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    struct tfd_dataset *d;
    int64_t size;

    TFD_TRY(tfd_dataset_int(k, 1, "buffer_size", &size, st));
    if (size < -1)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "buffer_size must be >= 0 or set buffer_size to be -1 "
                        "for auto-tuning");
    TFD_TRY(tfd_dataset_make(k, &prefetch_kind, sizeof(struct prefetched), 1,
                             &d, st));
    ((struct prefetched *)d)->size = size;
    return tfd_dataset_output(k, d, st);
}

/* ---- Tables -------------------------------------------------------------- */

static const struct tfd_opdef ops[] = {
    TFD_DATA_OP("PrefetchDataset", "input_dataset: variant, buffer_size: int64",
                "",
                "; slack_period: int = 0; legacy_autotune: bool = true; "
                "buffer_size_min: int = 0" TFD_DATA_METADATA,
                0),
};

static const struct tfd_kernel kernels[] = {
    TFD_DATA_KERNEL("PrefetchDataset", prefetch_compute),
};

TFD_DATA_FAMILY(dataset_prefetch);
