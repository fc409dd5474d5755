"""The digits of slow oracles that are checked in are those that the oracles compute."""

import random

import mpmath as mp
import pytest

from tests.oracle_digits import requests
from tests.support.oracle_digits import DIGITS, PATH, lines, stored, written

REMEDY = "run python -m tests.oracle_digits --missing"


def test_the_file_has_what_tests_ask_for():
    wanted, there = set(requests()), set(lines())
    assert not wanted - there, f"{len(wanted - there)} values are missing: {REMEDY}"
    assert not there - wanted, f"no test asks for {len(there - wanted)} values: {REMEDY}"
    assert list(lines()) == sorted(lines())
    assert PATH.stat().st_size < 5e6


def differences(known, name, compute):
    """Return the numbers of a key that are not the computed ones, to all digits but three."""
    old, new = known[name].split(), compute()
    assert len(old) == len(new), name
    with mp.workdps(DIGITS + 10):
        bound = mp.mpf(10) ** (3 - DIGITS)
        pairs = [(mp.mpf(a), mp.mpf(b)) for a, b in zip(old, new, strict=True)]
        return [(a, b) for a, b in pairs if a != b and not abs(a - b) <= bound * abs(b)]


@pytest.mark.slow
def test_a_random_twentieth_is_computed_again():
    """Another one in each run; a failure names the values."""
    every = requests()
    chosen = random.SystemRandom().sample(sorted(every), len(every) // 20)
    wrong = {name: found for name in chosen if (found := differences(lines(), name, every[name]))}
    assert not wrong


def test_a_wrong_digit_is_noticed():
    every = requests()
    name = next(name for name in every if "\tsinh\t" in name and "(0.5,)" in name)
    values = [mp.mpf(x) for x in stored(name, every[name])]
    with mp.workdps(DIGITS + 10):
        planted = {name: written([values[0] * (1 + mp.mpf(10) ** -50), *values[1:]])}
    assert not differences(lines(), name, every[name])
    assert differences(planted, name, every[name])


def test_a_value_that_the_file_lacks_is_computed():
    assert stored("no such value", lambda: [mp.mpf(3)]) == [3]
