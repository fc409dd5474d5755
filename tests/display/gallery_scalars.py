"""Formulas of scalar symbols."""

from fractions import Fraction

import symdiff as sd
from tests.display.rows import Rows

SCALARS = row = Rows("scalars")


@row("x*sin(y)**2 + 1/3", r"x \sin^2\left(y\right) + \frac{1}{3}")
def typed():
    x, y = sd.symbols("x y")
    return x * sd.sin(y) ** 2 + Fraction(1, 3)


# Chains -------------------------------------------------------------------------------------------


@row(
    "cos(x)**2*exp(sin(x)) - sin(x)*exp(sin(x))",
    r"\cos^2\left(x\right) e^{\sin\left(x\right)} - \sin\left(x\right) e^{\sin\left(x\right)}",
)
def exp_sin_twice():
    (x,) = sd.symbols("x")
    return sd.diff(sd.exp(sd.sin(x)), x, 2)


@row(
    "t1 = exp(sin(x))\n"
    "t1*sin(x) - 3*t1*cos(x)**2 - 3*sin(x)*(t1*cos(x)**2 - t1*sin(x))"
    " + cos(x)*(cos(x)*(t1*cos(x)**2 - t1*sin(x)) - t1*cos(x) - 2*t1*cos(x)*sin(x))",
    None,
)
def exp_sin_four_times():
    (x,) = sd.symbols("x")
    return sd.diff(sd.exp(sd.sin(x)), x, 4)


@row(
    "3*exp(-x**2/2) - 3*x**2*exp(-x**2/2)"
    " + x*(-2*x*exp(-x**2/2) - x*(exp(-x**2/2) - x**2*exp(-x**2/2)))",
    None,
)
def bell_four_times():
    (x,) = sd.symbols("x")
    return sd.diff(sd.exp(-(x**2) / 2), x, 4)


@row("-6/x**4", r"-\frac{6}{x^4}")
def log_four_times():
    (x,) = sd.symbols("x")
    return sd.diff(sd.log(x), x, 4)


@row(
    "2*(cos(x**2) - 2*x**2*sin(x**2))",
    r"2 \left(\cos\left(x^2\right) - 2 x^2 \sin\left(x^2\right)\right)",
)
def sin_of_square_twice():
    (x,) = sd.symbols("x")
    return sd.diff(sd.sin(x**2), x, 2)


@row(
    "cos(x)*exp(sin(x))*sigmoid(-sin(x))",
    r"\cos\left(x\right) e^{\sin\left(x\right)}"
    r" \operatorname{sigmoid}\left(-\sin\left(x\right)\right)",
)
def composite():
    (x,) = sd.symbols("x")
    return sd.diff(sd.log(1 + sd.exp(sd.sin(x))), x)


@row("x/sqrt(x**2 + 1)", r"\frac{x}{\sqrt{x^2 + 1}}")
def root():
    (x,) = sd.symbols("x")
    return sd.diff(sd.sqrt(1 + x**2), x)


# Physics ------------------------------------------------------------------------------------------


@row(
    "4*epsilon*(6*sigma**6/r**7 - 12*sigma**12/r**13)",
    r"4 \epsilon \left(\frac{6 \sigma^6}{r^7} - \frac{12 \sigma^{12}}{r^{13}}\right)",
)
def lennard_jones_force():
    epsilon, sigma, r = sd.symbols("epsilon sigma r")
    return sd.diff(4 * epsilon * ((sigma / r) ** 12 - (sigma / r) ** 6), r)


@row(
    "4*epsilon*(156*sigma**12/r**14 - 42*sigma**6/r**8)",
    r"4 \epsilon \left(\frac{156 \sigma^{12}}{r^{14}} - \frac{42 \sigma^6}{r^8}\right)",
)
def lennard_jones_stiffness():
    epsilon, sigma, r = sd.symbols("epsilon sigma r")
    return sd.diff(4 * epsilon * ((sigma / r) ** 12 - (sigma / r) ** 6), r, 2)


def kinetic_energy():
    m1, m2, l1, l2 = sd.symbols("m_1 m_2 l_1 l_2")
    t1, t2, w1, w2 = sd.symbols("theta_1 theta_2 omega_1 omega_2")
    outer = (m1 + m2) * l1**2 * w1**2 / 2 + m2 * l2**2 * w2**2 / 2
    return outer + m2 * l1 * l2 * w1 * w2 * sd.cos(t1 - t2), w1, w2


