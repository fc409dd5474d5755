"""The number of examples: the sampled budget, or many times more under ``make fuzz``."""

from __future__ import annotations

import os

from hypothesis import settings

FUZZ = os.environ.get("HYPOTHESIS_PROFILE") == "fuzz"
# The factor on the sampled budget.
SCALE = float(os.environ.get("FUZZ_SCALE", "10")) if FUZZ else 1.0


def sample(examples: int) -> settings:
    """Return the settings of a property with ``examples`` times ``SCALE`` examples."""
    return settings(max_examples=scaled(examples))


def scaled(count: int) -> int:
    """Return ``count`` times ``SCALE``."""
    return max(round(count * SCALE), 1)
