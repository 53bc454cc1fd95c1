/*
 * prune.c - resolve the names, walk backwards from fetches and targets with an
 * explicit stack, number what was reached.
 */
#include "daemon/rewrite/prune.h"

#include "daemon/rewrite/cuts.h"

#include <stdlib.h>

struct pruner {
    const struct tfd_graph *g;
    const struct tfd_signature *sig;
    struct tfd_arena *arena;
    struct tfd_status *st;
    struct tfd_cuts cuts;
    struct tfd_edge *fetches;
    int32_t *targets;
    int32_t *number; /* by graph node: in the list; -1 not reached */
    int32_t *stack;
    int32_t depth;
    int32_t reached;
};

/* ---- Names --------------------------------------------------------------- */

static enum tfd_code resolve_fetch(struct pruner *p, struct tfd_str name,
                                   struct tfd_edge *out)
{
    int32_t output;
    const struct tfd_node *n =
        tfd_graph_find(p->g, tfd_cuts_split(name, &output));

    if (tfd_str_starts(name, "^"))
        return tfd_fail(p->st, TFD_INVALID_ARGUMENT,
                        "FetchOutputs " TFD_STR_FMT
                        " is a control dependency, not an output",
                        TFD_STR_ARG(name));
    if (!n)
        return tfd_fail(p->st, TFD_NOT_FOUND,
                        "FetchOutputs node " TFD_STR_FMT ": not found",
                        TFD_STR_ARG(name));
    if (n->out_count == 0)
        return tfd_fail(p->st, TFD_INVALID_ARGUMENT,
                        "Tried to fetch data for '" TFD_STR_FMT
                        "', which produces no output.  To run to a node but "
                        "not fetch any data, pass '" TFD_STR_FMT
                        "' as an argument to the 'target_node_names' argument "
                        "of the Session::Run API.",
                        TFD_STR_ARG(name), TFD_STR_ARG(name));
    if (output >= n->out_count)
        return tfd_fail(p->st, TFD_INVALID_ARGUMENT,
                        "FetchOutputs " TFD_STR_FMT
                        ": output index too large, must be < %d",
                        TFD_STR_ARG(name), n->out_count);
    *out = (struct tfd_edge){n->id, output};
    return TFD_OK;
}

static enum tfd_code resolve_fetches(struct pruner *p)
{
    for (int i = 0; i < p->sig->fetch_count; i++) {
        TFD_TRY(resolve_fetch(p, p->sig->fetches[i], &p->fetches[i]));
        if (tfd_cuts_find(&p->cuts, p->fetches[i]) >= 0)
            return tfd_cuts_fed_and_fetched(p->sig->fetches[i], p->st);
    }
    return TFD_OK;
}

static int by_text(const void *a, const void *b)
{
    return tfd_str_cmp(*(const struct tfd_str *)a, *(const struct tfd_str *)b);
}

/* The missing names, sorted as TensorFlow sorts targets. */
static enum tfd_code targets_not_found(struct pruner *p,
                                       struct tfd_str *missing, int count)
{
    struct tfd_bytes text;

    qsort(missing, (size_t)count, sizeof(*missing), by_text);
    tfd_bytes_init(&text, TFD_STATUS_TEXT_MAX * 2);
    for (int i = 0; i < count; i++)
        tfd_bytes_printf(&text, TFD_STR_FMT " ", TFD_STR_ARG(missing[i]));
    (void)tfd_fail(p->st, TFD_NOT_FOUND,
                   "PruneForTargets: Some target nodes not found: %s",
                   text.data ? text.data : "");
    tfd_bytes_deinit(&text);
    return TFD_NOT_FOUND;
}

/* A target may be written "node", "node:0" or "^node". */
static enum tfd_code resolve_targets(struct pruner *p)
{
    struct tfd_str *missing = tfd_arena_array(
        p->arena, (size_t)p->sig->target_count + 1, sizeof(*missing));
    int count = 0;

    TFD_TRY(tfd_arena_check(missing, "targets", p->st));
    for (int i = 0; i < p->sig->target_count; i++) {
        struct tfd_str name = p->sig->targets[i];
        const struct tfd_node *n;
        int32_t unused;

        if (name.size > 0 && name.data[0] == '^')
            name = (struct tfd_str){name.data + 1, name.size - 1};
        n = tfd_graph_find(p->g, tfd_cuts_split(name, &unused));
        if (n)
            p->targets[i] = n->id;
        else
            missing[count++] = p->sig->targets[i];
    }
    return count > 0 ? targets_not_found(p, missing, count) : TFD_OK;
}

