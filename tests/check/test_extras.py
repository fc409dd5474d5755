"""Without the extras: everything works but what an extra is named for, which names the extra."""

import inspect
import json
import re
import subprocess
import sys

import pytest

import numeric as nm
import symdiff as sd
from tests.check.bare import calls

REFUSED = {
    "audit: erf": "scipy",
    "audit: plot": "viz",
    "certify: plot": "viz",
    "certify: proven": "certify",
    "enclose": "certify",
    "explore": "viz",
    "from_jax": "jax",
    "from_torch": "torch",
    "plot": "viz",
    "plot_field": "viz",
    "taylor: plot": "viz",
}


@pytest.fixture(scope="module")
def answers():
    done = subprocess.run(
        [sys.executable, "-m", "tests.check.bare"], capture_output=True, text=True, check=True
    )
    return json.loads(done.stdout)


def test_every_public_function_is_called():
    public = {
        name
        for module in (nm.check, nm.export, nm.show)
        for name in module.__all__
        if inspect.isfunction(getattr(module, name))
    }
    assert public <= calls().keys()


@pytest.mark.slow
def test_what_an_extra_is_for_names_the_extra_and_what_was_called(answers):
    refused = {name: str(said) for name, said in answers.items() if "refused: " in str(said)}
    assert refused.keys() == REFUSED.keys()
    for name, extra in REFUSED.items():
        assert re.fullmatch(
            rf'refused: (\S+: )*\S+ needs \S+: pip install "symdiff-numeric\[{extra}\]"',
            refused[name],
        )
        assert re.match(rf"refused: ({'|'.join(name.split(': '))})\b", refused[name])


@pytest.mark.parametrize("version", ["0.8.0", "0.7", "0.8.0a5"])
def test_a_version_that_gives_wrong_bounds_is_refused(monkeypatch, version):
    monkeypatch.setattr("flint.__version__", version)
    x = sd.symbol("x")
    remedy = re.escape('pip install "symdiff-numeric[certify]"')
    message = rf"^enclose needs python-flint 0\.9 or newer, got {version}: {remedy}$"
    with pytest.raises(ImportError, match=message):
        nm.check.enclose(x, {x: 1.0})


def test_everything_else_has_its_answer(answers):
    assert {name: said for name, said in answers.items() if name not in REFUSED} == {
        "audit": "right",
        "audit: text, table and JSON": ["right", "<di", True],
        "assert_gradients_match": True,
        "Recorded": "right",
        "from_tensors": [1.0, 1.0],
        "gradcheck": True,
        "gradgradcheck": True,
        "derivative": 1.0,
        "taylor": "right",
        "reference": "6.0",
        "certify": "search",
        "why": True,
        "steps": 6.0,
        "scipy": [2.0, 0.0, 0.0],
        "draw": "flowchart TD",
        "solve_ivp": [-1.0, 0.0, 0.0],
    }
