"""What tests/bench/pipelines runs: CASES, name to Case.  What a step computes on
lies in variables of the worker, so nothing is fed, fetched or folded away."""
import dataclasses
import os

import numpy as np

from tests.cluster.client import tf

CASES = {}
WORKER = "/job:worker/task:0/cpu:0"
BATCH = 128       # of records that are parsed
FILES, RECORDS = 4, 5000
READ_UP_TO = 32
CAPACITY = 512    # of a queue
IMAGES, SIDE, RESIZED = 32, 256, 224
ROWS = 1000
LINES, WORDS, VOCABULARY = 1000, 12, 20000
KEYS, LOOKED_UP = 1000000, 10000
TEXTS = 2000
SIGNALS, LENGTH = 256, 1024
TIME, SENTENCES, LABELS, CLASSES = 100, 32, 20, 48
STEPS, CELLS = 50, 128


@dataclasses.dataclass
class Case:
    unit: str
    items: int        # of that unit, in a step
    build: object     # folder: what a step runs
    queued: int = 0   # steps that a full queue holds


def case(name, unit, items, *arguments, queued=0):
    def add(function):
        CASES[name] = Case(unit, items, lambda folder: function(
            folder, *arguments), queued)
        return function
    return add


def held(values):
    """A variable of these values."""
    return tf.get_variable(
        "held%d" % len(tf.global_variables()), initializer=tf.constant(values),
        use_resource=True).read_value()


def makers(values):
    """The ops that make them; a tf.group() of them would let a server leave out
    what nobody takes the values of."""
    return list({value.op for value in values})


def text(values):
    return np.array([value.encode() for value in values], object)


# ---- Input ----

def written(folder):
    """Names of record files: examples of 16 numbers, an id and two words."""
    names, draw = [], np.random.RandomState(1)
    for i in range(FILES):
        names.append(os.path.join(folder, "records%d" % i))
        if os.path.exists(names[-1]):
            continue
        with tf.python_io.TFRecordWriter(names[-1]) as out:
            for j in range(RECORDS):
                example = tf.train.Example()
                feature = example.features.feature
                feature["x"].float_list.value.extend(draw.rand(16))
                feature["id"].int64_list.value.append(i * RECORDS + j)
                feature["label"].int64_list.value.append(j % 10)
                feature["words"].bytes_list.value.extend(
                    b"word%d" % w for w in draw.randint(0, 999, 2))
                out.write(example.SerializeToString())
    return names


FEATURES = {"x": tf.FixedLenFeature([16], tf.float32),
            "id": tf.FixedLenFeature([], tf.int64),
            "label": tf.FixedLenFeature([], tf.int64),
            "words": tf.VarLenFeature(tf.string)}


def parsed(records):
    return makers(getattr(value, "values", value) for value in
                  tf.parse_example(records, FEATURES).values())


