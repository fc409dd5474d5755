"""Losses, each one operation in a numerically stable form.

The operation includes the reduction: the mean of a loss is one node.  Targets receive gradients
too.
"""

from __future__ import annotations

import math
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from numeric.eager.dtypes import promoted, promoted_real, word
from numeric.eager.operations import Op
from numeric.eager.recording import apply
from numeric.eager.refusals import user_level
from numeric.eager.tensor import Tensor, values_of, wrap
from numeric.eager.traced_arrays import Shadow, beside
from numeric.ops.moments import log_softmax
from numeric.ops.pointwise import masked_xlogy
from numeric.ops.views import common_shape
from symdiff import functions as sd
from symdiff.calculus.derivative import detach

if TYPE_CHECKING:
    from collections.abc import Callable

    from symdiff.graph.expr import Expr

    Array = np.ndarray

__all__ = [
    "binary_cross_entropy",
    "binary_cross_entropy_with_logits",
    "cross_entropy",
    "huber_loss",
    "kl_div",
    "l1_loss",
    "mse_loss",
    "nll_loss",
    "smooth_l1_loss",
]


_CLASSES = {"int64", "uint8"}


# Reductions -------------------------------------------------------------------------------------


def _reduced(x: Expr, reduction: str) -> Expr:
    return sd.mean(x) if reduction == "mean" else sd.sum(x) if reduction == "sum" else x


def _reduce(a: Array, reduction: str) -> Any:
    if reduction == "none":
        return a
    total = np.add.reduce(a, None)
    return total if reduction == "sum" else total / (a.size or total.dtype.type(0))


def _loss(
    name: str,
    build: Callable[..., Expr],
    kernel: Callable[..., Array] | None = None,
    labels: tuple[str, str, str] | None = None,
    weights: str = "",
) -> dict[str, Op]:
    """Build the op of each reduction from the loss of an element.

    ``labels`` has the names of the nodes for none, mean and sum.  ``weights`` names the kind of
    weights, as a part of the variant's name.
    """

    def built(*args: Any) -> Expr:
        return _reduced(build(*args[:-1]), args[-1])

    def run(*args: Any) -> Any:
        assert kernel is not None
        return _reduce(kernel(*args[:-1]), args[-1])

    kinds = ("none", "mean", "sum")
    names = labels or (None, None, None)
    return {
        kind: Op(name, built, kernel and run, label=label, variant=f"{kind} {weights}".rstrip())
        for kind, label in zip(kinds, names, strict=True)
    }


def _checked(reduction: str) -> str:
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(f"{reduction} is not a valid value for reduction")
    return reduction


def _size(x: Tensor) -> str:
    return f"torch.Size({list(x._array.shape)})"


def _real(name: str, *operands: Tensor) -> None:
    for x in operands:
        if x._array.dtype.kind != "f":
            kind = word(x._array.dtype)
            raise NotImplementedError(f"\"{name}\" not implemented for '{kind}'")


# Regression -------------------------------------------------------------------------------------


def _smooth(x: Expr, y: Expr, beta: Expr) -> Expr:
    # The branch with the kink of abs applies away from 0; near 0 the square is smooth.
    d = x - y
    return sd.where(sd.abs(d) < beta, d * d / (2 * beta), sd.abs(d) - beta / 2)


def _huber(x: Expr, y: Expr, delta: Expr) -> Expr:
    d = x - y
    return sd.where(sd.abs(d) < delta, d * d / 2, delta * (sd.abs(d) - delta / 2))


MSE = _loss("mse_loss", lambda x, y: (x - y) ** 2)
L1 = _loss(
    "l1_loss",
    lambda x, y: sd.abs(x - y),
    labels=("AbsBackward0", "MeanBackward0", "SumBackward0"),
)
SMOOTH_L1 = _loss("smooth_l1_loss", _smooth, labels=("SmoothL1LossBackward0",) * 3)
HUBER = _loss("huber_loss", _huber)


