"""The compiler that is there, what it made and is kept, and the texts that it is given."""

import ctypes
import errno
import os
import pickle
import re
import stat
import subprocess
import sys
import threading
from contextlib import ExitStack
from pathlib import Path
from unittest.mock import Mock, patch
from weakref import WeakValueDictionary

import numpy as np
import pytest
from hypothesis import assume, given, reject
from hypothesis import strategies as st

import numeric as nm
import symdiff as sd
from numeric.lowering import programs
from numeric.lowering.native import cache, kernels, libraries
from numeric.lowering.native import compiler as native
from numeric.lowering.native.loops import STATEMENTS
from numeric.lowering.passes import rows
from tests.support.budget import sample

ROOT = Path(__file__).parents[2]
TEXT = "int answer(void) { return 42; }"
OTHER = "int answer(void) { return 43; }"


def answer(text=TEXT):
    return libraries.library(text).answer()


def kept(folder):
    return sorted(path.name for path in folder.iterdir())


def in_a_process(text, **changed):
    """What a program prints in a process of its own, and its complaints."""
    surroundings = {**os.environ, "PYTHONPATH": str(ROOT), **changed}
    done = subprocess.run(
        [sys.executable, "-c", text], env=surroundings, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout, done.stderr


# What is kept -------------------------------------------------------------------------------------


def test_a_library_is_made_once(place, monkeypatch):
    assert answer() == 42
    (name,) = kept(place)
    assert name.endswith(".so")
    assert stat.S_IMODE(place.stat().st_mode) == 0o700
    monkeypatch.setattr(libraries, "_LOADED", WeakValueDictionary())
    monkeypatch.setattr(native, "run", None)  # nothing is compiled again
    assert answer() == 42


def swapped(data):
    middle = len(data) // 2
    return data[:middle] + bytes([data[middle] ^ 1]) + data[middle + 1 :]


DAMAGE = {
    "empty": lambda data: b"",
    "truncated": lambda data: data[: len(data) // 2],
    "without its end": lambda data: data[:-1],
    "one bit": swapped,
    "longer": lambda data: data + b"x",
    "of somebody else": lambda data: b"int main(void) {}",
    "its digest alone": lambda data: data[data.rindex(cache._MAGIC) :],
}


@pytest.mark.slow
@pytest.mark.parametrize("damage", DAMAGE)
def test_what_is_damaged_is_made_again(damage, place, tmp_path, monkeypatch):
    answer()
    (name,) = kept(place)
    data = (place / name).read_bytes()
    # In another folder: a file that is loaded is not read again by that name.
    other = tmp_path / "other"
    other.mkdir()
    (other / name).write_bytes(DAMAGE[damage](data))
    monkeypatch.setenv(cache.FOLDER, str(other))
    monkeypatch.setattr(libraries, "_LOADED", WeakValueDictionary())
    assert cache.whole(other / name) is None
    assert answer() == 42
    assert cache.whole(other / name) is not None
    assert kept(other) == [name]


def test_what_is_no_library_is_made_again(place, tmp_path, monkeypatch):
    """Whole, but of another system, or a folder, which stays: it is of somebody else."""
    answer()
    (name,) = kept(place)
    for number, put in enumerate((lambda p: cache.keep(p, b"of another system"), Path.mkdir)):
        other = tmp_path / str(number)
        other.mkdir()
        put(other / name)
        monkeypatch.setenv(cache.FOLDER, str(other))
        monkeypatch.setattr(libraries, "_LOADED", WeakValueDictionary())
        assert answer() == 42
        assert kept(other) == [name]


def test_files_of_others_are_not_run(place, monkeypatch):
    answer()
    (name,) = kept(place)
    assert cache.whole(place / name) is not None
    monkeypatch.setattr(os, "getuid", lambda: place.stat().st_uid + 1)
    assert cache.whole(place / name) is None


@pytest.mark.slow
def test_processes_write_at_once(tmp_path):
    """Two find out about the compiler and make one library: each has it, and one is kept."""
    text = (
        "import sys; from numeric.lowering.native import libraries as c; c.compiler();"
        f"sys.stdin.read(); print(c.library({TEXT!r}).answer())"
    )
    surroundings = {**os.environ, "PYTHONPATH": str(ROOT), cache.FOLDER: str(tmp_path / "kept")}
    pipe = subprocess.PIPE
    started = [
        subprocess.Popen(
            [sys.executable, "-c", text], env=surroundings, stdin=pipe, stdout=pipe, text=True
        )
        for _ in range(2)
    ]
    for process in started:  # they wait for the end of what they read
        process.stdin.close()
    for process in started:
        with process:
            assert process.stdout.read() == "42\n"
    names = kept(tmp_path / "kept")
    assert sorted(name.rpartition(".")[2] for name in names) == ["json", "so"]


def test_what_others_can_write_is_not_run(place):
    x = sd.symbol("x")
    for mode in (0o770, 0o707, 0o702, 0o720):
        place.mkdir(exist_ok=True)
        place.chmod(mode)
        with pytest.raises(PermissionError, match="others can write into it"):
            libraries.library(TEXT)
        native.compiler.cache_clear()
        with pytest.raises(PermissionError, match="others can write into it"):
            nm.lower(x, [x], backend="native")
    place.chmod(0o755)
    assert answer() == 42


def test_a_folder_of_somebody_else_is_refused(place, monkeypatch):
    place.mkdir()
    owner = place.stat().st_uid
    monkeypatch.setattr(os, "getuid", lambda: owner + 1)
    with pytest.raises(PermissionError, match="belongs to another user"), cache.opened():
        pass


def test_where_things_are_kept(tmp_path, monkeypatch):
    monkeypatch.delenv(cache.FOLDER, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(sys, "platform", "linux")
    assert cache.folder() == tmp_path / ".cache" / "symdiff"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    assert cache.folder() == tmp_path / ".cache" / "symdiff"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache.folder() == tmp_path / "xdg" / "symdiff"
    monkeypatch.setattr(sys, "platform", "darwin")
    assert cache.folder() == tmp_path / "Library" / "Caches" / "symdiff"
    monkeypatch.setenv(cache.FOLDER, "-mine")
    assert cache.folder() == tmp_path / "-mine"


def test_without_a_place_nothing_is_kept(place, tmp_path, monkeypatch):
    """No home, or a disk that is full or only read: what is made is loaded all the same."""
    file = tmp_path / "file"
    file.write_text("")
    monkeypatch.setenv(cache.FOLDER, str(file / "kept"))
    with pytest.raises(NotADirectoryError, match="kept"):  # who names a folder wants that one
        answer()
    monkeypatch.delenv(cache.FOLDER)
    monkeypatch.setenv("XDG_CACHE_HOME", str(file))
    monkeypatch.setattr(sys, "platform", "linux")
    with cache.opened() as nowhere:
        assert nowhere is None
    assert answer() == 42
    monkeypatch.setenv(cache.FOLDER, str(place))

    def full(*_, **__):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(libraries, "_LOADED", WeakValueDictionary())
    with patch.object(cache, "keep", full):
        assert answer() == 42
    assert kept(place) == []
    monkeypatch.setattr(libraries, "_LOADED", WeakValueDictionary())
    made = cache.tempfile.mkdtemp
    only_read = lambda **options: (  # noqa: E731
        full() if options["prefix"] == cache.MAKING else made(**options)
    )
    with patch.object(cache.tempfile, "mkdtemp", only_read):
        assert answer() == 42
    assert kept(place) != []


def test_what_is_half_written_is_taken_away(place):
    place.mkdir()
    with patch.object(Path, "replace", side_effect=OSError), pytest.raises(OSError):  # noqa: PT011
        cache.keep(place / "name", b"data")
    assert kept(place) == []


def test_what_a_process_left_is_removed(place, tmp_path):
    """One that ended while it wrote; what others are making stays, and so does what links name."""
    for folder in ("making-old", "making-new", "another-old"):
        (place / folder).mkdir(parents=True)
        (place / folder / "kernel.c").write_text("")
    for file in ("making-file", "making-new-file", "another"):
        (place / file).write_text("")
    (tmp_path / "elsewhere").mkdir()
    (place / "making-link").symlink_to(tmp_path / "elsewhere")
    for path in place.iterdir():
        if "new" not in path.name:
            os.utime(path, (0, 0), follow_symlinks=False)
    assert answer() == 42
    found = [name for name in kept(place) if not name.endswith(".so")]
    assert found == ["another", "another-old", "making-new", "making-new-file"]
    assert (tmp_path / "elsewhere").exists()


def test_what_another_process_removes_is_no_error(place):
    (place / "making-old").mkdir(parents=True)
    os.utime(place / "making-old", (0, 0))
    with patch.object(cache, "shutil", Mock(rmtree=Mock(side_effect=FileNotFoundError))):
        assert answer() == 42


def test_libraries_are_named_after_all_they_depend_on(place, monkeypatch):
    known = native.compiler()
    names = []

    def named(place, key, *_):
        names.append(key)
        return Mock()

    monkeypatch.setattr(libraries, "_loaded", named)
    compilers = [
        known,
        known._replace(version="another"),
        known._replace(processor="another"),
        known._replace(flags=(*known.flags, "-O2")),
        known._replace(command=(*known.command, "-Dx")),
    ]
    for one in compilers:
        monkeypatch.setattr(libraries, "compiler", lambda one=one: one)
        libraries.library(TEXT)
    monkeypatch.setattr(libraries, "compiler", lambda: known)
    libraries.library(OTHER)
    libraries.library(TEXT, ("-O1",))
    libraries.library(TEXT)
    assert names[-1] == names[0] or len(names) == 7  # the first is known by then
    assert len(set(names)) == 7


def test_a_processor_is_told_by_its_flags_and_its_library():
    said = native._processor()
    flags = Path("/proc/cpuinfo").read_text().split("\n\n")[0]
    (line,) = [x for x in flags.splitlines() if x.startswith(("flags", "Features"))]
    assert line in said
    assert os.confstr("CS_GNU_LIBC_VERSION") in said
    assert said == native._processor()
    assert len(said.splitlines()) < 10  # of one processor, however many there are


# Compilers ----------------------------------------------------------------------------------------


def script(folder, body):
    """A program that is called like a compiler."""
    path = folder / "some cc"
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    return f"'{path}' -DX='; touch {folder}/of-a-shell'"


COMPILERS = {
    "none": None,
    "no words": "'",
    "fails": "exit 1",
    "says nothing": "exit 0",
    "no text": "printf '\\377\\376'; exit 0",
    "makes nothing": "echo cc 1",
    "makes no library": 'echo cc 1; for x; do case $x in *.so) echo no > "$x";; esac; done',
    "hangs": "sleep 600",
    "hangs when it compiles": '[ "$2" = --version ] && echo cc 1 || sleep 600',
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", COMPILERS)
def test_a_compiler_that_does_not_work_is_none(kind, tmp_path, place, nothing_found, monkeypatch):
    body = COMPILERS[kind]
    given = "/nonexistent" if body is None else body if body == "'" else script(tmp_path, body)
    monkeypatch.setenv("CC", given)
    monkeypatch.setattr(native, "_SHORT", 0.2 if "hangs" in kind else 20)
    with pytest.raises(native.NoCompiler) as said:
        native.compiler()
    assert "install" in str(said.value)
    assert given in str(said.value)
    assert not (tmp_path / "of-a-shell").exists()
    x = sd.symbol("x")
    with pytest.raises(RuntimeError, match="needs a C compiler"):
        nm.lower(x, [x], backend="native")


def test_what_a_compiler_complains_of_is_said(place):
    with pytest.raises(native.NoCompiler, match="nonsense"):
        libraries.library("nonsense")
    assert kept(place) == []


def test_words_are_no_commands_of_a_shell(tmp_path, nothing_found, monkeypatch):
    """Neither those of CC, nor the name of the folder."""
    monkeypatch.setenv("CC", "cc '-DX=; touch of-a-shell'")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(cache.FOLDER, "-o a;touch of-a-shell;$(touch of-a-shell)\n\"ü'")
    assert answer() == 42
    assert kept(tmp_path) == [os.environ[cache.FOLDER]]


def test_another_compiler_of_that_name_is_asked_again(tmp_path, place, nothing_found, monkeypatch):
    found = native.shutil.which("cc") or native.shutil.which("gcc")
    real = f"exec '{found}' \"$@\""
    monkeypatch.setenv("CC", script(tmp_path, f"[ $2 = --version ] && echo one || {real}"))
    assert native.compiler().version == "one"
    native.compiler.cache_clear()
    with patch.object(native, "run", None):
        assert native.compiler().version == "one"
    native.compiler.cache_clear()
    script(tmp_path, f"[ $2 = --version ] && echo another one || {real}")
    assert native.compiler().version == "another one"


def test_a_compiler_is_asked_again_where_other_functions_are_wanted(
    place, nothing_found, monkeypatch
):
    """What was found out of one is kept, and says nothing of functions that came later."""
    before = native.compiler().vector
    native.compiler.cache_clear()
    monkeypatch.setattr(native, "VECTOR", {"sin": 1})
    assert native.compiler().vector == before & {"sin", "sinf"}


def test_what_registers_hold_is_kept_and_asked_again_when_asked_otherwise(
    place, nothing_found, monkeypatch
):
    """A note of one that asked for something else says nothing of it."""
    found = native.compiler()
    if "-march=native" in found.flags and sys.platform == "linux":
        assert found.wide == (" avx512f " in native._processor())
    native.compiler.cache_clear()
    with patch.object(native, "run", None):
        assert native.compiler() == found  # read, and nothing is compiled
    for text, wide in (("#error", False), (TEXT, True)):
        native.compiler.cache_clear()
        monkeypatch.setattr(native, "_WIDE", text)
        assert native.compiler().wide is wide
    assert len(kept(place)) == 3


def test_without_vector_functions_code_runs(place, nothing_found, monkeypatch):
    """Other C libraries, and other compilers, have none; what runs says so."""
    monkeypatch.setattr(native, "_vector", lambda *_: frozenset())
    x = sd.symbol("x")
    F = nm.lower(sd.exp(x) + sd.sin(x) * sd.log1p(x * x), [x], backend="native")
    points = np.linspace(-3, 3, 1000)
    with texts() as seen:
        np.testing.assert_allclose(
            F(points), np.exp(points) + np.sin(points) * np.log1p(points**2), rtol=1e-14
        )
    assert seen
    assert all(") SIMD;" not in text for text in seen)
    assert "no vector functions" in F.explain()


def test_the_vector_functions_that_are_there_are_found():
    """Code that calls one which is not there is not loaded, and one that is there is used."""
    known = native.compiler()
    if not known.vector:
        pytest.skip("the C library has none")
    flags = (*known.flags, "-O3")
    assert not native._links(
        known.command, flags, native._probe("exp", "double").replace("exp", "no")
    )
    assert {"exp", "expf"} <= known.vector


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_sine_and_a_cosine_of_one_argument_are_vector_functions(dtype, place):
    """Compilers make one call of both, which takes one element at a time."""
    if not native.compiler().vector:
        pytest.skip("the C library has none")
    x, w = sd.symbol("x", "n"), sd.symbol("w", "n")
    F = nm.lower(sd.sin(x) * w + sd.cos(x), [x, w], backend="native")
    F(np.linspace(0, 1, 1000, dtype=dtype), np.ones(1000, dtype))
    (name,) = kept(place)
    called = set(re.findall(rb"\b\w*(?:sin|cos)\w*\b", (place / name).read_bytes()))
    assert len(called) == 2
    assert all(one.startswith(b"_ZGV") for one in called)


WARNED = """
import warnings
import numpy as np, numeric as nm, symdiff as sd
x = sd.symbol("x")
with warnings.catch_warnings(record=True) as seen:
    warnings.simplefilter("always")
    F = nm.lower(sd.exp(x), [x], backend="auto")
    nm.lower(sd.sin(x), [x], backend="auto")
(one,) = seen
print(one.category.__name__, one.filename, one.lineno)
print(np.array_equal(F(np.linspace(0, 1, 1000)), np.exp(np.linspace(0, 1, 1000))))
print("machine code" in F.explain())
try:
    nm.lower(sd.exp(x), [x], backend="native")
except RuntimeError as error:
    print(error)
"""


def test_without_a_compiler(tmp_path):
    """Nothing on the path: "auto" is NumPy's, which it says once, at the line that asked for it."""
    said, _ = in_a_process(WARNED, PATH=str(tmp_path), CC="")
    warned, equal, coded, error = said.splitlines()
    assert warned == "RuntimeWarning <string> 7"
    assert equal == "True"
    assert coded == "False"
    assert "tried cc, gcc, clang" in error


# Texts --------------------------------------------------------------------------------------------


class texts(ExitStack):  # noqa: N801  # it is used as a function
    """The texts that are compiled, or are known to be."""

    def __enter__(self):
        super().__enter__()
        seen = []

        def recorded(text, *flags):
            seen.append(text)
            return libraries.library(text, *flags)

        self.enter_context(patch.object(kernels, "library", recorded))
        self.enter_context(patch.object(rows, "_LEAST", 1))
        self.enter_context(patch.object(programs, "NATIVE_LEAST", 1))
        return seen


def of_names(x, w, n):
    """The texts of one program over these names."""
    X, W, point = sd.symbol(x, (n, 2)), sd.symbol(w, 2), sd.symbol(x)
    with texts() as seen:
        F = nm.lower(sd.sum(sd.tanh(X @ W) * sd.exp(X @ W) / sd.sum(X)), [X, W], backend="native")
        F.value_and_grad(np.ones((70, 2)), np.ones(2))
        G = nm.lower(sd.tanh(point) * point, [point], backend="native")
        G(np.ones(70))
    return seen


def words(text):
    """Those of a text, up to numbers in them: the order of factors, and so these, may differ."""
    return set(re.findall(r"[^\W\d]\w*", re.sub(r"\d+", "0", text)))


WORDS = ["real", "int", "system", "LANES", "rows", "m_exp", "f_tanh", "_0", "v1", "i0", "inf"]
# Letters of several scripts, with and without case, of one byte to four.
LETTERS = "aZenéßøĳΔαλжЩאبकกあ漢한ꙗ𝐱𝛼𐐀"
NAMES = st.one_of(
    st.sampled_from(WORDS),
    st.builds(str.__add__, st.sampled_from(LETTERS), st.text(LETTERS + "_0123456789", max_size=7)),
)


@pytest.mark.slow
@sample(30)
@given(NAMES, NAMES, NAMES)
def test_names_are_not_in_the_text(x, w, n):
    """Of symbols and of lengths: the words of the text are the same whatever they are."""
    assume(len({x, w, n}) == 3)
    try:
        found = of_names(x, w, n)
    except ValueError:  # words of Python are not names
        reject()
    plain = of_names("x", "w", "n")
    assert plain
    assert list(map(words, found)) == list(map(words, plain))
    assert all(text.isascii() for text in found)


@pytest.mark.parametrize("name", ['"); system("x', "a\nb", "*/ int", "\x00", "a;b", "a\\\nb"])
def test_what_is_no_name_is_refused(name):
    for make in (lambda: sd.symbol(name), lambda: sd.symbol("x", (name, 2))):
        with pytest.raises(ValueError, match="name"):
            make()


def test_loops_have_a_bounded_number_of_statements():
    """Compilers take more than linear time for longer ones."""
    x = sd.symbol("x")
    y = x
    for k in range(2000):
        y = sd.sin(y) + y * (k + 0.5) if k % 3 else sd.sqrt(y * y + k)
    F = nm.lower(y, [x], backend="native")
    written = []

    class Seen(Exception):
        pass

    def seen(text, *_):
        written.append(text)
        raise Seen

    with patch.object(kernels, "library", seen), pytest.raises(Seen):
        F(np.ones(1000))
    (text,) = written
    loops = text.split("#pragma GCC ivdep")[1:]
    statements = [loop.partition("}")[0].count(";") for loop in loops]
    assert sum(statements) > 3000
    # Each value may be stored, too, and a loop has two signs of its own.
    assert max(statements) <= 2 * STATEMENTS + 2


# Functions ----------------------------------------------------------------------------------------


def example(backend="native"):
    X, w = sd.symbol("X", ("n", 2)), sd.symbol("w", 2)
    return nm.lower(sd.sum(sd.tanh(X @ w)), [X, w], backend=backend)


ARGUMENTS = np.linspace(-1, 1, 2000).reshape(1000, 2), np.array([0.5, 2.0])


def test_pickles_have_no_machine_code():
    F = example()
    with texts() as seen:
        value, gradients = F.value_and_grad(*ARGUMENTS)
    assert seen
    data = pickle.dumps(F)
    assert not any(part in data for part in (b"ELF", b".so", b"kernel", b"restrict", b"gcc"))
    with texts() as again:
        value_again, gradients_again = pickle.loads(data).value_and_grad(*ARGUMENTS)
    assert again == seen
    assert value_again == value
    assert all(map(np.array_equal, gradients, gradients_again))


def test_a_forked_child_has_what_is_loaded(place):
    """And loads more, as its parent does."""
    F = example()
    with texts():
        expected = F(*ARGUMENTS)
        child = os.fork()
        if not child:
            try:
                right = F(*ARGUMENTS) == expected and answer(OTHER) == 43
            except BaseException:
                right = False
            os._exit(0 if right else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert answer() == 42


def test_a_child_of_a_process_that_compiles_is_not_locked(place):
    """The lock of another thread is free in a child."""
    entered, leave = threading.Event(), threading.Event()
    made = native._made

    def slow(*given):
        entered.set()
        leave.wait(60)
        return made(*given)

    with patch.object(native, "_made", slow):
        thread = threading.Thread(target=answer)
        thread.start()
        entered.wait(60)
        native._made = made
        child = os.fork()
        if not child:
            os._exit(0 if answer(OTHER) == 43 else 1)
        assert os.waitpid(child, 0)[1] == 0
        leave.set()
        thread.join()


FORKED = """
import os, sys, threading
from pathlib import Path
from numeric.lowering.native import cache
entered, leave = threading.Event(), threading.Event()

def make():
    with cache.private(None):
        entered.set()
        leave.wait()

thread = threading.Thread(target=make, daemon=True)
thread.start()
entered.wait()
child = os.fork()
if not child:
    sys.exit()
assert os.waitpid(child, 0)[1] == 0
(made,) = Path(sys.argv[1]).iterdir()
leave.set()
thread.join()
assert not made.exists()
"""


@pytest.mark.slow
def test_a_forked_child_that_ends_leaves_what_its_parent_is_making(tmp_path):
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    subprocess.run([sys.executable, "-c", FORKED, tmp_path], check=True, env=environment)


def test_threads_make_one_library(place):
    made = []
    start = threading.Barrier(8)
    found = []

    def counted(*given, original=libraries._loaded):
        made.append(given)
        return original(*given)

    def run():
        start.wait()
        found.append(libraries.library(TEXT))

    with patch.object(libraries, "_loaded", counted):
        threads = [threading.Thread(target=run) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert [one.answer() for one in found] == [42] * 8
    assert len(made) == 1


def test_threads_get_the_same_bits():
    F = example()
    found = []
    with texts():
        threads = [threading.Thread(target=lambda: found.append(F(*ARGUMENTS))) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert set(found) == {F(*ARGUMENTS)}
    assert len(found) == 8


def test_functions_of_one_text_share_a_library(place):
    functions = []
    with texts() as seen:
        for k in range(50):
            x = sd.symbol(f"x{k}")
            functions.append(nm.lower(sd.tanh(x) * x, [x], backend="native"))
            functions[-1](np.ones(100))
    assert len(seen) == 50
    assert len(set(seen)) == 1
    assert len(libraries._LOADED) == 1
    assert len(kept(place)) == 1


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="descriptors are counted there")
def test_libraries_hold_no_descriptors(place, tmp_path):
    """Of thousands: 200 that are loaded have as many as none."""
    known = native.compiler()
    one = native._made(known.command, known.flags, TEXT, tmp_path, 60)
    open_ = lambda: len(list(Path("/proc/self/fd").iterdir()))  # noqa: E731
    with patch.object(native, "_made", lambda *_: one):
        loaded = [libraries.library("0")]
        before = open_()
        loaded += [libraries.library(str(k)) for k in range(1, 200)]
    assert [x.answer() for x in loaded] == [42] * 200
    assert open_() <= before
    assert len(kept(place)) == 200
    assert len({ctypes.cast(x.answer, ctypes.c_void_p).value for x in loaded}) == 200


FEW = """
import resource
from pathlib import Path
from unittest.mock import patch
import numpy as np, numeric as nm, symdiff as sd
from numeric.lowering.native import compiler as native, libraries
known, folder = native.compiler(), Path({folder!r})
one = native._made(known.command, known.flags, {text!r}, folder, 60)
resource.setrlimit(resource.RLIMIT_NOFILE, (32, 32))
with patch.object(native, "_made", lambda *_: one):
    print(sum(x.answer() for x in [libraries.library(str(k)) for k in range(200)]))
x = sd.symbol("x", "n")
functions = [nm.lower(sd.exp(x) + k % 2, x, backend="native") for k in range(200)]
print(sum(float(F(np.zeros(100))[0]) for F in functions))
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="its limits are others")
def test_descriptors_are_not_exhausted(tmp_path):
    """By 200 libraries and 200 Functions, in a process that may have 32 files open."""
    made = tmp_path / "one"
    made.mkdir()
    text = FEW.format(folder=str(made), text=TEXT)
    said, _ = in_a_process(text, **{cache.FOLDER: str(tmp_path / "kept")})
    assert said.split() == ["8400", "300.0"]


@pytest.mark.slow
def test_lowering_is_tested_without_a_compiler(tmp_path):
    """All else but machine code runs, and what tests that is skipped."""
    command = [sys.executable, "-m", "pytest", "-q", "-n", "0", "-p", "no:cacheprovider"]
    pages = ["README.md", "docs/tour.md"]
    tests = ["tests/numeric/test_passes.py", "tests/numeric/test_native.py", *pages]
    done = subprocess.run(
        [*command, "-W", "ignore:backend=:RuntimeWarning", *tests],
        env={**os.environ, "PATH": str(tmp_path), "CC": ""},
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    assert "there is no C compiler" in done.stdout
