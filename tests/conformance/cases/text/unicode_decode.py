"""Cases of kernels/text/unicode_decode.c."""
import numpy as np

from tests.conformance.table import bad, c, every, once, row

TEXTS = ["", "abc", "h\u00e9\u65e5\U0001f600", "\0\x01\n\x1f \x7f",
         "\ufeffx\ufffe"]
UTF8 = [text.encode() for text in TEXTS]
BROKEN = [b"a\xff\xffb", b"a\x80b", b"\xe2\x82", b"\xe2\x82A", b"\xed\xa0\x80",
          b"\xf4\x90\x80\x80", b"\xc0\xafZ", b"a\xf0\x9f\x98", b"b"]
UTF16 = [b"\xff\xfea\0", b"a\0b\0", b"\xfe\xff\0a", b"\xd8\0\0a", b"abc"]
OTHERS = {"latin1": [b"a\x80\xe9"], "US-ASCII": [b"a\x80\xe9"],
          "shift_jis": [b"a\x80", "\u65e5".encode("shift_jis")],
          "gb18030": [b"a\x80\xe9", "\u65e5".encode("gb18030")],
          "iso-2022-jp": [b"a\x1b$B$&", b"$&"], "UTF-16": UTF16,
          "UTF-16LE": UTF16, "utf-32": [b"\0\0\0a", b"\0\x11\0\0", b"\0\0"],
          "windows-1251": [b"\xcf\xf0\x98"], "utf8": BROKEN}
NONE = np.zeros([0], object)
WAYS = [dict(errors=errors, replace_control_characters=controls)
        for errors in ("replace", "ignore") for controls in (False, True)]
WAYS += [dict(errors="replace", replacement_char=char,
              replace_control_characters=True)
         for char in (0, 65, 0x1f600, 0xd800, 0x10ffff)]
WRONG = [bad(BROKEN, input_encoding="UTF-8", errors="strict"),
         bad(b"a", input_encoding="no such one"), bad(b"a", input_encoding=""),
         bad(b"a", input_encoding="x" * 70),
         bad(b"a", input_encoding="UTF-8", replacement_char=-1),
         bad(b"a", input_encoding="UTF-8", replacement_char=0x110000)]
DECODED = [every(UTF8, input_encoding="UTF-8")] + [
    c(texts, input_encoding="UTF-8", **way) for texts in (UTF8, BROKEN)
    for way in WAYS] + [
        c(texts, input_encoding=name) for name, texts in OTHERS.items()] + [
            c(UTF8, input_encoding="UTF-8", errors="strict"),
            c(b"ab", input_encoding="UTF-8"), c(b"", input_encoding="UTF-8"),
            c([[b"ab", b"c"], [b"", b"d"]], input_encoding="UTF-8"),
            c(NONE, input_encoding="UTF-8"),
            once(["\u65e5a".encode() * 3000] * 9, input_encoding="UTF-8")]

# A control character that is replaced is an error of UnicodeTranscode alone.
CONTROL = dict(input_encoding="UTF-8", errors="strict",
               replace_control_characters=True)
row("UnicodeDecode", DECODED + WRONG + [c([b"\x01"], **CONTROL)])
# TensorFlow ends its process where the splits are int32.
row("UnicodeDecodeWithOffsets",
    DECODED + WRONG + [c([b"\x01"], **CONTROL)], without=("Tsplits", "int32"))


def to(case, encoding):
    return type(case)(**{**vars(case), "types": "", "attrs": dict(
        case.attrs, output_encoding=encoding)})


row("UnicodeTranscode", [
    to(case, encoding) for encoding in ("UTF-8", "UTF-16-BE", "UTF-32-BE")
    for case in DECODED + WRONG] + [
        bad([b"\x01"], output_encoding="UTF-8", **CONTROL)])
