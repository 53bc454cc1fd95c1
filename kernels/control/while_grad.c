/*
 * while_grad.c - see while_grad.h.
 *
 * The loop runs once more, keeping in lists what its variables were; then a
 * second loop goes back through these.  Both are made of Enter, Merge, Switch
 * and NextIteration, and call the loop's functions.
 *
 *     forward    v -> body -> v          v -> TensorListPushBack -> list
 *                0 -> + 1 -> count
 *     backward   list -> TensorListPopBack -> v
 *                dy -> the gradient of body (v, dy) -> dy
 *                count -> - 1 -> 0
 *
 * Body's nodes are added where they can be (added_body.h), else it is called
 * and its gradient is a SymbolicGradient.
 *
 * What body passes on unchanged, as all handles of resources, is no variable
 * but an invariant: it enters both loops as it is.  What arrives at it adds up,
 * as body's gradient adds to what arrived at the result that it passes on; at a
 * variable's handle nothing arrives, and what body gives is added here.
 */
#include "kernels/control/while_grad.h"
#include "kernels/control/added_body.h"

#include "common/base/arena.h"
#include "config/limits.h"
#include "kernels/core/gradient.h"
#include "kernels/core/gradient_call.h"
#include "kernels/core/gradient_walk.h"

/* A value that goes around. */
struct cycle {
    struct tfd_edge merged, value, exit;
};

struct loop_value {
    bool invariant, derived;
    bool variable; /* a handle, and its variable is read and derived */
    struct cycle forward, list, backward;
    struct tfd_edge list_exit; /* of the forward loop */
};

struct looping {
    struct tfd_gradient b;
    struct tfd_arena arena;
    struct tfd_func f[2]; /* cond, body */
    struct tfd_map nodes; /* of body, by their names */
    const char *call;     /* the op that calls them */
    int32_t count;
    struct loop_value *values;
    struct tfd_edge *in, *out; /* of calls */
    int *types;                /* of what body's gradient gives, by argument */
    struct tfd_str frame;      /* of the loop at hand */
    struct tfd_edge zero, one, any_shape; /* outside of both loops */
    struct tfd_edge iterations;
};

static const char *const no_attrs[] = {NULL};

/* ---- Loops --------------------------------------------------------------- */

static struct tfd_edge enter(struct looping *x, struct tfd_edge in,
                             bool constant)
{
    struct tfd_attr attrs[3];
    struct tfd_edge out = TFD_EDGE_NONE;
    size_t first, second, parallel;
    struct tfd_bytes text;

    if (x->b.code != TFD_OK)
        return out;
    tfd_bytes_init(&text, 4 * TFD_NAME_SIZE_MAX);
    tfd_attr_put_str(&text, x->frame);
    first = text.size;
    tfd_attr_put_bool(&text, constant);
    second = text.size;
    (void)tfd_node_attr(x->b.g->node, "parallel_iterations", &attrs[2].value);
    tfd_bytes_add_str(&text, attrs[2].value);
    parallel = text.size;
    attrs[0] = (struct tfd_attr){TFD_STR("frame_name"), {text.data, first}};
    attrs[1] = (struct tfd_attr){TFD_STR("is_constant"),
                                 {text.data + first, second - first}};
    attrs[2] = (struct tfd_attr){TFD_STR("parallel_iterations"),
                                 {text.data + second, parallel - second}};
    x->b.code = tfd_bytes_ok(&text, "attributes of a loop", x->b.st);
    if (x->b.code == TFD_OK)
        x->b.code = tfd_grad_emit_attrs(x->b.g, "Enter", &in, 1, attrs, 3, &out,
                                        1, x->b.st);
    tfd_bytes_deinit(&text);
    return out;
}

static void begin_cycle(struct looping *x, struct tfd_edge first,
                        struct cycle *c)
{
    const struct tfd_edge in[] = {enter(x, first, false), TFD_EDGE_NONE};
    struct tfd_edge out[2];

    tfd_gradient_copying(&x->b, "Merge", in, 2, no_attrs, out, 2);
    c->merged = out[0];
}

