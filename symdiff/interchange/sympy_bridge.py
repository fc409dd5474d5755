"""Conversion from and to SymPy.

Both directions go node by node, without recursion, in time linear in the nodes.  SymPy's own
evaluation walks a shared formula as a tree, so formulas are built unevaluated.
"""

from __future__ import annotations

import math
import operator
from fractions import Fraction
from functools import lru_cache, reduce
from itertools import count
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np
import sympy as sp
from sympy.codegen import cfunctions
from sympy.core.function import AppliedUndef

from symdiff.calculus.derivative import diff
from symdiff.errors import Unsupported
from symdiff.exact.components import evaluated, filled
from symdiff.functions.shaping import stack
from symdiff.graph import number, ops
from symdiff.graph.algebra import (
    combine,
    divide,
    int_power,
    power,
    primitive,
    select,
)
from symdiff.graph.arithmetic import EXPANDED, Arithmetic
from symdiff.graph.axes import shape_text
from symdiff.graph.bound_lengths import with_values
from symdiff.graph.expr import Expr, free_symbols
from symdiff.graph.formula_nodes import lift
from symdiff.graph.leaves import as_expr, full, named_dummy, number_node, symbol
from symdiff.graph.node import Node, op_as
from symdiff.scalars.formula import (
    NUMBER_TESTS,
    VOCABULARY,
    canonical,
    is_for_code,
    kernel_symbol,
    operands_first,
    plain,
)
from symdiff.scalars.unevaluated import (
    LOGIC,
    Poles,
    arms,
    as_number,
    as_power,
    choice,
    condition_of,
    filled_in,
    gathered,
    hashed,
    held,
    is_number,
    raw,
    unevaluated,
)
from symdiff.scalars.unevaluated import power as raised
from symdiff.scalars.vocabulary import Ordered, Relation, ScalarFunction
from symdiff.transforms.unknown_functions import function

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from symdiff.graph.number import Number

__all__ = ["from_sympy", "to_sympy"]


# From SymPy ---------------------------------------------------------------------------------------


def from_sympy(expr: object) -> Expr:
    """Convert a SymPy formula to an expression; equal parts become one node.

    SymPy's symbols become scalar symbols by name: integer if declared integer, boolean if used as
    conditions, else real, declared or not.  Undefined functions become unknown functions, as
    ``function`` makes them.  Unevaluated derivatives are taken.  Floats keep their binary value.  A
    Matrix or Array of formulas becomes an array.

    Raises Unsupported, with SymPy's type, for objects without counterpart (complex numbers and
    symbols, integrals ...); ValueError for a symbol whose name is no
    identifier or is shared by two different symbols; TypeError for other objects (for text use
    ``parse``).

    >>> import sympy, symdiff as sd
    >>> t = sympy.Symbol("t")
    >>> f = sd.from_sympy(sympy.Piecewise((sympy.sin(t) ** 2 / 3, t > 0), (sympy.pi, True)))
    >>> t = sd.symbol("t")
    >>> f is sd.where(t > 0, sd.sin(t) ** 2 / 3, sd.pi)
    True
    """
    if isinstance(expr, sp.MatrixBase | sp.NDimArray):
        shape = tuple(int(length) for length in expr.shape)
        parts = expr.flat() if isinstance(expr, sp.MatrixBase) else expr.reshape(len(expr)).tolist()
        return stacked(lifted([sp.sympify(part) for part in parts]), shape)
    if isinstance(expr, bool | int | float | Fraction):
        return as_expr(expr)
    if not isinstance(expr, sp.Basic):
        raise TypeError(f"from_sympy: {expr!r} is not a SymPy object; for text use parse")
    return lifted([expr])[0]


def stacked(elements: Sequence[Expr], shape: tuple[int, ...]) -> Expr:
    """The array of these scalar expressions in C order."""
    if not elements:
        return full(shape, 0)
    return stack(filled(shape, elements).tolist()) if shape else elements[0]


