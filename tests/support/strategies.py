"""Hypothesis strategies for random programs by family, and for rational points."""

from __future__ import annotations

import math
from contextlib import suppress
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import hypothesis.strategies as st
import numpy as np

from tests.support.fields import FLOAT, MPMATH_FUNCTIONS, Array, Shape
from tests.support.programs import KINDS, Program, Step

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


# Functions with a restricted domain: steps of these names precede them.
_NEEDS = {
    "exp": "bounded",
    "expm1": "bounded",
    "sinh": "bounded",
    "cosh": "bounded",
    "tan": "bounded",
    "asin": "bounded",
    "acos": "bounded",
    "atanh": "bounded",
    "log1p": "bounded",
    "log": "positive",
    "log2": "positive",
    "sqrt": "positive",
    "cbrt": "positive",
    "gammaln": "positive",
    "acosh": "above_one",
    "sinc": "positive",
}


def _plain_shape(step: Step, shapes: Sequence[Shape]) -> Shape:
    """Return the shape of a step's value, as NumPy computes it."""
    operands = [np.ones(shapes[i]) for i in step.operands]
    with np.errstate(all="ignore"):
        if step.name in (
            "call",
            "logabsdet",
            "logsumexp",
            "logcumsumexp",
            "general_power",
            "hypot",
            "atan2",
            "inv",
        ):
            dropped = {"logabsdet": operands[0].shape[:-2]}
            if step.name == "logsumexp":
                return operands[0].sum(axis=step.params[0]).shape
            if step.name in dropped:
                return dropped[step.name]
            return np.broadcast_shapes(*(x.shape for x in operands))
        return FLOAT.array(KINDS[step.name].plain(FLOAT, *operands, *step.params)).shape


class _TooLarge(Exception):  # a reason to draw another step
    """The value of a step would have too many elements."""


