"""``python -m tests.eager.crosscheck``: the eager layer beside an installed PyTorch.

The table of operations, with more operands than the recorded ones, then random programs; exit
status 1 if anything differs.  Needs the extra ``crosscheck``.
"""

import argparse
import dataclasses
import random
import sys
import time

import numpy as np

import numeric
from tests.eager import op_examples, op_table, random_programs, record

PROGRAMS = 10_000


def fresh(row, seed):
    """The row on other operands, and points besides the edges."""
    renamed = dataclasses.replace(row, name=row.name)
    object.__setattr__(renamed, "cases", tuple(_cases(row, seed)))
    return renamed


def _cases(row, seed):
    for case in row.cases:
        yield case if case.points else dataclasses.replace(case, seed=seed)
    if row.edges:
        rng = random.Random(f"{row.name} {seed}")
        low, high = op_table.DOMAINS[row.operands[0].domain]
        points = tuple(
            np.array([round(rng.uniform(low, high) * 1024) / 1024 for _ in range(100)])
            for _ in row.operands
        )
        if row.operands[-1].domain != "nonzero":
            operands = tuple(op_table.Operand((100,), o.domain) for o in row.operands)
            yield op_table.Case(f"points {seed}", operands, points, orders=row.orders)


def row_differences(row, torch):
    """What differs between the two libraries on a row, as texts."""
    for case in row.cases:
        expected = {d: op_table.facts(row, case, d, torch) for d in record.DTYPES}
        exponents = op_table.scales(row, case, torch, expected["float64"])
        facts = expected, exponents
        yield from op_table.case_differences(row, case, facts, numeric)
    if row.kinds:
        found, wanted = (op_table.kind_facts(row, lib) for lib in (numeric, torch))
        yield from op_table.kind_differences(row, found, wanted)
    if row.orders:
        found, wanted = (op_table.saved_facts(row, lib) for lib in (numeric, torch))
        yield from op_table.saved_differences(row, found, wanted)


def operations(torch, seeds):
    """Check the table; the number of differences."""
    count, start = 0, time.monotonic()
    for seed in seeds:
        for k, row in enumerate(op_examples.ROWS):
            for wrong in row_differences(fresh(row, seed) if seed else row, torch):
                count += 1
                print(f"\r{wrong}")
            if k % 20 == 0:
                progress(f"operands {seed}: {k} of {len(op_examples.ROWS)} rows", start)
    for name in op_table.REFUSED:
        found, expected = (op_table.refusal(name, lib) for lib in (numeric, torch))
        if found is None or found[0] != expected[0] or not set(expected[1]) <= set(found[1]):
            count += 1
            print(f"\rrefused, {name}: {found}, expected {expected}")
    print(f"\r{len(op_examples.ROWS)} rows, {len(seeds)} sets of operands: {count} differences    ")
    return count


def programs(torch, first, count):
    """Check random programs; the number of differences."""
    start = time.monotonic()

    def report(n, failures):
        if n % 100 == 0:
            progress(f"{n} of {count} programs, {len(failures)} differ", start)

    n, failures = random_programs.compare(range(first, first + count), numeric, torch, report)
    for failure in failures:
        print("\r" + random_programs.told(*failure))
    print(f"\r{n} random programs: {len(failures)} with a difference    ")
    return len(failures)


def progress(text, start):
    if sys.stderr.isatty():
        print(f"\r{text}, {time.monotonic() - start:.0f} s ", end="", file=sys.stderr, flush=True)


def main():
    """Everything, or parts of it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--programs", type=int, default=PROGRAMS, help="how many random programs")
    parser.add_argument("--first", type=int, default=1_000_000, help="the first one's seed")
    parser.add_argument("--operands", type=int, default=3, help="how many sets of operands")
    args = parser.parse_args()
    torch = record.installed_torch()
    print(f"numeric beside PyTorch {torch.__version__}")
    wrong = operations(torch, range(args.operands)) if args.operands else 0
    wrong += programs(torch, args.first, args.programs) if args.programs else 0
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
