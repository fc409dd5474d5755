"""Compare recorded Jacobians with numerical ones by a standard of the permitted error."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import numpy as np

from numeric.autograd.derivatives import grad
from numeric.eager.tensor import Tensor, wrap
from numeric.warnings_off import SILENCE, noise, set_noise

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence


J = TypeVar("J")  # a numerical Jacobian, with the standard's data on its errors


class GradcheckError(RuntimeError):
    """Wrong derivatives; ``raise_exception=False`` turns the error into the result False."""


def as_tuple(x: object) -> tuple[Any, ...]:
    """Return arguments or results as a tuple; a single object gives a tuple of one."""
    return tuple(x) if isinstance(x, tuple | list) else (x,)


class Standard(Protocol[J]):
    """A method for numerical Jacobians, and a criterion for wrong analytical ones."""

    @property
    def double(self) -> bool:
        """Whether inputs of another dtype than float64 cause a warning."""

    def numerical(
        self,
        func: Callable[..., object],
        args: Sequence[object],
        x: Tensor,
        results: Sequence[Tensor],
        real: Sequence[int],
    ) -> Mapping[int, J]:
        """Return the Jacobians of the real results by number, with a row for each element of x."""

    def vanishes(self, n: J) -> bool:
        """Whether a numerical Jacobian is 0."""

    def mismatch(self, i: int, j: int, n: J, a: np.ndarray) -> str | None:
        """Return a message if the analytical Jacobian of output i by input j is wrong."""


@dataclass(frozen=True)
class Fixed:
    """PyTorch's standard: two-sided differences at one step, and fixed tolerances."""

    eps: float
    rtol: float
    atol: float
    double: bool = True

    def numerical(
        self,
        func: Callable[..., object],
        args: Sequence[object],
        x: Tensor,
        results: Sequence[Tensor],
        real: Sequence[int],
    ) -> dict[int, np.ndarray]:
        """Return Jacobians by two-sided differences."""
        eps, array = self.eps, x._array
        quotients = {
            k: np.zeros((x.numel(), results[k].numel()), results[k]._array.dtype) for k in real
        }
        for row, place in enumerate(np.ndindex(array.shape)):
            value = array[place]
            below, above = (
                moved(func, args, results, real, x, place, value + step, eps)
                for step in (-eps, eps)
            )
            before = noise()
            try:
                set_noise(SILENCE)
                for k, a, b in zip(real, below, above, strict=True):
                    quotients[k][row] = ((b - a) / (2 * eps)).ravel()
            finally:
                set_noise(before)
        return quotients

    def vanishes(self, n: np.ndarray) -> bool:
        """Whether all elements are 0."""
        return not n.any()

    def mismatch(self, i: int, j: int, n: np.ndarray, a: np.ndarray) -> str | None:
        """Return a message with both Jacobians if they are not close."""
        if np.allclose(a, n, self.rtol, self.atol):
            return None
        return (
            f"Jacobian mismatch for output {i} with respect to input {j},\n"
            f"numerical:{wrap(n)}\nanalytical:{wrap(a)}\n"
        )


def compare(
    func: Callable[..., object],
    args: Sequence[object],
    inputs: Sequence[Tensor],
    results: Sequence[Tensor],
    standard: Standard[J],
    nondet_tol: float,
) -> None:
    """Raise GradcheckError if one of the Jacobians by the inputs is wrong."""
    real = [k for k, y in enumerate(results) if y._array.dtype.kind == "f"]
    numerical = [standard.numerical(func, args, x, results, real) for x in inputs]
    outputs = [k for k in real if results[k].requires_grad]
    if not outputs and not all(
        standard.vanishes(n) for by_result in numerical for n in by_result.values()
    ):
        raise GradcheckError("Numerical gradient for function expected to be zero")
    for i, k in enumerate(outputs):
        analytical = jacobians(results[k], inputs)
        again = jacobians(results[k], inputs)
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
            wrong = standard.mismatch(i, j, numerical[j][k], a)
            if wrong is not None:
                raise GradcheckError(wrong)


def moved(
    func: Callable[..., object],
    args: Sequence[object],
    results: Sequence[Tensor],
    real: Sequence[int],
    x: Tensor,
    place: tuple[int, ...],
    value: object,
    by: float,
) -> list[np.ndarray]:
    """Return copies of the real results with another value for one element of ``x``.

    The element changes in place, since ``func`` may read the tensor elsewhere, and is restored.
    """
    array = x._array
    original = array[place]
    try:
        array[place] = value
        outputs = as_tuple(func(*args))
        for k in real:
            for what in ("shape", "dtype"):
                was, now = getattr(results[k], what), getattr(outputs[k], what)
                if was != now:
                    raise AssertionError(
                        f"Expected `func` to return outputs with the same {what} when inputs are "
                        f"perturbed on index {place} by {by}, but got: {what}s {was} and {now}."
                    )
        return [np.array(outputs[k]._array) for k in real]
    finally:
        array[place] = original


def jacobians(y: Tensor, inputs: Sequence[Tensor]) -> list[np.ndarray]:
    """Return the recorded Jacobian by each input, with a column for each element of the result."""
    matrices = [np.zeros((x.numel(), y.numel()), x._array.dtype) for x in inputs]
    for column, weight in enumerate(_units(y)):
        gradients = grad(y, inputs, weight, retain_graph=True, allow_unused=True)
        for jacobian, g in zip(matrices, gradients, strict=True):
            if g is not None:
                jacobian[:, column] = g._array.ravel()
    return matrices


def _units(y: Tensor) -> Iterator[Tensor]:
    """Yield weights that select each element of a tensor in turn."""
    for place in np.ndindex(y._array.shape):
        unit = np.zeros(y._array.shape, y._array.dtype)
        unit[place] = 1
        yield wrap(unit)
