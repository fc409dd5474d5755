"""What a text of the gallery means in NumPy: Python evaluates it, with nothing of the package.

The texts are those written in this directory.  Index notation is made Python first: letters on the
left run over the axes of the result, others over the length of an axis that they index.
"""

from __future__ import annotations

import ast
import inspect
import math
import re
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import linalg, optimize, special

from tests.display import by_digits

if TYPE_CHECKING:
    from collections.abc import Mapping

_LEFT = re.compile(r"\[([a-z](?:,[a-z])*)\] = ")
_RUN = r"(?:[^\[\],]+ <= )?[a-z](?: < [^\[\],]+)?"
_LOOP = re.compile(rf"(sum|prod)\[({_RUN}(?:, ?{_RUN})*)\]\(")
_ELEMENT = re.compile(r"(\w+)\[([^\[\]<=:]*)\]")
_DEFINED = re.compile(r"\w+(\[[^\[\]]*\])? = ")
_LETTER = re.compile("[a-z]")
_LISTED = re.compile(r"(\[[^\[\]]*\])\[([a-z])\]")

SOLVE = np.linalg.solve


# SciPy's and NumPy's own, and what these have under no or another name.
class Fault(Exception):
    """A sign that is read otherwise than it is meant, or in two ways."""


class Unknown(Exception):  # a reason to draw another example
    """What a text does not say, as how far a letter runs, or what is not read here."""


def _scan(start: Any, *given: Any, length: int = 0, reverse: bool = False) -> Any:
    """All carries; operands of letters x are taken by their elements."""
    *operands, body = given
    _, *letters = inspect.signature(body).parameters
    pairs = list(zip(letters, operands, strict=True))
    along = [x for name, x in pairs if name[0] == "x"]
    others = [x for name, x in pairs if name[0] != "x"]
    carries = [np.asarray(start, float)]
    steps = range(len(along[0]) if along else int(length))
    for k in reversed(steps) if reverse else steps:
        carries.append(np.asarray(body(carries[-1], *(x[k] for x in along), *others), float))
    return np.stack(carries[::-1] if reverse else carries)


def _root(start: Any, *given: Any) -> Any:
    """Where the equations are 0."""
    *params, body = given
    shape = np.shape(start)
    equations = lambda x: np.ravel(body(x.reshape(shape), *params))  # noqa: E731
    found = optimize.root(equations, np.ravel(start), tol=1e-14)
    return found.x.reshape(shape)


def _unread(name: str) -> Any:
    def refused(*given: Any, **words: Any) -> Any:
        raise Unknown(name)

    return refused


# Solutions whose text has not all that their value needs, or is in more lines than Python reads.
UNREAD = "sized", "mesh", "steps", "fold", "minimize", "linear_solve"

FUNCTIONS: dict[str, Any] = {
    **{name: _unread(name) for name in UNREAD},
    **by_digits.FUNCTIONS,
    **vars(special),
    **vars(np.linalg),
    **vars(np),
    "eigvalsh": lambda a: np.linalg.eigvalsh((a + a.mT) / 2),
    "solve": lambda a, b: (
        SOLVE(a, np.asarray(b)[:, None])[..., 0] if np.ndim(b) == 1 else SOLVE(a, b)
    ),
    "norm": lambda x: np.sqrt(np.sum(np.square(x))),
    "max": lambda *xs, **axis: np.max(*xs, **axis) if len(xs) == 1 else max(*xs),
    "sigmoid": special.expit,
    "softplus": lambda x: np.logaddexp(0, x),
    "sech": lambda x: 1 / np.cosh(x),
    "log_sigmoid": special.log_expit,
    "expm": linalg.expm,
    "logcumsumexp": lambda x, axis=-1: np.logaddexp.accumulate(x, axis=axis),
    "trace": lambda a: np.trace(a, axis1=-2, axis2=-1),
    "astype": lambda x, to: np.asarray(x).astype(to),
    "searchsorted": lambda a, v, right=False: np.searchsorted(a, v, "right" if right else "left"),
    "number": lambda condition: np.asarray(condition, float)[()],
    "sum_of": lambda terms: sum(terms, 0.0),
    "prod_of": lambda terms: math.prod(terms, start=1.0),
    "take_along_axis": lambda a, k, axis: np.take_along_axis(a, np.asarray(k), axis),
    "lambertw": lambda x: special.lambertw(x).real,
    "scan": _scan,
    "root": _root,
    "fixed_point": _root,
    "sliding_window_view": np.lib.stride_tricks.sliding_window_view,
}


class Periodic(np.ndarray):
    """An array whose elements repeat, so that 0 times one outside of it is 0, as Iverson meant."""

    def __getitem__(self, key: Any) -> Any:
        plain = self.view(np.ndarray)
        places = key if isinstance(key, tuple) else (key,)
        if len(places) < self.ndim or not all(isinstance(k, int | np.integer) for k in places):
            part = plain[key]
            return part.view(Periodic) if np.ndim(part) else part
        return plain[tuple(k % max(n, 1) for k, n in zip(places, self.shape, strict=True))]


def value(text: str, names: Mapping[str, Any], shape: tuple[int, ...]) -> Any:
    """The value of ``shape`` of a text, whose definitions are on lines before the last."""
    expected = shape
    known = dict(names)
    *definitions, result = text.split("\n")
    for line in definitions:
        if not _DEFINED.match(line):  # of a loop whose body has several lines
            raise Unknown(line)
        left, body = line.split(" = ", maxsplit=1)
        name, _, word = left.removesuffix("]").partition("[")
        runs = _runs(word) if word else []
        lengths = _lengths(body, known)
        shape = tuple(_python(stop, known) if stop else _only(k, lengths) for _, k, stop in runs)
        known[name] = _elements(body, known, [k for _, k, _ in runs], shape)
    left = _LEFT.match(result)
    letters = left.group(1).split(",") if left else []
    return _elements(result[left.end() :] if left else result, known, letters, expected)


