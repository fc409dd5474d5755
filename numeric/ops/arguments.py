"""Explain the failures of public functions by arguments that do not match their annotations.

Functions of Tensors do not check arguments in advance: many take less time than a check would.
``explained`` puts one frame around a function.  Some failures do not name the argument: a list has
no ``_array``, NumPy does not know a dtype.  Then the frame compares the arguments with the
annotations, and names the first that differs, in PyTorch's words.  The frame does not change calls
that succeed, errors that the library raises itself, or errors of user functions.
"""

from __future__ import annotations

import functools
import inspect
import opcode
import re
import sys
from operator import index
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, cast

import numpy as np

from numeric.eager import fast_paths
from numeric.eager.dtypes import dtype as Dtype  # noqa: N812
from numeric.eager.refusals import FRAMES, is_library, is_ours, refuse
from numeric.eager.tensor import Tensor
from numeric.ops.dim_arguments import by_axis, is_index
from symdiff import functions
from symdiff.graph.arguments import foreign
from symdiff.graph.expr import Expr

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from types import CodeType, TracebackType

F = TypeVar("F", bound="Callable[..., Any]")


def explained(function: F, name: str = "", *, method: bool = False, label: str = "") -> F:
    """Wrap ``function`` in a frame that explains its failures by its arguments.

    Args:
        function: its annotations are read once a call has failed.
        name: the public name, if that is not the function's own.
        method: positions are counted from the argument after ``self``.
        label: the name in messages, if that is not the public one.
    """
    given: Any = function
    if given.__code__ is _BY_AXIS:
        framed: F = by_axis(explained(given.__wrapped__, name, method=method, label=label))
        return framed
    name = name or function.__name__
    early = _full_name(function) in _KEEPING

    def explain(values: dict[str, Any], error: Exception | None = None) -> None:
        if error is None:
            text = _wrong(function, label or name, values, method)[0]
        else:
            text = _refusal(error, function, label or name, values, method)
        if text:  # the exception has no name here: with its traceback it would be a cycle
            raise TypeError(text) from None if error is None else foreign(error)

    def write(function: F) -> Callable[..., Any]:
        parameters = inspect.signature(function, follow_wrapped=False).parameters.values()
        called.__code__ = _frame(_written(parameters), early)
        return cast("Callable[..., Any]", called)

    explain.write = write  # type: ignore[attr-defined]
    called: Any = functools.wraps(function)(_unwritten(function, explain))
    called.__defaults__, called.__kwdefaults__ = given.__defaults__, given.__kwdefaults__
    called.__name__ = name
    return cast("F", called)


def _unwritten(_function: Callable[..., Any], _explain: Any) -> Callable[..., Any]:
    """Return a frame that its first call replaces, so that imports are fast: most are never called.

    Its code is replaced in one step, so that other threads run the old or the new code.  Python
    requires the same free variables in both.
    """

    def called(*args: Any, **words: Any) -> Any:
        return _explain.write(_function)(*args, **words)

    return called


_BY_AXIS = by_axis(re.escape).__code__  # the frame of a renamed argument is inside its wrapper


def _written(parameters: Iterable[inspect.Parameter]) -> tuple[str, str, str]:
    """Return parameters as they are written in a definition, in a call, and in a dict."""
    defined, called, given = [], [], []
    starred = False
    for p in parameters:
        if p.kind is p.KEYWORD_ONLY and not starred:
            defined.append("*")
        stars = "*" if p.kind is p.VAR_POSITIONAL else "**" if p.kind is p.VAR_KEYWORD else ""
        starred = starred or p.kind in (p.VAR_POSITIONAL, p.KEYWORD_ONLY)
        defined.append(f"{stars}{p.name}{'' if p.default is p.empty else '=None'}")
        called.append(f"{p.name}={p.name}" if p.kind is p.KEYWORD_ONLY else f"{stars}{p.name}")
        given.append(f"'{p.name}': {p.name}")
    return ", ".join(defined), ", ".join(called), ", ".join(given)


