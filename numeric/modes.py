"""Modes of execution, per thread and per asynchronous task: whether operations are recorded.

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
    """What operations do besides computing.

    ``grad``: they are recorded.  ``inference``: their results can never be.  ``anomaly``: each
    record keeps where it was made; ``nan``: and cotangents are searched for nan.  ``packing``: the
    functions (pack, unpack) through which saved tensors pass; ``sealed``: why they may not, the
    message of the error.  ``tracing``: the trace that operations go to, instead of being done.
    ``keeping``: the operands of what is recorded, by their records, so that they live on.
    ``below``: the mode to come back to; ``by``: the context that set this one.
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


# The mode that is entered most often is made once.
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
        """The mode ``outer`` with some fields changed."""
        if outer is RECORD and self.changes == _OFF:
            return _QUIET
        return outer._replace(**self.changes, below=outer, by=self)

    def unmarked(self, inside: Mode) -> Mode:
        """The value outside: the ordinary one of the mode that was made once, which is by none."""
        return RECORD if self.changes == _OFF else inside


class Setting(Switch):
    """A switch that is already on when it is made; leaving it restores the mode before."""

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


def set_grad_enabled(mode: bool) -> Setting:
    """Recording on or off from now on; as a context, until it is left; also a decorator.

    >>> with set_grad_enabled(False):
    ...     is_grad_enabled()
    False
    """
    if not isinstance(mode, bool):
        raise TypeError(f"set_grad_enabled: expected a bool, got {mode!r}")
    return Setting(grad=mode)


def inference_mode(mode: Any = True) -> Any:
    """As ``no_grad``, and new tensors can never become part of a record; also a decorator.

    >>> with inference_mode():
    ...     is_inference_mode_enabled(), is_grad_enabled()
    (True, False)
    """
    if not isinstance(mode, bool):
        return Switch(grad=False, inference=True)(mode)
    return Switch(grad=False, inference=True) if mode else Switch(inference=False, grad=True)
