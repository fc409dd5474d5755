"""The derivative rules: each op family states its derivative once, and two walks use it.

An opaque op states its differential on its class; this module applies it.

The derivative of a node with respect to operand k is a linear map.  Its statement has two methods.
``pull`` turns the node's cotangent into the operand's; cotangents may carry leading batch axes.
``push`` turns the operand's tangent into its contribution to the node's tangent.  Rules only build
nodes, so derivatives differentiate again.

``flows`` distinguishes zeros for ignored elements from zeros that are values.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from symdiff.calculus.flows import (
    DEEP,
    HOISTED,
    NONE,
    Flow,
    finite,
    gathered,
    is_diagonal,
    shown,
    times,
    visible,
)
from symdiff.calculus.real_values import derived
from symdiff.errors import NotDifferentiable
from symdiff.graph import number, ops
from symdiff.graph.algebra import (
    PRIMITIVES,
    int_power,
    linear,
    mul,
    opaque,
    scale,
    select,
)
from symdiff.graph.contraction import broadcast_to, contract, strong
from symdiff.graph.expr import Expr, check_names
from symdiff.graph.formula_nodes import Step, run, steps
from symdiff.graph.leaves import dummy, full, is_zero, split_coefficient
from symdiff.graph.node import Op, topological
from symdiff.graph.visible_zeros import contracted, moved, parts
from symdiff.scalars.formula import kernel_symbol, partial

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Mapping, Sequence

    from symdiff.graph.axes import Word
    from symdiff.graph.node import Shape


_WHERE = PRIMITIVES["where"]


# The statements -----------------------------------------------------------------------------------


class Statement:
    """The derivative of ``node`` with respect to operand ``k``, as a linear map."""

    __slots__ = ("k", "node")

    def __init__(self, node: Expr, k: int) -> None:
        self.node, self.k = node, k

    def pull(self, g: Flow) -> Flow | None:
        """The operand's cotangent, from the node's (with any leading batch axes)."""
        raise NotImplementedError

    def push(self, t: Flow) -> Flow | None:
        """The operand's contribution to the node's tangent (with any leading batch axes)."""
        raise NotImplementedError

    @staticmethod
    def pushed(node: Expr, tangents: Mapping[int, Flow]) -> list[Flow]:
        """The terms of the node's tangent, for tangents of operands by their index."""
        flows = []
        for k, t in tangents.items():
            rule = statement(node, k)
            flow = None if rule is None else rule.push(t)
            if flow is not None:
                flows.append(flow)
        return flows


class JointStatement(Statement):
    """A derivative that a node states for all operands at once, as loops do."""

    __slots__ = ()

    def pull(self, g: Flow) -> Flow | None:
        return self.pulled(self.node, g, [self.k]).get(self.k)

    def push(self, t: Flow) -> Flow | None:
        flows = self.pushed(self.node, {self.k: t})
        return flows[0] if flows else None

    @staticmethod
    def pulled(node: Expr, g: Flow, places: Sequence[int]) -> Mapping[int, Flow]:
        """The cotangents of the operands with these indices, where they have one."""
        raise NotImplementedError


class SumRule(Statement):
    """``d(c0 + sum ci ai) = sum ci dai``."""

    __slots__ = ()

    def pull(self, g: Flow) -> Flow:
        op = self.node.op
        assert isinstance(op, ops.Sum)
        coef = op.coefs[self.k]
        return g if coef == 1 else Flow(scale(coef, g.expr), g.mark)

    push = pull  # type: ignore[assignment]  # the map is its own transpose


class PointwiseRule(Statement):
    """``dy = c p dx`` for each element, c a number; the map is its own transpose."""

    __slots__ = ()

    def partial(self) -> Expr | None:
        """The partial derivative: SymPy's, of the formula, over the operands."""
        op = self.node.op
        assert isinstance(op, ops.Pointwise)
        # SymPy differentiates a formula once.  The nodes of the partial are made for each operand
        # and merge with existing ones: tan' = 1 + tan**2 reuses the node of tan.
        program = _partial_program(op, self.k)
        if program is None:
            return None
        return run(program, {kernel_symbol(i): x for i, x in enumerate(self.node.args)})

    def coefficient(self) -> number.Number:
        """The number c, separate from p so that it merges with the flow's coefficient at once."""
        return 1

    def pull(self, g: Flow) -> Flow | None:
        p = self.partial()
        return None if p is None else times(g, p, self.coefficient())

    push = pull  # type: ignore[assignment]  # the map is its own transpose


