"""A valid call of every public function and method of Tensors, found by annotations.

A parameter has candidates by its name, else by its annotation.  The first combination that a
function accepts is its valid call; optional parameters are then added one by one.  ``STATED`` has
calls for functions without a sensible or likely combination.
"""

from __future__ import annotations

import inspect
import itertools
import warnings
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

import numeric as nm
from numeric.nn import utils
from tests.support.valid_calls import Valid, valid

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Make = Callable[[], Any]

# Candidates ---------------------------------------------------------------------------------------


def square() -> nm.Tensor:
    return nm.tensor([[2.0, 0.5], [0.5, 3.0]], dtype=nm.float64)


def vector() -> nm.Tensor:
    return nm.tensor([0.25, 0.75, 0.5], dtype=nm.float64)


def pair() -> nm.Tensor:
    return nm.tensor([0.25, 0.75], dtype=nm.float64)


def single() -> nm.Tensor:
    return nm.tensor(0.5, dtype=nm.float64)


def ints() -> nm.Tensor:
    return nm.tensor([1, 0, 1])


def places() -> nm.Tensor:
    return nm.tensor([[0, 1], [1, 0]])


def bools() -> nm.Tensor:
    return nm.tensor([True, False, True])


def mask() -> nm.Tensor:
    return nm.tensor([[True, False], [False, True]])


def cube() -> nm.Tensor:
    return nm.tensor(np.arange(8.0).reshape(2, 2, 2) / 8)


def leaf() -> nm.Tensor:
    x = vector().requires_grad_()
    x.grad = vector()
    return x


TENSORS: list[Make] = [square, vector, ints, single, places, bools, mask, cube]


def _of(*values: Any) -> list[Make]:
    return [lambda value=value: value for value in values]


def _halved(x: Any, *rest: Any) -> Any:
    """Halve tensors and return other values unchanged, so that no argument fails."""
    return x / 2 if isinstance(x, nm.Tensor) else x


def _energy(x: Any) -> Any:
    return (x * x).sum() if isinstance(x, nm.Tensor) else x


def _is_large(x: Any) -> Any:
    return x > 1 if isinstance(x, nm.Tensor) else x


def _step(carry: Any, x: Any) -> Any:
    return _halved(carry), x


def _next(i: Any, carry: Any) -> Any:
    return _halved(carry)


