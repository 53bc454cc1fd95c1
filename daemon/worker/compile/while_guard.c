/*
 * while_guard.c - when each node of a loop runs, and which loops may be code:
 * see while_code.h and while_graph.h.
 *
 * A node runs when all of its inputs are live.  A Switch makes the guards of
 * its sides; the guard of a node is the innermost of its inputs', which must
 * all lie within each other.  A Merge of all sides of a predicate runs whenever
 * that is asked, so its guard is the one around.  What fits nowhere makes the
 * loop no code, and all those around it.
 */
#include "daemon/worker/compile/while_graph.h"

#include <assert.h>

/* Conditionals within each other; nodes that pass on in a row; guards that one
 * predicate is asked in: beyond, looking each up would take too long. */
#define DEPTH_MAX 64
#define PASSES_MAX 64
#define ASKED_MAX 64
#define NONE (-1)

/* ---- Guards -------------------------------------------------------------- */

static bool is_within(const struct tfd_while_graph *g, int32_t inner,
                      int32_t outer)
{
    while (inner != NONE && g->guards[inner].depth > g->guards[outer].depth)
        inner = g->guards[inner].parent;
    return inner == outer;
}

static int32_t join_guards(const struct tfd_while_graph *g, int32_t a,
                           int32_t b)
{
    if (a == NONE || b == NONE)
        return NONE;
    if (is_within(g, a, b))
        return a;
    return is_within(g, b, a) ? b : NONE;
}

static int32_t add_sides(struct tfd_while_graph *g, int32_t parent,
                         int32_t count)
{
    int32_t first = g->guard_count;

    for (int32_t i = 0; i < count; i++)
        g->guards[g->guard_count++] = (struct tfd_while_guard){
            .parent = parent,
            .first = first,
            .count = count,
            .depth = g->guards[parent].depth + 1,
            .next = NONE,
            .phase = g->guards[parent].phase,
        };
    return first;
}

static int32_t add_frame(struct tfd_while_graph *g)
{
    int32_t root = g->guard_count++;

    g->guards[root] = (struct tfd_while_guard){
        .parent = NONE, .first = root, .count = 1, .phase = TFD_WHILE_ALWAYS};
    add_sides(g, root, 2);
    g->guards[root + TFD_WHILE_LEAVING].phase = TFD_WHILE_LEAVING;
    g->guards[root + TFD_WHILE_BODY].phase = TFD_WHILE_BODY;
    return root;
}

/* The sides of a predicate within a guard, which Switches share. */
static int32_t find_sides(struct tfd_while_graph *g,
                          struct tfd_while_input pred, int32_t parent,
                          int32_t count)
{
    int32_t first, asked = 0;

    if (g->guards[parent].depth >= DEPTH_MAX)
        return NONE;
    if (pred.node < 0)
        return add_sides(g, parent, count);
    for (first = g->predicates[pred.node]; first != NONE;
         first = g->guards[first].next)
        if (g->guards[first].parent == parent &&
            g->guards[first].output == pred.output &&
            g->guards[first].count == count)
            return first;
        else if (++asked == ASKED_MAX)
            return NONE;
    first = add_sides(g, parent, count);
    g->guards[first].output = pred.output;
    g->guards[first].next = g->predicates[pred.node];
    g->predicates[pred.node] = first;
    return first;
}

/* ---- Inputs -------------------------------------------------------------- */

static bool is_trigger(const struct tfd_while_graph *g, int32_t node)
{
    return g->e->nodes[node].flags & TFD_EXEC_NEVER_DEAD;
}

/* Of an output, or of the node itself, for one that waits for it. */
static int32_t guard_of(const struct tfd_while_graph *g, int32_t node,
                        int32_t output)
{
    const struct tfd_exec_node *x = &g->e->nodes[node];

    if (tfd_while_enters(x))
        return g->root[x->value];
    if (x->route == TFD_ROUTE_EXIT)
        return g->unit_guard[g->frame[node]];
    if (x->kind == TFD_EXEC_SWITCH && output >= 0)
        return g->sides[node] + output;
    return g->guard[node];
}

int32_t tfd_while_guard_of(const struct tfd_while_graph *g, int32_t node,
                           int32_t i)
{
    struct tfd_while_input in = tfd_while_input(g, node, i);

    return in.node < 0 ? NONE : guard_of(g, in.node, in.output);
}

