"""The chain rule, step by step: every node of a formula, and its contributions to operands."""

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
from numeric.show.pictures import write
from numeric.show.step_pictures import figure_of
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
    from os import PathLike

    from symdiff.calculus.shares import Share
    from symdiff.graph.expr import Expr

__all__ = ["Edge", "Note", "Row", "Steps", "steps"]

_OWN = re.compile(r"\w+(\.T)?(\[[^\[\]]*\])?")  # a symbol or a part of one
_INLINE = 12  # a part without x and with at most so many nodes is written where it is used


@dataclass(frozen=True, eq=False)
class Edge:
    """The contribution of a node to one operand in the backward pass.

    Args:
        operand: the operand's name.
        node: the operand.
        rule: the rule, in words.
        states: the rule's formula and source, where the op declares them.
        derivative: the derivative of the node by this operand alone, in the names of the steps, for
            a scalar node or for each element of an elementwise one.  None for other nodes, whose
            derivative is known by ``passes``.
        derivative_value: its value.
        passes: the contribution, in the names of the steps; it is linear in the node's cotangent.
        passed: the same, in the symbols of the formula.
        value: its value: the part of the operand's cotangent that comes through this edge.
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
        function: the function with the domain or kink.
        holds: the condition, in the names of the steps.
        value: the condition's truth, for each element.
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
        name: the node's name in the steps.
        node: the node.
        formula: the node over the names of its operands.
        value: its value.
        cotangent: ``vbar``, the derivative of the result by the node, in the formula's symbols.
        cotangent_value: its value.
        edges: its contributions, one for each operand on a path to x.
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
    """Differentiate ``f`` by ``x`` with the chain rule, step by step.

    The steps show every node between x and f: its value, its derivative by each operand alone, its
    cotangent, and its contributions with their rules.  They state the conditions of each
    derivative.  The contributions to x add up to the gradient.  The steps record the walk that
    computes gradients; they derive nothing on their own.

    Args:
        f: an expression, or text as for ``sd.parse``.
        x: one input as for ``sd.grad``, or its name; a tuple of them for a mixed derivative.
        at: the values of all symbols, by symbol or name; None gives formulas alone.
        order: show the steps to the derivative of this order from the one before, whose graph they
            walk, and whose own steps are ``before``.  Above 1, x must be a scalar; for the Hessian
            by an array x, order 2, ``seed`` is needed.  Of a tuple, its length is the order.
        seed: the cotangent of f, of its shape; 1 by default, which needs a scalar f.  Of the
            Hessian by an array x, its factor, of the shape of x.

    Raises the errors of ``sd.grad``.  Raises ValueError for an order below 1, for another number of
    variables, and for a symbol without value.  Raises ShapeError for a value whose shape differs
    from its symbol's, and for an array x of an order above 1 without a seed.

    >>> import symdiff as sd
    >>> x = sd.symbol("x")
    >>> print(steps(x * sd.sin(x), x, at={x: 2}))
    f = x*sin(x) at x = 2
    <BLANKLINE>
    Forward: every node, and its derivative by each operand alone
      t1 = sin(x) = 0.909297   d t1/dx = cos(x) = -0.416147
      f  = t1*x   = 1.81859    d f/dx  = t1 = 0.909297
                               d f/dt1 = x = 2
    <BLANKLINE>
    Backward: vbar is df/dv over all paths, the sum of what v is passed
      fbar = 1
        product rule                           xbar  += fbar*t1 = 0.909297
        product rule                           t1bar += fbar*x = 2
      t1bar = x = 2
        chain rule: derivative of sin is cos   xbar  += t1bar*cos(x) = -0.832294
    <BLANKLINE>
    df/dx = x*cos(x) + sin(x) = 0.0770038
          = 0.909297 - 0.832294, the sum of what x is passed
    """
    f = sd.parse(f) if isinstance(f, str) else as_expr(f)
    if isinstance(order, bool) or not isinstance(order, int) or order < 1:
        raise ValueError(f"steps: order {shortened(order)} is not an integer >= 1")
    several = isinstance(x, tuple | list)
    if several and (not x or order not in (1, len(x))):
        raise ValueError(f"steps: argument 'x' has {len(x)} variables, and order is {order}")
    variables = tuple(_named(f, v) for v in x) if several else (_named(f, x),) * order
    return Steps(_before(f, variables, seed), variables[-1], at, seed, (f, variables))


def _named(f: Expr, x: Any) -> Any:
    """Return the variable of a name."""
    if not isinstance(x, str):
        return x
    return next((s for s in f.free_symbols if s.name == x), sd.symbol(x))


def _before(f: Expr, variables: Sequence[Expr], seed: object) -> Expr:
    """Differentiate by all variables but the last."""
    arrays = [v for v in variables if isinstance(v, sd.Expr) and v.shape]
    order = len(variables)
    if order == 1 or not arrays:
        for v in variables[:-1]:
            f = sd.diff(f, v)
        return f
    x = arrays[0]
    if order > 2:
        raise ShapeError(
            f"steps: order {order} by {x!r} of shape {shape_text(x.shape)}; above order 2, x must "
            "be a scalar: take the steps of a component"
        )
    first = variables[0]
    if first.shape and seed is None:
        raise ShapeError(
            f"steps: order 2 by {x!r} of shape {shape_text(x.shape)} needs seed=..., of the shape "
            f"of {first!r}: the steps are those of the Hessian times the seed"
        )
    return sd.grad(f, first)


class Steps:
    """The steps of a derivative: the result of ``steps``.

    ``rows`` are the nodes in forward order.  ``shares`` are the edges into x.  They add up to the
    ``gradient``, which equals that of ``sd.grad``, and its ``value``.  ``str`` gives the text; a
    notebook shows a table.  Both show the ends of a large graph, and the number of nodes left out.

    >>> import symdiff as sd
    >>> x = sd.symbol("x")
    >>> second = steps(sd.sin(x), x, order=2)
    >>> second.gradient, second.before.gradient, second.before.before
    (-sin(x), cos(x), None)
    """

    def __init__(
        self,
        f: Expr,
        x: Expr,
        at: Mapping[Any, object] | None,
        seed: object,
        of: tuple[Expr, tuple[Expr, ...]],
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
        """The edges into x: the node's name, its contribution to x, and the value of that."""
        return tuple(
            (self._names[edge.node], edge.passed, self._value(edge.passed))
            for edge in self._walk.final
        )

    @cached_property
    def before(self) -> Steps | None:
        """The steps to the derivative whose graph these steps walk; None for the first order."""
        f, variables = self.of
        if len(variables) == 1:
            return None
        return steps(f, variables[:-1], at=self.at, seed=None if self.f.shape else self.seed)

    @property
    def value(self) -> Any:
        """The value of the gradient; None without values."""
        return self._value(self.gradient)

    def name(self, v: Expr) -> str:
        """Return the name of a node in the steps; f or g, if it does not depend on x."""
        return self._names.get(v, "f" if len(self.of[1]) == 1 else "g")

    def symbols(self) -> Iterator[tuple[Expr, Any]]:
        """Yield the symbols of f, and axis lengths given by name, with their values."""
        symbols = free_symbols([self.f])
        for s in symbols:
            yield s, self._value(s)
        for key, value in (self.at or {}).items():
            if isinstance(key, str) and all(s.name != key for s in symbols):
                yield sd.symbol(key, dtype=int), value

    def row(self, v: Expr) -> Row:
        """Return the row of a node; compute it on first use."""
        known_row = self._rows.get(v)
        if known_row is None:
            known_row = self._rows[v] = self._row_of(v)
        return known_row

    # Views

    def text(self, full: bool = False) -> str:
        """Return the steps as plain text; ``full`` shows every node of a large graph."""
        return derivations.text(self, full)

    def latex(self, full: bool = False) -> str:
        """Return the steps as LaTeX, without dollar signs; ``full`` shows every node."""
        return derivations_tex.latex(self, full)

    def html(self, full: bool = False) -> str:
        """Return the steps as an HTML table with LaTeX formulas; ``full`` shows every node."""
        return derivations_tex.html(self, full)

    def save(self, path: str | PathLike[str], full: bool = False) -> None:
        """Write the steps to a file: ``.png``, ``.svg`` or ``.pdf`` as a picture.

        ``.html``, ``.tex`` and ``.txt`` hold the results of ``html``, ``latex`` and ``text``;
        ``full`` shows every node of a large graph.  Raises TypeError for an object that is not a
        path, ValueError for another ending, and ImportError for a picture without Matplotlib, the
        extra ``viz``.
        """
        texts = {
            ".html": lambda: self.html(full),
            ".tex": lambda: self.latex(full),
            ".txt": lambda: self.text(full),
        }
        write("Steps.save", path, texts, lambda: figure_of(self, full))

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
        """Choose a name for every node; symbols and their parts keep theirs."""
        taken = self._taken
        first = ("f", "y") if len(self.of[1]) == 1 else ("g", "h")
        result = next(n for n in chain(first, _numbered(first[0])) if n not in taken)
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
        """Return the symbol for a node in the formulas of the steps; a symbol is its own."""
        symbol = self._stand_ins.get(v)
        if symbol is None:
            name = self._names.get(v)
            if name is None:
                symbol = self._outside.get(v, v)
            else:
                symbol = v if v in self._own else named_dummy(name, v.shape, v.dtype)
            self._stand_ins[v] = symbol
        return symbol

    def constants(self, rows: Iterable[Row]) -> list[tuple[str, Expr, Any]]:
        """Return the parts without x that have a name in ``rows``, with their values."""
        used = dict.fromkeys(a for row in rows for a in row.node.args if a in self._outside)
        return [(self._outside[a].name, a, self._value(a)) for a in used]

    def is_named(self, v: Expr) -> bool:
        """Whether a node is a symbol or a part of one, so that the steps do not name it."""
        return v in self._own

    def bar(self, v: Expr) -> Expr:
        """Return the symbol for the cotangent of a node in the formulas of the steps."""
        symbol = self._bars.get(v)
        if symbol is None:
            head, bracket, rest = self._names[v].partition("[")
            names = (f"{head}bar{'_' * k}{bracket}{rest}" for k in count())
            symbol = named_dummy(
                next(name for name in names if name not in self._taken), v.shape, v.dtype
            )
            self._bars[v] = symbol
        return symbol

    # Rows

    def _row_of(self, v: Expr) -> Row:
        operands = [self.stand_in(a) for a in v.args]
        bar, edges, formula, stated = self.bar(v), self._edges.get(v, []), v, []
        if component(v) is None:
            formula = make(v.op, tuple(operands), v.shape, v.dtype)
            stated = conditions(v, operands, [edge.k for edge in edges if edge.k is not None])
        locals_ = [local(v, edge.k, operands, bar) for edge in edges]
        wanted = [d.derivative for d in locals_ if d.derivative is not None]
        values = self._in_names([*wanted, *(c.holds for c in stated)], operands, v.args)
        derivatives = iter(values[: len(wanted)])
        passing = []
        for edge, d in zip(edges, locals_, strict=True):
            description = rule(v, edge.k)
            passing.append(
                Edge(
                    operand=self._names.get(edge.operand, ""),
                    node=edge.operand,
                    rule=description.name,
                    states=description.states,
                    derivative=d.derivative,
                    derivative_value=None if d.derivative is None else next(derivatives),
                    passes=d.pulled,
                    passed=edge.passed,
                    value=self._value(edge.passed),
                )
            )
        notes = [
            Note(c.kind, c.name, c.holds, value)
            for c, value in zip(stated, values[len(wanted) :], strict=True)
        ]
        cotangent = self._walk.cotangents[v]
        return Row(
            name=self._names[v],
            node=v,
            formula=formula,
            value=self._value(v),
            cotangent=cotangent,
            cotangent_value=self._value(cotangent),
            edges=tuple(passing),
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
        """The lengths of symbolic axes, from the values."""
        lengths_by_name: dict[str, int] = {}
        for v, value in (self._values or {}).items():
            lengths = zip(v.shape, np.shape(value), strict=True)
            lengths_by_name.update((d, n) for d, n in lengths if isinstance(d, str))
            if isinstance(v.op, ops.Size):
                lengths_by_name[v.op.name] = int(value)
        return lengths_by_name

    def _value(self, v: Expr) -> Any:
        return None if self._values is None else self._values[v]

    def _in_names(
        self, formulas: Sequence[Expr], operands: Sequence[Expr], args: Sequence[Expr]
    ) -> list[Any]:
        """Evaluate formulas over the symbols that represent operands."""
        if self._values is None or not formulas:
            return [None] * len(formulas)
        env: dict[Any, Any] = {}
        for s in free_symbols(formulas):
            if s in self._values:
                env[s] = self._values[s]
        for s, a in zip(operands, args, strict=True):
            if s is not a:  # integers may come as floats
                env[s] = np.asarray(self._values[a]).astype(s.dtype)[()]
        order = topological(formulas)
        axes = {d for v in order for d in v.shape} | {v.op.name for v in order}
        env.update((name, n) for name, n in self._lengths.items() if name in axes)
        with np.errstate(all="ignore"):
            return list(interpret(list(formulas), env))


def _numbered(prefix: str, start: int = 1) -> Iterator[str]:
    return (f"{prefix}{k}" for k in count(start))


without(Steps, "what steps returns", STEPS)
