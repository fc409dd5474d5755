"""Cases beyond the bound of ``tests.accuracy``, each with a point, the cause and the attempts."""

from typing import NamedTuple


class Miss(NamedTuple):
    """A (row, order) beyond the bound: a point where it is, and the cause."""

    at: tuple[float, ...]
    cause: str


TWO_INFINITIES = (
    "nan at tiny x and y, where it is infinite: two terms with x**(y - n) are, with opposite "
    "signs.  Each is computed with its exponent apart; a sum of two such terms is not.  One "
    "function of both, like those of atan2, would make y*x**(y - 1) unreadable"
)

MISSES: dict[tuple[str, tuple[int, ...]], Miss] = {
    **{
        ("power", order): Miss((5e-324, 1e-323), TWO_INFINITIES)
        for order in ((2, 1), (2, 2), (3, 1))
    },
    ("1/(1 + x**2)", (4,)): Miss(
        (1e52,),
        "numbers come after products that are subnormal there, as the four terms of the derivative "
        "share these",
    ),
    ("relative_difference", (0, 3)): Miss(
        (1e-310, 237.0),
        "-6x/y**4, as the row x/y has it there: the quotient is subnormal before its factor 6",
    ),
    **{
        ("x**3/expm1(x)", order): Miss(
            (5e-324,),
            "nan near 0, where it is finite: four terms with poles, which are infinite, cancel",
        )
        for order in ((3,), (4,))
    },
    ("poch", (1, 1)): Miss(
        (1e-200, 1.0000000298023224e-200),
        "nan where the derivative is beyond the largest number: of its two terms, the function "
        "times a product of logarithmic slopes and times the slope of one, both are infinite",
    ),
    ("poch", (2, 0)): Miss(
        (1.5, 300.0),
        "nan where the derivative is beyond the largest number: of its two terms, the function "
        "times a product of logarithmic slopes and times the slope of one, both are infinite.  For "
        "small z digits are lost, too (7e13 u at (1.1e-16, 7.5)), as 1/z² cancels in the square of "
        "a slope less a slope; one function of the orders, as for beta, would mend both",
    ),
    ("binom", (2, 0)): Miss(
        (1.5, 0.9),
        "8.14 u: the difference of a square of slopes and a slope, each of a few roundings, which "
        "cancels to a tenth there",
    ),
    ("gamma_density(40)", (2,)): Miss(
        (42.12117278018085,),
        "the second difference of the densities of orders 40, 39 and 38, near its root; each is a "
        "power with a rounding error of its own, which for arrays is larger than for floats.  The "
        "density times a polynomial in 1/x was tried: it has a pole at 0 that the function has not",
    ),
    **{
        key: Miss(
            (5e-324,),
            "an odd polynomial is subnormal at the smallest number, so it is rounded to a multiple "
            "of it, before it is multiplied by the factors that differentiation gave it; as parts "
            "of the polynomial these would make one function more of every order and factor",
        )
        for key in (("eval_gegenbauer(7, 2.5)", (2,)), ("eval_gegenbauer(50, 0.3)", (1,)))
    },
    ("yv(1)", (2,)): Miss(
        (5e-324,),
        "nan for x below 1e-308, where the derivative is beyond the largest number: it is "
        "(Y_3 - 3 Y_1)/4, and both are infinite there.  The form by Bessel's equation, "
        "-Y_1'/x - (1 - 1/x²) Y_1, has two infinite terms as well",
    ),
    ("jv(-1.25)", (2,)): Miss(
        (5e-324,),
        "nan for x below 1e-247, where the derivative is beyond the largest number: it is "
        "(J_-3.25 - 2 J_-1.25 + J_0.75)/4, of which two terms are infinite with opposite signs.  "
        "One function for each order of derivative would mend it, as it does for scaled ones",
    ),
    ("yv(1.25)", (2,)): Miss(
        (5e-324,),
        "nan for x below 1e-247, where the derivative is beyond the largest number: it is "
        "(Y_-0.75 - 2 Y_1.25 + Y_3.25)/4, of which two terms are infinite with opposite signs",
    ),
    ("yv(3)", (1,)): Miss(
        (5e-324,),
        "nan for x below 1e-154, where the derivative is beyond the largest number: of its terms "
        "Y_2/2 - Y_4/2 both are infinite there, and so are those of Y_2 - 3 Y_3/x",
    ),
    ("yv(3)", (2,)): Miss(
        (5e-324,),
        "nan for x below 1e-103, where the derivative is beyond the largest number: it is "
        "(Y_1 - 2 Y_3 + Y_5)/4, of which two terms are infinite with opposite signs; by Bessel's "
        "equation, -Y_3'/x - (1 - 9/x²) Y_3, two are as well",
    ),
}


