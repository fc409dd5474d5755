"""Models and their derivatives: regression, densities, layers, softmax."""

import symdiff as sd
from tests.display.rows import Rows

MODELS = row = Rows("models")


# Least squares ------------------------------------------------------------------------------------


def regression():
    return sd.symbol("X", ("n", "d")), sd.symbol("w", "d"), sd.symbol("y", "n")


def least_squares_loss():
    X, w, y = regression()
    return sd.sum((X @ w - y) ** 2), w


@row("sum((X @ w - y)**2)", r"\left\lVert X w - y \right\rVert^2")
def least_squares():
    return least_squares_loss()[0]


@row("2*X.T @ (X @ w - y)", r"2 X^\top \left(X w - y\right)")
def least_squares_gradient():
    return sd.grad(*least_squares_loss())


@row("2*X.T @ X", r"2 X^\top X")
def least_squares_hessian():
    return sd.hessian(*least_squares_loss())


@row("A.T @ (A @ x - b)", r"A^\top \left(A x - b\right)")
def least_squares_fixed_gradient():
    A, x, b = sd.symbol("A", (3, 2)), sd.symbol("x", 2), sd.symbol("b", 3)
    return sd.grad(sd.sum((A @ x - b) ** 2) / 2, x)


@row("A.T @ A", r"A^\top A")
def least_squares_fixed_hessian():
    A, x, b = sd.symbol("A", (3, 2)), sd.symbol("x", 2), sd.symbol("b", 3)
    return sd.hessian(sd.sum((A @ x - b) ** 2) / 2, x)


def ridge_loss():
    X, w, y = regression()
    lamda = sd.symbol("lamda")
    return sd.sum((X @ w - y) ** 2) + lamda * (w @ w), w


@row(
    "sum((X @ w - y)**2) + lamda*(w @ w)",
    r"\left\lVert X w - y \right\rVert^2 + \lambda \left\lVert w \right\rVert^2",
)
def ridge():
    return ridge_loss()[0]


@row("2*X.T @ (X @ w - y) + 2*lamda*w", r"2 X^\top \left(X w - y\right) + 2 \lambda w")
def ridge_gradient():
    return sd.grad(*ridge_loss())


@row("2*X.T @ X + 2*lamda*eye(d)", r"2 X^\top X + 2 \lambda I")
def ridge_hessian():
    return sd.hessian(*ridge_loss())


@row("sum((X @ w - y)**2)/n", r"\frac{\left\lVert X w - y \right\rVert^2}{n}")
def mean_squared_error():
    X, w, y = regression()
    return sd.mean((X @ w - y) ** 2)


@row("2*X.T @ (X @ w - y)/n", r"\frac{2}{n} X^\top \left(X w - y\right)")
def mean_squared_error_gradient():
    X, w, y = regression()
    return sd.grad(sd.mean((X @ w - y) ** 2), w)


# Logistic regression ------------------------------------------------------------------------------


def logistic_loss():
    X, w, y = regression()
    z = X @ w
    return sd.sum(sd.softplus(z) - y * z), w


@row(
    "sum(softplus(X @ w) - y*(X @ w))",
    r"\sum_{i} \left(\operatorname{softplus}\left(\left(X w\right)_{i}\right)"
    r" - y_{i} \left(X w\right)_{i}\right)",
)
def logistic():
    return logistic_loss()[0]


@row(
    "X.T @ (sigmoid(X @ w) - y)",
    r"X^\top \left(\operatorname{sigmoid}\left(X w\right) - y\right)",
)
def logistic_gradient():
    return sd.grad(*logistic_loss())


@row(
    "X.T @ diag(sech(X @ w/2)**2) @ X/4",
    r"\frac{1}{4} X^\top \operatorname{diag}\left(\operatorname{sech}^2\left(\frac{1}{2} X w"
    r"\right)\right) X",
)
def logistic_hessian():
    return sd.hessian(*logistic_loss())