def lifted(formulas: list[sp.Basic], known: Mapping[sp.Symbol, Expr] | None = None) -> list[Expr]:
    """Convert formulas to expressions, leaves first; equal objects are converted once.

    Symbols become the expressions of ``known``; without ``known``, scalar symbols by name.
    """
    order = operands_first(formulas, _checked_operands)
    bound = _bound_symbols(order)
    free = [part for part in order if part not in bound]
    symbols = {**(_symbols(free) if known is None else known), **bound}
    done: dict[int, Expr] = {}
    for part in order:
        if isinstance(part, sp.Symbol):
            if part not in symbols:
                raise Unsupported(f"Symbol {part} of SymPy has no expression here")
            done[id(part)] = symbols[part]
        else:
            done[id(part)] = _build_node(part, [done[id(operand)] for operand in _operands(part)])
    return [done[id(formula)] for formula in formulas]


def _checked_operands(part: sp.Basic) -> tuple[sp.Basic, ...]:
    """The operands of ``part``; raises Unsupported if it has no counterpart."""
    if not (part.is_Atom or isinstance(part, _OPENED)):
        raise Unsupported(
            f"{type(part).__name__} of SymPy has no counterpart in symdiff; evaluate it in "
            "SymPy (doit), or rewrite it in elementary functions"
        )
    return _operands(part)


_OPENED = (
    *(sp.Add, sp.Mul, sp.Pow, sp.Function, sp.Piecewise, sp.Rel, sp.UnevaluatedExpr),
    *(sp.And, sp.Or, sp.Xor, sp.Not, sp.ITE, sp.Max, sp.Min),
    *(sp.Derivative, sp.Subs),
    *NUMBER_TESTS,
)


def _operands(part: sp.Basic) -> tuple[sp.Basic, ...]:
    """The subexpressions of ``part`` that become nodes."""
    if isinstance(part, sp.Piecewise):
        return tuple(operand for pair in part.args for operand in pair.args)
    if isinstance(part, sp.Pow):
        return (part.base,) if isinstance(part.exp, sp.Rational | sp.Float) else tuple(part.args)
    if _is_log_gamma(part):
        return tuple(part.args[0].args[0].args)
    if isinstance(part, sp.Derivative):
        return (part.expr, *(x for x, _ in part.variable_count))
    if isinstance(part, sp.Subs):
        return (part.expr, *part.variables, *part.point)
    if part.is_Atom or (not part.args and part.is_number):
        return ()
    return tuple(part.args)


def _is_log_gamma(part: sp.Basic) -> bool:
    """Whether part is log|Γ(x)|: ``gammaln``, which does not overflow where Γ does."""
    return (
        isinstance(part, sp.log)
        and isinstance(part.args[0], sp.Abs)
        and isinstance(part.args[0].args[0], sp.gamma)
    )


def _bound_symbols(parts: list[sp.Basic]) -> dict[sp.Basic, Expr]:
    """The symbols that SymPy makes for a substitution, which all have the same names."""
    variables = [x for part in parts if isinstance(part, sp.Subs) for x in part.variables]
    return {x: named_dummy(x.name) for x in variables if isinstance(x, sp.Dummy)}


def _symbols(parts: list[sp.Basic]) -> dict[sp.Symbol, Expr]:
    """The symbols of a formula and their replacements."""
    conditions = {
        operand for part in parts for operand in _conditions(part) if isinstance(operand, sp.Symbol)
    }
    names: dict[str, sp.Symbol] = {}
    symbols: dict[sp.Symbol, Expr] = {}
    for part in parts:
        if not isinstance(part, sp.Symbol):
            continue
        if part.is_real is False or (part.is_complex and part.is_real is None):
            raise Unsupported(f"Symbol {part} is not declared real: formulas are real")
        other = names.setdefault(part.name, part)
        if other != part:
            raise ValueError(
                f"from_sympy: two different symbols are named {part.name!r} (declared with "
                "different assumptions); rename one, or declare both alike"
            )
        dtype = bool if part in conditions else int if part.is_integer else float
        symbols[part] = symbol(part.name, (), dtype)
    return symbols


