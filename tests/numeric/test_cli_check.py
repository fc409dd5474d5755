"""The command ``symdiff check``: what is asked of the audit, its exit statuses and messages."""

import io
import json
import sys
from types import SimpleNamespace

import numpy as np
import pytest

import symdiff as sd
from numeric.check import Finding, Report

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
    for name in ("handwritten", "broken", "missing"):
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
    drawn = {"inputs": shapes, "wrt": None, "domain": None}
    assert asked.options == drawn | {"budget": None, "seed": 0}
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
    by = ("--wrt", "t, s")
    assert run("check", "-s*t", *both, *more, "--inputs", shapes, "--domain", ends, *by)[0] == 0
    assert asked.forward == "-s*t"
    found = asked.options
    assert found["inputs"] == {"s": (), "t": (), "u": (), "B": (2, 0, 3)}
    assert found["domain"] == {"s": (0, 1), "t": (-np.inf, -1e-3), "B": (2, np.inf)}
    assert (found["budget"], found["seed"], found["wrt"]) == (70, 4, ["t", "s"])
    assert [found[k].__name__ for k in ("vjp", "jvp", "hessian")] == ["right", "loss", "loss"]
    assert "gradient" not in found
    monkeypatch.setattr(sys, "stdin", io.StringIO("sin(x)"))
    assert run("check", "-", "--gradient", "handwritten:loss", "--inputs", "x")[0] == 0
    assert asked.forward == "sin(x)"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({1: "absent:loss"}, "there is no module absent, neither installed nor here as absent.py"),
        ({1: "broken:loss"}, "cannot import broken: ZeroDivisionError"),
        ({1: "my-module:loss"}, "FORWARD my-module:loss: write module:function"),
        ({1: "missing:loss"}, "cannot import missing: ModuleNotFoundError: No module named 'lost'"),
        ({1: "handwritten.py:loss"}, "modules are named without .py, as in handwritten:loss"),
        ({3: "handwritten.py:right"}, "--grad handwritten.py:right: modules are named without"),
        ({1: "handwritten.loss"}, "write module:function, as in handwritten:loss"),
        ({3: "handwritten:np"}, "--grad handwritten:np: this is not a function, but module"),
        ({1: "handwritten:lost"}, "handwritten has no lost"),
        ({3: "handwritten"}, "--grad handwritten: write module:function"),
        ({3: "os.system('ls'):x"}, "write module:function"),
        ({3: "handwritten:loss()"}, "write module:function"),
        ({3: "handwritten:failing"}, "LinAlgError: Singular matrix"),
        ({5: "x=5x,A=3"}, "--inputs x=5x: write x=5 for a vector"),
        ({5: "x=-5"}, "--inputs x=-5: write x=5 for a vector"),
        ({5: "x=n"}, "write x=5 for a vector"),
        ({5: "x=5,x=6"}, "--inputs x: given twice"),
        ({5: "5,3x3"}, "'5' is not the name of an input"),
        ({6: "--domain", 7: "y=0:1"}, "--domain y: no input has this name; there are x, A"),
        ({6: "--wrt", 7: "x,y"}, "--wrt y: no input has this name; there are x, A"),
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
    (here / "missing.py").write_text("import lost")
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


def test_what_the_audit_refuses_is_said_in_the_words_of_the_command_line(run):
    status, out, err = run("check", "cos(x)", "--grad", "math:sin", "--inputs", "x=3")
    assert (status, out) == (2, "")
    assert "--grad is for a scalar, and the forward has shape (3,); give --vjp, a function" in err
