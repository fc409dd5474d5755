"""The command ``symdiff``: derivatives of formulas, their values, sources, and audits of others.

    symdiff diff "exp(-x**2/2)*sin(y)" x x y --at x=1,y=2 --digits 30
    symdiff diff "x**5" x 2 --latex
    symdiff diff "q[0]*sin(q[1])" q[1] --inputs q=2 --at "q=[3, pi]"
    symdiff steps "x*sin(x)" x --at x=2
    symdiff lower "exp(-x**2/2)*sin(y)" --gradient --source
    symdiff check mymodule:loss --grad mymodule:loss_grad --inputs x=5,A=3x3

Exit status: 0 if all went well, 1 for an error in the formula or the values (a message on the
standard error says what and where), 2 for wrong usage.  Of ``check`` 1 is for derivatives that are
not ok, and 2 for those that could not be checked.
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
    from collections.abc import Sequence

# Commands that users try, and what does it here.
_GUESSES = {
    "explain": "symdiff steps FORMULA x --at x=1",
    "grad": "symdiff lower FORMULA --gradient --source, or symdiff diff FORMULA x for each",
    "hessian": "symdiff diff FORMULA x y for each pair of variables",
    "latex": "symdiff diff FORMULA x 0 --latex, where 0 derivatives leave the formula as it is",
    **dict.fromkeys(
        ("simplify", "expand", "factor", "series", "limit", "subs"),
        "symdiff diff, lower and check are what there is; in Python sd.parse(FORMULA) is an "
        "expression, which has such methods",
    ),
    **dict.fromkeys(
        ("audit", "gradcheck"),
        "symdiff check FORWARD --grad module:function --inputs x=5",
    ),
    **dict.fromkeys(
        ("eval", "evalf"),
        "symdiff diff FORMULA x 0 --at x=1, where 0 derivatives leave the formula as it is",
    ),
}

_EPILOG = """\
A formula is written as in Python: 2*x**2, sqrt(x), where(x > 0, x, 0); "-" reads it from the
standard input.  Values are decimals, fractions or formulas without names; they are exact: 0.1 is
1/10.  A decimal in the formula is the binary number next to it; write 1/10 for the exact one.
Arrays have their shapes from --inputs q=3,A=2x2, elements q[0] and A[0, 1], values [1, 2, 1/3].

exit status: 0 all went well, 1 an error in the formula or the values, 2 wrong usage; of check 1
says that the derivatives are not ok, and 2 that they could not be checked
"""


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
        status: int = options.run(options) or 0
        sys.stdout.flush()
    except Failure as failure:
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
    return status


def _shielded(word: str) -> str:
    """A formula that begins with a minus sign, behind a space: to argparse it is no option then."""
    is_option = word.startswith("--") or word in ("-", "-h")
    return f" {word}" if word.startswith("-") and not is_option else word


def _parser() -> argparse.ArgumentParser:
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
    return parser