BY_ANNOTATION: dict[str, list[Make]] = {
    "Tensor": TENSORS,
    "Operand": [square, vector, *_of(0.5, 1), ints],
    "int": _of(0, 1, 2, -1),
    "SupportsIndex": _of(0, 1, 2),
    "SupportsInt": _of(3),
    "float": _of(0.5, 1.0, 2),
    "bool": _of(False, True),
    "str": _of("none", "mean", "error"),
    "Dims": _of(0, (0, 1), (0,)),
    "SizeLike": _of((2, 2), (4,), (3,), 2, (2, 2, 2)),
    "Sequence[int]": _of((1, 1)),
    "tuple[int, ...]": _of((0,)),
    "dtype": _of(nm.float64),
    "dtypes.dtype": _of(nm.float64),
    "DtypeLike": _of(nm.float64, nm.int64),
    "DeviceLike": _of("cpu"),
    "Generator": [nm.Generator],
    "TensorLike": _of([1.0, 2.0]),
    "np.ndarray": [lambda: np.array([1.0, 2.0])],
    "Sequence[Tensor]": [lambda: [square(), square()], lambda: [vector(), vector()]],
    "Tensor | Sequence[Tensor]": [square, vector],
    "Iterable[Tensor]": [lambda: [leaf()]],
    "tuple[Tensor, ...]": [lambda: (vector(),)],
    "tuple[object, ...]": [lambda: (vector(),)],
    "Iterable[object]": [lambda: (ints(),), lambda: (places()[0], places()[1])],
    "Callable[..., object]": _of(_energy, _halved),
    "Callable[[Tensor], object]": _of(lambda g: None),
}
BY_NAME: dict[str, list[Make]] = {
    "approximate": _of("tanh"),
    "body": _of(_halved),
    "chunk_size": _of(1),
    "cond": _of(_is_large),
    "correction": _of(1),
    "f": _of(_halved),
    "g": _of(_halved),
    "hook": _of(lambda g: None),
    "in_dims": _of(0),
    "indexing": _of("ij"),
    "index": [places, ints, *_of(0)],
    "indices": [lambda: (ints(),), ints, places],
    "indices_or_sections": _of(1, 2),
    "init": [single],
    "length": _of(3),
    "linewidth": _of(80),
    "max_steps": _of(50),
    "memory_format": _of(nm.preserve_format),
    "method": _of("RK45"),
    "mode": _of("constant", "reduced", True),
    "name": _of("abc"),
    "ord": _of(2, "fro"),
    "out": [],
    "out_dims": _of(0),
    "p": _of(2, 0.5),
    "precision": _of(4),
    "primals": [lambda: (vector(),)],
    "profile": _of("default"),
    "q": _of(0.5),
    "randomness": _of("error"),
    "reduce": _of("add", "sum"),
    "reduction": _of("mean"),
    "rhs": _of(_halved),
    "rounding_mode": _of("floor"),
    "side": _of("left"),
    "source": [square, vector, *_of(0)],
    "split_size": _of(1),
    "split_size_or_sections": _of(1),
    "steps": _of(3),
    "t": [lambda: vector().sort().values],
    "tangents": [lambda: (vector(),)],
    "threshold": _of(1000, 0.5),
    "value": _of(0.5, 1, True),
    "x0": [single],
    "xs": [vector],
    "y0": [single],
    "UPLO": _of("L"),
}


def _candidates(parameter: inspect.Parameter) -> list[Make]:
    annotation = str(parameter.annotation)
    if parameter.kind is parameter.VAR_POSITIONAL and annotation == "object":
        return [*_of(0, 2, (2, 2)), square, vector]
    if parameter.name in BY_NAME and parameter.kind is not parameter.VAR_POSITIONAL:
        return BY_NAME[parameter.name]
    if annotation in BY_ANNOTATION:
        return BY_ANNOTATION[annotation]
    return [m for part in annotation.split(" | ") for m in BY_ANNOTATION.get(part, [])]


# Calls that no search can construct ---------------------------------------------------------------


def _gradient() -> Valid:
    x = leaf()
    options = {"retain_graph": True, "create_graph": True, "allow_unused": True}
    return valid((x * x).sum(), x, grad_outputs=None, **options, is_grads_batched=False)


def _check() -> Valid:
    options = {"raise_exception": True, "nondet_tol": 0.0, "check_undefined_grad": True}
    return valid(_halved, (leaf(),), eps=1e-6, atol=1e-5, rtol=1e-3, **options)


_ALONG_0 = (
    *("cummax", "cummin", "cumprod", "cumsum", "logcumsumexp"),
    *("logsumexp", "log_softmax", "softmax"),
)
_PRODUCT_OPTIONS = {"beta": 1.0, "alpha": 2.0}

