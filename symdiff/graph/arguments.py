"""Argument checks of public functions: each wrong argument is refused by name.

``door`` wraps a public function.  A call that succeeds costs one ``try``.  When a call fails,
``door`` compares the arguments with the function's annotations.  The error names the first argument
that does not fit, its value and the expected type.  Errors with other causes pass unchanged.

``as_expr``, ``axes_of`` and other readers inside functions name the function too; their messages
stay as they are.
"""

from __future__ import annotations

import ast
import dis
import inspect
import os
import re
import sys
from collections.abc import Callable, Iterable, Mapping
from functools import cache, wraps
from itertools import cycle
from math import inf
from operator import index
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, cast

import numpy as np
from numpy.exceptions import AxisError

from symdiff.errors import NotAdditive, NotDifferentiable, ParseError
from symdiff.graph import number
from symdiff.graph.axes import shape_text
from symdiff.graph.leaves import as_expr, checked_dtype, checked_shape
from symdiff.graph.lengths import Length, LengthLetter
from symdiff.graph.node import Node

if TYPE_CHECKING:
    from types import TracebackType

    from numpy.typing import NDArray

    from symdiff.graph.expr import Expr

_Function = TypeVar("_Function", bound=Callable[..., Any])

_REFUSALS = TypeError, ValueError, IndexError, NotImplementedError
# These errors point into a text or name a part of a formula or a point: the message is complete.
_ABOUT_FORMULAS = NotAdditive, NotDifferentiable, ParseError
# The library's folders identify its frames; code cannot change the folder by the contents of a
# frame.
_LIBRARY = tuple([f"{Path(__file__).parents[2] / name}{os.sep}" for name in ("symdiff", "numeric")])
_LARGEST = 2**63  # annotations of ints that count something or number axes
DEEPEST = 64  # the deepest nesting of lists: NumPy's arrays have no more axes


def door(function: _Function) -> _Function:
    """Wrap ``function`` so that its refusals name the function and the argument.

    >>> def total(x: float, axis: "int | None" = None) -> float:
    ...     return x + axis
    >>> door(total)(1.0, "rows")
    Traceback (most recent call last):
    TypeError: total: argument 'axis' expects an int or None, got 'rows' (str)
    """

    @wraps(function)
    def call(*args: Any, **words: Any) -> Any:
        __tracebackhide__ = True  # pytest then shows the line of the user's test
        try:
            # A call without keywords skips their unpacking, which halves the cost of the door.
            return function(*args, **words) if words else function(*args)
        except Exception as error:
            refusal = refused(function, args, words, error)
            try:
                if refusal is error:
                    raise
                raise refusal from foreign(error)
            finally:
                # the error's traceback holds this frame: a reference here would make a cycle
                del refusal

    return cast("_Function", call)


def names_arguments(function: _Function) -> _Function:
    """Mark a function that names its arguments in every refusal, so that it needs no door."""
    function.names_arguments = True  # type: ignore[attr-defined]
    return function


def doors(namespace: Mapping[str, Any], names: Iterable[str]) -> dict[str, Any]:
    """The public functions of a namespace by name, each behind one door."""
    functions = {name: namespace[name] for name in names if inspect.isfunction(namespace[name])}
    behind = {}
    for function in functions.values():
        if hasattr(function, "names_arguments") or hasattr(function, "public"):
            continue
        function.public = behind[function] = call = door(function)
        # pickle looks the door up here: the plain name in the module is the function's.
        call.__qualname__ = f"{function.__qualname__}.public"
    return {name: behind.get(function, function) for name, function in functions.items()}


def put_doors_on_methods(cls: type, functions: Mapping[str, Any]) -> None:
    """Put doors before the public methods of a class, except functions that name their arguments.

    Operators get no doors.
    """
    for name, method in list(vars(cls).items()):
        needs_door = inspect.isfunction(method) and name[0] != "_"
        if needs_door and not hasattr(functions.get(name), "names_arguments"):
            setattr(cls, name, door(method))


