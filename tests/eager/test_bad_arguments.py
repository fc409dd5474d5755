"""Bad arguments of functions and methods of Tensors are refused by name, in PyTorch's words.

The everyday run replaces each argument by every ``EVERY``-th bad value, ``make fuzz`` by all.
"""

from __future__ import annotations

import copy
import inspect
import re
from contextlib import contextmanager
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import numeric as torch
import symdiff as sd
from numeric.eager import printing
from numeric.modes import _mode
from numeric.ops.arguments import explain_methods
from numeric.ops.random_numbers import _shared as SHARED  # noqa: N812  # one object for good
from tests.support.bad_arguments import BAD, judged
from tests.support.bad_calls_tensors import calls
from tests.support.budget import scaled
from tests.support.refusals import refused

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

EVERY = 5

# Messages that name neither the function nor the argument, and say what came or what is wanted.
# Most are PyTorch's, word for word: about an element, about values of the right type, or in the
# name of a kernel.  With all bad values each of them must be met.
UNNAMED = (
    "Dimension out of range",
    r"index -?\d+",
    "only integers, slices",
    "tensors used as indices",
    r"new\(\): invalid data type",
    "step must be",
    "expected Tensor as element",
    "expected tensors, got",
    r"expected torch\.Tensor, but got",
    "gradients can be either",
    r"got \d+ tensors and \d+ gradients",
    "Mismatch in shape",
    "Thing passed to transform API",
    "can't retain_grad",
    r'"(bitwise_\w+|[lr]shift)_cpu" not implemented',
    "[lr]shift: value cannot be converted",
    r"\(operator\.invert\)",
    "Subtraction, the `-` operator",
    r"same (dtype|scalar type)|did not match|dtypes match|expected dtype|self\.dtype",
    "pow: value cannot be converted",
    "Could not infer dtype",
    r"can't convert np\.ndarray",
    r"can't assign an? \w+ to",
    "too many dimensions",
    "Overflow when unpacking",
    "cannot be interpreted as an integer",
    "expected src to have a size",
    "The size of tensor a",
    "The expanded size",
    "invalid shape dimension",
    "is invalid for input of size",
    "negative dimension",
    r"expand\(tensor",
    r"must be a (matrix|\dD tensor)",
    "Rotation dim",
    r"vector \+ matrix",
    "should have at least",
    "Input must be >=",
    "total dims",
    "order must",
    "diagonal dimensions",
    "Index tensor must",
    "split_size",
    "number of sections",
    "both dimension lists",
    r"start \(",
    "has invalid size",
    "same (size|shape)",
    "Weights and input",
    "Target size",
    "target tensor expected",
    "Expected p_in",
    r"torch\.cat\(\):",
    "random_",
    r"out of bounds for torch\.int64",
    r"randint\(\) received",
    "unsupported range",
    "upper bound and lower bound",
    "Order .* not",
    "only valid string values",
    r"linalg\.pinv",
    "atol differing",
    r"gather\(\): Expected",
    "gradcheck expects",
    "It is not possible to get the gradient edge",
    "Invalid (beta|epsilon|learning rate)",
    "empty parameter list",
    "grad can be implicitly created",
    "an expression is not an array",
    "a Tensor has no mask",
    "a structure of Tensors contains",
)


def _cases(every: int) -> Iterator[tuple[str, Callable[..., Any], Any, set[str]]]:
    """A text, the function, a call with one bad argument, and what a message may name."""
    turn = 0
    for name, get, make in calls()[0]:
        short = name.rpartition(".")[-1]
        valid = make()
        for place in (*range(len(valid.args)), *valid.words):
            parameter = _parameter(get(), place)
            turn += 1
            for value in list(BAD)[-turn % every :: every]:
                bad = BAD[value]()
                if callable(bad) and not inspect.isfunction(bad) and "Callable" in parameter[1]:
                    continue  # what it raises when it is called is its own, and no frame tells so
                names = {short, short.rstrip("_"), f"linalg_{short}", f"linalg.{short}"}
                names.add(getattr(get(), "__name__", short))  # of an alias
                call = make().with_bad(place, bad)
                yield f"{name}: {place}: {value}", get(), call, names | {parameter[0]}


def _parameter(function: Callable[..., Any], place: int | str) -> tuple[str, str]:
    """The name and the annotation of the parameter at a place."""
    parameters = inspect.signature(function).parameters
    if isinstance(place, str):
        return place, str(parameters[place].annotation)
    for k, p in enumerate(parameters.values()):
        if p.kind is p.VAR_POSITIONAL or k == place:
            return p.name, str(p.annotation)
    raise AssertionError(f"{function} has no place {place}")


