"""Cases of kernels/state/optional.c."""
from tests.cluster.client import tf
from tests.conformance.cases.list.lists import attempts, empty
from tests.conformance.scenarios import fresh_graph
from tests.conformance.table import scenario

raw = tf.raw_ops


@scenario("OptionalNone OptionalFromValue OptionalHasValue OptionalGetValue")
@fresh_graph
def optionals(side):
    some = raw.OptionalFromValue(components=[tf.constant([1.0]), "text"])
    none = raw.OptionalNone()

    def value(optional, *types):
        return raw.OptionalGetValue(optional=optional, output_types=types,
                                    output_shapes=[None] * len(types))

    return attempts(side, {
        "has": raw.OptionalHasValue(optional=some),
        "has none": raw.OptionalHasValue(optional=none),
        "value": value(some, tf.float32, tf.string),
        "value of none": value(none, tf.float32),
        "types": value(some, tf.float32, tf.int32),
        "count": value(some, tf.float32),
        "no optional": raw.OptionalHasValue(optional=empty()),
    })
