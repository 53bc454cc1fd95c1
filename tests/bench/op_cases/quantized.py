"""Numbers as integers of few bits, and back."""
from tests.bench.op_cases.table import (
    FLOAT, REALS, const, of, row, side, x)

row("fake_quant", "FakeQuantWithMinMaxArgs", lambda n: [x(n, low=-9, high=9)],
    FLOAT)
row("fake_quant", "FakeQuantWithMinMaxVars", lambda n: [
    x(n, low=-9, high=9), const(-6), const(6)], FLOAT)
row("fake_quant", "FakeQuantWithMinMaxVarsPerChannel", lambda n: [
    x(side(n), side(n), low=-9, high=9), x(side(n), low=-6, high=-5),
    x(side(n), low=5, high=6)], FLOAT, limit=False)
row("fake_quant", "FakeQuantWithMinMaxVarsGradient", lambda n: [
    x(n), x(n, low=-9, high=9), const(-6), const(6)], FLOAT, limit=False)
row("fake_quant", "FakeQuantWithMinMaxVarsPerChannelGradient", lambda n: [
    x(side(n), side(n)), x(side(n), side(n), low=-9, high=9),
    x(side(n), low=-6, high=-5), x(side(n), low=5, high=6)], FLOAT, limit=False)
row("quantize_dequantize", "QuantizeAndDequantizeV2", {
    "": lambda n: [x(n, low=-9, high=9), const(-6), const(6)]}, REALS,
    {"range_given": True}, limit=False)
row("quantize_dequantize", "QuantizeAndDequantizeV4", {
    "its own range": lambda n: [x(n), const(0), const(0)]}, REALS, limit=False)
row("quantize", "QuantizeV2", lambda n: [
    x(n, low=-9, high=9), const(-6), const(6)], FLOAT,
    {"T": "quint8", "mode": "MIN_FIRST"}, limit=False)
row("uniform_quantize", "UniformQuantize", lambda n: [
    x(n, low=-9, high=9), of("float32", low=0.1, high=0.2),
    of("int32", low=0, high=1)], FLOAT,
    {"Tout": "qint8", "quantization_min_val": -128,
     "quantization_max_val": 127}, limit=False)
