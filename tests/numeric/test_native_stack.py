"""Machine code needs little of a thread's stack, whatever it computes."""

import subprocess

import numpy as np
import pytest

import numeric as nm
import symdiff as sd
from numeric.lowering import programs
from numeric.lowering.native import compiler, kernels, libraries, scalars, scans
from numeric.lowering.passes import rows
from tests.numeric.test_native_compiler import in_a_process
from tests.support.budget import FUZZ


def many_scalars(count, name="x"):
    x = sd.symbol(name)
    return nm.lower([sd.sin(x + k) for k in range(count)], [x], backend="native")


def long_chain(count):
    """Values that are all needed again behind all of them."""
    x = sd.symbol("x", "n")
    values = [x]
    for k in range(count):
        values.append(sd.sin(values[-1] + k) * x)
    return nm.lower(sd.sum(sd.stack([sd.sum(v * values[-1]) for v in values])), x, backend="native")


def along_rows(columns):
    """Rows that are all on the way at once: 64 KB of 36 columns."""
    X = sd.symbol("X", ("n", columns))
    return nm.lower(sd.sum(sd.softmax(sd.sin(X), axis=1) ** 2), X, backend="native")


def recurrence():
    v, M = sd.symbol("v", 16), sd.symbol("M", (16, 16))
    return nm.lower(
        sd.sum(sd.fori_loop(0, 5, lambda _, c: sd.sin(M @ c), v)), [v, M], backend="native"
    )


@pytest.fixture
def texts(monkeypatch):
    """The texts that are compiled, and their flags."""
    seen = []

    def library(text, flags, backend):
        seen.append((text, flags))
        return libraries.library(text, flags, backend)

    for module in (kernels, scans, scalars):
        monkeypatch.setattr(module, "library", library)
    monkeypatch.setattr(rows, "_LEAST", 1)
    monkeypatch.setattr(programs, "NATIVE_LEAST", 1)
    return seen


# Bytes: variables of a loop that are more than registers hold are on the stack, and nothing else.
FRAMES = {
    "scalars": (lambda: many_scalars(1200)(0.5), 4096),
    "kernel": (lambda: long_chain(30).value_and_grad(np.linspace(0, 1, 200)), 24_576),
    "scan": (lambda: recurrence().value_and_grad(np.ones(16), np.eye(16)), 4096),
}


@pytest.mark.slow
@pytest.mark.skipif("clang" in compiler.compiler().version, reason="GCC tells it")
@pytest.mark.parametrize("kind", FRAMES)
def test_no_function_has_a_large_frame(kind, texts, tmp_path):
    call, most = FRAMES[kind]
    call()
    known = compiler.compiler()
    frames = []
    for text, flags in texts:
        (tmp_path / "kernel.c").write_text(text)
        command = [*known.command, *known.flags, *flags, "-fstack-usage", "kernel.c", "-o", "k.so"]
        subprocess.run([*command, "-lm"], cwd=tmp_path, check=True)
        for report in tmp_path.glob("*.su"):
            frames += [line.split("\t")[:2] for line in report.read_text().splitlines()]
            report.unlink()
    assert frames
    assert [(name, size) for name, size in frames if int(size) > most] == []


SMALL = """
import threading
import numpy as np
from tests.numeric import test_native_stack as these
F, given = {call}
expected = F(*given)
found = []
threading.stack_size(64 * 1024)
thread = threading.Thread(target=lambda: found.append(F(*given)))
thread.start()
thread.join()
print(np.array_equal(found[0], expected))
"""


@pytest.mark.parametrize(
    "call",
    [
        "these.along_rows(36), (np.ones((600, 36)),)",
        *(["these.many_scalars(9000), (0.5,)"] if FUZZ else []),  # compiled for half a minute
    ],
)
def test_a_small_stack_is_enough(call):
    """Values on the way of a block, and those that parts of a program share, are elsewhere."""
    said, _ = in_a_process(SMALL.format(call=call))
    assert said.split() == ["True"]
