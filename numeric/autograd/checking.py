"""``gradcheck`` and ``gradgradcheck``: compare recorded derivatives with finite differences."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from numeric.autograd.derivatives import grad
from numeric.autograd.standards import Fixed, GradcheckError, as_tuple, compare
from numeric.eager.record import Node, serial
from numeric.eager.refusals import user_level
from numeric.eager.tensor import Tensor, blank, edge_of, wrap
from numeric.ops.random_numbers import rand, randn

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numeric.autograd.standards import J, Standard


def gradcheck(
    func: Callable[..., object],
    inputs: object,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_batched_forward_grad: bool = False,
    check_forward_ad: bool = False,
    check_backward_ad: bool = True,
    fast_mode: bool = False,
    masked: bool | None = None,
) -> bool:
    """Return whether the derivatives by ``autograd`` agree with differences of the values.

    Each Jacobian, of a result by an input that require gradients, is compared with two-sided
    differences: ``|analytical - numerical| <= atol + rtol * |numerical|``.  So a kink passes if the
    derivative there is the mean of its two sides.  Three more checks are of the backward pass: a
    second one gives the same, weights 0 give 0, and undefined weights count as 0.

    Args:
        func: a function of tensors, with a tensor or a tuple of tensors as its result.
        inputs: its argument, or a tuple of its arguments; should be float64.
        eps: the distance by which each input is moved, in place, and back.
        atol, rtol: absolute and relative tolerance.
        raise_exception: raise instead of returning False.
        nondet_tol: the largest difference between two backward passes.
        check_undefined_grad: check undefined weights.
        check_batched_grad: compare with ``grad(..., is_grads_batched=True)``, too.
        check_batched_forward_grad: see ``check_forward_ad``.
        check_forward_ad: must be False: operations have no forward mode of their own.
        check_backward_ad: must be True.
        check_grad_dtypes, fast_mode, masked: have no effect.  Gradients always have the dtype of
            their tensor, the full Jacobian is compared, and no tensor is sparse.

    Raises RuntimeError if the derivatives are wrong, ValueError if no input requires gradients, and
    any error of ``func``.

    >>> import numeric as torch
    >>> x = torch.tensor([0.5, 2.0], dtype=torch.float64, requires_grad=True)
    >>> torch.autograd.gradcheck(torch.sin, x)
    True
    """
    return checked(
        func,
        inputs,
        Fixed(eps, rtol, atol),
        raise_exception=raise_exception,
        nondet_tol=nondet_tol,
        check_undefined_grad=check_undefined_grad,
        check_batched_grad=check_batched_grad,
        check_forward_ad=check_forward_ad or (check_batched_forward_grad and check_backward_ad),
        check_backward_ad=check_backward_ad,
    )


def checked(
    func: Callable[..., object],
    inputs: object,
    standard: Standard[J],
    *,
    raise_exception: bool,
    nondet_tol: float,
    check_undefined_grad: bool,
    check_batched_grad: bool,
    check_forward_ad: bool,
    check_backward_ad: bool,
) -> bool:
    """Run ``gradcheck`` with a standard that computes numerical Jacobians and tolerates errors."""
    if not check_backward_ad and not check_forward_ad:
        raise AssertionError(
            "Expected at least one of check_forward_ad or check_backward_ad to be True"
        )
    if check_forward_ad:
        raise NotImplementedError("forward-mode derivatives cannot be checked by gradcheck")
    args = as_tuple(inputs)
    differentiable = _differentiable_inputs(args, standard.double)
    try:
        results = _results(func, args)
        outputs = [y for y in results if y.requires_grad]
        compare(func, args, differentiable, results, standard, nondet_tol)
        if outputs and check_batched_grad:
            for i, y in enumerate(outputs):
                _check_batches(i, y, differentiable)
        if outputs:
            _check_zeros(outputs, differentiable)
        if outputs and check_undefined_grad:
            _check_undefined(func, args, differentiable)
    except GradcheckError:
        if raise_exception:
            raise
        return False
    return True


def gradgradcheck(
    func: Callable[..., object],
    inputs: object,
    grad_outputs: object = None,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    gen_non_contig_grad_outputs: bool = False,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_fwd_over_rev: bool = False,
    check_rev_over_rev: bool = True,
    fast_mode: bool = False,
    masked: bool = False,
) -> bool:
    """Return whether second derivatives are right: ``gradcheck`` of the backward pass.

    The checked function has the inputs and the weights of the results as arguments.  Options that
    are not listed are those of ``gradcheck``.

    Args:
        func: as for ``gradcheck``.
        inputs: as for ``gradcheck``.
        grad_outputs: the weights; by default random ones that require gradients.
        gen_non_contig_grad_outputs: make the random weights non-contiguous.
        check_fwd_over_rev: must be False.
        check_rev_over_rev: must be True.

    Raises as ``gradcheck``.

    >>> import numeric as torch
    >>> x = torch.tensor([0.5, 2.0], dtype=torch.float64, requires_grad=True)
    >>> torch.autograd.gradgradcheck(torch.sin, x)
    True
    """
    if not check_fwd_over_rev and not check_rev_over_rev:
        raise AssertionError(
            "Expected at least one of check_fwd_over_rev or check_rev_over_rev to be True"
        )
    backward, args = backward_and_weights(func, inputs, grad_outputs, gen_non_contig_grad_outputs)
    return gradcheck(
        backward,
        args,
        eps=eps,
        atol=atol,
        rtol=rtol,
        raise_exception=raise_exception,
        nondet_tol=nondet_tol,
        check_undefined_grad=check_undefined_grad,
        check_grad_dtypes=check_grad_dtypes,
        check_batched_grad=check_batched_grad,
        check_forward_ad=check_fwd_over_rev,
        check_backward_ad=check_rev_over_rev,
        fast_mode=fast_mode,
        masked=masked,
    )


def backward_and_weights(
    func: Callable[..., object], inputs: object, grad_outputs: object, strided: bool
) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """Return the backward pass as a function, and its arguments: the inputs and the weights."""
    args = as_tuple(inputs)
    _differentiable_inputs(args, False)
    if grad_outputs is None:
        outputs = [y for y in _results(func, args) if y.requires_grad]
        weights = tuple([_weight(y, strided) for y in outputs])
    else:
        weights = as_tuple(grad_outputs)
    return (_backward_of(func, args) if weights else func), args + weights


def _backward_of(func: Callable[..., object], inputs: tuple[object, ...]) -> Callable[..., Any]:
    """Return the function's gradients as a function of the inputs followed by the weights."""
    places = [i for i, x in enumerate(inputs) if isinstance(x, Tensor) and x.requires_grad]

    def backward(*args: Any) -> tuple[Tensor, ...]:
        outputs = [y for y in _results(func, args[: len(inputs)]) if y.requires_grad]
        gradients = grad(
            outputs,
            [args[i] for i in places],
            args[len(inputs) :],
            create_graph=True,
            allow_unused=True,
        )
        return tuple([g for g in gradients if g is not None])

    return backward