# Rows of orders 1 and 2 that keep the bound with conditioning, but not without.
_WITHOUT_CONDITIONING: dict[str, dict[tuple[str, tuple[int, ...]], tuple[float, ...]]] = {
    (
        "the difference of the operands is rounded, and the exponential multiplies its error "
        "by the size of the difference"
    ): {
        ("exp_share", (0, 1)): (-1e-05, 355.0),
        ("exp_share", (1, 0)): (-1e-05, 355.0),
        ("exp_share", (0, 2)): (-1e-05, 355.0),
        ("exp_share", (1, 1)): (-1e-05, 355.0),
        ("exp_share", (2, 0)): (-1e-05, 355.0),
        ("logaddexp", (1, 0)): (-300.0, 0.9),
        ("logaddexp", (0, 2)): (-300.0, 0.9),
        ("logaddexp", (1, 1)): (-300.0, 0.9),
        ("logaddexp", (2, 0)): (-300.0, 0.9),
    },
    ("near a root of the derivative its terms cancel; each of them keeps its digits"): {
        ("entr", (1,)): (0.3678794411714423,),
        ("cosine", (0, 2)): (0.7, 0.5),
        ("atan2", (1, 1)): (-3.0, -3.0000000000000213),
        ("sech2", (2,)): (-0.6531295684538928,),
        ("sinc", (1,)): (7.5,),
        ("sinc_derivative(1)", (1,)): (0.679277872439521,),
        ("sinc_derivative(4)", (1,)): (-372.4738485098011,),
        ("hypot_derivative(1, 0)", (0, 2)): (-709.7, -500.0),
        ("atan2_derivative(1, 0)", (0, 1)): (700.0, 700.0000000000013),
        ("hypot_derivative(2, 1)", (0, 2)): (0.9, 0.7),
        ("atan2_derivative(2, 1)", (0, 1)): (-20.0, -20.00000000000007),
        ("log_ndtr_derivative(3)", (2,)): (-0.03,),
        ("expi_derivative(1)", (1,)): (0.9999999999999999,),
        ("dawsn", (1,)): (0.9241388730045917,),
        ("gammainc(2.5)", (2,)): (1.5,),
        ("gammaincc(2.5)", (2,)): (1.5,),
        ("gamma_density(2.5)", (1,)): (1.5,),
        ("gamma_density(2.5)", (2,)): (0.2743816630240006,),
        ("gammainc(40)", (2,)): (37.80866892267717,),
        ("gamma_density(40)", (2,)): (31.453408407083987,),
        ("betainc(0.5, 0.5)", (2,)): (0.5,),
        ("betainc(2, 3)", (2,)): (0.3230056440410607,),
        ("polygamma(171)", (1,)): (-0.5,),
        ("polygamma(171)", (2,)): (7.5,),
        ("hurwitz_zeta_derivative(1, 2.0)", (2,)): (2.0,),
    },
    (
        "a sum or product of a few more functions and powers than 8 u allow, none of which "
        "loses digits by itself"
    ): {
        ("cbrt", (2,)): (1.1e-16,),
        ("kve_derivative(1, 0)", (2,)): (1.1e-16,),
        ("kve_derivative(3, 2)", (1,)): (0.0018736823557935142,),
        ("kve_derivative(3, 2)", (2,)): (0.0007312255583269676,),
        ("kve_derivative(2, 0.5)", (1,)): (5.35850046156638e-16,),
        ("kve_derivative(2, 0.5)", (2,)): (1.1e-16,),
        ("cosine", (1, 1)): (2.0, -3.0),
        ("sech", (2,)): (0.9,),
        ("asin_slope", (2,)): (0.9665732009695351,),
        ("atan2_derivative(1, 0)", (0, 2)): (-0.03, -0.06),
        ("atan2_derivative(1, 0)", (1, 1)): (355.0, -237.0),
        ("atan2_derivative(1, 0)", (2, 0)): (-0.03, -0.06),
        ("hypot_derivative(2, 1)", (0, 1)): (0.5, 0.2),
        ("hypot_derivative(2, 1)", (1, 0)): (0.9, 0.7),
        ("hypot_derivative(2, 1)", (1, 1)): (-1e-20, -1.000000000003638e-20),
        ("hypot_derivative(2, 1)", (2, 0)): (1.5, 1.50018310546875),
        ("atan2_derivative(2, 1)", (1, 0)): (300.0, 700.0),
        ("atan2_derivative(2, 1)", (0, 2)): (1.5, 1.500000011175871),
        ("atan2_derivative(2, 1)", (1, 1)): (355.0, -300.0),
        ("atan2_derivative(2, 1)", (2, 0)): (1.5, 1.500000011175871),
        ("cosine_integral_derivative(1)", (2,)): (7.602635076085911,),
        ("cosine_integral_derivative(4)", (1,)): (3.000000000349246,),
        ("cosine_integral_derivative(4)", (2,)): (3.000000000349246,),
        ("polygamma(3)", (2,)): (-1e-05,),
        ("gammaincc(40)", (2,)): (40.0,),
        ("gamma_density(40)", (1,)): (42.12117278018085,),
        ("betainc(7.5, 1.5)", (2,)): (0.9313636265742951,),
        ("iv(1)", (2,)): (7.693089807550492,),
        ("eval_gegenbauer(6, 0.3)", (2,)): (0.7,),
        ("eval_gegenbauer(50, 0.3)", (2,)): (0.5078125,),
        ("ellipk_derivative(1)", (2,)): (-40.0,),
        ("ellipk_derivative(3)", (1,)): (-40.0,),
        ("ellipk_derivative(3)", (2,)): (-37.0,),
        ("ellipe", (2,)): (0.9999999999999999,),
        ("ellipe_derivative(1)", (1,)): (0.9999999999999999,),
        ("ellipe_derivative(1)", (2,)): (0.9999999999999999,),
        ("eval_genlaguerre(50, 0.3)", (1,)): (2.0,),
        ("eval_genlaguerre(50, 0.3)", (2,)): (0.7,),
        ("ellipe_derivative(3)", (1,)): (0.9999999999999999,),
        ("ellipe_derivative(3)", (2,)): (0.9999999999999999,),
        ("ellipkm1_derivative(1)", (2,)): (15.0,),
        ("ellipkm1_derivative(3)", (1,)): (1553.2019107020637,),
        ("ellipkm1_derivative(3)", (2,)): (1553.2019107020637,),
        ("zeta", (1,)): (-259.74609375,),
        ("hurwitz_zeta(s, 0.3)", (1,)): (1.363313987382439,),
        ("hurwitz_zeta_derivative(1, 1.25)", (1,)): (1.4338174866417508,),
        ("hurwitz_zeta_derivative(1, 2.0)", (1,)): (1e16,),
        ("iv(0.5)", (2,)): (0.7,),
        ("kv(-1.25)", (2,)): (0.0166180586575175,),
        ("kve(4)", (1,)): (0.42701929269574124,),
        ("kve(4)", (2,)): (0.02156463943576067,),
        ("kve(-1.25)", (2,)): (2.606021232981282e-07,),
    },
    ("x**2 is rounded, and the exponential or the wave multiplies its error by x**2"): {
        ("erfc", (1,)): (22.30227454794971,),
        ("erfc", (2,)): (22.30227454794971,),
        ("erfcx", (1,)): (-26.392187500000002,),
        ("erfcx", (2,)): (-26.392187500000002,),
        ("erfcx_derivative(1)", (1,)): (-26.392187500000002,),
        ("erfcx_derivative(1)", (2,)): (-26.392187500000002,),
        ("chirp_sine", (1,)): (1.0000000001164153,),
        ("chirp_sine", (2,)): (1007.8125,),
        ("fresnel_sine", (1,)): (745.1,),
        ("chirp_cosine", (1,)): (999.93896484375,),
        ("fresnel_cosine", (1,)): (-100.94060932238729,),
        ("fresnel_cosine", (2,)): (745.1,),
    },
    (
        "a function of the value f of the inverse, exp(f**2) or exp(f**2/2): f is rounded, "
        "and its error is multiplied by f**2"
    ): {
        ("erfinv", (1,)): (0.9999999999999999,),
        ("erfinv", (2,)): (0.9999999999999999,),
        ("erfcinv", (1,)): (1.9999999999999998,),
        ("erfcinv", (2,)): (1.9999999999999998,),
        ("ndtri", (1,)): (0.9999999999999999,),
        ("ndtri", (2,)): (0.9999999999999999,),
        ("erfcinv_slope", (1,)): (1.9999999999999998,),
        ("erfcinv_slope", (2,)): (1.9999999999999998,),
    },
    (
        "sin(x)/x is sinc(x/pi) here, and the quotient by pi is rounded before the sine is "
        "taken; a sinc of radians would mend it"
    ): {
        ("sine_integral", (1,)): (1e16,),
        ("sine_integral", (2,)): (1e16,),
    },
    (
        "the function times logarithmic slopes or a power of them; the function is an "
        "exponential of differences of log-gammas, whose error grows with their size, and "
        "slopes cancel"
    ): {
        ("rgamma", (1,)): (-0.5,),
        ("rgamma_derivative(1)", (2,)): (171.6104736328125,),
        ("rgamma_derivative(3)", (1,)): (-20.0,),
        ("rgamma_derivative(3)", (2,)): (5.0,),
        ("poch", (0, 1)): (355.0, 100.0),
        ("poch", (1, 0)): (355.0, 100.0),
        ("poch", (0, 2)): (355.0, 100.0),
        ("poch", (1, 1)): (1e-52, 1.0000000037252904e-52),
        ("poch", (2, 0)): (0.5, 1.0),
        ("binom", (0, 1)): (800.0, 355.0),
        ("binom", (1, 0)): (800.0, 355.0),
        ("binom", (0, 2)): (800.0, 355.0),
        ("binom", (1, 1)): (800.0, 355.0),
        ("binom", (2, 0)): (800.0, 355.0),
        ("beta", (0, 1)): (500.0, 100.0),
        ("beta", (1, 0)): (500.0, 100.0),
        ("beta", (0, 2)): (500.0, 100.0),
        ("beta", (1, 1)): (710.0, 355.0),
        ("beta", (2, 0)): (500.0, 100.0),
    },
    (
        "half the difference of the functions of neighbouring orders; SciPy's have an "
        "absolute error of their own, of a few hundred units near their roots"
    ): {
        ("jv(0)", (1,)): (745.1,),
        ("jv(0)", (2,)): (700.0,),
        ("yv(0)", (1,)): (1290.363716013713,),
        ("yv(0)", (2,)): (654.2473428244385,),
        ("jv(1)", (1,)): (700.0,),
        ("jv(1)", (2,)): (745.1,),
        ("yv(1)", (1,)): (8615.38003382203,),
        ("yv(1)", (2,)): (700.0,),
        ("jv(3)", (2,)): (428.0524379231782,),
        ("yv(3)", (1,)): (25.57301144356121,),
        ("yv(3)", (2,)): (700.0,),
        ("jv(0.5)", (1,)): (300.0,),
        ("jv(0.5)", (2,)): (710.0,),
        ("yv(-0.5)", (1,)): (300.0,),
        ("yv(-0.5)", (2,)): (710.0,),
        ("jv(-1.25)", (2,)): (374.22101443792974,),
        ("yv(1.25)", (1,)): (258.79764352686277,),
        ("yv(1.25)", (2,)): (0.8935159311229175,),
    },
    (
        "a quotient of exp(w) and powers of 1 + w: the value w of the function is rounded, "
        "and both multiply its error"
    ): {
        ("lambertw_derivative(1)", (2,)): (-0.2490234375,),
        ("lambertw_derivative(3)", (1,)): (-0.3678794411705328,),
        ("lambertw_derivative(3)", (2,)): (-0.2509765625,),
        ("lambertwm1", (2,)): (-0.2730623719136106,),
        ("lambertwm1_derivative(1)", (1,)): (-0.2688000026434326,),
        ("lambertwm1_derivative(1)", (2,)): (-0.3447810051403199,),
        ("lambertwm1_derivative(3)", (1,)): (-0.2363084862620486,),
        ("lambertwm1_derivative(3)", (2,)): (-0.3205932269688294,),
    },
}

STRICT: dict[tuple[str, tuple[int, ...]], Miss] = {
    row: Miss(at, cause)
    for cause, rows in _WITHOUT_CONDITIONING.items()
    for row, at in rows.items()
}
"""Cases beyond the bound of ``tests.accuracy`` without conditioning, with the worst points.

Operands are exact, so conditioning would allow for a rounding of them that has not happened.
"""
