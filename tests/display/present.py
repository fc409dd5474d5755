"""What is printed today for the rows of the gallery, in a process of their own.

``python -m tests.display.present [words]`` shows the rows in whose names one of the words is, with
what they should be; ``--json`` writes all of it for the tests.
"""

from __future__ import annotations

import gc
import json
import sys
from typing import Any

import symdiff as sd
from tests.display.gallery import GALLERY
from tests.display.rows import reading


def printed() -> dict[str, dict[str, Any]]:
    """By name: ``text``, ``latex``, the text of what reads the text, and whether that is the node.

    Nothing of a row survives it: the next one makes its own symbols.
    """
    found = {}
    for row in GALLERY:
        expr = row.build()
        text = sd.text(expr)
        try:
            read = reading(text, expr)
            again, same = sd.text(read), read is expr
            del read
        except (sd.ParseError, sd.ShapeError, ValueError) as error:
            again, same = f"{type(error).__name__}: {error}", False
        found[row.name] = {"text": text, "latex": sd.latex(expr), "again": again, "same": same}
        del expr
        gc.collect()
    return found


def main(words: list[str]) -> None:
    found = printed()
    if words == ["--json"]:
        json.dump(found, sys.stdout)
        return
    for row in GALLERY:
        if not words or any(word in row.name for word in words):
            now = found[row.name]
            print(row.name, "expected", row.text, "printed", now["text"], sep="\n  ")
            print("  expected", row.latex, "printed", now["latex"], "", sep="\n  ")


if __name__ == "__main__":
    main(sys.argv[1:])
