"""Modes of execution, per thread and per asynchronous task: recording, inference, anomalies.

A mode is an immutable value in one context variable; new threads start with recording on.
"""

from __future__ import annotations

from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, NamedTuple, overload

from symdiff.contexts import Context, F

if TYPE_CHECKING:
    from collections.abc import Callable

    from numeric.eager.record import Record
    from numeric.eager.tensor import Tensor
    from numeric.tracing.trace import Trace


class Mode(NamedTuple):
    """The behaviour of operations beyond computing.

    ``grad``: record operations.  ``inference``: results can never be recorded.  ``anomaly``: each
    record keeps the place of its call; with ``nan``, cotangents are searched for nan, too.
    ``packing``: functions (pack, unpack) for saved tensors; ``sealed``: the error message if these
    are forbidden.  ``tracing``: the trace that receives operations instead of running them.
    ``keeping``: operands of records, by record, so that they stay alive.  ``below``: the mode to
    restore; ``by``: the context that set this mode.
    """

    grad: bool = True
    inference: bool = False
    anomaly: bool = False
    nan: bool = True
    packing: tuple[Callable[[Tensor], object], Callable[[Any], Tensor]] | None = None
    sealed: str | None = None
    tracing: Trace | None = None
    keeping: dict[tuple[Record, int], Tensor] | None = None
    below: Mode | None = None
    by: Context | None = None

    def special(self) -> bool:
        """Whether operations do something else than computing and recording."""
        return bool(
            self.inference
            or self.anomaly
            or self.packing is not None
            or self.tracing is not None
            or self.keeping is not None
        )


# The ordinary mode only records; hot paths compare with it by identity.
RECORD = Mode()

_mode: ContextVar[Mode] = ContextVar("mode", default=RECORD)
current = _mode.get


# The most frequent mode is created once.
_OFF = {"grad": False}
_QUIET = RECORD._replace(grad=False, below=RECORD)


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


class Switch(Context):
    """A context that changes the mode; also a decorator of functions, generators and coroutines."""

    __slots__ = ("changes",)
    variable = _mode

    def __init__(self, **changes: Any) -> None:
        self.changes = changes

    def changed(self, outer: Mode) -> Mode:
        """Return the mode ``outer`` with some fields changed."""
        if outer is RECORD and self.changes == _OFF:
            return _QUIET
        return outer._replace(**self.changes, below=outer, by=self)

    def unmarked(self, inside: Mode) -> Mode:
        """Return the mode outside; the shared quiet mode knows no context to return to."""
        return RECORD if self.changes == _OFF else inside


class Setting(Switch):
    """A switch that acts on creation; leaving it restores the mode before."""

    __slots__ = ("before",)

    def __init__(self, **changes: Any) -> None:
        super().__init__(**changes)
        self.before = _mode.get()
        self.__enter__()

    def __enter__(self) -> None:
        _mode.set(self.before._replace(**self.changes))

    def __exit__(self, *_: object) -> None:
        _mode.set(self.before)

    def __call__(self, function: F) -> F:
        """Wrap ``function`` to run in this mode, and undo the immediate change of the mode."""
        _mode.set(self.before)
        return super().__call__(function)


@overload
def no_grad() -> Switch: ...
@overload
def no_grad(function: F) -> F: ...
def no_grad(function: F | None = None) -> Switch | F:
    """Return a context in which nothing is recorded and no residuals are kept; also a decorator.

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
    """Return a context, inside ``no_grad``, that records operations again; also a decorator.

    >>> with no_grad(), enable_grad():
    ...     is_grad_enabled()
    True
    """
    switch = Switch(grad=True)
    return switch if function is None else switch(function)


def set_grad_enabled(mode: bool) -> Setting:
    """Turn recording on or off from now on; as a context, until it is left; also a decorator.

    >>> with set_grad_enabled(False):
    ...     is_grad_enabled()
    False
    """
    if not isinstance(mode, bool):
        raise TypeError(f"set_grad_enabled: expected a bool, got {mode!r}")
    return Setting(grad=mode)


def inference_mode(mode: Any = True) -> Any:
    """Turn off recording, and make new tensors that no record can keep; also a decorator.

    >>> with inference_mode():
    ...     is_inference_mode_enabled(), is_grad_enabled()
    (True, False)
    """
    if not isinstance(mode, bool):
        return Switch(grad=False, inference=True)(mode)
    return Switch(grad=False, inference=True) if mode else Switch(inference=False, grad=True)
