"""Settings that every test shares."""

import contextlib
import gc
import inspect
import os
from collections import defaultdict

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.database import DirectoryBasedExampleDatabase

import numeric as nm
import symdiff as sd
from numeric.lowering import programs
from numeric.lowering.passes import rows
from tests.mutants import MUTANTS, chosen
from tests.mutants.rows import Stale, Tree
from tests.support.budget import scaled

# A shared machine is not a stop-watch: scale is tested by counts, so no example has a deadline.
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
# The same examples, where that one fails is all there is to know: mutants run with it.
settings.register_profile(
    "unshrunk",
    settings.get_profile("repeatable"),
    phases=[Phase.explicit, Phase.generate],
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "repeatable"))


def pytest_addoption(parser):
    parser.addoption(
        "--backend",
        default="numpy",
        choices=("numpy", "native"),
        help="of Functions that tests lower without saying which; native: few elements, too",
    )


def pytest_configure(config):
    if config.getoption("--backend") == "native":
        inspect.unwrap(nm.lower).__kwdefaults__["backend"] = "native"
        rows._LEAST = programs.NATIVE_LEAST = 1
        x = sd.symbol("x")
        assert nm.lower(x, x)._options.native


def pytest_collection_modifyitems(config, items):
    if "kills" in config.option.markexpr:
        mark_tiers(items)
    if config.getoption("--backend") == "native":
        for item in items:
            mark = item.get_closest_marker("numpy_only")
            if mark is not None:
                (reason,) = mark.args
                item.add_marker(pytest.mark.skip(reason=f"of NumPy alone: {reason}"))


def mark_tiers(items):
    """Mark notebooks as slow, and the tests that have to see the planted faults as kills.

    Reads all rows of ``tests/mutants``: only a run that selects by these marks pays for that.
    """
    tree, killers = Tree(), defaultdict(list)
    for mutant in MUTANTS:
        with contextlib.suppress(Stale):  # which tests/mutants/test_rows.py reports
            for test in tree.tests(mutant):
                file, _, function = test.partition("::")
                killers[file].append(function)
    for item in items:
        file, name = item.nodeid.partition("::")[0], item.name
        function = getattr(item, "originalname", name)
        if any(chosen.matches(killer, function, name) for killer in killers[file]):
            item.add_marker("kills")
        if file.startswith("notebooks/"):
            item.add_marker("slow")


@pytest.hookimpl(wrapper=True)
def pytest_collection(session):
    """Modules and tests stay for the whole run: the collector need not walk them each time."""
    gc.disable()
    collected = yield
    gc.enable()
    gc.collect()
    gc.freeze()
    gc.set_threshold(10_000)  # of ten thousand new ones; graphs are not cycles, and go at once
    return collected


@pytest.fixture(scope="module")
def arrays_stay_arrays():
    """Tiny arrays are not computed as Python floats, whose functions round differently."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("numeric.lowering.passes.unrolling.ELEMENTS", 0)
        yield
