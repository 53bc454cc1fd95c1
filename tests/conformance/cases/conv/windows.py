"""Windows, strides and layouts of images."""
import numpy as np

from tests.conformance.inputs import x

# For one that TensorFlow's oneDNN kernels do not take over.
PLAIN = ("float64",)
# What its plain kernels refuse for that, and those of GPUs do not.
ON_CPU = {"dtypes": PLAIN, "cpu": True}


def window(stride=1, padding="SAME", **attrs):
    """Attributes of a convolution: strides of rows and columns."""
    rows, columns = stride if isinstance(stride, tuple) else (stride, stride)
    found = {"strides": [1, rows, columns, 1], "padding": padding, **attrs}
    if attrs.get("data_format") == "NCHW":
        found["strides"] = [1, 1, rows, columns]
    return found


def explicit(rows, columns, **attrs):
    return {**attrs, "padding": "EXPLICIT",
            "explicit_paddings": [0, 0, *rows, *columns, 0, 0]}


def of_forward(image, filter_, _):
    return x(*image), x(*filter_)


def of_input(image, filter_, output):
    return list(image), x(*filter_), x(*output)


def of_filter(image, filter_, output):
    return x(*image), list(filter_), x(*output)


def close(a, b):
    return bool(np.allclose(a, b, rtol=1e-3, atol=1e-3))


def to_last(array):
    return np.moveaxis(array, 1, -1)
