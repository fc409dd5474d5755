"""Functional transforms: derivatives, batches, loops and solutions of functions of Tensors.

A transform runs the function once, differentiates its formula with ``symdiff`` and lowers the
derivative.  A result is one recorded operation of the arguments and of other tensors that the
function uses.
"""

from __future__ import annotations

import functools
import sys
from typing import TYPE_CHECKING, Any

from numeric import tensors as _tensors  # noqa: F401  # first: its operations, as users have them
from numeric.autograd.evaluations import (
    GRADIENT,
    HESSIANS,
    JACOBIAN,
    JACOBIAN_FORWARD,
    JVP,
    NONE,
    VJP,
    Derivative,
    Evaluation,
)
from numeric.eager.tensor import Tensor
from numeric.guesses import FUNC
from numeric.ops.arguments import explain
from numeric.tracing.loops import fori_loop, scan, while_loop
from numeric.tracing.nested import contents, filled, flat
from numeric.tracing.solutions import fixed_point, minimize, odeint, root
from numeric.tracing.vmap import vmap
from symdiff.guesses import missing

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable


__all__ = [
    "fixed_point",
    "fori_loop",
    "grad",
    "grad_and_value",
    "hessian",
    "jacfwd",
    "jacrev",
    "jvp",
    "minimize",
    "odeint",
    "root",
    "scan",
    "vjp",
    "vmap",
    "while_loop",
]

# Gradients --------------------------------------------------------------------------------------


def grad(
    func: Callable[..., object], argnums: int | tuple[int, ...] = 0, has_aux: bool = False
) -> Callable[..., Any]:
    """Return the function that computes the gradient of ``func``.

    Args:
        func: a function of tensors, nested in tuples, lists and dicts.  It returns a tensor of
            shape (), or with ``has_aux`` a pair of it and any object.
        argnums: the argument to differentiate by; a tuple of them gives a tuple of gradients.
        has_aux: return the pair (gradient, object).

    The returned function raises RuntimeError for a result of another shape.

    >>> import numeric as torch
    >>> torch.func.grad(lambda x: x**3)(torch.tensor(2.0))
    tensor(12.)
    """

    @functools.wraps(func)
    def wrapper(*args: object, **kwargs: object) -> Any:
        gradient, answer = _gradient(func, argnums, has_aux, args, kwargs, values=has_aux)
        return (gradient, answer[1]) if has_aux else gradient

    return wrapper


def grad_and_value(
    func: Callable[..., object], argnums: int | tuple[int, ...] = 0, has_aux: bool = False
) -> Callable[..., Any]:
    """Return a function that computes the gradient and the value; arguments are as for ``grad``.

    Its result is (gradient, value), or with ``has_aux`` (gradient, (value, object)).

    >>> import numeric as torch
    >>> torch.func.grad_and_value(lambda x: x**3)(torch.tensor(2.0))
    (tensor(12.), tensor(8.))
    """

    @functools.wraps(func)
    def wrapper(*args: object, **kwargs: object) -> Any:
        gradient, (value, aux) = _gradient(func, argnums, has_aux, args, kwargs, values=True)
        return gradient, ((value, aux) if has_aux else value)

    return wrapper


def _gradient(
    func: Callable[..., object],
    argnums: int | tuple[int, ...],
    has_aux: bool,
    args: tuple[object, ...],
    kwargs: dict[str, object],
    values: bool,
) -> tuple[Any, Any]:
    """Return the gradient and, if ``values``, the pair of value and auxiliary object."""
    call = _Call("grad", func, argnums, has_aux, args, kwargs)
    shape = call.capture.shapes[0]
    if shape != ():
        raise RuntimeError(
            "grad_and_value(f)(*args): Expected f(*args) to return a scalar Tensor, got tensor "
            f"with {len(shape)} dims. Maybe you wanted to use the vjp or jacrev APIs instead?"
        )
    results, gradient = call.computed(GRADIENT, values=values)
    return call.by_inputs(iter(gradient)), call.answer(results) if values else None


# Calls of functions -------------------------------------------------------------------------------

# The names in PyTorch's messages: its transforms call one another.
_NAMES = {
    "grad": "grad_and_value(f)(*args)",
    "vjp": "vjp(f, *primals)",
    "jacrev": "vjp(f, *primals)",
    "jacfwd": "jvp(f, primals, tangents)",
    "hessian": "vjp(f, *primals)",
    "jvp": "jvp(f, primals, tangents)",
}

# The transforms in which PyTorch's first pass is in forward mode: their messages differ.
_FORWARD = ("jacfwd", "jvp", "hessian")