def refused(
    function: Callable[..., Any],
    args: tuple[Any, ...],
    words: Mapping[str, Any],
    error: Exception,
) -> Exception:
    """The error to raise where a call of ``function`` raised ``error``.

    A refusal of this library keeps its message, with the function and the argument in front.  An
    error that Python or NumPy raised inside tells the caller nothing.  ``refused`` replaces it with
    a description of the argument that does not fit.  Where all arguments fit, the error stays.
    """
    name = function.__name__
    if isinstance(error, (*_ABOUT_FORMULAS, MemoryError)):
        return error
    is_refusal = isinstance(error, _REFUSALS) or type(error) is RuntimeError
    is_refusal = is_refusal and _is_raised_here(error.__traceback__)
    if is_refusal and re.match(rf"{re.escape(name)}\b", str(error)):
        return error
    if is_refusal and isinstance(error, AxisError):
        return AxisError(error.axis, error.ndim, name)  # type: ignore[arg-type]  # both are there
    argument, reason = _unfit(function, args, words)
    if not is_refusal:
        return error if reason is None else reason
    if error.args and isinstance(error.args[0], str):
        where = f"{name}: argument {argument!r}" if argument else name
        error.args = (f"{where}: {error.args[0]}", *error.args[1:])
    return error


_RAISE = dis.opmap["RAISE_VARARGS"]


def _is_raised_here(traceback: TracebackType | None) -> bool:
    """Whether a ``raise`` statement of this library raised, and no foreign function led to it."""
    code = None
    while traceback is not None:
        frame, place = traceback.tb_frame, traceback.tb_lasti
        if not frame.f_code.co_filename.startswith(_LIBRARY):
            return False
        code, traceback = frame.f_code.co_code, traceback.tb_next
    return code is not None and code[place] == _RAISE


def foreign(error: Exception) -> Exception | None:
    """Return the error if code outside this library, its dependencies and Python led to it.

    It becomes the cause of the refusal that replaces it: a method of an argument failed for a
    reason that no annotation states.  For other errors return None.
    """
    skipped = (*_LIBRARY, *(_folder(name) for name in ("numpy", "sympy") if name in sys.modules))
    python = _folder("os")
    traceback = error.__traceback__
    while traceback is not None:
        file = traceback.tb_frame.f_code.co_filename
        traceback = traceback.tb_next
        if file.startswith((*skipped, "<frozen ", "<numeric")):
            continue
        # Installed packages lie inside Python's own folder.
        if not file.startswith(python) or "-packages" in file[len(python) :]:
            return error
    return None


def _folder(module: str) -> str:
    return f"{Path(str(sys.modules[module].__file__)).parent}{os.sep}"


def _unfit(
    function: Callable[..., Any], args: tuple[Any, ...], words: Mapping[str, Any]
) -> tuple[str, Exception | None]:
    """The first argument that does not fit its annotation, and the error that describes it."""
    signature = inspect.signature(function)
    try:
        bound = signature.bind(*args, **words)
    except TypeError:  # Python's message names the missing or surplus argument
        return "", None
    for name, value in bound.arguments.items():
        parameter = signature.parameters[name]
        kind = kind_of(str(parameter.annotation))
        for item in value if parameter.kind is parameter.VAR_POSITIONAL else (value,):
            reason = kind.reason(item)
            if reason is not None:
                raised = ValueError if isinstance(reason, _WrongValue) else TypeError
                return name, raised(f"{function.__name__}: argument {name!r}{reason}")
    return "", None


def whole(function: str, argument: str, value: object, wanted: str = "an int") -> int:
    """An argument that is one int.

    >>> whole("roll", "shift", np.int8(3))
    3
    >>> whole("roll", "shift", 0.5)
    Traceback (most recent call last):
    TypeError: roll: argument 'shift' expects an int, got 0.5 (float)
    """
    if value.__class__ is int or value.__class__ is bool:  # the function checks the value itself
        return value
    try:
        if not isinstance(value, Node):
            return index(value)  # type: ignore[arg-type]  # index says what is none
    except TypeError as error:
        raise unfit(function, argument, wanted, value) from foreign(error)
    raise unfit(function, argument, wanted, value)


def boolean(function: str, argument: str, value: object) -> bool:
    """An argument that is True or False.

    >>> boolean("lower", "exact_order", np.True_)
    True
    >>> boolean("lower", "exact_order", "no")
    Traceback (most recent call last):
    TypeError: lower: argument 'exact_order' expects a bool, got 'no' (str)
    """
    if not isinstance(value, bool | np.bool_):
        raise unfit(function, argument, "a bool", value)
    return bool(value)


