/*
 * barrier_core.c - see barrier_core.h.
 *
 * Rows that are complete leave the barrier under its lock and enter the queue
 * without it; `moving` counts them in between, so that a taker does not find
 * them missing and the queue does not close before they are in.
 */
#include "kernels/state/barrier_core.h"

#include "config/limits.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct element {
    struct tfd_queue_row *row;
    int missing; /* components */
    size_t key_size;
    char key[];
};

/* ---- Barriers ------------------------------------------------------------ */

static void element_free(struct element *e, int count)
{
    if (e)
        tfd_queue_rows_free(e->row, count);
    free(e);
}

static void drop_elements(struct tfd_barrier *b)
{
    const struct tfd_map_entry *entry;
    size_t at = 0;

    while (tfd_map_next(&b->elements, &at, &entry))
        element_free((struct element *)entry->value, b->queue->spec.count);
    tfd_map_deinit(&b->elements);
    tfd_map_init(&b->elements);
}

static void barrier_free(struct tfd_resource *r)
{
    struct tfd_barrier *b = (struct tfd_barrier *)r;

    assert(b->moving == 0);
    if (b->queue) {
        drop_elements(b);
        tfd_resource_unref(&b->queue->resource);
    }
    tfd_map_deinit(&b->elements);
    tfd_lock_deinit(&b->lock);
    free(b->name);
    free(b);
}

const struct tfd_resource_type tfd_barrier_type = {
    .name = "N10tensorflow7barrier7BarrierE",
    .what = "barrier",
    .free = barrier_free,
};

static enum tfd_code make_queue(struct tfd_barrier *b,
                                const struct tfd_queue_spec *spec,
                                struct tfd_status *st)
{
    struct tfd_queue_order order = {.spec = spec};
    struct tfd_resource *queue;
    struct tfd_bytes name;
    enum tfd_code rc;

    tfd_bytes_init(&name, TFD_NAME_SIZE_MAX + sizeof("_queue"));
    tfd_bytes_printf(&name, "%s_queue", b->name);
    order.name = tfd_bytes_view(&name);
    rc = tfd_bytes_ok(&name, "a barrier's name", st);
    if (rc == TFD_OK)
        rc = tfd_queue_make(&order, &queue, st);
    if (rc == TFD_OK)
        b->queue = (struct tfd_queue *)queue;
    tfd_bytes_deinit(&name);
    return rc;
}

enum tfd_code tfd_barrier_make(void *arg, struct tfd_resource **out,
                               struct tfd_status *st)
{
    const struct tfd_barrier_order *order = arg;
    struct tfd_barrier *b = calloc(1, sizeof(*b));

    if (!b)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "no memory for a barrier");
    tfd_resource_init(&b->resource, &tfd_barrier_type);
    tfd_lock_init(&b->lock, TFD_LOCK_RESOURCE);
    tfd_map_init(&b->elements);
    b->index = INT64_MIN;
    b->name = calloc(1, order->name.size + 1);
    if (b->name && order->name.size)
        memcpy(b->name, order->name.data, order->name.size);
    if (!b->name)
        tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "no memory for a barrier");
    else if (make_queue(b, order->spec, st) == TFD_OK) {
        *out = &b->resource;
        return TFD_OK;
    }
    tfd_resource_unref(&b->resource);
    return st->code;
}

int64_t tfd_barrier_ready(struct tfd_barrier *b)
{
    return tfd_queue_size(b->queue);
}

int64_t tfd_barrier_incomplete(struct tfd_barrier *b)
{
    int64_t count;

    tfd_lock(&b->lock);
    count = (int64_t)b->elements.count;
    tfd_unlock(&b->lock);
    return count;
}

static void barrier_done(struct tfd_barrier *take_b, struct tfd_kctx *k,
                         const struct tfd_status *st)
{
    tfd_resource_unref(&take_b->resource);
    tfd_kctx_finish(k, st->code == TFD_OK ? NULL : st);
}

/* ---- Insertions: the lock is held ---------------------------------------- */

struct insertion {
    struct tfd_barrier *b;
    const struct tfd_tensor *keys, *values;
    int component;
    struct tfd_queue_row *ready, **last; /* in order */
    int64_t ready_count;
    bool is_new; /* it brings a key */
    struct tfd_status *st;
};

static const char *truth(bool b)
{
    return b ? "1" : "0";
}

static enum tfd_code check_closed(const struct insertion *s, int64_t keys)
{
    const struct tfd_barrier *b = s->b;

    if (!b->closed || (!b->cancelled && (keys == 0 || b->elements.count > 0)))
        return TFD_OK;
    return tfd_fail(s->st, TFD_CANCELLED,
                    "Barrier %s is closed.  Pending enqueues cancelled: %s.  "
                    "Number of new insertions: %" PRId64
                    ".  Number of incomplete keys: %zu.",
                    b->name, truth(b->cancelled), keys, b->elements.count);
}

