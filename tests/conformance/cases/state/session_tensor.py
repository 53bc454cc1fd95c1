"""Cases of kernels/state/session_tensor.c: values kept between steps."""
import re

import numpy as np

from tests.cluster.client import tf
from tests.conformance.cases.list.lists import TYPES
from tests.conformance.scenarios import fresh_graph, hidden, sample, told
from tests.conformance.table import scenario

raw = tf.raw_ops
OPS = "GetSessionHandle GetSessionTensor DeleteSessionTensor"


def plain(found):
    """Without the device, whose task is another one here than there."""
    text = found.decode() if isinstance(found, bytes) else found
    return re.sub(r"/job:\w+/replica:0/task:0", "TASK", text) if isinstance(
        text, str) else found


def kept(session, value):
    """The handle; the client's object deletes what it stands for with itself,
    so it is left behind in the session."""
    found = session.run(raw.GetSessionHandle(value=value))
    session.left_behind = getattr(session, "left_behind", []) + [found]
    return found.handle


def read(session, handle, dtype):
    return plain(told(session, raw.GetSessionTensor(handle=hidden(handle),
                                                    dtype=dtype)))


def delete(session, handle):
    return plain(told(session, raw.DeleteSessionTensor(handle=hidden(handle))))


@scenario(OPS + " GetSessionHandleV2", tol=0)
@fresh_graph
def session_tensors_of_every_type(side):
    out = {}
    with side.session() as session:
        for dtype in TYPES:
            for i, dims in enumerate(((2, 3), (), (0, 2))):
                handle = kept(session, hidden(sample(dtype, dims)))
                key = "%s %d" % (dtype.name, i)
                out[key + " handle"] = plain(handle)
                out[key] = read(session, handle, dtype)
                out[key + " again"] = read(session, handle, dtype)
        out["shape"] = np.array(raw.GetSessionHandleV2(
            value=hidden(1.0)).shape.as_list())
    return {key: value for key, value in out.items() if value is not None}


@scenario(OPS, tol=0)
@fresh_graph
def session_tensors_end(side):
    with side.session() as session:
        one = kept(session, hidden(np.float32([1, 2])))
        two = kept(session, hidden(np.float32([3])))
        out = {"first": read(session, one, tf.float32),
               "deleted": delete(session, one),
               "deleted again": delete(session, one),
               "gone": read(session, one, tf.float32),
               "other": read(session, two, tf.float32),
               "type": read(session, two, tf.int32),
               "unknown": read(session, b"what", tf.float32),
               "delete unknown": delete(session, b""),
               "vector": read(session, [two, two], tf.float32),
               "delete vector": delete(session, [two])}
        with side.session() as other:
            out["elsewhere"] = read(other, two, tf.float32)
            out["of another"] = plain(kept(other, hidden(5)))
            out["still there"] = read(session, two, tf.float32)
    return {key: "nothing" if value is None else value
            for key, value in out.items()}


@scenario(OPS, tol=0)
@fresh_graph
def session_tensors_of_the_client(side):
    """As programs use them: handles are fetched, and fed again."""
    x = hidden(np.float32([1, 2, 3]))
    with side.session() as session:
        handle = session.run(tf.get_session_handle(x * 2))
        fed, value = tf.get_session_tensor(handle.handle, tf.float32)
        out = {"value": session.run(value + 1, {fed: handle.handle}),
               "eval": handle.eval()}
        for _ in range(3):  # a loop whose state does not leave the server
            handle = session.run(tf.get_session_handle(value * 2),
                                 {fed: handle.handle})
        out["loop"] = session.run(value, {fed: handle.handle})
        at, gone = tf.delete_session_tensor(handle.handle)
        session.run(gone, {at: handle.handle})
        out["gone"] = plain(told(session, value, {fed: handle.handle}))
    return out
