"""Where helping threads run: not on the processor of the thread that they help.

Linux may wake a helper on the processor of its caller, and let the two take turns there for
milliseconds though others idle: all is done as by one thread then.  So a helper leaves its caller's
processor to it.  The caller is never moved, and a helper runs where the process may.
"""

from __future__ import annotations

import ctypes
import os
import sys
import threading
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

NOWHERE = -1
"""What is said where the system does not tell."""


def _found() -> Callable[[], int]:
    """What says which processor the calling thread is on."""
    if sys.platform == "linux":
        with suppress(AttributeError, OSError):
            found: Callable[[], int] = ctypes.PyDLL(None).sched_getcpu
            return found
    return lambda: NOWHERE


current: Callable[[], int] = _found()
"""The number of the processor on which the calling thread is now, or ``NOWHERE``.

>>> current() >= NOWHERE
True
"""


class _Kept(threading.local):
    """The processors of this thread, and the one that it keeps off."""

    everywhere: frozenset[int] = frozenset()
    off = NOWHERE


_KEPT = _Kept()


def keep_off(processor: int) -> None:
    """Let the calling thread run on any of its processors but this one, if it has others."""
    if processor == _KEPT.off or sys.platform != "linux":
        return
    with suppress(OSError):  # a system that refuses it wakes threads as it likes
        everywhere = _KEPT.everywhere or frozenset(os.sched_getaffinity(0))
        _KEPT.everywhere, _KEPT.off = everywhere, processor
        os.sched_setaffinity(0, everywhere - {processor} or everywhere)
