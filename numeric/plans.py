"""Operations of Tensors: each is one declaration, whose derivative comes from its symdiff op.

An ``Op`` names the expression that it computes.  For the shapes of its operands the expression is
built over placeholders, pulled back by the rules of ``symdiff`` and lowered, once, to a closure of
what has to be saved; which operands or results these are is read off the formula.  Where a record
of the backward pass is asked for, the pullback is an operation itself, declared by its own formula,
so that it has a pullback too, and so on to any order.
"""

from __future__ import annotations

from itertools import repeat
from typing import TYPE_CHECKING, Any

import numpy as np

from numeric.dtypes import promoted, promoted_real
from numeric.graph import Node
from numeric.lowering.contraction import in_order
from numeric.lowering.emit import NUMPY, Emitter
from numeric.lowering.kernels import WEAK
from numeric.lowering.programs import Lowered
from symdiff import ops
from symdiff.algebra import PRIMITIVES, int_power, mul
from symdiff.errors import ShapeError, Unsupported
from symdiff.expr import Expr, rebuild
from symdiff.leaves import as_expr, full, is_zero, named_dummy
from symdiff.locks import fork_safe_lock
from symdiff.marks import NONE, Flow
from symdiff.node import topological
from symdiff.rules import pullback

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

# What the pullback is written in: the operands, or the results where that is possible.
INPUTS, RESULT = "inputs", "result"

_WHERE = PRIMITIVES["where"]

# As rules mark a cotangent whose zeros must survive infinite partials.
_MARKED = 2

# Shapes that are remembered for one op; a loop over ever new shapes must not fill the memory.
_KNOWN = 4096

_lock = fork_safe_lock()

# Nodes whose kernels are ufuncs, or made of them: their values are new memory, whatever the layout
# of the operands.  Kernels of other nodes may hand out views, and arrays that they were given.
_FRESH = (ops.Pointwise, ops.Sum, ops.Product)


# The ops that modules declare, by the names that pickles have for them.  A name says nothing of the
# module, so that a pickle stays valid when an op moves, and it must be unique for good.
DECLARED: dict[str, Op] = {}


