"""Custom functions: black boxes with a vjp in expressions or in NumPy."""

import pickle

import numpy as np
import pytest

import numeric
import symdiff as sd

x = sd.symbol("x")
v, w = sd.symbols("v w", 3)
A = sd.symbol("A", ("m", 3))
V, W = np.array([1.0, 2.0, 3.0]), np.array([4.0, 5.0, -6.0])


def times(a, b):
    return a * b


def times_vjp(g, out, a, b):
    return g * b, g * a


in_expressions = sd.custom(times, times_vjp)
in_numpy = sd.custom(times, vjp_numpy=times_vjp, name="times_numpy")
BOTH = pytest.mark.parametrize("f", [in_expressions, in_numpy], ids=["expressions", "numpy"])


def value(e, **env):
    return numeric.interpret(e, env)


def same(a, b, **env):
    np.testing.assert_allclose(value(a, **env), value(b, **env), rtol=1e-13, atol=1e-13)


@BOTH
def test_first_derivatives_in_every_mode(f):
    ours, plain = f(v, w) ** 2, (v * w) ** 2
    for a, b in zip(sd.grad(sd.sum(ours), (v, w)), sd.grad(sd.sum(plain), (v, w)), strict=True):
        same(a, b, v=V, w=W)
    for mode in ("auto", "forward", "reverse"):
        same(sd.jacobian(ours, w, mode=mode), sd.jacobian(plain, w), v=V, w=W)
    same(sd.jvp(ours, (v, w), (w, v)), sd.jvp(plain, (v, w), (w, v)), v=V, w=W)
    scalar = sd.sum(f(v * x, w))
    assert numeric.lower(sd.diff(scalar, x), (v, w, x))(V, W, 2.0) == V @ W
    F, P = numeric.lower(ours, (v, w)), numeric.lower(plain, (v, w))
    for a, b in zip(F.jacobian(V, W), P.jacobian(V, W), strict=True):
        np.testing.assert_allclose(a, b)
    for a, b in zip(F.vjp(V, W)[1](V), P.vjp(V, W)[1](V), strict=True):
        np.testing.assert_allclose(a, b)


def test_a_jacobian_through_a_symbolic_length():
    def row_sums(a):
        return a.sum(axis=1)

    def in_numpy(g, out, a):
        return np.broadcast_to(g[:, None], a.shape)

    def in_expressions(g, out, a):
        return sd.broadcast_to(sd.expand_dims(g, 1), a.shape)

    at = np.arange(6.0).reshape(2, 3)
    plain = sd.jacobian(sd.sum(A * A, axis=1), A)
    for given in ({"vjp": in_expressions}, {"vjp_numpy": in_numpy}):
        f = sd.custom(row_sums, **given, shape=lambda a: a[:1])
        assert f(A).shape == ("m",)
        for mode in ("auto", "forward", "reverse"):
            same(sd.jacobian(f(A * A), A, mode=mode), plain, A=at)


def test_a_vjp_in_expressions_has_every_order():
    sine = sd.custom(np.sin, lambda g, out, a: g * sd.cos(a), name="sine")
    for k in range(1, 5):
        same(sd.diff(sine(x) * x, x, k), sd.diff(sd.sin(x) * x, x, k), x=0.3)
    f, plain = sd.sum(sine(v) * in_expressions(v, w)), sd.sum(sd.sin(v) * v * w)
    same(sd.hessian(f, v), sd.hessian(plain, v), v=V, w=W)
    same(sd.hvp(f, v, w), sd.hvp(plain, v, w), v=V, w=W)


def test_a_vjp_may_use_the_value_and_give_the_function_itself():
    exp = sd.custom(np.exp, lambda g, out, a: g * out, name="my_exp")
    assert sd.diff(exp(x), x, 3) is exp(x)


FIRST = sd.grad(sd.sum(in_numpy(v, w)), v)
OPAQUE = sd.custom(np.sin, name="opaque_sine")
NO_DERIVATIVE = [
    *(
        ("times_numpy: its vjp is NumPy code, so it has first derivatives only", take)
        for take in (
            lambda: sd.jacobian(FIRST, v),
            lambda: numeric.lower(sd.sum(in_numpy(v, w)), (v, w)).hessian(V, W),
            lambda: sd.hvp(sd.sum(in_numpy(v, w)), v, w),
        )
    ),
    (r"opaque_sine: .* no derivative", lambda: sd.grad(sd.sum(OPAQUE(v)), v)),
    (r"opaque_sine: .* no derivative", lambda: sd.diff(OPAQUE(x), x)),
]


