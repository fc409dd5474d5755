"""Nothing half done: every op has all that an op needs, every public function its documentation.

The nodes looked at are those of the table of functions, of its gradients, and of the cases of
tests/test_batched.py, so that an op which nothing public makes is found too.
"""

from __future__ import annotations

import doctest
import functools
import inspect
import math
import pkgutil
from contextlib import nullcontext
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings

import numeric as nm
import symdiff as sd
from numeric.lowering.node_kernels import kernel
from symdiff import opaque_ops
from symdiff.calculus.custom_ops import Custom, CustomPullback
from symdiff.calculus.rules import NONE, Flow, statement
from symdiff.errors import NotDifferentiable, Unsupported
from symdiff.functions.shaping import converted
from symdiff.graph import ops
from symdiff.graph.algebra import linear, size
from symdiff.graph.expr import rebuild
from symdiff.graph.formula_nodes import is_decision, written_out
from symdiff.graph.leaves import dummy, number_of
from symdiff.graph.node import Op, topological
from symdiff.transforms.checkpoints import Checkpoints, Fold
from symdiff.transforms.continuous import ContinuousSolution
from symdiff.transforms.integrals import Integral
from symdiff.transforms.odes import Mesh
from symdiff.transforms.roots import LinearSolution, Root
from symdiff.transforms.scans import Scan
from symdiff.transforms.sized import Sized
from symdiff.transforms.while_loops import Steps
from tests import test_batched, test_table
from tests.support import decomposed, oracles
from tests.support.cases import all_cases
from tests.support.differences import listed
from tests.support.strategies import FAMILIES, programs

if TYPE_CHECKING:
    from symdiff.graph.expr import Expr

MOST = 12  # nodes of each op that are looked at, of distinct parameters first


def concrete_ops() -> list[type[Op]]:
    """Every class of ops of the package that is not the base of others alone.

    Only texts contain a ContinuousSolution: tests/display/test_gallery_solutions.py.
    """
    for module in pkgutil.walk_packages(sd.__path__, "symdiff."):
        if module.name != "symdiff.__main__":
            import_module(module.name)
    found: list[type[Op]] = []
    waiting: list[type[Op]] = [Op]
    while waiting:
        cls = waiting.pop()
        below = [c for c in cls.__subclasses__() if c.__module__.startswith("symdiff.")]
        waiting += below
        if (not below or cls in (ops.Contract, ops.Constant)) and cls not in found:
            found.append(cls)
    found.remove(ContinuousSolution)
    return sorted(found, key=lambda cls: cls.__name__)


# Nodes --------------------------------------------------------------------------------------------


def roots() -> list[Expr]:
    """Values and gradients of the rows of the table and of the cases of test_batched."""
    found: list[Expr] = [
        sd.detach(sd.symbol("x")),
        sd.pi + sd.e,
        size("n"),
        sd.mean(sd.symbol("y", "n - 1")),
        sd.sum(sd.symbol("y", "n")[[0, 2, -1]] ** 2),
        sd.constant(np.eye(2)),
    ]
    x = sd.symbol("x")
    found.append(sd.grad(x**3, x, create_graph=False))
    v, k = sd.symbol("v", 2), sd.symbol("k", 2, dtype=int)
    double, single, whole = map(np.dtype, ("float64", "float32", "int64"))
    found += [
        converted(v, double, single),
        sd.grad(sd.sum(converted(v, double, single)), v),
        converted(v, double, whole),
        converted(k, whole, single),
    ]
    sine = sd.custom(np.sin, lambda g, out, x: g * sd.cos(x), name="sine")
    cosine = sd.custom(np.cos, vjp_numpy=lambda g, out, x: -g * np.sin(x), name="cosine")
    found += [sine(v), sd.grad(sd.sum(cosine(v)), v)]
    found.append(sd.integrate(sd.cosh(x * v[0]), x, x, v[1], closed=False))
    theta, u = sd.function("theta"), sd.function("u")
    found += [sd.diff(u(x, sd.symbol("y")), x), *(sd.diff(theta(x), x, k) for k in range(5))]
    for row in test_table.ROWS:
        for shapes in row.cases[:2]:
            found += _with_gradient(row.ours, [sd.symbol(f"x{k}", s) for k, s in enumerate(shapes)])
    for cases in test_batched.CASES.values():
        for case in cases:
            found += _with_gradient(lambda *xs, f=case.ours: f(xs), oracles.inputs_of(case))
    return found


