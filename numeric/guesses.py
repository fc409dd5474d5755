"""Names from other libraries that users try, and their equivalents here.

Only error messages read these tables.  A name in a table does not exist in this library.
"""

from __future__ import annotations

_EXPRESSIONS = "for expressions only: "
_MODULES = "there are no modules: parameters are tensors, layers functions of them"
_FILES = "pickle.dump and pickle.load take tensors"
_CONVOLUTIONS = "tensors have no convolutions; sd.convolve is for expressions"
_CPU = "tensors are on the CPU"
_CUSTOM = "numeric.autograd.Function takes your own derivative; for formulas use sd.custom"
_SOLVERS = "SciPy's solvers take the fields of numeric.export.scipy(f, x)"
_RECURRENT = "write the step as a function, and the loop in Python"
_NORMALISED = "(x - x.mean(0)) / (x.var(0, correction=0) + eps).sqrt()"
_POOLED = {
    "max_pool1d": "x.unfold(-1, k, k).amax(-1)",
    "max_pool2d": "x.unfold(-2, k, k).unfold(-2, k, k).amax((-2, -1))",
    "avg_pool1d": "x.unfold(-1, k, k).mean(-1)",
    "avg_pool2d": "x.unfold(-2, k, k).unfold(-2, k, k).mean((-2, -1))",
}
_CODE = "F.source of a lowered F is NumPy code; sympy.ccode(sd.to_sympy(f)) writes C"

