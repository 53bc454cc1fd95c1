/*
 * gradient_walk.c - the walk from outputs back to what they shall be derived
 * by.
 *
 * A node takes part when it is reached from some x and some y is reached from
 * it, both by edges of types that have a derivative.  Nodes are numbered after
 * their inputs (back edges of loops excepted, through which nothing is
 * derived), so going through the numbers downwards every node comes after all
 * that read it: what arrived at its outputs is summed, its gradient function
 * adds the nodes for its inputs, and what those give waits at the producers.
 *
 *     reached      x -> ...          numbers upwards
 *     needed       ... -> y          numbers downwards, within reached
 *     derive       y -> ... -> x     numbers downwards, within needed
 */
#include "kernels/core/gradient_call.h"
#include "kernels/core/gradient_loop.h"

#include "config/limits.h"

#include <stdlib.h>

/* A gradient that has arrived at an output and waits to be summed. */
struct partial {
    struct tfd_edge edge;
    struct partial *next; /* the one that arrived before */
};

/* The outputs of one node. */
struct arrivals {
    struct partial **last; /* by output */
    int32_t *count;
};

struct walk {
    const struct tfd_gradients *r;
    struct tfd_gradient_builder *builder;
    struct tfd_arena arena;
    struct tfd_graph *graph;
    int32_t count; /* nodes before the walk */
    uint8_t *reached;
    uint8_t *needed;
    struct arrivals *at; /* by node; arrays made when first needed */
    int32_t *order;      /* nodes, each before what it reads */
    struct tfd_gradient_loop **loop_of; /* by node: that an Exit leaves */
    struct tfd_gradient_loop **loops;
    int32_t loop_count;
    bool in_body; /* of a loop: x are where it ends, and no loops in it */
    struct tfd_status *st;
};

bool tfd_gradient_has_derivative(enum tfd_dtype t)
{
    switch ((int)t) {
    case TFD_FLOAT:
    case TFD_DOUBLE:
    case TFD_HALF:
    case TFD_BFLOAT16:
    case TFD_COMPLEX64:
    case TFD_COMPLEX128:
    case TFD_RESOURCE: /* of a variable: what its reads send back */
    case TFD_VARIANT:
        return true;
    default:
        return false;
    }
}

static bool edge_counts(const struct walk *w, struct tfd_edge e)
{
    return e.node >= 0 && e.node < w->count && w->reached[e.node] &&
           tfd_gradient_has_derivative(tfd_gradient_type(w->graph, e));
}

/* ---- Which nodes take part ----------------------------------------------- */

static bool reaches(const struct walk *w, const struct tfd_node *n)
{
    for (int32_t i = 0; i < n->in_count; i++)
        if (edge_counts(w, n->in[i]))
            return true;
    return false;
}

/* Until nothing changes, for the sake of back edges; else the second round
 * finds nothing. */
static void mark_reached(struct walk *w)
{
    bool changed = true;

    for (int i = 0; i < w->r->x_count; i++)
        w->reached[w->r->x[i].node] = 1;
    while (changed) {
        changed = false;
        for (int32_t i = 0; i < w->count; i++) {
            if (w->reached[i] || !reaches(w, w->graph->nodes[i]))
                continue;
            w->reached[i] = 1;
            changed = true;
        }
    }
}

static bool mark_inputs(struct walk *w, const struct tfd_node *n)
{
    bool changed = false;

    for (int32_t i = 0; i < n->in_count; i++) {
        if (!edge_counts(w, n->in[i]) || w->needed[n->in[i].node])
            continue;
        w->needed[n->in[i].node] = 1;
        changed = true;
    }
    return changed;
}

static void mark_needed(struct walk *w)
{
    bool changed = true;

    for (int i = 0; i < w->r->y_count; i++)
        if (edge_counts(w, w->r->y[i]))
            w->needed[w->r->y[i].node] = 1;
    while (changed) {
        changed = false;
        for (int32_t i = w->count - 1; i >= 0; i--)
            if (w->needed[i] && mark_inputs(w, w->graph->nodes[i]))
                changed = true;
    }
}

/* ---- What has arrived ---------------------------------------------------- */

static enum tfd_code arrive(struct walk *w, struct tfd_edge at,
                            struct tfd_edge gradient)
{
    const struct tfd_node *n = w->graph->nodes[at.node];
    struct arrivals *a = &w->at[at.node];
    struct partial *p = tfd_arena_alloc(&w->arena, sizeof(*p));

