"""What a text of the gallery means in NumPy: Python evaluates it, with nothing of the package.

The texts are those written in this directory.  Index notation is made Python first: letters on the
left run over the axes of the result, others over the length of an axis that they index.
"""

from __future__ import annotations

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

_NUMPY = """sin cos tan exp log sqrt tanh sign maximum minimum clip trace diag outer sum prod where
cumsum sort flip reshape diagonal tril max eye ones abs pi expm1"""
_SCIPY = "jv yv iv kv gamma softmax digamma"
FUNCTIONS: dict[str, Any] = {
    **{name: getattr(np, name) for name in _NUMPY.split()},
    **{name: getattr(np.linalg, name) for name in ("inv", "det", "solve")},
    "eigvalsh": lambda a: np.linalg.eigvalsh((a + a.T) / 2),
    **{name: getattr(special, name) for name in _SCIPY.split()},
    "sigmoid": special.expit,
    "softplus": lambda x: np.logaddexp(0, x),
    "sech": lambda x: 1 / np.cosh(x),
    "norm": lambda x: np.sqrt(np.sum(np.square(x))),
    "expm": linalg.expm,
    "concat": np.concatenate,
}


class Periodic(np.ndarray):
    """An array whose elements repeat, so that 0 times one outside of it is 0, as Iverson meant."""

    def __getitem__(self, key: Any) -> Any:
        plain = self.view(np.ndarray)
        places = key if isinstance(key, tuple) else (key,)
        return plain[tuple(k % n for k, n in zip(places, self.shape, strict=True))]


def value(text: str, names: Mapping[str, Any], shape: tuple[int, ...]) -> Any:
    """The value of ``shape`` of a text, whose definitions are on lines before the last."""
    known = dict(names)
    *definitions, result = text.split("\n")
    for line in definitions:
        name, body = line.split(" = ", maxsplit=1)
        known[name] = _python(body, known)
    left = _LEFT.match(result)
    letters = left.group(1).split(",") if left else []
    if left is None and not _SUM.search(result):
        return _python(result, known)
    body = _looped(result[left.end() :] if left else result, known)
    periodic = {k: x.view(Periodic) if np.ndim(x) else x for k, x in known.items()}
    out = np.zeros(shape)
    for place in np.ndindex(shape):
        out[place] = _python(body, periodic | dict(zip(letters, place, strict=True)))
    return out


def _looped(body: str, names: Mapping[str, Any]) -> str:
    """``sum[k](body)`` as a loop, conditions in brackets as numbers."""
    lengths: dict[str, int] = {}
    for name, word in _ELEMENT.findall(body):
        if name in names:
            lengths |= dict(zip(word.split(","), names[name].shape, strict=True))
    while (found := _SUM.search(body)) is not None:
        end, depth = found.end(), 1
        while depth:
            depth += {"(": 1, ")": -1}.get(body[end], 0)
            end += 1
        loops = " ".join(f"for {k} in range({lengths[k]})" for k in found.group(1).split(","))
        term = body[found.end() : end - 1]
        body = f"{body[: found.start()]}total({term} {loops}){body[end:]}"
    return _CONDITION.sub(r"(\1)", body)


def _python(text: str, names: Mapping[str, Any]) -> Any:
    scope = {"__builtins__": {"range": range}, "total": lambda terms: sum(terms, 0.0)}
    return eval(text, scope | FUNCTIONS | dict(names))
