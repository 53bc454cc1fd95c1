/*
 * control_flow.c - the primitives of conditionals and while loops: definitions
 * and shapes.
 *
 * The executor runs these itself, by their flags: they decide which nodes run
 * and how often, which no kernel could.  Their kernel rows say on which devices
 * they exist; reaching one is a mistake of the runtime.
 *
 * Gradients of loops need the reverse graph of the loop; neither they nor those
 * of Switch and Merge are here.
 */
#include "kernels/check.h"
#include "kernels/families.h"

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
    if (into->rank != s->rank) {
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
    const struct tfd_shape scalar = {0, {0}};

    s->out[0] = s->in[0];
    return tfd_shape_merge(&s->out[0], &scalar, st);
}

/* ---- Rows ---------------------------------------------------------------- */

static enum tfd_code run_by_executor(struct tfd_kctx *k, struct tfd_status *st)
{
    return tfd_fail(st, TFD_INTERNAL,
                    TFD_STR_FMT " is run by the executor and has no kernel",
                    TFD_STR_ARG(k->node->op->name));
}

#define SWITCH(name_, inputs_, outputs_, flags_)                     \
    {                                                                \
        .name = (name_), .inputs = (inputs_), .outputs = (outputs_), \
        .attrs = "T: type", .shape = switch_shape,                   \
        .flags = TFD_OP_SWITCH | (flags_),                           \
    }
#define MERGE(name_, inputs_, outputs_)                              \
    {                                                                \
        .name = (name_), .inputs = (inputs_), .outputs = (outputs_), \
        .attrs = "T: type; N: int >= 1", .shape = merge_shape,       \
        .flags = TFD_OP_MERGE,                                       \
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
