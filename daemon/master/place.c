/*
 * place.c - union-find over nodes, then two passes that assign devices.
 *
 * A group's root holds what its members ask for together.  Three names are
 * kept: the one of members that have a device already, the one asked for by
 * nodes that own a resource, and the one asked for at all, which always says
 * what the other two say.  Soft placement gives up type and number of the last.
 *
 * Which of two groups takes in the other (the one of higher rank), and the
 * order in which groups are joined, are TensorFlow's too: texts depend on it.
 */
#include "daemon/master/place.h"

#include "common/attr.h"
#include "daemon/master/specs.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

struct group {
    int32_t parent;
    int32_t rank;
    int32_t device; /* of the group once known, or -1 */
    uint32_t kinds; /* bit enum tfd_device_kind: every member has a kernel */
    int32_t assigned, owner, requested; /* in specs */
};

struct placer {
    const struct tfd_place_request *r;
    struct tfd_specs specs;
    struct group *groups; /* by node */
    int32_t *device_of;
    struct tfd_status *st;
    int32_t *consumer; /* by node: the device of its consumers, or below */
};

#define NO_CONSUMER (-1)
#define MANY_CONSUMERS (-2)
#define MEMBERS_SHOWN 10

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

/* ---- One node ------------------------------------------------------------ */

static uint32_t kinds_of(const struct placer *p, const struct tfd_node *n)
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
static bool runs_elsewhere(struct placer *p, const struct tfd_node *n,
                           const struct group *g)
{
    struct tfd_device_name here = p->r->devices->devices[0].name;

    here.has &= ~(uint32_t)(TFD_DEVICE_TYPE | TFD_DEVICE_ID);
    return !(n->op->flags & TFD_OP_FUNCTION) &&
           p->r->registry->kernel_count[n->op->index] == 0 &&
           !tfd_device_name_intersects(&here,
                                       tfd_specs_name(&p->specs, g->requested));
}

static enum tfd_code no_kernel(struct placer *p, const struct tfd_node *n)
{
    return tfd_fail(p->st, TFD_INVALID_ARGUMENT,
                    "No OpKernel was registered to support Op '%s' used by "
                    "{{node %s}} with these attrs.\n\t [[%s]]",
                    n->op->name.data, n->name.data, n->name.data);
}

static enum tfd_code malformed(struct placer *p, const struct tfd_node *n)
{
    return tfd_fail(p->st, TFD_INVALID_ARGUMENT,
                    "Malformed device specification '" TFD_STR_FMT
                    "' in node: {{node %s}}\n\t [[%s]]",
                    TFD_STR_ARG(n->device), n->name.data, n->name.data);
}

static enum tfd_code init_group(struct placer *p, int32_t id)
{
    const struct tfd_place_request *r = p->r;
    const struct tfd_node *n = node_at(p, id);
    struct group *g = &p->groups[id];
    struct tfd_status why = TFD_STATUS_INIT;

