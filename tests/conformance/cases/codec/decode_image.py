"""Cases of kernels/codec/decode_image.c."""
import numpy as np

from tests.cluster.client import tf
from tests.conformance import pictures as p
from tests.conformance import table
from tests.conformance.cases.data.pipelines import answers
from tests.conformance.scenarios import fresh_graph
from tests.conformance.table import bad, c, with_inputs


def objects(inputs):
    """An array of bytes would lose the zeros at their end."""
    return tuple(np.array(i, dtype=object) if isinstance(i, bytes) else i
                 for i in inputs)


def row(op, cases):
    table.row(op, [with_inputs(case, objects) for case in cases])


KEY = {2: b"\0\7\0\7\0\7", 0: b"\0\1", 3: b"\x10\x80\xff"}
PNGS = [p.png(7, 5, bits, color) for color, depths in (
    (0, (1, 2, 4, 8, 16)), (2, (8, 16)), (3, (1, 2, 4, 8)), (4, (8, 16)),
    (6, (8, 16))) for bits in depths]
PNGS += [p.png(9, 6, bits, color, p.chunk(b"tRNS", KEY[color]))
         for bits, color in ((1, 0), (8, 0), (16, 0), (8, 2), (16, 2), (4, 3))]
PNGS += [p.png(19, 11, bits, color, interlace=1)
         for bits, color in ((1, 0), (8, 2), (16, 6), (8, 3), (8, 4))]
PNGS += [p.png(4, 3, 8, 2, p.chunk(b"gAMA", b"\0\0\xb1\x8f")),
         p.png(4, 3, 8, 2, p.chunk(b"tEXt", b"Title\0x") * 3)]
PNG = p.png(5, 4, 8, 2)
WHOLE = p.chunk(b"IDAT", b"x")
BAD_PNGS = [PNG[:n] for n in (8, 20, 40, 60, len(PNG) - 14)] + [
    p.broken(PNG, 13), p.broken(PNG, 50), p.broken(PNG, 24, 9),
    p.head(0, 4, 8, 2) + PNG[33:], p.head(4, 4, 8, 3) + PNG[33:],
    p.head(5, 40, 8, 2) + PNG[33:], p.head(1000001, 4, 8, 2) + PNG[33:],
    p.head(100000, 5000, 8, 2) + PNG[33:]]
# 2^31 pixels: our error tells of the limit.
HUGE_PNG = p.head(65536, 32768, 8, 2) + PNG[33:]

GIFS = [
    p.gif(6, 4, p.frame(6, 4)), p.gif(90, 70, p.frame(90, 70)),
    p.gif(300, 200, p.frame(300, 200, bits=8), colors=p.palette(256)),
    p.gif(5, 13, p.frame(5, 13, interlaced=True)),
    p.gif(5, 4, p.frame(5, 4, colors=p.palette(4, 1), bits=2), colors=b""),
    p.gif(5, 4, p.frame(5, 4, transparent=3)),
    p.gif(3, 3, p.frame(3, 3, bits=1, most=2)),
    p.gif(9, 9, p.frame(4, 5, left=1, top=2)),
    p.gif(40, 30, p.frame(40, 30, most=1))]
ANIMATED = [
    p.gif(6, 4, p.frame(6, 4), p.frame(6, 4, seed=1), p.frame(6, 4, seed=2)),
    p.gif(6, 5, p.frame(6, 5), p.frame(3, 2, left=2, top=1, seed=1),
          p.frame(6, 5, transparent=1, seed=2),
          p.frame(4, 4, left=4, top=3, seed=3)),
    p.gif(6, 5, p.frame(2, 2, left=1, transparent=0), b"\x21\xfe" + p.blocks(
        b"a comment"), p.frame(6, 5, seed=4, transparent=2)),
    # What is behind the last whole frame is not looked at.
    p.gif(6, 4, p.frame(6, 4), p.frame(6, 4), end=b""),
    p.gif(6, 4, p.frame(6, 4), p.frame(6, 4), end=b"\x77"),
    p.gif(6, 4, p.frame(6, 4), p.frame(6, 4)[:7], p.frame(6, 4)[:4], end=b"")]
GIF = GIFS[0]
BAD_GIFS = [GIF[:n] for n in (5, 9, 13, 20, 37)] + [
    p.gif(6, 4), p.gif(6, 4, b"\x55"), p.gif(6, 4, p.frame(6, 4), colors=b""),
    p.gif(6, 4, p.frame(6, 4, bits=9, tail=b"\x01\0\0")),
    p.gif(6, 4, p.frame(6, 4), colors=p.palette(2)), p.gif(6, 4, end=b""),
    p.gif(6, 4, b"\x21\xfe\x05ab", end=b"")]
# Not enough of it: TensorFlow shows what its memory held.
SHORT_GIF = p.gif(60000, 9, p.frame(60000, 9, tail=b"\x01\x44\0"))

