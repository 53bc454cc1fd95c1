"""Cases of kernels/nn/lstm.c, kernels/nn/lstm_cell.c, kernels/nn/recurrent.c."""
import tensorflow as tf

from tests.conformance.inputs import Data, x
from tests.conformance.scenarios import fresh_graph
from tests.conformance.table import bad, c, once, row, scenario

NAMES = ["x", "cs_prev", "h_prev", "w", "wci", "wcf", "wco", "b"]
PEEP = {"use_peephole": True}
FREE = {"cell_clip": -1.0}


def cell(batch, inputs, units, time=(), **changed):
    """The inputs of a cell, of which those named have another shape."""
    shapes = [(*time, batch, inputs), (batch, units), (batch, units),
              (inputs + units, 4 * units), (units,), (units,), (units,),
              (4 * units,)]
    return [x(*changed.get(name, shape))
            for name, shape in zip(NAMES, shapes)]


def block(time, batch, inputs, units, steps=None, **changed):
    return [time if steps is None else steps] + cell(
        batch, inputs, units, (time,), **changed)


# Peepholes that are not used may have any size, and used ones that are too short
# TensorFlow reads over the end of.
row("LSTMBlockCell", [
    c(*cell(2, 3, 4)), c(*cell(2, 3, 4), **PEEP), c(*cell(3, 1, 1), **PEEP),
    c(*cell(2, 3, 4), forget_bias=-0.5, cell_clip=0.25, **PEEP),
    c(*cell(2, 3, 4), **FREE), c(*cell(2, 3, 17), **PEEP),
    c(*cell(2, 3, 4, wci=(0,), wcf=(7,))), c(*cell(2, 0, 4)),
    once(*cell(33, 40, 70), **PEEP),
    # More units than are computed at a time.
    once(*cell(2, 3, 128), **PEEP), once(*cell(3, 5, 130), **PEEP),
    once(*cell(2, 3, 257, wci=(0,), wcf=(0,), wco=(0,))),
    bad(*cell(2, 3, 4, cs_prev=(3, 4))), bad(*cell(2, 3, 4, h_prev=(3, 4))),
    bad(*cell(2, 3, 4, h_prev=(2, 5))), bad(*cell(2, 3, 4, w=(6, 16))),
    bad(*cell(2, 3, 4, w=(7, 17))), bad(*cell(2, 3, 4, b=(15,))),
    bad(*cell(2, 3, 4, wci=(4, 1))), bad(*cell(2, 3, 4, wcf=())),
    bad(*cell(2, 3, 4, wco=(4, 1))), bad(*cell(0, 3, 4)),
    bad(*cell(2, 3, 0))], Data(-1, 1), tol=4)
# With a seq_len_max that is none TensorFlow's process ends.
WRONG = [
    block(3, 2, 3, 4, steps=[3]), block(3, 2, 3, 4, x=(3, 2)),
    block(3, 2, 3, 4, cs_prev=(2, 4, 1)), block(3, 2, 3, 4, cs_prev=(3, 4)),
    block(3, 2, 3, 4, h_prev=(8,)), block(3, 2, 3, 4, h_prev=(3, 4)),
    block(3, 2, 3, 4, h_prev=(2, 5)), block(3, 2, 3, 4, w=(7,)),
    block(3, 2, 3, 4, w=(6, 16)), block(3, 2, 3, 4, w=(7, 17)),
    block(3, 2, 3, 4, wci=(4, 1)), block(3, 2, 3, 4, wci=(5,)),
    block(3, 2, 3, 4, wcf=()), block(3, 2, 3, 4, wcf=(3,)),
    block(3, 2, 3, 4, wco=(4, 1)), block(3, 2, 3, 4, wco=(5,)),
    block(3, 2, 3, 4, b=(4, 4)), block(3, 2, 3, 4, b=(15,)),
]
for op in ("BlockLSTM", "BlockLSTMV2"):
    row(op, [
        c(*block(3, 2, 3, 4)), c(*block(3, 2, 3, 4), **PEEP),
        c(*block(5, 3, 1, 1), **PEEP), c(*block(4, 1, 2, 9), **FREE),
        c(*block(3, 2, 3, 4), cell_clip=0.25, **PEEP),
        c(*block(1, 2, 0, 4)), c(*block(0, 2, 3, 4)), c(*block(3, 2, 3, 0)),
        once(*block(20, 8, 30, 40), **PEEP),
        # So many rows that bands of them go through all steps.
        once(*block(2, 800, 2, 128), **PEEP)] + [
        bad(*inputs) for inputs in WRONG], Data(-1, 1), tol=8)


@scenario("BlockLSTM BlockLSTMV2", tol=8)
@fresh_graph
def lstm_of_fewer_steps(side):
    """The others' cs and h are zero; what else they have is nobody's."""
    draw = Data(-1, 1).draw
    shapes = [(4, 2, 3), (2, 5), (2, 5), (8, 20), (5,), (5,), (5,), (20,)]
    values = [draw(tf.float32, shape, name)
              for name, shape in zip(NAMES, shapes)]
    with side.session() as session:
        answers = {}
        for op in (tf.raw_ops.BlockLSTM, tf.raw_ops.BlockLSTMV2):
            for steps in (0, 1, 3):
                out = op(seq_len_max=tf.constant(steps, tf.int64),
                         **dict(zip(NAMES, values)))
                found = session.run(
                    [out.cs, out.h, out.i[:steps], out.co[:steps]])
                for name, value in zip(("cs", "h", "i", "co"), found):
                    key = "%s %d %s" % (op.__name__, steps, name)
                    answers[key] = value
        return answers
