"""The NumPy callable of one node: what each op means in numbers.  No derivatives here.

A *kernel* takes the values of the node's operands, and the lengths of symbolic axes, and returns
the node's value.  Values are arrays, NumPy scalars or weak numbers (see ``values``).

Kernels never write to their operands.  The values of transposes, diagonals, broadcasts, reshapes,
slices, flips, barriers and constants may share memory with them or be read-only, so who hands
values out copies them.

Warnings are NumPy's own, as for the same computation written by hand.  A graph in which a selection
discards values has to be run under ``np.errstate``; ``discards`` says which graphs those are.
"""

from __future__ import annotations

import math
from contextlib import suppress
from functools import lru_cache, singledispatch
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from numeric import special
from numeric.lowering import structure
from numeric.lowering.arithmetic import (
    integral,
    weak,
)
from numeric.lowering.formulas import functions, of_arrays
from numeric.lowering.values import WEAK, full
from numeric.lowering.values import strong as as_strong
from symdiff.contexts import contained
from symdiff.graph import ops
from symdiff.graph.algebra import PRIMITIVES
from symdiff.graph.axis_lengths import lengths
from symdiff.graph.node import topological
from symdiff.scalars.formula import VOCABULARY
from symdiff.transforms.scans import Looped
from symdiff.transforms.sized import Sized
from symdiff.transforms.while_loops import Steps

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numeric.types import Values
    from symdiff.graph.expr import Expr
    from symdiff.graph.node import Op

Kernel: TypeAlias = "Callable[[Sequence[Values], Mapping[str, int]], Values]"


@singledispatch
def _kernel(op: Op, node: Expr) -> Kernel:
    raise TypeError(f"{op!r} has no kernel")


def kernel(node: Expr) -> Kernel:
    """The NumPy callable of ``node``: operands' values and lengths of symbolic axes in, value out.

    Raises, here and not when it is called: Unsupported for a function that has no NumPy body, or
    needs SciPy where there is none; TypeError for a symbol, which has no value of its own.

    >>> import symdiff as sd
    >>> A = sd.symbol("A", (2, "n"))
    >>> kernel(A.T)([np.array([[1, 2, 3], [4, 5, 6]])], {"n": 3}).tolist()
    [[1, 4], [2, 5], [3, 6]]
    """
    return _kernel(node.op, node)


register = _kernel.register  # the arithmetic of sums and products stands above, with programs


# Shapes and weak numbers --------------------------------------------------------------------------


def _real(value: Any) -> Any:
    return (weak(value) if value.__class__ is int else value) * 1.0


def _mixed(run: Callable[..., Values], args: Sequence[Any]) -> Any:
    """``run`` where values are weak: they take the others' precision, or the result is weak too."""
    strong = [a for a in args if a.__class__ not in WEAK]
    if not strong:
        result: Any = run(*map(as_strong, args))
        return result if result.__class__ in WEAK else result.item()
    real = [a.dtype for a in strong if a.dtype.kind == "f"]
    if not real:  # NumPy's integers and Python's numbers: as lowered code has them
        return run(*args)
    work = np.result_type(*real).type
    values = [work(weak(a)) if a.__class__ in WEAK else a for a in args]  # type: ignore[arg-type]
    return run(*values)


def elementwise(run: Callable[..., Values], exact: Callable[..., Values] | None = None) -> Kernel:
    """The kernel of a function of arrays that broadcasts; ``exact``: the same of Python's integers.

    The latter may raise ZeroDivisionError where NumPy has a value.
    """

    def call(args: Sequence[Values], sizes: Mapping[str, int]) -> Any:
        for a in args:
            if a.__class__ in WEAK:
                break
        else:
            return run(*args)
        if exact is not None and all(a.__class__ in WEAK for a in args):
            with suppress(ZeroDivisionError):
                return exact(*args)
        return _mixed(run, args)

    return call


def real_operands(node: Expr, run: Callable[..., Values]) -> Callable[..., Values]:
    """``run`` with integer operands made real where the value is: they overflow, and lack 1/x."""
    whole = [x.dtype is not float for x in node.args]
    if node.dtype is not float or not any(whole):
        return run
    return lambda *args: run(
        *(_real(a) if cast else a for a, cast in zip(args, whole, strict=True))
    )


# Leaves -------------------------------------------------------------------------------------------


@_kernel.register(ops.Symbol)
def _symbol(op: ops.Symbol, node: Expr) -> Kernel:
    raise TypeError(f"symbol {op.name} has no kernel: its value is an argument")


@_kernel.register(ops.Constant)
def _constant(op: ops.Constant, node: Expr) -> Kernel:
    value = whole_numbers(op.value)
    return lambda args, sizes: value


def whole_numbers(array: np.ndarray) -> np.ndarray:
    """An array, as int64 if it holds integers: small or unsigned ones would wrap around.

    Raises OverflowError for integers from 2**63.

    >>> whole_numbers(np.array([200], dtype=np.uint8)).dtype
    dtype('int64')
    """
    if array.dtype.kind == "u" and array.dtype.itemsize == 8 and np.any(array >= 2**63):
        raise OverflowError("integers from 2**63 do not fit into int64; pass them as floats")
    return array.astype(np.int64, copy=False) if array.dtype.kind in "iu" else array


@_kernel.register(ops.Exact)
def _exact(op: ops.Exact, node: Expr) -> Kernel:
    value: float = float(op.value)
    return lambda args, sizes: value


