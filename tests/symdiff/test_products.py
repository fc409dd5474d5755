"""What merges in a product, that nothing else changes, and how large derivatives stay."""

from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import numeric as nm
import symdiff as sd
from symdiff.graph import ops

x, y, z = sd.symbols("x y z")
v, w = sd.symbols("v w", 3)
n, m = sd.symbols("n m", dtype=int)
UNIT = Fraction(1, 2**53)

# Leaves, and factors that are none, each with its exact value.
LEAVES = dict(zip(sd.symbols("a b c d"), map(Fraction, (3, -5, Fraction(1, 2), 7)), strict=True))
OTHERS = {leaf + 1: value + 1 for leaf, value in LEAVES.items()}
VALUES = LEAVES | OTHERS


def product_of(factors, bits):
    """The factors multiplied in their order, associated as the bits say."""
    parts = list(factors)
    while len(parts) > 1:
        bits, k = divmod(bits, len(parts) - 1)
        parts[k : k + 2] = [parts[k] * parts[k + 1]]
    return parts[0]


def powers(bases, most):
    power = st.tuples(st.sampled_from(list(bases)), st.integers(-3, 3).filter(bool))
    return st.lists(power, min_size=1, max_size=most)


ASSOCIATIONS = st.integers(0, 10**9)


@given(powers(LEAVES, 8), ASSOCIATIONS, ASSOCIATIONS, st.randoms(use_true_random=False))
def test_products_of_leaves_have_one_spelling(drawn, first, second, random):
    expected = product_of([leaf**p for leaf, p in drawn], first)
    random.shuffle(drawn)
    assert product_of([leaf**p for leaf, p in drawn], second) is expected
    exponents = {leaf: sum(p for base, p in drawn if base is leaf) for leaf in LEAVES}
    kept = {leaf: p for leaf, p in exponents.items() if p}
    assert set(expected.free_symbols) == set(kept)
    assert (1 / expected) is product_of([leaf**-p for leaf, p in drawn], first)


@given(powers(VALUES, 12), ASSOCIATIONS)
def test_products_keep_their_value(drawn, bits):
    expr = product_of([base**p for base, p in drawn], bits)
    exact = Fraction(1)
    for base, p in drawn:
        exact *= VALUES[base] ** p
    used = [leaf for leaf in LEAVES if leaf in set(expr.free_symbols)]
    got = Fraction(float(nm.lower(expr, used)(*(float(LEAVES[leaf]) for leaf in used))))
    # at most 12 powers of at most 36, each multiplication rounded once, sums exact
    assert abs(got - exact) <= 12 * 40 * UNIT * abs(exact)


@given(powers(VALUES, 6), st.sampled_from(list(LEAVES)), st.integers(1, 3), ASSOCIATIONS)
def test_a_leaf_cancels_through_the_nesting(drawn, leaf, p, bits):
    others = [base**q for base, q in drawn if base is not leaf]
    product = product_of([*others, leaf**p], bits)
    assert leaf not in set(factors(product / leaf**p))


def factors(expr):
    """The bases that a product consists of, through the nesting."""
    stack, found = [expr], []
    while stack:
        node = stack.pop()
        if isinstance(node.op, ops.Product):
            stack.extend(node.args)
        else:
            found.append(node)
    return found


@pytest.mark.parametrize(
    ("product", "merged"),
    [
        (x * (y * z), (x * y) * z),
        (x * y / x, y),
        (y * x * (1 / y), x),
        (x * sd.exp(y) * x, x**2 * sd.exp(y)),
        (sd.exp(y) * x * sd.exp(y), x * sd.exp(y) ** 2),
        (x * y * x * y, (x * y) ** 2),
        (x * y * x * y, x**2 * y**2),
        ((x / y) ** 3, x**3 / y**3),
        (x / (y / z), x * z / y),
        (z * (2 * sd.tanh(x) * z * sd.tanh(x)), 2 * z**2 * sd.tanh(x) ** 2),
        (sd.sqrt(x) * sd.exp(y) * sd.sqrt(x), x * sd.exp(y)),
        (v * sd.sin(w) * v, v**2 * sd.sin(w)),
        (sd.pi * x * y / sd.pi, x * y),
    ],
    ids=str,
)
def test_like_bases_merge_through_nesting_where_a_leaf_is_among_them(product, merged):
    assert product is merged


EXP, SIN = sd.exp(x), sd.sin(x)
# Of more than eight factors, which are one.
MANY = product_of(sd.symbols([f"q{k}" for k in range(9)]), 0)


@pytest.mark.parametrize(
    ("product", "other"),
    [
        # Without a leaf, only equal bases side by side: anything more destroys sharing.
        (EXP * SIN * SIN, EXP * SIN**2),
        # Integers may overflow on the way: their values are those of NumPy, as written.
        (n * (m * n), n**2 * m),
        ((x * n) * m, x * (n * m)),
        ((x * n) / x, n),
        (x * MANY / sd.symbol("q0"), MANY * x),
    ],
    ids=str,
)
def test_what_does_not_merge(product, other):
    assert product is not other


def test_equal_products_merge():
    assert (EXP * SIN) * (EXP * SIN) is (EXP * SIN) ** 2
    assert (MANY * x) / MANY is x * MANY / MANY


