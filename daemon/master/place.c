/*
 * place.c - union-find over nodes, then two passes that assign devices.
 *
 * A group's root holds what its members ask for together.  Two names are kept:
 * the requested one, and the part of it that comes from nodes which own a
 * resource; the latter survives soft placement.
 */
#include "daemon/master/place.h"

#include <stdlib.h>
#include <string.h>

struct group {
    int32_t parent;
    int32_t device; /* of the group once known, or -1 */
    uint32_t kinds; /* bit enum tfd_device_kind: every member has a kernel */
    struct tfd_device_name requested;
    struct tfd_device_name owner; /* asked for by owners of resources */
};

struct placer {
    const struct tfd_place_request *r;
    struct group *groups; /* by node */
    int32_t *device_of;
    struct tfd_status *st;
    int32_t *consumer; /* by node: its consumers' common group, -1, -2 many */
};

static int32_t find(struct placer *p, int32_t node)
{
    while (p->groups[node].parent != node) {
        p->groups[node].parent = p->groups[p->groups[node].parent].parent;
        node = p->groups[node].parent;
    }
    return node;
}

static const struct tfd_node *node_at(const struct placer *p, int32_t id)
{
    return p->r->graph->nodes[id];
}

static bool is_owner(const struct tfd_node *n)
{
    return n->in_count == 0 && n->out_count == 1 &&
           (tfd_dtype_is_ref(n->out_types[0]) ||
            n->out_types[0] == TFD_RESOURCE);
}

static uint32_t kinds_of(const struct placer *p, const struct tfd_node *n)
{
    static const enum tfd_device_kind all[] = {TFD_CPU, TFD_GPU};
    uint32_t kinds = 0;

    for (int i = 0; i < TFD_COUNT(all); i++)
        if (tfd_registry_kernel(p->r->registry, n, all[i]))
            kinds |= 1u << all[i];
    return kinds;
}

static enum tfd_code init_group(struct placer *p, int32_t id)
{
    const struct tfd_node *n = node_at(p, id);
    struct group *g = &p->groups[id];

    g->parent = id;
    g->device = -1;
    g->kinds = kinds_of(p, n);
    if (g->kinds == 0)
        return tfd_fail(p->st, TFD_INVALID_ARGUMENT,
                        "No OpKernel was registered to support Op '%s' used "
                        "by {{node %s}} with these attrs.\n\t [[{{node %s}}]]",
                        n->op->name.data, n->name.data, n->name.data);
    if (tfd_device_name_parse(n->device, &g->requested, NULL) != TFD_OK)
        return tfd_fail(p->st, TFD_INVALID_ARGUMENT,
                        "Malformed device specification '" TFD_STR_FMT
                        "' in node: {{node %s}}\n\t [[%s]]",
                        TFD_STR_ARG(n->device), n->name.data, n->name.data);
    if (is_owner(n))
        g->owner = g->requested;
    return TFD_OK;
}

/* ---- Joining groups ------------------------------------------------------ */

static enum tfd_code colocate_error(struct placer *p, int32_t a, int32_t b,
                                    const char *why)
{
    return tfd_fail(p->st, TFD_INVALID_ARGUMENT,
                    "Cannot colocate nodes {{colocation_node %s}} and "
                    "{{colocation_node %s}}: %s\n\t [[{{node %s}}]]",
                    node_at(p, a)->name.data, node_at(p, b)->name.data, why,
                    node_at(p, a)->name.data);
}

/* Joins the groups of a and b.  Conflicts of the requests fail, or with
 * `follow` give way to a's. */
static enum tfd_code join(struct placer *p, int32_t a, int32_t b, bool follow)
{
    struct group *into = &p->groups[find(p, a)];
    struct group *from = &p->groups[find(p, b)];
    struct tfd_device_name requested = into->requested, owner = into->owner;
    enum tfd_device_merge mode =
        p->r->soft ? TFD_DEVICE_MERGE_SOFT : TFD_DEVICE_MERGE_STRICT;
    struct tfd_status why = TFD_STATUS_INIT;

    if (into == from)
        return TFD_OK;
    if (!(into->kinds & from->kinds))
        return colocate_error(p, b, a,
                              "no device type supports both of those nodes");
    if (tfd_device_name_merge(&owner, &from->owner, TFD_DEVICE_MERGE_STRICT,
                              &why) != TFD_OK)
        return colocate_error(p, b, a, why.text);
    if (tfd_device_name_merge(&requested, &from->requested, mode, &why) !=
            TFD_OK &&
        !follow)
        return colocate_error(p, b, a, why.text);

    from->parent = into->parent;
    into->kinds &= from->kinds;
    into->requested = requested;
    into->owner = owner;
    if (into->device < 0)
        into->device = from->device;
    return TFD_OK;
}

/* A reference or a handle is used where it lives. */
static enum tfd_code join_resource_edges(struct placer *p,
                                         const struct tfd_node *n)
{
    for (int32_t i = 0; i < n->in_count; i++) {
        int type = n->in_types[i];

        if (type != TFD_RESOURCE && !tfd_dtype_is_ref(type))
            continue;
        if (n->in[i].node >= 0)
            TFD_TRY(join(p, n->in[i].node, n->id, true));
    }
    return TFD_OK;
}

