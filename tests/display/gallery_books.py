r"""What a book prints: 120 rows, decided before the printer regrouped anything.

Books and SymPy show what is usual.  Where they differ, or leave the form open, a row follows these
rules:

- A product has numbers first, then constants, then symbols in alphabetical order with their powers,
  then functions, and brackets last: ``2*a*x*exp(-x)*sin(x*y)``, ``x*exp(-x)*(2 - x)``.  So common
  factors stand in front of what they multiply.
- Of functions, powers and exponentials come first, sines before cosines, all others alphabetically.
- A sum has falling total degree in its symbols; functions and brackets below a bar do not count.
  Terms of one degree are in alphabetical order, functions before numbers.  If the first term is
  negative, the first positive one moves to the front: ``cos(x) - x*sin(x)``, ``y**2 - x**2``.
- A result of ``series`` has rising degree.
- A sum of fractions has one bar where that is shorter.
- Conditions at single points are left out, as those at kinks are: the derivative of ``x**n`` is
  ``n*x**(n - 1)``.
- Derivatives by separate symbols are a column or a matrix in LaTeX; their text stays open.

No row mixes capital and small letters where their order would decide.
"""

from __future__ import annotations

import symdiff as sd
from tests.display.rows import table


def standard_normal(x):
    return sd.exp(-(x**2) / 2) / sd.sqrt(2 * sd.pi)


def distance(*symbols):
    return sd.sqrt(sum(x**2 for x in symbols))