/* ---- Reaching ------------------------------------------------------------ */

static void reach(struct pruner *p, int32_t node)
{
    if (p->number[node] >= 0)
        return;
    p->number[node] = 0;
    p->reached++;
    p->stack[p->depth++] = node;
}

/* Where values come from that an endpoint's consumers read; a feed: nowhere in
 * the graph. */
static struct tfd_edge source_of(const struct pruner *p, struct tfd_edge e)
{
    int32_t cut = e.node < 0 ? -1 : tfd_cuts_find(&p->cuts, e);

    if (cut < 0)
        return e;
    return tfd_cuts_is_feed(&p->cuts, cut) ? TFD_EDGE_NONE
                                           : p->cuts.list[cut].source;
}

static void reach_endpoint(struct pruner *p, struct tfd_edge e)
{
    struct tfd_edge source = source_of(p, e);

    if (source.node >= 0)
        reach(p, source.node);
}

static void reach_control(struct pruner *p, int32_t node)
{
    int32_t cut = tfd_cuts_control(&p->cuts, node);

    if (cut < 0)
        reach(p, node);
    else if (!tfd_cuts_is_feed(&p->cuts, cut))
        reach(p, p->cuts.list[cut].source.node);
}

static void reach_all(struct pruner *p)
{
    for (int i = 0; i < p->sig->fetch_count; i++)
        reach_endpoint(p, p->fetches[i]);
    for (int i = 0; i < p->sig->target_count; i++)
        reach(p, p->targets[i]);
    while (p->depth > 0) {
        const struct tfd_node *n = p->g->nodes[p->stack[--p->depth]];

        for (int32_t i = 0; i < n->in_count; i++)
            reach_endpoint(p, n->in[i]);
        for (int32_t i = 0; i < n->control_count; i++)
            reach_control(p, n->control[i]);
    }
}

/* ---- Writing the list ---------------------------------------------------- */

/* Feeds come first, so feed i is entry i; then nodes, then fetches. */
static struct tfd_edge translate(const struct pruner *p, struct tfd_edge e)
{
    struct tfd_edge source = source_of(p, e);

    if (source.node < 0)
        return (struct tfd_edge){tfd_cuts_find(&p->cuts, e), 0};
    return (struct tfd_edge){p->number[source.node], source.output};
}

static int32_t translate_control(const struct pruner *p, int32_t node)
{
    int32_t cut = tfd_cuts_control(&p->cuts, node);

    if (cut < 0)
        return p->number[node];
    if (tfd_cuts_is_feed(&p->cuts, cut))
        return cut;
    return p->number[p->cuts.list[cut].source.node];
}

static enum tfd_code write_input(struct pruner *p, struct tfd_part_node *out,
                                 const struct tfd_node *n, int32_t i)
{
    int32_t cut;

    if (n->in[i].node < 0)
        return tfd_fail(p->st, TFD_INVALID_ARGUMENT,
                        "Input %d of node %s is not connected", i,
                        n->name.data);
    cut = tfd_cuts_find(&p->cuts, n->in[i]);
    if (cut >= 0 && !tfd_cuts_is_feed(&p->cuts, cut))
        TFD_TRY(tfd_cuts_check(&p->cuts, cut, n, i, p->st));
    out->in[i] = translate(p, n->in[i]);
    return TFD_OK;
}

static enum tfd_code write_node(struct pruner *p, struct tfd_part_node *out,
                                const struct tfd_node *n)
{
    out->kind = TFD_PART_NODE;
    out->node = n->id;
    out->in_count = n->in_count;
    out->control_count = n->control_count;
    out->in = tfd_arena_array(p->arena, (size_t)n->in_count, sizeof(*out->in));
    out->control = tfd_arena_array(p->arena, (size_t)n->control_count,
                                   sizeof(*out->control));
    TFD_TRY(tfd_arena_check(out->in, "a pruned graph", p->st));
    TFD_TRY(tfd_arena_check(out->control, "a pruned graph", p->st));
    for (int32_t i = 0; i < n->in_count; i++)
        TFD_TRY(write_input(p, out, n, i));
    for (int32_t i = 0; i < n->control_count; i++)
        out->control[i] = translate_control(p, n->control[i]);
    return TFD_OK;
}

