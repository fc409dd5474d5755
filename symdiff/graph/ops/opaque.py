"""The base of the ops with a written rule, conversions between numbers, and unknown functions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from symdiff.errors import NotDifferentiable, Unsupported
from symdiff.graph.node import Dim, Dtype, Op, Shape, intern_op
from symdiff.graph.signatures import Signature

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from symdiff.graph.arithmetic import Arithmetic
    from symdiff.graph.expr import Expr


__all__ = [
    "Converted",
    "Opaque",
    "Part",
    "ToInteger",
    "ToReal",
    "Unknown",
    "converted_op",
    "opaque_op",
    "unknown_op",
]


class Opaque(Op):
    """An op with a written rule; its class declares every property that the library needs.

    Subclasses override the methods whose defaults do not fit, and these attributes:

    - ``signature``: the core axes; all before them are a batch.  None where nobody knows.
    - ``linear_in``: the operands, by their place in the signature, that it is linear in.
    - ``indices``: the operand, the last one, that says where elements are and not what they are.
    - ``selects``: whether every element of the value is one of the first operand's.
    - ``kind``: the dtype of the value, None for the promoted one of the operands.
    - ``keeps_symmetry``: whether of the transposed matrix it is the transposed value.
    - ``adds_up_to_trace``: whether the last axis of the value has the sum of a matrix's diagonal.
    - ``of_two``: NumPy's function that makes the value of a whole core axis from the values of its
      two parts.
    - ``log_abs``: the op that is the logarithm of the absolute value.
    - ``defines``: whether its value has a length that is known when it is computed, and whose name
      its operand decides.
    - ``inner_lengths``: the names of lengths that expressions inside it need from outside.
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
    of_two: ClassVar[str | None] = None
    log_abs: ClassVar[type[Opaque] | None] = None
    defines: ClassVar[bool] = False
    constant: ClassVar[bool] = False

    @property
    def inner_lengths(self) -> Sequence[str]:
        return ()

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
        """Whether elements of the value are 0 for every first operand."""
        return False

    def differential(self, node: Expr, k: int, t: Expr) -> Expr:
        """The contribution of operand k, with tangent t, to a node's differential; linear in t.

        The rules call it only for operands that the value is not linear in.  It only builds nodes.
        """
        raise NotDifferentiable(f"{self.name} has no derivative rule")

    def transposed(self, node: Expr, k: int, g: Expr) -> Expr:
        """The cotangent of operand k, which the value is linear in, from the node's, ``g``.

        ``g`` may have more leading axes than the node.
        """
        raise NotDifferentiable(f"{self.name} has no transpose")

    def identity(self, *operands: Expr) -> Expr | None:
        """The value of these operands in simpler terms; None where no simpler form exists."""
        return None

    def cost(self, length: Callable[[str], int], operands: int) -> int:
        """The operations on one core with these ``operands``: see ``count_operations``.

        ``length`` returns the length of a core axis.
        """
        raise Unsupported(f"count_operations: no count is known for {self.name}")

    def components(self, of: Arithmetic, shape: tuple[int, ...], *cores: object) -> Any:
        """The value of one core, of shape ``shape``, by its definition, element by element.

        A core is a list of elements, a matrix a list of rows, a core without axes one element.
        Raises Unsupported where the op states no definition in closed form.
        """
        raise Unsupported(f"{self.name} has no component-wise value")

    def is_linear_in(self, k: int) -> bool:
        """Whether the value is linear in operand ``k`` of a node."""
        signature = self.signature
        return signature is not None and signature.place(k) in self.linear_in


class Part(Opaque):
    """One result of an op that has several, such as the eigenvalues of ``eigh``.

    The op of all results is the base of its parts.  It declares ``results``, their signatures, and
    no node has it: a node has one value of one shape.  Each result is a node of its part,
    ``class Eigvalsh(Eigh, part=0)``, without parameters.  Nodes of such parts on the same operands
    are one *computation*.  The evaluator computes all needed parts of it in one call.
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
    """The elements in the dtype ``to``, a name; beyond its range as NumPy converts."""

    __slots__ = ("to",)
    fields = ("to",)
    name = "converted"
    signature = Signature("()->()")

    def __init__(self, to: str) -> None:
        self.to = to

    def called(self, shape: Shape) -> tuple[str, list[str]]:
        return "astype", [f'"{self.to}"']

    def cost(self, length: Callable[[str], int], operands: int) -> int:
        return 0


class ToInteger(Converted):
    """Integers of a width, from numbers or wider integers; it has no derivative."""

    __slots__ = ()
    kind = int

    def components(self, of: Arithmetic, shape: tuple[int, ...], *cores: object) -> Any:
        if self.to != "int64":  # narrower integers wrap around
            return super().components(of, shape, *cores)
        return of.named("trunc", *cores)


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


# Unknown functions --------------------------------------------------------------------------------

_PRIMES = 3  # more primes are hard to count


class Unknown(Opaque):
    """A partial derivative of the unknown function ``name``, of scalars.

    ``orders`` has the order of the derivative by each argument; all are 0 for the function itself.
    Orders are numbers, so derivatives in any sequence of the arguments are one op.
    """

    __slots__ = ("name", "orders")
    fields = ("name", "orders")
    name: str

    def __init__(self, name: str, orders: tuple[int, ...]) -> None:
        self.name, self.orders = name, orders

    def result(self, *shapes: Shape) -> Shape:
        return ()

    def by(self, k: int) -> Unknown:
        """The derivative of this function by argument k, one order higher."""
        orders = self.orders
        return unknown_op(self.name, (*orders[:k], orders[k] + 1, *orders[k + 1 :]))

    @property
    def mark(self) -> str:
        """The orders as a text writes them after the name: ``'``, ``^(4)``, ``^(1,2)``."""
        (first, *others) = self.orders
        if not any(self.orders):
            return ""
        if not others and first <= _PRIMES:
            return "'" * first
        return f"^({','.join(map(str, self.orders))})"

    def called(self, shape: Shape) -> tuple[str, list[str]]:
        return self.name + self.mark, []

    def refused(self, function: str) -> Unsupported:
        """The error of ``function``, which needs a value."""
        arguments = ["x"] if len(self.orders) == 1 else [f"x{k}" for k in range(len(self.orders))]
        lead = f"{function}: " if function else ""
        return Unsupported(
            f"{lead}{self.name} is an unknown function, which has no value; put a formula in its "
            f'place: f.subs({{sd.function("{self.name}"): lambda {", ".join(arguments)}: ...}})'
        )


def unknown_op(name: str, orders: tuple[int, ...]) -> Unknown:
    """The op of this derivative of the unknown function ``name``."""
    return intern_op((Unknown, name, orders), lambda: Unknown(name, orders))