class Op:
    """An operation.

    Args:
        name: in snake case; the node's class is its camel case with ``Backward0``.
        build: the expression of the result, a tuple for several results, from the expressions of
            the operands and the parameters.
        kernel: the same on arrays, which makes new memory (or views, for a ``view``); without
            one the expression is lowered.
        saves: RESULT where PyTorch saves results and the pullback can be written in them.
        pointwise: elementwise with NumPy's broadcasting.
        promotion: the common dtype of the operands; None leaves each its own.
        label: the class name of the node, where it is another one.
        outputs: the number of results; more than one make a tuple.
        view: results share the memory of the first operand.
        reuse: from operands, stand-ins of results and parameters, to expressions by node:
            identities beside ``result = stand-in`` that express the pullback in results.
        numbers: Python numbers count as operands, as in ``next_functions``.
        stretches: axes of length 1 may be stretched, so that formulas depend on which they are.
        concrete: axis lengths go into the formula as numbers, as letters cannot express them.
        holds: operands that PyTorch saves and so watches for changes, needed or not.
        kinds: the dtypes of the results, where the operands' do not say it.
        partial: pullbacks leave out results that nothing came back to, instead of taking zeros for
            them: for terms that may be infinite, or cost much.
        variant: what tells the op from another one with its name and label.
        origin: for an op that is made while a program runs: how another process makes it again, a
            function and its arguments, or (weakly) the Function that it calls.  Ops without one
            are declared by a module, once, and stay.

    Raises ValueError for the second declaration of an op.
    """

    def __init__(
        self,
        name: str,
        build: Callable[..., Any],
        kernel: Callable[..., Any] | None = None,
        *,
        saves: str = INPUTS,
        pointwise: bool = False,
        promotion: Callable[[Iterable[Any]], np.dtype[Any]] | None = promoted,
        label: str | None = None,
        outputs: int = 1,
        view: bool = False,
        reuse: Callable[..., Mapping[Expr, Expr]] | None = None,
        concrete: bool = False,
        numbers: bool = False,
        stretches: bool = True,
        holds: tuple[int, ...] = (),
        partial: bool = False,
        kinds: tuple[np.dtype[Any], ...] | None = None,
        variant: str = "",
        origin: Any = None,
    ) -> None:
        self.kinds = kinds
        self.name, self.build, self.kernel, self.saves = name, build, kernel, saves
        self.pointwise, self.promotion, self.view = pointwise, promotion, view
        self.outputs, self.reuse, self.concrete = outputs, reuse, concrete
        self.stretches = stretches
        self.holds, self.real = holds, promotion is promoted_real
        label = label or "".join(map(str.capitalize, name.split("_"))) + "Backward0"
        space = {"__slots__": (), "op": self, "outputs": outputs, "numbers": numbers}
        space["partial"] = partial
        space["__module__"] = __name__
        self.node: type[Node] = type(label, (Node,), space)
        self.short: Callable[[Any, Any], Any] = None  # type: ignore[assignment]  # see ``recording``
        self.bounds: dict[Any, Bound] = {}
        self.patterns: dict[Any, Pattern] = {}
        self.key, self.origin = ":".join(filter(None, (name, label, variant))), origin
        if origin is None and DECLARED.setdefault(self.key, self) is not self:
            raise ValueError(f"an op {self.key} is declared already: give this one a variant")

    def __repr__(self) -> str:
        return f"<Op {self.name}>"

    def bound(self, arrays: Sequence[Any], params: tuple[Any, ...] = ()) -> Bound:
        """What belongs to these parameters, shapes and dtypes of operands."""
        key = (
            params,
            *[(a.shape, a.dtype.char) if a.__class__ is np.ndarray else None for a in arrays],
        )
        found = self.bounds.get(key)
        if found is None:
            with _lock:
                found = self.bounds.get(key)
                if found is None:
                    found = self._found(arrays, params)
                    if len(self.bounds) >= _KNOWN:
                        self.bounds.clear()
                    self.bounds[key] = found
        return found

    def _found(self, arrays: Sequence[Any], params: tuple[Any, ...]) -> Bound:
        """The same, looked for by less than exact shapes."""
        if not (self.pointwise and _uniform(arrays)):
            return self._bind(arrays, params)
        # One for each dtype, though formulas are the same: what is known of results holds for it.
        kind = next(a.dtype.char for a in arrays if a.__class__ is np.ndarray)
        key = (params, kind, *[a.__class__ is np.ndarray for a in arrays])
        found = self.bounds.get(key)
        if found is None:
            found = self.bounds[key] = self._bind(arrays, params)
        return found

    def _bind(self, arrays: Sequence[Any], params: tuple[Any, ...]) -> Bound:
        if self.pointwise and _uniform(arrays):
            return Bound(self._pattern(params, [()] * len(arrays), arrays), {}, None, None)
        shapes: list[Any] = [np.shape(a) for a in arrays]
        letters, sizes = _letters(shapes, self.stretches)
        pattern = None
        if not self.concrete:
            try:
                pattern = self._pattern(params, letters, arrays)
            except (Unsupported, ShapeError, ValueError, TypeError, IndexError):
                pattern = None  # its result's shape, or the op itself, needs the lengths
        if pattern is None:
            pattern, sizes = self._pattern(params, shapes, arrays), {}
        kinds = [a.dtype if a.__class__ is np.ndarray else None for a in arrays]
        return Bound(pattern, sizes, shapes, kinds)

    def _pattern(
        self, params: tuple[Any, ...], shapes: Sequence[Any], arrays: Sequence[Any]
    ) -> Pattern:
        kinds = tuple(_kind(a) for a in arrays)
        key = (params, tuple(shapes), kinds)
        found = self.patterns.get(key)
        if found is None:
            if len(self.patterns) >= _KNOWN:
                self.patterns.clear()
            xs = [
                named_dummy(f"x{i}", s, k)
                for i, (s, k) in enumerate(zip(shapes, kinds, strict=True))
            ]
            found = self.patterns[key] = Pattern(self, params, xs, self.results(xs, params))
        return found

    def results(self, operands: Sequence[Expr], params: tuple[Any, ...]) -> tuple[Expr, ...]:
        """The expressions of the results, always a tuple."""
        ys = self.build(*operands, *params)
        return tuple(as_expr(y) for y in (ys if isinstance(ys, tuple | list) else (ys,)))


