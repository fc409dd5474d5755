"""Every operation beside PyTorch's recorded answers; ``-k`` selects rows by name."""

import numpy as np
import pytest

import numeric
from tests.eager import op_examples, op_table, record
from tests.support.cases import all_cases


@pytest.fixture(scope="module")
def recorded():
    return record.load_operations()


@pytest.mark.parametrize("row", op_examples.ROWS, ids=lambda r: r.name)
def test_row(row, recorded):
    wrong = list(differences(row, recorded[0][row.name]))
    assert not wrong, "\n".join(wrong)


def test_every_recorded_row_is_there(recorded):
    """And every refusal: none is lost by a name that stands twice."""
    assert set(recorded[0]) == {row.name for row in op_examples.ROWS}
    assert set(recorded[1]) == set(op_table.REFUSED)


def differences(row, facts):
    """What differs from the recorded facts of a row, as texts."""
    assert facts["checksum"] == record.checksum(row), "run python -m tests.eager.record"
    for case in row.cases:
        yield from op_table.case_differences(row, case, facts["cases"][case.name], numeric)
    if row.kinds:
        yield from op_table.kind_differences(row, op_table.kind_facts(row, numeric), facts["kinds"])
    if row.orders:
        yield from op_table.saved_differences(
            row, op_table.saved_facts(row, numeric), facts["saved"]
        )


@all_cases("name", op_table.REFUSED, least=118)
def test_refused(name, recorded):
    expected = recorded[1][name]
    assert expected, "PyTorch refuses it"
    found = op_table.refusal(name, numeric)
    assert found, f"nothing was raised, expected {expected}"
    kind, phrases = expected
    assert found[0] == kind
    assert set(phrases) <= set(found[1])


def test_a_wrong_answer_is_noticed(recorded):
    """The comparison itself: one part in 10**12 or 10**5, another dtype, another node's name."""
    row = next(r for r in op_examples.ROWS if r.name == "mul")
    case = row.cases[0]
    by_dtype, exponents = recorded[0]["mul"]["cases"]["main"]
    for dtype, part in (("float64", 1e-12), ("float32", 1e-5)):
        expected = by_dtype[dtype]

        def judged(found, expected=expected, dtype=dtype):
            return op_table.disagreement(row, case, dtype, found, expected, exponents)

        assert judged(expected) is None
        for k, f in enumerate(expected):
            values = f.values * np.asarray(1 + part, f.values.dtype)
            for other in (
                op_table.Fact(f.label, f.dtype, values, f.flags),
                op_table.Fact(f.label, "float16", f.values, f.flags),
                op_table.Fact(f.label, f.dtype, f.values, (False, "AddBackward0", True)),
            ):
                assert judged([*expected[:k], other, *expected[k + 1 :]])
