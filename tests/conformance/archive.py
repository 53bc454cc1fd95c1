"""The archive of trials that record.py writes and replay.py reads: a zip.

  meta.json     device, tolerances, and the names of all that it is about
  messages      a FileDescriptorSet of TensorFlow's messages that are needed
  ops/NAME      a RecordedOp: the graph of an op's trials, and these

Who replays it needs no TensorFlow: numpy, ml_dtypes, grpcio and protobuf.
"""
import json
import zipfile

from google.protobuf import descriptor_pb2, descriptor_pool
from google.protobuf.message import DecodeError

from tests.cluster.messages import FILES, Messages
from tests.conformance import values
from tests.conformance.judge import Trial

VERSION = 1
# As in tests/cluster/messages.py.
TABLE = """
RecordedTrial label:1:string kind:2:string runs:3:int32 tol:4:double \
  check:5:string all_defined:6:bool end:7:int32 feed:8:*NamedTensor \
  init:9:*string fetch:10:*string read:11:*string together:12:bool \
  want:13:*tensorflow.TensorProto error:14:string text:15:string \
  may_work:16:bool
RecordedOp graph:1:tensorflow.GraphDef config:2:tensorflow.ConfigProto \
  trial:3:*RecordedTrial failure:4:*string
"""
PLAIN = ("label", "kind", "runs", "tol", "check", "together", "error", "text",
         "may_work")


# What meta.json has beside its version.
META = {
    "device": str,
    "tensorflow": str,  # its version
    "tolerance": dict,  # as in compare.py
    "ops": dict,  # name -> how many cases there are, or null: not recorded
    "scenarios": dict,  # name -> ops
    "ops_without_a_case": list,  # arguments of judge.missing_cases(), or none
}


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


def packed(trial, names, messages):
    """A RecordedTrial; names(x): what a server calls a feed, an operation or
    a tensor."""
    tensor = messages.type("tensorflow.TensorProto")
    return messages(
        "RecordedTrial", **{name: getattr(trial, name) for name in PLAIN},
        all_defined=trial.end is None, end=trial.end or 0,
        feed=[messages("NamedTensor", name=names(feed),
                       tensor=values.encode(value, tensor))
              for feed, value in trial.feeds.items()],
        init=map(names, trial.init), fetch=map(names, trial.fetches),
        read=map(names, trial.reads),
        want=[values.encode(value, tensor) for value in trial.want])


def unpacked(recorded):
    """The Trial; its feeds stay TensorProtos, the rest are names."""
    try:
        want = [values.decode(proto) for proto in recorded.want]
    except (ValueError, IndexError) as error:
        raise Damaged("%s: %s" % (recorded.label, _said(error))) from None
    return Trial(
        **{name: getattr(recorded, name) for name in PLAIN},
        end=None if recorded.all_defined else recorded.end,
        feeds={feed.name: feed.tensor for feed in recorded.feed},
        init=list(recorded.init), fetches=list(recorded.fetch),
        reads=list(recorded.read), want=want)