BMPS = [p.bmp(5, 4, channels) for channels in (1, 3, 4)] + [
    p.bmp(4, -3, channels) for channels in (1, 3, 4)] + [
    p.bmp(1, 1, 3), p.bmp(3, 2, 3, head_size=138)]
BMP = BMPS[1]
BAD_BMPS = [BMP[:20], BMP[:40], BMP + b"x", p.bmp(5, 4, 2), p.bmp(5, 0, 3),
            p.broken(BMP, 21), p.broken(BMP, 13), p.broken(BMP, 29),
            p.broken(BMP, 20)]

NAMES = [size + kind for size in ("37x41x3", "16x16x3", "33x50x1", "1x1x3",
                                  "8x100x3") for kind in ("", "-progressive")]
JPEGS = [p.jpeg(name) for name in NAMES + ["37x41x3-full-chroma", "120x90x3-low"]]
CMYK = [p.jpeg(name) for name in ("cmyk", "ycck", "ycck-unmarked")]
JPEG = JPEGS[0]
PROGRESSIVE = JPEGS[1]
CUT = [file[:len(file) * part // 10] for file in (
    JPEG, PROGRESSIVE, JPEGS[-1]) for part in (4, 6, 8, 9)]
CUT_SHORT = {0, 1, 7, 8}  # within their heads, or just behind their last byte
FRACTIONS = {2: 0, 3: 0.1, 9: 0.1, 10: 0.5, 11: 0.5}  # that are there
BAD_JPEGS = [JPEG[:n] for n in (3, 20, 300, 600)] + [
    p.broken(JPEG, 3, 0xd9), p.sized(JPEG, 0, 41)]
# Our errors tell of the limit.
HUGE_JPEGS = [p.sized(JPEG, 65500, 65500), p.sized(PROGRESSIVE, 30000, 65500)]

WEBPS = p.WEBP
MOVING = p.animation(p.WEBP[0], p.WEBP[1], p.WEBP[0])
BAD_WEBPS = [p.WEBP[0][:n] for n in (13, 20, 30, 60)] + [
    p.broken(p.WEBP[2], 23), p.broken(p.WEBP[0], 20), MOVING[:80]]

JXLS = p.JXL[:-1]  # another release rounds the lossy one in another way
BAD_JXLS = [p.JXL[0][:n] for n in (2, 3, 8, 20, 90)] + [
    p.JXL[5][:n] for n in (12, 40, 130)] + [p.broken(p.JXL[0], 40)]
# Our error tells of the limit.
HUGE_JXL = p.jxl_head(1 << 15, 1 << 15)

UNKNOWN = [b"", b"x", b"nothing of a picture", b"RIFF1234WEBP", b"GIF7"]
NONE = [bad(file) for file in UNKNOWN] + [bad([PNG])]

row("DecodePng", [
    c(file, channels=channels) for file in PNGS for channels in (0, 1, 3, 4)] + [
    c(JPEG), c(GIF), c(WEBPS[0], dtypes=["uint8"]), bad(BMP), bad(ANIMATED[0]),
    bad(PNG, channels=2), bad(PNG, channels=5), bad(JPEG, channels=4),
    bad(GIF, channels=4), bad(HUGE_PNG, words=False)] + NONE + [
    bad(file) for file in BAD_PNGS])

row("DecodeBmp", [
    c(file, channels=channels) for file in BMPS for channels in (0, 3, 4)] + [
    bad(file) for file in BAD_BMPS + [PNG, JPEG, GIF]] + [
    c(WEBPS[0]), c(p.JXL[0]), bad(BMP, channels=1), bad(BMP, channels=2),
    bad(JPEG, channels=4)] + NONE)

row("DecodeGif", [c(file) for file in GIFS + ANIMATED + [
    PNG, JPEG, p.png(3, 3, 8, 6)]] + [
    bad(file) for file in BAD_GIFS + [BMP]] + NONE)

SETTINGS = [dict(ratio=ratio, fancy_upscaling=fancy, dct_method=method,
                 channels=channels)
            for ratio in (1, 2, 4, 8) for fancy in (True, False)
            for method, channels in (("", 0), ("INTEGER_FAST", 3),
                                     ("INTEGER_ACCURATE", 1))]
row("DecodeJpeg", [c(file, **settings) for file in JPEGS for settings in SETTINGS] + [
    c(file, **settings) for file in CMYK for settings in (
        {}, {"channels": 3, "ratio": 2})] + [
    bad(file, channels=1) for file in CMYK] + [
    (bad if i in CUT_SHORT else c)(file, try_recover_truncated=True)
    for i, file in enumerate(CUT)] + [
    (c if fraction <= FRACTIONS.get(i, -1) else bad)(
        file, acceptable_fraction=fraction)
    for i, file in enumerate(CUT) for fraction in (0, 0.1, 0.5, 0.8)] + [
    c(PNG), c(GIF), c(WEBPS[1]), c(p.JXL[1]), c(p.sized(JPEG, 300, 41)),
    bad(BMP), bad(ANIMATED[0]), bad(PNG, channels=2), bad(JPEG, channels=4),
    bad(JPEG, ratio=3), bad(JPEG, ratio=0), bad(JPEG, dct_method="FLOAT")] + [
    bad(file, words=False) for file in HUGE_JPEGS] + NONE + [
    bad(file) for file in BAD_JPEGS + CUT])

