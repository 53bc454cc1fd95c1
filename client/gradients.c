/*
 * gradients.c - the walk from outputs back to what they shall be derived by.
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
#include "client/gradients.h"

#include "common/arena.h"
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
    struct tfd_gradient_builder builder;
    struct tfd_arena arena;
    struct tfd_graph *graph;
    int32_t count; /* nodes before the walk */
    uint8_t *reached;
    uint8_t *needed;
    struct arrivals *at; /* by node; arrays made when first needed */
    struct tfd_status *st;
};

static bool has_derivative(enum tfd_dtype t)
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
           has_derivative(tfd_gradient_type(w->r->g, e));
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

/* ---- Names --------------------------------------------------------------- */

static void scope_of_all(struct walk *w)
{
    tfd_bytes_clear(&w->builder.scope);
    tfd_bytes_add_str(&w->builder.scope, w->r->prefix);
}

static void scope_of_node(struct walk *w, const struct tfd_node *n)
{
    scope_of_all(w);
    tfd_bytes_add(&w->builder.scope, "/", 1);
    tfd_bytes_add_str(&w->builder.scope, n->name);
    tfd_bytes_add_str(&w->builder.scope, TFD_STR("_grad"));
}

/* ---- Where it begins ----------------------------------------------------- */

/* Ones in the shape of y. */
static enum tfd_code make_ones(struct walk *w, struct tfd_grad *grad,
                               struct tfd_edge y, struct tfd_edge *out)
{
    enum tfd_dtype type = tfd_gradient_type(w->r->g, y);
    const struct tfd_shape *shape = tfd_gradient_known(w->r->g, y);
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
    struct tfd_grad grad = {.graph = w->graph, .builder = &w->builder};
    struct tfd_edge y = w->r->y[i], dy = TFD_EDGE_NONE;

    if (w->r->dy && w->r->dy[i].node >= 0)
        dy = w->r->dy[i];
    if (dy.node >= 0 &&
        tfd_gradient_type(w->r->g, dy) != tfd_gradient_type(w->r->g, y))
        return tfd_fail(w->st, TFD_INVALID_ARGUMENT,
                        "the gradient given for output %d of '" TFD_STR_FMT
                        "' is %s and the output %s",
                        y.output, TFD_STR_ARG(w->graph->nodes[y.node]->name),
                        tfd_dtype_name((int)tfd_gradient_type(w->r->g, dy)),
                        tfd_dtype_name((int)tfd_gradient_type(w->r->g, y)));
    if (!edge_counts(w, y))
        return TFD_OK;
    scope_of_all(w);
    tfd_bytes_printf(&w->builder.scope, "/grad_ys_%d", i);
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
            !has_derivative(tfd_gradient_type(w->r->g, n->in[i])))
            grad->dx[i] = TFD_EDGE_NONE;
}

static enum tfd_code call_gradient(struct walk *w, struct tfd_grad *grad)
{
    const struct tfd_node *n = grad->node;
    tfd_grad_fn *fn = n->op->def->grad;

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
                            .builder = &w->builder};

    TFD_TRY(tfd_arena_check(dy && y ? dx : NULL, "gradients", w->st));
    for (int32_t i = 0; i < n->out_count; i++)
        y[i] = (struct tfd_edge){n->id, i};
    for (int32_t i = 0; i < n->in_count; i++)
        dx[i] = TFD_EDGE_NONE;
    TFD_TRY(sum_outputs(w, n, &grad, dy));
    if (!any(dy, n->out_count) || !reaches(w, n))
        return TFD_OK;
    TFD_TRY(call_gradient(w, &grad));
    for (int32_t i = 0; i < n->in_count; i++)
        if (dx[i].node >= 0 && edge_counts(w, n->in[i]))
            TFD_TRY(arrive(w, n->in[i], dx[i]));
    return TFD_OK;
}

/* ---- All of it ----------------------------------------------------------- */

static enum tfd_code run(struct walk *w)
{
    size_t count = (size_t)w->count;

    w->reached = tfd_arena_array(&w->arena, count, 1);
    w->needed = tfd_arena_array(&w->arena, count, 1);
    w->at = tfd_arena_array(&w->arena, count, sizeof(*w->at));
    TFD_TRY(tfd_arena_check(w->reached && w->needed ? w->at : NULL, "gradients",
                            w->st));
    mark_reached(w);
    mark_needed(w);
    for (int i = 0; i < w->r->x_count; i++)
        w->r->dx[i] = TFD_EDGE_NONE;
    for (int i = 0; i < w->r->y_count; i++)
        TFD_TRY(begin_at(w, i));
    for (int32_t i = w->count - 1; i >= 0; i--)
        if (w->needed[i])
            TFD_TRY(derive(w, w->graph->nodes[i]));
    return TFD_OK;
}

enum tfd_code tfd_gradients_add(const struct tfd_gradients *r,
                                struct tfd_status *st)
{
    struct walk w = {
        .r = r,
        .builder = {.request = r, .st = st},
        .graph = r->g->graph,
        .count = r->g->graph->count,
        .st = st,
    };
    enum tfd_code rc;

    tfd_arena_init(&w.arena, (size_t)TFD_GRAPH_SIZE_MAX);
    tfd_bytes_init(&w.builder.scope, 2 * TFD_NAME_SIZE_MAX);
    rc = run(&w);
    if (rc != TFD_OK)
        tfd_capi_truncate(r->g, w.count);
    tfd_bytes_deinit(&w.builder.scope);
    tfd_arena_deinit(&w.arena);
    return rc;
}

bool tfd_gradients_prefix_free(const TF_Graph *g, struct tfd_str prefix)
{
    for (int32_t i = 0; i < g->operation_count; i++) {
        struct tfd_str name = g->operations[i]->node->name;

        if (name.size >= prefix.size &&
            tfd_str_eq((struct tfd_str){name.data, prefix.size}, prefix) &&
            (name.size == prefix.size || name.data[prefix.size] == '/'))
            return false;
    }
    return true;
}

enum tfd_code tfd_gradients_prefix(const TF_Graph *g, struct tfd_bytes *out,
                                   struct tfd_status *st)
{
    tfd_bytes_clear(out);
    tfd_bytes_printf(out, "gradients");
    for (int i = 1; !tfd_gradients_prefix_free(g, tfd_bytes_view(out)); i++) {
        tfd_bytes_clear(out);
        tfd_bytes_printf(out, "gradients_%d", i);
    }
    return tfd_bytes_ok(out, "a prefix of names", st);
}
