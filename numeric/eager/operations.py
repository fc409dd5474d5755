"""Operations of Tensors: each is one declaration, whose derivative follows from its expression.

An ``Op`` defines the expression that it computes; ``specialised`` compiles it for operands.  In a
recorded backward pass the pullback is an operation itself, declared by its own formula.  So it has
a pullback, too, and so on to any order (``recorded_backward``).
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

# The most cached shapes of one op: a loop over ever new shapes must not fill the memory.
_KNOWN = 4096

# NumPy's function by the function that builds its expressions, the first of several names.
# ``np.rint`` is left out, because it has no argument for digits.
_NUMPYS: dict[Callable[..., object], Callable[..., Any]] = {
    functions.where: np.where,
    functions.dot: np.dot,  # quicker to start than ``np.matmul``
    functions.outer: np.multiply.outer,
    functions.det: np.linalg.det,
}
for _ufunc, _build in UFUNCS.items():
    if _ufunc is not np.rint:
        _NUMPYS.setdefault(_build, _ufunc)

# The ops that modules declare, by their names in pickles.  A name does not contain the module, so
# that a pickle stays valid when an op moves; so it must be unique and never change.
DECLARED: dict[str, Op] = {}


class Op(Declaration):
    """An operation.

    Args:
        name: in snake case; the node's class is its camel case with ``Backward0``.
        build: the function that builds the expression of the result, or a tuple for several, from
            the expressions of the operands and the parameters.
        kernel: the same function on arrays; it returns new memory, or views for a ``view``.  An op
            has one if it is faster (``benchmarks.kernels``), or if it determines a dtype or memory
            order, which expressions lack.  The default is NumPy's function for the expression
            (``sd.sin``), if there is one, and else the lowered expression.
        saves: RESULT if PyTorch saves results and the pullback can be written in them.
        pointwise: elementwise with NumPy's broadcasting.
        promotion: the common dtype of the operands; None leaves each its own.
        label: the class name of the node, if it differs from the default.
        outputs: the number of results; more than one make a tuple.
        view: results share the memory of the first operand.
        reuse: a function of operands, stand-ins of results and parameters that returns expressions
            by node: identities, in addition to ``result = stand-in``, for a pullback in results.
        numbers: Python numbers count as operands, as in ``next_functions``.
        stretches: axes of length 1 may be stretched, so that formulas depend on which they are.
        concrete: the formula needs axis lengths as numbers, because symbols cannot express it.
        holds: operands that PyTorch saves and so checks for changes, needed or not.
        kinds: the dtypes of the results, if those of the operands do not determine them.
        partial: pullbacks leave out results without a cotangent, instead of using zeros: for terms
            that may be infinite or expensive.
        base: the base class of its nodes, if these override methods.
        variant: a word that distinguishes the op from another one with its name and label.
        origin: for an op created while a program runs, a way to create it in another process: a
            function and its arguments, or a weak reference to the Function that it calls.  An op
            without one is declared by a module, once, and stays.

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
        # Dtypes are compared by ``is``; unpickled ones are equal but not identical.
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
        """Return the bound op for these parameters, and shapes and dtypes of operands."""
        # An operation of three operands takes some 3 us: a smaller key pays only after a miss.
        key = (
            params,
            *[
                (a.shape, a.dtype.char) if a.__class__ is np.ndarray else a.__class__
                for a in arrays
            ],
        )
        bound = self.bounds.get(key)
        if bound is None:
            make = functools.partial(self._bind, arrays, params)
            bound = once(self.bounds, key, LOCK, make, _KNOWN)
        return bound

    def _bind(self, arrays: Sequence[object], params: tuple[object, ...]) -> Bound:
        """Bind the op; uniform operands share one object for all shapes."""
        if not (self.pointwise and _uniform(arrays)):
            return self._bind_shapes(arrays, params)
        # One for each dtype, although formulas are equal: ``fits`` and ``fresh`` depend on it.
        kind = next(a.dtype.char for a in arrays if a.__class__ is np.ndarray)
        key = (params, kind, *[a.__class__ is np.ndarray for a in arrays])
        bound = self.bounds.get(key)
        if bound is None:
            kinds = _kinds(arrays)
            of = self.specialised(params, [()] * len(arrays), kinds, uniform=True)
            bound = self.bounds[key] = Bound(of, {}, None, None)
        return bound

    def _bind_shapes(self, arrays: Sequence[Any], params: tuple[object, ...]) -> Bound:
        """Bind the op to the shapes of arrays, with symbolic lengths if the formula allows it."""
        kinds = _kinds(arrays)
        shapes: list[Any] = [np.shape(a) for a in arrays]
        letters, sizes = _letters(shapes, self.stretches)
        of = None
        if not self.concrete:
            try:
                of = self.specialised(params, letters, kinds)
            except (Unsupported, ShapeError, ValueError, TypeError, IndexError):
                of = None  # the result's shape, or the op itself, needs the lengths
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
        """Return the op for operands of these shapes, maybe symbolic, and kinds of numbers."""
        key = (params, tuple(shapes), kinds, uniform)
        special = self.known.get(key)
        if special is None:
            if len(self.known) >= _KNOWN:
                self.known.clear()
            xs = [
                named_dummy(f"x{i}", s, k)
                for i, (s, k) in enumerate(zip(shapes, kinds, strict=True))
            ]
            special = self.known[key] = Specialised(self, params, xs, uniform)
        return special


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
    """Return the kinds of elements in formulas; numbers are real unless all arrays are integers."""
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
    """Return shapes with symbolic lengths, the same symbol for equal lengths, and their values.

    Lengths 0 and 1 stay numbers if axes of length 1 may be stretched.
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