static int32_t join_data(const struct tfd_while_graph *g, int32_t node,
                         int32_t guard)
{
    for (int32_t i = 0; i < g->e->nodes[node].in_count; i++) {
        struct tfd_while_input in = tfd_while_input(g, node, i);

        if (in.node >= 0)
            guard = join_guards(g, guard, guard_of(g, in.node, in.output));
    }
    return guard;
}

/* A ControlTrigger is never dead; what waits for it must not run where it does
 * not, as it is never run elsewhere here. */
static int32_t join_controls(const struct tfd_while_graph *g, int32_t node,
                             int32_t guard)
{
    const int32_t *first = &g->controls[g->control_first[node]];
    const int32_t *end = &g->controls[g->control_first[node + 1]];

    for (const int32_t *c = first; c < end; c++)
        if (!is_trigger(g, *c))
            guard = join_guards(g, guard, guard_of(g, *c, TFD_CONTROL));
    for (const int32_t *c = first; guard != NONE && c < end; c++)
        if (is_trigger(g, *c) && !is_within(g, guard, g->guard[*c]))
            return NONE;
    return guard;
}

static int32_t join_all(const struct tfd_while_graph *g, int32_t node)
{
    return join_controls(g, node, join_data(g, node, g->root[g->frame[node]]));
}

/* ---- Kinds of nodes ------------------------------------------------------ */

/* Each says when the node runs; NONE: the loop is no code. */
typedef int32_t judge_fn(struct tfd_while_graph *g, int32_t node);

static int32_t judge_other(struct tfd_while_graph *g, int32_t node)
{
    (void)g;
    (void)node;
    return NONE;
}

static int32_t judge_plain(struct tfd_while_graph *g, int32_t node)
{
    return join_all(g, node);
}

static int32_t judge_kernel(struct tfd_while_graph *g, int32_t node)
{
    int32_t guard = join_all(g, node);

    if ((g->e->nodes[node].kernel->flags & TFD_KERNEL_BLOCKS) ||
        guard == NONE || g->guards[guard].phase == TFD_WHILE_LEAVING)
        return NONE;
    return guard;
}

static int32_t judge_condition(struct tfd_while_graph *g, int32_t node)
{
    int32_t frame = g->frame[node], guard = join_all(g, node);

    if (g->condition[frame] != NONE || guard != g->root[frame])
        return NONE;
    g->condition[frame] = node;
    return guard;
}

/* All Enters of a loop inside come together or not at all. */
static int32_t judge_enter(struct tfd_while_graph *g, int32_t node)
{
    int32_t guard = join_all(g, node);
    int32_t *unit = &g->unit_guard[g->e->nodes[node].value];

    if (guard == NONE || g->guards[guard].phase == TFD_WHILE_LEAVING ||
        (*unit != NONE && *unit != guard))
        return NONE;
    return *unit = guard;
}

static int32_t judge_exit(struct tfd_while_graph *g, int32_t node)
{
    struct tfd_while_input from = tfd_while_source(g, node, 0);
    int32_t guard = join_all(g, node);

    if (from.node < 0 || g->role[from.node] != TFD_WHILE_GATE)
        return NONE;
    return guard == g->root[g->frame[node]] + TFD_WHILE_LEAVING ? guard : NONE;
}

/* Nobody but Merges reads what there is none of in every iteration. */
static bool feeds_merges_only(const struct tfd_while_graph *g, int32_t node)
{
    const struct tfd_exec_node *x = &g->e->nodes[node];

    for (int32_t i = 0; i < x->edge_count; i++)
        if (x->edges[i].output < 0 || !x->edges[i].merge)
            return false;
    return true;
}

static int32_t judge_next(struct tfd_while_graph *g, int32_t node)
{
    int32_t guard = join_all(g, node);

    if (!feeds_merges_only(g, node))
        return NONE;
    return guard == g->root[g->frame[node]] + TFD_WHILE_BODY ? guard : NONE;
}

static int32_t count_passes(struct tfd_while_graph *g, int32_t node)
{
    for (int32_t i = 0; i < g->e->nodes[node].in_count; i++) {
        struct tfd_while_input in = tfd_while_input(g, node, i);

        if (in.node >= 0 && g->passes[in.node] > g->passes[node])
            g->passes[node] = g->passes[in.node];
    }
    return ++g->passes[node];
}

