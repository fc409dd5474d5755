"""Elementwise operations, sums over axes, larger arrays, and what index notation has to say."""

import symdiff as sd
from tests.display.rows import table


def vector(name="v"):
    return sd.symbol(name, "n")


def matrix():
    return sd.symbol("A", ("m", "n"))


def huber_loss():
    r = vector("r")
    return sd.sum(sd.where(abs(r) <= 1, r**2 / 2, abs(r) - 0.5)), r


def cube():
    return sd.symbol("T", ("p", "q", "r"))


def tensor_and_vector():
    T, u = cube(), sd.symbol("u", "r")
    return sd.einsum("ijk,k->ij", T, u)


def trilinear_form():
    T = cube()
    u, v, w = sd.symbol("u", "p"), sd.symbol("v", "q"), sd.symbol("w", "r")
    return sd.einsum("ijk,i,j,k->", T, u, v, w)


def trilinear_form_gradient():
    T = cube()
    u, v, w = sd.symbol("u", "p"), sd.symbol("v", "q"), sd.symbol("w", "r")
    return sd.grad(sd.einsum("ijk,i,j,k->", T, u, v, w), u)


ARRAYS = table(
    "arrays",
    {
        # Elementwise
        "hadamard": ("u n, v n", lambda u, v: u * v, "u*v", r"u \odot v"),
        "hadamard_quotient": ("u n, v n", lambda u, v: u / v, "u/v", r"u \oslash v"),
        "power_sum_gradient": (
            "v n",
            lambda v: sd.grad(sd.sum(v**4), v),
            "4*v**3",
            r"4 v^{\odot 3}",
        ),
        "sine_of_a_vector": ("", lambda: sd.sin(vector()), "sin(v)", r"\sin\left(v\right)"),
        "exponential_of_elements": (
            "",
            lambda: sd.exp(matrix()),
            "exp(A)",
            r"\left[e^{A_{i,j}}\right]_{i,j}",
        ),
        "vector_and_scalar": ("v n, x", lambda v, x: v + x, "v + x", r"v + x \mathbf{1}"),
        "vector_of_numbers": (
            "b 3",
            lambda b: b * sd.constant([1.0, 2.0, 3.0]),
            "b*[1.0, 2.0, 3.0]",
            r"b \odot \begin{bmatrix} 1.0 \\ 2.0 \\ 3.0 \end{bmatrix}",
        ),
        "matrix_of_numbers": (
            "x 2",
            lambda x: sd.constant([[1, 2], [3, 4]]) @ x,
            "[[1, 2], [3, 4]] @ x",
            r"\begin{bmatrix} 1 & 2 \\ 3 & 4 \end{bmatrix} x",
        ),
        # Choices
        "largest": ("", lambda: sd.max(vector()), "max(v)", r"\max\left(v\right)"),
        "absolute_norm": (
            "",
            lambda: sd.sum(abs(vector())),
            "sum(abs(v))",
            r"\sum_{i} \left|v_{i}\right|",
        ),
        "absolute_norm_gradient": (
            "v n",
            lambda v: sd.grad(sd.sum(abs(v)), v),
            "sign(v)",
            r"\operatorname{sign}\left(v\right)",
        ),
        "masked_gradient": (
            "v n",
            lambda v: sd.grad(sd.sum(sd.where(v > 0, v**2, 0)), v),
            "where(v > 0, 2*v, 0)",
            r"\begin{cases} 2 v & \text{for}\: v > 0 \\ 0 & \text{otherwise} \end{cases}",
        ),
        "huber": (
            "",
            lambda: huber_loss()[0],
            "sum(where(abs(r) <= 1, r**2/2, abs(r) - 1/2))",
            r"\sum_{i} \begin{cases} \frac{r_{i}^2}{2} & \text{for}\: \left|r_{i}\right| \leq 1 \\"
            r" \left|r_{i}\right| - \frac{1}{2} & \text{otherwise} \end{cases}",
        ),
        "huber_gradient": (
            "",
            lambda: sd.grad(*huber_loss()),
            "where(abs(r) <= 1, r, sign(r))",
            r"\begin{cases} r & \text{for}\: \left|r\right| \leq 1 \\"
            r" \operatorname{sign}\left(r\right) & \text{otherwise} \end{cases}",
        ),
        "sorted_vector": (
            "",
            lambda: sd.sort(vector()),
            "sort(v)",
            r"\operatorname{sort}\left(v\right)",
        ),
        # Sums
        "sum_of_exponentials": (
            "",
            lambda: sd.sum(sd.exp(vector())),
            "sum(exp(v))",
            r"\sum_{i} e^{v_{i}}",
        ),
        "sum_of_exponentials_hessian": (
            "v n",
            lambda v: sd.hessian(sd.sum(sd.exp(v)), v),
            "diag(exp(v))",
            r"\operatorname{diag}\left(e^v\right)",
        ),
        "sum_over_rows": (
            "",
            lambda: sd.sum(matrix(), axis=0),
            "sum(A, axis=0)",
            r"A^\top \mathbf{1}",
        ),
        "sum_over_columns": (
            "",
            lambda: sd.sum(matrix(), axis=1),
            "sum(A, axis=1)",
            r"A \mathbf{1}",
        ),
        "mean_over_rows": (
            "",
            lambda: sd.mean(sd.symbol("A", (4, "n")), axis=0),
            "sum(A, axis=0)/4",
            r"\frac{1}{4} A^\top \mathbf{1}",
        ),
        "mean": ("", lambda: sd.mean(vector()), "sum(v)/n", r"\frac{1}{n} \sum_{i} v_{i}"),
        "mean_gradient": (
            "v n",
            lambda v: sd.grad(sd.mean(v), v),
            "ones(n)/n",
            r"\frac{\mathbf{1}}{n}",
        ),
        "sum_gradient": (
            "A m n",
            lambda A: sd.grad(sd.sum(A), A),
            "ones((m, n))",
            r"\mathbf{1} \mathbf{1}^\top",
        ),
        "sum_of_gram_gradient": (
            "A m n",
            lambda A: sd.grad(sd.sum(A @ A.T), A),
            "[i,j] = 2*sum[k](A[k,j])",
            r"\left[2 \sum_{k} A_{k,j}\right]_{i,j}",
        ),
        "product_of_elements": ("", lambda: sd.prod(vector()), "prod(v)", r"\prod_{i} v_{i}"),
        "running_sum": (
            "",
            lambda: sd.cumsum(vector()),
            "cumsum(v)",
            r"\operatorname{cumsum}\left(v\right)",
        ),
        "running_sum_gradient": (
            "c n, v n",
            lambda c, v: sd.grad(c @ sd.cumsum(v), v),
            "flip(cumsum(flip(c)))",
            r"\operatorname{flip}\left(\operatorname{cumsum}\left(\operatorname{flip}\left(c"
            r"\right)\right)\right)",
        ),
        # The axis is said wherever NumPy would take all of them.
        "largest_of_rows": ("", lambda: sd.max(matrix(), axis=1), "max(A, axis=1)", None),
        "product_of_rows": ("", lambda: sd.prod(matrix(), axis=1), "prod(A, axis=1)", None),
        "logsumexp_of_rows": (
            "",
            lambda: sd.logsumexp(matrix(), axis=1),
            "logsumexp(A, axis=1)",
            None,
        ),
        "softmax_of_rows": ("", lambda: sd.softmax(matrix(), axis=1), "softmax(A, axis=1)", None),
        "running_sum_of_columns": (
            "",
            lambda: sd.cumsum(matrix(), axis=0),
            "cumsum(A, axis=0)",
            None,
        ),
        "sorted_rows": ("", lambda: sd.sort(matrix(), axis=1), "sort(A, axis=1)", None),
        # Tensors
        "tensor_and_vector": (
            "",
            tensor_and_vector,
            "[i,j] = sum[k](T[i,j,k]*u[k])",
            r"\left[\sum_{k} T_{i,j,k} u_{k}\right]_{i,j}",
        ),
        "matrix_and_tensor": (
            "A m p, B n p m",
            lambda A, B: sd.einsum("ik,jki->ij", A, B),
            "[i,j] = sum[k](A[i,k]*B[j,k,i])",
            r"\left[\sum_{k} A_{i,k} B_{j,k,i}\right]_{i,j}",
        ),
        "trilinear_form": (
            "",
            trilinear_form,
            "sum[i,j,k](T[i,j,k]*u[i]*v[j]*w[k])",
            r"\sum_{i,j,k} T_{i,j,k} u_{i} v_{j} w_{k}",
        ),
        "trilinear_form_gradient": (
            "",
            trilinear_form_gradient,
            "[i] = sum[j,k](T[i,j,k]*v[j]*w[k])",
            r"\left[\sum_{j,k} T_{i,j,k} v_{j} w_{k}\right]_{i}",
        ),
        # Layouts
        "differences": (
            "z 20",
            lambda z: sd.sum((z[1:] - z[:-1]) ** 2),
            "sum((z[1:20] - z[:19])**2)",
            r"\left\lVert z_{1:20} - z_{:19} \right\rVert^2",
        ),
        "part_gradient": (
            "z 20",
            lambda z: sd.grad(sd.sum(z[1:3] ** 2), z),
            "[i] = 2*z[i]*[1 <= i < 3]",
            r"\left[2 z_{i} \left[1 \leq i < 3\right]\right]_{i}",
        ),
        "padded": (
            "",
            lambda: sd.pad(sd.symbol("v", 30), 1),
            "[i] = v[i - 1]*[1 <= i < 31]",
            r"\left[v_{i - 1} \left[1 \leq i < 31\right]\right]_{i}",
        ),
        "reshaped": (
            "",
            lambda: sd.reshape(sd.symbol("v", 60), (6, 10)),
            "reshape(v, (6, 10))",
            r"\operatorname{reshape}\left(v, \left(6, 10\right)\right)",
        ),
        "flipped": ("", lambda: sd.flip(vector()), "flip(v)", r"\operatorname{flip}\left(v\right)"),
        "joined": (
            "u 20, v 30",
            lambda u, v: sd.concat([u, v]),
            "concat([u, v])",
            r"\begin{bmatrix} u \\ v \end{bmatrix}",
        ),
        "joined_columns": (
            "A m 20, B m 30",
            lambda A, B: sd.concat([A, B], axis=1),
            "concat([A, B], axis=1)",
            r"\begin{bmatrix} A & B \end{bmatrix}",
        ),
        "rolled": (
            "",
            lambda: sd.roll(sd.symbol("v", 20), 1),
            "concat([v[19:20], v[:19]])",
            r"\begin{bmatrix} v_{19:20} \\ v_{:19} \end{bmatrix}",
        ),
        "lower_triangle": (
            "",
            lambda: sd.tril(sd.symbol("A", ("n", "n"))),
            "tril(A)",
            r"\operatorname{tril}\left(A\right)",
        ),
        "diagonal": (
            "",
            lambda: sd.diagonal(sd.symbol("A", ("n", "n"))),
            "diagonal(A)",
            r"\operatorname{diag}\left(A\right)",
        ),
        "gathered_gradient": ("v 50", lambda v: sd.grad(sd.sum(v[[0, 2, 2]] ** 2), v), None, None),
        "convolution": ("a 40, b 5", lambda a, b: sd.convolve(a, b), None, None),
    },
)
