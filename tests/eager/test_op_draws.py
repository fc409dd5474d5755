"""Operations on what random numbers never are: truth values, narrow integers, zeros, ties, tails.

What selects elements keeps their dtype and gives the elements that it gives of real numbers: the
expected answers come from the same call in double precision, which ``test_op_table`` holds beside
PyTorch's.
"""

import warnings

import numpy as np
import pytest

import numeric
from numeric.eager import operations
from numeric.eager.dtypes import promoted
from numeric.eager.recording import apply
from symdiff import functions as sd
from tests.eager import op_table
from tests.eager.op_table import listed
from tests.support.cases import all_cases

WHOLE = ("bool", "uint8", "int8", "int16", "int32", "int64", "float16", "float32")
# Rows of selections that say a dtype themselves, or write numbers that are not integers.
SAY_A_DTYPE = ("to float64", "float", "double", "half", "type_as", "long", "int", "bool")
SELECTING = [
    row
    for row in op_table.ROWS
    if row.exact and row.name not in SAY_A_DTYPE and "number" not in row.name
]  # fmt: skip
WRITES_HALVES = ("index_fill", "index_fill_", "fill_", "F.pad two")


def draws(row, case):
    """The operands of a case: those that are real as zeros and ones, the others as they are."""
    rng = np.random.default_rng(7)
    return [
        rng.integers(0, 2, a.shape).astype(float) if a.dtype.kind == "f" else a
        for a in op_table.arrays_of(row, case)
    ]


def results(row, arrays, kind):
    """The results as arrays, of real operands in a dtype."""
    xs = [numeric.tensor(a.astype(kind) if a.dtype.kind == "f" else a) for a in arrays]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return [y.numpy() for y in listed(row.call(numeric, *xs))]


@pytest.mark.parametrize("row", SELECTING, ids=lambda r: r.name)
def test_selections_keep_every_dtype(row):
    for case in row.cases:
        arrays = draws(row, case)
        expected = results(row, arrays, "float64")
        for kind in WHOLE:
            if row.name in WRITES_HALVES and not kind.startswith("float"):
                continue
            for y, e in zip(results(row, arrays, kind), expected, strict=True):
                assert y.dtype == kind, (case.name, kind)
                np.testing.assert_array_equal(y.astype(float), e, f"{case.name} {kind}")


# Those that traces refuse: they need values, or change a tensor from outside.
UNTRACED = ("[mask of all]", "[mask] = 0-d", "t_")


@all_cases("row", SELECTING, ids=lambda r: r.name, least=146)
def test_traced_selections_keep_dtypes(row):
    """Compiled and mapped, of truth values and of integers narrower than those of formulas."""
    if row.name in UNTRACED:
        return
    arrays = draws(row, row.cases[0])
    for kind in ("bool", "int8", "float16"):
        if row.name in WRITES_HALVES and not kind.startswith("float"):
            continue
        xs = [numeric.tensor(a.astype(kind) if a.dtype.kind == "f" else a) for a in arrays]
        expected = listed(row.call(numeric, *xs))
        traced = numeric.compile(lambda *ys: tuple(listed(row.call(numeric, *ys))))(*xs)
        mapped = numeric.vmap(lambda *ys: tuple(listed(row.call(numeric, *ys))))(
            *[numeric.stack([x, x]) for x in xs]
        )
        for y, found, many in zip(expected, traced, mapped, strict=True):
            assert (found.dtype, many.dtype) == (y.dtype, y.dtype), kind
            np.testing.assert_array_equal(found.numpy(), y.numpy())
            np.testing.assert_array_equal(many[1].numpy(), y.numpy())


TRUTHS = numeric.tensor([True, False, True])
MATRIX = numeric.tensor([[True, False], [False, True]])
# Calls on truth values, and the dtype that PyTorch gives.
OF_TRUTHS = {
    "addr": (lambda T: T.addr(MATRIX, MATRIX[0], MATRIX[1]), "bool"),
    "kron": (lambda T: T.kron(MATRIX, TRUTHS), "bool"),
    "outer": (lambda T: T.outer(TRUTHS, TRUTHS), "bool"),
    "inner of a number": (lambda T: T.inner(TRUTHS, T.tensor(True)), "bool"),
    "masked_select": (lambda T: T.masked_select(TRUTHS, TRUTHS), "bool"),
    "einsum without a sum": (lambda T: T.einsum("i,j->ij", TRUTHS, TRUTHS), "bool"),
    "einsum turned": (lambda T: T.einsum("ij->ji", MATRIX), "bool"),
    "einsum with a sum": (lambda T: T.einsum("ij->i", MATRIX), "int64"),
    "add alpha": (lambda T: T.add(TRUTHS, TRUTHS, alpha=True), "bool"),
    "diff": (lambda T: T.diff(TRUTHS), "bool"),
    "sum": (lambda T: T.sum(TRUTHS), "int64"),
    "prod": (lambda T: T.prod(TRUTHS[:1]), "int64"),
    "cumsum": (lambda T: T.cumsum(TRUTHS, 0), "int64"),
    "trace": (lambda T: T.trace(MATRIX), "int64"),
    "nansum": (lambda T: T.nansum(TRUTHS), "int64"),
    "scatter_add": (lambda T: TRUTHS.scatter_add(0, T.tensor([0, 1, 1]), TRUTHS), "bool"),
    "index_add": (lambda T: TRUTHS.index_add(0, T.tensor([0, 1, 1]), TRUTHS), "bool"),
    "amax": (lambda T: T.amax(MATRIX, 0), "bool"),
}