    TFD_TRY(tfd_arena_check(p, "gradients", w->st));
    if (!a->last) {
        a->count =
            tfd_arena_array(&w->arena, (size_t)n->out_count, sizeof(*a->count));
        a->last = tfd_arena_array(&w->arena, (size_t)n->out_count,
                                  sizeof(struct partial *));
        TFD_TRY(tfd_arena_check(a->count, "gradients", w->st));
        TFD_TRY(tfd_arena_check(a->last, "gradients", w->st));
    }
    p->edge = gradient;
    p->next = a->last[at.output];
    a->last[at.output] = p;
    a->count[at.output]++;
    return TFD_OK;
}

/* Their sum, none when there are none. */
static enum tfd_code sum(struct walk *w, struct tfd_grad *grad,
                         struct tfd_edge at, struct tfd_edge *out)
{
    const struct arrivals *a = &w->at[at.node];
    struct tfd_edge *terms;
    int32_t count = a->last ? a->count[at.output] : 0, at_term = count;

    *out = count == 1 ? a->last[at.output]->edge : TFD_EDGE_NONE;
    if (count < 2)
        return TFD_OK;
    terms =
        tfd_arena_array(&w->arena, (size_t)a->count[at.output], sizeof(*terms));
    TFD_TRY(tfd_arena_check(terms, "gradients", w->st));
    for (const struct partial *p = a->last[at.output]; p; p = p->next)
        terms[--at_term] = p->edge;
    return tfd_grad_emit(grad, "AddN", terms, count, out, w->st);
}

/* ---- Loops ----------------------------------------------------------------
 */

static bool is_exit(const struct walk *w, int32_t id)
{
    return (w->graph->nodes[id]->op->flags & TFD_OP_EXIT) != 0;
}

static bool has_exits(const struct walk *w)
{
    for (int32_t i = 0; i < w->count; i++)
        if (w->needed[i] && is_exit(w, i))
            return true;
    return false;
}

static enum tfd_code find_loop(struct walk *w, int32_t exit)
{
    struct tfd_gradient_loop *l;

    TFD_TRY(tfd_gradient_loop_new(w->builder, &w->arena, w->count,
                                  w->graph->nodes[exit], &l, w->st));
    l->needed = w->needed;
    w->loops[w->loop_count++] = l;
    for (int32_t i = exit; i < w->count; i++)
        if (is_exit(w, i) && w->needed[i] &&
            tfd_gradient_loop_variable(l, w->graph->nodes[i])) {
            w->loop_of[i] = l;
            l->exits_left++;
        }
    return TFD_OK;
}

static enum tfd_code find_loops(struct walk *w)
{
    size_t count = (size_t)w->count;

    w->loop_of = tfd_arena_array(&w->arena, count, sizeof(*w->loop_of));
    w->loops = tfd_arena_array(&w->arena, count, sizeof(*w->loops));
    TFD_TRY(tfd_arena_check(w->loop_of ? w->loops : NULL, "gradients", w->st));
    for (int32_t i = 0; i < w->count; i++)
        if (w->needed[i] && is_exit(w, i) && !w->loop_of[i])
            TFD_TRY(find_loop(w, i));
    return TFD_OK;
}

/* What arrived at one of the loop's ends; with the last, the loop goes. */
static enum tfd_code derive_exit(struct walk *w, const struct tfd_node *n,
                                 struct tfd_grad *grad, struct tfd_edge dy)
{
    struct tfd_gradient_loop *l = w->loop_of ? w->loop_of[n->id] : NULL;
    struct tfd_gradient_variable *v;
    struct tfd_edge terms[2];

    if (!l)
        return tfd_fail(
            w->st, TFD_NOT_FOUND,
            "No gradient defined for op: Exit (operation '" TFD_STR_FMT
            "' of a loop within another loop)",
            TFD_STR_ARG(n->name));
    v = tfd_gradient_loop_variable(l, n);
    terms[0] = v->dy;
    terms[1] = dy;
    if (v->dy.node < 0 || dy.node < 0)
        v->dy = dy.node < 0 ? v->dy : dy;
    else
        TFD_TRY(tfd_grad_emit(grad, "AddN", terms, 2, &v->dy, w->st));
    if (--l->exits_left > 0)
        return TFD_OK;
    TFD_TRY(tfd_gradient_loop_derive(l, w->st));
    for (int32_t i = 0; i < l->end_count; i++)
        if (edge_counts(w, l->ends[i].at))
            TFD_TRY(arrive(w, l->ends[i].at, l->ends[i].gradient));
    return TFD_OK;
}

