"""Options of sessions and steps: what each does, and that none is silent."""
import re

from tensorflow.core.protobuf import config_pb2

from tests.cluster.client import expect, graph, np, run, tf
from tests.cluster.cluster import Cluster
from tests.cluster.raw import Raw, code_of, constant, graph_of, node
from tests.cluster.suite import test

PAIR = dict(ps=1, worker=2)
FULL = "/job:%s/replica:0/task:%d/device:CPU:0"


def variable(name="v", device="/job:ps", **fields):
    with tf.device(device):
        return tf.Variable(1.0, name=name, use_resource=True, **fields)


# ---- State -------------------------------------------------------------------


@test(**PAIR)
def an_isolated_session_has_its_own_variables(cluster):
    isolated = tf.ConfigProto(isolate_session_state=True)
    with graph():
        for device in ("/job:ps", "/job:worker/task:0"):
            v = variable("v" + device[5:7], device)
            add = v.assign_add(1.0)
            alone, other = (tf.Session(cluster.target(), config=isolated)
                            for _ in range(2))
            shared = tf.Session(cluster.target())
            alone.run(v.initializer)
            assert alone.run(add) == 2.0
            for session in (other, shared):
                with expect(tf.errors.FailedPreconditionError):
                    session.run(v)
            shared.run(v.initializer)
            shared.run(add)
            shared.run(add)
            assert (alone.run(v), shared.run(v)) == (2.0, 3.0)
            for session in (alone, other):
                session.close()
            assert shared.run(v) == 3.0


@test(**PAIR)
def an_isolated_session_takes_its_variables_along(cluster):
    isolated = tf.ConfigProto(isolate_session_state=True)
    with graph():
        v = variable()
        for _ in range(3):
            with tf.Session(cluster.target(), config=isolated) as session:
                with expect(tf.errors.FailedPreconditionError):
                    session.run(v)
                session.run(v.initializer)
                assert session.run(v) == 1.0


@test(**PAIR)
def reset_clears_the_named_containers(cluster):
    with graph():
        with tf.container("named"):
            named = variable("named")
        plain = variable("plain")
        both = [named.initializer, plain.initializer]

        def left():
            """Which of (named, plain) have values in a new session."""
            with tf.Session(cluster.target()) as session:
                return tuple(session.run([
                    tf.is_variable_initialized(v) for v in (named, plain)]))

        run(cluster.target(), both)
        for containers, expected in (
                (["other"], (True, True)), (["named"], (False, True)),
                (["ps"], (False, False))):
            tf.Session.reset(cluster.target(), containers)
            assert left() == expected, (containers, left())
        run(cluster.target(), both)
        tf.Session.reset(cluster.target())
        assert left() == (True, False), left()
        tf.Session.reset(cluster.target(), ["named", "ps"])
        assert left() == (False, False), left()


# ---- Scope and placement -----------------------------------------------------


@test(**PAIR)
def device_filters_choose_the_tasks_of_a_session(cluster):
    for filters, others in (
            (["/job:ps"], [("ps", 0)]), (["/job:nosuch"], []),
            (["/job:worker"], [("worker", 1)]),
            (["/job:worker/task:0"], []),
            (["/job:ps", "/job:worker/task:1"], [("ps", 0), ("worker", 1)]),
            (["/job:ps/task:0/device:CPU:0"], [("ps", 0)])):
        with graph():
            config = tf.ConfigProto(device_filters=filters)
            with tf.Session(cluster.target(), config=config) as session:
                names = sorted(d.name for d in session.list_devices())
        expected = sorted(FULL % t for t in others + [("worker", 0)])
        assert names == expected, (filters, names)


@test(**PAIR)
def what_is_filtered_out_cannot_be_used(cluster):
    with graph():
        v = variable()
        config = tf.ConfigProto(device_filters=["/job:worker"])
        with expect(tf.errors.InvalidArgumentError, "Cannot assign a device",
                    "was explicitly assigned to /job:ps"):
            run(cluster.target(), v.initializer, config=config)


@test(**PAIR)
def soft_placement_is_the_sessions_choice(cluster):
    with graph():
        with tf.device("/job:ps/device:GPU:0"):
            two = tf.constant(1.0) + 1
        soft = tf.ConfigProto(allow_soft_placement=True)
        for _ in range(2):
            assert run(cluster.target(), two, config=soft) == 2.0
            with expect(tf.errors.InvalidArgumentError,
                        "Cannot assign a device"):
                run(cluster.target(), two)


@test()
def placement_is_logged_where_it_is_wanted(server):
    with Cluster(server, ps=1, worker=1) as cluster:
        task = cluster["worker", 0]
        with graph():
            with tf.device("/job:ps"):
                first = tf.add(tf.constant(1.0), 1.0, name="first")
            run(task.target, first)
            assert "first: (AddV2): " not in task.log_text()
            config = tf.ConfigProto(log_device_placement=True)
            with tf.Session(task.target, config=config) as session:
                session.run(first)
                second = tf.add(first, 1.0, name="second")
                session.run(second)
        text = task.log_text() if server.is_tfd else ""
        if server.is_tfd:  # a real server's log is in a buffer
            for name, device in (("first", ("ps", 0)),
                                 ("second", ("worker", 0))):
                line = "%s: (AddV2): %s" % (name, FULL % device)
                assert text.count(line) == 1, text


