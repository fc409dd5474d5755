"""Each library's way to run a workload, in the form that it recommends.

A library is a generator of three items: the formula, its derivative, and a function without
arguments that computes the result.  An item is None where the library has no such stage.  Each run
gets a new word for the names of its symbols.  Compilers compile at the first call, which counts as
lowering.
"""

from __future__ import annotations

import itertools
from functools import partial, reduce
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.declarations import Task, Workload

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

ORDER = 10
MODULES = {
    "symdiff": "numeric",
    "native": "numeric",
    "hand": "numpy",
    "naive": "numpy",
    "lambdify": "sympy",
}
THREADS = 2  # for libraries with threads
MANY = 16  # the number of arguments beyond which CasADi takes one vector


# Functions in formulas that every array library has under the same name.
_ELEMENTWISE = ("exp", "log", "log1p", "sin", "cos", "tanh", "sqrt")
_COMMON = (*_ELEMENTWISE, "sum", "einsum", "stack", "vander")


class Unable(Exception):
    """A task that this library cannot do."""


def _formula(w: Workload, library: str) -> Callable[..., Any]:
    return w.formulas.get(library, w.formula)


def _ours(
    w: Workload, inputs: Mapping[str, Any], word: str, backend: str = "numpy"
) -> Iterator[Any]:
    """Run our library: expressions for all stages, a Function's own methods for calls."""
    import numeric as nm
    import symdiff as sd

    lower = partial(nm.lower, backend=backend)
    if w.task is Task.PROGRAM:
        yield from (None, None, w.formula(nm))
        return
    args = list(inputs.values())
    shapes = [() if w.points else np.shape(value) for value in args]
    xs = [sd.symbol(name + word, s) for name, s in zip(inputs, shapes, strict=True)]
    f = _formula(w, "symdiff")(sd, *xs)
    yield f
    wrt = [xs[i] for i in w.places(inputs)]
    some = None if w.wrt is None else wrt
    if w.task is Task.VALUE:
        yield None
        F = lower(f, xs)
        yield lambda: [F(*args)]
    elif w.task is Task.GRADIENT:
        yield sd.grad(f, wrt)
        F = lower(f, xs)
        if some is None:
            yield lambda: F.value_and_grad(*args)
        else:
            yield lambda: F.value_and_grad(*args, wrt=some)
    elif w.task is Task.CURVATURE:
        (x,) = wrt
        gradient = sd.grad(f, x)
        derivative = [gradient, sd.jvp(gradient, x, sd.ones(x.shape))]
        yield derivative
        F = lower(derivative, xs)
        yield lambda: F(*args)
    elif w.task is Task.HESSIAN:
        (x,) = wrt
        yield sd.hessian(f, x)
        F = lower(f, xs)
        yield lambda: [F.hessian(*args, wrt=x)]
    elif w.task is Task.JACOBIAN:
        # For array inputs and outputs, the Function chooses the mode at the call.
        yield sd.jacobian(f, wrt) if w.points else None
        F = lower(f, xs)
        yield lambda: F.jacobian(*args, wrt=some)
    else:
        (x,) = wrt
        derivative = sd.diff(f, x, ORDER)
        yield derivative
        F = lower(derivative, xs)
        yield lambda: [F(*args)]


def symdiff(w: Workload, inputs: Mapping[str, Any], word: str) -> Iterator[Any]:
    """Run our library in NumPy."""
    yield from _ours(w, inputs, word)


def native(w: Workload, inputs: Mapping[str, Any], word: str) -> Iterator[Any]:
    """Run our library in machine code."""
    yield from _ours(w, inputs, word, "native")


def operations(w: Workload, inputs: Mapping[str, Any]) -> tuple[int, int]:
    """Count the operations of the value, and of value and gradient together."""
    import symdiff as sd

    xs = [sd.symbol(name, () if w.points else np.shape(v)) for name, v in inputs.items()]
    f = _formula(w, "symdiff")(sd, *xs)
    gradient = sd.grad(f, [xs[i] for i in w.places(inputs)])
    return sd.count_operations(f), sd.count_operations([f, *gradient])


