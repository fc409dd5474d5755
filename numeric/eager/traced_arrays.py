"""Shadows: the tracers that stand for the arrays of Tensors while a function is traced.

A shadow has a shape, a dtype and an expression, but no data.  NumPy's functions of shadows return
shadows, by the table of ``symdiff``.  Code that needs values raises an error with the user's line.

A shadow also has a layout, an array with arbitrary values.  Programs inspect strides, and views and
writes through views depend on them, but an expression has none.  The ``parent`` of a shadow shows
whether memory is shared; layouts are separate arrays.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

import numpy as np
from numpy.lib._stride_tricks_impl import DummyArray
from numpy.lib.mixins import NDArrayOperatorsMixin

from numeric.eager.refusals import refuse, user_frame
from numeric.modes import current
from symdiff.calculus.derivative import detach, vjp
from symdiff.functions.elementwise import where
from symdiff.functions.shaping import converted
from symdiff.graph.leaves import as_expr, dummy, full

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import DTypeLike

    from numeric.tracing.trace import Trace
    from symdiff.graph.expr import Expr


class Shadow(NDArrayOperatorsMixin):
    """An array with a shape, a dtype and an expression, but no values.

    A view has a ``parent``, and ``part`` extracts its expression from the parent's; a write to the
    view replaces that part.  ``fixed`` forbids writes: it is an argument of the function.
    ``layout`` is an array with the memory layout, and arbitrary values.  ``offset`` is the distance
    in bytes from the root's first element.  ``grown`` says that a value with gradients was written
    to it.  ``cut`` is None unless it is its detached parent; then it says whether the parent
    required gradients.
    """

    __slots__ = (
        *("_expr", "_seen", "cut", "fixed", "grown", "layout", "offset", "parent", "part"),
        *("trace", "version"),
    )
    __array_priority__ = 2000

    def __init__(
        self,
        trace: Trace,
        expr: Expr,
        layout: np.ndarray,
        *,
        parent: Shadow | None = None,
        part: Callable[[Expr], Expr] | None = None,
        fixed: bool = False,
    ) -> None:
        self.trace, self._expr, self.layout = trace, expr, layout
        self.parent, self.part, self.fixed, self.version = parent, part, fixed, 0
        self.grown, self.offset = False, 0
        self.cut: bool | None = None
        self._seen = parent.now() if parent is not None else 0

    # Attributes without data ------------------------------------------------------------------

    @property
    def shape(self) -> tuple[int, ...]:
        """The lengths of the axes."""
        return self.layout.shape

    @property
    def dtype(self) -> np.dtype:
        """The dtype of the elements."""
        return self.layout.dtype

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return self.layout.ndim

    @property
    def size(self) -> int:
        """The number of elements."""
        return self.layout.size

    @property
    def strides(self) -> tuple[int, ...]:
        """The strides in bytes."""
        return self.layout.strides

    @property
    def flags(self) -> Any:
        """NumPy's flags of the memory layout."""
        return self.layout.flags

    @property
    def itemsize(self) -> int:
        """The number of bytes of one element."""
        return self.layout.itemsize

    @property
    def nbytes(self) -> int:
        """The number of bytes of all elements."""
        return self.size * self.itemsize

    def stand_in(self) -> np.ndarray:
        """Return an array for trial runs of operations."""
        return stand_in(self.layout)

    # Its value --------------------------------------------------------------------------------

    def now(self) -> int:
        """Return a number that changes with each write to the memory."""
        root = self
        while root.parent is not None:
            root = root.parent
        return root.version

    def root(self) -> Shadow:
        """Return the shadow that is not a view, the owner of the memory."""
        return self if self.parent is None else self.parent.root()

    def cuts(self) -> list[bool]:
        """Return the ``cut`` of each detached shadow between this one and the root."""
        own = [] if self.cut is None else [self.cut]
        return own if self.parent is None else own + self.parent.cuts()

    def requires(self) -> bool:
        """Whether a write gave it gradients."""
        return self.root().grown and not self.cuts()

    def expr(self) -> Expr:
        """Return the expression of the present value."""
        # Extract it again only after a write to the memory, because each extraction builds a new
        # expression for each level of views.
        if self.parent is not None and self._seen != self.now():
            assert self.part is not None
            self._seen, self._expr = self.now(), self.part(self.parent.expr())
        return self._expr

    def write(self, value: Expr) -> None:
        """Replace the value, also for all shadows that share the memory."""
        if self.parent is None:  # the new version makes all views extract their part again
            self._expr, self.version = value, self.version + 1
            return
        assert self.part is not None
        if self.cut is None:
            value = _replaced(self.parent.expr(), self.part, value)
        self.parent.write(value)

    def detached(self, required: bool) -> Shadow:
        """Return a detached view; ``required`` says whether this one requires gradients."""
        view = Shadow(self.trace, detach(self.expr()), self.layout, parent=self, part=detach)
        view.offset, view.cut = self.offset, required
        return view

    def astype(self, kind: DTypeLike, **_: object) -> Shadow:
        """Return the values in another dtype."""
        layout = self.stand_in().astype(kind)
        return Shadow(self.trace, converted(self.expr(), self.dtype, layout.dtype), layout)

    def reshape(self, *shape: object) -> Any:
        """Return the elements in another shape."""
        wanted = shape[0] if len(shape) == 1 else shape
        return self._present().through("reshape", np.reshape, (self, wanted), {})

    def copy(self, *_: object, **__: object) -> Shadow:
        """Return the values in new memory."""
        return Shadow(self.trace, self.expr(), self.stand_in())

    def __len__(self) -> int:
        return len(self.layout)

    # NumPy's protocols ------------------------------------------------------------------------

    def __array_ufunc__(
        self, ufunc: np.ufunc, method: str, *inputs: object, **given: object
    ) -> Any:
        call = getattr(ufunc, method)
        return self._present().through(ufunc.__name__, call, inputs, given)

    def __array_function__(
        self,
        function: Callable[..., object],
        types: object,
        args: Sequence[object],
        kwargs: Mapping[str, object],
    ) -> Any:
        return self._present().through(function.__name__, function, args, kwargs)

    def _present(self) -> Trace:
        """Return the innermost running trace, in which this array may be from outside."""
        return current().tracing or self.trace

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        refuse(f"the values of a tensor are needed ({name})")

    def _needed(self, *_: object, **__: object) -> NoReturn:
        refuse("the values of a tensor decide what is done (bool, float, int, item, indexing ...)")

    __bool__ = __float__ = __int__ = __index__ = __complex__ = _needed
    __array__ = __iter__ = __getitem__ = __setitem__ = __contains__ = _needed

    def __reduce__(self) -> NoReturn:
        refuse("a tensor is pickled or copied")

    def __repr__(self) -> str:
        return f"<traced array of shape {list(self.shape)}, {self.dtype}>"


