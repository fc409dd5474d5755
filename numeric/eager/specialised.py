"""Specialise ops to shapes of operands: lower their formulas and pullbacks.

An op defines the expression that it computes.  For each set of shapes the expression is built over
placeholders, pulled back by the rules of ``symdiff``, and lowered, once.  The outcome is closures,
one for the results (``Specialised``) and one for the cotangents of some operands (``Pullback``).
Axis lengths are symbolic where possible, and bound at each call (``Bound``), so that a longer batch
compiles nothing.
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

# The variables of a pullback: the operands, or the results where possible.
INPUTS, RESULT = "inputs", "result"

_WHERE = PRIMITIVES["where"]

# The mark of a cotangent whose zeros must survive infinite partials, as in the rules.
_MARKED = 2

# Nodes whose kernels consist of ufuncs: their values are new memory for any layout of the operands.
# Kernels of other nodes may return views, or their operands.
_FRESH = (ops.Pointwise, ops.Sum, ops.Product)

_HALF = np.dtype(np.float16)

# Held during a compilation, so that only one of several threads compiles.
LOCK = fork_safe_lock()


class Declaration:
    """The declared attributes of an op, for this module and records: see ``operations.Op``."""

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
        """Return the expressions of the results, always a tuple."""
        ys = self.build(*operands, *params)
        return tuple(as_expr(y) for y in (ys if isinstance(ys, tuple | list) else (ys,)))


class Specialised:
    """An op for operands of given shapes, with ints or symbolic lengths, and kinds of numbers.

    ``xs`` and ``ys`` are the expressions of operands and results.  ``uniform`` is an elementwise op
    of operands of one shape and one real dtype; its formula is of scalars, for any shape.
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
        """Return the function of the operands and the symbolic lengths that computes results."""
        if self._forward is None:
            self._forward = _lowered("forward", self.xs, self.ys)
        return self._forward

    def pullback(self, mask: tuple[bool, ...]) -> Pullback:
        """Return the pullback to the operands of ``mask``, cached."""
        known = self.pullbacks.get(mask)
        if known is None:
            known = once(self.pullbacks, mask, LOCK, partial(Pullback, self, mask))
        return known


class Bound:
    """A specialised op with values of its symbolic lengths.

    All calls with operands of the same shapes and dtypes share one object, as do all uniform calls
    of one dtype.  A uniform call has None for ``shapes`` and ``kinds`` (dtypes), since the
    cotangent has the same.  Nodes refer to the object, because pullbacks need the lengths.
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
        # Shapes and dtypes of the results, after the first call.
        self.results: list[tuple[tuple[int, ...], np.dtype]] = []
        # Whether the program returns right shapes and dtypes, and whether also new memory.
        self.fits = self.fresh = False
        # Sums in half precision overflow: compute in single precision, and round at the end.
        self.half = kinds is not None and not of.op.pointwise and _HALF in kinds
        # Operations of recorded passes by pullback, operand and dtype: see ``recorded_backward``.
        self.recorded: dict[tuple[Pullback, int, np.dtype | None], tuple[Operation, Bound]] = {}

    def forward(self, arrays: Sequence[Any]) -> Any:
        """Return the results for arrays: a value, or a tuple of several."""
        op = self.of.op
        if op.kernel is not None:
            return op.kernel(*arrays, *self.of.params)
        operands = [_single(a) for a in arrays] if self.half else arrays
        values = self.of.forward()(*operands, self.sizes)
        if self.fresh:
            return values[0]
        if not self.fits:
            values = self._fitted(arrays, values)
        if op.view:
            return values[0] if op.outputs == 1 else tuple(values)
        # Kernels may return views of their operands, or the operands themselves: copy these.
        if op.outputs == 1:
            (value,) = values
            return np.array(value) if _shared(value, arrays) else value
        return tuple([np.array(value) if _shared(value, arrays) else value for value in values])

    def direct(self) -> Callable[..., tuple[Any, ...]] | None:
        """Return the program itself if its only result needs no conversion or copy, else None."""
        return self.of.forward() if self.fresh and self.shapes is None else None

    def _fitted(self, arrays: Sequence[object], values: Sequence[object]) -> list[np.ndarray]:
        """Convert the results of a program to arrays of the right shapes and dtypes.

        Programs return Python numbers for constants, and doubles if formulas contain some.  Whether
        they do depends only on the shapes and dtypes of operands, which are fixed here.  So if no
        value needs a conversion, ``fits`` skips later checks.
        """
        op = self.of.op
        operands = [a for a in arrays if a.__class__ is np.ndarray]
        real = [a.dtype for a in operands if a.dtype.kind == "f"]
        kind = np.result_type(*real) if real else None
        # Results of real operands are real, even if all values are integers.  A single result of
        # other operands has the dtype of the first, because programs sum bools and narrow integers
        # as wider ones.  A single result of promoted operands may be real by its formula.
        known = op.kinds is not None or bool(real)
        if op.pointwise and op.promotion is not None:
            kind, known = np.result_type(*operands), True
        elif not (op.pointwise or real) and op.outputs == 1:
            known = op.promotion is None or self.of.ys[0].dtype is not float
            kind = operands[0].dtype if known else None
        out: list[np.ndarray] = []
        kinds = repeat(kind) if op.kinds is None else op.kinds
        for value, y, kind in zip(values, self.of.ys, kinds, strict=False):
            shape = operands[0].shape if self.shapes is None else lengths(y.shape, self.sizes)
            array = _filled(value, shape, kind if known or y.dtype is float else None)
            out.append(np.array(array) if any(array is a for a in out) else array)
        # Python numbers among the operands may change the dtype of results of integers: then check
        # every call.
        if len(real) == len(operands) or len(operands) == len(arrays):
            self.fits = all(map(_same, out, values))
            self.fresh = self.fits and op.outputs == 1 and isinstance(self.of.ys[0].op, _FRESH)
            if self.shapes is None:  # other shapes fit, too, if the program only broadcasts
                self.fits = self.fresh
        return out

    def fitted(self, p: Pullback, values: Sequence[Any], g: Any) -> list[np.ndarray]:
        """Convert the cotangents of a pullback to the shapes and dtypes of the operands."""
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
        """Return the expressions of the results, from those of the operands."""
        ys = self.of.op.results(operands, self.of.params)
        return ys if self.of.op.outputs > 1 else ys[0]


def _single(a: object) -> Any:
    return a.astype(np.float32) if a.__class__ is np.ndarray and a.dtype == _HALF else a


def _shared(value: Any, arrays: Sequence[object]) -> bool:
    """Whether a result is one of the operands, or a view."""
    if value.base is not None:
        return True
    for a in arrays:  # noqa: SIM110  # a generator would take as long as a small operation
        if value is a:
            return True
    return False


def _same(array: np.ndarray, value: object) -> bool:
    """Whether a value needed no conversion to an array; NumPy's scalars count as arrays."""
    if isinstance(value, np.generic):
        return not array.shape and bool(array.dtype == value.dtype)
    return array is value


