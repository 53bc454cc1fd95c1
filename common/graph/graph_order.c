/*
 * graph_order.c - nodes in an order in which producers come first.
 *
 * A depth-first walk against the edges with a stack of its own: a node is
 * written down when all it waits for is.  Nodes that were added in such an
 * order keep it.  What lies on the stack is a path, so meeting a node of the
 * stack again is a cycle, and the part of the stack from there on is its nodes.
 */
#include "common/graph/graph.h"

enum mark { UNSEEN, ON_PATH, DONE };

struct walk {
    const struct tfd_graph *g;
    uint8_t *mark; /* by node */
    int32_t *path; /* the stack: nodes ... */
    int32_t *next; /* ... and for each the edge to look at next */
    int32_t depth;
    int32_t *order;
    int32_t count;
};

static enum tfd_code fail_cycle(const struct walk *w, int32_t node,
                                struct tfd_status *st)
{
    int32_t start = w->depth - 1;

    while (w->path[start] != node)
        start--;
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "%d nodes in a cycle, one of them is " TFD_STR_FMT,
                    w->depth - start, TFD_STR_ARG(w->g->nodes[node]->name));
}

/* What edge number `edge` of n waits for: data inputs, then control inputs;
 * -1 when it is a loop's way back or not there (yet). */
static int32_t producer(const struct tfd_graph *g, const struct tfd_node *n,
                        int32_t edge)
{
    int32_t from;

    if (edge >= n->in_count)
        return n->control[edge - n->in_count];
    from = n->in[edge].node;
    if (from >= 0 && n->op->flags & TFD_OP_MERGE &&
        g->nodes[from]->op->flags & TFD_OP_NEXT_ITERATION)
        return -1;
    return from;
}

static void push_node(struct walk *w, int32_t node)
{
    w->mark[node] = ON_PATH;
    w->path[w->depth] = node;
    w->next[w->depth++] = 0;
}

static enum tfd_code visit(struct walk *w, int32_t root, struct tfd_status *st)
{
    push_node(w, root);
    while (w->depth) {
        int32_t at = w->path[w->depth - 1], edge = w->next[w->depth - 1]++;
        const struct tfd_node *n = w->g->nodes[at];
        int32_t from;

        if (edge == n->in_count + n->control_count) {
            w->mark[at] = DONE;
            w->order[w->count++] = at;
            w->depth--;
            continue;
        }
        from = producer(w->g, n, edge);
        if (from < 0 || w->mark[from] == DONE)
            continue;
        if (w->mark[from] == ON_PATH)
            return fail_cycle(w, from, st);
        push_node(w, from);
    }
    return TFD_OK;
}

enum tfd_code tfd_graph_order(const struct tfd_graph *g,
                              struct tfd_arena *arena, int32_t **order,
                              struct tfd_status *st)
{
    size_t count = (size_t)g->count;
    struct walk w = {.g = g};

    w.order = tfd_arena_array(arena, count, sizeof(*w.order));
    w.path = tfd_arena_array(arena, count, sizeof(*w.path));
    w.next = tfd_arena_array(arena, count, sizeof(*w.next));
    w.mark = tfd_arena_array(arena, count, sizeof(*w.mark));
    if (!w.order || !w.path || !w.next || !w.mark)
        return tfd_arena_check(NULL, "the order of a graph", st);

    for (int32_t i = 0; i < g->count; i++)
        if (w.mark[i] == UNSEEN)
            TFD_TRY(visit(&w, i, st));
    *order = w.order;
    return TFD_OK;
}