def hand(w: Workload, inputs: Mapping[str, Any], word: str) -> Iterator[Any]:
    """Run the code by hand."""
    assert w.hand is not None
    f, args = w.hand, list(inputs.values())
    yield from (None, None, lambda: f(*args))


def naive(w: Workload, inputs: Mapping[str, Any], word: str) -> Iterator[Any]:
    """Run the code by hand, line by line."""
    assert w.naive is not None
    f, args = w.naive, list(inputs.values())
    yield from (None, None, lambda: f(*args))


def jax(w: Workload, inputs: Mapping[str, Any], word: str, **others: Any) -> Iterator[Any]:
    """Run ``jax.jit`` of the entire task, in the dtype of the data, and wait for results.

    ``others`` are additional functions for the formula's namespace.
    """
    import jax
    import jax.numpy as jnp
    from jax.scipy.special import logsumexp

    jax.config.update("jax_enable_x64", True)
    names = SimpleNamespace(
        **{name: getattr(jnp, name) for name in _COMMON},
        min=jnp.min,
        logsumexp=logsumexp,
        softplus=jax.nn.softplus,
        sigmoid=jax.nn.sigmoid,
        scan=jax.lax.scan,
        constant=jnp.asarray,
        **others,
    )
    formula, places = _formula(w, "jax"), w.places(inputs)

    def f(*xs: Any) -> Any:
        return formula(names, *xs)

    if w.task is Task.VALUE:
        task = f
    elif w.task is Task.GRADIENT:
        task = jax.value_and_grad(f, places)
    elif w.task is Task.CURVATURE:

        def task(*xs: Any) -> Any:
            gradient, (i,) = jax.grad(f, places[0]), places
            along = [jnp.ones_like(x) if k == i else jnp.zeros_like(x) for k, x in enumerate(xs)]
            return jax.jvp(gradient, xs, tuple(along))

    elif w.task is Task.HESSIAN:
        task = jax.hessian(f, places[0])
    elif w.task is Task.JACOBIAN:
        task = (jax.jacrev if w.points else jax.jacfwd)(f, places)
    else:
        task = reduce(lambda g, _: jax.grad(g), range(ORDER), f)
    if w.points:
        task = jax.vmap(task)
    compiled = jax.jit(task)
    floats = all(isinstance(value, float) for value in inputs.values())
    args = list(inputs.values()) if floats else [jnp.asarray(value) for value in inputs.values()]
    yield from (None, None, lambda: jax.block_until_ready(compiled(*args)))


def diffrax(w: Workload, inputs: Mapping[str, Any], word: str) -> Iterator[Any]:
    """Solve differential equations in JAX, by our default method."""
    import diffrax
    import jax as library

    library.config.update("jax_enable_x64", True)

    def odeint(rate: Callable[..., Any], y: Any, t: Any, rtol: float, atol: float) -> Any:
        return diffrax.diffeqsolve(
            diffrax.ODETerm(lambda t, y, _: rate(y, t)),
            diffrax.Dopri5(),
            t0=t[0],
            t1=t[-1],
            dt0=None,
            y0=y,
            saveat=diffrax.SaveAt(ts=t),
            stepsize_controller=diffrax.PIDController(rtol=rtol, atol=atol),
        ).ys

    yield from jax(w, inputs, word, odeint=odeint)


def torchdiffeq(w: Workload, inputs: Mapping[str, Any], word: str) -> Iterator[Any]:
    """Solve differential equations in PyTorch, by our default method."""
    from torchdiffeq import odeint as solved

    def odeint(rate: Callable[..., Any], y: Any, t: Any, rtol: float, atol: float) -> Any:
        return solved(lambda t, y: rate(y, t), y, t, rtol=rtol, atol=atol, method="dopri5")

    yield from torch(w, inputs, word, odeint=odeint)


