"""The command ``symdiff``: derivatives of formulas, values, sources, and audits of gradients.

    symdiff eval "exp(-x**2/2)*sin(y)" --at x=0.1,y=2 --digits 30
    symdiff diff "x**5" x 2 --latex
    symdiff grad "q[0]*sin(q[1])" --at "q=[3, pi]"
    symdiff hessian "x**2*sin(y)"
    symdiff steps "x*sin(x)" x --at x=2
    symdiff latex "exp(-x**2/2)/sqrt(2*pi)"
    symdiff lower "exp(-x**2/2)*sin(y)" --gradient --source
    symdiff check mymodule:loss --grad mymodule:loss_grad --inputs x=5,A=3x3

Exit status: 0 for success, 1 for an error in the formula or the values (a message on the standard
error gives place and reason), 2 for wrong usage.  For ``check``, 1 means derivatives that are not
ok, and 2 derivatives that could not be checked.
"""

from __future__ import annotations

import argparse
import os
import sys
from typing import TYPE_CHECKING

import symdiff as sd
from numeric.cli import checking, formulas
from numeric.cli.failures import Failure

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

# Commands of other tools, and their equivalents here.
_GUESSES = {
    **dict.fromkeys(("evalf", "value"), "symdiff eval FORMULA --at x=1 --digits 30"),
    **dict.fromkeys(("derivative", "differentiate"), "symdiff diff FORMULA x"),
    "gradient": "symdiff grad FORMULA",
    "jacobian": "symdiff grad of each component",
    "explain": "symdiff steps FORMULA x --at x=1",
    **dict.fromkeys(("compile", "lambdify"), "symdiff lower FORMULA --source"),
    **dict.fromkeys(("tex", "print"), "symdiff latex FORMULA"),
    **dict.fromkeys(
        ("audit", "gradcheck"), "symdiff check FORWARD --grad module:function --inputs x=5"
    ),
    **dict.fromkeys(("version", "help"), "symdiff --version, symdiff --help"),
    **dict.fromkeys(
        ("simplify", "expand", "factor", "series", "limit", "subs"),
        "in Python sd.parse(FORMULA) is an expression with such methods",
    ),
    **dict.fromkeys(
        ("integrate", "solve"),
        "SymPy has it; in Python, sd.to_sympy(sd.parse(FORMULA)) converts to SymPy",
    ),
}

_EPILOG = """\
A formula is written as in Python: 2*x**2, sqrt(x), where(x > 0, x, 0); "-" reads it from the
standard input.  No text is run as a program.  Values are decimals, fractions or formulas without
names; they are exact: 0.1 is 1/10.  A decimal in the formula is the nearest binary number; write
1/10 for the exact one.  Give the values of an array, [1, 2, 1/3], or its shape, --inputs q=3,A=2x2;
its elements are q[0] and A[0, 1].

symdiff COMMAND --help lists the arguments of a command, with examples.

exit status: 0 success, 1 an error in the formula or the values, 2 wrong usage; for check, 1 means
that the derivatives are not ok, and 2 that they could not be checked
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return the exit status.

    Args:
        arguments: the words of the command; those of the command line by default.

    >>> main(["diff", "x**3*sin(y)", "x", "2", "--at", "x=0.1,y=pi/2", "--digits", "20"])
    6*x*sin(y)
    0.6
    0
    """
    words = sys.argv[1:] if arguments is None else list(arguments)
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    try:
        parser, commands = _parser()
        _check_command(words, commands)
        options, rest = parser.parse_known_args([_shielded(word) for word in words])
        if rest:
            options.command.error(_unread(rest))
    except Failure as failure:
        return _failed(failure)
    except SystemExit as stop:  # argparse has written the reason
        return int(stop.code or 0)
    try:
        status: int = options.run(options) or 0
        sys.stdout.flush()
    except Failure as failure:
        return _failed(failure)
    except (sd.ParseError, sd.ShapeError, sd.Unsupported, sd.NotDifferentiable) as error:
        print(f"symdiff: error: {error}", file=sys.stderr)
        return 1
    except MemoryError as error:
        print(f"symdiff: error: the arrays are too large: {error}", file=sys.stderr)
        return 1
    except BrokenPipeError:  # the reader closed the pipe, as head does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except KeyboardInterrupt:
        print("symdiff: interrupted", file=sys.stderr)
        return 130
    return status


def _failed(failure: Failure) -> int:
    print(f"symdiff: error: {failure}", file=sys.stderr)
    return failure.status


def _check_command(arguments: Sequence[str], commands: Collection[str]) -> None:
    """Raise Failure with the right command for a first word that is not a command."""
    if not arguments or arguments[0] in commands or arguments[0] in ("-h", "--help", "--version"):
        return
    message = f"there is no command {arguments[0]}"
    if arguments[0] in _GUESSES:
        raise Failure(f"{message}: {_GUESSES[arguments[0]]}", 2)
    raise Failure(f"{message}; the commands are {', '.join(commands)}", 2)


def _unread(rest: Sequence[str]) -> str:
    """Return advice for words that no option and no argument takes."""
    word = rest[0].strip()
    if word.startswith("--"):
        return f"there is no option {word} here"
    if "=" in word:
        return f"{word} stands alone: values are joined by commas, as in --at x=1,y=2"
    return f"{word} is one word too many: put quotation marks around a formula"


def _shielded(word: str) -> str:
    """Put a space before a formula that starts with a minus sign, so that it is not an option."""
    is_option = word.startswith("--") or word in ("-", "-h")
    return f" {word}" if word.startswith("-") and not is_option else word


def _parser() -> tuple[argparse.ArgumentParser, Collection[str]]:
    """Return the parser, and the names of the commands."""
    parser = argparse.ArgumentParser(
        prog="symdiff",
        description="Exact derivatives of formulas, fast functions of them, audits of others.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"symdiff {sd.__version__}")
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    formulas.add(commands)
    checking.add(commands)
    return parser, commands.choices