def _uniform(arrays: Sequence[Any]) -> bool:
    """Whether the arrays have one shape and one real dtype."""
    shape = kind = None
    for a in arrays:
        if a.__class__ is np.ndarray:
            if kind is None:
                shape, kind = a.shape, a.dtype
            elif a.shape != shape or a.dtype is not kind:
                return False
    return kind is not None and kind.kind == "f"


def _kind(a: Any) -> type:
    d = a.dtype.kind if a.__class__ is np.ndarray else None
    return float if d in ("f", None) else bool if d == "b" else int


def _letters(
    shapes: Sequence[tuple[int, ...]], stretches: bool
) -> tuple[list[tuple[Any, ...]], dict[str, int]]:
    """Shapes with a letter per length, equal lengths getting equal letters.

    Lengths 0 and 1 stay numbers where axes of length 1 may be stretched.
    """
    names: dict[int, str] = {}
    least = 2 if stretches else 0
    out = [
        tuple([names.setdefault(n, f"n{len(names)}") if n >= least else n for n in shape])
        for shape in shapes
    ]
    return out, {name: n for n, name in names.items()}


class Pattern:
    """An op on operands of given shapes, as expressions; lengths may be letters."""

    def __init__(
        self, op: Op, params: tuple[Any, ...], xs: Sequence[Expr], ys: tuple[Expr, ...]
    ) -> None:
        self.op, self.params, self.xs, self.ys = op, params, tuple(xs), ys
        self.pulled: dict[Any, Pulled] = {}
        self._forward: Callable[..., Any] | None = None

    def forward(self) -> Callable[..., Any]:
        """The results, as a function of the operands and the lengths of letters."""
        if self._forward is None:
            self._forward = _lowered("forward", self.xs, self.ys)
        return self._forward

    def pullback(
        self, mask: tuple[bool, ...], marked: bool, absent: tuple[int, ...] = ()
    ) -> Pulled:
        """The pullback to the operands of ``mask``, of the results that are not ``absent``."""
        key = (mask, marked, absent)
        found = self.pulled.get(key)
        if found is None:
            with _lock:
                found = self.pulled.get(key)
                if found is None:
                    found = self.pulled[key] = Pulled(self, mask, marked, absent)
        return found


