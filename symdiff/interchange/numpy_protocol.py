"""Implement NumPy functions for expressions: ``np.sum(np.tanh(x @ w))`` builds a graph.

Two tables map NumPy's callables to functions of this package.  They implement NumPy's protocols
``__array_ufunc__`` and ``__array_function__``.  The tables compare callables by identity, never by
name: ``np.diff`` is the finite difference, ``sd.diff`` the derivative.  A callable in neither table
raises Unsupported, with the reason from ``REFUSED`` or else the nearest name.  Nothing becomes an
object array.
"""

from __future__ import annotations

import inspect
import sys
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from symdiff import functions as f
from symdiff.errors import Unsupported
from symdiff.functions.shaping import assembled
from symdiff.graph.algebra import as_numeric, as_real
from symdiff.graph.arguments import unfit
from symdiff.graph.expr import Expr
from symdiff.graph.leaves import as_expr, constant, number_of
from symdiff.graph.lengths import Length

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from symdiff.graph.expr import Operand


def from_function(fn: Callable[..., Any], /, *symbols: Operand) -> Any:
    """Call the plain NumPy function ``fn`` with expressions in place of arrays; return its result.

    The result is an expression, or a tuple, list or dict of expressions with the structure from
    ``fn``; numbers and arrays in it become constants.  ``fn`` runs once.  Where it decides by
    values, the expression raises an error with the remedy.

    Raises Unsupported for a NumPy function without counterpart; TypeError if ``fn`` assigns to an
    element, needs a truth value, or returns something else.

    >>> import numpy as np
    >>> import symdiff as sd
    >>> x = sd.symbol("x", 3)
    >>> sd.from_function(lambda v: np.sum(np.sin(v) ** 2), x) is sd.sum(sd.sin(x) ** 2)
    True
    """
    try:
        value = fn(*map(as_expr, symbols))
    except ValueError as error:
        if "setting an array element" not in str(error):
            raise
        raise TypeError(
            "from_function: an expression was assigned to an element of an array; build the "
            "result with sd.stack or np.stack, or with sd.index_update(array, key, value)"
        ) from error
    return _convert_results(fn, value)


def _convert_results(fn: Callable[..., Any], value: object) -> Any:
    if isinstance(value, tuple):
        parts = [_convert_results(fn, part) for part in value]
        return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
    if isinstance(value, list):
        return [_convert_results(fn, part) for part in value]
    if isinstance(value, dict):
        return {key: _convert_results(fn, part) for key, part in value.items()}
    try:
        return as_expr(value)
    except TypeError as error:
        name = getattr(fn, "__name__", repr(fn))
        raise TypeError(f"from_function: {name} returned no expression: {error}") from None


# Universal functions ------------------------------------------------------------------------------


def array_ufunc(ufunc: np.ufunc, method: str, inputs: tuple[Any, ...], given: Any) -> Any:
    """Implement ``__array_ufunc__`` for expressions."""
    if not given and method == "__call__":
        # The everyday calls of a ufunc need none of the checks below.
        direct = _DIRECT.get(ufunc)
        if direct is not None and all(x.__class__ in _PLAIN for x in inputs):
            return direct(*inputs)
    for x in inputs:
        if not isinstance(x, Expr | np.ndarray | np.generic) and hasattr(x, "__array_ufunc__"):
            return NotImplemented
    name = _ufunc_name(ufunc)
    for word, value in given.items():
        if word not in ("axis", "keepdims") and not _is_default(word, value):
            raise _refused_word(name, word)
    if method == "__call__":
        for word in ("axis", "keepdims"):
            if not _is_default(word, given.get(word)):
                raise _refused_word(name, word)
        ours = UFUNCS.get(ufunc) or _scipy_function(ufunc)
        if ours is None:
            raise _refusal(ufunc)
        return ours(*map(constant, inputs))
    if method == "outer" and (ours := UFUNCS.get(ufunc)) is not None:
        a, b = map(constant, inputs)
        return ours(f.reshape(a, *a.shape, *(1,) * b.ndim) if b.ndim else a, b)
    table: Any = {"reduce": REDUCTIONS, "accumulate": ACCUMULATIONS}.get(method, {})
    if ufunc not in table:
        raise _refused_method(name, method)
    (x, *rest) = inputs
    axis = rest[0] if rest else given.get("axis", 0)
    words = {"keepdims": True} if given.get("keepdims") else {}
    return table[ufunc](constant(x), axis, **words)


def _ufunc_name(ufunc: np.ufunc) -> str:
    public = getattr(np, ufunc.__name__, None) is ufunc or ufunc in UFUNCS
    return f"np.{ufunc.__name__}" if public else ufunc.__name__


def _refused_method(name: str, method: str) -> Unsupported:
    if method == "at":
        remedy = "it writes into an array; sd.index_add(x, key, value) makes a new expression"
    elif method in ("reduce", "accumulate"):
        table = REDUCTIONS if method == "reduce" else ACCUMULATIONS
        remedy = "expressions have " + ", ".join(f"np.{u.__name__}.{method}" for u in table)
    else:
        remedy = "expressions have the methods reduce, accumulate and outer"
    return Unsupported(f"{name}.{method}: {remedy}")


_REMEDIES = {
    "out": "an expression is not written into an array; use the result (y = y + x, not y += x)",
    "where": "select with sd.where(condition, x, y)",
    "dtype": "the precision is that of the arguments when the expression is evaluated",
    "initial": "combine the result with it",
}


