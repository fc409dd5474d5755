"""Locks that a forked child can take.

A child has only the thread that forked; a lock that another thread held then would stay locked in
the child for good.  What our locks protect is consistent between any two bytecodes (single
insertions into tables), so in a child such a lock is simply made free.
"""

from __future__ import annotations

import os
import threading
import weakref
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, MutableMapping

_K = TypeVar("_K")
_V = TypeVar("_V")

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


def once(
    table: MutableMapping[_K, _V],
    key: _K,
    lock: threading.RLock,
    make: Callable[[], _V],
    most: int | None = None,
) -> _V:
    """``table[key]``, which the first thread that asks makes while the others wait.

    This is what remains of double-checked locking when a look-up has found nothing.  The look-up
    stands before the call, where it costs no call and takes no lock::

        found = table.get(key)
        if found is None:
            found = once(table, key, lock, lambda: ...)

    So ``table`` never holds None, nor anything that is still being made: if ``make`` raises, the
    table is as it was, and the next who asks tries again.

    Args:
        table: what was made, by key.
        key: what is asked for.
        lock: the lock of the table; reentrant, for what is made may need other entries.
        make: makes the value.
        most: a table of so many entries is emptied before one is added.

    >>> table: dict[str, int] = {}
    >>> once(table, "a", fork_safe_lock(), lambda: 1), once(table, "a", fork_safe_lock(), lambda: 2)
    (1, 1)
    """
    with lock:
        found = table.get(key)
        if found is None:
            found = make()
            if most is not None and len(table) >= most:
                table.clear()
            table[key] = found
        return found


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
