"""Variables; updates of parts of them are in scatter.py."""
from tests.conformance.cases.shared import ANY
from tests.conformance.inputs import types_of, x
from tests.conformance.table import bad, c, once, row, var

row("Assign", [
    c(var(x(2, 3)), x(2, 3)), c(var(x()), x()), c(var(x(0)), x(0)),
    c(var(x(2, 3)), x(6), validate_shape=False),
    c(var(x(2, 3)), x(2, 3), use_locking=False), c(var(declared=[4]), x(4)),
    bad(var(x(2, 3)), x(3, 2)), bad(var(x(2)), x(3))], ANY)
row("AssignAdd AssignSub", [
    c(var(x(2, 3)), x(2, 3)), c(var(x()), x()), c(var(x(0)), x(0)),
    c(var(x(4)), x(4), use_locking=True), once(var(x(300, 70)), x(300, 70)),
    bad(var(x(2)), x(3)), bad(var(declared=[2]), x(2))], runs=2)
row("IsVariableInitialized", [c(var(x(2))), c(var(declared=[2]))],
    dtypes=types_of("Assign"))
row("ReadVariableOp", [c(var(x(2, 3))), c(var(x())), c(var(x(0, 2))),
                       bad(var(declared=[2]))], ANY,
    dtypes=types_of("AssignVariableOp"))
row("AssignVariableOp", [
    c(var(x(2, 3)), x(2, 3)), c(var(x()), x()), c(var(x(0)), x(0)),
    once(var(x(2), declared=None), x(2), validate_shape=True),
    bad(var(x(2)), x(3), validate_shape=True)], ANY)
row("AssignAddVariableOp AssignSubVariableOp", [
    c(var(x(2, 3)), x(2, 3)), c(var(x()), x()), c(var(x(0)), x(0)),
    once(var(x(300, 70)), x(300, 70)), bad(var(x(2)), x(3)),
    bad(var(declared=[2]), x(2))], runs=2)
row("VarIsInitializedOp", [
    c(var(x(2), "float32")), c(var(None, "int64", [2]))])
row("DisableCopyOnRead", [c(var(x(2, 3), "float32")),
                          bad(var(None, "float32", [2]))])
row("DestroyResourceOp", [
    c(var(x(2), "float32")), c(var(None, "float32", [2])),
    bad(var(None, "float32", [2]), ignore_lookup_error=False)], reads=False)
row("VariableShape", [
    c(var(x(2, 3), "float32")), c(var(x(), "int64")),
    c(var(x(0, 2), "string")), bad(var(None, "float32", [2]))], reads=False)

row("CountUpTo ResourceCountUpTo", [
    c(var(3), limit=9), c(var(-2 ** 31), limit=0),
    bad(var(4), limit=4), bad(var(4), limit=-4), bad(var([1]), limit=4),
    bad(var(declared=[]), limit=4)], runs=2)