static void switch_cycle(struct looping *x, struct tfd_edge cond,
                         struct cycle *c)
{
    const struct tfd_edge in[] = {c->merged, cond};
    struct tfd_edge out[2];

    tfd_gradient_copying(&x->b, "Switch", in, 2, no_attrs, out, 2);
    c->exit = tfd_gradient_op1(&x->b, "Exit", out[0]);
    c->value = tfd_gradient_op1(&x->b, "Identity", out[1]);
}

static void close_cycle(struct looping *x, const struct cycle *c,
                        struct tfd_edge next)
{
    struct tfd_graph *g = x->b.g->graph;
    const struct tfd_edge back = tfd_gradient_op1(&x->b, "NextIteration", next);

    if (x->b.code == TFD_OK)
        x->b.code =
            tfd_graph_set_input(g, g->nodes[c->merged.node], 1, back, x->b.st);
}

/* "gradients/while_grad/forward". */
static void name_frame(struct looping *x, const char *which)
{
    const struct tfd_gradient_builder *builder = x->b.g->builder;
    struct tfd_bytes text;

    if (x->b.code != TFD_OK)
        return;
    tfd_bytes_init(&text, 4 * TFD_NAME_SIZE_MAX);
    tfd_bytes_add_str(&text, tfd_bytes_view(&builder->scope));
    tfd_bytes_printf(&text, "/%s", which);
    x->b.code = tfd_bytes_ok(&text, "a loop's name", x->b.st);
    if (x->b.code == TFD_OK)
        x->frame = tfd_arena_str(&x->arena, tfd_bytes_view(&text));
    if (x->b.code == TFD_OK)
        x->b.code = tfd_arena_check(x->frame.data, "a loop's name", x->b.st);
    tfd_bytes_deinit(&text);
}

/* ---- What goes around ---------------------------------------------------- */

/* Body's nodes by their names. */
static enum tfd_code note_nodes(struct looping *x)
{
    const struct tfd_function *f =
        tfd_function_find(x->b.g->graph, x->f[1].name);

    for (int32_t i = f ? f->node_count - 1 : -1; i >= 0; i--)
        if (!tfd_map_put(&x->nodes, f->nodes[i].name, (uintptr_t)&f->nodes[i]))
            return tfd_fail(x->b.st, TFD_RESOURCE_EXHAUSTED,
                            "no memory for the names of %d nodes",
                            f->node_count);
    return TFD_OK;
}

/* "identity:output:0" is what the Identity reads. */
static struct tfd_str through_identity(const struct looping *x,
                                       struct tfd_str tensor)
{
    const struct tfd_str end = TFD_STR(":output:0");
    const struct tfd_function_node *n;
    uintptr_t found = 0;

    if (tensor.size <= end.size ||
        !tfd_str_eq(
            (struct tfd_str){tensor.data + tensor.size - end.size, end.size},
            end))
        return tensor;
    (void)tfd_map_get(&x->nodes,
                      (struct tfd_str){tensor.data, tensor.size - end.size},
                      &found);
    n = (const struct tfd_function_node *)found;
    return n && tfd_str_is(n->op, "Identity") && n->in_count == 1 ? n->in[0]
                                                                  : tensor;
}

/* Body gives its argument i as result i.  Lists of arguments are not looked
 * into: what they have are variables. */
static bool is_passed_on(const struct looping *x, int32_t i)
{
    const struct tfd_function *body =
        tfd_function_find(x->b.g->graph, x->f[1].name);

    return body && body->op.in_count == x->count &&
           body->op.out_count == x->count &&
           tfd_str_eq(through_identity(x, body->ret[i]), body->op.in[i].name);
}

static enum tfd_code find_values(struct looping *x)
{
    const struct tfd_grad *g = x->b.g;
    size_t count = (size_t)x->count + 1;

