"""Checkpoints of `tfd --train`: whose disk they are on, and what becomes of a
training whose disk is full or whose checkpoints are damaged."""
import contextlib
import os
import pathlib
import re
import shutil
import signal
import subprocess
import threading
import time

from tests.cluster.client import kept_session, tf
from tests.cluster.cluster import Cluster, Server, wait_until
from tests.cluster.suite import Skip, test
from tests.cluster.training.test_train import Training
from tests.cluster.watch import metric

# Mounts "$1" with the options "$2" over the folder "$3", for this process.
MOUNT = 'mount -t "$1" -o "$2" none "$3" && shift 3 && exec "$@"'


def own_mounts():
    """A command that starts another one in a mount namespace of its own."""
    for command in (["unshare", "-m"], ["unshare", "-rm"]):
        if shutil.which("unshare") and subprocess.run(
                command + ["mount", "-t", "tmpfs", "none", "/mnt"],
                stderr=subprocess.DEVNULL).returncode == 0:
            return command
    raise Skip("mount namespaces are not permitted")


def on_disk(server, folder, options):
    """The server with a tmpfs of its own in the place of the folder."""
    return Server(own_mounts() + ["sh", "-c", MOUNT, "sh", "tmpfs", options,
                                  folder] + server.command,
                  True, server.slow)


def hide_checkpoints(training):
    """Every task but the chief finds an empty folder there, and can write
    nothing into it."""
    os.mkdir(training.checkpoints)
    for (job, _), task in training.cluster.tasks.items():
        if job != "chief":
            task.server = on_disk(task.server, training.checkpoints, "ro")


def files_of(prefix):
    """The bytes of a checkpoint's files, by the ends of their names."""
    folder, name = os.path.split(prefix)
    return {file[len(name):]: pathlib.Path(folder, file).read_bytes()
            for file in os.listdir(folder)
            if file.startswith(name + ".") and not file.endswith(".meta")}


def saved_by_tensorflow(model, prefix, folder):
    """What TensorFlow itself writes of the values of a checkpoint."""
    with tf.Graph().as_default(), tf.Session() as session:
        saver = tf.train.import_meta_graph(model, clear_devices=True)
        saver.restore(session, prefix)
        return files_of(saver.save(session, folder + "/theirs",
                                   write_meta_graph=False))


@test(limit=120, tfd_only=True)
def the_chief_saves_where_the_chief_is(server):
    """And restores a ps that has come back empty from there; whatever devices
    the model names, and in one file or several."""
    for sharded in (False, True):
        device = tf.train.replica_device_setter(2, worker_device="")
        training = Training(server, 4000, ["--save_steps=500"], sharded=sharded,
                            device=device, ps=2, chief=1, worker=1)
        with training.cluster as cluster:
            hide_checkpoints(training)
            training.start_all()
            wait_until(lambda: (training.saved() or 0) > 0, 40, "a checkpoint")
            cluster["ps", 0].kill()
            training.start("ps")
            training.expect_exit(60)
            training.check_learnt(4000)
            assert "restored " + training.checkpoints in cluster[
                "chief", 0].log_text()
            prefix = tf.train.latest_checkpoint(training.checkpoints)
            ours = files_of(prefix)
            assert len(ours) == (3 if sharded else 2), ours.keys()
            assert ours == saved_by_tensorflow(training.model, prefix,
                                               cluster.folder.name)


@test(limit=90, tfd_only=True)
def a_ps_that_is_stopped_loses_nothing(server):
    """Its chief saves before it goes; the next one goes on from there."""
    training = Training(server, 0, ["--save_secs=1h"], ps=2, chief=1, worker=1)
    with training.cluster as cluster:
        training.start_all()
        chief, ps = cluster["chief", 0], cluster["ps", 0]
        wait_until(lambda: steps_of(chief) > 200, 30, "steps")
        assert training.saved() == 0, "it was not to save by itself"
        known = steps_of(chief)
        ps.signal(signal.SIGTERM)
        assert ps.exit_code(10) == 0, ps.log_tail()
        saved = training.saved()
        assert saved >= known, (saved, known)
        training.start("ps")
        wait_until(lambda: "restored" in chief.log_text(), 30, "the restart")
        assert "restored %s/model.ckpt-%d\n" % (
            training.checkpoints, saved) in chief.log_text()
        wait_until(lambda: steps_of(chief) > saved, 30, "more steps")
        for job, index in (("chief", 0), ("worker", 0)):
            cluster[job, index].signal(signal.SIGTERM)
        training.expect_exit(20)
        assert training.saved() > saved


