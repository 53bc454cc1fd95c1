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
