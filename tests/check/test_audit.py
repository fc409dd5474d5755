"""The audit as its users meet it: what it takes, says, refuses and leaves out."""

import json

import numpy as np
import pytest
import sympy as sp

import numeric as nm
import symdiff as sd
from numeric.check import presentation
from numeric.check.audit import FEWEST
from numeric.check.exact import Borders, quantity
from numeric.check.hulls import nearest_in_hull
from numeric.check.points import Input, beside, discovered, extreme, special
from tests.support.refusals import refused

BUDGET = 400


def audit(forward, **words):
    return nm.check.audit(forward, budget=words.pop("budget", BUDGET), **words)


def total(f):
    return lambda *xs: np.sum(f(*xs))


# What it takes ------------------------------------------------------------------------------------

X = sd.symbol("x", 3)
x = sp.Symbol("x")


@pytest.mark.parametrize(
    ("forward", "shape"),
    [
        (total(np.sin), 3),
        (sd.sum(sd.sin(X)), 3),
        (nm.lower(sd.sum(sd.sin(X)), [X]), (3,)),
        ("sin(x)", ()),
        (sp.sin(x), ()),
        (sd.sum(sd.sin(sd.symbol("x", "n"))), 3),
    ],
    ids=["function", "expression", "lowered", "text", "sympy", "named length"],
)
def test_forwards_of_all_kinds(forward, shape):
    assert audit(forward, gradient=np.cos, inputs={"x": shape}).verdict == "right"
    report = audit(forward, gradient=lambda x: -np.cos(x), inputs={"x": shape})
    assert (report.verdict, report.findings[0].kind) == ("wrong", "sign")


@pytest.mark.slow
def test_all_that_is_offered_is_judged():
    right = {
        "gradient": lambda x, y: (np.sin(y), x * np.cos(y)),
        "vjp": lambda x, y, w: (w * np.sin(y), w * x * np.cos(y)),
        "jvp": lambda x, y, s, t: np.sum(s * np.sin(y) + t * x * np.cos(y)),
        "hessian": lambda x, y: (
            (np.zeros((2, 2)), np.diag(np.cos(y))),
            (np.diag(np.cos(y)), np.diag(-x * np.sin(y))),
        ),
    }
    words = {"inputs": {"x": 2, "y": 2}, "budget": 1000}
    assert audit(total(lambda x, y: x * np.sin(y)), **right, **words).verdict == "right"
    for name, fn in right.items():
        scaled = {**right, name: lambda *args, fn=fn: scale(fn(*args))}
        report = audit(total(lambda x, y: x * np.sin(y)), **scaled, **words)
        assert not report.ok
        assert {f.derivative for f in report.findings} == {name}


def scale(value):
    return tuple(map(scale, value)) if isinstance(value, tuple) else 1.0005 * value


def test_what_is_wrong_at_second_order_alone_is_of_that_kind():
    """Whatever convention the gradient has."""
    report = audit(
        total(lambda x: np.maximum(x, 0) ** 2 + np.abs(x)),
        gradient=lambda x: 2 * np.maximum(x, 0) + np.where(x >= 0, 1, -1),
        hessian=lambda x: np.diag(np.where(x > 0, -2.0, 0.0)),
        inputs={"x": 2},
        budget=1000,
    )
    assert [f.kind for f in report.findings if not f.ok] == ["order"]
    assert any(f.verdict == "convention" for f in report.findings)


def test_data_are_arrays_that_nothing_differentiates_by():
    labels = np.array([2, 0, 1])

    def loss(Z, labels):
        return np.sum(np.log(np.sum(np.exp(Z), axis=1))) - np.sum(Z[np.arange(3), labels])

    def gradient(Z, labels):
        e = np.exp(Z - Z.max(axis=1, keepdims=True))
        p = e / e.sum(axis=1, keepdims=True)
        p[np.arange(3), labels] -= 1
        return p

    assert audit(loss, gradient=gradient, inputs={"Z": (3, 3), "labels": labels}).ok
    wrong = audit(
        loss,
        gradient=lambda Z, labels: gradient(Z, labels[::-1]),
        inputs={"Z": (3, 3), "labels": labels},
    )
    assert not wrong.ok


def test_an_example_fixes_the_dtype_and_is_looked_at_itself():
    seen = []

    def gradient(x):
        seen.append(np.array(x))
        return np.cos(x)

    example = np.array([0.25, 0.5], np.float32)
    report = audit(total(np.sin), gradient=gradient, inputs={"x": example})
    assert report.verdict == "right"
    assert {x.dtype.name for x in seen} <= {"float32", "float64"}  # float64: where rounding is told
    assert any(np.array_equal(x, example) for x in seen)