def _compared(name: str, input: Tensor, target: Tensor) -> None:
    """Check the operands of a loss that broadcasts: warn for two shapes, raise if they misfit."""
    for x in (input, target):
        if not isinstance(x, Tensor):
            raise TypeError(f"{name}(): arguments must be Tensors, not {type(x).__name__}")
    a, b = input._array.shape, target._array.shape
    if a == b:
        return
    warnings.warn(
        f"Using a target size ({_size(target)}) that is different to the input size "
        f"({_size(input)}). This will likely lead to incorrect results due to broadcasting. "
        "Please ensure they have the same size.",
        UserWarning,
        stacklevel=user_level(),
    )
    for i in range(1, min(len(a), len(b)) + 1):
        if a[-i] != b[-i] and 1 not in (a[-i], b[-i]):
            raise RuntimeError(
                f"The size of tensor a ({a[-i]}) must match the size of tensor b ({b[-i]}) at "
                f"non-singleton dimension {max(len(a), len(b)) - i}"
            )


def _weighted(
    loss: Callable[[str], Tensor], weight: Tensor | None, input: Tensor, target: Tensor, kind: str
) -> Tensor:
    """Return ``loss(reduction)``, with weights if any; a mean divides by the sum of the weights."""
    if weight is None:
        return loss(kind)
    if weight._array.shape != input._array.shape:
        raise ValueError("Weights and input must have the same size.")
    single = loss("none")
    return apply(WEIGHTED[kind], (single, weight), (kind,))


def _weigh(x: Expr, w: Expr, reduction: str) -> Expr:
    return sd.sum(x * w) / sd.sum(w) if reduction == "mean" else _reduced(x * w, reduction)


WEIGHTED = {
    kind: Op("weighted", _weigh, label=label)
    for kind, label in (("none", "MulBackward0"), ("sum", "SumBackward0"), ("mean", "DivBackward0"))
}


def mse_loss(
    input: Tensor, target: Tensor, *, reduction: str = "mean", weight: Tensor | None = None
) -> Tensor:
    """Return the squared differences, reduced: their ``"mean"``, their ``"sum"`` or ``"none"``.

    >>> import numeric as torch
    >>> mse_loss(torch.tensor([1.0, 2.0]), torch.tensor([1.0, 4.0])).item()
    2.0
    """
    _compared("mse_loss", input, target)
    _checked(reduction)
    _real("mse_cpu", input)
    return _weighted(
        lambda kind: apply(MSE[kind], (input, target), (kind,)), weight, input, target, reduction
    )


def l1_loss(
    input: Tensor, target: Tensor, *, reduction: str = "mean", weight: Tensor | None = None
) -> Tensor:
    """Return the absolute differences, reduced; the derivative at a difference of 0 is 0.

    >>> import numeric as torch
    >>> l1_loss(torch.tensor([1.0, 2.0]), torch.tensor([1.0, 4.0]), reduction="sum").item()
    2.0
    """
    _compared("l1_loss", input, target)
    _checked(reduction)
    return _weighted(
        lambda kind: _sizes_of_differences(input, target, kind), weight, input, target, reduction
    )


def _sizes_of_differences(x: Tensor, y: Tensor, reduction: str) -> Tensor:
    if promoted((x._array, y._array)).kind == "f":
        return apply(L1[reduction], (x, y), (reduction,))
    each = abs(x - y)  # of integers: the operations themselves raise for dtypes that they lack
    return each if reduction == "none" else getattr(each, reduction)()


def smooth_l1_loss(
    input: Tensor, target: Tensor, *, reduction: str = "mean", beta: float = 1.0
) -> Tensor:
    """Return the absolute differences, reduced, with a parabola where they are below ``beta``.

    Raises RuntimeError for a negative ``beta``.

    >>> import numeric as torch
    >>> smooth_l1_loss(torch.tensor([0.0]), torch.tensor([3.0])).item()
    2.5
    """
    _compared("smooth_l1_loss", input, target)
    _checked(reduction)
    if beta < 0:
        raise RuntimeError("smooth_l1_loss does not support negative values for beta.")
    if beta == 0:
        return _sizes_of_differences(input, target, reduction)
    _real("smooth_l1_cpu", input)
    return apply(SMOOTH_L1[reduction], (input, target, float(beta)), (reduction,))


