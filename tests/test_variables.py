"""Derivatives by elements and slices of symbols, and by nodes that stand for a symbol.

The oracle spells the drawn formula in one fresh scalar symbol for each element, stacked in the
symbols' place, and differentiates by those: what components are, it does not know.
"""

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import symdiff as sd
from symdiff.graph import ops
from symdiff.graph.ranges import common, disjoint, meeting, places_of, reversed_places, step_of
from tests.support.budget import sample
from tests.support.fields import HIGH
from tests.support.oracles import DIGITS, bound, inputs_of
from tests.support.refusals import refused
from tests.support.strategies import FAMILIES, points, programs
from tests.test_laws import equal, filled

x, y, z = sd.symbols("x y z")
q = sd.symbol("q", 4)
A = sd.symbol("A", (3, 3))
n = sd.symbol("n_long", ("n",))


# The oracle ---------------------------------------------------------------------------------------

VIEWS = [
    lambda a: a[0],
    lambda a: a[-1],
    lambda a: a[::-1],
    lambda a: a[1:],
    lambda a: a[:-1],
    lambda a: a[::2],
    lambda a: a[-1::-2],
    lambda a: a[:1],
    lambda a: a.T,
    lambda a: a[None],
    lambda a: a[..., 0],
    lambda a: a[..., ::-1],
]


@st.composite
def views(draw, array):
    """A way to take elements of an array, of an expression as of one of objects."""
    chain = []
    for _ in range(draw(st.integers(1, 4))):
        if not array.size or not array.ndim or array.ndim > 3:
            break
        view = draw(st.sampled_from(VIEWS))
        chain.append(view)
        array = view(array)
    return chain, array


def seen(chain, a):
    for view in chain:
        a = view(a)
    return a


def spelled_out(a):
    """A scalar symbol for each element of a symbol, in an array of objects."""
    array = np.empty(a.size, object)
    for k in range(a.size):
        array[k] = sd.symbol(f"{a.name}_{k}")
    return array.reshape(a.shape)


def objects(a):
    """An array of objects; of one object, too."""
    if isinstance(a, np.ndarray):
        return a
    array = np.empty(1, object)
    array[0] = a
    return array.reshape(())


@st.composite
def formulas(draw, **kwargs):
    """A formula of whole arrays and of elements, and the same one in a scalar for each element."""
    program = draw(programs(families=("element", "element", *FAMILIES), **kwargs))
    xs = inputs_of(program)
    point = draw(points(program))
    scalars = [spelled_out(a) for a in xs]
    stacked = [
        s[()]
        if not s.shape
        else sd.stack(list(s.ravel())).reshape(s.shape) + sd.zeros(s.shape)
        if s.size
        else sd.zeros(s.shape)
        for s in scalars
    ]
    f, g = (program.ours(a) + sd.constant(0) for a in (xs, stacked))
    with mp.workdps(DIGITS):
        env = bound(xs, point, HIGH)
        for a, s in zip(xs, scalars, strict=True):
            for place in np.ndindex(s.shape):
                env[s[place]] = objects(env[a][place])
    return f, g, xs, scalars, env


@st.composite
def cases(draw, **kwargs):
    """A formula, its other spelling, and components with the scalars that spell them."""
    f, g, xs, scalars, env = draw(formulas(**kwargs))
    components = []
    for _ in range(draw(st.integers(1, 3))):
        k = draw(st.integers(0, len(xs) - 1))
        chain, scalar = draw(views(scalars[k]))
        components.append((seen(chain, xs[k]), objects(scalar)))
    return f, g, components, env


def by_scalars(g, scalars):
    """The derivative of g by an array of scalars, in trailing axes."""
    parts = [sd.diff(g, s) for s in scalars.ravel()]
    if not parts:
        return sd.zeros(g.shape + scalars.shape)
    return sd.reshape(sd.stack(parts, axis=-1), g.shape + scalars.shape)


def weighted(f):
    return sd.sum(f * filled(f.shape))


