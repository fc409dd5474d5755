"""``gradcheck`` and ``gradgradcheck``: recorded derivatives against differences of values."""

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
    """Whether the derivatives that ``autograd`` computes are those of the function's values.

    The Jacobian of each result that requires gradients, by each input that does, is compared with
    two-sided differences: ``|analytical - numerical| <= atol + rtol * |numerical|``.  So a kink
    passes where the derivative there is the mean of those at its sides.  It is also checked that
    the backward pass gives the same twice, that it gives 0 for weights 0, and that results to
    which nothing comes back count as 0.

    Args:
        func: a function of tensors, with a tensor or a tuple of tensors as its result.
        inputs: its argument, or a tuple of its arguments; should be float64.
        eps: how far inputs are moved; they are moved in place, and back.
        atol, rtol: absolute and relative tolerance.
        raise_exception: raise instead of returning False.
        nondet_tol: how far two backward passes may differ.
        check_undefined_grad: make the last of these checks.
        check_batched_grad: compare with ``grad(..., is_grads_batched=True)``, too.
        check_batched_forward_grad: see ``check_forward_ad``.
        check_forward_ad: has to be False, as operations have no forward mode of their own.
        check_backward_ad: has to be True.
        check_grad_dtypes, fast_mode, masked: have no effect: gradients always have the dtype of
            what they are for, the whole Jacobian is compared, no tensor is sparse.

    Raises RuntimeError if the derivatives are wrong; ValueError if no input requires gradients;
    and whatever ``func`` raises.

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
    """What ``gradcheck`` does, by any standard of what numerical Jacobians are and may differ."""
    if not check_backward_ad and not check_forward_ad:
        raise AssertionError(
            "Expected at least one of check_forward_ad or check_backward_ad to be True"
        )
    if check_forward_ad:
        raise NotImplementedError("forward-mode derivatives cannot be checked by gradcheck")
    args = as_tuple(inputs)
    given = _differentiable_inputs(args, standard.double)
    try:
        results = _results(func, args)
        outputs = [y for y in results if y.requires_grad]
        compare(func, args, given, results, standard, nondet_tol)
        if outputs and check_batched_grad:
            for i, y in enumerate(outputs):
                _check_batches(i, y, given)
        if outputs:
            _check_zeros(outputs, given)
        if outputs and check_undefined_grad:
            _check_undefined(func, args, given)
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
    """Whether derivatives of derivatives are right: ``gradcheck`` of the backward pass.

    What is checked is a function of the inputs and of the weights of the results.

    Args:
        func: as for ``gradcheck``, and so are the options that are not listed here.
        inputs: as for ``gradcheck``.
        grad_outputs: the weights; by default random ones, of which derivatives are checked too.
        gen_non_contig_grad_outputs: make the random weights non-contiguous.
        check_fwd_over_rev: has to be False.
        check_rev_over_rev: has to be True.

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
    """The backward pass as a function, and its arguments: the inputs and the weights."""
    args = as_tuple(inputs)
    _differentiable_inputs(args, False)
    if grad_outputs is None:
        outputs = [y for y in _results(func, args) if y.requires_grad]
        weights = tuple([_weight(y, strided) for y in outputs])
    else:
        weights = as_tuple(grad_outputs)
    return (_backward_of(func, args) if weights else func), args + weights


def _backward_of(func: Callable[..., object], inputs: tuple[object, ...]) -> Callable[..., Any]:
    """The function's gradients, of the inputs followed by the weights."""
    places = [i for i, x in enumerate(inputs) if isinstance(x, Tensor) and x.requires_grad]

    def backward(*args: Any) -> tuple[Tensor, ...]:
        outputs = [y for y in _results(func, args[: len(inputs)]) if y.requires_grad]
        found = grad(
            outputs,
            [args[i] for i in places],
            args[len(inputs) :],
            create_graph=True,
            allow_unused=True,
        )
        return tuple([g for g in found if g is not None])

    return backward


def _weight(y: Tensor, strided: bool) -> Tensor:
    """Random weights in [-1, 1) for a result."""
    array = 2 * rand(tuple(y.shape), dtype=y.dtype)._array - 1
    if strided and array.ndim:
        array = np.repeat(array, 2, axis=-1)[..., ::2]
    return wrap(np.asarray(array, y._array.dtype)).requires_grad_()


def _results(func: Callable[..., object], args: Sequence[object]) -> tuple[Tensor, ...]:
    """What the function returns; raises AttributeError, as PyTorch, for what is no Tensor."""
    results = as_tuple(func(*args))
    for y in results:
        if not isinstance(y, Tensor):
            raise AttributeError(
                "gradcheck(): argument 'func' (position 1) must return Tensors: "
                f"'{type(y).__name__}' object has no attribute 'requires_grad'"
            )
    return results


def _differentiable_inputs(args: Sequence[object], double: bool) -> list[Tensor]:
    """The inputs by which derivatives are checked; ``double``: they should be float64."""
    found = []
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
        found.append(x)
    if not found:
        raise ValueError(
            "gradcheck expects at least one input tensor to require gradient, but none of them "
            "have requires_grad=True."
        )
    return found


# Other properties of the backward pass ------------------------------------------------------------


def _check_zeros(outputs: Sequence[Tensor], given: Sequence[Tensor]) -> None:
    """Weights 0 give gradients 0.  It frees the record of the outputs."""
    zeros = [wrap(np.zeros_like(y._array)) for y in outputs]
    found = grad(outputs, given, zeros, allow_unused=True)
    if any(g is not None and (g._array != 0).any() for g in found):
        raise GradcheckError("backward not multiplied by grad_output")


def _check_batches(i: int, y: Tensor, given: Sequence[Tensor]) -> None:
    """Weights in batches give the same as one by one."""
    weights = randn(2, *y.shape, dtype=y.dtype)
    words: dict[str, Any] = {"retain_graph": True, "allow_unused": True}
    rows = [grad(y, given, w, **words) for w in weights.unbind()]
    try:
        batches = grad(y, given, weights, is_grads_batched=True, **words)
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
    func: Callable[..., object], args: Sequence[object], given: Sequence[Tensor]
) -> None:
    """Results to which nothing comes back, all of them or one at a time, count as 0."""
    n, chosen = 1, -1
    while chosen < (n if n > 1 else 0):
        outputs = [y for y in _results(func, args) if y.requires_grad]
        n = len(outputs)
        ends = [_undefined(y) if chosen in (-1, i) else y for i, y in enumerate(outputs)]
        zeros = [wrap(np.zeros_like(y._array)) for y in outputs]
        try:
            found = grad(ends, given, zeros, allow_unused=True)
        except RuntimeError as error:
            raise GradcheckError(
                "Expected backward function to handle undefined output grads."
            ) from error
        if any(g is not None and (g._array != 0).any() for g in found):
            raise GradcheckError(
                "Expected all input grads to be undefined or zero when all output grads are "
                "undefined or zero."
            )
        chosen += 1


class UndefinedGrad(Node):
    """The record of a result to which no gradient comes back."""

    __slots__ = ()

    def pull(self, g: Any, marked: bool) -> tuple[Sequence[Any], Sequence[bool] | None]:
        """As of every node."""
        return [None], None


def _undefined(y: Tensor) -> Tensor:
    """``y``, to which no gradient comes back though the pass goes through it."""
    node: Any = UndefinedGrad()
    node.edges, node.nrs, node.operands = (edge_of(y),), (y._nr,), None
    node.saved, node.check, node.pullback = (), (), None
    node.extras, node.serial = None, serial()
    return blank(y._array, True, node)
