"""Cases of kernels/parse/string_to_number.c."""
import numpy as np

from tests.conformance.table import bad, c, row

WHOLE = [b"1", b" 1 ", b"+1", b"\t3\n", b"\v7\f", b"0" * 24 + b"12",
         b"2147483647"]
SIGNED = [b"-0", b"-1", b"-2147483648", b" -7\r", b"-" + b"0" * 22 + b"1"]
REAL = [
    b"-0", b"1e5", b"nan", b"NaN", b"inf", b"-Infinity", b"iNf", b"0x1p3",
    b"0x10", b"-0X.8P-1", b"1e400", b"-1e400", b"1e-400", b".5", b"5.",
    b"1.e5", b"nan()", b"nan(a_1)", b"1" + b"0" * 38, b"0." + b"1" * 200,
    b"0" * 300 + b"1", b"1e" + b"9" * 30, b"0e" + b"9" * 30,
    b"1e-" + b"9" * 30, b"0x1p99999999999", b"0x" + b"f" * 60]
# At halves between two numbers, and at the ends of what there is.
HALVES = [
    b"1.00000005960464477539", b"1.000000059604644775390625",
    b"1.0000000596046447753906250000000000001", b"16777217",
    b"16777217.0000001", b"9007199254740993", b"9007199254740993.0000000001",
    b"3.4028234e38", b"3.4028236e38", b"1.7976931348623157e308",
    b"1.7976931348623159e308", b"0x1.ffffffp0", b"0x1.fffffep127",
    b"0x1.ffffffp127", b"1.17549435e-38", b"1.17549429e-38", b"1e-45",
    b"7e-46", b"7.006492321624085e-46", b"7.1e-46", b"2.2250738585072014e-308",
    b"2.2250738585072011e-308", b"2.4703282292062327e-324",
    b"2.4703282292062328e-324", b"5e-324", b"0.1", b"-0.3333333333333333"]
# Digits and powers on either side of what a product of two numbers gives.
SHORT = [
    b"9007199254740992", b"9007199254740993", b"9007199254740991e22",
    b"9007199254740993e-22", b"9999999999999999999", b"99999999999999999999",
    b"1e22", b"1e23", b"1e-22", b"1e-23", b"1.e22", b".1e-21", b"1E+22",
    b"123456789012345678.9e-5", b"8.589973e9", b"16777217e0", b"1.6777217e7",
    b"1.00000017881393432617187499", b"1.000000178813934326", b"33554435e-1",
    b"0.000000000000000000000", b"-0.0e5", b"-.0", b"00000000000000000001",
    b"1e00022", b"1e+5", b"1e-05", b"9e37", b"-9.9999999e37", b"1e38", b"3.4e38",
    b"1000000000000000000e20", b"4e38", b"+1.5e+2", b"5e-22"]
DRAWN = np.random.RandomState(5)
TEXTS = [b"%.*g" % (digits, value) for digits in (7, 9, 17, 25) for value in
         DRAWN.standard_normal(50) * 10.0 ** DRAWN.randint(-40, 38, 50)]
REALS, SIGNS = ("float32", "float64"), ("int32", "int64", "float32", "float64")
LIMITS = {"int32": (b"2147483648", b"-2147483649"),
          "uint32": (b"4294967296", b"-1", b"-0"),
          "int64": (b"9223372036854775808", b"-9223372036854775809"),
          "uint64": (b"18446744073709551616", b"9" * 40, b"-1", b"-0")}
NO_REAL = [b"", b" ", b"infinit", b"1.5f", b"1 2", "\u0661".encode(), b"1e",
           b"1_0", b"+ 1", b"--1", b"7\x008", b"0x", b"nan(", b"nan(-)", b"1d5",
           b"\x1f1", b"1,5", b"0x1p", b"+", b".", b"e5",
           b"-", b"-.", b"1e+", b"1e5.", b"1.2.3", b".e5", b"1e 5", b"1.5e5x", b"1\xc2\xa0"]
NO_WHOLE = [b"", b"  ", b"1.5", b"0x10", b"1e2", b"- 1", b"1 2", b"7\x008", b"+",
            b"++1", b"1-", "\u0663".encode()]

row("StringToNumber", [
    c(WHOLE), c([[b"1"], [b"2"]]), c(b"5"), c(np.zeros([0, 2], object)),
    c(SIGNED, dtypes=SIGNS), c(REAL, dtypes=REALS), c(HALVES, dtypes=REALS),
    c(TEXTS, dtypes=REALS), c(SHORT, dtypes=REALS),
    c([b"4294967295"], dtypes=("uint32", "int64", "uint64")),
    c([b"9223372036854775807", b"-9223372036854775808"], dtypes=["int64"]),
    c([b"18446744073709551615"], dtypes=["uint64"])] + [
        bad([b"1", text], dtypes=[dtype]) for dtype, texts in LIMITS.items()
        for text in texts] + [
        bad([text], dtypes=[dtype]) for text in NO_REAL for dtype in REALS] + [
        bad([text], dtypes=[dtype]) for text in NO_WHOLE for dtype in LIMITS],
    tol=0)
