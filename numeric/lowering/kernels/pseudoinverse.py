"""Pseudoinverses as programs compute them: once, for the value and for its derivatives.

The value exists at every rank, its derivative at full rank.  So the graph has two nodes of one
value, of which the second refuses.  A program has the pseudoinverse, and with it whether the rank
is full, of one computation, and refuses where the derivative begins.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from symdiff import opaque_ops
from symdiff.graph import ops
from symdiff.graph.algebra import opaque
from symdiff.graph.signatures import Signature, signatures

if TYPE_CHECKING:
    from symdiff.graph.expr import Expr


class Pseudoinverse(ops.Part):
    """The pseudoinverse, and 1 where all singular values count, else 0."""

    __slots__ = ()
    name = "pinv"
    results = signatures("(m,n)->(n,m),()")


class Inverse(Pseudoinverse, part=0):
    """The pseudoinverse at any rank."""

    __slots__ = ()


class IsFull(Pseudoinverse, part=1):
    """1 where all singular values count, else 0."""

    __slots__ = ()
    name = "full_rank"


class Refusing(ops.Opaque):
    """The first operand where the second is not 0."""

    __slots__ = ()
    name = "refusing"
    signature = Signature("(n,m),()->(n,m)")


def spelled(node: Expr) -> Expr:
    """A node of ``pinv`` with the usual limits as it is computed; any other as it is.

    >>> import symdiff as sd
    >>> A = sd.symbol("A", (3, 2))
    >>> value = spelled(sd.pinv(A))
    >>> refusing = spelled(opaque(ops.opaque_op(opaque_ops.Pinv, True, None), A))
    >>> refusing.op.name, refusing.args[0] is value
    ('refusing', True)
    """
    op = node.op
    if not isinstance(op, opaque_ops.Pinv) or op.limits is not None:
        return node
    value = opaque(ops.opaque_op(Inverse), *node.args)
    if not op.full:
        return value
    return opaque(ops.opaque_op(Refusing), value, opaque(ops.opaque_op(IsFull), *node.args))
