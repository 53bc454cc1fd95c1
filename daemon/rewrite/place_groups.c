/*
 * place_groups.c - union-find over nodes.
 *
 * A group's root holds what its members ask for together.  Three names are
 * kept: the one of members that have a device already, the one asked for by
 * nodes that own a resource, and the one asked for at all, which always says
 * what the other two say.  Soft placement gives up type and number of the last.
 *
 * Which of two groups takes in the other (the one of higher rank), and the
 * order in which groups are joined, are TensorFlow's too: texts depend on it.
 */
#include "daemon/rewrite/place_groups.h"

#include "common/graph/attr.h"

int32_t tfd_place_groups_find(struct tfd_placer *p, int32_t node)
{
    while (p->groups[node].parent != node) {
        p->groups[node].parent = p->groups[p->groups[node].parent].parent;
        node = p->groups[node].parent;
    }
    return node;
}

static const struct tfd_node *node_at(const struct tfd_placer *p, int32_t id)
{
    return p->r->graph->nodes[id];
}

static bool is_owner(const struct tfd_node *n)
{
    return n->in_count == 0 && n->out_count == 1 &&
           (tfd_dtype_is_ref(n->out_types[0]) ||
            n->out_types[0] == TFD_RESOURCE);
}

/* ---- One node ------------------------------------------------------------ */

static uint32_t kinds_of(const struct tfd_placer *p, const struct tfd_node *n)
{
    static const enum tfd_device_kind all[] = {TFD_CPU, TFD_GPU};
    uint32_t kinds = 0;

    for (int i = 0; i < TFD_COUNT(all); i++)
        if (tfd_registry_kernel(p->r->registry, n, all[i]))
            kinds |= 1u << all[i];
    return kinds;
}

/* An op that nobody here can run and that another task is asked to run: it may
 * have a kernel there. */
static bool runs_elsewhere(struct tfd_placer *p, const struct tfd_node *n,
                           const struct tfd_place_group *g)
{
    struct tfd_device_name here = p->r->devices->devices[0].name;

    here.has &= ~(uint32_t)(TFD_DEVICE_TYPE | TFD_DEVICE_ID);
    return !(n->op->flags & TFD_OP_FUNCTION) &&
           p->r->registry->kernel_count[n->op->index] == 0 &&
           !tfd_device_name_intersects(&here,
                                       tfd_specs_name(&p->specs, g->requested));
}

static enum tfd_code no_kernel(struct tfd_placer *p, const struct tfd_node *n)
{
    return tfd_fail(p->st, TFD_INVALID_ARGUMENT,
                    "No OpKernel was registered to support Op '%s' used by "
                    "{{node %s}} with these attrs.\n\t [[%s]]",
                    n->op->name.data, n->name.data, n->name.data);
}

static enum tfd_code malformed(struct tfd_placer *p, const struct tfd_node *n)
{
    return tfd_fail(p->st, TFD_INVALID_ARGUMENT,
                    "Malformed device specification '" TFD_STR_FMT
                    "' in node: {{node %s}}\n\t [[%s]]",
                    TFD_STR_ARG(n->device), n->name.data, n->name.data);
}

static enum tfd_code init_group(struct tfd_placer *p, int32_t id)
{
    const struct tfd_place_request *r = p->r;
    const struct tfd_node *n = node_at(p, id);
    struct tfd_place_group *g = &p->groups[id];
    struct tfd_status why = TFD_STATUS_INIT;

    *g = (struct tfd_place_group){
        .parent = id, .device = -1, .kinds = kinds_of(p, n)};
    p->device_of[id] = -1;
    if (r->pinned && id < r->pinned_count && r->pinned[id] >= 0) {
        TFD_TRY(tfd_specs_add(&p->specs,
                              &r->devices->devices[r->pinned[id]].name,
                              &g->assigned, p->st));
        g->requested = g->assigned;
        g->device = r->pinned[id];
        return TFD_OK;
    }
    if (tfd_specs_parse(&p->specs, n->device, &g->requested, &why) != TFD_OK)
        return why.code == TFD_INVALID_ARGUMENT ? malformed(p, n)
                                                : tfd_status_copy(p->st, &why);
    if (g->kinds == 0 && runs_elsewhere(p, n, g))
        g->kinds = TFD_SPEC_KINDS;
    if (g->kinds == 0)
        return no_kernel(p, n);
    if (is_owner(n))
        g->owner = g->requested;
    return TFD_OK;
}

/* ---- Joining groups ------------------------------------------------------ */

/* The names of both; the requested one says what the others say. */
static enum tfd_code merge_names(struct tfd_placer *p,
                                 const struct tfd_place_group *into,
                                 const struct tfd_place_group *from,
                                 struct tfd_place_group *out,
                                 struct tfd_status *st)
{
    enum tfd_device_merge mode =
        p->r->soft ? TFD_DEVICE_MERGE_SOFT : TFD_DEVICE_MERGE_STRICT;
    struct tfd_specs *s = &p->specs;
    int32_t *requested = &out->requested;

