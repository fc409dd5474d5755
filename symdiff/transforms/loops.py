"""Loops for users, with the signatures and semantics of JAX's."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from symdiff.calculus.real_values import is_real
from symdiff.errors import ShapeError
from symdiff.functions.shaping import arange, concat, reshape, squeeze
from symdiff.graph.algebra import as_real
from symdiff.graph.axes import shape_text
from symdiff.graph.expr import Expr
from symdiff.graph.leaves import as_expr, checked_shape, fixed_places, named_dummy, number_of
from symdiff.graph.number import shortened
from symdiff.guesses import written
from symdiff.transforms.batching import batched
from symdiff.transforms.bodies import replaced
from symdiff.transforms.checkpoints import checkpoints
from symdiff.transforms.closing import closed
from symdiff.transforms.packing import packed, packed_shape, unpacked
from symdiff.transforms.scans import part, trajectory
from symdiff.transforms.trees import leaves_like, leaves_of, like, shown
from symdiff.transforms.while_loops import repeated

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from symdiff.graph.node import Dim, Shape

__all__ = ["fori_loop", "scan", "while_loop"]


@written("scan(f, init, xs), f(carry, x) -> (carry, y)")
def scan(
    f: Callable[..., Any],
    init: Any,
    xs: Any = None,
    length: Dim | None = None,
    reverse: bool = False,
    checkpoint: bool | int = False,
) -> tuple[Any, Any]:
    """Loop ``carry, ys[t] = f(carry, xs[t])`` from ``init``; return the last carry and all ys.

    The loop is one node, however long it is.  So are its derivatives, of every order and in both
    modes.  ``f`` is called once, with symbols.  Parts that do not depend on the carry are computed
    for all steps at once, also parts of ys.

    Args:
        f: ``f(carry, x)``, which returns a carry of the same structure and shapes, and y.
        init: the first carry: an expression, number or array, or tuples, lists and dicts of them.
            A carry is real.
        xs: expressions or arrays of one length with one additional leading axis, or tuples, lists
            and dicts of them; None for an f that needs only the carry.
        length: the number of steps, an int or a length by name; by default the length of ``xs``.
        reverse: whether the steps go from the last x to the first; ys[t] still belongs to xs[t].
        checkpoint: the number of steps after which the carry is kept, about sqrt(length) for True.
            The gradient of a loss of the last carry then stores those carries, the carries of one
            segment, and xs.  It computes each step once more; f is called twice.

    y may have any structure, also None.  ys has the same structure, with one additional leading
    axis.  Without steps, the last carry is init.

    Raises ShapeError if f returns a carry of another shape, or if lengths of xs differ; TypeError
    for a carry of another structure; ValueError without a length, for a ``checkpoint`` that is
    no number of steps, and for a checkpointed loop whose length is not a number.

    >>> import symdiff as sd
    >>> a, x = sd.symbol("a"), sd.symbol("x", "n")
    >>> last, sums = sd.scan(lambda s, x: (a * s + x, s), 0, x)
    >>> sums.shape, sd.grad(last, x).shape
    (('n',), ('n',))
    """
    carried, columns = _check_first_carry("scan", init), list(map(as_expr, leaves_of(xs)))
    n = _step_count(xs, columns, length)
    # n/s carries between segments and s inside one are kept: least for s = sqrt(n).
    steps = _segment_length(checkpoint, n)
    if steps:
        return _scan_segments(f, init, xs, n, reverse, steps)
    return _scan_body(f, init, carried, xs, columns, n, reverse)


def _scan_body(
    f: Callable[..., Any],
    init: Any,
    carried: Sequence[Expr],
    xs: Any,
    columns: Sequence[Expr],
    n: Dim,
    reverse: bool,
    of_segments: bool = False,
) -> tuple[Any, Any]:
    shapes = [value.shape for value in carried]
    carry = named_dummy("carry", packed_shape(shapes))
    # One symbol stands for a step's x: the body is traced once, whatever the number of steps.
    each = [named_dummy("x", x.shape[1:], x.dtype) for x in columns]
    before = unpacked(carry, shapes)
    pair = f(like(init, iter(before)), None if xs is None else like(xs, iter(each)))
    if not isinstance(pair, tuple) or len(pair) != 2:
        raise TypeError(f"scan: f returned {shown(pair)}; expected a pair, the next carry and y")
    values, y = _check_carry("scan", "f", init, shapes, pair[0]), pair[1]
    # A loop cannot carry lengths that are known only at run time: inner sums hide them here.
    both = closed([*values, *map(as_expr, leaves_of(y))], [carry, *each])
    values, outputs = both[: len(values)], both[len(values) :]
    # Compute the loop first: ys then need no second pass through the body.
    along = dict(zip(each, columns, strict=True))
    start = packed([as_real(value) for value in carried])
    if of_segments:
        path = checkpoints(packed(values), carry, start, along, int(n), reverse)
    else:
        path = trajectory(packed(values), carry, start, along, {}, n, reverse)
    firsts, lasts = part(path, 0, n), part(path, 1, n + 1)  # type: ignore[operator]
    # The trajectory lies in the order of xs: backwards, a step starts at its later end.
    if reverse:
        firsts, lasts = lasts, firsts
    end = (0, 1) if reverse else (n, n + 1)  # type: ignore[operator]
    last = like(init, iter(unpacked(squeeze(part(path, *end), 0), shapes)))
    # Values of the body that the trajectory holds need no second computation.
    stand_ins, afters = {}, unpacked(lasts, shapes)
    for value, after in zip(values, afters, strict=True):
        if value.args and value not in stand_ins and number_of(value) is None:
            stand_ins[value] = named_dummy("after", value.shape), after
    ys = replaced(outputs, {value: symbol for value, (symbol, _) in stand_ins.items()})
    rows = {carry: firsts, **dict(stand_ins.values()), **along}
    # Batch over fresh symbols, so that the walk does not enter the operands.
    of_rows = {symbol: named_dummy("row", row.shape, row.dtype) for symbol, row in rows.items()}
    stacked = batched(ys, of_rows, n)
    stacked = replaced(stacked, {of_rows[symbol]: row for symbol, row in rows.items()})
    return last, like(y, iter(stacked))


def _segment_length(checkpoint: bool | int, n: Dim) -> int:
    """The steps of a segment; 0 without checkpoints."""
    if checkpoint is False:
        return 0
    if not isinstance(n, int):
        raise ValueError(
            f"scan: checkpoint={shortened(checkpoint)} needs a length that is a number, not {n}: "
            "give xs of a known length"
        )
    if checkpoint is True:
        return max(math.isqrt(n), 1)
    if not isinstance(checkpoint, int | np.integer) or checkpoint < 1:
        raise ValueError(
            f"scan: checkpoint={shortened(checkpoint)} is neither a bool nor a number of steps"
        )
    return int(checkpoint)


def _scan_segments(
    f: Callable[..., Any], init: Any, xs: Any, n: Dim, reverse: bool, steps: int
) -> tuple[Any, Any]:
    """Scan over segments, each of which is a scan; the remaining steps are one more scan."""
    count, remaining = divmod(int(n), steps)
    used = count * steps
    columns = list(map(as_expr, leaves_of(xs)))

    def segment(carry: Any, x: Any) -> tuple[Any, Any]:
        """The steps of one segment."""
        return _scan_body(
            f, carry, _check_first_carry("scan", carry), x, leaves_of(x), steps, reverse, True
        )

    def segments(carry: Any) -> tuple[Any, Any]:
        """All full segments, from a carry."""
        rows = [reshape(part(x, 0, used), (count, steps, *x.shape[1:])) for x in columns]
        of_rows = None if xs is None else like(xs, iter(rows))
        carried = _check_first_carry("scan", carry)
        last, ys = _scan_body(segment, carry, carried, of_rows, rows, count, reverse, True)
        flat = [reshape(y, (used, *y.shape[2:])) for y in leaves_of(ys)]
        return last, like(ys, iter(flat))

    def rest(carry: Any) -> tuple[Any, Any]:
        """The steps after the full segments, from a carry."""
        of_rows = None if xs is None else like(xs, iter([part(x, used, int(n)) for x in columns]))
        return scan(f, carry, of_rows, length=remaining, reverse=reverse)

    if not count or not remaining:
        return segments(init) if count else rest(init)
    # Steps run from the last x to the first in reverse, so the incomplete segment comes first.
    first, second = (rest, segments) if reverse else (segments, rest)
    carry, some = first(init)
    last, before = second(carry)
    pairs = zip(
        *[leaves_of(y) for y in ((before, some) if reverse else (some, before))], strict=True
    )
    return last, like(some, iter([concat(pair) for pair in pairs]))


@written("fori_loop(lower, upper, f, init), f(i, carry) -> carry")
def fori_loop(lower: Dim, upper: Dim, f: Callable[..., Any], init: Any) -> Any:
    """Loop ``carry = f(i, carry)`` for i from ``lower`` to ``upper - 1``; return the last carry.

    Args:
        lower, upper: ints, or lengths by name.  An empty range returns init.
        f: ``f(i, carry)`` with an integer expression i; it returns a carry as in ``scan``.
        init: the first carry, as in ``scan``.

    Raises TypeError for other bounds, and the errors of ``scan``.

    >>> import symdiff as sd
    >>> x = sd.symbol("x")
    >>> power = sd.fori_loop(0, 5, lambda i, c: c * x, 1)
    >>> float(sd.diff(power, x).evalf(subs={x: 2}))
    80.0
    """
    for bound in (lower, upper):
        if isinstance(bound, bool) or not isinstance(bound, int | np.integer | str):
            raise TypeError(
                f"fori_loop: {shortened(bound)} is neither an int nor a length by name; a number "
                "of steps that is computed needs a loop with a condition"
            )
    first, stop = (checked_shape((b,))[0] if isinstance(b, str) else int(b) for b in (lower, upper))
    # Known bounds make an array of ints; the length of a named range is known only at run time.
    if isinstance(first, int) and isinstance(stop, int):
        places = fixed_places(np.arange(first, stop))  # indices have no precision
    else:
        places = arange(first, stop)
    return scan(lambda carry, i: (f(i, carry), None), init, places)[0]


@written("while_loop(cond, body, init), cond(carry) and body(carry) -> carry")
def while_loop(
    cond: Callable[..., Any],
    body: Callable[..., Any],
    init: Any,
    max_steps: int = 10_000,
    return_steps: bool = False,
) -> Any:
    """Loop ``carry = body(carry)`` while ``cond(carry)`` holds; return the last carry.

    The program finds the number of steps at run time.  Derivatives of every order, in both modes,
    are those of a loop of this many steps; the number itself has no derivative.  In a batch, each
    loop has its own number of steps.

    Args:
        cond: ``cond(carry)``, a condition: an expression that is true or false.
        body: ``body(carry)``, which returns a carry as in ``scan``.
        init: the first carry, as in ``scan``; also the result if the condition fails at once.
        max_steps: the maximum number of steps.  If the condition still holds after them, calls
            raise RuntimeError.
        return_steps: whether to return the pair of the last carry and the number of steps.

    Raises TypeError if cond returns no condition, ValueError for a ``max_steps`` that is not a
    natural number, and the errors of ``scan``.

    >>> import symdiff as sd
    >>> a = sd.symbol("a")
    >>> root = sd.while_loop(lambda x: abs(x * x - a) > 1e-12, lambda x: (x + a / x) / 2, a)
    >>> round(float(sd.diff(root, a).evalf(subs={a: 4})), 12)
    0.25
    """
    if isinstance(max_steps, bool) or not isinstance(max_steps, int | np.integer) or max_steps < 0:
        raise ValueError(f"while_loop: max_steps={shortened(max_steps)} is not a number of steps")
    carried = _check_first_carry("while_loop", init)
    shapes = [value.shape for value in carried]
    carry = named_dummy("carry", packed_shape(shapes))
    before = unpacked(carry, shapes)
    # A condition that Python has decided already is a constant, not an error.
    condition = cond(like(init, iter(before)))
    if isinstance(condition, bool | np.bool_):
        condition = as_expr(condition)
    if not isinstance(condition, Expr) or condition.dtype is not bool or condition.shape:
        raise TypeError(
            f"while_loop: cond returned {_returned_text(condition)}; expected one condition, "
            "as c > 0 is, or sd.any(c > 0) of an array"
        )
    values = _check_carry("while_loop", "body", init, shapes, body(like(init, iter(before))))
    start = packed([as_real(value) for value in carried])
    condition, *values = closed([condition, *values], [carry])
    last, steps = repeated(condition, packed(values), carry, start, int(max_steps))
    result = like(init, iter(unpacked(last, shapes)))
    return (result, steps) if return_steps else result


def _returned_text(returned: Any) -> str:
    if isinstance(returned, Expr):
        return f"{'conditions' if returned.dtype is bool else 'numbers'} of {shown(returned)}"
    return shown(returned)


# Carries ------------------------------------------------------------------------------------------


def _check_first_carry(what: str, init: Any) -> list[Expr]:
    """The leaves of the first carry of a loop; raises TypeError for a leaf that is not real."""
    leaves = list(map(as_expr, leaves_of(init)))
    for k, value in enumerate(leaves):
        if not is_real(value):
            raise TypeError(
                f"{what}: the carry{_part_text(k, leaves)} is {value.dtype.__name__}; a carry is "
                "real: start from sd.astype(value, float), or count steps in xs"
            )
    return leaves


def _check_carry(what: str, f: str, init: Any, shapes: Sequence[Shape], carry: Any) -> list[Expr]:
    """Check the carry that f returned against structure and shapes; return its real leaves."""
    leaves = leaves_like(carry, init)
    if leaves is None:
        raise TypeError(
            f"{what}: the carry is {shown(init)}, {f} returned {shown(carry)}: another structure"
        )
    values = list(map(as_expr, leaves))
    for k, (value, shape) in enumerate(zip(values, shapes, strict=True)):
        if value.shape != shape:
            raise ShapeError(
                f"{what}: the carry{_part_text(k, values)} has shape {shape_text(shape)}, {f} "
                f"returned {shape_text(value.shape)}"
            )
        if value.dtype is bool:
            raise TypeError(
                f"{what}: the carry{_part_text(k, values)} is real, {f} returned a condition; "
                "sd.where(condition, 1, 0) makes numbers of it"
            )
    return [as_real(value) for value in values]


def _part_text(k: int, values: Sequence[Expr]) -> str:
    return f", part {k}," if len(values) > 1 else ""


def _step_count(xs: Any, columns: Sequence[Expr], length: Dim | None) -> Dim:
    """The number of steps; raises ShapeError if ``xs`` and ``length`` disagree."""
    steps = None if length is None else checked_shape((length,))[0]
    if steps is None and not columns:
        raise ValueError("scan: the number of steps is unknown; give xs or length=")
    for k, x in enumerate(columns):
        if not x.shape:
            raise ShapeError(
                f"scan: xs{_part_text(k, columns)} is one number; "
                "expected an axis of steps in front"
            )
        if steps is None:
            steps = x.shape[0]
        if x.shape[0] != steps:
            by = f"length={steps}" if length is not None else f"xs, part 0, have {steps} steps"
            raise ShapeError(f"scan: {by}, but xs{_part_text(k, columns)} have {x.shape[0]}")
    assert steps is not None
    return steps
