"""The result of an audit: ``Report`` and its ``Finding``s."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from numeric.check import interchange, plots, presentation

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np
    from matplotlib.axes import Axes

    from numeric.show.pictures import Picture

Verdict: TypeAlias = Literal["right", "wrong", "inaccurate", "convention"]

VERDICTS = ("wrong", "inaccurate", "convention", "right")
"""The verdicts, the worst first."""

# docs/checking.md explains each kind.
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


class GradientError(AssertionError):
    """Derivatives that an audit does not accept; the message is the text of the report."""

    report: Report | None = None


class _AsJson:
    """Equality of records by their JSON, which ignores the arrays that hold the numbers."""

    def __eq__(self, other: object) -> bool:
        if other.__class__ is not self.__class__:
            return NotImplemented
        return interchange.dumped(self) == interchange.dumped(other)

    def __hash__(self) -> int:
        return hash(interchange.dumped(self))


@dataclass(frozen=True, eq=False)
class Finding(_AsJson):
    """One difference between derivatives under test and exact ones, at the clearest point.

    ``kind`` is one of ``KINDS`` and ``why`` gives its particulars in words.  ``derivative`` names
    the wrong function: gradient, vjp, jvp, hessian, or value if another function is computed.
    ``input`` is the input that it is by, and ``component`` the index into it.  ``point`` is the
    simplest counterexample met.  It holds the inputs, and the seeds: ``"cotangent"`` of a vjp, and
    for each input x ``"x_tangent"`` of a jvp.

    ``expected`` is the exact value (20 digits are right) and ``got`` the result.  Either is None
    where there is no such number, as for a result of another shape.  ``ulps`` is the distance in
    units in the last place of the dtype.  At a kink, ``valid`` holds the ends of the interval of
    subgradients.  ``ok`` tells whether the report accepts the difference.
    """

    kind: str
    verdict: Verdict
    ok: bool
    derivative: str
    input: str
    component: tuple[int, ...]
    point: Mapping[str, np.ndarray]
    expected: Any
    got: float | None
    ulps: float
    why: str
    dtype: str = "float64"
    valid: tuple[Any, Any] | None = None
    count: int = 1  # the evaluated points with this difference


@dataclass(frozen=True)
class Sample:
    """One judged point, for the plot: the largest |input|, and the error there in ulps."""

    derivative: str
    magnitude: float
    ulps: float
    group: str  # the group of the point: "ordinary", "extreme", "beside" a border ...


@dataclass(frozen=True, eq=False, repr=False)
class Report(_AsJson):
    """The verdict of an audit; see ``audit``.

    ``ok`` tells whether the derivatives may be used.  ``verdict`` names their worst fault, and
    ``findings`` lists all faults, worst first.  ``str(report)`` is the full text; Jupyter shows a
    table.  Two reports are equal if their JSON is.

    >>> report = Report("right", True, (), "sin(x)", {"x": ()}, 500, 5000, 0, {"ordinary": 500})
    >>> print(report)
    right (ok): the derivatives under test are exact, up to rounding
    forward: sin(x), of x
    500 of at most 5000 evaluations, seed 0
    judged: 500 points (500 ordinary)
    >>> Report.from_json(report.json()) == report
    True
    """

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
    notes: tuple[str, ...] = ()  # checks that were not possible, and the reasons
    samples: tuple[Sample, ...] = ()

    def __str__(self) -> str:
        return presentation.text(self)

    def __repr__(self) -> str:
        return f"<Report: {presentation.headline(self)}>"

    def _repr_html_(self) -> str:
        return presentation.html(self)

    def raise_if_wrong(self) -> None:
        """Raise GradientError with the text of the report unless it is ``ok``."""
        __tracebackhide__ = True  # pytest hides this frame: the report is the message
        if not self.ok:
            error = GradientError(str(self))
            error.report = self
            raise error

    def json(self) -> str:
        """Return the report as JSON, for ``Report.from_json``.

        The JSON is strict: nan and infinities are the strings "nan", "inf" and "-inf".  An array is
        an object of its dtype, its shape and nested lists.  Exact values are decimal strings.
        """
        return interchange.dumped(self)

    @classmethod
    def from_json(cls, text: str) -> Report:
        """Return the report that ``json`` wrote.  Raises ValueError for any other text."""
        return interchange.loaded(text, cls, Finding, Sample)

    def plot(self, ax: Axes | None = None) -> Picture:
        """Draw the error of each judged point in ulps against its magnitude, on logarithmic axes.

        Each group of points has a colour and a shape; see the legend.  Extreme values stand at the
        edges, to keep the axes short.  These are magnitudes 12 decades below or above the median
        (including zero), nan and errors of 1e17 or more, and errors of a thousandth or less.

        Args:
            ax: Matplotlib's axes to draw into; the axes of a new figure by default.

        The result is the picture, which Jupyter shows.  Raises ImportError without Matplotlib, the
        extra ``viz``.
        """
        return plots.report(self, ax)
