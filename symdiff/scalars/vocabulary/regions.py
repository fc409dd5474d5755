"""Regions of numbers as truth values; the domains of functions consist of them."""

from __future__ import annotations

import sympy as sp

from symdiff.scalars.vocabulary.choices import (
    equal,
    floor,
    less,
    less_equal,
    logical_and,
    logical_not,
    logical_or,
    not_equal,
)
from symdiff.scalars.vocabulary.facts import ONE, ZERO


def positive(x: sp.Expr) -> sp.Expr:
    """Whether x > 0."""
    return less(ZERO, x)


def nonzero(x: sp.Expr) -> sp.Expr:
    """Whether x is not 0."""
    return not_equal(x, ZERO)


def between(low: sp.Expr, x: sp.Expr, high: sp.Expr) -> sp.Expr:
    """Whether x is inside of an open interval."""
    return logical_and(less(low, x), less(x, high))


def inside_unit(x: sp.Expr) -> sp.Expr:
    """Whether |x| < 1."""
    return between(-ONE, x, ONE)


def whole(x: sp.Expr) -> sp.Expr:
    """Whether x is an integer."""
    return equal(x, floor(x))


def no_pole(x: sp.Expr) -> sp.Expr:
    """Whether the gamma function has no pole at x; its poles are 0, -1, -2, ..."""
    return logical_not(logical_and(less_equal(x, ZERO), whole(x)))


def smooth_power(p: sp.Expr) -> sp.Expr:
    """Whether ``x**p`` has a value and a derivative at 0 from the right."""
    return logical_or(equal(p, ZERO), less_equal(ONE, p))
