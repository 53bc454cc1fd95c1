"""Files of pictures for the cases of kernels/codec, whole ones and damaged."""
import base64
import pathlib
import struct
import zlib

import numpy as np

FOLDER = pathlib.Path(__file__).parent / "jpeg"

# Made by libwebp: RGB, RGBA (both lossless), lossy.
WEBP = [base64.b64decode(text) for text in (
    "UklGRkAAAABXRUJQVlA4TDMAAAAvAkAAAC9AkG1T2Vnd9RpCgoTo/8OSSdu0V1XOv4zNfxw5iwRro"
    "KZtAzaVDgr9G9H/WF4A",
    "UklGRkgAAABXRUJQVlA4TDwAAAAvAkAAEC9ApG2zoRm9f3wpZNI26TX/ikekbTM4o/ePj0YmbdOzJ"
    "qtuQheA9F/tTbANAhIyFct8ENH/mAQ=",
    "UklGRqwAAABXRUJQVlA4IKAAAACQAwCdASoJAAcAAUAmJbACdDVAN4zKQA5SLfAP0AQh6BkcmzEAA"
    "Pw/ND3N/+OxN7k9/6ItgD+1tBnfIt/sRHoWHP/PWrf0x//p4cLb2LBcY5Hf1v7A0NxIxusaf+6EM6"
    "gG7Z+aYpfEnVzsQMzd/zZ/T42PPz+JYg/US/+MC3ZqwBf8dtHt0c5t1LlfY/9UiBs/sME8Y/8qFUn"
    "2Sr6ZgAAA")]
# Made by libjxl, lossless: RGB, RGBA, gray, gray with alpha, 16 bits, in a
# container, three frames; and a lossy one.
JXL = [base64.b64decode(text) for text in (
    "/wogQBBQXAgIAgEANAFLEsWCBVIgHQgFlpJFk1WMQYyRMcbIA+BBEADQGW65edNLGuJAbjEo"
    "jZ5/v1s876Fp4uDUW4rhJzbnUMZvQ5SmoxObxEwmgGRZLgRQCw==",
    "/wogQLCguBAICBAAcAFLEsWCBVIgHQgLmlLFklJjEGNkjJE8ABrEKBMWrYtE0Jx6LU9Lfhr3"
    "xYBlH/ga5Ios0hR42ZL944QLA1Q2RDVJKNFDp+hC2ZWP+M1ULESmhNxuA5Yl3W8C/gFsAQ==",
    "/wogQBAUFwIIAgEAdABLEsWChSQWIOx2qxUAPQBoPgAMKtbYkj24Ik/FAQ==",
    "/wogQLAoLgQICBAAyABLEsWChSRWgP5Pdv/29pdMNABQ8wEAcCAUHhOocaAp6pUA84eeve+r"
    "5xDtlaSNUc0QRA==",
    "AAAADEpYTCANCocKAAAAFGZ0eXBqeGwgAAAAAGp4bCAAAAAJanhsbAoAAADOanhsY/8KIED8"
    "ABQXAggCAQDcAksSxYIFUtjAATD/L82wvBhH9ihSpFutGBEi4zIgShg961ECkj8MqbtCJr/V"
    "fp0C6jkkgjWLzAbCLtOndp32CEL0WEQqI2uvjvDgceL2AHfye+dIiHJXoonFmIOI6/k+RMEP"
    "867KH2TfPgwC6TIoS34QRWJ1GSmtg/Abv9Mk9FfAvNNNPA0BoYJSIAT91c8FCUXYvU+WQlBU"
    "2+zv7XOxgzcqtBMUy8f5Hd21hMF1ttjGnnpVrCIqaQ==",
    "AAAADEpYTCANCocKAAAAFGZ0eXBqeGwgAAAAAGp4bCAAAABjanhsY/8KIEAQUFwICAIBADQB"
    "SxLFggVSIB0IBZaSRZNVjEGMkTHGyAPgQRAA0BluuXnTSxriQG4xKI2ef79bPO+haeLg1FuK"
    "4Sc251DGb0OUpqMTm8RMJoBkWS4EUAs=",
    "/woQMMEAAopLAggCkgkAAOQASxLFgoUkFtGdAADw++qrVToA4V1snjihYAYj/kNxd42lTPwH"
    "sgMoU+qLIjOgW5mtfY3iRdlJoDEACAKSCQAA5ABLEsWChSQW0Z0HHIDW/1R/8w4ABdBGeQbH"
    "hKTru+luc6PumZBIX+3/HDAK3TJn9XBfH+JZSGuUQwQIApIFAOQASxLFgoUkFlFvAkEoPO/t"
    "f9MPQGAkl8thfxV5oq4jQUoAXSekzXTuS4/3s86a/Omnh4Lzx61JrGgD",
    "/wqYQJBQXAgAEogCALQCXeUSAAAVKqOMG7yc6/nyQ4fFtI3rDG21bWFJosg4NkkncEgSq8B/"
    "N3xJyjJcu/vVNMCY3zk48Ytr1gbSCf5ry9PIEF60/Zoz0LruEoOBObVM3LnIpF1mpUMDAAAq"
    "pEAiYLdtRcYYKUaSjDEyTyYAAFji2ERP93Vq8nDKk+315ICGHgKsI7Lmy073ktfxlgJbdYRr"
    "j7ea/WX7lxpDCwu+xUnwIx7Gl9eSaHsCLgE=")]
