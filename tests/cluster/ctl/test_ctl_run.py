"""tfdctl run: values of every type by files that NumPy reads and writes."""
import os
import tempfile

from tests.cluster.client import graph, np, tf
from tests.cluster.ctl.ctl import (NO, REFUSED, UNREADABLE, UNREACHABLE, USAGE,
                                   bad, document, good)
from tests.cluster.suite import test

TYPES = ["float16", "float32", "float64", "int8", "int16", "int32", "int64",
         "uint8", "uint16", "uint32", "uint64", "bool", "complex64",
         "complex128"]
QUANTISED = {"qint8": np.int8, "quint8": np.uint8, "qint16": np.int16,
             "quint16": np.uint16, "qint32": np.int32}


def write_graph(folder, as_text=False):
    """The current graph."""
    name = "graph.pbtxt" if as_text else "graph.pb"
    return tf.io.write_graph(tf.get_default_graph(), folder, name, as_text)


def some(dtype, shape=(2, 3)):
    rng = np.random.default_rng(1)
    values = rng.integers(0, 120, shape).astype(dtype)
    if np.issubdtype(dtype, np.complexfloating):
        values = values + 1j * values[::-1]
    return values.astype(dtype)


@test(worker=1)
def every_type_goes_there_and_back(cluster):
    address = cluster["worker", 0].address
    with tempfile.TemporaryDirectory() as folder, graph():
        arguments, want = [], {}
        for t in TYPES:
            x = tf.placeholder(t, name="x_" + t)
            tf.identity(x, name="y_" + t)
            want[t] = some(t)
            np.save("%s/%s.npy" % (folder, t), want[t])
        path = write_graph(folder)
        for t in TYPES:
            good("run", path, "--target=" + address,
                 "--feed=x_%s=%s/%s.npy" % (t, folder, t),
                 "--fetch=y_%s=%s/%s.out.npy" % (t, folder, t))
            got = np.load("%s/%s.out.npy" % (folder, t))
            assert got.dtype == want[t].dtype, (t, got.dtype)
            assert got.tobytes() == want[t].tobytes() and \
                got.shape == want[t].shape, t
            # To the byte what NumPy writes.
            with open("%s/%s.npy" % (folder, t), "rb") as a, \
                    open("%s/%s.out.npy" % (folder, t), "rb") as b:
                assert a.read() == b.read(), t
        assert not arguments


@test(worker=1)
def both_orders_of_bytes_and_elements_are_read(cluster):
    address = cluster["worker", 0].address
    with tempfile.TemporaryDirectory() as folder, graph():
        tf.identity(tf.placeholder(tf.float64, name="x"), name="y")
        path, one, two = write_graph(folder), folder + "/a.npy", \
            folder + "/b.npy"

        def there_and_back(array, version=None):
            with open(one, "wb") as f:
                np.lib.format.write_array(f, array, version)
            good("run", path, "--target=" + address, "--feed=x:0=" + one,
                 "--fetch=y=" + two)
            got = np.load(two)
            assert got.dtype == np.float64 and got.shape == array.shape
            assert np.array_equal(got, array), (array, got)

        whole = np.arange(120, dtype=np.float64).reshape(2, 3, 4, 5)
        for array in (whole, np.asfortranarray(whole), whole.astype(">f8"),
                      np.asfortranarray(whole.astype(">f8")),
                      np.float64(7), np.zeros((0, 3)), np.zeros((3, 0, 2)),
                      np.arange(5.0), np.zeros((1,) * 8)):
            for version in (1, 0), (2, 0), (3, 0):
                there_and_back(np.asarray(array), version)


