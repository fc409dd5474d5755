"""What kernels of eager ops are called with: the arrays that reach them in calls of operations.

The rows of ``op_table`` reach most; ``MORE`` has calls for those that they do not.
``test_kernels`` compares kernels with lowered expressions on such arrays, ``benchmarks.kernels``
times both.
"""

import contextlib
import warnings
from dataclasses import dataclass

import numpy as np

import numeric
import numeric.func
import numeric.nn.functional
from numeric.eager import operations
from tests.eager import op_table


@dataclass(frozen=True)
class KernelCall:
    """An op on operands, arrays and numbers, and with what else it takes."""

    op: operations.Op
    operands: tuple
    params: tuple

    def on(self, operands):
        """The same call on other operands."""
        return KernelCall(self.op, tuple(operands), self.params)

    def by_kernel(self):
        """The results of the kernel, as a list of arrays."""
        return _results(self.op.kernel(*self.operands, *self.params))

    def by_expression(self):
        """Those of the expression, lowered as for an op without a kernel."""
        with without_kernel(self.op):
            return _results(self.op.bound(self.operands, self.params).forward(self.operands))


@contextlib.contextmanager
def without_kernel(op):
    """A context in which the expression of ``op`` is lowered."""
    kernel, op.kernel = op.kernel, None
    try:
        yield
    finally:
        op.kernel = kernel


def _results(values):
    return [np.asarray(v) for v in (values if isinstance(values, tuple) else (values,))]


def name_of(op):
    """The name of an op, and of the class of its nodes, by which PyTorch tells operations apart."""
    return f"{op.name} {op.node.__name__}"


def ops_with_kernels():
    """The declared ops that have kernels, views apart: those have no value of their own."""
    return [op for op in operations.DECLARED.values() if op.kernel is not None and not op.view]


def kernel_calls(kinds=True):
    """A call for each signature with which the rows reach the kernel of an op."""
    ops = ops_with_kernels()
    calls = {}
    params = dict.fromkeys(ops, 0)
    bound = operations.Op.bound

    def counted(op, arrays, rest=()):  # recorded calls tell operands from parameters
        params[op] = len(rest)
        return bound(op, arrays, rest)

    def noted(op, kernel):
        def run(*args, **words):
            out = kernel(*args, **words)
            if not words:  # with out=: in place
                calls.setdefault((op, *map(_signature, args)), tuple(map(_kept, args)))
            return out

        return run

    kernels = [(op, op.kernel) for op in ops]
    for op, kernel in kernels:
        op.kernel = noted(op, kernel)
    operations.Op.bound = counted
    try:
        # A mode in which no operation takes a short way, whose closures hold the kernels.
        with warnings.catch_warnings(), numeric.autograd.set_detect_anomaly(True):
            warnings.simplefilter("ignore")
            for row in op_table.ROWS:
                _run(row, kinds)
            for call in MORE:
                call(numeric)
    finally:
        operations.Op.bound = bound
        for op, kernel in kernels:
            op.kernel = kernel
    return [
        KernelCall(op, args[: len(args) - params[op]], args[len(args) - params[op] :])
        for (op, *_), args in calls.items()
    ]


def _run(row, kinds):
    for case in row.cases:
        for kind in ("float64", "float32"):
            arrays = op_table.arrays_of(row, case)
            with contextlib.suppress(Exception):  # what is refused is another test's
                row.call(numeric, *op_table.tensors_of(arrays, case, kind, numeric, 1))
    if row.kinds and kinds:
        op_table.kind_facts(row, numeric)


def _signature(x):
    return (x.shape, x.dtype.str, x.strides) if isinstance(x, np.ndarray) else repr(x)


def _kept(x):
    """An argument as it is now, in its memory layout."""
    if not isinstance(x, np.ndarray):
        return x
    out = np.empty_like(x)
    out[...] = x
    return out


def _number(*shape):
    rng = np.random.default_rng(len(shape))
    return numeric.tensor(rng.uniform(0.2, 0.8, shape), requires_grad=True)


def _positive(*shape):
    x = _number(*shape)
    return x @ x.mT + numeric.eye(shape[-1], dtype=numeric.float64)


