"""The archive of trials that record.py writes and replay.py reads: a zip.

  meta.json     device, tolerances, and the names of all that it is about
  messages      a FileDescriptorSet of TensorFlow's messages that are needed
  ops/NAME      a RecordedOp: the graph of an op's trials, and these

Who replays it needs no TensorFlow: numpy, ml_dtypes, grpcio and protobuf.
"""
import json
import zipfile
from hashlib import sha256

import numpy as np
from google.protobuf import descriptor_pb2, descriptor_pool
from google.protobuf.message import DecodeError

from tests.cluster.messages import FILES, Messages
from tests.conformance import compare, values
from tests.conformance.draw import Data
from tests.conformance.judge import Trial

VERSION = 3
# As in tests/cluster/messages.py.
TABLE = """
NamedValue name:1:string value:2:int32
RecordedTrial label:1:string kind:2:string runs:3:int32 tol:4:double \
  check:5:string all_defined:6:bool end:7:int32 feed:8:*NamedValue \
  init:9:*string fetch:10:*string read:11:*string together:12:bool \
  want:13:*int32 error:14:string text:15:string may_work:16:bool \
  pinned:17:*string on:18:string size:19:*int32
Drawn type:1:string dims:2:*int64 seed:3:string low:4:double high:5:double \
  special:6:bool nonzero:7:bool
RecordedValue tensor:1:tensorflow.TensorProto planes:2:bytes drawn:3:Drawn \
  digest:4:bytes
RecordedOp graph:1:tensorflow.GraphDef config:2:tensorflow.ConfigProto \
  trial:3:*RecordedTrial failure:4:*string value:5:*RecordedValue
"""
PLAIN = ("label", "kind", "runs", "tol", "check", "together", "error", "text",
         "may_work", "on")
# What meta.json has beside its version.
META = {
    "device": str,
    "tensorflow": str,  # its version
    "tolerance": dict,  # as in compare.py
    "ops": dict,  # name -> how many cases there are, or null: not recorded
    "columns": dict,  # name -> as devices.Column.rows() of a server has it
    "scenarios": dict,  # name -> ops
    "ops_without_a_case": list,  # arguments of judge.missing_cases(), or none
}

SMALL = 64  # bytes of a value that is written down even if it was drawn
LARGE = 4096  # bytes of a value for which a shorter form is worth it


class Damaged(Exception):
    """The archive is not one that record.py wrote."""


def add_messages(messages):
    messages.add("tfd_archive.proto", TABLE, FILES + ["tfd_test.proto"])
    return messages


class Writer:
    """Writes an archive; it is none before close()."""

    def __init__(self, path, pool):
        self.zip = zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED,
                                   compresslevel=9)
        self.zip.writestr("messages", _descriptors(pool).SerializeToString())

    def add(self, name, recorded):
        """recorded: the bytes of a RecordedOp."""
        self.zip.writestr("ops/" + name, recorded)

    def close(self, meta):
        self.zip.writestr("meta.json", json.dumps(dict(meta, version=VERSION)))
        self.zip.close()


def _descriptors(pool):
    """Those files first that others are based on."""
    found = {}

    def add(file):
        for dependency in file.dependencies:
            add(dependency)
        if file.name not in found:
            found[file.name] = descriptor_pb2.FileDescriptorProto()
            file.CopyToProto(found[file.name])

    for name in FILES:
        add(pool.FindFileByName(name))
    return descriptor_pb2.FileDescriptorSet(file=found.values())


class Reader:
    """An archive: its meta, its messages and its ops."""

    def __init__(self, path):
        self.path = path
        try:
            self.meta = json.loads(self._read("meta.json"))
            if self.meta["version"] != VERSION:
                raise Damaged("version %s" % self.meta["version"])
            for name, kind in META.items():
                if not isinstance(self.meta[name], kind):
                    raise Damaged("meta.json: %s" % name)
            pool = descriptor_pool.DescriptorPool()
            for file in descriptor_pb2.FileDescriptorSet.FromString(
                    self._read("messages")).file:
                pool.Add(file)
            self.messages = add_messages(Messages(pool))
        except (ValueError, KeyError, TypeError, DecodeError) as error:
            raise Damaged(_said(error)) from None

    def _read(self, name):
        try:
            with zipfile.ZipFile(self.path) as archive:
                return archive.read(name)
        except (OSError, EOFError, zipfile.BadZipFile, zipfile.zlib.error,
                KeyError, NotImplementedError) as error:
            raise Damaged("%s: %s" % (name, _said(error))) from None

    def op(self, name):
        """A RecordedOp."""
        try:
            return self.messages.type("RecordedOp").FromString(
                self._read("ops/" + name))
        except DecodeError as error:
            raise Damaged("ops/%s: %s" % (name, _said(error))) from None


def _said(error):
    return "%s: %s" % (type(error).__name__, error)


