/*
 * control_flow.c - the primitives of conditionals and while loops: definitions
 * and shapes.
 *
 * The executor runs these itself, by their flags: they decide which nodes run
 * and how often, which no kernel could.  Their kernel rows say on which devices
 * they exist; reaching one is a mistake of the runtime.
 *
 * The gradient of a conditional is one the other way round: what arrives at a
 * Merge is switched to the input that came, and what arrives at the outputs of
 * a Switch is merged, zeros where nothing does.  Loops as a whole have theirs
 * (gradient_loop.h).
 */
#include "kernels/core/check.h"

#include "common/base/shape_long.h"
#include "kernels/core/families.h"
#include "kernels/core/gradient.h"

/* ---- Shapes -------------------------------------------------------------- */

static enum tfd_code switch_n_shape(struct tfd_shape_ctx *s,
                                    struct tfd_status *st)
{
    const struct tfd_shape scalar = {0, {0}};
    struct tfd_shape index = s->in[1];

    TFD_TRY(tfd_shape_merge(&index, &scalar, st));
    for (int i = 0; i < s->out_count; i++)
        s->out[i] = s->in[0];
    return TFD_OK;
}

static enum tfd_code switch_shape(struct tfd_shape_ctx *s,
                                  struct tfd_status *st)
{
    const struct tfd_shape scalar = {0, {0}};
    struct tfd_shape pred = s->in[1];

    TFD_TRY(tfd_shape_merge(&pred, &scalar, st));
    s->out[0] = s->out[1] = s->in[0];
    return TFD_OK;
}

/* What all inputs agree on. */
static void generalize(struct tfd_shape *into, const struct tfd_shape *s)
{
    if (tfd_shape_is_long(into) && tfd_shape_equal(into, s))
        return;
    if (into->rank != s->rank || tfd_shape_is_long(into)) {
        into->rank = TFD_RANK_UNKNOWN;
        return;
    }
    for (int i = 0; i < into->rank; i++)
        if (into->dim[i] != s->dim[i])
            into->dim[i] = TFD_DIM_UNKNOWN;
}

static enum tfd_code merge_shape(struct tfd_shape_ctx *s, struct tfd_status *st)
{
    (void)st;
    s->out[0] = s->in[0];
    for (int i = 1; i < s->in_count; i++)
        generalize(&s->out[0], &s->in[i]);
    s->out[1] = (struct tfd_shape){0, {0}};
    return TFD_OK;
}

/* Only a constant keeps its shape from iteration to iteration. */
static enum tfd_code enter_shape(struct tfd_shape_ctx *s, struct tfd_status *st)
{
    bool constant = false;

    if (s->node)
        TFD_TRY(tfd_node_bool(s->node, "is_constant", &constant, st));
    if (constant)
        s->out[0] = s->in[0];
    return TFD_OK;
}

static enum tfd_code loop_cond_shape(struct tfd_shape_ctx *s,
                                     struct tfd_status *st)
{
    s->out[0] = (struct tfd_shape){.rank = 0};
    if (s->in[0].rank <= 0) /* or unknown */
        return TFD_OK;
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "Shape must be rank 0 but is rank %d", s->in[0].rank);
}

/* ---- Gradients ----------------------------------------------------------- */

static enum tfd_code no_gradient(const struct tfd_grad *g, const char *why,
                                 struct tfd_status *st)
{
    return tfd_fail(st, TFD_NOT_FOUND,
                    "No gradient defined for op: " TFD_STR_FMT
                    " (operation '" TFD_STR_FMT "' %s)",
                    TFD_STR_ARG(g->node->op->name), TFD_STR_ARG(g->node->name),
                    why);
}

/* Alive as the output is. */
static struct tfd_edge or_zeros(struct tfd_gradient *b, struct tfd_edge dy,
                                struct tfd_edge y)
{
    return dy.node >= 0 ? dy : tfd_gradient_op1(b, "ZerosLike", y);
}

static enum tfd_code switch_grad(struct tfd_grad *g, struct tfd_status *st)
{
    struct tfd_gradient b = tfd_gradient_begin(g, st);
    struct tfd_edge in[2], out[2] = {TFD_EDGE_NONE, TFD_EDGE_NONE};
    const struct tfd_node *pred = g->graph->nodes[g->x[1].node];

    if (pred->op->flags & TFD_OP_LOOP_COND)
        return no_gradient(g, "is in a loop", st);
    in[0] = or_zeros(&b, g->dy[0], g->y[0]);
    in[1] = or_zeros(&b, g->dy[1], g->y[1]);
    if (b.code != TFD_OK)
        return b.code;
    TFD_TRY(tfd_grad_emit_attrs(g, "Merge", in, 2, NULL, 0, out, 2, st));
    g->dx[0] = out[0];
    return TFD_OK;
}

/* Of two inputs the number of the one that came is a predicate. */
static enum tfd_code merge_grad(struct tfd_grad *g, struct tfd_status *st)
{
    struct tfd_gradient b = tfd_gradient_begin(g, st);
    struct tfd_edge in[2];

