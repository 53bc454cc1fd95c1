"""Cases of kernels/text/string.c."""
import numpy as np

from tests.conformance.inputs import x
from tests.conformance.table import bad, c, many, row

row("StringJoin", [c(many(x(3), x(3))), c(many([b"a", b"b"], b"!")),
                   c(many(b"x")), c(many(x(2), x(2), x(2)), separator="-"),
                   c(many(x(0), x(0))), bad(many(x(2), x(3)))])
row("StaticRegexFullMatch", [
    c([b"s3://a", b"as3://", b""], pattern="^s3://.*"),
    c(b"train", pattern=".*t.*"), c([[b"abc"]], pattern="a[b-d]+c?"),
    c(np.zeros([0], object), pattern="x"), c(b"a\nb", pattern="a.b"),
    bad(b"x", pattern="(")])
row("ShardedFilename", [c(b"/a/model", 1, 12), c(b"", 0, 1),
                        bad([b"a"], 0, 1), bad(b"a", [0], 1)])
