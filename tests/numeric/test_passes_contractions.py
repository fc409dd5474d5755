"""Contractions that take in what only they read: fewer operations, the same sums."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import numeric as nm
import symdiff as sd
from numeric.lowering import costs, kinds
from numeric.lowering.contraction import PAIRS, plan
from numeric.lowering.kernels.gram import gram
from numeric.lowering.passes import contractions
from numeric.lowering.passes.contractions import merge_contractions, sum_operands_first
from numeric.lowering.schedule import schedule
from numeric.lowering.steps import Schedule, Step
from symdiff.graph import ops
from symdiff.graph.axes import canonical
from tests.support.budget import sample

RNG = np.random.default_rng(12)
EPS = np.finfo(float).eps
X, s, w = sd.symbol("X", (300, 80)), sd.symbol("s", 300), sd.symbol("w", 80)


def steps(*outputs):
    """The computed steps of a program over the symbols of ``outputs``."""
    symbols = sorted({x for y in outputs for x in y.free_symbols}, key=lambda x: x.name)
    found = schedule(outputs, symbols)
    return [x for x in merge_contractions(found, [False] * found.length).steps if not x.leaf]


def elements(step):
    return math.prod(step.shapes[0])


# Counts -------------------------------------------------------------------------------------------


def test_a_hessian_of_rows_is_one_weighted_gram_matrix():
    f = sd.sum(sd.softplus(X @ w)) / 300
    *_, weights, product = steps(sd.hessian(f, w))
    assert (product.kind, product.shapes[0]) == (kinds.Gram(), (80, 80))
    assert elements(weights) == 300  # nothing of the size of X is made, and 1/1200 is on the rows


@pytest.mark.parametrize("turned", [False, True])
def test_both_orders_of_rows_are_gram_matrices(turned):
    A = X if turned else sd.symbol("Xt", (80, 300))
    B = A.T if turned else A
    assert [x.kind.name for x in steps((B * s) @ B.T)][-1] == "gram"
    at = RNG.normal(size=A.shape), RNG.normal(size=300) ** 2
    found = nm.lower((B * s) @ B.T, [A, s])(*at)
    a = at[0].T if turned else at[0]
    np.testing.assert_allclose(found, (a * at[1]) @ a.T, rtol=1e-12, atol=1e-12)
    assert np.array_equal(found, found.T)


def test_a_factorisation_multiplies_its_small_factors_first():
    U, V = sd.symbol("U", (90, 4)), sd.symbol("V", (90, 4))
    T, S = sd.symbol("T", (90, 90)), sd.symbol("S", (90, 90))
    found = steps(sd.hessian(sd.sum(S * (T - U @ V.T) ** 2), U))
    largest = max(elements(x) for x in found[:-1])
    assert largest <= 4 * 4 * 90  # without the pass: 4 * 90 * 90
    assert elements(found[-1]) == (90 * 4) ** 2
    assert [x.kind.name for x in found].count("sum") == 1  # 2 on V, not on the Hessian


def test_a_sum_goes_into_the_operand_that_has_the_letter():
    L, Y = sd.symbol("L", (40, 40)), sd.symbol("Y", (40, 200))
    (step,) = steps(sd.sum(L.T @ Y, axis=1))
    text = plan(step.op, [L.shape, Y.shape]).text
    assert text == "sum ik->i, matrix-vector ij,i->j"


def test_what_blas_writes_counts_as_what_numpy_writes():
    """Small products of long rows: their results cost more than their multiplications."""
    L, Y = sd.symbol("L", (5, 2, 2)), sd.symbol("Y", (5, 2, 1000))
    (step,) = steps(sd.sum(sd.matrix_transpose(L) @ Y, axis=2))
    assert plan(step.op, [L.shape, Y.shape]).stages[0].kind == "sum"
    at = RNG.normal(size=L.shape), RNG.normal(size=Y.shape)
    found = nm.lower(sd.sum(sd.matrix_transpose(L) @ Y, axis=2), [L, Y])(*at)
    np.testing.assert_allclose(found, np.einsum("kij,kin->kj", *at), rtol=1e-12, atol=1e-12)


def test_a_coefficient_multiplies_the_smallest_operand():
    a, b = sd.symbol("a", 100), sd.symbol("b", (100, 2))
    C = sd.symbol("C", (2, 300))
    found = steps(sd.einsum("ij,jk->ik", b * a[:, None], C) / 7)
    (scaled,) = [x for x in found if isinstance(x.kind, kinds.Sum)]
    assert elements(scaled) == 200  # of 30,000 in the result


def test_what_others_read_stays():
    A, B, v = sd.symbol("A", (99, 99)), sd.symbol("B", (99, 99)), sd.symbol("v", 99)
    assert len(steps((A @ B) @ v)) == 1
    assert len(steps((A @ B) @ v, A @ B)) == 2


def test_a_sum_over_what_is_stretched_stays_a_sum():
    """No expression has one: ``symdiff`` counts instead.  A pass may make one."""
    nothing = (False,)
    spread = ops.contract_op(((0,),), (0, 1), (90,), nothing)
    product = ops.contract_op(((0, 1), (0, 2)), (2,), (), 2 * nothing)
    rows, matrix = schedule([X[:, 0], X], [X[:, 0], X]).steps
    made = (
        rows,
        matrix,
        Step(kinds.ByKernel(), (0,), (2,), (spread,), ((300, 90),), (float,)),
        Step(kinds.ByKernel(), (2, 1), (3,), (product,), ((80,),), (float,)),
    )
    given = Schedule((0, 1), made, (3,), (), 4)
    assert merge_contractions(given, [False] * 4) == given


def test_products_of_one_shape_are_left_to_blocks_of_rows():
    Y = sd.symbol("Y", (300, 80))
    assert "product" in [x.kind.name for x in steps((X * Y * sd.exp(X)) @ w)]


def test_exact_order_and_small_arrays_keep_the_order():
    A, B = sd.symbol("A", (99, 99)), sd.symbol("B", (99, 99))
    v, small = sd.symbol("v", 99), sd.symbol("small", (3, 3))
    exact = nm.lower((A @ B) @ v, [A, B, v], exact_order=True)
    assert exact.explain() != nm.lower((A @ B) @ v, [A, B, v]).explain()
    assert len(steps((small @ small.T) @ sd.symbol("u", 3))) == 2


# Values -------------------------------------------------------------------------------------------

LETTERS = {1: "e", 2: "ab", 3: "cd"}


@st.composite
def recipes(draw):
    """Shapes of inputs, and steps: multiples and sums of products of what is there by then."""
    given = st.sampled_from([(2, 3), (3, 2), (3, 3), (2, 2), (3, 1), (3,), (2,), (1,), ()])
    shapes = [draw(given) for _ in range(3)]
    inputs, made = tuple(shapes), []
    for _ in range(draw(st.integers(2, 6))):
        if draw(st.integers(0, 4)) == 0:
            place = draw(st.integers(0, len(shapes) - 1))
            made.append((draw(st.sampled_from([2, -3, 7])), place))
            shapes.append(shapes[place])
            continue
        places = draw(st.lists(st.integers(0, len(shapes) - 2), max_size=2))
        places.append(len(shapes) - 1)  # so that most values are read once
        words = ["".join(draw(st.sampled_from(LETTERS[n])) for n in shapes[k]) for k in places]
        there = sorted({k for word in words for k in word})
        out = "".join(draw(st.permutations(there))[: draw(st.integers(1, 3))])
        made.append((f"{','.join(words)}->{out}", *places))
        shapes.append(tuple(next(n for n in LETTERS if k in LETTERS[n]) for k in out))
    return inputs, made


def followed(made, values, einsum):
    """All values of a recipe."""
    found = list(values)
    for what, *places in made:
        operands = [found[k] for k in places]
        found.append(einsum(what, *operands) if isinstance(what, str) else what * operands[0])
    return found


def roundings(made, count):
    """How often the last value of a recipe is rounded, at most, in whichever order it adds."""
    found = [0] * count
    for what, *places in made:
        terms = math.prod(2 if k in "ab" else 3 for k in set(str(what)) & set("abcd"))
        # Each term is added once and multiplied once for each factor; weights have roots.
        found.append(sum(found[k] for k in places) + terms + len(places) + 4)
    return found[-1]


@pytest.mark.slow
def test_merged_programs_have_the_value_within_the_bound_of_sums(monkeypatch):
    # Arrays are small here, and few of their contractions are matrix products.
    monkeypatch.setattr(costs, "CALLS", -1)
    monkeypatch.setattr(contractions, "BLAS", frozenset(name for name, _ in PAIRS))
    changed = 0

    @sample(300)
    @given(recipes(), st.integers(0, 2**32 - 1))
    def run(recipe, seed):
        nonlocal changed
        inputs, made = recipe
        xs = [sd.symbol(f"x{k}", shape) for k, shape in enumerate(inputs)]
        f = sd.constant(0) + followed(made, xs, sd.einsum)[-1]
        rng = np.random.default_rng(seed)
        values = [rng.uniform(-2, 2, shape) for shape in inputs]
        fractions = [np.vectorize(Fraction, otypes=[object])(v) for v in values]
        exact = np.asarray(followed(made, fractions, np.einsum)[-1])
        sizes = [(abs(w) if not isinstance(w, str) else w, *places) for w, *places in made]
        size = np.asarray(followed(sizes, [abs(v) for v in fractions], np.einsum)[-1])
        found = np.asarray(nm.lower(f, xs)(*values))
        assert found.shape == exact.shape
        error = abs(np.vectorize(Fraction, otypes=[object])(found) - exact)
        assert np.all(error <= Fraction(EPS) * roundings(made, len(inputs)) * size)
        before = schedule([f], xs)
        after = merge_contractions(before, [False] * before.length)
        changed += before.steps != after.steps

    run()
    assert changed >= 10  # of 300 fresh programs about 35 are merged, at times 25


@pytest.mark.numpy_only("its bits")
def test_merged_gradients_are_those_in_exact_order():
    shapes = {"L": (30, 40, 40), "x": (200, 40), "m": (30, 40)}
    L, x, m = (sd.symbol(name, shape) for name, shape in shapes.items())
    y = sd.einsum("knj,kij->kni", x - m[:, None], L)
    f = sd.sum(sd.logsumexp(-sd.sum(y**2, axis=2), axis=0))
    at = [RNG.normal(size=shape) for shape in shapes.values()]
    value, found = nm.lower(f, [L, x, m]).value_and_grad(*at)
    exact, expected = nm.lower(f, [L, x, m], exact_order=True).value_and_grad(*at)
    assert value == exact
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-10 * np.abs(b).max())


@pytest.mark.parametrize("sign", [1, -1])
def test_the_hessian_of_a_concave_function_is_as_symmetric(sign):
    f = sign * sd.sum(sd.softplus(X @ w))
    at = RNG.normal(size=(300, 80)), RNG.normal(size=80) / 9
    found = nm.lower(f, [X, w]).hessian(*at, wrt=w)
    p = 1 / (1 + np.exp(-(at[0] @ at[1])))
    np.testing.assert_allclose(found, sign * at[0].T @ ((p * (1 - p))[:, None] * at[0]), atol=1e-11)
    assert np.array_equal(found, found.T)


# Sums of single operands --------------------------------------------------------------------------

NAMED = {"i": 2, "j": 3, "k": 4, "l": 2, "m": 3}


def arrays(*words):
    """An input for each word, whose letters are its axes."""
    return [sd.symbol(f"x{k}", [NAMED[x] for x in word]) for k, word in enumerate(words)]


def contracted(words, out):
    """A program of one contraction of inputs, as it stands: expressions have other letters."""
    letters = [tuple(map(ord, word)) for word in words]
    xs = arrays(*words)
    inputs = schedule(xs, xs).steps
    op = ops.contract_op(*canonical(letters, tuple(map(ord, out))), (), (False,) * len(words))
    shape = tuple(NAMED[x] for x in out)
    step = Step(kinds.ByKernel(), tuple(range(len(xs))), (len(xs),), (op,), (shape,), (float,))
    return Schedule(tuple(range(len(xs))), (*inputs, step), (len(xs),), (), len(xs) + 1)


def by_einsum(program, values):
    """What a program of contractions gives, each by NumPy."""
    known = dict(zip(program.params, values, strict=True))
    for step in program.steps[len(values) :]:
        assert isinstance(step.kind, kinds.ByKernel)
        pairs = zip(step.operands, step.op.letters, strict=True)
        terms = [part for v, word in pairs for part in (known[v], list(word))]
        (v,), (shape,) = step.results, step.shapes
        known[v] = np.einsum(*terms, list(step.op.out))
        assert known[v].shape == shape
    return known[program.results[0]]


@pytest.mark.parametrize(
    ("words", "out", "count"),
    [
        (["ij", "jk"], "ik", 1),  # nothing is alone
        (["ij", "kj"], "j", 3),  # each has one
        (["ijkl", "lm"], "m", 2),  # several of one operand are one sum
        (["ijk", "jlm", "j"], "j", 3),
        (["ij"], "j", 1),  # of one operand: a sum by itself
        (["ij", "k"], "k", 1),  # what would be a number is none
        (["iij", "j"], "j", 1),  # a diagonal is taken by what has it
        (["ij", "ik"], "jk", 1),
    ],
)
def test_letters_of_one_operand_alone_are_summed_before(words, out, count):
    before = contracted(words, out)
    after = sum_operands_first(before)
    assert len(after.steps) == len(words) + count
    rng = np.random.default_rng(0)
    values = [rng.integers(-9, 10, [NAMED[x] for x in word]) for word in words]
    expected = np.einsum(f"{','.join(words)}->{out}", *values)
    np.testing.assert_array_equal(by_einsum(after, values), expected)
    if count == 1:
        assert after == before


def test_sums_are_kept_where_all_of_them_are_of_one_operand_or_none():
    """What contracts has no letter of its own then, and reads the sums in the place of arrays."""
    *_, first, second, product = sum_operands_first(contracted(["ij", "kj"], "j")).steps
    assert [first.operands, second.operands] == [(0,), (1,)]
    assert product.operands == (*first.results, *second.results)
    assert product.results == (2,)
    assert [first.shapes, second.shapes, product.shapes] == [((3,),)] * 3


def test_numbers_masks_and_what_has_kills_are_left():
    """A number stands for an array of its shape, a mask has another sum, a kill its own rule."""
    plain = contracted(["ij", "j"], "j")
    first, second, step = plain.steps
    number = first._replace(kind=kinds.Number(2), weak=True)
    mask = first._replace(dtypes=(bool,))
    op = ops.contract_op(step.op.letters, step.op.out, (), (True, False))
    killed = step._replace(ops=(op,))
    for steps in ((number, second, step), (mask, second, step), (first, second, killed)):
        program = plain._replace(steps=steps)
        assert sum_operands_first(program) == program
    assert sum_operands_first(plain) != plain


@sample(100)
@given(st.lists(st.text("ijklm", max_size=3), min_size=1, max_size=4), st.data())
def test_contractions_of_sums_have_the_same_value(words, data):
    there = sorted(set("".join(words)))
    out = "".join(data.draw(st.permutations(there))[: data.draw(st.integers(0, 3))])
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    values = [rng.integers(-9, 10, [NAMED[x] for x in word]) for word in words]
    before = contracted(words, out)
    after = sum_operands_first(before)
    expected = np.einsum(f"{','.join(words)}->{out}", *values)
    np.testing.assert_array_equal(by_einsum(after, values), expected)
    letters = after.steps[-1].op.letters
    for k, word in enumerate(letters if len(words) > 1 else ()):
        others = {*after.steps[-1].op.out, *[x for j, w in enumerate(letters) if j != k for x in w]}
        alone = [x for x in word if x not in others]
        assert not alone or len(alone) == len(word) or len(set(word)) < len(word)


@pytest.mark.numpy_only("its source")
def test_exact_order_keeps_the_order_of_contractions_in_blocks():
    A, B = sd.symbol("Aw", ("n", 200)), sd.symbol("Bw", ("n", 300))
    f = sd.einsum("ni,nj->n", sd.abs(A) * 2 + A, B)
    at = RNG.normal(size=(1500, 200)), RNG.normal(size=(1500, 300))
    plain = nm.interpret([f], {A: at[0], B: at[1]})[0]
    exact = nm.lower(f, [A, B], exact_order=True)
    np.testing.assert_array_equal(exact(*at), plain)
    F = nm.lower(f, [A, B])
    sizes = (3 * abs(at[0])).sum(axis=1) * abs(at[1]).sum(axis=1)
    assert np.all(abs(F(*at) - plain) <= 2 * (200 + 300 + 4) * EPS * sizes)
    assert "rows_1(" in F.source


# Weighted Gram matrices ---------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float32, float])
@pytest.mark.parametrize("weights", ["positive", "negative", "mixed", "zero"])
def test_gram_is_the_sum_over_rows(weights, dtype):
    a = RNG.normal(size=(7, 4)).astype(dtype)
    each = RNG.normal(size=7).astype(dtype)
    each = {"positive": abs(each), "negative": -abs(each), "mixed": each, "zero": each * 0}[weights]
    found = gram(a, each)
    exact = sum(
        Fraction(float(s)) * np.vectorize(Fraction, otypes=[object])(np.outer(r, r).astype(object))
        for s, r in zip(each, a.astype(float), strict=True)
    )
    assert found.dtype == dtype
    sizes = (abs(a).T * abs(each)) @ abs(a)
    # Seven products and sums, and two roots; the outer products above are rounded once.
    assert np.all(abs(found - exact.astype(float)) <= 16 * np.finfo(dtype).eps * sizes)
    if weights != "mixed":
        assert np.array_equal(found, found.T)


def test_gram_of_no_rows_and_of_what_is_not_finite():
    assert np.array_equal(gram(np.zeros((0, 2)), np.zeros(0)), np.zeros((2, 2)))
    assert np.all(np.isnan(gram(np.ones((2, 2)), np.array([np.nan, 1.0]))))
    assert np.all(gram(np.ones((2, 2)), np.array([np.inf, 1.0])) == np.inf)
