"""The command line: what it prints, its messages and exit statuses, and never a traceback."""

import io
import subprocess
import sys

import pytest

import symdiff as sd


def test_a_missing_value_is_asked_for_as_the_command_takes_it(run):
    status, _, err = run("diff", "x**2*y", "x", "--digits", "30")
    assert (status, "--at x=...,y=..." in err) == (1, True)


def test_the_version(run):
    assert run("--version") == (0, f"symdiff {sd.__version__}\n", "")
    command = [sys.executable, "-m", "symdiff", "diff", "x**2", "x"]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == "2*x\n"


def test_steps(run):
    status, out, err = run("steps", "x*sin(y)", "x", "--at", "x=1/3,y=pi/2")
    assert (status, err) == (0, "")
    assert out.splitlines()[0].startswith("f = x*sin(y) at ")
    assert "product rule" in out
    assert out.endswith("df/dx = sin(y) = 1\n")
    assert run("steps", "x*sin(y)", "x")[1].endswith("df/dx = sin(y)\n")
    assert "df/dx = 0" in run("steps", "x*sin(y)", "x", "--order", "2")[1]
    assert run("steps", "x**2", "x", "--latex")[1].startswith(r"\begin{aligned}")
    status, _, err = run("steps", "x*sin(y)", "x", "--at", "x=2")
    assert (status, "no value for y; give it, as in --at y=..." in err) == (1, True)
    assert run("steps", "x", "x", "--order", "0")[0] == 2
    large = "+".join(f"sin({k}*x)" for k in range(2, 40))
    assert "steps are not shown" in run("steps", large, "x")[1]
    assert "not shown" not in run("steps", large, "x", "--full")[1]


def test_a_derivative(run):
    assert run("diff", "x**3*sin(y)", "y") == (0, "x**3*cos(y)\n", "")


@pytest.mark.parametrize("variables", [("x", "x", "y"), ("x", "2", "y"), ("y", "x", "2")])
def test_counts_are_repetitions(run, variables):
    status, out, _ = run("diff", "x**3*sin(y)", *variables)
    assert status == 0
    x, y = sd.symbols("x y")
    assert sd.parse(out) is sd.diff(x**3 * sd.sin(y), *map(sd_word, variables))


def sd_word(word):
    return int(word) if word.isdecimal() else sd.symbol(word)


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


def test_values_of_variables_that_vanish_are_fine(run):
    assert run("diff", "x**2", "x", "2", "--at", "x=5") == (0, "2\n2.0\n", "")
    assert run("diff", "x**2", "x", "2", "--digits", "5") == (0, "2\n2.0\n", "")


def test_latex(run):
    assert run("diff", "x**3*sin(y)", "x", "--latex") == (
        0,
        "3 x^{2} \\sin{\\left(y \\right)}\n",
        "",
    )


def test_elements_of_arrays_are_variables(run):
    given = ["--inputs", "q=3,A=2x2"]
    assert run("diff", "x*sin(q @ q)", "x", *given, "--at", "q=[1/2, 1/2, 1/2],x=1")[0] == 0
    status, out, err = run(
        "diff", "x*q[0]**2*A[0, 1]", "q[0]", "A[0,1]", *given, "--at", "q=[3, 1, 1],x=2"
    )
    assert (status, out.splitlines()[-1], err) == (0, "12.0", "")
    status, _, err = run("diff", "q[0] + q[3]", "q[0]", *given)
    assert (status, "out of bounds" in err) == (1, True)
    status, _, err = run("diff", "q @ q", "q", *given)
    assert (status, "its element q[0]; symdiff grad takes arrays" in err) == (1, True)
    assert run("diff", "q @ q", "x[0]", *given)[0] == 1
    assert run("diff", "q @ q", "q[0]", *given, "--at", "q=[1, 2]")[0] == 1
    assert run("diff", "q @ q", "q[0]", *given, "--at", "q=[1, 2, 1/0]")[0] == 1
    assert run("diff", "q", "q[0]", "--inputs", "q=three")[0] == 2


def test_arguments_may_be_arrays(run):
    status, out, _ = run("lower", "sum((A @ q - x)**2)", "--inputs", "q=3,x,A=2x3", "--gradient")
    assert status == 0
    assert out.startswith("inputs: q (3,), x, A (2, 3)\n")


def test_a_formula_may_begin_with_a_minus_sign(run):
    assert run("diff", "-x**2", "x") == (0, "-2*x\n", "")
    assert run("diff", "-2", "x")[:2] == (0, "0\n")


def test_a_formula_from_the_standard_input(run, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.StringIO("x**2 +\n x\n"))
    assert run("diff", "-", "x")[:2] == (0, "2*x + 1\n")


def test_a_variable_that_does_not_occur_is_noted(run):
    assert run("diff", "x**2", "z") == (
        0,
        "0\n",
        "symdiff: note: z does not occur in the formula\n",
    )


def test_source_of_a_function(run):
    status, out, _ = run("lower", "exp(-x**2/2)*sin(y)", "--source")
    assert status == 0
    compile(out, "source", "exec")
    assert "sin" in out


def test_source_with_the_gradient(run):
    status, out, _ = run("lower", "x*sin(y)", "--inputs", "y,x", "--gradient", "--source")
    assert status == 0
    compile(out, "source", "exec")
    assert "cos" in out


def test_what_a_function_does(run):
    status, out, _ = run("lower", "x*sin(y)", "--inputs", "y, x")
    assert status == 0
    assert out.startswith("inputs: y, x\n")


def test_as_a_module():
    command = [sys.executable, "-m", "numeric.cli", "diff", "x**2", "x", "--at", "x=3"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (0, "2*x\n6.0\n", "")


def test_a_reader_that_stops_is_no_error_message():
    formula = " + ".join(f"sin(x{k})" for k in range(2000))
    command = [sys.executable, "-m", "numeric.cli", "diff", formula, "x1"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as done:
        done.stdout.close()
        assert done.stderr.read() == b""
        assert done.wait(60) in (0, 1)
