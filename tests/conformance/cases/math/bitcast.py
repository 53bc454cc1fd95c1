"""Cases of kernels/math/bitcast.c."""
from tests.conformance.inputs import x
from tests.conformance.table import bad, c, row

row("Bitcast", [
    c(x(2, 3), type="int32", dtypes=("float32",)),
    c(x(2, 3), type="int8", dtypes=("float32", "int64", "complex128")),
    c(x(2, 4), type="float32", dtypes=("uint8", "int8")),
    c(x(2, 2), type="complex64", dtypes=("float32", "int32")),
    c(x(0), type="uint8", dtypes=("float64",)),
    c(x(), type="uint8", dtypes=("bfloat16",)),
    c(x(3), type="quint8", dtypes=("int8",)), c(x(5), type="float16",
                                                dtypes=("bfloat16",)),
    bad(x(2, 3), type="float64"), bad(x(), type="float64")], tol=0)
