"""What is under test, whatever it is written in: the same answers as the exact derivatives.

Every source is a function with a derivative of its own which is *not* that of its value, so that
an answer which agrees with the planted derivative can come from nowhere else.
"""

import sys
import warnings

import numpy as np
import pytest

import numeric as nm
import symdiff as sd
from numeric import check
from numeric.check.candidates import candidate
from tests.support.refusals import refused

x, y = sd.symbol("x", 3), sd.symbol("y", 3)
s, n = sd.symbol("s"), sd.symbol("v", "n")

FORWARD = sd.sum(sd.sin(x) * y)
VALUES = {"float64": 4 * 2.0**-53, "float32": 4 * 2.0**-24}  # of few operations, all below 1

AT = np.array([0.25, -0.5, 0.75]), np.array([1.0, -0.25, 0.5])
TANGENTS = np.array([0.5, 1.0, -1.0]), np.array([0.25, 0.5, 1.0])


def planted(xs, w=1.0):
    """The vjp that all sources of this file have: three times the right one by x."""
    a, b = xs
    return 3 * w * np.cos(a) * b, w * np.sin(a)


def taped(lib):
    class Planted(lib.autograd.Function):
        @staticmethod
        def forward(ctx, a, b):
            ctx.save_for_backward(a, b)
            return (lib.sin(a) * b).sum()

        @staticmethod
        def backward(ctx, w):
            a, b = ctx.saved_tensors
            return 3 * w * lib.cos(a) * b, w * lib.sin(a)

        @staticmethod
        def jvp(ctx, t, u):
            return 5 * (t + u).sum()

    return Planted


def custom_vjp(jax):
    np_ = jax.numpy

    @jax.custom_vjp
    def planted(a, b):
        return (np_.sin(a) * b).sum()

    def backward(kept, w):
        a, b = kept
        return 3 * w * np_.cos(a) * b, w * np_.sin(a)

    planted.defvjp(lambda a, b: (planted(a, b), (a, b)), backward)
    return planted


def of_torch():
    return taped(pytest.importorskip("torch"))


def of_jax():
    return custom_vjp(pytest.importorskip("jax"))


SOURCES = {
    "tensors": lambda: taped(nm),
    "tensors, applied": lambda: taped(nm).apply,
    "tensors, told": lambda: check.from_tensors(lambda a, b: taped(nm).apply(a, b)),
    "tensors, found": lambda: (lambda f: lambda a, b: f.apply(a, b))(taped(nm)),
    "torch": of_torch,
    "torch, applied": lambda: of_torch().apply,
    "torch, told": lambda: check.from_torch(of_torch().apply),
    "torch, found": lambda: (lambda f: lambda a, b: f.apply(a, b))(of_torch()),
    "jax": of_jax,
    "jax, compiled": lambda: pytest.importorskip("jax").jit(of_jax()),
    "jax, told": lambda: (lambda f: check.from_jax(lambda a, b: f(a, b)))(of_jax()),
}


def close(got, expected, dtype):
    """Whether the arrays are of the dtype, and as near as few rounded operations are."""
    got = got if isinstance(got, tuple) else (got,)
    expected = expected if isinstance(expected, tuple) else (expected,)
    assert len(got) == len(expected)
    for g, e in zip(got, expected, strict=True):
        assert isinstance(g, np.ndarray | np.generic)
        assert g.dtype == dtype
        assert g.shape == np.shape(e)
        assert np.abs(g - e).max() <= 8 * VALUES[dtype]


@pytest.mark.parametrize("dtype", VALUES)
@pytest.mark.parametrize("source", SOURCES)
def test_derivatives_are_those_of_the_source_and_nothing_else(source, dtype):
    got = candidate(FORWARD, [x, y], gradient=SOURCES[source]())
    at = [a.astype(dtype) for a in AT]
    before = [a.copy() for a in at]
    assert got.dtypes == ("float64", "float32")
    close(got.value(*at), nm.lower(FORWARD, [x, y])(*AT), dtype)
    close(got.vjp(*at, np.array(0.5, dtype)), planted(AT, 0.5), dtype)
    rows = got.hessian(*at)
    a, b = AT
    close(rows[0], (np.diag(-3 * np.sin(a) * b), np.diag(3 * np.cos(a))), dtype)
    close(rows[1], (np.diag(np.cos(a)), np.zeros((3, 3))), dtype)
    assert got.gradient is None
    assert all(np.array_equal(now, then) for now, then in zip(at, before, strict=True))