PACKAGE: dict[str, str] = {
    "lambdify": "numeric.lower(f, [x, y])",
    "symbol": _EXPRESSIONS + "sd.symbol",
    "symbols": _EXPRESSIONS + "sd.symbols",
    "jit": "numeric.lower makes a fast function of a formula, numeric.compile one of eager code",
    "grad": "numeric.func.grad for eager functions, numeric.autograd.grad for recorded results, "
    "sd.grad for formulas, the method grad for a Function",
    "value_and_grad": "numeric.func.grad_and_value for eager functions, the method of a Function",
    "jacobian": "numeric.autograd.functional.jacobian; for formulas sd.jacobian",
    "hessian": "numeric.autograd.functional.hessian; for formulas sd.hessian",
    "jvp": "numeric.func.jvp",
    "vjp": "numeric.func.vjp",
    "hvp": "numeric.autograd.functional.hvp; for formulas sd.hvp",
    "gradcheck": "numeric.check.gradcheck; numeric.autograd.gradcheck has PyTorch's tolerances",
    "check_grad": "numeric.check.audit, for a gradient written by hand",
    "hessp": _EXPRESSIONS + "sd.hvp",
    **{
        name: f"{_EXPRESSIONS}sd.{name}"
        for name in ("simplify", "expand", "factor", "series", "limit", "latex", "text", "parse")
    },
    **dict.fromkeys(("subs", "evalf", "to_sympy"), _EXPRESSIONS + "sd.substitute, sd.evalf ..."),
    **dict.fromkeys(
        ("minimize", "least_squares", "curve_fit"),
        "numeric.export.scipy(f, x) has fun, jac and hess for SciPy's",
    ),
    **dict.fromkeys(
        ("solve_ivp", "odeint"), "numeric.export.solve_ivp(rhs, y) has fun and jac for SciPy's"
    ),
    "gradient": "numeric.func.grad for eager functions, t.backward() for recorded results",
    "F": "numeric.nn.functional",
    "Parameter": "numeric.nn.Parameter",
    "Module": _MODULES,
    "array": "numeric.tensor",
    "save": _FILES,
    "load": _FILES,
    "cuda": _CPU,
    "backends": _CPU,
    "mps": _CPU,
    "utils": "numeric.nn.utils has the utilities of parameters",
    "FloatTensor": "numeric.tensor(data, dtype=numeric.float32)",
    "DoubleTensor": "numeric.tensor(data, dtype=numeric.float64)",
    "LongTensor": "numeric.tensor(data, dtype=numeric.int64)",
    "IntTensor": "numeric.tensor(data, dtype=numeric.int32)",
    "BoolTensor": "numeric.tensor(data, dtype=numeric.bool)",
    "set_num_threads": "NumPy's libraries have their own settings",
    "jit_script": "numeric.compile",
    "complex64": "tensors are real",
    "complex128": "tensors are real",
    "polygamma": "sd.polygamma, for expressions",
    "bincount": "it has no derivative; np.bincount(t.numpy())",
    "trapezoid": "((y[1:] + y[:-1]) / 2).sum() * dx; sd.trapezoid is for expressions",
    "cov": "c = x - x.mean(1, True), then c @ c.T / (c.shape[1] - 1); sd.cov is for expressions",
    "cdist": "(x[:, None] - y).norm(dim=-1)",
    **dict.fromkeys(("conv1d", "conv2d"), _CONVOLUTIONS),
    "fft": "sd.fft, for expressions",
    "interp": "sd.interp, for expressions",
    "sparse": "tensors are dense; sd.sparsity finds the entries of a Jacobian that may not be 0",
    "distributions": "numeric.randn and others draw numbers; write densities as formulas",
    "save_for_backward": "a method of ctx in numeric.autograd.Function",
    **dict.fromkeys(("custom_jvp", "custom_vjp", "custom_gradient"), _CUSTOM),
    "jacfwd": "numeric.func.jacfwd; for formulas sd.jacobian",
    "jacrev": "numeric.func.jacrev; for formulas sd.jacobian",
    "stop_gradient": "t.detach(); for formulas sd.detach",
    "random": "numeric.rand, numeric.randn, numeric.manual_seed ...",
    "ndarray": "numeric.Tensor; Functions take NumPy's arrays",
    "block_until_ready": "a call has its value when it returns",
    **dict.fromkeys(("nlpsol", "Opti", "root", "optimize"), _SOLVERS),
    **dict.fromkeys(
        ("brentq", "newton", "fsolve", "nsolve"), "sd.root(f, x0), for formulas; " + _SOLVERS
    ),
    "integrator": "numeric.export.solve_ivp(rhs, y) has fun and jac for SciPy's solver",
    "approx_fprime": "numeric.check.derivative; exactly, the method grad of a Function",
    "codegen": _CODE,
    "bfloat16": "the only floating dtypes are numeric.float16, float32 and float64",
    "lstsq": "numeric.linalg.lstsq",
    "svd": "numeric.linalg.svd",
    "symeig": "numeric.linalg.eigh",
    "sparse_coo_tensor": "tensors are dense",
    "block_diag": "numeric.cat of rows made by numeric.cat",
    **{name: f"sd.{name}, for expressions" for name in ("i0", "erfcx", "vander")},
    "mvlgamma": "sd.multigammaln, for expressions",
    "batch_norm": _NORMALISED,
    **_POOLED,
    "onnx": "pickle.dump takes Functions, and F.source of a lowered F is NumPy code",
    "fx": "t.draw() shows the record; sd.from_function makes a formula of NumPy code",
    "distributed": "there is one process, on the CPU",
    "profiler": "Python's cProfile sees every call",
    "stft": "sd.fft of parts of the signal, for expressions",
    "lu": "linalg.solve and linalg.det; their factors are not public",
}
"""Names tried in the package ``numeric``."""