def natural(function: str, argument: str, value: object) -> int:
    """An argument that is one int, and not negative."""
    number = whole(function, argument, value)
    if number < 0:
        raise ValueError(f"{function}: argument {argument!r} expects an int >= 0, got {number}")
    return number


def wholes(
    function: str,
    argument: str,
    value: object,
    texts: type | tuple[()] = (),
    wanted: str = "an int or a tuple of ints",
) -> tuple[Any, ...]:
    """An argument that is one int or several; ``texts`` is a class of lengths allowed as well.

    >>> wholes("sum", "axis", 1), wholes("sum", "axis", [0, 2])
    ((1,), (0, 2))
    >>> wholes("reshape", "shape", ("n", 2), str)
    ('n', 2)
    """
    if value.__class__ is tuple:  # the common case: ints alone
        for x in value:
            if x.__class__ is not int and not isinstance(x, texts):
                break
        else:
            return value
    elif value.__class__ is int:
        return (value,)
    many = isinstance(value, list | tuple | range) or (isinstance(value, np.ndarray) and value.ndim)
    return tuple(
        [
            x if isinstance(x, texts) else whole(function, argument, x, wanted)
            for x in (value if many else (value,))  # type: ignore[attr-defined]  # a sequence
        ]
    )


def parts_or_places(function: str, argument: str, value: object) -> int | tuple[Any, ...]:
    """An argument that is a number of parts, or the positions between them (ints or lengths)."""
    many = isinstance(value, list | tuple | range) or (isinstance(value, np.ndarray) and value.ndim)
    if many:
        return wholes(function, argument, value, Length)
    return whole(function, argument, value, "an int or a list of places")


def real(function: str, argument: str, value: object) -> float:
    """An argument that is one real number, as a float.

    >>> real("quantile", "q", 1)
    1.0
    """
    if not number.is_number(value):
        raise unfit(function, argument, "a real number", value)
    try:
        return float(value)  # type: ignore[arg-type]  # it is a number
    except OverflowError:
        raise ValueError(
            f"{function}: argument {argument!r} is beyond all floats: {described(value)}"
        ) from None


def tolerance(function: str, argument: str, value: object) -> float:
    """An argument that is a tolerance: a finite number, 0 or more.

    >>> tolerance("odeint", "rtol", 1e-8)
    1e-08
    >>> tolerance("odeint", "rtol", -1)
    Traceback (most recent call last):
    ValueError: odeint: argument 'rtol' expects a finite number >= 0, got -1 (int)
    """
    number = real(function, argument, value)
    if not 0 <= number < inf:
        raise ValueError(
            f"{function}: argument {argument!r} expects a finite number >= 0, got "
            f"{described(value)}"
        )
    return number


def reals(function: str, argument: str, value: object) -> NDArray[Any]:
    """An argument that is an array of real numbers, or lists of them.

    >>> reals("pack", "x", [1, 2]).tolist()
    [1, 2]
    """
    wanted = "an array of real numbers"
    if not isinstance(value, Node):
        try:
            array = np.asarray(value)
        except (TypeError, ValueError) as error:  # rows of several lengths, or no sequence
            raise unfit(function, argument, wanted, value) from foreign(error)
        if array.dtype.kind in "fiub":
            return array
    raise unfit(function, argument, wanted, value)


def expressions(function: str, argument: str, value: object) -> list[Expr]:
    """An argument that is an expression or several.

    >>> import symdiff as sd
    >>> expressions("nodes", "outputs", sd.symbol("x"))
    [x]
    >>> expressions("nodes", "outputs", [sd.symbol("x"), 1])
    Traceback (most recent call last):
    TypeError: nodes: argument 'outputs' expects an expression or a list of expressions, got 1 (int)
    """
    wanted = "an expression or a list of expressions"
    if isinstance(value, Node):
        return [value]  # type: ignore[list-item]  # every node is an Expr
    if value.__class__ is list:
        parts = value
    elif isinstance(value, str | bytes | Mapping) or not np.iterable(value):
        raise unfit(function, argument, wanted, value)
    else:
        parts = list(value)
    for part in parts:
        if not isinstance(part, Node):
            raise unfit(function, argument, wanted, part)
    return parts


def unfit(function: str, argument: str, wanted: str, value: object) -> TypeError:
    """The error for an argument of a wrong type."""
    return TypeError(f"{function}: argument {argument!r} expects {wanted}, got {described(value)}")