@pytest.mark.parametrize("name", OF_TRUTHS)
def test_of_truth_values(name):
    call, kind = OF_TRUTHS[name]
    y = call(numeric)
    assert y.numpy().dtype == kind
    assert y.numpy().any()  # a test of nothing but zeros would see no wrong number


def test_an_infinite_number_has_no_variance():
    """As the difference from its mean, itself, has no value."""
    for f in (lambda x: x.var(0, correction=0), lambda x: x.std(correction=0)):
        for form in (f, numeric.compile(f)):
            values = [form(numeric.tensor(v)).item() for v in (2.0, np.inf, -np.inf, np.nan)]
            np.testing.assert_array_equal(values, [0, np.nan, np.nan, np.nan])


def test_a_gathered_mask_is_a_mask():
    mask = numeric.gather(TRUTHS, 0, numeric.tensor([1, 0]))
    assert numeric.ones(2)[mask].tolist() == [1.0]
    many = numeric.vmap(lambda m: m.gather(0, numeric.tensor([1, 0])))(MATRIX)
    assert many.tolist() == [[False, True], [True, False]]


@pytest.mark.parametrize("form", [numeric.compile, numeric.vmap], ids=["compile", "vmap"])
def test_sums_of_truth_values_are_none_inside_of_traces(form):
    """What an operation makes of them is a truth value, which the next one counts as 1."""
    T = numeric
    for f in (
        lambda m: T.logsumexp(m + m, -1),
        lambda m: (m + m).sum(-1),
        lambda m: T.where(m.gather(-1, T.zeros(m.shape).long()), 1.0, 2.0),
        lambda m: T.exp(m.index_add(-1, T.tensor([0, 0]), m)),
        lambda m: (m * m).long() + (m | m) + m,
    ):
        found, expected = form(f)(MATRIX), f(MATRIX)
        assert found.dtype == expected.dtype
        np.testing.assert_allclose(found.numpy(), expected.numpy(), rtol=1e-6)


DIVISIONS = {
    "//": lambda x, y: x // y,
    "%": lambda x, y: x % y,
    "fmod": numeric.fmod,
    "trunc": lambda x, y: numeric.div(x, y, rounding_mode="trunc"),
}


@pytest.mark.parametrize("form", [numeric.compile, numeric.vmap], ids=["compile", "vmap"])
@pytest.mark.parametrize("name", DIVISIONS)
def test_traced_divisions_of_integers(name, form):
    """Quotients are not rounded as real ones, and a divisor 0 is the error of the call."""
    f = DIVISIONS[name]
    x, y = numeric.tensor([7, -7, 2**62 + 1, -(2**62) - 3]), numeric.tensor([2, 2, 3, -7])
    assert form(f)(x, y).tolist() == f(x, y).tolist()
    with pytest.raises(RuntimeError, match="ZeroDivisionError, at line"):
        form(f)(x, y - 3)
    with pytest.raises(RuntimeError, match=r"^ZeroDivisionError$"):
        f(x, y - 3)


@pytest.mark.parametrize("form", [numeric.compile, numeric.vmap], ids=["compile", "vmap"])
def test_traced_powers_of_integers(form):
    """Only 1 and -1 have inverses that are integers: others, and 0 too, are rounded to 0."""
    x, y = numeric.tensor([0, 0, 1, -1, -1, 2, 3]), numeric.tensor([-1, 0, -3, -3, -2, -1, 2])
    expected = [0, 1, 1, -1, 1, 0, 9]
    assert numeric.pow(x, y).tolist() == form(numeric.pow)(x, y).tolist() == expected
    assert form(lambda v: 0**v)(y).tolist() == [0, 1, 0, 0, 0, 0, 0]


def test_integers_of_one_operand_are_added_up_as_int64():
    """What an einsum sums in an operand by itself is a sum of it, also beside other operands."""
    a, b = numeric.tensor([[100, 100]], dtype=numeric.int8), numeric.ones(3, dtype=numeric.int8)
    for text in ("...ik,...j->ij", "ik,j->ij", "...k,j->j"):
        y = numeric.einsum(text, a, b)
        assert (y.dtype, y.ravel().tolist()) == (numeric.int64, [200, 200, 200]), text
    assert numeric.einsum("...i->i", a).dtype == numeric.int64
    assert numeric.einsum("ik,kj->ij", a, a.mT).dtype == numeric.int8
    assert numeric.einsum("...ik,...j", a, b).dtype == numeric.int8


def test_a_real_formula_of_integers_is_not_cut_off():
    op = operations.Op("mean", lambda x, y: sd.mean(x * y), promotion=promoted, origin="a test")
    x = numeric.tensor([1, 2])
    assert apply(op, (x, x)).item() == 2.5
