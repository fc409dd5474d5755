"""The commands about formulas: ``diff``, ``steps`` and ``lower``."""

from __future__ import annotations

import argparse
import re
import sys
from typing import TYPE_CHECKING, Any

import mpmath
import numpy as np

import symdiff as sd
from numeric.cli.checking import entries, shape
from numeric.cli.failures import Failure
from numeric.function import lower
from symdiff import number, ops

if TYPE_CHECKING:
    from collections.abc import Iterable

_MOST_DIGITS = 10_000
_MOST_ORDER = 1000


def add(commands: Any) -> None:
    """Add the commands to the subparsers of argparse."""
    diff = commands.add_parser(
        "diff",
        help="differentiate a formula; with --at, also evaluate the derivative",
        description="The derivative of a formula; with --at, the last line is its value.",
        allow_abbrev=False,
    )
    diff.add_argument("formula", metavar="FORMULA", help='such as "exp(-x**2/2)*sin(y)"')
    diff.add_argument(
        "variables", metavar="VARIABLE", nargs="+", help="variables, each with a count if not 1"
    )
    diff.add_argument(
        "--inputs", metavar="q=3,A=2x2", default="", help="arrays, with variables such as q[0]"
    )
    diff.add_argument(
        "--at", action="append", default=[], metavar="x=1,y=2", help="evaluate the derivative here"
    )
    diff.add_argument("--digits", type=_digits, metavar="N", help="of the value (default 15)")
    diff.add_argument("--latex", action="store_true", help="write the derivative as LaTeX")
    diff.set_defaults(run=_diff)
    steps = commands.add_parser(
        "steps",
        help="a derivative by the chain rule, step by step; with --at, with values",
        description="Every step of the chain rule: values, derivatives, cotangents, and the rules.",
        allow_abbrev=False,
    )
    steps.add_argument("formula", metavar="FORMULA", help='such as "x*sin(x)"')
    steps.add_argument("variable", metavar="VARIABLE", help="the variable")
    steps.add_argument(
        "--at", action="append", default=[], metavar="x=1,y=2", help="the values of all variables"
    )
    steps.add_argument("--order", type=_order, default=1, metavar="N", help="of the derivative")
    steps.add_argument("--latex", action="store_true", help="write the steps as LaTeX")
    steps.add_argument("--full", action="store_true", help="every step of a large formula")
    steps.set_defaults(run=_steps)
    lowered = commands.add_parser(
        "lower",
        help="the NumPy function of a formula",
        description="The NumPy function of a formula: what it computes, or its source.",
        allow_abbrev=False,
    )
    lowered.add_argument("formula", metavar="FORMULA", help='such as "exp(-x**2/2)*sin(y)"')
    lowered.add_argument(
        "--inputs",
        metavar="x,q=3,A=2x2",
        default="",
        help="the arguments in their order (default: as they occur), with the shapes of arrays",
    )
    lowered.add_argument(
        "--gradient", action="store_true", help="the value, then the derivative by each argument"
    )
    lowered.add_argument("--source", action="store_true", help="the Python source")
    lowered.set_defaults(run=_lower)


def _digits(text: str) -> int:
    if not text.isdecimal() or not 1 <= len(text) <= 9 or not 1 <= int(text) <= _MOST_DIGITS:
        raise argparse.ArgumentTypeError(f"{text} is not a number from 1 to {_MOST_DIGITS}")
    return int(text)


def _order(text: str) -> int:
    if not text.isdecimal() or not 1 <= len(text) <= 9 or not 1 <= int(text) <= _MOST_ORDER:
        raise argparse.ArgumentTypeError(f"{text} is not a number from 1 to {_MOST_ORDER}")
    return int(text)


# Commands -----------------------------------------------------------------------------------------


def _diff(options: argparse.Namespace) -> None:
    inputs = _inputs(options.inputs)
    formula = _formula(options.formula, inputs)
    variables = _variables(options.variables, inputs)
    known = {x.name for x in formula.free_symbols}
    named = sd.free_symbols([x for x in variables if isinstance(x, sd.Expr)])
    absent = [x.name for x in named if x.name not in known]
    for name in absent:
        print(f"symdiff: note: {name} does not occur in the formula", file=sys.stderr)
    values = _values(options.at, known | set(absent), inputs)
    derivative = sd.diff(formula, *variables)
    print(derivative.latex(full=True) if options.latex else derivative)
    if values or options.digits:
        print(_value(derivative, options.digits or 15, values))


