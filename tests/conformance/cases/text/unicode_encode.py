"""Cases of kernels/text/unicode_encode.c."""
import numpy as np

from tests.conformance.table import bad, c, every, once, row

POINTS = [72, 0xe9, 0x7f, 0x80, 0x7ff, 0x800, 0xffff, 0x10000, 0x10ffff, 0]
WRONG = [72, -1, 0xd800, 0x110000, 0xfffe, 0xfdd0, 0xdfff, 1]
ENCODINGS = [dict(output_encoding=name)
             for name in ("UTF-8", "UTF-16-BE", "UTF-32-BE")]
NONE = np.zeros([0])
ONE = ENCODINGS[0]

row("UnicodeEncode", [
    every(POINTS, [0, 3, 3, 10], **way) for way in ENCODINGS] + [
        c(WRONG, [0, 8], errors=errors, **way) for way in ENCODINGS
        for errors in ("replace", "ignore")] + [
            c(WRONG, [0, 8], replacement_char=char, **way)
            for way in ENCODINGS for char in (0, 65, 0x1f600, 0x10ffff)] + [
                c(POINTS, [0, 10], errors="strict", **ONE),
                c(NONE, [0], **ONE), c(NONE, [0, 0], **ONE),
                once(np.arange(0x20, 0xd800), [0, 9, 0xd7e0], **ONE),
                bad(WRONG, [0, 8], errors="strict", **ONE),
                bad(POINTS, [0, 9], **ONE), bad(POINTS, [0, 11], **ONE),
                bad(POINTS, [1, 10], **ONE), bad(POINTS, [0, 9, 8, 10], **ONE),
                bad(POINTS, [0, -1, 10], **ONE), bad(POINTS, NONE, **ONE),
                bad(POINTS, [0], **ONE), bad(POINTS, 0, **ONE),
                bad(POINTS, [[0, 10]], **ONE), bad([POINTS], [0, 10], **ONE),
                bad(POINTS, [0, 10], replacement_char=-1, **ONE),
                bad(POINTS, [0, 10], replacement_char=0x110000, **ONE)])
# Letters of Unicode 13, which the ICU within TensorFlow knows.
row("UnicodeScript", [
    c([72, -1, 0x110000, 0x65e5, 0x1f600, 0xd800, 0xe000, 0x3b1, 0]),
    c(0x5d0), c(NONE), c([[0x3042, 0x30a2], [0xac00, 0x0e01]]),
    once(np.arange(0x20, 0x590))])
