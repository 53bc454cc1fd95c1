"""Strings and files."""
import gzip
import zlib

import numpy as np

from tests.conformance.cases.shared import REALS
from tests.conformance.inputs import types_of, x
from tests.conformance.table import bad, c, many, row

PIXELS = bytes(range(256)) * 9
row("StringJoin", [c(many(x(3), x(3))), c(many([b"a", b"b"], b"!")),
                   c(many(b"x")), c(many(x(2), x(2), x(2)), separator="-"),
                   c(many(x(0), x(0))), bad(many(x(2), x(3)))])
row("StaticRegexFullMatch", [
    c([b"s3://a", b"as3://", b""], pattern="^s3://.*"),
    c(b"train", pattern=".*t.*"), c([[b"abc"]], pattern="a[b-d]+c?"),
    c(np.zeros([0], object), pattern="x"), c(b"a\nb", pattern="a.b"),
    bad(b"x", pattern="(")])
row("ShardedFilename", [c(b"/a/model", 1, 12), c(b"", 0, 1),
                        bad([b"a"], 0, 1), bad(b"a", [0], 1)])
row("ReadFile", [c(__file__.encode()), bad(b"/no/such/file"), bad(b"/"),
                 bad([__file__.encode()] * 2), bad(b"")])
row("DecodeCompressed", [
    c([zlib.compress(PIXELS)], compression_type="ZLIB"),
    c(gzip.compress(PIXELS), compression_type="GZIP"), c([[b"as is"]]),
    c([zlib.compress(b""), zlib.compress(b"b" * 70000)],
      compression_type="ZLIB"),
    c([zlib.compress(PIXELS)[:99]], compression_type="ZLIB"),
    bad([zlib.compress(PIXELS)[2:]], compression_type="ZLIB"),
    bad([b"nothing"], compression_type="GZIP")])
RAW = [t for t in types_of("DecodeRaw") if t != "bool"]
row("DecodeRaw", [
    c([PIXELS[:32], PIXELS[32:64]], dtypes=RAW),
    c(PIXELS[:16], little_endian=False, dtypes=RAW), c([[b"\0\1" * 8]]),
    c(np.array([b""], object)), c(np.zeros([0], object)),
    bad([PIXELS[:3]], out_type="int32"),
    bad([PIXELS[:4], PIXELS[:8]])], tol=0)

STYLES = [dict(precision=2), dict(scientific=True), dict(shortest=True),
          dict(precision=3, shortest=True, width=3, fill="#"),
          dict(precision=0, fill=" "), dict(precision=12, scientific=True)]
WIDTHS = [dict(width=12, fill=fill) for fill in ("", " ", "0", "-", "+")] + [
    dict(fill="+"), dict(width=-2), dict(width=300), dict(precision=-2)]
NO_STYLE = ("int32", "int64", "bool", "uint8")
row("AsString", [c(x(3, 4)), c(x()), c(x(0, 2))] +
    [c(x(3, 4), **style) for style in WIDTHS] +
    [c(x(3, 4), dtypes=REALS + ("complex64", "complex128", "string"), **style)
     for style in STYLES] +
    [bad([1], dtypes=[dtype], **style) for dtype in NO_STYLE
     for style in STYLES[:3]] + [
        c([np.nan, np.inf, -np.inf, -0.0, 1e30, 1e-30],
          dtypes=("float32", "float64")),
        c([2.0 ** -7, 3 * 2.0 ** -7, -5e-7, 5e-7, 0.9999995, 2.0 ** 43,
           2.0 ** 63, 1e-310], dtypes=["float64"]),
        c(np.arange(-3000, 3000) / 128, dtypes=["float32", "float64"]),
        c([np.nan, np.inf, 1], width=8, fill="0", dtypes=["float32"]),
        bad([1], scientific=True, shortest=True, dtypes=["float32"]),
        bad([1], fill="ab", dtypes=["float32"]),
        bad([1], fill="x", dtypes=["float32"])],
    tol=0)
