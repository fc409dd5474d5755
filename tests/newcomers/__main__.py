"""``python -m tests.newcomers``: how the tasks go, for this library or for an older one.

git worktree add ../older COMMIT
python -m tests.newcomers --library ../older
"""

import argparse
import sys
from importlib import import_module
from pathlib import Path

from tests import newcomers

MODULES = ("tasks_sympy", "tasks_numpy", "tasks_torch", "tasks_shell")


def tasks() -> list:
    """All tasks; their modules load the library."""
    for module in MODULES:
        import_module(f"tests.newcomers.{module}")
    return newcomers.TASKS


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m tests.newcomers",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--library", type=Path, help="where the packages are (default: here)")
    options = parser.parse_args()
    if options.library:
        sys.path.insert(0, str(options.library.resolve(strict=True)))
    tasks()
    print(f"{Path(sys.modules['symdiff'].__file__).parents[1]}\n\n{newcomers.table()}")


if __name__ == "__main__":
    main()
