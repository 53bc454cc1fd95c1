"""Starts that must fail, each with one clear line and its exit code."""
import os
import signal
import socket
import subprocess
import tempfile

from tests.cluster.client import expect, graph, run, tf
from tests.cluster.cluster import Cluster, Task, listening, wait_until
from tests.cluster.ports import free_ports
from tests.cluster.suite import test

TFD = dict(limit=60, tfd_only=True)
USAGE, CONFIG = 64, 78


def start(server, *flags, tf_config=None, seconds=10):
    """(exit code, output) of a start that ends by itself."""
    environment = dict(os.environ)
    environment.pop("TF_CONFIG", None)
    if tf_config is not None:
        environment["TF_CONFIG"] = tf_config
    done = subprocess.run(
        server.command + list(flags), env=environment, text=True,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, timeout=seconds * server.slow)
    return done.returncode, done.stdout


# flags, TF_CONFIG, exit code, what the output names
REFUSED = [
    (["--no_such_flag=1"], None, USAGE, ["no_such_flag"]),
    (["stray"], None, USAGE, ["stray"]),
    (["--port=70000"], None, CONFIG, ["port", "70000"]),
    (["--device_count=CPU"], None, CONFIG, ["device_count", "CPU"]),
    ([], "{", CONFIG, ["TF_CONFIG"]),
    ([], '{"cluster": {"ps": ["127.0.0.1:2222"]}, '
         '"task": {"type": "ps", "index": 3}}', CONFIG, ["TF_CONFIG", "3"]),
    ([], '{"cluster": {"ps": ["127.0.0.1:2222"]}, '
         '"task": {"type": "worker", "index": 0}}', CONFIG, ["worker"]),
    ([], '{"cluster": {"ps": ["127.0.0.1:nope"]}, '
         '"task": {"type": "ps", "index": 0}}', CONFIG, ["nope"]),
    (["--job_name=worker"],
     '{"cluster": {"ps": ["127.0.0.1:2222"]}, '
     '"task": {"type": "ps", "index": 0}}', CONFIG, ["worker"]),
]


@test(**TFD)
def a_wrong_configuration_is_refused_by_name(server):
    wrong = []
    for flags, tf_config, code, words in REFUSED:
        got, text = start(server, *flags, tf_config=tf_config)
        if got != code or [word for word in words if word not in text]:
            wrong.append("%s %s: %d, not %d: %s" % (flags, tf_config, got,
                                                    code, text))
    assert not wrong, "\n".join(wrong)


@test(**TFD)
def questions_are_answered_without_a_server(server):
    code, text = start(server, "--help")
    assert code == 0 and "--ps_hosts" in text and "--port" in text
    assert max(map(len, text.splitlines())) <= 80
    good = ('{"cluster": {"ps": ["127.0.0.1:2222"]}, '
            '"task": {"type": "ps", "index": 0}}')
    code, text = start(server, "--check_config", tf_config=good)
    assert code == 0, text
    code, text = start(server, "--print_config", tf_config=good)
    assert code == 0 and "TF_CONFIG" in text and "2222" in text, text


@test(**TFD)
def a_taken_port_is_named(server):
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        holder.listen()
        port = holder.getsockname()[1]
        config = ('{"cluster": {"worker": ["127.0.0.1:%d"]}, '
                  '"task": {"type": "worker", "index": 0}}' % port)
        code, text = start(server, tf_config=config)
    assert 64 < code < 128, code
    assert str(port) in text and "in use" in text, text


@test(**TFD)
def a_port_is_free_again_after_kill_9(server):
    with Cluster(server, worker=1) as cluster:
        for _ in range(5):
            with graph():
                assert run(cluster.target(), tf.constant(1)) == 1
            cluster["worker", 0].kill()
            cluster.start("worker", 0)


@test(**TFD)
def a_foreign_address_is_not_served_silently(server):
    config = ('{"cluster": {"worker": ["192.0.2.1:12345"]}, '
              '"task": {"type": "worker", "index": 0}}')
    code, text = start(server, tf_config=config)
    assert code == CONFIG, code
    assert "192.0.2.1" in text and "--bind" in text, text


NAMELESS = ['{"cluster": {"worker": ["nowhere.invalid:12345"]}, '
            '"task": {"type": "worker", "index": 0}}']


@test(**TFD)
def a_name_that_does_not_resolve_is_waited_for(server):
    """138: whoever started us should do it again."""
    code, text = start(server, "--peer_wait=1s", tf_config=NAMELESS[0])
    assert code == 138, (code, text)
    assert text.count("name_unknown") == 1, text
    assert "nowhere.invalid" in text and "--bind" in text, text
    code, text = start(server, "--peer_wait=300ms", "--bind=nowhere.invalid",
                       "--log_format=json")
    assert code == 138 and '"event":"start_failed"' in text, (code, text)


