/*
 * transfer.c - implements what Send and Recv kernels ask for
 * (kernels/core/runtime.h): a value goes to the step's own rendezvous, or is
 * pushed to another task, or is asked for there.
 */
#include "daemon/worker/exchange/transfer.h"

#include "common/base/container.h"
#include "daemon/worker/run/executor.h"
#include "daemon/worker/run/runner.h"

static uint64_t key_of(const struct tfd_exec_channel *ch,
                       const struct tfd_iter *place)
{
    return tfd_rendezvous_key(ch->hash, tfd_while_frame_id(place),
                              (uint64_t)place->number);
}

enum tfd_code tfd_kctx_send(struct tfd_kctx *k, int channel,
                            struct tfd_status *st)
{
    struct tfd_step *s = k->step;
    const struct tfd_exec_channel *ch = &s->exec->channels[channel];
    struct tfd_tensor value = TFD_TENSOR_INIT;
    const struct tfd_iter *place;
    bool dead;

    place = tfd_executor_place(k, &dead);
    if (!dead)
        value = tfd_tensor_ref(&k->in[0]);
    if (ch->pushes && !ch->local)
        return tfd_transfer_push(s->transfer, s, ch, place, &value, st);
    return tfd_rendezvous_send(s->rendezvous, key_of(ch, place), &value, st);
}

static void value_arrived(struct tfd_waiter *w, struct tfd_tensor *take_value,
                          const struct tfd_status *st)
{
    struct tfd_async *a = TFD_CONTAINER_OF(w, struct tfd_async, waiter);

    struct tfd_status own = TFD_STATUS_INIT;

    if (!st && tfd_peer_value_is(take_value)) {
        (void)!tfd_peer_value_refuse(take_value, &own);
        st = &own;
    }
    if (!st)
        a->k.out[0] = *take_value;
    tfd_kctx_finish(&a->k, st);
}

void tfd_kctx_recv(struct tfd_kctx *k, int channel)
{
    struct tfd_async *a = TFD_CONTAINER_OF(k, struct tfd_async, k);
    const struct tfd_exec_channel *ch = &k->step->exec->channels[channel];
    const struct tfd_iter *place;
    bool dead;

    a->channel = ch;
    if (!ch->local && !ch->pushes) {
        tfd_transfer_recv(k->step->transfer, a);
        return;
    }
    place = tfd_executor_place(k, &dead);
    a->waiter.arrived = value_arrived;
    tfd_rendezvous_recv(k->step->rendezvous, key_of(ch, place), &a->waiter);
}