@pytest.mark.parametrize(("says", "take"), NO_DERIVATIVE)
def test_what_has_no_derivative_is_refused_by_name(says, take):
    with pytest.raises(sd.NotDifferentiable, match=says):
        take()


def test_without_a_vjp_others_have_derivatives():
    assert sd.grad(x * OPAQUE(sd.symbol("z")), x) is OPAQUE(sd.symbol("z"))


def test_masked_cotangents_keep_their_zeros():
    root = sd.custom(np.sqrt, lambda g, out, a: g / (2 * out), name="root")
    f = sd.sum(sd.where(v > 0, root(v), 0) ** 2)
    with np.errstate(all="ignore"):
        assert value(sd.grad(f, v), v=[4.0, 0.0, 1.0]).tolist() == [1.0, 0.0, 1.0]
    G = sd.jacobian(sd.where(v > 0, root(v), 0), v)
    assert value(G, v=[4.0, 0.0, 1.0]).tolist() == np.diag([0.25, 0.0, 0.5]).tolist()


@BOTH
def test_one_call_of_the_vjp_serves_all_operands(f):
    calls = []

    def counted(g, out, a, b):
        calls.append(1)
        return g * b, g * a

    h = sd.custom(times, vjp_numpy=counted)
    F = numeric.lower(sd.sum(h(v, w)), (v, w))
    _, grads = F.value_and_grad(V, W)
    assert [g.tolist() for g in grads] == [W.tolist(), V.tolist()]
    assert len(calls) == 1


def test_integer_operands_and_none():
    k = sd.symbol("k", dtype=int)

    def power(a, n):
        assert n.dtype.kind == "i"
        return a**n

    f = sd.custom(power, lambda g, out, a, n: (g * n * a ** (n - 1), None))
    F = numeric.lower(sd.sum(f(v, k)), (v, k))
    assert F.value_and_grad(V, 2)[1][0].tolist() == (2 * V).tolist()
    g = sd.custom(power, vjp_numpy=lambda g, out, a, n: (g * n * a ** (n - 1.0), None))
    assert numeric.lower(sd.sum(g(v, k)), (v, k)).value_and_grad(V, 2)[1][0].tolist() == [2, 4, 6]
    unused = sd.custom(times, lambda g, out, a, b: (g * b, None))
    assert sd.grad(sd.sum(unused(v, w)), w) is sd.zeros(3)
    assert sd.jacobian(unused(v, w), w) is sd.zeros((3, 3))


def test_forward_cannot_write_to_its_operands_or_be_written_through():
    def spoil(a):
        a[0] = 7
        return a

    with pytest.raises(ValueError, match="read-only"):
        value(sd.custom(spoil)(v), v=V)
    kept = np.ones(3)
    F = numeric.lower(sd.custom(lambda a: kept, shape=lambda s: (3,))(v), v)
    F(V)[0] = 5
    assert kept.tolist() == [1.0, 1.0, 1.0]


def test_precision():
    F = numeric.lower(in_numpy(v, w), (v, w))
    got = F(V.astype(np.float32), W.astype(np.float32))
    assert got.dtype == np.float32
    assert F.jacobian(V.astype(np.float32), W.astype(np.float32))[0].dtype == np.float32