@pytest.mark.parametrize("make", [lambda: taped(nm), of_torch, of_jax])
def test_a_forward_mode_is_offered_where_there_is_one(make):
    got = candidate(FORWARD, [x, y], vjp=make())
    assert (got.jvp is not None) == (make is of_torch)
    assert any("offers no jvp" in note for note in got.notes) == (make is not of_torch)
    if got.jvp is not None:  # what the Function says, which is wrong
        close(got.jvp(*AT, *TANGENTS), 5 * (TANGENTS[0] + TANGENTS[1]).sum(), "float64")
    assert candidate(FORWARD, [x, y], vjp=make(), jvp=np.add).jvp is np.add


def test_a_function_that_defines_no_jvp_offers_none():
    torch = pytest.importorskip("torch")

    class Bare(torch.autograd.Function):
        @staticmethod
        def forward(ctx, a):
            return a.clone()

        @staticmethod
        def backward(ctx, w):
            return w

    got = candidate(1 * x, [x], vjp=Bare)
    assert got.jvp is got.hessian is None
    assert "Bare offers no jvp" in got.notes[0]
    assert candidate(sd.sin(x), [x], vjp=torch.sin).jvp is not None


@pytest.mark.parametrize("lib", ["numeric", "torch"])
def test_a_backward_that_is_not_recorded_offers_no_second_order(lib):
    lib = pytest.importorskip(lib)

    class Once(lib.autograd.Function):
        @staticmethod
        def forward(ctx, a):
            ctx.save_for_backward(a)
            return lib.sin(a).sum()

        @staticmethod
        def backward(ctx, w):
            (a,) = ctx.saved_tensors
            return w * lib.from_numpy(np.cos(a.detach().numpy()))

    got = candidate(sd.sum(sd.sin(x)), [x], gradient=Once)
    assert got.hessian is None
    assert "Once offers no hessian: NotImplementedError" in got.notes[-1]
    close(got.vjp(AT[0], np.array(1.0)), np.cos(AT[0]), "float64")


@pytest.mark.parametrize("lib", ["numeric", "torch"])
def test_tensors_lie_in_memory_as_the_arrays_do_and_writes_are_seen(lib):
    lib = pytest.importorskip(lib)
    seen = []

    def strided(a):
        seen.append(a.stride())
        return a.sum()

    got = candidate(
        sd.sum(x), [x], gradient=(check.from_torch, check.from_tensors)[lib is nm](strided)
    )
    every_second = np.arange(6.0)[::2]
    backwards = np.arange(3.0)[::-1]
    frozen = np.arange(3.0)
    frozen.flags.writeable = False
    for a in (every_second, backwards, frozen):
        close(got.vjp(a, np.array(2.0)), np.full(3, 2.0), "float64")
    assert [tuple(t) for t in seen[-3:]] == [(2,), (1,), (1,)]

    class Writes(lib.autograd.Function):
        @staticmethod
        def forward(ctx, a):
            a.mul_(2)
            return a.sum()

        @staticmethod
        def backward(ctx, w):
            return w * lib.ones(3)

    at = np.ones(3)
    candidate(sd.sum(2 * x), [x], gradient=Writes).value(at)
    assert at.tolist() == [2, 2, 2]


@pytest.mark.parametrize("lib", ["numeric", "torch", "jax"])
def test_results_share_no_memory_with_arguments(lib):
    pytest.importorskip(lib)
    adapt = {"numeric": check.from_tensors, "torch": check.from_torch, "jax": check.from_jax}[lib]
    got = candidate(1 * x, [x], vjp=adapt(lambda a: a))
    for result in (got.value(AT[0]), got.vjp(AT[0], AT[1])):
        assert not any(np.shares_memory(result, a) for a in AT)
        assert result.flags.writeable


def test_numpy_callables_pass_unchanged():
    gradient, jvp = lambda a: np.cos(a), lambda a, t: t @ np.cos(a)
    got = candidate(sd.sum(sd.sin(x)), [x], gradient=gradient, jvp=jvp)
    assert got.gradient is gradient
    assert got.jvp is jvp
    assert got.vjp is got.hessian is got.value is got.points is None
    only = candidate(sd.sin(x), [x], vjp=lambda a, w: w * np.cos(a), hessian=gradient)
    assert only.hessian is gradient


def test_what_refuses_everything_passes_and_is_for_the_audit_to_tell():
    def broken(a):
        raise ValueError("no")

    assert candidate(sd.sum(x), [x], gradient=broken).gradient is broken


def test_nobody_hears_of_the_call_that_finds_out_what_a_callable_is():
    def warns(a):
        warnings.warn("loud", UserWarning, stacklevel=1)
        return np.cos(a) + 0 * np.log(a - a)

    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        assert candidate(sd.sum(sd.sin(x)), [x], gradient=warns).gradient is warns
    assert not heard