class SaveUnderWay:
    """A step in a thread of a client that knows nothing of tfd: the part on
    ps 1, the read of a variable, ends at once; the save, on a task of its own,
    comes when some seconds' turns of a loop have passed."""

    def __init__(self, cluster, place, master):
        tf.disable_control_flow_v2()
        self.prefix = cluster.folder.name + "/by_hand"
        self.error = None
        with tf.Graph().as_default() as g:
            with tf.device("/job:ps/task:1"):
                v = tf.Variable(tf.ones([1000]), use_resource=True)
                value = v.read_value()
            with tf.device(place):
                begun = tf.Variable(0.0, use_resource=True)
                turns = tf.placeholder(tf.int32, [])

                def body(i):
                    with tf.control_dependencies([begun.assign(1.0)]):
                        return i + 1

                loop = tf.while_loop(lambda i: i < turns, body, [0])
                with tf.control_dependencies([loop]):
                    save = tf.raw_ops.SaveV2(
                        prefix=self.prefix, tensor_names=["v"],
                        shape_and_slices=[""], tensors=[value])
                read, reset = begun.read_value(), begun.assign(0.0)
            init = [v.initializer, begun.initializer]
        self.session = kept_session(master, graph=g)
        self.session.run(init)
        for _ in range(2):  # the first one builds
            since = time.monotonic()
            self.session.run(save, {turns: 20000})
            took = time.monotonic() - since
        os.remove(self.prefix + ".index")
        self.session.run(reset)
        self.thread = threading.Thread(target=self.work, daemon=True, args=(
            save, {turns: int(20000 * 2 / took)}))
        self.thread.start()
        wait_until(lambda: self.session.run(read) == 1.0, 20, "the save")

    def work(self, save, feeds):
        try:
            self.session.run(save, feeds)
        except tf.errors.OpError as error:
            self.error = error


@test(limit=120, tfd_only=True)
def a_save_under_way_ends_before_a_ps_stops(server):
    """Of a client that cannot be told, wherever it is written and whoever is
    its master; also where the ps has done its part of it."""
    for place, master in (("/job:ps/task:0", ("worker", 0)),
                          ("/job:ps/task:0", ("ps", 0)),
                          ("/job:ps/task:1", ("worker", 0)),
                          ("/job:worker", ("worker", 0)),
                          ("/job:worker", ("ps", 0)),
                          ("/job:worker", ("ps", 1))):
        with Cluster(server, ps=2, worker=1) as cluster:
            save = SaveUnderWay(cluster, place, cluster.target(*master))
            cluster["ps", 1].signal(signal.SIGTERM)
            save.thread.join(30)
            assert save.error is None, (place, master, save.error)
            assert cluster["ps", 1].exit_code(5) == 0
            values = tf.train.load_checkpoint(save.prefix)
            assert values.get_tensor("v").sum() == 1000


def steps_of(task):
    """The step of its last line."""
    return int((["0"] + re.findall(r" step (\d+)  ", task.log_text()))[-1])