@lru_cache(maxsize=1024)
def _partial_program(op: ops.Pointwise, k: int) -> tuple[Step, ...] | None:
    formula = partial(op.formula, k)
    return None if formula == 0 else steps(formula)


class ProductRule(PointwiseRule):
    """``d(x^p y^q) = p x^(p-1) y^q dx + q x^p y^(q-1) dy``."""

    __slots__ = ()

    def partial(self) -> Expr:
        op, args, k = self.node.op, self.node.args, self.k
        assert isinstance(op, ops.Product)
        # Do not divide the value by the operand, which may be 0.
        p = int_power(args[k], op.exponents[k] - 1)
        return p if len(args) == 1 else mul(p, int_power(args[1 - k], op.exponents[1 - k]))

    def coefficient(self) -> number.Number:
        op = self.node.op
        assert isinstance(op, ops.Product)
        return op.exponents[self.k]


class UnknownRule(PointwiseRule):
    """``d u(x, y) = u_x dx + u_y dy``: the partials are derivatives of the same function."""

    __slots__ = ()

    def partial(self) -> Expr:
        op = self.node.op
        assert isinstance(op, ops.Unknown)
        return opaque(op.by(self.k), *self.node.args)


class StrongRule(Statement):
    """The product rule; zeros of a killing operand stay zeros in the other's cotangent."""

    __slots__ = ()

    def pull(self, g: Flow) -> Flow:
        op, other = self.node.op, self.node.args[1 - self.k]
        assert isinstance(op, ops.Strong)
        # A killing factor makes the derivative by the other factor 0, too, whatever the cotangent.
        kill = op.kills[1 - self.k]
        if not kill and g.mark < DEEP:
            return times(g, other)
        other = broadcast_to(other, g.expr.shape)
        return Flow(strong(g.expr, other, (g.mark > NONE, kill)), DEEP)

    push = pull  # type: ignore[assignment]  # the map is its own transpose


