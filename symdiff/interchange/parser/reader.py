"""Convert words to expressions: a whitelist over Python's syntax tree, without recursion."""

from __future__ import annotations

import ast
import math
from fractions import Fraction
from functools import reduce
from inspect import Parameter
from typing import TYPE_CHECKING, Any, NoReturn, TypeGuard, TypeVar

from symdiff.errors import ParseError, ShapeError, Unsupported
from symdiff.graph import ops
from symdiff.graph.algebra import combine
from symdiff.graph.expr import Expr
from symdiff.graph.leaves import as_expr, number_of, symbol
from symdiff.graph.number import decimal
from symdiff.interchange.parser.arguments import (
    MOST_AXES,
    PUBLIC,
    Comparison,
    Declared,
    Kind,
    Results,
    argument,
    declared,
    key,
    literal,
    operand,
)
from symdiff.interchange.parser.language import BINARY, COMPARE, FUNCTIONS, LOGIC, UNARY
from symdiff.interchange.parser.scanner import INDEX_NOTATION, MOST_BITS, PART, TOO_LONG, fail

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from symdiff.graph.number import Number
    from symdiff.interchange.parser.scanner import Stretch

T = TypeVar("T")
# Node types whose operands need not be expressions.
_OPEN = {ast.Call, ast.List, ast.Tuple, ast.Subscript, ast.Slice}
_DERIVATIVES = {
    *("diff", "derivative", "Derivative", "deriv", "grad", "gradient"),
    *("hessian", "jacobian", "jvp", "vjp", "hvp"),
}
_POWERS = {"pow", "power"}
Terms = list[tuple[int, Expr]]  # the value of a part: terms of a sum with signs


def _suggest_meaning(name: str) -> str:
    """Suggest a meaning for an unknown function: a misspelt one, a derivative, or a factor.

    >>> _suggest_meaning("sinn"), _suggest_meaning("z")
    ('did you mean sin?', 'write * between factors')
    >>> _suggest_meaning("sn")
    'did you mean sin? If not, write * between factors'
    """
    if name in _DERIVATIVES:
        return (
            "a text has no derivatives in it: take them of the formula, by sd.diff, sd.grad or "
            "sd.hessian of sd.parse(text), or the commands symdiff diff, grad and hessian"
        )
    import difflib

    short = len(name) <= 2
    close = difflib.get_close_matches(
        name, [*FUNCTIONS, *PUBLIC], n=1, cutoff=0.8 if short else 0.6
    )
    if not close or len(name) == 1:
        return "write * between factors"
    return f"did you mean {close[0]}?{' If not, write * between factors' if short else ''}"


def _explain_syntax_error(source: str, place: int, said: str) -> str:
    """Explain a syntax error at ``place`` where Python's message says little.

    >>> _explain_syntax_error("x +", 0, "invalid syntax")
    'nothing follows +'
    >>> _explain_syntax_error("1 +* 2", 3, "invalid syntax")
    'invalid syntax'
    """
    before, rest = source[:place].rstrip(), source[place:].lstrip()
    touching = bool(before) and (before[-1].isalnum() or before[-1] in "_)]") and rest[:1].isalnum()
    if touching or "forgot a comma" in said:
        return "two values stand side by side: write * between factors, or sin(x) for a function"
    text = source.rstrip()
    sign = text[len(text.rstrip("+-*/@<>=&|^~")) :]
    return f"nothing follows {sign}" if sign else said


