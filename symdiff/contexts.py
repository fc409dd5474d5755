"""Contexts that set a context variable, for a ``with`` statement or for a decorated function.

They hold for the thread or asynchronous task that enters them.  The variable's value remembers the
one ``below`` it, so that a context has no state: it nests, and may be used many times at once.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import sys
from contextvars import ContextVar, copy_context
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, ParamSpec, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

F = TypeVar("F", bound="Callable[..., Any]")
_P = ParamSpec("_P")
_T = TypeVar("_T")


def contained(function: Callable[_P, _T]) -> Callable[_P, _T]:
    """``function``, in a copy of the caller's context: what it sets there ends with the call.

    So contexts that it enters, as NumPy's ``errstate``, need no end to be left: an interrupt
    (Ctrl-C) at any place leaves the caller's as they were.

    >>> @contained
    ... def silenced():
    ...     _choice.set(_Choice("raise"))
    ...     return raising()
    >>> silenced(), raising()
    (True, False)
    """

    @functools.wraps(function)
    def inside(*args: _P.args, **kwargs: _P.kwargs) -> _T:
        return copy_context().run(function, *args, **kwargs)

    return inside


class Context:
    """A context that changes ``variable``; also a decorator of functions, generators, coroutines.

    The values of the variable have an attribute ``below``, the value to come back to, and ``by``,
    the context that set them.

    An interrupt (Ctrl-C) just as ``__exit__`` begins leaves the value on.  The next context around
    it that is left comes back to its own value all the same; after an outermost ``with`` nobody
    does.  So what the library itself enters is ``contained``.
    """

    __slots__ = ()
    variable: ClassVar[ContextVar[Any]]

    def changed(self, outer: Any) -> Any:
        """The value inside, where ``outer`` is in force outside; ``outer`` is its ``below``."""
        raise NotImplementedError

    def __enter__(self) -> None:
        outer = self.variable.get()
        inside = self.changed(outer)
        try:
            self.variable.set(inside)
        except BaseException:  # an interrupt, of which `__exit__` would never hear
            self.variable.set(outer)
            raise

    def __exit__(self, *_: object) -> None:
        outer = None
        try:
            value = inside = self.variable.get()
            while (below := value.below) is not None and value.by is not self:
                value = below  # an interrupt left it on
            outer = below or self.unmarked(inside)  # the outermost value is below nothing
        finally:
            if outer is None:  # an interrupt here
                self.__exit__()
            else:
                self.variable.set(outer)

    def unmarked(self, inside: Any) -> Any:
        """The value outside, where none of those in force is ``by`` this context.

        It was entered elsewhere, as by a generator that another task closes, and changed none.
        """
        return inside

    def __call__(self, function: F) -> F:
        """``function``, run inside the context: also a generator or coroutine function.

        Raises TypeError for an asynchronous generator function, and for what is not a function.
        """
        if not callable(function) or inspect.isasyncgenfunction(function):
            raise TypeError(f"cannot decorate {function!r}; use a `with` statement inside it")
        if inspect.iscoroutinefunction(function):

            @functools.wraps(function)
            async def coroutine(*args: object, **kwargs: object) -> Any:
                with self:
                    return await function(*args, **kwargs)

            return coroutine  # type: ignore[return-value]
        if inspect.isgeneratorfunction(function):

            @functools.wraps(function)
            def generator(*args: object, **kwargs: object) -> Any:
                return (yield from _steps(self, function(*args, **kwargs)))

            return generator  # type: ignore[return-value]

        @functools.wraps(function)
        def plain(*args: object, **kwargs: object) -> Any:
            with self:
                return function(*args, **kwargs)

        return plain  # type: ignore[return-value]


def _steps(inside: Context, inner: Generator[Any, Any, Any]) -> Generator[Any, Any, Any]:
    # The value holds while the generator runs, and not for its consumer between two items; what the
    # generator's body does to the variable is its own, and waits for it with it.
    variable = inside.variable
    current = inside.changed(variable.get())
    resume, value = inner.send, None
    while True:
        outer = variable.get()
        try:
            variable.set(current)
            item = resume(value)
        except StopIteration as stop:
            return stop.value
        finally:
            current = variable.get()
            variable.set(outer)
        try:
            resume, value = inner.send, (yield item)
        except GeneratorExit:
            outer = variable.get()
            try:
                variable.set(current)
                inner.close()
            finally:
                variable.set(outer)
            raise
        except BaseException as error:  # whatever the consumer throws in is the generator's
            resume, value = inner.throw, error


# What a derivative at a kink is -------------------------------------------------------------------

_MODES = ("subgradient", "raise")


class _Choice(NamedTuple):
    mode: str = "subgradient"
    below: _Choice | None = None
    by: Context | None = None


_CONVENTIONS = _Choice()
_choice: ContextVar[_Choice] = ContextVar("kinks", default=_CONVENTIONS)


class kinks(Context):  # noqa: N801  # used as a function
    """A context that says what a derivative at a kink is: a convention, or an error.

    ``"subgradient"``, the default everywhere, takes the conventions.  A Function that is lowered
    under ``"raise"``, and ``interpret`` when it starts under it, raise NotDifferentiable, naming
    the function, the element and its value, when a derivative is evaluated at a kink of

    - abs, norm, std (0), hypot, atan2 (the origin), ``x**y`` for an expression y (at 0**0),
    - maximum, minimum (equal operands), clip (at a bound), max, min (several extremes).

    The check is made for derivatives that the Function itself takes (backward, value_and_grad,
    jacobian ...) and for those in the expressions that it was lowered from.  Values alone do not
    raise.  What decides in a derivative is a node of its own, in pickles and other processes, too:
    it reads as what a user may write, and is not the same, so that no comparison of a user's
    raises.  Jumps (sign, floor, the border of ``where``) are no kinks: their derivative leaves no
    trace; neither does an expression's second derivative of abs, which is 0, nor a derivative whose
    symbols numbers have replaced before.  An element that a selection discards does not count:
    ``where(abs(x) < 1, x**2 / 2, abs(x) - 1/2)`` has a derivative at 0.  One limit: it counts where
    its place is lost behind a sum or in other axes, as in the Hessian of an array.

    It holds for the thread or asynchronous task that enters it, may be nested, and decorates
    functions, coroutines and generators; of a generator it holds for the body, not for the consumer
    between two items.  A ``with`` in the body of a generator would hold for the consumer, too, and
    is refused, unless the generator is itself a context (``contextlib.contextmanager``).

    Raises ValueError for another mode, RuntimeError in the body of a generator.

    >>> with kinks("raise"):
    ...     raising()
    True
    """

    __slots__ = ("mode",)
    variable = _choice

    def __init__(self, mode: str) -> None:
        if not isinstance(mode, str) or mode not in _MODES:
            raise ValueError(f"kinks: {mode!r} is neither 'subgradient' nor 'raise'")
        self.mode = mode

    def changed(self, outer: _Choice) -> _Choice:
        """This mode, above ``outer``."""
        return _Choice(self.mode, outer, self)

    def __enter__(self) -> None:
        # Only the frame tells that the body is a generator's; no name or value in it is read.
        body = sys._getframe(1)
        if body.f_code.co_flags & (inspect.CO_GENERATOR | inspect.CO_ASYNC_GENERATOR):
            driver = body.f_back
            if driver is None or driver.f_code.co_filename != contextlib.__file__:
                raise RuntimeError(
                    f"kinks: `with` in the generator {body.f_code.co_name} would also hold for "
                    "whoever consumes it, until it is resumed; decorate the generator function "
                    f"with @kinks({self.mode!r}), or, where it is to hold for the consumer, use "
                    "contextlib.ExitStack().enter_context"
                )
        super().__enter__()


def raising() -> bool:
    """Whether kinks are to raise, here and now."""
    return _choice.get().mode == "raise"


# How much may be listed ---------------------------------------------------------------------------

MOST_EXPRESSIONS = 1_000_000
_EXPRESSION = 100  # an expression takes as much memory and time as so many numbers
_left: ContextVar[list[int] | None] = ContextVar("left", default=None)


class allowance:  # noqa: N801  # used as a function
    """A context in which so many elements may be listed: that of texts, which may be anyone's.

    >>> with allowance(100):
    ...     listed("repeat", 101)
    Traceback (most recent call last):
        ...
    ValueError: repeat: 101 elements are listed one by one; a text may list 100 in all
    """

    __slots__ = ("left", "token")

    def __init__(self, elements: int) -> None:
        self.left = [elements, elements]

    def __enter__(self) -> None:
        self.token = _left.set(self.left)

    def __exit__(self, *_: object) -> None:
        _left.reset(self.token)


def listed(name: str, elements: int = 0, expressions: int = 0) -> None:
    """Called before ``name`` makes that many numbers, or expressions, one by one.

    Everything else that is built is as large as its text.  Raises ValueError beyond the allowance,
    and for more expressions than a computer makes in minutes.
    """
    if expressions > MOST_EXPRESSIONS:
        raise ValueError(
            f"{name}: makes expressions one by one, and no more than {MOST_EXPRESSIONS} of them"
        )
    remaining = _left.get()
    if remaining is None:
        return
    count = elements + _EXPRESSION * expressions
    remaining[0] -= count
    if remaining[0] < 0:
        raise ValueError(
            f"{name}: {count} elements are listed one by one; a text may list {remaining[1]} in all"
        )
