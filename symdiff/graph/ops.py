"""The ops: frozen descriptions of what a node does, each of which declares itself; no execution.

Leaves          Symbol, Constant, Exact (pi, e), Size (a symbolic axis length)
Pointwise       Sum, Product, Pointwise (a SymPy formula), Strong (a product in which zero wins)
Contract        sums of products over letters; transposes, broadcasts, diagonals, identities
Linear          linear maps on trailing axes, each knowing its transpose; leading axes are batch
Opaque          everything with a written rule: its base; solve, det, prod ... are in opaque_ops
Barrier         the identity, with no derivative (detach), a refused one (create_graph=False), or of
                an integer as a real number

Every op treats leading axes as batch, which is what lets a Jacobian be the pullback of an identity
seed.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import sympy as sp

from symdiff.errors import NotDifferentiable, Unsupported
from symdiff.graph import number
from symdiff.graph.axes import shape_text
from symdiff.graph.node import Dim, Dtype, Op, Shape, intern_op
from symdiff.graph.signatures import Signature

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from numpy.typing import NDArray

    from symdiff.exact.components import Arithmetic
    from symdiff.graph.expr import Expr

Letters = tuple[int, ...]


# Leaves -------------------------------------------------------------------------------------------


class Symbol(Op):
    """A named input, one for equal name, shape and dtype; ``dummy`` symbols are unique."""

    __slots__ = ("dtype", "dummy", "name", "shape", "size")
    fields = ("name", "shape", "dtype")
    name: str

    def __init__(self, name: str, shape: Shape, dtype: Dtype, dummy: bool) -> None:
        self.name, self.shape, self.dtype, self.dummy = name, shape, dtype, dummy
        self.size = int(dtype is float)


def symbol_op(name: str, shape: Shape, dtype: Dtype) -> Symbol:
    """The op of the symbol of this name, shape and dtype."""
    make = lambda: Symbol(name, shape, dtype, dummy=False)  # noqa: E731
    return intern_op((Symbol, name, shape, dtype), make)


def dummy_op(name: str, shape: Shape, dtype: Dtype) -> Symbol:
    """The op of a fresh symbol that is never equal to another of the same name."""
    op = Symbol(name, shape, dtype, dummy=True)
    op.table = {}
    return op


class Constant(Op):
    """An array of data: copied, read-only, equal only to itself (content is never hashed)."""

    __slots__ = ("size", "value")

    def __init__(self, value: NDArray[Any]) -> None:
        self.value = value
        self.size = int(value.dtype.kind == "f")
        self.table = {}

    def __repr__(self) -> str:
        return f"Constant(shape={self.value.shape}, dtype={self.value.dtype})"


class Exact(Op):
    """A real number known by name: pi, e.  ``value`` is SymPy's exact number."""

    __slots__ = ("name", "value")
    fields = ("name",)
    size = 1
    name: str

    def __init__(self, name: str, value: sp.Expr) -> None:
        self.name, self.value = name, value


def exact_op(name: str, value: sp.Expr) -> Exact:
    """The op of the named exact number."""
    return intern_op((Exact, name), lambda: Exact(name, value))


class Size(Op):
    """The length of the symbolic axis ``name``, an integer scalar."""

    __slots__ = ("name",)
    fields = ("name",)
    size = 1
    name: str

    def __init__(self, name: str) -> None:
        self.name = name


def size_op(name: str) -> Size:
    """The op of a symbolic axis length."""
    return intern_op((Size, name), lambda: Size(name))


# Pointwise ----------------------------------------------------------------------------------------


class Sum(Op):
    """``const + sum_i coefs[i] * args[i]``; without operands it is the number ``const``."""

    __slots__ = ("coefs", "const", "simple_factor")
    fields = ("const", "coefs")
    name = "sum of terms"
    simple_term = False

    def __init__(self, const: number.Number, coefs: tuple[number.Number, ...]) -> None:
        self.const, self.coefs = const, coefs
        # 2*x and 3 are coefficients to a product; x + y and x + 1 are atoms.
        self.simple_factor = len(coefs) > 1 or (len(coefs) == 1 and const != 0)


# The ops of everyday arithmetic are found by a short key and kept.  Only exact numbers get in, and
# no float equals one of those (number.exact), so 1, 1.0 and True cannot meet here; the general key
# below spells the types out.
_EVERYDAY = 4096
_SUMS: dict[tuple[Any, ...], Sum] = {}
_PRODUCTS: dict[tuple[Any, ...], Product] = {}


