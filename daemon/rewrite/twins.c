/*
 * twins.c - see twins.h.
 *
 * Everything that twins have in common is written down as one string of bytes,
 * in which inputs are entries of the list that stay: the key of a map to the
 * first node that has it.  A node whose inputs come later in the list is no
 * twin of one that came before those were joined; that costs time, not
 * correctness.
 */
#include "daemon/rewrite/twins.h"

#include "daemon/rewrite/unread.h"

#include <string.h>

#define ATTRS_MAX 4096 /* bytes of attributes that are worth comparing */

struct joiner {
    const struct tfd_graph *g;
    const int32_t *device_of;
    struct tfd_pruned *p;
    struct tfd_arena *arena;
    struct tfd_status *st;
    struct tfd_map first; /* key -> entry */
    struct tfd_bytes key; /* of the entry at hand */
    int32_t *now;         /* by entry: the one that stands for it */
    int32_t *seen;        /* by entry: the last that waits for it; -1: none */
};

/* ---- Which nodes --------------------------------------------------------- */

static bool is_plain_attr(uint8_t type)
{
    return !tfd_dtype_is_ref(type) && type != TFD_RESOURCE &&
           type != TFD_VARIANT;
}

/* What a reference holds when it is read depends on when that is. */
static bool moves_plain_tensors(const struct joiner *j,
                                const struct tfd_part_node *part,
                                const struct tfd_node *n)
{
    for (int32_t i = 0; i < part->in_count; i++) {
        const struct tfd_part_node *from = &j->p->nodes[part->in[i].node];

        if (!is_plain_attr(n->in_types[i]) ||
            (from->kind == TFD_PART_NODE &&
             !is_plain_attr(
                 j->g->nodes[from->node]->out_types[part->in[i].output])))
            return false;
    }
    for (int32_t i = 0; i < n->out_count; i++)
        if (!is_plain_attr(n->out_types[i]))
            return false;
    return true;
}

/* Colocation has been seen to when the nodes were placed. */
static bool is_known(const struct tfd_op *op, struct tfd_str name)
{
    if (tfd_str_is(name, "_class") || tfd_str_is(name, "_output_shapes"))
        return true;
    for (int i = 0; i < op->attr_count; i++)
        if (tfd_str_eq(op->attrs[i].name, name))
            return true;
    return false;
}

static bool has_plain_attrs(const struct tfd_node *n)
{
    size_t size = 0;

    for (int32_t i = 0; i < n->attr_count; i++) {
        size += n->attrs[i].value.size;
        if (size > ATTRS_MAX || !is_known(n->op, n->attrs[i].name))
            return false;
    }
    return true;
}

static bool may_be_joined(const struct joiner *j, int32_t i)
{
    const struct tfd_part_node *part = &j->p->nodes[i];
    const struct tfd_node *n = j->g->nodes[part->node];

    return part->kind == TFD_PART_NODE && !part->wanted &&
           (tfd_unread_may(n->op) || n->op->flags & TFD_OP_CONST) &&
           moves_plain_tensors(j, part, n) && has_plain_attrs(n);
}

/* ---- Keys ---------------------------------------------------------------- */

static void put_number(struct joiner *j, int64_t number)
{
    tfd_bytes_add(&j->key, &number, sizeof(number));
}

/* In the order of the definition; -1 for one that is not given. */
static void put_attrs(struct joiner *j, const struct tfd_node *n)
{
    struct tfd_str value;

    for (int i = 0; i < n->op->attr_count; i++)
        if (tfd_node_attr(n, n->op->attrs[i].name.data, &value)) {
            put_number(j, (int64_t)value.size);
            tfd_bytes_add_str(&j->key, value);
        } else {
            put_number(j, -1);
        }
}

static void put_key(struct joiner *j, int32_t i)
{
    const struct tfd_part_node *part = &j->p->nodes[i];
    const struct tfd_node *n = j->g->nodes[part->node];

    tfd_bytes_clear(&j->key);
    put_number(j, (int64_t)(intptr_t)n->op);
    put_number(j, j->device_of[part->node]);
    put_number(j, part->in_count);
    for (int32_t k = 0; k < part->in_count; k++) {
        put_number(j, j->now[part->in[k].node]);
        put_number(j, part->in[k].output);
    }
    put_number(j, part->control_count);
    for (int32_t k = 0; k < part->control_count; k++)
        put_number(j, j->now[part->control[k]]);
    put_attrs(j, n);
}

