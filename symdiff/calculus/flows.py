"""Flows: cotangents and tangents, with marks about their zeros.

Some derivatives write zeros: the pullback of a slice, the pushforward of a join with constants, a
selection in both directions.  Such a flow is *marked*.  Its exact zeros stand for ignored elements.
They stay zeros at every order, whatever partial derivatives multiply them.  Operations that only
read or move elements write no zeros.

``HOISTED`` flows show their zeros around an unmarked ``a``: as ``where(c, a, 0)``, a few unslices
or a diagonal.  There a product moves inside and run time needs no check.  In ``DEEP`` flows the
zeros are no longer visible.  Their product with a factor that may be infinite or nan is strong: the
program checks it when it runs.

Flows that meet at a node are added.  An element that an unmarked flow reaches is not ignored.  So
an unmarked flow, or slices that together cover the node, leave no mark.
"""

from __future__ import annotations

import math
import weakref
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from symdiff.graph import number, ops
from symdiff.graph.algebra import PRIMITIVES, linear, mul, scale, scaled_product, select, total
from symdiff.graph.contraction import broadcast_to, contract, strong
from symdiff.graph.expr import Expr
from symdiff.graph.leaves import full, is_zero, number_of, split_coefficient
from symdiff.graph.ranges import WHOLE
from symdiff.graph.visible_zeros import joined, parts, together

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from symdiff.graph.node import Shape

NONE, HOISTED, DEEP = 0, 1, 2

# A product moves inside at most this many layers of zeros.  Below n layers it would be written n
# times, and a gradient through n masks would have n² nodes.
_NESTED = 4
_WHERE = PRIMITIVES["where"]


class Flow(NamedTuple):
    """A cotangent or tangent, and the origin of its zeros."""

    expr: Expr
    mark: int


def identity(shape: Shape) -> Expr:
    """The joint seed of all flows of an array of this shape: element [i.., j..] is [i == j]."""
    word = tuple(range(len(shape)))
    return contract([], word + word, dict(enumerate(shape)))


# Zeros that a flow shows --------------------------------------------------------------------------

# A layer of visible zeros: a condition and the selected side, or an unslice.
Layer = tuple[Expr, bool] | ops.Unslice


def _is_mask(x: Expr) -> bool:
    return x.op is _WHERE and (is_zero(x.args[1]) or is_zero(x.args[2]))


def _is_identity(x: Expr) -> bool:
    return isinstance(x.op, ops.Contract) and not x.args


def masked(condition: Expr, x: Expr, where_true: bool) -> Expr:
    """``x`` where the condition is true, or false without ``where_true``; 0 elsewhere."""
    zero = full(x.shape, 0)
    return select(condition, x, zero) if where_true else select(condition, zero, x)


def shown(x: Expr, mark: int = NONE) -> Flow:
    """Mark x, which just received zeros: HOISTED if all its zeros are visible, else DEEP."""
    base = split_coefficient(x)[1]
    seen = base is not None and (_is_mask(base) or is_diagonal(base) or bool(parts(x)))
    return Flow(x, HOISTED if seen and mark < DEEP else DEEP)


def visible(x: Expr, mark: int) -> Flow:
    """Mark x, the image of a flow with ``mark``: visible zeros stay visible, or are gone."""
    return Flow(x, mark if mark != HOISTED else HOISTED if parts(x) else NONE)


def _strip_zeros(x: Expr, layers: list[Layer], *, unslices: bool) -> tuple[number.Number, Expr]:
    """The content of the visible zeros of x, times a number; add the layers to ``layers``."""
    coefficient: number.Number = 1
    while True:
        c, base = split_coefficient(x)
        coefficient = number.times(coefficient, c)
        if base is None:
            return coefficient, full(x.shape, 1)
        x = base
        if _is_mask(x):
            condition, a, b = x.args
            layers.append((condition, is_zero(b)))
            x = a if is_zero(b) else b
        elif unslices and isinstance(x.op, ops.Unslice):
            layers.append(x.op)
            x = x.args[0]
        else:
            return coefficient, x


def _wrap_in_zeros(x: Expr, layers: Sequence[Layer]) -> Expr:
    """``x`` inside the layers of zeros, the first layer outermost."""
    for layer in reversed(layers):
        if isinstance(layer, ops.Unslice):
            x = linear(layer, x)
        else:
            condition, where_true = layer
            x = masked(broadcast_to(condition, x.shape), x, where_true)
    return x