# ---- The rest ----------------------------------------------------------------


@test(**PAIR)
def thread_pools_of_a_session_are_refused(cluster):
    pool = tf.ConfigProto()
    pool.session_inter_op_thread_pool.add(num_threads=2)
    for config in (tf.ConfigProto(use_per_session_threads=True), pool):
        with graph(), expect(
                tf.errors.InvalidArgumentError,
                "Distributed session does not support session thread pool "
                "options."):
            run(cluster.target(), tf.constant(1.0), config=config)


@test(**PAIR)
def options_that_change_nothing_are_taken(cluster):
    configs = [tf.ConfigProto(inter_op_parallelism_threads=2,
                              intra_op_parallelism_threads=3),
               tf.ConfigProto(placement_period=7),
               tf.ConfigProto(share_cluster_devices_in_session=True),
               tf.ConfigProto(device_count={"CPU": 3})]
    configs[1].graph_options.infer_shapes = True
    configs[2].experimental.share_cluster_devices_in_session = True
    options = [None, tf.RunOptions(inter_op_thread_pool=3),
               tf.RunOptions(inter_op_thread_pool=-1),
               tf.RunOptions(timeout_in_ms=-5), tf.RunOptions(trace_level=9),
               tf.RunOptions(report_tensor_allocations_upon_oom=True)]
    for config in configs:
        with graph(), tf.Session(cluster.target(), config=config) as session:
            with tf.device("/job:ps"):
                two = tf.constant(1.0) + 1
            for option in options:
                assert session.run(two, options=option) == 2.0


@test(tfd_only=True)
def what_is_not_honoured_is_named_once(server):
    with Cluster(server, worker=1) as cluster:
        task = cluster["worker", 0]
        config = tf.ConfigProto(placement_period=7)
        config.graph_options.infer_shapes = True
        option = tf.RunOptions(report_tensor_allocations_upon_oom=True)
        for _ in range(3):
            with graph(), tf.Session(task.target, config=config) as session:
                for _ in range(3):
                    session.run(tf.constant(1.0), options=option)
        text = task.log_text()
        for field in ("placement_period", "graph_options.infer_shapes",
                      "RunOptions.report_tensor_allocations_upon_oom"):
            assert text.count('field="%s"' % field) == 1, (field, text)


# Fields that change what a session or a step does; those of ConfigProto
# whose values cannot be any are tested elsewhere.
HONOURED = {
    "device_filters", "allow_soft_placement", "log_device_placement",
    "operation_timeout_in_ms", "cluster_def", "isolate_session_state",
    "share_cluster_devices_in_session", "use_per_session_threads",
    "session_inter_op_thread_pool",
    "graph_options.build_cost_model", "graph_options.build_cost_model_after",
    "graph_options.place_pruned_graph",
    "experimental.share_cluster_devices_in_session",
    "experimental.disable_optimize_for_static_graph",
    "experimental.share_session_state_in_clusterspec_propagation",
    "RunOptions.trace_level", "RunOptions.timeout_in_ms",
    "RunOptions.output_partition_graphs",
    "RunOptions.experimental.collective_graph_key"}


def set_alone(kind, path):
    """A message of which only this field says anything; None where that
    would take more than one value."""
    message = kind()
    inner, field = message, None
    for name in path:
        inner = getattr(inner, field.name) if field else inner
        field = inner.DESCRIPTOR.fields_by_name[name]
    if field.message_type and field.message_type.GetOptions().map_entry:
        getattr(inner, field.name)["CPU"] = 3
    elif field.is_repeated and field.message_type:
        return None
    elif field.is_repeated:
        getattr(inner, field.name).append("text")
    elif field.message_type:
        leaf = next((f for f in field.message_type.fields
                     if not f.message_type and not f.is_repeated), None)
        return leaf and set_alone(kind, path + [leaf.name])
    else:
        setattr(inner, field.name, {
            "string": "text", "bool": True, "float": 0.5, "double": 0.5,
        }.get(NAMES_OF_TYPES.get(field.type), 1))
    return message


NAMES_OF_TYPES = {9: "string", 8: "bool", 2: "float", 1: "double"}


def options_of(kind, prefix):
    """(name in the log, message) of each field that may be set alone."""
    for field in kind.DESCRIPTOR.fields:
        inner = ([f.name for f in field.message_type.fields]
                 if field.name in ("graph_options", "experimental")
                 else [None])
        for name in inner:
            path = [field.name] + ([name] if name else [])
            message = set_alone(kind, path)
            if message and prefix + ".".join(path) not in HONOURED:
                yield prefix + ".".join(path), message