/* ---- Order --------------------------------------------------------------- */

/* One more than what it reads; an Exit more than all that its loop reads. */
static int32_t level_of(const struct walk *w, const int32_t *level, int32_t id)
{
    const struct tfd_node *n = w->graph->nodes[id];
    const struct tfd_gradient_loop *l = w->loop_of[id];
    bool merge = (n->op->flags & TFD_OP_MERGE) != 0;
    int32_t highest = 0;

    for (int32_t i = 0; i < n->in_count; i++) {
        int32_t from = n->in[i].node;

        /* Back edges come from nodes of higher numbers. */
        if (from >= 0 && level[from] > highest && !(merge && from > id))
            highest = level[from];
    }
    for (int32_t i = 0; l && i < l->variable_count; i++)
        if (level[l->variables[i].enter] > highest)
            highest = level[l->variables[i].enter];
    for (int32_t i = 0; l && i < l->invariant_count; i++)
        if (level[l->invariants[i]] > highest)
            highest = level[l->invariants[i]];
    return highest + 1;
}

/* Highest first: a counting sort. */
static enum tfd_code sort(struct walk *w, const int32_t *level)
{
    size_t count = (size_t)w->count;
    int32_t *start = tfd_arena_array(&w->arena, count + 2, sizeof(*start));

    TFD_TRY(tfd_arena_check(start, "gradients", w->st));
    for (size_t i = 0; i < count; i++)
        start[w->count - level[i] + 1]++;
    for (size_t i = 1; i <= count; i++)
        start[i] += start[i - 1];
    for (size_t i = count; i-- > 0;)
        w->order[start[w->count - level[i]]++] = (int32_t)i;
    return TFD_OK;
}

/* Numbers downwards do where there are no loops.  Else a node that a loop reads
 * may have a higher number than the first Exit.  Each round that changes levels
 * goes along one more such edge, so loops bound the rounds. */
static enum tfd_code find_order(struct walk *w)
{
    size_t count = (size_t)w->count;
    int32_t *level;
    bool changed = true;

    w->order = tfd_arena_array(&w->arena, count, sizeof(*w->order));
    TFD_TRY(tfd_arena_check(w->order, "gradients", w->st));
    for (int32_t i = 0; i < w->count; i++)
        w->order[i] = w->count - 1 - i;
    if (w->in_body || !has_exits(w))
        return TFD_OK;
    TFD_TRY(find_loops(w));
    level = tfd_arena_array(&w->arena, count, sizeof(*level));
    TFD_TRY(tfd_arena_check(level, "gradients", w->st));
    for (int32_t round = 0; changed; round++) {
        changed = false;
        if (round > w->loop_count + 2)
            return tfd_fail(w->st, TFD_INVALID_ARGUMENT,
                            "the graph's loops read each other");
        for (int32_t i = 0; i < w->count; i++) {
            int32_t now = level_of(w, level, i);

            changed |= now != level[i];
            level[i] = now;
        }
    }
    return sort(w, level);
}

/* ---- Names --------------------------------------------------------------- */

static void scope_of_all(struct walk *w)
{
    tfd_bytes_clear(&w->builder->scope);
    tfd_bytes_add_str(&w->builder->scope, w->r->prefix);
}

static void scope_of_node(struct walk *w, const struct tfd_node *n)
{
    scope_of_all(w);
    tfd_bytes_add(&w->builder->scope, "/", 1);
    tfd_bytes_add_str(&w->builder->scope, n->name);
    tfd_bytes_add_str(&w->builder->scope, TFD_STR("_grad"));
}

/* ---- Where it begins ----------------------------------------------------- */

/* Ones in the shape of y. */
static enum tfd_code make_ones(struct walk *w, struct tfd_grad *grad,
                               struct tfd_edge y, struct tfd_edge *out)
{
    enum tfd_dtype type = tfd_gradient_type(w->graph, y);
    const struct tfd_shape *shape = tfd_gradient_known(w->r, y);
    int32_t dims[TFD_RANK_MAX];
    struct tfd_edge in[2];

