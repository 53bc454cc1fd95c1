"""Cases of kernels/nn/bias.c."""
from tests.conformance.inputs import x
from tests.conformance.table import bad, c, once, row

row("BiasAdd", [c(x(2, 3), x(3)), c(x(2, 3, 4), x(4)), c(x(0, 3), x(3)),
                c(x(2, 3, 4, 5), x(3), data_format="NCHW"),
                c(x(2, 3, 4), x(3), data_format="NCHW"),
                c(x(3, 16), x(16)), c(x(2, 3, 2, 8), x(3), data_format="NCHW"),
                once(x(300, 70), x(70)), bad(x(2, 3), x(2)), bad(x(3), x(3)),
                bad(x(2, 3), x(3, 1)),
                bad(x(2, 3, 4), x(4), data_format="NCHW")])
row("BiasAddV1", [c(x(2, 3), x(3)), c(x(2, 3, 4), x(4)), c(x(0, 3), x(3)),
                  bad(x(2, 3), x(2)), bad(x(3), x(3)), bad(x(2, 3), x(3, 1))])
row("BiasAddGrad", [c(x(2, 3)), c(x(2, 3, 4)), c(x(0, 3)),
                    c(x(2, 3, 4, 5), data_format="NCHW"), once(x(300, 70)),
                    c(x(3, 16)), c(x(2, 3, 2, 8), data_format="NCHW"),
                    c(x(4, 1)), c(x(1, 3)), once(x(5000, 8)),
                    once(x(3, 2, 90, 60), data_format="NCHW"),
                    bad(x(3)), bad(x())], tol=32)
