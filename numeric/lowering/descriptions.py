"""What ``explain`` says of the programs of a Function: what is computed, how, and what it costs."""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING, Any

from numeric.lowering import blocks, derivatives, kinds
from numeric.lowering.contraction import plan
from numeric.lowering.loops import loop
from numeric.lowering.passes.rows import ROWS
from numeric.lowering.passes.sharing import is_made
from symdiff.display.diagrams import listed
from symdiff.errors import Unsupported
from symdiff.exact.counting import count_operations
from symdiff.graph import ops
from symdiff.graph.axes import shape_text
from symdiff.graph.axis_lengths import Sizes, lengths
from symdiff.transforms.scans import Looped

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numeric.lowering.programs import Program
    from numeric.lowering.steps import Schedule, Step
    from symdiff.graph.expr import Expr
    from symdiff.graph.node import Dim, Shape

_BYTES = {float: 8, int: 8, bool: 1}
_BLAS = {
    "dot": "dot product",
    "matrix-vector": "gemv",
    "matmul": "gemm",
    "tensordot": "gemm",
    "batched matmul": "gemm for each",
}
"""What BLAS has for a contraction of two; all others are NumPy's own loops."""


def described(program: Program, sizes: Mapping[str, int] | None, rules: bool = False) -> list[str]:
    """The lines on one program; with the bytes that it moves, if lengths of axes are known.

    With ``rules``, also the passes that changed it.
    """
    steps = program.schedule.computed()
    inner = [v for k in program.kernels for v in k.kernel.body.computed()]
    quiet = ", selections: runs without floating-point warnings" if program.masked else ""
    moved = None if sizes is None else traffic(program.schedule, Sizes(sizes))
    cost = f", {moved:,} bytes of arrays read and written" if moved else ""
    lines = [f"{program.name}: {len(steps) + len(inner)} steps{cost}{quiet}"]
    if program.floats:
        lines.append("  on Python floats, one for each element")
    if program.rolled:
        lines.append(f"  lanes: {len(program.steps.computed())} steps over scalars are these")
    lines += [_fused(kernel, program.least) for kernel in program.kernels]
    lines += [f"  {line}" for line in _scans(program)]
    lines += [f"  {line}" for line in _shared(program.schedule)]
    lines += [f"  {program.memory}"] * (program.memory is not None)
    lines += [f"  {line}" for line in dict.fromkeys(_contractions(program.schedule))]
    return lines + [f"  {line}" for line in (_rewrites(program) if rules else ())]


def _rewrites(program: Program) -> Iterator[str]:
    """Which pass replaced which steps by which others."""
    for name, gone, come in program.rewrites():
        old, new = (_listed_steps(steps) or "nothing" for steps in (gone, come))
        yield f"{name}: {old} became {new}"


def _listed_steps(steps: Sequence[Step]) -> str:
    return listed([f"{_name(step)} {shape_text(step.shapes[0])}" for step in steps], 8)


def _fused(rows: blocks.Rows, least: float) -> str:
    """What a kernel over rows computes in one pass."""
    body = rows.kernel.body
    names = Counter([_name(step) for step in body.steps if not step.leaf and not step.weak])
    parts = [f"{count} {name}" if count > 1 else name for name, count in names.items()]
    count = rows.threads or blocks.default_threads()
    threads = f"{count} threads" if count > 1 else "one thread"
    large = f" (where an array has {least:,} elements or more)" if least else ""
    return f"  fused {rows.told}, {rows.kernel}, on {threads}: {', '.join(parts)}{large}"


def _name(step: Step) -> str:
    named = isinstance(step.kind, kinds.Pointwise | kinds.ByKernel) and step.op.name
    return named or step.kind.name


def _every(schedule: Schedule, rows: Dim | None = None) -> Iterator[tuple[Schedule, Step, Any]]:
    """The steps, and those of kernels, each with its schedule and the length of the kernel's rows.

    That is None outside of kernels.
    """
    for step in schedule.steps:
        if isinstance(step.kind, kinds.Rows):
            kernel = step.kind.kernel
            yield from _every(kernel.body, kernel.length)
        else:
            yield schedule, step, rows


def _shared(schedule: Schedule) -> Iterator[str]:
    count = sum(isinstance(step.kind, kinds.Softmax) for _, step, _ in _every(schedule))
    if count:
        yield f"exponentials shared by logsumexp and softmax: {count}"


