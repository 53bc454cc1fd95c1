"""Which ops TensorFlow's build for GPUs has a kernel for, and of which types.

From ops.json of the shared folder, a list of that build's registrations for
the ops of its programs; where the folder is not there, nothing is known.
"""
import json
import os
import pathlib

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Of rows that have no kernel of tfd's GPU: what TensorFlow has.
KINDS = {False: "as TensorFlow", True: "TensorFlow has one", None: ""}

# Ops whose first input is a reference to a variable, and what makes one.
OF_VARIABLES, VARIABLE = "variable ref", "VariableV2"


class Facts:
    def __init__(self, ops=None):
        """ops: as ops.json has it; gpu is yes, no, default-host (a kernel for
        any device, with its arguments in host memory) or unknown."""
        self.ops = ops or {}

    @classmethod
    def found(cls):
        """The shared folder lies beside the repository; TFD_SHARED names
        another."""
        shared = os.environ.get("TFD_SHARED", ROOT.parent / "shared")
        try:
            text = (pathlib.Path(shared) / "design/ops.json").read_text()
            return cls(json.loads(text))
        except (OSError, ValueError):
            return cls()

    def has(self, op, kind):
        """True, False, or None where it is not known; kind: as numpy calls
        the type, empty where it makes no difference."""
        said = self.ops.get(op, {})
        # Such a kernel is of no use where the variable itself has none.
        if (said.get("kind") == OF_VARIABLES and op != VARIABLE and
                self.has(VARIABLE, kind) is False):
            return False
        if said.get("gpu") == "no":
            return False
        if said.get("gpu") not in ("yes", "default-host"):
            return None
        if said["gpu_T"]:
            return kind in said["gpu_T"] if kind else True
        return None if kind else True  # of some types, which are not told

    def split(self, op, kinds):
        """What is in KINDS -> the kinds of which it is so."""
        found = {}
        for kind in kinds:
            found.setdefault(self.has(op, kind), []).append(kind)
        return found
