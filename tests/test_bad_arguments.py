"""Bad input to every public callable is refused clearly; tests/support/bad_arguments.py says how.

The everyday run replaces each argument by every ``EVERY``-th bad value, ``make fuzz`` by all.
"""

from __future__ import annotations

import inspect
import pickle
import re
from typing import Any

import numpy as np
import pytest
from numpy.exceptions import AxisError

import numeric as nm
import symdiff as sd
from symdiff.graph.arguments import kind_of
from tests.support.bad_arguments import NAMESPACES, cases, fault, judged, valid_result
from tests.support.bad_calls_nm import OTHER_LIBRARIES
from tests.support.bad_calls_sd import NO_FUNCTIONS
from tests.support.budget import scaled
from tests.support.valid_calls import valid

# Namespaces in which no call may answer wrongly.
COVERED = ("sd", "Expr", "numeric", "Function", "Sharded", "Problem", "Equations")
EVERY = 5
# Cases that are left out, each with a reason.
LEFT_OUT = {
    "numeric.check.certify: budget: int of 64 bits": "it searches for as long as it is told to",
}


@pytest.mark.slow
@pytest.mark.parametrize("namespace", COVERED)
def test_bad_arguments_are_refused_by_name(namespace: str) -> None:
    every = 1 if scaled(1) > 1 else EVERY
    judged = [case for case in cases(namespace, every) if str(case) not in LEFT_OUT]
    wrong = [f"{case} -> {text}" for case in judged if (text := fault(case))]
    assert not wrong, "\n".join(wrong[:20])


def test_what_is_left_out_is_a_case() -> None:
    every = {str(case) for namespace in COVERED for case in cases(namespace)}
    assert set(LEFT_OUT) <= every


@pytest.mark.slow
@pytest.mark.parametrize("namespace", NAMESPACES)
def test_calls_of_the_table_are_right(namespace: str) -> None:
    for name in NAMESPACES[namespace].calls:
        valid_result(namespace, name)


def test_every_public_callable_of_symdiff_has_a_valid_call() -> None:
    public = {name for name in sd.__all__ if name[0] != "_"}
    assert public - NO_FUNCTIONS == set(NAMESPACES["sd"].calls)


@pytest.mark.parametrize("name", ["check", "export", "show"])
def test_every_public_function_of_a_module_has_a_valid_call(name: str) -> None:
    module = getattr(nm, name)
    public = {name for name in module.__all__ if inspect.isfunction(getattr(module, name))}
    prefix = "" if name == "show" else f"{name}."
    assert {f"{prefix}{name}" for name in public - OTHER_LIBRARIES} <= {
        *NAMESPACES["numeric"].calls
    }


def test_every_method_of_an_expression_has_a_valid_call() -> None:
    taking_arguments = {
        name
        for name, method in vars(sd.Expr).items()
        if inspect.isfunction(method) and len(inspect.signature(method).parameters) > 1
    }
    public = {name for name in taking_arguments if name[0] != "_"}
    assert public == set(NAMESPACES["Expr"].calls)


def test_annotations_of_public_functions_are_known() -> None:
    """A parameter that may be anything says so; no other annotation is one that nobody reads."""
    for name in NAMESPACES["sd"].calls:
        for parameter in inspect.signature(getattr(sd, name)).parameters.values():
            annotation = str(parameter.annotation)
            assert re.search("object|Any", annotation) or kind_of(annotation).wanted != "anything"


x = sd.symbol("x")


