"""Shards of Dask's, on its schedulers and on a cluster of two processes, one of which dies."""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys
import time

import dask
import dask.array as da
import numpy as np
import pytest
from distributed import Client, LocalCluster

import numeric as nm
import symdiff as sd
from numeric.shards import ShardError

X, y, w = sd.symbol("X", ("n", 3)), sd.symbol("y", "n"), sd.symbol("w", 3)
z = X @ w
LOSS = sd.mean(sd.softplus(z) - y * z) + sd.sum(w**2) / 8 + sd.std(z)
RNG = np.random.default_rng(5)
ROWS = 240
ARRAYS = RNG.normal(size=(ROWS, 3)), RNG.normal(size=ROWS)
AT = np.array([0.5, -1.0, 0.25])
# Nothing in the order of additions is left to BLAS here: on several threads its bits may differ.
PRODUCTS = sd.mean(sd.softplus(sd.sum(X * w, axis=1)) - y * sd.sum(X * w, axis=1)) + sd.std(y)


def arrays(chunks=30):
    x, target = ARRAYS
    return da.from_array(x, chunks=(chunks, -1)), da.from_array(target, chunks=chunks)


def pieces(chunks=30):
    return [[a[i : i + chunks] for i in range(0, ROWS, chunks)] for a in ARRAYS]


@pytest.fixture(scope="module")
def cluster():
    """Two workers of one thread each, and a client."""
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster,
        Client(cluster) as client,
    ):
        client.run(logging.getLogger("distributed").setLevel, logging.CRITICAL)
        yield client


def check_extremes():
    """Which rows are extreme comes back to the workers; Delayed rows show their dtype late."""
    scaled = (X - sd.mean(X, axis=0)) / sd.std(X, axis=0)
    f = sd.max(scaled @ w) - sd.min(scaled @ w)
    rows, at = ARRAYS[0].astype(np.float32), AT.astype(np.float32)
    R = (ARRAYS[0] - ARRAYS[0].mean(0)) / ARRAYS[0].std(0)
    slope = R[np.argmax(R @ AT)] - R[np.argmin(R @ AT)]
    S = nm.sharded(f, [X, w], over="n")
    whole = da.from_array(rows, chunks=(30, -1))
    late = [dask.delayed(np.copy)(part) for part in np.split(rows, 8)]
    for shards in (whole, whole[whole[:, 0] < 99], late):
        value, gw = S.value_and_grad(shards, at, wrt="w")
        assert value.dtype == gw.dtype == np.float32
        np.testing.assert_allclose(gw, slope, rtol=1e-5)


def test_extremes_of_chunks():
    with dask.config.set(scheduler="threads"):
        check_extremes()


@pytest.mark.slow
def test_extremes_on_a_cluster(cluster):
    check_extremes()


@pytest.mark.parametrize("scheduler", ["synchronous", "threads"])
def test_chunks_are_shards(scheduler):
    S, F = nm.sharded(LOSS, [X, y, w], over="n"), nm.lower(LOSS, [X, y, w])
    with dask.config.set(scheduler=scheduler):
        value, gw = S.value_and_grad(*arrays(), AT, wrt="w")
        product = S.hvp(np.ones(3), *arrays(), AT, wrt=w)
    expected = F.value_and_grad(*ARRAYS, AT, wrt=w)
    np.testing.assert_allclose(value, expected[0], rtol=1e-13)
    np.testing.assert_allclose(gw, expected[1], rtol=1e-12)
    np.testing.assert_allclose(product, F.hessian(*ARRAYS, AT, wrt=w).sum(axis=1), rtol=1e-11)


def test_a_cluster_computes_the_bits_of_threads_for_all_that_dask_has(cluster):
    S = nm.sharded(PRODUCTS, [X, y, w], over="n")
    xs, ys = pieces()
    expected = repr(S.value_and_grad(xs, ys, AT, wrt="w"))
    delayed = [dask.delayed(part) for part in xs]
    futures = cluster.scatter(ys)
    for data in (arrays(), (delayed, futures), (delayed, ys), (xs, futures)):
        assert repr(S.value_and_grad(*data, AT, wrt="w")) == expected


def test_bits_do_not_depend_on_the_number_of_workers(cluster):
    data = arrays(chunks=17)
    S = nm.sharded(LOSS, [X, y, w], over="n")
    workers = sorted(cluster.scheduler_info()["workers"])
    found = []
    for some in (workers, workers[:1], workers[1:]):
        with dask.annotate(workers=some, allow_other_workers=False):
            found.append(repr(S.value_and_grad(*data, AT, wrt="w")))
    assert found[0] == found[1] == found[2]


@pytest.mark.slow
def test_a_worker_that_dies_is_done_without(cluster):
    """Its shards are computed again, and so is what they are made of."""
    S = nm.sharded(LOSS, [X, y, w], over="n")
    expected = repr(S.value_and_grad(*arrays(), AT, wrt="w"))
    pids = cluster.run(os.getpid)
    victim = sorted(pids.values())[0]

    def slow(part, pid):
        time.sleep(0.05)
        if os.getpid() == pid:
            os.kill(pid, signal.SIGKILL)
        return part

    xs, ys = pieces()
    deadly = [dask.delayed(slow)(part, victim) for part in xs]
    assert repr(S.value_and_grad(deadly, ys, AT, wrt="w")) == expected
    cluster.wait_for_workers(2)
    assert victim not in cluster.run(os.getpid).values()