def _refused_word(name: str, word: str) -> Unsupported:
    # An expression has neither memory nor a dtype of its own, so only axis and keepdims apply.
    remedy = f": {_REMEDIES[word]}" if word in _REMEDIES else ""
    return Unsupported(f"{name}: the argument {word}= is not one for expressions{remedy}")


def _is_default(word: str, value: object) -> bool:
    """Whether an argument has its default or another value without effect on expressions."""
    if word == "out":
        return value is None or (isinstance(value, tuple) and all(x is None for x in value))
    if value is None or value is np._NoValue:
        return True
    harmless: tuple[Any, ...] = {
        "where": (True,),
        "order": ("C", "K", "A"),
        "casting": ("same_kind", "unsafe", "safe", "no", "equiv"),
        "subok": (True, False),
        "optimize": (True, False, "greedy", "optimal"),
        "kind": ("quicksort", "mergesort", "heapsort", "stable", "introselect"),
        "stable": (True, False),
        "copy": (True,),
        "overwrite_input": (True, False),
        "norm": ("backward",),
    }.get(word, (False,))
    return any(value is x if isinstance(x, bool) else _same(value, x) for x in harmless)


def _same(value: object, other: object) -> bool:
    return type(value) is type(other) and not isinstance(value, Expr) and bool(value == other)


def _fmax(x: Expr, y: Expr) -> Expr:
    return f.where(f.isnan(x), y, f.where(f.isnan(y), x, f.maximum(x, y)))


def _fmin(x: Expr, y: Expr) -> Expr:
    return f.where(f.isnan(x), y, f.where(f.isnan(y), x, f.minimum(x, y)))


def _logaddexp2(x: Expr, y: Expr) -> Expr:
    log2 = f.log(2)
    return f.logaddexp(x * log2, y * log2) / log2


def _heaviside(x: Expr, at_zero: Expr) -> Expr:
    one = f.where(x > 0, 1, f.where(x < 0, 0, at_zero))
    return f.where(f.isnan(x), x, one)


def _float_power(x: Expr, y: Expr) -> Expr:
    return as_numeric(x) ** as_numeric(y)


def _divmod(x: Expr, y: Expr) -> tuple[Expr, Expr]:
    return f.floor_divide(x, y), f.mod(x, y)


def _modf(x: Expr) -> tuple[Expr, Expr]:
    integral = f.trunc(x)
    return x - integral, integral


def _bitwise(name: str, logical: Callable[..., Expr]) -> Callable[..., Expr]:
    def function(*operands: Expr) -> Expr:
        if any(x.dtype is not bool and number_of(x) not in (0, 1) for x in operands):
            raise Unsupported(f"np.{name}: the bits of numbers; expressions have it of booleans")
        return logical(*operands)

    return function


def _vecdot(x: Operand, y: Operand) -> Expr:
    return f.einsum("...i,...i->...", x, y)


def _matvec(x: Operand, y: Operand) -> Expr:
    return f.einsum("...ij,...j->...i", x, y)


def _vecmat(x: Operand, y: Operand) -> Expr:
    return f.einsum("...i,...ij->...j", x, y)


UFUNCS: dict[np.ufunc, Callable[..., Any]] = {
    np.add: f.add,
    np.subtract: f.subtract,
    np.multiply: f.multiply,
    np.divide: f.divide,
    np.power: f.pow,
    np.float_power: _float_power,
    np.negative: f.negative,
    np.positive: f.positive,
    np.reciprocal: f.reciprocal,
    np.square: f.square,
    np.sqrt: f.sqrt,
    np.cbrt: f.cbrt,
    np.absolute: f.abs,
    np.fabs: f.abs,
    np.sign: f.sign,
    np.floor_divide: f.floor_divide,
    np.remainder: f.mod,
    np.divmod: _divmod,
    np.modf: _modf,
    np.hypot: f.hypot,
    np.exp: f.exp,
    np.exp2: f.exp2,
    np.expm1: f.expm1,
    np.log: f.log,
    np.log1p: f.log1p,
    np.log2: f.log2,
    np.log10: f.log10,
    np.logaddexp: f.logaddexp,
    np.logaddexp2: _logaddexp2,
    np.sin: f.sin,
    np.cos: f.cos,
    np.tan: f.tan,
    np.arcsin: f.asin,
    np.arccos: f.acos,
    np.arctan: f.atan,
    np.arctan2: f.atan2,
    np.sinh: f.sinh,
    np.cosh: f.cosh,
    np.tanh: f.tanh,
    np.arcsinh: f.asinh,
    np.arccosh: f.acosh,
    np.arctanh: f.atanh,
    np.deg2rad: f.deg2rad,
    np.radians: f.deg2rad,
    np.rad2deg: f.rad2deg,
    np.degrees: f.rad2deg,
    np.maximum: f.maximum,
    np.minimum: f.minimum,
    np.fmax: _fmax,
    np.fmin: _fmin,
    np.heaviside: _heaviside,
    np.floor: f.floor,
    np.ceil: f.ceil,
    np.trunc: f.trunc,
    np.rint: f.round,
    np.less: f.less,
    np.less_equal: f.less_equal,
    np.greater: f.greater,
    np.greater_equal: f.greater_equal,
    np.equal: f.equal,
    np.not_equal: f.not_equal,
    np.logical_and: f.logical_and,
    np.logical_or: f.logical_or,
    np.logical_xor: f.logical_xor,
    np.logical_not: f.logical_not,
    np.bitwise_and: _bitwise("bitwise_and", f.logical_and),
    np.bitwise_or: _bitwise("bitwise_or", f.logical_or),
    np.bitwise_xor: _bitwise("bitwise_xor", f.logical_xor),
    np.invert: _bitwise("invert", f.logical_not),
    np.isnan: f.isnan,
    np.isinf: f.isinf,
    np.isfinite: f.isfinite,
    np.conjugate: f.positive,
    np.matmul: f.matmul,
    np.vecdot: _vecdot,
    np.matvec: _matvec,
    np.vecmat: _vecmat,
}
"""The functions of this package for NumPy's universal functions."""