def _conditions(part: sp.Basic) -> Sequence[sp.Basic]:
    if isinstance(part, sp.Piecewise):
        return [pair.cond for pair in part.args]
    if isinstance(part, sp.ITE):
        return part.args[:1]  # type: ignore[no-any-return]
    return part.args if isinstance(part, sp.And | sp.Or | sp.Xor | sp.Not) else ()


def _build_node(part: sp.Basic, operands: list[Expr]) -> Expr:
    """The node of ``part`` for the nodes of its ``_operands``."""
    if not operands:
        return _build_leaf(part)
    if isinstance(part, sp.Pow):
        if len(operands) == 1:
            return int_power(operands[0], _exponent(part.exp), True)
        return power(*operands)
    if _is_log_gamma(part):
        return primitive("gammaln", *operands)
    if isinstance(part, AppliedUndef):
        if part.is_real is False:
            raise Unsupported(f"{part.func} is not declared real: formulas are real")
        return function(part.func.__name__)(*operands)
    if isinstance(part, sp.Derivative):
        return _differentiated(part, *operands)
    if isinstance(part, sp.Subs):
        count = len(part.variables)
        pairs = zip(operands[1 : 1 + count], operands[1 + count :], strict=True)
        return with_values("from_sympy", operands[:1], dict(pairs))[0]
    build = _BUILT.get(part.func)
    if build is not None:
        return build(operands)
    return _build_by_formula(part, operands)


def _differentiated(part: sp.Derivative, f: Expr, *variables: Expr) -> Expr:
    """The derivative that SymPy leaves unevaluated."""
    for x, (_, order) in zip(variables, part.variable_count, strict=True):
        if not order.is_Integer:
            raise Unsupported(f"a derivative of the symbolic order {order}")
        f = diff(f, x, int(order))
    return f


def _build_leaf(part: sp.Basic) -> Expr:
    if isinstance(part, sp.Rational):
        return number_node(number.exact(part))
    if isinstance(part, sp.Float):
        return number_node(number.exact(_exact_float(part)))
    if part in (sp.pi, sp.E):
        return as_expr(part)
    if part in (sp.true, sp.false):
        return number_node(int(part == sp.true))
    if part in (sp.oo, -sp.oo, sp.nan):
        return number_node(float(part))
    raise Unsupported(f"{type(part).__name__} of SymPy has no counterpart in symdiff: {part}")


def _exact_float(value: sp.Float) -> float | Fraction:
    """A Float of double precision as a float, one of more digits as its exact fraction."""
    sign, mantissa, exponent, bits = value._mpf_
    magnitude = Fraction(int(mantissa)) * Fraction(2) ** int(exponent)
    return float(value) if bits <= 53 else -magnitude if sign else magnitude


def _exponent(exponent: sp.Expr) -> int | Fraction:
    value = _exact_float(exponent) if isinstance(exponent, sp.Float) else exponent
    return number.exact_exponent(value)


def _piecewise(parts: list[Expr]) -> Expr:
    result = number_node(math.nan)  # SymPy's value if no condition holds
    for value, condition in zip(parts[-2::-2], parts[::-2], strict=True):
        result = select(condition, value, result)
    return result


def _multiply(parts: list[Expr]) -> Expr:
    """The product with numbers last, so that they do not separate the factors."""
    ordered = sorted(parts, key=lambda part: isinstance(part.op, ops.Sum) and not part.args)
    return reduce(operator.mul, ordered)


def _combine_with(name: str) -> Callable[[list[Expr]], Expr]:
    return lambda parts: reduce(lambda a, b: primitive(name, a, b), parts)


def _logarithm(parts: list[Expr]) -> Expr:
    log, *base = [primitive("log", part) for part in parts]
    return divide(log, base[0]) if base else log