WINDOWS = [[0, 0, 37, 41], [3, 5, 10, 11], [36, 40, 1, 1], [17, 16, 8, 20],
           [0, 33, 37, 8]]
row("DecodeAndCropJpeg", [
    c(JPEGS[i], window, **settings) for i in (0, 1, -2) for window in WINDOWS
    for settings in ({}, {"channels": 1}, {"fancy_upscaling": False})] + [
    c(JPEG, [1, 2, 9, 10], ratio=2), c(JPEG, [1, 1, 2, 3], ratio=8),
    c(CMYK[0], [1, 2, 3, 4]), c(p.JXL[0], [9, 9, 9, 9]), c(WEBPS[0], [0, 0, 1, 1]),
    c(CUT[2], [10, 2, 27, 10], try_recover_truncated=True),
    bad(CUT[2], [1, 2, 5, 10]),
    bad(JPEG, [0, 0, 38, 41]), bad(JPEG, [0, 0, 37, 42]), bad(JPEG, [-1, 0, 2, 2]),
    bad(JPEG, [0, -1, 2, 2]), bad(JPEG, [0, 0, 0, 2]), bad(JPEG, [0, 0, 2, 0]),
    bad(JPEG, [1, 2, 2 ** 31 - 1, 2]), bad(JPEG, [0, 0, 1]), bad(JPEG, 3),
    bad(JPEG, [[0, 0, 1, 1]]), bad(PNG, [0, 0, 1, 1]), bad(GIF, [0, 0, 1, 1]),
    bad(BMP, [0, 0, 1, 1]), bad(b"", [0, 0, 1, 1]),
    bad(CUT[0], [0, 0, 37, 41])])

row("DecodeWebP", [c(file) for file in WEBPS + [MOVING]] + [
    c(PNG), c(JPEG), c(WEBPS[0], channels=3), c(WEBPS[1], channels=4),
    bad(WEBPS[0], channels=4), bad(WEBPS[1], channels=3), bad(MOVING, channels=3),
    bad(WEBPS[0], channels=1), bad(WEBPS[0], channels=2)] + NONE + [
    bad(file) for file in BAD_WEBPS])

row("DecodeJxl", [c(file) for file in JXLS] + [
    c(p.JXL[i], channels=channels)
    for i, channels in enumerate((3, 4, 1))] + [
    bad(p.JXL[i], channels=channels)
    for i, channels in enumerate((4, 3, 3, 1, 1))] + [
    c(p.JXL[0] + b"and more"), c(PNG), c(JPEG), c(WEBPS[0]), bad(BMP),
    bad(p.JXL[0], channels=2)] + NONE + [bad(file) for file in BAD_JXLS] + [
    bad(HUGE_JXL, words=False)])


@table.scenario("DecodeJxl DecodeImage", tol=0)
@fresh_graph
def lossy_jpeg_xl(side):
    """How far it is from what was encoded: not the same in all releases."""
    found = {}
    for op in (tf.raw_ops.DecodeJxl, tf.raw_ops.DecodeImage):
        pixels = tf.ensure_shape(op(contents=p.JXL[-1]), [20, 30, 3])
        off = tf.abs(tf.cast(pixels, tf.float32) - p.smooth(20, 30, 3))
        found[op.__name__] = [tf.shape(pixels), tf.reduce_max(off) < 12,
                              tf.reduce_mean(off) < 2]
    return answers(side, found)


row("DecodeImage", [
    c(file, channels=channels) for file in PNGS[::3] + BMPS[:3] + JPEGS[:2]
    for channels in (0, 3)] + [
    # With other types TensorFlow dies of rows that go down.
    c(file, dtypes=["uint8"]) for file in BMPS[3:]] + [
    c(file, expand_animations=expand) for file in GIFS + ANIMATED
    for expand in (True, False)] + [
    c(file, expand_animations=expand, dtypes=["uint8"])
    for file in WEBPS + [MOVING] + JXLS for expand in (True, False)] + [
    bad(file) for file in (BAD_PNGS[1], BAD_GIFS[2], BAD_JPEGS[2], BAD_BMPS[0])] + [
    bad(WEBPS[0], dtype="uint16"), bad(p.JXL[0], dtype="float32"),
    bad(p.JXL[0], channels=1), bad(BMP, channels=1), bad(PNG, channels=2),
    bad(JPEG, channels=4), bad(SHORT_GIF, words=False)] + NONE)

row("ExtractJpegShape", [c(file) for file in JPEGS + CMYK] + [
    c(p.sized(JPEG, 65500, 65500))] + [
    bad(file) for file in BAD_JPEGS[:3] + [b"", b"x", PNG, [JPEG]]])
