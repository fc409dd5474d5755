"""Functions of PyTorch, JAX and Tensors with their own derivatives, called with arrays.

Each package is imported only when one of its functions is present.
"""

from __future__ import annotations

from contextlib import nullcontext
from functools import wraps
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from numeric.check.sources import Source, moved, named, one_or_all, real_places
from numeric.extras import extra
from symdiff.graph.arguments import door
from symdiff.graph.number import shortened

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import ModuleType

    from symdiff.graph.expr import Expr


# Tapes --------------------------------------------------------------------------------------------


class Taped(Source):
    """A function of tensors of ``lib``: PyTorch, or numeric, which has the same interface.

    Tensors share the memory of the arrays where possible.  So they have the strides of the arrays,
    and a function that writes into its operands changes the arrays.
    """

    def __init__(self, fn: Callable[..., Any], lib: ModuleType) -> None:
        super().__init__(fn)
        self.lib = lib

    def _named(self, call: Callable[..., object]) -> Callable[..., object]:
        """Translate the library's error for a singular matrix to NumPy's."""

        @wraps(call)
        def translated(*args: object) -> object:
            try:
                return call(*args)
            except self.lib.linalg.LinAlgError as error:
                raise np.linalg.LinAlgError(str(error)) from error

        return named(translated, self.name)

    def _tensor(self, array: object) -> Any:
        a = np.asarray(array)
        # from_numpy takes neither read-only memory nor negative strides.
        shared = a.flags.writeable and all(s > 0 for s in a.strides)
        return self.lib.from_numpy(a if shared else a.copy())

    def _result(self, y: object) -> Any:
        if not isinstance(y, self.lib.Tensor):
            raise TypeError(f"fn: {self.name} returned {type(y).__name__}, not one tensor")
        return y

    def _recorded(self, arrays: Sequence[np.ndarray]) -> tuple[Any, list[Any]]:
        """Return the result and the operands that it can be differentiated by."""
        xs = [self._tensor(x) for x in arrays]
        real = [x.requires_grad_() for x in xs if x.is_floating_point()]
        return self._result(self.fn(*xs)), real

    def _pulled(self, y: object, xs: Sequence[object], w: object, **options: bool) -> Sequence[Any]:
        grads: Sequence[Any] = self.lib.autograd.grad(
            y, xs, w, allow_unused=True, materialize_grads=True, **options
        )
        return grads

    def value(self, *arrays: np.ndarray) -> np.ndarray:
        """Return the function's value without recording it."""
        with self.lib.no_grad():
            return _array(self._result(self.fn(*map(self._tensor, arrays))))

    def vjp(self, *arrays: np.ndarray) -> Any:
        """Compute the vjp by a backward pass."""
        with self.lib.enable_grad():
            y, xs = self._recorded(arrays[:-1])
            # PyTorch takes only weights of the result's dtype.
            w = self._tensor(arrays[-1]).to(y.dtype)
            return one_or_all([_array(g) for g in self._pulled(y, xs, w)])

    def jvp(self, *arrays: np.ndarray) -> np.ndarray:
        """Compute the jvp with dual numbers, which only PyTorch has."""
        forward_ad = getattr(self.lib.autograd, "forward_ad", None)
        if forward_ad is None:
            raise NotImplementedError("functions of Tensors have no forward mode of their own")
        inputs, tangents = moved([np.asarray(a) for a in arrays])
        with forward_ad.dual_level():
            xs = [self._tensor(x) for x in inputs]
            for i, t in zip(real_places(inputs), tangents, strict=True):
                xs[i] = forward_ad.make_dual(xs[i], self._tensor(t))
            primal, tangent = forward_ad.unpack_dual(self._result(self.fn(*xs)))
            # A result that does not depend on the inputs has no tangent.
            return _array(self.lib.zeros_like(primal) if tangent is None else tangent)

    def hessian(self, *arrays: np.ndarray) -> Any:
        """Compute the Hessian row by row, by a backward pass of the backward pass."""
        with self.lib.enable_grad():
            y, xs = self._recorded(arrays)
            grads = self._pulled(y, xs, None, create_graph=True)
            blocks = [self._rows(g, xs) for g in grads]
            # A zero Hessian and an unrecorded backward look alike, so neither is reported as zeros.
            if not any(g.requires_grad for g in grads):
                raise NotImplementedError("its backward is not recorded, or constant")
        return blocks[0][0] if len(blocks) == 1 else tuple(map(tuple, blocks))

    def _rows(self, g: Any, xs: Sequence[Any]) -> list[np.ndarray]:
        """Return the derivatives of all elements of g by each input; zeros if g depends on none."""
        shape, kind = tuple(g.shape), g.detach().numpy().dtype
        if not g.requires_grad or 0 in shape:
            return [np.zeros(shape + tuple(x.shape), kind) for x in xs]
        rows = [
            [_array(h) for h in self._pulled(e, xs, None, retain_graph=True)] for e in g.reshape(-1)
        ]
        stacked = [np.stack(column) for column in zip(*rows, strict=True)]
        return [h.reshape(shape + h.shape[1:]) for h in stacked]


