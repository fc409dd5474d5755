"""Turn off floating-point warnings, cheaply enough for an operation on one element.

Eager operations follow IEEE arithmetic without warnings, as PyTorch programs expect.
``numpy.errstate`` takes a microsecond, about the time of the operation itself.  So this module sets
its context variable directly where NumPy has it, and calls ``seterr`` elsewhere.

Read the state to restore before changing anything.  Then an interrupt at any point leaves the
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

noise: Callable[[], Any]  # returns the current reports and their form
set_noise: Callable[[Any], object]
SILENCE: Any  # report nothing

try:
    from numpy._core.umath import _extobj_contextvar, _make_extobj

    noise, set_noise = _extobj_contextvar.get, _extobj_contextvar.set
    SILENCE = _make_extobj(all="ignore")
except (ImportError, AttributeError, TypeError):  # pragma: no cover  # another NumPy
    noise = np.geterr
    SILENCE = dict.fromkeys(noise(), "ignore")

    def set_noise(state: Any) -> object:
        """Set the reports to ``state``, a result of ``noise``."""
        return np.seterr(**state)
