"""Planted omissions: the tests of the vocabulary, run with functions that lack a fact.

Tables are derived from the facts when modules are imported, so a fact must be removed before.
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import ModuleType

VOCABULARY = "symdiff.scalars.vocabulary"


class Forgetful(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Import the vocabulary, and remove from each function in ``omitted`` its fact."""

    def __init__(self, omitted: Mapping[str, str]) -> None:
        self.omitted = omitted

    def find_spec(self, name: str, path: Any, target: Any = None) -> Any:
        spec = importlib.machinery.PathFinder.find_spec(name, path) if name == VOCABULARY else None
        if spec is not None:
            self.loader, spec.loader = spec.loader, self
        return spec

    def create_module(self, spec: Any) -> None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        self.loader.exec_module(module)
        for name, fact in self.omitted.items():
            setattr(module.FACTS[name], fact, getattr(module.Facts, fact))


def main(omitted: Mapping[str, str]) -> None:
    """Run the tests of these functions without these facts."""
    sys.meta_path.insert(0, Forgetful(omitted))
    import pytest

    options = ["-q", "--tb=short", "-p", "no:cacheprovider", "-k", "not omissions"]
    sys.exit(pytest.main([*options, "tests/test_vocabulary.py"]))