@test(**TFD)
def waiting_for_a_name_ends_with_sigterm(server):
    environment = dict(os.environ, TF_CONFIG=NAMELESS[0])
    for number in (signal.SIGTERM, signal.SIGINT):
        with tempfile.TemporaryDirectory() as folder:
            task = Task(server, "worker", 0, folder + "/log")
            with open(task.log_path, "wb") as log:
                task.process = subprocess.Popen(
                    server.command + ["--peer_wait=0"], env=environment,
                    stdout=log, stderr=log)
            try:
                wait_until(lambda: "name_unknown" in task.log_text(), 30,
                           "the first question's answer")
                task.signal(number)
                assert task.exit_code(5) == 0
                assert "stopping" in task.log_text(), task.log_text()
            finally:
                task.kill()


@test(**TFD)
def what_is_not_used_is_told(server):
    config = NAMELESS[0][:-1] + ', "colour": "red"}'
    code, text = start(server, "--peer_wait=100ms", tf_config=config)
    assert code == 138 and "config_note" in text and "colour" in text, text
    code, text = start(server, "--check_config", tf_config=config)
    assert code == 0 and "note: " in text and "colour" in text, text


@test(**TFD)
def a_port_file_that_cannot_be_written_is_an_error(server):
    for path in ("/no/such/folder/port", "/", "/dev/full"):
        code, text = start(server, "--port=0", "--port_file=" + path)
        assert code == 71 and "port_file" in text and path in text, (code, text)


@test(**TFD)
def any_free_port_is_written_to_a_file(server):
    with tempfile.TemporaryDirectory() as folder:
        path = folder + "/port"
        task = Task(server, "local", 0, folder + "/log")
        environment = dict(os.environ)
        environment.pop("TF_CONFIG", None)
        with open(task.log_path, "wb") as log:
            task.process = subprocess.Popen(
                server.command + ["--port=0", "--port_file=" + path],
                env=environment, stdout=log, stderr=log)
        wait_until(lambda: os.path.exists(path) and open(path).read().strip(),
                   10, "the port file")
        port = int(open(path).read())
        assert listening(port)
        with graph():
            assert run("grpc://127.0.0.1:%d" % port, tf.constant(1)) == 1
        task.signal(signal.SIGTERM)
        assert task.exit_code() == 0


@test(**TFD)
def flags_alone_describe_a_cluster(server):
    ports = free_ports(2)
    flags = ["--ps_hosts=127.0.0.1:%d" % ports[0], "--worker_hosts",
             "127.0.0.1:%d" % ports[1]]
    with tempfile.TemporaryDirectory() as folder:
        tasks = []
        environment = dict(os.environ)
        environment.pop("TF_CONFIG", None)
        for job, port in zip(("ps", "worker"), ports):
            task = Task(server, job, port, "%s/%s" % (folder, job))
            with open(task.log_path, "wb") as log:
                task.process = subprocess.Popen(
                    server.command + flags + ["--job_name=" + job],
                    env=environment, stdout=log, stderr=log)
            tasks.append(task)
        for task in tasks:
            task.wait_ready()
        with graph(), tf.device("/job:ps/task:0"):
            assert run(tasks[1].target, tf.constant(1) + 1) == 2
        for task in tasks:
            task.signal(signal.SIGTERM)
            assert task.exit_code() == 0, task.log_tail()


def read_file(target, path):
    with graph():
        return run(target, tf.raw_ops.ReadFile(filename=path))


@test(**TFD)
def files_outside_the_roots_do_not_exist(server):
    with tempfile.TemporaryDirectory() as root:
        inside, link = root + "/inside", root + "/link"
        with open(inside, "wb") as file:
            file.write(b"contents")
        os.symlink("/etc/hostname", link)
        with Cluster(server, ["--file_root=" + root], worker=1) as cluster:
            assert read_file(cluster.target(), inside) == b"contents"
            for path in ("/etc/hostname", root + "/../../etc/hostname", link,
                         "/proc/self/environ", root + "x"):
                with expect((tf.errors.PermissionDeniedError,
                             tf.errors.NotFoundError)):
                    read_file(cluster.target(), path)


@test(**TFD)
def a_server_others_can_reach_reads_no_files(server):
    """Unless told where: the error names the flag."""
    with Cluster(server, ["--bind=any"], worker=1) as cluster:
        with expect(tf.errors.PermissionDeniedError, "--file_root"):
            read_file(cluster.target(), "/etc/hostname")
        with graph():
            save = tf.raw_ops.SaveV2(
                prefix="/tmp/never_written", tensor_names=["a"],
                shape_and_slices=[""], tensors=[tf.constant(1.0)])
            with expect(tf.errors.PermissionDeniedError, "--file_root"):
                run(cluster.target(), save)