static int32_t judge_pass(struct tfd_while_graph *g, int32_t node)
{
    const struct tfd_exec_node *x = &g->e->nodes[node];

    if (x->node->op->flags & TFD_OP_LOOP_COND)
        return judge_condition(g, node);
    if (tfd_while_enters(x))
        return judge_enter(g, node);
    if (x->route == TFD_ROUTE_EXIT)
        return judge_exit(g, node);
    if (x->route == TFD_ROUTE_NEXT)
        return judge_next(g, node);
    return count_passes(g, node) > PASSES_MAX ? NONE : join_all(g, node);
}

static int32_t judge_gate(struct tfd_while_graph *g, int32_t node)
{
    struct tfd_while_input data = tfd_while_source(g, node, 0);
    int32_t frame = g->frame[node];

    if (g->e->nodes[node].out_count != 2 || data.node < 0 ||
        g->role[data.node] != TFD_WHILE_VARIABLE ||
        join_all(g, node) != g->root[frame])
        return NONE;
    g->role[node] = TFD_WHILE_GATE;
    g->gate[frame] = node;
    g->sides[node] = g->root[frame] + TFD_WHILE_LEAVING;
    return g->root[frame];
}

static int32_t judge_switch(struct tfd_while_graph *g, int32_t node)
{
    struct tfd_while_input pred = tfd_while_source(g, node, 1);
    int32_t guard;

    if (pred.node >= 0 && pred.node == g->condition[g->frame[node]])
        return judge_gate(g, node);
    guard = join_all(g, node);
    if (guard == NONE || g->guards[guard].phase == TFD_WHILE_LEAVING)
        return NONE;
    g->sides[node] = find_sides(g, pred, guard, g->e->nodes[node].out_count);
    return g->sides[node] == NONE ? NONE : guard;
}

static bool comes_by(const struct tfd_while_graph *g, int32_t node, int32_t i,
                     uint8_t route)
{
    struct tfd_while_input in = tfd_while_input(g, node, i);

    return in.node >= 0 && g->e->nodes[in.node].route == route;
}

static bool is_variable(const struct tfd_while_graph *g, int32_t node)
{
    for (int32_t i = 0; i < g->e->nodes[node].in_count; i++)
        if (comes_by(g, node, i, TFD_ROUTE_NEXT) ||
            comes_by(g, node, i, TFD_ROUTE_ENTER))
            return true;
    return false;
}

static int32_t judge_variable(struct tfd_while_graph *g, int32_t node)
{
    const struct tfd_exec_node *x = &g->e->nodes[node];
    int32_t first = comes_by(g, node, 0, TFD_ROUTE_ENTER) ? 0 : 1;

    if (x->in_count != 2 || (x->flags & TFD_EXEC_INDEX_USED) ||
        g->control_first[node] != g->control_first[node + 1] ||
        !comes_by(g, node, first, TFD_ROUTE_ENTER) ||
        !comes_by(g, node, !first, TFD_ROUTE_NEXT))
        return NONE;
    g->role[node] = TFD_WHILE_VARIABLE;
    return g->root[g->frame[node]];
}

/* Its inputs are all sides of one predicate.  What it waits for beside them
 * says only when. */
static int32_t judge_merge(struct tfd_while_graph *g, int32_t node)
{
    const struct tfd_exec_node *x = &g->e->nodes[node];
    const struct tfd_while_guard *sides = NULL;
    uint64_t seen = 0;

    if (is_variable(g, node))
        return judge_variable(g, node);
    for (int32_t i = 0; i < x->in_count; i++) {
        int32_t guard = tfd_while_guard_of(g, node, i);

        if (guard == NONE || (sides && g->guards[guard].first != sides->first))
            return NONE;
        sides = &g->guards[guard];
        if (sides->count != x->in_count || x->in_count > 64)
            return NONE;
        seen |= UINT64_C(1) << (guard - sides->first);
    }
    if (!sides || __builtin_popcountll(seen) != x->in_count ||
        sides->first == g->root[g->frame[node]] + TFD_WHILE_LEAVING ||
        sides->parent == NONE || sides->phase == TFD_WHILE_LEAVING)
        return NONE;
    return sides->parent;
}

