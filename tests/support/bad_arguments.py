"""Wrong values for every argument of every public callable, and the definition of a clear error.

``NAMESPACES`` has a table for each part of the library: one valid call of every public callable,
with every argument.  ``cases`` replaces each argument in turn by each of ``BAD``.  ``fault`` makes
such a call and describes what is wrong with the answer, or returns None:

- a refusal must come from a ``raise`` statement of the library, and its message must name the
  function or the argument;
- no call may run without end, and none may exhaust Python's stack or the memory;
- an accepted value is fine: many of ``BAD`` are right for some argument;
- an error of a user's function that the library calls is the user's own.

``python -m tests.support.bad_arguments sd`` prints every fault of a namespace, by cause.
"""

from __future__ import annotations

import dis
import inspect
import re
import signal
import sys
import traceback
import warnings
from collections import Counter, defaultdict
from datetime import date
from decimal import Decimal
from fractions import Fraction
from inspect import isfunction
from itertools import count
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import sympy as sp

import numeric as nm
import symdiff as sd
from tests.support import bad_calls_nm, bad_calls_sd

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from types import FrameType, TracebackType

    from tests.support.valid_calls import Valid

# Wrong values -------------------------------------------------------------------------------------


class _Class:
    """A class, and an object, unknown to the library."""

    def __repr__(self) -> str:
        return "<an object>"


def _nested_in_itself() -> list[Any]:
    a: list[Any] = []
    a.append(a)
    return a


# Created for every call: a generator can be used once, and an array may be written to.
BAD: dict[str, Callable[[], Any]] = {
    "None": lambda: None,
    "text": lambda: "abc",
    "empty text": lambda: "",
    "bytes": lambda: b"abc",
    "complex": lambda: 1j,
    "nan": lambda: float("nan"),
    "infinity": lambda: float("inf"),
    "half": lambda: 0.5,
    "huge int": lambda: 10**400,
    "huge negative int": lambda: -(10**400),
    "int of 64 bits": lambda: 2**63,
    "negative": lambda: -7,
    "zero": lambda: 0,
    "bool": lambda: True,
    "decimal": lambda: Decimal("0.1"),
    "fraction": lambda: Fraction(1, 3),
    "empty list": list,
    "nested list": lambda: [[1.0, 2.0], [3.0, 4.0]],
    "ragged list": lambda: [1, [2, 3]],
    "list of None": lambda: [None, None],
    "list of texts": lambda: ["a", "b"],
    "list in itself": _nested_in_itself,
    "tuple": lambda: (1, 2),
    "dict": lambda: {"abc": 1},
    "set": lambda: {1, 2},
    "generator": lambda: (k for k in (1, 2)),
    "object": _Class,
    "class": lambda: _Class,
    "type": lambda: int,
    "function of nothing": lambda: lambda: None,
    "function to None": lambda: lambda *args: None,
    "builtin": lambda: len,
    "ellipsis": lambda: ...,
    "slice": lambda: slice(None),
    "module": lambda: np,
    "array of objects": lambda: np.array([None, {}], object),
    "array of texts": lambda: np.array(["a", "b"]),
    "array of dates": lambda: np.array([date(2020, 1, 1)], "datetime64[D]"),
    "array of complex": lambda: np.array([1j, 2]),
    "masked array": lambda: np.ma.masked_array([1.0, 2.0], [False, True]),
    "empty array": lambda: np.array([]),
    "array of nan": lambda: np.array([np.nan, 1.0]),
    "symbol of another shape": lambda: sd.symbol("q", (5, 7)),
    "symbol of a named length": lambda: sd.symbol("r", "rows"),
    "boolean symbol": lambda: sd.symbol("b", 3, dtype=bool),
    "SymPy symbol": lambda: sp.Symbol("z"),
    "SymPy matrix": lambda: sp.Matrix([[1, 2]]),
    "Tensor": lambda: nm.tensor([1.0, 2.0]),
    "Function": lambda: nm.lower(sd.symbol("x"), sd.symbol("x")),
}

# Namespaces ---------------------------------------------------------------------------------------


class Namespace(NamedTuple):
    """An owner of callables by name, dotted names included, and a valid call of each.

    ``arguments`` are names that messages may use for values in ``*args``.
    """

    owner: Callable[[], Any]
    calls: Mapping[str, Callable[[], Valid]]
    arguments: tuple[str, ...] = ()


NAMESPACES: dict[str, Namespace] = {
    "sd": Namespace(lambda: sd, bad_calls_sd.CALLS),
    "Expr": Namespace(lambda: bad_calls_sd.M, bad_calls_sd.METHODS),
    "numeric": Namespace(lambda: nm, bad_calls_nm.CALLS),
    "Function": Namespace(bad_calls_nm.function, bad_calls_nm.FUNCTION, bad_calls_nm.INPUTS),
    "Sharded": Namespace(bad_calls_nm.of_shards, bad_calls_nm.SHARDED, bad_calls_nm.INPUTS),
    "Problem": Namespace(bad_calls_nm.problem, bad_calls_nm.PROBLEM, bad_calls_nm.INPUTS),
    "Equations": Namespace(bad_calls_nm.equations, bad_calls_nm.EQUATIONS, bad_calls_nm.INPUTS),
}


class Case(NamedTuple):
    """A call of a namespace with one bad argument."""

    namespace: str
    function: str
    place: int | str  # the position or the keyword of the argument
    value: str  # the key of BAD

    def __str__(self) -> str:
        return f"{self.namespace}.{self.function}: {self.place}: {self.value}"


