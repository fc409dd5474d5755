"""One hundred formulas of calculus books and of the sciences, as they are set in exercises.

The lengths of their derivatives are compared with SymPy's in ``tests.display.book_lengths``.  A
formula with one variable has a first and a second derivative, one with several a Hessian.  The list
was chosen before the printer regrouped anything: it changes only if a row is wrong.
"""

from __future__ import annotations

from typing import NamedTuple


class Formula(NamedTuple):
    """``source`` is where the formula is usual; ``text`` is for ``sd.parse``."""

    name: str
    source: str
    text: str
    variables: tuple[str, ...]


# Field, then name, text and variables of each formula, and what it is.
_FIELDS = {
    "calculus": [
        ("power_times_decay", "x**2*exp(-x)", "x", "product rule"),
        ("damped_wave", "x**2*exp(-a*x)*sin(b*x)", "x", "product of three factors"),
        ("power_times_log", "x**3*log(x)", "x", "product rule with a logarithm"),
        ("serpentine", "x/(x**2 + 1)", "x", "quotient rule"),
        ("moebius", "(a*x + b)/(c*x + d)", "x", "quotient of two lines"),
        ("witch_of_agnesi", "8*a**3/(x**2 + 4*a**2)", "x", "curve sketching"),
        ("cardinal_sine", "sin(x)/x", "x", "quotient rule with a sine"),
        ("half_angle", "sin(x)/(1 + cos(x))", "x", "quotient that simplifies"),
        ("nested_chain", "sin(cos(x**2))", "x", "chain rule, twice"),
        ("exponential_of_sine", "exp(sin(x))", "x", "chain rule"),
        ("log_of_quotient", "log((1 + x)/(1 - x))", "x", "logarithm of a quotient"),
        ("log_of_log", "log(log(x))", "x", "logarithm of a logarithm"),
        ("log_secant_tangent", "log(sec(x) + tan(x))", "x", "integral of the secant"),
        ("half_circle", "sqrt(1 - x**2)", "x", "root of a polynomial"),
        ("chord_area", "x*sqrt(a**2 - x**2)", "x", "product with a root, extreme values"),
        ("log_of_root", "log(x + sqrt(x**2 + a**2))", "x", "integral of a root's reciprocal"),
        ("nested_root", "sqrt(x + sqrt(x))", "x", "root of a root"),
        ("cusp", "x**(2/3)*(5 - x)", "x", "fractional power, curve sketching"),
        ("sine_cubed_cosine_squared", "sin(x)**3*cos(x)**2", "x", "powers of sine and cosine"),
        ("x_tangent", "x*tan(x)", "x", "product with a tangent"),
        ("secant_tangent", "sec(x)*tan(x)", "x", "product of secant and tangent"),
        ("integral_of_arcsine", "x*asin(x) + sqrt(1 - x**2)", "x", "inverse sine by parts"),
        ("integral_of_arctangent", "x*atan(x) - log(1 + x**2)/2", "x", "inverse tangent by parts"),
        ("shifted_arctangent", "atan((1 + x)/(1 - x))", "x", "inverse tangent of a quotient"),
        ("arcsecant", "acos(1/x)", "x", "inverse cosine of a reciprocal"),
        ("catenary", "a*cosh(x/a)", "x", "hanging chain"),
        ("sinh_cosine", "sinh(x)*cos(x)", "x", "hyperbolic times circular function"),
        ("x_tanh", "x*tanh(x)", "x", "product with a hyperbolic tangent"),
        ("gudermannian", "atan(sinh(x))", "x", "inverse of a hyperbolic function"),
        ("integral_of_arsinh", "x*asinh(x) - sqrt(x**2 + 1)", "x", "inverse hyperbolic sine"),
        ("square_times_artanh", "x**2*atanh(x)", "x", "inverse hyperbolic tangent"),
        ("exponential_base", "x*a**x", "x", "exponential of a general base"),
        ("power_tower", "x**x", "x", "logarithmic differentiation"),
        ("factored_polynomial", "(x - 1)**3*(x + 2)**2", "x", "polynomial in factors"),
        ("quintic", "x**5/5 - 2*x**3 + 9*x", "x", "polynomial"),
        ("partial_fractions", "1/(x - a) - 1/(x - b)", "x", "partial fractions"),
        ("essential_singularity", "x*exp(1/x)", "x", "exponential of a reciprocal"),
        ("oscillation_at_zero", "x**2*sin(1/x)", "x", "sine of a reciprocal"),
        ("log_cosine", "log(cos(x))", "x", "logarithm of a cosine"),
        ("exponential_wave", "exp(a*x)*(a*sin(b*x) - b*cos(b*x))", "x", "integration by parts"),
        ("ellipse", "b*sqrt(1 - x**2/a**2)", "x", "upper half of an ellipse"),
        ("exponential_of_product", "x**2*exp(x*y)", "x y", "mixed partial derivatives"),
        ("sine_of_product", "sin(x*y)", "x y", "mixed partial derivatives"),
        ("log_of_distance", "log(x**2 + y**2)", "x y", "harmonic function of the plane"),
        ("polar_angle", "atan(y/x)", "x y", "angle in the plane"),
        ("rational_of_two", "x*y/(x**2 + y**2)", "x y", "limit along lines"),
        ("distance", "sqrt(x**2 + y**2)", "x y", "distance from the origin"),
        ("rosenbrock", "(a - x)**2 + b*(y - x**2)**2", "x y", "test of minimisation"),
        ("four_hills", "x*y*exp(-(x**2 + y**2)/2)", "x y", "extreme values in the plane"),
        ("power_of_two_variables", "x**y", "x y", "general power"),
    ],
    "mechanics": [
        ("effective_potential", "L**2/(2*m*r**2) - G*M*m/r", "r", "Kepler problem"),
        ("damped_oscillator", "A*exp(-gamma*t)*cos(omega*t)", "t", "damped oscillation"),
        (
            "resonance_amplitude",
            "F/sqrt((omega_0**2 - omega**2)**2 + 4*beta**2*omega**2)",
            "omega",
            "driven oscillator",
        ),
        ("relativistic_energy", "m*c**2/sqrt(1 - v**2/c**2)", "v", "special relativity"),
        (
            "trajectory",
            "x*tan(theta) - g*x**2/(2*v**2*cos(theta)**2)",
            "theta",
            "height of a projectile",
        ),
        ("rocket", "u*log(m_0/(m_0 - q*t)) - g*t", "t", "speed of a rocket"),
        ("kepler_orbit", "p/(1 + epsilon*cos(theta))", "theta", "conic in polar coordinates"),
        ("black_hole_potential", "(1 - 2*M/r)*(1 + L**2/r**2)", "r", "orbits round a mass"),
        ("newtonian_potential", "1/sqrt(x**2 + y**2 + z**2)", "x y", "potential of a point"),
        (
            "spherical_pendulum",
            "m*l**2*(u**2 + v**2*sin(theta)**2)/2 + m*g*l*cos(theta)",
            "theta v",
            "Lagrangian",
        ),
    ],
    "thermodynamics": [
        ("van_der_waals", "R*T/(V - b) - a/V**2", "V", "pressure of a real gas"),
        (
            "planck",
            "2*h*c**2/(lambda_**5*(exp(h*c/(lambda_*k*T)) - 1))",
            "lambda_",
            "black body by wavelength",
        ),
        ("two_levels", "-k*T*log(1 + exp(-E/(k*T)))", "T", "free energy of two levels"),
        (
            "maxwell_speeds",
            "4*pi*v**2*(m/(2*pi*k*T))**(3/2)*exp(-m*v**2/(2*k*T))",
            "v",
            "speeds in a gas",
        ),
        ("langevin", "coth(x) - 1/x", "x", "paramagnetism"),
        ("fermi_dirac", "1/(exp((E - mu)/(k*T)) + 1)", "E T", "occupation of a level"),
        ("reduced_gas", "8*T/(3*V - 1) - 3/V**2", "T V", "law of corresponding states"),
        ("heat_kernel", "exp(-x**2/(4*D*t))/sqrt(4*pi*D*t)", "x t", "diffusion"),
    ],
    "electromagnetism": [
        ("ring_field", "Q*z/(4*pi*epsilon_0*(z**2 + R**2)**(3/2))", "z", "field of a ring"),
        ("impedance", "sqrt(R**2 + (omega*L - 1/(omega*C))**2)", "omega", "circuit in series"),
        ("matched_load", "V**2*R/(R + r)**2", "R", "power in a load"),
        ("yukawa", "-g**2*exp(-mu*r)/r", "r", "screened potential"),
        ("parallel_resistors", "R_1*R_2/(R_1 + R_2)", "R_1 R_2", "resistors in parallel"),
    ],
    "optics": [
        (
            "fermat_path",
            "n_1*sqrt(a**2 + x**2) + n_2*sqrt(b**2 + (d - x)**2)",
            "x",
            "law of refraction",
        ),
        ("fabry_perot", "1/(1 + F*sin(delta/2)**2)", "delta", "interferometer"),
        ("refraction_angle", "asin(n*sin(theta)/m)", "theta", "law of refraction"),
        ("doppler", "f*sqrt((1 + beta)/(1 - beta))", "beta", "relativistic shift of light"),
    ],
    "chemistry": [
        ("lennard_jones", "4*epsilon*((sigma/r)**12 - (sigma/r)**6)", "r", "pair potential"),
        ("morse", "D*(1 - exp(-a*(r - r_0)))**2", "r", "bond of two atoms"),
        ("arrhenius", "A*exp(-E/(R*T))", "T", "rate of a reaction"),
        ("michaelis_menten", "V*S/(K + S)", "S", "rate of an enzyme"),
        ("hill", "x**n/(K**n + x**n)", "x", "cooperative binding"),
        (
            "bateman",
            "A*k_1*(exp(-k_1*t) - exp(-k_2*t))/(k_2 - k_1)",
            "t",
            "reactions in sequence",
        ),
    ],
    "probability": [
        ("normal", "exp(-(x - mu)**2/(2*sigma**2))/(sigma*sqrt(2*pi))", "x", "normal density"),
        ("logistic", "exp(-x/s)/(s*(1 + exp(-x/s))**2)", "x", "logistic density"),
        (
            "gamma_density",
            "beta**alpha*x**(alpha - 1)*exp(-beta*x)/gamma(alpha)",
            "x",
            "gamma density",
        ),
        (
            "normal_likelihood",
            "-n*log(sigma) - (s + n*(m - mu)**2)/(2*sigma**2)",
            "mu sigma",
            "log-likelihood of a normal sample",
        ),
        (
            "gamma_likelihood",
            "n*alpha*log(beta) - n*gammaln(alpha) + (alpha - 1)*s - beta*t",
            "alpha beta",
            "log-likelihood of a gamma sample",
        ),
    ],
    "finance": [
        (
            "black_scholes_d1",
            "(log(S/K) + (r + sigma**2/2)*T)/(sigma*sqrt(T))",
            "S sigma",
            "argument in the price of an option",
        ),
        ("bond", "C*(1 - (1 + y)**(-n))/y + F/(1 + y)**n", "y", "price of a bond by yield"),
    ],
    "learning": [
        ("sigmoid", "1/(1 + exp(-x))", "x", "activation"),
        ("swish", "x/(1 + exp(-beta*x))", "x", "activation"),
        ("gelu", "x*(1 + erf(x/sqrt(2)))/2", "x", "activation"),
        ("log_sum_exp", "log(exp(x) + exp(y))", "x y", "smooth maximum"),
    ],
    "epidemiology": [
        ("logistic_growth", "K*p/(p + (K - p)*exp(-r*t))", "t", "growth to a capacity"),
        ("gompertz", "K*exp(-b*exp(-c*t))", "t", "growth that slows down"),
        ("infections", "beta*S*I/(S + I + R)", "S I", "new infections in a population"),
    ],
    "economics": [
        ("cobb_douglas", "A*K**alpha*L**beta", "K L", "production of two factors"),
        ("ces", "(a*x**rho + (1 - a)*y**rho)**(1/rho)", "x y", "constant elasticity"),
        ("stone_geary", "alpha*log(x - a) + (1 - alpha)*log(y - b)", "x y", "utility"),
    ],
}

FORMULAS = [
    Formula(name, f"{field}: {source}", text, tuple(variables.split()))
    for field, rows in _FIELDS.items()
    for name, text, variables, source in rows
]