@test(tfd_only=True)
def every_option_is_honoured_or_named(server):
    with Cluster(server, worker=1) as cluster:
        task = cluster["worker", 0]
        wanted = set()
        for name, config in options_of(tf.ConfigProto, ""):
            with graph(), tf.Session(task.target, config=config) as session:
                assert session.run(tf.constant(1.0)) == 1.0
            wanted.add(name)
        with graph(), tf.Session(task.target) as session:
            one = tf.constant(1.0)
            for name, options in options_of(tf.RunOptions, "RunOptions."):
                assert session.run(one, options=options) == 1.0
                wanted.add(name)
        named = re.findall(r'option_not_honoured field="([^"]+)"',
                           task.log_text())
        assert len(wanted) > 40, wanted
        assert sorted(named) == sorted(wanted), wanted ^ set(named)


@test(tfd_only=True, **PAIR)
def tensors_to_be_watched_are_refused(cluster):
    """TensorFlow's debugger would wait for files that nobody writes."""
    watch = tf.RunOptions()
    watch.debug_options.debug_tensor_watch_opts.add(node_name="x")
    with graph(), tf.Session(cluster.target()) as session:
        x = tf.constant(1.0, name="x")
        with expect(tf.errors.UnimplementedError,
                    "debug_options.debug_tensor_watch_opts has 1 entries"):
            session.run(x, options=watch)
        with expect(tf.errors.UnimplementedError, "debug_tensor_watch_opts"):
            options = config_pb2.CallableOptions(fetch=["x:0"],
                                                 run_options=watch)
            session._make_callable_from_options(options)
        assert session.run(x) == 1.0


def cost_config(every, after):
    """Without TensorFlow's optimizer, which leaves other nodes."""
    config = tf.ConfigProto()
    config.graph_options.build_cost_model = every
    config.graph_options.build_cost_model_after = after
    config.graph_options.rewrite_options.disable_meta_optimizer = True
    config.graph_options.optimizer_options.opt_level = -1
    return config


@test(**PAIR)
def costs_are_collected_in_the_steps_that_were_asked_for(cluster):
    for every, after, steps in ((0, 0, ""), (1, 0, "01234"), (2, 1, "024"),
                                (3, 2, "14"), (2, 7, "024"), (1, 9, "01234"),
                                (-1, 0, "")):
        with graph(), tf.Session(cluster.target(), config=cost_config(
                every, after)) as session:
            y = tf.constant(1.0) + 1
            session.run(y.op.inputs[0])  # each signature counts by itself
            seen = ""
            for i in range(5):
                data = tf.RunMetadata()
                assert session.run(y, options=tf.RunOptions(),
                                   run_metadata=data) == 2.0
                seen += str(i) if data.cost_graph.node else ""
                assert not data.step_stats.dev_stats
                assert not data.partition_graphs
            assert seen == steps, (every, after, seen)


@test(**PAIR)
def the_costs_of_a_step_are_a_graph(cluster):
    with graph(), tf.Session(cluster.target(),
                             config=cost_config(1, 0)) as session:
        with tf.device("/job:ps"):
            p = tf.placeholder(tf.float32, [4, 5], name="p")
            w = tf.transpose(p, name="w")
        with tf.device("/job:worker/task:0"):
            c = tf.constant([1.0, 2.0], name="c")
            with tf.control_dependencies([c]):
                y = tf.matmul(p, w, name="y")
        data = tf.RunMetadata()
        session.run(y, {p: np.ones((4, 5))}, options=tf.RunOptions(),
                    run_metadata=data)
    parts = []
    for n in data.cost_graph.node:
        if n.name == "_SOURCE":
            parts.append({})
        assert n.id == len(parts[-1])
        parts[-1][n.name] = n
    assert len(parts) == 2
    for part in parts:
        names = list(part)
        assert names[:2] == ["_SOURCE", "_SINK"]
        final = [n.id for n in part.values() if n.is_final]
        assert list(part["_SINK"].control_input) == [0, 0] + final
        if "w" in part:
            w, = [part["w"]]
            assert w.device == "/job:ps/replica:0/task:0/device:CPU:0"
        else:
            y, c = part["y"], part["c"]
            assert [names[i.preceding_node].split("_S")[0]
                    for i in y.input_info][1] == "w"
            assert list(y.control_input) == [c.id]
            assert c.persistent_memory_size == 8
            assert c.output_info[0].shape.dim[0].size == 2
            assert y.output_info[0].size == 64
            assert [d.size for d in y.output_info[0].shape.dim] == [4, 4]
            received, = [n for n in part.values()
                         if n.name.startswith("w_S")]
            assert received.output_info[0].size == -1
            assert received.output_info[0].shape.unknown_rank


@test(**PAIR)
def bad_options_are_errors_of_their_call(cluster):
    raw = Raw(cluster["worker", 0].address)
    handle = raw.create(graph_of(constant("a", 1.0),
                                 node("b", "Neg", ["a"], T=tf.float32)))
    body = raw.bytes  # options (field 5) that end too early
    got = code_of(body, "/tensorflow.MasterService/RunStep",
                  b"\x0a\x10" + handle.encode() + b"\x1a\x03b:0\x2a\x02\x08")
    assert got[0] in ("INTERNAL", "INVALID_ARGUMENT"), got
    assert len(raw.step(handle, fetch=["b:0"]).tensor) == 1
