"""One table of accuracy over the whole scalar vocabulary, and what misses its bound.

``python -m tests.accuracy`` runs every row at every point, with progress, and writes
docs/accuracy.md; with ``--native``, that of machine code alone, and its columns are written;
``python -m tests.accuracy NAME ...`` prints what these rows miss.

A row is a function of ``tests.support.scalar_functions`` with its constants, or a formula, lowered
with its derivatives, beside the same function over truncated power series of mpmath numbers: the
oracle contains neither this library's formulas nor differences.  It computes with two precisions,
which have to agree.

The bound, for f the derivative in question and u = 2**-53:

    |error| <= 8 u (|f| + sum |x_i d_i f|) + 2 smallest subnormals      (orders 3 and 4: 64 u)

Orders 1 and 2 of functions of the vocabulary also hold it without the sum, which grants the effect
of one rounding of each operand: ``|error| <= 8 u |f| + 2 smallest subnormals``, or are listed.

A result beyond the largest number has to be infinite with the right sign, or as large as the
largest number; no result has the wrong sign, and none is nan.
"""

from __future__ import annotations

import itertools
import math
import random
import sys
import warnings
from dataclasses import dataclass, replace
from functools import cache, partial
from multiprocessing import Pool
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import mpmath as mp
import numpy as np

import numeric as nm
import symdiff as sd
from numeric.lowering.native.libraries import has_native
from symdiff.graph.algebra import primitive
from tests.support.accuracy_misses import MISSES, STRICT, Miss
from tests.support.oracle_digits import key, stored
from tests.support.scalar_functions import FUNCTIONS, POSITIVE, Function, Setting, sigmoid
from tests.support.series import exp, log, orders, power

U = mp.mpf(2) ** -53
SUBNORMAL = mp.mpf(2) ** -1074
LARGEST = sys.float_info.max
FACTORS = (8, 8, 8, 64, 64)
COUNT = 120

# Points -------------------------------------------------------------------------------------------

_MAGNITUDES = (
    *(5e-324, 1e-310, 2.2250738585072014e-308, 1e-300, 1e-200, 1e-162, 1e-160, 1.5e-154),
    *(1e-108, 1e-80),
    *(1e-52, 1e-20, 1.1e-16, 1.1e-8, 1e-5, 1e-3, 0.03, 0.2, 0.5, 0.7, 0.9, 1.5, 2.0, 3.0, 5.0, 7.5),
    *(10.0, 15.0, 20.0, 37.0, 40.0, 100.0, 237.0, 300.0, 355.0, 500.0, 700.0, 709.7, 710.0, 745.1),
    *(800.0, 1e5, 1e16, 1e52, 1e77, 1e102, 1.3e154, 1e160, 1e200, 1e300, LARGEST),
)
_OFFSETS = tuple(2.0**-k for k in (52, 50, 46, 40, 33, 26, 20, 14, 10, 7))


def _near(place: float) -> list[float]:
    sides = [place + sign * h * max(abs(place), 1) for h in _OFFSETS for sign in (1, -1)]
    return [math.nextafter(place, math.inf), math.nextafter(place, -math.inf), *sides]


def points(seed: str, inside: Any, near: tuple[float, ...], low: float, high: float) -> list[Any]:
    """120 numbers of the domain: magnitudes of every kind, neighbours of poles, random ones."""
    found = [s * x for x in _MAGNITUDES for s in (1.0, -1.0)]
    found = [x for place in near for x in _near(place)] + found
    kept = dict.fromkeys((x,) for x in found if low <= x <= high and inside(x))
    draw = random.Random(seed)
    while len(kept) < COUNT:
        x = draw.choice((1.0, -1.0)) * 2.0 ** draw.uniform(-12, 11)
        if low < -1e3 or high > 1e3:
            x *= draw.choice((1.0, 1.0, 2.0 ** draw.uniform(-1050, 1000)))
        else:
            x = draw.choice((x, draw.uniform(low, high)))
        if low <= x <= high and inside(x):
            kept[(x,)] = None
    return list(kept)


