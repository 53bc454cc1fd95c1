/*
 * classify.c - what each node of a graph is to the executor, and which nodes it
 * need not run: see compiler.h.
 *
 * An Identity is left out when nothing but passing on is asked of it: it reads
 * no variable, waits for no other node, and nobody waits for it but for its
 * value (or its producer does as well).  A NoOp is left out when it waits for
 * one node at most, or when nobody waits for it.
 */
#include "daemon/worker/compile/compiler.h"

#include "common/graph/deprecated.h"
#include "daemon/worker/exchange/peer_copy.h"

#include <string.h>

struct row {
    uint32_t op_flag;
    uint8_t kind;
    uint8_t route;
};

/* Kinds of the ops that the executor runs itself. */
static const struct row rows[] = {
    {TFD_OP_CONST, TFD_EXEC_CONST, TFD_ROUTE_HERE},
    {TFD_OP_NOOP, TFD_EXEC_NOOP, TFD_ROUTE_HERE},
    {TFD_OP_CONTROL_TRIGGER, TFD_EXEC_NOOP, TFD_ROUTE_HERE},
    {TFD_OP_IDENTITY, TFD_EXEC_PASS, TFD_ROUTE_HERE},
    {TFD_OP_LOOP_COND, TFD_EXEC_PASS, TFD_ROUTE_HERE},
    {TFD_OP_SWITCH, TFD_EXEC_SWITCH, TFD_ROUTE_HERE},
    {TFD_OP_MERGE, TFD_EXEC_MERGE, TFD_ROUTE_HERE},
    {TFD_OP_ENTER, TFD_EXEC_PASS, TFD_ROUTE_ENTER},
    {TFD_OP_EXIT, TFD_EXEC_PASS, TFD_ROUTE_EXIT},
    {TFD_OP_NEXT_ITERATION, TFD_EXEC_PASS, TFD_ROUTE_NEXT},
};

static enum tfd_code find_device(struct tfd_compiler *c,
                                 const struct tfd_node *n,
                                 struct tfd_device **out, struct tfd_status *st)
{
    if (!n->device.size)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Node '" TFD_STR_FMT
                        "' is missing a device specification",
                        TFD_STR_ARG(n->name));
    *out = tfd_devices_find(c->env->devices, n->device);
    if (!*out)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        TFD_STR_FMT " unknown device.", TFD_STR_ARG(n->device));
    return TFD_OK;
}

static enum tfd_code find_kernel(struct tfd_compiler *c,
                                 const struct tfd_node *n,
                                 struct tfd_plan_node *p, struct tfd_status *st)
{
    struct tfd_status why = TFD_STATUS_INIT;

    p->kernel = tfd_registry_kernel(c->env->registry, n, p->device->kind);
    if (!p->kernel)
        return tfd_fail(st, TFD_NOT_FOUND,
                        "No registered '" TFD_STR_FMT
                        "' OpKernel for '%s' devices compatible with node "
                        "{{node " TFD_STR_FMT "}}",
                        TFD_STR_ARG(n->op->name), p->device->attributes.type,
                        TFD_STR_ARG(n->name));
    p->kind = p->kernel->start ? TFD_EXEC_ASYNC : TFD_EXEC_KERNEL;
    if (!tfd_deprecated_check(n->op->name, c->g->versions.producer, &why))
        return TFD_OK;
    return tfd_fail(st, why.code, "%s\n\t [[{{node " TFD_STR_FMT "}}]]",
                    why.text, TFD_STR_ARG(n->name));
}

static const struct row *find_row(uint32_t flags)
{
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        if (flags & rows[i].op_flag)
            return &rows[i];
    return NULL;
}

static enum tfd_code classify_transfer(struct tfd_compiler *c,
                                       const struct tfd_node *n,
                                       struct tfd_plan_node *p,
                                       struct tfd_status *st)
{
    bool client;

    TFD_TRY(tfd_node_bool(n, "client_terminated", &client, st));
    if (!client) {
        p->kernel = tfd_peer_end_kernel(c->env->devices, p->device, n);
        p->kind = TFD_EXEC_ASYNC;
        return p->kernel ? TFD_OK : find_kernel(c, n, p, st);
    }
    p->kind = n->op->flags & TFD_OP_RECV ? TFD_EXEC_FEED : TFD_EXEC_FETCH;
    return TFD_OK;
}

