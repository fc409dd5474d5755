"""Every function of the scalar vocabulary is what its class says: facts are asked by using them.

Values and derivatives are judged elsewhere (symdiff/test_scalar.py, numeric/test_special.py and
test_accuracy.py).  A fact that is left out fails here: the last test plants all omissions.
"""

from __future__ import annotations

import ast
import itertools
import math
import operator
import re
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import mpmath as mp
import numpy as np
import pytest
import sympy as sp
from sympy.codegen import cfunctions

import numeric as nm
import symdiff as sd
from numeric import special
from numeric.lowering.passes.residuals import cheap
from numeric.lowering.schedule import schedule
from symdiff.display.captions import caption
from symdiff.errors import NotDifferentiable
from symdiff.exact.evaluation import evaluate_mp
from symdiff.graph.algebra import PRIMITIVES, primitive
from symdiff.graph.formula_nodes import lift
from symdiff.interchange.parser import FUNCTIONS
from symdiff.scalars.formula import MPMATH, VOCABULARY, arity, canonical, kernel_symbol
from symdiff.scalars.vocabulary import FACTS, Facts, ScalarFunction
from tests.support.cases import all_cases
from tests.support.scalar_functions import POLYNOMIALS, STEPS, TABLE, coefficients

ORTHOGONAL = (*POLYNOMIALS, "eval_gegenbauer", "eval_genlaguerre")
each_function = all_cases("name", VOCABULARY, least=147)


OF_REAL_ORDER = {"jv", "yv", "iv", "kv", "ive", "kve", "ive_derivative", "kve_derivative"}


def parameters(name, real=False):
    """The operands by which there is no derivative, and a number for each; a half if it may be."""
    places = range(TABLE[name].parameters if name != "where" else 0)
    if name in ORTHOGONAL:
        return dict.fromkeys(places, 3)
    if name in OF_REAL_ORDER:
        return dict.fromkeys(places, 1) | {places[-1]: real * Fraction(1, 2)}
    of_weights = name.startswith(("gamma", "beta")) and not name.endswith("_derivative")
    return dict.fromkeys(places, Fraction(1, 2) if of_weights else 1)


def operands_of(name, shape=(), letter="x", real=False):
    """Symbols, numbers for parameters, and all symbols; the condition of ``where`` compares."""
    fixed = parameters(name, real)
    symbols = [sd.symbol(f"{letter}{k}", shape) for k in range(arity(name))]
    operands = [sd.constant(fixed[k]) if k in fixed else x for k, x in enumerate(symbols)]
    if name == "where":
        operands[0] = symbols[1] < symbols[2]
    return operands, [x for k, x in enumerate(symbols) if operands[k] is x]


# The kind of result ------------------------------------------------------------------------------

KINDS = {bool: np.bool_, int: np.integer, float: np.floating}


# What makes integers of integers; the others make real numbers, or truth values.
KEEP_INTEGERS = {
    *("where", "maximum", "minimum", "clip", "abs", "sign", "step", "mod", "floor_divide"),
    *("floor", "ceil", "trunc", "round"),
}


def kind_of_result(name, kind):
    """What a function makes of operands that are all of one kind."""
    if isinstance(MPMATH[name](*[mp.mpf(1)] * arity(name)), bool):
        return bool
    if name not in KEEP_INTEGERS:
        return float
    return int if kind is bool and name != "where" else kind  # where only chooses


@pytest.mark.slow
@each_function
@pytest.mark.parametrize("kind", KINDS)
def test_the_kind_of_result(name, kind):
    """Of numbers, integers and truth values; as a node, interpreted and lowered."""
    wanted = kind_of_result(name, kind)
    for shape in ((), (2,)):
        operands = sd.symbols("a b c d", shape, kind)[: arity(name)]
        node = primitive(name, *operands)
        assert node.dtype is wanted
        values = [np.ones(shape, kind) if shape else kind(1)] * len(operands)
        with np.errstate(all="ignore"):
            found = nm.interpret(node, dict(zip(operands, values, strict=True)))
            assert np.issubdtype(np.asarray(found).dtype, KINDS[wanted]), "interpreted"
            found = nm.lower(node, operands)(*values)
        assert np.issubdtype(np.asarray(found).dtype, KINDS[wanted]), "lowered"


