"""Contractions as NumPy expressions: what the stages of a plan are in source."""

from __future__ import annotations

import math
from functools import lru_cache
from string import ascii_lowercase, ascii_uppercase
from typing import TYPE_CHECKING, Any

import numpy as np

from numeric.lowering import costs
from numeric.lowering.contraction import Pair
from numeric.lowering.kernels.masked import masked
from numeric.lowering.texts import (
    ATOM,
    LOOSE,
    MATRIX_PRODUCT,
    POWER,
    PRODUCT,
    Draft,
    Text,
    compiled,
    length_text,
    lengths_text,
)
from numeric.lowering.values import WEAK
from symdiff.graph.axes import canonical

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numeric.lowering.contraction import Plan, Stage
    from numeric.lowering.texts import Piece
    from symdiff.graph.axes import Word
    from symdiff.graph.node import Dim


# Steps up to which a plan is written as one expression: Python's parser refuses deep nesting, and
# readers do so earlier.
_INLINE = 6


def written(of: Plan, d: Draft, operands: Sequence[Piece]) -> Piece:
    """The value of a plan, over its operands.

    >>> import symdiff as sd
    >>> from numeric.lowering.contraction import plan
    >>> A, v = sd.symbol("matrix_here", (2, 3)), sd.symbol("vector_here", 3)
    >>> d = Draft(2, lambda name, value: name)
    >>> d.template(written(plan((A @ v).op, [A.shape, v.shape]), d, [0, 1])).text
    '{0} @ {1}'
    """
    if any(of.kills) or len(of.stages) > _INLINE:
        return d.call(d.bind("contract", _function(of)), *operands, "sizes")
    values = list(operands)
    for stage in of.stages:
        values.append(_stage(stage, d, [values[k] for k in stage.places], of.length))
    return values[-1]


def _stage(stage: Stage, d: Draft, values: Sequence[Piece], length: Mapping[int, Dim]) -> Piece:
    if len(values) == 2:
        return _PAIRS[stage.kind](
            d, Pair(stage.words[0], stage.words[1], stage.out), *values, length
        )
    if not values:
        return _identity(d, stage.out, length)
    (x,), (word,) = values, stage.words
    return (_sum if stage.kind == "sum" else rearranged)(d, x, word, stage.out, length)


@lru_cache(maxsize=1024)
def _stage_function(stage: Stage, dims: tuple[tuple[int, Dim], ...]) -> Callable[..., np.ndarray]:
    d = Draft(len(stage.places), lambda name, value: name)
    template = d.template(_stage(stage, d, range(len(stage.places)), dict(dims)))
    return compiled(template.text, len(stage.places), NAMES)


def _function(of: Plan) -> Callable[..., np.ndarray]:
    """The function of the operands and the lengths of axes that takes the stages one by one."""
    calls = [_stage_function(stage, tuple(of.length.items())) for stage in of.stages]

    def run(*args: Any) -> np.ndarray:
        values, sizes = list(args[:-1]), args[-1]
        for stage, call in zip(of.stages, calls, strict=True):
            result = call(*[values[k] for k in stage.places], sizes)
            for k in stage.places:  # each value is used once: it is dropped
                values[k] = None
            values.append(result)
        return values[-1]  # type: ignore[no-any-return]

    call = calls[0] if len(calls) == 1 else run
    return masked(of.words, of.out, of.kills, call) if any(of.kills) else call


# One operand: fills, identities, transposes, diagonals, broadcasts, sums --------------------------


def stretched(x: Any, shape: Sequence[int]) -> Any:
    """``x`` at every place of ``shape``: written out where that is small, else a view.

    A Python number stays one: it stands for an array of any shape.

    >>> stretched(np.float32(2), (2, 2)).tolist(), stretched(2, (2, 2))
    ([[2.0, 2.0], [2.0, 2.0]], 2)
    """
    if x.__class__ in WEAK:
        return x
    if math.prod(shape) > costs.CALLS:
        return np.broadcast_to(x, shape)
    result = np.empty(shape, x.dtype)
    result[...] = x
    return result


def diagonals(letters: str, x: np.ndarray) -> np.ndarray:
    """Zeros, with ``x`` where the places of equal letters of the result are equal.

    >>> diagonals("i->ii", np.array([1, 2])).tolist()
    [[1, 0], [0, 2]]
    """
    word, _, out = letters.partition("->")
    size = dict(zip(word, x.shape, strict=True))
    result = np.zeros([size[k] for k in out], dtype=x.dtype)
    np.einsum(f"{out}->{word}", result)[...] = x  # a view, since nothing is summed
    return result


