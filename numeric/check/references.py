"""Values and derivatives to any number of digits, of which the derivatives know no rule.

The value is that of ``sd.evalf``; a derivative is a difference quotient of values by components,
with so small a step and so many digits that those wanted are left.  Nothing is shared with what is
being checked but the meaning of the formula.
"""

from __future__ import annotations

import itertools
import operator
from collections import Counter
from functools import reduce
from math import comb, prod
from typing import TYPE_CHECKING, Any

import mpmath
import numpy as np
from mpmath import mp

from symdiff.display.printing import short
from symdiff.errors import NotDifferentiable
from symdiff.exact.components import filled
from symdiff.exact.digits import Digits
from symdiff.exact.evaluation import evalf, one_mpmath, plain_number, plain_value, prepared
from symdiff.graph import ops
from symdiff.graph.arguments import door
from symdiff.graph.axis_lengths import lengths
from symdiff.graph.number import shortened

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mpmath import mpf

    from symdiff.graph.expr import Expr

    Place = tuple[Expr, tuple[int, ...]]  # an element of a symbol

# Steps are 10^-(digits + _SPARE) of the variable; where that does not settle the digits, 3, 9 times
# as many.
_SPARE = 12
_GROWTH = (1, 3, 9)
_FINER, _MORE = 17, 60  # digits by which the second computation has smaller steps, and is longer
_FALL = 10  # quotients that are smaller by so many digits, with steps that are by _FINER, tend to 0
_GUARD = 20  # digits with which values are computed, beyond those that the steps cost


@door
def reference(f: Expr, subs: Mapping[Any, object] | None = None, digits: int = 50) -> Reference:
    """The value of an expression and its derivatives, right to ``digits`` digits, at a point.

    ``r.value`` is that of ``sd.evalf``.  ``r.derivative(x)``, ``r.derivative(x, 3)``,
    ``r.derivative(x, y)`` are derivatives by symbols, as ``sd.diff`` takes them, but computed from
    values alone (see ``Reference``).

    Args:
        f: an expression of any shape.
        subs: the values of the free symbols, as ``sd.evalf`` takes them.
        digits: how many are wanted.

    Raises what ``sd.evalf`` does.

    >>> import symdiff as sd
    >>> x, y = sd.symbols("x y")
    >>> r = reference(sd.exp(x) * y, {x: 1, y: 2}, digits=20)
    >>> r.value, r.derivative(x, 3), r.derivative(x, y)
    (5.4365636569180904707, 5.4365636569180904707, 2.7182818284590452354)
    """
    return Reference(f, subs or {}, digits)


