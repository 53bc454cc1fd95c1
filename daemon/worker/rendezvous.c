/*
 * rendezvous.c - see rendezvous.h.
 *
 * A rendezvous is a small open hash table of its own, kept from step to step,
 * so that in steady state nothing is allocated.  Each entry holds one value or
 * a queue of waiters; further values on the same key are rare (a graph that
 * sends one key twice) and are chained.
 */
#include "daemon/worker/rendezvous.h"

#include "common/clock.h"
#include "common/id_map.h"
#include "common/lock.h"
#include "config/limits.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define CAPACITY_MIN 16
/* A rendezvous with a larger table is not kept, nor are more than these. */
#define KEPT_CAPACITY_MAX 4096
#define KEPT_MAX 64
/* Remembered steps; a power of two. */
#define RETIRED_MAX 4096
#define SWEEP_US (60u * 1000 * 1000)

enum entry_state { FREE, EMPTY, VALUE, WAITER };

struct extra {
    struct extra *next;
    struct tfd_tensor value;
};

struct entry {
    uint64_t key;
    enum entry_state state;
    struct tfd_tensor value;
    struct extra *more;
    struct tfd_waiter *first, *last;
};

struct tfd_rendezvous {
    int64_t step;
    struct tfd_lock lock;
    struct entry *entries; /* lock's, as what follows */
    size_t capacity, used; /* used: entries that are not FREE */
    bool aborted;
    struct tfd_status status;
    /* loop thread */
    bool listed, running, has_begun;
    size_t parked_size;
    uint32_t parked_count;
    int64_t since_us;
    struct tfd_rendezvous *next; /* among those kept */
};

struct tfd_rendezvous_table {
    struct tfd_loop *loop;
    struct tfd_id_map steps;
    struct tfd_rendezvous *kept;
    int kept_count;
    size_t parked_size;
    struct tfd_timer sweep;
    bool sweeping;
    int64_t retired[RETIRED_MAX]; /* -1: none */
};

/* ---- Entries ------------------------------------------------------------- */

uint64_t tfd_rendezvous_key(uint64_t hash, uint64_t frame, uint64_t iteration)
{
    if (frame | iteration)
        hash ^= (frame + iteration * 0xc2b2ae3d27d4eb4fu) * 0x9e3779b97f4a7c15u;
    return hash;
}

static struct entry *probe(struct entry *entries, size_t capacity, uint64_t key)
{
    size_t at = (size_t)(key ^ key >> 32) & (capacity - 1);

    while (entries[at].state != FREE && entries[at].key != key)
        at = (at + 1) & (capacity - 1);
    return &entries[at];
}

/* Entries that are empty are left behind. */
static bool rehash(struct tfd_rendezvous *r, size_t capacity)
{
    struct entry *entries = calloc(capacity, sizeof(*entries));
    size_t used = 0;

    if (!entries)
        return false;
    for (size_t i = 0; i < r->capacity; i++) {
        if (r->entries[i].state <= EMPTY)
            continue;
        *probe(entries, capacity, r->entries[i].key) = r->entries[i];
        used++;
    }
    free(r->entries);
    r->entries = entries;
    r->capacity = capacity;
    r->used = used;
    return true;
}

static size_t live_entries(const struct tfd_rendezvous *r)
{
    size_t live = 0;

    for (size_t i = 0; i < r->capacity; i++)
        live += r->entries[i].state > EMPTY;
    return live;
}

/* NULL when there is no memory. */
static struct entry *find(struct tfd_rendezvous *r, uint64_t key)
{
    struct entry *e;

    if (r->used >= r->capacity / 4 * 3) {
        size_t capacity = r->capacity ? r->capacity : CAPACITY_MIN;

        while (live_entries(r) >= capacity / 2)
            capacity *= 2;
        if (!rehash(r, capacity))
            return NULL;
    }
    e = probe(r->entries, r->capacity, key);
    if (e->state == FREE) {
        e->key = key;
        e->state = EMPTY;
        r->used++;
    }
    return e;
}

static enum tfd_code chain(struct entry *e, struct tfd_tensor *take_value,
                           struct tfd_status *st)
{
    struct extra **at = &e->more;
    struct extra *x = calloc(1, sizeof(*x));

    if (!x)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "no memory to keep a "
                        "tensor that was sent");
    while (*at)
        at = &(*at)->next;
    x->value = *take_value;
    *at = x;
    return TFD_OK;
}

static struct tfd_tensor take_value_of(struct entry *e)
{
    struct tfd_tensor value = e->value;
    struct extra *x = e->more;

