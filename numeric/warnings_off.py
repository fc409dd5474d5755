"""Floating-point warnings off, at a cost that an operation on one element can bear.

Eager operations follow IEEE arithmetic without a word, as programs written for PyTorch expect.
``numpy.errstate`` takes a microsecond, about the time of the operation itself, so its context
variable is set directly where NumPy has it; elsewhere ``seterr`` is used.

What is to be restored is read before anything changes, so that an interrupt anywhere leaves the
warnings as they were::

    before = noise()
    try:
        set_noise(SILENCE)
        ...
    finally:
        set_noise(before)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

noise: Callable[[], Any]  # what is reported now, and how
set_noise: Callable[[Any], object]
SILENCE: Any  # nothing is reported

try:
    from numpy._core.umath import _extobj_contextvar, _make_extobj

    noise, set_noise = _extobj_contextvar.get, _extobj_contextvar.set
    SILENCE = _make_extobj(all="ignore")
except (ImportError, AttributeError, TypeError):  # pragma: no cover  # another NumPy
    noise = np.geterr
    SILENCE = dict.fromkeys(noise(), "ignore")

    def set_noise(state: Any) -> object:
        """Report what ``state`` says, which ``noise`` told."""
        return np.seterr(**state)
