"""What the page on the command line, docs/command_line.md, shows is what is printed."""

import doctest
import re
import shlex
import sys
from pathlib import Path

import pytest

from tests.numeric.test_cli_messages import COMMANDS

PAGE = Path(__file__).parents[2] / "docs" / "command_line.md"
FLAGS = doctest.ELLIPSIS


def sessions(text):
    """The commands of each block of a shell session, with what follows them."""
    for block in re.findall(r"^```console\n(.*?)^```$", text, re.DOTALL | re.MULTILINE):
        yield [
            (shlex.split(command), shown)
            for command, shown in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", block, re.MULTILINE)
        ]


SESSIONS = list(sessions(PAGE.read_text(encoding="utf-8")))


def different(run, session):
    """The first command that prints something else, with that; None if all print what is shown."""
    status = 0
    for words, shown in session:
        if words[0] == "cat":
            Path(words[1]).write_text(shown)
            continue
        if words == ["echo", "$?"]:
            printed = f"{status}\n"
        else:
            assert words[0] == "symdiff"
            status, out, err = run(*words[1:])
            printed = out + err
        if not doctest.OutputChecker().check_output(shown, printed, FLAGS):
            return shlex.join(words), printed
    return None


@pytest.mark.parametrize("session", SESSIONS, ids=[" ".join(s[0][0][:2]) for s in SESSIONS])
def test_the_page_shows_what_is_printed(run, session, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    try:
        assert different(run, session) is None
    finally:
        sys.modules.pop("mine", None)


def test_the_page_has_every_command():
    used = {words[1] for session in SESSIONS for words, _ in session if words[0] == "symdiff"}
    assert used >= set(COMMANDS)
    assert sum(map(len, SESSIONS)) >= 25


def test_a_page_that_lies_is_found(run):
    """The runner itself: other outputs, other statuses and outputs left out are differences."""
    (right,) = sessions('```console\n$ symdiff eval "1 + 1"\n2.0\n$ echo $?\n0\n```\n')
    assert different(run, right) is None
    for lie in ("3.0\n$ echo $?\n0", "2.0\n$ echo $?\n1", "$ echo $?\n0", "2.0\n2.0"):
        (session,) = sessions(f'```console\n$ symdiff eval "1 + 1"\n{lie}\n```\n')
        assert different(run, session) is not None
