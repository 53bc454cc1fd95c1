"""Cases of kernels/signal/wav_ops.c."""
import struct

import numpy as np

from tests.conformance.inputs import Data, x
from tests.conformance.table import bad, c, row


def chunk(name, data, size=None):
    return name + struct.pack("<I", len(data) if size is None else size) + data


def wav(data=b"\0\0\1\0\xff\x7f\0\x80\3\4\5\6", channels=2, bits=16, coding=1,
        rate=8000, before=b"", extra=b"", behind=b"", **changed):
    frame = changed.get("frame", channels * bits // 8)
    fmt = struct.pack("<HHIIHH", coding, channels, rate,
                      changed.get("bytes_each_second", frame * rate), frame,
                      bits) + extra
    rest = (b"WAVE" + before + chunk(b"fmt ", fmt, changed.get("fmt_size"))
            + chunk(b"data", data, changed.get("data_size")) + behind)
    return b"RIFF" + struct.pack("<I", len(rest)) + rest


FILE = wav()

row("EncodeWav", [
    c([[0, .5], [-.5, 1], [-1, 2], [-2, .123456]], 44100),
    c([[i / 65536] for i in range(-9, 10)], 1),
    c([[np.nan], [np.inf], [-np.inf], [32767.4 / 32768], [-32768.4 / 32768]],
      8000),
    *(c(x(n, 1), 8000) for n in (1, 2, 7, 8, 9, 17, 33)),
    c(x(300, 5), 2 ** 31 - 1), c(x(0, 2), 16000), c(x(2, 65535), 7),
    bad(x(7), 44100), bad(x(2, 2, 2), 44100), bad(x(2, 0), 44100),
    bad(x(1, 65536), 44100), bad(x(2, 2), 0), bad(x(2, 2), -1),
    bad(x(2, 2), [44100]), bad(x(2, 2), [1, 2])], Data(-1.2, 1.2))

row("DecodeWav", [
    c(FILE), *(c(FILE, desired_channels=n) for n in (0, 1, 2, 3, 9)),
    *(c(FILE, desired_samples=n) for n in (0, 1, 3, 4, 100)),
    c(FILE, desired_channels=3, desired_samples=5),
    c(wav(b"", behind=chunk(b"LIST", b"a"))),
    c(wav(behind=chunk(b"LIST", b"abcd", 5))),
    c(wav(b"\1\2", 1)), c(wav(rate=1)),
    c(wav(rate=2 ** 29)), c(wav(b"\1\2" * 400)),
    c(wav(data_size=13)), c(wav(extra=b"\0\0")), c(wav(extra=b"\1\2")),
    *(c(wav(before=chunk(name, b"abcd"))) for name in (
        b"JUNK", b"bext", b"iXML", b"qlty", b"mext", b"levl", b"link",
        b"axml")),
    c(wav(before=chunk(b"JUNK", b"abc") * 3)),
    c(wav(behind=chunk(b"LIST", b"abcde"))),
    c(b"RIFF\0\0\0\0" + FILE[8:]),
    *(bad(FILE[:n]) for n in range(0, len(FILE), 3)),
    *(bad(FILE[:n]) for n in (4, 8, 16, 20, 36, 40, 43, 44, 55)),
    bad(FILE + b"x"), bad(FILE + b"xxxx\0\0\0"),
    bad(b"RIFX" + FILE[4:]), bad(FILE[:8] + b"WAVX" + FILE[12:]),
    bad(FILE[:12] + b"fmtx" + FILE[16:]),
    bad(wav(before=chunk(b"what", b"ab"))),
    bad(wav(before=chunk(b"JUNK", b"abc", 2 ** 32 - 1))),
    bad(wav(fmt_size=15)), bad(wav(fmt_size=18)), bad(wav(fmt_size=40)),
    bad(wav(extra=b"\0\0\0\0")), bad(wav(fmt_size=2 ** 32 - 1)),
    bad(wav(coding=2)), bad(wav(coding=65534)), bad(wav(channels=0)),
    bad(wav(bits=8)), bad(wav(bits=32)), bad(wav(bits=0)),
    bad(wav(frame=2)), bad(wav(frame=0)), bad(wav(channels=65535, frame=4)),
    bad(wav(bytes_each_second=1)),
    bad(wav(rate=2 ** 32 - 1, bytes_each_second=5)),
    bad(wav(data_size=2 ** 32 - 1)), bad(wav(data_size=2 ** 31)),
    bad(wav(data_size=2 ** 31 - 1)), bad(wav(data_size=11)),
    bad(wav(behind=chunk(b"data", b"abcd"))),
    bad(wav(b"")), bad(wav(behind=chunk(b"LIST", b""))),
    bad(wav(before=chunk(b"JUNK", b"abc", 99))),
    bad(wav(behind=chunk(b"LIST", b"", 2 ** 32 - 1))),
    bad([FILE]), bad([])])
