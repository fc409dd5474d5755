"""The system's C compiler: what it can do, and what it makes of a text.

Each text becomes a library in a folder of its own, in which the compiler runs: its temporary files
are there, too, and no path is in a text or in a command.
"""

from __future__ import annotations

import ctypes
import json
import os
import platform
import selectors
import shlex
import shutil
import signal
import subprocess
import sys
import time
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from numeric.lowering.native import cache as files
from numeric.lowering.native.functions import VECTOR

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeVar

    _T = TypeVar("_T")

SECONDS = 300  # no text of ours takes so long; a compiler that hangs is not waited for
_SHORT = 30  # for its version, and for texts of a line
_KEPT = 65_536  # bytes of what a command prints
_LAYOUT = "3"  # of a compiler's note
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
    """There is no C compiler, or what it makes cannot be had."""


class TimedOut(NoCompiler):
    """A compiler did not end: it is not asked again, elsewhere."""


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
    if not hasattr(os, "getuid"):  # how processes end, and libraries are loaded, is other there
        raise NoCompiler(
            f"the native back end has no code for {platform.system()}: it is for Linux, macOS and "
            'their like; use backend="numpy"'
        )
    given = os.environ.get("CC")
    names = [given] if given else ["cc", "gcc", "clang"]
    reasons = []
    with files.opened() as place:
        for name in names:
            try:
                command = shlex.split(name)
                path = shutil.which(command[0]) if command else None
                if path is not None:
                    return _known(str(Path(path).absolute()), tuple(command[1:]), place)
                reasons.append(f"{name} is not there")
            except (NoCompiler, OSError, ValueError) as error:  # a quotation that does not end
                reasons.append(f"{name}: {error}")
    raise NoCompiler(
        "the native back end needs a C compiler, and none works here (tried "
        f"{', '.join(names)}: {'; '.join(reasons)}); install "
        'one (Debian and Ubuntu: "apt install gcc"; macOS: "xcode-select --install"), name it '
        'in the environment variable CC, or use backend="numpy"'
    )


def _known(path: str, options: tuple[str, ...], place: Path | None) -> Compiler:
    """What was found out of a compiler, or is now.

    Raises NoCompiler for one that does not work.
    """
    real = Path(path).resolve()
    state, processor = real.stat(), _processor()
    parts = (path, str(real), str(state.st_size), str(state.st_mtime_ns), *options, processor)
    # What is loaded before all else decides whether a sanitizer's library can be.
    parts = (*parts, os.environ.get("LD_PRELOAD", ""), _LAYOUT, *_FLAGS, *VECTOR, _WIDE)
    note = f"{files.digest(*[os.fsencode(part) for part in parts])}.json"
    kept = None if place is None else files.whole(place / note)
    if kept is not None:
        with suppress(KeyError, TypeError):  # of another layout
            known = json.loads(kept)
            version, flags, wide = known["version"], known["flags"], known["wide"]
            vector = frozenset(known["vector"])
            return Compiler((path, *options), version, processor, vector, tuple(flags), wide)
    command = (path, *options)
    version = run((*command, "--version"), _SHORT).strip()
    if not version:
        raise NoCompiler(f"{path} --version says nothing")
    flags = (*_FLAGS, "-march=native")
    if not _links(command, flags, _WORKS, place):  # some do not know the processor by that name
        flags = _FLAGS
        _link(command, flags, _WORKS, place)
    first, vector = version.splitlines()[0], _vector(command, flags, place)
    wide = _links(command, flags, _WIDE, place)
    if place is not None:
        with suppress(OSError):  # it is found out again
            found = {"version": first, "flags": flags, "vector": sorted(vector), "wide": wide}
            files.keep(place / note, json.dumps(found).encode())
    return Compiler(command, first, processor, vector, flags, wide)


_WORKS = "int works(void) { return 1; }"
_WIDE = f"#ifndef __AVX512F__\n#error\n#endif\n{_WORKS}"


def run(command: tuple[str, ...], seconds: float, folder: Path | None = None) -> str:
    """What a command prints.  Raises NoCompiler where it does not run, fails or does not end.

    Of what it prints so much is kept; and who has its pipes when it has ended is not waited for.
    """
    pipe = subprocess.PIPE
    name = command[0]
    try:  # no shell, and no word of it is a user's text
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=pipe,
            stderr=pipe,
            start_new_session=True,
            cwd=folder,
            env={**os.environ, "TMPDIR": "."} if folder else None,
        )
    except OSError as error:
        raise NoCompiler(f"{name} did not run: {error}") from error
    with process:
        try:
            said, complained = _printed(process, seconds)
        except BaseException as error:
            _end(process)
            if isinstance(error, subprocess.TimeoutExpired):
                raise TimedOut(f"{name} did not end within {seconds} s") from error
            raise
    if process.returncode:
        code, text = process.returncode, complained.decode(errors="replace").strip()[-2000:]
        ended = f"was ended by signal {-code}" if code < 0 else f"failed with status {code}"
        raise NoCompiler(f"{name} {ended}:\n{text}" if text else f"{name} {ended}")
    return said.decode(errors="replace")


