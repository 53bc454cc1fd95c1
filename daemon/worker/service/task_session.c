/*
 * task_session.c - see task_session.h.
 *
 * Two counts keep a session: who uses it (the worker's table, graphs), and who
 * only needs its devices (functions that outlive their graphs).  When nobody
 * uses it any more, what its kernels and containers hold is let go of, for that
 * may be an iterator that calls such a function.
 */
#include "daemon/worker/service/task_session.h"

#include "common/base/atomic.h"
#include "config/cluster_proto.h"
#include "config/device_name.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void copy_name(char *to, size_t size, struct tfd_str from)
{
    size_t n = from.size < size ? from.size : size - 1;

    if (n)
        memcpy(to, from.data, n);
    to[n] = '\0';
}

/* ---- Clusters of its own ------------------------------------------------- */

static enum tfd_code rename_devices(struct tfd_task_session *s,
                                    const struct tfd_task_session_options *o,
                                    struct tfd_status *st)
{
    s->renamed = malloc(sizeof(*s->renamed));
    if (!s->renamed)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "no memory for a session");
    *s->renamed = *o->devices;
    s->devices = s->renamed;
    for (int i = 0; i < s->renamed->count; i++) {
        const struct tfd_device_attributes *old =
            &o->devices->device[i].attributes;

        snprintf(s->renamed->device[i].attributes.name,
                 sizeof(s->renamed->device[i].attributes.name),
                 TFD_STR_FMT "/device:%s:%d", TFD_STR_ARG(o->request->task),
                 old->type, o->devices->device[i].id);
    }
    return TFD_OK;
}

static enum tfd_code join_cluster(struct tfd_task_session *s,
                                  const struct tfd_task_session_options *o,
                                  struct tfd_status *st)
{
    struct tfd_device_name self;
    struct tfd_cluster c;
    enum tfd_code rc;

    TFD_TRY(tfd_device_name_parse(o->request->task, &self, st));
    tfd_cluster_init(&c);
    rc = tfd_cluster_proto_read(o->request->cluster_def, &c, st);
    if (rc == TFD_OK) {
        snprintf(c.job_name, sizeof(c.job_name), "%s", self.job);
        c.task_index = self.task;
        rc = tfd_peers_add_cluster(o->peers, &c, &s->peers, st);
    }
    tfd_cluster_deinit(&c);
    return rc == TFD_OK ? rename_devices(s, o, st) : rc;
}

static enum tfd_code choose_cluster(struct tfd_task_session *s,
                                    const struct tfd_task_session_options *o,
                                    struct tfd_status *st)
{
    s->devices = o->devices;
    s->all_peers = o->peers;
    s->peers = (struct tfd_peers_range){0, 0, -1, 0};
    if (o->peers)
        s->peers = tfd_peers_all(o->peers);
    if (o->peers && o->request && o->request->cluster_def.size > 0)
        return join_cluster(s, o, st);
    return TFD_OK;
}

static enum tfd_code make_devices(struct tfd_task_session *s,
                                  const struct tfd_task_session_options *o,
                                  struct tfd_status *st)
{
    bool isolate = o->request && o->request->isolate;

    for (int i = 0; i < s->devices->count; i++) {
        struct tfd_device *d = &s->devices->device[i];

        if (isolate) {
            s->own[i] = tfd_containers_new(st);
            if (!s->own[i])
                return TFD_RESOURCE_EXHAUSTED;
        }
        s->device_count++;
        s->rt[i] = (struct tfd_rt){
            .device = d->attributes.name,
            .container = o->container,
            .containers = isolate ? s->own[i] : d->containers,
            .files = o->files,
            .pool = o->pool,
            .crew = o->crew,
            .loop = o->loop,
            .row = d,
            .collectives = o->collectives,
        };
    }
    return TFD_OK;
}

struct tfd_task_session *
tfd_task_session_new(const struct tfd_task_session_options *o,
                     struct tfd_status *st)
{
    struct tfd_task_session *s = calloc(1, sizeof(*s));

    if (!s) {
        tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "no memory for a session");
        return NULL;
    }
    s->refs = s->holds = 1;
    tfd_shared_states_init(&s->states);
    if (o->request) {
        copy_name(s->handle, sizeof(s->handle), o->request->handle);
        copy_name(s->master_task, sizeof(s->master_task),
                  o->request->master_task);
        s->master_incarnation = o->request->master_incarnation;
        snprintf(s->peer, sizeof(s->peer), "%s",
                 o->request->peer ? o->request->peer : "");
    }
    if (choose_cluster(s, o, st) != TFD_OK ||
        make_devices(s, o, st) != TFD_OK) {
        tfd_task_session_unref(s);
        return NULL;
    }
    return s;
}

struct tfd_task_session *tfd_task_session_ref(struct tfd_task_session *s)
{
    s->refs++;
    return s;
}

void tfd_task_session_unref(struct tfd_task_session *s)
{
    if (!s || --s->refs > 0)
        return;
    tfd_peers_drop_cluster(s->all_peers, s->peers);
    tfd_shared_states_clear(&s->states);
    for (int i = 0; i < s->device_count; i++)
        if (s->own[i])
            tfd_containers_clear_all(s->own[i]);
    tfd_task_session_let_go(s);
}

void tfd_task_session_hold(struct tfd_task_session *s)
{
    tfd_refs_add(&s->holds, 1);
}

void tfd_task_session_let_go(struct tfd_task_session *s)
{
    if (!tfd_refs_drop(&s->holds))
        return;
    tfd_shared_states_deinit(&s->states);
    for (int i = 0; i < s->device_count; i++)
        tfd_containers_free(s->own[i]);
    free(s->renamed);
    free(s);
}

enum tfd_code tfd_task_session_state(void *session,
                                     const struct tfd_kernel *kernel,
                                     const struct tfd_prepare *p,
                                     struct tfd_graph *graph, void **state,
                                     struct tfd_status *st)
{
    struct tfd_task_session *s = session;

    return tfd_shared_states_get(&s->states, kernel, p, graph, state, st);
}