# Classes with any number of operands, or with truth values; other classes go by their formula.
_BUILT: dict[type[sp.Basic], Callable[[list[Expr]], Expr]] = {
    sp.Add: lambda parts: combine("add", [(1, part) for part in parts]),
    sp.Mul: _multiply,
    sp.Piecewise: _piecewise,
    sp.ITE: lambda parts: select(*parts),
    sp.And: _combine_with("logical_and"),
    sp.Or: _combine_with("logical_or"),
    sp.Xor: _combine_with("logical_xor"),
    sp.Not: lambda parts: primitive("logical_not", *parts),
    sp.Max: _combine_with("maximum"),
    sp.Min: _combine_with("minimum"),
    sp.log: _logarithm,
    sp.UnevaluatedExpr: lambda parts: parts[0],
}


def _build_by_formula(part: sp.Basic, operands: list[Expr]) -> Expr:
    """Convert a SymPy function by its canonical formula; numbers such as an order stay."""
    arguments = tuple(
        argument if argument.is_Rational else kernel_symbol(k)
        for k, argument in enumerate(part.args)
    )
    formula = _template(part.func, arguments)
    return lift(formula, {kernel_symbol(k): operand for k, operand in enumerate(operands)})


@lru_cache(maxsize=1 << 10)
def _template(cls: type[sp.Basic], arguments: tuple[sp.Expr, ...]) -> sp.Expr:
    return canonical(held(cls, arguments))


# To SymPy -----------------------------------------------------------------------------------------

# More components of an array, or products of a contraction, would make a useless formula.
_COMPONENTS = 10_000
_TERMS = 100_000
# Products up to this length are flattened: 2*(x*y) to 2*x*y; longer ones stay shared.
_FLAT_FACTORS = 8
# The number of selections among factors to move outside the product.
_OPENED_CHOICES = 8


@overload
def to_sympy(expr: Expr, *, cse: Literal[False] = False, codegen: bool = False) -> sp.Basic: ...
@overload
def to_sympy(
    expr: Expr, *, cse: Literal[True], codegen: bool = False
) -> tuple[list[tuple[sp.Symbol, sp.Basic]], sp.Basic]: ...
def to_sympy(expr: Expr, *, cse: bool = False, codegen: bool = False) -> sp.Basic:
    """Convert an expression to a SymPy formula, in SymPy's own functions, unevaluated.

    Symbols and unknown functions are declared real, integer symbols integer; boolean ones have no
    assumptions.  Truth values
    become relations and conditions, selections Piecewise, floats Floats of 15 digits.  An array
    becomes an Array of its components; an array symbol ``x`` has the components ``x_0``, ``x_1_2``
    ...  Contractions and linear algebra are written out by components.  A detached expression
    becomes its value.  Like terms and equal factors of a component are merged.  Conditions without
    effect are dropped.

    Time and memory are linear in the nodes, but a formula with shared parts prints as a tree: then
    use ``cse=True``, or call ``doit()`` to evaluate small ones.

    Args:
        expr: an expression.
        cse: whether to return ``(replacements, formula)`` as ``sympy.cse`` does, with a name for
            every part that is used more than once, in a list of (symbol, formula).
        codegen: whether to use the functions of ``sympy.codegen.cfunctions`` (expm1, log1p, exp2,
            log2, log10, Sqrt, Cbrt, hypot).  They keep digits in code that SymPy prints, but SymPy
            does not integrate or simplify them; Cbrt is the real root, as C's.  ``from_sympy``
            converts such a formula back to the same expression.

    Raises Unsupported for a symbolic length, for more than 10,000 components, for matrices beyond
    6 x 6 in linear algebra, and for a function without an equivalent in SymPy; ValueError if
    another symbol has the name of a component.

    >>> import symdiff as sd
    >>> x, y = sd.symbols("x y")
    >>> sd.to_sympy(sd.sin(x) / 3 - y**2)
    -y**2 + sin(x)/3
    >>> sd.to_sympy(sd.expm1(x)), sd.to_sympy(sd.expm1(x), codegen=True)
    (exp(x) - 1, expm1(x))
    """
    symbols = free_symbols([expr])
    arithmetic = Formulas([x.name for x in symbols] if cse else None, codegen)
    env = _components(symbols)
    value = evaluated([expr], env, arithmetic)[0]
    if isinstance(value, np.ndarray):
        value = sp.Array(value.ravel().tolist(), value.shape)
    return (arithmetic.replacements, value) if cse else value


