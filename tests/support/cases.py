"""One test for all cases of a property: a case of microseconds costs milliseconds as an item."""

from __future__ import annotations

import functools
import inspect
import reprlib
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

SHOWN = 20  # failures that are reported with their messages; the others by name


def check_all(
    cases: Iterable[tuple[Any, tuple[Any, ...]]], check: Callable[..., object], *, least: int
) -> None:
    """Call ``check(*arguments)`` for each case, pairs of a name and arguments; report all failures.

    Raises AssertionError, which names each case that failed, from the first failure; and if there
    are fewer than ``least`` cases, so that none is lost when a table that generates them changes.
    A module that cannot be imported is not a failure of a case, and raises at once.
    """
    failures: list[tuple[str, BaseException]] = []
    count = 0
    for name, arguments in cases:
        count += 1
        try:
            check(*arguments)
        except (ImportError, SyntaxError):
            raise
        except pytest.skip.Exception as skip:
            raise TypeError(f"{name}: a case must not skip: {skip}") from skip
        except (Exception, pytest.fail.Exception) as error:
            failures.append((str(name), error))
    if failures:
        lines = [f"{len(failures)} of {count} cases fail:"]
        for name, error in failures[:SHOWN]:
            message = str(error).replace("\n", "\n        ")
            lines.append(f"    {name}: {type(error).__name__}: {message}")
        if rest := [name for name, _ in failures[SHOWN:]]:
            lines.append(f"    and {', '.join(rest)}")
        raise AssertionError("\n".join(lines)) from failures[0][1]
    assert count >= least, f"{count} cases, fewer than {least}"


def all_cases(
    names: str | tuple[str, ...],
    values: Iterable[Any],
    *,
    least: int,
    ids: Callable[[Any], object] | None = None,
) -> Callable[[Callable[..., object]], Callable[..., None]]:
    """Replace ``pytest.mark.parametrize`` by one test that checks all values and reports failures.

    ``names`` are one parameter's name, or a tuple of names whose values are tuples.  The other
    parameters of the test stay fixtures, or those of another decorator; all values share one
    instance of a fixture.
    """
    split = (names,) if isinstance(names, str) else names
    rows = [(value,) if isinstance(names, str) else tuple(value) for value in values]

    def title(value: Any) -> str:
        name = getattr(value, "__name__", value) if ids is None else ids(value)
        return name if isinstance(name, str) else reprlib.repr(name)

    def decorate(test: Callable[..., object]) -> Callable[..., None]:
        @functools.wraps(test)
        def check_every_case(**fixtures: Any) -> None:
            check_all(
                (("-".join(map(title, row)), row) for row in rows),
                lambda *row: test(**dict(zip(split, row, strict=True)), **fixtures),
                least=least,
            )

        signature = inspect.signature(test)
        rest = [p for name, p in signature.parameters.items() if name not in split]
        check_every_case.__signature__ = signature.replace(parameters=rest)  # type: ignore[attr-defined]
        return check_every_case

    return decorate
