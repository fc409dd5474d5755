"""Kernels in machine code as they run: operands to pointers, and results of their own."""

from __future__ import annotations

import ctypes
import math
import threading
from functools import cache, partial
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from numeric.lowering import kinds
from numeric.lowering.arithmetic import weak
from numeric.lowering.blocks import Rows, in_a_block, spread
from numeric.lowering.kernels.sequences import added
from numeric.lowering.native.columns import columns, written
from numeric.lowering.native.compiler import FAST, compiler
from numeric.lowering.native.libraries import library
from numeric.lowering.native.loops import IN_A_ROW, LANES, SMALL, THIN, Loops, able, joins
from numeric.lowering.native.source import LINE, pitch
from numeric.lowering.node_kernels import whole_numbers
from numeric.lowering.passes.rows import ROWS, words
from numeric.lowering.printers.rows import RowsPrinter
from symdiff.graph import ops
from symdiff.graph.axis_lengths import Sizes, lengths
from symdiff.locks import fork_safe_lock, once

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numeric.lowering.names import Emitter, Options
    from numeric.lowering.native.columns import Columns
    from numeric.lowering.native.libraries import Library
    from numeric.lowering.native.loops import Array
    from numeric.lowering.native.source import Written
    from numeric.lowering.passes.rows import Able, Kernel, Pads
    from numeric.lowering.steps import Schedule

_KNOWN = 64  # kinds of calls
_LEAST = 512  # rows of a call, in which there are blocks of few
_LARGE = 5000  # statements from which on the compiler is asked for less


class NativeKernel:
    """A kernel's body in machine code, along so many rows: it gives a tuple of results.

    ``sliced`` says along which axis it goes in each operand; None: it reads that one whole.
    ``wanted`` are the results, see ``Kernel.pads``; without it all of the body.
    """

    def __init__(
        self,
        emitter: Emitter,
        body: Schedule,
        sliced: Sequence[int | None],
        wanted: Sequence[int | Pads] | None = None,
    ) -> None:
        self._emitter, self._body, self._sliced = emitter, body, tuple(sliced)
        self._wanted = range(len(body.results)) if wanted is None else wanted
        self._found: dict[bool, tuple[Loops, Columns | None]] = {}
        self._made: dict[tuple[np.dtype, bool, bool], _Compiled | Literal[False]] = {}
        self._ready: dict[int, Ready] = {}
        self._lock = fork_safe_lock()
        self._constants = [
            whole_numbers(step.op.value)
            for step in body.steps
            if isinstance(step.op, ops.Constant) and isinstance(step.kind, kinds.Array)
        ]

    def _parts(self, many: bool) -> tuple[Loops, Columns | None]:
        """The loops, and their columns, where sums have many terms or few."""
        found = self._found.get(many)
        if found is None:
            loops = Loops(self._emitter, self._body, self._sliced, self._wanted, many)
            found = self._found.setdefault(many, (loops, columns(loops)))
        return found

    def compiled(self, dtype: np.dtype, along: bool, many: bool) -> _Compiled | None:
        """What runs on operands of one precision, by rows or along the columns.

        None where the back end is "auto", and it cannot be had.
        """
        found = self._made.get((dtype, along, many))
        if found is not None:
            return found or None
        text = self._written(dtype != _DOUBLE, along, many)
        make = partial(_compiled, text, dtype, self._emitter.options)
        return once(self._made, (dtype, along, many), self._lock, make) or None

    def text(self) -> str:
        """The loops over rows, for doubles, without what stands around them."""
        _, found = self._parts(many=True)
        every = self._written(False, found is not None and not found.folds, True).text
        return every[every.index("void kernel(") : every.index("int call(")]

    def _written(self, single: bool, along: bool, many: bool) -> Written:
        loops, found = self._parts(many)
        return written(loops, single, compiler().vector, found if along else None)

    def _common(self, values: Sequence[Any], sizes: dict[str, int], rows: int) -> _Compiled | None:
        """What runs on these operands; None where these are NumPy's."""
        kinds = {v.dtype for v in values if isinstance(v, _STRONG) and v.dtype.kind == "f"}
        if len(kinds) > 1 or not kinds <= _REAL:
            return None
        terms = self._parts(many=True)[0].open
        counts = [math.prod(lengths(shape, sizes)) for shape in terms]
        many = max(counts, default=math.inf) > IN_A_ROW
        _, found = self._parts(many)
        along = found is not None and found.fit(lengths((found.length,), sizes)[0], rows)
        return self.compiled(kinds.pop() if kinds else _DOUBLE, along, many)

    def results(
        self, values: Sequence[Any], sizes: dict[str, int], count: int, rows: int, key: int
    ) -> list[Any] | None:
        """The results over ``count`` rows, in blocks of ``rows`` on threads.

        Where they are one block, what calls of operands like these take is written down for
        ``at_once``, which has the same ``key``.  None for operands that have no common precision,
        and where there is no machine code after all.
        """
        made = self._common(values, sizes, count)
        if made is None or 0 in lengths(made.written.some, sizes):
            return None  # NumPy says what is wrong
        threads = self._emitter.options.threads
        found = made.results([*values, *self._constants], sizes, count, rows, threads)
        ready = made.ready(sizes, count) if count <= rows else None
        if ready is not None:
            if len(self._ready) >= _KNOWN:
                self._ready.clear()
            self._ready[key] = ready
        return found

    def at_once(self, values: Sequence[Any], key: int) -> list[Any] | None:
        """The results in one block, where a like call has been."""
        found = self._ready.get(key)
        return None if found is None else found.results([*values, *self._constants])