def _components(symbols: tuple[Expr, ...]) -> dict[Expr, sp.Basic]:
    """SymPy's symbols for the components of each symbol."""
    env: dict[Expr, Any] = {}
    owner = {x.name: x for x in symbols if not x.shape}
    for x in symbols:
        if not x.shape:
            env[x] = declared(x.name, x.dtype)
            continue
        if any(isinstance(dim, str) for dim in x.shape):
            raise Unsupported(
                f"to_sympy: {x.name} has the symbolic shape {shape_text(x.shape)}; substitute a "
                "symbol of known shape first"
            )
        shape = tuple(int(dim) for dim in x.shape)
        _check_size(f"symbol {x.name}", math.prod(shape), _COMPONENTS, "components")
        names = ["_".join(map(str, (x.name, *index))) for index in np.ndindex(shape)]
        for name in names:
            if owner.setdefault(name, x) is not x:
                raise ValueError(
                    f"to_sympy: {name} is a component of {x.name}, and the name of another symbol "
                    f"or component of {owner[name].name}; rename one"
                )
        env[x] = filled(shape, (declared(name, x.dtype) for name in names))
    return env


def declared(name: str, dtype: type) -> sp.Symbol:
    """SymPy's symbol for one of our symbols, or for an element of one."""
    if dtype is bool:
        return sp.Symbol(name)
    return sp.Symbol(name, integer=True) if dtype is int else sp.Symbol(name, real=True)


def _check_size(what: str, size: int, most: int, unit: str) -> None:
    if size > most:
        raise Unsupported(f"to_sympy: {what} has {size} {unit}; at most {most} are written out")


