"""Cases of kernels/image/project.c."""
from tests.conformance.inputs import Data, x
from tests.conformance.table import bad, c, once, row

SAME = [[1, 0, 0, 0, 1, 0, 0, 0]]
TURN = [[0.8, -0.6, 2.5, 0.6, 0.8, -1.5, 0, 0]]
TILT = [[1.1, 0.2, -3, 0.1, 0.9, 1, 0.05, -0.03]]
FAR = [[30, 2, -90, -7, 25, 300, 0, 0]]
EDGE = [[1, 0, 0, 0, 1, 0, -0.5, 0]]  # where it is infinite
TWO = [TURN[0], TILT[0]]
MODES = ("CONSTANT", "NEAREST", "REFLECT", "WRAP")
WAYS = [dict(interpolation=way, fill_mode=mode) for way in ("NEAREST", "BILINEAR")
        for mode in MODES]
PLAIN = {"interpolation": "NEAREST"}
CASES = [(x(2, 6, 7, 3), t, [5, 8]) for t in (SAME, TURN, TILT, FAR, EDGE, TWO)] + [
    (x(1, 1, 1, 2), TURN, [3, 3]), (x(0, 3, 3, 1), SAME, [2, 2]),
    (x(1, 1, 6, 1), FAR, [4, 4])]
BAD = [(x(3, 3, 3), SAME, [2, 2]), (x(2, 3, 3, 1), SAME[0], [2, 2]),
       (x(3, 3, 3, 1), TWO, [2, 2]), (x(1, 3, 3, 1), [[1.0] * 7], [2, 2]),
       (x(1, 3, 3, 1), SAME, [2]), (x(1, 3, 3, 1), SAME, [[2, 2]]),
       (x(1, 3, 3, 1), SAME, [0, 2]), (x(1, 3, 3, 1), SAME, [2, -1])]

FEW = ["float32", "uint8"]

row("ImageProjectiveTransformV2", [c(*CASES[1], **way) for way in WAYS] + [
    c(*case, dtypes=FEW, **way) for case in CASES for way in WAYS] + [
    once(x(2, 61, 47, 3), TURN, [70, 30], **way) for way in WAYS] + [
    bad(*case, **PLAIN) for case in BAD], Data(0, 200))
row("ImageProjectiveTransformV3", [
    c(*case, 7.0, dtypes=FEW, **way) for case in CASES[1:5] for way in WAYS[::2]] + [
    bad(*case, 1.0, **PLAIN) for case in BAD] + [
    bad(x(1, 3, 3, 1), SAME, [2, 2], [1.0], **PLAIN)], Data(0, 200))