def sum_op(const: number.Number, coefs: tuple[number.Number, ...]) -> Sum:
    """The op of ``const + sum_i coefs[i] * args[i]``."""
    op = _SUMS.get((const, coefs))
    if op is None:
        key = (Sum, const, coefs, const.__class__, tuple([c.__class__ for c in coefs]))
        op = intern_op(key, lambda: Sum(const, coefs))
        if (
            len(_SUMS) < _EVERYDAY
            and len(coefs) <= 16
            and all(map(number.is_short, (const, *coefs)))
        ):
            _SUMS[const, coefs] = op
    return op


class Product(Op):
    """One or two powers: ``args[0]**exponents[0] * args[1]**exponents[1]``, exponents exact.

    Never more than two: flattened products would destroy sharing.  ``size`` is the number of
    leaves and twice that of products in its nesting; 0 where no real leaf is among the factors, or
    where it would have merged and did not: then it is one factor to other products.
    """

    __slots__ = ("exponents", "over", "simple_factor", "size")
    fields = ("exponents", "size")
    name = "product"

    def __init__(self, exponents: tuple[int | Fraction, ...], size: int) -> None:
        self.exponents, self.size = exponents, size
        self.over = min(exponents) < 0
        self.simple_factor = len(exponents) > 1


def product_op(exponents: tuple[int | Fraction, ...], size: int = 0) -> Product:
    """The op of a product of one or two powers."""
    op = _PRODUCTS.get((exponents, size))
    if op is None:
        exponents = tuple(p if p.__class__ is int else number.norm(p) for p in exponents)  # type: ignore[arg-type]
        op = intern_op((Product, exponents, size), lambda: Product(exponents, size))
        if len(_PRODUCTS) < _EVERYDAY:
            _PRODUCTS[exponents, size] = op
    return op


class Pointwise(Op):
    """A SymPy ``formula`` over ``_0.._k``, applied to operands of one shape.

    ``result`` says the dtype: a type, or None for the promoted dtype of the operands (where,
    maximum, floor ...). ``primitive`` ops are the scalar vocabulary; the others hold a formula of
    these: a user's function, or a decision.  ``decides`` names the function at whose kinks the
    value is the convention for a derivative.
    """

    __slots__ = ("arity", "decides", "formula", "name", "primitive", "result", "simple_factor")
    fields = ("name", "formula")
    name: str

    def __init__(
        self,
        name: str,
        formula: sp.Expr,
        arity: int,
        result: Dtype | None,
        primitive: bool,
        decides: str | None,
    ) -> None:
        self.name, self.formula, self.arity = name, formula, arity
        self.result, self.primitive, self.decides = result, primitive, decides
        self.simple_factor = name != "norm_sqrt"  # its square is its operand


def pointwise_op(
    name: str,
    formula: sp.Expr,
    arity: int,
    result: Dtype | None = float,
    *,
    primitive: bool = True,
    decides: str | None = None,
) -> Pointwise:
    """The op that applies ``formula`` to each element."""
    key = (Pointwise, name, formula, arity, result, decides)
    make = lambda: Pointwise(name, formula, arity, result, primitive, decides)  # noqa: E731
    return intern_op(key, make)


class Strong(Op):
    """``args[0] * args[1]`` that is 0 wherever a *killing* operand is exactly 0.

    The product of a masked cotangent with a partial that may be inf or nan where the mask is 0.
    """

    __slots__ = ("kills",)
    fields = ("kills",)
    name = "strong product"

    def __init__(self, kills: tuple[bool, bool]) -> None:
        self.kills = kills


def strong_op(kills: tuple[bool, bool]) -> Strong:
    """The op of a product in which the zeros of the marked operands win."""
    return intern_op((Strong, kills), lambda: Strong(kills))


class Barrier(Op):
    """The identity as a value; ``detach`` has derivative 0, ``create_graph=False`` refuses it.

    ``real`` is an integer as a real number: the same value, in floating point.
    """

    __slots__ = ("name",)
    fields = ("name",)
    name: str

    def __init__(self, name: str) -> None:
        self.name = name


DETACH: Barrier = intern_op((Barrier, "detach"), lambda: Barrier("detach"))
REAL: Barrier = intern_op((Barrier, "real"), lambda: Barrier("real"))
NO_GRAPH: Barrier = intern_op(
    (Barrier, "create_graph=False"), lambda: Barrier("create_graph=False")
)


# Contractions -------------------------------------------------------------------------------------


