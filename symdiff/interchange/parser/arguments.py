"""The functions of arrays that a text may call, with arguments as their declarations state.

These are all public functions of expressions, except those with a callable argument.  Annotations
state what an argument is: an operand, a list of operands, or an option, which is a literal.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from enum import Enum, auto
from fractions import Fraction
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from symdiff import functions
from symdiff.calculus.derivative import detach
from symdiff.graph.expr import Expr
from symdiff.graph.leaves import number_of
from symdiff.graph.lengths import Length
from symdiff.interchange.parser.language import length_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

MOST_AXES = 64  # NumPy's limit; also the most operands of one function


class Kind(Enum):
    """The kinds of arguments."""

    OPERAND = auto()  # an expression, or a list of expressions, which is a stack
    OPERANDS = auto()  # a list of operands
    DATA = auto()  # an operand, a list of numbers, or an option
    AXES = auto()  # an option that is a shape or axes
    OPTION = auto()  # literals: numbers, names of lengths, texts, None, True, False, and lists
    POWER = auto()  # an option that may be the exponent of a number
    ANY = auto()  # an option that may contain expressions


class Results(NamedTuple):
    """The results of a function with several results."""

    name: str
    parts: tuple[Expr, ...]


class Declared(NamedTuple):
    """A function with its declaration."""

    build: Callable[..., Any]
    signature: inspect.Signature
    annotations: Mapping[str, str]
    kinds: Mapping[str, Kind]


def _kind(annotation: str) -> Kind:
    words = {word.strip() for word in annotation.split("|")}
    lists = {word for word in words if word.startswith("Sequence[")}
    if lists & {"Sequence[Operand]", "Sequence[Values]"}:
        return Kind.OPERANDS
    if words & {"Operand", "Expr"}:
        return Kind.DATA if lists or "str" in words else Kind.OPERAND
    if annotation == "object":
        return Kind.ANY
    if any(word in annotation for word in ("Dim", "Axis", "tuple[")):
        return Kind.AXES
    return Kind.POWER if annotation in ("int", "float", "float | str | None") else Kind.OPTION


def _public() -> dict[str, Callable[..., Any]]:
    candidates = {name: getattr(functions, name) for name in dir(functions)} | {"detach": detach}
    return {
        name: function
        for name, function in candidates.items()
        if not isinstance(function, type)
        and not any("Callable" in str(a) for a in function.__annotations__.values())
    }


PUBLIC: dict[str, Callable[..., Any]] = _public()
"""The public functions of expressions by name."""


@cache
def declared(name: str) -> Declared:
    """A function of ``PUBLIC`` with its declaration."""
    function = PUBLIC[name]
    signature = inspect.signature(function)
    said = {p.name: str(p.annotation) for p in signature.parameters.values()}
    return Declared(function, signature, said, {name: _kind(a) for name, a in said.items()})


class Comparison(list[Any]):
    """A list of one comparison: 1 or 0 in index notation, so it is not an array by itself."""


_COMPARISON = (
    "a comparison in brackets is 1 or 0 in index notation, which is not read back: write "
    "where(n > 1, 1, 0); an array of one comparison is stack([x < y])"
)

# Values -------------------------------------------------------------------------------------------


def operand(value: object) -> Expr:
    """Convert a parsed value to an expression; raises ValueError with an explanation."""
    if isinstance(value, Expr):
        return value
    if isinstance(value, Comparison):
        raise ValueError(_COMPARISON)
    if isinstance(value, list):
        return functions.stack([operand(v) for v in value]) if value else functions.zeros(0)
    raise ValueError(_refusal(value))


def _refusal(value: object) -> str:
    if isinstance(value, tuple) and not isinstance(value, Results):
        return (
            "a formula is one value; a comma stands only between operands, and in an array, [x, y]"
        )
    if isinstance(value, Results):
        parts = len(value.parts)
        return f"{value.name} has {parts} results; take one of them, {value.name}(...)[0]"
    if isinstance(value, str):
        return f"a formula has no strings; {value[:20]!r} stands only for an option of a function"
    if value is Ellipsis:
        return "... has no place in a formula, but in a subscript"
    return f"{value} is a keyword of Python, and stands only for an option or in a subscript"


def argument(function: Declared, parameter: str, value: object) -> Any:
    """Convert a parsed value to an argument; raises ValueError with an explanation."""
    kind, said = function.kinds[parameter], function.annotations[parameter]
    if kind is Kind.OPERAND:
        return None if value is None else operand(value)
    if kind is Kind.OPERANDS:
        if not isinstance(value, list | tuple) or isinstance(value, Results):
            raise ValueError("the arrays stand in a list, [a, b]")
        return [operand(v) for v in value]
    parsed = literal(value, lengths="Dim" in said)
    if not ("str" in said or "Dim" in said or said == "object"):
        for text in _texts(parsed):
            raise ValueError(_refusal(text))
    if said in ("int", "int | None") and isinstance(parsed, float | bool | list | tuple):
        raise ValueError(f"{parameter} is an integer")
    if kind is Kind.AXES and isinstance(parsed, list | tuple) and len(parsed) > MOST_AXES:
        raise ValueError(f"more than {MOST_AXES} axes")
    if kind is Kind.ANY or not _has_expressions(parsed):
        return parsed
    if kind is Kind.DATA:
        return operand(value)
    raise ValueError(
        "this argument is not a formula: write a literal, or for the length of an axis its name in "
        "the shape of a given symbol"
    )


def key(value: object) -> Any:
    """Convert a parsed value to a subscript; a list with an expression in it is an array."""
    if isinstance(value, tuple) and not isinstance(value, Results):
        return tuple(key(v) for v in value)
    if isinstance(value, slice):
        ends = (literal(value.start, True), literal(value.stop, True), literal(value.step))
        if not all(end is None or isinstance(end, int | Length) for end in ends):
            raise ValueError("the ends and the step of a slice are integers")
        return slice(*ends)
    parsed = literal(value)
    return operand(value) if isinstance(value, list) and _has_expressions(parsed) else parsed


def literal(value: object, lengths: bool = False) -> Any:
    """Convert the numbers of a parsed value to Python's, and lengths if ``lengths``."""
    if isinstance(value, Expr):
        length = length_of(value) if lengths else None
        if length is not None:
            return length
        number = None if value.shape else number_of(value)
        if isinstance(number, Fraction) and float(number) == number:
            return float(number)
        return value if number is None else number
    if isinstance(value, Results):
        raise ValueError(_refusal(value))
    if isinstance(value, list | tuple):
        return type(value)(literal(v, lengths) for v in value)
    return value


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, list | tuple):
        for v in value:
            yield from _texts(v)
    elif isinstance(value, str):
        yield value


def _has_expressions(value: object) -> bool:
    if isinstance(value, list | tuple):
        return any(map(_has_expressions, value))
    return isinstance(value, Expr)
