"""Cases of kernels/io/matching_files.c."""
import os

import numpy as np

from tests.conformance.cases.data.pipelines import answers, hidden, raw
from tests.conformance.scenarios import fresh_graph
from tests.conformance.table import scenario

NAMES = ["a1", "a2", "b[1]", "sub/c1", "sub/c2", "sub2/c1", ".hid",
         "sub/deep/x", "e\\f", "sub2/deep/x", "long" * 40, "aab", "abab"]
PATTERNS = ["*", "a?", "[ab]*", "[!a]*", "[^a]*", "[a-b]?", "sub*/c*", "*/c1",
            "**/c1", "sub/*/x", "*/deep/*", "none*", "none", "a1", "*/", "sub/",
            ".*", "b\\[1\\]", "b[[]1]", "e*", "e\\\\f", "[", "[a-", "[]",
            "none/*", "a1/*", "{a,b}*", "*1/..", "sub", "a*b", "a*a*b", "*a*",
            "*l*g*l*g*", "*x", "?", "??", "*/*", "*/*/*", "*/*/*/*", "",
            "[b-a]*", "a[1-", "a[]1]", "a[1]", "a[!]1]"]


@scenario("MatchingFiles")
@fresh_graph
def matching_files(side):
    for name in NAMES:
        path = side.path(name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        open(path, "w").close()
    folder = side.path("")

    def found(patterns):
        return raw.MatchingFiles(pattern=hidden(np.array(patterns, np.str_)))
    cases = {p: found(folder + p) for p in PATTERNS}
    cases["two"] = found([folder + "a*", folder + "*1"])
    cases["twice"] = found([folder + "a1"] * 2)
    cases["no pattern"] = found(np.array([], np.str_))
    cases["matrix"] = found([[folder + "a*"]])
    cases["scheme"] = found("file://" + folder + "a*")
    cases["another scheme"] = found("hdfs://x/*")
    out = answers(side, cases)
    return {name: str(value).replace(folder, "D/")
            for name, value in out.items()}
