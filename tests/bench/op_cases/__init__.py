"""The rows of tests/bench/ops, by what their ops do."""
import importlib

from tests.bench.op_cases.table import ROWS

for module in ("elementwise", "arrays", "rows", "networks"):
    importlib.import_module("tests.bench.op_cases." + module)

ROWS.sort(key=lambda found: found.family)
__all__ = ["ROWS"]
