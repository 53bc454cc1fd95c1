/*
 * lower_branches.c - If and Case as Switch and Merge: see lower.h.
 *
 *     chooser -> switch_pred -> pivot_t, pivot_f       (Case: pivot_0 ...)
 *     input   -> Switch ------> then, else             (_SwitchN)
 *     then, else -> Merge ----> output
 *     pivots ---> branch_executed, after both calls
 *
 * Each call waits for its pivot, so what has no inputs in the branch not taken
 * is dead, too.  branch_executed is alive when either branch has ended, which
 * is what those wait for who wait for the node.
 */
#include "daemon/rewrite/lower.h"

#include "config/limits.h"

#include <stdio.h>

struct branching {
    struct tfd_edit *e;
    int32_t id;
    bool boolean;
    const struct tfd_func *branches;
    int32_t count;
    struct tfd_edge chooser;
    int32_t *pivots, *calls; /* by branch */
    struct tfd_str name, device;
    int32_t call;
};

/* ---- For the other files ------------------------------------------------- */

struct tfd_edge tfd_lower_input(const struct tfd_edit *e, int32_t id, int32_t i)
{
    return tfd_edit_follow(e, tfd_edit_at(e, id)->n.in[i]);
}

void tfd_lower_copy_control(struct tfd_edit *e, int32_t from, int32_t to)
{
    for (int32_t i = 0;
         tfd_edit_ok(e) && i < tfd_edit_at(e, from)->n.control_count; i++)
        tfd_edit_control(e, to, tfd_edit_at(e, from)->n.control[i]);
}

int32_t tfd_lower_add_call(struct tfd_edit *e, struct tfd_str name,
                           const struct tfd_func *f, int32_t like,
                           const struct tfd_edge *in, int32_t in_count)
{
    const struct tfd_edit_spec spec = {
        name, "NoOp",   tfd_edit_device(e, like),
        in,   in_count, tfd_edit_at(e, like)->call};
    const struct tfd_function *function = tfd_function_find(e->g, f->name);
    int32_t id = tfd_edit_add(e, &spec);
    struct tfd_edit_node *n;
    struct tfd_bytes yes;
    int64_t outputs;

    if (id < 0 || !function) /* functions.c has looked before */
        return id;
    n = tfd_edit_at(e, id);
    n->n.op = &function->op;
    n->n.attrs = f->attrs;
    n->n.attr_count = f->attr_count;
    outputs = tfd_function_outputs(&n->n);
    n->n.out_count = outputs < 0 ? 0 : (int32_t)outputs;
    tfd_bytes_init(&yes, TFD_ATTR_SIZE_MAX);
    tfd_attr_put_bool(&yes, true);
    tfd_edit_attr(e, id, "_lower_as_multi_device_function", &yes);
    return id;
}

/* ---- Pieces -------------------------------------------------------------- */

static int32_t add_branch_node(struct branching *b, const char *infix,
                               const char *op, const struct tfd_edge *in,
                               int32_t in_count)
{
    const struct tfd_edit_spec spec = {tfd_edit_new_name(b->e, b->name, infix),
                                       op,
                                       b->device,
                                       in,
                                       in_count,
                                       b->call};

    return tfd_edit_add(b->e, &spec);
}

static void give_count(struct branching *b, int32_t id)
{
    struct tfd_bytes count;

    if (b->boolean || id < 0)
        return;
    tfd_bytes_init(&count, TFD_ATTR_SIZE_MAX);
    tfd_attr_put_int(&count, b->count);
    tfd_edit_attr(b->e, id, "num_outs", &count);
}

/* Which output of a Switch goes to branch i: "false" is the first. */
static int32_t side(const struct branching *b, int32_t i)
{
    return b->boolean ? 1 - i : i;
}

static void add_pivots(struct branching *b)
{
    const struct tfd_edge in[] = {b->chooser, b->chooser};
    const char *op = b->boolean ? "Switch" : "_SwitchN";
    int32_t chosen = add_branch_node(
        b, b->boolean ? "switch_pred" : "switch_idx", op, in, 2);
    char text[32];

    if (chosen < 0)
        return;
    give_count(b, chosen);
    tfd_lower_copy_control(b->e, b->id, chosen);
    for (int32_t i = 0; i < b->count; i++) {
        struct tfd_edge from = {chosen, side(b, i)};

        snprintf(text, sizeof(text), "pivot_%d", i);
        b->pivots[i] = add_branch_node(
            b, b->boolean ? (i == 0 ? "pivot_t" : "pivot_f") : text, "Identity",
            &from, 1);
    }
}