# The everyday calls, array * expression and number * expression, take a shortcut.
_DIRECT = {ufunc: ours for ufunc, ours in UFUNCS.items() if ours.__module__ != __name__}
_PLAIN = frozenset([Expr, np.ndarray, np.float64, float, int])

REDUCTIONS: dict[np.ufunc, Callable[..., Any]] = {
    np.add: f.sum,
    np.multiply: f.prod,
    np.maximum: f.max,
    np.minimum: f.min,
    np.logaddexp: f.logsumexp,
    np.logical_and: f.all,
    np.logical_or: f.any,
}
"""The universal functions whose ``reduce`` accepts expressions."""

ACCUMULATIONS: dict[np.ufunc, Callable[..., Any]] = {
    np.add: f.cumsum,
    np.multiply: f.cumprod,
    np.logaddexp: f.logcumsumexp,
}
"""The universal functions whose ``accumulate`` accepts expressions."""

# Look names up in loaded modules only: a caller that has one of these has imported SciPy.
SCIPY: dict[str, Callable[..., Any]] = {
    "beta": f.beta,
    "betainc": f.betainc,
    "betaln": f.betaln,
    "binom": f.binom,
    "cbrt": f.cbrt,
    "dawsn": f.dawsn,
    "digamma": f.digamma,
    "ellipe": f.ellipe,
    "ellipk": f.ellipk,
    "ellipkm1": f.ellipkm1,
    "entr": f.entr,
    "erf": f.erf,
    "erfc": f.erfc,
    "erfcinv": f.erfcinv,
    "erfcx": f.erfcx,
    "erfinv": f.erfinv,
    "eval_chebyt": f.eval_chebyt,
    "eval_chebyu": f.eval_chebyu,
    "eval_gegenbauer": f.eval_gegenbauer,
    "eval_genlaguerre": f.eval_genlaguerre,
    "eval_hermite": f.eval_hermite,
    "eval_hermitenorm": f.eval_hermitenorm,
    "eval_laguerre": f.eval_laguerre,
    "eval_legendre": f.eval_legendre,
    "exp1": f.exp1,
    "exp2": f.exp2,
    "expi": f.expi,
    "expit": f.sigmoid,
    "expm1": f.expm1,
    "expn": f.expn,
    "fresnel": f.fresnel,
    "gamma": f.gamma,
    "gammainc": f.gammainc,
    "gammaincc": f.gammaincc,
    "gammaln": f.gammaln,
    "gammasgn": f.gammasgn,
    "i0": f.i0,
    "i0e": f.i0e,
    "i1": f.i1,
    "i1e": f.i1e,
    "iv": f.iv,
    "ive": f.ive,
    "j0": f.j0,
    "j1": f.j1,
    "jn": f.jn,
    "jv": f.jv,
    "jve": f.jve,
    "k0": f.k0,
    "k0e": f.k0e,
    "k1": f.k1,
    "k1e": f.k1e,
    "kl_div": f.kl_div,
    "kn": f.kv,
    "kv": f.kv,
    "kve": f.kve,
    "log1p": f.log1p,
    "log_expit": f.log_sigmoid,
    "log_ndtr": f.log_ndtr,
    "logit": f.logit,
    "ndtr": f.ndtr,
    "ndtri": f.ndtri,
    "poch": f.poch,
    "psi": f.digamma,
    "rel_entr": f.rel_entr,
    "rgamma": f.rgamma,
    "shichi": f.shichi,
    "sici": f.sici,
    "xlog1py": f.xlog1py,
    "xlogy": f.xlogy,
    "y0": f.y0,
    "y1": f.y1,
    "yn": f.yn,
    "yv": f.yv,
    "yve": f.yve,
    "_riemann_zeta": f.zeta,
    "_zeta": f.zeta,
}
"""The universal functions of ``scipy.special``, by their names in that module.

A name with an underscore is the ufunc that SciPy's Python function of that name calls.
"""


SCIPY_REFUSED: dict[str, str] = {
    "_lambertw": "sd.lambertw(x, k) where it is real; lambertw of SciPy is complex",
    "cosm1": "-2 * sd.sin(x / 2)**2",
    "exp10": "10**x",
    "loggamma": "sd.gammaln(x) for positive x",
}
"""Unsupported universal functions of ``scipy.special``, with replacements."""


SCIPY_MODULES = ("scipy.special", "scipy.special._ufuncs")


def _scipy_function(ufunc: np.ufunc) -> Callable[..., Any] | None:
    for module in map(sys.modules.get, SCIPY_MODULES):
        for name, ours in SCIPY.items() if module else ():
            if getattr(module, name, None) is ufunc:
                return ours
    return None


