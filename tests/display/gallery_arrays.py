"""Elementwise operations, sums over axes, larger arrays, and what index notation has to say."""

import symdiff as sd
from tests.display.rows import Rows

ARRAYS = row = Rows("arrays")


def vector(name="v"):
    return sd.symbol(name, "n")


def table():
    return sd.symbol("A", ("m", "n"))


# Elementwise --------------------------------------------------------------------------------------


@row("u*v", r"u \odot v")
def hadamard():
    u, v = vector("u"), vector("v")
    return u * v


@row("u/v", r"u \oslash v")
def hadamard_quotient():
    u, v = vector("u"), vector("v")
    return u / v


@row("4*v**3", r"4 v^{\odot 3}")
def power_sum_gradient():
    v = vector()
    return sd.grad(sd.sum(v**4), v)


@row("sin(v)", r"\sin\left(v\right)")
def sine_of_a_vector():
    return sd.sin(vector())


@row("exp(A)", r"\left[e^{A_{i,j}}\right]_{i,j}")
def exponential_of_elements():
    return sd.exp(table())


@row("v + x", r"v + x \mathbf{1}")
def vector_and_scalar():
    v, x = vector(), sd.symbol("x")
    return v + x


@row(
    "b*[1.0, 2.0, 3.0]",
    r"b \odot \begin{bmatrix} 1.0 \\ 2.0 \\ 3.0 \end{bmatrix}",
)
def vector_of_numbers():
    b = sd.symbol("b", 3)
    return b * sd.constant([1.0, 2.0, 3.0])


@row("[[1, 2], [3, 4]] @ x", r"\begin{bmatrix} 1 & 2 \\ 3 & 4 \end{bmatrix} x")
def matrix_of_numbers():
    x = sd.symbol("x", 2)
    return sd.constant([[1, 2], [3, 4]]) @ x


# Choices ------------------------------------------------------------------------------------------


@row("max(v)", r"\max\left(v\right)")
def largest():
    return sd.max(vector())


@row("sum(abs(v))", r"\sum_{i} \left|v_{i}\right|")
def absolute_norm():
    return sd.sum(abs(vector()))


@row("sign(v)", r"\operatorname{sign}\left(v\right)")
def absolute_norm_gradient():
    v = vector()
    return sd.grad(sd.sum(abs(v)), v)


@row(
    "where(v > 0, 2*v, 0)",
    r"\begin{cases} 2 v & \text{for}\: v > 0 \\ 0 & \text{otherwise} \end{cases}",
)
def masked_gradient():
    v = vector()
    return sd.grad(sd.sum(sd.where(v > 0, v**2, 0)), v)


def huber_loss():
    r = vector("r")
    return sd.sum(sd.where(abs(r) <= 1, r**2 / 2, abs(r) - 0.5)), r


@row(
    "sum(where(abs(r) <= 1, r**2/2, abs(r) - 1/2))",
    r"\sum_{i} \begin{cases} \frac{r_{i}^2}{2} & \text{for}\: \left|r_{i}\right| \leq 1 \\"
    r" \left|r_{i}\right| - \frac{1}{2} & \text{otherwise} \end{cases}",
)
def huber():
    return huber_loss()[0]


@row(
    "where(abs(r) <= 1, r, sign(r))",
    r"\begin{cases} r & \text{for}\: \left|r\right| \leq 1 \\"
    r" \operatorname{sign}\left(r\right) & \text{otherwise} \end{cases}",
)
def huber_gradient():
    return sd.grad(*huber_loss())


@row("sort(v)", r"\operatorname{sort}\left(v\right)")
def sorted_vector():
    return sd.sort(vector())


# Sums ---------------------------------------------------------------------------------------------


@row("sum(exp(v))", r"\sum_{i} e^{v_{i}}")
def sum_of_exponentials():
    return sd.sum(sd.exp(vector()))


@row("diag(exp(v))", r"\operatorname{diag}\left(e^v\right)")
def sum_of_exponentials_hessian():
    v = vector()
    return sd.hessian(sd.sum(sd.exp(v)), v)


@row("sum(A, axis=0)", r"A^\top \mathbf{1}")
def sum_over_rows():
    return sd.sum(table(), axis=0)


@row("sum(A, axis=1)", r"A \mathbf{1}")
def sum_over_columns():
    return sd.sum(table(), axis=1)


@row("sum(A, axis=0)/4", r"\frac{1}{4} A^\top \mathbf{1}")
def mean_over_rows():
    return sd.mean(sd.symbol("A", (4, "n")), axis=0)


@row("sum(v)/n", r"\frac{1}{n} \sum_{i} v_{i}")
def mean():
    return sd.mean(vector())


@row("ones(n)/n", r"\frac{\mathbf{1}}{n}")
def mean_gradient():
    v = vector()
    return sd.grad(sd.mean(v), v)


@row("ones((m, n))", r"\mathbf{1} \mathbf{1}^\top")
def sum_gradient():
    A = table()
    return sd.grad(sd.sum(A), A)


@row("[i,j] = 2*sum[k](A[k,j])", r"\left[2 \sum_{k} A_{k,j}\right]_{i,j}")
def sum_of_gram_gradient():
    A = table()
    return sd.grad(sd.sum(A @ A.T), A)


@row("prod(v)", r"\prod_{i} v_{i}")
def product_of_elements():
    return sd.prod(vector())


