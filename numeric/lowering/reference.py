"""The reference semantics: a DAG evaluated node by node.  Every faster way must agree with it."""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from numeric.lowering import kinds
from numeric.lowering.arguments import checked, precision
from numeric.lowering.kernels.monomials import monomial, shifted_power
from numeric.lowering.kink_checks import questions, refuse
from numeric.lowering.node_kernels import discards, elementwise, kernel, parts_kernel
from numeric.lowering.schedule import computations
from numeric.lowering.spellings import is_graded, numbers, spelling
from numeric.lowering.values import WEAK, filled
from symdiff.calculus.kinks import kinks_in
from symdiff.calculus.real_values import is_real
from symdiff.contexts import contained, raising
from symdiff.errors import ShapeError
from symdiff.graph import ops
from symdiff.graph.arguments import door
from symdiff.graph.axes import shape_text
from symdiff.graph.axis_lengths import (
    become,
    bound_sizes,
    check_lengths,
    definitions_first,
    formulas,
    names,
)
from symdiff.graph.expr import Expr, check_names
from symdiff.graph.node import topological
from symdiff.graph.number import shortened

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from numeric.lowering.node_kernels import Kernel
    from numeric.types import Values
    from symdiff.graph.lengths import Length
    from symdiff.graph.node import Dtype, Op


@overload
def interpret(outputs: Expr, env: Mapping[Any, object]) -> Any: ...
@overload
def interpret(outputs: Sequence[Expr], env: Mapping[Any, object]) -> tuple[Any, ...]: ...
@door
@contained
def interpret(outputs: Expr | Sequence[Expr], env: Mapping[Any, object]) -> Any:
    """The values of ``outputs``, one or a tuple, where the symbols have the values of ``env``.

    Args:
        outputs: an expression, or a list or tuple of them.
        env: symbols, or their names, and names of symbolic axis lengths, to numbers or arrays.
            Symbols (not names) that the outputs do not need may be given too.

    Arrays come out as new arrays, scalars as NumPy scalars.  Real results have the promoted
    precision of the arrays and NumPy scalars that went in: float32 gives float32, also beside
    Python numbers.  Warnings are those of NumPy; there are none in a graph with a selection
    (``where``, a masked derivative), which may have discarded what they are about.

    Raises ValueError for a missing or unknown symbol, ShapeError for a wrong shape, TypeError for a
    wrong dtype; all before anything is computed.

    >>> import symdiff as sd
    >>> x = sd.symbol("x", 3)
    >>> float(interpret((x * x).sum(), {x: np.array([1.0, 2.0, 3.0])}))
    14.0
    """
    single = isinstance(outputs, Expr)
    wanted = [outputs] if isinstance(outputs, Expr) else list(outputs)
    for y in wanted:
        if not isinstance(y, Expr):
            raise TypeError(
                f"interpret: {shortened(y)} of type {type(y).__name__} is not an expression"
            )
    kinks = kinks_in(wanted) if raising() else []
    asked = questions(kinks)
    order = definitions_first(topological([*wanted, *asked]))
    values, sizes = bind([node for node in order if isinstance(node.op, ops.Symbol)], env, order)
    given = [value.dtype for value in values.values() if value.__class__ not in WEAK]
    given += [node.op.value.dtype for node in order if node.op.__class__ is ops.Constant]
    meeting = precision(given)
    quiet = (
        np.errstate(all="ignore")
        if any(map(discards, dict.fromkeys(node.op for node in order)))
        else nullcontext()
    )
    with quiet:
        _evaluate(order, [*wanted, *asked], values, sizes)
    refuse(kinks, [values[x] for x in asked])
    results = tuple(_handed_out(values[y], y, sizes, meeting) for y in wanted)
    return results[0] if single else results


# Their kernels depend on dtypes but on no shape: many nodes share one.
_SHAPELESS = (ops.Sum, ops.Product, ops.Pointwise)


