"""Settings that every test shares."""

import os

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.database import DirectoryBasedExampleDatabase

from tests.support.budget import scaled

# A shared machine is no stop-watch: scale is tested by counts, so no example has a deadline.
# The ordinary profile draws the same examples every time; `fuzz` draws new ones, and many.
settings.register_profile(
    "repeatable",
    deadline=None,
    derandomize=True,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile(
    "fuzz",
    settings.get_profile("repeatable"),
    derandomize=False,
    max_examples=scaled(100),
    database=DirectoryBasedExampleDatabase(".hypothesis/examples"),  # failures come first next time
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "repeatable"))


@pytest.fixture(scope="module")
def arrays_stay_arrays():
    """Tiny arrays are not computed as Python floats, whose functions round differently."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("numeric.lowering.passes.unrolling.ELEMENTS", 0)
        yield