def _array(t: Any) -> np.ndarray:
    # Copy: the memory may be that of the tensor, which later calls may overwrite.
    return np.array(t.detach().numpy())


@door
def from_torch(fn: object) -> Source:
    """Wrap a function of PyTorch tensors for an audit of its derivatives.

    ``fn`` is a ``torch.autograd.Function`` (the class or its ``apply``), a module, or any callable
    of tensors that returns one tensor.  The audit checks its value against the forward.  First
    derivatives are those of ``torch.autograd.grad``.  Second derivatives come from double backward,
    and products with tangents from forward mode, where ``fn`` has them.

        audit(np.tanh, vjp=from_torch(MyTanh), inputs={"x": 5})

    Raises ImportError without PyTorch (the extra ``torch``), and TypeError if ``fn`` cannot be
    called.
    """
    return Taped(_callable(fn, "from_torch"), extra("torch", "from_torch"))


@door
def from_tensors(fn: object) -> Source:
    """Wrap a function of numeric's own Tensors for an audit of its derivatives.

    ``fn`` is a ``numeric.autograd.Function`` (the class or its ``apply``), or any callable of
    Tensors that returns one.  Derivatives are those of ``numeric.autograd.grad``.  Raises TypeError
    if ``fn`` cannot be called.

    >>> import numeric
    >>> from_tensors(numeric.sin).vjp(np.zeros(2), np.array([1.0, 3.0]))
    array([1., 3.])
    """
    return Taped(_callable(fn, "from_tensors"), import_module("numeric"))


def _callable(fn: object, what: str) -> Callable[..., Any]:
    # the class of a Function
    function = getattr(fn, "apply", fn) if hasattr(fn, "backward") else fn
    if not callable(function):
        raise TypeError(f"{what}: {shortened(fn)} cannot be called")
    return function


# JAX ----------------------------------------------------------------------------------------------


