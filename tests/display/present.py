"""What is printed today for the rows of the gallery, in a process of their own.

``python -m tests.display.present [words]`` shows the rows in whose names one of the words is, with
what they should be; ``[SEED] --json`` writes all of it for the tests, with a seed after a session
that made the same nodes in another order and holds them.  With ``--books`` or ``--solutions``
before, the rows are those of ``gallery_books`` or ``gallery_solutions``.
"""

from __future__ import annotations

import gc
import json
import random
import sys
from typing import Any

import symdiff as sd
from symdiff.graph.expr import built
from tests.display.gallery import GALLERY
from tests.display.gallery_books import BOOKS
from tests.display.gallery_solutions import SOLUTIONS
from tests.display.rows import Row, reading


def made_before(expr: sd.Expr, order: random.Random) -> list[sd.Expr]:
    """The nodes of an expression, made anew in a random order after their symbols; it is used up.

    Whoever makes the expression again meets them, with operands that were made in another order.
    """
    nodes = sd.nodes(expr)
    places = {node: k for k, node in enumerate(nodes)}
    table = [(node.op, [places[arg] for arg in node.args]) for node in nodes]
    made = {k: node for k, node in enumerate(nodes) if not node.args}
    del expr, nodes, places
    gc.collect()
    while len(made) < len(table):
        ready = [k for k, (_, args) in enumerate(table) if k not in made and made.keys() >= {*args}]
        k = order.choice(ready)
        op, args = table[k]
        made[k] = built(op, tuple([made[j] for j in args]))
    return list(made.values())


def printed(rows: list[Row], order: random.Random | None = None) -> dict[str, dict[str, Any]]:
    """By name: text, LaTeX, the text of what reads the text, and if the exact text is the node.

    Nothing of a row survives it: the next one makes its own symbols.
    """
    found = {}
    gc.freeze()  # of what is imported, no round finds anything
    for row in rows:
        older = made_before(row.build(), order) if order else []
        expr = row.build()
        text = sd.text(expr)
        again, same = None, False
        try:
            if isinstance(expr, sd.Expr):  # and not the entries of a matrix
                read = reading(text, expr)
                again = sd.text(read)
                read = reading(sd.text(expr, exact=True), expr)
                same = read is expr
                del read
        except (sd.ParseError, sd.ShapeError, ValueError) as error:
            again, same = f"{type(error).__name__}: {error}", False
        found[row.name] = {"text": text, "latex": sd.latex(expr), "again": again, "same": same}
        del expr, older
        gc.collect()
    return found


def main(words: list[str]) -> None:
    tables = {"--books": BOOKS, "--solutions": SOLUTIONS}
    rows = tables.get(words[0], GALLERY) if words else GALLERY
    words = words[rows is not GALLERY :]
    if words[-1:] == ["--json"]:
        json.dump(printed(rows, *map(random.Random, words[:-1])), sys.stdout)
        return
    found = printed(rows)
    for row in rows:
        if not words or any(word in row.name for word in words):
            now = found[row.name]
            print(row.name, "expected", row.text, "printed", now["text"], sep="\n  ")
            print("  expected", row.latex, "printed", now["latex"], "", sep="\n  ")


if __name__ == "__main__":
    main(sys.argv[1:])
