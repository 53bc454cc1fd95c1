"""Numbers as integers of few bits, and back."""
from tests.bench.op_cases.table import FLOAT, const, row, side, x

row("fake_quant", "FakeQuantWithMinMaxArgs", lambda n: [x(n, low=-9, high=9)],
    FLOAT)
row("fake_quant", "FakeQuantWithMinMaxVars", lambda n: [
    x(n, low=-9, high=9), const(-6), const(6)], FLOAT)
row("fake_quant", "FakeQuantWithMinMaxVarsPerChannel", lambda n: [
    x(side(n), side(n), low=-9, high=9), x(side(n), low=-6, high=-5),
    x(side(n), low=5, high=6)], FLOAT, limit=False)
row("fake_quant", "FakeQuantWithMinMaxVarsGradient", lambda n: [
    x(n), x(n, low=-9, high=9), const(-6), const(6)], FLOAT, limit=False)
