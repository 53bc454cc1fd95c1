/*
 * partial_ends.c - see partial_ends.h.
 *
 * Whether a fetch can be computed is found by walking backwards through the
 * session's whole graph: a feed that has not come yet is in the way, even where
 * another one cuts it off, as in TensorFlow.
 */
#include "daemon/master/session/partial_ends.h"

#include "config/limits.h"

#include <inttypes.h>
#include <stdlib.h>

static struct tfd_partial_end *find_feed(const struct tfd_partial_run *p,
                                         struct tfd_str name)
{
    uintptr_t at;

    return tfd_map_get(&p->feed_at, name, &at) ? &p->feeds[at] : NULL;
}

static struct tfd_partial_end *find_fetch(const struct tfd_partial_run *p,
                                          struct tfd_str name)
{
    uintptr_t at;

    return tfd_map_get(&p->fetch_at, name, &at) ? &p->fetches[at] : NULL;
}

/* ---- Setup --------------------------------------------------------------- */

static enum tfd_code copy_names(struct tfd_partial_run *p,
                                const struct tfd_str *from, int count,
                                const struct tfd_str **out,
                                struct tfd_status *st)
{
    struct tfd_str *names =
        tfd_arena_array(&p->arena, (size_t)count + 1, sizeof(*names));

    TFD_TRY(tfd_arena_check(names, "a partial run", st));
    for (int i = 0; i < count; i++) {
        names[i] = tfd_arena_str(&p->arena, from[i]);
        TFD_TRY(tfd_arena_check(names[i].data, "a partial run", st));
    }
    *out = names;
    return TFD_OK;
}

static int drop_repeated(struct tfd_str *names, int count)
{
    struct tfd_map seen;
    uintptr_t unused;
    int kept = 0;

    tfd_map_init(&seen);
    for (int i = 0; i < count; i++) {
        if (tfd_map_get(&seen, names[i], &unused))
            continue;
        (void)!tfd_map_put(&seen, names[i], 0); /* else prune.c finds it */
        names[kept++] = names[i];
    }
    tfd_map_deinit(&seen);
    return kept;
}

enum tfd_code tfd_partial_ends_copy(struct tfd_partial_run *p,
                                    const struct tfd_run_step *names,
                                    struct tfd_status *st)
{
    p->run.partial = true;
    p->run.feed_count = names->feed_count;
    p->run.target_count = names->target_count;
    TFD_TRY(copy_names(p, names->feed_names, names->feed_count,
                       &p->run.feed_names, st));
    TFD_TRY(copy_names(p, names->fetch_names, names->fetch_count,
                       &p->run.fetch_names, st));
    p->run.fetch_count =
        drop_repeated((struct tfd_str *)p->run.fetch_names, names->fetch_count);
    return copy_names(p, names->target_names, names->target_count,
                      &p->run.target_names, st);
}

static enum tfd_code resolve_ends(struct tfd_partial_run *p,
                                  const struct tfd_str *names, int count,
                                  struct tfd_partial_end **out,
                                  struct tfd_map *at, struct tfd_status *st)
{
    *out = tfd_arena_array(&p->arena, (size_t)count + 1, sizeof(**out));
    TFD_TRY(tfd_arena_check(*out, "a partial run", st));
    for (int i = 0; i < count; i++) {
        (*out)[i] = (struct tfd_partial_end){.name = names[i]};
        if (!tfd_map_put(at, names[i], (uintptr_t)i))
            return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                            "No memory for a partial run");
        TFD_TRY(tfd_graph_endpoint(p->session->graph, names[i], &(*out)[i].edge,
                                   st));
    }
    return TFD_OK;
}

enum tfd_code tfd_partial_ends_resolve(struct tfd_partial_run *p,
                                       struct tfd_status *st)
{
    p->feeds_left = p->run.feed_count;
    p->fetches_left = p->run.fetch_count;
    TFD_TRY(resolve_ends(p, p->run.feed_names, p->run.feed_count, &p->feeds,
                         &p->feed_at, st));
    return resolve_ends(p, p->run.fetch_names, p->run.fetch_count, &p->fetches,
                        &p->fetch_at, st);
}

/* ---- Checking a call ----------------------------------------------------- */

struct walk {
    const struct tfd_partial_run *p;
    const bool *arriving;
    bool *seen;
    int32_t *feed_of; /* by node: its first feed and one; 0: none */
    int32_t *stack;
    int32_t depth;
};

/* A feed that has not come and does not come now. */
static const struct tfd_partial_end *missing_feed(const struct walk *w,
                                                  struct tfd_edge e)
{
    for (int32_t f = w->feed_of[e.node]; f > 0; f = w->p->feeds[f - 1].next)
        if (!w->p->feeds[f - 1].used && !w->arriving[f - 1] &&
            w->p->feeds[f - 1].edge.output == e.output)
            return &w->p->feeds[f - 1];
    return NULL;
}

static void reach(struct walk *w, int32_t node)
{
    if (!w->seen[node])
        w->stack[w->depth++] = node;
    w->seen[node] = true;
}

static const struct tfd_partial_end *visit(struct walk *w, int32_t node)
{
    const struct tfd_node *n = w->p->session->graph->nodes[node];

    for (int32_t i = 0; i < n->in_count; i++) {
        const struct tfd_partial_end *missing;

        if (n->in[i].node < 0)
            continue; /* the plan would not be there */
        missing = missing_feed(w, n->in[i]);
        if (missing)
            return missing;
        reach(w, n->in[i].node);
    }
    for (int32_t i = 0; i < n->control_count; i++)
        reach(w, n->control[i]);
    return NULL;
}