class ContractRule(Statement):
    """The transpose of a contraction exchanges the operand and the output."""

    __slots__ = ()

    def pull(self, g: Flow) -> Flow:
        op, args, k = self.node.op, self.node.args, self.k
        assert isinstance(op, ops.Contract)
        batch = batch_letters(op, g.expr.ndim - self.node.ndim)
        # Keep zeros that are visible before a sum visible after it, if possible: then the program
        # needs no check for zeros when it runs.
        if g.mark == HOISTED:
            inside = self.inside(g, batch + op.out, batch + op.letters[k])
            if inside is not None:
                return inside
        rest = [t for i, t in enumerate(zip(args, op.letters, op.kills, strict=True)) if i != k]
        sizes = dict(zip(op.letters[k], args[k].shape, strict=True))
        word, target = batch + op.out, batch + op.letters[k]
        base = split_coefficient(g.expr)[1]
        # The letters of a contraction leave out zeros off a diagonal: these are gone where the
        # letters are summed.
        diagonal = g.mark == HOISTED and base is not None and is_diagonal(base)
        # Where no factor can be infinite, 0 times it is 0.  Then a plain contraction, which runs on
        # BLAS, has the same value.
        kill = g.mark > NONE and not diagonal and not finite(x for x, *_ in rest)
        result = contract([(g.expr, word, kill), *rest], target, sizes)
        if (g.mark and not diagonal) or any(kill for *_, kill in rest):
            return Flow(result, DEEP)
        if diagonal and base is not None:
            tied = dict(zip(word, base.op.out, strict=True))  # type: ignore[attr-defined]
            target = tuple([tied.get(letter, ~letter) for letter in target])
        # If the operand's word reads only a diagonal, the transpose writes zeros off it.
        return shown(result) if len(set(target)) < len(target) else Flow(result, NONE)

    def push(self, t: Flow) -> Flow:
        op, args, k = self.node.op, self.node.args, self.k
        assert isinstance(op, ops.Contract)
        terms = list(zip(args, op.letters, op.kills, strict=True))
        rest = [x for i, x in enumerate(args) if i != k]
        kill = t.mark > NONE and not finite(rest)
        batch = batch_letters(op, t.expr.ndim - args[k].ndim)
        out = batch + op.out
        terms[k] = (t.expr, batch + op.letters[k], kill)
        sizes = dict(zip(out, _leading_lengths(t.expr, args[k]) + self.node.shape, strict=True))
        if t.mark == HOISTED:
            result = contracted(terms, k, out, sizes)
            if result is not None:
                return visible(result, DEEP if any(op.kills) else HOISTED)
        # A repeated letter in the value writes zeros off a diagonal.
        writes = len(set(op.out)) < len(op.out)
        mark = DEEP if t.mark or writes or any(op.kills) else NONE
        return Flow(contract(terms, out, sizes), mark)

    def inside(self, g: Flow, word: Word, result: Word) -> Flow | None:
        """The cotangent inside g's mask, if the mask has no summed letter; else None.

        ``sum where(c, a, 0) x`` is ``where(c, sum a x, 0)``: a norm's cotangent shows its zeros.
        """
        coefficient, mask = split_coefficient(g.expr)
        if mask is None or mask.op is not _WHERE or len(set(result)) < len(result):
            return None
        condition, a, b = mask.args
        chosen = split_coefficient(a if is_zero(b) else b)[1]
        if not (is_zero(a) or is_zero(b)) or chosen is None or chosen.op is _WHERE:
            return None
        if parts(chosen):
            return None
        contraction = condition.op
        if (
            isinstance(contraction, ops.Contract)
            and len(contraction.letters) == 1
            and len(set(contraction.out)) == len(contraction.out)
            and not contraction.sums
        ):
            outer = dict(zip(contraction.out, word, strict=True))
            word = tuple(outer[letter] for letter in contraction.letters[0])
            condition = condition.args[0]
        if any(letter not in result for letter in word):
            return None
        # One layer is off and the rest is not a mask, so this recursion ends.
        inner = self.pull(Flow(scale(coefficient, a if is_zero(b) else b), NONE))
        sizes = dict(zip(result, inner.expr.shape, strict=True))
        condition, zero = contract([(condition, word)], result, sizes), full(inner.expr.shape, 0)
        x, y = (inner.expr, zero) if is_zero(b) else (zero, inner.expr)
        return Flow(select(condition, x, y), max(inner.mark, HOISTED))


def batch_letters(op: ops.Contract, count: int) -> Word:
    """This many letters for batch axes, which the contraction does not use."""
    first = max((letter for word in (*op.letters, op.out) for letter in word), default=-1) + 1
    return tuple(range(first, first + count))


def _leading_lengths(t: Expr, x: Expr) -> Shape:
    """The lengths of the batch axes of a tangent of x."""
    return t.shape[: t.ndim - x.ndim]


class LinearRule(Statement):
    """A linear map is its own derivative; cotangents take its transpose."""

    __slots__ = ()

    def pull(self, g: Flow) -> Flow:
        op = self.node.op
        assert isinstance(op, ops.Linear)
        return through(op.transposed(self.k, self.node.shape), g)

    def push(self, t: Flow) -> Flow:
        op, args = self.node.op, self.node.args
        assert isinstance(op, ops.Linear)
        if t.mark == HOISTED:
            result = moved(
                op, self.k, t.expr, _leading_lengths(t.expr, args[self.k]) + self.node.shape
            )
            if result is not None:
                return visible(result, HOISTED)
        # The transpose cuts this operand's part out of the value; the transpose of that puts the
        # tangent at this operand's position among zeros.
        if len(args) > 1:  # to this operand's place among zeros
            op = op.transposed(self.k, self.node.shape).transposed(0, args[self.k].shape)
        return through(op, Flow(t.expr, DEEP) if t.mark else t)


