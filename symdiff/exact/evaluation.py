"""Values of expressions: to any number of digits through mpmath, or as exact fractions.

Two evaluations show how many digits are correct: a plain one, and one with a random error of some
thousand units in the last place in every result that is rounded (stochastic arithmetic; Vignes, "A
stochastic arithmetic for reliable scientific computation", 1993).  Where the two agree, rounding
and cancellation do not matter.  Where they differ, the precision grows.  It also grows where they
only agree on a side of a kink or jump by chance: where the number that decides is all rounding.
"""

from __future__ import annotations

import math
import operator
import random
from contextlib import contextmanager
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import mpmath
import numpy as np
import sympy as sp
from mpmath import mp

from symdiff.calculus.nested_results import each, entries
from symdiff.exact.components import evaluated, filled, primitives
from symdiff.exact.digits import Digits
from symdiff.graph import number, ops
from symdiff.graph.arithmetic import Arithmetic, Iterated
from symdiff.graph.axis_lengths import bound_sizes
from symdiff.graph.expr import Expr, free_symbols, in_order
from symdiff.graph.leaves import as_expr
from symdiff.guesses import written
from symdiff.locks import fork_safe_lock
from symdiff.scalars.formula import MPMATH, VOCABULARY
from symdiff.scalars.vocabulary import FACTS
from symdiff.transforms.substitution import named, substitute

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Mapping, Sequence

    from mpmath import mpf

    from symdiff.graph.node import Dim, Node
    from symdiff.graph.number import Number

__all__ = ["evalf", "evaluate_exact", "evaluate_mp"]

# Guard digits: the first number is nearly always enough, then three times as many, and so on.
_GUARDS = (15, 45, 135, 405, 1215)
# The random error of an operation is between half of 2**_NOISE units in the last place and all of
# them.  mpmath's functions may be off by a few units, which is far less.  No error is near 0, so a
# single one always shows; several cancel with probability 2**-_NOISE.
_NOISE = 16
# The most halvings of a step towards a root before it is accepted.
_HALVINGS = 40
# Functions of larger numbers take mpmath seconds and megabytes; their values count as unknown.  So
# many bits have twice the digits of the largest guard.
_LARGEST_EXPONENT = 8192
_MOST_DIGITS = 100_000
# mpmath's time for these functions grows with the cube of the digits: 3,000 digits of gamma take
# seconds, ten times as many take hours.
_SLOW_DIGITS = 10_000
_SLOW_MODULES = ("symdiff.scalars.vocabulary.gammas", "symdiff.scalars.vocabulary.zetas")


def _restore() -> None:
    if _OUTSIDE:
        mp.prec, mp._prec_rounding[1] = _OUTSIDE[0]


# mpmath has one precision and direction of rounding for all threads.
_OUTSIDE: list[tuple[int, str]] = []  # their values outside of the call with the lock
_ONE_MPMATH = fork_safe_lock(_restore)


@contextmanager
def one_mpmath() -> Generator[None]:
    """Reserve mpmath for one thread; always restore its state, also in a forked child."""
    with _ONE_MPMATH:
        before = mp.prec, mp._prec_rounding[1]
        try:
            _OUTSIDE.append(before)
            yield
        finally:
            mp.prec, mp._prec_rounding[1] = before
            _OUTSIDE.clear()


@written("evalf(f, 30, subs={x: 1})")
def evalf(f: Expr | tuple[Any, ...], n: int = 15, subs: Mapping[Any, Any] | None = None) -> Any:
    """Return the value of an expression, every element correct to ``n`` significant digits.

    A float is its exact binary number, in ``f`` and in ``subs``; text such as "0.1" is the decimal.
    The value is nan where ``f`` is undefined; an unselected branch of ``where`` may be undefined.
    If an intermediate result meets a jump up to rounding, the value is the one of either side.  The
    result is an ``mpmath.mpf`` that prints its n digits, or for an array expression a NumPy array
    of them, with dtype object.

    Args:
        f: an expression of any shape, or a tuple of them, such as a gradient by several symbols;
            tuples may be nested.  The result has the same structure.
        n: the number of digits, from 1 to 100000; for gamma, zeta and related functions to 10000.
        subs: the values of the free symbols, by symbol or name: numbers, Fractions, decimal text,
            mpmath numbers, arrays of these, tensors, or expressions.

    Arithmetic with the result also prints only correct digits (``Digits``).

    Raises ShapeError for a value of another shape than its symbol's; ValueError for a symbol
    without value, a name that no symbol has or a number of digits out of range.  Raises
    ArithmeticError if digits of an element are not distinguishable from rounding (a value of
    exactly 0 from nonzero terms, such as sin(pi)), or if mpmath would take too long for a function.

    >>> import symdiff as sd
    >>> x = sd.symbol("x")
    >>> sd.evalf(sd.sin(x), 40, {x: 1})
    0.8414709848078965066525023216302989996226
    >>> sd.evalf(sd.hessian(x**3, [x]), 5, {x: 2})
    ((12.0,),)
    """
    if isinstance(n, bool) or not isinstance(n, int) or not 1 <= n <= _MOST_DIGITS:
        raise ValueError(f"evalf: {n!r} is not a number of digits from 1 to {_MOST_DIGITS}")
    f = each(as_expr, f)
    _refuse_unknown("evalf", list(entries(f)), subs or {})
    return each(lambda part: _to_digits(part, n, subs or {}), f)


