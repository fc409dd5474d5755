"""What users of other libraries reported in public threads, as tests of the same situation here.

A test is named after its thread: ``test_pytorch_4132`` is number 4132 of the tracker of PyTorch.
``PAINS`` lists the threads, ``NOT_EXPRESSED`` those that have no counterpart, with the reason; a
test at the end compares the lists with the tests.  Warnings are errors in all of them.
"""

import asyncio
import copy
import math
import pickle
import re
import subprocess
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from fractions import Fraction

import mpmath as mp
import numpy as np
import pytest
import sympy as sp

import numeric as nm
import symdiff as sd

x, y, z = sd.symbols("x y z")
v = sd.symbol("v", "n")
ULPS = 16 * np.finfo(float).eps

PAINS = {
    "nan through where": """
        pytorch_4132 pytorch_23395 pytorch_36923 pytorch_52248 pytorch_68425 pytorch_108618
        pytorch_156212 pytorch_187297 jax_347 tinygrad_12409 tinygrad_15806 theano_4918 casadi_1805
        casadi_1878 enzyme_2285 symforce_445 taichi_1367""",
    "every branch is evaluated": """
        sympy_11306 sympy_14789 sympy_15014 sympy_19441 sympy_21083 sympy_28585 sympy_26032""",
    "array in, scalar out": """
        sympy_5642 sympy_30032 sympy_30334 sympy_9725 sympy_18347 sympy_24036 sympy_27632
        symengine_py_174 fiat_54 sympde_103""",
    "matrix derivatives": """
        sympy_10509 sympy_15649 sympy_21062 sympy_23423 sympy_25118 sympy_26561 sympy_26585
        sympy_28618 sympy_28640 sympy_28838 sympy_30527 openmdao_2535""",
    "recursion": """
        sympy_24673 sympy_26807 sympy_11802 sympy_23692 pytorchviz_57 pycalphad_194 pysr_1094""",
    "special functions": """
        sympy_18179 sympy_24175 sympy_17746 sympy_16535 sympy_23924 sympy_14975 diofant_1494
        specialfunctions_160 specialfunctions_292 stan_math_3306 stan_1939 mpmath_734""",
    "kinks": "sympy_26663 sympy_18636 sympy_22726 sympy_21573 sympy_20411",
    "indexed sums": """
        sympy_21891 sympy_13994 sympy_9185 sympy_12751 sympy_24032 sympy_27852 symengine_1643
        symbolics_600""",
    "text is evaluated": """
        sympy_10805 sympy_24990 sympy_12524 sympy_27763 sirepo_1637 optics_design_workbench_59
        pyhf_2717""",
    "pickling": "dill_104 dill_201 dill_247 symengine_py_294 nutils_213 rt1_55",
    "assignment": """
        autograd_58 autograd_177 autograd_375 autograd_515 autograd_559 autograd_13 pytorch_9391
        pytorch_96265 pytorch_2940 pytorch_11192 pytorch_20528""",
}

_UNREAD = "no text of the thread is at hand, so that its situation is not known"

NOT_EXPRESSED = {
    "sympy_21083": "about keeping a formula readable to a just-in-time compiler; none is used here",
    "sympy_26032": "about a just-in-time compiler that lacks functions of NumPy; none is used here",
    "sympy_21062": _UNREAD,
    "sympy_23423": _UNREAD,
    "sympy_28640": _UNREAD,
    "sympy_11802": _UNREAD,
    "pytorchviz_57": "about drawings of graphs, which do not exist here",
    "pycalphad_194": "needs a thermodynamic database; large formulas are in sympy_24673",
    "sympy_14975": _UNREAD,
    "symbolics_600": _UNREAD,
    "sympy_27763": "changes documentation only",
    "optics_design_workbench_59": _UNREAD,
    "nutils_213": _UNREAD,
    "autograd_559": _UNREAD,
    "autograd_13": _UNREAD,
    "pytorch_96265": "the thread contains no code",
}


def gradient(f, variable, at, **others):
    """The gradient by every way of computing it, which must agree: the array of one of them."""
    inputs = f.free_symbols
    values = {w: others.get(w.name, at) for w in inputs}
    function = nm.lower(f, inputs)
    _, (joint,) = function.value_and_grad(*values.values(), wrt=[variable])
    _, kept = function.forward(*values.values())
    backward = dict(zip(inputs, function.backward(kept, 1.0), strict=True))
    for other in (backward[variable], nm.interpret(sd.grad(f, variable), values)):
        np.testing.assert_allclose(other, joint, rtol=64 * ULPS, atol=ULPS / 16)
    return np.asarray(joint)


