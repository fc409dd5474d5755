"""Tracing: a function of Tensors, run once on shadows, becomes one lowered Function."""

from __future__ import annotations

import functools
from collections import OrderedDict, defaultdict
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np

from numeric import inplace
from numeric.calls import called
from numeric.dtypes import F16, F32, INT64, default
from numeric.function import Function, lower
from numeric.modes import Switch, current
from numeric.plans import Op
from numeric.quiet import SILENCE, noise, set_noise
from numeric.recording import TO, cast, misfit, misfits
from numeric.shadows import Place, Shadow, memory_of, refuse, stand_in
from numeric.sharing import placed, share
from numeric.tensors import Tensor, attach, blank, counter
from symdiff.arrays import broadcast_to, converted
from symdiff.derivative import detach
from symdiff.elementwise import not_equal, where
from symdiff.errors import ShapeError, Unsupported
from symdiff.leaves import as_expr, symbol
from symdiff.locks import fork_safe_lock
from symdiff.reductions import sum as total

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from types import CodeType

    from symdiff.expr import Expr

__all__ = ["compile"]

F = TypeVar("F", bound="Callable[..., Any]")

# Traces that one compiled function keeps: the most recently used ones.
_KEPT = 64
# Of these, for one signature in different surroundings.
_SAME = 8

_KINDS = {"f": float, "b": bool}


class _Done(NamedTuple):
    """What an operation makes: expressions and layouts; ``rest``: of operands after the first."""

    exprs: tuple[Expr, ...]
    layouts: tuple[Any, ...]
    rest: tuple[Expr, ...]
    offsets: tuple[int, ...]  # of views: bytes in memory behind the first operand's beginning


# Operations on expressions, by operation, parameters, expressions and layouts of the operands.
_memory: dict[tuple[Any, ...], _Done] = {}
_REMEMBERED = 4096


def _do(op: Op, operands: Sequence[Any], given: Sequence[Expr], params: tuple[Any, ...]) -> _Done:
    """An operation, on expressions and on stand-ins."""
    tried, exprs = [_tried(x) for x in operands], list(given)
    if op.view:  # how the result lies in memory depends on how the operand does
        tried[0] = _layout(operands[0])
    if op.promotion is not None:
        kind = op.promotion(tried)
        for i, (x, a) in enumerate(zip(operands, tried, strict=True)):
            if isinstance(x, Tensor) and a.dtype != kind:
                exprs[i], tried[i] = converted(exprs[i], a.dtype, kind), a.astype(kind)
    if op is TO:
        exprs[0] = converted(exprs[0], tried[0].dtype, np.dtype(params[0]))
    before = noise()
    try:
        set_noise(SILENCE)
        values = (
            op.bound(tried, params).forward(tried)
            if op.kernel is None
            else op.kernel(*tried, *params)
        )
        ys = rounded(op, exprs, [getattr(a, "dtype", None) for a in tried], params)
    except (Unsupported, NotImplementedError) as error:
        refuse(f"{op.name} has no formula here ({error})")
    except ValueError:
        if not op.pointwise:
            raise
        raise RuntimeError(misfits(op, [np.shape(a) for a in tried])) from None
    finally:
        set_noise(before)
    layouts = tuple([np.asarray(v) for v in (values if op.outputs > 1 else (values,))])
    whole = []
    for y, layout in zip(ys, layouts, strict=True):
        if layout.dtype.kind in "iu" and layout.dtype is not INT64 and not op.view:
            y = converted(y, INT64, layout.dtype)  # sums of narrow integers are wide ones to NumPy
        whole.append(y if y.shape == layout.shape else broadcast_to(y, layout.shape))
    offsets = tuple([_start(v) - _start(tried[0]) for v in layouts]) if op.view else ()
    return _Done(tuple(whole), tuple(map(without_values, layouts)), tuple(exprs[1:]), offsets)


def _start(a: Any) -> int:
    start: int = a.__array_interface__["data"][0]
    return start


def _layout(x: Any) -> Any:
    """An array that lies in memory as an operand does."""
    a = x._array if isinstance(x, Tensor) else x
    return a.layout if isinstance(a, Shadow) else a


