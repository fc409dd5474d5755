"""The command ``symdiff``: derivatives of formulas, their values, and the source of functions.

    symdiff diff "exp(-x**2/2)*sin(y)" x x y --at x=1,y=2 --digits 30
    symdiff diff "x**5" x 2 --latex
    symdiff lower "exp(-x**2/2)*sin(y)" --gradient --source

Exit status: 0 if all went well, 1 for an error in the formula or the values (a message on the
standard error says what and where), 2 for wrong usage.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
from typing import TYPE_CHECKING, Any

import mpmath

import symdiff as sd
from numeric.function import lower
from symdiff import number, ops

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_MOST_DIGITS = 10_000
_MOST_ORDER = 1000

# Commands that users try, and what does it here.
_GUESSES = {
    "grad": "symdiff lower FORMULA --gradient --source, or symdiff diff FORMULA x for each",
    "hessian": "symdiff diff FORMULA x y for each pair of variables",
    "latex": "symdiff diff FORMULA x 0 --latex, where 0 derivatives leave the formula as it is",
    **dict.fromkeys(
        ("eval", "evalf"),
        "symdiff diff FORMULA x 0 --at x=1, where 0 derivatives leave the formula as it is",
    ),
}

_EPILOG = """\
A formula is written as in Python: 2*x**2, sqrt(x), where(x > 0, x, 0); "-" reads it from the
standard input.  Values are decimals, fractions or formulas without names; they are exact: 0.1 is
1/10.  A decimal in the formula is the binary number next to it; write 1/10 for the exact one.

exit status: 0 all went well, 1 an error in the formula or the values, 2 wrong usage
"""


class _Failure(Exception):
    """What went wrong, in words, and the exit status."""

    def __init__(self, message: str, status: int = 1) -> None:
        super().__init__(message)
        self.status = status


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; the result is the exit status.

    Args:
        arguments: those of the command line by default.

    >>> main(["diff", "x**3*sin(y)", "x", "2", "--at", "x=0.1,y=pi/2", "--digits", "20"])
    6*x*sin(y)
    0.6
    0
    """
    given = sys.argv[1:] if arguments is None else list(arguments)
    if given[:1] and given[0] in _GUESSES:
        print(f"symdiff: error: there is no {given[0]}: {_GUESSES[given[0]]}", file=sys.stderr)
        return 2
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    try:
        options = _parser().parse_args([_shielded(word) for word in given])
    except SystemExit as stop:  # argparse has said why
        return int(stop.code or 0)
    try:
        options.run(options)
        sys.stdout.flush()
    except _Failure as failure:
        print(f"symdiff: error: {failure}", file=sys.stderr)
        return failure.status
    except (sd.ParseError, sd.ShapeError, sd.Unsupported, sd.NotDifferentiable) as error:
        print(f"symdiff: error: {error}", file=sys.stderr)
        return 1
    except BrokenPipeError:  # the reader has had enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except KeyboardInterrupt:
        print("symdiff: interrupted", file=sys.stderr)
        return 130
    return 0


def _shielded(word: str) -> str:
    """A formula that begins with a minus sign, behind a space: to argparse it is no option then."""
    is_option = word.startswith("--") or word in ("-", "-h")
    return f" {word}" if word.startswith("-") and not is_option else word


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="symdiff",
        description="Exact derivatives of formulas, and fast functions of them.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"symdiff {sd.__version__}")
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
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
        "--at", action="append", default=[], metavar="x=1,y=2", help="evaluate the derivative here"
    )
    diff.add_argument("--digits", type=_digits, metavar="N", help="of the value (default 15)")
    diff.add_argument("--latex", action="store_true", help="write the derivative as LaTeX")
    diff.set_defaults(run=_diff)
    lowered = commands.add_parser(
        "lower",
        help="the NumPy function of a formula",
        description="The NumPy function of a formula: what it computes, or its source.",
        allow_abbrev=False,
    )
    lowered.add_argument("formula", metavar="FORMULA", help='such as "exp(-x**2/2)*sin(y)"')
    lowered.add_argument(
        "--inputs", metavar="x,y", help="the arguments in their order (default: as they occur)"
    )
    lowered.add_argument(
        "--gradient", action="store_true", help="the value, then the derivative by each argument"
    )
    lowered.add_argument("--source", action="store_true", help="the Python source")
    lowered.set_defaults(run=_lower)
    return parser


def _digits(text: str) -> int:
    if not text.isdecimal() or not 1 <= len(text) <= 9 or not 1 <= int(text) <= _MOST_DIGITS:
        raise argparse.ArgumentTypeError(f"{text} is not a number from 1 to {_MOST_DIGITS}")
    return int(text)


