"""Cases of kernels/image/distort_box.c: the same parts from the same seeds."""
import numpy as np

from tests.conformance.table import bad, c, once, row

ONE = [[[0.1, 0.2, 0.7, 0.9]]]
TWO = [[[0.0, 0.0, 0.3, 0.4], [0.5, 0.5, 1.0, 1.0]]]
THIN = [[[0.2, 0.3, 0.2, 0.8]], [[0.4, 0.9, 0.6, 0.1]]]  # without an area
NO_BOX = np.zeros([1, 0, 4])
SIZES = [[100, 120, 3], [7, 90, 1], [1, 1, 3], [2, 2, 0], [127, 3, -1]]
WIDE = {"aspect_ratio_range": [0.1, 9.0], "area_range": [0.2, 0.4]}
NARROW = {"aspect_ratio_range": [3.0, 0.2], "area_range": [0.9, 1.0], "max_attempts": 7}
NEVER = {"area_range": [0.5, 0.1], "max_attempts": 5}
WHOLE = {"use_image_if_no_bounding_boxes": True}
WAYS = [{}, WIDE, NARROW, NEVER, {"max_attempts": 1}]
CALLS = [(size, boxes, way) for size in SIZES for boxes in (ONE, TWO, THIN)
         for way in WAYS] + [
    (size, boxes, dict(WHOLE, **WIDE)) for size in SIZES
    for boxes in (ONE, NO_BOX, np.zeros([0, 3, 4]))] + [
    ([0, 5, 3], ONE, {}), ([5, 0, 3], NO_BOX, WHOLE), ([0, 0, 0], ONE, {})]
LARGE = [([1080, 1920, 3], TWO, {}), ([70000, 60000, 3], ONE, WIDE),
         ([2 ** 31 - 2, 2 ** 31 - 2, 3], ONE, {"max_attempts": 9}),
         ([30000, 2 ** 31 - 2, 3], ONE, {"aspect_ratio_range": [1e-30, 1e30]}),
         ([400, 400, 3], ONE, {"aspect_ratio_range": [1e-9, 1e-8]})]
BAD_INPUTS = [([9, 9], ONE), (9, ONE), ([[9, 9, 3]], ONE), ([-1, 9, 3], ONE),
              ([9, -1, 3], ONE), ([2 ** 31 - 1, 9, 3], ONE), ([9, 9, 3], ONE[0]),
              ([9, 9, 3], [[[0, 0, 1]]]), ([9, 9, 3], NO_BOX),
              ([9, 9, 3], [[[0, 0, 1, 1.5]]]), ([9, 9, 3], [[[-0.25, 0, 1, 1]]]),
              ([9, 9, 3], [[[0, np.nan, 1, 1]]])]
BAD_WAYS = [{"aspect_ratio_range": [0.5]}, {"aspect_ratio_range": [0.5, 0.0]},
            {"aspect_ratio_range": [-1.5, 2.0]}, {"area_range": [0.1, 0.2, 0.3]},
            {"area_range": [0.0, 0.5]}, {"area_range": [0.5, 1.25]}, {"area_range": []},
            {"max_attempts": 0}, {"max_attempts": -3}]
COVERED = (0.1, 0.0, 0.75, 1.5)


def numbered(make, calls, covered):
    """A seed for each call."""
    return [make(size, boxes, seed=41, seed2=number, **way, **covered(number))
            for number, (size, boxes, way) in enumerate(calls)]


def seeded(make, calls):
    return [make(size, boxes, COVERED[number % 4], seed=number, seed2=43, **way)
            for number, (size, boxes, way) in enumerate(calls)]


row("SampleDistortedBoundingBox", numbered(
    c, CALLS, lambda i: {"min_object_covered": COVERED[i % 4]}) + numbered(
    once, LARGE, lambda i: {}) + [
    bad(*case, seed=1) for case in BAD_INPUTS] + [
    bad([9, 9, 3], ONE, seed=1, **way) for way in BAD_WAYS] + [
    bad([9, 9, 3], ONE, seed=1, min_object_covered=-0.5)], tol=0, runs=3)
row("SampleDistortedBoundingBoxV2", seeded(c, CALLS) + seeded(once, LARGE) + [
    bad(*case, 0.1, seed=1) for case in BAD_INPUTS] + [
    bad([9, 9, 3], ONE, 0.1, seed=1, **way) for way in BAD_WAYS] + [
    bad([9, 9, 3], ONE, covered, seed=1) for covered in (-0.5, [0.5], np.nan)],
    tol=0, runs=3)
row("StatelessSampleDistortedBoundingBox", [
    make(size, boxes, COVERED[number % 4], [number, -5], **way)
    for make, calls in ((c, CALLS), (once, LARGE))
    for number, (size, boxes, way) in enumerate(calls)] + [
    bad(*case, 0.1, [1, 2]) for case in BAD_INPUTS] + [
    bad([9, 9, 3], ONE, 0.1, [1, 2], **way) for way in BAD_WAYS] + [
    bad([9, 9, 3], ONE, covered, [1, 2]) for covered in (-0.5, [0.5])] + [
    bad([9, 9, 3], ONE, 0.1, seed) for seed in (1, [1], [1, 2, 3], [[1, 2]])], tol=0)
