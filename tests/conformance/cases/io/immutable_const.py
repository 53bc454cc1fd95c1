"""Cases of kernels/io/immutable_const.c."""
from tests.cluster.client import tf
from tests.conformance.inputs import FED
from tests.conformance.scenarios import fresh_graph, told
from tests.conformance.table import scenario

BYTES = bytes(range(64))


@scenario("ImmutableConst", tol=0)
@fresh_graph
def constants_are_files(side):
    """Of every type, longer than the file, and where there is none."""
    out, at = {}, side.path
    for name, contents in (("bytes", BYTES), ("zeros", bytes(64)), ("nothing", b"")):
        with open(at(name), "wb") as file:
            file.write(contents)

    def constant(dtype, shape, name="bytes"):
        value = told(session, tf.raw_ops.ImmutableConst(
            dtype=dtype, shape=shape, memory_region_name=at(name)))
        return (value.replace(side.folder, "FOLDER")
                if isinstance(value, str) else value)

    with side.session() as session:
        for dtype in FED:
            name = "zeros" if dtype.is_floating or dtype.is_complex else "bytes"
            for shape in ([], [3], [0], [1, 2], [2, 0, 3]):
                out["%s %s" % (dtype.name, shape)] = constant(dtype, shape, name)
        out["truths"] = session.run(tf.raw_ops.Cast(x=tf.raw_ops.ImmutableConst(
            dtype=tf.bool, shape=[1], memory_region_name=at("bytes")), DstT=tf.int32))
        out["all of it"] = constant(tf.int64, [2, 4])
        out["one more"] = constant(tf.int64, [3, 3])
        out["by uri"] = session.run(tf.raw_ops.ImmutableConst(
            dtype=tf.int8, shape=[64], memory_region_name="file://" + at("bytes")))
        for name in ("nothing", "missing", "", "missing/bytes", "bytes/x"):
            out[name] = constant(tf.int8, [1], name)
        out["not all known"] = constant(tf.int32, [None, 2])
    return out