@each_function
def test_roundings(name):
    """Of integers, what rounds is nothing at all."""
    if arity(name) > 1:
        assert not FACTS[name].rounds
        return
    x, k = mp.mpf(7) / 2, sd.symbol("k", dtype=int)
    value = MPMATH[name](x)
    rounded = mp.isint(value) and mp.fabs(value - x) < 1
    assert FACTS[name].rounds is rounded
    assert (primitive(name, k) is k) is rounded


@each_function
def test_integers_that_overflow(name):
    """At the ends of a type; but for -128 // -1, the one quotient beyond it."""
    if FACTS[name].result is not None:
        return
    beyond = [
        point
        for point in itertools.product((-128, 127, 3), repeat=arity(name))
        if not -128 <= MPMATH[name](*map(mp.mpf, point)) <= 127
    ]
    assert bool(beyond) is FACTS[name].overflows
    k = sd.symbol("k", dtype=int)
    f = sd.sum(primitive(name, *[k] * arity(name)) * sd.symbol("x"))
    slope = nm.lower(sd.diff(f, sd.symbol("x")), [k])
    smallest = np.array(-128, np.int8)[()]
    assert slope(smallest) == MPMATH[name](*[mp.mpf(-128)] * arity(name))


# Cost --------------------------------------------------------------------------------------------

# What neither rounds nor divides is a comparison or a choice.
DIVIDES = {"floor_divide", "mod"}


@each_function
def test_cheap_values_are_computed_again(name):
    """Comparisons and choices, and nothing else."""
    node = primitive(name, *operands_of(name, (3,))[0])
    again = cheap(schedule([node], node.args).steps[-1])
    assert again is FACTS[name].cheap
    assert again is (FACTS[name].result is not float and name not in DIVIDES)


# Exact values ------------------------------------------------------------------------------------


def exact_polynomial(name):
    def value(n, *operands):
        *alpha, x = operands
        return sum(c * x**k for k, c in enumerate(coefficients(name, n, *alpha)))

    return value


# What Python computes of Fractions by itself, and what is made of their sums and products.
PYTHONS = {
    **{"less": operator.lt, "less_equal": operator.le, "equal": operator.eq},
    **{"not_equal": operator.ne, "logical_not": operator.not_, "abs": abs},
    **{"floor": math.floor, "ceil": math.ceil, "maximum": max, "minimum": min},
    **{"logical_and": lambda a, b: a and b, "logical_or": lambda a, b: a or b},
    "logical_xor": lambda a, b: bool(a) != bool(b),
    "where": lambda c, a, b: a if c else b,
    "clip": lambda x, low, high: min(high, max(low, x)),
    "sign": lambda x: (x > 0) - (x < 0),
    "step": lambda x: x > 0,
    **{name: exact_polynomial(name) for name in ORTHOGONAL},
}


@each_function
def test_values_at_fractions(name):
    """What Python has is used; it agrees with the definition, and there is no more of it."""
    facts = FACTS[name]
    assert (facts.rational is not None) is (name in PYTHONS)
    if facts.rational is None:
        return
    fractions = (Fraction(-7, 3), Fraction(0), Fraction(1, 2), Fraction(2))
    fixed = parameters(name)
    choices = [(fixed[k],) if k in fixed else fractions for k in range(arity(name))]
    for point in itertools.product(*choices):
        found = facts.rational(*point)
        if facts.result is bool or name == "step":
            assert bool(found) == bool(PYTHONS[name](*point))
        else:
            assert Fraction(found) == PYTHONS[name](*point)
        numbers = [sp.Rational(x.numerator, x.denominator) for x in point]
        assert sp.Rational(Fraction(found)) == VOCABULARY[name](*numbers)
        if facts.rational is facts.value:  # of every kind of number, then
            whole = [float(x) for x in point]
            assert facts.value(*whole) == facts.value(*map(mp.mpf, whole))


GROWS_SLOWLY = {"log", "log2", "log10", "log1p", "atan", "tanh", "erf", "hypot"}


@each_function
def test_values_of_very_large_numbers(name):
    """They have digits where they are said to, and are refused where mpmath may take for ever."""
    large = FACTS[name].large
    assert large is (name in GROWS_SLOWLY)
    if FACTS[name].result is not float:
        return
    operands, xs = operands_of(name)
    at = dict.fromkeys(xs, 2**8200)
    if large:
        found = sd.evalf(primitive(name, *operands), 20, at)
        assert mp.almosteq(found, MEANING_AT_INFINITY[name], 1e-15)
    else:
        with pytest.raises(ArithmeticError, match=f"{name} of a number beyond"):
            sd.evalf(primitive(name, *operands), 20, at)


