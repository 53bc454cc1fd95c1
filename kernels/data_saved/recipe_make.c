/*
 * recipe_make.c - a recipe of a node: see recipe.h.
 */
#include "kernels/data_saved/recipe.h"

#include "config/limits.h"

#include <stdlib.h>

static enum tfd_code copy_attr(struct tfd_data_recipe *r, struct tfd_str name,
                               struct tfd_str value, struct tfd_status *st)
{
    struct tfd_attr *a = &r->attrs[r->attr_count++];

    a->name = tfd_arena_str(&r->arena, name);
    a->value = tfd_arena_str(&r->arena, value);
    return tfd_arena_check(a->name.data ? a->value.data : NULL, "a dataset",
                           st);
}

static enum tfd_code copy_node(struct tfd_data_recipe *r,
                               const struct tfd_node *n, struct tfd_status *st)
{
    struct tfd_str value;

    r->op = tfd_arena_str(&r->arena, n->op->name);
    r->attrs = tfd_arena_array(&r->arena, (size_t)n->op->attr_count + 1,
                               sizeof(*r->attrs));
    if (!r->op.data || !r->attrs)
        return tfd_arena_check(NULL, "a dataset", st);
    for (int i = 0; i < n->op->attr_count; i++) {
        const struct tfd_op_attr *a = &n->op->attrs[i];

        if (tfd_node_attr(n, a->name.data, &value))
            TFD_TRY(copy_attr(r, a->name, value, st));
    }
    return TFD_OK;
}

/* The first function of an attribute; a kernel says what is wrong with it. */
static struct tfd_rt_function *function_of(const struct tfd_prepare *p,
                                           const struct tfd_op_attr *a,
                                           struct tfd_arena *arena)
{
    struct tfd_rt_function *f = NULL;
    struct tfd_func one, *func = &one;
    int32_t count = 1;
    enum tfd_code rc =
        a->list
            ? tfd_node_funcs(p->node, a->name.data, arena, &func, &count, NULL)
            : tfd_node_func(p->node, a->name.data, arena, &one, NULL);

    if (rc != TFD_OK || count < 1 ||
        tfd_rt_lasting_function(p, func, &f, NULL) != TFD_OK)
        return NULL;
    return f;
}

/* The first of the node's functions. */
static const struct tfd_rt_function *find_function(const struct tfd_prepare *p)
{
    const struct tfd_op *op = p->node->op;
    struct tfd_rt_function *f = NULL;
    struct tfd_arena arena;

    tfd_arena_init(&arena, (size_t)TFD_GRAPH_SIZE_MAX);
    for (int i = 0; i < op->attr_count && !f; i++)
        if (op->attrs[i].kind == TFD_ATTR_FUNC)
            f = function_of(p, &op->attrs[i], &arena);
    tfd_arena_deinit(&arena);
    return f;
}

enum tfd_code tfd_data_recipe_new(const struct tfd_prepare *p,
                                  struct tfd_data_recipe **out,
                                  struct tfd_status *st)
{
    struct tfd_data_recipe *r = calloc(1, sizeof(*r));
    enum tfd_code rc;

    if (!r)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "no memory for a dataset");
    r->refs = 1;
    tfd_arena_init(&r->arena, (size_t)TFD_GRAPH_SIZE_MAX);
    rc = copy_node(r, p->node, st);
    if (rc == TFD_OK) {
        r->function = find_function(p);
        *out = r;
    } else {
        tfd_data_recipe_unref(r);
    }
    return rc;
}
