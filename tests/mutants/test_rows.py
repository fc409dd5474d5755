"""Every mutant still fits the tree: its text stands there once, and so do its tests."""

from __future__ import annotations

from collections import Counter

from tests.mutants import MUTANTS
from tests.mutants.rows import Stale, Tree


def test_every_mutant_fits_the_tree():
    """A row that does not is written anew: the same fault, in the words that the tree has now."""
    tree, stale = Tree(), []
    for mutant in MUTANTS:
        try:
            tree.place(mutant)
            tree.tests(mutant)
        except Stale as said:
            stale.append(str(said))
    assert not stale


def test_every_name_is_of_one_mutant():
    assert not [name for name, n in Counter(mutant.name for mutant in MUTANTS).items() if n > 1]
