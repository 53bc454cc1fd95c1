/*
 * gradient_loop.c - see gradient_loop.h.
 *
 *     forward    0 -> Enter -> Merge -> Switch -> Identity -> +1 -> ...
 *                                          `-> Exit: the count
 *     backward   count -> Enter -> Merge -> Switch -> Identity -> -1 -> ...
 *                                     `-> > 0 -> LoopCond
 *                dy    -> Enter -> Merge -> Switch -> Identity -> the body's
 *                gradient -> NextIteration;   Exit: what belongs to Enter
 *
 * The counters' steps are added last, since they wait for pushes and pops.
 */
#include "kernels/core/gradient_loop.h"

#include "config/limits.h"

#define LIST_MAX ((size_t)TFD_GRAPH_NODES_MAX * sizeof(int32_t))

/* ---- The forward loop ---------------------------------------------------- */

static const struct tfd_graph *graph_of(const struct tfd_gradient_loop *l)
{
    return l->b->request->host->graph;
}

static const struct tfd_node *node_at(const struct tfd_gradient_loop *l,
                                      int32_t id)
{
    return graph_of(l)->nodes[id];
}

static bool has_flag(const struct tfd_gradient_loop *l, struct tfd_edge e,
                     uint32_t flag)
{
    return e.node >= 0 && e.node < l->count &&
           (node_at(l, e.node)->op->flags & flag) != 0;
}

static bool is_loop_switch(const struct tfd_gradient_loop *l,
                           const struct tfd_node *n)
{
    return (n->op->flags & TFD_OP_SWITCH) != 0 && n->in_count == 2 &&
           has_flag(l, n->in[1], TFD_OP_LOOP_COND);
}

static enum tfd_code refuse_node(const struct tfd_gradient_loop *l,
                                 const struct tfd_node *n,
                                 struct tfd_status *st)
{
    (void)l;
    return tfd_fail(st, TFD_NOT_FOUND,
                    "No gradient defined for op: " TFD_STR_FMT
                    " (operation '" TFD_STR_FMT "' is in no while loop of "
                    "Enter, Merge, Switch and NextIteration)",
                    TFD_STR_ARG(n->op->name), TFD_STR_ARG(n->name));
}

static enum tfd_code find_variable(struct tfd_gradient_loop *l,
                                   const struct tfd_node *switched,
                                   struct tfd_status *st)
{
    struct tfd_gradient_variable *v = &l->variables[l->variable_count];
    const struct tfd_node *merge;

    if (!has_flag(l, switched->in[0], TFD_OP_MERGE))
        return refuse_node(l, switched, st);
    merge = node_at(l, switched->in[0].node);
    if (merge->in_count != 2 || !has_flag(l, merge->in[0], TFD_OP_ENTER) ||
        !has_flag(l, merge->in[1], TFD_OP_NEXT_ITERATION))
        return refuse_node(l, merge, st);
    v->switched = switched->id;
    v->enter = merge->in[0].node;
    v->next = merge->in[1].node;
    v->exit = -1;
    v->dy = TFD_EDGE_NONE;
    l->variable_count++;
    return TFD_OK;
}

static enum tfd_code find_variables(struct tfd_gradient_loop *l,
                                    struct tfd_status *st)
{
    const struct tfd_node *enter;

    for (int32_t i = 0; i < l->count; i++) {
        const struct tfd_node *n = node_at(l, i);

        if (is_loop_switch(l, n) && n->in[1].node == l->cond)
            TFD_TRY(find_variable(l, n, st));
    }
    enter = node_at(l, l->variables[0].enter);
    TFD_TRY(tfd_node_str(enter, "frame_name", &l->frame, st));
    return tfd_node_int(enter, "parallel_iterations", &l->parallel, st);
}

static bool is_in_frame(const struct tfd_gradient_loop *l,
                        const struct tfd_node *n)
{
    struct tfd_str frame;

    return (n->op->flags & TFD_OP_ENTER) != 0 &&
           tfd_node_str(n, "frame_name", &frame, NULL) == TFD_OK &&
           tfd_str_eq(frame, l->frame);
}

static bool is_variable(const struct tfd_gradient_loop *l, int32_t enter)
{
    for (int32_t i = 0; i < l->variable_count; i++)
        if (l->variables[i].enter == enter)
            return true;
    return false;
}