    x->values = tfd_arena_array(&x->arena, count, sizeof(*x->values));
    x->in = tfd_arena_array(&x->arena, 2 * count, sizeof(*x->in));
    x->out = tfd_arena_array(&x->arena, count, sizeof(*x->out));
    x->types = tfd_arena_array(&x->arena, count, sizeof(*x->types));
    TFD_TRY(tfd_arena_check(x->values && x->in && x->types ? x->out : NULL,
                            "the gradient of a loop", x->b.st));
    TFD_TRY(note_nodes(x));
    for (int32_t i = 0; i < x->count; i++)
        x->types[i] = TFD_RESOURCE;
    TFD_TRY(tfd_gradient_types(x->b.g, &x->f[1], g->x, x->count, x->types,
                               x->b.st));
    for (int32_t i = 0; i < x->count; i++) {
        struct loop_value *v = &x->values[i];
        const bool handle = tfd_gradient_dtype(&x->b, g->x[i]) == TFD_RESOURCE;

        v->invariant = handle || is_passed_on(x, i);
        v->derived = x->types[i] != TFD_RESOURCE &&
                     tfd_gradient_has_derivative((enum tfd_dtype)x->types[i]);
        v->variable = handle && v->derived;
    }
    return TFD_OK;
}

static void make_constants(struct looping *x)
{
    const int32_t values[] = {0, 1, -1};

    x->zero = tfd_gradient_ints(&x->b, &values[0], -1);
    x->one = tfd_gradient_ints(&x->b, &values[1], -1);
    x->any_shape = tfd_gradient_ints(&x->b, &values[2], -1);
}

/* ---- Forward ------------------------------------------------------------- */

static struct tfd_edge empty_list(struct looping *x, enum tfd_dtype type)
{
    const struct tfd_gradient_attr attrs[] = {{"element_dtype", 't', type},
                                              {NULL, 0, 0}};
    const struct tfd_edge in[] = {x->any_shape, x->any_shape};
    struct tfd_edge out;

    tfd_gradient_with(&x->b, "EmptyTensorList", in, 2, attrs, &out, 1);
    return out;
}

/* A bool where cond's signature does not say. */
static enum tfd_dtype type_of_cond(const struct looping *x)
{
    const struct tfd_function *cond =
        tfd_function_find(x->b.g->graph, x->f[0].name);
    struct tfd_node n = {.attrs = x->f[0].attrs,
                         .attr_count = x->f[0].attr_count};
    enum tfd_dtype type = TFD_BOOL;

    if (!cond || cond->op.out_count != 1 || cond->op.out[0].list_attr >= 0)
        return type;
    if (cond->op.out[0].type_attr < 0)
        return cond->op.out[0].dtype;
    n.name = cond->op.name;
    n.op = &cond->op;
    return tfd_node_type(&n,
                         cond->op.attrs[cond->op.out[0].type_attr].name.data,
                         &type, NULL) == TFD_OK
               ? type
               : TFD_BOOL;
}

static struct tfd_edge ask(struct looping *x)
{
    const int type = (int)type_of_cond(x);
    struct tfd_edge truth = TFD_EDGE_NONE;

    for (int32_t i = 0; i < x->count; i++)
        x->in[i] = x->values[i].forward.merged;
    if (x->b.code == TFD_OK)
        x->b.code = tfd_gradient_call(x->b.g, x->call, &x->f[0], x->in,
                                      x->count, &type, &truth, 1, x->b.st);
    if (type != TFD_BOOL)
        truth = tfd_gradient_op1(&x->b, "ToBool", truth);
    return tfd_gradient_op1(&x->b, "LoopCond", truth);
}

static void begin_forward(struct looping *x, struct cycle *counter)
{
    begin_cycle(x, x->zero, counter);
    for (int32_t i = 0; i < x->count; i++) {
        struct loop_value *v = &x->values[i];
        const struct tfd_edge first = x->b.g->x[i];

        if (v->invariant) {
            v->forward.merged = v->forward.value = enter(x, first, true);
            continue;
        }
        begin_cycle(x, first, &v->forward);
        if (x->b.code == TFD_OK)
            begin_cycle(x, empty_list(x, tfd_gradient_dtype(&x->b, first)),
                        &v->list);
    }
}

static void keep_values(struct looping *x, struct tfd_edge cond)
{
    for (int32_t i = 0; i < x->count; i++) {
        struct loop_value *v = &x->values[i];

        if (v->invariant)
            continue;
        switch_cycle(x, cond, &v->forward);
        switch_cycle(x, cond, &v->list);
        v->list_exit = v->list.exit;
        close_cycle(x, &v->list,
                    tfd_gradient_op2(&x->b, "TensorListPushBack", v->list.value,
                                     v->forward.value));
    }
}

