"""Signatures: the core axes of an op, which define its effect on shapes and batches.

The notation is NumPy's for generalized ufuncs: ``(n,n),(n,k)->(n,k)`` works on the last two axes of
two operands.  All axes before the core are a batch.  All operands have the same batch, except those
that others share.
"""

from __future__ import annotations

import re


class Signature:
    """The core axes of operands and value, and the operands that may have fewer leading axes.

    All ``shared`` operands have the same leading axes, and the leading axes of the others end with
    these.  ``...`` after the last operand allows it any number of times, including none.

    The shape of the value is the shape of the operand ``widest``, without the last ``drops`` axes,
    plus the axes in ``adds``.  Each entry of ``adds`` is an operand and a slice of its shape; the
    operand is -1 where no operand has the axis.

    >>> solve = Signature("(n,n),(n,k)->(n,k)", shared=(0,))
    >>> solve.operands, solve.value
    ((('n', 'n'), ('n', 'k')), ('n', 'k'))
    >>> gaps = Signature("(n)->(n,n)")
    >>> gaps.drops, gaps.adds
    (0, ((0, slice(-1, None, None)),))
    """

    __slots__ = ("adds", "drops", "operands", "shared", "text", "value", "widest")
    text: str
    operands: tuple[tuple[str, ...], ...]
    value: tuple[str, ...]
    shared: tuple[int, ...]

    def __init__(self, text: str, shared: tuple[int, ...] = ()) -> None:
        before, after = text.split("->")
        self.text, self.shared = text, shared
        self.operands, (self.value,) = _words(before), _words(after)
        unshared = [k for k in range(len(self.operands)) if k not in shared]
        self.widest = unshared[-1] - len(self.operands) if unshared else -1
        core, batch_axes = self.operands[self.widest], 0
        while core[batch_axes : batch_axes + 1] == self.value[batch_axes : batch_axes + 1] != ():
            batch_axes += 1
        first: dict[str, tuple[int, int]] = {}
        for k, word in enumerate(self.operands):
            for axis, letter in enumerate(word, -len(word)):
                first.setdefault(letter, (k, axis))
        self.drops = len(core) - batch_axes
        axes = [first.get(letter, (-1, -1)) for letter in self.value[batch_axes:]]
        self.adds = tuple([(k, slice(axis, axis + 1 or None)) for k, axis in axes])

    def __repr__(self) -> str:
        return f"Signature({self.text!r}, shared={self.shared})"

    def place(self, k: int) -> int:
        """The index in the signature of operand k of a node."""
        return min(k, len(self.operands) - 1)

    def core(self, k: int) -> tuple[str, ...]:
        """The core axes of operand k of a node."""
        return self.operands[self.place(k)]


def signatures(text: str, shared: tuple[int, ...] = ()) -> tuple[Signature, ...]:
    """The signature of each result of an op that has several.

    >>> [one.value for one in signatures("(n,n)->(n),(n,n)")]
    [('n',), ('n', 'n')]
    """
    before, after = text.split("->")
    return tuple([Signature(f"{before}->({','.join(word)})", shared) for word in _words(after)])


def _words(text: str) -> tuple[tuple[str, ...], ...]:
    return tuple(
        tuple(word.split(",")) if word else () for word in re.findall(r"\(([^)]*)\)", text)
    )
