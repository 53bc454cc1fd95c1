"""Cases of kernels/nn/lstm_grad.c."""
from tests.conformance.inputs import Data, x
from tests.conformance.table import bad, c, once, row

NAMES = ["x", "cs_prev", "h_prev", "w", "wci", "wcf", "wco", "b"]
STEPS = ["i", "cs", "f", "o", "ci", "co"]
PEEP = {"use_peephole": True}
PLAIN = {"use_peephole": False}


def gradient(batch, inputs, units, time=(), **changed):
    shapes = [(*time, batch, inputs), (batch, units), (batch, units),
              (inputs + units, 4 * units), (units,), (units,), (units,),
              (4 * units,)]
    names = NAMES + STEPS + (["h"] if time else []) + ["cs_grad", "h_grad"]
    shapes += [(*time, batch, units)] * (len(names) - len(shapes))
    return [x(*changed.get(name, shape))
            for name, shape in zip(names, shapes)]


def block(time, batch, inputs, units, steps=None, **changed):
    return [time if steps is None else steps] + gradient(
        batch, inputs, units, (time,), **changed)


row("LSTMBlockCellGrad", [
    c(*gradient(2, 3, 4), **PLAIN), c(*gradient(2, 3, 4), **PEEP),
    c(*gradient(5, 1, 1), **PEEP), c(*gradient(2, 3, 17), **PEEP),
    c(*gradient(2, 0, 4), **PEEP), c(*gradient(0, 3, 4), **PEEP),
    c(*gradient(2, 3, 4, wci=(0,), wcf=(7,)), **PLAIN),
    once(*gradient(33, 40, 70), **PEEP),
    *(once(*gradient(2, 1, units), **how)
      for units in (15, 16, 127, 128, 129, 300) for how in (PEEP, PLAIN))] + [
    bad(*gradient(2, 3, 4, **{name: shape}), **PLAIN)
    for name in ["cs_prev", "h_prev"] + STEPS + ["cs_grad", "h_grad"]
    for shape in ((3, 4), (2, 5)) if (name, shape) != ("cs_prev", (2, 5))] + [
    bad(*gradient(2, 3, 4, w=(6, 16)), **PLAIN),
    bad(*gradient(2, 3, 4, w=(7, 17)), **PLAIN),
    bad(*gradient(2, 3, 4, b=(15,)), **PLAIN)], Data(-1, 1), tol=8)
for op in ("BlockLSTMGrad", "BlockLSTMGradV2"):
    row(op, [
        c(*block(3, 2, 3, 4), **PLAIN), c(*block(3, 2, 3, 4), **PEEP),
        c(*block(5, 3, 1, 1), **PEEP), c(*block(4, 1, 2, 9), **PEEP),
        c(*block(4, 2, 3, 4, steps=0), **PEEP),
        c(*block(4, 2, 3, 4, steps=3), **PEEP), c(*block(0, 2, 3, 4), **PEEP),
        c(*block(3, 2, 3, 4, wci=(0,), wcf=(7,)), **PLAIN),
        once(*block(3, 8, 30, 40), **PEEP)] + [
        bad(*block(3, 2, 3, 4, **changed), **PLAIN) for changed in (
            {"steps": [3]}, {"x": (3, 2)},
            {"cs_prev": (8,)}, {"h_prev": (8,)}, {"w": (7,)},
            {"w": (7, 15)}, {"w": (7, 0)}, {"w": (6, 16)}, {"b": (12,)},
            {"b": (4, 4)}, {"wci": (2, 2)}, {"wcf": ()}, {"wco": (2, 2)},
            *({name: (3, 2)} for name in STEPS + ["h"]))],
        Data(-1, 1), tol=16)
