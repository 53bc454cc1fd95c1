"""Cases of kernels/text/string_split.c."""
import numpy as np

from tests.conformance.inputs import x
from tests.conformance.table import bad, c, once, row

TEXTS = [b"a,b,,c;d", b",", b"", b";,;", b"x", b",a", b"a,", b"\0,\0"]
WORDS = [b"a ", b" a  b c ", b"", b"  ", b"x\ty\nz", b"one", b"a\x0bb\x0cc"]
ANGLES = [b"a<>b<><>c", b"", b"<>", b"<", b"<<>>", b"a<>"]
NONE = np.zeros([0], object)

row("StringSplit", [
    c(TEXTS, delimiter, skip_empty=skip)
    for delimiter in (b"", b",", b",;", b"\0", b"xyz")
    for skip in (True, False)] + [
        c(x(3), b"1"), c(NONE, b","), c(NONE, b"", skip_empty=False),
        once(x(3000), b"12"), once([b"a b " * 3000], b" "),
        bad(b"a", b","), bad([[b"a"]], b","), bad([b"a"], [b","])])
row("StringSplitV2", [
    c(WORDS, b"", maxsplit=most) for most in (-1, -7, 0, 1, 2, 100)] + [
        c(ANGLES, b"<>", maxsplit=most) for most in (-1, 0, 1, 2)] + [
            c(TEXTS, b","), c(TEXTS, b"\0", maxsplit=1), c(NONE, b","),
            c(NONE, b""), c(x(3), b"1"), once(x(3000), b"1"),
            once([b"a b " * 3000], b""),
            bad(b"a", b","), bad([[b"a"]], b","), bad([b"a"], [b","])])
