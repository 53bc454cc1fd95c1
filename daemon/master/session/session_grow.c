/*
 * session_grow.c - a session's graph: what CreateSession brings and what
 * ExtendSession adds, and where its nodes are placed.  All of it is the work of
 * builds (build.h).
 */
#include "daemon/master/session/session.h"

#include "common/proto/graphdef.h"
#include "common/base/log.h"
#include "common/base/pbio.h"
#include "common/proto/graph.pb.h"
#include "config/limits.h"
#include "daemon/rewrite/functions.h"
#include "daemon/master/session/session_idle.h"
#include "daemon/rewrite/place.h"

#include <stddef.h>
#include <stdlib.h>

static bool has_functions(struct tfd_str graph_def)
{
    struct tfd_pb_reader r = tfd_pb_reader_of(graph_def);
    struct tfd_pb_field f;
    bool has = false;

    while (tfd_pb_next(&r, &f))
        has |= f.tag == tensorflow_GraphDef_library_tag && f.bytes.size > 0;
    return has;
}

bool tfd_session_is_large(const struct tfd_session *s, struct tfd_str graph_def)
{
    return s->node_count > TFD_BUILD_NODES_INLINE ||
           graph_def.size > TFD_BUILD_SIZE_INLINE || has_functions(graph_def);
}

enum tfd_code tfd_session_import(struct tfd_session *s,
                                 struct tfd_str graph_def, const bool *stop,
                                 struct tfd_status *st)
{
    const struct tfd_expand how = {
        .across_tasks = s->config.share_cluster_devices,
        .stop = stop,
    };
    int32_t first;

    TFD_TRY(tfd_graphdef_import(s->graph, graph_def, NULL, &first, st));
    return tfd_functions_expand(s->graph, first, &how, st);
}

/* ---- Placing ------------------------------------------------------------- */

/* Stateful nodes stay where they are: their state is there. */
static void pin_stateful(const struct tfd_session *s, int32_t kept,
                         int32_t *pinned)
{
    for (int32_t i = 0; i < kept; i++)
        pinned[i] = s->graph->nodes[i]->op->flags & TFD_OP_STATEFUL
                        ? s->device_of[i]
                        : -1;
}

/* As TensorFlow's placer writes it; only nodes that are new. */
static void log_placement(const struct tfd_session *s, int32_t kept)
{
    for (int32_t i = kept; i < s->graph->count; i++) {
        const struct tfd_node *n = s->graph->nodes[i];

        tfd_log(TFD_LOG_INFO, "placed",
                "text=\"" TFD_STR_FMT ": (" TFD_STR_FMT "): %s\"",
                TFD_STR_ARG(n->name), TFD_STR_ARG(n->op->name),
                s->devices.devices[s->device_of[i]].attributes.name);
    }
}

enum tfd_code tfd_session_place(struct tfd_session *s, int32_t kept,
                                struct tfd_status *st)
{
    size_t count = (size_t)s->graph->count + 1;
    int32_t *pinned = calloc(count, sizeof(*pinned));
    int32_t *device_of = calloc(count, sizeof(*device_of));
    struct tfd_place_request r = {
        .graph = s->graph,
        .registry = s->master->o.registry,
        .devices = &s->devices,
        .pinned = pinned,
        .pinned_count = kept,
        .soft = s->config.allow_soft_placement,
    };
    enum tfd_code rc;

    if (!pinned || !device_of) {
        rc = tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "No memory to place %d nodes",
                      s->graph->count);
    } else {
        pin_stateful(s, kept, pinned);
        rc = tfd_place(&r, device_of, st);
    }
    free(pinned);
    if (rc != TFD_OK) {
        free(device_of);
        return rc;
    }
    free(s->device_of);
    s->device_of = device_of;
    if (s->config.log_device_placement)
        log_placement(s, kept);
    return TFD_OK;
}

/* ---- Extending ----------------------------------------------------------- */

struct tfd_extend {
    struct tfd_build build; /* first */
    struct tfd_session *session;
    struct tfd_extend_session spec;
    struct tfd_status status;
    bool *over; /* to be told at the end; NULL: nobody looks */
};

static enum tfd_code extend(struct tfd_extend *x, struct tfd_status *st)
{
    struct tfd_session *s = x->session;
    int32_t kept = s->graph->count;

    if (x->spec.version != s->version)
        return tfd_fail(st, TFD_ABORTED,
                        "Current version is %lld but caller expected %lld.",
                        (long long)s->version, (long long)x->spec.version);
    TFD_TRY(tfd_session_import(s, x->spec.graph_def, &x->build.stop, st));
    if (tfd_session_place(s, kept, st) == TFD_OK)
        return TFD_OK;
    tfd_graph_truncate(s->graph, kept);
    return st->code;
}

static void grow_graph(struct tfd_build *b)
{
    struct tfd_extend *x = (struct tfd_extend *)b;

    (void)extend(x, &x->status);
}

static void extended(struct tfd_build *b)
{
    struct tfd_extend *x = (struct tfd_extend *)b;
    struct tfd_session *s = x->session;

    s->growing--;
    if (x->status.code == TFD_OK)
        s->version++;
    tfd_session_measure(s);
    tfd_session_use(s, 0);
    if (x->over)
        *x->over = true;
    x->spec.done(x->spec.ctx, &x->status, s->version);
    free(x);
}

struct tfd_extend *tfd_session_extend(struct tfd_session *s,
                                      const struct tfd_extend_session *spec)
{
    struct tfd_extend *x = calloc(1, sizeof(*x));
    struct tfd_status st = TFD_STATUS_INIT;
    bool over = false;

    if (!x)
        (void)tfd_fail(&st, TFD_RESOURCE_EXHAUSTED,
                       "No memory to extend a session");
    else if (s->state != TFD_SESSION_OPEN)
        (void)tfd_fail(&st, TFD_FAILED_PRECONDITION, "Session is closed.");
    if (st.code != TFD_OK) {
        free(x);
        spec->done(spec->ctx, &st, 0);
        return NULL;
    }
    *x = (struct tfd_extend){
        .build = {.work = grow_graph, .done = extended},
        .session = s,
        .spec = *spec,
        .over = &over,
    };
    x->build.large = tfd_session_is_large(s, spec->graph_def);
    s->growing++;
    tfd_build_start(s, &x->build);
    if (over)
        return NULL;
    x->over = NULL;
    return x;
}

void tfd_session_cancel_extend(struct tfd_extend *x)
{
    tfd_build_stop(&x->build);
}