    TFD_TRY(tfd_specs_merge(s, into->assigned, from->assigned,
                            TFD_DEVICE_MERGE_STRICT, &out->assigned, st));
    TFD_TRY(tfd_specs_merge(s, into->owner, from->owner,
                            TFD_DEVICE_MERGE_STRICT, &out->owner, st));
    TFD_TRY(tfd_specs_merge(s, into->requested, from->requested, mode,
                            requested, st));
    TFD_TRY(tfd_specs_override(s, *requested, out->assigned, requested, st));
    return tfd_specs_override(s, *requested, out->owner, requested, st);
}

static enum tfd_code colocate_error(struct tfd_placer *p, int32_t x, int32_t y,
                                    const char *link, const char *why,
                                    struct tfd_status *st)
{
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "Cannot colocate nodes {{colocation_node %s}} and "
                    "{{colocation_node %s}}%s%s",
                    node_at(p, x)->name.data, node_at(p, y)->name.data, link,
                    why);
}

/* Joins the groups of x and y; on failure nothing has changed. */
static enum tfd_code join_groups(struct tfd_placer *p, int32_t x, int32_t y,
                                 struct tfd_status *st)
{
    struct tfd_place_group *into = &p->groups[tfd_place_groups_find(p, x)];
    struct tfd_place_group *from = &p->groups[tfd_place_groups_find(p, y)];
    struct tfd_place_group merged;
    struct tfd_status why = TFD_STATUS_INIT;

    if (into == from)
        return TFD_OK;
    if (into->rank < from->rank) {
        struct tfd_place_group *other = into;

        into = from;
        from = other;
    }
    merged = *into;
    if (merge_names(p, into, from, &merged, &why) != TFD_OK)
        return why.code == TFD_INVALID_ARGUMENT
                   ? colocate_error(p, x, y, ": ", why.text, st)
                   : tfd_status_copy(st, &why);
    merged.kinds &= from->kinds;
    if (merged.kinds == 0)
        return colocate_error(p, x, y, " because ",
                              "no device type supports both of those "
                              "nodes and the other nodes colocated with them.",
                              st);
    if (into->rank == from->rank)
        merged.rank++;
    if (merged.device < 0)
        merged.device = from->device;
    *into = merged;
    from->parent = into->parent;
    return TFD_OK;
}

static enum tfd_code edge_error(struct tfd_placer *p, const char *what,
                                int32_t a, int32_t b,
                                const struct tfd_node *src,
                                const struct tfd_node *dst)
{
    char from[TFD_DEVICE_NAME_TEXT_SIZE], to[TFD_DEVICE_NAME_TEXT_SIZE];

    tfd_device_name_format(tfd_specs_name(&p->specs, a), from);
    tfd_device_name_format(tfd_specs_name(&p->specs, b), to);
    return tfd_fail(p->st, TFD_INVALID_ARGUMENT,
                    "Cannot place the graph because a reference or resource "
                    "edge connects colocation groups with incompatible %s "
                    "devices: %s vs %s. The edge src node is name='%s' "
                    "(op='%s'), and the dst node is name='%s' (op='%s').",
                    what, from, to, src->name.data, src->op->name.data,
                    dst->name.data, dst->op->name.data);
}

static bool compatible(const struct tfd_placer *p, int32_t a, int32_t b)
{
    return tfd_device_name_intersects(tfd_specs_name(&p->specs, a),
                                      tfd_specs_name(&p->specs, b));
}

/* A reference or a handle is used where it lives: what the user's group asks
 * for gives way, unless it has a device or owns a resource itself. */
static enum tfd_code yield_to(struct tfd_placer *p, const struct tfd_node *src,
                              const struct tfd_node *dst)
{
    const struct tfd_place_group *from =
        &p->groups[tfd_place_groups_find(p, src->id)];
    struct tfd_place_group *to = &p->groups[tfd_place_groups_find(p, dst->id)];
    struct tfd_specs *s = &p->specs;

    if (!compatible(p, from->assigned, to->assigned))
        return edge_error(p, "assigned", from->assigned, to->assigned, src,
                          dst);
    if (!compatible(p, from->owner, to->owner))
        return edge_error(p, "resource", from->owner, to->owner, src, dst);
    if (compatible(p, from->requested, to->requested))
        return TFD_OK;
    TFD_TRY(tfd_specs_override(s, from->requested, to->assigned, &to->requested,
                               p->st));
    return tfd_specs_override(s, to->requested, to->owner, &to->requested,
                              p->st);
}

