"""Derivatives of functions at a point: Jacobians, Hessians, and their products with vectors.

The functions take a tensor or a tuple of tensors, and return one or the other; results are nested
in the same way, first by outputs, then by inputs.  Inputs are left as they are.  Results are
recorded with ``create_graph`` only.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from numeric.modes import Switch
from numeric.tensors import Size, Tensor, wrap
from numeric.transforms import (
    Formula,
    computed,
    derivatives,
    formula,
    independent,
    jacobians,
    pulled,
    pushed,
)
from symdiff import derivative
from symdiff.leaves import full, symbol

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from symdiff.expr import Expr

__all__ = ["hessian", "hvp", "jacobian", "jvp", "vhp", "vjp"]


class _Call:
    """A function at its inputs: what it computes there, and how inputs and outputs are given."""

    def __init__(
        self, name: str, func: Callable[..., Any], inputs: Any, create_graph: bool, strict: bool
    ) -> None:
        self.name = name
        self.tuple_in = isinstance(inputs, tuple)
        self.inputs = _tensors(inputs, name, "inputs")
        for x in self.inputs:
            if x._array.dtype.kind != "f":
                raise RuntimeError("only Tensors of floating point dtype can require gradients")
        if create_graph:  # results are recorded whether or not the inputs are
            self.inputs = [x if x._rg else x.detach().requires_grad_() for x in self.inputs]
        self.create = create_graph
        kinds: list[bool] = []

        def call(given: list[Tensor]) -> Any:
            answer = func(*given)
            _tensors(answer, name, "outputs of the user-provided function")
            kinds.append(isinstance(answer, tuple))
            return answer

        with Switch(grad=True):
            self.formula: Formula = formula(call, self.inputs, connected=create_graph)
        self.tuple_out = kinds[0]
        for i, kind in enumerate(self.formula.kinds):
            if kind.kind != "f" and strict:
                _refuse(i, None)
        if strict:
            for i, j in independent(self.formula, len(self.formula.kinds)):
                _refuse(i, j)
        self.kinds = [x._array.dtype for x in self.inputs]

    def results(
        self,
        what: str,
        build: Callable[[list[Expr], list[Expr], list[Expr]], Sequence[Expr]],
        kinds: Sequence[Any],
        otherwise: Callable[[Sequence[Tensor], Sequence[Tensor], bool], Sequence[Tensor]],
        given: Sequence[Tensor] = (),
    ) -> list[Tensor]:
        """``build(outputs, inputs, vectors)`` at the inputs and the vectors given.

        ``otherwise``: the same by the eager run's outputs and inputs, maybe recorded.
        """
        f = self.formula
        vectors = [symbol(f"v{i}", x._array.shape) for i, x in enumerate(given)]
        with Switch(grad=self.create):
            return computed(
                f,
                f"functional.{what}",
                lambda ys: (
                    list(build(ys, f.symbols, vectors)),
                    [*f.symbols, *f.outer_symbols, *vectors],
                ),
                [*self.inputs, *f.outer, *given],
                kinds,
                lambda: otherwise(f.results or (), f.leaves or (), self.create),
            )

    def values(self) -> list[Tensor]:
        """The outputs."""
        return self.results("value", lambda ys, xs, _: ys, self.formula.kinds, lambda ys, xs, _: ys)

    def by_output(self, values: Sequence[Any]) -> Any:
        """Values of outputs, nested as they are."""
        return tuple(values) if self.tuple_out else values[0]

    def by_input(self, values: Sequence[Any]) -> Any:
        """Values of inputs, nested as they are."""
        return tuple(values) if self.tuple_in else values[0]

    def vectors(self, v: Any, like: Sequence[tuple[int, ...]], what: str) -> list[Tensor]:
        """The vectors to multiply with, of these shapes, checked; 1 where it may be left out."""
        if v is None:
            if len(like) != 1 or np.prod(like[0]) != 1:
                raise RuntimeError(
                    f"The vector v can only be None if the {what} a single Tensor with a single "
                    "element."
                )
            kind = (self.formula.kinds if self.name == "vjp" else self.kinds)[0]
            return [wrap(np.ones(like[0], kind))]
        vs = _tensors(v, self.name, "v")
        if len(vs) != len(like):
            raise RuntimeError(
                f"v is a tuple of invalid length: should be {len(like)} but got {len(vs)}."
            )
        for i, (one, shape) in enumerate(zip(vs, like, strict=True)):
            if one._array.shape != shape:
                entry = f"Entry {i} in v" if len(vs) > 1 else "v"
                raise RuntimeError(
                    f"{entry} has invalid size: should be {Size(shape)} but got "
                    f"{Size(one._array.shape)}."
                )
        return vs

    def scalar(self, strict: bool) -> None:
        """Raise RuntimeError unless there is one output of one element; also for ``strict``."""
        shapes = self.formula.shapes
        if self.tuple_out or len(shapes) != 1:
            raise RuntimeError(f"The function given to {self.name} should return a single Tensor")
        if np.prod(shapes[0]) != 1:
            raise RuntimeError(
                f"The Tensor returned by the function given to {self.name} should contain a single "
                "element"
            )
        outs = self.formula.outs
        if not strict or outs is None:
            return
        for i, g in enumerate(_gradients(outs[0], self.formula.symbols)):
            free = g.free_symbols
            if not any(s is x for s in free for x in self.formula.symbols):
                raise RuntimeError(
                    "While computing the hessian, found that the jacobian of the user-provided "
                    f"function with respect to input {i} is independent of the input. This is not "
                    "allowed in strict mode."
                )


def _refuse(output: int, argument: int | None) -> NoReturn:
    """Raise the RuntimeError of strict mode."""
    if argument is None:
        raise RuntimeError(
            f"Output {output} of the user-provided function does not require gradients. The "
            "outputs must be computed in a differentiable manner from the input when running in "
            "strict mode."
        )
    raise RuntimeError(
        f"Output {output} of the user-provided function is independent of input {argument}. This "
        "is not allowed in strict mode."
    )


def _strategy(name: str, given: str, strict: bool, vectorize: bool) -> None:
    """Refuse what PyTorch refuses, though there is only one way here."""
    if given not in ("forward-mode", "reverse-mode"):
        raise AssertionError('Expected strategy to be either "forward-mode" or "reverse-mode".')
    if given == "forward-mode" and strict:
        raise RuntimeError(
            f'torch.autograd.functional.{name}: `strict=True` and `strategy="forward-mode"` are '
            'not supported together. Please either set `strict=False` or `strategy="reverse-mode"`.'
        )
    if given == "forward-mode" and not vectorize:
        raise NotImplementedError(
            "Computing Jacobian using forward-AD or forward-over-reverse Hessian is only "
            "implemented for `vectorize=True`."
        )
    if strict and vectorize:
        raise RuntimeError(
            f"torch.autograd.functional.{name}: `strict=True` and `vectorized=True` are not "
            "supported together. Please either set `strict=False` or `vectorize=False`."
        )


def _tensors(given: Any, name: str, what: str) -> list[Tensor]:
    tensors = list(given) if isinstance(given, tuple) else [given]
    for i, x in enumerate(tensors):
        if not isinstance(x, Tensor):
            place = f"the value at index {i}" if isinstance(given, tuple) else f"the given {what}"
            raise TypeError(
                f"The {what} given to {name} must be either a Tensor or a tuple of Tensors but "
                f"{place} has type {type(x)}."
            )
    return tensors


# Matrices ---------------------------------------------------------------------------------------


def jacobian(
    func: Callable[..., Any],
    inputs: Any,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    strategy: str = "reverse-mode",
) -> Any:
    """The Jacobian of ``func`` at ``inputs``: shape of the output + shape of the input.

    Args:
        func: takes the inputs, returns a tensor or a tuple of them.
        inputs: a tensor or a tuple of them.
        create_graph: record what is computed.
        strict: refuse outputs that do not depend on an input, whose derivatives are zeros.
        vectorize: accepted for PyTorch's sake: there is no loop.
        strategy: accepted for PyTorch's sake.

    Raises RuntimeError for ``strict``, TypeError for inputs and outputs that are no tensors.

    >>> import numeric as torch
    >>> torch.autograd.functional.jacobian(torch.exp, torch.zeros(2))
    tensor([[1., 0.],
            [0., 1.]])
    """
    _strategy("jacobian", strategy, strict, vectorize)
    call = _Call("jacobian", func, inputs, create_graph, strict)
    f, m = call.formula, len(call.inputs)
    found = call.results(
        "jacobian",
        lambda ys, xs, _: [d for y in ys for d in derivatives(y, xs, 1)],
        call.kinds * len(f.kinds),
        lambda ys, xs, create: jacobians(ys, xs, 1, create),
    )
    rows = [call.by_input(found[i * m : (i + 1) * m]) for i in range(len(f.kinds))]
    return call.by_output(rows)


def hessian(
    func: Callable[..., Any],
    inputs: Any,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    outer_jacobian_strategy: str = "reverse-mode",
) -> Any:
    """The Hessian of ``func``, of one element, at ``inputs``: nested by inputs twice.

    Arguments are those of ``jacobian``.

    >>> import numeric as torch
    >>> torch.autograd.functional.hessian(lambda x: (x**3).sum(), torch.tensor([1.0, 2.0]))
    tensor([[ 6.,  0.],
            [ 0., 12.]])
    """
    _strategy("hessian", outer_jacobian_strategy, strict, vectorize)
    call = _Call("hessian", func, inputs, create_graph, strict)
    call.scalar(strict)
    m = len(call.inputs)
    found = call.results(
        "hessian",
        lambda ys, xs, _: [d for g in _gradients(ys[0], xs) for d in derivatives(g, xs, 1)],
        [kind for kind in call.kinds for _ in range(m)],
        lambda ys, xs, create: jacobians(pulled(ys, xs, [_one(ys[0])], True), xs, 1, create),
    )
    return call.by_input([call.by_input(found[i * m : (i + 1) * m]) for i in range(m)])


def _gradients(y: Expr, xs: list[Expr]) -> list[Expr]:
    """The gradient of an expression of one element."""
    return list(derivative.vjp([y], xs, [full(y.shape, 1)]))


def _one(y: Tensor) -> Tensor:
    return wrap(np.ones_like(y._array))


# Products ---------------------------------------------------------------------------------------


def vjp(
    func: Callable[..., Any],
    inputs: Any,
    v: Any = None,
    create_graph: bool = False,
    strict: bool = False,
) -> tuple[Any, Any]:
    """``(func(inputs), v . J)``: the derivative of ``<v, func>`` by the inputs.

    ``v`` is like the output; it may be left out for an output of one element.

    >>> import numeric as torch
    >>> x = torch.tensor([1.0, 2.0])
    >>> torch.autograd.functional.vjp(lambda x: x * x, x, torch.ones(2))
    (tensor([1., 4.]), tensor([2., 4.]))
    """
    call = _Call("vjp", func, inputs, create_graph, strict)
    vs = call.vectors(v, call.formula.shapes, "user-provided function returns")
    outputs = call.values()
    found = call.results(
        "vjp",
        lambda ys, xs, seeds: derivative.vjp(ys, xs, seeds),
        call.kinds,
        lambda ys, xs, create: pulled(ys, xs, [one.clone() for one in vs], create),
        vs,
    )
    return call.by_output(outputs), call.by_input(found)


def jvp(
    func: Callable[..., Any],
    inputs: Any,
    v: Any = None,
    create_graph: bool = False,
    strict: bool = False,
) -> tuple[Any, Any]:
    """``(func(inputs), J . v)``: the derivative of ``func`` along ``v``.

    ``v`` is like the inputs; it may be left out for one input of one element.

    >>> import numeric as torch
    >>> x = torch.tensor([1.0, 2.0])
    >>> torch.autograd.functional.jvp(lambda x: (x * x).sum(), x, torch.ones(2))
    (tensor(5.), tensor(6.))
    """
    call = _Call("jvp", func, inputs, create_graph, strict)
    f, n = call.formula, len(call.formula.kinds)
    vs = call.vectors(v, [x._array.shape for x in call.inputs], _INPUT)
    found = call.results(
        "jvp",
        lambda ys, xs, seeds: [*ys, *derivative.jvp(ys, xs, seeds)],
        [*f.kinds, *f.kinds],
        lambda ys, xs, create: [*ys, *pushed(ys, xs, [one.clone() for one in vs], create)],
        vs,
    )
    return call.by_output(found[:n]), call.by_output(found[n:])


_INPUT = "input to the user-provided function is"


def vhp(
    func: Callable[..., Any],
    inputs: Any,
    v: Any = None,
    create_graph: bool = False,
    strict: bool = False,
) -> tuple[Any, Any]:
    """``(func(inputs), v . H)``; the same as ``hvp``, as Hessians are symmetric.

    >>> import numeric as torch
    >>> x = torch.tensor([1.0, 2.0])
    >>> torch.autograd.functional.vhp(lambda x: (x**3).sum(), x, torch.ones(2))
    (tensor(9.), tensor([ 6., 12.]))
    """
    return _hessian_product("vhp", func, inputs, v, create_graph, strict)


def hvp(
    func: Callable[..., Any],
    inputs: Any,
    v: Any = None,
    create_graph: bool = False,
    strict: bool = False,
) -> tuple[Any, Any]:
    """``(func(inputs), H . v)``, for ``func`` of one element, without its Hessian.

    ``v`` is like the inputs; it may be left out for one input of one element.

    >>> import numeric as torch
    >>> x = torch.tensor([1.0, 2.0])
    >>> torch.autograd.functional.hvp(lambda x: (x**3).sum(), x, torch.ones(2))
    (tensor(9.), tensor([ 6., 12.]))
    """
    return _hessian_product("hvp", func, inputs, v, create_graph, strict)


def _hessian_product(
    name: str, func: Callable[..., Any], inputs: Any, v: Any, create_graph: bool, strict: bool
) -> tuple[Any, Any]:
    """The Hessian's product with a vector, forward over reverse."""
    call = _Call(name, func, inputs, create_graph, strict)
    call.scalar(strict)
    vs = call.vectors(v, [x._array.shape for x in call.inputs], _INPUT)
    found = call.results(
        "hvp",
        lambda ys, xs, seeds: [ys[0], *derivative.jvp(_gradients(ys[0], xs), xs, seeds)],
        [*call.formula.kinds, *call.kinds],
        lambda ys, xs, create: [
            ys[0],
            *pulled(pulled(ys, xs, [_one(ys[0])], True), xs, [one.clone() for one in vs], create),
        ],
        vs,
    )
    return found[0], call.by_input(found[1:])
