"""Custom functions: NumPy code as ops, with the vector-Jacobian product that the user states."""

from __future__ import annotations

import math
import sys
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from symdiff.calculus.flows import DEEP, NONE, Flow, identity
from symdiff.calculus.rules import Statement, pullback, register
from symdiff.errors import NotDifferentiable, ShapeError
from symdiff.graph import ops
from symdiff.graph.algebra import linear, opaque
from symdiff.graph.axes import broadcast_shapes, shape_text
from symdiff.graph.contraction import contract
from symdiff.graph.expr import Expr
from symdiff.graph.leaves import as_expr, checked_shape, dummy
from symdiff.graph.node import intern_op, topological
from symdiff.guesses import called, written

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from symdiff.graph.expr import Operand
    from symdiff.graph.node import Shape

__all__ = ["Custom", "CustomPullback", "custom"]


# Ops ----------------------------------------------------------------------------------------------


class Custom(ops.Opaque):
    """A function given as NumPy code; equal functions and names share one op.

    ``vjp`` is written in expressions, ``vjp_numpy`` in NumPy; one or both are None.
    """

    __slots__ = ("forward", "name", "shape_of", "vjp", "vjp_numpy")
    name: str

    def __init__(
        self,
        forward: Callable[..., Any],
        vjp: Callable[..., Any] | None,
        vjp_numpy: Callable[..., Any] | None,
        shape_of: Callable[..., Any] | None,
        name: str,
    ) -> None:
        self.forward, self.vjp, self.vjp_numpy = forward, vjp, vjp_numpy
        self.shape_of, self.name = shape_of, name

    def result(self, *shapes: Shape) -> Shape:
        """The result of the user's ``shape``; without one, the broadcast shape."""
        if self.shape_of is None:
            return broadcast_shapes(self.name, *shapes)
        return checked_shape(self.shape_of(*shapes))

    def __reduce__(self) -> tuple[Any, ...]:
        function = _imported(self.forward)
        if isinstance(function, CustomFunction) and function.op is self:
            return _op_at, (self.forward.__module__, self.forward.__qualname__)
        for part in (self.forward, self.vjp, self.vjp_numpy, self.shape_of):
            name, module = (getattr(part, key, None) for key in ("__qualname__", "__module__"))
            if name is not None and _imported(part) is not part:
                from pickle import PicklingError  # loaded late: imports stay fast

                raise PicklingError(
                    f"custom function {self.name} cannot be pickled: {name} is not "
                    f"found in module {module} under that name; define it with def at the top of a "
                    "module that can be imported"
                )
        return _op, (self.forward, self.vjp, self.vjp_numpy, self.shape_of, self.name)


class CustomPullback(ops.Opaque):
    """The cotangents of the operands ``places`` by ``vjp_numpy`` of a custom op.

    Operands: the cotangent (with any leading batch axes), the value, and the operands.  The value
    is the cotangent of the one place.  For several places it has all their elements in one axis.
    """

    __slots__ = ("custom", "name", "places")
    fields = ("places",)
    name: str

    def __init__(self, custom: Custom, places: tuple[int, ...]) -> None:
        self.custom, self.places = custom, places
        self.name = f"{custom.name}_vjp"

    def result(self, *shapes: Shape) -> Shape:
        """The batch axes of the cotangent, and the operand's shape or all elements in one axis."""
        g, out, *operands = shapes
        batch = g[: len(g) - len(out)]
        if len(self.places) == 1:
            return batch + operands[self.places[0]]
        return (*batch, sum(_length(operands[k]) for k in self.places))


def _op(*parameters: Any) -> Custom:
    op = intern_op((Custom, *parameters), lambda: Custom(*parameters))
    assert isinstance(op, Custom)
    return op


def _length(shape: Shape) -> int:
    return math.prod(dim for dim in shape if isinstance(dim, int))


def _imported(function: object) -> Any:
    """Look up the function's name in the function's module."""
    value: Any = sys.modules.get(getattr(function, "__module__", None) or "")
    for part in getattr(function, "__qualname__", "").split("."):
        value = getattr(value, part, None)
    return value


def _op_at(module: str, qualname: str) -> Custom:
    """The op of the custom function with this name."""
    __import__(module)
    value: Any = sys.modules[module]
    for part in qualname.split("."):
        value = getattr(value, part)
    if not isinstance(value, CustomFunction):
        from pickle import UnpicklingError  # loaded late, as above

        raise UnpicklingError(f"{module}.{qualname} is not a custom function")
    return value.op