def torch(w: Workload, inputs: Mapping[str, Any], word: str, **others: Any) -> Iterator[Any]:
    """Run PyTorch eagerly; Hessians and Jacobians by ``torch.func``."""
    import torch

    torch.set_num_threads(THREADS)
    if w.task is Task.PROGRAM:
        yield from (None, None, w.formula(torch))
        return

    def logsumexp(x: Any, axis: int) -> Any:
        return torch.logsumexp(x, axis)

    names = SimpleNamespace(
        **{name: getattr(torch, name) for name in _COMMON if name != "vander"},
        vander=lambda x, n, increasing: torch.vander(x, N=n, increasing=increasing),
        min=torch.amin,
        logsumexp=logsumexp,
        softplus=torch.nn.functional.softplus,
        sigmoid=torch.sigmoid,
        scan=_looped,
        constant=torch.as_tensor,
        **others,
    )
    formula, places = _formula(w, "torch"), w.places(inputs)

    def f(*xs: Any) -> Any:
        return formula(names, *xs)

    xs = [torch.tensor(value, dtype=_torch_dtype(torch, value)) for value in inputs.values()]
    for i in places if w.task in (Task.GRADIENT, Task.DERIVATIVE) else ():
        xs[i].requires_grad_()

    def value_and_gradient(*xs: Any) -> Any:
        y = f(*xs)
        return y.detach(), torch.autograd.grad(y.sum(), [xs[i] for i in places])

    def derivative(*xs: Any) -> Any:
        y = f(*xs)
        for _ in range(ORDER):
            (y,) = torch.autograd.grad(y, xs, create_graph=True)
        return y.detach()

    def curvature(*xs: Any) -> Any:
        (i,) = places
        along = [torch.ones_like(x) if k == i else torch.zeros_like(x) for k, x in enumerate(xs)]
        return torch.func.jvp(torch.func.grad(f, i), xs, tuple(along))

    if w.task is Task.HESSIAN:
        task = torch.func.hessian(f, places[0])
    elif w.task is Task.JACOBIAN and w.points:
        task = torch.func.vmap(torch.func.jacrev(f, places))
    elif w.task is Task.JACOBIAN:
        task = torch.func.jacfwd(f, places)
    else:
        task = {
            Task.VALUE: f,
            Task.GRADIENT: value_and_gradient,
            Task.CURVATURE: curvature,
            Task.DERIVATIVE: derivative,
        }[w.task]
    yield from (None, None, lambda: task(*xs))


def _looped(f: Callable[..., Any], carry: Any, xs: Any) -> tuple[Any, None]:
    """Emulate ``scan`` for libraries without it, for the last carry."""
    for x in xs:
        carry, _ = f(carry, x)
    return carry, None


def _torch_dtype(torch: Any, value: Any) -> Any:
    return getattr(torch, str(np.asarray(value).dtype))


def autograd(w: Workload, inputs: Mapping[str, Any], word: str) -> Iterator[Any]:
    """Run HIPS autograd."""
    import autograd.numpy as anp
    from autograd import grad, hessian, jacobian, value_and_grad
    from autograd.scipy.special import logsumexp

    names = SimpleNamespace(
        **{name: getattr(anp, name) for name in _COMMON if name != "vander"},
        min=anp.min,
        logsumexp=logsumexp,
        softplus=lambda z: anp.logaddexp(0, z),
        sigmoid=lambda z: 0.5 * (anp.tanh(0.5 * z) + 1),
        scan=_looped,
        constant=np.asarray,
    )
    formula, places, args = _formula(w, "autograd"), w.places(inputs), list(inputs.values())

    def f(*xs: Any) -> Any:
        return formula(names, *xs)

    def summed(k: Any, *xs: Any) -> Any:
        return anp.sum(f(*xs)[k])

    def value_and_gradient_at_points(*xs: Any) -> Any:
        return f(*xs), grad(partial(summed, ...), places)(*xs)

    def jacobian_at_points(*xs: Any) -> Any:
        return [grad(partial(summed, k), places)(*xs) for k in range(outputs)]

    def curvature(*xs: Any) -> Any:
        gradient = grad(f, places[0])
        return gradient(*xs), grad(lambda *xs: anp.sum(gradient(*xs)), places[0])(*xs)

    outputs = len(f(*args)) if w.task is Task.JACOBIAN else 1
    if w.task is Task.VALUE:
        task = f
    elif w.task is Task.GRADIENT:
        task = value_and_gradient_at_points if w.points else value_and_grad(f, places)
    elif w.task is Task.CURVATURE:
        task = curvature
    elif w.task is Task.HESSIAN:
        task = hessian(f, places[0])
    elif w.task is Task.JACOBIAN:
        task = jacobian_at_points if w.points else jacobian(f, places[0])
    else:
        task = reduce(lambda g, _: grad(g), range(ORDER), f)
    yield from (None, None, lambda: task(*args))


