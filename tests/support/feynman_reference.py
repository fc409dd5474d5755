"""The 100 equations of the Feynman database as plain Python: an oracle for the parser.

Each function was typed from the formula as physics states it and uses nothing but ``math``; none is
made from the text that the parser reads. Parameters have the names and the order of the table's
``variables`` column.
"""

import math
from collections.abc import Callable
from math import pi

Formula = Callable[..., float]

#: Equation number -> (function, its parameters' names in order).
REFERENCE: dict[str, tuple[Formula, tuple[str, ...]]] = {}


def equation(number: str) -> Callable[[Formula], Formula]:
    """File the decorated function under its equation number."""

    def file(function: Formula) -> Formula:
        if number in REFERENCE:
            raise ValueError(f"equation {number} is defined twice")
        code = function.__code__
        REFERENCE[number] = function, code.co_varnames[: code.co_argcount]
        return function

    return file


def lorentz(v, c):
    """The Lorentz factor of the speed v."""
    return 1 / math.sqrt(1 - (v / c) ** 2)


def reduced(h):
    """The reduced Planck constant, ħ = h / 2π."""
    return h / (2 * pi)


# --- Volume I ------------------------------------------------------------------------------------


@equation("I.6.2a")
def standard_normal_density(theta):
    return math.exp(-(theta**2) / 2) / math.sqrt(2 * pi)


@equation("I.6.2")
def centred_normal_density(sigma, theta):
    return math.exp(-((theta / sigma) ** 2) / 2) / (math.sqrt(2 * pi) * sigma)


@equation("I.6.2b")
def normal_density(sigma, theta, theta1):
    return math.exp(-(((theta - theta1) / sigma) ** 2) / 2) / (math.sqrt(2 * pi) * sigma)


@equation("I.8.14")
def distance_in_the_plane(x1, x2, y1, y2):
    return math.sqrt((x2 - x1) ** 2 + (y2 - y1) ** 2)


@equation("I.9.18")
def gravitational_force(m1, m2, G, x1, x2, y1, y2, z1, z2):
    return G * m1 * m2 / ((x2 - x1) ** 2 + (y2 - y1) ** 2 + (z2 - z1) ** 2)


@equation("I.10.7")
def relativistic_mass(m_0, v, c):
    return m_0 * lorentz(v, c)


@equation("I.11.19")
def scalar_product(x1, x2, x3, y1, y2, y3):
    return x1 * y1 + x2 * y2 + x3 * y3


@equation("I.12.1")
def friction(mu, Nn):
    return mu * Nn


@equation("I.12.2")
def coulomb_force(q1, q2, epsilon, r):
    return q1 * q2 / (4 * pi * epsilon * r**2)


@equation("I.12.4")
def field_of_a_charge(q1, epsilon, r):
    return q1 / (4 * pi * epsilon * r**2)


@equation("I.12.5")
def force_in_a_field(q2, Ef):
    return q2 * Ef


@equation("I.12.11")
def lorentz_force(q, Ef, B, v, theta):
    return q * (Ef + v * B * math.sin(theta))


@equation("I.13.4")
def kinetic_energy(m, v, u, w):
    return m * (v**2 + u**2 + w**2) / 2


@equation("I.13.12")
def gravitational_energy_between_radii(m1, m2, r1, r2, G):
    return G * m1 * m2 * (1 / r2 - 1 / r1)


@equation("I.14.3")
def potential_energy_at_height(m, g, z):
    return m * g * z


@equation("I.14.4")
def energy_of_a_spring(k_spring, x):
    return k_spring * x**2 / 2


@equation("I.15.3x")
def lorentz_transformed_position(x, u, c, t):
    return (x - u * t) * lorentz(u, c)


@equation("I.15.3t")
def lorentz_transformed_time(x, c, u, t):
    return (t - u * x / c**2) * lorentz(u, c)


@equation("I.15.1")
def relativistic_momentum(m_0, v, c):
    return m_0 * v * lorentz(v, c)


@equation("I.16.6")
def relativistic_sum_of_velocities(c, v, u):
    return (u + v) / (1 + u * v / c**2)


