"""Special elementwise functions under SciPy's names; their operands broadcast."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING

from symdiff.contexts import listed
from symdiff.functions import elementwise
from symdiff.functions.elementwise import Unary, documented, log, log1p, where
from symdiff.graph.algebra import as_numeric, primitive, scale
from symdiff.graph.expr import pi
from symdiff.graph.leaves import as_expr, number_node, number_of
from symdiff.graph.number import exact_exponent, shortened
from symdiff.scalars.formula import VOCABULARY

if TYPE_CHECKING:
    from symdiff.graph.expr import Expr, Operand

# Functions of this module, as pickles have to name it.
unary = partial(elementwise.unary, module=__name__)
binary = partial(elementwise.binary, module=__name__)

erf = unary(
    "erf", "Return the error function ``2/√π ∫₀ˣ exp(-t²) dt``.", "sd.erf(0) is sd.constant(0)"
)
erfc = unary("erfc", "Return ``1 - erf(x)``, accurate in its tail.", "sd.erfc(0) is sd.constant(1)")
erfcx = unary(
    "erfcx",
    "Return ``e**(x**2) * erfc(x)``, which does not underflow for large x.",
    "sd.erfcx(0) is sd.constant(1)",
)
gamma = unary(
    "gamma",
    "Return the gamma function Γ(x).",
    "sd.diff(sd.gamma(x), x) is sd.gamma(x) * sd.digamma(x)",
)
rgamma = unary(
    "rgamma",
    "Return ``1/Γ(x)``, finite with all its derivatives; 0 at the poles 0, -1, -2 ... of Γ.",
    "sd.rgamma(-2) is sd.constant(0)",
)
gammasgn = unary(
    "gammasgn",
    "Return the sign of Γ(x), nan at the poles -1, -2 ... and 1 at 0; its derivative is 0.",
    "sd.gammasgn(-0.5) is sd.constant(-1)",
)
gammaln = unary("gammaln", "Return ``log|Γ(x)|``.", "sd.diff(sd.gammaln(x), x) is sd.digamma(x)")
digamma = unary(
    "digamma",
    "Return ψ(x), the derivative of ``log Γ(x)``.",
    "sd.diff(sd.digamma(x), x) is sd.polygamma(1, x)",
)


def factorial(x: Operand, /) -> Expr:
    """Return ``Γ(x + 1)``, the product of the integers up to x; nan at -1, -2 ..., the poles of Γ.

    SciPy's function for arrays is 0 for every negative x.

    >>> import symdiff as sd
    >>> x = sd.symbol("x")
    >>> sd.factorial(x) is sd.gamma(x + 1), sd.factorial(5) is sd.constant(120)
    (True, True)
    """
    return gamma(as_numeric(as_expr(x)) + 1)


def multigammaln(a: Operand, d: int, /) -> Expr:
    """Return the logarithm of the multivariate gamma function of an integer dimension d >= 1.

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
    """Return the n-th derivative of digamma at x, for an integer n >= 0.

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
    "Return ``Γ(x)Γ(y)/Γ(x + y)``; nan at poles, but infinite at 0 with a positive number.",
    "sd.evalf(sd.beta(2, 3)) == sd.evalf(sd.constant(1) / 12)",
)
poch = binary(
    "poch",
    "Return ``Γ(x + y)/Γ(x)``; nan at poles; the limit for fixed y if both have a pole.",
    "sd.evalf(sd.poch(-5, 3)) == -60",
)
binom = binary(
    "binom",
    """Return ``Γ(x + 1)/(Γ(y + 1)Γ(x - y + 1))``.

    At x = -1, -2 ... it is the limit for an integer y, else nan.""",
    "sd.evalf(sd.binom(5, 2)) == 10",
)
betaln = binary(
    "betaln",
    "Return ``log|B(x, y)|``, the logarithm of the beta function.",
    "sd.diff(sd.betaln(x, y), x, y) is -sd.polygamma(1, x + y)",
)
erfinv = unary("erfinv", "Return the inverse of erf on [-1, 1].", "sd.erfinv(0) is sd.constant(0)")
erfcinv = unary(
    "erfcinv",
    "Return the inverse of erfc on [0, 2], accurate near 0.",
    "sd.erfcinv(1) is sd.constant(0)",
)
ndtr = unary(
    "ndtr",
    "Return Φ(x), the normal distribution function, accurate in its left tail.",
    "sd.ndtr(0) is sd.constant(0.5)",
)
log_ndtr = unary(
    "log_ndtr",
    """Return ``log Φ(x)``, also where Φ(x) is too small for a float.

    Its derivative is the ratio φ/Φ; derivatives of every order keep their digits in both tails.""",
    'str(sd.diff(sd.log_ndtr(x), x)) == "exp(-x**2/2)/(ndtr(x)*sqrt(2*pi))"',
)
ndtri = unary(
    "ndtri",
    "Return the inverse of ``ndtr`` on [0, 1], the quantiles of the normal distribution, or nan.",
    "sd.ndtri(0.5) is sd.constant(0)",
)
xlog1py = binary(
    "xlog1py",
    "Return ``x * log1p(y)``; 0 at x = 0 for every y except nan.",
    "sd.xlog1py(0, 2) is sd.constant(0)",
)
entr = unary(
    "entr",
    "Return the entropy ``-x * log(x)``; 0 at 0, and -inf for x < 0.",
    "sd.diff(sd.entr(x), x) is -1 - sd.log(x)",
)
rel_entr = binary(
    "rel_entr",
    """Return the relative entropy ``x * log(x/y)``; 0 at x = 0 <= y, inf for negative x or y.

    It is inf at y = 0 < x, too.  x/y may overflow or underflow.""",
    "sd.diff(sd.rel_entr(x, y), y) is sd.where(sd.equal(x, 0) & sd.equal(y, 0), 0, -x / y)",
)
kl_div = binary(
    "kl_div",
    """Return the divergence of Kullback and Leibler, ``x * log(x/y) - x + y``; y at x = 0 <= y.

    It is inf outside.  It is convex, and 0 at x = y, where it keeps its digits.""",
    "sd.kl_div(3, 3) is sd.constant(0)",
)
expi = unary(
    "expi",
    "Return the exponential integral Ei, the principal value of ``∫ exp(t)/t dt`` from -∞ to x.",
    'str(sd.diff(sd.expi(x), x)) == "exp(x)/x"',
)


def expn(n: int, x: Operand, /) -> Expr:
    """Return the exponential integral ``E_n(x) = x**(n-1) ∫ exp(-t) / t**n dt`` from x to ∞.

    For an integer n and x >= 0, else nan.  The derivative is ``-E_(n-1)(x)``; orders below 0, which
    SciPy lacks, are elementary.

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
    """Return ``expn(1, x)`` for x >= 0, else nan.

    >>> import symdiff as sd
    >>> x = sd.symbol("x")
    >>> sd.exp1(x) is sd.expn(1, x)
    True
    """
    return expn(1, x)


