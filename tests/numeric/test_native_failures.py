"""Compilers, disks and libraries that fail: "auto" is NumPy's then, and "native" says why."""

import itertools
import os
import sys
import threading
import tracemalloc
import warnings

import numpy as np
import pytest

import numeric as nm
import symdiff as sd
from numeric.lowering import programs
from numeric.lowering.native import compiler, libraries
from numeric.lowering.passes import rows
from tests.numeric.test_native_compiler import in_a_process

# The fault of a compiler that makes the shortest of texts, so that it is taken for one that works.
FAULTS = {
    "fails": "echo no space left >&2; exit 1",
    "is killed": "kill -9 $$",
    "hangs": "sleep 600",
    "never stops complaining": "yes complaint >&2",
    "makes no library": 'for x; do case $x in *.so) echo nonsense > "$x";; esac; done',
    "makes nothing": "exit 0",
}
REASONS = {
    "fails": "no space left",
    "is killed": "signal 9",
    "hangs": "did not end",
    "never stops complaining": "did not end",
    "makes no library": "invalid ELF header|file too short",
    "makes nothing": "made nothing",
}


@pytest.fixture
def small(monkeypatch):
    """Few elements are worth a kernel, too."""
    monkeypatch.setattr(rows, "_LEAST", 1)
    monkeypatch.setattr(programs, "NATIVE_LEAST", 1)


@pytest.fixture
def faulty(tmp_path, monkeypatch, place, small):
    """Write the system's compiler, but for a fault at what is not a short text."""
    path, known = tmp_path / "faulty", compiler.compiler()
    real = known.command[0]

    def write(fault):
        short = "grep -q 'works' kernel.c"
        path.write_text(f'#!/bin/sh\n{short} && exec {real} "$@"\n{fault}\n')
        path.chmod(0o755)
        endless = fault in (FAULTS["hangs"], FAULTS["never stops complaining"])
        monkeypatch.setattr(compiler, "SECONDS", 0.5 if endless else 60)

    changed = known._replace(command=(str(path), *known.command[1:]))
    for module in (libraries, compiler):
        monkeypatch.setattr(module, "compiler", lambda: changed)
    monkeypatch.setattr(scan, "factor", next(FACTORS))
    return write


def kernel(backend):
    x = sd.symbol("x", "n")
    return nm.lower(sd.sum(sd.sin(x) * x), x, backend=backend), (np.linspace(0, 1, 50),)


def points(backend):
    x = sd.symbol("x")
    return nm.lower(sd.sin(x) * x, x, backend=backend), (np.linspace(0, 1, 50),)


def scalars(backend):
    x = sd.symbol("x")
    return nm.lower([sd.sin(x + k) * x for k in range(60)], [x], backend=backend), (0.5,)


def scan(backend):
    """One that no test had: what is known of a loop lives as long as one that is equal."""
    x = sd.symbol("x")
    loop = sd.fori_loop(0, 9, lambda _, c: sd.sin(c) * scan.factor, x)
    return nm.lower(loop, [x], backend=backend), (0.5,)


FACTORS = itertools.count(1.5, 2.0**-10)
scan.factor = 1.0
FUNCTIONS = [kernel, points, scalars, scan]


def differ(found, expected):
    return not np.allclose(found, expected, rtol=1e-14, atol=0)


@pytest.mark.slow
@pytest.mark.parametrize("make", FUNCTIONS)
@pytest.mark.parametrize("fault", FAULTS)
def test_auto_is_numpys_where_a_kernel_cannot_be_had(fault, make, faulty, monkeypatch):
    """It says why, once, and does not try again, in other Functions of that formula either."""
    faulty(FAULTS[fault])
    F, given = make("auto")
    expected, *_ = make("numpy")
    with pytest.warns(RuntimeWarning, match=REASONS[fault]) as seen:
        found = F(*given)
    assert "backend='auto' is 'numpy'" in str(seen[0].message)
    assert seen[0].filename == __file__
    assert len(seen) == 1
    assert not differ(found, expected(*given))
    monkeypatch.setattr(compiler, "_made", None)  # nothing is compiled again
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        again, _ = make("auto")
        assert not differ(F(*given), expected(*given))
        assert not differ(again(*given), expected(*given))