def check(f, variable, at, expected, **others):
    found = gradient(f, variable, np.asarray(at, dtype=float), **others)
    np.testing.assert_allclose(found, expected, rtol=ULPS)


# NaN through where --------------------------------------------------------------------------------


def test_pytorch_4132():
    div = np.array([0.0, 1.0])
    d = sd.symbol("d", "n")
    check(sd.sum(sd.where(d == 0, 0, v / d)), v, [1, 1], [0, 1], d=div)
    d2, v2 = sd.symbol("d", 2), sd.symbol("v", 2)
    with np.errstate(divide="ignore"):  # NumPy warns of (v/d)[d != 0] too
        check(sd.sum((v2 / d2)[div != 0]), v2, [1, 1], [0, 1], d=div)


def test_pytorch_23395():
    check(sd.sum(sd.where(v == 0, v / 2, sd.sqrt(v) + 1)), v, [16, 0], [0.125, 0.5])


def test_pytorch_36923():
    t = sd.symbol("t")
    check(sd.where(x >= t, x, t * sd.exp(x / t)), x, 1, 1, t=0.0)
    assert sd.grad(sd.where(x >= t, x, t * (x / t)), x) is sd.constant(1)


def test_pytorch_52248():
    b = sd.symbol("b", dtype=bool)
    zero = sd.symbol("zero")
    f = nm.lower(sd.where(b, x / zero, 1), [b, x, zero])
    assert f.value_and_grad(False, 0.3, 0.0, wrt="x") == (1.0, 0.0)


def test_pytorch_68425():
    check(sd.where(x <= 0, sd.exp(x), 1 + x), x, 1000, 1)


def test_pytorch_108618():
    f = sd.sum(sd.where(v > 2, sd.log2(v), 2 * v))
    check(f, v, [0, 2, 3], [2, 2, 1 / (3 * math.log(2))])


def test_pytorch_156212():
    check(sd.sum(sd.where(v <= 10, sd.exp(v), 1)), v, [1, np.nan, 1e10], [math.e, 0, 0])


def test_pytorch_187297():
    check(sd.sum(sd.where(v > 0, sd.sqrt(v), v)), v, [-1, -4], [1, 1])


def test_jax_347():
    X = sd.symbol("X", ("n", 2))
    norm = sd.sqrt(sd.sum(X**2, axis=1))
    f = sd.sum(sd.where(norm > 0.5, norm, 1))
    a, b = np.array([1, 2]) / math.sqrt(5), np.array([3, 4]) / 5
    check(f, X, [[1, 2], [3, 4], [0, 0]], [a, b, [0, 0]])


def test_tinygrad_12409():
    check(sd.sum(sd.where(v == 0, 0, v * sd.sqrt(v))), v, [0, 4], [0, 3])


def test_tinygrad_15806():
    check(sd.where(x > 0, sd.sqrt(x), 0), x, 0, 0)


def test_theano_4918():
    f = sd.where(x > 0, x + 1, sd.exp(x))
    for at, expected in [(-1, math.exp(-1)), (1, 1), (100, 1), (1000, 1)]:
        check(f, x, at, expected)


def test_casadi_1805():
    f = sd.where(x > 0, sd.sqrt(x), 0)
    for at, expected in [(-1, 0), (0, 0), (1, 0.5)]:
        check(f, x, at, expected)


def test_casadi_1878():
    f = sd.where(x > 0, sd.sqrt(x), 0)
    second = nm.lower([f, sd.diff(f, x), sd.diff(f, x, 2)], [x])
    assert second(-3.0) == (0.0, 0.0, 0.0)
    assert second(4.0) == (2.0, 0.25, -1 / 32)


def test_enzyme_2285():
    elu = sd.where(v > 0, v, sd.exp(v) - 1)
    f = nm.lower(sd.sum(elu), [v])
    _, (g,) = f.value_and_grad(np.array([88, 89, 1000], dtype=np.float32))
    assert g.dtype == np.float32
    assert g.tolist() == [1, 1, 1]


