"""The 100 equations of the Feynman database as plain Python: an oracle for the parser.

Each was typed from the formula as physics states it and uses nothing but ``math``; none is
made from the text that the parser reads. Parameters have the names and the order of the table's
``variables`` column.
"""

import math
from collections.abc import Callable
from math import pi

Formula = Callable[..., float]


def lorentz(v, c):
    """Return the Lorentz factor of the speed v."""
    return 1 / math.sqrt(1 - (v / c) ** 2)


def reduced(h):
    """Return the reduced Planck constant, ħ = h / 2π."""
    return h / (2 * pi)


def power_scattered_by_an_oscillator(epsilon, c, Ef, r, omega, omega_0):
    flux = epsilon * c * Ef**2 / 2
    cross_section = 8 * pi * r**2 / 3
    return flux * cross_section * omega**4 / (omega**2 - omega_0**2) ** 2


def spectrum_of_a_black_body(omega, T, h, kb, c):
    quantum = reduced(h) * omega
    return quantum * omega**2 / (pi**2 * c**2 * (math.exp(quantum / (kb * T)) - 1))


def nonlinear_response(x1, omega, t, alpha):
    carrier = math.cos(omega * t)
    return x1 * (carrier + alpha * carrier**2)


def density_of_spins(n_0, kb, T, mom, B):
    ratio = mom * B / (kb * T)
    return n_0 / (math.exp(ratio) + math.exp(-ratio))


def mean_energy_of_a_mode(h, omega, kb, T):
    quantum = reduced(h) * omega
    return quantum / (math.exp(quantum / (kb * T)) - 1)


def transition_probability(p_d, Ef, t, h, omega, omega_0):
    phase = (omega - omega_0) * t / 2
    return p_d * Ef * t / reduced(h) * (math.sin(phase) / phase) ** 2


