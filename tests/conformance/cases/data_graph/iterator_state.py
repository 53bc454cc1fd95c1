"""Cases of kernels/data_graph/iterator_state.c."""
from tests.cluster.client import tf
from tests.conformance.cases.data.pipelines import (data, failing, made,
                                                    note, numbers, plain, raw,
                                                    variant, walk)
from tests.conformance.cases.data_files.dataset_save import (
    loaded, one_after_the_other, saved)
from tests.conformance.cases.data_order.dataset_global_shuffle import shuffled
from tests.conformance.cases.data_sources.dataset_csv import csv
from tests.conformance.cases.data_sources.dataset_files import records, write
from tests.conformance.cases.data_sources.dataset_sql import database, sql
from tests.conformance.scenarios import fresh_graph, told
from tests.conformance.table import scenario


def small(x):
    return data.range(x)


MAKERS = {
    "range": lambda: data.range(7),
    "hidden": lambda: numbers(7),
    "tensor": lambda: data.from_tensors([1, 2]),
    "slices": lambda: data.from_tensor_slices(([1, 2, 3, 4, 5], list("abcde"))),
    "none": lambda: data.range(0),
    "map": lambda: data.range(7).map(lambda x: x * x),
    "parallel map": lambda: data.range(7).map(lambda x: x * x, 2),
    "filter": lambda: data.range(9).filter(lambda x: x % 2 == 1),
    "flat map": lambda: data.range(4).flat_map(small),
    "interleave": lambda: data.range(4).interleave(small, 2, 1),
    "parallel interleave": lambda: data.range(4).interleave(
        small, 2, 1, num_parallel_calls=2, deterministic=True),
    "batch": lambda: data.range(7).batch(2),
    "parallel batch": lambda: data.range(7).batch(2, num_parallel_calls=2),
    "padded": lambda: data.range(5).map(lambda x: tf.fill([x], x))
    .padded_batch(2, [None]),
    "take": lambda: data.range(9).take(6),
    "skip": lambda: data.range(9).skip(2),
    "repeat": lambda: data.range(3).repeat(3),
    "for ever": lambda: data.range(3).repeat(),
    "shard": lambda: data.range(9).shard(2, 1),
    "shuffle": lambda: data.range(9).shuffle(4, seed=5),
    "shuffle once": lambda: data.range(5).shuffle(
        4, seed=5, reshuffle_each_iteration=False).repeat(2),
    "shuffles again": lambda: data.range(4).shuffle(4, seed=5).repeat(3),
    "shuffle and repeat": lambda: data.range(4).apply(
        tf.data.experimental.shuffle_and_repeat(3, 2, seed=7)),
    "two shuffles": lambda: data.zip((
        data.range(6).shuffle(6, seed=1), data.range(6).shuffle(6, seed=2))),
    "random": lambda: tf.data.experimental.RandomDataset(seed=3).take(6),
    "zip": lambda: data.zip((data.range(5), data.range(6))),
    "concatenate": lambda: data.range(3).concatenate(data.range(4)),
    "prefetch": lambda: data.range(7).prefetch(2),
    "cache": lambda: data.range(4).cache().repeat(2),
    "scan": lambda: data.range(7).apply(tf.data.experimental.scan(
        tf.constant(0, tf.int64), lambda s, x: (s + x, s + x))),
    "take while": lambda: data.range(9).take_while(lambda x: x < 6),
    "options": lambda: data.range(7).with_options(tf.data.Options()),
    "fails": lambda: data.range(7).map(failing(3)),
}
X = tf.data.experimental


def parity(x):
    return x % 2


def grouped(d, size=2):
    return d.group_by_window(parity, lambda key, g: g.batch(9),
                             window_size=size)


def reduced(d):
    return d.apply(X.group_by_reducer(parity, X.Reducer(
        lambda key: tf.constant(0, tf.int64), lambda s, x: s + x,
        lambda s: s)))


def some(seed=3):
    return data.sample_from_datasets(
        [data.range(4), data.range(10, 14)], [.5, .5], seed=seed)


GROUPED = {
    "group by window": lambda: grouped(data.range(9)),
    "one window": lambda: grouped(data.range(9), 100),
    "group by reducer": lambda: reduced(data.range(9)),
    "map and batch": lambda: data.range(9).apply(
        X.map_and_batch(lambda x: x * 2, 2)),
    "map and batch ahead": lambda: data.range(9).apply(
        X.map_and_batch(lambda x: x * 2, 4, num_parallel_calls=3)),
    "unbatch": lambda: data.range(9).batch(4).unbatch(),
    "unique": lambda: data.range(12).map(lambda x: x % 5).unique(),
    "sparse batch": lambda: data.range(5).map(lambda x: tf.fill([x], x))
    .apply(X.dense_to_sparse_batch(2, [5])).map(tf.sparse.to_dense),
    "group fails": lambda: grouped(data.range(9).map(failing(4))),
    "unbatch fails": lambda: data.range(6).map(failing(2)).batch(2).unbatch(),
}
ORDERED = {
    "without errors": lambda: data.range(7).map(failing(3)).apply(
        X.ignore_errors()),
    "length": lambda: data.range(7).apply(X.assert_cardinality(7)),
    "wrong length": lambda: data.range(4).apply(X.assert_cardinality(6)),
    "sample": some,
    "choose": lambda: data.choose_from_datasets(
        [data.range(4), data.range(10, 14)],
        data.range(9).map(lambda x: x % 2)),
    "sampling": lambda: made("SamplingDataset", variant(data.range(9)),
                             tf.constant(.5), tf.constant(3, tf.int64),
                             tf.constant(4, tf.int64)),
    "fastest": lambda: made("ChooseFastestDataset", [
        variant(data.range(7)), variant(data.range(7))], num_experiments=2),
    "threads": lambda: made("MaxIntraOpParallelismDataset",
                            variant(data.range(7)),
                            tf.constant(1, tf.int64)),
    "own pool": lambda: made("PrivateThreadPoolDataset",
                             variant(data.range(7)), tf.constant(2, tf.int64)),
    "global shuffle": lambda: shuffled(data.range(7)),
    "global shuffles": lambda: shuffled(data.range(3)).repeat(3),
    "weighted": lambda: made("WeightedFlatMapDataset", [
        variant(data.range(4)), variant(data.range(10, 14))], [
            tf.constant(.5, tf.float64), tf.constant(.5, tf.float64)]),
}
POSITIONS = (0, 1, 3, 5, 9)


