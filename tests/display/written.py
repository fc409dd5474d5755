"""What a text of the gallery means in NumPy: Python evaluates it, with nothing of the package.

The texts are those written in this directory.  Index notation is made Python first: letters on the
left run over the axes of the result, others over the length of an axis that they index.
"""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import linalg, special

if TYPE_CHECKING:
    from collections.abc import Mapping

_LEFT = re.compile(r"\[([a-z](?:,[a-z])*)\] = ")
_SUM = re.compile(r"sum\[([a-z](?:,[a-z])*)\]\(")
_ELEMENT = re.compile(r"(\w+)\[([a-z](?:,[a-z])*)\]")
_CONDITION = re.compile(r"\[([^\[\],]*[<=][^\[\]]*)\]")

SOLVE = np.linalg.solve

# SciPy's and NumPy's own, and what these have under no or another name.
FUNCTIONS: dict[str, Any] = {
    **vars(special),
    **vars(np.linalg),
    **vars(np),
    "eigvalsh": lambda a: np.linalg.eigvalsh((a + a.mT) / 2),
    "solve": lambda a, b: np.linalg.solve(a, b[..., None])[..., 0] if b.ndim == 1 else SOLVE(a, b),
    "norm": lambda x: np.sqrt(np.sum(np.square(x))),
    "max": lambda *xs, **axis: np.max(*xs, **axis) if len(xs) == 1 else max(*xs),
    "sigmoid": special.expit,
    "softplus": lambda x: np.logaddexp(0, x),
    "sech": lambda x: 1 / np.cosh(x),
    "log_sigmoid": special.log_expit,
    "expm": linalg.expm,
    "logcumsumexp": lambda x, axis=-1: np.logaddexp.accumulate(x, axis=axis),
    "trace": lambda a: np.trace(a, axis1=-2, axis2=-1),
    "sliding_window_view": np.lib.stride_tricks.sliding_window_view,
}


class Periodic(np.ndarray):
    """An array whose elements repeat, so that 0 times one outside of it is 0, as Iverson meant."""

    def __getitem__(self, key: Any) -> Any:
        plain = self.view(np.ndarray)
        places = key if isinstance(key, tuple) else (key,)
        return plain[tuple(k % n for k, n in zip(places, self.shape, strict=True))]


class Unknown(Exception):  # a reason to draw another example
    """A letter of which a text does not say how far it runs."""


def value(text: str, names: Mapping[str, Any], shape: tuple[int, ...]) -> Any:
    """The value of ``shape`` of a text, whose definitions are on lines before the last."""
    known = dict(names)
    *definitions, result = text.split("\n")
    for line in definitions:
        left, body = line.split(" = ", maxsplit=1)
        name, _, word = left.rstrip("]").partition("[")
        letters = word.split(",") if word else []
        lengths = _lengths(body, known)
        if not set(letters) <= set(lengths):
            raise Unknown(line)
        known[name] = _elements(body, known, letters, tuple(lengths[k] for k in letters))
    left = _LEFT.match(result)
    letters = left.group(1).split(",") if left else []
    return _elements(result[left.end() :] if left else result, known, letters, shape)


def _elements(
    body: str, names: Mapping[str, Any], letters: list[str], shape: tuple[int, ...]
) -> Any:
    """The value of a line; where it has letters, each element by itself."""
    looped = _looped(body, names) if letters or _SUM.search(body) else body
    if not letters:
        return _python(looped, names)
    periodic = {k: x.view(Periodic) if np.ndim(x) else x for k, x in names.items()}
    out = np.zeros(shape)
    for place in np.ndindex(shape):
        out[place] = _python(looped, periodic | dict(zip(letters, place, strict=True)))
    return out


def _lengths(body: str, names: Mapping[str, Any]) -> dict[str, int]:
    """How far letters run that index an axis."""
    lengths: dict[str, int] = {}
    for name, word in _ELEMENT.findall(body):
        if name in names:
            lengths |= dict(zip(word.split(","), np.shape(names[name]), strict=True))
    return lengths


def _looped(body: str, names: Mapping[str, Any]) -> str:
    """``sum[k](body)`` as a loop, conditions in brackets as numbers."""
    lengths = _lengths(body, names)
    while (found := _SUM.search(body)) is not None:
        end, depth = found.end(), 1
        while depth:
            depth += {"(": 1, ")": -1}.get(body[end], 0)
            end += 1
        summed = found.group(1).split(",")
        if not set(summed) <= set(lengths):
            raise Unknown(body)
        loops = " ".join(f"for {k} in range({lengths[k]})" for k in summed)
        term = body[found.end() : end - 1]
        body = f"{body[: found.start()]}total({term} {loops}){body[end:]}"
    return _CONDITION.sub(r"(\1)", body)


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
        return ast.Call(ast.Name("asarray", ast.Load()), [node], [])


def _python(text: str, names: Mapping[str, Any]) -> Any:
    tree = ast.fix_missing_locations(_Elementwise().visit(ast.parse(text, mode="eval")))
    scope = {"__builtins__": {"range": range}, "total": lambda terms: sum(terms, 0.0)}
    return eval(compile(tree, text, "eval"), scope | FUNCTIONS | dict(names))
