"""Which gradients of TensorFlow's Python libtfd has.

  python -m tests.conformance.registry

prints the ops of TensorFlow's registry of gradients that libtfd does not derive
as TensorFlow does, and why.  What libtfd does is the column of docs/ops.md,
which tests/lint compares with the tables.
"""
import importlib

from tensorflow.core.framework import types_pb2
from tensorflow.python.framework import op_def_registry
from tensorflow.python.framework import ops

from tests.conformance import pages

# Those that `import tensorflow` does not load.
MODULES = ("map_ops", "linalg.sparse.sparse_csr_matrix_grad", "optional_grad",
           "rnn_grad", "image_grad", "sparse_grad", "random_grad",
           "list_ops", "tensor_array_grad", "data_flow_grad", "manip_grad")
RAISES = "TensorFlow's function raises NotImplementedError"
NOTHING = "TensorFlow's function returns None"
# Op -> why libtfd has no gradient where TensorFlow's registry has a function.
WITHOUT = {
    **dict.fromkeys(("SparseDenseCwiseAdd", "SparseSparseMaximum",
                     "SparseSparseMinimum"), RAISES),
    **dict.fromkeys(("ArgMax", "ArgMin", "Ceil", "Floor", "FloorDiv", "Rint",
                     "Round", "TruncateDiv"), NOTHING),
    "LoopCond": "booleans have no derivative; loops are walked by Exit",
    "QuantizeAndDequantizeV4Grad":
        "TensorFlow's function takes one gradient, and the op has three outputs",
}
# Ops that TensorFlow calls NotDifferentiable, and libtfd derives: with zeros.
ZEROS = {"OnesLike", "ZerosLike"}


# Ops that TensorFlow has no entry for, so that asking is an error, and where
# libtfd says that there is no gradient: beginnings of names.
SILENT = {
    **dict.fromkeys(("Apply", "SparseApply", "Scatter"),
                    "the output is a variable, which no loss is made of"),
    **dict.fromkeys(("DecodeCSV", "Parse"), "floats are what stands for missing"),
    **dict.fromkeys(("Stateful", "NonDeterministicInts"),
                    "types of shapes, which are integers"),
    **dict.fromkeys(("_If", "_While"), "rewritten before they run"),
    **dict.fromkeys(("FusedPadConv2D", "FusedResizeAndPadConv2D"),
                    "graph tools make them of models that are trained"),
    "StackPushV2": "what gradients of loops keep",
    "NonMaxSuppressionV5": "indices, and the scores that were chosen",
}
DERIVED = {types_pb2.DT_HALF, types_pb2.DT_BFLOAT16, types_pb2.DT_FLOAT,
           types_pb2.DT_DOUBLE, types_pb2.DT_COMPLEX64, types_pb2.DT_COMPLEX128}


def is_derived(definition, arguments):
    """Whether one may have a type that has a derivative."""
    attrs = {attr.name: attr for attr in definition.attr}
    for argument in arguments:
        attr = attrs.get(argument.type_attr or argument.type_list_attr)
        allowed = attr.allowed_values.list.type if attr else [argument.type]
        if not allowed or DERIVED & set(allowed):
            return True
    return False


def silent(page, known):
    """Ops without an entry that stop gradients, but for those of SILENT."""
    for op, row in page.items():
        definition = op_def_registry.get(op)
        if (row.gradient == "none" and op not in known and definition and
                is_derived(definition, definition.input_arg) and
                is_derived(definition, definition.output_arg) and
                not op.startswith(tuple(SILENT))):
            yield "%s: docs/ops.md says none, not -" % op


def registered():
    """Op -> TensorFlow's function, or None of what is NotDifferentiable."""
    for name in MODULES:
        importlib.import_module("tensorflow.python.ops." + name)
    found = ops.gradient_registry._registry  # pylint: disable=protected-access
    return {op: entry["type"] for op, entry in found.items()}


def problem(op, function, said):
    """What is wrong with the column; "" when it is right."""
    if function is None:
        wanted = ("yes",) if op in ZEROS else ("none",)
    elif WITHOUT.get(op) == NOTHING:
        wanted = ("none",)
    elif op in WITHOUT:
        wanted = ("-", "none")
    else:
        wanted = ("yes",)
    return "" if said in wanted else "%s: docs/ops.md says %s, not %s" % (
        op, said, " or ".join(wanted))


def run():
    """(passed, failures) of each op that both know."""
    page = pages.rows()
    found = {op: problem(op, function, page[op].gradient)
             for op, function in registered().items() if op in page}
    failures = [text for text in found.values() if text]
    failures += silent(page, registered())
    return len(found) - len(failures), failures


def main():
    page = pages.rows()
    known = {op: f for op, f in registered().items() if op in page}
    for op in sorted(known):
        if op in WITHOUT:
            print("%-28s %-5s %s" % (op, page[op].gradient, WITHOUT[op]))
    print("%d ops with a function, %d not differentiable; %d as above" % (
        sum(f is not None for f in known.values()),
        sum(f is None for f in known.values()), len(WITHOUT)))
    print("\n".join(run()[1]))


if __name__ == "__main__":
    main()