def _split_unslices(x: Expr) -> list[Expr]:
    """The unslices of which x is visibly the sum; [x] for any other x."""
    pieces = parts(x)
    if len(pieces) == 1:
        base = split_coefficient(x)[1]
        if base is None or isinstance(base.op, ops.Unslice):
            return [x]
    return [share.with_inner(share.inner) for share in pieces] or [x]


# Products of flows with partials ------------------------------------------------------------------


def times(flow: Flow, p: Expr, c: number.Number = 1) -> Flow:
    """``c * flow * p`` elementwise, c a number; p has the flow's trailing shape."""
    expr, mark = flow
    d, base = split_coefficient(p)
    if base is None:
        return Flow(scale(number.times(c, d), expr), mark)
    # The common case: neither zeros to keep nor batch axes.
    if mark == NONE and base.op is not _WHERE and expr.shape == p.shape:
        return Flow(scaled_product(c, expr, p), NONE)
    layers: list[Layer] = []
    if not _is_identity(expr):  # a product would write out a mask on an identity
        d, p = _strip_zeros(p, layers, unslices=False)
        c = number.times(c, d)
    if number_of(p) is not None:  # only a mask: leave the flow closed
        return shown(_wrap_in_zeros(scaled_product(c, expr, p), layers), mark)
    if mark == HOISTED:
        several = _split_unslices(expr)
        # Multiply each part by p at its own position: p may be inf or nan elsewhere.
        if len(several) > 1:
            shares = [times(Flow(x, HOISTED), p, c).expr for x in several]
            joined_blocks = together(shares)
            return shown(
                _wrap_in_zeros(total(shares) if joined_blocks is None else joined_blocks, layers)
            )
        (expr,) = several
        shape = expr.shape
        inside: list[Layer] = []
        d, opened = _strip_zeros(expr, inside, unslices=True)
        if len(inside) > _NESTED:
            return shown(_wrap_in_zeros(_multiply_unmarked(expr, p, c, DEEP).expr, layers), DEEP)
        expr = opened
        layers += inside
        c, mark = number.times(c, d), NONE if is_whole(expr) else DEEP
        for layer in inside:
            if isinstance(layer, ops.Unslice):
                if len(layer.before) > p.ndim:  # the slice also omits positions of the batch
                    p = broadcast_to(p, shape)
                # The opened flow is only the content of the slice, so cut p to the same position.
                cut = layer.transposed(0, shape)
                p, shape = linear(cut, p), cut.result(shape)
    diagonal = flow.mark == HOISTED and is_diagonal(expr)
    result, mark = _multiply_unmarked(expr, p, c, mark)
    if diagonal:
        return shown(_wrap_in_zeros(result, layers), mark)
    if not layers:
        return Flow(result, mark)
    return shown(_wrap_in_zeros(result, layers), mark)


def _multiply_unmarked(expr: Expr, p: Expr, c: number.Number, mark: int) -> Flow:
    """The product of a flow without visible zeros and a partial derivative that is not a mask."""
    alike = expr.shape == p.shape and not is_diagonal(expr)
    if mark == NONE and alike:
        return Flow(scaled_product(c, expr, p), NONE)
    p = scale(c, p)
    # Where p is always finite, 0 times p is 0 without a strong product.
    kill = mark == DEEP and not finite([p])
    if alike:
        return Flow(strong(expr, p) if kill else mul(expr, p), mark)
    # A batch of flows: letters keep an identity seed symbolic.  Multiply the common factor of the
    # batch by p once, not once for each flow.
    out = tuple(range(expr.ndim))
    letters = out[len(out) - p.ndim :]
    if not kill:
        expr, factor = _split_common_factor(expr, p.ndim)
        p = p if factor is None else mul(factor, p)
    result = contract([(expr, out, kill), (p, letters)], out)
    return Flow(result, DEEP if _is_mask(p) else mark)


def _split_common_factor(x: Expr, ndim: int) -> tuple[Expr, Expr | None]:
    """Split ``x`` into the factor that has only its last ``ndim`` axes, and the rest."""
    c, product = split_coefficient(x)
    word = out = tuple(range(x.ndim))
    if product is not None and ops.is_permutation(moved := product.op):
        (word,), out = moved.letters, moved.out
        (product,) = product.args
    if product is None or not isinstance(product.op, ops.Product):
        return x, None
    if product.op.exponents != (1, 1):
        return x, None
    for k, y in enumerate(product.args):
        op = y.op
        if isinstance(op, ops.Contract) and len(op.letters) == 1 and not op.sums:
            names = dict(zip(op.out, word, strict=True))
            along = tuple([names.get(letter) for letter in op.letters[0]])
            if along == out[x.ndim - ndim :] and len(names) == x.ndim:
                return scale(c, contract([(product.args[1 - k], word)], out)), y.args[0]
    return x, None


