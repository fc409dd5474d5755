"""Libraries as they are loaded, and whether there are any: the back ends.

A library is loaded once, under a name that is a digest of all that it depends on, and made unless
it was kept.  Where that fails, "native" raises, and "auto" is NumPy's from then on: what failed is
remembered, and not tried again.
"""

from __future__ import annotations

import _ctypes
import ctypes
import os
import sys
import warnings
import weakref
from contextlib import suppress
from functools import cache
from pathlib import Path

import numpy as np

from numeric.lowering.native import cache as files
from numeric.lowering.native import compiler as compilers
from numeric.lowering.native.compiler import NoCompiler, compiler
from symdiff.graph.number import shortened
from symdiff.locks import fork_safe_lock

BACKENDS = ("numpy", "native", "auto")


class CFunction(_ctypes.CFuncPtr):
    """A function of a library.  One of ctypes' own refers to itself: it is a cycle, and stays."""

    _flags_ = _ctypes.FUNCFLAG_CDECL
    _restype_ = ctypes.c_int
    library: Library


class Library:
    """A library that is loaded as long as it, or a function of it, is referred to.

    A running call refers to its function.  Thousands that stay would exhaust the mappings that a
    process may have.
    """

    def __init__(self, path: Path) -> None:
        self._handle = _ctypes.dlopen(str(path), ctypes.DEFAULT_MODE)
        # An array is not an object that the collector of cycles knows: where a library is in one,
        # the array goes when all methods ``__del__`` of the cycle have run, which may call what is
        # loaded.  A reference to the library itself would go before.
        self._owner = np.empty(0)
        closing = weakref.finalize(self._owner, _ctypes.dlclose, self._handle)
        closing.atexit = False  # threads may be running then

    def __getattr__(self, name: str) -> CFunction:
        if name.startswith("_"):
            raise AttributeError(name)
        found = CFunction(_ctypes.dlsym(self._handle, name))
        found.library = self
        return found


_LOADED: weakref.WeakValueDictionary[str, Library] = weakref.WeakValueDictionary()
_LOCK = fork_safe_lock()


class Failures:
    """What "auto" does not try again: texts, or all of them for one reason."""

    def __init__(self) -> None:
        self.texts: set[str] = set()
        self.reason: str | None = None


FAILURES = Failures()


def library(text: str, flags: tuple[str, ...] = (), backend: str = "native") -> Library | None:
    """The loaded library of a text of C; made, unless it is known or was kept.

    Raises NoCompiler where it cannot be had, and PermissionError where others can write into the
    folder of libraries; None in both cases for "auto", which says so once.
    """
    known = compiler()
    every = (*known.flags, *flags)
    parts = (*known.command, known.version, known.processor, *every, text)
    key = files.digest(*[os.fsencode(part) for part in parts])
    with _LOCK:
        found = _LOADED.get(key)
        if found is not None:
            return found
        if backend == "auto" and (FAILURES.reason is not None or key in FAILURES.texts):
            return None
        try:
            with files.opened() as place:
                found = _LOADED[key] = _loaded(place, key, known.command, every, text)
        except (NoCompiler, OSError) as error:
            if backend != "auto":
                raise
            reason, is_first = str(error), not FAILURES.texts
            FAILURES.texts.add(key)
    if found is None:  # the lock is free: a compiler is run, and a warning may call anything
        _fall_back(reason, is_first)
    return found


def _loaded(
    place: Path | None, key: str, command: tuple[str, ...], flags: tuple[str, ...], text: str
) -> Library:
    name = f"{key}.so"
    kept = None if place is None else files.whole(place / name)
    if kept is not None:
        with suppress(OSError):  # of another system in a shared home
            return _load(place, name, kept)
    try:
        data = compilers.made(place, command, flags, text, compilers.SECONDS)
        if place is not None:
            with suppress(OSError):  # a full disk, or one that is only read
                files.sweep(place)
                files.keep(place / name, data)
        return _load(place, name, data)
    except (NoCompiler, OSError) as error:
        raise NoCompiler(
            f"the native back end cannot make or load a kernel: {error}; mend that, name in "
            f"{files.FOLDER} a folder from which libraries can be loaded, or use "
            'backend="numpy", or "auto", which is NumPy where this happens'
        ) from error


def _load(place: Path | None, name: str, data: bytes) -> Library:
    """A library that was kept; a copy of it where it was not, or nothing is run from there."""
    if place is not None:
        with suppress(OSError):
            return Library(place / name)
    return compilers.in_files(None, name, data, Library)


# What is asked for --------------------------------------------------------------------------------


def has_native(backend: str) -> bool:
    """Whether a backend makes machine code here.

    Raises ValueError for one that there is not, NoCompiler and PermissionError where "native"
    cannot be had; there "auto" is "numpy", and says so, once.
    """
    if backend not in BACKENDS:
        raise ValueError(
            f"lower: backend is {shortened(backend)}; give one of {', '.join(BACKENDS)}"
        )
    if backend == "native":
        compiler()
    return backend == "native" or (backend == "auto" and _is_there())


@cache
def _is_there() -> bool:
    try:
        compiler()
    except (NoCompiler, OSError) as error:
        _warn(f"backend='auto' is 'numpy' here: {error}")
        return False
    return True


def _fall_back(reason: str, is_first: bool) -> None:
    """Say that a text is NumPy's, and remember if all are, where no other one would be made."""
    try:
        compilers.check()
    except (NoCompiler, OSError):
        FAILURES.reason = reason
        _warn(f"backend='auto' is 'numpy' from here on: {reason}")
    else:
        if is_first:
            _warn(f"backend='auto' is 'numpy' for a kernel: {reason}")


def _warn(text: str) -> None:
    warnings.warn(text, RuntimeWarning, stacklevel=_callers_level())


def _callers_level() -> int:
    """How many calls up, seen from who asks, the first one is that is not of these packages."""
    ours = [f"{Path(__file__).parents[3] / name}{os.sep}" for name in ("numeric", "symdiff")]
    written = "<numeric.lower"  # a program
    level, frame = 1, sys._getframe(1)
    while frame.f_back and frame.f_code.co_filename.startswith((*ours, written)):
        level, frame = level + 1, frame.f_back
    return level
