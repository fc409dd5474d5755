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
