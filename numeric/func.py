"""Functional transforms: functions of Tensors into their derivatives, and over batches.

Functions are run once, and what they computed is differentiated as a formula (``symdiff``), then
lowered; results are recorded operations of the arguments, and of all else that the functions used.
"""

from __future__ import annotations

import functools
import sys
from typing import TYPE_CHECKING, Any

import numpy as np

from numeric.guesses import FUNC
from numeric.shadows import Shadow
from numeric.sharing import placed, share
from numeric.structures import contents, filled, flat
from numeric.tensors import Tensor, blank
from numeric.tracing import counted
from numeric.transforms import (
    Formula,
    Inner,
    computed,
    derivatives,
    formula,
    independent,
    jacobians,
    program,
    pulled,
    pushed,
    recording,
    run,
    traced,
)
from symdiff import derivative
from symdiff.arrays import broadcast_to
from symdiff.batching import batch
from symdiff.errors import Unsupported
from symdiff.guesses import missing
from symdiff.leaves import symbol

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from symdiff.expr import Expr


__all__ = ["grad", "grad_and_value", "hessian", "jacfwd", "jacrev", "jvp", "vjp", "vmap"]

# Gradients --------------------------------------------------------------------------------------


def grad(func: Callable[..., Any], argnums: Any = 0, has_aux: bool = False) -> Callable[..., Any]:
    """The function that computes the gradient of ``func``, whose result has one element.

    Args:
        func: of tensors, nested in tuples, lists and dicts; it returns a tensor of shape (), or
            with ``has_aux`` a pair of it and anything else.
        argnums: which argument the gradient is by; a tuple gives a tuple.
        has_aux: return (gradient, anything else).

    Raises RuntimeError, when called, for a result of another shape.

    >>> import numeric as torch
    >>> torch.func.grad(lambda x: x**3)(torch.tensor(2.0))
    tensor(12.)
    """

    @functools.wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        gradient, _, aux = _gradient(func, argnums, has_aux, args, kwargs)
        return (gradient, aux) if has_aux else gradient

    return wrapper


def grad_and_value(
    func: Callable[..., Any], argnums: Any = 0, has_aux: bool = False
) -> Callable[..., Any]:
    """As ``grad``; the function returns (gradient, value), or (gradient, (value, anything else)).

    >>> import numeric as torch
    >>> torch.func.grad_and_value(lambda x: x**3)(torch.tensor(2.0))
    (tensor(12.), tensor(8.))
    """

    @functools.wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        gradient, value, aux = _gradient(func, argnums, has_aux, args, kwargs)
        return gradient, ((value, aux) if has_aux else value)

    return wrapper


def _gradient(
    func: Callable[..., Any], argnums: Any, has_aux: bool, args: tuple[Any, ...], kwargs: Any
) -> tuple[Any, Any, Any]:
    """Gradient, value and what else the function returned."""
    f, tree, inputs, _ = _formula(func, argnums, has_aux, args, kwargs, "grad")
    if f.shapes[0] != ():
        raise RuntimeError(
            "grad_and_value(f)(*args): Expected f(*args) to return a scalar Tensor, got tensor "
            f"with {len(f.shapes[0])} dims. Maybe you wanted to use the vjp or jacrev APIs instead?"
        )
    results = computed(
        f,
        "grad",
        lambda ys: (
            [*ys, *derivative.grad(ys[0], f.symbols)],
            [*f.symbols, *f.outer_symbols],
        ),
        [*inputs, *f.outer],
        [*f.kinds, *(x._array.dtype for x in inputs)],
        lambda: [*f.results, *jacobians(f.results[:1], f.leaves or (), 1, recording())],
    )
    gradient = filled(tree, results[len(f.kinds) :])
    value, aux = _with_aux(f, results, has_aux)
    return gradient, value, aux


