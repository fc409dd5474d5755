"""Words of LaTeX, for what reads it here; nothing of it is shared with what writes it."""

from __future__ import annotations

import re

# A command word, a command of one sign, a run of blanks, or one character.
_TOKEN = re.compile(r"\\[A-Za-z]+\*?|\\.|\s+|.", re.DOTALL)


def tokens(latex: str) -> list[str]:
    r"""The words: commands, single characters, and " " for blanks, but not those after a command.

    >>> tokens(r"\frac 12  x")
    ['\\frac', '1', '2', ' ', 'x']
    """
    found: list[str] = []
    for token in _TOKEN.findall(latex):
        if not token.isspace():
            found.append(token)
        elif not (found and found[-1][0] == "\\" and found[-1][1:].rstrip("*").isalpha()):
            found.append(" ")
    return found
