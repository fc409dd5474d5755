"""The notebooks in ``notebooks/``: the laws that they obey, and what executes them.

``python -m tests.notebooks [NAME ...]`` executes notebooks and saves what their cells show
(``make notebooks``: all of them).  With ``--compare`` nothing is saved, and what differs from the
saved outputs is said; ``make look`` does that, too.
"""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "notebooks"


def chosen(*names: str) -> list[Path]:
    """The notebooks whose names contain one of these, in order; all of them for none."""
    paths = sorted(FOLDER.glob("*.ipynb"))
    return [path for path in paths if not names or any(name in path.name for name in names)]