def _scans(program: Program) -> Iterator[str]:
    """How each loop runs."""
    for step in program.schedule.steps:
        if isinstance(step.op, Looped):
            run = loop(step.op).having(program.options)
            back = ", reversed" * step.op.reverse
            over = f"{step.op.name} over {step.op.length}{back}"
            yield f"{over}, {shape_text(step.op.carry.shape)}: {run.told}"


def _contractions(schedule: Schedule) -> Iterator[str]:
    """How each contraction that adds up is computed, and by what."""
    for steps, step, rows in _every(schedule):
        if isinstance(step.kind, kinds.Affine):
            a, b = (shape_text(_layout(steps, v)) for v in step.operands[:2])
            whole = f", {step.kind.extreme} of each row" * bool(step.kind.extreme)
            out = shape_text(step.shapes[0])
            yield f"matmul with rows and columns added{whole}: {a} and {b} to {out}, BLAS: gemm"
        elif isinstance(step.kind, kinds.Placed):
            read = shape_text(_layout(steps, step.operands[0]))
            yield f"read at the extremes of rows: {read} to {shape_text(step.shapes[0])}"
        op = step.op if isinstance(step.kind, kinds.ByKernel | kinds.Gram) else None
        if not isinstance(op, ops.Contract) or not op.sums:
            continue
        shapes = [_layout(steps, v) for v in step.operands]
        if isinstance(step.kind, kinds.Gram):
            text, calls = "weighted Gram matrix ij,i,ik->jk", ["gemm"]
        else:
            found = plan(op, shapes)
            text = found.text
            each = [stage.kind for stage in found.stages] if step.dtypes[0] is float else []
            # Threads call NumPy's own dot products in kernels.
            calls = [_BLAS[k] for k in each if k in _BLAS and (k != "dot" or rows is None)]
        *given, out = [_shape_text(shape, rows) for shape in (*shapes, step.shapes[0])]
        called = f", BLAS: {', '.join(calls)}" if calls else ""
        yield f"{text}: {' and '.join(given)} to {out}{called}"


def _shape_text(shape: Shape, rows: Dim | None) -> str:
    return shape_text(tuple([rows if dim is ROWS and rows is not None else dim for dim in shape]))


def _layout(schedule: Schedule, v: int) -> Shape:
    return next(step.layout(v)[0] for step in schedule.steps if v in step.results)


def traffic(schedule: Schedule, sizes: Mapping[str, int]) -> int:
    """The bytes of arrays of doubles that steps read and write, if nothing stays in a cache.

    Views move nothing, and what is inside of a kernel over rows stays in the cache.

    >>> import symdiff as sd
    >>> from numeric.lowering.schedule import schedule
    >>> x = sd.symbol("x", "n")
    >>> traffic(schedule([sd.sin(x)[1:] * 2], [x]), Sizes(n=11))
    336
    """
    steps = schedule.definitions()
    total = 0
    for step in schedule.steps:
        if step.leaf or step.weak:
            continue
        if isinstance(step.kind, kinds.Rows) or len(step.results) > 1 or is_made(step, steps):
            total += sum(_size(steps[v], v, sizes) for v in (*step.operands, *step.results))
    return total


def _size(step: Step, v: int, sizes: Mapping[str, int]) -> int:
    shape, dtype = step.layout(v)
    if step.weak or not shape:
        return 0
    return math.prod(lengths(shape, sizes)) * _BYTES[dtype]


def operations(
    value: Sequence[Expr], both: Sequence[Expr], sizes: Mapping[str, int] | None
) -> list[str]:
    """How many operations values take, and how many those with all cotangents."""
    if sizes is None:
        return []
    try:
        first, all_of_it = count_operations(value, sizes), count_operations([*value, *both], sizes)
    except Unsupported as error:  # nobody knows what a function of the user's takes
        return [f"operations are not counted: {error}"]
    times = f", {all_of_it / first:.2g} times as many" if first else ""
    return [f"operations: {first:,}; with all cotangents {all_of_it:,}{times}"]


def kept(values: Sequence[Expr], sizes: Mapping[str, int] | None) -> str:
    """What is kept for ``backward``, and in how many bytes: values that look alike together."""
    names = Counter(map(derivatives.described, values))
    parts = [f"{count} of {name}" if count > 1 else name for name, count in names.items()]
    text = f"kept for backward: {listed(parts, 8) or 'nothing'}"
    if sizes is None or not values:
        return text
    known = Sizes(sizes)
    total = sum(math.prod(lengths(x.shape, known)) * _BYTES[x.dtype] for x in values)
    return f"{text}; {total:,} bytes"
