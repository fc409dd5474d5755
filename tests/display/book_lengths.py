"""Compare the lengths of texts of derivatives with SymPy's.

``python -m tests.display.book_lengths`` prints the table.  For each derivative of the formulas in
``book_formulas``, the length of ``sd.text(full=True)``, lines of named parts counted, is divided by
the length of the shorter of SymPy's ``simplify`` and ``factor``.  Blanks and line breaks do not
count.  A Hessian counts the entries on and above its diagonal, each as a text of its own.  The time
is the processor's for the texts.

SymPy parses and differentiates the formulas itself, with real symbols.  Functions that have another
name there are renamed as in symdiff.  Its results take minutes, so they are in a file, which
``--again`` writes.  ``--json FILE`` writes the figures.
"""

from __future__ import annotations

import argparse
import json
import re
import signal
import sys
from itertools import combinations_with_replacement
from pathlib import Path
from statistics import median
from time import perf_counter, process_time
from typing import TYPE_CHECKING, Any, NamedTuple

import sympy as sp

import symdiff as sd
from tests.display.book_formulas import FORMULAS

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.display.book_formulas import Formula

DATA = Path(__file__).parent.parent / "data" / "book_lengths.json"
PATIENCE = 120  # seconds for one form of one derivative
NEAR = 1.1
# Names of SymPy's functions where symdiff has another, and the reverse for formulas.
_RENAMED = ((r"polygamma\(0,", "digamma("), ("loggamma", "gammaln"), ("Abs", "abs"))
_FUNCTIONS = {"gammaln": sp.loggamma}


class Figure(NamedTuple):
    """The lengths of one derivative, and the milliseconds of its text."""

    name: str
    length: int
    sympys: int
    milliseconds: float

    @property
    def ratio(self) -> float:
        return self.length / self.sympys


def derivatives(formula: Formula) -> dict[str, list[tuple[str, ...]]]:
    """Return the derivatives of a formula by name: the variables of each entry."""
    if len(formula.variables) > 1:
        pairs = combinations_with_replacement(formula.variables, 2)
        return {f"{formula.name}: Hessian": list(pairs)}
    (x,) = formula.variables
    return {f"{formula.name}: first": [(x,)], f"{formula.name}: second": [(x, x)]}


def length(text: str) -> int:
    """Count the characters that are not blanks."""
    return len("".join(text.split()))


# SymPy's side -------------------------------------------------------------------------------------


class _OutOfTimeError(BaseException):
    """Raised at the end of the patience; SymPy catches no such class."""


def _give_up(*_: object) -> None:
    raise _OutOfTimeError


def sympys_formula(formula: Formula) -> sp.Expr:
    """Parse a formula by SymPy, with real symbols."""
    names = set(re.findall(r"[A-Za-z_]\w*(?!\w|\()", formula.text))
    symbols = {name: sp.Symbol(name, real=True) for name in names - {"pi"}}
    return sp.sympify(formula.text, locals=_FUNCTIONS | symbols)


def written(expr: sp.Expr) -> str:
    """Return SymPy's text without blanks, with symdiff's names of functions."""
    text = str(expr)
    for theirs, ours in _RENAMED:
        text = re.sub(theirs, ours, text)
    return "".join(text.split())


def shorter(formula: Formula, variables: tuple[str, ...]) -> tuple[str, bool]:
    """Return the shorter of ``simplify`` and ``factor``, and whether both came to an end."""
    symbols = [sp.Symbol(name, real=True) for name in variables]
    derivative = sp.diff(sympys_formula(formula), *symbols)
    texts = [text for form in (sp.simplify, sp.factor) if (text := _in_time(form, derivative))]
    return min(texts, key=len), len(texts) == 2


def _in_time(form: Callable[[sp.Expr], sp.Expr], derivative: sp.Expr) -> str | None:
    signal.signal(signal.SIGALRM, _give_up)
    signal.alarm(PATIENCE)
    try:
        return written(form(derivative))
    except _OutOfTimeError:
        return None
    finally:
        signal.alarm(0)


def compute_again() -> None:
    """Write the file of SymPy's texts."""
    texts: dict[str, list[str]] = {}
    unfinished: list[str] = []
    for formula in FORMULAS:
        for name, entries in derivatives(formula).items():
            start = perf_counter()
            results = [shorter(formula, variables) for variables in entries]
            texts[name] = [text for text, _ in results]
            if not all(finished for _, finished in results):
                unfinished.append(name)
            print(f"{perf_counter() - start:6.1f} s  {name}", *texts[name], flush=True)
    data = {"sympy": sp.__version__, "unfinished": unfinished, "texts": texts}
    DATA.write_text(json.dumps(data, indent=1) + "\n", encoding="ascii")


# The comparison -----------------------------------------------------------------------------------


def saved() -> dict[str, Any]:
    """Read the file of SymPy's texts."""
    data: dict[str, Any] = json.loads(DATA.read_text(encoding="ascii"))
    return data


def figures() -> list[Figure]:
    """Measure all derivatives."""
    texts = saved()["texts"]
    sd.text(sd.sin(sd.symbol("x")))  # the first text loads modules
    result = []
    for formula in FORMULAS:
        expr = sd.parse(formula.text)
        for name, entries in derivatives(formula).items():
            entry_lengths, time = 0, 0.0
            for variables in entries:
                derivative = expr
                for variable in variables:
                    derivative = sd.diff(derivative, sd.symbol(variable))
                start = process_time()  # other work on the machine does not count
                text = sd.text(derivative, full=True)
                time += process_time() - start
                entry_lengths += length(text)
            sympys = sum(map(length, texts[name]))
            result.append(Figure(name, entry_lengths, sympys, 1000 * time))
    return result


def summary(rows: list[Figure]) -> dict[str, float]:
    """Return the figures that the display is judged by."""
    ratios = [row.ratio for row in rows]
    return {
        "median": median(ratios),
        "within": sum(ratio <= NEAR for ratio in ratios) / len(ratios),
        "worst": max(ratios),
        "milliseconds": median(row.milliseconds for row in rows),
    }


def main(arguments: list[str]) -> None:
    """Print the table and the summary."""
    parser = argparse.ArgumentParser(prog="python -m tests.display.book_lengths")
    parser.add_argument("--again", action="store_true", help="compute SymPy's texts first")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures")
    options = parser.parse_args(arguments)
    if options.again:
        compute_again()
    rows = figures()
    for row in rows:
        print(
            f"{row.name:42} {row.length:5} {row.sympys:5} {row.ratio:6.2f} {row.milliseconds:8.1f}"
        )
    total = summary(rows)
    print(
        f"\nratio of lengths: median {total['median']:.2f}, at most {NEAR} for "
        f"{total['within']:.0%}, worst {total['worst']:.2f}; "
        f"text: median {total['milliseconds']:.1f} ms"
    )
    if options.json:
        table = [row._asdict() | {"ratio": row.ratio} for row in rows]
        options.json.write_text(json.dumps({"summary": total, "rows": table}, indent=1) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
