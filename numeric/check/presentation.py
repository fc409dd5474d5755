"""Reports for the reader: as text, and as a table in Jupyter."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from numeric import html_tables
from numeric.check.interchange import decimal

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numeric.check.report import Finding, Report

EXPECTED_DIGITS = 20
"""The digits of exact values that reports promise."""

SHOWN = 20
"""The number of findings that a text describes in full; it counts the others."""

LITERAL = 64
"""The number of elements of the largest array that is written in full."""

EXCEPTIONS = 8
"""The most elements that may differ from the others in a larger array that is written as code."""

LONGEST = 400
"""The most characters of the forward, or of a reason, that are shown."""

OVERFLOWS = "the formula or its derivative overflows on the way"
"""The reason for leaving out points at which plain computations meet infinite values."""

MEANING = {
    "right": "the derivatives under test are exact, up to rounding",
    "wrong": "the derivatives under test are not those of the forward",
    "inaccurate": "the derivatives under test are right, but lose digits",
    "convention": "the derivatives under test differ from the exact ones at kinks only",
}


# Text ---------------------------------------------------------------------------------------------


def headline(report: Report) -> str:
    """Return the verdict in one line."""
    accepted = "ok" if report.ok else "not ok"
    only = ", where nothing overflows on the way" if report.left_out.get(OVERFLOWS) else ""
    return f"{report.verdict} ({accepted}): {MEANING[report.verdict]}{only if report.ok else ''}"


def text(report: Report) -> str:
    """Return the report for a terminal, with the worst finding first."""
    lines = [headline(report), *_run(report)]
    for number, finding in enumerate(report.findings[:SHOWN], 1):
        lines += ["", f"{number}. {_title(finding)}"]
        lines += [f"   {name:<9} {value}" for name, value in _particulars(finding)]
    more = len(report.findings) - SHOWN
    if more > 0:
        lines += ["", f"and {more} more in .findings"]
    # An empty line separates the counts from the findings, if there are any.
    lines += [""] * bool(report.findings) + list(_counts(report))
    return "\n".join(lines)


def _run(report: Report) -> Iterator[str]:
    """Yield the subject of the audit, and its extent."""
    inputs = ", ".join(
        f"{name} {_shape(shape)}" if shape else name for name, shape in report.inputs.items()
    )
    yield f"forward: {shortened(report.forward)}, of {inputs or 'nothing'}"
    yield f"{report.evaluations} of at most {report.budget} evaluations, seed {report.seed}"


def _counts(report: Report) -> Iterator[str]:
    for name, counts in (("judged", report.judged), ("left out", report.left_out)):
        if counts:
            groups = ", ".join(f"{count} {group}" for group, count in counts.items())
            yield f"{name}: {_points(sum(counts.values()))} ({groups})"
    for note in report.notes:
        yield f"note: {note}"


def _title(finding: Finding) -> str:
    accepted = " (accepted)" if finding.ok else ""
    return (
        f"{finding.verdict}: {finding.kind}, in the {_place(finding)}, {finding.dtype}, "
        f"at {_points(finding.count)}{accepted}"
    )


def _points(count: int) -> str:
    return "1 point" if count == 1 else f"{count} points"


def _place(finding: Finding) -> str:
    if not finding.input:
        return element(finding.derivative, finding.component)
    return f"{finding.derivative} by {element(finding.input, finding.component)}"


def _particulars(finding: Finding) -> Iterator[tuple[str, str]]:
    """Yield the parts of a finding by name, without the numbers that it lacks."""
    yield "why", shortened(finding.why)
    for name, value in finding.point.items():
        yield "at", assignment(name, value)
    if finding.expected is not None:
        yield "expected", decimal(finding.expected, EXPECTED_DIGITS)
    if finding.got is not None:
        yield "got", number(finding.got, finding.dtype)
        yield "error", f"{_ulps(finding)} ulps"
    if finding.valid is not None:
        low, high = (decimal(end, EXPECTED_DIGITS) for end in finding.valid)
        yield "valid", f"every value from {low} to {high}: the point is at a kink"


def _ulps(finding: Finding) -> str:
    return f"{float(finding.ulps):.3g}"


def element(name: str, component: Sequence[int]) -> str:
    """Write an element of an input as code: ``x[1, 2]``."""
    return f"{name}[{', '.join(map(str, component))}]" if component else name


def _shape(shape: Sequence[int]) -> str:
    return f"({shape[0]},)" if len(shape) == 1 else f"({', '.join(map(str, shape))})"


def shortened(words: str) -> str:
    """Return the text, without its middle if it is long.

    >>> shortened("x" * 1000).count("x")
    400
    """
    if len(words) <= LONGEST:
        return words
    half = LONGEST // 2
    return f"{words[:half]} ... {words[-half:]}"


# Numbers and arrays as code -----------------------------------------------------------------------


def number(value: Any, dtype: str = "float64") -> str:
    """Write a number as Python code, with the fewest digits that identify it in its dtype.

    >>> number(np.float32(0.1), "float32"), number(0.1), number(float("nan"))
    ('0.1', '0.1', 'np.nan')
    """
    # Booleans and integers have one spelling only.
    if isinstance(value, bool | np.bool | int | np.integer):
        return str(value)
    plain = float(value)
    if not np.isfinite(plain):
        return {np.inf: "np.inf", -np.inf: "-np.inf"}.get(plain, "np.nan")
    kind = np.dtype(dtype).type
    # A decimal passes through a double on its way to a narrow dtype, so it may be rounded twice.
    short = str(kind(plain)) if abs(plain) <= np.finfo(kind).max else ""
    return short if short and float(kind(float(short))) == plain else repr(plain)


def assignment(name: str, value: object) -> str:
    """Write code that makes the array under its name; describe an array that is too large.

    >>> print(assignment("x", np.array([1.5, np.inf], np.float32)))
    x = np.array([1.5, np.inf], dtype=np.float32)
    >>> x = np.zeros((20, 30))
    >>> x[3, 4] = 0.1
    >>> print(assignment("x", x))
    x = np.zeros((20, 30)); x[3, 4] = 0.1
    """
    array = np.asarray(value)
    kind = array.dtype.name
    dtype = "" if kind == "float64" else f", dtype=np.{kind}"
    if not array.ndim:
        bare = number(array[()], kind)
        return f"{name} = {f'np.{kind}({bare})' if dtype else bare}"
    if not array.size:
        return f"{name} = np.empty({_shape(array.shape)}{dtype})"
    if array.size <= LITERAL:
        return f"{name} = np.array({_nested(array, kind)}{dtype})"
    return _sparse(name, array, dtype) or (
        f"{name} of shape {_shape(array.shape)}, {kind}, from {number(np.min(array), kind)} to "
        f"{number(np.max(array), kind)}: too large for a text; see .point[{name!r}]"
    )


def _nested(array: np.ndarray, kind: str) -> str:
    """Write the rows of an array with at least one axis and few elements."""
    if array.ndim == 1:
        return f"[{', '.join(number(v, kind) for v in array)}]"
    return f"[{', '.join(_nested(row, kind) for row in array)}]"


def _sparse(name: str, array: np.ndarray, dtype: str) -> str | None:
    """Write a large array as a constant one with a few elements set; None if it is not so."""
    # Counterexamples are shrunk: most elements of a large array are one number.
    values, counts = np.unique(array, return_counts=True)
    common, kind = values[counts.argmax()], array.dtype.name
    # The sign of zero is part of the point; nan equals nothing, not even nan.
    same = (array == common) & (np.signbit(array) == np.signbit(common))
    places = np.argwhere(~same)
    if len(places) > EXCEPTIONS:
        return None
    shape, bare = _shape(array.shape), number(common, kind)
    plain = bare in ("0.0", "0")
    constant = f"np.zeros({shape}{dtype})" if plain else f"np.full({shape}, {bare}{dtype})"
    sets = (
        f"; {element(name, place)} = {number(array[place], kind)}"
        for place in map(tuple, places.tolist())
    )
    return f"{name} = {constant}{''.join(sets)}"


# HTML ---------------------------------------------------------------------------------------------

COLUMNS = ("kind", "derivative", "point", "expected", "got", "ulps", "why")


def html(report: Report) -> str:
    """Return the report as HTML: the verdict, a table of findings, the counts; texts escaped."""
    parts = [html_tables.headline(headline(report)), html_tables.paragraph(*_run(report))]
    if report.findings:
        parts.append(html_tables.table(map(_row, report.findings[:SHOWN]), COLUMNS, words=True))
    more = len(report.findings) - SHOWN
    if more > 0:
        parts.append(html_tables.paragraph(f"and {more} more in .findings"))
    return html_tables.page(*parts, html_tables.paragraph(*_counts(report)))


def _row(finding: Finding) -> list[str]:
    rows = list(_particulars(finding))
    by_name = dict(rows)
    return [
        f"{finding.kind} ({finding.verdict})",
        _place(finding),
        "\n".join(value for name, value in rows if name == "at"),
        by_name.get("expected", ""),
        by_name.get("got", ""),
        _ulps(finding),
        "\n".join(filter(None, [by_name["why"], by_name.get("valid")])),
    ]
