"""Programs as data: steps that a stranger can read, and each pass alone."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import numeric as nm
import symdiff as sd
from numeric.lowering import kinds
from numeric.lowering.formulas import MathFormulas, NumPyFormulas, printed
from numeric.lowering.names import MATH, NUMPY, Emitter
from numeric.lowering.passes.grouping import inline_values
from numeric.lowering.passes.lifetimes import mark_last_reads
from numeric.lowering.passes.residuals import kept
from numeric.lowering.passes.sums import TERMS, share_leading_terms, split_long_sums
from numeric.lowering.printers.printer import Printer
from numeric.lowering.printers.python import PythonPrinter
from numeric.lowering.programs import Program
from numeric.lowering.schedule import schedule
from numeric.lowering.steps import Schedule, Step
from numeric.lowering.texts import ATOM, LOOSE, POWER, PRODUCT, Template
from symdiff.graph import ops
from symdiff.graph.algebra import PRIMITIVES
from symdiff.graph.leaves import dummy
from symdiff.scalars.formula import kernel_symbol

U, V = sd.symbols("u v", 3)
X, W = sd.symbol("X", ("n", 3)), sd.symbol("W", (3, 3))


def hand(*steps, params=1, results):
    """A schedule of scalars: of each step its kind, op and operands."""
    made = [Step(kinds.Input(), (), (v,), (None,), ((),), (float,)) for v in range(params)]
    for kind, op, operands in steps:
        made.append(Step(kind, operands, (len(made),), (op,), ((),), (float,)))
    return Schedule(tuple(range(params)), tuple(made), results, (), len(made))


SIN = PRIMITIVES["sin"]
SQUARE = Template("{0}*{0}", PRODUCT, (POWER,), frozenset({0}))
CALL = Template("sin({0})", ATOM, (LOOSE,))
NOTHING = Template("", ATOM, ())


# Steps ------------------------------------------------------------------------------------------


def test_a_schedule_is_read_as_a_list_of_steps():
    values, vectors = sd.eigh(sd.symbol("A", ("n", "n")))
    text = str(schedule([sd.sum(values**2) * 3, vectors], [sd.symbol("A", ("n", "n"))]))
    lines = text.splitlines()
    assert lines[0] == "%0: (n, n) float = input A"
    assert lines[1] == "%1: (n,) float, %2: (n, n) float = kernel eigvalsh %0"
    assert lines[-1].startswith("return %")


def test_parts_of_one_computation_are_one_step():
    values, vectors = sd.eigh(W)
    steps = schedule([vectors @ sd.exp(values), sd.sum(values)], [W]).steps
    (both,) = [step for step in steps if len(step.results) > 1]
    assert len(both.ops) == len(both.shapes) == len(both.dtypes) == 2


def test_values_of_numbers_alone_are_computed_at_once():
    made = schedule([sd.sqrt(sd.constant(2)) * sd.pi + U.sum()], [U])
    numbers = [step.kind.value for step in made.steps if isinstance(step.kind, kinds.Number)]
    assert numbers == [pytest.approx(2**0.5 * np.pi, rel=1e-15)]


@pytest.mark.parametrize("flavour", [NUMPY, MATH])
def test_a_program_has_the_steps_that_were_printed(flavour):
    x, y = sd.symbols("x y")
    f = sd.exp(-x * y) * sd.sin(x) + sd.sin(x) ** 2
    program = Program(Emitter(), "f", [x, y], [f], flavour, "")
    lines = [s for s in program.schedule.steps if not (s.leaf or s.inline)]
    assigned = [line for line in program.lines if " = " in line]
    assert len(lines) == len(assigned)


# Long sums --------------------------------------------------------------------------------------


def long_sum(terms, const=0, coefs=None):
    op = ops.sum_op(const, coefs or (1,) * terms)
    return kinds.Sum(), op, tuple(range(terms))


def test_a_long_sum_becomes_partial_sums_from_left_to_right():
    count = 3 * TERMS
    coefs = tuple((-1) ** k * (k + 2) for k in range(count))
    before = hand(long_sum(count, 7, coefs), params=count, results=(count,))
    after = split_long_sums(before)
    sums = [step for step in after.steps if isinstance(step.kind, kinds.Sum)]
    assert max(len(step.operands) for step in sums) == TERMS
    assert after.results == before.results == sums[-1].results
    # Read from the last one back, the terms are those of the sum.
    terms, step = [], sums[-1]
    made = {s.results[0]: s for s in sums}
    while True:
        inner = made.get(step.operands[0])
        rest = zip(step.op.coefs, step.operands, strict=True)
        terms = [*list(rest)[inner is not None :], *terms]
        if inner is None:
            break
        assert step.op.coefs[0] == 1
        assert inner.op.const == 0
        step = inner
    assert terms == list(zip(coefs, range(count), strict=True))
    assert sums[-1].op.const == 7


def test_equal_partial_sums_are_one_value():
    first, second = long_sum(TERMS + 5), long_sum(TERMS + 9)
    after = split_long_sums(hand(first, second, params=TERMS + 9, results=(TERMS + 9, TERMS + 10)))
    assert len([step for step in after.steps if isinstance(step.kind, kinds.Sum)]) == 3


def test_short_sums_stay_as_they_are():
    before = hand(long_sum(TERMS), params=TERMS, results=(TERMS,))
    assert split_long_sums(before) is before


def run(made, values):
    """The values of a schedule of sums, from left to right, and how many terms were added."""
    known, added = list(values) + [None] * (made.length - len(values)), 0
    for step in made.steps:
        if isinstance(step.kind, kinds.Sum):
            terms = [c * known[v] for c, v in zip(step.op.coefs, step.operands, strict=True)]
            total = terms[0]
            for x in [*terms[1:], *([step.op.const] if step.op.const else [])]:
                total = total + x
            added += len(terms)
            known[step.results[0]] = total
    return [known[v] for v in made.results], added


def sums(*rows, params=6):
    """A schedule of sums of parameters: each the coefficients by place, and a constant."""
    steps = [
        (kinds.Sum(), ops.sum_op(const, tuple(row.values())), tuple(row)) for row, const in rows
    ]
    return hand(*steps, params=params, results=tuple(range(params, params + len(rows))))


@pytest.mark.parametrize(
    ("rows", "saved"),
    [
        ([({0: 1, 1: 1, 2: 1}, 0), ({0: 1, 1: 1, 3: 1}, 0)], 0),  # one more line, one less sum
        ([({0: 1, 1: 2, 2: 1, 4: 1}, 0), ({0: 1, 1: 2, 2: 1, 3: 1}, 5)], 1),
        ([({0: 1, 1: 1}, 0), ({0: 1, 1: 1, 2: -1}, 3)], 1),  # a sum that begins another
        ([({0: -1, 1: 1, 2: -1}, 3), ({0: -1, 1: 1}, 0), ({0: -1, 1: 1}, 2)], 2),
        ([({0: 1, 1: 1}, 0), ({0: 1, 2: 1}, 0), ({1: 1, 2: 1}, 0)], 0),
        ([({0: 1, 1: 1, 2: 1, 3: k, 4: 1}, 0) for k in (1, 1.5, 2)], 3),
    ],
)
def test_what_sums_begin_with_is_computed_once(rows, saved):
    before = sums(*rows)
    after = share_leading_terms(before)
    values = np.random.default_rng(1).normal(size=6).tolist()
    (expected, cost), (found, less) = run(before, values), run(after, values)
    assert found == expected
    assert cost - less == saved


def test_beginnings_of_random_sums_change_no_bit():
    rng = np.random.default_rng(0)
    for _ in range(200):
        rows = []
        for _ in range(5):
            count = rng.integers(1, 6)
            coefs = rng.choice([1, -1, 1.0, 3], size=count).tolist()
            rows.append((dict(enumerate(coefs)), int(rng.integers(0, 2))))
        before = sums(*rows)
        after = share_leading_terms(before)
        seen = set()
        for step in after.steps:
            assert seen.issuperset(step.operands)
            seen.update(step.results)
        values = rng.normal(size=6).tolist()
        assert run(before, values)[0] == run(after, values)[0]
        assert run(before, values)[1] >= run(after, values)[1]


def test_one_program_adds_common_terms_once():
    x, y, z, w = sd.symbols("term1 term2 term3 term4", 3)  # of an order of their own
    f = nm.lower([sd.sin(x + y + z), sd.cos(x + y + w)], [x, y, z, w])
    assert f.source.count("v1 + v2") == 1


# Grouping ---------------------------------------------------------------------------------------


def inline(made, templates):
    return [step.results[0] for step in inline_values(made, templates).steps if step.inline]


def test_a_value_that_is_read_once_is_written_where_it_is_read():
    made = hand((kinds.Pointwise(), SIN, (0,)), (kinds.Pointwise(), SIN, (1,)), results=(2,))
    assert inline(made, [NOTHING, CALL, CALL]) == [1]


def test_a_result_and_what_is_read_twice_have_lines():
    twice = hand((kinds.Pointwise(), SIN, (0,)), (kinds.Power(2), None, (1,)), results=(2,))
    assert inline(twice, [NOTHING, CALL, SQUARE]) == []
    result = hand((kinds.Pointwise(), SIN, (0,)), (kinds.Pointwise(), SIN, (1,)), results=(1, 2))
    assert inline(result, [NOTHING, CALL, CALL]) == []


def test_lines_stay_short_and_flat():
    count = 40
    made = hand(*[(kinds.Pointwise(), SIN, (k,)) for k in range(count)], results=(count,))
    lines = count - len(inline(made, [NOTHING] + [CALL] * count))
    assert lines == 5  # eight within each other
    wide = Template("a_function_of_a_long_name({0})", ATOM, (LOOSE,))
    lines = count - len(inline(made, [NOTHING] + [wide] * count))
    assert lines == 10  # a line ends with the step that makes it too long


# Lifetimes --------------------------------------------------------------------------------------


def test_a_value_dies_where_it_is_read_last():
    made = hand(
        (kinds.Pointwise(), SIN, (0,)),
        (kinds.Pointwise(), SIN, (1,)),
        (kinds.Product((1, 1)), None, (1, 2)),
        results=(3,),
    )
    found = mark_last_reads(made).steps
    assert [step.dies for step in found] == [(1,), (3,), (3,), (None,)]


def test_an_inline_step_reads_where_it_is_written():
    made = hand(
        (kinds.Pointwise(), SIN, (0,)),
        (kinds.Pointwise(), SIN, (1,)),  # inline, in the last step
        (kinds.Pointwise(), SIN, (1,)),
        (kinds.Product((1, 1)), None, (2, 3)),
        results=(4,),
    )
    steps = list(made.steps)
    steps[2] = steps[2]._replace(inline=True)
    found = mark_last_reads(made._replace(steps=tuple(steps))).steps
    assert found[1].dies == (4,)


def test_memory_is_given_back_where_the_pass_says():
    """No program keeps an array beyond the line behind which its value dies."""
    f = sd.sum(sd.sin(X) * sd.cos(X) @ W) + sd.sum(sd.tan(X @ W))
    program = Program(Emitter(), "f", [X, W], [f], NUMPY, "")
    gone = sum(line.count(",") + 1 for line in program.lines if line.startswith("del "))
    steps = program.schedule.steps
    named = [s for s in steps if not (s.leaf or s.inline)]
    assert gone == sum(at is not None for s in named for at in s.dies) == len(named) - 1


# Residuals --------------------------------------------------------------------------------------


def test_what_is_kept_is_said_in_numbers():
    y = sd.tan(X @ W)
    seed = dummy(y)
    joint = schedule([y, *sd.vjp(y, [X, W], seed)], [X, W, seed])
    found = kept(joint, 1, 2)
    assert [joint.origins[v] is x for v, x in zip(found, (X, W, y), strict=True)] == [True] * 3


# Another printer --------------------------------------------------------------------------------


class Exact(PythonPrinter):
    """Fractions: what a new target has to say is what the contract names, and no more."""

    formulas = MathFormulas
    real = staticmethod(Printer.real)

    def power(self, step):
        return Template(f"{{0}}**{step.kind.exponent}", POWER, (ATOM,))

    def pointwise(self, step):
        return self.formula(step.op)

    def refused(self, step):
        raise sd.Unsupported(f"{step.kind.name} of fractions")

    shifted = monomial = quotient = strong = kernel = of_numbers = refused


def test_a_third_printer_writes_the_same_steps():
    x, y = sd.symbols("x y")
    f = (x + 2 * y - 3) ** 5 / y**2 - 7 * x**4
    outputs = [f, sd.maximum(x, y), *sd.grad(f, [x, y])]
    written = Exact(Emitter(), schedule(outputs, [x, y]))
    a, b = Fraction(5, 3), Fraction(-2, 7)
    names = {"v1": a, "v2": b, **written.emitter.namespace}
    exec("\n".join(written.lines), names)
    value, larger, by_x, _ = (eval(text, names) for text in written.results)
    u = a + 2 * b - 3
    assert value == u**5 / b**2 - 7 * a**4
    assert larger == a
    assert by_x == 5 * u**4 / b**2 - 28 * a**3
    with pytest.raises(sd.Unsupported, match="kernel of fractions"):
        Exact(Emitter(), schedule([U @ V], [U, V]))


# Formulas ---------------------------------------------------------------------------------------


def test_the_text_of_a_formula_is_what_its_function_computes():
    x, y = kernel_symbol(0), kernel_symbol(1)
    for formula in (x / (1 + abs(x)) ** 2, x**y - 3 * y**-3, abs(x) ** 0.3 / y):
        for printer in (NumPyFormulas, MathFormulas):
            found = printed(formula, 2, printer)
            value = eval(found.template.text.format("a", "b"), found.names, {"a": 1.7, "b": 0.6})
            assert value == found.function(1.7, 0.6)


def test_an_operand_beside_an_operator_is_closed_and_one_in_a_call_is_not():
    x, y = kernel_symbol(0), kernel_symbol(1)
    found = printed(x * y, 2, NumPyFormulas).template
    assert found.needs == (ATOM, ATOM)
    assert printed(SIN.formula, 1, NumPyFormulas).template.needs == (LOOSE,)


def test_powers_of_floats_raise_where_they_would_turn_complex():
    x = kernel_symbol(0)
    with pytest.raises(ValueError, match="math domain"):
        printed(x**0.3, 1, MathFormulas).function(-2.0)
    y = sd.symbol("y")
    f = nm.lower(sd.pointwise("g", lambda x: x**0.3)(y), [y])
    with np.errstate(invalid="ignore"):
        assert np.isnan(f(-2.0))