def _scipy_name(ufunc: object) -> str | None:
    """The name of one of SciPy's universal functions; None for any other."""
    name = getattr(ufunc, "__name__", "")
    modules = map(sys.modules.get, SCIPY_MODULES)
    from_scipy = any(getattr(module, name, None) is ufunc for module in modules)
    return name if from_scipy and isinstance(ufunc, np.ufunc) else None


# Functions ----------------------------------------------------------------------------------------


class Entry(NamedTuple):
    """The call of our function for one of NumPy's.

    ``places`` and ``words`` are NumPy's parameters, passed by position and by keyword.  A place
    ``"*xs"`` stands for all remaining arguments; ``"x:"`` is an operand, which may be a list of
    numbers.  All other parameters must have values without effect.
    """

    ours: Callable[..., Any]
    places: tuple[str, ...]
    words: tuple[str, ...]


def _entry(ours: Callable[..., Any], places: str, words: str = "") -> Entry:
    return Entry(ours, tuple(places.split()), tuple(words.split()))


def array_function(
    function: Callable[..., Any], types: Sequence[type], args: tuple[Any, ...], given: Any
) -> Any:
    """Implement ``__array_function__`` for expressions."""
    if not all(issubclass(kind, Expr | np.ndarray | np.generic) for kind in types):
        return NotImplemented
    creation = CREATIONS.get(function)
    if creation is not None:
        given = {word: value for word, value in given.items() if value not in (None, "C")}
        try:
            inspect.signature(creation).bind(*args, **given)
        except TypeError as error:
            raise TypeError(f"{_name(function)}(..., like=x) of expressions: {error}") from None
        return creation(*args, **given)
    entry = FUNCTIONS.get(function)
    if entry is None:
        raise _refusal(function)
    name, signature = _name(function), _signature(function, entry)
    # Bind to NumPy's signature first, so that its argument errors stay NumPy's.
    try:
        bound = signature.bind(*args, **given).arguments
    except TypeError as error:
        raise TypeError(f"{name}: {error}") from None
    for parameter in signature.parameters.values():
        if parameter.kind is parameter.VAR_KEYWORD:
            bound.update(bound.pop(parameter.name, {}))
    positions: list[Any] = []
    for place in entry.places:
        word = place.strip("*:")
        if place.startswith("*"):
            positions += bound.pop(word, ())
            continue
        value = bound.pop(word, signature.parameters[word].default)
        if value is np._NoValue or value is inspect.Parameter.empty:
            break
        if place.endswith(":") and isinstance(value, list | tuple):
            value = assembled(value)
        positions.append(value)
    words = {}
    for word, value in bound.items():
        if word in entry.words:
            if value is not None and value is not np._NoValue:
                words[word] = value
        elif not _is_default(word, value) and not _is_the_default(signature, word, value):
            raise _refused_word(name, word)
    return entry.ours(*positions, **words)


def _is_the_default(signature: inspect.Signature, word: str, value: object) -> bool:
    return word in signature.parameters and _same(value, signature.parameters[word].default)


@cache
def _signature(function: Callable[..., Any], entry: Entry) -> inspect.Signature:
    try:
        return inspect.signature(function)
    except ValueError:  # before NumPy 2.4 some C functions have no signature
        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
        names = [place.strip("*:") for place in entry.places] + list(entry.words)
        missing = np._NoValue
        return inspect.Signature([inspect.Parameter(name, kind, default=missing) for name in names])


def _name(function: Any) -> str:
    module = (getattr(function, "__module__", None) or "numpy").replace("numpy", "np")
    return f"{module}.{function.__name__}"


def _refusal(function: Any) -> Unsupported:
    is_ufunc = isinstance(function, np.ufunc)
    name = _ufunc_name(function) if is_ufunc else _name(function)
    reason = REFUSED.get(function)
    if reason is not None:
        return Unsupported(f"{name} of expressions: {reason}")
    scipy = _scipy_name(function)
    if scipy is not None:
        ours = SCIPY_REFUSED.get(scipy)
        instead = f"it is {ours}" if ours else "sd.custom makes an op of it and of its derivative"
        return Unsupported(f"scipy.special.{scipy} takes no expressions: {instead}")
    names = {_ufunc_name(u): None for u in UFUNCS} | {_name(g): None for g in FUNCTIONS}
    import difflib

    (nearest,) = difflib.get_close_matches(name, list(names), 1, cutoff=0.0)
    return Unsupported(f"{name} takes no expressions; the nearest function that does is {nearest}")


def _transpose(x: Operand, axes: Any = None) -> Expr:
    return f.transpose(x) if axes is None else f.transpose(x, tuple(axes))


def _reshape(x: Operand, shape: Any) -> Expr:
    return f.reshape(as_expr(x), *([shape] if np.ndim(shape) == 0 else shape))


def _clip(
    x: Operand,
    a_min: object = None,
    a_max: object = None,
    *,
    min: object = None,
    max: object = None,
) -> Expr:
    return f.clip(x, a_min if min is None else min, a_max if max is None else max)


def _where(condition: Operand, x: object = None, y: object = None) -> Expr:
    if x is None or y is None:
        raise Unsupported("np.where of a condition alone: its shape would depend on values")
    return f.where(condition, x, y)


def _full_like(x: Operand, value: Operand) -> Expr:
    return f.full(as_expr(x).shape, value)


