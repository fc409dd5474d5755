"""``gradcheck`` and ``gradgradcheck``: recorded derivatives against differences of values."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from numeric.autograd.derivatives import grad
from numeric.graph import Node, serial
from numeric.quiet import SILENCE, noise, set_noise
from numeric.random_numbers import rand, randn
from numeric.tensors import Tensor, blank, edge_of, wrap

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray


class GradcheckError(RuntimeError):
    """The check found derivatives that are wrong; ``raise_exception=False`` turns it into False."""


def gradcheck(
    func: Callable[..., Any],
    inputs: Any,
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
        atol: absolute tolerance.
        rtol: relative tolerance.
        raise_exception: raise instead of returning False.
        nondet_tol: how far two backward passes may differ.
        check_undefined_grad: make the last of these checks.
        check_grad_dtypes: has no effect: gradients always have the dtype of what they are for.
        check_batched_grad: compare with ``grad(..., is_grads_batched=True)``, too.
        check_batched_forward_grad: see ``check_forward_ad``.
        check_forward_ad: has to be False, as operations have no forward mode of their own.
        check_backward_ad: has to be True.
        fast_mode: has no effect: the whole Jacobian is always compared.
        masked: has no effect: there are no sparse tensors.

    Raises RuntimeError if the derivatives are wrong; ValueError if no input requires gradients;
    and whatever ``func`` raises.

    >>> import numeric as torch
    >>> x = torch.tensor([0.5, 2.0], dtype=torch.float64, requires_grad=True)
    >>> torch.autograd.gradcheck(torch.sin, x)
    True
    """
    if not check_backward_ad and not check_forward_ad:
        raise AssertionError(
            "Expected at least one of check_forward_ad or check_backward_ad to be True"
        )
    if check_forward_ad or check_batched_forward_grad:
        raise NotImplementedError("forward-mode derivatives cannot be checked by gradcheck")
    args = _as_tuple(inputs)
    given = _differentiable_inputs(args)
    try:
        results = _as_tuple(func(*args))
        outputs = [y for y in results if y.requires_grad]
        _compare(func, args, given, results, eps, (rtol, atol), nondet_tol)
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
    func: Callable[..., Any],
    inputs: Any,
    grad_outputs: Any = None,
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
        func: as for ``gradcheck``, and so are the other options.
        inputs: as for ``gradcheck``.
        grad_outputs: the weights; by default random ones, of which derivatives are checked too.
        eps: see ``gradcheck``.
        atol: see ``gradcheck``.
        rtol: see ``gradcheck``.
        gen_non_contig_grad_outputs: make the random weights non-contiguous.
        raise_exception: see ``gradcheck``.
        nondet_tol: see ``gradcheck``.
        check_undefined_grad: see ``gradcheck``.
        check_grad_dtypes: see ``gradcheck``.
        check_batched_grad: see ``gradcheck``.
        check_fwd_over_rev: has to be False.
        check_rev_over_rev: has to be True.
        fast_mode: see ``gradcheck``.
        masked: see ``gradcheck``.

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
    args = _as_tuple(inputs)
    if grad_outputs is None:
        outputs = [y for y in _as_tuple(func(*args)) if y.requires_grad]
        weights = tuple([_weight(y, gen_non_contig_grad_outputs) for y in outputs])
    else:
        weights = _as_tuple(grad_outputs)
    return gradcheck(
        _backward_of(func, args) if weights else func,
        args + weights,
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


def _backward_of(func: Callable[..., Any], inputs: tuple[Any, ...]) -> Callable[..., Any]:
    """The function's gradients, of the inputs followed by the weights."""
    places = [i for i, x in enumerate(inputs) if isinstance(x, Tensor) and x.requires_grad]

    def backward(*args: Any) -> tuple[Tensor, ...]:
        outputs = [y for y in _as_tuple(func(*args[: len(inputs)])) if y.requires_grad]
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


def _as_tuple(x: Any) -> tuple[Any, ...]:
    return tuple(x) if isinstance(x, tuple | list) else (x,)


def _differentiable_inputs(args: Sequence[Any]) -> list[Tensor]:
    """The inputs by which derivatives are checked."""
    found = []
    for i, x in enumerate(args):
        if not isinstance(x, Tensor) or not x.requires_grad:
            continue
        if x._array.dtype != np.float64:
            warnings.warn(
                f"Input #{i} requires gradient and is not a double precision floating point or "
                "complex. This check will likely fail if all the inputs are not of double "
                "precision floating point or complex. ",
                UserWarning,
                stacklevel=3,
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


# Jacobians --------------------------------------------------------------------------------------


def _compare(
    func: Callable[..., Any],
    args: Sequence[Any],
    given: Sequence[Tensor],
    results: Sequence[Tensor],
    eps: float,
    tolerances: tuple[float, float],
    nondet_tol: float,
) -> None:
    """Raise GradcheckError if one of the Jacobians is wrong."""
    real = [k for k, y in enumerate(results) if y._array.dtype.kind == "f"]
    numerical = [_numerical(func, args, x, results, real, eps) for x in given]
    outputs = [k for k in real if results[k].requires_grad]
    if not outputs and any(n.any() for by_result in numerical for n in by_result.values()):
        raise GradcheckError("Numerical gradient for function expected to be zero")
    for i, k in enumerate(outputs):
        analytical = _analytical(results[k], given)
        again = _analytical(results[k], given)
        before = noise()
        try:
            set_noise(SILENCE)
            differ = any(
                (np.abs(a - b) > nondet_tol).any() for a, b in zip(analytical, again, strict=True)
            )
        finally:
            set_noise(before)
        if differ:
            raise GradcheckError(
                "Backward is not reentrant, i.e., running backward with same input and "
                "grad_output multiple times gives different values, although analytical gradient "
                f"matches numerical gradient. The tolerance for nondeterminism was {nondet_tol}."
            )
        for j, a in enumerate(analytical):
            n = numerical[j][k]
            if not np.allclose(a, n, *tolerances):
                raise GradcheckError(
                    f"Jacobian mismatch for output {i} with respect to input {j},\n"
                    f"numerical:{wrap(n)}\nanalytical:{wrap(a)}\n"
                )


def _numerical(
    func: Callable[..., Any],
    args: Sequence[Any],
    x: Tensor,
    results: Sequence[Tensor],
    real: Sequence[int],
    eps: float,
) -> dict[int, NDArray[Any]]:
    """Two-sided differences of the real results, by number: a row for each element of ``x``."""
    found = {k: np.zeros((x.numel(), results[k].numel()), results[k]._array.dtype) for k in real}
    array = x._array
    for row, place in enumerate(np.ndindex(array.shape)):
        kept = array[place]
        try:
            array[place] = kept - eps
            below = _moved(func, args, results, real, place, eps)
            array[place] = kept + eps
            above = _moved(func, args, results, real, place, eps)
        finally:
            array[place] = kept
        before = noise()
        try:
            set_noise(SILENCE)
            for k, a, b in zip(real, below, above, strict=True):
                found[k][row] = ((b - a) / (2 * eps)).ravel()
        finally:
            set_noise(before)
    return found


def _moved(
    func: Callable[..., Any],
    args: Sequence[Any],
    results: Sequence[Tensor],
    real: Sequence[int],
    place: tuple[int, ...],
    eps: float,
) -> list[NDArray[Any]]:
    """Copies of the real results, now that an element of an input has been moved."""
    found = _as_tuple(func(*args))
    for k in real:
        for what in ("shape", "dtype"):
            was, now = getattr(results[k], what), getattr(found[k], what)
            if was != now:
                raise AssertionError(
                    f"Expected `func` to return outputs with the same {what} when inputs are "
                    f"perturbed on index {place} by {eps}, but got: {what}s {was} and {now}."
                )
    return [np.array(found[k]._array) for k in real]


def _analytical(y: Tensor, given: Sequence[Tensor]) -> list[NDArray[Any]]:
    """The Jacobian by each input: a column for each element of the result."""
    jacobians = [np.zeros((x.numel(), y.numel()), x._array.dtype) for x in given]
    for column, weight in enumerate(_units(y)):
        found = grad(y, given, weight, retain_graph=True, allow_unused=True)
        for jacobian, g in zip(jacobians, found, strict=True):
            if g is not None:
                jacobian[:, column] = g._array.ravel()
    return jacobians


def _units(y: Tensor) -> Iterator[Tensor]:
    """Weights that select one element of a tensor after the other."""
    for place in np.ndindex(y._array.shape):
        unit = np.zeros(y._array.shape, y._array.dtype)
        unit[place] = 1
        yield wrap(unit)


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
    func: Callable[..., Any], args: Sequence[Any], given: Sequence[Tensor]
) -> None:
    """Results to which nothing comes back, all of them or one at a time, count as 0."""
    n, chosen = 1, -1
    while chosen < (n if n > 1 else 0):
        outputs = [y for y in _as_tuple(func(*args)) if y.requires_grad]
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
