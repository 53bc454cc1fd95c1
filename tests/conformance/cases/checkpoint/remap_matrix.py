"""Cases of kernels/checkpoint/remap_matrix.c."""
import numpy as np

from tests.cluster.client import tf
from tests.conformance.scenarios import (attempt, fresh_graph, hidden, told)
from tests.conformance.table import scenario

raw = tf.raw_ops
X = np.arange(12, dtype=np.float32).reshape(3, 4)
# Name, rows, columns, what there was none of, sizes, rows at a time.
ASKED = [("x", [2, 0], [], [], 2, 4), ("x", [2, -1], [], [9, 8, 7, 6], 2, 4),
         ("x", [2, 0], [3, 1], [], 2, 2), ("x", [2, -1], [3, -1], [7, 8, 9], 2, 2),
         ("x", [2, -1], [3, -1], [7, 8], 2, 2),
         ("x", [2, -1], [3, -1], [7, 8, 9, 10], 2, 2),
         ("x", [2, 0], [], [1], 2, 4), ("x", [2, 5], [], [], 2, 4),
         ("x", [2, 2], [], [], 2, 4),
         ("x", [0, 2**63 - 2], [], [], 2, 4), ("x", [2, 1], [0, 0], [], 2, 2),
         ("x", [2], [], [], 2, 4), ("x", [2, 0], [1], [], 2, 2),
         ("x", [2, 0], [], [], 2, 3), ("x", [2, 0, 1], [], [], 3, 4, 1),
         ("x", [2, 0, 1], [3, -1], [5, 6, 7], 3, 2, 2),
         ("x", [], [], [], 0, 4), ("x", [], [], [], 0, 3),
         ("x", [-1, -1], [], [1, 2, 3, 4, 5, 6, 7, 8], 2, 4),
         ("x", [0, 1], [3, 2, 1, 0], [], 2, 4, 2), ("x", [0], [], [], 1, 4, 0),
         ("x", [-2], [], [1, 2, 3, 4], 1, 4),
         ("x", [1], [-1, -1, -1, -1], [1, 2, 3, 4], 1, 4),
         ("x", [[1]], [], [], 1, 4),
         ("x", 1, [], [], 1, 4), ("parts", [1, 0], [], [], 2, 4),
         ("parts", [2, 1], [], [], 2, 4), ("parts", [2, 0], [0, 3], [], 2, 2, 1),
         ("half", [0, 1], [], [], 2, 4), ("half", [2, 1], [], [], 2, 4),
         ("text", [0], [], [], 1, 1), ("vector", [1], [], [], 1, 2),
         ("number", [0], [], [], 1, 2), ("none", [1], [], [], 1, 1)]


def save(session, prefix):
    session.run(raw.SaveV2(
        prefix=prefix,
        tensor_names=["x", "parts", "parts", "half", "text", "vector",
                      "number"],
        shape_and_slices=["", "3 4 0,2:-", "3 4 2,1:-", "3 4 0,2:-", "", "",
                          ""],
        tensors=[X, X[:2], X[2:], X[:2], tf.constant([["a"]]),
                 np.float32([1, 2]), np.int32([[1, 2]])]))


@scenario("LoadAndRemapMatrix", tol=0)
@fresh_graph
def matrices_are_remapped(side):
    out, made = {}, {}

    def asked(path, name, rows, columns, initial, count, width, at_once=-1):
        return raw.LoadAndRemapMatrix(
            ckpt_path=hidden(path), old_tensor_name=hidden(name),
            row_remapping=hidden(np.array(rows, np.int64)),
            col_remapping=hidden(np.array(columns, np.int64)),
            initializing_values=hidden(np.array(initial, np.float32)),
            num_rows=count, num_cols=width, max_rows_in_memory=at_once)

    path = side.path("saved")
    for case in ASKED:
        made[str(case)] = asked(path, *case)
    made["no checkpoint"] = asked(side.path("no"), *ASKED[0])
    made["a path in a vector"] = asked([path], *ASKED[0])
    made["two paths"] = asked([path, path], *ASKED[0])
    made["a name in a vector"] = asked(path, ["x"], *ASKED[0][1:])
    out["shape"] = str(made["two paths"].shape)
    with side.session() as session:
        save(session, path)
        for name, call in made.items():
            found = told(session, call)
            if isinstance(found, str):
                found = found.replace(side.folder, "FOLDER")
            out[name] = found
        # TensorFlow's takes what lies behind the row, and ends its process.
        wrong = {"column": asked(path, "x", [2, 0], [9, 0], [], 2, 2),
                 "columns": asked(path, "x", [1], [[1]], [], 1, 1),
                 "values": asked(path, "x", [-1], [], [[1, 2], [3, 4]], 1, 4),
                 "names": asked(path, ["x", "x"], *ASKED[0][1:])}
        for name, call in wrong.items():
            out["wrong " + name] = (attempt(session, call) if side.target else
                                    "InvalidArgumentError")
    return out
