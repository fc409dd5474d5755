"""The folder in which libraries are kept from one process to the next, and files in it.

What is there is run.  So the folder must be this user's, and nobody else may write into it.  It is
opened once for each use, checked as it was opened, and reached through its descriptor from then on:
no parent matters, whoever renames it.  Where a system has no paths of descriptors (``/proc``), the
parents are checked instead.

Files are written beside their place and renamed, so that another process sees all of one or none.
Each ends with a digest of what is before: one that is damaged is made again.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import stat
import sys
import tempfile
import time
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

FOLDER = "SYMDIFF_CACHE_DIR"
MAKING = "making-"
_IN_TEMPORARY = f"symdiff-{MAKING}"  # where others make things, too
_ABANDONED = 3600  # seconds: nothing takes so long to be made
_MOST = 10_000  # libraries, of some 20 KB
_DAY = 86_400  # seconds: a file that is read has a time of its last use, to this accuracy
_MAGIC = b"\nsymdiff native 1 "
_OTHERS = stat.S_IWGRP | stat.S_IWOTH
_DESCRIPTORS = "/proc/self/fd"


def folder() -> Path | None:
    """Where libraries are kept: the environment variable SYMDIFF_CACHE_DIR, else the usual place.

    None where there is no home.
    """
    given = os.environ.get(FOLDER)
    if given:
        return Path(given).expanduser().absolute()
    home = _home()
    if sys.platform == "darwin":
        return home and home / "Library" / "Caches" / "symdiff"
    base = Path(os.environ.get("XDG_CACHE_HOME", ""))
    # A relative one is to be ignored, as the XDG Base Directory Specification says.
    if base.is_absolute():
        return base / "symdiff"
    return home and home / ".cache" / "symdiff"


def _home() -> Path | None:
    given = os.environ.get("HOME")
    if given is not None and not os.path.isabs(given):  # which Path.home takes as it is
        import pwd

        with suppress(KeyError):
            return Path(pwd.getpwuid(os.getuid()).pw_dir)
        return None
    try:
        return Path.home()
    except RuntimeError:
        return None


@contextmanager
def opened() -> Iterator[Path | None]:
    """The folder, made if there is none, by a path that stays its own while this is entered.

    None where the usual place cannot be made or read: nothing is kept.  Raises OSError where that
    of the variable cannot, and PermissionError where others can write into either.
    """
    try:
        path = folder()
        if path is not None:
            _make(path)
            os.scandir(path).close()  # which says if it cannot be read
    except (OSError, RuntimeError) as error:  # RuntimeError: ~ of a user that there is not
        given = os.environ.get(FOLDER)
        if given:
            reason = getattr(error, "strerror", None) or error
            kind = type(error) if isinstance(error, OSError) else OSError
            raise kind(
                f"{FOLDER} is {given!r}, which is not a folder that can be made and read: {reason}"
                "; name another folder, or unset the variable"
            ) from error
        path = None
    if path is None:
        yield None
        return
    with entered(path) as inside:
        yield inside


def _make(path: Path) -> None:
    """Make a folder and its parents, all of them this user's alone."""
    try:
        path.mkdir(mode=0o700)
    except FileNotFoundError:
        if path.parent == path:
            raise
        _make(path.parent)
        path.mkdir(mode=0o700, exist_ok=True)
    except OSError:
        if not path.is_dir():
            raise


@contextmanager
def entered(path: Path) -> Iterator[Path]:
    """A folder of this user's alone, by a path that stays its own.

    Raises PermissionError where others can write into it.
    """
    if not hasattr(os, "getuid"):
        yield path
        return
    _refuse_foreign_link(path)
    number = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        known = os.fstat(number)
        if not _is_own(known) or known.st_mode & _OTHERS:
            raise _refusal(f"{path} belongs to another user, or others can write into it", path)
        inside = Path(_DESCRIPTORS, str(number))
        if not _is_same(inside, known):
            inside = path.resolve()
            _check_parents(inside)
            if not _is_same(inside, known):
                raise _refusal(f"{path} was changed while it was opened", path)
        yield inside
    finally:
        os.close(number)