def test_symforce_445():
    f = sd.sqrt(sd.maximum(0, x**2 - z**2))
    check(f, x, 1, 0, z=2.0)
    check(f, x, 2, 2 / math.sqrt(3), z=1.0)


def test_taichi_1367():
    f = sd.where(x > 1, 1 / x, 0)
    check(f, x, 0, 0)
    check(f, x, 2, -0.25)


# Every branch is evaluated ------------------------------------------------------------------------


def lowered(formula, names):
    return nm.lower(sd.from_sympy(formula), sd.symbols(names))


def test_sympy_11306():
    a, b = sp.symbols("x y")
    f = lowered(sp.Piecewise((1 / a, b < -1), (a, b <= 1), (1 / a, True)), "x y")
    assert f(0, 1) == 0
    assert f(0.0, 1.0) == 0.0
    assert f(np.array([0.0, 4.0]), np.array([1.0, -2.0])).tolist() == [0.0, 0.25]


def test_sympy_14789():
    a = sp.Symbol("x")
    f = lowered(sp.Piecewise((sp.log(-a), a < 0), (sp.log(a), True)), ["x"])
    assert f(10) == math.log(10)
    np.testing.assert_allclose(f(np.array([-2.0, 3.0])), np.log([2, 3]), rtol=ULPS)


def test_sympy_15014():
    a = sp.Symbol("x")
    inner = sp.Piecewise((1 / a, sp.Ne(a, 0)), (0, True))
    f = lowered(sp.Piecewise((sp.sqrt(a), a > 0), (inner, True)), ["x"])
    assert f(np.array([4.0, 0.0, -2.0])).tolist() == [2.0, 0.0, -0.5]


def test_sympy_19441():
    a, b, t = sp.symbols("a b t", real=True)
    formula = (sp.sin(a * t) + sp.cos(b * t)).integrate((t, 0, 2 * sp.pi))
    f = lowered(formula, "a b")
    assert f(0, 1) == pytest.approx(0, abs=1e-15)
    assert f(1, 0) == pytest.approx(2 * math.pi)
    assert f(0, 0) == pytest.approx(2 * math.pi)


def test_sympy_28585():
    a = sp.Symbol("x")
    f = lowered(sp.Piecewise((sp.sqrt(a), a >= 0), (sp.sqrt(-a), True)), ["x"])
    np.testing.assert_allclose(f(np.array([1.2, -1.2])), np.sqrt([1.2, 1.2]), rtol=ULPS)


# Array in, scalar out -----------------------------------------------------------------------------


def test_sympy_5642():
    f = nm.lower(sd.diff(x**2, x, 2), [x])
    found = f(np.linspace(-2, 2, 10))
    assert found.dtype == float
    assert found.tolist() == [2.0] * 10


def test_sympy_30032():
    f = nm.lower(sd.constant(5), [x, y])
    assert f(np.zeros(4), np.zeros(4)).tolist() == [5] * 4


def test_sympy_30334():
    f = nm.lower([sd.constant(5), x + 1], [x, y])
    five, more = f(np.zeros((3, 1)), np.zeros(4))
    assert five.shape == more.shape == (3, 4)


def test_sympy_9725():
    f = y * x**2
    second = [sd.diff(f, a, b) for a in (x, y) for b in (x, y)]
    points = np.random.default_rng(0).uniform(size=(2, 12, 10))
    for found in nm.lower(second, [x, y])(*points):
        assert found.shape == (12, 10)
        assert found.dtype == float
    assert not nm.lower(second, [x, y])(*points)[3].any()


def test_sympy_18347():
    f = nm.lower(x * (x + 1) - x**2 - x + 1, [x])
    assert f(np.array([1.0, 2.0])).tolist() == [1, 1]
    assert nm.lower(sd.constant(1), [x])(np.array([1, 2])).tolist() == [1, 1]
    assert f(1) == 1


def test_sympy_24036():
    assert nm.lower(x / x, [x])(np.array([1, 2, 3])).tolist() == [1, 1, 1]


def test_sympy_27632():
    a, b = sd.symbols("a b")
    matrix = sd.stack([sd.stack([a, b]), sd.stack([a + b, b**2])])
    found = nm.lower(matrix, [a, b])(np.ones(5), 10.0)
    assert found.shape == (5, 2, 2)
    assert found[3].tolist() == [[1, 10], [11, 100]]


