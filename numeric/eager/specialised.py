"""What belongs to an op and to operands of some shapes: its formula, lowered, and its pullbacks.

An op names the expression that it computes.  For given shapes the expression is built over
placeholders, pulled back by the rules of ``symdiff``, and lowered, once: what is left of all this
are closures, one for the results (``Specialised``) and one for the cotangents of some operands
(``Pullback``).  Lengths of axes are letters where that is possible, and bound when a closure is
called (``Bound``), so that a longer batch compiles nothing.
"""

from __future__ import annotations

from functools import partial
from itertools import repeat
from typing import TYPE_CHECKING, Any

import numpy as np

from numeric.lowering.contraction import in_order
from numeric.lowering.names import NUMPY, Emitter
from numeric.lowering.programs import Lowered
from numeric.lowering.values import WEAK
from symdiff.calculus.flows import NONE, Flow
from symdiff.calculus.rules import pullback
from symdiff.contexts import contained
from symdiff.graph import ops
from symdiff.graph.algebra import PRIMITIVES, int_power, mul
from symdiff.graph.axis_lengths import lengths
from symdiff.graph.expr import Expr, rebuild
from symdiff.graph.leaves import as_expr, full, named_dummy
from symdiff.graph.node import topological
from symdiff.locks import fork_safe_lock, once

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from numeric.eager.recorded_backward import Operation

# What the pullback is written in: the operands, or the results where that is possible.
INPUTS, RESULT = "inputs", "result"

_WHERE = PRIMITIVES["where"]

# As rules mark a cotangent whose zeros must survive infinite partials.
_MARKED = 2

# Nodes whose kernels are ufuncs, or made of them: their values are new memory, whatever the layout
# of the operands.  Kernels of other nodes may hand out views, and arrays that they were given.
_FRESH = (ops.Pointwise, ops.Sum, ops.Product)

_HALF = np.dtype(np.float16)

# Held while something is compiled, so that threads that need it compile it once.
LOCK = fork_safe_lock()


class Declaration:
    """What is declared of an op, and read here and by records: see ``operations.Op``."""

    name: str
    label: str
    build: Callable[..., Any]
    kernel: Callable[..., Any] | None
    saves: str
    pointwise: bool
    promotion: Callable[[Iterable[Any]], np.dtype] | None
    outputs: int
    view: bool
    reuse: Callable[..., Mapping[Expr, Expr]] | None
    concrete: bool
    stretches: bool
    holds: tuple[int, ...]
    kinds: tuple[np.dtype, ...] | None

    def results(self, operands: Sequence[Expr], params: tuple[object, ...]) -> tuple[Expr, ...]:
        """The expressions of the results, always a tuple."""
        ys = self.build(*operands, *params)
        return tuple(as_expr(y) for y in (ys if isinstance(ys, tuple | list) else (ys,)))


class Specialised:
    """An op for operands of given shapes, whose lengths may be letters, and kinds of numbers.

    ``xs`` and ``ys``: operands and results, as expressions.  ``uniform``: an elementwise op of
    operands of one shape and one real dtype; whatever the shape, the formula is one of scalars.
    """

    def __init__(
        self,
        op: Declaration,
        params: tuple[object, ...],
        xs: Sequence[Expr],
        uniform: bool,
    ) -> None:
        self.op, self.params, self.xs, self.uniform = op, params, tuple(xs), uniform
        self.ys = op.results(xs, params)
        self.pullbacks: dict[tuple[bool, ...], Pullback] = {}
        self._forward: Callable[..., Any] | None = None

    def forward(self) -> Callable[..., Any]:
        """The results, as a function of the operands and the lengths of letters."""
        if self._forward is None:
            self._forward = _lowered("forward", self.xs, self.ys)
        return self._forward

    def pullback(self, mask: tuple[bool, ...]) -> Pullback:
        """The pullback to the operands of ``mask``."""
        found = self.pullbacks.get(mask)
        if found is None:
            found = once(self.pullbacks, mask, LOCK, partial(Pullback, self, mask))
        return found