def pairs(seed: str, inside: Any, low: float, high: float) -> list[Any]:
    """120 pairs: extreme, equal, nearly equal, and far apart ones."""
    kept: dict[tuple[float, float], None] = {}
    draw = random.Random(seed)
    moderate = [x for x in _MAGNITUDES if 1e-3 <= x <= 800]
    while len(kept) < COUNT:
        a = draw.choice((1.0, -1.0)) * draw.choice(draw.choice((_MAGNITUDES, moderate)))
        b = draw.choice((1.0, -1.0)) * draw.choice(draw.choice((_MAGNITUDES, moderate)))
        pair = draw.choice(
            ((a, b), (a, b), (a, b), (a, a * (1 + 2.0 ** -draw.randrange(1, 52))), (a, 2 * a))
        )
        if all(low <= x <= high for x in pair) and inside(*pair):
            kept[pair] = None
    return list(kept)


# Rows ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Row:
    """A row of the table of functions with its constants, and the expression of ours."""

    name: str
    function: Function
    ours: Any
    constants: tuple[float | None, ...]  # an operand each; None: it varies
    limits: Any  # of the orders at points, where series end

    @property
    def kind(self) -> str:
        return self.function.kind

    @property
    def free(self) -> list[int]:
        """The operands that vary."""
        return [k for k, x in enumerate(self.constants) if x is None]

    def operands(self, point: Any) -> list[Any]:
        """All operands, of those that vary."""
        varied = iter(point)
        return [next(varied) if x is None else x for x in self.constants]

    def at(self) -> list[tuple[float, ...]]:
        """The points."""
        of = self.function

        def inside(*point: float) -> bool:
            operands = self.operands(point)
            return of.smooth(*operands) and bool(of.drawn(*operands))

        if len(self.free) == 1:
            found = points(self.name, inside, of.near, of.low, of.high)
        else:
            found = pairs(self.name, inside, of.low, of.high)
        return [*self.limits, *found]

    @property
    def highest(self) -> int:
        """The highest order that the whole table judges; special oracles are slow, limits few."""
        return 2 if self.kind == "special" or self.limits else 4

    def orders(self, highest: int) -> list[tuple[int, ...]]:
        """All mixed orders up to ``highest``."""
        return orders(len(self.free), highest)

    def derivatives(self, point: Any, highest: int) -> dict[tuple[int, ...], Any]:
        """The exact derivatives."""
        wanted = {}
        for n in self.orders(highest):
            order = [0] * len(self.constants)
            for k, count in zip(self.free, n, strict=True):
                order[k] = count
            wanted[n] = tuple(order)
        digits = self.function.digits or (60 if self.kind == "special" else 700)
        found = self.function.derivatives(self.operands(point), list(wanted.values()), digits)
        return {n: found[order] for n, order in wanted.items()}


def row_of(function: Function, setting: Setting) -> Row:
    """The row of a function of the vocabulary; the constants that are not set vary."""
    free = [None] * (function.arity - len(setting.constants))
    constants = (*setting.constants, *free)
    shown = ", ".join("s" if x is None else str(x) for x in setting.constants)
    title = f"{function.name}({shown})" if shown else function.name

    def ours(*symbols: Any) -> Any:
        varied = iter(symbols)
        operands = [next(varied) if x is None else sd.constant(x) for x in constants]
        return primitive(function.name, *operands)

    return Row(title, replace(function, **setting.more), ours, constants, {})


def formula(name: str, ours: Any, f: Any, limits: Any = {}, **more: Any) -> Row:  # noqa: B006
    """The row of a formula that is no function of the vocabulary."""
    function = Function(name, f, **({"kind": "composite"} | more))
    return Row(name, function, ours, (None,) * function.arity, limits)