def _to_digits(f: Expr, n: int, subs: Mapping[Any, object]) -> Any:
    """``evalf`` for one expression."""
    outputs, env, sizes = prepared("evalf", [f], subs)
    on_a_border = None  # a value that both have where no precision decides about a branch
    with one_mpmath():
        for guard in _GUARDS:
            with mp.workdps(n + guard):
                both = Mp(), NoisyMp()
                for arithmetic in both:
                    arithmetic.wanted = n
                plain, noisy = (_value(outputs, env, arithmetic, sizes) for arithmetic in both)
                doubtful = _first_disagreement(plain, noisy, n)
                if _decide_alike(*both):
                    if doubtful is None:
                        return _with_digits(plain, n)
                    on_a_border = None
                elif doubtful is None:
                    on_a_border = plain
    if on_a_border is not None:
        return _with_digits(on_a_border, n)
    value = plain[doubtful] if doubtful else plain
    where = f"element {list(doubtful)}" if doubtful else "the value"
    raise ArithmeticError(
        f"evalf: {n} digits are not certain after working with {n + _GUARDS[-1]}: {where} is "
        f"about {mpmath.nstr(value, 5)}; it may be exactly 0, or at a jump"
    )


def _with_digits(value: Any, n: int) -> Any:
    """A value of which n digits are correct."""
    if not isinstance(value, np.ndarray):
        return Digits.of(value, n)
    right = {v._mpf_: v for v in value.flat}  # one for equal elements
    right = {key: Digits.of(v, n) for key, v in right.items()}
    return filled(value.shape, (right[v._mpf_] for v in value.flat))


def _value(
    outputs: list[Expr], env: dict[Expr, Any], arithmetic: Mp, sizes: Mapping[str, Dim]
) -> Any:
    try:
        elements = {x: _elements(value, arithmetic) for x, value in env.items()}
        (result,) = evaluated(outputs, elements, arithmetic, sizes)
        many = isinstance(result, np.ndarray)
        value = filled(result.shape, map(mp.mpf, result.ravel())) if many else mp.mpf(result)
    finally:
        mp._prec_rounding[1] = "n"
    if arithmetic.refused and any(map(mp.isnan, value.ravel() if many else [value])):
        raise ArithmeticError(f"evalf: {arithmetic.refused}")
    return value


def plain_value(output: Expr, env: dict[Expr, Any], sizes: Mapping[str, Dim]) -> Any:
    """The value of one output in primitive ops by mpmath, at the current precision.

    The number of its correct digits is unknown.  Raises ArithmeticError as ``evalf`` if mpmath
    takes too long for a function.
    """
    return _value([output], env, Mp(), sizes)


def _first_disagreement(a: Any, b: Any, n: int) -> tuple[int, ...] | None:
    """The first index at which two values disagree; None if they agree everywhere."""
    if not isinstance(a, np.ndarray):
        return None if _agree(a, b, n) else ()
    pairs = [(x._mpf_, y._mpf_) for x, y in zip(a.flat, b.flat, strict=True)]
    one = mp.make_mpf
    apart = {(x, y) for x, y in set(pairs) if not _agree(one(x), one(y), n)}
    if not apart:
        return None
    first = next(k for k, pair in enumerate(pairs) if pair in apart)
    return tuple(map(int, np.unravel_index(first, a.shape)))