def _with_gradient(call: Any, xs: list[Expr]) -> list[Expr]:
    outputs = [sd.constant(0) + y if not isinstance(y, sd.Expr) else y for y in listed(call(*xs))]
    real = [y for y in outputs if y.dtype is float]
    if not real or not xs:
        return outputs
    total = functools.reduce(lambda a, b: a + b, [sd.sum(y * y) for y in real])
    return [*outputs, *sd.grad(total, xs)]


@functools.cache
def nodes_of_ops() -> dict[type[Op], list[Expr]]:
    """Some nodes of every op, small ones first, of as many parameters as there are."""
    found: dict[type[Op], dict[Op, Expr]] = {}
    for node in topological(roots()):
        of_class = found.setdefault(type(node.op), {})
        old = of_class.get(node.op)
        if old is None or _elements(old) == 0 or 0 < _elements(node) < _elements(old):
            of_class[node.op] = node
    return {
        cls: sorted(of_class.values(), key=lambda node: (_elements(node) == 0, _elements(node)))[
            :MOST
        ]
        for cls, of_class in found.items()
    }


def _elements(node: Expr) -> int:
    return math.prod(dim if isinstance(dim, int) else 3 for dim in node.shape)


OPS = concrete_ops()
each_op = all_cases("cls", OPS, least=74)


@each_op
def test_an_op_has_nodes(cls):
    """Something public, or its gradient, is made of it; an op without a use is dead."""
    assert nodes_of_ops().get(cls), f"no row of the table makes {cls.__name__}"


# Rules --------------------------------------------------------------------------------------------

# Ops by whose operands nothing is differentiated: a derivative of 0, or a refused one.
CONSTANT = {
    opaque_ops.DetSign: "piecewise constant",
    ops.Barrier: "no derivative by definition",
    Mesh: "steps that SciPy chose are data",
}
# Ops that refuse some derivative by definition.
REFUSES = {CustomPullback: "a product stated in NumPy has no derivative of its own"}


@each_op
def test_an_op_has_a_rule(cls):
    """Cotangents, also batches of them, and tangents go through every real operand."""
    for node in nodes_of_ops()[cls]:
        for k, arg in enumerate(node.args):
            if node.dtype is not float or arg.dtype is not float or number_of(arg) is not None:
                continue
            if cls in CONSTANT:
                with pytest.raises(NotDifferentiable) if node.op is ops.NO_GRAPH else nullcontext():
                    assert statement(node, k) is None
                continue
            if cls in REFUSES:
                with pytest.raises(NotDifferentiable):
                    _walked(node, arg, k)
                continue
            _walked(node, arg, k)


def _walked(node: Expr, arg: Expr, k: int) -> None:
    rule = statement(node, k)
    assert rule is not None, node
    for batch in ((), (2,)):
        pulled = rule.pull(Flow(dummy(sd.zeros(batch + node.shape)), NONE))
        assert pulled is None or pulled.expr.shape == batch + arg.shape, (node, k)
    pushed = rule.push(Flow(dummy(arg), NONE))
    assert pushed is None or pushed.expr.shape == node.shape, (node, k)


LINEAR = [cls for cls in OPS if issubclass(cls, ops.Linear)]
LONGER = {
    ops.Fourier: [linear(ops.fourier_op(part), sd.symbol("e0", 3)) for part in ("cos", "sin")],
    ops.Shift: [linear(ops.shift_op(1), sd.symbol("e0", 3))],
}