class Pulled:
    """A pullback: what it needs (``keeps``: places of operands, then of results), and a closure."""

    def __init__(
        self, pattern: Pattern, mask: tuple[bool, ...], marked: bool, absent: tuple[int, ...] = ()
    ) -> None:
        op, xs, ys = pattern.op, pattern.xs, pattern.ys
        self.pattern, self.mask, self.marked, self.absent = pattern, mask, marked, absent
        stand_ins, gs, flows = cotangents(op, xs, ys, mask, marked, pattern.params, absent)
        wanted = [x for x, m in zip(xs, mask, strict=True) if m]
        # None: the cotangent is zero whatever comes in.
        self.exprs = [None if f is None else f.expr for f in flows]
        # Zeros are marked below a selection, also where none of its operands is selected.
        chooses = any(y.op is _WHERE for y in topological(ys))
        marks = [chooses if f is None else f.mark != NONE for f in flows]
        self.marks = marks if any(marks) else None
        known = [e for e in self.exprs if e is not None]
        used = {x for x in topological(known) if isinstance(x.op, ops.Symbol)} if known else set()
        places = [*xs, *stand_ins]
        # A result that PyTorch saves is watched for changes, also where the formula needs none.
        if op.saves == RESULT and op.outputs == 1:
            used.update(stand_ins)
        used.update(xs[i] for i in op.holds if mask[i])
        keeps = tuple(i for i, x in enumerate(places) if x in used)
        if marked or absent:  # nodes save before they know which of these will run
            unmarked: tuple[int, ...] = pattern.pullback(mask, False).keeps
            assert set(keeps) <= set(unmarked), f"{op}: another pullback needs more"
            keeps = unmarked
        self.keeps: tuple[int, ...] = keeps
        params = [*(places[i] for i in self.keeps), *gs]
        outputs = [
            full(x.shape, 0) if e is None else e for e, x in zip(self.exprs, wanted, strict=True)
        ]
        self.function = _lowered("pullback", params, outputs)
        self.pointwise = not any(x.shape for x in xs) and all(
            e is not None and any(g in _symbols(e) for g in gs) for e in self.exprs
        )
        self._derived: dict[Any, tuple[Op, list[int], list[bool]]] = {}
        self.places = places
        self.gs = gs
        # Cotangents of results that go through as they are, by operand.
        self.through = {k: i for k, e in enumerate(self.exprs) for i, g in enumerate(gs) if e is g}
        if op.pointwise and self.pointwise:
            self.pointwise = self._keeps_single()

    def _keeps_single(self) -> bool:
        """Whether cotangents in single precision stay so; a constant in the formula may be double.

        What has no gradient may be a number instead of an array.
        """
        one = np.ones(1, np.float32)
        for other in (one, 2.0):
            values = [other if i < len(self.mask) and not self.mask[i] else one for i in self.keeps]
            with np.errstate(all="ignore"):
                out = self.function(*values, *([one] * len(self.gs)), {})
            if any(getattr(v, "dtype", one.dtype) != one.dtype for v in out):
                return False
        return True

    def derived(self, k: int, kind: Any = None) -> tuple[Op, list[int], list[bool]]:
        """The pullback to the k-th operand of the mask as an operation, and what it takes.

        Its operands are those of ``[*kept, *gs]`` that its formula contains, given by place.  The
        last item says which of them it has a derivative by.  ``kind`` is the dtype of the k-th
        operand, of an operation whose formula says itself what is converted to what.
        """
        found = self._derived.get((k, kind))
        if found is None:
            with _lock:
                found = self._derived.get((k, kind))
                if found is None:
                    found = self._derived[k, kind] = _derived(self, k, kind)
        return found


def _symbols(e: Expr) -> set[Expr]:
    return {x for x in topological([e]) if isinstance(x.op, ops.Symbol)}


def cotangents(
    op: Op,
    xs: Sequence[Expr],
    ys: Sequence[Expr],
    mask: Sequence[bool],
    marked: bool,
    params: tuple[Any, ...],
    absent: tuple[int, ...] = (),
) -> tuple[list[Expr], list[Expr], list[Flow | None]]:
    """Stand-ins of the results, cotangents of the results, and those of the operands of ``mask``.

    The cotangents of ``absent`` results count as 0.
    Where the op saves its results, they appear in the latter as their stand-ins.
    """
    stand_ins = [named_dummy(f"y{i}", y.shape, y.dtype) for i, y in enumerate(ys)]
    gs = [named_dummy(f"g{i}", y.shape, float) for i, y in enumerate(ys)]
    wanted = [x for x, m in zip(xs, mask, strict=True) if m]
    mark = _MARKED if marked else NONE
    seeds = [Flow(full(g.shape, 0) if i in absent else g, mark) for i, g in enumerate(gs)]
    flows = pullback(list(ys), wanted, seeds)
    if op.saves == RESULT:
        known = dict(zip(ys, stand_ins, strict=True))
        if op.reuse is not None:
            known |= op.reuse(*xs, *stand_ins, *params)
        flows = [None if f is None else Flow(replaced(f.expr, known), f.mark) for f in flows]
    return stand_ins, gs, flows


