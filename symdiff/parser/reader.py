"""Words to expressions: a whitelist over Python's syntax tree, walked without recursion."""

from __future__ import annotations

import ast
import difflib
import math
from fractions import Fraction
from functools import reduce
from typing import TYPE_CHECKING, NoReturn, TypeGuard

from symdiff import ops
from symdiff.algebra import combine
from symdiff.errors import ParseError, ShapeError, Unsupported
from symdiff.expr import Expr
from symdiff.leaves import as_expr, number_of, symbol
from symdiff.number import decimal
from symdiff.parser.language import BINARY, COMPARE, FUNCTIONS, LOGIC, UNARY
from symdiff.parser.scanner import MOST_BITS, PART, TOO_LONG, fail

if TYPE_CHECKING:
    from collections.abc import Mapping

    from symdiff.number import Number
    from symdiff.parser.scanner import Part

Terms = list[tuple[int, Expr]]  # what a part is worth: the terms of a sum, with their signs


class Reader:
    """Makes an expression of one part."""

    def __init__(
        self, text: str, part: Part, names: Mapping[str, Expr], earlier: list[Terms]
    ) -> None:
        self.text, self.part, self.names, self.earlier = text, part, names, earlier

    def fail(self, node: ast.expr, reason: str) -> NoReturn:
        """Raise ParseError where ``node`` begins; for an operator, at its second operand."""
        place = node.right if isinstance(node, ast.BinOp) else node
        fail(self.text, self.part.origin(place.col_offset), reason)

    def whole(self) -> Expr:
        """The expression of the part."""
        return self.value(self.tree())

    def terms_of_part(self) -> Terms:
        """The terms of the part: one, unless it is a sum."""
        chain = self.chain(self.tree())
        return self.terms(chain, [self.value(term) for _, term in self.own(chain)])

    def tree(self) -> ast.expr:
        """Python's syntax tree of the part."""
        source = "".join(self.part.words)
        try:
            return ast.parse(source, mode="eval").body
        except SyntaxError as error:
            before = source[: max(0, (error.offset or 1) - 1)]
            fail(self.text, self.part.origin(len(before.encode())), f"no formula: {error.msg}")
        except (RecursionError, MemoryError):
            fail(self.text, self.part.origin(0), "nested too deeply")

    # The terms of a sum are put together at once: a sum of any width is one node, and takes linear
    # time.

    def chain(self, tree: ast.expr) -> list[tuple[int, ast.expr]]:
        """The terms of ``a + b - c``, with their signs, up to a bracket."""
        found: list[tuple[int, ast.expr]] = []
        node = tree
        # Brackets do not show in the tree, but they move the column at which an operand begins.
        while _is_sum(node) and node.col_offset == tree.col_offset:
            found.append((1 if isinstance(node.op, ast.Add) else -1, node.right))
            node = node.left
        return [*found, (1, node)][::-1]

    def own(self, chain: list[tuple[int, ast.expr]]) -> list[tuple[int, ast.expr]]:
        """The chain without the earlier part that it may begin with."""
        return chain[1:] if len(chain) > 1 and self.place(chain[0][1]) is not None else chain

    def terms(self, chain: list[tuple[int, ast.expr]], values: list[Expr]) -> Terms:
        """The terms of a chain, given the values of its own ones."""
        own = self.own(chain)
        # An earlier part is used once, so its list may grow.
        terms = [] if own is chain else self.earlier[self.place(chain[0][1]) or 0]
        terms += [(sign, value) for (sign, _), value in zip(own, values, strict=True)]
        return terms

    def added(self, terms: Terms) -> Expr:
        """The sum of the terms."""
        if len(terms) == 1:
            return terms[0][1]
        # The denominators of one coefficient multiply; what comes out is refused, but must not take
        # hours to come.
        fractions = (c for _, x in terms for c in _numbers(x) if isinstance(c, Fraction))
        if sum(c.denominator.bit_length() for c in fractions) > 100 * MOST_BITS:
            raise ValueError("a sum of too many fractions")
        return combine("add", terms)

    def place(self, node: ast.expr) -> int | None:
        """The number of the earlier part that a name stands for."""
        if isinstance(node, ast.Name) and node.id.startswith(PART):
            return int(node.id[len(PART) :])
        return None

    def value(self, root: ast.expr) -> Expr:
        """The expression of a syntax tree."""
        stack: list[tuple[ast.expr, list[ast.expr] | None]] = [(root, None)]
        values: list[Expr] = []
        while stack:
            node, operands = stack.pop()
            if operands is None:
                operands = self.operands(node)
                stack.append((node, operands))
                stack.extend((operand, None) for operand in reversed(operands))
                continue
            first = len(values) - len(operands)
            found, values[first:] = values[first:], []
            values.append(self.built(node, found))
        return values[0]

    def operands(self, node: ast.expr) -> list[ast.expr]:
        """The operands of a node of the tree, if the node is one that a formula may have."""
        match node:
            case ast.Name() | ast.Constant():
                return []
            case ast.BinOp(op=ast.Add() | ast.Sub()):
                return [term for _, term in self.own(self.chain(node))]
            case ast.BinOp(op=op) if type(op) in BINARY:
                return [node.left, node.right]
            case ast.UnaryOp(op=op) if type(op) in UNARY:
                return [node.operand]
            case ast.BoolOp():
                return node.values
            case ast.Compare():
                return [node.left, *node.comparators]
            case ast.Call():
                self.check_call(node)
                return node.args
            case ast.Tuple():
                self.fail(node, "a formula is one value; a comma stands only between operands")
            case _:
                self.fail(node, f"{type(node).__name__} has no place in a formula")

    def check_call(self, node: ast.Call) -> None:
        """Refuse a call of anything but a known function with as many operands as it takes."""
        if not isinstance(node.func, ast.Name):
            self.fail(node, "only functions can be called; write * between factors")
        name = node.func.id
        function = FUNCTIONS.get(name)
        if function is None:
            near = difflib.get_close_matches(name[:40], FUNCTIONS, n=1) if len(name) > 2 else []
            hint = f"did you mean {near[0]}?" if near else "write * between factors"
            self.fail(node, f"{name[:40]} is not a function here; {hint}")
        if node.keywords or any(isinstance(arg, ast.Starred) for arg in node.args):
            self.fail(node, f"{name}: operands are given by position")
        count, least, most = len(node.args), function.least, function.most
        if count < least or (most is not None and count > most):
            span = f"{least} to {most}" if most else f"at least {least}"
            takes = f"{least}" if least == most else span
            self.fail(node, f"{name} takes {takes} operand{'s' * (takes != '1')}, not {count}")

    def built(self, node: ast.expr, values: list[Expr]) -> Expr:
        """The expression of a node of the tree, given those of its operands."""
        try:
            result = self.build(node, values)
        except (ShapeError, ParseError):
            raise
        except (ArithmeticError, ValueError, Unsupported) as error:
            self.fail(node, str(error))
        if any(_bits(c) > MOST_BITS for c in _numbers(result)):
            self.fail(node, TOO_LONG)
        return result

    def build(self, node: ast.expr, values: list[Expr]) -> Expr:
        """``built`` without its checks."""
        match node:
            case ast.Name():
                return self.named(node)
            case ast.Constant():
                return self.number(node)
            case ast.BinOp(op=ast.Add() | ast.Sub()):
                return self.added(self.terms(self.chain(node), values))
            case ast.BinOp(op=op):
                if isinstance(op, ast.Pow):
                    self.check_power(node, *values)
                return BINARY[type(op)](*values)
            case ast.UnaryOp(op=op):
                return UNARY[type(op)](*values)
            case ast.BoolOp(op=op):
                return reduce(LOGIC[type(op)], values)
            case ast.Compare(ops=signs):
                pairs = zip(signs, values, values[1:], strict=False)
                truths: list[Expr] = [COMPARE[type(sign)](a, b) for sign, a, b in pairs]
                return reduce(LOGIC[ast.And], truths)
            case ast.Call(func=ast.Name(id=name)):
                if name in ("pow", "power"):
                    self.check_power(node, *values)
                return FUNCTIONS[name].build(*values)
        raise AssertionError(node)

    def named(self, node: ast.Name) -> Expr:
        """The meaning of a name."""
        place = self.place(node)
        if place is not None:
            return self.added(self.earlier[place])
        known = self.names.get(node.id)
        return symbol(node.id) if known is None else known

    def number(self, node: ast.Constant) -> Expr:
        """The number of a literal: exact where the floats have only infinity or 0 for it."""
        value = node.value
        if type(value) not in (int, float):
            self.fail(node, f"{value!r:.20} is not a real number")
        if isinstance(value, float) and (math.isinf(value) or value == 0):
            return as_expr(decimal(self.part.word(node.col_offset)))
        return as_expr(value)

    def check_power(self, node: ast.expr, base: Expr, exponent: Expr) -> None:
        """Refuse a power that would be folded to a number of too many digits, before it is."""
        p = number_of(exponent)
        if p is None or isinstance(p, float):
            return
        times = min(p if p > 0 else -p, MOST_BITS + 1)
        for c in _numbers(base):
            if c not in (0, 1, -1) and _log2(c) * times > MOST_BITS:
                self.fail(node, TOO_LONG)


def _is_sum(node: ast.expr) -> TypeGuard[ast.BinOp]:
    return isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub)


def _numbers(x: Expr) -> tuple[Number, ...]:
    """The numbers in the topmost node of ``x``, where all folding happens."""
    op = x.op
    if isinstance(op, ops.Sum):
        return (op.const, *op.coefs)
    if isinstance(op, ops.Product):
        return op.exponents
    value = number_of(x)
    return () if value is None else (value,)


def _bits(c: Number) -> int:
    return 0 if isinstance(c, float) else max(c.numerator.bit_length(), c.denominator.bit_length())


def _log2(c: Number) -> float:
    return 0.0 if isinstance(c, float) else math.log2(max(abs(c.numerator), c.denominator))
