"""Cases of kernels/text/letters.c."""
import numpy as np

from tests.conformance.inputs import x
from tests.conformance.table import bad, c, once, row

TEXTS = ["", "abc", "h\u00e9llo W\u00f6RLD", "\u65e5\u672c\u8a9e",
         "\U0001f600x", " \t a b\n\v\f\r ", "Stra\u00dfe \u0130I\u0131i",
         "\u03a3\u039f\u03a3 \u03c3\u03bf\u03c2", "\ufb01 \u01c5 \u0149",
         "A" * 100, "z{[@`"]
BYTES = [text.encode() for text in TEXTS]
BROKEN = [b"\xff", b"a\x80b", b"\xe2\x82", b"\xe2\x82A", b"\xed\xa0\x80",
          b"\xf4\x90\x80\x80", b"\xc0\xafZ", b"\xf0\x9f\x98", b"\0A\0b"]
# Pairs of letters that the ICU within TensorFlow does not know yet.
SINCE_UNICODE_14 = (0x2c2f, 0x2c5f, 0xa7c0, 0xa7c1, 0xa7d0, 0xa7d1, 0xa7d6,
                    0xa7d7, 0xa7d8, 0xa7d9)
NONE = np.zeros([0], object)

row("StringLength", [
    c(x(2, 3)), c(x()), c(x(0)), c(x(1, 2, 1, 2, 1, 2, 1)),
    c(x(2, 0, 3), unit="UTF8_CHAR"), c(BYTES), c(BROKEN),
    c(BYTES, unit="BYTE"), c(BYTES, unit="UTF8_CHAR"),
    c(BROKEN, unit="UTF8_CHAR"), once([b"\xc3\xa9" * 5000], unit="UTF8_CHAR"),
    once(x(300, 70))])
row("StringStrip", [
    c(x(2, 3)), c(x()), c(NONE), c(BYTES), c(BROKEN), c(b"  "), c(b" \0 "),
    c(" a\u00a0".encode()), c([[b"  left", b"right  "]]),
    once([b" " * 5000 + b"x" + b"\n" * 5000])])
CASES = [c(x(2, 3)), c(x()), c(NONE), c(NONE, encoding="utf-8"),
         c(BYTES), c(BROKEN), c(BYTES, encoding="utf-8"),
         c(BROKEN, encoding="utf-8"), c(b"", encoding="utf-8"),
         c([[b"a", b"B"]], encoding="utf-8"),
         once([b"aB" * 5000, "\u00c9".encode() * 5000], encoding="utf-8"),
         once([chr(i).encode() for i in range(1, 0xd800)
               if i not in SINCE_UNICODE_14], encoding="utf-8"),
         bad(b"a", encoding="utf-16"), bad(b"a", encoding="UTF-8")]
row("StringLower", CASES)
row("StringUpper", CASES)
