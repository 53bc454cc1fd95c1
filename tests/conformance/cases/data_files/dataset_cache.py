"""Cases of kernels/data_files/dataset_cache.c."""
import glob
import os

from tests.cluster.client import tf
from tests.conformance.cases.data.pipelines import (cardinalities, data,
                                                    elements, failing, numbers)
from tests.conformance.scenarios import Side, fresh_graph
from tests.conformance.table import scenario


@scenario("CacheDataset CacheDatasetV2 DummyMemoryCache "
          "DummyIterationCounter")
@fresh_graph
def data_caches(side):
    return elements(side, {
        "twice": lambda: numbers(4).cache().repeat(2),
        "of random": lambda: numbers(5).shuffle(5, seed=2).cache().repeat(3),
        "random of": lambda: numbers(5).cache().shuffle(5, seed=2).repeat(3),
        "pairs": lambda: numbers(3).map(lambda x: (x, x * 2)).cache().repeat(2),
        "of none": lambda: numbers(0).cache().repeat(2),
        "part of": lambda: numbers(9).cache().take(3).repeat(2),
        "of what fails": lambda: numbers(4).map(failing(2)).cache().repeat(2),
    }, passes=2)


@scenario("CacheDataset DatasetCardinality")
@fresh_graph
def data_cache_cardinalities(side):
    return cardinalities(side, {"cache": lambda: numbers(4).cache()})


def cached_in(path):
    """What a folder has, lock files told apart from their content."""
    return sorted(os.path.basename(name) for name in glob.glob(path + "*"))


@scenario("CacheDataset CacheDatasetV2")
@fresh_graph
def data_caches_in_files(side):
    """A first pass writes, a second reads: what is written is asked for
    between them."""
    makers = {
        "numbers": lambda: numbers(4),
        "texts": lambda: data.from_tensor_slices(
            ([1., 2., 3.], ["a", "", "c" * 400])),
        "of none": lambda: numbers(0),
        "matrices": lambda: data.from_tensor_slices(
            [[[1, 2], [3, 4]], [[5, 6], [7, 8]]]),
        "of many": lambda: numbers(2).map(lambda x: tuple([x] * 12)),
        "ragged": lambda: numbers(4).map(lambda x: tf.fill([x], x)),
        "of what fails": lambda: numbers(4).map(failing(2)),
        "random": lambda: numbers(9).shuffle(9),
    }
    out, files = {}, {}
    for name in makers:
        files[name] = side.path(name.replace(" ", "_"))
    found = elements(side, {
        name: lambda m=make, n=name: m().cache(files[n])
        for name, make in makers.items()})
    out.update((name, value) for name, value in found.items()
               if not name.startswith("random"))
    for name, file in files.items():
        out["index of " + name] = os.path.exists(file + ".index")
        out["locks of " + name] = cached_in(file + "_0")
        if name == "of none":
            continue
        reader = tf.train.load_checkpoint(file)
        keys = sorted(reader.get_variable_to_shape_map())
        out["keys of " + name] = " ".join(keys)
        if name != "random":
            for key in keys:
                out["%s, %s" % (name, key)] = reader.get_tensor(key)
    again = elements(side, {
        name: lambda m=make, n=name: m().cache(files[n]).repeat(2)
        for name, make in makers.items()})
    out.update(("again " + name, value) for name, value in again.items()
               if not name.startswith("random"))
    twice = [int(v) for k, v in again.items()
             if k.startswith("random") and not isinstance(v, str)]
    out["random twice"] = twice[:9] == twice[9:] and sorted(
        twice[:9]) == list(range(9))
    return out


@scenario("CacheDataset CacheDatasetV2")
@fresh_graph
def data_caches_in_files_refused(side):
    with open(side.path("locked_0.lockfile"), "w") as file:
        file.write("Created at: 17")
    for name, content in (("damaged.index", b"x" * 90), ("torn.index", b"")):
        with open(side.path(name), "wb") as file:
            file.write(content)
    found = elements(side, {
        "no folder": lambda: numbers(3).cache(side.path("no/such/folder")),
        "locked": lambda: numbers(3).cache(side.path("locked")),
        "damaged": lambda: numbers(3).cache(side.path("damaged")),
        "torn": lambda: numbers(3).cache(side.path("torn")),
        "part": lambda: numbers(9).cache(side.path("part")).take(2),
        "first": lambda: numbers(3).cache(side.path("shared")),
    })
    found.update(elements(side, {
        "other kind": lambda: data.from_tensors(1.5).cache(
            side.path("shared")),
    }))
    out = {}
    for name, value in found.items():
        if isinstance(value, str):
            value = value.replace(side.folder, "FOLDER")
        out[name] = value
    out["left"] = sorted(os.listdir(side.folder))
    out["left"] = " ".join(n for n in out["left"] if "part" not in n and
                           "lock" not in n)  # TensorFlow removes another's
    return out


@scenario("CacheDatasetV2")
@fresh_graph
def data_caches_of_others(side):
    """What TensorFlow has written here, the side reads."""
    out = {}
    path = side.path("theirs")
    elements(Side(""), {"theirs": lambda: data.from_tensor_slices(
        ([1, 2, 3], ["x", "yy", ""])).cache(path)})
    empty = data.from_tensors((7, "other"))
    out.update(elements(side, {"read": lambda: empty.cache(path).repeat(2)}))
    return out