FORMULAS = (
    formula("x*y", lambda x, y: x * y, lambda x, y: x * y, kind="elementary"),
    formula("x/y", lambda x, y: x / y, lambda x, y: x / y, kind="elementary"),
    *(
        formula(
            f"x**{p}",
            lambda x, p=p: x**p,
            lambda z, p=p: power(z, p),
            kind="elementary",
            **({} if isinstance(p, int) else POSITIVE),
        )
        for p in (2, 3, 4, 5, 9, -1, -2, -3, -4, -7, 0.5, -0.5, 1.5, -1.5, 2.5, 1.3, -2.7)
    ),
    # Compositions whose parts do not cancel as typed.
    formula("1/cosh(x)", lambda x: 1 / sd.cosh(x), lambda z: 2 / (exp(z) + exp(-z))),
    formula("1/(1 + exp(-x))", lambda x: 1 / (1 + sd.exp(-x)), sigmoid),
    formula("x/(1 + x**2)", lambda x: x / (1 + x**2), lambda z: z / (1 + z * z)),
    formula("1/(1 + x**2)", lambda x: 1 / (1 + x**2), lambda z: 1 / (1 + z * z)),
    formula(
        "x**3/expm1(x)",
        lambda x: x**3 / sd.expm1(x),
        lambda z: z * z * z / (exp(z) - 1),
        inside=lambda x: x != 0,
    ),
    formula("x*10**400", lambda x: x * 10**400, lambda z: z * mp.mpf(10) ** 400),
    formula("x/10**400", lambda x: x / 10**400, lambda z: z / mp.mpf(10) ** 400),
    *(
        formula(f'parse("{text}")', lambda x, t=text: sd.parse(t), lambda z, c=factor: z * c)
        for text, factor in (
            ("x*1e400", mp.mpf(10) ** 400),
            ("-1e-400*x", -(mp.mpf(10) ** -400)),
            ("x/1e-400", mp.mpf(10) ** 400),
            ("x*7e-315/3e5", mp.mpf(7e-315) / 300000),
            ("x*1e200*1e200", mp.mpf(1e200) ** 2),
            ("x*1e-200*1e-200", mp.mpf(1e-200) ** 2),
        )
    ),
    *(
        formula(
            f"{text}xlogy(x, x)",
            lambda x, s=sign: s * sd.xlogy(x, x),
            lambda z, s=sign: z * log(z) * s,
            limits={(0.0,): (0, -mp.inf * sign, mp.inf * sign)},
            **POSITIVE,
        )
        for sign, text in ((1, ""), (-1, "-"))
    ),
)

ROWS = {
    row.name: row
    for row in (
        *(
            row_of(one, setting)
            for one in FUNCTIONS
            if not one.without
            for setting in one.settings or (Setting(),)
        ),
        *FORMULAS,
    )
}


# Judging ------------------------------------------------------------------------------------------


class Exact(NamedTuple):
    """A derivative, and |f| + sum |x_i d_i f| of it."""

    value: Any
    size: Any


@cache
def exact(name: str, point: tuple[float, ...], highest: int = 2) -> dict[tuple[int, ...], Exact]:
    """Return every derivative up to order ``highest``: stored ones, or as ``settled`` says."""
    parts = stored(
        key("accuracy", name, point, highest), lambda: settled_parts(name, point, highest)
    )
    pairs = zip(parts[::2], parts[1::2], strict=True)
    return dict(zip(ROWS[name].orders(highest), itertools.starmap(Exact, pairs), strict=False))


def settled_parts(name: str, point: tuple[float, ...], highest: int) -> list[Any]:
    """Return values and sizes of the derivatives one after the other."""
    return [part for one in settled(name, point, highest).values() for part in one]


def settled(name: str, point: tuple[float, ...], highest: int) -> dict[tuple[int, ...], Exact]:
    """Compute every derivative up to order ``highest``, by two precisions that agree."""
    one = ROWS[name]
    if point in one.limits:
        return {(n,): Exact(mp.mpf(f), abs(f)) for n, f in enumerate(one.limits[point])}
    found = one.derivatives(point, highest + 1)
    result = {}
    for n in one.orders(highest):
        up = [found[(*n[:k], n[k] + 1, *n[k + 1 :])] for k in range(len(point))]
        size = abs(found[n]) + sum(abs(mp.mpf(x) * d) for x, d in zip(point, up, strict=True))
        result[n] = Exact(found[n], size)
    return result