class _Call(Evaluation):
    """A function evaluated at arguments, with the rules of the transform ``name``.

    ``argnums`` are the arguments to differentiate by.  With ``has_aux`` the function returns a
    pair, and only the first part is differentiated.
    """

    def __init__(
        self,
        name: str,
        func: Callable[..., object],
        argnums: int | tuple[int, ...],
        has_aux: bool,
        args: tuple[object, ...],
        kwargs: dict[str, object],
    ) -> None:
        self.name, self.has_aux = name, has_aux
        chosen, places = _chosen(argnums, args)
        _check_inputs(name, contents(chosen))
        structure, inputs = flat(chosen)
        if not inputs:
            raise RuntimeError(f"{_NAMES[name]}: Expected primals to contain at least one Tensor.")
        counts = []

        def call(tensors: list[Tensor]) -> object:
            parts = filled(structure, tensors)
            replaced = list(args)
            many = isinstance(argnums, tuple)
            for place, part in zip(places, parts if many else [parts], strict=True):
                replaced[place] = part
            answer: Any = func(*replaced, **kwargs)
            if has_aux and not (isinstance(answer, tuple) and len(answer) == 2):
                raise RuntimeError(
                    f"{_NAMES[name]}: output of function f should be a tuple: (output, aux) if "
                    "has_aux is True"
                )
            counts.append(_checked(name, answer[0] if has_aux else answer))
            return answer

        super().__init__(call, inputs, structure)
        self.differentiated = counts[0]

    def answer(self, values: list[Tensor]) -> tuple[Any, Any]:
        """Return the value and the auxiliary object, from one entry for each returned tensor."""
        answer = self.by_results(values)
        return answer if self.has_aux else (answer, None)


def _check_inputs(name: str, parts: Iterable[object]) -> None:
    """Raise ValueError or RuntimeError unless all parts are tensors of a floating dtype."""
    for part in parts:
        if not isinstance(part, Tensor):
            raise ValueError(f"Thing passed to transform API must be Tensor, got {type(part)}")
        if part._array.dtype.kind != "f":
            if name in _FORWARD:
                raise ValueError(
                    f"Expected primal to be floating point or complex, but got: {part.dtype}"
                )
            raise RuntimeError("only Tensors of floating point dtype can require gradients")


def _checked(name: str, value: object) -> int:
    """Return the number of tensors in a function's result.

    Raises RuntimeError for parts that are not tensors, or have no derivative.
    """
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


def _chosen(argnums: int | tuple[int, ...], args: tuple[object, ...]) -> tuple[object, list[int]]:
    """Return the arguments to differentiate by, one or a tuple, and their positions."""
    many = isinstance(argnums, tuple)
    numbers = argnums if isinstance(argnums, tuple) else (argnums,)
    places = []
    for i in numbers:
        if not isinstance(i, int) or not -len(args) <= i < len(args):
            raise RuntimeError(f"Got argnum={i}, but only {len(args)} positional inputs")
        places.append(i % len(args))
    if len(set(places)) < len(places):
        raise RuntimeError(f"argnums elements must be unique, got {argnums}")
    chosen = tuple(args[i] for i in places)
    return (chosen if many else chosen[0]), places


# Jacobians --------------------------------------------------------------------------------------


def jacrev(
    func: Callable[..., object],
    argnums: int | tuple[int, ...] = 0,
    *,
    has_aux: bool = False,
    chunk_size: int | None = None,
) -> Callable[..., Any]:
    """Return the function that computes the Jacobian of ``func``.

    The Jacobian's shape is the shape of the result followed by the shape of the argument.  Each
    result is differentiated in the mode with fewer passes, as by ``symdiff.jacobian``; so does
    ``jacfwd``.

    Args:
        func: a function of tensors, nested in tuples, lists and dicts; results may be nested, too.
        argnums: the argument to differentiate by; a tuple gives a tuple for each result.
        has_aux: ``func`` returns (output, object); the new function returns (Jacobian, object).
        chunk_size: accepted for PyTorch's sake; the Jacobian is one formula.

    >>> import numeric as torch
    >>> torch.func.jacrev(torch.sin)(torch.zeros(2))
    tensor([[1., 0.],
            [0., 1.]])
    """

    @functools.wraps(func)
    def wrapper(*args: object, **kwargs: object) -> Any:
        return _jacobians("jacrev", JACOBIAN, func, argnums, has_aux, args, kwargs)

    return wrapper


def jacfwd(
    func: Callable[..., object],
    argnums: int | tuple[int, ...] = 0,
    has_aux: bool = False,
    *,
    randomness: str = "error",
) -> Callable[..., Any]:
    """Return the function of ``jacrev``, but in the dtypes of the results, not of the arguments.

    >>> import numeric as torch
    >>> torch.func.jacfwd(torch.exp)(torch.zeros(1))
    tensor([[1.]])
    """

    @functools.wraps(func)
    def wrapper(*args: object, **kwargs: object) -> Any:
        return _jacobians("jacfwd", JACOBIAN_FORWARD, func, argnums, has_aux, args, kwargs)

    return wrapper


