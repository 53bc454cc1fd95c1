"""Cases of kernels/text/hash_bucket.c: strings of every length up to 300."""
import random

from tests.conformance.inputs import x
from tests.conformance.table import c, once, row

RANDOM = random.Random(7)
LENGTHS = [RANDOM.randbytes(n) for n in range(301)]
LONG = [RANDOM.randbytes(n) for n in (1000, 4096, 65537, 1000003)]

row("StringToHashBucketFast", [
    c(x(2, 3), num_buckets=10), c(x(), num_buckets=1),
    c(x(0), num_buckets=7), c(x(1, 2, 1, 2, 1, 2, 1), num_buckets=1000),
    once(LENGTHS, num_buckets=2**63 - 1), once(LONG, num_buckets=2**63 - 1),
    once(LENGTHS, num_buckets=3)])