def test_both_dtypes_are_looked_at_where_shapes_are_given():
    def gradient(x):
        return np.cos(x) * (1.0005 if x.dtype == np.float32 else 1)

    report = audit(total(np.sin), gradient=gradient, inputs={"x": 3})
    assert not report.ok
    assert report.findings[0].dtype == "float32"


def test_recorded_values_are_judged_at_their_points_alone():
    at = np.linspace(-2, 2, 40)
    table = nm.check.Recorded(points={"x": at}, gradient={"x": np.cos(at)})
    report = audit("sin(x)", gradient=table, inputs={"x": ()})
    assert report.verdict == "right"
    assert report.judged == {"recorded": 40}
    values = np.cos(at)
    values[7] *= -1
    wrong = audit(
        "sin(x)",
        gradient=nm.check.Recorded(points={"x": at}, gradient={"x": values}),
        inputs={"x": ()},
    )
    assert not wrong.ok
    assert wrong.findings[0].point["x"] == at[7]


def test_another_function_is_told_from_a_wrong_derivative():
    y = sd.symbol("x", 3)
    report = audit(total(np.sin), gradient=nm.lower(sd.sum(sd.sin(2 * y)), [y]), inputs={"x": 3})
    assert not report.ok
    assert any("another function" in f.why for f in report.findings)


# What it says -------------------------------------------------------------------------------------


def test_a_seed_fixes_the_report():
    def report(seed):
        return audit(
            total(np.tanh), gradient=lambda x: np.cosh(x) ** -2.001, inputs={"x": 3}, seed=seed
        )

    assert report(3) == report(3)
    assert report(3) != report(4)
    assert json.loads(report(3).json())["seed"] == 3


@pytest.mark.parametrize("budget", [FEWEST, 250, 1000])
def test_the_budget_is_kept(budget):
    calls = []

    def gradient(x):
        calls.append(1)
        return 1.001 * np.cos(x)

    report = audit(total(np.sin), gradient=gradient, inputs={"x": 3}, budget=budget)
    # One call more finds out what kind of callable it is.
    assert report.evaluations <= budget
    assert len(calls) <= budget + 1
    assert not report.ok


def test_a_finding_has_the_point_the_digits_and_the_error():
    report = audit("x**3", gradient=lambda x: 3.003 * x**2, inputs={"x": ()})
    (found,) = report.findings
    at = float(found.point["x"])
    assert float(found.expected) == pytest.approx(3 * at**2, rel=1e-15)
    assert found.got == 3.003 * at**2
    assert found.ulps == pytest.approx(1e-3 * 3 * at**2 / np.spacing(3 * at**2), rel=0.1)
    assert len(str(found.expected).replace(".", "").strip("-0")) <= 20


LINE = {"X": (4, 3), "w": 3, "b": (), "y": 4}


def huber(X, w, b, y):
    r = X @ w + b - y
    return np.sum(np.where(np.abs(r) <= 1, r**2 / 2, np.abs(r) - 0.5))


def bounded_above_alone(X, w, b, y):
    g = np.minimum(X @ w + b - y, 1)
    return np.outer(g, w), X.T @ g, g.sum(), -g


@pytest.mark.slow
def test_a_place_is_told_as_a_condition_that_holds_where_it_is_wrong_and_nowhere_else():
    report = audit(huber, gradient=bounded_above_alone, inputs=LINE, budget=5000)
    assert [found.kind for found in report.findings] == ["branch"] * 4, report
    symbols = [sd.symbol(name, shape) for name, shape in LINE.items()]
    for found in report.findings:
        words, _, conditions = found.why.partition(" where ")
        assert words == "it is wrong"
        for residual, wrong in ((-3.0, True), (-0.5, False), (0.5, False), (3.0, False)):
            point = {"X": np.ones((4, 3)), "w": np.zeros(3), "b": 0.0, "y": np.full(4, -residual)}
            holds = [
                np.all(sd.evalf(sd.parse(condition, symbols), subs=point))
                for condition in conditions.split(" and ")
            ]
            assert all(holds) == wrong, found.why
    sizes = [sum(np.count_nonzero(x) for x in found.point.values()) for found in report.findings]
    assert min(sizes) == 1  # one observation is enough to see it