/* How deep a node's inputs are. */
static int32_t deepest(const struct tfd_node *n, const int32_t *by_node,
                       int32_t count)
{
    int32_t depth = 0;

    for (int32_t i = 0; i < n->in_count; i++)
        if (n->in[i].node >= 0 && n->in[i].node < count &&
            by_node[n->in[i].node] > depth)
            depth = by_node[n->in[i].node];
    for (int32_t i = 0; i < n->control_count; i++)
        if (n->control[i] < count && by_node[n->control[i]] > depth)
            depth = by_node[n->control[i]];
    return depth;
}

/* Nodes come after their inputs, back edges excepted, which change nothing. */
static void find_depth(struct tfd_gradient_loop *l, const struct tfd_node *n)
{
    int32_t depth = deepest(n, l->depth, l->count);
    int32_t branch = deepest(n, l->branch, l->count);

    if (is_in_frame(l, n)) {
        depth = 1;
        if (!is_variable(l, n->id))
            l->invariants[l->invariant_count++] = n->id;
    } else if (n->op->flags & TFD_OP_ENTER) {
        depth += depth > 0;
    } else if (n->op->flags & TFD_OP_EXIT) {
        depth -= depth > 0;
    } else if (n->op->flags & TFD_OP_SWITCH && !is_loop_switch(l, n)) {
        branch += depth > 0;
    } else if (n->op->flags & TFD_OP_MERGE) {
        branch -= branch > 0;
    }
    l->depth[n->id] = depth;
    l->branch[n->id] = depth > 0 ? branch : 0;
}

/* What a stack gives back depends on what was pushed, which no edge shows. */
static enum tfd_code check_order(const struct tfd_gradient_loop *l,
                                 struct tfd_status *st)
{
    for (int32_t i = 0; i < l->count; i++)
        if (l->depth[i] > 0 &&
            tfd_str_is(node_at(l, i)->op->name, "StackPopV2"))
            return tfd_fail(st, TFD_NOT_FOUND,
                            "No gradient defined for op: StackPopV2 (operation "
                            "'" TFD_STR_FMT "'): second-order gradients of "
                            "while loops are not supported",
                            TFD_STR_ARG(node_at(l, i)->name));
    return TFD_OK;
}

static void find_exits(struct tfd_gradient_loop *l)
{
    for (int32_t i = 0; i < l->count; i++) {
        const struct tfd_node *n = node_at(l, i);
        struct tfd_gradient_variable *v;

        if (n->op->flags & TFD_OP_EXIT &&
            (v = tfd_gradient_loop_variable(l, n)) != NULL)
            v->exit = i;
    }
}

struct tfd_gradient_variable *
tfd_gradient_loop_variable(const struct tfd_gradient_loop *l,
                           const struct tfd_node *exit)
{
    for (int32_t i = 0; i < l->variable_count; i++)
        if (l->variables[i].switched == exit->in[0].node)
            return &l->variables[i];
    return NULL;
}

static enum tfd_code describe_loop(struct tfd_gradient_loop *l, size_t count,
                                   struct tfd_status *st)
{
    l->variables = tfd_arena_array(l->arena, count, sizeof(*l->variables));
    l->invariants = tfd_arena_array(l->arena, count, sizeof(*l->invariants));
    l->depth = tfd_arena_array(l->arena, count, sizeof(*l->depth));
    l->branch = tfd_arena_array(l->arena, count, sizeof(*l->branch));
    TFD_TRY(tfd_arena_check(
        l->variables && l->invariants && l->depth ? l->branch : NULL,
        "gradients of a loop", st));
    TFD_TRY(find_variables(l, st));
    for (int32_t i = 0; i < l->count; i++)
        find_depth(l, node_at(l, i));
    TFD_TRY(check_order(l, st));
    find_exits(l);
    l->ends = tfd_arena_array(
        l->arena, (size_t)(l->variable_count + l->invariant_count) + 1,
        sizeof(*l->ends));
    return tfd_arena_check(l->ends, "gradients of a loop", st);
}

enum tfd_code tfd_gradient_loop_new(struct tfd_gradient_builder *b,
                                    struct tfd_arena *arena, int32_t count,
                                    const struct tfd_node *exit,
                                    struct tfd_gradient_loop **out,
                                    struct tfd_status *st)
{
    struct tfd_gradient_loop *l = tfd_arena_alloc(arena, sizeof(*l));
    const struct tfd_node *switched;

