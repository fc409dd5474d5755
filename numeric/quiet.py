"""Floating-point warnings off, at a cost that an operation on one element can bear.

Eager operations follow IEEE arithmetic without a word, as programs written for PyTorch expect.
``numpy.errstate`` takes a microsecond, about the time of the operation itself, so its context
variable is set directly where NumPy has it; elsewhere ``errstate`` is used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

# token = hush(); try: ... finally: speak(token)
hush: Callable[[], Any]
speak: Callable[[Any], object]


def _slow() -> Any:
    state = np.errstate(all="ignore")
    state.__enter__()
    return state


try:
    from functools import partial

    from numpy._core.umath import _extobj_contextvar, _make_extobj

    hush = partial(_extobj_contextvar.set, _make_extobj(all="ignore"))
    speak = _extobj_contextvar.reset
except (ImportError, AttributeError, TypeError):  # pragma: no cover  # another NumPy
    hush = _slow

    def speak(token: Any) -> None:
        """Restore the state before ``hush``."""
        token.__exit__(None, None, None)