def huber_loss(
    input: Tensor,
    target: Tensor,
    reduction: str = "mean",
    delta: float = 1.0,
    weight: Tensor | None = None,
) -> Tensor:
    """Return half the squared differences, reduced, with lines where differences exceed ``delta``.

    Raises RuntimeError unless ``delta`` is positive.

    >>> import numeric as torch
    >>> huber_loss(torch.tensor([0.0]), torch.tensor([3.0]), delta=2.0).item()
    4.0
    """
    _compared("huber_loss", input, target)
    _checked(reduction)
    if delta <= 0:
        raise RuntimeError("huber_loss does not support non-positive values for delta.")
    _real("huber_cpu", input)
    return _weighted(
        lambda kind: apply(HUBER[kind], (input, target, float(delta)), (kind,)),
        weight, input, target, reduction,
    )  # fmt: skip


# Binary cross entropy ---------------------------------------------------------------------------

# PyTorch divides by no less than this, so that the slope is bounded at probabilities 0 and 1.
_LEAST = float(np.float32(1e-12))


def _entropy(p: Expr, t: Expr) -> Expr:
    """Return the loss with bounded logarithms; near 0 and 1 a parabola bounds the slope.

    The parabola has its zero at ``p`` itself, so that it changes derivatives but not the value.
    """
    bounded = t * sd.maximum(sd.log(detach(p)), -100)
    bounded += (1 - t) * sd.maximum(sd.log1p(-detach(p)), -100)
    step = p - detach(p)
    end = step * (detach(p) - detach(t)) / _LEAST + step**2 / (2 * _LEAST) - bounded
    return sd.where(p * (1 - p) < _LEAST, end, -t * sd.log(p) - (1 - t) * sd.log1p(-p))


def _entropy_kernel(p: Array, t: Array) -> Array:
    first = np.maximum(np.log(p), -100)
    second = np.maximum(np.log1p(-p), -100)
    loss: Array = (t - 1) * second - t * first
    return loss


def _tail(x: Array) -> Any:
    """Return ``softplus(-abs(x))``."""
    e = np.abs(x)
    np.negative(e, out=e)
    np.exp(e, out=e)
    return np.log1p(e, out=e)


def _logistic(x: Expr, t: Expr) -> Expr:
    """Return the loss in a form whose slope by x does not cancel for large x and t = 1."""
    return (1 - t) * sd.softplus(x) + t * sd.softplus(-x)


def _logistic_of_targets(x: Expr, t: Expr) -> Expr:
    """Return the loss in a form whose slope by t is -x; the other form cancels for small x."""
    return sd.softplus(x) - t * x


def _logistic_kernel(x: Array, t: Array) -> Any:
    return _tail(x) + ((1 - t) * np.maximum(x, 0) - t * np.minimum(x, 0))


def _positive(x: Expr, t: Expr, p: Expr) -> Expr:
    return (1 - t) * sd.softplus(x) + p * t * sd.softplus(-x)


def _positive_kernel(x: Array, t: Array, p: Array) -> Any:
    return (1 - t + p * t) * _tail(x) + ((1 - t) * np.maximum(x, 0) - p * t * np.minimum(x, 0))


