/*
 * buf_rendezvous.c - see buf_rendezvous.h.
 */
#include "daemon/worker/collective/buf_rendezvous.h"

#include "common/base/hash.h"

#include <assert.h>

void tfd_buf_rendezvous_init(struct tfd_buf_rendezvous *b)
{
    *b = (struct tfd_buf_rendezvous){.count = 0};
    tfd_lock_init(&b->lock, TFD_LOCK_RENDEZVOUS);
}

void tfd_buf_rendezvous_deinit(struct tfd_buf_rendezvous *b)
{
    assert(b->count == 0);
    tfd_lock_deinit(&b->lock);
}

static struct tfd_buf_end **bucket_of(struct tfd_buf_rendezvous *b,
                                      uint64_t hash)
{
    return &b->bucket[hash % TFD_BUF_BUCKETS];
}

/* Where the end of this kind under the key of e is linked, or NULL. */
static struct tfd_buf_end **find_end(struct tfd_buf_rendezvous *b,
                                     const struct tfd_buf_end *e, bool offers)
{
    struct tfd_buf_end **at = bucket_of(b, e->hash);

    for (; *at; at = &(*at)->next)
        if ((*at)->hash == e->hash && (*at)->offers == offers &&
            (*at)->step == e->step && tfd_str_eq((*at)->key, e->key))
            return at;
    return NULL;
}

static struct tfd_buf_end *unlink_end(struct tfd_buf_rendezvous *b,
                                      struct tfd_buf_end **at)
{
    struct tfd_buf_end *e = *at;

    *at = e->next;
    b->count--;
    return e;
}

/* The other end, unlinked; else e waits.  NULL with st unchanged: it waits. */
static struct tfd_buf_end *meet(struct tfd_buf_rendezvous *b,
                                struct tfd_buf_end *e, struct tfd_status *st)
{
    struct tfd_buf_end **bucket, **at;
    struct tfd_buf_end *other = NULL;

    e->hash = tfd_hash_str(e->key) ^ tfd_hash_number((uint64_t)e->step);
    bucket = bucket_of(b, e->hash);
    tfd_lock(&b->lock);
    at = find_end(b, e, !e->offers);
    if (at) {
        other = unlink_end(b, at);
    } else if (find_end(b, e, e->offers)) {
        tfd_fail(st, TFD_INTERNAL,
                 "%s for key " TFD_STR_FMT " of step %lld: a collective runs "
                 "twice at once",
                 e->offers ? "Second producer" : "Second consumer",
                 TFD_STR_ARG(e->key), (long long)e->step);
    } else {
        e->next = *bucket;
        *bucket = e;
        b->count++;
    }
    tfd_unlock(&b->lock);
    return other;
}

static void hand_over(struct tfd_buf_end *offer, struct tfd_buf_end *want)
{
    struct tfd_tensor value = offer->value, none = TFD_TENSOR_INIT;

    offer->value = none;
    want->met(want, &value);
    offer->met(offer, &none);
}

enum tfd_code tfd_buf_offer(struct tfd_buf_rendezvous *b, struct tfd_buf_end *e,
                            const struct tfd_tensor *value,
                            struct tfd_status *st)
{
    struct tfd_status own = TFD_STATUS_INIT;
    struct tfd_buf_end *want;

    e->offers = true;
    e->value = tfd_tensor_ref(value);
    want = meet(b, e, &own);
    if (want)
        hand_over(e, want);
    if (own.code == TFD_OK)
        return TFD_OK;
    tfd_tensor_unref(&e->value);
    return tfd_fail(st, own.code, "%s", own.text);
}

enum tfd_code tfd_buf_want(struct tfd_buf_rendezvous *b, struct tfd_buf_end *e,
                           struct tfd_status *st)
{
    struct tfd_status own = TFD_STATUS_INIT;
    struct tfd_buf_end *offer;

    e->offers = false;
    offer = meet(b, e, &own);
    if (offer)
        hand_over(offer, e);
    if (own.code == TFD_OK)
        return TFD_OK;
    return tfd_fail(st, own.code, "%s", own.text);
}

bool tfd_buf_forget(struct tfd_buf_rendezvous *b, struct tfd_buf_end *e)
{
    struct tfd_buf_end **at;

    tfd_lock(&b->lock);
    for (at = bucket_of(b, e->hash); *at && *at != e; at = &(*at)->next)
        ;
    if (*at) {
        (void)unlink_end(b, at);
        tfd_unlock(&b->lock);
        tfd_tensor_unref(&e->value);
        return true;
    }
    tfd_unlock(&b->lock);
    return false;
}