with mp.workdps(30):
    LN2 = mp.log(2)
    MEANING_AT_INFINITY = {
        **{"log": 8200 * LN2, "log1p": 8200 * LN2, "log2": 8200, "log10": 8200 * LN2 / mp.log(10)},
        **{"atan": mp.pi / 2, "tanh": 1, "erf": 1, "hypot": mp.sqrt(2) * mp.mpf(2) ** 8200},
    }


# Other names, signs and texts --------------------------------------------------------------------


COUNTERPARTS = {
    **{"StrictLessThan": "less", "LessThan": "less_equal", "Equality": "equal"},
    **{"Unequality": "not_equal", "And": "logical_and", "Or": "logical_or", "Xor": "logical_xor"},
    **{"Not": "logical_not", "ITE": "where", "Max": "maximum", "Min": "minimum", "Abs": "abs"},
    **{"ceiling": "ceil", "Mod": "mod", "loggamma": "gammaln"},
    "LambertW": "lambertw",
    **{"asin": "asin", "acos": "acos", "atanh": "atanh"},
    **{"Ei": "expi", "expint": "expn", "Si": "sine_integral", "Ci": "cosine_integral"},
    **{"fresnels": "fresnel_sine", "fresnelc": "fresnel_cosine"},
    **{"legendre": "eval_legendre", "chebyshevt": "eval_chebyt", "chebyshevu": "eval_chebyu"},
    **{"hermite": "eval_hermite", "hermite_prob": "eval_hermitenorm"},
    **{"laguerre": "eval_laguerre", "assoc_laguerre": "eval_genlaguerre"},
    **{"gegenbauer": "eval_gegenbauer"},
    **{"elliptic_k": "ellipk", "elliptic_e": "ellipe", "LambertW": "lambertw"},
    **{"Shi": "sinh_integral", "Chi": "cosh_integral"},
    **{"besselj": "jv", "bessely": "yv", "besseli": "iv", "besselk": "kv"},
    **{
        name: name
        for name in (
            *("sign", "floor", "tanh", "sech", "asinh", "acosh", "atan2"),
            *("gamma", "digamma", "polygamma", "erfinv", "erfcinv", "beta"),
        )
    },
    **{"RisingFactorial": "poch", "binomial": "binom", "zeta": "zeta"},
}


OF_C = {**dict.fromkeys(("expm1", "log1p", "exp2", "log2", "log10", "hypot")), "Cbrt": "cbrt"}


def counterparts():
    """SymPy's classes, those for code too, and what they are here."""
    yield from ((getattr(sp, k), ours) for k, ours in COUNTERPARTS.items())
    yield from ((getattr(cfunctions, k), ours or k) for k, ours in OF_C.items())


@each_function
def test_the_counterpart_of_sympy(name):
    """It comes back as the function; of any number of operands if there may be more than two."""
    sympy = FACTS[name].sympy
    assert sympy is next((k for k, ours in counterparts() if ours == name), None)
    if sympy is None:
        return
    args = [kernel_symbol(k) for k in range(arity(name))]
    if sympy in LOGIC:
        args = [sp.And(x > 0, x < 2) if sympy is sp.Not else x > 0 for x in args]
    assert canonical(sympy(*args)) == VOCABULARY[name](*map(canonical, args))
    assert sd.from_sympy(sympy(*args)).op is PRIMITIVES[name]


LOGIC = {sp.And, sp.Or, sp.Xor, sp.Not, sp.ITE}

# Names in NumPy, SciPy, PyTorch and SymPy that are not ours.
ALIASES = {
    **{"arc" + name[1:]: name for name in ("asin", "acos", "atan", "asinh", "acosh", "atanh")},
    **{"arctan2": "atan2", "absolute": "abs", "fabs": "abs", "Abs": "abs", "sgn": "sign"},
    **{"max": "maximum", "Max": "maximum", "min": "minimum", "Min": "minimum", "pow": "power"},
    **{"remainder": "mod", "ln": "log", "ceiling": "ceil", "rint": "round", "fix": "trunc"},
    **{
        "expit": "sigmoid",
        "jn": "jv",
        "jve": "jv",
        "yn": "yv",
        "yve": "yv",
        "lgamma": "gammaln",
        "loggamma": "gammaln",
    },
    "psi": "digamma",
    **{"Si": "sine_integral", "Ci": "cosine_integral"},
    **{"Shi": "sinh_integral", "Chi": "cosh_integral"},
    **{"fresnels": "fresnel_sine", "fresnelc": "fresnel_cosine"},
}


