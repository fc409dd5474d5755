"""Every row of the table of operations, traced, beside PyTorch's recorded answers.

A row runs as it is (``test_op_table``), compiled, mapped over a batch, and through ``func`` and
``autograd.functional``; each form keeps the casts, parameters and index rules of the eager one.
What a trace refuses, by name and line, is listed: it may only become less.
"""

import dataclasses
import os

import numpy as np
import pytest

import numeric
from tests.eager import op_table, record
from tests.eager.op_table import B, I, X

# The ordinary profile takes the main cases only.
EVERYTHING = os.environ.get("HYPOTHESIS_PROFILE") == "fuzz"

# --- the forms -----------------------------------------------------------------------------------


def compiled(call):
    """Traced without values, one program."""
    return lambda T, *xs: T.compile(lambda *ys: call(T, *ys))(*xs)


def mapped(call):
    """The second slice of two, which are the same."""

    def run(T, *xs):
        dims = tuple(0 if isinstance(x, T.Tensor) else None for x in xs)
        twice = [x if d is None else T.stack([x, x]) for x, d in zip(xs, dims, strict=True)]
        return [y[1] for y in T.vmap(lambda *ys: call(T, *ys), in_dims=dims)(*twice)]

    return run


def pulled(call):
    """The value that comes with a pullback: the record of an eager run, as a formula."""
    return _of_real(call, lambda T, f, xs: T.func.vjp(f, *xs)[0])


def functional(call):
    """The same by ``autograd.functional``."""

    def run(T, f, xs):
        vs = tuple(T.ones_like(y) for y in f(*xs))
        return T.autograd.functional.vjp(f, xs, vs, create_graph=True)[0]

    return _of_real(call, run)


def _of_real(call, run):
    def form(T, *xs):
        real = [i for i, x in enumerate(xs) if x.dtype.is_floating_point]

        def f(*ys):
            given = list(xs)
            for i, y in zip(real, ys, strict=True):
                given[i] = y
            return call(T, *given)

        return run(T, f, tuple(xs[i] for i in real))

    return form


FORMS = {"compile": compiled, "vmap": mapped, "func": pulled, "functional": functional}
DIFFERENTIATED = ("func", "functional")  # only real results of real operands


def traced(row, form):
    """The row in a form; its nodes have other names."""
    call = FORMS[form](lambda T, *xs: tuple(op_table.listed(row.call(T, *xs))))
    return dataclasses.replace(row, call=call, named=False)


# --- what may differ -----------------------------------------------------------------------------

# Rows whose formula differs in rounding, or at edge points, from what PyTorch computes step by
# step: what is compared then, and why.
_SATURATED = "1 - y or 1 + y of a rounded result y, which is 0 where the formula is not"
_SHIFTED = "numbers of size 1000 are added inside: errors are relative to these"
_HALF = "a derivative in half precision, in other roundings"
OTHERWISE = {
    "expm1": _SATURATED,
    "tanh": _SATURATED,
    "F.tanh": _SATURATED,
    "sigmoid": _SATURATED,
    "F.sigmoid": _SATURATED,
    "rsqrt": "the sign of an infinite derivative at -0.0",
    "x ** 1.5": "a power of -inf is nan where the exponent is not an integer",
    "sqrt(x * x)": "sqrt(x**2) is |x|, also at infinities",
    "hypot": "sqrt(x**2 + y**2) of tiny numbers in single precision",
    "F.gelu": "x * cdf(x) at inf is inf in single precision, too",
    "F.binary_cross_entropy ends": "x - x + 1 is x + 1 - x, rounded: 0 and 1 are not met exactly",
    "through float16 sin": _HALF,
    "softmax far": _SHIFTED,
    "log_softmax far": _SHIFTED,
    "F.cross_entropy far": _SHIFTED,
}
_REFUSED = ("compile: ", "vmap: ", "a leaf Variable that requires grad is being")


