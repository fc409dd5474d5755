"""Patterns of Jacobians: never less than a Jacobian has, and as little where elements only move."""

from contextlib import suppress
from fractions import Fraction

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings

import numeric as nm
import symdiff as sd
from symdiff.graph import ops
from symdiff.graph.algebra import linear
from tests.support import oracles
from tests.support.fields import HIGH, LOST_DIGITS
from tests.support.refusals import refused
from tests.support.strategies import FAMILIES, programs
from tests.test_completeness import LINEAR, LONGER, nodes_of_ops
from tests.test_declarations import OPAQUE, Between, at_random, real, samples

x, y = sd.symbol("x", 4), sd.symbol("y", 4)
A = sd.symbol("A", (3, 3))


def holds(f, xs, at, rounding=0.0):
    """The pattern has all of the Jacobian that is not 0 there; how many elements it has besides.

    A kernel may leave ``rounding`` where there is a 0.
    """
    more = 0
    for z in xs:
        pattern = sd.sparsity(f, z)
        with np.errstate(all="ignore"):
            jacobian = nm.interpret(sd.jacobian(f, z), at)
        assert pattern.shape == jacobian.shape == f.shape + z.shape
        assert pattern[abs(jacobian) > rounding * np.max(abs(jacobian), initial=0)].all(), f
        more += np.count_nonzero(pattern & (jacobian == 0))
    return more


@given(programs(list(FAMILIES), steps=4))
@settings(deadline=None)
def test_of_random_programs(program):
    rng = np.random.default_rng(0)
    xs = oracles.inputs_of(program)
    holds_at_high_precision(program.ours(xs), xs, {z: rng.uniform(0.5, 2, z.shape) for z in xs})


def holds_at_high_precision(f, xs, at):
    """As ``holds``, but what floats leave where there is a 0 is less where numbers are longer.

    The inverse of a triangular matrix is triangular up to the rounding of its factors: what is no
    more than rounding at 50 digits is a 0.
    """
    with suppress(np.linalg.LinAlgError):  # of a singular matrix
        try:
            holds(f, xs, at)
        except AssertionError:
            fractions = np.frompyfunc(Fraction, 1, 1)
            values = [np.asarray(fractions(at[z]), object) for z in xs]
            with mp.workdps(oracles.DIGITS):
                env = oracles.bound(xs, values, HIGH)
                jacobians = oracles.values_of([sd.jacobian(f, z) for z in xs], env, HIGH)
                for z, exact in zip(xs, jacobians, strict=True):
                    sizes = np.asarray(abs(exact), object)
                    least = mp.mpf(10) ** (LOST_DIGITS - oracles.DIGITS)
                    nonzero = np.asarray(sizes > least * max(sizes.flat, default=0), bool)
                    assert sd.sparsity(f, z)[nonzero].all(), f


def test_rounding_of_an_inverse_is_no_derivative():
    f = sd.log(abs(sd.det(2 * sd.tril(A))))
    at = {A: np.random.default_rng(0).uniform(0.5, 2, 10)[1:].reshape(3, 3)}
    holds_at_high_precision(f, [A], at)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sd, "sparsity", lambda f, z: np.diag([True, True, False]))
        with pytest.raises(AssertionError):
            holds_at_high_precision(f, [A], at)


@pytest.mark.parametrize("cls", [c for c in LINEAR if c is not ops.Cast], ids=lambda c: c.__name__)
def test_linear_maps_have_the_pattern_of_their_matrix(cls):
    """But that a sine in a Fourier matrix may be 0.  Symbols have no precision to cast."""
    for node in [*nodes_of_ops()[cls], *LONGER.get(cls, [])]:
        if any(isinstance(dim, str) for z in (node, *node.args) for dim in z.shape):
            continue
        xs = [sd.symbol(f"e{k}", z.shape) for k, z in enumerate(node.args)]
        more = holds(linear(node.op, *xs), xs, {z: np.ones(z.shape) for z in xs})
        assert not more or cls is ops.Fourier