class Jax(Source):
    """A function of JAX arrays, computed in the dtype of its operands under any setting of JAX."""

    def __init__(self, fn: Callable[..., Any]) -> None:
        super().__init__(fn)
        self.jax = extra("jax", "from_jax")
        self._compiled: dict[str, Callable[..., Any]] = {}
        # Errors of functions that need values, which tracing cannot give.
        e = self.jax.errors
        self._untraceable = (
            e.ConcretizationTypeError,
            e.TracerArrayConversionError,
            e.TracerIntegerConversionError,
            e.NonConcreteBooleanIndexError,
        )

    def _run(self, what: str, call: Callable[..., Any], arrays: Sequence[np.ndarray]) -> Any:
        """Run a function of arrays, compiled once per shape, or eagerly if it needs values."""
        operands = [np.asarray(a) for a in arrays]
        if what not in self._compiled:
            self._compiled[what] = self.jax.jit(call)
        with self._precision(any(a.dtype == np.float64 for a in operands)):
            try:
                result = self._compiled[what](*operands)
            except self._untraceable:
                # Keep the eager function for later calls: tracing would fail again.
                self._compiled[what] = call
                result = call(*map(self.jax.numpy.asarray, operands))
            return self.jax.tree_util.tree_map(np.array, result)

    def _precision(self, double: bool) -> Any:
        if double == self.jax.config.jax_enable_x64:
            return nullcontext()
        if not hasattr(self.jax, "enable_x64"):  # older versions have it in jax.experimental
            return import_module("jax.experimental").enable_x64(double)
        return self.jax.enable_x64(double)

    def offered(
        self, forward: Expr, inputs: Sequence[Expr], at: Sequence[np.ndarray]
    ) -> dict[str, object]:
        """Add to a source's offer whether XLA flushes subnormal numbers to 0 on this machine."""
        # 2e-310 is subnormal: a machine that flushes such numbers returns 0.
        tiny = self._run("subnormals", lambda a: 2 * a, [np.array(1e-310)])
        return super().offered(forward, inputs, at) | {"subnormals": bool(tiny != 0)}

    def value(self, *arrays: np.ndarray) -> np.ndarray:
        """Return the function's value."""
        result = self._run("value", self.fn, arrays)
        if not isinstance(result, np.ndarray):
            raise TypeError(f"fn: {self.name} returned {type(result).__name__}, not one array")
        return result

    def vjp(self, *arrays: np.ndarray) -> Any:
        """Compute the vjp by ``jax.vjp``."""

        def pulled(*args: Any) -> Any:
            y, pullback = self.jax.vjp(*self._by_real_places(args[:-1]))
            return pullback(args[-1].astype(y.dtype))

        return one_or_all(self._run("vjp", pulled, arrays))

    def jvp(self, *arrays: np.ndarray) -> np.ndarray:
        """Compute the jvp by ``jax.jvp``, which functions with a ``custom_vjp`` refuse."""

        def pushed(*args: Any) -> Any:
            inputs, tangents = moved(args)
            fn, *real = self._by_real_places(inputs)
            return self.jax.jvp(fn, tuple(real), tuple(tangents))[1]

        return np.asarray(self._run("jvp", pushed, arrays))

    def hessian(self, *arrays: np.ndarray) -> Any:
        """Compute the Hessian by reverse over reverse mode: a ``custom_vjp`` allows it."""

        def second(*args: object) -> Any:
            fn, *real = self._by_real_places(args)
            order = tuple(range(len(real)))
            return self.jax.jacrev(self.jax.jacrev(fn, order), order)(*real)

        blocks = self._run("hessian", second, arrays)
        return blocks[0][0] if len(blocks) == 1 else blocks

    def _by_real_places(self, args: Sequence[Any]) -> tuple[Any, ...]:
        """Return the function of its real operands alone, followed by these operands."""
        places = real_places(args)

        def fn(*xs: object) -> Any:
            replaced = dict(zip(places, xs, strict=True))
            return self.fn(*[replaced.get(i, a) for i, a in enumerate(args)])

        return (fn, *[args[i] for i in places])


@door
def from_jax(fn: object) -> Source:
    """Wrap a function of JAX arrays for an audit of its derivatives.

    ``fn`` is any callable of arrays that returns one, with or without a ``custom_vjp`` or
    ``custom_jvp``.  First derivatives are those of ``jax.vjp`` and ``jax.jvp``.  Second derivatives
    come from reverse over reverse mode.  All are compiled where ``fn`` allows it.  float64 operands
    run in double precision and float32 ones in single, whatever ``jax_enable_x64`` is.  That
    setting does not change.

        audit("tanh(x)", gradient=from_jax(my_tanh), inputs={"x": ()})

    Raises ImportError without JAX (the extra ``jax``), and TypeError if ``fn`` cannot be called.
    """
    return Jax(_callable(fn, "from_jax"))