def hessian(func: Callable[..., object], argnums: int | tuple[int, ...] = 0) -> Callable[..., Any]:
    """Return the function that computes the Hessian of ``func``.

    Its shape is the shape of the result followed by the shape of the argument, twice.

    >>> import numeric as torch
    >>> torch.func.hessian(lambda x: (x**3).sum())(torch.tensor([1.0, 2.0]))
    tensor([[ 6.,  0.],
            [ 0., 12.]])
    """

    @functools.wraps(func)
    def wrapper(*args: object, **kwargs: object) -> Any:
        return _jacobians("hessian", HESSIANS, func, argnums, False, args, kwargs)

    return wrapper


def _jacobians(
    name: str,
    wanted: Derivative,
    func: Callable[..., object],
    argnums: int | tuple[int, ...],
    has_aux: bool,
    args: tuple[object, ...],
    kwargs: dict[str, object],
) -> Any:
    """Return the Jacobians or Hessians of every result by every argument, nested like both."""
    call = _Call(name, func, argnums, has_aux, args, kwargs)
    values, derivatives = call.computed(wanted, values=has_aux)
    rest, n = iter(derivatives), call.differentiated
    order = 2 if wanted is HESSIANS else 1
    blocks = [call.by_inputs(rest, order) for _ in range(n)]
    if not has_aux:
        return call.by_results(blocks)
    return call.answer([*blocks, *values[n:]])[0], call.answer(values)[1]


# Products with Jacobians --------------------------------------------------------------------------


def vjp(func: Callable[..., object], *primals: object, has_aux: bool = False) -> tuple[Any, ...]:
    """Return ``func(*primals)`` and its pullback, a function of cotangents.

    The pullback takes cotangents nested like the result, and returns a tuple with the gradients of
    each primal, nested like it.  With ``has_aux`` the auxiliary object of ``func`` is the third
    item.

    >>> import numeric as torch
    >>> y, pullback = torch.func.vjp(torch.sin, torch.zeros(2))
    >>> pullback(torch.ones(2))
    (tensor([1., 1.]),)
    """
    call = _Call("vjp", func, tuple(range(len(primals))), has_aux, primals, {})
    value, aux = call.answer(call.computed(NONE, values=True)[0])
    shape_of, outputs = flat(value)

    def pullback(
        cotangents: object, retain_graph: bool = True, create_graph: bool | None = None
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
        gradients: tuple[Any, ...] = call.by_inputs(iter(call.computed(VJP, gs)[1]))
        return gradients

    return (value, pullback, aux) if has_aux else (value, pullback)


def jvp(
    func: Callable[..., object],
    primals: tuple[object, ...],
    tangents: tuple[object, ...],
    *,
    strict: bool = False,
    has_aux: bool = False,
) -> tuple[Any, ...]:
    """Return ``func(*primals)`` and its derivative along ``tangents``.

    Args:
        func: as for ``vjp``.
        primals: a tuple of arguments.
        tangents: a tuple with the nesting and the shapes of the primals.
        strict: refuse results that do not depend on the primals.
        has_aux: ``func`` returns (output, object); the object is the third item.

    >>> import numeric as torch
    >>> torch.func.jvp(torch.sin, (torch.zeros(2),), (torch.tensor([1.0, 2.0]),))
    (tensor([0., 0.]), tensor([1., 2.]))
    """
    directions = _tangents(primals, tangents)
    call = _Call("jvp", func, tuple(range(len(primals))), has_aux, primals, {})
    if strict and any(j is None for _, j in call.independent()):
        raise RuntimeError(
            "jvp(f, primals, tangents, strict=True): The output of f is independent of the inputs. "
            "This is not allowed with strict=True."
        )
    values, derivatives = call.computed(JVP, directions, values=True)
    value, aux = call.answer(values)
    tangent = filled(flat(value)[0], derivatives)
    return (value, tangent, aux) if has_aux else (value, tangent)


def _tangents(primals: object, tangents: object) -> list[Tensor]:
    """Return the tensors of the tangents.

    Raises RuntimeError unless they have the nesting and the shapes of the primals.
    """
    for what, value in (("primals", primals), ("tangents", tangents)):
        if not isinstance(value, tuple):
            raise RuntimeError(
                f"jvp(f, primals, tangents): Expected {what} to be a tuple. E.g. it should be "
                "valid to call f(*primals)."
            )
    (tree, inputs), (structure, directions) = flat(primals), flat(tangents)
    if structure != tree:
        raise RuntimeError(
            "jvp(f, primals, tangents): Expected primals and tangents to have the same python "
            "structure. For example, if primals is a tuple of 3 tensors, tangents also must be. "
            f"Got primals with structure {tree} and tangents with structure {structure}"
        )
    for t, x in zip(directions, inputs, strict=True):
        if t._array.shape != x._array.shape:
            raise RuntimeError(
                "Trying to set a forward gradient that has a different size than that of the "
                f"original Tensor, this is not supported. Tensor is of size {list(x.shape)} while "
                f"the given forward gradient is of size {list(t.shape)}."
            )
    return directions


if not TYPE_CHECKING:  # a type checker would accept every name of the module
    explain(__name__)

    def __getattr__(name: str) -> object:
        raise missing("module 'numeric.func'", name, FUNC, sys.modules[__name__])