def sici(x: Operand, /) -> tuple[Expr, Expr]:
    """Return the sine integral ``∫ sin(t)/t dt`` from 0 to x and the cosine integral.

    The second is ``-∫ cos(t)/t dt`` from x to ∞; it is nan for x < 0, where SciPy returns the real
    part.

    >>> import symdiff as sd
    >>> x = sd.symbol("x")
    >>> sd.sici(x)
    (sine_integral(x), cosine_integral(x))
    """
    operand = as_expr(x)
    return primitive("sine_integral", operand), primitive("cosine_integral", operand)


def shichi(x: Operand, /) -> tuple[Expr, Expr]:
    """Return the hyperbolic integrals Shi and Chi: ``∫ sinh(t)/t dt`` from 0 to x, and cosh.

    The second is nan for x < 0, where SciPy returns the real part.

    >>> import symdiff as sd
    >>> x = sd.symbol("x")
    >>> sd.shichi(x)
    (sinh_integral(x), cosh_integral(x))
    """
    operand = as_expr(x)
    return primitive("sinh_integral", operand), primitive("cosh_integral", operand)


def fresnel(x: Operand, /) -> tuple[Expr, Expr]:
    """Return Fresnel's integrals ``∫ sin(π t²/2) dt`` and ``∫ cos(π t²/2) dt`` from 0 to x.

    >>> import symdiff as sd
    >>> x = sd.symbol("x")
    >>> sd.diff(sd.fresnel(x)[0], x)
    sin(pi*x**2/2)
    """
    operand = as_expr(x)
    return primitive("fresnel_sine", operand), primitive("fresnel_cosine", operand)


dawsn = unary(
    "dawsn",
    """Return Dawson's integral ``exp(-x²) ∫ exp(t²) dt`` from 0 to x.

    Its derivatives of every order keep their digits even where ``1 - 2 x dawsn(x)`` cancels.""",
    "sd.dawsn(0) is sd.constant(0)",
)


