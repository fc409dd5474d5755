"""Plants faults in copies of the tree, one at a time, and looks which tests see them."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, NamedTuple

from tests.mutants import chosen
from tests.mutants.rows import ROOT, Mutant, Stale, Tree

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

KILLED = "killed"
SECONDS = 60  # of CPU, that the tests of a mutant may take to kill it
_HOUR = 3600
# Hidden files, and what is made: the tests of the packages read neither.
_LEFT_OUT = shutil.ignore_patterns(".*", "__pycache__", "out", "build", "dist", "notebooks")


class Verdict(NamedTuple):
    """What became of a mutant: ``KILLED``, or why it was not; the test that saw it first."""

    mutant: Mutant
    said: str
    by: str = ""
    seconds: float = 0.0


class _Place(NamedTuple):
    """A mutant that fits the tree: the file that it changes, and its tests."""

    mutant: Mutant
    file: Path
    tests: list[str]


def judge(
    mutants: Sequence[Mutant],
    root: Path = ROOT,
    jobs: int = 1,
    tell: Callable[[Verdict], None] = lambda _: None,
) -> list[Verdict]:
    """The verdicts, in the order of the mutants; ``tell`` hears each as soon as it is known."""
    found: dict[str, Verdict] = {}

    def learn(verdict: Verdict) -> None:
        found[verdict.mutant.name] = verdict
        tell(verdict)

    places = []
    tree = Tree(root)
    for mutant in mutants:
        try:
            places.append(_Place(mutant, tree.place(mutant), tree.tests(mutant)))
        except Stale as stale:
            learn(Verdict(mutant, f"stale: {stale}"))
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder, ThreadPoolExecutor(jobs) as pool:
        copies: SimpleQueue[Path] = SimpleQueue()  # in each stands at most one fault at a time
        for k in range(jobs):
            copies.put(Path(shutil.copytree(root, Path(folder, str(k)), ignore=_LEFT_OUT)))

        def somewhere(act: Callable[..., Any], *args: Any) -> Any:
            copy = copies.get()
            try:
                return act(copy, *args)
            finally:
                copies.put(copy)

        shares = [places[k::jobs] for k in range(jobs)]
        for verdicts in pool.map(lambda share: somewhere(_unfit, share), shares):
            for verdict in verdicts:
                learn(verdict)
        waiting = [
            pool.submit(somewhere, _planted, place)
            for place in places
            if place.mutant.name not in found
        ]
        for future in as_completed(waiting):
            learn(future.result())
    return [found[mutant.name] for mutant in mutants]


def _unfit(copy: Path, places: list[_Place]) -> list[Verdict]:
    """The mutants whose tests do not pass without them: such tests would kill anything."""
    tests = list(dict.fromkeys(test for place in places for test in place.tests))
    if not tests:
        return []
    said = _run(copy, tests, seconds=_HOUR, failures=0)
    if said is None:
        return [Verdict(place.mutant, "its tests end pytest without it") for place in places]
    wrong = []
    for place in places:
        for test in place.tests:
            if test in said["missing"]:
                wrong.append(Verdict(place.mutant, f"stale: {test} selects no test"))
                break
            if any(_is_case(node, test) for node in said["failed"] + said["broken"]):
                wrong.append(Verdict(place.mutant, f"{test} fails without it"))
                break
    return wrong


def _is_case(node: str, test: str) -> bool:
    """Whether the failure of ``node``, a case of a test or a file, is one of the chosen test."""
    file, _, name = node.partition("::")
    path, _, wanted = test.partition("::")
    if file != path:
        return False
    name = name.rpartition("::")[2] if "[" not in name else name
    return not name or chosen.matches(wanted, name.partition("[")[0], name)


def _planted(copy: Path, place: _Place) -> Verdict:
    """The verdict on one mutant, planted in this copy and taken out again."""
    mutant, file, tests = place
    path = copy / file
    text, times = path.read_text(), path.stat()
    path.write_text(text.replace(mutant.original, mutant.planted))
    # Python takes what it compiled before for valid where length and second of a file are the same.
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns + 2 * 10**9))
    try:
        said = _run(copy, tests, seconds=SECONDS, failures=1)
    finally:
        path.write_text(text)
        # What was compiled is valid again.
        os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
    if said is None:
        return Verdict(mutant, f"not killed within {SECONDS} s of CPU", seconds=SECONDS)
    if said["failed"]:
        return Verdict(mutant, KILLED, said["failed"][0], said["seconds"])
    if said["broken"]:
        return Verdict(mutant, "broken: no test could judge it", said["broken"][0], said["seconds"])
    return Verdict(mutant, "survives", seconds=said["seconds"])


def _run(copy: Path, tests: list[str], *, seconds: int, failures: int) -> dict[str, Any] | None:
    """What ``chosen`` says of these tests in this copy; None if it was ended before it could."""
    answer = copy.parent / f"{copy.name}.json"
    answer.unlink(missing_ok=True)
    # Threads of a BLAS would count as seconds; a mutant's modules need not be compiled for later.
    environment = {
        **os.environ,
        "PYTHONPATH": str(copy),
        "OPENBLAS_NUM_THREADS": "1",
        "HYPOTHESIS_PROFILE": "unshrunk",  # shrinking a failure can take longer than finding it
        "PYTHONDONTWRITEBYTECODE": "1" if failures else "",
    }
    program = [sys.executable, "-P", chosen.__file__, str(answer), str(seconds), str(failures)]
    with (copy.parent / f"{copy.name}.out").open("w") as output:
        try:
            subprocess.run(
                [*program, *tests],
                cwd=copy,
                env=environment,
                stdout=output,
                stderr=output,
                timeout=10 * seconds,  # of waiting, where nothing is computed
                check=False,
            )
        except subprocess.TimeoutExpired:
            return None
    return json.loads(answer.read_text()) if answer.exists() else None
