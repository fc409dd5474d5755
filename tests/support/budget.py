"""How many examples are drawn: the sampled budget, or many times more under ``make fuzz``."""

from __future__ import annotations

import os

from hypothesis import settings

FUZZ = os.environ.get("HYPOTHESIS_PROFILE") == "fuzz"
# How many times the sampled budget is drawn.
SCALE = float(os.environ.get("FUZZ_SCALE", "10")) if FUZZ else 1.0


def sample(examples: int) -> settings:
    """The settings of a property: so many examples, times ``SCALE``."""
    return settings(max_examples=scaled(examples))


def scaled(count: int) -> int:
    """``count`` times ``SCALE``."""
    return max(round(count * SCALE), 1)