@pytest.mark.parametrize(
    ("f", "slope"),
    [
        (lambda x: 1 / (1 + x**2), lambda x: -2 * x / (1 + x**2)),
        (lambda x: np.sqrt(1 + x**2), lambda x: x * np.sqrt(1 + x**2)),
        (lambda x: 1 / (1 + np.exp(x)), lambda x: -np.exp(x) / (1 + np.exp(x))),
    ],
)
def test_no_place_is_told_by_what_holds_everywhere(f, slope):
    """As |x**2 + 1| >= 1 does, with all that is said of 1 + 1e-16."""
    report = audit(f, gradient=slope, inputs={"x": ()}, budget=2000)
    assert report.verdict == "wrong"
    assert not any("=" in found.why for found in report.findings), report


@pytest.mark.parametrize(
    ("value", "verdict"), [(0.0, "convention"), (0.5, "right"), (1.0, "convention"), (1.1, "wrong")]
)
def test_subgradients_of_relu(value, verdict):
    report = audit(
        total(lambda x: np.maximum(x, 0)),
        gradient=lambda x: np.where(x > 0, 1.0, np.where(x < 0, 0.0, value)),
        inputs={"x": 3},
    )
    assert report.verdict == verdict
    assert report.ok == (verdict != "wrong")
    if verdict == "convention":
        assert tuple(map(float, report.findings[0].valid)) == (0, 1)


def test_subgradients_are_asked_of_all_inputs_together():
    """Each of 1 and 1 is a subgradient of the maximum by one input; together they are none."""

    def shares(a, b, s, t):
        return (
            np.where(a > b, 1.0, np.where(a < b, 0.0, s)),
            np.where(b > a, 1.0, np.where(b < a, 0.0, t)),
        )

    for s, t, ok in ((1, 0, True), (0.25, 0.75, True), (1, 1, False), (0, 0, False)):
        report = audit(
            total(np.maximum),
            gradient=lambda a, b, s=s, t=t: shares(a, b, s, t),
            inputs={"a": 2, "b": 2},
        )
        assert report.ok == ok, report
        if not ok:
            assert report.findings[0].kind == "tie"


def test_subgradients_where_no_comparison_tells_of_the_tie():
    """Ties of a sort may be shared; at the matrix 0 every U V' is a subgradient of the sum of the
    singular values."""

    def shared(x):
        middle = x == np.median(x)
        return middle / middle.sum()

    def polar(A):
        U, _, V = np.linalg.svd(A)
        return U @ V

    for seed in range(3):
        words = {"seed": seed, "budget": 1000}
        assert audit(np.median, gradient=shared, inputs={"x": 5}, **words).ok
        nuclear = audit(
            lambda A: np.linalg.norm(A, "nuc"), gradient=polar, inputs={"A": (2, 2)}, **words
        )
        assert nuclear.ok, nuclear


@pytest.mark.parametrize(
    ("f", "gradient", "verdict", "kind"),
    [
        # 1 - tanh(x)^2 has no digits left at 20, and of G nothing is lost; 1e8 takes half of them
        (np.tanh, lambda x: 1 - np.tanh(x) ** 2, "right", None),
        (lambda x: x**2, lambda x: 2 * ((x + 1e8) - 1e8), "inaccurate", "cancellation"),
        # nan and what is infinite where the formula is finite
        (
            lambda x: np.logaddexp(0, x),
            lambda x: np.exp(x) / (1 + np.exp(x)),
            "wrong",
            "nonfinite",
        ),
        (
            lambda x: x**3,
            lambda x: np.where(np.abs(x) < 2, 3.003 * x**2, np.inf),
            "wrong",
            "nonfinite",
        ),
        (np.exp, np.exp, "right", None),
    ],
)
def test_verdicts(f, gradient, verdict, kind):
    """Inaccurate is neither right nor wrong; points without a finite value are left out."""
    report = audit(total(f), gradient=gradient, inputs={"x": 2})
    assert (report.verdict, report.ok) == (verdict, verdict == "right")
    assert [found.kind for found in report.findings] == ([kind] if kind else [])
    if f is np.exp:
        assert sum(report.left_out.values()) > 0
    if kind == "nonfinite":
        assert not np.isfinite(report.findings[0].got)