NN: dict[str, str] = {
    "Module": _MODULES,
    "Linear": "nn.functional.linear(x, weight, bias)",
    "Sequential": _MODULES,
    "ModuleList": _MODULES,
    "ReLU": "nn.functional.relu",
    "Tanh": "numeric.tanh",
    "Sigmoid": "numeric.sigmoid",
    "Softmax": "nn.functional.softmax",
    "Dropout": "nn.functional.dropout",
    **dict.fromkeys(("Conv1d", "Conv2d"), _CONVOLUTIONS),
    "Embedding": "weight[indices]",
    "LayerNorm": "(x - x.mean(-1, True)) / (x.var(-1, correction=0, keepdim=True) + eps).sqrt()",
    "MSELoss": "nn.functional.mse_loss",
    "L1Loss": "nn.functional.l1_loss",
    "CrossEntropyLoss": "nn.functional.cross_entropy",
    "NLLLoss": "nn.functional.nll_loss",
    "BCELoss": "nn.functional.binary_cross_entropy",
    "BCEWithLogitsLoss": "nn.functional.binary_cross_entropy_with_logits",
    "HuberLoss": "nn.functional.huber_loss",
    "SmoothL1Loss": "nn.functional.smooth_l1_loss",
    "KLDivLoss": "nn.functional.kl_div",
    "GELU": "nn.functional.gelu",
    "SiLU": "nn.functional.silu",
    "ELU": "nn.functional.elu",
    "LeakyReLU": "nn.functional.leaky_relu",
    "Softplus": "nn.functional.softplus",
    "Flatten": "x.flatten(1)",
    "ParameterList": "a list of numeric.nn.Parameter",
    **dict.fromkeys(("RNN", "LSTM", "GRU"), _RECURRENT),
    **dict.fromkeys(("BatchNorm1d", "BatchNorm2d"), _NORMALISED),
    **{f"{name[:3].title()}Pool{name[-2:]}": text for name, text in _POOLED.items()},
    **dict.fromkeys(("Transformer", "MultiheadAttention"), _MODULES),
    "init": "tensors fill themselves: t.uniform_(-a, a), t.normal_(0, s)",
}
"""Names tried in ``numeric.nn``."""

FUNCTIONAL: dict[str, str] = {
    **dict.fromkeys(("conv1d", "conv2d"), _CONVOLUTIONS),
    "embedding": "weight[indices]",
    "layer_norm": NN["LayerNorm"],
    "batch_norm": _NORMALISED,
    **_POOLED,
    "glu": "a, b = x.chunk(2, -1), then a * sigmoid(b)",
    "poisson_nll_loss": "(x.exp() - target * x).mean()",
    "gaussian_nll_loss": "((var.log() + (x - target) ** 2 / var) / 2).mean()",
    "triplet_margin_loss": "relu(margin + (x - p).norm(dim=1) - (x - q).norm(dim=1)).mean()",
    "normalize": "x / x.norm(dim=1, keepdim=True)",
    "scaled_dot_product_attention": "softmax(q @ k.mT / q.shape[-1] ** 0.5, -1) @ v",
    "cosine_similarity": "(x * y).sum(1) / (x.norm(dim=1) * y.norm(dim=1))",
}
"""Names tried in ``numeric.nn.functional``."""

OPTIM: dict[str, str] = {
    "LBFGS": "scipy.optimize.minimize, with fun and jac of numeric.export.scipy",
    "RMSprop": "the only optimisers are SGD, Adam and AdamW",
    **dict.fromkeys(
        ("Adagrad", "Adadelta", "Adamax", "NAdam", "RAdam", "ASGD", "Rprop"),
        "the only optimisers are SGD, Adam and AdamW",
    ),
    "lr_scheduler": 'set group["lr"] of optimizer.param_groups',
}
"""Names tried in ``numeric.optim``."""

AUTOGRAD: dict[str, str] = {
    "forward_ad": "numeric.func.jvp",
    "profiler": "Python's cProfile sees every call",
    "hvp": "autograd.functional.hvp",
    "gradgrad": "autograd.grad of a result of autograd.grad with create_graph=True",
    "hessian": "autograd.functional.hessian",
    "jacobian": "autograd.functional.jacobian",
}
"""Names tried in ``numeric.autograd``."""

FUNC: dict[str, str] = {
    "functional_call": "there are no modules: write a function of the parameters",
    "linearize": "func.jvp, at the same point for every tangent",
    "functionalize": "functions are traced as they are",
}
"""Names tried in ``numeric.func``."""

_SCIPY = "export.scipy(f, x) has fun, jac, hess and hessp"

EXPORT: dict[str, str] = {
    **dict.fromkeys(("minimize", "root", "least_squares", "optimize"), _SCIPY),
    "curve_fit": "scipy.optimize.least_squares with " + _SCIPY,
    "odeint": "export.solve_ivp(rhs, y)",
    "numpy": "numeric.lower(f, [x]) is a NumPy function, its source is .source",
    "sympy": "sd.to_sympy(f)",
    **dict.fromkeys(("c", "C", "ccode", "codegen"), _CODE),
    "latex": "f.latex()",
}
"""Names tried in ``numeric.export``."""

