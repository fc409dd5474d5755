"""``compile``: trace a function of Tensors once per signature, and run lowered Functions."""

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

# The number of most recently used traces that one compiled function caches.
_KEPT = 64
# The number of traces among them for one signature in different surroundings.
_SAME = 8


class _Traced(NamedTuple):
    """The outcome of a trace: the Function, tensors from outside, and a recipe for results."""

    function: Function | None
    outer: list[Tensor]
    # For each result "output", "argument" or "outer"; its place, or the tensor; dtype and flag.
    results: list[tuple[str, Any, Any]]
    structure: object
    places: list[tuple[int, int, Place]]  # the places of views in their bases
    checks: list[tuple[Expr, Exception]]
    guard: dict[object, object]  # the values of surroundings for which the trace holds


class Compiled:
    """A function of Tensors that runs as lowered Functions, one for each signature."""

    def __init__(self, fn: Callable[..., object]) -> None:
        self._fn = fn
        self._lock = fork_safe_lock()
        self._traces: OrderedDict[tuple[object, int], _Traced] = OrderedDict()
        functools.update_wrapper(self, fn, updated=())

    def __copy__(self) -> Compiled:
        return self  # copy and deepcopy return functions themselves, too

    def __deepcopy__(self, memo: dict[int, object]) -> Compiled:
        return self

    def __get__(self, instance: object, owner: object = None) -> Any:
        return self if instance is None else functools.partial(self, instance)

    def __call__(self, *args: object, **kwargs: object) -> Any:
        """Return the function's results by the trace for these arguments."""
        if current().tracing is not None:  # inline it into the outer trace
            return self._fn(*args, **kwargs)
        structure, tensors = flat((args, kwargs))
        signature = (
            key(structure),
            tuple([(x._array.shape, x._array.strides, x._array.dtype, x._rg) for x in tensors]),
            # Arguments that are the same tensor are one input.
            tuple([next(i for i, y in enumerate(tensors) if y is x) for x in tensors]),
            (current().grad, default()),
        )
        around = surroundings((self._fn, structure))
        traced = self._known(signature, around)
        if traced is None:
            traced = self._trace(structure, tensors, around)
            # Lock only the table: the user's function may take long, or call this one.
            with self._lock:
                place = next(
                    i for i in range(_SAME) if (signature, i) not in self._traces or i == _SAME - 1
                )
                # When all places are in use, the newest trace replaces the last one.
                self._traces[signature, place] = traced
                if len(self._traces) > _KEPT:
                    self._traces.popitem(last=False)
        return _run(traced, tensors)

    def _known(self, signature: object, around: dict[object, object]) -> _Traced | None:
        """Return a trace for a signature in equal surroundings, or None."""
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
        arguments = [stand_ins[id(x)] for x in tensors]
        args, kwargs = filled(structure, arguments)
        with Switch(tracing=trace):
            answer = self._fn(*args, **kwargs)
            tree, outs = flat(answer)
            results: list[tuple[str, Any, Any]] = []
            exprs: list[Expr] = []
            for y in outs:
                place = next((i for i, x in enumerate(arguments) if x is y), None)
                # A result that is an argument, or existed before the run, is that very tensor in
                # each call, and no output of the Function.
                if place is not None:
                    results.append(("argument", place, None))
                elif not isinstance(y._array, Shadow) and not trace.knows(y):
                    results.append(("outer", y, None))
                else:
                    results.append(("output", len(exprs), (y._array.dtype, requires(y))))
                    exprs.append(trace.expr(y))
        # Append the checks to the results, so that one call computes both.
        exprs += counted(trace.checks)
        function = lower(exprs, trace.symbols) if exprs else None
        # Leave out surroundings that the function itself changes, as a counter of calls: a guard on
        # them would fail in every call.
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
        """The Functions of the cached traces."""
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
            # The call is one recorded operation.  Detach the results that required no gradients
            # in the trace.
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
    """Trace ``model`` into one lowered Function for each signature; also a decorator.

    The function runs once on tensors without data.  Its operations become one expression, lowered
    with its derivative, and each call is one recorded operation.

    A signature has the shapes, dtypes and ``requires_grad`` of tensors, and the values of all other
    arguments.  It also has the objects that the function reads from closures, globals and
    attributes.  Tensors among these are inputs with their values at the call.  NumPy arrays are
    constants.

    Other keywords of PyTorch have no effect, except ``disable``, which returns ``model`` itself.

    A call raises RuntimeError if values of tensors decide the control flow, if the function changes
    arguments or tensors from outside in place, and if it draws random numbers.  The message names
    the line of the user's code.

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
