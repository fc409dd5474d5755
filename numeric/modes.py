"""Modes of execution, per thread and per asynchronous task: whether operations are recorded.

A mode is an immutable value in one context variable.  Entering a context pushes a changed copy
that remembers the one below, leaving it pops; so contexts nest, may be used many times at once,
and new threads start with recording on.
"""

from __future__ import annotations

import functools
import inspect
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, overload

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

F = TypeVar("F", bound="Callable[..., Any]")


class Mode(NamedTuple):
    """What operations do besides computing.

    ``grad``: they are recorded.  ``inference``: their results can never be.  ``anomaly``: each
    record keeps where it was made; ``nan``: and cotangents are searched for nan.  ``packing``: the
    functions (pack, unpack) through which saved tensors pass; ``sealed``: why they may not, the
    message of the error.  ``tracing``: the trace that operations go to, instead of being done.
    ``keeping``: the operands of what is recorded, by their records, so that they live on.
    ``below``: the mode to come back to.
    """

    grad: bool = True
    inference: bool = False
    anomaly: bool = False
    nan: bool = True
    packing: tuple[Callable[[Any], Any], Callable[[Any], Any]] | None = None
    sealed: str | None = None
    tracing: Any = None
    keeping: dict[Any, Any] | None = None
    below: Mode | None = None

    def special(self) -> bool:
        """Whether more happens, or something else, than computing and recording."""
        return bool(
            self.inference
            or self.anomaly
            or self.packing is not None
            or self.tracing is not None
            or self.keeping is not None
        )


# The ordinary mode, in which nothing but recording is on; hot paths compare with it by identity.
RECORD = Mode()

_mode: ContextVar[Mode] = ContextVar("mode", default=RECORD)
current = _mode.get


def push(**changes: Any) -> None:
    """Enter the current mode with some fields changed."""
    mode = _mode.get()
    if mode is RECORD and changes == _OFF:
        _mode.set(_QUIET)
    else:
        _mode.set(mode._replace(**changes, below=mode))


# The mode that is entered most often is made once.
_OFF = {"grad": False}
_QUIET = RECORD._replace(grad=False, below=RECORD)


def pop() -> None:
    """Leave what ``push`` entered."""
    _mode.set(_mode.get().below or RECORD)


def is_grad_enabled() -> bool:
    """Whether operations are recorded and ``Function.forward`` keeps residuals.

    >>> is_grad_enabled()
    True
    """
    return _mode.get().grad


def is_inference_mode_enabled() -> bool:
    """Whether results are inference tensors, which no record can ever keep.

    >>> is_inference_mode_enabled()
    False
    """
    return _mode.get().inference


class Switch:
    """A context that changes the mode; also a decorator of functions, generators and coroutines.

    It holds for the thread or asynchronous task that enters it; it has no state, so that one
    object may be used many times at once.
    """

    __slots__ = ("changes",)

    def __init__(self, **changes: Any) -> None:
        self.changes = changes

    def __enter__(self) -> None:
        push(**self.changes)

    def __exit__(self, *_: object) -> None:
        pop()

    def __call__(self, function: F) -> F:
        """``function``, run inside the context: also a generator or coroutine function.

        Raises TypeError for an asynchronous generator function, and for what is not a function.
        """
        if not callable(function) or inspect.isasyncgenfunction(function):
            raise TypeError(f"cannot decorate {function!r}; use a `with` statement inside it")
        inside = Switch(**self.changes)
        if inspect.iscoroutinefunction(function):

            @functools.wraps(function)
            async def coroutine(*args: Any, **kwargs: Any) -> Any:
                with inside:
                    return await function(*args, **kwargs)

            return coroutine  # type: ignore[return-value]
        if inspect.isgeneratorfunction(function):

            @functools.wraps(function)
            def generator(*args: Any, **kwargs: Any) -> Any:
                return (yield from _steps(inside, function(*args, **kwargs)))

            return generator  # type: ignore[return-value]

        @functools.wraps(function)
        def plain(*args: Any, **kwargs: Any) -> Any:
            with inside:
                return function(*args, **kwargs)

        return plain  # type: ignore[return-value]


def _steps(inside: Switch, inner: Generator[Any, Any, Any]) -> Generator[Any, Any, Any]:
    # The mode holds while the generator runs, and not for its consumer between two items; what the
    # generator's body does to the mode is its own, and waits for it with it.
    outer = _mode.get()
    own = outer._replace(**inside.changes, below=outer)
    resume, value = inner.send, None
    while True:
        outer = _mode.get()
        _mode.set(own)
        try:
            item = resume(value)
        except StopIteration as stop:
            return stop.value
        finally:
            own = _mode.get()
            _mode.set(outer)
        try:
            resume, value = inner.send, (yield item)
        except GeneratorExit:
            outer = _mode.get()
            _mode.set(own)
            try:
                inner.close()
            finally:
                _mode.set(outer)
            raise
        except BaseException as error:  # whatever the consumer throws in is the generator's
            resume, value = inner.throw, error


class SetGrad(Switch):
    """What ``set_grad_enabled`` returns: the mode is already set; leaving restores the old one."""

    __slots__ = ("before",)

    def __init__(self, enabled: bool) -> None:
        super().__init__(grad=enabled)
        self.before = _mode.get()
        _mode.set(self.before._replace(grad=enabled))

    def __enter__(self) -> None:
        _mode.set(self.before._replace(grad=self.changes["grad"]))

    def __exit__(self, *_: object) -> None:
        _mode.set(self.before)

    def __call__(self, function: F) -> F:
        """``function``, run with the mode; the mode that was set at once is taken back."""
        _mode.set(self.before)
        return super().__call__(function)


@overload
def no_grad() -> Switch: ...
@overload
def no_grad(function: F) -> F: ...
def no_grad(function: F | None = None) -> Switch | F:
    """A context in which nothing is recorded and no residuals are kept; also a decorator.

    Results are leaves that require no gradient.

    >>> with no_grad():
    ...     is_grad_enabled()
    False
    """
    switch = Switch(grad=False)
    return switch if function is None else switch(function)


@overload
def enable_grad() -> Switch: ...
@overload
def enable_grad(function: F) -> F: ...
def enable_grad(function: F | None = None) -> Switch | F:
    """A context, inside ``no_grad``, in which operations are recorded again; also a decorator.

    >>> with no_grad(), enable_grad():
    ...     is_grad_enabled()
    True
    """
    switch = Switch(grad=True)
    return switch if function is None else switch(function)


def set_grad_enabled(mode: bool) -> SetGrad:
    """Recording on or off from now on; as a context, until it is left; also a decorator.

    >>> with set_grad_enabled(False):
    ...     is_grad_enabled()
    False
    """
    if not isinstance(mode, bool):
        raise TypeError(f"set_grad_enabled: expected a bool, got {mode!r}")
    return SetGrad(mode)


def inference_mode(mode: Any = True) -> Any:
    """As ``no_grad``, and new tensors can never become part of a record; also a decorator.

    >>> with inference_mode():
    ...     is_inference_mode_enabled(), is_grad_enabled()
    (True, False)
    """
    if not isinstance(mode, bool):
        return Switch(grad=False, inference=True)(mode)
    return Switch(grad=False, inference=True) if mode else Switch(inference=False, grad=True)