def _times(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *args: function(*args[:-1]) * args[-1]


_BCE, _LOGITS = "BinaryCrossEntropyBackward0", "BinaryCrossEntropyWithLogitsBackward0"
# Keyed by whether the last operand has weights.
BCE = {
    weighted: _loss("bce", build, kernel, (_BCE,) * 3, "weight" * weighted)
    for weighted, build, kernel in (
        (False, _entropy, _entropy_kernel),
        (True, _times(_entropy), _times(_entropy_kernel)),
    )
}
# The first key is whether positive examples have weights, or "targets" if targets require
# gradients.  The second is whether there are weights.
BCE_LOGITS: dict[tuple[object, bool], dict[str, Op]] = {
    key: _loss("bce_with_logits", build, kernel, (_LOGITS,) * 3, weights)
    for key, weights, build, kernel in (
        ((False, False), "", _logistic, _logistic_kernel),
        ((False, True), "weight", _times(_logistic), _times(_logistic_kernel)),
        ((True, False), "pos_weight", _positive, _positive_kernel),
        ((True, True), "both", _times(_positive), _times(_positive_kernel)),
        (("targets", False), "targets", _logistic_of_targets, _logistic_kernel),
        (
            ("targets", True),
            "targets weight",
            _times(_logistic_of_targets),
            _times(_logistic_kernel),
        ),
    )
}


def binary_cross_entropy(
    input: Tensor, target: Tensor, weight: Tensor | None = None, *, reduction: str = "mean"
) -> Tensor:
    """Return ``-target*log(input) - (1 - target)*log(1 - input)``, reduced.

    Logarithms are bounded below by -100.  Raises ValueError for two shapes, RuntimeError for two
    dtypes and for probabilities outside 0 to 1.

    >>> import numeric as torch
    >>> binary_cross_entropy(torch.tensor([0.0]), torch.tensor([1.0])).item()
    100.0
    """
    _checked(reduction)
    a, b = values_of(input), target._array
    if a.shape != b.shape:
        raise ValueError(
            f"Using a target size ({_size(target)}) that is different to the input size "
            f"({_size(input)}) is deprecated. Please ensure they have the same size."
        )
    if a.dtype is not b.dtype:
        names = [word(x.dtype) for x in (b, a)]
        raise RuntimeError(f"Found dtype {names[0]} but expected {names[1]}")
    if ((a < 0) | (a > 1)).any():
        raise RuntimeError("all elements of input should be between 0 and 1")
    operands = (input, target) if weight is None else (input, target, weight)
    common_shape(*[x._array.shape for x in operands])
    return apply(BCE[weight is not None][reduction], operands, (reduction,))


def binary_cross_entropy_with_logits(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    *,
    reduction: str = "mean",
    pos_weight: Tensor | None = None,
) -> Tensor:
    """Return the binary cross entropy of ``sigmoid(input)``, from the logits without overflow.

    ``pos_weight`` multiplies the term with the factor ``target``.  Raises ValueError for two
    shapes.

    >>> import numeric as torch
    >>> logits, target = torch.tensor([1000.0, -1000.0]), torch.tensor([1.0, 1.0])
    >>> binary_cross_entropy_with_logits(logits, target, reduction="none").tolist()
    [0.0, 1000.0]
    """
    _checked(reduction)
    if input._array.shape != target._array.shape:
        raise ValueError(
            f"Target size ({_size(target)}) must be the same as input size ({_size(input)})"
        )
    _real("binary_cross_entropy_with_logits", input)
    kind = "targets" if target._rg and pos_weight is None else pos_weight is not None
    op = BCE_LOGITS[kind, weight is not None][reduction]
    operands = [x for x in (input, target, pos_weight, weight) if x is not None]
    return apply(op, operands, (reduction,))


# Classes ----------------------------------------------------------------------------------------


def _chosen(x: Expr, flat: Expr, reduction: str) -> Expr:
    """Return minus the log-probabilities at the ``flat`` places, reduced."""
    return _reduced(-sd.take(sd.reshape(x, -1), flat), reduction)


def _chosen_kernel(x: Array, flat: Array, reduction: str) -> Any:
    return _reduce(-x.ravel()[flat], reduction)


def _weighed(x: Expr, flat: Expr, w: Expr, counts: Expr, reduction: str) -> Expr:
    """Return the weighted loss, without the ignored targets; a mean divides by the used weights."""
    loss = sd.where(counts, -sd.take(sd.reshape(x, -1), flat) * w, 0)
    return sd.sum(loss) / sd.sum(w) if reduction == "mean" else _reduced(loss, reduction)


def _weighed_kernel(x: Array, flat: Array, w: Array, counts: Array, reduction: str) -> Any:
    loss = np.where(counts, -x.ravel()[flat] * w, x.dtype.type(0))
    if reduction == "mean":
        return np.add.reduce(loss, None) / np.add.reduce(w, None)
    return _reduce(loss, reduction)


# Keyed by whether there are weights or ignored targets, and by whether there are axes beyond those
# of examples and classes.
NLL = {
    (weighed, more): Op(
        "nll_loss", build, kernel, promotion=None, label=label, variant="weight" * weighed
    )
    for weighed, build, kernel in (
        (False, _chosen, _chosen_kernel), (True, _weighed, _weighed_kernel)
    )
    for more, label in ((False, "NllLossBackward0"), (True, "NllLoss2DBackward0"))
}  # fmt: skip


class _Classes:
    """Class indices as places in the flat array of scores.

    ``flat`` has the places, with class 0 for an ignored target.  ``counts`` is a mask of the
    targets that are not ignored, or None if all count.  ``weights`` has one weight for each class,
    or is None.
    """

    def __init__(
        self, input: Tensor, target: Tensor, weight: Tensor | None, ignore_index: int
    ) -> None:
        x, t = input._array, values_of(target)
        n = x.shape[0 if x.ndim == 1 else 1]
        self._check(x, t, n, weight)
        self.dtype, self.n = x.dtype, n
        self.weights = None if weight is None else values_of(weight)
        self.counts: Array | None = None
        traced = isinstance(t, Shadow)  # a trace must also hold for targets of later calls
        if t.size and (traced or ignore_index >= 0 or np.minimum.reduce(t, None) < 0):
            counts = t != ignore_index
            self.counts = None if not traced and counts.all() else counts
            t = np.where(counts, t, 0)
        known = t.size and not traced
        if known and not (0 <= np.minimum.reduce(t, None) <= np.maximum.reduce(t, None) < n):
            raise IndexError(f"Target {t[(t < 0) | (t >= n)].flat[0]} is out of bounds.")
        self.classes = t
        inner = math.prod(x.shape[2:])
        start = np.arange(math.prod(t.shape)).reshape(t.shape)
        # Each example has n rows of ``inner`` elements.
        rows = start if inner == 1 else start // inner * (n * inner) + start % inner
        self.flat = (rows * n if inner == 1 else rows) + t.astype(np.int64, copy=False) * inner

    def used(self) -> Array:
        """Return the weight of each target, 0 for an ignored one."""
        w = np.ones(self.n, self.dtype) if self.weights is None else self.weights
        used = np.take(beside(w, self.classes), self.classes)
        return used if self.counts is None else np.where(self.counts, used, used.dtype.type(0))

    @staticmethod
    def _check(x: Array, t: Array, n: int, weight: Tensor | None) -> None:
        if t.shape == x.shape[:1] + x.shape[2:] and t.dtype.name in _CLASSES and weight is None:
            return
        if x.ndim <= 2 and t.ndim > 1:
            raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
        if t.dtype.name not in _CLASSES:
            raise RuntimeError(f"expected target dtype to be Long or Byte, but got {word(t.dtype)}")
        rest = x.shape[:1] + x.shape[2:] if x.ndim > 1 else ()
        if x.ndim > 1 and t.shape[:1] != rest[:1]:
            size = t.shape[0] if t.ndim else 1
            raise ValueError(
                f"Expected input batch_size ({rest[0]}) to match target batch_size ({size})."
            )
        if t.shape != rest and not (x.ndim == 1 and t.shape == (1,)):
            raise RuntimeError(f"Expected target size {list(rest)}, got {list(t.shape)}")
        if weight is None:
            return
        if weight._array.shape != (n,):
            raise RuntimeError(
                f"weight tensor should be defined either for all {n} classes or no classes but "
                f"got weight tensor of shape: {list(weight._array.shape)}"
            )
        if weight._array.dtype is not x.dtype:
            kinds = [word(a.dtype) for a in (x, weight._array)]
            raise RuntimeError(f"expected scalar type {kinds[0]} but found {kinds[1]}")


def nll_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    *,
    ignore_index: int = -100,
    reduction: str = "mean",
) -> Tensor:
    """Return minus the log-probabilities (axis 1 of ``input``) at the classes ``target``, reduced.

    ``weight`` has a factor for each class, and a mean divides by the sum of the factors in use.
    Targets equal to ``ignore_index`` do not count.  Raises IndexError for a class that does not
    exist, ValueError and RuntimeError for shapes and dtypes that do not fit.

    >>> import numeric as torch
    >>> nll_loss(torch.tensor([[-1.0, -2.0], [-3.0, -4.0]]), torch.tensor([1, 0])).item()
    2.5
    """
    _checked(reduction)
    if not input._array.ndim:
        raise ValueError("Expected 1 or more dimensions (got 0)")
    classes = _Classes(input, target, weight, ignore_index)
    _real("nll_loss_out_frame", input)
    return _nll(input, classes, reduction)