static enum tfd_code walk_back(struct walk *w, const struct tfd_run_step *run,
                               struct tfd_status *st)
{
    for (int i = 0; i < w->p->run.feed_count; i++) {
        struct tfd_partial_end *e = &w->p->feeds[i];

        e->next = w->feed_of[e->edge.node];
        w->feed_of[e->edge.node] = i + 1;
    }
    for (int i = 0; i < run->fetch_count; i++)
        reach(w, find_fetch(w->p, run->fetch_names[i])->edge.node);
    while (w->depth > 0) {
        const struct tfd_partial_end *missing = visit(w, w->stack[--w->depth]);

        if (missing)
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "Fetch " TFD_STR_FMT " can't be computed from the "
                            "feeds that have been fed so far.",
                            TFD_STR_ARG(missing->name));
    }
    return TFD_OK;
}

static enum tfd_code check_computable(const struct tfd_partial_run *p,
                                      const struct tfd_run_step *run,
                                      const bool *arriving,
                                      struct tfd_status *st)
{
    size_t nodes = (size_t)p->session->graph->count + 1;
    struct walk w = {.p = p, .arriving = arriving};
    enum tfd_code rc;

    w.seen = calloc(nodes, sizeof(*w.seen));
    w.feed_of = calloc(nodes, sizeof(*w.feed_of));
    w.stack = calloc(nodes, sizeof(*w.stack));
    if (w.seen && w.feed_of && w.stack)
        rc = walk_back(&w, run, st);
    else
        rc = tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                      "No memory to check a partial run");
    free(w.seen);
    free(w.feed_of);
    free(w.stack);
    return rc;
}

static enum tfd_code check_end(const struct tfd_partial_end *e,
                               struct tfd_str name, const char *kind,
                               const char *done, struct tfd_status *st)
{
    if (!e)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "The %s " TFD_STR_FMT " was not specified in "
                        "partial_run_setup.",
                        kind, TFD_STR_ARG(name));
    if (e->used)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "The %s " TFD_STR_FMT " has already been %s.", kind,
                        TFD_STR_ARG(name), done);
    return TFD_OK;
}

static enum tfd_code check_names(const struct tfd_partial_run *p,
                                 const struct tfd_run_step *run, bool *arriving,
                                 struct tfd_status *st)
{
    for (int i = 0; i < run->feed_count; i++) {
        struct tfd_str name = run->feed_names[i];
        const struct tfd_partial_end *e = find_feed(p, name);

        TFD_TRY(check_end(e, name, "feed", "fed", st));
        if (arriving[e - p->feeds])
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "The feed " TFD_STR_FMT " has already been fed.",
                            TFD_STR_ARG(name));
        arriving[e - p->feeds] = true;
    }
    for (int i = 0; i < run->fetch_count; i++) {
        struct tfd_str name = run->fetch_names[i];

        TFD_TRY(check_end(find_fetch(p, name), name, "fetch", "fetched", st));
    }
    return check_computable(p, run, arriving, st);
}

enum tfd_code tfd_partial_ends_check(const struct tfd_partial_run *p,
                                     const struct tfd_run_step *run,
                                     struct tfd_status *st)
{
    bool *arriving = calloc((size_t)p->run.feed_count + 1, sizeof(*arriving));
    enum tfd_code rc;

    if (!arriving)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "No memory to check a partial run");
    rc = check_names(p, run, arriving, st);
    free(arriving);
    return rc;
}

/* ---- Using them ---------------------------------------------------------- */

enum tfd_code tfd_partial_ends_feed(struct tfd_partial_run *p,
                                    struct tfd_str name,
                                    const struct tfd_tensor *value,
                                    struct tfd_status *st)
{
    struct tfd_partial_end *e = find_feed(p, name);
    const struct tfd_graph *g = p->session->graph;
    int type = (int)tfd_dtype_base(tfd_graph_type(g, e->edge));

    e->used = true;
    p->feeds_left--;
    if ((int)value->dtype == type)
        return TFD_OK;
    return tfd_fail(st, TFD_INTERNAL,
                    "From %s:\nOutput 0 of type %s does not match declared "
                    "output type %s for node {{node _recv_" TFD_STR_FMT "_%d}}",
                    tfd_session_task(p->session, 0),
                    tfd_dtype_name((int)value->dtype), tfd_dtype_name(type),
                    TFD_STR_ARG(g->nodes[e->edge.node]->name), e->edge.output);
}

void tfd_partial_ends_fetch(struct tfd_partial_run *p, struct tfd_str name)
{
    find_fetch(p, name)->used = true;
    p->fetches_left--;
}

bool tfd_partial_ends_complete(const struct tfd_partial_run *p)
{
    return p->feeds_left == 0 && p->fetches_left == 0;
}

enum tfd_code tfd_partial_ends_key(const struct tfd_partial_run *p,
                                   struct tfd_str name, struct tfd_bytes *out,
                                   struct tfd_status *st)
{
    const struct tfd_device_attributes *client =
        &p->session->devices.devices[0].attributes;

    tfd_bytes_init(out, TFD_SIGNATURE_SIZE_MAX);
    tfd_bytes_printf(out, "%s;%016" PRIx64 ";%s;", client->name,
                     client->incarnation, client->name);
    tfd_bytes_add_str(out, name);
    return tfd_bytes_ok(out, "a rendezvous key", st);
}
