"""The table of cases: a row an op, or one for several ops of one form.

A row goes into the module of its family; importing this package fills the
table.  table.py has the words, shared.py what several families have in common.
The first case of a row runs with every combination of types that TensorFlow
has a CPU kernel for, the others with every main type, once(...) and bad(...)
with the first type.

Ops that need more than a row are beside this package: in images.py, lists.py,
queues.py, scenarios.py and others.
"""
from tests.conformance.cases import (  # noqa: F401
    arrays, diagonals, elementwise, fused, linalg, networks, optimizers,
    random_numbers, reductions, scatter, segments, sets, sparse, strings,
    summaries, variables)
