"""Contexts that set a context variable, for a ``with`` statement or for a decorated function.

They hold for the thread or asynchronous task that enters them.  The variable's value remembers the
one ``below`` it, so that a context has no state: it nests, and may be used many times at once.
"""

from __future__ import annotations

import functools
import inspect
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Generator
    from contextvars import ContextVar

F = TypeVar("F", bound="Callable[..., Any]")


class Context:
    """A context that changes ``variable``; also a decorator of functions, generators, coroutines.

    The values of the variable have an attribute ``below``, the value to come back to.
    """

    __slots__ = ()
    variable: ClassVar[ContextVar[Any]]

    def changed(self, outer: Any) -> Any:
        """The value inside, where ``outer`` is in force outside; ``outer`` is its ``below``."""
        raise NotImplementedError

    def check(self) -> None:
        """Raise where this may not be entered: called by ``__enter__``."""

    def __enter__(self) -> None:
        self.check()
        outer = self.variable.get()
        inside = self.changed(outer)
        try:
            self.variable.set(inside)
        except BaseException:  # an interrupt, of which `__exit__` would never hear
            self.variable.set(outer)
            raise

    def __exit__(self, *_: object) -> None:
        value = self.variable.get()
        self.variable.set(value.below or value)  # the outermost value is below nothing

    def __call__(self, function: F) -> F:
        """``function``, run inside the context: also a generator or coroutine function.

        Raises TypeError for an asynchronous generator function, and for what is not a function.
        """
        if not callable(function) or inspect.isasyncgenfunction(function):
            raise TypeError(f"cannot decorate {function!r}; use a `with` statement inside it")
        if inspect.iscoroutinefunction(function):

            @functools.wraps(function)
            async def coroutine(*args: Any, **kwargs: Any) -> Any:
                with self:
                    return await function(*args, **kwargs)

            return coroutine  # type: ignore[return-value]
        if inspect.isgeneratorfunction(function):

            @functools.wraps(function)
            def generator(*args: Any, **kwargs: Any) -> Any:
                return (yield from _steps(self, function(*args, **kwargs)))

            return generator  # type: ignore[return-value]

        @functools.wraps(function)
        def plain(*args: Any, **kwargs: Any) -> Any:
            with self:
                return function(*args, **kwargs)

        return plain  # type: ignore[return-value]


def _steps(inside: Context, inner: Generator[Any, Any, Any]) -> Generator[Any, Any, Any]:
    # The value holds while the generator runs, and not for its consumer between two items; what the
    # generator's body does to the variable is its own, and waits for it with it.
    variable = inside.variable
    own = inside.changed(variable.get())
    resume, value = inner.send, None
    while True:
        outer = variable.get()
        try:
            variable.set(own)
            item = resume(value)
        except StopIteration as stop:
            return stop.value
        finally:
            own = variable.get()
            variable.set(outer)
        try:
            resume, value = inner.send, (yield item)
        except GeneratorExit:
            outer = variable.get()
            try:
                variable.set(own)
                inner.close()
            finally:
                variable.set(outer)
            raise
        except BaseException as error:  # whatever the consumer throws in is the generator's
            resume, value = inner.throw, error
