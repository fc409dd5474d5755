"""The helper that checks all cases of a property in one test."""

import pytest

from tests.support.cases import SHOWN, all_cases, check_all


def even(n):
    assert n % 2 == 0, f"{n} is odd"


def test_all_failures_are_collected_and_named():
    seen = []

    def check(n):
        seen.append(n)
        even(n)

    with pytest.raises(AssertionError) as raised:
        check_all([(f"case {n}", (n,)) for n in range(4)], check, least=4)
    assert seen == [0, 1, 2, 3]
    text = str(raised.value)
    assert text.startswith("2 of 4 cases fail:\n    case 1: AssertionError: 1 is odd")
    assert "case 3: AssertionError: 3 is odd" in text
    assert "case 2" not in text
    assert str(raised.value.__cause__).startswith("1 is odd")


def test_failures_beyond_the_first_are_named_too():
    with pytest.raises(AssertionError) as raised:
        check_all([(f"<{n}>", (1,)) for n in range(SHOWN + 2)], even, least=1)
    assert all(f"<{n}>" in str(raised.value) for n in range(SHOWN + 2))


@pytest.mark.parametrize("error", [ValueError("no"), RuntimeWarning("no")])
def test_errors_and_outcomes_of_pytest_are_failures(error):
    def check():
        raise error

    with pytest.raises(AssertionError, match=f"one: {type(error).__name__}: no"):
        check_all([("one", ())], check, least=1)
    with pytest.raises(AssertionError, match="one: Failed: no"):
        check_all([("one", ("no",))], pytest.fail, least=1)


def test_a_module_that_is_missing_is_no_failure_of_a_case():
    def check():
        raise ImportError("nothing")

    with pytest.raises(ImportError, match="nothing"):
        check_all([("one", ())], check, least=1)


def test_lost_cases_are_reported():
    check_all([("zero", (0,))], even, least=1)
    with pytest.raises(AssertionError, match="0 cases, fewer than 1"):
        check_all([], even, least=1)


@pytest.fixture
def factor():
    return 2


@all_cases(("a", "b"), [(1, 2), (2, 4)], least=2)
@pytest.mark.parametrize("sign", [1, -1])
def test_the_other_parameters_are_those_of_pytest(factor, a, b, sign):
    assert sign * factor * a == sign * b


def test_a_decorated_test_names_the_cases_that_fail():
    @all_cases("n", [1, 2, 3], least=3, ids=lambda n: f"<{n}>")
    def odd(n):
        assert n % 2 == 1

    with pytest.raises(AssertionError, match=r"(?s)1 of 3 cases fail:\n    <2>: AssertionError"):
        odd()

    @all_cases(("f", "n"), [(abs, 2), (max, 3)], least=2)
    def fails(f, n):
        raise ValueError

    with pytest.raises(AssertionError, match=r"(?s)abs-2: ValueError.*max-3: ValueError"):
        fails()


def test_a_case_does_not_skip_the_others():
    with pytest.raises(TypeError, match="one: a case must not skip: reason"):
        check_all([("one", ("reason",)), ("two", ("reason",))], pytest.skip, least=2)