    if (g->node->in_count == 1) {
        g->dx[0] = g->dy[0];
        return TFD_OK;
    }
    if (g->node->in_count != 2)
        return no_gradient(g, "has more than two inputs", st);
    if (g->dy[0].node < 0)
        return TFD_OK;
    in[0] = g->dy[0];
    in[1] = tfd_gradient_cast(&b, g->y[1], TFD_BOOL);
    TFD_TRY(b.code);
    return tfd_grad_emit_attrs(g, "Switch", in, 2, NULL, 0, g->dx, 2, st);
}

/* ---- Rows ---------------------------------------------------------------- */

static enum tfd_code run_by_executor(struct tfd_kctx *k, struct tfd_status *st)
{
    return tfd_fail(st, TFD_INTERNAL,
                    TFD_STR_FMT " is run by the executor and has no kernel",
                    TFD_STR_ARG(k->node->op->name));
}

#define SWITCH(name_, inputs_, outputs_, flags_)                        \
    {                                                                   \
        .name = (name_), .inputs = (inputs_), .outputs = (outputs_),    \
        .attrs = "T: type", .shape = switch_shape, .grad = switch_grad, \
        .flags = TFD_OP_SWITCH | (flags_),                              \
    }
#define MERGE(name_, inputs_, outputs_)                              \
    {                                                                \
        .name = (name_), .inputs = (inputs_), .outputs = (outputs_), \
        .attrs = "T: type; N: int >= 1", .shape = merge_shape,       \
        .grad = merge_grad, .flags = TFD_OP_MERGE,                   \
    }
#define ENTER(name_, inputs_, outputs_)                              \
    {                                                                \
        .name = (name_), .inputs = (inputs_), .outputs = (outputs_), \
        .attrs = "T: type; frame_name: string; "                     \
                 "is_constant: bool = false; "                       \
                 "parallel_iterations: int = 10",                    \
        .shape = enter_shape, .flags = TFD_OP_ENTER,                 \
    }
#define PASS(name_, inputs_, outputs_, flags_)                                \
    {                                                                         \
        .name = (name_), .inputs = (inputs_), .outputs = (outputs_),          \
        .attrs = "T: type", .shape = tfd_shape_like_first, .flags = (flags_), \
    }

static const struct tfd_opdef ops[] = {
    SWITCH("Switch", "data: T, pred: bool", "output_false: T, output_true: T",
           0),
    SWITCH("RefSwitch", "data: Ref(T), pred: bool",
           "output_false: Ref(T), output_true: Ref(T)",
           TFD_OP_UNINITIALIZED_OK),
    {
        .name = "_SwitchN",
        .inputs = "data: T, output_index: int32",
        .outputs = "outputs: num_outs * T",
        .attrs = "num_outs: int >= 1; T: type",
        .shape = switch_n_shape,
        .flags = TFD_OP_SWITCH,
    },
    MERGE("Merge", "inputs: N * T", "output: T, value_index: int32"),
    MERGE("RefMerge", "inputs: Ref(N * T)",
          "output: Ref(T), value_index: int32"),
    ENTER("Enter", "data: T", "output: T"),
    ENTER("RefEnter", "data: Ref(T)", "output: Ref(T)"),
    PASS("Exit", "data: T", "output: T", TFD_OP_EXIT),
    PASS("RefExit", "data: Ref(T)", "output: Ref(T)", TFD_OP_EXIT),
    PASS("NextIteration", "data: T", "output: T", TFD_OP_NEXT_ITERATION),
    PASS("RefNextIteration", "data: Ref(T)", "output: Ref(T)",
         TFD_OP_NEXT_ITERATION),
    {
        .name = "LoopCond",
        .inputs = "input: bool",
        .outputs = "output: bool",
        .shape = loop_cond_shape,
        .flags = TFD_OP_LOOP_COND,
    },
    {
        .name = "ControlTrigger",
        .shape = tfd_shape_none,
        .flags = TFD_OP_CONTROL_TRIGGER | TFD_OP_NO_GRADIENT,
    },
};

static const struct tfd_kernel kernels[] = {
    TFD_KERNEL_ANY("Switch", run_by_executor),
    TFD_KERNEL_ANY("RefSwitch", run_by_executor),
    TFD_KERNEL_ANY("_SwitchN", run_by_executor),
    TFD_KERNEL_ANY("Merge", run_by_executor),
    TFD_KERNEL_ANY("RefMerge", run_by_executor),
    TFD_KERNEL_ANY("Enter", run_by_executor),
    TFD_KERNEL_ANY("RefEnter", run_by_executor),
    TFD_KERNEL_ANY("Exit", run_by_executor),
    TFD_KERNEL_ANY("RefExit", run_by_executor),
    TFD_KERNEL_ANY("NextIteration", run_by_executor),
    TFD_KERNEL_ANY("RefNextIteration", run_by_executor),
    TFD_KERNEL_ANY("LoopCond", run_by_executor),
    TFD_KERNEL_ANY("ControlTrigger", run_by_executor),
};

const struct tfd_family tfd_family_control_flow = {
    .name = "control_flow",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