def _formula(
    func: Callable[..., Any],
    argnums: Any,
    has_aux: bool,
    args: tuple[Any, ...],
    kwargs: Any,
    name: str,
) -> tuple[Formula, Any, list[Tensor], int]:
    """The formula of ``func`` in the tensors of chosen arguments.

    Also how these are nested, the tensors, and how many results belong to the value.
    """
    chosen, places = _chosen(argnums, args)
    tree, inputs = flat(chosen)
    for part in contents(chosen):
        if not isinstance(part, Tensor):
            raise ValueError(f"Thing passed to transform API must be Tensor, got {type(part)}")
        if part._array.dtype.kind != "f":
            if name in _FORWARD:
                raise ValueError(
                    f"Expected primal to be floating point or complex, but got: {part.dtype}"
                )
            raise RuntimeError("only Tensors of floating point dtype can require gradients")
    if not inputs:
        raise RuntimeError(f"{_NAMES[name]}: Expected primals to contain at least one Tensor.")
    counts = []

    def call(given: list[Tensor]) -> Any:
        parts = filled(tree, given)
        replaced = list(args)
        many = isinstance(argnums, tuple)
        for place, part in zip(places, parts if many else [parts], strict=True):
            replaced[place] = part
        answer = func(*replaced, **kwargs)
        if has_aux and not (isinstance(answer, tuple) and len(answer) == 2):
            raise RuntimeError(
                f"{_NAMES[name]}: output of function f should be a tuple: (output, aux) if has_aux "
                "is True"
            )
        value = answer[0] if has_aux else answer
        counts.append(_checked(value, name))
        return answer

    f = formula(call, inputs)
    return f, tree, inputs, counts[0]


_NAMES = {
    "grad": "grad_and_value(f)(*args)",
    "vjp": "vjp(f, *primals)",
    "jacrev": "vjp(f, *primals)",
    "jacfwd": "jvp(f, primals, tangents)",
    "hessian": "vjp(f, *primals)",
    "jvp": "jvp(f, primals, tangents)",
}

# What PyTorch does forwards, first at least.
_FORWARD = ("jacfwd", "jvp", "hessian")


def _checked(value: Any, name: str) -> int:
    """How many tensors there are in what a function returned.  Raises RuntimeError for others."""
    if name == "grad" and not isinstance(value, Tensor):
        raise RuntimeError(
            f"{_NAMES[name]}: Expected f(*args) to return a Tensor, got {type(value)}"
        )
    parts = list(contents(value))
    for part in parts:
        if not isinstance(part, Tensor):
            raise RuntimeError(
                f"{_NAMES[name]}: expected f(*args) to return only tensors, got unsupported type "
                f"{type(part)}"
            )
        if name in ("vjp", "jacrev", "hessian") and part._array.dtype.kind != "f":
            raise RuntimeError(
                "vjp(f, ...): All outputs of f must be floating-point or complex Tensors, got "
                f"Tensor with dtype {part.dtype}"
            )
    if not parts:
        raise RuntimeError(f"{_NAMES[name]}: Expected f to return at least one Tensor")
    return len(parts)


def _chosen(argnums: Any, args: tuple[Any, ...]) -> tuple[Any, list[int]]:
    many = isinstance(argnums, tuple)
    numbers = argnums if many else (argnums,)
    places = []
    for i in numbers:
        if not isinstance(i, int) or not -len(args) <= i < len(args):
            raise RuntimeError(f"Got argnum={i}, but only {len(args)} positional inputs")
        places.append(i % len(args))
    if len(set(places)) < len(places):
        raise RuntimeError(f"argnums elements must be unique, got {argnums}")
    chosen = tuple(args[i] for i in places)
    return (chosen if many else chosen[0]), places


def _with_aux(f: Formula, results: Sequence[Tensor], has_aux: bool) -> tuple[Any, Any]:
    answer = filled(f.tree, results)
    return answer if has_aux else (answer, None)


# Jacobians --------------------------------------------------------------------------------------


def jacrev(
    func: Callable[..., Any],
    argnums: Any = 0,
    *,
    has_aux: bool = False,
    chunk_size: int | None = None,
) -> Callable[..., Any]:
    """The function that computes the Jacobian of ``func``: shape of the result + of the argument.

    The formula decides in which order derivatives are taken; ``jacfwd`` is the same.

    Args:
        func: of tensors, nested in tuples, lists and dicts, as its results may be.
        argnums: which argument the Jacobian is by; a tuple gives a tuple for each result.
        has_aux: ``func`` returns (output, anything else), and so does the new function.
        chunk_size: accepted for PyTorch's sake; the Jacobian is one formula.

    >>> import numeric as torch
    >>> torch.func.jacrev(torch.sin)(torch.zeros(2))
    tensor([[1., 0.],
            [0., 1.]])
    """

    @functools.wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        return _jacobians("jacrev", func, argnums, has_aux, args, kwargs)

    return wrapper