@pytest.mark.parametrize("size", [1e-300, 1e-120, 1e120, 1e300])
@pytest.mark.parametrize(("p", "q"), [(p, q) for p in (2, 3, 4) for q in (1, -1, p, -p)])
def test_a_power_does_not_leave_the_range_where_the_product_stays(p, q, size):
    """``x**p * y**q`` with a result near 1, or as near as y can bring it."""
    f = nm.lower(x**p * y**q, [x, y])
    wanted = mpmath.mpf(size) ** (mpmath.mpf(-p) / q)
    other = float(min(max(wanted, mpmath.mpf("1e-300")), mpmath.mpf("1e300")))
    exact = mpmath.mpf(size) ** p * mpmath.mpf(other) ** q
    if not 1e-300 < exact < 1e300:
        return
    for got in (f(size, other), f(np.array([size]), np.array([other]))[0]):
        # a rounding each step
        assert abs(mpmath.mpf(float(got)) / exact - 1) <= 2 * p * float(UNIT)


def test_zero_stays_zero_beside_a_power_that_overflows():
    second = nm.lower(sd.diff(sd.exp(-(x**2)), x, 2), [x])
    with np.errstate(all="ignore"):
        assert [second(at) for at in (1e100, 1e153)] == [0.0, 0.0]
        assert nm.lower(x**4 * y, [x, y])(1e200, 0.0) == 0.0


# Sizes ------------------------------------------------------------------------------------------


def nested(f, depth):
    expr = x
    for _ in range(depth):
        expr = f(expr)
    return expr


def test_sharing_survives():
    """Nodes and operations of the engine's formulas, within 5 % of those of unmerged products."""
    symbols = sd.symbols([f"p{i}" for i in range(1000)])
    long = symbols[0]
    for s in symbols[1:]:
        long = long * s
    for outputs, nodes, operations in [
        (sd.diff(sd.sin(sd.exp(x) + x**2), x, 10), 103, 287),
        (sd.diff(nested(sd.sin, 4), x, 10), 395, 1014),
        (sd.diff(nested(sd.tanh, 2), x, 6), 107, 207),
        (sd.diff(nested(sd.sin, 1000), x), 2999, 2998),
        (sd.diff(1 / (1 + x**2), x, 8), 56, 118),
        (list(sd.grad(long, symbols)), 3994, 2994),
    ]:
        assert sd.count_nodes(outputs) <= 1.05 * nodes
        assert sd.count_operations(outputs) <= 1.05 * operations


@pytest.mark.parametrize(
    ("f", "sizes"),
    [
        (sd.exp(x * x), {10: (31, 68), 100: (301, 788)}),
        (sd.exp(-(x**2) / 2) * sd.sin(x), {10: (37, 94), 20: (131, 1131)}),
        (1 / (1 + x**2), {10: (84, 186), 30: (694, 1746)}),
        (sd.sqrt(1 + x**2), {10: (81, 179), 20: (311, 759)}),
        (sd.sin(x) ** 4, {10: (61, 158), 20: (167, 868)}),
        (sd.sin(sd.exp(x) + x**2), {5: (35, 49), 10: (103, 287)}),
        (sd.tan(x), {10: (72, 181), 20: (474, 2901)}),
        (x * sd.exp(y) * x, {1: (5, 3), 2: (3, 2)}),
        (sd.log(1 + x**2), {10: (84, 186), 20: (314, 766)}),
        (sd.tanh(x), {10: (72, 181), 20: (474, 2901)}),
        (x * y * z * sd.exp(x * y), {5: (15, 13), 20: (30, 28)}),
        ((x**3 - 3 * x) * sd.exp(-(x**2) / 2), {10: (40, 184), 20: (130, 1350)}),
        (x**2 * sd.exp(-x * y) / y, {10: (28, 53), 20: (48, 103)}),
        (x * sd.sin(1 / x), {5: (51, 128), 10: (329, 1482)}),
        (x**3 / (1 + x**2) ** 2, {5: (61, 129), 10: (230, 542)}),
        (sd.atan(x * y), {5: (26, 38), 10: (93, 164)}),
        (nested(sd.sin, 4), {5: (97, 146), 10: (395, 1014)}),
    ],
    ids=str,
)
def test_high_derivatives_stay_as_small_as_the_chain_rule_makes_them(f, sizes):
    """Nodes and operations by order, within 5 % of those of products that merge side by side.

    Functions whose derivatives take more operations for accuracy are not here.
    """
    for order, (nodes, operations) in sizes.items():
        derivative = sd.diff(f, x, order)
        assert sd.count_nodes(derivative) <= 1.05 * nodes, order
        assert sd.count_operations(derivative) <= 1.05 * operations, order


def test_what_users_write_does_not_depend_on_derivatives_that_are_alive():
    f = sd.exp(x * x)
    shared = x * f
    derivative = sd.diff(shared, x)  # holds x*(x*exp(x*x)), nested
    assert x * shared is x**2 * f
    assert any([*map(id, node.args)] == [id(x), id(shared)] for node in nodes(derivative))
    assert sd.diff(x * y * sd.log(x), x) is y * sd.log(x) + y


def nodes(expr):
    """The nodes of an expression."""
    seen, stack = {expr}, [expr]
    while stack:
        for arg in stack.pop().args:
            if arg not in seen:
                seen.add(arg)
                stack.append(arg)
    return seen
