/*
 * cuts.c - see cuts.h.
 *
 * A cut sees those before it because it is linked to its node only when it is
 * its turn.  A connection must not make its source wait for itself: a walk
 * backwards from the source over the edges as they are cut so far, with an
 * explicit stack, must not reach the node that is cut.
 */
#include "daemon/rewrite/cuts.h"

#include "common/base/map.h"

#include <stdlib.h>

/* ---- Finding ------------------------------------------------------------- */

int32_t tfd_cuts_find(const struct tfd_cuts *c, struct tfd_edge e)
{
    for (int32_t i = c->of[e.node]; i >= 0; i = c->list[i].next)
        if (c->list[i].edge.output == e.output)
            return i;
    return -1;
}

static bool is_placeholder(const struct tfd_node *n)
{
    return tfd_str_is(n->op->name, "Placeholder") ||
           tfd_str_is(n->op->name, "PlaceholderV2");
}

int32_t tfd_cuts_control(const struct tfd_cuts *c, int32_t node)
{
    if (c->of[node] >= 0 && is_placeholder(c->g->nodes[node]))
        return c->of[node];
    return -1;
}

bool tfd_cuts_is_feed(const struct tfd_cuts *c, int32_t cut)
{
    return cut < c->sig->feed_count;
}

enum tfd_code tfd_cuts_check(const struct tfd_cuts *c, int32_t cut,
                             const struct tfd_node *n, int32_t i,
                             struct tfd_status *st)
{
    const struct tfd_cut *x = &c->list[cut];
    int type = (int)tfd_dtype_base(tfd_graph_type(c->g, x->source));

    if (type == n->in_types[i])
        return TFD_OK;
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "Input %d of node " TFD_STR_FMT " was passed %s from "
                    "_identity_" TFD_STR_FMT
                    "_%d:0 incompatible with expected %s.",
                    i, TFD_STR_ARG(n->name), tfd_dtype_name(type),
                    TFD_STR_ARG(c->g->nodes[x->edge.node]->name),
                    x->edge.output, tfd_dtype_name(n->in_types[i]));
}

/* ---- Names --------------------------------------------------------------- */

struct tfd_str tfd_cuts_split(struct tfd_str name, int32_t *output)
{
    size_t at = name.size;
    int64_t number = 0;

    *output = 0;
    while (at > 0 && name.data[at - 1] >= '0' && name.data[at - 1] <= '9')
        at--;
    if (at == name.size || at < 2 || name.data[at - 1] != ':')
        return name;
    for (size_t i = at; i < name.size && number <= INT32_MAX; i++)
        number = number * 10 + (name.data[i] - '0');
    *output = number > INT32_MAX ? INT32_MAX : (int32_t)number;
    return (struct tfd_str){name.data, at - 1};
}

static enum tfd_code resolve_name(const struct tfd_cuts *c, struct tfd_str name,
                                  struct tfd_edge *out, struct tfd_status *st)
{
    int32_t output;
    const struct tfd_node *n =
        tfd_graph_find(c->g, tfd_cuts_split(name, &output));

    if (!n)
        return tfd_fail(st, TFD_NOT_FOUND,
                        "FeedInputs: unable to find feed output " TFD_STR_FMT,
                        TFD_STR_ARG(name));
    if (output >= n->out_count)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "FeedInputs: " TFD_STR_FMT
                        " should have output index < %d",
                        TFD_STR_ARG(name), n->out_count);
    *out = (struct tfd_edge){n->id, output};
    return TFD_OK;
}

/* TensorFlow names the other end. */
static enum tfd_code resolve_source(const struct tfd_cuts *c,
                                    struct tfd_str from, struct tfd_str to,
                                    struct tfd_edge *out, struct tfd_status *st)
{
    bool control = from.size > 0 && from.data[0] == '^';
    int32_t output;
    const struct tfd_node *n;

    if (control)
        from = (struct tfd_str){from.data + 1, from.size - 1};
    n = tfd_graph_find(c->g, tfd_cuts_split(from, &output));
    if (!n)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Requested tensor connection from unknown node: "
                        "\"" TFD_STR_FMT "\".",
                        TFD_STR_ARG(to));
    if (control)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Attempt to add output -1 of " TFD_STR_FMT
                        " not in range [0, %d) to node with type Identity. "
                        "Node: {{node " TFD_STR_FMT "}}",
                        TFD_STR_ARG(n->name), n->out_count,
                        TFD_STR_ARG(n->name));
    if (output >= n->out_count)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Requested tensor connection from unknown edge: "
                        "\"" TFD_STR_FMT "\" (actual number of outputs = %d).",
                        TFD_STR_ARG(to), n->out_count);
    *out = (struct tfd_edge){n->id, output};
    return TFD_OK;
}