static enum tfd_code call_body(struct looping *x, int32_t anchor)
{
    const struct tfd_added_body body = {x->b.g, &x->f[1], anchor, &x->arena};
    int *types = tfd_arena_array(&x->arena, (size_t)x->count + 1, sizeof(int));
    bool done;

    TFD_TRY(tfd_arena_check(types, "the gradient of a loop", x->b.st));
    TFD_TRY(x->b.code);
    for (int32_t i = 0; i < x->count; i++) {
        types[i] = (int)tfd_gradient_dtype(&x->b, x->b.g->x[i]);
        x->in[i] = x->values[i].forward.value;
    }
    TFD_TRY(tfd_added_body_add(&body, x->in, x->count, x->out, x->count, &done,
                               x->b.st));
    return done ? TFD_OK
                : tfd_gradient_call(x->b.g, x->call, &x->f[1], x->in, x->count,
                                    types, x->out, x->count, x->b.st);
}

static void go_forward(struct looping *x)
{
    struct cycle counter;
    struct tfd_edge cond;

    name_frame(x, "forward");
    begin_forward(x, &counter);
    cond = ask(x);
    switch_cycle(x, cond, &counter);
    keep_values(x, cond);
    if (x->b.code == TFD_OK)
        x->b.code = call_body(x, counter.value.node);
    for (int32_t i = 0; i < x->count; i++)
        if (!x->values[i].invariant)
            close_cycle(x, &x->values[i].forward, x->out[i]);
    close_cycle(x, &counter,
                tfd_gradient_op2(&x->b, "AddV2", counter.value,
                                 enter(x, x->one, true)));
    x->iterations = counter.exit;
}

/* ---- Backward ------------------------------------------------------------ */

/* Zeros in the shape of the variable. */
static struct tfd_edge no_gradient_yet(struct looping *x, int32_t i)
{
    const struct tfd_gradient_attr attrs[] = {{"dtype", 't', x->types[i]},
                                              {NULL, 0, 0}};
    struct tfd_edge value;

    tfd_gradient_with(&x->b, "ReadVariableOp", &x->b.g->x[i], 1, attrs, &value,
                      1);
    return tfd_gradient_op1(&x->b, "ZerosLike", value);
}

static void begin_backward(struct looping *x, struct cycle *counter)
{
    begin_cycle(x, x->iterations, counter);
    for (int32_t i = 0; i < x->count; i++) {
        struct loop_value *v = &x->values[i];

        if (!v->invariant)
            begin_cycle(x, v->list_exit, &v->list);
        if (v->variable)
            begin_cycle(x, no_gradient_yet(x, i), &v->backward);
        else if (v->derived)
            begin_cycle(x, tfd_gradient_given(&x->b, i), &v->backward);
    }
}

/* What a value was in the iteration at hand. */
static struct tfd_edge was(struct looping *x, int32_t i, struct tfd_edge shape)
{
    struct loop_value *v = &x->values[i];
    const struct tfd_edge in[] = {v->list.value, shape};
    struct tfd_gradient_attr attrs[] = {{"element_dtype", 't', 0},
                                        {NULL, 0, 0}};
    struct tfd_edge out[2] = {TFD_EDGE_NONE, TFD_EDGE_NONE};

    if (v->invariant)
        return enter(x, x->b.g->x[i], true);
    if (x->b.code != TFD_OK)
        return out[1];
    attrs[0].value = tfd_gradient_dtype(&x->b, x->b.g->x[i]);
    tfd_gradient_with(&x->b, "TensorListPopBack", in, 2, attrs, out, 2);
    close_cycle(x, &v->list, out[0]);
    return out[1];
}

static struct tfd_edge sum(struct looping *x, struct tfd_edge a,
                           struct tfd_edge b)
{
    const struct tfd_edge in[] = {a, b};

    return tfd_gradient_op(&x->b, "AddN", in, 2);
}