static enum tfd_code fill_head(const struct insertion *s, struct element *e)
{
    const struct tfd_shape scalar = {0, {0}};
    struct tfd_tensor *part = e->row->part;
    struct tfd_str key = {e->key, e->key_size};

    TFD_TRY(tfd_tensor_new(&part[0], TFD_INT64, &scalar, s->st));
    TFD_TRY(tfd_tensor_new(&part[1], TFD_STRING, &scalar, s->st));
    *(int64_t *)tfd_tensor_data(&part[0]) = s->b->index;
    e->row->priority = s->b->index;
    return tfd_tstring_set(tfd_tensor_data(&part[1]), key, s->st);
}

static enum tfd_code add_element(struct insertion *s, struct tfd_str key,
                                 struct element **out)
{
    int count = s->b->queue->spec.count;
    struct element *e = calloc(1, sizeof(*e) + key.size + 1);
    enum tfd_code rc;

    if (!e)
        return tfd_fail(s->st, TFD_RESOURCE_EXHAUSTED, "no memory for a key");
    e->key_size = key.size;
    if (key.size)
        memcpy(e->key, key.data, key.size);
    e->missing = count - TFD_BARRIER_HEAD;
    e->row = tfd_queue_row_new(count, s->st);
    rc = e->row ? fill_head(s, e) : s->st->code;
    if (rc == TFD_OK &&
        !tfd_map_put(&s->b->elements, (struct tfd_str){e->key, key.size},
                     (uintptr_t)e))
        rc = tfd_fail(s->st, TFD_RESOURCE_EXHAUSTED, "no memory for a key");
    if (rc != TFD_OK) {
        element_free(e, count);
        return rc;
    }
    s->is_new = true;
    *out = e;
    return TFD_OK;
}

static enum tfd_code find_element(struct insertion *s, int64_t at,
                                  struct tfd_str key, struct element **out)
{
    const struct tfd_barrier *b = s->b;
    uintptr_t value;

    if (tfd_map_get(&b->elements, key, &value)) {
        *out = (struct element *)value;
        return TFD_OK;
    }
    if (!b->closed)
        return add_element(s, key, out);
    return tfd_fail(s->st, TFD_CANCELLED,
                    "Barrier %s is closed, but attempted to insert a brand new "
                    "key: " TFD_STR_FMT
                    ".  Pending enqueues cancelled: %s.  Insertion index: "
                    "%" PRId64 ".  Number of incomplete keys: %zu.",
                    b->name, TFD_STR_ARG(key), truth(b->cancelled), at,
                    b->elements.count);
}

/* The queue takes only what fits its shapes, but finds that out here. */
static enum tfd_code complete(struct insertion *s, struct element *e)
{
    const struct tfd_queue_spec *spec = &s->b->queue->spec;
    char want[TFD_SHAPE_TEXT_MAX], have[TFD_SHAPE_TEXT_MAX];

    (void)tfd_map_remove(&s->b->elements,
                         (struct tfd_str){e->key, e->key_size});
    for (int i = TFD_BARRIER_HEAD; i < spec->count; i++) {
        if (tfd_shape_equal(&spec->shapes[i], &e->row->part[i].shape))
            continue;
        tfd_fail(s->st, TFD_INVALID_ARGUMENT,
                 "Shape mismatch in tuple component %d. Expected %s, got %s", i,
                 tfd_shape_text(&spec->shapes[i], want),
                 tfd_shape_text(&e->row->part[i].shape, have));
        element_free(e, spec->count);
        return s->st->code;
    }
    *s->last = e->row;
    s->last = &e->row->next;
    s->ready_count++;
    e->row = NULL;
    element_free(e, spec->count);
    return TFD_OK;
}

static enum tfd_code insert_one(struct insertion *s, int64_t at)
{
    const struct tfd_tstring *keys = tfd_tensor_data(s->keys);
    struct tfd_str key = tfd_tstring_view(&keys[at]);
    struct tfd_tensor *part;
    struct element *e = NULL;

    TFD_TRY(find_element(s, at, key, &e));
    part = &e->row->part[TFD_BARRIER_HEAD + s->component];
    if (part->buffer)
        return tfd_fail(s->st, TFD_INVALID_ARGUMENT,
                        "Key " TFD_STR_FMT
                        " already has a value for component %d in barrier %s",
                        TFD_STR_ARG(key), s->component, s->b->name);
    TFD_TRY(tfd_queue_slice(s->values, at, part, s->st));
    return --e->missing > 0 ? TFD_OK : complete(s, e);
}

static enum tfd_code insert_all(struct insertion *s)
{
    int64_t count = tfd_tensor_elements(s->keys);

    TFD_TRY(check_closed(s, count));
    for (int64_t i = 0; i < count; i++)
        TFD_TRY(insert_one(s, i));
    if (s->is_new)
        s->b->index++;
    return TFD_OK;
}

/* ---- Insertions ---------------------------------------------------------- */