@pytest.mark.parametrize(
    ("call", "error", "says"),
    [
        (
            lambda: sd.sum(sd.symbol("v", 2), axis="rows"),
            TypeError,
            "sum: argument 'axis' expects an int, a tuple of ints or None, got 'rows' (str)",
        ),
        (
            lambda: sd.sin("x"),
            TypeError,
            "sin: argument 'x': 'x' of type str is not a real number: sd.parse reads a formula",
        ),
        # A refusal keeps its message.
        (
            lambda: sd.zeros((2, -1)),
            ValueError,
            "zeros: argument 'shape': axis length -1 in shape (2, -1) is neither an int >= 0 nor a "
            "name, nor a polynomial in names such as 'n - 1'",
        ),
        (
            lambda: sd.divide(sd.symbol("a", 2), sd.symbol("b", 3)),
            sd.ShapeError,
            "divide: multiply: shapes (2,) and (3,) do not broadcast: axis -1 would be both 2 and "
            "3; reshape or expand_dims one of them",
        ),
        (
            lambda: sd.all(x, axis=1),
            AxisError,
            "all: axis 1 is out of bounds for array of dimension 0",
        ),
        (
            lambda: sd.root(None, 1.0),
            TypeError,
            "root: argument 'f' expects a function, got None",
        ),
        (
            lambda: sd.tile(sd.symbol("v", 2), np.array([1j, 2])),
            TypeError,
            "tile: argument 'reps' expects an int or a tuple of ints, got (1+0j) (complex128)",
        ),
        # A text with a mark stays as it is.
        (lambda: sd.parse("2 +"), sd.ParseError, "no formula: nothing follows +\n  2 +\n  ^"),
    ],
)
def test_messages_name_function_and_argument(call: Any, error: type[Exception], says: str) -> None:
    with pytest.raises(error) as caught:
        call()
    assert str(caught.value).replace("np.complex128(1j)", "(1+0j)") == says


def test_errors_of_callers_functions_stay_as_they_are() -> None:
    def body(carry: Any, row: Any) -> Any:
        raise ValueError("no such row")

    with pytest.raises(ValueError, match=r"^no such row$"):
        sd.scan(body, 0.0, sd.symbol("v", 3))


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -1.0])
@pytest.mark.parametrize("name", ["rtol", "atol"])
def test_tolerances_are_finite_and_not_negative(name: str, value: float) -> None:
    v, t = nm.ones(2), sd.symbol("t", 3)
    calls = [
        lambda: sd.odeint(lambda y, t: -y, 1.0, t, **{name: value}),
        lambda: nm.func.odeint(lambda y, t: -y, nm.ones(1), nm.arange(3.0), **{name: value}),
        lambda: nm.check.gradcheck(nm.sin, v.double().requires_grad_(), **{name: value}),
    ]
    if name == "rtol":
        calls.append(lambda: sd.linear_solve(lambda x: 2 * x, t, rtol=value))
    for call in calls:
        with pytest.raises(ValueError, match=f"'{name}' expects a finite number >= 0"):
            call()


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: nm.export.Equations(None, "x"), "Equations: argument 'function' expects"),
        (lambda: nm.export.Problem(None, "x"), "Problem: argument 'function' expects"),
        (
            lambda: nm.check.audit("x", jacobian=np.cos, inputs={"x": ()}),
            "a Jacobian J is vjp=",
        ),
        (lambda: nm.special.erf, "of tensors it is numeric.erf; of expressions it is sd.erf"),
        (lambda: nm.special.digamma, "of expressions it is sd.digamma"),
        (lambda: nm.special.no_such_function, "it is internal"),
        (lambda: nm.steps("x**2", "x").savefig("file"), r"steps\.save\(\"steps\.png\"\)"),
        (lambda: nm.plot_field([sd.symbol("x")], ()), "call plot_field for each"),
    ],
)
def test_wrong_guesses_meet_a_remedy(call: Any, says: str) -> None:
    with pytest.raises((TypeError, AttributeError), match=says):
        call()


_LONG = list(range(10_000))


@pytest.mark.parametrize(
    "call",
    [
        lambda: sd.sin(_LONG),
        lambda: sd.symbol(_LONG),
        lambda: sd.symbol("x" * 10_000 + "!"),
        lambda: sd.symbol("x, " * 10_000),
        lambda: sd.symbol("x", [*_LONG, -1]),
        lambda: sd.symbol("x", [*_LONG, 2.5]),
        lambda: sd.symbol("x", [" " + "n" * 10_000]),
        lambda: sd.symbol("x", dtype="x" * 10_000),
        lambda: sd.reshape(sd.symbol("x"), _LONG),
        lambda: sd.einsum("abc" * 10_000, sd.symbol("x")),
        lambda: sd.einsum("ab," * 10_000, sd.symbol("x")),
        lambda: sd.einsum(sd.symbol("x"), [60] * 10_000),
        lambda: sd.pad(sd.symbol("x", 3), [-1] * 10_000),
        lambda: sd.tile(sd.symbol("x", 3), [-1] * 10_000),
        lambda: sd.repeat(sd.symbol("x", 3), [-1] * 10_000),
        lambda: sd.symbol("x", 3)[["a"] * 10_000],
        lambda: sd.symbol("x").subs(_LONG),
        lambda: sd.substitute(sd.symbol("x"), {"y" * 10_000: 1}),
        lambda: sd.odeint(lambda y, t: y, 1.0, sd.symbol("t", 3), method="RK" * 10_000),
        lambda: nm.lower(sd.symbol("x"), _LONG),
        lambda: nm.lower(sd.symbol("x"), sd.symbol("x"), backend="n" * 10_000),
        lambda: nm.plot(_LONG, sd.symbol("x")),
        lambda: nm.check.audit(_LONG, gradient=np.cos, inputs={"x": ()}),
    ],
)
def test_messages_do_not_quote_long_arguments_whole(call: Any) -> None:
    with pytest.raises((TypeError, ValueError, IndexError, NotImplementedError)) as caught:
        call()
    assert len(str(caught.value)) < 400


