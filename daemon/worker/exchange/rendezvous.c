/*
 * rendezvous.c - the rendezvous of one step: see rendezvous.h, and
 * rendezvous_step.h for what the table of all steps asks of it.
 *
 * A rendezvous is a small open hash table of its own, kept from step to step,
 * so that in steady state nothing is allocated.  Each entry holds one value or
 * a queue of waiters; further values on the same key are rare (a graph that
 * sends one key twice) and are chained.
 */
#include "daemon/worker/exchange/rendezvous_step.h"

#include "common/base/hash.h"

#include <assert.h>
#include <stdlib.h>

#define CAPACITY_MIN 16

enum entry_state { FREE, EMPTY, VALUE, WAITER };

struct extra {
    struct extra *next;
    struct tfd_tensor value;
};

struct tfd_rendezvous_entry {
    uint64_t key;
    enum entry_state state;
    struct tfd_tensor value;
    struct extra *more;
    struct tfd_waiter *first, *last;
};

/* ---- Entries ------------------------------------------------------------- */

uint64_t tfd_rendezvous_push_hash(uint32_t number)
{
    return ((uint64_t)number + 1) * 0x9e3779b97f4a7c15u;
}

uint64_t tfd_rendezvous_key(uint64_t hash, uint64_t frame, uint64_t iteration)
{
    if (frame | iteration)
        hash ^= (frame + iteration * 0xc2b2ae3d27d4eb4fu) * 0x9e3779b97f4a7c15u;
    return hash;
}

static struct tfd_rendezvous_entry *probe(struct tfd_rendezvous_entry *entries,
                                          size_t capacity, uint64_t key)
{
    size_t at = (size_t)tfd_hash_number(key) & (capacity - 1);

    while (entries[at].state != FREE && entries[at].key != key)
        at = (at + 1) & (capacity - 1);
    return &entries[at];
}

/* Entries that are empty are left behind. */
static bool rehash(struct tfd_rendezvous *r, size_t capacity)
{
    struct tfd_rendezvous_entry *entries = calloc(capacity, sizeof(*entries));
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
static struct tfd_rendezvous_entry *find_rendezvous(struct tfd_rendezvous *r,
                                                    uint64_t key)
{
    struct tfd_rendezvous_entry *e;

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

static enum tfd_code chain(struct tfd_rendezvous_entry *e,
                           struct tfd_tensor *take_value, struct tfd_status *st)
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

static struct tfd_tensor take_value_of(struct tfd_rendezvous_entry *e)
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

static struct tfd_waiter *take_waiter_of(struct tfd_rendezvous_entry *e)
{
    struct tfd_waiter *w = e->first;

    e->first = w->next;
    if (!e->first)
        e->state = EMPTY;
    return w;
}

/* ---- Sending and receiving ----------------------------------------------- */

/* Leaves the value, unless somebody waits for it. */
static enum tfd_code leave_value(struct tfd_rendezvous *r, uint64_t key,
                                 struct tfd_tensor *take_value,
                                 struct tfd_waiter **w, struct tfd_status *st)
{
    struct tfd_rendezvous_entry *e = find_rendezvous(r, key);

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
        rc = leave_value(r, key, take_value, &w, st);
    tfd_unlock(&r->lock);
    if (w)
        w->arrived(w, take_value, NULL);
    else if (rc != TFD_OK)
        tfd_tensor_unref(take_value);
    *take_value = (struct tfd_tensor)TFD_TENSOR_INIT;
    return rc;
}

static void queue(struct tfd_rendezvous_entry *e, struct tfd_waiter *w)
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
    struct tfd_rendezvous_entry *e;
    bool waits = false;

    tfd_lock(&r->lock);
    if (r->aborted) {
        st = &r->status; /* does not change any more */
    } else if (!(e = find_rendezvous(r, key))) {
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

static bool unqueue(struct tfd_rendezvous_entry *e, struct tfd_waiter *w)
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
static struct tfd_waiter *clear_waiters(struct tfd_rendezvous *r)
{
    struct tfd_waiter *all = NULL;

    for (size_t i = 0; i < r->capacity; i++) {
        struct tfd_rendezvous_entry *e = &r->entries[i];

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
        w = clear_waiters(r);
    }
    tfd_unlock(&r->lock);
    while (w) {
        struct tfd_waiter *next = w->next;
        struct tfd_tensor nothing = TFD_TENSOR_INIT;

        w->arrived(w, &nothing, st);
        w = next;
    }
}

/* ---- For the table ------------------------------------------------------- */

struct tfd_rendezvous *tfd_rendezvous_new(void)
{
    struct tfd_rendezvous *r = calloc(1, sizeof(*r));

    if (r)
        tfd_lock_init(&r->lock, TFD_LOCK_RENDEZVOUS);
    return r;
}

static void drop_values(struct tfd_rendezvous *r)
{
    struct tfd_waiter *left = clear_waiters(r);

    assert(!left);
    (void)left;
}

void tfd_rendezvous_free(struct tfd_rendezvous *r)
{
    drop_values(r);
    tfd_lock_deinit(&r->lock);
    free(r->entries);
    free(r);
}

void tfd_rendezvous_reset(struct tfd_rendezvous *r)
{
    drop_values(r);
    for (size_t i = 0; i < r->capacity; i++)
        r->entries[i].state = FREE;
    r->used = 0;
    r->aborted = false;
    tfd_status_clear(&r->status);
}

void tfd_rendezvous_reserve(struct tfd_rendezvous *r, int keys)
{
    size_t capacity = CAPACITY_MIN;

    while (capacity < 2 * (size_t)keys)
        capacity *= 2;
    tfd_lock(&r->lock);
    if (r->capacity < capacity)
        (void)rehash(r, capacity); /* without memory it grows when it must */
    tfd_unlock(&r->lock);
}

bool tfd_rendezvous_is_empty(struct tfd_rendezvous *r)
{
    bool empty;

    tfd_lock(&r->lock);
    empty = live_entries(r) == 0 && !r->aborted;
    tfd_unlock(&r->lock);
    return empty;
}
