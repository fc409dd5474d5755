"""Elements, parts and stacks; small arrays, which show their components."""

import symdiff as sd
from tests.display.rows import table


def column(*elements):
    return r"\begin{bmatrix}" + r" \\ ".join(elements) + r"\end{bmatrix}"


def matrix(*rows):
    return column(*(" & ".join(elements) for elements in rows))


def rotation():
    (theta,) = sd.symbols("theta")
    c, s = sd.cos(theta), sd.sin(theta)
    return sd.stack([sd.stack([c, -s]), sd.stack([s, c])]), theta


COS, SIN = r"\cos\left(\theta\right)", r"\sin\left(\theta\right)"


def arm():
    q = sd.symbol("q", 2)
    x = sd.cos(q[0]) + sd.cos(q[0] + q[1])
    y = sd.sin(q[0]) + sd.sin(q[0] + q[1])
    return sd.stack([x, y]), q


C1, S1 = r"\cos\left(q_0\right)", r"\sin\left(q_0\right)"


C2, S2 = r"\cos\left(q_0 + q_1\right)", r"\sin\left(q_0 + q_1\right)"


def lorenz_jacobian():
    u = sd.symbol("u", 3)
    flow = [10 * (u[1] - u[0]), u[0] * (28 - u[2]) - u[1], u[0] * u[1] - 8 * u[2] / 3]
    return sd.jacobian(sd.stack(flow), u)


def rosenbrock():
    x = sd.symbol("x", 2)
    return (1 - x[0]) ** 2 + 100 * (x[1] - x[0] ** 2) ** 2, x