@functools.cache
def _frame(texts: tuple[str, str, str], early: bool) -> CodeType:
    """Return the code of a frame around a function with these parameters.

    The frame has the function's own parameters: passing ``*args`` and ``**kwargs`` on costs a tenth
    of the time of a mean, this frame a fiftieth.  ``early`` checks arguments before the call.
    """
    defined, called, given = texts
    # Names without the unusual ones are passed on as they are; to unpack none of them costs, too.
    plain = re.sub(r", \*\*\w+$", "", called)
    rest = called[len(plain) + 4 :]
    branch = f"            if {rest}:\n                return _function({called})\n" if rest else ""
    text = (
        "def frame(_function, _explain):\n"
        f"    def called({defined}):\n"
        f"        {f'_explain({{{given}}})' if early else 'pass'}\n"
        "        try:\n"
        f"{branch}"
        f"            return _function({plain})\n"
        "        except Exception as _error:\n"
        f"            _explain({{{given}}}, _error)\n"
        "            raise\n"
        "    return called\n"
    )
    names: dict[str, Any] = {}
    exec(compile(text, FRAMES, "exec"), names)  # names of parameters
    return cast("CodeType", names["frame"](None, None).__code__)


_PACKAGES = tuple(
    f"numeric.{package}." for package in ("autograd", "eager", "linalg", "nn", "ops", "tracing")
)
# The fastest functions: a frame costs a tenth of their time, and they check their operands.
_UNFRAMED = {
    *(f"numeric.ops.arithmetic.{name}" for name in ("add", "mul", "sub")),
    *(
        f"numeric.eager.tensor.Tensor.{name}"
        for name in ("add", "mul", "requires_grad_", "size", "stride", "sub", "to")
    ),
}
# What keeps its arguments for later, where a wrong one would show late, or where it is of no use.
_KEEPING = {
    *(f"numeric.func.{name}" for name in ("grad", "grad_and_value", "hessian", "jacfwd", "jacrev")),
    *("numeric.autograd.derivatives.grad", "numeric.autograd.functional.hessian"),
    *("numeric.tracing.vmap.vmap", "numeric.autograd.function.once_differentiable"),
    *(f"numeric.autograd.anomaly.{name}" for name in ("detect_anomaly", "set_detect_anomaly")),
    "numeric.eager.printing.set_printoptions",
}


def _full_name(function: Callable[..., Any]) -> str:
    """Return the module and name of a function: names alone are not unique."""
    return f"{function.__module__}.{function.__qualname__}"


_framed: dict[object, Any] = {}  # by function, and by framed function


def explain(home: str) -> None:
    """Let the public functions of a module explain failures, there and where they are defined.

    A module that imported a function before has it without a frame.  So operations call one another
    without frames, and only the user's calls have one.
    """
    names = vars(sys.modules[home])
    for name in names["__all__"]:
        function = names.get(name)
        if not inspect.isfunction(function) or _full_name(function) in _UNFRAMED:
            continue
        here = function.__module__ == home or function.__module__.startswith(_PACKAGES)
        if here and function not in _framed and _needs_frame(function):
            _define(function)
        names[name] = _framed.get(function, function)


def _define(function: Any) -> None:
    """Let a function be explained in the module that defines it, by all its names there."""
    module = function.__module__
    in_linalg = module.startswith("numeric.linalg.") and not module.endswith("_names")
    framed = explained(function, label=f"linalg_{function.__name__}" if in_linalg else "")
    _framed[function] = _framed[framed] = framed
    names = vars(sys.modules[module])
    names.update({name: framed for name, thing in names.items() if thing is function})


def explain_methods(cls: type) -> None:
    """Let the public methods of a class with arguments be explained, but not its operators."""
    for name, member in list(vars(cls).items()):
        # By where users find it: subtract is the function of sub, and is named in its messages.
        full_name = f"{cls.__module__}.{cls.__qualname__}.{name}"
        if not inspect.isfunction(member) or full_name in _UNFRAMED:
            continue
        if not _needs_frame(member, 1):
            continue
        if name == "__init__":
            setattr(cls, name, explained(member, name, method=True, label=cls.__name__))
        elif name[0] != "_":
            setattr(cls, name, explained(member, name, method=True))
            vars(cls)[name].__qualname__ = f"{cls.__qualname__}.{name}"  # by which pickles find it


