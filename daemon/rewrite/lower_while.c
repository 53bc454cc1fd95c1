/*
 * lower_while.c - While as a loop of the graph: see lower.h.
 *
 *     input -> enter -> merge -> switch -> exit -> output
 *                        ^  |      |
 *                        |  v      v
 *                        |  cond  body -> next_iteration -+
 *                        +--------------------------------+
 *
 * Handles of resources do not change in the loop: they enter as constants and
 * pass it by.  Cond waits for the first merge and body for the first switch, so
 * that what has no inputs in them runs in every iteration.
 */
#include "daemon/rewrite/lower.h"

#include "config/limits.h"

struct looping {
    struct tfd_edit *e;
    int32_t id;
    int32_t count; /* of inputs and outputs */
    const struct tfd_func *cond, *body;
    bool *constant; /* by input */
    int32_t *enter, *merge, *exit, *switches;
    int32_t first;     /* input that is not constant */
    int32_t loop_cond; /* node */
    int32_t body_call;
    int64_t parallel;
    struct tfd_str name, device;
    int32_t call;
};

static int32_t add_loop_node(struct looping *l, const char *infix,
                             const char *op, struct tfd_str device,
                             const struct tfd_edge *in, int32_t in_count)
{
    const struct tfd_edit_spec spec = {tfd_edit_new_name(l->e, l->name, infix),
                                       op,
                                       device,
                                       in,
                                       in_count,
                                       l->call};

    return tfd_edit_add(l->e, &spec);
}

/* ---- Inputs -------------------------------------------------------------- */

/* False when all inputs are handles, or their types cannot be read. */
static bool find_constants(struct looping *l)
{
    const struct tfd_node *n = &tfd_edit_at(l->e, l->id)->n;
    enum tfd_dtype *types =
        tfd_edit_array(l->e, l->count, sizeof(enum tfd_dtype));
    int count;

    if (!types || tfd_node_types(n, "T", types, l->count, &count, NULL) ||
        count != l->count)
        return false;
    l->first = -1;
    for (int32_t i = 0; i < l->count; i++) {
        l->constant[i] = types[i] == TFD_RESOURCE;
        if (!l->constant[i] && l->first < 0)
            l->first = i;
    }
    return l->first >= 0;
}

static void give_enter_attrs(struct looping *l, int32_t id, bool constant)
{
    struct tfd_bytes value;

    if (id < 0)
        return;
    tfd_bytes_init(&value, 2 * TFD_NAME_SIZE_MAX);
    tfd_attr_put_str(&value, l->name);
    tfd_edit_attr(l->e, id, "frame_name", &value);
    tfd_bytes_init(&value, TFD_ATTR_SIZE_MAX);
    tfd_attr_put_int(&value, l->parallel);
    tfd_edit_attr(l->e, id, "parallel_iterations", &value);
    tfd_bytes_init(&value, TFD_ATTR_SIZE_MAX);
    tfd_attr_put_bool(&value, constant);
    tfd_edit_attr(l->e, id, "is_constant", &value);
}

static int32_t add_control_inputs(struct looping *l)
{
    int32_t id;

    if (tfd_edit_at(l->e, l->id)->n.control_count == 0)
        return -1;
    id = add_loop_node(l, "LoopControlInputs", "NoOp", l->device, NULL, 0);
    tfd_lower_copy_control(l->e, l->id, id);
    return id;
}

static void add_enters(struct looping *l)
{
    int32_t before = add_control_inputs(l);

    for (int32_t i = 0; i < l->count && tfd_edit_ok(l->e); i++) {
        struct tfd_edge from = tfd_lower_input(l->e, l->id, i);

        l->enter[i] = add_loop_node(l, "enter", "Enter",
                                    tfd_edit_device(l->e, from.node), &from, 1);
        give_enter_attrs(l, l->enter[i], l->constant[i]);
        if (before >= 0)
            tfd_edit_control(l->e, l->enter[i], before);
    }
}

/* The second input is set when there is something to come back. */
static void add_merges(struct looping *l)
{
    for (int32_t i = 0; i < l->count && tfd_edit_ok(l->e); i++) {
        const struct tfd_edge in[] = {{l->enter[i], 0}, {l->enter[i], 0}};

        if (!l->constant[i])
            l->merge[i] = add_loop_node(
                l, "merge", "Merge", tfd_edit_device(l->e, l->enter[i]), in, 2);
    }
}

/* ---- The condition ------------------------------------------------------- */

static void add_cond(struct looping *l)
{
    struct tfd_edge *in = tfd_edit_array(l->e, l->count, sizeof(*in));
    struct tfd_edge predicate;

    if (!in)
        return;
    for (int32_t i = 0; i < l->count; i++)
        in[i] =
            (struct tfd_edge){l->constant[i] ? l->enter[i] : l->merge[i], 0};
    predicate = (struct tfd_edge){
        tfd_lower_add_call(l->e, tfd_edit_new_name(l->e, l->name, "cond"),
                           l->cond, l->id, in, l->count),
        0};
    if (predicate.node < 0)
        return;
    tfd_edit_control(l->e, predicate.node, l->merge[l->first]);
    l->loop_cond =
        add_loop_node(l, "LoopCond", "LoopCond", l->device, &predicate, 1);
}

