/*
 * added_body.c - see added_body.h.
 *
 * Nodes of a body stand in any order: a stack of those that wait for one of
 * their inputs gives each after what it reads, without recursion.  Then the
 * walk goes from the results to the arguments, each an Identity of its own, as
 * it would through any other nodes; within it no body is added, so it does not
 * come here again.
 */
#include "kernels/control/added_body.h"

#include "common/graph/function_body.h"
#include "config/limits.h"
#include "kernels/core/gradient_walk.h"

#define FLOW                                                     \
    (TFD_OP_SWITCH | TFD_OP_MERGE | TFD_OP_ENTER | TFD_OP_EXIT | \
     TFD_OP_NEXT_ITERATION)

struct adding {
    const struct tfd_added_body *b;
    struct tfd_body body;
    const struct tfd_edge *in;
    int32_t *made;           /* by node of the body: the node added, or -1 */
    int32_t *stack, *cursor; /* cursor: by node, the next input to look at */
    bool *waits;             /* by node: it is on the stack */
    struct tfd_status *st;
};

/* ---- One node ------------------------------------------------------------ */

static struct tfd_edge input_of(const struct adding *a, struct tfd_edge e)
{
    if (a->body.nodes[e.node].arg >= 0)
        return a->in[a->body.nodes[e.node].arg];
    return (struct tfd_edge){a->made[e.node], e.output};
}

/* Names of other nodes of the body are not those of the nodes added. */
static int32_t copy_attrs(const struct tfd_node *n, struct tfd_attr *attrs)
{
    int32_t count = 0;

    for (int32_t i = 0; i < n->attr_count; i++)
        if (!tfd_str_is(n->attrs[i].name, "_class"))
            attrs[count++] = n->attrs[i];
    return count;
}

static enum tfd_code add_node(struct adding *a, int32_t id)
{
    const struct tfd_node *n = &a->body.nodes[id].node;
    const size_t ins = (size_t)n->in_count, controls = (size_t)n->control_count;
    struct tfd_edge *in = tfd_arena_array(a->b->arena, ins + 1, sizeof(*in));
    int32_t *control =
        tfd_arena_array(a->b->arena, controls + 1, sizeof(*control));
    struct tfd_attr *attrs =
        tfd_arena_array(a->b->arena, (size_t)n->attr_count + 1, sizeof(*attrs));
    struct tfd_node_spec spec = {.op = n->op->name,
                                 .device = n->device,
                                 .in = in,
                                 .in_count = n->in_count,
                                 .control = control,
                                 .control_count = n->control_count,
                                 .attrs = attrs};
    struct tfd_node *added;

    TFD_TRY(tfd_arena_check(in && control ? attrs : NULL, "a function's body",
                            a->st));
    for (int32_t i = 0; i < n->in_count; i++)
        in[i] = input_of(a, n->in[i]);
    for (int32_t i = 0; i < n->control_count; i++)
        control[i] = input_of(a, (struct tfd_edge){n->control[i], 0}).node;
    if (ins + controls == 0)
        control[spec.control_count++] = a->b->anchor;
    spec.attr_count = copy_attrs(n, attrs);
    TFD_TRY(tfd_gradient_add_spec(a->b->g->builder, &spec, &added, a->st));
    a->made[id] = added->id;
    return TFD_OK;
}

/* ---- In order ------------------------------------------------------------ */

/* The next node that `id` reads and that is not there yet; -1: all are. */
static int32_t next_missing(struct adding *a, int32_t id)
{
    const struct tfd_node *n = &a->body.nodes[id].node;

    while (a->cursor[id] < n->in_count + n->control_count) {
        const int32_t at = a->cursor[id]++;
        const int32_t from =
            at < n->in_count ? n->in[at].node : n->control[at - n->in_count];

        if (a->body.nodes[from].arg < 0 && a->made[from] < 0)
            return from;
    }
    return -1;
}

static enum tfd_code fail_circle(const struct adding *a, int32_t id)
{
    return tfd_fail(
        a->st, TFD_INVALID_ARGUMENT,
        "'" TFD_STR_FMT "' of function " TFD_STR_FMT " reads what it gives",
        TFD_STR_ARG(a->body.nodes[id].node.name), TFD_STR_ARG(a->b->f->name));
}

static enum tfd_code add_with_inputs(struct adding *a, int32_t id)
{
    int32_t depth = 0;

    if (a->body.nodes[id].arg >= 0 || a->made[id] >= 0)
        return TFD_OK;
    a->stack[depth++] = id;
    a->waits[id] = true;
    while (depth > 0) {
        const int32_t top = a->stack[depth - 1], next = next_missing(a, top);

        if (next >= 0 && a->waits[next])
            return fail_circle(a, next);
        if (next >= 0) {
            a->stack[depth++] = next;
            a->waits[next] = true;
            continue;
        }
        TFD_TRY(add_node(a, top));
        depth--;
    }
    return TFD_OK;
}

