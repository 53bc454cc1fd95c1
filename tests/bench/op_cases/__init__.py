"""The rows of tests/bench/ops, by what their ops do."""
import importlib

from tests.bench.op_cases.table import ROWS

for module in ("elementwise", "arrays", "rows", "networks", "kept", "files"):
    importlib.import_module("tests.bench.op_cases." + module)

ROWS.sort(key=lambda found: found.family)

# Families that have no row, and why.
UNMEASURED = {
    "array": "its outputs are the input's memory or a few numbers",
    "assert": "it does nothing unless it fails",
    "count_up_to": "it moves one number",
    "onednn": "what TensorFlow's rewriter makes, and no client can ask for",
    "queue_make": "it makes handles; what lies in queues is queue's",
    "sendrecv": "it is put between tasks: tests/bench/run_updates, trainers.py",
}
__all__ = ["ROWS", "UNMEASURED"]
