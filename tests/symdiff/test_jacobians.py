"""Jacobians by rows and by columns: which direction is chosen, what it costs, equal values."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given

import numeric as nm
import symdiff as sd
from symdiff.graph.node import topological
from tests.support.budget import sample
from tests.test_laws import equal, ours

MODES = ("forward", "reverse")
x, y = sd.symbols("x y")
u, v, w = sd.symbol("u", 2), sd.symbol("v", 3), sd.symbol("w", 4)
long, other = sd.symbol("long", "n"), sd.symbol("other", "m")


def spread(rows, k):
    """``rows`` elements that depend on all of the k inputs."""
    return sd.symbol(f"M{rows}_{k}", (rows, k))


def layered(sizes):
    """A chain of layers, which neither direction writes as the other one does; and its input."""
    z = f = sd.symbol(f"z{sizes[0]}", sizes[0])
    for k, n in pairwise(sizes):
        f = sd.tanh(sd.symbol(f"L{n}_{k}", (n, k)) @ f)
    return f, z


def moved(shape, inputs):
    """A formula of this shape, whose derivatives the two directions write in two ways."""
    total = sum((sd.sum(a * a) for a in inputs[1:]), sd.sum(inputs[0] * inputs[0]))
    hidden = sd.tanh(sd.symbol("k", 2) * total)
    return sd.tanh(sd.symbol("C", (*shape, 2)) @ hidden)


# Outputs, inputs and what is chosen; of both the numbers of elements count, not the shapes.
CHOSEN = {
    "tall": ((4,), [v], "forward"),
    "wide": ((2,), [v], "reverse"),
    "square": ((3,), [v], "reverse"),
    "a scalar": ((), [v], "reverse"),
    "by one scalar": ((3,), [x], "forward"),
    "a scalar by one scalar": ((), [x], "forward"),
    "by as many scalars": ((2,), [x, y], "reverse"),
    "by fewer scalars": ((3,), [x, y], "forward"),
    "a matrix, by elements": ((2, 3), [w], "forward"),
    "inputs together": ((4,), [u, v], "reverse"),
    "a length against a number": (("n",), [w], "forward"),
    "a number against a length": ((4,), [long], "reverse"),
    "equal lengths": (("n",), [long], "reverse"),
    "lengths of two names": (("n",), [other], "reverse"),
    "one more": (("n + 1",), [long], "forward"),
    "one less": (("n - 1",), [long], "reverse"),
    "more copies": (("n", 2), [long], "forward"),
}


@pytest.mark.parametrize("name", CHOSEN)
def test_the_direction_of_fewer_elements_is_chosen(name):
    shape, inputs, mode = CHOSEN[name]
    f = moved(shape, inputs)
    found = sd.jacobian(f, inputs)
    both = {m: sd.jacobian(f, inputs, mode=m) for m in MODES}
    for k, J in enumerate(found):
        assert J is both[mode][k]
        assert both["forward"][k] is not both["reverse"][k]
    assert [J.shape for J in found] == [f.shape + a.shape for a in inputs]
    assert [J.shape for J in both["forward"]] == [J.shape for J in both["reverse"]]


def test_each_output_has_its_direction():
    tall, wide = moved((4,), [v]), moved((2,), [v])
    expected = sd.jacobian(tall, v, mode="forward"), sd.jacobian(wide, v, mode="reverse")
    assert sd.jacobian([tall, wide], v) == expected


@pytest.mark.parametrize(
    ("sizes", "better"), [((3, 20, 20, 40), "forward"), ((40, 20, 20, 3), "reverse")]
)
def test_the_default_costs_what_the_better_direction_costs(sizes, better):
    f, z = layered(sizes)
    costs = {mode: sd.count_operations(sd.jacobian(f, z, mode=mode)) for mode in MODES}
    nodes = {mode: len(topological([sd.jacobian(f, z, mode=mode)])) for mode in MODES}
    found = sd.jacobian(f, z)
    assert sd.count_operations(found) == costs[better] == min(costs.values())
    assert max(costs.values()) > 3 * costs[better]
    assert len(topological([found])) == nodes[better]


def test_the_cost_of_a_column_is_that_of_a_tangent():
    """Forward, the count grows with the inputs alone; in reverse with the outputs alone."""
    for mode, grown in (("forward", (5, 30, 60)), ("reverse", (60, 30, 5))):
        f, z = layered(grown)
        jacobian = sd.count_operations(sd.jacobian(f, z, mode=mode))
        tangent = sd.count_operations([f, sd.jvp(f, z, sd.symbol("t", z.shape))])
        assert jacobian <= 5 * tangent


def test_a_function_goes_by_the_lengths_of_the_call():
    X = sd.symbol("X", ("rows", "columns"))
    b = sd.symbol("b", "columns")
    F = nm.lower(sd.softmax(X @ b), [X, b])
    rng = np.random.default_rng(0)
    for shape in ((5, 3), (7, 3), (2, 3), (1, 3)):
        at = rng.normal(size=shape), rng.normal(size=3)
        expected = {m: F.jacobian(*at, wrt=b, mode=m) for m in MODES}
        mode = "forward" if shape[0] > 3 else "reverse"
        np.testing.assert_array_equal(F.jacobian(*at, wrt=b), expected[mode])
        np.testing.assert_allclose(expected["forward"], expected["reverse"], rtol=0, atol=1e-14)
    assert F.source.count("def jacobian") == 2


def test_another_mode_is_refused():
    F = nm.lower(v * v, v)
    for ask in (
        lambda: sd.jacobian(v, v, mode="sideways"),
        lambda: F.jacobian(np.ones(3), mode="both"),
    ):
        with pytest.raises(ValueError, match="expects 'forward', 'reverse' or 'auto'"):
            ask()


@pytest.mark.slow
@sample(60)
@given(ours())
def test_directions_agree(drawn):
    f, xs, env = drawn
    equal(*[sd.jacobian(f, xs, mode=mode) for mode in MODES], env)


# The derivative by what an element does not depend on is 0, whatever its partial is.
SPARSE = {
    "elements": (sd.sqrt(v), [0.0, 4.0, 1.0], np.diag([np.inf, 0.25, 0.5])),
    "elements in a join": (
        sd.concat([sd.sqrt(v), sd.constant([3.0]), 2 * v])[:4],
        [0.0, 4.0, 1.0],
        np.vstack([np.diag([np.inf, 0.25, 0.5]), np.zeros((1, 3))]),
    ),
    "a mask": (
        sd.where(v > 0, sd.sqrt(v), 0),
        [0.0, 4.0, 1.0],
        np.diag([0.0, 0.25, 0.5]),
    ),
}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", SPARSE)
def test_what_does_not_depend_has_derivative_0(name, mode):
    f, at, expected = SPARSE[name]
    with np.errstate(divide="ignore"):
        found = nm.interpret(sd.jacobian(f, v, mode=mode), {v: at})
        lowered = nm.lower(f, v).jacobian(np.array(at), mode=mode)
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(lowered, expected)


# Both directions write these as one formula.
ALIKE = {
    "elements": (sd.sin(v), v),
    "a product of matrices": (spread(5, 3) @ v, v),
    "elements of a product": (sd.tanh(spread(5, 3) @ v), v),
    "weights of rows": (sd.logsumexp(spread(5, 3) * v, axis=1), v),
    "an outer product": (sd.outer(v, v), v),
    "an inverse": (sd.inv(spread(2, 2)), spread(2, 2)),
}


@pytest.mark.parametrize("name", ALIKE)
def test_directions_give_one_formula(name):
    f, a = ALIKE[name]
    assert sd.jacobian(f, a, mode="forward") is sd.jacobian(f, a, mode="reverse")


def slopes(z, steps):
    """A chain of functions of each element."""
    for _ in range(steps):
        z = sd.sin(z) / 2 + 1
    return z


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("shape", [(200, 5), (5, 200)])
def test_functions_of_elements_are_multiplied_once_for_all_rows_and_columns(mode, shape):
    """Their slopes meet the matrix once: it costs no more for a longer chain."""
    rows, columns = shape
    W, z = spread(rows, columns), sd.symbol(f"e{columns}", columns)
    for f, length in ((slopes(W @ z, 12), rows), (W @ slopes(z, 12), columns)):
        count = sd.count_operations(sd.jacobian(f, z, mode=mode))
        # W @ z, the slopes with what they are of, then a number and a diagonal by the matrix.
        assert count <= 2 * rows * columns + 12 * 5 * length + 2 * rows * columns


def test_the_hessian_of_a_sum_over_rows_is_a_product_of_matrices():
    W, z = spread(50, 40), sd.symbol("z40", 40)
    H = sd.hessian(sd.sum(slopes(W @ z, 3)), z)
    assert sd.count_operations(H) <= 2 * 50 * 40 * 40 + 4 * 50 * 40 + 2 * 40 * 40 + 60 * 50
    at = {W: np.linspace(-1, 1, 2000).reshape(50, 40), z: np.linspace(0, 1, 40)}
    G = sd.grad(sd.sum(slopes(W @ z, 3)), z)
    step = 1e-4
    for k in (0, 17, 39):
        moved = [nm.interpret(G, {**at, z: at[z] + h * np.eye(40)[k]}) for h in (-step, step)]
        found = nm.interpret(H, at)[:, k]
        # The third derivatives are below 100, and so differences err by step² and rounding / step.
        np.testing.assert_allclose(found, (moved[1] - moved[0]) / (2 * step), rtol=0, atol=1e-6)


def test_columns_of_a_join_are_a_join_of_columns():
    f = sd.concat([sd.sin(v), sd.constant([1.0, 2.0]), sd.exp(v)])
    assert str(sd.jacobian(f, v)) == "concat([diag(cos(v)), zeros((2, 3)), diag(exp(v))])"
