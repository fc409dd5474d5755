"""Matrices: products, quadratic forms, traces, determinants, inverses, norms, eigenvalues."""

import symdiff as sd
from tests.display.rows import Rows

MATRICES = row = Rows("matrices")


def square(name="A"):
    return sd.symbol(name, ("n", "n"))


def vector(name):
    return sd.symbol(name, "n")


# Products -----------------------------------------------------------------------------------------


@row("A @ (B @ v)", r"A B v")
def product_from_the_right():
    A, B, v = sd.symbol("A", ("m", "n")), sd.symbol("B", ("n", "k")), sd.symbol("v", "k")
    return A @ (B @ v)


@row("A @ B @ v", r"A B v")
def product_from_the_left():
    A, B, v = sd.symbol("A", ("m", "n")), sd.symbol("B", ("n", "k")), sd.symbol("v", "k")
    return A @ B @ v


@row("B.T @ A.T", r"B^\top A^\top")
def transposed_product():
    A, B = sd.symbol("A", ("m", "n")), sd.symbol("B", ("n", "k"))
    return (A @ B).T


@row("P.T @ p", r"P^\top p")
def row_times_matrix():
    P, p = square("P"), vector("p")
    return p @ P


@row("A + A.T", r"A + A^\top")
def symmetrised():
    A = square()
    return A + A.T


@row("outer(u, v)", r"u v^\top")
def outer_product():
    u, v = sd.symbol("u", "m"), sd.symbol("v", "n")
    return sd.outer(u, v)


@row("diag(v) @ A", r"\operatorname{diag}\left(v\right) A")
def rows_scaled():
    v, A = sd.symbol("v", "m"), sd.symbol("A", ("m", "n"))
    return v[:, None] * A


@row("A @ diag(v)", r"A \operatorname{diag}\left(v\right)")
def columns_scaled():
    A, v = sd.symbol("A", ("m", "n")), sd.symbol("v", "n")
    return A * v


# Quadratic forms ----------------------------------------------------------------------------------


@row("v @ A @ v", r"v^\top A v")
def quadratic_form():
    A, v = square(), vector("v")
    return v @ A @ v


@row("A @ v + A.T @ v", r"A v + A^\top v")
def quadratic_form_gradient():
    A, v = square(), vector("v")
    return sd.grad(v @ A @ v, v)


@row("A + A.T", r"A + A^\top")
def quadratic_form_hessian():
    A, v = square(), vector("v")
    return sd.hessian(v @ A @ v, v)


@row("outer(v, v)", r"v v^\top")
def quadratic_form_by_matrix():
    A, v = square(), vector("v")
    return sd.grad(v @ A @ v, A)


@row("A @ x/2 + A.T @ x/2 - b", r"\frac{1}{2} A x + \frac{1}{2} A^\top x - b")
def quadratic_model_gradient():
    A, b, x = square(), vector("b"), vector("x")
    return sd.grad(x @ A @ x / 2 - b @ x, x)


@row("u @ A @ v", r"u^\top A v")
def bilinear_form():
    u, A, v = sd.symbol("u", "m"), sd.symbol("A", ("m", "n")), sd.symbol("v", "n")
    return u @ A @ v


@row(
    "x @ [[2, 1], [1, 3]] @ x",
    r"x^\top \begin{bmatrix} 2 & 1 \\ 1 & 3 \end{bmatrix} x",
)
def quadratic_form_of_numbers():
    x = sd.symbol("x", 2)
    return x @ sd.constant([[2, 1], [1, 3]]) @ x


# Factorisation and traces -------------------------------------------------------------------------


def factorisation_loss():
    U, V = sd.symbol("U", ("m", "k")), sd.symbol("V", ("n", "k"))
    product = U @ V.T
    Y = sd.symbol("Y", ("m", "n"))
    return sd.sum((product - Y) ** 2), U, V


@row("sum((U @ V.T - Y)**2)", r"\left\lVert U V^\top - Y \right\rVert_F^2")
def factorisation():
    return factorisation_loss()[0]


@row("2*(U @ V.T - Y) @ V", r"2 \left(U V^\top - Y\right) V")
def factorisation_by_left():
    loss, U, _ = factorisation_loss()
    return sd.grad(loss, U)


@row("2*(U @ V.T - Y).T @ U", r"2 \left(U V^\top - Y\right)^\top U")
def factorisation_by_right():
    loss, _, V = factorisation_loss()
    return sd.grad(loss, V)


@row("trace(A @ B)", r"\operatorname{tr}\left(A B\right)")
def trace_of_product():
    A, B = sd.symbol("A", ("m", "n")), sd.symbol("B", ("n", "m"))
    return sd.trace(A @ B)


@row("B.T", r"B^\top")
def trace_of_product_gradient():
    A, B = sd.symbol("A", ("m", "n")), sd.symbol("B", ("n", "m"))
    return sd.grad(sd.trace(A @ B), A)


@row("A.T @ B.T", r"A^\top B^\top")
def trace_of_triple_gradient():
    A, X, B = (
        sd.symbol("A", ("m", "n")),
        sd.symbol("X", ("n", "k")),
        sd.symbol("B", ("k", "m")),
    )
    return sd.grad(sd.trace(A @ X @ B), X)


@row("A @ X + A.T @ X", r"A X + A^\top X")
def trace_of_square_gradient():
    A, X = square(), sd.symbol("X", ("n", "k"))
    return sd.grad(sd.trace(X.T @ A @ X), X)