@pytest.mark.parametrize(
    ("text", "function", "gradient", "domain"),
    [
        (
            "log(1 + exp(x))",
            lambda x: np.log(1 + np.exp(x)),
            lambda x: np.exp(x) / (1 + np.exp(x)),
            (700, 800),
        ),
        (
            "log(exp(-x) + exp(-2*x))",  # underflows to log(0)
            lambda x: np.log(np.exp(-x) + np.exp(-2 * x)),
            lambda x: -(np.exp(-x) + 2 * np.exp(-2 * x)) / (np.exp(-x) + np.exp(-2 * x)),
            (0, 1000),
        ),
    ],
)
def test_the_verdict_does_not_depend_on_how_the_function_is_written(
    text, function, gradient, domain
):
    reports = [
        audit(f, gradient=gradient, inputs={"x": ()}, domain={"x": domain})
        for f in (text, function)
    ]
    for report in reports:
        assert (report.verdict, report.ok) == ("wrong", False)
        assert [f.kind for f in report.findings] == ["nonfinite"]
    assert reports[0].judged == reports[1].judged
    assert reports[0].left_out == reports[1].left_out
    (note,) = [n for n in reports[1].notes if "overflows" in n]
    assert "domain={'x': (lo, hi)}" in note


def test_what_the_function_leaves_undefined_is_left_out_and_counted():
    report = audit(lambda x: x * x / x, gradient=lambda x: x / x, inputs={"x": ()})
    assert report.verdict == "right"
    assert report.left_out["the function is undefined"] > 0


def test_the_headline_tells_of_points_that_overflow_on_the_way():
    one = nm.check.Report(
        "right", True, (), "f", {"x": ()}, 9, 9, 0, left_out={presentation.OVERFLOWS: 4}
    )
    end = ": the derivatives under test are exact, up to rounding"
    assert presentation.headline(one) == f"right (ok){end}, where nothing overflows on the way"
    report = audit(
        "1/(1 + x**2)",
        gradient=lambda x: -2 * x * (1 + x**2) / (1 + x**2) ** 3,
        inputs={"x": ()},
    )
    assert report.ok
    assert report.left_out[presentation.OVERFLOWS] > 0
    assert "overflows on the way" in str(report).splitlines()[0]


def test_inputs_are_drawn_where_the_formula_has_values():
    report = audit(total(np.log), gradient=lambda x: 1 / x, inputs={"x": 5})
    assert report.verdict == "right"
    assert any("positive" in note for note in report.notes)
    matrix = audit(
        lambda A: np.log(np.linalg.det(A)),
        gradient=lambda A: np.linalg.inv(A).T,
        inputs={"A": (3, 3)},
    )
    assert matrix.ok


def test_a_domain_is_kept_and_its_ends_are_looked_at():
    seen = []

    def gradient(p):
        seen.append(np.array(p))
        return np.log(1 - p) - np.log(p)

    report = audit(
        total(lambda p: -p * np.log(p) - (1 - p) * np.log(1 - p)),
        gradient=gradient,
        inputs={"p": 3},
        domain={"p": (0, 1)},
    )
    assert report.ok
    everything = np.concatenate([p.ravel() for p in seen])
    assert 0 <= everything.min() < 1e-6
    assert 1 - 1e-6 < everything.max() <= 1


def test_lengths_that_were_not_asked_for():
    """A gradient for 3 elements alone is fine; one for any number is held to 1, and 0 is noted."""

    def of_three(x):
        return np.array([np.cos(x[0]), np.cos(x[1]), np.cos(x[2])])

    def no_single(x):
        return np.cos(x) if x.size != 1 else np.cos(x) ** 2

    def no_empty(x):
        return np.cos(x) if x.size else np.ones(1)

    verdicts = [audit(total(np.sin), gradient=g, inputs={"x": 3}) for g in (of_three, no_single)]
    assert [report.ok for report in verdicts] == [True, False]
    assert verdicts[1].findings[0].kind == "broadcast"
    empty = audit(total(np.sin), gradient=no_empty, inputs={"x": 3})
    assert empty.ok
    assert any("length 0" in note for note in empty.notes)


# What it refuses ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "error", "text"),
    [
        ({"inputs": {}}, ValueError, "inputs is empty"),
        ({"inputs": {"x": "n"}}, TypeError, "give a shape"),
        ({"inputs": {"x": 3}, "domain": {"y": (0, 1)}}, ValueError, "names y"),
        ({"inputs": {"x": 3}, "domain": {"x": (1, 0)}}, ValueError, "no interior"),
        ({"inputs": {"x": np.arange(3)}}, ValueError, "no input is real"),
        ({"inputs": {"x": 3}, "budget": 20}, ValueError, "budget of 20"),
        ({"inputs": {"x": 3}, "gradient": None}, TypeError, "nothing to test"),
        ({"inputs": {"x": 3}, "gradient": lambda x: "no"}, TypeError, "real numbers"),
        ({"inputs": {"x": 3}, "gradient": lambda x: (x, x)}, TypeError, "2 arrays, expected 1"),
        ({"inputs": {"x": 3}, "gradient": lambda x: 1 / 0}, RuntimeError, "ZeroDivisionError"),
    ],
)
def test_refusals(words, error, text):
    with pytest.raises(error, match=text):
        audit(total(np.sin), **{"gradient": np.cos, **words})


