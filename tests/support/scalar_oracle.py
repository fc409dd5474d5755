"""A second definition of the scalar vocabulary, in mpmath and from the textbook.

It imports nothing from the packages.  mpmath's numerical derivatives of these definitions are
compared with the formulas, their derivatives and their NumPy bodies.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import product

import mpmath as mp

TINY = 1e-30
RESOLUTION = mp.mpf(10) ** -90  # the size of numerical derivatives of 0 at 110 digits
POINTS = [sign * x for x in (0.0, TINY, 0.5, 1.0, 40.0, 800.0) for sign in (1, -1)][1:]
PAIRS = [
    *[(1.0, 0.0), (0.0, 1.0), (TINY, 1.0), (-1.0, TINY), (TINY, -3 * TINY), (0.5, 0.5)],
    *[(1.0, -40.0), (40.0, 0.5), (2.0, 3.0), (40.0, 800.0), (-800.0, 40.0), (800.0, 799.0)],
    *[(2.0, 0.0), (0.5, 40.0), (-2.0, 3.0), (7.5, 2.0), (-7.5, 2.0), (7.5, -2.0), (TINY, 0.5)],
]


@dataclass(frozen=True)
class Meaning:
    """A function of mpmath numbers, and the region where it is smooth and real."""

    f: object
    smooth: object = staticmethod(lambda *_: True)
    points: tuple = ()
    constants: tuple = ()  # positions of arguments without a derivative
    digits: int = 0  # 0: chosen by the size of the arguments

    def at(self):
        """Return the points of the domain at which the function is compared."""
        arity = self.f.__code__.co_argcount
        points = self.points or ([(x,) for x in POINTS] if arity == 1 else PAIRS)
        return [point for point in points if self.smooth(*point)]

    def working_digits(self, point):
        """Return the digits at which 1 - tanh(800)**2 still has 100."""
        return self.digits or int(110 + max(map(abs, point)))


def positive(x, *_):
    return x > 0


def nonzero(x, *_):
    return x != 0


def no_pole(*args):
    return args[-1] > 0 or args[-1] != int(args[-1])


def away_from_origin(a, b):
    return a != 0 or b != 0


def distinct(a, b):
    return a != b


WEIGHTS = ((0.5, 0.5), (2.0, 3.0), (TINY, 0.5), (40.0, TINY), (800.0, 799.0))
ORDERS = tuple((float(n), x) for n in (1, 2, 3, 7) for x in (0.5, 1.0, 40.0, -0.5))
GAMMA_POINTS = ((0.5, 0.25), (1.0, 2.0), (2.5, 1.5), (7.0, 12.0), (3.0, 0.125))
SINC_POINTS = (1e-8, -0.32, 0.5, 1.0, 1.7, -4.1, 40.0, -800.0)
SINC_ORDERS = tuple((float(n), x) for n in (1, 2, 3, 12) for x in SINC_POINTS)


def sinc(x):
    return mp.sinpi(x) / (mp.pi * x) if x else mp.mpf(1)


def sinc_derivative(n, x):
    """Return a derivative of sin(t)·(1/t), by Leibniz's rule; near 0 its terms cancel."""
    n, t = int(n), mp.pi * x
    sine, cosine = mp.sin(t), mp.cos(t)
    turned = (sine, cosine, -sine, -cosine)
    return mp.pi**n * sum(
        math.comb(n, k) * turned[(n - k) % 4] * (-1) ** k * math.factorial(k) / t ** (k + 1)
        for k in range(n + 1)
    )


EULER_POINTS = ((0.0,), (-2.0,), (0.5,), (1.0,), (7.5,), (-7.25,), (40.0,))


def euler(x):
    """Return 1/Γ(x) by the integral of the second kind, reflected, or as 1/(x - 1)!; DLMF 5.5.3."""
    return 1 / mp.factorial(x - 1) if x >= 0.5 else mp.factorial(-x) * mp.sinpi(x) / mp.pi


def gamma_series(a, x):
    """Return P(a, x) as a power series of positive terms; DLMF 8.7.1."""
    term = mp.exp(-x) * mp.power(x, a) / mp.gamma(a + 1)
    total, k = term, 1
    while term > mp.eps * total:
        term *= x / (a + k)
        total += term
        k += 1
    return total


def beta_series(a, b, x):
    """Return I_x(a, b) by the hypergeometric series; DLMF 8.17.8."""
    scale = mp.gamma(a + b) / (mp.gamma(a + 1) * mp.gamma(b))
    return mp.power(x, a) * mp.power(1 - x, b) * scale * mp.hyp2f1(a + b, 1, a + 1, x)


def inverse_of_erfc(x):
    return mp.findroot(lambda y: mp.erfc(y) - x, mp.erfinv(1 - x) * (1 + mp.mpf(2) ** -20))


def bessel_series(n, x, sign):
    """Return J_n for sign -1, I_n for sign 1; DLMF 10.2.2 and 10.25.2."""
    half = x / 2
    term = mp.power(half, n) * mp.rgamma(n + 1)
    total, k = term, 1
    while k < mp.fabs(half) + 2 or mp.fabs(term) > mp.eps * mp.fabs(total) * mp.mpf(2) ** -20:
        term *= sign * half * half / (k * (n + k))
        total += term
        k += 1
    return total


