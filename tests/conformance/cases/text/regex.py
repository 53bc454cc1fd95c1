"""Cases of kernels/text/regex.c."""
import numpy as np

from tests.conformance.table import bad, c, row

row("StaticRegexFullMatch", [
    c([b"s3://a", b"as3://", b""], pattern="^s3://.*"),
    c(b"train", pattern=".*t.*"), c([[b"abc"]], pattern="a[b-d]+c?"),
    c(np.zeros([0], object), pattern="x"), c(b"a\nb", pattern="a.b"),
    c([b"\xc3\x89", b"\xff"], pattern="(?i)\u00e9"), c(b"ab", pattern="\\pL+"),
    bad(b"x", pattern="("), bad(b"x", pattern="a{1001}"),
    bad(b"x", pattern="((\\pL{100}){10})"), bad(b"x", pattern="(?<n>a)")])
TEXTS = [b"abc", b"xbxb", b"", b"\xc3\xa9\xff", b"b" * 300]
row("RegexFullMatch", [
    c(TEXTS, b"[a-c]*"), c(b"a", b"a"), c(np.zeros([0], object), b"x"),
    bad(b"x", b"("), bad(b"x", [b"x"])])
REWRITES = [(b"b", b"-"), (b"b", b""), (b"", b"-"), (b"x*", b"<\\0\\\\>"),
            (b"(a)?(b)", b"\\2\\1"), (b"b", b"\\1"), (b"b", b"q\\xz"),
            (b"b", b"q\\"), (b"^.", b"."), (b"none", b"-"),
            (b"(b+)", b"\\1\\1")]
row("RegexReplace", [
    c(TEXTS, pattern, rewrite, replace_global=all_of_them)
    for pattern, rewrite in REWRITES for all_of_them in (True, False)] + [
        c([[b"a"]], b"a", b"b"), c(np.zeros([0], object), b"x", b"y"),
        bad(b"x", b"(", b""), bad(b"x", [b"x"], b""), bad(b"x", b"x", [b""])])
row("StaticRegexReplace", [
    c(TEXTS, pattern=pattern.decode(), rewrite=rewrite.decode(),
      replace_global=all_of_them)
    for pattern, rewrite in REWRITES for all_of_them in (True, False)] + [
        bad(b"x", pattern="(", rewrite="")])