def error(result: float, want: Exact, factor: float, strict: bool = False) -> str | None:
    """Describe the error of a result, or give None; ``strict``: operands count as exact."""
    value = want.value
    size = abs(value) if strict else want.size
    allowed = factor * U * size + 2 * SUBNORMAL
    if math.isnan(result):
        return "nan"
    if abs(value) > LARGEST:
        if abs(result) >= LARGEST * (1 - 1e-12) or abs(value) - allowed <= abs(result):
            return None if (result > 0) == (value > 0) else "wrong sign"
        return f"{result!r} beyond the largest number"
    if math.isinf(result):
        beyond = abs(value) + allowed > LARGEST and (result > 0) == (value > 0)
        return None if beyond else "infinite"
    off = abs(mp.mpf(result) - value)
    if off <= allowed:
        return None
    if result and value and (result > 0) != (value > 0):
        return "wrong sign"
    units = off / (U * size + 2 * SUBNORMAL / factor)
    return f"{mp.nstr(units, 3)} u"


X, Y = sd.symbols("x y")


def derivative(name: str, order: tuple[int, ...]) -> tuple[Any, list[Any]]:
    """The derivative, and the symbols of which it is a function."""
    one = ROWS[name]
    symbols = [X, Y][: len(one.free)]
    f = one.ours(*symbols)
    for s, n in zip(symbols, order, strict=True):
        f = sd.diff(f, s, n) if n else f
    return f, symbols


@cache
def lowered(name: str, order: tuple[int, ...]) -> Any:
    """The derivative as a Function."""
    return nm.lower(*derivative(name, order))


def _columns(chosen: list[tuple[float, ...]]) -> list[np.ndarray]:
    return [np.array(column) for column in zip(*chosen, strict=True)]


def in_machine_code(name: str, chosen: list[tuple[float, ...]]) -> dict[tuple[int, ...], Any]:
    """The derivatives that the native back end computes, by order; all are one Function."""
    if not has_native("auto"):
        return {}
    found = [(n, *derivative(name, n)) for n in ROWS[name].orders(ROWS[name].highest)]
    coded = [
        (n, f)
        for n, f, symbols in found
        if nm.lower(f, symbols, backend="native")._programs.value.points is not None
    ]
    if not coded:
        return {}
    function = nm.lower([f for _, f in coded], found[0][2], backend="native")
    assert function._programs.value.points is not None
    with np.errstate(all="ignore"):
        results = function(*_columns(chosen))
    wide = [np.broadcast_to(y, len(chosen)) for y in results]
    return dict(zip([n for n, _ in coded], wide, strict=True))


def judge(
    name: str,
    order: tuple[int, ...],
    chosen: list[tuple[float, ...]],
    highest: int = 2,
    compiled: np.ndarray | None = None,
    alone: bool = False,
    strict: bool = False,
    tightened: float = 1.0,
) -> list[tuple[tuple[float, ...], str, str]]:
    """The points among ``chosen`` at which a row misses: by Python floats, and by arrays.

    ``compiled``: what machine code has there, which is judged, too, or ``alone``.
    ``tightened``: divide the bound by this.
    ``strict``: the points that miss the bound without conditioning, and hold the one with it.
    """
    function = lowered(name, order)
    missed = []
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        arrays = np.broadcast_to(function(*_columns(chosen)), len(chosen))
        for k, point in enumerate(chosen):
            want = exact(name, point, highest)[order]
            results = {} if alone else {"float": function(*point), "array": arrays[k]}
            if compiled is not None:
                results["native"] = compiled[k]
            for path, result in results.items():
                wrong = error(float(result), want, FACTORS[sum(order)] / tightened)
                if strict:
                    wrong = None if wrong else error(float(result), want, 8, strict=True)
                if wrong is not None:
                    missed.append((point, path, f"{wrong}: {float(result)!r}"))
    return missed


