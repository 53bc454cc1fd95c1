"""Cases of kernels/parse/parse_sequence.c."""
import numpy as np

from tests.cluster.client import tf
from tests.conformance.scenarios import attempt, fresh_graph, hidden, told
from tests.conformance.table import scenario

raw = tf.raw_ops
I, S, D = tf.int64, tf.string, tf.float32


def feature(values):
    """None: a feature without a list."""
    if values is None:
        return tf.train.Feature()
    if values and isinstance(values[0], bytes):
        return tf.train.Feature(bytes_list=tf.train.BytesList(value=values))
    if values and isinstance(values[0], float):
        return tf.train.Feature(float_list=tf.train.FloatList(value=values))
    return tf.train.Feature(int64_list=tf.train.Int64List(value=values))


def sequence(context=None, lists=None):
    return tf.train.SequenceExample(
        context=tf.train.Features(feature={
            key: feature(value) for key, value in (context or {}).items()}),
        feature_lists=tf.train.FeatureLists(feature_list={
            key: tf.train.FeatureList(feature=[feature(row) for row in rows])
            for key, rows in (lists or {}).items()})).SerializeToString()


FULL = sequence({"i": [1, 2, 3], "s": [b"a"], "d": [1.5, 2.5], "n": None,
                 "large": [2**62, -1, 300]},
                {"i": [[1, 2], [], [3]], "s": [[b"x"], [b"y", b"z"]],
                 "d": [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], "e": []})
PART = sequence({"i": [7], "s": [b"q", b"r"]}, {"i": [[9]], "d": [[7.0, 8.0]]})
NONE = sequence()
BATCH = [FULL, PART, NONE]
NAMES = ["n1", "n2", "n3"]
TEXTS = sequence({}, {"s": [[b"k"], [b"a text that is longer than others"]]})
TEXT = sequence({}, {"s": [[b"l"]]})
HOLES = sequence({}, {"i": [None, [1], None]})
DEFAULT = ("d", D, [2], [8., 9.])


def field(tag, content):
    return bytes([tag * 8 + 2, len(content)]) + content


def in_context(key, message):
    return field(1, field(1, field(1, key) + field(2, message)))


def in_list(key, message):
    return field(2, field(1, field(1, key) + field(2, field(1, message))))


DAMAGED = {"unknown": b"\x22\x00", "cut": b"\x1a\x05\x0a",
           "endless": field(3, field(1, b"\x80")),
           "floats": field(2, field(1, b"\0\0\0")), "wire": b"\x08\x01"}

# What is wanted: (key, type[, shape[, default]]) of dense ones, (key, type,
# type of splits) of ragged ones.
GOOD = {
    "sparse": dict(cs=[("i", I), ("s", S), ("zz", D), ("large", I)]),
    "dense": dict(cd=[DEFAULT]),
    "ragged": dict(cr=[("i", I, tf.int32), ("zz", D, I), ("s", S, I)]),
    "sparse lists": dict(ls=[("i", I), ("s", S), ("zz", D), ("e", I)]),
    "dense lists": dict(ld=[("d", D, [2])], miss=[True]),
    "ragged lists": dict(lr=[("i", I, tf.int32), ("s", S, I), ("zz", D, I)]),
    "all": dict(cs=[("s", S)], cd=[DEFAULT], cr=[("i", I, I)], ls=[("i", I)],
                ld=[("d", D, [1, 2])], lr=[("s", S, tf.int32)], miss=[True]),
    "one key twice": dict(cs=[("i", I), ("i", I)], ls=[("i", I), ("i", I)]),
    "of both": dict(cs=[("i", I)], ls=[("i", I)]),
    "nothing": {},
}
BAD = {
    "required": dict(cd=[("d", D, [2], [])]),
    "type": dict(cd=[("i", D, [3], [0., 0., 0.])]),
    "count": dict(cd=[("i", I, [2], [0, 0])]),
    "too few": dict(cd=[("i", I, [3], [])]),
    "shape": dict(cd=[("i", I, [None], [0])]),
    "default": dict(cd=[("d", D, [2], [8.])]),
    "scalar default": dict(cd=[("d", D, [2], 8.)]),
    "sparse type": dict(cs=[("i", S)]),
    "ragged type": dict(cr=[("i", S, I)]),
    "no list": dict(ld=[("d", D, [2])]),
    "no text": dict(ld=[("s", S, [1])], miss=[True]),
    "list type": dict(ls=[("i", D)]),
    "dense list type": dict(ld=[("d", I, [2])], miss=[True]),
    "ragged list type": dict(lr=[("d", I, I)]),
    "list count": dict(ld=[("d", D, [3])], miss=[True]),
    "list shape": dict(ld=[("i", I, [None])], miss=[True]),
    "dense and sparse": dict(cs=[("i", I)], cd=[("i", I, [3], [0, 0, 0])]),
    "ragged and sparse": dict(cs=[("i", I)], cr=[("i", I, I)]),
    "dense and ragged": dict(cd=[("i", I, [3], [0, 0, 0])], cr=[("i", I, I)]),
    "lists of both": dict(ls=[("i", I)], ld=[("i", I, [1])], miss=[True]),
    "flags": dict(ld=[("d", D, [2])], miss=[True, False]),
}


