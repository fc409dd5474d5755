"""What an audit found: ``Report`` and its ``Finding``s."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

Verdict: TypeAlias = Literal["right", "wrong", "inaccurate", "convention"]

VERDICTS = ("wrong", "inaccurate", "convention", "right")
"""Worst first."""

KINDS = (
    "sign",
    "factor",
    "missing-term",
    "transposed",
    "branch",
    "tie",
    "dead-tail",
    "cancellation",
    "broadcast",
    "dtype",
    "mutation",
    "accumulation",
    "nonfinite",
    "order",
    "other",
)


@dataclass(frozen=True)
class Finding:
    """One way in which the derivatives under test differ from the exact ones, where it shows best.

    ``kind`` is one of ``KINDS`` and ``why`` says its particulars in words; ``derivative`` names
    what differs (gradient, vjp, jvp or hessian), ``input`` by what, ``component`` the index into
    it.  ``point`` holds the inputs, and for a vjp or jvp the seed under ``"cotangent"`` or
    ``"tangent"``; it is a minimal counterexample.  ``expected`` is the exact value (20 digits are
    right), ``got`` what came instead, ``ulps`` the distance in units in the last place of the
    dtype.  ``valid`` are the ends of the interval of subgradients where the point is at a kink.
    ``ok``: whether the report may pass in spite of it.
    """

    kind: str
    verdict: Verdict
    ok: bool
    derivative: str
    input: str
    component: tuple[int, ...]
    point: Mapping[str, NDArray[Any]]
    expected: Any
    got: float
    ulps: float
    why: str
    dtype: str = "float64"
    valid: tuple[Any, Any] | None = None
    count: int = 1  # of the evaluated points at which it shows


@dataclass(frozen=True)
class Sample:
    """One judged point, for the plot: the largest |input|, and the error there in ulps."""

    derivative: str
    magnitude: float
    ulps: float
    group: str  # which points these are: "ordinary", "extreme", "boundary" ...


@dataclass(frozen=True)
class Report:
    """The verdict of an audit; see ``audit``."""

    verdict: Verdict
    ok: bool
    findings: tuple[Finding, ...]
    forward: str
    inputs: Mapping[str, tuple[int, ...]]
    evaluations: int
    budget: int
    seed: int
    judged: Mapping[str, int] = field(default_factory=dict)  # points by group
    left_out: Mapping[str, int] = field(default_factory=dict)  # points by reason
    notes: tuple[str, ...] = ()  # what could not be checked, and why
    samples: tuple[Sample, ...] = ()