def sample(name: str, count: int) -> list[tuple[float, ...]]:
    """Some points of a row, always the same ones, and all at which a miss of it is listed."""
    chosen = ROWS[name].at()
    kept = random.Random(f"sample {name}").sample(chosen, min(count, len(chosen)))
    listed = [miss.at for (other, _), miss in MISSES.items() if other == name]
    return list(dict.fromkeys([*ROWS[name].limits, *listed, *kept]))


def strict_orders(name: str) -> list[tuple[int, ...]]:
    """The orders of a row that are judged without conditioning, too."""
    vocabulary = ROWS[name].kind in ("elementary", "special")
    return [n for n in ROWS[name].orders(2) if sum(n)] if vocabulary else []


# The whole table ----------------------------------------------------------------------------------


Results: TypeAlias = dict[tuple[str, tuple[int, ...]], list[tuple[tuple[float, ...], str, str]]]


def _judged(
    name: str, alone: bool = False
) -> tuple[str, Results, Results, list[tuple[str, tuple[int, ...]]]]:
    one = ROWS[name]
    chosen = one.at()
    high = one.highest
    coded = in_machine_code(name, chosen)
    orders = list(coded) if alone else one.orders(high)
    found = {(name, n): judge(name, n, chosen, high, coded.get(n), alone) for n in orders}
    strict = {
        (name, n): judge(name, n, chosen, high, coded.get(n), alone, strict=True)
        for n in strict_orders(name)
        if n in orders
    }
    exact.cache_clear()
    return name, found, strict, [(name, n) for n in coded]


def run(
    names: list[str], show: int, alone: bool = False
) -> tuple[Results, Results, list[tuple[str, tuple[int, ...]]]]:
    """Judge rows at every point, two at a time; machine code ``alone``, if that is asked for.

    What each (row, order) misses, with and without conditioning, and of which there is machine
    code.
    """
    found: Results = {}
    strict: Results = {}
    every: list[tuple[str, tuple[int, ...]]] = []
    with Pool(2) as pool:
        for number, (name, missed, strictly, coded) in enumerate(
            pool.imap_unordered(partial(_judged, alone=alone), names), 1
        ):
            found |= missed
            strict |= strictly
            every += coded
            bad = [f"{order}: {len(m)}" for (_, order), m in missed.items() if m]
            note = f"misses {'; '.join(bad)}" if bad else "holds"
            print(f"[{number}/{len(names)}] {name} {note}", flush=True)
            for title, some in (("", missed), ("without conditioning ", strictly)):
                for (_, order), all_missed in some.items():
                    for point, path, wrong in all_missed[:show]:
                        print(f"      {title}{order} {point} {path}: {wrong}")
    ordered = (
        {key: some[key] for name in names for key in some if key[0] == name}
        for some in (found, strict)
    )
    return *ordered, every


def _severity(miss: tuple[tuple[float, ...], str, str]) -> float:
    size = miss[2].split(":")[0]
    return float(size.removesuffix(" u")) if size.endswith(" u") else math.inf


