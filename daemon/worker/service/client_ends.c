/*
 * client_ends.c - the client's ends of a partial run: values put into the
 * rendezvous of its step, and taken from there, by the master of this process.
 *
 * A value may arrive on any thread; it is handed out on the loop thread.
 */
#include "daemon/worker/service/worker_service.h"

#include "common/base/container.h"
#include "common/base/hash.h"

#include <stdlib.h>

static uint64_t number_in_key(struct tfd_str key)
{
    return tfd_rendezvous_key(tfd_hash_str(key), 0, 0);
}

static struct tfd_worker_service *service_of(struct tfd_worker *w)
{
    return (struct tfd_worker_service *)w;
}

enum tfd_code tfd_worker_put_value(struct tfd_worker *w, int64_t step,
                                   struct tfd_str key,
                                   struct tfd_tensor *take_value,
                                   struct tfd_status *st)
{
    struct tfd_rendezvous *r;

    TFD_TRY(tfd_rendezvous_find(service_of(w)->rendezvous, step, &r, st));
    return tfd_rendezvous_send(r, number_in_key(key), take_value, st);
}

/* ---- Taking -------------------------------------------------------------- */

struct taking {
    struct tfd_waiter waiter;
    struct tfd_post post;
    struct tfd_loop *loop;
    struct tfd_tensor value;
    struct tfd_status st;
    tfd_worker_value_fn *done;
    void *ctx;
};

static void hand_out(struct tfd_post *p)
{
    struct taking *t = TFD_CONTAINER_OF(p, struct taking, post);

    t->done(t->ctx, &t->st, &t->value);
    free(t);
}

static void fetch_arrived(struct tfd_waiter *w, struct tfd_tensor *take_value,
                          const struct tfd_status *st)
{
    struct taking *t = (struct taking *)w;

    if (st)
        tfd_status_copy(&t->st, st);
    else if (tfd_peer_value_is(take_value))
        (void)!tfd_peer_value_refuse(take_value, &t->st);
    else
        t->value = *take_value;
    if (tfd_loop_inside(t->loop))
        hand_out(&t->post);
    else
        tfd_loop_post(t->loop, &t->post);
}

void tfd_worker_take_value(struct tfd_worker *w, int64_t step,
                           struct tfd_str key, tfd_worker_value_fn *done,
                           void *ctx)
{
    struct tfd_worker_service *s = service_of(w);
    struct tfd_tensor nothing = TFD_TENSOR_INIT;
    struct tfd_status st = TFD_STATUS_INIT;
    struct taking *t = calloc(1, sizeof(*t));
    struct tfd_rendezvous *r;

    if (!t)
        tfd_fail(&st, TFD_RESOURCE_EXHAUSTED, "no memory for a fetch");
    if (!t || tfd_rendezvous_find(s->rendezvous, step, &r, &st) != TFD_OK) {
        free(t);
        done(ctx, &st, &nothing);
        return;
    }
    t->waiter.arrived = fetch_arrived;
    t->post.run = hand_out;
    t->loop = s->options.loop;
    t->done = done;
    t->ctx = ctx;
    tfd_rendezvous_recv(r, number_in_key(key), &t->waiter);
}