@pytest.fixture
def random_numbers_stay():
    state = copy.copy(SHARED).__getstate__()
    yield
    SHARED.__setstate__(state)


@contextmanager
def settings_kept():
    """Some calls are right, and set what holds for the process or the context."""
    options, kind, mode = printing._options, torch.get_default_dtype(), _mode.get()
    yield
    printing._options = options
    torch.set_default_dtype(kind)
    _mode.set(mode)


@pytest.mark.slow
@pytest.mark.usefixtures("random_numbers_stay")
def test_every_function_of_tensors_has_a_valid_call():
    with settings_kept():
        found, without = calls()
    assert not without
    assert len(found) > 750
    for _, function, valid in found:
        with settings_kept():
            valid().applied(function())


@pytest.mark.slow
@pytest.mark.usefixtures("random_numbers_stay")
def test_bad_arguments_are_refused_by_name():
    every = 1 if scaled(1) > 1 else EVERY
    wrong, met = [], set()
    for text, function, call, names in _cases(every):
        with settings_kept():
            answer = judged(function, call, names)
        if answer is not None:
            known = [says for says in UNNAMED if re.search(says, answer)]
            met.update(known)
            if not known or "names none of" not in answer:
                wrong.append(f"{text} -> {answer}")
    assert not wrong, "\n".join(wrong[:20])
    assert every > 1 or not set(UNNAMED) - met


t = torch.tensor([[1.0, 2.0], [3.0, 4.0]])


def test_the_argument_is_named_in_pytorchs_words():
    F = torch.nn.functional
    refused(
        (
            TypeError,
            r"^mean\(\): argument 'input' \(position 1\) must be Tensor, not list$",
            lambda: torch.mean([1.0, 2.0]),
        ),
        (
            TypeError,
            r"^mean\(\): argument 'dim' \(position 1\) must be tuple of ints, not str$",
            lambda: t.mean("rows"),
        ),
        (
            TypeError,
            r"^sum\(\): argument 'axis' must be tuple of ints, not str$",
            lambda: torch.sum(t, axis="rows"),
        ),
        (
            TypeError,
            r"^unsqueeze\(\): argument 'dim' \(position 2\) must be int, not float$",
            lambda: torch.unsqueeze(t, axis=0.5),
        ),
        (
            TypeError,
            r"^reshape\(\): argument 'shape' \(position 2\) must be tuple of ints, but found "
            r"element of type str at pos 1$",
            lambda: torch.reshape(t, (2, "a")),
        ),
        (
            TypeError,
            r"^reshape\(\): argument 'shape' must be tuple of ints, but found element of type",
            lambda: t.reshape(2, None),
        ),
        (
            TypeError,
            r"^softmax\(\): argument 'dtype' \(position 4\) must be torch.dtype, not str$",
            lambda: F.softmax(t, 0, dtype="float"),
        ),
        (
            TypeError,
            r"^linalg_matrix_norm\(\): argument 'keepdim' must be bool, not ndarray$",
            lambda: torch.linalg.matrix_norm(t, keepdim=np.ones(2)),
        ),
        (
            TypeError,
            r"^leaky_relu\(\): argument 'negative_slope' \(position 2\): int too large to convert",
            lambda: F.leaky_relu(t, 10**400),
        ),
        (
            TypeError,
            r"^clamp_\(\): argument 'min' \(position 1\) must be Tensor or Number, not str$",
            lambda: t.clone().clamp_("a"),
        ),
        (
            TypeError,
            r"^jacobian\(\): argument 'func' \(position 1\) must be callable, not NoneType$",
            lambda: torch.autograd.functional.jacobian(None, t),
        ),
        (
            TypeError,
            r"^SGD\(\): argument 'lr' \(position 2\) must be Number or Tensor, not str$",
            lambda: torch.optim.SGD([t.clone().requires_grad_()], "fast"),
        ),
    )


def test_an_expression_for_a_tensor_is_told_the_function_of_expressions():
    x = sd.symbol("x", 3)
    for function in (torch.mean, torch.sin, torch.cumsum):
        with pytest.raises(TypeError, match=f"must be Tensor, not Expr; .* sd.{function.__name__}"):
            function(x, 0) if function is torch.cumsum else function(x)


def test_late_answers_come_at_once():
    """What makes a function refuses what is none, not the first call of the result."""
    func = torch.func
    makers = (func.vmap, func.grad, func.grad_and_value, func.jacrev, func.jacfwd, func.hessian)
    for make in (*makers, torch.vmap, torch.autograd.function.once_differentiable):
        for bad in (None, "abc"):
            with pytest.raises(TypeError, match=rf"^{make.__name__}\(\): .* must be callable, not"):
                make(bad)


