"""What opaque ops declare, asked by using it: each fact against what the op's kernel does.

An op is built over symbols of the shapes that its signature allows.  At the end facts are left out
of ops, one at a time, and the tests of this file must fail.
"""

from __future__ import annotations

import itertools
import pickle
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import numeric as nm
import symdiff as sd
from numeric.lowering.kernels.opaque import OPAQUE as KERNELS
from numeric.lowering.kernels.opaque import PARTS as TOGETHER
from numeric.lowering.kernels.opaque import of_parts
from symdiff import opaque_ops
from symdiff.calculus.custom_ops import Custom, CustomPullback
from symdiff.calculus.flows import HOISTED, Flow, shown
from symdiff.calculus.real_values import in_reals
from symdiff.calculus.rules import statement
from symdiff.errors import NotDifferentiable, ShapeError, Unsupported
from symdiff.graph import ops
from symdiff.graph.algebra import linear, opaque
from symdiff.graph.contraction import symmetric
from symdiff.graph.signatures import Signature
from symdiff.interchange.pickling import described
from symdiff.transforms.checkpoints import Checkpoints, Fold
from symdiff.transforms.integrals import Integral
from symdiff.transforms.odes import Mesh
from symdiff.transforms.roots import Equations, LinearSolution, Root
from symdiff.transforms.scans import Scan
from symdiff.transforms.sized import Sized
from symdiff.transforms.while_loops import Steps
from tests.test_completeness import OPS, nodes_of_ops

if TYPE_CHECKING:
    from collections.abc import Sequence

    from symdiff.graph.expr import Expr


BLACK_BOXES = (Custom, CustomPullback)
# These are what their bodies are, which is not a fact of the class: test_scan.py,
# test_solutions.py, test_while_loop.py, test_checkpoints.py, test_odes.py, test_integrals.py.  Of
# the last one the length is what there is: test_conditions.py.  An unknown function has no value:
# test_unknown_functions.py.
OTHERS = (
    *(*BLACK_BOXES, ops.Unknown, Equations, Integral, Root, LinearSolution, Mesh),
    *(Scan, Checkpoints, Fold, Sized, Steps, opaque_ops.Nonzero),
)
OPAQUE = [cls for cls in OPS if issubclass(cls, ops.Opaque) and cls not in OTHERS]


class Between(ops.Opaque):
    """``A X B``, as a newcomer would write it: X has leading axes that A and B share."""

    __slots__ = ()
    name = "between"
    signature = Signature("(m,m),(m,n),(n,n)->(m,n)", shared=(0, 2))
    linear_in = (0, 1, 2)

    def transposed(self, node, k, g):
        a, x, b = node.args
        at, bt = sd.matrix_transpose(a), sd.matrix_transpose(b)
        if k == 1:
            return opaque(self, at, g, bt)
        product = g @ sd.matrix_transpose(x @ b) if k == 0 else sd.matrix_transpose(a @ x) @ g
        inner = tuple(range(g.ndim - node.ndim, g.ndim - (b if k else a).ndim))
        return sd.sum(product, axis=inner) if inner else product

    def cost(self, length, operands):
        return length("m") * length("n") * (length("m") + length("n"))

    def components(self, of, shape, *cores):
        shapes = (shape[0],) * 2, shape, (shape[1],) * 2
        a, x, b = (np.array(c, object).reshape(s) for c, s in zip(cores, shapes, strict=True))
        return (a @ x @ b).tolist()


OPAQUE.append(Between)


@pytest.fixture(autouse=True)
def kernel_of_a_newcomer(monkeypatch):
    monkeypatch.setitem(KERNELS, Between, lambda a, x, b: a @ x @ b)


each_opaque = pytest.mark.parametrize("cls", OPAQUE, ids=lambda cls: cls.__name__)
LENGTHS = {"m": 5, "n": 4, "k": 3, "w": 3}


SYMBOLS = ["c"]


