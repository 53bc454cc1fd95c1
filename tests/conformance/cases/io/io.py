"""Cases of kernels/io/io.c."""
import gzip
import os
import zlib

import numpy as np

from tests.cluster.client import tf
from tests.conformance.inputs import types_of
from tests.conformance.scenarios import attempt, fresh_graph, hidden, told
from tests.conformance.table import bad, c, once, row, scenario

PIXELS = bytes(range(256)) * 9
row("ReadFile", [c(__file__.encode()), bad(b"/no/such/file"), bad(b"/"),
                 bad([__file__.encode()] * 2), bad(b"")])
row("DecodeCompressed", [
    c([zlib.compress(PIXELS)], compression_type="ZLIB"),
    c(gzip.compress(PIXELS), compression_type="GZIP"), c([[b"as is"]]),
    c([zlib.compress(b""), zlib.compress(b"b" * 70000)],
      compression_type="ZLIB"),
    c([zlib.compress(PIXELS)[:99]], compression_type="ZLIB"),
    bad([zlib.compress(PIXELS)[2:]], compression_type="ZLIB"),
    bad([b"nothing"], compression_type="GZIP")])
RAW = [t for t in types_of("DecodeRaw") if t != "bool"]
row("DecodeRaw", [
    c([PIXELS[:32], PIXELS[32:64]], dtypes=RAW),
    c(PIXELS[:16], little_endian=False, dtypes=RAW), c([[b"\0\1" * 8]]),
    c(np.array([b""], object)), c(np.zeros([0], object)),
    # More than the caches hold, in whole vectors and not.
    once([PIXELS[at:at + 2048] for at in range(6, 70)] * 40),
    once([PIXELS[at:at + 2044] for at in range(6, 70)] * 40),
    bad([PIXELS[:3]], out_type="int32"),
    bad([PIXELS[:4], PIXELS[:8]])], tol=0)
row("DecodePaddedRaw", [
    c([b"", PIXELS[1:6], PIXELS[32:64]], 16), c(PIXELS[:16], 8),
    c([[PIXELS[1:6]], [PIXELS[:40]]], 24, little_endian=False),
    c(np.zeros([0], object), 8), c([b"ab", b"abc", b"a\0"], 8),
    bad([b"ab"], 0), bad([b"ab"], -8), bad([b"ab"], 3, out_type="int16"),
    bad([b"ab"], [8]), bad(np.zeros([0], object), 7, out_type="int32")], tol=0)


@scenario("WriteFile ReadFile")
@fresh_graph
def files_are_written_and_read(side):
    contents = tf.placeholder(tf.string, None)
    out = {}
    with side.session() as session:
        for name in ("file", "new/folder/file"):
            for text in (b"", b"\x00\xff" * 5000):
                path = side.path(name)
                out["%s %d write" % (name, len(text))] = attempt(
                    session, tf.raw_ops.WriteFile(
                        filename=path, contents=contents), {contents: text})
                out["%s %d read" % (name, len(text))] = attempt(
                    session, tf.raw_ops.ReadFile(filename=path))
        for name, path in (("folder", side.folder), ("empty", ""),
                           ("below a file", side.path("file/x"))):
            out[name] = attempt(session, tf.raw_ops.WriteFile(
                filename=path, contents="x"))
    return out


@scenario("ReadFile WriteFile SaveV2 RestoreV2 MergeV2Checkpoints", tol=0)
@fresh_graph
def files_are_named_by_paths_and_uris(side):
    raw, out = tf.raw_ops, {}
    at = side.path
    os.makedirs(at("folder"))
    with open(at("plain"), "wb") as file:
        file.write(b"some bytes")
    for link, to in (("one", "two"), ("two", "one"), ("link", "plain"),
                     ("nowhere", "nothing")):
        os.symlink(to, at(link))

    def said(what):
        value = told(session, what)
        return (value.replace(side.folder, "FOLDER")
                if isinstance(value, str) else value)

    def restored(prefix):
        return raw.RestoreV2(prefix=hidden(prefix), tensor_names=["x"],
                             shape_and_slices=[""], dtypes=[tf.float32])[0]

    with side.session() as session:
        for name in ("plain", "missing", "folder", "plain/x", "link", "one",
                     "one/x", "nowhere", "n" * 300, "folder/../plain"):
            for scheme in ("", "file://", "file://localhost"):
                out["read %s%.20s" % (scheme, name)] = said(
                    raw.ReadFile(filename=hidden(scheme + at(name))))
        for name in ("FILE://" + at("plain"), "http://x/y", "1a://x/y",
                     "a.b1://x", "file:" + at("plain"), ""):
            out["read " + name.replace(side.folder, "")] = said(
                raw.ReadFile(filename=hidden(name)))
        for name in ("new", "plain", "made/on/the/way", "folder", "plain/x",
                     "one/x", "n" * 300):
            uri = "file://" + at(name)
            key = "write %.20s" % name
            out[key] = said(raw.WriteFile(filename=hidden(uri),
                                          contents=hidden("written")))
            out[key + " read"] = said(raw.ReadFile(filename=at(name)))
        part, merged = "file://" + at("part"), "file://" + at("to/merged")
        session.run(raw.SaveV2(prefix=hidden(part), tensor_names=["x"],
                               shape_and_slices=[""],
                               tensors=[tf.constant([1., 2.])]))
        out["uri"] = said(restored(part))
        out["path"] = said(restored(at("part")))
        session.run(raw.MergeV2Checkpoints(
            checkpoint_prefixes=hidden([part]),
            destination_prefix=hidden(merged)))
        out["merged"] = said(restored(at("to/merged")))
        out["moved"] = said(restored(part))
        out["files"] = " ".join(sorted(os.listdir(at("to"))))
    return out