def keys(wants):
    return tf.constant([w[0] for w in wants], tf.string)


def types(wants, at=1):
    return [w[at] for w in wants]


def second(serialized, names=(), cs=(), cd=(), cr=(), ls=(), ld=(), lr=(),
           miss=None):
    return raw.ParseSequenceExampleV2(
        serialized=hidden(serialized),
        debug_name=hidden(np.array(names, object)),
        context_sparse_keys=keys(cs), context_dense_keys=keys(cd),
        context_ragged_keys=keys(cr), feature_list_sparse_keys=keys(ls),
        feature_list_dense_keys=keys(ld), feature_list_ragged_keys=keys(lr),
        feature_list_dense_missing_assumed_empty=hidden(np.array(
            [False] * len(ld) if miss is None else miss, bool)),
        context_dense_defaults=[tf.constant(w[3], w[1]) for w in cd],
        Ncontext_sparse=len(cs), context_sparse_types=types(cs),
        context_ragged_value_types=types(cr),
        context_ragged_split_types=types(cr, 2),
        context_dense_shapes=types(cd, 2), Nfeature_list_sparse=len(ls),
        Nfeature_list_dense=len(ld), feature_list_dense_types=types(ld),
        feature_list_sparse_types=types(ls),
        feature_list_ragged_value_types=types(lr),
        feature_list_ragged_split_types=types(lr, 2),
        feature_list_dense_shapes=types(ld, 2))


def first(serialized, names=(), cs=(), cd=(), ls=(), ld=(), miss=None):
    return raw.ParseSequenceExample(
        serialized=hidden(serialized),
        debug_name=hidden(np.array(names, object)),
        context_dense_defaults=[tf.constant(w[3], w[1]) for w in cd],
        feature_list_dense_missing_assumed_empty=[
            w[0] for w, lacks in zip(ld, miss or ()) if lacks],
        context_sparse_keys=[w[0] for w in cs],
        context_dense_keys=[w[0] for w in cd],
        feature_list_sparse_keys=[w[0] for w in ls],
        feature_list_dense_keys=[w[0] for w in ld],
        Ncontext_sparse=len(cs), Ncontext_dense=len(cd),
        Nfeature_list_sparse=len(ls), Nfeature_list_dense=len(ld),
        context_sparse_types=types(cs), feature_list_dense_types=types(ld),
        context_dense_shapes=types(cd, 2), feature_list_sparse_types=types(ls),
        feature_list_dense_shapes=types(ld, 2))


def alone(serialized, name=b"", cs=(), cd=(), ls=(), ld=(), miss=None):
    return raw.ParseSingleSequenceExample(
        serialized=hidden(serialized), debug_name=hidden(name),
        feature_list_dense_missing_assumed_empty=tf.constant([
            w[0] for w, lacks in zip(ld, miss or ()) if lacks], tf.string),
        context_sparse_keys=[tf.constant(w[0]) for w in cs],
        context_dense_keys=[tf.constant(w[0]) for w in cd],
        feature_list_sparse_keys=[tf.constant(w[0]) for w in ls],
        feature_list_dense_keys=[tf.constant(w[0]) for w in ld],
        context_dense_defaults=[tf.constant(w[3], w[1]) for w in cd],
        context_sparse_types=types(cs), feature_list_dense_types=types(ld),
        context_dense_shapes=types(cd, 2), feature_list_sparse_types=types(ls),
        feature_list_dense_shapes=types(ld, 2))


def without_ragged(wants):
    return not wants.get("cr") and not wants.get("lr") and (
        len(wants.get("miss") or ()) <= len(wants.get("ld") or ()))


def compare(side, calls, classes=()):
    """calls: name -> outputs by field; of those in classes only an error's
    class."""
    out = {}
    with side.session() as session:
        for name, call in calls.items():
            if isinstance(call, str):
                out[name] = call
                continue
            fetches = {"%s %d" % (key, i): part
                       for key, parts in call._asdict().items()
                       for i, part in enumerate(parts)}
            found = (attempt if name in classes else told)(
                session, fetches or tf.no_op())
            if isinstance(found, dict):
                for key, value in found.items():
                    out["%s: %s" % (name, key)] = value
            else:
                out[name] = found if found is not None else "done"
    return out


def make(calls, name, function, *args, **wants):
    try:
        calls[name] = function(*args, **wants)
    except ValueError:  # the client's own shape function has refused it
        calls[name] = "refused"


