"""Names of the rules by which a node passes its cotangent to an operand."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from symdiff.calculus.custom_ops import Custom, CustomPullback
from symdiff.calculus.rules import statement
from symdiff.calculus.shares import local
from symdiff.display.printing import text
from symdiff.graph import ops
from symdiff.graph.algebra import PRIMITIVES
from symdiff.graph.formula_nodes import is_decision
from symdiff.graph.leaves import named_dummy
from symdiff.graph.node import make
from symdiff.transforms.integrals import Integral
from symdiff.transforms.roots import Equations
from symdiff.transforms.scans import Looped
from symdiff.transforms.sized import Sized

if TYPE_CHECKING:
    from symdiff.graph.expr import Expr

__all__ = ["Rule", "rule"]


class Rule(NamedTuple):
    """The name of a rule, and its formula with a source if the op states one."""

    name: str
    states: str = ""


_LONG = 60  # the most characters of a derivative in a name


def rule(node: Expr, k: int | None) -> Rule:
    """Return the rule by which ``node`` passes its cotangent to operand k.

    If k is None, ``node`` is a component, and its symbol receives the cotangent.

    >>> import symdiff as sd
    >>> x, A = sd.symbol("x"), sd.symbol("A", (3, 3))
    >>> print(rule(sd.sin(x), 0).name)
    chain rule: derivative of sin is cos
    >>> rule(sd.inv(A), 0)
    Rule(name='differential of inv', states='dY = -Y dA Y (Giles, 2.2.3).')
    """
    op = node.op
    if k is None:
        return Rule("a part of a symbol: back to its place")
    if isinstance(op, ops.Sum):
        return Rule("constant factor" if len(node.args) == 1 and not op.const else "sum rule")
    if isinstance(op, ops.Product):
        return Rule(_product_rule(op, k))
    if isinstance(op, ops.Strong):
        return Rule("product rule; zeros of what is not selected stay zeros")
    if isinstance(op, ops.Pointwise):
        return Rule(_chain_rule(op, k))
    if isinstance(op, ops.Contract):
        return Rule(_contraction_rule(op))
    if isinstance(op, ops.Linear):
        return Rule("transpose of the linear map")
    assert isinstance(op, ops.Opaque), op
    if isinstance(op, ops.Unknown):
        function, derivative = (each.called(())[0] for each in (op, op.by(k)))
        return Rule(f"chain rule: derivative of {function} is {derivative}")
    if isinstance(op, Custom | CustomPullback):
        return Rule(f"vjp of {op.name}, as its author states it")
    if isinstance(op, Looped):
        return Rule("a scan of the linearised body, the other way round")
    if isinstance(op, Sized):
        return Rule("the derivative inside, for as many steps")
    if isinstance(op, Integral):
        return Rule("Leibniz' rule: the integrand at a limit, or the integral of its derivative")
    if isinstance(op, Equations):
        return Rule("the transposed equations, linearised at the solution, are solved")
    name = op.called(node.shape)[0]
    if op.is_linear_in(k):
        return Rule(f"transpose of {name}, linear in this operand", _stated_formula(op.transposed))
    return Rule(f"differential of {name}", _stated_formula(op.differential))


def _stated_formula(method: object) -> str:
    """The mathematics in the first paragraph of a rule's docstring."""
    paragraph = (getattr(method, "__doc__", None) or "").strip().split("\n\n")[0]
    return " ".join(paragraph.replace("``", "").split())


def _product_rule(op: ops.Product, k: int) -> str:
    if len(op.exponents) == 1 or op.exponents[k] not in (1, -1):
        return "power rule"
    return "quotient rule" if op.over else "product rule"


def _contraction_rule(op: ops.Contract) -> str:
    if len(op.letters) > 1:
        return "product rule, transposed"
    (word,) = op.letters
    if op.sums:
        return "transpose of a sum: the cotangent is repeated"
    if op.created:
        return "transpose of a repetition: cotangents are summed"
    if len(set(op.out)) < len(op.out) or len(set(word)) < len(word):
        return "transpose of a diagonal"
    return "transpose of an exchange of axes"


def _is_call(e: Expr) -> bool:
    """Whether a function of u prints as its name and ``(u)``."""
    return isinstance(e.op, ops.Pointwise) and not is_decision(e.op) and text(e).endswith("(u)")


@lru_cache(maxsize=1024)
def _chain_rule(op: ops.Pointwise, k: int) -> str:
    """The chain rule, with the derivative of the function."""
    if op is PRIMITIVES["where"]:
        return "selection: the branch that is taken"
    names = ["u"] if op.arity == 1 else ["u", "v", "w"][: op.arity]
    if len(names) < op.arity:
        return f"chain rule: derivative of {op.name} by its argument {k + 1}"
    operands = [named_dummy(name) for name in names]
    node = make(op, tuple(operands), (), float)
    if statement(node, k) is None:
        return f"chain rule: {op.name} is constant between its jumps"
    derivative = local(node, k, operands, operands[0]).derivative
    assert derivative is not None
    said, of = text(derivative), text(node)
    if op.arity > 1:
        of += f" by {names[k]}"
    elif _is_call(node) and _is_call(derivative) and derivative.args[0] is operands[0]:
        said, of = (line.removesuffix("(u)") for line in (said, of))
    if "\n" in said or len(said) > _LONG:
        return f"chain rule: derivative of {of}"
    return f"chain rule: derivative of {of} is {said}"
