"""Random programs over axes of any length: one Function at many lengths, beside known lengths.

Inputs are small integers and no step rounds, so that values and derivatives are bitwise those of
the program built with numbers for lengths, however either one associates its sums; values are
NumPy's, too, and all are JAX's where it is installed.  (A zero has one sign here: -0.0 equals 0.0.)

Programs with steps that round (functions, quotients, means) are held against exact values: of 1/n
a program of numbers knows more, and its kernels fit arrays of these shapes: bits may differ.
"""

from __future__ import annotations

import contextlib
import math
from fractions import Fraction
from typing import Any, NamedTuple

import mpmath as mp
import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.lib.stride_tricks import sliding_window_view

import numeric as nm
import symdiff as sd
from symdiff.errors import ShapeError, Unsupported
from tests.support.budget import FUZZ, sample
from tests.support.evaluation import evaluate
from tests.support.fields import HIGH
from tests.support.oracles import DIGITS, bound, close

pytestmark = pytest.mark.usefixtures("arrays_stay_arrays")

SIZES = [(0, 0), (0, 2), (1, 1), (1, 3), (2, 0), (2, 2), (3, 1), (5, 2), (5, 5), (4, 7)]
NAMED = sd.symbol("v", "n"), sd.symbol("A", ("n", "m")), sd.symbol("w", "m")
# Beyond this a sum of products may be rounded, in a derivative sooner than in the value.
LARGEST = 2.0**17
# The same of float32.
LARGEST_SINGLE = 2.0**7
# What the two sides raise where a program has no value.
REFUSED = (ShapeError, ValueError, IndexError)


class Step(NamedTuple):
    """One operation: its name, the values it takes (counted from the last), its parameters."""

    name: str
    of: tuple[int, ...]
    parameters: tuple[Any, ...]


def along(x, axis, part):
    return x[(slice(None),) * axis + (part,)]


def is_inside(part, length):
    """Whether a slice of an axis is as long as it says: NumPy cuts nothing off."""
    step = part.step or 1
    first, last = (0, length) if step > 0 else (length - 1, -1)
    start, stop = (
        end if place is None else place + length if place < 0 else place
        for place, end in ((part.start, first), (part.stop, last))
    )
    low, high = (start, stop) if step > 0 else (stop + 1, start + 1)
    written = [end for end, at in ((start, part.start), (stop, part.stop)) if at is not None]
    return 0 <= low <= high <= length and min(written, default=0) >= 0


def is_padded(mode, widths, length):
    most = {"constant": length + 9, "edge": 9 * length, "reflect": length - 1}.get(mode, length)
    return max(widths) <= max(most, 0)


class Space:
    """Functions of arrays: those of a module, and some in place of them."""

    def __init__(self, module, **own):
        self._module = module
        vars(self).update(own)

    def __getattr__(self, name):
        return getattr(self._module, name)


def convolved(x, c, mode):
    """Of no elements, which NumPy refuses, the zeros around them."""
    if x.shape == (0,) and mode == "full":
        return np.pad(x, (len(c) - 1, 0))
    return np.convolve(x, c, mode)


def correlated(x, c, mode):
    return convolved(x, c[::-1], mode)


_COMMON = {"windows": sliding_window_view, "convolve": convolved, "correlate": correlated}


def shares(x, axis):
    powers = np.exp(x - np.max(x, axis, keepdims=True, initial=0))
    return powers / np.sum(powers, axis, keepdims=True)


def median(x, axis):
    """Of no elements NumPy warns and has nan; there is none."""
    if x.shape[axis] == 0:
        raise ValueError("the median of no elements")
    return np.median(x, axis)


FORMULAS = Space(
    np, **_COMMON, arange=sd.arange, eye=sd.eye, softmax=sd.softmax, logsumexp=sd.logsumexp
)
ARRAYS = Space(np, **_COMMON, softmax=shares, logsumexp=np.logaddexp.reduce, median=median)


def central_differences(xp, x):
    """What np.gradient computes along the first axis."""
    return xp.concatenate([x[1:2] - x[:1], (x[2:] - x[:-2]) / 2, x[-1:] - x[-2:-1]])


def raveled(x):
    return math.prod(x.shape)


