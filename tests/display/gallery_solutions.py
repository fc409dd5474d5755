r"""What a book prints of solutions, loops and their derivatives, decided before the printer did it.

The rules of the rows:

- A solution, a loop and a differential equation have a short name, and the formula uses it.  Lines
  below say what the name means: the first begins with ``where``, others with ``and``.
- Solutions of equations are called x, then y and z; in LaTeX ``x^\ast``.  "near" is the start.
- A recurrence has a letter from a, an index from k, its start, its step and the range of the index.
  A loop that runs backwards has a falling range.
- A loop with a condition has n steps, and n is defined by the condition that fails.
- The solution of a differential equation is u, a sensitivity s.
- Factors and terms have the order of ``gallery_books``; elements of sequences follow parameters.
- An element of an element has one list of indices: ``b[k,0]``, in LaTeX ``b_{k,0}``.
- Letters of the formula's own symbols are skipped: the user's ``a`` makes the recurrence b.
"""

from __future__ import annotations

import symdiff as sd
from tests.display.rows import table


def square_root(a):
    return sd.root(lambda x: x**2 - a, 1)


def circle_and_line(a, r):
    return sd.root(lambda x: sd.stack([x[0] ** 2 + x[1] ** 2 - a, x[0] - r * x[1]]), [1, 2])


def quartic(a, r):
    return sd.minimize(lambda x: r * x**4 + (x - a) ** 2, 1)


def cosine(a):
    return sd.fixed_point(lambda x: sd.cos(a * x), 1)


def shifted_system(A, v, a):
    return sd.linear_solve(lambda x: A @ x + a * x, v, method="gmres")


def savings(c, p, r):
    return sd.scan(lambda s, _: ((1 + r) * s + p, None), c, None, length=12)[0]


def logistic_map(c, r):
    return sd.scan(lambda s, _: (r * s * (1 - s), None), c, None, length=5)[0]


def moving_average(a, x):
    return sd.scan(lambda s, y: ((1 - a) * s + a * y, None), 0, x)[0]


def series(a):
    return sd.fori_loop(0, 5, lambda i, s: a * s + i, 1)


def turning(x, v):
    return sd.scan(lambda s, y: (sd.stack([s[1], -y * s[0]]), None), x, v)[0][1]


def babylon(a):
    return sd.while_loop(lambda x: abs(x**2 - a) > 1e-12, lambda x: (x + a / x) / 2, a)


def decay(alpha, y0):
    return sd.odeint(lambda u, t: -alpha * u, y0, [0, 1, 2])


def growth(r, c):
    return sd.odeint(lambda u, t: r * u * (1 - u), c, [0, 3])[-1]


def pendulum(g, c):
    start = sd.stack([c, 0])
    return sd.odeint(lambda u, t: sd.stack([u[1], -g * sd.sin(u[0])]), start, [0, 1])[-1, 0]


def oscillator(g, y0):
    return sd.odeint(lambda u, t: sd.stack([u[1], -g * u[0]]), y0, [0, 1])[-1]


def small_pendulum(g, a):
    return sd.odeint(lambda u, t: sd.stack([u[1], -g / a * u[0]]), [1, 0], [0, 3])[-1, 0]


def nested(a):
    def inner(s):
        return sd.fori_loop(0, 3, lambda i, z: sd.sin(z) + a, s)

    return sd.fori_loop(0, 4, lambda i, s: s * inner(s), 1)


def below(*lines):
    r"""LaTeX of a formula with definitions below it."""
    first, *others = lines
    rows = [first, *(rf"\text{{{'and' if k else 'where'}}}\quad {x}" for k, x in enumerate(others))]
    return r"\begin{aligned} & " + r" \\ & ".join(rows) + r" \end{aligned}"