@each_function
def test_other_names(name):
    """A text may use them."""
    wanted = {alias for alias, ours in ALIASES.items() if ours == name}
    assert set(FACTS[name].aliases.split()) == wanted
    text = ", ".join(map(sd.text, operands_of(name)[0]))
    for alias in wanted:
        assert FUNCTIONS[alias] is FUNCTIONS[name]
        assert sd.parse(f"{alias}({text})") is sd.parse(f"{name}({text})")


SIGNS = {
    **{"less": "<", "less_equal": "<=", "equal": "==", "not_equal": "!="},
    **{"logical_and": "and", "logical_or": "or"},
}
SPELLED = {"power": "x0**x1", "logical_not": "not x0", "bose": "bose(1, x1)"}


@pytest.mark.slow
@each_function
def test_signs(name):
    """Between the operands in a text, which is read back, and in the source of a program."""
    operands, _ = operands_of(name)
    node = primitive(name, *operands)
    listed = ", ".join(map(sd.text, operands))
    sign = FACTS[name].infix
    assert sign == SIGNS.get(name)
    called = SPELLED.get(name, f"{name}({listed})")
    if name not in WRITTEN and name != "norm_sqrt":
        text = sd.text(node, exact=name in FOR_READERS)
        assert text == (f"x0 {sign} x1" if sign else called)
        assert sd.parse(text) is node
    if sign and sign not in ("and", "or"):
        F = nm.lower(sd.where(node, *sd.symbols("p q")), [*operands, *sd.symbols("p q")])
        for a, b in itertools.product((1.0, 2.0), repeat=2):
            assert F(a, b, 1.0, 0.0) == eval(f"{a} {sign} {b}")


DRAWN = {
    **{"abs": r"\left|", "ceil": r"\lceil", "floor": r"\lfloor", "gamma": r"\Gamma"},
    **{"maximum": r"\max", "minimum": r"\min", "norm_sqrt": r"\sqrt"},
    **{"eval_legendre": "P_{3}", "eval_chebyt": "T_{3}", "eval_chebyu": "U_{3}"},
    **{"eval_hermite": "H_{3}", "eval_laguerre": "L_{3}", "eval_genlaguerre": "L_{3}^"},
    **{"eval_gegenbauer": "C_{3}^"},
    **{"ellipk": r"K\left", "ellipkm1": r"K\left", "ellipe": r"E\left"},
    **{"lambertw": r"W\left", "lambertwm1": "W_{-1}"},
    **dict.fromkeys(("zeta", "hurwitz_zeta"), r"\zeta\left"),
    **{"jv": "J_{0}", "yv": "Y_{0}", "iv": "I_{0}", "kv": "K_{0}"},
    **{"ive": "I_{0}", "kve": "K_{0}", "expm1": "e^{", "log1p": r"\log"},
    **{"sine_integral": r"\operatorname{Si}", "cosine_integral": r"\operatorname{Ci}"},
    **{"sinh_integral": r"\operatorname{Shi}", "cosh_integral": r"\operatorname{Chi}"},
    **{"fresnel_sine": "S", "fresnel_cosine": "C"},
}
# What is written out, since it is named for its use in derivatives.
WRITTEN = {
    *("sech2", "log_ratio", "relative_difference", "exp_share", "difference", "hypot1"),
    *("chirp_sine", "chirp_cosine", "acosh_slope", "asin_slope", "atanh_slope", "erfcinv_slope"),
    *("ive_derivative", "kve_derivative", "sinc_derivative", "erfcx_derivative"),
    *("ellipk_derivative", "ellipkm1_derivative", "ellipe_derivative", "dawsn_derivative"),
    *("rgamma_derivative", "beta_derivative", "polygamma_difference", "expi_derivative"),
    *("cosine_integral_derivative", "sinh_integral_derivative", "cosh_integral_derivative"),
    *("lambertw_derivative", "lambertwm1_derivative", "log_ndtr_derivative"),
    *("gamma_density", "beta_density", "normal_density"),
    *("bose", "cosine", "hypot_derivative", "atan2_derivative"),
}
# What is written out for readers alone: the formula loses digits, or the convention at a kink.
FOR_READERS = {
    *("cosine", "hypot_derivative", "atan2_derivative", "normal_density", "log_ndtr_derivative"),
    *("beta_derivative", "polygamma_difference", "rgamma_derivative", "gamma_density"),
    *("beta_density", "erfcx_derivative", "erfcinv_slope", "bose", "dawsn_derivative"),
    *("expi_derivative", "cosine_integral_derivative", "sinh_integral_derivative"),
    *("cosh_integral_derivative", "lambertw_derivative", "lambertwm1_derivative"),
    *("ellipk_derivative", "ellipkm1_derivative", "ellipe_derivative", "sinc_derivative"),
    *("ive_derivative", "kve_derivative"),
}
COMMANDS = {"digamma": r"\psi", "tanh": r"\tanh", "log2": r"\log_{2}", "log10": r"\log_{10}"}