    if (x) {
        e->value = x->value;
        e->more = x->next;
        free(x);
    } else {
        e->state = EMPTY;
    }
    return value;
}

static struct tfd_waiter *take_waiter_of(struct entry *e)
{
    struct tfd_waiter *w = e->first;

    e->first = w->next;
    if (!e->first)
        e->state = EMPTY;
    return w;
}

/* ---- Sending and receiving ----------------------------------------------- */

/* Leaves the value, unless somebody waits for it. */
static enum tfd_code leave(struct tfd_rendezvous *r, uint64_t key,
                           struct tfd_tensor *take_value, struct tfd_waiter **w,
                           struct tfd_status *st)
{
    struct entry *e = find(r, key);

    if (!e)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "no memory to keep a "
                        "tensor that was sent");
    if (e->state == WAITER) {
        *w = take_waiter_of(e);
        return TFD_OK;
    }
    if (e->state == VALUE)
        return chain(e, take_value, st);
    e->state = VALUE;
    e->value = *take_value;
    return TFD_OK;
}

enum tfd_code tfd_rendezvous_send(struct tfd_rendezvous *r, uint64_t key,
                                  struct tfd_tensor *take_value,
                                  struct tfd_status *st)
{
    struct tfd_waiter *w = NULL;
    enum tfd_code rc;

    tfd_lock(&r->lock);
    if (r->aborted)
        rc = tfd_status_copy(st, &r->status);
    else
        rc = leave(r, key, take_value, &w, st);
    tfd_unlock(&r->lock);
    if (w)
        w->arrived(w, take_value, NULL);
    else if (rc != TFD_OK)
        tfd_tensor_unref(take_value);
    *take_value = (struct tfd_tensor)TFD_TENSOR_INIT;
    return rc;
}

static void queue(struct entry *e, struct tfd_waiter *w)
{
    w->next = NULL;
    if (e->state == WAITER)
        e->last->next = w;
    else
        e->first = w;
    e->last = w;
    e->state = WAITER;
}

void tfd_rendezvous_recv(struct tfd_rendezvous *r, uint64_t key,
                         struct tfd_waiter *w)
{
    struct tfd_status none = {TFD_RESOURCE_EXHAUSTED,
                              "no memory to wait for a tensor"};
    const struct tfd_status *st = NULL;
    struct tfd_tensor value = TFD_TENSOR_INIT;
    struct entry *e;
    bool waits = false;

    tfd_lock(&r->lock);
    if (r->aborted) {
        st = &r->status; /* does not change any more */
    } else if (!(e = find(r, key))) {
        st = &none;
    } else if (e->state == VALUE) {
        value = take_value_of(e);
    } else {
        queue(e, w);
        waits = true;
    }
    tfd_unlock(&r->lock);
    if (!waits)
        w->arrived(w, &value, st);
}

static bool unqueue(struct entry *e, struct tfd_waiter *w)
{
    struct tfd_waiter **at = &e->first;
    struct tfd_waiter *before = NULL;

    if (e->state != WAITER)
        return false;
    while (*at && *at != w) {
        before = *at;
        at = &before->next;
    }
    if (!*at)
        return false;
    *at = w->next;
    if (e->last == w)
        e->last = before;
    if (!e->first)
        e->state = EMPTY;
    return true;
}

bool tfd_rendezvous_forget(struct tfd_rendezvous *r, uint64_t key,
                           struct tfd_waiter *w)
{
    bool found = false;

    tfd_lock(&r->lock);
    if (r->capacity)
        found = unqueue(probe(r->entries, r->capacity, key), w);
    tfd_unlock(&r->lock);
    return found;
}

/* Empties all entries; returns the waiters. */
static struct tfd_waiter *clear(struct tfd_rendezvous *r)
{
    struct tfd_waiter *all = NULL;

    for (size_t i = 0; i < r->capacity; i++) {
        struct entry *e = &r->entries[i];

        while (e->state == VALUE) {
            struct tfd_tensor value = take_value_of(e);

            tfd_tensor_unref(&value);
        }
        while (e->state == WAITER) {
            struct tfd_waiter *w = take_waiter_of(e);

            w->next = all;
            all = w;
        }
    }
    return all;
}

void tfd_rendezvous_abort(struct tfd_rendezvous *r, const struct tfd_status *st)
{
    struct tfd_waiter *w = NULL;

    tfd_lock(&r->lock);
    if (!r->aborted) {
        r->aborted = true;
        tfd_status_copy(&r->status, st);
        w = clear(r);
    }
    tfd_unlock(&r->lock);
    while (w) {
        struct tfd_waiter *next = w->next;
        struct tfd_tensor nothing = TFD_TENSOR_INIT;

        w->arrived(w, &nothing, st);
        w = next;
    }
}