@pytest.mark.slow
@pytest.mark.parametrize("make", FUNCTIONS)
@pytest.mark.parametrize("fault", ["fails", "hangs"])
def test_native_says_why_a_kernel_cannot_be_had(fault, make, faulty):
    """And tries again when it is called again: whoever asked for it may have mended it."""
    faulty(FAULTS[fault])
    F, given = make("native")
    for _ in range(2):
        with pytest.raises(compiler.NoCompiler, match=REASONS[fault]) as said:
            F(*given)
        assert 'backend="numpy"' in str(said.value)
    faulty('exec cc "$@"')
    assert not differ(F(*given), make("numpy")[0](*given))


def test_what_stops_one_kernel_stops_no_other(faulty):
    faulty("grep -q 'sin' kernel.c && exit 1; exec cc \"$@\"")
    F, given = kernel("auto")
    with pytest.warns(RuntimeWarning, match="for a kernel"):
        F(*given)
    x = sd.symbol("x", "n")
    nm.lower(sd.sum(sd.exp(x) * x), x, backend="auto")(*given)
    assert len(libraries.FAILURES.texts) == 1
    assert libraries.FAILURES.reason is None


def test_the_lock_of_libraries_is_free_while_a_warning_is_shown(faulty, monkeypatch):
    faulty("exit 1")
    F, given = kernel("auto")
    free = []

    def shown(*_):
        def take():
            free.append(libraries._LOCK.acquire(timeout=1))
            libraries._LOCK.release() if free[-1] else None

        other = threading.Thread(target=take)
        other.start()
        other.join()

    monkeypatch.setattr(libraries, "_warn", shown)
    F(*given)
    assert free == [True]


def test_what_stops_all_kernels_is_tried_once(faulty, tmp_path, monkeypatch):
    """A compiler that was removed, or a disk that became full."""
    faulty("exit 1")
    F, given = kernel("auto")
    faulty("")
    (tmp_path / "faulty").write_text("#!/bin/sh\necho gone for good >&2; exit 1\n")
    with pytest.warns(RuntimeWarning, match=r"from here on.*\s.*gone for good"):
        F(*given)
    monkeypatch.setattr(compiler, "_made", None)
    x = sd.symbol("x", "n")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        G = nm.lower(sd.sum(sd.exp(x) * x), x, backend="auto")
        assert not differ(G(*given), np.sum(np.exp(given[0]) * given[0]))
    assert "gone for good" in G.explain()


def test_derivatives_fall_back_too(faulty):
    faulty("exit 1")
    F, given = kernel("auto")
    expected = kernel("numpy")[0].value_and_grad(*given)
    with pytest.warns(RuntimeWarning):
        found = F.value_and_grad(*given)
    assert not any(map(differ, found, expected))
    _, residuals = F.forward(*given)
    assert not differ(F.backward(residuals, 1.0)[0], expected[1])


def test_scalars_that_math_refuses_fall_back_too(faulty):
    """Where ``math`` raises, NumPy has an answer; zeros are floats, as in machine code."""
    faulty("exit 1")
    x = sd.symbol("x")
    outputs = [sd.exp(x + k) for k in range(110)] + [sd.where(x > 0, x, 0)]
    F = nm.lower(outputs, [x], backend="auto")
    expected = nm.lower(outputs, [x])
    with pytest.warns(RuntimeWarning):
        F(0.5)
    for value in (0.5, -1.0, 700.0, -0.0, np.inf, np.nan):
        found = F(value)
        np.testing.assert_array_equal(found, expected(value))
        assert {type(v) for v in found} == {float}


def test_where_nothing_is_run_from_the_folder_a_copy_is(place, monkeypatch):
    """As on a file system that is mounted so; it is compiled once for all processes."""

    class Library(libraries.Library):
        def __init__(self, path):
            if path.parent.resolve() == place:
                raise OSError("failed to map segment from shared object")
            super().__init__(path)

    monkeypatch.setattr(libraries, "Library", Library)
    assert libraries.library("int answer(void) { return 42; }").answer() == 42
    assert len(list(place.glob("*.so"))) == 1
    monkeypatch.setattr(compiler, "_made", None)
    assert libraries.library("int answer(void) { return 42; }").answer() == 42


