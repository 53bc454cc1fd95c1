"""Every task lost at every moment, in every way, and back in every way.

The table has 108 rows for each of two trainers: monitored sessions of Python
and `tfd --train`.  Some run always, all of them with --all:

  python -m tests.cluster.run --only recovery --all

The moments are found by a gate (recovery/gate.py) that all traffic between
tasks goes through: it stops everything at a frame of the protocol, the task is
killed or stopped, and the gate opens again.
"""
import os
import re
import signal
import time

from tests.cluster.client import expect, graph, kept_session, run, tf
from tests.cluster.cluster import PAUSE, Cluster, wait_until
from tests.cluster.ports import free_ports
from tests.cluster.recovery.gate import Gate, Moment
from tests.cluster.recovery.trainer import (PythonTrainer, check_checkpoint,
                                            write_model)
from tests.cluster.suite import test

VICTIMS = {"ps": ("ps", 1), "worker": ("worker", 0), "chief": ("chief", 0)}
FAULTS = {"kill": signal.SIGKILL, "stop": signal.SIGSTOP}
BACKS = ("now", "later", "never")
STOP_SECONDS, LATER_SECONDS = 30, 10
NOTICE_SECONDS = 15  # from the fault to the error of those who need the task
TRAIN_SECONDS = 10  # all steps, of a trainer that waits for nobody
RETURN_SECONDS = NOTICE_SECONDS + TRAIN_SECONDS  # to the end of the training
PEER_WAIT = 5  # of sessions whose tasks never come back
WARM, UNTIL = 20, 80  # steps before the fault, and in all
# When every trainer that has a session has a step that needs all ps tasks.
IN_STEPS = ("step", "transfer", "save")
VECTOR = 1 << 20  # bytes of a frame with the vector that is trained, at least
JOBS = {"ps": 2, "chief": 1, "worker": 1}


def moment_of(name, victim, folder):
    """Frames of the victim, or of the chief where a ps is the victim.

    Training steps, not the preparations: of a worker those push the vector; the
    chief's begin with pushes of what it restores, but it saves.  A worker may
    have made all its steps before the chief's first save."""
    caller = "worker0" if victim == "worker" else "chief0"
    trained = {"behind": VECTOR} if victim == "worker" else {
        "exists": (folder + "/model.ckpt-[3-9]*.index",)}
    return {
        "create": Moment("ps1", caller, "CreateWorkerSession", "before"),
        "register": Moment("ps1", caller, "RegisterGraph", "after"),
        "step": Moment("ps1", caller, "RunGraph", "after", **trained),
        "transfer": Moment("ps1", caller, "PushTensors", "half", VECTOR,
                           **trained),
        # The other ps has written its shard and says so to the one that
        # merges: data and no index.  Not the last save: the worker has made
        # its last step by then, needs no task any more and ends in silence.
        "save": Moment("ps1", "ps0", "PushTensors", "before",
                       exists=(folder + "/*-[2-6]?_temp/part-00000-of-*",)),
        # The first step of a chief's session.
        "restore": Moment("ps1", "chief0", "RunGraph", "after"),
    }[name]


class Gated(Cluster):
    """A cluster whose tasks reach each other through the gate only."""

    def __init__(self, server, flags):
        super().__init__(server, flags, start=False, **JOBS)
        ports = free_ports(len(self.tasks))
        self.gates = {key: "127.0.0.1:%d" % port
                      for key, port in zip(self.tasks, ports)}
        self.gate = Gate({"%s%d" % key: (port, self[key].port)
                          for key, port in zip(self.tasks, ports)})

    def config(self, job, index):
        spec = {j: [self[j, i].address if (j, i) == (job, index)
                    else self.gates[j, i] for i in range(count)]
                for j, count in JOBS.items()}
        return {"cluster": spec, "task": {"type": job, "index": index}}

    def close(self):
        self.gate.release()
        super().close()
        self.gate.close()


def has_session(log):
    """Whether this master has one open, by what it says."""
    opened, closed = (set(re.findall(r" session_%s session=(\w+)" % event, log))
                      for event in ("open", "closed"))
    return bool(opened - closed)


class Python:
    """Monitored sessions, each connected to its own task."""

    name = "python"

    def __init__(self, cluster, folder):
        self.cluster, self.folder, self.trainers = cluster, folder, {}
        cluster.start_all()

    def start(self, until):
        for job in ("chief", "worker"):
            if self.dead(job):
                continue
            self.trainers[job] = PythonTrainer(
                "%s/%s.trainer" % (self.cluster.folder.name, job),
                self.cluster[job, 0].target, job, 0, self.folder, until)

    def dead(self, job):
        return not self.cluster[job, 0].alive()

    def back(self, job):
        self.cluster.start(job, VICTIMS[job][1])

    def result(self, job):
        return self.trainers[job].poll()

    def logs(self, job):
        """Of the trainer and of its master: a client waits in silence while
        its master waits for a task, and names it."""
        return [self.trainers[job].log_text(),
                self.cluster[job, 0].log_text()]

    def errors(self, job, moment, marks):
        """Where a step was cut off, its client itself must hear why; one whose
        master had no session for it at the marks is about to create one, which
        waits for all tasks, and only the master names the one that is gone."""
        logs = self.logs(job)
        in_step = moment in IN_STEPS and has_session(logs[1][:marks[1]])
        return logs[:1 if in_step else 2]

    restored = r"Restoring parameters from \S*model\.ckpt-(\d+)"

    def kill(self, job):
        """Its client would wait for ever for a master that is dead."""
        self.trainers[job].kill()

    failed = (1,)


