"""The command: options, the growing table, the file, the summary line, the exit status."""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import TYPE_CHECKING

from numeric.demo.check import MOST_ESTIMATES, PRECISE_TOLERANCE, check
from numeric.demo.equations import load

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numeric.demo.check import Result
    from numeric.demo.equations import Equation

POINTS = 100_000

_HEADER = ("equation", "nodes", "gradient", "Hessian", "differences", "µs/point")
_ROW = "| {:<10} | {:>5} | {:>8} | {:>8} | {:>11} | {:>8} |"
_RULE = "|:" + "-|-".join("-" * width for width in (10, 5, 8, 8, 11, 8)) + ":|"

_LEGEND = f"""\
Every equation is differentiated by each of its variables to second order, lowered once and
evaluated at {{points}} points.

- nodes: of value, gradient and Hessian (upper triangle) together
- gradient, Hessian: the worst error against numerical differentiation of the value at 80 digits,
  relative to S, the scale of the derivative's terms; at most {PRECISE_TOLERANCE:g}
- differences: the worst distance from extrapolated central differences of the value, in their own
  error estimates; at most {MOST_ESTIMATES:g}
- µs/point: for value, gradient and Hessian together, whole arrays at once
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Check the equations; return 0 if every derivative agrees with both oracles."""
    options = _options(arguments)
    start = time.perf_counter()
    chosen: list[Equation] = options.equations
    lines = [_ROW.format(*_HEADER), _RULE]
    _show(*(f"{'':9}{line}" for line in lines))
    results = []
    for k, equation in enumerate(chosen, 1):
        result = check(equation, options.points)
        results.append(result)
        lines.append(_row(result))
        _show(f"{k:>3} / {len(chosen):<3}{lines[-1]}")
        _show(*(f"{'':9}  {failure}" for failure in result.failures))
    summary = _summary(results, time.perf_counter() - start)
    failures = [f"- {result.number}: {text}" for result in results for text in result.failures]
    legend = _LEGEND.format(points=f"{options.points:,}")
    parts = ["# The Feynman equations, differentiated twice", legend, "\n".join(lines)]
    parts += ["\n".join(failures)] if failures else []
    options.output.parent.mkdir(parents=True, exist_ok=True)
    options.output.write_text("\n\n".join([*(p.strip() for p in parts), summary]) + "\n", "utf-8")
    _show(f"The table is in {options.output}.", summary)
    return 1 if failures else 0


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m numeric.demo",
        description="Differentiate 100 equations of physics twice; cross-check every derivative.",
    )
    known = {equation.number: equation for equation in load()}
    parser.add_argument(
        "--points",
        type=_positive,
        default=POINTS,
        help=f"the number of points for each equation (default {POINTS})",
    )
    parser.add_argument(
        "--equations",
        metavar="ID,...",
        help="only these equations, such as I.6.2,II.11.3 (default all)",
    )
    parser.add_argument(
        "--output",
        type=Path,
        default=Path("out") / "feynman.md",
        help="the file of the table (default %(default)s)",
    )
    options = parser.parse_args(arguments)
    numbers = options.equations.split(",") if options.equations else list(known)
    unknown = [number for number in numbers if number not in known]
    if unknown:
        parser.error(f"no equation is called {', '.join(unknown)}")
    options.equations = [known[number] for number in numbers]
    return options


def _positive(text: str) -> int:
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError("must be at least 1")
    return value


def _show(*lines: str) -> None:
    for line in lines:
        print(line, flush=True)


def _row(result: Result) -> str:
    return _ROW.format(
        result.number,
        result.nodes,
        f"{result.gradient_error:.1e}",
        f"{result.hessian_error:.1e}",
        f"{result.estimates:.2f}",
        f"{result.microseconds:.3f}",
    )


def _summary(results: Sequence[Result], seconds: float) -> str:
    failed = [result.number for result in results if result.failures]
    worst = max(results, key=lambda r: max(r.gradient_error, r.hessian_error))
    farthest = max(results, key=lambda r: r.estimates)
    dropped, points = sum(r.dropped for r in results), sum(r.points for r in results)
    verdict = (
        f"FAILED: {len(failed)} of {len(results)} equations ({', '.join(failed[:5])}"
        + (", ...)" if len(failed) > 5 else ")")
        if failed
        else f"all {len(results)} equations agree"
    )
    return (
        f"{verdict}: {sum(r.derivatives for r in results):,} derivatives,"
        f" worst error {max(worst.gradient_error, worst.hessian_error):.1e} S ({worst.number}),"
        f" worst difference {farthest.estimates:.2f} estimates ({farthest.number}),"
        f" {dropped:,} of {points:,} points dropped,"
        f" {seconds:.1f} s"
    )
