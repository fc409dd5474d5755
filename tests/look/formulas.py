"""Formulas of every kind of op, and containers of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import sympy as sp

import symdiff as sd

if TYPE_CHECKING:
    from collections.abc import Callable

x, y, z = sd.symbols("x y z")
n = sd.symbol("theta")
u, v, w = (sd.symbol(name, 3) for name in "uvw")
A, B, S = (sd.symbol(name, (3, 3)) for name in "ABS")
R = sd.symbol("R", (2, 3))
T = sd.symbol("T", (2, 3, 4))
q = sd.symbol("q", 2)
X, data, coefficients = sd.symbol("X", ("m", "n")), sd.symbol("y", "m"), sd.symbol("w", "n")
long = sd.symbol("v", "n")


def scalars() -> dict[str, Callable[[], Any]]:
    """Scalar formulas and their derivatives."""
    chain = sd.sin(sd.exp(x) + x**2)
    polynomial = sd.parse("(1 + x)**2*(2 - y/3)/(x*y + 1)")
    return {
        "product": lambda: x * sd.sin(y) ** 2 + 1,
        "polynomial": lambda: polynomial,
        "derivative of a quotient": lambda: sd.diff(polynomial, x, y),
        "chain of order 4": lambda: sd.diff(chain, x, 4),
        "nested powers": lambda: (x**y) ** z + sd.sqrt(x**2 + y**2) ** 3 / 2**x,
        "numbers": lambda: 2 * 2**x + 1e-9 * x - y / 3 + sd.constant(float("inf")) * z + sd.pi,
        "where": lambda: sd.where(x > 0, sd.log(x), -(x**2)),
        "where in where": lambda: sd.where(x > 0, sd.where(y > 1, x, 0), y) * z,
        "conditions": lambda: sd.where((x > 0) & ~(y <= 2) | (z > x), 1, 0),
        "a bare condition": lambda: (x > 0) & (x < 1),
        "derivative of abs": lambda: sd.diff(abs(x), x),
        "maximum and clip": lambda: sd.maximum(x, y) + sd.clip(z, -1, 1),
        "gradient of maximum": lambda: sd.grad(sd.maximum(x, y) ** 2, x),
        "detach": lambda: sd.detach(sd.sin(x)) * x,
        "rounding": lambda: sd.floor(x) + sd.ceil(y) + sd.round(z) + sd.sign(x),
        "a user's function": lambda: sd.pointwise("ratio", lambda t, s: t**2 / (1 + sp.Abs(s)))(
            x + y, z
        ),
    }


def vocabulary() -> dict[str, Callable[[], Any]]:
    """The functions of scalars, some to a formula, and a derivative of each."""
    families = {
        "trigonometric": ("sin", "cos", "tan", "asin", "acos", "atan", "sinc"),
        "hyperbolic": ("sinh", "cosh", "tanh", "asinh", "acosh", "atanh"),
        "exponential": ("exp", "expm1", "log", "log1p", "log2", "log10", "sigmoid", "softplus"),
        "error functions": ("erf", "erfc", "erfcx", "erfinv", "ndtr", "log_ndtr", "ndtri"),
        "gamma functions": ("gamma", "gammaln", "digamma", "log_sigmoid", "cbrt"),
        "integrals": ("expi", "exp1", "dawsn", "ellipk", "ellipe", "zeta"),
        "entropies and others": ("entr", "lambertw", "sqrt", "relu", "gelu", "silu"),
    }
    found: dict[str, Callable[[], Any]] = {}
    for family, names in families.items():
        functions = [getattr(sd, name) for name in names if hasattr(sd, name)]
        found[f"functions: {family}"] = lambda fs=functions: [f(x) for f in fs]
        found[f"their slopes: {family}"] = lambda fs=functions: [sd.diff(f(x), x) for f in fs]
    found["functions of two"] = lambda: [
        f(x, y)
        for f in (sd.atan2, sd.hypot, sd.logaddexp, sd.xlogy, sd.rel_entr, sd.kl_div, sd.beta)
    ]
    found["Bessel functions"] = lambda: [sd.jv(1, x), sd.yv(0, x), sd.iv(2, x), sd.kv(1, x)]
    found["polynomials"] = lambda: [sd.eval_legendre(3, x), sd.eval_hermite(4, x)]
    return found


def arrays() -> dict[str, Callable[[], Any]]:
    """Matrices and vectors: contractions, linear maps, opaque ops."""
    r, s, t = q[0], q[1], sd.symbol("L", 2)
    arm = sd.stack(
        [t[0] * sd.cos(r) + t[1] * sd.cos(r + s), t[0] * sd.sin(r) + t[1] * sd.sin(r + s)]
    )
    softmax = sd.exp(v) / sd.sum(sd.exp(v))
    residual = X @ coefficients - data
    centred = v - u
    return {
        "symbols": lambda: [x, v, A, sd.symbol("alpha_1"), sd.symbol("speed"), X],
        "elements": lambda: [v[0], A[0, 1], A[0], A[:, 1], v[1:], A[1:, ::2], v[::-1]],
        "stack": lambda: sd.stack([x, y * z]),
        "matrix of formulas": lambda: sd.stack(
            [sd.stack([sd.cos(x), -sd.sin(x)]), sd.stack([sd.sin(x), sd.cos(x)])]
        ),
        "constant matrix": lambda: sd.constant(np.array([[1, 2.5], [-3, 1 / 3]])) @ q,
        "large constant": lambda: sd.constant(np.arange(1000.0)) @ sd.symbol("c", 1000),
        "robot arm": lambda: arm,
        "robot arm: Jacobian": lambda: sd.jacobian(arm, q),
        "matrix product": lambda: A @ B @ v,
        "transposes": lambda: (A @ B).T + A.T,
        "quadratic form": lambda: v @ A @ v,
        "its gradient": lambda: sd.grad(v @ A @ v, v),
        "its Hessian": lambda: sd.hessian(v @ A @ v, v),
        "least squares: gradient": lambda: sd.grad(sd.sum(residual**2), coefficients),
        "least squares: Hessian": lambda: sd.hessian(sd.sum(residual**2), coefficients),
        "softmax": lambda: softmax,
        "softmax: Jacobian": lambda: sd.jacobian(softmax, v),
        "logsumexp: gradient": lambda: sd.grad(sd.logsumexp(v), v),
        "Gaussian log-density": lambda: -centred @ sd.solve(S, centred) / 2 - sd.slogdet(S)[1] / 2,
        "its gradient by S": lambda: sd.grad(
            -centred @ sd.solve(S, centred) / 2 - sd.slogdet(S)[1] / 2, S
        ),
        "determinant and trace": lambda: sd.det(A) * sd.trace(A @ B),
        "gradient of a determinant": lambda: sd.grad(sd.det(A), A),
        "inverse: gradient of a trace": lambda: sd.grad(sd.trace(sd.inv(A)), A),
        "norm": lambda: sd.norm(v - u),
        "norm: gradient": lambda: sd.grad(sd.norm(v - u), v),
        "outer, diagonal, kron": lambda: [
            sd.outer(u, v),
            sd.diag(v) @ A,
            sd.diagonal(A),
            sd.kron(u, v),
        ],
        "elementwise": lambda: [u * v, u / v, v**2, sd.sin(v), sd.exp(A), 1 / v],
        "sums over axes": lambda: [
            sd.sum(A),
            sd.sum(A, axis=0),
            sd.mean(T, axis=(0, 2)),
            sd.var(v),
        ],
        "general contraction": lambda: sd.einsum("ijk,jl,kl->il", T, A, sd.symbol("K", (4, 3))),
        "tensor gradient": lambda: sd.grad(sd.sum(T**3), T),
        "convolution": lambda: sd.convolve(u, sd.symbol("kernel", 2)),
        "slice: gradient": lambda: sd.grad(sd.sum(v[1:] ** 2 * v[:-1]), v),
        "gather: gradient": lambda: sd.grad(sd.sum(v[[0, 2, 2]] ** 2), v),
        "reshape, cumsum, flip": lambda: [R.reshape(3, 2), sd.cumsum(v), sd.flip(v), sd.tril(A)],
        "concatenate": lambda: sd.concatenate([u, 2 * v]),
        "masked": lambda: sd.grad(sd.sum(sd.where(v > 0, sd.log(v), 0)), v),
        "maximum of a vector": lambda: [sd.max(v), sd.grad(sd.max(v), v)],
        "sort, median": lambda: [sd.sort(v), sd.median(v)],
        "eigenvalues": lambda: sd.eigvalsh(A),
        "singular values": lambda: sd.svd(A)[1],
        "Cholesky": lambda: sd.cholesky(S),
        "matrix exponential: gradient": lambda: sd.grad(sd.sum(sd.expm(A)), A),
        "Fourier transform": lambda: sd.fft(v),
        "symbolic lengths": lambda: sd.mean(long) * long,
        "a black box": lambda: sd.custom(np.sort, name="in_order")(v),
    }


def large() -> dict[str, Callable[[], Any]]:
    """What does not fit."""

    def deep(depth: int) -> sd.Expr:
        expr = x
        for _ in range(depth):
            expr = sd.sin(expr) + y
        return expr

    h = sd.tanh(X @ coefficients)
    return {
        "deep": lambda: deep(40),
        "very deep": lambda: deep(5000),
        "wide sum": lambda: sd.parse(" + ".join(f"v{k}" for k in range(500))),
        "wide product": lambda: sd.parse("*".join(f"v{k}" for k in range(100))),
        "shared parts": lambda: sd.diff(sd.tanh(x * sd.exp(x * y)) ** 3, x, 3),
        "order 8": lambda: sd.diff(sd.sin(sd.exp(x) + x**2), x, 8),
        "Hessian of a layer": lambda: sd.hessian(sd.sum(h**2), coefficients),
        "long names": lambda: (
            sd.symbol("a_very_long_name_of_a_quantity_in_metres_per_second") * sd.symbol("n" * 300)
        ),
        "long fraction": lambda: sd.constant(10**300 + 1) * x / (3**200),
        "wide matrix": lambda: sd.stack(
            [sd.stack([sd.sin(x * k) ** j + y for k in range(4)]) for j in range(4)]
        ),
    }


NAMES = (
    *("frac", "left", "begin", "mathrm", "operatorname", "x_prime", "hat", "bar", "script"),
    *("e", "pi", "E", "I", "delta", "lambda_", "_", "__", "_x", "x__2", "x_1_2_3", "T", "t1"),
    *("naïve_ü", "変数", "Ω", "λ_μ", "س", "ℵ", "x_λ", "sum_k", "a1b2", "Gamma_dot"),
)


def names() -> dict[str, Callable[[], Any]]:
    """Names that mean something to who reads the output."""
    return {
        "names": lambda: [sd.symbol(name) for name in NAMES],
        "names of arrays": lambda: [sd.symbol(name, 3)[1] for name in NAMES],
        "a sum of them": lambda: sum((sd.symbol(name) ** 2 for name in NAMES), x),
        "names of lengths": lambda: sd.mean(sd.symbol("x", ("frac", "naïve_ü"))),
        "names of functions": lambda: [
            sd.pointwise(
                "left_" + name, lambda t: sp.sin(t) + sum(sp.cos(k * t) for k in range(99))
            )(x)
            for name in NAMES[:5]
        ],
    }


def containers() -> dict[str, Callable[[], Any]]:
    """Tuples, lists and dicts of expressions."""
    f = sd.sum((X @ coefficients - data) ** 2)
    return {
        "gradient as a tuple": lambda: sd.grad(f, (coefficients, data)),
        "list": lambda: [x**2, sd.sin(y), v @ A @ v],
        "dict": lambda: {"value": f, "gradient": sd.grad(f, coefficients)},
        "dict by symbols": lambda: {x: sd.exp(x), v: sd.sum(v), A: sd.det(A)},
        "nested": lambda: (x, [y, (z, {"k": x / y})]),
        "a long list": lambda: [x**k for k in range(2, 300)],
        "not all are expressions": lambda: [x, "text", 3],
        "empty tuple": lambda: (),
        "tuple of one": lambda: (sd.diff(x**3, x),),
    }


def specimens() -> dict[str, Callable[[], Any]]:
    """What this module shows."""
    return {**scalars(), **vocabulary(), **arrays(), **large(), **names(), **containers()}
