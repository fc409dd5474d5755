"""What notebooks show of Tensors, lowered Functions and the results of the checks."""

import numpy as np
import pytest

import numeric as nm
import symdiff as sd
from numeric.html_tables import headline, page, paragraph, table
from numeric.tracing.compiling import compile as traced
from tests.support.pages import Checked

x, y = sd.symbols("x y")
HOSTILE = "</td><script>alert(1)</script><!-- \"'&"


def said(value):
    return Checked(value._repr_html_()).text


def test_all_that_is_given_is_escaped():
    parts = [
        *(headline(HOSTILE), paragraph(HOSTILE, HOSTILE)),
        *(table([[HOSTILE]], [HOSTILE]), table([[HOSTILE, 1]], named=True, words=True)),
    ]
    read = Checked(page(*parts))
    assert read.text.count(HOSTILE) == 6
    assert "script" not in read.tags


# Tensors ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "dtype"),
    [
        (3.25, nm.float64),
        ([[1, 2, 3], [4, 5, 6]], nm.int64),
        ([[True, False]], nm.bool),
        ([float("nan"), float("inf"), -float("inf"), -0.0], nm.float64),
        ([[[1.0, 2.0]], [[3.0, 4.0]]], nm.float16),
        ([[]], nm.float64),
    ],
    ids=repr,
)
def test_tensors_are_shown_as_they_are_printed(values, dtype):
    tensor = nm.tensor(values, dtype=dtype)
    assert f"<pre>{tensor!r}</pre>" in tensor._repr_html_()
    assert said(tensor).endswith(
        f"shape {tuple(tensor.shape)}, {str(dtype).removeprefix('torch.')}"
    )


def test_the_options_of_the_text_hold():
    nm.set_printoptions(precision=2)
    assert "tensor([0.12])" in said(nm.tensor([0.125]))
    nm.set_printoptions(profile="default")


def test_the_history_is_below_the_text():
    leaf = nm.tensor([1.0, 2.0], requires_grad=True, name="theta")
    assert said(leaf).endswith("requires_grad=True)theta, shape (2,), float32, requires grad")
    assert said(leaf * 2).endswith(
        "grad_fn=<MulBackward0>)shape (2,), float32, grad_fn MulBackward0"
    )
    assert said(leaf.detach()).endswith("float32")
    base = nm.tensor([1.0, 2.0], requires_grad=True) * 1
    first, _ = base.unbind()
    base.mul_(2)
    assert said(first).endswith("shape (), float32, grad_fn invalid")
    assert "containing:\ntensor([1., 1.], req" in said(nm.nn.Parameter(nm.ones(2)))


def test_the_name_of_a_class_is_text():
    kind = type(HOSTILE, (nm.nn.Parameter,), {})
    assert HOSTILE in said(kind(nm.ones(2)))


@pytest.mark.parametrize(
    "shape", [(10**6,), (1000, 1000), (3, 10**9), (10**5, 3), (50, 40, 30), (2,) * 9, (0, 10**6)]
)
@pytest.mark.parametrize("large", [1, 2**62])
def test_of_large_tensors_the_edges_are_shown(shape, large):
    tensor = nm.full([1] * len(shape), large).expand(*shape)
    assert len(tensor._repr_html_()) < 50_000
    Checked(tensor._repr_html_())


def test_what_has_no_values_has_its_text():
    seen = []

    @traced
    def function(value):
        seen.append(value._repr_html_())
        return value * 2

    function(nm.ones(2))
    assert seen == [None]


# Functions ----------------------------------------------------------------------------------------


def test_a_function_shows_its_formula_its_inputs_and_what_it_can_do():
    X, w = sd.symbol("X", ("m", "n")), sd.symbol("w", "n")
    loss = sd.sum(sd.tanh(X @ w))
    text = nm.lower(loss, [X, w])._repr_markdown_()
    assert sd.latex(loss).replace("\n", " ") in text
    assert "| `X` | (m, n) | float |\n| `w` | (n,) | float |" in text
    assert "which gives a scalar" in text
    assert "`F(X, w)`" in text
    assert "`F.grad`" in text
    vector = nm.lower(X @ w, [X, w])._repr_markdown_()
    assert "an array of shape (m,)" in vector
    assert "`F.jacobian`" in vector
    assert "F.grad" not in vector
    several = nm.lower([X @ w, loss], [X, w])._repr_markdown_()
    assert "2 values of shapes (m,), ()" in several
    k = sd.symbol("k", (), int)
    assert "derivatives" not in nm.lower(k + 1, k)._repr_markdown_()


def test_what_a_function_is_said_to_answer_is_there():
    for F in (nm.lower(x * y, [x, y]), nm.lower([x, y], [x, y])):
        last = F._repr_markdown_().split("\n\n")[-1]
        names = [part.split("`")[0].strip("()") for part in last.split("`F.")[1:]]
        assert len(names) > 4
        assert all(hasattr(F, name) for name in names)


def test_large_functions_show_a_part():
    many = sd.symbols(" ".join(f"v{k}" for k in range(500)))
    F = nm.lower([sd.sin(v) for v in many], list(many))
    text = F._repr_markdown_()
    assert len(text) < 5000
    assert "| and 480 more | | |" in text
    assert "\n\n" not in text.split("\n\n")[1]
    assert repr(F).startswith("<Function of v0, v1")


def test_a_formula_is_one_line_of_markdown():
    shared = sd.exp(x * y) + sd.sin(x * y) ** 2
    text = nm.lower(sd.diff(shared**3 * sd.log(shared), x, 3), [x, y])._repr_markdown_()
    formula = text.split("\n\n")[1]
    assert formula.startswith("$")
    assert "\n" not in formula


# The checks ---------------------------------------------------------------------------------------


def test_a_certificate_is_a_table():
    F = nm.lower(1 - sd.cos(x), x)
    found = nm.check.certify(F, {x: (-1, 1)}, budget=50)
    text = said(found)
    for name, at in found.point.items():
        assert name in text
        assert repr(at["x"]) in text
    assert "float64, -1.0 <= x <= 1.0" in text
    bare = nm.check.Certificate("proven", {HOSTILE: (0, 1)}, "float64", {HOSTILE: 1.5})
    assert said(bare).count(HOSTILE) == 2
    assumed = nm.check.Certificate("proven", {}, "float64", {"value": 1}, assumptions=(HOSTILE,))
    assert HOSTILE in said(assumed)


def test_a_taylor_test_is_a_table():
    at = np.ones(2)
    found = nm.check.taylor(lambda v: np.sum(v**3), 3 * at**2, at, 6 * np.diag(at))
    text = said(found)
    assert "Taylor test: right" in text
    assert Checked(found._repr_html_()).tags.count("tr") == 1 + len(found.slopes)
    assert "Hessian: left" in text


def test_a_derivative_by_values_is_a_number_or_a_table():
    assert said(nm.check.derivative(np.exp, 0.0)).startswith("1.0 ± ")
    found = nm.check.derivative(lambda v: np.outer(v, v), np.ones(4))
    assert "[0, 0, 0]2.0" in said(found)
    assert "and 44 more" in said(found)


def test_a_reference_says_what_of():
    r = nm.check.reference(sd.exp(x), {x: 0}, digits=20)
    assert repr(r) == "<Reference to 20 digits: exp(x) = 1.0>"
    v = sd.symbol("v", 2)
    assert repr(nm.check.reference(v, {v: [1, 2]}, 20)) == "<Reference to 20 digits: <v: (2,)>>"
