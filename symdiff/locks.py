"""Locks that a forked child can take.

A child has only the thread that forked; a lock that another thread held then would stay locked in
the child for good.  What our locks protect is consistent between any two bytecodes (single
insertions into tables), so in a child such a lock is simply made free.

Python's own locks of modules stay locked in a child as well: a module that another thread was
loading is half there, and importing it waits for that thread.  So a fork waits until modules of
these packages are whole.
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
    """A reentrant lock; in a forked child it is free, or the child's if the forking thread held it.

    Args:
        repair: called in a child in which the lock was another thread's, to put right what that
            thread had changed for a while.

    >>> with fork_safe_lock() as held:
    ...     held
    True
    """
    lock = threading.RLock()
    _MADE[lock] = repair
    return lock


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

        value = table.get(key)
        if value is None:
            value = once(table, key, lock, lambda: ...)

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
        value = table.get(key)
        if value is None:
            value = make()
            if most is not None and len(table) >= most:
                table.clear()
            table[key] = value
        return value


class cached_property(functools.cached_property[_T_co]):  # noqa: N801  # a decorator
    """An attribute that is computed when it is first read.

    No lock is held meanwhile, so that none stays locked in a forked child, and threads that compute
    attributes of different objects do not wait for each other.  Of two threads that compute the
    same one, both get the value of the first to finish.

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
        # Python 3.11 makes a lock here, one for all objects.
        self.func, self.attrname, self.__doc__ = func, None, func.__doc__

    if not TYPE_CHECKING:  # whose types are those of the standard library

        def __get__(self, instance: object, owner: type | None = None) -> object:
            if instance is None:
                return self
            values = instance.__dict__
            if self.attrname not in values:  # else another thread was faster
                value = self.func(instance)
                values.setdefault(self.attrname, value)
            return values[self.attrname]


# Modules that are loaded late ---------------------------------------------------------------------

PACKAGES = sys.stdlib_module_names.union(
    ["symdiff", "numeric", "numpy", "sympy", "mpmath", "scipy", "flint", "matplotlib", "dask"]
)
"""Those of which calls load modules: ours, and those that these call."""

PATIENCE = 10.0
"""Seconds that a fork waits at most, for a module that needs what the forking thread holds."""

_MODULE_LOCKS: dict[str, Callable[[], Any]] = getattr(_frozen_importlib, "_module_locks", {})


# Its own functions take it before a fork, when those here have: they were registered before.
_LOGGING: threading.RLock = getattr(logging, "_lock", None) or threading.RLock()


def _locks_of_others() -> dict[str, Any]:
    """The locks of modules of ``PACKAGES``, but for those that this thread holds."""
    me = threading.get_ident()
    held = {
        name: lock()
        for name, lock in list(_MODULE_LOCKS.items())
        if name.partition(".")[0] in PACKAGES
    }
    return {name: lock for name, lock in held.items() if lock is not None and lock.owner != me}


def _is_loaded_by_others() -> bool:
    """Whether a thread that runs holds one of these locks; in a child those of others do not."""
    owners = {lock.owner for lock in _locks_of_others().values()}
    return not owners.isdisjoint(sys._current_frames())


def _wait_for_modules() -> None:
    """Wait until no other thread is loading a module, and let none begin before the fork.

    With the import lock here, a thread may still take the lock of a module, but do no more: what
    looks for modules is called under the import lock.  A thread that loads modules may need the
    lock of ``logging``, and one that has that may load modules, as ``logging.config`` does.  So
    nobody waits for one of the two who has the other.
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
    with suppress(RuntimeError):  # an interrupt ended the waiting: the locks are not here
        _imp.release_lock()
        _LOGGING.release()


def _forget_module_locks() -> None:
    """Forget the locks of modules that other threads were about to load."""
    for name in _locks_of_others():
        _MODULE_LOCKS.pop(name, None)
    with suppress(RuntimeError):  # as above; that of ``logging`` is free in a child
        _imp.release_lock()


def _free() -> None:
    for held, repair in list(_MADE.items()):
        if held.acquire(blocking=False):  # nobody's, or this thread's
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
    os.register_at_fork(after_in_child=_free)