class Reader:
    """Converts one part of the text to an expression."""

    def __init__(
        self, text: str, part: Stretch, names: Mapping[str, Expr], earlier: list[Terms]
    ) -> None:
        self.text, self.part, self.names, self.earlier = text, part, names, earlier

    def fail(self, node: ast.expr, reason: str, misfit: bool = False) -> NoReturn:
        """Raise ParseError where ``node`` begins; for an operator, at its second operand."""
        place = node.right if isinstance(node, ast.BinOp) else node
        fail(self.text, self.part.origin(place.col_offset), reason, misfit)

    def whole(self) -> Expr:
        """The expression of the part."""
        tree = self.tree()
        value = self.value(tree)
        return value if value.__class__ is Expr else self.operand(tree, value)

    def terms_of_part(self) -> Terms:
        """The terms of the part: one, unless the part is a sum."""
        chain = self.chain(self.tree())
        new_terms = [term for _, term in self.own(chain)]
        return self.terms(chain, [self.operand(term, self.value(term)) for term in new_terms])

    def tree(self) -> ast.expr:
        """Python's syntax tree of the part."""
        source = "".join(self.part.words)
        try:
            return ast.parse(source, mode="eval").body
        except SyntaxError as error:
            before = source[: max(0, (error.offset or 1) - 1)]
            said = f"no formula: {_explain_syntax_error(source, len(before), error.msg)}"
            fail(self.text, self.part.origin(len(before.encode())), said)
        except (RecursionError, MemoryError):
            fail(self.text, self.part.origin(0), "nested too deeply")

    # All terms of a sum are added at once: a sum of any width is one node, in linear time.

    def chain(self, tree: ast.expr) -> list[tuple[int, ast.expr]]:
        """The signed terms of ``a + b - c``, up to a bracket."""
        signed: list[tuple[int, ast.expr]] = []
        node = tree
        # The tree does not show brackets, but a bracketed operand begins at another column.
        while _is_sum(node) and node.col_offset == tree.col_offset:
            signed.append((1 if isinstance(node.op, ast.Add) else -1, node.right))
            node = node.left
        return [*signed, (1, node)][::-1]

    def own(self, chain: list[tuple[int, ast.expr]]) -> list[tuple[int, ast.expr]]:
        """The chain without an earlier part at its beginning."""
        return chain[1:] if len(chain) > 1 and self.place(chain[0][1]) is not None else chain

    def terms(self, chain: list[tuple[int, ast.expr]], values: list[Expr]) -> Terms:
        """The terms of a chain with values for all terms but an earlier part."""
        new_part = self.own(chain)
        # Each earlier part is used once, so its list may grow in place.
        terms = [] if new_part is chain else self.earlier[self.place(chain[0][1]) or 0]
        terms += [(sign, value) for (sign, _), value in zip(new_part, values, strict=True)]
        return terms

    def added(self, terms: Terms) -> Expr:
        """The sum of the terms."""
        if len(terms) == 1:
            return terms[0][1]
        # Denominators multiply.  The result would be refused, but computing it could take hours.
        fractions = (c for _, x in terms for c in _numbers(x) if isinstance(c, Fraction))
        if sum(c.denominator.bit_length() for c in fractions) > 100 * MOST_BITS:
            raise ValueError("a sum of too many fractions")
        return combine("add", terms)

    def place(self, node: ast.expr) -> int | None:
        """The index of the earlier part that a name stands for, or None."""
        if isinstance(node, ast.Name) and node.id.startswith(PART):
            return int(node.id[len(PART) :])
        return None

    def value(self, root: ast.expr) -> Any:
        """Evaluate a syntax tree: an expression, or a value for a call or subscript."""
        stack: list[tuple[ast.expr, list[ast.expr] | None]] = [(root, None)]
        values: list[Any] = []
        while stack:
            node, operands = stack.pop()
            if operands is None:
                operands = self.operands(node)
                if not operands:
                    values.append(self.built(node, operands, []))
                    continue
                stack.append((node, operands))
                stack.extend((operand, None) for operand in reversed(operands))
                continue
            first = len(values) - len(operands)
            operand_values, values[first:] = values[first:], []
            values.append(self.built(node, operands, operand_values))
        return values[0]

    def operands(self, node: ast.expr) -> list[ast.expr]:
        """The operands of a node of the tree; raises ParseError for a node of no formula."""
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
                words = node.keywords
                return [*node.args, *(word.value for word in words)] if words else node.args
            case ast.List() | ast.Tuple():
                return node.elts
            case ast.Subscript():
                return [node.value, node.slice]
            case ast.Slice():
                return [end for end in (node.lower, node.upper, node.step) if end is not None]
            case ast.Attribute(attr="T" | "mT"):
                return [node.value]
            case _:
                self.fail(node, f"{type(node).__name__} has no place in a formula")

    def check_call(self, node: ast.Call) -> None:
        """Refuse a call of anything but a known function, and arguments with stars."""
        if not isinstance(node.func, ast.Name):
            indexed = isinstance(node.func, ast.Subscript)
            only = "only functions can be called; write * between factors"
            self.fail(node, INDEX_NOTATION if indexed else only)
        name = node.func.id
        if name not in FUNCTIONS and name not in PUBLIC:
            self.fail(
                node,
                f"{name[:40]} is not a function here; {_suggest_meaning(name[:40])}; unknown "
                "functions are not read back",
            )
        starred = any(isinstance(arg, ast.Starred) for arg in node.args)
        if starred or any(given.arg is None for given in node.keywords):
            self.fail(node, f"{name}: operands are given by position, one by one")

    def built(self, node: ast.expr, operands: list[ast.expr], values: list[Any]) -> Any:
        """The value of a node of the tree for the values of its operands, after all checks."""
        if values and node.__class__ not in _OPEN:
            self.close(operands, values)
        try:
            result = self.build(node, operands, values)
        except ParseError:
            raise
        except ShapeError as error:
            self.fail(node, str(error), misfit=True)
        except (ArithmeticError, IndexError, ValueError, Unsupported) as error:
            self.fail(node, str(error))
        if result.__class__ is Expr:
            for c in _numbers(result):
                if _bits(c) > MOST_BITS:
                    self.fail(node, TOO_LONG)
            if result.shape and len(result.shape) > MOST_AXES:
                self.fail(node, f"an array of more than {MOST_AXES} axes")
        return result

    def build(self, node: ast.expr, operands: list[ast.expr], values: list[Any]) -> Any:
        """Build the value of a node of the tree, without checks."""
        match node:
            case ast.Name():
                return self.named(node)
            case ast.Constant():
                return self.literal(node)
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
            case ast.Call():
                return self.called(node, operands, values)
            case ast.List():
                return self.listed(operands, values)
            case ast.Tuple():
                return tuple(values)
            case ast.Subscript():
                return self.subscripted(node, *values)
            case ast.Slice():
                bounds = iter(values)
                ends = (node.lower, node.upper, node.step)
                return slice(*(None if end is None else next(bounds) for end in ends))
            case ast.Attribute():
                return values[0].T if node.attr == "T" else values[0].mT
        raise AssertionError(node)

    def close(self, operands: list[ast.expr], values: list[Any]) -> None:
        """Convert the values to expressions, in place."""
        for k, value in enumerate(values):
            if value.__class__ is not Expr:
                values[k] = self.operand(operands[k], value)

    def operand(self, node: ast.expr, value: object) -> Expr:
        """Convert a value to an expression."""
        return self.report_errors(node, "", operand, value)

    def report_errors(self, node: ast.expr, name: str, make: Callable[..., T], *given: object) -> T:
        """Call ``make``; report its errors at the position of ``node``."""
        try:
            return make(*given)
        except ShapeError as error:
            self.fail(node, f"{name}{error}", misfit=True)
        except (ValueError, Unsupported) as error:
            self.fail(node, f"{name}{error}")

    def called(self, node: ast.Call, operands: list[ast.expr], values: list[Any]) -> Any:
        """The value of a call: of a scalar function by position, or of a declared function."""
        name: str = node.func.id  # type: ignore[attr-defined]  # `check_call` has seen to it
        count = len(values)
        function = FUNCTIONS.get(name)
        if function is not None and not node.keywords:
            _, least, most = function
            if count >= least and (most is None or count <= most):
                self.close(operands, values)
                if name in _POWERS:
                    self.check_power(node, *values)
                elif most is None and name in PUBLIC:
                    self.check_axis(node, *values)
                return function.build(*values)
            if name not in PUBLIC or all(x.__class__ is Expr and not x.shape for x in values):
                span = f"{least} to {most}" if most else f"at least {least}"
                takes = f"{least}" if least == most else span
                self.fail(node, f"{name} takes {takes} operand{'s' * (takes != '1')}, not {count}")
        if name not in PUBLIC:
            self.fail(node, f"{name}: operands are given by position")
        return self.as_declared(node, declared(name), list(zip(operands, values, strict=True)))

    def as_declared(
        self, node: ast.Call, function: Declared, given: list[tuple[ast.expr, Any]]
    ) -> Any:
        """The value of a call of a public function, with arguments as it declares them."""
        name, count = function.build.__name__, len(node.args)
        words = [str(word.arg) for word in node.keywords]
        if len({*words}) < len(words):
            self.fail(node, f"{name}: an argument is given twice")
        try:
            named = dict(zip(words, given[count:], strict=True))
            bound = function.signature.bind(*given[:count], **named)
        except TypeError as error:
            self.fail(node, f"{name}: {error}")
        for parameter, pairs in bound.arguments.items():
            several = function.signature.parameters[parameter].kind is Parameter.VAR_POSITIONAL
            if several and len(pairs) > MOST_AXES:
                self.fail(node, f"{name}: more than {MOST_AXES} operands")
            parsed = [
                self.report_errors(place, f"{name}: ", argument, function, parameter, value)
                for place, value in (pairs if several else [pairs])
            ]
            bound.arguments[parameter] = tuple(parsed) if several else parsed[0]
        self.check_powers(node, function, bound.arguments)
        try:
            result = function.build(*bound.args, **bound.kwargs)
        except TypeError as error:
            self.fail(node, str(error))
        except AttributeError as error:  # from an argument of a wrong type
            self.fail(node, f"{name}: {error}")
        return result if isinstance(result, Expr) else Results(name, tuple(result))

    def check_powers(self, node: ast.expr, function: Declared, given: dict[str, Any]) -> None:
        """Refuse an option as exponent of a number, if the power would have too many digits."""
        powers = [p for name, p in given.items() if function.kinds[name] is Kind.POWER]
        for p in powers:
            if isinstance(p, int):
                for x in given.values():
                    if isinstance(x, Expr):
                        self.check_power(node, x, as_expr(p))

    def check_axis(self, node: ast.expr, x: Expr, *others: Expr) -> None:
        """Refuse ``max(A, 0)``, which NumPy reads as ``max(A, axis=0)``."""
        assert isinstance(node, ast.Call)
        assert isinstance(node.func, ast.Name)
        name = node.func.id
        if not (x.shape and len(others) == 1 and isinstance(literal(others[0]), int)):
            return
        if "axis" in declared(name).kinds:
            self.fail(
                node.args[1],
                f"{name} of an array and a number: write {name}(x, axis=0) for the elements along "
                f"an axis, {name}imum(x, 0) for those of two arrays",
            )

    def listed(self, operands: list[ast.expr], values: list[Any]) -> list[Any]:
        """The elements of a list: expressions, lists, and the truth values of a mask."""
        for place, value in zip(operands, values, strict=True):
            if not isinstance(value, Expr | list | bool):
                self.operand(place, value)
        alone = len(operands) == 1 and isinstance(operands[0], ast.Compare)
        return Comparison(values) if alone else values

    def subscripted(self, node: ast.Subscript, x: object, given: object) -> Expr:
        """An element or part of an array, or one of several results."""
        if isinstance(x, Results):
            place = literal(given)
            if not isinstance(place, int) or not -len(x.parts) <= place < len(x.parts):
                self.fail(
                    node.slice, f"{x.name} has {len(x.parts)} results; take one by its number"
                )
            return x.parts[place]
        array = self.operand(node.value, x)
        if not array.shape:
            self.fail(node.slice, "a scalar has no subscripts")
        index = self.report_errors(node.slice, "", key, given)
        try:
            return array[index]
        except (IndexError, TypeError, ValueError, Unsupported) as error:
            self.fail(node.slice, str(error))

    def named(self, node: ast.Name) -> Expr:
        """The meaning of a name."""
        place = self.place(node)
        if place is not None:
            return self.added(self.earlier[place])
        value = self.names.get(node.id)
        return symbol(node.id) if value is None else value

    def literal(self, node: ast.Constant) -> Any:
        """A literal; a number that overflows or underflows as a float is exact."""
        value = node.value
        if type(value) not in (int, float):
            return value
        if isinstance(value, float) and (math.isinf(value) or value == 0):
            return as_expr(decimal(self.part.word(node.col_offset)))
        return as_expr(value)

    def check_power(self, node: ast.expr, base: Expr, exponent: Expr) -> None:
        """Refuse a power of numbers with too many digits, before it is computed."""
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
    """The numbers in the topmost node of ``x``, the only node that folding changes."""
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