static void add_switches(struct looping *l)
{
    for (int32_t i = 0; i < l->count && tfd_edit_ok(l->e); i++) {
        const struct tfd_edge in[] = {{l->merge[i], 0}, {l->loop_cond, 0}};

        if (!l->constant[i])
            l->switches[i] =
                add_loop_node(l, "switch", "Switch",
                              tfd_edit_device(l->e, l->merge[i]), in, 2);
    }
}

/* ---- The body ------------------------------------------------------------ */

static void add_body(struct looping *l)
{
    struct tfd_edge *in = tfd_edit_array(l->e, l->count, sizeof(*in));
    struct tfd_edge taken = {l->switches[l->first], 1};
    int32_t control;

    if (!in)
        return;
    for (int32_t i = 0; i < l->count; i++)
        in[i] = l->constant[i] ? (struct tfd_edge){l->enter[i], 0}
                               : (struct tfd_edge){l->switches[i], 1};
    l->body_call =
        tfd_lower_add_call(l->e, tfd_edit_new_name(l->e, l->name, "body"),
                           l->body, l->id, in, l->count);
    control = add_loop_node(l, "loop_body_control", "Identity",
                            tfd_edit_device(l->e, taken.node), &taken, 1);
    if (control >= 0)
        tfd_edit_control(l->e, l->body_call, control);
}

static void add_next_iterations(struct looping *l)
{
    for (int32_t i = 0; i < l->count && tfd_edit_ok(l->e); i++) {
        const struct tfd_edge from = {l->body_call, i};
        int32_t id;

        if (l->constant[i])
            continue;
        id = add_loop_node(l, "next_iteration", "NextIteration",
                           tfd_edit_device(l->e, l->merge[i]), &from, 1);
        if (id < 0)
            return;
        tfd_edit_control(l->e, id, l->body_call);
        tfd_edit_at(l->e, l->merge[i])->n.in[1] = (struct tfd_edge){id, 0};
    }
}

/* ---- Outputs ------------------------------------------------------------- */

static void add_exits(struct looping *l)
{
    struct tfd_edge *outputs = tfd_edit_array(l->e, l->count, sizeof(*outputs));
    int32_t executed =
        add_loop_node(l, "LoopExecuted", "NoOp", l->device, NULL, 0);

    if (!outputs || executed < 0)
        return;
    for (int32_t i = 0; i < l->count && tfd_edit_ok(l->e); i++) {
        const struct tfd_edge from = {l->switches[i], 0};

        outputs[i] = tfd_lower_input(l->e, l->id, i);
        if (l->constant[i])
            continue;
        l->exit[i] = add_loop_node(
            l, "exit", "Exit", tfd_edit_device(l->e, l->switches[i]), &from, 1);
        outputs[i] = (struct tfd_edge){l->exit[i], 0};
        tfd_edit_control(l->e, executed, l->exit[i]);
    }
    if (tfd_edit_ok(l->e))
        tfd_edit_replace(l->e, l->id, outputs, l->count, executed);
}

static bool make_loop_arrays(struct looping *l)
{
    l->constant = tfd_edit_array(l->e, l->count, sizeof(*l->constant));
    l->enter = tfd_edit_array(l->e, l->count, sizeof(int32_t));
    l->merge = tfd_edit_array(l->e, l->count, sizeof(int32_t));
    l->exit = tfd_edit_array(l->e, l->count, sizeof(int32_t));
    l->switches = tfd_edit_array(l->e, l->count, sizeof(int32_t));
    return tfd_edit_ok(l->e);
}

bool tfd_lower_while(struct tfd_edit *e, int32_t id,
                     const struct tfd_func *cond, const struct tfd_func *body)
{
    struct looping l = {
        .e = e,
        .id = id,
        .count = tfd_edit_at(e, id)->n.in_count,
        .cond = cond,
        .body = body,
        .name = tfd_edit_name(e, id),
        .device = tfd_edit_device(e, id),
        .call = tfd_edit_at(e, id)->call,
    };

    if (!make_loop_arrays(&l) || !find_constants(&l) ||
        tfd_node_int(&tfd_edit_at(e, id)->n, "parallel_iterations", &l.parallel,
                     NULL))
        return false;
    add_enters(&l);
    add_merges(&l);
    if (tfd_edit_ok(e))
        add_cond(&l);
    add_switches(&l);
    if (tfd_edit_ok(e))
        add_body(&l);
    if (tfd_edit_ok(e))
        add_next_iterations(&l);
    add_exits(&l);
    return true;
}
