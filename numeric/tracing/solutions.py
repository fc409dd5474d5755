"""Solve equations over Tensors: trace the equation once, record the solution as one operation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from numeric.eager.tensor import Tensor, blank
from numeric.tracing.functions_as_formulas import Inner, executed, program, traced
from numeric.tracing.loops import check_returned, refuse_checks, started
from numeric.tracing.nested import filled
from symdiff.graph.arguments import tolerance
from symdiff.graph.leaves import symbol
from symdiff.graph.number import shortened
from symdiff.transforms import odes, solutions
from symdiff.transforms.bodies import replaced

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numeric.tracing.functions_as_formulas import Capture
    from symdiff.graph.expr import Expr


def root(f: Callable[..., object], x0: object, *, max_steps: int = 100) -> Any:
    """Return the x near ``x0`` with ``f(x) = 0``, by Newton's method; f is traced once.

    The root is one recorded operation of the tensors that f finds elsewhere, with derivatives of
    every order.  It has no derivative by the start.

    Args:
        f: ``f(x)``, which returns the structure, shapes and dtypes of x.
        x0: the start, real: a Tensor, or Tensors in tuples, lists and dicts.
        max_steps: the largest number of Newton's steps.

    Raises ConvergenceError if the search ends at no root, TypeError and ValueError for arguments or
    results that do not fit.  Raises RuntimeError if values decide the control flow in f, and names
    the user's line.

    >>> import numeric as torch
    >>> a = torch.tensor(8., requires_grad=True)
    >>> x = torch.func.root(lambda x: x**3 - a, torch.tensor(1.))
    >>> x, torch.autograd.grad(x, a)[0]
    (tensor(2., grad_fn=<FunctionBackward0>), tensor(0.0833))
    """
    return _solved("root", solutions.root, f, x0, max_steps)


def fixed_point(g: Callable[..., object], x0: object, *, max_steps: int = 100) -> Any:
    """Return the x near ``x0`` with ``x = g(x)``, the root of ``x - g(x)``; see ``root``.

    >>> import numeric as torch
    >>> b = torch.tensor([0.5, 1.0], dtype=torch.float64)
    >>> torch.func.fixed_point(lambda z: torch.tanh(z / 2 + b), torch.zeros_like(b))
    tensor([0.6879, 0.8952], dtype=torch.float64)
    """
    return _solved("fixed_point", solutions.fixed_point, g, x0, max_steps)


def minimize(f: Callable[..., object], x0: object, *, max_steps: int = 100) -> Any:
    """Return the x near ``x0`` that minimises ``f(x)``, a Tensor of one element.

    See ``symdiff.minimize`` for its method, check and derivatives, and ``root`` for the arguments
    and errors.

    >>> import numeric as torch
    >>> w = torch.func.minimize(lambda w: ((w - 3)**2).sum() + w @ w, torch.zeros(2))
    >>> w
    tensor([1.5000, 1.5000])
    """
    return _solved("minimize", solutions.minimize, f, x0, max_steps)


def odeint(
    rhs: Callable[..., object],
    y0: object,
    t: Tensor,
    *,
    rtol: float = 1e-8,
    atol: float = 1e-8,
    method: str = "RK45",
    max_steps: int = 10_000,
    sensitivities: bool = False,
) -> Any:
    """Return the solution of ``dy/dt = rhs(y, t)`` at the times t, with ``y(t[0]) = y0``.

    It has the structure of y0 with a leading axis of times.  ``rhs`` is traced once, and the
    solution is one recorded operation of y0, t and the tensors that ``rhs`` finds elsewhere.
    Arguments and derivatives are those of ``symdiff.odeint``, errors those of ``root``.

    >>> import numeric as torch
    >>> k, t = torch.tensor(0.5, requires_grad=True), torch.tensor([0., 2.])
    >>> ys = torch.func.odeint(lambda y, t: -k * y, torch.tensor(1.), t)
    >>> ys, torch.autograd.grad(ys[1], k)[0]
    (tensor([1.0000, 0.3679], grad_fn=<FunctionBackward0>), tensor(-0.7358))
    """
    name = "odeint"
    tree, start = _started(name, y0, "y0")
    if not isinstance(t, Tensor):
        raise TypeError(
            f"func.odeint: t is {shortened(t)}, which is not a Tensor; as_tensor() makes one"
        )

    def call(tensors: list[Tensor]) -> object:
        answer = rhs(filled(tree, tensors[:-1]), tensors[-1])
        check_returned(name, "rhs", tree, start, answer, "y", "y0")
        return answer

    rtol, atol = tolerance("func.odeint", "rtol", rtol), tolerance("func.odeint", "atol", atol)
    time = blank(np.empty((), t._array.dtype))
    capture = _captured(name, call, [*start, t], [*start, time])

    def build() -> tuple[list[Expr], list[Expr]]:
        times = symbol("times", t._array.shape, capture.symbols[-1].dtype)
        full = _symbols(capture.symbols[:-1])
        ys = odes.odeint(
            lambda y, s: _of(capture, [*y, s]),
            tuple(full),
            times,
            rtol=rtol,
            atol=atol,
            method=method,
            max_steps=max_steps,
            sensitivities=sensitivities,
        )
        return [*ys], [*full, times, *capture.outer_symbols]

    key = (name, rtol, atol, method, max_steps, sensitivities, t._array.shape, capture.key())
    results = executed(program(key, build), [*start, t, *capture.outer], capture.kinds)
    return filled(tree, results)


def _solved(
    name: str,
    solve: Callable[..., Any],
    f: Callable[..., object],
    x0: object,
    max_steps: int,
) -> Any:
    """Return the solution x of ``root``, ``fixed_point`` or ``minimize``."""
    tree, start = _started(name, x0, "x0")

    def call(tensors: list[Tensor]) -> object:
        answer = f(filled(tree, tensors))
        if name != "minimize":
            check_returned(name, "the function", tree, start, answer, "x", "x0")
        elif not isinstance(answer, Tensor) or answer._array.shape:
            raise TypeError("func.minimize: f returned no Tensor of one element without axes")
        return answer

    capture = _captured(name, call, start, start)

    def build() -> tuple[list[Expr], list[Expr]]:
        full = _symbols(capture.symbols)

        def of(x: Sequence[Expr]) -> Any:
            values = _of(capture, x)
            return values[0] if name == "minimize" else values

        return [*solve(of, tuple(full), max_steps=max_steps)], [*full, *capture.outer_symbols]

    function = program((name, max_steps, len(start), capture.key()), build)
    solution = executed(function, [*start, *capture.outer], [x._array.dtype for x in start])
    return filled(tree, solution)


def _started(name: str, start: object, what: str) -> tuple[object, list[Tensor]]:
    tree, tensors = started(name, start, what)
    if not tensors:
        raise ValueError(f"func.{name}: {what} is {shortened(start)}, which contains no Tensor")
    return tree, tensors


def _captured(
    name: str,
    call: Callable[[list[Tensor]], object],
    tensors: Sequence[Tensor],
    like: Sequence[Tensor],
) -> Capture:
    for k, x in enumerate(tensors):
        if x._array.dtype.kind != "f":
            place = f", part {k}," if len(tensors) > 1 else ""
            raise TypeError(
                f"func.{name}: the start{place} is {x._array.dtype}; a solution is real: to(float)"
            )
    capture = traced(call, tensors, like, Inner(name, "error"))
    refuse_checks(name, capture)
    return capture


def _symbols(of: Sequence[Expr]) -> list[Expr]:
    return [symbol(f"b{k}", s.shape, s.dtype) for k, s in enumerate(of)]


def _of(capture: Capture, x: Sequence[Expr]) -> tuple[Expr, ...]:
    """Substitute expressions for the symbols of the traced function."""
    assert capture.exprs is not None
    return tuple(replaced(capture.exprs, dict(zip(capture.symbols, x, strict=True))))
