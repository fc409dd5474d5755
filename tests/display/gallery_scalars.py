"""Formulas of scalar symbols."""

from fractions import Fraction

import symdiff as sd
from tests.display.rows import table


def kinetic_energy():
    m1, m2, l1, l2 = sd.symbols("m_1 m_2 l_1 l_2")
    t1, t2, w1, w2 = sd.symbols("theta_1 theta_2 omega_1 omega_2")
    outer = (m1 + m2) * l1**2 * w1**2 / 2 + m2 * l2**2 * w2**2 / 2
    return outer + m2 * l1 * l2 * w1 * w2 * sd.cos(t1 - t2), w1, w2


def double_pendulum_momentum():
    energy, w1, _ = kinetic_energy()
    return sd.diff(energy, w1)


def double_pendulum_coupling():
    energy, w1, w2 = kinetic_energy()
    return sd.diff(energy, w1, w2)


def log_density():
    x, mu, sigma = sd.symbols("x mu sigma")
    return -sd.log(sigma) - sd.log(2 * sd.pi) / 2 - (x - mu) ** 2 / (2 * sigma**2), mu, sigma


def normal_by_mean():
    density, mu, _ = log_density()
    return sd.diff(density, mu)


def normal_by_deviation():
    density, _, sigma = log_density()
    return sd.diff(density, sigma)


def garch_variance():
    omega, alpha, beta, r, v = sd.symbols("omega alpha beta r v")
    before = omega + alpha * r**2 + beta * v
    return omega + alpha * r**2 + beta * before, beta


def garch_by_beta():
    variance, beta = garch_variance()
    return sd.diff(variance, beta)


def huber_loss():
    r, delta = sd.symbols("r delta")
    return sd.where(abs(r) <= delta, r**2 / 2, delta * (abs(r) - delta / 2)), r


def huber_slope():
    loss, r = huber_loss()
    return sd.diff(loss, r)