@pytest.mark.slow
@each_function
def test_drawings(name):
    """SymPy's LaTeX, where it is more than a name."""
    if not issubclass(VOCABULARY[name], ScalarFunction) or name in {*SIGNS, *SPELLED, "where"}:
        return
    text = sd.latex(primitive(name, *operands_of(name)[0]))
    assert FACTS[name].drawn is (name in DRAWN)
    spelled = name.replace("_", r"\_")
    drawn = name in {*DRAWN, *COMMANDS, *WRITTEN, *FOR_READERS} or name.endswith("_derivative")
    set_as = "operatorname" if name.isalpha() else "mathrm"
    assert (rf"\{set_as}{{{spelled}}}\left" in text) is (not drawn)
    assert (DRAWN | COMMANDS).get(name, "") in text


@each_function
def test_no_text_has_the_name_of_what_users_do_not_know(name):
    """But where the name is that of mathematics, or no formula is known."""
    text = sd.text(primitive(name, *operands_of(name)[0]))
    assert (re.search(rf"\b{name}\b", text) is None) is (
        name in {*WRITTEN, *FOR_READERS, *SIGNS, *SPELLED, "norm_sqrt"}
    )


CAPTIONS = {
    **{"where": "② if ①, else ③", "power": "①^②", "mod": "① mod ②", "floor_divide": "⌊① / ②⌋"},
    **{"abs": "|•|", "norm_sqrt": "√•", "logical_not": "not •", "maximum": "max", "minimum": "min"},
    **{name: f"① {sign} ②" for name, sign in SIGNS.items()},
}


@each_function
def test_captions(name):
    """In graphs: mathematics, or else the name, with places for operands that are not alike."""
    operands, _ = operands_of(name)
    node = primitive(name, *operands)
    places = [chr(ord("①") + k) for k in range(len(operands))]
    called = name if len(operands) == 1 else f"{name}({', '.join(places)})"
    assert caption(node) == CAPTIONS.get(name, called)


# Kinks -------------------------------------------------------------------------------------------

# What users call a function whose name they do not know.
CALLED = {
    "ive_derivative": "ive",
    "norm_sqrt": "the square root in norm, std",
    "cosine": "hypot",
    "hypot_derivative": "hypot",
    "atan2_derivative": "atan2",
}

H = mp.mpf(10) ** -24


def is_convention(name, point, slopes):
    """Whether ``slopes``, by operands, are not limits of difference quotients where there are some.

    Along each axis and the diagonal.  At the end of a domain, and at a jump that belongs to one
    side, the other side decides.
    """
    found = []
    for along in (*([k] for k in slopes), list(slopes)):
        slope = sum(slopes[k] for k in along)
        sides = _sides(MPMATH[name], point, along, slope) if math.isfinite(slope) else []
        found.append(
            (bool(sides) and not any(right for right, _ in sides))
            or any(not right and not jumps for right, jumps in sides)
        )
    return any(found)


def _sides(f, point, along, slope):
    """On each side: whether the difference quotient is ``slope``, and whether f jumps."""
    with mp.workdps(60):
        here, sides = f(*map(mp.mpf, point)), []
        for h in (H, -H):
            there = f(*(mp.mpf(x) + h * (k in along) for k, x in enumerate(point)))
            if mp.isfinite(here) and mp.isfinite(there):
                right = mp.fabs((there - here) / h - slope) < 1e-6 * (1 + abs(slope))
                sides.append((right, mp.fabs(there - here) > 1e-6))
        return sides