class Train:
    """`tfd --train`: the tasks train themselves."""

    name = "train"

    def __init__(self, cluster, folder):
        self.cluster, self.folder = cluster, folder
        self.model = cluster.folder.name + "/model.meta"
        write_model(self.model)
        for index in (0, 1):
            cluster.start("ps", index)

    def start(self, until):
        self.until = until
        for job in ("chief", "worker"):
            self.back(job)

    def back(self, job):
        flags = [] if job == "ps" else [
            "--train=" + self.model, "--checkpoint_dir=" + self.folder,
            "--save_steps=10", "--max_steps=%d" % self.until]
        self.cluster.start(job, VICTIMS[job][1], job == "ps", flags)

    def result(self, job):
        return self.cluster[job, 0].process.poll()

    def logs(self, job):
        return [self.cluster[job, 0].log_text()]

    def errors(self, job, moment, marks):
        return self.logs(job)

    restored = r"restored \S*-(\d+)"

    def kill(self, job):
        self.cluster[job, 0].kill()

    failed = (138, 70)


def finished(trainers, jobs, codes, seconds, what):
    """All of these trainers end with one of the codes."""
    def ended():
        return all(trainers.result(job) is not None for job in jobs)

    try:
        wait_until(ended, seconds, what)
    except TimeoutError:
        raise AssertionError("%s: %s not within %g s\n%s" % (
            what, [j for j in jobs if trainers.result(j) is None], seconds,
            show(trainers, jobs))) from None
    for job in jobs:
        assert trainers.result(job) in codes, "%s ended with %s\n%s" % (
            job, trainers.result(job), show(trainers, jobs))


def show(trainers, jobs):
    return "\n".join("--- %s\n%s" % (job, text[-3000:])
                     for job in jobs for text in trainers.logs(job))


def names_the_dead(texts, victim, marks=(0, 0)):
    """An error, behind the marks, that names the task and says why."""
    task = "/job:%s/replica:0/task:%d" % VICTIMS[victim]
    reasons = ("Socket closed", "no sign of life", "refused", "silent",
               "restarted", "shutting down", "reset", "incarnation")
    for text, mark in zip(texts, marks):
        lines = text[mark:].splitlines()
        for line, following in zip(lines, lines[1:] + [""]):
            both = line + following
            if task in both and any(r in both for r in reasons):
                return True
    return False


def needs_nobody(trainers, job):
    """A worker may have made all steps before the chief makes its first one, or
    its first save: it has ended well, and has nothing to say of a ps that is
    lost then."""
    return job == "worker" and trainers.result(job) == 0


def wait_for_error(trainers, jobs, victim, moment, marks):
    """Each says within the limit which task it has lost."""
    def told():
        return all(needs_nobody(trainers, job) or names_the_dead(
            trainers.errors(job, moment, marks[job]), victim, marks[job])
                   for job in jobs)

    try:
        wait_until(told, NOTICE_SECONDS, "the error")
    except TimeoutError:
        raise AssertionError("no error names %s\n%s" % (
            victim, show(trainers, jobs))) from None


def row(server, kind, victim, name, fault, back):
    never = back == "never"
    flags = ["--peer_wait=%ds" % (PEER_WAIT if never else 60),
             "--threads=2", "--log_level=debug"]
    with Gated(server, flags) as cluster:
        folder = cluster.folder.name + "/checkpoints"
        os.mkdir(folder)
        trainers = kind(cluster, folder)
        trainers.start(WARM)
        finished(trainers, ("chief", "worker"), (0,), 60, "the first steps")
        moment = moment_of(name, victim, folder)
        cluster.gate.arm(moment)
        trainers.start(UNTIL)
        cluster.gate.wait_caught(60)
        task, since = cluster[VICTIMS[victim]], time.monotonic()
        marks = {job: [len(text) for text in trainers.logs(job)]
                 for job in ("chief", "worker")}
        if fault == "kill":
            task.kill()
        else:
            task.signal(signal.SIGSTOP)
        saved = last_checkpoint(folder)
        cluster.gate.release()
        end_of_row(trainers, cluster, victim, name, fault, back, marks, since)
        if (victim, fault) == ("ps", "kill") and back != "never":
            # A client that creates a session has said already what it restores.
            check_restored(trainers, [0, 0] if name == "create" else
                           marks["chief"], saved)
        if fault == "stop":
            task.signal(signal.SIGCONT)
            if never:
                task.kill()
        if not (never and victim == "ps"):
            check_checkpoint(folder, UNTIL if not never else WARM)


