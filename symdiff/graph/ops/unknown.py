"""Unknown functions: ops that have derivatives, but no value."""

from __future__ import annotations

from symdiff.errors import Unsupported
from symdiff.graph.node import Shape, intern_op
from symdiff.graph.ops.opaque import Opaque

__all__ = ["Unknown", "unknown_op"]

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
