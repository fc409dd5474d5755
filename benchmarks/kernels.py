"""Measure which NumPy kernels of eager operations save time: ``python -m benchmarks.kernels``.

An operation without a kernel runs its lowered expression.  A kernel states the same value a second
time, so it must be faster: by at least 10 % of the time of a recorded operation, on 10 elements or
on 10^5.  (Operations are recorded, because that is the purpose of tensors.  The operands are those
of the tests' rows, with longer axes.)  A line for each op shows the microseconds without and with
the kernel at both sizes, their ratios, and whether the kernel is worth its code.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from typing import TYPE_CHECKING, Any

import numpy as np

from numeric.eager.recording import apply
from numeric.eager.tensor import wrap
from tests.eager.kernel_calls import kernel_calls, name_of, without_kernel

if TYPE_CHECKING:
    from collections.abc import Callable

WORTH = 1.1
_LARGE = 100_000
# Operations that would take seconds or gigabytes get fewer elements.
_FEWER = 2_500
_HEAVY = ("Linalg", "Cholesky", "kron", "outer", "inner", "addr", "diag_embed")
_ROUNDS = 25


def tensors(operands: Any) -> list[Any]:
    """Return operands as leaves."""
    out = []
    for x in operands:
        if isinstance(x, np.ndarray):
            leaf = wrap(x)
            out.append(leaf.requires_grad_() if x.dtype.kind == "f" else leaf)
        else:
            out.append(x)
    return out


def enlarged(call: Any, total: int) -> Any:
    """Lengthen the axes of a call, so that the largest operand has about ``total`` elements."""
    arrays = [x for x in call.operands if isinstance(x, np.ndarray)]
    biggest = max(arrays, key=lambda x: x.size)
    axes = sum(n > 1 for n in biggest.shape)
    factor = round((total / biggest.size) ** (1 / axes)) if axes else 1

    def larger(x: Any) -> Any:
        if not isinstance(x, np.ndarray):
            return x
        for axis, n in enumerate(x.shape):
            if n > 1:
                x = np.repeat(x, factor, axis) if x.dtype.kind != "f" else _grown(x, axis, factor)
        return np.ascontiguousarray(x)

    return call.on(map(larger, call.operands))


def _grown(x: Any, axis: int, factor: int) -> Any:
    # Vary the numbers: ties, and matrices without full rank, take slower paths.
    parts = [x * (1 - k / (3 * factor)) for k in range(factor)]
    return np.concatenate(parts, axis)


def seconds(runs: list[Callable[[], object]], budget: float) -> list[float]:
    """Return the least time of each run over ``_ROUNDS`` rounds of about ``budget`` s, in turns."""
    start = time.perf_counter()
    for run in runs:
        run()
    once = (time.perf_counter() - start) / len(runs)
    repeats = max(1, int(budget / max(once, 1e-7)))
    times: list[list[float]] = [[] for _ in runs]
    for k in range(_ROUNDS):
        for i in (range(len(runs)), reversed(range(len(runs))))[k % 2]:
            start = time.perf_counter()
            for _ in range(repeats):
                runs[i]()
            times[i].append((time.perf_counter() - start) / repeats)
    return [min(t) for t in times]


def compared(call: Any, budget: float) -> tuple[float, float]:
    """Return the seconds of the expression, and of the kernel."""
    leaves = tensors(call.operands)

    def by_kernel() -> None:
        apply(call.op, leaves, call.params)

    def by_expression() -> None:
        with without_kernel(call.op):
            apply(call.op, leaves, call.params)

    def by_kernel_too() -> None:  # with the same context, because entering it takes time
        with without_kernel(call.op):
            call.op.kernel = kernel
            apply(call.op, leaves, call.params)

    kernel = call.op.kernel
    by_kernel()
    slow, fast = seconds([by_expression, by_kernel_too], budget)
    return slow, fast


def main() -> None:
    """Print a line for each op with a kernel, and the number of kernels worth their code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.kernels", description=__doc__)
    parser.add_argument("names", nargs="*", help="parts of names of ops (default all)")
    parser.add_argument("--budget", type=float, default=0.002, help="seconds for each round")
    options = parser.parse_args()
    if "OMP_NUM_THREADS" not in os.environ:  # NumPy reads it on import, so start again
        words = [sys.executable, "-m", "benchmarks.kernels", *sys.argv[1:]]
        os.execve(sys.executable, words, os.environ | {"OMP_NUM_THREADS": "1"})
    by_op: dict[Any, Any] = {}
    for call in kernel_calls(kinds=False):
        arrays = [x for x in call.operands if isinstance(x, np.ndarray)]
        real = [x.dtype for x in arrays if x.dtype.kind == "f"]
        size = max((x.size for x in arrays), default=0)
        usual = bool(real) and set(real) == {np.dtype(float)} and size > 1
        if usual and (call.op not in by_op or abs(size - 10) < by_op[call.op][0]):
            by_op[call.op] = abs(size - 10), call
    earning = 0
    for op, (_, call) in by_op.items():
        name = name_of(op)
        if options.names and not any(part in name for part in options.names):
            continue
        line, worth = f"{name:<52}", False
        heavy = any(part in name for part in _HEAVY)
        for total in (0, _FEWER if heavy else _LARGE):
            try:
                slow, fast = compared(enlarged(call, total) if total else call, options.budget)
            except (ValueError, RuntimeError, IndexError, TypeError, MemoryError):
                line += f"{'(does not suit it)':>28}"
                continue
            worth = worth or slow / fast >= WORTH
            line += f"{1e6 * slow:>10.2f} {1e6 * fast:>10.2f} {slow / fast:>6.2f}"
        earning += worth
        print(f"{line}   {'earns its place' if worth else '-'}", flush=True)
    print(f"\n{earning} of {len(by_op)} earn their place")


if __name__ == "__main__":
    main()
