"""What ``make look`` looks at can be made and shown without a browser.

Each specimen goes through IPython's own formatter, as the kernel of a notebook calls it.
"""

from types import SimpleNamespace

import pytest

from symdiff.display import notebooks
from tests.look import collected

interactive = pytest.importorskip("IPython.core.formatters")

SPECIMENS = [
    pytest.param(make, id=f"{group}/{name}")
    for group, made in collected().items()
    for name, make in made.items()
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
LARGEST = 500_000
"""Characters of what a notebook is sent: it is kept in the file."""


def bundle(value):
    """What IPython sends for a value; an exception of a hook goes on."""
    formatter = interactive.DisplayFormatter()
    formatter.active_types = formatter.format_types
    notebooks.register(SimpleNamespace(display_formatter=formatter))
    data, _ = formatter.format(value)
    return data


@pytest.mark.parametrize("make", SPECIMENS)
def test_specimens_can_be_shown(make, capsys):
    data = bundle(make())
    for kind, content in data.items():
        assert isinstance(content, TYPES[kind]), kind
        assert len(content) < LARGEST, kind
    said = capsys.readouterr()  # where a hook raises, IPython prints the traceback
    assert "Traceback" not in said.out + said.err
