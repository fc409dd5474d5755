"""A call as a value, with arguments that can be replaced one by one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


class Valid(NamedTuple):
    """The arguments of a valid call, and a use of its result.

    ``then`` is for functions that return a function: it calls that function.
    """

    args: tuple[Any, ...]
    words: Mapping[str, Any]
    then: Callable[[Any], Any] | None = None

    def applied(self, function: Callable[..., Any]) -> Any:
        """Return the result of the call."""
        result = function(*self.args, **self.words)
        return result if self.then is None else self.then(result)

    def with_bad(self, place: int | str, value: Any) -> Valid:
        """Return the call with another value at a position or keyword."""
        if isinstance(place, str):
            return self._replace(words={**self.words, place: value})
        return self._replace(args=(*self.args[:place], value, *self.args[place + 1 :]))

    def and_then(self, then: Callable[[Any], Any]) -> Valid:
        """Return the call whose result is used by ``then``."""
        return self._replace(then=then)


def valid(*args: Any, **words: Any) -> Valid:
    """Return the call with these arguments."""
    return Valid(args, words)
