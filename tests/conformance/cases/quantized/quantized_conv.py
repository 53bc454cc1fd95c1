"""Cases of kernels/quantized/quantized_conv.c."""
from tests.conformance.inputs import Data, x
from tests.conformance.table import bad, c, once, row

X, W = x(2, 5, 6, 4), x(3, 3, 4, 3)
ONE, ALL = (-0.37, 3.3, -1.7, 0.9), (
    -0.37, 3.3, [-1.7, -0.5, -2], [0.9, 1, 0.1])
FROZEN, SUMMAND = (-45.1, 39.0), (-20.0, 17.0)
SAME = {"strides": [1, 1, 1, 1], "padding": "SAME"}
VALID = {"strides": [1, 2, 1, 1], "padding": "VALID"}
BIAS = [20, -31, 7]
LISTED = [0, 0, 1, 2, 3, 0, 0, 0]


def fused(ops, bias=False, frozen=False, sums="", padded=True, single=False):
    """A row of each op: with a bias, a frozen output, a summand."""
    def call(make, image, weights, y, ranges=ONE, biases=None, last=None,
             output=FROZEN, **attrs):
        parts = [image, weights]
        if bias:
            parts.append(BIAS if biases is None else biases)
        parts += ranges
        if frozen:
            parts += output
        if sums:
            parts.append(x(*y) if last is None else last)
        if sums == "ranged":
            parts += SUMMAND
        return make(*parts, **attrs)

    y = (2, 5, 6, 3)
    many = ONE if single else ALL  # TensorFlow's client takes no others
    cases = [
        call(c, X, W, y, **SAME), call(c, X, W, y, many, **SAME),
        call(c, X, W, (2, 2, 4, 3), **VALID),
        call(c, X, x(1, 1, 4, 3), y, many, **SAME),
        call(c, X, W, y, dilations=[1, 2, 1, 1], **SAME),
        call(c, X, x(3, 3, 4, 1), (2, 5, 6, 1), biases=[3], **SAME),
        call(c, X, W, y, (0, 1, 0, 1e-3), **SAME),
        call(once, x(2, 9, 8, 40), x(3, 2, 40, 3), (2, 9, 8, 3), many, **SAME),
        call(bad, X, x(3, 4, 3), y, **SAME),
        call(bad, X, x(3, 3, 3, 3), y, **SAME),
        call(bad, X, x(3, 3, 8, 3), y, **SAME),
        call(bad, X, x(3, 3, 4, 0), y, biases=[], **SAME),
        call(bad, X, x(0, 3, 4, 3), y, **SAME),
        call(bad, X, x(9, 3, 4, 3), y, **VALID),
        call(bad, X, W, y, strides=[2, 1, 1, 1], padding="SAME"),
        call(bad, X, W, y, dilations=[2, 1, 1, 1], **SAME)]
    if padded:
        cases.append(call(c, X, W, (2, 6, 7, 3), padding_list=LISTED, **SAME))
    if sums != "ranged":  # there TensorFlow fails, goes on, and crashes
        cases.append(call(bad, X, W, y, (0, 1, [], []), **SAME))
        if not single:
            cases.append(
                call(bad, X, W, y, (0, 1, [-1, -1, -1], 1), **SAME))
    row(ops, cases, Data(-300, 300), tol=0, renamed=True)


PLAIN = (-1, 3, -2, 1)
row("QuantizedConv2D", [
    c(X, W, *PLAIN, **SAME), c(X, W, -0.3, 14.7, 0, 1, **SAME),
    c(X, W, 2, 5, -2, 1, **SAME), c(X, W, -7, -3, -2, 1, **SAME),
    c(X, W, *PLAIN, strides=[1, 2, 2, 1], padding="VALID"),
    c(X, W, *PLAIN, strides=[1, 3, 3, 1], padding="SAME"),
    once(x(2, 9, 8, 40), x(3, 2, 40, 7), *PLAIN, **SAME),
    bad(X, x(3, 3, 2, 3), *PLAIN, **SAME), bad(X, x(3, 4, 3), *PLAIN, **SAME),
    bad(X, x(7, 3, 4, 3), *PLAIN, strides=[1, 1, 1, 1], padding="VALID"),
    bad(X, W, *PLAIN, strides=[2, 1, 1, 1], padding="SAME"),
    bad(X, W, *PLAIN, dilations=[2, 1, 1, 1], **SAME)],
    Data(-300, 300), tol=0, renamed=True)
fused("QuantizedConv2DPerChannel", padded=False)
fused("QuantizedConv2DAndRelu")
fused("QuantizedConv2DAndRequantize", frozen=True, single=True)
fused("QuantizedConv2DAndReluAndRequantize", frozen=True)
fused("QuantizedConv2DWithBias QuantizedConv2DWithBiasAndRelu", bias=True)
fused("QuantizedConv2DWithBiasAndRequantize "
      "QuantizedConv2DWithBiasAndReluAndRequantize", bias=True, frozen=True)
fused("QuantizedConv2DWithBiasSumAndRelu", bias=True, sums="plain")
fused("QuantizedConv2DWithBiasSumAndReluAndRequantize "
      "QuantizedConv2DWithBiasSignedSumAndReluAndRequantize",
      bias=True, frozen=True, sums="ranged")
