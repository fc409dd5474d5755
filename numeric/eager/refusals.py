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

# Whose code stands between the user's line and an operation: these packages, NumPy, which calls
# back into them, and what calls functions for others.
_PACKAGES = [
    str(sys.modules[name].__file__) for name in (__name__.split(".")[0], "symdiff", "numpy")
]
_OURS = (
    *[f"{os.path.dirname(file)}{os.sep}" for file in _PACKAGES],
    *(functools.__file__, contextlib.__file__, copy.__file__),
)


def user_frame() -> FrameType:
    """The innermost frame of a file that is not ours; the outermost one where all are.

    For messages only: that a line is named never decides what is computed.  Frames are told by
    their files, as a reader of a traceback tells them; what they contain is not looked at.
    """
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_OURS):
        frame = frame.f_back
    return frame


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
