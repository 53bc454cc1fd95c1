"""Cases of kernels/data_files/dataset_to_records.c."""
from tests.cluster.client import tf
from tests.conformance.cases.data.pipelines import (data, failing, hidden,
                                                    note, numbers, plain, raw,
                                                    variant)
from tests.conformance.scenarios import fresh_graph, told
from tests.conformance.table import scenario

TEXTS = {"few": ["a", "bb", ""], "none": [], "long": ["x" * 300000, "y"]}


def texts(name):
    return data.from_tensor_slices(tf.constant(TEXTS[name], tf.string))


@scenario("DatasetToTFRecord ExperimentalDatasetToTFRecord")
@fresh_graph
def data_to_records(side):
    """What is written is read here, by TensorFlow."""
    out, made = {}, {}
    for name in TEXTS:
        for kind in ("", "GZIP", "ZLIB", "LZ4"):
            for op in (raw.DatasetToTFRecord,
                       raw.ExperimentalDatasetToTFRecord):
                file = side.path("%s%s%s" % (name, kind, op.__name__))
                made["%s %s %s" % (name, kind, op.__name__)] = (file, kind, op(
                    input_dataset=variant(texts(name)), filename=file,
                    compression_type=kind))
    with side.session() as session:
        for key, (file, kind, write) in made.items():
            note(out, key, told(session, write))
            packed = "" if kind == "LZ4" else kind
            note(out, key + " read", [
                len(record) for record in tf.io.tf_record_iterator(
                    file, tf.io.TFRecordOptions(compression_type=packed))
            ] + ["end"])
            if not packed:
                with open(file, "rb") as content:
                    out[key + " bytes"] = content.read()
    return out


@scenario("DatasetToTFRecord")
@fresh_graph
def data_to_records_refused(side):
    out = {}
    few = variant(texts("few"))
    path = side.path("file")
    made = {
        "numbers": (variant(numbers(3)), path, ""),
        "pairs": (variant(data.from_tensors(("a", "b"))), path, ""),
        "no dataset": (raw.OptionalNone(), path, ""),
        "no folder": (few, side.path("no/folder"), ""),
        "names": (few, hidden([path, path]), ""),
        "kinds": (few, path, hidden(["", ""])),
        "fails": (variant(plain(numbers(4).map(failing(2)).map(
            tf.strings.as_string))), path, ""),
    }
    made = {key: raw.DatasetToTFRecord(
        input_dataset=d, filename=f, compression_type=c)
        for key, (d, f, c) in made.items()}
    with side.session() as session:
        for key, write in made.items():
            value = told(session, write)
            if isinstance(value, str):
                value = value.split(".tempstate")[0].replace(
                    side.folder, "FOLDER")
                value = value.split(";")[0]
            note(out, key, value)
    return out
