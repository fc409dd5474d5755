"""pytest's fixture ``assert_gradients_match``: audit derivatives written by hand in a test.

    def test_my_gradient(assert_gradients_match):
        assert_gradients_match(loss, gradient=loss_gradient, inputs={"x": 5})

pytest loads this module at the start of every run.  Hence it lies next to the packages, whose
import takes a second, and imports them only in tests that use the fixture.
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
"""Options of a run for all its audits, each with its help text and smallest number."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add ``--gradient-budget`` and ``--gradient-seed``, also for the configuration file."""
    group = parser.getgroup("symdiff", "derivatives under test")
    for name, (help_text, _) in _OPTIONS.items():
        group.addoption(f"--gradient-{name}", metavar="N", help=help_text)
        parser.addini(f"gradient_{name}", help_text)


@pytest.fixture(scope="session")
def assert_gradients_match(pytestconfig: pytest.Config) -> Callable[..., Any]:
    """Return ``numeric.check.assert_gradients_match`` with the budget and the seed of this run.

    Calls that name neither take them from the command line or from the configuration file.
    """
    chosen = {name: _chosen(pytestconfig, name) for name in _OPTIONS}
    from numeric.check import assert_gradients_match

    settings = {name: value for name, value in chosen.items() if value is not None}
    return partial(assert_gradients_match, **settings)  # type: ignore[arg-type]


def _chosen(config: pytest.Config, name: str) -> int | None:
    """Return an option's number from the command line or the configuration file, or None."""
    option, entry = f"--gradient-{name}", f"gradient_{name}"
    text = config.getoption(option)
    source = option if text is not None else entry
    text = config.getini(entry) if text is None else text
    if not text:
        return None
    if not str(text).isdecimal() or int(text) < _OPTIONS[name][1]:
        raise pytest.UsageError(f"{source}: {text} is not a number from {_OPTIONS[name][1]}")
    return int(text)
