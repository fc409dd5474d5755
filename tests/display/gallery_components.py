"""Elements, parts and stacks; small arrays, which show their components."""

import symdiff as sd
from tests.display.rows import Rows

COMPONENTS = row = Rows("components")


def column(*elements):
    return r"\begin{bmatrix}" + r" \\ ".join(elements) + r"\end{bmatrix}"


def matrix(*rows):
    return column(*(" & ".join(elements) for elements in rows))


# Elements and parts -------------------------------------------------------------------------------


@row("q[0]", "q_0")
def element():
    return sd.symbol("q", 2)[0]


@row("A[0, 1]*A[1, 0]", r"A_{0,1} A_{1,0}")
def elements_of_a_matrix():
    A = sd.symbol("A", (3, 3))
    return A[0, 1] * A[1, 0]


@row("z[-1]", "z_{-1}")
def last_element():
    return sd.symbol("z", "n")[-1]


@row("A[0]", r"A_{0,:}")
def row_of_a_matrix():
    return sd.symbol("A", (3, 4))[0]


@row("A[:, 1]", r"A_{:,1}")
def column_of_a_matrix():
    return sd.symbol("A", (3, 4))[:, 1]


@row("z[1:3]", r"z_{1:3}")
def part():
    return sd.symbol("z", 5)[1:3]


@row("A[1:3, 2:4]", r"A_{1:3,2:4}")
def block():
    return sd.symbol("A", (5, 6))[1:3, 2:4]


# Stacks -------------------------------------------------------------------------------------------


@row("[a, b]", column("a", "b"))
def stack():
    a, b = sd.symbols("a b")
    return sd.stack([a, b])


@row("[[a, b], [c, d]]", matrix("ab", "cd"))
def nested_stacks():
    a, b, c, d = sd.symbols("a b c d")
    return sd.stack([sd.stack([a, b]), sd.stack([c, d])])


@row("[u, v]", column(r"u^\top", r"v^\top"))
def stack_of_vectors():
    u, v = sd.symbol("u", "n"), sd.symbol("v", "n")
    return sd.stack([u, v])


@row("a + c", "a + c")
def element_of_a_sum_of_stacks():
    a, b, c, d = sd.symbols("a b c d")
    return (sd.stack([a, b]) + sd.stack([c, d]))[0]


@row("v[1] + z[3]", "v_1 + z_3")
def element_of_a_sum_with_joined_parts():
    u, v, z = sd.symbol("u", 2), sd.symbol("v", 3), sd.symbol("z", 5)
    return (sd.concat([u, v]) + z)[3]


def rotation():
    (theta,) = sd.symbols("theta")
    c, s = sd.cos(theta), sd.sin(theta)
    return sd.stack([sd.stack([c, -s]), sd.stack([s, c])]), theta


COS, SIN = r"\cos\left(\theta\right)", r"\sin\left(\theta\right)"


@row(
    "[[cos(theta), -sin(theta)], [sin(theta), cos(theta)]]",
    matrix((COS, "-" + SIN), (SIN, COS)),
)
def rotation_matrix():
    return rotation()[0]


@row(
    "[[-sin(theta), -cos(theta)], [cos(theta), -sin(theta)]]",
    matrix(("-" + SIN, "-" + COS), (COS, "-" + SIN)),
)
def rotation_matrix_slope():
    return sd.jacobian(*rotation())


# Maps and their Jacobians -------------------------------------------------------------------------


def arm():
    q = sd.symbol("q", 2)
    x = sd.cos(q[0]) + sd.cos(q[0] + q[1])
    y = sd.sin(q[0]) + sd.sin(q[0] + q[1])
    return sd.stack([x, y]), q


C1, S1 = r"\cos\left(q_0\right)", r"\sin\left(q_0\right)"
C2, S2 = r"\cos\left(q_0 + q_1\right)", r"\sin\left(q_0 + q_1\right)"


@row(
    "[cos(q[0]) + cos(q[0] + q[1]), sin(q[0]) + sin(q[0] + q[1])]",
    column(f"{C1} + {C2}", f"{S1} + {S2}"),
)
def robot_arm():
    return arm()[0]


@row(
    "[[-sin(q[0]) - sin(q[0] + q[1]), -sin(q[0] + q[1])],"
    " [cos(q[0]) + cos(q[0] + q[1]), cos(q[0] + q[1])]]",
    matrix((f"-{S1} - {S2}", f"-{S2}"), (f"{C1} + {C2}", C2)),
)
def robot_arm_jacobian():
    return sd.jacobian(*arm())


@row(
    "[[cos(p[1]), -p[0]*sin(p[1])], [sin(p[1]), p[0]*cos(p[1])]]",
    matrix(
        (r"\cos\left(p_1\right)", r"-p_0 \sin\left(p_1\right)"),
        (r"\sin\left(p_1\right)", r"p_0 \cos\left(p_1\right)"),
    ),
)
def polar_jacobian():
    p = sd.symbol("p", 2)
    return sd.jacobian(sd.stack([p[0] * sd.cos(p[1]), p[0] * sd.sin(p[1])]), p)


