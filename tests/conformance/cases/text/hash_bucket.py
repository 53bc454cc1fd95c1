"""Cases of kernels/text/hash_bucket.c: strings of every length up to 300."""
import random

from tests.conformance.inputs import x
from tests.conformance.table import bad, c, once, row

RANDOM = random.Random(7)
LENGTHS = [RANDOM.randbytes(n) for n in range(301)]
LONG = [RANDOM.randbytes(n) for n in (1000, 4096, 65537, 1000003)]

row("StringToHashBucketFast", [
    c(x(2, 3), num_buckets=10), c(x(), num_buckets=1),
    c(x(0), num_buckets=7), c(x(1, 2, 1, 2, 1, 2, 1), num_buckets=1000),
    once(LENGTHS, num_buckets=2**63 - 1), once(LONG, num_buckets=2**63 - 1),
    once(LENGTHS, num_buckets=3)])
row("StringToHashBucket", [
    c(x(2, 3), num_buckets=10), c(x(), num_buckets=1),
    c(x(0), num_buckets=7), once(LENGTHS, num_buckets=2**63 - 1),
    once(LONG, num_buckets=2**63 - 1), once(LENGTHS, num_buckets=3)])
KEY = [2**63 - 25, -(2**62) - 3]
row("StringToHashBucketStrong", [
    c(x(2, 3), num_buckets=10, key=[1, 2]), c(x(), num_buckets=1, key=KEY),
    c(x(0), num_buckets=7, key=[0, 0]),
    once(LENGTHS, num_buckets=2**63 - 1, key=KEY),
    once(LENGTHS, num_buckets=2**63 - 1, key=[0, 0]),
    once(LONG, num_buckets=2**63 - 1, key=[123, 456]),
    bad(b"a", num_buckets=3, key=[1]), bad(b"a", num_buckets=3, key=[]),
    bad(b"a", num_buckets=3, key=[1, 2, 3])])