def differences(row, facts, form):
    """What differs from the recorded facts of a row, as texts; None for each refusal."""
    like = traced(row, form)
    for case in row.cases:
        if not (EVERYTHING or case.name in ("main", "edges", "shape 0")):
            continue
        by_dtype, exponents = facts["cases"][case.name]
        first = dataclasses.replace(case, orders=min(case.orders, 1))
        for dtype, recorded in by_dtype.items():
            if dtype == "float64" and form == "functional" and not EVERYTHING:
                continue
            expected = [_bare(f) for f in recorded if f.label[0] != "h"]
            sizes = exponents[: len(expected)]
            found = [_bare(f) for f in op_table.facts(like, first, dtype, numeric)]
            if _is_refused(found):
                yield None
                continue
            if form == "vmap" and case.layout and _is_of_layout(expected):
                continue  # slices of a stack lie in C order
            wrong = op_table.disagreement(like, first, dtype, found, expected, sizes)
            if wrong and not (row.name in OTHERWISE and _nearly(row, found, expected)):
                yield f"{row.name}, {case.name}, {dtype}, {form}: {wrong}"


def _bare(f):
    """A fact without names of nodes and layouts in memory, which are the eager run's affair."""
    return f if f.label == "error" else dataclasses.replace(f, flags=())


def _is_refused(found):
    last = found[-1] if found else None
    return last is not None and last.label == "error" and _says(last.flags[0])


def _is_of_layout(expected):
    return expected[0].label == "error" and "view size" in expected[0].flags[0]


def _says(text):
    return text.startswith(_REFUSED)


def _nearly(row, found, expected):
    """Finite numbers agree, relative to 1 or 1000."""
    why = OTHERWISE[row.name]
    for f, e in zip(found, expected, strict=True):
        both = np.isfinite(f.values) & np.isfinite(e.values)
        size = (1000 if why is _SHIFTED else 1) + np.abs(e.values[both])
        unit = op_table.ROUNDINGS * op_table.UNIT["float16" if why is _HALF else e.dtype]
        if np.any(np.abs(f.values[both] - e.values[both]) > unit * size):
            return row.name.startswith("F.binary_cross_entropy")
    return True


# --- the tests -----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def recorded():
    return record.load_operations()[0]


# Rows that traces refuse, by name and line, in some case: they need values, or shapes that depend
# on them.  Eager runs refuse none.
NEEDS_VALUES = (
    "signbit", "i & j", "i | j", "i ^ j", "allclose", "equal", "where nonzero", "masked_select",
    "masked_scatter", "cummax ties dim", "cummin ties dim", "cummax", "cummax 0",
    "cummax -1 of 3", "cummin", "cummin 0", "cummin -1 of 3", "[mask of all]", "[mask] = 0-d",
    "[mask] = number", "nonzero", "nonzero tuple", "t_", "F.binary_cross_entropy mean",
    "F.binary_cross_entropy sum", "F.binary_cross_entropy none", "F.binary_cross_entropy weight",
    "F.binary_cross_entropy ends", "F.cross_entropy smoothing",
    "F.cross_entropy smoothing weight",
)  # fmt: skip
REFUSED = {"compile": NEEDS_VALUES, "vmap": NEEDS_VALUES, "func": (), "functional": ()}
REFUSED_DTYPES = ("signbit", "cummax 0", "cummin 0")


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMS)
def test_rows(form, recorded):
    wrong, refused = [], {}
    for row in op_table.ROWS:
        if not row.operands or (form in DIFFERENTIATED and not _is_real(row, recorded[row.name])):
            continue
        for text in differences(row, recorded[row.name], form):
            if text is None:
                refused[row.name] = None
            else:
                wrong.append(text)
    assert not wrong, "\n".join(wrong)
    assert not set(refused) - set(REFUSED[form]), ", ".join(refused)


# What goes by shapes and strides alone.
LAYING = (
    np.empty_like, np.zeros_like, np.ones_like, np.may_share_memory, np.reshape, np.expand_dims,
    np.squeeze, np.transpose, np.swapaxes, np.diagonal, np.lib.stride_tricks.sliding_window_view,
)  # fmt: skip


class Watched(np.ndarray):
    """An array whose numbers nobody may take: what a tensor from outside has while it is traced."""

    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        raise AssertionError(f"{ufunc.__name__} takes numbers of a tensor from outside")

    def __array_function__(self, function, types, args, kwargs):
        if function not in LAYING:
            raise AssertionError(f"{function.__name__} takes numbers of a tensor from outside")
        return function(*(x.view(np.ndarray) if x is self else x for x in args), **kwargs)

    def taken(self, *args, **kwargs):
        raise AssertionError("numbers of a tensor from outside are taken")

    __bool__ = __int__ = __float__ = __index__ = __iter__ = taken
    all = any = argmax = argmin = argsort = astype = copy = fill = item = max = min = taken
    nonzero = prod = repeat = searchsorted = sort = sum = take = tobytes = tolist = taken


