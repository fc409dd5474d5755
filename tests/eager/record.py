"""``python -m tests.eager.record``: write down what PyTorch answers, for tests without PyTorch.

The operations of ``op_table`` and the traces of random programs go to ``tests/data``, with the
version that answered.  Needs the extra ``crosscheck``.
"""

import functools
import io
import json
import sys
import zipfile
import zlib
from pathlib import Path

import numpy as np

from tests.eager import op_examples, op_table, random_programs

DATA = Path(__file__).parent.parent / "data"
OPERATIONS, PROGRAMS = DATA / "eager_operations.zip", DATA / "eager_programs.zip"
SEEDS = range(400)
DTYPES = ("float64", "float32")


@functools.cache  # the threads can be set once
def installed_torch():
    """PyTorch, on one thread; exits with what to install if it is not there."""
    try:
        import torch
    except ImportError:
        sys.exit("PyTorch is not installed: pip install -e '.[crosscheck]' (torch==2.13.0)")
    torch.set_num_threads(1)
    torch.set_num_interop_threads(1)
    return torch


# --- operations ----------------------------------------------------------------------------------


class Pools:
    """Arrays one after the other, one pool per dtype."""

    def __init__(self, arrays=None):
        self.arrays = arrays or {}

    def put(self, values):
        kind = str(values.dtype)
        pool = self.arrays.setdefault(kind, [])
        pool.append(values.ravel())

    def reader(self):
        """A function that takes the next array of a dtype and shape."""
        places = dict.fromkeys(self.arrays, 0)

        def take(kind, shape):
            n = int(np.prod(shape, dtype=int))
            place = places[kind]
            places[kind] = place + n
            return self.arrays[kind][place : place + n].reshape(shape)

        return take


def write(path, meta, pools):
    """A zip file with a fixed date, so that equal facts make equal files."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        members = {"meta.json": json.dumps(meta, separators=(",", ":")).encode()}
        for kind, arrays in sorted(pools.items()):
            buffer = io.BytesIO()
            np.save(buffer, np.concatenate(arrays))
            members[f"{kind}.npy"] = buffer.getvalue()
        for name, data in members.items():
            info = zipfile.ZipInfo(name, (2026, 1, 1, 0, 0, 0))
            info.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(info, data)


def read(path):
    """The meta data and the pools of a file."""
    with zipfile.ZipFile(path) as archive:
        meta = json.loads(archive.read("meta.json"))
        pools = {
            name[:-4]: np.load(io.BytesIO(archive.read(name)))
            for name in archive.namelist()
            if name.endswith(".npy")
        }
    return meta, pools


def checksum(row):
    """Of a row's operands: facts of other operands are not facts."""
    text = repr(
        [
            (c.name, c.layout, c.orders, [a.tolist() for a in op_table.arrays_of(row, c)])
            for c in row.cases
        ]
    )
    return zlib.crc32(text.encode())


def recorded_row(row, torch, pools):
    """The facts of a row as meta data, the numbers going to the pools."""
    cases = {}
    for case in row.cases:
        runs = {}
        for dtype in DTYPES:
            facts = op_table.facts(row, case, dtype, torch)
            runs[dtype] = [[f.label, f.dtype, list(f.values.shape), list(f.flags)] for f in facts]
            for f in facts:
                pools.put(f.values)
            if dtype == "float64":
                for exponents in op_table.scales(row, case, torch, facts):
                    pools.put(exponents)
        cases[case.name] = runs
    out = {"checksum": checksum(row), "cases": cases}
    if row.orders:
        out["saved"] = op_table.saved_facts(row, torch)
    if row.kinds:
        out["kinds"] = {}
        for text, outcome in op_table.kind_facts(row, torch).items():
            if isinstance(outcome, str):
                out["kinds"][text] = outcome
            else:
                out["kinds"][text] = [outcome[0], outcome[1].tolist()]
    return out


def record_operations(torch):
    """Write the facts of the table."""
    pools = Pools()
    rows = {row.name: recorded_row(row, torch, pools) for row in op_examples.ROWS}
    refused = {name: op_table.refusal(name, torch) for name in op_table.REFUSED}
    meta = {"torch": torch.__version__, "rows": rows, "refused": refused}
    write(OPERATIONS, meta, pools.arrays)


def load_operations():
    """Facts and refusals; facts by row and case as (facts by dtype, exponents), and by kinds."""
    meta, pools = read(OPERATIONS)
    take = Pools(pools).reader()
    rows = {}
    for name, recorded in meta["rows"].items():
        cases = {}
        for case, runs in recorded["cases"].items():
            facts, exponents = {}, []
            for dtype in DTYPES:
                facts[dtype] = [_fact(entry, take) for entry in runs[dtype]]
                if dtype == "float64":
                    exponents = [take("int16", f.values.shape) for f in facts[dtype]]
            cases[case] = facts, exponents
        rows[name] = {**recorded, "cases": cases}
    return rows, meta["refused"]


def _fact(entry, take):
    label, dtype, shape, flags = entry
    kind = "float64" if label == "error" else dtype
    return op_table.Fact(label, dtype, take(kind, tuple(shape)), tuple(flags))


# --- programs ------------------------------------------------------------------------------------


def record_programs(torch):
    """Write the traces of some programs."""
    traces = {}
    for seed in SEEDS:
        program = random_programs.program(seed)
        trace = random_programs.digested(random_programs.run(program, torch))
        traces[seed] = [program_checksum(program), _rounded(trace)]
    write(PROGRAMS, {"torch": torch.__version__, "traces": traces}, {})


def load_programs():
    """Traces by seed, each after the checksum of its program."""
    meta, _ = read(PROGRAMS)
    return {int(seed): trace for seed, trace in meta["traces"].items()}


def program_checksum(program):
    return zlib.crc32(json.dumps(program).encode())


def _rounded(x):
    if isinstance(x, float):
        return float(f"{x:.14g}")
    return [_rounded(y) for y in x] if isinstance(x, list | tuple) else x


def main():
    """Record everything, or what the arguments name: operations, programs."""
    torch = installed_torch()
    DATA.mkdir(exist_ok=True)
    wanted = sys.argv[1:] or ["operations", "programs"]
    if "operations" in wanted:
        record_operations(torch)
    if "programs" in wanted:
        record_programs(torch)
    for path in (OPERATIONS, PROGRAMS):
        if path.exists():
            print(f"{path.name}: {path.stat().st_size / 1024:.0f} kB")


if __name__ == "__main__":
    main()
