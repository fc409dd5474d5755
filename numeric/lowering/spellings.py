"""How the values of nodes are written over other values.

A *spelling* says how.  Powers are spelled over shared powers of their base (x^-2 is 1/x², x^(-1/2)
is 1/√x), so that a power which several nodes contain is computed once.  Stretched operands of
pointwise nodes are replaced by what they stretch: NumPy broadcasts them for nothing.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple, overload

from numeric.lowering import kinds
from numeric.lowering.arithmetic import (
    divisor,
    factors,
    halves,
    pieces,
    stepwise,
    together,
)
from numeric.lowering.arithmetic import weak as as_weak
from numeric.lowering.kernels.monomials import GRADED
from numeric.lowering.structure import is_component
from symdiff.graph import ops
from symdiff.graph.algebra import PRIMITIVES
from symdiff.graph.axes import canonical
from symdiff.graph.formula_nodes import is_decision, written_out
from symdiff.graph.leaves import number_node, number_of
from symdiff.graph.node import make
from symdiff.graph.number import norm, raised, times

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numeric.lowering.kinds import Kind
    from symdiff.graph.expr import Expr
    from symdiff.graph.node import Op
    from symdiff.graph.number import Number

_NUMBERS = (ops.Exact, ops.Size)
_ELEMENTWISE = (ops.Sum, ops.Product, ops.Pointwise, ops.Strong, ops.Barrier)


_product_of = lru_cache(maxsize=256)(kinds.Product)  # equal ones are one: most are a few


def computed(kind: Kind, op: Op) -> Op:
    """The op that a step over numbers computes: ``x**2/y**2`` is the power 2 of a quotient.

    >>> computed(kinds.Power(2), ops.product_op((2, -2)))
    Product(exponents=(2,), size=0)
    """
    return ops.product_op((kind.exponent,)) if isinstance(kind, kinds.Power) else op


class Spelling(NamedTuple):
    """How a node is written: the kind of a step, and the nodes it is over."""

    kind: Kind
    operands: tuple[Expr, ...] = ()


# Spellings --------------------------------------------------------------------------------------


def behind(x: Expr) -> Expr:
    """``x`` without barriers, which are the identity as a value, but for casts.

    A decision is written out: as a value it is its formula.
    """
    while isinstance(x.op, ops.Barrier):
        if x.op is ops.REAL:
            return _cast(behind(x.args[0]))
        x = x.args[0]
    return written_out(x) if x.op.__class__ is ops.Pointwise and is_decision(x.op) else x


def numbers(nodes: Iterable[Expr], known: frozenset[Expr] = frozenset()) -> frozenset[Expr]:
    """Those over numbers and axis lengths alone, whose values are weak: they have no shape.

    Operands come before their users.

    >>> import symdiff as sd
    >>> from symdiff.graph.node import topological
    >>> x, ones = sd.symbol("x", 3), sd.ones(3)
    >>> (ones > 0) in numbers(topological([sd.where(ones > 0, x, 0)]))
    True
    """
    found: set[Expr] = set()
    for node in nodes:
        if node in known:
            continue
        if node.args and node.args[0] not in found:  # as nearly all
            continue
        leaf = isinstance(node.op, _NUMBERS) or number_of(node) is not None
        made = isinstance(node.op, _ELEMENTWISE) or ops.is_spread(node.op)
        if leaf or (made and all(x in found for x in node.args)):
            found.add(node)
    return frozenset(found)


def spelling(node: Expr, weak: frozenset[Expr] = frozenset()) -> Spelling:
    """How ``node`` is computed; its operands are free of barriers.

    The values of ``weak`` operands are numbers, whatever their shape (see ``numbers``).
    """
    op = node.op
    match op:
        case ops.Symbol():
            return Spelling(kinds.Input())
        case ops.Constant():
            return Spelling(kinds.Array())
        case ops.Exact():
            return Spelling(kinds.Number(float(op.value)))
        case ops.Size():
            return Spelling(kinds.Size(op.name))
        case ops.Sum():
            return _sum(node, op, weak)
        case ops.Product():
            return _product(node, op, weak)
        case ops.Pointwise():
            return _pointwise(node, op, weak)
        case ops.Strong():
            return Spelling(kinds.Strong(), _loosened(node, weak))
    if is_component(node):
        (sliced,) = node.args
        assert isinstance(sliced.op, ops.Slice)
        return Spelling(kinds.PartOfSlice(sliced.op, sliced.shape), (behind(sliced.args[0]),))
    return Spelling(kinds.ByKernel(), tuple([behind(x) for x in node.args]))


def _sum(node: Expr, op: ops.Sum, weak: frozenset[Expr]) -> Spelling:
    if not node.args:
        return Spelling(kinds.Number(as_weak(op.const, node.dtype is int)))
    if len(op.coefs) == 1 and op.const == 0:
        scaled = _monomial(node, weak) or _scaled_power(node, op, weak)
        if scaled is not None:
            return scaled
    # The cast of an operand is such a sum itself, of which the operand stays what it is.
    operands = _loosened(node, weak)
    return Spelling(kinds.Sum(), operands if op is _AS_REAL else _real(node, operands))


def _scaled_power(node: Expr, op: ops.Sum, weak: frozenset[Expr]) -> Spelling | None:
    """``c * x**p`` with the number first: it would come too late for a power below the normal ones.

    None for others, and where the rounding of a power costs less than two of its last digits.
    """
    x, c = behind(node.args[0]), op.coefs[0]
    if not isinstance(x.op, ops.Product) or len(x.args) != 1 or x.dtype is not float:
        return None
    p, size = x.op.exponents[0], _size(c)
    if p in _EASY or (p == 2 and 1 <= size <= 3) or len(factors(size)) > 1:
        return None
    (base,) = _real(x, _loosened(x, weak))
    parts = tuple([_power(base, part) for part in pieces(_size(p))])
    sign = 1 if p > 0 else -1
    d = divisor(c)
    if d is not None and p > 0:
        return Spelling(
            _product_of((1, -1, *[1] * (len(parts) - 1))), (parts[0], number_node(d), *parts[1:])
        )
    return Spelling(_product_of((1, *[sign] * len(parts))), (number_node(c), *parts))


# These are normal numbers wherever x is, or nearly.
_EASY = frozenset({1, -1, Fraction(1, 2), Fraction(-1, 2)})


# Not interned among the ops of arithmetic, where 1.0 is the number 1.
_AS_REAL = ops.Sum(0, (1.0,))
_AS_REAL.table = {}


def is_graded(op: Op) -> bool:
    """Whether an op is a function that leaves the floats before its products do."""
    return op in _GRADED


def _monomial(node: Expr, weak: frozenset[Expr]) -> Spelling | None:
    """A product, through its nesting, that has a graded function among its factors; else None.

    Or a number that would come too late for the product of two high powers, which is subnormal.
    """
    if node.dtype is not float or node in weak:
        return None
    coef: Number = 1
    powers: dict[Expr, int] = {}
    found = False
    stack: list[tuple[Expr, int]] = [(node, 1)]
    # Products nest as deep as the chain rule makes them; one with more parts is written as it
    # nests.
    for _ in range(_PARTS):
        if not stack:
            break
        x, p = stack.pop()
        op = x.op
        if isinstance(op, ops.Sum) and len(op.coefs) == 1 and op.const == 0 and x.dtype is float:
            more = raised(op.coefs[0], p)
            product = None if more is None else times(coef, more)
            if product is not None and 1 / _MODERATE < _size(product) < _MODERATE:
                coef = product
                stack.append((behind(x.args[0]), p))
                continue
        elif isinstance(op, ops.Product) and x.dtype is float:
            whole = [q for q in op.exponents if isinstance(q, int)]
            if len(whole) == len(x.args):
                stack += [(behind(y), p * q) for y, q in zip(x.args, whole, strict=True)]
                continue
        powers[x] = powers.get(x, 0) + p
        found = found or op in _GRADED
    found = found or (_size(coef) != 1 and _is_high(powers))
    if stack or not found or max(map(abs, powers.values())) > _HIGHEST:
        return None
    operands = [x if x.dtype is float or number_of(x) is not None else _cast(x) for x in powers]
    graded = []
    for place, x in enumerate(powers):
        if x.op in _GRADED:
            inner, shift = [behind(y) for y in x.args], 0
            if x.op is _POWER and (parts := _shifted(inner[1])):
                inner[1], shift = parts
            places = tuple(range(len(operands), len(operands) + len(inner)))
            operands += inner
            graded.append(kinds.Graded(place, x.op.name, places, shift))
    kind = kinds.Monomial(coef, tuple(powers.values()), tuple(graded))
    return Spelling(kind, tuple(operands))


_POWER = PRIMITIVES["power"]
_GRADED = frozenset(PRIMITIVES[name] for name in GRADED)
_PARTS = 24  # nodes that are looked at
_HIGH, _HIGHEST = 6, 8
_MODERATE = 2.0**90


def _is_high(powers: dict[Expr, int]) -> bool:
    """Whether this is ``x/y**5`` or higher; what is over a sum has a spelling of its own."""
    sums = any(isinstance(x.op, ops.Sum) for x in powers)
    return len(powers) == 2 and not sums and sum(map(abs, powers.values())) >= _HIGH


def _shifted(y: Expr) -> tuple[Expr, int] | None:
    """The x and the integer k of a sum y = x + k; else None."""
    op = y.op
    if not isinstance(op, ops.Sum) or op.coefs != (1,) or y.dtype is not float:
        return None
    k = op.const
    return (behind(y.args[0]), k) if isinstance(k, int) and 0 < abs(k) <= _HIGHEST else None


def _product(node: Expr, op: ops.Product, weak: frozenset[Expr]) -> Spelling:
    found = _monomial(node, weak)
    if found is not None:
        return found
    how = _quotient(node, op, weak)
    if not isinstance(how.kind, kinds.Product):
        return how
    return _over_sum(how.operands, how.kind.signs)


def _over_sum(operands: tuple[Expr, ...], signs: tuple[int, ...]) -> Spelling:
    """A product over a sum 1 + x**2 as a quotient: where that overflows, it is x**2, in pieces."""
    if signs in ((-1,), (-1, 1)):
        first = number_node(1) if len(signs) == 1 else operands[1]
        operands, signs = (first, operands[0]), (1, -1)
    for z, sign in zip(operands, signs, strict=True):
        if sign < 0 < signs[0] and (parts := _beyond(z)):
            places = [k for k, s in enumerate(signs) if s < 0 and operands[k] is z]
            return Spelling(kinds.Quotient(signs, tuple(places)), (*operands, *parts))
    return Spelling(_product_of(signs), operands)


def _beyond(z: Expr) -> tuple[Expr, ...] | None:
    """What to divide by, one after the other, where c + k·x**2 overflows; None for other sums."""
    op = z.op
    if not isinstance(op, ops.Sum) or len(op.coefs) != 1 or op.const <= 0 or op.coefs[0] <= 0:
        return None
    square = behind(z.args[0])
    if not isinstance(square.op, ops.Product) or square.op.exponents != (2,):
        return None
    if square.dtype is not float or z.dtype is not float:
        return None
    x = behind(square.args[0])
    return (x, x) if op.coefs[0] == 1 else (x, x, number_node(op.coefs[0]))


def _quotient(node: Expr, op: ops.Product, weak: frozenset[Expr]) -> Spelling:
    factors = _real(node, _loosened(node, weak))
    if len(factors) == 2:
        (x, y), (p, q) = factors, op.exponents
        if node.dtype is float and together(op.exponents):
            quotient = ops.product_op((1 if p > 0 else -1, 1 if q > 0 else -1))
            inner = make(quotient, (x, y), node.shape, float)
            return spelling(_power(inner, _size(p)))
        order = stepwise(op.exponents) if node.dtype is float else None
        if order is not None:
            places, steps = zip(*order, strict=True)
            return Spelling(_product_of(steps), tuple([factors[k] for k in places]))
        # High powers overflow, or vanish, one by one, where their product does not: see
        # ``arithmetic``.
        split = halves(op.exponents) if node.dtype is float else None
        if split is not None:
            two = [make(ops.product_op(part), (x, y), node.shape, float) for part in split]
            return Spelling(_product_of((1, 1)), tuple(two))
        if q == -2 and p > 0:  # divided twice: the square may underflow where the quotient is fine
            return Spelling(_product_of((1, -1, -1)), (_power(x, p), y, y))
        if p == -2 and q > 0:
            return Spelling(_product_of((1, -1, -1)), (_power(y, q), x, x))
        powers = [_power(x, _size(p)) for x, p in zip(factors, op.exponents, strict=True)]
        signs = tuple([1 if p > 0 else -1 for p in op.exponents])
        return Spelling(_product_of(signs), tuple(powers))
    (x,), (p,) = factors, op.exponents
    if p < -1:  # the power may be 0 or infinite where the result is not
        parts = tuple([_power(x, part) for part in pieces(-p)])
        return Spelling(_product_of((1, *[-1] * len(parts))), (number_node(1), *parts))
    if p < 0:
        return Spelling(_product_of((-1,)), (_power(x, -p),))
    if p in (3, Fraction(3, 2)):
        return Spelling(_product_of((1, 1)), (_power(x, norm(Fraction(p) - 1)), x))
    return Spelling(kinds.Power(p), (x,))


@overload
def _size(p: int | Fraction) -> int | Fraction: ...
@overload
def _size(p: Number) -> Number: ...
def _size(p: Number) -> Number:
    return p if p > 0 else -p


def _power(x: Expr, p: int | Fraction) -> Expr:
    """The node of ``x ** p`` for a positive p, as written: no identity is applied."""
    if p == 1:
        return x
    dtype = int if x.dtype is int and p.__class__ is int else float
    return make(ops.product_op((p,)), (x,), x.shape, dtype)


def _real(node: Expr, operands: tuple[Expr, ...]) -> tuple[Expr, ...]:
    """Integer operands of a real value times 1.0: NumPy's integers overflow, and have no 1/x."""
    if node.dtype is not float or {x.dtype for x in operands} == {float}:
        return operands
    return tuple(x if x.dtype is float or number_of(x) is not None else _cast(x) for x in operands)