def test_what_is_kept_for_later_is_checked_before():
    options = printing._options
    autograd = torch.autograd
    refused(
        (TypeError, "'precision' .* must be int", lambda: torch.set_printoptions(precision="4")),
        (ValueError, "'precision' is 100000", lambda: torch.set_printoptions(precision=100000)),
        (ValueError, "'edgeitems' is -1", lambda: torch.set_printoptions(edgeitems=-1)),
        (ValueError, "'profile' is 'tiny'", lambda: torch.set_printoptions(profile="tiny")),
        (TypeError, "'mode' .* must be bool, not str", lambda: autograd.set_detect_anomaly("on")),
        (TypeError, "'check_nan' .* must be bool", lambda: autograd.detect_anomaly(t)),
        (TypeError, "'argnums' .* must be tuple of ints", lambda: torch.func.grad(torch.sin, "x")),
    )
    assert printing._options is options


def test_the_number_of_parts_has_a_bound():
    refused(
        (ValueError, "tensor_split.*10000000000", lambda: torch.tensor_split(t, 10**10)),
        (ValueError, "chunk.*10000000000", lambda: torch.chunk(torch.zeros(0), 10**10)),
    )
    assert len(torch.tensor_split(t, 1000)) == 1000


def test_shifts_of_numbers_stay_in_64_bits():
    assert torch.bitwise_left_shift(1, 3).item() == 8
    assert torch.bitwise_left_shift(torch.tensor(1, dtype=torch.int8), 3).dtype is torch.int8
    assert torch.bitwise_left_shift(1, 100).item() == 0
    assert torch.bitwise_left_shift(torch.tensor(1), 100).item() == 0
    with pytest.raises(RuntimeError, match="cannot be converted"):
        torch.bitwise_left_shift(1, 2**70)


def test_what_is_nested_in_itself_is_refused():
    loop: list[Any] = []
    loop.append(loop)
    refused(
        (ValueError, "in itself", lambda: torch.tensor(loop)),
        (IndexError, "tensors used as indices", lambda: t[loop]),
        (ValueError, "contains itself", lambda: torch.func.vmap(lambda x: x)(loop)),
        (TypeError, "atleast_1d", lambda: torch.atleast_1d(None)),
        (TypeError, "atleast_3d", lambda: torch.atleast_3d([t, None])),
    )


# The mechanism ------------------------------------------------------------------------------------


def test_exceptions_of_the_users_functions_stay():
    def fails(x):
        return x + None

    with pytest.raises(TypeError, match="unsupported operand"):  # and 2 is not a bool
        torch.autograd.functional.jacobian(fails, t, create_graph=2)
    with pytest.raises(TypeError, match="unsupported operand"):
        torch.func.vmap(fails)(t)


def test_an_inner_function_leaves_the_name_to_the_outer_one():
    F = torch.nn.functional
    refused(
        (TypeError, r"^softmin\(\): argument 'input' \(position 1\)", lambda: F.softmin([1.0], 0)),
        (TypeError, r"^inverse\(\): argument 'input' \(position 1\)", lambda: torch.inverse([1.0])),
        (TypeError, r"^row_stack\(\): argument 'tensors'", lambda: torch.row_stack(None)),
        (TypeError, r"^var\(\): argument 'keepdim'", lambda: torch.var(t, 0, keepdim=Fraction(1))),
    )


def test_a_frame_has_the_functions_own_parameters():
    function = torch.mean
    assert inspect.signature(function) == inspect.signature(function.__wrapped__)
    assert function.__defaults__ == function.__wrapped__.__defaults__
    assert function.__kwdefaults__ == function.__wrapped__.__kwdefaults__
    with pytest.raises(TypeError, match=r"^mean\(\) missing 1 required positional argument"):
        torch.mean()
    assert torch.mean(t, axis=0, keepdims=True).shape == (1, 2)


def test_a_warning_is_one_of_the_users_line():
    with pytest.warns(UserWarning, match="degrees of freedom") as seen:
        torch.var(torch.tensor([1.0]))
    assert seen[0].filename == __file__


@pytest.mark.parametrize("name", ["subtract", "multiply"])
def test_another_name_of_a_method_is_the_one_in_its_messages(name: str) -> None:
    with pytest.raises(TypeError, match=rf"^{name}\(\): argument 'other' \(position 1\) must be"):
        getattr(torch.ones(2), name)("x")


def test_methods_of_other_classes_may_have_the_names_of_those_without_a_frame() -> None:
    class Sums:
        def add(self, other: torch.Tensor) -> torch.Tensor:
            return other

    before = Sums.add
    before.__annotations__["other"] = "Tensor"
    explain_methods(Sums)
    assert inspect.unwrap(Sums.add) is before is not Sums.add
