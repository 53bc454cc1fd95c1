"""Cases of kernels/data_sources/dataset_csv.c."""
import gzip
import zlib

import numpy as np

from tests.cluster.client import tf
from tests.conformance.cases.data.pipelines import (Made, elements, hidden,
                                                    raw)
from tests.conformance.cases.data_sources.dataset_files import write
from tests.conformance.scenarios import fresh_graph
from tests.conformance.table import scenario

TYPES = {"i": tf.int32, "l": tf.int64, "f": tf.float32, "d": tf.float64,
         "s": tf.string}
OPS = (raw.CSVDataset, raw.ExperimentalCSVDataset, raw.CSVDatasetV2)


def csv(files, kinds, defaults=None, op=raw.CSVDatasetV2, compression="",
        buffer=3, header=False, delim=",", quotes=True, none="", select=(),
        exclude=()):
    """kinds: a letter for each column; defaults: of them, None for none."""
    types = [TYPES[k] for k in kinds]
    values = [hidden(tf.constant([] if v is None else v, t)) for v, t in zip(
        defaults or [None] * len(kinds), types)]
    args = dict(
        filenames=hidden(np.array(files, np.str_)),
        compression_type=hidden(compression),
        buffer_size=hidden(np.int64(buffer)), header=hidden(header),
        field_delim=hidden(delim), use_quote_delim=hidden(quotes),
        na_value=hidden(none), select_cols=hidden(np.array(select, np.int64)),
        record_defaults=values, output_shapes=[()] * len(kinds))
    if op is raw.CSVDatasetV2:
        args["exclude_cols"] = hidden(np.array(exclude, np.int64))
    specs = tuple(tf.TensorSpec([], t) for t in types)
    return Made(op(**args), specs if len(specs) > 1 else specs[0])


TEXTS = {
    "plain": "1,2,3\n4,5,6\n7,8,9\n",
    "no newline": "1,2,3\n4,5,6",
    "returns": "1,2,3\r4,5,6\r\n7,8,9\r",
    "both": "1,2,3\n\r4,5,6\n",
    "empty": "",
    "newline": "\n",
    "newlines": "1,2,3\n\n4,5,6\n",
    "short": "1,2\n3,4,5\n",
    "long": "1,2,3,4\n5,6,7\n",
    "missing": "1,,3\n,,\n4,5,\n",
    "last is empty": "1,2,",
    "quoted": '"1","2","3"\n"a ""b"" c","d,e","f\ng\r\nh"\n',
    "quoted and empty": '"",1,""\n"""",2,""""""\n',
    "quote inside": 'a"b,2,3\n4,5,6\n',
    "quote behind": '"a"b,2,3\n4,5,6\n',
    "quote open": '1,2,3\n"a,2,3\n4,5,6\n',
    "quote at end": '1,2,"3"',
    "spaces": " 1 , 2,3 \n",
    "words": "a,b,c\nd,e,NA\n",
    "wide": "%s,%s,%s\n" % ("x" * 5000, "y" * 3000, "z"),
    "bytes": "\u00e4,\u6f22,\U0001f600\n",
}


def named(side, texts):
    return {name: write(side, name.replace(" ", "_"), text.encode())
            for name, text in texts.items()}


def told(out, side):
    return {key: value.replace(side.path(""), "D/") if isinstance(value, str)
            else value for key, value in out.items()}


@scenario("CSVDataset ExperimentalCSVDataset CSVDatasetV2")
@fresh_graph
def data_csv_texts(side):
    files = named(side, TEXTS)
    makers = {}
    for name, file in files.items():
        makers[name] = lambda f=file: csv([f], "sss", ["x", "y", "z"])
        makers[name + ", all needed"] = lambda f=file: csv([f], "sss")
        if name != "wide":  # TensorFlow's text is longer than ours may be
            makers[name + ", numbers"] = lambda f=file: csv(
                [f], "ifl", [7, 8, 9])
        makers[name + ", no quotes"] = lambda f=file: csv(
            [f], "sss", ["x", "y", "z"], quotes=False)
        makers[name + ", header"] = lambda f=file: csv(
            [f], "sss", ["x", "y", "z"], header=True)
        makers[name + ", one"] = lambda f=file: csv([f], "s", select=[1])
        makers[name + ", all but one"] = lambda f=file: csv(
            [f], "ss", ["a", "b"], exclude=[1])
    return told(elements(side, makers, limit=6), side)


