"""Writes kernels/random/sobol_numbers.bin, or says whether it is TensorFlow's.

    sobol_numbers.py FILE           writes it
    sobol_numbers.py --check FILE   compares

The file has the initial direction numbers of S. Joe and F. Kuo, "Constructing
Sobol sequences with better two-dimensional projections", 2008, as TensorFlow
has them, read from its own samples: point 2^k - 1 of a sequence is direction
number k - 1 alone.  kernels/random/sobol_table.h says how they are packed.
"""
import argparse
import pathlib
import sys

import tensorflow as tf

DIMS = 21200  # SOBOL_DIMS of kernels/random/sobol_table.h
# Primitive polynomials of each degree from 1 on.
POLYNOMIALS = (1, 1, 2, 2, 6, 6, 18, 16, 48, 60, 176, 144, 630, 756, 1800,
               2048, 7710, 7776)


def direction_numbers(k):
    """Number k of each dimension, below 2^(k + 1)."""
    samples = tf.raw_ops.SobolSample(
        dim=DIMS, num_results=1, skip=2 ** (k + 1) - 2, dtype=tf.float64)
    return [int(x * 2 ** (k + 1)) for x in samples.numpy()[0]]


def packed():
    numbers = [direction_numbers(k) for k in range(len(POLYNOMIALS))]
    degrees = [degree for degree, count in enumerate(POLYNOMIALS, 1)
               for _ in range(count)][:DIMS - 1]
    bits = "".join(format(numbers[k][dim] >> 1, "0%db" % k)
                   for dim, degree in enumerate(degrees, 1)
                   for k in range(1, degree))
    bits += "0" * (-len(bits) % 8)
    return int(bits, 2).to_bytes(len(bits) // 8, "big")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--check", action="store_true")
    parser.add_argument("file", type=pathlib.Path)
    args = parser.parse_args()
    if not args.check:
        args.file.write_bytes(packed())
    elif args.file.read_bytes() != packed():
        sys.exit("%s is not what TensorFlow has" % args.file)


if __name__ == "__main__":
    main()
