"""Derivatives of NumPy functions by differences of numbers with hundreds of digits.

Shares nothing with what the bench is for: a function is run on object arrays of ``Number``, whose
methods NumPy calls, and a central difference of step h, in arithmetic of many more digits than h
needs, is the derivative but for a relative error of about h**2.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import mpmath as mp
import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    Arrays = Sequence[NDArray[Any]]

STEP = 40  # decimal digits between the smallest input, or 1, and the step
NEARBY = 20  # the same, of the neighbours of a kink


def _binary(operation: Callable[[Any, Any], Any]) -> tuple[Any, Any]:
    def there(self: Number, other: Any) -> Any:
        return Number(operation(self.v, _mpf(other)))

    def back(self: Number, other: Any) -> Any:
        return Number(operation(_mpf(other), self.v))

    return there, back


def _comparison(operation: Callable[[Any, Any], bool]) -> Any:
    return lambda self, other: bool(operation(self.v, _mpf(other)))


def _mpf(x: Any) -> Any:
    if isinstance(x, Number):
        return x.v
    return mp.mpf(int(x) if isinstance(x, np.integer | np.bool_) else float(x))


def _power(x: Any, y: Any) -> Any:
    if y == int(y):
        return x ** int(y)
    return mp.power(x, y) if x >= 0 else mp.nan


class Number:
    """A number of mpmath's with the methods that NumPy asks of the elements of object arrays."""

    __slots__ = ("v",)
    __hash__ = None

    def __init__(self, v: Any) -> None:
        self.v = v

    __add__, __radd__ = _binary(lambda a, b: a + b)
    __sub__, __rsub__ = _binary(lambda a, b: a - b)
    __mul__, __rmul__ = _binary(lambda a, b: a * b)
    __truediv__, __rtruediv__ = _binary(lambda a, b: a / b)
    __pow__, __rpow__ = _binary(_power)
    __lt__, __le__ = _comparison(lambda a, b: a < b), _comparison(lambda a, b: a <= b)
    __gt__, __ge__ = _comparison(lambda a, b: a > b), _comparison(lambda a, b: a >= b)
    __eq__, __ne__ = _comparison(lambda a, b: a == b), _comparison(lambda a, b: a != b)

    def __neg__(self) -> Number:
        return Number(-self.v)

    def __abs__(self) -> Number:
        return Number(abs(self.v))

    def conjugate(self) -> Number:
        return self

    def arctan2(self, x: Number) -> Number:
        return Number(mp.atan2(self.v, x.v))

    def hypot(self, x: Any) -> Number:
        return Number(mp.hypot(self.v, _mpf(x)))


def _method(function: Callable[[Any], Any]) -> Any:
    return lambda self: Number(function(self.v))


for _name in ("exp", "expm1", "log", "log1p", "sin", "cos", "tanh", "cosh", "sqrt"):
    setattr(Number, _name, _method(getattr(mp, _name)))
Number.arctan = _method(mp.atan)


def numbers(x: Any) -> NDArray[Any]:
    """An array of floats as exact Numbers."""
    x = np.asarray(x)
    out = np.empty(x.shape, object)
    for at in np.ndindex(x.shape):
        out[at] = Number(mp.mpf(float(x[at])))
    return out


def eliminated(A: NDArray[Any], B: NDArray[Any]) -> tuple[Any, NDArray[Any]]:
    """The determinant of A and the solution X of A X = B, by elimination with pivots."""
    n = len(A)
    M = np.concatenate([A, B], axis=1)
    det: Any = 1
    for k in range(n):
        pivot = max(range(k, n), key=lambda i: abs(M[i, k]).v)
        if pivot != k:
            M[[k, pivot]], det = M[[pivot, k]], -det
        det = det * M[k, k]
        if M[k, k] == 0:
            return det, B
        M[k] = M[k] / M[k, k]
        for i in range(n):
            if i != k:
                M[i] = M[i] - M[k] * M[i, k]
    return det, M[:, n:]


def _scale(point: Arrays) -> tuple[Any, int]:
    """The smallest of the inputs and 1, and how many decades the inputs span about 1."""
    sizes = [abs(float(v)) for x in point for v in np.ravel(x) if v]
    small, large = min([1.0, *sizes]), max([1.0, *sizes])
    return mp.mpf(small), int(mp.log10(large / mp.mpf(small))) + 1


