"""An unmodified TensorFlow client against clusters of server processes.

  python -m tests.cluster.run [--server CMD | --tensorflow] [--only TEXT,...]
                             [--rooms NAME,... | --but NAME,...] [--all]
"""
import importlib
import pathlib
import sys

from tests.cluster import nursery

nursery.open_nursery()  # before anything is done with TensorFlow
from tests.cluster.suite import main  # noqa: E402

HERE = pathlib.Path(__file__).parent


def import_tests():
    """Every test_*.py in the rooms here registers its tests."""
    for path in sorted(HERE.rglob("test_*.py")):
        parts = path.relative_to(HERE).with_suffix("").parts
        importlib.import_module(".".join(("tests.cluster",) + parts))


if __name__ == "__main__":
    import_tests()
    sys.exit(main(__doc__.splitlines()[0]))