static judge_fn *const judge_table[TFD_EXEC_KIND_COUNT] = {
    [TFD_EXEC_KERNEL] = judge_kernel, [TFD_EXEC_ASYNC] = judge_other,
    [TFD_EXEC_CONST] = judge_plain,   [TFD_EXEC_NOOP] = judge_plain,
    [TFD_EXEC_PASS] = judge_pass,     [TFD_EXEC_FEED] = judge_other,
    [TFD_EXEC_FETCH] = judge_other,   [TFD_EXEC_SWITCH] = judge_switch,
    [TFD_EXEC_MERGE] = judge_merge,   [TFD_EXEC_LOOP] = judge_other,
};

/* ---- Loops --------------------------------------------------------------- */

static bool has_references(const struct tfd_exec_node *x)
{
    bool has = x->flags & (TFD_EXEC_REF_IN | TFD_EXEC_READS_LATE);

    for (int32_t i = 0; i < x->in_count; i++)
        has |= tfd_dtype_is_ref(x->node->in_types[i]);
    for (int32_t i = 0; i < x->out_count; i++)
        has |= tfd_dtype_is_ref(x->node->out_types[i]);
    return has;
}

static bool judge_node(struct tfd_while_graph *g, int32_t node)
{
    const struct tfd_exec_node *x = &g->e->nodes[node];

    if ((x->flags & (TFD_EXEC_RUNS_DEAD | TFD_EXEC_STREAM)) ||
        has_references(x))
        return false;
    g->guard[node] = judge_table[x->kind](g, node);
    return g->guard[node] != NONE;
}

static bool judge_enters(const struct tfd_while_graph *g, int32_t frame)
{
    for (int32_t i = g->enter_first[frame]; i < g->enter_first[frame + 1];
         i++) {
        const struct tfd_exec_node *x = &g->e->nodes[g->enters[i]];

        if (tfd_dtype_is_ref(x->node->out_types[0]) ||
            (x->route == TFD_ROUTE_ENTER &&
             !feeds_merges_only(g, g->enters[i])))
            return false;
    }
    return true;
}

static bool judge_frame(struct tfd_while_graph *g, int32_t frame)
{
    if (!g->in_order[frame] || !judge_enters(g, frame))
        return false;
    for (int32_t i = g->order_first[frame]; i < g->order_end[frame]; i++) {
        int32_t item = g->order[i];

        if (item < 0 ? !g->may_be_code[~item] : !judge_node(g, item))
            return false;
    }
    return g->condition[frame] != NONE && g->gate[frame] != NONE;
}

static enum tfd_code make_guard_arrays(struct tfd_while_graph *g,
                                       struct tfd_status *st)
{
    size_t nodes = (size_t)g->e->node_count + 1;
    size_t frames = (size_t)g->e->frame_count;
    size_t guards = frames * TFD_WHILE_PHASES;

    for (int32_t i = 0; i < g->e->node_count; i++)
        if (g->e->nodes[i].kind == TFD_EXEC_SWITCH)
            guards += (size_t)g->e->nodes[i].out_count;
    g->guard = tfd_arena_array(g->scratch, nodes, sizeof(int32_t));
    g->sides = tfd_arena_array(g->scratch, nodes, sizeof(int32_t));
    g->predicates = tfd_arena_array(g->scratch, nodes, sizeof(int32_t));
    g->passes = tfd_arena_array(g->scratch, nodes, sizeof(int32_t));
    g->role = tfd_arena_array(g->scratch, nodes, 1);
    g->root = tfd_arena_array(g->scratch, frames, sizeof(int32_t));
    g->may_be_code = tfd_arena_array(g->scratch, frames, 1);
    g->guards = tfd_arena_array(g->scratch, guards, sizeof(*g->guards));
    if (!g->guard || !g->sides || !g->predicates || !g->passes || !g->role ||
        !g->root || !g->may_be_code || !g->guards)
        return tfd_arena_check(NULL, "loops", st);
    return TFD_OK;
}

/* A frame after those inside of it. */
enum tfd_code tfd_while_guard_all(struct tfd_while_graph *g,
                                  struct tfd_status *st)
{
    TFD_TRY(make_guard_arrays(g, st));
    for (int32_t i = 0; i < g->e->node_count; i++)
        g->guard[i] = g->sides[i] = g->predicates[i] = NONE;
    for (int32_t i = 0; i < g->e->frame_count; i++)
        g->root[i] = add_frame(g);
    for (int32_t i = g->e->frame_count - 1; i > 0; i--)
        g->may_be_code[i] = judge_frame(g, i);
    return TFD_OK;
}
