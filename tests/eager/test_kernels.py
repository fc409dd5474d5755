"""Every kernel beside the expression of its op: an op has one value, however it is computed.

Both run on what rows of ``op_table`` reach kernels with (scalars, nothing, what is stretched,
strided memory, every dtype), and on other numbers in these shapes: coarse ones, which sums of any
order give exactly, and the extremes of the dtype with nan.  They are equal, up to signs of zeros,
but where ``ROUNDED``, ``GIVEN`` and ``EXTREME`` say why not.
"""

import math
import zlib

import numpy as np
import pytest

from numeric.eager import operations
from tests.eager.kernel_calls import KernelCall, kernel_calls, name_of, ops_with_kernels

# Units in the last place of the largest number that differs, and why there are any.
_RECIPROCAL = "programs multiply by the reciprocal of what is stretched"
_STEPS = "other steps of the same sums and logarithms"
_ALGORITHM = "other steps of the same decomposition"
ROUNDED = {
    "div": (1, _RECIPROCAL),
    "mean": (1, "programs multiply by the reciprocal of a length that is a letter"),
    "sigmoid": (2, "1 / (1 + e**-x), without the case of each sign"),
    "xlogy": (1, "programs take the logarithm of a number in double precision"),
    "logsumexp": (4, _STEPS),
    "softmax": (4, _STEPS),
    "log_softmax": (8, _STEPS),
    "bce": (4, _STEPS),
    "bce_with_logits": (16, "one logarithm for both signs; with weights below 0 terms cancel"),
    "eigh": (64, _ALGORITHM),
    "eigvalsh": (64, _ALGORITHM),
    "svd": (64, _ALGORITHM),
    "lstsq": (64, "the pseudoinverse, not LAPACK's gelsd"),
}
# Ops that are compared on matrices that they suit, and why elsewhere they differ.
_REFUSED = "kernels answer for singular matrices and nan as PyTorch's, or refuse in its words"
GIVEN = {
    "solve_triangular": _REFUSED,
    "cholesky_solve": _REFUSED,
    "pinv": _REFUSED,
    "lstsq": _REFUSED,
    "eigh": "kernels read one triangle, formulas the symmetric part",
    "eigvalsh": "kernels read one triangle, formulas the symmetric part",
    "svd": "its second operand belongs to the first",
    "qr_complete": "its second operand belongs to the first",
}
# Ops that are not compared at extremes: why.
EXTREME = {
    "div": "the reciprocal of a subnormal number is infinite",
    "softmax": "kernels give nan beside inf, as PyTorch does",
    "bce": "these are not probabilities",
    "turned_mm": "BLAS may add the terms of a transposed operand in another order",
}
# What an expression does not say: the kernel does.
UNSAID = {"to_copy": "the dtype", "trace": "that integers are summed as int64"}
# Vectors are unique but for their sign.
_SIGNS = ("eigh", "svd")


@pytest.fixture(scope="module")
def calls():
    found = {}
    for call in kernel_calls():
        found.setdefault(call.op, []).append(call)
    return found


@pytest.mark.slow
def test_every_kernel_is_compared(calls):
    known = {(op.build, op.kernel) for op in calls}
    assert [op for op in ops_with_kernels() if (op.build, op.kernel) not in known] == []


def test_kernels_are_few():
    """An op states its value once: kernels are there where ``benchmarks.kernels`` wants them."""
    stated = [op for op in operations.DECLARED.values() if op.kernel not in (None, numpys(op))]
    assert len(stated) < 140
    assert [
        name_of(op) for op in operations.DECLARED.values() if op.view and op.kernel is None
    ] == []


def numpys(op):
    return operations._NUMPYS.get(op.build)


@pytest.mark.slow
@pytest.mark.parametrize("op", ops_with_kernels(), ids=name_of)
def test_kernel(op, calls):
    wrong = [text for call in calls.get(op, ()) for text in differences(call)]
    if op.name in UNSAID:
        assert wrong
    else:
        assert not wrong, "\n".join(wrong[:5])


