"""Sampled functions: convolution, differences, integration, and Fourier transforms as real pairs.

A complex array is a pair of real arrays.  The discrete Fourier transform of ``re + i im`` is
``C re + S im + i (C im - S re)`` with the symmetric matrices ``C_jk = cos(2πjk/n)`` and
``S_jk = sin(2πjk/n)``.  Each matrix is an op of its own; fast transforms compute its products.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from symdiff.contexts import listed
from symdiff.errors import ShapeError, Unsupported
from symdiff.functions.rearranging import pad, roll, sliding_window_view
from symdiff.functions.reductions import sum as sum_over
from symdiff.functions.shaping import (
    arange,
    axes_of,
    axis_of,
    broadcast_to,
    concat,
    cut,
    flip,
    permute_dims,
    reshape,
)
from symdiff.graph import ops
from symdiff.graph.algebra import as_numeric, as_real, linear, primitive, scale, select, size
from symdiff.graph.axes import broadcast_shapes, shape_text
from symdiff.graph.contraction import contract
from symdiff.graph.leaves import as_expr, constant, full, number_node
from symdiff.graph.lengths import Length, LengthLetter, is_natural
from symdiff.graph.number import shortened
from symdiff.graph.ranges import between

if TYPE_CHECKING:
    from symdiff.graph.expr import Expr, Operand
    from symdiff.graph.node import Dim
    from symdiff.graph.ranges import Step

__all__ = [
    "convolve",
    "correlate",
    "fft",
    "fftn",
    "fftshift",
    "finite_diff",
    "ifft",
    "ifftn",
    "ifftshift",
    "irfft",
    "rfft",
    "trapezoid",
]

Pair = tuple["Expr", "Expr"]


def _axis_length(name: str, x: Expr, axis: int) -> Any:
    """The length of the axis, an int or a length by name; Unsupported for a pattern letter."""
    length = x.shape[axis]
    if isinstance(length, LengthLetter):
        raise Unsupported(f"{name}: axis {axis} of symbolic length {length}")
    return length


def _neighbours(name: str, x: Expr, axis: int) -> Pair:
    """All elements along the axis but the last, and all but the first."""
    length = _axis_length(name, x, axis)
    steps = between(0, length - 1, length), between(1, length, length)
    return cut(x, {axis: steps[0]}), cut(x, {axis: steps[1]})


# Convolution ------------------------------------------------------------------------------------


def convolve(a: Operand, v: Operand, /, mode: str = "full") -> Expr:
    """Return ``value_k = sum_j a_j v_(k-j)`` of two vectors, as in NumPy.

    ``mode``: "full" has every k with a term; "same" has the middle ones, as many as the longer
    vector has elements; "valid" has those with all terms.  For lengths by name the first vector
    must be the longer one, unless the names show which is: with "same" and "valid" a call raises
    otherwise.

    Raises ShapeError for operands that are not vectors, ValueError for an empty one or another
    mode.

    >>> import symdiff as sd
    >>> a, v = sd.symbol("a", 5), sd.symbol("v", 3)
    >>> [sd.convolve(a, v, mode).shape for mode in ("full", "same", "valid")]
    [(7,), (5,), (3,)]
    """
    return _convolve("convolve", constant(a), constant(v), mode)


def correlate(a: Operand, v: Operand, /, mode: str = "valid") -> Expr:
    """Return ``value_k = sum_n a_(n+k) v_n`` of two vectors, as in NumPy; modes as in ``convolve``.

    Raises the errors of ``convolve``.

    >>> import symdiff as sd
    >>> a, v = sd.symbol("a", 5), sd.symbol("v", 3)
    >>> sd.correlate(a, v).shape
    (3,)
    """
    x, y = constant(a), constant(v)
    if x.ndim == y.ndim == 1 and _is_longer(y.shape[0], x.shape[0]):
        return flip(_convolve("correlate", y, flip(x), mode))
    return _convolve("correlate", x, flip(y) if y.ndim else y, mode)


def _is_longer(n: Dim, m: Dim) -> bool:
    """Whether n is the longer length; a length by name counts as longer than a number."""
    if isinstance(n, int) or isinstance(m, int):
        return isinstance(m, int) and (not isinstance(n, int) or n > m)
    return isinstance(n, Length) and n != m and is_natural(n - m)


def _convolve(name: str, x: Expr, y: Expr, mode: str) -> Expr:
    """Contract the shorter vector, reversed, with the windows of the longer one between zeros.

    For two lengths by name the first vector is the longer one, unless the names show otherwise.
    """
    if x.ndim != 1 or y.ndim != 1:
        raise ShapeError(f"{name}: {shape_text(x.shape)} and {shape_text(y.shape)} are not vectors")
    if mode not in ("full", "same", "valid"):
        raise ValueError(f"{name}: mode {shortened(mode)} is not 'full', 'same' or 'valid'")
    if isinstance(y.shape[0], Length) and _is_longer(y.shape[0], x.shape[0]):
        x, y = y, x
    n, m = _axis_length(name, x, 0), _axis_length(name, y, 0)
    if isinstance(n, Length) and m:
        margins = {"full": (m - 1, m - 1), "same": (m // 2, m - 1 - m // 2), "valid": (0, 0)}[mode]
        if mode == "same" and n != m:
            # The result has the length of the longer vector, which must be x: check it at the call.
            x = concat([x[:m], x[m:]])
        return contract([(sliding_window_view(pad(x, margins), m), (0, 1)), (flip(y), (1,))], (0,))
    if n < m:
        x, y, n, m = y, x, m, n
    if not m:
        raise ValueError(f"{name}: an operand is empty")
    count = {"full": n + m - 1, "same": n, "valid": n - m + 1}[mode]
    start = {"full": 0, "same": (m - 1) // 2, "valid": m - 1}[mode]
    listed(name, count * m)
    windows = start + np.arange(count)[:, None] + np.arange(m)
    wide = pad(x, m - 1)
    taken = linear(ops.gather_op((n + 2 * m - 2,), windows), as_numeric(wide))
    return contract([(taken, (0, 1)), (flip(y), (1,))], (0,))


# Differences and integrals ----------------------------------------------------------------------


def finite_diff(
    x: Operand,
    /,
    n: int = 1,
    axis: int = -1,
    *,
    prepend: Operand | None = None,
    append: Operand | None = None,
) -> Expr:
    """Return the differences of neighbours along ``axis``, n times, as ``numpy.diff`` does.

    For booleans these are changes.  ``prepend`` and ``append`` are joined to x first; a scalar
    counts as one element.

    Raises ValueError for a negative n, AxisError, Unsupported for an axis of symbolic length.

    >>> import symdiff as sd
    >>> x = sd.symbol("x", 3)
    >>> sd.finite_diff(x) is x[1:] - x[:-1]
    True
    """
    if n < 0:
        raise ValueError(f"finite_diff: {n} is negative")
    result = as_expr(x)
    place = axis_of("finite_diff", axis, result.ndim)
    if not n:
        return result
    ends = []
    for value in (prepend, append):
        end = None if value is None else as_expr(value)
        if end is not None and not end.shape:
            end = broadcast_to(end, (*result.shape[:place], 1, *result.shape[place + 1 :]))
        ends.append(end)
    parts = [part for part in (ends[0], result, ends[1]) if part is not None]
    result = concat(parts, axis=place)
    for _ in range(n):
        listed("finite_diff", expressions=1)
        if result.shape[place] == 0:
            return result
        low, high = _neighbours("finite_diff", result, place)
        result = primitive("not_equal", high, low) if result.dtype is bool else high - low
    return result


def trapezoid(y: Operand, x: Operand | None = None, /, dx: Operand = 1, *, axis: int = -1) -> Expr:
    """Return the integral of y along ``axis`` by the trapezoidal rule.

    It is ``sum (y_i + y_(i+1)) d_i / 2``.  ``d_i`` is ``x_(i+1) - x_i`` for nodes x
    (a vector for the axis, or an array that broadcasts with y), else ``dx``.  Raises ShapeError if
    x does not fit, Unsupported for an axis of symbolic length.

    >>> import symdiff as sd
    >>> y = sd.symbol("y", 3)
    >>> sd.trapezoid(y, dx=2) is (y[1:] + y[:-1]).sum()
    True
    """
    values = as_real(as_expr(y))
    place = axis_of("trapezoid", axis, values.ndim)
    low = high = values
    if values.shape[place] != 0:
        low, high = _neighbours("trapezoid", values, place)
    step = as_real(as_expr(dx))
    if x is not None:
        places = as_real(constant(x))
        if places.ndim == 1:
            step = finite_diff(places)
            word = (place,)
            step = contract(
                [(step, word)],
                tuple(range(place, values.ndim)),
                dict.fromkeys(range(place + 1, values.ndim), 1),
            )
        else:
            step = finite_diff(places, axis=axis)
    return sum_over(step * (high + low), place) / 2


# Fourier transforms -----------------------------------------------------------------------------


def _transform_axis(name: str, part: str, x: Expr, axis: int) -> Expr:
    """``C x`` or ``S x`` along the axis."""
    order = (*(k for k in range(x.ndim) if k != axis), axis)
    back = tuple(order.index(k) for k in range(x.ndim))
    return permute_dims(linear(ops.fourier_op(part), permute_dims(x, order)), back)


def _fit_length(name: str, x: Expr, n: int | None, axis: int) -> Expr:
    """Cut or pad ``x`` with zeros to length n along the axis; raises ValueError for 0."""
    if n is not None and n != x.shape[axis]:
        length = _axis_length(name, x, axis)
        if isinstance(length, Length) or isinstance(n, Length):
            raise Unsupported(
                f"{name}: length {n} for axis {axis} of length {length}; numbers cut and fill "
                "an axis, slices and sd.pad one that is known by name"
            )
        if length > n:
            x = cut(x, {axis: (0, n, 1)})
        elif length < n:
            x = pad(x, [(0, n - length if k == axis else 0) for k in range(x.ndim)])
    if x.shape[axis] == 0:
        raise ValueError(f"{name}: a transform of no elements")
    return x


def _as_pair(name: str, re: Operand, im: Operand | None) -> Pair:
    real = as_expr(re)
    imaginary = full(real.shape, 0) if im is None else as_expr(im)
    shape = broadcast_shapes(name, real.shape, imaginary.shape)
    return broadcast_to(real, shape), broadcast_to(imaginary, shape)


def fft(re: Operand, im: Operand | None = None, /, n: int | None = None, axis: int = -1) -> Pair:
    """Return real and imaginary part of the discrete Fourier transform of ``re + i im``.

    ``value_j = sum_k x_k exp(-2πi jk/n)`` along ``axis``; a length n cuts the axis or pads it with
    zeros.

    Raises ShapeError if the parts do not broadcast, AxisError, ValueError without elements,
    Unsupported for n if the axis is symbolic.

    >>> import symdiff as sd
    >>> re, im = sd.fft(sd.symbol("x", 4))
    >>> re.shape, im.shape
    ((4,), (4,))
    """
    return _transform("fft", _as_pair("fft", re, im), n, axis)


def _transform(name: str, pair: Pair, n: int | None, axis: int) -> Pair:
    place = axis_of(name, axis, pair[0].ndim)
    re, im = (_fit_length(name, x, n, place) for x in pair)
    return (
        _transform_axis(name, "cos", re, place) + _transform_axis(name, "sin", im, place),
        _transform_axis(name, "cos", im, place) - _transform_axis(name, "sin", re, place),
    )


def ifft(re: Operand, im: Operand | None = None, /, n: int | None = None, axis: int = -1) -> Pair:
    """Return the inverse of ``fft``: ``value_j = sum_k x_k exp(2πi jk/n) / n``, as a real pair.

    Raises the errors of ``fft``.

    >>> import symdiff as sd
    >>> x = sd.symbol("x", 4)
    >>> [part.shape for part in sd.ifft(*sd.fft(x))]
    [(4,), (4,)]
    """
    return _invert("ifft", _as_pair("ifft", re, im), n, axis)


def _invert(name: str, pair: Pair, n: int | None, axis: int) -> Pair:
    """Compute the inverse: exchange the parts before and after the transform, and divide by n."""
    im, re = _transform(name, pair[::-1], n, axis)
    length = _axis_length(name, re, axis_of(name, axis, re.ndim))
    return _divide_by_length(re, length), _divide_by_length(im, length)


def _divide_by_length(x: Expr, n: Dim) -> Expr:
    return scale(Fraction(1, n), x) if isinstance(n, int) else x / size(n)


def rfft(x: Operand, /, n: int | None = None, axis: int = -1) -> Pair:
    """Return the first ``n//2 + 1`` entries of the transform of real x; the others are conjugates.

    Raises the errors of ``fft``.

    >>> import symdiff as sd
    >>> [part.shape for part in sd.rfft(sd.symbol("x", 5))]
    [(3,), (3,)]
    """
    operand = as_expr(x)
    place = axis_of("rfft", axis, operand.ndim)
    operand = _fit_length("rfft", operand, n, place)
    length = _axis_length("rfft", operand, place)
    half: dict[int, Step] = {place: between(0, length // 2 + 1, length)}
    return (
        cut(_transform_axis("rfft", "cos", operand, place), half),
        cut(-_transform_axis("rfft", "sin", operand, place), half),
    )


def irfft(
    re: Operand, im: Operand | None = None, /, n: int | Length | None = None, axis: int = -1
) -> Expr:
    """Return the real array of length n whose ``rfft`` has these m entries.

    n is ``2 (m - 1)`` by default.  Entries are cut or padded with zeros to ``n//2 + 1``.  Imaginary
    parts that are 0 for every real array (of entry 0, and of n/2) have no effect.

    Raises ShapeError if the parts do not broadcast, AxisError, ValueError without elements,
    Unsupported for an axis of symbolic length.

    >>> import symdiff as sd
    >>> x = sd.symbol("x", 5)
    >>> sd.irfft(*sd.rfft(x), n=5).shape
    (5,)
    """
    pair = _as_pair("irfft", re, im)
    place = axis_of("irfft", axis, pair[0].ndim)
    if n is None:
        n = 2 * (_axis_length("irfft", pair[0], place) - 1)
    if isinstance(n, Length):
        return _inverse_of_half(pair, n, place)
    if n < 1:
        raise ValueError(f"irfft: {n} is not a length")
    half = n // 2 + 1
    listed("irfft", half)
    weights = np.full(half, 2, np.int8)  # int8, so that float32 operands stay float32
    weights[0] = 1
    if n % 2 == 0:
        weights[-1] = 1
    ones = (1,) * (pair[0].ndim - place - 1)
    parts = []
    for part, x in zip(("cos", "sin"), pair, strict=True):
        weight = weights if part == "cos" else np.where(weights == 1, 0, weights)
        weighted = _fit_length("irfft", x, half, place) * constant(weight.reshape((-1, *ones)))
        parts.append(
            _transform_axis("irfft", part, _fit_length("irfft", weighted, n, place), place)
        )
    return scale(Fraction(1, n), parts[0] - parts[1])


def _inverse_of_half(pair: Pair, n: Length, place: int) -> Expr:
    """``irfft`` to a length by name, for exactly the number of entries of that length."""
    x = pair[0]
    half = n // 2 + 1
    if x.shape[place] != half:
        raise Unsupported(f"irfft: {x.shape[place]} entries for length {n}, which has {half}")
    k = reshape(arange(half), (half, *(1,) * (x.ndim - place - 1)))
    alone = primitive("equal", k, number_node(0)) | primitive("equal", 2 * k, size(n))
    zeros = [(0, n - half if axis == place else 0) for axis in range(x.ndim)]
    re, im = (
        _transform_axis("irfft", part, pad(select(alone, once, 2 * x), zeros), place)
        for part, x, once in (("cos", pair[0], pair[0]), ("sin", pair[1], number_node(0)))
    )
    return _divide_by_length(re - im, n)


def fftn(re: Operand, im: Operand | None = None, /, axes: Sequence[int] | None = None) -> Pair:
    """Apply ``fft`` along several axes, all of them by default.

    >>> import symdiff as sd
    >>> [part.shape for part in sd.fftn(sd.symbol("X", (2, 3)))]
    [(2, 3), (2, 3)]
    """
    pair = _as_pair("fftn", re, im)
    for axis in axes_of("fftn", None if axes is None else tuple(axes), pair[0].ndim):
        pair = _transform("fftn", pair, None, axis)
    return pair


def ifftn(re: Operand, im: Operand | None = None, /, axes: Sequence[int] | None = None) -> Pair:
    """Apply ``ifft`` along several axes, all of them by default.

    >>> import symdiff as sd
    >>> [part.shape for part in sd.ifftn(sd.symbol("X", (2, 3)))]
    [(2, 3), (2, 3)]
    """
    pair = _as_pair("ifftn", re, im)
    for axis in axes_of("ifftn", None if axes is None else tuple(axes), pair[0].ndim):
        pair = _invert("ifftn", pair, None, axis)
    return pair


def _roll_half(name: str, x: Operand, axes: int | Sequence[int] | None, sign: int) -> Expr:
    operand = as_expr(x)
    wanted = axes if axes is None or isinstance(axes, int) else tuple(axes)
    places = axes_of(name, wanted, operand.ndim)
    halves = [sign * (_axis_length(name, operand, k) // 2) for k in places]
    return roll(operand, halves, places)


def fftshift(x: Operand, /, axes: int | Sequence[int] | None = None) -> Expr:
    """Move the entry of frequency 0 to the middle, along all axes by default.

    >>> import symdiff as sd
    >>> x = sd.symbol("x", 5)
    >>> sd.fftshift(x) is sd.roll(x, 2)
    True
    """
    return _roll_half("fftshift", x, axes, 1)


def ifftshift(x: Operand, /, axes: int | Sequence[int] | None = None) -> Expr:
    """Return the inverse of ``fftshift``.

    >>> import symdiff as sd
    >>> x = sd.symbol("x", 5)
    >>> sd.ifftshift(x) is sd.roll(x, -2)
    True
    """
    return _roll_half("ifftshift", x, axes, -1)
