"""Values and derivatives of the command line beside mpmath, which shares nothing with it."""

import re
import shlex

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


FIRST = {"df/dx": (1, 0), "df/dy": (0, 1)}
SECOND = {"d2f/dx dx": (2, 0), "d2f/dx dy": (1, 1), "d2f/dy dy": (0, 2)}


@pytest.mark.parametrize(("command", "orders"), [("grad", FIRST), ("hessian", SECOND)])
@pytest.mark.parametrize("formula", FORMULAS)
def test_gradients_and_hessians(run, formula, command, orders):
    status, out, err = run(command, formula, *AT, "--digits", "20")
    assert (status, err) == (0, "")
    names, values = named(out)
    assert names == tuple(orders)
    for value, order in zip(values, orders.values(), strict=True):
        assert agree(value, mpmath.diff(FORMULAS[formula], tuple(at(60)), order), 20)
    of_y = named(run(command, formula, "y", *AT, "--digits", "20")[1])
    assert of_y == (names[-1:], values[-1:])


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


@pytest.mark.parametrize(
    ("line", "printed"),
    [
        ("eval 'q @ A @ q' --at 'q=[1, 0.5],A=[[2, 1], [1, 4]]'", "4.0"),
        ("eval '[q[0], 2*q[1]]' --at 'q=[0.1, 1/3]' --digits 20", "[0.1, 0.66666666666666666667]"),
        ("grad 'q @ q' --at 'q=[1, 0.1]'", "df/dq = 2*q = [2.0, 0.2]"),
        ("diff 'q @ q' 'q[1]' --at 'q=[1, 0.1]'", "2*q[1]\n0.2"),
        ("grad 'x*(q @ q)' q --inputs q=3", "df/dq = 2*x*q"),
        ("grad 'x*(q @ q)' 'q[0]' x --inputs q=2", "df/dq[0] = 2*x*q[0]\ndf/dx = q @ q"),
        ("grad '(q @ q)*x' --inputs q=2", "df/dq = 2*x*q\ndf/dx = q @ q"),
        ("grad 'x*(q @ q)' --inputs q=2", "df/dx = q @ q\ndf/dq = 2*x*q"),
        ("latex 'x**2/2'", r"\frac{x^{2}}{2}"),
        ("latex 'A @ q' --inputs A=3x2,q=2", "A q"),
        ("grad 'x**2' --latex", r"\frac{\partial f}{\partial x} = 2 x"),
    ],
)
def test_what_is_printed(run, line, printed):
    assert run(*shlex.split(line)) == (0, f"{printed}\n", "")


def test_the_last_line_is_the_value(run):
    for line, last in (
        ("hessian 'q @ q' --at 'q=[1, 0.1]'", " = [[2.0, 0.0], [0.0, 2.0]]\n"),
        ("steps 'q @ q' q --at 'q=[1, 2]'", "df/dq = 2*q = [2, 4]\n"),
    ):
        assert run(*shlex.split(line))[1].endswith(last)
    mixed = r"\frac{\partial^{2} f}{\partial x \, \partial y} = 2 x"
    assert mixed in run("hessian", "x**2*y", "--latex")[1].splitlines()


def test_decimals_are_exact_in_values_that_are_formulas(run):
    status, out, _ = run("eval", "x", "--at", "x=0.1*pi + 2.5e-3 + log10(1.5)", "--digits", "30")
    mp.dps = 40
    assert status == 0
    assert agree(out.strip(), mp.pi / 10 + mp.mpf(1) / 400 + mp.log10(mp.mpf(3) / 2), 30)


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