# The function -------------------------------------------------------------------------------------


class CustomFunction:
    """A function of expressions that ``custom`` returns; ``op`` is the op of its nodes."""

    def __init__(self, op: Custom) -> None:
        self.op = op
        self.__name__ = self.__qualname__ = op.name
        self.__doc__ = op.forward.__doc__

    def __call__(self, *operands: Operand) -> Expr:
        """The function of expressions, numbers or arrays.  Raises TypeError without operands."""
        if not operands:
            raise TypeError(f"{self.op.name}: takes at least one operand")
        return opaque(self.op, *map(as_expr, operands))

    def __reduce__(self) -> tuple[Any, ...]:
        return CustomFunction, (self.op,)

    def __repr__(self) -> str:
        return f"<custom function {self.op.name}>"


@written("custom(forward, lambda g, out, x: g * derivative), a vjp")
def custom(
    forward: Callable[..., Any],
    vjp: Callable[..., Any] | None = None,
    *,
    vjp_numpy: Callable[..., Any] | None = None,
    shape: Callable[..., Any] | None = None,
    name: str | None = None,
) -> CustomFunction:
    """NumPy code as a function of expressions.

    ``forward(*arrays)`` runs when the expression is executed, on read-only arrays (NumPy scalars
    for shape ()), and returns a real array.  It must be pure: equal arguments, equal value.

    The derivative is stated as a vector-Jacobian product, ``xbar_k = sum_i g_i d out_i / dx_k`` for
    each operand k, in one of two ways:

    - ``vjp(g, out, *operands)`` is written in expressions; then derivatives have every order and
      both modes.  It must be linear in ``g``.
    - ``vjp_numpy(g, out, *arrays)`` is NumPy code, of first derivatives only.  A Jacobian, and
      forward mode, call it once for every element of ``out``.

    Both return one cotangent of the operand's shape for each operand, in a tuple or list.  A single
    operand's may come without the tuple.  None marks an operand without influence.  The library
    ignores cotangents of integer and boolean operands; boolean operands arrive as the numbers 0 and
    1.

    Args:
        forward: the function. vjp, vjp_numpy: its derivative; without one there is none.
        shape: ``shape(*shapes)``, the shape of the value for shapes of operands (which may have
        names of symbolic lengths); by default, they broadcast. name: an identifier, under which the
        function is printed; by default the name of ``forward``.

    Executing raises ShapeError or TypeError, naming the function, where ``forward`` or
    ``vjp_numpy`` returns another shape or no real numbers.  Differentiating raises
    NotDifferentiable where there is no derivative, and ShapeError or ValueError for a ``vjp`` that
    does not fit.  ``evalf`` and SymPy cannot evaluate a custom function.

    >>> import numpy as np
    >>> import symdiff as sd
    >>> angle = sd.symbol("angle")
    >>> sine = sd.custom(np.sin, lambda g, out, x: g * sd.cos(x), name="sine")
    >>> print(sd.grad(sine(angle) ** 2, angle))
    2*cos(angle)*sine(angle)
    """
    for what, function in (("vjp", vjp), ("vjp_numpy", vjp_numpy), ("shape", shape)):
        if function is not None and not callable(function):
            raise TypeError(f"custom: {what}={function!r} is not a function")
    if not callable(forward):
        raise TypeError(f"custom: {forward!r} is not a function")
    if vjp is not None and vjp_numpy is not None:
        raise ValueError("custom: give vjp in expressions or vjp_numpy in NumPy, not both")
    if name is None:
        own_name = str(getattr(forward, "__name__", ""))
        name = own_name if own_name.isidentifier() else "custom"
    if not isinstance(name, str) or not name.isidentifier():
        raise ValueError(f"custom: the name {name!r} is not an identifier")
    return CustomFunction(_op(forward, vjp, vjp_numpy, shape, name))


# The derivative -----------------------------------------------------------------------------------


