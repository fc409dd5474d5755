"""The workloads, by field; add a new one to the list ``WORKLOADS`` of its module."""

from benchmarks.declarations import Case
from benchmarks.workloads import eager, elementwise, linear_algebra, models, recurrences, solutions

WORKLOADS = sorted(
    [
        *elementwise.WORKLOADS,
        *linear_algebra.WORKLOADS,
        *models.WORKLOADS,
        *eager.WORKLOADS,
        *recurrences.WORKLOADS,
        *solutions.WORKLOADS,
    ],
    key=lambda w: w.number,
)
CASES = [Case(w, label) for w in WORKLOADS for label in w.sizes]