@row("cumsum(v)", r"\operatorname{cumsum}\left(v\right)")
def running_sum():
    return sd.cumsum(vector())


@row(
    "flip(cumsum(flip(c)))",
    r"\operatorname{flip}\left(\operatorname{cumsum}\left(\operatorname{flip}\left(c"
    r"\right)\right)\right)",
)
def running_sum_gradient():
    c, v = vector("c"), vector()
    return sd.grad(c @ sd.cumsum(v), v)


# The axis is said wherever NumPy would take all of them.


@row("max(A, axis=1)", None)
def largest_of_rows():
    return sd.max(table(), axis=1)


@row("prod(A, axis=1)", None)
def product_of_rows():
    return sd.prod(table(), axis=1)


@row("logsumexp(A, axis=1)", None)
def logsumexp_of_rows():
    return sd.logsumexp(table(), axis=1)


@row("softmax(A, axis=1)", None)
def softmax_of_rows():
    return sd.softmax(table(), axis=1)


@row("cumsum(A, axis=0)", None)
def running_sum_of_columns():
    return sd.cumsum(table(), axis=0)


@row("sort(A, axis=1)", None)
def sorted_rows():
    return sd.sort(table(), axis=1)


# Tensors ------------------------------------------------------------------------------------------


def cube():
    return sd.symbol("T", ("p", "q", "r"))


@row("[i,j] = sum[k](T[i,j,k]*u[k])", r"\left[\sum_{k} T_{i,j,k} u_{k}\right]_{i,j}")
def tensor_and_vector():
    T, u = cube(), sd.symbol("u", "r")
    return sd.einsum("ijk,k->ij", T, u)


@row("[i,j] = sum[k](A[i,k]*B[j,k,i])", r"\left[\sum_{k} A_{i,k} B_{j,k,i}\right]_{i,j}")
def matrix_and_tensor():
    A, B = sd.symbol("A", ("m", "p")), sd.symbol("B", ("n", "p", "m"))
    return sd.einsum("ik,jki->ij", A, B)


@row("sum[i,j,k](T[i,j,k]*u[i]*v[j]*w[k])", r"\sum_{i,j,k} T_{i,j,k} u_{i} v_{j} w_{k}")
def trilinear_form():
    T = cube()
    u, v, w = sd.symbol("u", "p"), sd.symbol("v", "q"), sd.symbol("w", "r")
    return sd.einsum("ijk,i,j,k->", T, u, v, w)


@row("[i] = sum[j,k](T[i,j,k]*v[j]*w[k])", r"\left[\sum_{j,k} T_{i,j,k} v_{j} w_{k}\right]_{i}")
def trilinear_form_gradient():
    T = cube()
    u, v, w = sd.symbol("u", "p"), sd.symbol("v", "q"), sd.symbol("w", "r")
    return sd.grad(sd.einsum("ijk,i,j,k->", T, u, v, w), u)


# Layouts ------------------------------------------------------------------------------------------


@row("sum((z[1:20] - z[:19])**2)", r"\left\lVert z_{1:20} - z_{:19} \right\rVert^2")
def differences():
    z = sd.symbol("z", 20)
    return sd.sum((z[1:] - z[:-1]) ** 2)


@row("[i] = 2*z[i]*[1 <= i < 3]", r"\left[2 z_{i} \left[1 \leq i < 3\right]\right]_{i}")
def part_gradient():
    z = sd.symbol("z", 20)
    return sd.grad(sd.sum(z[1:3] ** 2), z)


@row("[i] = v[i - 1]*[1 <= i < 31]", r"\left[v_{i - 1} \left[1 \leq i < 31\right]\right]_{i}")
def padded():
    return sd.pad(sd.symbol("v", 30), 1)


@row(
    "reshape(v, (6, 10))",
    r"\operatorname{reshape}\left(v, \left(6, 10\right)\right)",
)
def reshaped():
    return sd.reshape(sd.symbol("v", 60), (6, 10))


@row("flip(v)", r"\operatorname{flip}\left(v\right)")
def flipped():
    return sd.flip(vector())


@row("concat([u, v])", r"\begin{bmatrix} u \\ v \end{bmatrix}")
def joined():
    u, v = sd.symbol("u", 20), sd.symbol("v", 30)
    return sd.concat([u, v])


@row("concat([A, B], axis=1)", r"\begin{bmatrix} A & B \end{bmatrix}")
def joined_columns():
    A, B = sd.symbol("A", ("m", 20)), sd.symbol("B", ("m", 30))
    return sd.concat([A, B], axis=1)


@row("concat([v[19:20], v[:19]])", r"\begin{bmatrix} v_{19:20} \\ v_{:19} \end{bmatrix}")
def rolled():
    return sd.roll(sd.symbol("v", 20), 1)


@row("tril(A)", r"\operatorname{tril}\left(A\right)")
def lower_triangle():
    return sd.tril(sd.symbol("A", ("n", "n")))


@row("diagonal(A)", r"\operatorname{diag}\left(A\right)")
def diagonal():
    return sd.diagonal(sd.symbol("A", ("n", "n")))


@row(None, None)
def gathered_gradient():
    v = sd.symbol("v", 50)
    return sd.grad(sd.sum(v[[0, 2, 2]] ** 2), v)


@row(None, None)
def convolution():
    a, b = sd.symbol("a", 40), sd.symbol("b", 5)
    return sd.convolve(a, b)
