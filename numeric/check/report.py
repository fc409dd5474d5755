"""What an audit found: ``Report`` and its ``Finding``s."""

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
"""Worst first."""

# What each means is in docs/checking.md.
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
    """Equal are records that say the same: their JSON is, whatever arrays hold their numbers."""

    def __eq__(self, other: object) -> bool:
        if other.__class__ is not self.__class__:
            return NotImplemented
        return interchange.dumped(self) == interchange.dumped(other)

    def __hash__(self) -> int:
        return hash(interchange.dumped(self))


@dataclass(frozen=True, eq=False)
class Finding(_AsJson):
    """One way in which the derivatives under test differ from the exact ones, where it shows best.

    ``kind`` is one of ``KINDS`` and ``why`` says its particulars in words; ``derivative`` names
    what differs (gradient, vjp, jvp, hessian, or value, where another function is computed),
    ``input`` by what, ``component`` the index into it.  ``point`` holds the inputs, and the seeds,
    ``"cotangent"`` of a vjp and for each input x ``"x_tangent"`` of a jvp; it is a counterexample
    as simple as was found.  ``expected`` is the exact value (20 digits are
    right), ``got`` what came instead; either is None where there is no such number, as of a result
    of another shape.  ``ulps`` is the distance in units in the last place of the dtype.  ``valid``
    are the ends of the interval of subgradients where the point is at a kink.  ``ok``: whether the
    report may pass in spite of it.
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
    count: int = 1  # of the evaluated points at which it shows


@dataclass(frozen=True)
class Sample:
    """One judged point, for the plot: the largest |input|, and the error there in ulps."""

    derivative: str
    magnitude: float
    ulps: float
    group: str  # which points these are: "ordinary", "extreme", "beside" a border ...


@dataclass(frozen=True, eq=False, repr=False)
class Report(_AsJson):
    """The verdict of an audit; see ``audit``.

    ``ok`` says whether the derivatives may be used, ``verdict`` what is wrong with them if
    anything is, ``findings`` each way in which it shows, worst first.  ``str(report)`` is all of
    that as text, in Jupyter it is a table.  Two reports are equal if their JSON is.

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
    notes: tuple[str, ...] = ()  # what could not be checked, and why
    samples: tuple[Sample, ...] = ()

    def __str__(self) -> str:
        return presentation.text(self)

    def __repr__(self) -> str:
        return f"<Report: {presentation.headline(self)}>"

    def _repr_html_(self) -> str:
        return presentation.html(self)

    def raise_if_wrong(self) -> None:
        """Raise GradientError with the text of the report unless it is ``ok``."""
        __tracebackhide__ = True  # of pytest: the report is the message, not this line
        if not self.ok:
            error = GradientError(str(self))
            error.report = self
            raise error

    def json(self) -> str:
        """The report as JSON, which ``Report.from_json`` reads.

        Strictly JSON: nan and infinities are the strings "nan", "inf" and "-inf".  An array is an
        object of its dtype, its shape and nested lists; exact values are decimal strings.
        """
        return interchange.dumped(self)

    @classmethod
    def from_json(cls, text: str) -> Report:
        """The report that ``json`` wrote.  Raises ValueError for any other text."""
        return interchange.loaded(text, cls, Finding, Sample)

    def plot(self, ax: Axes | None = None) -> Picture:
        """The error of each judged point in ulps against its magnitude, on logarithmic axes.

        Each group of points has a colour and a shape; see the legend.  What would make the axes
        long stands at the edges: magnitudes of 12 decades less or more than the median, zero among
        them, nan and errors of 1e17 or more at the top, of a thousandth or less at the bottom.

        Args:
            ax: Matplotlib's axes to draw into; those of a new figure by default.

        The result is the picture, which Jupyter shows.  Raises ImportError without Matplotlib, the
        extra ``viz``.
        """
        return plots.report(self, ax)
