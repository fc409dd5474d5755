"""Gradients and Hessians in SymPy: the formula that was meant, with its own conditions only.

Values are compared with those of ``evalf``, which works on numbers and shares no formula.
"""

from fractions import Fraction

import numpy as np
import pytest
import sympy as sp
from sympy.core.cache import clear_cache

import symdiff as sd
from symdiff.scalars import unevaluated
from tests.support.cases import all_cases

x = sd.symbol("x")
q, u, v = sd.symbol("q", 2), sd.symbol("u", 2), sd.symbol("v", 3)
A = sd.symbol("A", (2, 2))
ARM = sd.stack([2 * sd.cos(q[0]) + sd.cos(q[0] + q[1]), 2 * sd.sin(q[0]) + sd.sin(q[0] + q[1])])
POLAR = sd.stack([q[0] * sd.cos(q[1]), q[0] * sd.sin(q[1])])

# Formulas without a condition, and what is differentiated by.
SMOOTH = {
    "elements": (v[0] ** 2 * v[1] + sd.sin(v[2] * v[0]), v),
    "rows": ((A[0] * A[1] ** 2).sum(), A),
    "columns": ((A[:, 0] @ A[:, 1]) ** 2, A),
    "slices": ((v[1:] ** 2 * v[:-1]).sum(), v),
    "steps": ((v[::2] ** 3).sum() * v[1], v),
    "reversed": ((v[::-1] ** 2 * v).sum(), v),
    "fancy": ((v[[0, 2, 0]] ** 3).sum(), v),
    "fancy pairs": ((A[[0, 1, 1], [1, 0, 1]] ** 3).sum(), A),
    "mask": ((v[np.array([True, False, True])] ** 3).sum(), v),
    "gather": (sd.take(v, [2, 1, 2]) @ v, v),
    "along axis": ((sd.take_along_axis(A, sd.constant([[1], [0]]), 1) ** 3).sum(), A),
    "stack": (POLAR @ POLAR * q[1], q),
    "nested stack": (sd.det(sd.stack([[q[0], q[1] ** 2], [q[1], 1]])), q),
    "arm": (ARM @ ARM, q),
    "concat": ((sd.concat([q**2, [q[0] * q[1]]]) ** 2).sum(), q),
    "update": ((sd.index_update(v, 1, v[0] * v[2]) ** 2).sum(), v),
    "add": ((sd.index_add(v, 1, v[0] ** 2) ** 2).sum(), v),
    "constant": ((v * sd.constant([1, 0, 2]) * v[0] ** 2).sum(), v),
    "padded": ((sd.pad(v, 1)[:3] ** 3).sum(), v),
    "rolled": ((sd.roll(v, 1) * v**2).sum(), v),
    "differences": ((sd.finite_diff(v) ** 4).sum(), v),
    "windows": ((sd.sliding_window_view(v, 2) ** 3).sum(), v),
    "repeated": ((q.repeat(2) ** 3).sum(), q),
    "reshaped": ((A.reshape(4)[1:3] ** 3).sum(), A),
    "diagonal": ((sd.diagonal(A) ** 3).sum(), A),
    "triangle": ((sd.triu(A) ** 3).sum(), A),
    "trace": (sd.trace(A @ A @ A), A),
    "outer": (sd.outer(q, q**2).sum(), q),
    "quadratic": (q @ A @ q, q),
    "einsum": (sd.einsum("ij,jk,ki", A, A, A), A),
    "convolution": ((sd.convolve(v, q) ** 2).sum(), v),
    "cumsum": ((sd.cumsum(v) ** 3).sum(), v),
    "cumprod": (sd.cumprod(v).sum(), v),
    "product": (sd.prod(v) * v[0], v),
    "moments": (v.var() * v.mean(), v),
    "det": (sd.det(A) ** 2, A),
    "inv": (sd.inv(A)[0, 1], A),
    "solve": (sd.solve(A, q) @ q, q),
    "logdet": (sd.slogdet(A)[1], A),
    "logsumexp": (sd.logsumexp(q), q),
    "softmax": (sd.softmax(q)[0], q),
    "squared norm": (sd.norm(v) ** 2 * v[0], v),
    "entropy": ((q * sd.log(q)).sum(), q),
    "powers": ((q**1.5).sum() / q[0], q),
    "cross": ((sd.cross(v, v[::-1]) ** 2).sum(), v),
}
# These have conditions, of their own or at kinks.
SELECTING = {
    "where": (sd.where(q > 0, q**3 * u, sd.exp(q)).sum(), q),
    "masked log": (sd.where(q > 0, sd.log(q) ** 2, 0).sum(), q),
    "masked root of elements": (sd.where(q[0] > 0, sd.sqrt(q[0]) * q[1], q[1] ** 2), q),
    "maximum": (sd.maximum(q[0], q[1]) ** 2, q),
    "clip": ((sd.clip(q, 0, 1) ** 2).sum(), q),
    "norm": (sd.norm(q), q),
    "norm of matrix": (sd.norm(A), A),
    "unit": ((q / sd.norm(q))[0], q),
    "std": (q.std(), q),
    "3-norm": (sd.norm(v, 3), v),
    "largest": (sd.max(q) * q[0], q),
    "smallest": (q.min() ** 2, q),
    "abs": ((sd.abs(q) ** 3).sum(), q),
    "power": (sd.abs(q[0]) ** q[1], q),
    "hypot": (sd.hypot(q[0], q[1]), q),
    "sinc": (sd.sinc(q).sum(), q),
    "xlogy": (sd.xlogy(q, u).sum(), q),
    "logic": (sd.where((q > 0) & ~(u > 1), q**2, u).sum(), q),
}
ALL = {**SMOOTH, **SELECTING}


