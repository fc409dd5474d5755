"""Derivatives of functions at a point: Jacobians, Hessians, and their products with vectors.

The functions take and return a tensor or a tuple of tensors.  Results are nested in the same way,
first by outputs, then by inputs.  Inputs do not change.  Results are recorded with ``create_graph``
only.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from numeric.autograd.evaluations import (
    HESSIAN,
    HVP,
    JACOBIAN,
    JVP,
    VJP,
    Derivative,
    Evaluation,
    gradients,
)
from numeric.eager.tensor import Tensor, wrap
from numeric.modes import Switch
from numeric.ops.arguments import explain
from numeric.tracing.nested import Leaf, flat
from symdiff.contexts import contained

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["hessian", "hvp", "jacobian", "jvp", "vhp", "vjp"]


class _Call(Evaluation):
    """A function evaluated at its inputs, with the rules of the function ``name``.

    With ``create`` results are recorded, even if the inputs are not.
    """

    @contained
    def __init__(
        self, name: str, func: Callable[..., object], inputs: object, create: bool, strict: bool
    ) -> None:
        self.name, self.create, self.strict = name, create, strict
        tensors = _tensors(inputs, name, "inputs")
        for x in tensors:
            if x._array.dtype.kind != "f":
                raise RuntimeError("only Tensors of floating point dtype can require gradients")
        if create:
            tensors = [x if x._rg else x.detach().requires_grad_() for x in tensors]

        def call(xs: list[Tensor]) -> object:
            answer = func(*xs)
            _tensors(answer, name, "outputs of the user-provided function")
            return answer

        with Switch(grad=True):
            super().__init__(call, tensors, flat(inputs)[0], connected=create)
        if strict:
            for i, kind in enumerate(self.capture.kinds):
                if kind.kind != "f":
                    _refuse(i, None)
            for i, j in self.independent():
                _refuse(i, j)

    @contained
    def computed(
        self, wanted: Derivative, vectors: Sequence[Tensor] = (), values: bool = False
    ) -> tuple[list[Tensor], list[Tensor]]:
        """Compute as any evaluation does, but record only with ``create_graph``."""
        with Switch(grad=self.create):
            return super().computed(wanted, vectors, values)

    def product(self, wanted: Derivative, vectors: Sequence[Tensor]) -> tuple[Any, list[Tensor]]:
        """Return the nested outputs and a derivative along vectors."""
        values, derivatives = self.computed(wanted, vectors, values=True)
        return self.by_results(values), derivatives

    def like_inputs(self, v: object) -> list[Tensor]:
        """Return the vectors of a product, one for each input."""
        return self._vectors(v, self.inputs, "input to the user-provided function is")

    def like_outputs(self, v: object) -> list[Tensor]:
        """Return the vectors of a product, one for each output."""
        return self._vectors(v, self.capture.results, "user-provided function returns")

    def _vectors(self, v: object, like: Sequence[Tensor], what: str) -> list[Tensor]:
        """Check that vectors have the shapes of ``like``; None is 1 for one element."""
        if v is None:
            if len(like) != 1 or like[0]._array.size != 1:
                raise RuntimeError(
                    f"The vector v can only be None if the {what} a single Tensor with a single "
                    "element."
                )
            return [wrap(np.ones(like[0]._array.shape, like[0]._array.dtype))]
        vs = _tensors(v, self.name, "v")
        if len(vs) != len(like):
            raise RuntimeError(
                f"v is a tuple of invalid length: should be {len(like)} but got {len(vs)}."
            )
        for i, (one, x) in enumerate(zip(vs, like, strict=True)):
            if one._array.shape != x._array.shape:
                entry = f"Entry {i} in v" if len(vs) > 1 else "v"
                raise RuntimeError(
                    f"{entry} has invalid size: should be {x.shape} but got {one.shape}."
                )
        return vs

    def scalar(self) -> _Call:
        """Return the call itself.  Raises RuntimeError unless there is one output of one element.

        With ``strict`` it also raises if a gradient does not depend on the inputs.
        """
        shapes = self.capture.shapes
        if not isinstance(self.capture.tree, Leaf):
            raise RuntimeError(f"The function given to {self.name} should return a single Tensor")
        if math.prod(shapes[0]) != 1:
            raise RuntimeError(
                f"The Tensor returned by the function given to {self.name} should contain a single "
                "element"
            )
        exprs, symbols = self.capture.exprs, self.capture.symbols
        if not self.strict or exprs is None:
            return self
        for i, g in enumerate(gradients(exprs, symbols)):
            free = g.free_symbols
            if not any(s is x for s in free for x in symbols):
                raise RuntimeError(
                    "While computing the hessian, found that the jacobian of the user-provided "
                    f"function with respect to input {i} is independent of the input. This is not "
                    "allowed in strict mode."
                )
        return self


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


def _strategy(name: str, strategy: str, strict: bool, vectorize: bool) -> None:
    """Raise for the options that PyTorch refuses, although they have no effect here."""
    if strategy not in ("forward-mode", "reverse-mode"):
        raise AssertionError('Expected strategy to be either "forward-mode" or "reverse-mode".')
    if strategy == "forward-mode" and strict:
        raise RuntimeError(
            f'torch.autograd.functional.{name}: `strict=True` and `strategy="forward-mode"` are '
            'not supported together. Please either set `strict=False` or `strategy="reverse-mode"`.'
        )
    if strategy == "forward-mode" and not vectorize:
        raise NotImplementedError(
            "Computing Jacobian using forward-AD or forward-over-reverse Hessian is only "
            "implemented for `vectorize=True`."
        )
    if strict and vectorize:
        raise RuntimeError(
            f"torch.autograd.functional.{name}: `strict=True` and `vectorized=True` are not "
            "supported together. Please either set `strict=False` or `vectorize=False`."
        )


def _tensors(value: Any, name: str, what: str) -> list[Tensor]:
    tensors = list(value) if isinstance(value, tuple) else [value]
    for i, x in enumerate(tensors):
        if not isinstance(x, Tensor):
            place = f"the value at index {i}" if isinstance(value, tuple) else f"the given {what}"
            raise TypeError(
                f"The {what} given to {name} must be either a Tensor or a tuple of Tensors but "
                f"{place} has type {type(x)}."
            )
    return tensors


# Matrices ---------------------------------------------------------------------------------------


def jacobian(
    func: Callable[..., object],
    inputs: Tensor | tuple[Tensor, ...],
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    strategy: str = "reverse-mode",
) -> Any:
    """Return the Jacobian of ``func`` at ``inputs``.

    Its shape is the shape of the output followed by the shape of the input.

    Args:
        func: a function of the inputs that returns a tensor or a tuple of tensors.
        inputs: a tensor or a tuple of tensors.
        create_graph: record the result, so that it can be differentiated.
        strict: raise for outputs that do not depend on an input, instead of returning zeros.
        vectorize: accepted for PyTorch's sake; there is no loop.
        strategy: accepted for PyTorch's sake; the numbers of elements decide.

    Raises RuntimeError as ``strict`` says, TypeError for inputs and outputs that are not tensors.

    >>> import numeric as torch
    >>> torch.autograd.functional.jacobian(torch.exp, torch.zeros(2))
    tensor([[1., 0.],
            [0., 1.]])
    """
    _strategy("jacobian", strategy, strict, vectorize)
    call = _Call("jacobian", func, inputs, create_graph, strict)
    rest = iter(call.computed(JACOBIAN)[1])
    return call.by_results([call.by_inputs(rest) for _ in call.capture.results])


def hessian(
    func: Callable[..., object],
    inputs: Tensor | tuple[Tensor, ...],
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    outer_jacobian_strategy: str = "reverse-mode",
) -> Any:
    """Return the Hessian of ``func`` at ``inputs``, nested by inputs twice.

    The output of ``func`` has one element.  Arguments are those of ``jacobian``.

    >>> import numeric as torch
    >>> torch.autograd.functional.hessian(lambda x: (x**3).sum(), torch.tensor([1.0, 2.0]))
    tensor([[ 6.,  0.],
            [ 0., 12.]])
    """
    _strategy("hessian", outer_jacobian_strategy, strict, vectorize)
    call = _Call("hessian", func, inputs, create_graph, strict).scalar()
    return call.by_inputs(iter(call.computed(HESSIAN)[1]), 2)


# Products ---------------------------------------------------------------------------------------


def vjp(
    func: Callable[..., object],
    inputs: Tensor | tuple[Tensor, ...],
    v: Tensor | tuple[Tensor, ...] | None = None,
    create_graph: bool = False,
    strict: bool = False,
) -> tuple[Any, Any]:
    """Return ``(func(inputs), v . J)``; the latter is the derivative of ``<v, func>`` by inputs.

    ``v`` has the structure and shapes of the output; it may be omitted for an output of one
    element.

    >>> import numeric as torch
    >>> x = torch.tensor([1.0, 2.0])
    >>> torch.autograd.functional.vjp(lambda x: x * x, x, torch.ones(2))
    (tensor([1., 4.]), tensor([2., 4.]))
    """
    call = _Call("vjp", func, inputs, create_graph, strict)
    outputs, gradients = call.product(VJP, call.like_outputs(v))
    return outputs, call.by_inputs(iter(gradients))


def jvp(
    func: Callable[..., object],
    inputs: Tensor | tuple[Tensor, ...],
    v: Tensor | tuple[Tensor, ...] | None = None,
    create_graph: bool = False,
    strict: bool = False,
) -> tuple[Any, Any]:
    """Return ``(func(inputs), J . v)``; the latter is the derivative of ``func`` along ``v``.

    ``v`` has the structure and shapes of the inputs; it may be omitted for one input of one
    element.

    >>> import numeric as torch
    >>> x = torch.tensor([1.0, 2.0])
    >>> torch.autograd.functional.jvp(lambda x: (x * x).sum(), x, torch.ones(2))
    (tensor(5.), tensor(6.))
    """
    call = _Call("jvp", func, inputs, create_graph, strict)
    outputs, tangents = call.product(JVP, call.like_inputs(v))
    return outputs, call.by_results(tangents)


def vhp(
    func: Callable[..., object],
    inputs: Tensor | tuple[Tensor, ...],
    v: Tensor | tuple[Tensor, ...] | None = None,
    create_graph: bool = False,
    strict: bool = False,
) -> tuple[Any, Any]:
    """Return ``(func(inputs), v . H)``; it equals ``hvp``, because Hessians are symmetric.

    >>> import numeric as torch
    >>> x = torch.tensor([1.0, 2.0])
    >>> torch.autograd.functional.vhp(lambda x: (x**3).sum(), x, torch.ones(2))
    (tensor(9.), tensor([ 6., 12.]))
    """
    return _hessian_product("vhp", func, inputs, v, create_graph, strict)


def hvp(
    func: Callable[..., object],
    inputs: Tensor | tuple[Tensor, ...],
    v: Tensor | tuple[Tensor, ...] | None = None,
    create_graph: bool = False,
    strict: bool = False,
) -> tuple[Any, Any]:
    """Return ``(func(inputs), H . v)`` without computing the Hessian H.

    The output of ``func`` has one element.  ``v`` has the structure and shapes of the inputs; it
    may be omitted for one input of one element.

    >>> import numeric as torch
    >>> x = torch.tensor([1.0, 2.0])
    >>> torch.autograd.functional.hvp(lambda x: (x**3).sum(), x, torch.ones(2))
    (tensor(9.), tensor([ 6., 12.]))
    """
    return _hessian_product("hvp", func, inputs, v, create_graph, strict)


def _hessian_product(
    name: str,
    func: Callable[..., object],
    inputs: Tensor | tuple[Tensor, ...],
    v: Tensor | tuple[Tensor, ...] | None,
    create_graph: bool,
    strict: bool,
) -> tuple[Any, Any]:
    """Return the outputs and the Hessian's product with a vector, forward over reverse."""
    call = _Call(name, func, inputs, create_graph, strict).scalar()
    output, products = call.product(HVP, call.like_inputs(v))
    return output, call.by_inputs(iter(products))


explain(__name__)
