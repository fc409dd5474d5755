"""Numbers of lengths, stretched along axes next to stretched arrays: no shape is lost.

Lowered programs leave the stretching of operands to NumPy where another operand has the axis.  A
number that is computed from lengths alone has no axis, whatever the shape of its node.
"""

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import numeric as nm
import symdiff as sd
from tests.support.budget import sample

# Along one axis: the symbol of the axis, and numbers of lengths.
VECTORS = {
    "symbol": lambda xp, x, n, m: x,
    "1/m": lambda xp, x, n, m: xp.broadcast_to(1 / m, x.shape),
    "n": lambda xp, x, n, m: xp.broadcast_to(n, x.shape),
    "3": lambda xp, x, n, m: xp.broadcast_to(3, x.shape),
}
# Of such a vector, before it is stretched along the other axis.
CHANGES = {
    "as it is": lambda x: x,
    "plus 7": lambda x: x + 7,
    "inverse": lambda x: 1 / (x * x + 1),
    "turned": lambda x: x[::-1],
    "square over a square": lambda x: x**2 / (x * x + 1) ** 2,
    "square of a quotient": lambda x: (3 / (x * x + 1)) ** 2 + (x / (x + 9)) ** 3,
}
PAIRS = {
    "add": lambda xp, x, y: x + y,
    "multiply": lambda xp, x, y: x * y,
    "maximum": lambda xp, x, y: xp.maximum(x, y),
    "where": lambda xp, x, y: xp.where(x > 1, x, y),
    "hypot": lambda xp, x, y: xp.hypot(x, y),
}
USES = {
    "itself": lambda xp, x: x,
    "sums of rows": lambda xp, x: xp.sum(x, axis=0),
    "sums of columns": lambda xp, x: xp.sum(x, axis=1),
    "sum": lambda xp, x: xp.sum(x),
    "transpose": lambda xp, x: x.T,
    "cumsum": lambda xp, x: xp.cumsum(x, axis=0),
    "last column": lambda xp, x: x[:, -1:],
    "concat": lambda xp, x: xp.concatenate([x, x], axis=1),
    "matmul": lambda xp, x: xp.matmul(x, x.T),
    "reshape": lambda xp, x: xp.reshape(x, -1),
}
OPERAND = st.tuples(st.integers(0, 1), st.sampled_from([*VECTORS]), st.sampled_from([*CHANGES]))


def built(xp, inputs, operands, pairs, use):
    """The operands, stretched to a matrix and joined pair by pair, then used."""
    n, m = (x.shape[0] for x in inputs)
    total = None
    for (axis, vector, change), pair in zip(operands, ["", *pairs], strict=True):
        x = CHANGES[change](VECTORS[vector](xp, inputs[axis], n, m))
        matrix = xp.broadcast_to(x if axis else x[:, None], (n, m))
        total = PAIRS[pair](xp, total, matrix) if pair else matrix
    return USES[use](xp, total)


@pytest.mark.parametrize("use", USES)
def test_no_shape_is_lost(use):
    @sample(25)
    @example([(1, "1/m", "plus 7"), (0, "symbol", "as it is")], ["multiply"] * 3)
    @example([(0, x, "square over a square") for x in ("symbol", "n")], ["maximum"] * 3)
    @given(
        st.lists(OPERAND, min_size=1, max_size=3), st.lists(st.sampled_from([*PAIRS]), min_size=3)
    )
    def run(operands, pairs):
        symbols = sd.symbol("v", "n"), sd.symbol("w", "m")
        pairs = pairs[: len(operands) - 1]
        f = built(sd, symbols, operands, pairs, use)
        F = nm.lower([f, *sd.grad(sd.sum(f * f), symbols)], symbols)
        for n, m in ((1, 1), (1, 3), (3, 1), (2, 3)):
            # No tie: at 2 and a length of 2, rounding would decide which operand of maximum counts.
            at = np.linspace(-1, 2, n) + 1 / 64, np.linspace(2, 0.5, m) + 1 / 32
            value, *gradients = F(*at)
            wanted = built(np, at, operands, pairs, use)
            assert value.shape == wanted.shape
            np.testing.assert_allclose(value, wanted, rtol=1e-14, atol=1e-14)
            known = sd.symbol("v", n), sd.symbol("w", m)
            g = built(sd, known, operands, pairs, use)
            exact = nm.interpret(sd.grad(sd.sum(g * g), known), dict(zip(known, at, strict=True)))
            for one, other in zip(gradients, exact, strict=True):
                assert one.shape == other.shape
                np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-12)

    run()
