"""Cases of kernels/data_order/dataset_thread_pool.c."""
from tests.cluster.client import tf
from tests.conformance.cases.data.pipelines import (aliased, answers,
                                                    cardinalities, data,
                                                    elements, failing, made,
                                                    numbers, raw, variant)
from tests.conformance.scenarios import fresh_graph
from tests.conformance.table import scenario


def handle(threads=2, op="ThreadPoolHandle", **attrs):
    return getattr(raw, op)(num_threads=threads, display_name="mine", **attrs)


def pooled(source, pool=None, op="ThreadPoolDataset"):
    return made(op, variant(source), handle() if pool is None else pool)


def makers():
    return {
        "plain": lambda: pooled(numbers(5)),
        "parallel": lambda: pooled(numbers(9).map(lambda x: x * x, 4)),
        "auto": lambda: pooled(numbers(9).map(
            lambda x: x * x, tf.data.AUTOTUNE)),
        "none": lambda: pooled(numbers(0)),
        "shared": lambda: pooled(pooled(numbers(4), handle(
            shared_name="p")), handle(shared_name="p")),
        "unlimited": lambda: pooled(numbers(4), handle(
            max_intra_op_parallelism=-1)),
    }


@scenario("ThreadPoolDataset ThreadPoolHandle ExperimentalThreadPoolDataset "
          "ExperimentalThreadPoolHandle")
@fresh_graph
def data_thread_pools(side):
    found = makers()
    found.update({
        "another": lambda: aliased(
            pooled(numbers(3), handle(op="ExperimentalThreadPoolHandle")),
            "ExperimentalThreadPoolDataset"),
        "fails": lambda: pooled(numbers(5).map(failing(2), 2)),
        "no threads": lambda: pooled(numbers(3), handle(0)),
        "fewer": lambda: pooled(numbers(3), handle(-1)),
    })
    return elements(side, found, passes=2)


@scenario("ThreadPoolDataset DatasetCardinality")
@fresh_graph
def data_thread_pool_cardinalities(side):
    return cardinalities(side, makers())


@scenario("ThreadPoolDataset")
@fresh_graph
def data_thread_pools_refused(side):
    pool = handle()
    return answers(side, {"no dataset": raw.DatasetCardinality(
        input_dataset=raw.ThreadPoolDataset(
            input_dataset=raw.OptionalNone(), thread_pool=pool,
            output_types=[tf.int64], output_shapes=[[]])),
        "pool": raw.DatasetCardinality(input_dataset=raw.ThreadPoolDataset(
            input_dataset=variant(data.range(3)), thread_pool=pool,
            output_types=[tf.int64], output_shapes=[[]]))})