def test_symengine_py_174():
    f = nm.lower([sd.cos(x) ** i for i in range(5)], [x])
    at = np.array([1.0, 2.0, 3.0])
    np.testing.assert_allclose(f(at), [np.cos(at) ** i for i in range(5)], rtol=ULPS)


def test_fiat_54():
    assert nm.lower(sd.diff(x + y, x, y), [x, y])(np.ones(7), np.ones(7)).tolist() == [0] * 7


def test_sympde_103():
    identity = nm.lower(sd.eye(2) + 0 * x, [x])
    assert identity(0.0).tolist() == np.eye(2).tolist()
    assert identity(np.zeros(3)).shape == (3, 2, 2)


# Matrix derivatives -------------------------------------------------------------------------------

E = sd.symbol("E", ("n", "n"))
MATRIX = np.random.default_rng(3).normal(size=(3, 3)) + 3 * np.eye(3)
LINEAR_ALGEBRA = 64 * ULPS


def matrix_check(f, expected):
    np.testing.assert_allclose(gradient(f, E, MATRIX), expected, rtol=LINEAR_ALGEBRA, atol=1e-13)


def test_sympy_10509():
    A, B = sd.symbol("A", (3, 2)), sd.symbol("B", (2, 3))
    at = np.arange(6.0).reshape(2, 3)
    found = nm.interpret(sd.jacobian(A @ B, A), {A: np.ones((3, 2)), B: at})
    np.testing.assert_array_equal(found, np.einsum("ik,lj->ijkl", np.eye(3), at))


def test_sympy_15649():
    matrix_check(sd.det(E), np.linalg.det(MATRIX) * np.linalg.inv(MATRIX).T)


def test_sympy_25118():
    matrix_check(sd.trace(E.T @ E) - 3, 2 * MATRIX)


def test_sympy_26561():
    matrix_check(sd.trace(E) ** 2 + 1, 2 * np.trace(MATRIX) * np.eye(3))
    matrix_check(sd.trace(E) + 1, np.eye(3))


def test_sympy_26585():
    A, U, V = sd.symbol("A", ("n", "m")), sd.symbol("U", ("n", "k")), sd.symbol("V", ("k", "m"))
    a, u, w = (np.random.default_rng(4).normal(size=s) for s in [(3, 4), (3, 2), (2, 4)])
    rest = A - U @ V
    f = sd.trace(rest.T @ rest) / 2 + sd.trace(U.T @ U) / 2
    found = gradient(f, U, u, A=a, V=w)
    np.testing.assert_allclose(found, -(a - u @ w) @ w.T + u, rtol=LINEAR_ALGEBRA, atol=1e-13)


def test_sympy_28618():
    matrix_check(sd.log(sd.det(E)), np.linalg.inv(MATRIX).T)


def test_sympy_28838():
    inverse, det = np.linalg.inv(MATRIX).T, np.linalg.det(MATRIX)
    matrix_check(7 * sd.det(E), 7 * det * inverse)
    matrix_check(1 / sd.det(E), -inverse / det)


def test_sympy_30527():
    identity = np.eye(3)
    M = sd.symbol("M", (3, 3))
    found = gradient(sd.trace(identity - M) ** 2, M, MATRIX)
    np.testing.assert_allclose(found, -2 * np.trace(identity - MATRIX) * identity, rtol=ULPS)


def test_openmdao_2535():
    u = np.array([1.0, 2.0, 3.0])
    found = nm.interpret(sd.grad(v @ E @ v, v), {v: u, E: MATRIX})
    np.testing.assert_allclose(found, (MATRIX + MATRIX.T) @ u, rtol=LINEAR_ALGEBRA)
    assert sd.hessian(v @ E @ v, v) is E + E.T


# Recursion ----------------------------------------------------------------------------------------


def expanded(*factors):
    """The product of polynomials, which are counters of exponents."""
    product = Counter({(0,) * 6: 1})
    for factor in factors:
        terms = Counter()
        for p, c in product.items():
            for q, d in factor.items():
                terms[tuple(i + j for i, j in zip(p, q, strict=True))] += c * d
        product = terms
    return product


