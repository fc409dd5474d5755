"""Gradients over shards: the cost of a shard, the gain of two processes, a table beyond memory.

    OMP_NUM_THREADS=1 python -m benchmarks.shards [--rows 1000000] [--table 10000000]

- *speed*: value and gradient, and the Hessian, of a logistic loss of ``rows`` x 50 in 4 shards, on
  a cluster of two workers and in one process.  Runs are interleaved; BLAS and lowered code use one
  thread in both;
- *overhead*: the time of shards with one row each, beyond that of their calls;
- *tree*: Dask's scheduler with ``shards`` shards that compute next to nothing;
- *table*: taxi trips, ``table`` rows in files, larger than a worker's memory.  SciPy's L-BFGS fits
  a robust regression on the workers; the Hessian gives standard errors.

It needs the extra ``dask`` and SciPy, and the processes of a cluster.
"""

from __future__ import annotations

import argparse
import logging
import os
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

import numeric as nm
import symdiff as sd

CHUNK = 100_000


def logistic(rows: int) -> tuple[Any, dict[str, np.ndarray]]:
    """Return the loss, its inputs, and data for them."""
    X, y, w = sd.symbol("X", ("n", 50)), sd.symbol("y", "n"), sd.symbol("w", 50)
    z = X @ w
    loss = sd.mean(sd.softplus(z) - y * z) + sd.sum(w**2) / 1000
    rng = np.random.default_rng(0)
    data = {"X": rng.normal(size=(rows, 50)), "w": rng.normal(size=50) / 10}
    data["y"] = (data["X"] @ data["w"] > rng.logistic(size=rows)).astype(float)
    return (loss, [X, y, w]), data


def cut(x: np.ndarray, count: int) -> list[np.ndarray]:
    """Cut an array into shards of nearly equal numbers of rows."""
    return np.array_split(x, count)