def rounded(
    op: Op, exprs: Sequence[Expr], kinds: Sequence[Any], params: tuple[Any, ...]
) -> tuple[Expr, ...]:
    """The results of an operation on operands of these dtypes.

    Half precision is computed in single, and rounded after each operation.
    """
    if op.view or op is TO or op.kinds is not None or F16 not in kinds:
        return op.results(exprs, params)
    wide = [converted(x, F16, F32) if k == F16 else x for x, k in zip(exprs, kinds, strict=True)]
    ys = op.results(wide, params)
    return tuple(converted(y, F32, F16) if y.dtype is float else y for y in ys)


def without_values(layout: Any) -> Any:
    """An array that lies in memory like another, in pages that nobody touches."""
    if layout.flags.c_contiguous or layout.flags.f_contiguous:
        return np.empty_like(layout)
    if not all(s >= 0 for s in layout.strides):
        return layout
    reach = sum((n - 1) * s for n, s in zip(layout.shape, layout.strides, strict=True))
    memory = np.empty(max(reach, 0) + layout.itemsize, np.uint8)
    return np.ndarray(layout.shape, layout.dtype, memory, 0, layout.strides)


@functools.lru_cache(maxsize=4096)
def _numbered(i: int, shape: tuple[int, ...], kind: type) -> Expr:
    """The symbol of the i-th input of a trace."""
    return symbol(f"x{i}", shape, kind)