def described(value: object) -> str:
    """A value by content and type, for messages: ``'x' (str)``, ``array of shape (2, 3)``.

    >>> described("x"), described(None), described(np.ones((2, 3)))
    ("'x' (str)", 'None', 'array of shape (2, 3) and dtype float64')
    """
    if value is None:
        return "None"
    if isinstance(value, np.ndarray):
        masked = "masked " if isinstance(value, np.ma.MaskedArray) else ""
        return f"{masked}array of shape {shape_text(value.shape)} and dtype {value.dtype}"
    try:
        text = number.shortened(value)
    except Exception:  # an object whose repr fails is refused all the same
        text = "a value"
    if isinstance(value, Node):
        return f"{text} (expression of shape {shape_text(value.shape)})"
    return f"{text} ({type(value).__name__})"


# What annotations mean ----------------------------------------------------------------------------


class _WrongValue(str):
    """A reason about the value of an argument of the right type."""

    __slots__ = ()


class Kind(NamedTuple):
    """The values that an annotation admits.

    ``read`` raises TypeError or ValueError for other values.  ``says`` states whether its message
    describes the fault; if not, the error states ``wanted``.
    """

    wanted: str
    read: Callable[[Any], object]
    says: bool = False
    plural: str = ""

    def fits(self, value: object) -> bool:
        """Whether a value is of this kind."""
        try:
            self.read(value)
        except Exception:  # a value of a foreign class may raise any error here
            return False
        return True

    def reason(self, value: object) -> str | None:
        """The fault of a value, to follow the name of the argument; None if it has none."""
        try:
            self.read(value)
        except ValueError as error:
            text = f": {error}" if self.says else self._expected(value)
            return _WrongValue(text)
        except TypeError as error:
            return f": {error}" if self.says else self._expected(value)
        except Exception:  # see `fits`
            return self._expected(value)
        return None

    def _expected(self, value: object) -> str:
        return f" expects {self.wanted}, got {described(value)}"


def _read_int(value: object) -> None:
    if isinstance(value, Node):
        raise TypeError
    if not -_LARGEST <= index(value) < _LARGEST:  # type: ignore[arg-type]  # index says what is none
        raise ValueError


def _read_float(value: object) -> None:
    if not number.is_number(value):
        raise TypeError
    try:
        float(value)  # type: ignore[arg-type]  # it is a number
    except OverflowError:
        raise ValueError from None


def _instance(*classes: type) -> Callable[[object], None]:
    def read(value: object) -> None:
        if not isinstance(value, classes):
            raise TypeError

    return read


def _read_bool(value: object) -> None:
    if not isinstance(value, bool | np.bool_) and not (isinstance(value, int) and value in (0, 1)):
        raise TypeError


def _read_function(value: object) -> None:
    if not callable(value):
        raise TypeError


def _read_dim(value: object) -> None:
    if not isinstance(value, str | Length | LengthLetter):
        _read_int(value)


def _read_values(value: object) -> None:
    _each(value, as_expr, 0)


def _each(value: object, read: Callable[[Any], object], depth: int) -> None:
    if depth > DEEPEST:
        raise ValueError(f"lists are nested more than {DEEPEST} deep")
    if isinstance(value, list | tuple):
        for item in value:
            _each(item, read, depth + 1)
    else:
        read(value)


_ANYTHING = Kind("anything", lambda value: None)
_OPERAND = Kind("an expression, a number or an array", as_expr, True, "expressions")
_INT = Kind("an int", _read_int, plural="ints")
_LENGTH = Kind("an int or the name of a length", _read_dim, plural="lengths")
_NONE = Kind("None", _instance(type(None)))

_KINDS: dict[str, Kind] = {
    "object": _ANYTHING,
    "Any": _ANYTHING,
    "Operand": _OPERAND,
    "Expr": Kind("an expression", _instance(Node), plural="expressions"),
    "Values": Kind(
        "an expression, a number, an array or a list of them", _read_values, True, "arrays"
    ),
    "int": _INT,
    "float": Kind("a real number", _read_float, plural="real numbers"),
    "bool": Kind("True or False", _read_bool),
    "str": Kind("a string", _instance(str), plural="strings"),
    "None": _NONE,
    "Dim": _LENGTH,
    "Length": Kind("a length", _instance(Length, LengthLetter)),
    "Dtype": Kind("float, int or bool", checked_dtype, says=True),
    "int | str | Sequence[Dim]": Kind("a length or a tuple of lengths", checked_shape, says=True),
    "Callable": Kind("a function", _read_function),
    "Index": Kind("an array of ints", lambda value: np.asarray(value).astype(np.intp)),
    "NDArray": Kind("an array", _instance(np.ndarray)),
}
_ALIASES = {"Axis": "int | tuple[int, ...] | None"}


