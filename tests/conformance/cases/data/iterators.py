"""Cases of kernels/data/iterators.c."""
import numpy as np

from tests.cluster.client import tf
from tests.conformance.cases.data.pipelines import (data, hidden, note,
                                                    numbers, raw, variant,
                                                    walk)
from tests.conformance.scenarios import attempt, fresh_graph, told
from tests.conformance.table import scenario

INT = {"output_types": [tf.int64], "output_shapes": [[]]}


def named(name="", types=(tf.int64,), shapes=((),)):
    return raw.IteratorV2(shared_name=name, container="",
                          output_types=list(types), output_shapes=list(shapes))


def make(dataset, iterator):
    return raw.MakeIterator(dataset=variant(dataset), iterator=iterator)


def get(iterator, types=(tf.int64,), shapes=((),)):
    return raw.IteratorGetNext(iterator=iterator, output_types=list(types),
                               output_shapes=list(shapes))


@scenario("IteratorV2 Iterator MakeIterator IteratorGetNext "
          "IteratorGetNextSync IteratorGetNextAsOptional")
@fresh_graph
def data_iterators(side):
    it = named()
    old = raw.Iterator(shared_name="", container="", **INT)
    sync = raw.IteratorGetNextSync(iterator=old, **INT)
    optional = raw.IteratorGetNextAsOptional(iterator=it, **INT)
    value = raw.OptionalGetValue(optional=optional, **INT)
    has = raw.OptionalHasValue(optional=optional)
    inits = [make(numbers(3), it), make(numbers(2), old)]
    out = {}
    with side.session() as session:
        out["not yet"] = told(session, get(it))
        out["not yet optional"] = told(session, has)
        session.run(inits)
        for i in range(5):
            note(out, "optional %d" % i, told(session, has))
        session.run(inits)
        for i in range(5):
            note(out, "value %d" % i, told(session, [has, value]))
        walk(session, out, "sync", sync, 5)
        session.run(inits)
        note(out, "two at once", told(session, [tf.add_n(
            [get(it)[0], get(it)[0]])]))
        walk(session, out, "the rest", get(it), 5)
    return out


@scenario("IteratorV2 MakeIterator IteratorGetNext")
@fresh_graph
def data_iterators_of_other_elements(side):
    it = named()
    pair = named(types=(tf.int64, tf.int64), shapes=((), ()))
    vector = named(shapes=((2,),))
    any_shape = named(shapes=(None,))
    cases = {
        "float": make(data.from_tensors(hidden(1.5)), it),
        "pair": make(numbers(), pair),
        "one of a pair": make(numbers().map(lambda x: (x, x)), it),
        "vector": make(data.from_tensors(np.array([1, 2, 3])), vector),
        "any": make(data.from_tensors(np.array([1, 2, 3])), any_shape),
        "no dataset": raw.MakeIterator(dataset=raw.OptionalNone(),
                                       iterator=it),
        "good": make(numbers(), it)}
    out = {}
    with side.session() as session:
        for name, op in cases.items():
            out[name] = told(session, op)
        session.run([cases["good"], cases["any"]])
        for name, op in {
                "as float": get(it, (tf.float32,)),
                "as two": get(it, (tf.int64, tf.int64), ((), ())),
                "as a vector": get(it, shapes=((2,),)),
                "of any": get(any_shape, shapes=((3,),)),
                "of any as two": get(any_shape, shapes=((2,),))}.items():
            note(out, name, told(session, op))
    return {k: v for k, v in out.items() if v is not None}


@scenario("IteratorV2 MakeIterator IteratorGetNext")
@fresh_graph
def data_iterators_by_name(side):
    name = tf.get_default_graph().get_name_scope() + "shared"
    it, same = named(name), named(name)
    other = named(name, (tf.float32,))
    init = make(numbers(6), it)
    out = {}
    with side.session() as session:
        session.run(init)
        note(out, "first", told(session, get(it)))
        note(out, "second", told(session, get(same)))
        note(out, "other", told(session, get(other, (tf.float32,))))
    return out


@scenario("IteratorToStringHandle IteratorFromStringHandle "
          "IteratorFromStringHandleV2")
