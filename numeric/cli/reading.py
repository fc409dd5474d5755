"""Parse the arguments of commands: formulas, variables, shapes and values.

Text is parsed, never evaluated.  Errors use the terms of the command line.
"""

from __future__ import annotations

import argparse
import re
import sys
import unicodedata
from typing import TYPE_CHECKING, Any, NamedTuple

import mpmath
import numpy as np

import symdiff as sd
from numeric.cli.failures import Failure
from symdiff.graph import number, ops

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

MOST_ORDER = 1000
_MOST_DIGITS = 10_000
_LENGTHS = re.compile(r"\d{1,9}(x\d{1,9})*")
_NAME = re.compile(r"[^\W\d]\w*")
_DECIMAL = re.compile(r"(?<![\w.])(\d+\.\d*|\.\d+|\d+(?=[eE]))([eE][+-]?\d+)?(?![\w.])")


class Task(NamedTuple):
    """The arguments of a command about a formula."""

    formula: sd.Expr
    symbols: list[sd.Expr]
    """The symbols of the formula, in the order of the text."""
    arrays: list[sd.Expr]
    """The symbols with shapes, from ``--inputs`` or from their values."""
    values: dict[str, sd.Expr]
    """The exact values of ``--at``: expressions without symbols."""


def task(options: argparse.Namespace) -> Task:
    """Return the formula, the arrays in it, and the values of names."""
    values = _values(options.at)
    arrays = inputs(options.inputs)
    declared = {x.name: x for x in arrays}
    for name, value in values.items():
        if name not in declared and value.shape:
            arrays.append(sd.symbol(name, value.shape))
        elif name in declared and value.shape != declared[name].shape:
            lengths, its = written(declared[name].shape), written(value.shape)
            raise Failure(f"--at {name}: {name} is {lengths} in --inputs, its value is {its}")
    return Task(*formula(options.formula, arrays), arrays, values)


def formula(text: str, arrays: list[sd.Expr]) -> tuple[sd.Expr, list[sd.Expr]]:
    """Parse a formula, from the standard input for ``-``, and return it with its symbols in order.

    >>> formula("y*sin(x)", [])
    (y*sin(x), [y, x])
    """
    text = sys.stdin.read() if text == "-" else text.strip()
    expression = _parsed(text, arrays)
    words = dict.fromkeys(
        _NAME.findall(unicodedata.normalize("NFKC", text))
    )  # Python normalises names in the same way
    places = {word: k for k, word in enumerate(words)}
    return expression, sorted(
        expression.free_symbols, key=lambda x: places.get(x.name, len(places))
    )


def _parsed(text: str, arrays: list[sd.Expr]) -> sd.Expr:
    try:
        return sd.parse(text, arrays)
    except sd.ParseError as error:
        if any(x.shape for x in arrays) or not set(text) & set("@["):
            raise
        remedy = "arrays have their shapes from --inputs, as in --inputs q=3,A=2x2"
        raise Failure(f"{error}\n{remedy}") from None


# Names and shapes ---------------------------------------------------------------------------------


def entries(option: str, words: str, read: Any) -> Iterable[tuple[str, Any]]:
    """Yield the names in ``x=5,A=3x3``, each with its parsed text."""
    seen = set()
    for word in words.split(","):
        name, _, text = (piece.strip() for piece in word.partition("="))
        if not name.isidentifier():
            raise Failure(f"{option} {word.strip()}: {name!r} is not the name of an input", 2)
        if name in seen:
            raise Failure(f"{option} {name}: given twice", 2)
        seen.add(name)
        yield name, read(f"{option} {word.strip()}", text)


def shape(where: str, text: str) -> tuple[int, ...]:
    """Parse a shape: ``5`` is a vector, ``3x3`` a matrix, nothing or ``scalar`` a scalar."""
    if text in ("", "scalar"):
        return ()
    if not _LENGTHS.fullmatch(text):
        raise Failure(f"{where}: write x=5 for a vector, x=3x4 for a matrix, x= for a scalar", 2)
    return tuple(map(int, text.split("x")))


def written(lengths: Sequence[object]) -> str:
    """Write a shape in words: ``a number``, ``an array of 3``, ``an array of 2x2``.

    >>> written(()), written((2, 2))
    ('a number', 'an array of 2x2')
    """
    return f"an array of {'x'.join(map(str, lengths))}" if lengths else "a number"


def inputs(words: str) -> list[sd.Expr]:
    """Return the symbols of ``x,q=3,A=2x2``, with their shapes."""
    if not words.strip():
        return []
    shapes = entries("--inputs", words, shape)
    return [sd.symbol(name, lengths) if lengths else symbol(name) for name, lengths in shapes]