def second_kind(n, x, sign):
    """Return the sum and the series of Y_n (sign -1) and K_n (sign 1), by powers of x/2."""
    half, z = x / 2, sign * x * x / 4
    finite = (
        mp.fsum(mp.factorial(n - k - 1) / mp.factorial(k) * (-z) ** k for k in range(n)) / half**n
    )
    total, k, term, harmonic = mp.mpf(0), 0, half**n / mp.factorial(n), mp.harmonic(n)
    while k < mp.fabs(half) + 2 or mp.fabs(term) > mp.eps * mp.mpf(2) ** -40:
        total += (harmonic - 2 * mp.euler) * term
        k += 1
        harmonic += mp.mpf(1) / k + mp.mpf(1) / (n + k)
        term *= z / (k * (n + k))
    return finite, mp.log(half) * bessel_series(n, x, sign), total


def bessel_k(n, x):
    """Return K_n by its series; DLMF 10.31.1 and 10.27.4."""
    if n != int(n):
        less = bessel_series(-n, x, 1) - bessel_series(n, x, 1)
        return mp.pi / 2 * less / mp.sinpi(n)
    n = int(n)
    finite, logarithmic, total = second_kind(n, x, 1)
    return finite / 2 - (-1) ** n * (logarithmic - total / 2)


def bessel_y(n, x):
    """Return Y_n by its series; DLMF 10.8.1 and 10.2.3."""
    if n != int(n):
        total = bessel_series(n, x, -1) * mp.cospi(n) - bessel_series(-n, x, -1)
        return total / mp.sinpi(n)
    finite, logarithmic, total = second_kind(int(n), x, -1)
    return (2 * logarithmic - finite - total) / mp.pi


def scaled_first(n, x):
    """Return e^-|x| I_n(x)."""
    return mp.exp(-mp.fabs(x)) * bessel_series(n, x, 1)


def kummer(m, n, x):
    """Return a derivative of (x/2)^n/Γ(n + 1) M(n + 1/2, 2n + 1, -2x), by terms; DLMF 10.39.5."""
    m = int(m)
    if x < 0:
        return (-1) ** (m + int(n)) * kummer(m, n, -x)
    term, total, i = mp.mpf(2) ** -n * mp.rgamma(n + 1), mp.mpf(0), 0
    while i <= m + 4 * x or mp.fabs(term * x**i) > mp.eps * mp.fabs(total):
        power = mp.power(x, n + i - m) if n != int(n) or n + i >= m else 0
        total += term * mp.ff(n + i, m) * power
        term *= -2 * (n + mp.mpf(1) / 2 + i) / ((2 * n + 1 + i) * (i + 1))
        i += 1
    return total


def scaled_second(n, x):
    """Return e^x K_n(x)."""
    return mp.exp(x) * bessel_k(n, x)


def polygamma(n, x):
    return (-1) ** int(n + 1) * mp.factorial(n) * mp.zeta(n + 1, x)


BOSE_POINTS = tuple((float(n), x) for n in (0, 1, 4) for x in (0.5, -3.0, 80.0))
PLANE_POINTS = tuple(
    (float(n), float(m), a, b)
    for n, m in ((1, 0), (0, 1), (2, 1))
    for a, b in ((0.5, 0.25), (-3.0, 4.0), (40.0, -0.5))
)


def bose(n, x):
    """Return the polylogarithm of order -n of e^-x, by n-th derivatives of e^-kx."""
    n = int(n)
    if x < 0:  # 1/(e^x - 1) + 1/(e^-x - 1) is -1
        return -bose(n, -x) * (-1) ** n - (n == 0)
    return (-1) ** n * mp.polylog(-n, mp.exp(-x)).real


def angle(n, m, z):
    """Return the derivative of Im log z, n times by Im z and m times by Re z."""
    k = n + m
    return (mp.mpc(0, 1) ** n * (-1) ** (k - 1) * mp.factorial(k - 1) / z**k).imag


def scaled_tail(n, x):
    """Return a derivative of e^(x²) erfc(x) for x > 0, by Tricomi's function; DLMF 7.18.10."""
    half = (n + 1) / mp.mpf(2)
    return (-1) ** int(n) * mp.factorial(n) / mp.sqrt(mp.pi) * mp.hyperu(half, 0.5, x * x)


def log_of_normal(n, x):
    """Return the n-th derivative of log Φ, by the series of Φ and Hermite functions."""
    scaled = [mp.mpf(2) ** (-k / mp.mpf(2)) * mp.hermite(k, x / mp.sqrt(2)) for k in range(int(n))]
    c = [mp.npdf(x) * (-1) ** k * he / mp.factorial(k + 1) for k, he in enumerate(scaled)]
    c = [1, *(one / mp.ncdf(x) for one in c)]
    logarithm = [mp.log(mp.ncdf(x))]
    for k in range(1, int(n) + 1):
        rest = mp.fsum(j * logarithm[j] * c[k - j] for j in range(1, k))
        logarithm.append(c[k] - rest / k)
    return logarithm[-1] * mp.factorial(n)


