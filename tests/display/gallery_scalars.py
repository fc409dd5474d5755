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
            "exp(sin(x))*(cos(x)**2 - sin(x))",
            r"e^{\sin{\left(x \right)}} \left(\cos^{2}{\left(x \right)} - \sin{\left(x"
            r" \right)}\right)",
        ),
        "exp_sin_four_times": (
            "x",
            lambda x: sd.diff(sd.exp(sd.sin(x)), x, 4),
            "exp(sin(x))*(sin(x)**4 + 6*sin(x)**3 + 5*sin(x)**2 - 5*sin(x) - 3)",
            None,
        ),
        "bell_four_times": (
            "x",
            lambda x: sd.diff(sd.exp(-(x**2) / 2), x, 4),
            "exp(-x**2/2)*(x**4 - 6*x**2 + 3)",
            None,
        ),
        "log_four_times": ("x", lambda x: sd.diff(sd.log(x), x, 4), "-6/x**4", r"-\frac{6}{x^4}"),
        "sin_of_square_twice": (
            "x",
            lambda x: sd.diff(sd.sin(x**2), x, 2),
            "2*cos(x**2) - 4*x**2*sin(x**2)",
            r"2 \cos{\left(x^{2} \right)} - 4 x^{2} \sin{\left(x^{2} \right)}",
        ),
        "composite": (
            "x",
            lambda x: sd.diff(sd.log(1 + sd.exp(sd.sin(x))), x),
            "exp(sin(x))*cos(x)*sigmoid(-sin(x))",
            r"e^{\sin{\left(x \right)}} \cos{\left(x \right)}"
            r" \operatorname{sigmoid}\left(-\sin{\left(x \right)}\right)",
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
            "24*epsilon*sigma**6*(r**6 - 2*sigma**6)/r**13",
            r"\frac{24 \epsilon \sigma^{6} \left(r^{6} - 2 \sigma^{6}\right)}{r^{13}}",
        ),
        "lennard_jones_stiffness": (
            "epsilon, sigma, r",
            lambda epsilon, sigma, r: sd.diff(
                4 * epsilon * ((sigma / r) ** 12 - (sigma / r) ** 6), r, 2
            ),
            "24*epsilon*sigma**6*(26*sigma**6 - 7*r**6)/r**14",
            r"\frac{24 \epsilon \sigma^{6} \left(26 \sigma^{6} - 7 r^{6}\right)}{r^{14}}",
        ),
        "double_pendulum": (
            "",
            lambda: kinetic_energy()[0],
            "l_1*l_2*m_2*omega_1*omega_2*cos(theta_1 - theta_2) +"
            " l_2**2*m_2*omega_2**2/2 + l_1**2*omega_1**2*(m_1 + m_2)/2",
            r"l_{1} l_{2} m_{2} \omega_{1} \omega_{2} \cos{\left(\theta_{1} - \theta_{2}"
            r" \right)} + \frac{l_{2}^{2} m_{2} \omega_{2}^{2}}{2} + \frac{l_{1}^{2}"
            r" \omega_{1}^{2} \left(m_{1} + m_{2}\right)}{2}",
        ),
        "double_pendulum_momentum": (
            "",
            double_pendulum_momentum,
            "l_1*(l_2*m_2*omega_2*cos(theta_1 - theta_2) + l_1*omega_1*(m_1 + m_2))",
            r"l_{1} \left(l_{2} m_{2} \omega_{2} \cos{\left(\theta_{1} - \theta_{2}"
            r" \right)} + l_{1} \omega_{1} \left(m_{1} + m_{2}\right)\right)",
        ),
        "double_pendulum_coupling": (
            "",
            double_pendulum_coupling,
            "l_1*l_2*m_2*cos(theta_1 - theta_2)",
            r"l_{1} l_{2} m_{2} \cos{\left(\theta_{1} - \theta_{2} \right)}",
        ),
        "bessel_slope": (
            "x",
            lambda x: sd.diff(sd.jv(2, x), x),
            "(jv(1, x) - jv(3, x))/2",
            r"\frac{J_{1}\left(x\right) - J_{3}\left(x\right)}{2}",
        ),
        "bessels": (
            "x",
            lambda x: sd.jv(1, x) + sd.yv(0, x) + sd.iv(0, x) + sd.kv(1, x),
            "iv(0, x) + jv(1, x) + kv(1, x) + yv(0, x)",
            r"I_{0}\left(x\right) + J_{1}\left(x\right) + K_{1}\left(x\right) +"
            r" Y_{0}\left(x\right)",
        ),
        "planck": ("x", lambda x: 1 / sd.expm1(x), "1/expm1(x)", r"\frac{1}{e^x - 1}"),
        # Statistics
        "normal": (
            "",
            lambda: log_density()[0],
            "-(x - mu)**2/(2*sigma**2) - log(2*pi)/2 - log(sigma)",
            r"-\frac{\left(x - \mu\right)^{2}}{2 \sigma^{2}} - \frac{\log{\left(2 \pi"
            r" \right)}}{2} - \log{\left(\sigma \right)}",
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
            "alpha*r**2 + beta*(alpha*r**2 + beta*v + omega) + omega",
            r"\alpha r^{2} + \beta \left(\alpha r^{2} + \beta v + \omega\right) + \omega",
        ),
        "garch_by_beta": (
            "",
            garch_by_beta,
            "alpha*r**2 + 2*beta*v + omega",
            r"\alpha r^{2} + 2 \beta v + \omega",
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
            "digamma(x)*gamma(x)",
            r"\psi\left(x\right) \Gamma\left(x\right)",
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
            "2*x + 400*x*(x**2 - y) - 2",
            r"2 x + 400 x \left(x^{2} - y\right) - 2",
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
            "2**x*log(2)",
            r"2^{x} \log{\left(2 \right)}",
        ),
    },
)