ROOT = "where x**2 - a = 0, x near 1"
ROOT_LATEX = r"\left(x^\ast\right)^2 - a = 0, x^\ast \text{ near } 1"
CIRCLE = "where [x[0]**2 + x[1]**2 - a, x[0] - r*x[1]] = 0, x near [1, 2]"
CIRCLE_LATEX = (
    r"\begin{bmatrix} \left(x^\ast_0\right)^2 + \left(x^\ast_1\right)^2 - a \\"
    r" x^\ast_0 - r x^\ast_1 \end{bmatrix} = \mathbf{0},"
    r" x^\ast \text{ near } \begin{bmatrix} 1 \\ 2 \end{bmatrix}"
)
QUARTIC = "where x minimizes r*x**4 + (x - a)**2, x near 1"
QUARTIC_LATEX = (
    r"x^\ast \text{ minimizes } r \left(x^\ast\right)^4 + \left(x^\ast - a\right)^2,"
    r" x^\ast \text{ near } 1"
)
COSINE = "where x = cos(a*x), x near 1"
COSINE_LATEX = r"x^\ast = \cos\left(a x^\ast\right), x^\ast \text{ near } 1"
SAVINGS = "a[0] = c, a[k + 1] = a[k]*(r + 1) + p for k = 0, ..., 11"
SAVINGS_LATEX = r"a_0 = c, a_{k+1} = a_k \left(r + 1\right) + p, k = 0, \ldots, 11"
LOGISTIC = "a[0] = c, a[k + 1] = r*a[k]*(1 - a[k]) for k = 0, ..., 4"
LOGISTIC_LATEX = r"a_0 = c, a_{k+1} = r a_k \left(1 - a_k\right), k = 0, \ldots, 4"
AVERAGE = "b[0] = 0, b[k + 1] = a*x[k] + b[k]*(1 - a) for k = 0, ..., 4"
AVERAGE_LATEX = r"b_0 = 0, b_{k+1} = a x_k + b_k \left(1 - a\right), k = 0, \ldots, 4"
SERIES = "b[0] = 1, b[k + 1] = a*b[k] + k for k = 0, ..., 4"
SERIES_LATEX = r"b_0 = 1, b_{k+1} = a b_k + k, k = 0, \ldots, 4"
BABYLON = "b[0] = a, b[k + 1] = a/(2*b[k]) + b[k]/2 for k = 0, ..., n - 1"
BABYLON_LATEX = r"b_0 = a, b_{k+1} = \frac{a}{2 b_k} + \frac{b_k}{2}, k = 0, \ldots, n - 1"
STOPS = "n is the first k where abs(b[k]**2 - a) > 1e-12 fails"
STOPS_LATEX = (
    r"n \text{ is the first } k \text{ where } \left|{b_k^2 - a}\right| > 1 \cdot 10^{-12}"
    r" \text{ fails}"
)
DECAY = "u' = -alpha*u, u(0) = y0"
DECAY_LATEX = r"u' = -\alpha u, u\left(0\right) = y_0"
GROWTH = "u' = r*u*(1 - u), u(0) = c"
GROWTH_LATEX = r"u' = r u \left(1 - u\right), u\left(0\right) = c"
PENDULUM = "u' = [u[1], -g*sin(u[0])], u(0) = [c, 0]"
PENDULUM_LATEX = (
    r"u' = \begin{bmatrix} u_1 \\ -g \sin\left(u_0\right) \end{bmatrix},"
    r" u\left(0\right) = \begin{bmatrix} c \\ 0 \end{bmatrix}"
)
OSCILLATOR = "u' = [u[1], -g*u[0]], u(0) = y0"
OSCILLATOR_LATEX = r"u' = \begin{bmatrix} u_1 \\ -g u_0 \end{bmatrix}, u\left(0\right) = y_0"
SMALL_PENDULUM = "u' = [u[1], -g*u[0]/a], u(0) = [1, 0]"
SMALL_PENDULUM_LATEX = (
    r"u' = \begin{bmatrix} u_1 \\ -\frac{g u_0}{a} \end{bmatrix},"
    r" u\left(0\right) = \begin{bmatrix} 1 \\ 0 \end{bmatrix}"
)
BY_GRAVITY = "s = du/dg, s' = [s[1], -((g*s[0] + u[0])/a)], s(0) = [0, 0]"
BY_GRAVITY_LATEX = (
    r"s = \frac{\partial u}{\partial g},"
    r" s' = \begin{bmatrix} s_1 \\ -\frac{g s_0 + u_0}{a} \end{bmatrix},"
    r" s\left(0\right) = \begin{bmatrix} 0 \\ 0 \end{bmatrix}"
)

