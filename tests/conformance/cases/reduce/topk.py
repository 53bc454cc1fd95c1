"""Cases of kernels/reduce/topk.c."""
from tests.cluster.client import tf
from tests.conformance.cases.list.lists import spread
from tests.conformance.inputs import Data, x
from tests.conformance.scenarios import attempt, fresh_graph, sample, told
from tests.conformance.table import bad, c, once, row, scenario

row("TopKV2", [
    c(x(5), 3), c(x(4, 9), 4), c(x(4, 9), 9), c(x(4, 9), 0), c(x(4, 9), 1),
    c([1, 5, 3, 5, 5, 2], 3), c(x(2, 3, 4), 2), c(x(0, 4), 2), c(x(2, 0), 0),
    c(x(3, 200), 20), once(x(300, 70), 5), once(x(2, 20000), 300),
    once(x(2, 5000), 3000),
    c([[0, 0, 0, 0]], 3), c(x(7), 7, sorted=False), c(x(7), 1, sorted=False),
    bad(x(5), 6), bad(x(5), -1), bad(x(), 1), bad(x(5), [1]),
    bad(x(5), [1, 2])], Data(-100, 100))


@scenario("ApproxTopK", tol=0)
@fresh_graph
def the_largest_are_exact(side):
    """TensorFlow builds the op only where shapes are known."""
    raw, out = tf.raw_ops, {}

    def found(dtype, dims, k, **attrs):
        x = sample(tf.as_dtype(dtype), dims)
        return told(session, raw.ApproxTopK(input=tf.constant(x), k=k, **attrs))

    with side.session() as session:
        for dtype in ("float32", "float16", "bfloat16"):
            for dims, k in (((5,), 3), ((4, 9), 4), ((4, 9), 9), ((4, 9), 0), ((2, 3, 4), 1),
                            ((0, 4), 2), ((2, 0), 0), ((3, 200), 20), ((2, 5000), 3000)):
                spread(out, "%s %s %d" % (dtype, dims, k), found(dtype, dims, k))
        spread(out, "twins", told(session, raw.ApproxTopK(
            input=tf.constant([1.0, 5, 3, 5, 5, 2]), k=3)))
        for name, attrs in (("advice", dict(recall_target=0.5)),
                            ("all", dict(recall_target=1.0)),
                            ("size", dict(reduction_input_size_override=100)),
                            ("parts", dict(aggregate_to_topk=False))):
            spread(out, name, found("float32", (3, 70), 4, **attrs))
    for name, attrs in (("smallest", dict(is_max_k=False)),
                        ("first", dict(reduction_dimension=0)),
                        ("last", dict(reduction_dimension=1))):
        with side.session() as session:
            out[name] = attempt(session, raw.ApproxTopK(input=tf.ones([3, 7]), k=2, **attrs)[0])
    return out
