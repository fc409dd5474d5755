"""Locks that a forked child can take.

A child has only the thread that forked; a lock that another thread held then would stay locked in
the child for good.  What our locks protect is consistent between any two bytecodes (single
insertions into tables), so in a child such a lock is simply made free.
"""

from __future__ import annotations

import os
import threading
import weakref
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

_MADE: weakref.WeakKeyDictionary[threading.RLock, Callable[[], None] | None]
_MADE = weakref.WeakKeyDictionary()


def fork_safe_lock(repair: Callable[[], None] | None = None) -> threading.RLock:
    """A reentrant lock; in a forked child it is free, or the child's if the forking thread held it.

    Args:
        repair: called in a child in which the lock was another thread's, to put right what that
            thread had changed for a while.

    >>> with fork_safe_lock() as held:
    ...     held
    True
    """
    made = threading.RLock()
    _MADE[made] = repair
    return made


def made() -> list[threading.RLock]:
    """The locks that are alive.

    >>> one = fork_safe_lock()
    >>> one in made()
    True
    """
    return list(_MADE)


def _free() -> None:
    for held, repair in list(_MADE.items()):
        if held.acquire(blocking=False):  # nobody's, or this thread's
            held.release()
            continue
        held._at_fork_reinit()  # type: ignore[attr-defined]  # as the standard library frees its own
        if repair is not None:
            repair()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_free)