def replaced(expr: Expr, known: Mapping[Expr, Expr]) -> Expr:
    """``expr`` with nodes replaced by expressions of the same shape."""
    done: dict[Expr, Expr] = {}
    for node in topological([expr]):
        stand_in = known.get(node)
        if stand_in is None and isinstance(node.op, ops.Product) and len(node.args) == 2:
            # A power that is known may be a factor beside the cotangent.
            powers = [int_power(x, p) for x, p in zip(node.args, node.op.exponents, strict=True)]
            if any(p in known for p in powers):
                factors = zip(powers, node.args, node.op.exponents, strict=True)
                a, b = (known.get(p, int_power(done[x], n)) for p, x, n in factors)
                stand_in = mul(a, b)
        if stand_in is None:
            stand_in = rebuild(node, tuple([done[x] for x in node.args]))
        done[node] = stand_in
    return done[expr]


# Their recorded pullbacks depend on what they keep, as PyTorch's do, with derivative 0.
_DEPENDING = frozenset({"abs", "leaky_relu", "relu"})


def _derived(pulled: Pulled, k: int, kind: Any) -> tuple[Op, list[int], list[bool]]:
    """An op whose formula is made anew for the shapes it meets: from the pulled back op's own.

    Its parameter are the shapes of the operands that were pulled back to, None where all operands
    have the one shape of its own.
    """
    like, parent = pulled.pattern, pulled.pattern.op
    expr = pulled.exprs[k]
    assert expr is not None
    used = _symbols(expr)
    arity = len(pulled.places)
    # Places of operands, results and cotangents, one after the other.
    taken = [i for i in pulled.keeps if pulled.places[i] in used]
    taken += [arity + i for i, g in enumerate(pulled.gs) if g in used]
    kept = [*pulled.keeps, *range(arity, arity + len(pulled.gs))]

    def build(*args: Any) -> Expr:
        *exprs, shapes = args
        if shapes is None:
            shapes = [exprs[0].shape] * len(like.xs)
        xs = [
            named_dummy(f"x{i}", shape, x.dtype)
            for i, (shape, x) in enumerate(zip(shapes, like.xs, strict=True))
        ]
        ys = parent.results(xs, like.params)
        stand_ins, gs, flows = cotangents(
            parent, xs, ys, pulled.mask, pulled.marked, like.params, pulled.absent
        )
        flow = flows[k]
        assert flow is not None
        places = [*xs, *stand_ins, *gs]
        return replaced(flow.expr, {places[i]: e for i, e in zip(taken, exprs, strict=True)})

    op = Op(
        f"{parent.name}_backward",
        build,
        pointwise=parent.pointwise and pulled.pointwise,
        promotion=None,
        label=_label(parent, expr),
        concrete=True,
        kinds=None if kind is None else (kind,),
        origin=(pulled, k, kind),
    )
    places = [*pulled.places, *pulled.gs]
    seed = Flow(named_dummy("g", expr.shape, float), NONE)
    flows = pullback([expr], [places[i] for i in taken], [seed])
    smooth = [
        parent.name in _DEPENDING or (flow is not None and not is_zero(flow.expr)) for flow in flows
    ]
    return op, [kept.index(i) for i in taken], smooth


def _label(parent: Op, e: Expr | None) -> str:
    """The name of a recorded pullback, after what it computes."""
    op = None if e is None else e.op
    if parent.pointwise or isinstance(op, ops.Product):
        return "NegBackward0" if parent.name == "neg" else "MulBackward0"
    if isinstance(op, ops.Contract):
        return "MmBackward0" if len(e.args) == 2 else "SumBackward1"  # type: ignore[union-attr]
    base = parent.node.__name__
    return (base[: -len("0")] if base[-1].isdigit() else base) + "Backward0"


