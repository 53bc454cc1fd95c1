"""Cases of kernels/linalg/einsum.c."""
import numpy as np

from tests.conformance.inputs import Data, x
from tests.conformance.table import bad, c, many, once, row


def of(equation, *shapes, case=c, **more):
    return case(many(*(x(*shape) for shape in shapes)), equation=equation, **more)


row("Einsum", [
    # Products of matrices, either side transposed, one after the other.
    of("ij,jk->ik", (2, 3), (3, 4)), of("ji,jk->ik", (3, 2), (3, 4)),
    of("ij,kj->ik", (2, 3), (4, 3)), of("ij,jk->ki", (2, 3), (3, 4)),
    of("bij,bjk->bik", (2, 3, 4), (2, 4, 5)),
    of("bij,bkj->bki", (2, 3, 4), (2, 5, 4)), of("ibj,jbk->bik", (3, 2, 4), (4, 2, 5)),
    of("abc,cd->abd", (2, 3, 4), (4, 5)), of("abc,bcd->ad", (2, 3, 4), (3, 4, 5)),
    of("BQHD,BKHD->BHQK", (2, 3, 2, 4), (2, 5, 2, 4)),
    of("i,j->ij", (3,), (4,)), of("i,i->", (5,), (5,)), of("i,i->i", (5,), (5,)),
    of(",->", (), ()), of(",i->i", (), (3,)), of("ij,ij->ij", (2, 3), (2, 3)),
    # One input.
    of("ij->ji", (2, 3)), of("ij->i", (2, 3)), of("ij->", (2, 3)), of("ij->ij", (2, 3)),
    of("abc->ca", (2, 3, 4)), of("ii->i", (3, 3)), of("ii->", (3, 3)), of("->", ()),
    of("aabbcd->ca", (2, 2, 3, 3, 4, 2)), of("i->ii", (3,)), of("ij->iij", (2, 3)),
    of("ij->jiij", (2, 3)), of("i1->i", (2, 2)), of("...->...", (2, 3)),
    of("...ij->...ji", (2, 3, 4)), of("i...i->...", (3, 2, 3)), of("ij->...ij", (2, 3)),
    of("a...->...a", (2, 3, 4)), of("i->i...", (2,)),
    # Labels of one input that are summed, and repeated ones.
    of("abc,cd->ad", (2, 3, 4), (4, 5)), of("ab,cd->", (2, 3), (4, 5)),
    of("ab,cd->ac", (2, 3), (4, 5)), of("aab,b->a", (3, 3, 2), (2,)),
    of("ii,ij->iij", (3, 3), (3, 2)), of("ab,b->baa", (2, 3), (3,)),
    # Both at once, copied in order, widened and rounded.
    of("sic,tcj->ij", (2, 3, 4), (3, 4, 5)), of("sci,tcj->jii", (2, 3, 4), (3, 3, 5)),
    of("ij,jk->ik", (300, 0), (0, 300), case=once),
    # Ellipses broadcast.
    of("...ij,...jk->...ik", (5, 2, 3), (1, 3, 4)), of("...ij,jk->...ik", (5, 2, 3), (3, 4)),
    of("...ij,...jk->...ik", (2, 3), (4, 3, 2)), of("i...,...j->...ij", (2, 3, 1), (3, 4, 5)),
    of("...,...->...", (2, 1), (3,)), of("a...b,b->...a", (2, 3, 4), (4,)),
    of("...ij,...jk->...ik", (2, 1, 2, 3), (3, 3, 2)),
    # Nothing.
    of("ij,jk->ik", (2, 0), (0, 3)), of("ij,jk->ik", (0, 2), (2, 3)),
    of("ij->i", (2, 0)), of("bij,bjk->bik", (0, 2, 3), (0, 3, 2)),
    of("ij,jk->ik", (70, 90), (90, 50), case=once),
    of("bhqd,bkhd->bqhk", (2, 4, 30, 16), (2, 20, 4, 16), case=once),
    # What is wrong when it runs.
    of("ij,jk->ik", (2, 3), (2, 4), case=bad), of("ij->ji", (2,), case=bad),
    of("ii->i", (2, 3), case=bad), of("...i->i", (2, 3), case=bad),
    of("...i->i", (1, 3), case=bad), of("...ij->...ji", (2,), case=bad), of("ab,b->a", (2, 3), (1,), case=bad),
    of("...ij,...jk->...ik", (5, 2, 3), (4, 3, 4), case=bad)],
    Data(-3, 3), tol=8)