def state_of(iterator):
    return raw.SerializeIterator(resource_handle=iterator._iterator_resource)


def steps(session, iterator, n):
    for _ in range(n):
        told(session, iterator[1])


def positions(side, makers):
    """Another iterator goes on from where the first was, then the first one
    goes back to where it was."""
    out, found = {}, {}
    for name, make in makers.items():
        dataset = plain(make())
        pair = [tf.data.make_initializable_iterator(dataset)
                for _ in range(2)]
        state = state_of(pair[0])
        found[name] = ([(i.initializer, i.get_next()) for i in pair], [
            raw.DeserializeIterator(resource_handle=i._iterator_resource,
                                    serialized=state) for i in pair])
    with side.session() as session:
        for name, (pair, (itself, other)) in found.items():
            for position in POSITIONS:
                key = "%s at %d" % (name, position)
                for i in pair:  # one after the other: they draw seeds
                    session.run(i[0])
                steps(session, pair[0], position)
                note(out, key + " saved", told(session, other))
                walk(session, out, key, pair[1][1], 12)
                session.run(pair[0][0])
                steps(session, pair[0], position)
                note(out, key + " again", told(session, itself))
                walk(session, out, key + " again", pair[0][1], 12)
    return out


@scenario("SerializeIterator DeserializeIterator")
@fresh_graph
def data_iterator_positions(side):
    return positions(side, MAKERS)


@scenario("SerializeIterator DeserializeIterator")
@fresh_graph
def data_iterator_positions_in_groups(side):
    return positions(side, GROUPED)


@scenario("SerializeIterator DeserializeIterator")
@fresh_graph
def data_iterator_positions_in_order(side):
    return positions(side, ORDERED)


@scenario("SerializeIterator DeserializeIterator")
@fresh_graph
def data_iterator_states_refused(side):
    out = {}
    bare = raw.IteratorV2(shared_name="", container="",
                          output_types=[tf.int64], output_shapes=[[]])
    ready = tf.data.make_initializable_iterator(plain(data.range(5)))
    lists = tf.data.make_initializable_iterator(plain(data.range(5).batch(2)))
    drawing = tf.data.make_initializable_iterator(plain(data.range(5).map(
        lambda x: tf.random.uniform([], seed=3))))
    state = state_of(ready)
    fetches = {
        "save bare": raw.SerializeIterator(resource_handle=bare),
        "restore bare": raw.DeserializeIterator(resource_handle=bare,
                                                serialized=state),
        "restore another": raw.DeserializeIterator(
            resource_handle=lists._iterator_resource, serialized=state),
    }
    for policy in (0, 1, 2, 3, -1):
        fetches["policy %d" % policy] = tf.shape(raw.SerializeIterator(
            resource_handle=drawing._iterator_resource,
            external_state_policy=policy))[0] > 0
        if policy in (0, 1, 2):
            fetches["policy %d, none" % policy] = tf.shape(
                raw.SerializeIterator(
                    resource_handle=ready._iterator_resource,
                    external_state_policy=policy))[0] > 0
    with side.session() as session:
        session.run([i.initializer for i in (ready, lists, drawing)])
        for name, fetch in fetches.items():
            note(out, name, told(session, fetch))
    return out


@scenario("SerializeIterator DeserializeIterator")
@fresh_graph
def data_iterator_states_of_files(side):
    out, made = {}, {}
    files = [records(side, "r%d" % i, [b"%d.%d" % (i, k) for k in range(3)])
             for i in range(3)]
    texts = [write(side, "t%d" % i, b"%d,a\n%d,\"b\n\"\n" % (i, i + 7))
             for i in range(3)]
    with tf.Graph().as_default(), tf.Session() as session:
        session.run(saved(data.range(7), side.path("saved"), "",
                          lambda x: x % 2))
    for name, dataset in {
            "saved": loaded(side.path("saved"), reader=one_after_the_other),
            "records": tf.data.TFRecordDataset(files),
            "lines": tf.data.TextLineDataset(files),
            "columns": csv(texts, "is"),
            "rows": sql(database(side), "select i, s from t",
                        [tf.int64, tf.string]),
            "row fails": sql(database(side, "e"), "select i from t union all "
                             "select abs(-9223372036854775807 - 1)",
                             [tf.int64]),
            "flat": data.from_tensor_slices(files).flat_map(
                tf.data.TFRecordDataset)}.items():
        pair = [tf.data.make_initializable_iterator(plain(dataset))
                for _ in range(2)]
        made[name] = ([(i.initializer, i.get_next()) for i in pair],
                      raw.DeserializeIterator(
                          resource_handle=pair[1]._iterator_resource,
                          serialized=state_of(pair[0])))
    with side.session() as session:
        for name, (pair, restore) in made.items():
            for position in (0, 2, 4):
                for i in pair:  # one after the other: they draw seeds
                    session.run(i[0])
                steps(session, pair[0], position)
                session.run(restore)
                walk(session, out, "%s at %d" % (name, position),
                     pair[1][1], 12)
    return out
