"""From a text of C to functions that can be called, without a build system.

The system's compiler is called once for each text.  What it made is kept in a folder of the user's,
under a name that is a digest of all that it depends on: the text, the compiler and its flags, the
processor.  Files are written beside their place and renamed, so that another process sees all of
one or none.  Each ends with a digest of what is before: one that is damaged is made again.

What has been loaded stays so, for the life of the process: functions may be running.
"""

from __future__ import annotations

import ctypes
import hashlib
import json
import os
import platform
import shlex
import shutil
import stat
import subprocess
import sys
import tempfile
import warnings
from functools import cache
from pathlib import Path
from typing import NamedTuple

from numeric.lowering.native.functions import VECTOR
from symdiff.locks import fork_safe_lock

FOLDER = "SYMDIFF_CACHE_DIR"
_SECONDS = 300  # no text of ours takes so long; a compiler that hangs is not waited for
_MAGIC = b"\nsymdiff native 1 "
_FLAGS = (
    "-std=gnu11",
    "-shared",
    "-fPIC",
    "-fno-math-errno",
    "-fno-trapping-math",
    "-ffp-contract=off",  # as NumPy computes: a product is rounded before it is added to
    "-fopenmp-simd",
    "-w",
)


class NoCompiler(RuntimeError):
    """There is no C compiler, or it does not work."""


class Compiler(NamedTuple):
    """A C compiler: how it is called, what it says of itself, and its vector functions."""

    command: tuple[str, ...]
    version: str
    processor: str
    vector: frozenset[str]
    flags: tuple[str, ...]

    def __str__(self) -> str:
        some = f"{len(self.vector)} vector functions" if self.vector else "no vector functions"
        return f"{self.version}, {some}"


@cache
def compiler() -> Compiler:
    """The system's C compiler: what the environment variable CC says, else cc, gcc or clang.

    What it can do is found by trying, once, and kept beside the libraries.  Raises NoCompiler where
    there is none that makes a shared library.
    """
    given = os.environ.get("CC")
    names = [shlex.split(given)] if given else [["cc"], ["gcc"], ["clang"]]
    for command in names:
        path = shutil.which(command[0]) if command else None
        if path is not None and (found := _known(path, tuple(command[1:]))) is not None:
            return found
    tried = ", ".join(" ".join(command) for command in names)
    raise NoCompiler(
        f"the native back end needs a C compiler, and none works here (tried {tried}); install "
        'one (Debian and Ubuntu: "apt install gcc"; macOS: "xcode-select --install"), name it '
        'in the environment variable CC, or use backend="numpy"'
    )


def _known(path: str, options: tuple[str, ...]) -> Compiler | None:
    """What was found out of a compiler, or is now; None for one that does not work."""
    real = Path(path).resolve()
    state, processor = real.stat(), _processor()
    parts = (path, str(real), str(state.st_size), str(state.st_mtime_ns), *options, processor)
    note = folder() / f"{_digest(*[part.encode() for part in (*parts, *_FLAGS)])}.json"
    if _is_whole(note):
        text = note.read_bytes().rpartition(_MAGIC)[0]
        version, flags, vector = json.loads(text)
        return Compiler((path, *options), version, processor, frozenset(vector), tuple(flags))
    command = (path, *options)
    version = _said(command, "--version")
    if version is None:
        return None
    for native in (("-march=native",), ()):  # some do not know the processor by that name
        flags = (*_FLAGS, *native)
        if _links(command, flags, "int works(void) { return 1; }"):
            first, vector = version.splitlines()[0], _vector(command, flags)
            _keep(note, json.dumps([first, flags, sorted(vector)]).encode())
            return Compiler(command, first, processor, vector, flags)
    return None