def _nll(input: Tensor, classes: _Classes, reduction: str) -> Tensor:
    more = input._array.ndim > 2
    flat = wrap(classes.flat)
    if classes.weights is None and classes.counts is None:
        return apply(NLL[False, more], (input, flat), (reduction,))
    counts = np.ones(flat._array.shape, np.bool_) if classes.counts is None else classes.counts
    operands = (input, flat, wrap(classes.used()), wrap(counts))
    return apply(NLL[True, more], operands, (reduction,))


def _smoothed(x: Expr, q: Expr, total: Expr, axis: int, reduction: str) -> Expr:
    """Return the cross entropy with fixed probabilities; terms with probability 0 are left out.

    The reason is 0 * -inf, which would be nan.
    """
    loss = -sd.sum(sd.where(sd.equal(q, 0), 0, x * q), axis)
    return sd.sum(loss) / total if reduction == "mean" else _reduced(loss, reduction)


def _soft(
    x: Expr, q: Expr, w: Expr, keep: Expr, spread: Expr, axis: int, reduction: str, smooth: bool
) -> Expr:
    """Return the cross entropy with probabilities ``keep*q + spread`` and weights of classes."""
    loss = -sd.sum(x * (keep * q + spread if smooth else q) * w, axis)
    return _reduced(loss, reduction)


