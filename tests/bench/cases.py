"""What tests/bench/gpu measures: its cases, and the columns of their rows."""
import dataclasses

from tests.bench.peaks import LINK, MEMORY, TFLOPS


@dataclasses.dataclass
class Section:
    """Cases whose rows have the same columns."""

    title: str
    sides: tuple
    quotients: tuple  # (title, side, side or None: the card's peak)


TRAINING = Section("training, steps/s", ("tfd", "eager", "compiled"), (
    ("tfd/eager", "tfd", "eager"), ("tfd/compiled", "tfd", "compiled")))
CARD = Section("arithmetic, memory", ("tfd", "PyTorch"), (
    ("tfd/PyTorch", "tfd", "PyTorch"), ("share", "tfd", None),
    ("PyTorch's", "PyTorch", None)))
COPIES = Section("copies, GB/s", ("tfd", "pageable", "pinned"), (
    ("tfd/pageable", "tfd", "pageable"), ("tfd/pinned", "tfd", "pinned"),
    ("share", "tfd", None), ("pinned's", "pinned", None)))
STEPS = Section("steps, us", ("GPU", "no GPU"), (
    ("GPU/no GPU", "GPU", "no GPU"),))


@dataclasses.dataclass
class Case:
    """What each side is asked; {seconds} stands where the time belongs."""

    name: str
    section: Section
    key: str  # of the value in an answer
    commands: dict  # side: (who measures, what it is asked)
    unit: str = ""
    peak: int = None


def training(model, batch, kind, name, side=None):
    words = "train %s %d %s {seconds}" % (model, batch, kind)
    images = " --side %d" % side if side else ""
    return Case(name, TRAINING, "steps_per_s", {
        "tfd": ("gpu", words + " {target}" + (" %d" % side if side else "")),
        "eager": ("eager", words + " --best" + images),
        "compiled": ("compiled", words + " --best --compiled" + images)})


def of_card(name, words, key, unit, peak):
    return Case(name, CARD, key, {"tfd": ("gpu", words + " {target}"),
                                  "PyTorch": ("eager", words)}, unit, peak)


def copying(way, size):
    words = "copy %s %d {seconds}" % (way, size)
    return Case("copy-" + way, COPIES, "gbytes_per_s", {
        "tfd": ("gpu", words + " {target}"), "pageable": ("eager", words),
        "pinned": ("eager", words + " --pinned")}, peak=LINK)


def stepping(kind):
    words = "step %s {seconds} {target}" % kind
    return Case("step-" + kind, STEPS, "us", {"GPU": ("gpu", words),
                                              "no GPU": ("cpu", words)})


def networks(batch, side):
    """batch and side (None: the network's own): of the residual net."""
    size = "%dx%d" % (batch, side) if side else "%d" % batch
    return [
        training("mlp", 100, "float", "mlp-100"),
        training("mlp", 8192, "float", "mlp-8192"),
        training("cnn", 64, "float", "cnn-64"),
        training("cnn", 512, "float", "cnn-512"),
        training("resnet50", batch, "float",
                 "resnet50-%s-float" % size, side),
        training("resnet50", batch, "bfloat16",
                 "resnet50-%s-bfloat16" % size, side)]


def hardware(order, size, title):
    """A product of matrices of that order, a pass over as many bytes."""
    return [
        of_card("matmul-%d" % order, "matmul %d bfloat16 {seconds}" % order,
                "tflops", "TFLOP/s", TFLOPS),
        of_card("elementwise-" + title, "elementwise %d {seconds}" % size,
                "gbytes_per_s", "GB/s", MEMORY)]


def all_cases(cpu, batch=None, side=None):
    """batch and side: of the residual net.  Without a card it and the
    hardware's cases are of the same kinds, and as large as two cores bear."""
    if cpu:
        found = networks(batch or 2, side or 32)
        found += hardware(512, 64000000, "64MB")
    else:
        found = networks(batch or 64, side)
        found += hardware(8192, 1000000000, "1GB")
    return found + [copying("h2d", 1 << 28), copying("d2h", 1 << 28),
                    stepping("empty"), stepping("scalar")]
