"""Substitution: symbols replaced by values or expressions, all at once.

Formulas take the place of unknown functions in the same step.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, overload

from symdiff.calculus.nested_results import tuple_like
from symdiff.errors import ShapeError
from symdiff.functions.shaping import assembled
from symdiff.graph import ops
from symdiff.graph.axis_lengths import become, determined
from symdiff.graph.bound_lengths import with_values
from symdiff.graph.expr import Expr, free_symbols
from symdiff.graph.number import shortened
from symdiff.guesses import written
from symdiff.transforms.unknown_functions import UnknownFunction, replacement

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from symdiff.graph.expr import Replacement

__all__ = ["named", "replaced", "substitute"]


@overload
def substitute(outputs: Expr, replacements: Mapping[Any, Replacement]) -> Expr: ...
@overload
def substitute(
    outputs: Sequence[Expr], replacements: Mapping[Any, Replacement]
) -> tuple[Expr, ...]: ...
@written("substitute(f, {x: 3})")
def substitute(
    outputs: Expr | Sequence[Expr], replacements: Mapping[Any, Replacement]
) -> Expr | tuple[Expr, ...]:
    """``outputs`` with symbols replaced, simultaneously: ``{x: y, y: x}`` exchanges x and y.

    A value has exactly the shape of its symbol; nothing is broadcast.  A symbolic length of the
    symbol's shape is bound to the value's length, everywhere: also other symbols whose shape has
    it, identities, filled arrays and ``size`` get the bound length.  Replacements themselves are
    inserted as they are.

    Args:
        outputs: an expression, or a list or tuple of them, which gives a tuple.
        replacements: values, arrays or expressions by symbol, or by the name of a free symbol;
            lists are the rows of an array.  Symbols that the outputs do not contain are ignored.
            For an unknown function, a function of expressions (``lambda t: sd.sin(t)``, a
            function of ``sd.custom``), or a formula followed by its symbols, ``(sd.sin(s), s)``.
            It takes the function's place, and its derivatives that of the function's derivatives.
            A value ``theta(t)``, or of a derivative, is replaced as a symbol: others stay.

    Raises TypeError for a key that is not a symbol, ValueError for a name that no free symbol has,
    ShapeError for a value of another shape, or a symbolic length bound to two lengths.  Raises
    TypeError for a formula that takes another number of arguments, ShapeError for one that is not a
    scalar, and Unsupported for an unknown function inside a loop, an equation or an integral.

    >>> import symdiff as sd
    >>> x, y = sd.symbols("x y")
    >>> sd.substitute(x - 2 * y, {x: y, y: x}) is y - 2 * x
    True
    >>> theta = sd.function("theta")
    >>> sd.substitute(sd.diff(theta(x**2), x), {theta: sd.sin})
    2*x*cos(x**2)
    """
    if isinstance(outputs, Expr):
        return _substitute_all([outputs], replacements)[0]
    return tuple_like(outputs, _substitute_all(list(outputs), replacements))


def _substitute_all(outputs: list[Expr], replacements: Mapping[Any, Replacement]) -> list[Expr]:
    if not isinstance(replacements, Mapping):
        named("substitute", (), replacements)  # refuses it
    formulas, of_functions, others = {}, {}, {}
    for key, value in replacements.items():
        if isinstance(key, UnknownFunction):
            formulas[key] = value
        elif isinstance(key, Expr) and isinstance(key.op, ops.Unknown):
            of_functions[key] = _scalar(key, value)
        else:
            others[key] = value
    by_symbol = named("substitute", free_symbols(outputs), others, strict=True)
    # One step for all symbols: with {x: y, y: x}, steps in turn would replace both by x.
    values = {x: assembled(value) for x, value in by_symbol.items()}
    instead = replacement(outputs, formulas) if formulas else None
    return with_values("substitute", outputs, values | of_functions, instead)


def _scalar(key: Expr, value: object) -> Expr:
    """The expression for the value of an unknown function."""
    result = assembled(value)
    if result.shape:
        raise ShapeError(f"substitute: {key} is a scalar, its value has shape {result.shape}")
    return result


def replaced(f: Expr, replacements: Sequence[object]) -> Expr:
    """``substitute`` with SymPy's arguments: a mapping, a symbol and its value, or pairs of these.

    Raises TypeError for other arguments, ValueError for a pair whose value contains the symbol of a
    later one: SymPy replaces one after the other, a mapping all at once.
    """
    if len(replacements) == 2:
        return substitute(f, {replacements[0]: replacements[1]})
    argument = replacements[0] if len(replacements) == 1 else replacements
    if isinstance(argument, Mapping):
        return substitute(f, argument)
    if (
        len(replacements) != 1
        or not isinstance(argument, list | tuple)
        or not all(isinstance(pair, list | tuple) and len(pair) == 2 for pair in argument)
    ):
        raise TypeError(
            f"subs: {shortened(argument)} is not a mapping from symbols to values: write "
            f"f.subs({{x: 3}}), "
            "f.subs(x, 3) or f.subs([(x, 3), (y, 4)])"
        )
    # Pairs mean steps in turn.  From the end, so that each value meets the names replaced after it.
    later: set[str] = set()
    for key, value in reversed(argument):
        if isinstance(key, UnknownFunction):
            raise TypeError(
                f"subs: {key.name} is a function, and pairs replace symbols: write "
                f"f.subs({{{key.name}: ...}})"
            )
        again = [x.name for x in free_symbols([assembled(value)]) if x.name in later]
        if again:
            raise ValueError(
                f"subs: {again[0]} is replaced after a value that contains it: write "
                "f.subs({...}) to replace all at once, f.subs(...).subs(...) one after the other"
            )
        name = key if isinstance(key, str) else getattr(key, "name", "")
        if name in later:
            raise ValueError(f"subs: {name} is given twice")
        later.add(name)
    return substitute(f, dict(argument))


def named(
    name: str, symbols: Iterable[Expr], given: Mapping[Any, object], *, strict: bool = False
) -> dict[Expr, Any]:
    """Return the values of those ``symbols`` that have one, by symbol.

    Keys of ``given`` are symbols or names.  Raises TypeError for other keys and for a symbol given
    twice; if ``strict``, ValueError for a name that no symbol has.
    """
    if not isinstance(given, Mapping):
        raise TypeError(
            f"{name}: {shortened(given)} is not a mapping from symbols to values, as {{x: 3}} is"
        )
    by_name = {x.name: x for x in symbols}
    wanted = set(by_name.values())
    by_symbol: dict[Expr, Any] = {}
    for key, value in given.items():
        if isinstance(key, str):
            x = by_name.get(key)
            if x is None and strict:
                has = [y.name for y in by_name.values() if key in determined([y.shape])]
                raise ValueError(
                    f"{name}: no symbol is named {shortened(key)}; the free symbols are "
                    f"{', '.join(by_name) or 'none'}"
                    + (
                        f"; {key} is the length of an axis: give a value for {has[0]}"
                        if has
                        else ""
                    )
                )
        elif isinstance(key, Expr) and isinstance(key.op, ops.Symbol):
            # Data may have fixed a length of the free symbol since the user made this key.
            stand_in = become(key, wanted)
            x = stand_in if stand_in in wanted else None
        else:
            raise TypeError(f"{name}: {shortened(key)} is not a symbol; only symbols have values")
        if x is not None:
            if x in by_symbol:
                raise TypeError(f"{name}: symbol {x.name} is given twice")
            by_symbol[x] = value
    return by_symbol