NAMES: dict[str, object] = {"np": np, "stretched": stretched, "diagonals": diagonals}
"""What the texts of contractions call."""

# Those that np.einsum knows; it takes no more letters than these.
_LETTERS = ascii_lowercase[8:] + ascii_lowercase[:8] + ascii_uppercase


def einsum_text(words: Sequence[Word], out: Word) -> str:
    """The letters of a contraction, as np.einsum takes them.

    >>> einsum_text([(0, 1), (1,)], (0,))
    "'ij,j->i'"
    """
    renamed, out = canonical(words, out)
    named = ["".join([_LETTERS[k] for k in word]) for word in (*renamed, out)]
    return f"'{','.join(named[:-1])}->{named[-1]}'"


def indexed(d: Draft, x: Piece, key: Sequence[str]) -> Piece:
    """``x[key]``; whole axes at the end are left out."""
    while key and key[-1] == ":":
        key = key[:-1]
    return Text(f"{d.put(x, ATOM)}[{', '.join(key)}]", ATOM) if key else x


def _turned(d: Draft, x: Piece, word: Word, target: Word) -> Piece:
    """``x[word]`` as a view of axes ``target``, the letters of the word: diagonals, transposes."""
    if word == target:
        return x
    if len(set(word)) < len(word):
        if len(word) == 2:
            return Text(f"{d.put(x, ATOM)}.diagonal()", ATOM)
        return d.call("np.einsum", einsum_text([word], target), x)
    axes = tuple(word.index(k) for k in target)
    last = len(axes) - 1
    if axes == tuple(range(last, -1, -1)):
        return Text(f"{d.put(x, ATOM)}.T", ATOM)
    if axes == (*range(last - 1), last, last - 1):
        return Text(f"{d.put(x, ATOM)}.mT", ATOM)
    return Text(f"{d.put(x, ATOM)}.transpose({', '.join(map(str, axes))})", ATOM)


def _spread(d: Draft, x: Piece, word: Word, out: Word) -> Piece:
    """``x[word]`` with its axes in the order of ``out``, and axes of length 1 for other letters.

    Not for those in front, which NumPy adds by itself.
    """
    x = _turned(d, x, word, tuple(k for k in out if k in word))
    key = [":" if k in word else "None" for k in out]
    while key and key[0] == "None":
        del key[0]
    return indexed(d, x, key)


def _identity(d: Draft, out: Word, length: Mapping[int, Dim]) -> Piece:
    letters = tuple(dict.fromkeys(out))
    if len(out) == 2 and len(letters) == 1:
        return d.call("np.eye", length_text(length[letters[0]]), dtype="int")
    ones = d.call("np.ones", lengths_text([length[k] for k in letters]), "int")
    return ones if letters == out else d.call("diagonals", einsum_text([letters], out), ones)


def rearranged(d: Draft, x: Piece, word: Word, out: Word, length: Mapping[int, Dim]) -> Piece:
    """``x[word]`` with axes ``out``: nothing is summed, letters of length 1 are dropped."""
    letters = tuple(dict.fromkeys(word))
    kept = tuple(k for k in letters if k in out)
    if kept != letters:
        x = _turned(d, x, word, letters)
        x = indexed(d, x, [":" if k in kept else "0" for k in letters])
        word = kept
    letters = tuple(dict.fromkeys(out))
    if len(letters) == len(kept):
        x = _turned(d, x, word, letters)
    elif all(length[k] == 1 for k in letters if k not in kept):
        x = _turned(d, x, word, tuple(k for k in letters if k in kept))
        x = indexed(d, x, [":" if k in kept else "None" for k in letters])
    else:
        x = _spread(d, x, word, letters)
        x = d.call("stretched", x, lengths_text([length[k] for k in letters]))
    return x if letters == out else d.call("diagonals", einsum_text([letters], out), x)


def _sum(d: Draft, x: Piece, word: Word, kept: Word, length: Mapping[int, Dim]) -> Piece:
    """The sum over the letters that ``kept``, in the order of the word, lacks."""
    letters = tuple(dict.fromkeys(word))
    axes = [i for i, k in enumerate(letters) if k not in kept]
    over = ""
    if kept:
        over = f"axis={axes[0] if len(axes) == 1 else tuple(axes)}"
    summed = f"{d.put(_turned(d, x, word, letters), ATOM)}.sum({over}"
    return Text(f"{summed})", ATOM, f"{summed}, out={{out}})" if kept else "")


# Two operands -------------------------------------------------------------------------------------


