"""Executors of shards: ``concurrent.futures``, or Dask."""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeVar

from numeric.extras import extra
from numeric.shards.subtotals import groups

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from concurrent.futures import Executor

    from numeric.shards.subtotals import ShardProgram, Subtotal

    Progress = Callable[[int, int], object]

_T = TypeVar("_T")


class _Threads(ThreadPoolExecutor):
    """Threads; the caller's own thread if the interpreter cannot start others, as at its end."""

    def submit(self, fn: Callable[..., _T], /, *args: Any, **named: Any) -> Future[_T]:
        """Schedule a call and return its Future."""
        result: Future[_T] = Future()
        pending = [partial(fn, *args, **named)]

        def work() -> None:
            # the call may be queued and run here: only one of them gets it
            with suppress(IndexError):
                call = pending.pop()
                if result.set_running_or_notify_cancel():
                    _settle(result, call)

        try:
            super().submit(work)
        except RuntimeError:
            work()
        return result


def _settle(result: Future[_T], call: Callable[[], _T]) -> None:
    try:
        result.set_result(call())
    except BaseException as error:
        result.set_exception(error)
        if not isinstance(error, Exception):
            raise


def on_executor(
    executor: Executor | None,
    program: ShardProgram,
    shared: tuple[Any, ...],
    shards: Sequence[tuple[Any, ...]],
    progress: Progress | None,
) -> Subtotal:
    """Return the subtotal of all shards; start threads if there is no executor."""
    if executor is None:
        with _Threads() as threads:
            return on_executor(threads, program, shared, shards, progress)
    futures = [executor.submit(program.subtotal, i, shared, *data) for i, data in enumerate(shards)]
    try:
        return program.joined_in_order(_in_order(futures, progress))
    except BaseException:
        for future in futures:
            future.cancel()
        raise


def _in_order(futures: list[Future[Subtotal]], progress: Progress | None) -> Iterator[Subtotal]:
    total = len(futures)
    futures.reverse()  # pop results in order and release each one once it is used
    while futures:
        yield futures.pop().result()
        if progress is not None:
            progress(total - len(futures), total)


def is_of_dask(x: object) -> bool:
    """Whether x is an object of Dask, such as a Delayed or a Future."""
    return type(x).__module__.partition(".")[0] in ("dask", "distributed")


def is_dask_array(x: object) -> bool:
    """Whether x is a Dask array."""
    return is_of_dask(x) and hasattr(x, "to_delayed") and hasattr(x, "chunks")


def by_dask(
    program: ShardProgram,
    shared: tuple[Any, ...],
    shards: Sequence[tuple[Any, ...]],
    progress: Progress | None,
) -> Subtotal:
    """Compute the subtotal of all shards by Dask's current scheduler, as one graph of tasks.

    Workers receive the program and the arguments common to all shards once.  Work of a lost worker
    is computed again.
    """
    from uuid import uuid4

    dask = extra("dask", "data of Dask's", "dask")
    word = uuid4().hex
    tool = dask.delayed(program, name=f"program-{word}", traverse=False)
    same = dask.delayed(shared, name=f"given-{word}", traverse=False)
    tasks: Sequence[Any] = [
        dask.delayed(_subtotal)(tool, i, same, *data, dask_key_name=f"subtotal-{word}-{i}")
        for i, data in enumerate(shards)
    ]
    total, client = len(tasks), None if progress is None else _client()
    if progress is not None and client is not None:
        tasks = client.compute(tasks)
        try:
            for done, future in enumerate(_completed(tasks), start=1):
                if future.status != "finished":
                    future.result()  # raises the error of the shard
                progress(done, total)
        except BaseException:
            client.cancel(tasks)
            raise
    level = 0
    while len(tasks) > 1:
        tasks = [
            dask.delayed(_joined)(tool, list(group), dask_key_name=f"joined-{word}-{level}-{i}")
            for i, group in enumerate(groups(tasks))
        ]
        level += 1
    if progress is None or client is not None:
        return dask.compute(tasks[0])[0]  # type: ignore[no-any-return]
    with _Reports(f"subtotal-{word}", total, progress).callback():
        return dask.compute(tasks[0])[0]  # type: ignore[no-any-return]


def _subtotal(program: ShardProgram, shard: int, shared: tuple[Any, ...], *data: Any) -> Subtotal:
    return program.subtotal(shard, shared, *data)


def _joined(program: ShardProgram, subtotals: Sequence[Subtotal]) -> Subtotal:
    return program.joined(subtotals)


def _client() -> Any:
    """Return the client of Dask's cluster; None if Dask computes in this process."""
    client = getattr(import_module("dask.base").get_scheduler(), "__self__", None)
    return client if hasattr(client, "scheduler_info") else None


def _completed(futures: Sequence[Any]) -> Any:
    return import_module("distributed").as_completed(futures)


class _Reports:
    """Reports to ``progress`` each subtotal that a scheduler of this process has computed."""

    def __init__(self, key: str, total: int, progress: Progress) -> None:
        self.key, self.total, self.progress, self.done = key, total, progress, 0

    def callback(self) -> Any:
        return import_module("dask.callbacks").Callback(posttask=self.posttask)

    def posttask(self, key: object, *_: object) -> None:
        if str(key).startswith(self.key):
            self.done += 1
            self.progress(self.done, self.total)
