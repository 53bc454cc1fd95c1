"""Cases of kernels/nn/batch_norm.c."""
from tests.conformance.inputs import Data, x
from tests.conformance.table import bad, c, once, row

POSITIVE = Data(0.1, 4)
NORM_WRONG = [
    bad(x(2, 3, 4), x(4), x(4), x(4), x(4)),
    bad(x(2, 3, 4, 2), x(3), x(2), x(2), x(2)),
    bad(x(2, 3, 4, 2), x(2), x(2, 1), x(2), x(2)),
    bad(x(2, 3, 4, 2), x(2), x(2), x(3), x(2), is_training=False),
    bad(x(2, 3, 4, 2), x(2), x(2), x(2), x(0), is_training=False),
    bad(x(2, 3, 4, 2), x(2), x(2), x(0), x(0), exponential_avg_factor=0.5)]
NORMS = [
    c(x(2, 3, 4, 5), x(5), x(5), x(5), x(5)),
    c(x(2, 3, 4, 5), x(5), x(5), x(0), x(0), epsilon=0.01),
    c(x(2, 3, 4, 5), x(5), x(5), x(5), x(5), epsilon=0.0),
    c(x(2, 3, 4, 5), x(5), x(5), x(5), x(5), epsilon=-0.01),
    c(x(2, 3, 4, 5), x(3), x(3), x(3), x(3), epsilon=-0.01,
      data_format="NCHW"),
    c(x(2, 3, 4, 5), x(5), x(5), x(5), x(5), is_training=False),
    c(x(2, 3, 4, 5), x(5), x(5), x(5), x(5), exponential_avg_factor=0.25),
    c(x(2, 3, 4, 5), x(3), x(3), x(3), x(3), data_format="NCHW"),
    c(x(2, 3, 4, 5), x(3), x(3), x(3), x(3), data_format="NCHW",
      is_training=False),
    c(x(2, 3, 4, 5), x(3), x(3), x(3), x(3), data_format="NCHW",
      exponential_avg_factor=0.25),
    # Channels, or what is within them, that are packs.
    c(x(2, 3, 4, 16), x(16), x(16), x(16), x(16), epsilon=-0.01),
    c(x(2, 3, 4, 12), x(12), x(12), x(12), x(12), is_training=False),
    c(x(2, 3, 4, 40), x(40), x(40), x(40), x(40), is_training=False),
    c(x(2, 3, 4, 6), x(3), x(3), x(3), x(3), data_format="NCHW",
      is_training=False),
    c(x(1, 1, 1, 3), x(3), x(3), x(3), x(3)),
    # Averages that nobody looks at.
    c(x(2, 3, 4, 2), x(2), x(2), x(3), x(1)),
    c(x(0, 3, 4, 2), x(2), x(2), x(2), x(2)),
    c(x(0, 3, 4, 2), x(2), x(2), x(2), x(2), is_training=False),
    once(x(8, 30, 30, 17), x(17), x(17), x(17), x(17))]
DEEP_NORMS = [
    c(x(2, 3, 2, 2, 5), x(5), x(5), x(5), x(5), data_format="NDHWC"),
    c(x(2, 3, 2, 2, 5), x(3), x(3), x(3), x(3), data_format="NCDHW")]


def filled(case):
    """TensorFlow leaves what it keeps for the gradient as it finds it, in
    inference and of no images."""
    if case.attrs.get("is_training", True) and 0 not in case.inputs[0].dims:
        return None
    return 3


row("FusedBatchNorm FusedBatchNormV2", NORMS + NORM_WRONG, POSITIVE, tol=16,
    defined=filled)
row("FusedBatchNormV3", NORMS + DEEP_NORMS + NORM_WRONG, POSITIVE, tol=16,
    defined=filled)


def norm_gradients(*more):
    return [
        c(x(2, 3, 4, 5), x(2, 3, 4, 5), x(5), x(5), x(5), *more),
        c(x(2, 3, 4, 5), x(2, 3, 4, 5), x(5), x(5), x(5), *more,
          is_training=False),
        c(x(2, 3, 4, 5), x(2, 3, 4, 5), x(3), x(3), x(3), *more,
          data_format="NCHW"),
        bad(x(2, 3, 4, 5), x(2, 3, 4, 5), x(3), x(3), x(3), *more,
            data_format="NCHW", is_training=False),
        c(x(2, 3, 4, 5), x(2, 3, 4, 5), x(5), x(5), x(5), *more,
          epsilon=-0.01),
        c(x(2, 3, 4, 5), x(2, 3, 4, 5), x(3), x(3), x(3), *more,
          epsilon=-0.01, data_format="NCHW"),
        c(x(2, 3, 4, 16), x(2, 3, 4, 16), x(16), x(16), x(16), *more,
          epsilon=-0.01),
        c(x(2, 3, 4, 40), x(2, 3, 4, 40), x(40), x(40), x(40), *more,
          is_training=False),
        c(x(1, 1, 1, 3), x(1, 1, 1, 3), x(3), x(3), x(3), *more),
        c(x(0, 3, 4, 2), x(0, 3, 4, 2), x(2), x(2), x(2), *more),
        once(x(8, 30, 30, 7), x(8, 30, 30, 7), x(7), x(7), x(7), *more),
        bad(x(2, 3, 4), x(2, 3, 4), x(4), x(4), x(4), *more),
        bad(x(2, 3, 4, 2), x(2, 3, 3, 2), x(2), x(2), x(2), *more),
        bad(x(2, 3, 4, 2), x(2, 3, 4, 2), x(3), x(2), x(2), *more),
        bad(x(2, 3, 4, 2), x(2, 3, 4, 2), x(2), x(0), x(2), *more),
        bad(x(2, 3, 4, 2), x(2, 3, 4, 2), x(2), x(2, 1), x(2), *more),
        bad(x(2, 3, 4, 2), x(2, 3, 4, 2), x(2, 1), x(2), x(2), *more),
        bad(x(2, 3, 4, 2), x(2, 3, 4, 2), x(2), x(2), x(3), *more),
        bad(x(2, 3, 4, 2), x(2, 3, 4, 2), x(2), x(2), x(2, 1), *more)]


row("FusedBatchNormGrad FusedBatchNormGradV2", norm_gradients(), POSITIVE,
    tol=64)
row("FusedBatchNormGradV3", norm_gradients(x(0)) + [
    c(x(2, 3, 2, 2, 5), x(2, 3, 2, 2, 5), x(5), x(5), x(5), x(0),
      data_format="NDHWC"),
    c(x(2, 3, 2, 2, 5), x(2, 3, 2, 2, 5), x(3), x(3), x(3), x(0),
      data_format="NCDHW")], POSITIVE, tol=64)
