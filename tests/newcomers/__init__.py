"""Tasks that new users try, each with the first thing that they would type.

A task is a text, an answer from an oracle that shares nothing with the library, and guesses: the
first one is written in the words of the library that the user comes from, and of the README; those
after it follow what the error said.  A task counts as done at the first guess, after some tries, or
as refused; what is refused has to name the remedy.  An answer that is wrong counts as wrong,
whatever comes after it.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

FIRST, TRIES, REFUSED, IMPOSSIBLE, WRONG = (
    "first guess",
    "some tries",
    "refused",
    "impossible",
    "wrong",
)
OUTCOMES = (FIRST, TRIES, REFUSED, IMPOSSIBLE, WRONG)
TASKS: list[Task] = []


@dataclass(eq=False)
class Task:
    """One task: what is wanted, what it should be, and what users type."""

    group: str
    text: str
    answer: Callable[[], Any]
    guesses: list[Callable[[], Any]]
    rtol: float
    remedy: str
    said: list[str] = field(default_factory=list)
    """What the guesses raised."""

    def then(self, guess: Callable[[], Any]) -> Task:
        """The next guess, after the error of the one before it."""
        self.guesses.append(guess)
        return self

    def outcome(self) -> str:
        """How the task goes."""
        self.said = []
        for guess in self.guesses:
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    found = guess()
            except Exception as error:
                self.said.append(f"{type(error).__name__}: {error}")
                continue
            if not agree(found, self.answer(), self.rtol):
                self.said.append(f"the answer {found!r}")
                return WRONG
            return TRIES if self.said else FIRST
        told = all(re.search(self.remedy, said) for said in self.said)
        return REFUSED if self.remedy and told else IMPOSSIBLE


def task(
    group: str, text: str, answer: Callable[[], Any], rtol: float = 1e-9, remedy: str = ""
) -> Callable[[Callable[[], Any]], Task]:
    """The task whose first guess is the decorated function.

    Args:
        group: what the user knows already.
        text: what is wanted.
        answer: the right answer, by an oracle.
        rtol: to which relative error numbers agree.
        remedy: of what is refused, what each error has to say.
    """

    def made(guess: Callable[[], Any]) -> Task:
        TASKS.append(Task(group, text, answer, [guess], rtol, remedy))
        return TASKS[-1]

    return made


def agree(found: Any, answer: Any, rtol: float) -> bool:
    """Whether an answer is right: numbers up to rounding, anything else exactly."""
    if isinstance(answer, str | bool):
        return bool(found == answer)
    try:
        numbers = np.array(found, dtype=float)
    except (TypeError, ValueError):
        return False
    expected = np.array(answer, dtype=float)
    return numbers.shape == expected.shape and np.allclose(numbers, expected, rtol=rtol, atol=1e-12)


def counts() -> dict[str, dict[str, int]]:
    """How often each outcome is met, by group."""
    found: dict[str, dict[str, int]] = {}
    for one in TASKS:
        row = found.setdefault(one.group, dict.fromkeys(OUTCOMES, 0))
        row[one.outcome()] += 1
    return found


def table() -> str:
    """The counts as a table in Markdown, and below it what is not done at the first guess."""
    found = counts()
    rows = [("users of", "tasks", *OUTCOMES)]
    rows += [(group, sum(row.values()), *row.values()) for group, row in found.items()]
    total = [sum(row[outcome] for row in found.values()) for outcome in OUTCOMES]
    rows.append(("all", sum(total), *total))
    lines = ["| " + " | ".join(map(str, row)) + " |" for row in rows]
    lines.insert(1, "|---|" + "---:|" * (len(OUTCOMES) + 1))
    for one in TASKS:
        if one.said:
            lines += ["", f"{one.group}: {one.text}", *(f"    {said[:300]}" for said in one.said)]
    return "\n".join(lines)