    TFD_TRY(tfd_arena_check(l, "gradients of a loop", st));
    l->b = b;
    l->arena = arena;
    l->count = count;
    tfd_bytes_init(&l->pushes, LIST_MAX);
    tfd_bytes_init(&l->pops, LIST_MAX);
    if (!has_flag(l, exit->in[0], TFD_OP_SWITCH))
        return refuse_node(l, exit, st);
    switched = node_at(l, exit->in[0].node);
    if (!is_loop_switch(l, switched) || exit->in[0].output != 0)
        return refuse_node(l, exit, st);
    l->cond = switched->in[1].node;
    *out = l;
    return describe_loop(l, (size_t)count, st);
}

void tfd_gradient_loop_deinit(struct tfd_gradient_loop *l)
{
    tfd_id_map_deinit(&l->captured);
    tfd_bytes_deinit(&l->pushes);
    tfd_bytes_deinit(&l->pops);
}

/* ---- New loop variables -------------------------------------------------- */

struct cycle {
    struct tfd_node *merge;
    struct tfd_edge value; /* in the body */
    struct tfd_edge exit;
};

static enum tfd_code one(struct tfd_gradient_loop *l, const char *op,
                         const struct tfd_edge *in, int in_count,
                         struct tfd_edge *out, struct tfd_status *st)
{
    struct tfd_node *added;

    TFD_TRY(
        tfd_gradient_add(l->b, op, in, in_count, NULL, 0, NULL, 0, &added, st));
    *out = (struct tfd_edge){added->id, 0};
    return TFD_OK;
}

static enum tfd_code begin_cycle(struct tfd_gradient_loop *l,
                                 struct tfd_edge first, struct tfd_str frame,
                                 struct cycle *c, struct tfd_status *st)
{
    struct tfd_edge in[2] = {TFD_EDGE_NONE, TFD_EDGE_NONE};

    TFD_TRY(tfd_gradient_loop_enter(l, first, frame, false, &in[0], st));
    return tfd_gradient_add(l->b, "Merge", in, 2, NULL, 0, NULL, 0, &c->merge,
                            st);
}

static enum tfd_code switch_cycle(struct tfd_gradient_loop *l,
                                  struct tfd_edge cond, struct cycle *c,
                                  struct tfd_status *st)
{
    struct tfd_edge in[2] = {{c->merge->id, 0}, cond}, ends[2];

    TFD_TRY(one(l, "Switch", in, 2, &ends[0], st));
    ends[1] = (struct tfd_edge){ends[0].node, 1};
    TFD_TRY(one(l, "Identity", &ends[1], 1, &c->value, st));
    return one(l, "Exit", &ends[0], 1, &c->exit, st);
}

static enum tfd_code close_cycle(struct tfd_gradient_loop *l,
                                 const struct cycle *c, struct tfd_edge next,
                                 struct tfd_status *st)
{
    struct tfd_edge back;

    TFD_TRY(one(l, "NextIteration", &next, 1, &back, st));
    return tfd_graph_set_input(l->b->request->host->graph, c->merge, 1, back,
                               st);
}

/* ---- Counters ------------------------------------------------------------ */

static enum tfd_code count_forward(struct tfd_gradient_loop *l, struct cycle *c,
                                   struct tfd_status *st)
{
    struct tfd_edge zero;

    TFD_TRY(tfd_gradient_loop_int(l, 0, -1, &zero, st));
    TFD_TRY(begin_cycle(l, zero, l->frame, c, st));
    TFD_TRY(switch_cycle(l, (struct tfd_edge){l->cond, 0}, c, st));
    l->forward_iteration = c->value.node;
    return TFD_OK;
}

static enum tfd_code count_backward(struct tfd_gradient_loop *l,
                                    struct tfd_edge count, struct cycle *c,
                                    struct tfd_edge *cond,
                                    struct tfd_status *st)
{
    struct tfd_edge in[2], positive;

    TFD_TRY(begin_cycle(l, count, l->backward, c, st));
    in[0] = (struct tfd_edge){c->merge->id, 0};
    TFD_TRY(tfd_gradient_loop_int(l, 0, c->merge->id, &in[1], st));
    TFD_TRY(one(l, "Greater", in, 2, &positive, st));
    TFD_TRY(one(l, "LoopCond", &positive, 1, cond, st));
    TFD_TRY(switch_cycle(l, *cond, c, st));
    l->iteration = c->value.node;
    return TFD_OK;
}

static enum tfd_code step_counter(struct tfd_gradient_loop *l,
                                  const struct cycle *c, const char *op,
                                  const struct tfd_bytes *after,
                                  struct tfd_status *st)
{
    struct tfd_edge in[2] = {c->value, TFD_EDGE_NONE};
    struct tfd_node *added;

