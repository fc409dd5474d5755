"""Every mutant still fits the tree: its text stands there once, and so do its tests."""

from __future__ import annotations

import contextlib
from collections import Counter

from tests.mutants import MUTANTS
from tests.mutants.__main__ import changed, spread
from tests.mutants.rows import Mutant, Stale, Tree


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


def _fits(tree, mutant):
    with contextlib.suppress(Stale):
        return bool(tree.place(mutant) and tree.tests(mutant))
    return False


def test_the_mutants_of_a_change_are_planted_in_its_files_or_killed_there():
    tree, some = Tree(), MUTANTS[:20]
    mutant = next(mutant for mutant in some if _fits(tree, mutant))
    test = tree.tests(mutant)[0].partition("::")[0]
    for file in (tree.place(mutant).as_posix(), test):
        assert mutant in changed(some, [file])
    assert mutant not in changed(some, ["docs/index.md"])
    stale = Mutant("stale", "none", "no such text", "", ("test_nothing",))
    assert changed([stale], []) == [stale]


def test_many_mutants_are_thinned_out_evenly():
    assert spread(MUTANTS, len(MUTANTS)) == MUTANTS
    assert spread(MUTANTS[:10], 5) == MUTANTS[:10:2]
    assert spread([], 5) == []
    assert len(spread(MUTANTS[:7], 5)) == 5