def test_sympy_24673():
    names = "a b c x y z"

    def polynomial(first):
        half = Fraction(1, 2)
        terms = {first: 1, (1, 0, 0, 5, 0, 0): 1, (0, 1, 0, 0, half, 0): 1}
        terms |= {(0, 1, 0, 0, 4, 0): 1, (0, 0, 1, 0, 0, 1): 1}
        for i in range(4):
            for j in range(4 - i):
                count = math.factorial(3) // math.prod(map(math.factorial, (i, j, 3 - i - j)))
                terms[0, 0, 1, i, j, 3 - i - j] = count * (-1) ** (3 - i)
        return Counter(terms)

    one, two = polynomial((1, 0, 0, 2, 0, 0)), polynomial((0, 0, 1, 2, 0, 0))
    powers = expanded(*[one, two] * 3)
    text = " + ".join(
        "*".join([str(c), *(f"{n}**({p})" for n, p in zip(names.split(), ps, strict=True) if p)])
        for ps, c in powers.items()
    )
    f = nm.lower(sd.parse(text), sd.symbols(names))
    assert len(powers) > 10_000
    a, b, c, x, y, z = at = 1.0, 2.0, 3.0, 0.4, 0.5, 0.6
    common = a * x**5 + b * math.sqrt(y) + b * y**4 + c * z + c * (x - y - z) ** 3
    assert f(*at) == pytest.approx(((a * x**2 + common) * (c * x**2 + common)) ** 3)


def test_sympy_26807():
    A = sd.symbol("A", ("n", "m"))
    assert nm.lower(A, [A])(np.ones((2, 3))).tolist() == [[1.0] * 3] * 2


def test_sympy_23692():
    mechanics = pytest.importorskip("sympy.physics.mechanics")
    vector = sp.Symbol("a") * mechanics.ReferenceFrame("r").x
    with pytest.raises(TypeError, match="no SymPy object"):
        sd.from_sympy(vector)


def test_pysr_1094():
    text = """min(31.0, ceil(max(((0.09414722 * x1) + -0.54402936) - 149.09248,
              149.08806 - (0.09424036 * x2))) + -0.1880195)"""
    f = sd.parse(text)
    at = {"x1": 3.0, "x2": 2000.0}
    inner = max((0.09414722 * 3 - 0.54402936) - 149.09248, 149.08806 - 0.09424036 * 2000)
    F = nm.lower(f, sd.symbols("x1 x2"))
    assert F(**at) == min(31.0, math.ceil(inner) - 0.1880195)
    assert F.value_and_grad(**at)[1] == (0.0, 0.0)


# Special functions --------------------------------------------------------------------------------


def test_sympy_18179():
    with pytest.raises(sd.Unsupported, match="SymPy"):
        sd.from_sympy(sp.hyper([1], [2], sp.Symbol("x")))
    with pytest.raises(sd.Unsupported, match="exp_polar"):
        sd.from_sympy(sp.exp_polar(sp.Symbol("x")))


def test_sympy_24175():
    pytest.importorskip("scipy")
    f = sd.from_sympy(sp.Si(sp.Symbol("x")))
    assert nm.lower(f, [x])(1.5) == pytest.approx(float(sp.Si(sp.Float(1.5))))
    with pytest.raises(sd.Unsupported, match="airyai"):
        sd.from_sympy(sp.airyai(sp.Symbol("x")))


def test_sympy_17746():
    f = sd.from_sympy(sp.laguerre(sp.Symbol("n"), sp.Symbol("x")))
    n = sd.symbol("n")
    assert nm.lower(f, [n, x])(3, 1.5) == pytest.approx(float(sp.laguerre(3, sp.Float(1.5))))
    with pytest.raises(sd.NotDifferentiable, match="number 1"):
        sd.diff(f, n)


def test_sympy_16535():
    pytest.importorskip("scipy")
    f = sd.from_sympy(sp.lowergamma(sp.Integer(2), sp.Symbol("x")))
    assert nm.lower(f, [x])(1.5) == pytest.approx(float(sp.lowergamma(2, sp.Float(1.5))))
    assert nm.lower(sd.diff(f, x), [x])(1.5) == pytest.approx(1.5 * math.exp(-1.5))


def test_sympy_23924():
    pytest.importorskip("scipy")
    f = sd.from_sympy(sp.polygamma(0, sp.Symbol("x")))
    assert nm.lower(f, [x])(2.5) == pytest.approx(float(sp.polygamma(0, sp.Float(2.5))))