def through(op: ops.Linear, flow: Flow) -> Flow:
    """Apply a linear map to a flow, and update the mark of its zeros."""
    x = flow.expr
    if op.writes_zeros():
        return shown(linear(op, x), flow.mark)
    if flow.mark == HOISTED:
        result = moved(op, 0, x, op.result(x.shape))
        if result is not None:
            return visible(result, HOISTED)
    return Flow(linear(op, x), DEEP if flow.mark else NONE)


class OpaqueRule(Statement):
    """The rule of opaque ops: a differential, linear in the operand's tangent.

    A cotangent goes back through the transposed differential.  Where the op is linear in an
    operand, its differential is the op itself, and the op states the transpose.
    """

    __slots__ = ()

    def push(self, t: Flow) -> Flow | None:
        op, args, k = self.node.op, self.node.args, self.k
        assert isinstance(op, ops.Opaque)
        lead = _leading_lengths(t.expr, args[k])
        if op.is_linear_in(k):
            result = batched(self.node, (*args[:k], t.expr, *args[k + 1 :]), lead)
        elif not lead:
            result = op.differential(self.node, k, t.expr)
        else:
            # The differential is linear in a fresh tangent, so it accepts a batch of tangents.
            s = dummy(args[k])
            share = op.differential(self.node, k, s)
            flow = pushforward(topological([share]), [share], {s: t})[0]
            return flow if flow is None or not op.writes_zeros(*args) else Flow(flow.expr, DEEP)
        if t.mark == HOISTED and _weighs(op) and parts(t.expr):
            return visible(result, HOISTED)
        return Flow(result, DEEP if t.mark or op.writes_zeros(*args) else NONE)

    def pull(self, g: Flow) -> Flow | None:
        op, k = self.node.op, self.k
        assert isinstance(op, ops.Opaque)
        if op.is_linear_in(k):
            result = op.transposed(self.node, k, g.expr)
            writes = isinstance(result.op, ops.Opaque) and result.op.writes_zeros(*result.args)
            return Flow(result, DEEP if g.mark or writes else NONE)
        # The differential is linear in a fresh tangent: pulling back through it is its transpose,
        # whatever nodes it consists of.
        t = dummy(self.node.args[k])
        share = op.differential(self.node, k, t)
        flows = arrivals(topological([share]), [share], [t], [g]).get(t)
        return None if flows is None else gathered(flows)


def batched(node: Expr, args: Sequence[Expr], lead: Shape) -> Expr:
    """An opaque node on other operands, some of which have the axes ``lead`` in front.

    Where the shared operands lack ``lead``, these axes become more axes of the other operands.  So
    the work on the shared operands is done once.  Otherwise ``lead`` joins the batch axes of the
    shared operands.
    """
    op = node.op
    assert isinstance(op, ops.Opaque)
    assert op.signature is not None
    shared = op.signature.shared
    has = [x.ndim > y.ndim for x, y in zip(args, node.args, strict=True)]
    alone = not any(has[k] for k in shared)
    led = [
        x if has[k] or (alone and k in shared) else broadcast_to(x, lead + x.shape)
        for k, x in enumerate(args)
    ]
    if alone or len(args) == len(shared):
        return opaque(op, *led)
    leads = [y.ndim - len(op.signature.core(k)) for k, y in enumerate(node.args)]
    more, count = max(leads) - leads[shared[0]], len(lead)
    moved = [x if k in shared else exchanged(x, count, more) for k, x in enumerate(led)]
    return exchanged(opaque(op, *moved), more, count)


def exchanged(x: Expr, first: int, second: int) -> Expr:
    """Move the first axes of ``x`` after this many of the following ones."""
    word = tuple(range(x.ndim))
    both = first + second
    return contract([(x, word)], word[first:both] + word[:first] + word[both:])


def _weighs(op: ops.Opaque) -> bool:
    """Whether the differential is a weighted sum of all elements of the tangent.

    This holds where each core has one number as value; max and min select elements instead.
    """
    signature = op.signature
    return signature is not None and not signature.value and not op.selects


