"""The command line of tfdctl, and where its values come from."""
import json
import os
import re
import subprocess
import tempfile

from tests.cluster.client import graph, tf
from tests.cluster.ctl.ctl import (CONFIG, DONE, PROGRAM, UNREACHABLE, USAGE,
                                   bad, call, document, good, on_terminal)
from tests.cluster.suite import test

VERBS = ["health", "devices", "run", "bench", "reset", "status", "sessions",
         "variables", "steps", "top", "trace", "log-level", "shutdown",
         "checkpoint", "ops"]

# arguments, exit code, what the complaint names
REFUSED = [
    ([], USAGE, ["no verb", "--help"]),
    (["helth"], USAGE, ["helth", "did you mean health"]),
    (["nothing-like-it"], USAGE, ["nothing-like-it", "--help"]),
    (["health", "--tarket=a:1"], USAGE, ["tarket", "--target"]),
    (["health", "--steps=3"], USAGE, ["--steps", "health"]),
    (["health", "word"], USAGE, ["usage", "health"]),
    (["run"], USAGE, ["usage", "GRAPH"]),
    (["checkpoint"], USAGE, ["usage", "PREFIX"]),
    (["checkpoint", "look", "at"], USAGE, ["look", "verify"]),
    (["checkpoint", "diff", "one"], USAGE, ["diff PREFIX PREFIX"]),
    (["health", "--target"], USAGE, ["--target", "HOST:PORT"]),
    (["health", "--target=a:70000"], CONFIG, ["a:70000", "65535"]),
    (["health", "--target=a:0"], CONFIG, ["--target", "port 0"]),
    (["health", "--target=/run/tfd"], CONFIG, ["/run/tfd", "'/'"]),
    (["health", "--target=unix:/run/tfd"], CONFIG, ["/run/tfd"]),
    (["health", "--target=[::1]:0"], CONFIG, ["[::1]:0"]),
    (["health", "--target=a:b:c"], CONFIG, ["--target", "a:b:c"]),
    (["health", "--target="], CONFIG, ["target"]),
    (["health", "--timeout=soon"], CONFIG, ["--timeout", "soon", "60s"]),
    (["health", "--wait=-1s"], CONFIG, ["--wait", "-1s"]),
    (["bench", "--steps=1000001"], CONFIG, ["--steps", "1000000"]),
    (["bench", "--steps=99999999999999999999"], CONFIG, ["--steps"]),
    (["health", "--json=perhaps"], CONFIG, ["--json", "perhaps"]),
    (["health", "--config=/no/such/file"], CONFIG, ["/no/such/file"]),
    (["reset"] + ["x"] * 20, USAGE, ["x"]),
]


@test()
def a_wrong_command_line_is_refused_by_name(_):
    wrong = []
    for arguments, code, words in REFUSED:
        try:
            bad(code, words, *arguments)
        except AssertionError as error:
            wrong.append(str(error))
    assert not wrong, "\n".join(wrong)


@test()
def help_tells_of_every_verb_and_option(_):
    text = good("--help")
    assert all(len(line) <= 80 for line in text.splitlines()), text
    listed = re.findall(r"^  ([a-z][a-z-]*)  ", text, re.M)
    assert sorted(listed) == sorted(VERBS), listed
    for verb in VERBS:
        text = good(verb, "--help")
        assert text.startswith("usage: tfdctl " + verb), text
        assert "--json" in text
        assert all(len(line) <= 80 for line in text.splitlines()), text
    assert "--wait=" in good("health", "--help")
    assert "--wait=" not in good("run", "--help")
    assert good("--version").startswith("tfdctl ")