COMPONENTS = table(
    "components",
    {
        # Elements and parts
        "element": ("", lambda: sd.symbol("q", 2)[0], "q[0]", "q_0"),
        "elements_of_a_matrix": (
            "A 3 3",
            lambda A: A[0, 1] * A[1, 0],
            "A[0, 1]*A[1, 0]",
            r"A_{0,1} A_{1,0}",
        ),
        "last_element": ("", lambda: sd.symbol("z", "n")[-1], "z[-1]", "z_{-1}"),
        "row_of_a_matrix": ("", lambda: sd.symbol("A", (3, 4))[0], "A[0]", r"A_{0,:}"),
        "column_of_a_matrix": ("", lambda: sd.symbol("A", (3, 4))[:, 1], "A[:, 1]", r"A_{:,1}"),
        "part": ("", lambda: sd.symbol("z", 5)[1:3], "z[1:3]", r"z_{1:3}"),
        "block": ("", lambda: sd.symbol("A", (5, 6))[1:3, 2:4], "A[1:3, 2:4]", r"A_{1:3,2:4}"),
        # Stacks
        "stack": ("a, b", lambda a, b: sd.stack([a, b]), "[a, b]", column("a", "b")),
        "nested_stacks": (
            "a, b, c, d",
            lambda a, b, c, d: sd.stack([sd.stack([a, b]), sd.stack([c, d])]),
            "[[a, b], [c, d]]",
            matrix("ab", "cd"),
        ),
        "stack_of_vectors": (
            "u n, v n",
            lambda u, v: sd.stack([u, v]),
            "[u, v]",
            column(r"u^\top", r"v^\top"),
        ),
        "element_of_a_sum_of_stacks": (
            "a, b, c, d",
            lambda a, b, c, d: (sd.stack([a, b]) + sd.stack([c, d]))[0],
            "a + c",
            "a + c",
        ),
        "element_of_a_sum_with_joined_parts": (
            "u 2, v 3, z 5",
            lambda u, v, z: (sd.concat([u, v]) + z)[3],
            "v[1] + z[3]",
            "v_1 + z_3",
        ),
        "rotation_matrix": (
            "",
            lambda: rotation()[0],
            "[[cos(theta), -sin(theta)], [sin(theta), cos(theta)]]",
            matrix((COS, "-" + SIN), (SIN, COS)),
        ),
        "rotation_matrix_slope": (
            "",
            lambda: sd.jacobian(*rotation()),
            "[[-sin(theta), -cos(theta)], [cos(theta), -sin(theta)]]",
            matrix(("-" + SIN, "-" + COS), (COS, "-" + SIN)),
        ),
        # Maps and their Jacobians
        "robot_arm": (
            "",
            lambda: arm()[0],
            "[cos(q[0]) + cos(q[0] + q[1]), sin(q[0]) + sin(q[0] + q[1])]",
            column(f"{C1} + {C2}", f"{S1} + {S2}"),
        ),
        "robot_arm_jacobian": (
            "",
            lambda: sd.jacobian(*arm()),
            "[[-sin(q[0]) - sin(q[0] + q[1]), -sin(q[0] + q[1])],"
            " [cos(q[0]) + cos(q[0] + q[1]), cos(q[0] + q[1])]]",
            matrix((f"-{S1} - {S2}", f"-{S2}"), (f"{C1} + {C2}", C2)),
        ),
        "polar_jacobian": (
            "p 2",
            lambda p: sd.jacobian(sd.stack([p[0] * sd.cos(p[1]), p[0] * sd.sin(p[1])]), p),
            "[[cos(p[1]), -p[0]*sin(p[1])], [sin(p[1]), p[0]*cos(p[1])]]",
            matrix(
                (r"\cos\left(p_1\right)", r"-p_0 \sin\left(p_1\right)"),
                (r"\sin\left(p_1\right)", r"p_0 \cos\left(p_1\right)"),
            ),
        ),
        "lorenz_jacobian": (
            "",
            lorenz_jacobian,
            "[[-10, 10, 0], [28 - u[2], -1, -u[0]], [u[1], u[0], -8/3]]",
            matrix(("-10", "10", "0"), ("28 - u_2", "-1", "-u_0"), ("u_1", "u_0", r"-\frac{8}{3}")),
        ),
        "rosenbrock_gradient": (
            "",
            lambda: sd.grad(*rosenbrock()),
            "[2*x[0] + 400*x[0]*(x[0]**2 - x[1]) - 2, 200*(x[1] - x[0]**2)]",
            r"\begin{bmatrix} 2 x_0 + 400 x_0 \left(x_0^{2} - x_1\right) - 2 \\ 200"
            r" \left(x_1 - x_0^{2}\right) \end{bmatrix}",
        ),
        "rosenbrock_hessian": (
            "",
            lambda: sd.hessian(*rosenbrock()),
            "[[1200*x[0]**2 - 400*x[1] + 2, -400*x[0]], [-400*x[0], 200]]",
            r"\begin{bmatrix} 1200 x_0^{2} - 400 x_1 + 2 & -400 x_0 \\ -400 x_0 & 200"
            r" \end{bmatrix}",
        ),
        "hessian_of_a_product": (
            "x 2",
            lambda x: sd.hessian(sd.exp(x[0]) * sd.sin(x[1]), x),
            "[[exp(x[0])*sin(x[1]), exp(x[0])*cos(x[1])], "
            "[exp(x[0])*cos(x[1]), -exp(x[0])*sin(x[1])]]",
            matrix(
                (r"e^{x_0} \sin\left(x_1\right)", r"e^{x_0} \cos\left(x_1\right)"),
                (r"e^{x_0} \cos\left(x_1\right)", r"-e^{x_0} \sin\left(x_1\right)"),
            ),
        ),
        "product_of_elements_gradient": (
            "x 3",
            lambda x: sd.grad(x[0] * x[1] * x[2], x),
            "[x[1]*x[2], x[0]*x[2], x[0]*x[1]]",
            column("x_1 x_2", "x_0 x_2", "x_0 x_1"),
        ),
        "cross_product": (
            "u 3, v 3",
            lambda u, v: sd.cross(u, v),
            "[u[1]*v[2] - u[2]*v[1], u[2]*v[0] - u[0]*v[2], u[0]*v[1] - u[1]*v[0]]",
            column("u_1 v_2 - u_2 v_1", "u_2 v_0 - u_0 v_2", "u_0 v_1 - u_1 v_0"),
        ),
        # Small arrays of parts
        "part_gradient": (
            "z 5",
            lambda z: sd.grad(sd.sum(z[1:3] ** 2), z),
            "[0, 2*z[1], 2*z[2], 0, 0]",
            column("0", "2 z_1", "2 z_2", "0", "0"),
        ),
        "gathered": (
            "",
            lambda: sd.symbol("v", 5)[[0, 2, 2]],
            "[v[0], v[2], v[2]]",
            column("v_0", "v_2", "v_2"),
        ),
        "gathered_gradient": (
            "v 4",
            lambda v: sd.grad(sd.sum(v[[0, 2, 2]] ** 2), v),
            "[2*v[0], 0, 4*v[2], 0]",
            column("2 v_0", "0", "4 v_2", "0"),
        ),
        "joined": (
            "u 2, v 1",
            lambda u, v: sd.concat([u, v]),
            "[u[0], u[1], v[0]]",
            column("u_0", "u_1", "v_0"),
        ),
        "padded": (
            "",
            lambda: sd.pad(sd.symbol("v", 2), 1),
            "[0, v[0], v[1], 0]",
            column("0", "v_0", "v_1", "0"),
        ),
        "convolution": (
            "a 3, b 2",
            lambda a, b: sd.convolve(a, b),
            "[a[0]*b[0], a[0]*b[1] + a[1]*b[0], a[1]*b[1] + a[2]*b[0], a[2]*b[1]]",
            column("a_0 b_0", "a_0 b_1 + a_1 b_0", "a_1 b_1 + a_2 b_0", "a_2 b_1"),
        ),
        "convolution_gradient": (
            "c 4, a 3, b 2",
            lambda c, a, b: sd.grad(c @ sd.convolve(a, b), b),
            "[a[0]*c[0] + a[1]*c[1] + a[2]*c[2], a[0]*c[1] + a[1]*c[2] + a[2]*c[3]]",
            r"\begin{bmatrix} a_0 c_0 + a_1 c_1 + a_2 c_2 \\ a_0 c_1 + a_1 c_2 + a_2 c_3"
            r" \end{bmatrix}",
        ),
        "differences_hessian": (
            "z 3",
            lambda z: sd.hessian(sd.sum((z[1:] - z[:-1]) ** 2), z),
            "[[2, -2, 0], [-2, 4, -2], [0, -2, 2]]",
            matrix(("2", "-2", "0"), ("-2", "4", "-2"), ("0", "-2", "2")),
        ),
        "identity": ("x 3", lambda x: sd.jacobian(x, x), "eye(3)", "I"),
    },
)