@_kernel.register(ops.Size)
def _size(op: ops.Size, node: Expr) -> Kernel:
    name = op.name
    return lambda args, sizes: sizes[name]


# Pointwise functions ------------------------------------------------------------------------------


def needs_scipy(op: Op) -> bool:
    """Whether the kernel of ``op`` calls SciPy.

    >>> import symdiff as sd
    >>> needs_scipy(sd.erf(sd.symbol("x")).op), needs_scipy(sd.exp(sd.symbol("x")).op)
    (True, False)
    """
    if not isinstance(op, ops.Pointwise):
        return False
    if op.primitive:
        return special.needs_scipy(op.name)
    return any(special.needs_scipy(cls.__name__) for cls in functions(op.formula))


def discards(op: Op) -> bool:
    """Whether ``op`` may discard what an operand computed: warnings about that mean nothing.

    >>> import symdiff as sd
    >>> x = sd.symbol("x")
    >>> discards(sd.where(x > 0, sd.log(x), 0).op), discards(sd.log(x).op)
    (True, False)
    """
    if isinstance(op, ops.Pointwise):
        if op.primitive:
            return op is _WHERE
        return VOCABULARY["where"] in functions(op.formula)
    if isinstance(op, Looped | Sized | Steps):
        inside = [op.body] if isinstance(op, Looped) else op.inside
        return any(discards(x.op) for x in topological(inside))
    # An unslice is a derivative's: of what the slice did not read.
    return isinstance(op, ops.Strong | ops.Unslice) or (
        isinstance(op, ops.Contract) and any(op.kills)
    )


_WHERE = PRIMITIVES["where"]


@_kernel.register(ops.Pointwise)
def _pointwise(op: ops.Pointwise, node: Expr) -> Kernel:
    function = special.NUMPY[op.name] if op.primitive else of_arrays(op.formula, op.arity)
    if op.primitive:
        special.require_scipy(op.name)
    whole = node.dtype is int

    def run(*args: object) -> Any:
        result: Any = function(*args)
        if result.__class__ is np.ndarray and not result.ndim:
            result = result[()]
        if whole and result.__class__ not in WEAK and result.dtype.kind == "f":
            return result.astype(np.int64)
        return result

    exact = special.MATH.get(op.name) if op.primitive and integral(node) else None
    return elementwise(real_operands(node, run) if op.result is float else run, exact)


@_kernel.register(ops.Strong)
def _strong_product(op: ops.Strong, node: Expr) -> Kernel:
    multiply = strong_product(op.kills)

    @contained
    def run(a: np.ndarray, b: np.ndarray) -> Any:
        with np.errstate(all="ignore"):
            return multiply(a, b)

    return elementwise(run)


@lru_cache
def strong_product(kills: tuple[bool, bool]) -> Callable[[np.ndarray, np.ndarray], Values]:
    """The product that is 0 instead of nan where a killing operand is 0.

    Only an inf or a nan makes a difference, and one pass over the product says whether there is
    one: a sum is finite only if all its terms are.

    >>> with np.errstate(invalid="ignore"):
    ...     strong_product((True, False))(np.array([0.0, 2.0]), np.array([np.inf, 3.0])).tolist()
    [0.0, 6.0]
    """
    first, second = kills

    def multiply(a: np.ndarray, b: np.ndarray) -> Any:
        product = a * b
        array = product.__class__ is np.ndarray
        if math.isfinite(np.add.reduce(product, axis=None) if array else product):
            return product
        zero = (a == 0) | (b == 0) if first and second else a == 0 if first else b == 0
        return np.where(zero & np.isnan(product), 0, product)[()]

    return multiply


@_kernel.register(ops.Barrier)
def _barrier(op: ops.Barrier, node: Expr) -> Kernel:
    if op is ops.REAL:
        return lambda args, sizes: _real(args[0])
    return lambda args, sizes: args[0]


# Structure, contractions, opaque functions: as programs write them --------------------------------


@_kernel.register(ops.Contract)
@_kernel.register(ops.Linear)
@_kernel.register(ops.Opaque)
def _structural(op: ops.Contract | ops.Linear | ops.Opaque, node: Expr) -> Kernel:
    return _of_arrays([node])


def parts_kernel(nodes: Sequence[Expr]) -> Callable[..., tuple[np.ndarray, ...]]:
    """As ``kernel``, of nodes of one computation: the values of these results, and of no others.

    >>> import symdiff as sd
    >>> values, vectors = sd.eigh(sd.symbol("A", (2, 2)))
    >>> [x.tolist() for x in parts_kernel([vectors, values])([np.eye(2)], {})]
    [[[1.0, 0.0], [0.0, 1.0]], [1.0, 1.0]]
    """
    call = _of_arrays(nodes)
    return call if len(nodes) > 1 else lambda args, sizes: (call(args, sizes),)


def _of_arrays(nodes: Sequence[Expr]) -> Callable[..., Any]:
    """What is written for arrays; weak operands are filled, unless they are only spread."""
    run, spread = structure.function(nodes), ops.is_spread(nodes[0].op)
    shapes = [x.shape for x in nodes[0].args]

    def call(args: Sequence[Values], sizes: Mapping[str, int]) -> Any:
        if any(a.__class__ in WEAK for a in args):
            if spread:
                return args[0]
            pairs = zip(args, shapes, strict=True)
            args = [full(lengths(shape, sizes), a, *args) for a, shape in pairs]
        return run(*args, sizes)

    return call