def _needs_frame(function: Any, skipped: int = 0) -> bool:
    """Whether annotations describe arguments that the function does not check itself.

    Functions with a short way check theirs, and so do those that take lengths one by one.
    """
    if function.__globals__ is vars(fast_paths):  # its __module__ is the one that binds it
        return False
    # Read off the function itself: a signature takes six times as long, at every import.
    plain: Any = inspect.unwrap(function)
    code, annotations = plain.__code__, plain.__annotations__
    count = code.co_argcount + code.co_kwonlyargcount
    rest = bool(code.co_flags & inspect.CO_VARARGS)
    count += rest + bool(code.co_flags & inspect.CO_VARKEYWORDS)
    if rest:
        several = code.co_varnames[code.co_argcount + code.co_kwonlyargcount]
        if annotations.get(several) in ("Dims", "SizeLike"):
            return False
    names = [name for name in code.co_varnames[skipped:count] if name in annotations]
    return any(_kinds(annotations[name]) for name in names)


# Where an exception comes from ------------------------------------------------------------------

_RAISE = opcode.opmap["RAISE_VARARGS"]
_PROTOCOL = re.compile("__(?!call__)\\w+__")  # methods that Python calls for an operator


def _origin(error: Exception) -> TracebackType | None:
    """Return the innermost frame of an exception; None if user code or the call itself raised it.

    Python explains a call with a wrong number of arguments.  An error of an operator or of the
    conversion of a foreign value is not an error of the user's function.
    """
    tb = error.__traceback__
    assert tb is not None
    if tb.tb_next is None:
        return None
    foreign = False
    while tb.tb_next is not None:
        tb = tb.tb_next
        code = tb.tb_frame.f_code
        if not foreign and not is_ours(code.co_filename):
            if _PROTOCOL.fullmatch(code.co_name) is None:
                return None
            foreign = True
    return tb


def _is_said(
    error: Exception, origin: TracebackType, name: str, argument: str, value: object
) -> bool:
    """Whether a ``raise`` statement of the library already explains the error.

    It does if it names the function, the argument, or the value, as some messages of PyTorch.  A
    message of an inner function about its own argument does not count.
    """
    code, text = origin.tb_frame.f_code, str(error)
    if code.co_filename == __file__ or not is_library(code.co_filename):
        return False
    if code.co_code[origin.tb_lasti] != _RAISE:
        return False
    of_argument = re.match(r"(\w+)(?:\(\))?: argument ", text)  # PyTorch's words, and symdiff's
    if of_argument:
        return of_argument[1] == name
    names, came = f"{re.escape(name)}|{re.escape(argument)}", re.escape(type(value).__name__)
    said = rf"(?<!\w)({names})(?!\w)|\b(got|not)( an element of type|:)? (<class ')?{came}\b"
    return re.search(said, text) is not None


# What annotations ask for -----------------------------------------------------------------------


class Kind(NamedTuple):
    """The values that an argument may have.

    ``of`` is the kind of the elements of a sequence; ``fits`` then tells whether a value is one.
    """

    word: str
    fits: Callable[[Any], object]
    of: Kind | None = None

    def misfit(self, value: object) -> str:
        """Describe how a value differs from the kind, as the end of a message; "" if it fits."""
        try:
            if not self.fits(value):
                return f" must be {self.word}, not {type(value).__name__}"
        except OverflowError as error:
            return f": {error}"
        if self.of is not None:
            elements: Any = value if isinstance(value, tuple | list) else ()
            for place, x in enumerate(elements):
                try:
                    if self.of.fits(x):
                        continue
                except OverflowError as error:
                    return f": {error} at pos {place}"
                return (
                    f" must be {self.word}, but found element of type {type(x).__name__} at pos "
                    f"{place}"
                )
        return ""


def _is_element(x: Any) -> bool:
    return isinstance(x, Tensor) and x._array.size == 1


