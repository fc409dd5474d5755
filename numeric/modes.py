"""Modes of execution, per thread and per asynchronous task: ``no_grad``."""

from __future__ import annotations

import functools
import inspect
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

F = TypeVar("F", bound="Callable[..., Any]")

# How many no_grad blocks surround the running code; a depth, so that blocks nest.
_depth: ContextVar[int] = ContextVar("no_grad depth", default=0)


def is_grad_enabled() -> bool:
    """Whether forward keeps residuals: no ``no_grad`` block surrounds the caller.

    >>> is_grad_enabled()
    True
    """
    return _depth.get() == 0


def no_grad() -> NoGrad:
    """A context in which ``Function.forward`` keeps no residuals; also a decorator of functions.

    It holds for the thread or asynchronous task that enters it, and it may be nested.

    >>> with no_grad():
    ...     is_grad_enabled()
    False
    """
    return NoGrad()


class NoGrad:
    """What ``no_grad()`` returns; it has no state, so one object may be used many times at once."""

    __slots__ = ()

    def __enter__(self) -> NoGrad:
        _depth.set(_depth.get() + 1)
        return self

    def __exit__(self, *_: object) -> None:
        _depth.set(_depth.get() - 1)

    def __call__(self, function: F) -> F:
        """``function``, run inside the context: also a generator or coroutine function.

        Raises TypeError for an asynchronous generator function, and for what is not a function.
        """
        if not callable(function) or inspect.isasyncgenfunction(function):
            raise TypeError(f"no_grad: cannot decorate {function!r}; use `with no_grad():` inside")
        if inspect.iscoroutinefunction(function):

            @functools.wraps(function)
            async def coroutine(*args: Any, **kwargs: Any) -> Any:
                with self:
                    return await function(*args, **kwargs)

            return coroutine  # type: ignore[return-value]
        if inspect.isgeneratorfunction(function):

            @functools.wraps(function)
            def generator(*args: Any, **kwargs: Any) -> Any:
                return (yield from self._steps(function(*args, **kwargs)))

            return generator  # type: ignore[return-value]

        @functools.wraps(function)
        def plain(*args: Any, **kwargs: Any) -> Any:
            with self:
                return function(*args, **kwargs)

        return plain  # type: ignore[return-value]

    def _steps(self, inner: Generator[Any, Any, Any]) -> Generator[Any, Any, Any]:
        # The mode holds while the generator runs, and not for its consumer between two items.
        resume, value = inner.send, None
        while True:
            try:
                with self:
                    item = resume(value)
            except StopIteration as stop:
                return stop.value
            try:
                resume, value = inner.send, (yield item)
            except GeneratorExit:
                with self:
                    inner.close()
                raise
            except BaseException as error:  # whatever the consumer throws in is the generator's
                resume, value = inner.throw, error
