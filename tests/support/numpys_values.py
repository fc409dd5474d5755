"""A function of certain arrays, interpreted and lowered here, and computed by NumPy."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

import numeric as nm
import symdiff as sd
from symdiff.graph.leaves import number_of

if TYPE_CHECKING:
    from collections.abc import Callable


class Value(NamedTuple):
    """``call(m, *operands)``, where m is this library or a ``model`` of it."""

    title: str
    call: Callable[..., Any]
    operands: tuple[Any, ...]
    model: Any = np
    kind: bool = True  # whether to compare the kind of number with the model's

    def check(self) -> None:
        """Compare the shape, the kind of number and the values of all results with the model."""
        operands = [np.asarray(v) for v in self.operands]
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            expected = listed(self.call(self.model, *operands))
        xs = [sd.symbol(f"x{k}", v.shape, v.dtype) for k, v in enumerate(operands)]
        outputs = listed(self.call(sd, *xs))
        with np.errstate(all="ignore"):
            interpreted = nm.interpret(outputs, dict(zip(xs, operands, strict=True)))
            lowered = nm.lower(outputs, xs)(*operands)
        single = any(v.dtype == np.float32 for v in operands)
        rtol, atol = (1e-6, 1e-6) if single else (1e-13, 1e-14)  # allows a dozen roundings
        for y, wanted, *results in zip(outputs, expected, interpreted, lowered, strict=True):
            assert y.shape == np.shape(wanted)
            for value in map(np.asarray, results):
                assert value.shape == y.shape
                np.testing.assert_allclose(value, wanted, rtol=rtol, atol=atol)
            one, other = (np.asarray(value).dtype for value in results)
            if number_of(y) is None:  # an exact number has no dtype of its own
                assert one == other
                # whole numbers without an integer operand are returned as reals
                assert one.kind in {float: "f", int: "if", bool: "b"}[y.dtype]
                assert not self.kind or one.kind == np.asarray(wanted).dtype.kind
                assert not single or one.kind != "f" or one == np.float32


def listed(results: Any) -> list[Any]:
    """Return the results as a list, also if there is one alone."""
    return list(results) if isinstance(results, list | tuple) else [results]