SMOOTHED = Op("cross_entropy", _smoothed, promotion=None, label="AddBackward0")
SOFT = {
    kind: Op("cross_entropy", _soft, label=label, variant=kind)
    for kind, label in (
        ("none", "NegBackward0"), ("sum", "NegBackward0"), ("mean", "DivBackward1")
    )
}  # fmt: skip


def cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    *,
    ignore_index: int = -100,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Tensor:
    """Return the cross entropy of the softmax of ``input`` (over axis 1) with ``target``.

    ``target`` has class indices, as for ``nll_loss``, or probabilities in the shape of ``input``.
    ``label_smoothing`` is the share of a uniform distribution mixed into the target.  Raises as
    ``nll_loss``, and RuntimeError for a ``label_smoothing`` outside 0 to 1.

    >>> import numeric as torch
    >>> scores = torch.tensor([[1000.0, 0.0], [0.0, 1000.0]])
    >>> cross_entropy(scores, torch.tensor([0, 0])).item()
    500.0
    """
    _checked(reduction)
    if not 0 <= label_smoothing <= 1:
        raise RuntimeError(f"label_smoothing must be between 0.0 and 1.0. Got: {label_smoothing:g}")
    x, t = input._array, target._array
    if not x.ndim:
        raise ValueError("Expected 1 or more dimensions (got 0)")
    axis = 0 if x.ndim == 1 else 1
    if x.shape == t.shape:
        if t.dtype.kind != "f":
            kind = word(t.dtype)
            raise RuntimeError(
                f"Expected floating point type for target with class probabilities, got {kind}"
            )
        if ignore_index >= 0:
            raise RuntimeError("ignore_index is not supported for floating point target")
        return _with_probabilities(input, target, weight, axis, reduction, label_smoothing)
    classes = _Classes(input, target, weight, ignore_index)
    logs = log_softmax(input, axis)
    if not label_smoothing:
        return _nll(logs, classes, reduction)
    q, used = np.empty(x.shape, x.dtype), classes.used()
    weights = np.ones(classes.n, x.dtype) if classes.weights is None else classes.weights
    q[...] = _along(weights, axis, x.ndim) * (label_smoothing / classes.n)
    if classes.counts is not None:
        q *= np.expand_dims(classes.counts, axis)
    q.ravel()[classes.flat] += (1 - label_smoothing) * used
    operands = (logs, wrap(q), float(used.sum()))
    return apply(SMOOTHED, operands, (axis, reduction))


