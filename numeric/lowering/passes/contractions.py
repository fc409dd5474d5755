"""Contractions, each with what only it reads: multiplied and summed where that is least work.

``symdiff`` keeps the association of reverse mode: a product that one contraction reads stays a
product, a sum over the result of another stays behind that.  In a program only work counts.  So a
contraction takes in the products, contractions and rearrangements that nobody else reads, as long
as the plan for all of them together (``contraction``) costs no more: in ``V' (V * s)`` the columns
of V meet first, in the sum over n of ``L Y`` that of Y comes first, and transposed results are made
as they are wanted.  Coefficients go to the smallest operand; ``X' diag(s) X`` is one product of a
matrix with itself (``kernels.gram``).

What is added up is the same, in another order, so all of it is left out for ``exact_order``; and
where it would save little, which leaves small arrays as they were.  Only what BLAS computes takes
in anything: everything else stays as it is for blocks of rows, in which products cost no memory.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from numeric.lowering import costs, kinds
from numeric.lowering.contraction import BLAS, plan
from numeric.lowering.steps import Step
from symdiff.graph import ops
from symdiff.graph.axes import canonical

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numeric.lowering.steps import Schedule
    from symdiff.graph.axes import Word
    from symdiff.graph.node import Dim, Op, Shape

_OPERANDS = 6  # what one contraction takes in, at most


class Term(NamedTuple):
    """A contraction: values with their letters, which are of the whole schedule."""

    values: tuple[int, ...]
    words: tuple[Word, ...]
    out: Word


def merge_contractions(schedule: Schedule, numbers: Sequence[bool]) -> Schedule:
    """The schedule with contractions that have taken in what only they read.

    ``numbers`` says which values may be Python numbers, which are not arrays of weights.

    >>> import symdiff as sd
    >>> from numeric.lowering.schedule import schedule
    >>> A, B = sd.symbol("A", (99, 99)), sd.symbol("B", (99, 99))
    >>> AB, v = A @ B, sd.symbol("v", 99)
    >>> print(merge_contractions(schedule([AB @ v], [A, B, v]), [False] * 5))
    %0: (99, 99) float = input A
    %1: (99, 99) float = input B
    %2: (99,) float = input v
    %4: (99,) float = kernel contract %0, %1, %2
    return %4
    """
    if ops.Contract not in schedule.op_classes() or not any(
        step.kernel(ops.Contract) and _sums(step.op) for step in schedule.steps
    ):
        return schedule
    found = _Merging(schedule, numbers)
    for step in schedule.steps:
        if isinstance(step.kind, kinds.Sum):
            found.scale(step)
        elif isinstance(step.kind, kinds.ByKernel):
            found.grow(step)
    return found.schedule()


def sum_operands_first(schedule: Schedule) -> Schedule:
    """The schedule with sums of single operands of contractions in steps of their own.

    So every plan begins; a sum by itself may be in a kernel where the contraction is none.

    >>> import symdiff as sd
    >>> from numeric.lowering.schedule import schedule
    >>> A, Y = sd.symbol("A", (4, 4)), sd.symbol("Y", ("n", 4))
    >>> print(sum_operands_first(schedule([sd.einsum("ij,ni->j", A, Y)], [A, Y])))
    %0: (4, 4) float = input A
    %1: (n, 4) float = input Y
    %3: (4,) float = kernel contract %1
    %2: (4,) float = kernel contract %0, %3
    return %2
    """
    steps: list[Step] = []
    length, known = schedule.length, schedule.definitions()
    for step in schedule.steps:
        op = step.kernel(ops.Contract)
        if op is None or any(op.kills):
            steps.append(step)
            continue
        words, operands = list(op.letters), list(step.operands)
        for k, word in enumerate(words if len(words) > 1 else ()):
            others = {*op.out, *[x for j, w in enumerate(words) if j != k for x in w]}
            read = known[operands[k]]
            shape, dtype = read.layout(operands[k])
            left = tuple([x for x in word if x in others])
            if read.weak or dtype is not float or len({*word}) < len(word):
                continue
            if not 0 < len(left) < len(word):
                continue
            kept = tuple([dim for dim, x in zip(shape, word, strict=True) if x in others])
            sums = ops.contract_op(*canonical((word,), left), (), (False,))
            made = (length,), (sums,), (kept,), (float,)
            steps.append(Step(kinds.ByKernel(), (operands[k],), *made))
            words[k], operands[k] = left, length
            length += 1
        if tuple(words) != op.letters:
            contract = ops.contract_op(*canonical(words, op.out), op.created, op.kills)
            step = step._replace(operands=tuple(operands), ops=(contract,))
        steps.append(step)
    return schedule._replace(steps=tuple(steps), length=length)


def _sums(op: Op) -> bool:
    return isinstance(op, ops.Contract) and op.sums


def _carried(term: Term) -> bool:
    """Whether operands have all letters of the result."""
    return {k for word in term.words for k in word}.issuperset(term.out)


class _Merging:
    """``steps`` are those of values, as they are by now; ``before`` has new ones of a step."""

    def __init__(self, schedule: Schedule, numbers: Sequence[bool]) -> None:
        self._given = schedule
        self.steps, self.numbers = list(schedule.definitions()), list(numbers)
        self.length: dict[int, Dim] = {}
        self.before: dict[int, list[int]] = {}
        self.dropped: set[int] = set()
        self.reads = list(schedule.reads())

    def schedule(self) -> Schedule:
        """What has become of the schedule."""
        steps = [
            self.steps[v]
            for step in self._given.steps
            for v in (*self.before.get(step.results[0], ()), step.results[0])
            if v not in self.dropped
        ]
        return self._given._replace(steps=tuple(steps), length=len(self.steps))

    # What is taken in -----------------------------------------------------------------------------

    def grow(self, step: Step) -> None:
        """Let a contraction take in what costs no more inside of it."""
        term = self._term(step)
        if term is None or not _carried(term):
            return
        taken: list[int] = []
        cost, saved, places = self._cost(term), 0.0, list(range(len(term.values)))
        while places:
            tried = self._with(term, places.pop())
            if tried is None:
                continue
            within, inside = tried
            inside_cost = self._cost(within)
            less = cost + sum([self._cost_of(v) for v in inside]) - inside_cost
            if less >= 0:
                taken += inside
                term, cost, saved = within, inside_cost, saved + less
                places = list(range(len(term.values)))
        turned = False
        if len(taken) == 1:
            # A matrix times itself is symmetric.  Others are written row by row, and what computes
            # with them and with arrays of the other order jumps through one of both.
            large = self._size(term.out) > costs.CALLS
            gram = isinstance(self.steps[taken[0]].kind, kinds.Gram)
            turned = gram or (large and len(step.operands) == 1)
        if saved > costs.CALLS or turned:
            self.dropped.update(taken)
            self.steps[step.results[0]] = self._step(term, step)

    def _with(self, term: Term, place: int) -> tuple[Term, list[int]] | None:
        """The contraction with one of its operands taken in, and the values that it then lacks."""
        v, word = term.values[place], term.words[place]
        inner = self._term(self.steps[v]) if self.reads[v] == 1 else None
        if inner is None and self.reads[v] == 1 and self._by_blas(term):
            inner = self._product(self.steps[v])
        if inner is None or len(term.values) + len(inner.values) > _OPERANDS + 1:
            return None
        if len(term.values) == 1 and not self._by_blas(inner):
            return None
        named = dict(zip(inner.out, word, strict=True))
        words = [tuple([named.get(k, k) for k in own]) for own in inner.words]
        found = Term(
            (*term.values[:place], *inner.values, *term.values[place + 1 :]),
            (*term.words[:place], *words, *term.words[place + 1 :]),
            term.out,
        )
        there = {k for own in found.words for k in own}
        if not _carried(found):
            return None
        if any(self.length[k] != 1 for k in word if k not in there):
            return None
        taken = [v]
        for at in range(place, place + len(inner.values)):  # what is only turned costs nothing
            deeper = self.steps[found.values[at]]
            single = isinstance(deeper.kind, kinds.ByKernel) and len(deeper.operands) == 1
            if single and not _sums(deeper.op):
                tried = self._with(found, at)
                if tried is not None:
                    found = tried[0]
                    taken += tried[1]
        return found, taken

    # Steps and terms ------------------------------------------------------------------------------

    def _letter(self, dim: Dim) -> int:
        k = len(self.length)
        self.length[k] = dim
        return k

    def _term(self, step: Step) -> Term | None:
        """A step as a contraction of floats whose result has each letter once."""
        op = step.op
        if not isinstance(step.kind, kinds.ByKernel | kinds.Gram) or not isinstance(
            op, ops.Contract
        ):
            return None
        if isinstance(op, ops.Fill) or not step.operands or step.weak or any(op.kills):
            return None
        if len(set(op.out)) < len(op.out) or not self._real(step.operands):
            return None
        named: dict[int, int] = {}
        again = step.operands[:1] if isinstance(step.kind, kinds.Gram) else ()
        values = (*step.operands, *again)
        for v, word in zip(values, op.letters, strict=True):
            for k, dim in zip(word, self._shape(v), strict=True):
                if k not in named:
                    named[k] = self._letter(dim)
        for k, dim in zip(op.out, step.shapes[0], strict=True):
            if k not in named:
                named[k] = self._letter(dim)
        words = tuple([tuple([named[k] for k in word]) for word in op.letters])
        return Term(values, words, tuple([named[k] for k in op.out]))

    def _product(self, step: Step) -> Term | None:
        """A step as the contraction that a product is, where a factor is stretched."""
        if not isinstance(step.kind, kinds.Product) or step.weak or min(step.kind.signs) < 0:
            return None
        shapes = [self._shape(v) for v in step.operands]
        if not self._real(step.operands) or () in shapes or all(x == shapes[0] for x in shapes):
            return None
        out = tuple([self._letter(dim) for dim in step.shapes[0]])
        words = []
        for shape in shapes:
            aligned = zip(shape, out[len(out) - len(shape) :], strict=True)
            words.append(
                tuple([k if dim == self.length[k] else self._letter(dim) for dim, k in aligned])
            )
        return Term(step.operands, tuple(words), out)

    def _real(self, values: Sequence[int]) -> bool:
        return all(self.steps[v].layout(v)[1] is float for v in values)

    def _shape(self, v: int) -> Shape:
        return self.steps[v].layout(v)[0]

    def _op(self, term: Term) -> ops.Contract:
        words, out = canonical(term.words, term.out)
        there = {k for word in term.words for k in word}
        created = tuple([self.length[k] for k in term.out if k not in there])
        return ops.contract_op(words, out, created, (False,) * len(words))

    def _step(self, term: Term, step: Step) -> Step:
        """The step of a contraction whose result is that of ``step``."""
        weighted = self._weighted(term)
        if weighted is None:
            return step._replace(kind=kinds.ByKernel(), operands=term.values, ops=(self._op(term),))
        two, op = weighted.values[:2], self._op(weighted)
        return step._replace(kind=kinds.Gram(), operands=two, ops=(op,))

    def _weighted(self, term: Term) -> Term | None:
        """``X' diag(s) X`` as X, s and X, where a contraction is that."""
        if len(term.values) != 3 or len(term.out) != 2:
            return None
        for at, word in enumerate(term.words):
            rest = [k for k in range(3) if k != at]
            first, second = [term.words[k] for k in rest]
            if len(word) != 1 or len(first) != 2 or self.numbers[term.values[at]]:
                continue
            rows = first.index(word[0]) if word[0] in first else 2
            same = term.values[rest[0]] == term.values[rest[1]]
            if same and second[rows : rows + 1] == word and {*first, *second} == {*word, *term.out}:
                order = (rest[0], at, rest[1])
                values, words = zip(*[(term.values[k], term.words[k]) for k in order], strict=True)
                return Term(values, words, term.out)
        return None

    # What it costs --------------------------------------------------------------------------------

    def _size(self, letters: Iterable[int]) -> int:
        dims = [self.length[k] for k in {*letters}]
        return costs.elements(dims)

    def _by_blas(self, term: Term) -> bool:
        op, shapes = self._op(term), [self._shape(v) for v in term.values]
        return any(stage.kind in BLAS for stage in plan(op, shapes).stages)

    def _cost(self, term: Term) -> float:
        """In elements that NumPy writes."""
        if self._weighted(term) is not None:
            letters = [k for word in term.words for k in word]
            return self._size(term.words[0]) + self._size(letters) / (2 * costs.BLAS)
        cost, length = 0.0, dict[int, int]()
        op, shapes = self._op(term), [self._shape(v) for v in term.values]
        for word, shape in zip(op.letters, shapes, strict=True):
            for k, dim in zip(word, shape, strict=True):
                length[k] = costs.length(dim)
        for stage in plan(op, shapes).stages:
            if stage.kind not in ("view", "diagonal", "identity"):
                work = math.prod([length[k] for k in {k for word in stage.words for k in word}])
                made = math.prod([length[k] for k in stage.out])
                cost += work / costs.BLAS + made if stage.kind in BLAS else work
        return cost

    def _cost_of(self, v: int) -> float:
        step = self.steps[v]
        term = self._term(step)
        if term is None:
            term = self._product(step)
            assert term is not None
            return self._size(term.out) * (len(term.values) - 1)
        return self._cost(term) if _sums(step.op) else 0

    # Coefficients ---------------------------------------------------------------------------------

    def scale(self, step: Step) -> None:
        """Let a coefficient multiply the smallest value behind what it stands before."""
        op = step.sum
        if op is None or len(step.operands) != 1 or op.const != 0 or step.dtypes[0] is not float:
            return
        path: list[tuple[int, int]] = []  # contractions, and which of their operands is next
        v = step.operands[0]
        ways = [(self._elements(v), 0, v)]
        while (place := self._smallest(v)) is not None:
            path.append((v, place))
            v = self.steps[v].operands[place]
            ways.append((self._elements(v), len(path), v))
        least, depth, v = min(ways)
        if ways[0][0] - least <= costs.CALLS:
            return
        made = step._replace(
            operands=(v,), shapes=(self._shape(v),), results=(len(self.steps),), weak=False
        )
        for v, place in reversed(path[:depth]):
            self._add(made, step)
            old = self.steps[v]
            operands = list(old.operands)
            operands[place] = made.results[0]
            made = old._replace(operands=tuple(operands), results=(len(self.steps),))
            self.dropped.add(v)
        self.steps[step.results[0]] = made._replace(results=step.results)

    def _smallest(self, v: int) -> int | None:
        """Of a contraction that is read once the operand that takes a coefficient, else None."""
        step = self.steps[v]
        if self.reads[v] > 1 or not isinstance(step.kind, kinds.ByKernel | kinds.Gram) or step.weak:
            return None
        op, operands = step.op, step.operands
        if not isinstance(op, ops.Contract) or isinstance(op, ops.Fill) or any(op.kills):
            return None
        if not operands or not self._real(operands) or any(self.numbers[u] for u in operands):
            return None
        if isinstance(step.kind, kinds.Gram):
            return 1
        return min(range(len(operands)), key=lambda k: self._elements(operands[k]))

    def _elements(self, v: int) -> int:
        return costs.elements(self._shape(v))

    def _add(self, made: Step, before: Step) -> None:
        """Put a new step before one of the schedule."""
        self.steps.append(made)
        self.reads.append(1)
        self.numbers.append(False)
        self.before.setdefault(before.results[0], []).append(made.results[0])
