"""``python -m tests.look``: what notebooks show, looked at in a real JupyterLab (``make look``).

A module here that has a function ``specimens()`` gives what is looked at, name -> a function that
makes the object with which a cell ends.  ``lab`` runs the cells in a JupyterLab of its own, in
headless Chromium, and asks each output, by ``probe.js``, what is wrong with it; ``notebooks``
opens those of the manual.  ``faults`` and ``faulty_cells`` plant what must be found.  Specimens can
be made without JupyterLab: ``tests/test_specimens.py`` does.
"""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable


def collected() -> dict[str, dict[str, Callable[[], Any]]]:
    """The specimens of every module that has some, by the name of the module."""
    found = {}
    for info in iter_modules(__path__):
        if info.name != "__main__":
            module = import_module(f"{__name__}.{info.name}")
            if hasattr(module, "specimens"):
                found[info.name] = module.specimens()
    return found