class Bound:
    """A call: a specialised op with lengths for its letters, and what follows from these.

    All calls with operands of the same shapes and dtypes share one, and so do all uniform ones of
    one dtype, whose ``shapes`` and ``kinds`` (dtypes) are None, as they say nothing that the
    cotangent does not say.  Records refer to it, as pullbacks need the lengths.
    """

    __slots__ = ("fits", "fresh", "half", "kinds", "of", "recorded", "results", "shapes", "sizes")

    def __init__(
        self,
        of: Specialised,
        sizes: dict[str, int],
        shapes: Sequence[tuple[int, ...]] | None,
        kinds: Sequence[np.dtype | None] | None,
    ) -> None:
        self.of, self.sizes, self.shapes, self.kinds = of, sizes, shapes, kinds
        self.results: list[tuple[tuple[int, ...], np.dtype]] = []  # once known: shapes and dtypes
        # Whether the program gives what is asked for: right shapes and dtypes; new memory, too.
        self.fits = self.fresh = False
        # Sums take more than half precision has: they are made of single, and rounded at the end.
        self.half = kinds is not None and not of.op.pointwise and _HALF in kinds
        # What recorded passes run, by pullback, operand and dtype: see ``recorded_backward``.
        self.recorded: dict[tuple[Pullback, int, np.dtype | None], tuple[Operation, Bound]] = {}

    def forward(self, arrays: Sequence[Any]) -> Any:
        """The results on arrays: a value, or a tuple of several."""
        op = self.of.op
        if op.kernel is not None:
            return op.kernel(*arrays, *self.of.params)
        given = [_single(a) for a in arrays] if self.half else arrays
        values = self.of.forward()(*given, self.sizes)
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
        return self.of.forward() if self.fresh and self.shapes is None else None

    def _fitted(self, arrays: Sequence[object], values: Sequence[object]) -> list[np.ndarray]:
        """Results of a program as arrays of the shapes and dtypes that they should have.

        Programs give Python numbers for constants, and doubles where formulas contain some.  What
        this is bound to, shapes and dtypes of operands, decides whether they do: it is noted where
        values need nothing, so that they are not looked at again.
        """
        op = self.of.op
        given = [a for a in arrays if a.__class__ is np.ndarray]
        real = [a.dtype for a in given if a.dtype.kind == "f"]
        kind = np.result_type(*real) if real else None
        # Results of real operands are real, also where they are whole numbers; the only one of
        # others has the dtype of the first, as programs add up truth values and narrow integers as
        # wider ones; that of promoted operands may be real by its formula.
        known = op.kinds is not None or bool(real)
        if op.pointwise and op.promotion is not None:
            kind, known = np.result_type(*given), True
        elif not (op.pointwise or real) and op.outputs == 1:
            known = op.promotion is None or self.of.ys[0].dtype is not float
            kind = given[0].dtype if known else None
        out: list[np.ndarray] = []
        kinds = repeat(kind) if op.kinds is None else op.kinds
        for value, y, kind in zip(values, self.of.ys, kinds, strict=False):
            shape = given[0].shape if self.shapes is None else lengths(y.shape, self.sizes)
            array = _filled(value, shape, kind if known or y.dtype is float else None)
            out.append(np.array(array) if any(array is a for a in out) else array)
        # Python numbers among the operands may change the dtype of what is made of integers.
        if len(real) == len(given) or len(given) == len(arrays):
            self.fits = all(map(_same, out, values))
            self.fresh = self.fits and op.outputs == 1 and isinstance(self.of.ys[0].op, _FRESH)
            if self.shapes is None:  # other shapes than these fit if programs broadcast
                self.fits = self.fresh
        return out

    def fitted(self, p: Pullback, values: Sequence[Any], g: Any) -> list[np.ndarray]:
        """The cotangents that a pullback gave, in the shapes and dtypes of the operands."""
        shapes, kinds = self.shapes, self.kinds
        if shapes is None or kinds is None:
            shape, kind = np.shape(g), g.dtype
            return [_filled(v, shape, kind) for v in values]
        out = []
        for v, i in zip(values, p.wanted, strict=True):
            if v.__class__ is np.ndarray and v.shape == shapes[i] and v.dtype is kinds[i]:
                out.append(v)
            else:
                out.append(_filled(v, shapes[i], kinds[i]))
        return out

    def expr(self, operands: Sequence[Expr]) -> Expr | tuple[Expr, ...]:
        """The expressions of the results, from those of the operands."""
        ys = self.of.op.results(operands, self.of.params)
        return ys if self.of.op.outputs > 1 else ys[0]


def _single(a: object) -> Any:
    return a.astype(np.float32) if a.__class__ is np.ndarray and a.dtype == _HALF else a


def _shared(value: Any, arrays: Sequence[object]) -> bool:
    """Whether a result is another array, or a view."""
    if value.base is not None:
        return True
    for a in arrays:  # noqa: SIM110  # a generator takes the time of an operation
        if value is a:
            return True
    return False


def _same(array: np.ndarray, value: object) -> bool:
    """Whether a value needed nothing to become an array; NumPy's scalars count as arrays."""
    if isinstance(value, np.generic):
        return not array.shape and bool(array.dtype == value.dtype)
    return array is value


