"""Sums of products that are computed anyway, and matrix products in the order of their readers."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import numeric as nm
import symdiff as sd
from numeric.lowering import kinds
from numeric.lowering.passes.contractions import merge_contractions
from numeric.lowering.passes.products import sum_known_products
from numeric.lowering.schedule import schedule
from tests.support.budget import sample

S = sd.symbol("S", (4, 4))
R = sd.symbol("R", (4, 4))
CUBES = sd.symbol("T", (3, 3, 3)), sd.symbol("U", (3, 3, 3))
EPS = {np.float64: np.finfo(np.float64).eps, np.float32: np.finfo(np.float32).eps}


def factors(outputs, inputs):
    """How many operands the sums of a program have, with the pass."""
    made = schedule(outputs, inputs)
    steps = sum_known_products(made, [False] * made.length).steps
    return [
        len(step.operands)
        for step in steps
        if isinstance(step.kind, kinds.ByKernel) and step.op.sums
    ]


@pytest.mark.parametrize(
    ("outputs", "expected"),
    [
        ([S * R, sd.einsum("ij,ij->i", S, R)], [1]),
        ([S * R, sd.einsum("ij,ij->j", R, S)], [1]),
        ([S.T * R, sd.einsum("ij,ji->i", S, R)], [1]),
        ([S * R.T, sd.einsum("ij,ji->j", R, S)], [1]),
        ([S * R, sd.einsum("ij,ji->i", S, R)], [2]),  # that of other elements
        ([S.T * R, sd.einsum("ij,ij->i", S, R)], [2]),
        ([S / R, sd.einsum("ij,ij->i", S, R)], [2]),
        ([S * R, sd.einsum("ij,ij->", S, R)], [2]),  # BLAS has these
        ([S * R, S @ R], [2]),
    ],
)
def test_sums_read_the_product_that_is_there(outputs, expected):
    assert factors(outputs, [S, R]) == expected


@sample(80)
@given(
    st.permutations("ijk"),
    st.permutations("ijk"),
    st.permutations("ijk"),
    st.sampled_from([p for n in (1, 2) for p in ("ijk"[:n], "ijk"[-n:], "kj"[:n])]),
    st.sampled_from([np.float32, np.float64]),
    st.integers(0, 10**6),
)
def test_sums_over_turned_products_are_those_of_interpret(first, second, turned, out, dtype, seed):
    """Both orders of adding are within the roundings of the scale of the terms."""
    T, U = CUBES
    a, b, c = ("".join(word) for word in (first, second, turned))
    product = sd.einsum(f"{a}->{c}", T) * sd.einsum(f"{b}->{c}", U)
    total = sd.einsum(f"{a},{b}->{out}", T, U)
    data = [x.astype(dtype) for x in np.random.default_rng(seed).normal(size=(2, 3, 3, 3))]
    found = nm.lower([product, total], [T, U])(*data)
    given_ = dict(zip(CUBES, data, strict=True))
    assert np.array_equal(found[0], nm.interpret(product, given_))
    scale = np.einsum(f"{a},{b}->{out}", *np.abs(data))
    error = np.abs(found[1] - np.einsum(f"{a},{b}->{out}", *data))
    assert np.all(error <= 2 * 10 * EPS[dtype] * scale)
    assert factors([product, total], [T, U]) == [1]


def test_exact_order_adds_the_products_as_interpret_does():
    a, b = np.random.default_rng(0).normal(size=(2, 4, 4))
    outputs = [S * R, sd.einsum("ij,ij->j", S, R)]
    exact = nm.lower(outputs, [S, R], exact_order=True)
    assert np.array_equal(exact(a, b)[1], nm.interpret(outputs[1], {S: a, R: b}))
    assert "einsum" in exact.source
    assert "einsum" not in nm.lower(outputs, [S, R]).source


@pytest.mark.numpy_only("its text")
def test_gradients_of_a_layer_multiply_once_and_are_computed_in_one_order():
    X, A, a, B = (
        sd.symbol(n, s) for n, s in (("X", (99, 70)), ("A", (70, 80)), ("a", 80), ("B", (80, 60)))
    )
    F = nm.lower(sd.sum(sd.sin(sd.tanh(X @ A + a) @ B)), [X, A, a, B])
    rng = np.random.default_rng(1)
    args = [rng.normal(size=x.shape) for x in (X, A, a, B)]
    F.value_and_grad(*args, wrt=["A", "a", "B"])
    last = F.source[F.source.index("def value_and_grad") :]
    assert "einsum" not in last
    assert last.count("sech2(") == last.count("*sech2(") + last.count(", sech2(") == 1
    assert ").T" not in last


def test_matrix_products_are_computed_as_they_are_read():
    made = schedule([sd.sin((S @ R).T)], [S, R])
    kept = merge_contractions(made, [False] * made.length)
    assert [step.kind.name for step in kept.steps if not step.leaf].count(
        "kernel"
    ) == 2  # they are small
    P, Q = sd.symbol("P", (80, 70)), sd.symbol("Q", (70, 90))
    made = schedule([sd.sin((P @ Q).T)], [P, Q])
    turned = merge_contractions(made, [False] * made.length)
    assert [step.kind.name for step in turned.steps if not step.leaf].count("kernel") == 1