# Libraries of scalar symbols --------------------------------------------------------------------


def _derivatives(w: Workload, f: Any, xs: Sequence[Any]) -> list[Any]:
    """Return the expressions of the task, by ``f.diff(x)``."""
    if w.task is Task.GRADIENT:
        return [f, *(f.diff(x) for x in xs)]
    if w.task is Task.JACOBIAN:
        return [y.diff(x) for y in f for x in xs]
    if w.task is Task.DERIVATIVE:
        return [reduce(lambda y, _: y.diff(xs[0]), range(ORDER), f)]
    raise Unable


def lambdify(w: Workload, inputs: Mapping[str, Any], word: str) -> Iterator[Any]:
    """Compile SymPy's derivatives by ``lambdify`` with ``cse``; ``math`` for floats."""
    import sympy

    args = list(inputs.values())
    xs = [sympy.Symbol(name + word, real=True) for name in inputs]
    f = _formula(w, "lambdify")(sympy, *xs)
    yield f
    derivative = _derivatives(w, f, xs)
    yield derivative
    function = sympy.lambdify(xs, derivative, "numpy" if w.points else "math", cse=True)
    yield lambda: function(*args)


def symengine(w: Workload, inputs: Mapping[str, Any], word: str) -> Iterator[Any]:
    """Run SymEngine's ``Lambdify`` with ``cse``, on one array of points or numbers."""
    import symengine

    xs = [symengine.Symbol(name + word) for name in inputs]
    f = _formula(w, "symengine")(symengine, *xs)
    yield f
    derivative = _derivatives(w, f, xs)
    yield derivative
    function = symengine.Lambdify(xs, derivative, cse=True)
    at = np.stack(list(inputs.values()), axis=-1) if w.points else list(inputs.values())
    if w.points:
        yield lambda: np.moveaxis(function(at), -1, 0)
    else:
        yield lambda: function(at)


def casadi(w: Workload, inputs: Mapping[str, Any], word: str) -> Iterator[Any]:
    """Run CasADi's ``Function``: SX for scalars, MX for vectors; many scalars form one vector."""
    import casadi

    args = list(inputs.values())
    shapes = [() if w.points else np.shape(value) for value in args]
    kind = casadi.MX if any(len(shape) == 1 for shape in shapes) else casadi.SX
    xs = [kind.sym(name + word, *s) for name, s in zip(inputs, shapes, strict=True)]
    everything = casadi.vertcat(*map(casadi.vec, xs))
    one = kind is casadi.MX and len(xs) > 1  # MX differentiates by symbols only, so use one symbol
    if one:
        everything = casadi.MX.sym("xs" + word, everything.size1())
        ends = np.cumsum([0, *(x.numel() for x in xs)]).tolist()
        split = casadi.vertsplit(everything, ends)
        xs = [casadi.reshape(part, x.shape) for part, x in zip(split, xs, strict=True)]

    def accumulated(f: Callable[..., Any], carry: Any, xs: Any, captured: Any) -> Any:
        """Return the last carry of f(carry, x, captured), in SX, by ``mapaccum``."""
        c, p, x = casadi.SX.sym("c", carry.shape), casadi.SX.sym("p", captured.shape), xs.T
        row = casadi.SX.sym("x", x.size1())
        step = casadi.Function("step", [c, row, p], [f(c, row, p)])
        many = casadi.repmat(captured, 1, x.size2())
        return step.mapaccum("loop", x.size2())(carry, x, many)[:, -1]

    def rootfinder(f: Callable[..., Any], start: Any, *captured: Any) -> Any:
        """Return the x near ``start`` with f(x, *captured) = 0, by Newton's method."""
        x, *others = (casadi.SX.sym("v", *y.shape) for y in (start, *captured))
        flat = casadi.vertcat(*map(casadi.vec, others))
        g = casadi.Function("g", [x, flat], [f(x, *others)])
        solver = casadi.rootfinder("solver", "newton", g, {"abstol": 1e-13})
        return solver(start, casadi.vertcat(*map(casadi.vec, captured)))

    names = SimpleNamespace(
        **{name: getattr(casadi, name) for name in _ELEMENTWISE},
        sum=casadi.sum1,
        rootfinder=rootfinder,
        stack=lambda parts: casadi.vertcat(*parts),
        logsumexp=lambda x, axis: casadi.logsumexp(x),
        accumulated=accumulated,
    )
    f = _formula(w, "casadi")(names, *xs)
    yield f
    if w.task is Task.GRADIENT:
        gradient = casadi.gradient(f, everything)
        ends = np.cumsum([0, *(int(np.prod(shape)) for shape in shapes)]).tolist()
        parts = gradient if len(xs) > MANY else casadi.vertsplit(gradient, ends)
    elif w.task is Task.JACOBIAN:
        rows = casadi.jacobian(casadi.vertcat(*f), everything)
        parts = [casadi.densify(rows[i, j]) for i in range(len(f)) for j in range(len(xs))]
    elif w.task is Task.DERIVATIVE:
        parts = [reduce(lambda y, _: casadi.gradient(y, xs[0]), range(ORDER), f)]
    else:
        raise Unable
    yield parts
    if one:
        parts = [casadi.reshape(p, x.shape) for p, x in zip(parts, xs, strict=True)]
        function = casadi.Function("f", [everything], [f, *parts])
        vector = np.concatenate([np.ravel(value, "F") for value in args])
        yield lambda: function(vector)
        return
    if len(xs) > MANY and not w.points:
        function = casadi.Function("f", [everything], [f, parts])
        vector = np.array(args)
        yield lambda: function(vector)
        return
    if w.task is Task.GRADIENT:
        shaped = [casadi.reshape(p, x.shape) for p, x in zip(parts, xs, strict=True)]
        parts = [f, *shaped]
    function = casadi.Function("f", xs, parts)
    if w.points:
        rows = [value[None] for value in args]
        yield lambda: [part.full()[0] for part in function(*rows)]
    else:
        yield lambda: function(*args)


