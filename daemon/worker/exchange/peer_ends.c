/*
 * peer_ends.c - Send and Recv of edges from GPU to GPU: see peer_copy.h.
 *
 * int32 values are left out: TensorFlow keeps them in host memory, and most
 * kernels that make or take them have them there.
 */
#include "common/base/container.h"
#include "daemon/worker/exchange/peer_copy.h"
#include "daemon/worker/exchange/transfer.h"
#include "daemon/worker/run/executor.h"
#include "daemon/worker/run/runner.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* Smaller values go by the host: a copy takes a few microseconds either way,
 * and pushes of one step share a message. */
#define PEER_COPY_MIN ((size_t)64 << 10)

struct end {
    int channel;
    uint32_t number; /* of the GPU at the other end */
};

static const struct tfd_exec_channel *channel_of(const struct tfd_kctx *k)
{
    return &k->step->exec->channels[((const struct end *)k->state)->channel];
}

/* ---- Which nodes --------------------------------------------------------- */

/* "/device:GPU:3" at the end of a name. */
static bool parse_gpu(struct tfd_str name, uint32_t *number)
{
    static const char mark[] = "/device:GPU:";
    const size_t size = sizeof(mark) - 1;
    size_t digits = 0;

    *number = 0;
    while (digits < name.size && name.data[name.size - digits - 1] >= '0' &&
           name.data[name.size - digits - 1] <= '9')
        digits++;
    if (digits == 0 || digits > 4 || name.size < digits + size ||
        memcmp(name.data + name.size - digits - size, mark, size) != 0)
        return false;
    for (size_t i = name.size - digits; i < name.size; i++)
        *number = *number * 10 + (uint32_t)(name.data[i] - '0');
    return true;
}

static bool is_plain_type(int type)
{
    return tfd_dtype_valid(type) && tfd_dtype_is_pod((enum tfd_dtype)type) &&
           type != TFD_INT32;
}

/* ---- Send ---------------------------------------------------------------- */

static void push_value(struct tfd_kctx *k, struct tfd_tensor *take_value)
{
    struct tfd_status st = TFD_STATUS_INIT;
    const struct tfd_iter *place;
    bool dead;

    place = tfd_executor_place(k, &dead);
    (void)!tfd_transfer_push(k->step->transfer, k->step, channel_of(k), place,
                             take_value, &st);
    tfd_kctx_finish(k, st.code == TFD_OK ? NULL : &st);
}

static void fetched(void *ctx, struct tfd_tensor *take_out,
                    const struct tfd_status *st)
{
    if (st)
        tfd_kctx_finish(ctx, st);
    else
        push_value(ctx, take_out);
}

static void send_start(struct tfd_kctx *k)
{
    struct tfd_tensor none = TFD_TENSOR_INIT;
    const struct end *e = k->state;
    struct tfd_device *d = k->rt->row;
    bool dead;

    (void)tfd_executor_place(k, &dead);
    if (!dead && !k->in[0].buffer)
        none = k->in[0];
    if (dead || !k->in[0].buffer)
        push_value(k, &none);
    else if (tfd_tensor_size(&k->in[0]) < PEER_COPY_MIN ||
             !tfd_peer_send(tfd_transfer_peer_sends(k->step->transfer), k, d,
                            channel_of(k), e->number))
        d->share->fetch(d, &k->in[0], fetched, k);
}

/* ---- Recv ---------------------------------------------------------------- */

/* A value that a compute thread takes in. */
struct arrival {
    struct tfd_job job; /* first */
    struct tfd_kctx *k;
    struct tfd_tensor value;
};

static enum tfd_code check_value_type(const struct tfd_kctx *k,
                                      const struct tfd_tensor *value,
                                      struct tfd_status *st)
{
    if ((int)value->dtype == k->node->out_types[0])
        return TFD_OK;
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "a value of type %s was sent to {{node " TFD_STR_FMT
                    "}}, which has type %s",
                    tfd_dtype_name((int)value->dtype),
                    TFD_STR_ARG(k->node->name),
                    tfd_dtype_name(k->node->out_types[0]));
}