/* ---- Joining ------------------------------------------------------------- */

static enum tfd_code join_twin(struct joiner *j, int32_t i)
{
    struct tfd_str key;
    uintptr_t first;

    put_key(j, i);
    TFD_TRY(tfd_bytes_ok(&j->key, "the attributes of a node", j->st));
    if (tfd_map_get(&j->first, tfd_bytes_view(&j->key), &first)) {
        j->now[i] = (int32_t)first;
        return TFD_OK;
    }
    key = tfd_arena_str(j->arena, tfd_bytes_view(&j->key));
    TFD_TRY(tfd_arena_check(key.data, "a pruned graph", j->st));
    if (!tfd_map_put(&j->first, key, (uintptr_t)i))
        return tfd_fail(j->st, TFD_RESOURCE_EXHAUSTED,
                        "No memory for the nodes of a graph");
    return TFD_OK;
}

/* Each that it waits for once. */
static void redirect(struct joiner *j, int32_t i)
{
    struct tfd_part_node *n = &j->p->nodes[i];
    int32_t count = 0;

    for (int32_t k = 0; k < n->in_count; k++)
        n->in[k].node = j->now[n->in[k].node];
    for (int32_t k = 0; k < n->control_count; k++) {
        int32_t other = j->now[n->control[k]];

        if (j->seen[other] != i)
            n->control[count++] = other;
        j->seen[other] = i;
    }
    n->control_count = count;
}

/* Takes out what nobody refers to any more: now[] becomes new places. */
static void close_gaps(struct joiner *j)
{
    struct tfd_part_node *nodes = j->p->nodes;
    int32_t count = 0;

    for (int32_t i = 0; i < j->p->count; i++)
        if (j->now[i] == i) {
            nodes[count] = nodes[i];
            j->now[i] = count++;
        }
    j->p->count = count;
    for (int32_t i = 0; i < count; i++) {
        for (int32_t k = 0; k < nodes[i].in_count; k++)
            nodes[i].in[k].node = j->now[nodes[i].in[k].node];
        for (int32_t k = 0; k < nodes[i].control_count; k++)
            nodes[i].control[k] = j->now[nodes[i].control[k]];
    }
}

static enum tfd_code run_twins(struct joiner *j)
{
    bool any = false;

    for (int32_t i = 0; i < j->p->count; i++)
        j->now[i] = i;
    for (int32_t i = 0; i < j->p->count; i++)
        if (may_be_joined(j, i)) {
            TFD_TRY(join_twin(j, i));
            any |= j->now[i] != i;
        }
    if (!any)
        return TFD_OK;
    for (int32_t i = 0; i < j->p->count; i++)
        j->seen[i] = -1;
    for (int32_t i = 0; i < j->p->count; i++)
        redirect(j, i);
    close_gaps(j);
    return TFD_OK;
}

enum tfd_code tfd_twins_join(const struct tfd_graph *g,
                             const int32_t *device_of, struct tfd_pruned *p,
                             struct tfd_arena *arena, struct tfd_status *st)
{
    size_t count = (size_t)p->count + 1;
    struct joiner j = {
        .g = g, .device_of = device_of, .p = p, .arena = arena, .st = st};
    enum tfd_code rc;

    if (g->count < TFD_UNREAD_NODES_MIN)
        return TFD_OK;
    j.now = tfd_arena_array(arena, count, sizeof(*j.now));
    j.seen = tfd_arena_array(arena, count, sizeof(*j.seen));
    TFD_TRY(tfd_arena_check(j.now, "a pruned graph", st));
    TFD_TRY(tfd_arena_check(j.seen, "a pruned graph", st));
    tfd_map_init(&j.first);
    tfd_bytes_init(&j.key, SIZE_MAX / 2);
    rc = run_twins(&j);
    tfd_bytes_deinit(&j.key);
    tfd_map_deinit(&j.first);
    return rc;
}