def _is_join(x: Expr) -> bool:
    return isinstance(x.op, ops.Concat)


def is_diagonal(x: Expr) -> bool:
    """Whether the letters of x visibly write zeros off a diagonal."""
    op = x.op
    return isinstance(op, ops.Contract) and len(set(op.out)) < len(op.out)


# Sums of flows that meet --------------------------------------------------------------------------


def gathered(flows: Sequence[Flow]) -> Flow:
    """The sum of the flows that arrive at a node; marked if they leave elements out."""
    if len(flows) == 1:
        return flows[0]
    marks = [g.mark for g in flows]
    if len(flows) > 1 and any(marks):
        # A zero flow reaches no element: although unmarked, it must not remove the mark of the
        # others.
        flows = [g for g in flows if not is_zero(g.expr)] or flows[:1]
        if any(g.mark == HOISTED for g in flows):
            flows = _merge_branches(_merge_unslices(flows))
        marks = [g.mark for g in flows]
    if len(flows) == 1:
        return flows[0]
    result = total([g.expr for g in flows])
    return shown(result, max(marks)) if all(marks) else Flow(result, NONE)


def _merge_branches(flows: Sequence[Flow]) -> list[Flow]:
    """Merge the branches of one ``where`` into one selection: c ? a : 0 plus c ? 0 : b."""
    rest: list[Flow] = []
    branches: dict[Expr, tuple[list[Expr], list[Expr]]] = {}
    for g in flows:
        layers: list[Layer] = []
        if g.mark == HOISTED:
            c, chosen = _strip_zeros(g.expr, layers, unslices=True)
        if len(layers) == 1 and not isinstance(layers[0], ops.Unslice):
            condition, where_true = layers[0]
            sides = branches.setdefault(condition, ([], []))
            sides[not where_true].append(scale(c, chosen))
        else:
            rest.append(g)
    for condition, (true, false) in branches.items():
        # Both branches are present, so no element is left out.
        if true and false:
            rest.append(Flow(select(condition, total(true), total(false)), NONE))
        else:
            rest.append(shown(masked(condition, total(true or false), bool(true))))
    return rest


def _merge_unslices(flows: Sequence[Flow]) -> list[Flow]:
    """Merge unslices of the same position; merge all into one unmarked flow if they cover the node.

    Adjacent parts are joined.  The content may itself be a sum of parts.
    """
    rest: list[Flow] = []
    inside: list[Expr] = []
    shares: list[tuple[ops.Unslice, NDArray[np.bool_]]] = []
    at: dict[tuple[ops.Unslice, ...], list[Expr]] = {}
    for x, mark in [Flow(x, g.mark) for g in flows for x in _split_unslices(g.expr)]:
        layers: list[Any] = []
        if mark == HOISTED:
            c, core = _strip_zeros(x, layers, unslices=True)
            pieces = parts(x)
            shares += [(p.op, _written_region(p.inner)) for p in pieces]
        if layers and all(isinstance(k, ops.Unslice) for k in layers) and is_whole(core):
            at.setdefault(tuple(layers), []).append(scale(c, core))
        elif mark == HOISTED and pieces:
            inside.append(x)
        else:
            rest.append(Flow(x, mark))
    merged = {places: total(terms) for places, terms in at.items()}
    covered = len(shares) > 1 and bool(_nonzero_region(flows[0].expr, shares).all())
    single = {places[0]: x for places, x in merged.items() if len(places) == 1}
    if not inside and 1 < len(single) == len(merged):
        row = joined(single, flows[0].expr.shape)
        # Parts with many elements, or a few of many parts, stay a sum, which the program writes
        # into one array.
        flat = covered and row is not None and not any(_is_join(y) for y in row[0].args)
        if row is not None and (flat or len(single) <= _NESTED * 2):
            covered = covered or (row[1] and all(written.all() for _, written in shares))
            return [*rest, Flow(row[0], NONE) if covered else shown(row[0])]
    if covered:
        summed = total([*(_wrap_in_zeros(x, places) for places, x in merged.items()), *inside])
        return [*rest, Flow(summed, NONE)]
    rest += [Flow(x, HOISTED) for x in inside]
    return [*rest, *(shown(_wrap_in_zeros(x, places)) for places, x in merged.items())]


# A cache by serial numbers of sums of parts, which are never reused: the node, and its written
# elements.
_WRITTEN: dict[int, tuple[weakref.ref[Expr], NDArray[np.bool_]]] = {}