STATED: dict[str, Callable[[], Valid]] = {
    "autograd.graph.get_gradient_edge": lambda: valid(leaf()),
    "autograd.backward": lambda: valid(
        (leaf() ** 2).sum(), grad_tensors=None, retain_graph=True, create_graph=False, inputs=None
    ),
    "autograd.grad": _gradient,
    "autograd.gradcheck": _check,
    "autograd.gradgradcheck": _check,
    "func.fori_loop": lambda: valid(0, 3, _next, single()),
    "func.scan": lambda: valid(_step, single(), vector(), length=3, reverse=True, checkpoint=False),
    "func.vjp": lambda: valid(_energy, vector(), has_aux=False),
    "linalg.solve_triangular": lambda: valid(
        square(), square(), upper=True, left=True, unitriangular=False
    ),
    "nm.addmv": lambda: valid(pair(), square(), pair(), **_PRODUCT_OPTIONS),
    "nm.einsum": lambda: valid("ij,jk->ik", square(), square()),
    "nm.is_tensor": lambda: valid(vector()),
    "nm.mv": lambda: valid(square(), pair()),
    "nm.normal": lambda: valid(0.0, 1.0, (2,)),
    "nm.randint": lambda: valid(0, 5, (2,)),
    "nm.scatter": lambda: valid(square(), 0, places(), 0.5, reduce="add"),
    "square.scatter": lambda: valid(0, places(), 0.5, reduce="add"),
    "square.scatter_": lambda: valid(0, places(), value=0.5, reduce="add"),
    "nm.split": lambda: valid(vector(), 1, dim=0),
    "nm.where": lambda: valid(mask(), square(), square()),
    "square.mv": lambda: valid(pair()),
    "square.addr_": lambda: valid(pair(), pair(), **_PRODUCT_OPTIONS),
    "vector.addmv": lambda: valid(nm.ones(3, 2, dtype=nm.float64), pair(), **_PRODUCT_OPTIONS),
    "vector.addmv_": lambda: valid(nm.ones(3, 2, dtype=nm.float64), pair(), **_PRODUCT_OPTIONS),
    "vector.split": lambda: valid(1, dim=0),
    "leaf.backward": lambda: valid(vector(), retain_graph=True, create_graph=False, inputs=None),
    **{f"nm.{name}": lambda: valid(square(), dim=0) for name in _ALONG_0},
    **{f"square.{name}": lambda: valid(dim=0) for name in _ALONG_0},
    **{f"nm.{name}": lambda: valid(square(), 0.5, 1.0) for name in ("clamp", "clip")},
    **{f"square.{n}": lambda: valid(0.5, 1.0) for n in ("clamp", "clip", "clamp_", "clip_")},
    "square.__getitem__": lambda: valid(0),
    "square.__setitem__": lambda: valid(0, 1.0),
    "square.__matmul__": lambda: valid(square()),
    "square.__pow__": lambda: valid(2),
    "func.minimize": lambda: valid(_energy, single(), max_steps=50),
    "optim.SGD": lambda: valid([leaf()], lr=0.1, momentum=0.5, weight_decay=0.1, nesterov=True),
    "optim.Adam": lambda: valid([leaf()], lr=0.1, betas=(0.5, 0.5), eps=1e-8, amsgrad=True),
    "optim.AdamW": lambda: valid([leaf()], lr=0.1, betas=(0.5, 0.5), eps=1e-8, amsgrad=True),
    "nn.Parameter": lambda: valid(vector(), True),
    "nm.Generator": lambda: valid("cpu"),
    "nm.device": lambda: valid("cpu"),
    "nm.finfo": lambda: valid(nm.float32),
    "nm.iinfo": lambda: valid(nm.int8),
    "SGD.step": lambda: valid(lambda: 1.0),
    "SGD.zero_grad": lambda: valid(True),
    "SGD.add_param_group": lambda: valid({"params": [leaf()]}),
    "SGD.load_state_dict": lambda: valid(nm.optim.SGD([leaf()], lr=0.1).state_dict()),
    "Generator.manual_seed": lambda: valid(3),
}


# The search ---------------------------------------------------------------------------------------

_SPACES = {
    "nm": nm,
    "nn.functional": nm.nn.functional,
    "nn.utils": utils,
    "linalg": nm.linalg,
    "func": nm.func,
    "autograd": nm.autograd,
    "autograd.functional": nm.autograd.functional,
    "autograd.graph": nm.autograd.graph,
}
# Classes, and methods of objects other than Tensors, by the maker of the object.
_CLASSES = {
    "optim": (nm.optim, ("SGD", "Adam", "AdamW")),
    "nn": (nm.nn, ("Parameter",)),
    "nm": (nm, ("Generator", "device", "finfo", "iinfo")),
}
_OBJECTS: dict[str, tuple[Make, tuple[str, ...]]] = {
    "SGD": (
        lambda: nm.optim.SGD([leaf()], lr=0.1),
        ("step", "zero_grad", "add_param_group", "load_state_dict"),
    ),
    "Generator": (nm.Generator, ("manual_seed",)),
}
# Other tables have the functions of expressions, modes and displays.
_ELSEWHERE = ("numeric.show", "numeric.lowering", "numeric.shards", "numeric.modes")
_OPERATORS = ("__getitem__", "__setitem__", "__contains__", "__pow__", "__matmul__")


