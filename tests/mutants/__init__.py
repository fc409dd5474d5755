"""Planted faults, each with the tests that have to see it: ``make mutants``.

A suite is as strong as the faults that it sees.  Each row of the modules here is one fault of a
kind that this library could have; ``runner`` plants it in a copy of the tree and runs the few tests
that the row names.  A fault that no test sees is a test that is missing; a row whose text no longer
stands in the packages has to be written anew (``test_rows.py`` says which).

    python -m tests.mutants [NAME ...] [--family FAMILY] [--changed] [--jobs 2] [--list]
"""

from __future__ import annotations

from tests.mutants import (
    calculus,
    checking,
    eager,
    graphs,
    lengths,
    loops,
    lowering,
    native,
    shards,
    solutions,
)
from tests.mutants.rows import Mutant

MUTANTS: list[Mutant] = [
    row
    for module in (
        *(calculus, graphs, lengths, loops, lowering),
        *(native, shards, solutions, eager, checking),
    )
    for family in module.FAMILIES
    for row in family.rows
]
