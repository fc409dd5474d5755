"""What misses the bound of ``tests.accuracy``, each with a point, the cause and what was tried."""

from typing import NamedTuple


class Miss(NamedTuple):
    """A (row, order) that misses: a point at which it does, and why."""

    at: tuple[float, ...]
    cause: str


OVERFLOW = "an intermediate power or product leaves the floats where the result does not"
SUBNORMAL = "a factor comes after a value that was rounded to a subnormal number"
MASK = "the mask of the partial at (0, y <= 0) holds for the diagonal too"
EXPANSION = "SciPy's regularised function loses these digits near its turning point"
POLYNOMIAL = "the second derivative subtracts (a - 1)/x and 1 near its zero"
BODY = "erfcx at the inverse amplifies the rounding of the inverse"
DIFFERENCE = "a partial is the difference of two values of digamma or trigamma"
NEIGHBOURS = "the derivative is a difference of neighbouring orders, which overflow first"
HIGHER = "the slope near 0 of a high derivative, at a subnormal number"

MISSES: dict[tuple[str, tuple[int, ...]], Miss] = {
    ("exp2", (2,)): Miss((-1072.951171875,), SUBNORMAL),
    ("power", (1, 0)): Miss((5e-324, 1e-323), OVERFLOW),
    ("power", (1, 1)): Miss((5e-324, 1e-323), OVERFLOW),
    ("power", (2, 0)): Miss((2.2250738585072014e-308, 2.2250738750852935e-308), OVERFLOW),
    ("cosine", (0, 2)): Miss((-1e-200, -2e-200), OVERFLOW),
    ("cosine", (1, 1)): Miss((-1e-200, -2e-200), OVERFLOW),
    ("atan2", (1, 1)): Miss((2.2250738585072014e-308, 2.2250738585074543e-308), OVERFLOW),
    ("x**5", (2,)): Miss((1e-108,), SUBNORMAL),
    ("x**-4", (2,)): Miss((1e52,), OVERFLOW),
    ("x**-1.5", (2,)): Miss((2.934841539561694e89,), OVERFLOW),
    ("x/(1 + x**2)", (0,)): Miss((1e200,), OVERFLOW),
    ("x**3/expm1(x)", (0,)): Miss((710.0,), OVERFLOW),
    ("x**3/expm1(x)", (1,)): Miss((500.0,), OVERFLOW),
    ("x**3/expm1(x)", (2,)): Miss((300.0,), OVERFLOW),
    ("xlogy(x, x)", (1,)): Miss((0.0,), MASK),
    ("xlogy(x, x)", (2,)): Miss((0.0,), MASK),
    ("-xlogy(x, x)", (1,)): Miss((0.0,), MASK),
    ("-xlogy(x, x)", (2,)): Miss((0.0,), MASK),
    ("gammainc(40)", (0,)): Miss((20.193030558687447,), EXPANSION),
    ("gammaincc(40)", (0,)): Miss((57.20099425369285,), EXPANSION),
    ("gamma_density(40)", (2,)): Miss((42.12117278018085,), POLYNOMIAL),
    ("erfcinv_slope", (2,)): Miss((0.9990234375,), BODY),
    ("betaln", (0, 0)): Miss((237.0, 244.40625), DIFFERENCE),
    ("betaln", (0, 1)): Miss((1.1e-16, 710.0), DIFFERENCE),
    ("betaln", (1, 0)): Miss((500.0, 1e-200), DIFFERENCE),
    ("betaln", (0, 2)): Miss((1.1e-16, 710.0), DIFFERENCE),
    ("betaln", (2, 0)): Miss((500.0, 1e-200), DIFFERENCE),
    ("yv(0)", (2,)): Miss((1.5e-154,), NEIGHBOURS),
    ("yv(1)", (1,)): Miss((1.5e-154,), NEIGHBOURS),
    ("yv(1)", (2,)): Miss((5e-324,), NEIGHBOURS),
    ("sinc_derivative(1)", (2,)): Miss((5e-324,), HIGHER),
    ("sinc_derivative(4)", (1,)): Miss((5e-324,), HIGHER),
    ("yv(3)", (1,)): Miss((5e-324,), NEIGHBOURS),
    ("yv(3)", (2,)): Miss((5e-324,), NEIGHBOURS),
}
