"""Look at all specimens in JupyterLab: ``python -m tests.look [--only PATTERN] [--out DIR]``.

Writes a picture of every output, and a page with all of them, ``index.html``.  Exit status 1 if
something is wrong with one: an error of MathJax or Mermaid, an exception, an error of a script, a
request to the network, an output that overflows or is empty.  ``--random N`` has MathJax read the
LaTeX of N random expressions and names, ``--notebooks [NAME ...]`` opens the notebooks of the
manual, ``--live`` moves sliders, ``--self-test`` looks for planted faults.
"""

from __future__ import annotations

import argparse
import re
import sys
import time
from fnmatch import fnmatch
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.look import bulk, collected, faults, faulty_cells
from tests.look.lab import ROOT, Seen, chromium, lab
from tests.look.live import live
from tests.look.notebooks import notebooks, saved
from tests.look.pictures import pictures

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


def _slug(name: str) -> str:
    return re.sub(r"\W+", "-", name).strip("-").lower()


def looked_at(
    groups: Mapping[str, Mapping[str, Callable[[], Any]]], setup: str, out: Path, theme: str
) -> list[Seen]:
    """Every specimen, run and pictured; ``setup`` is code that makes ``made``, by their names."""
    results = []
    with lab(theme) as jupyter:
        for group, names in groups.items():
            start = time.monotonic()
            sources = [f"made[{name!r}]()" for name in names]
            with jupyter.notebook(group, setup.format(group=group), sources) as notebook:
                for place, name in enumerate(names, 1):
                    seen = notebook.run(place, f"{group}/{name}")
                    seen.picture = f"{_slug(group)}-{place:03}-{_slug(name)[:60]}.png"
                    notebook.noises.clear()
                    notebook.picture(place, out / seen.picture)
                    seen.faults += notebook.noises if seen.types else []
                    results.append(seen)
                    mark = "FAULT" if seen.faults else "ok"
                    print(f"  {place:>3}/{len(names)} {mark:<5} {seen.name}", flush=True)
            print(f"{group}: {len(names)} in {time.monotonic() - start:.0f} s", flush=True)
    return results


def specimens(only: str, out: Path, theme: str) -> int:
    """All that is to be looked at; how many have faults."""
    groups: dict[str, dict[str, Any]] = {}
    for group, made in collected().items():
        wanted = {name: make for name, make in made.items() if _matches(f"{group}/{name}", only)}
        if wanted:
            groups[group] = wanted
    if not groups:
        raise SystemExit(f"no specimen matches {only!r}")
    setup = "from tests.look.{group} import specimens\nmade = specimens()"
    results = looked_at(groups, setup, out, theme)
    (out / "index.html").write_text(_page(results))
    wrong = [seen for seen in results if seen.faults]
    print(f"\n{'specimen':<60} shown as")
    for seen in results:
        print(f"{seen.name:<60} {', '.join(seen.shown)}")
    for seen in wrong:
        print(f"\n{seen.name}: {'; '.join(seen.faults)}")
    print(f"\n{len(results)} specimens, {len(wrong)} with faults; pictures: {out / 'index.html'}")
    return len(wrong)


def _matches(name: str, only: str) -> bool:
    return not only or only in name or fnmatch(name, only)


def _page(results: list[Seen]) -> str:
    """All pictures, with what was said and the plain text."""
    rows = []
    for seen in results:
        color = "#b00020" if seen.faults else "#2e7d32"
        said = escape("; ".join(seen.faults) or "ok")
        rows.append(
            f"<section><h2>{escape(seen.name)}</h2><p>{escape(', '.join(seen.types))}: "
            f'<b style="color: {color}">{said}</b></p>'
            f'<img src="{escape(seen.picture)}" alt="">'
            f"<details><summary>text</summary><pre>{escape(seen.text)}</pre></details></section>"
        )
    head = '<meta charset="utf-8"><title>make look</title><style>img{border:1px solid #ccc}</style>'
    return f"<!doctype html><html><head>{head}</head><body>{''.join(rows)}</body></html>"


def self_test(out: Path) -> int:
    """How many planted faults were missed, or found where there is none."""
    planted = faults.planted()
    groups = {"faults": {name: make for name, (make, _) in planted.items()}}
    setup = (
        "from tests.look.{group} import planted\n"
        "made = {{name: make for name, (make, _) in planted().items()}}"
    )
    words = {name: word for name, (_, word) in planted.items()}
    results = {seen.name.partition("/")[2]: seen for seen in looked_at(groups, setup, out, "light")}
    cells = faulty_cells.cells()
    words |= {name: word for name, (_, word) in cells.items()}
    with lab() as jupyter:
        results |= zip(
            cells, saved(jupyter, [cell for cell, _ in cells.values()], out), strict=True
        )
        complaints = bulk.read(jupyter, "planted", list(faults.FORMULAS))
    missed = 0
    for name, word in words.items():
        said = results[name].faults
        found = any(word in fault for fault in said) if word else not said
        missed += not found
        print(f"{'found' if found else 'MISSED':<7} {name}: {said or 'nothing'}")
    for formula, wrong in faults.FORMULAS.items():
        missed += (formula in complaints) != wrong
        print(f"{formula}: {complaints.get(formula, 'nothing')}")
    print(f"{len(words) + len(faults.FORMULAS)} planted, {missed} missed")
    return missed


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.look", description=__doc__)
    parser.add_argument("--only", default="", help="part of a specimen's name, or a pattern")
    parser.add_argument("--out", type=Path, default=ROOT / "out" / "look")
    parser.add_argument("--theme", choices=("light", "dark"), default="light")
    parser.add_argument("--random", type=int, metavar="N", help="random expressions and names")
    parser.add_argument("--seed", type=int, default=0, help="of the random ones")
    parser.add_argument("--notebooks", nargs="*", metavar="NAME", help="notebooks, or all of them")
    parser.add_argument("--pictures", action="store_true", help="write those of README")
    parser.add_argument("--live", action="store_true", help="move sliders, in all themes")
    parser.add_argument("--self-test", action="store_true", help="look for planted faults")
    given = parser.parse_args()
    chromium()
    given.out.mkdir(parents=True, exist_ok=True)
    if given.self_test:
        wrong = self_test(given.out)
    elif given.notebooks is not None:
        wrong = notebooks(given.notebooks, given.out, given.theme)
    elif given.live:
        wrong = live(given.out)
    elif given.pictures:
        wrong = pictures()
    elif given.random:
        wrong = bulk.typeset(given.random, given.seed)
    else:
        wrong = specimens(given.only, given.out, given.theme)
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