def jacfwd(
    func: Callable[..., Any],
    argnums: Any = 0,
    has_aux: bool = False,
    *,
    randomness: str = "error",
) -> Callable[..., Any]:
    """The same as ``jacrev``, in the dtypes of the results rather than those of the arguments.

    >>> import numeric as torch
    >>> torch.func.jacfwd(torch.exp)(torch.zeros(1))
    tensor([[1.]])
    """

    @functools.wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        return _jacobians("jacfwd", func, argnums, has_aux, args, kwargs)

    return wrapper


def hessian(func: Callable[..., Any], argnums: Any = 0) -> Callable[..., Any]:
    """The function that computes the Hessian: shape of the result + of the argument, twice.

    >>> import numeric as torch
    >>> torch.func.hessian(lambda x: (x**3).sum())(torch.tensor([1.0, 2.0]))
    tensor([[ 6.,  0.],
            [ 0., 12.]])
    """

    @functools.wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        return _jacobians("hessian", func, argnums, False, args, kwargs)

    return wrapper


def _jacobians(
    name: str,
    func: Callable[..., Any],
    argnums: Any,
    has_aux: bool,
    args: tuple[Any, ...],
    kwargs: Any,
) -> Any:
    """Jacobians of every result by every argument; for ``hessian``, of these again."""
    order = 2 if name == "hessian" else 1
    f, tree, inputs, n = _formula(func, argnums, has_aux, args, kwargs, name)
    m = len(inputs)
    by_input = [x._array.dtype for x in inputs for _ in range(m ** (order - 1))] * n
    by_output = [kind for kind in f.kinds[:n] for _ in range(m)]
    results = computed(
        f,
        (name, n),
        lambda ys: (
            [*ys, *(d for y in ys[:n] for d in derivatives(y, f.symbols, order))],
            [*f.symbols, *f.outer_symbols],
        ),
        [*inputs, *f.outer],
        f.kinds + (by_output if name == "jacfwd" else by_input),
        lambda: [*f.results, *jacobians(f.results[:n], f.leaves or (), order, recording())],
    )
    rest = iter(results[len(f.kinds) :])

    def nested(depth: int) -> Any:
        if not depth:
            return next(rest)
        return filled(tree, [nested(depth - 1) for _ in range(m)])

    blocks = [nested(order) for _ in range(n)]
    if has_aux:
        blocked = filled(f.tree, [*blocks, *results[n : len(f.kinds)]])[0]
        return blocked, filled(f.tree, results)[1]
    return filled(f.tree, blocks)


# Products with Jacobians --------------------------------------------------------------------------


def vjp(func: Callable[..., Any], *primals: Any, has_aux: bool = False) -> tuple[Any, ...]:
    """``func(*primals)``, and the function of cotangents that pulls them back.

    The latter takes what is nested like the result, and returns a tuple: for each primal what is
    nested like it.  With ``has_aux`` the third item is what else ``func`` returned.

    >>> import numeric as torch
    >>> y, pullback = torch.func.vjp(torch.sin, torch.zeros(2))
    >>> pullback(torch.ones(2))
    (tensor([1., 1.]),)
    """
    f, tree, inputs, n = _formula(func, tuple(range(len(primals))), has_aux, primals, {}, "vjp")
    everything = [*f.symbols, *f.outer_symbols]
    given = [*inputs, *f.outer]
    results = computed(f, "value", lambda ys: (ys, everything), given, f.kinds, lambda: f.results)
    value, aux = _with_aux(f, results, has_aux)
    shape_of, outputs = flat(value)

    def pullback(
        cotangents: Any, retain_graph: bool = True, create_graph: bool | None = None
    ) -> tuple[Any, ...]:
        structure, gs = flat(cotangents)
        if structure != shape_of:
            raise RuntimeError(
                "Expected pytree structure of cotangents to be the same as pytree structure of "
                f"outputs to the function. cotangents: {structure}, primal output: {shape_of}"
            )
        for i, (g, y) in enumerate(zip(gs, outputs, strict=True)):
            if g._array.shape != y._array.shape:
                raise RuntimeError(
                    f"Mismatch in shape: grad_output[{i}] has a shape of {g.shape} and output[{i}] "
                    f"has a shape of {y.shape}."
                )
        seeds = [symbol(f"g{i}", y.shape) for i, y in enumerate(outputs)]
        found: tuple[Any, ...] = filled(
            tree,
            computed(
                f,
                ("vjp", n),
                lambda ys: (derivative.vjp(ys[:n], f.symbols, seeds), [*everything, *seeds]),
                [*given, *gs],
                [x._array.dtype for x in inputs],
                lambda: pulled(f.results[:n], f.leaves or (), [g.clone() for g in gs], recording()),
            ),
        )
        return found

    return (value, pullback, aux) if has_aux else (value, pullback)