def differences(call):
    """Where the values of a call differ, also on other operands of its shapes, as texts."""
    name = call.op.name
    for how in ("given", "coarse", "extreme"):
        if how != "given" and (name in GIVEN or (how == "extreme" and name in EXTREME)):
            continue
        drawn = call if how == "given" else call.on(redrawn(call.operands, how, name))
        if text := difference(drawn, ROUNDED.get(name, (0, ""))[0]):
            yield f"{name} {call.params} on {how} {list(map(described, drawn.operands))}: {text}"


def described(x):
    return x.tolist() if isinstance(x, np.ndarray) and x.size < 10 else getattr(x, "shape", x)


COARSE = np.arange(-24, 25) / 8
EXTREMES = np.array([
    math.nan, math.inf, -math.inf, 0.0, -0.0, 1.0, -1.0, 0.5, 2.0, -3.0, 5e-324, -1e-310, 1e-45,
    1e-40, 1e-30, -1e30, 1e38, 1e-160, 1e160, 1e308, -1e308, 700.0, -700.0,
])  # fmt: skip


def redrawn(operands, how, name):
    """Other real numbers in the same shapes, dtypes and memory."""
    rng = np.random.default_rng(zlib.crc32(f"{name} {how}".encode()))
    out = []
    for x in operands:
        if isinstance(x, np.ndarray) and x.dtype.kind == "f":
            new = np.empty_like(x)
            with np.errstate(over="ignore", under="ignore"):
                new[...] = rng.choice(COARSE if how == "coarse" else EXTREMES, x.shape)
            out.append(new)
        else:
            out.append(x)
    return out


def difference(call, units):
    """How the results of kernel and expression differ, as a text; None if they do not."""
    found, expected = outcome(call.by_kernel), outcome(call.by_expression)
    if found is None or expected is None:
        return None if found is expected else f"{found} beside {expected}"
    for a, b in zip(found, expected, strict=True):
        if (a.dtype, a.shape) != (b.dtype, b.shape):
            return f"{a.dtype} {a.shape} beside {b.dtype} {b.shape}"
        if call.op.name in _SIGNS:
            a, b = np.abs(a), np.abs(b)
        same = (a == b) | ((a != a) & (b != b))
        if not same.all() and not (units and a.dtype.kind == "f" and near(a, b, same, units)):
            return f"{a[~same].tolist()[:3]} beside {b[~same].tolist()[:3]}"
    return None


def near(a, b, same, units):
    """Whether what differs is finite, and differs by so many units of the largest that does."""
    a, b = a[~same], b[~same]
    if not (np.isfinite(a).all() and np.isfinite(b).all()):
        return False
    size = np.abs(a).max()
    return bool(
        (np.abs(a - b) <= units * np.spacing(np.maximum(size, np.finfo(a.dtype).tiny))).all()
    )


def outcome(run):
    """The arrays; None where it is refused, in whatever words."""
    with np.errstate(all="ignore"):
        try:
            return run()
        except (RuntimeError, ValueError):
            return None


# Another number, at nan only, in single precision, of nothing, in strided memory.
FAULTS = {
    "value": lambda out, x: np.where(out == 3.0, np.nextafter(out, 4), out),
    "nan": lambda out, x: np.where(np.isnan(out), 0, out).astype(out.dtype),
    "dtype": lambda out, x: out.astype(np.float64),
    "shape": lambda out, x: out if out.size else np.zeros(0),
    "memory": lambda out, x: out if x.flags.c_contiguous else out + 1,
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_wrong_kernel_is_noticed(fault, calls, monkeypatch):
    op = next(op for op in calls if op.name == "cumsum")
    kernel = op.kernel
    monkeypatch.setattr(op, "kernel", lambda x, *rest: FAULTS[fault](kernel(x, *rest), x))
    assert [text for call in calls[op] for text in differences(call)]


def test_without_kernel_is_the_expression():
    """``by_expression`` does not ask the kernel."""
    op = operations.Op("probe", lambda x: x + 1, lambda a: a - 1, pointwise=True)
    call = KernelCall(op, (np.ones(2),), ())
    assert call.by_kernel()[0].tolist() == [0, 0]
    assert call.by_expression()[0].tolist() == [2, 2]
