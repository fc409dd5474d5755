"""The command line: what it prints, its messages and exit statuses, and never a traceback."""

import io
import subprocess
import sys

import pytest

import symdiff as sd


@pytest.mark.slow
def test_the_version(run):
    assert run("--version") == (0, f"symdiff {sd.__version__}\n", "")
    command = [sys.executable, "-m", "symdiff", "diff", "x**2", "x"]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == "2*x\n"


@pytest.mark.parametrize(
    ("arguments", "shown"),
    [
        (("x*sin(y)", "x"), "df/dx = sin(y)\n"),
        (("x*sin(y)", "x", "--order", "2"), "dg/dx = 0"),
        (("x**2", "x", "--latex"), r"\begin{aligned}"),
        (("+".join(f"sin({k}*x)" for k in range(2, 40)), "x"), "steps are not shown"),
    ],
)
def test_steps(run, arguments, shown):
    assert shown in run("steps", *arguments)[1]
    assert "not shown" not in run("steps", *arguments, "--full")[1]


def test_steps_at_values(run):
    status, out, err = run("steps", "x*sin(y)", "x", "--at", "x=1/3,y=pi/2")
    assert (status, err) == (0, "")
    assert out.splitlines()[0].startswith("f = x*sin(y) at ")
    assert "product rule" in out
    assert out.endswith("df/dx = sin(y) = 1\n")
    assert run("steps", "x", "x", "--order", "0")[0] == 2


@pytest.mark.parametrize(
    ("arguments", "printed"),
    [
        (("x**3*sin(y)", "y"), "x**3*cos(y)\n"),
        (("x**3*sin(y)", "x", "--latex"), "3 x^{2} \\sin{\\left(y \\right)}\n"),
        (("x**2", "x", "2", "--at", "x=5"), "2\n2.0\n"),
        (("x**2", "x", "2", "--digits", "5"), "2\n2.0\n"),
        (("-x**2", "x"), "-2*x\n"),
        (("x**2", "z"), "0\n"),
        (("-2", "x"), "0\n"),
    ],
)
def test_derivatives(run, arguments, printed):
    """A variable that does not occur is noted."""
    note = f"symdiff: note: {arguments[1]} does not occur in the formula\n"
    assert run("diff", *arguments) == (0, printed, note if printed == "0\n" else "")


@pytest.mark.parametrize("variables", [("x", "x", "y"), ("x", "2", "y"), ("y", "x", "2")])
def test_counts_are_repetitions(run, variables):
    x, y = sd.symbols("x y")
    words = {"x": x, "y": y, "2": 2}
    status, out, _ = run("diff", "x**3*sin(y)", *variables)
    assert status == 0
    assert sd.parse(out) is sd.diff(x**3 * sd.sin(y), *map(words.get, variables))


@pytest.mark.parametrize(
    ("arguments", "begins", "has"),
    [
        (("x*sin(y)", "--inputs", "y, x"), "inputs: y, x\n", "sin"),
        (
            ("sum((A @ q - x)**2)", "--inputs", "q=3,x,A=2x3", "--gradient"),
            "inputs: q (3,), x, A (2, 3)\n",
            "",
        ),
        (("exp(-x**2/2)*sin(y)", "--source"), "", "sin"),
        (("x*sin(y)", "--inputs", "y,x", "--gradient", "--source"), "", "cos"),
    ],
)
def test_what_a_function_does_and_its_source(run, arguments, begins, has):
    status, out, _ = run("lower", *arguments)
    assert status == 0
    assert out.startswith(begins)
    assert has in out
    if "--source" in arguments:
        compile(out, "source", "exec")


def test_the_last_line_is_the_value(run):
    status, out, _ = run(
        "diff", "exp(-x**2/2)*sin(y)", "x", "x", "y", "--at", "x=1,y=2", "--digits", "30"
    )
    assert (status, out.splitlines()[-1]) == (0, "0.0")
    _, out, _ = run("diff", "sin(x)", "x", "--at", "x=2", "--digits", "30")
    assert out.splitlines() == ["cos(x)", "-0.416146836547142386997568229501"]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("0.1", "0.1"),
        ("1/10", "0.1"),
        ("1e-1", "0.1"),
        ("-0.1", "-0.1"),
        ("pi/2", "1.57079632679489661923132169164"),
        ("-sqrt(2)", "-1.41421356237309504880168872421"),
        ("atan2(1, 1)", "0.785398163397448309615660845820"),
    ],
)
def test_values_are_exact(run, value, expected):
    status, out, err = run("diff", "x**2/2", "x", "--at", f"x={value}", "--digits", "30")
    assert (status, err) == (0, "")
    assert float(out.splitlines()[-1]) == float(expected)
    assert out.splitlines()[-1][:28] == expected[:28]


@pytest.mark.parametrize(
    ("arguments", "status", "said"),
    [
        (("x*sin(q @ q)", "x", "--at", "q=[1/2, 1/2, 1/2],x=1"), 0, ""),
        (("x*q[0]**2*A[0, 1]", "q[0]", "A[0,1]", "--at", "q=[3, 1, 1],x=2"), 0, "\n12.0\n"),
        (("q[0] + q[3]", "q[0]"), 1, "out of bounds"),
        (("q @ q", "q"), 1, "its element q[0]; symdiff grad takes arrays"),
        (("q @ q", "x[0]"), 1, ""),
        (("q @ q", "q[0]", "--at", "q=[1, 2]"), 1, ""),
        (("q @ q", "q[0]", "--at", "q=[1, 2, 1/0]"), 1, ""),
    ],
)
def test_elements_of_arrays_are_variables(run, arguments, status, said):
    found, out, err = run("diff", *arguments, "--inputs", "q=3,A=2x2")
    assert found == status
    assert said in (err if status else out)
    assert bool(err) == bool(status)


def test_a_formula_from_the_standard_input(run, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.StringIO("x**2 +\n x\n"))
    assert run("diff", "-", "x")[:2] == (0, "2*x + 1\n")


@pytest.mark.slow
def test_as_a_module():
    command = [sys.executable, "-m", "numeric.cli", "diff", "x**2", "x", "--at", "x=3"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (0, "2*x\n6.0\n", "")


@pytest.mark.slow
def test_a_reader_that_stops_is_no_error_message():
    formula = " + ".join(f"sin(x{k})" for k in range(2000))
    command = [sys.executable, "-m", "numeric.cli", "diff", formula, "x1"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as done:
        done.stdout.close()
        assert done.stderr.read() == b""
        assert done.wait(60) in (0, 1)