@sample(50)
@given(cases())
def test_jacobians_by_components(drawn):
    f, g, components, env = drawn
    vs = [v for v, _ in components]
    expected = [by_scalars(g, s) for _, s in components]
    equal(sd.jacobian(f, vs), expected, env)
    equal([sd.jacobian(f, v) for v in vs], expected, env)
    seed = filled(f.shape)
    pulled = [sd.tensordot(seed, J, axes=f.ndim) for J in expected]
    equal(sd.vjp(f, vs, seed), pulled, env)
    equal(sd.grad(f, vs, grad_outputs=seed), pulled, env)
    t = filled(vs[0].shape, 2)
    equal([sd.jvp(f, vs[0], t)], [sd.tensordot(expected[0], t, axes=t.ndim)], env)


@pytest.mark.slow
@sample(40)
@given(cases(largest=4))
def test_hessians_by_components(drawn):
    f, g, components, env = drawn
    f, g = weighted(f), weighted(g)
    vs = [v for v, _ in components]
    expected = [[by_scalars(by_scalars(g, s), t) for _, t in components] for _, s in components]
    found = sd.hessian(f, vs)
    equal([b for row in found for b in row], [b for row in expected for b in row], env)
    t = filled(vs[0].shape, 2)
    equal([sd.hvp(f, vs[0], t)], [sd.tensordot(expected[0][0], t, axes=t.ndim)], env)


@pytest.mark.slow
@sample(40)
@given(cases(largest=4))
def test_orders_by_an_element(drawn):
    f, g, components, env = drawn
    for v, s in components:
        if not v.shape:
            equal(
                [sd.diff(f, v, k) for k in (1, 2, 3)],
                [sd.diff(g, s[()], k) for k in (1, 2, 3)],
                env,
            )


@sample(40)
@given(formulas(), st.data())
def test_tangents_of_several_components(drawn, data):
    f, g, xs, scalars, env = drawn
    a, s = xs[0], scalars[0]
    if not a.shape or a.shape[0] < 2:
        return
    cut = data.draw(st.integers(1, a.shape[0] - 1))
    pieces = [(a[:cut], s[:cut]), (a[cut:], s[cut:])]
    if data.draw(st.booleans()):
        pieces = [(a[k], objects(s[k])) for k in range(-1, a.shape[0] - 1)]
    ts = [filled(v.shape, k) for k, (v, _) in enumerate(pieces)]
    expected = sum(
        sd.tensordot(by_scalars(g, s), t, axes=t.ndim) for (_, s), t in zip(pieces, ts, strict=True)
    )
    equal([sd.jvp(f, [v for v, _ in pieces], ts)], [expected], env)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["view", "scatter"])
def test_the_oracle_finds_a_planted_fault(name, monkeypatch):
    from symdiff.calculus.variables import Component

    right = getattr(Component, name)
    monkeypatch.setattr(Component, name, lambda c, e, k=0: 2 * right(c, e, k))
    with pytest.raises(AssertionError):
        test_jacobians_by_components()


# Elements fold ------------------------------------------------------------------------------------


def energy(a):
    return a[2] ** 2 / 2 + a[3] ** 2 / 4 + a[2] * a[3] * sd.cos(a[0] - a[1]) - 9 * sd.cos(a[0])


def rosenbrock(a):
    return sum(100 * (a[i + 1] - a[i] ** 2) ** 2 + (1 - a[i]) ** 2 for i in range(3))


def vector_rosenbrock(a):
    return sd.sum(100 * (a[1:] - a[:-1] ** 2) ** 2 + (1 - a[:-1]) ** 2)


def mixed(a):
    return a @ a + a[0] ** 2 * sd.sin(a[1])


def spelled(formula):
    """A formula of q in scalar symbols; and each of these with the element that it is."""
    s = sd.symbols("s0 s1 s2 s3")
    return formula(s), dict(zip(s, q, strict=True))


@pytest.mark.parametrize("formula", [energy, rosenbrock])
@pytest.mark.parametrize("order", [1, 2, 3])
def test_of_elements_alone_the_derivative_is_that_of_scalar_symbols(formula, order):
    by_symbols, element = spelled(formula)
    for s, v in element.items():
        d = sd.diff(by_symbols, s, order)
        expected = sd.substitute(d, element)
        assert sd.diff(formula(q), v, order) is expected
    gradient = sd.grad(formula(q), list(element.values()))
    assert list(gradient) == [sd.diff(formula(q), v) for v in element.values()]


