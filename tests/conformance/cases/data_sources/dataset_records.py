"""Cases of kernels/data_sources/dataset_records.c."""
import zlib

import numpy as np

from tests.cluster.client import tf
from tests.conformance.cases.data.pipelines import (Made, elements, hidden,
                                                    raw)
from tests.conformance.cases.data_sources.dataset_files import write
from tests.conformance.scenarios import fresh_graph
from tests.conformance.table import scenario

GOOD, ODD = b"HHaabbccF", b"HHaabbcF"


def fixed(paths, header=2, record=2, footer=1, kind=None, buffer=0):
    sizes = [hidden(np.int64(n)) for n in (header, record, footer, buffer)]
    names = dict(zip(("header_bytes", "record_bytes", "footer_bytes",
                      "buffer_size"), sizes))
    paths = hidden(np.array(paths, np.str_))
    spec = tf.TensorSpec([], tf.string)
    if kind is None:
        return Made(raw.FixedLengthRecordDataset(filenames=paths, **names),
                    spec)
    return Made(raw.FixedLengthRecordDatasetV2(
        filenames=paths, compression_type=hidden(kind), **names), spec)


@scenario("FixedLengthRecordDataset FixedLengthRecordDatasetV2")
@fresh_graph
def data_fixed_length(side):
    good, odd = write(side, "good", GOOD), write(side, "odd", ODD)
    long = write(side, "long", bytes(range(256)) * 4000)
    short, only = write(side, "short", b""), write(side, "only", b"HHF")
    packed = {kind: write(side, name, pack) for kind, name, pack in (
        ("good", "zg", zlib.compress(GOOD)), ("odd", "zo", zlib.compress(ODD)),
        ("only", "zn", zlib.compress(b"HHF")))}
    made = {
        "good": lambda: fixed([good]), "odd": lambda: fixed([odd]),
        "odd and good": lambda: fixed([odd, good]),
        "two": lambda: fixed([good, good]), "short": lambda: fixed([short]),
        "only": lambda: fixed([only, good]), "no file": lambda: fixed([]),
        "missing": lambda: fixed([side.path("no")]),
        "long": lambda: fixed([long], 0, 512 * 125, 0),
        "no header": lambda: fixed([good], 0, 3, 0),
        "second": lambda: fixed([good], kind=""),
        "scalar": lambda: fixed(good), "matrix": lambda: fixed([[good]]),
        "record 0": lambda: fixed([good], record=0),
        "header -1": lambda: fixed([good], header=-1),
        "footer -1": lambda: fixed([good], footer=-1),
        "buffer -1": lambda: fixed([good], buffer=-1),
        "kind": lambda: fixed([good], kind="LZ4"),
    }
    for name, path in packed.items():
        made["packed " + name] = lambda p=path: fixed([p, packed["good"]],
                                                      kind="ZLIB")
    return {name: value.replace(side.path(""), "D/")
            if isinstance(value, str) else value
            for name, value in elements(side, made, limit=8, passes=2).items()}