@equation("I.18.4")
def centre_of_mass(m1, m2, r1, r2):
    return (m1 * r1 + m2 * r2) / (m1 + m2)


@equation("I.18.12")
def torque(r, F, theta):
    return r * F * math.sin(theta)


@equation("I.18.14")
def angular_momentum(m, r, v, theta):
    return m * r * v * math.sin(theta)


@equation("I.24.6")
def energy_of_a_driven_oscillator(m, omega, omega_0, x):
    return m * (omega**2 + omega_0**2) * x**2 / 4


@equation("I.25.13")
def capacitor_voltage(q, C):
    return q / C


@equation("I.26.2")
def snell_refraction_angle(n, theta2):
    return math.asin(n * math.sin(theta2))


@equation("I.27.6")
def focal_length(d1, d2, n):
    return 1 / (1 / d1 + n / d2)


@equation("I.29.4")
def wave_number(omega, c):
    return omega / c


@equation("I.29.16")
def amplitude_of_two_waves(x1, x2, theta1, theta2):
    return math.sqrt(x1**2 + x2**2 - 2 * x1 * x2 * math.cos(theta1 - theta2))


@equation("I.30.3")
def intensity_of_n_sources(Int_0, theta, n):
    return Int_0 * (math.sin(n * theta / 2) / math.sin(theta / 2)) ** 2


@equation("I.30.5")
def diffraction_angle(lambd, d, n):
    return math.asin(lambd / (n * d))


@equation("I.32.5")
def power_radiated_by_a_charge(q, a, epsilon, c):
    return q**2 * a**2 / (6 * pi * epsilon * c**3)


@equation("I.32.17")
def power_scattered_by_an_oscillator(epsilon, c, Ef, r, omega, omega_0):
    flux = epsilon * c * Ef**2 / 2
    cross_section = 8 * pi * r**2 / 3
    return flux * cross_section * omega**4 / (omega**2 - omega_0**2) ** 2


@equation("I.34.8")
def cyclotron_frequency(q, v, B, p):
    return q * v * B / p


@equation("I.34.1")
def doppler_shift(c, v, omega_0):
    return omega_0 / (1 - v / c)


@equation("I.34.14")
def relativistic_doppler_shift(c, v, omega_0):
    return omega_0 * (1 + v / c) * lorentz(v, c)


@equation("I.34.27")
def photon_energy(omega, h):
    return reduced(h) * omega


@equation("I.37.4")
def interference(I1, I2, delta):
    return I1 + I2 + 2 * math.sqrt(I1 * I2) * math.cos(delta)


@equation("I.38.12")
def bohr_radius(m, q, h, epsilon):
    return 4 * pi * epsilon * reduced(h) ** 2 / (m * q**2)


@equation("I.39.1")
def energy_of_a_monatomic_gas(pr, V):
    return 3 * pr * V / 2


@equation("I.39.11")
def energy_of_a_gas(gamma, pr, V):
    return pr * V / (gamma - 1)


@equation("I.39.22")
def pressure_of_an_ideal_gas(n, T, V, kb):
    return n * kb * T / V


@equation("I.40.1")
def barometric_formula(n_0, m, x, T, g, kb):
    return n_0 * math.exp(-m * g * x / (kb * T))


@equation("I.41.16")
def spectrum_of_a_black_body(omega, T, h, kb, c):
    quantum = reduced(h) * omega
    return quantum * omega**2 / (pi**2 * c**2 * (math.exp(quantum / (kb * T)) - 1))


@equation("I.43.16")
def drift_velocity(mu_drift, q, Volt, d):
    return mu_drift * q * Volt / d


@equation("I.43.31")
def diffusion_coefficient(mob, T, kb):
    return mob * kb * T


@equation("I.43.43")
def thermal_conductivity(gamma, kb, A, v):
    return kb * v / ((gamma - 1) * A)


@equation("I.44.4")
def isothermal_work(n, kb, T, V1, V2):
    return n * kb * T * math.log(V2 / V1)


