"""Cases of kernels/data_sources/dataset_lmdb.c.  TensorFlow 2.21 has no LMDB
any more and says so; what the files hold is what liblmdb finds in them."""
import os

import numpy as np

from tests.cluster.client import tf
from tests.conformance.cases.data.pipelines import (aliased, elements, hidden,
                                                    made, plain, raw, walk)
from tests.conformance.cases.data_sources.dataset_files import write
from tests.conformance.cases.data_sources.lmdb_files import FILES
from tests.conformance.scenarios import fresh_graph
from tests.conformance.table import scenario

STRINGS = (tf.string, tf.string)
REPEATED = ([(b"dup", b"%05d" % i) for i in range(700)] +
            [(b"e", b"%05d" % i) for i in range(5)] + [(b"f", b"one12")])
PAIRS = {
    "small": [(b"a", b"1"), (b"b", b"2"), (b"c", b""), (b"key", b"\0\xff")],
    "empty": [],
    "many": [(b"%04d" % i, b"v%d" % i) for i in range(600)],
    "large": [(b"k%d" % i, bytes([i]) * (2100 * i)) for i in range(1, 7)],
    "deep": [(b"%03d" % i + b"x" * 500, b"%d" % i) for i in range(120)],
    "dups": REPEATED, "fixed": REPEATED,
}
PAGE = 4096
END = "OutOfRangeError: End of sequence"


def lmdb(paths):
    return made("LMDBDataset", hidden(np.array(paths, np.str_)), types=STRINGS,
                shapes=((), ()))


def at(pairs, name, value=None):
    """What elements() makes of them."""
    out = {}
    for i, (key, text) in enumerate(pairs):
        out["%s %d.0" % (name, i)] = key
        out["%s %d.1" % (name, i)] = text
    out["%s %d" % (name, len(pairs))] = value or END
    return out


@scenario("LMDBDataset ExperimentalLMDBDataset")
@fresh_graph
def data_lmdb(side):
    paths = {name: write(side, name, FILES[name]) for name in PAIRS}
    os.mkdir(side.path("folder"))
    write(side, "folder/data.mdb", FILES["small"])
    makers = {name: lambda p=path: lmdb([p]) for name, path in paths.items()}
    makers["folder"] = lambda: lmdb(side.path("folder"))
    makers["all"] = lambda: lmdb([paths[n] for n in (
        "empty", "small", "empty", "large", "empty")])
    makers["no file"] = lambda: lmdb([])
    makers["second name"] = lambda: aliased(lmdb([paths["small"]]),
                                            "ExperimentalLMDBDataset")
    if side.target:
        return elements(side, makers, limit=800)
    want = {}
    for name, pairs in {**PAIRS, "folder": PAIRS["small"], "no file": [],
                        "all": PAIRS["small"] + PAIRS["large"],
                        "second name": PAIRS["small"]}.items():
        want.update(at(pairs, name))
    return want


@scenario("LMDBDataset SerializeIterator DeserializeIterator")
@fresh_graph
def data_lmdb_positions(side):
    """An iterator goes on where another one was."""
    paths = [write(side, name, FILES[name]) for name in ("small", "empty",
                                                         "large")]
    pairs = PAIRS["small"] + PAIRS["large"]
    places = (0, 1, 4, 7, 10)
    out, made_ = {}, {}
    if not side.target:
        for place in places:
            out.update(at(pairs[place:], "at %d" % place))
        return out
    for place in places:
        pair = [tf.data.make_initializable_iterator(plain(lmdb(paths)))
                for _ in range(2)]
        made_[place] = ([(i.initializer, i.get_next()) for i in pair],
                        raw.DeserializeIterator(
                            resource_handle=pair[1]._iterator_resource,
                            serialized=raw.SerializeIterator(
                                resource_handle=pair[0]._iterator_resource)))
    with side.session() as session:
        for place, (pair, restore) in made_.items():
            session.run([i[0] for i in pair])
            for _ in range(place):
                session.run(pair[0][1])
            session.run(restore)
            walk(session, out, "at %d" % place, pair[1][1], 12)
    return out


def changed(content, at_byte, value):
    return content[:at_byte] + value + content[at_byte + len(value):]