def _items(value: Any) -> Iterable[Any]:
    """The items to check: one is enough for an array of numbers, whose dtype covers all."""
    if isinstance(value, np.ndarray):
        looked_at = value.ravel()[: None if value.dtype == object else 1]
        return list(looked_at.tolist())
    return value if isinstance(value, list | tuple) else ()


@cache
def kind_of(annotation: str) -> Kind:
    """The kind that an annotation admits; an unknown annotation admits every value."""
    if annotation in _KINDS:
        return _KINDS[annotation]
    try:
        tree = ast.parse(annotation, mode="eval").body
    except SyntaxError:
        return _ANYTHING
    return _kind(tree)


def _kind(tree: ast.expr) -> Kind:
    if isinstance(tree, ast.BinOp):
        return _union(list(_parts(tree)))
    if isinstance(tree, ast.Constant):
        return _NONE if tree.value is None else _kind(ast.parse(str(tree.value), mode="eval").body)
    if isinstance(tree, ast.Name):
        alias = _ALIASES.get(tree.id)
        return _KINDS.get(tree.id, _ANYTHING) if alias is None else kind_of(alias)
    if isinstance(tree, ast.Subscript) and isinstance(tree.value, ast.Name):
        return _generic(tree.value.id, tree.slice)
    return _ANYTHING


def _parts(tree: ast.expr) -> Iterable[ast.expr]:
    if isinstance(tree, ast.BinOp):
        yield from _parts(tree.left)
        tree = tree.right
    yield tree


def _union(trees: list[ast.expr]) -> Kind:
    kinds = [_kind(tree) for tree in trees]
    if any(kind is _ANYTHING for kind in kinds):
        return _ANYTHING
    *firsts, last = [kind.wanted for kind in kinds]
    wanted = f"{', '.join(firsts)} or {last}"
    speaking = [kind for kind in kinds if kind is not _NONE]

    def read(value: object) -> None:
        if any(kind.fits(value) for kind in kinds):
            return
        if len(speaking) == 1:
            speaking[0].read(value)
        if any(isinstance(kind.reason(value), _WrongValue) for kind in kinds):
            raise ValueError
        raise TypeError

    return Kind(wanted, read, len(speaking) == 1 and speaking[0].says)


def _generic(name: str, inner: ast.expr) -> Kind:
    if name == "Literal":
        options = [ast.literal_eval(x) for x in getattr(inner, "elts", [inner])]

        def choose(value: object) -> None:
            if not isinstance(value, str) or value not in options:
                raise ValueError

        return Kind(" or ".join(map(repr, options)), choose)
    if name in ("Mapping", "dict"):
        return Kind("a dictionary", _instance(Mapping))
    if name not in ("Sequence", "Iterable", "tuple", "list"):
        return _KINDS.get(name, _ANYTHING)
    parts = inner.elts if isinstance(inner, ast.Tuple) else [inner]
    last = parts[-1]
    fixed = name == "tuple" and not (isinstance(last, ast.Constant) and last.value is ...)
    kinds = [_kind(part) for part in (parts if fixed else parts[:1])]

    def read(value: Any) -> None:
        if isinstance(value, list | tuple | range):
            if fixed and len(value) != len(kinds):
                raise ValueError
        elif isinstance(value, Node | np.ndarray) and name != "tuple":
            if not np.ndim(value):  # type: ignore[arg-type]  # both have it
                raise TypeError
        elif name != "Iterable" or isinstance(value, str | bytes) or not np.iterable(value):
            raise TypeError
        for kind, x in zip(cycle(kinds), _items(value), strict=False):
            kind.read(x)

    of = kinds[0].plural or kinds[0].wanted
    several = f"tuple of {len(kinds)}" if fixed else "tuple of" if name == "tuple" else "list of"
    return Kind(f"a {several} {of}", read)