class Formulas(Arithmetic):
    """Arithmetic on SymPy formulas; truth values are SymPy's conditions."""

    def __init__(self, taken: list[str] | None, codegen: bool) -> None:
        self.codegen = codegen
        self.replacements: list[tuple[sp.Symbol, sp.Basic]] = []
        self.name_shared = taken is not None
        self.poles = Poles()
        used = set(taken or ())
        self.names = (name for k in count() if (name := f"x{k}") not in used)

    def number(self, value: sp.Basic) -> sp.Basic:
        if isinstance(value, float):
            return sp.Float(value) if math.isfinite(value) else sp.sympify(value)
        return sp.Rational(value.numerator, value.denominator)

    def exact(self, op: ops.Exact) -> sp.Basic:
        return op.value

    def total(self, const: Number, coefs: Sequence[Number], args: Sequence[sp.Basic]) -> sp.Basic:
        terms = [
            a if c == 1 else self.product([self.number(c), a])
            for c, a in zip(coefs, args, strict=True)
        ]
        numbers = sum((t for t in terms if t.is_Rational), self.number(const))
        terms = self.merged([term for term in terms if not term.is_Rational])
        if not is_number(numbers, 0):
            terms.insert(0, numbers)  # SymPy's own position for it
        if len(terms) < 2:
            return terms[0] if terms else sp.S.Zero
        return hashed(held(sp.Add, terms))

    def merged(self, terms: list[sp.Basic]) -> list[sp.Basic]:
        """Merge terms with equal factors: components of several nodes may coincide."""
        alike: dict[sp.Basic, list[tuple[sp.Basic, list[sp.Basic], sp.Basic]]] = {}
        for term in terms:
            c, *factors = term.args if isinstance(term, sp.Mul) else (term,)
            if not c.is_Rational:
                c, factors = sp.S.One, [c, *factors]
            # Compare parts by identity: comparing deep ones would recurse.
            key = sorted((id(base), p, degree) for base, p, degree in map(as_power, factors))
            alike.setdefault(tuple(key), []).append((c, factors, term))
        sums = [
            same[0][2]
            if len(same) == 1
            else self.product([sum(c for c, _, _ in same), *same[0][1]])
            for same in alike.values()
        ]
        return [term for term in sums if not is_number(term, 0)]

    def product(self, factors: Sequence[sp.Basic]) -> sp.Basic:
        coefficient = sp.S.One
        rest: list[sp.Basic] = []
        for factor in factors:
            flat = isinstance(factor, sp.Mul) and len(factor.args) <= _FLAT_FACTORS
            for part in factor.args if flat else (factor,):
                if part.is_Rational or part.is_Float:
                    coefficient = coefficient * part
                else:
                    rest.append(part)
        if is_number(coefficient, 0) or not rest:
            return coefficient
        rest = gathered(rest)
        if not is_number(coefficient, 1):
            rest.insert(0, coefficient)
        return rest[0] if len(rest) == 1 else hashed(held(sp.Mul, rest))

    def power(self, a: sp.Basic, p: int | Fraction) -> sp.Basic:
        if p == 1:
            return a
        if a.is_Rational:  # sqrt(8) is 2*sqrt(2)
            return sp.oo if a == 0 and p < 0 else sp.Pow(a, self.number(p))
        if self.codegen and p == Fraction(1, 2):
            return hashed(held(cfunctions.Sqrt, [a]))
        return raised(a, self.number(p))

    def function(self, node: Node, args: Sequence[sp.Basic]) -> sp.Basic:
        op = op_as(node, ops.Pointwise)
        if op.name in LOGIC and op.primitive:
            holds = [condition_of(a, x.dtype) for a, x in zip(args, node.args, strict=True)]
            return LOGIC[op.name](*holds)
        numbers = [
            as_number(a) if x.dtype is bool else a for a, x in zip(args, node.args, strict=True)
        ]
        if op.primitive:
            return self.named(op.name, *numbers)
        return filled_in(plain(op.formula, self.codegen), numbers)

    def named(self, name: str, *args: sp.Basic) -> sp.Basic:
        cls: type[sp.Basic] = VOCABULARY[name]
        if name == "not_equal" and args[0] is args[1]:  # true for no real, and for the float nan
            return hashed(held(cfunctions.isnan, args[:1])) if self.codegen else sp.false
        if issubclass(cls, Relation):
            assert cls.sympy is not None  # every relation states one
            return unevaluated(cls.sympy, list(args))
        if not issubclass(cls, ScalarFunction):
            return hashed(held(cls, args))
        if self.codegen and is_for_code(cls):
            assert cls.sympy is not None  # every class for code states one
            return hashed(held(cls.sympy, args))
        return filled_in(_definition(name, _kernel_arguments(name, args)), args)

    def select(self, node: Node, condition: sp.Basic, a: sp.Basic, b: sp.Basic) -> sp.Basic:
        condition = condition_of(condition, node.args[0].dtype)
        if node.dtype is bool and condition not in (sp.true, sp.false):
            return raw(sp.ITE, condition, a, b)
        return choice(condition, a, b)

    def strong(self, factors: Sequence[sp.Basic], kills: Sequence[bool]) -> sp.Basic:
        """The product, guarded where a killing factor may be 0 and another infinite or nan."""
        factors = list(factors)
        choices: list[tuple[sp.Basic, bool]] = []  # outermost first; whether the first arm is 0
        # Move selections with a zero arm outside: inside them the product needs no guard.
        for k, kill in enumerate(kills):
            while kill and len(choices) < _OPENED_CHOICES and (arms_of := arms(factors[k])):
                condition, a, b = arms_of
                if not (is_number(a, 0) or is_number(b, 0)):
                    break
                choices.append((condition, is_number(a, 0)))
                factors[k] = b if is_number(a, 0) else a
        result = self.product(factors)
        nonzero = [x.lhs for x, no in choices if no and isinstance(x, sp.Eq) and x.rhs == 0]
        for k, (factor, kill) in enumerate(zip(factors, kills, strict=True)):
            rest = factors[:k] + factors[k + 1 :]
            if kill and not (
                factor.is_Rational or all(self.poles.absent(x, nonzero, factor) for x in rest)
            ):
                result = choice(sp.Eq(factor, 0, evaluate=False), sp.S.Zero, result)
        for condition, first in reversed(choices):
            result = choice(condition, *((sp.S.Zero, result) if first else (result, sp.S.Zero)))
        return result

    def opaque(self, node: Node, args: Sequence[sp.Basic]) -> sp.Basic | None:
        return _undefined(node.op, args) if isinstance(node.op, ops.Unknown) else None

    def eliminated(
        self, a: list[list[sp.Basic]], b: list[list[sp.Basic]]
    ) -> tuple[sp.Basic, list[list[sp.Basic]]]:
        n = len(a)
        if n > EXPANDED:
            raise Unsupported(
                f"to_sympy: linear algebra with a {n} x {n} matrix; at most {EXPANDED} x "
                f"{EXPANDED} is written out"
            )
        determinant, cofactor = self.determinant(a), self.cofactor(a)
        inverse = self.power(determinant, -1)
        columns = range(len(b[0]) if b else 0)
        return determinant, [
            [
                self.product(
                    [inverse, self.sum([self.product([cofactor[k][i], b[k][j]]) for k in range(n)])]
                )
                for j in columns
            ]
            for i in range(n)
        ]

    def kept(self, node: Node, value: sp.Basic, uses: int) -> sp.Basic:
        if not self.name_shared or uses < 2:
            return value
        if isinstance(value, np.ndarray):
            return filled(value.shape, (self.shared(node, part) for part in value.ravel().tolist()))
        return self.shared(node, value)

    def shared(self, node: Node, value: sp.Basic) -> sp.Basic:
        """Replace a formula by a new symbol."""
        if value.is_Atom:
            return value
        stand_in = declared(next(self.names), bool if node.dtype is bool else float)
        self.replacements.append((stand_in, value))
        return stand_in

    def check(self, node: Node, elements: int, terms: int) -> None:
        _check_size(f"{node.op.name or 'a constant'}", elements, _COMPONENTS, "components")
        _check_size(f"{node.op.name}", terms, _TERMS, "terms")