class Reference:
    """An expression at a point: its value, and derivatives that are made of values.

    Along each variable of the derivative, n times by x, the difference quotient

        Σ_k (-1)^(n-k) C(n, k) f(x + k h) / h^n

    is formed with h > 0 and with h < 0.  Both tend to the derivative if there is one, with errors
    that are opposite in the first order of h; h is so small that they agree to the digits wanted
    when there is one.  The result is their mean, if with steps smaller by 10^17 and 60 digits more
    it is the same.
    """

    def __init__(self, f: Expr, subs: Mapping[Any, object], digits: int) -> None:
        self.value = evalf(f, digits, subs)
        self.expression, self.digits = f, digits
        self.outputs, self.env, self.sizes = prepared("reference", [f], subs)

    def __repr__(self) -> str:
        value = "" if self.expression.shape else f" = {self.value}"
        return f"<Reference to {self.digits} digits: {short(self.expression)}{value}>"

    def derivative(self, *by: object) -> Any:
        """The derivative by symbols, each followed by how often if that is not once.

        By array symbols it has the shape of the expression followed by theirs.  It is 0 where the
        quotients fall with h, down to steps of 10^-(9 digits) and less.

        Raises NotDifferentiable where the quotients from both sides differ, as at a kink, or one of
        them has no value, as at the end of the domain, or both grow beyond bounds; TypeError and
        ValueError for what is no symbol or no number of times.

        >>> import symdiff as sd
        >>> x, v = sd.symbol("x"), sd.symbol("v", 2)
        >>> reference(sd.sin(x) * v, {x: 0, v: [1, 3]}, digits=20).derivative(v, x).tolist()
        [[1.0, 0.0], [0.0, 1.0]]
        >>> reference(abs(x), {x: 0}).derivative(x)
        Traceback (most recent call last):
            ...
        symdiff.errors.NotDifferentiable: reference: abs(x) has no derivative by x here: ...
        """
        symbols = _repeated(by)
        shapes = [self._shape(x) for x in symbols]
        places = ([(x, i) for i in np.ndindex(n)] for x, n in zip(symbols, shapes, strict=True))
        with one_mpmath():
            columns = [self._by(Counter(chosen)) for chosen in itertools.product(*places)]
        shape = np.shape(self.value) + tuple(itertools.chain(*shapes))
        values = np.stack([np.asarray(column, dtype=object) for column in columns], axis=-1)
        found = filled(shape, values.ravel())
        return found if shape else found.item()

    def _shape(self, x: Expr) -> tuple[int, ...]:
        if x in self.env:
            return np.shape(self.env[x])
        return lengths(x.shape, self.sizes)

    def _by(self, orders: Counter[Place]) -> np.ndarray:
        """The derivative by elements of symbols, every element of it."""
        if any(x not in self.env for x, _ in orders):  # the formula does not contain it
            zero = self._digits(mp.mpf(0))
            return np.full(np.shape(self.value), zero, dtype=object)
        for growth in _GROWTH:
            depth, spare = (self.digits + _SPARE) * growth, (self.digits + _GUARD) * growth
            coarse, _ = self._quotients(orders, depth, spare)
            fine, noise = self._quotients(orders, depth + _FINER, spare + _MORE)
            last = growth == _GROWTH[-1]
            with mp.workdps(self.digits + _GUARD):
                found = [
                    self._settled(values, error if last else None)
                    for error, *values in zip(
                        noise.ravel(), *(q.ravel() for q in (*coarse, *fine)), strict=True
                    )
                ]
            if None not in found:
                return filled(coarse[0].shape, map(self._digits, found))
        doubtful = found.index(None)
        one, other = (mpmath.nstr(q.ravel()[doubtful], 10) for q in (fine[0], fine[-1]))
        place = [int(i) for i in np.unravel_index(doubtful, coarse[0].shape)]
        names = ", ".join(x.name + (str(list(i)) if i else "") for x, i in orders.elements())
        raise NotDifferentiable(
            f"reference: {short(self.expression)} has no derivative by {names} here"
            f"{f', in element {place}' if place else ''}: the difference quotients are {one} from "
            f"above and {other} from below"
        )

    def _digits(self, value: mpf) -> Digits:
        return Digits.of(value, self.digits)

    def _settled(self, quotients: Sequence[mpf], noise: mpf | None) -> mpf | None:
        """What all quotients agree on; None if they do not.

        A 0 counts with the smallest steps alone, for which the size of rounding errors is given:
        before, a change may be lost among the digits.
        """
        if not all(map(mp.isfinite, quotients)):
            return None
        half = len(quotients) // 2
        coarser, finer = quotients[:half], quotients[half:]
        mean = mp.fsum(finer) / len(finer)
        if mean and all(
            mp.fabs(q - mean) <= mp.fabs(mean) * mp.mpf(10) ** -self.digits / 2 for q in quotients
        ):
            return mean
        if noise is None:
            return None
        falling = (
            mp.fabs(b) <= max(mp.fabs(a) * mp.mpf(10) ** -_FALL, noise)
            for a, b in zip(coarser, finer, strict=True)
        )
        return mp.mpf(0) if all(falling) else None

    def _quotients(
        self, orders: Counter[Place], depth: int, spare: int
    ) -> tuple[list[np.ndarray], np.ndarray]:
        """The difference quotients with steps of every sign, positive ones first; their noise."""
        places, times = list(orders), list(orders.values())
        with mp.workdps(spare + depth * sum(times)):
            steps = [self._size(place) * mp.mpf(10) ** -depth for place in places]
            values: dict[tuple[int, ...], mpf] = {}

            def at(offsets: tuple[int, ...]) -> mpf:
                if offsets not in values:
                    moved = (k * h for k, h in zip(offsets, steps, strict=True))
                    values[offsets] = self._value(dict(zip(places, moved, strict=True)))
                return values[offsets]

            found = []
            for signs in itertools.product((1, -1), repeat=len(places)):
                total: mpf = 0
                for ks in itertools.product(*(range(n + 1) for n in times)):
                    weight = prod(
                        (-1) ** (n - k) * comb(n, k) for n, k in zip(times, ks, strict=True)
                    )
                    total = total + weight * at(tuple(map(operator.mul, signs, ks)))
                scale = prod((s * h) ** n for s, h, n in zip(signs, steps, times, strict=True))
                found.append(np.asarray(total / scale, dtype=object))
            size = reduce(np.maximum, (np.abs(value) for value in values.values()))
            scale = prod(h**n for h, n in zip(steps, times, strict=True))
            return found, np.asarray(size / scale * mp.eps * 2**10, dtype=object)

    def _size(self, place: Place) -> mpf:
        x, index = place
        value = self.env[x]
        number = plain_number(value[index] if index else value)
        return mp.fabs(number) or mp.mpf(1)

    def _value(self, moved: Mapping[Place, mpf]) -> mpf:
        """The value with elements moved by so much."""
        env = dict(self.env)
        for (x, index), distance in moved.items():
            if not index:
                env[x] = plain_number(env[x]) + distance
            else:
                env[x] = env[x].copy()
                env[x][index] = plain_number(env[x][index]) + distance
        return plain_value(self.outputs[0], env, self.sizes)


def _repeated(by: Sequence[Any]) -> list[Expr]:
    """The symbols, each as often as the derivative is taken by it."""
    symbols: list[Expr] = []
    for k, x in enumerate(by):
        if isinstance(x, int) and not isinstance(x, bool) and k and not isinstance(by[k - 1], int):
            if x < 1:
                raise ValueError(f"reference: {x} is no number of times to differentiate")
            symbols += [symbols[-1]] * (x - 1)
        elif isinstance(getattr(x, "op", None), ops.Symbol):
            symbols.append(x)
        else:
            raise TypeError(f"reference: {shortened(x)} is not a symbol, nor how often after one")
    if not symbols:
        raise TypeError("reference: a derivative is by one symbol at least")
    return symbols
