"""Errors for programs that cannot be traced, which name the line of the user's code."""

from __future__ import annotations

import contextlib
import copy
import functools
import os
import sys
from typing import TYPE_CHECKING, NoReturn

from numeric.modes import current

if TYPE_CHECKING:
    from types import FrameType

# The files of frames between the user's line and an operation: these packages, their generated
# programs, NumPy and SymPy, which call back into them, and modules that call functions for others.
_PACKAGES = [
    str(sys.modules[name].__file__)
    for name in (__name__.split(".")[0], "symdiff", "numpy", "sympy")
]
FRAMES = "<numeric: arguments>"  # the file of the frames around public functions
_OURS = (
    *[f"{os.path.dirname(file)}{os.sep}" for file in _PACKAGES],
    *(functools.__file__, contextlib.__file__, copy.__file__),
    *("<numeric.lower: ", FRAMES),
)


def is_library(file: str) -> bool:
    """Whether a file belongs to these packages."""
    return file.startswith(_OURS[:2])


def is_ours(file: str) -> bool:
    """Whether a file is one of those between the user's line and an operation."""
    return file.startswith(_OURS)


def user_frame() -> FrameType:
    """Return the innermost frame of a file that is not ours, or the outermost frame.

    It serves messages only, and never decides a computation.  It looks at the files of frames, as
    the reader of a traceback does, and not at their variables.
    """
    frame = sys._getframe(1)
    while frame.f_back is not None and is_ours(frame.f_code.co_filename):
        frame = frame.f_back
    return frame


def user_level() -> int:
    """Return the ``stacklevel`` with which a warning of the caller names the user's line."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and is_ours(frame.f_code.co_filename):
        level, frame = level + 1, frame.f_back
    return level


def refuse(what: str, remedy: str = "") -> NoReturn:
    """Raise the RuntimeError of a program that cannot be traced, with the user's line."""
    frame = user_frame()
    code = frame.f_code
    trace = current().tracing
    name = "compile" if trace is None else trace.name
    raise RuntimeError(
        f"{name}: {what}, at line {frame.f_lineno} of {code.co_filename}, in {code.co_name}. "
        f"A traced function runs once for all {_MANY.get(name, 'values of its arguments')}: "
        + (remedy or "use torch.where for a choice between values, or ")
        + ("." if remedy else f"{name} a smaller part of the program.")
    )


_MANY = {"vmap": "slices of its arguments"}