/* ---- One step's ---------------------------------------------------------- */

static struct tfd_rendezvous *rendezvous_new(struct tfd_rendezvous_table *t)
{
    struct tfd_rendezvous *r = t->kept;

    if (r) {
        t->kept = r->next;
        t->kept_count--;
        return r;
    }
    r = calloc(1, sizeof(*r));
    if (r)
        tfd_lock_init(&r->lock, TFD_LOCK_RENDEZVOUS);
    return r;
}

static void rendezvous_free(struct tfd_rendezvous *r)
{
    tfd_lock_deinit(&r->lock);
    free(r->entries);
    free(r);
}

/* Nobody waits any more, and neither the table nor a step has it. */
static void put_back(struct tfd_rendezvous_table *t, struct tfd_rendezvous *r)
{
    struct tfd_waiter *left = clear(r);

    assert(!left);
    (void)left;
    if (t->kept_count == KEPT_MAX || r->capacity > KEPT_CAPACITY_MAX) {
        rendezvous_free(r);
        return;
    }
    for (size_t i = 0; i < r->capacity; i++)
        r->entries[i].state = FREE;
    r->used = 0;
    r->aborted = false;
    tfd_status_clear(&r->status);
    r->has_begun = false;
    r->next = t->kept;
    t->kept = r;
    t->kept_count++;
}

static void unpark(struct tfd_rendezvous_table *t, struct tfd_rendezvous *r)
{
    t->parked_size -= r->parked_size;
    r->parked_size = 0;
    r->parked_count = 0;
}

static void unlist(struct tfd_rendezvous_table *t, struct tfd_rendezvous *r)
{
    tfd_id_map_remove(&t->steps, (uint64_t)r->step);
    r->listed = false;
    unpark(t, r);
    if (!r->running)
        put_back(t, r);
}

/* ---- The table ----------------------------------------------------------- */

static void sweep(struct tfd_timer *timer);

struct tfd_rendezvous_table *tfd_rendezvous_table_new(struct tfd_loop *l,
                                                      struct tfd_status *st)
{
    struct tfd_rendezvous_table *t = calloc(1, sizeof(*t));

    if (!t) {
        tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "no memory for rendezvous");
        return NULL;
    }
    t->loop = l;
    tfd_timer_init(&t->sweep, l, sweep);
    memset(t->retired, 0xff, sizeof(t->retired));
    return t;
}

void tfd_rendezvous_clear(struct tfd_rendezvous_table *t)
{
    struct tfd_rendezvous *r;
    size_t at;

    for (at = 0; (r = tfd_id_map_next(&t->steps, &at)); at = 0)
        tfd_rendezvous_cleanup(t, r->step);
}

void tfd_rendezvous_table_free(struct tfd_rendezvous_table *t)
{
    struct tfd_rendezvous *r;

    if (!t)
        return;
    tfd_rendezvous_clear(t);
    while ((r = t->kept)) {
        t->kept = r->next;
        rendezvous_free(r);
    }
    tfd_timer_stop(&t->sweep);
    tfd_id_map_deinit(&t->steps);
    free(t);
}

static bool is_retired(const struct tfd_rendezvous_table *t, int64_t step)
{
    return t->retired[(uint64_t)step % RETIRED_MAX] == step;
}

/* While there is something that a peer left, it is looked at now and then. */
static void start_sweeping(struct tfd_rendezvous_table *t)
{
    if (!t->sweeping)
        t->sweeping = tfd_timer_start(&t->sweep, SWEEP_US, NULL) == TFD_OK;
}

static enum tfd_code list(struct tfd_rendezvous_table *t, int64_t step,
                          struct tfd_rendezvous **out, struct tfd_status *st)
{
    struct tfd_rendezvous *r = rendezvous_new(t);

    if (!r || !tfd_id_map_put(&t->steps, (uint64_t)step, r)) {
        if (r)
            rendezvous_free(r);
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "no memory for step %" PRId64, step);
    }
    r->step = step;
    r->listed = true;
    r->running = false;
    r->since_us = tfd_clock_now_us();
    *out = r;
    return TFD_OK;
}

enum tfd_code tfd_rendezvous_begin(struct tfd_rendezvous_table *t, int64_t step,
                                   int keys, struct tfd_rendezvous **out,
                                   struct tfd_status *st)
{
    struct tfd_rendezvous *r = tfd_id_map_get(&t->steps, (uint64_t)step);
    size_t capacity = CAPACITY_MIN;

