"""compile: a function of Tensors, traced once for each signature, runs as lowered Functions."""

from __future__ import annotations

import functools
from collections import OrderedDict
from typing import TYPE_CHECKING, Any, NamedTuple

from numeric.eager.dtypes import INT64, default
from numeric.eager.function_calls import called
from numeric.eager.recording import cast
from numeric.eager.shared_results import placed, share
from numeric.eager.tensor import Tensor
from numeric.eager.traced_arrays import Place, Shadow
from numeric.lowering.function import Function, lower
from numeric.modes import Switch, current
from numeric.tracing.nested import filled, flat
from numeric.tracing.surroundings import key, surroundings
from numeric.tracing.trace import Trace, checked, counted, requires
from symdiff.contexts import contained
from symdiff.graph.number import shortened
from symdiff.locks import fork_safe_lock

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from symdiff.graph.expr import Expr

__all__ = ["compile"]

# Traces that one compiled function keeps: the most recently used ones.
_KEPT = 64
# Of these, for one signature in different surroundings.
_SAME = 8


class _Traced(NamedTuple):
    """What a trace left: the Function, tensors from outside, and how results are made of it."""

    function: Function | None
    outer: list[Tensor]
    # For each tensor "output", "argument" or "outer"; its place, or the tensor; dtype and flag.
    results: list[tuple[str, Any, Any]]
    structure: object
    places: list[tuple[int, int, Place]]  # of results that are views
    checks: list[tuple[Expr, Exception]]
    guard: dict[object, object]  # what must be as it was when the function was traced


class Compiled:
    """A function of Tensors that runs as lowered Functions, one for each signature."""

    def __init__(self, fn: Callable[..., object]) -> None:
        self._fn = fn
        self._lock = fork_safe_lock()
        self._traces: OrderedDict[tuple[object, int], _Traced] = OrderedDict()
        functools.update_wrapper(self, fn, updated=())

    def __copy__(self) -> Compiled:
        return self  # as functions are copied

    def __deepcopy__(self, memo: dict[int, object]) -> Compiled:
        return self

    def __get__(self, instance: object, owner: object = None) -> Any:
        return self if instance is None else functools.partial(self, instance)

    def __call__(self, *args: object, **kwargs: object) -> Any:
        """The function's results, by the trace for these arguments."""
        if current().tracing is not None:  # it becomes a part of what is traced
            return self._fn(*args, **kwargs)
        structure, tensors = flat((args, kwargs))
        signature = (
            key(structure),
            tuple([(x._array.shape, x._array.strides, x._array.dtype, x._rg) for x in tensors]),
            # Which arguments are the same tensor: they are one input.
            tuple([next(i for i, y in enumerate(tensors) if y is x) for x in tensors]),
            (current().grad, default()),
        )
        around = surroundings((self._fn, structure))
        traced = self._known(signature, around)
        if traced is None:
            traced = self._trace(structure, tensors, around)
            # Only the table is locked: the user's function may take long, or call this one.
            with self._lock:
                place = next(
                    i for i in range(_SAME) if (signature, i) not in self._traces or i == _SAME - 1
                )
                # When all places are taken, the last one is given to the newest.
                self._traces[signature, place] = traced
                if len(self._traces) > _KEPT:
                    self._traces.popitem(last=False)
        return _run(traced, tensors)

    def _known(self, signature: object, around: dict[object, object]) -> _Traced | None:
        """The trace for a signature, in surroundings like these."""
        with self._lock:
            for i in range(_SAME):
                traced = self._traces.get((signature, i))
                if traced is not None and all(
                    around.get(way) == value for way, value in traced.guard.items()
                ):
                    self._traces.move_to_end((signature, i))
                    return traced
        return None

    @contained
    def _trace(
        self, structure: object, tensors: Sequence[Tensor], around: dict[object, object]
    ) -> _Traced:
        trace = Trace()
        stand_ins: dict[int, Tensor] = {}
        for x in tensors:
            if id(x) not in stand_ins:
                stand_ins[id(x)] = trace.argument(x)
        given = [stand_ins[id(x)] for x in tensors]
        args, kwargs = filled(structure, given)
        with Switch(tracing=trace):
            answer = self._fn(*args, **kwargs)
            tree, outs = flat(answer)
            results: list[tuple[str, Any, Any]] = []
            exprs: list[Expr] = []
            for y in outs:
                place = next((i for i, x in enumerate(given) if x is y), None)
                # What is an argument, or was there before, is that very tensor in each call, not a
                # result.
                if place is not None:
                    results.append(("argument", place, None))
                elif not isinstance(y._array, Shadow) and not trace.knows(y):
                    results.append(("outer", y, None))
                else:
                    results.append(("output", len(exprs), (y._array.dtype, requires(y))))
                    exprs.append(trace.expr(y))
        # Behind the results, so that a call computes both at once.
        exprs += counted(trace.checks)
        function = lower(exprs, trace.symbols) if exprs else None
        # What the function itself changes while it runs, as a counter of calls, is no condition:
        # it would be another in every call.
        after = surroundings((self._fn, structure))
        guard = {way: value for way, value in around.items() if after.get(way) == value}
        places = [
            place
            for place in placed(list(stand_ins.values()), outs)
            if results[place[0]][0] == "output"
        ]
        return _Traced(function, trace.outer, results, tree, places, trace.checks, guard)

    @property
    def functions(self) -> list[Function]:
        """The Functions of the traces so far."""
        return [t.function for t in self._traces.values() if t.function is not None]

    def __repr__(self) -> str:
        return f"<compiled {getattr(self._fn, '__name__', self._fn)!s}>"