def elliptic(a, n, m):
    """Return the n-th derivative of the integral of (1 - m sin²)^-a, a = ±1/2, under the integral.

    The trapezoidal rule has an error that falls exponentially for a periodic function.
    """
    n, a = int(n), mp.mpf(a)
    width = mp.fabs(mp.asin(1 / mp.sqrt(mp.mpc(m))).imag)  # of the strip without singularity
    count = int(mp.mp.prec / width / 2) + 20
    power = int(-a - n - 0.5)
    terms = [(s, 1 - m * s) for s in squared_sines(count, mp.mp.prec)]
    total = mp.fsum(s**n * mp.sqrt(y) * y**power for s, y in terms)
    return mp.rf(a, n) * mp.pi / 2 * total / count


@cache
def squared_sines(count, prec):
    return [mp.sin(mp.pi * k / count) ** 2 for k in range(count)]


def coefficients(name, n, alpha=0):
    """Return the coefficients of a polynomial, x^0 first, by the explicit sums of DLMF 18.5."""
    n, alpha, powers = int(n), Fraction(alpha), [Fraction(0)] * (int(n) + 1)
    if name in ("eval_laguerre", "eval_genlaguerre"):
        for k in range(n + 1):
            rising = math.prod((alpha + k + 1 + j for j in range(n - k)), start=Fraction(1))
            powers[k] = (-1) ** k * rising / math.factorial(n - k) / math.factorial(k)
        return powers
    alpha = {"eval_legendre": Fraction(1, 2), "eval_chebyu": Fraction(1)}.get(name, alpha)
    for k in range(n // 2 + 1):
        m = n - 2 * k
        if name == "eval_hermite":
            c = Fraction(math.factorial(n) * 2**m)
        elif name == "eval_hermitenorm":
            c = Fraction(math.factorial(n), 2**k)
        elif name == "eval_chebyt":
            c = Fraction(n * math.factorial(n - k - 1) * 2**m, 2) if n else Fraction(1)
        else:
            c = math.prod((alpha + j for j in range(n - k)), start=Fraction(2) ** m)
        powers[m] = (-1) ** k * c / math.factorial(k) / math.factorial(m)
    return powers


def polynomial(name):
    """Return the polynomial as a function of order, parameter if there is one, and number."""

    def value(n, alpha, x):
        c = [mp.mpf(c.numerator) / c.denominator for c in coefficients(name, n, alpha)]
        return mp.polyval(c[::-1], x)

    if name in ("eval_gegenbauer", "eval_genlaguerre"):
        return lambda n, alpha, x: value(n, float(alpha), x)
    return lambda n, x: value(n, 0, x)


def alternating_zeta(s):
    """Sum (-1)^k (k + 1)^-s, accelerated by P. Borwein's coefficients (DLMF 25.2.3)."""
    count = int(mp.mp.prec / 2.5) + 10 + int(abs(s))
    with mp.extraprec(60):
        coefficient, partial_sums, total = mp.mpf(1) / count, [], mp.mpf(0)
        for i in range(count + 1):
            total += coefficient
            partial_sums.append(count * total)
            coefficient *= mp.mpf(4 * (count + i) * (count - i)) / ((2 * i + 1) * (2 * i + 2))
        last = partial_sums[-1]
        terms = (
            (-1) ** k * (partial_sums[k] / last - 1) * mp.power(k + 1, -s) for k in range(count)
        )
        result = -mp.fsum(terms) / (1 - mp.power(2, 1 - s))
    return +result


def lambert(branch):
    """Return the w with w e^w = x, by Newton's method from a nearby start."""

    def value(x):
        w = mp.lambertw(x, branch).real * (1 + mp.mpf(2) ** -20)
        for _ in range(9):
            w -= (w - x * mp.exp(-w)) / (1 + w)
        return w

    return value


def lambert_derivative(branch):
    """Differentiate w' = e^-w/(1 + w) by the chain rule, as terms c e^-nw (1 + w)^-j."""

    def value(n, x):
        w, terms = lambert(branch)(x), {1: 1}
        for k in range(1, int(n)):
            slope = dict.fromkeys(range(k + 1, 2 * k + 2), 0)
            for j, c in terms.items():
                slope[j + 1] -= k * c
                slope[j + 2] -= j * c
            terms = slope
        return mp.exp(-n * w) * mp.fsum(c / (1 + w) ** j for j, c in terms.items())

    return value


def exponential_integral(n, x):
    """Return E_n by its series, DLMF 8.19.8; for n < 1 by the polynomial of 8.19.10."""
    n = int(n)
    if n < 1:
        total = mp.fsum(x**k / mp.factorial(k) for k in range(1 - n))
        return mp.factorial(-n) * mp.exp(-x) / mp.power(x, 1 - n) * total
    total, term, k = mp.mpf(0), mp.mpf(1), 0
    while k < x + n + 2 or mp.fabs(term) > mp.eps * mp.mpf(2) ** -150:
        total -= term / (1 - n + k) if k != n - 1 else term * (mp.log(x) - mp.psi(0, n))
        k += 1
        term *= -x / k
    return total


def quotient(n, x, cycle):
    """Return a derivative of f(x)/x by Leibniz's rule; ``cycle`` is f and its derivatives."""
    n = int(n)
    return sum(
        math.comb(n, k) * cycle[(n - k) % 4] * (-1) ** k * math.factorial(k) / x ** (k + 1)
        for k in range(n + 1)
    )


def transform_of_box(n, x):
    """Return a derivative of sinc: ∫ (πs)ⁿ cos(πxs + nπ/2) ds over 0 < s < 1; DLMF 16.5.2."""
    n, t = int(n), mp.pi * x
    if n % 2:
        total = -t / (n + 2) * mp.hyp1f2(mp.mpf(n + 2) / 2, 1.5, mp.mpf(n + 4) / 2, -t * t / 4)
    else:
        total = mp.hyp1f2(mp.mpf(n + 1) / 2, 0.5, mp.mpf(n + 3) / 2, -t * t / 4) / (n + 1)
    return (-1) ** (n // 2) * mp.pi**n * total


def transform_of_gaussian(n, x):
    """Return ∫ tⁿ e^(-t²/4) sin(xt + nπ/2) dt/2 over t > 0; DLMF 7.5.1, 13.16.1.

    It is a value of Kummer's function.
    """
    n = int(n)
    if n % 2:
        total = mp.gamma((n + 1) / mp.mpf(2)) * mp.hyp1f1((n + 1) / mp.mpf(2), 0.5, -x * x)
        return (-1) ** (n // 2) * 2 ** (n - 1) * total
    half = n / mp.mpf(2) + 1
    return (-1) ** (n // 2) * 2**n * x * mp.gamma(half) * mp.hyp1f1(half, 1.5, -x * x)


def taken(f, n, m, a, b):
    """Return the derivative of orders n and m, by mpmath's differences."""
    return mp.diff(f, (a, b), (int(n), int(m)))


def of_orders(*xs):
    return tuple((float(n), x) for n in (0, 3) for x in xs)


OF_REAL_ORDER = ((0.5, 0.75), (-1.5, 0.125))


def power(x, y):
    return mp.exp(y * mp.log(x)) if x > 0 else (-1) ** int(y) * mp.exp(y * mp.log(-x))


POLYNOMIALS = (
    *("eval_legendre", "eval_chebyt", "eval_chebyu"),
    *("eval_hermite", "eval_hermitenorm", "eval_laguerre"),
)
ELLIPTIC_POINTS = (0.5, -0.75, 1e-3)
LAMBERT_POINTS = {0: (0.5, -0.25, 3.0, 1e-3, 40.0, -0.3671875), -1: (-0.25, -0.3671875, -0.0625)}


OF_ORDER = {"constants": (0,), "digits": 110}

MEANING = {
    "exp": Meaning(lambda x: mp.exp(x)),
    "expm1": Meaning(lambda x: mp.exp(x) - 1),
    "bose": Meaning(bose, points=BOSE_POINTS, constants=(0,), digits=150),
    "exp2": Meaning(lambda x: mp.exp(x * mp.log(2))),
    "log": Meaning(lambda x: mp.log(x), positive),
    "log1p": Meaning(lambda x: mp.log(1 + x), lambda x: x > -1),
    "log1mexp": Meaning(lambda x: mp.log(1 - mp.exp(-x)), positive),
    "log2": Meaning(lambda x: mp.log(x) / mp.log(2), positive),
    "log10": Meaning(lambda x: mp.log(x) / mp.log(10), positive),
    "logaddexp": Meaning(lambda a, b: mp.log(mp.exp(a) + mp.exp(b))),
    "exp_share": Meaning(lambda a, b: mp.exp(a) / (mp.exp(a) + mp.exp(b))),
    "difference": Meaning(lambda a, b: a - b),
    "sigmoid": Meaning(lambda x: mp.exp(x) / (1 + mp.exp(x))),
    "softplus": Meaning(lambda x: mp.log(1 + mp.exp(x))),
    "log_sigmoid": Meaning(lambda x: mp.log(mp.exp(x) / (1 + mp.exp(x)))),
    "xlogy": Meaning(lambda x, y: x * mp.log(y), lambda x, y: y > 0),
    "xlog1py": Meaning(lambda x, y: x * mp.log(1 + y), points=WEIGHTS, digits=160),
    "entr": Meaning(lambda x: -x * mp.log(x), positive),
    "log_ratio": Meaning(lambda x, y: mp.log(x) - mp.log(y), points=WEIGHTS, digits=160),
    "relative_difference": Meaning(lambda x, y: x / y - 1, points=WEIGHTS, digits=160),
    "rel_entr": Meaning(lambda x, y: x * (mp.log(x) - mp.log(y)), points=WEIGHTS, digits=160),
    "kl_div": Meaning(lambda x, y: x * (mp.log(x) - mp.log(y)) - x + y, points=WEIGHTS, digits=160),
    "power": Meaning(power, lambda x, y: x > 0),
    "cbrt": Meaning(lambda x: mp.sign(x) * mp.exp(mp.log(mp.fabs(x)) / 3), nonzero),
    "norm_sqrt": Meaning(lambda x: mp.exp(mp.log(x) / 2), positive),
    "hypot": Meaning(lambda a, b: mp.sqrt(a * a + b * b), away_from_origin),
    "cosine": Meaning(lambda a, b: a / mp.sqrt(a * a + b * b), away_from_origin),
    "hypot_derivative": Meaning(
        lambda n, m, a, b: taken(lambda x, y: mp.sqrt(x * x + y * y), n, m, a, b),
        points=PLANE_POINTS,
        constants=(0, 1),
        digits=110,
    ),
    "atan2_derivative": Meaning(
        lambda n, m, y, x: angle(int(n), int(m), mp.mpc(x, y)),
        points=PLANE_POINTS,
        constants=(0, 1),
        digits=110,
    ),
    "hypot1": Meaning(lambda x: mp.sqrt(1 + x * x)),
    "asin_slope": Meaning(lambda x: 1 / mp.sqrt(1 - x * x), lambda x: -1 < x < 1),
    "atanh_slope": Meaning(lambda x: (1 / (1 + x) + 1 / (1 - x)) / 2, lambda x: -1 < x < 1),
    "acosh_slope": Meaning(lambda x: 1 / mp.sqrt(x * x - 1), lambda x: x > 1),
    "sin": Meaning(lambda x: (mp.expj(x)).imag),
    "cos": Meaning(lambda x: (mp.expj(x)).real),
    "tan": Meaning(lambda x: mp.sin(x) / mp.cos(x)),
    "asin": Meaning(lambda x: mp.atan(x / mp.sqrt(1 - x * x)), lambda x: -1 < x < 1),
    "acos": Meaning(lambda x: mp.pi / 2 - mp.atan(x / mp.sqrt(1 - x * x)), lambda x: -1 < x < 1),
    "atan": Meaning(lambda x: mp.log(mp.mpc(1, x)).imag),
    "atan2": Meaning(
        lambda y, x: mp.log(mp.mpc(x, y)).imag, lambda y, x: (x or y) and not (y == 0 and x < 0)
    ),
    "sinh": Meaning(lambda x: (mp.exp(x) - mp.exp(-x)) / 2),
    "cosh": Meaning(lambda x: (mp.exp(x) + mp.exp(-x)) / 2),
    "tanh": Meaning(lambda x: (mp.exp(2 * x) - 1) / (mp.exp(2 * x) + 1)),
    "sech": Meaning(lambda x: 2 / (mp.exp(x) + mp.exp(-x))),
    "sech2": Meaning(lambda x: 4 / (mp.exp(x) + mp.exp(-x)) ** 2),
    "asinh": Meaning(lambda x: mp.log(x + mp.sqrt(1 + x * x))),
    "acosh": Meaning(lambda x: mp.log(x + mp.sqrt(x * x - 1)), lambda x: x > 1),
    "atanh": Meaning(lambda x: (mp.log(1 + x) - mp.log(1 - x)) / 2, lambda x: -1 < x < 1),
    "erf": Meaning(lambda x: mp.erf(x)),
    "erfc": Meaning(lambda x: 1 - mp.erf(x), lambda x: x <= 1),
    "gamma": Meaning(lambda x: mp.factorial(x - 1), no_pole, digits=110),
    "rgamma": Meaning(euler, points=EULER_POINTS, digits=110),
    "rgamma_derivative": Meaning(
        lambda n, x: mp.diff(euler, x, int(n)),
        points=((1.0, -2.0),),
        constants=(0,),
        digits=110,
    ),
    "polygamma_difference": Meaning(
        lambda n, a, b: polygamma(n, a) - polygamma(n, a + b),
        points=tuple((float(n), *p) for n in (1, 2, 3) for p in ((0.5, 0.25), (3.0, 40.0))),
        constants=(0,),
        digits=110,
    ),
    "gammaln": Meaning(lambda x: mp.log(mp.fabs(mp.gamma(x))), no_pole, digits=110),
    "digamma": Meaning(lambda x: mp.harmonic(x - 1) - mp.euler, no_pole, digits=110),
    "polygamma": Meaning(
        lambda n, x: polygamma(n, x),
        no_pole,
        ORDERS,
        (0,),
        110,
    ),
    "beta": Meaning(
        lambda a, b: mp.factorial(a - 1) * mp.factorial(b - 1) * mp.rgamma(a + b),
        points=((0.5, 1.5), (-1.5, 0.5)),
        digits=110,
    ),
    "beta_derivative": Meaning(
        lambda m, n, a, b: (
            mp.beta(a, b)
            * (
                (mp.psi(0, a) - mp.psi(0, a + b)) * (mp.psi(0, b) - mp.psi(0, a + b))
                - mp.psi(1, a + b)
            )
        ),
        points=((1.0, 1.0, 0.5, 1.5), (1.0, 1.0, 40.0, 3.0)),
        constants=(0, 1),
        digits=110,
    ),
    "poch": Meaning(
        lambda z, m: mp.factorial(z + m - 1) * mp.rgamma(z),
        points=((0.5, 1.5), (-2.0, 3.5), (-1.5, 0.0)),
        digits=110,
    ),
    "binom": Meaning(
        lambda n, k: mp.factorial(n) * mp.rgamma(k + 1) * mp.rgamma(n - k + 1),
        points=((3.5, 1.5), (2.0, 5.0), (0.5, -2.0)),
        digits=110,
    ),
    "betaln": Meaning(
        lambda a, b: mp.log(mp.gamma(a)) + mp.log(mp.gamma(b)) - mp.log(mp.gamma(a + b)),
        points=((0.5, 0.5), (2.0, 3.0), (1.0, 40.0), (7.5, 0.25), (1e-3, 2.0)),
        digits=110,
    ),
    "gammainc": Meaning(gamma_series, points=GAMMA_POINTS, constants=(0,), digits=130),
    "gammaincc": Meaning(
        lambda a, x: 1 - gamma_series(a, x), points=GAMMA_POINTS, constants=(0,), digits=150
    ),
    "gamma_density": Meaning(
        lambda a, x: mp.exp((a - 1) * mp.log(x) - x) * mp.rgamma(a),
        points=(*GAMMA_POINTS, (-0.5, 0.75), (-2.25, 3.0)),
        constants=(0,),
        digits=110,
    ),
    "betainc": Meaning(
        beta_series,
        points=((0.5, 0.5, 0.25), (2.0, 3.0, 0.5), (1.0, 1.0, 0.75), (7.5, 1.5, 0.875)),
        constants=(0, 1),
        digits=130,
    ),
    "beta_density": Meaning(
        lambda p, q, c, x: mp.exp(p * mp.log(x) + q * mp.log(1 - x) - c),
        points=((-0.5, 1.5, 2.0, 0.25), (2.0, 3.0, -1.0, 0.5), (0.0, 0.0, 0.5, 0.75)),
        constants=(0, 1, 2),
        digits=110,
    ),
    "erfcx": Meaning(
        lambda x: mp.exp(x * x) * (1 - mp.erf(x)),
        points=((0.5,), (-1.5,), (1e-3,), (3.0,), (6.0,)),
        digits=150,
    ),
    "erfcx_derivative": Meaning(
        scaled_tail,
        points=tuple((float(n), x) for n in (1, 2, 5) for x in (0.5, 1.5, 6.0)),
        constants=(0,),
        digits=150,
    ),
    "erfinv": Meaning(
        lambda x: mp.findroot(lambda y: mp.erf(y) - x, mp.erfinv(x) * (1 + mp.mpf(2) ** -20)),
        points=((0.5,), (-0.25,), (0.875,), (1e-3,)),
        digits=110,
    ),
    "erfcinv": Meaning(
        lambda x: inverse_of_erfc(x),
        points=((0.5,), (1.25,), (0.125,), (1.75,), (1e-3,)),
        digits=110,
    ),
    "erfcinv_slope": Meaning(
        lambda x: -mp.sqrt(mp.pi) / 2 * mp.exp(inverse_of_erfc(x) ** 2),
        points=((0.5,), (1.25,), (0.125,), (1.75,), (1e-3,)),
        digits=110,
    ),
    "expn": Meaning(
        exponential_integral,
        points=tuple((float(n), x) for n in (1, 3, -2) for x in (0.5, 12.0)),
        constants=(0,),
        digits=110,
    ),
    "expi": Meaning(
        lambda x: mp.euler + mp.log(mp.fabs(x)) + x * mp.hyp2f2(1, 1, 2, 2, x),
        points=((0.5,), (3.0,), (50.0,), (-2.0,)),
        digits=150,
    ),
    "expi_derivative": Meaning(
        lambda n, x: quotient(n - 1, x, (mp.exp(x),) * 4),
        points=tuple((float(n), x) for n in (1, 2, 4) for x in (0.5, 3.0, 50.0, -2.0)),
        constants=(0,),
        digits=150,
    ),
    "sine_integral": Meaning(
        lambda x: x * mp.hyp1f2(0.5, 1.5, 1.5, -x * x / 4),
        points=((0.5,), (-2.0,), (12.0,)),
        digits=150,
    ),
    "cosine_integral": Meaning(
        lambda x: mp.euler + mp.log(x) - x * x / 4 * mp.hyp2f3(1, 1, 2, 2, 1.5, -x * x / 4),
        points=((0.5,), (2.0,), (12.0,)),
        digits=150,
    ),
    "cosine_integral_derivative": Meaning(
        lambda n, x: quotient(n - 1, x, (mp.cos(x), -mp.sin(x), -mp.cos(x), mp.sin(x))),
        points=tuple((float(n), x) for n in (1, 2, 4) for x in (0.5, 2.0, 12.0)),
        constants=(0,),
        digits=150,
    ),
    "sinh_integral": Meaning(
        lambda x: x * mp.hyp1f2(0.5, 1.5, 1.5, x * x / 4),
        points=((0.5,), (-2.0,), (12.0,)),
        digits=150,
    ),
    "sinh_integral_derivative": Meaning(
        lambda n, x: quotient(n - 1, x, (mp.sinh(x), mp.cosh(x)) * 2),
        points=tuple((float(n), x) for n in (1, 2, 4) for x in (0.5, -2.0, 12.0)),
        constants=(0,),
        digits=150,
    ),
    "cosh_integral": Meaning(
        lambda x: mp.euler + mp.log(x) + x * x / 4 * mp.hyp2f3(1, 1, 2, 2, 1.5, x * x / 4),
        points=((0.25,), (2.0,), (12.0,)),
        digits=150,
    ),
    "cosh_integral_derivative": Meaning(
        lambda n, x: quotient(n - 1, x, (mp.cosh(x), mp.sinh(x)) * 2),
        points=tuple((float(n), x) for n in (1, 2, 4) for x in (0.5, 2.0, 12.0)),
        constants=(0,),
        digits=150,
    ),
    "fresnel_sine": Meaning(
        lambda x: mp.pi / 6 * x**3 * mp.hyp1f2(0.75, 1.5, 1.75, -(mp.pi**2) * x**4 / 16),
        points=((0.5,), (-1.25,), (2.75,)),
        digits=150,
    ),
    "fresnel_cosine": Meaning(
        lambda x: x * mp.hyp1f2(0.25, 0.5, 1.25, -(mp.pi**2) * x**4 / 16),
        points=((0.5,), (-1.25,), (2.75,)),
        digits=150,
    ),
    "chirp_sine": Meaning(
        lambda x: mp.sin(mp.pi * x * x / 2), points=((0.5,), (-1.25,), (40.5,)), digits=150
    ),
    "chirp_cosine": Meaning(
        lambda x: mp.cos(mp.pi * x * x / 2), points=((0.5,), (-1.25,), (40.5,)), digits=150
    ),
    "dawsn": Meaning(
        lambda x: x * mp.hyp1f1(1, 1.5, -x * x),
        points=((0.5,), (-1.5,), (6.0,), (40.0,)),
        digits=150,
    ),
    "dawsn_derivative": Meaning(
        transform_of_gaussian,
        points=tuple((float(n), x) for n in (1, 2, 5) for x in (0.5, -1.5, 6.0, 40.0)),
        constants=(0,),
        digits=150,
    ),
    "ndtr": Meaning(
        lambda x: (1 + mp.erf(x / mp.sqrt(2))) / 2,
        points=((0.5,), (-1.5,), (1e-3,), (3.0,), (-9.0,)),
        digits=150,
    ),
    "log_ndtr": Meaning(
        lambda x: mp.log((1 + mp.erf(x / mp.sqrt(2))) / 2),
        points=((0.5,), (-1.5,), (1e-3,), (6.0,), (-20.0,)),
        digits=250,
    ),
    "log_ndtr_derivative": Meaning(
        log_of_normal,
        points=tuple((float(n), x) for n in (1, 2, 5) for x in (0.5, -1.5, 6.0, -60.0)),
        constants=(0,),
        digits=150,
    ),
    "normal_density": Meaning(
        lambda n, x: mp.diff(mp.npdf, x, int(n)),
        points=tuple((float(n), x) for n in (0, 1, 4) for x in (0.5, -1.5, 9.0)),
        constants=(0,),
        digits=150,
    ),
    "ndtri": Meaning(
        lambda p: -mp.sqrt(2) * inverse_of_erfc(2 * p),
        points=((0.25,), (0.625,), (0.0625,), (0.875,), (1e-3,)),
        digits=110,
    ),
    **{
        name: Meaning(
            polynomial(name), points=of_orders(0.625, -0.25, 3.0), constants=(0,), digits=110
        )
        for name in POLYNOMIALS
    },
    **{
        name: Meaning(
            polynomial(name),
            points=tuple((float(n), a, x) for n, x in ((0, 0.5), (4, -0.25)) for a in (1.5, 2.75)),
            constants=(0, 1),
            digits=110,
        )
        for name in ("eval_gegenbauer", "eval_genlaguerre")
    },
    "ellipk": Meaning(
        lambda m: elliptic(0.5, 0, m), points=tuple((m,) for m in ELLIPTIC_POINTS), digits=110
    ),
    "ellipe": Meaning(
        lambda m: elliptic(-0.5, 0, m), points=tuple((m,) for m in ELLIPTIC_POINTS), digits=110
    ),
    "ellipkm1": Meaning(
        lambda p: elliptic(0.5, 0, 1 - p), points=((0.5,), (1.25,), (0.25,)), digits=110
    ),
    "ellipk_derivative": Meaning(
        lambda n, m: elliptic(0.5, n, m), points=of_orders(*ELLIPTIC_POINTS)[3:], **OF_ORDER
    ),
    "ellipe_derivative": Meaning(
        lambda n, m: elliptic(-0.5, n, m), points=of_orders(*ELLIPTIC_POINTS)[3:], **OF_ORDER
    ),
    "ellipkm1_derivative": Meaning(
        lambda n, p: (-1) ** int(n) * elliptic(0.5, n, 1 - p),
        points=((1.0, 0.5), (3.0, 1.25)),
        **OF_ORDER,
    ),
    **{
        name: Meaning(
            lambert(branch),
            points=tuple((x,) for x in LAMBERT_POINTS[branch]),
            digits=110,
        )
        for name, branch in (("lambertw", 0), ("lambertwm1", -1))
    },
    **{
        name: Meaning(
            lambert_derivative(branch),
            points=tuple((float(n), x) for n in (1, 4) for x in LAMBERT_POINTS[branch]),
            **OF_ORDER,
        )
        for name, branch in (("lambertw_derivative", 0), ("lambertwm1_derivative", -1))
    },
    "zeta": Meaning(
        alternating_zeta,
        points=tuple((s,) for s in (-3.5, 0.97, 3.5)),
        digits=110,
    ),
    "hurwitz_zeta": Meaning(lambda s, q: mp.zeta(s, q), points=((3.5, 0.25),), digits=70),
    "zeta_derivative": Meaning(
        lambda m, s: mp.zeta(s, 1, int(m)),
        points=((1.0, -3.5), (1.0, 0.97), (4.0, 1.25)),
        constants=(0,),
        digits=70,
    ),
    "hurwitz_zeta_derivative": Meaning(
        lambda m, s, q: mp.zeta(s, q, int(m)),
        points=((1.0, 3.5, 0.25),),
        constants=(0,),
        digits=70,
    ),
    "jv": Meaning(
        lambda n, x: bessel_series(n, x, -1),
        points=(*of_orders(0.5, -3.25, 12.0), *OF_REAL_ORDER),
        constants=(0,),
        digits=150,
    ),
    "yv": Meaning(
        bessel_y,
        points=(*of_orders(0.5, 7.25), *OF_REAL_ORDER),
        constants=(0,),
        digits=150,
    ),
    "iv": Meaning(
        lambda n, x: bessel_series(n, x, 1),
        points=(*of_orders(0.5, -3.25, 12.0), *OF_REAL_ORDER),
        constants=(0,),
        digits=150,
    ),
    "kv": Meaning(
        bessel_k,
        points=(*of_orders(0.5, 12.0), *OF_REAL_ORDER),
        constants=(0,),
        digits=120,
    ),
    "ive": Meaning(
        scaled_first,
        points=(*of_orders(0.5, -3.25, 40.0), *OF_REAL_ORDER),
        constants=(0,),
        digits=120,
    ),
    "kve": Meaning(
        scaled_second,
        points=((2.0, 12.0), *OF_REAL_ORDER),
        constants=(0,),
        digits=120,
    ),
    "ive_derivative": Meaning(
        kummer,
        points=((1.0, 0.0, 0.5), (2.0, 1.0, -3.25), (1.0, 2.5, 30.0), (3.0, 0.5, 0.0625)),
        constants=(0, 1),
        digits=120,
    ),
    "kve_derivative": Meaning(
        lambda m, n, x: mp.diff(lambda t: scaled_second(n, t), x, int(m)),
        points=((1.0, 0.0, 0.5), (2.0, 2.5, 30.0)),
        constants=(0, 1),
        digits=120,
    ),
    "sinc": Meaning(lambda x: sinc(x), digits=110),
    "sinc_derivative": Meaning(sinc_derivative, points=SINC_ORDERS, constants=(0,), digits=1100),
    "abs": Meaning(lambda x: mp.sqrt(x * x), nonzero),
    "maximum": Meaning(lambda a, b: (a + b + mp.fabs(a - b)) / 2, distinct),
    "minimum": Meaning(lambda a, b: (a + b - mp.fabs(a - b)) / 2, distinct),
    "clip": Meaning(
        lambda x, lo, hi: sorted([x, lo, hi])[1],
        points=((0.5, 0.0, 1.0), (-2.0, 0.0, 1.0), (40.0, -1.0, 1.0)),
    ),
    "where": Meaning(
        lambda c, a, b: a if c else b,
        points=((1.0, 2.0, 3.0), (0.0, 2.0, 3.0)),
        constants=(0,),
    ),
    "mod": Meaning(lambda a, b: a - b * mp.floor(a / b), lambda a, b: b != 0 and (a / b) % 1 != 0),
}
"""The functions that have a derivative."""


STEPS = {
    "less": lambda a, b: b - a > 0,
    "less_equal": lambda a, b: not a - b > 0,
    "equal": lambda a, b: not (a - b > 0 or b - a > 0),
    "not_equal": lambda a, b: a - b > 0 or b - a > 0,
    "logical_and": lambda a, b: a * b != 0,
    "logical_or": lambda a, b: a * a + b * b != 0,
    "logical_xor": lambda a, b: (a != 0) + (b != 0) == 1,
    "logical_not": lambda a: a * a == 0,
    "sign": lambda x: (x > 0) - (x < 0),
    "step": lambda x: x > 0,
    "gammasgn": lambda x: 1 if x >= 0 else math.nan if x == int(x) else (-1) ** -math.floor(x),
    "floor": lambda x: max(k for k in range(-900, 900) if k <= x),
    "ceil": lambda x: min(k for k in range(-900, 900) if k >= x),
    "trunc": lambda x: int(x),
    "round": lambda x: min(range(-900, 900), key=lambda k: (abs(k - x), k % 2)),
    "floor_divide": lambda a, b: math.floor(Fraction(a) / Fraction(b)),
}
"""The functions that are constant between their jumps."""

STEP_POINTS = [*POINTS, 1.5, 2.5, -1.5, -2.5, 3.7, -3.7]
STEP_PAIRS = [(a, b) for a, b in product((0.0, 1.0, -2.0, 7.5, 2.0**-40), repeat=2)]


def orders(meaning, highest):
    """Return all mixed orders 0 ... ``highest`` by the arguments with a derivative."""
    arity = meaning.f.__code__.co_argcount
    free = [0 if k in meaning.constants else highest for k in range(arity)]
    return [n for n in product(*(range(bound + 1) for bound in free)) if sum(n) <= highest]


@cache
def exact(meaning, point, order):
    """Return mpmath's numerical derivative of mixed ``order`` of the meaning at ``point``."""
    with mp.workdps(meaning.working_digits(point)):
        args = [mp.mpf(x) for x in point]
        varied = [k for k, n in enumerate(order) if n]

        def of_varied(*values):
            full = list(args)
            for k, value in zip(varied, values, strict=True):
                full[k] = value
            return meaning.f(*full)

        at, times = [args[k] for k in varied], [order[k] for k in varied]
        if not varied:
            value = mp.mpf(of_varied())
        elif len(varied) == 1:
            value = mp.diff(of_varied, at[0], times[0])
        else:
            value = mp.diff(of_varied, at, tuple(times))
        size = mp.fabs(of_varied(*at)) + mp.fabs(of_varied(*(x + mp.mpf(1) / 64 for x in at)))
        return value if not varied or mp.fabs(value) > RESOLUTION * size else mp.mpf(0)