def test_diofant_1494():
    pytest.importorskip("scipy")
    a = sp.Symbol("x")
    for known in (sp.gamma(a), sp.erf(a)):
        assert nm.lower(sd.from_sympy(known), [x])(5.0) == pytest.approx(float(known.subs(a, 5)))
    for unknown in (sp.harmonic(a), sp.dirichlet_eta(a)):
        with pytest.raises(sd.Unsupported, match=type(unknown).__name__):
            sd.from_sympy(unknown)


@pytest.mark.parametrize("name", ["jv", "yn", "iv", "kv"])
def test_specialfunctions_160(name):
    with pytest.raises(ValueError, match=r"order .*is not a finite number"):
        getattr(sd, name)(sd.symbol("n"), x)


def test_specialfunctions_292():
    pytest.importorskip("scipy")
    derivative = nm.lower(sd.diff(sd.jv(2, x), x), [x])
    assert derivative(1.5) == pytest.approx(
        float(sp.besselj(2, sp.Symbol("t")).diff().subs("t", 1.5))
    )


def test_stan_1939():
    """The logarithm of I_n(x) and its derivative, for x where I_n overflows."""
    pytest.importorskip("scipy")
    logarithm = sd.log(sd.ive(1.5, x)) + x
    value, (slope,) = nm.lower(logarithm, [x]).value_and_grad(1e4)
    with mp.workdps(40):
        exact = mp.log(mp.besseli(1.5, 10**4))
        ratio = mp.besseli(0.5, 10**4) / mp.besseli(1.5, 10**4) - mp.mpf(1.5) / 10**4
    assert value == pytest.approx(float(exact), rel=1e-15)
    assert slope == pytest.approx(float(ratio), rel=1e-15)


def test_stan_math_3306():
    nu = sd.symbol("nu")
    with pytest.raises(ValueError, match="order"):
        sd.diff(sd.kv(nu, x), nu)


def test_mpmath_734():
    slope = sd.diff(sd.kv(1, x), x)
    expected = -sp.besselk(0, 1) - sp.besselk(1, 1)
    assert abs(sd.evalf(slope, 30, {x: 1}) - expected.evalf(30)) < 1e-29
    assert sd.evalf(slope, 15, {x: 1}) != sd.evalf(sd.kv(1, x), 15, {x: 1})


# Kinks --------------------------------------------------------------------------------------------


def test_sympy_26663():
    f = sd.from_sympy(sp.sympify("A*Heaviside(x - n, 0.5)"))
    slope = nm.lower(sd.diff(f, sd.symbol("n")), sd.symbols("A n x"))
    assert slope(1, 2, 3) == 0
    assert slope(1.0, 2.0, 2.0) == 0
    for kinked in (abs(x), sd.sign(x), sd.floor(x), x % y, sd.maximum(x, y)):
        for order in (1, 2, 3):
            value = nm.lower(sd.diff(kinked, x, order), [x, y])(np.array([-0.5, 2.0]), 3.0)
            assert np.isfinite(value).all()


def test_sympy_18636():
    a, b = sp.symbols("x y")
    formula = sp.Heaviside(1 - sp.Max(a, b)) * sp.Min(1, sp.Max(a, a * b))
    f = nm.lower(sd.from_sympy(formula), [x, y])
    assert f(0.25, 0.5) == 0.25
    assert f(0.25, 2.0) == 0.0
    assert f.value_and_grad(0.25, 0.5)[1] == (1.0, 0.0)


def test_sympy_22726():
    a, b = sp.symbols("x y", real=True)
    f = nm.lower(sd.from_sympy(sp.Max(0, sp.Min(a, b))), [x, y])
    assert f.value_and_grad(1, 2) == (1.0, (1.0, 0.0))


def test_sympy_21573():
    f = lowered(sp.Heaviside(sp.Symbol("x")), ["x"])
    assert f(np.array([-1.0, 0.0, 1.0])).tolist() == [0, 0.5, 1]


def test_sympy_20411():
    f = lowered(sp.Heaviside(sp.Symbol("x"), 0), ["x"])
    assert f(np.array([-1.0, 0.0, 1.0])).tolist() == [0, 0, 1]


# Indexed sums -------------------------------------------------------------------------------------


def test_sympy_21891():
    c = sd.symbol("c", "n")
    assert sd.grad(sd.sum(c * v), v) is c


def test_sympy_13994():
    check(sd.prod(v), v, [2, 3, 4], [12, 8, 6])
    check(sd.prod(v), v, [2, 0, 4], [0, 8, 0])


