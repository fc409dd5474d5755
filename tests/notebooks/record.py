"""``python -m tests.notebooks.record``: what PyTorch, JAX and CasADi say in the notebooks.

The notebooks that ask them are executed in memory, and the answers written to
``notebooks/recorded.json``, where notebooks find them in an environment without these packages.
What changed is printed; notebooks that show a changed value are then to be executed and saved
again.  If one of them fails, the file stays as it was.  Needs the extra ``crosscheck``.
"""

import os

import nbformat
from nbclient import NotebookClient

from notebooks import peers

NOTEBOOKS = peers.RECORDED.parent


def asking():
    """The notebooks that use ``peers``."""
    for path in sorted(NOTEBOOKS.glob("*.ipynb")):
        if "from peers import" in path.read_text(encoding="utf-8"):
            yield path


def record(paths):
    """Execute the notebooks and let them write the file; what was in it before."""
    before = peers.read()
    peers.RECORDED.unlink(missing_ok=True)  # so that it has nothing that is not asked any more
    try:
        for path in paths:
            print(f"executing {path.name}")
            notebook = nbformat.read(path, as_version=4)
            client = NotebookClient(notebook, resources={"metadata": {"path": str(NOTEBOOKS)}})
            client.execute(env=os.environ | {"SYMDIFF_RECORD": "1"})
    except BaseException:
        peers.write(before)
        raise
    return before


def changes(before, after):
    """A line for each key that is new, dropped or changed."""
    for key in sorted(before | after):
        if key not in before:
            yield f"new: {key}"
        elif key not in after:
            yield f"dropped: {key}"
        elif before[key] != after[key]:
            yield f"changed: {key}"


def main():
    paths = list(asking())
    before = record(paths)
    after = peers.read()
    for line in changes(before, after):
        print(line)
    print(f"{len(after)} values of {len(paths)} notebooks in {peers.RECORDED}")


if __name__ == "__main__":
    main()
