"""The folder of libraries: what is in it is run, so nobody else may put anything there."""

import json
import os
import stat
import tempfile
from contextlib import contextmanager
from pathlib import Path

import pytest

import numeric as nm
import symdiff as sd
from numeric.lowering.native import cache, compiler, libraries

MINE = "int answer(void) { return 42; }"
OTHER = 1234
as_root = pytest.mark.skipif(
    not hasattr(os, "getuid") or os.getuid() != 0, reason="files of others are made by root alone"
)
with_descriptors = pytest.mark.skipif(
    not Path(cache._DESCRIPTORS).exists(), reason="there are no paths of descriptors"
)


def answer():
    return libraries.library(MINE).answer()


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture
def without_descriptors(monkeypatch):
    monkeypatch.setattr(cache, "_DESCRIPTORS", "/nonexistent")


# Somebody else's code -----------------------------------------------------------------------------


@pytest.fixture
def attack(place, tmp_path):
    """Put another folder in the place of that of libraries, with a library of the same name."""
    assert answer() == 42
    (library,) = place.iterdir()
    known = compiler.compiler()
    bad = compiler.made(None, known.command, known.flags, MINE.replace("42", "666"), 60)
    evil = tmp_path / "evil"
    evil.mkdir(mode=0o700)
    cache.keep(evil / library.name, bad)

    def swap():
        if evil.exists():
            place.rename(tmp_path / "away")
            evil.rename(place)

    return swap


@with_descriptors
@pytest.mark.parametrize("moment", ["before it is read", "before it is loaded"])
def test_a_folder_that_is_exchanged_is_not_used(moment, attack, place, tmp_path, monkeypatch):
    """By another user who can write to a parent, between the check and the use."""
    if moment == "before it is read":
        whole = cache.whole
        monkeypatch.setattr(cache, "whole", lambda path: (attack(), whole(path))[1])
    else:
        load = libraries.Library
        monkeypatch.setattr(libraries, "Library", lambda path: (attack(), load(path))[1])
    monkeypatch.setattr(compiler, "_made", None)
    assert answer() == 42
    assert (tmp_path / "away").exists()  # it was exchanged


@with_descriptors
def test_what_is_made_goes_to_the_folder_that_was_checked(place, tmp_path, monkeypatch):
    """And no compiler writes anywhere else."""
    made = compiler._made

    def exchanged(*given):
        place.rename(tmp_path / "away")
        place.mkdir(mode=0o777)
        place.chmod(0o777)
        return made(*given)

    monkeypatch.setattr(compiler, "_made", exchanged)
    assert answer() == 42
    assert list(place.iterdir()) == []
    assert [path.suffix for path in (tmp_path / "away").iterdir()] == [".so"]


def test_parents_are_made_for_their_user_alone(tmp_path, place, monkeypatch):
    monkeypatch.setenv(cache.FOLDER, str(tmp_path / "a" / "b" / "kept"))
    before = os.umask(0)
    try:
        assert answer() == 42
    finally:
        os.umask(before)
    for path in (tmp_path / "a", tmp_path / "a" / "b", tmp_path / "a" / "b" / "kept"):
        assert mode(path) == 0o700


@as_root
def test_folders_of_others_are_refused(place):
    place.mkdir(mode=0o700)
    os.chown(place, OTHER, -1)
    with pytest.raises(PermissionError, match="belongs to another user"):
        answer()


@as_root
def test_links_of_others_are_refused(place, tmp_path):
    """They could name any other folder of this user; his own links are his own business."""
    (tmp_path / "target").mkdir(mode=0o700)
    place.symlink_to(tmp_path / "target")
    assert answer() == 42
    os.chown(place, OTHER, -1, follow_symlinks=False)
    with pytest.raises(PermissionError, match="link of another user"), cache.opened():
        pass


@as_root
def test_files_of_others_are_made_again(place, monkeypatch):
    answer()
    (library,) = place.iterdir()
    os.chown(library, OTHER, -1)
    assert cache.whole(library) is None
    assert answer() == 42
    assert library.stat().st_uid == 0


def test_where_there_are_no_descriptors_parents_are_looked_at(
    place, tmp_path, without_descriptors, monkeypatch
):
    parent = tmp_path / "parent"
    parent.mkdir()
    monkeypatch.setenv(cache.FOLDER, str(parent / "kept"))
    for modes, is_safe in (((0o700, 0o755, 0o1777), True), ((0o777, 0o770, 0o775), False)):
        for one in modes:
            parent.chmod(one)
            if is_safe:
                assert answer() == 42
            else:
                with pytest.raises(PermissionError, match="rename") as said:
                    answer()
                assert str(parent) in str(said.value)


def test_where_there_are_no_descriptors_links_name_what_is_looked_at(
    place, tmp_path, without_descriptors
):
    for name in ("target", "inside"):
        (tmp_path / name).mkdir()
    (tmp_path / "target").chmod(0o777)
    (tmp_path / "target" / "kept").mkdir(mode=0o700)
    (tmp_path / "inside" / "link").symlink_to(tmp_path / "target" / "kept")
    with (
        pytest.raises(PermissionError, match="target lets others"),
        cache.entered(tmp_path / "inside" / "link"),
    ):
        pass