SOLUTIONS = table(
    "solutions",
    {
        "root": ("a", square_root, f"x\n{ROOT}", below(r"x^\ast", ROOT_LATEX)),
        "root_by_parameter": (
            "a",
            lambda a: sd.diff(square_root(a), a),
            f"1/(2*x)\n{ROOT}",
            below(r"\frac{1}{2 x^\ast}", ROOT_LATEX),
        ),
        "root_by_parameter_twice": (
            "a",
            lambda a: sd.diff(square_root(a), a, 2),
            f"-1/(4*x**3)\n{ROOT}",
            below(r"-\frac{1}{4 \left(x^\ast\right)^3}", ROOT_LATEX),
        ),
        "two_unknowns": (
            "a, r",
            circle_and_line,
            f"x\n{CIRCLE}",
            below(r"x^\ast", CIRCLE_LATEX),
        ),
        "two_unknowns_by_parameter": (
            "a, r",
            lambda a, r: sd.diff(circle_and_line(a, r)[0], a),
            f"solve([[2*x[0], 2*x[1]], [1, -r]], [1, 0])[0]\n{CIRCLE}",
            below(
                r"\left(\begin{bmatrix} 2 x^\ast_0 & 2 x^\ast_1 \\ 1 & -r \end{bmatrix}^{-1}"
                r" \begin{bmatrix} 1 \\ 0 \end{bmatrix}\right)_0",
                CIRCLE_LATEX,
            ),
        ),
        "minimizer": ("a, r", quartic, f"x\n{QUARTIC}", below(r"x^\ast", QUARTIC_LATEX)),
        "minimizer_by_parameter": (
            "a, r",
            lambda a, r: sd.diff(quartic(a, r), a),
            f"1/(6*r*x**2 + 1)\n{QUARTIC}",
            below(r"\frac{1}{6 r \left(x^\ast\right)^2 + 1}", QUARTIC_LATEX),
        ),
        "fixed_point": ("a", cosine, f"x\n{COSINE}", below(r"x^\ast", COSINE_LATEX)),
        "fixed_point_by_parameter": (
            "a",
            lambda a: sd.diff(cosine(a), a),
            f"-x*sin(a*x)/(a*sin(a*x) + 1)\n{COSINE}",
            below(
                r"-\frac{x^\ast \sin\left(a x^\ast\right)}{a \sin\left(a x^\ast\right) + 1}",
                COSINE_LATEX,
            ),
        ),
        "linear_system": (
            "A 3 3, v 3, a",
            shifted_system,
            "x\nwhere A @ x + a*x = v",
            below(r"x^\ast", r"A x^\ast + a x^\ast = v"),
        ),
        "linear_system_by_right_side": (
            "A 3 3, v 3, a",
            lambda A, v, a: sd.grad(sd.sum(shifted_system(A, v, a)), v),
            "x\nwhere A.T @ x + a*x = ones(3)",
            below(r"x^\ast", r"A^\top x^\ast + a x^\ast = \mathbf{1}"),
        ),
        "linear_system_by_parameter": (
            "A 3 3, v 3, a",
            lambda A, v, a: sd.diff(sd.sum(shifted_system(A, v, a)), a),
            "sum(x)\nwhere A @ x + a*x = -y\nand A @ y + a*y = v",
            below(
                r"\sum_i x^\ast_i",
                r"A x^\ast + a x^\ast = -y^\ast",
                r"A y^\ast + a y^\ast = v",
            ),
        ),
        "savings": ("c, p, r", savings, f"a[12]\nwhere {SAVINGS}", below("a_{12}", SAVINGS_LATEX)),
        "savings_by_rate": (
            "c, p, r",
            lambda c, p, r: sd.diff(savings(c, p, r), r),
            "a[11]\nwhere a[0] = b[0], a[k + 1] = a[k]*(r + 1) + b[k + 1] for k = 0, ..., 10\n"
            "and b[0] = c, b[k + 1] = b[k]*(r + 1) + p for k = 0, ..., 11",
            below(
                "a_{11}",
                r"a_0 = b_0, a_{k+1} = a_k \left(r + 1\right) + b_{k+1}, k = 0, \ldots, 10",
                r"b_0 = c, b_{k+1} = b_k \left(r + 1\right) + p, k = 0, \ldots, 11",
            ),
        ),
        "savings_by_start": (
            "c, p, r",
            lambda c, p, r: sd.diff(savings(c, p, r), c),
            "a[12]\nwhere a[0] = 1, a[k + 1] = a[k]*(r + 1) for k = 0, ..., 11",
            below("a_{12}", r"a_0 = 1, a_{k+1} = a_k \left(r + 1\right), k = 0, \ldots, 11"),
        ),
        "logistic_map": (
            "c, r",
            logistic_map,
            f"a[5]\nwhere {LOGISTIC}",
            below("a_5", LOGISTIC_LATEX),
        ),
        "logistic_map_by_rate": (
            "c, r",
            lambda c, r: sd.diff(logistic_map(c, r), r),
            "a[4]\nwhere a[0] = b[0]*(1 - b[0]), "
            "a[k + 1] = b[k + 1]*(1 - b[k + 1]) + r*a[k]*(1 - 2*b[k + 1]) for k = 0, ..., 3\n"
            "and b[0] = c, b[k + 1] = r*b[k]*(1 - b[k]) for k = 0, ..., 4",
            below(
                "a_4",
                r"a_0 = b_0 \left(1 - b_0\right), a_{k+1} = b_{k+1} \left(1 - b_{k+1}\right)"
                r" + r a_k \left(1 - 2 b_{k+1}\right), k = 0, \ldots, 3",
                r"b_0 = c, b_{k+1} = r b_k \left(1 - b_k\right), k = 0, \ldots, 4",
            ),
        ),
        "moving_average": (
            "a, x 5",
            moving_average,
            f"b[5]\nwhere {AVERAGE}",
            below("b_5", AVERAGE_LATEX),
        ),
        "moving_average_by_weight": (
            "a, x 5",
            lambda a, x: sd.diff(moving_average(a, x), a),
            "b[4]\nwhere b[0] = x[0] - c[0], "
            "b[k + 1] = b[k]*(1 - a) - c[k + 1] + x[k + 1] for k = 0, ..., 3\n"
            "and c[0] = 0, c[k + 1] = a*x[k] + c[k]*(1 - a) for k = 0, ..., 4",
            below(
                "b_4",
                r"b_0 = x_0 - c_0, b_{k+1} = b_k \left(1 - a\right) - c_{k+1} + x_{k+1},"
                r" k = 0, \ldots, 3",
                r"c_0 = 0, c_{k+1} = a x_k + c_k \left(1 - a\right), k = 0, \ldots, 4",
            ),
        ),
        "moving_average_by_data": (
            "a, x 5",
            lambda a, x: sd.grad(moving_average(a, x), x),
            "a*b[1:6]\nwhere b[5] = 1, b[k] = b[k + 1]*(1 - a) for k = 4, ..., 0",
            below(
                "a b_{1:6}",
                r"b_5 = 1, b_k = b_{k+1} \left(1 - a\right), k = 4, \ldots, 0",
            ),
        ),
        "series": ("a", series, f"b[5]\nwhere {SERIES}", below("b_5", SERIES_LATEX)),
        "series_by_parameter": (
            "a",
            lambda a: sd.diff(series(a), a),
            "b[4]\nwhere b[0] = c[0], b[k + 1] = a*b[k] + c[k + 1] for k = 0, ..., 3\n"
            "and c[0] = 1, c[k + 1] = a*c[k] + k for k = 0, ..., 4",
            below(
                "b_4",
                r"b_0 = c_0, b_{k+1} = a b_k + c_{k+1}, k = 0, \ldots, 3",
                r"c_0 = 1, c_{k+1} = a c_k + k, k = 0, \ldots, 4",
            ),
        ),
        "babylon": (
            "a",
            babylon,
            f"b[n]\nwhere {BABYLON}\nand {STOPS}",
            below("b_n", BABYLON_LATEX, STOPS_LATEX),
        ),
        "babylon_by_parameter": (
            "a",
            lambda a: sd.diff(babylon(a), a),
            "b[n]\nwhere b[0] = 1, "
            "b[k + 1] = b[k]/2 - a*b[k]/(2*c[k]**2) + 1/(2*c[k]) for k = 0, ..., n - 1\n"
            "and c[0] = a, c[k + 1] = a/(2*c[k]) + c[k]/2 for k = 0, ..., n - 1\n"
            "and n is the first k where abs(c[k]**2 - a) > 1e-12 fails",
            below(
                "b_n",
                r"b_0 = 1, b_{k+1} = \frac{b_k}{2} - \frac{a b_k}{2 c_k^2} + \frac{1}{2 c_k},"
                r" k = 0, \ldots, n - 1",
                r"c_0 = a, c_{k+1} = \frac{a}{2 c_k} + \frac{c_k}{2}, k = 0, \ldots, n - 1",
                STOPS_LATEX.replace("b_k", "c_k"),
            ),
        ),
        "decay": (
            "alpha, y0",
            decay,
            f"[u(0), u(1), u(2)]\nwhere {DECAY}",
            below(
                r"\begin{bmatrix} u\left(0\right) \\ u\left(1\right) \\ u\left(2\right)"
                r" \end{bmatrix}",
                DECAY_LATEX,
            ),
        ),
        "decay_at_the_end": (
            "alpha, y0",
            lambda alpha, y0: decay(alpha, y0)[-1],
            f"u(2)\nwhere {DECAY}",
            below(r"u\left(2\right)", DECAY_LATEX),
        ),
        "decay_by_parameter": (
            "alpha, y0",
            lambda alpha, y0: sd.diff(decay(alpha, y0)[-1], alpha),
            f"s(2)\nwhere s = du/dalpha, s' = -alpha*s - u, s(0) = 0\nand {DECAY}",
            below(
                r"s\left(2\right)",
                r"s = \frac{\partial u}{\partial \alpha}, s' = -\alpha s - u, s\left(0\right) = 0",
                DECAY_LATEX,
            ),
        ),
        "decay_by_parameter_twice": (
            "alpha, y0",
            lambda alpha, y0: sd.diff(decay(alpha, y0)[-1], alpha, 2),
            "v(2)\nwhere v = d2u/dalpha2, v' = -alpha*v - 2*s, v(0) = 0\n"
            f"and s = du/dalpha, s' = -alpha*s - u, s(0) = 0\nand {DECAY}",
            below(
                r"v\left(2\right)",
                r"v = \frac{\partial^2 u}{\partial \alpha^2}, v' = -\alpha v - 2 s,"
                r" v\left(0\right) = 0",
                r"s = \frac{\partial u}{\partial \alpha}, s' = -\alpha s - u, s\left(0\right) = 0",
                DECAY_LATEX,
            ),
        ),
        "decay_by_start": (
            "alpha, y0",
            lambda alpha, y0: sd.diff(decay(alpha, y0)[-1], y0),
            f"s(2)\nwhere s = du/dy0, s' = -alpha*s, s(0) = 1\nand {DECAY}",
            below(
                r"s\left(2\right)",
                r"s = \frac{\partial u}{\partial y_0}, s' = -\alpha s, s\left(0\right) = 1",
                DECAY_LATEX,
            ),
        ),
        "growth": (
            "r, c",
            growth,
            f"u(3)\nwhere {GROWTH}",
            below(r"u\left(3\right)", GROWTH_LATEX),
        ),
        "growth_by_rate": (
            "r, c",
            lambda r, c: sd.diff(growth(r, c), r),
            f"s(3)\nwhere s = du/dr, s' = r*s*(1 - 2*u) + u*(1 - u), s(0) = 0\nand {GROWTH}",
            below(
                r"s\left(3\right)",
                r"s = \frac{\partial u}{\partial r},"
                r" s' = r s \left(1 - 2 u\right) + u \left(1 - u\right), s\left(0\right) = 0",
                GROWTH_LATEX,
            ),
        ),
        "pendulum": (
            "g, c",
            pendulum,
            f"u[0](1)\nwhere {PENDULUM}",
            below(r"u_0\left(1\right)", PENDULUM_LATEX),
        ),
        "pendulum_by_gravity": (
            "g, c",
            lambda g, c: sd.diff(pendulum(g, c), g),
            "s[0](1)\nwhere s = du/dg, s' = [s[1], -g*s[0]*cos(u[0]) - sin(u[0])], s(0) = [0, 0]\n"
            f"and {PENDULUM}",
            below(
                r"s_0\left(1\right)",
                r"s = \frac{\partial u}{\partial g}, s' = \begin{bmatrix} s_1 \\"
                r" -g s_0 \cos\left(u_0\right) - \sin\left(u_0\right) \end{bmatrix},"
                r" s\left(0\right) = \begin{bmatrix} 0 \\ 0 \end{bmatrix}",
                PENDULUM_LATEX,
            ),
        ),
        "pendulum_by_amplitude": (
            "g, c",
            lambda g, c: sd.diff(pendulum(g, c), c),
            "s[0](1)\nwhere s = du/dc, s' = [s[1], -g*s[0]*cos(u[0])], s(0) = [1, 0]\n"
            f"and {PENDULUM}",
            below(
                r"s_0\left(1\right)",
                r"s = \frac{\partial u}{\partial c}, s' = \begin{bmatrix} s_1 \\"
                r" -g s_0 \cos\left(u_0\right) \end{bmatrix},"
                r" s\left(0\right) = \begin{bmatrix} 1 \\ 0 \end{bmatrix}",
                PENDULUM_LATEX,
            ),
        ),
        "oscillator_by_start": (
            "g, y0 2",
            lambda g, y0: sd.jacobian(oscillator(g, y0), y0),
            "[[s[0,0](1), s[0,1](1)], [s[1,0](1), s[1,1](1)]]\n"
            "where s = du/dy0, s' = [[s[1,0], s[1,1]], [-g*s[0,0], -g*s[0,1]]], s(0) = eye(2)\n"
            f"and {OSCILLATOR}",
            below(
                r"\begin{bmatrix} s_{0,0}\left(1\right) & s_{0,1}\left(1\right) \\"
                r" s_{1,0}\left(1\right) & s_{1,1}\left(1\right) \end{bmatrix}",
                r"s = \frac{\partial u}{\partial y_0}, s' = \begin{bmatrix} s_{1,0} & s_{1,1} \\"
                r" -g s_{0,0} & -g s_{0,1} \end{bmatrix}, s\left(0\right) = I",
                OSCILLATOR_LATEX,
            ),
        ),
        "quotient_by_numerator": (
            "g, a",
            lambda g, a: sd.diff(small_pendulum(g, a), g),
            f"s[0](3)\nwhere {BY_GRAVITY}\nand {SMALL_PENDULUM}",
            below(r"s_0\left(3\right)", BY_GRAVITY_LATEX, SMALL_PENDULUM_LATEX),
        ),
        "quotient_by_numerator_twice": (
            "g, a",
            lambda g, a: sd.diff(small_pendulum(g, a), g, 2),
            "v[0](3)\nwhere v = d2u/dg2, v' = [v[1], -((g*v[0] + 2*s[0])/a)], v(0) = [0, 0]\n"
            f"and {BY_GRAVITY}\nand {SMALL_PENDULUM}",
            below(
                r"v_0\left(3\right)",
                r"v = \frac{\partial^2 u}{\partial g^2},"
                r" v' = \begin{bmatrix} v_1 \\ -\frac{g v_0 + 2 s_0}{a} \end{bmatrix},"
                r" v\left(0\right) = \begin{bmatrix} 0 \\ 0 \end{bmatrix}",
                BY_GRAVITY_LATEX,
                SMALL_PENDULUM_LATEX,
            ),
        ),
        "elements_of_a_state": (
            "x 2, v 5",
            turning,
            "a[5, 1]\nwhere a[0] = x, a[k + 1] = [a[k,1], -a[k,0]*v[k]] for k = 0, ..., 4",
            below(
                "a_{5,1}",
                r"a_0 = x, a_{k+1} = \begin{bmatrix} a_{k,1} \\ -a_{k,0} v_k \end{bmatrix},"
                r" k = 0, \ldots, 4",
            ),
        ),
        "elements_of_a_derivative": (
            "x 2, v 5",
            lambda x, v: sd.grad(turning(x, v), x),
            "a[0]\nwhere a[5] = [0, 1], a[k] = [-a[k + 1,1]*v[k], a[k + 1,0]] for k = 4, ..., 0",
            below(
                "a_{0,:}",
                r"a_5 = \begin{bmatrix} 0 \\ 1 \end{bmatrix},"
                r" a_k = \begin{bmatrix} -a_{k+1,1} v_k \\ a_{k+1,0} \end{bmatrix},"
                r" k = 4, \ldots, 0",
            ),
        ),
        "nested": (
            "a",
            nested,
            "b[4]\nwhere b[0] = 1, b[k + 1] = b[k]*c[3] for k = 0, ..., 3\n"
            "and c[0] = b[k], c[l + 1] = a + sin(c[l]) for l = 0, ..., 2",
            below(
                "b_4",
                r"b_0 = 1, b_{k+1} = b_k c_3, k = 0, \ldots, 3",
                r"c_0 = b_k, c_{l+1} = a + \sin\left(c_l\right), l = 0, \ldots, 2",
            ),
        ),
    },
)