@pytest.mark.parametrize(
    ("of_arrays", "of_elements"),
    [
        (vector_rosenbrock, rosenbrock),
        (mixed, lambda s: sum(a * a for a in s) + s[0] ** 2 * sd.sin(s[1])),
        (lambda a: sd.exp(sd.sum(sd.sin(a) * a)), lambda s: sd.exp(sum(sd.sin(a) * a for a in s))),
        (lambda a: sd.sqrt(a @ a) * a[1], lambda s: sd.sqrt(sum(a**2 for a in s)) * s[1]),
        (lambda a: sd.prod(a) * a[0], lambda s: s[0] * s[1] * s[2] * s[3] * s[0]),
        (
            lambda a: sd.logsumexp(a) * a[0],
            lambda s: sd.log(sum(sd.exp(a) for a in s)) * s[0],
        ),
        (
            lambda a: (c := sd.concat([a[2:], a[::-1]])) @ c * sd.sin(a[0]),
            lambda s: (sum(a**2 for a in s) + s[2] ** 2 + s[3] ** 2) * sd.sin(s[0]),
        ),
    ],
)
@pytest.mark.parametrize("order", [1, 2, 3])
def test_of_whole_arrays_the_derivative_is_hardly_larger(of_arrays, of_elements, order):
    by_symbols, element = spelled(of_elements)
    for s, v in element.items():
        d = sd.diff(by_symbols, s, order)
        expected = sd.substitute(d, element)
        found = sd.diff(of_arrays(q), v, order)
        assert sd.count_nodes(found) <= 1.5 * sd.count_nodes(expected)
        assert not any(isinstance(node.op, ops.Strong | ops.Unslice) for node in sd.nodes(found))


@pytest.mark.parametrize(
    "formula",
    [
        lambda a: sd.sum(sd.sin(sd.concat([a[2:], a[::-1]])) ** 2),
        lambda a: sd.sum(sd.exp(a.reshape(2, 2).T) * a.reshape(2, 2)),
        lambda a: sd.sum(sd.exp(sd.stack([a, a[::-1]], axis=1)) @ sd.symbol("B", (2, 2))),
    ],
)
@pytest.mark.parametrize("order", [1, 2])
def test_rearranging_and_joining_leave_no_zeros(formula, order):
    for v in (q[0], q[2]):
        found = sd.diff(formula(q), v, order)
        assert not any(isinstance(node.op, ops.Strong | ops.Unslice) for node in sd.nodes(found))


@pytest.mark.parametrize(
    "join",
    [
        lambda a, b: sd.concat([a, b]),
        lambda a, b: sd.concat([b, a, b]),
        lambda a, b: sd.stack([b, a]),
        lambda a, b: sd.concat([b, a])[1:],
        lambda a, b: sd.pad(a, 1),
        lambda a, b: sd.concat([a[1:], b, a[::-1]]),
    ],
)
def test_jacobians_of_joined_symbols_by_slices(join):
    import numeric as nm

    a = sd.symbol("a", 4)
    f = join(a, q)
    whole = nm.interpret(sd.jacobian(f, a), {})
    for key in (slice(1, 2), slice(1, None), slice(None, None, 2), slice(2, None, -1)):
        found = nm.interpret(sd.jacobian(f, a[key]), {})
        assert np.array_equal(found, whole[..., key])
        assert np.array_equal(nm.interpret(sd.jacobian(f, [a, a[key]])[1], {}), found)


def test_an_element_that_nothing_depends_on_is_refused_on_request():
    with pytest.raises(ValueError, match="no output depends"):
        sd.grad(q[1] * q[2], q[0], allow_unused=False)


def test_the_first_element_of_a_symbolic_axis_may_be_the_last():
    import numeric as nm

    f = n[0] ** 2 * n[-1] * sd.sum(n)
    for d in (sd.diff(f, n[0]), *sd.grad(f, (n[0], n[-1]))[:1], sd.grad(f, n[0])):
        for at in ([2.0], [2.0, 3.0]):
            first, last, total = at[0], at[-1], sum(at)
            expected = 2 * first * last * total + first**2 * last
            if len(at) == 1:
                expected += first**2 * total
            assert nm.interpret(d, {n: np.array(at)}) == expected


S, LAYER = sd.sin(x), sd.tanh(A @ sd.symbol("v", 3))
SINE = sd.exp(z) * z * y
SINE_OF_X = sd.exp(S) * S * y