@fresh_graph
def data_iterator_handles(side):
    it, second = named(), named()
    text = raw.IteratorToStringHandle(resource_handle=it)
    inits = [make(numbers(3), it), make(numbers(5).skip(2), second)]
    place = hidden("")
    chosen = get(raw.IteratorFromStringHandleV2(string_handle=place, **INT))
    older = get(raw.IteratorFromStringHandle(string_handle=place))
    wrong = get(raw.IteratorFromStringHandleV2(
        string_handle=place, output_types=[tf.float32], output_shapes=[[]]),
                (tf.float32,))
    out = {}
    with side.session() as session:
        session.run(inits)
        first = session.run(text)
        other = session.run(raw.IteratorToStringHandle(resource_handle=second))
        for name, fetch, handle in (
                ("first", chosen, first), ("second", chosen, other),
                ("older", older, first), ("wrong", wrong, first),
                ("again", chosen, first), ("at its end", chosen, first),
                ("no handle", chosen, "\x0a\xff")):
            note(out, name, told(session, fetch, {place: handle}))
    return out


@scenario("AnonymousIterator AnonymousIteratorV2 AnonymousIteratorV3 "
          "DeleteIterator")
@fresh_graph
def data_anonymous_iterators(side):
    out = {}
    with side.session() as session:
        for i, made in enumerate((raw.AnonymousIterator(**INT),
                                  raw.AnonymousIteratorV3(**INT))):
            with tf.control_dependencies([make(numbers(4), made)]):
                first = get(made)
            with tf.control_dependencies(first):
                note(out, "both %d" % i, told(session, first + get(made)))
        made = raw.AnonymousIteratorV2(**INT)
        with tf.control_dependencies([make(numbers(4), made.handle)]):
            value = get(made.handle)
        with tf.control_dependencies(value):
            gone = raw.DeleteIterator(handle=made.handle, deleter=made.deleter)
        with tf.control_dependencies([gone]):
            note(out, "deleted", told(session, tf.identity(value)))
    return out


@scenario("AnonymousIterator IteratorToStringHandle "
          "IteratorFromStringHandleV2 DestroyResourceOp")
@fresh_graph
def data_anonymous_iterators_by_their_strings(side):
    """The oldest kind outlives its handle, until it is destroyed."""
    out, place = {}, hidden("")
    found = raw.IteratorFromStringHandleV2(string_handle=place, **INT)
    value = get(found)
    destroyed = raw.DestroyResourceOp(resource=found,
                                      ignore_lookup_error=False)
    with side.session() as session:
        made = raw.AnonymousIterator(**INT)
        with tf.control_dependencies([make(numbers(4), made)]):
            text = raw.IteratorToStringHandle(resource_handle=made)
        first, second = session.run(text), session.run(text)
        for i, handle in enumerate((first, first, second, first)):
            note(out, "value %d" % i, told(session, value, {place: handle}))
        note(out, "destroyed", told(session, destroyed, {place: first}))
        gone = str(told(session, value, {place: first}))
        note(out, "gone", "does not exist" in gone)
        note(out, "the other", told(session, value, {place: second}))
    return out


@scenario("AnonymousIterator GeneratorDataset RemoteCall MakeIterator")
@fresh_graph
def data_copied_to_a_device(side):
    """Its functions have the iterator of the oldest kind, by its string."""
    out = {}
    for name, source in (("some", numbers(4)), ("none", numbers(0))):
        made = source.apply(tf.data.experimental.copy_to_device("/cpu:0"))
        it = tf.data.make_initializable_iterator(made.prefetch(1))
        value = it.get_next()
        with side.session() as session:
            for i in range(2):
                session.run(it.initializer)
                walk(session, out, "%s %d" % (name, i), value, 6)
    return out


@scenario("IteratorGetDevice ExperimentalIteratorGetDevice")
@fresh_graph
def data_iterator_devices(side):
    iterator = named()
    with side.session() as session:
        return {op: str(told(session, getattr(raw, op)(
            resource=iterator))).split("/")[-1]
                for op in ("IteratorGetDevice",
                           "ExperimentalIteratorGetDevice")}


@scenario("IteratorGetModelProto")
@fresh_graph
def data_iterators_have_no_model(side):
    """As in TensorFlow where nothing is tuned."""
    out, it, other = {}, named(), named()
    options = tf.data.Options()
    options.autotune.enabled = False
    ready = make(numbers(3).with_options(options), it)
    with side.session() as session:
        session.run(ready)
        note(out, "ready", told(session, raw.IteratorGetModelProto(
            iterator=it)))
        note(out, "not yet", told(session, raw.IteratorGetModelProto(
            iterator=other)))
        note(out, "no iterator", attempt(session, raw.IteratorGetModelProto(
            iterator=raw.DummySeedGenerator())))
    return out
