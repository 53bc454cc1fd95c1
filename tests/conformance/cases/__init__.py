"""The table of cases: a row an op, or one for several ops of one form, and
stories (scenarios.py) for what a row cannot say.

<room>/<family>.py has those of kernels/<room>/<family>.c; importing this
package fills the table with all of them.  table.py has the words, shared.py
what several families have in common.
The first case of a row runs with every combination of types that TensorFlow
has a CPU kernel for, the others with every main type, once(...) and bad(...)
with the first type.
"""
import importlib
import pathlib

for path in sorted(pathlib.Path(__file__).parent.glob("*/*.py")):
    importlib.import_module(
        "%s.%s.%s" % (__name__, path.parent.name, path.stem))