SCALARS = table(
    "scalars",
    {
        "typed": (
            "x, y",
            lambda x, y: x * sd.sin(y) ** 2 + Fraction(1, 3),
            "x*sin(y)**2 + 1/3",
            r"x \sin^2\left(y\right) + \frac{1}{3}",
        ),
        # Chains
        "exp_sin_twice": (
            "x",
            lambda x: sd.diff(sd.exp(sd.sin(x)), x, 2),
            "cos(x)**2*exp(sin(x)) - sin(x)*exp(sin(x))",
            r"\cos^2\left(x\right) e^{\sin\left(x\right)}"
            r" - \sin\left(x\right) e^{\sin\left(x\right)}",
        ),
        "exp_sin_four_times": (
            "x",
            lambda x: sd.diff(sd.exp(sd.sin(x)), x, 4),
            "t1 = exp(sin(x))\n"
            "t1*sin(x) - 3*t1*cos(x)**2 - 3*sin(x)*(t1*cos(x)**2 - t1*sin(x))"
            " + cos(x)*(cos(x)*(t1*cos(x)**2 - t1*sin(x)) - t1*cos(x) - 2*t1*cos(x)*sin(x))",
            None,
        ),
        "bell_four_times": (
            "x",
            lambda x: sd.diff(sd.exp(-(x**2) / 2), x, 4),
            "3*exp(-x**2/2) - 3*x**2*exp(-x**2/2)"
            " + x*(-2*x*exp(-x**2/2) - x*(exp(-x**2/2) - x**2*exp(-x**2/2)))",
            None,
        ),
        "log_four_times": ("x", lambda x: sd.diff(sd.log(x), x, 4), "-6/x**4", r"-\frac{6}{x^4}"),
        "sin_of_square_twice": (
            "x",
            lambda x: sd.diff(sd.sin(x**2), x, 2),
            "2*(cos(x**2) - 2*x**2*sin(x**2))",
            r"2 \left(\cos\left(x^2\right) - 2 x^2 \sin\left(x^2\right)\right)",
        ),
        "composite": (
            "x",
            lambda x: sd.diff(sd.log(1 + sd.exp(sd.sin(x))), x),
            "cos(x)*exp(sin(x))*sigmoid(-sin(x))",
            r"\cos\left(x\right) e^{\sin\left(x\right)}"
            r" \operatorname{sigmoid}\left(-\sin\left(x\right)\right)",
        ),
        "root": (
            "x",
            lambda x: sd.diff(sd.sqrt(1 + x**2), x),
            "x/sqrt(x**2 + 1)",
            r"\frac{x}{\sqrt{x^2 + 1}}",
        ),
        # Physics
        "lennard_jones_force": (
            "epsilon, sigma, r",
            lambda epsilon, sigma, r: sd.diff(
                4 * epsilon * ((sigma / r) ** 12 - (sigma / r) ** 6), r
            ),
            "4*epsilon*(6*sigma**6/r**7 - 12*sigma**12/r**13)",
            r"4 \epsilon \left(\frac{6 \sigma^6}{r^7} - \frac{12 \sigma^{12}}{r^{13}}\right)",
        ),
        "lennard_jones_stiffness": (
            "epsilon, sigma, r",
            lambda epsilon, sigma, r: sd.diff(
                4 * epsilon * ((sigma / r) ** 12 - (sigma / r) ** 6), r, 2
            ),
            "4*epsilon*(156*sigma**12/r**14 - 42*sigma**6/r**8)",
            r"4 \epsilon \left(\frac{156 \sigma^{12}}{r^{14}} - \frac{42 \sigma^6}{r^8}\right)",
        ),
        "double_pendulum": (
            "",
            lambda: kinetic_energy()[0],
            "m_2*l_1*l_2*omega_1*omega_2*cos(theta_1 - theta_2)"
            " + l_1**2*(m_1 + m_2)*omega_1**2/2 + m_2*l_2**2*omega_2**2/2",
            r"m_2 l_1 l_2 \omega_1 \omega_2 \cos\left(\theta_1 - \theta_2\right)"
            r" + \frac{l_1^2 \left(m_1 + m_2\right) \omega_1^2}{2}"
            r" + \frac{m_2 l_2^2 \omega_2^2}{2}",
        ),
        "double_pendulum_momentum": (
            "",
            double_pendulum_momentum,
            "m_2*l_1*l_2*omega_2*cos(theta_1 - theta_2) + l_1**2*(m_1 + m_2)*omega_1",
            r"m_2 l_1 l_2 \omega_2 \cos\left(\theta_1 - \theta_2\right)"
            r" + l_1^2 \left(m_1 + m_2\right) \omega_1",
        ),
        "double_pendulum_coupling": (
            "",
            double_pendulum_coupling,
            "m_2*l_1*l_2*cos(theta_1 - theta_2)",
            r"m_2 l_1 l_2 \cos\left(\theta_1 - \theta_2\right)",
        ),
        "bessel_slope": (
            "x",
            lambda x: sd.diff(sd.jv(2, x), x),
            r"jv(1, x)/2 - jv(3, x)/2",
            r"\frac{J_1\left(x\right)}{2} - \frac{J_3\left(x\right)}{2}",
        ),
        "bessels": (
            "x",
            lambda x: sd.jv(1, x) + sd.yv(0, x) + sd.iv(0, x) + sd.kv(1, x),
            "jv(1, x) + yv(0, x) + iv(0, x) + kv(1, x)",
            r"J_1\left(x\right) + Y_0\left(x\right) + I_0\left(x\right) + K_1\left(x\right)",
        ),
        "planck": ("x", lambda x: 1 / sd.expm1(x), "1/expm1(x)", r"\frac{1}{e^x - 1}"),
        # Statistics
        "normal": (
            "",
            lambda: log_density()[0],
            "-log(sigma) - (x - mu)**2/(2*sigma**2) - log(2*pi)/2",
            r"-\log\left(\sigma\right) - \frac{\left(x - \mu\right)^2}{2 \sigma^2}"
            r" - \frac{\log\left(2 \pi\right)}{2}",
        ),
        "normal_by_mean": ("", normal_by_mean, "(x - mu)/sigma**2", r"\frac{x - \mu}{\sigma^2}"),
        "normal_by_deviation": (
            "",
            normal_by_deviation,
            "(x - mu)**2/sigma**3 - 1/sigma",
            r"\frac{\left(x - \mu\right)^2}{\sigma^3} - \frac{1}{\sigma}",
        ),
        "garch": (
            "",
            lambda: garch_variance()[0],
            "omega + alpha*r**2 + beta*(omega + alpha*r**2 + beta*v)",
            r"\omega + \alpha r^2 + \beta \left(\omega + \alpha r^2 + \beta v\right)",
        ),
        "garch_by_beta": (
            "",
            garch_by_beta,
            "omega + alpha*r**2 + 2*beta*v",
            r"\omega + \alpha r^2 + 2 \beta v",
        ),
        "sigmoid_slope": (
            "x",
            lambda x: sd.diff(sd.sigmoid(x), x),
            "sech(x/2)**2/4",
            r"\frac{\operatorname{sech}^2\left(\frac{x}{2}\right)}{4}",
        ),
        "tanh_slope": (
            "x",
            lambda x: sd.diff(sd.tanh(x), x),
            "sech(x)**2",
            r"\operatorname{sech}^2\left(x\right)",
        ),
        "gamma_slope": (
            "x",
            lambda x: sd.diff(sd.gamma(x), x),
            "gamma(x)*digamma(x)",
            r"\Gamma\left(x\right) \psi\left(x\right)",
        ),
        "erf_slope": (
            "x",
            lambda x: sd.diff(sd.erf(x), x),
            "2*exp(-x**2)/sqrt(pi)",
            r"\frac{2 e^{-x^2}}{\sqrt{\pi}}",
        ),
        # Optimisation and choices
        "rosenbrock": (
            "x, y",
            lambda x, y: (1 - x) ** 2 + 100 * (y - x**2) ** 2,
            "(1 - x)**2 + 100*(y - x**2)**2",
            r"\left(1 - x\right)^2 + 100 \left(y - x^2\right)^2",
        ),
        "rosenbrock_by_x": (
            "x, y",
            lambda x, y: sd.diff((1 - x) ** 2 + 100 * (y - x**2) ** 2, x),
            "-2*(1 - x) - 400*x*(y - x**2)",
            r"-2 \left(1 - x\right) - 400 x \left(y - x^2\right)",
        ),
        "huber": (
            "",
            lambda: huber_loss()[0],
            "where(abs(r) <= delta, r**2/2, delta*(abs(r) - delta/2))",
            r"\begin{cases} \frac{r^2}{2} & \text{for}\: \left|r\right| \leq \delta \\"
            r" \delta \left(\left|r\right| - \frac{\delta}{2}\right)"
            r" & \text{otherwise} \end{cases}",
        ),
        "huber_slope": (
            "",
            huber_slope,
            "where(abs(r) <= delta, r, delta*sign(r))",
            r"\begin{cases} r & \text{for}\: \left|r\right| \leq \delta \\"
            r" \delta \operatorname{sign}\left(r\right) & \text{otherwise} \end{cases}",
        ),
        "maximum_slope": (
            "x, y",
            lambda x, y: sd.diff(sd.maximum(x, y), x),
            "where(x < y, 0, where(x == y, 1/2, 1))",
            r"\begin{cases} 0 & \text{for}\: x < y \\ \frac{1}{2} & \text{for}\: x = y \\"
            r" 1 & \text{otherwise} \end{cases}",
        ),
        "abs_slope": (
            "x",
            lambda x: sd.diff(abs(x), x),
            "sign(x)",
            r"\operatorname{sign}\left(x\right)",
        ),
        "where_slope": (
            "x",
            lambda x: sd.diff(sd.where(x > 0, sd.log(x), 0), x),
            "where(x > 0, 1/x, 0)",
            r"\begin{cases} \frac{1}{x} & \text{for}\: x > 0 \\ 0 & \text{otherwise} \end{cases}",
        ),
        "clip_slope": (
            "x",
            lambda x: sd.diff(sd.clip(x, -1, 1) ** 2, x),
            "where(x >= -1 and x <= 1, 2*clip(x, -1, 1), 0)",
            r"\begin{cases} 2 \operatorname{clip}\left(x, -1, 1\right) &"
            r" \text{for}\: x \geq -1 \wedge x \leq 1 \\ 0 & \text{otherwise} \end{cases}",
        ),
        # At the origin, where there is none, the derivative is 0 by convention, and that is said.
        "angle_slope": (
            "x, y",
            lambda x, y: sd.diff(sd.atan2(y, x), y),
            "where(y == 0 and x == 0, 0, x/(x**2 + y**2))",
            r"\begin{cases} 0 & \text{for}\: y = 0 \wedge x = 0 \\"
            r" \frac{x}{x^2 + y^2} & \text{otherwise} \end{cases}",
        ),
        # Whether the base is 0 is known.
        "exponential_of_base_two": (
            "x",
            lambda x: sd.diff(2**x, x),
            "log(2)*2**x",
            r"\log\left(2\right) \cdot 2^x",
        ),
    },
)