def _weight(y: Tensor, strided: bool) -> Tensor:
    """Random weights in [-1, 1) for a result."""
    array = 2 * rand(tuple(y.shape), dtype=y.dtype)._array - 1
    if strided and array.ndim:
        array = np.repeat(array, 2, axis=-1)[..., ::2]
    return wrap(np.asarray(array, y._array.dtype)).requires_grad_()


def _results(func: Callable[..., object], args: Sequence[object]) -> tuple[Tensor, ...]:
    """Return the function's results; raises AttributeError, as PyTorch, unless all are Tensors."""
    results = as_tuple(func(*args))
    for y in results:
        if not isinstance(y, Tensor):
            raise AttributeError(
                "gradcheck(): argument 'func' (position 1) must return Tensors: "
                f"'{type(y).__name__}' object has no attribute 'requires_grad'"
            )
    return results


def _differentiable_inputs(args: Sequence[object], double: bool) -> list[Tensor]:
    """Return the inputs that require gradients; with ``double``, warn unless they are float64."""
    differentiable = []
    for i, x in enumerate(args):
        if not isinstance(x, Tensor) or not x.requires_grad:
            continue
        if double and x._array.dtype != np.float64:
            warnings.warn(
                f"Input #{i} requires gradient and is not a double precision floating point or "
                "complex. This check will likely fail if all the inputs are not of double "
                "precision floating point or complex. ",
                UserWarning,
                stacklevel=user_level(),
            )
        axes = zip(x._array.strides, x._array.shape, strict=True)
        if x._array.size and any(stride == 0 and n > 1 for stride, n in axes):
            raise RuntimeError(
                f"The {i}th input has a dimension with stride 0. gradcheck only supports inputs "
                "that are non-overlapping to be able to compute the numerical gradients "
                "correctly. You should call .contiguous on the input before passing it to "
                "gradcheck."
            )
        differentiable.append(x)
    if not differentiable:
        raise ValueError(
            "gradcheck expects at least one input tensor to require gradient, but none of them "
            "have requires_grad=True."
        )
    return differentiable


