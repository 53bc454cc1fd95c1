/*
 * gradient_capture.c - how the backward loop comes by what the forward loop
 * had: see gradient_loop.h.
 *
 *     a constant           the same one again, in each backward iteration
 *     an invariant         entered again
 *     all else             a stack per edge, made outside of both loops
 *
 * A push waits for the forward iteration, so that what belongs to the loop's
 * condition, which runs once more, is not pushed then.  The counters of both
 * loops wait for pushes and pops: an iteration's come before the next one's.
 */
#include "kernels/core/gradient_loop.h"

#include "config/limits.h"

static enum tfd_code one_output(struct tfd_gradient_loop *l, const char *op,
                                const struct tfd_edge *in, int in_count,
                                const struct tfd_attr *attrs, int attr_count,
                                int32_t control, struct tfd_edge *out,
                                struct tfd_status *st)
{
    struct tfd_node *added;

    TFD_TRY(tfd_gradient_add(l->b, op, in, in_count, attrs, attr_count,
                             &control, control >= 0 ? 1 : 0, &added, st));
    *out = (struct tfd_edge){added->id, 0};
    return TFD_OK;
}

enum tfd_code tfd_gradient_loop_int(struct tfd_gradient_loop *l, int32_t value,
                                    int32_t control, struct tfd_edge *out,
                                    struct tfd_status *st)
{
    struct tfd_attr attrs[2] = {{TFD_STR("dtype"), TFD_STR_EMPTY},
                                {TFD_STR("value"), TFD_STR_EMPTY}};
    struct tfd_shape scalar = {0, {0}};
    struct tfd_bytes text;
    struct tfd_tensor t;
    enum tfd_code rc;
    size_t first;

    TFD_TRY(tfd_tensor_new(&t, TFD_INT32, &scalar, st));
    *(int32_t *)tfd_tensor_data(&t) = value;
    tfd_bytes_init(&text, TFD_ATTR_SIZE_MAX);
    tfd_attr_put_type(&text, TFD_INT32);
    first = text.size;
    tfd_attr_put_tensor(&text, &t);
    tfd_tensor_unref(&t);
    rc = tfd_bytes_ok(&text, "a constant", st);
    if (rc == TFD_OK) {
        attrs[0].value = (struct tfd_str){text.data, first};
        attrs[1].value = (struct tfd_str){text.data + first, text.size - first};
        rc = one_output(l, "Const", NULL, 0, attrs, 2, control, out, st);
    }
    tfd_bytes_deinit(&text);
    return rc;
}

enum tfd_code tfd_gradient_loop_enter(struct tfd_gradient_loop *l,
                                      struct tfd_edge in, struct tfd_str frame,
                                      bool constant, struct tfd_edge *out,
                                      struct tfd_status *st)
{
    struct tfd_attr attrs[3];
    struct tfd_bytes text;
    size_t first, second;
    enum tfd_code rc;

    tfd_bytes_init(&text, TFD_ATTR_SIZE_MAX);
    tfd_attr_put_str(&text, frame);
    first = text.size;
    tfd_attr_put_bool(&text, constant);
    second = text.size;
    tfd_attr_put_int(&text, l->parallel);
    rc = tfd_bytes_ok(&text, "attributes of a loop", st);
    if (rc == TFD_OK) {
        attrs[0] = (struct tfd_attr){TFD_STR("frame_name"), {text.data, first}};
        attrs[1] = (struct tfd_attr){TFD_STR("is_constant"),
                                     {text.data + first, second - first}};
        attrs[2] = (struct tfd_attr){TFD_STR("parallel_iterations"),
                                     {text.data + second, text.size - second}};
        rc = one_output(l, "Enter", &in, 1, attrs, 3, -1, out, st);
    }
    tfd_bytes_deinit(&text);
    return rc;
}

/* ---- Stacks -------------------------------------------------------------- */

static enum tfd_code make_stack(struct tfd_gradient_loop *l,
                                const struct tfd_attr *elem_type,
                                struct tfd_edge *out, struct tfd_status *st)
{
    struct tfd_edge unlimited;

    TFD_TRY(tfd_gradient_loop_int(l, -1, -1, &unlimited, st));
    return one_output(l, "StackV2", &unlimited, 1, elem_type, 1, -1, out, st);
}

static enum tfd_code push_edge(struct tfd_gradient_loop *l,
                               struct tfd_edge stack, struct tfd_edge value,
                               struct tfd_status *st)
{
    struct tfd_edge in[2] = {stack, value}, pushed;