def jvp(
    func: Callable[..., Any],
    primals: tuple[Any, ...],
    tangents: tuple[Any, ...],
    *,
    strict: bool = False,
    has_aux: bool = False,
) -> tuple[Any, ...]:
    """``func(*primals)``, and its derivative along ``tangents``.

    Args:
        func: as for ``vjp``.
        primals: a tuple of arguments.
        tangents: a tuple of what is nested, and has shapes, like the primals.
        strict: refuse results that do not depend on the primals.
        has_aux: ``func`` returns (output, anything else); the third item is the latter.

    >>> import numeric as torch
    >>> torch.func.jvp(torch.sin, (torch.zeros(2),), (torch.tensor([1.0, 2.0]),))
    (tensor([0., 0.]), tensor([1., 2.]))
    """
    for what, tree in (("primals", primals), ("tangents", tangents)):
        if not isinstance(tree, tuple):
            raise RuntimeError(
                f"jvp(f, primals, tangents): Expected {what} to be a tuple. E.g. it should be "
                "valid to call f(*primals)."
            )
    tree, inputs = flat(primals)
    structure, given = flat(tangents)
    if structure != tree:
        raise RuntimeError(
            "jvp(f, primals, tangents): Expected primals and tangents to have the same python "
            "structure. For example, if primals is a tuple of 3 tensors, tangents also must be. "
            f"Got primals with structure {tree} and tangents with structure {structure}"
        )
    for t, x in zip(given, inputs, strict=True):
        if t._array.shape != x._array.shape:
            raise RuntimeError(
                "Trying to set a forward gradient that has a different size than that of the "
                f"original Tensor, this is not supported. Tensor is of size {list(x.shape)} while "
                f"the given forward gradient is of size {list(t.shape)}."
            )
    f, _, inputs, n = _formula(func, tuple(range(len(primals))), has_aux, primals, {}, "jvp")
    if strict and any(j is None for _, j in independent(f, n)):
        raise RuntimeError(
            "jvp(f, primals, tangents, strict=True): The output of f is independent of the inputs. "
            "This is not allowed with strict=True."
        )
    seeds = [symbol(f"t{i}", x._array.shape) for i, x in enumerate(inputs)]
    results = computed(
        f,
        ("jvp", n),
        lambda ys: (
            [*ys, *derivative.jvp(ys[:n], f.symbols, seeds)],
            [*f.symbols, *f.outer_symbols, *seeds],
        ),
        [*inputs, *f.outer, *given],
        [*f.kinds, *f.kinds[:n]],
        lambda: [
            *f.results,
            *pushed(f.results[:n], f.leaves or (), [t.clone() for t in given], recording()),
        ],
    )
    value, aux = _with_aux(f, results[: len(f.kinds)], has_aux)
    shape_of, _ = flat(value)
    tangent = filled(shape_of, results[len(f.kinds) :])
    return (value, tangent, aux) if has_aux else (value, tangent)


# Batches ----------------------------------------------------------------------------------------