def _multiply(d: Draft, p: Pair, x: Piece, y: Piece, length: Mapping[int, Dim]) -> Piece:
    first = d.put(_spread(d, x, p.a, p.out), PRODUCT)
    second = d.put(_spread(d, y, p.b, p.out), POWER)
    return Text(f"{first}*{second}", PRODUCT, f"np.multiply({first}, {second}, out={{out}})")


def _dot(d: Draft, p: Pair, x: Piece, y: Piece, length: Mapping[int, Dim]) -> Piece:
    flat = ".ravel()" if len(p.a) > 1 else ""
    y = _turned(d, y, p.b, p.a)
    return Text(f"{d.put(x, ATOM)}{flat}.dot({d.put(y, ATOM if flat else LOOSE)}{flat})", ATOM)


def _einsum(d: Draft, p: Pair, x: Piece, y: Piece, length: Mapping[int, Dim]) -> Piece:
    return d.call_into("np.einsum", einsum_text([p.a, p.b], p.out), x, y)


def _product(d: Draft, x: Piece, y: Piece) -> Text:
    """The matrix product."""
    a, b = d.put(x, POWER), d.put(y, POWER)
    return Text(f"{a} @ {b}", MATRIX_PRODUCT, f"np.matmul({a}, {b}, out={{out}})")


def _matmul(d: Draft, p: Pair, x: Piece, y: Piece, length: Mapping[int, Dim]) -> Piece:
    """Batch + (left, summed) @ batch + (summed, right), each group one axis.

    Transposed views stay views: BLAS reads either order.  Two matrices meet in ``dot``: it starts
    in a third of the time of ``@``, and goes to BLAS where that has loops of its own, for an outer
    product of a transposed column.
    """
    rest = [k for k in p.out if k not in p.batch]
    if p.left and p.right and rest[0] in p.right:  # the result comes in the order asked for
        return _matmul(d, Pair(p.b, p.a, p.out), y, x, length)
    if not (p.batch or p.left) and len(p.right) == len(p.summed) == 1 and p.b[0] in p.right:
        return _product(d, y, x)  # as x @ y.T, unturned
    x = _turned(d, x, p.a, p.batch + p.left + p.summed)
    y = _turned(d, y, p.b, p.batch + p.summed + p.right)
    if not p.batch and len(p.left) == len(p.summed) == len(p.right) == 1:
        return d.call_into(f"{d.put(x, ATOM)}.dot", y)
    if not p.batch and len(p.summed) == 1 == len(p.left) + len(p.right):
        return _product(d, x, y)
    x = _matrix(d, x, p.batch, p.left, p.summed, length)
    y = _matrix(d, y, p.batch, p.summed, p.right, length)
    z: Piece = _product(d, x, y)
    letters = p.batch + p.left + p.right
    if len(p.left) > 1 or len(p.right) > 1:
        z = reshaped(d, z, [[length[k]] for k in letters])
    else:
        axes = ["0" if not group else ":" for group in (p.left, p.right)]
        z = indexed(d, z, [":"] * len(p.batch) + axes)
    return _turned(d, z, letters, p.out)


def _matrix(
    d: Draft, x: Piece, batch: Word, rows: Word, columns: Word, length: Mapping[int, Dim]
) -> Piece:
    """``x`` with its rows and its columns as one axis each, behind the batch."""
    if len(rows) > 1 or len(columns) > 1:
        groups = [*[(k,) for k in batch], rows, columns]
        return reshaped(d, x, [[length[k] for k in group] for group in groups])
    axes = [":" if group else "None" for group in (rows, columns)]
    return indexed(d, x, [":"] * len(batch) + axes)


def reshaped(d: Draft, x: Piece, groups: Sequence[Sequence[Dim]]) -> Piece:
    """``x`` with axes as long as the product of each group.

    NumPy is left to find the only length that is not known, unless zeros beside it leave it open.
    """
    found = []
    for dims in groups:
        number = math.prod(dim for dim in dims if isinstance(dim, int))
        named = [length_text(dim) for dim in dims if not isinstance(dim, int)]
        found.append("*".join([*[str(number)] * (number != 1 or not named), *named]))
    unknown = [k for k, text in enumerate(found) if not text.isdigit()]
    if len(unknown) == 1 and "0" not in found:
        found[unknown[0]] = "-1"
    inner = ", ".join(found) or "()"
    return Text(f"{d.put(x, ATOM)}.reshape({inner})", ATOM)


_PAIRS: dict[str, Callable[..., Piece]] = {
    "multiply": _multiply,
    "dot": _dot,
    "einsum": _einsum,
    **dict.fromkeys(("batched matmul", "tensordot", "matrix-vector", "matmul"), _matmul),
}
