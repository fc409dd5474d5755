"""The functions of formulas in C: what SymPy's C99 printer calls, and what that is.

All are functions of ``real``, which is double or float.  What is there has no branch, so that the
compiler computes it for several elements at once; both sides of a selection are computed, and each
is safe where the other is meant.  Functions that are not here stay NumPy's.
"""

from __future__ import annotations

import math
import re
import sys
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from sympy.printing.c import C99CodePrinter

from numeric.lowering.formulas import with_float_constants
from symdiff.errors import Unsupported
from symdiff.scalars.formula import canonical, kernel_symbol

if TYPE_CHECKING:
    import sympy as sp

VECTOR = {
    **dict.fromkeys(
        ("sin", "cos", "tan", "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "cbrt"), 1
    ),
    **dict.fromkeys(("asin", "acos", "atan", "sinh", "cosh"), 1),
    **dict.fromkeys(("asinh", "acosh", "atanh", "erf", "erfc"), 1),
    **dict.fromkeys(("pow", "atan2", "hypot"), 2),
}
"""The functions of the mathematical library that some have for several elements at once."""

# By our names: the body over x, y, z.  ``m_`` is a function of the mathematical library.
_BODIES = {
    "abs": "m_fabs(x)",
    "equal": "x == y",
    "not_equal": "x != y",
    "less": "x < y",
    "less_equal": "x <= y",
    "logical_and": "(x != 0) & (y != 0)",
    "logical_or": "(x != 0) | (y != 0)",
    "logical_xor": "(x != 0) ^ (y != 0)",
    "logical_not": "x == 0",
    "where": "x != 0 ? y : z",
    "sign": "x > 0 ? 1 : x < 0 ? -1 : x != x ? x : 0",
    "maximum": "x > y || x != x ? x : y",
    "minimum": "x < y || x != x ? x : y",
    "clip": "f_minimum(z, f_maximum(y, x))",
    "step": "x > 0 ? 1 : x != x ? x : 0",
    "floor": "m_floor(x)",
    "ceil": "m_ceil(x)",
    "trunc": "m_trunc(x)",
    "round": "m_rint(x)",
    "sqrt": "m_sqrt(x)",
    "norm_sqrt": "m_sqrt(x)",
    "power": "m_pow(x, y)",
    "hypot1": "m_hypot(x, 1)",
    "difference": "x == y ? 0 : x - y",
    "sigmoid": "(x >= 0 ? 1 : m_exp(-m_fabs(x)))/(1 + m_exp(-m_fabs(x)))",
    "exp_share": "f_sigmoid(f_difference(x, y))",
    "softplus": "f_maximum(x, 0) + m_log1p(m_exp(-m_fabs(x)))",
    "log_sigmoid": "f_minimum(x, 0) - m_log1p(m_exp(-m_fabs(x)))",
    "logaddexp": "f_maximum(x, y) + m_log1p(m_exp(-m_fabs(f_difference(x, y))))",
    "sech": "2*m_exp(-m_fabs(x))/(1 + m_exp(-m_fabs(x))*m_exp(-m_fabs(x)))",
    # These two share one exponential, and are exact to fewer roundings than a square of sech.
    "tanh": "f_tanh_of(x, x*x, m_exp(-2*m_fabs(x)))",
    "sech2": "f_sech2_of(m_exp(-2*m_fabs(x)))",
    "xlogy": "x*m_log(x == 0 && y == y ? 1 : y)",
    "xlog1py": "x*m_log1p(x == 0 && y == y ? 0 : y)",
    "log1mexp": (
        "x <= 0.6931471805599453 ? m_log(-m_expm1(-x))"
        " : m_log1p(-m_exp(-(x <= 0.6931471805599453 ? 1 : x)))"
    ),
    "relative_difference": "(x - y)/y",
    "entr": "x < 0 ? -inf : (x <= 0 ? -1 : -x)*m_log(x <= 0 ? 1 : x)",
    "asin_slope": "1/m_sqrt((1 - x)*(1 + x))",
    "atanh_slope": "1/((1 - x)*(1 + x))",
    "acosh_slope": "1/(m_sqrt(x - 1)*m_sqrt(x + 1))",
    # Of lengths of few digits, or beyond the largest: scaled by powers of 2.
    "cosine": "f_quotient(x*f_scale(m_hypot(x, y)), y*f_scale(m_hypot(x, y)))",
    # The sine is of what is left of x beside the nearest integer, which is exact.
    "sinc": "f_quotient1(f_parity(m_rint(x))*m_sin(c_pi*(x - m_rint(x))), c_pi*x)",
    "mod": "f_towards(m_fmod(x, y), y)",
    "floor_divide": "y == 0 ? x/y : f_whole(f_quotient2(x, y, m_fmod(x, y)), x/y)",
    **{name: f"m_{name}({'x, y' if n == 2 else 'x'})" for name, n in VECTOR.items()},
}
del _BODIES["pow"]
# What these are made of.  NumPy's remainder has the sign of the divisor, that of C the other one's.
# Near 0, tanh(x)/x is 1/(1 + y/(3 + y/(5 + ... y/15))) with y = x*x, Lambert's continued fraction,
# to 10**-16; elsewhere (1 - z)/(1 + z) with z = exp(-2*x).  Both are written with one division.
_PARTS = {
    "tanh_of": "f_tanh_unit(x)*(f_tanh_near(x) + f_tanh_over(x, y, z)/f_tanh_under(x, y, z))",
    "tanh_near": "m_fabs(x) < 0.625",
    "tanh_unit": "f_tanh_near(x) != 0 ? x : m_copysign(1, x)",
    "tanh_over": "f_tanh_near(x) != 0 ? -y*(((y + 594)*y + 45045)*y + 675675) : 1 - z",
    "tanh_under": ("f_tanh_near(x) != 0 ? (((y + 630)*y + 51975)*y + 945945)*y + 2027025 : 1 + z"),
    "sech2_of": "4*(x/(1 + (2*x + x*x)))",
    "quotient": "x/(m_hypot(x, y) == 0 ? 1 : m_hypot(x, y))",
    "scale": "x < 4*c_least ? 4/c_epsilon : x > c_largest ? 0.25 : 1",
    "quotient1": "y == 0 ? 1 : x/(y == 0 ? 1 : y)",
    "quotient2": "(x - z)/y - f_other_sign(z, y)",
    "log_of": "(x >= 1) & (x < 1.5) ? m_log1p(y) : m_log(x)",
    "carry": "f_known((x - y) - z)",
    "known": "x - x == 0 ? x : 0",
    "larger": "y > x ? y : x",
    "finite": "x - x == 0 ? x : x > 0 ? c_largest : 0",
    "parity": "1 - 2*m_fabs(x - 2*m_floor(x/2))",
    "towards": "x == 0 ? m_copysign(0, y) : f_other_sign(x, y) ? x + y : x",
    "other_sign": "x != 0 & (x < 0) != (y < 0)",
    "whole": "x == 0 ? m_copysign(0, y) : m_floor(x) + (x - m_floor(x) > 0.5)",
}

_CONSTANTS = {
    "c_pi": (math.pi, math.pi),
    "c_least": (2.0**-1022, 2.0**-126),
    "c_largest": (sys.float_info.max, 2.0**128 - 2.0**104),
    "c_epsilon": (2.0**-52, 2.0**-23),
}
"""Numbers that bodies name, of doubles and of floats."""

_BOOLEAN = frozenset(
    {"equal", "not_equal", "less", "less_equal"}
    | {"logical_and", "logical_or", "logical_xor", "logical_not"}
)
_CALLED = re.compile(r"\b([fm])_(\w+)")


class CFormulas(C99CodePrinter):  # type: ignore[misc]  # SymPy has no types
    """Formulas as expressions of C over ``_0, _1, ...``, in functions that have bodies here."""

    math_macros: dict[Any, str] = {}  # noqa: RUF012  # SymPy's way; there they are made anew each time

    def __init__(self) -> None:
        super().__init__({"user_functions": {name: f"f_{name}" for name in _BODIES}})

    def _print_Function(self, expr: sp.Function) -> str:  # noqa: N802  # SymPy's
        name = _SYMPY.get(expr.func.__name__, expr.func.__name__)
        if name not in _BODIES:
            raise Unsupported(f"{name} has no body in C")
        return f"f_{name}({', '.join(self._print(x) for x in expr.args)})"

    _print_sign = _print_Function  # these have methods of their own, with other meanings
    _print_Max = _print_Min = _print_Mod = _print_Function  # noqa: N815  # SymPy's

    def _print_Pow(self, expr: sp.Pow) -> str:  # noqa: N802  # SymPy's
        base = self._print(expr.base)
        if expr.exp == -1:
            return f"(1.0/({base}))"
        if abs(expr.exp) * 2 == 1:
            root = f"m_sqrt({base})"
            return root if expr.exp > 0 else f"(1.0/{root})"
        return f"m_pow({base}, {self._print(expr.exp)})"

    def _print_Exp1(self, expr: sp.Expr) -> str:  # noqa: N802  # SymPy's
        return repr(2.718281828459045)

    def _print_Pi(self, expr: sp.Expr) -> str:  # noqa: N802  # SymPy's
        return repr(3.141592653589793)


_SYMPY = {"Abs": "abs", "ceiling": "ceil", "Mod": "mod"}


@lru_cache(maxsize=1024)
def formula(expr: sp.Expr, arity: int) -> str:
    """A formula over ``_0.._k`` as an expression of C.

    Raises Unsupported for functions that have no body in C.

    >>> x = kernel_symbol(0)
    >>> formula(x / (1 + abs(x)), 1)
    '_0/(f_abs(_0) + 1)'
    """
    body = with_float_constants(canonical(expr))
    known = {kernel_symbol(k) for k in range(arity)}
    if not body.free_symbols <= known or body.has(*_NO_NUMBERS):
        raise Unsupported(f"{expr} has no body in C")
    text: Any = CFormulas().doprint(body)
    if not _PLAIN.fullmatch(text):
        raise Unsupported(f"{expr} has no body in C")
    return str(text)


def _no_numbers() -> tuple[Any, ...]:
    from sympy import I, nan, oo, zoo

    return I, nan, oo, zoo


_NO_NUMBERS = _no_numbers()
# What is printed may hold numbers, operands, our functions, and operators; nothing else.
_PLAIN = re.compile(r"(?:[fm]_\w+|_\d+|\d+\.?\d*(?:[eE][+-]?\d+)?|\.\d+|[-+*/(), ])*")


def _body(name: str) -> str:
    return _BODIES.get(name) or _PARTS[name]


def called(text: str) -> dict[str, None]:
    """The functions that a text calls, and those that these call; what is called comes first."""
    found: dict[str, None] = {}
    stack = [(f"{kind}_{name}", False) for kind, name in reversed(_CALLED.findall(text))]
    while stack:
        name, ready = stack.pop()
        if ready:
            found[name] = None
        elif name not in found:
            stack.append((name, True))
            if name.startswith("f_"):
                body = _body(name[2:])
                stack += [(f"{kind}_{inner}", False) for kind, inner in _CALLED.findall(body)]
    return found


def calls_library(text: str) -> bool:
    """Whether a text calls a function that takes many operations.

    >>> calls_library("f_sinh({0})"), calls_library("f_sqrt({0})")
    (True, False)
    """
    return any(name.startswith("m_") and name[2:] in VECTOR for name in called(text))


def definitions(text: str, single: bool, vector: frozenset[str]) -> list[str]:
    """The lines of C that define what a text calls; ``vector``: the names of vector functions.

    >>> definitions("f_sinh(v1)", False, frozenset({"sinh"}))[-1]
    'static inline real f_sinh(real x) { return m_sinh(x); }'
    """
    every = called(text)
    bodies = " ".join([_body(name[2:]) for name in every if name.startswith("f_")])
    lines = [
        f"#define {name} {values[single]!r}"
        for name, values in _CONSTANTS.items()
        if re.search(rf"\b{name}\b", bodies)
    ]
    for name in every:
        own = name[2:]
        if name.startswith("m_"):
            library = f"{own}f" if single else own
            if own in VECTOR and library in vector:
                operands = ", ".join(["real"] * VECTOR[own])
                lines.append(f"real {library}({operands}) SIMD;")
            lines.append(f"#define {name} {library}")
        else:
            body = _body(own)
            operands = ", ".join(f"real {x}" for x in "xyz" if re.search(rf"\b{x}\b", body))
            lines.append(f"static inline real {name}({operands}) {{ return {body}; }}")
    return lines