def document(
    results: Results,
    coded: list[tuple[str, tuple[int, ...]]],
    page: str | None = None,
    strict: Results | None = None,
) -> str:
    """docs/accuracy.md; results of machine code alone leave the others as a ``page`` has them."""
    kinds = ("elementary", "composite", "special", "stepwise")
    counts = {(kind, high): [0, 0, 0, 0] for high in ("0 to 2", "3 and 4") for kind in kinds}
    for (name, order), missed in results.items():
        count = counts[ROWS[name].kind, "3 and 4" if sum(order) > 2 else "0 to 2"]
        count[0] += 1
        count[1] += any(path != "native" for _, path, _ in missed)
        count[2] += (name, order) in coded
        count[3] += (name, order) in coded and any(path == "native" for _, path, _ in missed)
    if page is not None:
        cells = [[cell.strip() for cell in line.split("|")] for line in page.splitlines()]
        for row in cells:
            if tuple(row[1:3]) in counts:
                counts[row[1], row[2]][:2] = map(int, row[3:5])
    lines = [
        "# Accuracy",
        "",
        "Written by `python -m tests.accuracy` (`make accuracy`).  A row is a derivative of a",
        "function, of order 0 to 2, lowered, at 120 points or more from the smallest subnormal to",
        "the largest number and near its kinks and poles, by Python floats and by arrays, beside",
        "mpmath; of order 3 and 4, too, but for special functions, where the oracle is slow, and",
        "formulas with limits.  With u = 2**-53 and f the derivative in question it holds if",
        "everywhere",
        "",
        "    |error| <= 8 u (|f| + sum |x_i d_i f|) + 2 smallest subnormals  (orders 3, 4: 64 u),",
        "",
        "no sign is wrong, nothing is nan, and only what exceeds the largest number is infinite.",
        "",
        "The native back end runs the same rows: those of which it has machine code are counted;",
        "the others are NumPy's there, too.  Functions that C has are by themselves within 4 units",
        "in the last place, of both precisions (`tests/numeric/test_native_accuracy.py`).",
        "",
        "| functions | orders | rows | miss the bound | in machine code | miss it there |",
        "|---|---|---|---|---|---|",
        *(
            f"| {kind} | {high} | {' | '.join(map(str, count))} |"
            for (kind, high), count in counts.items()
            if count[0]
        ),
        "",
        f"## {_MISSED}",
        "",
        *_table(results, MISSES, _MISSED, page),
        "",
        f"## {_NEEDED}",
        "",
        "The sum in the bound grants the effect of one rounding of each operand.  Operands are",
        "exact, so orders 1 and 2 of functions of the vocabulary keep their digits without it,",
        "`|error| <= 8 u |f| + 2 smallest subnormals`, but for these:",
        "",
        *_table(strict or {}, STRICT, _NEEDED, page),
    ]
    return "\n".join([*lines, ""])


_MISSED, _NEEDED = "Rows that miss it", "Rows that need the conditioning term"


def _table(
    results: Results, reasons: dict[tuple[str, tuple[int, ...]], Miss], title: str, page: str | None
) -> list[str]:
    """The rows that miss a bound, and those that the ``page`` has below ``title``."""
    section = (page or "").partition(f"## {title}\n")[2].partition("\n## ")[0].splitlines()
    rows = [line for line in section if line[:3] == "| `" and ", native:" not in line]
    for (name, order), missed in results.items():
        start = f"| `{name}` | {', '.join(map(str, order))} | "
        if not missed or any(line.startswith(start) for line in rows):
            continue
        (point, path, wrong), places = max(missed, key=_severity), len({p for p, _, _ in missed})
        listed = reasons.get((name, order))
        cause, text = listed.cause if listed else "not listed", ", ".join(map(repr, point))
        rows.append(f"{start}{places} | at {text}, {path}: {wrong} | {cause} |")
    if not rows:
        return ["None."]
    head = "| function | order | points | the worst | cause, and what was tried |"
    return [head, "|---|---|---|---|---|", *rows]


def main(names: list[str]) -> None:
    """Run the table, or the rows asked for; ``--native``: the columns of machine code alone."""
    alone = "--native" in names
    names = [name for name in names if name != "--native"]
    results, strict, coded = run(names or list(ROWS), 6 if names else 1, alone)
    if not names:
        path = Path(__file__).parent.parent / "docs" / "accuracy.md"
        path.write_text(document(results, coded, path.read_text() if alone else None, strict))
        print(f"written: {path.name}")
    for title, some, listed in (("", results, MISSES), (" without conditioning", strict, STRICT)):
        missing = [key for key, missed in some.items() if missed]
        new = [key for key in missing if key not in listed]
        held = [key for key in listed if key in some and not some[key]]
        print(
            f"{len(missing)} of {len(some)} rows miss{title}; unlisted: {new or 'none'}; "
            f"listed, and hold: {held or 'none'}"
        )


if __name__ == "__main__":
    main(sys.argv[1:])
