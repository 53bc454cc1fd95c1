"""Cases of kernels/data_sources/dataset_matching.c."""
import os

import numpy as np

from tests.cluster.client import tf
from tests.conformance.cases.data.pipelines import (Made, elements, hidden,
                                                    raw)
from tests.conformance.scenarios import fresh_graph
from tests.conformance.table import scenario

NAMES = "a1", "a2", "b1", "sub/c1", "sub2/c1", "z"
PATTERNS = {"some": ["a*"], "two": ["z*", "a*"], "none": ["no*"],
            "none first": ["no*", "a*"], "deep": ["*/c*"], "twice": ["a?", "a*"]}


@scenario("MatchingFilesDataset ExperimentalMatchingFilesDataset")
@fresh_graph
def data_matching_files(side):
    for name in NAMES:
        path = side.path(name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        open(path, "w").close()
    folder, spec = side.path(""), tf.TensorSpec([], tf.string)

    def matching(patterns, op):
        return Made(getattr(raw, op)(patterns=hidden(np.array(
            patterns, np.str_))), spec)
    made = {}
    for op in ("MatchingFilesDataset", "ExperimentalMatchingFilesDataset"):
        for name, patterns in PATTERNS.items():
            made[op + name] = lambda o=op, p=patterns: matching(
                [folder + x for x in p], o)
    made["scalar"] = lambda: matching(folder + "a*", "MatchingFilesDataset")
    made["matrix"] = lambda: matching([[folder + "a*"]],
                                      "MatchingFilesDataset")
    return {name: str(value).replace(folder, "D/")
            for name, value in elements(side, made, limit=6).items()}