def _roles(n):
    """Which operands are from outside: each alone, and all of them."""
    return [(k,) for k in range(n)] + ([tuple(range(n))] if n > 1 else [])


def _from_outside(row, outside, arrays, others):
    """The row compiled, with operands from outside that are changed in place between two calls.

    What it then gives, and what it should; None if it is refused.
    """
    outer = [numeric.tensor(a) for a in arrays]
    inside = [i for i in range(len(outer)) if i not in outside]

    def call(*xs):
        given = list(outer)
        for i, x in zip(inside, xs, strict=True):
            given[i] = x
        plain = [x._array for x in outer]
        try:
            for x in outer:
                x._array = x._array.view(Watched)
            return tuple(op_table.listed(row.call(numeric, *given)))
        finally:
            for x, a in zip(outer, plain, strict=True):
                x._array = a

    traced = numeric.compile(call)
    try:
        traced(*(numeric.tensor(arrays[i]) for i in inside))
    except RuntimeError as error:
        if not _says(str(error)):
            raise
        return None
    for x, a in zip(outer, others, strict=True):
        x.copy_(numeric.tensor(a))
    found = traced(*(numeric.tensor(others[i]) for i in inside))
    return found, op_table.listed(row.call(numeric, *map(numeric.tensor, others)))


def _rows(*entries):
    return [op_table.Row(name, call, tuple(operands)) for name, call, *operands in entries]


# Further forms that take numbers of an operand.
MORE = _rows(
    ("[..., [tensor, 0]]", lambda T, x, i: x[..., [i, 0]], X(50), I(50)),
    ("[constant] = number", lambda T, x, i: _put(x, T.tensor([1, 0]), i), X(3), I(50)),
    ("[mask] = number", lambda T, x, i: _put(x, T.tensor([True, False]), i), X(2), I(50)),
    ("nonzero of a number", lambda T, i: T.nonzero(i), I(50)),
    ("[uint8 mask]", lambda T, x, m: x[m.to(T.uint8)], X(3, 4), B(3)),
    ("kthvalue", lambda T, x: T.kthvalue(x, 2), X(5)),
    ("quantile q", lambda T, x, q: T.quantile(x, q), X(5), X(2, domain="half")),
    ("nanquantile q", lambda T, x, q: T.nanquantile(x, q), X(5), X(domain="half")),
    ("unique", lambda T, i: T.unique(i), I(3, 5)),
    ("searchsorted", lambda T, x, y: T.searchsorted(x, y), X(4), X(3)),
    ("nan_to_num", lambda T, i: T.nan_to_num(i), I(3, 5)),
    ("where uint8", lambda T, m, x: T.where(m.to(T.uint8), x, 0.0), B(3), X(3)),
    ("repeat_interleave", lambda T, i: T.repeat_interleave(i), I(3, 2)),
    ("tensor_split", lambda T, x, i: T.tensor_split(x, i)[0], X(6), I(3, 2)),
    ("index_put", lambda T, x, i, v: T.index_put(x, (i,), v), X(4), I(4, 2), X(2)),
    ("one_hot", lambda T, i: T.nn.functional.one_hot(i, 4), I(4, 3)),
    ("nll weight", lambda T, *a: T.nn.functional.nll_loss(*a), X(3, 4), I(4, 3), X(4)),
    ("soft", lambda T, *a: T.nn.functional.cross_entropy(*a), X(3, 4), X(3, 4), X(4)),
    ("scatter", lambda T, x, i, v: x.scatter(0, i, v), X(3), I(3, 2), X(2)),
    ("put another dtype", lambda T, x, i, v: _put(x, i, v.float()), X(3), I(3), X()),
    ("rank", lambda T, x: T.linalg.matrix_rank(x, hermitian=True), X(2, 2)),
    ("rank of any", lambda T, x: T.linalg.matrix_rank(x), X(2, 2)),
    ("full", lambda T, x: T.full((2,), x), X()),
    ("eye", lambda T, i: T.eye(i), I(4)),
    ("tensor", lambda T, x: T.tensor([x, 1.0]), X()),
    ("new_tensor", lambda T, x: T.ones(1).new_tensor([x]), X()),
    ("as_tensor", lambda T, x: T.as_tensor(x, dtype=T.int64), X(3)),
    ("in", lambda T, x, y: T.tensor(x in y), X(), X(3)),
)
# Several of them in one program, and such inside of transforms; none is refused.
SEVERAL = _rows(
    ("rows", lambda T, x, w, i: x * w[i], X(3), X(3), I(3, 3)),
    ("total", lambda T, x, w: x * w.sum() + w.norm(), X(3), X(3)),
    ("max", lambda T, x, w: x * w.max() + w.sort().values, X(3), X(3)),
    ("sign", lambda T, x, w: x * (w > 0) + T.isnan(w), X(3), X(3)),
    ("choice", lambda T, x, w: x * w.argmax() + w.detach() + w.data, X(3), X(3)),
    ("written", lambda T, x, w: x + T.zeros(3).copy_(w), X(3), X(3)),
    ("order", lambda T, x, w: x + w.quantile(0.3) + w.kthvalue(2).values, X(3), X(3)),
    ("cast", lambda T, x, w: x + w.long(), X(3), X(3)),
    ("places", lambda T, x, w: x * w[w.argsort()] + x[w.argmax()], X(3), X(3)),
    ("number", lambda T, x, w, n: x * x[w.argmax()] + x[n], X(3), X(3), I(3)),
    ("legacy", lambda T, x, w: x * T.autograd.Variable(w), X(3), X(3)),
    (
        "derived",
        lambda T, x, w, i: T.func.grad(lambda y: (y[i] * w[i].sort().values).sum())(x),
        X(3),
        X(3),
        I(3, 3),
    ),
    (
        "jacobian",
        lambda T, x, w: T.autograd.functional.jacobian(lambda y: y * w.argmax(), x),
        X(3),
        X(3),
    ),
    (
        "mapped",
        lambda T, x, w, i: T.func.vmap(lambda y: y + w[i].max())(x),
        X(3),
        X(3),
        I(3, 3),
    ),
)