def _agree(a: mpf, b: mpf, n: int) -> bool:
    if not (mp.isfinite(a) and mp.isfinite(b)):
        return bool(a == b or (mp.isnan(a) and mp.isnan(b)))
    return bool(mp.fabs(a - b) <= mp.fabs(a) * mp.mpf(10) ** -n / 2)


def _decide_alike(plain: Mp, noisy: Mp) -> bool:
    """Whether every number that decides about a branch has the same sign and magnitude in both."""
    return len(plain.margins) == len(noisy.margins) and all(
        mp.fabs(a - b) <= mp.fabs(a) / 2 for a, b in zip(plain.margins, noisy.margins, strict=True)
    )


def evaluate_mp(outputs: Sequence[Expr], env: Mapping[Any, object], digits: int) -> tuple[Any, ...]:
    """Compute ``outputs`` once with this many digits: mpf, or object arrays of them.

    Not all of the digits need be correct; ``evalf`` checks them.  Floats are their exact binary
    fractions, and undefined values are nan.

    Args:
        outputs: expressions.
        env: as ``subs`` of ``evalf``.
        digits: the precision of every operation.

    Raises the errors of ``evalf``, except for uncertain digits.

    >>> import symdiff as sd
    >>> x = sd.symbol("x")
    >>> mpmath.nstr(evaluate_mp([x / 3], {x: 2}, 30)[0], 25)
    '0.6666666666666666666666667'
    """
    exprs, values, sizes = prepared("evaluate_mp", list(outputs), env)
    with one_mpmath(), mp.workdps(digits):
        return tuple([plain_value(y, values, sizes) for y in exprs])


def evaluate_exact(outputs: Any, env: Mapping[Any, Any]) -> Any:
    """Return the values of ``outputs`` in exact rational arithmetic: Fractions, arrays, or bools.

    Floats are their exact binary fractions.  A list or tuple of outputs gives a tuple.

    Args:
        outputs: an expression, or a list or tuple of them.
        env: the values of the free symbols, by symbol or name: numbers, decimal text or arrays.

    Raises ArithmeticError, with the function's name, if a relevant value is not rational (an
    unselected branch of ``where`` is not relevant); ValueError for a symbol without value.

    >>> import symdiff as sd
    >>> x = sd.symbol("x")
    >>> evaluate_exact(sd.where(x > 0, 1 / (1 + x), sd.log(x)), {x: 2})
    Fraction(1, 3)
    """
    many = not isinstance(outputs, Expr)
    exprs, values_of, sizes = prepared("evaluate_exact", list(outputs) if many else [outputs], env)
    arithmetic = _Rational()
    elements = {x: _elements(value, arithmetic) for x, value in values_of.items()}
    values = tuple(evaluated(exprs, elements, arithmetic, sizes))
    for value in values:
        for element in value.ravel() if isinstance(value, np.ndarray) else [value]:
            if isinstance(element, _Undefined):
                raise ArithmeticError(f"evaluate_exact: {element.reason}")
    return values if many else values[0]


# Values of symbols --------------------------------------------------------------------------------


def prepared(
    name: str, outputs: list[Expr], given: Mapping[Any, object]
) -> tuple[list[Expr], dict[Expr, Any], dict[str, int]]:
    """The outputs in primitive ops, the plain value of every symbol, the symbolic lengths."""
    values = named(name, free_symbols(outputs), given)
    expressions = {x: value for x, value in values.items() if isinstance(value, Expr)}
    if expressions:  # insert all at once: their symbols may have values, too
        outputs = list(substitute(outputs, expressions))
        values = named(name, free_symbols(outputs), _drop_expressions(given, expressions))
    outputs = primitives(outputs)
    symbols = free_symbols(outputs)
    missing = [x.name for x in in_order(symbols) if x not in values]
    if missing:
        raise ValueError(f"{name}: no value for {', '.join(missing)}; give it in subs")
    env = {x: _convert_value(value, name, x) for x, value in values.items() if x in symbols}
    beside = {  # values of other symbols may determine lengths
        x: value
        for x, value in given.items()
        if isinstance(x, Expr) and x not in env and x.shape and not isinstance(value, Expr)
    }
    shapes = [np.shape(value) for value in (*env.values(), *beside.values())]
    sizes = bound_sizes(f"{name}: symbol", [*env, *beside], shapes)
    return outputs, env, sizes