static enum tfd_code fed_twice(struct tfd_str name, struct tfd_status *st)
{
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "Endpoint \"" TFD_STR_FMT "\" fed more than once.",
                    TFD_STR_ARG(name));
}

enum tfd_code tfd_cuts_fed_and_fetched(struct tfd_str name,
                                       struct tfd_status *st)
{
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    TFD_STR_FMT " is both fed and fetched.", TFD_STR_ARG(name));
}

static enum tfd_code add_text(struct tfd_map *fed, struct tfd_str name,
                              struct tfd_status *st)
{
    uintptr_t unused;

    if (tfd_map_get(fed, name, &unused))
        return fed_twice(name, st);
    if (!tfd_map_put(fed, name, 0))
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "No memory for feeds");
    return TFD_OK;
}

static enum tfd_code check_texts(const struct tfd_signature *sig,
                                 struct tfd_map *fed, struct tfd_status *st)
{
    uintptr_t unused;

    for (int i = 0; i < sig->feed_count; i++)
        TFD_TRY(add_text(fed, sig->feeds[i], st));
    for (int i = 0; i < sig->connection_count; i++)
        TFD_TRY(add_text(fed, sig->connections[2 * i + 1], st));
    for (int i = 0; i < sig->fetch_count; i++)
        if (tfd_map_get(fed, sig->fetches[i], &unused))
            return tfd_cuts_fed_and_fetched(sig->fetches[i], st);
    return TFD_OK;
}

/* As TensorFlow: by the texts, before anything is looked up. */
static enum tfd_code check_signature(const struct tfd_signature *sig,
                                     struct tfd_status *st)
{
    struct tfd_map fed;
    enum tfd_code rc;

    if (sig->fetch_count + sig->target_count == 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Must specify at least one target to fetch or "
                        "execute.");
    tfd_map_init(&fed);
    rc = check_texts(sig, &fed, st);
    tfd_map_deinit(&fed);
    return rc;
}

/* ---- Cycles -------------------------------------------------------------- */

/* Nodes of the graph are numbered as there, connections after them. */
struct walk {
    const struct tfd_cuts *c;
    int32_t *stack;
    int32_t *seen; /* the connection that has last been there, or -1 */
    int32_t depth, turn;
};

static void reach(struct walk *w, int32_t number)
{
    if (w->seen[number] == w->turn)
        return;
    w->seen[number] = w->turn;
    w->stack[w->depth++] = number;
}

static void reach_cut(struct walk *w, int32_t cut)
{
    if (!tfd_cuts_is_feed(w->c, cut))
        reach(w, w->c->g->count + cut - w->c->sig->feed_count);
}

/* A connection's source, which only connections after it may cut. */
static void reach_source(struct walk *w, int32_t cut)
{
    struct tfd_edge source = w->c->list[cut].source;
    int32_t next = tfd_cuts_find(w->c, source);

    if (next > cut && !tfd_cuts_is_feed(w->c, next))
        reach_cut(w, next);
    else
        reach(w, source.node);
}

static void reach_inputs(struct walk *w, const struct tfd_node *n)
{
    for (int32_t i = 0; i < n->in_count; i++) {
        int32_t cut = n->in[i].node < 0 ? -1 : tfd_cuts_find(w->c, n->in[i]);

        if (cut >= 0)
            reach_cut(w, cut);
        else if (n->in[i].node >= 0)
            reach(w, n->in[i].node);
    }
    for (int32_t i = 0; i < n->control_count; i++) {
        int32_t cut = tfd_cuts_control(w->c, n->control[i]);

        if (cut >= 0)
            reach_cut(w, cut);
        else
            reach(w, n->control[i]);
    }
}

static bool waits_for(struct walk *w, int32_t node, int32_t other)
{
    int32_t nodes = w->c->g->count, feeds = w->c->sig->feed_count;

    w->depth = 0;
    reach(w, node);
    while (w->depth > 0) {
        int32_t at = w->stack[--w->depth];

        if (at == other)
            return true;
        if (at >= nodes)
            reach_source(w, at - nodes + feeds);
        else
            reach_inputs(w, w->c->g->nodes[at]);
    }
    return false;
}

/* ---- Making -------------------------------------------------------------- */

