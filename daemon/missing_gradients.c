/*
 * missing_gradients.c - see missing_gradients.h.
 *
 * A list that grows at its end while calls are found.
 */
#include "daemon/missing_gradients.h"

#include "config/limits.h"
#include "kernels/core/gradient_call.h"

/* What a loop is made of is differentiated as a whole. */
#define FLOW                                                     \
    (TFD_OP_SWITCH | TFD_OP_MERGE | TFD_OP_ENTER | TFD_OP_EXIT | \
     TFD_OP_NEXT_ITERATION | TFD_OP_LOOP_COND | TFD_OP_CONTROL_TRIGGER)

struct tfd_missing_gradient {
    const struct tfd_function *function;
    struct tfd_missing_gradient *next;
};

void tfd_missing_gradients_init(struct tfd_missing_gradients *m)
{
    *m = (struct tfd_missing_gradients){.first = NULL};
    tfd_arena_init(&m->arena, (size_t)TFD_GRAPH_SIZE_MAX);
    tfd_map_init(&m->seen);
}

void tfd_missing_gradients_deinit(struct tfd_missing_gradients *m)
{
    tfd_map_deinit(&m->seen);
    tfd_arena_deinit(&m->arena);
}

enum tfd_code tfd_missing_gradients_add(struct tfd_missing_gradients *m,
                                        const struct tfd_graph *g,
                                        struct tfd_str function,
                                        struct tfd_status *st)
{
    const struct tfd_function *f = tfd_function_find(g, function);
    struct tfd_missing_gradient *item;
    uintptr_t unused;

    if (!f || tfd_function_gradient(g, function) ||
        tfd_map_get(&m->seen, function, &unused))
        return TFD_OK;
    item = tfd_arena_alloc(&m->arena, sizeof(*item));
    TFD_TRY(tfd_arena_check(item && tfd_map_put(&m->seen, f->op.name, 1) ? item
                                                                         : NULL,
                            "gradients", st));
    item->function = f;
    if (m->last)
        m->last->next = item;
    else
        m->first = item;
    m->last = item;
    return TFD_OK;
}

static bool has_data_inputs(const struct tfd_function_node *n)
{
    for (int32_t i = 0; i < n->in_count; i++)
        if (!tfd_str_starts(n->in[i], "^"))
            return true;
    return false;
}

/* Branches, and bodies of loops: theirs is made by that of the functions. */
static enum tfd_code add_named(struct tfd_missing_gradients *m,
                               const struct tfd_graph *g,
                               const struct tfd_node *n, struct tfd_status *st)
{
    static const char *const names[] = {"then_branch", "else_branch",
                                        "branches", "body"};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        struct tfd_func one, *many;
        int32_t count = 0;

        if (tfd_node_func(n, names[i], &m->arena, &one, NULL) == TFD_OK)
            TFD_TRY(tfd_missing_gradients_add(m, g, one.name, st));
        else if (tfd_node_funcs(n, names[i], &m->arena, &many, &count, NULL) !=
                 TFD_OK)
            continue;
        for (int32_t k = 0; k < count; k++)
            TFD_TRY(tfd_missing_gradients_add(m, g, many[k].name, st));
    }
    return TFD_OK;
}

static enum tfd_code find_in_node(struct tfd_missing_gradients *m,
                                  const struct tfd_graph *g,
                                  const struct tfd_function_node *from,
                                  bool *lacks, struct tfd_status *st)
{
    struct tfd_node n = {.name = from->name,
                         .op = tfd_function_op(g, from->op),
                         .attrs = from->attrs,
                         .attr_count = from->attr_count};
    struct tfd_func f;

    *lacks = false;
    if (!n.op || !has_data_inputs(from))
        return TFD_OK;
    if (n.op->flags & TFD_OP_FUNCTION)
        return tfd_missing_gradients_add(m, g, n.op->name, st);
    if (tfd_gradient_is_call(&n))
        return tfd_node_func(&n, "f", &m->arena, &f, NULL) == TFD_OK
                   ? tfd_missing_gradients_add(m, g, f.name, st)
                   : TFD_OK;
    if (n.op->def->grad)
        return add_named(m, g, &n, st);
    *lacks = !(n.op->flags & (TFD_OP_NO_GRADIENT | FLOW));
    return TFD_OK;
}

static enum tfd_code find_in(struct tfd_missing_gradients *m,
                             const struct tfd_graph *g, int number,
                             const struct tfd_function *f,
                             struct tfd_missing_lines *lines,
                             struct tfd_status *st)
{
    for (int32_t i = 0; i < f->node_count; i++) {
        struct tfd_missing_place place = {number, f->op.name, f->nodes[i].name};
        char text[TFD_TEXT_TOKEN_SIZE_MAX];
        bool lacks;

        TFD_TRY(find_in_node(m, g, &f->nodes[i], &lacks, st));
        if (!lacks)
            continue;
        snprintf(text, sizeof(text), "gradient of " TFD_STR_FMT,
                 TFD_STR_ARG(f->nodes[i].op));
        TFD_TRY(tfd_missing_lines_add(lines, &place, tfd_str_of(text), st));
    }
    return TFD_OK;
}

enum tfd_code tfd_missing_gradients_find(struct tfd_missing_gradients *m,
                                         const struct tfd_graph *g, int number,
                                         struct tfd_missing_lines *lines,
                                         struct tfd_status *st)
{
    const struct tfd_missing_gradient *item;

    for (item = m->first; item; item = item->next)
        TFD_TRY(find_in(m, g, number, item->function, lines, st));
    return TFD_OK;
}
