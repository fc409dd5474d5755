"""Operations of Tensors: each is one declaration, whose derivative comes from its symdiff op.

An ``Op`` names the expression that it computes; what is compiled for operands that it meets is in
``specialised``.  Where a record of the backward pass is asked for, the pullback is an operation
itself, declared by its own formula, so that it has a pullback too, and so on to any order
(``recorded_backward``).
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import numpy as np

from numeric.eager.dtypes import OF_NUMPY, promoted
from numeric.eager.record import Node
from numeric.eager.specialised import INPUTS as INPUTS
from numeric.eager.specialised import LOCK, Bound, Declaration, Specialised
from numeric.eager.specialised import RESULT as RESULT
from symdiff import functions
from symdiff.errors import ShapeError, Unsupported
from symdiff.graph.leaves import KINDS, named_dummy
from symdiff.graph.lengths import LengthLetter
from symdiff.interchange.numpy_protocol import UFUNCS
from symdiff.locks import once

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from numeric.eager.tensor import Tensor
    from numeric.eager.types import Operand
    from symdiff.graph.expr import Expr

# Shapes that are remembered for one op; a loop over ever new shapes must not fill the memory.
_KNOWN = 4096

# NumPy's function by the one that makes its expressions, the first of several names; ``np.rint``
# lacks the digits that rounding takes.
_NUMPYS: dict[Callable[..., object], Callable[..., Any]] = {
    functions.where: np.where,
    functions.dot: np.dot,  # quicker to start than ``np.matmul``
    functions.outer: np.multiply.outer,
    functions.det: np.linalg.det,
}
for _ufunc, _build in UFUNCS.items():
    if _ufunc is not np.rint:
        _NUMPYS.setdefault(_build, _ufunc)

# The ops that modules declare, by the names that pickles have for them.  A name says nothing of the
# module, so that a pickle stays valid when an op moves, and it must be unique for good.
DECLARED: dict[str, Op] = {}


class Op(Declaration):
    """An operation.

    Args:
        name: in snake case; the node's class is its camel case with ``Backward0``.
        build: the expression of the result, a tuple for several results, from the expressions of
            the operands and the parameters.
        kernel: the same on arrays, which makes new memory (or views, for a ``view``), where that
            is faster (``benchmarks.kernels``) or tells a dtype or an order in memory, which
            expressions do not; without one an expression that NumPy has a function for
            (``sd.sin``) is that function, and any other is lowered.
        saves: RESULT where PyTorch saves results and the pullback can be written in them.
        pointwise: elementwise with NumPy's broadcasting.
        promotion: the common dtype of the operands; None leaves each its own.
        label: the class name of the node, where it is another one.
        outputs: the number of results; more than one make a tuple.
        view: results share the memory of the first operand.
        reuse: from operands, stand-ins of results and parameters, to expressions by node:
            identities beside ``result = stand-in`` that express the pullback in results.
        numbers: Python numbers count as operands, as in ``next_functions``.
        stretches: axes of length 1 may be stretched, so that formulas depend on which they are.
        concrete: axis lengths go into the formula as numbers, as letters cannot express them.
        holds: operands that PyTorch saves and so watches for changes, needed or not.
        kinds: the dtypes of the results, where the operands' do not say it.
        partial: pullbacks leave out results that nothing came back to, instead of taking zeros for
            them: for terms that may be infinite, or cost much.
        base: the class of its nodes, where these have ways of their own.
        variant: what tells the op from another one with its name and label.
        origin: for an op that is made while a program runs: how another process makes it again, a
            function and its arguments, or (weakly) the Function that it calls.  Ops without one
            are declared by a module, once, and stay.

    Raises ValueError for the second declaration of an op.
    """

    def __init__(
        self,
        name: str,
        build: Callable[..., Any],
        kernel: Callable[..., Any] | None = None,
        *,
        saves: str = INPUTS,
        pointwise: bool = False,
        promotion: Callable[[Iterable[Any]], np.dtype] | None = promoted,
        label: str | None = None,
        outputs: int = 1,
        view: bool = False,
        reuse: Callable[..., Mapping[Expr, Expr]] | None = None,
        concrete: bool = False,
        numbers: bool = False,
        stretches: bool = True,
        holds: tuple[int, ...] = (),
        partial: bool = False,
        kinds: tuple[np.dtype, ...] | None = None,
        base: type[Node] = Node,
        variant: str = "",
        origin: object = None,
    ) -> None:
        if kernel is None:
            kernel = _NUMPYS.get(build)
        self.name, self.build, self.kernel, self.saves = name, build, kernel, saves
        self.pointwise, self.promotion, self.view = pointwise, promotion, view
        self.outputs, self.reuse, self.concrete = outputs, reuse, concrete
        self.stretches, self.holds = stretches, holds
        # Dtypes are compared by ``is``; those that come from pickles are equal, but others.
        self.kinds = None if kinds is None else tuple([OF_NUMPY[kind].numpy for kind in kinds])
        self.label = label or "".join(map(str.capitalize, name.split("_"))) + "Backward0"
        space = {"__slots__": (), "op": self, "outputs": outputs, "numbers": numbers}
        space["partial"] = partial
        space["__module__"] = __name__
        self.node: type[Node] = type(self.label, (base,), space)
        self.short: Callable[[Tensor, Operand], Tensor]  # see ``fast_paths``; few ops have one
        self.bounds: dict[object, Bound] = {}
        self.known: dict[object, Specialised] = {}
        self.key, self.origin = ":".join(filter(None, (name, self.label, variant))), origin
        if origin is None and DECLARED.setdefault(self.key, self) is not self:
            raise ValueError(f"an op {self.key} is declared already: give this one a variant")

    def __repr__(self) -> str:
        return f"<Op {self.name}>"

    def bound(self, arrays: Sequence[object], params: tuple[object, ...] = ()) -> Bound:
        """What belongs to these parameters, shapes and dtypes of operands."""
        # An operation of three operands takes some 3 us, so that a key of less than shapes and
        # dtypes as they are is worth while only where this one is new.
        key = (
            params,
            *[
                (a.shape, a.dtype.char) if a.__class__ is np.ndarray else a.__class__
                for a in arrays
            ],
        )
        found = self.bounds.get(key)
        if found is None:
            make = functools.partial(self._found, arrays, params)
            found = once(self.bounds, key, LOCK, make, _KNOWN)
        return found

    def _found(self, arrays: Sequence[object], params: tuple[object, ...]) -> Bound:
        """The same, looked for by less than exact shapes."""
        if not (self.pointwise and _uniform(arrays)):
            return self._bind(arrays, params)
        # One for each dtype, though formulas are the same: what is known of results holds for it.
        kind = next(a.dtype.char for a in arrays if a.__class__ is np.ndarray)
        key = (params, kind, *[a.__class__ is np.ndarray for a in arrays])
        found = self.bounds.get(key)
        if found is None:
            kinds = _kinds(arrays)
            of = self.specialised(params, [()] * len(arrays), kinds, uniform=True)
            found = self.bounds[key] = Bound(of, {}, None, None)
        return found

    def _bind(self, arrays: Sequence[Any], params: tuple[object, ...]) -> Bound:
        kinds = _kinds(arrays)
        shapes: list[Any] = [np.shape(a) for a in arrays]
        letters, sizes = _letters(shapes, self.stretches)
        of = None
        if not self.concrete:
            try:
                of = self.specialised(params, letters, kinds)
            except (Unsupported, ShapeError, ValueError, TypeError, IndexError):
                of = None  # its result's shape, or the op itself, needs the lengths
        if of is None:
            of, sizes = self.specialised(params, shapes, kinds), {}
        dtypes = [a.dtype if a.__class__ is np.ndarray else None for a in arrays]
        return Bound(of, sizes, shapes, dtypes)

    def specialised(
        self,
        params: tuple[object, ...],
        shapes: Sequence[tuple[int | str, ...]],
        kinds: tuple[type, ...],
        uniform: bool = False,
    ) -> Specialised:
        """The op for operands of these shapes, maybe of letters, and kinds of numbers."""
        key = (params, tuple(shapes), kinds, uniform)
        found = self.known.get(key)
        if found is None:
            if len(self.known) >= _KNOWN:
                self.known.clear()
            xs = [
                named_dummy(f"x{i}", s, k)
                for i, (s, k) in enumerate(zip(shapes, kinds, strict=True))
            ]
            found = self.known[key] = Specialised(self, params, xs, uniform)
        return found


def _uniform(arrays: Sequence[object]) -> bool:
    """Whether the arrays have one shape and one real dtype."""
    shape = kind = None
    for a in arrays:
        if a.__class__ is np.ndarray:
            if kind is None:
                shape, kind = a.shape, a.dtype
            elif a.shape != shape or a.dtype is not kind:
                return False
    return kind is not None and kind.kind == "f"


def _kinds(arrays: Sequence[object]) -> tuple[type, ...]:
    """What elements are in formulas.  Numbers are real unless all operands are integers."""
    kinds = [KINDS[a.dtype.kind] if a.__class__ is np.ndarray else None for a in arrays]
    return tuple(
        [
            (float if float in kinds else a.__class__) if kind is None else kind
            for a, kind in zip(arrays, kinds, strict=True)
        ]
    )


def _letters(
    shapes: Sequence[tuple[int, ...]], stretches: bool
) -> tuple[list[tuple[int | str, ...]], dict[str, int]]:
    """Shapes with a letter per length, equal lengths getting equal letters.

    Lengths 0 and 1 stay numbers where axes of length 1 may be stretched.
    """
    letters: dict[int, LengthLetter] = {}
    least = 2 if stretches else 0
    out: list[tuple[int | str, ...]] = [
        tuple(
            [letters.setdefault(n, LengthLetter(len(letters))) if n >= least else n for n in shape]
        )
        for shape in shapes
    ]
    return out, {letter: n for n, letter in letters.items()}