static enum tfd_code make_arrays(struct adding *a)
{
    const size_t count = (size_t)a->body.count + 1;

    a->made = tfd_arena_array(a->b->arena, count, sizeof(*a->made));
    a->stack = tfd_arena_array(a->b->arena, count, sizeof(*a->stack));
    a->cursor = tfd_arena_array(a->b->arena, count, sizeof(*a->cursor));
    a->waits = tfd_arena_array(a->b->arena, count, sizeof(*a->waits));
    TFD_TRY(tfd_arena_check(a->made && a->stack && a->cursor ? a->waits : NULL,
                            "a function's body", a->st));
    for (int32_t i = 0; i < a->body.count; i++)
        a->made[i] = -1;
    return TFD_OK;
}

/* ---- All nodes ----------------------------------------------------------- */

static bool has_flow(const struct tfd_body *body)
{
    for (int32_t i = 0; i < body->count; i++)
        if (body->nodes[i].arg < 0 && body->nodes[i].node.op->flags & FLOW)
            return true;
    return false;
}

static bool may_add(const struct tfd_added_body *b)
{
    const struct tfd_gradient_builder *builder = b->g->builder;

    return builder->request->anchor == NULL &&
           tfd_function_find(b->g->graph, b->f->name) != NULL;
}

enum tfd_code tfd_added_body_add(const struct tfd_added_body *b,
                                 const struct tfd_edge *in, int32_t in_count,
                                 struct tfd_edge *out, int32_t out_count,
                                 bool *done, struct tfd_status *st)
{
    struct adding a = {.b = b, .in = in, .st = st};

    *done = false;
    if (!may_add(b))
        return TFD_OK;
    TFD_TRY(tfd_function_body(b->g->graph, b->f, b->arena, &a.body, st));
    if (a.body.arg_count != in_count || a.body.ret_count != out_count ||
        has_flow(&a.body))
        return TFD_OK;
    TFD_TRY(make_arrays(&a));
    for (int32_t i = 0; i < a.body.count; i++)
        TFD_TRY(add_with_inputs(&a, i));
    for (int32_t i = 0; i < out_count; i++)
        out[i] = input_of(&a, a.body.ret[i]);
    *done = true;
    return TFD_OK;
}

/* ---- What derives it ----------------------------------------------------- */

enum tfd_code tfd_added_body_walk(const struct tfd_added_body *b,
                                  const struct tfd_added_ends *ends,
                                  struct tfd_edge *dx, struct tfd_status *st)
{
    const struct tfd_gradient_builder *builder = b->g->builder;
    const size_t count = (size_t)ends->y_count;
    struct tfd_edge *y = tfd_arena_array(b->arena, 2 * count + 1, sizeof(*y));
    struct tfd_gradients r = {.host = builder->request->host,
                              .device = builder->request->device,
                              .anchor = &b->anchor,
                              .y = y,
                              .dy = y + count,
                              .x = ends->x,
                              .x_count = ends->x_count,
                              .dx = dx};

    TFD_TRY(tfd_arena_check(y, "a function's body", st));
    for (int32_t i = 0; i < ends->y_count; i++) {
        if (ends->dy[i].node < 0 || ends->y[i].node < 0)
            continue;
        y[r.y_count] = ends->y[i];
        y[count + (size_t)r.y_count++] = ends->dy[i];
    }
    r.prefix = tfd_arena_str(b->arena, tfd_bytes_view(&builder->scope));
    TFD_TRY(tfd_arena_check(r.prefix.data, "a gradient's name", st));
    return tfd_gradient_walk(&r, st);
}

enum tfd_code tfd_added_body_derive(const struct tfd_added_body *b,
                                    const struct tfd_edge *in,
                                    const struct tfd_edge *dy, int32_t count,
                                    struct tfd_edge *dx, bool *done,
                                    struct tfd_status *st)
{
    struct tfd_edge *x =
        tfd_arena_array(b->arena, 2 * (size_t)count + 1, sizeof(*x));
    const struct tfd_added_ends ends = {x + count, dy, count, x, count};

    *done = false;
    if (!may_add(b))
        return TFD_OK;
    TFD_TRY(tfd_arena_check(x, "a function's body", st));
    for (int32_t i = 0; i < count; i++)
        TFD_TRY(tfd_grad_emit(b->g, "Identity", &in[i], 1, &x[i], st));
    TFD_TRY(tfd_added_body_add(b, x, count, x + count, count, done, st));
    return *done ? tfd_added_body_walk(b, &ends, dx, st) : TFD_OK;
}
