"""What ops state of results so that pullbacks are written in them (``Op.reuse``), by each identity.

``numeric`` holds no calculus.  An identity says what a part of the pullback, which the rules made,
is in terms of a result, as 1 / sqrt(x) is 1 / y: an equation of values, and so it is tested.
"""

import warnings

import numpy as np
import pytest

import numeric
import numeric.func
import numeric.nn.functional
import symdiff as sd
from numeric.eager import operations
from symdiff.graph.leaves import as_expr
from tests.eager import op_table
from tests.eager.kernel_calls import MORE, name_of


def declared():
    return [op for op in operations.DECLARED.values() if op.reuse is not None]


@pytest.fixture(scope="module")
def calls():
    """Some recorded calls of each op: arrays and parameters."""
    found = {op: {} for op in declared()}
    bound = operations.Op.bound
    # That of log|det| at singular matrices has the expression of the other one.
    by_build = {op.build: [other for other in found if other.build is op.build] for op in found}

    def noted(op, arrays, params=()):
        double = all(a.dtype == float for a in arrays if isinstance(a, np.ndarray))
        if double and all(np.size(a) for a in arrays):
            key = params, tuple(np.shape(a) for a in arrays)
            for other in by_build.get(op.build, ()):
                found[other].setdefault(key, tuple(np.array(a) for a in arrays))
        return bound(op, arrays, params)

    operations.Op.bound = noted
    try:
        with warnings.catch_warnings(), numeric.autograd.set_detect_anomaly(True):
            warnings.simplefilter("ignore")
            for row in op_table.ROWS:
                case = row.cases[0]
                xs = op_table.arrays_of(row, case)
                row.call(numeric, *op_table.tensors_of(xs, case, "float64", numeric, 1))
            for call in MORE:
                call()
    finally:
        operations.Op.bound = bound
    return found


@pytest.mark.parametrize("op", declared(), ids=name_of)
def test_identities(op, calls):
    """The expressions that are replaced, and those in results, have equal values."""
    assert calls[op]
    wrong = [text for (params, _), xs in calls[op].items() for text in differences(op, xs, params)]
    assert wrong == []


def differences(op, arrays, params):
    """The identities of which both sides differ at these operands, as texts."""
    xs = [sd.symbol(f"x{i}", a.shape) for i, a in enumerate(arrays)]
    results = op.results(xs, params)
    ys = [sd.symbol(f"y{i}", y.shape) for i, y in enumerate(results)]
    with np.errstate(all="ignore"):
        values = [np.asarray(numeric.lower(y, xs)(*arrays)) for y in results]
        for known, instead in op.reuse(*xs, *ys, *params).items():
            try:
                a = numeric.lower(known, xs)(*arrays)
            except np.linalg.LinAlgError:  # the other calls are of matrices with an inverse
                continue
            b = numeric.lower(as_expr(instead), [*xs, *ys])(*arrays, *values)
            if op.name == "svd" and known.ndim > 1 and known.shape[-1] == known.shape[-2]:
                # What gaps are multiplied by is 0 on the diagonal.
                a, b = (m * (1 - np.eye(m.shape[-1])) for m in (a, b))
            if known.shape != instead.shape or not np.allclose(a, b, 1e-9, 1e-9, equal_nan=True):
                yield f"{op} {params}: {known} is not {instead}"


@pytest.mark.parametrize(
    ("name", "fault"),
    [
        ("rsqrt", lambda x, y: {1 / (x * sd.sqrt(x)): y**2}),
        ("tanh", lambda x, y: {sd.tanh(x): y + 1e-6}),
        ("sqrt", lambda x, y: {x**-0.5: -1 / y}),
    ],
)
def test_a_wrong_identity_is_noticed(name, fault, calls):
    op = next(op for op in declared() if op.name == name)
    reuse, op.reuse = op.reuse, fault
    try:
        assert [t for (params, _), xs in calls[op].items() for t in differences(op, xs, params)]
    finally:
        op.reuse = reuse