def _is_int(x: Any) -> bool:
    if isinstance(x, Tensor):  # in a trace it has no value to ask for
        return _is_element(x) and x._array.dtype.kind in "biu"
    try:
        n = index(x)
    except Exception:  # a value of a foreign class may raise anything
        return False
    if not -(2**63) <= n < 2**63:
        raise OverflowError("Overflow when unpacking long long")
    return True


def _is_number(x: Any) -> bool:
    if isinstance(x, Tensor):
        return _is_element(x)
    if not isinstance(x, int | float | np.number | np.bool):
        return False
    float(x)  # OverflowError for an integer that no float is
    return not isinstance(x, np.complexfloating)


def _is_truth(x: Any) -> bool:
    return isinstance(x, bool | np.bool) or (isinstance(x, int) and x in (0, 1))


def _is_dtype(x: Any) -> bool:
    return isinstance(x, Dtype) or x is bool or x is int or x is float


def _is_array(x: Any) -> bool:
    return isinstance(x, np.ndarray) and x.dtype.kind in "biuf"


def _is_iterable(x: Any) -> bool:
    return hasattr(x, "__iter__") and not isinstance(x, str | bytes | np.ndarray | Tensor | Expr)


def _is_pair(x: Any) -> bool:
    return isinstance(x, tuple | list) and len(x) == 2 and all(map(_is_number, x))


def _of_class(*classes: type) -> Callable[[object], bool]:
    return lambda x: isinstance(x, classes)


_INT = Kind("int", _is_int)
_NUMBER = Kind("Number", _is_number)
_TENSOR = Kind("Tensor", _of_class(Tensor))
_OPTIONAL = Kind("Tensor", _of_class(Tensor, type(None)))
_END = Kind("Tensor", lambda x: hasattr(x, "output_nr"))  # a tensor, or an edge in its place
_SEQUENCE = _of_class(tuple, list)
_DIMS = Kind("int", lambda x: all(map(_is_int, x)) if _SEQUENCE(x) else _is_int(x))
_INTS = Kind("tuple of ints", _SEQUENCE, _INT)
_TENSORS = Kind("tuple of Tensors", _SEQUENCE, _TENSOR)
_ARRAY = Kind("np.ndarray", _is_array)
_DTYPE = Kind("torch.dtype", _of_class(Dtype))

# By the text of annotations; each stands for one or several that an argument may be.
_KINDS: dict[str, tuple[Kind, ...]] = {
    "Tensor": (_TENSOR,),
    "Operand": (_TENSOR, _NUMBER, _ARRAY),
    "int": (_INT,),
    "SupportsIndex": (_INT,),
    "float": (_NUMBER,),
    "bool": (Kind("bool", _is_truth),),
    "str": (Kind("str", _of_class(str)),),
    "Dims": (_INT, _INTS),
    "SizeLike": (_INT, _INTS),
    "Sequence[int]": (_INTS,),
    "Sequence[Tensor]": (_TENSORS,),
    "Iterable[Tensor]": (Kind("tuple of Tensors", _is_iterable, _TENSOR),),
    "Iterable[object]": (Kind("tuple of Tensors", _is_iterable),),
    "End": (_END,),
    "Iterable[End]": (Kind("tuple of Tensors", _is_iterable, _END),),
    "Weights": (_OPTIONAL, Kind("tuple of Tensors", _is_iterable, _OPTIONAL)),
    "Sequence[Dims]": (Kind("tuple of ints", _SEQUENCE, _DIMS),),
    "SupportsInt": (Kind("int", lambda x: _is_element(x) or is_index(x)),),
    "tuple[Tensor, ...]": (_TENSORS,),
    "tuple[int, ...]": (_INTS,),
    "tuple[float, float]": (Kind("tuple of two Numbers", _is_pair),),
    "dtype": (_DTYPE,),
    "dtypes.dtype": (_DTYPE,),
    "DtypeLike": (Kind("torch.dtype", _is_dtype),),
    "np.ndarray": (_ARRAY,),
    "None": (Kind("None", lambda x: x is None),),
}
# By the class alone, whatever stands in its brackets.
_GENERIC = {
    "Callable": (Kind("callable", callable),),
    "dict": (Kind("dict", _of_class(dict)),),
}


