"""What misses the bound of ``tests.accuracy``, each with a point, the cause and what was tried."""

from typing import NamedTuple


class Miss(NamedTuple):
    """A (row, order) that misses: a point at which it does, and why."""

    at: tuple[float, ...]
    cause: str


OVERFLOW = "an intermediate power or product leaves the floats where the result does not"
INFINITE = (
    "nan where the derivative is beyond the largest number: it is the difference of neighbouring "
    "orders, which are infinite; so are both terms of the other recurrences"
)
PARTS = (
    "near a root two powers with rounding errors of their own are subtracted (by arrays, whose "
    "powers are less exact than those of floats); factoring out the density makes poles at 0"
)

MISSES: dict[tuple[str, tuple[int, ...]], Miss] = {
    ("cosine", (0, 2)): Miss((-1e-200, -2e-200), OVERFLOW),
    ("cosine", (1, 1)): Miss((-1e-200, -2e-200), OVERFLOW),
    ("atan2", (1, 1)): Miss((2.2250738585072014e-308, 2.2250738585074543e-308), OVERFLOW),
    ("x**3/expm1(x)", (0,)): Miss((710.0,), OVERFLOW),
    ("x**3/expm1(x)", (1,)): Miss((500.0,), OVERFLOW),
    ("x**3/expm1(x)", (2,)): Miss((300.0,), OVERFLOW),
    ("gamma_density(40)", (2,)): Miss((42.12117278018085,), PARTS),
    ("yv(1)", (2,)): Miss((5e-324,), INFINITE),
    ("yv(3)", (1,)): Miss((5e-324,), INFINITE),
    ("yv(3)", (2,)): Miss((5e-324,), INFINITE),
}
