"""Values and derivatives of the command line beside mpmath, which shares nothing with it."""

import re

import mpmath
import pytest
from mpmath import mp

import symdiff as sd

FORMULAS = {
    "exp(-x**2/2)*sin(y)": lambda x, y: mp.exp(-(x**2) / 2) * mp.sin(y),
    "log(1 + x**2*y**2) - x/y": lambda x, y: mp.log(1 + x**2 * y**2) - x / y,
    "atan2(x, y)*tanh(x*y)": lambda x, y: mp.atan2(x, y) * mp.tanh(x * y),
}
AT = ("--at", "x=0.7,y=pi/3")
POINT = [lambda: mp.mpf(7) / 10, lambda: mp.pi / 3]


def at(digits):
    mp.dps = digits
    return [number() for number in POINT]


@pytest.fixture(autouse=True)
def restored():
    with mp.workdps(15):
        yield


def agree(text, value, digits):
    """Whether a text has the first digits of a value, and as many as it should, zeros aside."""
    with mp.workdps(digits + 10):
        assert abs(mp.mpf(text) - value) <= abs(value) * mp.mpf(10) ** (1 - digits)
    assert len(text.strip("-").replace(".", "").lstrip("0")) <= digits
    return True


def named(out):
    """The names of the derivatives, and the values at the ends of their lines."""
    lines = [line.split(" = ") for line in out.splitlines() if line.startswith("d")]
    return tuple(line[0] for line in lines), [line[-1] for line in lines]


@pytest.mark.parametrize("formula", FORMULAS)
@pytest.mark.parametrize("digits", [5, 15, 40])
def test_values(run, formula, digits):
    status, out, err = run("eval", formula, *AT, "--digits", str(digits))
    assert (status, err) == (0, "")
    assert agree(out.strip(), FORMULAS[formula](*at(60)), digits)


@pytest.mark.parametrize("formula", FORMULAS)
def test_gradients(run, formula):
    status, out, err = run("grad", formula, *AT, "--digits", "20")
    assert (status, err) == (0, "")
    names, values = named(out)
    assert names == ("df/dx", "df/dy")
    for value, order in zip(values, [(1, 0), (0, 1)], strict=True):
        assert agree(value, mpmath.diff(FORMULAS[formula], tuple(at(60)), order), 20)
    assert named(run("grad", formula, "y", *AT, "--digits", "20")[1]) == (names[1:], values[1:])


@pytest.mark.parametrize("formula", FORMULAS)
def test_hessians(run, formula):
    status, out, err = run("hessian", formula, *AT, "--digits", "20")
    assert (status, err) == (0, "")
    names, values = named(out)
    assert names == ("d2f/dx dx", "d2f/dx dy", "d2f/dy dy")
    for value, order in zip(values, [(2, 0), (1, 1), (0, 2)], strict=True):
        assert agree(value, mpmath.diff(FORMULAS[formula], tuple(at(60)), order), 20)


@pytest.mark.parametrize("command", ["grad", "hessian"])
def test_derivatives_without_values_are_formulas(run, command):
    x, y = sd.symbols("x y")
    f = x**2 * sd.sin(y)
    status, out, err = run(command, "x**2*sin(y)")
    assert (status, err) == (0, "")
    expected = {
        "grad": [f.diff(x), f.diff(y)],
        "hessian": [f.diff(x, 2), f.diff(x, y), f.diff(y, 2)],
    }
    found = [sd.parse(line.partition(" = ")[2]) for line in out.splitlines()]
    assert all(a is sd.parse(str(b)) for a, b in zip(found, expected[command], strict=True))


def test_arrays_have_their_shapes_from_their_values(run):
    assert run("eval", "q @ A @ q", "--at", "q=[1, 0.5],A=[[2, 1], [1, 4]]") == (0, "4.0\n", "")
    assert run("eval", "[q[0], 2*q[1]]", "--at", "q=[0.1, 1/3]", "--digits", "20") == (
        0,
        "[0.1, 0.66666666666666666667]\n",
        "",
    )
    assert run("grad", "q @ q", "--at", "q=[1, 0.1]") == (0, "df/dq = 2*q = [2.0, 0.2]\n", "")
    assert run("diff", "q @ q", "q[1]", "--at", "q=[1, 0.1]")[1].splitlines()[1] == "0.2"
    assert run("hessian", "q @ q", "--at", "q=[1, 0.1]")[1].endswith(
        " = [[2.0, 0.0], [0.0, 2.0]]\n"
    )
    assert run("steps", "q @ q", "q", "--at", "q=[1, 2]")[1].endswith("df/dq = 2*q = [2, 4]\n")


def test_decimals_are_exact_in_values_that_are_formulas(run):
    status, out, _ = run("eval", "x", "--at", "x=0.1*pi + 2.5e-3 + log10(1.5)", "--digits", "30")
    mp.dps = 40
    assert status == 0
    assert agree(out.strip(), mp.pi / 10 + mp.mpf(1) / 400 + mp.log10(mp.mpf(3) / 2), 30)


def test_variables_may_be_arrays_and_elements(run):
    assert run("grad", "x*(q @ q)", "q", "--inputs", "q=3") == (0, "df/dq = 2*x*q\n", "")
    assert run("grad", "x*(q @ q)", "q[0]", "x", "--inputs", "q=2")[1].startswith("df/dq[0] = 2*")
    for formula, names in (("x*(q @ q)", ("df/dx", "df/dq")), ("(q @ q)*x", ("df/dq", "df/dx"))):
        assert named(run("grad", formula, "--inputs", "q=2")[1])[0] == names


def test_latex(run):
    assert run("latex", "x**2/2") == (0, "\\frac{x^{2}}{2}\n", "")
    assert run("latex", "A @ q", "--inputs", "A=3x2,q=2") == (0, "A q\n", "")
    assert run("grad", "x**2", "--latex") == (0, "\\frac{\\partial f}{\\partial x} = 2 x\n", "")
    mixed = r"\frac{\partial^{2} f}{\partial x \, \partial y} = 2 x"
    assert mixed in run("hessian", "x**2*y", "--latex")[1].splitlines()


def test_formulas_with_parts_of_their_own_are_complete(run):
    formula = "exp(sin(x*y) + cos(x*y))*log(1 + (sin(x*y) + cos(x*y))**2)**3*sqrt(x**2 + y**2)"
    status, out, _ = run("hessian", formula, "x")
    assert status == 0
    *definitions, last = out.splitlines()
    assert definitions
    assert last.startswith("d2f/dx dx = ")
    text = "\n".join([*definitions, re.sub("^d2f/dx dx = ", "", last)])
    expected = sd.diff(sd.parse(formula), sd.symbol("x"), 2)
    at = {"x": "0.3", "y": "0.7"}
    assert sd.evalf(sd.parse(text), 30, at) == sd.evalf(expected, 30, at)