@row(
    "m_2*l_1*l_2*omega_1*omega_2*cos(theta_1 - theta_2)"
    " + l_1**2*(m_1 + m_2)*omega_1**2/2 + m_2*l_2**2*omega_2**2/2",
    r"m_2 l_1 l_2 \omega_1 \omega_2 \cos\left(\theta_1 - \theta_2\right)"
    r" + \frac{l_1^2 \left(m_1 + m_2\right) \omega_1^2}{2} + \frac{m_2 l_2^2 \omega_2^2}{2}",
)
def double_pendulum():
    return kinetic_energy()[0]


@row(
    "m_2*l_1*l_2*omega_2*cos(theta_1 - theta_2) + l_1**2*(m_1 + m_2)*omega_1",
    r"m_2 l_1 l_2 \omega_2 \cos\left(\theta_1 - \theta_2\right)"
    r" + l_1^2 \left(m_1 + m_2\right) \omega_1",
)
def double_pendulum_momentum():
    energy, w1, _ = kinetic_energy()
    return sd.diff(energy, w1)


@row("m_2*l_1*l_2*cos(theta_1 - theta_2)", r"m_2 l_1 l_2 \cos\left(\theta_1 - \theta_2\right)")
def double_pendulum_coupling():
    energy, w1, w2 = kinetic_energy()
    return sd.diff(energy, w1, w2)


@row(r"jv(1, x)/2 - jv(3, x)/2", r"\frac{J_1\left(x\right)}{2} - \frac{J_3\left(x\right)}{2}")
def bessel_slope():
    (x,) = sd.symbols("x")
    return sd.diff(sd.jv(2, x), x)


@row(
    "jv(1, x) + yv(0, x) + iv(0, x) + kv(1, x)",
    r"J_1\left(x\right) + Y_0\left(x\right) + I_0\left(x\right) + K_1\left(x\right)",
)
def bessels():
    (x,) = sd.symbols("x")
    return sd.jv(1, x) + sd.yv(0, x) + sd.iv(0, x) + sd.kv(1, x)


@row("1/expm1(x)", r"\frac{1}{e^x - 1}")
def planck():
    (x,) = sd.symbols("x")
    return 1 / sd.expm1(x)


# Statistics ---------------------------------------------------------------------------------------


def log_density():
    x, mu, sigma = sd.symbols("x mu sigma")
    return -sd.log(sigma) - sd.log(2 * sd.pi) / 2 - (x - mu) ** 2 / (2 * sigma**2), mu, sigma


@row(
    "-log(sigma) - (x - mu)**2/(2*sigma**2) - log(2*pi)/2",
    r"-\log\left(\sigma\right) - \frac{\left(x - \mu\right)^2}{2 \sigma^2}"
    r" - \frac{\log\left(2 \pi\right)}{2}",
)
def normal():
    return log_density()[0]


@row("(x - mu)/sigma**2", r"\frac{x - \mu}{\sigma^2}")
def normal_by_mean():
    density, mu, _ = log_density()
    return sd.diff(density, mu)


@row(
    "(x - mu)**2/sigma**3 - 1/sigma", r"\frac{\left(x - \mu\right)^2}{\sigma^3} - \frac{1}{\sigma}"
)
def normal_by_deviation():
    density, _, sigma = log_density()
    return sd.diff(density, sigma)


def garch_variance():
    omega, alpha, beta, r, v = sd.symbols("omega alpha beta r v")
    before = omega + alpha * r**2 + beta * v
    return omega + alpha * r**2 + beta * before, beta


@row(
    "omega + alpha*r**2 + beta*(omega + alpha*r**2 + beta*v)",
    r"\omega + \alpha r^2 + \beta \left(\omega + \alpha r^2 + \beta v\right)",
)
def garch():
    return garch_variance()[0]


@row("omega + alpha*r**2 + 2*beta*v", r"\omega + \alpha r^2 + 2 \beta v")
def garch_by_beta():
    variance, beta = garch_variance()
    return sd.diff(variance, beta)


@row("sech(x/2)**2/4", r"\frac{\operatorname{sech}^2\left(\frac{x}{2}\right)}{4}")
def sigmoid_slope():
    (x,) = sd.symbols("x")
    return sd.diff(sd.sigmoid(x), x)