PLACES = (-3, -2.5, -2, -1, -0.5, 0, 0.5, 1, 2, 2.5)


@pytest.mark.slow
@each_function
def test_kinks_raise_where_a_derivative_is_a_convention(name):
    """And nowhere else; by difference quotients.  Jumps are not kinks."""
    operands, xs = operands_of(name, letter=f"{name}_")  # whose derivatives nobody else holds
    fixed = parameters(name)
    by = [k for k in range(arity(name)) if k not in fixed]
    node = primitive(name, *operands)
    if name in STEPS or name == "where":
        assert FACTS[name].kinks is FACTS[name].decides is None
        return
    easy = nm.lower(node, xs)
    with sd.kinks("raise"):
        careful = nm.lower(node, xs)
        slopes = [nm.lower(g, xs) for g in listed(sd.grad(node, xs)) if g.args]
    met = False
    for point in itertools.product(PLACES, repeat=len(xs)):
        with np.errstate(all="ignore"):
            found = listed(easy.value_and_grad(*point)[1])
        at = {k: float(x) for k, x in fixed.items()} | dict(zip(by, point, strict=True))
        whole = [at[k] for k in range(arity(name))]
        kink = is_convention(name, whole, dict(zip(by, map(float, found), strict=True)))
        met |= kink
        called = re.escape(CALLED.get(name, name))
        assert raises(lambda p=point: careful.value_and_grad(*p), called) is kink, point
        # An expression that is a derivative holds what decides there, unless it is a number.
        again = any(raises(lambda p=point, F=F: F(*p), called) for F in slopes)
        assert again is (kink and bool(slopes)), point
    assert any(fact is not None for fact in (FACTS[name].kinks, FACTS[name].decides)) is met


def listed(found):
    return list(found) if isinstance(found, tuple | list) else [found]


def raises(call, text):
    try:
        with np.errstate(all="ignore"):
            call()
    except NotDifferentiable as error:
        found = str(error)
    else:
        return False
    assert re.match(f"{text}: not differentiable", found), found
    return True


# Extremes ----------------------------------------------------------------------------------------

_SIZES = (5e-324, 2.3e-308, 1e-160, 1e-8, 0.25, 1.0, 2.0, 30.0, 800.0, 1e160, sys.float_info.max)
EXTREMES = (0.0, *_SIZES, *(-x for x in _SIZES))


@each_function
def test_partials_at_finite_extremes(name):
    """They are finite floats if they are said to be; else one of them is not."""
    count = len(operands_of(name)[1])
    every = EXTREMES if count <= 2 else (0.0, 5e-324, 1.0, -1.0, 800.0, sys.float_info.max)
    points = np.array(list(itertools.product(every, repeat=count))).T
    operands, xs = operands_of(name, (points.shape[1],), real=True)
    node = primitive(name, *operands)
    finite = True
    for g in listed(sd.grad(sd.sum(node), xs)) if node.dtype is float else ():
        with np.errstate(all="ignore"):
            finite &= bool(np.isfinite(nm.lower(g, xs)(*points)).all())
    assert finite is FACTS[name].finite_partials


ENDS = (*(math.inf, -math.inf, math.nan, 0.0, -0.0, 1.0, -1.0, 2.0, -2.0, 0.5, -2.5, 1e300), -1e300)


@each_function
def test_numbers_and_arrays_have_one_value(name):
    """At ends, poles and steps; of numbers the bodies are those of ``math`` where it has them."""
    operands, xs = operands_of(name, real=True)
    points = list(itertools.product(ENDS if len(xs) < 3 else ENDS[:7], repeat=len(xs)))
    function = nm.lower(primitive(name, *operands), xs)
    with np.errstate(all="ignore"):
        together = np.broadcast_to(function(*np.array(points).T), len(points))
        alone = np.array([function(*point) for point in points])
    same = (alone == together) | ((alone != alone) & (together != together))
    same |= np.isfinite(alone) & np.isclose(alone, together, rtol=1e-12, atol=0)
    assert same.all(), (points[np.argmin(same)], alone[~same], together[~same])


def test_the_logarithm_of_gamma_is_infinite_at_both_ends():
    """So it is in C and PyTorch; SciPy has -inf at -inf."""
    x = sd.symbol("x")
    y, ends = sd.gammaln(x), [-math.inf, math.inf]
    assert [mp.mpf(evaluate_mp([y], {x: end}, 20)[0]) for end in ends] == [mp.inf, mp.inf]
    assert [nm.interpret(y, {x: end}) for end in ends] == [math.inf, math.inf]
    assert nm.lower(y, x)(np.array(ends)).tolist() == [math.inf, math.inf]
    assert nm.lgamma(nm.tensor(ends)).tolist() == [math.inf, math.inf]


