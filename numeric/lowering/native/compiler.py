"""From a text of C to functions that can be called, without a build system.

The system's compiler is called once for each text.  What it made is kept in a folder of the user's,
under a name that is a digest of all that it depends on: the text, the compiler and its flags, the
processor.  Files are written beside their place and renamed, so that another process sees all of
one or none.  Each ends with a digest of what is before: one that is damaged is made again.  Where
nothing can be written, a library is made in a temporary folder and lives as long as the process.

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
import signal
import stat
import subprocess
import sys
import tempfile
import time
import warnings
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import NamedTuple

from numeric.lowering.native.functions import VECTOR
from symdiff.locks import fork_safe_lock

FOLDER = "SYMDIFF_CACHE_DIR"
_SECONDS = 300  # no text of ours takes so long; a compiler that hangs is not waited for
_SHORT = 30  # for its version, and for texts of a line
_MAKING = "making-"
_ABANDONED = 3600  # seconds: nothing takes so long to be made
_MAGIC = b"\nsymdiff native 1 "
_FLAGS = (
    "-std=gnu11",
    "-shared",
    "-fPIC",
    "-fno-math-errno",
    "-fno-trapping-math",
    "-ffp-contract=off",  # as NumPy computes: a product is rounded before it is added to
    # Of a sine and a cosine of one argument GCC makes one call, which has no vector function.
    *(f"-fno-builtin-{name}{kind}" for name in ("sin", "cos") for kind in ("", "f")),
    "-fopenmp-simd",
    "-w",
)


FAST = (
    # Not -ffast-math: a library that is linked with it lets subnormals be 0 in the whole process.
    "-fassociative-math",
    "-freciprocal-math",
    "-fno-signed-zeros",
    "-ffinite-math-only",
    "-ffp-contract=fast",
)
"""What ``fastmath`` allows."""


class NoCompiler(RuntimeError):
    """There is no C compiler, or it does not work."""


class Compiler(NamedTuple):
    """A C compiler: how it is called, what it says of itself, and its vector functions."""

    command: tuple[str, ...]
    version: str
    processor: str
    vector: frozenset[str]
    flags: tuple[str, ...]
    wide: bool  # registers hold eight doubles

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
    names = [given] if given else ["cc", "gcc", "clang"]
    for name in names:
        try:
            command = shlex.split(name)
        except ValueError:  # a quotation that does not end
            continue
        path = shutil.which(command[0]) if command else None
        if path is not None:
            found = _known(str(Path(path).absolute()), tuple(command[1:]))
            if found is not None:
                return found
    tried = ", ".join(names)
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
    note = f"{_digest(*[os.fsencode(part) for part in (*parts, *_FLAGS, *VECTOR, _WIDE)])}.json"
    place = folder()
    kept = None if place is None else _whole(place / note)
    if kept is not None:
        version, flags, vector, wide = json.loads(kept)
        known = frozenset(vector), tuple(flags), wide
        return Compiler((path, *options), version, processor, *known)
    command = (path, *options)
    version = _said(command, "--version")
    if version is None:
        return None
    for native in (("-march=native",), ()):  # some do not know the processor by that name
        flags = (*_FLAGS, *native)
        if _links(command, flags, "int works(void) { return 1; }"):
            first, vector = version.splitlines()[0], _vector(command, flags)
            wide = _links(command, flags, _WIDE)
            if place is not None:
                with suppress(OSError):  # it is found out again
                    _keep(place / note, json.dumps([first, flags, sorted(vector), wide]).encode())
            return Compiler(command, first, processor, vector, flags, wide)
    return None


_WIDE = "#ifndef __AVX512F__\n#error\n#endif\nint works(void) { return 1; }"


def _run(command: tuple[str, ...], seconds: float) -> str:
    """What a command prints.  Raises NoCompiler where it does not run, fails or does not end."""
    pipe = subprocess.PIPE
    try:  # no shell, and no word of it is a user's text
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=pipe, stderr=pipe, start_new_session=True
        )
    except OSError as error:
        raise NoCompiler(f"{command[0]} did not run: {error}") from error
    with process:
        try:
            said, complained = process.communicate(timeout=seconds)
        except BaseException as error:
            # What it started has the pipes, too, and would be waited for.
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            if isinstance(error, subprocess.TimeoutExpired):
                text = f"{command[0]} did not end within {seconds} s"
                raise NoCompiler(text) from error
            raise
    if process.returncode:
        raise NoCompiler(f"{command[0]} failed:\n{complained.decode(errors='replace')[-2000:]}")
    return said.decode(errors="replace")


def _said(command: tuple[str, ...], *options: str) -> str | None:
    """What a compiler prints; None where that is nothing."""
    try:
        return _run((*command, *options), _SHORT).strip() or None
    except NoCompiler:
        return None


def _links(command: tuple[str, ...], flags: tuple[str, ...], text: str) -> bool:
    """Whether a text becomes a library in which nothing is missing, which can be loaded."""
    with tempfile.TemporaryDirectory(prefix="symdiff-") as folder:
        try:
            made = _made(command, flags, text, Path(folder), _SHORT)
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
    """What machine code depends on: the kind of machine, its processor, and the C library."""
    found = [platform.system(), platform.machine()]
    with suppress(AttributeError, ValueError, OSError):  # only glibc says its version
        found.append(str(os.confstr("CS_GNU_LIBC_VERSION")))
    wanted = ("flags", "Features", "model name")
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as lines:
            for line in lines:
                if not line.strip():  # the next processor, of as many as there are
                    break
                if line.startswith(wanted):
                    found.append(line)
    except OSError:
        found.append(platform.processor())  # asks another program: 10 ms
    return "\n".join(found)


def _made(
    command: tuple[str, ...], flags: tuple[str, ...], text: str, folder: Path, seconds: float
) -> Path:
    """The library that is made of a text, in a folder."""
    source, library = folder / "kernel.c", folder / "kernel.so"
    source.write_text(text, encoding="ascii")
    _run((*command, *flags, str(source), "-o", str(library), "-lm"), seconds)
    if not library.exists():
        raise NoCompiler(f"{command[0]} made nothing")
    return library


# The cache ----------------------------------------------------------------------------------------


def folder() -> Path | None:
    """Where libraries are kept: the environment variable SYMDIFF_CACHE_DIR, else the usual place.

    None where the usual place cannot be made: nothing is kept.  Raises OSError where that of the
    variable cannot be made, and PermissionError where others can write into either, since what is
    there is run.
    """
    given = os.environ.get(FOLDER)
    try:
        path = Path(given).absolute() if given else _usual()
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        known = path.stat()
    except (OSError, RuntimeError):  # there is no home
        if given:
            raise
        return None
    if hasattr(os, "getuid") and (
        known.st_uid != os.getuid() or known.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    ):
        raise PermissionError(
            f"{path} belongs to another user, or others can write into it: compiled code is not "
            f'run from there; "chmod go-w" it, or name another folder in {FOLDER}'
        )
    return path


def _usual() -> Path:
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "symdiff"
    base = Path(os.environ.get("XDG_CACHE_HOME", ""))
    # A relative one is to be ignored, as the XDG Base Directory Specification says.
    return (base if base.is_absolute() else Path.home() / ".cache") / "symdiff"


def _digest(*parts: bytes) -> str:
    found = hashlib.sha256()
    for part in parts:
        found.update(len(part).to_bytes(8, "little") + part)
    return found.hexdigest()


def _whole(path: Path) -> bytes | None:
    """What was written here to a file; None for one that is not of this user, or is damaged."""
    try:
        data = path.read_bytes()
        owner = path.lstat().st_uid
    except OSError:
        return None
    if hasattr(os, "getuid") and owner != os.getuid():
        return None
    head, mark, tail = data.rpartition(_MAGIC)
    return head if mark and tail == _digest(head).encode() else None


_LOADED: dict[str, ctypes.CDLL] = {}
_LOCK = fork_safe_lock()


def library(text: str, flags: tuple[str, ...] = ()) -> ctypes.CDLL:
    """The loaded library of a text of C; made, unless it is known or was kept.

    Raises NoCompiler, and OSError of ``folder`` or where it cannot be loaded.
    """
    known = compiler()
    every = (*known.flags, *flags)
    parts = (*known.command, known.version, known.processor, *every, text)
    key = _digest(*[os.fsencode(part) for part in parts])
    with _LOCK:
        found = _LOADED.get(key)
        if found is None:
            found = _LOADED[key] = _loaded(key, known.command, every, text)
    return found


def _loaded(key: str, command: tuple[str, ...], flags: tuple[str, ...], text: str) -> ctypes.CDLL:
    place = folder()
    path = None if place is None else place / f"{key}.so"
    if path is not None and _whole(path) is not None:
        with suppress(OSError):  # of another system in a shared home
            return ctypes.CDLL(str(path))
    if place is not None:
        _sweep(place)
    with _beside(place) as beside:
        made = _made(command, flags, text, Path(beside), _SECONDS)
        if path is not None:
            with suppress(OSError):  # a full disk, or one that is only read
                _keep(path, made.read_bytes())
                return ctypes.CDLL(str(path))
        return ctypes.CDLL(str(made))  # it stays loaded when its file is gone


def _beside(place: Path | None) -> tempfile.TemporaryDirectory[str]:
    """A folder to make things in: in ``place``, where that can be written, else the system's."""
    if place is not None:
        with suppress(OSError):
            return tempfile.TemporaryDirectory(prefix=_MAKING, dir=place)
    return tempfile.TemporaryDirectory(prefix="symdiff-")