def some(
    conditions: np.ndarray | Shadow,
    error: type[Exception] = IndexError,
    says: str = "an index is out of bounds",
) -> bool:
    """Whether one of the conditions is true; the caller then raises an error.

    A trace has no values: it returns False, and calls of the traced function raise ``error``.
    """
    if not isinstance(conditions, Shadow):
        return bool(conditions.any())
    frame = user_frame()
    line = f"at line {frame.f_lineno} of {frame.f_code.co_filename}, in {frame.f_code.co_name}"
    trace = conditions._present()
    trace.checks.append((trace.expr(conditions), error(f"{says}, {line}")))
    return False


def beside(array: Any, other: object) -> Any:
    """Convert an array to a shadow if the ``other`` operand is one."""
    if isinstance(array, Shadow) or not isinstance(other, Shadow):
        return array
    return Shadow(other.trace, as_expr(array), array)


def stand_in(like: np.ndarray | Shadow) -> np.ndarray:
    """Return an array for trial runs: ones, identity matrices for two axes, zeros for integers.

    No operation raises for these values.  They avoid division by 0, the matrices are positive
    definite, and integers are in bounds as indices.
    """
    if like.dtype.kind != "f":
        return np.zeros_like(like)
    out = np.ones_like(like)
    if out.ndim > 1:
        out[...] = np.eye(*out.shape[-2:])
    return out


class Place(NamedTuple):
    """The place of a view in other memory: strides and offset in bytes, and whether it is detached.

    ``of`` has the strides of the base.
    """

    strides: tuple[int, ...]
    offset: int
    detached: bool
    of: tuple[int, ...]


def memory_of(
    array: np.ndarray, shape: tuple[int, ...], strides: tuple[int, ...], offset: int
) -> np.ndarray:
    """Return a view of an array's memory from ``offset`` bytes on, with another shape."""
    interface = dict(array.__array_interface__)
    start, locked = interface["data"]
    interface |= {"shape": shape, "strides": strides, "data": (start + offset, locked)}
    return np.asarray(DummyArray(interface, base=array))


def _replaced(old: Expr, part: Callable[[Expr], Expr], value: Expr) -> Expr:
    """Return ``old`` with the elements of a part replaced by ``value``.

    ``part`` only selects and moves elements.  So its pullback puts ``value`` at the places of the
    part and zeros elsewhere, and the pullback of ones marks these places.  No view needs an inverse
    of its own.
    """
    base = dummy(old)
    inside = vjp([part(base)], base, [full(value.shape, 1)])
    new = vjp([part(base)], base, [value])
    return where(inside > 0, new, old)