def _run(traced: _Traced, tensors: Sequence[Tensor]) -> Any:
    unique = list({id(x): x for x in tensors}.values())
    values: Any = ()
    if traced.function is not None:
        kinds = [like[0] for kind, _, like in traced.results if kind == "output"]
        kinds += [INT64] * len(traced.checks)
        values = called(traced.function, [*unique, *traced.outer], {}, tuple(kinds))
        checked(values[len(values) - len(traced.checks) :], traced.checks)
    outs = []
    for kind, what, like in traced.results:
        if kind == "output":
            dtype, recorded = like
            # The call is one recorded operation, but not every result required gradients in the
            # trace.
            y = values[what] if recorded else values[what].detach()
            outs.append(y if y._array.dtype == dtype else cast(y, dtype))
        else:
            outs.append(what if kind == "outer" else tensors[what])
    share(outs, unique, traced.places)
    return filled(traced.structure, outs)


def compile(  # PyTorch's name
    model: object = None,
    *,
    fullgraph: bool = False,
    dynamic: object = None,
    backend: object = None,
    mode: object = None,
    options: object = None,
    disable: bool = False,
) -> Any:
    """``model``, traced into one lowered Function for each signature; also a decorator.

    The function runs once on tensors without data; its operations become one expression, lowered
    with its derivative, and each call is one recorded operation.  A signature is: shapes, dtypes
    and ``requires_grad`` of tensors, values of all other arguments, and what the function finds in
    closures, globals and attributes.  Tensors found there are inputs with the values that they have
    at the call.  NumPy arrays are constants.

    PyTorch's keywords are accepted and ignored, but ``disable``, which gives ``model`` itself.

    A call raises RuntimeError naming the line of the user's code where values of tensors decide
    what is done, where arguments or tensors from outside are changed in place, and where random
    numbers are drawn.

    >>> import numeric as torch
    >>> @torch.compile
    ... def f(x, w):
    ...     return torch.tanh(x * w).sum()
    >>> w = torch.tensor([1.0, 2.0], requires_grad=True)
    >>> f(torch.tensor([0.0, 0.0]), w).backward()
    >>> w.grad
    tensor([0., 0.])
    """
    if model is None:
        return functools.partial(compile, disable=disable)
    if not callable(model):
        raise TypeError(f"compile: {shortened(model)} is not a function")
    return model if disable or isinstance(model, Compiled) else Compiled(model)
