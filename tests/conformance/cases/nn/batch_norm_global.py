"""Cases of kernels/nn/batch_norm_global.c."""
from tests.cluster.client import tf
from tests.conformance.cases.shared import SMALL
from tests.conformance.old_graphs import old_node
from tests.conformance.scenarios import fresh_graph, hidden, told
from tests.conformance.table import scenario

OPS = ("BatchNormWithGlobalNormalization",
       "BatchNormWithGlobalNormalizationGrad")


def normalised(op, dtype, shape, scaled=True, **others):
    """Of drawn inputs; `others` has the shapes that do not follow."""
    names = ("m", "v", "beta", "gamma") if op == OPS[0] else (
        "m", "v", "gamma", "dy")
    dims = {"dy": shape, **others}
    inputs = [SMALL.draw(dtype, shape, "t")]
    for name in names:
        found = SMALL.draw(dtype, dims.get(name, shape[-1:]), name)
        inputs.append(abs(found) if name == "v" else found)
    return old_node(op, *map(hidden, inputs), T=dtype, variance_epsilon=0.1,
                    scale_after_normalization=scaled)


@scenario(" ".join(OPS), tol=16)
@fresh_graph
def images_normalised_in_old_graphs(side):
    found = {}
    with side.session() as session:
        for op in OPS:
            for dtype in (tf.float32, tf.float64, tf.float16):
                for shape in ((2, 3, 2, 3), (1, 2, 2, 70), (0, 2, 2, 3)):
                    for scaled in (False, True):
                        made = session.run(normalised(
                            op, dtype, shape, scaled))
                        for number, value in enumerate(
                                made if isinstance(made, list) else [made]):
                            found["%s %s %s %s %d" % (
                                op, dtype.name, shape, scaled, number)] = value
    return found


@scenario(" ".join(OPS))
@fresh_graph
def images_not_normalised_in_old_graphs(side):
    """Ranks that are wrong; TensorFlow looks at no lengths."""
    found = {}
    with side.session() as session:
        for op in OPS:
            last = "beta" if op == OPS[0] else "dy"
            for name in ("m", "v", "gamma", last):
                found["%s %s" % (op, name)] = told(session, normalised(
                    op, tf.float32, (2, 2, 2, 3), **{name: (1, 3)}))
            found[op] = told(session, normalised(op, tf.float32, (2, 2, 3)))
    return found
