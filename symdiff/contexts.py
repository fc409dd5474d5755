"""Contexts that set a context variable, for a ``with`` statement or a decorated function.

They hold for the thread or asynchronous task that enters them.  A value of the variable stores the
value ``below`` it.  So a context has no state: it can nest, and be active many times at once.
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
    """Run ``function`` in a copy of the caller's context: all that it sets ends with the call.

    So contexts that it enters, such as NumPy's ``errstate``, need no exit: an interrupt (Ctrl-C)
    at any point leaves the caller's values unchanged.

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

    The values of the variable have an attribute ``below``, the value to restore, and ``by``, the
    context that set them.

    An interrupt (Ctrl-C) at the beginning of ``__exit__`` leaves the value in force.  The next
    enclosing context restores its own value on exit.  After an outermost ``with`` nothing restores
    it.  Therefore the library itself enters contexts only inside ``contained`` functions.
    """

    __slots__ = ()
    variable: ClassVar[ContextVar[Any]]

    def changed(self, outer: Any) -> Any:
        """Return the value inside the context, with ``outer`` as its ``below``."""
        raise NotImplementedError

    def __enter__(self) -> None:
        outer = self.variable.get()
        inside = self.changed(outer)
        try:
            self.variable.set(inside)
        except BaseException:  # an interrupt: `__exit__` would not run
            self.variable.set(outer)
            raise

    def __exit__(self, *_: object) -> None:
        outer = None
        try:
            value = inside = self.variable.get()
            while (below := value.below) is not None and value.by is not self:
                value = below  # an interrupt left it in force
            outer = below or self.unmarked(inside)  # the outermost value has no `below`
        finally:
            if outer is None:  # an interrupt here
                self.__exit__()
            else:
                self.variable.set(outer)

    def unmarked(self, inside: Any) -> Any:
        """Return the value outside if no value in force is ``by`` this context.

        This context was entered elsewhere, for example by a generator that another task closes, and
        changed no value here.
        """
        return inside

    def __call__(self, function: F) -> F:
        """Run ``function`` inside the context: also a generator or coroutine function.

        Raises TypeError for an asynchronous generator function, and for an object that is no
        function.
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
                return (yield from _step_generator(self, function(*args, **kwargs)))

            return generator  # type: ignore[return-value]

        @functools.wraps(function)
        def plain(*args: object, **kwargs: object) -> Any:
            with self:
                return function(*args, **kwargs)

        return plain  # type: ignore[return-value]


def _step_generator(inside: Context, inner: Generator[Any, Any, Any]) -> Generator[Any, Any, Any]:
    # The value is in force while the generator runs, and not for its consumer between two items.
    # The generator's own changes to the variable are suspended and resumed with it.
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
        except BaseException as error:  # pass on what the consumer throws in
            resume, value = inner.throw, error


# Derivatives at kinks -----------------------------------------------------------------------------

_MODES = ("subgradient", "raise")


class _Choice(NamedTuple):
    mode: str = "subgradient"
    below: _Choice | None = None
    by: Context | None = None


_CONVENTIONS = _Choice()
_choice: ContextVar[_Choice] = ContextVar("kinks", default=_CONVENTIONS)


class kinks(Context):  # noqa: N801  # used as a function
    """A context that selects the derivative at a kink: a convention, or an error.

    ``"subgradient"``, the default, uses the conventions.  Under ``"raise"``, derivatives at a kink
    raise NotDifferentiable, with the function, the element and its value.  This applies to
    Functions lowered under it, and to ``interpret`` started under it.  Kinks are those of

    - abs, norm, std (0), hypot, atan2 (the origin), ``x**y`` for an expression y (at 0**0),
    - maximum, minimum (equal operands), clip (at a bound), max, min (several extremes).

    The check covers derivatives that the Function itself takes (backward, value_and_grad, jacobian
    ...) and derivatives in the expressions from which it was lowered.  Values alone never raise.
    The condition that decides at a kink is a node of its own, also in pickles and other processes.
    It prints like a user's comparison, but is not the same, so users' comparisons never raise.

    Jumps (sign, floor, the border of ``where``) are not kinks, because their derivative leaves no
    trace.  The same holds for the second derivative of abs, which is 0, and for a derivative whose
    symbols had been replaced by numbers.  An element that a selection discards does not count:
    ``where(abs(x) < 1, x**2 / 2, abs(x) - 1/2)`` has a derivative at 0.  There is one limit: it
    counts if its position is lost after a sum or in other axes, as in the Hessian of an array.

    The context holds for the thread or asynchronous task that enters it, and can be nested.  It
    decorates functions, coroutines and generators.  For a generator it holds in the body, not for
    the consumer between two items.  A ``with`` in the body of a generator would hold for the
    consumer, too.  It is refused, unless the generator is itself a context
    (``contextlib.contextmanager``).

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
        """Return this mode, above ``outer``."""
        return _Choice(self.mode, outer, self)

    def __enter__(self) -> None:
        # Only the frame shows that the body is a generator's; no name or value in it is read.
        body = sys._getframe(1)
        if body.f_code.co_flags & (inspect.CO_GENERATOR | inspect.CO_ASYNC_GENERATOR):
            driver = body.f_back
            if driver is None or driver.f_code.co_filename != contextlib.__file__:
                raise RuntimeError(
                    f"kinks: `with` in the generator {body.f_code.co_name} would also hold for "
                    "its consumer between two items; decorate the generator function "
                    f"with @kinks({self.mode!r}), or, if it should hold for the consumer, use "
                    "contextlib.ExitStack().enter_context"
                )
        super().__enter__()


def raising() -> bool:
    """Return whether kinks raise in the current context."""
    return _choice.get().mode == "raise"


# Limits of listed elements ------------------------------------------------------------------------

MOST_EXPRESSIONS = 1_000_000
_EXPRESSION = 100  # memory and time of an expression, in numbers
_left: ContextVar[list[int] | None] = ContextVar("left", default=None)


class allowance:  # noqa: N801  # used as a function
    """A context that limits listed elements, for texts from unknown sources.

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
    """Check a limit before ``name`` makes this many numbers, or expressions, one by one.

    All other objects are only as large as their text.  Raises ValueError beyond the allowance, and
    for more expressions than a computer can make in minutes.
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