@pytest.mark.parametrize(
    "cls", [c for c in OPAQUE if c is not Between], ids=lambda cls: cls.__name__
)
def test_opaque_ops_stay_within_their_batch(cls):
    """No element of one core depends on another core."""
    rng = np.random.default_rng(0)
    for f in samples(cls):
        holds(f, [f.args[k] for k in real(f)], at_random(f, rng), rounding=1e-12)
        for k in real(f):
            z, signature = f.args[k], f.op.signature
            leads = z.ndim - len(signature.core(k)), f.ndim - len(signature.value)
            if leads == (1, 1):
                pattern = np.moveaxis(sd.sparsity(f, z), f.ndim, 1)
                i, j = np.indices(pattern.shape[:2])
                assert not pattern[i != j].any()


BANDS = np.eye(4) - np.eye(4, k=-1)
s, none = sd.symbol("s"), sd.symbol("none", (0, 2))


@pytest.mark.parametrize(
    ("f", "by", "expected"),
    [
        (sd.sin(x) * y + 1, x, np.eye(4)),
        (sd.sum(x), x, np.ones(4)),
        (sd.cumsum(x), x, np.tri(4)),
        (BANDS @ sd.exp(x), x, BANDS != 0),
        (sd.tril(sd.constant(np.ones((4, 4)))) @ x, x, np.tri(4)),
        (sd.stack([x[0] * x[1], x[3]]), x, [[1, 1, 0, 0], [0, 0, 0, 1]]),
        (sd.where(x > y, 1, y), x, np.zeros((4, 4))),
        (sd.where(x > y, x, y[::-1]), y, np.eye(4)[::-1]),
        (sd.sign(x) + sd.floor(y), y, np.eye(4)),
        (sd.argmax(x) * y, x, np.zeros((4, 4))),
        (sd.max(x), x, np.ones(4)),
        (sd.sort(x), x, np.ones((4, 4))),
        (x[0] ** 2, x, [1, 0, 0, 0]),
        (sd.zeros(2), x, np.zeros((2, 4))),
        (sd.det(A), A, np.ones((3, 3))),
        (sd.det(sd.tril(A)), A, np.eye(3)),
        (sd.inv(sd.tril(A)), A, np.ones((3, 3, 1, 1)) * np.tri(3)),
        (sd.solve(np.eye(3), A), A, np.einsum("ik,jl->ijkl", np.ones((3, 3)), np.eye(3))),
        (sd.eigvalsh(A), A, np.ones((3, 3, 3))),
        (sd.expm(A)[0, 0], A, np.ones((3, 3))),
        (A[0, 0] + 0 * A[1, 1], A, np.eye(3) * [1, 0, 0]),
        (s * x, s, np.ones(4)),
        (s**2, s, 1),
        (3, x, np.zeros(4)),
        (sd.constant(3), x, np.zeros(4)),
        (s * 1, x, np.zeros(4)),
        (sd.sum(none), none, np.zeros((0, 2))),
        (none, s, np.zeros((0, 2))),
    ],
    ids=str,
)
def test_examples(f, by, expected):
    np.testing.assert_array_equal(sd.sparsity(f, by), np.asarray(expected) != 0)


def test_what_is_refused():
    n = sd.symbol("v", "n")
    box = sd.custom(np.sin, lambda g, out, x: g * sd.cos(x), name="box")
    refused(
        (TypeError, r"sparsity: .* not a symbol", lambda: sd.sparsity(x, x[0])),
        (TypeError, r"sparsity: .* not a symbol", lambda: sd.sparsity(x, 3)),
        (sd.Unsupported, "sparsity: v has the symbolic shape", lambda: sd.sparsity(sd.sum(n), n)),
        (sd.Unsupported, "box", lambda: sd.sparsity(box(x), x)),
    )


def test_a_component_that_is_left_out_is_missed(monkeypatch):
    right = ops.Cumsum.components
    monkeypatch.setattr(
        ops.Cumsum, "components", lambda op, of, shape, *xs: right(op, of, shape, 0 * xs[0])
    )
    with pytest.raises((AssertionError, TypeError)):
        test_linear_maps_have_the_pattern_of_their_matrix(ops.Cumsum)
