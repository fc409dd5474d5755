"""Elementwise algebra: sums, products, powers and pointwise functions in normal form.

Numbers are coefficients of a Sum, exponents of a Product, or the operand of a Fill.  ``+`` flattens
short sums and merges like terms.  A product stays binary, so that sharing survives.  Where a user
multiplies leaves, ``mul`` reads through the nesting and merges equal bases.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import sympy as sp

from symdiff.contexts import raising
from symdiff.graph import number, ops
from symdiff.graph.axes import broadcast_shapes
from symdiff.graph.leaves import (
    full,
    is_zero,
    named_size,
    number_node,
    number_of,
    promoted,
    split_coefficient,
)
from symdiff.graph.lengths import Length, atom_text, is_natural
from symdiff.graph.multiples import WHERE as _WHERE
from symdiff.graph.multiples import as_numeric as as_numeric
from symdiff.graph.multiples import scale as scale
from symdiff.graph.multiples import sum_node
from symdiff.graph.node import Dtype, Shape, make
from symdiff.graph.ranges import (
    WHOLE,
    Line,
    between,
    composed,
    count,
    meeting,
    places_of,
    reversed_places,
    step_of,
)
from symdiff.graph.rearrangement import identity, rearranged, stretched, sums
from symdiff.scalars.formula import VOCABULARY, kernel_symbol
from symdiff.scalars.vocabulary import DECISIONS, FACTS, arity

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from symdiff.graph.expr import Expr
    from symdiff.graph.node import Dim
    from symdiff.graph.number import Number
    from symdiff.graph.ranges import Places, Step
    from symdiff.scalars.vocabulary import Decision

# A sum written with + grows to this many terms, then nests: term-by-term building stays linear.
_FLAT_TERMS = 8
# ``mul`` reads products up to this size through their nesting: eight leaves, or one leaf and ten
# factors.
_READ = 22
# A larger size means a product among the factors.
_OPEN = 2

_PLUS = ops.sum_op(0, (1, 1))
_FIRST_MINUS = ops.sum_op(0, (1, -1))
_MINUS_FIRST = ops.sum_op(0, (-1, 1))


def aligned(name: str, *operands: Expr) -> tuple[Expr, ...]:
    """Broadcast the operands to one shape, booleans as numbers."""
    shape = operands[0].shape
    for x in operands:
        if x.shape != shape:
            break
    else:
        return operands
    shape = broadcast_shapes(name, *[x.shape for x in operands])
    return tuple([stretched(x, shape) for x in operands])


def as_real(x: Expr) -> Expr:
    """An integer or boolean expression as a real one, in floating point; numbers have no dtype."""
    x = as_numeric(x)
    if x.dtype is float or number_of(x) is not None:
        return x
    return make(ops.REAL, (x,), x.shape, float)


def floating(x: Expr) -> Expr:
    """``x`` for a function that is real by nature: integers in floating point, as NumPy does."""
    return as_real(x) if x.dtype is int else x


def _alike(a: Expr, b: Expr) -> bool:
    """Whether two real expressions of one shape need no broadcast, conversion or merge."""
    return a.shape == b.shape and a is not b and a.dtype is float and b.dtype is float


def add(a: Expr, b: Expr) -> Expr:
    """``a + b``."""
    if a.op.simple_term and b.op.simple_term and a.dtype is float and b.dtype is float:
        if a.shape != b.shape:
            a, b = aligned("add", a, b)
        if a is not b:
            return make(_PLUS, (a, b) if a.serial < b.serial else (b, a), a.shape, float)
    longer = _add_term(a, 1, b)
    return combine("add", [(1, a), (1, b)]) if longer is None else longer


def sub(a: Expr, b: Expr) -> Expr:
    """``a - b``."""
    if a.op.simple_term and b.op.simple_term and a.dtype is float and b.dtype is float:
        if a.shape != b.shape:
            a, b = aligned("subtract", a, b)
        if a is not b:
            if a.serial < b.serial:
                return make(_FIRST_MINUS, (a, b), a.shape, float)
            return make(_MINUS_FIRST, (b, a), a.shape, float)
    longer = _add_term(a, -1, b)
    return combine("subtract", [(1, a), (-1, b)]) if longer is None else longer


def _add_term(a: Expr, c: Number, b: Expr) -> Expr | None:
    """Add the term ``c * b`` to the short sum ``a`` as ``combine`` does; else return None.

    Sums in loops grow this way.  Terms stand in order of creation.  A term newer than all others
    equals none of them and is part of none of them.
    """
    op = a.op
    if (
        op.__class__ is not ops.Sum
        or not 0 < len(a.args) <= _FLAT_TERMS
        or a.shape != b.shape
        or a.dtype is not float
        or b.dtype is not float
    ):
        return None
    d, term = split_coefficient(b)
    if term is None or not term.op.simple_term or term.serial <= a.args[-1].serial:
        return None
    coef = d if c == 1 else number.times(c, d)
    return make(ops.sum_op(op.const, (*op.coefs, coef)), (*a.args, term), a.shape, float)


def shift(x: Expr, c: Number) -> Expr:
    """``x + c`` for a number c."""
    op = x.op
    if op.simple_term and x.dtype is float:
        return x if c == 0 else make(ops.sum_op(c, (1,)), (x,), x.shape, float)
    if op.__class__ is ops.Sum and x.args and x.dtype is float:
        const = number.plus(op.const, c)
        if const == 0 and op.coefs == (1,):
            return x.args[0]
        return make(ops.sum_op(const, op.coefs), x.args, x.shape, float)
    return combine("add", [(1, x), (1, number_node(c))])


def total(terms: Sequence[Expr]) -> Expr:
    """The sum of any number of terms of one shape (accumulated cotangents), as one node."""
    if len(terms) == 1:
        return terms[0]
    if len(terms) == 2:
        return add(terms[0], terms[1])
    return combine("add", [(1, x) for x in terms])


def combine(name: str, terms: Sequence[tuple[Number, Expr]]) -> Expr:
    """``sum of coef * expr``: like terms merged, short inner sums flattened, exact coefficients."""
    exprs = aligned(name, *[x if x.dtype is float else as_numeric(x) for _, x in terms])
    const: Number = 0
    coefs: dict[Expr, Number] = {}
    for (coef, _), x in zip(terms, exprs, strict=True):
        op = x.op
        if op.__class__ is ops.Sum and len(x.args) == 1 and op.const == 0:
            coef = op.coefs[0] if coef == 1 else number.times(coef, op.coefs[0])
            x = x.args[0]
            op = x.op  # of -2*((a + b)/2), the sum a + b
        if op.__class__ is ops.Sum:
            if not x.args or (coef in (1, -1) and len(x.args) <= _FLAT_TERMS):
                const = _gather(coefs, const, coef, x)
                continue
        elif op.__class__ is ops.Fill:
            const = number.plus(const, number.times(coef, x.args[0].op.const))  # type: ignore[attr-defined]
            continue
        before = coefs.get(x)
        coefs[x] = coef if before is None else number.plus(before, coef)
    # 2*(a + b) meets a and b: its terms are like terms.  Without them the inner sum keeps its own
    # rounding.
    for x in [x for x in coefs if x.op.__class__ is ops.Sum]:
        if number.is_short(coefs[x]) and _all_in(x.args, coefs):
            const = _gather(coefs, const, coefs.pop(x), x)
    return sum_node(const, coefs, exprs[0].shape)


def _all_in(args: tuple[Expr, ...], terms: Mapping[Expr, Number]) -> bool:
    return len(args) <= _FLAT_TERMS and all(arg in terms for arg in args)


def _gather(coefs: dict[Expr, Number], const: Number, coef: Number, x: Expr) -> Number:
    """Add ``coef`` times the terms of a Sum to ``coefs``; return the new constant."""
    op = x.op
    assert isinstance(op, ops.Sum)
    for inner, arg in zip(op.coefs, x.args, strict=True):
        more = inner if coef == 1 else number.times(coef, inner)
        before = coefs.get(arg)
        coefs[arg] = more if before is None else number.plus(before, more)
    return number.plus(const, number.times(coef, op.const)) if op.const else const


def mul(a: Expr, b: Expr, merge: bool = False) -> Expr:
    """``a * b``; with ``merge`` (products that users write) equal bases merge through the nesting.

    Derivatives stay nested as the chain rule makes them, so that their parts are shared.  The
    exceptions are bases that cancel and quotients by functions of one leaf.
    """
    p, q = a.op, b.op
    if (
        p.simple_factor
        and q.simple_factor
        and a is not b
        and a.dtype is float
        and b.dtype is float
        and a.shape == b.shape
    ):
        size = p.size + q.size
        op = _TIMES[size]
        args = (a, b) if a.serial < b.serial else (b, a)
        ref = op.table.get(args)
        node: Expr | None = None if ref is None else ref()
        if node is not None:
            return node
        if _OPEN < size <= _READ and _may_interact(a, b):
            return _merge_factors(a, b, merge)
        return make(op, args, a.shape, float)
    return scaled_product(1, a, b, merge)


def scaled_product(c: Number, a: Expr, b: Expr, merge: bool = False) -> Expr:
    """``c * a * b`` for a number c, with no node for an intermediate multiple."""
    (d, x), (e, y) = split_coefficient(a), split_coefficient(b)
    if x is None and not a.shape:
        return scale(number.times(c, d), b)
    if y is None and not b.shape:
        return scale(number.times(c, e), a)
    if a.shape != b.shape or a.dtype is bool or b.dtype is bool:
        a, b = aligned("multiply", as_numeric(a), as_numeric(b))
        return scaled_product(c, a, b, merge)
    if d != 1 or e != 1:
        c = number.times(c, number.times(d, e))
    if x is None or y is None or c == 0:
        rest = y if x is None else x
        return full(a.shape, c) if rest is None or c == 0 else scale(c, rest)
    simple = x.op.simple_factor and y.op.simple_factor and _alike(x, y)
    node = (mul if simple else _multiply_same_shape)(x, y, merge)
    return node if c == 1 else scale(c, node)


def _multiply_same_shape(a: Expr, b: Expr, merge: bool) -> Expr:
    """``a * b`` for operands of one shape without coefficients."""
    (x, p), (y, q) = _power_of(a), _power_of(b)
    if x is y:
        return int_power(x, _exact(p + q), merge)
    size = x.op.size + y.op.size
    if not _OPEN < size <= _READ or (
        (p == 1 or x.op.size <= 1) and (q == 1 or y.op.size <= 1) and not _may_interact(x, y)
    ):
        return _pair(x, p, y, q)
    return _merge_factors(a, b, merge)


def _merge_factors(a: Expr, b: Expr, merge: bool) -> Expr:
    """Merge the factors of ``a * b`` if ``merge`` is set or a base cancels.

    A product that could have merged and did not counts as one factor for other products: its size
    is 0.
    """
    (x, p), (y, q) = _power_of(a), _power_of(b)
    powers, other_powers = _factors(a), _factors(b)
    both = [base for base in other_powers if base in powers]
    if not both and not _of_leaves(powers, other_powers):
        return _pair(x, p, y, q)
    merge = merge or any(powers[base] * other_powers[base] < 0 for base in both)
    for base, r in other_powers.items():
        powers[base] = _exact(powers.get(base, 0) + r)
    # Quotients of x by g(x) get smaller, and x**n/g**n does not overflow where x/g does not.
    divisors = [base for base, p in powers.items() if p < 0]
    merge = merge or (
        len(both) == 1 and bool(divisors) and all(_is_of_one(both[0], g) for g in divisors)
    )
    merged = _build_product(powers, a.shape, None if merge else (x, y))
    if merged is not None and (merge or {*merged.args} == {x, y}):
        return merged
    return _pair(x, p, y, q, 0)


def _may_interact(a: Expr, b: Expr) -> bool:
    """Whether a and b may share a factor, or have leaves that must be reordered."""
    if b.op.size > _OPEN:
        if a.op.size > _OPEN:
            powers, other_powers = _factors(a), _factors(b)
            return _of_leaves(powers, other_powers) or any(base in powers for base in other_powers)
        a, b = b, a
    serial, leaves, later = b.serial, b.op.size == 1, a.op.over
    if serial > a.args[-1].serial:  # x is newer than every node inside a
        return leaves and later
    nested = [a]
    for product in nested:
        for x in product.args:
            if x is b:
                return True
            size = x.op.size
            if size == 1:
                if x.serial > serial:
                    later = True
            elif size > _OPEN:
                nested.append(x)
            else:
                leaves = False
    return leaves and later


_NEAR = 8  # nodes that the search visits


def _is_of_one(leaf: Expr, x: Expr) -> bool:
    """Whether x is a small function of this leaf alone."""
    stack = [x]
    for _ in range(_NEAR):
        if not stack:
            return True
        node = stack.pop()
        if node.op.size == 1 and node is not leaf:
            return False
        stack.extend(node.args)
    return False


def _of_leaves(*factors: Iterable[Expr]) -> bool:
    return all(base.op.size == 1 for bases in factors for base in bases)


def _factors(x: Expr) -> dict[Expr, int | Fraction]:
    """Bases and exponents: of a power, of a product with leaves, or ``x`` itself as one factor."""
    powers: dict[Expr, int | Fraction] = {}
    stack: list[tuple[Expr, int | Fraction]] = [(x, 1)]
    while stack:
        x, p = stack.pop()
        op = x.op
        if (
            isinstance(op, ops.Product)
            and (len(x.args) == 1 or 0 < op.size <= _READ)
            and p.__class__ is int
        ):
            for base, q in zip(reversed(x.args), reversed(op.exponents), strict=True):
                stack.append((base, _exact(p * q)))
        else:
            powers[x] = _exact(powers.get(x, 0) + p)
    return powers


def _build_product(
    powers: Mapping[Expr, int | Fraction], shape: Shape, ends: tuple[Expr, Expr] | None = None
) -> Expr | None:
    """The product of powers: leaves by creation, divided by leaves, times the other factors.

    Return None where only integers are left, or where the last base is not one of ``ends``.
    """
    bases = [x for x, p in powers.items() if p]
    if not bases:
        return full(shape, 1)
    # Integers come last: each becomes real before the multiplication, because their product may
    # overflow.
    bases.sort(key=lambda x: (x.dtype is not float, *_place(x, powers[x])))
    if bases[0].dtype is not float:
        return None
    factors = [int_power(x, powers[x]) for x in bases]
    if any(_power_of(factor)[0] is not x for factor, x in zip(factors, bases, strict=True)):
        return product(factors)  # once a root has cancelled, the rest can be any formula
    if ends is not None and bases[-1] is not ends[0] and bases[-1] is not ends[1]:
        return None
    result = factors[0]
    for x in bases[1:]:
        result = _pair(*_power_of(result), x, powers[x])
    return result


def _place(x: Expr, p: int | Fraction) -> tuple[int, ...]:
    """The sort key of a factor: leaves by creation, then leaves as divisors, then the rest."""
    return (0, p < 0, x.serial) if x.op.size == 1 else (1, 0, 0)


def _pair(x: Expr, p: int | Fraction, y: Expr, q: int | Fraction, size: int | None = None) -> Expr:
    """The node of ``x**p * y**q`` for different bases."""
    integral = x.dtype is not float and y.dtype is not float
    dtype = _power_dtype((x, p), (y, q)) if integral else float
    if size is None:
        size = 0 if integral else _size(x.op.size + y.op.size)
    op = ops.product_op((p, q) if x.serial < y.serial else (q, p), size)
    return make(op, (x, y) if x.serial < y.serial else (y, x), x.shape, dtype)


def _size(inner: int) -> int:
    """The size of a product whose operands' sizes add up to ``inner``."""
    return min(inner + _OPEN, _READ + 1) if inner else 0