@scenario("CSVDataset ExperimentalCSVDataset CSVDatasetV2")
@fresh_graph
def data_csv_ways(side):
    files = named(side, TEXTS)
    plain, words = files["plain"], files["words"]
    text = TEXTS["plain"].encode()
    packed = {"ZLIB": write(side, "z", zlib.compress(text)),
              "GZIP": write(side, "g", gzip.compress(text))}
    tabs = write(side, "tabs", b"1\t2\t3\n4\t'5\t6\n")
    makers = {
        "three": lambda: csv([plain, files["no newline"], plain], "iii"),
        "scalar": lambda: csv(plain, "iii"),
        "none": lambda: csv(np.zeros([0], np.str_), "iii"),
        "not there": lambda: csv([plain, side.path("no"), plain], "iii"),
        "tabs": lambda: csv([tabs], "iss", delim="\t"),
        "NA": lambda: csv([words], "sss", ["x", "y", "z"], none="NA"),
        "NA needed": lambda: csv([words], "sss", none="NA"),
        "header of none": lambda: csv([files["empty"], plain], "iii",
                                      header=True),
        "headers": lambda: csv([plain, plain], "iii", header=True),
        "columns 0 2": lambda: csv([plain], "ld", select=[0, 2]),
        "column 5": lambda: csv([plain], "i", [1], select=[5]),
        "columns 2 3": lambda: csv([plain], "ii", [1, 1], select=[2, 3]),
        "without 0 1": lambda: csv([plain], "f", exclude=[0, 1]),
        "without 7": lambda: csv([plain], "fff", exclude=[7]),
        "quotation marks": lambda: csv([files["quoted"]], "sss", delim='"',
                                       quotes=False),
    }
    for op in OPS:
        makers[op.__name__] = lambda o=op: csv([plain], "ifs", op=o)
    for kind, file in packed.items():
        makers[kind] = lambda f=file, k=kind: csv([f, f], "iii", compression=k)
        makers[kind + " of plain"] = lambda k=kind: csv([plain], "iii",
                                                        compression=k)
    for size in (1, 2, 7, 1 << 20):
        makers["buffer %d" % size] = lambda s=size: csv(
            [files["quoted"], files["returns"]], "sss", buffer=s)
    return {key: value for key, value in told(elements(
        side, makers, limit=9, passes=2), side).items()
            if " of plain" not in key or not isinstance(value, str)}


@scenario("CSVDatasetV2")
@fresh_graph
def data_csv_numbers(side):
    """A file for each text, as a failing one is not the last."""
    texts = ("0", "-1", "+1", " 5", "5 ", "1.5", "1e3", "0x10", "1_0", "--1",
             "2147483647", "2147483648", "-2147483649", "9223372036854775807",
             "9223372036854775808", "1e400", "-1e400", "1e-50", "inf", "-inf",
             "nan", "infinity", "1.", ".5", ".", "e", "1f", "- 1", "0" * 400,
             "12345678901234567890.5", "3.4028236e38", "1,", "\t3", "\x0b3")
    makers = {}
    for i, text in enumerate(texts):
        file = write(side, "n%d" % i, text.encode() + b"\n")
        for kind in "ilfd":
            makers["%r as %s" % (text[:30], kind)] = (
                lambda f=file, k=kind: csv([f], k))
    return elements(side, makers, limit=1)


@scenario("CSVDataset CSVDatasetV2")
@fresh_graph
def data_csv_refused(side):
    plain = write(side, "plain", b"1,2,3\n")
    makers = {
        "names": lambda: csv([[plain]], "iii"),
        "compression": lambda: csv([plain], "iii", compression="LZ4"),
        "compressions": lambda: csv([plain], "iii", compression=["", ""]),
        "buffer 0": lambda: csv([plain], "iii", buffer=0),
        "buffers": lambda: csv([plain], "iii", buffer=[1, 2]),
        "headers": lambda: csv([plain], "iii", header=[True, False]),
        "no delimiter": lambda: csv([plain], "iii", delim=""),
        "delimiter": lambda: csv([plain], "iii", delim=",,"),
        "delimiters": lambda: csv([plain], "iii", delim=[",", ";"]),
        "quotes": lambda: csv([plain], "iii", quotes=[True, False]),
        "NAs": lambda: csv([plain], "iii", none=["", "x"]),
        "two defaults": lambda: csv([plain], "iii", [1, [2, 3], 4]),
        "deep defaults": lambda: csv([plain], "iii", [1, [[2]], 4]),
        "columns": lambda: csv([plain], "iii", select=[0, 1]),
        "falling": lambda: csv([plain], "iii", select=[0, 2, 1]),
        "equal": lambda: csv([plain], "iii", select=[0, 1, 1]),
        "negative": lambda: csv([plain], "iii", select=[-1, 0, 1]),
        "deep columns": lambda: csv([plain], "iii", select=[[0, 1, 2]]),
        "a column": lambda: csv([plain], "i", select=0),
        "both": lambda: csv([plain], "i", select=[0], exclude=[1]),
        "without, falling": lambda: csv([plain], "i", exclude=[2, 1]),
        "without, negative": lambda: csv([plain], "ii", exclude=[-1]),
        "without, deep": lambda: csv([plain], "ii", exclude=[[1]]),
        "V1, falling": lambda: csv([plain], "iii", op=raw.CSVDataset,
                                   select=[0, 2, 1]),
    }
    return told(elements(side, makers, limit=3), side)
