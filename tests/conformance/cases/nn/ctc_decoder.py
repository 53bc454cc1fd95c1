"""Cases of kernels/nn/ctc_decoder.c and kernels/nn/ctc_beam.c."""
from tests.conformance.inputs import Data, x
from tests.conformance.table import bad, c, once, row

WRONG = [
    ((x(6, 4), [6, 5]), {}),
    ((x(0, 2, 4), [0, 0]), {}),
    ((x(6, 2, 0), [6, 5]), {}),
    ((x(6, 0, 4), x(0)), {}),
    ((x(6, 2, 4), 6), {}),
    ((x(6, 2, 4), [6, 5, 4]), {}),
    ((x(6, 2, 4), [6, 7]), {}),
]
row("CTCGreedyDecoder", [
    c(x(6, 2, 4), [6, 5]), c(x(6, 2, 4), [6, 5], merge_repeated=True),
    c(x(6, 2, 4), [6, 5], blank_index=0), c(x(6, 2, 4), [6, 5], blank_index=-3),
    c(x(30, 3, 2), [30, 0, 17], merge_repeated=True), c(x(6, 2, 4), [-3, 1]),
    c(x(5, 1, 1), [5]), once(x(40, 30, 50), [40] * 30),
    bad(x(6, 2, 4), [6, 5], blank_index=4),
    bad(x(6, 2, 4), [6, 5], blank_index=-5)] + [
    bad(*inputs, **attrs) for inputs, attrs in WRONG], Data(-2, 2), tol=4)

ONE = {"beam_width": 4, "top_paths": 1}
row("CTCBeamSearchDecoder", [
    c(x(6, 2, 4), [6, 5], **ONE),
    c(x(6, 2, 4), [6, 5], beam_width=3, top_paths=3),
    c(x(6, 2, 4), [6, 5], beam_width=100, top_paths=2, merge_repeated=False),
    c(x(6, 2, 4), [6, 5], beam_width=1, top_paths=1),
    c(x(9, 3, 2), [9, 0, 1], **ONE), c(x(6, 2, 4), [-3, 1], **ONE),
    c(x(5, 1, 1), [5], **ONE),
    # What falls out of the beam comes back into it.
    once(x(40, 2, 12), [40, 33], beam_width=20, top_paths=5,
         merge_repeated=False),
    once(x(60, 2, 30), [60, 33], beam_width=7, top_paths=7),
    # More nodes than there is room for at first.
    once(x(30, 1, 9), [30], beam_width=500, top_paths=1),
    bad(x(6, 2, 4), [6, 5], beam_width=1, top_paths=2),
    bad(x(6, 2, 4), [6, 0], beam_width=4, top_paths=2)] + [
    bad(*inputs, **ONE, **attrs) for inputs, attrs in WRONG],
    Data(-4, 4), tol=16)
