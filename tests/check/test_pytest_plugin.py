"""``assert_gradients_match`` as a function and as pytest's fixture: what a failing test says."""

import sys
import tomllib
from pathlib import Path
from types import SimpleNamespace

import pytest

from numeric.check import GradientError, Report, assert_gradients_match

pytest_plugins = ["pytester"]

ROOT = Path(__file__).parents[2]
WHY = "the second term of the product rule is missing"

# An audit that writes down what it is asked, and calls right what is called so.
FAKE = f"""
import sys
from types import SimpleNamespace
from numpy import array
import numeric.check
from numeric.check import Finding, Report

def audit(forward, *, gradient, vjp, jvp, hessian, inputs, domain, budget, seed):
    ok = gradient == "right"
    finding = Finding("missing-term", "wrong", False, "gradient", "x", (1,),
                      {{"x": array([0.0, 2.0])}}, 0.25, 0.5, 1e15, {WHY!r})
    return Report("right" if ok else "wrong", ok, () if ok else (finding,), str(forward),
                  {{"x": (2,)}}, 10, budget or 5000, seed)

sys.modules["numeric.check.audit"] = SimpleNamespace(audit=audit)
"""


@pytest.fixture
def asked(monkeypatch):
    """What the audit was asked; it finds everything wrong but "right"."""
    calls = []

    def audit(forward, **options):
        calls.append((forward, options))
        ok = options["gradient"] == "right"
        return Report("right" if ok else "wrong", ok, (), "f", {}, 10, 5000, options["seed"])

    monkeypatch.setitem(sys.modules, "numeric.check.audit", SimpleNamespace(audit=audit))
    return calls


def test_what_is_right_gives_its_report(asked):
    report = assert_gradients_match("f", gradient="right", inputs={"x": 2}, budget=7)
    assert report.ok
    forward, options = asked[0]
    assert (forward, options.pop("gradient"), options.pop("inputs")) == ("f", "right", {"x": 2})
    assert options == {
        "vjp": None,
        "jvp": None,
        "hessian": None,
        "domain": None,
        "budget": 7,
        "seed": 0,
    }


def test_what_is_wrong_raises_the_report(asked):
    with pytest.raises(GradientError, match="not those of the forward") as caught:
        assert_gradients_match("f", gradient="wrong", inputs={"x": 2})
    assert not caught.value.report.ok


# The plugin, in a run of its own ------------------------------------------------------------------


@pytest.fixture
def run(pytester, monkeypatch):
    """A run of pytest with the plugin and no other, in which the audit is the fake."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")

    def run(code, *options, fake=True):
        pytester.makeconftest(FAKE if fake else "")
        pytester.makepyfile(code)
        return pytester.runpytest_subprocess("-p", "pytest_symdiff", *options)

    return run


TWO = """
    def test_right(assert_gradients_match):
        assert assert_gradients_match("f", gradient="right", inputs={"x": 2}).budget == 5000

    def test_wrong(assert_gradients_match):
        assert_gradients_match("f", gradient="wrong", inputs={"x": 2})
"""
SAID = [
    ">       assert_gradients_match(*wrong*",
    "E       numeric.check.report.GradientError: wrong (not ok): *",
    "E       1. wrong: missing-term, in the gradient by x[[]1[]], *",
    f"E          why       {WHY}",
    "E          at        x = np.array([[]0.0, 2.0[]])",
    "E          expected  0.25",
    "E          got       0.5",
]


@pytest.mark.slow
def test_a_failing_test_says_the_report_and_no_line_of_ours(run):
    result = run(TWO)
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(SAID)
    result.stdout.no_fnmatch_line("*raise error*")
    result.stdout.no_fnmatch_line("*report.raise_if_wrong()*")


@pytest.mark.slow
def test_under_xdist(run):
    result = run(TWO, "-p", "xdist", "-n", "1")
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(SAID)


BUDGET = """
    def test_budget(assert_gradients_match):
        report = assert_gradients_match("f", gradient="right", inputs={"x": 2})
        assert (report.budget, report.seed) == (300, 4)
        assert assert_gradients_match("f", gradient="right", inputs={}, budget=9).budget == 9
"""


@pytest.mark.slow
def test_the_budget_and_the_seed_of_a_run(run, pytester):
    run(BUDGET, "--gradient-budget", "300", "--gradient-seed=4").assert_outcomes(passed=1)
    pytester.makeini("[pytest]\ngradient_budget = 300\ngradient_seed = 5")
    run(BUDGET, "--gradient-seed=4", "--strict-config").assert_outcomes(passed=1)


@pytest.mark.slow
def test_a_number_that_is_none(run):
    result = run(TWO, "--gradient-budget=0")
    result.assert_outcomes(errors=2)
    result.stdout.fnmatch_lines(["*--gradient-budget: 0 is not a number from 1"])


def test_a_run_that_does_not_ask_for_it_loads_nothing(run):
    code = """
        import sys
        def test_nothing_is_loaded():
            assert "pytest_symdiff" in sys.modules
            for name in ("numpy", "sympy", "symdiff", "numeric"):
                assert name not in sys.modules
    """
    run(code, fake=False).assert_outcomes(passed=1)


def test_the_module_is_what_the_entry_point_names():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    # By one name: else `-p` and the installed entry point would load two plugins.
    assert project["project"]["entry-points"]["pytest11"] == {"pytest_symdiff": "pytest_symdiff"}
    wheel = project["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]
    assert "pytest_symdiff.py" in wheel
    assert (ROOT / "pytest_symdiff.py").is_file()