# Commands -----------------------------------------------------------------------------------------


def _diff(options: argparse.Namespace) -> None:
    formula = _formula(options.formula)
    variables = _variables(options.variables)
    known = {x.name for x in formula.free_symbols}
    absent = [x.name for x in variables if isinstance(x, sd.Expr) and x.name not in known]
    for name in dict.fromkeys(absent):
        print(f"symdiff: note: {name} does not occur in the formula", file=sys.stderr)
    values = _values(options.at, known | set(absent))
    derivative = sd.diff(formula, *variables)
    print(derivative.latex(full=True) if options.latex else derivative)
    if values or options.digits:
        print(_value(derivative, options.digits or 15, values))


def _lower(options: argparse.Namespace) -> None:
    formula = _formula(options.formula)
    inputs = list(formula.free_symbols)
    if options.inputs is not None:
        inputs = [_symbol(name) for name in options.inputs.split(",")]
    outputs = [formula, *sd.grad(formula, inputs)] if options.gradient else formula
    try:
        function = lower(outputs, inputs)
    except ValueError as error:
        raise _Failure(str(error)) from None
    print(function.source if options.source else function.explain())


# Arguments ----------------------------------------------------------------------------------------


def _formula(text: str) -> sd.Expr:
    return sd.parse(sys.stdin.read() if text == "-" else text.strip())


def _symbol(text: str) -> sd.Expr:
    """The variable of this name; a usage error if it is none."""
    found = sd.parse(text.strip()) if text.strip().isidentifier() else None
    if found is None or not isinstance(found.op, ops.Symbol):
        raise _Failure(f"{text.strip()!r} is not the name of a variable", 2)
    return found


def _variables(words: Iterable[str]) -> list[sd.Expr | int]:
    """Variables and counts, as ``diff`` takes them."""
    found: list[sd.Expr | int] = []
    orders: list[int] = []
    for word in map(str.strip, words):
        if not word.isdecimal():
            found.append(_symbol(word))
            orders.append(1)
            continue
        if not found or isinstance(found[-1], int):
            raise _Failure(f"the count {word} follows no variable", 2)
        orders[-1] = int(word) if len(word) < 9 else _MOST_ORDER + 1
        found.append(orders[-1])
    if sum(orders) > _MOST_ORDER:
        raise _Failure(f"derivatives go up to order {_MOST_ORDER}", 2)
    return found


def _values(words: Iterable[str], known: set[str]) -> dict[str, Any]:
    """The values that ``--at`` gives to names, exact."""
    values: dict[str, Any] = {}
    for word in words:
        # A comma may also stand between the operands of a function.
        for part in re.split(r",(?=\s*[^\W\d]\w*\s*=[^=])", word):
            name, equals, text = (piece.strip() for piece in part.partition("="))
            if not (equals and text and name.isidentifier()):
                raise _Failure(f"--at {part.strip()}: write name=value, as in --at x=1,y=2", 2)
            name = _symbol(name).name
            if name not in known:
                raise _Failure(f"--at {name}: {name} does not occur in the formula")
            if name in values:
                raise _Failure(f"--at {name}: {name} has two values", 2)
            values[name] = _number(text)
    return values


def _number(text: str) -> Any:
    """An exact number: a decimal or fraction, or a formula of such."""
    try:
        return number.decimal(text)
    except ValueError:
        value = sd.parse(text)
    if value.free_symbols:
        names = ", ".join(x.name for x in value.free_symbols)
        raise _Failure(f"--at: the value {text} depends on {names}")
    if re.search(r"\d\.|\.\d|\d[eE]", text):
        raise _Failure(
            f"--at: {text} has a decimal in a formula; write a fraction, as 1/10 for 0.1"
        )
    if not mpmath.isfinite(_value(value, 5, {})):
        raise _Failure(f"--at: {text} is not a finite number")
    return value


def _value(derivative: sd.Expr, digits: int, values: dict[str, Any]) -> Any:
    subs = {x: values[x.name] for x in derivative.free_symbols if x.name in values}
    missing = [x.name for x in derivative.free_symbols if x not in subs]
    if missing:
        places = ",".join(f"{name}=..." for name in missing)
        raise _Failure(f"no value for {', '.join(missing)}; give it, as in --at {places}")
    try:
        return derivative.evalf(digits, subs)
    except (ValueError, ArithmeticError) as error:
        raise _Failure(str(error)) from None


if __name__ == "__main__":
    sys.exit(main())