def cases(namespace: str, every: int = 1) -> Iterator[Case]:
    """Yield the cases of a namespace; for each argument one bad value in ``every``, in turn."""
    turn = count()
    for name, make in NAMESPACES[namespace].calls.items():
        valid = make()
        for place in (*range(len(valid.args)), *valid.words):
            start = next(turn)
            for k, value in enumerate(BAD):
                if (start + k) % every == 0:
                    yield Case(namespace, name, place, value)


# Answers ------------------------------------------------------------------------------------------


class _TooLong(BaseException):
    """A call that runs without end."""


SECONDS = 10  # seconds of processor time for one call

_LIBRARY = tuple([str(Path(package.__file__).parent) for package in (sd, nm)])
_RAISE = dis.opmap["RAISE_VARARGS"]
_NEVER = RecursionError, MemoryError, KeyError, AssertionError
# Failed checks, and texts that contain the argument but are not formulas, are answers, too.
_ANSWERS = nm.check.GradcheckError, nm.check.GradientError, sd.ParseError
# Python's own messages for calls whose arguments do not match the signature.
_ARITY = re.compile(
    r"missing \d+ required|takes .*arguments?\b|unexpected keyword|multiple values|at least \d+ arg"
)


def fault(case: Case) -> str | None:
    """Describe what is wrong with the answer to a bad argument; None if nothing is."""
    function, valid, words = _call(case)
    value = BAD[case.value]()
    place = valid.args[case.place] if isinstance(case.place, int) else valid.words[case.place]
    if callable(value) and not isfunction(value) and callable(place):
        return None  # the library calls it, so errors are its own, which no frame shows
    return judged(function, valid.with_bad(case.place, value), words)


def valid_result(namespace: str, name: str) -> Any:
    """Return the result of the table's valid call."""
    owner, calls, _ = NAMESPACES[namespace]
    return calls[name]().applied(attrgetter(name)(owner()))


def _call(case: Case) -> tuple[Any, Valid, set[str]]:
    owner, calls, arguments = NAMESPACES[case.namespace]
    function = attrgetter(case.function)(owner())
    valid = calls[case.function]()
    names = {case.function.rpartition(".")[-1], getattr(function, "__name__", case.function)}
    return function, valid, {*names, *arguments, *_argument(function, case.place)}


def _argument(function: Any, place: int | str) -> set[str]:
    """Return the name of the parameter at a place; nothing where Python has no signature."""
    if isinstance(place, str):
        return {place}
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except ValueError:
        return set()
    for parameter in parameters[: place + 1]:
        if parameter.kind is parameter.VAR_POSITIONAL:
            return {parameter.name}
    return {parameters[place].name} if place < len(parameters) else set()


def judged(function: Any, call: Valid, names: set[str]) -> str | None:
    """Describe what is wrong with a call's answer; a refusal must contain one of ``names``."""

    def end(signum: int, frame: FrameType | None) -> None:
        raise _TooLong

    before = signal.signal(signal.SIGVTALRM, end)
    signal.setitimer(signal.ITIMER_VIRTUAL, SECONDS)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            call.applied(function)
    except _TooLong as error:
        return f"runs without end, in {_place(error.__traceback__)}"
    except Exception as error:  # judge every error
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        return _wrong(error, names)
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
    return None


def _wrong(error: Exception, names: set[str]) -> str | None:
    text = str(error)
    if isinstance(error, TypeError) and _ARITY.search(text):
        return None
    if isinstance(error, _ANSWERS) or _is_of_caller(error.__traceback__):
        return None
    shown = f"{type(error).__name__}: {text[:150]}"
    at = _place(error.__traceback__)
    if isinstance(error, _NEVER):
        return f"{shown}, in {at}"
    if not _is_raised_by_library(error.__traceback__):
        return f"{shown}, raised from inside, in {at}"
    if not any(re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text) for name in names):
        return f"{shown}, names none of {sorted(names)}, in {at}"
    return None


def _is_of_caller(tb: TracebackType | None) -> bool:
    """Whether the library had called a user's function, one from the tables of valid calls."""
    files = [frame.f_code.co_filename for frame, _ in traceback.walk_tb(tb)]
    inside = [k for k, file in enumerate(files) if file.startswith(_LIBRARY)]
    return bool(inside) and any("bad_" in Path(file).name for file in files[inside[0] :])


def _is_raised_by_library(tb: TracebackType | None) -> bool:
    """Whether the innermost frame is at a ``raise`` statement of the library."""
    while tb is not None and tb.tb_next is not None:
        tb = tb.tb_next
    if tb is None:
        return False
    code = tb.tb_frame.f_code
    return code.co_filename.startswith(_LIBRARY) and code.co_code[tb.tb_lasti] == _RAISE


def _place(tb: TracebackType | None) -> str:
    """Return the innermost line of the library."""
    frames = [f for f in traceback.extract_tb(tb) if f.filename.startswith(_LIBRARY)]
    if not frames:
        return "no line of the library"
    last = frames[-1]
    root = Path(_LIBRARY[0]).parent
    return f"{Path(last.filename).relative_to(root)}:{last.lineno} {last.name}"


def main(namespace: str, every: int = 1) -> None:
    """Print the faults of a namespace by the line that raises them, the most frequent first."""
    causes: dict[str, list[str]] = defaultdict(list)
    for case in cases(namespace, every):
        wrong = fault(case)
        if wrong is not None:
            causes[wrong.rpartition(", in ")[-1]].append(f"{case} -> {wrong}")
    for cause, faults in sorted(causes.items(), key=lambda item: -len(item[1])):
        print(len(faults), cause)
        for line in faults[:: -(-len(faults) // 4)]:
            print("     ", line[:300])
    kinds = Counter(line.partition(".")[0] for faults in causes.values() for line in faults)
    print(kinds, len(causes), "causes")


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:]))
