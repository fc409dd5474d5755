"""Derivatives of special functions, as tables of integrals and SymPy write them."""

import symdiff as sd
from tests.display.rows import table

FUNCTIONS = table(
    "functions",
    {
        # Absolute values: a number is its absolute value times its sign.
        "absolute_product": ("x", lambda x: sd.diff(x * abs(x), x), "2*abs(x)", None),
        "absolute_cube": ("x", lambda x: sd.diff(abs(x) ** 3, x), "3*x*abs(x)", None),
        "absolute_cube_twice": ("x", lambda x: sd.diff(abs(x) ** 3, x, 2), "6*abs(x)", None),
        "absolute_below": ("x, y", lambda x, y: x / y / sd.sign(y), "x/abs(y)", None),
        "absolute_difference": (
            "x, a",
            lambda x, a: sd.diff((x - a) * abs(x - a), x),
            "2*abs(x - a)",
            None,
        ),
        # Lengths: books leave out the origin, where the derivative is 0 by convention.
        "hypot": (
            "x, y",
            lambda x, y: sd.diff(sd.hypot(x, y), x),
            "x/sqrt(x**2 + y**2)",
            r"\frac{x}{\sqrt{x^2 + y^2}}",
        ),
        "hypot_by_second": (
            "x, y",
            lambda x, y: sd.diff(sd.hypot(x, y), y),
            "y/sqrt(x**2 + y**2)",
            r"\frac{y}{\sqrt{x^2 + y^2}}",
        ),
        "hypot_twice": (
            "x, y",
            lambda x, y: sd.diff(sd.hypot(x, y), y, 2),
            "x**2/(x**2 + y**2)**(3/2)",
            r"\frac{x^2}{\left(x^2 + y^2\right)^{\frac{3}{2}}}",
        ),
        "hypot_mixed": (
            "x, y",
            lambda x, y: sd.diff(sd.hypot(x, y), x, y),
            "-x*y/(x**2 + y**2)**(3/2)",
            r"-\frac{x y}{\left(x^2 + y^2\right)^{\frac{3}{2}}}",
        ),
        "hypot_of_arrays": (
            "u n, v n",
            lambda u, v: sd.grad(sd.sum(sd.hypot(u, v)), u),
            "u/sqrt(u**2 + v**2)",
            None,
        ),
        "asinh_twice": (
            "x",
            lambda x: sd.diff(sd.asinh(x), x, 2),
            "-x/(x**2 + 1)**(3/2)",
            r"-\frac{x}{\left(x^2 + 1\right)^{\frac{3}{2}}}",
        ),
        "angle_mixed": (
            "x, y",
            lambda x, y: sd.diff(sd.atan2(y, x), x, y),
            "where(y == 0 and x == 0, 0, (y**2 - x**2)/(x**2 + y**2)**2)",
            None,
        ),
        # The gamma family
        "betaln": (
            "x, y",
            lambda x, y: sd.diff(sd.betaln(x, y), x),
            "digamma(x) - digamma(x + y)",
            r"\psi\left(x\right) - \psi\left(x + y\right)",
        ),
        "betaln_twice": (
            "x, y",
            lambda x, y: sd.diff(sd.betaln(x, y), y, 2),
            "polygamma(1, y) - polygamma(1, x + y)",
            None,
        ),
        # The normal distribution and error functions
        "ndtr": (
            "x",
            lambda x: sd.diff(sd.ndtr(x), x),
            "exp(-x**2/2)/sqrt(2*pi)",
            r"\frac{e^{-\frac{x^2}{2}}}{\sqrt{2 \pi}}",
        ),
        "ndtr_twice": (
            "x",
            lambda x: sd.diff(sd.ndtr(x), x, 2),
            "-x*exp(-x**2/2)/sqrt(2*pi)",
            r"-\frac{x e^{-\frac{x^2}{2}}}{\sqrt{2 \pi}}",
        ),
        "log_ndtr": (
            "x",
            lambda x: sd.diff(sd.log_ndtr(x), x),
            "exp(-x**2/2)/(ndtr(x)*sqrt(2*pi))",
            None,
        ),
        "erfcx": (
            "x",
            lambda x: sd.diff(sd.erfcx(x), x),
            "2*x*erfcx(x) - 2/sqrt(pi)",
            None,
        ),
        "erfcinv": (
            "x",
            lambda x: sd.diff(sd.erfcinv(x), x),
            "-sqrt(pi)*exp(erfcinv(x)**2)/2",
            None,
        ),
        "dawsn": ("x", lambda x: sd.diff(sd.dawsn(x), x), "1 - 2*x*dawsn(x)", None),
        # Others
        "planck_slope": (
            "x",
            lambda x: sd.diff(1 / sd.expm1(x), x),
            "-exp(x)/expm1(x)**2",
            r"-\frac{e^x}{\left(e^x - 1\right)^2}",
        ),
        "expi": ("x", lambda x: sd.diff(sd.expi(x), x), "exp(x)/x", r"\frac{e^x}{x}"),
        "expi_twice": ("x", lambda x: sd.diff(sd.expi(x), x, 2), "exp(x)*(x - 1)/x**2", None),
        "sinc": (
            "x",
            lambda x: sd.diff(sd.sinc(x), x),
            "where(x == 0, 0, (cos(pi*x) - sinc(x))/x)",
            None,
        ),
        "kve": ("x", lambda x: sd.diff(sd.kve(0, x), x), "kve(0, x) - kve(1, x)", None),
    },
)
