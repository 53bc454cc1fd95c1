"""Cases of kernels/text/string_split.c."""
import numpy as np

from tests.conformance.inputs import x
from tests.conformance.table import bad, c, once, row

TEXTS = [b"a,b,,c;d", b",", b"", b";,;", b"x", b",a", b"a,", b"\0,\0"]
WORDS = [b"a ", b" a  b c ", b"", b"  ", b"x\ty\nz", b"one", b"a\x0bb\x0cc"]
ANGLES = [b"a<>b<><>c", b"", b"<>", b"<", b"<<>>", b"a<>"]
# Words that begin and end at each place beside multiples of 64 bytes, and words
# of each size up to one that needs memory of its own.
EDGES = [b" " * (64 - a) + b"y" * (a + b) + rest for a in (0, 1, 2, 63, 64)
         for b in (0, 1, 62, 63, 64, 65, 129) for rest in (b"", b" ", b"\tz")]
SIZES = [b" ".join(b"abcdefghijklmnopqrstuvwxyz"[:i] for i in range(27)),
         b"  ".join(b"%d\xff" % 7 ** i for i in range(40))] + [
             b"p" * i + b" q" for i in range(21, 26)]
NONE = np.zeros([0], object)

row("StringSplit", [
    c(TEXTS, delimiter, skip_empty=skip)
    for delimiter in (b"", b",", b",;", b"\0", b"xyz")
    for skip in (True, False)] + [
        c(x(3), b"1"), c(NONE, b","), c(NONE, b"", skip_empty=False),
        c(EDGES + SIZES, b" "), c(EDGES + SIZES, b"\ty", skip_empty=True),
        c(EDGES + SIZES, b" ", skip_empty=False), c(SIZES * 50, b" "),
        once(x(3000), b"12"), once([b"a b " * 3000], b" "),
        bad(b"a", b","), bad([[b"a"]], b","), bad([b"a"], [b","])])
row("StringSplitV2", [
    c(WORDS, b"", maxsplit=most) for most in (-1, -7, 0, 1, 2, 100)] + [
        c(ANGLES, b"<>", maxsplit=most) for most in (-1, 0, 1, 2)] + [
            c(TEXTS, b","), c(TEXTS, b"\0", maxsplit=1), c(NONE, b","),
            c(EDGES + SIZES, b""), c(EDGES + SIZES, b" "), c(SIZES * 50, b""),
            c(EDGES + SIZES, b"", maxsplit=2),
            c(EDGES + SIZES, b"y"), c(EDGES + SIZES, b"z", maxsplit=-7),
            c([b"", b"y", b"yy", b"yay", b"a" * 70 + b"y" * 70], b"y"),
            c(NONE, b""), c(x(3), b"1"), once(x(3000), b"1"),
            once([b"a b " * 3000], b""),
            bad(b"a", b","), bad([[b"a"]], b","), bad([b"a"], [b","])])