static void link_cut(struct tfd_cuts *c, int32_t i)
{
    struct tfd_cut *x = &c->list[i];

    x->next = c->of[x->edge.node];
    c->of[x->edge.node] = i;
}

/* "x" and "x:0" are one endpoint, though not for TensorFlow, which then waits
 * for ever. */
static enum tfd_code make_feeds(struct tfd_cuts *c, struct tfd_status *st)
{
    for (int i = 0; i < c->sig->feed_count; i++) {
        TFD_TRY(resolve_name(c, c->sig->feeds[i], &c->list[i].edge, st));
        if (tfd_cuts_find(c, c->list[i].edge) >= 0)
            return fed_twice(c->sig->feeds[i], st);
        link_cut(c, i);
    }
    return TFD_OK;
}

static enum tfd_code make_connection(struct tfd_cuts *c, struct walk *w, int i,
                                     struct tfd_status *st)
{
    int32_t at = c->sig->feed_count + i;
    struct tfd_cut *x = &c->list[at];

    TFD_TRY(resolve_name(c, c->sig->connections[2 * i + 1], &x->edge, st));
    w->turn = i;
    if (waits_for(w, x->source.node, x->edge.node))
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Requested Tensor connection between nodes "
                        "\"" TFD_STR_FMT "\" and \"" TFD_STR_FMT
                        "\" would create a cycle.",
                        TFD_STR_ARG(c->g->nodes[x->edge.node]->name),
                        TFD_STR_ARG(c->g->nodes[x->source.node]->name));
    if (tfd_cuts_find(c, x->edge) < 0)
        link_cut(c, at);
    return TFD_OK;
}

/* From the last on, so that what a source becomes is known already. */
static void settle_sources(struct tfd_cuts *c)
{
    int feeds = c->sig->feed_count;

    for (int32_t i = feeds + c->sig->connection_count - 1; i >= feeds; i--) {
        int32_t next = tfd_cuts_find(c, c->list[i].source);

        if (next > i)
            c->list[i].source = c->list[next].source;
    }
}

static enum tfd_code make_connections(struct tfd_cuts *c, struct tfd_status *st)
{
    size_t room = (size_t)c->g->count + (size_t)c->sig->connection_count;
    struct walk w = {.c = c};
    enum tfd_code rc = TFD_OK;

    if (c->sig->connection_count == 0)
        return TFD_OK;
    w.stack = calloc(room, sizeof(*w.stack));
    w.seen = calloc(room, sizeof(*w.seen));
    if (!w.stack || !w.seen)
        rc = tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "No memory for connections");
    for (size_t i = 0; rc == TFD_OK && i < room; i++)
        w.seen[i] = -1;
    for (int i = 0; rc == TFD_OK && i < c->sig->connection_count; i++)
        rc = make_connection(c, &w, i, st);
    free(w.stack);
    free(w.seen);
    if (rc == TFD_OK)
        settle_sources(c);
    return rc;
}

static enum tfd_code make_cuts(struct tfd_cuts *c, struct tfd_status *st)
{
    const struct tfd_signature *sig = c->sig;

    for (int32_t i = 0; i < c->g->count; i++)
        c->of[i] = -1;
    for (int i = 0; i < sig->connection_count; i++)
        TFD_TRY(resolve_source(c, sig->connections[2 * i],
                               sig->connections[2 * i + 1],
                               &c->list[sig->feed_count + i].source, st));
    TFD_TRY(check_signature(sig, st));
    TFD_TRY(make_feeds(c, st));
    return make_connections(c, st);
}

enum tfd_code tfd_cuts_init(struct tfd_cuts *c, const struct tfd_graph *g,
                            const struct tfd_signature *sig,
                            struct tfd_status *st)
{
    size_t cuts = (size_t)sig->feed_count + (size_t)sig->connection_count;
    enum tfd_code rc;

    *c = (struct tfd_cuts){.g = g, .sig = sig};
    c->list = calloc(cuts + 1, sizeof(*c->list));
    c->of = calloc((size_t)g->count + 1, sizeof(*c->of));
    if (c->list && c->of)
        rc = make_cuts(c, st);
    else
        rc = tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "No memory to prune %d nodes",
                      g->count);
    if (rc != TFD_OK)
        tfd_cuts_deinit(c);
    return rc;
}

void tfd_cuts_deinit(struct tfd_cuts *c)
{
    free(c->list);
    free(c->of);
    c->list = NULL;
    c->of = NULL;
}