@scenario("ParseSequenceExampleV2", tol=0)
@fresh_graph
def sequences_are_parsed(side):
    calls = {}
    for name, wants in GOOD.items():
        make(calls, name, second, BATCH, **wants)
        make(calls, name + " with names", second, BATCH, NAMES, **wants)
        if not wants.get("cr") and not wants.get("lr"):
            make(calls, name + " of one", second, FULL, **wants)
        if name != "dense":
            make(calls, name + " of none", second, np.array([], object),
                 **{k: v for k, v in wants.items() if k != "cd"})
    make(calls, "required", second, FULL, cd=[("d", D, [2], [])])
    make(calls, "defaults", second, [PART, NONE], cd=[DEFAULT])
    make(calls, "texts", second, [TEXTS, TEXT], ld=[("s", S, [1])])
    make(calls, "empty lists", second, [FULL], ld=[("e", D, [2])])
    make(calls, "holes", second, [HOLES, FULL], ls=[("i", I)],
         lr=[("d", D, I)])
    make(calls, "ragged holes", second, [HOLES], lr=[("i", I, I)])
    make(calls, "two contexts", second, [sequence({"i": [1]}) + sequence(
        {"j": [2]}), sequence({"i": [1]}) + sequence({"i": [5, 6]})],
        cs=[("i", I), ("j", I)])
    make(calls, "two lists", second, [sequence({}, {"i": [[1], [2]]}) +
                                      sequence({}, {"i": [[5, 6]]}), FULL],
         ls=[("i", I)])
    return compare(side, calls)


@scenario("ParseSequenceExampleV2")
@fresh_graph
def sequences_that_do_not_fit(side):
    calls = {}
    for name, wants in BAD.items():
        make(calls, name, second, BATCH, **wants)
        make(calls, name + " with names", second, BATCH, NAMES, **wants)
    make(calls, "none of one", second, PART, cd=[("d", D, [2], [])])
    make(calls, "some", second, [sequence({"i": [1, 2]}), sequence(
        {"i": [1]})], NAMES[:2], cd=[("i", I, [2], [])])
    make(calls, "empty one", second, [FULL], cd=[("n", I, [1], [5])])
    make(calls, "row", second, [NONE, sequence({}, {"i": [[1], [2.0]]})],
         ls=[("i", I)])
    make(calls, "hole", second, [HOLES], ld=[("i", I, [1])])
    make(calls, "message", second, [FULL, b"\xff"], NAMES[:2], cs=[("i", I)])
    make(calls, "names", second, BATCH, NAMES[:1], cs=[("i", I)])
    make(calls, "matrix", second, [[FULL]], cs=[("i", I)])
    for name, message in DAMAGED.items():
        make(calls, name, second, [in_context(b"i", message)], cs=[("i", I)])
        make(calls, name + " dense", second, [in_context(b"i", message)],
             cd=[("i", I, [1], [0])])
        make(calls, name + " list", second, [in_list(b"i", message)],
             ls=[("i", I)])
        make(calls, name + " dense list", second, [in_list(b"i", message)],
             ld=[("i", I, [1])])
    return compare(side, calls)


@scenario("ParseSequenceExample", tol=0)
@fresh_graph
def sequences_by_attributes(side):
    calls = {}
    for name, wants in {**GOOD, **BAD}.items():
        if without_ragged(wants):
            make(calls, name, first, BATCH, **wants)
            make(calls, name + " with names", first, BATCH, NAMES, **wants)
            make(calls, name + " of one", first, FULL, **wants)
    return compare(side, calls)


@scenario("ParseSingleSequenceExample", tol=0)
@fresh_graph
def single_sequences(side):
    calls, classes = {}, set()
    for name, wants in {**GOOD, **BAD}.items():
        if not without_ragged(wants):
            continue
        for text, example in (("full", FULL), ("part", PART), ("none", NONE)):
            key = "%s of %s" % (name, text)
            make(calls, key, alone, example, **wants)
            make(calls, key + ", named", alone, example, b"nm", **wants)
            if "type" in name:  # the text has what is in the feature
                classes |= {key, key + ", named"}
    for name, message in DAMAGED.items():
        if name == "endless":  # Python cannot read the text that quotes it
            continue
        for kind, where, wants in (
                ("", in_context, dict(cs=[("i", I)])),
                (" dense", in_context, dict(cd=[("i", I, [1], [0])])),
                (" list", in_list, dict(ls=[("i", I)])),
                (" dense list", in_list, dict(ld=[("i", I, [1])]))):
            make(calls, name + kind, alone, where(b"i", message), **wants)
            classes.add(name + kind)
    make(calls, "holes", alone, HOLES, ls=[("i", I)])
    make(calls, "dense hole", alone, HOLES, ld=[("i", I, [1])])
    make(calls, "empty one", alone, FULL, cd=[("n", I, [1], [5])])
    classes |= {"dense hole", "empty one"}
    make(calls, "message", alone, b"junk", cs=[("i", I)])
    make(calls, "vector", alone, [FULL], cs=[("i", I)])
    make(calls, "names", alone, FULL, [b"nm"], cs=[("i", I)])
    return compare(side, calls, classes)