def _said(command: tuple[str, ...], *options: str) -> str | None:
    try:
        done = subprocess.run(  # no shell, and no word of it is a user's text
            [*command, *options], capture_output=True, text=True, timeout=_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout if done.returncode == 0 and done.stdout else None


def _links(command: tuple[str, ...], flags: tuple[str, ...], text: str) -> bool:
    """Whether a text becomes a library in which nothing is missing, which can be loaded."""
    with tempfile.TemporaryDirectory(prefix="symdiff-") as folder:
        try:
            made = _made(command, flags, text, Path(folder))
            ctypes.CDLL(str(made))
        except (NoCompiler, OSError):
            return False
    return True


def _vector(command: tuple[str, ...], flags: tuple[str, ...]) -> frozenset[str]:
    """The functions that the mathematical library has for several elements at once.

    Each is asked for by itself, in a loop which the compiler makes of them if it can: a library
    may have some alone.
    """
    if _said(command, "-dumpfullversion") is None or sys.platform != "linux":
        return frozenset()
    every = [(name, "double") for name in VECTOR] + [(f"{name}f", "float") for name in VECTOR]
    found = {name for name, _ in every}
    if not _links(command, (*flags, "-O3"), "\n".join(_probe(*x) for x in every)):
        found = {n for n, kind in every if _links(command, (*flags, "-O3"), _probe(n, kind))}
    return frozenset(found)


def _probe(name: str, kind: str) -> str:
    count = VECTOR[name.removesuffix("f") if kind == "float" and name not in VECTOR else name]
    operands = ", ".join([kind] * count)
    values = ", ".join(["x[i]"] * count)
    return (
        f'{kind} {name}({operands}) __attribute__((const, simd("notinbranch")));\n'
        f"void of_{name}({kind} *x) {{ for (int i = 0; i < 64; i++) x[i] = {name}({values}); }}"
    )


def _processor() -> str:
    """What machine code depends on: the kind of machine, and what its processor can do."""
    text = f"{platform.system()} {platform.machine()}"
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return f"{text} {platform.processor()}"
    wanted = ("flags", "Features", "model name")
    return "\n".join([text, *dict.fromkeys(x for x in lines if x.startswith(wanted))])


def _made(
    command: tuple[str, ...], flags: tuple[str, ...], text: str, folder: Path, name: str = "kernel"
) -> Path:
    """The library that is made of a text, in a folder."""
    source, library = folder / f"{name}.c", folder / f"{name}.so"
    source.write_text(text, encoding="ascii")
    every = [*command, *flags, str(source), "-o", str(library), "-lm"]
    try:
        done = subprocess.run(  # no shell, and no word of it is a user's text
            every, capture_output=True, text=True, timeout=_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise NoCompiler(f"{command[0]} did not run: {error}") from error
    if done.returncode:
        raise NoCompiler(f"{command[0]} failed:\n{done.stderr[-2000:]}")
    return library


# The cache ----------------------------------------------------------------------------------------


def folder() -> Path:
    """Where libraries are kept: the environment variable SYMDIFF_CACHE_DIR, else the usual place.

    Raises PermissionError where others can write into it, since what is there is run.
    """
    given = os.environ.get(FOLDER)
    if given:
        path = Path(given)
    elif sys.platform == "darwin":
        path = Path.home() / "Library" / "Caches" / "symdiff"
    else:
        base = os.environ.get("XDG_CACHE_HOME")
        path = (Path(base) if base else Path.home() / ".cache") / "symdiff"
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    known = path.stat()
    if hasattr(os, "getuid") and (
        known.st_uid != os.getuid() or known.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    ):
        raise PermissionError(
            f"{path} belongs to another user, or others can write into it: compiled code is not "
            f'run from there; "chmod go-w" it, or name another folder in {FOLDER}'
        )
    return path


def _digest(*parts: bytes) -> str:
    found = hashlib.sha256()
    for part in parts:
        found.update(len(part).to_bytes(8, "little") + part)
    return found.hexdigest()


def _is_whole(path: Path) -> bool:
    """Whether a file is one that was written here, to its end."""
    try:
        data = path.read_bytes()
        known = path.lstat()
    except OSError:
        return False
    if hasattr(os, "getuid") and known.st_uid != os.getuid():
        return False
    head, mark, tail = data.rpartition(_MAGIC)
    return bool(mark) and tail.decode("ascii", "replace") == _digest(head)


_LOADED: dict[str, ctypes.CDLL] = {}
_LOCK = fork_safe_lock()


def library(text: str, flags: tuple[str, ...] = ()) -> ctypes.CDLL:
    """The loaded library of a text of C; made, unless it is known or was kept.

    Raises NoCompiler, PermissionError of ``folder``, and OSError where it cannot be written.
    """
    known = compiler()
    every = (*known.flags, *flags)
    parts = (*known.command, known.version, known.processor, *every, text)
    key = _digest(*[part.encode() for part in parts])
    with _LOCK:
        found = _LOADED.get(key)
        if found is None:
            found = _LOADED[key] = _loaded(folder() / f"{key}.so", known, every, text)
    return found


def _loaded(path: Path, known: Compiler, flags: tuple[str, ...], text: str) -> ctypes.CDLL:
    if _is_whole(path):
        try:
            return ctypes.CDLL(str(path))
        except OSError:  # a file of another system in a shared home
            pass
    with tempfile.TemporaryDirectory(prefix="making-", dir=path.parent) as made:
        _keep(path, _made(known.command, flags, text, Path(made)).read_bytes())
    return ctypes.CDLL(str(path))


def _keep(path: Path, data: bytes) -> None:
    """Write a file with its digest, beside its place, and put it there at once."""
    number, beside = tempfile.mkstemp(prefix="making-", dir=path.parent)
    with open(number, "wb") as file:
        file.write(data + _MAGIC + _digest(data).encode())
    Path(beside).replace(path)


# What is asked for --------------------------------------------------------------------------------

BACKENDS = ("numpy", "native", "auto")


def has_native(backend: str) -> bool:
    """Whether a backend makes machine code here.

    Raises ValueError for one that there is not, NoCompiler and PermissionError where "native"
    cannot be had; there "auto" is "numpy", and says so, once.
    """
    if backend not in BACKENDS:
        raise ValueError(f"lower: backend is {backend!r}; give one of {', '.join(BACKENDS)}")
    if backend == "native":
        compiler()
    return backend == "native" or (backend == "auto" and _is_there())


@cache
def _is_there() -> bool:
    try:
        compiler()
    except (NoCompiler, OSError) as error:
        warnings.warn(f"backend='auto' is 'numpy' here: {error}", RuntimeWarning, stacklevel=5)
        return False
    return True
