"""``gradcheck`` and ``gradgradcheck`` with tolerances derived from the function itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from numeric import autograd
from numeric.autograd.checking import backward_and_weights, checked
from numeric.autograd.jacobians import (
    SCATTERS,
    Derived,
    Numerical,
    mismatch_text,
)
from numeric.autograd.standards import Fixed, GradcheckError, as_tuple, jacobians
from numeric.check.lines import ROUNDINGS, unit_roundoff
from numeric.eager.tensor import Tensor, wrap
from numeric.halves import load_tensors
from numeric.lowering.function import Function
from symdiff.graph.arguments import door, tolerance

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

NEAR = 2.0**-6
"""The relative distance of the nearby points at which rounding errors are compared ..."""

POINTS = 12
"""... and the number of these points."""


@door
def gradcheck(
    func: Callable[..., object],
    inputs: object,
    *,
    eps: float | None = None,
    atol: float | None = None,
    rtol: float | None = None,
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
    """Check derivatives against the function's values, as tightly as rounding allows.

    It works as ``autograd.gradcheck``, except that ``eps``, ``atol`` and ``rtol`` are derived if
    left out.  Each component of the numerical Jacobian is an extrapolated difference.  It has a
    bound E of its error, by truncation and by the rounding visible in the values
    (``numeric.check.lines``).  The analytical component A is right if it is within ``E + 1000 u
    max(|A|, |N|)`` of the numerical one, N, where u is the unit roundoff of the dtype.  An error of
    0.05 % is found, or a warning states that it could not be.

    - *float32*: where ``func`` takes float64 too, it is checked there.  The derivatives in float32
      must then equal those in float64 within ``1000 u`` of the largest component of the Jacobian,
      or within the effect of rounding at nearby points.  Otherwise the noise of the float32 values
      is measured.
    - *Kinks*: where the slopes at both sides are known and differ, every value between them is
      right: a subgradient in this component.  At a jump no verdict is possible, which is an error.
      At the edge of the domain, the slope is the one-sided one.
    - *Noise*: derivatives that consist of rounding errors (those of ``softmax(x).sum()``) may be
      off by their scatter between points a few units in the last place apart.

    Args:
        func: a function of tensors, or a lowered Function (``numeric.lower``).  For a Function,
            ``backward`` is checked and, where its one output is a scalar, ``value_and_grad``.
        inputs: as for ``autograd.gradcheck``; the inputs of a Function may be arrays and numbers.
        eps: a step for plain two-sided differences; half the step gives their error estimate.
            Derived by default.
        atol: an absolute tolerance instead of E.
        rtol: a tolerance relative to the numerical value instead of ``1000 u``.
        raise_exception: as for ``autograd.gradcheck``, and so are the others.
        nondet_tol: see there.
        check_undefined_grad: see there.
        check_grad_dtypes: see there.
        check_batched_grad: see there.
        check_batched_forward_grad: see there.
        check_forward_ad: see there.
        check_backward_ad: see there.
        fast_mode: see there.
        masked: see there.

    Raises GradcheckError, a RuntimeError, if the derivatives are wrong or a component allows no
    verdict; otherwise it raises as ``autograd.gradcheck`` does.  It warns where the values are so
    much larger than their change that an error of 0.05 % could go unnoticed.

    >>> import numeric as nm
    >>> x = nm.tensor([0.5, 2.0], dtype=nm.float32, requires_grad=True)
    >>> gradcheck(nm.sin, x)
    True
    >>> def wrong(x):
    ...     y = nm.sin(x)
    ...     y.register_hook(lambda g: None if g is None else g * 1.0005)
    ...     return y
    >>> gradcheck(wrong, x, raise_exception=False), nm.autograd.gradcheck(wrong, x.double())
    (False, True)
    """
    options = {
        "raise_exception": raise_exception,
        "nondet_tol": nondet_tol,
        "check_undefined_grad": check_undefined_grad,
        "check_batched_grad": check_batched_grad,
        "check_forward_ad": check_forward_ad or (check_batched_forward_grad and check_backward_ad),
        "check_backward_ad": check_backward_ad,
    }
    if isinstance(func, Function):
        programs = _first_order(func, _tensors(func, inputs))
    else:
        programs = iter([(func, as_tuple(inputs))])
    return all(_checked(f, args, (eps, atol, rtol), options) for f, args in programs)


@door
def gradgradcheck(
    func: Callable[..., object],
    inputs: object,
    grad_outputs: object = None,
    *,
    eps: float | None = None,
    atol: float | None = None,
    rtol: float | None = None,
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
    """Check derivatives of derivatives: apply ``gradcheck`` to the backward pass.

    Args:
        func: as for ``gradcheck``.  For a lowered Function, the derivative of ``backward`` is
            checked and, where its one output is a scalar, ``hvp``.
        inputs: as for ``gradcheck``.
        grad_outputs: the weights; by default random ones, whose derivatives are checked too.
        eps: see ``gradcheck``.
        atol: see ``gradcheck``.
        rtol: see ``gradcheck``.
        gen_non_contig_grad_outputs: make the random weights non-contiguous.
        raise_exception: see ``gradcheck``.
        nondet_tol: see ``gradcheck``.
        check_undefined_grad: see ``gradcheck``.
        check_grad_dtypes: see ``gradcheck``.
        check_batched_grad: see ``gradcheck``.
        check_fwd_over_rev: must be False.
        check_rev_over_rev: must be True.
        fast_mode: see ``gradcheck``.
        masked: see ``gradcheck``.

    Raises and warns as ``gradcheck`` does.

    >>> import numeric as nm, symdiff as sd
    >>> x = sd.symbol("x", 2)
    >>> F = nm.lower(sd.sum(sd.sin(x) ** 2), x)
    >>> gradgradcheck(F, np.array([0.5, 2.0]))
    True
    """
    if not check_fwd_over_rev and not check_rev_over_rev:
        raise AssertionError(
            "Expected at least one of check_fwd_over_rev or check_rev_over_rev to be True"
        )
    options = {
        "raise_exception": raise_exception,
        "nondet_tol": nondet_tol,
        "check_undefined_grad": check_undefined_grad,
        "check_batched_grad": check_batched_grad,
        "check_forward_ad": check_fwd_over_rev,
        "check_backward_ad": check_rev_over_rev,
    }
    args = _tensors(func, inputs) if isinstance(func, Function) else as_tuple(inputs)
    backward, everything = backward_and_weights(
        func, args, grad_outputs, gen_non_contig_grad_outputs
    )
    programs = [(backward, everything)]
    if isinstance(func, Function) and _is_scalar(func, args):
        programs.append((_gradient(func), args))
    return all(_checked(f, operands, (eps, atol, rtol), options) for f, operands in programs)


# The check ----------------------------------------------------------------------------------------


def _checked(
    func: Callable[..., object],
    args: tuple[object, ...],
    tolerances: tuple[float | None, float | None, float | None],
    options: dict[str, Any],
) -> bool:
    eps, atol, rtol = [
        value if value is None else tolerance("gradcheck", name, value)
        for name, value in zip(("eps", "atol", "rtol"), tolerances, strict=True)
    ]
    if eps is not None and atol is not None and rtol is not None:
        return checked(func, args, Fixed(eps, rtol, atol, double=False), **options)
    wide = _widened(func, args)
    standard = Derived(func, args if wide is None else wide, eps, atol, rtol)
    if not checked(func, args if wide is None else wide, standard, **options):
        return False
    if wide is None:
        return True
    wrong = _narrow(func, args, wide, atol, rtol)
    if wrong is not None and options["raise_exception"]:
        raise GradcheckError(wrong)
    return wrong is None


# Single precision ---------------------------------------------------------------------------------


def _widened(func: Callable[..., object], args: tuple[Any, ...]) -> tuple[object, ...] | None:
    """Return the arguments in float64 if some are narrower and the function takes float64."""
    copies: dict[int, Tensor] = {}
    for x in args:
        if isinstance(x, Tensor) and x._array.dtype.kind == "f" and id(x) not in copies:
            copies[id(x)] = wrap(x._array.astype(np.float64)).requires_grad_(x.requires_grad)
    if all(x._array.dtype == np.float64 for x in args if id(x) in copies):
        return None
    wide = tuple([copies.get(id(x), x) for x in args])
    try:
        wide_outputs, narrow_outputs = (as_tuple(func(*operands)) for operands in (wide, args))
    except Exception:  # a function made for float32 alone may raise anything
        return None
    same = len(wide_outputs) == len(narrow_outputs) and all(
        a.shape == b.shape and a.requires_grad == b.requires_grad
        for a, b in zip(wide_outputs, narrow_outputs, strict=True)
    )
    return wide if same else None


def _narrow(
    func: Callable[..., object],
    args: tuple[object, ...],
    wide: tuple[object, ...],
    atol: float | None,
    rtol: float | None,
) -> str | None:
    """Describe the error of the derivatives in the dtype of ``args``; None if they are right."""
    narrow_inputs, wide_inputs = (
        [x for x in arguments if isinstance(x, Tensor) and x.requires_grad]
        for arguments in (args, wide)
    )
    outputs, expected = (
        [y for y in as_tuple(func(*arguments)) if y.requires_grad] for arguments in (args, wide)
    )
    near = None
    for i, (y, z) in enumerate(zip(outputs, expected, strict=True)):
        pairs = zip(
            narrow_inputs, jacobians(y, narrow_inputs), jacobians(z, wide_inputs), strict=True
        )
        for j, (x, a, exact) in enumerate(pairs):
            a, n = a.astype(float), exact.astype(float)
            unit = max(unit_roundoff(v._array.dtype) for v in (x, y))
            with np.errstate(invalid="ignore", over="ignore"):
                natural = np.abs(y._array.astype(float)).ravel() / (
                    float(np.abs(x._array).max(initial=0.0)) or 1.0
                )
                largest = np.max(np.abs(n), initial=0.0, where=np.isfinite(n))
                scale = np.fmax(largest, natural)
                tiny = ROUNDINGS * max(float(np.finfo(v._array.dtype).tiny) for v in (x, y))
                allowed = ROUNDINGS * unit * scale + tiny
                allowed = allowed if atol is None else np.full(n.shape[1:], atol)
                allowed = allowed + (ROUNDINGS * unit if rtol is None else rtol) * np.abs(n)
                off = np.abs(a - n)
                wrong = ~((off <= allowed) | (a == n)) & np.isfinite(y._array).ravel()
                # Sampling the noise takes many calls, so do it only for components that look wrong.
                if atol is None and wrong.any():
                    near = near or list(_rounding(func, args, wide))
                    errors = np.stack([arguments[i][j] for arguments in near])
                    wrong &= ~(off <= allowed + SCATTERS * np.ptp(errors, axis=0))
                if wrong.any():
                    shapes = (x._array.shape, y._array.shape)
                    value = Numerical(n, n, allowed + 0 * n, unit, natural, shapes)
                    kind = y._array.dtype
                    return f"In {kind}, though not in float64: " + mismatch_text(
                        i, j, value, a, wrong, off, value.error
                    )
    return None


def _rounding(
    func: Callable[..., object], args: tuple[Any, ...], wide: tuple[Any, ...]
) -> Iterator[list[list[NDArray[np.float64]]]]:
    """Yield the differences between the Jacobians in both precisions, at points near the arguments.

    Rounding errors differ from point to point; the error of a wrong formula does not.
    """
    rng = np.random.default_rng(0)
    pairs = list({id(x): (x, z) for x, z in zip(args, wide, strict=True) if x is not z}.values())
    saved = [(x._array.copy(), z._array.copy()) for x, z in pairs]
    for _ in range(POINTS):
        try:
            for (x, z), (k, _) in zip(pairs, saved, strict=True):
                x._array[...] = k * (1 + NEAR * rng.uniform(-1, 1, k.shape))
                z._array[...] = x._array
            jacobians_of = []
            for arguments in (args, wide):
                real_inputs = [x for x in arguments if isinstance(x, Tensor) and x.requires_grad]
                outputs = [y for y in as_tuple(func(*arguments)) if y.requires_grad]
                jacobians_of.append([jacobians(y, real_inputs) for y in outputs])
            yield [
                [a.astype(float) - b for a, b in zip(*rows, strict=True)]
                for rows in zip(*jacobians_of, strict=True)
            ]
        # The points were written into the user's tensors: restore them.
        finally:
            for (x, z), (k, w) in zip(pairs, saved, strict=True):
                x._array[...], z._array[...] = k, w


# Lowered Functions --------------------------------------------------------------------------------


def _tensors(function: Function, inputs: object) -> tuple[object, ...]:
    """Return the arguments of a Function as Tensors; the real ones require gradients."""
    load_tensors()  # the Function may be the first to meet a Tensor
    tensors = []
    for symbol, x in zip(function.inputs, as_tuple(inputs), strict=True):
        if isinstance(x, Tensor):
            tensors.append(x)
            continue
        array = np.array(x)
        if symbol.dtype is not float:
            tensors.append(wrap(array))
            continue
        kind = array.dtype if array.dtype.kind == "f" else np.dtype(np.float64)
        tensors.append(wrap(array.astype(kind)).requires_grad_())
    return tuple(tensors)


def _arrays(args: Sequence[object]) -> list[object]:
    return [x._array[()] if isinstance(x, Tensor) else x for x in args]


def _is_scalar(function: Function, args: Sequence[object]) -> bool:
    """Whether a call returns one number."""
    return len(function.outputs) == 1 and np.shape(function(*_arrays(args))) in ((), (1,))


def _first_order(
    function: Function, args: tuple[object, ...]
) -> Iterator[tuple[Callable[..., object], tuple[object, ...]]]:
    """Yield the programs with first derivatives: ``backward`` of a call, and ``value_and_grad``."""
    yield function, args
    if _is_scalar(function, args):
        yield _joint(function), args


def _joint(function: Function) -> Callable[..., object]:
    """Return a scalar Function as a tensor function with the derivatives of ``value_and_grad``."""

    class Joint(autograd.Function):
        @staticmethod
        def forward(ctx: Any, *xs: object) -> object:
            value, ctx.gradient = function.value_and_grad(*_arrays(xs))
            return wrap(np.array(value))

        @staticmethod
        def backward(ctx: Any, g: Tensor) -> object:
            return tuple([None if v is None else g * wrap(np.array(v)) for v in ctx.gradient])

    return Joint.apply


def _gradient(function: Function) -> Callable[..., object]:
    """Return the gradient of a scalar Function, with the derivatives of ``hvp``."""

    class Gradient(autograd.Function):
        @staticmethod
        def forward(ctx: Any, *xs: object) -> object:
            ctx.args = _arrays(xs)
            gradient = function.value_and_grad(*ctx.args)[1]
            return tuple([wrap(np.array(v)) for v in gradient if v is not None])

        @staticmethod
        def backward(ctx: Any, *gs: object) -> object:
            rest = iter(gs)
            tangents = [
                _arrays([next(rest)])[0] if x.dtype is float else None for x in function.inputs
            ]
            products = function.hvp(tuple(ctx.args), tuple(tangents))
            return tuple([None if v is None else wrap(np.array(v)) for v in products])

    return Gradient.apply
