"""The subject of a drawing: a formula, its variables, and the values of the others."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import mpmath
import numpy as np

import symdiff as sd
from numeric.lowering.function import Function, lower
from numeric.show.pictures import number
from numeric.show.typesetting import tex_number
from symdiff.calculus.variables import component
from symdiff.errors import ShapeError, Unsupported
from symdiff.exact.evaluation import evaluate_mp
from symdiff.graph import ops
from symdiff.graph.arguments import reals
from symdiff.graph.axes import shape_text
from symdiff.graph.expr import Expr, in_order, is_within
from symdiff.graph.leaves import as_expr
from symdiff.graph.number import is_number, shortened
from symdiff.locks import cached_property
from symdiff.transforms.substitution import named

if TYPE_CHECKING:
    from collections.abc import Sequence


DIGITS = 120  # digits of values near places where floats cancel


SMALL = 8
"""The most elements of an array that starts without a given value."""


WHOLE = 300
"""Nodes of a formula up to which a title may show all of it."""


LARGE = 3000
"""Nodes of a formula beyond which floats must do, even where terms cancel."""


EXACT = 2000
"""The most numbers at which values have many digits: some functions take 20 ms each."""


def formula(what: str, f: object, variables: Sequence[object] = ()) -> Expr:
    """Convert f to an expression: an expression, a text, a lowered Function, or a Python function.

    A Python function is called with ``variables``.  Raises TypeError for an object without a
    formula, and ValueError for a Function of several outputs.

    >>> formula("plot", "x**2"), formula("plot", lambda t: t + 1, [sd.symbol("t")])
    (x**2, t + 1)
    """
    if isinstance(f, str):
        return sd.parse(f)
    if isinstance(f, Function):
        if len(f.outputs) != 1:
            raise ValueError(f"{what}: the Function has {len(f.outputs)} outputs; give one of them")
        return f.outputs[0]
    if callable(f) and not isinstance(f, Expr):
        if not variables or not all(isinstance(x, Expr) for x in variables):
            raise TypeError(f"{what}: a Python function needs the symbols that it is called with")
        try:
            return as_expr(f(*variables))
        except (TypeError, AttributeError) as error:
            raise TypeError(
                f"{what}: {getattr(f, '__name__', f)!s} has no formula: called with symbols it "
                f"raises {error}; write it with operators, NumPy's functions or symdiff's"
            ) from error
    try:
        formula_of: Any = getattr(f, "expr", f)  # a Tensor has .expr
        return as_expr(formula_of)
    except TypeError as error:
        remedy = "give an expression, a text, a lowered Function or a Python function"
        if isinstance(f, list | tuple):
            remedy = f"give one; of several formulas, call {what} for each"
        raise TypeError(f"{what}: {shortened(f)} is not a formula; {remedy}") from error


def formulas(what: str, f: Sequence[object], variables: Sequence[object] = ()) -> list[Expr]:
    """Convert a list of formulas, each as for ``formula``.

    Raises ValueError for an empty list, and ShapeError for an array in it.

    >>> formulas("plot", ["x**2", 1])
    [x**2, 1]
    """
    if not f:
        raise ValueError(f"{what}: f is an empty list; give at least one formula")
    converted = [formula(what, g, variables) for g in f]
    for k, g in enumerate(converted):
        if g.shape:
            raise ShapeError(
                f"{what}: formula {k} of the list has shape {shape_text(g.shape)}; formulas of a "
                "list are scalars: give the array alone, or its elements"
            )
    return converted


def formula_tex(f: Expr) -> str:
    """Return a formula in LaTeX for a title: whole, unless it is large."""
    return sd.latex(f, full=is_within(f, WHOLE))


def variable(what: str, f: Expr, x: object) -> Expr:
    """Return the variable named by x: a symbol, an element, a name, or None for the only symbol.

    Raises ValueError where there is no such variable, and TypeError for another object.
    """
    free = list(sd.free_symbols([f]))
    names = ", ".join(s.name for s in free) or "none"
    if x is None:
        if len(free) != 1:
            both = "; nm.plot_field draws a function of two" if what == "plot" else ""
            raise ValueError(f"{what}: by which variable? the free symbols of f are {names}{both}")
        return free[0]
    if isinstance(x, str):
        matches = [s for s in free if s.name == x]
        if not matches:
            raise ValueError(
                f"{what}: no symbol is named {shortened(x)}; the free symbols are {names}"
            )
        return matches[0]
    if isinstance(x, list | tuple) and len(x) == 2 and what == "plot":
        raise TypeError(
            f"plot: {shortened(x)} are two variables; nm.plot_field(f, [x, y]) draws these"
        )
    if not isinstance(x, Expr) or component(x) is None:
        raise TypeError(
            f"{what}: {shortened(x)} is neither a symbol, an element of one, nor a name"
        )
    return x


def root(x: Expr) -> Expr:
    """Return the symbol of a variable that may be an element of it."""
    part = component(x)
    assert part is not None, x
    return part.root


def values(
    what: str, f: Expr, variables: Sequence[Expr], at: Any, start: float | None = None
) -> dict[Expr, np.ndarray]:
    """Return the numbers of all symbols, by symbol; the variables need none.

    ``at`` maps symbols or names to numbers and arrays; for one variable it may be a number.
    Numbers and small arrays without an entry have the value ``start``, if given.  Raises ValueError
    for symbols without numbers, and for numbers that are not finite.
    """
    free = dict.fromkeys([*sd.free_symbols([f]), *map(root, variables)])
    if at is None:
        entries: Mapping[Any, object] = {}
    elif isinstance(at, Mapping):
        entries = at
    elif len(variables) == 1 and not variables[0].args and is_number(at):
        entries = {variables[0]: at}
    else:
        raise TypeError(f"{what}: at={shortened(at)} is not a mapping from symbols to values")
    numbers_of = {
        x: reals(what, x.name, value).astype(np.float64 if x.dtype is float else None)
        for x, value in named(what, free, entries, strict=True).items()
    }
    for s in free if start is not None else ():
        if s not in numbers_of and not _covered(s, variables) and _is_small(s):
            numbers_of[s] = np.full(tuple(map(int, s.shape)), start, s.dtype)
    missing = [x.name for x in in_order(free) if x not in numbers_of and not _covered(x, variables)]
    if missing:
        example = ", ".join(f"{name!r}: ..." for name in missing)
        raise ValueError(f"{what}: no value for {', '.join(missing)}; give at={{{example}}}")
    for x, value in numbers_of.items():
        if not np.isfinite(value).all():
            raise ValueError(f"{what}: the value of {x.name} is not finite: {value}")
    return numbers_of


def _is_small(s: Expr) -> bool:
    """Whether a symbol has so few numbers that each can have a start of its own."""
    fixed = all(isinstance(n, int) for n in s.shape)
    return fixed and s.dtype is not bool and 0 < math.prod(map(int, s.shape)) <= SMALL


def _covered(s: Expr, variables: Sequence[Expr]) -> bool:
    """Whether the variables cover a symbol, so that it needs no other numbers."""
    if s in set(variables):
        return True
    if not all(isinstance(n, int) for n in s.shape):
        return False
    own = [places(x, np.zeros(tuple(map(int, s.shape)))) for x in variables if root(x) is s]
    return set(itertools.chain(*own)) == set(range(math.prod(map(int, s.shape))))


def places(x: Expr, value: np.ndarray) -> tuple[int, ...]:
    """Return the flat positions of a variable in its symbol, whose values have this shape.

    >>> A = sd.symbol("A", (2, "n"))
    >>> places(A[1, 0], np.zeros((2, 3)))
    (3,)
    """
    # Indices go through the program of x itself, which knows slices and negative indices.
    numbers = np.arange(float(value.size)).reshape(value.shape)
    return tuple(np.ravel(lower(x, root(x))(numbers)).astype(int).tolist())


@dataclass(frozen=True)
class Slice:
    """Expressions as functions of the values of some variables, with all others fixed.

    Values are floats.  In ``zones``, which need a single variable, they have all their digits.
    """

    outputs: tuple[Expr, ...]
    variables: tuple[Expr, ...]
    fixed: Mapping[Expr, np.ndarray]
    zones: tuple[tuple[float, float], ...] = ()
    spent: list[int] = field(default_factory=lambda: [0])  # exact values so far, with all copies

    @cached_property
    def roots(self) -> tuple[Expr, ...]:
        """The symbols that contain a variable."""
        return tuple(dict.fromkeys(map(root, self.variables)))

    @cached_property
    def _starts(self) -> dict[Expr, np.ndarray]:
        """The fixed elements of the symbols that contain a variable."""
        return {s: self.fixed.get(s, np.zeros(tuple(map(int, s.shape)))) for s in self.roots}

    @cached_property
    def _places(self) -> tuple[tuple[int, ...], ...]:
        return tuple(places(x, self._starts[root(x)]) for x in self.variables)

    def _moved(self, *numbers: Any) -> list[np.ndarray]:
        """Return the values of the roots at points: arrays with the points as their first axis."""
        count = len(numbers[0])
        moved = {s: np.tile(start.reshape(-1), (count, 1)) for s, start in self._starts.items()}
        for x, own, t in zip(self.variables, self._places, numbers, strict=True):
            moved[root(x)][:, own] = np.reshape(t, (-1, 1))
        return [moved[s].reshape(count, *start.shape) for s, start in self._starts.items()]

    @cached_property
    def _others(self) -> tuple[Expr, ...]:
        roots = set(self.roots)
        return tuple(s for s in self.fixed if s not in roots)

    @cached_property
    def _many(self) -> tuple[Function, list[bool]] | None:
        """The outputs at many points at once, and which of them depend on the point."""
        moves = [bool(set(sd.free_symbols([y])) & set(self.roots)) for y in self.outputs]
        stacked = {s: sd.symbol(s.name, ("points", *s.shape)) for s in self.roots}
        chosen = [y for y, m in zip(self.outputs, moves, strict=True) if m]
        used = set(sd.free_symbols(chosen))
        replacements = {s: x for s, x in stacked.items() if s in used}
        try:
            batched = iter(sd.batch(chosen, replacements) if chosen else ())
        except Unsupported:  # a user's function has no batching rule
            return None
        outputs = [next(batched) if m else y for y, m in zip(self.outputs, moves, strict=True)]
        return lower(outputs, [*stacked.values(), *self._others]), moves

    @cached_property
    def _one(self) -> Function:
        return lower(list(self.outputs), [*self.roots, *self._others])

    def __call__(self, *numbers: object) -> list[np.ndarray]:
        """Evaluate every output at many points: arrays of its elements times the points."""
        moved = self._moved(*(np.asarray(t, float) for t in numbers))
        count, rest = len(moved[0]), [self.fixed[s] for s in self._others]
        with sd.kinks("subgradient"), np.errstate(all="ignore"):
            if self._many is not None:
                F, moves = self._many
                results = [
                    np.asarray(y, float) if m else np.broadcast_to(y, (count, *np.shape(y)))
                    for y, m in zip(F(*moved, *rest), moves, strict=True)
                ]
            else:
                rows = [self._one(*(a[k] for a in moved), *rest) for k in range(count)]
                results = [np.asarray(column, float) for column in zip(*rows, strict=True)]
        results = [np.array(y, float).reshape(count, -1).T for y in results]
        for a, b in self.zones:
            t = np.asarray(numbers[0])
            for k in np.flatnonzero((a < t) & (t < b)):
                for y, value in zip(results, self.exact(Fraction(float(t[k]))) or (), strict=False):
                    y[:, k] = value
        return results

    @cached_property
    def _small(self) -> bool:
        return sd.count_nodes(list(self.outputs)) <= LARGE

    def exact(self, number: object) -> list[np.ndarray] | None:
        """Evaluate the outputs at one number of the only variable; it may exceed a float's digits.

        No digit is lost where terms cancel.  Return None where an output has no definition by
        components.  Also return None for large formulas and after ``EXACT`` numbers, to save time.
        """
        if not self._small or self.spent[0] >= EXACT:
            return None
        self.spent[0] += 1
        moved = dict(zip(self.roots, self._object(number), strict=True))
        try:
            with sd.kinks("subgradient"):
                values = evaluate_mp(list(self.outputs), {**self.fixed, **moved}, DIGITS)
        except (Unsupported, ArithmeticError, ValueError):
            return None
        return [np.array([_nearest(v) for v in np.ravel(np.asarray(y, object))]) for y in values]

    def _object(self, number: object) -> list[object]:
        ((s, start),), (own,) = self._starts.items(), self._places
        array = np.array(start, dtype=object)
        array.flat[list(own)] = number
        return [array if s.shape else number]


def _nearest(value: Any) -> float:
    """Return the float nearest to an mpmath number; infinite beyond the range of floats."""
    try:
        return float(value) if not isinstance(value, mpmath.mpc) else float("nan")
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")


def single(what: str, x: Expr) -> Expr:
    """Return a variable that is one number; raise ValueError with the remedy for an array."""
    if x.dtype is not float:
        raise ValueError(f"{what}: {sd.text(x)} is not real, and has no derivatives")
    if x.shape:
        name = x.name if isinstance(x.op, ops.Symbol) else "it"
        place = ", ".join("0" for _ in x.shape)
        raise ValueError(
            f"{what}: {sd.text(x)} has shape {x.shape}; give one element, {name}[{place}], with "
            f"the others' values in at={{{name!r}: ...}}, or plot_field for two elements"
        )
    return x


def spelled(x: Expr, known: Mapping[Expr, np.ndarray]) -> str:
    """Write a variable as the user does: ``q[0]``."""
    s = root(x)
    if not x.args:
        return str(s.name)
    value = known.get(s, np.zeros([n for n in s.shape if isinstance(n, int)]))
    place = np.unravel_index(places(x, value)[0], value.shape)
    return f"{s.name}[{', '.join(map(str, place))}]"


def numbers(known: Mapping[Expr, np.ndarray], variables: Sequence[Expr]) -> list[str]:
    """Write the values of symbols other than the variables: ``y = 3``."""
    texts, moving = [], set(variables)
    for s, value in known.items():
        if s in moving:
            continue
        if not s.shape:
            texts.append(f"{s.name} = {number(float(value))}")
        elif value.size <= 4:
            inner = np.array2string(value, precision=4, separator=", ").replace("\n", "")
            texts.append(f"{s.name} = {inner}")
        else:
            texts.append(f"{s.name} of shape {value.shape}")
    return texts


def numbers_tex(known: Mapping[Expr, np.ndarray], variables: Sequence[Expr]) -> list[str]:
    """Write the values of symbols other than the variables in LaTeX; a large array by its shape."""
    texts, moving = [], set(variables)
    for s, value in known.items():
        if s in moving:
            continue
        if value.ndim > 1 or value.size > 4:
            texts.append(rf"{sd.latex(s)} \text{{ of shape }} {shape_text(value.shape)}")
        elif value.ndim:
            inner = r", \; ".join(tex_number(number(v)) for v in value.tolist())
            texts.append(rf"{sd.latex(s)} = \left[{inner}\right]")
        else:
            texts.append(rf"{sd.latex(s)} = {tex_number(number(float(value)))}")
    return texts


def by_variable(what: str, user_range: Any, variables: Sequence[Expr]) -> Any:
    """Return the values of ``range`` in the order of the variables, also from a dict."""
    if not isinstance(user_range, Mapping):
        return user_range
    ranges = []
    for v in variables:
        keys = [k for k in user_range if k is v or (isinstance(k, str) and k == sd.text(v))]
        if not keys:
            raise ValueError(f"{what}: range={shortened(user_range)} has no entry for {sd.text(v)}")
        ranges.append(user_range[keys[0]])
    if len(user_range) > len(ranges):
        names = ", ".join(map(sd.text, variables))
        raise ValueError(
            f"{what}: range={shortened(user_range)} has entries other than for {names}"
        )
    return ranges


def interval(what: str, user_range: Any) -> tuple[float, float]:
    """Convert a range to two numbers; raise TypeError for no pair, ValueError for an empty one."""
    try:
        low, high = map(float, user_range)
    except (TypeError, ValueError):
        raise TypeError(f"{what}: range={shortened(user_range)} is not a pair of numbers") from None
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        raise ValueError(f"{what}: range={shortened(user_range)} is not a finite range, low < high")
    return low, high