WEIGHTS = (Fraction(1, 2), 1, Fraction(3, 2), 2)


def parameters_of_domains(name):
    """Numbers for the operands by which there is no derivative: more of them where they matter."""
    fixed = parameters(name)
    if Fraction(1, 2) in fixed.values():
        return [dict.fromkeys(fixed, weight) for weight in WEIGHTS]
    return [fixed, parameters(name, real=True)] if name in OF_REAL_ORDER else [fixed]


@pytest.mark.slow
@each_function
def test_domains(name):
    """A value and its partials are finite where a domain is stated, or none is; nowhere else."""
    domain = FACTS[name].domain
    for fixed in [] if name == "where" else parameters_of_domains(name):
        symbols = [sd.symbol(f"x{k}") for k in range(arity(name))]
        operands = [fixed.get(k, x) for k, x in enumerate(symbols)]
        xs = [x for x, y in zip(symbols, operands, strict=True) if x is y]
        node = primitive(name, *map(sd.constant, operands))
        partials = [sd.diff(node, x) for x in xs] if node.dtype is float else []
        letters = [kernel_symbol(k) for k in range(len(symbols))]
        inside = sd.constant(1)
        if domain is not None:
            env = dict(zip(letters, map(sd.constant, operands), strict=True))
            inside = lift(domain(*letters), env)
        for point in itertools.product(PLACES, repeat=len(xs)):
            at = dict(zip(xs, point, strict=True))
            values = evaluate_mp([node, *partials], at, 20)
            finite = all(mp.isfinite(mp.mpf(value)) for value in values)
            (expected,) = evaluate_mp([inside], at, 20)
            assert finite == bool(expected), (name, operands, point, values)


# Bodies ------------------------------------------------------------------------------------------


def test_bodies_are_found_by_name():
    """What NumPy and ``math`` have is theirs, also under another name; else it has to be here."""
    assert special.NUMPY["norm_sqrt"] is np.sqrt
    assert special.MATH["norm_sqrt"] is math.sqrt
    assert special.MATH["power"] is math.pow
    with pytest.raises(AssertionError, match="norm_sqrt has no body"):
        special._of_arrays("norm_sqrt", Facts)


# No lists of names -------------------------------------------------------------------------------

NAME_FUNCTIONS = {
    "symdiff/functions/elementwise.py": "what is public",
    "symdiff/functions/special.py": "what is public",
    "symdiff/interchange/numpy_protocol.py": "NumPy's and SciPy's functions",
    "symdiff/interchange/parser/language.py": "functions of any number of operands",
    "symdiff/display/latex_notation.py": "LaTeX's commands",
    "symdiff/scalars/unevaluated.py": "how SymPy's conditions are built without being searched",
    "numeric/special/__init__.py": "the bodies",
    "numeric/lowering/kernels/monomials.py": "the bodies in products",
    "numeric/lowering/native/functions.py": "the bodies in C",
    **dict.fromkeys(
        (f"numeric/check/{name}.py" for name in ("ball_functions", "ball_special", "roundings")),
        "bodies of balls, and how far those of floats are off",
    ),
    "symdiff/display/normal_form.py": "identities of sines, cosines and their relatives",
    "numeric/nn/activations.py": "operations of Tensors",
    **dict.fromkeys(
        (f"numeric/ops/{name}.py" for name in ("arithmetic", "comparing", "pointwise")),
        "operations of Tensors",
    ),
}


def names_listed(source):
    """The sizes of the collections in which functions are listed by name."""
    for node in ast.walk(ast.parse(source)):
        elements = getattr(node, "keys", None) or getattr(node, "elts", None) or ()
        count = sum(getattr(x, "value", None) in VOCABULARY for x in as_constants(elements))
        if count:
            yield count


def as_constants(elements):
    return [x for x in elements if isinstance(x, ast.Constant) and isinstance(x.value, str)]


