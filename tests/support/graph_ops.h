/*
 * graph_ops.h - ops of every form that a graph knows, and a graph of them for
 * each test of common/graph/graph*.c.
 */
#ifndef TFD_TESTS_SUPPORT_GRAPH_OPS_H
#define TFD_TESTS_SUPPORT_GRAPH_OPS_H

#include "tests/support/graph_rig.h"

static const struct tfd_opdef graph_ops[] = {
    {.name = "NoOp"},
    {.name = "Source", .outputs = "o: T", .attrs = "T: type"},
    {.name = "Identity",
     .inputs = "input: T",
     .outputs = "output: T",
     .attrs = "T: type"},
    {.name = "Relu",
     .inputs = "features: T",
     .outputs = "activations: T",
     .attrs = "T: {float, half}"},
    {.name = "Var", .outputs = "ref: Ref(T)", .attrs = "T: type"},
    {.name = "Assign",
     .inputs = "ref: Ref(T), value: T",
     .outputs = "output_ref: Ref(T)",
     .attrs = "T: type; use_locking: bool = true"},
    {.name = "AddN",
     .inputs = "inputs: N * T",
     .outputs = "sum: T",
     .attrs = "N: int >= 1; T: type"},
    {.name = "ConcatV2",
     .inputs = "values: N * T, axis: Tidx",
     .outputs = "output: T",
     .attrs = "N: int >= 2; T: type; Tidx: {int32, int64} = DT_INT32"},
    {.name = "Stitch",
     .inputs = "indices: N * int32, data: N * T",
     .outputs = "merged: T",
     .attrs = "N: int; T: type"},
    {.name = "IdentityN",
     .inputs = "input: T",
     .outputs = "output: T",
     .attrs = "T: list(type) >= 1"},
    {.name = "Split",
     .inputs = "value: T",
     .outputs = "output: num_split * T",
     .attrs = "num_split: int; T: type"},
    {.name = "Conv",
     .inputs = "input: T",
     .outputs = "output: T",
     .attrs = "T: type; padding: {'SAME', 'VALID'}; s: shape = {}"},
    {.name = "Const",
     .outputs = "output: dtype",
     .attrs = "value: tensor; dtype: type",
     .key = "dtype"},
    {.name = "Merge",
     .inputs = "inputs: N * T",
     .outputs = "output: T, value_index: int32",
     .attrs = "N: int >= 1; T: type",
     .flags = TFD_OP_MERGE},
    {.name = "NextIteration",
     .inputs = "data: T",
     .outputs = "output: T",
     .attrs = "T: type",
     .flags = TFD_OP_NEXT_ITERATION},
};

static inline int setup(void **state)
{
    (void)state;
    open_graph(graph_ops, sizeof(graph_ops) / sizeof(graph_ops[0]));
    return 0;
}

static inline int teardown(void **state)
{
    (void)state;
    close_graph();
    return 0;
}

static inline struct tfd_attr attr(const char *name, struct tfd_bytes *b)
{
    return (struct tfd_attr){tfd_str_of(name), tfd_bytes_view(b)};
}

#endif