def statement(node: Expr, k: int) -> Statement | None:
    """The derivative of ``node`` with respect to operand k; None where it is always zero.

    Raises NotDifferentiable for a result of ``create_graph=False``.
    """
    op = node.op
    rule = _RULES.get(op.__class__)
    if rule is not None:
        return rule(node, k)
    if isinstance(op, ops.Linear):
        return LinearRule(node, k)
    if op is ops.NO_GRAPH:
        raise NotDifferentiable(
            "this expression was made with create_graph=False, so it cannot be differentiated; "
            "call grad with create_graph=True"
        )
    if op is ops.DETACH:
        return None
    if isinstance(op, ops.Opaque) and (op.constant or op.kind is int):  # or indices from sorting
        return None
    return OpaqueRule(node, k)


_RULES: dict[type[Op], type[Statement]] = {
    ops.Sum: SumRule,
    ops.Product: ProductRule,
    ops.Pointwise: PointwiseRule,
    ops.Strong: StrongRule,
    ops.Contract: ContractRule,
    ops.Fill: ContractRule,
    ops.Unknown: UnknownRule,
}


_JOINT: dict[type[Op], type[JointStatement]] = {}


def register(op: type[Op], rule: type[Statement]) -> None:
    """Register the derivative of a class of ops that a later module defines."""
    _RULES[op] = rule
    if issubclass(rule, JointStatement):
        _JOINT[op] = rule


# The two walks ------------------------------------------------------------------------------------


def dependents(
    order: Sequence[Expr], inputs: Iterable[Expr], closed: Container[Expr] = ()
) -> list[Expr]:
    """The nodes in ``order`` on a path from an input (inputs included), operands before users.

    No path goes through a closed node.

    Raises ShapeError if two symbols of the graph have one name.
    """
    check_names([node for node in order if node.op.__class__ is ops.Symbol])
    reached = set(inputs)
    path = []
    for node in order:
        if node in reached:
            path.append(node)
            continue
        if closed and node in closed:
            continue
        for arg in node.args:
            if arg in reached:
                reached.add(node)
                path.append(node)
                break
    return path


def pullback(
    outputs: Sequence[Expr], inputs: Sequence[Expr], seeds: Sequence[Flow]
) -> list[Flow | None]:
    """The cotangents of ``inputs`` for ``seeds`` of ``outputs``; None for unreachable inputs.

    ``xbar = sum_i seed_i . d output_i / dx``.  A seed has shape batch + output.shape with one batch
    for all, and a cotangent has shape batch + input.shape.  The computation is in floating point,
    even from integers (see ``real_values``).
    """
    order = topological(outputs)
    gradients = arrivals(order, outputs, inputs, seeds)
    flows = [gathered(gradients[x]) if x in gradients else None for x in inputs]
    results = [None if flow is None else flow.expr for flow in flows]
    # Derivatives of integer formulas are real, and NumPy's integers overflow.
    real = derived(order, [seed.expr for seed in seeds], results)
    return [
        flow if flow is None or x is None else Flow(x, flow.mark)
        for flow, x in zip(flows, real, strict=True)
    ]


def arrivals(
    order: Sequence[Expr],
    outputs: Sequence[Expr],
    inputs: Iterable[Expr],
    seeds: Sequence[Flow],
    closed: Container[Expr] = (),
    record: list[tuple[Expr, int, Expr]] | None = None,
) -> dict[Expr, list[Flow]]:
    """The flows whose sums are the cotangents of ``inputs``; no path goes through a closed node.

    ``order`` is the topological order of the outputs.  ``record`` receives every flow from a node
    to an operand: the node, the operand's index and the flow.
    """
    wanted = set(inputs)
    path = dependents(order, wanted, closed)
    active = {node for node in path if node.dtype is float}
    cotangents: dict[Expr, list[Flow]] = {}
    arrived: dict[Expr, list[Flow]] = {}
    for output, seed in zip(outputs, seeds, strict=True):
        arrived.setdefault(output, []).append(seed)
    for node in reversed(path):
        flows = arrived.pop(node, None)
        if flows is None:
            continue
        if node in wanted:
            cotangents[node] = flows
            if not node.args:
                continue
        g = flows[0] if len(flows) == 1 else gathered(flows)
        if is_zero(g.expr):
            continue
        joint = _JOINT.get(node.op.__class__)
        passed: Mapping[int, Flow] = {}
        if joint is not None:
            passed = joint.pulled(node, g, [k for k, arg in enumerate(node.args) if arg in active])
        for k, arg in enumerate(node.args):
            if arg in active:
                if joint is None:
                    rule = statement(node, k)
                    flow = None if rule is None else rule.pull(g)
                else:
                    flow = passed.get(k)
                if flow is not None:
                    if record is not None:
                        record.append((node, k, flow.expr))
                    flows = arrived.get(arg)
                    if flows is None:
                        arrived[arg] = [flow]
                    else:
                        flows.append(flow)
    return cotangents