class _Draft:
    """A program being drawn."""

    def __init__(self, draw: Any, rational: bool, lengths: tuple[int, ...], largest: int) -> None:
        self.draw, self.rational, self.lengths, self.largest = draw, rational, lengths, largest
        self.shapes: list[Shape] = []
        self.steps: list[Step] = []
        self.inputs = 0

    def pick(self, allowed: Callable[[Shape], bool] = lambda shape: True) -> int | None:
        """Draw one of the values with an allowed shape, later ones more often."""
        places = [i for i, shape in enumerate(self.shapes) if allowed(shape)]
        return self.draw(st.sampled_from(places[::-1])) if places else None

    def put(self, name: str, operands: Sequence[int], *params: Any) -> int:
        """Add a step and return the number of its value; raises _TooLarge if that is too large."""
        step = Step(name, tuple(operands), params)
        shape = _plain_shape(step, [*self.shapes])
        if math.prod(shape) > self.largest or len(shape) > 3:
            raise _TooLarge
        self.shapes.append(shape)
        self.steps.append(step)
        return len(self.shapes) - 1

    def partner(self, i: int) -> int:
        """Draw a value that broadcasts with value i, possibly i itself."""

        def fits(shape: Shape) -> bool:
            try:
                np.broadcast_shapes(shape, self.shapes[i])
            except ValueError:
                return False
            return True

        j = self.pick(fits)
        return i if j is None else j

    # One method per family; each adds one step, with the guards it needs.

    def pointwise(self) -> None:
        i = self.pick()
        assert i is not None
        names = ["add", "sub", "mul", "mul", "div", "scale", "shift", "power"]
        if not self.rational:
            names += ["call"] * 6 + [
                "general_power",
                "logaddexp",
                "hypot",
                "atan2",
                "rational_power",
            ]
        name = self.draw(st.sampled_from(names))
        if name in ("add", "sub", "mul", "hypot", "atan2"):
            self.put(name, (i, self.partner(i)))
        elif name == "div":
            self.put(name, (i, self.put("positive", (self.partner(i),))))
        elif name in ("general_power", "logaddexp"):
            j = self.put("bounded", (self.partner(i),))
            self.put(name, (self.put("bounded", (i,)), j))
        elif name in ("scale", "shift"):
            self.put(
                name, (i,), self.draw(st.sampled_from([2, -1, Fraction(1, 3), Fraction(-5, 2)]))
            )
        elif name == "power":
            p = self.draw(st.sampled_from([2, 3, -1, -2]))
            self.put(name, (i if p > 0 else self.put("positive", (i,)),), p)
        elif name == "rational_power":
            p = self.draw(st.sampled_from([Fraction(1, 2), Fraction(-1, 2), Fraction(3, 2)]))
            self.put("power", (self.put("positive", (i,)),), p)
        else:
            function = self.draw(st.sampled_from(sorted(MPMATH_FUNCTIONS)))
            guard = _NEEDS.get(function)
            self.put("call", (self.put(guard, (i,)) if guard else i,), function)

    def contraction(self) -> None:
        name = self.draw(
            st.sampled_from(
                [
                    "einsum",
                    "einsum",
                    "einsum",
                    "sum",
                    "permute",
                    "matmul",
                    "outer",
                    "broadcast",
                    "square",
                    "mean",
                ]
            )
        )
        ranked = self.pick(lambda shape: len(shape) > 0)
        if name == "einsum":
            count = self.draw(st.integers(1, 3))
            self.einsum([i for i in (self.pick() for _ in range(count)) if i is not None])
        elif name == "outer":
            i, j = self.pick(lambda s: len(s) == 1), self.pick(lambda s: len(s) == 1)
            if i is not None and j is not None:
                self.put(name, (i, j))
        elif name == "broadcast":
            i = self.pick(lambda s: len(s) < 3)
            if i is not None:
                lead = (self.draw(st.sampled_from(self.lengths)),)
                stretched = tuple(self.lengths[0] if dim == 1 else dim for dim in self.shapes[i])
                self.put(name, (i,), lead + stretched)
        elif name == "square":
            i = self.pick(lambda s: len(s) == 1)
            if i is not None:
                self.put(name, (i,))
        elif ranked is None:
            return
        elif name == "permute":
            axes = self.draw(st.permutations(range(len(self.shapes[ranked]))))
            self.put(name, (ranked,), tuple(axes))
        elif name == "matmul":
            i = self.pick(lambda s: len(s) in (1, 2))
            if i is None:
                return
            j = self.pick(
                lambda s: len(s) in (1, 2) and s[max(0, len(s) - 2)] == self.shapes[i][-1]
            )
            if j is not None:
                self.put(name, (i, j))
        else:
            axis = self.draw(st.integers(-len(self.shapes[ranked]), len(self.shapes[ranked]) - 1))
            if name == "sum" or self.shapes[ranked][axis]:  # the mean of no elements is nan
                self.put(name, (ranked,), axis)

    def einsum(self, operands: list[int]) -> None:
        """Give each axis a letter of its length, or a new one; the result keeps some of them."""
        length: dict[str, int] = {}
        words = []
        for i in operands:
            word = ""
            for dim in self.shapes[i]:
                known = [letter for letter, size in length.items() if size == dim]
                fresh = "abcdefghi"[len(length)]
                letter = self.draw(
                    st.sampled_from([*known, fresh] if len(length) < 5 else known or [fresh])
                )
                length[letter] = dim
                word += letter
            words.append(word)
        order = self.draw(st.permutations(sorted(length)))
        kept = order[: self.draw(st.integers(0, min(len(order), 3)))]
        self.put("einsum", operands, f"{','.join(words)}->{''.join(kept)}")

    def linear(self) -> None:
        name = self.draw(
            st.sampled_from(
                [
                    "reshape",
                    "slice",
                    "item",
                    "expand",
                    "take",
                    "fancy",
                    "concat",
                    "stack",
                    "flip",
                    "cumsum",
                    "tril",
                    "triu",
                ]
            )
        )
        i = self.pick(lambda shape: len(shape) > (1 if name in ("tril", "triu") else 0))
        if i is None:
            return
        shape = self.shapes[i]
        axis = self.draw(st.integers(-len(shape), len(shape) - 1))
        length = shape[axis]
        if name == "reshape":
            size = math.prod(shape)
            options = [
                (size,),
                (1, size),
                (size, 1),
                shape[::-1],
                (*shape[:1], size // shape[0]) if shape[0] else shape,
            ]
            self.put(name, (i,), self.draw(st.sampled_from(options)))
        elif name == "slice":
            part = st.sampled_from(
                [
                    (None, None, 1),
                    (1, None, 1),
                    (None, -1, 1),
                    (None, None, 2),
                    (None, None, -1),
                    (1, 2, 1),
                    (-1, None, -2),
                ]
            )
            self.put(name, (i,), tuple(self.draw(part) for _ in shape))
        elif name in ("item", "take", "fancy"):
            length = length if name == "take" else shape[0]
            if not length:
                return
            place = st.integers(-length, length - 1)
            if name == "item":
                self.put(name, (i,), self.draw(place))
                return
            index = tuple(self.draw(st.lists(place, min_size=0, max_size=3)))
            self.put(name, (i,), index, *([axis] if name == "take" else []))
        elif name in ("concat", "stack"):
            at = axis % len(shape)
            rest = shape[:at] + shape[at + 1 :]

            def fits(s: Shape) -> bool:
                if name == "stack":
                    return s == shape
                return len(s) == len(shape) and s[:at] + s[at + 1 :] == rest

            j = self.pick(fits)
            self.put(name, (i, i if j is None else j), axis)
        elif name in ("tril", "triu"):
            self.put(name, (i,), self.draw(st.integers(-1, 1)))
        elif name == "expand":
            self.put(name, (i,))
        else:
            self.put(name, (i,), axis)

    def opaque(self) -> None:
        names = ["solve", "inv", "det", "prod", "prod"]
        names += [] if self.rational else ["logabsdet", "logsumexp"]
        name = self.draw(st.sampled_from(names))
        if name in ("prod", "logsumexp"):
            i = self.pick(lambda shape: len(shape) > 0)
            if i is None:
                return
            axis = self.draw(st.integers(-len(self.shapes[i]), len(self.shapes[i]) - 1))
            if name == "logsumexp":
                if not self.shapes[i][axis]:
                    return
                i = self.put("bounded", (i,))
            self.put(name, (i,), axis)
            return
        i = self.pick(lambda shape: len(shape) >= 2 and shape[-1] == shape[-2])
        if i is None:
            vector = self.pick(lambda shape: len(shape) == 1)
            if vector is None:
                return
            i = self.put("square", (vector,))
        shape = self.shapes[i]
        if name != "solve":
            self.put(name, (i,))
            return
        j = self.pick(lambda s: s == shape or (len(shape) == 2 and s == shape[-1:]))
        self.put(name, (i, i if j is None else j))

    def sequence(self) -> None:
        names = ["cumprod", "cumprod", "sort", "roll", "windows", "convolve", "kron"]
        names += [] if self.rational else ["logcumsumexp", "spectrum"]
        name = self.draw(st.sampled_from(names))
        if name in ("convolve", "kron"):
            i, j = (self.pick(lambda s: len(s) == 1 and s[0] > 0) for _ in range(2))
            if i is not None and j is not None:
                self.put(name, (i, j))
            return
        fits = (lambda s: s[-1] in (1, 2)) if name == "spectrum" else (lambda s: True)
        i = self.pick(lambda shape: len(shape) > 0 and fits(shape))
        if i is None:
            return
        axis = self.draw(st.integers(-len(self.shapes[i]), len(self.shapes[i]) - 1))
        if name in ("sort", "spectrum"):
            self.put(name, (i,))
        elif name == "windows":
            if n := self.shapes[i][axis]:
                self.put(name, (i,), self.draw(st.integers(1, n)), axis)
        elif name == "roll":
            self.put(name, (i,), self.draw(st.integers(-2, 2)), axis)
        else:
            self.put(name, (i if name == "cumprod" else self.put("bounded", (i,)),), axis)

    def element(self) -> None:
        """Draw an element or a row of an input, in one of the spellings of users."""
        inputs = [i for i in range(self.inputs) if math.prod(self.shapes[i]) and self.shapes[i]]
        if not inputs:
            return
        i = self.draw(st.sampled_from(inputs))
        for _ in range(self.draw(st.integers(0, 2))):
            shape = self.shapes[i]
            name = self.draw(st.sampled_from(["slice", "flip", "permute"]))
            if name == "flip":
                i = self.put(name, (i,), self.draw(st.integers(-len(shape), len(shape) - 1)))
            elif name == "permute":
                i = self.put(name, (i,), tuple(self.draw(st.permutations(range(len(shape))))))
            else:
                parts = [(None, None, 1), (None, None, 2), (-1, None, -2), (None, 1, 1)]
                i = self.put(name, (i,), tuple(self.draw(st.sampled_from(parts)) for _ in shape))
        for _ in range(self.draw(st.integers(1, len(self.shapes[i])))):
            length = self.shapes[i][0]
            i = self.put("item", (i,), self.draw(st.integers(-length, length - 1)))

    def selection(self) -> None:
        name = self.draw(
            st.sampled_from(["where", "maximum", "minimum", "clip", "abs", "max", "min"])
        )
        i = self.pick(lambda shape: len(shape) > 0 or name not in ("max", "min"))
        if i is None:
            return
        if name == "where":
            same = self.pick(lambda s: s == self.shapes[i])
            self.put(name, (i, i if same is None else same, self.partner(i), i))
        elif name in ("maximum", "minimum"):
            self.put(name, (i, self.partner(i)))
        elif name == "clip":
            self.put(name, (i,), Fraction(-1, 3), Fraction(3, 4))
        elif name == "abs":
            self.put(name, (i,))
        else:
            axis = self.draw(st.integers(-len(self.shapes[i]), len(self.shapes[i]) - 1))
            if self.shapes[i][axis]:
                self.put(name, (i,), axis)

    def literal(self) -> None:
        name = self.draw(st.sampled_from(["chosen", "meets", "updated"]))
        i = self.pick()
        assert i is not None
        axis = st.sampled_from(self.lengths)
        lead = self.draw(st.sampled_from([(), self.shapes[i], (self.draw(axis),)]))
        shape = lead + self.shapes[i][len(lead) :] if self.draw(st.booleans()) else lead
        try:
            np.broadcast_shapes(shape, self.shapes[i])
        except ValueError:
            shape = self.shapes[i]
        if name == "chosen":
            form = self.draw(st.sampled_from(["comparison", "comparison", "array", "number"]))
            shape = () if form == "number" else shape
            true = self.draw(st.sampled_from([True, True, False]))
            self.put(name, (i,), form, shape, true, self.draw(st.integers(0, 1)))
        elif name == "meets":
            form = self.draw(st.sampled_from(["full", "floats", "integers"]))
            op = self.draw(st.sampled_from(["add", "mul", "sub"]))
            self.put(name, (i,), op, form, shape, self.draw(st.integers(0, 1)))
        elif np.broadcast_shapes(shape, self.shapes[i]) == shape and shape:
            self.put(name, (i,), shape)


FAMILIES = ("pointwise", "contraction", "linear", "opaque", "sequence", "selection", "literal")


@st.composite
def programs(
    draw: Any,
    families: Sequence[str] = FAMILIES,
    *,
    rational: bool = False,
    scalar: bool = False,
    steps: int = 5,
    largest: int = 9,
) -> Program:
    """Draw a program: one or two inputs with lengths 0 to 3, two to ``steps`` steps.

    With ``rational``, rational inputs give rational values.  With ``scalar``, the inputs have rank
    0.  ``largest`` bounds the number of elements of a value.
    """
    lengths = draw(st.sampled_from([(2, 1), (3, 2), (2, 0), (3, 1), (2, 3), (1, 0), (3, 0)]))
    axis = st.sampled_from(lengths)
    shape = st.one_of(
        st.tuples(axis), st.tuples(axis, axis), st.just(()), st.tuples(axis, axis, axis)
    ).filter(lambda shape: math.prod(shape) <= largest)
    square = st.sampled_from([(2, 2), (1, 1), (3, 3), (0, 0), (2, 2, 2)])
    if scalar:
        shape = st.just(())
    elif "opaque" in families:
        shape = shape | square.filter(lambda shape: math.prod(shape) <= largest)
    draft = _Draft(draw, rational, lengths, largest)
    inputs = tuple(draw(shape) for _ in range(draw(st.integers(1, 2))))
    draft.shapes = list(inputs)
    draft.inputs = len(inputs)
    wanted = draw(st.integers(2, steps))
    for _ in range(3 * wanted):  # a family may have no operand that fits
        if len(draft.steps) >= wanted:
            break
        with suppress(_TooLarge):
            getattr(draft, draw(st.sampled_from(list(families))))()
    if not draft.steps:
        draft.put("mul", (0, 0))
    return Program(inputs, tuple(draft.steps))


@st.composite
def points(draw: Any, case: Any) -> list[Array]:
    """Draw rational inputs for a program; distinct and nonzero where the program has kinks."""
    size = sum(math.prod(shape) for shape in case.shapes)
    numerator = st.integers(-16, 16)
    if case.kinks:
        numerator = numerator.filter(bool)
    values = draw(st.lists(numerator, min_size=size, max_size=size, unique=case.kinks))
    numbers = iter([Fraction(value, 7) for value in values])
    out = []
    for shape in case.shapes:
        array = np.empty(shape, object)
        for place in np.ndindex(shape):
            array[place] = next(numbers)
        out.append(array)
    return out


@st.composite
def programs_at_points(draw: Any, *args: Any, **kwargs: Any) -> tuple[Program, list[Array]]:
    """Draw a program and a point for it."""
    program = draw(programs(*args, **kwargs))
    return program, draw(points(program))