@test(worker=1)
def strings_and_other_types_of_tensorflow(cluster):
    address = cluster["worker", 0].address
    with tempfile.TemporaryDirectory() as folder, graph():
        tf.identity(tf.placeholder(tf.string, name="s"), name="t")
        tf.identity(tf.placeholder(tf.bfloat16, name="b"), name="c")
        for name in QUANTISED:
            tf.identity(tf.placeholder(name, name="x_" + name),
                        name="y_" + name)
        tf.constant([b"a\0", b"b"], name="zero")
        tf.constant([[1.5, float("nan")], [float("inf"), -0.0]], name="odd")
        tf.constant(2**64 - 1, tf.uint64, name="most")
        tf.constant(3 - 4j, name="pair")
        path, one, two = write_graph(folder), folder + "/a.npy", \
            folder + "/b.npy"
        step = ["run", path, "--target=" + address]
        for array in (np.array([b"one", b"", b"three\xff"]),
                      np.array([["\u00fc\U0001f600", "x"]]),
                      np.array(["\u00fc", "yz"], ">U2"),
                      np.array([b"ab", b"c"]).reshape(2, 1)):
            np.save(one, array)
            good(*step, "--feed=s=" + one, "--fetch=t=" + two)
            want = [v.encode() if isinstance(v, str) else bytes(v)
                    for v in array.ravel().tolist()]
            got = np.load(two)
            assert got.ravel().tolist() == want, (got, want)
            assert got.shape == array.shape
        np.save(one, np.arange(4).astype(tf.bfloat16.as_numpy_dtype))
        good(*step, "--feed=b=" + one, "--fetch=c=" + two)
        got = np.load(two).view(tf.bfloat16.as_numpy_dtype)
        assert got.astype(float).tolist() == [0, 1, 2, 3], got
        for name, plain in QUANTISED.items():
            np.save(one, np.array([1, 2, 3], plain))
            good(*step, "--feed=x_%s=%s" % (name, one),
                 "--fetch=y_%s=%s" % (name, two))
            assert np.load(two).tolist() == [1, 2, 3]
            assert np.load(two).dtype == plain
        bad(UNREADABLE, ["string 0", "zero byte"], *step,
            "--fetch=zero=" + two)
        found = document(*step, "--fetch=zero", "--fetch=odd", "--fetch=most",
                         "--fetch=pair")["fetches"]
        assert [f["name"] for f in found] == ["zero:0", "odd:0", "most:0",
                                              "pair:0"]
        assert found[0]["values"] == ["a\0", "b"]
        assert found[1]["values"] == [1.5, "NaN", "Infinity", -0.0]
        assert found[1]["shape"] == [2, 2] and found[1]["type"] == "float"
        assert found[2]["values"] == ["18446744073709551615"]
        assert found[3]["values"] == [[3.0, -4.0]]
        text = good(*step, "--fetch=odd")
        assert text.splitlines()[0] == "odd:0 float [2,2]", text
        assert text.splitlines()[1].startswith("1.5 "), text


@test(ps=1, worker=1)
def operations_change_what_stays_on_a_task(cluster):
    address = cluster["worker", 0].address
    with tempfile.TemporaryDirectory() as folder, graph():
        with tf.device("/job:ps"):
            v = tf.get_variable("v", initializer=np.float32(2),
                                use_resource=False)
        tf.assign_add(v, 1.5, name="more")
        for as_text in False, True:
            path = write_graph(folder, as_text)
            step = ["run", path, "--target=" + address]
            good(*step, "--op=v/Assign")
            good(*step, "--op=more")
            found = document(*step, "--fetch=v/read")["fetches"]
            assert found[0]["values"] == [3.5] and found[0]["shape"] == []


def head(text, version=1, size=None):
    text = text.encode() + b"\n"
    size = len(text) if size is None else size
    return (b"\x93NUMPY" + bytes([version, 0])
            + size.to_bytes(2 if version == 1 else 4, "little") + text)


DESCR = "{'descr': %s, 'fortran_order': False, 'shape': %s, }"
# content of the file, what the complaint names
DAMAGED = [
    (b"", ["too short"]),
    (b"\x93NUMPY\x01\x00", ["too short"]),
    (b"PK\x03\x04 an archive, not one array", ["\\x93NUMPY"]),
    (head(DESCR % ("'<f4'", "(2,)"), version=4) + b"0" * 9, ["version 4"]),
    (head(DESCR % ("'<f4'", "(2,)"), size=60000), ["too soon"]),
    (head("", version=2, size=2**32 - 1), ["4294967295", "65536"]),
    (head(DESCR % ("'<f4'", "(3,)")) + b"0" * 11, ["1 bytes too soon"]),
    (head(DESCR % ("'<f4'", "(2000000000, 2000000000, 2000000000)")),
     ["a.npy"]),
    (head(DESCR % ("'<f8'", "(4000000000, 400000000)")), ["limit"]),
    (head(DESCR % ("'<f4'", "(99999999999999999999,)")), ["shape"]),
    (head(DESCR % ("'<f4'", "(-1,)")), ["shape"]),
    (head(DESCR % ("'<f4'", "(2")), ["shape"]),
    (head(DESCR % ("'<f4'", "2")), ["shape"]),
    (head(DESCR % ("'<f4'", "(%s)" % ("1," * 9))), ["8 dimensions"]),
    (head(DESCR % ("'|O'", "(2,)")) + b"cos\nsystem\n", ["pickled"]),
    (head(DESCR % ("[('a', '<f4')]", "(2,)")), ["records"]),
    (head(DESCR % ("'<f3'", "(2,)")) + b"0" * 9, ["<f3"]),
    (head(DESCR % ("'<M8[us]'", "(1,)")) + b"0" * 9, ["<M8[us]"]),
    (head(DESCR % ("'f4'", "(1,)")) + b"0" * 9, ["f4"]),
    (head(DESCR % ("'|S99999999999999'", "(1,)")), ["S9999"]),
    (head(DESCR % ("'|S0'", "(9000000,)")), ["empty elements"]),
    (head("{'descr': '<f4', 'shape': (1,), }") + b"0000", ["fortran_order"]),
    (head("{'descr': '<f4', 'fortran_order': 0, 'shape': (1,)}"),
     ["fortran_order"]),
    (head("{'descr': '<f4', 'descr': '<f4'}"), ["three keys"]),
    (head("{'other': 1}"), ["three keys"]),
    (head("__import__('os')"), ["dictionary"]),
    (head("{'descr"), ["dictionary"]),
]