@row(
    "[[-10, 10, 0], [28 - u[2], -1, -u[0]], [u[1], u[0], -8/3]]",
    matrix(("-10", "10", "0"), ("28 - u_2", "-1", "-u_0"), ("u_1", "u_0", r"-\frac{8}{3}")),
)
def lorenz_jacobian():
    u = sd.symbol("u", 3)
    flow = [10 * (u[1] - u[0]), u[0] * (28 - u[2]) - u[1], u[0] * u[1] - 8 * u[2] / 3]
    return sd.jacobian(sd.stack(flow), u)


def rosenbrock():
    x = sd.symbol("x", 2)
    return (1 - x[0]) ** 2 + 100 * (x[1] - x[0] ** 2) ** 2, x


@row(
    "[-2*(1 - x[0]) - 400*x[0]*(x[1] - x[0]**2), 200*(x[1] - x[0]**2)]",
    column(
        r"-2 \left(1 - x_0\right) - 400 x_0 \left(x_1 - x_0^2\right)",
        r"200 \left(x_1 - x_0^2\right)",
    ),
)
def rosenbrock_gradient():
    return sd.grad(*rosenbrock())


@row(
    "[[800*x[0]**2 - 400*(x[1] - x[0]**2) + 2, -400*x[0]], [-400*x[0], 200]]",
    matrix((r"800 x_0^2 - 400 \left(x_1 - x_0^2\right) + 2", "-400 x_0"), ("-400 x_0", "200")),
)
def rosenbrock_hessian():
    return sd.hessian(*rosenbrock())


@row(
    "[[exp(x[0])*sin(x[1]), exp(x[0])*cos(x[1])], [exp(x[0])*cos(x[1]), -exp(x[0])*sin(x[1])]]",
    matrix(
        (r"e^{x_0} \sin\left(x_1\right)", r"e^{x_0} \cos\left(x_1\right)"),
        (r"e^{x_0} \cos\left(x_1\right)", r"-e^{x_0} \sin\left(x_1\right)"),
    ),
)
def hessian_of_a_product():
    x = sd.symbol("x", 2)
    return sd.hessian(sd.exp(x[0]) * sd.sin(x[1]), x)


@row("[x[1]*x[2], x[0]*x[2], x[0]*x[1]]", column("x_1 x_2", "x_0 x_2", "x_0 x_1"))
def product_of_elements_gradient():
    x = sd.symbol("x", 3)
    return sd.grad(x[0] * x[1] * x[2], x)


@row(
    "[u[1]*v[2] - u[2]*v[1], u[2]*v[0] - u[0]*v[2], u[0]*v[1] - u[1]*v[0]]",
    column("u_1 v_2 - u_2 v_1", "u_2 v_0 - u_0 v_2", "u_0 v_1 - u_1 v_0"),
)
def cross_product():
    u, v = sd.symbol("u", 3), sd.symbol("v", 3)
    return sd.cross(u, v)


# Small arrays of parts ----------------------------------------------------------------------------


@row("[0, 2*z[1], 2*z[2], 0, 0]", column("0", "2 z_1", "2 z_2", "0", "0"))
def part_gradient():
    z = sd.symbol("z", 5)
    return sd.grad(sd.sum(z[1:3] ** 2), z)


@row("[v[0], v[2], v[2]]", column("v_0", "v_2", "v_2"))
def gathered():
    return sd.symbol("v", 5)[[0, 2, 2]]


@row("[2*v[0], 0, 4*v[2], 0]", column("2 v_0", "0", "4 v_2", "0"))
def gathered_gradient():
    v = sd.symbol("v", 4)
    return sd.grad(sd.sum(v[[0, 2, 2]] ** 2), v)


@row("[u[0], u[1], v[0]]", column("u_0", "u_1", "v_0"))
def joined():
    u, v = sd.symbol("u", 2), sd.symbol("v", 1)
    return sd.concat([u, v])


@row("[0, v[0], v[1], 0]", column("0", "v_0", "v_1", "0"))
def padded():
    return sd.pad(sd.symbol("v", 2), 1)


@row(
    "[a[0]*b[0], a[0]*b[1] + a[1]*b[0], a[1]*b[1] + a[2]*b[0], a[2]*b[1]]",
    column("a_0 b_0", "a_0 b_1 + a_1 b_0", "a_1 b_1 + a_2 b_0", "a_2 b_1"),
)
def convolution():
    a, b = sd.symbol("a", 3), sd.symbol("b", 2)
    return sd.convolve(a, b)


@row(
    "[c[0]*a[0] + c[1]*a[1] + c[2]*a[2], c[1]*a[0] + c[2]*a[1] + c[3]*a[2]]",
    column("c_0 a_0 + c_1 a_1 + c_2 a_2", "c_1 a_0 + c_2 a_1 + c_3 a_2"),
)
def convolution_gradient():
    c, a, b = sd.symbol("c", 4), sd.symbol("a", 3), sd.symbol("b", 2)
    return sd.grad(c @ sd.convolve(a, b), b)


@row(
    "[[2, -2, 0], [-2, 4, -2], [0, -2, 2]]",
    matrix(("2", "-2", "0"), ("-2", "4", "-2"), ("0", "-2", "2")),
)
def differences_hessian():
    z = sd.symbol("z", 3)
    return sd.hessian(sd.sum((z[1:] - z[:-1]) ** 2), z)


@row("eye(3)", "I")
def identity():
    x = sd.symbol("x", 3)
    return sd.jacobian(x, x)
