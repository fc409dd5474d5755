"""The command line: what it prints, its messages and exit statuses, and never a traceback."""

import io
import json
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest

import symdiff as sd
from numeric.check import Finding, Report
from numeric.cli import main


@pytest.fixture
def run(capsys):
    """The exit status, the standard output and the standard error of a command."""

    def run(*arguments):
        status = main(arguments)
        out, err = capsys.readouterr()
        assert "Traceback" not in out + err
        return status, out, err

    return run


def test_a_missing_value_is_asked_for_as_the_command_takes_it(run):
    status, _, err = run("diff", "x**2*y", "x", "--digits", "30")
    assert (status, "--at x=...,y=..." in err) == (1, True)


@pytest.mark.parametrize(
    "command",
    ["eval", "evalf", "grad", "hessian", "latex", "gradcheck", "explain", "simplify"],
)
def test_a_guessed_command_names_what_does_it(run, command):
    status, out, err = run(command, "x**2")
    assert (status, out) == (2, "")
    assert f"there is no {command}: symdiff " in err
    assert run("diff", "x**2", "x", "0", "--at", "x=3") == (0, "x**2\n9.0\n", "")


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
    assert (status, "takes scalars" in err) == (1, True)
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


# Errors -------------------------------------------------------------------------------------------


def test_the_position_of_an_error_is_marked(run):
    status, out, err = run("diff", "sin(x)) + 1", "x")
    assert (status, out) == (1, "")
    first, line, caret = err.splitlines()
    assert first.startswith("symdiff: error: no formula")
    assert line.strip() == "sin(x)) + 1"
    assert line[caret.index("^")] == ")"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["diff", "foo(x)", "x"], "foo is not a function here"),
        (["diff", "x^2", "x"], "a power is written **"),
        (["diff", "", "x"], "an empty text is no formula"),
        (["diff", "x > 0", "x", "--at", "y=1"], "y does not occur"),
        (["diff", "x*y", "x", "--at", "x=1"], "no value for y"),
        (["diff", "x*x", "x", "--at", "x=z"], "depends on z"),
        (["diff", "x*x", "x", "--at", "x=1/0"], "not a finite number"),
        (["diff", "x*x", "x", "--at", "x=0.1*pi"], "write a fraction"),
        (["diff", "x*x", "x", "--at", "x=1 2"], "error"),
        (["diff", "polygamma(n, x)", "n"], "error"),
        (["diff", "sin(pi*n)", "n", "--at", "n=1/2"], "digits are not certain"),
        (["lower", "x + y", "--inputs", "x"], "outputs depend on y"),
        (["lower", "x +", "--source"], "no formula"),
    ],
)
def test_errors_in_formulas_and_values(run, arguments, message):
    status, _, err = run(*arguments)
    assert status == 1
    assert err.startswith("symdiff: error: ")
    assert message in err


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["integrate", "x"],
        ["diff", "x"],
        ["diff", "x", "2x"],
        ["diff", "x", "pi"],
        ["diff", "x", "2"],
        ["diff", "x", "x", "2", "2"],
        ["diff", "x", "x", "1001"],
        ["diff", "x", "x", "9" * 5000],
        ["diff", "x", "x", "--digits", "0"],
        ["diff", "x", "x", "--digits", "1e9"],
        ["diff", "x", "x", "--digit", "3"],
        ["diff", "x", "x", "--at", "x"],
        ["diff", "x", "x", "--at", "x="],
        ["diff", "x", "x", "--at", "2=x"],
        ["diff", "x", "x", "--at", "x=1,x=2"],
        ["diff", "x", "x", "--at", "pi=3"],
        ["lower", "x", "--inputs", "x,"],
        ["check", "x", "--inputs", "x="],
        ["check", "x", "--grad", "math:sin"],
    ],
)
def test_wrong_usage(run, arguments):
    status, out, err = run(*arguments)
    assert (status, out) == (2, "")
    assert "error: " in err


def test_help(run):
    status, out, _ = run("--help")
    assert status == 0
    assert "exit status: 0" in out


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


# Checking -----------------------------------------------------------------------------------------

MODULE = """
import numpy as np

def loss(x, A):
    return x @ A @ x

def right(x, A):
    return (A + A.T) @ x, np.outer(x, x)

def failing(x, A):
    return np.linalg.inv(A * 0)

class Both:
    vjp = staticmethod(right)
"""
FINDING = Finding(
    "transposed", "wrong", False, "gradient", "A", (0, 1), {"A": np.eye(2)}, 1.0, 2.0, 1e15, "A.T"
)


