"""pytest's fixture ``assert_gradients_match``: a test that audits derivatives written by hand.

    def test_my_gradient(assert_gradients_match):
        assert_gradients_match(loss, gradient=loss_gradient, inputs={"x": 5})

pytest loads this module at the start of every run, whatever it tests.  Hence it stands beside the
packages, whose import takes a second, and loads them where a test asks for the fixture.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

_OPTIONS = {
    "budget": ("evaluations of each audit of assert_gradients_match", 1),
    "seed": ("seed of each audit of assert_gradients_match", 0),
}
"""What a run may say of all its audits, and the least number that it may be."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """``--gradient-budget`` and ``--gradient-seed``, and the same in the configuration file."""
    group = parser.getgroup("symdiff", "derivatives under test")
    for name, (told, _) in _OPTIONS.items():
        group.addoption(f"--gradient-{name}", metavar="N", help=told)
        parser.addini(f"gradient_{name}", told)


@pytest.fixture(scope="session")
def assert_gradients_match(pytestconfig: pytest.Config) -> Callable[..., Any]:
    """``numeric.check.assert_gradients_match``, with the budget and the seed of this run.

    They are those of the command line, or of the configuration file, for calls that name none.
    """
    chosen = {name: _chosen(pytestconfig, name) for name in _OPTIONS}
    from numeric.check import assert_gradients_match

    given = {name: value for name, value in chosen.items() if value is not None}
    return partial(assert_gradients_match, **given)  # type: ignore[arg-type]


def _chosen(config: pytest.Config, name: str) -> int | None:
    """The number that an option has, or the configuration file; None if neither does."""
    option, entry = f"--gradient-{name}", f"gradient_{name}"
    text = config.getoption(option)
    source = option if text is not None else entry
    text = config.getini(entry) if text is None else text
    if not text:
        return None
    if not str(text).isdecimal() or int(text) < _OPTIONS[name][1]:
        raise pytest.UsageError(f"{source}: {text} is not a number from {_OPTIONS[name][1]}")
    return int(text)
