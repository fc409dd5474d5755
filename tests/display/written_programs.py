"""What the text of a solution or a loop means: an evaluator of its lines, with NumPy and SciPy.

It shares nothing with the writer.  It runs recurrences step by step, solves equations with SciPy,
and integrates all differential equations of a text together.  A formula is read by ``written``.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np
from scipy import integrate, optimize

from tests.display import written

_RECURRENCE = re.compile(r"(\w+)\[(.+?)\] = (.*), \1\[(\w+)( \+ 1)?\] = (.*?)( for \4 = (.*))?")
_COUNT = re.compile(r"(\w+) is the first (\w+) where (.*) fails")
_MINIMUM = re.compile(r"(\w+) minimizes (.*), \1 near (.*)")
_ROOT = re.compile(r"(.*) = (.*), (\w+) near (.*)")
_FUNCTION = re.compile(
    r"(?:(\w+) = d\w+/\S+, |(\w+) = d.*, )?(\w+)'(?:\((\w+)\))? = (.*), \3\((.+?)\) = (.*)"
)
_VALUE = re.compile(r"(\w+)(?:\[[^=]*?\])? = (.*)")
_WORD = re.compile(r"(?<![\w.])[A-Za-z_]\w*")
TIGHT = 1e-11


class Function:
    """A function of time, and its elements as functions."""

    def __init__(self, at: Any) -> None:
        self.at = at

    def __call__(self, t: Any) -> Any:
        if np.ndim(t):
            return np.stack([self.at(x) for x in t])
        return self.at(t)

    def __getitem__(self, place: Any) -> Function:
        return Function(lambda t: self.at(t)[place])


class Lines:
    """The definitions of a text, evaluated where a formula needs them."""

    def __init__(self, lines: list[str], names: dict[str, Any], above: Lines | None = None) -> None:
        self.names, self.lines = dict(names), lines
        self.clauses = above.clauses if above else _clauses(lines)
        self.known: dict[str, Any] = {}

    def inside(self, **names: Any) -> Lines:
        """The same definitions for a step of a loop."""
        inner = Lines(self.lines, {**self.names, **names}, self)
        inner.known = {k: v for k, v in self.known.items() if k not in names and self.fixed(k)}
        return inner

    def fixed(self, name: str) -> bool:
        """Whether a value found here holds inside loops, too."""
        return name in self.names or not self.clauses[name].groups

    def value(self, text: str, shape: tuple[int, ...] = (), definition: str = "") -> Any:
        """The value of a formula, with definitions of its parts behind ``with``.

        The formula may have a definition of its own.
        """
        body, _, parts = (definition or text).partition(" with ")
        lines = [*re.split(r", (?=[tuvwsr]\d+(?:\[[^=\[\]]*\])? = )", parts)] if parts else []
        text, lines = (text, [*lines, body]) if definition else (body, lines)
        own = {text} if definition else set()
        names = {}
        for word in set(_WORD.findall(" ".join([text, *lines]))) - own:
            found = self.get(word)
            if found is not None:
                names[word] = found
        return written.value("\n".join([*lines, text]), names, shape)

    def get(self, name: str) -> Any:
        """The value of a name, None for the name of a function."""
        if name in self.names:
            return self.names[name]
        if name not in self.known and name in self.clauses:
            self.known[name] = self.clauses[name].run(self)
        return self.known.get(name)


def value(text: str, names: dict[str, Any], shape: tuple[int, ...] = ()) -> Any:
    """The value of a text whose definitions follow ``where`` and ``and``."""
    first, _, rest = text.partition("\nwhere ")
    *parts, result = first.split("\n")
    lines = Lines(rest.split("\nand ") if rest else [], names)
    # A length of a test may have the name that the text gives to a number of steps.
    lines.names = {name: x for name, x in names.items() if name not in lines.clauses}
    return lines.value(" with ".join([result, ", ".join(parts)] if parts else [result]), shape)


class _Clause:
    groups: tuple[str, ...] = ()  # names of indices around it

    def __init__(self, *parts: Any) -> None:
        self.parts = parts


class _Value(_Clause):
    def run(self, lines: Lines) -> Any:
        name, line = self.parts
        return lines.value(name, definition=line)


class _Recurrence(_Clause):
    groups = ("k",)

    def run(self, lines: Lines) -> Any:
        name, first, start, k, forward, step, over = self.parts
        row = np.asarray(lines.value(start), float)
        begin, end = _ends(over, lines)
        count = abs(end - begin) + 1 if over else 0
        if over and begin == 0 and end == -1:
            count = 0
        path = np.zeros((count + 1, *row.shape))
        at = int(lines.value(first))
        path[at] = row
        for j in range(count):
            place = begin + j if forward else begin - j
            inner = lines.inside(**{name: path, k: place})
            path[place + bool(forward)] = inner.value(step, row.shape)
        return path


class _Count(_Clause):
    def run(self, lines: Lines) -> Any:
        k, condition = self.parts
        (sequence,) = {
            word
            for word in _WORD.findall(condition)
            if isinstance(lines.clauses.get(word), _Recurrence)
        }
        _, _, start, index, _, step, _ = lines.clauses[sequence].parts
        path = [np.asarray(lines.value(start), float)]
        for n in range(10_000):
            inner = lines.inside(**{sequence: np.stack(path), k: n, index: n})
            if not inner.value(condition):
                return n
            path.append(np.asarray(inner.value(step, path[0].shape)))
        raise AssertionError("no end")


class _Equation(_Clause):
    def run(self, lines: Lines) -> Any:
        name, left, right, near = self.parts
        start = np.asarray(lines.value(near), float)

        def excess(x: Any) -> Any:
            inner = lines.inside(**{name: x.reshape(start.shape)})
            return np.ravel(inner.value(left, start.shape) - inner.value(right, start.shape))

        return optimize.root(excess, start.ravel(), tol=1e-14).x.reshape(start.shape)


class _Minimum(_Clause):
    def run(self, lines: Lines) -> Any:
        name, objective, near = self.parts
        start = np.asarray(lines.value(near), float)

        def cost(x: Any) -> Any:
            return float(lines.inside(**{name: x.reshape(start.shape)}).value(objective))

        exact = {"xatol": 1e-9, "fatol": 1e-15}
        found = optimize.minimize(cost, start.ravel(), method="Nelder-Mead", options=exact)
        return found.x.reshape(start.shape)


class _Linear(_Clause):
    def run(self, lines: Lines) -> Any:
        name, left, right = self.parts
        side = np.asarray(lines.value(right), float)
        units = np.eye(side.size).reshape(side.size, *side.shape)
        columns = [np.ravel(lines.inside(**{name: x}).value(left, side.shape)) for x in units]
        return np.linalg.solve(np.stack(columns, axis=1), side.ravel()).reshape(side.shape)


class _Differential(_Clause):
    def run(self, lines: Lines) -> Any:
        every = {k: c for k, c in lines.clauses.items() if isinstance(c, _Differential)}
        starts, begins = {}, set()
        for name, clause in every.items():
            _, _, begin, start = clause.parts
            starts[name] = np.asarray(lines.value(start), float)
            begins.add(float(lines.value(begin)))
        (begin,) = begins
        stops = np.cumsum([x.size for x in starts.values()])[:-1]

        def split(z: Any) -> dict[str, Any]:
            parts = zip(starts.items(), np.split(z, stops), strict=True)
            return {name: part.reshape(x.shape) for (name, x), part in parts}

        def slope(t: float, z: Any) -> Any:
            at = split(z)
            rows = []
            for name, clause in every.items():
                time, body, _, _ = clause.parts
                inner = lines.inside(**at, **({time: t} if time else {}))
                rows.append(np.ravel(inner.value(body, starts[name].shape)))
            return np.concatenate(rows)

        whole = np.concatenate([x.ravel() for x in starts.values()])

        def solved(t: float) -> dict[str, Any]:
            if t == begin:
                return split(whole)
            run = integrate.solve_ivp(slope, (begin, t), whole, "DOP853", rtol=TIGHT, atol=TIGHT)
            return split(run.y[:, -1])

        own = next(name for name, clause in every.items() if clause is self)
        return Function(lambda t: solved(float(t))[own])


def _ends(over: str | None, lines: Lines) -> tuple[int, int]:
    if not over:
        return 0, -1
    ends = [part for part in over.split(", ") if part != "..."]
    return int(lines.value(ends[0])), int(lines.value(ends[-1]))


def _clauses(lines: list[str]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    linear = []
    for line in lines:
        if match := _RECURRENCE.fullmatch(line):
            name, first, start, k, forward, step, _, over = match.groups()
            found[name] = _Recurrence(name, first, start, k, forward, step, over)
        elif match := _COUNT.fullmatch(line):
            name, k, condition = match.groups()
            found[name] = _Count(k, condition)
        elif match := _MINIMUM.fullmatch(line):
            name, objective, near = match.groups()
            found[name] = _Minimum(name, objective, near)
        elif match := _FUNCTION.fullmatch(line):
            _, _, name, time, body, begin, start = match.groups()
            found[name] = _Differential(time, body, begin, start)
        elif match := _ROOT.fullmatch(line):
            left, right, name, near = match.groups()
            found[name] = _Equation(name, left, right, near)
        elif match := _VALUE.fullmatch(line):
            found[match.group(1)] = _Value(match.group(1), line)
        else:
            linear.append(line)
    for line in linear:
        left, right = line.split(" = ")
        (name,) = {w for w in _WORD.findall(left) if w in "xyzw"} - {*found}
        found[name] = _Linear(name, left, right)
    return found
