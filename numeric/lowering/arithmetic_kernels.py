"""The kernels of sums and products: the program of one node, compiled.

What ``interpret`` computes node by node is what the printer writes for such a node alone.  So the
arithmetic is stated once, by spellings and printers, and no closure repeats what a text says.  That
programs agree with ``interpret`` tells nothing of the arithmetic itself, then: tests hold both
against exact numbers and against many digits, which share nothing with printers.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from numeric.lowering.arithmetic import integral, weak
from numeric.lowering.names import MATH, NUMPY, Emitter
from numeric.lowering.node_kernels import elementwise, real_operands, register
from numeric.lowering.programs import Program
from symdiff.graph import ops
from symdiff.graph.leaves import named_dummy
from symdiff.graph.node import make

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numeric.lowering.node_kernels import Kernel
    from numeric.types import Values
    from symdiff.graph.expr import Expr
    from symdiff.graph.node import Dtype


@lru_cache(maxsize=2048)
def _computed(
    op: ops.Sum | ops.Product, dtype: Dtype, kinds: tuple[Dtype, ...], flavour: str
) -> Callable[..., Values]:
    """The function of operands that an op is, as a program of the flavour computes it."""
    params = [named_dummy("x", (), kind) for kind in kinds]
    node = make(op, tuple(params), (), dtype)
    program = Program(Emitter(), "value", params, [node], flavour, "").function
    return lambda *args: program(*args, {})[0]


def _of_node(op: ops.Sum | ops.Product, node: Expr, flavour: str = NUMPY) -> Callable[..., Values]:
    # Operands of real values are real: ``real_operands`` casts the others before.
    kinds = tuple([float if node.dtype is float else x.dtype for x in node.args])
    return real_operands(node, _computed(op, node.dtype, kinds, flavour))


@register(ops.Sum)
def _sum(op: ops.Sum, node: Expr) -> Kernel:
    """The terms from left to right, then the constant; weak numbers stay weak."""
    if not op.coefs:
        const = weak(op.const, node.dtype is int)
        return lambda args, sizes: const
    run = _of_node(op, node)

    def call(args: Sequence[Values], sizes: Mapping[str, int]) -> Values:
        return run(*args)

    return call


@register(ops.Product)
def _product(op: ops.Product, node: Expr) -> Kernel:
    """Powers multiplied and divided so that none leaves the floats alone (see ``spellings``)."""
    exact = _of_node(op, node, MATH) if integral(node) else None  # Python's integers have any size
    return elementwise(_of_node(op, node), exact)