@equation("I.47.23")
def speed_of_sound(gamma, pr, rho):
    return math.sqrt(gamma * pr / rho)


@equation("I.48.2")
def relativistic_energy(m, v, c):
    return m * c**2 * lorentz(v, c)


@equation("I.50.26")
def nonlinear_response(x1, omega, t, alpha):
    carrier = math.cos(omega * t)
    return x1 * (carrier + alpha * carrier**2)


# --- Volume II -----------------------------------------------------------------------------------


@equation("II.2.42")
def heat_flow_through_a_slab(kappa, T1, T2, A, d):
    return kappa * (T2 - T1) * A / d


@equation("II.3.24")
def flux_of_a_point_source(Pwr, r):
    return Pwr / (4 * pi * r**2)


@equation("II.4.23")
def potential_of_a_charge(q, epsilon, r):
    return q / (4 * pi * epsilon * r)


@equation("II.6.11")
def potential_of_a_dipole(epsilon, p_d, theta, r):
    return p_d * math.cos(theta) / (4 * pi * epsilon * r**2)


@equation("II.6.15a")
def transverse_field_of_a_dipole(epsilon, p_d, r, x, y, z):
    return 3 * p_d * z * math.sqrt(x**2 + y**2) / (4 * pi * epsilon * r**5)


@equation("II.6.15b")
def transverse_field_of_a_dipole_by_angle(epsilon, p_d, theta, r):
    return 3 * p_d * math.cos(theta) * math.sin(theta) / (4 * pi * epsilon * r**3)


@equation("II.8.7")
def energy_of_a_charged_ball(q, epsilon, d):
    return 3 * q**2 / (5 * 4 * pi * epsilon * d)


@equation("II.8.31")
def energy_density_of_a_field(epsilon, Ef):
    return epsilon * Ef**2 / 2


@equation("II.10.9")
def field_in_a_dielectric(sigma_den, epsilon, chi):
    return sigma_den / (epsilon * (1 + chi))


@equation("II.11.3")
def displacement_of_a_bound_charge(q, Ef, m, omega_0, omega):
    return q * Ef / (m * (omega_0**2 - omega**2))


@equation("II.11.17")
def density_of_oriented_dipoles(n_0, kb, T, theta, p_d, Ef):
    return n_0 * (1 + p_d * Ef * math.cos(theta) / (kb * T))


@equation("II.11.20")
def polarisation_of_a_polar_gas(n_rho, p_d, Ef, kb, T):
    return n_rho * p_d**2 * Ef / (3 * kb * T)


@equation("II.11.27")
def clausius_mossotti_polarisation(n, alpha, epsilon, Ef):
    return n * alpha * epsilon * Ef / (1 - n * alpha / 3)


@equation("II.11.28")
def clausius_mossotti_permittivity(n, alpha):
    return 1 + n * alpha / (1 - n * alpha / 3)


@equation("II.13.17")
def magnetic_field_of_a_wire(epsilon, c, I, r):
    return 2 * I / (4 * pi * epsilon * c**2 * r)


@equation("II.13.23")
def relativistic_charge_density(rho_c_0, v, c):
    return rho_c_0 * lorentz(v, c)


@equation("II.13.34")
def relativistic_current_density(rho_c_0, v, c):
    return rho_c_0 * v * lorentz(v, c)


@equation("II.15.4")
def energy_of_a_magnetic_dipole(mom, B, theta):
    return -mom * B * math.cos(theta)


@equation("II.15.5")
def energy_of_an_electric_dipole(p_d, Ef, theta):
    return -p_d * Ef * math.cos(theta)


@equation("II.21.32")
def lienard_wiechert_potential(q, epsilon, r, v, c):
    return q / (4 * pi * epsilon * r * (1 - v / c))


@equation("II.24.17")
def wave_number_in_a_guide(omega, c, d):
    return math.sqrt((omega / c) ** 2 - (pi / d) ** 2)


@equation("II.27.16")
def energy_flux_of_a_wave(epsilon, c, Ef):
    return epsilon * c * Ef**2