    TFD_TRY(tfd_gradient_loop_int(l, 1, c->value.node, &in[1], st));
    TFD_TRY(tfd_gradient_add(l->b, op, in, 2, NULL, 0,
                             (const int32_t *)(const void *)after->data,
                             (int)(after->size / sizeof(int32_t)), &added, st));
    return close_cycle(l, c, (struct tfd_edge){added->id, 0}, st);
}

/* ---- The body ------------------------------------------------------------ */

/* What the body is derived by: variables that have derivatives, then
 * invariants. */
struct body {
    struct tfd_gradient_variable **variables;
    int32_t variable_count, count;
    struct cycle *cycles; /* of the variables */
    struct tfd_edge *y, *dy, *x, *dx;
};

static enum tfd_code new_body(struct tfd_gradient_loop *l, struct body *body,
                              struct tfd_status *st)
{
    size_t n = (size_t)(l->variable_count + l->invariant_count) + 1;

    body->variables = tfd_arena_array(l->arena, n, sizeof(void *));
    body->cycles = tfd_arena_array(l->arena, n, sizeof(*body->cycles));
    body->y = tfd_arena_array(l->arena, n * 4, sizeof(*body->y));
    TFD_TRY(tfd_arena_check(body->variables && body->cycles ? body->y : NULL,
                            "gradients", st));
    body->dy = body->y + n;
    body->x = body->dy + n;
    body->dx = body->x + n;
    for (int32_t i = 0; i < l->variable_count; i++) {
        struct tfd_gradient_variable *v = &l->variables[i];
        struct tfd_edge x = {v->switched, 1};
        enum tfd_dtype type = tfd_gradient_type(graph_of(l), x);

        if (!l->needed[v->switched] || type == TFD_RESOURCE ||
            !tfd_gradient_has_derivative(type))
            continue;
        body->y[body->count] = node_at(l, v->next)->in[0];
        body->x[body->count] = x;
        body->variables[body->count++] = v;
    }
    body->variable_count = body->count;
    for (int32_t i = 0; i < l->invariant_count; i++)
        if (l->needed[l->invariants[i]])
            body->x[body->count++] = (struct tfd_edge){l->invariants[i], 0};
    return TFD_OK;
}

/* dy, or zeros in the shape of what comes out of the loop. */
static enum tfd_code first_gradient(struct tfd_gradient_loop *l,
                                    const struct tfd_gradient_variable *v,
                                    struct tfd_edge *out, struct tfd_status *st)
{
    struct tfd_edge end = {v->switched, 0}, exit = {v->exit, 0};

    *out = v->dy;
    if (v->dy.node >= 0)
        return TFD_OK;
    if (v->exit < 0)
        TFD_TRY(one(l, "Exit", &end, 1, &exit, st));
    return one(l, "ZerosLike", &exit, 1, out, st);
}

static enum tfd_code enter_body(struct tfd_gradient_loop *l, struct body *body,
                                struct tfd_edge cond, struct tfd_status *st)
{
    for (int32_t i = 0; i < body->variable_count; i++) {
        struct cycle *c = &body->cycles[i];
        struct tfd_edge first;

        TFD_TRY(first_gradient(l, body->variables[i], &first, st));
        TFD_TRY(begin_cycle(l, first, l->backward, c, st));
        TFD_TRY(switch_cycle(l, cond, c, st));
        body->dy[i] = c->value;
    }
    return TFD_OK;
}

static void end_at(struct tfd_gradient_loop *l, int32_t enter,
                   struct tfd_edge gradient)
{
    l->ends[l->end_count++] =
        (struct tfd_gradient_end){node_at(l, enter)->in[0], gradient};
}

static enum tfd_code leave_body(struct tfd_gradient_loop *l, struct body *body,
                                struct tfd_status *st)
{
    struct tfd_grad grad = {.graph = l->b->request->host->graph,
                            .builder = l->b};

    for (int32_t i = 0; i < body->variable_count; i++) {
        struct tfd_edge next;

        TFD_TRY(tfd_gradient_loop_input(l->b, body->dx[i], &next, st));
        if (next.node < 0)
            TFD_TRY(
                tfd_grad_emit(&grad, "ZerosLike", &body->x[i], 1, &next, st));
        TFD_TRY(close_cycle(l, &body->cycles[i], next, st));
        end_at(l, body->variables[i]->enter, body->cycles[i].exit);
    }
    return TFD_OK;
}

/* ---- Invariants ---------------------------------------------------------- */