def pushforward(
    order: Sequence[Expr],
    outputs: Sequence[Expr],
    tangents: Mapping[Expr, Flow],
    closed: Container[Expr] = (),
) -> list[Flow | None]:
    """The tangents of ``outputs`` for tangents of some nodes; None for unreachable outputs.

    ``ydot = sum_k dy/dx_k . tangent_k``, over the paths that avoid closed nodes.  ``order`` is the
    topological order of the outputs.  A tangent has shape batch + node.shape with one batch for
    all.
    """
    pushed: dict[Expr, Flow] = dict(tangents)
    path = dependents(order, tangents, closed)
    # A node that only serves a detached value or a condition passes nothing on, and may even refuse
    # derivatives.
    needed = set(outputs)
    for node in reversed(path):
        if node in needed and node.dtype is float and node.op is not ops.DETACH:
            needed.update(node.args)
    for node in path:
        if node in tangents or node not in needed:
            continue
        if node.op is _WHERE:
            flows = _select_tangents(node, pushed)
        elif node.op.__class__ is ops.Concat and sum(x in pushed for x in node.args) > 1:
            flows = _join_tangents(node, pushed)
        else:
            pairs = [(k, pushed.get(arg)) for k, arg in enumerate(node.args) if arg.dtype is float]
            nonzero = {k: t for k, t in pairs if t is not None}
            flows = (
                _RULES.get(node.op.__class__, Statement).pushed(node, nonzero) if nonzero else []
            )
        if flows:
            g = gathered(flows)
            if not is_zero(g.expr):
                pushed[node] = g
    return [pushed.get(x) for x in outputs]


def _select_tangents(node: Expr, pushed: Mapping[Expr, Flow]) -> list[Flow]:
    """The tangent of ``where(c, a, b)`` as one selection between the tangents of a and b."""
    condition, a, b = node.args
    s, t = pushed.get(a), pushed.get(b)
    if s is None and t is None:
        return []
    either = s or t
    assert either is not None
    zero = Flow(full(either.expr.shape, 0), NONE)
    (x, m), (y, n) = s or zero, t or zero
    condition = broadcast_to(condition, x.shape)
    mark = max(m, n, HOISTED) if s is None or t is None else DEEP if m or n else NONE
    return [Flow(select(condition, x, y), mark)]


def _join_tangents(node: Expr, pushed: Mapping[Expr, Flow]) -> list[Flow]:
    """The tangent of a join with several varying operands: one join, with zeros for the others."""
    assert isinstance(node.op, ops.Linear)
    flows = [pushed.get(x) for x in node.args]
    lead = next(
        _leading_lengths(t.expr, x) for t, x in zip(flows, node.args, strict=True) if t is not None
    )
    operands = [
        full(lead + x.shape, 0) if t is None else t.expr
        for t, x in zip(flows, node.args, strict=True)
    ]
    result = linear(node.op, *operands)
    marks = [HOISTED if t is None else t.mark for t in flows]
    seen = parts(result) and all(
        t is None or t.mark == NONE or (t.mark == HOISTED and parts(t.expr)) for t in flows
    )
    return [Flow(result, NONE if not any(marks) else HOISTED if seen else DEEP)]
