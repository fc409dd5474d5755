"""Arrays without data: what Tensors hold while a function is traced.

A shadow has a shape, a dtype and an expression.  NumPy's functions on it give shadows, by the table
of ``symdiff``; whatever needs its values raises an error that names the user's line.

It has a layout as well, an array without values: programs ask arrays how they lie in memory, views
and writes through them depend on it, and strides are no part of an expression.  Whether the memory
is shared is what parents say, never the layouts, which are arrays of their own.
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
    """An array of which only shape, dtype and expression are known.

    A view has a parent, of whose expression it is a part; writing to it replaces that part.
    ``fixed``: it is an argument of the function, which must not be written to.  ``layout``: an
    array of other values, that lies in memory as the array would; a view begins ``offset`` bytes
    behind the memory that it is a view of.  ``grown``: what requires gradients was written to it.
    ``cut``: it is its parent, detached; True if that required gradients, False if not.
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

    # What needs no data -----------------------------------------------------------------------

    @property
    def shape(self) -> tuple[int, ...]:
        """The lengths of the axes."""
        return self.layout.shape

    @property
    def dtype(self) -> np.dtype:
        """The dtype."""
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
        """The steps in memory."""
        return self.layout.strides

    @property
    def flags(self) -> Any:
        """How the array lies in memory."""
        return self.layout.flags

    @property
    def itemsize(self) -> int:
        """Bytes of one element."""
        return self.layout.itemsize

    @property
    def nbytes(self) -> int:
        """Bytes of all elements."""
        return self.size * self.itemsize

    def stand_in(self) -> np.ndarray:
        """An array to try operations on."""
        return stand_in(self.layout)

    # Its value --------------------------------------------------------------------------------

    def now(self) -> int:
        """A number that changes whenever the memory is written to."""
        root = self
        while root.parent is not None:
            root = root.parent
        return root.version

    def root(self) -> Shadow:
        """Whose memory it is."""
        return self if self.parent is None else self.parent.root()

    def cuts(self) -> list[bool]:
        """What was detached on the way from whose memory it is: whether that required gradients."""
        found = [] if self.cut is None else [self.cut]
        return found if self.parent is None else found + self.parent.cuts()

    def requires(self) -> bool:
        """Whether what requires gradients was written to it."""
        return self.root().grown and not self.cuts()

    def expr(self) -> Expr:
        """The expression of the present value."""
        # Read again only if somebody has written to the memory since: the part of a parent is a new
        # expression for each level of views.
        if self.parent is not None and self._seen != self.now():
            assert self.part is not None
            self._seen, self._expr = self.now(), self.part(self.parent.expr())
        return self._expr

    def write(self, value: Expr) -> None:
        """Let the value be another one, also for all that share the memory."""
        if self.parent is None:  # the version tells all views that theirs is old
            self._expr, self.version = value, self.version + 1
            return
        assert self.part is not None
        if self.cut is None:
            value = _replaced(self.parent.expr(), self.part, value)
        self.parent.write(value)

    def detached(self, required: bool) -> Shadow:
        """The same memory without derivative; ``required``: it has one."""
        found = Shadow(self.trace, detach(self.expr()), self.layout, parent=self, part=detach)
        found.offset, found.cut = self.offset, required
        return found

    def astype(self, kind: DTypeLike, **_: object) -> Shadow:
        """The values in another dtype."""
        layout = self.stand_in().astype(kind)
        return Shadow(self.trace, converted(self.expr(), self.dtype, layout.dtype), layout)

    def reshape(self, *shape: object) -> Any:
        """The elements in another shape."""
        wanted = shape[0] if len(shape) == 1 else shape
        return self._present().through("reshape", np.reshape, (self, wanted), {})

    def copy(self, *_: object, **__: object) -> Shadow:
        """The values in memory of their own."""
        return Shadow(self.trace, self.expr(), self.stand_in())

    def __len__(self) -> int:
        return len(self.layout)

    # What NumPy asks --------------------------------------------------------------------------

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
        """The trace that runs now, in which the array may be one from outside."""
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
    """Whether one of the conditions is true, for which the caller will raise an error.

    A trace cannot know that: False, and what was traced raises ``error`` when it runs.
    """
    if not isinstance(conditions, Shadow):
        return bool(conditions.any())
    frame = user_frame()
    line = f"at line {frame.f_lineno} of {frame.f_code.co_filename}, in {frame.f_code.co_name}"
    trace = conditions._present()
    trace.checks.append((trace.expr(conditions), error(f"{says}, {line}")))
    return False


def beside(array: Any, other: object) -> Any:
    """An array as a shadow, if what it is to meet is one."""
    if isinstance(array, Shadow) or not isinstance(other, Shadow):
        return array
    return Shadow(other.trace, as_expr(array), array)


def stand_in(like: np.ndarray | Shadow) -> np.ndarray:
    """An array to try operations on: ones, an identity in two axes, zeros of integers.

    Numbers that no operation objects to: nothing is divided by 0, matrices are regular and
    positive definite, and integers, which may be places, are in bounds.
    """
    if like.dtype.kind != "f":
        return np.zeros_like(like)
    out = np.ones_like(like)
    if out.ndim > 1:
        out[...] = np.eye(*out.shape[-2:])
    return out


class Place(NamedTuple):
    """Where a view lies in other memory: strides and offset in bytes; whether it is detached.

    ``of``: the strides of the whole.
    """

    strides: tuple[int, ...]
    offset: int
    detached: bool
    of: tuple[int, ...]


def memory_of(
    array: np.ndarray, shape: tuple[int, ...], strides: tuple[int, ...], offset: int
) -> np.ndarray:
    """The memory of an array from ``offset`` bytes on, under another shape."""
    interface = dict(array.__array_interface__)
    start, locked = interface["data"]
    interface |= {"shape": shape, "strides": strides, "data": (start + offset, locked)}
    return np.asarray(DummyArray(interface, base=array))


def _replaced(old: Expr, part: Callable[[Expr], Expr], value: Expr) -> Expr:
    """``old`` with its part another value: what the part's derivative scatters.

    A part only moves elements, so its pullback puts the value back where it came from, zeros
    elsewhere, and ones of its shape show where that is.  No view needs an inverse of its own.
    """
    whole = dummy(old)
    inside = vjp([part(whole)], whole, [full(value.shape, 1)])
    new = vjp([part(whole)], whole, [value])
    return where(inside > 0, new, old)
