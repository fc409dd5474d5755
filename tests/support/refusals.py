"""Calls that are refused, as rows of a table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable


def refused(*rows: tuple[Any, str | None, Callable[[], Any]]) -> None:
    """Every call raises its error, which matches the pattern beside it; None matches anything."""
    for error, says, call in rows:
        with pytest.raises(error, match=says):  # noqa: PT012
            call()
            pytest.fail(f"not refused: what should say {says!r}")


def refusing(
    rows: Any, *given: Callable[[], Any]
) -> Callable[[Callable[..., Any], Any, str | None], None]:
    """A test with a case to each row: a call, its error, and the pattern that the error matches.

    Rows are listed, or named in a dictionary.  Calls take what ``given`` make anew.
    """
    named = isinstance(rows, dict)
    listed = list(rows.values()) if named else rows

    @pytest.mark.parametrize(("call", "error", "says"), listed, ids=list(rows) if named else None)
    def test(call: Callable[..., Any], error: Any, says: str | None) -> None:
        with pytest.raises(error, match=says):
            call(*[make() for make in given])

    return test