# The normal distribution --------------------------------------------------------------------------


def normal_density():
    x, mu, Sigma = sd.symbol("x", "d"), sd.symbol("mu", "d"), sd.symbol("Sigma", ("d", "d"))
    r = x - mu
    return -(r @ sd.solve(Sigma, r)) / 2 - sd.slogdet(Sigma)[1] / 2, mu, Sigma


@row(
    "-(x - mu) @ solve(Sigma, x - mu)/2 - log(abs(det(Sigma)))/2",
    r"-\frac{\left(x - \mu\right)^\top \Sigma^{-1} \left(x - \mu\right)}{2}"
    r" - \frac{\log\left|\det \Sigma\right|}{2}",
)
def normal():
    return normal_density()[0]


@row(
    "solve(Sigma, x - mu)/2 + solve(Sigma.T, x - mu)/2",
    r"\frac{1}{2} \Sigma^{-1} \left(x - \mu\right)"
    r" + \frac{1}{2} \Sigma^{-\top} \left(x - \mu\right)",
)
def normal_by_mean():
    density, mu, _ = normal_density()
    return sd.grad(density, mu)


@row(
    "outer(solve(Sigma.T, x - mu), solve(Sigma, x - mu))/2 - inv(Sigma).T/2",
    r"\frac{1}{2} \Sigma^{-\top} \left(x - \mu\right) \left(x - \mu\right)^\top"
    r" \Sigma^{-\top} - \frac{\Sigma^{-\top}}{2}",
)
def normal_by_covariance():
    density, _, Sigma = normal_density()
    return sd.grad(density, Sigma)


# Softmax ------------------------------------------------------------------------------------------


@row("softmax(z)", r"\operatorname{softmax}\left(z\right)")
def softmax():
    return sd.softmax(sd.symbol("z", "n"))


@row(
    "diag(softmax(z)) - outer(softmax(z), softmax(z))",
    r"\operatorname{diag}\left(\operatorname{softmax}\left(z\right)\right)"
    r" - \operatorname{softmax}\left(z\right) \operatorname{softmax}\left(z\right)^\top",
)
def softmax_jacobian():
    z = sd.symbol("z", "n")
    return sd.jacobian(sd.softmax(z), z)


@row("softmax(z)", r"\operatorname{softmax}\left(z\right)")
def logsumexp_gradient():
    z = sd.symbol("z", "n")
    return sd.grad(sd.logsumexp(z), z)


@row("softmax(z) - p", r"\operatorname{softmax}\left(z\right) - p")
def cross_entropy_gradient():
    z, p = sd.symbol("z", "n"), sd.symbol("p", "n")
    return sd.grad(sd.logsumexp(z) - p @ z, z)


# Layers -------------------------------------------------------------------------------------------


def layer():
    W, x = sd.symbol("W", ("m", "n")), sd.symbol("x", "n")
    product = W @ x
    return sd.tanh(product + sd.symbol("b", "m")), W, x


@row("tanh(W @ x + b)", r"\tanh\left(W x + b\right)")
def dense():
    return layer()[0]


@row(
    "diag(sech(W @ x + b)**2) @ W",
    r"\operatorname{diag}\left(\operatorname{sech}^2\left(W x + b\right)\right) W",
)
def dense_jacobian():
    h, _, x = layer()
    return sd.jacobian(h, x)


@row(
    "outer(a*sech(W @ x + b)**2, x)",
    r"\left(a \odot \operatorname{sech}^2\left(W x + b\right)\right) x^\top",
)
def dense_by_weights():
    a = sd.symbol("a", "m")
    h, W, _ = layer()
    return sd.grad(a @ h, W)


@row("maximum(W @ x, 0)", r"\max\left(W x, 0\right)")
def rectified():
    W, x = sd.symbol("W", ("m", "n")), sd.symbol("x", "n")
    return sd.maximum(W @ x, 0)
