"""What is read, written and encoded: checkpoints, summaries, bytes."""
import functools
import os
import tempfile

import tensorflow as tf

from tests.bench.op_cases.table import (
    FLOAT, NUMBERS, REALS, Given, made, of, row, stored, x)

raw = tf.raw_ops
TENSORS = 4
MEMORY = "/dev/shm"


@functools.cache
def folder():
    """Where both servers write; gone when this process ends.  In memory if
    TMPDIR names no other place: these rows compare the ops, and tfd alone waits
    until a checkpoint is on its disk."""
    in_memory = "TMPDIR" not in os.environ and os.access(MEMORY, os.W_OK)
    return tempfile.TemporaryDirectory(prefix="tfd-ops-files",
                                       dir=MEMORY if in_memory else None)


def prefix(name):
    return Given(lambda dtype: tf.constant(
        os.path.join(folder().name, name + dtype.name)))


NAMES = ["tensor%d" % i for i in range(TENSORS)]


def tensors(n):
    return [x(n // TENSORS) for _ in range(TENSORS)]


def saved(a, _):
    return raw.SaveV2(prefix=a[0], tensor_names=NAMES,
                      shape_and_slices=[""] * TENSORS, tensors=a[1])


def both(a, dtype):
    with tf.control_dependencies([saved(a, dtype)]):
        return raw.RestoreV2(prefix=a[0], tensor_names=NAMES,
                             shape_and_slices=[""] * TENSORS,
                             dtypes=[dtype] * TENSORS)


made("checkpoint", "SaveV2", lambda n: [prefix("one"), tensors(n)], NUMBERS,
     saved, limit=False, heavy=100, most=4)
made("checkpoint", "SaveV2, RestoreV2", lambda n: [prefix("two"), tensors(n)],
     NUMBERS, both, limit=False, heavy=100, most=4)
row("summary", "TensorSummaryV2", lambda n: [
    "tag", x(n), b""], REALS, limit=False, heavy=4)
row("summary", "ScalarSummary", {"x16": lambda n: [
    ["tag"] * 16, x(16)]}, REALS, limit=False)
row("summary_media", "ImageSummary", {
    "uint8": lambda n: ["tag", of("uint8", 1, max(1, n // 192), 64, 3, low=0,
                                  high=255)]}, ("uint8",),
    limit=False, heavy=100)
row("summary_media", "AudioSummaryV2", lambda n: [
    "tag", of("float32", 1, n), 44100.0], FLOAT, limit=False, heavy=10)
row("string_to_number", "StringToNumber", {"numbers": lambda n: [stored(
    "string", (n // 16,), lambda: tf.strings.as_string(
        tf.random.stateless_normal([n // 16], [1, 2])))]},
    FLOAT, {"out_type": "T"}, limit=False, heavy=10)
made("decode_csv", "DecodeCSV", {"4 fields": lambda n: [stored(
    "string", (n // 64,), lambda: tf.fill(
        [n // 64], "1234,0.123456789,some text,-7"))]}, FLOAT,
    lambda a, _: raw.DecodeCSV(records=a[0], record_defaults=[
        [0], [0.0], [""], tf.constant([0], tf.int64)]), limit=False, heavy=10)
row("io", "DecodeRaw", {"256": lambda n: [stored(
    "string", (n // 64,), lambda: tf.fill([n // 64], "bytes of 16 each" * 16))]},
    FLOAT, {"out_type": "T"}, limit=False)
