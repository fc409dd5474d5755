"""The ops: frozen descriptions of what a node does, each of which declares itself; no execution.

Leaves          Symbol, Constant, Places (indices), Exact (pi, e), Size (a symbolic axis length),
                Count (of elements)
Pointwise       Sum, Product, Pointwise (a SymPy formula), Strong (a product in which zero wins)
Contract        sums of products over letters; transposes, broadcasts, diagonals, identities
Linear          linear maps on trailing axes, each knowing its transpose; leading axes are batch
Opaque          everything with a written rule: its base; solve, det, prod ... are in opaque_ops
Unknown         an unknown function of scalars, or a derivative of one: without a value
Barrier         the identity, with no derivative (detach), a refused one (create_graph=False), or of
                an integer as a real number

Every op treats leading axes as batch, which is what lets a Jacobian be the pullback of an identity
seed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from symdiff.graph.ops.contract import *  # noqa: F403  # the modules' lists say what
from symdiff.graph.ops.leaf import *  # noqa: F403
from symdiff.graph.ops.linear import *  # noqa: F403
from symdiff.graph.ops.opaque import *  # noqa: F403
from symdiff.graph.ops.opaque import Opaque
from symdiff.graph.ops.pointwise import *  # noqa: F403

if not TYPE_CHECKING:

    def __getattr__(name: str) -> type[Opaque]:
        """Old pickles name opaque ops by this module, which used to define them: look them up."""
        waiting = Opaque.__subclasses__()
        for cls in waiting:
            waiting += cls.__subclasses__()
            if cls.__name__ == name and cls.__module__.startswith("symdiff.opaque_ops."):
                return cls
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
