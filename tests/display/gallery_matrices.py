"""Matrices: products, quadratic forms, traces, determinants, inverses, norms, eigenvalues."""

import symdiff as sd
from tests.display.rows import table


def square(name="A"):
    return sd.symbol(name, ("n", "n"))


def vector(name):
    return sd.symbol(name, "n")


def factorisation_loss():
    U, V = sd.symbol("U", ("m", "k")), sd.symbol("V", ("n", "k"))
    product = U @ V.T
    Y = sd.symbol("Y", ("m", "n"))
    return sd.sum((product - Y) ** 2), U, V


def factorisation_by_left():
    loss, U, _ = factorisation_loss()
    return sd.grad(loss, U)


def factorisation_by_right():
    loss, _, V = factorisation_loss()
    return sd.grad(loss, V)


def elements_of_a_solution():
    A, b = square(), vector("b")
    x = sd.solve(A, b)
    return 2 * x[0] + x[1]


MATRICES = table(
    "matrices",
    {
        # Products
        "product_from_the_right": (
            "A m n, B n k, v k",
            lambda A, B, v: A @ (B @ v),
            "A @ (B @ v)",
            r"A B v",
        ),
        "product_from_the_left": (
            "A m n, B n k, v k",
            lambda A, B, v: A @ B @ v,
            "A @ B @ v",
            r"A B v",
        ),
        "transposed_product": (
            "A m n, B n k",
            lambda A, B: (A @ B).T,
            "B.T @ A.T",
            r"B^\top A^\top",
        ),
        "row_times_matrix": ("P n n, p n", lambda P, p: p @ P, "P.T @ p", r"P^\top p"),
        "symmetrised": ("A n n", lambda A: A + A.T, "A + A.T", r"A + A^\top"),
        "outer_product": ("u m, v n", lambda u, v: sd.outer(u, v), "outer(u, v)", r"u v^\top"),
        "rows_scaled": (
            "v m, A m n",
            lambda v, A: v[:, None] * A,
            "diag(v) @ A",
            r"\operatorname{diag}\left(v\right) A",
        ),
        "columns_scaled": (
            "A m n, v n",
            lambda A, v: A * v,
            "A @ diag(v)",
            r"A \operatorname{diag}\left(v\right)",
        ),
        # Quadratic forms
        "quadratic_form": ("A n n, v n", lambda A, v: v @ A @ v, "v @ A @ v", r"v^\top A v"),
        "quadratic_form_gradient": (
            "A n n, v n",
            lambda A, v: sd.grad(v @ A @ v, v),
            "A @ v + A.T @ v",
            r"A v + A^\top v",
        ),
        "quadratic_form_hessian": (
            "A n n, v n",
            lambda A, v: sd.hessian(v @ A @ v, v),
            "A + A.T",
            r"A + A^\top",
        ),
        "quadratic_form_by_matrix": (
            "A n n, v n",
            lambda A, v: sd.grad(v @ A @ v, A),
            "outer(v, v)",
            r"v v^\top",
        ),
        "quadratic_model_gradient": (
            "A n n, b n, x n",
            lambda A, b, x: sd.grad(x @ A @ x / 2 - b @ x, x),
            "A @ x/2 + A.T @ x/2 - b",
            r"\frac{1}{2} A x + \frac{1}{2} A^\top x - b",
        ),
        "bilinear_form": ("u m, A m n, v n", lambda u, A, v: u @ A @ v, "u @ A @ v", r"u^\top A v"),
        "quadratic_form_of_numbers": (
            "x 2",
            lambda x: x @ sd.constant([[2, 1], [1, 3]]) @ x,
            "x @ [[2, 1], [1, 3]] @ x",
            r"x^\top \begin{bmatrix} 2 & 1 \\ 1 & 3 \end{bmatrix} x",
        ),
        # Factorisation and traces
        "factorisation": (
            "",
            lambda: factorisation_loss()[0],
            "sum((U @ V.T - Y)**2)",
            r"\left\lVert U V^\top - Y \right\rVert_F^2",
        ),
        "factorisation_by_left": (
            "",
            factorisation_by_left,
            "2*(U @ V.T - Y) @ V",
            r"2 \left(U V^\top - Y\right) V",
        ),
        "factorisation_by_right": (
            "",
            factorisation_by_right,
            "2*(U @ V.T - Y).T @ U",
            r"2 \left(U V^\top - Y\right)^\top U",
        ),
        "trace_of_product": (
            "A m n, B n m",
            lambda A, B: sd.trace(A @ B),
            "trace(A @ B)",
            r"\operatorname{tr}\left(A B\right)",
        ),
        "trace_of_product_gradient": (
            "A m n, B n m",
            lambda A, B: sd.grad(sd.trace(A @ B), A),
            "B.T",
            r"B^\top",
        ),
        "trace_of_triple_gradient": (
            "A m n, X n k, B k m",
            lambda A, X, B: sd.grad(sd.trace(A @ X @ B), X),
            "A.T @ B.T",
            r"A^\top B^\top",
        ),
        "trace_of_square_gradient": (
            "A n n, X n k",
            lambda A, X: sd.grad(sd.trace(X.T @ A @ X), X),
            "A @ X + A.T @ X",
            r"A X + A^\top X",
        ),
        "trace_gradient": ("A n n", lambda A: sd.grad(sd.trace(A), A), "eye(n)", "I"),
        # Determinants, inverses, solves
        "logdet": (
            "",
            lambda: sd.slogdet(square())[1],
            "log(abs(det(A)))",
            r"\log\left|\det A\right|",
        ),
        "logdet_gradient": (
            "A n n",
            lambda A: sd.grad(sd.slogdet(A)[1], A),
            "inv(A).T",
            r"A^{-\top}",
        ),
        "logdet_of_gram_gradient": (
            "A m n",
            lambda A: sd.grad(sd.slogdet(A.T @ A)[1], A),
            "2*A @ inv(A.T @ A)",
            r"2 A \left(A^\top A\right)^{-1}",
        ),
        "det_gradient": (
            "A n n",
            lambda A: sd.grad(sd.det(A), A),
            "det(A)*inv(A).T",
            r"\det\left(A\right) A^{-\top}",
        ),
        "trace_of_inverse_gradient": (
            "A n n",
            lambda A: sd.grad(sd.trace(sd.inv(A)), A),
            "-inv(A).T @ inv(A).T",
            r"-A^{-\top} A^{-\top}",
        ),
        "inverse_between_vectors_gradient": (
            "A n n, a n, b n",
            lambda A, a, b: sd.grad(a @ sd.inv(A) @ b, A),
            "-inv(A).T @ (outer(a, b) @ inv(A).T)",
            r"-A^{-\top} a b^\top A^{-\top}",
        ),
        "solution": ("A n n, b n", lambda A, b: sd.solve(A, b), "solve(A, b)", r"A^{-1} b"),
        "elements_of_a_solution": (
            "",
            elements_of_a_solution,
            "2*solve(A, b)[0] + solve(A, b)[1]",
            r"2 \left(A^{-1} b\right)_0 + \left(A^{-1} b\right)_1",
        ),
        "solution_as_a_column": (
            "A n n, b n",
            lambda A, b: sd.solve(A, b[:, None]),
            "solve(A, b[:, None])",
            r"A^{-1} b \mathbf{1}^\top",
        ),
        "solution_by_right_side": (
            "c n, A n n, b n",
            lambda c, A, b: sd.grad(c @ sd.solve(A, b), b),
            "solve(A.T, c)",
            r"A^{-\top} c",
        ),
        "solution_by_matrix": (
            "c n, A n n, b n",
            lambda c, A, b: sd.grad(c @ sd.solve(A, b), A),
            "-outer(solve(A.T, c), solve(A, b))",
            r"-A^{-\top} c b^\top A^{-\top}",
        ),
        "matrix_exponential": ("", lambda: sd.expm(square()), "expm(A)", r"e^A"),
        # Norms and eigenvalues
        "frobenius": (
            "A m n",
            lambda A: sd.sum(A * A),
            "sum(A**2)",
            r"\left\lVert A \right\rVert_F^2",
        ),
        "frobenius_gradient": ("A m n", lambda A: sd.grad(sd.trace(A.T @ A), A), "2*A", "2 A"),
        "frobenius_norm": (
            "",
            lambda: sd.norm(sd.symbol("A", ("m", "n"))),
            "norm(A)",
            r"\left\lVert A \right\rVert_F",
        ),
        "squared_norm": ("v n", lambda v: v @ v, "v @ v", r"\left\lVert v \right\rVert^2"),
        "norm": ("", lambda: sd.norm(vector("v")), "norm(v)", r"\left\lVert v \right\rVert"),
        "norm_gradient": (
            "v n",
            lambda v: sd.grad(sd.norm(v), v),
            "where(norm(v) == 0, 0, v/norm(v))",
            r"\begin{cases} 0 & \text{for}\: \left\lVert v \right\rVert = 0 \\"
            r" \frac{v}{\left\lVert v \right\rVert} & \text{otherwise} \end{cases}",
        ),
        "distance_gradient": (
            "u n, v n",
            lambda u, v: sd.grad(sd.norm(u - v), u),
            "where(norm(u - v) == 0, 0, (u - v)/norm(u - v))",
            r"\begin{cases} 0 & \text{for}\: \left\lVert u - v \right\rVert = 0 \\"
            r" \frac{u - v}{\left\lVert u - v \right\rVert} & \text{otherwise} \end{cases}",
        ),
        "direction": (
            "v n",
            lambda v: v / sd.norm(v),
            "v/norm(v)",
            r"\frac{v}{\left\lVert v \right\rVert}",
        ),
        "cosine": (
            "u n, v n",
            lambda u, v: u @ v / (sd.norm(u) * sd.norm(v)),
            "u @ v/(norm(u)*norm(v))",
            r"\frac{u^\top v}{\left\lVert u \right\rVert \left\lVert v \right\rVert}",
        ),
        "eigenvalues": ("", lambda: sd.eigvalsh(square()), "eigvalsh(A)", r"\lambda\left(A\right)"),
        "largest_eigenvalue": (
            "",
            lambda: sd.eigvalsh(sd.symbol("A", (3, 3)))[-1],
            "eigvalsh(A)[2]",
            r"\lambda\left(A\right)_2",
        ),
        "largest_eigenvalue_gradient": (
            "A 3 3",
            lambda A: sd.grad(sd.eigvalsh(A)[-1], A),
            None,
            None,
        ),
        "spectral_function_gradient": (
            "A n n",
            lambda A: sd.grad(sd.sum(sd.exp(sd.eigvalsh(A))), A),
            None,
            None,
        ),
        "norm_hessian": ("v n", lambda v: sd.hessian(sd.norm(v), v), None, None),
    },
)