static enum tfd_code join_class(struct placer *p, const struct tfd_node *n,
                                struct tfd_str group)
{
    struct tfd_str name = {group.data + 5, group.size - 5};
    const struct tfd_node *other = tfd_graph_find(p->r->graph, name);
    enum tfd_code rc;

    if (!other || other == n)
        return TFD_OK; /* a free name joins its users through the map below */
    rc = join(p, other->id, n->id, false);
    if (rc == TFD_OK || !p->r->soft)
        return rc;
    tfd_status_clear(p->st); /* soft placement gives up the colocation */
    return TFD_OK;
}

/* Names that are no node's: the first user stands for the group. */
static enum tfd_code join_free_name(struct placer *p, struct tfd_map *names,
                                    const struct tfd_node *n,
                                    struct tfd_str group)
{
    uintptr_t first;
    struct tfd_str name = {group.data + 5, group.size - 5};

    if (tfd_graph_find(p->r->graph, name))
        return TFD_OK;
    if (tfd_map_get(names, group, &first))
        return join(p, (int32_t)first, n->id, false);
    if (!tfd_map_put(names, group, (uintptr_t)n->id))
        return tfd_fail(p->st, TFD_RESOURCE_EXHAUSTED,
                        "No memory for colocation groups");
    return TFD_OK;
}

static enum tfd_code join_colocated(struct placer *p, struct tfd_map *names,
                                    const struct tfd_node *n)
{
    struct tfd_str list[TFD_COLOCATIONS_MAX];
    struct tfd_str unused;
    int count = 0;

    if (!tfd_node_attr(n, "_class", &unused) ||
        tfd_node_strs(n, "_class", list, TFD_COLOCATIONS_MAX, &count, NULL) !=
            TFD_OK)
        return TFD_OK; /* absent, or no list: ignored as TensorFlow does */
    for (int i = 0; i < count; i++) {
        if (!tfd_str_starts(list[i], "loc:@"))
            continue;
        TFD_TRY(join_class(p, n, list[i]));
        TFD_TRY(join_free_name(p, names, n, list[i]));
    }
    return TFD_OK;
}

static enum tfd_code join_all(struct placer *p)
{
    const struct tfd_graph *g = p->r->graph;
    enum tfd_code rc = TFD_OK;
    struct tfd_map names;

    tfd_map_init(&names);
    for (int32_t i = 0; i < g->count && rc == TFD_OK; i++)
        rc = join_resource_edges(p, g->nodes[i]);
    for (int32_t i = 0; i < g->count && rc == TFD_OK; i++)
        rc = join_colocated(p, &names, g->nodes[i]);
    tfd_map_deinit(&names);
    return rc;
}

/* ---- Choosing ------------------------------------------------------------ */

static int best_candidate(const struct placer *p, uint32_t kinds,
                          const struct tfd_device_name *want)
{
    const struct tfd_device_set *s = p->r->devices;

    for (int i = 0; i < s->count; i++) {
        const struct tfd_device *d = &s->devices[s->order[i]];

        if ((kinds & 1u << d->kind) && tfd_device_name_covers(want, &d->name))
            return s->order[i];
    }
    return -1;
}

/* Soft placement: type and number are wishes, the task is not. */
static int soft_candidate(const struct placer *p, const struct group *g)
{
    struct tfd_device_name want = g->requested;
    int found;

    want.has &= ~(uint32_t)(TFD_DEVICE_TYPE | TFD_DEVICE_ID);
    want.type[0] = '\0';
    want.id = 0;
    tfd_device_name_fill(&want, &g->owner);
    found = best_candidate(p, g->kinds, &want);
    if (found >= 0)
        return found;
    want.has &= ~(uint32_t)(TFD_DEVICE_TYPE | TFD_DEVICE_ID);
    return best_candidate(p, g->kinds, &want);
}

static bool any_device(const struct placer *p,
                       const struct tfd_device_name *want)
{
    return best_candidate(p, ~0u, want) >= 0;
}

static enum tfd_code no_device(struct placer *p, int32_t id,
                               const struct group *g)
{
    char want[TFD_DEVICE_NAME_TEXT_SIZE];
    const char *name = node_at(p, id)->name.data;
    struct tfd_bytes have;

    tfd_device_name_format(&g->requested, want);
    if (any_device(p, &g->requested))
        return tfd_fail(p->st, TFD_INVALID_ARGUMENT,
                        "Cannot assign a device for operation %s: Could not "
                        "satisfy explicit device specification '%s' because no "
                        "supported kernel for the requested devices is "
                        "available.\n\t [[{{node %s}}]]",
                        name, want, name);
    tfd_bytes_init(&have, TFD_STATUS_TEXT_MAX);
    tfd_device_set_text(p->r->devices, &have);
    tfd_fail(p->st, TFD_INVALID_ARGUMENT,
             "Cannot assign a device for operation %s: {{node %s}} was "
             "explicitly assigned to %s but available devices are " TFD_STR_FMT
             ". Make sure the device specification refers to a valid "
             "device.%s\n\t [[%s]]",
             name, name, want, TFD_STR_ARG(tfd_bytes_view(&have)),
             strcmp(g->requested.type, "GPU") == 0
                 ? " The requested device appears to be a GPU, but CUDA is "
                   "not enabled."
                 : "",
             name);
    tfd_bytes_deinit(&have);
    return p->st ? p->st->code : TFD_INVALID_ARGUMENT;
}