def _linear_algebra(torch):
    x, y, square = _number(2, 4, 3), _number(2, 3, 4), _number(2, 3, 3)
    b = _number(2, 3, 2)
    linalg = torch.linalg
    s = square + 2 * torch.eye(3, dtype=torch.float64)
    for upper in (False, True):
        factor = linalg.cholesky(_positive(2, 3, 3), upper=upper)
        torch.cholesky_solve(b, factor, upper=upper)
        for unit in (False, True):
            linalg.solve_triangular(factor, b, upper=upper, unitriangular=unit)
            linalg.solve_triangular(factor, b.mT, upper=upper, left=False, unitriangular=unit)
    linalg.inv(s)
    linalg.det(s)
    linalg.slogdet(s)
    singular = torch.ones(2, 2, dtype=torch.float64, requires_grad=True)
    size = linalg.slogdet(singular).logabsdet
    with contextlib.suppress(RuntimeError):  # the derivative is infinite, and nan
        torch.autograd.grad(size, singular, create_graph=True)
    linalg.solve(s, b)
    linalg.solve(s, b.mT, left=False)
    linalg.solve(s, _number(2, 3))
    for uplo in ("L", "U"):
        linalg.eigh(square + square.mT, UPLO=uplo)
        linalg.eigvalsh((square + square.mT).detach(), UPLO=uplo)
    for z in (x, y):
        linalg.svd(z, full_matrices=False)
        linalg.svd(z[0], full_matrices=True)
        linalg.svdvals(z.detach())
        linalg.qr(z)
        linalg.qr(z, mode="r")
        linalg.qr(z[0], mode="complete")
        linalg.pinv(z)
    linalg.pinv(square + square.mT, hermitian=True)
    linalg.lstsq(x, _number(2, 4, 2))
    linalg.matrix_exp(square)
    linalg.cross(_number(2, 3), _number(2, 3))


def _losses(torch):
    x, t = _number(2, 3), _number(2, 3)
    w = _number(3).detach()
    f = torch.nn.functional
    for r in ("none", "mean", "sum"):
        f.l1_loss(x, t, reduction=r)
        for size in (0.1, 1.0):
            f.smooth_l1_loss(x, t, reduction=r, beta=size)
            f.huber_loss(x, t, reduction=r, delta=size)
        f.binary_cross_entropy(x, t, weight=w, reduction=r)
        for more in ({}, {"weight": w}, {"pos_weight": w}, {"weight": w, "pos_weight": w}):
            f.binary_cross_entropy_with_logits(x, t, reduction=r, **more)
        classes = torch.tensor([[[0, 1], [2, 1]], [[0, 0], [1, 2]]])
        f.cross_entropy(_number(2, 3, 2, 2), classes, weight=w, reduction=r)


def _pads(torch):
    for mode in ("replicate", "reflect"):
        for axes in (1, 2, 3):
            x = _number(*(1, 2, 3, 4, 5)[: axes + 2])
            torch.nn.functional.pad(x, (1, 1) * axes, mode=mode)
    torch.nn.functional.pad(_number(1, 2, 3), (2, 1), mode="circular")


def _others(torch):
    x, v = _number(2, 3), _number(3)
    f = torch.nn.functional
    torch.div(x, v, rounding_mode=None)
    for exponent in (0, 1, 2, 3, -1, 0.5, 1.7):
        torch.pow(x, exponent)
    torch.deg2rad(x)
    torch.rad2deg(x)
    torch.sgn(x)
    torch.xlogy(2.0, x)
    torch.xlogy(x, 2.0)
    torch.clamp_min(x, v)
    torch.clamp_max(x, v)
    torch.aminmax(x)
    torch.aminmax(x, dim=1)
    torch.std_mean(x)
    torch.vdot(v, v)
    torch.inner(x, x)
    torch.inner(x, _number())
    for alpha in (1, 2):
        torch.addmm(x, _number(2, 4), _number(4, 3), alpha=alpha, beta=alpha)
        torch.addmv(v, _number(3, 2), _number(2), alpha=alpha, beta=alpha)
        torch.addr(x, _number(2), v, alpha=alpha, beta=alpha)
        torch.baddbmm(_number(2, 2, 3), _number(2, 2, 4), _number(2, 4, 3), alpha=alpha, beta=alpha)
    for a in (v, x, torch.tensor([1.0, float("nan"), 2.0, float("nan")], requires_grad=True)):
        torch.nanmedian(a)
        torch.nanmedian(a, dim=0)
    torch.slice_scatter(x, _number(2, 2), 1, 0, 2)
    torch.diagonal_scatter(_number(3, 3), v)
    f.threshold(x, 0.5, 2.0)
    f.linear(v, x)
    f.linear(_number(2, 2, 3), x)


MORE = (_linear_algebra, _losses, _pads, _others)