class CustomRule(Statement):
    """The rule of a custom function: cotangents by ``vjp``, tangents, batches by its transpose."""

    __slots__ = ()

    def pull(self, g: Flow) -> Flow | None:
        op, arg = self._op(), self.node.args[self.k]
        if op.vjp_numpy is not None:
            return self._pulled_by_numpy(op, g)
        if g.mark == NONE and g.expr.shape == self.node.shape:
            xbar = self._expressed(op, g.expr)
            return None if xbar is None else Flow(xbar, NONE)
        # The transpose of the map has a cotangent of its own, which may have batch axes: (Lᵀ)ᵀ g.
        s = dummy(arg)
        transpose = self._transposed(op, Flow(s, NONE))
        return None if transpose is None else pullback([transpose.expr], [s], [g])[0]

    def push(self, t: Flow) -> Flow | None:
        op = self._op()
        if op.vjp_numpy is None:
            return self._transposed(op, t)
        word = tuple(range(self.node.ndim))
        rows = self._pulled_by_numpy(op, Flow(identity(self.node.shape), NONE))
        letters = tuple(range(len(word), len(word) + t.expr.ndim))
        lead = t.expr.ndim - self.node.args[self.k].ndim
        terms = [(rows.expr, word + letters[lead:], False), (t.expr, letters, t.mark > NONE)]
        return Flow(contract(terms, letters[:lead] + word), NONE)

    def _op(self) -> Custom:
        op = self.node.op
        assert isinstance(op, Custom)
        if op.vjp is None and op.vjp_numpy is None:
            raise NotDifferentiable(
                f"{op.name}: this custom function has no derivative; give sd.custom a vjp"
            )
        return op

    def _expressed(self, op: Custom, g: Expr) -> Expr | None:
        """The cotangent that ``vjp`` returns for the unbatched cotangent g."""
        assert op.vjp is not None
        args, k = self.node.args, self.k
        xbar = cotangents(op.name, "vjp", op.vjp, g, self.node, args)[k]
        if xbar is None:
            return None
        xbar = as_expr(xbar)
        if xbar.shape != args[k].shape:
            raise ShapeError(
                f"{op.name}: vjp returned shape {shape_text(xbar.shape)} for operand {k} of shape "
                f"{shape_text(args[k].shape)}"
            )
        return xbar

    def _transposed(self, op: Custom, t: Flow) -> Flow | None:
        """``J t``: the transpose of the linear map ``vjp``, applied to t."""
        g = dummy(self.node)
        xbar = self._expressed(op, g)
        result = None if xbar is None else pullback([xbar], [g], [t])[0]
        if result is not None and any(node is g for node in topological([result.expr])):
            raise ValueError(f"{op.name}: vjp is not linear in the cotangent, its first argument")
        return result

    def _pulled_by_numpy(self, op: Custom, g: Flow) -> Flow:
        args, k = self.node.args, self.k
        mark = DEEP if g.mark else NONE
        places = tuple(i for i, x in enumerate(args) if x.dtype is float)
        if any(isinstance(dim, str) for i in places for dim in args[i].shape):
            places = (k,)
        pulled = opaque(_pullback_op(op, places), g.expr, self.node, *args)
        if len(places) == 1:
            return Flow(pulled, mark)
        # One call serves all operands: its value has all their elements.
        ends = list(accumulate(_length(args[i].shape) for i in places))
        n, end = _length(args[k].shape), ends[places.index(k)]
        part = linear(ops.slice_op((ends[-1],), ((end - n, end, 1),), (n,)), pulled)
        return Flow(linear(ops.reshape_op((n,), args[k].shape), part), mark)


def _pullback_op(op: Custom, places: tuple[int, ...]) -> CustomPullback:
    result = intern_op((CustomPullback, op, places), lambda: CustomPullback(op, places))
    assert isinstance(result, CustomPullback)
    return result


def cotangents(
    name: str,
    what: str,
    vjp: Callable[..., Any],
    g: object,
    out: object,
    operands: Sequence[object],
) -> Sequence[Any]:
    """Check the result of a vjp, one entry for each operand; errors state the arguments."""
    count = len(operands)
    words = "x" if count == 1 else ", ".join(f"x{k}" for k in range(count))
    form = f"{what}(g, out, {words}): g times the derivative"
    values = called(form, vjp, g, out, *operands)
    returned: Sequence[Any] = values if isinstance(values, tuple | list) else (values,)
    if len(returned) != count:
        raise ValueError(
            f"{name}: {what} returned {len(returned)} cotangents for {count} operands; return one "
            "for each, None where there is no influence"
        )
    return returned


class _FirstOrder(Statement):
    """The rule that refuses to differentiate NumPy code."""

    __slots__ = ()

    def pull(self, g: Flow) -> Flow | None:
        op = self.node.op
        assert isinstance(op, CustomPullback)
        raise NotDifferentiable(
            f"{op.custom.name}: its vjp is NumPy code, so it has first derivatives only; for "
            "higher ones, write the vjp in expressions"
        )

    push = pull  # type: ignore[assignment]  # neither exists


register(Custom, CustomRule)
register(CustomPullback, _FirstOrder)