def _linspace(start: Operand, stop: Operand, num: Any, endpoint: bool = True) -> Expr:
    first, last = as_expr(start), as_expr(stop)
    rank = max(first.ndim, last.ndim)
    if isinstance(num, Length):
        steps = f.maximum(num - 1, 1) if endpoint else as_expr(num)
        t: Any = f.reshape(f.arange(num) / steps, (num, *(1,) * rank))
    else:
        t = np.linspace(0, 1, num, endpoint=endpoint).reshape((-1,) + (1,) * rank)
    points: Expr = first * (1 - t) + last * t
    return points


def _arange(start: Any, stop: Any = None, step: int = 1, dtype: Any = None) -> Expr:
    numbers = f.arange(start, stop, step)
    return numbers if dtype is None else astype(numbers, dtype)


def _full(shape: Any, fill_value: Operand, dtype: Any = None) -> Expr:
    filled = f.full(shape, fill_value)
    return filled if dtype in (None, float) else astype(filled, dtype)  # numbers are weak


def _ones(shape: Any, dtype: Any = None) -> Expr:
    return _full(shape, 1, dtype)


def _eye(n: Any, /, M: Any = None, k: int = 0, dtype: Any = None) -> Expr:
    if k or M not in (None, n):
        raise _refused_word("np.eye", "k" if k else "M")
    identity = f.eye(n)
    return identity if dtype in (None, float) else astype(identity, dtype)


def _cross(
    x: Operand,
    y: Operand,
    *,
    axisa: int = -1,
    axisb: int = -1,
    axisc: int = -1,
    axis: int | None = None,
) -> Expr:
    if axis is not None:
        return f.cross(x, y, axis)
    a, b = f.moveaxis(as_expr(x), axisa, -1), f.moveaxis(as_expr(y), axisb, -1)
    return f.moveaxis(f.cross(a, b), -1, axisc)


def astype(x: Operand, dtype: Any) -> Expr:
    """Convert ``x`` to a real, integer or boolean expression: ``np.astype``, and the method."""
    operand = as_expr(x, "astype", "x")
    try:
        kind = np.dtype(dtype)
    except (TypeError, ValueError):
        raise unfit("astype", "dtype", "float, int or bool", dtype) from None
    wanted = {np.dtype(float): float, np.dtype(int): int, np.dtype(bool): bool}.get(kind)
    if wanted is operand.dtype:
        return operand
    if wanted is bool:
        return f.not_equal(operand, 0)
    if wanted is int and operand.dtype is bool:
        return as_numeric(operand)
    if wanted is int:
        raise Unsupported("astype: real numbers as integers; sd.trunc(x) is their whole part")
    if wanted is float:
        return as_real(operand)
    raise Unsupported(
        f"astype: {kind.name}; an expression is real, integer or boolean (float, int or bool), and "
        "its precision is that of the arguments when it is evaluated"
    )


def _unstack(x: Operand, *, axis: int = 0) -> tuple[Expr, ...]:
    return tuple(f.moveaxis(as_expr(x), axis, 0))


def _diagflat(x: Operand, k: int = 0) -> Expr:
    return f.diag(f.ravel(x), k)


def _signed_infinity(sign: int) -> Callable[[Operand], Expr]:
    return lambda x: f.isinf(x) & (as_expr(sign) * x > 0)


def _svd(x: Operand, full_matrices: bool = True, compute_uv: bool = True) -> Any:
    return f.svd(x, full_matrices=full_matrices) if compute_uv else f.svdvals(x)


def _check_uplo(name: str, ours: Callable[..., Any]) -> Callable[..., Any]:
    def function(x: Operand, uplo: str = "L") -> Any:
        # The matrix must be symmetric, so both triangles are equal.
        if uplo not in ("L", "U"):
            raise ValueError(f"np.linalg.{name}: UPLO is {uplo!r}, neither 'L' nor 'U'")
        return ours(x)

    return function


def _matrix_norm(x: Operand, *, ord: Any = "fro", keepdims: bool = False) -> Expr:
    return f.norm(x, ord, (-2, -1), keepdims=keepdims)


def _vector_norm(x: Operand, *, ord: Any = 2, axis: Any = None, keepdims: bool = False) -> Expr:
    if ord == 2:
        return f.norm(x, None, axis, keepdims=keepdims)
    operand = as_expr(x)
    if axis is None and not keepdims:
        return f.norm(f.ravel(operand), ord, 0)
    if not isinstance(axis, int):
        raise Unsupported(f"np.linalg.vector_norm: order {ord!r} over several axes")
    return f.norm(operand, ord, axis, keepdims=keepdims)


def _linalg_trace(x: Operand, offset: int = 0) -> Expr:
    return f.trace(x, offset, -2, -1)


def _linalg_diagonal(x: Operand, offset: int = 0) -> Expr:
    return f.diagonal(x, offset, -2, -1)


def _vecdot_on(x: Operand, y: Operand, *, axis: int = -1) -> Expr:
    return _vecdot(f.moveaxis(as_expr(x), axis, -1), f.moveaxis(as_expr(y), axis, -1))


def _column(name: str) -> Callable[[Any], Any]:
    return lambda x: getattr(as_expr(x), name)


CREATIONS: dict[Callable[..., Any], Callable[..., Expr]] = {
    np.arange: _arange,
    np.eye: _eye,
    np.full: _full,
    np.identity: _eye,
    np.ones: _ones,
}
"""NumPy's functions that create arrays; they dispatch on ``like=x`` with an expression x.

``np.zeros`` is missing: it requires ints before it dispatches; ``sd.zeros`` takes lengths.
"""

