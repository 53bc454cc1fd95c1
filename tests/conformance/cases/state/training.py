"""Cases of kernels/state/training.c: runs=3, so that slots are used, not only
set."""
import numpy as np

from tests.conformance.cases.shared import NONE, POSITIVE
from tests.conformance.inputs import x
from tests.conformance.table import bad, c, once, row, var


def apply_cases(slots, before, after=(), flags=(), dims=(3, 5)):
    """Cases of an Apply op: `slots` variables, numbers, gradient, numbers."""
    def one(make, shape, grad=None, **attrs):
        grads = [x(*(grad if grad is not None else shape))]
        states = [var(x(*shape)) for _ in range(slots)]
        return make(*states, *before, *grads, *after, **attrs)

    yield one(c, dims)
    yield one(c, ())
    yield one(c, (0,))
    yield one(c, (2, 16))
    yield one(c, dims, use_locking=True)
    yield one(once, (300, 70))
    for flag in flags:
        yield one(c, dims, **flag)
    yield one(bad, dims, grad=(3, 4))
    if before:
        states = [var(x(4)) for _ in range(slots)]
        vector = [[before[0]]] + list(before[1:])
        yield bad(*states, *vector, x(4), *after)
        missing = [var(declared=[4])] + states[1:]
        yield bad(*missing, *before, x(4), *after)
        smaller = states[:1] + [var(x(3))] + states[2:]
        yield bad(*smaller, *before, x(4), *after)


def sparse_cases(slots, before, after=(), flags=(), leaves_out=False):
    """The same of a SparseApply op: a gradient of some rows, and which.  On a
    GPU it may leave out the rows that are not there."""
    def one(make, indices, shape=(4, 5), grad=None, **attrs):
        count = (np.size(indices),) if np.ndim(indices) else ()
        grads = x(*(grad if grad is not None else count + shape[1:]))
        states = [var(x(*shape)) for _ in range(slots)]
        return make(*states, *before, grads, indices, *after, **attrs)

    yield one(c, [2, 0])
    yield one(c, [1, 1, 3, 1])
    yield one(c, [0], (1, 2, 3))
    yield one(c, [3, 0], (4,))
    yield one(c, np.zeros([0]))
    yield one(c, [1, 3, 1], (4, 16))
    yield one(c, [2, 0], (3, 2, 20))
    yield one(once, [9, 200, 0, 9], (300, 70))
    yield one(once, [9, 200, 0, 9], (300, 264))
    yield one(bad, [1, 2], (4, 16), grad=(2, 8))
    for flag in flags:
        yield one(c, [2, 0, 2], **flag)
    for indices, shape in ([4, 9], (4, 5)), ([-1], (4, 5)), ([1], (0, 3)):
        gpu = one(c, NONE, shape) if leaves_out else None
        yield one(bad, indices, shape, gpu=gpu)
    yield one(bad, [[1]], grad=(1, 5))
    yield one(bad, [1, 2], grad=(3, 5))
    yield one(bad, [1, 2], grad=(2, 4))
    yield one(bad, 0, (), grad=())


LEAVE_OUT = ("Adadelta Adagrad AdagradV2 Ftrl FtrlV2 "
             "ProximalAdagrad").split()


def optimizer(name, *args, **kwargs):
    # Ftrl subtracts roots that are nearly equal: half precision has few bits
    # left then, in TensorFlow too.
    tol = 16 if name.startswith("Ftrl") else 8
    row("Apply%s ResourceApply%s" % (name, name),
        list(apply_cases(*args, **kwargs)), POSITIVE, tol=tol, runs=3)
    if name not in ("GradientDescent", "Adam", "AdaMax", "AddSign",
                    "PowerSign"):
        row("SparseApply%s ResourceSparseApply%s" % (name, name),
            list(sparse_cases(*args, **kwargs, leaves_out=name in LEAVE_OUT)),
            POSITIVE, tol=tol, runs=3)


optimizer("GradientDescent", 1, [0.5])
optimizer("Adagrad", 2, [0.5], flags=[dict(update_slots=False)])
optimizer("AdagradV2", 2, [0.5, 0.01], flags=[dict(update_slots=False)])
optimizer("Momentum", 2, [0.5], [0.9], [dict(use_nesterov=True)])
optimizer("Adam", 3, [0.9, 0.99, 0.5, 0.8, 0.9, 0.01],
          flags=[dict(use_nesterov=True)])
optimizer("AdaMax", 3, [0.9, 0.5, 0.8, 0.9, 0.01])
optimizer("AddSign", 2, [0.5, 1.2, 0.9, 0.8])
optimizer("PowerSign", 2, [0.5, 1.2, 0.9, 0.8])
row("ResourceApplyAdamWithAmsgrad",
    list(apply_cases(4, [0.9, 0.99, 0.5, 0.8, 0.9, 0.01])), POSITIVE, tol=8,
    runs=3)
row("ResourceApplyKerasMomentum",
    list(apply_cases(2, [0.5], [0.9], [dict(use_nesterov=True)])), tol=8,
    runs=3)
row("ResourceSparseApplyKerasMomentum",
    list(sparse_cases(2, [0.5], [0.9], [dict(use_nesterov=True)],
                      leaves_out=True)), tol=8, runs=3)
optimizer("Adadelta", 3, [0.5, 0.9, 0.01])
optimizer("RMSProp", 3, [0.5, 0.9, 0.8, 0.01])
optimizer("CenteredRMSProp", 4, [0.5, 0.9, 0.8, 400.0])
optimizer("Ftrl", 3, [], [0.5, 0.1, 0.2, -0.5],
          [dict(multiply_linear_by_lr=True)])
optimizer("FtrlV2", 3, [], [0.5, 0.1, 0.2, 0.1, -0.5],
          [dict(multiply_linear_by_lr=True)])
optimizer("AdagradDA", 3, [], [0.5, 0.1, 0.2, 4])
optimizer("ProximalGradientDescent", 1, [0.5, 0.1, 0.2])
optimizer("ProximalAdagrad", 2, [0.5, 0.1, 0.2])