_STRONG = (np.ndarray, np.generic)
_DOUBLE = np.dtype(np.float64)
_REAL = {_DOUBLE, np.dtype(np.float32)}


_BOOL = np.dtype(bool)
_OPTIMISED = ["-O2", "-ftree-vectorize", "-fvect-cost-model=dynamic"]  # half the time of -O3
_AT_ONCE = 2**20  # numbers on the way of a call that C takes as Python has it


@cache
def arrays_are_known() -> bool:
    """Whether arrays lie in memory as C is told, so that it may read their fields itself."""
    x = np.zeros((2, 3))[:, ::2]
    fields = (ctypes.c_void_p * 8).from_address(id(x) + object.__basicsize__ - _WORD)
    if ctypes.sizeof(ctypes.c_long) != _WORD or x.itemsize != _WORD:
        return False
    shapes = [
        (ctypes.c_long * 2).from_address(fields[k] or 0)[:] if fields[k] else [] for k in (3, 4)
    ]
    known = (fields[0], fields[1], (fields[2] or 0) & 0xFFFFFFFF, fields[6])
    wanted = (id(np.ndarray), x.ctypes.data, 2, id(x.dtype))
    return known == wanted and shapes == [list(x.shape), list(x.strides)]


_WORD = ctypes.sizeof(ctypes.c_void_p)


class Ready(NamedTuple):
    """What is left to do at a call whose like has been: see ``call`` of C."""

    run: Callable[..., int]
    plan: Any  # which lives as long as its address is used
    address: int
    made: list[tuple[tuple[int, ...], np.dtype]]
    scalars: tuple[int, ...]
    order: tuple[int, ...]
    sizes: dict[str, int]  # so that nothing else gets its identity

    def results(self, values: Sequence[Any]) -> list[Any] | None:
        """The results; None where an operand is not an array of the expected layout."""
        for k in self.scalars:
            if values[k].__class__ is not np.ndarray:
                values = [*values[:k], np.asarray(values[k]), *values[k + 1 :]]
        made = [np.empty(shape, dtype) for shape, dtype in self.made]
        if not self.run(self.address, *values, *made):
            return None
        return [made[k] if self.made[k][0] else made[k][()] for k in self.order]


def _compiled(written: Written, dtype: np.dtype, options: Options) -> _Compiled | Literal[False]:
    """A body that is compiled for one precision; False where it is NumPy's."""
    flags = ["-O1"] if written.text.count(";") > _LARGE else _OPTIMISED
    flags = [*flags, *["-fsingle-precision-constant"] * (dtype != _DOUBLE)]
    flags += FAST * options.fastmath
    loaded = library(written.text, tuple(flags), options.backend)
    return loaded is not None and _Compiled(written, dtype, loaded)