def test_sympy_9185():
    assert sd.grad(sd.sum(v * v) / 2, v) is v
    assert sd.grad(v @ v / 2, v) is v


def test_sympy_12751():
    assert sd.grad(sd.sum(v), v) is sd.ones("n")
    w = sd.symbol("w", 5)
    assert sd.grad(sd.sum(w), w)[1] is sd.constant(1)


def test_sympy_24032():
    P = sd.symbol("P")
    F = sd.stack([sd.constant(1), P, -2 * P, P**2])
    slope = nm.lower(sd.sum(sd.jacobian(F, P)), [P])
    assert slope(3.0) == 2 * 3 - 1


def test_sympy_27852():
    total = sum((sd.diff(sd.sin(x), x, k) for k in range(1, 4)), sd.constant(0))
    assert total is -sd.sin(x)


def test_symengine_1643():
    A, w = sd.symbol("A", (3, 3)), sd.symbol("w", 3)
    f = sd.tanh(A * w)
    jacobian = sd.jacobian(f, w)
    assert jacobian.shape == (3, 3, 3)
    a, u = MATRIX, np.array([0.1, -0.2, 0.3])
    expected = np.einsum("ij,jk->ijk", a * (1 - np.tanh(a * u) ** 2), np.eye(3))
    np.testing.assert_allclose(nm.interpret(jacobian, {A: a, w: u}), expected, rtol=64 * ULPS)


def test_symbolics_498():
    at = np.array([0.2, 0.5, 1.5])
    check(sd.sum(v * sd.log(v)), v, at, 1 + np.log(at))


def test_symbolics_1990():
    a = sd.symbol("a", "n")
    check(sd.sum((v - a) ** 2) + (y - 1) ** 2, v, [1, 2, 3], [2, 2, 2], a=np.arange(3.0), y=5.0)


# Text is evaluated --------------------------------------------------------------------------------


def test_sympy_10805():
    attack = "x.__class__.__mod__.__globals__['__builtins__']['print']('hello')"
    with pytest.raises(sd.ParseError, match="attributes"):
        sd.parse(attack)


def test_sympy_24990():
    attack = '__import__("os").getpid()'
    with pytest.raises(ValueError, match="identifier"):
        sd.symbol(attack)
    with pytest.raises(ValueError, match="identifier"):
        sd.from_sympy(sp.Symbol(attack))


@pytest.mark.parametrize("text", ["a.b", "[t for t in x]", "f'{x}'", "lambda: 1", "x := 1"])
def test_sympy_12524(text):
    with pytest.raises(sd.ParseError):
        sd.parse(text)


def test_sirepo_1637(capsys):
    with pytest.raises(sd.ParseError, match="print is not a function"):
        sd.parse("print(hello)")
    assert capsys.readouterr().out == ""


def test_pyhf_2717():
    expression = 'exec("import os")'
    with pytest.raises(sd.ParseError):
        sd.parse(expression)
    with pytest.raises(sd.ParseError, match="not a function"):
        sd.parse("eval(x)")


# Pickling -----------------------------------------------------------------------------------------


def test_dill_104():
    function = pickle.loads(pickle.dumps(nm.lower(sd.sqrt(2 * x) + y, [x, y])))
    assert function(2.0, 3.0) == 5.0


def test_dill_201():
    f = 2 * x**2 + 2 * x * y
    text = str(f)
    one, two = pickle.loads(pickle.dumps([nm.lower(f, [x, y])] * 2))
    assert one is two
    assert str(f) == text
    assert f.evalf(subs={x: 1, y: 2}) == 6


def test_dill_247():
    function = pickle.loads(pickle.dumps(nm.lower(sd.sqrt(2 * x) + y, [x, y])))
    assert function(np.array([2.0, 8.0]), 1.0).tolist() == [3.0, 5.0]
    assert function.value_and_grad(2.0, 0.0)[1] == (0.5, 1.0)


def test_symengine_py_294():
    # Nothing of the machine is in the pickle; another process makes the function anew.
    data = pickle.dumps(nm.lower(sd.exp(-x) * y, [x, y]), protocol=4)
    code = "import pickle, sys; print(pickle.load(sys.stdin.buffer)(0.0, 7.0))"
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, input=data, capture_output=True, check=True, timeout=60)
    assert done.stdout.decode().strip() == "7.0"


