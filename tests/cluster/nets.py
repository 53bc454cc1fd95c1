"""The networks of tests/bench/nets on a target and in this process, where
TensorFlow itself trains them."""
import pathlib
import subprocess
import tempfile

from tests.cluster.client import np, tf
from tests.cluster.suite import Skip

ROOT = pathlib.Path(__file__).resolve().parents[2]
NETS = ROOT / "build" / "bench" / "nets"
READ = "/Read/ReadVariableOp"


class Net:
    """A network's graph: the same variables, data and losses wherever it
    runs, as all random values come from seeds."""

    def __init__(self, model, batch, dtype, side):
        if not NETS.exists():
            raise Skip("no %s: make benches" % NETS.relative_to(ROOT))
        with tempfile.NamedTemporaryFile(suffix=".meta") as file:
            subprocess.run([NETS, "write", model, str(batch), dtype, file.name,
                            str(side)], check=True)
            self.graph = tf.Graph()
            with self.graph.as_default():
                tf.train.import_meta_graph(file.name)
        names = [op.name for op in self.graph.get_operations()]
        self.initial = [n for n in names if n.endswith("/Assign")]
        self.loss = self.graph.get_collection("losses")[0]
        self.kept = [n + ":0" for n in names if n.endswith(READ)]

    def losses(self, target, steps):
        """Before each step, and after the last."""
        with tf.Session(target, graph=self.graph) as session:
            session.run(self.initial)
            found = [session.run(self.loss)]
            for _ in range(steps):
                session.run("step")
                found.append(session.run(self.loss))
            return found

    def variables(self, target):
        """Name -> value after one step."""
        with tf.Session(target, graph=self.graph) as session:
            session.run(self.initial)
            session.run("step")
            values = session.run(self.kept)
        return {name[:-len(READ) - 2]: value
                for name, value in zip(self.kept, values)}


def distance(got, want):
    """Of two arrays, as a share of what is wanted."""
    size = np.linalg.norm(want)
    return np.linalg.norm(got - want) / size if size else np.linalg.norm(got)


def alike(got, want):
    """The cosine of the angle between two arrays."""
    size = np.linalg.norm(got) * np.linalg.norm(want)
    return float((got * want).sum() / size) if size else 1.0
