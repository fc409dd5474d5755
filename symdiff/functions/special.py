"""Special functions of each element, under SciPy's names; their operands broadcast."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING

from symdiff.contexts import listed
from symdiff.functions.elementwise import Unary, binary, documented, log, log1p, unary, where
from symdiff.graph.algebra import as_numeric, primitive, scale
from symdiff.graph.expr import pi
from symdiff.graph.leaves import as_expr, number_node, number_of
from symdiff.graph.number import exact_exponent, shortened
from symdiff.scalars.formula import VOCABULARY

if TYPE_CHECKING:
    from symdiff.graph.expr import Expr, Operand

erf = unary("erf", "The error function ``2/√π ∫₀ˣ exp(-t²) dt``.", "sd.erf(0) is sd.constant(0)")
erfc = unary("erfc", "``1 - erf(x)``, accurate in its tail.", "sd.erfc(0) is sd.constant(1)")
erfcx = unary(
    "erfcx",
    "``e**(x**2) * erfc(x)``, which does not underflow for large x.",
    "sd.erfcx(0) is sd.constant(1)",
)
gamma = unary(
    "gamma", "The gamma function Γ(x).", "sd.diff(sd.gamma(x), x) is sd.gamma(x) * sd.digamma(x)"
)
rgamma = unary(
    "rgamma",
    "``1/Γ(x)``, finite with all derivatives everywhere, and 0 at the poles 0, -1, -2 ... of Γ.",
    "sd.rgamma(-2) is sd.constant(0)",
)
gammasgn = unary(
    "gammasgn",
    "The sign of Γ(x), nan at the poles -1, -2 ... and 1 at 0; its derivative is 0.",
    "sd.gammasgn(-0.5) is sd.constant(-1)",
)
gammaln = unary("gammaln", "``log|Γ(x)|``.", "sd.diff(sd.gammaln(x), x) is sd.digamma(x)")
digamma = unary(
    "digamma",
    "ψ(x), the derivative of ``log Γ(x)``.",
    "sd.diff(sd.digamma(x), x) is sd.polygamma(1, x)",
)


def factorial(x: Operand, /) -> Expr:
    """``Γ(x + 1)``, the product of the first x integers; nan at -1, -2 ..., where Γ has poles.

    SciPy's, of arrays, is 0 for every negative x.

    >>> import symdiff as sd
    >>> x = sd.symbol("x")
    >>> sd.factorial(x) is sd.gamma(x + 1), sd.factorial(5) is sd.constant(120)
    (True, True)
    """
    return gamma(as_numeric(as_expr(x)) + 1)


def multigammaln(a: Operand, d: int, /) -> Expr:
    """The logarithm of the multivariate gamma function of an integer dimension d >= 1.

    ``d (d - 1)/4 log(π) + sum of gammaln(a - k/2)`` over k = 0 ... d - 1, for a > (d - 1)/2; nan
    for other a, where SciPy raises ValueError.  Raises ValueError for any other d.

    >>> import symdiff as sd
    >>> a = sd.symbol("a")
    >>> print(sd.evalf(sd.multigammaln(a, 3), 10, {a: 2.5}))
    1.880995462
    """
    dimension = number_of(as_expr(d, "multigammaln", "d"))
    if not isinstance(dimension, int) or dimension < 1:
        raise ValueError(f"multigammaln: the dimension {shortened(d)} is not an integer >= 1")
    listed("multigammaln", expressions=dimension)
    operand = as_numeric(as_expr(a))
    total = scale(Fraction(dimension * (dimension - 1), 4), log(pi))
    for k in range(dimension):
        total = total + gammaln(operand - Fraction(k, 2))
    return where(operand > Fraction(dimension - 1, 2), total, number_node(math.nan))


def polygamma(n: int, x: Operand, /) -> Expr:
    """The n-th derivative of digamma at x, for an integer n >= 0.

    Raises ValueError for any other n.

    >>> import symdiff as sd
    >>> x = sd.symbol("x")
    >>> sd.polygamma(0, x) is sd.digamma(x)
    True
    """
    order = number_of(as_expr(n))
    if not isinstance(order, int) or order < 0:
        raise ValueError(f"polygamma: the order {shortened(n)} is not an integer >= 0")
    return digamma(x) if order == 0 else primitive("polygamma", number_node(order), as_expr(x))


beta = binary(
    "beta",
    "``Γ(x)Γ(y)/Γ(x + y)``; nan at its poles, but infinite at 0 beside a positive number.",
    "sd.evalf(sd.beta(2, 3)) == sd.evalf(sd.constant(1) / 12)",
)
poch = binary(
    "poch",
    "``Γ(x + y)/Γ(x)``, nan at its poles; the limit for a fixed y where both have one.",
    "sd.evalf(sd.poch(-5, 3)) == -60",
)
binom = binary(
    "binom",
    "``Γ(x + 1)/(Γ(y + 1)Γ(x - y + 1))``; for x = -1, -2 ... the limit for an integer y, else nan.",
    "sd.evalf(sd.binom(5, 2)) == 10",
)
betaln = binary(
    "betaln",
    "``log|B(x, y)|``, the logarithm of the beta function.",
    "sd.diff(sd.betaln(x, y), x, y) is -sd.polygamma(1, x + y)",
)
erfinv = unary("erfinv", "The inverse of erf on [-1, 1].", "sd.erfinv(0) is sd.constant(0)")
erfcinv = unary(
    "erfcinv", "The inverse of erfc on [0, 2], accurate near 0.", "sd.erfcinv(1) is sd.constant(0)"
)
ndtr = unary(
    "ndtr",
    "Φ(x), the distribution function of the normal distribution, accurate in its left tail.",
    "sd.ndtr(0) is sd.constant(0.5)",
)
log_ndtr = unary(
    "log_ndtr",
    """``log Φ(x)``, also where Φ(x) is too small for a float.

    Its derivative is the ratio φ/Φ, and those of every order keep their digits in both tails.""",
    'str(sd.diff(sd.log_ndtr(x), x)) == "log_ndtr_derivative(1, x)"',
)
ndtri = unary(
    "ndtri",
    "The inverse of ``ndtr`` on [0, 1], the quantiles of the normal distribution; nan outside.",
    "sd.ndtri(0.5) is sd.constant(0)",
)
xlog1py = binary(
    "xlog1py",
    "``x * log1p(y)``, and 0 where x = 0, whatever y is (but nan).",
    "sd.xlog1py(0, 2) is sd.constant(0)",
)
entr = unary(
    "entr",
    "The entropy ``-x * log(x)``, 0 at 0, and -inf for x < 0.",
    "sd.diff(sd.entr(x), x) is -1 - sd.log(x)",
)
rel_entr = binary(
    "rel_entr",
    """The relative entropy ``x * log(x/y)``, 0 at x = 0 <= y, and inf where x or y is negative.

    It is inf at y = 0 < x, too.  x/y may be beyond the range of floats.""",
    "sd.diff(sd.rel_entr(x, y), y) is sd.where(sd.equal(x, 0) & sd.equal(y, 0), 0, -x / y)",
)
kl_div = binary(
    "kl_div",
    """The Kullback-Leibler divergence ``x * log(x/y) - x + y``, y at x = 0 <= y, inf outside.

    It is convex, and 0 at x = y, near which it keeps its digits, as do its derivatives.""",
    "sd.kl_div(3, 3) is sd.constant(0)",
)
expi = unary(
    "expi",
    "The exponential integral Ei, the principal value of ``∫ exp(t)/t dt`` from -∞ to x.",
    'str(sd.diff(sd.expi(x), x)) == "expi_derivative(1, x)"',
)


def expn(n: int, x: Operand, /) -> Expr:
    """The exponential integral ``E_n(x) = x**(n-1) ∫ exp(-t) / t**n dt`` from x to ∞.

    For an integer n and x >= 0, else nan.  The derivative is that of order n - 1, negated; orders
    below 0, of which SciPy has none, are elementary.

    Raises ValueError for any other n.

    >>> import symdiff as sd
    >>> x = sd.symbol("x")
    >>> sd.diff(sd.expn(2, x), x) is -sd.exp1(x), sd.expn(3, 0) is sd.constant(1) / 2
    (True, True)
    """
    order = number_of(as_expr(n))
    if not isinstance(order, int):
        raise ValueError(f"expn: the order {shortened(n)} is not an integer")
    return primitive("expn", number_node(order), as_expr(x))


def exp1(x: Operand, /) -> Expr:
    """``expn(1, x)``, for x >= 0, else nan.

    >>> import symdiff as sd
    >>> x = sd.symbol("x")
    >>> sd.exp1(x) is sd.expn(1, x)
    True
    """
    return expn(1, x)


def sici(x: Operand, /) -> tuple[Expr, Expr]:
    """The sine and the cosine integral, ``∫ sin(t)/t dt`` from 0 to x and ``-∫ cos(t)/t dt`` to ∞.

    The second is nan for x < 0, where SciPy has its real part.

    >>> import symdiff as sd
    >>> x = sd.symbol("x")
    >>> sd.sici(x)
    (sine_integral(x), cosine_integral(x))
    """
    operand = as_expr(x)
    return primitive("sine_integral", operand), primitive("cosine_integral", operand)


def shichi(x: Operand, /) -> tuple[Expr, Expr]:
    """The hyperbolic integrals Shi and Chi, ``∫ sinh(t)/t dt`` from 0 to x, and that of cosh.

    The second is nan for x < 0, where SciPy has its real part.

    >>> import symdiff as sd
    >>> x = sd.symbol("x")
    >>> sd.shichi(x)
    (sinh_integral(x), cosh_integral(x))
    """
    operand = as_expr(x)
    return primitive("sinh_integral", operand), primitive("cosh_integral", operand)


def fresnel(x: Operand, /) -> tuple[Expr, Expr]:
    """Fresnel's integrals ``∫ sin(π t²/2) dt`` and ``∫ cos(π t²/2) dt`` from 0 to x.

    >>> import symdiff as sd
    >>> x = sd.symbol("x")
    >>> sd.diff(sd.fresnel(x)[0], x)
    sin(pi*x**2/2)
    """
    operand = as_expr(x)
    return primitive("fresnel_sine", operand), primitive("fresnel_cosine", operand)


dawsn = unary(
    "dawsn",
    """Dawson's integral ``exp(-x²) ∫ exp(t²) dt`` from 0 to x.

    Its derivatives of every order keep their digits, where ``1 - 2 x dawsn(x)`` cancels.""",
    "sd.dawsn(0) is sd.constant(0)",
)


def gammainc(a: Operand, x: Operand, /) -> Expr:
    """The regularised lower incomplete gamma function ``1/Γ(a) ∫₀ˣ t**(a-1) e**-t dt``.

    For a > 0 and x >= 0, else nan.  It has derivatives of every order by x, and none by a: asking
    for one raises NotDifferentiable.

    >>> import symdiff as sd
    >>> x = sd.symbol("x")
    >>> print(sd.diff(sd.gammainc(2, x), x))
    gamma_density(2, x)
    """
    return primitive("gammainc", as_expr(a), as_expr(x))


def gammaincc(a: Operand, x: Operand, /) -> Expr:
    """``1 - gammainc(a, x)``, accurate in its tail; no derivative by a.

    >>> import symdiff as sd
    >>> x = sd.symbol("x")
    >>> sd.diff(sd.gammaincc(2, x), x) is -sd.diff(sd.gammainc(2, x), x)
    True
    """
    return primitive("gammaincc", as_expr(a), as_expr(x))


def betainc(a: Operand, b: Operand, x: Operand, /) -> Expr:
    """The regularised incomplete beta function ``1/B(a, b) ∫₀ˣ t**(a-1) (1-t)**(b-1) dt``.

    For a, b > 0 and 0 <= x <= 1, else nan.  It has derivatives of every order by x, and none by a
    and b: asking for one raises NotDifferentiable.

    >>> import symdiff as sd
    >>> x = sd.symbol("x")
    >>> print(sd.evalf(sd.diff(sd.betainc(2, 3, x), x, 2), subs={x: 0}))
    12.0
    """
    return primitive("betainc", as_expr(a), as_expr(b), as_expr(x))


def _bessel(name: str, n: Operand, x: Operand) -> Expr:
    order = number_of(as_expr(n, name, "n"))
    if order is None or not -math.inf < order < math.inf:
        raise ValueError(
            f"{name}: the order {shortened(n)} is not a finite number; it has to be one, for there "
            "is no derivative by it"
        )
    order = exact_exponent(order)  # derivatives have orders by whole numbers away from it
    if order < 0 and isinstance(order, int):
        cls = VOCABULARY[name]
        sign = cls.reflection ** (order % 2)
        return scale(sign, primitive(name, number_node(-order), as_expr(x)))
    return primitive(name, number_node(order), as_expr(x))


def jv(n: float, x: Operand, /) -> Expr:
    """J_n(x), the Bessel function of the first kind, for a real number n.

    For an n that is no integer it is nan for x < 0.  It has derivatives of every order, which may
    be infinite at 0 then.  For real x it is SciPy's ``jve``, too.

    Raises ValueError for an n that is no number: there is no derivative by the order.

    >>> import symdiff as sd
    >>> x = sd.symbol("x")
    >>> sd.diff(sd.j0(x), x) is -sd.j1(x), sd.jn(-1, x) is -sd.j1(x)
    (True, True)
    >>> print(sd.evalf(sd.jv(0.5, x), subs={x: 1}), sd.diff(sd.jv(0.5, x), x))
    0.671396707141803 jv(-1/2, x)/2 - jv(3/2, x)/2
    """
    return _bessel("jv", n, x)


def yv(n: float, x: Operand, /) -> Expr:
    """Y_n(x), the Bessel function of the second kind, for a real number n; nan for x < 0.

    For real x it is SciPy's ``yve``, too.  Raises ValueError for an n that is no number: there is
    no derivative by the order.

    >>> import symdiff as sd
    >>> x = sd.symbol("x")
    >>> sd.diff(sd.y0(x), x) is -sd.y1(x)
    True
    """
    return _bessel("yv", n, x)


def iv(n: float, x: Operand, /) -> Expr:
    """I_n(x), the modified Bessel function of the first kind, for a real number n.

    For an n that is no integer it is nan for x < 0.  Raises ValueError for an n that is no number:
    there is no derivative by the order.

    >>> import symdiff as sd
    >>> x = sd.symbol("x")
    >>> sd.diff(sd.i0(x), x) is sd.i1(x), sd.i0(0) is sd.constant(1)
    (True, True)
    """
    return _bessel("iv", n, x)


def kv(n: float, x: Operand, /) -> Expr:
    """K_n(x), the modified Bessel function of the second kind, for a real number n; nan for x < 0.

    Raises ValueError for an n that is no number: there is no derivative by the order.

    >>> import symdiff as sd
    >>> x = sd.symbol("x")
    >>> sd.diff(sd.kv(0, x), x) is -sd.kv(1, x)
    True
    """
    return _bessel("kv", n, x)


def ive(n: float, x: Operand, /) -> Expr:
    """``e**-abs(x) * iv(n, x)``, which does not overflow, for a real number n.

    For an n that is no integer it is nan for x < 0.  For an integer it is even or odd; a derivative
    whose two sides differ at x = 0, such as the first of ``ive(0, x)``, is 0 there.  All
    derivatives keep their digits for large x.

    Raises ValueError for an n that is no number: there is no derivative by the order.

    >>> import symdiff as sd
    >>> x = sd.symbol("x")
    >>> print(sd.evalf(sd.diff(sd.ive(0, x), x), subs={x: 1e10}))
    -1.99471140208196e-16
    """
    return _bessel("ive", n, x)


def kve(n: float, x: Operand, /) -> Expr:
    """``e**x * kv(n, x)``, which does not underflow, for a real number n; nan for x < 0.

    All derivatives keep their digits for large x.  Raises ValueError for an n that is no number:
    there is no derivative by the order.

    >>> import symdiff as sd
    >>> x = sd.symbol("x")
    >>> print(sd.evalf(sd.kve(0.5, x), subs={x: 2}), sd.kve(-2, x) is sd.kve(2, x))
    0.886226925452758 True
    """
    return _bessel("kve", n, x)


def _of_order(name: str, n: int, symbol: str) -> Unary:
    function = partial(_bessel, name, n)

    def of_order(x: Operand, /) -> Expr:
        return function(x)

    return documented(
        of_order, symbol, f"``{name}({n}, x)``.", f"sd.{symbol}(x) is sd.{name}({n}, x)"
    )


j0, j1 = _of_order("jv", 0, "j0"), _of_order("jv", 1, "j1")
y0, y1 = _of_order("yv", 0, "y0"), _of_order("yv", 1, "y1")
i0, i1 = _of_order("iv", 0, "i0"), _of_order("iv", 1, "i1")
k0, k1 = _of_order("kv", 0, "k0"), _of_order("kv", 1, "k1")
i0e, i1e = _of_order("ive", 0, "i0e"), _of_order("ive", 1, "i1e")
k0e, k1e = _of_order("kve", 0, "k0e"), _of_order("kve", 1, "k1e")


def _polynomial(name: str, n: Operand, *operands: Operand) -> Expr:
    order = number_of(as_expr(n))
    if not isinstance(order, int) or order < 0:
        raise ValueError(f"{name}: the order {shortened(n)} is not an integer >= 0")
    return primitive(name, number_node(order), *map(as_expr, operands))


def eval_legendre(n: int, x: Operand, /) -> Expr:
    """P_n(x), Legendre's polynomial, orthogonal on [-1, 1]; its derivatives are Gegenbauer's.

    Raises ValueError for an order n that is no integer >= 0.

    >>> import symdiff as sd
    >>> x = sd.symbol("x")
    >>> sd.diff(sd.eval_legendre(3, x), x)
    eval_gegenbauer(2, 3/2, x)
    """
    return _polynomial("eval_legendre", n, x)


def eval_chebyt(n: int, x: Operand, /) -> Expr:
    """T_n(x), Chebyshev's polynomial of the first kind: ``cos(n * acos(x))`` for -1 <= x <= 1.

    Raises ValueError for an order n that is no integer >= 0.

    >>> import symdiff as sd
    >>> x = sd.symbol("x")
    >>> sd.diff(sd.eval_chebyt(3, x), x)
    3*eval_chebyu(2, x)
    """
    return _polynomial("eval_chebyt", n, x)


def eval_chebyu(n: int, x: Operand, /) -> Expr:
    """U_n(x), Chebyshev's polynomial of the second kind: ``sin((n + 1) t) / sin(t)`` of ``cos(t)``.

    Raises ValueError for an order n that is no integer >= 0.

    >>> import symdiff as sd
    >>> x = sd.symbol("x")
    >>> sd.diff(sd.eval_chebyu(3, x), x)
    2*eval_gegenbauer(2, 2, x)
    """
    return _polynomial("eval_chebyu", n, x)


def eval_hermite(n: int, x: Operand, /) -> Expr:
    """H_n(x), Hermite's polynomial, orthogonal for the weight ``exp(-x**2)`` (physicists' one).

    Raises ValueError for an order n that is no integer >= 0.

    >>> import symdiff as sd
    >>> x = sd.symbol("x")
    >>> sd.diff(sd.eval_hermite(3, x), x)
    6*eval_hermite(2, x)
    """
    return _polynomial("eval_hermite", n, x)


def eval_hermitenorm(n: int, x: Operand, /) -> Expr:
    """He_n(x), Hermite's polynomial, orthogonal for ``exp(-x**2 / 2)`` (statisticians' one).

    Raises ValueError for an order n that is no integer >= 0.

    >>> import symdiff as sd
    >>> x = sd.symbol("x")
    >>> sd.diff(sd.eval_hermitenorm(3, x), x)
    3*eval_hermitenorm(2, x)
    """
    return _polynomial("eval_hermitenorm", n, x)


def eval_laguerre(n: int, x: Operand, /) -> Expr:
    """L_n(x), Laguerre's polynomial, orthogonal for the weight ``exp(-x)`` on x >= 0.

    Raises ValueError for an order n that is no integer >= 0.

    >>> import symdiff as sd
    >>> x = sd.symbol("x")
    >>> sd.diff(sd.eval_laguerre(3, x), x)
    -eval_genlaguerre(2, 1, x)
    """
    return _polynomial("eval_laguerre", n, x)


def eval_genlaguerre(n: int, alpha: Operand, x: Operand, /) -> Expr:
    """Laguerre's polynomial of order n and any real parameter; of 0 it is ``eval_laguerre``.

    It has no derivative by the parameter: asking for one raises NotDifferentiable.
    Raises ValueError for an order n that is no integer >= 0.

    >>> import symdiff as sd
    >>> x = sd.symbol("x")
    >>> sd.diff(sd.eval_genlaguerre(3, 1, x), x)
    -eval_genlaguerre(2, 2, x)
    """
    return _polynomial("eval_genlaguerre", n, alpha, x)


def eval_gegenbauer(n: int, alpha: Operand, x: Operand, /) -> Expr:
    """Gegenbauer's polynomial of order n and any real parameter; of 1/2 it is ``eval_legendre``.

    It has no derivative by the parameter: asking for one raises NotDifferentiable.
    Raises ValueError for an order n that is no integer >= 0.

    >>> import symdiff as sd
    >>> x = sd.symbol("x")
    >>> sd.diff(sd.eval_gegenbauer(3, 2, x), x)
    4*eval_gegenbauer(2, 3, x)
    """
    return _polynomial("eval_gegenbauer", n, alpha, x)


ellipk = unary(
    "ellipk",
    "K(m), the complete elliptic integral ``∫₀^π/2 dθ / sqrt(1 - m sin²θ)`` for m <= 1, else nan.",
    "sd.evalf(sd.diff(sd.ellipk(x), x), 5, {x: 0}) == sd.evalf(sd.pi / 8, 5)",
)
ellipkm1 = unary(
    "ellipkm1",
    "``ellipk(1 - x)`` for x >= 0, which keeps its digits near 0, where it is infinite.",
    "sd.evalf(sd.ellipkm1(x), 5, {x: 1}) == sd.evalf(sd.pi / 2, 5)",
)
ellipe = unary(
    "ellipe",
    "E(m), the complete elliptic integral ``∫₀^π/2 sqrt(1 - m sin²θ) dθ`` for m <= 1, else nan.",
    "sd.evalf(sd.diff(sd.ellipe(x), x), 5, {x: 0}) == sd.evalf(-sd.pi / 8, 5)",
)


def lambertw(x: Operand, /, k: int = 0) -> Expr:
    """W with ``W * e**W = x`` (Lambert's function), real, of branch k = 0 or -1.

    Branch 0 has W >= -1 for x >= -1/e, branch -1 has W <= -1 for -1/e <= x < 0; elsewhere it is
    nan, where SciPy's is complex.  The derivatives, of every order, hold at x = 0, too.

    Raises ValueError for any other k.

    >>> import symdiff as sd
    >>> x = sd.symbol("x")
    >>> sd.evalf(sd.lambertw(x), 10, {x: 1}), sd.evalf(sd.diff(sd.lambertw(x), x, 2), 10, {x: 0})
    (0.5671432904, -2.0)
    >>> sd.evalf(sd.lambertw(x, -1), 10, {x: "-1/4"})
    -2.153292364
    """
    branch = number_of(as_expr(k))
    if branch not in (0, -1):
        raise ValueError(
            f"lambertw: the branch k = {shortened(k)} is neither 0 nor -1; others are complex"
        )
    return primitive("lambertwm1" if branch else "lambertw", as_expr(x))


def zeta(x: Operand, q: Operand | None = None, /) -> Expr:
    """Riemann's ζ(x), the sum of k**-x over k > 0, or Hurwitz's, that of (q + k)**-x over k >= 0.

    Riemann's is continued to all real x; it is infinite at 1.  Hurwitz's is for x > 1 and q > 0,
    and nan elsewhere, but infinite at x = 1 and at q = 0, -1, -2 ...; SciPy has it for other
    negative q and whole x, too.  Derivatives are of every order by both: d/dq ζ(x, q) is
    -x ζ(x + 1, q); those by x are functions of their own, which ``to_sympy`` refuses, since SymPy
    has none.

    >>> import symdiff as sd
    >>> x, q = sd.symbols("x q")
    >>> sd.evalf(sd.zeta(x), 10, {x: 2}), sd.evalf(sd.zeta(x), 10, {x: -1})
    (1.644934067, -0.08333333333)
    >>> sd.diff(sd.zeta(x), x), sd.diff(sd.zeta(x, q), q)
    (zeta_derivative(1, x), -x*hurwitz_zeta(x + 1, q))
    """
    if q is None:
        return primitive("zeta", as_expr(x))
    return primitive("hurwitz_zeta", as_expr(x), as_expr(q))


def logit(x: Operand, /) -> Expr:
    """``log(x / (1 - x))``, the inverse of the sigmoid on [0, 1].

    >>> import symdiff as sd
    >>> x = sd.symbol("x")
    >>> sd.logit(x) is sd.log(x) - sd.log1p(-x)
    True
    """
    operand = as_expr(x)
    return log(operand) - log1p(-operand)


psi = digamma
jn, yn = jv, yv
jve, yve = jv, yv  # the scale is e^-|Im x|

__all__ = [
    "beta",
    "betainc",
    "betaln",
    "binom",
    "dawsn",
    "digamma",
    "ellipe",
    "ellipk",
    "ellipkm1",
    "entr",
    "erf",
    "erfc",
    "erfcinv",
    "erfcx",
    "erfinv",
    "eval_chebyt",
    "eval_chebyu",
    "eval_gegenbauer",
    "eval_genlaguerre",
    "eval_hermite",
    "eval_hermitenorm",
    "eval_laguerre",
    "eval_legendre",
    "exp1",
    "expi",
    "expn",
    "factorial",
    "fresnel",
    "gamma",
    "gammainc",
    "gammaincc",
    "gammaln",
    "gammasgn",
    "i0",
    "i0e",
    "i1",
    "i1e",
    "iv",
    "ive",
    "j0",
    "j1",
    "jn",
    "jv",
    "jve",
    "k0",
    "k0e",
    "k1",
    "k1e",
    "kl_div",
    "kv",
    "kve",
    "lambertw",
    "log_ndtr",
    "logit",
    "multigammaln",
    "ndtr",
    "ndtri",
    "poch",
    "polygamma",
    "psi",
    "rel_entr",
    "rgamma",
    "shichi",
    "sici",
    "xlog1py",
    "y0",
    "y1",
    "yn",
    "yv",
    "yve",
    "zeta",
]