# Ops of products of two factors, indexed by the sum of the factors' sizes.
_TIMES, _OVER, _UNDER = (
    [ops.product_op(exponents, _size(inner)) for inner in range(2 * _READ + 3)]
    for exponents in ((1, 1), (1, -1), (-1, 1))
)


def product(factors: Iterable[Expr]) -> Expr:
    """The product of any number of factors, associated from the left; 1 if there are none."""
    result = number_node(1)
    for factor in factors:
        result = mul(result, factor)
    return result


def size(dim: Dim) -> Expr:
    """The length of an axis as a scalar expression: a polynomial over names and quotients.

    >>> from symdiff import symbol
    >>> symbol("x", "n - 1").size is symbol("y", "n").size - 1
    True
    """
    if isinstance(dim, int):
        return number_node(dim)
    if not isinstance(dim, Length):
        return named_size(dim)
    if dim.is_name:
        return named_size(str(dim))
    terms = [
        (c, product([int_power(named_size(atom_text(atom)), p) for atom, p in monomial]))
        for monomial, c in dim.terms
    ]
    return combine("length", terms)


def counted(dim: Dim) -> Expr:
    """The number of elements along an axis, clipped at 0 where the length may be negative.

    >>> from symdiff import symbol
    >>> v = symbol("v", "n")
    >>> counted(v.shape[0] + 1) is v.size + 1, counted(v.shape[0] - 1) is v.size - 1
    (True, False)
    """
    if isinstance(dim, Length) and not is_natural(dim):
        return make(ops.count_op(dim), (), (), int)
    return size(dim)


