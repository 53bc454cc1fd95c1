/*
 * ask.c - calls of kernels to other servers (kernels/core/runtime.h), on a
 * channel of their own.
 *
 *     tfd_kctx_ask --post--> begin --> ask --> answered --> end --> done()
 *                                       ^--- timer ---'
 *     step cancelled --post--> stop -----------------------^
 *
 * Everything below `begin` is on the loop thread.  A step that is cancelled
 * posts `stop`, which may come before `begin` and after `end`: whoever lets go
 * of the call last frees it.
 */
#include "daemon/worker/state/containers.h"

#include "common/base/atomic.h"
#include "common/base/clock.h"
#include "common/base/container.h"
#include "config/limits.h"
#include "rpc/conn/conn_dial.h"
#include "rpc/core/channel.h"

#include <inttypes.h>
#include <stdlib.h>

#define DIAL_TIMEOUT_US (10 * 1000 * 1000)
#define PAUSE_FIRST_US (50 * 1000)
#define PAUSE_MAX_US (10 * 1000 * 1000)

static const enum tfd_method_number methods[] = {
    [TFD_ASK_SNAPSHOT] = TFD_METHOD_Snapshot,
};

struct asking {
    int refs; /* atomic: its own, and that of a posted `stop` */
    struct tfd_ask *ask;
    struct tfd_step *step;
    struct tfd_cancel cancel;
    struct tfd_loop *loop;
    struct tfd_post begin, stop, gone;
    struct tfd_channel *channel;
    struct tfd_outcall *call; /* under way; else NULL */
    struct tfd_timer timer;   /* before the next one */
    int64_t due_us;
    int64_t pause_us;
    bool has_begun, is_stopped, is_over;
};

static void let_go(struct asking *a)
{
    if (tfd_refs_drop(&a->refs))
        free(a);
}

/* Not from within the channel's own call. */
static void gone(struct tfd_post *p)
{
    struct asking *a = TFD_CONTAINER_OF(p, struct asking, gone);

    tfd_channel_free(a->channel);
    let_go(a);
}

static void end(struct asking *a, const struct tfd_status *st)
{
    a->is_over = true;
    tfd_timer_stop(&a->timer);
    (void)tfd_step_off_cancel(a->step, &a->cancel);
    a->ask->done(a->ask, st);
    tfd_loop_post(a->loop, &a->gone);
}

static void end_stopped(struct asking *a)
{
    struct tfd_status st = TFD_STATUS_INIT;

    (void)tfd_fail(&st, TFD_CANCELLED, "the call to %s was cancelled",
                   a->ask->address);
    end(a, &st);
}

static void ask_answered(void *ctx, const struct tfd_status *st,
                         const struct tfd_incoming *response)
{
    struct asking *a = ctx;
    bool again = st->code == TFD_UNAVAILABLE || st->code == TFD_ABORTED;

    (void)response;
    a->call = NULL;
    if (a->is_stopped)
        end_stopped(a);
    else if (!again || tfd_clock_now_us() + a->pause_us >= a->due_us ||
             tfd_timer_start(&a->timer, (uint64_t)a->pause_us, NULL))
        end(a, st);
    else if (a->pause_us < PAUSE_MAX_US)
        a->pause_us *= 2;
}

static void ask_server(struct asking *a)
{
    struct tfd_outcall_options o = {.wait_ready = true};
    int64_t left_us = a->due_us - tfd_clock_now_us();
    struct tfd_message m;

    o.timeout_us = left_us > 1 ? (uint64_t)left_us : 1;
    tfd_message_init(&m, false);
    tfd_bytes_add_str(&m.proto, a->ask->request);
    a->call = tfd_channel_call(a->channel, methods[a->ask->method], &m, &o,
                               ask_answered, a);
    tfd_message_deinit(&m);
}

static void fire(struct tfd_timer *t)
{
    ask_server(TFD_CONTAINER_OF(t, struct asking, timer));
}

static void begin_ask(struct tfd_post *p)
{
    struct asking *a = TFD_CONTAINER_OF(p, struct asking, begin);
    const struct tfd_channel_options o = {
        .address = a->ask->address,
        .protocol = TFD_PROTO_GRPC,
        .dial_timeout_us = DIAL_TIMEOUT_US,
        .heartbeat = {TFD_HEARTBEAT_INTERVAL_US, TFD_PEER_TIMEOUT_US},
    };
    struct tfd_status st = TFD_STATUS_INIT;

    a->has_begun = true;
    if (a->is_stopped)
        end_stopped(a);
    else if (tfd_channel_new(a->loop, &o, &a->channel, &st) != TFD_OK)
        end(a, &st);
    else
        ask_server(a);
}

static void stop(struct tfd_post *p)
{
    struct asking *a = TFD_CONTAINER_OF(p, struct asking, stop);

    a->is_stopped = true;
    if (a->call)
        tfd_channel_cancel(a->call);
    else if (a->has_begun && !a->is_over)
        end_stopped(a);
    let_go(a);
}

/* a lives: its end waits until this has returned. */
static void step_cancelled(struct tfd_cancel *c)
{
    struct asking *a = TFD_CONTAINER_OF(c, struct asking, cancel);

    tfd_refs_add(&a->refs, 1);
    tfd_loop_post(a->loop, &a->stop);
}

enum tfd_code tfd_kctx_ask(struct tfd_kctx *k, struct tfd_ask *ask,
                           struct tfd_status *st)
{
    char host[TFD_ADDRESS_SIZE_MAX], port[TFD_PORT_TEXT_MAX];
    int64_t now_us = tfd_clock_now_us();
    struct asking *a;

    TFD_TRY(tfd_dial_split(ask->address, host, port, st));
    a = calloc(1, sizeof(*a));
    if (!a)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "no memory for a call");
    *a = (struct asking){
        .refs = 1,
        .ask = ask,
        .step = k->step,
        .cancel.fn = step_cancelled,
        .loop = k->rt->loop,
        .begin.run = begin_ask,
        .stop.run = stop,
        .gone.run = gone,
        .due_us = now_us + ask->timeout_us,
        .pause_us = PAUSE_FIRST_US,
    };
    tfd_timer_init(&a->timer, a->loop, fire);
    a->is_stopped = !tfd_step_on_cancel(a->step, &a->cancel);
    tfd_loop_post(a->loop, &a->begin);
    return TFD_OK;
}