def test_it_does_not_guess_what_takes_tensors():
    refused(
        (
            TypeError,
            r"say so by .*from_tensors\(fn\)",
            lambda: candidate(sd.sum(sd.sin(x)), [x], gradient=nm.cos),
        ),
        (
            TypeError,
            "say so by",
            lambda: candidate(sd.sum(sd.arccosh(x)), [x], gradient=lambda a: nm.asin(a + 1).sum()),
        ),
    )
    at = [np.array([2.0, 3.0, 4.0])]
    found = candidate(sd.sum(sd.arccosh(x)), [x], gradient=lambda a: nm.acosh(a).sum(), at=at)
    assert found.value is not None
    both = r"from_tensors\(fn\) or from_torch\(fn\)"
    pytest.importorskip("torch")
    with pytest.raises(TypeError, match=both):
        candidate(sd.sum(sd.sin(x)), [x], gradient=lambda a: a.sin().sum())


def test_nothing_and_too_much_are_refused():
    refused(
        (TypeError, "nothing to test", lambda: candidate(FORWARD, [x, y])),
        (
            TypeError,
            "brings its derivatives",
            lambda: candidate(FORWARD, [x, y], gradient=taped(nm), vjp=planted),
        ),
        (TypeError, "gradient=3 cannot be called", lambda: candidate(FORWARD, [x, y], gradient=3)),
        (TypeError, "from_tensors: 3 cannot be called", lambda: check.from_tensors(3)),
    )


def test_a_function_of_another_shape_is_refused():
    with pytest.raises(sd.ShapeError, match=r"gives shape \(3,\) where the forward has \(\)"):
        candidate(sd.sum(sd.sin(x)), [x], gradient=nm.lower(sd.cos(x), [x]))


def test_lengths_may_be_letters():
    got = candidate(sd.sum(sd.sin(n)), [n], gradient=check.from_tensors(lambda a: nm.sin(a).sum()))
    close(got.vjp(np.zeros(5), np.array(1.0)), np.ones(5), "float64")


DATA = {
    "tensors": lambda: check.from_tensors(lambda a, k, b: (nm.sin(a) * k * b).sum()),
    "torch": lambda: check.from_torch(
        lambda a, k, b: (pytest.importorskip("torch").sin(a) * k * b).sum()
    ),
    "jax": lambda: check.from_jax(
        lambda a, k, b: (pytest.importorskip("jax").lax.sin(a) * k * b).sum()
    ),
    "lowered": lambda: nm.lower(sd.sum(sd.sin(x) * k * y), [x, k, y]),
}
k = sd.symbol("k", 3, dtype=int)


@pytest.mark.parametrize("source", DATA)
def test_integers_are_data(source):
    pytest.importorskip(source) if source in ("torch", "jax") else None
    got = candidate(sd.sum(sd.sin(x) * k * y), [x, k, y], gradient=DATA[source]())
    (a, b), n = AT, np.array([2, 0, -1])
    assert got.dtypes == ("float64", "float32")
    close(
        got.vjp(a, n, b, np.array(0.5)), (0.5 * np.cos(a) * n * b, 0.5 * np.sin(a) * n), "float64"
    )
    rows = got.hessian(a, n, b)
    assert [len(row) for row in rows] == [2, 2]
    close(rows[0], (np.diag(-np.sin(a) * n * b), np.diag(np.cos(a) * n)), "float64")
    if source != "tensors":
        t, u = TANGENTS
        moved = (np.cos(a) * n * b * t + np.sin(a) * n * u).sum()
        close(got.jvp(a, n, b, t, u), moved, "float64")
    one = candidate(sd.sum(x * k), [x, k], gradient=nm.lower(sd.sum(x * k), [x, k]))
    close(one.vjp(a, n, np.array(1.0)), n.astype(float), "float64")
    close(one.hessian(a, n), np.zeros((3, 3)), "float64")


def test_a_singular_matrix_is_one_to_numpy():
    torch = pytest.importorskip("torch")
    m = sd.symbol("m", (2, 2))
    got = candidate(sd.inv(m), [m], vjp=torch.linalg.inv)
    with pytest.raises(np.linalg.LinAlgError, match="singular"):
        got.value(np.ones((2, 2)))