/* The switch is where the value is. */
static int32_t add_switch(struct branching *b, struct tfd_edge from)
{
    const struct tfd_edge in[] = {from, b->chooser};
    struct tfd_str source = tfd_edit_name(b->e, from.node);
    const struct tfd_edit_spec spec = {tfd_edit_new_name(b->e, source, NULL),
                                       b->boolean ? "Switch" : "_SwitchN",
                                       tfd_edit_device(b->e, from.node),
                                       in,
                                       2,
                                       b->call};
    int32_t id = tfd_edit_add(b->e, &spec);

    if (id >= 0)
        tfd_edit_colocate(b->e, id, source);
    give_count(b, id);
    return id;
}

static void add_call(struct branching *b, int32_t branch,
                     const int32_t *switches, int32_t count)
{
    struct tfd_edge *in = tfd_edit_array(b->e, count, sizeof(*in));
    char text[32];
    int32_t id;

    if (!in)
        return;
    for (int32_t i = 0; i < count; i++)
        in[i] = (struct tfd_edge){switches[i], side(b, branch)};
    snprintf(text, sizeof(text), "branch%d", branch);
    if (b->boolean)
        snprintf(text, sizeof(text), branch == 0 ? "then" : "else");
    id = tfd_lower_add_call(b->e, tfd_edit_new_name(b->e, b->name, text),
                            &b->branches[branch], b->id, in, count);
    if (id >= 0)
        tfd_edit_control(b->e, id, b->pivots[branch]);
    b->calls[branch] = id;
}

static void add_calls(struct branching *b)
{
    int32_t count = tfd_edit_at(b->e, b->id)->n.in_count - 1;
    int32_t *switches = tfd_edit_array(b->e, count, sizeof(*switches));

    for (int32_t i = 0; switches && i < count; i++)
        switches[i] = add_switch(b, tfd_lower_input(b->e, b->id, i + 1));
    for (int32_t i = 0; i < b->count && tfd_edit_ok(b->e); i++)
        add_call(b, i, switches, count);
}

/* ---- Outputs ------------------------------------------------------------- */

static int32_t add_merge(struct branching *b, int32_t output)
{
    struct tfd_edge *in = tfd_edit_array(b->e, b->count, sizeof(*in));
    char text[32];

    if (!in)
        return -1;
    for (int32_t i = 0; i < b->count; i++)
        in[i] = (struct tfd_edge){b->calls[i], output};
    snprintf(text, sizeof(text), "output_merge_%d", output);
    return add_branch_node(b, text, "Merge", in, b->count);
}

static int32_t add_executed(struct branching *b)
{
    struct tfd_edge *in = tfd_edit_array(b->e, b->count, sizeof(*in));
    int32_t id;

    if (!in)
        return -1;
    for (int32_t i = 0; i < b->count; i++)
        in[i] = (struct tfd_edge){b->pivots[i], 0};
    id = add_branch_node(b, "branch_executed", "Merge", in, b->count);
    for (int32_t i = 0; i < b->count && id >= 0; i++)
        tfd_edit_control(b->e, id, b->calls[i]);
    return id;
}

static void add_outputs(struct branching *b)
{
    int32_t count = tfd_edit_at(b->e, b->id)->n.out_count;
    struct tfd_edge *outputs = tfd_edit_array(b->e, count, sizeof(*outputs));
    int32_t executed;

    for (int32_t i = 0; outputs && i < count; i++)
        outputs[i] = (struct tfd_edge){add_merge(b, i), 0};
    executed = add_executed(b);
    if (tfd_edit_ok(b->e))
        tfd_edit_replace(b->e, b->id, outputs, count, executed);
}

void tfd_lower_branches(struct tfd_edit *e, int32_t id,
                        const struct tfd_func *branches, int32_t count,
                        bool boolean)
{
    struct branching b = {
        .e = e,
        .id = id,
        .boolean = boolean,
        .branches = branches,
        .count = count,
        .chooser = tfd_lower_input(e, id, 0),
        .pivots = tfd_edit_array(e, count, sizeof(int32_t)),
        .calls = tfd_edit_array(e, count, sizeof(int32_t)),
        .name = tfd_edit_name(e, id),
        .device = tfd_edit_device(e, id),
        .call = tfd_edit_at(e, id)->call,
    };

    if (!b.pivots || !b.calls)
        return;
    add_pivots(&b);
    add_calls(&b);
    if (tfd_edit_ok(e))
        add_outputs(&b);
}
