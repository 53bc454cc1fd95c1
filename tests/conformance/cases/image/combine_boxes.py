"""Cases of kernels/image/combine_boxes.c."""
import numpy as np

from tests.conformance.table import bad, c, row

RNG = np.random.RandomState(8)


def boxes(images, count, sets):
    corner = RNG.uniform(-0.2, 1, (images, count, sets, 2))
    return np.concatenate([corner, corner + RNG.uniform(-0.1, 0.4, corner.shape)], 3)


def scores(images, count, classes):
    """No two alike."""
    return (RNG.permutation(images * count * classes).reshape(
        images, count, classes) / (images * count * classes)).astype(np.float32)


# Equal scores of one class, for which the order of the heap shows; classes
# differ, as what TensorFlow does with equal ones of several is left open.
EQUAL = np.array([[[0.5], [0.5], [0.25], [0.5], [0.5], [0.75], [0.5], [0.25],
                   [0.5]]])
APART = np.array([[[[i, 0, i + 0.5, 1]] for i in range(9)]], np.float32)
SETS = [(boxes(2, 9, 1), scores(2, 9, 3)), (boxes(1, 40, 4), scores(1, 40, 4)),
        (APART, EQUAL), (boxes(3, 1, 1), scores(3, 1, 1)),
        (np.zeros([2, 0, 1, 4]), np.zeros([2, 0, 3])),
        (np.zeros([0, 5, 1, 4]), np.zeros([0, 5, 2])),
        (np.zeros([2, 5, 1, 4]), np.zeros([2, 5, 0])),
        (boxes(1, 3, 1), [[[np.nan, -np.inf], [np.inf, 0.5], [0.25, np.nan]]]),
        (np.full([1, 2, 1, 4], np.nan), [[[0.5], [0.25]]])]
WAYS = [dict(pad_per_class=pad, clip_boxes=clip) for pad in (False, True)
        for clip in (False, True)]
FEW, SOME = SETS[0]

row("CombinedNonMaxSuppression", [
    c(*case, most, total, iou, least, **way) for case in SETS for way in WAYS
    for most, total, iou, least in ((3, 7, 0.5, 0.0), (100, 20, 0.0, 0.3),
                                    (1, 1, 1.0, -1.0), (2, 4, 0.2, -np.inf))] + [
    bad(FEW[0], SOME, 3, 7, 0.5, 0.0), bad(FEW, SOME[0], 3, 7, 0.5, 0.0),
    bad(FEW[:, 0], SOME, 3, 7, 0.5, 0.0),
    bad(FEW, SOME[..., None], 3, 7, 0.5, 0.0),
    bad(boxes(2, 9, 2), SOME, 3, 7, 0.5, 0.0),
    bad(np.zeros([2, 9, 1, 3]), SOME, 3, 7, 0.5, 0.0),
    bad(FEW, scores(2, 8, 3), 3, 7, 0.5, 0.0),
    bad(FEW, scores(1, 9, 3), 3, 7, 0.5, 0.0),
    bad(FEW, SOME, [3], 7, 0.5, 0.0), bad(FEW, SOME, 3, [7], 0.5, 0.0),
    bad(FEW, SOME, 3, 7, [0.5], 0.0), bad(FEW, SOME, 3, 7, 0.5, [0.0]),
    bad(FEW, SOME, 0, 7, 0.5, 0.0), bad(FEW, SOME, -1, 7, 0.5, 0.0),
    bad(FEW, SOME, 3, 0, 0.5, 0.0), bad(FEW, SOME, 3, -7, 0.5, 0.0),
    bad(FEW, SOME, 3, 7, 1.5, 0.0), bad(FEW, SOME, 3, 7, -0.5, 0.0),
    bad(FEW, SOME, 3, 7, np.nan, 0.0)])
