"""``sharded``: expressions over data in shards, with derivatives of every kind."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

import symdiff as sd
from numeric.extras import extra
from numeric.lowering.arguments import checked, precision
from numeric.lowering.function import Function, lower
from numeric.lowering.values import WEAK
from numeric.shards.places import by_dask, is_dask_array, is_of_dask, on_executor
from numeric.shards.subtotals import ShardProgram, in_kind, in_precision
from symdiff.calculus.real_values import is_real
from symdiff.errors import ShapeError
from symdiff.graph import ops
from symdiff.graph.arguments import door, reals, unfit
from symdiff.graph.expr import Expr
from symdiff.graph.leaves import named_dummy
from symdiff.graph.lengths import Length
from symdiff.graph.node import topological
from symdiff.graph.number import shortened
from symdiff.transforms.row_sums import row_sums

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Mapping, Sequence
    from concurrent.futures import Executor

    from numeric.shards.subtotals import Subtotal
    from symdiff.transforms.row_sums import Plan

__all__ = ["Sharded", "sharded"]


@door
def sharded(
    outputs: Expr | Sequence[Expr],
    inputs: Expr | Sequence[Expr],
    *,
    over: str,
    executor: Executor | None = None,
    progress: Callable[[int, int], object] | None = None,
    **options: Any,
) -> Sharded:
    """Return ``outputs`` as a function of data in shards: arrays cut along the axis ``over``.

    The graph proves that each shard can be computed alone: every node works on single rows until
    they are summed.  Means, weighted sums, and terms added to them, such as a regulariser, take one
    pass over the data.  Functions of such sums inside sums take two or more: standard deviations,
    logsumexp, losses of standardised data.

    Args:
        outputs: one expression, for one value; a list or tuple of them, for a tuple of values.
        inputs: the symbols; those with the axis ``over`` come in shards, the others in full.
        over: the name of the axis of rows, as in ``sd.symbol("X", ("n", 5))``.
        executor: an executor of ``concurrent.futures`` for shards that are arrays; threads by
            default.  Dask's shards run on Dask's scheduler.
        progress: called with the number of finished shards in this pass, and of all shards.
        options: options of ``lower`` for the program of a shard, such as ``backend="native"``.
            A shard runs on one thread, ``threads=1``, by default.

    A binary tree joins the subtotals in the order of the shards.  So the bits of a result depend on
    the cuts between rows, but not on the executor or on timing.  (BLAS may round products of
    matrices differently on several threads than on one, as on Dask's workers.)

    Raises NotAdditive, with the reason and the ``node``, where rows are not independent.  Raises
    ShapeError if no input has the axis, and the errors of ``lower``.

    >>> import numpy as np
    >>> x = sd.symbol("x", "n")
    >>> S = sharded(sd.std(x), [x], over="n")
    >>> float(S([np.array([1.0, 1.0, 5.0]), np.array([5.0]), np.array([])]))
    2.0
    >>> S.passes
    2
    >>> sharded(sd.sum(sd.cumprod(x)), [x], over="n")
    Traceback (most recent call last):
        ...
    symdiff.errors.NotAdditive: cumprod goes along the rows, the axis n: cumprod(x)
    """
    many = not isinstance(outputs, Expr)
    ys = (outputs,) if isinstance(outputs, Expr) else tuple(outputs)
    xs = (inputs,) if isinstance(inputs, Expr) else tuple(inputs)
    return Sharded(ys, xs, many, over, executor, progress, options)


class _Walk(NamedTuple):
    """One pass: the Function before it, the program of its shards, and the operands of the program.

    ``prior`` are the positions, among all results before a pass, of those that its shards need.
    ``kept`` are the positions among all values that a shard kept.
    """

    before: Function | None
    program: ShardProgram
    prior: tuple[int, ...]
    kept: tuple[int, ...]


class _Task:
    """A lowered plan: the passes over the shards, and the Function of their sums."""

    def __init__(
        self, outputs: Sequence[Expr], plan: Plan, of: Sharded, tangents: tuple[Expr, ...] = ()
    ) -> None:
        others = (*of.others, *tangents)
        wholes: list[Expr] = []
        prior: list[Expr] = []
        kept: list[Expr] = []
        self.walks: list[_Walk] = []
        self.counts_first = False
        contents: list[Expr] = [*plan.results]
        for p, (new, sums, later) in enumerate(plan.passes):
            known = (*others, *wholes, *prior, plan.rows)
            before = lower([y for _, y in new], known) if new else None
            prior += [x for x, _ in new]
            parts = [*[s.part for s in sums], *[y for _, y in later]]
            used = set(topological(parts))
            takes, keeps = _places(prior, used), _places(kept, used)
            symbols = (*of.rows, *[kept[i] for i in keeps])
            symbols += (*others, *[prior[i] for i in takes], plan.rows)
            function = lower(parts, symbols, **of.options)
            joins = tuple([s.join for s in sums])
            program = ShardProgram(function, of.axes, joins, of.over)
            self.walks.append(_Walk(before, program, takes, keeps))
            wholes += [s.whole for s in sums]
            kept += [x for x, _ in later]
            contents += [*[y for _, y in new], *parts]
            self.counts_first |= p == 0 and plan.counts(contents[len(plan.results) :])
        self.counts = plan.counts(contents)
        self.after = lower(plan.results, (*others, *wholes, *prior, plan.rows))
        self.real = [is_real(y) for y in outputs]
        self.numbers = [x.dtype is float for x in others]
        # Data in the formula takes part in the precision of a call.
        data = [x.op.value.dtype for x in topological(contents) if x.op.__class__ is ops.Constant]
        self.data = [dtype for dtype in data if dtype.kind != "b"]


def _places(symbols: Sequence[Expr], used: Container[Expr]) -> tuple[int, ...]:
    return tuple([i for i, x in enumerate(symbols) if x in used])


class Sharded:
    """Expressions over data in shards; made by ``sharded``.

    Data with rows is a list of shards, or a Dask array whose chunks are the shards.  A shard is an
    array, or a Delayed or Future of Dask.  All other arguments are arrays, the same for all shards.
    Shards may have different numbers of rows, also 0.

    ``inputs`` are the symbols of the arguments.  ``passes`` is the number of times that a value
    reads the data.
    """

    def __init__(
        self,
        outputs: tuple[Expr, ...],
        inputs: tuple[Expr, ...],
        many: bool,
        over: str,
        executor: Executor | None,
        progress: Callable[[int, int], object] | None,
        options: Mapping[str, Any],
    ) -> None:
        self.outputs, self.inputs, self.over = outputs, inputs, over
        self.rows = tuple([x for x in inputs if over in _names(x)])
        self.others = tuple([x for x in inputs if over not in _names(x)])
        self.axes = tuple([(_name(x), x.shape.index(over)) for x in self.rows if over in x.shape])
        self.options = {"threads": 1, **options}
        self._many, self._executor, self._progress = many, executor, progress
        self._tasks: dict[Any, _Task] = {}
        self._counted: tuple[list[Any], int] = ([], 0)
        plan = row_sums(outputs, over)  # raises NotAdditive at once rather than in a call
        if len(self.axes) < max(len(self.rows), 1):
            what = ", ".join([f"{_name(x)} {x.shape}" for x in self.rows]) or "none"
            raise ShapeError(f"sharded: inputs with an axis {over}: {what}")
        self._places = {_name(x): i for i, x in enumerate(inputs)}
        self._value = _Task(outputs, plan, self)

    @property
    def passes(self) -> int:
        """The number of times that a value reads the data."""
        return len(self._value.walks)

    def __repr__(self) -> str:
        rows, others = (", ".join([_name(x) for x in xs]) for xs in (self.rows, self.others))
        return f"<Sharded over {self.over}: {rows} in shards{others and f'; {others}'}>"

    # What it computes -----------------------------------------------------------------------------

    def __call__(self, *args: object, **named: object) -> Any:
        """Return the value of the output, or a tuple of values of several outputs."""
        values = self._run(self._value, args, named)
        return values if self._many else values[0]

    def value_and_grad(self, *args: object, wrt: object = None, **named: object) -> tuple[Any, Any]:
        """Return the value of a scalar output and its derivatives, from the same passes.

        ``wrt`` is an input that is not in shards, as a symbol or name; its derivative is a bare
        array.  A list or tuple of inputs gives a tuple; None stands for all real inputs.
        """
        xs = self._wrt(wrt, "value_and_grad")
        value, *grads = self._run(
            self._task(
                ("value_and_grad", xs),
                lambda: (self._scalar("value_and_grad"), *sd.grad(self.outputs[0], list(xs))),
            ),
            args,
            named,
        )
        return value, _as_asked(wrt, grads)

    def hvp(self, tangents: object, *args: object, wrt: object = None, **named: object) -> Any:
        """Return the Hessian of a scalar output times ``tangents`` of the shapes of ``wrt``.

        For one input outside of a list, the tangent and the product are arrays; else both are
        tuples.
        """
        return self._along("hvp", wrt, tangents, args, named, sd.hvp)

    def gauss_newton_product(
        self,
        tangents: object,
        *args: object,
        of: Expr,
        wrt: object = None,
        **named: object,
    ) -> Any:
        """Return the generalised Gauss-Newton matrix times ``tangents`` (``gauss_newton_product``).

        ``of`` is the linearised part of the output: a model's predictions.  Tangents and products
        have the form of those of ``hvp``.
        """
        return self._along(
            ("gauss_newton_product", of),
            *(wrt, tangents, args, named),
            lambda f, by, ts: sd.gauss_newton_product(f, of, by, ts),
        )

    def hessian(self, *args: object, wrt: object = None, **named: object) -> Any:
        """Return the Hessian of a scalar output by one input: the input's shape twice.

        Several inputs in ``wrt`` give a tuple of tuples of blocks.
        """
        xs = self._wrt(wrt, "hessian")

        def blocks() -> list[Expr]:
            rows = sd.hessian(self._scalar("hessian"), list(xs))
            return [block for row in rows for block in row]

        blocks_found = self._run(self._task(("hessian", xs), blocks), args, named)
        size = len(xs)
        rows = [_as_asked(wrt, blocks_found[i * size : (i + 1) * size]) for i in range(size)]
        return _as_asked(wrt, rows)

    # How it computes ------------------------------------------------------------------------------

    def _along(
        self,
        what: Any,
        wrt: object,
        tangents: object,
        args: tuple[object, ...],
        named: dict[str, object],
        product: Callable[[Expr, list[Expr], list[Expr]], Sequence[Expr]],
    ) -> Any:
        """Return a product with ``tangents``: additional inputs, the same for all shards."""
        name = what if isinstance(what, str) else what[0]
        xs = self._wrt(wrt, name)
        directions: tuple[Any, ...] = (tangents,)
        if isinstance(tangents, list | tuple):
            directions = tuple(tangents) if _several(wrt) else (np.asarray(tangents),)
        if len(directions) != len(xs):
            raise TypeError(f"{name}: {len(xs)} tangents expected, one for each of wrt")
        key = (what, xs)
        if key not in self._tasks:
            ts = tuple([named_dummy(f"tangent[{i}]", x.shape) for i, x in enumerate(xs)])
            self._task(key, lambda: product(self._scalar(name), list(xs), list(ts)), ts)
        return _as_asked(wrt, self._run(self._tasks[key], args, named, directions))

    def _task(
        self,
        key: Any,
        outputs: Callable[[], Sequence[Expr]],
        tangents: tuple[Expr, ...] = (),
    ) -> _Task:
        task = self._tasks.get(key)
        if task is None:
            expressions = tuple(outputs())
            task = _Task(expressions, row_sums(expressions, self.over), self, tangents)
            self._tasks[key] = task
        return task

    def _scalar(self, method: str) -> Expr:
        if self._many or self.outputs[0].shape:
            raise ShapeError(f"{method}: the output must be one scalar expression")
        return self.outputs[0]

    def _wrt(self, wrt: object, method: str) -> tuple[Expr, ...]:
        if wrt is None:
            return tuple([x for x in self.others if x.dtype is float])
        chosen = []
        keys = wrt if isinstance(wrt, list | tuple) else [wrt]
        if not keys:
            raise ValueError(f"{method}: wrt is empty")
        for key in keys:
            if not isinstance(key, Expr | str):
                raise unfit(method, "wrt", "an input, its name or a list of them", key)
            place = self._places.get(_name(key) if isinstance(key, Expr) else key)
            if place is None:
                raise ValueError(
                    f"{method}: {shortened(key)} is not an input; those are {list(self._places)}"
                )
            x = self.inputs[place]
            if any(x is other for other in self.rows):
                raise ValueError(
                    f"{method}: {_name(x)} is in shards, and its derivative would be; wrt may be "
                    f"{[_name(other) for other in self.others]}"
                )
            chosen.append(x)
        return tuple(chosen)

    def _run(
        self,
        task: _Task,
        args: tuple[object, ...],
        named: Mapping[str, object],
        more: tuple[object, ...] = (),
    ) -> tuple[Any, ...]:
        """Run the passes of a task over the data, one after the other."""
        data = self._bound(args, named)
        shards, rows = self._shards(data)
        # Compute Dask's arguments that all shards share once.
        data |= {_name(x): _whole(data[_name(x)]) for x in self.others}
        more = tuple(map(_whole, more))
        asked = (*[data[_name(x)] for x in self.others], *more)
        others = tuple(map(_of_numpy, asked))
        dask = any(is_of_dask(x) for shard in shards for x in shard)

        def walked(
            program: ShardProgram, same: tuple[Any, ...], data: Sequence[tuple[Any, ...]]
        ) -> Subtotal:
            if dask:
                return by_dask(program, same, data, self._progress)
            return on_executor(self._executor, program, same, data, self._progress)

        def counted() -> int:
            # Dask's keys name immutable data, so one count serves a whole fit.
            keys = [getattr(shard[0], "key", None) for shard in shards]
            if None in keys or keys != self._counted[0]:
                number = walked(ShardProgram(None, self.axes, (), self.over), (), shards).rows
                self._counted = keys, number
            return self._counted[1]

        if rows is None and task.counts_first:
            rows = counted()
        known = [(x, data[_name(x)]) for x in self.others]
        strong = [
            *task.data,
            *[checked("input", x, v).dtype for x, v in known if v.__class__ not in WEAK],
            *[reals("sharded", "tangents", v).dtype for v in more if v.__class__ not in WEAK],
        ]
        kinds = [x.dtype for x in shards[0] if isinstance(x, np.ndarray)]
        # The first pass has the rows among its arguments: only it can learn the dtypes of Dask's
        # data.
        late = np.result_type(*task.data) if task.data else np.dtype(bool)
        at_hand = len(kinds) == len(shards[0])
        frame = np.zeros((rows or 0, 0), precision([*strong, *kinds]) if at_hand else late)
        wholes: tuple[Any, ...] = ()
        prior: tuple[Any, ...] = ()
        kept: list[tuple[Any, ...]] = [()] * len(shards)
        for p, (before, program, takes, keeps) in enumerate(task.walks):
            if before is not None:
                prior += in_kind(
                    before.outputs, before(*others, *wholes, *prior, frame), frame.dtype
                )
            same = (*others, *[prior[i] for i in takes], frame)
            # An empty shard kept nothing, and is not computed.
            arrays = [(*x, *[y[i] for i in keeps if y]) for x, y in zip(shards, kept, strict=True)]
            subtotal = walked(program, same, arrays)
            kept = [(*x, *y) for x, y in zip(kept, subtotal.kept, strict=True)]
            rows = subtotal.rows if rows is None else rows  # the first pass did not need the number
            if subtotal.values is None:  # no shard has a row: compute one empty shard
                subtotal = program.subtotal(0, same, *_computed(arrays[0]), empty=True)
                kept[0] += subtotal.kept[0]
            assert subtotal.values is not None
            wholes += subtotal.values
            if p == 0:
                kinds = [np.dtype(kind.partition(" ")[0]) for kind in subtotal.kinds]
                frame = np.zeros((rows, 0), precision([*strong, *kinds]))
                others = tuple(
                    [
                        frame.dtype.type(x) if x.__class__ in WEAK and real else x
                        for x, real in zip(others, task.numbers, strict=True)
                    ]
                )
        if rows is None and task.counts:
            rows = counted()
        frame = np.zeros((rows or 0, 0), precision([*strong, *kinds]))
        # If an argument is a Tensor, the results are Tensors, too.
        last = [x if hasattr(x, "__array__") else y for x, y in zip(asked, others, strict=True)]
        results = task.after(*last, *wholes, *prior, frame)
        return in_precision(task.real, results, frame.dtype)

    def _bound(self, args: tuple[object, ...], named: Mapping[str, object]) -> dict[str, Any]:
        names = list(self._places)
        if len(args) > len(names):
            raise TypeError(f"{len(names)} arguments expected, {len(args)} given: {names}")
        data = dict(zip(names, args, strict=False))
        for name, value in named.items():
            if name not in self._places:
                raise TypeError(f"{shortened(name)} is not an input; those are {names}")
            if name in data:
                raise TypeError(f"{name} is given twice, by place and by name")
            data[name] = value
        missing = [name for name in names if name not in data]
        if missing:
            raise TypeError(f"no argument for {', '.join(missing)}")
        return data

    def _shards(self, data: Mapping[str, Any]) -> tuple[list[tuple[Any, ...]], int | None]:
        """Return the data of each shard, and the number of all rows; None while it is unknown."""
        columns, counts = {}, {}
        for name, axis in self.axes:
            parts, rows = _parts(name, axis, data[name], self.over)
            columns[name], counts[name] = parts, rows
        sizes = {name: len(parts) for name, parts in columns.items()}
        if len(set(sizes.values())) > 1:
            listed = ", ".join([f"{name} has {size}" for name, size in sizes.items()])
            raise ValueError(f"numbers of shards differ: {listed}")
        if not next(iter(sizes.values())):
            raise ValueError(f"{next(iter(sizes))}: there are no shards")
        (first, known), *rest = counts.items()
        for name, rows in rest:
            for i, (a, b) in enumerate(zip(known, rows, strict=True)):
                if a is not None and b is not None and a != b:
                    raise ValueError(f"shard {i}: {first} has {a} rows, {name} has {b}")
            known = [b if a is None else a for a, b in zip(known, rows, strict=True)]
        total = None if any(n is None for n in known) else sum(known)  # type: ignore[arg-type]
        return list(zip(*columns.values(), strict=True)), total


def _several(wrt: object) -> bool:
    return wrt is None or isinstance(wrt, list | tuple)


def _as_asked(wrt: object, results: Sequence[Any]) -> Any:
    """Return a tuple, or the only result if ``wrt`` is a single input outside of a list."""
    return tuple(results) if _several(wrt) else results[0]


def _parts(name: str, axis: int, value: Any, over: str) -> tuple[Sequence[Any], list[int | None]]:
    """Return the shards of one argument, and the number of rows of each; None if unknown."""
    if is_dask_array(value):
        cut = [k for k, blocks in enumerate(value.numblocks) if blocks > 1 and k != axis]
        if cut or value.ndim <= axis:
            raise ValueError(
                f"{name}: chunks are shards, cut along axis {axis}, {over}, alone; these are cut "
                f"along {cut}: write {name}.rechunk({{{cut[0] if cut else 0}: -1}})"
            )
        rows = [int(n) if n == n else None for n in value.chunks[axis]]  # nan if unknown
        return value.to_delayed().ravel().tolist(), rows
    if not isinstance(value, list | tuple):
        raise TypeError(
            f"{name} has the axis {over}: give a list of its shards, or an array of Dask's, not "
            f"{type(value).__name__}; [{name}] is one shard"
        )
    return value, [_count(x, axis) for x in value]


def _whole(x: Any) -> Any:
    return x.compute() if is_dask_array(x) else x


def _of_numpy(x: Any) -> Any:
    """Convert arrays of other types, such as Tensors, to NumPy's, which shards need."""
    known = isinstance(x, np.ndarray | np.generic | Expr) or not hasattr(x, "__array__")
    return x if known else np.asarray(x)


def _count(x: Any, axis: int) -> int | None:
    shape = () if is_of_dask(x) else getattr(x, "shape", ())
    return shape[axis] if len(shape) > axis else None


def _computed(shard: tuple[Any, ...]) -> tuple[Any, ...]:
    if not any(is_of_dask(x) for x in shard):
        return shard
    return tuple(extra("dask", "data of Dask's", "dask").compute(*shard))


def _name(x: Expr) -> str:
    op = x.op
    if not isinstance(op, ops.Symbol):
        raise TypeError(f"sharded: input {x} is not a symbol")
    return op.name


def _names(x: Expr) -> set[str]:
    return {name for dim in x.shape if isinstance(dim, Length) for name in dim.names}