@test()
def the_target_comes_from_flag_then_file_then_tf_config(_):
    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, "tool.json")
        with open(file, "w") as f:
            json.dump({"target": "localhost:2", "timeout": "5s"}, f)
        tf_config = json.dumps({
            "cluster": {"ps": ["localhost:4"], "worker": ["localhost:3"]},
            "task": {"type": "worker", "index": 0}})
        for port, arguments, environment in [
                (1, ["--target=localhost:1", "--config=" + file],
                 dict(TF_CONFIG=tf_config)),
                (2, ["--config", file], dict(TF_CONFIG=tf_config)),
                (3, [], dict(TF_CONFIG=tf_config)),
                (1, ["--target=grpc://localhost:1"], {})]:
            bad(UNREACHABLE, "localhost:%d: " % port, "health", *arguments,
                **environment)
        for text in "{", '{"cluster": 3}', '{"cluster": {"ps": ["a:b"]}}':
            bad(CONFIG, "TF_CONFIG", "health", TF_CONFIG=text)
        # Which is no matter of who looks at files.
        good("ops", "--json", TF_CONFIG="{")
        for text, words in [
                ("{", ["tool.json"]), ('{"tarket": "a:1"}', ["tarket"]),
                ('{"timeout": [1]}', ["timeout"]),
                ('{"timeout": "x"}', ["timeout", "x"]),
                ('{"config": "y"}', ["config"])]:
            with open(file, "w") as f:
                f.write(text)
            bad(CONFIG, words, "health", "--config=" + file)


@test()
def tables_fit_the_terminal_and_colour_is_only_there(_):
    plain = good("ops")
    assert "\x1b" not in plain
    longest = max(len(line) for line in plain.splitlines())
    assert longest > 100
    for columns in 60, 100:
        data, code = on_terminal("ops", columns=columns)
        assert code == DONE and b"\x1b[1m" in data
        lines = re.sub(r"\x1b\[\d*m", "", data.decode()).splitlines()
        assert len(lines) == len(plain.splitlines())
        assert max(map(len, lines)) <= columns, max(lines, key=len)
        assert any("~" in line for line in lines)
    data, _ = on_terminal("ops", columns=1000)
    assert b"~" not in data


@test()
def what_cannot_be_written_is_an_error(_):
    for arguments in ["ops"], ["ops", "--json"], ["--help"]:
        with open("/dev/full", "w") as full:
            done = subprocess.run([PROGRAM, *arguments], stdout=full,
                                  stderr=subprocess.PIPE, text=True)
        assert done.returncode == 71, done
        assert done.stderr.count("written") == 1, done
        reader, writer = os.pipe()
        os.close(reader)  # it has read enough
        done = subprocess.run([PROGRAM, *arguments], stdout=writer,
                              stderr=subprocess.PIPE, text=True)
        os.close(writer)
        assert done.returncode == DONE and not done.stderr, done


@test()
def ops_are_those_of_the_page_and_what_a_graph_lacks(server):
    rows = document("ops")["ops"]
    add = [r for r in rows if r["op"] == "AddV2" and r["device"] == "CPU"]
    assert len(add) == 1 and "float" in add[0]["types"], add
    assert len({r["op"] for r in rows}) > 900
    with tempfile.TemporaryDirectory() as folder, graph() as g:
        tf.raw_ops.PyFunc(input=[tf.constant(1)], token="t", Tout=[tf.int64],
                          name="call")
        lacking = os.path.join(folder, "lacking.pb")
        tf.io.write_graph(g, folder, "lacking.pb", as_text=False)
        code, said, _ = call("ops", "--missing=" + lacking)
        assert code == 1 and said.startswith("op PyFunc: 1 node"), said
        found = document("ops", "--missing", lacking, code=1)
        assert found["missing"] == ["op PyFunc: 1 node (first: call)"], found
        assert "found 1 thing" in found["summary"], found
        with graph() as whole:
            tf.constant(1) + 2
            tf.io.write_graph(whole, folder, "whole.pbtxt")
        found = document("ops", "--missing=%s/whole.pbtxt" % folder)
        assert found["missing"] == [], found
        with open(lacking, "wb") as f:
            f.write(b"\x00\x01\x02")
        bad(2, [lacking], "ops", "--missing=" + lacking)
        bad(2, ["No such file"], "ops", "--missing=%s/none" % folder)
        bad(2, ["directory"], "ops", "--missing=" + folder)