@row("sech(x)**2", r"\operatorname{sech}^2\left(x\right)")
def tanh_slope():
    (x,) = sd.symbols("x")
    return sd.diff(sd.tanh(x), x)


@row("gamma(x)*digamma(x)", r"\Gamma\left(x\right) \psi\left(x\right)")
def gamma_slope():
    (x,) = sd.symbols("x")
    return sd.diff(sd.gamma(x), x)


@row("2*exp(-x**2)/sqrt(pi)", r"\frac{2 e^{-x^2}}{\sqrt{\pi}}")
def erf_slope():
    (x,) = sd.symbols("x")
    return sd.diff(sd.erf(x), x)


# Optimisation and choices -------------------------------------------------------------------------


@row(
    "(1 - x)**2 + 100*(y - x**2)**2",
    r"\left(1 - x\right)^2 + 100 \left(y - x^2\right)^2",
)
def rosenbrock():
    x, y = sd.symbols("x y")
    return (1 - x) ** 2 + 100 * (y - x**2) ** 2


@row(
    "-2*(1 - x) - 400*x*(y - x**2)",
    r"-2 \left(1 - x\right) - 400 x \left(y - x^2\right)",
)
def rosenbrock_by_x():
    x, y = sd.symbols("x y")
    return sd.diff((1 - x) ** 2 + 100 * (y - x**2) ** 2, x)


def huber_loss():
    r, delta = sd.symbols("r delta")
    return sd.where(abs(r) <= delta, r**2 / 2, delta * (abs(r) - delta / 2)), r


@row(
    "where(abs(r) <= delta, r**2/2, delta*(abs(r) - delta/2))",
    r"\begin{cases} \frac{r^2}{2} & \text{for}\: \left|r\right| \leq \delta \\"
    r" \delta \left(\left|r\right| - \frac{\delta}{2}\right) & \text{otherwise} \end{cases}",
)
def huber():
    return huber_loss()[0]


@row(
    "where(abs(r) <= delta, r, delta*sign(r))",
    r"\begin{cases} r & \text{for}\: \left|r\right| \leq \delta \\"
    r" \delta \operatorname{sign}\left(r\right) & \text{otherwise} \end{cases}",
)
def huber_slope():
    loss, r = huber_loss()
    return sd.diff(loss, r)


@row(
    "where(x < y, 0, where(x == y, 1/2, 1))",
    r"\begin{cases} 0 & \text{for}\: x < y \\ \frac{1}{2} & \text{for}\: x = y \\"
    r" 1 & \text{otherwise} \end{cases}",
)
def maximum_slope():
    x, y = sd.symbols("x y")
    return sd.diff(sd.maximum(x, y), x)


@row("sign(x)", r"\operatorname{sign}\left(x\right)")
def abs_slope():
    (x,) = sd.symbols("x")
    return sd.diff(abs(x), x)


@row(
    "where(x > 0, 1/x, 0)",
    r"\begin{cases} \frac{1}{x} & \text{for}\: x > 0 \\ 0 & \text{otherwise} \end{cases}",
)
def where_slope():
    (x,) = sd.symbols("x")
    return sd.diff(sd.where(x > 0, sd.log(x), 0), x)


@row(
    "where(x >= -1 and x <= 1, 2*clip(x, -1, 1), 0)",
    r"\begin{cases} 2 \operatorname{clip}\left(x, -1, 1\right) &"
    r" \text{for}\: x \geq -1 \wedge x \leq 1 \\ 0 & \text{otherwise} \end{cases}",
)
def clip_slope():
    (x,) = sd.symbols("x")
    return sd.diff(sd.clip(x, -1, 1) ** 2, x)


# At the origin, where there is none, the derivative is 0 by convention, and that is said.
@row(
    "where(y == 0 and x == 0, 0, x/(x**2 + y**2))",
    r"\begin{cases} 0 & \text{for}\: y = 0 \wedge x = 0 \\"
    r" \frac{x}{x^2 + y^2} & \text{otherwise} \end{cases}",
)
def angle_slope():
    x, y = sd.symbols("x y")
    return sd.diff(sd.atan2(y, x), y)


# Whether the base is 0 is known.
@row("log(2)*2**x", r"\log\left(2\right) \cdot 2^x")
def exponential_of_base_two():
    x = sd.symbol("x")
    return sd.diff(2**x, x)
