"""TensorFlow's C API, called in a library: TensorFlow's own or libtfd.

  python -m tests.conformance.capi LIBRARY <CALLS >ANSWERS

reads a pickled list of Calls and writes what came of each: the gradients'
values, None for one that does not exist, or a Failure.  A process
of its own per library, so that their symbols never meet.
"""
import ctypes
import dataclasses
import io
import pickle
import subprocess
import sys

import numpy as np

DTYPES = {1: np.float32, 2: np.float64, 3: np.int32, 9: np.int64}
NUMBERS = {np.dtype(dtype): number for number, dtype in DTYPES.items()}
P = ctypes.c_void_p
CRASHED = -1  # no code of TensorFlow's
# ConfigProto: no threads that one small step has no use for.
ONE_THREAD = bytes([2 << 3, 1, 5 << 3, 1])


class Output(ctypes.Structure):
    _fields_ = [("oper", P), ("index", ctypes.c_int)]


@dataclasses.dataclass
class Call:
    """The gradients of `y` by all of `x` in a graph; names of outputs."""

    graph: bytes  # a GraphDef
    y: list
    x: list
    feeds: dict  # name -> array
    order: int = 1  # 2: the gradients of the gradients


@dataclasses.dataclass
class Shapes:
    """The shapes of all outputs of these nodes of a graph: lists of dimensions,
    None for an unknown rank, -1 for an unknown dimension."""

    graph: bytes
    nodes: list


@dataclasses.dataclass
class Failure:
    code: int
    message: str


class Error(Exception):
    pass


RESULTS = dict(
    TF_NewStatus=P, TF_NewGraph=P, TF_NewImportGraphDefOptions=P,
    TF_NewBufferFromString=P, TF_GraphOperationByName=P, TF_NewSession=P,
    TF_NewSessionOptions=P, TF_AllocateTensor=P, TF_TensorData=P,
    TF_TensorByteSize=ctypes.c_size_t, TF_Dim=ctypes.c_int64,
    TF_Message=ctypes.c_char_p)


class Api:
    def __init__(self, path):
        self.library = ctypes.CDLL(path)
        for name, result in RESULTS.items():
            getattr(self.library, name).restype = result
        self.status = P(self.library.TF_NewStatus())

    def __call__(self, name, *arguments):
        """Calls a function; the last argument of a name that ends in ! is
        the status, which is checked."""
        checked = name.endswith("!")
        if checked:
            arguments += (self.status,)
        value = getattr(self.library, name.rstrip("!"))(*arguments)
        if checked:
            self.check()
        return P(value) if RESULTS.get(name.rstrip("!")) is P else value

    def check(self):
        code = self.library.TF_GetCode(self.status)
        if code:
            message = self.library.TF_Message(self.status).decode()
            raise Error(Failure(code, message))

    def import_graph(self, data):
        graph = self("TF_NewGraph")
        buffer = self("TF_NewBufferFromString", data,
                      ctypes.c_size_t(len(data)))
        options = self("TF_NewImportGraphDefOptions")
        self("TF_GraphImportGraphDef!", graph, buffer, options)
        return graph

    def outputs(self, graph, names):
        found = (Output * max(1, len(names)))()
        for i, name in enumerate(names):
            operation, _, index = name.partition(":")
            oper = self("TF_GraphOperationByName", graph, operation.encode())
            found[i] = Output(oper.value, int(index or 0))
        return found

    def tensor(self, array):
        array = np.asarray(array, order="C")
        dims = (ctypes.c_int64 * max(1, array.ndim))(*array.shape)
        tensor = self("TF_AllocateTensor", NUMBERS[array.dtype], dims,
                      array.ndim, ctypes.c_size_t(array.nbytes))
        ctypes.memmove(self("TF_TensorData", tensor), array.tobytes(),
                       array.nbytes)
        return tensor

    def array(self, tensor):
        dtype = DTYPES[self("TF_TensorType", tensor)]
        shape = [self("TF_Dim", tensor, i)
                 for i in range(self("TF_NumDims", tensor))]
        size = self("TF_TensorByteSize", tensor)
        data = ctypes.string_at(self("TF_TensorData", tensor), size)
        return np.frombuffer(data, dtype).reshape(shape)

    def run(self, graph, feeds, fetches):
        options = self("TF_NewSessionOptions")
        self("TF_SetConfig!", options, ONE_THREAD,
             ctypes.c_size_t(len(ONE_THREAD)))
        session = self("TF_NewSession!", graph, options)
        inputs = self.outputs(graph, list(feeds))
        values = (P * max(1, len(feeds)))(
            *[self.tensor(value) for value in feeds.values()])
        answers = (P * max(1, len(fetches)))()
        self("TF_SessionRun!", session, None, inputs, values, len(feeds),
             (Output * max(1, len(fetches)))(*fetches), answers, len(fetches),
             None, 0, None)
        arrays = [self.array(P(answer)) for answer in answers[:len(fetches)]]
        self("TF_DeleteSession!", session)
        return arrays

    def derive(self, graph, y, x):
        """An Output for each of x; without an operation where there is none."""
        dx = (Output * max(1, len(x)))()
        self("TF_AddGradients", graph, (Output * max(1, len(y)))(*y), len(y),
             (Output * max(1, len(x)))(*x), len(x), None, self.status, dx)
        self.check()
        return list(dx[:len(x)])

    def shape(self, graph, output):
        rank = self("TF_GraphGetTensorNumDims!", graph, output)
        if rank < 0:
            return None
        dims = (ctypes.c_int64 * max(1, rank))()
        self("TF_GraphGetTensorShape!", graph, output, dims, rank)
        return list(dims[:rank])

    def shapes(self, call):
        graph = self.import_graph(call.graph)
        found = []
        for name in call.nodes:
            node = self("TF_GraphOperationByName", graph, name.encode())
            found.append([self.shape(graph, Output(node.value, i)) for i in range(
                self("TF_OperationNumOutputs", node))])
        return found

    def gradients(self, call):
        graph = self.import_graph(call.graph)
        y = list(self.outputs(graph, call.y)[:len(call.y)])
        x = list(self.outputs(graph, call.x)[:len(call.x)])
        for _ in range(call.order):
            y = self.derive(graph, [output for output in y if output.oper], x)
        there = [i for i, output in enumerate(y) if output.oper]
        values = dict(zip(there, self.run(
            graph, call.feeds, [y[i] for i in there])))
        return [values.get(i) for i in range(len(x))]


def answer(api, call):
    from tests.conformance import capi
    try:
        return (api.shapes if isinstance(call, capi.Shapes) else
                api.gradients)(call)
    except Error as error:
        return error.args[0]


def ask(library, calls):
    """The answers of a library to Calls.  One that crashes it is a Failure,
    and the rest are asked of a new process."""
    answers = []
    while len(answers) < len(calls):
        done = subprocess.run(
            [sys.executable, "-m", "tests.conformance.capi", library],
            input=pickle.dumps(calls[len(answers):]), stdout=subprocess.PIPE)
        answers += stored(done.stdout)
        if done.returncode:
            answers.append(Failure(CRASHED, "exit %d" % done.returncode))
    return answers


def stored(data):
    stream, found = io.BytesIO(data), []
    while stream.tell() < len(data):
        found.append(pickle.load(stream))
    return found


def main():
    # As the module others import, or the pickles would not be theirs.
    from tests.conformance import capi
    api = capi.Api(sys.argv[1])
    for call in pickle.load(sys.stdin.buffer):
        pickle.dump(capi.answer(api, call), sys.stdout.buffer)
        sys.stdout.flush()


if __name__ == "__main__":
    main()