def _kinds(annotation: object) -> tuple[Kind, ...]:
    """Return the kinds of a parameter's values; () if they are not known."""
    collected: list[Kind] = []
    for text in str(annotation).split(" | "):
        kinds = _KINDS.get(text) or _GENERIC.get(text.partition("[")[0])
        if kinds is None:
            return ()
        collected += kinds
    return tuple(dict.fromkeys(collected))


def _misfit(annotation: object, value: object) -> str:
    kinds = _kinds(annotation)
    texts = [kind.misfit(value) for kind in kinds]
    if not all(texts) or not kinds:
        return ""
    # The text of a kind of which the value nearly is one, if there is such: a sequence, an integer.
    start = " must be "
    nearly = [t for t in texts if not t.startswith(start) or "but found" in t]
    if nearly:
        return nearly[0]
    words = dict.fromkeys(kind.word for kind in kinds if kind.word not in ("None", "np.ndarray"))
    if "tuple of ints" in words:  # PyTorch does not say that one alone is allowed
        words.pop("int", None)
    return f"{start}{' or '.join(words)}, not {type(value).__name__}"


# The refusal ------------------------------------------------------------------------------------

# Names that some functions have for an argument besides PyTorch's.
_OTHER_NAMES = {"axis": "dim", "keepdims": "keepdim"}


def _refusal(
    error: Exception,
    function: Callable[..., Any],
    name: str,
    values: dict[str, Any],
    method: bool,
) -> str:
    """Return the message for the first argument of a wrong kind; "" if all are right."""
    origin = None if isinstance(error, MemoryError) else _origin(error)
    if origin is None or origin.tb_frame.f_code is refuse.__code__:  # of a trace, with a line
        return ""
    text, argument, value = _wrong(function, name, values, method)
    return "" if text and _is_said(error, origin, name, argument, value) else text


def _wrong(
    function: Callable[..., Any], name: str, values: dict[str, Any], method: bool
) -> tuple[str, str, Any]:
    """Return the message, the argument and its value; the message is "" if no argument is wrong."""
    for parameter, argument, place, value in _arguments(function, values):
        text = _misfit(parameter.annotation, value)
        if text:
            at = f" (position {place - method})" if place else ""
            remedy = ""
            if isinstance(value, Expr) and hasattr(functions, name):
                remedy = f"; of expressions it is sd.{name}"
            return f"{name}(): argument '{argument}'{at}{text}{remedy}", argument, value
    return "", "", None


def _arguments(
    function: Callable[..., Any], values: dict[str, Any]
) -> Iterator[tuple[inspect.Parameter, str, int, Any]]:
    """Return parameters, names, positions (0 for keywords) and values of the passed arguments."""
    parameters = dict(inspect.signature(function).parameters)
    frame = inspect.signature(function, follow_wrapped=False).parameters
    positional = [p for p in parameters.values() if p.kind <= p.POSITIONAL_OR_KEYWORD]
    rest = next((p for p in parameters.values() if p.kind is p.VAR_POSITIONAL), None)
    many = "" if rest is None else rest.name
    for p in parameters.values():  # ``f(*sizes, size=None)``: PyTorch's name is the keyword
        if rest is not None and p.annotation == f"{rest.annotation} | None":
            many = p.name
    given: list[Any] = []
    for p in frame.values():
        value = values[p.name]
        if p.kind is p.VAR_POSITIONAL:
            given += value
        elif p.kind <= p.POSITIONAL_OR_KEYWORD:
            given.append(value)
    for k, value in enumerate(given):
        if k < len(positional):
            if value is not positional[k].default:
                yield positional[k], positional[k].name, k + 1, value
        elif rest is not None:
            yield rest, many, k + 1, value
    for p in frame.values():
        pairs = values[p.name] if p.kind is p.VAR_KEYWORD else {p.name: values[p.name]}
        for key, value in pairs.items() if p.kind >= p.KEYWORD_ONLY else ():
            known = parameters.get(key) or parameters.get(_OTHER_NAMES.get(key, key))
            if known is not None and value is not known.default:
                yield known, key, 0, value