static enum tfd_code join_edge(struct tfd_placer *p, const struct tfd_node *src,
                               const struct tfd_node *dst)
{
    struct tfd_status why = TFD_STATUS_INIT;

    TFD_TRY(yield_to(p, src, dst));
    if (join_groups(p, src->id, dst->id, &why) == TFD_OK)
        return TFD_OK;
    return tfd_fail(
        p->st, why.code,
        "Nodes were connected by a reference or resource connection "
        "(requiring them to be on the same device), but the two "
        "nodes were assigned two different devices: %s\n\t "
        "[[{{node %s}}]]",
        why.text, dst->name.data);
}

/* Takes handles of several devices and only passes them on: to functions, or
 * as what is fetched of a loop that was expanded. */
static bool passes_handles(const struct tfd_op *op)
{
    static const char *const names[] = {
        "Case",
        "If",
        "IdentityN",
        "PartitionedCall",
        "StatefulPartitionedCall",
        "StatelessCase",
        "StatelessIf",
        "StatelessWhile",
        "While",
    };

    for (int i = 0; i < TFD_COUNT(names); i++)
        if (tfd_str_is(op->name, names[i]))
            return true;
    return false;
}

static enum tfd_code join_resource_edges(struct tfd_placer *p,
                                         const struct tfd_node *n)
{
    if (passes_handles(n->op))
        return TFD_OK;
    for (int32_t i = 0; i < n->in_count; i++) {
        int type = n->in_types[i];

        if (type != TFD_RESOURCE && !tfd_dtype_is_ref(type))
            continue;
        if (n->in[i].node >= 0)
            TFD_TRY(join_edge(p, node_at(p, n->in[i].node), n));
    }
    return TFD_OK;
}

/* ---- Colocation by name -------------------------------------------------- */

/* Soft placement gives a colocation up that cannot be. */
static enum tfd_code join_member(struct tfd_placer *p, const struct tfd_node *n,
                                 int32_t root)
{
    struct tfd_status why = TFD_STATUS_INIT;

    if (join_groups(p, n->id, root, &why) == TFD_OK ||
        (p->r->soft && why.code == TFD_INVALID_ARGUMENT))
        return TFD_OK;
    return tfd_fail(p->st, why.code, "%s\n\t [[{{node %s}}]]", why.text,
                    n->name.data);
}

/* The first node that is in a group by its attribute or by its own name stands
 * for it.  Own names that nobody mentioned so far need no entry. */
static enum tfd_code join_name(struct tfd_placer *p, struct tfd_map *roots,
                               const struct tfd_node *n, struct tfd_str name)
{
    const struct tfd_node *own = tfd_graph_find(p->r->graph, name);
    uintptr_t root;

    if (tfd_map_get(roots, name, &root))
        return join_member(p, n, (int32_t)root);
    root = (uintptr_t)(own && own->id < n->id ? own->id : n->id);
    if (!tfd_map_put(roots, name, root))
        return tfd_fail(p->st, TFD_RESOURCE_EXHAUSTED,
                        "No memory for colocation groups");
    return join_member(p, n, (int32_t)root);
}

static enum tfd_code join_colocated(struct tfd_placer *p, struct tfd_map *roots,
                                    const struct tfd_node *n)
{
    struct tfd_str value, list;
    struct tfd_attr_list names;
    struct tfd_pb_field f;
    uintptr_t root;
    int64_t count;

    /* An attribute that is no list is ignored, as TensorFlow does. */
    if (tfd_node_attr(n, "_class", &value) &&
        tfd_attr_list(value, TFD_ATTR_STRING, &list, &count, NULL) == TFD_OK) {
        names = tfd_attr_list_of(list);
        while (tfd_attr_list_next(&names, &f)) {
            struct tfd_str name = {f.bytes.data + 5, f.bytes.size - 5};

            if (tfd_str_starts(f.bytes, "loc:@"))
                TFD_TRY(join_name(p, roots, n, name));
        }
    }
    if (tfd_map_get(roots, n->name, &root))
        return join_member(p, n, (int32_t)root);
    return TFD_OK;
}

static enum tfd_code join_all(struct tfd_placer *p)
{
    const struct tfd_graph *g = p->r->graph;
    enum tfd_code rc = TFD_OK;
    struct tfd_map roots;

    for (int32_t i = 0; i < g->count; i++)
        TFD_TRY(join_resource_edges(p, g->nodes[i]));
    tfd_map_init(&roots);
    for (int32_t i = 0; i < g->count && rc == TFD_OK; i++)
        rc = join_colocated(p, &roots, g->nodes[i]);
    tfd_map_deinit(&roots);
    return rc;
}

enum tfd_code tfd_place_groups_make(struct tfd_placer *p)
{
    for (int32_t i = 0; i < p->r->graph->count; i++)
        TFD_TRY(init_group(p, i));
    return join_all(p);
}