def damaged():
    """Name -> file, what is said of it after how many elements."""
    small, many, large = FILES["small"], FILES["many"], FILES["large"]
    dups, fixed = FILES["dups"], FILES["fixed"]
    root = 88 + 40  # of the keys' tree, in a meta page; the second counts
    newer = PAGE + root
    leaf = 2 * PAGE
    none = "MDB_INVALID: File is not an LMDB file"
    lost = "MDB_PAGE_NOTFOUND: Requested page not found"
    wrong = "MDB_CORRUPTED: Located page was wrong type"
    entry = leaf + int.from_bytes(small[leaf + 16:leaf + 18], "little")
    return {
        "nothing": (b"", none), "junk": (b"junk" * 4000, none),
        "one page": (small[:PAGE], none), "half": (small[:100], none),
        "magic": (changed(small, 16, b"?"), none),
        "second magic": (changed(small, PAGE + 16, b"?"), none),
        "version": (changed(small, 20, b"\2"),
                    "MDB_VERSION_MISMATCH: Database environment version "
                    "mismatch"),
        "page size": (changed(small, 40, b"\1"), none),
        "page size 0": (changed(small, 40, b"\0\0\0\0"), none),
        "huge pages": (changed(small, 40, b"\0\0\2\0"), none),
        "cut": (small[:2 * PAGE + 100], lost),
        "root beyond": (changed(small, newer, b"\3"), lost),
        "root far beyond": (changed(small, newer, b"\xff" * 7), lost),
        "root is meta": (changed(small, newer, b"\1"), wrong),
        "no flags": (changed(small, leaf + 10, b"\0"), wrong),
        "both flags": (changed(small, leaf + 10, b"\3"), wrong),
        "fixed leaf": (changed(small, leaf + 10, b"\x22"), wrong),
        "lower 0": (changed(small, leaf + 12, b"\0\0"), wrong),
        "lower beyond": (changed(small, leaf + 12, b"\xff\xff"), wrong),
        "all entries": (changed(small, leaf + 12, b"\0\x10"), None),
        "entry in head": (changed(small, leaf + 16, b"\1\0"), wrong),
        "entry at end": (changed(small, leaf + 16, b"\xfd\x0f"), wrong),
        "entry beyond": (changed(small, leaf + 16, b"\xff\xff"), wrong),
        "long key": (changed(small, entry + 6, b"\xff\xff"), wrong),
        "long value": (changed(small, entry, b"\xff\xff\xff\xff"), wrong),
        "large value": (changed(small, entry + 4, b"\1"), lost),
        "dups": (changed(small, entry + 4, b"\4"), wrong),
        "dups of a tree": (changed(small, entry + 4, b"\6"), wrong),
        "large cut": (large[:-PAGE], None),
        "circle": (circle(many), wrong),
        "dups cut": (dups[:3 * PAGE], lost),
        "fixed cut": (fixed[:3 * PAGE], lost),
    }


def circle(content):
    """The root's entries all lead to it."""
    page = PAGE * int.from_bytes(content[PAGE + 128:PAGE + 136], "little")
    for i in range(2):
        entry = page + int.from_bytes(
            content[page + 16 + 2 * i:page + 18 + 2 * i], "little")
        content = changed(content, entry, (page // PAGE).to_bytes(6, "little"))
    return content


@scenario("LMDBDataset")
@fresh_graph
def data_lmdb_refused(side):
    """A damaged file is left, and the next one read."""
    good = write(side, "good", FILES["small"])
    files = damaged()
    found = elements(side, {
        name: lambda n=name, c=content: lmdb(
            [write(side, n.replace(" ", "_"), c), good])
        for name, (content, _) in files.items()}, limit=12) if side.target else {}
    out = {}
    for name, (_, text) in files.items():
        if text is None:  # what is whole comes first
            out["ends " + name] = any(
                isinstance(v, str) and v.startswith(END)
                for k, v in found.items()
                if k.startswith(name + " ")) if side.target else True
            continue
        path = side.path(name.replace(" ", "_"))
        want = at(PAIRS["small"], name)
        if side.target:
            out.update({k: v.replace(path, "PATH") if isinstance(v, str) else v
                        for k, v in found.items()
                        if k.startswith(name + " ")})
            continue
        out[name + " 0"] = "InvalidArgumentError: %s: PATH" % text
        for key, value in want.items():
            number, _, part = key[len(name) + 1:].partition(".")
            out["%s %d%s" % (name, int(number) + 1,
                             part and "." + part)] = value
    makers = {"matrix": lambda: lmdb([[good]]),
              "missing": lambda: lmdb([side.path("missing")]),
              "numbers": lambda: made("LMDBDataset", hidden(np.array(
                  [good], np.str_)), types=(tf.int64,), shapes=((),))}
    if side.target:
        out.update({k: v.replace(side.path(""), "D/") for k, v in elements(
            side, makers, limit=1).items()})
    else:
        out["matrix"] = ("InvalidArgumentError: `filenames` must be a scalar "
                         "or a vector.")
        out["missing 0"] = ("NotFoundError: D/missing; No such file or "
                            "directory")
        out["numbers"] = ("InvalidArgumentError: elements of an LMDB database "
                          "are two strings, not what output_types says")
    return out
