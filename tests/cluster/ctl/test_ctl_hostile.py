"""tfdctl and servers that mean no good: no answer hangs it or fills memory."""
import contextlib
import json
import resource
import socket
import threading

from tests.cluster.ctl.ctl import (DONE, PROGRAM, REFUSED, UNREACHABLE, bad,
                                   call, document)
from tests.cluster.suite import test

LONG = ["--timeout=60s"]


@contextlib.contextmanager
def serving(answer):
    """A server whose connections are each given to answer(socket)."""
    listener = socket.create_server(("127.0.0.1", 0))
    stop = threading.Event()

    def one(connection):
        with connection, contextlib.suppress(OSError):
            answer(connection)

    def serve():
        with contextlib.suppress(OSError):
            while not stop.is_set():
                connection, _ = listener.accept()
                threading.Thread(target=one, args=(connection,),
                                 daemon=True).start()

    threading.Thread(target=serve, daemon=True).start()
    try:
        yield "--target=127.0.0.1:%d" % listener.getsockname()[1]
    finally:
        stop.set()
        listener.close()


def page(body, head="HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"):
    """Answers every request with it, by Content-Length."""
    body = body if isinstance(body, bytes) else body.encode()

    def answer(connection):
        connection.recv(65536)
        connection.sendall(
            head.encode() + b"Content-Length: %d\r\n\r\n" % len(body) + body)
    return answer


def raw(data):
    def answer(connection):
        connection.recv(65536)
        connection.sendall(data)
    return answer


def endless(head, part):
    def answer(connection):
        connection.recv(65536)
        connection.sendall(head)
        while True:
            connection.sendall(part)
    return answer


# what is sent, exit code, what the complaint names
ANSWERS = [
    (page(""), REFUSED, ["no JSON"]),
    (page("{"), REFUSED, ["no JSON"]),
    (page("[]"), REFUSED, ["not an object"]),
    (page("3"), REFUSED, ["no JSON"]),
    (page('{"a": 1, "a": 2}'), REFUSED, ["no JSON"]),
    (page('{"a": 1' + "0" * 400 + "}"), REFUSED, ["no JSON"]),
    (page('{"a": 1e999}'), REFUSED, ["no JSON"]),
    (page("[" * 100000), REFUSED, ["no JSON"]),
    (page(b'{"a": "\xff\xfe"}'), REFUSED, ["no JSON"]),
    (page("<html>"), REFUSED, ["no JSON"]),
    (page("", "HTTP/1.1 404 Not Found\r\n"), REFUSED, ["no /status.json"]),
    (page("", "HTTP/1.1 500 Oh\r\n"), REFUSED, ["500"]),
    (page("", "HTTP/1.1 99999999999999999999 x\r\n"), REFUSED, ["answers"]),
    (raw(b""), REFUSED, ["without a page"]),
    (raw(b"HTTP/1.1 200 OK\r\n"), REFUSED, ["without a page"]),
    (raw(b"\x00\x00\x12\x04\x00\x00\x00\x00\x00"), REFUSED, ["HTTP/1"]),
    (raw(b"\x00" * 100), REFUSED, ["HTTP/1"]),
    (raw(b"HTTP/1.1 200\r\nContent-Length: 10\r\n\r\n{}"), REFUSED,
     ["2 bytes", "10"]),
    (raw(b"HTTP/1.1 200\r\nContent-Length: -1\r\n\r\n{}"), REFUSED,
     ["Content-Length"]),
    (raw(b"HTTP/1.1 200\r\nContent-Length: x\r\n\r\n{}"), REFUSED,
     ["Content-Length"]),
    (raw(b"HTTP/1.1 200\r\nContent-Length: 99999999999999\r\n\r\n{}"),
     REFUSED, ["99999999999999", "limit"]),
    (raw(b"HTTP/1.1 200\r\nContent-Length: 999999999999999999999\r\n\r\n"),
     REFUSED, ["Content-Length"]),
    (raw(b"HTTP/1.1 200\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n"),
     REFUSED, ["chunks"]),
    (raw(b"HTTP/1.1 200\r\nX: a\x00b\r\n\r\n{}"), REFUSED, ["page"]),
    (endless(b"HTTP/1.1 200 OK\r\n", b"X: y\r\n" * 100), REFUSED, ["head"]),
    (endless(b"HTTP/1.1 200 OK\r\n\r\n", b" " * 65536), REFUSED, ["page"]),
]


