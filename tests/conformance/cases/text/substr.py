"""Cases of kernels/text/substr.c."""
import numpy as np

from tests.conformance.inputs import x
from tests.conformance.table import bad, c, every, once, row

TEXT = "h\u00e9l\u65e5\U0001f600o".encode()
BROKEN = [b"\x80\x80a", b"a\x80\x80", b"\xe2\x82", b"\xff\xfe\xfd"]
UTF8 = dict(unit="UTF8_CHAR")
LENGTHS = [bytes(range(65, 65 + n)) for n in range(50)]
PLACES = [(pos, length) for pos in (0, 1, 3, 6, -1, -3, -6)
          for length in (0, 1, 2, 100)]

row("Substr", [
    every([b"abc", b"defg"], 1, 2), every([b"abc", b"defg"], [0, -1], [2, 9]),
    c(x(2, 3), 0, 1), c(x(), 0, 1), c(x(0), 0, 1), c(x(0), 5, 1),
    c(x(0), np.zeros([0]), np.zeros([0])), c(b"", 0, 0), c(b"abc", 3, 1),
    c(b"abc", -3, 100), c(b"abc", 1, -1), c(b"abc", -2, -1),
    c(b"abc", 1, -1, **UTF8), c(b"abc", [0, 1, 2], [1, 2, 3]),
    c(b"abc", [[0, 1, 2]], [[1, 2, 3]]),
    c([b"abc", b"de"], [[1], [2]], [[1], [2]]),
    c([[b"abc"], [b"de"]], [0, 1, 2], [1, 2, 3], **UTF8),
    c([b"abc", b"de"], [1], [1]), c([[b"abc", b"de"]], [0, 1], [1, 2]),
    c([[[b"abc", b"de"]]], [[[1, 0]]], [[[1, 2]]]),
    c([[[b"abc"], [b"de"]]], 1, 1), *(c(TEXT, *place) for place in PLACES),
    *(c(TEXT, *place, **UTF8) for place in PLACES),
    *(c(BROKEN, pos, 1, **UTF8) for pos in (0, 1, -1)),
    c(LENGTHS, 0, 100), c(LENGTHS[9:], 9, 3), c(LENGTHS[30:], -30, 22),
    c(LENGTHS[30:], -30, 23), c(LENGTHS[40:], list(range(10)), list(range(18, 28))),
    c([LENGTHS[30:40]] * 3, [[1], [2], [3]], [[15], [16], [17]]),
    c([[text] for text in LENGTHS[:9]], 0, 9),
    once(x(300, 70), 0, 2), once([b"x" * 5000] * 40, 17, 4000),
    bad(b"abc", 4, 1), bad(b"abc", -4, 1), bad(b"abc", -2, -1, **UTF8),
    bad(b"abc", 4, 1, **UTF8), bad(b"abc", -4, 1, **UTF8),
    bad([b"abc", b"a"], [1, 2], [1, 1]), bad([b"abc", b"a"], 2, 1),
    bad([b"abc", b"a"], [2], [1]), bad([b"abc", b"a"], [2], [1], **UTF8),
    bad([b"abc", b"de"], [[1], [5]], [[1], [2]]),
    bad([b"abc", b"de"], [[1], [5]], [[1], [2]], **UTF8),
    bad([b"abc", b"de"], [1, 1, 1], [1, 1, 1]), bad(b"abc", [1, 2], [1]),
    bad(b"abc", 1, [1]), bad([[[b"abc", b"de"]]], [1, 2], [1, 2])])
