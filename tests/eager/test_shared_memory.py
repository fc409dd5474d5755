"""Views, and writes through them, inside of transforms and through their results.

The oracle is NumPy, where memory is shared by itself: what a program does to one slice, it does
there to arrays with leading axes.  Numbers are small integers, so that nothing is rounded.
"""

import operator
import random

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

import numeric as T
from tests.support.budget import sample


def trailing(a, *key, lead):
    return a[(slice(None),) * lead + key]


def _add_total(arrays, a, lead):
    total = arrays[0].sum(tuple(range(lead, arrays[0].ndim)))
    a += total.reshape(total.shape + (1,) * (a.ndim - lead))


# What a step makes, each of a tensor, and of an array with so many leading axes.
VIEWS = {
    # with an ellipsis: a view, of one element too
    "first": (lambda t: t[0], lambda a, lead: trailing(a, 0, ..., lead=lead)),
    "rest": (lambda t: t[1:], lambda a, lead: trailing(a, slice(1, None), lead=lead)),
    "steps": (
        lambda t: t[:, ::2],
        lambda a, lead: trailing(a, slice(None), slice(None, None, 2), lead=lead),
    ),
    "turned": (lambda t: t.t(), lambda a, lead: np.swapaxes(a, -1, -2)),
    "detached": (lambda t: t.detach(), lambda a, lead: a[...]),
    "new": (lambda t: t + 1, lambda a, lead: np.array(a + 1)),
}
DRAWN = ("first", "rest", "steps", "turned", "detached", "mapped")
# What it writes to it, knowing all that there are.
WRITES = {
    "double": (lambda ts, t: t.mul_(2), lambda arrays, a, lead: np.multiply(a, 2, out=a)),
    "add": (lambda ts, t: operator.iadd(t, 3), lambda arrays, a, lead: np.add(a, 3, out=a)),
    "put": (
        lambda ts, t: operator.setitem(t, 0, 5.0),
        lambda arrays, a, lead: np.copyto(trailing(a, 0, ..., lead=lead), 5),
    ),
    "zero": (lambda ts, t: t.zero_(), lambda arrays, a, lead: a.fill(0)),
    "add other": (lambda ts, t: t.add_(ts[0].sum()), _add_total),
}


class Step:
    """A view of one of the tensors so far, a write to it, or a new tensor made of it."""

    def __init__(self, source, ranks, own):
        self.of = source.randrange(len(ranks))
        rank = ranks[self.of]
        kinds = [v for v in DRAWN if rank > 1 or v not in ("steps", "turned", "mapped")]
        self.kind = source.choice(kinds if rank else ["detached"])
        if own[self.of] and source.random() < 0.5:
            self.kind = source.choice(list(WRITES))
        elif source.random() < 0.2 or not own[self.of]:
            self.kind = "new"
        self.axis, self.inner = source.randrange(max(rank, 1)), source.choice(["first", "rest"])
        if self.kind == "first" or (self.kind == "mapped" and self.inner == "first"):
            rank -= 1
        if rank == 0 and self.kind == "put":
            self.kind = "zero"
        if self.kind not in WRITES:
            ranks.append(rank)
            own.append(True)

    def __repr__(self):
        return f"{self.kind}({self.of}" + f", {self.axis}, {self.inner})" * (self.kind == "mapped")

    def run(self, ts):
        """On tensors."""
        t = ts[self.of]
        if self.kind in WRITES:
            WRITES[self.kind][0](ts, t)
        elif self.kind == "mapped":
            ts.append(T.vmap(VIEWS[self.inner][0], in_dims=self.axis)(t))
        else:
            ts.append(VIEWS[self.kind][0](t))

    def plain(self, arrays, lead):
        """On arrays with so many leading axes."""
        a = arrays[self.of]
        if self.kind in WRITES:
            WRITES[self.kind][1](arrays, a, lead)
        elif self.kind == "mapped":
            turned = np.moveaxis(a, lead + self.axis, lead)
            arrays.append(VIEWS[self.inner][1](turned, lead + 1))
        else:
            arrays.append(VIEWS[self.kind][1](a, lead))


