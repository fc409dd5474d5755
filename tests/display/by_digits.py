"""Functions of texts that NumPy and SciPy lack, with mpmath's digits and derivatives."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import mpmath as mp
import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

_DIGITS = 40


def _array(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function of arrays of floats."""

    def at(*values: float) -> float:
        with mp.workdps(_DIGITS):
            result = function(*(mp.mpf(float(x)) for x in values))
            return float(result) if mp.im(result) == 0 else float("nan")

    return np.vectorize(at, otypes=[float])


def _derivative(
    function: Callable[..., Any], orders: int, last: bool = False
) -> Callable[..., Any]:
    """The derivative of the orders that come first; ``last``: of one order, by the last operand."""

    def derivative(*operands: Any) -> Any:
        order, point = tuple(map(int, operands[:orders])), operands[orders:]
        if last:
            *others, x = point
            return mp.diff(lambda t: function(*others, t), x, order[0])
        return mp.diff(function, point, order) if orders > 1 else mp.diff(function, *point, *order)

    return _array(derivative)


def _scaled_i(n: Any, x: Any) -> Any:
    return mp.exp(-abs(x)) * mp.besseli(n, x)


def _scaled_k(n: Any, x: Any) -> Any:
    return mp.exp(x) * mp.besselk(n, x)


def _erfcinv_slope(x: Any) -> Any:
    return -mp.sqrt(mp.pi) / 2 * mp.exp(mp.erfinv(1 - x) ** 2)


def _beta_density(a: Any, b: Any, c: Any, x: Any) -> Any:
    return x**a * (1 - x) ** b * mp.exp(-c)


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "atan2_derivative": _derivative(mp.atan2, 2),
    "beta_density": _array(_beta_density),
    "beta_derivative": _derivative(mp.beta, 2),
    "bose": _derivative(lambda x: 1 / mp.expm1(x), 1),
    "cosh_integral": _array(mp.chi),
    "cosh_integral_derivative": _derivative(mp.chi, 1),
    "cosine": _array(lambda a, b: a / mp.hypot(a, b) if a or b else mp.mpf(0)),
    "cosine_integral": _array(mp.ci),
    "cosine_integral_derivative": _derivative(mp.ci, 1),
    "dawsn_derivative": _derivative(lambda x: mp.sqrt(mp.pi) / 2 * mp.exp(-(x**2)) * mp.erfi(x), 1),
    "ellipe_derivative": _derivative(mp.ellipe, 1),
    "ellipk_derivative": _derivative(mp.ellipk, 1),
    "ellipkm1_derivative": _derivative(lambda p: mp.ellipk(1 - p), 1),
    "erfcinv_slope": _array(_erfcinv_slope),
    "erfcx_derivative": _derivative(lambda x: mp.exp(x**2) * mp.erfc(x), 1),
    "expi_derivative": _derivative(mp.ei, 1),
    "fresnel_cosine": _array(mp.fresnelc),
    "fresnel_sine": _array(mp.fresnels),
    "gamma_density": _array(lambda a, x: x ** (a - 1) * mp.exp(-x) * mp.rgamma(a)),
    "hurwitz_zeta": _array(lambda s, q: mp.zeta(s, q)),
    "hurwitz_zeta_derivative": _array(lambda m, s, q: mp.diff(lambda t: mp.zeta(t, q), s, int(m))),
    "hypot_derivative": _derivative(mp.hypot, 2),
    "ive_derivative": _derivative(_scaled_i, 1, last=True),
    "kve_derivative": _derivative(_scaled_k, 1, last=True),
    "lambertw_derivative": _derivative(mp.lambertw, 1),
    "lambertwm1": _array(lambda x: mp.re(mp.lambertw(x, -1))),
    "lambertwm1_derivative": _derivative(lambda x: mp.re(mp.lambertw(x, -1)), 1),
    "log1mexp": _array(lambda x: mp.log(-mp.expm1(-x))),
    "log_ndtr_derivative": _derivative(lambda x: mp.log(mp.ncdf(x)), 1),
    "normal_density": _derivative(mp.npdf, 1),
    "polygamma_difference": _array(
        lambda n, a, b: mp.polygamma(int(n), a) - mp.polygamma(int(n), a + b)
    ),
    "rgamma_derivative": _derivative(mp.rgamma, 1),
    "sinc_derivative": _derivative(mp.sincpi, 1),
    "sine_integral": _array(mp.si),
    "sinh_integral": _array(mp.shi),
    "sinh_integral_derivative": _derivative(mp.shi, 1),
    "step": _array(lambda x: mp.mpf(x > 0)),
    "zeta_derivative": _derivative(mp.zeta, 1),
}
