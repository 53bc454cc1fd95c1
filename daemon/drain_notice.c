/*
 * drain_notice.c - a server that drains tells its peers, which answer once the
 * trainers among their clients have saved:
 *
 *     ps, SIGTERM --- Draining ---> chief
 *                                   marks its trainer's session
 *                 <-- RunGraph ---- ... a step ends, the trainer saves,
 *                                   closes the session; other sessions' steps
 *                                   that ran with the ps have ended
 *                 <-- the answer --
 *     closes
 *
 * Clients of the server itself are told in the same way.
 */
#include "daemon/server_state.h"

#include "common/base/container.h"
#include "common/base/log.h"
#include "common/proto/peer.pb.h"
#include "daemon/master/session/master.h"
#include "daemon/worker/service/worker.h"

#include <stddef.h>
#include <stdlib.h>

/* ---- Telling ------------------------------------------------------------- */

static void heard(void *ctx, const struct tfd_status *st,
                  const struct tfd_incoming *response)
{
    (void)st; /* one that does not know the method has nothing to save */
    (void)response;
    tfd_server_noticed(ctx);
}

static void own_saved(struct tfd_leaving *l)
{
    tfd_server_noticed(TFD_CONTAINER_OF(l, struct tfd_server, own_leaving));
}

static void tell_peer(struct tfd_server *s, struct tfd_channel *ch)
{
    struct tfd_outcall_options o = {
        .timeout_us = (uint64_t)s->o.config->drain_timeout_ms * 1000};
    struct tfd_message m;

    tfd_message_init(&m, true);
    tfd_pb_put_str(&m.proto, tfd_Hello_task_tag, tfd_str_of(s->self.task));
    tfd_pb_put_fixed64(&m.proto, tfd_Hello_incarnation_tag,
                       s->self.incarnation);
    s->notices++;
    (void)tfd_channel_call(ch, TFD_METHOD_Draining, &m, &o, heard, s);
}

struct telling {
    struct tfd_server *server;
    bool *told; /* by peer */
};

/* A master that we push nothing to may have no channel to it yet. */
static void tell_master(void *ctx, int peer)
{
    struct telling *t = ctx;
    struct tfd_channel *ch;

    if (t->told[peer])
        return;
    t->told[peer] = true;
    ch = tfd_peers_channel(t->server->peers, peer);
    if (ch && tfd_channel_protocol(ch) != TFD_PROTO_GRPC)
        tell_peer(t->server, ch);
}

void tfd_server_tell_of_drain(struct tfd_server *s)
{
    int count = tfd_peers_count(s->peers);
    struct telling t = {s, calloc((size_t)count, sizeof(bool))};

    s->notices++;
    s->own_leaving.saved = own_saved;
    tfd_master_task_leaves(s->master, TFD_LEAVES_OWN, &s->own_leaving);
    for (int i = 0; i < count; i++) {
        struct tfd_channel *ch = tfd_peers_made(s->peers, i);

        if (ch && tfd_channel_up(ch) &&
            tfd_channel_protocol(ch) == TFD_PROTO_NATIVE) {
            tell_peer(s, ch);
            if (t.told)
                t.told[i] = true;
        }
    }
    if (t.told)
        tfd_worker_each_master(s->worker, tell_master, &t);
    free(t.told);
}

/* ---- Being told ---------------------------------------------------------- */

struct notice {
    struct tfd_leaving leaving; /* first */
    struct tfd_server *server;
    struct tfd_call *call;
};

static void answer_notice(struct tfd_leaving *l)
{
    struct notice *n = (struct notice *)l;
    struct tfd_message m;

    tfd_message_init(&m, n->call->native);
    tfd_call_respond(n->call, &m);
    free(n);
}

static void gone(void *ctx, struct tfd_call *call)
{
    struct notice *n = ctx;
    struct tfd_status st = TFD_STATUS_INIT;

    tfd_master_leaving_forget(n->server->master, &n->leaving);
    (void)tfd_fail(&st, TFD_CANCELLED, "Draining was cancelled");
    tfd_call_fail(call, &st);
    free(n);
}

static struct tfd_str task_of(struct tfd_str proto)
{
    struct tfd_pb_reader r = tfd_pb_reader_of(proto);
    struct tfd_str task = TFD_STR_EMPTY;
    struct tfd_pb_field f;

    while (tfd_pb_next(&r, &f))
        if (f.tag == tfd_Hello_task_tag)
            task = tfd_pb_str(&r, &f);
    return r.failed ? TFD_STR_EMPTY : task;
}

static void draining(void *self, struct tfd_call *call)
{
    struct tfd_server *s = self;
    struct tfd_str task = task_of(call->in.proto);
    struct tfd_status st = TFD_STATUS_INIT;
    int peer = tfd_peers_find(s->peers, task);
    struct notice *n;

    if (peer < 0) {
        (void)tfd_fail(&st, TFD_INVALID_ARGUMENT,
                       "Draining: '" TFD_STR_FMT "' is no task of this cluster",
                       TFD_STR_ARG(task));
        tfd_call_fail(call, &st);
        return;
    }
    n = malloc(sizeof(*n));
    if (!n) {
        (void)tfd_fail(&st, TFD_RESOURCE_EXHAUSTED, "no memory for a notice");
        tfd_call_fail(call, &st);
        return;
    }
    tfd_log(TFD_LOG_INFO, "task_drains", "task=" TFD_STR_FMT,
            TFD_STR_ARG(task));
    *n = (struct notice){{.saved = answer_notice}, s, call};
    call->ctx = n;
    call->cancelled = gone;
    tfd_master_task_leaves(s->master, peer, &n->leaving);
}

/* Steps of our own clients that save before we stop. */
static bool spares(void *ctx, const struct tfd_call *call)
{
    const struct tfd_server *s = ctx;

    return call->method != TFD_METHOD_CreateSession &&
           call->method != TFD_METHOD_CreateWorkerSession &&
           tfd_master_leaving_link(s->master, call->link);
}

void tfd_server_bind_notices(struct tfd_server *s)
{
    tfd_service_bind(s->service, TFD_METHOD_Draining, draining, s);
    tfd_service_spare(s->service, spares, s);
}