@pytest.mark.parametrize("cls", LINEAR, ids=lambda cls: cls.__name__)
def test_a_linear_map_declares_what_it_does_to_elements(cls):
    """Whether it selects them, and writes zeros; its transpose, by the adjoint identity; its value.

    Only the rounding of a cast has no definition by components.
    """
    selects, rng = True, np.random.default_rng(0)
    for node in [*nodes_of_ops()[cls], *LONGER.get(cls, [])]:
        if any(isinstance(dim, str) for x in (node, *node.args) for dim in x.shape):
            continue
        xs = [sd.symbol(f"e{k}", x.shape) for k, x in enumerate(node.args)]
        y = linear(node.op, *xs)
        at = {x: rng.uniform(1, 2, x.shape) for x in xs}
        value = nm.interpret(y, at)
        if cls is not ops.Cast:
            found = np.asarray(sd.evalf(y, 15, at), float)
            np.testing.assert_allclose(found, value, rtol=1e-12, atol=1e-12)
        given = np.concatenate([v.ravel() for v in at.values()])
        selects = selects and bool(np.isin(value, [0, *given]).all())
        if y.op is node.op and cls is not ops.Fourier:  # sines of 0 are not zeros of its own
            assert node.op.writes_zeros() or not (value == 0).any()
        for k, x in enumerate(xs):
            g = sd.symbol("g", y.shape)
            back = nm.interpret(linear(node.op.transposed(k, y.shape), g), {g: value})
            only = {z: at[z] if z is x else 0 * at[z] for z in xs}
            np.testing.assert_allclose(
                np.vdot(back, at[x]), np.vdot(value, nm.interpret(y, only)), rtol=1e-6
            )
    assert cls.selects is selects


@pytest.mark.parametrize("cls", [*LINEAR, ops.Contract], ids=lambda cls: cls.__name__)
def test_what_is_kept_of_an_op_is_not_changed_through_arguments(cls):
    """Although its value may be a view of an argument, in whatever way the kernel makes views."""
    rng = np.random.default_rng(0)
    for node in [*nodes_of_ops()[cls], *LONGER.get(cls, [])]:
        if any(isinstance(dim, str) for x in (node, *node.args) for dim in x.shape):
            continue
        xs = [sd.symbol(f"e{k}", x.shape) for k, x in enumerate(node.args)]
        f = nm.lower(sd.sum(rebuild(node, tuple(xs)) ** 3), xs) if xs else None
        if f is None or not all(x.ndim for x in xs):
            continue
        at = [rng.uniform(1, 2, x.shape) for x in xs]
        _, kept = f.forward(*at)
        expected = f.backward(kept, 1.0)
        for value in at:
            value[...] = -100
        for found, wanted in zip(f.backward(kept, 1.0), expected, strict=True):
            np.testing.assert_array_equal(found, wanted)


OMITTED = [
    (cls, fact)
    for cls in LINEAR
    for fact in ("selects", "writes_zeros", "transposed", "components", "result")
    if fact in cls.__dict__
]


@pytest.mark.parametrize(
    ("cls", "fact"), OMITTED, ids=[f"{fact} of {cls.__name__}" for cls, fact in OMITTED]
)
def test_a_fact_of_a_linear_map_that_is_left_out_is_missed(cls, fact, monkeypatch):
    monkeypatch.delattr(cls, fact)
    with pytest.raises((AssertionError, NotImplementedError, Unsupported)):
        test_a_linear_map_declares_what_it_does_to_elements(cls)


# Kernels, text, counts, components ----------------------------------------------------------------


@each_op
def test_an_op_has_a_kernel(cls):
    """A symbol has a value given instead of a kernel; an unknown function has none."""
    for node in nodes_of_ops()[cls]:
        if cls is ops.Symbol:
            assert nm.interpret(node, {node: _ones(node)}).shape == _ones(node).shape
        elif cls is ops.Unknown:
            with pytest.raises(Unsupported, match="is an unknown function"):
                kernel(node)
        else:
            assert callable(kernel(node))