def test_lengths_that_dask_does_not_know_are_counted(cluster):
    x, target = arrays()
    known = target > -1
    S = nm.sharded(LOSS, [X, y, w], over="n")
    chosen = ARRAYS[1] > -1
    expected = nm.lower(LOSS, [X, y, w])(*(a[chosen] for a in ARRAYS), AT)
    np.testing.assert_allclose(S(x[known], target[known], AT), expected, rtol=1e-13)


def test_rows_that_dask_does_not_know_are_counted_once(cluster):
    walks = []
    by_rows = sd.sum(sd.tanh(y / sd.sum(y**0)))
    S = nm.sharded(by_rows, [y], over="n", progress=lambda *done: walks.append(done))
    first, second = ([dask.delayed(part) for part in pieces(80)[1]] for _ in range(2))
    value = S(first)
    assert walks == [(1, 3), (2, 3), (3, 3)] * 2  # rows, then values
    assert S(first) == value
    assert len(walks) == 9
    assert S(second[:2]) != value
    assert len(walks) == 13


def test_progress_of_each_kind_of_scheduler(cluster):
    for scheduler in (None, "threads"):
        told = []
        S = nm.sharded(
            LOSS,
            [X, y, w],
            over="n",
            progress=lambda done, total, told=told: told.append((done, total)),
        )
        with dask.config.set(scheduler=scheduler):
            S(*arrays(60), AT)
        assert told == [(1, 4), (2, 4), (3, 4), (4, 4)] * 2


def test_errors_name_the_shard(cluster):
    S = nm.sharded(LOSS, [X, y, w], over="n")
    xs, ys = pieces(60)
    with pytest.raises(ShardError, match=r"shard 2: ValueError.*X has 10, y has 60") as failure:
        S([*xs[:2], dask.delayed(xs[2][:10]), xs[3]], ys, AT)
    assert failure.value.shard == 2
    single = [*ys[:3], dask.delayed(ys[3].astype(np.float32))]
    with pytest.raises(
        TypeError, match=r"y is float64 \(n\) in shard 2 and float32 \(n\) in shard 3"
    ):
        S(xs, single, AT)


def test_a_failing_shard_ends_the_pass_that_tells_its_progress(cluster):
    told = []
    S = nm.sharded(LOSS, [X, y, w], over="n", progress=lambda *done: told.append(done))
    bad = [dask.delayed(np.ones)((3, 2)) for _ in range(6)]
    with pytest.raises(ShardError, match=r"shard \d: ShapeError"):
        S(bad, [np.ones(3)] * 6, AT)
    assert told == []


def test_chunks_that_do_not_line_up():
    S = nm.sharded(LOSS, [X, y, w], over="n")
    x, target = arrays()
    with pytest.raises(ValueError, match="X has 8, y has 4"):
        S(x, target.rechunk(60), AT)
    with pytest.raises(ValueError, match="shard 0: X has 30 rows, y has 40"):
        S(x, target.rechunk(((40, 20, *[30] * 6),)), AT)
    with pytest.raises(ValueError, match=r"along \[1\]: write X.rechunk\(\{1: -1\}\)"):
        S(x.rechunk((30, 1)), target, AT)


def test_rows_that_are_read_from_files(tmp_path):
    x, target = arrays()
    S = nm.sharded(LOSS, [X, y, w], over="n")
    expected = repr(S(x, target, AT))
    da.to_npy_stack(str(tmp_path / "stack"), x)
    assert repr(S(da.from_npy_stack(str(tmp_path / "stack")), target, AT)) == expected
    pytest.importorskip("zarr")
    x.to_zarr(str(tmp_path / "x.zarr"))
    assert repr(S(da.from_zarr(str(tmp_path / "x.zarr")), target, AT)) == expected


@pytest.mark.slow
def test_without_dask_the_extra_is_named():
    code = (
        "import sys; sys.modules['dask'] = None\n"
        "import numeric as nm, symdiff as sd, numpy as np\n"
        "y = sd.symbol('y', 'n')\n"
        "S = nm.sharded(sd.sum(y), [y], over='n')\n"
        "print(S([np.ones(2), np.ones(3)]))\n"
        "class Delayed: __module__ = 'dask.delayed'\n"
        "S([Delayed()])\n"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert run.stdout == "5.0\n"
    assert 'data of Dask\'s needs Dask: pip install "symdiff-numeric[dask]"' in run.stderr


@pytest.mark.slow
def test_an_array_of_dask_for_all_shards_is_computed_once():
    computed = []

    def made():
        computed.append(1)
        return AT

    whole = da.from_delayed(dask.delayed(made)(), AT.shape, AT.dtype)
    S = nm.sharded(LOSS, [X, y, w], over="n")
    xs, ys = pieces()
    with dask.config.set(scheduler="synchronous"):
        assert S(xs, ys, whole) == S(xs, ys, AT)
    assert computed == [1]
