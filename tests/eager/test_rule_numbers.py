"""The rules that tests cite are those of docs/eager_semantics.md, and each of them is cited."""

import re
from pathlib import Path

HERE = Path(__file__).parent
PAGE = HERE.parents[1] / "docs" / "eager_semantics.md"


def cited(text):
    """The numbers in "Rule 13", "Rules 2, 4, 44" and "rules 9-19"."""
    found = set()
    for numbers in re.findall(r"\b[Rr]ules? (\d+(?:(?:, | and |-)\d+)*)", text):
        for part in re.split(", | and ", numbers):
            first, _, last = part.partition("-")
            found |= set(range(int(first), int(last or first) + 1))
    return found


def test_citations_are_read():
    text = "Rules 2, 4, 44: x. Rules 9-11: y. rule 13, and rules 20 and 21, of 30."
    assert cited(text) == {2, 4, 44, 9, 10, 11, 13, 20, 21}


def test_every_rule_that_is_cited_is_in_the_page_and_every_rule_is_cited():
    rules = [int(n) for n in re.findall(r"(?m)^(\d+)\. ", PAGE.read_text())]
    assert rules == list(range(1, len(rules) + 1))
    tests = [path for path in sorted(HERE.glob("test_*.py")) if path != Path(__file__)]
    headings = re.compile(r"(?m)^# .*-{3,}$|\A\"\"\"Rules .*")  # which name what stands below them
    places = [headings.sub("", path.read_text()) for path in tests]
    assert set().union(*map(cited, places)) == set(rules)