@row("eye(n)", "I")
def trace_gradient():
    A = square()
    return sd.grad(sd.trace(A), A)


# Determinants, inverses, solves -------------------------------------------------------------------


@row("log(abs(det(A)))", r"\log\left|\det A\right|")
def logdet():
    return sd.slogdet(square())[1]


@row("inv(A).T", r"A^{-\top}")
def logdet_gradient():
    A = square()
    return sd.grad(sd.slogdet(A)[1], A)


@row("2*A @ inv(A.T @ A)", r"2 A \left(A^\top A\right)^{-1}")
def logdet_of_gram_gradient():
    A = sd.symbol("A", ("m", "n"))
    return sd.grad(sd.slogdet(A.T @ A)[1], A)


@row("det(A)*inv(A).T", r"\det\left(A\right) A^{-\top}")
def det_gradient():
    A = square()
    return sd.grad(sd.det(A), A)


@row("-inv(A).T @ inv(A).T", r"-A^{-\top} A^{-\top}")
def trace_of_inverse_gradient():
    A = square()
    return sd.grad(sd.trace(sd.inv(A)), A)


@row("-inv(A).T @ (outer(a, b) @ inv(A).T)", r"-A^{-\top} a b^\top A^{-\top}")
def inverse_between_vectors_gradient():
    A, a, b = square(), vector("a"), vector("b")
    return sd.grad(a @ sd.inv(A) @ b, A)


@row("solve(A, b)", r"A^{-1} b")
def solution():
    A, b = square(), vector("b")
    return sd.solve(A, b)


@row("2*solve(A, b)[0] + solve(A, b)[1]", r"2 \left(A^{-1} b\right)_0 + \left(A^{-1} b\right)_1")
def elements_of_a_solution():
    A, b = square(), vector("b")
    x = sd.solve(A, b)
    return 2 * x[0] + x[1]


@row("solve(A, b[:, None])", r"A^{-1} b \mathbf{1}^\top")
def solution_as_a_column():
    A, b = square(), vector("b")
    return sd.solve(A, b[:, None])


@row("solve(A.T, c)", r"A^{-\top} c")
def solution_by_right_side():
    c, A, b = vector("c"), square(), vector("b")
    return sd.grad(c @ sd.solve(A, b), b)


@row("-outer(solve(A.T, c), solve(A, b))", r"-A^{-\top} c b^\top A^{-\top}")
def solution_by_matrix():
    c, A, b = vector("c"), square(), vector("b")
    return sd.grad(c @ sd.solve(A, b), A)


@row("expm(A)", r"e^A")
def matrix_exponential():
    return sd.expm(square())


# Norms and eigenvalues ----------------------------------------------------------------------------


@row("sum(A**2)", r"\left\lVert A \right\rVert_F^2")
def frobenius():
    A = sd.symbol("A", ("m", "n"))
    return sd.sum(A * A)


@row("2*A", "2 A")
def frobenius_gradient():
    A = sd.symbol("A", ("m", "n"))
    return sd.grad(sd.trace(A.T @ A), A)


@row("norm(A)", r"\left\lVert A \right\rVert_F")
def frobenius_norm():
    return sd.norm(sd.symbol("A", ("m", "n")))


@row("v @ v", r"\left\lVert v \right\rVert^2")
def squared_norm():
    v = vector("v")
    return v @ v


@row("norm(v)", r"\left\lVert v \right\rVert")
def norm():
    return sd.norm(vector("v"))


@row(
    "where(norm(v) == 0, 0, v/norm(v))",
    r"\begin{cases} 0 & \text{for}\: \left\lVert v \right\rVert = 0 \\"
    r" \frac{v}{\left\lVert v \right\rVert} & \text{otherwise} \end{cases}",
)
def norm_gradient():
    v = vector("v")
    return sd.grad(sd.norm(v), v)


@row(
    "where(norm(u - v) == 0, 0, (u - v)/norm(u - v))",
    r"\begin{cases} 0 & \text{for}\: \left\lVert u - v \right\rVert = 0 \\"
    r" \frac{u - v}{\left\lVert u - v \right\rVert} & \text{otherwise} \end{cases}",
)
def distance_gradient():
    u, v = vector("u"), vector("v")
    return sd.grad(sd.norm(u - v), u)


@row("v/norm(v)", r"\frac{v}{\left\lVert v \right\rVert}")
def direction():
    v = vector("v")
    return v / sd.norm(v)


@row(
    "u @ v/(norm(u)*norm(v))",
    r"\frac{u^\top v}{\left\lVert u \right\rVert \left\lVert v \right\rVert}",
)
def cosine():
    u, v = vector("u"), vector("v")
    return u @ v / (sd.norm(u) * sd.norm(v))


@row("eigvalsh(A)", r"\lambda\left(A\right)")
def eigenvalues():
    return sd.eigvalsh(square())


@row("eigvalsh(A)[2]", r"\lambda\left(A\right)_2")
def largest_eigenvalue():
    return sd.eigvalsh(sd.symbol("A", (3, 3)))[-1]


@row(None, None)
def largest_eigenvalue_gradient():
    A = sd.symbol("A", (3, 3))
    return sd.grad(sd.eigvalsh(A)[-1], A)


@row(None, None)
def spectral_function_gradient():
    A = square()
    return sd.grad(sd.sum(sd.exp(sd.eigvalsh(A))), A)


@row(None, None)
def norm_hessian():
    v = vector("v")
    return sd.hessian(sd.norm(v), v)
