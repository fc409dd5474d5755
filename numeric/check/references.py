"""Values and derivatives to any number of digits, without any rule of differentiation.

The value is that of ``sd.evalf``.  A derivative is a difference quotient of values by components.
Its step is so small, and its precision so high, that the wanted digits are right.  It shares
nothing with the code under test except the meaning of the formula.
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

# Steps are 10^-(digits + _SPARE) of the variable, or with 3 and 9 times as many digits if those do
# not settle.
_SPARE = 12
_GROWTH = (1, 3, 9)
_FINER, _MORE = 17, 60  # digits by which the second computation has smaller steps, and is longer
_FALL = 10  # quotients that fall by more digits, for steps that fall by _FINER, tend to 0
_GUARD = 20  # digits of values beyond those that the steps cost


@door
def reference(f: Expr, subs: Mapping[Any, object] | None = None, digits: int = 50) -> Reference:
    """Return the value of an expression at a point, with derivatives to ``digits`` right digits.

    ``r.value`` is that of ``sd.evalf``.  ``r.derivative(x)``, ``r.derivative(x, 3)`` and
    ``r.derivative(x, y)`` take the same arguments as ``sd.diff``, but are computed from values
    alone (see ``Reference``).

    Args:
        f: an expression of any shape.
        subs: the values of the free symbols, as for ``sd.evalf``.
        digits: the wanted number of digits.

    Raises the errors of ``sd.evalf``.

    >>> import symdiff as sd
    >>> x, y = sd.symbols("x y")
    >>> r = reference(sd.exp(x) * y, {x: 1, y: 2}, digits=20)
    >>> r.value, r.derivative(x, 3), r.derivative(x, y)
    (5.4365636569180904707, 5.4365636569180904707, 2.7182818284590452354)
    """
    return Reference(f, subs or {}, digits)


class Reference:
    """An expression at a point: its value, and derivatives computed from values.

    The n-th derivative by x uses the difference quotient

        Σ_k (-1)^(n-k) C(n, k) f(x + k h) / h^n

    once with h > 0 and once with h < 0, along each variable.  If there is a derivative, both tend
    to it, with opposite errors in the first order of h.  h is so small that they agree to the
    wanted digits.  The result is their mean, if a computation with steps smaller by 10^17 and 60
    more digits confirms it.
    """

    def __init__(self, f: Expr, subs: Mapping[Any, object], digits: int) -> None:
        self.value = evalf(f, digits, subs)
        self.expression, self.digits = f, digits
        self.outputs, self.env, self.sizes = prepared("reference", [f], subs)

    def __repr__(self) -> str:
        value = "" if self.expression.shape else f" = {self.value}"
        return f"<Reference to {self.digits} digits: {short(self.expression)}{value}>"

    def derivative(self, *by: object) -> Any:
        """Return the derivative by symbols, each followed by its order if that is not 1.

        For array symbols the result has the shape of the expression followed by theirs.  It is 0
        where the quotients fall with h, down to steps of 10^-(9 digits) and less.

        Raises NotDifferentiable where the quotients from both sides differ (at a kink), where one
        has no value (at the end of the domain), or where both grow beyond bounds.  Raises TypeError
        for an argument that is not a symbol, and ValueError for a wrong order.

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
        result = filled(shape, values.ravel())
        return result if shape else result.item()

    def _shape(self, x: Expr) -> tuple[int, ...]:
        if x in self.env:
            return np.shape(self.env[x])
        return lengths(x.shape, self.sizes)

    def _by(self, orders: Counter[Place]) -> np.ndarray:
        """Return the derivative by elements of symbols, for every element of the value."""
        if any(x not in self.env for x, _ in orders):  # the formula does not contain it
            zero = self._digits(mp.mpf(0))
            return np.full(np.shape(self.value), zero, dtype=object)
        for growth in _GROWTH:
            depth, spare = (self.digits + _SPARE) * growth, (self.digits + _GUARD) * growth
            # A second computation with finer steps and more digits must confirm the first.
            coarse, _ = self._quotients(orders, depth, spare)
            fine, noise = self._quotients(orders, depth + _FINER, spare + _MORE)
            last = growth == _GROWTH[-1]
            with mp.workdps(self.digits + _GUARD):
                settled = [
                    self._settled(values, error if last else None)
                    for error, *values in zip(
                        noise.ravel(), *(q.ravel() for q in (*coarse, *fine)), strict=True
                    )
                ]
            if None not in settled:
                return filled(coarse[0].shape, map(self._digits, settled))
        doubtful = settled.index(None)
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
        """Return the limit on which all quotients agree; None if they do not.

        A limit of 0 needs the smallest steps, for which ``noise`` is the size of rounding errors.
        With larger steps a change may be lost among the digits.
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
        """Return difference quotients with steps of every sign, positive first, and their noise."""
        places, times = list(orders), list(orders.values())
        with mp.workdps(spare + depth * sum(times)):
            steps = [self._size(place) * mp.mpf(10) ** -depth for place in places]
            values: dict[tuple[int, ...], mpf] = {}

            def at(offsets: tuple[int, ...]) -> mpf:
                if offsets not in values:
                    moved = (k * h for k, h in zip(offsets, steps, strict=True))
                    values[offsets] = self._value(dict(zip(places, moved, strict=True)))
                return values[offsets]

            quotients = []
            for signs in itertools.product((1, -1), repeat=len(places)):
                total: mpf = 0
                for ks in itertools.product(*(range(n + 1) for n in times)):
                    weight = prod(
                        (-1) ** (n - k) * comb(n, k) for n, k in zip(times, ks, strict=True)
                    )
                    total = total + weight * at(tuple(map(operator.mul, signs, ks)))
                scale = prod((s * h) ** n for s, h, n in zip(signs, steps, times, strict=True))
                quotients.append(np.asarray(total / scale, dtype=object))
            size = reduce(np.maximum, (np.abs(value) for value in values.values()))
            scale = prod(h**n for h, n in zip(steps, times, strict=True))
            return quotients, np.asarray(size / scale * mp.eps * 2**10, dtype=object)

    def _size(self, place: Place) -> mpf:
        x, index = place
        value = self.env[x]
        number = plain_number(value[index] if index else value)
        return mp.fabs(number) or mp.mpf(1)

    def _value(self, moved: Mapping[Place, mpf]) -> mpf:
        """Return the value with elements moved by the given distances."""
        env = dict(self.env)
        for (x, index), distance in moved.items():
            if not index:
                env[x] = plain_number(env[x]) + distance
            else:
                env[x] = env[x].copy()
                env[x][index] = plain_number(env[x][index]) + distance
        return plain_value(self.outputs[0], env, self.sizes)


def _repeated(by: Sequence[Any]) -> list[Expr]:
    """Return the symbols, each repeated by the order of the derivative."""
    symbols: list[Expr] = []
    for k, x in enumerate(by):
        if isinstance(x, int) and not isinstance(x, bool) and k and not isinstance(by[k - 1], int):
            if x < 1:
                raise ValueError(f"reference: {x} is not an order of a derivative; give 1 or more")
            symbols += [symbols[-1]] * (x - 1)
        elif isinstance(getattr(x, "op", None), ops.Symbol):
            symbols.append(x)
        else:
            raise TypeError(f"reference: {shortened(x)} is neither a symbol nor an order after one")
    if not symbols:
        raise TypeError("reference: give at least one symbol to differentiate by")
    return symbols
