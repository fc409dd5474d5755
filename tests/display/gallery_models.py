"""Models and their derivatives: regression, densities, layers, softmax."""

import symdiff as sd
from tests.display.rows import table


def regression():
    return sd.symbol("X", ("n", "d")), sd.symbol("w", "d"), sd.symbol("y", "n")


def least_squares_loss():
    X, w, y = regression()
    return sd.sum((X @ w - y) ** 2), w


def ridge_loss():
    X, w, y = regression()
    lamda = sd.symbol("lamda")
    return sd.sum((X @ w - y) ** 2) + lamda * (w @ w), w


def logistic_loss():
    X, w, y = regression()
    z = X @ w
    return sd.sum(sd.softplus(z) - y * z), w


def normal_density():
    x, mu, Sigma = sd.symbol("x", "d"), sd.symbol("mu", "d"), sd.symbol("Sigma", ("d", "d"))
    r = x - mu
    return -(r @ sd.solve(Sigma, r)) / 2 - sd.slogdet(Sigma)[1] / 2, mu, Sigma


def normal_by_mean():
    density, mu, _ = normal_density()
    return sd.grad(density, mu)


def normal_by_covariance():
    density, _, Sigma = normal_density()
    return sd.grad(density, Sigma)


def layer():
    W, x = sd.symbol("W", ("m", "n")), sd.symbol("x", "n")
    product = W @ x
    return sd.tanh(product + sd.symbol("b", "m")), W, x


def dense_jacobian():
    h, _, x = layer()
    return sd.jacobian(h, x)


def dense_by_weights():
    a = sd.symbol("a", "m")
    h, W, _ = layer()
    return sd.grad(a @ h, W)


