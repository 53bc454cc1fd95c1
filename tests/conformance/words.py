"""What an error says, without what differs from one run to the next.

TensorFlow's own tests, and programs, match on these words; so the bad cases of
the table must end in TensorFlow's, but for the ops of OWN_WORDS.
"""
import re

# A client adds where the node was made; a master, which task it came from.
BEFORE = re.compile(r"^.*\nNode: [^\n]*\n", re.DOTALL)
TASK = re.compile(r"^\s*From /job:\S+:\s")
AFTER = re.compile(r"\[\[\{\{node .*|Original stack trace for .*", re.DOTALL)
# Another process, another container, memory of another device.
PLACES = re.compile(r"(?<=Resource )[^/ ]+(?=/)|(?<=container=)\w+|(?<=Container )\w+|"
                    r"(?<=resource: )\w+(?=/)| on /job:\S+ by allocator \w+")


def words(message):
    """The text of an error as its kernel wrote it."""
    text = AFTER.sub("", TASK.sub("", BEFORE.sub("", message)))
    return " ".join(PLACES.sub("", text).split())


# Ops whose bad cases end in the right class, but in our words.
OWN_WORDS = set("""
DenseToSparseSetOperation DestroyResourceOp FixedUnigramCandidateSampler
RandomGamma
""".split())