class Contract(Op):
    """``value[out] = sum over letters not in out of prod_k args[k][letters[k]]``.

    A letter repeated in ``out`` puts zeros off that diagonal; a letter that only ``out`` has is
    broadcast, and its size is in ``created`` (in order of first use).  No operand and repeated
    letters: an identity.  Operands with ``kills`` are masked cotangents: a term in which one of
    them is exactly 0 is 0, whatever its other factors are.
    """

    __slots__ = ("created", "kills", "letters", "out", "sums")
    fields = ("letters", "out", "created", "kills")
    name = "contract"

    def __init__(
        self, letters: tuple[Letters, ...], out: Letters, created: Shape, kills: tuple[bool, ...]
    ) -> None:
        self.letters, self.out, self.created, self.kills = letters, out, created, kills
        self.sums = bool(set().union(*letters).difference(out))


@lru_cache(maxsize=_EVERYDAY)
def contract_op(
    letters: tuple[Letters, ...], out: Letters, created: Shape, kills: tuple[bool, ...]
) -> Contract:
    """The op of a contraction; letters must be numbered by first use (operands, then ``out``)."""
    key = (Contract, letters, out, created, kills)
    return intern_op(key, lambda: Contract(letters, out, created, kills))


class Fill(Contract):
    """A number broadcast to a shape, its operand being the number: zeros, ones, full arrays."""

    __slots__ = ()
    simple_factor = False
    simple_term = False


def fill_op(shape: Shape) -> Fill:
    """The op that broadcasts a number to ``shape``."""
    make = lambda: Fill(((),), tuple(range(len(shape))), shape, (False,))  # noqa: E731
    return intern_op((Fill, shape), make)


def is_spread(op: Op) -> bool:
    """Whether the value is one number at every place, and not only on a diagonal.

    >>> import symdiff as sd
    >>> is_spread(sd.ones((2, 3)).op), is_spread(sd.eye(2).op)
    (True, False)
    """
    return isinstance(op, Contract) and op.letters == ((),) and len(set(op.out)) == len(op.out)


# Linear maps --------------------------------------------------------------------------------------


def halvings(n: int) -> int:
    """How often n elements can be halved: the logarithm to base 2, rounded up."""
    return max(n - 1, 0).bit_length()


LISTED = 6  # elements up to which an array is written out


def steps_text(steps: Iterable[Step]) -> list[str]:
    """Slices as they are typed: ``1:``, ``::2``."""
    written = []
    for start, stop, step in steps:
        text = f"{start or ''}:{'' if stop is None else stop}"
        written.append(text if step == 1 else f"{text}:{step}")
    return written


def axis_text(ndim: int, *axes: int) -> list[str]:
    """How axes are named in a call, counted from the first; a vector has but one, without a name.

    >>> axis_text(2, -1), axis_text(3, -2, -1), axis_text(1, -1)
    (['axis=1'], ['axis=(1, 2)'], [])
    """
    if ndim == 1:
        return []
    places = [axis % ndim for axis in axes]
    return [f"axis={places[0] if len(places) == 1 else tuple(places)}"]


class Linear(Op):
    """A linear map on the trailing axes of its operand(s); leading axes are batch.

    ``selects`` says that every element of the value is one of the operands', or 0; ``kind`` is the
    dtype of the value, None for the promoted one of the operands.
    """

    __slots__ = ()
    selects: ClassVar[bool] = False
    kind: ClassVar[Dtype | None] = None

    def writes_zeros(self) -> bool:
        """Whether elements of the value are 0 whatever the operands are."""
        return False

    def result(self, *shapes: Shape) -> Shape:
        """The shape of the value for these operand shapes."""
        raise NotImplementedError

    def transposed(self, k: int, shape: Shape) -> Linear:
        """The transpose with respect to operand ``k``, for a result of ``shape``."""
        raise NotImplementedError

    def cost(self, elements: Callable[[Shape], int], shape: Shape) -> int:
        """The operations on a first operand of ``shape``: 0 for what only moves elements."""
        return 0

    def components(self, of: Arithmetic, shape: tuple[int, ...], *xs: NDArray[Any]) -> Any:
        """The value by its definition, an array of ``shape`` of the operands' elements or sums.

        Raises Unsupported where no definition in closed form is known.
        """
        raise Unsupported(f"{self.name} has no component-wise value")

    def terms(self, shape: tuple[int, ...]) -> int:
        """How many products there are in all components, of an operand of ``shape``."""
        return 0


def _zeros(of: Arithmetic, shape: tuple[int, ...]) -> NDArray[Any]:
    zero = np.empty((), object)  # NumPy would look into an element that is an expression
    zero[()] = of.number(0)
    return np.full(shape, zero, object)


def _linear(cls: type[Linear], *params: object) -> Linear:
    return intern_op((cls, *params), lambda: cls(*params))