class Tangent(nm.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.tanh()

    @staticmethod
    def backward(ctx, g):
        return g


@pytest.mark.parametrize("forward", [Tangent, Tangent.apply])
def test_a_forward_that_brings_its_derivatives_stands_elsewhere(forward):
    with pytest.raises(TypeError, match=r"Tangent, which brings .* give it as gradient= or vjp="):
        audit(forward, inputs={"x": 3})


@pytest.mark.parametrize(
    "forward",
    [lambda x: x if x > 0 else -x, lambda x: float(x) ** 2, lambda x: x.tanh()],
)
def test_a_function_of_values_alone_is_sent_where_these_do(forward):
    words = r"could not be traced: .*nm.check.derivative\(f, x\) and nm.check.taylor"
    with pytest.raises(TypeError, match=words):
        audit(forward, gradient=lambda x: x, inputs={"x": ()})


def test_what_is_no_forward_is_refused():
    refused(
        (TypeError, "scalar", lambda: audit(np.sin, gradient=np.cos, inputs={"x": 3})),
        (TypeError, "forward is 3", lambda: audit(3, gradient=np.cos, inputs={"x": 3})),
        (ValueError, "symbol y", lambda: audit("x*y", gradient=np.cos, inputs={"x": ()})),
        (
            ValueError,
            "finite value at none",
            lambda: audit("log(-1 - x**2)", gradient=np.cos, inputs={"x": ()}),
        ),
        (
            TypeError,
            "returns tuple",
            lambda: audit(lambda x: (x, x), gradient=np.cos, inputs={"x": ()}),
        ),
    )


# The parts ----------------------------------------------------------------------------------------


def test_borders_are_approached_from_both_sides_at_all_distances():
    y = sd.maximum(X, 0.5)
    inputs = [Input("x", (3,))]
    rng = np.random.default_rng(0)
    at = quantity("gradient", sd.sum(y), [X], [X])
    borders = Borders([sd.sum(y)], at.outputs, [X])
    points = beside(borders, inputs, 300, rng)["x"] - 0.5
    near = np.abs(points).min(axis=1)
    nearest = points[np.arange(len(points)), np.abs(points).argmin(axis=1)]
    assert (nearest > 0).any()
    assert (nearest < 0).any()
    for low, high in ((0, 1e-12), (1e-12, 1e-6), (1e-6, 1e-3), (1e-3, 0.1)):
        assert ((near > low) & (near <= high)).any(), (low, high)


def test_special_points_have_zeros_ties_and_subnormal_numbers():
    points = special([Input("x", (3,))], 200, np.random.default_rng(0))["x"]
    assert (points == 0).any()
    assert np.signbit(points[points == 0]).any()
    assert (points[:, 0] == points[:, 1]).any()
    assert ((points != 0) & (np.abs(points) < np.finfo(float).smallest_normal)).any()


def test_extreme_points_span_the_dtype():
    for dtype, low, high in ((np.float64, 1e-290, 1e290), (np.float32, 1e-40, 1e30)):
        points = np.abs(extreme([Input("x", (3,))], 400, np.random.default_rng(0), dtype)["x"])
        assert points.min() < low
        assert high < points.max() < np.finfo(dtype).max / 2


def test_a_domain_is_discovered_for_each_input():
    inputs = [Input("a", (4,)), Input("b", (4,))]

    def finite(points):
        return ((points["a"] > 0) & (np.abs(points["b"]) < 1)).all(axis=1)

    found = discovered(inputs, finite, np.random.default_rng(0))
    assert [x.mode for x in found] in (["positive", "between"], ["unit", "between"])


@pytest.mark.parametrize("seed", range(20))
def test_the_nearest_point_of_a_hull(seed):
    """What is in it has distance 0; elsewhere no vertex is behind the nearest point."""
    rng = np.random.default_rng(seed)
    vertices = rng.normal(size=(rng.integers(2, 12), rng.integers(1, 5)))
    weights = rng.dirichlet(np.ones(len(vertices)))
    assert nearest_in_hull(vertices, weights @ vertices)[0] < 1e-6
    outside = vertices.mean(axis=0) + 10 * rng.normal(size=vertices.shape[1])
    distance, nearest = nearest_in_hull(vertices, outside)
    assert distance == pytest.approx(np.linalg.norm(outside - nearest), abs=1e-6)
    assert ((vertices - nearest) @ (outside - nearest)).max() < 1e-4 * max(1, distance**2)