@test(limit=120)
def a_page_that_is_none_is_refused_in_words(_):
    wrong = []
    for i, (answer, code, words) in enumerate(ANSWERS):
        with serving(answer) as target:
            try:
                bad(code, words, "status", target, *LONG)
            except AssertionError as error:
                wrong.append("%d: %s" % (i, error))
    assert not wrong, "\n".join(wrong)


@test()
def whoever_does_not_answer_is_not_waited_for(_):
    def wait(connection):
        while connection.recv(65536):
            pass

    def drip(connection):
        connection.recv(65536)
        for c in b"HTTP/1.1 200 OK\r\n" * 1000:
            connection.sendall(bytes([c]))
            threading.Event().wait(0.02)

    for answer in wait, drip:
        with serving(answer) as target:
            for verb in "status", "sessions", "top":
                bad(UNREACHABLE, ["--timeout"], verb, target,
                    "--timeout=300ms")

    with serving(wait) as target:
        for verb in (["health"], ["devices"], ["log-level"], ["reset"],
                     ["shutdown"], ["bench"]):
            code, _, said = call(*verb, target, "--timeout=300ms")
            assert code == UNREACHABLE, (verb, code, said)
        code, _, said = call("health", target, "--wait=500ms",
                             "--timeout=200ms")
        assert code == UNREACHABLE, (code, said)


@test()
def what_is_no_grpc_is_an_error(_):
    for data in (b"HTTP/1.1 400 Bad Request\r\n\r\n", b"\x00" * 1000,
                 b"\xff" * 1000, b"SSH-2.0-OpenSSH\r\n",
                 b"\x00\x00\x00\x04\x00\x00\x00\x00\x00"
                 + b"\x00\xff\xff\x00\x00\x00\x00\x00\x01" + b"x" * 70000):
        with serving(raw(data)) as target:
            for verb in "health", "devices", "log-level":
                code, _, said = call(verb, target, "--timeout=2s")
                assert code in (UNREACHABLE, REFUSED), (data[:9], verb, said)
                assert said, (data[:9], verb)


# A document whose every part is of another kind than it should be.
ODD = [
    {}, {"cluster": 3, "sessions": 4, "steps": "x", "variables": None},
    {"cluster": {"tasks": [1, "x", None, [], {}]}, "sessions": [[]],
     "contexts": [None], "steps": [3], "variables": [{"a": {}}]},
    {"cluster": {"tasks": [{"address": 3}, {"address": "\u001b[2Jx"},
                           {"address": "\u001b[2J\u009b2J:x"},
                           {"address": "y" * 254 + "\u00e4"}]},
     "sessions": [{"client": "\u001b]0;x\u0007\r\n\u0000end"},
                  {"client": "\u009b2J\u009d0;x\u009c"},
                  {"client": "\u00e4" * 5000}],
     "steps": [{"age_us": -1, "n": 2**63 - 1, "f": 1e308, "s_bytes": -5}],
     "variables": [{("k%d" % i) * 30: i for i in range(50)}]},
]


def steering(text):
    """Characters that a terminal obeys: those of ASCII, and C1."""
    return [c for c in text if c != "\n" and (
        c < " " or "\x7f" <= c < "\xa0")]


@test(limit=60)
def a_document_of_other_kinds_is_shown_as_far_as_it_goes(_):
    for odd in ODD:
        with serving(page(json.dumps(odd))) as target:
            assert document("status", target) == odd
            for verb in "status", "sessions", "variables", "steps":
                code, said, complained = call(verb, target)
                assert code in (DONE, REFUSED), (odd, verb, code)
                assert code == DONE or complained
                assert not steering(said + complained), repr(said)
            code, said, _ = call("top", "--once", target)
            assert code in (DONE, REFUSED) and not steering(said), odd
            code, _, said = call("shutdown", "--cluster", target,
                                 "--timeout=1s")
            assert code != DONE and said, (odd, code)
            assert not steering(said), repr(said)


def largest(command):
    """Peak memory of one run, in bytes."""
    import os
    pid = os.fork()
    if pid == 0:
        os.dup2(os.open("/dev/null", os.O_WRONLY), 2)
        os.execv(PROGRAM, command)
    _, _, usage = os.wait4(pid, 0)
    assert isinstance(usage, resource.struct_rusage)
    return usage.ru_maxrss * 1024


@test(limit=60)
def an_endless_page_takes_bounded_memory(_):
    answer = endless(b"HTTP/1.1 200 OK\r\n\r\n", b" " * 65536)
    with serving(answer) as target:
        used = largest([PROGRAM, "status", target, *LONG])
        assert used < 400 << 20, used