class Program:
    """Steps after a copy of the argument; it gives all tensors that there were."""

    def __init__(self, seed, detached=True):
        source = random.Random(seed)
        ranks, own = [2, 2], [False, True]
        count = source.randint(2, 7)
        self.steps = [Step(source, ranks, own) for _ in range(count)]
        if not detached:
            for step in self.steps:
                step.kind = "new" if step.kind == "detached" else step.kind
        self.last = source.randrange(len(ranks) - 1)

    def __repr__(self):
        return f"{self.steps}, written to: {self.last}"

    def __call__(self, x):
        ts = [x, x * 1]
        for step in self.steps:
            step.run(ts)
        return tuple(ts[1:])

    def plain(self, x, lead):
        arrays = [x, x * 1]
        for step in self.steps:
            step.plain(arrays, lead)
        return arrays[1:]


FORMS = {
    "eager": (lambda f: f, 0),
    "compile": (lambda f: T.compile(f), 0),
    "vmap": (lambda f: T.vmap(f), 1),
    "vmap of vmap": (lambda f: T.vmap(T.vmap(f)), 2),
    "compile of vmap": (lambda f: T.compile(T.vmap(f)), 1),
    "vmap of compile": (lambda f: T.vmap(T.compile(f)), 1),
}
SHAPE = (2, 2, 3, 4)


@pytest.mark.parametrize("form", FORMS)
@sample(15)
@given(st.integers(0, 2**32))
def test_writes_reach_what_shares_the_memory(form, seed):
    program = Program(seed)
    transform, lead = FORMS[form]
    numbers = np.arange(1.0, 49.0).reshape(SHAPE)[(0,) * (2 - lead)]
    array, x = numbers.copy(), T.tensor(numbers)
    expected, found = program.plain(array, lead), transform(program)(x)
    for _ in range(2):  # as they are, and after a write to one of them
        for e, t in zip([array, *expected], [x, *found], strict=True):
            np.testing.assert_array_equal(t.numpy(), e, err_msg=f"{form} of {program}")
        expected[program.last] *= 2
        found[program.last].mul_(2)


@pytest.mark.parametrize("form", ["eager", "vmap", "vmap of vmap"])
@sample(15)
@given(st.integers(0, 2**32))
def test_derivatives_go_through_writes(form, seed):
    """Programs are affine: their derivatives are differences, which are exact."""
    program = Program(seed, detached=False)
    transform, lead = FORMS[form]
    shape = SHAPE[2 - lead :]

    def total(arrays):
        return sum((k + 1) * (k + a).sum() for k, a in enumerate(arrays))

    zeros = np.zeros(shape)
    slopes = np.zeros(shape)
    for place in np.ndindex(shape):
        unit = zeros.copy()
        unit[place] = 1
        slopes[place] = total(program.plain(unit, lead)) - total(program.plain(zeros.copy(), lead))
    x = T.tensor(zeros)
    for gradient in (
        T.func.grad(lambda v: total(transform(program)(v))),
        T.compile(T.func.grad(lambda v: total(transform(program)(v)))),
    ):
        np.testing.assert_array_equal(gradient(x).numpy(), slopes, err_msg=f"{form} of {program}")


def outer_write(v):
    w = v * 1
    return T.vmap(lambda u: w[0].mul_(2) + u)(v)


def argument_write(v):
    return T.vmap(lambda u: u[0])(v).mul_(2)


def detached_write(v):
    (v * 1).detach().mul_(2)
    return v


def write_of_recorded(v):
    (w := v.detach() * 0).detach().add_(v)
    return w


def stretched_write(v):
    return (v[0] * 1).expand(2, 2).mul_(2)


@pytest.mark.parametrize(
    ("f", "message"),
    [
        (outer_write, "changes a tensor from outside"),
        (argument_write, "changes an argument in place"),
        (detached_write, "changes a detached tensor.*clone"),
        (write_of_recorded, "changes a detached tensor.*clone"),
        (stretched_write, "single memory location"),
    ],
)
def test_writes_that_cannot_be_followed_are_refused(f, message):
    x = T.tensor([[1.0, 2.0], [3.0, 4.0]])
    with pytest.raises(RuntimeError, match=message):
        T.compile(T.func.grad(lambda v: f(v).sum()))(x)
