"""The chain rule, step by step: every node of a formula, and what it passes to its operands."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import chain, count
from typing import TYPE_CHECKING, Any

import numpy as np

import symdiff as sd
from numeric.guesses import STEPS
from numeric.lowering.reference import interpret
from numeric.show import derivations, derivations_tex
from symdiff.calculus.shares import conditions, local, shares
from symdiff.calculus.variables import component
from symdiff.display.rule_names import rule
from symdiff.errors import ShapeError
from symdiff.graph import ops
from symdiff.graph.arguments import door
from symdiff.graph.axes import shape_text
from symdiff.graph.expr import free_symbols, is_within
from symdiff.graph.leaves import as_expr, named_dummy
from symdiff.graph.node import make, topological
from symdiff.graph.number import shortened
from symdiff.guesses import without
from symdiff.locks import cached_property

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from symdiff.calculus.shares import Share
    from symdiff.graph.expr import Expr

__all__ = ["Edge", "Note", "Row", "Steps", "steps"]

_OWN = re.compile(r"\w+(\.T)?(\[[^\[\]]*\])?")  # a symbol or a part of one
_INLINE = 12  # nodes of what does not depend on x, up to which it is written where it is used


@dataclass(frozen=True, eq=False)
class Edge:
    """What a node passes to one operand in the backward pass.

    Args:
        operand: the operand's name.
        node: the operand.
        rule: the rule, in words. states: what it says and its source, where the op declares that.
        derivative: the derivative of the node by this operand alone, in the names of the steps: of
            a scalar node, or of each element of one that is computed element by element.  None of
            others, whose derivative is known by ``passes``.
        derivative_value: its value.
        passes: what is passed on, in the names of the steps; it is linear in the node's cotangent.
        passed: the same, in the symbols of the formula.
        value: its value: the share of the operand's cotangent that comes through this edge.
    """

    operand: str
    node: Expr
    rule: str
    states: str
    derivative: Expr | None
    derivative_value: Any
    passes: Expr
    passed: Expr
    value: Any


@dataclass(frozen=True, eq=False)
class Note:
    """A condition on the derivative of a node.

    Args:
        kind: "domain": there is a derivative where ``holds``; "kink": it is a convention there.
        function: what has the domain or kink.
        holds: the condition, in the names of the steps.
        value: whether it is true, for each element.
    """

    kind: str
    function: str
    holds: Expr
    value: Any

    @property
    def applies(self) -> bool:
        """Whether the point is outside of the domain, or at the kink, in some element."""
        if self.value is None:
            return False
        return bool(np.any(self.value)) if self.kind == "kink" else not np.all(self.value)


@dataclass(frozen=True, eq=False)
class Row:
    """One node.

    Args:
        name: what the steps call it.
        node: the node.
        formula: the node over the names of its operands.
        value: its value.
        cotangent: ``vbar``, the derivative of the result by the node, in the formula's symbols.
        cotangent_value: its value.
        edges: what it passes on, one entry for each operand on a path to x.
        notes: the conditions of its derivative.
    """

    name: str
    node: Expr
    formula: Expr
    value: Any
    cotangent: Expr
    cotangent_value: Any
    edges: tuple[Edge, ...]
    notes: tuple[Note, ...]


@door
def steps(
    f: Any,
    x: Any,
    *,
    at: Mapping[Any, Any] | None = None,
    order: int = 1,
    seed: Any = None,
) -> Steps:
    """The derivative of ``f`` by ``x`` by the chain rule, step by step.

    For every node between x and f: its value, the derivative by each of its operands alone, the
    cotangent, and what it passes on by which rule; with the conditions under which that holds.
    What nodes pass to x adds up to the gradient.  The steps are the record of the walk that
    gradients are made by, and nothing is derived for them.

    Args:
        f: an expression, or text as ``sd.parse`` takes it.
        x: one input, as ``sd.grad`` takes it, or its name.
        at: the values of all symbols, by symbol or name; none gives formulas alone.
        order: the steps of the derivative of this order, from that of the order before, whose graph
            they walk; x must be a scalar then.
        seed: the cotangent of f, of its shape; 1 by default, which needs a scalar.

    Raises what ``sd.grad`` raises; ValueError for an order below 1 and for a symbol without value;
    ShapeError for a value of another shape than its symbol's.

    >>> import symdiff as sd
    >>> x = sd.symbol("x")
    >>> print(steps(x * sd.sin(x), x, at={x: 2}))
    f = x*sin(x) at x = 2
    <BLANKLINE>
    Forward: every node, and its derivative by each operand alone
      t1 = sin(x) = 0.909297   d t1/dx = cos(x) = -0.416147
      f  = x*t1   = 1.81859    d f/dx  = t1 = 0.909297
                               d f/dt1 = x = 2
    <BLANKLINE>
    Backward: vbar is df/dv over all paths, the sum of what v is passed
      fbar = 1
        product rule                           xbar  += t1*fbar = 0.909297
        product rule                           t1bar += x*fbar = 2
      t1bar = x = 2
        chain rule: derivative of sin is cos   xbar  += ... = -0.832294
    <BLANKLINE>
    df/dx = sin(x) + x*cos(x) = 0.0770038
          = 0.909297 - 0.832294, the sum of what x is passed
    """
    f = sd.parse(f) if isinstance(f, str) else as_expr(f)
    if isinstance(x, str):
        x = next((s for s in f.free_symbols if s.name == x), sd.symbol(x))
    if isinstance(order, bool) or not isinstance(order, int) or order < 1:
        raise ValueError(f"steps: order {shortened(order)} is not an integer >= 1")
    before = f
    if order > 1:
        if x.shape:
            raise ShapeError(
                f"steps: order {order} by {x!r} of shape {shape_text(x.shape)}; x must be a "
                "scalar: take the steps of sd.grad(f, x) with seed=..., of the shape of x"
            )
        before = sd.diff(f, x, order - 1)
    return Steps(before, x, at, seed, (f, order))


class Steps:
    """The steps of a derivative; what ``steps`` returns.

    ``rows`` are the nodes in forward order, ``shares`` the edges into x, which add up to the
    ``gradient``, that of ``sd.grad``, and its ``value``.  ``str`` is the text, in a notebook it is
    a table; both show the ends of a large graph, and say how many nodes are left out.
    """

    def __init__(
        self, f: Expr, x: Expr, at: Mapping[Any, object] | None, seed: object, of: tuple[Expr, int]
    ) -> None:
        self.f, self.x, self.seed, self.of = f, x, seed, of
        self._walk = walk = shares(f, x, seed)
        self.gradient: Expr = walk.gradient
        self._edges: dict[Expr, list[Share]] = {}
        for edge in walk.edges:
            self._edges.setdefault(edge.node, []).append(edge)
        self._taken = {s.name for s in free_symbols([f, x])}
        self._own: set[Expr] = set()  # symbols and their parts, which have names
        self._names = self._named()
        self._nodes = tuple(sorted(walk.path, key=lambda v: v not in self._own))
        fixed = dict.fromkeys(a for v in walk.path for a in v.args if a not in self._names)
        inner = (name for name in _numbered("c") if name not in self._taken)
        large = (v for v in fixed if not is_within(v, _INLINE))
        self._outside = {v: named_dummy(next(inner), v.shape, v.dtype) for v in large}
        self._stand_ins: dict[Expr, Expr] = {}
        self._bars: dict[Expr, Expr] = {}
        self._rows: dict[Expr, Row] = {}
        self.at = None if at is None else dict(at)
        self._values: dict[Expr, Any] | None = None if at is None else self._evaluated(at)

    # Data

    @cached_property
    def rows(self) -> tuple[Row, ...]:
        """Every node on a path from x to f, in the order of ``nodes``."""
        return tuple(self.row(v) for v in self.nodes)

    @property
    def nodes(self) -> tuple[Expr, ...]:
        """The nodes of the rows: symbols and their parts first, then each after its operands."""
        return self._nodes

    @cached_property
    def shares(self) -> tuple[tuple[str, Expr, Any], ...]:
        """The edges into x: the node's name, what it passes to x, and the value of that."""
        return tuple(
            (self._names[edge.node], edge.passed, self._value(edge.passed))
            for edge in self._walk.final
        )

    @property
    def value(self) -> Any:
        """The value of the gradient; None without values."""
        return self._value(self.gradient)

    def name(self, v: Expr) -> str:
        """What the steps call a node; f, if it does not depend on x."""
        return self._names.get(v, "f")

    def symbols(self) -> Iterator[tuple[Expr, Any]]:
        """The symbols of f, and axis lengths given by name, with their values."""
        symbols = free_symbols([self.f])
        for s in symbols:
            yield s, self._value(s)
        for key, value in (self.at or {}).items():
            if isinstance(key, str) and all(s.name != key for s in symbols):
                yield sd.symbol(key, dtype=int), value

    def row(self, v: Expr) -> Row:
        """The row of a node."""
        found = self._rows.get(v)
        if found is None:
            found = self._rows[v] = self._made(v)
        return found

    # Views

    def text(self, full: bool = False) -> str:
        """The steps as plain text; ``full`` shows every node, however many there are."""
        return derivations.text(self, full)

    def latex(self, full: bool = False) -> str:
        """The steps as LaTeX, without dollar signs; ``full`` shows every node."""
        return derivations_tex.latex(self, full)

    def html(self, full: bool = False) -> str:
        """The steps as a table of HTML, its formulas LaTeX; ``full`` shows every node."""
        return derivations_tex.html(self, full)

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        return f"<steps of {len(self.nodes)} nodes by {sd.short(self.x)}>"

    def _repr_latex_(self) -> str:
        return rf"$\displaystyle {self.latex()}$"

    def _repr_html_(self) -> str:
        return self.html()

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:
        return {
            "text/plain": self.text(),
            "text/html": self._repr_html_(),
            "text/latex": self._repr_latex_(),
        }

    # Names

    def _named(self) -> dict[Expr, str]:
        """A name for every node: symbols and their parts have theirs."""
        taken = self._taken
        result = next(n for n in chain(("f", "y"), _numbered("f")) if n not in taken)
        inner = (name for name in _numbered("t") if name not in taken | {result})
        names: dict[Expr, str] = {}
        for v in self._walk.path:
            own = sd.text(v) if v is not self.f and component(v) is not None else ""
            if _OWN.fullmatch(own):
                self._own.add(v)
                names[v] = own
            else:
                names[v] = result if v is self.f else next(inner)
        return names

    def stand_in(self, v: Expr) -> Expr:
        """What stands for a node in the formulas of the steps; a symbol for itself."""
        found = self._stand_ins.get(v)
        if found is None:
            name = self._names.get(v)
            if name is None:
                found = self._outside.get(v, v)
            else:
                found = v if v in self._own else named_dummy(name, v.shape, v.dtype)
            self._stand_ins[v] = found
        return found

    def constants(self, rows: Iterable[Row]) -> list[tuple[str, Expr, Any]]:
        """What does not depend on x and has a name in ``rows``, with its value."""
        used = dict.fromkeys(a for row in rows for a in row.node.args if a in self._outside)
        return [(self._outside[a].name, a, self._value(a)) for a in used]

    def is_named(self, v: Expr) -> bool:
        """Whether a node is a symbol or a part of one, and not named by the steps."""
        return v in self._own

    def bar(self, v: Expr) -> Expr:
        """What stands for the cotangent of a node in the formulas of the steps."""
        found = self._bars.get(v)
        if found is None:
            head, bracket, rest = self._names[v].partition("[")
            names = (f"{head}bar{'_' * k}{bracket}{rest}" for k in count())
            found = named_dummy(
                next(name for name in names if name not in self._taken), v.shape, v.dtype
            )
            self._bars[v] = found
        return found

    # Rows

    def _made(self, v: Expr) -> Row:
        operands = [self.stand_in(a) for a in v.args]
        bar, edges, formula, known = self.bar(v), self._edges.get(v, []), v, []
        if component(v) is None:
            formula = make(v.op, tuple(operands), v.shape, v.dtype)
            known = conditions(v, operands, [edge.k for edge in edges if edge.k is not None])
        locals_ = [local(v, edge.k, operands, bar) for edge in edges]
        asked = [d.derivative for d in locals_ if d.derivative is not None]
        values = self._in_names([*asked, *(c.holds for c in known)], operands, v.args)
        derivatives = iter(values[: len(asked)])
        made = []
        for edge, d in zip(edges, locals_, strict=True):
            told = rule(v, edge.k)
            made.append(
                Edge(
                    operand=self._names.get(edge.operand, ""),
                    node=edge.operand,
                    rule=told.name,
                    states=told.states,
                    derivative=d.derivative,
                    derivative_value=None if d.derivative is None else next(derivatives),
                    passes=d.pulled,
                    passed=edge.passed,
                    value=self._value(edge.passed),
                )
            )
        notes = [
            Note(c.kind, c.name, c.holds, value)
            for c, value in zip(known, values[len(asked) :], strict=True)
        ]
        cotangent = self._walk.cotangents[v]
        return Row(
            name=self._names[v],
            node=v,
            formula=formula,
            value=self._value(v),
            cotangent=cotangent,
            cotangent_value=self._value(cotangent),
            edges=tuple(made),
            notes=tuple(notes),
        )

    # Values

    def _evaluated(self, at: Mapping[Any, object]) -> dict[Expr, Any]:
        walk = self._walk
        passed = [edge.passed for edge in (*walk.edges, *walk.final)]
        outside = [a for v in walk.path for a in v.args]
        wanted = [*free_symbols([self.f]), *walk.path, *outside]
        wanted += [*walk.cotangents.values(), *passed, self.gradient]
        wanted = list(dict.fromkeys(wanted))
        with np.errstate(all="ignore"):
            return dict(zip(wanted, interpret(wanted, at), strict=True))

    @cached_property
    def _lengths(self) -> dict[str, int]:
        """The lengths of symbolic axes, as the values have them."""
        found: dict[str, int] = {}
        for v, value in (self._values or {}).items():
            lengths = zip(v.shape, np.shape(value), strict=True)
            found.update((d, n) for d, n in lengths if isinstance(d, str))
            if isinstance(v.op, ops.Size):
                found[v.op.name] = int(value)
        return found

    def _value(self, v: Expr) -> Any:
        return None if self._values is None else self._values[v]

    def _in_names(
        self, formulas: Sequence[Expr], operands: Sequence[Expr], args: Sequence[Expr]
    ) -> list[Any]:
        """The values of formulas over stand-ins of the operands."""
        if self._values is None or not formulas:
            return [None] * len(formulas)
        env: dict[Any, Any] = {}
        for s in free_symbols(formulas):
            if s in self._values:
                env[s] = self._values[s]
        for s, a in zip(operands, args, strict=True):
            if s is not a:  # whole numbers may come as floats
                env[s] = np.asarray(self._values[a]).astype(s.dtype)[()]
        order = topological(formulas)
        axes = {d for v in order for d in v.shape} | {v.op.name for v in order}
        env.update((name, n) for name, n in self._lengths.items() if name in axes)
        with np.errstate(all="ignore"):
            return list(interpret(list(formulas), env))


def _numbered(prefix: str, start: int = 1) -> Iterator[str]:
    return (f"{prefix}{k}" for k in count(start))


without(Steps, "what steps returns", STEPS)