def scattered(client: Any, data: dict[str, np.ndarray], count: int) -> list[list[Any]]:
    """Put shards of X and y on workers, equal numbers on one worker, as if it had read them.

    Transferred data may start at any byte, so that each call would copy it; hence the copy here.
    """
    from distributed import wait

    workers = list(client.scheduler_info()["workers"])
    columns: list[list[Any]] = []
    for name in ("X", "y"):
        parts = []
        for i, part in enumerate(cut(data[name], count)):
            at = [workers[i * len(workers) // count]]
            sent = client.scatter(part, workers=at, hash=False)
            parts.append(client.submit(np.array, sent, workers=at, pure=False))
        wait(parts)
        columns.append(parts)
    return columns


def speed(client: Any, rows: int, rounds: int = 7) -> None:
    """Compare two workers with one process."""
    (loss, inputs), data = logistic(rows)
    S = nm.sharded(loss, inputs, over="n")
    F = nm.lower(loss, inputs, threads=1)
    shards = scattered(client, data, 4)
    X, y, w = data["X"], data["y"], data["w"]
    value, gradient = S.value_and_grad(*shards, w, wrt="w")
    expected = F.value_and_grad(X, y, w, wrt="w")
    np.testing.assert_allclose(value, expected[0], rtol=1e-12)
    np.testing.assert_allclose(gradient, expected[1], rtol=1e-9, atol=1e-12)
    for what, one, two in (
        (
            "value and gradient",
            lambda: F.value_and_grad(X, y, w, wrt="w"),
            lambda: S.value_and_grad(*shards, w, wrt="w"),
        ),
        ("Hessian", lambda: F.hessian(X, y, w, wrt="w"), lambda: S.hessian(*shards, w, wrt="w")),
    ):
        pairs = [(_seconds(one), _seconds(two)) for _ in range(rounds)]
        times = " and ".join(f"{median(t) * 1e3:.0f} ms" for t in zip(*pairs, strict=True))
        ratio = median(a / b for a, b in pairs)
        print(f"  speed, {what}, {rows:,} rows of 50: {times}, {ratio:.2f} times (aim 1.7)")


def _seconds(call: Any) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def overhead(client: Any) -> None:
    """Time shards of one row each, which consist of overhead."""
    (loss, inputs), data = logistic(1_000)
    S = nm.sharded(loss, inputs, over="n")
    shards = scattered(client, data, 1_000)
    call = lambda: S.value_and_grad(*shards, data["w"], wrt="w")  # noqa: E731
    call()
    times = [_seconds(call) for _ in range(5)]
    print(f"  overhead: {median(times):.2f} ms a shard (must be at most 5), 1,000 shards")


def tree(count: int) -> None:
    """Time the scheduler for ``count`` shards."""
    y = sd.symbol("y", "n")
    S = nm.sharded(sd.sum(y), [y], over="n")
    row = np.ones(1)
    import dask

    data = [dask.delayed(row, name="row", traverse=False)] * count
    start = time.perf_counter()
    assert S(data) == count
    took = time.perf_counter() - start
    print(f"  tree: {count:,} shards in {took:.1f} s, {took / count * 1e3:.2f} ms each")


# Trips --------------------------------------------------------------------------------------------

FEATURES = ("one", "log distance", "sin hour", "cos hour", "weekend", "rain", "airport", "riders")
TRUE = np.array([1.2, 0.78, -0.12, 0.08, -0.15, 0.11, 0.2, 0.01])


def trips(rows: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Draw trips of a synthetic city: features, and the logarithm of minutes with outliers."""
    rng = np.random.default_rng(seed)
    hour = rng.uniform(0, 24, rows)
    X = np.stack(
        [
            np.ones(rows),
            rng.normal(0.9, 0.7, rows),
            np.sin(hour * np.pi / 12),
            np.cos(hour * np.pi / 12),
            (rng.uniform(size=rows) < 2 / 7).astype(float),
            rng.exponential(0.3, rows),
            (rng.uniform(size=rows) < 0.08).astype(float),
            rng.integers(1, 6, rows).astype(float),
        ],
        axis=1,
    )
    return X, X @ TRUE + 0.25 * rng.standard_t(3, rows)


def robust() -> tuple[Any, list[Any]]:
    """Return the mean negative log-likelihood of a regression with Student's t of 3 degrees."""
    X, y = sd.symbol("X", ("n", len(FEATURES))), sd.symbol("y", "n")
    w, s = sd.symbol("w", len(FEATURES)), sd.symbol("s")
    r = (y - X @ w) * sd.exp(-s)
    return s + 2 * sd.mean(sd.log1p(r**2 / 3)), [X, y, w, s]


def table(client: Any, rows: int, folder: Path) -> None:
    """Fit all trips; the table is written in chunks and read by the workers."""
    import dask.array as da
    from scipy.optimize import minimize

    count = max(rows // CHUNK, 1)
    for name in ("X", "y"):
        (folder / name).mkdir()
    for i in range(count):
        X, y = trips(CHUNK, seed=i)
        np.save(folder / "X" / f"{i}.npy", X)
        np.save(folder / "y" / f"{i}.npy", y)
    size = sum(path.stat().st_size for path in folder.rglob("*.npy"))
    limit = min(w["memory_limit"] for w in client.scheduler_info()["workers"].values())
    sizes = f"{size / 2**20:.0f} MiB; a worker may use {limit / 2**20:.0f}"
    print(f"  table: {count * CHUNK:,} trips, {sizes}")

    def read(name: str, tail: tuple[int, ...]) -> Any:
        from dask import delayed

        load = delayed(np.load)
        parts = [
            da.from_delayed(load(str(folder / name / f"{i}.npy")), (CHUNK, *tail), dtype=float)
            for i in range(count)
        ]
        return da.concatenate(parts)

    X, y = read("X", (len(FEATURES),)), read("y", ())
    S = nm.sharded(*robust(), over="n")
    k = len(FEATURES)
    calls = 0

    def objective(theta: np.ndarray) -> tuple[float, np.ndarray]:
        nonlocal calls
        calls += 1
        value, (gw, gs) = S.value_and_grad(X, y, theta[:k], theta[k], wrt=["w", "s"])
        print(f"    {calls:3d}  {value:.9f}", end="\r")
        return float(value), np.append(gw, gs)

    start = time.perf_counter()
    fit = minimize(objective, np.zeros(k + 1), jac=True, method="L-BFGS-B", tol=1e-10)
    took = time.perf_counter() - start
    hessian = S.hessian(X, y, fit.x[:k], fit.x[k], wrt="w")
    errors = np.sqrt(np.diag(np.linalg.inv(hessian)) / (count * CHUNK))
    print(f"  table: {calls} values and gradients in {took:.0f} s, {fit.message}")
    for name, w, e, true in zip(FEATURES, fit.x, errors, TRUE, strict=False):
        print(f"    {name:14} {w:9.5f} +- {e:.5f}   true {true}")
    assert np.all(np.abs(fit.x[:k] - TRUE) < 6 * errors)


def main() -> None:
    """Run all benchmarks, or those with sizes other than 0."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--table", type=int, default=10_000_000)
    parser.add_argument("--shards", type=int, default=10_000)
    parser.add_argument("--memory", default="500MB", help="a worker's memory for the table")
    options = parser.parse_args()
    if os.environ.get("OMP_NUM_THREADS") != "1":
        parser.error("set OMP_NUM_THREADS=1, so that BLAS has one thread in each measured process")
    import dask
    from distributed import Client, LocalCluster

    logging.getLogger("distributed").setLevel(logging.ERROR)
    # Workers keep memory, as this process does; by default, Dask returns it after each array.
    dask.config.set({"distributed.nanny.pre-spawn-environ": {"OMP_NUM_THREADS": 1}})
    settings = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": ":0"}
    with LocalCluster(**settings) as cluster, Client(cluster) as client:
        if options.rows:
            overhead(client)
            speed(client, options.rows)
        if options.shards:
            tree(options.shards)
    if options.table:
        with (
            tempfile.TemporaryDirectory() as folder,
            LocalCluster(**settings, memory_limit=options.memory) as cluster,
            Client(cluster) as client,
        ):
            table(client, options.table, Path(folder))


if __name__ == "__main__":
    main()
