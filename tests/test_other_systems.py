"""Windows and macOS, as far as Linux can play them: what they lack is taken away before the import.

A real run on these systems is a job of the CI workflow.
"""

import subprocess
import sys
import textwrap

# What Python's standard library has on Linux and on macOS alone, or on Linux alone.
POSIX = """
import _ctypes, os, signal
for module, names in {
    os: "chown confstr fork getuid geteuid getgid killpg register_at_fork O_CLOEXEC O_DIRECTORY "
    "O_NOFOLLOW O_NONBLOCK set_blocking sched_getaffinity sched_setaffinity sysconf uname",
    signal: "SIGKILL SIGALRM setitimer pthread_kill pthread_sigmask",
    _ctypes: "dlopen dlsym dlclose",
}.items():
    for name in names.split():
        if hasattr(module, name):
            delattr(module, name)
for name in "fcntl grp pwd resource termios".split():
    sys.modules[name] = None
"""
LINUX = """
import os
for name in "sched_getaffinity sched_setaffinity sched_getcpu".split():
    if hasattr(os, name):
        delattr(os, name)
real_open, real_stat = os.open, os.stat
def elsewhere(function):
    def call(path, *args, **kwargs):
        if str(path).startswith("/proc"):
            raise FileNotFoundError(2, "there is no /proc", str(path))
        return function(path, *args, **kwargs)
    return call
os.open, os.stat = elsewhere(os.open), elsewhere(os.stat)
"""
# NumPy, SciPy and SymPy are loaded as they are: they have their own code for each system.
BEFORE = """
import sys, platform, subprocess, multiprocessing, shutil, tempfile, warnings, pickle
import numpy as np, scipy.special, scipy.optimize, scipy.integrate, sympy
{missing}
sys.platform = {name!r}
"""
PROGRAM = """
import symdiff as sd, numeric as nm

X, w = sd.symbol("X", ("n", 3)), sd.symbol("w", 3)
loss = sd.sum(sd.exp(-((X @ w) ** 2)))
rows, weights = np.ones((100_000, 3)) / 4, np.array([0.1, 0.2, 0.3])
expected = nm.lower(loss, (X, w)).value_and_grad(rows, weights, wrt=w)

with warnings.catch_warnings(record=True) as told:
    warnings.simplefilter("always")
    F = nm.lower(loss, (X, w), backend="auto")
    value, gradient = F.value_and_grad(rows, weights, wrt=w)
np.testing.assert_allclose(value, expected[0])
np.testing.assert_allclose(gradient, expected[1])
warned = [str(one.message) for one in told if one.category is RuntimeWarning]

again = pickle.loads(pickle.dumps(F))
np.testing.assert_allclose(again(rows, weights), value)
t = nm.tensor([1.0, 2.0], requires_grad=True)
(t * t).sum().backward()
assert t.grad.tolist() == [2.0, 4.0]
assert sd.evalf(sd.sin(sd.constant(1)), 20) != 0
assert nm.check.audit(np.sin, gradient=np.cos, inputs={"x": 0.5}).ok
"""


def run(name, missing, check):
    program = BEFORE.format(missing=missing, name=name) + PROGRAM + textwrap.dedent(check)
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr


def test_windows():
    """There is no machine code, which "auto" says once and "native" refuses."""
    run(
        "win32",
        POSIX,
        """
        assert len(warned) == 1 and "backend='auto' is 'numpy' here" in warned[0], warned
        try:
            nm.lower(loss, (X, w), backend="native").grad(rows, weights)
        except RuntimeError as error:
            assert 'use backend="numpy"' in str(error)
        else:
            raise AssertionError("machine code without a way to load it")
        """,
    )


def test_macos(tmp_path, monkeypatch):
    """Machine code is kept in the folder for caches of macOS, without paths of descriptors."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("SYMDIFF_CACHE_DIR", raising=False)
    run(
        "darwin",
        LINUX,
        """
        from pathlib import Path
        from numeric.lowering.native import cache
        kept = Path.home() / "Library" / "Caches" / "symdiff"
        assert cache.folder() == kept
        try:
            nm.lower(loss, (X, w), backend="native").grad(rows, weights)
        except RuntimeError:
            from numeric.lowering.native.compiler import NoCompiler, compiler
            try:
                compiler()
            except NoCompiler:
                raise SystemExit(0)  # this machine has none
            raise
        assert not warned, warned
        assert list(kept.glob("*.so")), list(kept.iterdir())
        """,
    )