static enum tfd_code assign(struct placer *p, int32_t id)
{
    struct group *g = &p->groups[find(p, id)];

    if (g->device < 0)
        g->device = best_candidate(p, g->kinds, &g->requested);
    if (g->device < 0 && p->r->soft)
        g->device = soft_candidate(p, g);
    if (g->device < 0)
        return no_device(p, id, g);
    p->device_of[id] = g->device;
    return TFD_OK;
}

/* ---- The two passes ------------------------------------------------------ */

static bool is_generator(const struct tfd_node *n)
{
    return n->in_count == 0 && n->out_count == 1 &&
           !tfd_dtype_is_ref(n->out_types[0]);
}

/* May node id go to device d, by what its group asks for? */
static bool fits(struct placer *p, int32_t id, int32_t d)
{
    const struct group *g = &p->groups[find(p, id)];
    const struct tfd_device *device = &p->r->devices->devices[d];

    return (g->kinds & 1u << device->kind) &&
           tfd_device_name_covers(&g->requested, &device->name);
}

static void follow_input(struct placer *p, const struct tfd_node *n)
{
    struct group *g = &p->groups[find(p, n->id)];
    int32_t input = n->in_count > 0 ? n->in[0].node : -1;

    if (g->device >= 0 || !(n->op->flags & TFD_OP_METADATA) || input < 0)
        return;
    if (p->device_of[input] >= 0 && fits(p, n->id, p->device_of[input]))
        g->device = p->device_of[input];
}

static enum tfd_code first_pass(struct placer *p)
{
    const struct tfd_graph *g = p->r->graph;

    for (int32_t i = 0; i < g->count; i++) {
        const struct tfd_node *n = g->nodes[i];

        if (is_generator(n) && p->groups[find(p, i)].device < 0)
            continue;
        follow_input(p, n);
        TFD_TRY(assign(p, i));
    }
    return TFD_OK;
}

#define NO_CONSUMER (-1)
#define MANY_CONSUMERS (-2)

/* By node: the one device all its consumers are on. */
static void note_consumers(struct placer *p)
{
    const struct tfd_graph *g = p->r->graph;

    for (int32_t i = 0; i < g->count; i++)
        p->consumer[i] = NO_CONSUMER;
    for (int32_t i = 0; i < g->count; i++) {
        const struct tfd_node *n = g->nodes[i];

        for (int32_t k = 0; k < n->in_count; k++) {
            int32_t from = n->in[k].node;

            if (from < 0 || p->device_of[i] < 0)
                continue;
            if (p->consumer[from] == NO_CONSUMER)
                p->consumer[from] = p->device_of[i];
            else if (p->consumer[from] != p->device_of[i])
                p->consumer[from] = MANY_CONSUMERS;
        }
    }
}

static enum tfd_code second_pass(struct placer *p)
{
    const struct tfd_graph *g = p->r->graph;

    note_consumers(p);
    for (int32_t i = 0; i < g->count; i++) {
        struct group *group = &p->groups[find(p, i)];

        if (p->device_of[i] >= 0)
            continue;
        if (group->device < 0 && p->consumer[i] >= 0 &&
            fits(p, i, p->consumer[i]))
            group->device = p->consumer[i];
        TFD_TRY(assign(p, i));
    }
    return TFD_OK;
}

static enum tfd_code place_all(struct placer *p)
{
    const struct tfd_place_request *r = p->r;

    for (int32_t i = 0; i < r->graph->count; i++) {
        TFD_TRY(init_group(p, i));
        p->device_of[i] = -1;
        if (r->pinned && i < r->pinned_count)
            p->groups[i].device = r->pinned[i];
    }
    TFD_TRY(join_all(p));
    TFD_TRY(first_pass(p));
    return second_pass(p);
}

enum tfd_code tfd_place(const struct tfd_place_request *r, int32_t *device_of,
                        struct tfd_status *st)
{
    size_t count = (size_t)r->graph->count + 1;
    struct tfd_status own = TFD_STATUS_INIT;
    struct placer p = {r, calloc(count, sizeof(*p.groups)), device_of, &own,
                       calloc(count, sizeof(*p.consumer))};
    enum tfd_code rc;

    if (!p.groups || !p.consumer)
        rc = tfd_fail(&own, TFD_RESOURCE_EXHAUSTED,
                      "No memory to place %d "
                      "nodes",
                      r->graph->count);
    else
        rc = place_all(&p);
    free(p.groups);
    free(p.consumer);
    return rc == TFD_OK ? TFD_OK : tfd_status_copy(st, &own);
}