# Other properties of the backward pass ------------------------------------------------------------


def _check_zeros(outputs: Sequence[Tensor], inputs: Sequence[Tensor]) -> None:
    """Raise GradcheckError unless weights 0 give gradients 0.  It frees the record of outputs."""
    zeros = [wrap(np.zeros_like(y._array)) for y in outputs]
    gradients = grad(outputs, inputs, zeros, allow_unused=True)
    if any(g is not None and (g._array != 0).any() for g in gradients):
        raise GradcheckError("backward not multiplied by grad_output")


def _check_batches(i: int, y: Tensor, inputs: Sequence[Tensor]) -> None:
    """Raise GradcheckError unless a batch of weights gives the gradients of single weights."""
    weights = randn(2, *y.shape, dtype=y.dtype)
    words: dict[str, Any] = {"retain_graph": True, "allow_unused": True}
    rows = [grad(y, inputs, w, **words) for w in weights.unbind()]
    try:
        batches = grad(y, inputs, weights, is_grads_batched=True, **words)
    except RuntimeError as error:
        raise GradcheckError(f"While computing batched gradients, got: {error}") from error
    for j, batch in enumerate(batches):
        if batch is None:
            continue
        expected = np.stack([row[j]._array for row in rows])
        if not np.allclose(batch._array, expected, 1e-5, 1e-8):
            raise GradcheckError(
                f"For output {i} and input {j}:\n\nGot:\n{batch}\n\nExpected:\n{wrap(expected)}"
            )


def _check_undefined(
    func: Callable[..., object], args: Sequence[object], inputs: Sequence[Tensor]
) -> None:
    """Raise GradcheckError unless undefined weights, of all results or of one, count as 0."""
    n, chosen = 1, -1
    while chosen < (n if n > 1 else 0):
        outputs = [y for y in _results(func, args) if y.requires_grad]
        n = len(outputs)
        ends = [_undefined(y) if chosen in (-1, i) else y for i, y in enumerate(outputs)]
        zeros = [wrap(np.zeros_like(y._array)) for y in outputs]
        try:
            gradients = grad(ends, inputs, zeros, allow_unused=True)
        except RuntimeError as error:
            raise GradcheckError(
                "Expected backward function to handle undefined output grads."
            ) from error
        if any(g is not None and (g._array != 0).any() for g in gradients):
            raise GradcheckError(
                "Expected all input grads to be undefined or zero when all output grads are "
                "undefined or zero."
            )
        chosen += 1


class UndefinedGrad(Node):
    """A node that passes no gradient on: it makes the gradient of a result undefined."""

    __slots__ = ()

    def pull(self, g: Any, marked: bool) -> tuple[Sequence[Any], Sequence[bool] | None]:
        """Return no gradient for the only edge."""
        return [None], None


def _undefined(y: Tensor) -> Tensor:
    """Return ``y`` with an undefined gradient, although the backward pass visits its node."""
    node: Any = UndefinedGrad()
    node.edges, node.nrs, node.operands = (edge_of(y),), (y._nr,), None
    node.saved, node.check, node.pullback = (), (), None
    node.extras, node.serial = None, serial()
    return blank(y._array, True, node)
