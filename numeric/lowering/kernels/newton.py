"""Newton's method for batches of systems of equations, and of minimisers.

One system is solved by ``direct`` as long as steps lessen what is left, in as few calls as that
takes; ``solved`` does the rest, and batches.  Each system of a batch has steps of its own, and
rests when it is solved.  Its arrays have the batch first, flattened: points (b, n), what is left of
the equations (b, n), their slopes (b, n, n).

Sources: Nocedal and Wright, Numerical Optimization (2006), 3.1 and 11.2; Dauphin et al.,
Identifying and attacking the saddle point problem (2014), for steps where a Hessian is not positive
definite.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeAlias

import numpy as np

from numeric.lowering.kernels import lapack
from symdiff.contexts import contained
from symdiff.errors import ConvergenceError

if TYPE_CHECKING:
    from collections.abc import Callable

# What a step has to give of what it promises.
_ENOUGH = 1e-4
# A step that was halved so often is none.
_HALVINGS = 40
# What no longer shrinks to this part of itself is only rounding.
_SHRINKING = 0.7
# So many steps that lessen nothing show that nothing more can be.
_IDLE = 5
# A step that needs to be shorter than this part of itself is none of the simple ones.
_SHARE = 1e-2
# A slope of a point before has to lessen steps to this part of themselves.
_KEPT = 0.1
# So many numbers are Python's, which takes less than calls of NumPy.
_FEW = 32
# Rounding, by the bytes of a number.
_EPS = {4: 2.0**-23, 8: 2.0**-52, 16: 2.0**-52}
# Norms from here on have squares that are far from the least float, by the bytes of a number.
_TINY = {4: 1e-15, 8: 1e-150, 16: 1e-150}


class State(NamedTuple):
    """What the equations are at some points; ``merit`` is what steps have to lessen."""

    merit: np.ndarray
    residual: np.ndarray
    slope: np.ndarray


Evaluated: TypeAlias = "Callable[[np.ndarray], State]"


class Way(NamedTuple):
    """How far steps have come: a point, whether it is a root, and what they took.

    ``steps`` is how many they were, ``first`` what was left where they began.
    """

    x: np.ndarray
    done: bool
    steps: int
    first: float


class System(Protocol):
    """One system of equations; ``is_smooth``: whether slopes change by little near a root."""

    is_smooth: bool

    def __call__(self, x: np.ndarray, /) -> tuple[np.ndarray, np.ndarray, float]:
        """What is left at a point (n,), its slope (n, n), and the merit of a minimiser."""

    def residual(self, x: np.ndarray, /) -> np.ndarray:
        """The first of them."""


@contained
def direct(system: System, x: np.ndarray, max_steps: int, *, minimum: bool = False) -> Way:
    """Newton's steps from a point, as long as each of them is one that ``solved`` takes.

    Near the root of smooth equations a slope is kept, and the residual alone tells what is left to
    go.  A slope that does not lessen that is made anew: it cannot tell whether more can be done.

    Args:
        system: the equations.
        x: the point, of at least one element.
        max_steps: how many steps there may be.
        minimum: whether slopes are Hessians, which have to be positive definite.

    >>> class Square:
    ...     is_smooth = True
    ...     def __call__(self, x):
    ...         return self.residual(x), 2 * x[:, None], 0.0
    ...     def residual(self, x):
    ...         return x * x - 9
    >>> way = direct(Square(), np.ones(1), 100)
    >>> way.x.tolist(), way.done
    ([3.0], True)
    """
    with np.errstate(all="ignore"):
        f, slope, merit = system(x)
        first = size = math.sqrt(f.dot(f))
        eps, tiny = _EPS[x.itemsize], _TINY[x.itemsize]
        root_eps = math.sqrt(eps)
        reach, last, steps = _span(x), math.inf, 0
        kept = False  # whether the slope is that of the point before
        while steps < max_steps:
            if minimum and not kept and not lapack.cholesky(slope)[0, 0] > 0:
                break
            if not tiny < size < math.inf:
                return Way(x, not f.any(), steps, first)
            move = lapack.solve_vector(slope, f)
            if not move.dot(move) < math.inf:
                break
            there = x - move
            wide = _span(there)
            near = _span(move) <= root_eps * max(reach, wide)
            parts = _parts(move, there) if near else math.inf
            if parts <= 2 * eps:  # what is left to go changes the last digit at most
                return Way(there, True, steps + 1, first)
            if kept and not parts <= _KEPT * last:
                (f, slope, merit), kept = system(x), False
                size = math.sqrt(f.dot(f))
                continue
            steps += 1
            kept = near and system.is_smooth
            if kept:
                f = system.residual(there)
            else:
                f, slope, after = system(there)
            left = math.sqrt(f.dot(f))
            if near:
                if parts > _SHRINKING * last and left > _SHRINKING * size:
                    return Way(there if left < size else x, True, steps, first)
            else:
                share = 1.0
                while not left <= (1 - _ENOUGH * share) * size or (minimum and not after <= merit):
                    share /= 2
                    if share < _SHARE:
                        return Way(x, False, steps, first)
                    there = x - share * move
                    f, slope, after = system(there)
                    left, wide = math.sqrt(f.dot(f)), _span(there)
                merit = after
            x, reach, size, last = there, wide, left, parts
        return Way(x, False, steps, first)


def _span(x: np.ndarray) -> float:
    """The size of the largest element."""
    few = x.size <= _FEW
    return max(map(abs, x.tolist())) if few else float(np.maximum.reduce(np.abs(x)))


def _parts(move: np.ndarray, x: np.ndarray) -> float:
    """The size of a move by that of each element, where it is largest."""
    pairs = zip(move.tolist(), x.tolist(), strict=True)
    return max([abs(m / v) if v else math.inf for m, v in pairs if m], default=0.0)


@contained
def solved(
    name: str,
    evaluate: Evaluated,
    x: np.ndarray,
    max_steps: int,
    shape: tuple[int, ...],
    way: Way | None = None,
) -> np.ndarray:
    """The roots near points ``x``; the slopes are Hessians if ``name`` is "minimize".

    Raises ConvergenceError, in which elements have places of ``shape``; the ``way`` to the points
    counts.

    >>> def square(x):
    ...     f = x * x - [[2.0], [9.0]]
    ...     return State(np.abs(f[:, 0]), f, 2 * x[..., None])
    >>> solved("root", square, np.ones((2, 1)), 100, (2,))[1].tolist()
    [3.0]
    """
    if not x.size:
        return x
    with np.errstate(all="ignore"):
        return _Search(name, evaluate, x, shape, way).run(max_steps)


class _Search:
    """Points on their way to roots."""

    def __init__(
        self,
        name: str,
        evaluate: Evaluated,
        x: np.ndarray,
        shape: tuple[int, ...],
        way: Way | None = None,
    ) -> None:
        self.name, self.evaluate, self.x, self.shape = name, evaluate, x, shape
        self.minimum = name == "minimize"
        self.steps = way.steps if way else 0
        self.eps = float(np.finfo(x.dtype).eps)
        self.at = evaluate(x)
        self.size = _norms(self.at.residual)
        self.first = np.full(len(x), way.first) if way else self.size
        self.done = self.size == 0
        # How far the last step that was near went, by the largest element and by each.
        self.last = np.full(len(x), np.inf)
        # The least that was left so far, and how many steps have not lessened it.
        self.least, self.idle = self.size, np.zeros(len(x), int)

    def run(self, max_steps: int) -> np.ndarray:
        """The roots."""
        while not self.done.all():
            if self.steps == max_steps:
                raise self.error(f"no convergence in {max_steps} steps", ~self.done)
            self.steps += 1
            self.advance()
        if self.minimum and not _is_positive(self.at.slope):
            flat = np.array([not _is_positive(matrix) for matrix in self.at.slope])
            least = float(np.min(np.linalg.eigvalsh(self.at.slope[flat])))
            raise self.error(
                "the gradient is 0, but at no minimum that can be told, start elsewhere: the least "
                f"eigenvalue of the Hessian is {least:.3g}",
                flat,
            )
        return self.x

    def advance(self) -> None:
        """One step of all that are not done."""
        x, (move, fits) = self.x, self.direction()
        reach = np.maximum(_largest(x), _largest(x + move))
        near = fits & ~self.done & (_largest(move) <= math.sqrt(self.eps) * reach)
        parts = np.full(len(x), np.inf)
        if near.any():
            each = np.divide(np.abs(move), np.abs(x + move), out=np.zeros_like(x), where=move != 0)
            parts[near] = _largest(each)[near]
            settled = parts <= 2 * self.eps
            self.done |= settled
            # What is left to go changes the last digit at most.
            self.x = x = x + np.where(settled[:, None], move, 0)
            move[settled] = 0
            if self.done.all():
                return
        there, after, size, stuck = self.shortened(move, near)
        ended = near & (parts > _SHRINKING * self.last) & (size > _SHRINKING * self.size)
        # At a root of 0 no step is small: what is left of the start is all rounding, and stays.
        lessened = size <= _SHRINKING * self.least
        self.least, self.idle = np.minimum(self.least, size), np.where(lessened, 0, self.idle + 1)
        ended |= (self.idle >= _IDLE) & (size <= 8 * self.eps * self.first)
        # Of two points between which only rounding decides, the one that leaves less.
        kept = self.done | stuck | (ended & (self.size <= size))
        self.last = parts
        self.done |= ended | stuck | (size == 0)
        if kept.any():
            there[kept], size[kept] = x[kept], self.size[kept]
            after = State(*map(np.array, after))
            for new, old in zip(after, self.at, strict=True):
                new[kept] = old[kept]
        self.x, self.at, self.size = there, after, size

    def direction(self) -> tuple[np.ndarray, bool | np.ndarray]:
        """Where each point is to go, and whether how far is a measure of the distance of a root.

        It is none where a slope is singular, or a Hessian not positive definite.
        """
        f, slope = self.at.residual, self.at.slope
        if self.done.any():  # where the slope may be anything
            f = np.where(self.done[:, None], 0, f)
            slope = np.where(self.done[:, None, None], np.eye(f.shape[1], dtype=f.dtype), slope)
        finite = np.isfinite(slope).all(axis=(1, 2)) & np.isfinite(f).all(axis=1)
        if not finite.all():
            raise self.error("what is to be 0 is not finite", ~finite)
        if self.minimum and not _is_positive(slope):
            # Down along each eigenvector, whichever way it curves.
            values, vectors = np.linalg.eigh(slope)
            sizes = np.abs(values)
            sizes = np.maximum(sizes, self.eps * np.max(sizes, 1, initial=0.0)[:, None])
            along = np.einsum("bji,bj->bi", vectors, f)
            weighted = np.divide(along, sizes, out=np.zeros_like(along), where=sizes != 0)
            move = -np.einsum("bij,bj->bi", vectors, weighted)
        else:
            try:
                return -np.linalg.solve(slope, f[..., None])[..., 0], True
            except np.linalg.LinAlgError:  # the least step that leaves least
                move = -np.einsum("bij,bj->bi", np.linalg.pinv(slope), f)
        left = _norms(np.einsum("bij,bj->bi", slope, move) + f)
        return move, np.asarray(left <= _norms(f) / 2)

    def shortened(
        self, move: np.ndarray, near: np.ndarray
    ) -> tuple[np.ndarray, State, np.ndarray, np.ndarray]:
        """Points in these directions that leave less, what is there, its size, and who is stuck.

        Those that are near a root go all of the way, where rounding may leave more.
        """
        share = np.ones(len(move), move.dtype)
        for _ in range(_HALVINGS):
            there = self.x + share[:, None] * move
            after = self.evaluate(there)
            size = _norms(after.residual)
            free = near & np.isfinite(size)
            worse = ~(self.done | free | self.better(after, size, share, move))
            if not worse.any():
                break
            share[worse] /= 2
        # What cannot be lessened is all rounding if it is that small.
        lost = worse & ~(self.size <= 8 * self.eps * self.first)
        if lost.any():
            raise self.error("no step leaves less", lost)
        return there, after, size, worse

    def better(
        self, after: State, size: np.ndarray, share: np.ndarray, move: np.ndarray
    ) -> np.ndarray:
        """Whether a share of a step gives enough of what it promises."""
        less: np.ndarray = size <= (1 - _ENOUGH * share) * self.size
        if not self.minimum:
            return less
        falls = np.sum(self.at.residual * move, 1)
        lower = after.merit <= self.at.merit + _ENOUGH * share * falls
        level = after.merit <= self.at.merit + 8 * self.eps * np.abs(self.at.merit)
        return np.asarray(lower | (less & level))

    def error(self, why: str, failed: np.ndarray) -> ConvergenceError:
        """Why the systems that failed have no root, and how far the search came."""
        left = np.abs(self.at.residual)
        sizes = np.where(np.isnan(left), np.inf, left)
        sizes[~failed] = -1.0  # others may be on their way yet
        place = int(np.argmax(sizes))
        residual = float(left.ravel()[place])
        worst = tuple(int(k) for k in np.unravel_index(place, self.shape))
        where = f", of element {list(worst)}" if worst else ""
        error = ConvergenceError(
            f"{self.name}: {why}; after {self.steps} steps the largest residual is {residual:.3g}"
            f"{where}"
        )
        error.residual, error.steps, error.worst = residual, self.steps, worst
        return error


def _norms(f: np.ndarray) -> np.ndarray:
    """Euclidean ones, whose squares need not be floats."""
    plain: np.ndarray = np.sqrt(np.add.reduce(f * f, 1))
    if np.logical_and.reduce((plain > _TINY[f.itemsize]) & (plain < np.inf)):
        return plain
    largest = _largest(f)
    scale = np.where((largest > 0) & np.isfinite(largest), largest, 1)
    return np.asarray(scale * np.linalg.norm(f / scale[:, None], axis=1))


def _largest(x: np.ndarray) -> np.ndarray:
    return np.asarray(np.maximum.reduce(np.abs(x), 1, initial=0.0))


def _is_positive(matrices: np.ndarray) -> bool:
    """Whether all matrices are positive definite."""
    try:
        return bool(np.isfinite(np.linalg.cholesky(matrices)).all())
    except np.linalg.LinAlgError:
        return False
