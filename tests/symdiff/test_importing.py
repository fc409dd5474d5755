"""A fast `import symdiff` leaves the collector of cycles and SymPy's facts as they were."""

import gc
import subprocess
import sys

import sympy as sp
from sympy.core.assumptions import _prepare_class_assumptions

from symdiff.importing import without_collections
from symdiff.scalars.vocabulary import DECISIONS, VOCABULARY, ScalarFunction

_PROBE = """
import gc
from symdiff.importing import without_collections

gc.collect()
with without_collections():
    new = [[]]
assert any(o is new for o in gc.get_objects(generation=2)), "the new object is still young"
cycle = [None]
cycle[0] = cycle
del cycle
with without_collections():
    pass
assert gc.get_freeze_count() == 0
assert gc.collect() >= 1, "a cycle from before the block was lost to the collector"

gc.freeze()
count = gc.get_freeze_count()
with without_collections():
    pass
assert gc.get_freeze_count() == count, "what the program froze is no longer frozen"
gc.unfreeze()

gc.disable()
with without_collections():
    pass
assert not gc.isenabled()
"""


def test_the_collector_is_as_it_was_after_an_import() -> None:
    run = subprocess.run([sys.executable, "-c", _PROBE], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr


def test_an_error_while_modules_load_turns_the_collector_on_again() -> None:
    assert gc.isenabled()
    try:
        with without_collections():
            raise KeyError
    except KeyError:
        pass
    assert gc.isenabled()


def test_shared_assumptions_are_those_that_sympy_derives() -> None:
    classes = [c for c in {*VOCABULARY.values(), *DECISIONS} if issubclass(c, ScalarFunction)]
    assert len(classes) > 100
    for cls in classes:
        derived = type(sp.Function)("Derived", (cls,), {})
        _prepare_class_assumptions(derived)
        assert dict(derived.default_assumptions) == dict(cls.default_assumptions), cls
        assert derived._prop_handler == cls._prop_handler, cls


def test_a_class_with_assumptions_of_its_own_has_them() -> None:
    class Positive(ScalarFunction):
        is_positive = True

    x = sp.Symbol("x")
    assert Positive(x).is_positive
    assert Positive(x).is_nonzero
    assert Positive(x).is_extended_real
    assert VOCABULARY["sigmoid"](x).is_positive is None