def heyoka(w: Workload, inputs: Mapping[str, Any], word: str) -> Iterator[Any]:
    """Run heyoka's compiled functions, on one array with a row for each variable."""
    import heyoka as hy

    xs = hy.make_vars(*(name + word for name in inputs))
    xs = [xs] if len(inputs) == 1 else xs
    f = _formula(w, "heyoka")(hy, *xs)
    yield f
    outputs = list(f) if w.task is Task.JACOBIAN else [f]
    if w.task is Task.DERIVATIVE:
        derivative = [reduce(lambda y, _: hy.diff(y, xs[0]), range(ORDER), f)]
    else:
        tensors = hy.diff_tensors(outputs, diff_args=xs, diff_order=1)
        derivative = [tensors[index] for index in _orders(w.task, len(outputs), len(xs))]
    yield derivative
    function = hy.cfunc(derivative, vars=xs)
    at = np.array(list(inputs.values()))
    yield lambda: function(at)


def _orders(task: Task, outputs: int, inputs: int) -> list[list[int]]:
    """Return the indices of derivatives: the output, then the order by each variable."""
    ones = [
        [k, *(int(i == j) for j in range(inputs))] for k in range(outputs) for i in range(inputs)
    ]
    return [[0] * (inputs + 1), *ones] if task is Task.GRADIENT else ones


LIBRARIES = {
    f.__name__: f
    for f in (
        symdiff,
        native,
        hand,
        naive,
        torch,
        torchdiffeq,
        jax,
        diffrax,
        casadi,
        autograd,
        lambdify,
        symengine,
        heyoka,
    )
}


def arrays(result: Any, points: tuple[int, ...] = ()) -> list[np.ndarray]:
    """Flatten a result, possibly nested, to a list of arrays; broadcast a number to all points."""
    if isinstance(result, tuple | list):
        return list(itertools.chain.from_iterable(arrays(part, points) for part in result))
    if hasattr(result, "full"):  # a matrix of CasADi
        return [result.full()]
    array = np.array(result.detach().numpy() if hasattr(result, "detach") else result)
    return [array if array.ndim else np.broadcast_to(array, points)]