def _cast(x: Expr) -> Expr:
    return make(_AS_REAL, (x,), x.shape, float)


def _pointwise(node: Expr, op: ops.Pointwise, weak: frozenset[Expr]) -> Spelling:
    operands = _loosened(node, weak)
    if op is _POWER and node not in weak and (parts := _shifted(behind(node.args[1]))):
        return Spelling(kinds.Shifted(parts[1]), (*operands, parts[0]))
    return Spelling(kinds.Pointwise(), _real(node, operands) if op.result is float else operands)


def thin(x: Expr) -> Expr | None:
    """A broadcast with axes of length 1 in the place of the new ones, and none in front.

    NumPy stretches these for nothing.  None for a node that is not a broadcast.

    >>> import symdiff as sd
    >>> x = sd.symbol("x", 3)
    >>> stretched = [sd.broadcast_to(x, (2, 3)), sd.broadcast_to(x[:, None], (2, 3, 4))]
    >>> [thin(y).shape for y in stretched], thin(x)
    ([(3,), (3, 1)], None)
    """
    op = x.op
    if not isinstance(op, ops.Contract) or len(x.args) != 1 or op.sums:
        return None
    word = op.letters[0]
    new = [k not in word for k in op.out]
    if not any(new) or len(set(op.out)) < len(op.out):
        return None
    front = new.index(False) if word else len(new)
    if op.out[front:] == word:
        return behind(x.args[0])
    words, out = canonical([word], op.out[front:])
    shape = tuple([1 if k else dim for k, dim in zip(new, x.shape, strict=True)])[front:]
    return make(
        ops.contract_op(words, out, (1,) * sum(new[front:]), op.kills), x.args, shape, x.dtype
    )


_SEEN_THROUGH = frozenset({ops.Barrier, ops.Pointwise})


def _loosened(node: Expr, weak: frozenset[Expr]) -> tuple[Expr, ...]:
    """Operands in front of their stretching, as long as together they keep the shape."""
    operands = node.args
    if not _SEEN_THROUGH.isdisjoint([x.op.__class__ for x in operands]):
        operands = tuple([behind(x) for x in operands])
    if not node.shape:
        return operands
    sources = [thin(x) for x in operands]
    # Numbers have no shape to keep, also where they are stretched.
    shaped = [k for k, x in enumerate(node.args) if x not in weak]
    kept = {
        k - len(y.shape)
        for y in [sources[k] for k in shaped]
        if y is not None and y not in weak
        for k, dim in enumerate(y.shape)
        if dim == node.shape[k - len(y.shape)]
    }
    if shaped and all(sources[k] is not None for k in shaped) and len(kept) < len(node.shape):
        # One that is stretched is enough: the others are stretched with it.
        sources[shaped[0]] = None
    return tuple(x if y is None else y for x, y in zip(operands, sources, strict=True))