class Reshape(Linear):
    """Trailing axes ``before`` read as ``after``, in C order.  Transpose: the reshape back."""

    __slots__ = ("after", "before")
    fields = ("before", "after")
    name = "reshape"
    selects = True

    def __init__(self, before: Shape, after: Shape) -> None:
        self.before, self.after = before, after

    def called(self, shape: Shape) -> tuple[str, list[str]]:
        return self.name, [shape_text(shape)]

    def result(self, *shapes: Shape) -> Shape:
        return shapes[0][: len(shapes[0]) - len(self.before)] + self.after

    def transposed(self, k: int, shape: Shape) -> Linear:
        return reshape_op(self.after, self.before)

    def bound(self, lengths: Callable[[Shape], Shape]) -> Linear:
        return reshape_op(lengths(self.before), lengths(self.after))

    def components(self, of: Arithmetic, shape: tuple[int, ...], *xs: NDArray[Any]) -> Any:
        return xs[0].reshape(shape)


def reshape_op(before: Shape, after: Shape) -> Linear:
    """The op that reshapes trailing axes ``before`` to ``after``."""
    return _linear(Reshape, before, after)


Step = tuple[
    int, int | None, int
]  # start, stop, step as slice() takes them; (0, None, 1) is the whole axis


def _slices(steps: tuple[Step, ...]) -> tuple[Any, ...]:
    return (..., *(slice(*step) for step in steps))


class Slice(Linear):
    """``x[..., start:stop:step, ...]`` over the trailing axes ``before``.  Transpose: Unslice."""

    __slots__ = ("after", "before", "steps")
    fields = ("before", "steps")
    name = "slice"
    selects = True

    def __init__(self, before: Shape, steps: tuple[Step, ...], after: Shape) -> None:
        self.before, self.steps, self.after = before, steps, after

    def result(self, *shapes: Shape) -> Shape:
        return shapes[0][: len(shapes[0]) - len(self.before)] + self.after

    def transposed(self, k: int, shape: Shape) -> Linear:
        return _linear(Unslice, self.before, self.steps, self.after)

    def bound(self, lengths: Callable[[Shape], Shape]) -> Linear:
        return _linear(Slice, lengths(self.before), self.steps, lengths(self.after))

    def components(self, of: Arithmetic, shape: tuple[int, ...], *xs: NDArray[Any]) -> Any:
        return xs[0][_slices(self.steps)]


class Unslice(Linear):
    """Zeros of shape ``before``, the operand at ``[start:stop:step, ...]``.  Transpose: Slice."""

    __slots__ = ("after", "before", "steps")
    fields = ("before", "steps")
    name = "unslice"
    selects = True

    def __init__(self, before: Shape, steps: tuple[Step, ...], after: Shape) -> None:
        self.before, self.steps, self.after = before, steps, after

    def writes_zeros(self) -> bool:
        return self.after != self.before

    def result(self, *shapes: Shape) -> Shape:
        return shapes[0][: len(shapes[0]) - len(self.before)] + self.before

    def transposed(self, k: int, shape: Shape) -> Linear:
        return _linear(Slice, self.before, self.steps, self.after)

    def bound(self, lengths: Callable[[Shape], Shape]) -> Linear:
        return _linear(Unslice, lengths(self.before), self.steps, lengths(self.after))

    def components(self, of: Arithmetic, shape: tuple[int, ...], *xs: NDArray[Any]) -> Any:
        value = _zeros(of, shape)
        value[_slices(self.steps)] = xs[0]
        return value


def slice_op(before: Shape, steps: tuple[Step, ...], after: Shape) -> Linear:
    """The op that slices trailing axes ``before``; ``after`` is the resulting trailing shape."""
    return _linear(Slice, before, steps, after)


def unslice_op(before: Shape, steps: tuple[Step, ...], after: Shape) -> Linear:
    """The op that writes its operand into zeros of trailing shape ``before``, where slices read."""
    return _linear(Unslice, before, steps, after)


class Gather(Linear):
    """``x.reshape(batch + (-1,))[..., index]``, over trailing axes ``before``."""

    __slots__ = ("before", "index")
    fields = ("before",)
    name = "gather"
    selects = True

    def __init__(self, before: tuple[int, ...], index: NDArray[np.intp]) -> None:
        self.before, self.index = before, index
        self.table = {}

    def result(self, *shapes: Shape) -> Shape:
        return shapes[0][: len(shapes[0]) - len(self.before)] + self.index.shape

    def transposed(self, k: int, shape: Shape) -> Linear:
        return _indexed(Scatter, self.before, self.index)

    def components(self, of: Arithmetic, shape: tuple[int, ...], *xs: NDArray[Any]) -> Any:
        (x,) = xs
        lead = x.shape[: x.ndim - len(self.before)]
        return x.reshape((*lead, math.prod(self.before)))[..., self.index]