def _lowered(name: str, params: Sequence[Expr], outputs: Sequence[Expr]) -> Callable[..., Any]:
    outputs = [in_order(y) for y in outputs]
    program = Lowered(Emitter(), name, params, outputs, [True] * len(outputs), "")
    return program.program(NUMPY).function


class Bound:
    """A pattern with lengths for its letters; ``shapes`` is None where all operands are alike."""

    __slots__ = ("fits", "fresh", "kinds", "pattern", "pullbacks", "results", "shapes", "sizes")

    def __init__(
        self,
        pattern: Pattern,
        sizes: dict[str, int],
        shapes: Sequence[Any] | None,
        kinds: Sequence[Any] | None,
    ) -> None:
        self.pattern, self.sizes, self.shapes, self.kinds = pattern, sizes, shapes, kinds
        self.pullbacks: dict[tuple[bool, ...], Pullback] = {}
        self.results: list[tuple[tuple[int, ...], Any]] = []  # once known: shapes and dtypes
        # Whether the program gives what is asked for: right shapes and dtypes; new memory, too.
        self.fits = self.fresh = False

    def forward(self, arrays: Sequence[Any]) -> Any:
        """The results on arrays: a value, or a tuple of several."""
        op = self.pattern.op
        if op.kernel is not None:
            return op.kernel(*arrays, *self.pattern.params)
        values = self.pattern.forward()(*arrays, self.sizes)
        if self.fresh:
            return values[0]
        if not self.fits:
            values = self._fitted(arrays, values)
        if op.view:
            return values[0] if op.outputs == 1 else tuple(values)
        # Kernels may hand out views of their operands, or the operands themselves.
        if op.outputs == 1:
            (value,) = values
            return np.array(value) if _shared(value, arrays) else value
        return tuple([np.array(value) if _shared(value, arrays) else value for value in values])

    def direct(self) -> Callable[..., tuple[Any, ...]] | None:
        """The program itself, of operands and {}, once its only result is known to need nothing."""
        return self.pattern.forward() if self.fresh and self.shapes is None else None

    def _fitted(self, arrays: Sequence[Any], values: Sequence[Any]) -> list[Any]:
        """Results of a program as arrays of the shapes and dtypes that they should have.

        Programs give Python numbers for constants, and doubles where formulas contain some.  What
        this is bound to, shapes and dtypes of operands, decides whether they do: it is noted where
        values need nothing, so that they are not looked at again.
        """
        op = self.pattern.op
        given = [a for a in arrays if a.__class__ is np.ndarray]
        real = [a.dtype for a in given if a.dtype.kind == "f"]
        kind = np.result_type(*real) if real else None
        out: list[Any] = []
        kinds = repeat(kind) if op.kinds is None else op.kinds
        for value, y, kind in zip(values, self.pattern.ys, kinds, strict=False):
            shape = given[0].shape if self.shapes is None else self._length(y.shape)
            array = _filled(value, shape, kind if y.dtype is float or op.kinds else None)
            out.append(np.array(array) if any(array is a for a in out) else array)
        # Python numbers among the operands may change the dtype of what is made of integers.
        if len(real) == len(given) or len(given) == len(arrays):
            self.fits = all(map(_same, out, values))
            self.fresh = self.fits and op.outputs == 1 and isinstance(self.pattern.ys[0].op, _FRESH)
            if self.shapes is None:  # other shapes than these fit if programs broadcast
                self.fits = self.fresh
        return out

    def _length(self, shape: Any) -> tuple[int, ...]:
        return tuple([self.sizes[d] if isinstance(d, str) else d for d in shape])

    def pullback(self, mask: tuple[bool, ...]) -> Pullback:
        """The pullback to the operands of ``mask``."""
        found = self.pullbacks.get(mask)
        if found is None:
            found = self.pullbacks[mask] = Pullback(self, mask, self.pattern.pullback(mask, False))
        return found

    def expr(self, operands: Sequence[Expr]) -> Any:
        """The expressions of the results, from those of the operands."""
        ys = self.pattern.op.results(operands, self.pattern.params)
        return ys if self.pattern.op.outputs > 1 else ys[0]


