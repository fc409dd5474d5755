"""Loops over Tensors: trace the body once, and record the loop as one operation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from numeric.eager.tensor import Tensor, blank
from numeric.tracing.functions_as_formulas import Inner, executed, program, traced
from numeric.tracing.nested import contents, filled, flat
from numeric.tracing.trace import counted
from symdiff.errors import ShapeError
from symdiff.graph.axes import shape_text
from symdiff.graph.leaves import symbol
from symdiff.graph.number import shortened
from symdiff.transforms import loops
from symdiff.transforms.bodies import replaced

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numeric.tracing.functions_as_formulas import Capture
    from symdiff.graph.expr import Expr


def scan(
    f: Callable[..., object],
    init: object,
    xs: object = None,
    length: int | None = None,
    reverse: bool = False,
    checkpoint: bool | int = False,
) -> tuple[Any, Any]:
    """Run ``carry, ys[t] = f(carry, xs[t])`` for each t from ``init``; return last carry and ys.

    ``f`` is traced once, for one step without values.  The loop is one recorded operation of
    ``init``, ``xs`` and the tensors that f finds elsewhere.  It has derivatives of every order,
    which are loops.

    Args:
        f: ``f(carry, x)``, which returns a carry of the same structure, shapes and dtypes, and y:
            Tensors in tuples, lists and dicts, or None.
        init: the first carry, real.
        xs: Tensors whose first axis is the axis of steps; None if f needs none.
        length: the number of steps; required without xs.
        reverse: run from the last x to the first; ys[t] still belongs to xs[t].
        checkpoint: see ``symdiff.scan``; it saves memory for gradients.

    Raises TypeError and ValueError for arguments or results that do not fit.  Raises RuntimeError
    if values decide the control flow in f, and names the user's line.

    >>> import numeric as torch
    >>> x = torch.tensor([1., 2., 3.], requires_grad=True)
    >>> last, sums = torch.func.scan(lambda s, x: (s + x, s * x), torch.tensor(0.), x)
    >>> last, sums.sum().backward(), x.grad
    (tensor(6., grad_fn=<FunctionBackward0>), None, tensor([5., 4., 3.]))
    """
    tree, start = started("scan", init)
    _check_tensors("scan", "xs", xs, "are")
    along, columns = flat(xs)
    n = _steps(columns, length)

    def call(tensors: list[Tensor]) -> object:
        answer = f(filled(tree, tensors[: len(start)]), filled(along, tensors[len(start) :]))
        if not isinstance(answer, tuple) or len(answer) != 2:
            raise TypeError(
                f"func.scan: f returned {type(answer).__name__}; expected a pair, the next carry "
                "and y"
            )
        check_returned("scan", "f", tree, start, answer[0])
        _check_tensors("scan", "f", answer[1])
        return answer

    rows = [blank(np.empty(x._array.shape[1:], x._array.dtype)) for x in columns]
    inputs = [*start, *columns]
    capture = traced(call, inputs, [*start, *rows], Inner("scan", "error"))
    outs = [*(capture.exprs or ()), *counted(capture.checks)]
    if not outs:
        raise ValueError("func.scan: neither init nor what f returned has a Tensor")
    m = len(start)

    def build() -> tuple[list[Expr], list[Expr]]:
        full = [
            symbol(f"b{k}", s.shape if k < m else (n, *s.shape), s.dtype)
            for k, s in enumerate(capture.symbols)
        ]

        def body(carry: Sequence[Expr], x: Sequence[Expr]) -> tuple[Any, Any]:
            step = replaced(outs, dict(zip(capture.symbols, [*carry, *x], strict=True)))
            return tuple(step[:m]), tuple(step[m:])

        last, ys = loops.scan(body, tuple(full[:m]), tuple(full[m:]), n, reverse, checkpoint)
        return [*last, *ys], [*full, *capture.outer_symbols]

    function = program(("scan", n, m, reverse, checkpoint, capture.key()), build)
    results = executed(function, [*inputs, *capture.outer], capture.kinds, capture.checks)
    answer: tuple[Any, Any] = filled(capture.tree, results)
    return answer


def fori_loop(lower: int, upper: int, f: Callable[..., object], init: object) -> Any:
    """Run ``carry = f(i, carry)`` for ``lower <= i < upper``; return the last carry.

    The index i is an integer Tensor.  As for ``scan``, f is traced once, and the loop is one
    recorded operation.

    >>> import numeric as torch
    >>> torch.func.fori_loop(1, 5, lambda i, c: c * i, torch.tensor(1.))
    tensor(24.)
    """
    places = blank(np.arange(lower, upper))
    return scan(lambda carry, i: (f(i, carry), None), init, places)[0]


def while_loop(
    cond: Callable[..., object],
    body: Callable[..., object],
    init: object,
    max_steps: int = 10_000,
) -> Any:
    """Run ``carry = body(carry)`` from ``init`` while ``cond(carry)`` holds; return the last carry.

    Both functions are traced once.  The loop is one recorded operation, differentiable in both
    modes.  Raises RuntimeError if the condition still holds after ``max_steps`` steps.

    >>> import numeric as torch
    >>> a = torch.tensor(9., requires_grad=True, dtype=torch.float64)
    >>> root = torch.func.while_loop(
    ...     lambda x: (x * x - a).abs() > 1e-9, lambda x: (x + a / x) / 2, a
    ... )
    >>> torch.autograd.grad(root, a)[0].round(decimals=6)
    tensor(0.1667, dtype=torch.float64)
    """
    tree, start = started("while_loop", init)

    def call(given: list[Tensor]) -> object:
        condition = cond(filled(tree, given))
        if not isinstance(condition, Tensor) or condition._array.shape:
            raise TypeError("func.while_loop: cond returned no Tensor of one element without axes")
        answer = body(filled(tree, given))
        check_returned("while_loop", "body", tree, start, answer)
        return answer, condition

    capture = traced(call, start, start, Inner("while_loop", "error"))
    refuse_checks("while_loop", capture)
    assert capture.exprs is not None
    exprs, m = capture.exprs, len(start)

    def build() -> tuple[list[Expr], list[Expr]]:
        full = [symbol(f"b{k}", s.shape, s.dtype) for k, s in enumerate(capture.symbols)]

        def of(carry: Sequence[Expr], some: Sequence[Expr]) -> list[Expr]:
            return replaced(some, dict(zip(capture.symbols, carry, strict=True)))

        def holds(carry: Sequence[Expr]) -> Expr:
            (condition,) = of(carry, exprs[m:])
            return condition if condition.dtype is bool else condition != 0

        step = lambda carry: tuple(of(carry, exprs[:m]))  # noqa: E731
        last = loops.while_loop(holds, step, tuple(full), max_steps)
        return [*last], [*full, *capture.outer_symbols]

    function = program(("while_loop", m, max_steps, capture.key()), build)
    carry = executed(function, [*start, *capture.outer], capture.kinds[:m])
    return filled(tree, carry)


def started(name: str, start: object, what: str = "init") -> tuple[object, list[Tensor]]:
    """Return the structure of the start of a loop or search, and its Tensors."""
    _check_tensors(name, what, start, "is")
    return flat(start)


def _check_tensors(name: str, what: str, tree: object, verb: str = "returned") -> None:
    for part in contents(tree):
        if part is not None and not isinstance(part, Tensor):
            raise TypeError(
                f"func.{name}: {what} {verb} a structure with {shortened(part)}, which is not "
                "a Tensor; as_tensor() makes one of numbers"
            )


def check_returned(
    name: str,
    f: str,
    tree: object,
    start: Sequence[Tensor],
    returned: object,
    what: str = "the carry",
    first: str = "init",
) -> None:
    """Raise unless f returned the structure, the shapes and the dtypes of the start."""
    _check_tensors(name, f, returned)
    structure, tensors = flat(returned)
    if structure != tree:
        kind = "a carry of another structure" if what == "the carry" else "another structure"
        raise TypeError(f"func.{name}: {f} returned {kind} than {first}'s")
    for k, (x, y) in enumerate(zip(start, tensors, strict=True)):
        place = f", part {k}," if len(start) > 1 else ""
        if x._array.shape != y._array.shape:
            raise ShapeError(
                f"func.{name}: {what}{place} has shape {shape_text(x._array.shape)}, {f} "
                f"returned {shape_text(y._array.shape)}"
            )
        if x._array.dtype != y._array.dtype:
            raise TypeError(
                f"func.{name}: {what}{place} is {x._array.dtype}, {f} returned "
                f"{y._array.dtype}; convert one of them with to()"
            )


def _steps(columns: Sequence[Tensor], length: int | None) -> int:
    """Return the number of steps; raises ShapeError unless all lengths agree."""
    shapes = [(f"xs, part {k},", x._array.shape) for k, x in enumerate(columns)]
    for what, shape in shapes:
        if not shape:
            raise ShapeError(f"func.scan: {what} is one number; expected an axis of steps in front")
    sizes = [*([("length", length)] if length is not None else []), *((w, s[0]) for w, s in shapes)]
    if not sizes:
        raise ValueError("func.scan: the number of steps is not known; give xs, or length=")
    first, n = sizes[0]
    for what, size in sizes[1:]:
        if size != n:
            raise ShapeError(f"func.scan: {first} says {n} steps, {what} {size}")
    return int(n)


def refuse_checks(name: str, capture: Capture) -> None:
    """Raise RuntimeError for operations that check values: the steps of a search skip checks."""
    if capture.checks:
        error = capture.checks[0][1]
        raise RuntimeError(f"func.{name}: an operation inside must check its values: {error}")