# What a step makes, and whether NumPy does exactly what it says for operands of these lengths:
# where it does not, it cuts slices off, turns rolls round, or pads with what is padded.
OPS = {
    "slice": (
        lambda xp, x, k, part: along(x, k % x.ndim, part),
        lambda x, k, part: is_inside(part, x.shape[k % x.ndim]),
    ),
    "element": (lambda xp, x, k, i: along(x, k % x.ndim, i), None),
    "last element": (lambda xp, x: x[x.shape[0] - 1], lambda x: x.shape[0] > 0),
    "middle element": (lambda xp, x: x[x.shape[0] // 2], None),
    "second half": (lambda xp, x: x[x.shape[0] // 2 :], None),
    "all but the last": (lambda xp, x: x[: x.shape[0] - 1], lambda x: x.shape[0] > 0),
    "places": (lambda xp, x, k, at: along(x, k % x.ndim, np.array(at)), None),
    "take": (lambda xp, x, k, at: xp.take(x, np.array(at), axis=k % x.ndim), None),
    "take of all": (lambda xp, x, at: xp.take(x, np.array(at)), None),
    "stencil": (
        lambda xp, x: x[2:] - 2 * x[1:-1] + x[:-2],
        lambda x: x.shape[0] > 1,
    ),
    "central differences": (central_differences, lambda x: x.shape[0] > 1),
    "diff": (
        lambda xp, x, k, n: xp.diff(x, n=n, axis=k % x.ndim),
        lambda x, k, n: n <= x.shape[k % x.ndim],
    ),
    "pad": (
        lambda xp, x, k, widths, mode: xp.pad(
            x, [widths if i == k % x.ndim else (0, 0) for i in range(x.ndim)], mode=mode
        ),
        lambda x, k, widths, mode: is_padded(mode, widths, x.shape[k % x.ndim]),
    ),
    "pad with 3": (lambda xp, x, widths: xp.pad(x, widths, constant_values=3.0), None),
    "roll": (
        lambda xp, x, k, by: xp.roll(x, by, k % x.ndim),
        lambda x, k, by: abs(by) <= x.shape[k % x.ndim],
    ),
    "roll all": (lambda xp, x, by: xp.roll(x, by), lambda x, by: abs(by) <= raveled(x)),
    "repeat": (lambda xp, x, k, by: xp.repeat(x, by, axis=k % x.ndim), None),
    "tile": (lambda xp, x, by: xp.tile(x, by), None),
    "ravel": (lambda xp, x: xp.ravel(x), None),
    "columns": (lambda xp, x, by: xp.reshape(x, (-1, by)), None),
    "rows": (lambda xp, x, by: xp.reshape(x, (by, -1)), None),
    "other rows": (lambda xp, x: xp.reshape(x, x.shape[::-1]), None),
    "windows": (lambda xp, x, k, by: xp.windows(x, by, axis=k % x.ndim), None),
    "convolve": (
        lambda xp, x, c, mode: xp.convolve(x, np.array(c), mode),
        lambda x, c, mode: mode == "full" or len(c) <= len(x),
    ),
    "correlate": (
        lambda xp, x, c, mode: xp.correlate(x, np.array(c), mode),
        lambda x, c, mode: mode == "full" or len(c) <= len(x),
    ),
    "diag": (lambda xp, x, k: xp.diag(x, k), None),
    "diagonal": (
        lambda xp, x, k: xp.diagonal(xp.outer(x, x), k),
        lambda x, k: abs(k) <= raveled(x),
    ),
    "tril": (lambda xp, x, k: xp.tril(x, k), None),
    "flip": (lambda xp, x, k: xp.flip(x, k % x.ndim), None),
    "transpose": (lambda xp, x: x.T, None),
    "sum": (lambda xp, x, k, keepdims: xp.sum(x, axis=k % x.ndim, keepdims=keepdims), None),
    "sum all": (lambda xp, x: xp.sum(x), None),
    "cumsum": (lambda xp, x, k: xp.cumsum(x, axis=k % x.ndim), None),
    "max": (lambda xp, x, k: xp.max(x, axis=k % x.ndim), None),
    "sort": (lambda xp, x, k: xp.sort(x, axis=k % x.ndim), None),
    "median": (lambda xp, x: xp.median(x, axis=-1), None),
    "trapezoid": (lambda xp, x: xp.trapezoid(x), lambda x: x.shape[-1] > 0),
    "split": (
        lambda xp, x, k, at: xp.split(x, [at], axis=k % x.ndim)[1],
        lambda x, k, at: at <= x.shape[k % x.ndim],
    ),
    "abs": (lambda xp, x: xp.abs(x), None),
    "square": (lambda xp, x: x * x, None),
    "negated": (lambda xp, x: 1 - x, None),
    "positive part": (lambda xp, x: xp.maximum(x, 0), None),
    "counted": (lambda xp, x: x * xp.arange(x.shape[-1]), None),
    "between elements": (lambda xp, x: xp.linspace(x[0], x[-1], 5), None),
    "times the identity": (lambda xp, x: x * xp.eye(x.shape[-1]), None),
    "vander": (lambda xp, x, by: xp.vander(x, by), None),
    "times its length": (lambda xp, x, k: x * (x.shape[k % x.ndim] - 2), None),
    "add": (lambda xp, x, y: x + y, None),
    "multiply": (lambda xp, x, y: x * y, None),
    "minimum": (lambda xp, x, y: xp.minimum(x, y), None),
    "where": (lambda xp, x, y: xp.where(x > y, x - 1, 2 * y), None),
    "concat": (lambda xp, x, y, k: xp.concatenate([x, y], axis=k % x.ndim), None),
    "concat with ones": (lambda xp, x: xp.concatenate([x, xp.ones(2), x]), None),
    "hstack": (lambda xp, x, y: xp.hstack([x, y]), None),
    "stack": (lambda xp, x, y: xp.stack([x, y], axis=-1), None),
    "kron": (lambda xp, x, y: xp.kron(x, y), None),
    "outer": (lambda xp, x, y: xp.outer(x, y), None),
    "matmul": (lambda xp, x, y: x @ y, None),
    "matmul of the transpose": (lambda xp, x, y: x.T @ y, None),
}  # fmt: skip

# Steps that round, and where they have a value.
ROUNDING = {
    "sin": (lambda xp, x: xp.sin(x), None),
    "bell": (lambda xp, x: xp.exp(-x * x), None),
    "tanh": (lambda xp, x: xp.tanh(x), None),
    "log1p": (lambda xp, x: xp.log1p(x * x), None),
    "sqrt": (lambda xp, x: xp.sqrt(1 + x * x), None),
    "softmax": (lambda xp, x: xp.softmax(x, -1), None),
    "softmax of columns": (lambda xp, x: xp.softmax(x, 0), None),
    "logsumexp": (lambda xp, x: xp.logsumexp(x, -1), lambda x: x.shape[-1] > 0),
    "mean": (
        lambda xp, x, k: xp.mean(x, axis=k % x.ndim),
        lambda x, k: x.shape[k % x.ndim] > 0,
    ),
    "mean of all": (lambda xp, x: xp.mean(x), lambda x: raveled(x) > 0),
    "std": (  # of what differs: its derivative is a convention elsewhere
        lambda xp, x: xp.std(xp.sin(x) + 3 * xp.arange(x.shape[-1]), axis=-1),
        lambda x: x.shape[-1] > 1,
    ),
    "quotient": (lambda xp, x, y: x / (1 + y * y), None),
}  # fmt: skip
STEPS = OPS | ROUNDING

_places = st.none() | st.integers(-3, 3)
_widths = st.tuples(st.integers(0, 2), st.integers(0, 2))
_axis = st.integers(0, 1)
_fixed = st.lists(st.integers(-2, 2), min_size=1, max_size=3)
PARAMETERS = {
    "slice": (_axis, st.builds(slice, _places, _places, st.sampled_from((1, 1, 2, 3, -1, -2)))),
    "element": (_axis, st.integers(-2, 2)),
    "diff": (_axis, st.integers(1, 2)),
    "pad": (
        _axis,
        _widths,
        st.sampled_from(("constant", "edge", "reflect", "symmetric", "wrap")),
    ),
    "pad with 3": (_widths,),
    "roll": (_axis, st.integers(-2, 2)),
    "roll all": (st.integers(-2, 2),),
    "repeat": (_axis, st.integers(0, 3)),
    "tile": (st.sampled_from((2, (2, 1), (1, 3))),),
    "columns": (st.integers(1, 3),),
    "rows": (st.integers(1, 3),),
    "windows": (_axis, st.integers(1, 3)),
    "convolve": (
        st.sampled_from(((1.0, -2.0), (1.0, 0.0, 3.0))),
        st.sampled_from(("full", "same", "valid")),
    ),
    "correlate": (
        st.sampled_from(((1.0, -2.0), (1.0, 0.0, 3.0))),
        st.sampled_from(("full", "same", "valid")),
    ),
    "places": (_axis, _fixed),
    "take": (_axis, _fixed),
    "take of all": (_fixed,),
    "vander": (st.integers(0, 3),),
    "diag": (st.integers(-2, 2),),
    "diagonal": (st.integers(-2, 2),),
    "tril": (st.integers(-1, 1),),
    "flip": (_axis,),
    "sum": (_axis, st.booleans()),
    "cumsum": (_axis,),
    "max": (_axis,),
    "sort": (_axis,),
    "split": (_axis, st.integers(0, 2)),
    "times its length": (_axis,),
    "concat": (_axis,),
    "mean": (_axis,),
}
BINARY = {
    "add", "multiply", "minimum", "where", "concat", "hstack", "stack", "kron", "outer", "matmul",
    "matmul of the transpose", "quotient",
}  # fmt: skip
MOST = 9


def applied(xp, step, values):
    return STEPS[step.name][0](xp, *(values[-1 - i] for i in step.of), *step.parameters)


@st.composite
def programs(draw, first=None, among=OPS):
    """Steps that the three symbols have, and what they make of them."""
    steps, values = [], [*NAMED]
    more = draw(st.lists(st.sampled_from(list(among)), min_size=1, max_size=MOST, unique=True))
    for name in more if first is None else [first, *more]:
        taken = st.integers(0, len(values) - 1)
        of = tuple(draw(taken) for _ in range(2 if name in BINARY else 1))
        step = Step(name, of, tuple(map(draw, PARAMETERS.get(name, ()))))
        if not all(values[-1 - i].ndim in (1, 2) for i in of):
            continue
        try:
            y = applied(FORMULAS, step, values)
        except (Unsupported, *REFUSED):  # no step of operands like these
            continue
        if y.ndim <= 3:
            steps.append(step)
            values.append(y)
    assume(steps and first in (None, steps[0].name))
    return steps, values


def run(xp, steps, inputs):
    """All values, and the steps that NumPy does in another way than it is written."""
    values, bent = list(inputs), []
    for step in steps:
        is_plain = STEPS[step.name][1]
        if is_plain and not is_plain(*(values[-1 - i] for i in step.of), *step.parameters):
            bent.append(step)
        values.append(applied(xp, step, values))
    return values, bent


def data(n, m):
    r = np.random.default_rng(100 * n + m)
    return [r.integers(-4, 5, shape).astype(float) for shape in ((n,), (n, m), (m,))]


def with_derivatives(values, symbols):
    """What is computed: every value, gradients of a sum of all, and a product of a Hessian."""
    loss = sum((sd.sum(y * (k + 1)) for k, y in enumerate(values)), start=sd.sum(values[-1] ** 2))
    first = sd.grad(loss, symbols)
    second = sd.grad(sum(sd.sum(g) for g in first), symbols)
    return [*values, *first, *second]


def same(found, wanted):
    """Equal numbers, but for what sums of thirds in other orders are rounded by."""
    for x, y in zip(found, wanted, strict=True):
        assert np.shape(x) == np.shape(y)
        kind = np.asarray(x).dtype
        rtol = 4 * np.finfo(kind).eps if kind.kind == "f" else 0
        np.testing.assert_allclose(x, y, rtol=rtol)


def is_exact(values, largest=LARGEST):
    """Whether all are small multiples of a small power of 2; thirds are shares of ties."""
    grid = [np.asarray(x) * largest for x in values]
    return all(np.all((np.abs(x) < largest**2) & (x == np.rint(x))) for x in grid)


def exact_at_every_length(program):
    """Hold one Function against the programs of numbers; the lengths at which it has a value."""
    steps, values = program
    outputs = with_derivatives(values, NAMED)
    named = nm.lower(outputs, NAMED)
    last = nm.lower(values[-1], NAMED)  # where checks of the steps before it may be lost
    fitting = []
    for n, m in SIZES:
        arrays = data(n, m)
        known = [sd.symbol(x.name, a.shape) for x, a in zip(NAMED, arrays, strict=True)]
        try:
            want, bent = run(FORMULAS, steps, known)
        except REFUSED:
            if all(y.free_symbols for y in values):  # a constant has no axis to be too short
                with pytest.raises(REFUSED):
                    named(*arrays)
            continue
        # Zeros hold no slice that could say that their axis is too short for it.
        if not (bent and not values[-1].free_symbols):
            with contextlib.suppress(*REFUSED):
                same([last(*arrays)], [nm.lower(want[-1], known)(*arrays)])
        if bent and not all(y.free_symbols for y in values):
            continue
        try:
            found = named(*arrays)
        except REFUSED:
            if not bent:  # every slice fits, so that there is a value
                raise
            continue
        of_numbers = nm.lower(with_derivatives(want, known), known)
        wanted = of_numbers(*arrays)
        if not is_exact(wanted):
            continue
        fitting.append((n, m))
        same(found, wanted)
        same(found[: len(values)], run(ARRAYS, steps, arrays)[0])
        if is_exact(wanted, LARGEST_SINGLE):
            singles = [x.astype(np.float32) for x in arrays]
            same(named(*singles), wanted)
    return fitting


@pytest.mark.slow
@pytest.mark.parametrize("name", OPS)
def test_a_program_at_every_length_is_that_of_numbers(name):
    """Programs that begin with this step, at lengths of which some are 0 and some are 1."""
    met = set()

    @given(programs(first=name))
    @sample(4)
    def check(program):
        met.update(length for sizes in exact_at_every_length(program) for length in sizes)

    check()
    assert FUZZ or met >= {0, 1}  # four fresh programs may have neither


# Steps that round ---------------------------------------------------------------------------------

# Lengths at which the exact evaluator, of which each element is an object, takes its time.
FEW = [(0, 2), (1, 1), (1, 3), (2, 0), (2, 2), (3, 2)]


def near_at_every_length(program):
    """Hold one Function against exact values; the lengths at which it has some."""
    steps, values = program
    named = nm.lower(with_derivatives(values, NAMED), NAMED)
    fitting = []
    for n, m in FEW:
        r = np.random.default_rng(10 * n + m)
        arrays = [r.uniform(-1, 1, shape) for shape in ((n,), (n, m), (m,))]
        known = [sd.symbol(x.name, a.shape) for x, a in zip(NAMED, arrays, strict=True)]
        try:
            want, bent = run(FORMULAS, steps, known)
        except REFUSED:
            continue
        if bent:
            continue
        outputs = with_derivatives(want, known)
        found, reference = named(*arrays), nm.lower(outputs, known)(*arrays)
        with mp.workdps(DIGITS):
            at = [np.vectorize(Fraction, otypes=[object])(x) for x in arrays]
            exact = evaluate(outputs, bound(known, at, HIGH), HIGH)
        scale = max(float(max(map(abs, x.ravel()), default=0)) for x in exact)
        if scale > LARGEST:
            continue
        fitting.append((n, m))
        of_numpy = run(ARRAYS, steps, arrays)[0]
        for each, *others in zip(found, reference, exact, strict=True):
            close(each, *others, (n, m, steps), scale)
        for each, *others in zip(
            of_numpy, reference[: len(values)], exact[: len(values)], strict=True
        ):
            close(each, *others, (n, m, steps), scale)
    return fitting


@pytest.mark.parametrize("name", ROUNDING)
def test_a_program_that_rounds_is_as_near_as_that_of_numbers(name):
    """Derivatives too; without kinks, at which rounding decides which derivative is met."""
    smooth = [step for step in STEPS if step not in TIED and step != "where"]
    met = set()

    @given(programs(first=name, among=smooth))
    @sample(4)
    def check(program):
        met.update(length for sizes in near_at_every_length(program) for length in sizes)

    check()
    assert FUZZ or met >= {0, 1}  # four fresh programs may have neither


@given(programs())
@sample(40)
def test_many_programs_at_once_and_one_node_at_a_time(program):
    """A batch, and the interpreter, do what the Function does."""
    outputs = with_derivatives(program[1], NAMED)
    named = nm.lower(outputs, NAMED)
    many = sd.symbol("many", ("b", "n"))
    inside = [x for x in outputs if NAMED[0] in x.free_symbols]
    batched = nm.lower(sd.batch(inside, {NAMED[0]: many}), [many, *NAMED[1:]])
    for n, m in SIZES[1::3]:
        arrays = data(n, m)
        try:
            found = named(*arrays)
        except REFUSED:
            with pytest.raises(REFUSED):
                nm.interpret(outputs, dict(zip(NAMED, arrays, strict=True)))
            continue
        if not is_exact(found):
            continue
        same(nm.interpret(outputs, dict(zip(NAMED, arrays, strict=True))), found)
        rows = np.stack([arrays[0], arrays[0][::-1]])
        each = [named(row, *arrays[1:]) for row in rows]
        if not is_exact(each[1]):
            continue
        kept = [k for k, x in enumerate(outputs) if NAMED[0] in x.free_symbols]
        same(batched(rows, *arrays[1:]), [np.stack([ys[k] for ys in each]) for k in kept])


# Beside JAX ---------------------------------------------------------------------------------------


def of_jax(jnp):
    """JAX's functions of arrays, with the two that it has not, or not for arrays of nothing."""

    def windows(x, by, axis):
        count = x.shape[axis] - by + 1
        return jnp.stack([jnp.take(x, jnp.arange(k, k + count), axis) for k in range(by)], -1)

    def convolve(x, c, mode):
        n, more = len(x), len(c) - 1
        full = sum(c[k] * jnp.pad(x, (k, more - k)) for k in range(len(c)))
        first = {"full": 0, "same": more // 2, "valid": more}[mode]
        return full[first : {"full": n + more, "same": first + n, "valid": n}[mode]]

    def correlate(x, c, mode):
        return convolve(x, c[::-1], mode)

    return Space(jnp, windows=windows, convolve=convolve, correlate=correlate)


def derived(jax, values, inputs):
    """What ``with_derivatives`` computes, of functions of arrays."""

    def loss(*xs):
        ys = values(*xs)
        return sum(jax.numpy.sum(y * (k + 1)) for k, y in enumerate(ys)) + (ys[-1] ** 2).sum()

    by = (0, 1, 2)
    first = jax.grad(loss, by)
    second = jax.grad(lambda *xs: sum(g.sum() for g in first(*xs)), by)
    return [*values(*inputs), *first(*inputs), *second(*inputs)]


# Of operands that tie the derivative is a convention, which JAX has another one of.
TIED = {
    "max": lambda x, k: np.diff(np.sort(x, axis=k % x.ndim), axis=k % x.ndim) == 0,
    "sort": lambda x, k: np.diff(np.sort(x, axis=k % x.ndim), axis=k % x.ndim) == 0,
    "median": lambda x: np.diff(np.sort(x)) == 0,
    "abs": lambda x: x == 0,
    "positive part": lambda x: x == 0,
    "minimum": lambda x, y: x == y,
}


def ties(steps, values):
    """Whether operands tie, of values that NumPy computed."""
    return any(
        np.any(TIED[step.name](*(values[at - i] for i in step.of), *step.parameters))
        for at, step in enumerate(steps, len(NAMED) - 1)
        if step.name in TIED
    )


def at_fitting_lengths(program, sizes, draw):
    """The Function, and arrays of those lengths at which NumPy does all steps as written."""
    steps, values = program
    named = nm.lower(with_derivatives(values, NAMED), NAMED)
    for n, m in sizes:
        arrays = draw(n, m)
        try:
            wanted, bent = run(ARRAYS, steps, arrays)
        except REFUSED:
            continue
        if not bent:
            yield named(*arrays), arrays, wanted


# JAX compiles every step of every length.
_two_sizes = st.lists(st.sampled_from(SIZES[::-1]), min_size=2, max_size=2, unique=True)


@given(programs(), _two_sizes)
@sample(12)
def test_exact_programs_are_those_of_jax(program, sizes):
    jax = pytest.importorskip("jax")
    xp, steps = of_jax(jax.numpy), program[0]
    for found, arrays, wanted in at_fitting_lengths(program, sizes, data):
        count = len(wanted) if ties(steps, wanted) else len(found)
        with jax.enable_x64(True), np.errstate(all="ignore"):
            there = derived(jax, lambda *xs: run(xp, steps, xs)[0], arrays)
        if is_exact(there):
            same(found[:count], there[:count])
