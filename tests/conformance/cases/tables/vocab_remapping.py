"""Cases of kernels/tables/vocab_remapping.c."""
import numpy as np

from tests.cluster.client import tf
from tests.conformance.cases.data_sources.dataset_files import write
from tests.conformance.scenarios import fresh_graph, hidden, told
from tests.conformance.table import scenario

WORDS = {"new": b"a\nb\nc\nd\n", "old": b"c\na\nx\nd", "empty": b"",
         "twice": b"a\nb\na\n", "gap": b"a\n\nb\n\n", "returns": b"a\r\nb\r\n",
         "bytes": b"\xff\0\n a \n" + b"long word" * 20 + b"\n",
         "many": b"".join(b"w%d\n" % i for i in range(3000)),
         "back": b"".join(b"w%d\n" % i for i in reversed(range(2999)))}
# New, old, offset, count, lines of the old.
ASKED = [("new", "old", 0, 4, -1), ("new", "old", 1, 2, -1),
         ("new", "old", 0, 5, -1), ("new", "old", 4, 1, -1),
         ("new", "old", 4, 0, -1), ("new", "old", 0, 0, -1),
         ("new", "old", 9, 0, -1), ("new", "old", 0, 4, 2),
         ("new", "old", 0, 4, 0), ("new", "old", 0, 4, 99),
         ("new", "old", 2, 1, 1), ("new", "old", 2**31 - 1, 2**31 - 1, -1),
         ("new", "old", 0, 4, 4), ("twice", "old", 0, 3, -1),
         ("new", "twice", 0, 4, -1), ("new", "twice", 0, 4, 1),
         ("empty", "old", 0, 0, -1), ("empty", "old", 0, 1, -1),
         ("new", "empty", 0, 4, -1), ("gap", "old", 0, 4, -1),
         ("new", "gap", 0, 4, -1), ("gap", "gap", 0, 3, -1),
         ("returns", "new", 0, 2, -1), ("new", "returns", 0, 4, -1),
         ("bytes", "bytes", 1, 2, -1), ("many", "back", 0, 3000, -1),
         ("many", "back", 1000, 900, 2000), ("no", "old", 0, 1, -1),
         ("new", "no", 0, 1, -1), ("new", ".", 0, 1, -1)]


@scenario("GenerateVocabRemapping", tol=0)
@fresh_graph
def words_are_where_they_were(side):
    for name, text in WORDS.items():
        write(side, name, text)
    out, made = {}, {}

    def asked(new, old, offset=0, count=1, size=-1):
        return tf.raw_ops.GenerateVocabRemapping(
            new_vocab_file=new, old_vocab_file=old, new_vocab_offset=offset,
            num_new_vocab=count, old_vocab_size=size)

    for new, old, *rest in ASKED:
        made["%s %s %s" % (new, old, rest)] = asked(
            side.path(new), side.folder if old == "." else side.path(old),
            *rest)
    path = side.path("new")
    made["two new"] = asked(hidden([path] * 2), path)
    made["two old"] = asked(path, hidden(np.array([path])))
    made["no new"] = asked("", path)
    made["no old"] = asked(path, "")
    out["shape"] = str(made["no old"].remapping.shape)
    with side.session() as session:
        for name, call in made.items():
            found = told(session, call)
            if isinstance(found, str):
                out[name] = found.replace(side.folder, "FOLDER")
            else:
                out[name], out[name + " present"] = found
    return out