    if (tfd_shape_elements(shape) < 0)
        return tfd_grad_emit(grad, "OnesLike", &y, 1, out, w->st);
    if (shape->rank == 0)
        return tfd_grad_scalar(grad, type, 1, out, w->st);
    for (int i = 0; i < shape->rank; i++) {
        if (shape->dim[i] > INT32_MAX)
            return tfd_grad_emit(grad, "OnesLike", &y, 1, out, w->st);
        dims[i] = (int32_t)shape->dim[i];
    }
    TFD_TRY(tfd_grad_int32(grad, dims, shape->rank, &in[0], w->st));
    TFD_TRY(tfd_grad_scalar(grad, type, 1, &in[1], w->st));
    return tfd_grad_emit(grad, "Fill", in, 2, out, w->st);
}

static enum tfd_code begin_at(struct walk *w, int i)
{
    struct tfd_grad grad = {.graph = w->graph, .builder = w->builder};
    struct tfd_edge y = w->r->y[i], dy = TFD_EDGE_NONE;

    if (w->r->dy && w->r->dy[i].node >= 0)
        dy = w->r->dy[i];
    if (dy.node >= 0 &&
        tfd_gradient_type(w->graph, dy) != tfd_gradient_type(w->graph, y))
        return tfd_fail(w->st, TFD_INVALID_ARGUMENT,
                        "the gradient given for output %d of '" TFD_STR_FMT
                        "' is %s and the output %s",
                        y.output, TFD_STR_ARG(w->graph->nodes[y.node]->name),
                        tfd_dtype_name((int)tfd_gradient_type(w->graph, dy)),
                        tfd_dtype_name((int)tfd_gradient_type(w->graph, y)));
    if (!edge_counts(w, y))
        return TFD_OK;
    scope_of_all(w);
    tfd_bytes_printf(&w->builder->scope, "/grad_ys_%d", i);
    if (dy.node < 0)
        TFD_TRY(make_ones(w, &grad, y, &dy));
    return arrive(w, y, dy);
}

/* ---- One node ------------------------------------------------------------ */

static enum tfd_code sum_outputs(struct walk *w, const struct tfd_node *n,
                                 struct tfd_grad *grad, struct tfd_edge *dy)
{
    scope_of_all(w);
    for (int32_t i = 0; i < n->out_count; i++)
        TFD_TRY(sum(w, grad, (struct tfd_edge){n->id, i}, &dy[i]));
    for (int i = 0; i < w->r->x_count; i++)
        if (w->r->x[i].node == n->id)
            w->r->dx[i] = dy[w->r->x[i].output];
    return TFD_OK;
}

static bool is_x(const struct walk *w, int32_t id)
{
    for (int i = 0; i < w->r->x_count; i++)
        if (w->r->x[i].node == id)
            return true;
    return false;
}

static bool any(const struct tfd_edge *e, int32_t count)
{
    for (int32_t i = 0; i < count; i++)
        if (e[i].node >= 0)
            return true;
    return false;
}

/* Some functions give gradients of indices and the like. */
static void drop_meaningless(const struct walk *w, const struct tfd_grad *grad)
{
    const struct tfd_node *n = grad->node;

    for (int32_t i = 0; i < n->in_count; i++)
        if (grad->dx[i].node >= 0 &&
            !tfd_gradient_has_derivative(tfd_gradient_type(w->graph, n->in[i])))
            grad->dx[i] = TFD_EDGE_NONE;
}

static enum tfd_code call_gradient(struct walk *w, struct tfd_grad *grad)
{
    const struct tfd_node *n = grad->node;
    tfd_grad_fn *fn =
        tfd_gradient_is_call(n) ? tfd_gradient_of_call : n->op->def->grad;

    if (!fn && n->op->flags & TFD_OP_NO_GRADIENT)
        return TFD_OK;
    if (!fn)
        return tfd_fail(w->st, TFD_NOT_FOUND,
                        "No gradient defined for op: " TFD_STR_FMT
                        " (operation '" TFD_STR_FMT "')",
                        TFD_STR_ARG(n->op->name), TFD_STR_ARG(n->name));
    scope_of_node(w, n);
    if (fn(grad, w->st) != TFD_OK) {
        tfd_status_context(w->st, "gradient of '" TFD_STR_FMT "'",
                           TFD_STR_ARG(n->name));
        return w->st->code;
    }
    drop_meaningless(w, grad);
    return TFD_OK;
}