    *g = (struct group){.parent = id, .device = -1, .kinds = kinds_of(p, n)};
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
static enum tfd_code merge_names(struct placer *p, const struct group *into,
                                 const struct group *from, struct group *out,
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

static enum tfd_code colocate_error(struct placer *p, int32_t x, int32_t y,
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
static enum tfd_code join(struct placer *p, int32_t x, int32_t y,
                          struct tfd_status *st)
{
    struct group *into = &p->groups[find(p, x)];
    struct group *from = &p->groups[find(p, y)];
    struct group merged;
    struct tfd_status why = TFD_STATUS_INIT;

    if (into == from)
        return TFD_OK;
    if (into->rank < from->rank) {
        struct group *other = into;

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

static enum tfd_code edge_error(struct placer *p, const char *what, int32_t a,
                                int32_t b, const struct tfd_node *src,
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

static bool compatible(const struct placer *p, int32_t a, int32_t b)
{
    return tfd_device_name_intersects(tfd_specs_name(&p->specs, a),
                                      tfd_specs_name(&p->specs, b));
}

/* A reference or a handle is used where it lives: what the user's group asks
 * for gives way, unless it has a device or owns a resource itself. */
static enum tfd_code yield_to(struct placer *p, const struct tfd_node *src,
                              const struct tfd_node *dst)
{
    const struct group *from = &p->groups[find(p, src->id)];
    struct group *to = &p->groups[find(p, dst->id)];
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

static enum tfd_code join_edge(struct placer *p, const struct tfd_node *src,
                               const struct tfd_node *dst)
{
    struct tfd_status why = TFD_STATUS_INIT;

    TFD_TRY(yield_to(p, src, dst));
    if (join(p, src->id, dst->id, &why) == TFD_OK)
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

static enum tfd_code join_resource_edges(struct placer *p,
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
static enum tfd_code join_member(struct placer *p, const struct tfd_node *n,
                                 int32_t root)
{
    struct tfd_status why = TFD_STATUS_INIT;

    if (join(p, n->id, root, &why) == TFD_OK ||
        (p->r->soft && why.code == TFD_INVALID_ARGUMENT))
        return TFD_OK;
    return tfd_fail(p->st, why.code, "%s\n\t [[{{node %s}}]]", why.text,
                    n->name.data);
}

/* The first node that is in a group by its attribute or by its own name stands
 * for it.  Own names that nobody mentioned so far need no entry. */
static enum tfd_code join_name(struct placer *p, struct tfd_map *roots,
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

static enum tfd_code join_colocated(struct placer *p, struct tfd_map *roots,
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

static enum tfd_code join_all(struct placer *p)
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

/* ---- Choosing ------------------------------------------------------------ */

/* What a group may be content with: what it asks for; with soft placement, its
 * task and what its owners ask for; at last, its task.  -1: no device is so. */
static enum tfd_code wanted(struct placer *p, const struct group *g,
                            int32_t *out)
{
    struct tfd_specs *s = &p->specs;
    int32_t task = 0, owner = 0;

    *out = g->requested;
    if (tfd_specs_device(s, *out, g->kinds) >= 0)
        return TFD_OK;
    *out = -1;
    if (!p->r->soft || g->assigned != 0)
        return TFD_OK;
    TFD_TRY(tfd_specs_task(s, g->requested, &task, p->st));
    TFD_TRY(tfd_specs_override(s, task, g->owner, &owner, p->st));
    if (tfd_specs_device(s, owner, g->kinds) >= 0)
        *out = owner;
    else if (tfd_specs_device(s, task, g->kinds) >= 0)
        *out = task;
    return TFD_OK;
}

static void members_text(struct placer *p, int32_t id, struct tfd_bytes *out)
{
    int32_t root = find(p, id);
    int shown = 0;

    tfd_bytes_printf(out, "\nColocation members, user-requested devices, and "
                          "framework assigned devices, if any:\n");
    for (int32_t i = 0; i < p->r->graph->count && shown < MEMBERS_SHOWN; i++) {
        const struct tfd_node *n = node_at(p, i);

        if (find(p, i) != root)
            continue;
        shown++;
        tfd_bytes_printf(out, "  %s (%s) " TFD_STR_FMT "\n", n->name.data,
                         n->op->name.data, TFD_STR_ARG(n->device));
    }
}

/* The node's own request cannot be met. */
static void own_request_text(struct placer *p, const struct tfd_node *n,
                             const struct group *g, struct tfd_bytes *out)
{
    const struct tfd_device_name *want =
        tfd_specs_name(&p->specs, g->requested);

    if (tfd_specs_device(&p->specs, g->requested, TFD_SPEC_KINDS) >= 0) {
        tfd_bytes_printf(
            out,
            "Could not satisfy explicit device specification '" TFD_STR_FMT "'",
            TFD_STR_ARG(n->device));
        if (want->has & TFD_DEVICE_TYPE)
            tfd_bytes_printf(out,
                             " because no supported kernel for %s devices is "
                             "available.",
                             want->type);
        members_text(p, n->id, out);
        return;
    }
    tfd_bytes_printf(out,
                     "{{node %s}} was explicitly assigned to " TFD_STR_FMT
                     " but available devices are ",
                     n->name.data, TFD_STR_ARG(n->device));
    tfd_device_set_text(p->r->devices, out);
    tfd_bytes_printf(out, ". Make sure the device specification refers to a "
                          "valid device.");
    if (!p->r->registry->has_gpu && strcasecmp(want->type, "GPU") == 0)
        tfd_bytes_printf(out, " The requested device appears to be a GPU, but "
                              "CUDA is not enabled.");
}

static void group_request_text(struct placer *p, const struct tfd_node *n,
                               const struct group *g, struct tfd_bytes *out)
{
    char want[TFD_DEVICE_NAME_TEXT_SIZE];

    tfd_device_name_format(tfd_specs_name(&p->specs, g->requested), want);
    tfd_bytes_printf(
        out,
        "Could not satisfy explicit device specification '" TFD_STR_FMT
        "' because the node {{colocation_node %s}} was "
        "colocated with a group of nodes that required "
        "incompatible device '%s'. All available devices ",
        TFD_STR_ARG(n->device), n->name.data, want);
    tfd_device_set_text(p->r->devices, out);
    tfd_bytes_printf(out, ". ");
    members_text(p, n->id, out);
}

static enum tfd_code no_device(struct placer *p, int32_t id,
                               const struct group *g)
{
    const struct tfd_node *n = node_at(p, id);
    bool names_node = false;
    struct tfd_bytes text;
    int32_t own = 0;

    tfd_bytes_init(&text, 1024 * 1024);
    (void)!tfd_specs_parse(&p->specs, n->device, &own, NULL);
    if (own == g->requested)
        own_request_text(p, n, g, &text);
    else
        group_request_text(p, n, g, &text);
    names_node = strstr(text.data ? text.data : "", "{{node ") != NULL;
    (void)tfd_fail(
        p->st, TFD_INVALID_ARGUMENT,
        names_node ? "Cannot assign a device for operation %s: %s\n\t [[%s]]"
                   : "Cannot assign a device for operation %s: %s\n\t "
                     "[[{{node %s}}]]",
        n->name.data, text.data ? text.data : "", n->name.data);
    tfd_bytes_deinit(&text);
    return TFD_INVALID_ARGUMENT;
}

static bool content_with(const struct placer *p, const struct group *g,
                         int32_t want, int32_t device)
{
    const struct tfd_device *d = &p->r->devices->devices[device];

    return (g->kinds & 1u << d->kind) &&
           tfd_device_name_covers(tfd_specs_name(&p->specs, want), &d->name);
}

/* hint: a device to prefer if the group would be content with it, or -1. */
static enum tfd_code assign(struct placer *p, int32_t id, int32_t hint)
{
    struct group *g = &p->groups[find(p, id)];
    int32_t want = 0;

    if (g->device < 0) {
        TFD_TRY(wanted(p, g, &want));
        if (want < 0)
            return no_device(p, id, g);
        g->device = hint >= 0 && content_with(p, g, want, hint)
                        ? hint
                        : tfd_specs_device(&p->specs, want, g->kinds);
    }
    p->device_of[id] = g->device;
    return TFD_OK;
}

/* ---- The two passes ------------------------------------------------------ */

static bool is_source(const struct tfd_node *n)
{
    return n->in_count == 0 && n->out_count == 1 &&
           !tfd_dtype_is_ref(n->out_types[0]);
}

static enum tfd_code first_pass(struct placer *p)
{
    const struct tfd_graph *g = p->r->graph;

    for (int32_t i = 0; i < g->count; i++) {
        const struct tfd_node *n = g->nodes[i];
        int32_t hint = -1;

        if (is_source(n) && p->groups[find(p, i)].assigned == 0)
            continue;
        if (n->op->flags & TFD_OP_METADATA && n->in_count > 0 &&
            n->in[0].node >= 0)
            hint = p->device_of[n->in[0].node];
        TFD_TRY(assign(p, i, hint));
    }
    return TFD_OK;
}

static void note_consumer(struct placer *p, int32_t from, int32_t to)
{
    int32_t device = p->device_of[to] < 0 ? MANY_CONSUMERS : p->device_of[to];

    if (from < 0)
        return;
    if (p->consumer[from] == NO_CONSUMER)
        p->consumer[from] = device;
    else if (p->consumer[from] != device)
        p->consumer[from] = MANY_CONSUMERS;
}

/* By node: the one device all its consumers are on.  Those that have none yet
 * are sources that wait for a control edge, and count as elsewhere. */
static void note_consumers(struct placer *p)
{
    const struct tfd_graph *g = p->r->graph;

    for (int32_t i = 0; i < g->count; i++)
        p->consumer[i] = NO_CONSUMER;
    for (int32_t i = 0; i < g->count; i++) {
        const struct tfd_node *n = g->nodes[i];

        for (int32_t k = 0; k < n->in_count; k++)
            note_consumer(p, n->in[k].node, i);
        for (int32_t k = 0; k < n->control_count; k++)
            note_consumer(p, n->control[k], i);
    }
}

static enum tfd_code second_pass(struct placer *p)
{
    note_consumers(p);
    for (int32_t i = 0; i < p->r->graph->count; i++)
        if (p->device_of[i] < 0)
            TFD_TRY(assign(p, i, p->consumer[i] < 0 ? -1 : p->consumer[i]));
    return TFD_OK;
}

static enum tfd_code place_all(struct placer *p)
{
    TFD_TRY(tfd_specs_init(&p->specs, p->r->devices, p->st));
    for (int32_t i = 0; i < p->r->graph->count; i++)
        TFD_TRY(init_group(p, i));
    TFD_TRY(join_all(p));
    TFD_TRY(first_pass(p));
    return second_pass(p);
}

enum tfd_code tfd_place(const struct tfd_place_request *r, int32_t *device_of,
                        struct tfd_status *st)
{
    size_t count = (size_t)r->graph->count + 1;
    struct tfd_status own = TFD_STATUS_INIT;
    struct placer p = {.r = r, .device_of = device_of, .st = &own};

    p.groups = calloc(count, sizeof(*p.groups));
    p.consumer = calloc(count, sizeof(*p.consumer));
    if (!p.groups || !p.consumer)
        (void)tfd_fail(&own, TFD_RESOURCE_EXHAUSTED,
                       "No memory to place %d nodes", r->graph->count);
    else
        (void)!place_all(&p);
    tfd_specs_deinit(&p.specs);
    free(p.groups);
    free(p.consumer);
    return own.code == TFD_OK ? TFD_OK : tfd_status_copy(st, &own);
}