static enum tfd_code zeros_of(struct tfd_gradient_loop *l, struct tfd_edge e,
                              enum tfd_dtype type, struct tfd_edge *out,
                              struct tfd_status *st)
{
    struct tfd_attr dtype = {TFD_STR("dtype"), TFD_STR_EMPTY};
    struct tfd_node *read;
    struct tfd_bytes text;
    enum tfd_code rc;

    if (tfd_gradient_type(graph_of(l), e) != TFD_RESOURCE)
        return one(l, "ZerosLike", &e, 1, out, st);
    tfd_bytes_init(&text, TFD_ATTR_SIZE_MAX);
    tfd_attr_put_type(&text, (int)type);
    dtype.value = tfd_bytes_view(&text);
    rc = tfd_bytes_ok(&text, "an attribute", st);
    if (rc == TFD_OK)
        rc = tfd_gradient_add(l->b, "ReadVariableOp", &e, 1, &dtype, 1, NULL, 0,
                              &read, st);
    tfd_bytes_deinit(&text);
    if (rc != TFD_OK)
        return rc;
    e = (struct tfd_edge){read->id, 0};
    return one(l, "ZerosLike", &e, 1, out, st);
}

/* The sum over the iterations. */
static enum tfd_code sum_invariants(struct tfd_gradient_loop *l,
                                    const struct body *body,
                                    struct tfd_edge cond, struct tfd_status *st)
{
    for (int32_t i = body->variable_count; i < body->count; i++) {
        int32_t enter = body->x[i].node;
        struct tfd_edge first, terms[2], next;
        struct cycle c;

        if (body->dx[i].node < 0)
            continue;
        TFD_TRY(tfd_gradient_loop_input(l->b, body->dx[i], &terms[1], st));
        TFD_TRY(zeros_of(l, node_at(l, enter)->in[0],
                         tfd_gradient_type(graph_of(l), terms[1]), &first, st));
        TFD_TRY(begin_cycle(l, first, l->backward, &c, st));
        TFD_TRY(switch_cycle(l, cond, &c, st));
        terms[0] = c.value;
        TFD_TRY(one(l, "AddN", terms, 2, &next, st));
        TFD_TRY(close_cycle(l, &c, next, st));
        end_at(l, enter, c.exit);
    }
    return TFD_OK;
}

/* ---- All ----------------------------------------------------------------- */

static enum tfd_code name_it(struct tfd_gradient_loop *l, struct tfd_status *st)
{
    struct tfd_bytes *scope = &l->b->scope;

    tfd_bytes_clear(scope);
    tfd_bytes_add_str(scope, l->b->request->prefix);
    tfd_bytes_add(scope, "/", 1);
    tfd_bytes_add_str(scope, node_at(l, l->cond)->name);
    tfd_bytes_add_str(scope, TFD_STR("_grad"));
    TFD_TRY(tfd_bytes_ok(scope, "the name of a gradient", st));
    l->backward = tfd_arena_str(l->arena, tfd_bytes_view(scope));
    return tfd_arena_check(l->backward.data, "gradients", st);
}

static enum tfd_code derive_body(struct tfd_gradient_loop *l, struct body *body,
                                 struct tfd_status *st)
{
    const struct tfd_gradients r = {
        .host = l->b->request->host,
        .prefix = l->b->request->prefix,
        .device = l->b->request->device,
        .y = body->y,
        .y_count = body->variable_count,
        .dy = body->dy,
        .x = body->x,
        .x_count = body->count,
        .dx = body->dx,
    };

    TFD_TRY(tfd_gradient_walk_body(l->b, &r, l->count, st));
    TFD_TRY(name_it(l, st));
    return leave_body(l, body, st);
}

enum tfd_code tfd_gradient_loop_derive(struct tfd_gradient_loop *l,
                                       struct tfd_status *st)
{
    struct body body = {0};
    struct cycle forward, backward;
    struct tfd_edge cond;
    enum tfd_code rc;

    TFD_TRY(new_body(l, &body, st));
    TFD_TRY(name_it(l, st));
    TFD_TRY(count_forward(l, &forward, st));
    TFD_TRY(count_backward(l, forward.exit, &backward, &cond, st));
    TFD_TRY(enter_body(l, &body, cond, st));
    l->b->loop = l;
    rc = derive_body(l, &body, st);
    if (rc == TFD_OK)
        rc = sum_invariants(l, &body, cond, st);
    l->b->loop = NULL;
    TFD_TRY(rc);
    TFD_TRY(step_counter(l, &forward, "Add", &l->pushes, st));
    return step_counter(l, &backward, "Sub", &l->pops, st);
}
