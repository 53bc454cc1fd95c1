/* worker_rpc.c - see worker_rpc.h. */
#include "daemon/master/remote/worker_rpc.h"

#include <stdlib.h>
#include <string.h>

struct tfd_worker_rpc *tfd_worker_rpc_new(struct tfd_rpc_worker *r)
{
    struct tfd_worker_rpc *c = r->idle;

    if (c)
        r->idle = c->next;
    else
        c = malloc(sizeof(*c));
    if (c) {
        memset(c, 0, sizeof(*c));
        c->remote = r;
        r->calls++;
    }
    return c;
}

void tfd_worker_rpc_list(struct tfd_worker_rpc *c)
{
    c->listed = true;
    c->next = c->remote->cancellable;
    c->remote->cancellable = c;
}

void tfd_worker_rpc_delist(struct tfd_worker_rpc *c)
{
    struct tfd_worker_rpc **at = &c->remote->cancellable;

    if (!c->listed)
        return;
    while (*at != c)
        at = &(*at)->next;
    *at = c->next;
    c->listed = false;
}

void tfd_worker_rpc_end_of(struct tfd_rpc_worker *r)
{
    while (r->idle) {
        struct tfd_worker_rpc *c = r->idle;

        r->idle = c->next;
        free(c);
    }
    for (size_t i = 0; i < r->graph_count; i++)
        free(r->graphs[i].handle);
    free(r->graphs);
    free(r);
}

void tfd_worker_rpc_free(struct tfd_worker_rpc *c)
{
    struct tfd_rpc_worker *r = c->remote;

    c->next = r->idle;
    r->idle = c;
    if (--r->calls == 0 && r->freed)
        tfd_worker_rpc_end_of(r);
}

void tfd_worker_rpc_no_memory(struct tfd_status *st)
{
    tfd_status_clear(st);
    (void)tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "No memory for a call");
}

void tfd_worker_rpc_send(struct tfd_worker_rpc *c,
                         enum tfd_method_number method, struct tfd_message *m,
                         uint64_t timeout_us, bool wait, tfd_outcall_fn *done)
{
    struct tfd_outcall_options o = {.timeout_us = timeout_us,
                                    .wait_ready = wait};

    c->outcall = tfd_channel_call(c->remote->channel, method, m, &o, done, c);
}

void tfd_worker_rpc_begin(struct tfd_rpc_worker *r, struct tfd_message *m)
{
    tfd_message_init(m, tfd_channel_protocol(r->channel) == TFD_PROTO_NATIVE);
}

static void got_empty(void *ctx, const struct tfd_status *st,
                      const struct tfd_incoming *response)
{
    struct tfd_worker_rpc *c = ctx;

    (void)response;
    tfd_worker_rpc_delist(c);
    if (c->done)
        c->done(c->ctx, st);
    tfd_worker_rpc_free(c);
}

struct tfd_worker_rpc *tfd_worker_rpc_empty(struct tfd_worker *w,
                                            enum tfd_method_number method,
                                            struct tfd_message *m,
                                            uint64_t timeout_us,
                                            tfd_worker_done_fn *done, void *ctx)
{
    struct tfd_worker_rpc *c = tfd_worker_rpc_new(tfd_rpc_worker_of(w));
    struct tfd_status st = TFD_STATUS_INIT;

    if (!c) {
        tfd_message_deinit(m);
        tfd_worker_rpc_no_memory(&st);
        if (done)
            done(ctx, &st);
        return NULL;
    }
    c->done = done;
    c->ctx = ctx;
    tfd_worker_rpc_send(c, method, m, timeout_us, false, got_empty);
    return c;
}
