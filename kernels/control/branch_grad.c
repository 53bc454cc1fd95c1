/*
 * branch_grad.c - see branch_grad.h.
 *
 * The arguments and what arrived go through a Switch before each branch but the
 * last: those whose turn it is end there, the others go on.
 *
 *     Switch ---- true ---> SymbolicGradient of branch 0 ------------ Merge
 *        |                                                              |
 *      false ---> Switch ---- true ---> ... of branch 1 ---- Merge -----+
 *                    |                                         |
 *                  false -------------> ... of branch 2 -------+
 */
#include "kernels/control/branch_grad.h"

#include "common/base/arena.h"
#include "config/limits.h"
#include "kernels/core/gradient.h"
#include "kernels/core/gradient_call.h"

struct branching {
    struct tfd_gradient b;
    struct tfd_arena arena;
    const struct tfd_func *f; /* branches */
    int32_t count;
    int args, results;
    struct tfd_edge *now;  /* arguments and what arrived, that go on */
    struct tfd_edge *here; /* those for the branch at hand */
    struct tfd_edge *dx;   /* by branch and argument */
    int *types;            /* by argument, of dx */
};

static enum tfd_code take_arrays(struct branching *x)
{
    const struct tfd_grad *g = x->b.g;
    const size_t all = (size_t)x->args + (size_t)x->results;

    x->now = tfd_arena_array(&x->arena, all + 1, sizeof(*x->now));
    x->here = tfd_arena_array(&x->arena, all + 1, sizeof(*x->here));
    x->dx = tfd_arena_array(&x->arena, (size_t)x->count * (size_t)x->args + 1,
                            sizeof(*x->dx));
    x->types = tfd_arena_array(&x->arena, all + 1, sizeof(*x->types));
    TFD_TRY(tfd_arena_check(x->now && x->here && x->types ? x->dx : NULL,
                            "the gradient of branches", x->b.st));
    for (int i = 0; i < x->args; i++) {
        x->now[i] = g->x[i + 1];
        x->types[i] = TFD_RESOURCE;
    }
    for (int32_t i = 0; i < x->count; i++)
        TFD_TRY(tfd_gradient_types(x->b.g, &x->f[i], x->now, x->args, x->types,
                                   x->b.st));
    for (int i = 0; i < x->results; i++)
        x->now[x->args + i] = tfd_gradient_given(&x->b, i);
    return x->b.code;
}

/* Whether it is this branch's turn; the last one's needs no question. */
static struct tfd_edge is_turn(struct branching *x, int32_t branch)
{
    const struct tfd_grad *g = x->b.g;

    if (tfd_str_is(g->node->op->name, "If") ||
        tfd_str_is(g->node->op->name, "StatelessIf"))
        return tfd_gradient_dtype(&x->b, g->x[0]) == TFD_BOOL
                   ? g->x[0]
                   : tfd_gradient_op1(&x->b, "ToBool", g->x[0]);
    return tfd_gradient_op2(&x->b, "Equal", g->x[0],
                            tfd_gradient_ints(&x->b, &branch, -1));
}

static void part_ways(struct branching *x, struct tfd_edge turn)
{
    static const char *const none[] = {NULL};

    for (int i = 0; i < x->args + x->results; i++) {
        const struct tfd_edge in[] = {x->now[i], turn};
        struct tfd_edge out[2];

        tfd_gradient_copying(&x->b, "Switch", in, 2, none, out, 2);
        x->now[i] = out[0];
        x->here[i] = out[1];
    }
}

static enum tfd_code derive_branches(struct branching *x)
{
    for (int32_t i = 0; i < x->count && x->b.code == TFD_OK; i++) {
        const bool last = i == x->count - 1;

        if (!last)
            part_ways(x, is_turn(x, i));
        if (x->b.code == TFD_OK)
            x->b.code = tfd_gradient_symbolic(
                x->b.g, &x->f[i], last ? x->now : x->here, x->args, x->results,
                x->types, x->dx + (size_t)i * (size_t)x->args, x->b.st);
    }
    return x->b.code;
}

/* Of each argument that has a derivative what the branch that ran has: by pairs
 * of a branch and those after it, since a Merge of more has no gradient. */
static enum tfd_code merge_branches(struct branching *x)
{
    static const char *const none[] = {NULL};

    for (int i = 0; i < x->args; i++) {
        const struct tfd_edge *dx = x->dx + i;
        struct tfd_edge ran = dx[(x->count - 1) * x->args];

        for (int32_t k = x->count - 2; k >= 0 && x->types[i] != TFD_RESOURCE;
             k--) {
            const struct tfd_edge in[] = {ran, dx[k * x->args]};
            struct tfd_edge out[2];

            tfd_gradient_copying(&x->b, "Merge", in, 2, none, out, 2);
            ran = out[0];
        }
        x->b.g->dx[i + 1] = ran;
    }
    return x->b.code;
}

static enum tfd_code one_branch_of(struct branching *x)
{
    TFD_TRY(take_arrays(x));
    TFD_TRY(derive_branches(x));
    return merge_branches(x);
}

static enum tfd_code find_if(struct branching *x, struct tfd_status *st)
{
    struct tfd_func *f = tfd_arena_array(&x->arena, 2, sizeof(*f));

    TFD_TRY(tfd_arena_check(f, "branches", st));
    TFD_TRY(tfd_node_func(x->b.g->node, "then_branch", &x->arena, &f[0], st));
    TFD_TRY(tfd_node_func(x->b.g->node, "else_branch", &x->arena, &f[1], st));
    x->f = f;
    x->count = 2;
    return TFD_OK;
}

static enum tfd_code find_case(struct branching *x, struct tfd_status *st)
{
    struct tfd_func *f;

    TFD_TRY(
        tfd_node_funcs(x->b.g->node, "branches", &x->arena, &f, &x->count, st));
    x->f = f;
    return TFD_OK;
}

static enum tfd_code branch_gradient(struct tfd_grad *g,
                                     enum tfd_code (*find)(struct branching *,
                                                           struct tfd_status *),
                                     struct tfd_status *st)
{
    struct branching x = {.b = tfd_gradient_begin(g, st),
                          .args = g->node->in_count - 1,
                          .results = g->node->out_count};
    enum tfd_code rc;

    tfd_arena_init(&x.arena, (size_t)TFD_GRAPH_SIZE_MAX);
    rc = find(&x, st);
    if (rc == TFD_OK)
        rc = one_branch_of(&x);
    tfd_arena_deinit(&x.arena);
    return rc;
}

enum tfd_code tfd_branch_if_gradient(struct tfd_grad *g, struct tfd_status *st)
{
    return branch_gradient(g, find_if, st);
}

enum tfd_code tfd_branch_case_gradient(struct tfd_grad *g,
                                       struct tfd_status *st)
{
    return branch_gradient(g, find_case, st);
}
