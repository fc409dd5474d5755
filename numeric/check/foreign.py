"""Functions of PyTorch, of JAX and of Tensors with derivatives of their own, called with arrays.

No package is loaded before one of its functions is there.
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
    """A function of the tensors of ``lib``, which is PyTorch, or numeric, which speaks like it.

    Tensors share the memory of the arrays wherever they can: strides are those of the arrays, and
    what a function writes into its operands is seen in these.
    """

    def __init__(self, fn: Callable[..., Any], lib: ModuleType) -> None:
        super().__init__(fn)
        self.lib = lib

    def _named(self, call: Callable[..., object]) -> Callable[..., object]:
        """As NumPy says it where a matrix is singular."""

        @wraps(call)
        def translated(*args: object) -> object:
            try:
                return call(*args)
            except self.lib.linalg.LinAlgError as error:
                raise np.linalg.LinAlgError(str(error)) from error

        return named(translated, self.name)

    def _tensor(self, array: object) -> Any:
        a = np.asarray(array)
        shared = a.flags.writeable and all(s > 0 for s in a.strides)
        return self.lib.from_numpy(a if shared else a.copy())

    def _result(self, y: object) -> Any:
        if not isinstance(y, self.lib.Tensor):
            raise TypeError(f"fn: {self.name} returned {type(y).__name__}, not one tensor")
        return y

    def _recorded(self, arrays: Sequence[np.ndarray]) -> tuple[Any, list[Any]]:
        """The result, and the operands that it may be differentiated by."""
        xs = [self._tensor(x) for x in arrays]
        real = [x.requires_grad_() for x in xs if x.is_floating_point()]
        return self._result(self.fn(*xs)), real

    def _pulled(self, y: object, xs: Sequence[object], w: object, **options: bool) -> Sequence[Any]:
        grads: Sequence[Any] = self.lib.autograd.grad(
            y, xs, w, allow_unused=True, materialize_grads=True, **options
        )
        return grads

    def value(self, *arrays: np.ndarray) -> np.ndarray:
        """What the function computes, without a record."""
        with self.lib.no_grad():
            return _array(self._result(self.fn(*map(self._tensor, arrays))))

    def vjp(self, *arrays: np.ndarray) -> Any:
        """By the backward of what was recorded."""
        with self.lib.enable_grad():
            y, xs = self._recorded(arrays[:-1])
            w = self._tensor(arrays[-1]).to(y.dtype)
            return one_or_all([_array(g) for g in self._pulled(y, xs, w)])

    def jvp(self, *arrays: np.ndarray) -> np.ndarray:
        """By dual numbers, which PyTorch has."""
        forward_ad = getattr(self.lib.autograd, "forward_ad", None)
        if forward_ad is None:
            raise NotImplementedError("functions of Tensors have no forward mode of their own")
        inputs, tangents = moved([np.asarray(a) for a in arrays])
        with forward_ad.dual_level():
            xs = [self._tensor(x) for x in inputs]
            for i, t in zip(real_places(inputs), tangents, strict=True):
                xs[i] = forward_ad.make_dual(xs[i], self._tensor(t))
            primal, tangent = forward_ad.unpack_dual(self._result(self.fn(*xs)))
            return _array(self.lib.zeros_like(primal) if tangent is None else tangent)

    def hessian(self, *arrays: np.ndarray) -> Any:
        """Row by row, by the backward of the backward."""
        with self.lib.enable_grad():
            y, xs = self._recorded(arrays)
            grads = self._pulled(y, xs, None, create_graph=True)
            blocks = [self._rows(g, xs) for g in grads]
            if not any(g.requires_grad for g in grads):
                raise NotImplementedError("its backward is not recorded, or constant")
        return blocks[0][0] if len(blocks) == 1 else tuple(map(tuple, blocks))

    def _rows(self, g: Any, xs: Sequence[Any]) -> list[np.ndarray]:
        """The derivatives of all elements of g by each input; zeros if g depends on none."""
        shape, kind = tuple(g.shape), g.detach().numpy().dtype
        if not g.requires_grad or 0 in shape:
            return [np.zeros(shape + tuple(x.shape), kind) for x in xs]
        rows = [
            [_array(h) for h in self._pulled(e, xs, None, retain_graph=True)] for e in g.reshape(-1)
        ]
        stacked = [np.stack(column) for column in zip(*rows, strict=True)]
        return [h.reshape(shape + h.shape[1:]) for h in stacked]


def _array(t: Any) -> np.ndarray:
    return np.array(t.detach().numpy())


@door
def from_torch(fn: object) -> Source:
    """A function of PyTorch tensors, whose derivatives are to be audited.

    ``fn`` is a ``torch.autograd.Function`` (the class or its ``apply``), a module, or any callable
    of tensors which returns one tensor.  Its value is checked against the forward; derivatives are
    those of ``torch.autograd.grad``, those of the second order come from double backward, products
    with tangents from forward mode, where ``fn`` has them.

        audit(np.tanh, vjp=from_torch(MyTanh), inputs={"x": 5})

    Raises ImportError without PyTorch (the extra ``torch``), TypeError for what cannot be called.
    """
    return Taped(_callable(fn, "from_torch"), extra("torch", "from_torch"))


@door
def from_tensors(fn: object) -> Source:
    """A function of numeric's own Tensors, whose derivatives are to be audited.

    ``fn`` is a ``numeric.autograd.Function`` (the class or its ``apply``), or any callable of
    Tensors that returns one.  Derivatives are those of ``numeric.autograd.grad``.  Raises TypeError
    for what cannot be called.

    >>> import numeric
    >>> from_tensors(numeric.sin).vjp(np.zeros(2), np.array([1.0, 3.0]))
    array([1., 3.])
    """
    return Taped(_callable(fn, "from_tensors"), import_module("numeric"))


def _callable(fn: object, what: str) -> Callable[..., Any]:
    found = getattr(fn, "apply", fn) if hasattr(fn, "backward") else fn  # a Function's class
    if not callable(found):
        raise TypeError(f"{what}: {shortened(fn)} cannot be called")
    return found


# JAX ----------------------------------------------------------------------------------------------


class Jax(Source):
    """A function of JAX arrays; computed in the dtype of its operands, whatever JAX is set to."""

    def __init__(self, fn: Callable[..., Any]) -> None:
        super().__init__(fn)
        self.jax = extra("jax", "from_jax")
        self._compiled: dict[str, Callable[..., Any]] = {}
        e = self.jax.errors
        self._untraceable = (
            e.ConcretizationTypeError,
            e.TracerArrayConversionError,
            e.TracerIntegerConversionError,
            e.NonConcreteBooleanIndexError,
        )

    def _run(self, what: str, call: Callable[..., Any], arrays: Sequence[np.ndarray]) -> Any:
        """A function of arrays, compiled once for every shape; eagerly if it needs values."""
        given = [np.asarray(a) for a in arrays]
        if what not in self._compiled:
            self._compiled[what] = self.jax.jit(call)
        with self._precision(any(a.dtype == np.float64 for a in given)):
            try:
                found = self._compiled[what](*given)
            except self._untraceable:
                self._compiled[what] = call
                found = call(*map(self.jax.numpy.asarray, given))
            return self.jax.tree_util.tree_map(np.array, found)

    def _precision(self, double: bool) -> Any:
        if double == self.jax.config.jax_enable_x64:
            return nullcontext()
        if not hasattr(self.jax, "enable_x64"):  # where JAX had it before
            return import_module("jax.experimental").enable_x64(double)
        return self.jax.enable_x64(double)

    def offered(
        self, forward: Expr, inputs: Sequence[Expr], at: Sequence[np.ndarray]
    ) -> dict[str, object]:
        """As every source, and whether this machine's XLA flushes subnormal numbers to 0."""
        tiny = self._run("subnormals", lambda a: 2 * a, [np.array(1e-310)])
        return super().offered(forward, inputs, at) | {"subnormals": bool(tiny != 0)}

    def value(self, *arrays: np.ndarray) -> np.ndarray:
        """What the function computes."""
        found = self._run("value", self.fn, arrays)
        if not isinstance(found, np.ndarray):
            raise TypeError(f"fn: {self.name} returned {type(found).__name__}, not one array")
        return found

    def vjp(self, *arrays: np.ndarray) -> Any:
        """By ``jax.vjp``."""

        def pulled(*args: Any) -> Any:
            y, pullback = self.jax.vjp(*self._by_real_places(args[:-1]))
            return pullback(args[-1].astype(y.dtype))

        return one_or_all(self._run("vjp", pulled, arrays))

    def jvp(self, *arrays: np.ndarray) -> np.ndarray:
        """By ``jax.jvp``, which functions with a ``custom_vjp`` refuse."""

        def pushed(*args: Any) -> Any:
            inputs, tangents = moved(args)
            fn, *real = self._by_real_places(inputs)
            return self.jax.jvp(fn, tuple(real), tuple(tangents))[1]

        return np.asarray(self._run("jvp", pushed, arrays))

    def hessian(self, *arrays: np.ndarray) -> Any:
        """By reverse mode over reverse mode, which functions with a ``custom_vjp`` have as well."""

        def second(*args: object) -> Any:
            fn, *real = self._by_real_places(args)
            order = tuple(range(len(real)))
            return self.jax.jacrev(self.jax.jacrev(fn, order), order)(*real)

        blocks = self._run("hessian", second, arrays)
        return blocks[0][0] if len(blocks) == 1 else blocks

    def _by_real_places(self, args: Sequence[Any]) -> tuple[Any, ...]:
        """The function of its real operands alone, and these."""
        places = real_places(args)

        def fn(*xs: object) -> Any:
            given = dict(zip(places, xs, strict=True))
            return self.fn(*[given.get(i, a) for i, a in enumerate(args)])

        return (fn, *[args[i] for i in places])


@door
def from_jax(fn: object) -> Source:
    """A function of JAX arrays, whose derivatives are to be audited.

    ``fn`` is any callable of arrays that returns one, with a ``custom_vjp`` or ``custom_jvp`` or
    without.  Derivatives are those of ``jax.vjp`` and ``jax.jvp``, of the second order those of
    reverse over reverse mode, compiled where ``fn`` allows it.  float64 operands are computed in
    double precision, float32 ones in single, whatever ``jax_enable_x64`` is, which stays as it is.

        audit("tanh(x)", gradient=from_jax(my_tanh), inputs={"x": ()})

    Raises ImportError without JAX (the extra ``jax``), TypeError for what cannot be called.
    """
    return Jax(_callable(fn, "from_jax"))