class _Broken:
    """An object whose methods all fail for a reason of its own."""

    def __init__(self, error: BaseException) -> None:
        self._fail = error

    def _raise(self, *_: object, **__: object) -> Any:
        raise self._fail

    __array__ = __iter__ = __index__ = __len__ = __float__ = _raise


_READERS = {
    "sum": lambda b: sd.sum(sd.symbol("v", 3), axis=b),
    "stack": lambda b: sd.stack(b),
    "zeros": lambda b: sd.zeros(b),
    "tile": lambda b: sd.tile(sd.symbol("v", 2), b),
    "roll": lambda b: sd.roll(sd.symbol("v", 2), b),
    "tensor.sum": lambda b: nm.ones(2).sum(b),
    "reshape": lambda b: nm.reshape(nm.ones(2), b),
}


# A TypeError of ``__iter__`` says, by np.iterable, that there is nothing to iterate over.
_FAILURES = [(name, kind) for name in _READERS for kind in (RuntimeError, TypeError)]
_FAILURES.remove(("zeros", TypeError))


@pytest.mark.parametrize(("name", "kind"), _FAILURES)
def test_an_error_in_an_argument_is_the_cause_of_its_refusal(
    name: str, kind: type[Exception]
) -> None:
    error = kind("of its own")
    with pytest.raises((TypeError, ValueError, RuntimeError)) as caught:
        _READERS[name](_Broken(error))
    assert caught.value is error or caught.value.__cause__ is error


@pytest.mark.parametrize("name", _READERS)
@pytest.mark.parametrize("error", [KeyboardInterrupt(), SystemExit(), MemoryError()], ids=repr)
def test_what_is_about_the_process_passes_as_it_is(name: str, error: BaseException) -> None:
    with pytest.raises(type(error)) as caught:
        _READERS[name](_Broken(error))
    assert caught.value is error


def test_a_refusal_of_plain_arguments_has_no_cause() -> None:
    for call in (lambda: sd.stack(3), lambda: sd.zeros([None]), lambda: nm.sum(nm.ones(2), "x")):
        with pytest.raises((TypeError, ValueError)) as caught:
            call()
        assert caught.value.__cause__ is None


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_public_functions_can_be_pickled(protocol: int) -> None:
    for function in (sd.sum, sd.amax, sd.reshape, sd.grad, sd.root, sd.where, sd.latex, nm.lower):
        assert pickle.loads(pickle.dumps(function, protocol)) is function


def _without_end(x: Any) -> None:
    while True:
        pass


@pytest.mark.parametrize(
    ("function", "says"),
    [
        (lambda x: x.no_such_attribute, "from inside"),
        (lambda x: sd.sin.no_such_attribute, "from inside"),
        (lambda x: {}[x], "KeyError"),
        (lambda x: sd.symbol("no identifier"), "names none of"),
        (_without_end, "without end"),
    ],
)
def test_wrong_answers_are_seen(function: Any, says: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.support.bad_arguments.SECONDS", 0.1)
    answer = judged(function, valid(1), {"some_name"})
    assert answer is not None
    assert says in answer


def test_clear_answers_are_accepted() -> None:
    assert judged(sd.symbol, valid("no identifier"), {"symbol"}) is None
    assert judged(sd.sin, valid(sd.symbol("x")), {"sin"}) is None
    assert judged(sd.where, valid(1), {"where"}) is None  # Python's own words