/* Ends of a function's body; elsewhere they are nothing. */
static bool classify_end(const struct tfd_compiler *c, const struct tfd_node *n,
                         struct tfd_plan_node *p)
{
    if (!c->env->is_function)
        return false;
    if (tfd_str_is(n->op->name, "_Arg"))
        p->kind = TFD_EXEC_FEED;
    else if (tfd_str_is(n->op->name, "_Retval"))
        p->kind = TFD_EXEC_FETCH;
    else
        return false;
    return true;
}

static enum tfd_code classify_constant(struct tfd_compiler *c,
                                       const struct tfd_node *n,
                                       struct tfd_plan_node *p,
                                       struct tfd_status *st)
{
    int32_t number = c->e->constant_count;

    TFD_TRY(tfd_node_tensor(n, "value", &c->e->constants[number], st));
    c->e->constant_count++;
    if (c->e->constants[number].dtype != (enum tfd_dtype)n->out_types[0])
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Const " TFD_STR_FMT " has a value of type %s and is "
                        "declared %s",
                        TFD_STR_ARG(n->name),
                        tfd_dtype_name((int)c->e->constants[number].dtype),
                        tfd_dtype_name(n->out_types[0]));
    p->constant = number;
    p->bound = n->control_count == 0 && !p->feeds_merge;
    return TFD_OK;
}

static enum tfd_code classify_enter(const struct tfd_node *n,
                                    struct tfd_plan_node *p,
                                    struct tfd_status *st)
{
    bool constant;

    TFD_TRY(tfd_node_bool(n, "is_constant", &constant, st));
    if (constant)
        p->route = TFD_ROUTE_CONSTANT;
    return TFD_OK;
}

static enum tfd_code classify(struct tfd_compiler *c, const struct tfd_node *n,
                              struct tfd_status *st)
{
    struct tfd_plan_node *p = &c->nodes[n->id];
    const struct row *row = find_row(n->op->flags);

    TFD_TRY(find_device(c, n, &p->device, st));
    if (n->op->flags & (TFD_OP_SEND | TFD_OP_RECV))
        return classify_transfer(c, n, p, st);
    if (classify_end(c, n, p))
        return TFD_OK;
    if (!row)
        return find_kernel(c, n, p, st);
    p->kind = row->kind;
    p->route = row->route;
    if (n->op->flags & TFD_OP_CONST)
        return classify_constant(c, n, p, st);
    if (n->op->flags & TFD_OP_ENTER)
        return classify_enter(n, p, st);
    return TFD_OK;
}

static void count_uses(struct tfd_compiler *c, const struct tfd_node *n)
{
    for (int32_t i = 0; i < n->in_count; i++) {
        struct tfd_plan_node *from = &c->nodes[n->in[i].node];

        from->data_uses++;
        if (n->op->flags & TFD_OP_MERGE)
            from->feeds_merge = true;
    }
    for (int32_t i = 0; i < n->control_count; i++)
        c->nodes[n->control[i]].control_uses++;
}

static int other_memories(const struct tfd_devices *d)
{
    int count = 0;

    for (int i = 0; i < d->count; i++)
        count += d->device[i].memory != TFD_MEMORY_HOST;
    return count;
}

enum tfd_code tfd_compile_classify(struct tfd_compiler *c,
                                   struct tfd_status *st)
{
    int32_t constants = 0;

    for (int32_t i = 0; i < c->g->count; i++) {
        const struct tfd_node *n = c->g->nodes[i];

        for (int32_t j = 0; j < n->in_count; j++)
            if (n->in[j].node < 0)
                return tfd_fail(st, TFD_INVALID_ARGUMENT,
                                "input %d of node '" TFD_STR_FMT "' is missing",
                                j, TFD_STR_ARG(n->name));
        count_uses(c, n);
        constants += (n->op->flags & TFD_OP_CONST) != 0;
    }
    /* Each may be wanted in the memory of each device, too. */
    c->e->constants = tfd_arena_array(
        &c->e->arena,
        (size_t)constants * (1 + (size_t)other_memories(c->env->devices)) + 1,
        sizeof(struct tfd_tensor));
    TFD_TRY(tfd_arena_check(c->e->constants, "constants", st));
    for (int32_t i = 0; i < c->g->count; i++) {
        c->nodes[i].constant = -1;
        c->nodes[i].control = i;
        TFD_TRY(classify(c, c->g->nodes[i], st));
    }
    return TFD_OK;
}

