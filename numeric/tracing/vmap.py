"""``vmap``: apply functions of Tensors to batches.

It traces the function for one slice, and adds a leading axis to the expression with
``symdiff.batch``.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import numpy as np

from numeric.eager.shared_results import placed, share
from numeric.eager.tensor import Tensor, blank
from numeric.eager.traced_arrays import Shadow
from numeric.tracing.functions_as_formulas import Capture, Inner, executed, program, traced
from numeric.tracing.nested import contents, filled, flat
from numeric.tracing.trace import counted
from symdiff.errors import Unsupported
from symdiff.functions.shaping import broadcast_to
from symdiff.graph.leaves import symbol
from symdiff.transforms.batching import batch

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from symdiff.graph.expr import Expr


def vmap(
    func: Callable[..., object],
    in_dims: object = 0,
    out_dims: object = 0,
    randomness: str = "error",
    *,
    chunk_size: int | None = None,
) -> Callable[..., Any]:
    """Return the function that applies ``func`` to all slices of its arguments at once.

    ``func`` is traced for one slice, without values.  Its formula gets a leading axis, and is one
    recorded operation.  Tensors that it finds elsewhere are the same for all slices.

    Args:
        func: a function of tensors, nested in tuples, lists and dicts.
        in_dims: the axis of slices in the arguments, or None for an argument without slices; nested
            like the arguments, or one value for all.
        out_dims: the axis of slices in the results, in the same form.
        randomness: "error" raises if the function draws random numbers; "same" draws the same ones
            for all slices, "different" draws other ones for each.
        chunk_size: accepted for PyTorch's sake.

    Raises ValueError for axes that do not fit.  Raises RuntimeError if values of slices decide the
    control flow, and names the user's line.

    >>> import numeric as torch
    >>> torch.func.vmap(torch.dot)(torch.ones(2, 3), torch.ones(2, 3))
    tensor([3., 3.])
    """
    if randomness not in ("error", "different", "same"):
        raise RuntimeError(
            "Only allowed values for randomness are 'error', 'different', or 'same'. Got "
            f"{randomness}"
        )
    if chunk_size is not None and chunk_size < 1:
        raise ValueError(f"vmap: chunk_size should be None or greater than 0. (got {chunk_size})")
    name = getattr(func, "__name__", repr(func))

    @functools.wraps(func)
    def wrapper(*args: object, **kwargs: object) -> Any:
        if not args:
            raise ValueError(
                f"vmap({name})(<inputs>): got no inputs. Maybe you forgot to add inputs, or you "
                "are trying to vmap over a function with no inputs. The latter is unsupported."
            )
        tree, tensors = flat(args)
        dims = _dims_of(in_dims, args, name)

        def call(operands: list[Tensor]) -> object:
            answer = func(*filled(tree, operands), **kwargs)
            _check_results(name, answer)
            return answer

        return _mapped(call, tensors, dims, out_dims, randomness, name)

    return wrapper


def _mapped(
    call: Callable[[list[Tensor]], object],
    tensors: Sequence[Tensor],
    dims: Sequence[int | None],
    out_dims: object,
    randomness: str,
    name: str,
) -> Any:
    """Apply ``call`` to all slices at once of the tensors with an axis in ``dims``."""
    places = [i for i, d in enumerate(dims) if d is not None]
    batched = [_led(tensors[i], dims[i]) for i in places]
    n = _length(batched)

    def of_slices(slices: list[Tensor]) -> object:
        operands = list(tensors)
        for i, x in zip(places, slices, strict=True):
            operands[i] = x
        return call(operands)

    # Trace always, unlike other transforms: one run for all slices has no values to read.
    trace = Inner("vmap", randomness, n)
    capture = traced(of_slices, batched, [_slice(x) for x in batched], trace, False)
    moves = _out_dims(out_dims, capture.tree, name)
    results = _run(name, capture, trace, batched, n, moves)
    _share(capture, results, batched, moves)
    moved = [y.movedim(0, d) if d else y for y, d in zip(results, moves, strict=True)]
    return filled(capture.tree, moved)


def _led(x: Tensor, dim: int | None) -> Tensor:
    """Return the tensor with the axis of slices moved to the front."""
    return x.movedim(dim, 0) if dim else x


def _length(batched: Sequence[Tensor]) -> int:
    """Return the number of slices; raises ValueError unless all tensors have the same."""
    sizes: list[int] = [x._array.shape[0] for x in batched]
    if not sizes:
        raise ValueError("vmap: Expected at least one Tensor to vmap over")
    if len(set(sizes)) > 1:
        raise ValueError(
            "vmap: Expected all tensors to have the same size in the mapped dimension, got "
            f"sizes {sizes} for the mapped dimension"
        )
    return sizes[0]


def _check_results(name: str, answer: object) -> None:
    for part in contents(answer):
        if not isinstance(part, Tensor):
            raise ValueError(
                f"vmap({name}, ...): `{name}` must only return Tensors, got type {type(part)}. "
                "Did you mean to set out_dims= to None for output?"
            )


def _run(
    name: str,
    capture: Capture,
    trace: Inner,
    batched: Sequence[Tensor],
    n: int,
    moves: Sequence[int | None],
) -> list[Tensor]:
    """Return the results for all slices, with a leading axis unless ``moves`` has None.

    Each symbol of a slice becomes a symbol with a leading axis, and ``batch`` does the rest.
    Random numbers that differ between slices are symbols like the arguments.
    """
    assert capture.exprs is not None
    outs = [*capture.exprs, *counted(capture.checks)]
    slices = [*capture.symbols, *(x for x, _ in trace.draws)]
    full = [symbol(f"b{i}", (n, *s.shape), s.dtype) for i, s in enumerate(slices)]
    mapped = set(slices)
    for y, d in zip(capture.exprs, moves, strict=True):
        if d is None and not mapped.isdisjoint(y.free_symbols):
            raise ValueError(
                f"vmap({name}, ...): `{name}` can not return a BatchedTensor when out_dim is None"
            )
    known = dict(zip(slices, full, strict=True))
    led = [*[d is not None for d in moves], *[True] * len(capture.checks)]
    try:
        # The key determines ``full`` and the formula of a slice.
        function = program(
            ("vmap", n, len(trace.draws), tuple(led), capture.key()),
            lambda: (_batches(outs, led, known, n), [*full, *capture.outer_symbols]),
        )
    except Unsupported as error:
        raise RuntimeError(f"vmap: `{name}` has no formula for a batch ({error})") from None
    # Keep the order of the program's inputs.
    inputs = [*batched, *(x for _, x in trace.draws), *capture.outer]
    return executed(function, inputs, capture.kinds, capture.checks)


def _share(
    capture: Capture,
    results: Sequence[Tensor],
    batched: Sequence[Tensor],
    moves: Sequence[int | None],
) -> None:
    """Make results views of arguments, or of one another, if the results of a slice are."""
    sliced = [i for i, d in enumerate(moves) if d is not None]
    views = placed(capture.given, [capture.results[i] for i in sliced])
    share([results[i] for i in sliced], batched, views, 1)


def _batches(
    outs: Sequence[Expr], led: Sequence[bool], known: dict[Expr, Expr], n: int
) -> list[Expr]:
    """Return the expressions for all slices, with a leading axis where ``led`` is true."""
    free = {x for y in outs for x in y.free_symbols}
    used = {x: z for x, z in known.items() if x in free}
    # ``batch`` accepts free symbols only, and at least one.
    wide = batch(outs, used) if used else [broadcast_to(y, (n, *y.shape)) for y in outs]
    return [z if lead else y for y, z, lead in zip(outs, wide, led, strict=True)]


def _slice(x: Tensor) -> Tensor:
    """Return a tensor with the shape, dtype and memory layout of a slice."""
    array = x._array
    if isinstance(array, Shadow):
        array = array.layout
    # An empty batch has no slice, but the trace must still find the shapes of results.
    if not array.shape[0]:
        return blank(np.empty(array.shape[1:], array.dtype))
    # All slices have the same layout: take the first.
    return blank(array[0])


def _dims_of(in_dims: object, args: tuple[object, ...], name: str) -> list[int | None]:
    """Return the mapped axis of each tensor, not negative, or None."""
    prefix = f"vmap({name}, in_dims={in_dims}, ...)(<inputs>)"
    if not isinstance(in_dims, int | tuple):
        raise ValueError(
            f"{prefix}: expected `in_dims` to be int or a (potentially nested) tuple matching the "
            f"structure of inputs, got: {type(in_dims)}."
        )
    pairs = list(_spread(in_dims, args, prefix))
    out: list[int | None] = []
    for d, x in pairs:
        if d is not None and not isinstance(d, int):
            raise ValueError(
                f"{prefix}: Got in_dim={d} for an input but in_dim must be either an integer "
                "dimension or None."
            )
        if not isinstance(x, Tensor):
            if d is not None:
                raise ValueError(
                    f"{prefix}: Got in_dim={d} for an input but the input is of type {type(x)}. We "
                    "cannot vmap over non-Tensor arguments, please use None as the respective "
                    "in_dim"
                )
            continue
        ndim = x._array.ndim
        if d is not None and not -ndim <= d < ndim:
            raise ValueError(
                f"{prefix}: Got in_dim={d} for some input, but that input is a Tensor of "
                f"dimensionality {ndim} so expected in_dim to satisfy -{ndim} <= in_dim < {ndim}."
            )
        out.append(None if d is None else d % ndim)
    return out


def _spread(d: object, arg: object, prefix: str) -> Iterator[tuple[Any, object]]:
    """Yield the axis that a nested specification assigns to each part of an argument."""
    if isinstance(d, int) or d is None:
        for part in contents(arg):
            yield d, part
        return
    if isinstance(arg, dict) and isinstance(d, dict):
        if arg.keys() == d.keys():
            for key in arg:
                yield from _spread(d[key], arg[key], prefix)
            return
    elif isinstance(arg, list | tuple) and isinstance(d, list | tuple) and len(arg) == len(d):
        for one, part in zip(d, arg, strict=True):
            yield from _spread(one, part, prefix)
        return
    elif not isinstance(d, dict | list | tuple):
        yield d, arg
        return
    raise ValueError(
        f"{prefix}: in_dims is not compatible with the structure of `inputs`. in_dims has "
        f"structure {d} but inputs has {type(arg).__name__}"
    )


def _out_dims(out_dims: object, tree: object, name: str) -> list[int | None]:
    """Return the axis of slices in each result; None for a result without slices."""
    prefix = f"vmap({name}, ..., out_dims={out_dims})(<inputs>)"
    try:
        pairs = list(_spread(out_dims, tree, prefix))
    except ValueError:
        # The error names inputs: raise the one below instead, which names outputs.
        pairs = [(out_dims, None)]
    if any(not (d is None or isinstance(d, int)) for d, _ in pairs):
        raise ValueError(
            f"{prefix}: out_dims is not compatible with the structure of `outputs`. out_dims has "
            f"structure {out_dims} but outputs has structure {tree}"
        )
    return [d for d, _ in pairs]
