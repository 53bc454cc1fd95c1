/*
 * sendrecv.c - the two ends of an edge that was cut: _Send and _Recv, and the
 * ends of a function's arguments, _Arg and _Retval.
 *
 * _HostSend and _HostRecv say that the tensor lies in host memory, which on a
 * CPU it always does.  Both ends run on dead inputs as well: deadness crosses
 * like a value.  With client_terminated the executor puts feeds and fetches in
 * place of the node and these kernels are not reached.
 *
 * The executor puts a function's arguments and results in place of _Arg and
 * _Retval; their kernel runs where there is no function around them.
 */
#include "kernels/core/check.h"
#include "kernels/core/families.h"
#include "kernels/core/runtime.h"

struct end {
    int channel;
};

static enum tfd_code send_prepare(const struct tfd_prepare *p, void *state,
                                  struct tfd_status *st)
{
    return tfd_rt_channel(p, true, &((struct end *)state)->channel, st);
}

static enum tfd_code recv_prepare(const struct tfd_prepare *p, void *state,
                                  struct tfd_status *st)
{
    return tfd_rt_channel(p, false, &((struct end *)state)->channel, st);
}

static enum tfd_code send_cpu(struct tfd_kctx *k, struct tfd_status *st)
{
    return tfd_kctx_send(k, ((const struct end *)k->state)->channel, st);
}

static void recv_start(struct tfd_kctx *k)
{
    tfd_kctx_recv(k, ((const struct end *)k->state)->channel);
}

static enum tfd_code end_of_no_call(struct tfd_kctx *k, struct tfd_status *st)
{
    (void)k;
    return tfd_fail(st, TFD_INTERNAL, "no call frame");
}

#define ENDS                                              \
    "tensor_name: string; send_device: string; "          \
    "send_device_incarnation: int; recv_device: string; " \
    "client_terminated: bool = false"

#define SEND(name_)                                                        \
    {                                                                      \
        .name = (name_), .inputs = "tensor: T", .attrs = "T: type; " ENDS, \
        .shape = tfd_shape_none,                                           \
        .flags = TFD_OP_STATEFUL | TFD_OP_SEND | TFD_OP_NO_GRADIENT,       \
    }
#define RECV(name_)                                                  \
    {                                                                \
        .name = (name_), .outputs = "tensor: tensor_type",           \
        .attrs = "tensor_type: type; " ENDS, .key = "tensor_type",   \
        .flags = TFD_OP_STATEFUL | TFD_OP_RECV | TFD_OP_NO_GRADIENT, \
    }

static const struct tfd_opdef ops[] = {
    SEND("Send"),
    SEND("_Send"),
    SEND("_HostSend"),
    RECV("Recv"),
    RECV("_Recv"),
    RECV("_HostRecv"),
    {
        .name = "_Arg",
        .outputs = "output: T",
        .attrs = "T: type; index: int >= 0",
        .flags = TFD_OP_STATEFUL | TFD_OP_NO_GRADIENT,
    },
    {
        .name = "_Retval",
        .inputs = "input: T",
        .attrs = "T: type; index: int >= 0",
        .shape = tfd_shape_none,
        .flags = TFD_OP_STATEFUL | TFD_OP_NO_GRADIENT,
    },
};

#define SEND_ROW(name_)                                      \
    TFD_KERNEL_ANY(name_, send_cpu, .prepare = send_prepare, \
                   .state_size = sizeof(struct end), .flags = TFD_KERNEL_DEAD)
#define RECV_ROW(name_)                                                       \
    TFD_KERNEL_ANY(name_, NULL, .start = recv_start, .prepare = recv_prepare, \
                   .state_size = sizeof(struct end), .flags = TFD_KERNEL_DEAD)

static const struct tfd_kernel kernels[] = {
    SEND_ROW("Send"),
    SEND_ROW("_Send"),
    SEND_ROW("_HostSend"),
    RECV_ROW("Recv"),
    RECV_ROW("_Recv"),
    RECV_ROW("_HostRecv"),
    TFD_KERNEL_ANY("_Arg", end_of_no_call),
    TFD_KERNEL_ANY("_Retval", end_of_no_call),
};

const struct tfd_family tfd_family_sendrecv = {
    .name = "sendrecv",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