/* x->in: what body's arguments were. */
static enum tfd_code call_gradient(struct looping *x, int32_t anchor)
{
    const struct tfd_added_body body = {x->b.g, &x->f[1], anchor, &x->arena};
    struct tfd_edge *dy = x->in + x->count;
    bool done;

    for (int32_t i = 0; i < x->count; i++) {
        const struct loop_value *v = &x->values[i];

        dy[i] = v->derived && !v->variable ? v->backward.value : TFD_EDGE_NONE;
    }
    TFD_TRY(tfd_added_body_derive(&body, x->in, dy, x->count, x->out, &done,
                                  x->b.st));
    if (done)
        return TFD_OK;
    for (int32_t i = 0; i < x->count; i++)
        if (dy[i].node < 0)
            dy[i] = x->in[i]; /* which is left aside */
    return tfd_gradient_symbolic(x->b.g, &x->f[1], x->in, x->count, x->count,
                                 x->types, x->out, x->b.st);
}

/* Of value i, once more around: nothing of what body does not read. */
static struct tfd_edge next_gradient(struct looping *x, int32_t i)
{
    const struct loop_value *v = &x->values[i];

    if (v->variable)
        return x->out[i].node < 0 ? v->backward.value
                                  : sum(x, v->backward.value, x->out[i]);
    return x->out[i].node < 0 ? tfd_gradient_op1(&x->b, "ZerosLike", x->in[i])
                              : x->out[i];
}

static void derive_body(struct looping *x, struct tfd_edge cond, int32_t anchor)
{
    const struct tfd_edge shape = enter(x, x->any_shape, true);

    for (int32_t i = 0; i < x->count; i++) {
        struct loop_value *v = &x->values[i];

        if (!v->invariant)
            switch_cycle(x, cond, &v->list);
        if (v->derived)
            switch_cycle(x, cond, &v->backward);
        x->in[i] = was(x, i, shape);
    }
    if (x->b.code == TFD_OK)
        x->b.code = call_gradient(x, anchor);
    for (int32_t i = 0; i < x->count && x->b.code == TFD_OK; i++) {
        const struct loop_value *v = &x->values[i];

        if (!v->derived)
            continue;
        close_cycle(x, &v->backward, next_gradient(x, i));
        x->b.g->dx[i] = v->backward.exit;
    }
}

static void go_backward(struct looping *x)
{
    struct tfd_edge cond, one;
    struct cycle counter;

    name_frame(x, "backward");
    begin_backward(x, &counter);
    cond = tfd_gradient_op2(&x->b, "Greater", counter.merged,
                            enter(x, x->zero, true));
    cond = tfd_gradient_op1(&x->b, "LoopCond", cond);
    switch_cycle(x, cond, &counter);
    derive_body(x, cond, counter.value.node);
    one = enter(x, x->one, true);
    close_cycle(x, &counter,
                tfd_gradient_op2(&x->b, "Sub", counter.value, one));
}

/* ---- All ----------------------------------------------------------------- */

static enum tfd_code derive_loop(struct looping *x, struct tfd_status *st)
{
    const struct tfd_node *n = x->b.g->node;

    TFD_TRY(tfd_node_func(n, "cond", &x->arena, &x->f[0], st));
    TFD_TRY(tfd_node_func(n, "body", &x->arena, &x->f[1], st));
    TFD_TRY(tfd_while_check_again(x->b.g->graph, n, x->f, 2, &x->arena, st));
    TFD_TRY(find_values(x));
    make_constants(x);
    go_forward(x);
    go_backward(x);
    return x->b.code;
}

enum tfd_code tfd_while_gradient(struct tfd_grad *g, struct tfd_status *st)
{
    struct looping x = {
        .b = tfd_gradient_begin(g, st),
        .call = g->node->op->flags & TFD_OP_STATEFUL ? "StatefulPartitionedCall"
                                                     : "PartitionedCall",
        .count = g->node->in_count,
    };
    enum tfd_code rc;

    tfd_arena_init(&x.arena, (size_t)TFD_GRAPH_SIZE_MAX);
    tfd_map_init(&x.nodes);
    rc = derive_loop(&x, st);
    tfd_map_deinit(&x.nodes);
    tfd_arena_deinit(&x.arena);
    return rc;
}