FUNCTIONS: dict[Callable[..., Any], Entry] = {
    # Reductions
    np.sum: _entry(f.sum, "a: axis", "keepdims"),
    np.mean: _entry(f.mean, "a: axis", "keepdims"),
    np.var: _entry(f.var, "a: axis", "ddof keepdims correction"),
    np.std: _entry(f.std, "a: axis", "ddof keepdims correction"),
    np.prod: _entry(f.prod, "a: axis", "keepdims"),
    np.max: _entry(f.max, "a: axis", "keepdims"),
    np.min: _entry(f.min, "a: axis", "keepdims"),
    np.amax: _entry(f.max, "a: axis", "keepdims"),
    np.amin: _entry(f.min, "a: axis", "keepdims"),
    np.ptp: _entry(f.ptp, "a: axis", "keepdims"),
    np.all: _entry(f.all, "a: axis", "keepdims"),
    np.any: _entry(f.any, "a: axis", "keepdims"),
    np.count_nonzero: _entry(f.count_nonzero, "a: axis", "keepdims"),
    np.nonzero: _entry(f.nonzero, "a:"),
    np.flatnonzero: _entry(lambda x: f.nonzero(f.reshape(x, -1))[0], "a:"),
    np.average: _entry(f.average, "a: axis weights", "keepdims"),
    np.median: _entry(f.median, "a: axis", "keepdims"),
    np.quantile: _entry(f.quantile, "a: q axis", "keepdims"),
    np.percentile: _entry(f.percentile, "a: q axis", "keepdims"),
    np.cov: _entry(f.cov, "m:", "rowvar ddof"),
    np.nansum: _entry(f.nansum, "a: axis", "keepdims"),
    np.nanmean: _entry(f.nanmean, "a: axis", "keepdims"),
    np.nanprod: _entry(f.nanprod, "a: axis", "keepdims"),
    np.nanmax: _entry(f.nanmax, "a: axis", "keepdims"),
    np.nanmin: _entry(f.nanmin, "a: axis", "keepdims"),
    np.nanvar: _entry(f.nanvar, "a: axis", "ddof keepdims"),
    np.nanstd: _entry(f.nanstd, "a: axis", "ddof keepdims"),
    np.cumsum: _entry(f.cumsum, "a: axis"),
    np.cumprod: _entry(f.cumprod, "a: axis"),
    np.nancumsum: _entry(f.nancumsum, "a: axis"),
    np.trapezoid: _entry(f.trapezoid, "y: x", "dx axis"),
    np.diff: _entry(f.finite_diff, "a: n axis", "prepend append"),
    # Order
    np.sort: _entry(f.sort, "a: axis"),
    np.argsort: _entry(f.argsort, "a: axis"),
    np.partition: _entry(f.partition, "a: kth axis"),
    np.argmax: _entry(f.argmax, "a: axis", "keepdims"),
    np.argmin: _entry(f.argmin, "a: axis", "keepdims"),
    np.searchsorted: _entry(f.searchsorted, "a: v:", "side"),
    np.interp: _entry(f.interp, "x: xp: fp:", "left right"),
    np.take: _entry(f.take, "a: indices axis"),
    np.take_along_axis: _entry(f.take_along_axis, "arr: indices: axis"),
    # Elements
    np.clip: _entry(_clip, "a:", "a_min a_max min max"),
    np.where: _entry(_where, "condition: x: y:"),
    np.select: _entry(f.select, "condlist choicelist", "default"),
    np.round: _entry(f.round, "a: decimals"),
    np.around: _entry(f.round, "a: decimals"),
    np.fix: _entry(f.trunc, "x:"),
    np.sinc: _entry(f.sinc, "x:"),
    np.i0: _entry(f.i0, "x:"),
    np.nan_to_num: _entry(f.nan_to_num, "x:", "nan posinf neginf"),
    np.isposinf: _entry(_signed_infinity(1), "x:"),
    np.isneginf: _entry(_signed_infinity(-1), "x:"),
    np.real: _entry(as_expr, "val"),
    np.imag: _entry(lambda x: _full_like(x, 0), "val"),
    np.real_if_close: _entry(as_expr, "a"),
    np.iscomplexobj: _entry(lambda _: False, "x"),
    np.isrealobj: _entry(lambda _: True, "x"),
    np.copy: _entry(as_expr, "a"),
    np.astype: _entry(astype, "x: dtype"),
    # Shapes
    np.shape: _entry(_column("shape"), "a"),
    np.ndim: _entry(_column("ndim"), "a"),
    np.size: _entry(_column("size"), "a"),
    np.reshape: _entry(_reshape, "a: shape"),
    np.ravel: _entry(f.ravel, "a:"),
    np.transpose: _entry(_transpose, "a: axes"),
    np.permute_dims: _entry(_transpose, "a: axes"),
    np.matrix_transpose: _entry(f.matrix_transpose, "x:"),
    np.swapaxes: _entry(f.swapaxes, "a: axis1 axis2"),
    np.moveaxis: _entry(f.moveaxis, "a: source destination"),
    np.rollaxis: _entry(f.rollaxis, "a: axis start"),
    np.expand_dims: _entry(f.expand_dims, "a: axis"),
    np.squeeze: _entry(f.squeeze, "a: axis"),
    np.broadcast_to: _entry(f.broadcast_to, "array: shape"),
    np.broadcast_arrays: _entry(f.broadcast_arrays, "*args"),
    np.atleast_1d: _entry(f.atleast_1d, "*arys"),
    np.atleast_2d: _entry(f.atleast_2d, "*arys"),
    np.atleast_3d: _entry(f.atleast_3d, "*arys"),
    np.meshgrid: _entry(f.meshgrid, "*xi", "indexing"),
    np.flip: _entry(f.flip, "m: axis"),
    np.fliplr: _entry(f.fliplr, "m:"),
    np.flipud: _entry(f.flipud, "m:"),
    np.rot90: _entry(f.rot90, "m: k axes"),
    np.roll: _entry(f.roll, "a: shift axis"),
    np.lib.stride_tricks.sliding_window_view: _entry(f.sliding_window_view, "x: window_shape axis"),
    np.repeat: _entry(f.repeat, "a: repeats axis"),
    np.tile: _entry(f.tile, "A: reps"),
    np.pad: _entry(f.pad, "array: pad_width mode", "constant_values"),
    np.diag: _entry(f.diag, "v: k"),
    np.diagflat: _entry(_diagflat, "v: k"),
    np.diagonal: _entry(f.diagonal, "a: offset axis1 axis2"),
    np.tril: _entry(f.tril, "m: k"),
    np.triu: _entry(f.triu, "m: k"),
    np.concatenate: _entry(f.concat, "arrays axis"),
    np.stack: _entry(f.stack, "arrays axis"),
    np.hstack: _entry(f.hstack, "tup"),
    np.vstack: _entry(f.vstack, "tup"),
    np.dstack: _entry(f.dstack, "tup"),
    np.column_stack: _entry(f.column_stack, "tup"),
    np.append: _entry(f.append, "arr: values: axis"),
    np.split: _entry(f.split, "ary: indices_or_sections axis"),
    np.array_split: _entry(f.array_split, "ary: indices_or_sections axis"),
    np.hsplit: _entry(f.hsplit, "ary: indices_or_sections"),
    np.vsplit: _entry(f.vsplit, "ary: indices_or_sections"),
    np.dsplit: _entry(f.dsplit, "ary: indices_or_sections"),
    np.zeros_like: _entry(lambda x: _full_like(x, 0), "a"),
    np.ones_like: _entry(lambda x: _full_like(x, 1), "a"),
    np.full_like: _entry(_full_like, "a fill_value:"),
    np.linspace: _entry(_linspace, "start: stop: num endpoint"),
    np.vander: _entry(f.vander, "x: N", "increasing"),
    # Products
    np.dot: _entry(f.dot, "a: b:"),
    np.vdot: _entry(f.vdot, "a: b:"),
    np.inner: _entry(f.inner, "a: b:"),
    np.outer: _entry(f.outer, "a: b:"),
    np.kron: _entry(f.kron, "a: b:"),
    np.cross: _entry(_cross, "a: b:", "axisa axisb axisc axis"),
    np.tensordot: _entry(f.tensordot, "a: b: axes"),
    np.einsum: _entry(f.einsum, "*operands"),
    np.trace: _entry(f.trace, "a: offset axis1 axis2"),
    np.convolve: _entry(f.convolve, "a: v: mode"),
    np.correlate: _entry(f.correlate, "a: v: mode"),
    # Linear algebra
    np.linalg.norm: _entry(f.norm, "x: ord axis", "keepdims"),
    np.linalg.matrix_norm: _entry(_matrix_norm, "x:", "ord keepdims"),
    np.linalg.vector_norm: _entry(_vector_norm, "x:", "ord axis keepdims"),
    np.linalg.det: _entry(f.det, "a:"),
    np.linalg.slogdet: _entry(f.slogdet, "a:"),
    np.linalg.inv: _entry(f.inv, "a:"),
    np.linalg.pinv: _entry(f.pinv, "a:"),
    np.linalg.solve: _entry(f.solve, "a: b:"),
    np.linalg.cholesky: _entry(f.cholesky, "a:", "upper"),
    np.linalg.qr: _entry(f.qr, "a: mode"),
    np.linalg.eigh: _entry(_check_uplo("eigh", f.eigh), "a: UPLO"),
    np.linalg.eigvalsh: _entry(_check_uplo("eigvalsh", f.eigvalsh), "a: UPLO"),
    np.linalg.svd: _entry(_svd, "a: full_matrices compute_uv"),
    np.linalg.svdvals: _entry(f.svdvals, "x:"),
    np.linalg.matrix_power: _entry(f.matrix_power, "a: n"),
    np.linalg.multi_dot: _entry(f.multi_dot, "arrays"),
    np.linalg.matmul: _entry(f.matmul, "x1: x2:"),
    np.linalg.outer: _entry(f.outer, "x1: x2:"),
    np.linalg.cross: _entry(f.cross, "x1: x2:", "axis"),
    np.linalg.vecdot: _entry(_vecdot_on, "x1: x2:", "axis"),
    np.linalg.tensordot: _entry(f.tensordot, "x1: x2:", "axes"),
    np.linalg.trace: _entry(_linalg_trace, "x:", "offset"),
    np.linalg.diagonal: _entry(_linalg_diagonal, "x:", "offset"),
    np.linalg.matrix_transpose: _entry(f.matrix_transpose, "x:"),
    # Shifts of spectra, which are real
    np.fft.fftshift: _entry(f.fftshift, "x: axes"),
    np.fft.ifftshift: _entry(f.ifftshift, "x: axes"),
    np.cumulative_sum: _entry(f.cumsum, "x: axis"),
    np.cumulative_prod: _entry(f.cumprod, "x: axis"),
    np.unstack: _entry(_unstack, "x:", "axis"),
}
"""The functions of this package for NumPy's other functions."""