def _exact(p: int | Fraction) -> int | Fraction:
    return p if p.__class__ is int else number.norm(Fraction(p))


def _power_of(x: Expr) -> tuple[Expr, int | Fraction]:
    if x.op.__class__ is ops.Product and len(x.args) == 1:
        return x.args[0], x.op.exponents[0]
    return x, 1


def _power_dtype(*powers: tuple[Expr, int | Fraction]) -> Dtype:
    integral = all(x.dtype is int and p.__class__ is int and p >= 0 for x, p in powers)
    return int if integral else float


def divide(a: Expr, b: Expr) -> Expr:
    """``a / b``; integers divide to a real number."""
    if not b.shape and (d := number_of(b)):
        return scale(number.reciprocal(d), a)
    p, q = a.op, b.op
    if p.simple_factor and q.simple_factor and q not in _WITH_RECIPROCAL and _alike(a, b):
        size = p.size + q.size
        if not _OPEN < size <= _READ or (q.size <= 1 and not _may_interact(a, b)):
            if a.serial < b.serial:
                return make(_OVER[size], (a, b), a.shape, float)
            return make(_UNDER[size], (b, a), a.shape, float)
    return mul(a, int_power(as_numeric(b), -1, True), True)


def int_power(x: Expr, p: int | Fraction, merge: bool = False) -> Expr:
    """``x ** p`` for an exact number p.

    With ``merge`` (for powers that users write), a power of a product of leaves becomes a product
    of powers.
    """
    op = x.op
    if merge and p.__class__ is int and op.__class__ is ops.Product and 0 < op.size <= _READ:
        powers = {base: _exact(p * q) for base, q in _factors(x).items()}
        if _of_leaves(powers):
            merged = _build_product(powers, x.shape)
            assert merged is not None
            return merged
    if p < 0 and op in _WITH_RECIPROCAL:
        function = _function_of_reciprocal(x)
        if function is not None:
            return int_power(function, -p)
    if op.simple_factor and x.dtype is float and p != 0 and p != 1:
        return make(ops.product_op((p,)), (x,), x.shape, float)
    if p == 1:
        return x
    if p == 0:
        return full(x.shape, 1)
    c, base = split_coefficient(x)
    if base is None:
        value = number.raised(c, p)
        if value is not None:
            return full(x.shape, value)
        if not x.shape:
            return make(ops.product_op((p,)), (x,), (), float)
        return stretched(int_power(number_node(c), p), x.shape)
    outer = number.raised(c, p) if c != 1 and (p.__class__ is int or c > 0) else None
    if outer is not None and number.is_normal(outer):
        return scale(outer, int_power(base, p, merge))
    if x.op is _NORM_SQRT and p.__class__ is int and p > 0 and p % 2 == 0:
        return int_power(x.args[0], p // 2)  # This keeps the derivative 0 at 0, as the norm's is.
    base, q = _power_of(x)
    # (x**q)**p is x**(q*p) for every real x if p is an integer.  It also is if the inner power is
    # negative exactly where x is and the merged exponent is still undefined there.
    pq = number.norm(Fraction(p) * q)
    if q != 1 and (p.__class__ is int or _keeps_domain(q, pq)):
        return int_power(base, pq)
    return make(ops.product_op((p,)), (x,), x.shape, _power_dtype((x, p)))


def _function_of_reciprocal(x: Expr) -> Expr | None:
    """The function of u that equals 1/x, or None: sech(u) for cosh(u), sigmoid(-u) for 1 + exp(u).

    The reciprocal of expm1(u) is bose(0, u).  Neither these functions nor their derivatives
    overflow where x does.
    """
    (u,) = x.args
    if x.op is _COSH:
        return primitive("sech", u)
    if x.op is _EXPM1:
        return primitive("bose", number_node(0), u)
    return primitive("sigmoid", scale(-1, u.args[0])) if u.op is _EXP else None


def _keeps_domain(inner: int | Fraction, merged: int | Fraction) -> bool:
    return merged.__class__ is not int and (inner.__class__ is not int or inner % 2 == 1)


def power(a: Expr, b: Expr) -> Expr:
    """``a ** b``: an exact power where b is a number, else the vocabulary's ``power``."""
    exponent = number_of(b)
    if (
        exponent is not None
        and not b.shape
        and (not isinstance(exponent, float) or math.isfinite(exponent))
    ):
        return int_power(as_numeric(a), number.exact_exponent(exponent), True)
    if isinstance(a.op, ops.Exact) and a.op.name == "e":
        return primitive("exp", b)
    return primitive("power", a, b)


# Pointwise functions ------------------------------------------------------------------------------


def _primitives() -> dict[str, ops.Pointwise]:
    with sp.evaluate(False):  # entering it empties SymPy's caches: enter it once for all
        formulas = {
            name: cls(*(kernel_symbol(k) for k in range(arity(name))))
            for name, cls in VOCABULARY.items()
        }
    return {
        name: ops.pointwise_op(
            name, formula, arity(name), FACTS[name].result, decides=FACTS[name].decides
        )
        for name, formula in formulas.items()
    }


def _decision_op(cls: type[Decision]) -> ops.Pointwise:
    arity = int(next(iter(cls.nargs)))
    formula = cls.formula(*(kernel_symbol(k) for k in range(arity)))
    result = FACTS[formula.func.__name__].result
    return ops.pointwise_op(
        cls.__name__, formula, arity, result, primitive=False, decides=cls.decides
    )


PRIMITIVES: dict[str, ops.Pointwise] = _primitives()
OP_OF_CLASS: dict[type[sp.Function], ops.Pointwise] = {
    **{cls: PRIMITIVES[name] for name, cls in VOCABULARY.items()},
    **{cls: _decision_op(cls) for cls in DECISIONS},
}
_NORM_SQRT = PRIMITIVES["norm_sqrt"]
_LOG, _ABS = PRIMITIVES["log"], PRIMITIVES["abs"]
_ROUNDINGS = frozenset(op for name, op in PRIMITIVES.items() if FACTS[name].rounds)
_COSH, _EXP, _ONE_AND = PRIMITIVES["cosh"], PRIMITIVES["exp"], ops.sum_op(1, (1,))
_EXPM1 = PRIMITIVES["expm1"]
_WITH_RECIPROCAL = frozenset({_COSH, _EXPM1, _ONE_AND})


def primitive(name: str, *operands: Expr) -> Expr:
    """The vocabulary function ``name`` applied to each element."""
    return pointwise(PRIMITIVES[name], *operands)


def pointwise(op: ops.Pointwise, *operands: Expr) -> Expr:
    """``op`` applied to each element of the operands, broadcast to one shape."""
    if op.arity == 1 and op.primitive and len(operands) == 1:
        x = operands[0]
        if x.op.simple_term and x.dtype is float:  # neither a number nor a boolean
            if op is _LOG and x.op is _ABS:
                inner = x.args[0].op
                if isinstance(inner, ops.Opaque) and inner.log_abs is not None:
                    return opaque(ops.opaque_op(inner.log_abs), *x.args[0].args)
            return make(op, operands, x.shape, op.result or float)
        if x.dtype is not float and op in _ROUNDINGS:
            return as_numeric(x)
    elif op is _WHERE:
        return select(*operands)
    if len(operands) != op.arity:
        raise TypeError(f"{op.name}: takes {op.arity} operands, got {len(operands)}")
    if op.primitive and op.result is not bool:
        operands = tuple(as_numeric(x) for x in operands)
    operands = aligned(op.name, *operands)
    folded = _fold_exact(op, operands)
    if folded is not None:
        return full(operands[0].shape, folded)
    dtype = op.result if op.result is not None else promoted(operands)
    return make(op, operands, operands[0].shape, dtype)


def _fold_exact(op: ops.Pointwise, operands: tuple[Expr, ...]) -> Number | None:
    """The exact rational value at exact numbers, or None (sin(0), log(1), floor(5/2) have one).

    A decision may follow from some of its operands: 2 == 0 and x >= 0 is false for every x.
    """
    decides = op.decides is not None
    if (decides and raising()) or (op.result is bool and not decides):
        return None  # A number could not raise an error later; booleans stay as written.
    constants: dict[sp.Symbol, sp.Rational] = {}
    for k, x in enumerate(operands):
        value = number_of(x)
        if value is not None and (
            not isinstance(value, float) or (decides and math.isfinite(value))
        ):
            constants[kernel_symbol(k)] = sp.Rational(*value.as_integer_ratio())
        elif not decides:
            return None
    if not constants:
        return None
    result = op.formula.xreplace(constants)
    complete = op.primitive and len(constants) == op.arity
    result = result.doit() if complete and not isinstance(result, sp.Rational) else result
    return number.exact(result) if isinstance(result, sp.Rational) else None


def select(condition: Expr, a: Expr, b: Expr) -> Expr:
    """``where(condition, a, b)``: the unselected value never counts, not even where it is nan."""
    if a.dtype is not bool or b.dtype is not bool:
        a, b = as_numeric(a), as_numeric(b)
    condition, a, b = aligned("where", condition, a, b)
    truth = number_of(condition)
    if truth is not None:
        return a if truth else b
    # The outer choice has already decided the same condition inside a branch.
    if a.op is _WHERE and a.args[0] is condition:
        a = a.args[1]
    if b.op is _WHERE and b.args[0] is condition:
        b = b.args[2]
    return a if a is b else make(_WHERE, (condition, a, b), a.shape, promoted((a, b)))


def barrier(op: ops.Barrier, x: Expr) -> Expr:
    """``x`` inside a barrier op: detached, refused for differentiation, or as a real number."""
    if op is ops.REAL:
        return as_real(x)
    return x if number_of(x) is not None else make(op, (x,), x.shape, x.dtype)


def linear(op: ops.Linear, *operands: Expr) -> Expr:
    """A linear map applied to the trailing axes."""
    # the map only selects elements, so a mask stays a mask
    moves = op.selects and not op.writes_zeros()
    if not moves or len({x.dtype is bool for x in operands}) > 1:
        operands = tuple(as_numeric(x) for x in operands)
    shape = op.result(*(x.shape for x in operands))
    if all(is_zero(x) for x in operands):
        return full(shape, 0)
    if (
        isinstance(op, ops.Unslice)
        and op.before == op.after
        and all(step > 0 for *_, step in op.steps)
    ):
        return operands[0]
    if moves and len(operands) == 1:
        value = number_of(operands[0])
        if value is not None:
            return full(shape, value)
        if isinstance(op, ops.Reshape) and op.before == op.after:
            return operands[0]
        if isinstance(op, ops.Slice | ops.Flip):
            moved = _push_slice(op, operands[0])
            if moved is not None:
                return moved
    return make(op, operands, shape, promoted(operands) if op.kind is None else op.kind)


# Elements and slices: each block of a leaf has one normal form ----------------------------------


def _push_slice(op: ops.Slice | ops.Flip, x: Expr) -> Expr | None:
    """Push a slice, or a reverse, of x into the rearrangement or join that x is.

    A slice of a slice is one slice.  A slice of a transpose is the transpose of a slice.  An
    element of zeros, deltas, stacks or scattered parts is an element of a part, or 0.  Return None
    where the result would not be smaller.
    """
    inner = x.op
    if isinstance(op, ops.Flip):
        if inner.__class__ is not ops.Slice:
            return None
        held = blocks(inner, x.args[0].shape)
        turned = {x.ndim + axis for axis in op.axes}
        if not any(
            k in turned and isinstance(r, range | Line) and step_of(r, n) != WHOLE
            for k, (r, n) in enumerate(zip(held, x.args[0].shape, strict=True))
        ):
            return None
        inside = [
            isinstance(n, int) or isinstance(r, Line) for n, r in zip(x.shape, held, strict=True)
        ]
        reverse = [(-1, None, -1) if k in turned and inside[k] else WHOLE for k in range(x.ndim)]
        rest = tuple([axis for axis in op.axes if not inside[axis]])
        moved = _merge_slices(x.args[0], inner, reverse)
        return linear(ops.flip_op(rest), moved) if rest and moved is not None else moved
    lead = x.ndim - len(op.before)
    steps = [*[WHOLE] * lead, *op.steps]
    match inner:
        case ops.Slice() | ops.Flip():
            return _merge_slices(x.args[0], inner, steps)
        case ops.Contract() if not sums(x):
            return _slice_contraction(inner, x, steps)
        case ops.Unslice():
            return _slice_unslice(inner, x, steps)
        case ops.Concat():
            return _slice_join(inner, x, steps)
        case ops.Reshape():
            return _slice_reshape(inner, x, steps)
        case ops.Sum() if len(x.args) == 1 and inner.const == 0:
            return scale(inner.coefs[0], linear(op, x.args[0]))
        case ops.Sum() if inner.const == 0 and all(
            y.op.__class__ is ops.Unslice
            for _, y in map(split_coefficient, x.args)
            if y is not None
        ):
            parts = zip(inner.coefs, x.args, strict=True)
            return combine("add", [(c, linear(op, y)) for c, y in parts])
    return None


def blocks(op: ops.Slice | ops.Unslice, shape: Shape) -> list[Places]:
    """The positions that a slice takes, or a part fills, along every axis of the full ``shape``."""
    lead = len(shape) - len(op.before)
    steps = [*[WHOLE] * lead, *op.steps]
    return [places_of(step, n) for step, n in zip(steps, shape, strict=True)]


def block(x: Expr, places: Sequence[Places]) -> Expr:
    """The elements of x at these positions of each axis."""
    return _blockwise(x, places, x.shape, inside=False)


def part(x: Expr, places: Sequence[Places], shape: Shape) -> Expr:
    """Zeros of ``shape``, with the elements of x at these positions of each axis."""
    return _blockwise(x, places, shape, inside=True)


def _blockwise(x: Expr, places: Sequence[Places], shape: Shape, *, inside: bool) -> Expr:
    steps = [step_of(r, n) for r, n in zip(places, shape, strict=True)]
    first = next((k for k, step in enumerate(steps) if step != WHOLE), None)
    if first is None:
        return x
    after = tuple([count(r, n) for r, n in zip(places, shape, strict=True)][first:])
    make_op = ops.unslice_op if inside else ops.slice_op
    return linear(make_op(shape[first:], tuple(steps[first:]), after), x)


def _merge_slices(x: Expr, inner: ops.Slice | ops.Flip, steps: Sequence[Step]) -> Expr | None:
    """The slice ``steps`` of a slice or reverse of x, as one slice of x."""
    if isinstance(inner, ops.Slice):
        before = blocks(inner, x.shape)
        turned: set[int] = set()
    else:
        before = [places_of(WHOLE, n) for n in x.shape]
        turned = {x.ndim + axis for axis in inner.axes}
    try:
        places = [composed(step, r, n) for step, r, n in zip(steps, before, x.shape, strict=True)]
    except LookupError:
        return None
    flipped = []
    for k, n in enumerate(x.shape):
        r = places[k]
        if k in turned:
            if r is None:  # a whole axis of symbolic length
                flipped.append(k - x.ndim)
                continue
            try:
                r = places[k] = reversed_places(r, n)
            except LookupError:
                return None
        if isinstance(r, range) and len(r) == n and r.step < 0 and len(r) > 1:
            flipped.append(k - x.ndim)
            places[k] = r[::-1]
        elif isinstance(r, Line) and r.step == -1 and r.length == n:
            flipped.append(k - x.ndim)
            places[k] = None
    taken = block(x, places)
    return linear(ops.flip_op(tuple(flipped)), taken) if flipped else taken


def _slice_contraction(op: ops.Contract, x: Expr, steps: Sequence[Step]) -> Expr | None:
    """A slice of a transpose, of a broadcast array or of a diagonal."""
    places: dict[int, Places] = {}  # positions by letter
    sizes: dict[int, Dim] = {}
    ahead: list[tuple[Places, Dim]] = []  # the position of the block on each axis of the result
    for letter, step, n in zip(op.out, steps, x.shape, strict=True):
        new = places_of(step, n)
        ahead.append((None, count(new, n)))
        if letter not in places:
            places[letter], sizes[letter] = new, n
        elif step_of(places[letter], n) != step:
            if op.out.count(letter) > 2:
                return None
            try:
                met = meeting(places[letter], new, n)
            except LookupError:
                return None
            if met is None:
                return full(
                    tuple([count(places_of(s, m), m) for s, m in zip(steps, x.shape, strict=True)]),
                    0,
                )
            first = op.out.index(letter)
            ahead[first] = met[0], ahead[first][1]
            ahead[-1] = met[1], ahead[-1][1]
            chosen = places[letter]
            if not isinstance(n, int):
                places[letter] = new if chosen is None else chosen
            else:
                reachable = range(n) if chosen is None else chosen
                assert isinstance(reachable, range)
                assert isinstance(met[0], range)
                places[letter] = reachable[met[0].start : met[0].stop : met[0].step]
    lengths = {letter: count(r, sizes[letter]) for letter, r in places.items()}
    out, extra = list(op.out), 1 + max([*op.out, *(k for w in op.letters for k in w)], default=0)
    # a single element does not need the axes to form a diagonal
    for axis, letter in enumerate(op.out):
        if lengths[letter] == 1 and op.out.index(letter) != axis:
            out[axis], extra = extra, extra + 1
            lengths[out[axis]] = 1
    if x.args:
        ((word,), (y,)) = op.letters, x.args
        along = [places_of(WHOLE, n) for n in y.shape]
        y = block(y, [places.get(k, r) for k, r in zip(word, along, strict=True)])
        lengths.update(zip(word, y.shape, strict=True))
        taken = rearranged(y, word, tuple(out), lengths)
    else:
        taken = identity(tuple(out), lengths)
    return part(taken, [r for r, _ in ahead], tuple([n for _, n in ahead]))


def _slice_unslice(op: ops.Unslice, x: Expr, steps: Sequence[Step]) -> Expr | None:
    """Slice zeros that contain a part: take the overlap with the part."""
    (y,) = x.args
    outer, inner = [], []
    for step, held, n in zip(steps, blocks(op, x.shape), x.shape, strict=True):
        try:
            met = meeting(places_of(step, n), held, n)
        except LookupError:
            return None
        if met is None:
            return full(
                tuple([count(places_of(s, m), m) for s, m in zip(steps, x.shape, strict=True)]), 0
            )
        outer.append(met[0])
        inner.append(met[1])
    shape = tuple([count(places_of(s, n), n) for s, n in zip(steps, x.shape, strict=True)])
    return part(block(y, inner), outer, shape)


def _slice_join(op: ops.Concat, x: Expr, steps: Sequence[Step]) -> Expr | None:
    """A slice that lies within one operand of a join."""
    axis = x.ndim + op.axis
    places = [places_of(step, n) for step, n in zip(steps, x.shape, strict=True)]
    taken = places[axis]
    if isinstance(taken, int | Line):
        return _slice_named_join(op, x, places)
    if not taken:
        return None
    start = 0
    for y, length in zip(x.args, op.lengths, strict=True):
        if not isinstance(length, int):
            return None
        if min(taken) >= start and max(taken) < start + length:
            local = range(length)
            i, j = local.index(taken[0] - start), local.index(taken[-1] - start)
            places[axis] = range(i, j + (1 if taken.step > 0 else -1), taken.step)
            return block(y, places)
        start += length
    return None


def _slice_named_join(op: ops.Concat, x: Expr, places: list[Places]) -> Expr | None:
    """``_slice_join`` along an axis of symbolic length: within one operand at every length."""
    axis = x.ndim + op.axis
    taken, n = places[axis], x.shape[axis]
    # a letter stands for a length, so no position can be counted from it
    if not isinstance(n, Length):
        return None
    if isinstance(taken, int):
        first = taken if taken >= 0 else n + taken
        taken = Line(first, first + 1, 1)
    assert isinstance(taken, Line)
    start: Any = 0
    for y, length in zip(x.args, op.lengths, strict=True):
        i, j = taken.first - start, taken.stop - start
        if taken.step == 1 and is_natural(i) and is_natural(length - j):
            places[axis] = places_of(between(i, j, length), length)
            return block(y, places)
        start = start + length
    return None


def _slice_reshape(op: ops.Reshape, x: Expr, steps: Sequence[Step]) -> Expr | None:
    """One element of an array that was reshaped."""
    (y,) = x.args
    lead = x.ndim - len(op.after)
    places = [places_of(step, n) for step, n in zip(steps, x.shape, strict=True)]
    flat = 0
    for r, n in zip(places[lead:], op.after, strict=True):
        if not isinstance(r, range) or len(r) != 1 or not isinstance(n, int):
            return None
        flat = flat * n + r[0]
    trailing: list[Places] = []
    for n in reversed(op.before):
        if not isinstance(n, int) or not n:  # an earlier axis has length 0, so the result is empty
            return None
        flat, k = divmod(flat, n)
        trailing.append(range(k, k + 1))
    taken = block(y, [*places[:lead], *reversed(trailing)])
    ones = (1,) * len(op.after)
    axes = tuple(range(y.ndim + len(ones)))
    out = axes[:lead] + axes[y.ndim :]
    return rearranged(taken, axes[: y.ndim], out, taken.shape + ones)


def opaque(op: ops.Opaque, *operands: Expr) -> Expr:
    """The node of an op with a written rule; zero where a linear operand is zero."""
    operands = tuple([as_numeric(x) if x.dtype is bool else x for x in operands])
    shape = op.result(*[x.shape for x in operands])
    for k in op.linear_in:
        if k < len(operands) and is_zero(operands[k]):
            return full(shape, 0)
    node = op.identity(*operands)
    if node is not None:
        return node
    return make(op, operands, shape, promoted(operands) if op.kind is None else op.kind)
