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


def _before(length, window, steps, stride, dilation, padding):
    """Places that a window begins before its image."""
    if padding != "SAME":
        return 0
    reach = (steps - 1) * stride + (window - 1) * dilation + 1
    return max(reach - length, 0) // 2


def terms_of_input(sizes, filter_, dy, strides, padding, **attrs):
    """How large the terms are, in the plainest way, of what each element of an
    image gets of dy: |filter| * |dy|, summed over all windows it is in."""
    filter_, dy = (np.abs(np.asarray(a, np.float64)) for a in (filter_, dy))
    image = (dy.shape[0], *sizes[-2:], filter_.shape[2]) if (
        len(sizes) == 2) else tuple(sizes)
    dilations = attrs.get("dilations", [1, 1, 1, 1])
    pads = attrs.get("explicit_paddings")
    before = [pads[2 * axis] if pads else _before(
        image[axis], filter_.shape[axis - 1], dy.shape[axis], strides[axis],
        dilations[axis], padding) for axis in (1, 2)]
    found = np.zeros(image)
    for place in np.ndindex(*dy.shape[1:3]):
        for tap in np.ndindex(*filter_.shape[:2]):
            y, x_ = (place[i] * strides[i + 1] + tap[i] * dilations[i + 1]
                     - before[i] for i in (0, 1))
            if 0 <= y < image[1] and 0 <= x_ < image[2]:
                found[:, y, x_] += dy[:, place[0], place[1]] @ filter_[tap].T
    return [found]


def close(a, b):
    return bool(np.allclose(a, b, rtol=1e-3, atol=1e-3))


def to_last(array):
    return np.moveaxis(array, 1, -1)