@test(worker=1)
def a_damaged_file_is_refused_by_name(cluster):
    step = ["--target=" + cluster["worker", 0].address, "--fetch=y"]
    with tempfile.TemporaryDirectory() as folder, graph():
        tf.identity(tf.placeholder(tf.float32, name="x"), name="y")
        path, file, wrong = write_graph(folder), folder + "/a.npy", []
        for content, words in DAMAGED:
            with open(file, "wb") as f:
                f.write(content)
            try:
                bad(UNREADABLE, words + ["a.npy"], "run", path,
                    "--feed=x=" + file, *step)
            except AssertionError as error:
                wrong.append("%r: %s" % (content[:80], error))
        assert not wrong, "\n".join(wrong)
        os.remove(file)
        os.mkfifo(file)
        bad(UNREADABLE, ["no regular file"], "run", path, "--feed=x=" + file,
            *step)
        os.remove(file)
        bad(UNREADABLE, ["No such file"], "run", path, "--feed=x=" + file,
            *step)


@test(worker=1)
def what_does_not_fit_the_graph_is_refused_here(cluster):
    address = cluster["worker", 0].address
    with tempfile.TemporaryDirectory() as folder, graph():
        x = tf.placeholder(tf.float32, [2, None], name="x")
        tf.identity(x, name="y")
        tf.matmul(x, x, name="square")
        path, file = write_graph(folder), folder + "/a.npy"
        np.save(file, np.zeros((2, 3), np.float32))
        np.save(folder + "/wide.npy", np.zeros((3, 2), np.float32))
        np.save(folder + "/double.npy", np.zeros((2, 3)))
        np.save(folder + "/flat.npy", np.zeros(2, np.float32))
        feed, target = "--feed=x=" + file, "--target=" + address
        for code, words, arguments in [
                (USAGE, ["--fetch", "--op"], [feed]),
                (NO, ["nope", "no such operation"], ["--fetch=nope", feed]),
                (NO, ["nope", "no such operation"], ["--op=nope", feed]),
                (NO, ["nope", "no such operation"],
                 ["--fetch=y", "--feed=nope=" + file]),
                (NO, ["double", "float"],
                 ["--fetch=y", "--feed=x=%s/double.npy" % folder]),
                (NO, ["[3,2]", "[2,?]"],
                 ["--fetch=y", "--feed=x=%s/wide.npy" % folder]),
                (NO, ["[2]", "[2,?]"],
                 ["--fetch=y", "--feed=x=%s/flat.npy" % folder]),
                (USAGE, ["twice"], ["--fetch=y", feed, feed]),
                (USAGE, ["twice"], ["--fetch=y", "--fetch=y:0", feed]),
                (USAGE, ["NAME=FILE"], ["--fetch=y", "--feed=x"]),
                (USAGE, ["not a name"], ["--fetch=y", "--feed==" + file]),
                (USAGE, ["not a name"], ["--fetch=y=", feed]),
                (REFUSED, ["x"], ["--fetch=y"]),
                (REFUSED, ["square"], ["--fetch=square", feed]),
                (UNREADABLE, ["/no/such/folder"],
                 ["--fetch=y=/no/such/folder/a.npy", feed])]:
            bad(code, words, "run", path, target, *arguments)
        bad(UNREADABLE, ["No such file"], "run", folder + "/none", target,
            "--fetch=y")
        bad(UNREADABLE, ["MetaGraphDef"], "run", file, target, "--fetch=y")
        bad(UNREACHABLE, ["localhost:1"], "run", path, "--target=localhost:1",
            "--fetch=y", feed)
