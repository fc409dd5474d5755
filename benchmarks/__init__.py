"""The library next to its peers, in one run on one machine: read the ratios, not the times.

``python -m benchmarks`` runs every case of every module below, and
``python -m benchmarks calling`` those of one.

building         what it costs to write an expression down and to differentiate it
differentiating  what derivatives of wide and of many formulas cost
swell            how large derivatives are: counts, which no machine changes
calling          what a call of a lowered function costs
cases            what a case is, and how contestants are timed against each other
formulas         the formulas that several modules look at

``python -m benchmarks.commits REVISION`` compares this tree with an older commit, in interleaved
runs of the programs of ``programs``.

A module of cases offers ``cases()``; a new one is added to ``MODULES`` in ``benchmarks.__main__``.
"""