def _runs(letters: str) -> list[tuple[str, str, str]]:
    """Letters, each between the texts of where it starts and stops, empty where they are not."""
    found = []
    for run in letters.split(","):
        *before, letter = re.split(r" (<=?) ", run.strip())
        stop = ""
        if before and (len(before) > 2 or before[1] == "<"):
            stop = letter if before[-1] == "<" else f"{letter} + 1"
            *before, letter = before[:-1]
        found.append((before[0] if before else "", letter, stop))
    return found


def _elements(
    body: str, names: Mapping[str, Any], letters: list[str], shape: tuple[int, ...]
) -> Any:
    """The value of a line; where it has letters, each element by itself."""
    looped = _looped(body, names)
    if looped == body and not letters and "where(" not in body:
        return _python(looped, names)
    periodic = {k: x.view(Periodic) if np.ndim(x) else x for k, x in names.items()}
    if not letters:
        return _python(looped, periodic)
    out = np.zeros(shape)
    for place in np.ndindex(shape):
        out[place] = _python(looped, periodic | dict(zip(letters, place, strict=True)))
    return out


def _only(letter: str, lengths: Mapping[str, set[int]]) -> int:
    """How far a letter runs, of which every element must say the same."""
    if letter not in lengths:
        raise Unknown(letter)
    if len(lengths[letter]) > 1:
        raise Fault(f"{letter} runs over axes of lengths {sorted(lengths[letter])}")
    (length,) = lengths[letter]
    return length


def _lengths(body: str, names: Mapping[str, Any]) -> dict[str, set[int]]:
    """How far letters run that index an axis."""
    lengths: dict[str, set[int]] = {}
    for name, word in _ELEMENT.findall(body):
        places, shape = word.split(","), np.shape(names.get(name, 0))
        if len(places) == len(shape):
            runs = zip(places, shape, strict=True)
            for k, n in runs:
                if _LETTER.fullmatch(k):
                    lengths.setdefault(k, set()).add(n)
    for listed, letter in _LISTED.findall(body):
        lengths.setdefault(letter, set()).add(listed.count(",") + 1)
    return lengths


def _looped(body: str, names: Mapping[str, Any]) -> str:
    """``sum[k](body)``, ``prod[1 <= k < n](body)`` as loops, conditions in brackets as numbers."""
    while (found := _LOOP.search(body)) is not None:
        end, depth = found.end(), 1
        while depth:
            depth += {"(": 1, ")": -1}.get(body[end], 0)
            end += 1
        runs, term = _runs(found.group(2)), body[found.end() : end - 1]
        lengths = _lengths(term, names)  # elsewhere, a letter is another
        ranges = [
            f"for {k} in range({start or 0}, {stop or _only(k, lengths)})"
            for start, k, stop in runs
        ]
        loop = f"{found.group(1)}_of({term} {' '.join(ranges)})"
        body = f"{body[: found.start()]}{loop}{body[end:]}"
    return _without_brackets(body)


def _without_brackets(body: str) -> str:
    """Conditions in parentheses: a bracket behind nothing, in which something is compared."""
    opened: list[int] = []
    compared: list[bool] = []
    listed: list[bool] = []
    text = list(body)
    for k, sign in enumerate(body):
        if sign in "[(":
            opened.append(k)
            compared.append(False)
            listed.append(False)
        elif sign == "," and listed:
            listed[-1] = True
        elif sign in "<=>!" and compared:
            compared[-1] = True
        elif sign in "])":
            start, condition = opened.pop(), compared.pop()
            behind = start and (body[start - 1].isalnum() or body[start - 1] in "_])")
            several = listed.pop() or body[max(0, start - 6) : start] == "stack("
            if sign == "]" and condition and not behind and not several:
                text[start], text[k] = "number(", ")"
    return "".join(text)


class _Elementwise(ast.NodeTransformer):
    """``and``, ``or``, ``not`` and lists as arrays, as the language of texts has them."""

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.AST:
        self.generic_visit(node)
        name = "logical_and" if isinstance(node.op, ast.And) else "logical_or"
        first, *others = node.values
        for other in others:
            first = ast.Call(ast.Name(name, ast.Load()), [first, other], [])
        return first

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:
        self.generic_visit(node)
        if not isinstance(node.op, ast.Not):
            return node
        return ast.Call(ast.Name("logical_not", ast.Load()), [node.operand], [])

    def visit_Call(self, node: ast.Call) -> ast.AST:
        """The parts of ``concat([u, v])`` have lengths of their own."""
        lists = [x for x in node.args if isinstance(x, ast.List)]
        for x in lists:
            x.elts = [self.visit(part) for part in x.elts]
        node.args = [x if x in lists else self.visit(x) for x in node.args]
        return node

    def visit_List(self, node: ast.List) -> ast.AST:
        self.generic_visit(node)
        numbers = [node] if node.elts else [node, ast.Name("intp", ast.Load())]  # no places
        return ast.Call(ast.Name("asarray", ast.Load()), numbers, [])


def _python(text: str, names: Mapping[str, Any]) -> Any:
    tree = ast.fix_missing_locations(_Elementwise().visit(ast.parse(text, mode="eval")))
    scope = {"__builtins__": {"range": range}}
    if text.count("lambda") and "\n" in text:
        raise Unknown(text)
    return eval(compile(tree, text, "eval"), scope | FUNCTIONS | dict(names))