def _refuse_unknown(name: str, outputs: list[Expr], given: Mapping[Any, object]) -> None:
    """Raise ValueError for a name that neither the outputs nor the values of symbols contain."""
    texts = [key for key in given if isinstance(key, str)]
    if not texts:
        return
    inserted = [value for value in given.values() if isinstance(value, Expr)]
    names = {x.name for x in free_symbols(outputs)} | {
        x.name for value in inserted for x in free_symbols(value)
    }
    for text in texts:
        if text not in names:
            constant = f"; {text} is a number, sd.{text}" if text in ("e", "pi") else ""
            choices = ", ".join(x.name for x in free_symbols(outputs)) or "none"
            raise ValueError(
                f"{name}: no symbol is named {text!r}; the free symbols are {choices}{constant}"
            )


def _drop_expressions(
    given: Mapping[Any, object], expressions: Mapping[Expr, Expr]
) -> dict[Any, Any]:
    names = {x.name for x in expressions}
    return {
        key: value
        for key, value in given.items()
        if (key if isinstance(key, str) else key.name) not in names or not isinstance(value, Expr)
    }


def _convert_value(value: object, name: str, x: Expr) -> Any:
    """Convert a user's value to an int, Fraction, float, mpf, or an object array of these."""
    if hasattr(value, "detach"):  # an eager tensor
        value = value.detach().numpy()
    if isinstance(value, list | tuple):
        value = np.array(value, dtype=object)
    if isinstance(value, np.ndarray) and value.ndim:
        return filled(value.shape, (_convert_value(v, name, x) for v in value.ravel().tolist()))
    if isinstance(value, np.ndarray | np.generic):
        value = value.item()
    if isinstance(value, str):
        try:
            return number.decimal(value)
        except ValueError as error:
            raise ValueError(f"{name}: the value of {x.name}: {error}") from None
    if isinstance(value, mp.mpf):
        return value
    if isinstance(value, sp.Float) and value.is_finite:
        return _fraction(value)
    try:
        return number.exact(value)
    except TypeError as error:
        raise TypeError(f"{name}: the value of {x.name}: {error}") from None


def _elements(value: object, arithmetic: Arithmetic) -> Any:
    if isinstance(value, np.ndarray):
        return filled(value.shape, map(arithmetic.number, value.ravel().tolist()))
    return arithmetic.number(value)


# mpmath numbers -----------------------------------------------------------------------------------


def plain_number(value: mpf) -> mpf:
    """Convert an exact number to mpmath's, at the current precision."""
    if isinstance(value, Fraction):
        return mp.mpf(value.numerator) / value.denominator
    return mp.mpf(value)


def _truth(value: object) -> Any:
    return mp.mpf(int(value)) if isinstance(value, bool) else value