@pytest.fixture(autouse=True)
def own_symbols(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nodes of no other test: one that is alive keeps the facts with which it was made."""
    monkeypatch.setattr(f"{__name__}.SYMBOLS", [f"c{next(_TESTS)}_"])


_TESTS = itertools.count()


def samples(cls: type[ops.Opaque], times: int = 1) -> list[Expr]:
    """The op over symbols of the shapes that its signature allows, for some of its parameters."""
    found = []
    nodes = nodes_of_ops().get(cls, [])
    for op in dict.fromkeys(node.op for node in nodes) or [ops.opaque_op(cls)]:
        signature = op.signature
        words = [signature.operands]
        if signature.text.split("->")[0].endswith("..."):
            words = [(*signature.operands[:-1], *signature.operands[-1:] * k) for k in (0, 1, 2)]
        for cores in words:
            for lead, more in (((), ()), ((2,), ()), ((), (2,)), ((2,), (3,))):
                if more and (not signature.shared or len(cores) == 1):
                    continue
                xs = []
                for k, core in enumerate(cores):
                    own = lead if k in signature.shared else more + lead
                    shape = (*own, *(times * LENGTHS[letter] for letter in core))
                    whole = k == op.indices or cls is ops.ToReal
                    xs.append(sd.symbol(f"{SYMBOLS[0]}{k}", shape, int if whole else float))
                found.append(opaque(op, *xs))
    return found


def point(y: Expr, shapes: list[tuple[int, ...]], rng: np.random.Generator) -> list[Any]:
    """Operands for ``y``: matrices that have all decompositions, vectors without ties, places."""
    found: list[Any] = []
    for k, (x, shape) in enumerate(zip(y.args, shapes, strict=True)):
        if x.dtype is int:
            ends = [a.shape[-1] for a in y.args] if k == y.op.indices else [9]
            found.append(rng.integers(0, min(getattr(y.op, "length", 9), *ends), shape))
            continue
        values = rng.uniform(0.5, 1.5, shape)
        if len(y.op.signature.core(0)) == 2:
            rows, columns = shape[-2:]
            values += columns * np.eye(rows, columns) * np.arange(1, columns + 1)
        elif shape:
            values = np.cumsum(values, axis=-1)
            if not isinstance(y.op, opaque_ops.SearchSorted):
                values = rng.permuted(values, axis=-1)
        found.append(values)
    return found


@each_opaque
def test_the_shape_that_an_op_declares_is_that_of_its_value(cls):
    rng = np.random.default_rng(0)
    for y in samples(cls):
        values = point(y, [x.shape for x in y.args], rng)
        assert nm.interpret(y, dict(zip(y.args, values, strict=True))).shape == y.shape, y


@each_opaque
def test_empty_cores_and_batches_have_a_value_or_are_refused_by_name(cls):
    nodes = samples(cls)
    many = [{x: sd.symbol(f"{x.name}s", (0, *x.shape), x.dtype) for x in y.args} for y in nodes]
    batches = list(map(sd.batch, nodes, many))
    for y in [*samples(cls, times=0), *batches]:
        at = {x: np.zeros(x.shape, x.dtype) for x in y.free_symbols}
        for value_of in (nm.interpret, lambda y, at: np.asarray(sd.evalf(y, 15, at))):
            try:
                value = value_of(y, at)
            except (ValueError, Unsupported) as refusal:
                assert cls.name in str(refusal), refusal  # noqa: PT017 (either outcome is right)
            else:
                assert value.shape == y.shape, y


@pytest.mark.slow
@each_opaque
def test_a_batch_of_an_op_is_the_loop(cls):
    """Whichever operands are batched, and of whatever length: that of a core axis, too."""
    rng = np.random.default_rng(0)
    for y in samples(cls):
        for mapped in itertools.product((False, True), repeat=len(y.args)):
            for n in (2, *LENGTHS.values()) if any(mapped) else ():
                check_batch_of(y, y, mapped, n, rng)


def check_batch_of(
    f: Expr, y: Expr, mapped: Sequence[bool], n: int, rng: np.random.Generator
) -> None:
    """The batch of a formula over the operands of ``y`` is the loop."""
    xs = y.args
    shapes = [(n, *x.shape) if m else x.shape for x, m in zip(xs, mapped, strict=True)]
    new = [sd.symbol(f"{x.name}s", s, x.dtype) for x, s in zip(xs, shapes, strict=True)]
    known = {x: z for x, z, m in zip(xs, new, mapped, strict=True) if m}
    now = [known.get(x, x) for x in xs]
    values = point(y, shapes, rng)
    found = nm.interpret(sd.batch(f, known), dict(zip(now, values, strict=True)))
    for i in range(n):
        at = [v[i] if m else v for v, m in zip(values, mapped, strict=True)]
        expected = nm.interpret(f, dict(zip(xs, at, strict=True)))
        error = 1e-9 * np.abs(expected).max(initial=1)
        np.testing.assert_allclose(found[i], expected, rtol=0, atol=error, err_msg=f"{f} {mapped}")


@pytest.mark.parametrize("cls", BLACK_BOXES, ids=lambda cls: cls.__name__)
def test_a_batch_of_a_black_box_is_refused_by_name(cls):
    node = nodes_of_ops()[cls][0]
    x = next(iter(node.free_symbols))
    with pytest.raises(Unsupported, match=r"batch: (sine|cosine|cosine_vjp) has no batching rule"):
        sd.batch(node, {x: sd.symbol("many", (2, *x.shape))})


@each_opaque
def test_an_op_declares_what_it_costs(cls):
    """As much for each of a batch, and no less for longer axes."""
    for y, longer in zip(samples(cls), samples(cls, times=2), strict=True):
        batch = sd.batch(y, {x: sd.symbol(f"{x.name}s", (7, *x.shape), x.dtype) for x in y.args})
        assert sd.count_operations(batch) == 7 * sd.count_operations(y)
        free = cls in (opaque_ops.Take, ops.ToInteger, ops.ToReal)
        assert (sd.count_operations(y) > 0) is not free
        assert sd.count_operations(longer) > sd.count_operations(y) or free


def at_random(y: Expr, rng: np.random.Generator) -> dict[Expr, Any]:
    return dict(zip(y.args, point(y, [x.shape for x in y.args], rng), strict=True))


def same(xs: Sequence[Expr], ys: Sequence[Expr]) -> bool:
    return len(xs) == len(ys) and all(x is y for x, y in zip(xs, ys, strict=True))


def real(y: Expr) -> list[int]:
    """The operands that derivatives may be taken by."""
    return [k for k, x in enumerate(y.args) if y.dtype is x.dtype is float]


@each_opaque
def test_an_op_declares_what_it_is_linear_in(cls):
    """In the sum of two operands it is the sum of two values there; and 0 of a zero."""
    rng = np.random.default_rng(0)
    for y in samples(cls):
        for k in real(y):
            x = y.args[k]
            is_linear = all(adds_up(y, x, rng) for _ in range(3))
            assert y.op.is_linear_in(k) is is_linear, (y, k)
            if is_linear:
                replaced = [*y.args[:k], sd.zeros(x.shape), *y.args[k + 1 :]]
                assert opaque(y.op, *replaced) is sd.zeros(y.shape)


def adds_up(y: Expr, x: Expr, rng: np.random.Generator) -> bool:
    """Whether of a + 2b for x the value is that of a, and twice that of b."""
    values, other = at_random(y, rng), at_random(y, rng)[x]
    ats = values, {**values, x: other}, {**values, x: values[x] + 2 * other}
    a, b, both = (nm.interpret(y, at) for at in ats)
    return np.allclose(a + 2 * b, both, rtol=1e-9, atol=1e-12)


# Of functions of order 1 a central difference with this step errs by h**2, and by eps / h.
STEP, DIFFERENCE = 1e-5, 1e-7


@pytest.mark.slow
@each_opaque
def test_derivatives_are_differences(cls):
    """Pulled back and pushed forward, which are one matrix; 0 where the op is constant."""
    rng = np.random.default_rng(0)
    for y in samples(cls):
        for k in real(y):
            at, x = at_random(y, rng), y.args[k]
            pulled, pushed = [sd.jacobian(y, x, mode=m) for m in ("reverse", "forward")]
            expected = np.zeros((*y.shape, *x.shape))
            for place in np.ndindex(x.shape):
                step = np.zeros(x.shape)
                step[place] = STEP
                up, down = (nm.interpret(y, {**at, x: at[x] + s}) for s in (step, -step))
                expected[(..., *place)] = (up - down) / (2 * STEP)
            size = max(1.0, np.abs(expected).max(initial=0))
            for found in (pulled, pushed):
                value = nm.interpret(found, at)
                assert value.shape == found.shape == expected.shape
                np.testing.assert_allclose(value, expected, rtol=0, atol=size * DIFFERENCE)


@pytest.mark.slow
@each_opaque
def test_a_batch_of_a_derivative_is_the_loop(cls):
    """There operands have more leading axes than the one that they share."""
    rng = np.random.default_rng(0)
    for y in samples(cls):
        if any(x.ndim > len(y.op.signature.core(k)) for k, x in enumerate(y.args)):
            continue
        for k in real(y):
            jacobian = sd.jacobian(y, y.args[k])
            for x in jacobian.free_symbols:
                check_batch_of(jacobian, y, [a is x for a in y.args], x.shape[-1], rng)


@each_opaque
def test_an_op_declares_whether_it_selects(cls):
    """Its elements are then those of the first operand, and integers need no cast before it."""
    rng = np.random.default_rng(0)
    for y in samples(cls):
        if y.op.signature.core(0) and y.dtype is float:
            at = at_random(y, rng)
            value = nm.interpret(y, at)
            assert y.op.selects is bool(np.isin(value, at[y.args[0]]).all())


@each_opaque
def test_an_op_declares_what_says_where(cls):
    """Indices stay integers where the op is computed in floating point."""
    for y in samples(cls):
        wholes = [sd.symbol(f"i{k}", x.shape, int) + 1 for k, x in enumerate(y.args)]
        op, pairs = y.op, zip(y.args, wholes, strict=True)
        args = [i if k == op.indices else x for k, (x, i) in enumerate(pairs)]
        if opaque(op, *args).dtype is float:
            (z,) = in_reals([opaque(op, *args)])
            assert same(z.args, args)


# Their zeros count as numbers: no one reads them for their own sake.
WITH_ZEROS = (opaque_ops.Cholesky, opaque_ops.Gaps)


@each_opaque
def test_an_op_declares_whether_it_writes_zeros(cls):
    """Of operands without zeros, where its rules do not see to it."""
    rng = np.random.default_rng(0)
    for y in samples(cls):
        if y.op.linear_in or (cls not in WITH_ZEROS and all(x.dtype is float for x in y.args)):
            zeros = y.dtype is float and (nm.interpret(y, at_random(y, rng)) == 0).any()
            assert y.op.writes_zeros(*y.args) or not zeros


SQUARE = {"keeps_symmetry": "(n,n)->(n,n)", "adds_up_to_trace": "(n,n)->(n)"}


@each_opaque
def test_an_op_declares_what_it_does_to_symmetric_matrices(cls):
    rng = np.random.default_rng(0)
    for y in samples(cls):
        if len(y.args) > 1 or y.op.signature.core(0) != ("n", "n"):
            continue
        (x,), (a,) = y.args, at_random(y, rng).values()
        if y.op.signature.value == ("n", "n"):
            turned = nm.interpret(y, {x: np.swapaxes(a, -1, -2)})
            keeps = np.allclose(np.swapaxes(turned, -1, -2), nm.interpret(y, {x: a}), rtol=1e-9)
            node = opaque(y.op, sd.matrix_transpose(x) @ x)
            assert y.op.keeps_symmetry is keeps
            assert symmetric(node, node.ndim - 2, node.ndim - 1) is keeps
        if y.op.signature.value == ("n",):
            traces = np.trace(a, axis1=-2, axis2=-1)
            adds = np.allclose(nm.interpret(y, {x: a}).sum(-1), traces, rtol=1e-9)
            assert y.op.adds_up_to_trace is adds
            assert (sd.sum(y, axis=-1) is sd.trace(x, axis1=-2, axis2=-1)) is adds


@each_opaque
def test_an_op_declares_which_one_is_its_logarithm(cls):
    y = samples(cls)[0]
    at = at_random(y, np.random.default_rng(0))
    for other in OPAQUE:
        z = samples(other)[0]
        if same(y.args, z.args) and z.op.signature.value == () == y.op.signature.value:
            absolute = np.abs(nm.interpret(y, at))
            is_log = np.allclose(nm.interpret(z, at), np.log(absolute), rtol=1e-9)
            assert (y.op.log_abs is other) is is_log


OF_TWO = ("add", "multiply", "maximum", "minimum", "logaddexp")


@each_opaque
def test_an_op_declares_what_makes_a_whole_of_two_parts(cls):
    op = samples(cls)[0].op
    holds = []
    if (op.signature.operands, op.signature.value) == ((("n",),), ()):
        a = np.random.default_rng(0).normal(size=6)

        def value(part):
            x = sd.symbol("of_two", part.size)
            return nm.interpret(opaque(op, x), {x: part})

        holds = [
            name
            for name in OF_TWO
            if all(
                np.isclose(getattr(np, name)(value(a[:k]), value(a[k:])), value(a))
                for k in range(1, 6)
            )
        ]
    assert holds == ([] if op.of_two is None else [op.of_two])


# No closed form; and conversions to real numbers, whose elements are of no precision.
NUMERIC = {
    *(opaque_ops.Eigvalsh, opaque_ops.Eigvecs, opaque_ops.Expm, opaque_ops.Gaps, opaque_ops.Qr),
    *(opaque_ops.LeftVectors, opaque_ops.SingularValues, opaque_ops.RightVectors),
    opaque_ops.QrTriangle,
    *(opaque_ops.Logm, opaque_ops.Sqrtm),
    ops.ToReal,
}


@pytest.mark.slow
@each_opaque
def test_an_op_is_defined_by_components(cls):
    """With the value of its kernel, in batches too; or it is refused by name."""
    rng = np.random.default_rng(0)
    for y in samples(cls):
        at = at_random(y, rng)
        if cls in NUMERIC:
            with pytest.raises(Unsupported, match=f"{y.op.name} has no component-wise value"):
                sd.evalf(y, 15, at)
        else:
            found = np.asarray(sd.evalf(y, 15, at), float)
            np.testing.assert_allclose(found, nm.interpret(y, at), rtol=1e-9, atol=1e-9)


@each_opaque
def test_an_op_comes_back_from_a_pickle(cls):
    for y in samples(cls):
        assert pickle.loads(pickle.dumps(y)) is y


def hoisted(x: Expr) -> Flow:
    """A flow of the shape of x that shows zeros in all places but one of the last axis."""
    first = sd.symbol("part", (*x.shape[:-1], 1))
    whole = ((0, None, 1),) * (x.ndim - 1)
    flow = shown(linear(ops.unslice_op(x.shape, (*whole, (0, 1, 1)), first.shape), first))
    assert flow.mark == HOISTED
    return flow


@each_opaque
def test_a_rule_says_what_became_of_zeros(cls):
    """What a hoisted flow becomes is hoisted only if it shows its zeros."""
    for y in samples(cls):
        for k, x in enumerate(y.args):
            rule = statement(y, k) if y.dtype is x.dtype is float else None
            for walk, of in ((rule.pull, y), (rule.push, x)) if rule else ():
                flow = walk(hoisted(of)) if of.shape[-1:] > (1,) else None
                if flow is not None and flow.mark == HOISTED:
                    assert shown(flow.expr).mark == HOISTED, (y, k, walk)


PARTS = [cls for cls in OPAQUE if issubclass(cls, ops.Part)]
each_part = pytest.mark.parametrize("cls", PARTS, ids=lambda cls: cls.__name__)


@each_part
def test_an_op_declares_which_result_it_is(cls):
    """One of each signature, of the same operands, from every kernel that gives it."""
    rng = np.random.default_rng(0)
    siblings = [other for other in PARTS if other.whole is cls.whole]
    results = cls.whole.results
    assert sorted(other.part for other in siblings) == list(range(len(results)))
    assert cls.signature is results[cls.part]
    for y in samples(cls):
        assert described(y.op)[1:] == ((cls,),)  # no parameters: one whole of the same operands
        (a,) = point(y, [x.shape for x in y.args], rng)
        alone = nm.interpret(y, dict.fromkeys(y.args, a))
        for given in TOGETHER[cls.whole]:
            for wanted in itertools.combinations(given, 2):
                if cls.part in wanted:
                    value = of_parts(cls.whole, wanted)(a)[wanted.index(cls.part)]
                    np.testing.assert_allclose(value, alone, rtol=0, atol=1e-9)
        parts = [opaque(ops.opaque_op(other), *y.args) for other in siblings]
        assert sd.count_operations(parts) == max(map(sd.count_operations, parts))


# Planted omissions --------------------------------------------------------------------------------


def derivatives(cls: type[ops.Opaque]) -> None:
    test_derivatives_are_differences(cls)
    test_a_batch_of_a_derivative_is_the_loop(cls)


# The test that a fact is asked by, where it may be left out.
ASKED = {
    "signature": test_a_batch_of_an_op_is_the_loop,
    "linear_in": test_an_op_declares_what_it_is_linear_in,
    "transposed": derivatives,
    "differential": derivatives,
    "constant": derivatives,
    "indices": derivatives,
    "cost": test_an_op_declares_what_it_costs,
    "selects": test_an_op_declares_whether_it_selects,
    "writes_zeros": test_an_op_declares_whether_it_writes_zeros,
    "keeps_symmetry": test_an_op_declares_what_it_does_to_symmetric_matrices,
    "adds_up_to_trace": test_an_op_declares_what_it_does_to_symmetric_matrices,
    "components": test_an_op_is_defined_by_components,
    "log_abs": test_an_op_declares_which_one_is_its_logarithm,
    "of_two": test_an_op_declares_what_makes_a_whole_of_two_parts,
    "part": test_an_op_declares_which_result_it_is,
}


def owner(cls: type[ops.Opaque], fact: str) -> type | None:
    """The class that declares a fact of an op: its own, or one that it shares with others."""
    found = next((c for c in cls.__mro__ if fact in c.__dict__), ops.Opaque)
    return None if found is ops.Opaque else found


OMISSIONS = [
    *((cls, fact) for cls in OPAQUE for fact in ASKED if owner(cls, fact)),
    *((cls, "shared") for cls in OPAQUE if cls.signature.shared and cls.linear_in),
    *((cls, "kernel") for cls in OPAQUE if cls in KERNELS or issubclass(cls, ops.Part)),
]
# In whose derivatives an op has operands with more leading axes; others are so in their own.
TRANSPOSES = {opaque_ops.Take: opaque_ops.Put, opaque_ops.Put: opaque_ops.Take}
MISSED = (
    *(AssertionError, AttributeError, IndexError, KeyError, ValueError),
    *(NotDifferentiable, ShapeError, Unsupported),
)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("cls", "fact"), OMISSIONS, ids=[f"{fact} of {cls.__name__}" for cls, fact in OMISSIONS]
)
def test_a_fact_that_is_left_out_is_missed(cls, fact, monkeypatch):
    test = ASKED.get(fact, derivatives)
    if fact == "kernel":
        test = test_the_shape_that_an_op_declares_is_that_of_its_value
        monkeypatch.delitem(*((KERNELS, cls) if cls in KERNELS else (TOGETHER, cls.whole)))
        of_parts.cache_clear()  # which has found it before
    elif fact == "shared":
        monkeypatch.setattr(cls, "signature", Signature(cls.signature.text))
        cls = TRANSPOSES.get(cls, cls)
    else:
        monkeypatch.delattr(owner(cls, fact), fact)
    with pytest.raises(MISSED):
        test(cls)


@pytest.mark.parametrize(
    ("cls", "fact", "value"),
    [
        (opaque_ops.Eigvalsh, "signature", Signature("(n,n)->(n,n)")),
        (opaque_ops.Pinv, "signature", Signature("(m,n)->(m,n)")),
        (opaque_ops.Prod, "selects", True),
        (opaque_ops.Cumprod, "linear_in", (0,)),
        (opaque_ops.Cholesky, "keeps_symmetry", True),
        (opaque_ops.LogSumExp, "constant", True),
        (opaque_ops.LogSumExp, "of_two", "maximum"),
        (opaque_ops.Eigvecs, "part", 0),
        (opaque_ops.LeftVectors, "part", 2),
        (opaque_ops.Take, "transposed", lambda op, node, k, g: opaque(op, g, node.args[1])),
    ],
)
def test_a_wrong_fact_is_noticed(cls, fact, value, monkeypatch):
    monkeypatch.setattr(cls, fact, value)
    with pytest.raises(MISSED):
        (ASKED[fact] if fact != "signature" else derivatives)(cls)
