"""Ops that TensorFlow has no Python function for."""
from tensorflow.python.framework import op_def_library


def op(name, **inputs_and_attributes):
    """What it gives: a tensor, a list of them, or the operation."""
    return op_def_library.apply_op(name, **inputs_and_attributes)
