"""Cases of kernels/data/dataset_generator.c."""
import itertools

import numpy as np

from tests.cluster.client import tf
from tests.conformance.cases.data.pipelines import (data, elements, failing,
                                                    raw)
from tests.conformance.scenarios import fresh_graph
from tests.conformance.table import scenario


NUMBERS = itertools.count()


class Generated(tf.data.Dataset):
    """Counts in a variable, which its functions share, up to `last`."""

    def __init__(self, last, change=lambda x: x):
        counter = tf.get_variable("counter%d" % next(NUMBERS), shape=[],
                                  dtype=tf.int64, use_resource=True,
                                  initializer=tf.zeros_initializer())

        def end():
            with tf.control_dependencies([counter.assign(0)]):
                return tf.data.Dataset.range(0).get_single_element()

        @tf.function(autograph=False)
        def begin():
            with tf.control_dependencies([counter.assign(0)]):
                return tf.constant(100, tf.int64)

        @tf.function(autograph=False, input_signature=[
            tf.TensorSpec([], tf.int64)])
        def step(state):
            value = counter.assign_add(1)
            with tf.control_dependencies([
                    tf.debugging.assert_less_equal(value, np.int64(last))]):
                return change(state + value)

        @tf.function(autograph=False, input_signature=[
            tf.TensorSpec([], tf.int64)])
        def finish(state):
            return state

        self.counter = counter
        functions = [f.get_concrete_function() for f in (begin, step, finish)]
        for f in functions:
            f.add_to_graph()
        self._made = raw.GeneratorDataset(
            init_func_other_args=functions[0].captured_inputs,
            next_func_other_args=functions[1].captured_inputs,
            finalize_func_other_args=functions[2].captured_inputs,
            init_func=functions[0], next_func=functions[1],
            finalize_func=functions[2], output_types=[tf.int64],
            output_shapes=[[]])
        super().__init__()

    def _as_variant_tensor(self):
        return self._made

    def _inputs(self):
        return []

    @property
    def element_spec(self):
        return tf.TensorSpec([], tf.int64)


@scenario("GeneratorDataset")
@fresh_graph
def data_generators(side):
    return elements(side, {
        "three": lambda: Generated(3).take(3),
        "fails": lambda: Generated(2).take(4),
        "fails inside": lambda: Generated(9, failing(102)).take(4),
        "again": lambda: Generated(5).take(2).repeat(2),
    })