_SHAPE = "its result has a shape that depends on values; use sd.where, or a mask of 0 and 1"
_VALUES = "it needs the values; lower the expression and call the Function"
_IN_PLACE = "it writes into an array; sd.index_update and sd.where make a new expression"
_COMPLEX = "its result is complex; real pairs (re, im) are the operands and results of sd.{}"
_BITS = "it is about the bits of a floating-point number"

REFUSED: dict[Callable[..., Any], str] = {
    np.gradient: (
        "np.gradient is made of finite differences, not a derivative: sd.grad and sd.jacobian "
        "differentiate, sd.finite_diff subtracts neighbours"
    ),
    np.angle: "expressions are real: sd.atan2(im, re) is the angle of a pair",
    np.isreal: "expressions are real",
    np.iscomplex: "expressions are real",
    np.empty_like: "it has no values; use np.zeros_like",
    np.result_type: "the precision is that of the arguments when the expression is evaluated",
    np.fmod: "its remainder has the sign of x; np.mod (sd.mod) has that of y",
    np.copysign: "it tells -0 from 0; use sd.where(y < 0, -sd.abs(x), sd.abs(x))",
    np.signbit: "it tells -0 from 0; use x < 0",
    np.frexp: _BITS,
    np.ldexp: "multiply with sd.exp2 of the exponent",
    np.nextafter: _BITS,
    np.spacing: _BITS,
    np.geomspace: "use sd.exp(np.linspace(sd.log(start), sd.log(stop), num))",
    np.logspace: "use base ** np.linspace(start, stop, num)",
    np.polyval: "use sd.vander(x, n) @ coefficients, or Horner's rule written out",
    np.corrcoef: "divide sd.cov by the standard deviations",
    np.ediff1d: "use sd.finite_diff of the ravelled array",
    np.block: "use sd.concat of sd.concat",
    np.insert: "use sd.concat of the parts",
    np.delete: "use sd.concat of the parts, or index with the places that are kept",
    np.unwrap: "its jumps depend on values",
    np.choose: "use sd.select or sd.where",
    np.piecewise: "use sd.select or sd.where",
    np.apply_along_axis: "functions of expressions treat leading axes as a batch",
    np.apply_over_axes: "functions of expressions take a tuple of axes",
    np.argpartition: "use sd.argsort",
    np.nanargmax: "use sd.argmax of sd.where(sd.isnan(x), -inf, x)",
    np.nanargmin: "use sd.argmin of sd.where(sd.isnan(x), inf, x)",
    np.nancumprod: "use sd.cumprod of sd.where(sd.isnan(x), 1, x)",
    np.argwhere: _SHAPE,
    np.compress: _SHAPE,
    np.extract: _SHAPE,
    np.trim_zeros: _SHAPE,
    np.unique: _SHAPE,
    np.allclose: _VALUES,
    np.isclose: "compare with sd.abs(x - y) <= tolerance",
    np.array_equal: "use sd.all(x == y)",
    np.array_equiv: "use sd.all(x == y)",
    np.put: _IN_PLACE,
    np.place: _IN_PLACE,
    np.putmask: _IN_PLACE,
    np.put_along_axis: _IN_PLACE,
    np.copyto: _IN_PLACE,
    np.fill_diagonal: _IN_PLACE,
    np.histogram: _VALUES,
    np.bincount: _VALUES,
    np.digitize: "use sd.searchsorted",
    np.resize: "use sd.tile and sd.reshape",
    np.linalg.eig: "its result is complex; sd.eigh has symmetric matrices",
    np.linalg.eigvals: "its result is complex; sd.eigvalsh has symmetric matrices",
    np.linalg.lstsq: "use sd.pinv(a) @ b",
    np.linalg.cond: "divide the first of sd.svdvals by the last",
    np.linalg.matrix_rank: _VALUES,
    np.linalg.tensorinv: "reshape to a matrix and use sd.inv",
    np.linalg.tensorsolve: "reshape to a matrix and use sd.solve",
    np.fft.fft: _COMPLEX.format("fft"),
    np.fft.ifft: _COMPLEX.format("ifft"),
    np.fft.rfft: _COMPLEX.format("rfft"),
    np.fft.irfft: "its operand is complex; sd.irfft takes the pair (re, im)",
    np.fft.fft2: _COMPLEX.format("fftn"),
    np.fft.ifft2: _COMPLEX.format("ifftn"),
    np.fft.fftn: _COMPLEX.format("fftn"),
    np.fft.ifftn: _COMPLEX.format("ifftn"),
    np.fft.rfft2: _COMPLEX.format("fftn"),
    np.fft.irfft2: _COMPLEX.format("ifftn"),
    np.fft.rfftn: _COMPLEX.format("fftn"),
    np.fft.irfftn: _COMPLEX.format("ifftn"),
    np.fft.hfft: _COMPLEX.format("fft"),
    np.fft.ihfft: _COMPLEX.format("ifft"),
}
"""Functions of NumPy that expressions do not support, with the reasons."""