def damage(path, kind):
    data = bytearray(pathlib.Path(path).read_bytes())
    if kind == "cut":
        data = data[:len(data) // 2]
    else:
        data[len(data) // 2] ^= 0x10
    pathlib.Path(path).write_bytes(data)


@test(limit=90, tfd_only=True)
def a_damaged_checkpoint_is_named_with_the_last_good_one(server):
    training = Training(server, 300, ["--save_steps=100"], worker=1)
    with training.cluster as cluster:
        training.start_all()
        training.expect_exit()
        task, folder = cluster["worker", 0], training.checkpoints + "/"
        last = [p for p in pathlib.Path(folder).glob("model.ckpt-300.*")
                if p.suffix != ".meta"]
        assert len(last) == 2, last
        whole = {path: path.read_bytes() for path in last}
        for path in last:
            for kind in ("cut", "flip", "gone"):
                path.unlink() if kind == "gone" else damage(path, kind)
                refused(training, task, path.name, folder + "model.ckpt-200")
                path.write_bytes(whole[path])
        damage(folder + "model.ckpt-200.index", "cut")
        damage(folder + "model.ckpt-300.index", "cut")
        refused(training, task, "model.ckpt-300.index",
                folder + "model.ckpt-100")
        takes_the_last_good(training, task, folder)


def refused(training, task, damaged, good):
    os.remove(task.log_path)
    training.start("worker", wait=False)
    training.expect_exit(30, 70)
    line = re.findall(".*training_failed.*", task.log_text())[0]
    assert damaged in line and good in line, line
    assert "--restore=last-good" in line, line


def takes_the_last_good(training, task, folder):
    os.remove(task.log_path)
    training.flags += ["--restore=last-good", "--max_steps=400"]
    training.start("worker", wait=False)
    training.expect_exit(30)
    log = task.log_text()
    line = re.findall(".* WARN checkpoint_damaged .*", log)[0]
    assert folder + "model.ckpt-300.index" in line, line
    assert folder + "model.ckpt-100" in line, line
    assert "restored %smodel.ckpt-100\n" % folder in log, log
    assert training.saved() == 400, log


@test(limit=120, tfd_only=True)
def a_damaged_list_of_checkpoints_is_not_believed(server):
    """--restore=last-good looks at the files of the folder then."""
    training = Training(server, 300, ["--save_steps=100"], worker=1)
    with training.cluster as cluster:
        training.start_all()
        training.expect_exit()
        task, folder = cluster["worker", 0], training.checkpoints + "/"
        for stray in ("model.ckpt-9999", "model.ckpt-9999.index", "x-5.meta"):
            pathlib.Path(folder, stray).write_text("stray")
        for index, (text, said) in enumerate((
                ("", "names no checkpoint"),
                ("model_checkpoint_path: \"model.ck", "line 1"),
                ("\0\xff{}", "line 1"),
                ('model_checkpoint_path: "model.ckpt-77"', "ckpt-77.index"),
                ('model_checkpoint_path: "../model.ckpt-300"', "ckpt-300"),
                ('model_checkpoint_path: "/elsewhere/model.ckpt-300"\n'
                 'all_model_checkpoint_paths: "/elsewhere/model.ckpt-200"\n',
                 "/elsewhere/model.ckpt-300"))):
            pathlib.Path(folder, "checkpoint").write_text(text, "latin1")
            saved = 300 + 10 * index
            os.remove(task.log_path)
            training.flags = training.flags[:4] + [
                "--restore=last-good", "--max_steps=%d" % (saved + 10)]
            training.start("worker", wait=False)
            training.expect_exit(30)
            log = task.log_text()
            line = re.findall(".* WARN checkpoint_damaged .*", log)[0]
            assert said in line, line
            assert "%smodel.ckpt-%d instead" % (folder, saved) in line, line
            assert "restored %smodel.ckpt-%d\n" % (folder, saved) in log, log
            assert training.saved() == saved + 10, log
        nothing_is_whole(training, task, folder)


def nothing_is_whole(training, task, folder):
    """That is an error; but who removes the list begins anew."""
    for index in pathlib.Path(folder).glob("*.index"):
        damage(index, "cut")
    for text in ("", "?", 'model_checkpoint_path: "model.ckpt-77"'):
        pathlib.Path(folder, "checkpoint").write_text(text)
        os.remove(task.log_path)
        training.start("worker", wait=False)
        training.expect_exit(30, 70)
        assert "is whole" in task.log_text(), task.log_text()
    os.remove(folder + "checkpoint")
    training.start("worker", wait=False)
    training.expect_exit(30)
    assert "saved step 0" in task.log_text(), task.log_text()


def failures(task):
    """The log's lines of saves that failed."""
    return re.findall(".* WARN save_failed .*", task.log_text())


def save_counts(task):
    """(tries, failures) of its /metrics; 0, 0 where it does not tell."""
    return tuple(metric(task, "tfd_checkpoint_%s_total" % name)
                 for name in ("saves", "save_failures"))


def fill_up(path):
    """What is left of its disk."""
    with contextlib.suppress(OSError), open(path, "ab", buffering=0) as file:
        while file.write(bytes(4096)):
            pass


@test(limit=90, tfd_only=True)
def training_goes_on_when_the_disk_is_full(server):
    """The save is tried again, and the last one, too; no half of a checkpoint
    is left."""
    training = Training(server, 0, ["--save_steps=100"], sharded=True, worker=1)
    with training.cluster as cluster:
        task = cluster["worker", 0]
        # The folder is a mount of the task; we look through its /proc.
        os.mkdir(training.checkpoints)
        task.server = on_disk(task.server, training.checkpoints, "size=256k")
        training.start("worker")
        folder = pathlib.Path("/proc/%d/root%s" % (
            task.process.pid, training.checkpoints))
        wait_until(lambda: steps_of(task) > 100, 30, "steps")
        tries, failed = save_counts(task)
        assert tries > 0 and failed == 0, (tries, failed)
        fill = folder / "fill"
        # Again and again: a checkpoint that goes in time makes room for one.
        wait_until(lambda: fill_up(fill) or failures(task), 30,
                   "a save that fails")
        assert "No space left on device" in failures(task)[0], failures(task)
        assert training.checkpoints + "/model.ckpt-" in failures(task)[0]
        wait_until(lambda: save_counts(task)[1] >= 1, 5, "a failure counted")
        step = steps_of(task)
        wait_until(lambda: steps_of(task) > step + 100, 30, "more steps")
        wait_until(lambda: not any("temp" in name for name
                                   in os.listdir(folder)), 5, "clean folder")
        count = task.log_text().count("saved step")
        fill.unlink()
        wait_until(lambda: task.log_text().count("saved step") > count, 60,
                   "a save")
        text = task.log_text()
        tries, failed = save_counts(task)
        assert failed >= text.count("save_failed"), (failed, text)
        assert tries >= text.count("saved step") + failed, (tries, text)
        task.signal(signal.SIGTERM)
        training.expect_exit(20)


@test(limit=90, tfd_only=True)
def a_last_save_that_fails_is_exit_70(server):
    # Long enough to be at work when the folder goes.
    training = Training(server, 30000, ["--save_secs=1h"], worker=1)
    with training.cluster as cluster:
        task = cluster["worker", 0]
        os.mkdir(training.checkpoints)
        training.start("worker")
        wait_until(lambda: "saved step 0" in task.log_text(), 30, "a save")
        shutil.rmtree(training.checkpoints)
        pathlib.Path(training.checkpoints).write_text("no folder")
        training.expect_exit(60, 70)
        assert len(failures(task)) == 4, failures(task)
        assert "training_failed" in task.log_text(), task.log_tail()
        assert "The last save" in task.log_text(), task.log_tail()
