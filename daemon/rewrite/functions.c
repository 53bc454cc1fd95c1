/*
 * functions.c - which nodes are expanded, and in what order: see functions.h.
 *
 * One walk over a list that grows at its end while nodes are replaced, as
 * TensorFlow's pass does; so nothing recurses, and the number of nodes bounds
 * everything.  Each new node knows the calls it came from, which is how a
 * function that calls itself is noticed.
 */
#include "daemon/rewrite/functions.h"

#include "common/base/atomic.h"
#include "daemon/rewrite/lower.h"

#include "config/limits.h"

enum action { NONE, CALL, BRANCH, CASE, LOOP, GRADIENT };

static const struct row {
    const char *op;
    enum action action;
} rows[] = {
    {"Case", CASE},
    {"If", BRANCH},
    {"PartitionedCall", CALL},
    {"StatefulPartitionedCall", CALL},
    {"StatelessCase", CASE},
    {"StatelessIf", BRANCH},
    {"StatelessWhile", LOOP},
    {"SymbolicGradient", GRADIENT},
    {"While", LOOP},
};

static enum action action_of(const struct tfd_node *n)
{
    if (n->op->flags & TFD_OP_FUNCTION)
        return CALL;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        if (tfd_str_is(n->op->name, rows[i].op))
            return rows[i].action;
    return NONE;
}

bool tfd_functions_is_call(const struct tfd_node *n)
{
    enum action action = action_of(n);

    return action == CALL || action == GRADIENT;
}

/* A boolean attribute that nodes and functions may have or not. */
static bool says(const struct tfd_attr *attrs, int32_t count, const char *name)
{
    static const struct tfd_opdef none = {.name = ""};
    const struct tfd_op op = {.def = &none};
    const struct tfd_node n = {
        .name = TFD_STR_EMPTY, .op = &op, .attrs = attrs, .attr_count = count};
    bool value;

    return tfd_node_bool(&n, name, &value, NULL) == TFD_OK && value;
}

/* ---- What may be expanded ------------------------------------------------ */

/* Known, and not among the calls that the node came from. */
static bool is_expandable(const struct tfd_edit *e, int32_t id,
                          const struct tfd_func *f)
{
    const struct tfd_function *function = tfd_function_find(e->g, f->name);
    int32_t call = tfd_edit_at(e, id)->call;

    if (!function ||
        (call >= 0 && e->calls[call].depth >= TFD_FUNCTION_DEPTH_MAX))
        return false;
    for (; call >= 0; call = e->calls[call].parent)
        if (e->calls[call].function == function)
            return false;
    return true;
}

static bool may_inline(const struct tfd_edit *e, int32_t id,
                       const struct tfd_func *f)
{
    const struct tfd_function *function = tfd_function_find(e->g, f->name);
    const struct tfd_node *n = &tfd_edit_at(e, id)->n;

    return is_expandable(e, id, f) &&
           (e->across_tasks ||
            (!says(n->attrs, n->attr_count, "_noinline") &&
             !says(function->attrs, function->attr_count, "_noinline")));
}

static bool is_lowered(const struct tfd_edit *e, const struct tfd_node *n)
{
    return e->across_tasks ||
           says(n->attrs, n->attr_count, "_lower_using_switch_merge");
}

/* ---- One node ------------------------------------------------------------ */

static void expand_call(struct tfd_edit *e, int32_t id)
{
    const struct tfd_node *n = &tfd_edit_at(e, id)->n;
    struct tfd_func f = {n->op->name, n->attrs, n->attr_count};
    bool several =
        says(n->attrs, n->attr_count, "_lower_as_multi_device_function");

    if (!(n->op->flags & TFD_OP_FUNCTION)) {
        several = true;
        if (tfd_node_func(n, "f", &e->arena, &f, e->st) != TFD_OK) {
            tfd_edit_fail(e, TFD_INVALID_ARGUMENT);
            return;
        }
    }
    if (may_inline(e, id, &f))
        tfd_lower_call(e, id, &f, several);
}

/* Only where the library says which function the gradient is. */
static void expand_gradient(struct tfd_edit *e, int32_t id)
{
    const struct tfd_node *n = &tfd_edit_at(e, id)->n;
    const struct tfd_function *gradient;
    struct tfd_func f;

    if (tfd_node_func(n, "f", &e->arena, &f, NULL) != TFD_OK)
        return;
    gradient = tfd_function_gradient(e->g, f.name);
    if (!gradient)
        return;
    f.name = gradient->op.name;
    if (may_inline(e, id, &f))
        tfd_lower_call(e, id, &f, false);
}