MODELS = table(
    "models",
    {
        # Least squares
        "least_squares": (
            "",
            lambda: least_squares_loss()[0],
            "sum((X @ w - y)**2)",
            r"\left\lVert X w - y \right\rVert^2",
        ),
        "least_squares_gradient": (
            "",
            lambda: sd.grad(*least_squares_loss()),
            "2*X.T @ (X @ w - y)",
            r"2 X^\top \left(X w - y\right)",
        ),
        "least_squares_hessian": (
            "",
            lambda: sd.hessian(*least_squares_loss()),
            "2*X.T @ X",
            r"2 X^\top X",
        ),
        "least_squares_fixed_gradient": (
            "A 3 2, x 2, b 3",
            lambda A, x, b: sd.grad(sd.sum((A @ x - b) ** 2) / 2, x),
            "A.T @ (A @ x - b)",
            r"A^\top \left(A x - b\right)",
        ),
        "least_squares_fixed_hessian": (
            "A 3 2, x 2, b 3",
            lambda A, x, b: sd.hessian(sd.sum((A @ x - b) ** 2) / 2, x),
            "A.T @ A",
            r"A^\top A",
        ),
        "ridge": (
            "",
            lambda: ridge_loss()[0],
            "sum((X @ w - y)**2) + lamda*(w @ w)",
            r"\left\lVert X w - y \right\rVert^2 + \lambda \left\lVert w \right\rVert^2",
        ),
        "ridge_gradient": (
            "",
            lambda: sd.grad(*ridge_loss()),
            "2*X.T @ (X @ w - y) + 2*lamda*w",
            r"2 X^\top \left(X w - y\right) + 2 \lambda w",
        ),
        "ridge_hessian": (
            "",
            lambda: sd.hessian(*ridge_loss()),
            "2*X.T @ X + 2*lamda*eye(d)",
            r"2 X^\top X + 2 \lambda I",
        ),
        "mean_squared_error": (
            "X n d, w d, y n",
            lambda X, w, y: sd.mean((X @ w - y) ** 2),
            "sum((X @ w - y)**2)/n",
            r"\frac{\left\lVert X w - y \right\rVert^2}{n}",
        ),
        "mean_squared_error_gradient": (
            "X n d, w d, y n",
            lambda X, w, y: sd.grad(sd.mean((X @ w - y) ** 2), w),
            "2*X.T @ (X @ w - y)/n",
            r"\frac{2}{n} X^\top \left(X w - y\right)",
        ),
        # Logistic regression
        "logistic": (
            "",
            lambda: logistic_loss()[0],
            "sum(softplus(X @ w) - y*(X @ w))",
            r"\sum_{i} \left(\operatorname{softplus}\left(\left(X w\right)_{i}\right)"
            r" - y_{i} \left(X w\right)_{i}\right)",
        ),
        "logistic_gradient": (
            "",
            lambda: sd.grad(*logistic_loss()),
            "X.T @ (sigmoid(X @ w) - y)",
            r"X^\top \left(\operatorname{sigmoid}\left(X w\right) - y\right)",
        ),
        "logistic_hessian": (
            "",
            lambda: sd.hessian(*logistic_loss()),
            "X.T @ diag(sech(X @ w/2)**2) @ X/4",
            r"\frac{1}{4} X^\top \operatorname{diag}\left("
            r"\operatorname{sech}^2\left(\frac{1}{2} X w"
            r"\right)\right) X",
        ),
        # The normal distribution
        "normal": (
            "",
            lambda: normal_density()[0],
            "-((x - mu) @ solve(Sigma, x - mu) + log(abs(det(Sigma))))/2",
            r"-\frac{\left(x - \mu\right)^\top \Sigma^{-1} \left(x - \mu\right) +"
            r" \log\left|\det \Sigma\right|}{2}",
        ),
        "normal_by_mean": (
            "",
            normal_by_mean,
            "solve(Sigma, x - mu)/2 + solve(Sigma.T, x - mu)/2",
            r"\frac{1}{2} \Sigma^{-1} \left(x - \mu\right)"
            r" + \frac{1}{2} \Sigma^{-\top} \left(x - \mu\right)",
        ),
        "normal_by_covariance": (
            "",
            normal_by_covariance,
            "outer(solve(Sigma.T, x - mu), solve(Sigma, x - mu))/2 - inv(Sigma).T/2",
            r"\frac{1}{2} \Sigma^{-\top} \left(x - \mu\right) \left(x - \mu\right)^\top"
            r" \Sigma^{-\top} - \frac{\Sigma^{-\top}}{2}",
        ),
        # Softmax
        "softmax": (
            "",
            lambda: sd.softmax(sd.symbol("z", "n")),
            "softmax(z)",
            r"\operatorname{softmax}\left(z\right)",
        ),
        "softmax_jacobian": (
            "z n",
            lambda z: sd.jacobian(sd.softmax(z), z),
            "diag(softmax(z)) - outer(softmax(z), softmax(z))",
            r"\operatorname{diag}\left(\operatorname{softmax}\left(z\right)\right)"
            r" - \operatorname{softmax}\left(z\right) \operatorname{softmax}\left(z\right)^\top",
        ),
        "logsumexp_gradient": (
            "z n",
            lambda z: sd.grad(sd.logsumexp(z), z),
            "softmax(z)",
            r"\operatorname{softmax}\left(z\right)",
        ),
        "cross_entropy_gradient": (
            "z n, p n",
            lambda z, p: sd.grad(sd.logsumexp(z) - p @ z, z),
            "softmax(z) - p",
            r"\operatorname{softmax}\left(z\right) - p",
        ),
        # Layers
        "dense": ("", lambda: layer()[0], "tanh(W @ x + b)", r"\tanh\left(W x + b\right)"),
        "dense_jacobian": (
            "",
            dense_jacobian,
            "diag(sech(W @ x + b)**2) @ W",
            r"\operatorname{diag}\left(\operatorname{sech}^2\left(W x + b\right)\right) W",
        ),
        "dense_by_weights": (
            "",
            dense_by_weights,
            "outer(a*sech(W @ x + b)**2, x)",
            r"\left(a \odot \operatorname{sech}^2\left(W x + b\right)\right) x^\top",
        ),
        "rectified": (
            "W m n, x n",
            lambda W, x: sd.maximum(W @ x, 0),
            "maximum(W @ x, 0)",
            r"\max\left(W x, 0\right)",
        ),
    },
)
