"""What is known before a loop is one term of a sum, and one factor of a product."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import numeric as nm
import symdiff as sd
from symdiff.graph import ops
from symdiff.transforms.regrouping import regrouped
from symdiff.transforms.scans import Scan
from tests.support.budget import sample

EARLY = sd.symbols("a b d")
c, e = LATE = sd.symbols("c e")
a, b, d = EARLY


def shared(x):
    return sd.exp(e) * x * b + sd.tanh(x)


CASES = {
    "sum": (lambda: sd.sin(a + c + b), [a + b]),
    "sum with numbers": (lambda: 2 * a + c / 3 + 1, [2 * a + 1]),
    "product": (lambda: a * c * b, [a * b]),
    "product with numbers": (lambda: a * c * b / 4, [a * b / 4]),
    "a number and a factor": (lambda: a * sd.exp(c) / 4, [a / 4]),
    "several late factors": (lambda: sd.sin(c) * a * e * b, [a * b]),
    "sums of products": (lambda: a * c * b + d * e * a, [a * b, d * a]),
    "in functions": (lambda: sd.tanh(a * c * b) * a * d, [a * b, a * d]),
    "one of each": (lambda: a * c + b * e, []),
    "divisors": (lambda: a * c / b, []),
    "nothing early": (lambda: c * e + 1, []),
    "products that are read elsewhere": (lambda: shared(a * sd.sin(c)), []),
}


def early_parts(y, found):
    """The largest parts of a formula without late symbols, in words; no symbols, no numbers."""
    stack, parts = [y], []
    while stack:
        x = stack.pop()
        below = set(sd.nodes(x))
        if x in found:
            parts.append(str(found[x]))
        elif below.isdisjoint(LATE):
            parts += [str(x)] * (not below.isdisjoint(EARLY) and len(x.args) > 0)
        else:
            stack += x.args
    return sorted(set(parts))


@pytest.mark.parametrize("name", CASES)
def test_parts_that_are_early(name):
    build, wanted = CASES[name]
    y, found = regrouped(build(), set(EARLY))
    assert early_parts(y, found) == sorted(map(str, wanted))


@st.composite
def formulas(draw):
    made = [*EARLY, *LATE]
    for _ in range(draw(st.integers(1, 9))):
        kind = draw(st.integers(0, 6))
        x, y = (made[draw(st.integers(0, len(made) - 1))] for _ in range(2))
        made.append(
            [x + y, x * y, x - 2 * y, x / (2 + y**2), sd.sin(x), x * y / 4, x + y + 1][kind]
        )
    return made[-1] * made[-2] + made[-3]


@sample(150)
@given(formulas())
def test_values_are_the_same(y):
    """With what symbols stand for put back in, in their order."""
    z, found = regrouped(y, set(EARLY))
    env = dict(zip([*EARLY, *LATE], [0.7, -1.3, 0.4, 1.1, -0.6], strict=True))

    def value_of(f):
        known = set(sd.nodes(f))
        return nm.interpret(f, {x: v for x, v in env.items() if x in known})

    wanted = value_of(y)
    for symbol, value in found.items():
        assert not set(sd.nodes(value)) & {*LATE, *found}
        env[symbol] = value_of(value)
    np.testing.assert_allclose(value_of(z), wanted, rtol=1e-11, atol=1e-11)


def test_a_step_back_through_gates_is_one_product_for_each():
    """Slopes of a gate are one column, however many factors they are."""
    w, x, h = sd.symbol("w", (12, 3)), sd.symbol("x", (5, 12)), 3

    def f(carry, x):
        c, y = carry
        z = w @ y + x
        i, f, g, o = (z[k * h : (k + 1) * h] for k in range(4))
        c = sd.sigmoid(f) * c + sd.sigmoid(i) * sd.tanh(g)
        return (c, sd.sigmoid(o) * sd.tanh(c)), None

    (_, last), _ = sd.scan(f, (sd.zeros(h), sd.zeros(h)), x)
    *_, back = [y for y in sd.nodes(sd.grad(sd.sum(last**2), w)) if isinstance(y.op, Scan)]
    products = [y for y in sd.nodes(back.op.body) if isinstance(y.op, ops.Product)]
    assert back.op.reverse
    assert len(products) == 6
    assert not any(isinstance(y.op, ops.Sum) and len(y.args) == 1 for y in sd.nodes(back.op.body))


def test_biases_are_added_before_the_loop():
    w, x, b = sd.symbol("w", (3, 3)), sd.symbol("x", (5, 3)), sd.symbol("b", 3)
    last = sd.scan(lambda c, v: (sd.tanh(w @ c + v + b), None), sd.zeros(3), x)[0]
    (loop,) = [y for y in sd.nodes(last) if isinstance(y.op, Scan)]
    assert len(loop.op.xs) == len(loop.op.params) == 1
    env = {y: np.random.default_rng(0).normal(size=y.shape) for y in (w, x, b)}
    h = np.zeros(3)
    for row in env[x]:
        h = np.tanh(env[w] @ h + row + env[b])
    np.testing.assert_allclose(nm.interpret(last, env), h, rtol=1e-14)
