"""Cases of kernels/text/string.c."""
from tests.conformance.inputs import x
from tests.conformance.table import bad, c, many, row

# Each length of both parts up to one more than an element has room for.
LEFT = [b"abcdefghijklmnopqrstuvw"[:i] for i in range(24) for _ in range(24)]
RIGHT = [b"ABCDEFGHIJKLMNOPQRSTUVW"[:i] for _ in range(24) for i in range(24)]

row("StringJoin", [c(many(LEFT, RIGHT)), c(many(LEFT, RIGHT), separator="--"),
                   c(many(LEFT, b"!", RIGHT), separator="."),
                   c(many(LEFT, RIGHT), separator="-" * 23),
                   c(many(LEFT[:24], [b""] * 24, RIGHT[:24])),
                   c(many(x(3), x(3))), c(many([b"a", b"b"], b"!")),
                   c(many(b"x")), c(many(x(2), x(2), x(2)), separator="-"),
                   c(many(x(0), x(0))), bad(many(x(2), x(3)))])
row("ShardedFilename", [c(b"/a/model", 1, 12), c(b"", 0, 1),
                        bad([b"a"], 0, 1), bad(b"a", [0], 1)])
row("ShardedFilespec", [c(b"/a/model", 12), c(b"", 0), c(b"x", -1),
                        c(b"x", 1234567), bad([b"a"], 1), bad(b"a", [1])])