def last_checkpoint(folder):
    """The step of the latest one that is whole.  A chief that trains on may
    remove one between the reading of its name and the look at its files."""
    latest = None
    while latest is None:
        latest = tf.train.latest_checkpoint(folder)
    return int(latest.rpartition("-")[2])


def check_restored(trainers, marks, saved):
    """What the dead task had in memory came from the last checkpoint."""
    text = "".join(log[mark:]
                   for log, mark in zip(trainers.logs("chief"), marks))
    steps = [int(step) for step in re.findall(trainers.restored, text)]
    assert steps and max(steps) >= saved, (steps, saved, text[-3000:])


def end_of_row(trainers, cluster, victim, moment, fault, back, marks, since):
    others = [j for j in ("chief", "worker") if j != victim]
    # Of a master that is gone only its client hears, and not from us.
    if victim == "ps" and (fault == "stop" or back != "now"):
        wait_for_error(trainers,
                       others if moment in IN_STEPS else ("chief",), victim,
                       moment, marks)
    # The client of a stopped master waits for it; the others need not: what it
    # left on them is given up, and they train on while it says nothing.
    if victim != "ps" and fault == "stop":
        finished(trainers, others, (0,), NOTICE_SECONDS + TRAIN_SECONDS,
                 "the others' training beside a stopped task")
    if back == "never":
        if victim == "ps":
            others = [j for j in others if not needs_nobody(trainers, j)]
            finished(trainers, others, trainers.failed,
                     NOTICE_SECONDS + PEER_WAIT + 10, "the error")
            for job in others:
                assert names_the_dead(trainers.logs(job), victim), show(
                    trainers, [job])
        else:
            finished(trainers, others, (0,), RETURN_SECONDS, "the others")
            trainers.kill(victim)
        return
    pause = (STOP_SECONDS if fault == "stop" else 0) + (
        LATER_SECONDS if back == "later" else 0)
    PAUSE.wait(max(0.0, since + pause - time.monotonic()))
    if fault == "stop":
        cluster[VICTIMS[victim]].signal(signal.SIGCONT)
    else:
        trainers.back(victim)
    finished(trainers, ("chief", "worker"), (0,), RETURN_SECONDS,
             "the training")


# Those that always run: each victim, moment, fault and return at least once.
ALWAYS = {
    "python_ps_step_kill_now", "python_ps_transfer_kill_later",
    "python_ps_restore_kill_now", "python_chief_save_kill_now",
    "python_worker_register_kill_now", "python_chief_create_kill_never",
    "python_ps_step_stop_never", "python_worker_step_stop_now",
    "train_ps_step_kill_now", "train_ps_save_kill_now",
    "train_ps_register_kill_never", "train_chief_restore_kill_now",
    "train_worker_transfer_kill_never", "train_ps_transfer_stop_now",
}


def register():
    for kind in (Python, Train):
        for victim in VICTIMS:
            for name in ("create", "register", "step", "transfer", "save",
                         "restore"):
                for fault in FAULTS:
                    for back in BACKS:
                        add(kind, victim, name, fault, back)


def add(kind, victim, name, fault, back):
    def function(server):
        row(server, kind, victim, name, fault, back)

    function.__name__ = "_".join((kind.name, victim, name, fault, back))
    function.__module__ = __name__
    test(limit=240, tfd_only=True, rare=function.__name__ not in ALWAYS)(
        function)


register()


def edges_to(victim):
    """A value of worker 0 and one of ps 0 that ps 1 wants."""
    with tf.device("/job:worker/task:0"):
        here = tf.constant(1.0) + 1
    with tf.device("/job:ps/task:0"):
        there = tf.constant(2.0) + 1
    with tf.device(victim):
        return here + there


def dies_before_a_graph_is_registered(server, fault):
    """The session is open, and nobody has sent ps 1 anything yet: whoever is to
    push to it waits for a link, and the client is told all the same."""
    flags = ["--peer_wait=60s", "--heartbeat_interval=200ms",
             "--peer_timeout=1s"]
    with Cluster(server, flags, ps=2, worker=1) as cluster:
        with graph():
            value = edges_to("/job:ps/task:1")
            session = kept_session(cluster.target())
            assert session.run(tf.constant(3.0)) == 3.0
            victim = cluster["ps", 1]
            if fault == "kill":
                victim.kill()
            else:
                victim.signal(signal.SIGSTOP)
            since = time.monotonic()
            with expect(tf.errors.UnavailableError, "/job:ps/replica:0/task:1"):
                session.run(value)
            # A stopped task takes a dial and says nothing for 5 s.
            took = time.monotonic() - since
            assert took < 12 * server.slow, took
            if fault == "kill":
                cluster.start("ps", 1)
            else:
                victim.signal(signal.SIGCONT)
        with graph():
            assert run(cluster.target(), edges_to("/job:ps/task:1")) == 5.0
        session.close()


@test(limit=60, tfd_only=True)
def a_task_is_killed_before_a_graph_is_registered(server):
    dies_before_a_graph_is_registered(server, "kill")


@test(limit=60, tfd_only=True)
def a_task_is_stopped_before_a_graph_is_registered(server):
    dies_before_a_graph_is_registered(server, "stop")
