/*
 * unpack.c - see unpack.h.
 */
#include "daemon/eager/parts/unpack.h"

#include "config/limits.h"

#include <stdio.h>
#include <stdlib.h>

#define NAME_MAX_SIZE 32

/* Of one node of the graph as it came. */
struct replica {
    int32_t first; /* value, of the packed handle that it takes; -1: none */
    int32_t count; /* values of it */
    int32_t clone; /* node of the second value; those of others follow; ... */
#define ARG (-2)   /* ... or nodes of the function's values */
};

struct unpacking {
    const struct tfd_eager_cut *c;
    struct tfd_graph *g;
    int32_t count; /* of nodes as they came */
    struct replica *replicas;
    struct tfd_arena arena;
    struct tfd_status *st;
};

/* ---- Who takes one ------------------------------------------------------- */

static const struct tfd_node *arg_node(const struct unpacking *u, int value)
{
    char name[NAME_MAX_SIZE];

    snprintf(name, sizeof(name), "%s%d", TFD_EAGER_CUT_ARG, value);
    return tfd_graph_find(u->g, tfd_str_of(name));
}

static void mark_args(struct unpacking *u)
{
    const struct tfd_eager_cut *c = u->c;

    for (int i = 0, next; i < c->value_count; i = next) {
        const struct tfd_node *n = arg_node(u, i);

        for (next = i + 1;
             next < c->value_count && c->arg_of[next] == c->arg_of[i];)
            next++;
        if (n && next > i + 1)
            u->replicas[n->id] = (struct replica){i, next - i, ARG};
    }
}

static void mark_node(struct unpacking *u, const struct tfd_node *n)
{
    if (n->device.size > 0)
        return;
    for (int32_t i = 0; i < n->in_count; i++) {
        const struct replica *r = &u->replicas[n->in[i].node];

        if (r->first >= 0 && tfd_graph_type(u->g, n->in[i]) == TFD_RESOURCE) {
            u->replicas[n->id] = (struct replica){r->first, r->count, -1};
            return;
        }
    }
}

static enum tfd_code mark(struct unpacking *u)
{
    int32_t *order;

    for (int32_t i = 0; i < u->count; i++)
        u->replicas[i] = (struct replica){-1, 0, -1};
    mark_args(u);
    TFD_TRY(tfd_graph_order(u->g, &u->arena, &order, u->st));
    for (int32_t i = 0; i < u->count; i++)
        if (u->replicas[order[i]].first < 0)
            mark_node(u, u->g->nodes[order[i]]);
    return TFD_OK;
}

/* ---- Replicas ------------------------------------------------------------ */

static struct tfd_str value_device(const struct unpacking *u, int32_t value)
{
    const struct tfd_eager_cut *c = u->c;

    return tfd_str_of(
        c->devices->devices[c->arg_device[value]].attributes.name);
}

static enum tfd_code add_replica(struct unpacking *u, const struct tfd_node *n,
                                 int32_t k, struct tfd_node **out)
{
    struct tfd_bytes name;
    struct tfd_node_spec spec = {
        .op = n->op->name,
        .device = value_device(u, u->replicas[n->id].first + k),
        .in = n->in,
        .in_count = n->in_count,
        .control = n->control,
        .control_count = n->control_count,
        .attrs = n->attrs,
        .attr_count = n->attr_count,
    };
    enum tfd_code rc;

    tfd_bytes_init(&name, 2 * TFD_NAME_SIZE_MAX);
    tfd_bytes_add_str(&name, n->name);
    tfd_bytes_printf(&name, "/R%d", (int)k);
    spec.name = tfd_bytes_view(&name);
    rc = tfd_bytes_ok(&name, "a node's name", u->st);
    if (rc == TFD_OK)
        rc = tfd_graph_add(u->g, &spec, out, u->st);
    tfd_bytes_deinit(&name);
    return rc;
}

static enum tfd_code replicate(struct unpacking *u, struct tfd_node *n)
{
    struct replica *r = &u->replicas[n->id];
    struct tfd_node *made;

    if (u->g->count + r->count > TFD_GRAPH_NODES_MAX)
        return tfd_fail(u->st, TFD_RESOURCE_EXHAUSTED,
                        "a function has more than %d nodes with those of its "
                        "packed handles",
                        TFD_GRAPH_NODES_MAX);
    for (int32_t k = 1; k < r->count; k++) {
        TFD_TRY(add_replica(u, n, k, &made));
        if (k == 1)
            r->clone = made->id;
    }
    n->device = value_device(u, r->first);
    return TFD_OK;
}

static enum tfd_code replicate_all(struct unpacking *u)
{
    for (int32_t i = 0; i < u->count; i++)
        if (u->replicas[i].first >= 0 && u->replicas[i].clone != ARG)
            TFD_TRY(replicate(u, u->g->nodes[i]));
    return TFD_OK;
}

