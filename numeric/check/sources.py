"""Functions with their own derivatives, as functions of NumPy arrays: the common base."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from contextlib import contextmanager
from functools import wraps
from typing import TYPE_CHECKING, Any

import numpy as np

from symdiff.errors import ShapeError
from symdiff.graph.axis_lengths import bound_sizes, lengths

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numeric.lowering.function import Function
    from symdiff.graph.expr import Expr


@contextmanager
def silent() -> Iterator[None]:
    """Suppress warnings of trial calls, which only find out what a function is."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        yield


class Source(ABC):
    """A function of NumPy arrays with its own derivatives.

    Arrays of integers and booleans are data: they have no derivatives.
    """

    def __init__(self, fn: Callable[..., Any]) -> None:
        self.fn = fn
        self.name = called(fn)

    def __repr__(self) -> str:
        return f"<{type(self).__name__.lower()} function {self.name}>"

    @abstractmethod
    def value(self, *arrays: np.ndarray) -> np.ndarray:
        """Return the function's value."""

    @abstractmethod
    def vjp(self, *arrays: np.ndarray) -> Any:
        """Return the cotangents of the inputs, given the inputs and the cotangent of the value."""

    @abstractmethod
    def jvp(self, *arrays: np.ndarray) -> np.ndarray:
        """Return the tangent of the value, given the inputs and their tangents."""

    @abstractmethod
    def hessian(self, *arrays: np.ndarray) -> Any:
        """Return second derivatives of a scalar: an array for one input, else rows of blocks."""

    @silent()
    def offered(
        self, forward: Expr, inputs: Sequence[Expr], at: Sequence[np.ndarray]
    ) -> dict[str, object]:
        """Return the fields of a ``Candidate``: the derivatives that can be computed at ``at``.

        Raises ShapeError for a function whose value has another shape than ``forward``.
        """
        tangents = [a for a in at if a.dtype.kind == "f"]
        # A value of higher rank has no Hessian here.
        calls = {"jvp": (*at, *tangents)} | ({} if forward.shape else {"hessian": at})
        fields: dict[str, object] = {"name": self.name, "value": self._named(self.value)}
        fields["vjp"] = self._named(self.vjp)
        notes = []
        # Only a call shows which dtypes a function takes.
        dtypes = [kind for kind in ("float64", "float32") if self._takes(at, kind)]
        if dtypes:
            fields["dtypes"] = tuple(dtypes)
            self._check_shape(forward, inputs, _in(dtypes[0], at))
        for what, args in calls.items():
            method = getattr(self, what)
            try:
                method(*_in(dtypes[0] if dtypes else "float64", args))
            # Any error means that the source lacks this derivative; the note keeps the reason.
            except Exception as error:
                reason = str(error).strip().partition("\n")[0]
                notes.append(f"{self.name} offers no {what}: {type(error).__name__}: {reason}")
            else:
                fields[what] = self._named(method)
        return fields | {"notes": tuple(notes)}

    def _named(self, call: Callable[..., object]) -> Callable[..., object]:
        return named(call, self.name)

    def _takes(self, at: Sequence[np.ndarray], kind: str) -> bool:
        try:
            self.value(*_in(kind, at))
        except Exception:
            return False
        return True

    def _check_shape(self, forward: Expr, inputs: Sequence[Expr], at: Sequence[np.ndarray]) -> None:
        sizes = bound_sizes("input", inputs, [a.shape for a in at])
        got, expected = self.value(*at).shape, lengths(forward.shape, sizes)
        if got != expected:
            raise ShapeError(
                f"{self.name} gives shape {got} where the forward has {expected}: it stands for "
                "the function whose derivatives are tested, not for the derivatives; give those "
                "as a function of NumPy arrays"
            )


def called(fn: object) -> str:
    """Return the name of a function for messages."""
    # ``apply`` of an autograd Function says nothing; its class has the name.
    owner = getattr(fn, "__self__", None)
    if isinstance(owner, type) and getattr(fn, "__name__", "") == "apply":
        return owner.__name__
    return getattr(fn, "__name__", None) or type(fn).__name__


def named(call: Callable[..., object], name: str) -> Callable[..., object]:
    """Wrap ``call`` so that its errors name ``name``."""

    @wraps(call)
    def inner(*args: object) -> object:
        try:
            return call(*args)
        except Exception as error:
            # A note keeps the error's class, which callers distinguish.
            error.add_note(f"raised by {name}, which is under test")
            raise

    return inner


def _in(kind: str, arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Copy the arrays, real ones in the given dtype."""
    # Copies, because a source may write into its operands.
    return [a.astype(kind) if a.dtype.kind == "f" else a.copy() for a in arrays]


def real_places(arrays: Sequence[np.ndarray]) -> list[int]:
    """Return the positions of the real arrays, which derivatives are by."""
    return [i for i, a in enumerate(arrays) if np.dtype(a.dtype).kind == "f"]


def moved(
    arrays: Sequence[np.ndarray],
) -> tuple[Sequence[np.ndarray], Sequence[np.ndarray]]:
    """Split inputs from the tangents after them, which only the real inputs have."""
    # Each real input has one real tangent, so half of the real arrays are tangents.
    n = len(arrays) - len(real_places(arrays)) // 2
    return arrays[:n], arrays[n:]


def one_or_all(values: Sequence[object]) -> Any:
    """Return a single value by itself, several as a tuple."""
    return values[0] if len(values) == 1 else tuple(values)


class Lowered(Source):
    """A lowered Function with one output."""

    fn: Function

    def __init__(self, fn: Function) -> None:
        super().__init__(fn)
        if len(fn.outputs) != 1:
            raise TypeError(
                f"a Function with {len(fn.outputs)} outputs is not one function to test"
            )

    def _only(self, result: Any) -> Any:
        # A Function of a list of outputs returns a tuple, even of one.
        return result[0] if self.fn._many else result

    def value(self, *arrays: np.ndarray) -> np.ndarray:
        """Return the Function's value."""
        return np.asarray(self._only(self.fn(*arrays)))

    def vjp(self, *arrays: np.ndarray) -> Any:
        """Compute the vjp by ``backward``."""
        gradients = self.fn.vjp(*arrays[:-1])[1](arrays[-1])
        return one_or_all([g for g in gradients if g is not None])

    def jvp(self, *arrays: np.ndarray) -> np.ndarray:
        """Compute the jvp by ``jvp``."""
        inputs, tangents = moved([np.asarray(a) for a in arrays])
        by_place = dict(zip(real_places(inputs), tangents, strict=True))
        result = self.fn.jvp(inputs, [by_place.get(i) for i in range(len(inputs))])[1]
        return np.asarray(self._only(result))

    def hessian(self, *arrays: np.ndarray) -> Any:
        """Compute the Hessian by ``hessian``."""
        # Integer and boolean inputs are data, without derivatives.
        real = [x for x in self.fn.inputs if x.dtype is float]
        blocks = self._only(self.fn.hessian(*arrays, wrt=real))
        return blocks[0][0] if len(real) == 1 else blocks