def _asked(order: Sequence[Expr], sizes: Mapping[str, int]) -> dict[Length, str]:
    """The lengths that must not be negative, as far as they are known."""
    found = formulas(order)
    return {dim: why for dim, why in found.items() if all(name in sizes for name in dim.names)}


def _evaluate(
    order: Sequence[Expr],
    wanted: Sequence[Expr],
    values: dict[Expr, Any],
    sizes: dict[str, int],
) -> None:
    """Fill ``values`` in order; what no later node and no output needs is dropped at once."""
    uses: dict[Expr, int] = dict.fromkeys(wanted, 1)
    for node in order:
        for x in node.args:
            uses[x] = uses.get(x, 0) + 1
    together = computations(order)
    graded = _graded(order)
    for operands, _ in graded.values():
        for x in operands:
            uses[x] = uses.get(x, 0) + 1
    kernels: dict[tuple[Op | Dtype, ...], Kernel] = {}
    for node in order:
        args = [values[x] for x in node.args]
        if node in values:
            pass
        elif node in together:
            results = together[node]
            values.update(zip(results, parts_kernel(results)(args, sizes), strict=True))
        elif node in graded:
            operands, run = graded[node]
            values[node] = run([values[x] for x in operands], sizes)
        elif isinstance(node.op, _SHAPELESS):
            key = (node.op, node.dtype, *[x.dtype for x in node.args])
            call = kernels.get(key)
            if call is None:
                call = kernels[key] = kernel(node)
            values[node] = call(args, sizes)
        else:
            values[node] = kernel(node)(args, sizes)
            if isinstance(node.op, ops.Opaque) and node.op.defines:
                sizes[str(node.shape[0])] = len(values[node])
                check_lengths("interpret", _asked(order, sizes), sizes)
        for x in (*node.args, *graded[node][0]) if node in graded else node.args:
            uses[x] -= 1
            if not uses[x]:
                values.pop(x, None)


def _graded(order: Sequence[Expr]) -> dict[Expr, tuple[tuple[Expr, ...], Kernel]]:
    """Powers and products whose factors leave the floats before they do, as lowered code has them.

    By node: the operands, those of the function included, and the kernel.
    """
    found: dict[Expr, tuple[tuple[Expr, ...], Kernel]] = {}
    if not any(is_graded(node.op) for node in order):
        return found
    known, weak = frozenset(order), numbers(order)
    for node in order:
        if not isinstance(node.op, _SHAPELESS) or node in weak:
            continue
        how = spelling(node, weak)
        if isinstance(how.kind, kinds.Monomial) and how.kind.graded:
            operands, run = how.operands, elementwise(monomial(how.kind))
        elif isinstance(how.kind, kinds.Shifted):
            base, _, unshifted = how.operands
            operands = base, unshifted, *node.args
            run = _shifted(shifted_power(how.kind.shift), kernel(node))
        else:
            continue
        if known.issuperset(operands):
            found[node] = operands, run
    return found


def _shifted(exact: Callable[..., Values], power: Kernel) -> Kernel:
    """A power whose exponent is a sum that is rounded, of the base and the larger addend, too."""

    def call(args: Sequence[Values], sizes: Mapping[str, int]) -> Values:
        base, unshifted, *own = args
        rounded = elementwise(exact)
        return rounded([base, unshifted, power(own, sizes)], sizes)

    return call


def _handed_out(value: Any, node: Expr, sizes: Mapping[str, int], meeting: np.dtype) -> Any:
    """A value that the caller may keep and change: filled, of its own memory, no more precise."""
    if value.__class__ is int and not node.shape and abs(value) >= 2**63 and not is_real(node):
        return value
    value = filled(value, node.shape, sizes)
    if value.dtype.kind in "iu" and is_real(node):
        value = value.astype(np.float64)  # the numbers 1 and 1.0 are one node
    if meeting.itemsize < 8 and value.dtype.kind == "f":
        value = value.astype(meeting)
    return np.array(value) if node.shape else value[()]


