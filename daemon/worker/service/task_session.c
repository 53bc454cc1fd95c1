/*
 * task_session.c - see task_session.h.
 *
 * A state is made outside of the lock, as prepare() may take long or take locks
 * of its own; of two that are made at once the first stays.
 *
 * Nodes of one name share a state only if their attributes are the same, too:
 * a kernel trusts that its state is of its types.  Within one master's session
 * they always are, but the default session is everybody's.
 */
#include "daemon/worker/service/task_session.h"

#include "common/base/map.h"
#include "config/cluster_proto.h"
#include "config/device_name.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct shared_state {
    struct shared_state *next; /* of another node with this name */
    const struct tfd_kernel *kernel;
    const struct tfd_node *node;
    void *state;
    struct tfd_graph *graph; /* the node's; the state may point into it */
    char name[];
};

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
            .row = d,
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
    s->refs = 1;
    tfd_lock_init(&s->lock, TFD_LOCK_SESSION);
    tfd_map_init(&s->states);
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
    const struct tfd_map_entry *e;
    size_t at = 0;

    if (!s || --s->refs > 0)
        return;
    tfd_peers_drop_cluster(s->all_peers, s->peers);
    while (tfd_map_next(&s->states, &at, &e)) {
        struct shared_state *x = (struct shared_state *)e->value;

        while (x) {
            struct shared_state *next = x->next;

            tfd_exec_release(x->kernel, x->state);
            tfd_graph_unref(x->graph);
            free(x);
            x = next;
        }
    }
    tfd_map_deinit(&s->states);
    for (int i = 0; i < s->device_count; i++)
        tfd_containers_free(s->own[i]);
    free(s->renamed);
    tfd_lock_deinit(&s->lock);
    free(s);
}

/* ---- States -------------------------------------------------------------- */

static bool same_attrs(const struct tfd_node *a, const struct tfd_node *b)
{
    struct tfd_str x, y;

    for (int32_t i = 0; i < a->op->attr_count; i++) {
        const char *name = a->op->attrs[i].name.data;
        bool has = tfd_node_attr(a, name, &x);

        if (has != tfd_node_attr(b, name, &y) || (has && !tfd_str_eq(x, y)))
            return false;
    }
    return true;
}

static struct shared_state *find_task_session(struct tfd_task_session *s,
                                              const struct tfd_node *node,
                                              const struct tfd_kernel *kernel)
{
    struct shared_state *x;
    uintptr_t value;

    if (!tfd_map_get(&s->states, node->name, &value))
        return NULL;
    x = (struct shared_state *)value;
    while (x && (x->kernel != kernel || x->node->op != node->op ||
                 !same_attrs(x->node, node)))
        x = x->next;
    return x;
}

/* Takes over x, unless there is one by now; NULL without memory. */
static struct shared_state *insert(struct tfd_task_session *s,
                                   struct shared_state *x)
{
    struct shared_state *first = find_task_session(s, x->node, x->kernel);
    struct tfd_str name = x->node->name;
    uintptr_t value;

    if (first)
        return first;
    if (tfd_map_get(&s->states, name, &value)) {
        first = (struct shared_state *)value; /* the map's key is its name */
        x->next = first->next;
        first->next = x;
        return x;
    }
    return tfd_map_put(&s->states, (struct tfd_str){x->name, name.size},
                       (uintptr_t)x)
               ? x
               : NULL;
}

static enum tfd_code make_task_session(struct tfd_task_session *s,
                                       const struct tfd_kernel *kernel,
                                       const struct tfd_prepare *p,
                                       struct tfd_graph *graph, void **state,
                                       struct tfd_status *st)
{
    struct tfd_str name = p->node->name;
    struct shared_state *x = calloc(1, sizeof(*x) + name.size + 1), *kept;
    enum tfd_code rc;

    if (!x)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "no memory for the kernel of " TFD_STR_FMT,
                        TFD_STR_ARG(name));
    memcpy(x->name, name.data, name.size);
    x->kernel = kernel;
    x->node = p->node;
    rc = tfd_exec_prepare(kernel, p, &x->state, st);
    if (rc != TFD_OK) {
        free(x);
        return rc;
    }
    tfd_lock(&s->lock);
    kept = insert(s, x);
    if (kept)
        *state = kept->state;
    if (kept == x)
        x->graph = tfd_graph_ref(graph);
    tfd_unlock(&s->lock);
    if (kept != x) {
        tfd_exec_release(kernel, x->state);
        free(x);
    }
    return kept ? TFD_OK
                : tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                           "no memory for the kernel of " TFD_STR_FMT,
                           TFD_STR_ARG(name));
}

enum tfd_code tfd_task_session_state(void *session,
                                     const struct tfd_kernel *kernel,
                                     const struct tfd_prepare *p,
                                     struct tfd_graph *graph, void **state,
                                     struct tfd_status *st)
{
    struct tfd_task_session *s = session;
    struct shared_state *x;

    tfd_lock(&s->lock);
    x = find_task_session(s, p->node, kernel);
    if (x)
        *state = x->state;
    tfd_unlock(&s->lock);
    return x ? TFD_OK : make_task_session(s, kernel, p, graph, state, st);
}