def test_where_nothing_is_run_at_all_auto_is_numpys(place, small, monkeypatch):
    class Library(libraries.Library):
        def __init__(self, path):
            raise OSError("failed to map segment from shared object")

    monkeypatch.setattr(libraries, "Library", Library)
    F, given = kernel("native")
    with pytest.raises(compiler.NoCompiler, match=r"failed to map.*SYMDIFF_CACHE_DIR"):
        F(*given)
    F, given = kernel("auto")
    with pytest.warns(RuntimeWarning, match="failed to map"):
        found = F(*given)
    assert not differ(found, kernel("numpy")[0](*given))


# Compilers that do not work -----------------------------------------------------------------------


def test_the_reason_is_told(tmp_path, place, nothing_found, monkeypatch):
    """For each that was tried."""
    for name, text in (("cc", "cannot find ld"), ("gcc", "cannot execute cc1")):
        path = tmp_path / name
        path.write_text(
            f"#!/bin/sh\n[ $1 = --version ] && echo 1 || {{ echo {text} >&2; exit 1; }}\n"
        )
        path.chmod(0o755)
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin:/usr/bin")
    monkeypatch.setattr(compiler.shutil, "which", lambda name: _there(tmp_path / name))
    with pytest.raises(compiler.NoCompiler) as said:
        compiler.compiler()
    for text in ("cc: ", "cannot find ld", "gcc: ", "cannot execute cc1", "clang is not there"):
        assert text in str(said.value)


def _there(path):
    return str(path) if path.exists() else None


ENDS = """
import warnings
import numpy as np, numeric as nm, symdiff as sd
x = sd.symbol("x", "n")
with warnings.catch_warnings(record=True) as seen:
    warnings.simplefilter("always")
    F = nm.lower(sd.sum(sd.exp(x)), x, backend="auto")
(one,) = seen
print(F(np.zeros(1000)), "'auto' is 'numpy'" in str(one.message))
"""
TRUNCATED = """#!/bin/sh
cc "$@" || exit
for x; do case $x in *.so) head -c 8000 "$x" > part; mv part "$x";; esac; done
"""


def test_a_library_that_would_end_this_process_is_no_library(tmp_path):
    """A sanitizer that is not loaded first ends a process; so does a part of a library."""
    (tmp_path / "cc").write_text(TRUNCATED)
    (tmp_path / "cc").chmod(0o755)
    for command in ("cc -fsanitize=address", str(tmp_path / "cc")):
        said, _ = in_a_process(ENDS, CC=command, SYMDIFF_CACHE_DIR=str(tmp_path / "kept"))
        assert said.split() == ["1000.0", "True"]


def test_a_program_that_is_no_python_is_not_started(place, nothing_found, monkeypatch):
    """As of one that contains an interpreter: libraries are loaded here then."""
    monkeypatch.setattr(sys, "executable", "/nonexistent/editor")
    assert compiler.compiler().version


def test_other_systems_have_no_machine_code(nothing_found, monkeypatch):
    monkeypatch.delattr(os, "getuid")
    with pytest.raises(compiler.NoCompiler, match="for Linux, macOS"):
        compiler.compiler()


def test_what_a_command_prints_is_bounded():
    tracemalloc.start()
    try:
        with pytest.raises(compiler.TimedOut, match="did not end"):
            compiler.run(("sh", "-c", "yes complaint >&2 & yes"), 1)
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most < 2**21


@pytest.mark.parametrize("holder", ["sleep 60 &", "setsid sleep 30 &"])
def test_who_holds_the_pipes_of_a_command_is_not_waited_for(holder):
    command = "sh", "-c", f"{holder} echo done; echo problem >&2"
    assert compiler.run(command, 25) == "done\n"


def test_the_end_of_what_is_complained_of_is_said():
    with pytest.raises(compiler.NoCompiler, match="failed with status 3") as said:
        compiler.run(
            ("sh", "-c", "yes complaint | head -c 1000000 >&2; echo at last >&2; exit 3"), 9
        )
    assert str(said.value).endswith("at last")
    assert len(str(said.value)) < 3000


@pytest.mark.slow
def test_what_an_ended_process_started_ends_too(tmp_path):
    """What it started has a pipe, whose end is read when nobody can write to it any more."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    number = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        with pytest.raises(compiler.TimedOut):
            compiler.run(("sh", "-c", f"exec 3> {pipe}; echo >&3; sleep 60 & wait"), 2)
        os.set_blocking(number, True)
        assert os.read(number, 9) == b"\n"
        assert os.read(number, 9) == b""
    finally:
        os.close(number)