@pytest.fixture
def here(tmp_path, monkeypatch):
    """The current directory, with a module of the user's."""
    (tmp_path / "handwritten.py").write_text(MODULE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delitem(sys.modules, "handwritten", raising=False)
    yield tmp_path
    for name in ("handwritten", "broken"):
        sys.modules.pop(name, None)


@pytest.fixture
def asked(monkeypatch):
    """What the audit was asked; it calls wrong what is to be called so."""
    calls = SimpleNamespace(forward=None, options={}, ok=True, error=None)

    def audit(forward, **options):
        calls.forward, calls.options = forward, options
        if calls.error is not None:
            raise calls.error
        if options.get("gradient") and options["gradient"].__name__ == "failing":
            options["gradient"](*(np.ones(shape) for shape in options["inputs"].values()))
        found = () if calls.ok else (FINDING,)
        shapes = options["inputs"]
        return Report("right" if calls.ok else "wrong", calls.ok, found, "f", shapes, 1, 2, 3)

    monkeypatch.setitem(sys.modules, "numeric.check.audit", SimpleNamespace(audit=audit))
    return calls


CHECK = ("check", "handwritten:loss", "--grad", "handwritten:right", "--inputs", "x=5,A=5x5")


def test_a_gradient_is_checked(run, here, asked):
    status, out, err = run(*CHECK)
    assert (status, err) == (0, "")
    assert out.startswith("right (ok): ")
    names = asked.forward.__name__, asked.options.pop("gradient").__name__
    assert names == ("loss", "right")
    shapes = {"x": (5,), "A": (5, 5)}
    assert asked.options == {"inputs": shapes, "domain": None, "budget": None, "seed": 0}
    assert list(asked.options["inputs"]) == ["x", "A"]
    assert str(here) not in sys.path


def test_a_wrong_gradient_gives_its_report_and_status_1(run, here, asked):
    asked.ok = False
    status, out, err = run(*CHECK)
    assert (status, err) == (1, "")
    assert out.startswith("wrong (not ok): ")
    assert "transposed, in the gradient by A[0, 1]" in out
    status, out, _ = run(*CHECK, "--json")
    assert status == 1
    assert json.loads(out)["findings"][0]["kind"] == "transposed"
    assert not Report.from_json(out).ok


def test_all_that_an_audit_takes(run, here, asked, monkeypatch):
    shapes = "s=, t=scalar,u, B=2x0x3"
    ends = "s=0:1,t=-inf:-1e-3,B=2:"
    both = ("--vjp", "handwritten:Both.vjp", "--jvp", "handwritten:loss")
    more = ("--budget", "70", "--seed", "4", "--hessian", "handwritten:loss")
    assert run("check", "-s*t", *both, *more, "--inputs", shapes, "--domain", ends)[0] == 0
    assert asked.forward == "-s*t"
    found = asked.options
    assert found["inputs"] == {"s": (), "t": (), "u": (), "B": (2, 0, 3)}
    assert found["domain"] == {"s": (0, 1), "t": (-np.inf, -1e-3), "B": (2, np.inf)}
    assert (found["budget"], found["seed"]) == (70, 4)
    assert [found[k].__name__ for k in ("vjp", "jvp", "hessian")] == ["right", "loss", "loss"]
    assert "gradient" not in found
    monkeypatch.setattr(sys, "stdin", io.StringIO("sin(x)"))
    assert run("check", "-", "--gradient", "handwritten:loss", "--inputs", "x")[0] == 0
    assert asked.forward == "sin(x)"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({1: "absent:loss"}, "FORWARD absent:loss: cannot import absent: ModuleNotFoundError"),
        ({1: "broken:loss"}, "cannot import broken: ZeroDivisionError"),
        ({1: "my-module:loss"}, "FORWARD my-module:loss: write module:function"),
        ({1: "handwritten:lost"}, "handwritten has no lost"),
        ({3: "handwritten"}, "--gradient handwritten: write module:function"),
        ({3: "os.system('ls'):x"}, "write module:function"),
        ({3: "handwritten:loss()"}, "write module:function"),
        ({3: "handwritten:failing"}, "LinAlgError: Singular matrix"),
        ({5: "x=5x,A=3"}, "--inputs x=5x: write x=5 for a vector"),
        ({5: "x=-5"}, "--inputs x=-5: write x=5 for a vector"),
        ({5: "x=n"}, "write x=5 for a vector"),
        ({5: "x=5,x=6"}, "--inputs x: given twice"),
        ({5: "5,3x3"}, "'5' is not the name of an input"),
        ({6: "--domain", 7: "y=0:1"}, "--domain y: no input has this name; there are x, A"),
        ({6: "--domain", 7: "x=1:0"}, "--domain x=1:0: write two numbers, the smaller first"),
        ({6: "--domain", 7: "x=a:b"}, "write two numbers"),
        ({6: "--domain", 7: "x=nan:nan"}, "write two numbers"),
        ({6: "--domain", 7: "x=1"}, "write two numbers"),
        ({6: "--budget", 7: "0"}, "0 is not a number from 1"),
        ({6: "--seed", 7: "-1"}, "-1 is not a number from 0"),
    ],
)
def test_what_cannot_be_checked(run, here, asked, change, message):
    (here / "broken.py").write_text("1 / 0")
    words = {**dict(enumerate(CHECK)), **change}
    status, out, err = run(*(words[k] for k in sorted(words)))
    assert (status, out) == (2, "")
    assert message in err
    assert str(here) not in sys.path


def test_errors_of_the_users_code_have_their_place(run, here, asked):
    (here / "broken.py").write_text("\n1 / 0")
    assert "broken.py, line 2)" in run(*CHECK[:3], "broken:f", *CHECK[4:])[2]


@pytest.mark.parametrize("error", [sd.Unsupported("no formula"), ValueError("no formula")])
def test_what_the_audit_refuses_is_not_a_wrong_gradient(run, here, asked, error):
    asked.error = error
    status, out, err = run(*CHECK)
    assert (status, out) == (2, "")
    assert "no formula" in err


def test_the_help_of_check_says_how_shapes_are_written(run):
    status, out, _ = run("check", "--help")
    assert status == 0
    assert "s=, s=scalar or s alone is a scalar" in out