static void take_in(struct tfd_kctx *k, struct tfd_tensor *take_value)
{
    struct tfd_device *d = k->rt->row;
    struct tfd_status st = TFD_STATUS_INIT;
    struct tfd_tensor out = TFD_TENSOR_INIT;

    if (check_value_type(k, take_value, &st) == TFD_OK)
        (void)!(tfd_peer_value_is(take_value)
                    ? tfd_peer_value_bring(take_value, d, &out, &st)
                    : d->place(d, take_value, &out, &st));
    tfd_tensor_unref(take_value);
    if (st.code == TFD_OK)
        k->out[0] = out;
    tfd_kctx_finish(k, st.code == TFD_OK ? NULL : &st);
}

static void run_arrival(struct tfd_job *job)
{
    struct arrival a = *(struct arrival *)job;

    free(job);
    take_in(a.k, &a.value);
}

/* Large values come on the loop thread, which does not copy them. */
static void value_arrived(struct tfd_waiter *w, struct tfd_tensor *take_value,
                          const struct tfd_status *st)
{
    struct tfd_kctx *k = &(TFD_CONTAINER_OF(w, struct tfd_async, waiter))->k;
    struct arrival *a = NULL;

    if (st || take_value->dtype == TFD_DTYPE_INVALID) {
        if (!st)
            k->out[0] = *take_value;
        tfd_kctx_finish(k, st);
        return;
    }
    if (k->step->pool && tfd_tensor_size(take_value) >= PEER_COPY_MIN)
        a = malloc(sizeof(*a));
    if (!a) {
        take_in(k, take_value);
        return;
    }
    *a = (struct arrival){{.run = run_arrival}, k, *take_value};
    tfd_pool_submit(k->step->pool, &a->job);
}

static void recv_start(struct tfd_kctx *k)
{
    struct tfd_async *a = TFD_CONTAINER_OF(k, struct tfd_async, k);
    const struct tfd_exec_channel *ch = channel_of(k);
    const struct tfd_iter *place;
    bool dead;

    place = tfd_executor_place(k, &dead);
    a->channel = ch;
    a->waiter.arrived = value_arrived;
    tfd_rendezvous_recv(k->step->rendezvous,
                        tfd_rendezvous_key(ch->hash, tfd_while_frame_id(place),
                                           (uint64_t)place->number),
                        &a->waiter);
}

/* ---- Kernels ------------------------------------------------------------- */

static enum tfd_code prepare_end(const struct tfd_prepare *p, void *state,
                                 bool sends, struct tfd_status *st)
{
    struct end *e = state;
    struct tfd_str other;

    TFD_TRY(tfd_node_str(p->node, sends ? "recv_device" : "send_device", &other,
                         st));
    if (!parse_gpu(other, &e->number))
        return tfd_fail(st, TFD_INTERNAL, TFD_STR_FMT " is not a GPU",
                        TFD_STR_ARG(other));
    return tfd_rt_channel(p, sends, &e->channel, st);
}

static enum tfd_code send_prepare(const struct tfd_prepare *p, void *state,
                                  struct tfd_status *st)
{
    return prepare_end(p, state, true, st);
}

static enum tfd_code recv_prepare(const struct tfd_prepare *p, void *state,
                                  struct tfd_status *st)
{
    return prepare_end(p, state, false, st);
}

static const struct tfd_kernel send_kernel = {
    .op = "_Send",
    .device = TFD_GPU,
    .start = send_start,
    .prepare = send_prepare,
    .state_size = sizeof(struct end),
    .flags = TFD_KERNEL_DEAD,
};

static const struct tfd_kernel recv_kernel = {
    .op = "_Recv",
    .device = TFD_GPU,
    .start = recv_start,
    .prepare = recv_prepare,
    .state_size = sizeof(struct end),
    .flags = TFD_KERNEL_DEAD,
};

const struct tfd_kernel *tfd_peer_end_kernel(struct tfd_devices *devices,
                                             const struct tfd_device *d,
                                             const struct tfd_node *n)
{
    bool sends = tfd_str_is(n->op->name, "_Send");
    struct tfd_str channel, from, to;
    uint32_t number;

    if (!d->share || !(sends || tfd_str_is(n->op->name, "_Recv")) ||
        !is_plain_type(sends ? n->in_types[0] : n->out_types[0]) ||
        !tfd_node_attr(n, "_tfd_channel", &channel) ||
        tfd_node_str(n, "send_device", &from, NULL) != TFD_OK ||
        tfd_node_str(n, "recv_device", &to, NULL) != TFD_OK ||
        !parse_gpu(from, &number) || !parse_gpu(to, &number) ||
        tfd_devices_find(devices, sends ? to : from))
        return NULL;
    return sends ? &send_kernel : &recv_kernel;
}
