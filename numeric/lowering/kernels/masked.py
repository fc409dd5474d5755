"""Sums of products in which zeros win: a term is 0 where a masked operand is 0, beside inf or nan.

They are first computed as if no operand were masked.  Only where the result is not finite can a
zero have met an inf or a nan: those entries are summed again, term by term, without masked terms.
"""

from __future__ import annotations

import math
from math import isfinite
from typing import TYPE_CHECKING, Any

import numpy as np

from numeric.warnings_off import SILENCE, noise, set_noise
from symdiff.graph.axes import canonical

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from symdiff.graph.axes import Word


# Elements of the largest block of terms that is written out.
_BLOCK = 1 << 20


def masked(
    words: Sequence[Word], out: Word, kills: Sequence[bool], run: Callable[..., np.ndarray]
) -> Callable[..., np.ndarray]:
    """``run``; where that is not finite, the sum of the terms in which no masked operand is 0.

    ``run`` takes the operands, and the lengths of axes.  ``kills`` says which operands are masked.

    >>> plain = lambda x, y, sizes: x.dot(y)
    >>> zeros, infinite = np.array([0.0, 2.0]), np.array([np.inf, 3.0])
    >>> float(masked([(0,), (0,)], (), (True, False), plain)(zeros, infinite, {}))
    6.0
    """
    unique = [tuple(dict.fromkeys(word)) for word in words]

    def call(*args: Any) -> np.ndarray:
        before = noise()
        try:
            set_noise(SILENCE)
            result = run(*args)
            # A sum of squares is finite only if all are, and BLAS has it at once.
            flat = result.ravel("K")
            if isfinite(flat.dot(flat)):
                return result
            wrong = ~np.isfinite(result)
            if not wrong.any():
                return result
            triples = zip(args, words, unique, strict=False)
            operands = [x if word == one else _diagonal(x, word, one) for x, word, one in triples]
            result = np.array(result)
            places = np.nonzero(wrong) if out else ()
            result[wrong] = _terms(operands, unique, places, out, kills, result.dtype)
            return result[()]
        finally:
            set_noise(before)

    return call


def _diagonal(x: np.ndarray, word: Word, unique: Word) -> np.ndarray:
    """A view of ``x[word]``, which has an axis for each letter."""
    (named,), view = canonical([word], unique)  # einsum has 52 letters
    diagonal: np.ndarray = np.einsum(x, named, view)
    return diagonal


def _terms(
    operands: Sequence[np.ndarray],
    words: Sequence[Word],
    places: Sequence[NDArray[np.intp]],
    out: Word,
    kills: Sequence[bool],
    dtype: np.dtype,
) -> np.ndarray:
    """The sums of terms at these places of ``out``, in blocks of bounded size."""
    index = dict(zip(out, places, strict=True))
    length = {
        k: n
        for x, word in zip(operands, words, strict=True)
        for k, n in zip(word, x.shape, strict=True)
    }
    summed = [k for k in length if k not in index]
    count = places[0].size if places else 1
    total = np.zeros(count, dtype=dtype)
    # Leading summed letters are looped over as long as the block of the others exceeds the bound.
    looped = 0
    while looped < len(summed) and math.prod(length[k] for k in summed[looped:]) > _BLOCK:
        looped += 1
    inner = summed[looped:]
    chunk = max(1, _BLOCK // max(1, math.prod(length[k] for k in inner)))
    for start in range(0, count, chunk):
        part = {k: place[start : start + chunk] for k, place in index.items()}
        for at in np.ndindex(*(length[k] for k in summed[:looped])):
            fixed = dict(zip(summed[:looped], at, strict=True))
            total[start : start + chunk] += _block(operands, words, part, fixed, inner, kills)
    return total


def _block(
    operands: Sequence[np.ndarray],
    words: Sequence[Word],
    part: Mapping[int, NDArray[np.intp]],
    fixed: Mapping[int, int],
    inner: Sequence[int],
    kills: Sequence[bool],
) -> np.ndarray:
    product: Any = 1
    killed: Any = False
    for x, word, kill in zip(operands, words, kills, strict=True):
        order = [k for k in word if k not in inner] + [k for k in inner if k in word]
        key = tuple(part[k] if k in part else fixed[k] for k in word if k not in inner)
        gathered = x.transpose([word.index(k) for k in order])[key]
        lead = (slice(None),) if any(k in part for k in word) else (None,)
        factor = gathered[lead + tuple(slice(None) if k in word else None for k in inner)]
        product = product * factor
        if kill:
            killed = killed | (factor == 0)
    total: np.ndarray = np.where(killed, 0, product).sum(axis=tuple(range(1, 1 + len(inner))))
    return total