def _steps(options: argparse.Namespace) -> None:
    # The views load more than the other commands need.
    from numeric.show.stepwise import steps

    formula, x = _formula(options.formula, []), _symbol(options.variable)
    values = _values(options.at, {s.name for s in (*formula.free_symbols, x)}, [])
    at = {s: values[s.name] for s in formula.free_symbols if s.name in values}
    missing = [s.name for s in formula.free_symbols if s not in at]
    if at and missing:
        raise _no_value(missing)
    numbers = {s: float(_value(sd.constant(v), 17, {})) for s, v in at.items()}
    made = steps(formula, x, at=numbers if options.at else None, order=options.order)
    print(made.latex(options.full) if options.latex else made.text(options.full))


def _lower(options: argparse.Namespace) -> None:
    inputs = _inputs(options.inputs)
    formula = _formula(options.formula, inputs)
    inputs = inputs or list(formula.free_symbols)
    outputs = [formula, *sd.grad(formula, inputs)] if options.gradient else formula
    try:
        function = lower(outputs, inputs)
    except ValueError as error:
        raise Failure(str(error)) from None
    print(function.source if options.source else function.explain())


# Arguments ----------------------------------------------------------------------------------------


def _formula(text: str, inputs: list[sd.Expr]) -> sd.Expr:
    return sd.parse(sys.stdin.read() if text == "-" else text.strip(), inputs)


def _inputs(words: str) -> list[sd.Expr]:
    """The arguments, or arrays, with their shapes."""
    if not words.strip():
        return []
    found = entries("--inputs", words, shape)
    return [sd.symbol(name, lengths) if lengths else _symbol(name) for name, lengths in found]


def _symbol(text: str, inputs: Iterable[sd.Expr] = ()) -> sd.Expr:
    """The variable of this name, or an element ``q[0]``; a usage error if it is none."""
    word = text.strip()
    name, bracket, _ = word.partition("[")
    found = sd.parse(name, inputs) if name.isidentifier() else None
    if found is None or not isinstance(found.op, ops.Symbol):
        raise Failure(f"{word!r} is not the name of a variable", 2)
    return sd.parse(word, inputs) if bracket else found


def _variables(words: Iterable[str], inputs: list[sd.Expr]) -> list[sd.Expr | int]:
    """Variables and counts, as ``diff`` takes them."""
    found: list[sd.Expr | int] = []
    orders: list[int] = []
    for word in map(str.strip, words):
        if not word.isdecimal():
            found.append(_symbol(word, inputs))
            orders.append(1)
            continue
        if not found or isinstance(found[-1], int):
            raise Failure(f"the count {word} follows no variable", 2)
        orders[-1] = int(word) if len(word) < 9 else _MOST_ORDER + 1
        found.append(orders[-1])
    if sum(orders) > _MOST_ORDER:
        raise Failure(f"derivatives go up to order {_MOST_ORDER}", 2)
    return found


def _values(words: Iterable[str], known: set[str], inputs: list[sd.Expr]) -> dict[str, Any]:
    """The values that ``--at`` gives to names, exact."""
    values: dict[str, Any] = {}
    for word in words:
        # A comma may also stand between the operands of a function.
        for part in re.split(r",(?=\s*[^\W\d]\w*\s*=[^=])", word):
            name, equals, text = (piece.strip() for piece in part.partition("="))
            if not (equals and text and name.isidentifier()):
                raise Failure(f"--at {part.strip()}: write name=value, as in --at x=1,y=2", 2)
            name = _symbol(name, inputs).name
            if name not in known:
                raise Failure(f"--at {name}: {name} does not occur in the formula")
            if name in values:
                raise Failure(f"--at {name}: {name} has two values", 2)
            values[name] = _number(text)
    return values


def _number(text: str) -> Any:
    """An exact number: a decimal or fraction, or a formula of such; an array is a list of them."""
    try:
        return number.decimal(text)
    except ValueError:
        value = sd.parse(text)
    if value.free_symbols:
        names = ", ".join(x.name for x in value.free_symbols)
        raise Failure(f"--at: the value {text} depends on {names}")
    if re.search(r"\d\.|\.\d|\d[eE]", text):
        raise Failure(f"--at: {text} has a decimal in a formula; write a fraction, as 1/10 for 0.1")
    if not all(map(mpmath.isfinite, np.ravel(_value(value, 5, {})))):
        raise Failure(f"--at: {text} is not a finite number")
    return value


def _no_value(missing: list[str]) -> Failure:
    places = ",".join(f"{name}=..." for name in missing)
    return Failure(f"no value for {', '.join(missing)}; give it, as in --at {places}")


def _value(derivative: sd.Expr, digits: int, values: dict[str, Any]) -> Any:
    subs = {x: values[x.name] for x in derivative.free_symbols if x.name in values}
    missing = [x.name for x in derivative.free_symbols if x not in subs]
    if missing:
        raise _no_value(missing)
    try:
        return derivative.evalf(digits, subs)
    except (ValueError, ArithmeticError) as error:
        raise Failure(str(error)) from None
