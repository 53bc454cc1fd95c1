/*
 * symbolic_grad.c - see symbolic_grad.h.
 *
 * The function's nodes are added, then those of its gradient, then those of
 * that gradient's:
 *
 *     in -> Identity -> body -> y
 *     dx by y                          what the SymbolicGradient has computed
 *     by dx, of both halves of in      what is wanted
 *
 * Where the library names the function's gradient it is a call of that.
 */
#include "kernels/control/symbolic_grad.h"

#include "config/limits.h"
#include "kernels/control/added_body.h"
#include "kernels/core/gradient_call.h"

struct twice {
    struct tfd_grad *g;
    struct tfd_arena arena;
    struct tfd_func f;
    int32_t args, results;
    struct tfd_edge *x, *y, *dx; /* x: of arguments and of what arrived */
    int *types;
    struct tfd_status *st;
};

static enum tfd_code take_arrays(struct twice *t)
{
    const size_t count = (size_t)t->g->node->in_count + 1;

    t->x = tfd_arena_array(&t->arena, count, sizeof(*t->x));
    t->y = tfd_arena_array(&t->arena, count, sizeof(*t->y));
    t->dx = tfd_arena_array(&t->arena, count, sizeof(*t->dx));
    t->types = tfd_arena_array(&t->arena, count, sizeof(*t->types));
    return tfd_arena_check(t->x && t->y && t->dx ? t->types : NULL,
                           "a second derivative", t->st);
}

/* Of the function that the library names. */
static enum tfd_code derive_named(struct twice *t, struct tfd_str gradient)
{
    const struct tfd_grad *g = t->g;
    const struct tfd_func f = {gradient, t->f.attrs, t->f.attr_count};
    const int32_t ins = g->node->in_count, outs = g->node->out_count;
    struct tfd_edge *in =
        tfd_arena_array(&t->arena, (size_t)ins + (size_t)outs + 1, sizeof(*in));

    TFD_TRY(tfd_arena_check(in, "a second derivative", t->st));
    for (int32_t i = 0; i < ins; i++) {
        in[i] = g->x[i];
        t->types[i] = TFD_RESOURCE;
    }
    for (int32_t i = 0; i < outs; i++) {
        in[ins + i] = g->dy[i];
        if (g->dy[i].node < 0)
            TFD_TRY(tfd_grad_emit(t->g, "ZerosLike", &g->y[i], 1, &in[ins + i],
                                  t->st));
    }
    TFD_TRY(tfd_gradient_types(t->g, &f, in, ins, t->types, t->st));
    return tfd_gradient_symbolic(t->g, &f, in, ins, outs, t->types, g->dx,
                                 t->st);
}

static enum tfd_code refuse(const struct twice *t)
{
    return tfd_fail(t->st, TFD_NOT_FOUND,
                    "No gradient defined for op: SymbolicGradient (operation "
                    "'" TFD_STR_FMT "' of function " TFD_STR_FMT
                    ", which is called within another function, or has a loop)",
                    TFD_STR_ARG(t->g->node->name), TFD_STR_ARG(t->f.name));
}

static enum tfd_code derive_added(struct twice *t)
{
    const struct tfd_grad *g = t->g;
    const int32_t ins = g->node->in_count;
    struct tfd_added_body body = {t->g, &t->f, -1, &t->arena};
    const struct tfd_added_ends first = {t->y, t->x + t->args, t->results, t->x,
                                         t->args};
    const struct tfd_added_ends second = {t->dx, g->dy, t->args, t->x, ins};
    bool done;

    for (int32_t i = 0; i < ins; i++)
        TFD_TRY(tfd_grad_emit(t->g, "Identity", &g->x[i], 1, &t->x[i], t->st));
    body.anchor = t->x[0].node;
    TFD_TRY(tfd_added_body_add(&body, t->x, t->args, t->y, t->results, &done,
                               t->st));
    if (!done)
        return refuse(t);
    TFD_TRY(tfd_added_body_walk(&body, &first, t->dx, t->st));
    return tfd_added_body_walk(&body, &second, g->dx, t->st);
}

static enum tfd_code derive_twice(struct twice *t)
{
    const struct tfd_function *gradient;

    TFD_TRY(tfd_node_func(t->g->node, "f", &t->arena, &t->f, t->st));
    TFD_TRY(take_arrays(t));
    if (t->results < 0)
        return refuse(t);
    gradient = tfd_function_gradient(t->g->graph, t->f.name);
    return gradient ? derive_named(t, gradient->op.name) : derive_added(t);
}

enum tfd_code tfd_symbolic_gradient(struct tfd_grad *g, struct tfd_status *st)
{
    struct twice t = {.g = g,
                      .args = g->node->out_count,
                      .results = g->node->in_count - g->node->out_count,
                      .st = st};
    enum tfd_code rc;

    tfd_arena_init(&t.arena, (size_t)TFD_GRAPH_SIZE_MAX);
    rc = derive_twice(&t);
    tfd_arena_deinit(&t.arena);
    return rc;
}