class Mp(Arithmetic):
    """mpmath numbers at the current precision; nan for undefined values."""

    refused = ""  # the reason if mpmath gave up
    wanted = 0  # the requested digits, if some functions limit them

    def __init__(self) -> None:
        self.numbers: dict[Any, Any] = {}
        self.margins: list[mpf] = []  # what decides about branches, 0 on a border

    def rounded(self, function: Callable[..., mpf], *args: mpf) -> mpf:
        """Apply ``function`` to numbers, as an operation that rounds."""
        try:
            value = function(*args)
        except (ValueError, ZeroDivisionError, OverflowError):
            return mp.nan
        return value if isinstance(value, mp.mpf) else mp.nan

    def number(self, value: mpf) -> mpf:
        rounded = self.numbers.get(value)
        if rounded is None:
            rounded = self.numbers[value] = self.rounded(plain_number, value)
        return rounded

    def exact(self, op: ops.Exact) -> mpf:
        return self.rounded(operator.pos, {"pi": mp.pi, "e": mp.e}[op.name])

    def total(self, const: Number, coefs: Sequence[Number], args: Sequence[mpf]) -> mpf:
        terms = [self.scaled(c, a) for c, a in zip(coefs, args, strict=True)]
        result = self.number(const) if const else terms.pop(0) if terms else self.number(0)
        for term in terms:
            result = self.rounded(operator.add, result, term)
        return result

    def scaled(self, c: Number, a: mpf) -> mpf:
        """``c * a`` for a number c."""
        if c == 1:
            return a
        if isinstance(c, Fraction):
            a = a if c.numerator == 1 else self.rounded(operator.mul, a, c.numerator)
            return self.rounded(operator.truediv, a, c.denominator)
        return self.rounded(operator.mul, a, c if isinstance(c, int) else self.number(c))

    def product(self, factors: Sequence[mpf]) -> mpf:
        result = factors[0] if factors else mp.mpf(1)
        for factor in factors[1:]:
            result = self.rounded(operator.mul, result, factor)
        return result

    def power(self, a: mpf, p: int | Fraction) -> mpf:
        if p == 1:
            return a
        if a == 0:
            return mp.mpf(0) if p > 0 else mp.inf
        return self.rounded(_root_of_power if isinstance(p, Fraction) else operator.pow, a, p)

    def function(self, node: Node, args: Sequence[mpf]) -> mpf:
        return self.named(node.op.name, *map(_truth, args))

    def named(self, name: str, *args: mpf) -> mpf:
        if self.wanted > _SLOW_DIGITS and name in _SLOW and not all(map(mp.isint, args)):
            raise ValueError(
                f"evalf: {self.wanted} digits of {name}, for which mpmath takes hours; ask for at "
                f"most {_SLOW_DIGITS}"
            )
        if name not in _OF_ANY_SIZE:
            for a in args:
                if mp.isfinite(a) and a and mp.mag(a) > _LARGEST_EXPONENT:
                    self.refused = f"{name} of a number beyond 2**{_LARGEST_EXPONENT} is met"
                    return mp.nan
        margins = FACTS[name].margins
        if margins is not None and all(map(mp.isfinite, args)):
            self.margins += margins(*args)
        return self.called(name, args)

    def called(self, name: str, args: Sequence[mpf]) -> mpf:
        """Call the vocabulary function ``name`` with numbers of moderate size."""
        return self.rounded(self.bounded(name), *args)

    def bounded(self, name: str) -> Callable[..., mpf]:
        """The vocabulary function ``name``; nan, with a noted reason, if mpmath gives up."""

        def value(*args: mpf) -> mpf:
            try:
                return _truth(MPMATH[name](*args))
            except mp.NoConvergence:
                point = ", ".join(mpmath.nstr(a, 5) for a in args)
                self.refused = f"the series of {name}({point}) converges too slowly"
                return mp.nan

        return value

    def select(self, node: Node, condition: mpf, a: mpf, b: mpf) -> mpf:
        return a if condition else b

    def strong(self, factors: Sequence[mpf], kills: Sequence[bool]) -> mpf:
        if any(kill and factor == 0 for factor, kill in zip(factors, kills, strict=True)):
            return mp.mpf(0)
        return self.product(factors)

    def eliminated(self, a: list[list[mpf]], b: list[list[mpf]]) -> tuple[mpf, list[list[mpf]]]:
        if not all(mp.isfinite(x) for row in a for x in row):
            return mp.nan, [[mp.nan] * len(row) for row in b]
        return _eliminate(self, a, b, mp.nan)

    def root(
        self, op: Iterated, at: Callable[[list[mpf]], tuple[list[mpf], Any]], start: list[mpf]
    ) -> list[mpf]:
        """Newton's method until rounding ends it; nan if it does not lead to a root."""
        decided = len(self.margins)
        try:
            return self._newton(op, at, start)
        finally:
            del self.margins[decided:]  # each run takes its own way to the root

    def _newton(
        self, op: Iterated, at: Callable[[list[mpf]], tuple[list[mpf], Any]], start: list[mpf]
    ) -> list[mpf]:
        x, (f, slopes), last = start, at(start), mp.inf
        for _ in range(op.max_steps):
            if not any(f):
                break
            moves: list[mpf] = []
            for rows in slopes:
                n, k = len(rows), len(moves)
                moves += [-v for (v,) in self.eliminated(rows, [[y] for y in f[k : k + n]])[1]]
            if not all(map(mp.isfinite, moves)):
                self.refused = f"{op.name} meets a point without a step"
                return [mp.nan] * len(x)
            size = max(map(abs, [*x, *_sums(x, moves)]))
            reach = max(map(abs, moves)) / (size or 1)
            close, share, residual = reach <= mp.sqrt(mp.eps), mp.mpf(1), sum(y * y for y in f)
            for _ in range(_HALVINGS):
                there = _sums(x, [share * b for b in moves])
                f, slopes = at(there)
                if close or sum(y * y for y in f) < residual:
                    break
                share /= 2
            x, before = there, x
            if max(map(abs, x)) <= mp.sqrt(mp.eps) * max(map(abs, before)):
                # Relative to a root at 0 no step is small, so try 0 itself.
                zeros = [mp.mpf(0) for _ in x]
                at_zeros = at(zeros)
                if not any(at_zeros[0]):
                    x, (f, slopes) = zeros, at_zeros
                    break
            if close and 2 * reach >= last:
                break
            last = reach if close else mp.inf
        else:
            self.refused = (
                f"{op.name} does not converge in {op.max_steps} steps; it may be exactly 0"
            )
            return [mp.nan] * len(x)
        if op.is_minimum and not all(map(self._is_positive, slopes)):
            self.refused = f"{op.name} comes to a point that is not a minimum; start elsewhere"
            return [mp.nan] * len(x)
        return x

    def _is_positive(self, rows: list[list[mpf]]) -> bool:
        """Whether all leading minors of a matrix are positive (Sylvester's criterion)."""
        minors = ([row[:n] for row in rows[:n]] for n in range(1, len(rows) + 1))
        return all(self.eliminated(minor, [[] for _ in minor])[0] > 0 for minor in minors)