DEPTHS = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}  # PNG's colour type -> its channels


def drawn(*dims, seed=0, most=256, dtype=np.uint8):
    return np.random.RandomState(seed).randint(0, most, dims).astype(dtype)


def smooth(height, width, channels):
    """What a camera sees rather than noise."""
    y, x, c = np.mgrid[:height, :width, :channels]
    return (128 + 90 * np.sin(y / 7 + c) * np.cos(x / 9 - c)).astype(np.uint8)


# ---- PNG --------------------------------------------------------------------

def chunk(name, data, broken=False):
    check = zlib.crc32(name + data) ^ broken
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", check)


def head(width, height, bits, color, interlace=0):
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(
        ">IIBBBBB", width, height, bits, color, 0, 0, interlace))


def rows_of(width, height, bits, color, seed):
    """Rows of random bits, each behind the number of a filter: none."""
    size = (width * bits * DEPTHS[color] + 7) // 8
    rows = drawn(height, size, seed=seed)
    if color == 3 and bits == 8:
        rows %= 8
    return b"".join(b"\0" + bytes(row) for row in rows)


def png(width, height, bits, color, extra=b"", interlace=0, seed=0):
    if interlace:
        starts = ((0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4),
                  (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2))
        sizes = [(len(range(x, width, dx)), len(range(y, height, dy)))
                 for x, y, dx, dy in starts]
        data = b"".join(rows_of(w, h, bits, color, seed + i)
                        for i, (w, h) in enumerate(sizes) if w and h)
    else:
        data = rows_of(width, height, bits, color, seed)
    if color == 3:
        extra = chunk(b"PLTE", bytes(range(0, 3 * (8 if bits == 8 else 1 << bits)))) + extra
    return head(width, height, bits, color, interlace) + extra + chunk(
        b"IDAT", zlib.compress(data)) + chunk(b"IEND", b"")


# ---- GIF --------------------------------------------------------------------

def blocks(data):
    return b"".join(bytes([len(data[i:i + 255])]) + data[i:i + 255]
                    for i in range(0, len(data), 255)) + b"\0"


