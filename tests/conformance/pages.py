"""What docs/ops.md says of ops is so: of their kernels, as a server has them,
and of this table's cases."""
import pathlib

from tests.conformance.devices import Kernels

PAGE = pathlib.Path(__file__).parents[2] / "docs" / "ops.md"
GROUPS = {
    "-": (),
    "any": ("*",),
    "floats": ("half", "bfloat16", "float", "double"),
    "complex": ("complex64", "complex128"),
    "ints": ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32",
             "uint64"),
}


def types(text):
    return {name for word in text.split() for name in GROUPS.get(word, [word])}


class Row:
    """A row of the page: types by place, what is said of the gradient, and
    whether the op is checked."""

    def __init__(self, cpu, gpu, gradient, checked):
        device, _, host = gpu.rpartition(
            "host: ") if "host: " in gpu else (gpu, "", "")
        self.types = {"cpu": types(cpu), "gpu": types(device.rstrip("; ")),
                      "host": types(host)}
        self.gradient = gradient
        self.is_checked = checked == "yes"


def rows():
    """op -> Row."""
    cells = [[cell.strip() for cell in line.split("|")[1:-1]]
             for line in PAGE.read_text().splitlines() if line.startswith("| ")]
    return {row[0]: Row(*row[1:]) for row in cells if row[0] != "op"}


def of_server(kernels, op):
    """Types by place, as the server says."""
    found = {"cpu": set(), "gpu": set(), "host": set()}
    for place, _, names in kernels.ops.get(op, []):
        found[place] |= names
    return found


def run(target, covered):
    """(passed, failures).  covered: names of ops that have a case here."""
    page, kernels = rows(), Kernels.of(target)
    has_gpu = any(place == "gpu" for found in kernels.ops.values()
                  for place, _, _ in found)
    failures = ["docs/ops.md lacks " + op for op in kernels.ops
                if op not in page]
    for op, row in page.items():
        found = of_server(kernels, op)
        failures += [
            "docs/ops.md says of %s on %s: %s; the server: %s" % (
                op, place, sorted(row.types[place]), sorted(found[place]))
            for place in (found if has_gpu else ("cpu",))
            if row.types[place] != found[place]]
        if row.is_checked and op not in covered:
            failures.append("docs/ops.md calls %s checked: it needs a case, or "
                            "a line of tools/unchecked_ops" % op)
    return max(len(page) - len(failures), 0), failures
