"""What misses the bound of ``tests.accuracy``, each with a point, the cause and what was tried."""

from typing import NamedTuple


class Miss(NamedTuple):
    """A (row, order) that misses: a point at which it does, and why."""

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