def _put(x, i, value):
    out = x.clone()
    out[i] = value
    return out


@pytest.mark.slow
def test_no_row_keeps_the_numbers_of_a_tensor_from_outside():
    """They are inputs of what was traced, refused where values of arguments are, and nowhere else.

    An operation that takes numbers of its operands without asking the trace fails here.
    """
    wrong, refused = [], {}
    for row in (*op_table.ROWS, *MORE, *SEVERAL):
        drawn = [
            [o.values(f"{row.name} {k} {i}") for k, o in enumerate(row.operands)] for i in (0, 1)
        ]
        for outside in _roles(len(row.operands)):
            both = _from_outside(row, outside, *drawn)
            if both is None:
                refused[row.name] = None
                continue
            for y, z in zip(*both, strict=True):
                same = y.dtype == z.dtype and y.shape == z.shape
                if not (same and numeric.allclose(y, z, 1e-6, 1e-9, equal_nan=True)):
                    wrong.append(f"{row.name}, {outside} from outside")
    assert not wrong, "\n".join(wrong)
    assert not set(refused) - {*NEEDS_VALUES, *(row.name for row in MORE)}, ", ".join(refused)


def _is_real(row, facts):
    results = [
        f
        for by_dtype, _ in facts["cases"].values()
        for recorded in by_dtype.values()
        for f in recorded
        if f.label[0] == "f"
    ]
    return all("float" in f.dtype for f in results) and any(
        o.domain not in ("int", "bool") for o in row.operands
    )


@pytest.mark.slow
@pytest.mark.parametrize("form", ["compile", "vmap"])
def test_dtypes(form, recorded):
    """Every dtype beside every other."""
    wrong, refused = [], {}
    for row in op_table.ROWS:
        if not row.kinds:
            continue
        found = op_table.kind_facts(traced(row, form), numeric, 1 if EVERYTHING else 5)
        for text in op_table.kind_differences(row, found, recorded[row.name]["kinds"]):
            if "RuntimeError, expected [" in text:
                refused[row.name] = None
            else:
                wrong.append(text)
    assert not wrong, "\n".join(wrong[:80])
    assert not set(refused) - set(REFUSED_DTYPES), ", ".join(refused)
