"""Checkpoints of `tfd --train`: whose disk they are on, and what becomes of a
training whose disk is full or whose checkpoints are damaged."""
import os
import pathlib
import re
import shutil
import signal
import subprocess

from tests.cluster.client import tf
from tests.cluster.cluster import Server, wait_until
from tests.cluster.suite import Skip, test
from tests.cluster.test_train import Training

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


def steps_of(task):
    """The step of its last line."""
    return int((["0"] + re.findall(r" step (\d+)  ", task.log_text()))[-1])
