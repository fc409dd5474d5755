"""What users of SymPy try."""

import math
from functools import partial

import mpmath
import sympy

import symdiff as sd
from tests.newcomers import task

sympy_user = partial(task, "SymPy")


def wave(x, y):
    return mpmath.exp(-(x**2) / 2) * mpmath.sin(y)


def slope(f, at, orders, digits=15):
    with mpmath.workdps(digits + 15):
        return mpmath.diff(f, at, orders)


@sympy_user("a derivative, printed", lambda: "-x*exp(-x**2/2)")
def printed_derivative():
    x = sd.symbol("x")
    return str(sd.diff(sd.exp(-(x**2) / 2), x))


@sympy_user("one symbol by symbols, as SymPy makes it", lambda: 6.0)
def one_symbol():
    x = sd.symbols("x")
    return float(sd.diff(x**2, x).evalf(subs={x: 3}))


@one_symbol.then
def one_symbol_by_symbol():
    x = sd.symbol("x")
    return float(sd.diff(x**2, x).evalf(subs={x: 3}))


@sympy_user("the third derivative at a point", lambda: slope(wave, (0.5, 2), (3, 0)))
def third_derivative():
    x, y = sd.symbols("x y")
    f = sd.exp(-(x**2) / 2) * sd.sin(y)
    return sd.diff(f, x, 3).evalf(subs={x: 0.5, y: 2})


@sympy_user(
    "the derivatives by two variables",
    lambda: [slope(wave, (0.5, 2), orders) for orders in ((1, 0), (0, 1))],
)
def two_variables():
    x, y = sd.symbols("x y")
    f = sd.exp(-(x**2) / 2) * sd.sin(y)
    return [d.evalf(subs={x: 0.5, y: 2}) for d in sd.grad(f, x, y)]


@sympy_user("a factor that cancels", lambda: "y*z")
def cancelling():
    x, y, z = sd.symbols("x y z")
    return str(x * (y * z) / x)


@sympy_user("a number, formatted", lambda: "1.571")
def formatted():
    return f"{sd.evalf(sd.pi, 10) / 2:.3f}"


@sympy_user(
    "the Hessian",
    lambda: [[slope(wave, (0.5, 2), (2 - i - j, i + j)) for j in (0, 1)] for i in (0, 1)],
)
def hessian():
    x, y = sd.symbols("x y")
    f = sd.exp(-(x**2) / 2) * sd.sin(y)
    return [[d.evalf(subs={x: 0.5, y: 2}) for d in row] for row in sd.hessian(f, [x, y])]


@sympy_user(
    "the Jacobian of polar coordinates",
    lambda: [[math.cos(1), -2 * math.sin(1)], [math.sin(1), 2 * math.cos(1)]],
)
def jacobian():
    r, phi = sd.symbols("r phi")
    J = sd.jacobian([r * sd.cos(phi), r * sd.sin(phi)], [r, phi])
    return [[d.evalf(subs={r: 2, phi: 1}) for d in row] for row in J]


@sympy_user("a number for one symbol", lambda: 9 * math.sin(2))
def substitution():
    x, y = sd.symbols("x y")
    return float((x**2 * sd.sin(y)).subs(x, 3).subs(y, 2).evalf())


@sympy_user("fifty digits", lambda: mpmath.nstr(slope(mpmath.tan, 1, 2, 60), 50))
def fifty_digits():
    x = sd.symbol("x")
    with mpmath.workdps(60):
        return mpmath.nstr(sd.diff(sd.tan(x), x, 2).evalf(50, subs={x: 1}), 50)


@sympy_user("sin² + cos² simplified", lambda: "1")
def simplification():
    x = sd.symbol("x")
    return str(sd.simplify(sd.sin(x) ** 2 + sd.cos(x) ** 2))


@sympy_user("a Taylor polynomial", lambda: sum(0.3**k / math.factorial(k) for k in range(6)))
def taylor():
    x = sd.symbol("x")
    return sd.series(sd.exp(x), x, 0, 6).evalf(subs={x: 0.3})


@sympy_user("a limit", lambda: 0.5)
def limit():
    x = sd.symbol("x")
    return float(sd.limit((1 - sd.cos(x)) / x**2, x, 0))


@sympy_user("LaTeX for a paper", lambda: r"\frac{x^{2}}{2}")
def latex():
    x = sd.symbol("x")
    return sd.latex(x**2 / 2)


@sympy_user("a function by pieces, and its derivative on both", lambda: [0.0, 6.0])
def pieces():
    x = sd.symbol("x")
    f = sd.where(x > 0, x**2, 0)
    return [float(f.diff(x).evalf(subs={x: at})) for at in (-3, 3)]


@sympy_user(
    "a formula from text, differentiated",
    lambda: slope(lambda v: 2 * 9 / mpmath.sqrt(1 - v**2 / 9), 1, 1),
)
def text():
    energy = sd.parse("m*c**2/sqrt(1 - v**2/c**2)")
    return energy.diff(sd.symbol("v")).evalf(subs={"m": 2, "c": 3, "v": 1})


@sympy_user("a momentum: a Lagrangian by one velocity of several", lambda: 3 * 2.0)
def lagrangian():
    q, qd = sd.symbol("q", 2), sd.symbol("qd", 2)
    L = 3 * (qd @ qd) / 2 - sd.cos(q[0])
    return float(L.diff(qd[0]).evalf(subs={q: [0, 0], qd: [2, 5]}))


@sympy_user("a determinant by one entry: the cofactor", lambda: 4.0)
def cofactor():
    A = sd.symbol("A", (2, 2))
    return float(sd.diff(sd.det(A), A[0, 0]).evalf(subs={A: [[1, 2], [3, 4]]}))


@sympy_user(
    "an expression of SymPy's, differentiated here",
    lambda: slope(lambda x: mpmath.besselj(1, x), 2, 1),
)
def from_sympy():
    x = sympy.symbols("x", real=True)
    f = sd.from_sympy(sympy.besselj(1, x))
    return f.diff(sd.symbol("x")).evalf(subs={"x": 2})


@sympy_user("an indefinite integral", lambda: 1 - math.cos(1))
def integral():
    x = sd.symbol("x")
    return sd.integrate(sd.sin(x), (x, 0, 1)).evalf()


@integral.then
def integral_in_sympy():
    x = sd.symbol("x")
    return float(sympy.integrate(sd.to_sympy(sd.sin(x)), (sd.to_sympy(x), 0, 1)))