@pytest.mark.parametrize(
    ("spelling", "element"),
    [
        (A[0][1], A[0, 1]),
        (A.T[0, 1], A[1, 0]),
        (A.T[2][0], A[0, 2]),
        (A[1:][0, ::-1][0], A[1, 2]),
        (A.reshape(9)[5], A[1, 2]),
        (q[1:][0], q[1]),
        (q[::-1][0], q[3]),
        (q[3:0:-1][1:][0], q[2]),
        (q[1:][::2], q[1::2]),
        (q[1:3][::-1], q[2:0:-1]),
        (n[::-1][0], n[-1]),
        (n[::-1][-1], n[0]),
        (sd.stack([x, y, z])[1], y),
        (sd.concat([q, A[0], q])[7:10], q[:3]),
        ((2 * q)[1], 2 * q[1]),
        (sd.eye(3)[1, 2], sd.constant(0)),
        (sd.eye("n")[1, 1], sd.constant(1)),
        (sd.diag(q)[2, 2], q[2]),
        (sd.diag(q)[2, 1], sd.constant(0)),
        (sd.index_add(sd.zeros(5), slice(1, 3), q[:2])[2], q[1]),
        (sd.index_add(sd.zeros(5), slice(1, 3), q[:2])[3], sd.constant(0)),
        # derivatives by elements
        (sd.diff(sd.sin(q[0]) * q[1], q[0]), sd.cos(q[0]) * q[1]),
        (sd.diff(q @ q, q[0]), 2 * q[0]),
        (sd.diff(q[0] ** 2 + q @ q, q[0]), 4 * q[0]),
        (sd.grad(q @ q, q[:2]), 2 * q[:2]),
        (sd.grad(q @ q, q[::-1]), 2 * q[::-1]),
        (sd.grad(q @ q, q[0], q)[0], 2 * q[0]),  # overlapping
        (sd.grad(q @ q, q[0], q)[1], 2 * q),
        (sd.diff(sd.det(A) * x, A[0, 0]), x * sd.grad(sd.det(A), A)[0, 0]),
        (sd.diff(sd.trace(A @ A), A[0, 1]), 2 * A[1, 0]),
        (sd.diff(n @ n, n[-1]), 2 * n[-1]),
        (sd.diff(q[1] * q[2], q[0]), sd.constant(0)),
        # and by what all paths lead through
        (sd.diff(SINE_OF_X, S), sd.substitute(sd.diff(SINE, z), {z: S})),
        (sd.diff(SINE_OF_X, S, 3), sd.substitute(sd.diff(SINE, z, 3), {z: S})),
        (sd.diff(3 * S, S, 2), sd.constant(0)),
        (sd.hessian(3 * S, S), sd.constant(0)),
        (sd.grad(S, S), sd.constant(1)),
        # what passes no derivative on is not a path
        (sd.diff(S * sd.detach(x), S), sd.detach(x)),
        (sd.grad(sd.sum(sd.detach(q) ** 2), sd.detach(q)), 2 * sd.detach(q)),
        (sd.diff(sd.where(x > 0, S, 0), S), sd.where(x > 0, 1, 0)),
        (sd.grad(sd.sum(LAYER**2), LAYER), 2 * LAYER),
        (sd.grad(sd.sum(q[[0, 2]] ** 2), q[[0, 2]]), 2 * q[[0, 2]]),
    ],
)
def test_an_expression_has_one_spelling(spelling, element):
    assert spelling is element


@pytest.mark.parametrize("f", [lambda g: g * q[0], lambda g: q[0] * sd.sum(q[:2]) + g])
def test_barriers_that_only_other_elements_enter_refuse_nothing(f):
    barred = sd.grad(q[1] ** 3 * q[2], q, create_graph=False, grad_outputs=None)[1]
    of = f(sd.grad(q[3] ** 2, q[3], create_graph=False))
    for d in (sd.diff(of, q[0]), *sd.grad(of, (q[0], q[1])), sd.jvp(of, q[:2], sd.ones(2))):
        assert d.shape == ()
    refused(
        (sd.NotDifferentiable, "create_graph", lambda: sd.diff(of, q[3])),
        (sd.NotDifferentiable, "create_graph", lambda: sd.grad(f(barred), q[1])),
    )
    assert sd.diff(q[0] * sd.detach(q @ q), q[0]) is sd.detach(q @ q)