    if (r && r->has_begun)
        return tfd_fail(st, TFD_ABORTED,
                        "Step %" PRId64 " was started twice on this worker",
                        step);
    if (!r)
        TFD_TRY(list(t, step, &r, st));
    unpark(t, r);
    r->running = r->has_begun = true;
    while (capacity < 2 * (size_t)keys)
        capacity *= 2;
    tfd_lock(&r->lock);
    if (r->capacity < capacity)
        (void)rehash(r, capacity); /* without memory it grows when it must */
    tfd_unlock(&r->lock);
    *out = r;
    return TFD_OK;
}

void tfd_rendezvous_end(struct tfd_rendezvous_table *t,
                        struct tfd_rendezvous *r)
{
    bool empty;

    r->running = false;
    if (!r->listed) {
        put_back(t, r);
        return;
    }
    tfd_lock(&r->lock);
    empty = live_entries(r) == 0 && !r->aborted;
    tfd_unlock(&r->lock);
    r->since_us = tfd_clock_now_us();
    if (empty)
        unlist(t, r);
    else
        start_sweeping(t);
}

enum tfd_code tfd_rendezvous_find(struct tfd_rendezvous_table *t, int64_t step,
                                  struct tfd_rendezvous **out,
                                  struct tfd_status *st)
{
    *out = tfd_id_map_get(&t->steps, (uint64_t)step);
    if (*out)
        return TFD_OK;
    if (is_retired(t, step))
        return tfd_fail(st, TFD_ABORTED, "Cleanup %" PRId64, step);
    if (t->steps.count >= TFD_PARKED_PUSHES_MAX)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "%d steps are waited for that have not begun",
                        TFD_PARKED_PUSHES_MAX);
    start_sweeping(t);
    return list(t, step, out, st);
}

void tfd_rendezvous_push(struct tfd_rendezvous_table *t,
                         struct tfd_rendezvous *r, uint64_t key,
                         struct tfd_tensor *take_value)
{
    struct tfd_status st = TFD_STATUS_INIT;
    size_t size = tfd_tensor_size(take_value);

    if (!r->running && !r->has_begun) {
        t->parked_size += size;
        r->parked_size += size;
        if (t->parked_size > (size_t)TFD_PARKED_PUSH_SIZE_MAX ||
            ++r->parked_count > TFD_PARKED_PUSHES_MAX) {
            tfd_fail(&st, TFD_RESOURCE_EXHAUSTED,
                     "%zu bytes were pushed for steps that have not begun; "
                     "%" PRId64 " are possible",
                     t->parked_size, TFD_PARKED_PUSH_SIZE_MAX);
            unpark(t, r);
            tfd_rendezvous_abort(r, &st);
        }
    }
    if (tfd_rendezvous_send(r, key, take_value, &st) != TFD_OK)
        tfd_rendezvous_abort(r, &st);
}

void tfd_rendezvous_cleanup(struct tfd_rendezvous_table *t, int64_t step)
{
    struct tfd_rendezvous *r = tfd_id_map_get(&t->steps, (uint64_t)step);
    struct tfd_status st = TFD_STATUS_INIT;

    t->retired[(uint64_t)step % RETIRED_MAX] = step;
    if (!r)
        return;
    tfd_fail(&st, TFD_ABORTED, "Cleanup %" PRId64, step);
    tfd_rendezvous_abort(r, &st);
    /* The waiters may have ended the step, and it what it had here. */
    if (tfd_id_map_get(&t->steps, (uint64_t)step) == r)
        unlist(t, r);
}

static void sweep(struct tfd_timer *timer)
{
    struct tfd_rendezvous_table *t =
        (struct tfd_rendezvous_table *)((char *)timer -
                                        offsetof(struct tfd_rendezvous_table,
                                                 sweep));
    int64_t before = tfd_clock_now_us() - (int64_t)TFD_PARKED_PUSH_MS * 1000;
    struct tfd_rendezvous *r;
    bool more = false;

    t->sweeping = false;
    for (size_t at = 0; (r = tfd_id_map_next(&t->steps, &at));) {
        if (r->running)
            continue;
        if (r->since_us < before) {
            tfd_rendezvous_cleanup(t, r->step);
            at = 0;
        } else {
            more = true;
        }
    }
    if (more)
        start_sweeping(t);
}

struct tfd_rendezvous_stats
tfd_rendezvous_stats(const struct tfd_rendezvous_table *t)
{
    return (struct tfd_rendezvous_stats){t->steps.count, t->parked_size};
}