def _printed(process: subprocess.Popen[bytes], seconds: float) -> tuple[bytes, bytes]:
    """The first of what a process prints, and the last of what it complains of, when it ended."""
    assert process.stdout is not None
    assert process.stderr is not None
    said = {stream.fileno(): b"" for stream in (process.stdout, process.stderr)}
    end = time.monotonic() + seconds
    with selectors.DefaultSelector() as reading:
        for number in said:
            os.set_blocking(number, False)
            reading.register(number, selectors.EVENT_READ)
        while reading.get_map():
            ended = process.poll() is not None
            ready = reading.select(0 if ended else 0.1)
            for key, _ in ready:
                data = os.read(key.fd, _KEPT)
                if not data:
                    reading.unregister(key.fd)
                elif key.fd == process.stderr.fileno():
                    said[key.fd] = (said[key.fd] + data)[-_KEPT:]
                else:
                    said[key.fd] = (said[key.fd] + data)[:_KEPT]
            if ended and not ready:  # what it started has the pipes
                _end(process)
                break
            if time.monotonic() > end:
                raise subprocess.TimeoutExpired(process.args, seconds)
    process.wait(max(end - time.monotonic(), 0))
    out, err = said.values()
    return out, err


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a process, and what it started."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)


def _said(command: tuple[str, ...], *options: str) -> str | None:
    """What a compiler prints; None where that is nothing."""
    try:
        return run((*command, *options), _SHORT).strip() or None
    except NoCompiler:
        return None


def _link(
    command: tuple[str, ...], flags: tuple[str, ...], text: str, place: Path | None = None
) -> None:
    """Raise NoCompiler unless a text becomes a library in which nothing is missing.

    It is loaded in another process: a library may end the one that loads it.
    """
    data = made(place, command, flags, text, _SHORT)
    python = _interpreter()

    def load(path: Path) -> None:
        if python is None:
            ctypes.CDLL(str(path))
            return
        try:
            run((python, "-S", "-c", _LOAD, f"./{path.name}"), _SHORT, path.parent)
        except NoCompiler as error:
            raise NoCompiler(f"what {command[0]} makes cannot be loaded: {error}") from error

    in_files(place, f"{files.digest(data)}.so", data, load)


_LOAD = """
import ctypes, sys
try:
    ctypes.CDLL(sys.argv[1])
except OSError as error:
    sys.exit(str(error))
"""


def check() -> None:
    """Raise NoCompiler or OSError where the smallest of all texts cannot be had any more."""
    known = compiler()
    with files.opened() as place:
        _link(known.command, known.flags, _WORKS, place)


def _links(
    command: tuple[str, ...], flags: tuple[str, ...], text: str, place: Path | None = None
) -> bool:
    try:
        _link(command, flags, text, place)
    except (NoCompiler, OSError):
        return False
    return True


def _interpreter() -> str | None:
    """The program that runs Python here; None where this process is another one."""
    name = Path(sys.executable or "").name.lower()
    is_python = name.startswith(("python", "pypy")) and not getattr(sys, "frozen", False)
    return sys.executable if is_python else None


def in_files(place: Path | None, name: str, data: bytes, use: Callable[[Path], _T]) -> _T:
    """What ``use`` makes of a file, in ``place`` or, if that fails, in a temporary folder.

    The name is the data's own: a library is loaded once under a name.
    """

    def written(folder: Path) -> _T:
        (folder / name).write_bytes(data)
        return use(folder / name)

    return _somewhere(place, written)


def _somewhere(place: Path | None, act: Callable[[Path], _T]) -> _T:
    """What is done in a new folder of ``place``, or, if that fails, in a temporary one.

    The former may be only read, or full, or nothing may be run from there.
    """
    if place is not None:
        try:
            with files.private(place) as folder:
                return act(folder)
        except TimedOut:
            raise
        except (NoCompiler, OSError) as error:
            first = error
        with suppress(NoCompiler, OSError), files.private(None) as folder:
            return act(folder)
        raise first
    with files.private(None) as folder:
        return act(folder)


def _vector(command: tuple[str, ...], flags: tuple[str, ...], place: Path | None) -> frozenset[str]:
    """The functions that the mathematical library has for several elements at once.

    Each is asked for by itself, in a loop which the compiler makes of them if it can: a library
    may have some alone.
    """
    if _said(command, "-dumpfullversion") is None or sys.platform != "linux":
        return frozenset()
    every = [(name, "double") for name in VECTOR] + [(f"{name}f", "float") for name in VECTOR]
    found = {name for name, _ in every}
    if not _links(command, (*flags, "-O3"), "\n".join(_probe(*x) for x in every), place):
        found = {n for n, kind in every if _links(command, (*flags, "-O3"), _probe(n, kind), place)}
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


def made(
    place: Path | None, command: tuple[str, ...], flags: tuple[str, ...], text: str, seconds: float
) -> bytes:
    """The library that is made of a text.  Raises NoCompiler, or OSError of files."""
    return _somewhere(place, lambda folder: _made(command, flags, text, folder, seconds))


def _made(
    command: tuple[str, ...], flags: tuple[str, ...], text: str, folder: Path, seconds: float
) -> bytes:
    source, library = folder / "kernel.c", folder / "kernel.so"
    source.write_text(text, encoding="ascii")
    run((*command, *flags, source.name, "-o", library.name, "-lm"), seconds, folder)
    if not library.exists():
        raise NoCompiler(f"{command[0]} made nothing")
    return library.read_bytes()