static enum tfd_code derive(struct walk *w, const struct tfd_node *n)
{
    size_t outs = (size_t)n->out_count, ins = (size_t)n->in_count;
    struct tfd_edge *dy = tfd_arena_array(&w->arena, outs + 1, sizeof(*dy));
    struct tfd_edge *y = tfd_arena_array(&w->arena, outs + 1, sizeof(*y));
    struct tfd_edge *dx = tfd_arena_array(&w->arena, ins + 1, sizeof(*dx));
    struct tfd_grad grad = {.graph = w->graph,
                            .node = n,
                            .x = n->in,
                            .y = y,
                            .dy = dy,
                            .dx = dx,
                            .builder = w->builder};

    TFD_TRY(tfd_arena_check(dy && y ? dx : NULL, "gradients", w->st));
    for (int32_t i = 0; i < n->out_count; i++)
        y[i] = (struct tfd_edge){n->id, i};
    for (int32_t i = 0; i < n->in_count; i++)
        dx[i] = TFD_EDGE_NONE;
    TFD_TRY(sum_outputs(w, n, &grad, dy));
    if (w->loop_of && w->loop_of[n->id])
        return derive_exit(w, n, &grad, dy[0]);
    if (!any(dy, n->out_count) || !reaches(w, n) ||
        (w->in_body && is_x(w, n->id)))
        return TFD_OK;
    if (n->op->flags & TFD_OP_EXIT)
        return derive_exit(w, n, &grad, dy[0]);
    TFD_TRY(call_gradient(w, &grad));
    for (int32_t i = 0; i < n->in_count; i++)
        if (dx[i].node >= 0 && edge_counts(w, n->in[i]))
            TFD_TRY(arrive(w, n->in[i], dx[i]));
    return TFD_OK;
}

/* ---- All of it ----------------------------------------------------------- */

static enum tfd_code run_gradient_walk(struct walk *w)
{
    size_t count = (size_t)w->count;

    w->reached = tfd_arena_array(&w->arena, count, 1);
    w->needed = tfd_arena_array(&w->arena, count, 1);
    w->at = tfd_arena_array(&w->arena, count, sizeof(*w->at));
    TFD_TRY(tfd_arena_check(w->reached && w->needed ? w->at : NULL, "gradients",
                            w->st));
    mark_reached(w);
    mark_needed(w);
    TFD_TRY(find_order(w));
    for (int i = 0; i < w->r->x_count; i++)
        w->r->dx[i] = TFD_EDGE_NONE;
    for (int i = 0; i < w->r->y_count; i++)
        TFD_TRY(begin_at(w, i));
    for (int32_t i = 0; i < w->count; i++)
        if (w->needed[w->order[i]])
            TFD_TRY(derive(w, w->graph->nodes[w->order[i]]));
    return TFD_OK;
}

static enum tfd_code walk(struct walk *w)
{
    enum tfd_code rc;

    tfd_arena_init(&w->arena, (size_t)TFD_GRAPH_SIZE_MAX);
    rc = run_gradient_walk(w);
    for (int32_t i = 0; i < w->loop_count; i++)
        tfd_gradient_loop_deinit(w->loops[i]);
    tfd_arena_deinit(&w->arena);
    return rc;
}

enum tfd_code tfd_gradient_walk(const struct tfd_gradients *r,
                                struct tfd_status *st)
{
    struct tfd_gradient_builder builder = {.request = r, .st = st};
    struct walk w = {
        .r = r,
        .builder = &builder,
        .graph = r->host->graph,
        .count = r->host->graph->count,
        .st = st,
    };
    enum tfd_code rc;

    tfd_bytes_init(&builder.scope, 2 * TFD_NAME_SIZE_MAX);
    rc = walk(&w);
    tfd_bytes_deinit(&builder.scope);
    return rc;
}

enum tfd_code tfd_gradient_walk_body(struct tfd_gradient_builder *b,
                                     const struct tfd_gradients *r,
                                     int32_t count, struct tfd_status *st)
{
    struct walk w = {
        .r = r,
        .builder = b,
        .graph = r->host->graph,
        .count = count,
        .in_body = true,
        .st = st,
    };

    return walk(&w);
}