@equation("II.27.18")
def energy_density_of_a_wave(epsilon, Ef):
    return epsilon * Ef**2


@equation("II.34.2a")
def current_of_an_orbiting_charge(q, v, r):
    return q * v / (2 * pi * r)


@equation("II.34.2")
def magnetic_moment_of_an_orbit(q, v, r):
    return q * v * r / 2


@equation("II.34.11")
def larmor_frequency(g_, q, B, m):
    return g_ * q * B / (2 * m)


@equation("II.34.29a")
def bohr_magneton(q, h, m):
    return q * h / (4 * pi * m)


@equation("II.34.29b")
def zeeman_energy(g_, h, Jz, mom, B):
    return g_ * mom * B * Jz / reduced(h)


@equation("II.35.18")
def density_of_spins(n_0, kb, T, mom, B):
    ratio = mom * B / (kb * T)
    return n_0 / (math.exp(ratio) + math.exp(-ratio))


@equation("II.35.21")
def magnetisation_of_spins(n_rho, mom, B, kb, T):
    return n_rho * mom * math.tanh(mom * B / (kb * T))


@equation("II.36.38")
def argument_of_spontaneous_magnetisation(mom, H, kb, T, alpha, epsilon, c, M):
    return mom * H / (kb * T) + mom * alpha * M / (epsilon * c**2 * kb * T)


@equation("II.37.1")
def energy_in_a_magnetised_body(mom, B, chi):
    return mom * (1 + chi) * B


@equation("II.38.3")
def force_that_stretches_a_bar(Y, A, d, x):
    return Y * A * x / d


@equation("II.38.14")
def shear_modulus(Y, sigma):
    return Y / (2 * (1 + sigma))


# --- Volume III ----------------------------------------------------------------------------------


@equation("III.4.32")
def occupation_of_a_mode(h, omega, kb, T):
    return 1 / (math.exp(reduced(h) * omega / (kb * T)) - 1)


@equation("III.4.33")
def mean_energy_of_a_mode(h, omega, kb, T):
    quantum = reduced(h) * omega
    return quantum / (math.exp(quantum / (kb * T)) - 1)


@equation("III.7.38")
def precession_frequency(mom, B, h):
    return 2 * mom * B / reduced(h)


@equation("III.8.54")
def two_state_probability(E_n, t, h):
    return math.sin(E_n * t / reduced(h)) ** 2


@equation("III.9.52")
def transition_probability(p_d, Ef, t, h, omega, omega_0):
    phase = (omega - omega_0) * t / 2
    return p_d * Ef * t / reduced(h) * (math.sin(phase) / phase) ** 2


@equation("III.10.19")
def energy_of_a_spin(mom, Bx, By, Bz):
    return mom * math.sqrt(Bx**2 + By**2 + Bz**2)


@equation("III.12.43")
def quantised_angular_momentum(n, h):
    return n * reduced(h)


@equation("III.13.18")
def group_velocity_in_a_lattice(E_n, d, k, h):
    return 2 * E_n * d**2 * k / reduced(h)


@equation("III.14.14")
def diode_current(I_0, q, Volt, kb, T):
    return I_0 * (math.exp(q * Volt / (kb * T)) - 1)


@equation("III.15.12")
def energy_band(U, k, d):
    return 2 * U * (1 - math.cos(k * d))


@equation("III.15.14")
def effective_mass(h, E_n, d):
    return reduced(h) ** 2 / (2 * E_n * d**2)


@equation("III.15.27")
def quantised_wave_number(alpha, n, d):
    return 2 * pi * alpha / (n * d)


@equation("III.17.37")
def angular_distribution(beta, alpha, theta):
    return beta * (1 + alpha * math.cos(theta))


@equation("III.19.51")
def hydrogen_levels(m, q, h, n, epsilon):
    return -m * q**4 / (2 * (4 * pi * epsilon) ** 2 * reduced(h) ** 2 * n**2)


@equation("III.21.20")
def current_in_a_superconductor(rho_c_0, q, A_vec, m):
    return -rho_c_0 * q * A_vec / m