CHECK: dict[str, str] = {
    **dict.fromkeys(("check_grads", "check_grad", "check"), "check.audit, or check.gradcheck"),
    **dict.fromkeys(
        ("approx_fprime", "approx_derivative", "numdiff", "fd", "finite_differences"),
        "check.derivative(fn, x)",
    ),
    "numerical_gradient": "check.derivative(fn, x), and check.gradcheck compares with it",
    "assert_gradient_matches": "check.assert_gradients_match",
    "bounds": "check.enclose(f, {x: (lower, upper)})",
    "ulps": "check.certify(F, {x: (lower, upper)}), or .ulps of an audit's findings",
}
"""Names tried in ``numeric.check``."""

SHOW: dict[str, str] = {
    **dict.fromkeys(("explain", "derivation", "chain_rule", "trace"), "show.steps(f, x, at={...})"),
    "text": "sd.text",
    "latex": "sd.latex",
}
"""Names tried in ``numeric.show``."""

STEPS: dict[str, str] = dict.fromkeys(
    ("savefig", "write", "to_html", "to_latex"),
    'steps.save("steps.png"); .svg, .pdf, .html, .tex and .txt, too',
)
"""Names tried on the result of ``numeric.steps``."""

GRAD_FN: dict[str, str] = dict.fromkeys(
    ("_saved_self", "_saved_other", "_saved_result", "_saved_exponent", "_saved_mat2"),
    "t.draw() shows what every operation of the record saved",
)
"""PyTorch's attributes for saved tensors, tried on records of operations."""

FUNCTION: dict[str, str] = {
    "gradient": "F.grad(x)",
    "partial": "F.bind(X=data), or F.grad(x, wrt=...) for a derivative",
    "diff": "F.grad(x), or numeric.lower of sd.diff(f, x)",
    "subs": "F.bind(X=data)",
    "save": "pickle.dump takes Functions",
    "value": "F(x)",
    "derivative": "F.grad(x)",
    **dict.fromkeys(
        ("expr", "formula", "to_sympy", "evalf", "simplify"), "F.outputs are its formulas"
    ),
    **dict.fromkeys(
        ("compile", "numpy"), "F is a NumPy function already; F.source is its source code"
    ),
    "jac": "F.jacobian(x)",
    "hess": "F.hessian(x)",
    **dict.fromkeys(
        ("vmap", "map"), "arrays of points for scalar inputs, or sd.batch of the formula"
    ),
    **dict.fromkeys(("generate", "code"), "F.source, NumPy code"),
    "call": "F(x)",
    **dict.fromkeys(("n_in", "nin", "size1_in", "name_in"), "F.inputs are the symbols"),
    **dict.fromkeys(("n_out", "nout", "size1_out"), "F.outputs are the formulas"),
    "factory": "numeric.lower of sd.grad(f, x), sd.jacobian(f, x) ...",
}
"""Names tried on Functions."""

ARGUMENT: dict[str, str] = dict.fromkeys(
    ("argnums", "argnum"), "derivatives take wrt=x, or wrt=[x, y]"
)
"""Names tried as arguments of Functions and of their derivatives."""

LINALG: dict[str, str] = {
    **dict.fromkeys(("lu", "lu_factor", "lu_solve"), "linalg.solve and linalg.det"),
    "eig": "linalg.eigh, for symmetric matrices",
}
"""Names tried in ``numeric.linalg``."""

TENSOR: dict[str, str] = {
    **dict.fromkeys(("cuda", "pin_memory"), _CPU),
    "bfloat16": PACKAGE["bfloat16"],
    "stft": PACKAGE["stft"],
    "lu": PACKAGE["lu"],
    **dict.fromkeys(("evalf", "subs", "simplify", "latex"), _EXPRESSIONS + "t.expr is the formula"),
}
"""Names tried on tensors."""