class Call(NamedTuple):
    """A function by name, created anew with its Tensor, and its valid call."""

    name: str
    function: Callable[[], Callable[..., Any]]
    valid: Callable[[], Valid]


def _functions() -> Iterator[tuple[str, Callable[[], Any]]]:
    for label, space in _SPACES.items():
        for name in sorted(space.__all__):
            function = getattr(space, name)
            if inspect.isfunction(function) and not function.__module__.startswith(_ELSEWHERE):
                yield f"{label}.{name}", lambda space=space, name=name: getattr(space, name)
    for label, (space, names) in _CLASSES.items():
        for name in names:
            yield f"{label}.{name}", lambda space=space, name=name: getattr(space, name)
    for label, (make, names) in _OBJECTS.items():
        for name in names:
            yield f"{label}.{name}", lambda make=make, name=name: getattr(make(), name)
    for name, member in sorted(vars(nm.Tensor).items()):
        if inspect.isfunction(member) and (name[0] != "_" or name in _OPERATORS):
            for make in (*TENSORS, leaf):
                label = f"{make.__name__}.{name}"
                yield label, lambda make=make, name=name: getattr(make(), name)


def _accepts(function: Callable[..., Any], args: tuple[Make, ...], words: dict[str, Make]) -> bool:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            function(*[m() for m in args], **{name: m() for name, m in words.items()})
    except Exception:  # any error means that the call is not valid
        return False
    return True


def _searched(get: Callable[[], Callable[..., Any]]) -> Callable[[], Valid] | None:
    """Search the first valid call among the candidates; add all accepted optional arguments."""
    parameters = inspect.signature(get()).parameters.values()
    first = [p for p in parameters if p.default is p.empty and p.kind <= p.POSITIONAL_OR_KEYWORD]
    several = [
        extra
        for p in parameters
        if p.kind is p.VAR_POSITIONAL
        for extra in [*((m,) for m in _candidates(p)), *((m, m) for m in _candidates(p)[:3])]
    ]
    named = [p for p in parameters if p.default is p.empty and p.kind is p.KEYWORD_ONLY]
    for args in itertools.product(*map(_candidates, first)):
        for extra in (*several, ()):
            for values in itertools.product(*map(_candidates, named)):
                words = {p.name: m for p, m in zip(named, values, strict=True)}
                if _accepts(get(), args + extra, words):
                    for p in parameters:
                        if p.default is p.empty or p.kind not in (1, 3):
                            continue
                        for make in _candidates(p):
                            if _accepts(get(), args + extra, {**words, p.name: make}):
                                words[p.name] = make
                                break
                    return lambda: valid(
                        *[m() for m in args + extra], **{name: m() for name, m in words.items()}
                    )
    return None


@cache
def calls() -> tuple[list[Call], list[str]]:
    """Return a valid call of each function, and the names of functions without one."""
    known: dict[str, Call] = {}
    unknown: dict[str, None] = {}
    for name, get in _functions():
        space, _, short = name.rpartition(".")
        key = name if space in (*_SPACES, *_CLASSES, *_OBJECTS) else f"Tensor.{short}"
        if key not in known:
            make_valid = STATED.get(name) or _searched(get)
            if make_valid is None:
                unknown[key] = None
            else:
                known[key] = Call(name, get, make_valid)
    return list(known.values()), [name for name in unknown if name not in known]