def _shared(value: Any, arrays: Sequence[Any]) -> bool:
    """Whether a result is another array, or a view."""
    if value.base is not None:
        return True
    for a in arrays:  # noqa: SIM110  # a generator takes the time of an operation
        if value is a:
            return True
    return False


def _same(array: Any, value: Any) -> bool:
    """Whether a value needed nothing to become an array; NumPy's scalars count as arrays."""
    if isinstance(value, np.generic):
        return not array.shape and bool(array.dtype == value.dtype)
    return array is value


def _filled(value: Any, shape: tuple[int, ...], kind: Any) -> Any:
    """A kernel's value as an array of ``shape``, of dtype ``kind`` unless that is None."""
    if value.__class__ in WEAK:
        return np.full(shape, value, dtype=kind)
    if value.__class__ is not np.ndarray:
        value = np.asarray(value)
    if kind is not None and value.dtype is not kind:
        value = value.astype(kind)
    return value if value.shape == shape else np.broadcast_to(value, shape)


class Pullback:
    """A pullback with lengths: what nodes hold."""

    __slots__ = (
        "_marked",
        "bound",
        "clean",
        "function",
        "keeps",
        "like",
        "marks",
        "mask",
        "pulled",
        "sizes",
        "steps",
    )

    def __init__(self, bound: Bound, mask: tuple[bool, ...], pulled: Pulled) -> None:
        self.bound, self.mask, self.pulled, self.sizes = bound, mask, pulled, bound.sizes
        self.function, self.keeps, self.marks = pulled.function, pulled.keeps, pulled.marks
        # Shapes and dtypes of the cotangents, where operands differ.
        self.like: list[tuple[tuple[int, ...], Any]] | None = None
        if bound.shapes is not None and bound.kinds is not None:
            places = [i for i, m in enumerate(mask) if m]
            self.like = [(bound.shapes[i], bound.kinds[i]) for i in places]
        # Results of uniform pointwise formulas have the shape and dtype of g by themselves.
        self.clean = bound.shapes is None and pulled.pointwise
        self._marked: Pullback | None = None
        # The recorded pullbacks by operand, bound, where their shapes are settled by these.
        self.steps: dict[int, Bound] = {}

    def marked(self) -> Pullback:
        """The same for a cotangent whose exact zeros stay zeros."""
        if self._marked is None:
            pulled = self.bound.pattern.pullback(self.mask, True)
            self._marked = (
                self
                if pulled.marked == self.pulled.marked
                else Pullback(self.bound, self.mask, pulled)
            )
        return self._marked

    def without(self, gs: Sequence[Any]) -> Pullback:
        """The same where cotangents are None: nothing came back to those results."""
        absent = tuple([i for i, g in enumerate(gs) if g is None])
        if not absent:
            return self
        pulled = self.bound.pattern.pullback(self.mask, self.pulled.marked, absent)
        return Pullback(self.bound, self.mask, pulled)

    def fixed(self, values: Sequence[Any], g: Any) -> list[Any]:
        """The cotangents in the shapes and dtypes of the operands."""
        if self.like is None:
            shape, kind = np.shape(g), g.dtype
            return [_filled(v, shape, kind) for v in values]
        out = []
        for v, (shape, kind) in zip(values, self.like, strict=True):
            if v.__class__ is np.ndarray and v.shape == shape and v.dtype is kind:
                out.append(v)
            else:
                out.append(_filled(v, shape, kind))
        return out
