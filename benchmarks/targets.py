"""Targets of lowered code, required and desired: ratios ours/peer, or seconds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from benchmarks.rounds import NATIVE, OURS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from benchmarks.rounds import Outcome

MOST_OPERATIONS = 4.0  # of value and gradient, relative to those of the value
OPERATIONS = "operations"


@dataclass(frozen=True)
class Target:
    """A target for cases whose names start with ``case``: ``what`` over the peer's, or in seconds.

    ``own`` is our backend under test.  With ``than``, the peer is our own time at that other case.
    """

    case: str
    peer: str
    must: float | None = None
    aim: float | None = None
    what: str = "call"
    own: str = OURS
    than: str = ""


@dataclass(frozen=True)
class Verdict:
    """A target at one case; ``measured`` is None where the peer was not timed."""

    target: Target
    case: str
    measured: float | None

    def reached(self, bound: float | None) -> bool | None:
        """Whether the bound is reached; None without a bound or a measurement."""
        return None if bound is None or self.measured is None else self.measured <= bound


def _native(case: str, peer: str, must: float | None = None, aim: float | None = None) -> Target:
    return Target(case, peer, must, aim, own=NATIVE)


def _both(
    case: str, *peers: str, must: float | None = None, aim: float | None = None
) -> list[Target]:
    return [Target(case, peer, must, aim) for peer in peers]


TARGETS = [
    Target("1 ", "lambdify", 1.2, 1.0),
    Target("1 ", "jax", 0.1),
    Target("2 chained Rosenbrock n=1000", "hand", 1.1),
    Target("2 chained Rosenbrock n=1000", "jax", 1.0),
    Target("2 chained Rosenbrock n=1000000", "hand", aim=0.6),
    *(
        Target(f"3 {name} n=1000000", peer, must, aim)
        for name in ("sum of elementwise functions", "exp(-xy) sin z + log(1+x²) at points")
        for peer, must, aim in (("naive", 0.65, None), ("torch", 0.5, None), ("jax", None, 1.0))
    ),
    Target("4 ", "casadi", 0.4, what="build + differentiate"),
    Target("4 ", OURS, 0.3, what="lower"),
    Target("4 ", "casadi", 1.5, 1.0),
    Target("5 ", "hand", 1.1),
    *_both("5 x'Ax", "jax", "torch", must=0.01),
    *_both("5 matrix factorisation", "jax", "torch", aim=1 / 40),
    Target("6 ", OURS, 0.1, what="differentiate + lower"),
    Target("6 ", "jax", 1.0),
    Target("7 ", "jax", 0.65, 0.5),
    Target("8 ", "torch", 1.0, 0.8),
    Target("8 ", "jax", 1.2),
    Target("9 ", "torch", 0.6),
    Target("9 ", "jax", 1.0),
    *_both("10 ", "jax", "hand", must=1.0),
    Target("11 k-means gradient", "jax", 1.0),
    Target("11 k-means cost", "jax", 1.5),
    Target("11 polynomial", "jax", 0.3),
    Target("11 determinant by cofactors n=5", "casadi", 1.0),
    Target("11 hand tracking", "jax", 0.2),
    *(
        Target(f"13 {name}", peer, must)
        for name in ("recurrent network", "LSTM")
        for peer, must in (("torch", 0.5), ("jax", 3.0))
    ),
    Target("13 Lotka-Volterra", "jax", 2.5),
    *(
        Target(f"13 {name}", "jax", 0.3, what="build + differentiate + lower")
        for name in ("recurrent network", "LSTM", "Lotka-Volterra", "logistic map")
    ),
    Target("14 root", "hand", 1.5),
    Target("14 Lotka-Volterra by odeint", "hand", 1.3),
    Target("14 odeint's last state", OURS, 5.0, than="14 Lotka-Volterra by odeint n=20"),
    *(_native(case, OURS, 1.1) for case in ("1 Rosenbrock", "1 exp(-xy)")),
    _native("2 chained Rosenbrock n=1000", "jax", 0.5),
    _native("2 chained Rosenbrock n=1000", "hand", aim=0.3),
    _native("2 chained Rosenbrock n=1000000", "jax", 0.5),
    _native("2 chained Rosenbrock n=1000000", "hand", aim=0.3),
    _native("3 sum of elementwise functions n=1000000", "jax", 0.5, 0.35),
    _native("3 sum of elementwise functions n=1000000", "torch", 0.15),
    _native("3 exp(-xy) sin z + log(1+x²) at points n=1000000", "heyoka", 1.2, 1.0),
    _native("3 exp(-xy) sin z + log(1+x²) at points n=1000000", "jax", 0.5),
    _native("4 ", "casadi", 0.5),
    _native("7 ", "jax", 0.4),
    _native("9 softmax", "jax", 0.6),
    _native("10 Gaussian mixture d=10, k=25", "jax", 0.6),
    _native("10 Gaussian mixture d=64, k=25", "jax", 0.6),
    _native("11 k-means cost k=100, n=10000", "jax", 0.6),
    _native("13 Lotka-Volterra", "jax", 0.3),
    _native("11 k-means gradient and Hessian diagonal k=100, n=10000", "jax", 0.6),
    *(
        Target(f"12 eager: {name}", "torch", must)
        for name, must in {
            "40 multiply-adds on 1 element": 0.8,
            "40 multiply-adds on 10⁴ elements": 1.2,
            "40 by numbers on 1 element": 0.8,
            "step of a perceptron": 1.0,
            "step with a gradient penalty": 1.5,
            "logistic Hessian": 0.2,
            "gradients of 64 samples": 1.0,
            "Jacobian of a function of 200": 0.5,
        }.items()
    ),
]


def applies(target: Target, case: str) -> bool:
    """Whether a case has the target's name, or starts with it up to a space (n=1000, n=1000000)."""
    return case == target.case or case.startswith(target.case.rstrip() + " ")


def _compared_with(outcome: Outcome, other: Outcome | None, target: Target) -> float | None:
    """Return our time divided by ours at another case, measured at another time."""
    both = [x and x.timings[OURS].median(target.what) for x in (outcome, other)]
    return both[0] / both[1] if both[0] and both[1] else None


def verdicts(outcomes: Iterable[Outcome]) -> Iterator[Verdict]:
    """Yield every target at every measured case; the growth of operations last."""
    measured: Mapping[str, Outcome] = {outcome.case.name: outcome for outcome in outcomes}
    for target in TARGETS:
        for name, outcome in measured.items():
            if not applies(target, name):
                continue
            if target.than:
                figure = _compared_with(outcome, measured.get(target.than), target)
            elif target.peer == OURS == target.own:
                figure = outcome.timings[OURS].median(target.what)
            else:
                figure = outcome.ratio(target.peer, target.what, target.own)
            yield Verdict(target, name, figure)
    for name, outcome in measured.items():
        if outcome.operations is not None:
            value, gradient = outcome.operations
            target = Target(name, OURS, MOST_OPERATIONS, what=OPERATIONS)
            yield Verdict(target, name, gradient / value)
