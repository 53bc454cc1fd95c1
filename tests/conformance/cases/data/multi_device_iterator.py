"""Cases of kernels/data/multi_device_iterator.c."""
import numpy as np

from tests.cluster.client import tf
from tests.conformance.cases.data.pipelines import (failing, hidden, note,
                                                    numbers, raw, variant)
from tests.conformance.scenarios import fresh_graph, told
from tests.conformance.table import scenario

INT = {"output_types": [tf.int64], "output_shapes": [[]]}


def named(count):
    return raw.MultiDeviceIterator(
        devices=["/cpu:0"] * count, shared_name="", container="", **INT)


def init(dataset, iterator, room=2):
    return raw.MultiDeviceIteratorInit(
        dataset=variant(dataset), multi_device_iterator=iterator,
        max_buffer_size=hidden(np.int64(room)))


def get(iterator, shard, incarnation):
    return raw.MultiDeviceIteratorGetNextFromShard(
        multi_device_iterator=iterator, shard_num=hidden(np.int32(shard)),
        incarnation_id=incarnation, **INT)


@scenario("MultiDeviceIterator MultiDeviceIteratorInit "
          "MultiDeviceIteratorGetNextFromShard")
@fresh_graph
def data_multi_device_iterators(side):
    place = tf.placeholder(tf.int64, [])
    out = {}
    for count in (1, 2, 3):
        it = named(count)
        begin = init(numbers(7), it)
        fetches = [get(it, i, place) for i in range(count)]
        with side.session() as session:
            for turn in range(2):
                incarnation = session.run(begin)
                note(out, "%d incarnation %d" % (count, turn), incarnation)
                for i in range(7 + count):
                    note(out, "%d turn %d element %d" % (count, turn, i),
                         told(session, fetches[i % count],
                              {place: incarnation}))
            note(out, "%d old" % count, told(
                session, fetches[0], {place: incarnation - 1}))
    return out


@scenario("MultiDeviceIterator MultiDeviceIteratorInit "
          "MultiDeviceIteratorGetNextFromShard")
@fresh_graph
def data_multi_device_iterators_that_fail(side):
    place = tf.placeholder(tf.int64, [])
    it = named(1)
    begin = init(numbers(4).map(failing(2)), it)
    out = {}
    with side.session() as session:
        incarnation = session.run(begin)
        for i in range(5):
            value = told(session, get(it, 0, place), {place: incarnation})
            note(out, "element %d" % i,
                 "failed" if isinstance(value, str) and "bad" in value
                 else value)
    return out


@scenario("AnonymousMultiDeviceIterator AnonymousMultiDeviceIteratorV3 "
          "MultiDeviceIteratorToStringHandle "
          "MultiDeviceIteratorFromStringHandle DeleteMultiDeviceIterator")
@fresh_graph
def data_multi_device_handles(side):
    out = {}
    made = raw.AnonymousMultiDeviceIterator(devices=["/cpu:0"], **INT)
    third = raw.AnonymousMultiDeviceIteratorV3(devices=["/cpu:0"], **INT)
    with side.session() as session:
        for name, handle in (("second", made.handle), ("third", third)):
            incarnation = init(numbers(4), handle)
            text = raw.MultiDeviceIteratorToStringHandle(
                multi_device_iterator=handle)
            found = raw.MultiDeviceIteratorFromStringHandle(
                string_handle=text, **INT)
            first = get(found, 0, incarnation)
            with tf.control_dependencies(first):
                second = get(handle, 0, incarnation)
            with tf.control_dependencies(second):
                last = tf.identity(handle)
            note(out, name, told(session, [first, second, tf.shape(last)]))
        with tf.control_dependencies([init(numbers(2), made.handle)]):
            gone = raw.DeleteMultiDeviceIterator(
                multi_device_iterator=made.handle, iterators=[],
                deleter=made.deleter)
        with tf.control_dependencies([gone]):
            note(out, "deleted", told(session, tf.constant(1)))
    return out
