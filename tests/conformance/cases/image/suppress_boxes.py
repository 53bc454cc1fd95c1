"""Cases of kernels/image/suppress_boxes.c."""
import numpy as np

from tests.conformance.table import bad, c, row

RNG = np.random.RandomState(5)
FEW = [[0, 0, 1, 1], [0, 0.1, 1, 1.1], [0, -0.1, 1, 0.9], [0, 10, 1, 11],
       [0, 10.1, 1, 11.1], [0, 100, 1, 101], [1, 1, 0, 0], [0.5, 0.5, 0.5, 2]]
SCORES = [0.9, 0.75, 0.6, 0.95, 0.5, 0.3, 0.9, 0.1]
CORNER = RNG.uniform(0, 4, (60, 2))
MANY = np.concatenate([CORNER, CORNER + RNG.uniform(-1, 2, (60, 2))], 1)
SOME = np.round(RNG.uniform(-1, 1, 60), 2)
NO_BOX = np.zeros([0, 4])
SETS = [(FEW, SCORES), (MANY, SOME), (NO_BOX, []), (FEW, [np.nan, -np.inf, np.inf] + [0.5] * 5)]
BAD = [([1, 2, 3, 4], SCORES), ([[1, 2, 3]], [0.5]), (FEW, SCORES[:3]), (FEW, [SCORES])]

row("NonMaxSuppression", [
    c(*case, n, iou_threshold=iou) for case in SETS for n in (0, 3, 100)
    for iou in (0.0, 0.5, 1.0)] + [bad(*case, 3) for case in BAD] + [
    bad(FEW, SCORES, -1), bad(FEW, SCORES, [3]), bad(FEW, SCORES, 3, iou_threshold=1.5),
    bad(FEW, SCORES, 3, iou_threshold=-0.5)])
row("NonMaxSuppressionV2", [
    c(*case, n, iou) for case in SETS for n in (0, 3, 100) for iou in (0.0, 0.5, 1.0)] + [
    bad(*case, 3, 0.5) for case in BAD] + [
    bad(FEW, SCORES, -1, 0.5), bad(FEW, SCORES, [3], 0.5), bad(FEW, SCORES, 3, 1.5),
    bad(FEW, SCORES, 3, -0.5), bad(FEW, SCORES, 3, [0.5]), bad(FEW, SCORES, 3, np.nan)])
WITH_SCORES = [c(*case, n, iou, least) for case in SETS for n in (0, 3, 100)
               for iou, least in ((0.5, 0.4), (0.25, -2.0), (0.75, 0.0))] + [
    bad(*case, 3, 0.5, 0.0) for case in BAD] + [
    bad(FEW, SCORES, -1, 0.5, 0.0), bad(FEW, SCORES, [3], 0.5, 0.0),
    bad(FEW, SCORES, 3, 1.5, 0.0), bad(FEW, SCORES, 3, [0.5], 0.0),
    bad(FEW, SCORES, 3, 0.5, [0.0])]
row("NonMaxSuppressionV3", WITH_SCORES)
row("NonMaxSuppressionV4", WITH_SCORES + [
    c(*case, 12, 0.5, 0.2, pad_to_max_output_size=True) for case in SETS])
row("NonMaxSuppressionV5", [
    c(*case, n, iou, least, sigma, pad_to_max_output_size=pad) for case in SETS
    for n in (0, 4, 100) for pad in (False, True)
    for iou, least, sigma in ((0.5, 0.4, 0.0), (0.5, -2.0, 0.5), (0.25, 0.0, 1.0))] + [
    bad(*case, 3, 0.5, 0.0, 0.0) for case in BAD] + [
    bad(FEW, SCORES, 3, 0.5, 0.0, -1.0), bad(FEW, SCORES, 3, 0.5, 0.0, [1.0]),
    bad(FEW, SCORES, 3, 0.5, [0.0], 1.0), bad(FEW, SCORES, -3, 0.5, 0.0, 1.0)])

OVERLAPS = RNG.uniform(0, 1, (8, 8))
row("NonMaxSuppressionWithOverlaps", [
    c(OVERLAPS, SCORES, n, most, least) for n in (0, 3, 100)
    for most, least in ((0.5, 0.0), (0.2, 0.6), (1.5, -1.0), (-1.0, 0.0))] + [
    c(np.zeros([0, 0]), [], 3, 0.5, 0.0),
    bad(OVERLAPS, SCORES[:3], 3, 0.5, 0.0), bad(OVERLAPS[:3], SCORES, 3, 0.5, 0.0),
    bad([0.5], [0.5], 3, 0.5, 0.0), bad(OVERLAPS, SCORES, [3], 0.5, 0.0),
    bad(OVERLAPS, SCORES, 3, [0.5], 0.0), bad(OVERLAPS, SCORES, 3, 0.5, [0.0]),
    bad(OVERLAPS, SCORES, -1, 0.5, 0.0)])
