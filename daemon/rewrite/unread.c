/*
 * unread.c - see unread.h.
 *
 * Each op that becomes a NoOp reads nothing any more, so those that it read may
 * have lost their last reader: they come next.
 */
#include "daemon/rewrite/unread.h"

#include <string.h>

struct dropper {
    const struct tfd_graph *g;
    struct tfd_pruned *p;
    struct tfd_arena *arena;
    struct tfd_status *st;
    int32_t *readers; /* by entry: edges that read it */
    int32_t *seen;    /* by entry: the last op that waits for it; -1: none */
    int32_t *stack;   /* entries to look at; one is there once */
    int32_t depth;
};

#define CONTROL_FLOW                                             \
    (TFD_OP_SWITCH | TFD_OP_MERGE | TFD_OP_ENTER | TFD_OP_EXIT | \
     TFD_OP_NEXT_ITERATION | TFD_OP_LOOP_COND)
#define KEPT                                                      \
    (CONTROL_FLOW | TFD_OP_STATEFUL | TFD_OP_SEND | TFD_OP_RECV | \
     TFD_OP_CONTROL_TRIGGER | TFD_OP_CONST | TFD_OP_NOOP | TFD_OP_FUNCTION)

/* Ops without a state of their own that do more than compute their outputs;
 * parts of names. */
static const char *const kept_names[] = {
    "Placeholder",   "Queue",   "Assert",
    "CheckNumerics", "Inplace", "ParallelConcat",
};

bool tfd_unread_may(const struct tfd_op *op)
{
    if (op->flags & KEPT)
        return false;
    for (size_t i = 0; i < sizeof(kept_names) / sizeof(kept_names[0]); i++)
        if (strstr(op->name.data, kept_names[i]))
            return false;
    return true;
}

/* Whether waiting for the producer is as good as reading this output of it: an
 * output of a Switch may be dead where its node is not, and a reference is read
 * when its reader runs. */
static bool may_be_waited_for(const struct dropper *d, struct tfd_edge e)
{
    const struct tfd_part_node *from = &d->p->nodes[e.node];
    const struct tfd_node *n = d->g->nodes[from->node];

    if (from->kind != TFD_PART_NODE)
        return true;
    return !(n->op->flags & CONTROL_FLOW) &&
           !tfd_dtype_is_ref(n->out_types[e.output]);
}

static bool may_be_dropped(const struct dropper *d, int32_t i)
{
    const struct tfd_part_node *n = &d->p->nodes[i];

    if (n->kind != TFD_PART_NODE || n->wanted || n->no_op ||
        d->readers[i] > 0 || !tfd_unread_may(d->g->nodes[n->node]->op))
        return false;
    for (int32_t k = 0; k < n->in_count; k++)
        if (!may_be_waited_for(d, n->in[k]))
            return false;
    return true;
}

static void wait_for(struct dropper *d, struct tfd_part_node *n, int32_t self,
                     int32_t other)
{
    if (d->seen[other] == self)
        return;
    d->seen[other] = self;
    n->control[n->control_count++] = other;
}

static enum tfd_code drop_node(struct dropper *d, int32_t i)
{
    struct tfd_part_node *n = &d->p->nodes[i];
    struct tfd_part_node old = *n;
    size_t room = (size_t)old.in_count + (size_t)old.control_count;

    n->control = tfd_arena_array(d->arena, room + 1, sizeof(*n->control));
    TFD_TRY(tfd_arena_check(n->control, "a pruned graph", d->st));
    n->no_op = true;
    n->in_count = n->control_count = 0;
    for (int32_t k = 0; k < old.in_count; k++) {
        wait_for(d, n, i, old.in[k].node);
        if (--d->readers[old.in[k].node] == 0)
            d->stack[d->depth++] = old.in[k].node;
    }
    for (int32_t k = 0; k < old.control_count; k++)
        wait_for(d, n, i, old.control[k]);
    return TFD_OK;
}

static enum tfd_code run_unread(struct dropper *d)
{
    for (int32_t i = 0; i < d->p->count; i++) {
        const struct tfd_part_node *n = &d->p->nodes[i];

        d->seen[i] = -1;
        for (int32_t k = 0; k < n->in_count; k++)
            d->readers[n->in[k].node]++;
    }
    for (int32_t i = 0; i < d->p->count; i++)
        if (d->readers[i] == 0)
            d->stack[d->depth++] = i;
    while (d->depth > 0) {
        int32_t i = d->stack[--d->depth];

        if (may_be_dropped(d, i))
            TFD_TRY(drop_node(d, i));
    }
    return TFD_OK;
}

enum tfd_code tfd_unread_drop(const struct tfd_graph *g, struct tfd_pruned *p,
                              struct tfd_arena *arena, struct tfd_status *st)
{
    size_t count = (size_t)p->count + 1;
    struct dropper d = {.g = g, .p = p, .arena = arena, .st = st};

    if (g->count < TFD_UNREAD_NODES_MIN)
        return TFD_OK;
    d.readers = tfd_arena_array(arena, count, sizeof(*d.readers));
    d.seen = tfd_arena_array(arena, count, sizeof(*d.seen));
    d.stack = tfd_arena_array(arena, count, sizeof(*d.stack));
    TFD_TRY(tfd_arena_check(d.readers, "a pruned graph", st));
    TFD_TRY(tfd_arena_check(d.seen, "a pruned graph", st));
    TFD_TRY(tfd_arena_check(d.stack, "a pruned graph", st));
    return run_unread(&d);
}
