"""Summaries: the same bytes; those with images are in ../summaries.py."""
import numpy as np

from tests.cluster.client import tf
from tests.conformance.cases.shared import REALS
from tests.conformance.inputs import Data, x
from tests.conformance.table import bad, c, many, once, row


def summary(*tags, value=1.0):
    return tf.Summary(value=[tf.Summary.Value(tag=tag, simple_value=value)
                             for tag in tags]).SerializeToString()


METADATA = tf.SummaryMetadata(display_name="d").SerializeToString()
row("ScalarSummary", [
    c([b"a", b"b"], x(2)), c(b"a", x()), c(b"", 0), c([[b"a"]], [[3]]),
    c(np.zeros([0], object), x(0)),
    c(b"a", np.nan, dtypes=REALS), bad(b"a", [2]), bad([b"a"], [[2]]),
    bad([b"a", b"b"], [2])])
row("HistogramSummary", [
    c(b"h", x(30)), c(b"h", x()), c(b"h", x(2, 3)), c(b"h", x(0)),
    c(b"h", [0, 0, 1]), once(b"h", x(300, 70)),
    c(b"h", [1e-12, -1e-12, 1.1e-12, 1e20, 1e19, -1.7e308, 1e-300],
      dtypes=["float64"]),
    bad(b"h", [1, np.nan], dtypes=REALS), bad(b"h", [1, np.inf]),
    bad([b"h"], [1, 2]), bad([b"h", b"i"], [1, 2])])
row("MergeSummary", [
    c(many(summary("a"), summary("b"))), c(many([summary("a", "b")], b"")),
    c(many(b"xx")), c(many(np.zeros([0], object))), c(many(summary(""), b"")),
    bad(many([summary("a")], summary("a"))), bad(many(summary("a", "a"))),
    bad(many(b"\x0a\xff")), bad(many(b"\x0a\x02\x0a\xff"))])
row("TensorSummaryV2", [
    c(b"t", x(2, 3), METADATA), c(b"t", x(), METADATA),
    c(b"", x(0), METADATA), c(b"t", x(3), b""), c(b"t", x(3), b"xx"),
    bad([b"t"], x(2), METADATA), bad(b"t", x(2), [METADATA])])
row("AudioSummaryV2", [
    c(b"g", [[0, .5, -.5, 1, -1, 2, 1e-5, .99999, .123456]], 44100),
    c(b"g", [[i / 65536 for i in range(-9, 10)]], 44100),
    c(b"g", [[.999999, 32767.4 / 32768, 32766.5 / 32768, -32767.5 / 32768,
              -32768.4 / 32768, np.inf, -np.inf, np.nan]], 44100),
    *(c(b"g", x(1, n), 8000) for n in (1, 2, 7, 8, 9, 15, 17, 31, 33, 65)),
    c(b"g", x(5, 9), 8000), c(b"g", x(5, 9), 8000, max_outputs=1),
    c(b"g", x(2, 3, 3), 22050.7), c(b"g", x(1, 0), 0.4), c(b"g", x(0, 3), 1),
    c(b"g", x(2, 300), 1, max_outputs=7), c(b"g", x(1, 5), [44100]),
    c(b"g", x(1, 2, 300), 44100.5),
    bad(b"g", x(1, 5), 0), bad(b"g", x(1, 5), -4), bad(b"g", x(1, 5), 1e12),
    bad(b"g", x(5), 44100), bad([b"g"], x(1, 5), 44100),
    bad(b"g", x(1, 1, 0), 44100), bad(b"g", x(1, 1, 65536), 44100),
    bad(b"g", x(1, 2), [1, 2])], Data(-1.2, 1.2))
