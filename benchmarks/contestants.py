"""A library at a workload: in this process, or in a separate one without disturbances.

``python -m benchmarks.contestants LIBRARY CASE`` is that process.  It reads commands from the
standard input and answers each with a line of JSON.
"""

from __future__ import annotations

import gc
import io
import itertools
import json
import os
import select
import subprocess
import sys
import time
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.libraries import LIBRARIES, MODULES, THREADS, arrays

if TYPE_CHECKING:
    from benchmarks.declarations import Case

ROOT = Path(__file__).resolve().parent.parent


class Failed(Exception):
    """A contestant that cannot take part, with the reason."""


@dataclass
class Stages:
    """Seconds of each stage and of the first call; None for a stage that a library lacks."""

    build: float | None
    differentiate: float | None
    lower: float | None
    call: float


class Local:
    """A contestant in this process."""

    def __init__(self, library: str, case: Case) -> None:
        self.library, self.workload = library, case.workload
        self.inputs = self.workload.inputs(case.size)
        self.memory: int | None = None
        self._call: Any = None

    def first(self) -> list[np.ndarray]:
        """Run all stages for the first time and return the result."""
        *_, call = LIBRARIES[self.library](self.workload, self.inputs, "_first")
        shape = np.shape(next(iter(self.inputs.values()))) if self.workload.points else ()
        self._call = call
        return arrays(call(), shape)

    def stages(self, round_: int) -> Stages:
        """Time the stages, with symbols that no earlier round used.

        Compilers work at the first call.  Its time beyond that of the second counts as lowering.
        """
        self._call = None
        gc.collect()
        run = LIBRARIES[self.library](self.workload, self.inputs, f"_{round_}")
        times = [time.perf_counter()]
        parts = []
        for _ in range(3):
            parts.append(next(run))
            times.append(time.perf_counter())
        self._call = parts[-1]
        took = [b - a for a, b in itertools.pairwise(times)]
        first, second = self.calls(1), self.calls(1)
        build, differentiate = (
            None if part is None else t for part, t in zip(parts[:2], took[:2], strict=True)
        )
        compiles = self.library not in ("hand", "naive", "torch", "autograd")
        lower = took[2] + max(0.0, first - second) if compiles else None
        return Stages(build, differentiate, lower, second)

    def close(self) -> None:
        """Do nothing: there is no process to end."""

    def calls(self, number: int) -> float:
        """Return the mean seconds of a call, over ``number`` calls."""
        call = self._call
        start = time.perf_counter()
        for _ in range(number):
            call()
        return (time.perf_counter() - start) / number


class Remote:
    """A contestant in a separate process, with a time limit for every answer."""

    def __init__(self, library: str, case: Case, patience: float) -> None:
        self.library, self.patience = library, patience
        threads = dict.fromkeys(
            ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), str(THREADS)
        )
        self.process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.contestants", library, case.name],
            cwd=ROOT,
            env=os.environ | threads,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        self.memory: int | None = None

    def _ask(self, **command: Any) -> Any:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        try:
            self.process.stdin.write(json.dumps(command).encode() + b"\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            raise Failed("ended") from None
        if not select.select([self.process.stdout], [], [], self.patience)[0]:
            self.process.kill()
            raise Failed(f"takes longer than {self.patience:g} s")
        line = self.process.stdout.readline()
        if not line:
            raise Failed(f"ended with status {self.process.wait()}")
        answer = json.loads(line)
        if "failed" in answer:
            raise Failed(answer["failed"])
        return answer

    def first(self) -> list[np.ndarray]:
        """Run all stages for the first time and return the result."""
        answer = self._ask(do="first")
        self.memory = answer["memory"]
        assert self.process.stdout is not None
        with np.load(io.BytesIO(self.process.stdout.read(answer["bytes"]))) as archive:
            return [archive[name] for name in archive.files]

    def stages(self, round_: int) -> Stages:
        """Time the stages, with symbols that no earlier round used."""
        return Stages(**self._ask(do="stages", round=round_))

    def calls(self, number: int) -> float:
        """Return the mean seconds of a call, over ``number`` calls."""
        seconds: float = self._ask(do="calls", number=number)["seconds"]
        return seconds

    def close(self) -> None:
        """End the process."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()


Contestant = Local | Remote


# The process -------------------------------------------------------------------------------------


def _status(field: str) -> int | None:
    """Return a field of Linux's status of this process in bytes; None on other systems."""
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
    except OSError:
        return None
    return 1024 * int(next(line.split()[1] for line in lines if line.startswith(field)))


def _serve(library: str, case: Case) -> None:
    """Answer commands; send the output of libraries to the standard error."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)

    def answer(data: bytes = b"", **fields: Any) -> None:
        answers.write(json.dumps(fields).encode() + b"\n" + data)
        answers.flush()

    contestant: Local | None = None
    for line in sys.stdin:
        command = json.loads(line)
        try:
            if command["do"] == "first":
                import_module(MODULES.get(library, library))
                contestant = Local(library, case)
                before = _before()
                result = contestant.first()
                contestant.calls(1)
                peak = _status("VmHWM")
                memory = None if peak is None or before is None else max(0, peak - before)
                buffer = io.BytesIO()
                np.savez(buffer, *result)
                data = buffer.getvalue()
                answer(data, memory=memory, bytes=len(data))
            elif command["do"] == "stages":
                assert contestant is not None
                answer(**vars(contestant.stages(command["round"])))
            else:
                assert contestant is not None
                answer(seconds=contestant.calls(command["number"]))
        except ImportError as error:
            answer(failed=f"is not installed ({error})")
        except Exception as error:
            answer(failed=f"raises {type(error).__name__}: {str(error)[:200]}")


def _before() -> int | None:
    """Reset the peak of memory and return the current use in bytes."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return None
    return _status("VmRSS")


if __name__ == "__main__":
    from benchmarks.workloads import CASES

    _serve(sys.argv[1], next(case for case in CASES if case.name == sys.argv[2]))
