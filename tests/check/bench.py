"""The bench of planted mistakes and of right derivatives, which an audit is run over."""

from __future__ import annotations

from itertools import chain
from typing import Any

import numeric as nm
from tests.check import (
    right_arrays,
    right_kinks,
    right_smooth,
    wrong_kinks,
    wrong_products,
    wrong_reductions,
    wrong_smooth,
)
from tests.check.entries import Entry as Entry
from tests.check.forwards import FORWARDS as FORWARDS

WRONG = (
    *wrong_kinks.ENTRIES,
    *wrong_products.ENTRIES,
    *wrong_reductions.ENTRIES,
    *wrong_smooth.ENTRIES,
)
RIGHT = tuple(chain(*right_arrays.ENTRIES, *right_kinks.ENTRIES, *right_smooth.ENTRIES))

DEFAULT_GRADCHECK_PASSES = ("tanh: 0.05 % too large", "tanh: zero for |x| > 4")
"""What ``torch.autograd.gradcheck`` finds nothing wrong with, at its defaults."""


def audited(entry: Entry, budget: int = 1000, seed: int = 0) -> Any:
    """The report of an audit of an entry."""
    forward = entry.forward
    return nm.check.audit(
        forward.fn,
        **entry.offered(),
        inputs=entry.examples(),
        domain=dict(forward.domain) or None,
        budget=budget,
        seed=seed,
    )


def named(name: str) -> Entry:
    """The planted mistake of that name."""
    return next(entry for entry in WRONG if entry.name == name)
