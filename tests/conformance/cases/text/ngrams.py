"""Cases of kernels/text/ngrams.c."""
import numpy as np

from tests.conformance.inputs import x
from tests.conformance.table import bad, c, once, row

DATA = [b"a", b"bb", b"", b"d", b"e" * 30, b"f"]
SPLITS = [0, 0, 1, 3, 6]
NONE = np.zeros([0], object)


def how(*widths, pad=-1, keep=False, separator="|", left="LP", right="RP"):
    return dict(ngram_widths=list(widths), pad_width=pad, separator=separator,
                preserve_short_sequences=keep, left_pad=left, right_pad=right)


WAYS = [how(*widths, pad=pad, keep=keep) for widths in (
    [1], [2], [3], [5], [1, 2], [3, 1, 7]) for pad in (-1, 0, 1, 5)
        for keep in (False, True)]
row("StringNGrams", [c(DATA, SPLITS, **way) for way in WAYS] + [
    c(DATA, SPLITS, **how(2, separator="", left="", right="")),
    c(DATA, SPLITS, **how()), c(NONE, [0, 0, 0], **how(2)),
    c(NONE, NONE.astype("int32"), **how(2)), c(NONE, [0], **how(2)),
    c(DATA, np.zeros([0]), **how(2)),
    c(DATA[:2], [0, 2], **how(2**31 - 1, pad=2, keep=True)),
    once(x(3000), np.arange(0, 3001, 10), **how(2, 3)),
    bad(DATA, [0, 1], **how(2)), bad(DATA, [1, 6], **how(2)),
    bad(DATA, [0, 7], **how(2)), bad(DATA, [0, 4, 3, 6], **how(2)),
    bad(DATA, [0, -1, 6], **how(2)),
    bad(DATA, [0, 6], **how(0)), bad(DATA, [0, 6], **how(2, -1)),
    bad(NONE, [0], **how(0)), bad(NONE, [0, 1], **how(2)),
    bad(DATA, [0, 6], **how(2**31 - 1)),
    bad(DATA, [0, 6], **how(keep=True))])
