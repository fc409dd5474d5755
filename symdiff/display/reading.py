"""Normal forms for display: rearrange the graph before it becomes text.

The written formula may differ from the computed one.  Derivatives keep their products nested, to
share parts; they mark masked factors, to avoid nan; and they state the side at kinks.  A reader
expects equal factors as one power, a plain product, and a sign.  ``reading`` builds nodes of the
same value for that, with the algebra that users' own formulas follow.  A formula as typed is its
own normal form.

``components`` returns a small array as the stack of its elements' formulas.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import reduce
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import sympy as sp

from symdiff import functions, opaque_ops
from symdiff.errors import Unsupported
from symdiff.exact.components import evaluated, filled
from symdiff.functions.indexing import getitem
from symdiff.functions.products import det, inv
from symdiff.functions.shaping import concat, expand_dims
from symdiff.graph import ops
from symdiff.graph.algebra import combine, int_power, mul, pointwise, primitive, scale, select
from symdiff.graph.arithmetic import Arithmetic
from symdiff.graph.expr import built, pi, rebuild
from symdiff.graph.formula_nodes import from_parts, is_decision, lift, over_formula
from symdiff.graph.leaves import as_expr, full, number_node, number_of, split_coefficient
from symdiff.graph.node import make, topological
from symdiff.scalars.formula import canonical, kernel_symbol
from symdiff.scalars.vocabulary import FACTS, ScalarFunction
from symdiff.scalars.vocabulary.facts import TURN
from symdiff.transforms.bodies import replaced

if TYPE_CHECKING:
    from collections.abc import Sequence

    from symdiff.graph.axes import Word
    from symdiff.graph.expr import Expr
    from symdiff.graph.node import Node
    from symdiff.graph.number import Number

# Larger graphs are written unchanged: merged products share less.
_NODES = 600
_GROWTH = 3
# The most operations of a derivative without a short name that is written out.
_WRITTEN_OUT = 12
# The most operations of a formula that is only for readers; a graph may grow by as many nodes.
_LONGEST = 60
# Formulas that have values outside of the functions' domains, too.
_DENSITIES = "gamma_density", "beta_density"

# The most elements of a shown array and of intermediate ones, and the most products in all of them.
SHOWN = 16
_ELEMENTS = 64
_TERMS = 512


def reading(expr: Expr, merges: bool = True) -> Expr:
    """Return ``expr`` in its normal form for display, with the same value.

    Unless it ``merges``, equal factors of nested products stay apart, as the graph has them: the
    typed sin(x)*(sin(x)*y) is not the node of sin(x)**2*y.

    >>> import symdiff as sd
    >>> x = sd.symbol("x")
    >>> reading(sd.diff(sd.exp(sd.sin(x)), x, 2)) is sd.diff(sd.exp(sd.sin(x)), x, 2)
    False
    >>> reading(x * sd.sin(x)) is x * sd.sin(x)
    True
    """
    nodes = topological([expr])
    if len(nodes) > _NODES:
        return expr
    done: dict[Expr, Expr] = {}
    for node in nodes:
        done[node] = _normal_node(node, [done[arg] for arg in node.args], merges)
    read = done[expr]
    most = _GROWTH * len(nodes) + _LONGEST * merges
    return read if len(topological([read])) <= most else expr


def _normal_node(node: Expr, args: Sequence[Expr], merges: bool = True) -> Expr:
    """The normal form of a node over operands in normal form."""
    op = node.op
    match op:
        case ops.Product():
            return _move_outside(_typed_product(args, op.exponents, merges))
        case ops.Strong():
            return _move_outside(_typed_product(args, (1, 1), merges))
        case ops.Barrier() if op in (ops.REAL, ops.NO_GRAPH):
            return args[0]
        case ops.Contract() if args:
            return _contract(op, args)
        case ops.Pointwise() if is_decision(op):
            return over_formula(node, args, _normal_node)
        case ops.Pointwise(primitive=True, name="where"):
            if _is_nan(args[0]):
                return args[2]
            return select(*(_decided(args) if merges else args))
        case ops.Pointwise(primitive=True, name="logical_or") if _is_nan(args[1]):
            return args[0]
        case ops.Pointwise(primitive=True):
            written = _write_out(node, args, merges)
            if written is not None:
                return written
        case opaque_ops.Cofactor():
            (a,) = args
            return _multiply(expand_dims(det(a), (-2, -1)) if a.ndim > 2 else det(a), inv(a).mT)
        case ops.Opaque() if args and op.is_linear_in(len(args) - 1) and op.indices is None:
            number, core = split_factor(args[-1])
            return _multiply(number, rebuild(node, (*args[:-1], core)))
    read = rebuild(node, tuple(args))
    return _move_outside(_factor_matrix(read)) if isinstance(op, ops.Sum | ops.Pointwise) else read


def is_reciprocal(node: Expr) -> bool:
    """Whether the node is bose(0, x), which is written as a user types it: 1/expm1(x)."""
    return node.op.name == "bose" and number_of(node.args[0]) == 0


def _is_known(node: Expr) -> bool:
    """Whether users know the function, or its notation."""
    norm = node.op.name == "norm_sqrt" and isinstance(node.args[0].op, ops.Contract)
    return is_reciprocal(node) or norm or hasattr(functions, node.op.name)


def _write_out(node: Expr, args: Sequence[Expr], for_readers: bool) -> Expr | None:
    """Write a function without a public name in functions that users know; None for others.

    A formula only ``for_readers`` may lose digits, and the convention at a kink.
    """
    op = node.op
    assert isinstance(op, ops.Pointwise)
    facts = FACTS[op.name]
    written = facts.written if for_readers else None
    if not issubclass(facts, ScalarFunction) or _is_known(node):
        return None
    if written is None and op.name in _DENSITIES:
        return None
    orders = [number_of(x) for x in args[: facts.orders]]
    if any(n is None or isinstance(n, float) for n in orders):
        return None
    # SymPy would fold a float into a rounded one, exp(0.1 - x) into 1.1051709180756477*exp(-x), and
    # sech(-1) into sech(1).  Next to other operands a number folds conditions, 1 == 0.
    numbers = [number_of(x) for x in args]
    alone = None not in numbers[facts.orders :]
    keeps = [not (alone or n is None or isinstance(n, float)) for n in numbers]
    symbols = [
        sp.sympify(n) if k < facts.orders or keeps[k] else kernel_symbol(k)
        for k, n in enumerate(numbers)
    ]
    try:
        formula = canonical((written or facts.definition)(*symbols))
    except Unsupported:
        return None
    called = [part.func.__name__ for part in formula.atoms(sp.Function)]
    algebraic = all(name == "where" or FACTS[name].infix for name in called)
    size = formula.count_ops()
    if written is not None:
        if size > _LONGEST:
            return None
    elif facts.orders and not (algebraic and size <= _WRITTEN_OUT):
        return None  # the formula would lose digits
    operand_of = {s: x for s, x in zip(symbols, args, strict=True) if s.is_Symbol}
    operand_of[TURN] = scale(2, pi)
    operands = {x: x for x in operand_of.values()}
    return from_parts(lift(formula, operand_of), operands, _rebuild_typed)


def _decided(selection: Sequence[Expr]) -> Sequence[Expr]:
    """A condition and two formulas, in which it decides further selections by it."""
    condition, *choices = selection
    conditions = conjuncts(condition)
    if condition.shape:
        return selection

    def decision(node: Expr, place: int) -> Expr | None:
        if node.op.name == "where" and conjuncts(node.args[0]) == conditions:
            return node.args[place]
        if node.op.name == "rgamma" and place == 1 and _pole(*node.args) <= conditions:
            return number_node(0)
        return None

    def under(x: Expr, place: int) -> Expr:
        values = {node: decision(node, place) for node in topological([x])}
        decided = {node: value for node, value in values.items() if value is not None}
        return replaced([x], decided)[0] if decided else x

    return condition, *[under(x, place) for place, x in enumerate(choices, 1)]


def _pole(x: Expr) -> frozenset[Expr]:
    """The conditions of a pole of the gamma function at x."""
    equal = primitive("equal", x, primitive("floor", x))
    return frozenset([primitive("less_equal", x, number_node(0)), equal])


def conjuncts(condition: Expr) -> frozenset[Expr]:
    """The conditions that all must hold."""
    parts = [condition]
    for x in parts:  # grows during the loop
        if x.op.name == "logical_and":
            parts += x.args
    return frozenset(x for x in parts if x.op.name != "logical_and")


def _is_nan(x: Expr) -> bool:
    """Whether the node tests its operand for nan, which no formula contains."""
    return getattr(x.op, "name", "") == "not_equal" and x.args[0] is x.args[1]


def _typed_product(
    args: Sequence[Expr], exponents: Sequence[int | Fraction], merges: bool = True
) -> Expr:
    """The product as a user would type it; if it ``merges``, with equal factors as one power."""
    powers = [int_power(a, p, True) for a, p in zip(args, exponents, strict=True)]
    value = reduce(_multiply, powers)
    coefficient, core = split_coefficient(value)
    places = factors(core) if core is not None and merges else []
    if any(not isinstance(p, int) or base.dtype is not float for base, p in places):
        return value
    powers_of = _total_powers(places)
    if len(powers_of) == len(places):
        return value
    merged = reduce(_multiply, [int_power(base, p, True) for base, p in powers_of.items()])
    return scale(coefficient, merged)


def _rebuild_typed(node: Expr, args: Sequence[Expr]) -> Expr:
    """The node over other operands; a product as a user would type it."""
    if isinstance(node.op, ops.Product):
        return _typed_product(args, node.op.exponents)
    return rebuild(node, tuple(args))


def _contract(op: ops.Contract, args: Sequence[Expr]) -> Expr:
    """The contraction with common factors of its operands in front."""
    plain = ops.contract_op(op.letters, op.out, op.created, (False,) * len(args))
    if len(args) < 2:
        return built(plain, tuple(args))
    numbers, cores = zip(*map(split_factor, args), strict=True)
    return reduce(_multiply, numbers, built(plain, cores))


def split_factor(x: Expr) -> tuple[Expr, Expr]:
    """Split an array into its common scalar factor and the rest."""
    c, x = _split_content(x)
    number = number_node(c)
    if not x.shape or not isinstance(x.op, ops.Product):
        return number, x
    parts = factors(x)
    scalars = [int_power(y.args[0], p) for y, p in parts if ops.is_spread(y.op)]
    rest = [int_power(y, p) for y, p in parts if not ops.is_spread(y.op)]
    if not scalars or not rest:
        return number, x
    return reduce(_multiply, scalars, number), reduce(_multiply, rest)


def _split_content(x: Expr) -> tuple[Number, Expr]:
    """The largest rational that divides all coefficients of a sum, and the sum divided by it."""
    op = x.op
    if not isinstance(op, ops.Sum) or not x.args:
        return 1, x
    numbers = [c for c in (*op.coefs, op.const) if c]
    if any(isinstance(c, float) for c in numbers):
        return 1, x
    exact = [Fraction(c) for c in numbers]
    under = {c.denominator for c in exact}
    over = math.gcd(*(c.numerator for c in exact))
    content = Fraction(over, under.pop() if len(under) == 1 else 1)
    if len(op.coefs) == 1 and not op.const and op.coefs[0] < 0:
        content = -content
    if content == 1:
        return 1, x
    terms = [(_as_int(Fraction(c) / content), a) for c, a in zip(op.coefs, x.args, strict=True)]
    if op.const:
        terms.append((_as_int(Fraction(op.const) / content), number_node(1)))
    return _as_int(content), combine("add", terms)


def _as_int(c: Fraction) -> Number:
    return c.numerator if c.denominator == 1 else c


# Arrays -------------------------------------------------------------------------------------------


def factors(x: Expr) -> list[tuple[Expr, int | Fraction]]:
    """The bases and exponents of a product, through nested products; [(x, 1)] for other nodes.

    A power of a power becomes one power if the outer exponent is an integer: ``sqrt(x**2)`` is not
    x.
    """
    powers: list[tuple[Expr, int | Fraction]] = []
    stack: list[tuple[Expr, int | Fraction]] = [(x, 1)]
    while stack:
        x, p = stack.pop()
        if isinstance(x.op, ops.Product) and (p == 1 or (len(x.args) == 1 and p.denominator == 1)):
            pairs = zip(reversed(x.args), reversed(x.op.exponents), strict=True)
            stack.extend((base, q * p) for base, q in pairs)
        else:
            powers.append((x, p))
    return powers


def _total_powers(
    pairs: Sequence[tuple[Expr, int | Fraction]],
) -> dict[Expr, int | Fraction]:
    """Add the exponents of equal bases."""
    total: dict[Expr, int | Fraction] = {}
    for base, p in pairs:
        total[base] = total.get(base, 0) + p
    return total


def _move_outside(x: Expr) -> Expr:
    """Move a repetition or transposition common to all operands outside an elementwise node."""
    if not x.shape or not isinstance(x.op, ops.Sum | ops.Product | ops.Pointwise):
        return x
    ways = {_repeating_op(arg) for arg in x.args if not isinstance(arg.op, ops.Fill)}
    way = ways.pop() if len(ways) == 1 else None
    if way is None:
        return x
    inner = built(x.op, tuple([arg.args[0] for arg in x.args]))
    value = _factor_matrix(inner)
    if value is inner and not way.created:
        return x  # leave transposes in place
    return built(way, (value,))


def rearrangement(x: Expr) -> tuple[Expr, Word] | None:
    """The operand that a node repeats, permutes or puts on a diagonal, and its labels, or None.

    Axes of length 1 that the node drops are removed.
    """
    op = x.op
    if not isinstance(op, ops.Contract) or len(op.letters) != 1:
        return None
    (operand,), (word,) = x.args, op.letters
    if op.sums:
        in_result = [k in op.out for k in word]
        if any(n != 1 for n, keep in zip(operand.shape, in_result, strict=True) if not keep):
            return None
        operand = getitem(operand, tuple([slice(None) if keep else 0 for keep in in_result]))
        word = tuple([k for k in word if k in op.out])
    return (operand, word) if word else None


def repeated(x: Expr) -> ops.Contract | None:
    """The op of a node that repeats an operand with axes along new axes; else None."""
    op = x.op
    if not isinstance(op, ops.Contract) or not op.created or rearrangement(x) is None:
        return None
    return op


def _repeating_op(x: Expr) -> ops.Contract | None:
    """The op of a node that repeats or permutes the axes of its operand; else None."""
    op = x.op
    if not isinstance(op, ops.Contract):
        return None
    plain = not op.sums and rearrangement(x) is not None
    return op if plain and len({*op.out}) == len(op.out) else None


def _factor_matrix(x: Expr) -> Expr:
    """Rewrite a sum of multiples of one matrix by rows, or columns, as the matrix times a sum."""
    op = x.op
    if not isinstance(op, ops.Sum) or len(x.args) < 2 or len(x.shape) != 2 or op.const:
        return x
    terms = [_total_powers(factors(arg)) for arg in x.args]
    shared = [
        (y, p)
        for y, p in terms[0].items()
        if repeated(y) is None and all(term.get(y) == p for term in terms)
    ]
    common = dict(shared)
    rests = [[(y, p) for y, p in term.items() if y not in common] for term in terms]
    if not shared or not all(rest and all(repeated(y) for y, _ in rest) for rest in rests):
        return x
    products = [reduce(_multiply, [int_power(y, p) for y, p in rest]) for rest in rests]
    total = _move_outside(
        combine("add", list(zip(op.coefs, map(_move_outside, products), strict=True)))
    )
    return reduce(_multiply, [int_power(y, p) for y, p in shared] + [total])


def _multiply(a: Expr, b: Expr) -> Expr:
    return mul(a, b, True)


# Components ---------------------------------------------------------------------------------------


def components(expr: Expr) -> Any:
    """Return the formulas of a small array's elements as an object array; a scalar's formula.

    None for too many elements in an intermediate array, an axis of unknown length, or an element
    without a formula.  A function of a whole array stays one call, with elements.

    >>> import symdiff as sd
    >>> q = sd.symbol("q", 2)
    >>> components(sd.grad(q[0] * sd.sin(q[1]), q))
    array([sin(q[1]), q[0]*cos(q[1])], dtype=object)
    """
    nodes = topological([expr])
    if len(nodes) > _NODES:
        return None
    try:
        if math.prod(_known_shape(expr)) > SHOWN:
            return None
        env = {node: elements(node) for node in nodes if isinstance(node.op, ops.Symbol)}
        (value,) = evaluated([expr], env, _Formulas())
    except Unsupported:
        return None
    return value


def elements(x: Expr) -> Any:
    """The elements of an array by index; a scalar itself."""
    if not x.shape:
        return x
    _Formulas().check(x, math.prod(_known_shape(x)), 0)
    return filled(_known_shape(x), [getitem(x, place) for place in np.ndindex(_known_shape(x))])


def _known_shape(x: Expr) -> tuple[int, ...]:
    if any(isinstance(dim, str) for dim in x.shape):
        raise Unsupported(f"the components of an array of shape {x.shape}")
    return x.shape  # type: ignore[return-value]


def stacked(rows: object) -> Expr:
    """Stack an object array of scalars to an array."""
    if not isinstance(rows, np.ndarray):
        return as_expr(rows)
    if not len(rows):
        return full(rows.shape, 0)
    parts = [expand_dims(stacked(row), 0) for row in rows]
    return parts[0] if len(parts) == 1 else concat(parts, axis=0)


class _Formulas(Arithmetic):
    """Elements as scalar expressions, merged with the algebra of users' formulas."""

    def number(self, value: object) -> Expr:
        return as_expr(value)

    def exact(self, op: ops.Exact) -> Expr:
        return make(op, (), (), float)

    def total(self, const: Number, coefs: Sequence[Number], args: Sequence[Expr]) -> Expr:
        return combine("add", [*zip(coefs, args, strict=True), (1, number_node(const))])

    def product(self, factors: Sequence[Expr]) -> Expr:
        return reduce(_multiply, factors, number_node(1))

    def power(self, a: Expr, p: int | Fraction) -> Expr:
        return int_power(a, p, True)

    def function(self, node: Node, args: Sequence[Expr]) -> Expr:
        assert isinstance(node.op, ops.Pointwise)
        return pointwise(node.op, *args)

    def select(self, node: Node, condition: Expr, a: Expr, b: Expr) -> Expr:
        return select(condition, a, b)

    def named(self, name: str, *args: Expr) -> Expr:
        return primitive(name, *args)

    def eliminated(self, a: list[list[Any]], b: list[list[Any]]) -> Any:
        raise Unsupported("elimination among formulas")

    def strong(self, factors: Sequence[Expr], kills: Sequence[bool]) -> Expr:
        return self.product(factors)

    def check(self, node: Node, elements: int, terms: int) -> None:
        if elements > _ELEMENTS or terms > _TERMS:
            raise Unsupported("the components of a large array")

    def opaque(self, node: Node, args: Sequence[object]) -> Any:
        operands = tuple(map(_whole_operand, node.args, args))
        return elements(rebuild(cast("Expr", node), operands))  # every node here is an expression


def _whole_operand(arg: Expr, value: object) -> Expr:
    """A whole operand of an array function: itself, unless it is a formula of elements."""
    plain = all(isinstance(x.op, ops.Symbol | ops.Opaque | ops.Constant) for x in (arg, *arg.args))
    return arg if plain else stacked(value)