def _total(f: Callable[..., Any], w: Any, xs: Arrays) -> Any:
    y = np.asarray(f(*xs), dtype=object)
    total = np.sum(y) if w is None else np.sum(y * numbers(w))
    return _mpf(total)


def _moved(xs: Arrays, k: int, at: tuple[int, ...], by: Any) -> list[NDArray[Any]]:
    moved = [x.copy() for x in xs]
    moved[k][at] = moved[k][at] + Number(by)
    return moved


def _gradient(f: Callable[..., Any], w: Any, xs: Arrays, h: Any) -> list[NDArray[Any]]:
    grads = []
    for k, x in enumerate(xs):
        g = np.empty(x.shape, object)
        for at in np.ndindex(x.shape):
            up, down = (_total(f, w, _moved(xs, k, at, s)) for s in (h, -h))
            g[at] = Number((up - down) / (2 * h))
        grads.append(g)
    return grads


def _working(point: Arrays) -> tuple[Any, Any]:
    small, decades = _scale(point)
    digits = 4 * STEP + 3 * decades
    return mp.workdps(digits), small


def gradient(f: Callable[..., Any], point: Arrays, w: Any = None) -> list[NDArray[Any]]:
    """The gradient of ``sum(w * f)`` by every input, as arrays of Numbers."""
    context, small = _working(point)
    with context:
        return _gradient(f, w, [numbers(x) for x in point], small * mp.mpf(10) ** -STEP)


def limits(
    f: Callable[..., Any], point: Arrays, along: Arrays, count: int = 60
) -> NDArray[np.float64]:
    """Gradients at neighbours of a point, a row each, all inputs in one.

    One neighbour is in the direction ``along``, the others are drawn.  The convex hull is, but for
    directions that were not drawn, Clarke's subdifferential at the point.
    """
    rng = np.random.default_rng(0)
    context, small = _working(point)
    rows = []
    with context:
        near, h = Number(small * mp.mpf(10) ** -NEARBY), small * mp.mpf(10) ** -STEP
        for k in range(count):  # half of them between the axes, half along them
            draw = rng.normal if k % 2 else lambda size: rng.integers(-1, 2, size)
            to = [draw(size=np.shape(x)) for x in point] if k else along
            xs = [numbers(x) + numbers(d) * near for x, d in zip(point, to, strict=True)]
            rows.append(flat(_gradient(f, None, xs, h)))
    return np.array(rows)


def jvp(f: Callable[..., Any], point: Arrays, tangents: Arrays) -> NDArray[Any]:
    """The derivative of ``f`` along the tangents."""
    context, small = _working([*point, *tangents])
    with context:
        h = Number(small * mp.mpf(10) ** -STEP)
        xs, ts = [numbers(x) for x in point], [numbers(t) for t in tangents]
        up = np.asarray(f(*(x + t * h for x, t in zip(xs, ts, strict=True))), object)
        down = np.asarray(f(*(x - t * h for x, t in zip(xs, ts, strict=True))), object)
        return np.asarray((up - down) / (2 * h), object)


def hessian(f: Callable[..., Any], point: Arrays, w: Any = None) -> NDArray[Any]:
    """All second derivatives, a row and a column for each element of each input."""
    context, small = _working(point)
    with context:
        xs = [numbers(x) for x in point]
        h = small * mp.mpf(10) ** -(STEP // 2)
        rows = []
        for k, x in enumerate(xs):
            for at in np.ndindex(x.shape):
                up, down = (_gradient(f, w, _moved(xs, k, at, s), h) for s in (h, -h))
                rows.append(
                    [(a - b) / Number(2 * h) for a, b in zip(joined(up), joined(down), strict=True)]
                )
        return np.array(rows, object)


def joined(parts: Arrays) -> list[Any]:
    """The elements of all arrays."""
    return [v for part in parts for v in np.ravel(np.asarray(part, object))]


def flat(parts: Arrays) -> NDArray[np.float64]:
    """The elements of all arrays of Numbers, as floats."""
    return np.array([float(_mpf(v)) for v in joined(parts)])
