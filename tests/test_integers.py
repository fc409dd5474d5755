"""Integers of every width and sign, at their extremes: values are NumPy's, derivatives are exact.

The oracle is Taylor arithmetic in fractions (``tests.support.jets``); floating point errs by
roundings of the bounds that it carries.
"""

import math
import operator
import warnings
from fractions import Fraction

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import assume, given

import numeric as nm
import symdiff as sd
from symdiff.calculus.real_values import is_real
from tests.support.budget import sample
from tests.support.jets import JETS, partials, variables, weighted_sum
from tests.support.strategies import FAMILIES, programs

# The roundings on the way to a value: a few dozen operations, each of a few dozen terms.
ROUNDINGS = 1000
LARGEST = Fraction(10) ** 280

DTYPES = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")


def extremes(dtype):
    i = np.iinfo(dtype)
    return st.sampled_from([i.max, i.min, i.max - 1, i.min + 1, i.max // 2 + 1, 100, 3, 1, 0])


@st.composite
def mixed_programs(draw, family):
    """A rational program of a real and an integer input, and values for both."""
    program = draw(programs(("pointwise", family), rational=True, steps=5))
    assume(len(program.shapes) == 2)
    real, whole = program.shapes
    count = int(np.prod(real, dtype=int))
    x = np.array(draw(st.lists(st.integers(-16, 16), min_size=count, max_size=count))) / 8
    dtype = draw(st.sampled_from(DTYPES))
    count = int(np.prod(whole, dtype=int))
    k = draw(st.lists(extremes(dtype), min_size=count, max_size=count))
    values = np.array(k, dtype).reshape(whole)
    if not whole:
        values = int(values) if draw(st.booleans()) else values[()]
    return program, x.reshape(real) if real else float(x[0]), values


def close(found, expected, bound, what):
    """Assert that floats err by roundings of the bounds of the exact values."""
    found = np.asarray(found)
    assert found.dtype == float, what
    assert found.shape == expected.shape, what
    for place in np.ndindex(found.shape):
        error = abs(Fraction(found[place].item()) - expected[place])
        assert error <= ROUNDINGS * bound[place] * Fraction(1, 2**53) + Fraction(1, 2**1000), (
            f"{what} {place}: {found[place]}, exactly {float(expected[place])}"
        )


def jets_at(program, x, k):
    """The program's jets by the elements of x."""
    try:
        value = program.plain(JETS, [variables(np.asarray(x), 0), JETS.numbers(k)])
    except ZeroDivisionError:
        assume(False)
    value = JETS.numbers(value)
    assume(all(b < LARGEST for v in value.flat for b in v.bound.values()))
    return value


@pytest.mark.slow
@pytest.mark.parametrize("family", ["pointwise", "contraction", "linear", "literal", "sequence"])
def test_derivatives_of_formulas_with_integers_are_exact(family):
    @sample(60)
    @given(mixed_programs(family))
    def run(drawn):
        program, x, k = drawn
        assume(family != "sequence" or not program.kinks)
        xs = [sd.symbol("x", program.shapes[0]), sd.symbol("k", program.shapes[1], dtype=int)]
        f = sd.constant(0) + program.ours(xs)
        u = np.arange(1.0, f.size + 1).reshape(f.shape)
        F, S = nm.lower(f, xs), nm.lower(sd.sum(f * u), xs)
        jets = jets_at(program, x, k)
        places = np.arange(np.size(x)).reshape(np.shape(x))
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                F(x, k)
            except OverflowError:  # NumPy refuses numbers that the dtype of an operand lacks
                assume(False)
            J, H = F.jacobian(x, k, wrt="x"), F.hessian(x, k, wrt="x")
            _, kept = F.forward(x, k)
            g, none = F.backward(kept, u[()] if f.shape else 1.0)
            _, (joint, _) = S.value_and_grad(x, k)
            single = nm.lower(sd.jacobian(f, xs[0]), xs)(x, k)
        assert none is None
        first, of_first = (partials(jets, places, bounds=b) for b in (False, True))
        close(J, first, of_first, f"jacobian of {program}")
        close(single, first, of_first, f"jacobian of {program}")
        second, of_second = (partials(jets, places, places, bounds=b) for b in (False, True))
        close(H, second, of_second, f"hessian of {program}")
        total = weighted_sum(jets, u)
        slope, of_slope = (partials(total, places, bounds=b) for b in (False, True))
        close(g, slope, of_slope, f"backward of {program}")
        close(joint, slope, of_slope, f"value_and_grad of {program}")
        for place in np.ndindex(np.shape(x)):
            with np.errstate(all="ignore"), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                t = np.zeros(np.shape(x))
                t[place] = 1
                _, pushed = F.jvp([x, k], [t[()] if np.shape(x) else float(t), None])
            column = JETS.array(first[..., *place]), JETS.array(of_first[..., *place])
            close(pushed, *column, f"jvp of {program}")

    run()


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
def test_values_of_formulas_with_integers_are_interpreted_ones(family):
    @sample(60)
    @given(mixed_programs(family))
    def run(drawn):
        program, x, k = drawn
        assume(not isinstance(k, int))  # Python's integers do not wrap around
        xs = [sd.symbol("x", program.shapes[0]), sd.symbol("k", program.shapes[1], dtype=int)]
        f = sd.constant(0) + program.ours(xs)
        assume(any(node.shape for node in sd.nodes(f)))
        results = []
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for run in (nm.lower(f, xs), lambda *v: nm.interpret(f, dict(zip(xs, v, strict=True)))):
                try:
                    results.append(np.asarray(run(np.asarray(x)[()], k)))
                except (OverflowError, np.linalg.LinAlgError) as error:
                    results.append(str(error))
        lowered, interpreted = results
        if isinstance(lowered, str) or isinstance(interpreted, str):
            assert isinstance(lowered, str)
            assert isinstance(interpreted, str)
        else:
            assert lowered.shape == interpreted.shape
            np.testing.assert_allclose(
                lowered.astype(float), interpreted.astype(float), rtol=1e-12, err_msg=str(program)
            )

    run()


@pytest.mark.parametrize("dtype", DTYPES)
def test_integers_of_real_values_are_made_real_before_they_meet(dtype):
    """Else their sum wraps around, and what NumPy has of short ones is of half precision."""
    k, m, x = sd.symbol("k", 3, dtype=int), sd.symbol("m", 3, dtype=int), sd.symbol("x", 3)
    most = np.iinfo(dtype).max
    for f, wanted in (
        (k + m + x, Fraction(2 * most - 1) + Fraction(1, 2)),
        (k / m, Fraction(most, most - 1)),
        (1 / k, Fraction(1, most)),
        (sd.sqrt(k), math.sqrt(most)),
    ):
        values = np.full(3, most, dtype), np.full(3, most - 1, dtype), np.full(3, 0.5)
        F = nm.lower(f, (k, m, x))
        for found in (F(*values), nm.interpret(f, dict(zip((k, m, x), values, strict=True)))):
            assert found.dtype == np.float64
            np.testing.assert_allclose(found, float(wanted), rtol=4 * np.finfo(float).eps)


REDUCTIONS = {
    "sum": np.sum,
    "prod": np.prod,
    "cumsum": np.cumsum,
    "cumprod": np.cumprod,
    "max": np.max,
    "ptp": np.ptp,
    "mean": np.mean,
    "var": np.var,
    "std": np.std,
    "average": np.average,
    "nanmean": np.nanmean,
    "nanvar": np.nanvar,
    "nanstd": np.nanstd,
    "nansum": np.nansum,
    "cov": np.cov,
    "median": np.median,
    "norm": np.linalg.norm,
    "abs": np.abs,
    "square": np.square,
    "negative": np.negative,
    "sort": np.sort,
    "floor": np.floor,
    "nanmax": np.nanmax,
    "nanmin": np.nanmin,
    "vander": np.vander,
    "argsort": np.argsort,
    "flip": np.flip,
    "nan_to_num": np.nan_to_num,
}
NORMS = (1, 2, 3, np.inf, -np.inf)


@pytest.mark.slow
@np.errstate(all="ignore")
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", [*REDUCTIONS, *(f"norm {p}" for p in NORMS), "quantile"])
def test_functions_of_integers_have_the_values_of_numpy(name, dtype):
    i = np.iinfo(dtype)
    a = np.array([i.max, i.min, i.max - 1, i.max // 2], dtype)
    k = sd.symbol("k", 4, dtype=int)
    if name == "quantile":
        # NumPy's own wraps around between the elements
        e, expected = sd.quantile(k, 0.3), np.quantile(a.astype(float), 0.3)
    elif name.startswith("norm "):
        p = float(name[5:])
        e, expected = sd.norm(k, p), np.linalg.norm(a, p)
    else:
        e, expected = getattr(sd, name)(k), REDUCTIONS[name](a)
    for found in (nm.lower(e, [k])(a), nm.interpret(e, {k: a})):
        assert found.dtype == np.asarray(expected).dtype
        np.testing.assert_allclose(
            np.asarray(found, float), np.asarray(expected, float), rtol=1e-12
        )


def test_division_of_python_integers_by_zero_is_that_of_ieee():
    k, m = sd.symbols("k m", dtype=int)
    with pytest.warns(RuntimeWarning, match="divide by zero"):
        assert nm.lower(k / m, [k, m])(5, 0) == np.inf
    with pytest.warns(RuntimeWarning, match="invalid value"):
        assert np.isnan(nm.lower(k / m, [k, m])(0, 0))
    with pytest.warns(RuntimeWarning, match="divide by zero"):
        assert nm.lower(k % m, [k, m])(5, 0) == 0


def test_formulas_without_integer_inputs_are_real():
    x = sd.symbol("x", (0, 2))
    folded = sd.sum(x * x, axis=0) + np.array([3, 4])
    F = nm.lower(folded, x)
    for found in (F(np.zeros((0, 2))), nm.interpret(folded, {x: np.zeros((0, 2))})):
        assert found.dtype == float
        assert found.tolist() == [3, 4]


def test_kinks_raise_behind_integers():
    x, k, m = sd.symbol("x"), *sd.symbols("k m", dtype=int)
    with sd.kinks("raise"):
        F = nm.lower(sd.abs(x * (k + m)) * (k * k + 1), [x, k, m])
    assert F.value_and_grad(1.0, 1, 2)[1][0] == 6.0
    with pytest.raises(sd.NotDifferentiable, match="abs"):
        F.value_and_grad(0.0, 1, 2)


# Formulas of integers alone ---------------------------------------------------------------------

LITERALS = (1, 2, 3, 7, 100, 127, 128, 255, 2**31, 2**63 - 1, 2**63, 2**64, 2**70, 10**30)
PAIRS = {  # ours, NumPy's, and Python's
    "add": (sd.add, np.add, operator.add),
    "subtract": (sd.subtract, np.subtract, operator.sub),
    "multiply": (sd.multiply, np.multiply, operator.mul),
    "maximum": (sd.maximum, np.maximum, max),
    "minimum": (sd.minimum, np.minimum, min),
    "mod": (sd.mod, np.mod, operator.mod),
    "floor_divide": (sd.floor_divide, np.floor_divide, operator.floordiv),
    "where": (
        lambda a, b: sd.where(a < b, a, b),
        lambda a, b: np.where(np.less(a, b), a, b),
        lambda a, b: a if a < b else b,
    ),
    "where not equal": (
        lambda a, b: sd.where(sd.not_equal(a, b), a + 1, b),
        lambda a, b: np.where(np.not_equal(a, b), np.add(a, 1), b),
        lambda a, b: a + 1 if a != b else b,
    ),
}
SINGLE = {
    "negative": (sd.negative, np.negative, operator.neg),
    "abs": (sd.abs, np.abs, abs),
    "sign": (sd.sign, np.sign, lambda a: (a > 0) - (a < 0)),
    "cube": (lambda a: a**3, lambda a: np.power(a, 3), lambda a: a**3),
    "seventh": (lambda a: a**7, lambda a: np.power(a, 7), lambda a: a**7),
    "floor": (sd.floor, np.floor, lambda a: a),
    "round": (sd.round, np.round, lambda a: a),
    "clip": (
        lambda a: sd.clip(a, 2, 99),
        lambda a: np.clip(a, 2, 99),
        lambda a: sorted((2, a, 99))[1],
    ),
}
SEQUENCES = {
    "none": (lambda a: a, lambda a: a),
    "sort": (sd.sort, np.sort),
    "flip": (sd.flip, np.flip),
    "cumsum": (sd.cumsum, np.cumsum),
    "cumprod": (sd.cumprod, np.cumprod),
    "diff": (
        lambda a: sd.concat([a[:1], np.diff(a)]),
        lambda a: np.concatenate([a[:1], np.diff(a)]),
    ),
    "take": (lambda a: sd.take(a, [1, 0, 1]), lambda a: np.take(a, [1, 0, 1])),
    "convolve": (lambda a: sd.convolve(a, a, "same"), lambda a: np.convolve(a, a, "same")),
    "max": (lambda a: a - sd.max(a), lambda a: a - np.max(a)),
}


@st.composite
def integer_formulas(draw):
    """Steps over two integers: a name, and the places of operands; negative ones are literals."""
    steps, count = [], 2
    for _ in range(draw(st.integers(1, 4))):
        first = draw(st.integers(0, count - 1))
        if draw(st.booleans()):
            operands = [first, draw(st.integers(-len(LITERALS), count - 1))]
            steps.append((draw(st.sampled_from([*PAIRS])), operands))
        else:
            steps.append((draw(st.sampled_from([*SINGLE])), [first]))
        count += 1
    return steps


def evaluated(steps, inputs, way):
    """The last of the steps' values: in expressions (0), NumPy (1) or Python (2)."""
    values = list(inputs)
    for name, operands in steps:
        call = (PAIRS.get(name) or SINGLE[name])[way]
        values.append(call(*(values[i] if i >= 0 else LITERALS[i] for i in operands)))
    return values[-1]


def outcomes(e, inputs, values):
    """What a lowered Function and the interpreter give, or the names of their errors."""
    for run in (
        lambda *v: nm.lower(e, inputs)(*v),
        lambda *v: nm.interpret(e, dict(zip(inputs, v, strict=True))),
    ):
        try:
            yield run(*values)
        except OverflowError:
            yield OverflowError


@pytest.mark.slow
@sample(150)
@given(integer_formulas(), st.data())
def test_values_of_integer_formulas_are_those_of_numpy(steps, data):
    """In each dtype.  A number that the dtype lacks may be refused, as terms are collected."""
    dtype = data.draw(st.sampled_from(DTYPES))
    shape = data.draw(st.sampled_from([(), (3,)]))
    numbers = data.draw(st.lists(extremes(dtype), min_size=6, max_size=6))
    values = [np.array(v, dtype) for v in ((numbers[:3], numbers[3:]) if shape else numbers[:2])]
    values = [v if shape else v[()] for v in values]
    inputs = [sd.symbol(name, shape, int) for name in ("k", "m")]
    name = data.draw(st.sampled_from([*SEQUENCES] if shape else ["none"]))
    ours, theirs = SEQUENCES[name]
    with np.errstate(all="ignore"):
        e = evaluated(steps, [ours(x) for x in inputs], 0)
        assume(not is_real(e))  # a number alone
        lowered, interpreted = outcomes(e, inputs, values)
        if lowered is OverflowError or interpreted is OverflowError:
            assert lowered is interpreted
            return
        assert lowered.dtype == interpreted.dtype
        np.testing.assert_array_equal(lowered, interpreted)
        try:
            expected = evaluated(steps, [theirs(v) for v in values], 1)
        except OverflowError:
            return
        np.testing.assert_array_equal(lowered, expected)


@pytest.mark.slow
@sample(150)
@given(
    integer_formulas(),
    st.lists(st.integers(-(2**70), 2**70) | st.integers(-9, 9), min_size=2, max_size=2),
)
def test_integer_formulas_of_python_integers_are_exact(steps, values):
    inputs = sd.symbols("k m", dtype=int)
    try:
        expected = evaluated(steps, values, 2)
    except ZeroDivisionError:
        return
    e = evaluated(steps, inputs, 0)
    assume(not is_real(e))
    lowered, interpreted = outcomes(e, inputs, values)
    assert (lowered, interpreted) == (expected, expected)
