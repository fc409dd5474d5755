"""What the half of Functions asks of the half of Tensors, which loads on its first use.

Modules of Functions (``lowering``, ``check``, ``show`` and others) import none of Tensors.  They
ask ``tensors``, which the module ``numeric.tensors`` fills in: before that module there is no
Tensor, and each answer is no.
"""

from __future__ import annotations

from contextvars import Context
from importlib import import_module
from typing import TYPE_CHECKING, Any

from symdiff.importing import without_collections

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

    from numeric.lowering.function import Function
    from symdiff.display.diagrams import Diagram


class _Tensors:
    """What is known of Tensors: classes, and functions that take their objects.

    ``kinds``: of Tensors; ``call(F, arguments, named)`` calls a Function with some of them.
    ``recorded``: of Tensors and ``grad_fn``s; ``diagram(x, limit, direction)`` draws such.
    ``custom``: of functions whose backward a user wrote.
    """

    kinds: tuple[type, ...] = ()
    recorded: tuple[type, ...] = ()
    custom: tuple[type, ...] = ()
    call: Callable[[Function, tuple[object, ...], dict[str, object]], Any]
    diagram: Callable[[object, int, str], Diagram]


tensors = _Tensors()


def load_tensors() -> ModuleType:
    """Load the half of Tensors, or wait for the thread that is loading it.

    The lock is Python's own of the module, for which a fork waits (``symdiff.locks``).  The modules
    run in an empty context: the modes of the first caller (``no_grad``, ``np.errstate``, a trace)
    do not reach what they compute.
    """
    with without_collections():
        return Context().run(import_module, "numeric.tensors")
