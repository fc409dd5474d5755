"""What a gradient of the bench is: under test, with what is known of it."""

from __future__ import annotations

import copy
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from tests.check.forwards import FORWARDS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from numpy.typing import NDArray

    from tests.check.forwards import Forward


@dataclass(frozen=True, eq=False)
class Entry:
    """Derivatives of a forward, right (``kinds`` is empty) or wrong.

    ``kinds`` are those that an expert would call the mistake.  ``witness`` are inputs at which it
    shows, or a predicate of the entry where it shows in no single value.
    """

    forward: Forward
    what: str
    callables: Mapping[str, Callable[..., Any]]
    kinds: frozenset[str] = frozenset()
    inputs: Mapping[str, Any] = field(default_factory=dict)  # in place of the forward's
    witness: Any = None

    @property
    def name(self) -> str:
        """As it stands in tables and in the names of tests."""
        return f"{self.forward.name}: {self.what}"

    def offered(self) -> dict[str, Callable[..., Any]]:
        """The callables by keyword; those that have a state, as new."""
        return {word: copy.deepcopy(of) for word, of in self.callables.items()}

    def examples(self) -> dict[str, Any]:
        """The inputs by name: shapes, or example arrays."""
        return {**self.forward.inputs, **self.inputs}

    def dtypes(self) -> tuple[type, ...]:
        """Of the inputs that it is offered for."""
        given = [x for x in self.examples().values() if isinstance(x, np.ndarray)]
        return (given[0].dtype.type,) if given else (np.float64, np.float32)

    def points(self, seed: int, dtype: Any = float) -> list[NDArray[Any]]:
        """Inputs: normal, or uniform in the domain."""
        rng = np.random.default_rng(seed)
        domain, point = self.forward.domain, []
        for name, given in self.examples().items():
            shape = given.shape if isinstance(given, np.ndarray) else given
            x = rng.uniform(*domain[name], shape) if name in domain else rng.normal(size=shape)
            point.append(np.asarray(x, dtype))
        return point


def wrong(
    name: str, what: str, kinds: str, witness: Any, *, inputs: Any = None, **of: Any
) -> Entry:
    """A planted mistake; ``kinds`` are words, the best one first."""
    return Entry(FORWARDS[name], what, of, frozenset(kinds.split()), inputs or {}, witness)


def right(
    name: str, what: str, *, inputs: Any = None, single: bool = False, **of: Any
) -> tuple[Entry, ...]:
    """Derivatives that are right; ``single``: for inputs of float32, too."""
    given = {what: inputs or {}} | ({f"{what}, float32 inputs": singles(name)} if single else {})
    return tuple(Entry(FORWARDS[name], title, of, inputs=x) for title, x in given.items())


def singles(name: str) -> dict[str, NDArray[np.float32]]:
    """Example arrays of float32 for a forward."""
    return {
        k: np.linspace(0.5, 1.5, int(np.prod(s)), dtype=np.float32).reshape(s)
        for k, s in FORWARDS[name].inputs.items()
    }


# Predicates: mistakes that show in no single value.


def mutates(entry: Entry) -> bool:
    """Whether a call changes an argument."""
    point = entry.points(0)
    before = [x.copy() for x in point]
    call = entry.offered()["gradient"]
    call(*point)
    return not all(np.array_equal(a, b) for a, b in zip(before, point, strict=True))


def remembers(entry: Entry) -> bool:
    """Whether a call changes an earlier result, or depends on earlier calls."""
    one, other = entry.points(0), entry.points(1)
    call, fresh = entry.offered()["gradient"], entry.offered()["gradient"]
    first = call(*one)
    kept = np.array(first)
    second = call(*other)
    return not np.array_equal(kept, first) or not np.array_equal(second, fresh(*other))


def reads_memory_order(entry: Entry) -> bool:
    """Whether the same values in another memory layout give another result."""
    point, call = entry.points(0), entry.offered()["gradient"]
    return not np.array_equal(call(*point), call(*map(np.asfortranarray, point)))


def every(parts: Iterable[Any]) -> list[NDArray[Any]]:
    """One array or several, as a list."""
    return list(parts) if isinstance(parts, tuple | list) else [np.asarray(parts)]