@pytest.mark.parametrize("many", [False, True])
@pytest.mark.parametrize("dtype", VALUES)
def test_lowered_functions(dtype, many):
    function = nm.lower([FORWARD] if many else FORWARD, [x, y])
    got = candidate(FORWARD, [x, y], gradient=function)
    at, tangents = ([a.astype(dtype) for a in pair] for pair in (AT, TANGENTS))
    a, b = AT
    close(got.value(*at), (np.sin(a) * b).sum(), dtype)
    close(got.vjp(*at, np.array(2, dtype)), (2 * np.cos(a) * b, 2 * np.sin(a)), dtype)
    t, u = TANGENTS
    close(got.jvp(*at, *tangents), (np.cos(a) * b * t + np.sin(a) * u).sum(), dtype)
    close(got.hessian(*at)[0], (np.diag(-np.sin(a) * b), np.diag(np.cos(a))), dtype)
    scalar = candidate(sd.sin(s), [s], gradient=nm.lower(sd.sin(s), s))
    close(scalar.vjp(np.array(0.0, dtype), np.array(2, dtype)), 2.0, dtype)
    with pytest.raises(TypeError, match="2 outputs"):
        candidate(FORWARD, [x, y], gradient=nm.lower([FORWARD, x], [x, y]))


def test_errors_say_where_they_come_from():
    class Raises(nm.autograd.Function):
        @staticmethod
        def forward(ctx, a):
            return a.sum()

        @staticmethod
        def backward(ctx, w):
            raise ZeroDivisionError("inside")

    got = candidate(sd.sum(x), [x], gradient=Raises)
    with pytest.raises(ZeroDivisionError, match="inside") as caught:
        got.vjp(AT[0], np.array(1.0))
    assert caught.value.__notes__ == ["raised by Raises, which is under test"]


@pytest.mark.parametrize(
    ("package", "make"), [("torch", check.from_torch), ("jax", check.from_jax)]
)
def test_without_its_package_an_adapter_says_which_extra(package, make, monkeypatch):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ImportError, match=rf'pip install "symdiff-numeric\[{package}\]"'):
        make(np.sin)


# JAX ----------------------------------------------------------------------------------------------


def test_jax_keeps_its_precision_and_computes_in_that_of_the_operands():
    jax = pytest.importorskip("jax")
    before = jax.config.jax_enable_x64
    # Numbers that are made inside take JAX's precision: double beside double, single beside single.
    source = check.from_jax(lambda a: (a * jax.numpy.linspace(1.0, 2.0, 3)).sum())
    got = candidate(sd.sum(x * np.array([1, 1.5, 2])), [x], gradient=source)
    for dtype in VALUES:
        close(got.vjp(AT[0].astype(dtype), np.array(1, dtype)), np.array([1, 1.5, 2]), dtype)
    assert jax.config.jax_enable_x64 == before
    assert jax.numpy.ones(1).dtype == ("float64" if before else "float32")
    assert got.vjp(AT[0], np.array(1.0)).flags.writeable


def test_what_flushes_subnormal_numbers_says_so():
    pytest.importorskip("jax")
    got = candidate(2 * s, [s], vjp=check.from_jax(lambda a: 2 * a))
    assert got.subnormals == (got.value(np.array(1e-310)) != 0)
    assert candidate(2 * s, [s], vjp=check.from_tensors(lambda a: 2 * a)).subnormals


def test_jax_functions_that_need_values_run_eagerly():
    pytest.importorskip("jax")
    got = candidate(s * s, [s], gradient=check.from_jax(lambda a: a * a if a > 0 else a))
    close(got.vjp(np.array(3.0), np.array(1.0)), 6.0, "float64")
    close(got.vjp(np.array(-3.0), np.array(1.0)), 1.0, "float64")


def test_jax_is_compiled_once_for_a_shape():
    jax = pytest.importorskip("jax")
    runs = []

    def counted(a):
        runs.append(a.shape)
        return jax.numpy.sin(a)

    got = candidate(sd.sin(x), [x], vjp=check.from_jax(counted))
    got.vjp(AT[0], AT[1])
    before = len(runs)
    for k in range(10):
        got.vjp(AT[0] + k, AT[1])
    assert len(runs) == before


def test_a_custom_jvp_has_both_modes():
    jax = pytest.importorskip("jax")

    @jax.custom_jvp
    def planted(a):
        return jax.numpy.sin(a).sum()

    planted.defjvp(lambda at, t: (planted(*at), 7 * t[0].sum()))
    got = candidate(sd.sum(sd.sin(x)), [x], gradient=planted)
    close(got.jvp(AT[0], TANGENTS[0]), 7 * TANGENTS[0].sum(), "float64")
    close(got.vjp(AT[0], np.array(1.0)), np.full(3, 7.0), "float64")
    close(got.hessian(AT[0]), np.zeros((3, 3)), "float64")


# Audits of them -----------------------------------------------------------------------------------


def test_second_derivatives_that_are_constant_are_audited():
    quotient = check.from_tensors(lambda a, b: a / b)
    report = check.audit(np.divide, vjp=quotient, inputs={"a": (), "b": ()}, budget=300)
    assert report.verdict == "right", report