static void write_feeds(struct pruner *p, struct tfd_part_node *out)
{
    for (int i = 0; i < p->sig->feed_count; i++) {
        struct tfd_edge e = p->cuts.list[i].edge;

        out[i] = (struct tfd_part_node){
            .kind = TFD_PART_FEED,
            .node = e.node,
            .output = e.output,
            .index = i,
            .type = (int)tfd_dtype_base(tfd_graph_type(p->g, e)),
        };
    }
}

static enum tfd_code write_fetches(struct pruner *p, struct tfd_part_node *out)
{
    for (int i = 0; i < p->sig->fetch_count; i++) {
        struct tfd_edge e = p->fetches[i];

        out[i] = (struct tfd_part_node){
            .kind = TFD_PART_FETCH,
            .node = e.node,
            .output = e.output,
            .index = i,
            .type = (int)tfd_dtype_base(tfd_graph_type(p->g, e)),
            .in = tfd_arena_alloc(p->arena, sizeof(*out->in)),
            .in_count = 1,
        };
        TFD_TRY(tfd_arena_check(out[i].in, "a pruned graph", p->st));
        out[i].in[0] = translate(p, e);
    }
    return TFD_OK;
}

static void mark_wanted(const struct pruner *p, struct tfd_part_node *out)
{
    for (int i = 0; i < p->sig->target_count; i++)
        out[p->number[p->targets[i]]].wanted = true;
    for (int i = 0; i < p->sig->feed_count; i++) {
        int32_t at = p->number[p->cuts.list[i].edge.node];

        if (at >= 0)
            out[at].wanted = true;
    }
}

static enum tfd_code write_list(struct pruner *p, struct tfd_pruned *out)
{
    int32_t at = p->sig->feed_count;

    out->count = at + p->reached + p->sig->fetch_count;
    out->nodes =
        tfd_arena_array(p->arena, (size_t)out->count + 1, sizeof(*out->nodes));
    TFD_TRY(tfd_arena_check(out->nodes, "a pruned graph", p->st));
    for (int32_t i = 0; i < p->g->count; i++)
        if (p->number[i] >= 0)
            p->number[i] = at++;
    write_feeds(p, out->nodes);
    for (int32_t i = 0; i < p->g->count; i++)
        if (p->number[i] >= 0)
            TFD_TRY(write_node(p, &out->nodes[p->number[i]], p->g->nodes[i]));
    mark_wanted(p, out->nodes);
    return write_fetches(p, &out->nodes[at]);
}

static enum tfd_code run_prune(struct pruner *p, struct tfd_pruned *out)
{
    for (int32_t i = 0; i < p->g->count; i++)
        p->number[i] = -1;
    TFD_TRY(tfd_cuts_init(&p->cuts, p->g, p->sig, p->st));
    TFD_TRY(resolve_fetches(p));
    TFD_TRY(resolve_targets(p));
    reach_all(p);
    return write_list(p, out);
}

enum tfd_code tfd_prune(const struct tfd_graph *g,
                        const struct tfd_signature *sig,
                        struct tfd_arena *arena, struct tfd_pruned *out,
                        struct tfd_status *st)
{
    size_t nodes = (size_t)g->count + 1;
    struct tfd_status own = TFD_STATUS_INIT;
    struct pruner p = {.g = g, .sig = sig, .arena = arena, .st = &own};
    enum tfd_code rc;

    p.fetches = calloc((size_t)sig->fetch_count + 1, sizeof(*p.fetches));
    p.targets = calloc((size_t)sig->target_count + 1, sizeof(*p.targets));
    p.number = calloc(nodes, sizeof(*p.number));
    p.stack = calloc(nodes, sizeof(*p.stack));
    if (p.fetches && p.targets && p.number && p.stack)
        rc = run_prune(&p, out);
    else
        rc = tfd_fail(&own, TFD_RESOURCE_EXHAUSTED,
                      "No memory to prune %d nodes", g->count);
    tfd_cuts_deinit(&p.cuts);
    free(p.fetches);
    free(p.targets);
    free(p.number);
    free(p.stack);
    return rc == TFD_OK ? TFD_OK : tfd_status_copy(st, &own);
}