def _ones(x: Expr) -> Any:
    return np.ones([dim if isinstance(dim, int) else 3 for dim in x.shape], x.dtype)


@pytest.mark.slow
@each_op
def test_an_op_prints(cls):
    """No object's default text; and ops of one kind with other parameters read differently."""
    texts: dict[tuple[Any, ...], dict[str, Op]] = {}
    for node in nodes_of_ops()[cls]:
        for text in (sd.text(node), sd.short(node)):
            assert text
            assert " at 0x" not in text
            assert "object" not in text
        if cls is ops.Constant:
            continue  # data are not compared: equal ones are two constants and read alike
        if cls is ops.Contract and _elements(node) == 1 and len(node.args) == 1:
            continue  # one element has one order, along whichever axis it lies
        if is_decision(node.op):
            assert sd.text(node) == sd.text(written_out(node))
            continue
        before = texts.setdefault((node.args, node.shape), {}).setdefault(sd.text(node), node.op)
        assert before is node.op, f"{before!r} and {node.op!r} read alike: {sd.text(node)}"


@each_op
def test_an_op_is_counted(cls):
    """Or it is refused by name: nobody knows what a black box does."""
    for node in nodes_of_ops()[cls]:
        if cls in (Custom, CustomPullback, ops.Unknown):
            with pytest.raises(Unsupported, match=r"is a black box|is an unknown function"):
                sd.count_operations(node)
        else:
            assert sd.count_operations(node, {"n": 3}) >= 0


@each_op
def test_an_op_is_evaluated_by_components(cls):
    """As formulas of SymPy; or it is refused by name."""
    for node in nodes_of_ops()[cls][:4]:
        if any(isinstance(dim, str) for x in topological([node]) for dim in x.shape):
            continue
        free = [sd.symbol(f"c{k}", x.shape, x.dtype) for k, x in enumerate(node.args)]
        whole = _over(node, free)
        try:
            formula = sd.to_sympy(whole)
        except Unsupported as refusal:
            assert node.op.name in str(refusal), refusal  # noqa: PT017 (either outcome is right)
        else:
            assert getattr(formula, "shape", ()) == node.shape or not node.shape


def _over(node: Expr, free: list[Expr]) -> Expr:
    """The op of ``node`` over symbols; over its own operands where they are numbers."""
    kept = [
        x if number_of(x) is not None or x.dtype is bool or not x.args else y
        for x, y in zip(node.args, free, strict=True)
    ]
    return rebuild(node, tuple(kept)) if kept else node


# Programs -----------------------------------------------------------------------------------------