def is_whole(x: Expr) -> bool:
    """Whether x, unmarked or with visible zeros around an unmarked flow, leaves no element out."""
    return not parts(x) or bool(_written_region(x).all())


def _written_region(x: Expr) -> NDArray[np.bool_]:
    """The elements that visible parts (nested unslices) write; uncut axes have length 1."""
    masks: dict[Expr, NDArray[np.bool_]] = {}
    stack = [x]
    while stack:
        y = stack[-1]
        if y not in masks:
            remembered = _WRITTEN.get(y.serial)
            if remembered is None:
                shares = parts(y)
                if inner := [p.inner for p in shares if p.inner not in masks]:
                    stack.extend(inner)
                    continue
                masks[y] = _nonzero_region(y, [(p.op, masks[p.inner]) for p in shares])
                if shares:
                    _remember(y, masks[y])
            else:
                masks[y] = remembered[1]
        stack.pop()
    return masks[x]


def _nonzero_region(
    x: Expr, shares: Sequence[tuple[ops.Unslice, NDArray[np.bool_]]]
) -> NDArray[np.bool_]:
    """The elements of x that these parts write; all elements if x has no visible zeros."""
    if not shares:
        base = split_coefficient(x)[1]
        seen = base is not None and (_is_mask(base) or is_diagonal(base))
        return np.full((1,) * x.ndim, not seen)
    lengths: list[Any] = [1] * x.ndim
    for op, inner in shares:
        for k, n in enumerate(inner.shape):
            if n != 1:
                lengths[k] = n
        lead = x.ndim - len(op.before)
        for k, (n, step) in enumerate(zip(op.before, op.steps, strict=True), lead):
            if step != WHOLE:
                lengths[k] = n
    if any(isinstance(n, str) for n in lengths):  # it is unknown which elements are left out
        return np.zeros((1,) * x.ndim, np.bool_)
    result = np.zeros(lengths, np.bool_)
    for op, inner in shares:
        key: tuple[Any, ...] = (..., *(slice(*step) for step in op.steps))
        result[key] |= inner
    # The cache lives as long as the node, so keep entries small: drop the axes where all is
    # written.
    return np.ones((1,) * x.ndim, np.bool_) if result.all() else result


def _remember(x: Expr, written: NDArray[np.bool_]) -> None:
    # The names are defaults because globals are gone when the interpreter frees the last nodes.
    def forget(_: object, known: dict[int, Any] = _WRITTEN, serial: int = x.serial) -> None:
        known.pop(serial, None)

    _WRITTEN[x.serial] = weakref.ref(x, forget), written


# Bounds of values ---------------------------------------------------------------------------------

# The largest number that every floating-point format can hold.
_LARGEST = 65504.0
# The depth to which `bound` visits operands.
_DEPTH = 4


def finite(factors: Iterable[Expr]) -> bool:
    """Whether a product is finite for every value of its symbols, inf and nan included."""
    return math.prod(bound(x) for x in factors) <= _LARGEST


def bound(x: Expr, depth: int = _DEPTH) -> float:
    """A number that |x| never exceeds, whatever the symbols are; inf where none is known.

    >>> import symdiff as sd
    >>> x = sd.symbol("x")
    >>> bound(2 * sd.where(x < 1, 3, 1)), bound(sd.sin(x))  # sin(inf) is nan
    (6.0, inf)
    """
    value = number_of(x)
    if value is not None:
        return _size(value)
    op = x.op
    # Booleans and identities contain only 0 and 1.
    if x.dtype is bool or (isinstance(op, ops.Contract) and not x.args):
        return 1.0
    if isinstance(op, ops.Constant):
        return _size(np.max(np.abs(op.value), initial=0)) if op.value.dtype.kind in "iuf" else 1.0
    if not depth:
        return math.inf
    if isinstance(op, ops.Sum):
        result = _size(op.const)
        for c, a in zip(op.coefs, x.args, strict=True):
            result += _size(c) * bound(a, depth - 1)
            if result == math.inf:
                break
        return result
    if op is _WHERE:
        return max(bound(a, depth - 1) for a in x.args[1:])
    if isinstance(op, ops.Contract):
        moves = not op.sums and len(op.letters) == 1
    else:
        moves = isinstance(op, ops.Linear) and op.selects
    # An op that only moves or selects elements has no larger ones.
    if moves:
        return max(bound(a, depth - 1) for a in x.args)
    return math.inf


def _size(value: Any) -> float:
    try:
        size = abs(float(value))
    except OverflowError:
        return math.inf
    return size if size == size else math.inf
