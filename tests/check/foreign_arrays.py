"""More rows of the table: reductions, norms, order, products and decompositions of arrays."""

import numpy as np

import symdiff as sd
from tests.check.foreign_table import VW, F, M, V, everywhere, row

# Reductions -----------------------------------------------------------------------------------


def _along(path, **options):
    """The function of a package along its only axis."""

    def of(package):
        fn = package
        for part in path.split("."):
            fn = getattr(fn, part)
        return lambda x: fn(x, **options)

    return of


def _norm(order, without=()):
    found = {
        "torch": lambda t: lambda x: t.linalg.norm(x, order),
        "jax": lambda j: lambda x: j.numpy.linalg.norm(x, order),
        "autograd": lambda a: lambda x: a.numpy.linalg.norm(x, order),
    }
    return {package: make for package, make in found.items() if package not in without}


def _standard(x, eps):
    return (x - sd.mean(x)) / sd.sqrt(sd.var(x) + eps)


A34, A45 = {"x": (3, 4), "y": (4, 5)}, {"x": (2, 3), "y": (3, 2)}
LINALG = {"torch": "linalg.{}", "jax": "numpy.linalg.{}", "autograd": "numpy.linalg.{}"}


def linalg(name, forward, inputs=M, without=(), **renamed):
    """A function of matrices that the packages have under one name."""
    places = {p: path.format(name) for p, path in LINALG.items() if p not in without}
    return row(name, forward, inputs, **(places | renamed))