@as_root
def test_where_there_are_no_descriptors_parents_of_others_are_refused(
    place, tmp_path, without_descriptors, monkeypatch
):
    parent = tmp_path / "parent"
    parent.mkdir(mode=0o755)
    os.chown(parent, OTHER, -1)
    monkeypatch.setenv(cache.FOLDER, str(parent / "kept"))
    with pytest.raises(PermissionError, match="rename"):
        answer()


# Files --------------------------------------------------------------------------------------------


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes with names")
def test_what_is_no_file_is_not_waited_for(place, nothing_found):
    known = compiler.compiler()
    answer()
    for path in list(place.iterdir()):
        path.unlink()
        os.mkfifo(path)
        assert cache.whole(path) is None
    compiler.compiler.cache_clear()
    assert compiler.compiler() == known
    assert answer() == 42


@pytest.mark.slow
def test_notes_of_another_layout_are_made_again(place, nothing_found):
    known = compiler.compiler()
    (note,) = place.iterdir()
    wanted = cache.whole(note)
    for text in (["x", [], []], {}, None):
        cache.keep(note, json.dumps(text).encode())
        compiler.compiler.cache_clear()
        assert compiler.compiler() == known
        assert cache.whole(note) == wanted


def test_what_a_probe_left_is_removed(place, tmp_path, nothing_found, monkeypatch):
    """Texts are tried in the folder of libraries, else among temporary files, and found there."""
    made, seen = compiler._made, []

    def watched(command, flags, text, folder, seconds):
        seen.append(folder.resolve().parent)
        return made(command, flags, text, folder, seconds)

    monkeypatch.setattr(compiler, "_made", watched)
    # A text that no processor refuses: what fails in one folder is tried in the other, too.
    monkeypatch.setattr(compiler, "_WIDE", compiler._WORKS)
    compiler.compiler()
    assert set(seen) == {place}
    temporary = tmp_path / "temporary"
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    for folder in ("symdiff-making-old", "symdiff-making-new", "symdiff-old"):
        (temporary / folder).mkdir(parents=True)
        if "old" in folder:
            os.utime(temporary / folder, (0, 0))
    with cache.private(None) as inside:
        assert inside.resolve().parent == temporary
    assert {path.name for path in temporary.iterdir()} == {"symdiff-making-new", "symdiff-old"}


@as_root
def test_what_others_left_stays(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    left = tmp_path / "symdiff-making-old"
    left.mkdir()
    os.utime(left, (0, 0))
    os.chown(left, OTHER, -1)
    with cache.private(None):
        pass
    assert left.exists()


def test_there_are_not_more_libraries_than_so_many(place, monkeypatch):
    """Those that were not used for longest are removed when another one is made."""
    monkeypatch.setattr(cache, "_MOST", 4)
    place.mkdir()
    for k in range(6):
        cache.keep(place / f"{k}.so", b"a library")
        os.utime(place / f"{k}.so", (1000 * (k + 1),) * 2)
    cache.keep(place / "note.json", b"a note")
    os.utime(place / "note.json", (0, 0))
    assert cache.whole(place / "1.so") == b"a library"  # it is used now
    assert answer() == 42
    names = {path.name for path in place.iterdir()}
    assert {"1.so", "5.so", "note.json"} < names
    assert len(names) == 4


# Where it is --------------------------------------------------------------------------------------


@contextmanager
def refused(kind):
    with pytest.raises(kind) as said:
        yield
    text = str(said.value)
    assert text.startswith(f"{cache.FOLDER} is '{os.environ[cache.FOLDER]}'")
    assert "name another folder" in text


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("file", FileExistsError),
        ("file/kept", NotADirectoryError),
        ("dangling", FileExistsError),
        ("x" * 300, OSError),
        ("~no such user/kept", OSError),
    ],
)
def test_a_name_that_is_no_folder_is_named(name, kind, tmp_path, place, nothing_found, monkeypatch):
    (tmp_path / "file").write_text("")
    (tmp_path / "dangling").symlink_to(tmp_path / "nothing")
    monkeypatch.setenv(cache.FOLDER, name if name.startswith("~") else str(tmp_path / name))
    x = sd.symbol("x")
    with refused(kind):
        nm.lower(sd.exp(x), x, backend="native")
    with pytest.warns(RuntimeWarning, match=cache.FOLDER):
        F = nm.lower(sd.exp(x), x, backend="auto")
    assert F(0.0) == 1.0


def test_the_home_of_a_user_is_known(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv(cache.FOLDER, "~/kept")
    assert cache.folder() == tmp_path / "kept"
    monkeypatch.delenv(cache.FOLDER)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    for name in ("", "relative"):
        monkeypatch.setenv("HOME", name)
        found = cache.folder()
        assert found is None or (found.is_absolute() and len(found.parents) > 2)


@pytest.mark.parametrize("given", [True, False])
def test_a_folder_that_cannot_be_read(given, tmp_path, monkeypatch):
    def refuse(path, *args, **words):
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.delenv(cache.FOLDER, raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    if given:
        monkeypatch.setenv(cache.FOLDER, str(tmp_path))
    opened = os.open
    monkeypatch.setattr(os, "scandir", refuse)
    monkeypatch.setattr(
        os, "open", lambda path, *a, **k: (refuse if Path(path).is_dir() else opened)(path, *a, **k)
    )
    if not given:  # the usual place: nothing is kept
        with cache.opened() as place:
            assert place is None
        return
    with pytest.raises(PermissionError, match="name another folder"), cache.opened():
        pass
