"""Functions that PyTorch, JAX and HIPS autograd differentiate by rules of their own.

A row is a function's definition, as its documentation has it, in symdiff; and what it is called in
each package.  The derivatives of the packages are audited against that of the definition.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import inf
from operator import attrgetter

import symdiff as sd

X = {"x": ()}
XY = {"x": (), "y": ()}
V = {"x": (5,)}
VW = {"x": (5,), "y": (5,)}
M = {"x": (3, 3)}
UNIT, POSITIVE, SMALL = {"x": (0.0, 1.0)}, {"x": (0.0, inf)}, {"x": (-1.0, 1.0)}


@dataclass(frozen=True)
class Row:
    """One function; ``theirs`` makes, of a package, the function as that has it."""

    name: str
    forward: Callable
    inputs: Mapping
    domain: Mapping | None
    theirs: Mapping


def row(name, forward, inputs=X, domain=None, **theirs):
    """A function; what is a text is found in the package under that path."""
    found = {
        package: attrgetter(where) if isinstance(where, str) else where
        for package, where in theirs.items()
    }
    return Row(name, forward, inputs, domain, found)


def everywhere(name, forward, inputs=X, domain=None, torch=None, jax=None, autograd=None):
    """A function that has the same name in all three packages, or nearly so."""
    named = {
        "torch": torch or name,
        "jax": jax or f"numpy.{name}",
        "autograd": autograd or f"numpy.{name}",
    }
    return row(name, forward, inputs, domain, **named)


def _gelu_tanh(x):
    return x / 2 * (1 + sd.tanh(sd.sqrt(2 / sd.pi) * (x + sd.parse("44715/1000000") * x**3)))


def _elu(x):
    return sd.where(x > 0, x, sd.expm1(x))


ALPHA, SCALE = 1.6732632423543772848170429916717, 1.0507009873554804934193349852946

F = "nn.functional."

BOTH = {"x": (0.0, inf), "y": (0.0, inf)}


def _huber(x, y):
    d, far = x - y, sd.abs(x - y)
    return sd.mean(sd.where(far <= 1, d * d / 2, far - sd.parse("1/2")))


def _bce(x, y):
    return -sd.mean(sd.xlogy(y, x) + sd.xlog1py(1 - y, -x))


ROWS = (
    # Of each element, tails.
    row("log_sigmoid", sd.log_sigmoid, torch=F + "logsigmoid", jax="nn.log_sigmoid"),
    row("softplus", sd.softplus, torch=F + "softplus", jax="nn.softplus"),
    row("sigmoid", sd.sigmoid, torch="sigmoid", jax="nn.sigmoid", autograd="scipy.special.expit"),
    row(
        "logit", sd.logit, X, UNIT,
        torch="logit", jax="scipy.special.logit", autograd="scipy.special.logit",
    ),
    row(
        "gelu", lambda x: x * sd.ndtr(x),
        torch=F + "gelu", jax=lambda j: lambda x: j.nn.gelu(x, approximate=False),
    ),
    row(
        "gelu, tanh", _gelu_tanh,
        torch=lambda t: lambda x: t.nn.functional.gelu(x, approximate="tanh"), jax="nn.gelu",
    ),
    row("silu", lambda x: x * sd.sigmoid(x), torch=F + "silu", jax="nn.silu"),
    row("mish", lambda x: x * sd.tanh(sd.softplus(x)), torch=F + "mish", jax="nn.mish"),
    row("tanhshrink", lambda x: x - sd.tanh(x), torch=F + "tanhshrink"),
    row("squareplus", lambda x: (x + sd.sqrt(x**2 + 4)) / 2, jax="nn.squareplus"),
    row("log1mexp", sd.log1mexp, X, POSITIVE, jax="nn.log1mexp"),
    everywhere("tanh", sd.tanh),
    everywhere("expm1", sd.expm1),
    everywhere("log1p", sd.log1p, X, {"x": (-1.0, inf)}),
    everywhere("sinc", sd.sinc),
    everywhere("erf", sd.erf, jax="scipy.special.erf", autograd="scipy.special.erf"),
    everywhere("erfc", sd.erfc, jax="scipy.special.erfc", autograd="scipy.special.erfc"),
    everywhere(
        "erfinv", sd.erfinv, X, SMALL, jax="scipy.special.erfinv", autograd="scipy.special.erfinv"
    ),
    row("erfcinv", sd.erfcinv, X, {"x": (0.0, 2.0)}, autograd="scipy.special.erfcinv"),
    row("erfcx", sd.erfcx, jax="scipy.special.erfcx"),
    row(
        "ndtr", sd.ndtr,
        torch="special.ndtr", jax="scipy.special.ndtr", autograd="scipy.stats.norm.cdf",
    ),
    row(
        "log_ndtr", sd.log_ndtr,
        torch="special.log_ndtr", jax="scipy.special.log_ndtr", autograd="scipy.stats.norm.logcdf",
    ),
    row("ndtri", sd.ndtri, X, UNIT, torch="special.ndtri", jax="scipy.special.ndtri"),
    row("entr", sd.entr, X, POSITIVE, torch="special.entr", jax="scipy.special.entr"),
    row("dawsn", sd.dawsn, jax="scipy.special.dawsn"),

    # Of each element, special functions.
    *(
        everywhere(
            name, getattr(sd, name),
            torch=f"special.{name}", jax=f"scipy.special.{name}", autograd=f"scipy.special.{name}",
        )
        for name in ("i0", "i1")
    ),
    *(
        row(name, getattr(sd, name), torch=f"special.{name}", jax=f"scipy.special.{name}")
        for name in ("i0e", "i1e")
    ),
    row(
        "ive(1, x)", lambda x: sd.ive(1, x), autograd=lambda a: lambda x: a.scipy.special.ive(1, x)
    ),
    row("jn(2, x)", lambda x: sd.jv(2, x), autograd=lambda a: lambda x: a.scipy.special.jn(2, x)),
    row("j0", sd.j0, autograd="scipy.special.j0"),
    row("y1", sd.y1, X, POSITIVE, autograd="scipy.special.y1"),
    everywhere("digamma", sd.digamma, jax="scipy.special.digamma", autograd="scipy.special.psi"),
    everywhere("lgamma", sd.gammaln, jax="scipy.special.gammaln", autograd="scipy.special.gammaln"),
    row("gamma", sd.gamma, jax="scipy.special.gamma", autograd="scipy.special.gamma"),
    row("rgamma", sd.rgamma, autograd="scipy.special.rgamma"),
    *(
        row(
            f"polygamma({_n}, x)", lambda x, n=_n: sd.polygamma(n, x), X, POSITIVE,
            torch=lambda t, n=_n: lambda x: t.polygamma(n, x),
            jax=lambda j, n=_n: lambda x: j.scipy.special.polygamma(n, x),
            autograd=lambda a, n=_n: lambda x: a.scipy.special.polygamma(n, x),
        )
        for _n in (1, 2)
    ),
    row("beta", sd.beta, XY, BOTH, jax="scipy.special.beta", autograd="scipy.special.beta"),
    row("betaln", sd.betaln, XY, BOTH, jax="scipy.special.betaln", autograd="scipy.special.betaln"),
    *(
        row(
            f"{name}(2.5, x)", lambda x, f=name: getattr(sd, f)(2.5, x), X, POSITIVE,
            torch=lambda t, f=name: lambda x: getattr(t.special, f)(t.full_like(x, 2.5), x),
            jax=lambda j, f=name: lambda x: getattr(j.scipy.special, f)(2.5, x),
            autograd=lambda a, f=name: lambda x: getattr(a.scipy.special, f)(2.5, x),
        )
        for name in ("gammainc", "gammaincc")
    ),
    row(
        "betainc(2, 3, x)", lambda x: sd.betainc(2, 3, x), X, UNIT,
        jax=lambda j: lambda x: j.scipy.special.betainc(2.0, 3.0, x),
        autograd=lambda a: lambda x: a.scipy.special.betainc(2.0, 3.0, x),
    ),
    row(
        "zeta(2.5, x)", lambda x: sd.zeta(2.5, x), X, POSITIVE,
        torch=lambda t: lambda x: t.special.zeta(2.5, x),
        jax=lambda j: lambda x: j.scipy.special.zeta(2.5, x),
    ),
    row("expi", sd.expi, jax="scipy.special.expi"),
    row("exp1", sd.exp1, X, POSITIVE, jax="scipy.special.exp1"),

    # Of each element, elementary.
    *(
        everywhere(name, getattr(sd, name))
        for name in ("exp", "exp2", "sin", "cos", "tan", "sinh", "cosh", "arctan", "arcsinh",
            "square")
    ),
    *(
        everywhere(name, getattr(sd, name), X, POSITIVE)
        for name in ("log", "log2", "log10", "sqrt")
    ),
    *(
        everywhere(name, getattr(sd, name), X, SMALL)
        for name in ("arcsin", "arccos", "arctanh")
    ),
    everywhere("arccosh", sd.arccosh, X, {"x": (1.0, inf)}),
    everywhere("reciprocal", lambda x: 1 / x),
    everywhere("abs", sd.abs),
    row("sign", sd.sign, torch="sign", jax="numpy.sign"),
    row("rsqrt", lambda x: 1 / sd.sqrt(x), X, POSITIVE, torch="rsqrt", jax="lax.rsqrt"),
    row("cbrt", sd.cbrt, jax="numpy.cbrt"),
    row("nan_to_num", sd.nan_to_num, torch="nan_to_num", jax="numpy.nan_to_num"),

    # Of each element, kinks.
    row("relu", lambda x: sd.maximum(x, 0), torch="relu", jax="nn.relu"),
    row("relu6", lambda x: sd.clip(x, 0, 6), torch=F + "relu6", jax="nn.relu6"),
    row("hardtanh", lambda x: sd.clip(x, -1, 1), torch=F + "hardtanh", jax="nn.hard_tanh"),
    row(
        "hardsigmoid", lambda x: sd.clip(x + 3, 0, 6) / 6,
        torch=F + "hardsigmoid", jax="nn.hard_sigmoid",
    ),
    row("hardswish", lambda x: x * sd.clip(x + 3, 0, 6) / 6, torch=F + "hardswish",
        jax="nn.hard_swish"),
    row(
        "leaky_relu", lambda x: sd.where(x >= 0, x, 0.01 * x),
        torch=F + "leaky_relu", jax="nn.leaky_relu",
    ),
    row("elu", _elu, torch=F + "elu", jax="nn.elu"),
    row(
        "selu", lambda x: SCALE * sd.where(x > 0, x, ALPHA * sd.expm1(x)),
        torch=F + "selu", jax="nn.selu",
    ),
    row(
        "celu, alpha=2", lambda x: sd.where(x > 0, x, 2 * sd.expm1(x / 2)),
        torch=lambda t: lambda x: t.nn.functional.celu(x, 2.0),
        jax=lambda j: lambda x: j.nn.celu(x, 2.0),
    ),
    row("softsign", lambda x: x / (1 + sd.abs(x)), torch=F + "softsign", jax="nn.soft_sign"),
    row(
        "softshrink", lambda x: sd.where(x > 0.5, x - 0.5, sd.where(x < -0.5, x + 0.5, 0)),
        torch=F + "softshrink",
    ),
    row("hardshrink", lambda x: sd.where(sd.abs(x) > 0.5, x, 0), torch=F + "hardshrink"),
    row(
        "clip", lambda x: sd.clip(x, -1, 2),
        torch=lambda t: lambda x: t.clamp(x, -1.0, 2.0),
        jax=lambda j: lambda x: j.numpy.clip(x, -1.0, 2.0),
        autograd=lambda a: lambda x: a.numpy.clip(x, -1.0, 2.0),
    ),
    row(
        "where", lambda x, y: sd.where(x > y, x * y, y - x), XY,
        torch=lambda t: lambda x, y: t.where(x > y, x * y, y - x),
        jax=lambda j: lambda x, y: j.numpy.where(x > y, x * y, y - x),
        autograd=lambda a: lambda x, y: a.numpy.where(x > y, x * y, y - x),
    ),

    # Of each element, two operands.
    row("xlogy", sd.xlogy, XY, {"y": (0.0, inf)}, torch="xlogy", jax="scipy.special.xlogy"),
    row(
        "xlog1py", sd.xlog1py, XY, {"y": (-1.0, inf)},
        torch="special.xlog1py", jax="scipy.special.xlog1py",
    ),
    row("rel_entr", sd.rel_entr, XY, BOTH, jax="scipy.special.rel_entr"),
    row("kl_div", sd.kl_div, XY, BOTH, jax="scipy.special.kl_div"),
    everywhere("logaddexp", sd.logaddexp, XY),
    everywhere(
        "logaddexp2", lambda x, y: sd.logaddexp(x * sd.log(2), y * sd.log(2)) / sd.log(2), XY,
    ),
    everywhere("hypot", sd.hypot, XY),
    everywhere("arctan2", sd.atan2, XY),
    everywhere("maximum", sd.maximum, XY),
    everywhere("minimum", sd.minimum, XY),
    row("power", sd.power, XY, torch="pow", jax="numpy.power", autograd="numpy.power"),
    *(
        row(
            f"power(x, {_p})", lambda x, p=_p: sd.power(x, p), X, None if _p in (3,
                -2) else POSITIVE,
            torch=lambda t, p=_p: lambda x: t.pow(x, p),
            jax=lambda j, p=_p: lambda x: j.numpy.power(x, p),
            autograd=lambda a, p=_p: lambda x: a.numpy.power(x, p),
        )
        for _p in (3, -2, 0.5, 1.5)
    ),
    row(
        "power(2, x)", lambda x: sd.power(2, x),
        torch=lambda t: lambda x: t.pow(2.0, x),
        jax=lambda j: lambda x: j.numpy.power(2.0, x),
        autograd=lambda a: lambda x: a.numpy.power(2.0, x),
    ),
    everywhere("remainder", sd.mod, XY),
    everywhere("divide", lambda x, y: x / y, XY),

    # Losses
    row("huber_loss", _huber, VW, torch=F + "huber_loss"),
    row("smooth_l1_loss", _huber, VW, torch=F + "smooth_l1_loss"),
    row("l1_loss", lambda x, y: sd.mean(sd.abs(x - y)), VW, torch=F + "l1_loss"),
    row("mse_loss", lambda x, y: sd.mean((x - y) ** 2), VW, torch=F + "mse_loss"),
    row("soft_margin_loss", lambda x: sd.mean(sd.softplus(-x)), V,
        torch=lambda t: lambda x: t.nn.functional.soft_margin_loss(x, t.ones_like(x))),
    row(
        "binary_cross_entropy", _bce, VW, UNIT | {"y": (0.0, 1.0)},
        torch=F + "binary_cross_entropy",
    ),
    row(
        "binary_cross_entropy_with_logits", lambda x, y: sd.mean(sd.softplus(x) - x * y), VW,
        torch=F + "binary_cross_entropy_with_logits",
    ),
    row(
        "cross_entropy", lambda x: -sd.log_softmax(x)[2], V,
        torch=lambda t: lambda x: t.nn.functional.cross_entropy(x, t.tensor(2)),
    ),
    row(
        "cosine_similarity", lambda x, y: (x @ y) / (sd.norm(x) * sd.norm(y)), VW,
        torch=lambda t: lambda x, y: t.nn.functional.cosine_similarity(x, y, dim=0, eps=0),
    ),
)  # fmt: skip