def test_rt1_55():
    f = sd.exp(-x) * y
    assert pickle.loads(pickle.dumps(f)) is f
    assert copy.deepcopy(f) is f
    assert pickle.loads(pickle.dumps((f, x)))[1] is x


# Assignment ---------------------------------------------------------------------------------------


def test_autograd_58():
    A = sd.symbol("A", (2, 2))
    with pytest.raises(TypeError, match="immutable"):
        sd.zeros((4, 4))[:2, :2] = A
    B = sd.index_update(sd.zeros((4, 4)), np.s_[:2, :2], A)
    check(sd.sum(B * np.ones((4, 4))), A, MATRIX[:2, :2], np.ones((2, 2)))


def test_autograd_177():
    param = sd.symbol("param", (5, 3))
    rows = sd.zeros(5)
    for m in range(5):
        rows = sd.index_update(rows, m, np.sum(param[m] * param[0]))
    at = np.random.default_rng(5).normal(size=(5, 3))
    together = gradient(sd.sum(sd.sum(param * param[0], axis=1)), param, at)
    np.testing.assert_allclose(gradient(sd.sum(rows), param, at), together, rtol=64 * ULPS)


def test_autograd_375():
    b = sd.symbol("b", 3)
    c = sd.index_update(sd.zeros(2), 0, b[0] * b[0])
    c = sd.index_update(c, 1, b[1] * b[0] + b[2])
    found = nm.interpret(sd.jacobian(c, b), {b: np.array([1.0, 2.0, 2.0])})
    assert found.tolist() == [[2, 0, 0], [2, 1, 1]]


def test_autograd_515():
    theta = sd.symbol("theta")
    with pytest.raises(TypeError, match="stack"):
        np.array([[sd.cos(theta), -sd.sin(theta)], [sd.sin(theta), sd.cos(theta)]])
    cosine, sine = sd.cos(theta), sd.sin(theta)
    rotation = sd.stack([sd.stack([cosine, -sine]), sd.stack([sine, cosine])])
    check(sd.sum(rotation * np.array([[1, 2], [3, 4]])), theta, 0.0, 1.0)


def test_pytorch_9391():
    at = np.array([1.0, 2.0, 3.0])
    for f in (sd.sigmoid(v), 1 / (sd.exp(-v) + 1)):
        function = nm.lower(f, [v])
        value, kept = function.forward(at)
        value[1] = 2
        (g,) = function.backward(kept, np.ones(3))
        np.testing.assert_allclose(g, np.exp(-at) / (1 + np.exp(-at)) ** 2, rtol=ULPS)


def test_pytorch_2940():
    function = nm.lower(sd.sum(v**2), [v])
    _, kept = function.forward(np.ones(3))
    target = np.full(4, 7.0)
    with pytest.raises(ValueError, match="shape"):
        function.backward(kept, 1.0, accumulate=[target])
    assert target.tolist() == [7.0] * 4


def test_pytorch_11192():
    function = nm.lower(sd.sum(sd.exp(v)), [v])
    _, kept = function.forward(np.zeros(2))
    first, second = function.backward(kept, 1.0), function.backward(kept, 2.0)
    assert (first[0].tolist(), second[0].tolist()) == ([1, 1], [2, 2])


def test_pytorch_20528():
    with ThreadPoolExecutor(1) as pool, nm.no_grad():
        assert not nm.is_grad_enabled()
        # A thread has its own mode, and the caller's if it is started in the caller's context.
        assert pool.submit(nm.is_grad_enabled).result()
        assert not pool.submit(copy_context().run, nm.is_grad_enabled).result()
        assert not asyncio.run(asyncio.to_thread(nm.is_grad_enabled))
    assert nm.is_grad_enabled()


# The lists ----------------------------------------------------------------------------------------


def test_every_thread_has_a_test_or_a_reason():
    listed = [thread for threads in PAINS.values() for thread in threads.split()]
    tested = {m.group(1) for name in globals() if (m := re.fullmatch(r"test_(\w+_\d+)", name))}
    assert len(set(listed)) == len(listed)
    assert not tested & NOT_EXPRESSED.keys()
    assert set(listed) - tested == NOT_EXPRESSED.keys()
    assert all(len(reason) > 20 for reason in NOT_EXPRESSED.values())