def _along(w: Array, axis: int, ndim: int) -> Array:
    """Reshape ``w`` to lie along an axis and broadcast along the others."""
    return w.reshape([-1 if k == axis else 1 for k in range(ndim)])


def _with_probabilities(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None,
    axis: int,
    reduction: str,
    smoothing: float,
) -> Tensor:
    n = input._array.shape[axis]
    if weight is not None and weight._array.shape != (n,):
        raise RuntimeError(
            f"cross_entropy: weight tensor should be defined either for all {n} classes or no "
            f"classes but got weight tensor of shape: {list(weight._array.shape)}"
        )
    w = 1.0 if weight is None else wrap(_along(values_of(weight), axis, input._array.ndim))
    operands = (log_softmax(input, axis), target, w, 1.0 - smoothing, smoothing / n)
    return apply(SOFT[reduction], operands, (axis, reduction, bool(smoothing)))


# Divergence -------------------------------------------------------------------------------------


def _divergence(x: Expr, t: Expr, logs: bool, reduction: str, count: int) -> Expr:
    each = sd.exp(t) * (t - x) if logs else masked_xlogy(t, t) - t * x
    return sd.sum(each) / count if reduction == "batchmean" else _reduced(each, reduction)


KL_DIV = {
    (logs, kind): Op(
        "kl_div",
        _divergence,
        promotion=promoted_real,
        label=label,
        variant="log_target" * logs,
    )
    for logs, kind, label in (
        (False, "none", "SubBackward0"),
        (True, "none", "MulBackward0"),
        *((logs, "mean", "MeanBackward0") for logs in (False, True)),
        *((logs, "sum", "SumBackward0") for logs in (False, True)),
        *((logs, "batchmean", "DivBackward0") for logs in (False, True)),
    )
}


def kl_div(
    input: Tensor, target: Tensor, *, reduction: str = "mean", log_target: bool = False
) -> Tensor:
    """Return the Kullback-Leibler divergence ``target * (log(target) - input)``, reduced.

    ``input`` has logarithms of probabilities; so has ``target`` with ``log_target``.  The reduction
    ``"batchmean"`` divides the sum by the length of the first axis.

    >>> import numeric as torch
    >>> kl_div(torch.tensor([[0.0, -1.0]]), torch.tensor([[1.0, 0.0]]), reduction="sum").item()
    0.0
    """
    if reduction != "batchmean":
        _checked(reduction)
    a = input._array
    count = a.shape[0] if reduction == "batchmean" and a.ndim else 1
    op = KL_DIV[bool(log_target), reduction]
    return apply(op, (input, target), (bool(log_target), reduction, count))
