"""Cases of kernels/list/tensor_map.c."""
import numpy as np

from tensorflow.python.ops import map_ops  # noqa: F401  has the gradients

from tests.cluster.client import tf
from tests.conformance.cases.list.lists import TYPES, attempts, empty, filled
from tests.conformance.scenarios import (attempt, fresh_graph, hidden, sample,
                                         told)
from tests.conformance.table import scenario

raw = tf.raw_ops
ALL = ("EmptyTensorMap TensorMapInsert TensorMapLookup TensorMapErase "
       "TensorMapHasKey TensorMapSize TensorMapStackKeys")
TEXTS = [np.array(t, object) for t in (b"", b"pear", b"p" * 40)]
NUMBERS = [np.array(n, np.int32) for n in (3, -1, 0)]


def new():
    return hidden(raw.EmptyTensorMap())


def put(m, key, value):
    return raw.TensorMapInsert(input_handle=m, key=hidden(key),
                               value=hidden(value))


def of(keys, values):
    m = new()
    for key, value in zip(keys, values):
        m = put(m, key, value)
    return m


def get(m, key, dtype=tf.float32):
    return raw.TensorMapLookup(input_handle=m, key=hidden(key),
                               value_dtype=dtype)


def erase(m, key, dtype=tf.float32):
    return raw.TensorMapErase(input_handle=m, key=hidden(key),
                              value_dtype=dtype)


def has(m, key):
    return raw.TensorMapHasKey(input_handle=m, key=hidden(key))


def size(m):
    return raw.TensorMapSize(input_handle=m)


def keys(m, dtype):
    return raw.TensorMapStackKeys(input_handle=m, key_dtype=dtype)


def rows(session, fetch):
    """Rows in their order, as TensorFlow's is no order."""
    found = attempt(session, fetch)
    return found if isinstance(found, str) else np.array(
        sorted(found.tolist()), found.dtype)


@scenario(ALL, tol=0)
@fresh_graph
def maps_of_every_type(side):
    out = {}
    for dtype in TYPES:
        drawn = [sample(dtype, dims) for dims in ((2,), (), (0, 3))]
        m = of(NUMBERS, drawn)
        for i, key in enumerate(NUMBERS):
            out["%s value %d" % (dtype.name, i)] = get(m, key, dtype)
        if dtype not in (tf.bool, tf.complex64):
            m = of([drawn[0], drawn[1], drawn[2]], NUMBERS)
            for i, key in enumerate(drawn):
                out["%s key %d" % (dtype.name, i)] = get(m, key, tf.int32)
            out[dtype.name + " size"] = size(erase(m, drawn[1], tf.int32))
    return attempts(side, out)


@scenario(ALL, tol=0)
@fresh_graph
def keys_of_maps(side):
    one = np.float32(1)
    many = np.arange(60).reshape(30, 2)
    big = of(many, [np.float32(i) for i in range(30)])
    fewer = big
    for i in range(0, 30, 3):
        fewer = erase(fewer, many[i])
    texts = of(TEXTS, [one] * 3)
    out = attempts(side, {
        "numbers": keys(of(NUMBERS, [one] * 3), tf.int32),
        "texts": keys(texts, tf.string), "rows": keys(big, tf.int64),
        "fewer": keys(fewer, tf.int64),
        "no elements": keys(of([np.zeros([0, 2], np.int32)], [one]), tf.int32),
        "none": keys(new(), tf.int32), "type": keys(texts, tf.int32),
        "shapes": keys(of([NUMBERS[0], np.int32([1])], [one] * 2), tf.int32),
        "both": keys(of([NUMBERS[0], np.float32(1)], [one] * 2), tf.string),
    }, rows)
    out.update(attempts(side, {
        "sizes": [size(new()), size(big), size(fewer), size(texts)],
        "kept": [get(fewer, key) for key in many[1::3]],
        "gone": [has(fewer, key) for key in many[::3]],
        "replaced": [get(put(big, many[4], one), many[4]), get(big, many[4]),
                     size(put(big, many[4], one))],
        "zeros": [has(of([np.float32(0)], [one]), np.float32(-0.0)),
                  has(of([np.float32(np.nan)], [one]), np.float32(np.nan)),
                  has(of([NUMBERS[0]], [one]), np.int64(3)),
                  has(of([NUMBERS[0]], [one]), np.int32([3])),
                  has(of([[b"pear"]], [one]), np.array([b"pear"]))],
    }))
    return out


@scenario(ALL, tol=0)
@fresh_graph
def wrong_uses_of_maps(side):
    m = of(NUMBERS, [np.float32(i) for i in range(3)])
    long = np.arange(120, dtype=np.int32)
    return attempts(side, {
        "no key": get(m, np.int32(9)), "no text": get(m, TEXTS[1]),
        "no row": get(m, np.float32([[1, 2], [3, 4]])), "long": get(m, long),
        "erase": erase(m, np.array([b"a", b"bb"])),
        "erase twice": size(erase(erase(m, NUMBERS[1]), NUMBERS[1])),
        "erase of none": size(erase(new(), NUMBERS[1])),
        "type": get(m, NUMBERS[0], tf.int32),
        "vector": size(tf.stack([m, m])), "list": size(empty()),
        "optional": size(hidden(raw.OptionalNone())),
        "has": has(empty(), NUMBERS[0]), "stack": keys(empty(), tf.int32),
        "put": size(put(tf.stack([m]), NUMBERS[0], 1.0)),
        "map as a list": raw.TensorListLength(input_handle=m),
    }, told)


@scenario(ALL + " AddN ZerosLike", tol=0)
@fresh_graph
def sums_of_maps(side):
    a = of(NUMBERS, [np.float32([1, 2])] * 3)
    b = of(NUMBERS[:1] + TEXTS[:1], [np.float32([5, 7])] * 2)
    both, inner = raw.AddN(inputs=[a, b, a]), put(new(), TEXTS[1], a)
    return attempts(side, {
        "sum": [get(both, key) for key in NUMBERS + TEXTS[:1]],
        "size": [size(both), size(a), size(b),
                 size(raw.ZerosLike(x=a)), size(raw.AddN(inputs=[a, new()]))],
        "nested": get(get(raw.AddN(inputs=[inner, inner]), TEXTS[1],
                          tf.variant), NUMBERS[0]),
        "types": size(raw.AddN(inputs=[a, of(NUMBERS, [1, 2, 3])])),
        "shapes": size(raw.AddN(inputs=[a, of(NUMBERS, [1.0] * 3)])),
        "list": size(raw.AddN(inputs=[a, filled(tf.float32)])),
    })


@scenario(ALL)
@fresh_graph
def gradients_of_maps(side):
    x, y = hidden(np.float32([1, 2])), hidden(np.float32([3, 4]))
    m = put(put(put(new(), TEXTS[0], np.float32([8, 9])), TEXTS[1], x), TEXTS[2], y)
    found = get(m, TEXTS[1]) * 3 + get(m, TEXTS[2]) ** 2
    over = get(put(m, TEXTS[1], y), TEXTS[1]) * 2
    less = get(erase(m, TEXTS[0]), TEXTS[2]) * 5
    out = {}
    for name, of_what in (("found", found), ("over", over), ("less", less)):
        out[name] = [tf.convert_to_tensor(d) for d in tf.gradients(
            of_what, [x, y], unconnected_gradients="zero")]
    return attempts(side, out)
