/*
 * while_again.c - whether a loop may run a second time, for its gradient: see
 * while_grad.h.
 *
 * A list of functions that grows at its end while calls are found in bodies, so
 * nothing recurses; each function is looked at once.
 */
#include "kernels/control/while_grad.h"

#include "config/limits.h"

struct called {
    const struct tfd_function *function;
    struct called *next;
};

struct look {
    const struct tfd_graph *graph;
    const struct tfd_node *loop;
    struct tfd_arena *arena;
    struct tfd_map seen;
    struct called *first, *last;
    struct tfd_status *st;
};

/* Ops with a state that only read it, check something or show it; and those
 * that do what the functions do that they call. */
static bool is_harmless(struct tfd_str op)
{
    static const char *const names[] = {
        "Assert",
        "Case",
        "If",
        "LookupTableFind",
        "LookupTableFindV2",
        "LookupTableSize",
        "LookupTableSizeV2",
        "Print",
        "PrintV2",
        "ReadVariableOp",
        "ResourceGather",
        "ResourceGatherNd",
        "StatefulPartitionedCall",
        "VarHandleOp",
        "VarIsInitializedOp",
        "VariableShape",
        "While",
    };

    for (size_t i = 0; i < TFD_COUNT(names); i++)
        if (tfd_str_is(op, names[i]))
            return true;
    return false;
}

static enum tfd_code add_called(struct look *l, struct tfd_str name)
{
    const struct tfd_function *f = tfd_function_find(l->graph, name);
    struct called *c;
    uintptr_t unused;

    if (!f || tfd_map_get(&l->seen, f->op.name, &unused))
        return TFD_OK;
    c = tfd_arena_alloc(l->arena, sizeof(*c));
    TFD_TRY(
        tfd_arena_check(c && tfd_map_put(&l->seen, f->op.name, 1) ? c : NULL,
                        "functions of a loop", l->st));
    *c = (struct called){.function = f};
    if (l->last)
        l->last->next = c;
    else
        l->first = c;
    l->last = c;
    return TFD_OK;
}

/* Whatever attributes name. */
static enum tfd_code add_named(struct look *l, const struct tfd_op *op,
                               const struct tfd_attr *attr)
{
    const struct tfd_attr alone = {TFD_STR("f"), attr->value};
    const struct tfd_node n = {.op = op, .attrs = &alone, .attr_count = 1};
    struct tfd_func one, *many;
    int32_t count = 0;

    if (tfd_node_func(&n, "f", l->arena, &one, NULL) == TFD_OK)
        return add_called(l, one.name);
    if (tfd_node_funcs(&n, "f", l->arena, &many, &count, NULL) != TFD_OK)
        return TFD_OK;
    for (int32_t i = 0; i < count; i++)
        TFD_TRY(add_called(l, many[i].name));
    return TFD_OK;
}

static enum tfd_code look_at(struct look *l, const struct tfd_function *f,
                             const struct tfd_function_node *n)
{
    const struct tfd_op *op = tfd_function_op(l->graph, n->op);

    if (!op)
        return TFD_OK; /* refused where it is called */
    if (op->flags & TFD_OP_FUNCTION)
        TFD_TRY(add_called(l, op->name));
    else if (op->flags & TFD_OP_STATEFUL && !is_harmless(op->name))
        return tfd_fail(
            l->st, TFD_NOT_FOUND,
            "No gradient defined for op: " TFD_STR_FMT " (operation "
            "'" TFD_STR_FMT "'): its gradient runs the loop once more, and "
            "'" TFD_STR_FMT "' (" TFD_STR_FMT ") of function " TFD_STR_FMT
            " would not do the same again",
            TFD_STR_ARG(l->loop->op->name), TFD_STR_ARG(l->loop->name),
            TFD_STR_ARG(n->name), TFD_STR_ARG(n->op), TFD_STR_ARG(f->op.name));
    for (int32_t i = 0; i < n->attr_count; i++)
        TFD_TRY(add_named(l, op, &n->attrs[i]));
    return TFD_OK;
}

static enum tfd_code look_at_all(struct look *l)
{
    for (const struct called *c = l->first; c; c = c->next)
        for (int32_t i = 0; i < c->function->node_count; i++)
            TFD_TRY(look_at(l, c->function, &c->function->nodes[i]));
    return TFD_OK;
}

enum tfd_code tfd_while_check_again(const struct tfd_graph *graph,
                                    const struct tfd_node *n,
                                    const struct tfd_func *f, int count,
                                    struct tfd_arena *arena,
                                    struct tfd_status *st)
{
    struct look l = {.graph = graph, .loop = n, .arena = arena, .st = st};
    enum tfd_code rc = TFD_OK;

    tfd_map_init(&l.seen);
    for (int i = 0; rc == TFD_OK && i < count; i++)
        rc = add_called(&l, f[i].name);
    if (rc == TFD_OK)
        rc = look_at_all(&l);
    tfd_map_deinit(&l.seen);
    return rc;
}
