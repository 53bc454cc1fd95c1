/*
 * section_cluster.c - every task of the cluster as an object: which it is, how
 * it is from here, and what it says of itself.
 */
#include "daemon/status/document.h"

#include "config/device_name.h"
#include "rpc/core/peers.h"

/* Readers of JSON have doubles; what a peer says may be anything. */
#define NUMBER_MAX (INT64_C(1) << 53)

static void put_count(struct tfd_json_out *j, const char *key, uint64_t n)
{
    tfd_json_out_number(j, key, n < NUMBER_MAX ? (int64_t)n : NUMBER_MAX);
}

static void put_since(const struct tfd_view *v, struct tfd_json_out *j,
                      const char *key, uint64_t us)
{
    if (us)
        tfd_json_out_real(j, key, (double)(tfd_loop_now_us(v->loop) - us) / 1e6,
                          3);
    else
        tfd_json_out_null(j, key);
}

static void put_name(const struct tfd_view *v, struct tfd_json_out *j, int i)
{
    struct tfd_str name = tfd_str_of(tfd_peers_task(v->peers, i));
    struct tfd_device_name parts;

    if (tfd_device_name_parse(name, &parts, NULL) != TFD_OK)
        parts = (struct tfd_device_name){.task = -1}; /* it is one of ours */
    tfd_json_out_text(j, "job", tfd_str_of(parts.job));
    tfd_json_out_number(j, "task", parts.task);
    tfd_json_out_text(j, "name", name);
    tfd_json_out_text(j, "address", tfd_str_of(tfd_peers_address(v->peers, i)));
}

static void put_waiting_step(struct tfd_json_out *j,
                             const struct tfd_waiting_step *w)
{
    tfd_json_out_open(j, NULL, '{');
    tfd_json_out_id(j, "step", (uint64_t)w->step);
    tfd_json_out_real(j, "seconds", (double)w->waited_us / 1e6, 3);
    tfd_json_out_text(j, "waits", tfd_str_of(w->waits));
    tfd_json_out_close(j, '}');
}

static void put_said(struct tfd_json_out *j, const struct tfd_task_state *s)
{
    tfd_json_out_text(j, "version", tfd_str_of(s->version));
    tfd_json_out_id(j, "incarnation", s->incarnation);
    put_count(j, "up_seconds", s->up_us / 1000000);
    put_count(j, "sessions", s->sessions);
    put_count(j, "contexts", s->contexts);
    put_count(j, "steps_running", s->steps_running);
    put_count(j, "steps_done", s->steps_done);
    put_count(j, "steps_us", s->steps_us);
    tfd_json_out_real(j, "oldest_step_seconds", (double)s->oldest_step_us / 1e6,
                      3);
    put_count(j, "worker_steps_running", s->worker_steps_running);
    put_count(j, "worker_steps_done", s->worker_steps_done);
    put_count(j, "memory_bytes", s->memory_bytes);
    put_count(j, "memory_limit_bytes", s->memory_limit);
    put_count(j, "resources", s->resources);
    put_count(j, "warnings", s->warnings);
    tfd_json_out_open(j, "waiting", '[');
    for (int i = 0; i < s->waiting_count; i++)
        put_waiting_step(j, &s->waiting[i]);
    tfd_json_out_close(j, ']');
}

static const char *protocol_of(const struct tfd_channel *ch)
{
    static const char *const names[] = {
        [TFD_PROTO_UNKNOWN] = "unknown",
        [TFD_PROTO_NATIVE] = "native",
        [TFD_PROTO_GRPC] = "grpc",
    };

    return names[ch ? tfd_channel_protocol(ch) : TFD_PROTO_UNKNOWN];
}

static void put_own(const struct tfd_view *v, struct tfd_json_out *j)
{
    struct tfd_task_state own;

    tfd_task_state_fill(v, &own);
    tfd_json_out_text(j, "state", tfd_str_of(own.draining ? "draining" : "up"));
    tfd_json_out_bool(j, "self", true);
    put_said(j, &own);
}

static void put_traffic(const struct tfd_view *v, struct tfd_json_out *j, int i)
{
    const struct tfd_traffic *t = tfd_peers_traffic_made(v->peers, i);

    put_count(j, "sent_bytes", t ? t->sent : 0);
    put_count(j, "received_bytes", t ? t->received : 0);
}

static void put_peer(const struct tfd_view *v, struct tfd_json_out *j,
                     const struct tfd_roster_task *t)
{
    const struct tfd_channel *ch = tfd_peers_made(v->peers, t->peer);

    tfd_json_out_text(j, "state", tfd_str_of(tfd_roster_state_name(t->state)));
    tfd_json_out_bool(j, "self", false);
    tfd_json_out_text(j, "why", tfd_str_of(t->why));
    put_since(v, j, "state_seconds", t->changed_us);
    put_since(v, j, "heard_seconds", t->heard_us);
    tfd_json_out_bool(j, "connected", ch && tfd_channel_up(ch));
    tfd_json_out_text(j, "protocol", tfd_str_of(protocol_of(ch)));
    put_count(j, "queued_calls", ch ? tfd_channel_queued(ch) : 0);
    put_count(j, "round_trip_us", t->round_trip_us);
    put_traffic(v, j, t->peer);
    if (t->spoke)
        put_said(j, &t->said);
}

void tfd_section_cluster(const struct tfd_document *d, struct tfd_json_out *j,
                         const char *key)
{
    const struct tfd_view *v = d->view;
    int count = tfd_peers_count(v->peers);
    int shown = count < TFD_STATUS_TASKS_MAX ? count : TFD_STATUS_TASKS_MAX;

    tfd_json_out_open(j, key, '{');
    tfd_json_out_number(j, "count", count);
    tfd_json_out_open(j, "tasks", '[');
    for (int i = 0; i < shown; i++) {
        tfd_json_out_open(j, NULL, '{');
        put_name(v, j, i);
        if (i == tfd_peers_self(v->peers))
            put_own(v, j);
        else
            put_peer(v, j, tfd_roster_task(d->roster, i));
        tfd_json_out_close(j, '}');
    }
    tfd_json_out_close(j, ']');
    tfd_json_out_number(j, "more", count - shown);
    tfd_json_out_close(j, '}');
}