def _filled(value: Any, shape: tuple[int, ...], kind: np.dtype | None) -> np.ndarray:
    """Return a kernel's value as an array of ``shape``, of dtype ``kind`` unless that is None."""
    if value.__class__ in WEAK:
        return np.full(shape, value, dtype=kind)
    if value.__class__ is not np.ndarray:
        value = np.asarray(value)
    if kind is not None and value.dtype is not kind:
        value = value.astype(kind)
    return value if value.shape == shape else np.broadcast_to(value, shape)


class Pullback:
    """The pullback of a specialised op to some of its operands, as formulas and as a closure.

    ``keeps`` lists the residuals by their places among operands and, after them, results.
    ``function`` maps the residuals, the cotangents of the results and the symbolic lengths to the
    cotangents of the operands at ``wanted``.  ``marks`` tells which of these are marked.  ``clean``
    tells whether they have the cotangent's shape and dtype without a conversion.

    A node is recorded with the plain pullback, but may run a ``variant``.  One is for a ``marked``
    cotangent, whose exact zeros must stay zeros.  Another takes no cotangents of the results that
    are ``absent``.
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
        # Candidates for residuals, as expressions: operands, then results.
        self.places = [*xs, *stand_ins]
        # None is a cotangent that is always zero.
        self.exprs = [None if f is None else f.expr for f in flows]
        # Operands whose cotangent is the unchanged cotangent of a result.
        self.through = {k: i for k, e in enumerate(self.exprs) for i, g in enumerate(gs) if e is g}
        # Zeros below a selection are marked, even if no operand of it is selected.
        chooses = any(y.op is _WHERE for y in topological(ys))
        marks = [chooses if f is None else f.mark != NONE for f in flows]
        self.marks = marks if any(marks) else None
        self.keeps = self._needed()
        if plain is not None:  # a node saves residuals before it knows which variant will run
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
        # The pullback as operations, by operand and dtype: see ``recorded_backward``.
        self.operations: dict[tuple[int, object], Operation] = {}

    def _needed(self) -> tuple[int, ...]:
        """Return the places of the operands and results in the formulas: they must be saved."""
        op, xs = self.of.op, self.of.xs
        used = symbols(*[e for e in self.exprs if e is not None])
        # A result that PyTorch saves is checked for changes, even if the formula does not need it.
        if op.saves == RESULT and op.outputs == 1:
            used.update(self.places[len(xs) :])
        used.update(xs[i] for i in op.holds if self.mask[i])
        return tuple([i for i, x in enumerate(self.places) if x in used])

    @contained
    def _keeps_single(self) -> bool:
        """Whether cotangents in single precision stay so: a constant in the formula may be double.

        An operand without a gradient may be a Python number instead of an array: try both.
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
        """Return the variant for a marked cotangent or not, and for absent results."""
        plain = self.plain
        if not (marked or absent):
            return plain
        key = marked, absent
        pullback = plain._variants.get(key)
        if pullback is None:
            make = partial(Pullback, self.of, self.mask, plain, marked, absent)
            pullback = once(plain._variants, key, LOCK, make)
        return pullback


def symbols(*exprs: Expr) -> set[Expr]:
    """Return the symbols in expressions."""
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
    """Return stand-ins of the results, and cotangents of results and of the operands of ``mask``.

    The cotangents of ``absent`` results count as 0.  If the op saves its results, the cotangents of
    operands contain the stand-ins in their place.
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
    """Return ``expr`` with nodes replaced by expressions of the same shape."""
    done: dict[Expr, Expr] = {}
    for node in topological([expr]):
        stand_in = known.get(node)
        if stand_in is None and isinstance(node.op, ops.Product) and len(node.args) == 2:
            # A known power may be one of two factors; the other one is the cotangent.
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
