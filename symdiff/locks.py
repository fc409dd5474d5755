"""Locks that a forked child can take.

A child has only the thread that forked.  A lock that another thread held at that time would stay
locked in the child forever.  Data under our locks is consistent between any two bytecodes (single
insertions into tables), so a child simply frees such a lock.

Python's own module locks also stay locked in a child.  A module that another thread was loading is
incomplete there, and importing it waits for that thread.  So a fork waits until the modules of
these packages are complete.
"""

from __future__ import annotations

import _frozen_importlib
import _imp
import functools
import logging
import os
import sys
import threading
import time
import weakref
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, MutableMapping

_K = TypeVar("_K")
_V = TypeVar("_V")
_T_co = TypeVar("_T_co", covariant=True)

_MADE: weakref.WeakKeyDictionary[threading.RLock, Callable[[], None] | None]
_MADE = weakref.WeakKeyDictionary()


def fork_safe_lock(repair: Callable[[], None] | None = None) -> threading.RLock:
    """Return a reentrant lock; a forked child finds it free, or owns it if the forking thread did.

    Args:
        repair: called in a child if another thread held the lock, to undo temporary changes of
            that thread.

    >>> with fork_safe_lock() as held:
    ...     held
    True
    """
    lock = threading.RLock()
    _MADE[lock] = repair
    return lock


def made() -> list[threading.RLock]:
    """Return the locks that are alive.

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
    """Return ``table[key]``; the first thread that needs it makes it while others wait.

    This is the slow path of double-checked locking.  The look-up is before the call, without the
    cost of a call or lock::

        value = table.get(key)
        if value is None:
            value = once(table, key, lock, lambda: ...)

    So ``table`` never contains None, nor an unfinished value.  If ``make`` raises, the table is
    unchanged, and the next caller tries again.

    Args:
        table: finished values by key.
        key: the key.
        lock: the lock of the table; reentrant, because ``make`` may need other entries.
        make: makes the value.
        most: the largest size of the table; a full table is emptied before an insertion.

    >>> table: dict[str, int] = {}
    >>> once(table, "a", fork_safe_lock(), lambda: 1), once(table, "a", fork_safe_lock(), lambda: 2)
    (1, 1)
    """
    with lock:
        value = table.get(key)
        if value is None:
            value = make()
            if most is not None and len(table) >= most:
                table.clear()
            table[key] = value
        return value


class cached_property(functools.cached_property[_T_co]):  # noqa: N801  # a decorator
    """An attribute that is computed at its first use.

    The computation holds no lock.  So no lock stays locked in a forked child, and threads with
    different objects do not wait for each other.  If two threads compute the same attribute, both
    get the value of the first to finish.

    >>> class Square:
    ...     @cached_property
    ...     def area(self) -> int:
    ...         print("computed")
    ...         return 9
    >>> one = Square()
    >>> one.area, one.area
    computed
    (9, 9)
    """

    def __init__(self, func: Callable[[Any], _T_co]) -> None:
        # Python 3.11 would create one lock here for all objects.
        self.func, self.attrname, self.__doc__ = func, None, func.__doc__

    if not TYPE_CHECKING:  # type checkers use the standard library's types

        def __get__(self, instance: object, owner: type | None = None) -> object:
            if instance is None:
                return self
            values = instance.__dict__
            if self.attrname not in values:  # another thread may have been faster
                value = self.func(instance)
                values.setdefault(self.attrname, value)
            return values[self.attrname]


# Modules that are loaded late ---------------------------------------------------------------------

PACKAGES = sys.stdlib_module_names.union(
    ["symdiff", "numeric", "numpy", "sympy", "mpmath", "scipy", "flint", "matplotlib", "dask"]
)
"""The packages whose calls load modules: our own, and those that they use."""

PATIENCE = 10.0
"""The most seconds that a fork waits for a module that needs a lock of the forking thread."""

_MODULE_LOCKS: dict[str, Callable[[], Any]] = getattr(_frozen_importlib, "_module_locks", {})


# logging takes its own lock before a fork, after our functions: it registered them earlier.
_LOGGING: threading.RLock = getattr(logging, "_lock", None) or threading.RLock()


def _locks_of_others() -> dict[str, Any]:
    """The module locks of ``PACKAGES``, except those that this thread holds."""
    me = threading.get_ident()
    held = {
        name: lock()
        for name, lock in list(_MODULE_LOCKS.items())
        if name.partition(".")[0] in PACKAGES
    }
    return {name: lock for name, lock in held.items() if lock is not None and lock.owner != me}


def _is_loaded_by_others() -> bool:
    """Whether a running thread holds one of these locks; in a child, other threads do not run."""
    owners = {lock.owner for lock in _locks_of_others().values()}
    return not owners.isdisjoint(sys._current_frames())


def _wait_for_modules() -> None:
    """Wait until no other thread loads a module, and prevent new loads before the fork.

    While this thread has the import lock, others may take the lock of a module, but cannot proceed:
    module finders run under the import lock.  A thread that loads modules may need the lock of
    ``logging``, and a thread with that lock may load modules, as ``logging.config`` does.  So no
    thread may wait for one of the two while it holds the other.
    """
    end = time.monotonic() + PATIENCE
    while True:
        _imp.acquire_lock()
        if _LOGGING.acquire(blocking=False):
            if time.monotonic() >= end or not _is_loaded_by_others():
                return
            _LOGGING.release()
        _imp.release_lock()
        time.sleep(0.001)


def _let_modules_load() -> None:
    with suppress(RuntimeError):  # an interrupt ended the wait: we hold no locks
        _imp.release_lock()
        _LOGGING.release()


def _forget_module_locks() -> None:
    """Forget the locks of modules that other threads were about to load."""
    for name in _locks_of_others():
        _MODULE_LOCKS.pop(name, None)
    with suppress(RuntimeError):  # as above; logging's lock is free in a child
        _imp.release_lock()


def _free_locks() -> None:
    for held, repair in list(_MADE.items()):
        if held.acquire(blocking=False):  # free, or this thread's
            held.release()
            continue
        held._at_fork_reinit()  # type: ignore[attr-defined]  # as the standard library frees its own
        if repair is not None:
            repair()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_wait_for_modules,
        after_in_parent=_let_modules_load,
        after_in_child=_forget_module_locks,
    )
    os.register_at_fork(after_in_child=_free_locks)