def derivatives(f, by):
    return [f, sd.grad(f, by), sd.hessian(f, by)]


def parts_of(formula):
    return (
        formula.reshape(len(formula)).tolist() if isinstance(formula, sp.NDimArray) else [formula]
    )


def points():
    """All different, all equal, with zeros, and zero."""
    for values in ([3, -2, 5, 7, 4], [2, 2, 2, 2, 2], [0, 3, 0, 2, 5], [0, 0, 0, 0, 0]):
        yield [Fraction(value, 4) for value in values]


def at(expr, values):
    """The values of the symbols, for ours and for SymPy's components."""
    ours, theirs = {}, {}
    for symbol in expr.free_symbols:
        shape = symbol.shape
        array = np.empty(shape, object)
        for k, index in enumerate(np.ndindex(shape)):
            array[index] = values[k]
            name = "_".join(map(str, (symbol.name, *index)))
            theirs[sp.Symbol(name, real=True)] = sp.Rational(values[k])
        ours[symbol] = array
    return ours, theirs


@pytest.mark.slow
@pytest.mark.parametrize("name", ALL)
def test_the_value_is_that_of_the_expression(name):
    """Wherever that has one, at the places of kinks and conditions too."""
    for expr in derivatives(*ALL[name]):
        parts = parts_of(sd.to_sympy(expr))
        for values in points():
            ours, theirs = at(expr, values)
            try:
                wanted = np.ravel(sd.evalf(expr, 20, ours)).tolist()
            except ArithmeticError:  # exactly 0, which no number of digits tells
                continue
            for part, value in zip(parts, wanted, strict=True):
                if value - value == 0:  # finite
                    found = part.subs(theirs).doit().evalf(30)
                    assert found.is_finite
                    assert abs(found - sp.Float(value, 30)) <= abs(value) * sp.Float(10) ** -19


@pytest.mark.parametrize("name", SMOOTH)
def test_formulas_without_conditions_get_none(name):
    for expr in derivatives(*SMOOTH[name]):
        formula = sd.to_sympy(expr)
        assert not formula.atoms(sp.Piecewise, sp.Rel, sp.ITE)
        assert not formula.atoms(sp.Derivative, sp.DiracDelta, sp.KroneckerDelta)


@all_cases("name", ALL, least=63)
def test_conditions_say_something(name):
    """None is between numbers, none chooses between equal values, none stands in itself."""
    for expr in derivatives(*ALL[name]):
        formula = sd.to_sympy(expr)
        assert all(relation.free_symbols for relation in formula.atoms(sp.Rel))
        for choice in formula.atoms(sp.Piecewise):
            values = [pair.expr for pair in choice.args]
            assert values[0] != values[1]
            assert not any(
                isinstance(value, sp.Piecewise) and value.args[0].cond == choice.args[0].cond
                for value in values
            )


TEXTS = {
    "arm": (
        lambda: sd.jacobian(ARM, q),
        "[[-2*sin(q_0) - sin(q_0 + q_1), -sin(q_0 + q_1)], "
        "[2*cos(q_0) + cos(q_0 + q_1), cos(q_0 + q_1)]]",
    ),
    "like terms": (lambda: v[[0, 2, 0]].sum(), "2*v_0 + v_2"),
    "equal factors": (lambda: q[0] * (q * u)[0] * u[0] ** 2, "q_0**2*u_0**3"),
    "roots": (lambda: sd.grad(sd.sqrt(q @ u) ** 3, q)[0], "3*u_0*sqrt(q_0*u_0 + q_1*u_1)/2"),
    "where": (
        lambda: sd.hessian(sd.where(q[0] > 0, q[0] ** 3, 0), q)[0, 0],
        "6*Piecewise((q_0, 0 < q_0), (0, True))",
    ),
    "norm": (
        lambda: sd.grad(sd.norm(q), q)[0],
        "Piecewise((0, Eq(sqrt(q_0**2 + q_1**2), 0)), (q_0/sqrt(q_0**2 + q_1**2), True))",
    ),
}


@pytest.mark.parametrize("name", TEXTS)
def test_formulas_read_as_meant(name):
    make, text = TEXTS[name]
    assert str(sd.to_sympy(make())) == text


def test_merging_keeps_the_domain():
    roots = sd.stack([sd.sqrt(x), sd.sqrt(x)])
    assert str(sd.to_sympy((roots * roots[::-1])[0])) == "(sqrt(x))**2"
    assert str(sd.to_sympy((roots * x)[1])) == "x**(3/2)"
    assert str(sd.to_sympy(sd.stack([x, x])[0] / sd.detach(x))) == "x/x"


def test_a_symbol_that_sympy_has_forgotten_is_the_same_base():
    first = sp.Symbol("x", real=True)
    clear_cache()
    again = sp.Symbol("x", real=True)
    root = sp.Pow(first, sp.Rational(1, 2), evaluate=False)
    assert [str(factor) for factor in unevaluated.gathered([root, again])] == ["x**(3/2)"]


def _mirrored(formula):
    found = unevaluated.arms(formula)
    return found and (found[0], found[2], found[1])


PLANTED = {
    "powers of one base are lost": (
        "stack",
        "symdiff.interchange.sympy_bridge.gathered",
        lambda factors: factors[:1],
    ),
    "all is finite": ("power", "symdiff.scalars.unevaluated.Poles.absent", lambda *_: True),
    "arms are exchanged": ("masked log", "symdiff.interchange.sympy_bridge.arms", _mirrored),
}


@pytest.mark.parametrize("mistake", PLANTED)
def test_planted_mistakes_are_noticed(monkeypatch, mistake):
    name, place, wrong = PLANTED[mistake]
    monkeypatch.setattr(place, wrong)
    with pytest.raises(AssertionError):
        test_the_value_is_that_of_the_expression(name)
