"""Cases of kernels/index/dynamic_partition.c."""
import numpy as np

from tests.conformance.cases.shared import ANY, IDS
from tests.conformance.inputs import x
from tests.conformance.table import bad, c, once, row

row("DynamicPartition", [
    c(x(4), [0, 1, 0, 2], num_partitions=3), c(x(), 1, num_partitions=2),
    c(x(4, 3), [1, 1, 0, 1], num_partitions=3),
    c(x(2, 3, 2), [[0, 1, 0], [2, 2, 0]], num_partitions=3),
    c(x(0, 2), np.zeros([0]), num_partitions=2),
    c(x(2, 0), [1, 0], num_partitions=2),
    once(x(300, 70), IDS, num_partitions=40),
    once(x(300), IDS, num_partitions=40),
    c(x(5, 16), [1, 1, 0, 3, 1], num_partitions=4),
    c(x(2, 2, 6), [[1, 0], [1, 1]], num_partitions=2),
    c(x(3, 2, 12), [0, 0, 0], num_partitions=1),
    bad(x(2, 16), [0, 3], num_partitions=3),
    bad(x(4), [0, 1, 0, 3], num_partitions=3),
    bad(x(4), [0, -1, 0, 1], num_partitions=3),
    bad(x(4), [[0, 1], [0, 1]], num_partitions=3),
    bad(x(2, 2), [[0, 1], [0, 5]], num_partitions=3),
    bad(x(), 5, num_partitions=3), bad(x(4), [0, 1, 0], num_partitions=3)],
    ANY)
