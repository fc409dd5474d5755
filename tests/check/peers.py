"""How PyTorch's gradcheck and JAX's check_grads do on the bench, at their defaults.

    python -m tests.check.peers

Each gradient or vjp of the bench is the backward of a ``torch.autograd.Function``, and of a
``jax.custom_vjp``, whose forward is the bench's function in NumPy.  It is asked at ``POINTS``
points, normal, or uniform in the domain: float64, or float32 where that is what the entry is for.
What is right but for its hessian or jvp is not asked, as neither is given these; what is refused,
or breaks, has ``raised``.  PyTorch sums a gradient over broadcast axes by itself.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from tests.check.bench import RIGHT, WRONG
from tests.check.entries import every

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.check.entries import Entry

POINTS = 3


def backward(entry: Entry) -> Callable[..., Any]:
    """Inputs and a cotangent in, a list with an array for each input out."""
    of, single = entry.offered(), len(entry.forward.inputs) == 1

    def pulled(*args: Any) -> list[Any]:
        *xs, g = args
        if "vjp" in of:
            got = of["vjp"](*xs, g)
            return [np.asarray(got)] if single else every(got)
        got = of["gradient"](*xs)
        return [np.asarray(part) * g for part in ([got] if single else every(got))]

    return pulled


def torch_passes(entry: Entry, seed: int) -> bool:
    """Whether ``torch.autograd.gradcheck`` finds nothing wrong."""
    import torch

    pull = backward(entry)

    class Wrapped(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, *xs: Any) -> Any:
            ctx.save_for_backward(*xs)
            arrays = [x.detach().numpy() for x in xs]
            return torch.from_numpy(np.array(entry.forward.fn(*arrays), arrays[0].dtype))

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            xs = [x.detach().numpy() for x in ctx.saved_tensors]
            parts = [np.asarray(part, xs[0].dtype) for part in pull(*xs, g.numpy())]
            return tuple(torch.from_numpy(part.copy()) for part in parts)

    xs = [torch.from_numpy(x).requires_grad_() for x in entry.points(seed, entry.dtypes()[0])]
    return bool(torch.autograd.gradcheck(Wrapped.apply, xs, raise_exception=False))


def jax_passes(entry: Entry, seed: int) -> bool:
    """Whether ``jax.test_util.check_grads`` finds nothing wrong."""
    import jax
    from jax.test_util import check_grads

    jax.config.update("jax_enable_x64", True)
    pull, point = backward(entry), entry.points(seed, entry.dtypes()[0])
    dtype = point[0].dtype
    like = [jax.ShapeDtypeStruct(x.shape, dtype) for x in point]
    value = jax.ShapeDtypeStruct(np.shape(entry.forward.fn(*point)), dtype)

    def run(*xs: Any) -> Any:
        return np.asarray(entry.forward.fn(*map(np.asarray, xs)), dtype)

    def pulled(*args: Any) -> Any:
        return [np.asarray(part, dtype) for part in pull(*map(np.asarray, args))]

    @jax.custom_vjp
    def wrapped(*xs: Any) -> Any:
        return jax.pure_callback(run, value, *xs)

    def forwards(*xs: Any) -> Any:
        return wrapped(*xs), xs

    def backwards(xs: Any, g: Any) -> Any:
        return tuple(jax.pure_callback(pulled, like, *xs, g))

    wrapped.defvjp(forwards, backwards)
    try:
        check_grads(wrapped, tuple(map(jax.numpy.asarray, point)), order=1, modes=["rev"])
    except AssertionError:
        return False
    return True


def asked(passes: Callable[[Entry, int], bool], entry: Entry) -> str:
    """``passed`` at all points, ``failed`` or ``raised`` at one, or a dash: not asked."""
    if entry.kinds and ("hessian" in entry.callables or "jvp" in entry.callables):
        return "-"
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return "passed" if all(passes(entry, seed) for seed in range(POINTS)) else "failed"
        except Exception:
            return "raised"


def main() -> None:
    """Print the table and its totals."""
    for title, entries, mistake in (("wrong", WRONG, "passed"), ("right", RIGHT, "failed raised")):
        rows = [(e.name, asked(torch_passes, e), asked(jax_passes, e)) for e in entries]
        width = max(len(name) for name, *_ in rows)
        print(f"\n{title:{width}}  PyTorch  JAX")
        for name, *answers in rows:
            marked = (f"{a}{'!' if a in mistake else ' '}" for a in answers)
            print(f"{name:{width}}  " + "  ".join(marked))
        for k, peer in enumerate(("PyTorch's gradcheck", "JAX's check_grads"), 1):
            answers = [row[k] for row in rows]
            counts = ", ".join(f"{answers.count(a)} {a}" for a in ("failed", "raised", "passed"))
            print(f"{peer} on {len(rows)} {title}: {counts}, {answers.count('-')} not asked")


if __name__ == "__main__":
    main()
