"""Cases of kernels/nn/gru.c."""
from tests.conformance.inputs import Data, x
from tests.conformance.table import bad, c, once, row

NAMES = ["x", "h_prev", "w_ru", "w_c", "b_ru", "b_c"]
GIVEN = ["r", "u", "c", "d_h"]


def cell(batch, inputs, units, given=(), **changed):
    """The inputs of a cell, of which those named have another shape."""
    shapes = [(batch, inputs), (batch, units), (inputs + units, 2 * units),
              (inputs + units, units), (2 * units,), (units,)]
    shapes += [(batch, units)] * len(given)
    return [x(*changed.get(name, shape))
            for name, shape in zip(NAMES + list(given), shapes)]


WRONG = [("x", (6,)), ("h_prev", (8,)), ("h_prev", (3, 4)), ("w_ru", (7,)),
         ("w_ru", (6, 8)), ("w_ru", (7, 9)), ("w_c", (7,)), ("w_c", (6, 4)),
         ("w_c", (7, 5)), ("b_ru", (2, 4)), ("b_ru", (7,)), ("b_c", ()),
         ("b_c", (5,))]
for op, given in (("GRUBlockCell", []), ("GRUBlockCellGrad", GIVEN)):
    wrong = WRONG + [(name, shape) for name in given
                     for shape in ((8,), (3, 4), (2, 5))]
    row(op, [
        c(*cell(2, 3, 4, given)), c(*cell(5, 1, 1, given)),
        c(*cell(3, 2, 17, given)), c(*cell(2, 0, 4, given)),
        c(*cell(0, 3, 4, given)), once(*cell(33, 40, 70, given)),
        *(once(*cell(2, 1, units, given))
          for units in (15, 16, 127, 128, 129, 300))] + [
        bad(*cell(2, 3, 4, given, **{name: shape})) for name, shape in wrong],
        Data(-1, 1), tol=8)