def _filled(value: Any, shape: tuple[int, ...], kind: np.dtype | None) -> np.ndarray:
    """A kernel's value as an array of ``shape``, of dtype ``kind`` unless that is None."""
    if value.__class__ in WEAK:
        return np.full(shape, value, dtype=kind)
    if value.__class__ is not np.ndarray:
        value = np.asarray(value)
    if kind is not None and value.dtype is not kind:
        value = value.astype(kind)
    return value if value.shape == shape else np.broadcast_to(value, shape)


class Pullback:
    """The pullback of a specialised op to some of its operands, as formulas and as a closure.

    ``keeps``: what has to be saved for it, places of operands and, after them, of results.
    ``function``: of what was kept, of the cotangents of the results and of the lengths of letters;
    it gives the cotangents of the operands at ``wanted``.  ``marks``: which of these are marked.
    ``clean``: they have the shape and dtype of the cotangent by themselves.

    A node is recorded with the plain pullback, and may have to run a ``variant``: one for a
    ``marked`` cotangent, whose exact zeros must stay zeros, or one that does without the
    cotangents of the results that are ``absent``.
    """

    def __init__(
        self,
        of: Specialised,
        mask: tuple[bool, ...],
        plain: Pullback | None = None,
        marked: bool = False,
        absent: tuple[int, ...] = (),
    ) -> None:
        op, xs, ys = of.op, of.xs, of.ys
        self.of, self.mask, self.marked, self.absent = of, mask, marked, absent
        self.plain: Pullback = self if plain is None else plain
        self._variants: dict[tuple[bool, tuple[int, ...]], Pullback] = {}
        self.wanted = tuple([i for i, m in enumerate(mask) if m])
        stand_ins, gs, flows = cotangents(op, xs, ys, mask, marked, of.params, absent)
        self.gs = gs
        # What may be kept, as formulas: operands, then results.
        self.places = [*xs, *stand_ins]
        # None: the cotangent is zero whatever comes in.
        self.exprs = [None if f is None else f.expr for f in flows]
        # Cotangents of results that go through as they are, by operand.
        self.through = {k: i for k, e in enumerate(self.exprs) for i, g in enumerate(gs) if e is g}
        # Zeros are marked below a selection, also where none of its operands is selected.
        chooses = any(y.op is _WHERE for y in topological(ys))
        marks = [chooses if f is None else f.mark != NONE for f in flows]
        self.marks = marks if any(marks) else None
        self.keeps = self._needed()
        if plain is not None:  # nodes save before they know which variant will run
            assert set(self.keeps) <= set(plain.keeps), f"{op}: another pullback needs more"
            self.keeps = plain.keeps
        outputs = [
            full(xs[i].shape, 0) if e is None else e
            for e, i in zip(self.exprs, self.wanted, strict=True)
        ]
        params = [*(self.places[i] for i in self.keeps), *gs]
        self.function = _lowered("pullback", params, outputs)
        self.pointwise = (
            not any(x.shape for x in xs)
            and all(e is not None and not symbols(e).isdisjoint(gs) for e in self.exprs)
            and (not op.pointwise or self._keeps_single())
        )
        self.clean = of.uniform and self.pointwise
        # What this is as operations, by operand and dtype: see ``recorded_backward``.
        self.operations: dict[tuple[int, object], Operation] = {}

    def _needed(self) -> tuple[int, ...]:
        """Which operands and results have to be saved: those that the formulas contain."""
        op, xs = self.of.op, self.of.xs
        used = symbols(*[e for e in self.exprs if e is not None])
        # A result that PyTorch saves is watched for changes, also where the formula needs none.
        if op.saves == RESULT and op.outputs == 1:
            used.update(self.places[len(xs) :])
        used.update(xs[i] for i in op.holds if self.mask[i])
        return tuple([i for i, x in enumerate(self.places) if x in used])

    @contained
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

    def variant(self, marked: bool, absent: tuple[int, ...] = ()) -> Pullback:
        """The same for a cotangent that is marked or not, without those of absent results."""
        plain = self.plain
        if not (marked or absent):
            return plain
        key = marked, absent
        found = plain._variants.get(key)
        if found is None:
            make = partial(Pullback, self.of, self.mask, plain, marked, absent)
            found = once(plain._variants, key, LOCK, make)
        return found


def symbols(*exprs: Expr) -> set[Expr]:
    """The symbols in expressions."""
    return {x for x in topological(exprs) if isinstance(x.op, ops.Symbol)}


def cotangents(
    op: Declaration,
    xs: Sequence[Expr],
    ys: Sequence[Expr],
    mask: Sequence[bool],
    marked: bool,
    params: tuple[object, ...],
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


def _lowered(name: str, params: Sequence[Expr], outputs: Sequence[Expr]) -> Callable[..., Any]:
    outputs = [in_order(y) for y in outputs]
    program = Lowered(Emitter(numbers=True), name, params, outputs, [True] * len(outputs), "")
    return program.program(NUMPY, False).function