def vmap(
    func: Callable[..., Any],
    in_dims: Any = 0,
    out_dims: Any = 0,
    randomness: str = "error",
    *,
    chunk_size: int | None = None,
) -> Callable[..., Any]:
    """The function that applies ``func`` to each slice of its arguments, at once.

    ``func`` is traced for one slice, without values; its formula gets a leading axis, and is one
    recorded operation.  Tensors that it finds elsewhere are the same for all slices.

    Args:
        func: of tensors, nested in tuples, lists and dicts.
        in_dims: the axis along which arguments are sliced; None for those that are not; nested
            like the arguments, or a number for all.
        out_dims: where the results have the axis of slices, in the same way.
        randomness: "error" refuses random numbers that are drawn inside; with "same" they are
            the same for all slices, with "different" there are others for each.
        chunk_size: accepted for PyTorch's sake.

    Raises ValueError for axes that do not fit, RuntimeError where values of slices decide what is
    done, naming the user's line.

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
    told = f"vmap({name}, in_dims={in_dims}, ...)(<inputs>)"

    @functools.wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        if not args:
            raise ValueError(
                f"vmap({name})(<inputs>): got no inputs. Maybe you forgot to add inputs, or you "
                "are trying to vmap over a function with no inputs. The latter is unsupported."
            )
        tree, tensors = flat(args)
        dims = _dims_of(in_dims, args, told)
        sizes = [x._array.shape[d] for x, d in zip(tensors, dims, strict=True) if d is not None]
        if not sizes:
            raise ValueError("vmap: Expected at least one Tensor to vmap over")
        if len(set(sizes)) > 1:
            raise ValueError(
                "vmap: Expected all tensors to have the same size in the mapped dimension, got "
                f"sizes {sizes} for the mapped dimension"
            )
        return _mapped(func, tree, tensors, dims, out_dims, kwargs, randomness)

    return wrapper


def _mapped(
    func: Callable[..., Any],
    tree: Any,
    tensors: list[Tensor],
    dims: list[int | None],
    out_dims: Any,
    kwargs: Any,
    randomness: str,
) -> Any:
    name = getattr(func, "__name__", repr(func))
    led = [x if d in (None, 0) else x.movedim(d, 0) for x, d in zip(tensors, dims, strict=True)]
    places = [i for i, d in enumerate(dims) if d is not None]
    batched = [led[i] for i in places]
    parts: list[Any] = []

    def call(given: list[Tensor]) -> Any:
        whole = list(tensors)
        for i, x in zip(places, given, strict=True):
            whole[i] = x
        answer = func(*filled(tree, whole), **kwargs)
        parts.extend(contents(answer))
        for part in parts:
            if not isinstance(part, Tensor):
                raise ValueError(
                    f"vmap({name}, ...): `{name}` must only return Tensors, got type {type(part)}. "
                    "Did you mean to set out_dims= to None for output?"
                )
        return answer

    n = batched[0]._array.shape[0]
    trace = Inner("vmap", randomness, n)
    f = traced(call, batched, [_slice(x) for x in batched], trace, False)
    assert f.outs is not None
    outs, kinds = f.outs, f.kinds
    slices = [*f.symbols, *(x for x, _ in trace.draws)]
    full = [symbol(f"b{i}", (n, *s.shape), s.dtype) for i, s in enumerate(slices)]
    moves = _out_dims(out_dims, f.tree, name)
    counts = counted(f.checks)
    mapped = set(slices)
    for y, d in zip(outs, moves, strict=True):
        if d is None and not mapped.isdisjoint(y.free_symbols):
            raise ValueError(
                f"vmap({name}, ...): `{name}` can not return a BatchedTensor when out_dim is None"
            )
    known = dict(zip(slices, full, strict=True))
    try:
        function = program(
            ("vmap", n, len(trace.draws), tuple([d is None for d in moves]), f.key()),
            lambda: (
                _batches([*outs, *counts], [*moves, *[0] * len(counts)], known, n),
                [*full, *f.outer_symbols],
            ),
        )
    except Unsupported as error:
        raise RuntimeError(f"vmap: `{name}` has no formula for a batch ({error})") from None
    given = [*batched, *(x for _, x in trace.draws), *f.outer]
    results = run(function, given, kinds, f.checks)
    sliced = [i for i, d in enumerate(moves) if d is not None]
    views = placed(f.given, [f.results[i] for i in sliced])
    share([results[i] for i in sliced], batched, views, 1)
    moved = [y.movedim(0, d) if d else y for y, d in zip(results, moves, strict=True)]
    return filled(f.tree, moved)


def _batches(
    outs: Sequence[Expr], moves: Sequence[int | None], known: dict[Expr, Expr], n: int
) -> list[Expr]:
    """The results for all slices, with a leading axis but where there is to be none."""
    free = {x for y in outs for x in y.free_symbols}
    used = {x: z for x, z in known.items() if x in free}
    led = batch(outs, used) if used else [broadcast_to(y, (n, *y.shape)) for y in outs]
    return [y if d is None else z for y, z, d in zip(outs, led, moves, strict=True)]


def _slice(x: Tensor) -> Tensor:
    """Something that has the shape and dtype of a slice, and lies in memory as it does."""
    array: Any = x._array
    if isinstance(array, Shadow):
        array = array.layout
    if not array.shape[0]:
        return blank(np.empty(array.shape[1:], array.dtype))
    return blank(array[0])


def _dims_of(in_dims: Any, args: tuple[Any, ...], told: str) -> list[int | None]:
    """The mapped axis of each tensor, not negative; None where there is none."""
    if not isinstance(in_dims, int | tuple):
        raise ValueError(
            f"{told}: expected `in_dims` to be int or a (potentially nested) tuple matching the "
            f"structure of inputs, got: {type(in_dims)}."
        )
    pairs = list(_spread(in_dims, args, told))
    out: list[int | None] = []
    for d, x in pairs:
        if d is not None and not isinstance(d, int):
            raise ValueError(
                f"{told}: Got in_dim={d} for an input but in_dim must be either an integer "
                "dimension or None."
            )
        if not isinstance(x, Tensor):
            if d is not None:
                raise ValueError(
                    f"{told}: Got in_dim={d} for an input but the input is of type {type(x)}. We "
                    "cannot vmap over non-Tensor arguments, please use None as the respective "
                    "in_dim"
                )
            continue
        ndim = x._array.ndim
        if d is not None and not -ndim <= d < ndim:
            raise ValueError(
                f"{told}: Got in_dim={d} for some input, but that input is a Tensor of "
                f"dimensionality {ndim} so expected in_dim to satisfy -{ndim} <= in_dim < {ndim}."
            )
        out.append(None if d is None else d % ndim)
    return out


def _spread(d: Any, arg: Any, told: str) -> Iterator[tuple[Any, Any]]:
    """A specification of axes with each part of an argument."""
    if isinstance(d, int) or d is None:
        for part in contents(arg):
            yield d, part
        return
    if isinstance(arg, dict) and isinstance(d, dict):
        if arg.keys() == d.keys():
            for key in arg:
                yield from _spread(d[key], arg[key], told)
            return
    elif isinstance(arg, list | tuple) and isinstance(d, list | tuple) and len(arg) == len(d):
        for one, part in zip(d, arg, strict=True):
            yield from _spread(one, part, told)
        return
    elif not isinstance(d, dict | list | tuple):
        yield d, arg
        return
    raise ValueError(
        f"{told}: in_dims is not compatible with the structure of `inputs`. in_dims has structure "
        f"{d} but inputs has {type(arg).__name__}"
    )


def _out_dims(out_dims: Any, tree: Any, name: str) -> list[int | None]:
    """The axis of slices in each result; None for those that are the same for all."""
    told = f"vmap({name}, ..., out_dims={out_dims})(<inputs>)"
    try:
        pairs = list(_spread(out_dims, tree, told))
    except ValueError:
        pairs = [(out_dims, None)]
    if any(not (d is None or isinstance(d, int)) for d, _ in pairs):
        raise ValueError(
            f"{told}: out_dims is not compatible with the structure of `outputs`. out_dims has "
            f"structure {out_dims} but outputs has structure {tree}"
        )
    return [d for d, _ in pairs]


if not TYPE_CHECKING:  # which would take every name for one of the module's

    def __getattr__(name: str) -> object:
        raise missing("module 'numeric.func'", name, FUNC, sys.modules[__name__])