@case("records", "records", BATCH, 1, queued=CAPACITY // BATCH)
@case("records_by_32", "records", BATCH, READ_UP_TO,
      queued=CAPACITY // BATCH)
def records(folder, at_once):
    """Queue runners of the client fill the queues, by one read a step."""
    names = tf.train.string_input_producer(written(folder))
    reader = tf.TFRecordReader()
    if at_once == 1:
        _, read = reader.read(names)
    else:
        _, read = reader.read_up_to(names, at_once)
    return parsed(tf.train.batch([read], BATCH, num_threads=2,
                                 capacity=CAPACITY, enqueue_many=at_once > 1))


@case("parse_example", "records", BATCH)
def parse(folder):
    reader = tf.python_io.tf_record_iterator(written(folder)[0])
    return parsed(held(np.array([next(reader) for _ in range(BATCH)], object)))


@case("decode_jpeg_resize", "images", IMAGES)
def images(_):
    draw = np.random.RandomState(2)
    with tf.Graph().as_default(), tf.Session() as session:
        pixels = tf.placeholder(tf.uint8, [SIDE, SIDE, 3])
        encode = tf.image.encode_jpeg(pixels, quality=90)
        coarse = [np.kron(draw.randint(0, 200, (32, 32, 3)),
                          np.ones((SIDE // 32, SIDE // 32, 1)))
                  for _ in range(IMAGES)]
        files = [session.run(encode, {pixels: (
            image + draw.randint(0, 40, image.shape)).astype(np.uint8)})
            for image in coarse]
    files = tf.unstack(held(np.array(files, object)))
    decoded = tf.stack([tf.image.decode_jpeg(f, channels=3) for f in files])
    return tf.image.resize_bilinear(decoded, [RESIZED, RESIZED]).op


@case("decode_csv", "rows", ROWS)
def csv(_):
    draw = np.random.RandomState(3)
    rows = ["%d,%.4f,%.3f,%d,\"name %d\",%.5f,%d,,%.2f,word%d" % (
        i, *draw.randn(2), draw.randint(99), i % 77, draw.rand(), i * 7919,
        draw.randn(), i % 13) for i in range(ROWS)]
    defaults = [[0], [0.0], [0.0], [0], [""], [0.0],
                tf.constant([0], tf.int64), [1.0], [0.0], [""]]
    return makers(tf.decode_csv(held(text(rows)), defaults))


@case("text_vocabulary", "lines", LINES)
def vocabulary(folder):
    file = os.path.join(folder, "vocabulary")
    with open(file, "w") as out:
        out.writelines("word%d\n" % i for i in range(VOCABULARY))
    draw = np.random.RandomState(4)
    lines = [" ".join("word%d" % min(w, 2 * VOCABULARY)
                      for w in draw.zipf(1.3, WORDS)) for _ in range(LINES)]
    table = tf.lookup.StaticVocabularyTable(tf.lookup.TextFileInitializer(
        file, tf.string, tf.lookup.TextFileIndex.WHOLE_LINE, tf.int64,
        tf.lookup.TextFileIndex.LINE_NUMBER), 10)
    return table.lookup(tf.string_split(held(text(lines))).values).op


# ---- Tables and text ----

@case("lookups", "lookups", LOOKED_UP, False)
@case("lookups_mutable", "lookups", LOOKED_UP, True)
def lookups(_, mutable):
    keys = tf.range(KEYS, dtype=tf.int64) * 7919
    if mutable:
        table = tf.lookup.experimental.MutableHashTable(
            tf.int64, tf.int64, tf.constant(-1, tf.int64))
        start = table.insert(keys, keys // 7919)
    else:
        table = tf.lookup.StaticHashTable(
            tf.lookup.KeyValueTensorInitializer(keys, keys // 7919), -1)
        start = table.initializer
    tf.add_to_collection("start", start)
    asked = np.random.RandomState(5).randint(0, KEYS * 11 // 10, LOOKED_UP)
    return table.lookup(held(asked.astype(np.int64) * 7919)).op


def logs():
    return held(text(["GET /a/b%d.html?user=%d&t=%d HTTP/1.%d took %d ms" % (
        i % 97, i * 7919, i * i, i % 2, i % 1000) for i in range(TEXTS)]))


@case("regex_replace", "texts", TEXTS)
def replace(_):
    return tf.strings.regex_replace(logs(), "user=([0-9]+)", r"user \1").op


@case("regex_replace_all", "texts", TEXTS)
def replace_all(_):
    return tf.strings.regex_replace(logs(), "[^a-zA-Z]+", " ").op


@case("regex_full_match", "texts", TEXTS)
def match(_):
    return tf.strings.regex_full_match(
        logs(), r"(GET|POST) /[a-z/]+[0-9]+\.html\?user=\d*7&.* took .*").op


# ---- Arithmetic ----

@case("fft1024", "FFTs", SIGNALS, tf.complex64)
@case("rfft1024", "FFTs", SIGNALS, tf.float32)
def fft(_, dtype):
    draw = np.random.RandomState(6)
    signal = draw.rand(SIGNALS, LENGTH).astype(dtype.as_numpy_dtype)
    if dtype == tf.float32:
        return tf.signal.rfft(held(signal)).op
    return tf.signal.fft(held(signal)).op


@case("ctc_loss", "sentences", SENTENCES)
def ctc(_):
    draw = np.random.RandomState(7)
    logits = held(draw.randn(TIME, SENTENCES, CLASSES).astype(np.float32))
    indices = [[i, j] for i in range(SENTENCES) for j in range(LABELS)]
    labels = tf.SparseTensor(indices, draw.randint(
        0, CLASSES - 1, len(indices)).astype(np.int32), [SENTENCES, LABELS])
    loss = tf.nn.ctc_loss(labels, logits, [TIME] * SENTENCES)
    return tf.gradients(loss, logits)[0].op


@case("lstm", "steps", STEPS, False)
@case("lstm_gradient", "steps", STEPS, True)
def lstm(_, gradient):
    draw = np.random.RandomState(8)

    def some(*shape):
        return held((0.1 * draw.randn(*shape)).astype(np.float32))

    x, w = some(STEPS, 32, CELLS), some(2 * CELLS, 4 * CELLS)
    block = tf.raw_ops.BlockLSTM(
        seq_len_max=tf.constant(STEPS, tf.int64), x=x, w=w, b=some(4 * CELLS),
        cs_prev=some(32, CELLS), h_prev=some(32, CELLS), wci=some(CELLS),
        wcf=some(CELLS), wco=some(CELLS), use_peephole=True)
    if gradient:
        return makers(tf.gradients(block.h, [x, w]))
    return block.h.op
