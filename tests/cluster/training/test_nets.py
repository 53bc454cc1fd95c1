"""The networks of tests/bench/nets train as in TensorFlow itself."""
from tests.cluster.client import np
from tests.cluster.nets import Net, alike, distance
from tests.cluster.suite import test

# bfloat16 rounds to one part in 256, and each layer and step to what the one
# before it made of that.
STEPS = {"float": 4, "bfloat16": 1}
LOSS = {"float": 1e-4, "bfloat16": 0.03}
MOMENTS = {"float": 1e-3, "bfloat16": 0.2}


def check_losses(target, model, dtype):
    net = Net(model, 16, dtype, 28)
    want = net.losses("", STEPS[dtype])
    assert want[0] != want[-1], want
    np.testing.assert_allclose(net.losses(target, STEPS[dtype]), want,
                               LOSS[dtype])


def check_residual_net(target, dtype, batch=4, side=64):
    """The way forward must agree to rounding: moments of all 53 convolutions
    after one step.  On the way back what is rounded about zero in one Relu is
    lost or not, in whole pixels, so gradients agree in their direction."""
    net = Net("resnet50", batch, dtype, side)
    want, got = net.variables(""), net.variables(target)
    moments = [n for n in want if n.endswith(("_mean", "_variance"))]
    gradients = [n for n in want if n.endswith("/Momentum")]
    assert (len(moments), len(gradients)) == (2 * 53, 3 * 53 + 2)
    for name in moments:
        far = distance(got[name], want[name])
        assert far < MOMENTS[dtype], (name, far)
    if dtype == "float":
        for name in gradients:
            assert alike(got[name], want[name]) > 0.99, name
    name = "output/biases/Momentum"  # no Relu behind it
    assert distance(got[name], want[name]) < MOMENTS[dtype], name


@test(limit=120, worker=1)
def small_networks_lose_what_they_lose_in_tensorflow(cluster):
    for model in ("mlp", "cnn"):
        for dtype in STEPS:
            check_losses(cluster.target(), model, dtype)


@test(limit=120, worker=1)
def a_residual_net_of_fifty_layers(cluster):
    check_residual_net(cluster.target(), "float")


@test(limit=120, worker=1)
def a_residual_net_in_bfloat16(cluster):
    check_residual_net(cluster.target(), "bfloat16")
