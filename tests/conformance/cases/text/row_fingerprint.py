"""Cases of kernels/text/row_fingerprint.c."""
from tests.conformance.inputs import x
from tests.conformance.table import bad, c, once, row

METHOD = b"farmhash64"

row("Fingerprint", [
    c(x(3), METHOD), c(x(2, 3), METHOD), c(x(3, 1), METHOD),
    c(x(4, 3, 5), METHOD), c(x(0), METHOD), c(x(0, 3), METHOD),
    c(x(2, 1, 2, 1, 2, 1, 2), METHOD), once(x(300, 70), METHOD),
    c([[b"a", b"bc"], [b"ab", b"c"]], METHOD, dtypes=["string"]),
    c([b"", b"x" * 100], METHOD, dtypes=["string"]),
    bad(x(), METHOD), bad(x(2), b"farm"), bad(x(2), b""),
    bad(x(2), [METHOD]), bad(x(2, 2), [b"a", b"b"])])
