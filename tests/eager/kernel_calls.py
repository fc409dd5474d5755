"""What kernels of eager ops are called with: the arrays that reach them in calls of operations.

The rows of ``op_table`` reach most; ``MORE`` has calls for those that they do not.
``test_kernels`` compares kernels with lowered expressions on such arrays, ``benchmarks.kernels``
times both.
"""

# ruff: noqa: E501  # rows of a table

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
                call()
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


def _numbers(shape, *shapes):
    return [_number(*s) for s in (shape, *shapes)]


def _positive(*shape):
    x = _number(*shape)
    return x @ x.mT + numeric.eye(shape[-1], dtype=numeric.float64)


def _symmetric():
    x = _number(2, 3, 3)
    return x + x.mT


def _regular():
    return _number(2, 3, 3) + 2 * numeric.eye(3, dtype=numeric.float64)


def _factor(upper):
    return numeric.linalg.cholesky(_positive(2, 3, 3), upper=upper)


def _log_of_singular():
    """The derivative is infinite, and nan."""
    singular = numeric.ones(2, 2, dtype=numeric.float64, requires_grad=True)
    size = linalg.slogdet(singular).logabsdet
    with contextlib.suppress(RuntimeError):
        numeric.autograd.grad(size, singular, create_graph=True)


linalg, F = numeric.linalg, numeric.nn.functional
B32 = (2, 3, 2)
CLASSES = numeric.tensor([[[0, 1], [2, 1]], [[0, 0], [1, 2]]])
NAN = numeric.tensor([1.0, float("nan"), 2.0, float("nan")], requires_grad=True)
WEIGHT = _number(3).detach()
WEIGHTS = ({}, {"weight": WEIGHT}, {"pos_weight": WEIGHT}, {"weight": WEIGHT, "pos_weight": WEIGHT})

# Decompositions of matrices that suit them.
DECOMPOSING = (
    *(lambda u=u: numeric.cholesky_solve(_number(*B32), _factor(u), upper=u) for u in (False, True)),
    *(lambda u=u, d=d: linalg.solve_triangular(_factor(u), _number(*B32), upper=u, unitriangular=d)
      for u in (False, True) for d in (False, True)),
    *(lambda u=u, d=d: linalg.solve_triangular(_factor(u), _number(*B32).mT, upper=u, left=False, unitriangular=d)
      for u in (False, True) for d in (False, True)),
    *(lambda f=f: f(_regular()) for f in (linalg.inv, linalg.det, linalg.slogdet)),
    _log_of_singular,
    lambda: linalg.solve(_regular(), _number(*B32)),
    lambda: linalg.solve(_regular(), _number(*B32).mT, left=False),
    lambda: linalg.solve(_regular(), _number(2, 3)),
    *(lambda u=u: linalg.eigh(_symmetric(), UPLO=u) for u in ("L", "U")),
    *(lambda u=u: linalg.eigvalsh(_symmetric().detach(), UPLO=u) for u in ("L", "U")),
    *(lambda f=f, s=s: f(_number(*s)) for s in ((2, 4, 3), (2, 3, 4)) for f in (
        lambda z: linalg.svd(z, full_matrices=False), lambda z: linalg.svd(z[0], full_matrices=True),
        lambda z: linalg.svdvals(z.detach()), linalg.qr, lambda z: linalg.qr(z, mode="r"),
        lambda z: linalg.qr(z[0], mode="complete"), linalg.pinv)),
    lambda: linalg.pinv(_symmetric(), hermitian=True),
    lambda: linalg.lstsq(*_numbers((2, 4, 3), (2, 4, 2))),
    lambda: linalg.matrix_exp(_number(2, 3, 3)),
    lambda: linalg.cross(*_numbers((2, 3), (2, 3))),
)  # fmt: skip
LOSSES = (
    *(lambda r=r: F.l1_loss(*_numbers((2, 3), (2, 3)), reduction=r) for r in ("none", "mean", "sum")),
    *(lambda r=r, s=s: F.smooth_l1_loss(*_numbers((2, 3), (2, 3)), reduction=r, beta=s)
      for r in ("none", "mean", "sum") for s in (0.1, 1.0)),
    *(lambda r=r, s=s: F.huber_loss(*_numbers((2, 3), (2, 3)), reduction=r, delta=s)
      for r in ("none", "mean", "sum") for s in (0.1, 1.0)),
    *(lambda r=r: F.binary_cross_entropy(*_numbers((2, 3), (2, 3)), weight=WEIGHT, reduction=r)
      for r in ("none", "mean", "sum")),
    *(lambda r=r, w=w, g=g: F.binary_cross_entropy_with_logits(
        _number(2, 3), _number(2, 3).requires_grad_(g), reduction=r, **w)
      for r in ("none", "mean", "sum") for w in WEIGHTS for g in (False, True)),
    *(lambda r=r: F.cross_entropy(_number(2, 3, 2, 2), CLASSES, weight=WEIGHT, reduction=r)
      for r in ("none", "mean", "sum")),
)  # fmt: skip
OTHERS = (
    *(lambda m=m, n=n: F.pad(_number(*(1, 2, 3, 4, 5)[: n + 2]), (1, 1) * n, mode=m)
      for m in ("replicate", "reflect") for n in (1, 2, 3)),
    lambda: F.pad(_number(1, 2, 3), (2, 1), mode="circular"),
    lambda: numeric.div(*_numbers((2, 3), (3,)), rounding_mode=None),
    *(lambda e=e: numeric.pow(_number(2, 3), e) for e in (0, 1, 2, 3, -1, 0.5, 1.7)),
    *(lambda f=f: f(_number(2, 3)) for f in (
        numeric.deg2rad, numeric.rad2deg, numeric.sgn, numeric.aminmax, numeric.std_mean)),
    lambda: numeric.xlogy(2.0, _number(2, 3)),
    lambda: numeric.xlogy(_number(2, 3), 2.0),
    *(lambda f=f: f(*_numbers((2, 3), (3,))) for f in (numeric.clamp_min, numeric.clamp_max)),
    lambda: numeric.aminmax(_number(2, 3), dim=1),
    lambda: numeric.vdot(*_numbers((3,), (3,))),
    lambda: numeric.inner(*_numbers((2, 3), (2, 3))),
    lambda: numeric.inner(*_numbers((2, 3), ())),
    *(lambda f=f, s=s, a=a: f(*_numbers(*s), alpha=a, beta=a) for a in (1, 2) for f, s in (
        (numeric.addmm, ((2, 3), (2, 4), (4, 3))), (numeric.addmv, ((3,), (3, 2), (2,))),
        (numeric.addr, ((2, 3), (2,), (3,))), (numeric.baddbmm, ((2, 2, 3), (2, 2, 4), (2, 4, 3))))),
    *(lambda a=a: numeric.nanmedian(a) for a in (_number(3), _number(2, 3), NAN)),
    *(lambda a=a: numeric.nanmedian(a, dim=0) for a in (_number(3), _number(2, 3), NAN)),
    lambda: numeric.slice_scatter(*_numbers((2, 3), (2, 2)), 1, 0, 2),
    lambda: numeric.diagonal_scatter(*_numbers((3, 3), (3,))),
    lambda: F.threshold(_number(2, 3), 0.5, 2.0),
    lambda: F.linear(*_numbers((3,), (2, 3))),
    lambda: F.linear(*_numbers((2, 2, 3), (2, 3))),
)  # fmt: skip
MORE = (*DECOMPOSING, *LOSSES, *OTHERS)