class _Compiled:
    """A body that is compiled for one precision."""

    def __init__(self, written: Written, dtype: np.dtype, loaded: Library) -> None:
        self.written = written
        self._run, self._call = loaded.kernel, loaded.call
        self._run.restype = None
        self._run.argtypes = [*[ctypes.c_long] * 4, *[ctypes.c_void_p] * 5]
        count = len(self.written.operands) + len(self.written.results)
        self._call.argtypes = [ctypes.c_void_p, *[ctypes.py_object] * count]
        self._dtype = dtype
        self._local = threading.local()

    def results(
        self,
        values: Sequence[Any],
        sizes: Mapping[str, int],
        count: int,
        rows: int,
        threads: int | None,
    ) -> list[Any]:
        """Those of ``NativeKernel.results``."""
        known = Sizes({**sizes, ROWS: count})
        written = self.written
        given = [self._operand(x, v, known) for x, v in zip(written.operands, values, strict=True)]
        blocks = max(1, -(-count // rows))
        made = [self._result(x, known, blocks) for x in written.results]
        operands = [_along(x.axis, v) for x, v in zip(written.operands, given, strict=True)]
        results = [_along(x.axis or 0, v) for x, v in zip(written.results, made, strict=True)]
        strides = [
            n
            for x, (_, step, inner) in zip(
                (*written.operands, *written.results), (*operands, *results), strict=True
            )
            if x.axis is not None
            for n in (step, *inner)
        ]
        turns = (ctypes.c_long * len(strides))(*strides)
        dims = (ctypes.c_long * len(written.dims))(*lengths(written.dims, known))
        reads = (ctypes.c_void_p * len(operands))(*[at for at, *_ in operands])
        writes = (ctypes.c_void_p * len(results))(*[at for at, *_ in results])
        lanes = self._lanes(known)

        def run(i: int) -> None:
            first, behind = i * rows, max(count - (i + 1) * rows, 0)
            here = count - behind - first
            self._run(i, first, here, behind, reads, writes, turns, dims, self._scratch(lanes))

        spread(run, blocks, threads)
        found = [
            added(list(v)) if x.axis is None else v
            for x, v in zip(written.results, made, strict=True)
        ]
        return [found[k] for k in written.order]

    def ready(self, sizes: dict[str, int], count: int) -> Ready | None:
        """How operands of these lengths are computed at once; None where it takes more."""
        known = Sizes({**sizes, ROWS: count})
        lanes, written = self._lanes(known), self.written
        if lanes > _AT_ONCE or not arrays_are_known():
            return None
        kinds = (np.ndarray, self._dtype, _BOOL)
        numbers = [count, lanes, *map(id, kinds), *lengths(written.dims, known)]
        made = [(self._shape(x, known), self._kind(x)) for x in written.results]
        plan = (ctypes.c_long * len(numbers))(*numbers)
        scalars = tuple(
            [k for k, x in enumerate(written.operands) if x.axis is None and not x.shape]
        )
        return Ready(self._call, plan, ctypes.addressof(plan), made, scalars, written.order, sizes)

    def _lanes(self, sizes: Mapping[str, int]) -> int:
        """How many numbers a block takes on its way."""
        shapes = self.written.scratch
        return pitch(self._dtype.itemsize) * sum([math.prod(lengths(s, sizes)) for s in shapes])

    def _shape(self, x: Array, sizes: Mapping[str, int]) -> tuple[int, ...]:
        """The shape of an operand or a result, over all rows."""
        found = lengths(x.whole, sizes)
        if x.axis is None or not any(x.around):
            return found
        return (*found[: x.axis], found[x.axis] + sum(x.around), *found[x.axis + 1 :])

    def _operand(self, x: Array, value: Any, sizes: Mapping[str, int]) -> np.ndarray:
        """An operand as it is read: along the rows anyhow, as a whole one after the other."""
        shape = self._shape(x, sizes)
        if x.axis is None:
            found = np.require(value, self._dtype, ["C", "ALIGNED"])
            return found if found.shape == shape else np.broadcast_to(found, shape).copy(order="C")
        found = np.require(value, self._kind(x), ["ALIGNED"])
        return found if found.shape == shape else np.broadcast_to(found, shape)

    def _result(self, x: Array, sizes: Mapping[str, int], blocks: int) -> np.ndarray:
        """Memory for a result; for a sum over rows, for that over each block of them."""
        shape = self._shape(x, sizes)
        return np.empty((blocks, *shape) if x.axis is None else shape, self._kind(x))

    def _kind(self, x: Array) -> np.dtype:
        """The dtype of an operand or a result that lies along the rows, and of a sum over them."""
        return self._dtype if x.dtype is float else _BOOL

    def _scratch(self, count: int) -> int:
        """The address of memory for a block on its way, which each thread has for itself."""
        found: np.ndarray | None = getattr(self._local, "scratch", None)
        if found is None or len(found) < count + LINE:
            found = self._local.scratch = np.empty(count + LINE, self._dtype)
        address: int = found.__array_interface__["data"][0]
        return -(-address // LINE) * LINE


def _along(axis: int | None, x: np.ndarray) -> tuple[int, int, tuple[int, ...]]:
    """Where an array is, and its strides: along the rows, and along its other axes.

    An operand that is read whole has no rows; sums over blocks have these first.
    """
    at: int = x.__array_interface__["data"][0]
    if axis is None:
        return at, 0, ()
    return at, x.strides[axis], (*x.strides[:axis], *x.strides[axis + 1 :])


class NativeRows(Rows):
    """A kernel in machine code.  Operands of several precisions are NumPy's."""

    def __init__(self, kernel: Kernel, emitter: Emitter) -> None:
        super().__init__(kernel, emitter.options.threads)
        self._joins = all(joins(kernel.body, made) for made in kernel.pads)
        wanted = kernel.pads if self._joins else None
        self._native = NativeKernel(emitter, kernel.body, kernel.sliced, wanted)

    told = "in machine code"

    def shown(self, source: str) -> str:
        return self._native.text()

    def __call__(self, *args: Any) -> Any:
        """The results of the operands and the lengths: a tuple, or the only one."""
        *values, sizes = args
        found = self._native.at_once(values, id(sizes))
        if found is None:
            count = self.rows(sizes)
            rows = max(in_a_block(count, self.width(sizes)) // LANES * LANES, _LEAST)
            found = self._native.results(values, sizes, count, rows, id(sizes))
            if found is None:
                return super().__call__(*args)
        if not self._joins:
            count = self.rows(sizes)
            found = [self._together(made, found, count) for made in self.kernel.pads]
        return found if len(found) > 1 else found[0]


class NativePrinter(RowsPrinter):
    """Arrays, with kernels of what C computes."""

    kind = "native"
    thin = THIN
    crossing = 0.5  # NumPy's loops read and write all values, too
    worth = 1  # what computes less for each element that it reads or writes, C does not gain

    @classmethod
    def able(cls, emitter: Emitter) -> Able:
        side = SMALL if compiler().wide else THIN
        return partial(able, exact=emitter.options.exact_order, side=side)

    def rows(self, kernel: Kernel) -> Rows:
        return NativeRows(kernel, self.emitter)


class NativePoints:
    """A program of scalars at many points."""

    def __init__(self, emitter: Emitter, program: Schedule, computed: Sequence[int]) -> None:
        known = program.definitions()
        own = tuple([v for v in dict.fromkeys(program.results) if v in computed])
        body = program._replace(results=own)
        body = body.having(body.steps)
        read = body.reads()
        self._read = [k for k, v in enumerate(program.params) if read[v]]
        params = tuple([program.params[k] for k in self._read])
        self._native = NativeKernel(emitter, body._replace(params=params), [0] * len(params))
        # A result is the kernel's, or an argument, or a number: its place among all of these.
        left = [v for v in program.results if v not in own and v not in program.params]
        self._numbers = [weak(known[v].as_kind(kinds.Number).value) for v in left]
        every = [*own, *program.params, *left]
        self._places = [every.index(v) for v in program.results]

    def __call__(self, points: tuple[int, ...], otherwise: Callable[..., Any], *given: Any) -> Any:
        """The results of the arguments, which broadcast to ``points``, and the lengths of axes.

        ``otherwise`` is the same in NumPy.
        """
        *values, sizes = given
        count = math.prod(points)
        wide = [_in_a_row(values[k], points, count) for k in self._read]
        found = self._native.at_once(wide, count)
        if found is None:
            found = self._native.results(wide, sizes, count, in_a_block(count, 1), count)
            if found is None:
                return otherwise(*given)
        if len(points) != 1:
            found = [x.reshape(points) for x in found]
        every = [*found, *values, *self._numbers]
        return [every[k] for k in self._places]


def _in_a_row(x: Any, points: tuple[int, ...], count: int) -> Any:
    """An argument at all points, one behind the other; numbers are left as they are."""
    if not getattr(x, "ndim", 0):
        return x
    if x.shape != points:
        x = np.broadcast_to(x, points)
    return x if len(points) == 1 else x.reshape(count)


def at_points(emitter: Emitter, program: Schedule) -> NativePoints | None:
    """A program of scalars, for many points; None where C does not compute all of it."""
    steps = tuple([x if x.weak else x._replace(shapes=((ROWS,),)) for x in program.steps])
    body = program._replace(steps=steps)
    known = body.definitions()
    computed: dict[int, None] = {}
    for step in steps:
        if step.leaf or step.weak:
            continue
        found = words(step, [known[v].layout(v)[0] for v in step.operands])
        if found is None or not able(step, known):
            return None
        computed.update(dict.fromkeys(step.results))
    left = [v for v in program.results if v not in computed and v not in program.params]
    if not computed or any(not isinstance(known[v].kind, kinds.Number) for v in left):
        return None
    return NativePoints(emitter, body, tuple(computed))
