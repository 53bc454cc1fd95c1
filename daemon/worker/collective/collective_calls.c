/*
 * collective_calls.c - see collective_calls.h.
 *
 * A value may be offered by any thread, which posts to the loop thread.  A call
 * whose post is on its way is out of the list: its answer comes by itself.
 */
#include "daemon/worker/collective/collective_calls.h"

#include "common/base/container.h"
#include "daemon/worker/collective/buf_message.h"

#include <stdlib.h>

static struct tfd_collective_call *call_new(struct tfd_collectives *all,
                                            struct tfd_call *call)
{
    struct tfd_status st = TFD_STATUS_INIT;
    struct tfd_collective_call *c = calloc(1, sizeof(*c));

    if (!c) {
        tfd_fail(&st, TFD_RESOURCE_EXHAUSTED, "no memory for a call");
        tfd_call_fail(call, &st);
        return NULL;
    }
    c->all = all;
    c->call = call;
    call->ctx = c;
    c->next = all->calls;
    c->at = &all->calls;
    if (c->next)
        c->next->at = &c->next;
    all->calls = c;
    return c;
}

/* It is answered, or about to be. */
static void unlist(struct tfd_collective_call *c)
{
    c->call->cancelled = NULL;
    *c->at = c->next;
    if (c->next)
        c->next->at = c->at;
}

/* ---- Groups -------------------------------------------------------------- */

static void group_ready(struct tfd_group_wait *w, const struct tfd_status *st)
{
    struct tfd_collective_call *c =
        TFD_CONTAINER_OF(w, struct tfd_collective_call, wait);

    unlist(c);
    if (st)
        tfd_call_fail(c->call, st);
    else
        c->ready(c);
    free(c);
}

static void give_up(struct tfd_collective_call *c, const struct tfd_status *why)
{
    bool waits = c->ready ? c->wait.list != NULL
                          : tfd_buf_forget(&c->all->bufs, &c->end);

    if (!waits)
        return;
    tfd_group_wait_end(&c->wait);
    unlist(c);
    tfd_call_fail(c->call, why);
    free(c);
}

static void caller_left(void *ctx, struct tfd_call *call)
{
    struct tfd_status st = TFD_STATUS_INIT;

    (void)call;
    tfd_fail(&st, TFD_CANCELLED, "cancelled by its caller");
    give_up(ctx, &st);
}

void tfd_collective_call_wait(struct tfd_collectives *all,
                              struct tfd_call *call,
                              struct tfd_group_wait **list, int32_t group_key,
                              void (*ready)(struct tfd_collective_call *c))
{
    struct tfd_collective_call *c = call_new(all, call);

    if (!c)
        return;
    c->group_key = group_key;
    c->ready = ready;
    c->wait.ready = group_ready;
    call->cancelled = caller_left;
    tfd_group_wait_for(list, &c->wait);
}

/* ---- Values -------------------------------------------------------------- */

static void respond_value(struct tfd_collective_call *c)
{
    struct tfd_message m;

    unlist(c);
    tfd_message_init(&m, c->call->native);
    tfd_buf_message_put(&m, &c->value);
    tfd_call_respond(c->call, &m);
    tfd_tensor_unref(&c->value);
    free(c);
}

static void value_posted(struct tfd_post *p)
{
    respond_value(TFD_CONTAINER_OF(p, struct tfd_collective_call, post));
}

static void value_met(struct tfd_buf_end *e, struct tfd_tensor *take_value)
{
    struct tfd_collective_call *c =
        TFD_CONTAINER_OF(e, struct tfd_collective_call, end);

    c->value = *take_value;
    tfd_loop_post(c->all->loop, &c->post);
}

void tfd_collective_call_want(struct tfd_collectives *all,
                              struct tfd_call *call, int64_t step,
                              struct tfd_str key)
{
    struct tfd_status st = TFD_STATUS_INIT;
    struct tfd_collective_call *c = call_new(all, call);

    if (!c)
        return;
    c->end.step = step;
    c->end.key = key; /* of the request, which lives as long as the call */
    c->end.met = value_met;
    c->post.run = value_posted;
    call->cancelled = caller_left;
    if (tfd_buf_want(&all->bufs, &c->end, &st) == TFD_OK)
        return;
    unlist(c);
    tfd_call_fail(call, &st);
    free(c);
}

void tfd_collective_calls_fail(struct tfd_collectives *all,
                               const struct tfd_status *why)
{
    struct tfd_collective_call *c, *next;

    for (c = all->calls; c; c = next) {
        next = c->next;
        give_up(c, why);
    }
}