    TFD_TRY(tfd_gradient_loop_enter(l, stack, l->frame, true, &in[0], st));
    TFD_TRY(one_output(l, "StackPushV2", in, 2, NULL, 0, l->forward_iteration,
                       &pushed, st));
    tfd_bytes_add(&l->pushes, &pushed.node, sizeof(pushed.node));
    return tfd_bytes_ok(&l->pushes, "what a loop keeps", st);
}

static enum tfd_code pop_edge(struct tfd_gradient_loop *l,
                              struct tfd_edge stack,
                              const struct tfd_attr *elem_type,
                              struct tfd_edge *out, struct tfd_status *st)
{
    struct tfd_edge in;

    TFD_TRY(tfd_gradient_loop_enter(l, stack, l->backward, true, &in, st));
    TFD_TRY(one_output(l, "StackPopV2", &in, 1, elem_type, 1, l->iteration, out,
                       st));
    tfd_bytes_add(&l->pops, &out->node, sizeof(out->node));
    return tfd_bytes_ok(&l->pops, "what a loop keeps", st);
}

static enum tfd_code keep_edge(struct tfd_gradient_loop *l, struct tfd_edge e,
                               struct tfd_edge *out, struct tfd_status *st)
{
    const struct tfd_graph *g = l->b->request->host->graph;
    struct tfd_attr elem_type = {TFD_STR("elem_type"), TFD_STR_EMPTY};
    struct tfd_edge stack;
    struct tfd_bytes type;
    enum tfd_code rc;

    if (l->depth[e.node] > 1 || l->branch[e.node] > 0)
        return tfd_fail(st, TFD_NOT_FOUND,
                        "No gradient defined for a while loop that needs "
                        "'" TFD_STR_FMT "', which is in a %s within it",
                        TFD_STR_ARG(g->nodes[e.node]->name),
                        l->depth[e.node] > 1 ? "loop" : "conditional");
    tfd_bytes_init(&type, TFD_ATTR_SIZE_MAX);
    tfd_attr_put_type(&type, (int)tfd_gradient_type(g, e));
    elem_type.value = tfd_bytes_view(&type);
    rc = tfd_bytes_ok(&type, "a stack", st);
    if (rc == TFD_OK)
        rc = make_stack(l, &elem_type, &stack, st);
    if (rc == TFD_OK)
        rc = push_edge(l, stack, e, st);
    if (rc == TFD_OK)
        rc = pop_edge(l, stack, &elem_type, out, st);
    tfd_bytes_deinit(&type);
    return rc;
}

/* ---- Edges --------------------------------------------------------------- */

static bool is_invariant(const struct tfd_gradient_loop *l, int32_t node)
{
    for (int32_t i = 0; i < l->invariant_count; i++)
        if (l->invariants[i] == node)
            return true;
    return false;
}

static enum tfd_code capture(struct tfd_gradient_loop *l, struct tfd_edge e,
                             struct tfd_edge *out, struct tfd_status *st)
{
    const struct tfd_node *n = l->b->request->host->graph->nodes[e.node];

    if (n->op->flags & TFD_OP_CONST)
        return one_output(l, "Const", NULL, 0, n->attrs, n->attr_count,
                          l->iteration, out, st);
    if (is_invariant(l, e.node))
        return tfd_gradient_loop_enter(l, n->in[0], l->backward, true, out, st);
    if (l->depth[e.node] == 0)
        return tfd_gradient_loop_enter(l, e, l->backward, true, out, st);
    return keep_edge(l, e, out, st);
}

enum tfd_code tfd_gradient_loop_input(struct tfd_gradient_builder *b,
                                      struct tfd_edge e, struct tfd_edge *out,
                                      struct tfd_status *st)
{
    struct tfd_gradient_loop *l = b->loop;
    uint64_t key = ((uint64_t)(uint32_t)e.node << 32) + (uint32_t)e.output + 1;
    struct tfd_edge *known;

    *out = e;
    if (e.node < 0 || e.node >= l->count)
        return TFD_OK;
    known = tfd_id_map_get(&l->captured, key);
    if (!known) {
        known = tfd_arena_alloc(l->arena, sizeof(*known));
        TFD_TRY(tfd_arena_check(known, "gradients", st));
        TFD_TRY(capture(l, e, known, st));
        if (!tfd_id_map_put(&l->captured, key, known))
            return tfd_arena_check(NULL, "gradients", st);
    }
    *out = *known;
    return TFD_OK;
}