static void expand_if(struct tfd_edit *e, int32_t id)
{
    const struct tfd_node *n = &tfd_edit_at(e, id)->n;
    struct tfd_func *branches = tfd_edit_array(e, 2, sizeof(*branches));
    enum tfd_dtype type;

    if (!branches || !is_lowered(e, n) ||
        tfd_node_type(n, "Tcond", &type, NULL) != TFD_OK || type != TFD_BOOL ||
        tfd_node_func(n, "then_branch", &e->arena, &branches[0], NULL) ||
        tfd_node_func(n, "else_branch", &e->arena, &branches[1], NULL) ||
        !is_expandable(e, id, &branches[0]) ||
        !is_expandable(e, id, &branches[1]))
        return;
    tfd_lower_branches(e, id, branches, 2, true);
}

static void expand_case(struct tfd_edit *e, int32_t id)
{
    const struct tfd_node *n = &tfd_edit_at(e, id)->n;
    struct tfd_func *branches;
    int32_t count;

    if (!is_lowered(e, n) ||
        tfd_node_funcs(n, "branches", &e->arena, &branches, &count, NULL))
        return;
    for (int32_t i = 0; i < count; i++)
        if (!is_expandable(e, id, &branches[i]))
            return;
    tfd_lower_branches(e, id, branches, count, false);
}

static void expand_while(struct tfd_edit *e, int32_t id)
{
    const struct tfd_node *n = &tfd_edit_at(e, id)->n;
    struct tfd_func *f = tfd_edit_array(e, 2, sizeof(*f));

    if (!f || !is_lowered(e, n) ||
        tfd_node_func(n, "cond", &e->arena, &f[0], NULL) ||
        tfd_node_func(n, "body", &e->arena, &f[1], NULL) ||
        !is_expandable(e, id, &f[0]) || !is_expandable(e, id, &f[1]))
        return;
    (void)tfd_lower_while(e, id, &f[0], &f[1]);
}

typedef void expand_fn(struct tfd_edit *e, int32_t id);

static expand_fn *const expand_table[] = {
    [CALL] = expand_call,  [BRANCH] = expand_if,         [CASE] = expand_case,
    [LOOP] = expand_while, [GRADIENT] = expand_gradient,
};

/* Nodes of bodies were made without counting what comes out of them. */
static void count_outputs(struct tfd_edit *e, int32_t id)
{
    struct tfd_node *n = &tfd_edit_at(e, id)->n;
    int64_t outputs;

    if (n->out_count > 0)
        return;
    outputs = tfd_function_outputs(n);
    n->out_count = outputs < 0 ? 0 : (int32_t)outputs;
}

/* ---- All ----------------------------------------------------------------- */

static bool has_any(const struct tfd_graph *g, int32_t first)
{
    for (int32_t i = first; i < g->count; i++)
        if (action_of(g->nodes[i]) != NONE)
            return true;
    return false;
}

/* Control flow that the client has written itself, of any time: a call in it
 * need not wait for anything but its inputs. */
static bool has_control_flow(const struct tfd_graph *g)
{
    for (int32_t i = 0; i < g->count; i++)
        if (g->nodes[i]->op->flags & (TFD_OP_SWITCH | TFD_OP_ENTER))
            return true;
    return false;
}

static bool is_stopped(struct tfd_edit *e, const bool *stop)
{
    if (!stop || !TFD_LOAD_RELAXED(stop))
        return false;
    (void)tfd_edit_fail(e, tfd_fail(e->st, TFD_CANCELLED,
                                    "Nobody waits for the graph any more"));
    return true;
}

enum tfd_code tfd_functions_expand(struct tfd_graph *g, int32_t first,
                                   const struct tfd_expand *how,
                                   struct tfd_status *st)
{
    struct tfd_edit e;

    if (!has_any(g, first))
        return TFD_OK;
    tfd_edit_begin(&e, g, first, st);
    e.across_tasks = how->across_tasks;
    e.conditional = has_control_flow(g);
    for (int32_t i = 0; i < e.count && tfd_edit_ok(&e); i++) {
        enum action action = action_of(&e.nodes[i]->n);

        if (action == NONE || is_stopped(&e, how->stop))
            continue;
        count_outputs(&e, first + i);
        expand_table[action](&e, first + i);
    }
    return tfd_edit_end(&e);
}
