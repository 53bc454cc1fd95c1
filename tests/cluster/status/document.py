"""/status.json of a task, checked against its schema."""
import http.client
import json

from tests.cluster.status.schema import wrongs

SECONDS = 20
SIZE_MAX = 2 << 20


def read(task):
    """(document, its bytes); a document that does not fit its schema fails."""
    connection = http.client.HTTPConnection("127.0.0.1", task.port,
                                            timeout=SECONDS)
    try:
        connection.request("GET", "/status.json")
        reply = connection.getresponse()
        body = reply.read()
    finally:
        connection.close()
    assert reply.status == 200, (reply.status, body)
    assert reply.getheader("Content-Type") == "application/json"
    document = json.loads(body.decode("utf8"))  # strictly
    bad = list(wrongs(document))
    assert not bad, bad[:5]
    return document, body


def states(document):
    """{(job, task): state}"""
    return {(t["job"], t["task"]): t["state"]
            for t in document["cluster"]["tasks"]}
