"""Unknown functions: ``theta(t)`` as an expression, and formulas in place of such functions."""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING, Any

from symdiff import functions
from symdiff.calculus.derivative import diff
from symdiff.errors import ShapeError, Unsupported
from symdiff.graph import ops
from symdiff.graph.algebra import opaque
from symdiff.graph.axes import shape_text
from symdiff.graph.bound_lengths import with_values
from symdiff.graph.expr import Expr
from symdiff.graph.leaves import as_expr, named_dummy
from symdiff.graph.node import topological
from symdiff.graph.number import shortened
from symdiff.guesses import called, written
from symdiff.scalars.vocabulary import FACTS, VOCABULARY
from symdiff.transforms.bodies import WithBodies

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from symdiff.graph.expr import Operand

__all__ = ["UnknownFunction", "function", "replacement", "unknown_within"]

# A text that calls one of these is read as the known function.
_KNOWN = frozenset(
    [
        *dir(functions),  # its public names
        *VOCABULARY,
        *(alias for facts in FACTS.values() for alias in facts.aliases.split()),
        *("sec", "csc", "cot", "sech", "csch", "coth", "strong", "strong_both"),
        *("true_divide", "radians", "degrees", "detach"),
    ]
)


class UnknownFunction:
    """A function without a formula, which ``function`` returns; functions of one name are equal."""

    __slots__ = ("name",)
    name: str

    def __init__(self, name: str) -> None:
        self.name = name

    def __call__(self, *arguments: Operand) -> Expr:
        """The value at scalar arguments, as an expression.

        Raises TypeError without arguments, and for an argument that is not an expression or a
        number; ShapeError for an array.
        """
        name = self.name
        if not arguments:
            raise TypeError(f"{name}: an unknown function takes at least one argument: {name}(t)")
        operands = [as_expr(x, name, f"{k}") for k, x in enumerate(arguments)]
        for k, x in enumerate(operands):
            if x.shape:
                raise ShapeError(
                    f"{name}: argument {k} has shape {shape_text(x.shape)}, and an unknown "
                    f"function takes scalars; apply it to each element: sd.stack([{name}(v[0]), "
                    f"{name}(v[1])])"
                )
        return opaque(ops.unknown_op(name, (0,) * len(operands)), *operands)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, UnknownFunction) and other.name == self.name

    def __hash__(self) -> int:
        return hash((UnknownFunction, self.name))

    def __reduce__(self) -> tuple[Any, ...]:
        return UnknownFunction, (self.name,)

    def __repr__(self) -> str:
        return f"<unknown function {self.name}>"


@written('function("theta"), and then theta(t)')
def function(name: str) -> UnknownFunction:
    """An unknown real function of scalars: ``theta`` for the name "theta", to write ``theta(t)``.

    Its derivatives are functions of the same kind, of every order and in both modes.
    ``diff(theta(t), t)`` is ``theta'(t)``, and the chain rule makes ``2*t*theta'(t**2)`` of
    ``theta(t**2)``.  Of several arguments, ``u^(1,2)(x, t)`` is once differentiated by the first
    argument and twice by the second.  Mixed derivatives do not depend on the order: the function is
    assumed to be smooth.

    As a variable, ``theta(t)`` is independent of t and of ``theta'(t)``:
    ``diff(theta(t)**2 * t, theta(t))`` is ``2*t*theta(t)``.  The equations of Euler and Lagrange
    need such derivatives.

    ``f.subs({theta: lambda t: sd.sin(t)})`` puts a formula in the function's place, and the
    derivatives of the formula in place of the function's derivatives.  Numbers exist only then:
    ``numeric.lower``, ``evalf`` and plots raise Unsupported, with the name, while a function is
    unknown.  ``parse`` reads no unknown functions.

    Raises ValueError for a name that is not an identifier or that a known function has.

    >>> import symdiff as sd
    >>> t, m, l, g = sd.symbols("t m l g")
    >>> theta = sd.function("theta")
    >>> q, v = theta(t), sd.diff(theta(t), t)
    >>> L = m * l**2 * v**2 / 2 + m * g * l * sd.cos(q)
    >>> print(sd.diff(sd.diff(L, v), t) - sd.diff(L, q))
    l*m*(g*sin(theta(t)) + l*theta''(t))
    """
    if not isinstance(name, str) or not name.isidentifier():
        raise ValueError(f"function: the name {shortened(name)} is not an identifier")
    name = unicodedata.normalize("NFKC", name)
    if name in _KNOWN:
        raise ValueError(
            f"function: {name} is a known function, and a text of both would be ambiguous; choose "
            f'another name: function("{name}_")'
        )
    return UnknownFunction(name)


# Formulas in place of functions -------------------------------------------------------------------