def symbol(text: str, arrays: Iterable[sd.Expr] = ()) -> sd.Expr:
    """Return the variable with this name, or an element ``q[0]``; else a usage error."""
    word = text.strip()
    name, bracket, _ = word.partition("[")
    variable = sd.parse(name, arrays) if name.isidentifier() else None
    if variable is None or not isinstance(variable.op, ops.Symbol):
        hint = "; separate names by spaces, as in x y" if re.search(r"[\s,]", name) else ""
        raise Failure(f"{word!r} is not the name of a variable{hint}", 2)
    return _parsed(word, list(arrays)) if bracket else variable


def variables(words: Iterable[str], arrays: list[sd.Expr]) -> list[tuple[sd.Expr, int]]:
    """Parse variables with counts: ``x 2 y`` differentiates by x twice, then by y."""
    orders: list[tuple[sd.Expr, int]] = []
    counted = True  # whether a count would be a second one
    for word in map(str.strip, words):
        if not word.isdecimal():
            x = symbol(word, arrays)
            if x.shape:
                raise Failure(
                    f"{word} is {written(x.shape)}: symdiff diff takes numbers, as its element "
                    f"{word}[{', '.join('0' * x.ndim)}]; symdiff grad takes arrays"
                )
            orders.append((x, 1))
            counted = False
            continue
        if counted:
            raise Failure(f"the count {word} follows no variable", 2)
        orders[-1] = orders[-1][0], int(word) if len(word) < 9 else MOST_ORDER + 1
        counted = True
    if sum(count for _, count in orders) > MOST_ORDER:
        raise Failure(f"derivatives go up to order {MOST_ORDER}", 2)
    return orders


# Values -------------------------------------------------------------------------------------------


def _values(words: Iterable[str]) -> dict[str, sd.Expr]:
    """Return the exact values that ``--at`` assigns to names."""
    values: dict[str, sd.Expr] = {}
    for word in words:
        # A comma may also separate the operands of a function.
        for part in re.split(r",(?=\s*[^\W\d]\w*\s*=[^=])", word):
            name, equals, text = (piece.strip() for piece in part.partition("="))
            if not (equals and text and name.isidentifier()):
                raise Failure(f"--at {part.strip()}: write name=value, as in --at x=1,y=2", 2)
            name = symbol(name).name
            if name in values:
                raise Failure(f"--at {name}: {name} has two values", 2)
            values[name] = _exact(name, text)
    return values


def _exact(name: str, text: str) -> sd.Expr:
    """Parse an exact number: a decimal, a fraction, a formula of these, or a list of them."""
    try:
        return sd.constant(number.decimal(text))
    except ValueError:  # the text is a formula
        pass
    try:
        expression = sd.parse(_DECIMAL.sub(lambda decimal: f"({number.decimal(decimal[0])})", text))
    except ValueError as error:
        message = str(error).splitlines()[0]
        several = text[0] not in "([" and set(text) & set(",=")
        remedy = "; write --at x=1,y=2 for two values, [1, 2] for an array" if several else ""
        raise Failure(f"--at {name}={text}: {message}{remedy}") from None
    if expression.free_symbols:
        names = ", ".join(x.name for x in expression.free_symbols)
        raise Failure(f"--at {name}={text}: the value depends on {names}")
    if not all(map(mpmath.isfinite, np.ravel(value(expression, 5, {})))):
        raise Failure(f"--at {name}={text}: this is not a finite number")
    return expression


def missing(names: Sequence[str]) -> Failure:
    """Return the failure that asks for the values of names."""
    places = ",".join(f"{name}=..." for name in names)
    return Failure(f"no value for {', '.join(names)}; give it, as in --at {places}")


def value(expr: sd.Expr, digits: int, values: dict[str, sd.Expr]) -> Any:
    """Return the value of an expression to some digits: a number, or a NumPy array of numbers."""
    absent = sorted(x.name for x in expr.free_symbols if x.name not in values)
    if absent:
        raise missing(absent)
    try:
        return expr.evalf(digits, {x: values[x.name] for x in expr.free_symbols})
    except (ValueError, ArithmeticError) as error:
        raise Failure(str(error).removeprefix("evalf: ")) from None


def digits(text: str) -> int:
    """Parse ``--digits`` for argparse."""
    return whole(text, 1, _MOST_DIGITS)


def order(text: str) -> int:
    """Parse ``--order`` for argparse."""
    return whole(text, 1, MOST_ORDER)


def whole(text: str, least: int, most: int) -> int:
    """Parse an integer in a range for argparse; it has at most nine digits."""
    if not text.isdecimal() or len(text) > 9 or not least <= int(text) <= most:
        raise argparse.ArgumentTypeError(f"{text} is not a number from {least} to {most}")
    return int(text)