# The environment ----------------------------------------------------------------------------------


def bind(
    symbols: Sequence[Expr], env: Mapping[object, object], order: Sequence[Expr] = ()
) -> tuple[dict[Expr, Any], dict[str, int]]:
    """The values of symbols and the lengths of their symbolic axes, checked against each other.

    ``order``: the nodes of the graph, whose axis lengths must all be known.
    """
    named = _by_name(symbols)
    check_names(named.values())
    given: dict[Expr, object] = {}
    axes = names(order)
    known: dict[str, int] = {}
    for key, value in env.items():
        x = _symbol_of(key, named, axes)
        if isinstance(x, str):
            known[x] = _axis_length(x, value)
        elif x in given:
            raise ValueError(f"symbol {x.name} is given twice, by itself and by its name")
        else:
            given[x] = value
    for x in symbols:
        if x not in given:
            raise ValueError(f"symbol {x.name}{_kind(x)} has no value; given: {_listed(env)}")
    # Also those that are not needed: a gradient that is constant has the lengths of its input.
    # Python's integers have any size: NumPy does not see those of integer symbols.
    arrays = {
        x: checked("symbol", x, 0 if x.dtype is int and v.__class__ is int else v)
        for x, v in given.items()
    }
    sizes = bound_sizes("symbol", list(arrays), [a.shape for a in arrays.values()], known)
    values = {x: _taken(x, value, arrays[x]) for x, value in given.items()}
    for axis in axes:
        if axis not in sizes:
            raise ValueError(f"axis length {axis} is not known: no symbol has it; give it by name")
    if axes:
        check_lengths("symbol", _asked(order, sizes), sizes)
    if not any(x.shape for x in values):  # without arrays nothing tells a weak number's precision
        values = {x: np.float64(v) if v.__class__ is float else v for x, v in values.items()}
    return values, sizes


def _by_name(symbols: Sequence[Expr]) -> dict[str, Expr]:
    named: dict[str, Expr] = {}
    for x in symbols:
        other = named.setdefault(x.name, x)
        dummies = [y for y in (other, x) if isinstance(y.op, ops.Symbol) and y.op.dummy]
        if other is not x and not dummies:
            raise ShapeError(
                f"two symbols are named {x.name}: one{_kind(other)}, one{_kind(x)}; rename one"
            )
    return named


def _symbol_of(key: object, named: Mapping[str, Expr], axes: Sequence[str]) -> Expr | str:
    if isinstance(key, Expr):
        if isinstance(key.op, ops.Symbol):
            found = named.get(key.name)
            return key if found is None or found is key else become(key, [found])
        raise TypeError(f"{shortened(key)} is not a symbol: only symbols are given values")
    if not isinstance(key, str):
        raise TypeError(
            f"{shortened(key)} of type {type(key).__name__} is neither a symbol nor a name"
        )
    if key in named:
        return named[key]
    if key in axes:
        return key
    raise ValueError(f"unknown symbol {key}; the outputs have {_listed(named)}")


def _listed(keys: Iterable[object]) -> str:
    return ", ".join(k.name if isinstance(k, Expr) else str(k) for k in keys) or "none"


def _kind(x: Expr) -> str:
    shape = f" of shape {shape_text(x.shape)}" if x.shape else ""
    return f"{shape} and dtype {x.dtype.__name__}"


def _axis_length(name: str, value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 0:
        raise TypeError(f"axis length {name}: {shortened(value)} is not an integer >= 0")
    return int(value)


def _taken(x: Expr, value: object, array: np.ndarray) -> Any:
    """The value of ``x`` as kernels take it: weak numbers stay so, real ones are floats."""
    if value.__class__ in WEAK:
        return x.dtype(value)
    if array.dtype.kind in "iub" and x.dtype is float:
        array = array.astype(np.float64)
    return array if x.shape else array[()]