ROWS = (
    row(
        "logsumexp", sd.logsumexp, V,
        torch=_along("logsumexp", dim=0), jax="scipy.special.logsumexp",
        autograd="scipy.special.logsumexp",
    ),
    row("softmax", sd.softmax, V, torch=_along("softmax", dim=0), jax="nn.softmax"),
    row("log_softmax", sd.log_softmax, V, torch=_along("log_softmax", dim=0), jax="nn.log_softmax"),
    row(
        "softmin", lambda x: sd.softmax(-x), V, torch=_along("nn.functional.softmin", dim=0)
    ),
    everywhere("sum", sd.sum, V),
    everywhere("mean", sd.mean, V),
    everywhere("prod", sd.prod, V),
    row(
        "var", sd.var, V, torch=_along("var", correction=0), jax="numpy.var", autograd="numpy.var"
    ),
    row(
        "std", sd.std, V, torch=_along("std", correction=0), jax="numpy.std", autograd="numpy.std"
    ),
    row(
        "std, ddof=1", lambda x: sd.std(x, ddof=1), V,
        torch="std", jax=_along("numpy.std", ddof=1), autograd=_along("numpy.std", ddof=1),
    ),
    row("cumsum", sd.cumsum, V, torch=_along("cumsum", dim=0), jax="numpy.cumsum",
        autograd="numpy.cumsum"),
    row("cumprod", sd.cumprod, V, torch=_along("cumprod", dim=0), jax="numpy.cumprod"),
    row("logcumsumexp", sd.logcumsumexp, V, torch=_along("logcumsumexp", dim=0),
        jax="lax.cumlogsumexp"),
    row("max", sd.max, V, torch="amax", jax="numpy.max", autograd="numpy.max"),
    row("min", sd.min, V, torch="amin", jax="numpy.min", autograd="numpy.min"),
    row(
        "sort", sd.sort, V,
        torch=lambda t: lambda x: t.sort(x).values, jax="numpy.sort", autograd="numpy.sort",
    ),
    row("median", sd.median, V, torch="median", jax="numpy.median"),
    row(
        "ptp", sd.ptp, V,
        torch=lambda t: lambda x: t.amax(x) - t.amin(x), jax="numpy.ptp",
    ),

    # Norms
    row("norm", sd.norm, V, **_norm(None)),
    row("norm, 1", lambda x: sd.norm(x, 1), V, **_norm(1, without=("autograd",))),
    row("norm, 3", lambda x: sd.norm(x, 3), V, **_norm(3)),
    row("norm, inf", lambda x: sd.norm(x, np.inf), V, **_norm(np.inf)),
    row("norm, fro", lambda x: sd.norm(x, "fro"), M, **_norm("fro")),
    row("norm, nuc", lambda x: sd.norm(x, "nuc"), M, **_norm("nuc")),
    row("normalize", lambda x: x / sd.norm(x), V,
        torch=lambda t: lambda x: t.nn.functional.normalize(x, dim=0, eps=0.0)),
    row("layer_norm", lambda x: _standard(x, 1e-5), V,
        torch=lambda t: lambda x: t.nn.functional.layer_norm(x, (5,), eps=1e-5)),
    row("standardize", lambda x: _standard(x, 1e-5), V,
        jax=lambda j: lambda x: j.nn.standardize(x, epsilon=1e-5)),
    row("rms_norm", lambda x: x / sd.sqrt(sd.mean(x * x) + 1e-5), V,
        torch=lambda t: lambda x: t.nn.functional.rms_norm(x, (5,), eps=1e-5)),
    row("dist", lambda x, y: sd.norm(x - y), VW, torch="dist"),
    row(
        "cdist", lambda x, y: sd.sqrt(sd.sum((x[:, None] - y[None]) ** 2, -1)),
        {"x": (2, 3), "y": (4, 3)},
        torch=lambda t: lambda x, y: t.cdist(x, y, compute_mode="donot_use_mm_for_euclid_dist"),
    ),
    row("glu", lambda x: x[:2] * sd.sigmoid(x[2:]), {"x": (4,)}, torch=F + "glu", jax="nn.glu"),

    # Products
    everywhere("matmul", lambda x, y: x @ y, A34),
    everywhere("kron", sd.kron, A45),
    everywhere("outer", sd.outer, {"x": (3,), "y": (4,)}),
    everywhere("trace", sd.trace, M),
    row(
        "einsum", lambda x, y: sd.einsum("ij,jk->ki", x, y), A34,
        torch=lambda t: lambda x, y: t.einsum("ij,jk->ki", x, y),
        jax=lambda j: lambda x, y: j.numpy.einsum("ij,jk->ki", x, y),
        autograd=lambda a: lambda x, y: a.numpy.einsum("ij,jk->ki", x, y),
    ),
    row(
        "einsum, diagonal", lambda x, y: sd.einsum("ii,j->ij", x, y), {"x": (3, 3), "y": (3,)},
        torch=lambda t: lambda x, y: t.einsum("ii,j->ij", x, y),
        jax=lambda j: lambda x, y: j.numpy.einsum("ii,j->ij", x, y),
    ),
    row(
        "tensordot", lambda x, y: sd.tensordot(x, y, ((0, 1), (1, 0))),
        {"x": (2, 3, 2), "y": (3, 2)},
        torch=lambda t: lambda x, y: t.tensordot(x, y, ((0, 1), (1, 0))),
        jax=lambda j: lambda x, y: j.numpy.tensordot(x, y, ((0, 1), (1, 0))),
        autograd=lambda a: lambda x, y: a.numpy.tensordot(x, y, ((0, 1), (1, 0))),
    ),
    row("convolve", sd.convolve, {"x": (4,), "y": (3,)}, jax="numpy.convolve"),
    row("cross", sd.cross, {"x": (3,), "y": (3,)}, torch="linalg.cross", jax="numpy.cross",
        autograd="numpy.cross"),

    # Matrices
    linalg("det", sd.det),
    linalg("inv", sd.inv),
    linalg("solve", sd.solve, {"x": (3, 3), "y": (3, 2)}),
    linalg("pinv", sd.pinv, {"x": (4, 3)}),
    *(  # of the symmetric part: packages read one triangle
        row(
            name, getattr(sd, name), M,
            torch=lambda t, f=name: lambda x: getattr(t.linalg, f)((x + x.T) / 2),
            jax=lambda j, f=name: lambda x: getattr(j.numpy.linalg, f)((x + x.T) / 2),
        )
        for name in ("cholesky", "eigvalsh")
    ),
    linalg("svdvals", sd.svdvals, {"x": (4, 3)}, without=("autograd",)),
    row(
        "slogdet", lambda x: sd.slogdet(x)[1], M,
        torch=lambda t: lambda x: t.linalg.slogdet(x)[1],
        jax=lambda j: lambda x: j.numpy.linalg.slogdet(x)[1],
        autograd=lambda a: lambda x: a.numpy.linalg.slogdet(x)[1],
    ),
    row("matrix_power, 3", lambda x: x @ x @ x, M,
        torch=lambda t: lambda x: t.linalg.matrix_power(x, 3),
        jax=lambda j: lambda x: j.numpy.linalg.matrix_power(x, 3)),
    row("expm", sd.expm, M, torch="linalg.matrix_exp", jax="scipy.linalg.expm"),
    row(
        "solve_triangular", lambda x, y: sd.solve_triangular(x, y, lower=True),
        {"x": (3, 3), "y": (3, 2)},
        torch=lambda t: lambda x, y: t.linalg.solve_triangular(x, y, upper=False),
        jax=lambda j: lambda x, y: j.scipy.linalg.solve_triangular(x, y, lower=True),
        autograd=lambda a: lambda x, y: a.scipy.linalg.solve_triangular(x, y, lower=True),
    ),
    row("tril", sd.tril, M, torch="tril", jax="numpy.tril", autograd="numpy.tril"),
)  # fmt: skip