def _sums(xs: list[mpf], ys: list[mpf]) -> list[mpf]:
    return [x + y for x, y in zip(xs, ys, strict=True)]


def _root_of_power(a: mpf, p: Fraction) -> mpf:
    if a < 0:
        return mp.nan
    if p.denominator == 2:
        return mp.sqrt(a) ** p.numerator
    with mp.extraprec(10 + p.numerator.bit_length()):
        value = mp.power(a, mp.mpf(p.numerator) / p.denominator)
    return +value


# Functions with given numbers or integers as values, and functions that large numbers cannot harm.
_EXACT = frozenset(name for name, facts in FACTS.items() if facts.result is not float)
_SLOW = frozenset(name for name, cls in VOCABULARY.items() if cls.__module__ in _SLOW_MODULES)
_OF_ANY_SIZE = _EXACT | {name for name, facts in FACTS.items() if facts.large}


class NoisyMp(Mp):
    """mpmath numbers with a random error in every inexact result."""

    def __init__(self) -> None:
        super().__init__()
        self.random = random.Random(mp.prec)

    def rounded(self, function: Callable[..., mpf], *args: mpf) -> mpf:
        below, above = self.both_ways(function, *args)
        return below if below == above else self.disturbed(below)

    def both_ways(self, function: Callable[..., mpf], *args: mpf) -> tuple[mpf, mpf]:
        """The result rounded down and rounded up."""
        rounding = mp._prec_rounding  # mpmath has no public name for the direction
        rounding[1] = "f"
        below = super().rounded(function, *args)
        rounding[1] = "c"
        return below, super().rounded(function, *args)

    def disturbed(self, value: mpf) -> mpf:
        """Add a random error to ``value``, in units of its last place."""
        if not value or not mp.isfinite(value):
            return value
        mantissa, exponent = _signed(value)
        shift = mp.prec - mantissa.bit_length()
        error = (1 << _NOISE - 1) + self.random.getrandbits(_NOISE - 1)
        error = -error if self.random.getrandbits(1) else error
        if shift < 0:  # some functions return more digits than requested
            return mp.mpf((mantissa + (error << -shift), exponent))
        return mp.mpf(((mantissa << shift) + error, exponent - shift))

    def called(self, name: str, args: Sequence[mpf]) -> mpf:
        below, above = self.both_ways(self.bounded(name), *args)
        # Some mpmath functions ignore the direction of rounding.  So equal results prove exactness
        # only if all numbers are short, or if the function never rounds.
        if below == above and (name in _EXACT or all(map(_is_short, (*args, below)))):
            return below
        return self.disturbed(below)


def _signed(value: mpf) -> tuple[int, int]:
    """Mantissa (with the sign, which mpmath keeps apart) and exponent of a finite number."""
    sign, mantissa, exponent, _ = value._mpf_
    return -int(mantissa) if sign else int(mantissa), int(exponent)


def _fraction(value: mpf) -> Fraction:
    """A finite number of mpmath, or of SymPy's Float, exactly."""
    mantissa, exponent = _signed(value)
    return Fraction(mantissa) * Fraction(2) ** exponent


def _is_short(value: mpf) -> bool:
    if not mp.isfinite(value) or not value:
        return True
    mantissa, exponent = _signed(value)
    return mantissa.bit_length() <= 24 and abs(exponent) <= 24


