"""Calls that are refused, as rows of a table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable


def refused(*rows: tuple[Any, str | None, Callable[[], Any]]) -> None:
    """Assert that every call raises its error and matches its pattern; None matches anything."""
    for error, pattern, call in rows:
        with pytest.raises(error, match=pattern):  # noqa: PT012
            call()
            pytest.fail(f"not refused: what should say {pattern!r}")


def refusing(
    rows: Any, *makers: Callable[[], Any]
) -> Callable[[Callable[..., Any], Any, str | None], None]:
    """Return a parametrized test of rows: a call, its error, and a pattern for the message.

    Rows are a list, or a dictionary by name.  Calls take new results of ``makers``.
    """
    named = isinstance(rows, dict)
    listed = list(rows.values()) if named else rows

    @pytest.mark.parametrize(("call", "error", "says"), listed, ids=list(rows) if named else None)
    def test(call: Callable[..., Any], error: Any, says: str | None) -> None:
        with pytest.raises(error, match=says):
            call(*[make() for make in makers])

    return test