/* ---- Edges --------------------------------------------------------------- */

/* Which of its values a device has; -1 when none. */
static int32_t value_on(const struct unpacking *u, const struct replica *r,
                        struct tfd_str device)
{
    const struct tfd_device *devices = u->c->devices->devices;
    struct tfd_device_name wanted;
    int32_t found = -1;

    if (tfd_device_name_parse(device, &wanted, NULL) != TFD_OK)
        return -1;
    for (int32_t k = r->count - 1; k >= 0; k--) {
        int at = u->c->arg_device[r->first + k];

        if (tfd_device_name_covers(&wanted, &devices[at].name)) {
            found = k;
            if (at == u->c->on)
                return k;
        }
    }
    return tfd_device_name_covers(&wanted, &devices[u->c->on].name) ? -1
                                                                    : found;
}

static enum tfd_code not_allowed(const struct unpacking *u,
                                 const struct tfd_node *from,
                                 const struct tfd_node *n)
{
    return tfd_fail(
        u->st, TFD_INVALID_ARGUMENT,
        "Dst node should be assigned to an allowed device. Found an "
        "edge from node " TFD_STR_FMT " assigned to %s to node " TFD_STR_FMT
        " assigned to " TFD_STR_FMT,
        TFD_STR_ARG(from->name), u->c->packed_on, TFD_STR_ARG(n->name),
        TFD_STR_ARG(n->device));
}

/* What a node has become for value k. */
static int32_t replica_of(const struct unpacking *u, int32_t node, int32_t k)
{
    const struct replica *r = &u->replicas[node];

    if (k == 0)
        return node;
    return r->clone == ARG ? arg_node(u, r->first + k)->id : r->clone + k - 1;
}

/* k: the value that the node itself is for, of the handle at `first`. */
static enum tfd_code turn_edge(struct unpacking *u, const struct tfd_node *n,
                               int32_t first, int32_t k, struct tfd_edge *e)
{
    const struct replica *r;

    if (e->node >= u->count || u->replicas[e->node].first < 0)
        return TFD_OK;
    r = &u->replicas[e->node];
    if (r->first != first)
        k = value_on(
            u, r,
            n->device.size > 0
                ? n->device
                : tfd_str_of(u->c->devices->devices[u->c->on].attributes.name));
    if (k < 0)
        return not_allowed(u, u->g->nodes[e->node], n);
    e->node = replica_of(u, e->node, k);
    return TFD_OK;
}

/* Who waits for a node waits for all that it has become. */
static enum tfd_code wait_for_all(struct unpacking *u, struct tfd_node *n)
{
    int32_t count = n->control_count;

    for (int32_t i = 0; i < count; i++) {
        const int32_t from = n->control[i];
        const struct replica *r;

        if (from >= u->count)
            continue;
        r = &u->replicas[from];
        for (int32_t k = 1; r->first >= 0 && k < r->count; k++)
            TFD_TRY(
                tfd_graph_add_control(u->g, n, replica_of(u, from, k), u->st));
    }
    return TFD_OK;
}

static enum tfd_code turn_edges(struct unpacking *u, struct tfd_node *n,
                                int32_t first, int32_t k)
{
    for (int32_t i = 0; i < n->in_count; i++)
        TFD_TRY(turn_edge(u, n, first, k, &n->in[i]));
    return wait_for_all(u, n);
}

static enum tfd_code turn_all(struct unpacking *u)
{
    for (int32_t i = 0; i < u->count; i++) {
        const struct replica *r = &u->replicas[i];

        TFD_TRY(turn_edges(u, u->g->nodes[i], r->first, 0));
        for (int32_t k = 1; r->clone >= 0 && k < r->count; k++)
            TFD_TRY(turn_edges(u, u->g->nodes[r->clone + k - 1], r->first, k));
    }
    return TFD_OK;
}

/* ---- All ----------------------------------------------------------------- */

enum tfd_code tfd_eager_unpack(const struct tfd_eager_cut *c,
                               struct tfd_graph *g, struct tfd_status *st)
{
    struct unpacking u = {.c = c, .g = g, .count = g->count, .st = st};
    enum tfd_code rc;

    u.replicas = calloc((size_t)u.count + 1, sizeof(*u.replicas));
    if (!u.replicas)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "no memory for a function's packed handles");
    tfd_arena_init(&u.arena, (size_t)TFD_GRAPH_SIZE_MAX);
    rc = mark(&u);
    if (rc == TFD_OK)
        rc = replicate_all(&u);
    if (rc == TFD_OK)
        rc = turn_all(&u);
    tfd_arena_deinit(&u.arena);
    free(u.replicas);
    return rc;
}