/* ---- What need not run --------------------------------------------------- */

/* Waiting for the producer is waiting for its value: its outputs live and die
 * together, and arrive where it is. */
static bool stands_for_value(const struct tfd_compiler *c, int32_t node)
{
    const struct tfd_plan_node *p = &c->nodes[node];

    return p->route == TFD_ROUTE_HERE && p->kind != TFD_EXEC_SWITCH &&
           p->kind != TFD_EXEC_ASYNC && p->kind != TFD_EXEC_MERGE;
}

static bool may_elide_identity(const struct tfd_compiler *c,
                               const struct tfd_node *n)
{
    const struct tfd_plan_node *p = &c->nodes[n->id];

    if (!(n->op->flags & TFD_OP_IDENTITY) || n->control_count > 0 ||
        n->in_count != n->out_count || n->in_count == 0)
        return false;
    for (int32_t i = 0; i < n->in_count; i++) {
        struct tfd_edge from =
            c->alias[c->nodes[n->in[i].node].first_out + n->in[i].output];

        if (tfd_dtype_is_ref(tfd_graph_type(c->g, n->in[i])) ||
            c->nodes[from.node].device->memory != p->device->memory)
            return false;
        if (p->feeds_merge && c->nodes[from.node].bound)
            return false;
        if (p->control_uses > 0 &&
            (n->in_count > 1 || !stands_for_value(c, from.node)))
            return false;
    }
    return true;
}

static void elide_identity(struct tfd_compiler *c, const struct tfd_node *n)
{
    struct tfd_plan_node *p = &c->nodes[n->id];

    p->elided = true;
    for (int32_t i = 0; i < n->in_count; i++)
        c->alias[p->first_out + i] =
            c->alias[c->nodes[n->in[i].node].first_out + n->in[i].output];
    p->control = c->nodes[c->alias[p->first_out].node].control;
}

/* Called in the reverse of the order, so that chains of them go as well. */
static void drop_unused_noop(struct tfd_compiler *c, const struct tfd_node *n)
{
    struct tfd_plan_node *p = &c->nodes[n->id];

    if (!(n->op->flags & TFD_OP_NOOP) || p->control_uses > 0)
        return;
    p->elided = true;
    p->control = -1;
    for (int32_t i = 0; i < n->control_count; i++)
        c->nodes[n->control[i]].control_uses--;
}

static void elide_noop(struct tfd_compiler *c, const struct tfd_node *n)
{
    struct tfd_plan_node *p = &c->nodes[n->id];
    int32_t from = -1;

    if (!(n->op->flags & TFD_OP_NOOP) || p->elided || n->control_count > 1)
        return;
    if (n->control_count == 1) {
        from = c->nodes[n->control[0]].control;
        if (from >= 0 && c->nodes[from].route != TFD_ROUTE_HERE)
            return;
    }
    p->elided = true;
    p->control = from;
}

enum tfd_code tfd_compile_elide(struct tfd_compiler *c, struct tfd_status *st)
{
    int32_t outputs = 0;

    for (int32_t i = 0; i < c->g->count; i++) {
        c->nodes[i].first_out = outputs;
        outputs += c->g->nodes[i]->out_count;
    }
    c->alias = tfd_arena_array(&c->scratch, (size_t)outputs + 1,
                               sizeof(struct tfd_edge));
    TFD_TRY(tfd_arena_check(c->alias, "outputs of a graph", st));

    for (int32_t i = c->g->count - 1; i >= 0; i--)
        drop_unused_noop(c, c->g->nodes[c->order[i]]);
    for (int32_t i = 0; i < c->g->count; i++) {
        const struct tfd_node *n = c->g->nodes[c->order[i]];
        struct tfd_plan_node *p = &c->nodes[n->id];

        for (int32_t j = 0; j < n->out_count; j++)
            c->alias[p->first_out + j] = (struct tfd_edge){n->id, j};
        if (p->bound)
            p->control = -1;
        if (may_elide_identity(c, n))
            elide_identity(c, n);
        else
            elide_noop(c, n);
    }
    return TFD_OK;
}
