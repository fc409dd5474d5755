"""Errors of programs that cannot be traced, with the line of the user's code."""

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

# Whose code stands between the user's line and an operation: these packages and the programs that
# they write, NumPy and SymPy, which call back into them, and what calls functions for others.
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
    """Whether a file belongs to what stands between the user's line and an operation."""
    return file.startswith(_OURS)


def user_frame() -> FrameType:
    """The innermost frame of a file that is not ours; the outermost one where all are.

    For messages only: that a line is named never decides what is computed.  Frames are told by
    their files, as a reader of a traceback tells them; what they contain is not looked at.
    """
    frame = sys._getframe(1)
    while frame.f_back is not None and is_ours(frame.f_code.co_filename):
        frame = frame.f_back
    return frame


def user_level() -> int:
    """The ``stacklevel`` by which a warning of the caller is one of the user's line."""
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