# Ops that random programs do not make, and why.
_ELEMENTS = "programs are run on elements of any field; it is evaluated in numbers: by differences"
NOT_DRAWN = {
    ops.Places: "programs have axes of known length; tests/numeric/test_named_lengths.py",
    ops.Count: "programs have axes of known length; tests/numeric/test_lengths_that_are_lost.py",
    ops.Size: "programs have axes of known length; tests/test_engine.py has symbolic ones",
    ops.Exact: "numbers of programs are rational; pi comes from derivatives, if at all",
    opaque_ops.DetSign: "programs take the logarithm of the determinant only: it has a derivative",
    ops.Barrier: "its derivative is not that of its value: tests/test_laws.py",
    **dict.fromkeys(
        (ops.Cast, ops.ToInteger, ops.ToReal),
        "expressions have no precision; those of Tensors do: tests/eager/test_traced_ops.py",
    ),
    opaque_ops.ArgMax: "integers without a derivative: tests/symdiff/test_sequences.py",
    opaque_ops.ArgMin: "integers without a derivative: tests/symdiff/test_sequences.py",
    opaque_ops.Nonzero: "conditions are drawn by themselves: tests/symdiff/test_conditions.py",
    opaque_ops.SearchSorted: "integers without a derivative: tests/symdiff/test_sequences.py",
    ops.Unknown: "without a value: tests/symdiff/test_unknown_functions.py",
    Integral: "its value is SciPy's: tests/symdiff/test_integrals.py",
    Custom: "not a formula of ours: tests/symdiff/test_custom.py",
    CustomPullback: "not a formula of ours: tests/symdiff/test_custom.py",
    Root: "equations are drawn by themselves: tests/symdiff/test_solutions.py",
    Mesh: "SciPy's, not a formula of ours: tests/symdiff/test_odes.py",
    LinearSolution: "maps are stated by themselves: tests/symdiff/test_solutions.py",
    Scan: "bodies are drawn by themselves: tests/symdiff/test_scan.py",
    Checkpoints: "a scan in segments: tests/symdiff/test_checkpoints.py",
    Fold: "the cotangents of such a scan: tests/symdiff/test_checkpoints.py",
    Steps: "bodies are drawn by themselves: tests/symdiff/test_while_loop.py",
    Sized: "it has a scan inside: tests/symdiff/test_while_loop.py",
    **dict.fromkeys(decomposed.VALUES.keys() - {opaque_ops.CofactorTangent}, _ELEMENTS),
}


# So many examples of every family are drawn at a time, at most so many times.
DRAWN, ROUNDS = 30, 10


@functools.cache
def drawn_ops() -> dict[type[Op], None]:
    """The ops of random programs of every family, and of their gradients; always the same.

    Programs are drawn until every op was met that has to be: most need few.
    """
    met: dict[type[Op], None] = {}
    for place in range(ROUNDS):
        for family in FAMILIES:
            _draw(family, place, met)
        if all(cls in met or cls in NOT_DRAWN for cls in OPS):
            break
    return met


def _draw(family: str, place: int, met: dict[type[Op], None]) -> None:
    @seed(place)
    @settings(
        max_examples=DRAWN,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(programs([family], steps=6))
    def collect(program: Any) -> None:
        xs = oracles.inputs_of(program)
        found = _with_gradient(lambda *xs: program.ours(xs), xs)
        if family == "opaque" and len(found) > 1:  # the gradient's gradient as well
            found += sd.grad(sd.sum(found[1] * found[1]), xs)
        for node in topological(found):
            met[type(node.op)] = None

    collect()


@pytest.mark.slow
@each_op
def test_random_programs_have_the_op(cls):
    assert cls in NOT_DRAWN or cls in drawn_ops()


# Documentation ------------------------------------------------------------------------------------

DATA = {"e", "pi", "__version__"}
PUBLIC = [name for name in sd.__all__ if name not in DATA]
# Public things without a text of their own: modules, and words that are arguments.
NUMERIC = [
    name
    for name in nm.__all__
    if not name.startswith("__")
    and not isinstance(getattr(nm, name), ModuleType | str | float | None)
]


@all_cases("name", [*PUBLIC, *(f"numeric.{name}" for name in NUMERIC)], least=673)
def test_a_public_name_has_a_contract_and_an_example(name):
    module: Any = nm if name.startswith("numeric.") else sd
    thing = getattr(module, name.split(".")[-1])
    text = inspect.getdoc(thing) or ""
    first = text.split("\n\n")[0]
    assert first.rstrip().endswith((".", ";", ":")), f"{name}: {first!r} is not a sentence"
    if isinstance(thing, type) and (issubclass(thing, Exception | tuple) or name in CLASSES):
        return
    examples = doctest.DocTestParser().get_examples(text)
    assert examples, f"{name} has no example"


# Classes that are documented by the functions that make them.
CLASSES = {"Expr": "symbol", "numeric.Function": "lower", "numeric.no_grad": "no_grad"}


def test_no_public_name_is_listed_twice():
    assert len(set(sd.__all__)) == len(sd.__all__)
    assert all(hasattr(sd, name) for name in sd.__all__)