class Trace:
    """One run of a function on shadows: its arguments, and the tensors that it finds outside."""

    def __init__(self, name: str = "compile", randomness: str = "error") -> None:
        self.name, self.randomness = name, randomness
        self.below: Trace | None = current().tracing
        self.symbols: list[Expr] = []
        self.outer: list[Tensor] = []
        # Conditions that must hold nowhere when it runs, and what to say if one does.
        self.checks: list[tuple[Expr, str]] = []
        self._found: dict[int, Expr] = {}

    # Inputs -----------------------------------------------------------------------------------

    def argument(self, x: Tensor) -> Tensor:
        """What stands for an argument in the run."""
        shadow = Shadow(self, self._symbol(x), without_values(x._array), fixed=True)
        return blank(shadow, x._rg)  # type: ignore[arg-type]

    def _symbol(self, x: Tensor) -> Expr:
        array = x._array
        found = _numbered(len(self.symbols), array.shape, _KINDS.get(array.dtype.kind, int))
        self.symbols.append(found)
        return found

    def expr(self, x: Any) -> Expr:
        """The expression of an operand; a tensor from outside the function becomes an input."""
        array = x._array if isinstance(x, Tensor) else x
        if isinstance(array, Shadow):
            if array.trace is not self:
                refuse("a tensor of another trace is used")
            return array.expr()
        if not isinstance(x, Tensor):
            return as_expr(x)
        if self.knows(x):
            return as_expr(np.array(x._array))
        found = self._found.get(id(x))
        if found is None:
            found = self._found[id(x)] = self._symbol(x)
            self.outer.append(x)
        return found

    # Operations -------------------------------------------------------------------------------

    def apply(self, op: Op, operands: Sequence[Any], params: tuple[Any, ...]) -> Any:
        """As ``recording.apply``: the operation is done on stand-ins, and on expressions."""
        done = self._done(op, operands, params)
        grad = current().grad
        wanted = grad and any(map(_requires, operands))
        first = operands[0]
        parent = None
        if op.view:
            self._shadowed(first)
            parent = first._array if isinstance(first._array, Shadow) else None
        outs = []
        for i, (y, layout) in enumerate(zip(done.exprs, done.layouts, strict=True)):
            real = layout.dtype.kind == "f"
            part = None if parent is None else functools.partial(_part, op, done.rest, params, i)
            fixed = op.view and parent is None
            value = y if grad or not real else detach(y)
            shadow = Shadow(self, value, layout, parent=parent, part=part, fixed=fixed)
            if parent is not None:
                shadow.offset = parent.offset + done.offsets[i]
            rg = real and (wanted or (op.view and _requires(first)))  # views are as their base
            outs.append(blank(shadow, rg))  # type: ignore[arg-type]
        return tuple(outs) if op.outputs > 1 else outs[0]

    def _done(self, op: Op, operands: Sequence[Any], params: tuple[Any, ...]) -> _Done:
        """An operation on expressions, which is remembered: another run will do the same."""
        exprs = [self.expr(x) for x in operands]
        key: list[Any] = [op, params, default()]
        for x, e in zip(operands, exprs, strict=True):
            key.append(e.serial)
            a = x._array if isinstance(x, Tensor) else x
            if isinstance(a, Shadow):
                a = a.layout
            key.append((a.shape, a.strides, a.dtype) if hasattr(a, "strides") else type(a))
        remembered = tuple(key)
        found = _memory.get(remembered)
        if found is None:
            found = _do(op, operands, exprs, params)
            if len(_memory) >= _REMEMBERED:
                _memory.clear()
            _memory[remembered] = found
        return found

    def through(self, name: str, call: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        """A NumPy function of shadows."""
        try:
            values = call(*_mapped(args, self.expr), **_mapped(kwargs, self.expr))
            before = noise()
            try:
                set_noise(SILENCE)
                tried = call(*_mapped(args, Shadow.stand_in), **_mapped(kwargs, Shadow.stand_in))
            finally:
                set_noise(before)
        except (Unsupported, TypeError, ValueError, ShapeError) as error:
            refuse(f"{name} cannot be traced ({error})")
        if isinstance(values, tuple):
            pairs = zip(values, tried, strict=True)
            return tuple(Shadow(self, as_expr(v), np.asarray(t)) for v, t in pairs)
        return Shadow(self, as_expr(values), np.asarray(tried))

    def compare(self, kernel: Callable[..., Any], a: Any, b: Any) -> Tensor:
        """A comparison of two operands, in NumPy's functions."""
        x, y = (
            Shadow(self, self.expr(t), _tried(t)) if isinstance(t, Tensor) else t for t in (a, b)
        )
        try:
            np.broadcast_shapes(np.shape(_tried(a)), np.shape(_tried(b)))
        except ValueError:
            shapes = [np.shape(_tried(t)) for t in (a, b)]
            raise RuntimeError(misfit(kernel.__name__, *shapes)) from None
        return blank(kernel(x, y))

    def write(self, x: Tensor, compute: Callable[[Tensor], Tensor], name: str) -> Tensor:
        """As ``inplace.write``, for what the run itself made."""
        self._shadowed(x)
        shadow: Any = x._array
        if not isinstance(shadow, Shadow):
            refuse(f"{name} changes a tensor from outside the function in place")
        root = shadow.root()
        if root.trace is not self:
            refuse(f"{name} changes a tensor from outside the function in place")
        if root.fixed:
            refuse(f"{name} changes an argument in place")
        inplace.check_memory(shadow, name)
        old = blank(Shadow(self, shadow.expr(), shadow.layout), x._rg)  # type: ignore[arg-type]
        out = compute(old)
        inplace.check_result(x, out, name)
        cuts = shadow.cuts()
        if cuts and (any(cuts) or out._rg):
            refuse(f"{name} changes a detached tensor in place", "clone() it before")
        value = converted(self.expr(out), out._array.dtype, shadow.dtype)
        try:
            shadow.write(broadcast_to(value, shadow.shape))
        except (Unsupported, TypeError, ValueError, ShapeError) as error:
            refuse(f"{name} cannot be traced ({error})")
        x._rg = x._rg or out._rg
        root.grown |= out._rg
        counter(x)[0] += 1
        return x

    def view(self, y: Tensor, of: Tensor, place: Place, lead: int) -> None:
        """Let ``y`` be a view of another tensor, whose leading axes it has, too."""
        self._shadowed(of)
        array: Any = of._array
        shadow: Any = y._array
        if not isinstance(array, Shadow) or array.root().trace is not self:
            shadow.fixed = True  # it belongs to a tensor from outside
            return
        strides = (*array.strides[:lead], *place.strides)
        layout = memory_of(array.layout, shadow.shape, strides, place.offset)
        places = as_expr(inplace.positions(layout, array.layout))
        found = Shadow(
            self, shadow.expr(), layout, parent=array, part=functools.partial(_at, places)
        )
        found.offset = array.offset + place.offset
        y._array = found  # type: ignore[assignment]

    def _shadowed(self, x: Tensor) -> None:
        """Let a constant that the run made be a shadow, that may be written to."""
        if x._traced is self and not isinstance(x._array, Shadow) and x._base is None:
            x._array = Shadow(self, self.expr(x), x._array)  # type: ignore[assignment]

    # Tensors that the run makes ---------------------------------------------------------------

    # An array with data that an operation meets in a run is a constant: what depends on arguments,
    # or is of tensors from outside, is a shadow.  So nobody has to ask where an array comes from.

    def made(self, x: Tensor) -> None:
        """Note a new tensor: with data, it is a constant of the run."""
        if not isinstance(x._array, Shadow):
            x._traced = self

    def knows(self, x: Tensor) -> bool:
        """Whether a tensor with data was made in this run, or in one around it."""
        trace: Trace | None = None if x._traced is None else self
        while trace is not None and trace is not x._traced:
            trace = trace.below
        return trace is not None

    def values(self, x: Tensor) -> Any:
        """The array of a tensor whose numbers are taken: those of one from outside are no data."""
        if isinstance(x._array, Shadow) or self.readable(x):
            return x._array
        return Shadow(self, self.expr(x), without_values(x._array), fixed=True)

    def readable(self, x: Tensor) -> bool:
        """Whether the values of a tensor may decide what the run does."""
        return self.knows(x)

    def drawn(self, shape: tuple[int, ...], fresh: Callable[[tuple[int, ...]], Any]) -> Any:
        """Random numbers that are drawn in the run."""
        if self.randomness != "same":
            refuse(_RANDOM[self.name == "vmap", self.randomness])
        return fresh(shape) if self.below is None else self.below.drawn(shape, fresh)


def counted(checks: Sequence[tuple[Expr, str]]) -> list[Expr]:
    """At how many places each of the conditions holds."""
    return [total(where(x, 1, 0)) for x, _ in checks]


def checked(values: Sequence[Tensor], checks: Sequence[tuple[Expr, str]]) -> None:
    """Raise IndexError if one of the values of ``counted`` is not 0; maybe later, in a trace."""
    for value, (_, text) in zip(values, checks, strict=True):
        array: Any = value._array
        if isinstance(array, Shadow):
            outer = current().tracing
            outer.checks.append((not_equal(outer.expr(value), 0), text))
        elif array.any():
            raise IndexError(text)


_RANDOM = {
    (False, "error"): "random numbers are drawn, which would be the same ones in every call",
    (True, "error"): "called random operation while in randomness error mode: "
    "random numbers are drawn inside; draw them outside, or use randomness='same'",
    (True, "different"): "random numbers are drawn inside; those of randomness='different' have to "
    "be drawn outside, and to be mapped over",
}


def _requires(x: Any) -> bool:
    """Whether an operand requires gradients."""
    if not isinstance(x, Tensor):
        return False
    array: Any = x._array
    return x._rg or (isinstance(array, Shadow) and array.requires())


def _tried(x: Any) -> Any:
    if isinstance(x, Tensor):
        x = x._array
        return x.stand_in() if isinstance(x, Shadow) else stand_in(x)
    return x.stand_in() if isinstance(x, Shadow) else x


def _part(op: Op, rest: tuple[Expr, ...], params: tuple[Any, ...], i: int, x: Expr) -> Expr:
    return op.results([x, *rest], params)[i]


def _at(places: Expr, x: Expr) -> Expr:
    return inplace.part(x, places)


def _mapped(given: Any, function: Callable[[Shadow], Any]) -> Any:
    if isinstance(given, Shadow):
        return function(given)
    if isinstance(given, list | tuple):
        return type(given)(_mapped(x, function) for x in given)
    if isinstance(given, dict):
        return {key: _mapped(x, function) for key, x in given.items()}
    return given


# Nested structures ------------------------------------------------------------------------------


class _Leaf(NamedTuple):
    """The place of a tensor in a structure."""

    place: int


def _flat(tree: Any, tensors: list[Tensor]) -> Any:
    """The structure with places instead of tensors, which are added to the list."""
    if isinstance(tree, Tensor):
        tensors.append(tree)
        return _Leaf(len(tensors) - 1)
    if isinstance(tree, dict):
        return _dict_like(tree, {key: _flat(x, tensors) for key, x in tree.items()})
    if isinstance(tree, list | tuple):
        return _like(tree, [_flat(x, tensors) for x in tree])
    return tree


def _filled(tree: Any, tensors: Sequence[Any]) -> Any:
    if isinstance(tree, _Leaf):
        return tensors[tree.place]
    if isinstance(tree, dict):
        return _dict_like(tree, {key: _filled(x, tensors) for key, x in tree.items()})
    if isinstance(tree, list | tuple):
        return _like(tree, [_filled(x, tensors) for x in tree])
    return tree


def _dict_like(tree: Any, items: dict[Any, Any]) -> Any:
    kind = type(tree)
    if kind is dict:
        return items
    if issubclass(kind, defaultdict):
        return kind(tree.default_factory, items)
    return kind(items)


def _like(tree: Any, items: list[Any]) -> Any:
    kind = type(tree)
    return kind(*items) if hasattr(tree, "_fields") else kind(items)


def _key(tree: Any) -> Any:
    """A hashable stand-in of a structure: equal for arguments that may share a trace."""
    if isinstance(tree, _Leaf):
        return tree
    if isinstance(tree, dict):
        return ("dict", *((k, _key(x)) for k, x in tree.items()))
    if isinstance(tree, list | tuple):
        return (type(tree), *map(_key, tree))
    if isinstance(tree, np.ndarray):
        return ("array", tree.shape, tree.dtype, tree.tobytes())
    if isinstance(tree, float):
        return (float, tree.hex())
    try:
        hash(tree)
    except TypeError:
        return _Same(tree)
    return (type(tree), tree)


class _Same:
    """Equal for one object only, which it keeps alive."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __hash__(self) -> int:
        return id(self.value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and self.value is other.value


# What a function sees besides its arguments -----------------------------------------------------

_DEPTH, _SEEN = 5, 2000


def _surroundings(fn: Any) -> dict[Any, Any]:
    """What the function finds in closures, globals, defaults and objects: tensors and numbers.

    They are by the way on which they are found.  If one is another in the next call, the function
    is traced again; except for those that the function itself changes while it is traced.
    """
    found: dict[Any, Any] = {}
    seen: set[int] = set()
    stack: list[tuple[Any, Any, int]] = [((), fn, 0)]
    while stack and len(seen) < _SEEN:
        way, x, depth = stack.pop()
        if isinstance(x, bool | int | str | float | complex | None):
            found[way] = _key(x)
            continue
        if id(x) in seen or isinstance(x, type):
            continue
        seen.add(id(x))
        if isinstance(x, Tensor):
            found[way] = _Same(x), x._array.shape, x._array.dtype
        elif depth < _DEPTH:
            stack += [((way, name), y, depth + 1) for name, y in _inside(x)]
    return found


def _inside(x: Any) -> Iterator[tuple[Any, Any]]:
    if isinstance(x, dict):
        yield from ((_key(k), y) for k, y in x.items())
    elif isinstance(x, list | tuple):
        yield from enumerate(x)
    elif isinstance(x, functools.partial):
        yield from (("func", x.func), ("args", x.args), ("keywords", x.keywords))
    elif hasattr(x, "__func__"):
        yield from (("func", x.__func__), ("self", x.__self__))
    elif hasattr(x, "__code__"):
        if str(x.__module__ or "").partition(".")[0] in ("numeric", "symdiff", "numpy"):
            return
        for i, cell in enumerate(x.__closure__ or ()):
            try:
                yield i, cell.cell_contents
            except ValueError:  # not yet filled
                continue
        yield from (("defaults", x.__defaults__), ("kwdefaults", x.__kwdefaults__))
        yield from ((n, x.__globals__[n]) for n in _names(x.__code__) if n in x.__globals__)
    elif hasattr(x, "__dict__") and not hasattr(x, "__path__") and not hasattr(x, "__spec__"):
        yield from vars(x).items()
        if callable(x):
            yield "call", type(x).__call__


@functools.lru_cache(maxsize=1024)
def _names(code: CodeType) -> tuple[str, ...]:
    """The global names in a function's code, and in that of functions inside it."""
    inner = [_names(c) for c in code.co_consts if isinstance(c, type(code))]
    return tuple(dict.fromkeys([*code.co_names, *chain.from_iterable(inner)]))


# Compiling --------------------------------------------------------------------------------------


class _Traced(NamedTuple):
    """What a trace left: the Function, tensors from outside, and how results are made of it."""

    function: Function | None
    outer: list[Tensor]
    # For each tensor "output", "argument" or "outer"; its place, or the tensor; dtype and flag.
    results: list[tuple[str, Any, Any]]
    structure: Any
    places: list[tuple[int, int, Place]]  # of results that are views
    checks: list[tuple[Expr, str]]
    guard: dict[Any, Any]  # what must be as it was when the function was traced


class Compiled:
    """A function of Tensors that runs as lowered Functions, one for each signature."""

    def __init__(self, fn: Callable[..., Any]) -> None:
        self._fn = fn
        self._lock = fork_safe_lock()
        self._traces: OrderedDict[tuple[Any, int], _Traced] = OrderedDict()
        functools.update_wrapper(self, fn, updated=())

    def __copy__(self) -> Compiled:
        return self  # as functions are copied

    def __deepcopy__(self, memo: dict[int, Any]) -> Compiled:
        return self

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else functools.partial(self, instance)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The function's results, by the trace for these arguments."""
        if current().tracing is not None:
            return self._fn(*args, **kwargs)
        tensors: list[Tensor] = []
        structure = _flat((args, kwargs), tensors)
        key = (
            _key(structure),
            tuple([(x._array.shape, x._array.strides, x._array.dtype, x._rg) for x in tensors]),
            tuple([next(i for i, y in enumerate(tensors) if y is x) for x in tensors]),
            (current().grad, default()),
        )
        around = _surroundings((self._fn, structure))
        traced = self._known(key, around)
        if traced is None:
            traced = self._trace(structure, tensors, around)
            with self._lock:
                place = next(
                    i for i in range(_SAME) if (key, i) not in self._traces or i == _SAME - 1
                )
                self._traces[key, place] = traced
                if len(self._traces) > _KEPT:
                    self._traces.popitem(last=False)
        return _run(traced, tensors)

    def _known(self, key: Any, around: dict[Any, Any]) -> _Traced | None:
        """The trace for a signature, in surroundings like these."""
        with self._lock:
            for i in range(_SAME):
                traced = self._traces.get((key, i))
                if traced is not None and all(
                    around.get(way) == value for way, value in traced.guard.items()
                ):
                    self._traces.move_to_end((key, i))
                    return traced
        return None

    def _trace(self, structure: Any, tensors: Sequence[Tensor], around: dict[Any, Any]) -> _Traced:
        trace = Trace()
        stand_ins: dict[int, Tensor] = {}
        for x in tensors:
            if id(x) not in stand_ins:
                stand_ins[id(x)] = trace.argument(x)
        given = [stand_ins[id(x)] for x in tensors]
        args, kwargs = _filled(structure, given)
        with Switch(tracing=trace):
            answer = self._fn(*args, **kwargs)
            outs: list[Tensor] = []
            tree = _flat(answer, outs)
            results: list[tuple[str, Any, Any]] = []
            exprs: list[Expr] = []
            for y in outs:
                place = next((i for i, x in enumerate(given) if x is y), None)
                if place is not None:
                    results.append(("argument", place, None))
                elif not isinstance(y._array, Shadow) and y._traced is None:
                    results.append(("outer", y, None))
                else:
                    results.append(("output", len(exprs), (y._array.dtype, _requires(y))))
                    exprs.append(trace.expr(y))
        exprs += counted(trace.checks)
        function = lower(exprs, trace.symbols) if exprs else None
        after = _surroundings((self._fn, structure))
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
            y = values[what] if recorded else values[what].detach()
            outs.append(y if y._array.dtype == dtype else cast(y, dtype))
        else:
            outs.append(what if kind == "outer" else tensors[what])
    share(outs, unique, traced.places)
    return _filled(traced.structure, outs)


def compile(  # PyTorch's name
    model: Any = None,
    *,
    fullgraph: bool = False,
    dynamic: Any = None,
    backend: Any = None,
    mode: Any = None,
    options: Any = None,
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
        raise TypeError(f"compile: {model!r} is not a function")
    return model if disable or isinstance(model, Compiled) else Compiled(model)


# What needs values ------------------------------------------------------------------------------


def _guarded(name: str, function: F) -> F:
    """A method that reads the values of a tensor: of one from outside, no trace may keep them."""

    @functools.wraps(function)
    def method(self: Tensor, *args: Any, **kwargs: Any) -> Any:
        trace = current().tracing
        if trace is not None and not trace.readable(self):
            branch = ", in data-dependent control flow" if name == "__bool__" else ""
            refuse(f"the values of a tensor are needed ({name}){branch}")
        return function(self, *args, **kwargs)

    return method  # type: ignore[return-value]


for _name in (
    *("__bool__", "__float__", "__int__", "__index__", "__complex__", "__array__", "__contains__"),
    *("item", "tolist", "numpy"),
):
    if hasattr(Tensor, _name):
        attach(_name, _guarded(_name, getattr(Tensor, _name)))