def _undefined(op: ops.Unknown, args: Sequence[sp.Basic]) -> sp.Basic:
    """A derivative of an undefined function of SymPy, at its arguments.

    SymPy differentiates by symbols.  Other arguments, and symbols in several arguments, take the
    places of symbols of their own in a Subs.
    """
    cls = sp.Function(op.name, real=True)
    if not any(op.orders):
        return hashed(held(cls, args))
    given, variables, points = list(args), [], []
    for k, (x, order) in enumerate(zip(args, op.orders, strict=True)):
        others = [*args[:k], *args[k + 1 :]]
        if order and not (x.is_Symbol and all(x not in other.free_symbols for other in others)):
            given[k] = sp.Dummy(f"xi_{k + 1}")  # SymPy's own name
            variables.append(given[k])
            points.append(x)
    by = [(x, n) for x, n in zip(given, op.orders, strict=True) if n]
    derivative = cls(*given).diff(*by)
    try:
        return sp.Subs(derivative, variables, points) if variables else derivative
    except RecursionError:
        raise Unsupported(
            f"to_sympy: an argument of {op.name}{op.mark} is too deep a formula for SymPy"
        ) from None


@lru_cache(maxsize=1 << 10)
def _definition(name: str, arguments: tuple[sp.Expr, ...]) -> sp.Expr:
    """A vocabulary function in SymPy's own classes, over kernel symbols (and its order)."""
    formula = VOCABULARY[name].definition(*arguments)
    if name == "sinc_derivative":  # SymPy has 0/0 at 0, so write the limit
        n, x = arguments
        limit = sp.pi**n * (-1) ** (n // 2) / (n + 1) if n % 2 == 0 else sp.S.Zero
        formula = sp.Piecewise((limit, sp.Eq(x, 0)), (formula, True))
    return formula


def _kernel_arguments(name: str, args: Sequence[sp.Basic]) -> tuple[sp.Expr, ...]:
    """Kernel symbols, except for orders of a derivative: the definition needs their numbers."""
    cls = VOCABULARY[name]
    orders = cls.orders if issubclass(cls, Ordered) else 0
    return (*args[:orders], *(kernel_symbol(k) for k in range(orders, len(args))))
