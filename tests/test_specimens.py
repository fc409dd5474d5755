"""What ``make look`` looks at can be made and shown without a browser.

Each specimen goes through IPython's own formatter, as the kernel of a notebook calls it.
"""

from types import SimpleNamespace

import pytest

from symdiff.display import notebooks
from tests.look import collected
from tests.support.budget import FUZZ

interactive = pytest.importorskip("IPython.core.formatters")

EVERY = {} if FUZZ else {"plots": 6, "draw": 4}
"""Of a group that takes its time, every so many; ``make look`` shows all of them."""

SPECIMENS = [
    pytest.param(make, id=f"{group}/{name}")
    for group, made in collected().items()
    for name, make in list(made.items())[:: EVERY.get(group, 1)]
]

TYPES = {
    "text/plain": str,
    "text/html": str,
    "text/latex": str,
    "text/markdown": str,
    "text/vnd.mermaid": str,
    "image/svg+xml": str,
    "image/png": str | bytes,
    "application/vnd.jupyter.widget-view+json": dict,
}
LARGEST, PICTURE = 500_000, 2_000_000
"""Characters of what a notebook is sent, which is kept in the file; bytes of a picture."""


def bundle(value):
    """What IPython sends for a value; an exception of a hook goes on."""
    formatter = interactive.DisplayFormatter()
    formatter.active_types = formatter.format_types
    notebooks.register(SimpleNamespace(display_formatter=formatter))
    data, _ = formatter.format(value)
    return data


@pytest.mark.slow
@pytest.mark.parametrize("make", SPECIMENS)
def test_specimens_can_be_shown(make, capsys):
    data = bundle(make())
    for kind, content in data.items():
        assert isinstance(content, TYPES[kind]), kind
        assert len(content) < (PICTURE if kind == "image/png" else LARGEST), kind
    said = capsys.readouterr()  # where a hook raises, IPython prints the traceback
    assert "Traceback" not in said.out + said.err
