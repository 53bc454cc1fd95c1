"""Cases of kernels/parse/base64.c."""
import numpy as np

from tests.conformance.table import bad, c, row

BYTES = [b"", b"a", b"ab", b"abc", b"abcd", b"\xff\xfe", b"\xfb\xef\xff",
         b"\0", bytes(range(256)), b"x" * 1000]
row("EncodeBase64", [
    c(BYTES), c(BYTES, pad=True), c([[b"a"], [b"b"]]), c(b"one"),
    c(np.zeros([0], object))])
row("DecodeBase64", [
    c([b"", b"YQ", b"YQ==", b"YWI", b"YWI=", b"YWJj", b"YWJjZA", b"YWJjZA==",
       b"YR", b"YWK", b"-_8", b"__-_" * 300]),
    c([[b"YQ"]]), c(b"YQ"), c(np.zeros([0], object))] + [
        bad([b"YQ", text]) for text in (
            b"Y", b"=", b"==", b"===", b"====", b"a===", b"YQ=", b"+/8",
            b"Y Q", b"YQ==YQ==", b"YQ\n", b"YWJjY", b"Y=Q=", "é".encode(),
            b"=YQ=", b"YWJj=", b"YWJj==", b"YWJj====", b"Y\0Q=", b"Y===")])