static enum tfd_code check_insertion(const struct insertion *s)
{
    const struct tfd_shape *values = &s->values->shape;
    int64_t keys = tfd_tensor_elements(s->keys);
    char text[TFD_SHAPE_TEXT_MAX];

    if (keys > 0 && tfd_tensor_elements(s->values) == 0)
        return tfd_fail(s->st, TFD_INVALID_ARGUMENT,
                        "Tensors with no elements are not supported %s: "
                        "received shape %s",
                        s->b->name, tfd_shape_text(values, text));
    if (values->rank < 1 || values->dim[0] != keys)
        return tfd_fail(s->st, TFD_INVALID_ARGUMENT,
                        "Barrier %s is given %" PRId64
                        " keys and values of shape %s",
                        s->b->name, keys, tfd_shape_text(values, text));
    return TFD_OK;
}

/* The last incomplete tuple of a closed barrier is in: its queue closes. */
static void settle_barrier(struct tfd_barrier *b, int64_t moved)
{
    bool last;

    tfd_lock(&b->lock);
    b->moving -= moved;
    last = b->closed && b->elements.count == 0 && b->moving == 0;
    tfd_unlock(&b->lock);
    if (last)
        tfd_queue_shut(b->queue);
}

void tfd_barrier_insert(struct tfd_barrier *take_b, struct tfd_kctx *k,
                        int component)
{
    struct tfd_status st = TFD_STATUS_INIT;
    struct insertion s = {.b = take_b,
                          .keys = &k->in[1],
                          .values = &k->in[2],
                          .component = component,
                          .st = &st};
    enum tfd_code rc = check_insertion(&s);

    s.last = &s.ready;
    tfd_lock(&take_b->lock);
    if (rc == TFD_OK)
        rc = insert_all(&s);
    if (rc == TFD_OK)
        take_b->moving += s.ready_count;
    tfd_unlock(&take_b->lock);
    if (rc != TFD_OK || !s.ready) {
        tfd_queue_rows_free(s.ready, take_b->queue->spec.count);
        if (rc != TFD_OK)
            settle_barrier(take_b, 0);
        barrier_done(take_b, k, &st);
        return;
    }
    tfd_resource_ref(&take_b->queue->resource);
    tfd_queue_enqueue(take_b->queue, k, s.ready);
    settle_barrier(take_b, s.ready_count);
    tfd_resource_unref(&take_b->resource);
}

/* ---- Taking, closing ----------------------------------------------------- */

/* What a closed barrier can still give. */
static enum tfd_code check_take(struct tfd_barrier *b, int64_t *wanted,
                                bool small, struct tfd_status *st)
{
    int64_t moving, incomplete, available;
    bool closed;

    tfd_lock(&b->lock);
    closed = b->closed;
    moving = b->moving;
    incomplete = (int64_t)b->elements.count;
    tfd_unlock(&b->lock);
    if (!closed)
        return TFD_OK;
    available = tfd_queue_size(b->queue) + moving;
    if (!small)
        available += incomplete;
    else if (available < *wanted)
        *wanted = available;
    if (available >= (*wanted > 1 ? *wanted : 1))
        return TFD_OK;
    return tfd_fail(st, TFD_OUT_OF_RANGE,
                    "Barrier '%s' is closed and has insufficient elements "
                    "(requested %" PRId64 ", total size %" PRId64 ")",
                    b->name, *wanted, available);
}

void tfd_barrier_take(struct tfd_barrier *take_b, struct tfd_kctx *k,
                      int64_t wanted, bool small)
{
    struct tfd_status st = TFD_STATUS_INIT;
    struct tfd_queue *queue = take_b->queue;

    if (check_take(take_b, &wanted, small, &st) == TFD_OK && wanted > 0) {
        tfd_resource_ref(&queue->resource);
        tfd_queue_dequeue_many(queue, k, wanted, small);
        tfd_resource_unref(&take_b->resource);
        return;
    }
    if (st.code == TFD_OK)
        (void)!tfd_queue_batch(queue, k, NULL, 0, &st);
    barrier_done(take_b, k, &st);
}

void tfd_barrier_close(struct tfd_barrier *take_b, struct tfd_kctx *k,
                       bool cancel)
{
    struct tfd_status st = TFD_STATUS_INIT;
    bool shut = false;

    tfd_lock(&take_b->lock);
    if (take_b->closed && (take_b->cancelled || !cancel)) {
        tfd_fail(&st, TFD_CANCELLED, "Barrier '%s' is already closed.",
                 take_b->name);
    } else {
        take_b->closed = true;
        take_b->cancelled = cancel;
        if (cancel)
            drop_elements(take_b);
        shut = cancel || (take_b->elements.count == 0 && take_b->moving == 0);
    }
    tfd_unlock(&take_b->lock);
    if (shut)
        tfd_queue_shut(take_b->queue);
    barrier_done(take_b, k, &st);
}