FORMULAS: dict[str, Formula] = {
    # Volume I
    # standard normal density
    "I.6.2a": lambda theta: math.exp(-(theta**2) / 2) / math.sqrt(2 * pi),
    # centred normal density
    "I.6.2": lambda sigma, theta: (
        math.exp(-((theta / sigma) ** 2) / 2) / (math.sqrt(2 * pi) * sigma)
    ),
    # normal density
    "I.6.2b": lambda sigma, theta, theta1: (
        math.exp(-(((theta - theta1) / sigma) ** 2) / 2) / (math.sqrt(2 * pi) * sigma)
    ),
    # distance in the plane
    "I.8.14": lambda x1, x2, y1, y2: math.sqrt((x2 - x1) ** 2 + (y2 - y1) ** 2),
    # gravitational force
    "I.9.18": lambda m1, m2, G, x1, x2, y1, y2, z1, z2: (
        G * m1 * m2 / ((x2 - x1) ** 2 + (y2 - y1) ** 2 + (z2 - z1) ** 2)
    ),
    # relativistic mass
    "I.10.7": lambda m_0, v, c: m_0 * lorentz(v, c),
    # scalar product
    "I.11.19": lambda x1, x2, x3, y1, y2, y3: x1 * y1 + x2 * y2 + x3 * y3,
    # friction
    "I.12.1": lambda mu, Nn: mu * Nn,
    # coulomb force
    "I.12.2": lambda q1, q2, epsilon, r: q1 * q2 / (4 * pi * epsilon * r**2),
    # field of a charge
    "I.12.4": lambda q1, epsilon, r: q1 / (4 * pi * epsilon * r**2),
    # force in a field
    "I.12.5": lambda q2, Ef: q2 * Ef,
    # lorentz force
    "I.12.11": lambda q, Ef, B, v, theta: q * (Ef + v * B * math.sin(theta)),
    # kinetic energy
    "I.13.4": lambda m, v, u, w: m * (v**2 + u**2 + w**2) / 2,
    # gravitational energy between radii
    "I.13.12": lambda m1, m2, r1, r2, G: G * m1 * m2 * (1 / r2 - 1 / r1),
    # potential energy at height
    "I.14.3": lambda m, g, z: m * g * z,
    # energy of a spring
    "I.14.4": lambda k_spring, x: k_spring * x**2 / 2,
    # lorentz transformed position
    "I.15.3x": lambda x, u, c, t: (x - u * t) * lorentz(u, c),
    # lorentz transformed time
    "I.15.3t": lambda x, c, u, t: (t - u * x / c**2) * lorentz(u, c),
    # relativistic momentum
    "I.15.1": lambda m_0, v, c: m_0 * v * lorentz(v, c),
    # relativistic sum of velocities
    "I.16.6": lambda c, v, u: (u + v) / (1 + u * v / c**2),
    # centre of mass
    "I.18.4": lambda m1, m2, r1, r2: (m1 * r1 + m2 * r2) / (m1 + m2),
    # torque
    "I.18.12": lambda r, F, theta: r * F * math.sin(theta),
    # angular momentum
    "I.18.14": lambda m, r, v, theta: m * r * v * math.sin(theta),
    # energy of a driven oscillator
    "I.24.6": lambda m, omega, omega_0, x: m * (omega**2 + omega_0**2) * x**2 / 4,
    # capacitor voltage
    "I.25.13": lambda q, C: q / C,
    # snell refraction angle
    "I.26.2": lambda n, theta2: math.asin(n * math.sin(theta2)),
    # focal length
    "I.27.6": lambda d1, d2, n: 1 / (1 / d1 + n / d2),
    # wave number
    "I.29.4": lambda omega, c: omega / c,
    # amplitude of two waves
    "I.29.16": lambda x1, x2, theta1, theta2: math.sqrt(
        x1**2 + x2**2 - 2 * x1 * x2 * math.cos(theta1 - theta2)
    ),
    # intensity of n sources
    "I.30.3": lambda Int_0, theta, n: Int_0 * (math.sin(n * theta / 2) / math.sin(theta / 2)) ** 2,
    # diffraction angle
    "I.30.5": lambda lambd, d, n: math.asin(lambd / (n * d)),
    # power radiated by a charge
    "I.32.5": lambda q, a, epsilon, c: q**2 * a**2 / (6 * pi * epsilon * c**3),
    "I.32.17": power_scattered_by_an_oscillator,
    # cyclotron frequency
    "I.34.8": lambda q, v, B, p: q * v * B / p,
    # doppler shift
    "I.34.1": lambda c, v, omega_0: omega_0 / (1 - v / c),
    # relativistic doppler shift
    "I.34.14": lambda c, v, omega_0: omega_0 * (1 + v / c) * lorentz(v, c),
    # photon energy
    "I.34.27": lambda omega, h: reduced(h) * omega,
    # interference
    "I.37.4": lambda I1, I2, delta: I1 + I2 + 2 * math.sqrt(I1 * I2) * math.cos(delta),
    # bohr radius
    "I.38.12": lambda m, q, h, epsilon: 4 * pi * epsilon * reduced(h) ** 2 / (m * q**2),
    # energy of a monatomic gas
    "I.39.1": lambda pr, V: 3 * pr * V / 2,
    # energy of a gas
    "I.39.11": lambda gamma, pr, V: pr * V / (gamma - 1),
    # pressure of an ideal gas
    "I.39.22": lambda n, T, V, kb: n * kb * T / V,
    # barometric formula
    "I.40.1": lambda n_0, m, x, T, g, kb: n_0 * math.exp(-m * g * x / (kb * T)),
    "I.41.16": spectrum_of_a_black_body,
    # drift velocity
    "I.43.16": lambda mu_drift, q, Volt, d: mu_drift * q * Volt / d,
    # diffusion coefficient
    "I.43.31": lambda mob, T, kb: mob * kb * T,
    # thermal conductivity
    "I.43.43": lambda gamma, kb, A, v: kb * v / ((gamma - 1) * A),
    # isothermal work
    "I.44.4": lambda n, kb, T, V1, V2: n * kb * T * math.log(V2 / V1),
    # speed of sound
    "I.47.23": lambda gamma, pr, rho: math.sqrt(gamma * pr / rho),
    # relativistic energy
    "I.48.2": lambda m, v, c: m * c**2 * lorentz(v, c),
    "I.50.26": nonlinear_response,
    # Volume II
    # heat flow through a slab
    "II.2.42": lambda kappa, T1, T2, A, d: kappa * (T2 - T1) * A / d,
    # flux of a point source
    "II.3.24": lambda Pwr, r: Pwr / (4 * pi * r**2),
    # potential of a charge
    "II.4.23": lambda q, epsilon, r: q / (4 * pi * epsilon * r),
    # potential of a dipole
    "II.6.11": lambda epsilon, p_d, theta, r: p_d * math.cos(theta) / (4 * pi * epsilon * r**2),
    # transverse field of a dipole
    "II.6.15a": lambda epsilon, p_d, r, x, y, z: (
        3 * p_d * z * math.sqrt(x**2 + y**2) / (4 * pi * epsilon * r**5)
    ),
    # transverse field of a dipole by angle
    "II.6.15b": lambda epsilon, p_d, theta, r: (
        3 * p_d * math.cos(theta) * math.sin(theta) / (4 * pi * epsilon * r**3)
    ),
    # energy of a charged ball
    "II.8.7": lambda q, epsilon, d: 3 * q**2 / (5 * 4 * pi * epsilon * d),
    # energy density of a field
    "II.8.31": lambda epsilon, Ef: epsilon * Ef**2 / 2,
    # field in a dielectric
    "II.10.9": lambda sigma_den, epsilon, chi: sigma_den / (epsilon * (1 + chi)),
    # displacement of a bound charge
    "II.11.3": lambda q, Ef, m, omega_0, omega: q * Ef / (m * (omega_0**2 - omega**2)),
    # density of oriented dipoles
    "II.11.17": lambda n_0, kb, T, theta, p_d, Ef: (
        n_0 * (1 + p_d * Ef * math.cos(theta) / (kb * T))
    ),
    # polarisation of a polar gas
    "II.11.20": lambda n_rho, p_d, Ef, kb, T: n_rho * p_d**2 * Ef / (3 * kb * T),
    # clausius mossotti polarisation
    "II.11.27": lambda n, alpha, epsilon, Ef: n * alpha * epsilon * Ef / (1 - n * alpha / 3),
    # clausius mossotti permittivity
    "II.11.28": lambda n, alpha: 1 + n * alpha / (1 - n * alpha / 3),
    # magnetic field of a wire
    "II.13.17": lambda epsilon, c, I, r: 2 * I / (4 * pi * epsilon * c**2 * r),
    # relativistic charge density
    "II.13.23": lambda rho_c_0, v, c: rho_c_0 * lorentz(v, c),
    # relativistic current density
    "II.13.34": lambda rho_c_0, v, c: rho_c_0 * v * lorentz(v, c),
    # energy of a magnetic dipole
    "II.15.4": lambda mom, B, theta: -mom * B * math.cos(theta),
    # energy of an electric dipole
    "II.15.5": lambda p_d, Ef, theta: -p_d * Ef * math.cos(theta),
    # lienard wiechert potential
    "II.21.32": lambda q, epsilon, r, v, c: q / (4 * pi * epsilon * r * (1 - v / c)),
    # wave number in a guide
    "II.24.17": lambda omega, c, d: math.sqrt((omega / c) ** 2 - (pi / d) ** 2),
    # energy flux of a wave
    "II.27.16": lambda epsilon, c, Ef: epsilon * c * Ef**2,
    # energy density of a wave
    "II.27.18": lambda epsilon, Ef: epsilon * Ef**2,
    # current of an orbiting charge
    "II.34.2a": lambda q, v, r: q * v / (2 * pi * r),
    # magnetic moment of an orbit
    "II.34.2": lambda q, v, r: q * v * r / 2,
    # larmor frequency
    "II.34.11": lambda g_, q, B, m: g_ * q * B / (2 * m),
    # bohr magneton
    "II.34.29a": lambda q, h, m: q * h / (4 * pi * m),
    # zeeman energy
    "II.34.29b": lambda g_, h, Jz, mom, B: g_ * mom * B * Jz / reduced(h),
    "II.35.18": density_of_spins,
    # magnetisation of spins
    "II.35.21": lambda n_rho, mom, B, kb, T: n_rho * mom * math.tanh(mom * B / (kb * T)),
    # argument of spontaneous magnetisation
    "II.36.38": lambda mom, H, kb, T, alpha, epsilon, c, M: (
        mom * H / (kb * T) + mom * alpha * M / (epsilon * c**2 * kb * T)
    ),
    # energy in a magnetised body
    "II.37.1": lambda mom, B, chi: mom * (1 + chi) * B,
    # force that stretches a bar
    "II.38.3": lambda Y, A, d, x: Y * A * x / d,
    # shear modulus
    "II.38.14": lambda Y, sigma: Y / (2 * (1 + sigma)),
    # Volume III
    # occupation of a mode
    "III.4.32": lambda h, omega, kb, T: 1 / (math.exp(reduced(h) * omega / (kb * T)) - 1),
    "III.4.33": mean_energy_of_a_mode,
    # precession frequency
    "III.7.38": lambda mom, B, h: 2 * mom * B / reduced(h),
    # two state probability
    "III.8.54": lambda E_n, t, h: math.sin(E_n * t / reduced(h)) ** 2,
    "III.9.52": transition_probability,
    # energy of a spin
    "III.10.19": lambda mom, Bx, By, Bz: mom * math.sqrt(Bx**2 + By**2 + Bz**2),
    # quantised angular momentum
    "III.12.43": lambda n, h: n * reduced(h),
    # group velocity in a lattice
    "III.13.18": lambda E_n, d, k, h: 2 * E_n * d**2 * k / reduced(h),
    # diode current
    "III.14.14": lambda I_0, q, Volt, kb, T: I_0 * (math.exp(q * Volt / (kb * T)) - 1),
    # energy band
    "III.15.12": lambda U, k, d: 2 * U * (1 - math.cos(k * d)),
    # effective mass
    "III.15.14": lambda h, E_n, d: reduced(h) ** 2 / (2 * E_n * d**2),
    # quantised wave number
    "III.15.27": lambda alpha, n, d: 2 * pi * alpha / (n * d),
    # angular distribution
    "III.17.37": lambda beta, alpha, theta: beta * (1 + alpha * math.cos(theta)),
    # hydrogen levels
    "III.19.51": lambda m, q, h, n, epsilon: (
        -m * q**4 / (2 * (4 * pi * epsilon) ** 2 * reduced(h) ** 2 * n**2)
    ),
    # current in a superconductor
    "III.21.20": lambda rho_c_0, q, A_vec, m: -rho_c_0 * q * A_vec / m,
}

#: Equation number -> (function, its parameters' names in order).
REFERENCE: dict[str, tuple[Formula, tuple[str, ...]]] = {
    number: (f, f.__code__.co_varnames[: f.__code__.co_argcount]) for number, f in FORMULAS.items()
}