class Values:
    """The values of an op, each stored once and named by its place.

    Large ones dominate an archive, so: what was drawn is drawn again; what
    must be equal to the bit is a digest; the others keep the bits that their
    tolerance asks for (all, where there is one of terms), and the bytes of
    equal weight stand together."""

    def __init__(self, messages):
        self.messages = messages
        self.tensor = messages.type("tensorflow.TensorProto")
        self.stored, self.places = [], {}

    def draw(self, value, how):
        """The value is to be drawn again; how: the fields of Drawn."""
        proto, key = self._known(value)
        if key not in self.places and len(proto.tensor_content) > SMALL:
            self._store(key, drawn=self.messages("Drawn", **how),
                        digest=sha256(proto.tensor_content).digest())

    def exact(self, value):
        """The place of a value."""
        proto, key = self._known(value)
        if key not in self.places:
            self._store(key, **_planes(proto))
        return self.places[key]

    def want(self, value, trial):
        """The place of what another value is compared with."""
        proto, key = self._known(value)
        if key in self.places or len(proto.tensor_content) <= LARGE:
            return self.exact(value)
        if trial.sizes:
            return self.exact(value)
        if trial.check != "shape" and compare.tolerance(value, trial.tol):
            return self.exact(compare.rounded(value, trial.tol))
        proto.tensor_content = b""
        if ("digest", key) not in self.places:
            self._store(("digest", key), tensor=proto,
                        digest=compare.digest(value))
        return self.places["digest", key]

    def _known(self, value):
        proto = values.encode(value, self.tensor)
        return proto, proto.SerializeToString(deterministic=True)

    def _store(self, key, **fields):
        self.places[key] = len(self.stored)
        self.stored.append(self.messages("RecordedValue", **fields))


def _planes(proto):
    """The fields of a RecordedValue: all first bytes, all second bytes..."""
    content = proto.tensor_content
    if len(content) <= LARGE or proto.dtype == values.STRING:
        return {"tensor": proto}
    proto.tensor_content = b""
    size = values.TYPES[proto.dtype][0].itemsize
    array = np.frombuffer(content, np.uint8).reshape(-1, size)
    return {"tensor": proto, "planes": array.T.tobytes()}


def _restored(stored, tensor_proto):
    """(TensorProto of a feed, value to compare with) of a RecordedValue."""
    proto = tensor_proto()
    proto.CopyFrom(stored.tensor)
    if stored.HasField("drawn"):
        fields = {field.name: getattr(stored.drawn, field.name)
                  for field in stored.drawn.DESCRIPTOR.fields}
        dtype, dims, seed = (fields.pop(n) for n in ("type", "dims", "seed"))
        value = Data(**fields).draw(dtype, tuple(dims), seed)
        proto = values.encode(value, tensor_proto)
        if sha256(proto.tensor_content).digest() != stored.digest:
            raise ValueError("other values are drawn here")
    elif stored.planes:
        size = values.TYPES[proto.dtype][0].itemsize
        array = np.frombuffer(stored.planes, np.uint8).reshape(size, -1)
        proto.tensor_content = array.T.tobytes()
    elif stored.digest:
        return None, compare.Digest(
            values.TYPES[proto.dtype][0],
            tuple(dim.size for dim in proto.tensor_shape.dim), stored.digest)
    return proto, values.decode(proto)


def packed(trials, names, messages):
    """The trials and values of a RecordedOp; names(x): what a server calls a
    feed, an operation or a tensor."""
    store = Values(messages)
    for trial in trials:
        for value, how in trial.draws:
            store.draw(value, how)
    return {"trial": [_packed(trial, names, messages, store)
                      for trial in trials], "value": store.stored}


def _packed(trial, names, messages, store):
    return messages(
        "RecordedTrial", **{name: getattr(trial, name) for name in PLAIN},
        all_defined=trial.end is None, end=trial.end or 0,
        feed=[messages("NamedValue", name=names(feed),
                       value=store.exact(value))
              for feed, value in trial.feeds.items()],
        init=map(names, trial.init), fetch=map(names, trial.fetches),
        pinned=map(names, trial.pinned),
        read=map(names, trial.reads),
        want=[store.want(value, trial) for value in trial.want],
        size=[store.exact(value) for value in trial.sizes])


def unpacked(recorded, messages):
    """The Trials of a RecordedOp; their feeds are TensorProtos, the rest are
    names."""
    tensor = messages.type("tensorflow.TensorProto")
    try:
        found = [_restored(stored, tensor) for stored in recorded.value]
        return [_unpacked(trial, found) for trial in recorded.trial]
    except (ArithmeticError, KeyError, IndexError, TypeError,
            ValueError) as error:
        raise Damaged(_said(error)) from None


def _unpacked(trial, found):
    return Trial(
        **{name: getattr(trial, name) for name in PLAIN},
        end=None if trial.all_defined else trial.end,
        feeds={feed.name: found[feed.value][0] for feed in trial.feed},
        init=list(trial.init), fetches=list(trial.fetch),
        reads=list(trial.read), want=[found[at][1] for at in trial.want],
        pinned=list(trial.pinned),
        sizes=[found[at][1] for at in trial.size])