def test_points_run_one_after_the_other():
    f = sd.custom(lambda a: float(a) ** 2, lambda g, out, a: 2 * a * g, name="square")
    F = numeric.lower(f(x) + x, x)
    assert F(np.array([1.0, 2.0])).tolist() == [2.0, 6.0]
    assert F.jacobian(np.array([1.0, 2.0])).tolist() == [3.0, 5.0]
    assert F(3.0) == 12.0


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: value(sd.custom(lambda a: a[:2], name="short")(v), v=V), sd.ShapeError,
         r"short: forward returned shape \(2,\), expected \(3,\)"),
        (lambda: value(sd.custom(lambda a: 1j * a)(v), v=V), TypeError, "complex128"),
        (lambda: sd.custom(np.sin)(), TypeError, "at least one operand"),
        (lambda: sd.custom(3), TypeError, "not a function"),
        (lambda: sd.custom(np.sin, 3), TypeError, "vjp=3 is not a function"),
        (lambda: sd.custom(np.sin, np.cos, vjp_numpy=np.cos), ValueError, "not both"),
        (lambda: sd.custom(np.sin, name="a b"), ValueError, "not an identifier"),
        (lambda: sd.custom(times)(v, sd.symbol("u", 2)), sd.ShapeError, "times: shapes"),
        (lambda: sd.grad(sd.sum(sd.custom(times, lambda g, o, a, b: g, name="one")(v, w)), v),
         ValueError, "one: vjp returned 1 cotangents for 2 operands"),
        (lambda: sd.grad(sd.sum(sd.custom(np.sin, lambda g, o, a: sd.sum(g), name="s")(v)), v),
         sd.ShapeError, r"s: vjp returned shape \(\) for operand 0 of shape \(3,\)"),
        (lambda: sd.jacobian(sd.custom(np.sin, lambda g, o, a: g * g, name="q")(v), v),
         ValueError, "q: vjp is not linear"),
        (lambda: value(sd.grad(sd.sum(sd.custom(
            np.sin, vjp_numpy=lambda g, o, a: g[:1], name="cut")(v)), v), v=V),
         sd.ShapeError, r"cut: vjp_numpy, for operand 0, returned shape \(1,\), expected \(3,\)"),
        (lambda: sd.grad(sd.custom(np.sin, lambda a: sd.cos(a))(x), x),
         TypeError, r"3 were given; write vjp\(g, out, x\): g times the derivative"),
        (lambda: sd.grad(sd.custom(np.multiply, lambda g, o, a: g)(x, x), x),
         TypeError, r"write vjp\(g, out, x0, x1\)"),
        (lambda: value(sd.grad(sd.custom(np.sin, vjp_numpy=np.cos)(x), x), x=0.5),
         TypeError, r"write vjp_numpy\(g, out, x\)"),
        (lambda: sd.custom(np.sin, derivative=np.cos),
         TypeError, r"'derivative'; write custom\(forward, lambda g, out, x: g \* derivative\)"),
        (lambda: sd.evalf(sd.custom(np.sin, name="box")(x), 5, {x: 1}), sd.Unsupported, "box"),
        (lambda: sd.to_sympy(sd.custom(np.sin, name="box")(x)), sd.Unsupported, "box"),
        (lambda: sd.count_operations(sd.custom(np.sin, name="box")(x)), sd.Unsupported, "box"),
    ],
)  # fmt: skip
def test_errors_name_the_function(make, error, message):
    with pytest.raises(error, match=message):
        make()


def test_text_and_substitution():
    f = in_expressions(v, w)
    assert str(f) == "times(v, w)"
    assert sd.substitute(f, {v: w}) is in_expressions(w, w)
    assert repr(in_expressions) == "<custom function times>"


@sd.custom
def decorated(a):
    """The sine."""
    return np.sin(a)


def test_pickling_by_reference():
    for f in (in_expressions(v, w), in_numpy(v, w), sd.grad(sd.sum(in_numpy(v, w)), v)):
        assert pickle.loads(pickle.dumps(f)) is f
    assert pickle.loads(pickle.dumps(decorated(x))) is decorated(x)
    assert pickle.loads(pickle.dumps(decorated)).op is decorated.op
    assert decorated.__doc__ == "The sine."
    F = pickle.loads(pickle.dumps(numeric.lower(in_expressions(v, w), (v, w))))
    assert F(V, W).tolist() == (V * W).tolist()
    with pytest.raises(pickle.PicklingError, match="<lambda> is not found in module"):
        pickle.dumps(sd.custom(lambda a: a)(x))


def test_equal_functions_make_equal_nodes():
    assert sd.custom(times, times_vjp)(v, w) is in_expressions(v, w)
    assert sd.custom(times, times_vjp, name="other")(v, w) is not in_expressions(v, w)