BOOKS = table(
    "books",
    {
        # Products as typed, in another order
        "example_of_order": (
            "y, x, a",
            lambda y, x, a: sd.sin(x * y) * a * 2 * sd.exp(-x) * x,
            "2*a*x*exp(-x)*sin(x*y)",
            r"2 a x e^{-x} \sin\left(x y\right)",
        ),
        "number_constant_symbol": (
            "x",
            lambda x: sd.sin(x) * sd.pi * x * 2,
            "2*pi*x*sin(x)",
            r"2 \pi x \sin\left(x\right)",
        ),
        "ball": ("r", lambda r: r**3 * sd.pi * 4 / 3, "4*pi*r**3/3", r"\frac{4 \pi r^3}{3}"),
        "four_symbols": ("y, x, b, a", lambda y, x, b, a: y * x * b * a, "a*b*x*y", "a b x y"),
        "powers_keep_their_place": (
            "z, x, y",
            lambda z, x, y: z**2 * x * 3 * y,
            "3*x*y*z**2",
            "3 x y z^2",
        ),
        "greek_symbols": (
            "gamma, beta, alpha",
            lambda gamma, beta, alpha: gamma * beta * alpha,
            "alpha*beta*gamma",
            r"\alpha \beta \gamma",
        ),
        "function_last": (
            "t, w, a",
            lambda t, w, a: sd.cos(t) * w * a,
            "a*w*cos(t)",
            r"a w \cos\left(t\right)",
        ),
        "power_before_log": (
            "x",
            lambda x: sd.log(x) * x**2,
            "x**2*log(x)",
            r"x^2 \log\left(x\right)",
        ),
        "bracket_last": (
            "x",
            lambda x: (x + 1) * x * sd.exp(x),
            "x*exp(x)*(x + 1)",
            r"x e^{x} \left(x + 1\right)",
        ),
        "symbols_over_symbols": (
            "y, x, b, a",
            lambda y, x, b, a: x * a / (y * b),
            "a*x/(b*y)",
            r"\frac{a x}{b y}",
        ),
        "exponential_before_sine": (
            "x",
            lambda x: sd.sin(x) * sd.exp(-x),
            "exp(-x)*sin(x)",
            r"e^{-x} \sin\left(x\right)",
        ),
        "sine_before_cosine": (
            "x",
            lambda x: sd.cos(x) * sd.sin(x),
            "sin(x)*cos(x)",
            r"\sin\left(x\right) \cos\left(x\right)",
        ),
        "kinetic_energy": ("v, m", lambda v, m: m * v**2 / 2, "m*v**2/2", r"\frac{m v^2}{2}"),
        # Sums as typed, in another order
        "number_last": ("x", lambda x: 3 + x, "x + 3", "x + 3"),
        "falling_degree": ("x", lambda x: 2 - x + x**2, "x**2 - x + 2", "x^2 - x + 2"),
        "one_minus_square": ("x", lambda x: 1 - x**2, "1 - x**2", "1 - x^2"),
        "quadratic": (
            "x, c, b, a",
            lambda x, c, b, a: c + b * x + a * x**2,
            "a*x**2 + b*x + c",
            "a x^2 + b x + c",
        ),
        "two_symbols": ("y, x", lambda y, x: y + x, "x + y", "x + y"),
        "difference": ("x, y", lambda x, y: -x + y, "y - x", "y - x"),
        "binomial": (
            "y, x",
            lambda y, x: y**2 + 2 * x * y + x**2,
            "x**2 + 2*x*y + y**2",
            "x^2 + 2 x y + y^2",
        ),
        "first_positive_leads": (
            "x",
            lambda x: 1 - x**3 + 3 * x,
            "3*x - x**3 + 1",
            "3 x - x^3 + 1",
        ),
        "power_before_function": (
            "x",
            lambda x: sd.sin(x) + x**2,
            "x**2 + sin(x)",
            r"x^2 + \sin\left(x\right)",
        ),
        "sine_plus_cosine": (
            "x",
            lambda x: sd.cos(x) + sd.sin(x),
            "sin(x) + cos(x)",
            r"\sin\left(x\right) + \cos\left(x\right)",
        ),
        "exponential_minus_symbol": (
            "x",
            lambda x: -x + sd.exp(-x),
            "exp(-x) - x",
            "e^{-x} - x",
        ),
        # First derivatives: products
        "power_times_decay": (
            "x",
            lambda x: sd.diff(x**2 * sd.exp(-x), x),
            "x*exp(-x)*(2 - x)",
            r"x e^{-x} \left(2 - x\right)",
        ),
        "power_times_log": (
            "x",
            lambda x: sd.diff(x**3 * sd.log(x), x),
            "x**2*(3*log(x) + 1)",
            r"x^2 \left(3 \log\left(x\right) + 1\right)",
        ),
        "x_log_x": (
            "x",
            lambda x: sd.diff(x * sd.log(x), x),
            "log(x) + 1",
            r"\log\left(x\right) + 1",
        ),
        "x_sine": (
            "x",
            lambda x: sd.diff(x * sd.sin(x), x),
            "x*cos(x) + sin(x)",
            r"x \cos\left(x\right) + \sin\left(x\right)",
        ),
        "x_cosine": (
            "x",
            lambda x: sd.diff(x * sd.cos(x), x),
            "cos(x) - x*sin(x)",
            r"\cos\left(x\right) - x \sin\left(x\right)",
        ),
        "square_sine": (
            "x",
            lambda x: sd.diff(x**2 * sd.sin(x), x),
            "x*(x*cos(x) + 2*sin(x))",
            r"x \left(x \cos\left(x\right) + 2 \sin\left(x\right)\right)",
        ),
        "exponential_sine": (
            "x",
            lambda x: sd.diff(sd.exp(x) * sd.sin(x), x),
            "exp(x)*(sin(x) + cos(x))",
            r"e^{x} \left(\sin\left(x\right) + \cos\left(x\right)\right)",
        ),
        "growing_wave": (
            "x, b, a",
            lambda x, b, a: sd.diff(sd.exp(a * x) * sd.sin(b * x), x),
            "exp(a*x)*(a*sin(b*x) + b*cos(b*x))",
            r"e^{a x} \left(a \sin\left(b x\right) + b \cos\left(b x\right)\right)",
        ),
        "x_tanh": (
            "x",
            lambda x: sd.diff(x * sd.tanh(x), x),
            "x*sech(x)**2 + tanh(x)",
            r"x \operatorname{sech}^2\left(x\right) + \tanh\left(x\right)",
        ),
        "sinh_cosh": (
            "x",
            lambda x: sd.diff(sd.sinh(x) * sd.cosh(x), x),
            "sinh(x)**2 + cosh(x)**2",
            r"\sinh^2\left(x\right) + \cosh^2\left(x\right)",
        ),
        "x_erf": (
            "x",
            lambda x: sd.diff(x * sd.erf(x), x),
            "2*x*exp(-x**2)/sqrt(pi) + erf(x)",
            r"\frac{2 x e^{-x^2}}{\sqrt{\pi}} + \operatorname{erf}\left(x\right)",
        ),
        "factored_polynomial": (
            "x",
            lambda x: sd.diff((x - 1) ** 3 * (x + 2) ** 2, x),
            "(x - 1)**2*(x + 2)*(5*x + 4)",
            r"\left(x - 1\right)^2 \left(x + 2\right) \left(5 x + 4\right)",
        ),
        "x_power_of_two": (
            "x",
            lambda x: sd.diff(x * 2**x, x),
            "2**x*(x*log(2) + 1)",
            r"2^{x} \left(x \log\left(2\right) + 1\right)",
        ),
        "x_root": (
            "x",
            lambda x: sd.diff(x * sd.sqrt(x + 1), x),
            "(3*x + 2)/(2*sqrt(x + 1))",
            r"\frac{3 x + 2}{2 \sqrt{x + 1}}",
        ),
        "chord_area": (
            "x, a",
            lambda x, a: sd.diff(x * sd.sqrt(a**2 - x**2), x),
            "(a**2 - 2*x**2)/sqrt(a**2 - x**2)",
            r"\frac{a^2 - 2 x^2}{\sqrt{a^2 - x^2}}",
        ),
        "root_times_log": (
            "x",
            lambda x: sd.diff(sd.sqrt(x) * sd.log(x), x),
            "(log(x) + 2)/(2*sqrt(x))",
            r"\frac{\log\left(x\right) + 2}{2 \sqrt{x}}",
        ),
        "cusp": (
            "x",
            lambda x: sd.diff(sd.parse("x**(2/3)*(5 - x)"), x),
            "5*(2 - x)/(3*x**(1/3))",
            r"\frac{5 \left(2 - x\right)}{3 x^{\frac{1}{3}}}",
        ),
        "oscillation_at_zero": (
            "x",
            lambda x: sd.diff(x**2 * sd.sin(1 / x), x),
            "2*x*sin(1/x) - cos(1/x)",
            r"2 x \sin\left(\frac{1}{x}\right) - \cos\left(\frac{1}{x}\right)",
        ),
        "essential_singularity": (
            "x",
            lambda x: sd.diff(x * sd.exp(1 / x), x),
            "exp(1/x)*(x - 1)/x",
            r"\frac{e^{\frac{1}{x}} \left(x - 1\right)}{x}",
        ),
        # First derivatives: quotients
        "serpentine": (
            "x",
            lambda x: sd.diff(x / (x**2 + 1), x),
            "(1 - x**2)/(x**2 + 1)**2",
            r"\frac{1 - x^2}{\left(x^2 + 1\right)^2}",
        ),
        "square_over_line": (
            "x",
            lambda x: sd.diff(x**2 / (x + 1), x),
            "x*(x + 2)/(x + 1)**2",
            r"\frac{x \left(x + 2\right)}{\left(x + 1\right)^2}",
        ),
        "moebius": (
            "x, a, b, c, d",
            lambda x, a, b, c, d: sd.diff((a * x + b) / (c * x + d), x),
            "(a*d - b*c)/(c*x + d)**2",
            r"\frac{a d - b c}{\left(c x + d\right)^2}",
        ),
        "reciprocal_quadratic": (
            "x",
            lambda x: sd.diff(1 / (x**2 + 1), x),
            "-2*x/(x**2 + 1)**2",
            r"-\frac{2 x}{\left(x^2 + 1\right)^2}",
        ),
        "log_over_x": (
            "x",
            lambda x: sd.diff(sd.log(x) / x, x),
            "(1 - log(x))/x**2",
            r"\frac{1 - \log\left(x\right)}{x^2}",
        ),
        "sine_over_x": (
            "x",
            lambda x: sd.diff(sd.sin(x) / x, x),
            "(x*cos(x) - sin(x))/x**2",
            r"\frac{x \cos\left(x\right) - \sin\left(x\right)}{x^2}",
        ),
        "exponential_over_x": (
            "x",
            lambda x: sd.diff(sd.exp(x) / x, x),
            "exp(x)*(x - 1)/x**2",
            r"\frac{e^{x} \left(x - 1\right)}{x^2}",
        ),
        "partial_fractions": (
            "x, a, b",
            lambda x, a, b: sd.diff(1 / (x - a) - 1 / (x - b), x),
            "1/(x - b)**2 - 1/(x - a)**2",
            r"\frac{1}{\left(x - b\right)^2} - \frac{1}{\left(x - a\right)^2}",
        ),
        # First derivatives: chains
        "exponential_of_square": (
            "x",
            lambda x: sd.diff(sd.exp(x**2), x),
            "2*x*exp(x**2)",
            "2 x e^{x^2}",
        ),
        "exponential_of_sine": (
            "x",
            lambda x: sd.diff(sd.exp(sd.sin(x)), x),
            "exp(sin(x))*cos(x)",
            r"e^{\sin\left(x\right)} \cos\left(x\right)",
        ),
        "sine_squared": (
            "x",
            lambda x: sd.diff(sd.sin(x) ** 2, x),
            "2*sin(x)*cos(x)",
            r"2 \sin\left(x\right) \cos\left(x\right)",
        ),
        "cosine_to_the_fourth": (
            "x",
            lambda x: sd.diff(sd.cos(x) ** 4, x),
            "-4*sin(x)*cos(x)**3",
            r"-4 \sin\left(x\right) \cos^3\left(x\right)",
        ),
        "nested_chain": (
            "x",
            lambda x: sd.diff(sd.sin(sd.cos(x**2)), x),
            "-2*x*sin(x**2)*cos(cos(x**2))",
            r"-2 x \sin\left(x^2\right) \cos\left(\cos\left(x^2\right)\right)",
        ),
        "power_of_quadratic": (
            "x",
            lambda x: sd.diff((x**2 + 1) ** 5, x),
            "10*x*(x**2 + 1)**4",
            r"10 x \left(x^2 + 1\right)^4",
        ),
        "power_of_line": (
            "x",
            lambda x: sd.diff((2 * x + 3) ** 4, x),
            "8*(2*x + 3)**3",
            r"8 \left(2 x + 3\right)^3",
        ),
        "power_rule": (
            "x, n",
            lambda x, n: sd.diff(x**n, x),
            "n*x**(n - 1)",
            "n x^{n - 1}",
        ),
        "half_circle": (
            "x",
            lambda x: sd.diff(sd.sqrt(1 - x**2), x),
            "-x/sqrt(1 - x**2)",
            r"-\frac{x}{\sqrt{1 - x^2}}",
        ),
        "ellipse": (
            "x, a, b",
            lambda x, a, b: sd.diff(b * sd.sqrt(1 - x**2 / a**2), x),
            "-b*x/(a**2*sqrt(1 - x**2/a**2))",
            r"-\frac{b x}{a^2 \sqrt{1 - \frac{x^2}{a^2}}}",
        ),
        "log_of_quadratic": (
            "x",
            lambda x: sd.diff(sd.log(x**2 + 1), x),
            "2*x/(x**2 + 1)",
            r"\frac{2 x}{x^2 + 1}",
        ),
        "log_of_log": (
            "x",
            lambda x: sd.diff(sd.log(sd.log(x)), x),
            "1/(x*log(x))",
            r"\frac{1}{x \log\left(x\right)}",
        ),
        "log_of_quotient": (
            "x",
            lambda x: sd.diff(sd.log((1 + x) / (1 - x)), x),
            "2/(1 - x**2)",
            r"\frac{2}{1 - x^2}",
        ),
        "log_of_root": (
            "x",
            lambda x: sd.diff(sd.log(x + sd.sqrt(x**2 + 1)), x),
            "1/sqrt(x**2 + 1)",
            r"\frac{1}{\sqrt{x^2 + 1}}",
        ),
        "arctangent_of_ratio": (
            "x, a",
            lambda x, a: sd.diff(sd.atan(x / a), x),
            "a/(a**2 + x**2)",
            r"\frac{a}{a^2 + x^2}",
        ),
        # Second and third derivatives
        "power_times_decay_twice": (
            "x",
            lambda x: sd.diff(x**2 * sd.exp(-x), x, 2),
            "exp(-x)*(x**2 - 4*x + 2)",
            r"e^{-x} \left(x^2 - 4 x + 2\right)",
        ),
        "x_exponential_twice": (
            "x",
            lambda x: (x * sd.exp(x)).diff(x, 2),
            "exp(x)*(x + 2)",
            r"e^{x} \left(x + 2\right)",
        ),
        "bell_twice": (
            "x",
            lambda x: sd.diff(sd.exp(-(x**2) / 2), x, 2),
            "exp(-x**2/2)*(x**2 - 1)",
            r"e^{-\frac{x^2}{2}} \left(x^2 - 1\right)",
        ),
        "bell_three_times": (
            "x",
            lambda x: sd.diff(sd.exp(-(x**2) / 2), x, 3),
            "x*exp(-x**2/2)*(3 - x**2)",
            r"x e^{-\frac{x^2}{2}} \left(3 - x^2\right)",
        ),
        "exponential_of_square_twice": (
            "x",
            lambda x: sd.diff(sd.exp(x**2), x, 2),
            "2*exp(x**2)*(2*x**2 + 1)",
            r"2 e^{x^2} \left(2 x^2 + 1\right)",
        ),
        "exponential_of_sine_twice": (
            "x",
            lambda x: sd.exp(sd.sin(x)).diff(x, 2),
            "exp(sin(x))*(cos(x)**2 - sin(x))",
            r"e^{\sin\left(x\right)} \left(\cos^2\left(x\right) - \sin\left(x\right)\right)",
        ),
        "exponential_sine_twice": (
            "x",
            lambda x: sd.diff(sd.exp(x) * sd.sin(x), x, 2),
            "2*exp(x)*cos(x)",
            r"2 e^{x} \cos\left(x\right)",
        ),
        "power_times_log_twice": (
            "x",
            lambda x: sd.diff(x**3 * sd.log(x), x, 2),
            "x*(6*log(x) + 5)",
            r"x \left(6 \log\left(x\right) + 5\right)",
        ),
        "x_sine_twice": (
            "x",
            lambda x: sd.diff(x * sd.sin(x), x, 2),
            "2*cos(x) - x*sin(x)",
            r"2 \cos\left(x\right) - x \sin\left(x\right)",
        ),
        "reciprocal_quadratic_twice": (
            "x",
            lambda x: sd.diff(1 / (x**2 + 1), x, 2),
            "2*(3*x**2 - 1)/(x**2 + 1)**3",
            r"\frac{2 \left(3 x^2 - 1\right)}{\left(x^2 + 1\right)^3}",
        ),
        "serpentine_twice": (
            "x",
            lambda x: sd.diff(x / (x**2 + 1), x, 2),
            "2*x*(x**2 - 3)/(x**2 + 1)**3",
            r"\frac{2 x \left(x^2 - 3\right)}{\left(x^2 + 1\right)^3}",
        ),
        "half_circle_twice": (
            "x",
            lambda x: sd.diff(sd.sqrt(1 - x**2), x, 2),
            "-1/(1 - x**2)**(3/2)",
            r"-\frac{1}{\left(1 - x^2\right)^{\frac{3}{2}}}",
        ),
        "hyperbola_twice": (
            "x",
            lambda x: sd.diff(sd.sqrt(x**2 + 1), x, 2),
            "1/(x**2 + 1)**(3/2)",
            r"\frac{1}{\left(x^2 + 1\right)^{\frac{3}{2}}}",
        ),
        "log_over_x_twice": (
            "x",
            lambda x: sd.diff(sd.log(x) / x, x, 2),
            "(2*log(x) - 3)/x**3",
            r"\frac{2 \log\left(x\right) - 3}{x^3}",
        ),
        "log_of_quadratic_twice": (
            "x",
            lambda x: sd.diff(sd.log(x**2 + 1), x, 2),
            "2*(1 - x**2)/(x**2 + 1)**2",
            r"\frac{2 \left(1 - x^2\right)}{\left(x^2 + 1\right)^2}",
        ),
        "power_of_quadratic_twice": (
            "x",
            lambda x: sd.diff((x**2 + 1) ** 5, x, 2),
            "10*(x**2 + 1)**3*(9*x**2 + 1)",
            r"10 \left(x^2 + 1\right)^3 \left(9 x^2 + 1\right)",
        ),
        "arcsine_twice": (
            "x",
            lambda x: sd.diff(sd.asin(x), x, 2),
            "x/(1 - x**2)**(3/2)",
            r"\frac{x}{\left(1 - x^2\right)^{\frac{3}{2}}}",
        ),
        "tanh_twice": (
            "x",
            lambda x: sd.diff(sd.tanh(x), x, 2),
            "-2*sech(x)**2*tanh(x)",
            r"-2 \operatorname{sech}^2\left(x\right) \tanh\left(x\right)",
        ),
        # Entries of Hessians
        "polynomial_mixed": (
            "y, x",
            lambda y, x: sd.hessian(x**2 * y**3, [x, y])[0][1],
            "6*x*y**2",
            "6 x y^2",
        ),
        "distance_xx": (
            "x, y",
            lambda x, y: sd.hessian(distance(x, y), [x, y])[0][0],
            "y**2/(x**2 + y**2)**(3/2)",
            r"\frac{y^2}{\left(x^2 + y^2\right)^{\frac{3}{2}}}",
        ),
        "distance_xy": (
            "x, y",
            lambda x, y: sd.hessian(distance(x, y), [x, y])[0][1],
            "-x*y/(x**2 + y**2)**(3/2)",
            r"-\frac{x y}{\left(x^2 + y^2\right)^{\frac{3}{2}}}",
        ),
        "distance_yx": (
            "x, y",
            lambda x, y: sd.hessian(distance(x, y), [x, y])[1][0],
            "-x*y/(x**2 + y**2)**(3/2)",
            r"-\frac{x y}{\left(x^2 + y^2\right)^{\frac{3}{2}}}",
        ),
        "distance_yy": (
            "x, y",
            lambda x, y: sd.hessian(distance(x, y), [x, y])[1][1],
            "x**2/(x**2 + y**2)**(3/2)",
            r"\frac{x^2}{\left(x^2 + y^2\right)^{\frac{3}{2}}}",
        ),
        "log_of_distance_xx": (
            "x, y",
            lambda x, y: sd.hessian(sd.log(x**2 + y**2), [x, y])[0][0],
            "2*(y**2 - x**2)/(x**2 + y**2)**2",
            r"\frac{2 \left(y^2 - x^2\right)}{\left(x^2 + y^2\right)^2}",
        ),
        "log_of_distance_xy": (
            "x, y",
            lambda x, y: sd.hessian(sd.log(x**2 + y**2), [x, y])[0][1],
            "-4*x*y/(x**2 + y**2)**2",
            r"-\frac{4 x y}{\left(x^2 + y^2\right)^2}",
        ),
        "log_of_distance_yy": (
            "x, y",
            lambda x, y: sd.hessian(sd.log(x**2 + y**2), [x, y])[1][1],
            "2*(x**2 - y**2)/(x**2 + y**2)**2",
            r"\frac{2 \left(x^2 - y^2\right)}{\left(x^2 + y^2\right)^2}",
        ),
        "polar_angle_xy": (
            "x, y",
            lambda x, y: sd.diff(sd.atan(y / x), x, y),
            "(y**2 - x**2)/(x**2 + y**2)**2",
            r"\frac{y^2 - x^2}{\left(x^2 + y^2\right)^2}",
        ),
        "exponential_of_product_xy": (
            "y, x",
            lambda y, x: sd.diff(sd.exp(x * y), x, y),
            "exp(x*y)*(x*y + 1)",
            r"e^{x y} \left(x y + 1\right)",
        ),
        "sine_of_product_xy": (
            "y, x",
            lambda y, x: sd.diff(sd.sin(x * y), x, y),
            "cos(x*y) - x*y*sin(x*y)",
            r"\cos\left(x y\right) - x y \sin\left(x y\right)",
        ),
        "newtonian_potential_yy": (
            "x, y, z",
            lambda x, y, z: sd.diff(1 / distance(x, y, z), y, 2),
            "(2*y**2 - x**2 - z**2)/(x**2 + y**2 + z**2)**(5/2)",
            r"\frac{2 y^2 - x^2 - z^2}{\left(x^2 + y^2 + z^2\right)^{\frac{5}{2}}}",
        ),
        # Physics and other fields
        "van_der_waals": (
            "V, T, R, a, b",
            lambda V, T, R, a, b: sd.diff(R * T / (V - b) - a / V**2, V),
            "2*a/V**3 - R*T/(V - b)**2",
            r"\frac{2 a}{V^3} - \frac{R T}{\left(V - b\right)^2}",
        ),
        "arrhenius": (
            "T, A, E, R",
            lambda T, A, E, R: sd.diff(A * sd.exp(-E / (R * T)), T),
            "A*E*exp(-E/(R*T))/(R*T**2)",
            r"\frac{A E e^{-\frac{E}{R T}}}{R T^2}",
        ),
        "michaelis_menten": (
            "S, V, K",
            lambda S, V, K: sd.diff(V * S / (K + S), S),
            "K*V/(K + S)**2",
            r"\frac{K V}{\left(K + S\right)^2}",
        ),
        "yukawa": (
            "r, m",
            lambda r, m: sd.diff(sd.exp(-m * r) / r, r),
            "-exp(-m*r)*(m*r + 1)/r**2",
            r"-\frac{e^{-m r} \left(m r + 1\right)}{r^2}",
        ),
        "ring_field": (
            "z, a",
            lambda z, a: sd.diff(sd.parse("z/(z**2 + a**2)**(3/2)"), z),
            "(a**2 - 2*z**2)/(a**2 + z**2)**(5/2)",
            r"\frac{a^2 - 2 z^2}{\left(a^2 + z^2\right)^{\frac{5}{2}}}",
        ),
        "damped_oscillator": (
            "t, omega, gamma",
            lambda t, omega, gamma: sd.diff(sd.exp(-gamma * t) * sd.cos(omega * t), t),
            "-exp(-gamma*t)*(gamma*cos(omega*t) + omega*sin(omega*t))",
            r"-e^{-\gamma t} \left(\gamma \cos\left(\omega t\right)"
            r" + \omega \sin\left(\omega t\right)\right)",
        ),
        "matched_load": (
            "R, S, U",
            lambda R, S, U: sd.diff(U**2 * R / (R + S) ** 2, R),
            "U**2*(S - R)/(R + S)**3",
            r"\frac{U^2 \left(S - R\right)}{\left(R + S\right)^3}",
        ),
        "kepler_orbit": (
            "theta, p, epsilon",
            lambda theta, p, epsilon: sd.diff(p / (1 + epsilon * sd.cos(theta)), theta),
            "epsilon*p*sin(theta)/(epsilon*cos(theta) + 1)**2",
            r"\frac{\epsilon p \sin\left(\theta\right)}"
            r"{\left(\epsilon \cos\left(\theta\right) + 1\right)^2}",
        ),
        "rocket": (
            "t, u, m, q",
            lambda t, u, m, q: sd.diff(u * sd.log(m / (m - q * t)), t),
            "q*u/(m - q*t)",
            r"\frac{q u}{m - q t}",
        ),
        "logistic_growth": (
            "t, k, a, r",
            lambda t, k, a, r: sd.diff(k / (1 + a * sd.exp(-r * t)), t),
            "a*k*r*exp(-r*t)/(a*exp(-r*t) + 1)**2",
            r"\frac{a k r e^{-r t}}{\left(a e^{-r t} + 1\right)^2}",
        ),
        "thin_lens": (
            "d, f",
            lambda d, f: sd.diff(f * d / (d - f), d),
            "-f**2/(d - f)**2",
            r"-\frac{f^2}{\left(d - f\right)^2}",
        ),
        "capacitor": (
            "t, u, r, c",
            lambda t, u, r, c: sd.diff(u * (1 - sd.exp(-t / (r * c))), t),
            "u*exp(-t/(c*r))/(c*r)",
            r"\frac{u e^{-\frac{t}{c r}}}{c r}",
        ),
        "buckingham": (
            "r, a, b, c",
            lambda r, a, b, c: sd.diff(a * sd.exp(-b * r) - c / r**6, r),
            "6*c/r**7 - a*b*exp(-b*r)",
            r"\frac{6 c}{r^7} - a b e^{-b r}",
        ),
        "parallel_resistors_mixed": (
            "R, S",
            lambda R, S: sd.diff(R * S / (R + S), R, S),
            "2*R*S/(R + S)**3",
            r"\frac{2 R S}{\left(R + S\right)^3}",
        ),
        "normal_slope": (
            "x",
            lambda x: sd.diff(standard_normal(x), x),
            "-x*exp(-x**2/2)/sqrt(2*pi)",
            r"-\frac{x e^{-\frac{x^2}{2}}}{\sqrt{2 \pi}}",
        ),
        "normal_score": (
            "sigma, n, s",
            lambda sigma, n, s: sd.diff(-n * sd.log(sigma) - s / (2 * sigma**2), sigma),
            "s/sigma**3 - n/sigma",
            r"\frac{s}{\sigma^3} - \frac{n}{\sigma}",
        ),
        "marginal_product": (
            "x, y, a, b",
            lambda x, y, a, b: sd.diff(x**a * y**b, x),
            "a*x**(a - 1)*y**b",
            "a x^{a - 1} y^{b}",
        ),
        # Series
        "series_of_exponential": (
            "x",
            lambda x: sd.series(sd.exp(x), x, n=4),
            "1 + x + x**2/2 + x**3/6",
            r"1 + x + \frac{x^2}{2} + \frac{x^3}{6}",
        ),
        "series_of_log": (
            "x",
            lambda x: sd.series(sd.log(1 + x), x, n=4),
            "x - x**2/2 + x**3/3",
            r"x - \frac{x^2}{2} + \frac{x^3}{3}",
        ),
        "series_of_cosine": (
            "x",
            lambda x: sd.series(sd.cos(x), x, n=5),
            "1 - x**2/2 + x**4/24",
            r"1 - \frac{x^2}{2} + \frac{x^4}{24}",
        ),
        # Matrices
        "gradient_of_log_of_form": (
            "A n n, v n",
            lambda A, v: sd.grad(sd.log(1 + v @ A @ v), v),
            "(A @ v + A.T @ v)/(v @ A @ v + 1)",
            r"\frac{A v + A^\top v}{v^\top A v + 1}",
        ),
        "gradient_column": (
            "x, y",
            lambda x, y: sd.grad(x**2 * y, [x, y]),
            None,
            r"\begin{bmatrix} 2 x y \\ x^2 \end{bmatrix}",
        ),
        "hessian_matrix": (
            "x, y",
            lambda x, y: sd.hessian(x**2 * y, [x, y]),
            None,
            r"\begin{bmatrix} 2 y & 2 x \\ 2 x & 0 \end{bmatrix}",
        ),
        "polar_jacobian": (
            "r, t",
            lambda r, t: sd.jacobian(sd.stack([r * sd.cos(t), r * sd.sin(t)]), [r, t]),
            None,
            r"\begin{bmatrix} \cos\left(t\right) & -r \sin\left(t\right) \\"
            r" \sin\left(t\right) & r \cos\left(t\right) \end{bmatrix}",
        ),
    },
)