def _sweep(place: Path) -> None:
    """Remove what a process left here that ended while it wrote."""
    for path in place.glob(f"{_MAKING}*"):
        with suppress(OSError):  # another process does so, too
            if time.time() - path.lstat().st_mtime > _ABANDONED:
                if path.is_dir() and not path.is_symlink():
                    shutil.rmtree(path)
                else:
                    path.unlink()


def _keep(path: Path, data: bytes) -> None:
    """Write a file with its digest, beside its place, and put it there at once."""
    number, beside = tempfile.mkstemp(prefix=_MAKING, dir=path.parent)
    try:
        with open(number, "wb") as file:
            file.write(data + _MAGIC + _digest(data).encode())
        Path(beside).replace(path)
    except BaseException:
        Path(beside).unlink(missing_ok=True)
        raise


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
        text = f"backend='auto' is 'numpy' here: {error}"
        warnings.warn(text, RuntimeWarning, stacklevel=_callers_level())
        return False
    return True


def _callers_level() -> int:
    """How many calls up, seen from who asks, the first one is that is not of these packages."""
    ours = tuple([f"{Path(__file__).parents[3] / name}{os.sep}" for name in ("numeric", "symdiff")])
    level, frame = 1, sys._getframe(1)
    while frame.f_back and frame.f_code.co_filename.startswith(ours):
        level, frame = level + 1, frame.f_back
    return level
