"""Faster imports: the cyclic garbage collector waits until modules are loaded."""

from __future__ import annotations

import gc
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def without_collections() -> Iterator[None]:
    """Pause the cyclic garbage collector in a block that only loads modules.

    Modules, classes and functions live on, so a collection among them frees nothing; but each one
    walks all objects of SymPy again, which took a tenth of the time of ``import symdiff`` and a
    fifth of that of ``import numeric``.  A collector that the program had disabled stays so.

    >>> gc.enable()
    >>> with without_collections():
    ...     gc.isenabled()
    False
    >>> gc.isenabled()
    True
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