def _eliminate(
    of: Arithmetic, a: list[list[Any]], b: list[list[Any]], undefined: object
) -> tuple[Any, list[list[Any]]]:
    """Gauss-Jordan elimination with the largest pivots: det A, and X with A X = B."""
    n = len(a)
    rows = [[*x, *y] for x, y in zip(a, b, strict=True)]
    pivots = []
    for k in range(n):
        largest = max(range(k, n), key=lambda i: abs(rows[i][k]))
        if rows[largest][k] == 0:
            return of.number(0), [[undefined] * len(y) for y in b]
        if largest != k:
            rows[k], rows[largest] = rows[largest], rows[k]
            pivots.append(of.number(-1))
        pivots.append(rows[k][k])
        inverse = of.power(rows[k][k], -1)
        rows[k] = [of.product([x, inverse]) for x in rows[k]]
        for i in range(n):
            if i != k:
                factor = rows[i][k]
                rows[i] = [
                    of.total(0, (1, -1), (x, of.product([factor, y])))
                    for x, y in zip(rows[i], rows[k], strict=True)
                ]
    return of.product(pivots), [row[n:] for row in rows]


# Exact fractions ----------------------------------------------------------------------------------


class _Undefined:
    """A value that is not rational, with the reason; every operation on it returns it."""

    __slots__ = ("reason",)

    def __init__(self, reason: str) -> None:
        self.reason = reason


def _undefined(args: Sequence[object]) -> _Undefined | None:
    return next((a for a in args if isinstance(a, _Undefined)), None)


class _Rational(Arithmetic):
    """Fractions (and bools for truth values)."""

    def number(self, value: Any) -> Any:
        if isinstance(value, mp.mpf):
            value = _fraction(value) if mp.isfinite(value) else float(value)
        if isinstance(value, float) and not math.isfinite(value):
            return _Undefined(f"{value} is not a rational number")
        return Fraction(value)

    def exact(self, op: ops.Exact) -> Any:
        return _Undefined(f"{op.name} is not a rational number")

    def total(self, const: Number, coefs: Sequence[Number], args: Sequence[object]) -> Any:
        factors = list(map(self.number, coefs))
        result = self.number(const)
        bad = _undefined([result, *factors, *args])
        return bad or sum((c * a for c, a in zip(factors, args, strict=True)), result)

    def product(self, factors: Sequence[Any]) -> Any:
        result = Fraction(1)
        for factor in factors:
            if isinstance(factor, _Undefined):
                return factor
            result *= factor
        return result

    def power(self, a: Any, p: int | Fraction) -> Any:
        if isinstance(a, _Undefined):
            return a
        if isinstance(p, int) and (a or p >= 0):
            return a**p
        value = number.raised(number.norm(a), p)
        if value is None or isinstance(value, float):
            return _Undefined(f"({a})**({p}) is not a rational number")
        return Fraction(value)

    def function(self, node: Node, args: Sequence[object]) -> Any:
        value = self.named(node.op.name, *args)
        return bool(value) if node.dtype is bool and not isinstance(value, _Undefined) else value

    def named(self, name: str, *args: Any) -> Any:
        bad = _undefined(args)
        if bad is not None:
            return bad
        simple = FACTS[name].rational
        if simple is not None:
            return Fraction(simple(*args))
        values = [sp.Rational(int(a.numerator), int(a.denominator)) for a in map(Fraction, args)]
        value = VOCABULARY[name](*values)
        if not value.is_Rational:
            text = ", ".join(map(str, args))
            return _Undefined(f"{name}({text}) is not a rational number")
        return Fraction(int(value.p), int(value.q))

    def select(self, node: Node, condition: object, a: object, b: object) -> Any:
        if isinstance(condition, _Undefined):
            return condition
        return a if condition else b

    def strong(self, factors: Sequence[object], kills: Sequence[bool]) -> Any:
        for factor, kill in zip(factors, kills, strict=True):
            if kill and not isinstance(factor, _Undefined) and not factor:
                return Fraction(0)
        return self.product(factors)

    def eliminated(self, a: list[list[Any]], b: list[list[Any]]) -> tuple[Any, list[list[Any]]]:
        bad = _undefined([x for rows in (a, b) for row in rows for x in row])
        if bad is not None:
            return bad, [[bad] * len(row) for row in b]
        return _eliminate(self, a, b, _Undefined("solve: the matrix is singular"))