class Scatter(Linear):
    """Zeros of shape ``before`` with the operand added at flat ``index``.  Transpose: Gather."""

    __slots__ = ("before", "index")
    fields = ("before",)
    name = "scatter"

    def __init__(self, before: tuple[int, ...], index: NDArray[np.intp]) -> None:
        self.before, self.index = before, index
        self.table = {}

    def writes_zeros(self) -> bool:
        reached = np.zeros(math.prod(self.before), bool)
        reached[self.index] = True
        return not reached.all()

    def result(self, *shapes: Shape) -> Shape:
        return shapes[0][: len(shapes[0]) - self.index.ndim] + self.before

    def transposed(self, k: int, shape: Shape) -> Linear:
        return _indexed(Gather, self.before, self.index)

    def cost(self, elements: Callable[[Shape], int], shape: Shape) -> int:
        return elements(shape)

    def components(self, of: Arithmetic, shape: tuple[int, ...], *xs: NDArray[Any]) -> Any:
        places, length = self.index.ravel().tolist(), math.prod(self.before)
        value = np.empty((math.prod(shape) // max(length, 1), length), object)
        for line, row in zip(value, xs[0].reshape((len(value), len(places))), strict=True):
            met: dict[int, list[Any]] = {}
            for place, element in zip(places, row.tolist(), strict=True):
                met.setdefault(place, []).append(element)
            for i in range(length):
                line[i] = of.sum(met.get(i, []))
        return value.reshape(shape)


def _indexed(
    cls: type[Gather] | type[Scatter], before: tuple[int, ...], index: NDArray[np.intp]
) -> Linear:
    key = (cls, before, index.shape, index.tobytes())
    return intern_op(key, lambda: cls(before, index))


def gather_op(before: tuple[int, ...], index: NDArray[np.intp]) -> Linear:
    """The op that reads flat positions ``index`` of trailing axes ``before``."""
    index = np.array(index, dtype=np.intp)
    index.setflags(write=False)
    return _indexed(Gather, before, index)


class Concat(Linear):
    """Operands joined along the negative ``axis``.  Transpose, to operand k: its slice."""

    __slots__ = ("axis", "lengths")
    fields = ("axis", "lengths")
    name = "concat"
    selects = True

    def __init__(self, axis: int, lengths: tuple[int, ...]) -> None:
        self.axis, self.lengths = axis, lengths

    def result(self, *shapes: Shape) -> Shape:
        shape = list(shapes[0])
        shape[self.axis] = sum(self.lengths)
        return tuple(shape)

    def transposed(self, k: int, shape: Shape) -> Linear:
        start = sum(self.lengths[:k])
        before = shape[self.axis :]
        steps: tuple[Step, ...] = (
            (start, start + self.lengths[k], 1),
            *((0, None, 1) for _ in before[1:]),
        )
        return slice_op(before, steps, (self.lengths[k], *before[1:]))

    def components(self, of: Arithmetic, shape: tuple[int, ...], *xs: NDArray[Any]) -> Any:
        return np.concatenate(xs, axis=self.axis)


def concat_op(axis: int, lengths: tuple[int, ...]) -> Linear:
    """The op that joins operands of these lengths along the negative ``axis``."""
    return _linear(Concat, axis, lengths)


class _Same(Linear):
    """A linear map that keeps the shape."""

    __slots__ = ()

    def result(self, *shapes: Shape) -> Shape:
        return shapes[0]


class Flip(_Same):
    """The elements of the negative ``axes`` in reverse order.  Its own transpose."""

    __slots__ = ("axes",)
    fields = ("axes",)
    name = "flip"
    selects = True

    def __init__(self, axes: tuple[int, ...]) -> None:
        self.axes = axes

    def called(self, shape: Shape) -> tuple[str, list[str]]:
        return self.name, axis_text(len(shape), *self.axes)

    def transposed(self, k: int, shape: Shape) -> Linear:
        return self

    def components(self, of: Arithmetic, shape: tuple[int, ...], *xs: NDArray[Any]) -> Any:
        return np.flip(xs[0], axis=self.axes)


def flip_op(axes: tuple[int, ...]) -> Linear:
    """The op that reverses the negative ``axes``."""
    return _linear(Flip, axes)


class Cumsum(_Same):
    """Running sums along the negative ``axis``, or from its end; each the other's transpose."""

    __slots__ = ("axis", "reverse")
    fields = ("axis", "reverse")
    name = "cumsum"

    def __init__(self, axis: int, reverse: bool) -> None:
        self.axis, self.reverse = axis, reverse

    def called(self, shape: Shape) -> tuple[str, list[str]]:
        # From the end, they are running sums of what is flipped: texts say that themselves.
        return self.name, axis_text(len(shape), self.axis)

    def transposed(self, k: int, shape: Shape) -> Linear:
        return cumsum_op(self.axis, not self.reverse)

    def cost(self, elements: Callable[[Shape], int], shape: Shape) -> int:
        return elements(shape)

    def components(self, of: Arithmetic, shape: tuple[int, ...], *xs: NDArray[Any]) -> Any:
        value = xs[0].copy()
        lines = np.moveaxis(np.flip(value, self.axis) if self.reverse else value, self.axis, 0)
        for i in range(1, len(lines)):
            for place in np.ndindex(lines.shape[1:]):
                lines[(i, *place)] = of.sum([lines[(i - 1, *place)], lines[(i, *place)]])
        return value


def cumsum_op(axis: int, reverse: bool = False) -> Linear:
    """The op of running sums along the negative ``axis``."""
    return _linear(Cumsum, axis, reverse)


class Triangle(_Same):
    """A triangle of the last two axes, zeros elsewhere.  Its own transpose."""

    __slots__ = ("diagonal", "lower")
    fields = ("lower", "diagonal")
    name = "triangle"
    selects = True

    def __init__(self, lower: bool, diagonal: int) -> None:
        self.lower, self.diagonal = lower, diagonal

    def writes_zeros(self) -> bool:
        return True

    def called(self, shape: Shape) -> tuple[str, list[str]]:
        return "tril" if self.lower else "triu", [f"k={self.diagonal}"] * (self.diagonal != 0)

    def transposed(self, k: int, shape: Shape) -> Linear:
        return self

    def components(self, of: Arithmetic, shape: tuple[int, ...], *xs: NDArray[Any]) -> Any:
        value = xs[0].copy()
        rows, columns = np.indices(shape[-2:])
        above = columns - rows
        value[..., above > self.diagonal if self.lower else above < self.diagonal] = _zeros(of, ())
        return value


def triangle_op(lower: bool, diagonal: int) -> Linear:
    """The op that keeps a triangle of the last two axes."""
    return _linear(Triangle, lower, diagonal)


class Shift(_Same):
    """``value[..., i] = x[..., i - offset]`` on the last axis, zeros from outside.

    Transpose: the shift back.
    """

    __slots__ = ("offset",)
    fields = ("offset",)
    name = "shift"
    selects = True

    def __init__(self, offset: int) -> None:
        self.offset = offset

    def writes_zeros(self) -> bool:
        return True

    def transposed(self, k: int, shape: Shape) -> Linear:
        return shift_op(-self.offset)

    def components(self, of: Arithmetic, shape: tuple[int, ...], *xs: NDArray[Any]) -> Any:
        value, n = _zeros(of, shape), shape[-1]
        for i in range(max(self.offset, 0), min(n, n + self.offset)):
            value[..., i] = xs[0][..., i - self.offset]
        return value


def shift_op(offset: int) -> Linear:
    """The op that moves the elements of the last axis up by ``offset`` places, or down."""
    return _linear(Shift, offset)


class Windows(Linear):
    """``value[..., i, j] = x[..., i + j]``: windows of ``length`` elements of the last axis."""

    __slots__ = ("length",)
    fields = ("length",)
    name = "windows"
    selects = True

    def __init__(self, length: int) -> None:
        self.length = length

    def result(self, *shapes: Shape) -> Shape:
        *batch, n = shapes[0]
        assert isinstance(n, int), n
        return (*batch, n - self.length + 1, self.length)

    def transposed(self, k: int, shape: Shape) -> Linear:
        return _linear(Overlaps, self.length)

    def components(self, of: Arithmetic, shape: tuple[int, ...], *xs: NDArray[Any]) -> Any:
        return xs[0][..., np.add.outer(np.arange(shape[-2]), np.arange(shape[-1]))]


class Overlaps(Linear):
    """``value[..., k]`` is the sum of ``x[..., i, j]`` over ``i + j = k``.  Transpose: Windows."""

    __slots__ = ("length",)
    fields = ("length",)
    name = "overlaps"

    def __init__(self, length: int) -> None:
        self.length = length

    def result(self, *shapes: Shape) -> Shape:
        *batch, count, _ = shapes[0]
        assert isinstance(count, int), count
        return (*batch, count + self.length - 1)

    def transposed(self, k: int, shape: Shape) -> Linear:
        return windows_op(self.length)

    def cost(self, elements: Callable[[Shape], int], shape: Shape) -> int:
        return elements(shape)

    def components(self, of: Arithmetic, shape: tuple[int, ...], *xs: NDArray[Any]) -> Any:
        value, (x,) = np.empty(shape, object), xs
        for *lead, k in np.ndindex(shape):
            met = range(max(0, k - x.shape[-1] + 1), min(k + 1, x.shape[-2]))
            value[(*lead, k)] = of.sum([x[(*lead, i, k - i)] for i in met])
        return value


def windows_op(length: int) -> Linear:
    """The op of the windows of ``length`` elements, at least one, of the last axis."""
    return _linear(Windows, length)


class Fourier(_Same):
    """``value[..., j] = sum_k x[..., k] cos(2πjk/n)`` on the last axis, or with sines.

    Symmetric, so its own transpose.  The discrete Fourier transform is the cosines minus i times
    the sines.
    """

    __slots__ = ("part",)
    fields = ("part",)
    name = "fourier"
    kind = float

    def __init__(self, part: str) -> None:
        self.part = part

    def transposed(self, k: int, shape: Shape) -> Linear:
        return self

    def cost(self, elements: Callable[[Shape], int], shape: Shape) -> int:
        return 5 * elements(shape) * halvings(elements(shape[-1:]))

    def components(self, of: Arithmetic, shape: tuple[int, ...], *xs: NDArray[Any]) -> Any:
        n, value = shape[-1], np.empty(shape, object)
        turn = [_circle(of, self.part, Fraction(2 * k, n)) for k in range(n)]
        for place in np.ndindex(shape):
            line = xs[0][place[:-1]]
            products = [of.product([line[k], turn[place[-1] * k % n]]) for k in range(n)]
            value[place] = of.sum(products)
        return value

    def terms(self, shape: tuple[int, ...]) -> int:
        return math.prod(shape) * shape[-1]


def _circle(of: Arithmetic, part: str, turns: Fraction) -> Any:
    """The cosine or sine of ``turns`` times π."""
    known = {0: (1, 0), Fraction(1, 2): (0, 1), 1: (-1, 0), Fraction(3, 2): (0, -1)}.get(turns)
    if known is not None:
        return of.number(known[part == "sin"])
    return of.named(part, of.product([of.number(turns), of.exact(exact_op("pi", sp.pi))]))


def fourier_op(part: str) -> Linear:
    """The op of the sums with cosines (``"cos"``) or sines (``"sin"``) of the last axis."""
    return _linear(Fourier, part)


class Cast(_Same):
    """The operand, of real precision ``of``, rounded to the precision ``to``: names of dtypes.

    Rounding counts as the identity: the transpose, and so the derivative, is the cast back.
    """

    __slots__ = ("of", "to")
    fields = ("to",)
    name = "cast"

    def __init__(self, of: str, to: str) -> None:
        self.of, self.to = of, to

    def transposed(self, k: int, shape: Shape) -> Linear:
        return cast_op(self.to, self.of)


def cast_op(of: str, to: str) -> Linear:
    """The op that rounds real numbers of one precision to another."""
    return _linear(Cast, of, to)


# Opaque -------------------------------------------------------------------------------------------


class Opaque(Op):
    """An op with a written rule, whose class says all that is to be known of it.

    Its methods, where their defaults are not right, and:

    - ``signature``: the core axes; all before them are a batch.  None where nobody knows.
    - ``linear_in``: the operands, by their place in the signature, that it is linear in.
    - ``indices``: the operand, the last one, that says where elements are and not what they are.
    - ``selects``: whether every element of the value is one of the first operand's.
    - ``kind``: the dtype of the value, None for the promoted one of the operands.
    - ``keeps_symmetry``: whether of the transposed matrix it is the transposed value.
    - ``adds_up_to_trace``: whether the last axis of the value has the sum of a matrix's diagonal.
    - ``log_abs``: the op that is the logarithm of the absolute value.
    - ``constant``: whether it has no derivative, its value being constant between jumps; so are
      all integers.
    """

    __slots__ = ()
    signature: ClassVar[Signature | None] = None
    linear_in: ClassVar[tuple[int, ...]] = ()
    indices: ClassVar[int | None] = None
    selects: ClassVar[bool] = False
    kind: ClassVar[Dtype | None] = float
    keeps_symmetry: ClassVar[bool] = False
    adds_up_to_trace: ClassVar[bool] = False
    log_abs: ClassVar[type[Opaque] | None] = None
    constant: ClassVar[bool] = False

    def result(self, *shapes: Shape) -> Shape:
        """The shape of the value for these operand shapes."""
        signature = self.signature
        assert signature is not None, self
        shape = shapes[signature.widest]
        if signature.drops:
            shape = shape[: len(shape) - signature.drops]
        for k, axis in signature.adds:
            shape += shapes[k][axis] if k >= 0 else (self.own_length(*shapes),)
        return shape

    def own_length(self, *shapes: Shape) -> Dim:
        """The length of the core axis that no operand has."""
        raise NotImplementedError

    def writes_zeros(self, *operands: Expr) -> bool:
        """Whether elements of the value are 0 whatever the first operand's are."""
        return False

    def differential(self, node: Expr, k: int, t: Expr) -> Expr:
        """The share of operand k, with tangent t, in the differential of a node; linear in t.

        It is asked for operands that the value is not linear in.  It builds nodes and nothing else.
        """
        raise NotDifferentiable(f"{self.name} has no derivative rule")

    def transposed(self, node: Expr, k: int, g: Expr) -> Expr:
        """The cotangent of operand k, which the value is linear in, for that of a node.

        ``g`` may have more leading axes than the node.
        """
        raise NotDifferentiable(f"{self.name} has no transpose")

    def identity(self, *operands: Expr) -> Expr | None:
        """What the value of these operands is in simpler terms; None where nothing simpler is."""
        return None

    def cost(self, length: Callable[[str], int], operands: int) -> int:
        """The operations on one core, of ``operands`` operands: see ``count_operations``.

        ``length`` says how long a core axis is.
        """
        raise Unsupported(f"count_operations: no count is known for {self.name}")

    def components(self, of: Arithmetic, shape: tuple[int, ...], *cores: object) -> Any:
        """The value of one core by its definition, element by element; its core has ``shape``.

        A core is a list of elements, a matrix a list of rows, a core without axes one element.
        Raises Unsupported where no definition in closed form is known.
        """
        raise Unsupported(f"{self.name} has no component-wise value")

    def is_linear_in(self, k: int) -> bool:
        """Whether the value is linear in operand ``k`` of a node."""
        signature = self.signature
        return signature is not None and signature.place(k) in self.linear_in


class Part(Opaque):
    """One result of an op that has several, as the eigenvalues are of ``eigh``.

    The op of all results is the base of its parts.  It declares ``results``, their signatures, and
    is the op of no node: a node has one value, of one shape, so each result is a node of its part,
    ``class Eigvalsh(Eigh, part=0)``, which has no parameters.  Nodes of such parts on the same
    operands are one *computation*.  Who evaluates them makes them together, those that are needed
    and no others.
    """

    __slots__ = ()
    results: ClassVar[tuple[Signature, ...]]
    whole: ClassVar[type[Part]]
    part: ClassVar[int]

    def __init_subclass__(cls, part: int | None = None) -> None:
        if part is None:
            cls.whole = cls
        else:
            cls.part, cls.signature = part, cls.results[part]


class Converted(Opaque):
    """The elements in the dtype ``to``, a name; beyond its range as NumPy has it."""

    __slots__ = ("to",)
    fields = ("to",)
    name = "converted"
    signature = Signature("()->()")

    def __init__(self, to: str) -> None:
        self.to = to

    def cost(self, length: Callable[[str], int], operands: int) -> int:
        return 0


class ToInteger(Converted):
    """Integers of a width, of numbers or wider integers; it has no derivative."""

    __slots__ = ()
    kind = int


class ToReal(Converted):
    """Real numbers of a precision, of integers."""

    __slots__ = ()


def converted_op(to: str) -> Opaque:
    """The op that converts to a dtype, from integers or to them."""
    cls = ToReal if np.dtype(to).kind == "f" else ToInteger
    return intern_op((cls, to), lambda: cls(to))


def opaque_op(cls: type[Opaque], *parameters: object) -> Opaque:
    """The op of an Opaque class with these parameters."""
    return intern_op((cls, *parameters), lambda: cls(*parameters))


if not TYPE_CHECKING:

    def __getattr__(name: str) -> type[Opaque]:
        """The opaque ops that were defined here when pickles gave them this module's name."""
        waiting = Opaque.__subclasses__()
        for cls in waiting:
            waiting += cls.__subclasses__()
            if cls.__name__ == name and cls.__module__.startswith("symdiff.opaque_ops."):
                return cls
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