class _Formula:
    """What takes the place of an unknown function: a formula over symbols of its own."""

    def __init__(self, name: str, given: object) -> None:
        self.name, self.given = name, given
        self.bodies: dict[ops.Unknown, tuple[Expr, tuple[Expr, ...]]] = {}

    def value(self, op: ops.Unknown, args: Sequence[Expr]) -> Expr:
        """The formula, or its derivative, at the arguments."""
        if op not in self.bodies:
            body, symbols = self.body(len(op.orders))
            for x, order in zip(symbols, op.orders, strict=True):
                body = diff(body, x, order)
            self.bodies[op] = body, symbols
        body, symbols = self.bodies[op]
        return with_values("substitute", [body], dict(zip(symbols, args, strict=True)))[0]

    def body(self, count: int) -> tuple[Expr, tuple[Expr, ...]]:
        """The formula and its symbols, for this number of arguments."""
        if callable(self.given):
            symbols = tuple(named_dummy(f"x{k}") for k in range(count))
            words = ", ".join(x.name for x in symbols)
            form = f"{{{self.name}: lambda {words}: ...}}, as {self.name} has {_arguments(count)}"
            try:
                result = called(form, self.given, *symbols)
            except TypeError as error:
                if form in str(error):
                    raise
                raise TypeError(
                    f"substitute: the formula for {self.name} must be a function of expressions, "
                    f"which {shortened(self.given)} is not: {error}; sd.custom(F, vjp) makes one "
                    "of a function of numbers"
                ) from error
        else:
            assert isinstance(self.given, tuple)  # `replacement` has seen to it
            result, symbols = self.given[0], self.given[1:]
            if len(symbols) != count:
                has = (
                    f"is one of {_arguments(len(symbols))}, and {self.name} has {_arguments(count)}"
                )
                raise ValueError(f"substitute: the formula for {self.name} {has}")
        body = as_expr(result, "substitute", f"the formula for {self.name}")
        if body.shape:
            raise ShapeError(
                f"substitute: the formula for {self.name} has shape {shape_text(body.shape)}; the "
                "value of an unknown function is a scalar"
            )
        if body.dtype is bool:
            raise TypeError(
                f"substitute: the formula for {self.name} is a condition; the value of an unknown "
                "function is real: write sd.where(condition, 1, 0)"
            )
        return body, symbols


def replacement(
    outputs: Sequence[Expr], formulas: Mapping[UnknownFunction, object]
) -> Callable[[Expr, Sequence[Expr]], Expr | None]:
    """The map from a node of ``outputs`` on new operands to its formula; None for other nodes.

    Raises TypeError for a formula that is neither a callable nor a tuple of an expression and its
    symbols, and Unsupported for a function inside a loop, an equation or an
    integral.
    """
    by_name = {}
    for key, given in formulas.items():
        if not callable(given) and not _is_formula(given):
            raise TypeError(
                f"substitute: {key.name} is a function, and {shortened(given)} is not: write "
                f"{{{key.name}: lambda x: ...}}, or {{{key.name}: (formula, x)}}"
            )
        by_name[key.name] = _Formula(key.name, given)
    for op in unknown_within(topological(outputs), bodies_only=True):
        if op.name in by_name:
            raise Unsupported(
                f"substitute: {op.name} is used inside a loop, an equation or an integral; put "
                "the formula in place of it before you build that"
            )

    def value(node: Expr, args: Sequence[Expr]) -> Expr | None:
        op = node.op
        if not isinstance(op, ops.Unknown) or op.name not in by_name:
            return None
        return by_name[op.name].value(op, args)

    return value


def _arguments(count: int) -> str:
    return "one argument" if count == 1 else f"{count} arguments"


def _is_formula(given: object) -> bool:
    """Whether this is a formula followed by the symbols that it is a function of."""
    if not isinstance(given, tuple) or len(given) < 2 or len({*given[1:]}) < len(given) - 1:
        return False
    return all(
        isinstance(x, Expr) and isinstance(x.op, ops.Symbol) and not x.shape for x in given[1:]
    )


def unknown_within(nodes: Iterable[Expr], bodies_only: bool = False) -> Iterator[ops.Unknown]:
    """The ops of unknown functions among ``nodes``, and inside loops and equations at any depth.

    >>> import symdiff as sd
    >>> theta, x = sd.function("theta"), sd.symbol("x")
    >>> y = sd.root(lambda y: theta(y) - x, 0.0)
    >>> {op.name for op in unknown_within(sd.nodes(y))}
    {'theta'}
    """
    waiting = [(node.op, bodies_only) for node in nodes]
    seen = set()
    while waiting:
        op, outside = waiting.pop()
        if isinstance(op, ops.Unknown) and not outside:
            yield op
        elif isinstance(op, WithBodies) and op not in seen:
            seen.add(op)
            waiting += [(node.op, False) for node in topological(op.inside)]