@pytest.mark.slow
def test_no_other_module_lists_functions():
    """A list of names is a fact in two places: it has to be derived from the classes."""
    assert max(names_listed('KINDS = {"less": 1, "equal": 2, "abs": 3}')) == 3
    root = Path(__file__).parents[1]
    paths = [p for package in ("symdiff", "numeric") for p in (root / package).rglob("*.py")]
    found = {
        path.relative_to(root).as_posix()
        for path in paths
        if max(names_listed(path.read_text(encoding="utf-8")), default=0) > 2
    }
    assert found <= set(NAME_FUNCTIONS), found - set(NAME_FUNCTIONS)


# Where each function jumps or has a kink.
BORDERS = {
    **dict.fromkeys(("abs", "sign", "step"), ((0,),)),
    **dict.fromkeys(("less", "less_equal", "equal", "not_equal"), ((2, 2),)),
    **dict.fromkeys(("maximum", "minimum"), ((-3, -3),)),
    **dict.fromkeys(("floor", "ceil", "trunc"), ((-1,), (3,))),
    **{"round": ((0.5,), (2.5,)), "clip": ((1, 1, 2), (2, 1, 2))},
    **dict.fromkeys(("floor_divide", "mod"), ((6, 3), (-3, 1.5))),
}


@pytest.mark.slow
@each_function
def test_margins_change_their_sign_at_borders(name):
    margins = FACTS[name].margins
    assert (margins is None) is (name not in BORDERS)
    for x, *others in BORDERS.get(name, ()):
        below, at, above = (
            margins(*map(mp.mpf, (x + step, *others))) for step in (-0.125, 0, 0.125)
        )
        signs = {(a < 0) != (c < 0) for a, b, c in zip(below, at, above, strict=True) if b == 0}
        assert signs == {True}


# Omissions ---------------------------------------------------------------------------------------

# A fact, and a function that says it, each of another function; and the test that notices.
OMISSIONS = {
    ("result", "logical_not"): test_the_kind_of_result,
    ("rounds", "trunc"): test_roundings,
    ("overflows", "abs"): test_integers_that_overflow,
    ("cheap", "round"): test_cheap_values_are_computed_again,
    ("rational", "minimum"): test_values_at_fractions,
    ("large", "log2"): test_values_of_very_large_numbers,
    ("sympy", "digamma"): test_the_counterpart_of_sympy,
    ("aliases", "sigmoid"): test_other_names,
    ("infix", "logical_or"): test_signs,
    ("caption", "mod"): test_captions,
    ("drawn", "ceil"): test_drawings,
    ("written", "dawsn_derivative"): test_no_text_has_the_name_of_what_users_do_not_know,
    ("domain", "log1p"): test_domains,
    ("margins", "floor"): test_margins_change_their_sign_at_borders,
    ("kinks", "clip"): test_kinks_raise_where_a_derivative_is_a_convention,
    ("decides", "hypot_derivative"): test_kinks_raise_where_a_derivative_is_a_convention,
    ("decides_at", "atan2_derivative"): test_kinks_raise_where_a_derivative_is_a_convention,
    ("called", "norm_sqrt"): test_kinks_raise_where_a_derivative_is_a_convention,
    ("finite_partials", "hypot1"): test_partials_at_finite_extremes,
    ("math", "power"): test_bodies_are_found_by_name,
}


@pytest.mark.slow
def test_omissions_are_noticed():
    """One process, in which each of these functions has lost a fact before anybody reads it."""
    planted = {name: fact for fact, name in OMISSIONS}
    assert len(planted) == len(OMISSIONS)
    unasked = set(vars(Facts)) - {fact for fact, _ in OMISSIONS} - {"value", "numpy"}
    assert {fact for fact in unasked if not fact.startswith("__")} == set()
    code = f"import tests.support.planted; tests.support.planted.main({planted!r})"
    found = subprocess.run(
        [sys.executable, "-c", code],
        cwd=Path(__file__).parents[1],
        capture_output=True,
        text=True,
        check=False,
    )
    # The title of a failure, and what pytest prints of it, which names each case that failed.
    _, *parts = re.split(r"(?m)^_+ (test_\w+)(?:\[\w+\])? _+$", found.stdout)
    failures = list(zip(parts[::2], parts[1::2], strict=True))
    for (_, name), test in OMISSIONS.items():
        ours = [text for title, text in failures if title == test.__name__]
        if test is not test_bodies_are_found_by_name:
            ours = [text for text in ours if re.search(rf"(?m)^E  .*\b{name}\b", text)]
        assert ours, (name, found.stdout[-3000:])