def gammainc(a: Operand, x: Operand, /) -> Expr:
    """Return the regularised lower incomplete gamma function ``1/Γ(a) ∫₀ˣ t**(a-1) e**-t dt``.

    For a > 0 and x >= 0, else nan.  It has derivatives of every order by x.  A derivative by a
    raises NotDifferentiable.

    >>> import symdiff as sd
    >>> x = sd.symbol("x")
    >>> print(sd.diff(sd.gammainc(2, x), x))
    x*exp(-x)
    """
    return primitive("gammainc", as_expr(a), as_expr(x))


def gammaincc(a: Operand, x: Operand, /) -> Expr:
    """Return ``1 - gammainc(a, x)``, accurate in its tail; no derivative by a.

    >>> import symdiff as sd
    >>> x = sd.symbol("x")
    >>> sd.diff(sd.gammaincc(2, x), x) is -sd.diff(sd.gammainc(2, x), x)
    True
    """
    return primitive("gammaincc", as_expr(a), as_expr(x))


def betainc(a: Operand, b: Operand, x: Operand, /) -> Expr:
    """Return the regularised incomplete beta function ``1/B(a, b) ∫₀ˣ t**(a-1) (1-t)**(b-1) dt``.

    For a, b > 0 and 0 <= x <= 1, else nan.  It has derivatives of every order by x.  A derivative
    by a or b raises NotDifferentiable.

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
            f"{name}: the order {shortened(n)} is not a finite number; give a constant, because "
            "there is no derivative by the order"
        )
    order = exact_exponent(order)  # derivatives have orders that differ by integers
    if order < 0 and isinstance(order, int):
        cls = VOCABULARY[name]
        sign = cls.reflection ** (order % 2)
        return scale(sign, primitive(name, number_node(-order), as_expr(x)))
    return primitive(name, number_node(order), as_expr(x))


def jv(n: float, x: Operand, /) -> Expr:
    """Return J_n(x), the Bessel function of the first kind, for a real number n.

    If n is not an integer it is nan for x < 0.  It has derivatives of every order, which may be
    infinite at 0 then.  For real x it equals SciPy's ``jve``.

    Raises ValueError for an n that is not a number: there is no derivative by the order.

    >>> import symdiff as sd
    >>> x = sd.symbol("x")
    >>> sd.diff(sd.j0(x), x) is -sd.j1(x), sd.jn(-1, x) is -sd.j1(x)
    (True, True)
    >>> print(sd.evalf(sd.jv(0.5, x), subs={x: 1}), sd.diff(sd.jv(0.5, x), x))
    0.671396707141803 (jv(-1/2, x) - jv(3/2, x))/2
    """
    return _bessel("jv", n, x)


def yv(n: float, x: Operand, /) -> Expr:
    """Return Y_n(x), the Bessel function of the second kind, for a real number n; nan for x < 0.

    For real x it equals SciPy's ``yve``.  Raises ValueError for an n that is not a number: there is
    no derivative by the order.

    >>> import symdiff as sd
    >>> x = sd.symbol("x")
    >>> sd.diff(sd.y0(x), x) is -sd.y1(x)
    True
    """
    return _bessel("yv", n, x)


def iv(n: float, x: Operand, /) -> Expr:
    """Return I_n(x), the modified Bessel function of the first kind, for a real number n.

    If n is not an integer it is nan for x < 0.  Raises ValueError for an n that is not a number:
    there is no derivative by the order.

    >>> import symdiff as sd
    >>> x = sd.symbol("x")
    >>> sd.diff(sd.i0(x), x) is sd.i1(x), sd.i0(0) is sd.constant(1)
    (True, True)
    """
    return _bessel("iv", n, x)


def kv(n: float, x: Operand, /) -> Expr:
    """Return K_n(x), the modified Bessel function of the second kind; nan for x < 0.

    Raises ValueError for an n that is not a number: there is no derivative by the order.

    >>> import symdiff as sd
    >>> x = sd.symbol("x")
    >>> sd.diff(sd.kv(0, x), x) is -sd.kv(1, x)
    True
    """
    return _bessel("kv", n, x)


def ive(n: float, x: Operand, /) -> Expr:
    """Return ``e**-abs(x) * iv(n, x)``, which does not overflow, for a real number n.

    If n is not an integer it is nan for x < 0.  If n is an integer it is even or odd.  Where the
    two sides of a derivative differ at x = 0, as in the first one of ``ive(0, x)``, it is 0 there.
    All derivatives keep their digits for large x.

    Raises ValueError for an n that is not a number: there is no derivative by the order.

    >>> import symdiff as sd
    >>> x = sd.symbol("x")
    >>> print(sd.evalf(sd.diff(sd.ive(0, x), x), subs={x: 1e10}))
    -1.99471140208196e-16
    """
    return _bessel("ive", n, x)


def kve(n: float, x: Operand, /) -> Expr:
    """Return ``e**x * kv(n, x)``, which does not underflow, for a real number n; nan for x < 0.

    All derivatives keep their digits for large x.  Raises ValueError for an n that is not a number:
    there is no derivative by the order.

    >>> import symdiff as sd
    >>> x = sd.symbol("x")
    >>> print(sd.evalf(sd.kve(0.5, x), subs={x: 2}), sd.kve(-2, x) is sd.kve(2, x))
    0.886226925452758 True
    """
    return _bessel("kve", n, x)


def _bessel_of_order(name: str, n: int, symbol: str) -> Unary:
    function = partial(_bessel, name, n)

    def of_order(x: Operand, /) -> Expr:
        return function(x)

    return documented(
        of_order,
        symbol,
        f"Return ``{name}({n}, x)``.",
        f"sd.{symbol}(x) is sd.{name}({n}, x)",
        __name__,
    )


j0, j1 = _bessel_of_order("jv", 0, "j0"), _bessel_of_order("jv", 1, "j1")
y0, y1 = _bessel_of_order("yv", 0, "y0"), _bessel_of_order("yv", 1, "y1")
i0, i1 = _bessel_of_order("iv", 0, "i0"), _bessel_of_order("iv", 1, "i1")
k0, k1 = _bessel_of_order("kv", 0, "k0"), _bessel_of_order("kv", 1, "k1")
i0e, i1e = _bessel_of_order("ive", 0, "i0e"), _bessel_of_order("ive", 1, "i1e")
k0e, k1e = _bessel_of_order("kve", 0, "k0e"), _bessel_of_order("kve", 1, "k1e")


def _polynomial(name: str, n: Operand, *operands: Operand) -> Expr:
    order = number_of(as_expr(n))
    if not isinstance(order, int) or order < 0:
        raise ValueError(f"{name}: the order {shortened(n)} is not an integer >= 0")
    return primitive(name, number_node(order), *map(as_expr, operands))


def eval_legendre(n: int, x: Operand, /) -> Expr:
    """Return P_n(x), Legendre's polynomial, orthogonal on [-1, 1]; derivatives are Gegenbauer's.

    Raises ValueError for an order n that is not an integer >= 0.

    >>> import symdiff as sd
    >>> x = sd.symbol("x")
    >>> sd.diff(sd.eval_legendre(3, x), x)
    eval_gegenbauer(2, 3/2, x)
    """
    return _polynomial("eval_legendre", n, x)


def eval_chebyt(n: int, x: Operand, /) -> Expr:
    """Return T_n(x), Chebyshev's polynomial of the first kind: ``cos(n * acos(x))`` on [-1, 1].

    Raises ValueError for an order n that is not an integer >= 0.

    >>> import symdiff as sd
    >>> x = sd.symbol("x")
    >>> sd.diff(sd.eval_chebyt(3, x), x)
    3*eval_chebyu(2, x)
    """
    return _polynomial("eval_chebyt", n, x)


def eval_chebyu(n: int, x: Operand, /) -> Expr:
    """Return U_n(x), Chebyshev's polynomial of the second kind: ``sin((n + 1) t) / sin(t)``.

    The argument is ``x = cos(t)``.

    Raises ValueError for an order n that is not an integer >= 0.

    >>> import symdiff as sd
    >>> x = sd.symbol("x")
    >>> sd.diff(sd.eval_chebyu(3, x), x)
    2*eval_gegenbauer(2, 2, x)
    """
    return _polynomial("eval_chebyu", n, x)


def eval_hermite(n: int, x: Operand, /) -> Expr:
    """Return H_n(x), the physicists' Hermite polynomial, orthogonal for the weight ``exp(-x**2)``.

    Raises ValueError for an order n that is not an integer >= 0.

    >>> import symdiff as sd
    >>> x = sd.symbol("x")
    >>> sd.diff(sd.eval_hermite(3, x), x)
    6*eval_hermite(2, x)
    """
    return _polynomial("eval_hermite", n, x)


def eval_hermitenorm(n: int, x: Operand, /) -> Expr:
    """Return He_n(x), the statisticians' Hermite polynomial, orthogonal for ``exp(-x**2 / 2)``.

    Raises ValueError for an order n that is not an integer >= 0.

    >>> import symdiff as sd
    >>> x = sd.symbol("x")
    >>> sd.diff(sd.eval_hermitenorm(3, x), x)
    3*eval_hermitenorm(2, x)
    """
    return _polynomial("eval_hermitenorm", n, x)


def eval_laguerre(n: int, x: Operand, /) -> Expr:
    """Return L_n(x), Laguerre's polynomial, orthogonal for the weight ``exp(-x)`` on x >= 0.

    Raises ValueError for an order n that is not an integer >= 0.

    >>> import symdiff as sd
    >>> x = sd.symbol("x")
    >>> sd.diff(sd.eval_laguerre(3, x), x)
    -eval_genlaguerre(2, 1, x)
    """
    return _polynomial("eval_laguerre", n, x)


def eval_genlaguerre(n: int, alpha: Operand, x: Operand, /) -> Expr:
    """Return Laguerre's polynomial of order n and a real parameter; 0 gives ``eval_laguerre``.

    A derivative by the parameter raises NotDifferentiable.
    Raises ValueError for an order n that is not an integer >= 0.

    >>> import symdiff as sd
    >>> x = sd.symbol("x")
    >>> sd.diff(sd.eval_genlaguerre(3, 1, x), x)
    -eval_genlaguerre(2, 2, x)
    """
    return _polynomial("eval_genlaguerre", n, alpha, x)


def eval_gegenbauer(n: int, alpha: Operand, x: Operand, /) -> Expr:
    """Return Gegenbauer's polynomial of order n and a real parameter; 1/2 gives ``eval_legendre``.

    A derivative by the parameter raises NotDifferentiable.
    Raises ValueError for an order n that is not an integer >= 0.

    >>> import symdiff as sd
    >>> x = sd.symbol("x")
    >>> sd.diff(sd.eval_gegenbauer(3, 2, x), x)
    4*eval_gegenbauer(2, 3, x)
    """
    return _polynomial("eval_gegenbauer", n, alpha, x)


ellipk = unary(
    "ellipk",
    "Return the complete elliptic integral K(m), ``∫₀^π/2 dθ / sqrt(1 - m sin²θ)``; nan for m > 1.",
    "sd.evalf(sd.diff(sd.ellipk(x), x), 5, {x: 0}) == sd.evalf(sd.pi / 8, 5)",
)
ellipkm1 = unary(
    "ellipkm1",
    "Return ``ellipk(1 - x)`` for x >= 0; it keeps its digits near 0, where it is infinite.",
    "sd.evalf(sd.ellipkm1(x), 5, {x: 1}) == sd.evalf(sd.pi / 2, 5)",
)
ellipe = unary(
    "ellipe",
    "Return the complete elliptic integral E(m), ``∫₀^π/2 sqrt(1 - m sin²θ) dθ``; nan for m > 1.",
    "sd.evalf(sd.diff(sd.ellipe(x), x), 5, {x: 0}) == sd.evalf(-sd.pi / 8, 5)",
)


def lambertw(x: Operand, /, k: int = 0) -> Expr:
    """Return the real W with ``W * e**W = x`` (Lambert's function), of branch k = 0 or -1.

    Branch 0 has W >= -1 for x >= -1/e, branch -1 has W <= -1 for -1/e <= x < 0.  It is nan
    elsewhere, where SciPy returns complex numbers.  Derivatives of every order are correct at
    x = 0, too.

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
    """Return Riemann's ζ(x), or with q Hurwitz's ζ(x, q).

    They are the sums of k**-x over k > 0, and of (q + k)**-x over k >= 0.  Riemann's is continued
    to all real x; it is infinite at 1.  Hurwitz's is for x > 1 and q > 0.  It is infinite at x = 1
    and at q = 0, -1, -2 ..., and nan elsewhere; SciPy also has values for other negative q and
    integer x.  Derivatives exist in every order by both: d/dq ζ(x, q) is -x ζ(x + 1, q).
    Derivatives by x are functions of their own; ``to_sympy`` refuses them, because SymPy has none.

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
    """Return ``log(x / (1 - x))``, the inverse of the sigmoid on [0, 1].

    >>> import symdiff as sd
    >>> x = sd.symbol("x")
    >>> sd.logit(x) is sd.log(x) - sd.log1p(-x)
    True
    """
    operand = as_expr(x)
    return log(operand) - log1p(-operand)


psi = digamma
jn, yn = jv, yv
jve, yve = jv, yv  # the scale e^-|Im x| is 1 for real x

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
