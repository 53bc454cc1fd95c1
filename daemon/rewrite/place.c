/*
 * place.c - two passes over the nodes, once they are in groups, give each group
 * a device: the second is for sources, which join their only consumers.
 */
#include "daemon/rewrite/place.h"

#include "daemon/rewrite/place_groups.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define NO_CONSUMER (-1)
#define MANY_CONSUMERS (-2)
#define MEMBERS_SHOWN 10

static const struct tfd_node *node_at(const struct tfd_placer *p, int32_t id)
{
    return p->r->graph->nodes[id];
}

/* ---- Choosing ------------------------------------------------------------ */

/* What a group may be content with: what it asks for; with soft placement, its
 * task and what its owners ask for; at last, its task.  -1: no device is so. */
static enum tfd_code wanted(struct tfd_placer *p,
                            const struct tfd_place_group *g, int32_t *out)
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

static void members_text(struct tfd_placer *p, int32_t id,
                         struct tfd_bytes *out)
{
    int32_t root = tfd_place_groups_find(p, id);
    int shown = 0;

    tfd_bytes_printf(out, "\nColocation members, user-requested devices, and "
                          "framework assigned devices, if any:\n");
    for (int32_t i = 0; i < p->r->graph->count && shown < MEMBERS_SHOWN; i++) {
        const struct tfd_node *n = node_at(p, i);

        if (tfd_place_groups_find(p, i) != root)
            continue;
        shown++;
        tfd_bytes_printf(out, "  %s (%s) " TFD_STR_FMT "\n", n->name.data,
                         n->op->name.data, TFD_STR_ARG(n->device));
    }
}

/* The node's own request cannot be met. */
static void own_request_text(struct tfd_placer *p, const struct tfd_node *n,
                             const struct tfd_place_group *g,
                             struct tfd_bytes *out)
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

static void group_request_text(struct tfd_placer *p, const struct tfd_node *n,
                               const struct tfd_place_group *g,
                               struct tfd_bytes *out)
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

static enum tfd_code no_device(struct tfd_placer *p, int32_t id,
                               const struct tfd_place_group *g)
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

static bool content_with(const struct tfd_placer *p,
                         const struct tfd_place_group *g, int32_t want,
                         int32_t device)
{
    const struct tfd_device *d = &p->r->devices->devices[device];

    return (g->kinds & 1u << d->kind) &&
           tfd_device_name_covers(tfd_specs_name(&p->specs, want), &d->name);
}

/* hint: a device to prefer if the group would be content with it, or -1. */
static enum tfd_code assign(struct tfd_placer *p, int32_t id, int32_t hint)
{
    struct tfd_place_group *g = &p->groups[tfd_place_groups_find(p, id)];
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

static enum tfd_code first_pass(struct tfd_placer *p)
{
    const struct tfd_graph *g = p->r->graph;

    for (int32_t i = 0; i < g->count; i++) {
        const struct tfd_node *n = g->nodes[i];
        int32_t hint = -1;

        if (is_source(n) &&
            p->groups[tfd_place_groups_find(p, i)].assigned == 0)
            continue;
        if (n->op->flags & TFD_OP_METADATA && n->in_count > 0 &&
            n->in[0].node >= 0)
            hint = p->device_of[n->in[0].node];
        TFD_TRY(assign(p, i, hint));
    }
    return TFD_OK;
}

static void note_consumer(struct tfd_placer *p, int32_t from, int32_t to)
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
static void note_consumers(struct tfd_placer *p)
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

static enum tfd_code second_pass(struct tfd_placer *p)
{
    note_consumers(p);
    for (int32_t i = 0; i < p->r->graph->count; i++)
        if (p->device_of[i] < 0)
            TFD_TRY(assign(p, i, p->consumer[i] < 0 ? -1 : p->consumer[i]));
    return TFD_OK;
}

static enum tfd_code place_all(struct tfd_placer *p)
{
    TFD_TRY(tfd_specs_init(&p->specs, p->r->devices, p->st));
    TFD_TRY(tfd_place_groups_make(p));
    TFD_TRY(first_pass(p));
    return second_pass(p);
}

enum tfd_code tfd_place(const struct tfd_place_request *r, int32_t *device_of,
                        struct tfd_status *st)
{
    size_t count = (size_t)r->graph->count + 1;
    struct tfd_status own = TFD_STATUS_INIT;
    struct tfd_placer p = {.r = r, .device_of = device_of, .st = &own};

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