# What is not a variable ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("f", "by", "why"),
    [
        (x**2, -x, "not a part"),
        (x**2, x + 1, "not a part"),
        (x**2, sd.pi, "no symbol"),
        (x**2, sd.constant(0.1), "no symbol"),
        (sd.sin(x) * x, sd.sin(x), "depends on x"),
        (x * y + y, x * y, "depends on y"),
        (sd.sum(q[[0, 2]]) + q[0], q[[0, 2]], "depends on"),
        (sd.tanh(q)[0] + sd.tanh(q)[1], sd.tanh(q)[0], "depends on"),
        (sd.sin(x) * sd.grad(x**2, x, create_graph=False), sd.sin(x), "depends on x"),
        (sd.detach(q) @ sd.detach(q) + sd.detach(q)[0], sd.detach(q)[0], "depends on"),
    ],
)
def test_what_stands_for_no_symbol_is_refused(f, by, why):
    calls = [
        lambda: sd.grad(f, by),
        lambda: sd.grad(f, (x, by)),
        lambda: sd.jacobian(f, by),
        lambda: sd.hessian(f, by),
        lambda: sd.vjp(f, by, 1),
        lambda: sd.jvp(f, by, sd.ones(by.shape)),
        lambda: sd.hvp(f, by, sd.ones(by.shape)),
    ]
    for call in [*calls, lambda: sd.diff(f, by)] if not by.shape else calls:
        with pytest.raises(ValueError, match=f"{why}.*put a symbol in its place, then substitute"):
            call()


def test_a_variable_that_a_derivative_hides_is_refused_there():
    s = sd.sqrt(x)
    f = sd.exp(s)
    hidden = sd.diff(f, s) * s * s  # s * s is x
    assert sd.diff(f, s, 2) is f
    with pytest.raises(ValueError, match="depends on x"):
        sd.diff(hidden + s, s)


@pytest.mark.parametrize(
    "inputs",
    [
        (x, x),
        (q, q[0]),
        (q[0], q),
        (q[0], q[0]),
        (q[:2], q[1]),
        (q[::2], q[1::-1]),
        (q[::-1], q[0]),
        (q[0], q[:1]),
        (n[0], n[-1]),
        (A[0], A[:, 1]),
        (x * y, x),
    ],
)
def test_tangents_of_overlapping_inputs_are_refused(inputs):
    f = x * y * (q @ q) * (n @ n) * sd.sum(A)
    for call in (sd.jvp, sd.hvp):
        with pytest.raises(ValueError, match="may share an element"):
            call(f, inputs, [sd.ones(v.shape) for v in inputs])
    assert [d.shape for d in sd.grad(f, inputs)] == [v.shape for v in inputs]


def test_grad_takes_variables_one_after_the_other():
    f = x**2 * y
    assert sd.grad(f, x, y) == sd.grad(f, (x, y)) == (2 * x * y, x**2)
    assert sd.grad(q * x, q, x, grad_outputs=q) == sd.grad(q * x, [q, x], grad_outputs=q)
    for weights in (np.ones(4), 2.0, q):
        with pytest.raises(TypeError, match="grad_outputs="):
            sd.grad(q * 1, (q,), weights)


# The arithmetic of places -------------------------------------------------------------------------


@st.composite
def _slices(draw, length):
    bound = st.none() | st.integers(-length - 1, length + 1)
    step = draw(st.integers(-5, 5).filter(bool))
    return range(length)[slice(draw(bound), draw(bound), step)]


@pytest.mark.slow
@sample(200)
@given(st.integers(0, 12), st.data())
def test_places_are_what_python_takes(length, data):
    a, b = data.draw(_slices(length)), data.draw(_slices(length))
    assert list(common(a, b)) == sorted(set(a) & set(b))
    assert disjoint([a], [b], [length]) is not bool(set(a) & set(b))
    assert list(places_of(step_of(a, length), length)) == list(a)
    assert list(reversed_places(a, length)) == [length - 1 - k for k in a]
    met = meeting(a, b, length)
    if met is not None:
        i, j = met
        assert [a[k] for k in i] == [b[k] for k in j]
        assert {a[k] for k in i} == set(a) & set(b)