def _refusal(reason: str, path: Path) -> PermissionError:
    return PermissionError(
        f'{reason}: compiled code is not run from there; "chmod go-w {path}" where it is yours, or '
        f"name another folder in {FOLDER}"
    )


def _refuse_foreign_link(path: Path) -> None:
    known = path.lstat()
    if stat.S_ISLNK(known.st_mode) and known.st_uid not in (0, os.getuid()):
        raise _refusal(f"{path} is a link of another user", path)


def _is_own(known: os.stat_result) -> bool:
    return not hasattr(os, "getuid") or known.st_uid == os.getuid()


def _is_same(path: Path, known: os.stat_result) -> bool:
    try:
        return os.path.samestat(path.stat(), known)
    except OSError:
        return False


def _check_parents(path: Path) -> None:
    """Refuse a folder that others can rename, since its path is all that there is."""
    for parent in path.parents:
        known = parent.stat()
        writable = known.st_mode & _OTHERS and not known.st_mode & stat.S_ISVTX
        if writable or known.st_uid not in (0, os.getuid()):
            raise _refusal(f"{parent} lets others rename what is in it", parent)


@contextmanager
def private(parent: Path | None) -> Iterator[Path]:
    """A new folder, in ``parent`` or among the system's temporary ones, which is removed behind."""
    prefix = _IN_TEMPORARY if parent is None else MAKING
    if parent is None:
        parent = Path(tempfile.gettempdir())
    _remove_abandoned(parent, prefix)
    # No TemporaryDirectory: a child that is forked meanwhile would remove it as well, when it ends.
    made = Path(tempfile.mkdtemp(prefix=prefix, dir=parent))
    try:
        with entered(made) as inside:
            yield inside
    finally:
        _remove(made)


# Files --------------------------------------------------------------------------------------------


def digest(*parts: bytes) -> str:
    """A name for all of these."""
    found = hashlib.sha256()
    for part in parts:
        found.update(len(part).to_bytes(8, "little") + part)
    return found.hexdigest()


def whole(path: Path) -> bytes | None:
    """What was written here to a file; None for one that is not of this user, or is damaged."""
    # What is not a file is not waited for, and no link is followed.
    flags = sum(getattr(os, f"O_{x}", 0) for x in ("NONBLOCK", "NOFOLLOW", "CLOEXEC", "BINARY"))
    try:
        number = os.open(path, os.O_RDONLY | flags)
    except OSError:
        return None
    try:
        known = os.fstat(number)
        if not stat.S_ISREG(known.st_mode) or not _is_own(known):
            return None
        with open(number, "rb", closefd=False) as file:
            data = file.read()
        if time.time() - known.st_mtime > _DAY:
            with suppress(OSError):  # a disk that is only read
                os.utime(path)
    except OSError:
        return None
    finally:
        os.close(number)
    head, mark, tail = data.rpartition(_MAGIC)
    return head if mark and tail == digest(head).encode() else None


def keep(path: Path, data: bytes) -> None:
    """Write a file with its digest, beside its place, and put it there at once."""
    number, beside = tempfile.mkstemp(prefix=MAKING, dir=path.parent)
    try:
        with open(number, "wb") as file:
            file.write(data + _MAGIC + digest(data).encode())
        Path(beside).replace(path)
    except BaseException:
        Path(beside).unlink(missing_ok=True)
        raise


def sweep(place: Path) -> None:
    """Remove the libraries that were not used for longest, where there are very many."""
    names = [name for name in os.listdir(place) if name.endswith(".so")]
    if len(names) > _MOST:
        for path in sorted([place / x for x in names], key=_last_use)[: len(names) - _MOST // 2]:
            _remove(path)


def _last_use(path: Path) -> float:
    try:
        return path.lstat().st_mtime
    except OSError:  # another process removed it
        return 0.0


def _remove_abandoned(place: Path, prefix: str) -> None:
    """Remove what a process of this user left here that ended while it wrote."""
    for name in os.listdir(place):
        if not name.startswith(prefix):
            continue
        with suppress(OSError):  # another process removed it
            path = place / name
            known = path.lstat()
            if _is_own(known) and time.time() - known.st_mtime > _ABANDONED:
                _remove(path)


def _remove(path: Path) -> None:
    with suppress(OSError):  # another process does so, too
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()