def lzw(indices, bits):
    """The codes of GIF's compression."""
    clear, end = 1 << bits, (1 << bits) + 1
    out = total = 0
    table, width, last = {}, bits + 1, ()

    def put(code):
        nonlocal out, total
        out |= code << total
        total += width

    put(clear)
    for index in indices:
        if last + (index,) in table or not last:
            last += (index,)
            continue
        put(table[last] if len(last) > 1 else last[0])
        if len(table) + end + 1 < 4096:
            table[last + (index,)] = len(table) + end + 1
            if len(table) + end + 1 > 1 << width and width < 12:
                width += 1
        else:
            put(clear)
            table, width = {}, bits + 1
        last = (index,)
    put(table[last] if len(last) > 1 else last[0])
    # The reader's table has grown by one more.
    if len(table) + end + 1 >= 1 << width and width < 12:
        width += 1
    put(end)
    return out.to_bytes((total + 7) // 8, "little")


def frame(width, height, left=0, top=0, colors=b"", bits=3, interlaced=False,
          transparent=None, seed=0, most=None, tail=b""):
    flags = interlaced * 0x40
    if colors:
        flags |= 0x80 | (len(colors) // 3).bit_length() - 2
    control = b"" if transparent is None else (
        b"\x21\xf9\x04\x01\0\0" + bytes([transparent]) + b"\0")
    indices = drawn(width * height, seed=seed, most=most or 1 << bits).tolist()
    return control + b"\x2c" + struct.pack(
        "<HHHHB", left, top, width, height, flags) + colors + bytes(
            [bits]) + (tail or blocks(lzw(indices, bits)))


def palette(count, seed=0):
    return bytes(drawn(3 * count, seed=seed + 100))


def gif(width, height, *frames, colors=palette(8), end=b"\x3b"):
    flags = 0x80 | (len(colors) // 3).bit_length() - 2 if colors else 0
    return b"GIF89a" + struct.pack("<HHBBB", width, height, flags, 0, 0) + (
        colors + b"".join(frames) + end)


# ---- BMP --------------------------------------------------------------------

def bmp(width, height, channels, head_size=54, extra=b""):
    size = (channels * width + 3) // 4 * 4
    pixels = bytes(drawn(abs(height), size))
    return (b"BM" + struct.pack("<IHHI", 0, 0, 0, head_size) + struct.pack(
        "<IiiHH", 40, width, height, 1, 8 * channels)).ljust(
            head_size, b"\0") + pixels + extra


# ---- WebP -------------------------------------------------------------------

def riff(name, data):
    return name + struct.pack("<I", len(data)) + data + b"\0" * (len(data) % 2)


def animation(*frames, width=3, height=2):
    """Of files that hold one picture each, of this size."""
    def three(number):
        return struct.pack("<I", number)[:3]

    parts = riff(b"VP8X", b"\x12\0\0\0" + three(width - 1) + three(height - 1))
    parts += riff(b"ANIM", b"\0" * 6)
    for file in frames:
        parts += riff(b"ANMF", three(0) * 2 + three(width - 1) + three(
            height - 1) + three(40) + b"\0" + file[12:])
    return riff(b"RIFF", b"WEBP" + parts)


# ---- JPEG -------------------------------------------------------------------

def jpeg(name):
    """Made by TensorFlow; those of four channels, which it does not write, by
    libjpeg."""
    return (FOLDER / (name + ".jpg")).read_bytes()


def sized(file, height, width):
    """The same JPEG, whose head says another size."""
    for marker in (b"\xff\xc0", b"\xff\xc2"):
        at = file.find(marker)
        if at >= 0:
            return file[:at + 5] + struct.pack(">HH", height, width) + file[at + 9:]
    raise ValueError("no JPEG")


def broken(file, at, value=0xff):
    return file[:at] + bytes([value]) + file[at + 1:]


# ---- JPEG XL ----------------------------------------------------------------

def jxl_head(height, width, extra=0):
    """The begin of a file with that many channels beside red, green, blue."""
    bits = []

    def put(value, count):
        bits.extend(value >> i & 1 for i in range(count))
    put(0, 1)  # sizes of any kind
    put(3, 2), put(height - 1, 30), put(0, 3)
    put(3, 2), put(width - 1, 30)
    put(not extra, 1)  # all as usual
    if extra:
        put(0, 1)  # no more fields
        put(0, 1), put(0, 2)  # whole numbers, 8 bits
        put(1, 1)  # small ones
        put(3, 2), put(extra - 1, 12)
        for _ in range(extra):
            put(1, 1)
        put(1, 1), put(1, 1), put(0, 2), put(1, 1)
    else:
        put(1, 1)
    bits += [0] * (-len(bits) % 8)
    return b"\xff\x0a" + bytes(
        sum(bit << i for i, bit in enumerate(bits[at:at + 8]))
        for at in range(0, len(bits), 8)) + bytes(16)


def jxl_hidden(side):
    """8 by 8 pixels, before which comes a frame that is not seen, so large."""
    bits = []

    def put(value, count):
        bits.extend(value >> i & 1 for i in range(count))
    put(1, 1), put(0, 5), put(1, 3)  # 8 by 8
    put(1, 1), put(1, 1)  # all as usual
    bits += [0] * (-len(bits) % 8)
    put(0, 1), put(2, 2), put(1, 1)  # to refer to, modular
    put(0, 2), put(0, 2), put(3, 2)  # no flags, no scale, groups of 1024
    put(1, 1)  # a size of its own
    for _ in range(2):
        put(3, 2), put(side - 18688, 30)
    put(1, 2), put(1, 1), put(0, 2)  # kept as 1, before colours, no name
    put(0, 6), put(0, 2)  # no filters, no extensions
    put(0, 1)
    bits += [0] * (-len(bits) % 8)
    parts = 2 + (-(-side // 8192)) ** 2 + (-(-side // 1024)) ** 2
    for _ in range(parts):
        put(16 << 2, 12)
    bits += [0] * (-len(bits) % 8)
    put(9, 8)  # a frame without a tree
    return b"\xff\x0a" + bytes(
        sum(bit << i for i, bit in enumerate(bits[at:at + 8]))
        for at in range(0, len(bits), 8)) + bytes(16 * parts)
