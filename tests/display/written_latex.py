r"""What LaTeX of the gallery means in NumPy, with nothing of the package.

Products of matrices stand side by side, vectors are columns and ``u^\top`` is a row.  Shapes must
agree, as on paper: nothing is broadcast.  ``\mathbf{1}`` and ``I`` do not say how large they are:
every size is tried, and the values of those that fit must be the same.
"""

from __future__ import annotations

import itertools
import math
import re
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy import linalg

from tests.display import written
from tests.display.latex_tokens import tokens
from tests.display.written import FUNCTIONS, Fault, Unknown

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

_SIGNS: dict[str, Callable[[Any, Any], Any]] = {
    "<": np.less,
    ">": np.greater,
    r"\leq": np.less_equal,
    r"\geq": np.greater_equal,
    "=": np.equal,
    r"\neq": np.not_equal,
}
_HEADS = {
    r"\log": "log",
    r"\exp": "exp",
    r"\sin": "sin",
    r"\cos": "cos",
    r"\tan": "tan",
    r"\sinh": "sinh",
    r"\cosh": "cosh",
    r"\tanh": "tanh",
    r"\max": "maximum",
    r"\min": "minimum",
    r"\det": "det",
    r"\Gamma": "gamma",
    r"\psi": "digamma",
    r"\zeta": "zeta",
    r"\lambda": "eigvalsh",
}
_CALLED = {"tr": "trace", "asin": "arcsin", "acos": "arccos", "atan": "arctan", "sign": "sign"}
_BOLD = {"1", "0", "I"}
_SIZES = {1, 2, 3}  # besides those of the symbols
_TRIED = 4  # ones and identities whose size is looked for


class Misfit(ValueError):
    """Shapes that do not agree."""


class Row(NamedTuple):
    """A vector as a row."""

    array: Any


class Node(NamedTuple):
    """A node of the tree of a formula."""

    kind: str
    parts: tuple[Any, ...]


def value(latex: str, names: Mapping[str, Any], shape: tuple[int, ...]) -> Any:
    """The value of ``shape`` of LaTeX, whose definitions are on lines before the last."""
    opened, closed = "\\begin{aligned}\n", "\n\\end{aligned}"
    inner = latex.removeprefix(opened).removesuffix(closed)
    rows = inner.split(" \\\\\n") if inner != latex else [latex]
    known = dict(names)
    for row in rows[:-1]:
        left, body = row.split(" &= ", maxsplit=1)
        name = left.replace("_{", "").replace("}", "")
        known[name] = _line(body, known, None)
    return _line(rows[-1].removeprefix("&").strip(), known, shape)


def _line(latex: str, names: Mapping[str, Any], shape: tuple[int, ...] | None) -> Any:
    reader = _Reader(latex, names)
    tree = reader.whole()
    sizes = sorted({n for x in names.values() for n in np.shape(x)} | {*(shape or ())} | _SIZES)
    if reader.sized > _TRIED:
        raise Unknown(latex)
    fitting = []
    for chosen in itertools.product(sizes, repeat=reader.sized):
        try:
            fitting.append(_result(tree, _Scope(names, {}, chosen), shape))
        except (ValueError, IndexError):
            continue
    if not fitting:
        raise Unknown(latex)
    first, *others = fitting
    if not all(np.array_equal(first, x, equal_nan=True) for x in others):
        raise Unknown(latex)
    return first


def _result(tree: Node, scope: _Scope, shape: tuple[int, ...] | None) -> Any:
    if tree.kind == "array" and shape is not None:
        return _array(scope, *tree.parts, shape)
    result = _value(tree, scope)
    if isinstance(result, Row):
        result = result.array[None]
    if shape is None or np.shape(result) == shape:
        return result
    # Ones of any number of axes and columns are written as a number and a vector are.
    if np.size(result) == math.prod(shape):
        return np.reshape(result, shape)
    if np.ndim(result) == 0 and result == 0:
        return np.zeros(shape)
    raise Misfit(f"{np.shape(result)} for {shape}")


# Reading ------------------------------------------------------------------------------------------


class _Reader:
    """Recursive descent to a tree."""

    def __init__(self, latex: str, names: Mapping[str, Any]) -> None:
        self.words = [word for word in tokens(latex) if word not in (" ", "\n", r"\:", r"\,")]
        self.latex, self.k, self.sized = latex, 0, 0
        self.known = {self.split(name) for name in names}

    @staticmethod
    def split(name: str) -> tuple[str, str]:
        """A name as a letter and its index."""
        letters = re.match("[A-Za-z]+", name)
        assert letters is not None
        return letters.group(), name[letters.end() :].removeprefix("_")

    def peek(self, ahead: int = 0) -> str:
        return self.words[self.k + ahead] if self.k + ahead < len(self.words) else ""

    def take(self, expected: str = "") -> str:
        word = self.peek()
        if not word or (expected and word != expected):
            raise Unknown(f"{expected or 'a word'} at {''.join(self.words[self.k :])[:60]}")
        self.k += 1
        return word

    def whole(self) -> Node:
        tree = self.logic()
        if self.k < len(self.words):
            raise Unknown("".join(self.words[self.k :])[:60])
        return tree

    def group(self) -> Node:
        self.take("{")
        tree = self.logic()
        self.take("}")
        return tree

    def raw(self) -> str:
        """The words of a group, whatever they are."""
        self.take("{")
        start, depth = self.k, 1
        while depth:
            depth += {"{": 1, "}": -1}.get(self.take(), 0)
        return "".join(self.words[start : self.k - 1])

    def logic(self) -> Node:
        tree = self.conjunction()
        while self.peek() == r"\vee":
            self.take()
            tree = Node("or", (tree, self.conjunction()))
        return tree

    def conjunction(self) -> Node:
        tree = self.negation()
        while self.peek() == r"\wedge":
            self.take()
            tree = Node("and", (tree, self.negation()))
        return tree

    def negation(self) -> Node:
        if self.peek() == r"\neg":
            self.take()
            return Node("not", (self.negation(),))
        first = self.sum()
        pairs = []
        while self.peek() in _SIGNS:
            pairs.append((self.take(), self.sum()))
        return Node("compare", (first, *pairs)) if pairs else first

    def sum(self) -> Node:
        terms = []
        while True:
            sign = self.take() if self.peek() in ("+", "-") else "+" if not terms else ""
            if not sign:
                return terms[0][1] if len(terms) == 1 and terms[0][0] == "+" else self.added(terms)
            terms.append((sign, self.term()))

    @staticmethod
    def added(terms: list[tuple[str, Node]]) -> Node:
        return Node("sum", tuple(terms))

    def term(self) -> Node:
        """Factors side by side; a sum over letters takes all that follows."""
        if self.peek() in (r"\sum", r"\prod"):
            kind = self.take()[1:]
            self.take("_")
            runs = self.runs()
            return Node("over", (kind, runs, self.term()))
        tree = self.factor()
        while True:
            word = self.peek()
            if word in (r"\odot", r"\oslash", r"\cdot"):
                self.take()
                tree = Node(word[1:], (tree, self.factor()))
            elif word in (r"\sum", r"\prod"):
                return Node("cdot", (tree, self.term()))
            elif self.begins():
                tree = Node("cdot", (tree, self.factor()))
            else:
                return tree

    def begins(self) -> bool:
        """Whether a factor begins here."""
        word = self.peek()
        ends = {"", "}", "]", ")", "&", ",", ":", "+", "-", r"\\", r"\right", r"\end", r"\text"}
        return word not in ends and word not in _SIGNS and word not in (r"\wedge", r"\vee")

    def runs(self) -> tuple[Node, ...]:
        """What stands below a sum, or at the foot of an array: letters, or comparisons."""
        if self.peek() != "{":
            return (Node("name", (self.take(), ())),)
        self.take("{")
        runs = [self.negation()]
        while self.peek() == ",":
            self.take()
            runs.append(self.negation())
        self.take("}")
        return tuple(runs)

    def factor(self) -> Node:
        tree = self.atom()
        while self.peek() in ("^", "_"):
            below = self.take() == "_"
            tree = Node("at", (tree, self.places())) if below else self.raised(tree)
        return tree

    def raised(self, tree: Node) -> Node:
        if self.peek() != "{":
            word = self.take()
            return (
                Node("transposed", (tree,)) if word == r"\top" else Node("power", (tree, num(word)))
            )
        if self.words[self.k : self.k + 4] == ["{", "-", r"\top", "}"]:
            self.k += 4
            return Node("transposed", (Node("power", (tree, num("-1"))),))
        if self.peek(1) == r"\odot":
            self.take("{")
            self.take()
            exponent = self.quotient()
            self.take("}")
            return Node("elementwise power", (tree, exponent))
        return Node("power", (tree, self.group()))

    def quotient(self) -> Node:
        """An exponent: a formula, or 1/2 as it is typed."""
        over = self.logic()
        if self.peek() != "/":
            return over
        self.take()
        return Node("ratio", (over, self.sum()))

    def places(self) -> tuple[Any, ...]:
        """The places below an array, or the index of a name."""
        if self.peek() != "{":
            return (self.atom(),)
        self.take("{")
        read: list[Any] = []
        while True:
            ends: list[Any] = []
            while True:
                ends.append(None if self.peek() in (":", ",", "}") else self.logic())
                if self.peek() != ":":
                    break
                self.take()
            read.append(ends[0] if len(ends) == 1 else tuple(ends))
            if self.take() == "}":
                return tuple(read)
            if self.words[self.k - 1] != ",":
                raise Unknown(self.latex)

    def arguments(self) -> tuple[Node, ...]:
        """What stands in the brackets of a function, with or without braces."""
        braced = self.peek() == "{"
        if braced:
            self.take()
        self.take(r"\left")
        self.take("(")
        operands = [self.argument()]
        while self.peek() == ",":
            self.take()
            operands.append(self.argument())
        self.take(r"\right")
        self.take(")")
        if braced:
            self.take("}")
        return tuple(operands)

    def argument(self) -> Node:
        if self.peek() != r"\mathtt":
            return self.logic()
        self.take()
        return Node("typed", (self.raw(),))

    def is_called(self, ahead: int) -> bool:
        """Whether a function's brackets follow, behind its powers."""
        k = self.k + ahead
        while k < len(self.words) and self.words[k] in ("^", "_"):
            k += 1
            depth = 0
            while True:
                depth += {"{": 1, "}": -1}.get(self.words[k], 0)
                k += 1
                if depth == 0:
                    break
        following = self.words[k : k + 3]
        return following[:2] == [r"\left", "("] or following == ["{", r"\left", "("]

    def function(self, name: str) -> Node:
        """A function with its powers and its operands; what is raised in brackets is an order."""
        exponent = below = None
        orders: tuple[Node, ...] = ()
        while self.peek() in ("^", "_"):
            if self.take() == "^":
                if self.words[self.k : self.k + 3] == ["{", r"\left", "("]:
                    orders = self.arguments()
                    continue
                exponent = self.group() if self.peek() == "{" else num(self.take())
            else:
                below = self.raw() if self.peek() == "{" else self.take()
        if exponent is not None and exponent.kind == "sum":
            raise Fault(f"{name} to a negative power is its inverse function")
        name = f"{name}{below}" if below else name
        name = f"{name}_derivative" if orders else name
        called = Node("call", (name, orders + self.arguments()))
        return called if exponent is None else Node("elementwise power", (called, exponent))

    def fenced(self) -> Node:
        opening = self.take()
        if opening == "(":
            items = [self.argument()]
            listed = self.peek() == ","
            while self.peek() == ",":
                self.take()
                if self.peek() != r"\right":
                    items.append(self.argument())
            self.take(r"\right")
            self.take(")")
            return Node("table", tuple(items)) if listed else items[0]
        if opening == "[":
            inner = self.logic()
            self.take(r"\right")
            self.take("]")
            if self.peek() == "_":
                self.take()
                return Node("array", (inner, self.runs()))
            return Node("condition", (inner,))
        kinds = {"|": "abs", r"\lfloor": "floor", r"\lceil": "ceil", r"\lVert": "norm"}
        if opening not in kinds:
            raise Unknown(opening)
        inner = self.logic()
        self.take(r"\right")
        self.take()
        if opening == r"\lVert" and self.peek() == "_":
            self.k += 2
        return Node("call", (kinds[opening], (inner,)))

    def environment(self) -> Node:
        kind = self.raw()
        rows: list[list[Node]] = [[]]
        while True:
            if self.peek() == r"\text":
                self.take()
                if self.raw() == "otherwise":
                    rows[-1].append(Node("number", (1.0,)))
                else:
                    rows[-1].append(self.logic())
            else:
                rows[-1].append(self.logic())
            word = self.take()
            if word == r"\\":
                rows.append([])
            elif word == r"\end":
                self.raw()
                return Node(kind, tuple(tuple(row) for row in rows))

    def number(self) -> Node:
        digits = ""
        while self.peek().isdigit() or (self.peek() == "." and digits):
            digits += self.take()
        return num(digits)

    def atom(self) -> Node:
        word = self.peek()
        if word.isdigit():
            return self.number()
        self.take()
        if word == "{":
            self.k -= 1
            return self.group()
        if word == r"\left":
            return self.fenced()
        if word == r"\begin":
            return self.environment()
        if word == r"\frac":
            return Node("ratio", (self.group(), self.group()))
        if word == r"\sqrt":
            if self.peek() == "[":
                raise Unknown(self.latex)
            return Node("elementwise power", (self.group(), num("0.5")))
        if word == r"\mathbf":
            bold = self.raw()
            if bold not in _BOLD:
                raise Unknown(bold)
            return self.of_a_size(bold)
        if word == r"\infty":
            return num("inf")
        if word in (r"\operatorname", r"\mathrm", r"\mathtt"):
            word = self.raw().replace(r"\_", "_")
            if (word, "") not in self.known:
                return self.function(_CALLED.get(word, word))
        elif (word.removeprefix("\\"), "") in self.known or any(
            letter == word.removeprefix("\\") for letter, _ in self.known
        ):
            word = word.removeprefix("\\")
        elif word == r"\pi":
            return num(str(math.pi))
        elif word == "e" and self.peek() == "^":
            self.take()
            return Node("exponential", (self.group() if self.peek() == "{" else num(self.take()),))
        elif word == "I" and not self.is_called(0):
            return self.of_a_size("I")
        elif word in _HEADS or (word.isalpha() and self.is_called(0)):
            if word == r"\det" and not self.is_called(0):
                return Node("call", ("det", (self.factor(),)))
            if word == r"\log" and self.peek() == r"\left" and self.peek(1) == "|":
                return Node("call", ("log", (self.factor(),)))
            if not self.is_called(0):
                raise Unknown(word)
            return self.function(_HEADS.get(word, word))
        elif not word.isalpha():
            raise Unknown(word)
        if self.peek() != "_":
            return Node("name", (word, ()))
        self.take()
        return Node("name", (word, self.places()))

    def of_a_size(self, bold: str) -> Node:
        if bold == "0":
            return Node("zeros", ())
        self.sized += 1
        return Node(bold, (self.sized - 1,))


def num(digits: str) -> Node:
    """A number."""
    try:
        return Node("number", (int(digits) if digits.lstrip("-").isdigit() else float(digits),))
    except ValueError:
        raise Unknown(digits) from None


# Values -------------------------------------------------------------------------------------------


class _Scope(NamedTuple):
    """The values of names and letters, and the sizes of ones."""

    names: Mapping[str, Any]
    letters: Mapping[str, int]
    sizes: tuple[int, ...]


def _value(node: Node, scope: _Scope) -> Any:
    return _KINDS[node.kind](scope, *node.parts)


def _name(scope: _Scope, word: str, places: tuple[Any, ...]) -> Any:
    """A symbol, a letter, or an element of a symbol."""
    if word in scope.letters and not places:
        return scope.letters[word]
    array, index = _symbol(scope, word, places)
    return array if not index else _at_places(array, index, scope)


def _symbol(scope: _Scope, word: str, places: tuple[Any, ...]) -> tuple[Any, tuple[Any, ...]]:
    """The array that a name with places below it is of, and the places that are its own."""
    first = places[0] if places else None
    numbered = isinstance(first, Node) and first.kind == "number"
    with_number = f"{word}{first.parts[0]}" if numbered else ""
    if with_number in scope.names and word in scope.names:
        raise Unknown(word)
    if with_number in scope.names:
        return scope.names[with_number], places[1:]
    if word not in scope.names:
        raise Unknown(word)
    return scope.names[word], places


def _at_places(array: Any, places: tuple[Any, ...], scope: _Scope) -> Any:
    key = []
    for place in places:
        if not isinstance(place, Node):
            key.append(slice(*(None if end is None else int(_value(end, scope)) for end in place)))
        else:
            key.append(np.asarray(_value(place, scope)).astype(int)[()])
    if len(key) > np.ndim(array):
        raise Misfit(f"{len(key)} places of {np.ndim(array)} axes")
    if all(np.ndim(k) == 0 and not isinstance(k, slice) for k in key) and len(key) == array.ndim:
        # As Iverson meant, 0 times what is outside of an array is 0.
        key = [k % max(n, 1) for k, n in zip(key, array.shape, strict=True)]
    return array[tuple(key)]


def _at(scope: _Scope, array: Node, places: tuple[Any, ...]) -> Any:
    array_value = _value(array, scope)
    if isinstance(array_value, Row):
        raise Misfit("an element of a row")
    return _at_places(np.asarray(array_value), places, scope)


def _walk(node: Any) -> Iterator[Node]:
    stack = [node]
    while stack:
        node = stack.pop()
        if isinstance(node, Node):
            yield node
            stack += node.parts
        elif isinstance(node, tuple):
            stack += node


def _run(run: Node, body: Node, scope: _Scope) -> tuple[str, int, int]:
    """The letter of a run, and where it starts and stops."""
    if run.kind == "name":
        letter = run.parts[0]
        return letter, 0, _length(letter, body, scope)
    assert run.kind == "compare"
    first, *pairs = run.parts
    sides = [first, *(side for _, side in pairs)]
    signs = [sign for sign, _ in pairs]
    own = len(signs) - 1  # k < n, 1 <= k < n
    if sides[own].kind != "name" or sides[own].parts[1]:
        raise Unknown(str(run))
    letter = sides[own].parts[0]
    start = int(_value(sides[0], scope)) if own == 1 else 0
    if signs[own] not in ("<", r"\leq"):
        raise Unknown(signs[own])
    return letter, start, int(_value(sides[own + 1], scope)) + (signs[own] == r"\leq")


def _length(letter: str, body: Node, scope: _Scope) -> int:
    """How far a letter runs that indexes an axis, of which every element must say the same."""
    lengths = set()
    for node in _walk(body):
        if node.kind == "name" and node.parts[1]:
            array, places = _symbol(scope, *node.parts)
        elif node.kind == "at":
            try:
                array, places = _value(node.parts[0], scope), node.parts[1]
            except (Unknown, Misfit):
                continue
        else:
            continue
        for k, place in enumerate(places):
            if place == Node("name", (letter, ())):
                lengths.add(int(np.shape(array)[k]))
    if len(lengths) > 1:
        raise Fault(f"{letter} runs over axes of lengths {sorted(lengths)}")
    if not lengths:
        raise Unknown(letter)
    return lengths.pop()


def _over(scope: _Scope, kind: str, runs: tuple[Node, ...], body: Node) -> Any:
    """A sum or a product over letters."""
    if not runs:
        return _value(body, scope)
    letters = dict(scope.letters)
    condition = [run for run in runs if run.kind == "compare" and run.parts[1][0] == r"\neq"]
    if condition:
        raise Unknown(kind)
    letter, start, stop = _run(runs[0], body, scope)
    total = 0.0 if kind == "sum" else 1.0
    for k in range(start, stop):
        inner = scope._replace(letters=letters | {letter: k})
        term = _over(inner, kind, runs[1:], body)
        total = total + term if kind == "sum" else total * term
    return total


def _array(
    scope: _Scope, body: Node, runs: tuple[Node, ...], shape: tuple[int, ...] | None = None
) -> Any:
    """The array of elements; the shape of a result is known."""
    if shape is None:
        ranges = [_run(run, body, scope) for run in runs]
        names, shape = [name for name, _, _ in ranges], tuple([stop for _, _, stop in ranges])
    else:
        names = [run.parts[0] for run in runs]
    out = np.zeros(shape)
    for place in np.ndindex(out.shape):
        letters = dict(zip(names, place, strict=True))
        element = _value(body, scope._replace(letters={**scope.letters, **letters}))
        if np.ndim(element):
            raise Misfit("an element is an array")
        out[place] = element
    return out


def _same(a: Any, b: Any) -> tuple[Any, Any]:
    if isinstance(a, Row) != isinstance(b, Row) or np.shape(_plain(a)) != np.shape(_plain(b)):
        raise Misfit(f"{np.shape(_plain(a))} and {np.shape(_plain(b))}")
    return _plain(a), _plain(b)


def _plain(x: Any) -> Any:
    return x.array if isinstance(x, Row) else x


def _added(scope: _Scope, *terms: tuple[str, Node]) -> Any:
    """A sum of alike terms; zeros are as large as the others."""
    total: Any = None
    for sign, term in terms:
        if term.kind == "zeros":
            continue
        term_value = _value(term, scope)
        term_value = _scaled(-1, term_value) if sign == "-" else term_value
        if total is None:
            total = term_value
        else:
            a, b = _same(total, term_value)
            total = Row(a + b) if isinstance(term_value, Row) else a + b
    return 0.0 if total is None else total


def _scaled(c: Any, x: Any) -> Any:
    return Row(c * x.array) if isinstance(x, Row) else c * x


def _times(scope: _Scope, a: Node, b: Node) -> Any:
    """Side by side: a multiple, or a product of matrices, columns and rows."""
    x, y = _value(a, scope), _value(b, scope)
    if np.ndim(_plain(x)) == 0 or np.ndim(_plain(y)) == 0:
        return _scaled(x, y) if np.ndim(_plain(x)) == 0 else _scaled(y, x)
    if isinstance(x, Row) or isinstance(y, Row):
        if isinstance(x, Row) and isinstance(y, Row):
            raise Misfit("a row times a row")
        if isinstance(y, Row):
            if np.ndim(x) != 1:
                raise Misfit("a matrix times a row")
            return np.outer(x, y.array)
        if x.array.shape != np.shape(y)[:1]:
            raise Misfit("a row and what it is multiplied by")
        product = x.array @ y
        return product if np.ndim(product) == 0 else Row(product)
    if np.ndim(x) != 2 or np.ndim(y) > 2 or np.shape(x)[1] != np.shape(y)[0]:
        raise Misfit(f"{np.shape(x)} times {np.shape(y)}")
    return x @ y


def _elementwise(operation: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    def apply(scope: _Scope, a: Node, b: Node) -> Any:
        x, y = _value(a, scope), _value(b, scope)
        if np.ndim(_plain(x)) and np.ndim(_plain(y)):
            x, y = _same(x, y)
        return operation(x, y)

    return apply


def _ratio(scope: _Scope, a: Node, b: Node) -> Any:
    over, under = _value(a, scope), _value(b, scope)
    if np.ndim(_plain(under)):
        raise Misfit("over an array")
    return _scaled(np.true_divide(1, under), over)


def _power(scope: _Scope, base: Node, exponent: Node) -> Any:
    """Of a number; of a matrix, its inverse."""
    x, p = _value(base, scope), _value(exponent, scope)
    if np.ndim(_plain(x)) == 2 and p == -1:
        if len({*x.shape}) > 1:
            raise Misfit("the inverse of what is not square")
        return np.linalg.inv(x)
    if np.ndim(_plain(x)) and not (base.kind == "call" and base.parts[0] == "norm"):
        raise Misfit("a power of an array")
    return np.float_power(x, p)


def _elementwise_power(scope: _Scope, base: Node, exponent: Node) -> Any:
    x, p = _value(base, scope), _value(exponent, scope)
    return np.float_power(x, p)


def _transposed(scope: _Scope, x: Node) -> Any:
    operand = _value(x, scope)
    if isinstance(operand, Row):
        return operand.array
    if np.ndim(operand) == 1:
        return Row(operand)
    if np.ndim(operand) != 2:
        raise Misfit("a transpose")
    return operand.T


def _exponential(scope: _Scope, x: Node) -> Any:
    operand = _value(x, scope)
    return linalg.expm(operand) if np.ndim(operand) == 2 else np.exp(operand)


def _typed(text: str) -> str:
    """What stands in typewriter letters, as it is typed."""
    for sign, plain in _TYPED.items():
        text = text.replace(sign, plain)
    return text


_TYPED = {
    **{r"\lt{}": "<", r"\gt{}": ">", r"\text{'}": "'", r"\text{\"}": '"', r'\text{"}': '"'},
    **{r"\backslash{}": "\\", r"\wedge{}": "^", r"\sim{}": "~", r"\ ": " "},
    **{"\\" + sign: sign for sign in "{}_$#%&"},
}


def _call(scope: _Scope, name: str, arguments: tuple[Node, ...]) -> Any:
    given: list[Any] = []
    words: list[str] = []
    for node in arguments:
        if node.kind == "typed":
            words.append(_typed(node.parts[0]))
        else:
            given.append(_value(node, scope))
    if any(isinstance(x, Row) for x in given):
        raise Misfit("a function of a row")
    if name == "norm":
        return np.sqrt(np.sum(np.square(given[0])))
    if name == "diag":
        return np.diag(given[0])
    if name in ("log2", "log_{2}"):
        name = "log2"
    if name in ("maximum", "minimum") and len(given) == 1:
        name = name[:3]  # of the elements of an array
    if name not in FUNCTIONS:
        raise Unknown(name)
    if words:
        names = {f"given{k}": x for k, x in enumerate(given)}
        return written.value(f"{name}({', '.join([*names, *words])})", names, ())
    try:
        return FUNCTIONS[name](*given)
    except (ValueError, IndexError, TypeError) as error:
        raise Misfit(f"{name}: {error}") from error


def _cases(scope: _Scope, *rows: tuple[Node, ...]) -> Any:
    *cases, last = rows
    result = _value(last[0], scope)
    for case, condition in reversed(cases):
        chosen, holds = _value(case, scope), np.asarray(_value(condition, scope), bool)
        if 0 < np.ndim(_plain(chosen)) != np.ndim(_plain(result)) > 0:
            raise Misfit("cases of other shapes")
        result = np.where(holds, chosen, result)
    return result


def _matrix(scope: _Scope, *rows: tuple[Node, ...]) -> Any:
    """Components, or blocks one below the other and side by side."""
    cells = [[_value(cell, scope) for cell in row] for row in rows]
    if all(np.ndim(_plain(x)) == 0 for row in cells for x in row):
        if len({len(row) for row in cells}) > 1:
            raise Misfit("rows of other lengths")
        return np.array(cells)[:, 0] if len(cells[0]) == 1 else np.array(cells)
    blocks = []
    for row in cells:
        if any(np.ndim(_plain(x)) == 0 for x in row):
            raise Unknown("a number among blocks")
        if len(row) == 1:
            blocks.append(row[0].array[None] if isinstance(row[0], Row) else row[0])
        elif all(np.ndim(x) == 2 for x in row):
            blocks.append(np.concatenate(row, 1))
        else:
            raise Unknown("blocks")
    if len({block.shape[1:] for block in blocks}) > 1:
        raise Misfit("blocks of other widths")
    return np.concatenate(blocks)


def _compare(scope: _Scope, first: Node, *pairs: tuple[str, Node]) -> Any:
    sides = [first, *(side for _, side in pairs)]
    numbers = [_value(side, scope) for side in sides]
    result: Any = True
    for (sign, _), a, b in zip(pairs, numbers, numbers[1:], strict=False):
        result = np.logical_and(result, _SIGNS[sign](a, b))
    return result


def _unread(scope: _Scope, text: str) -> Any:
    raise Unknown(text)


def _numbers(scope: _Scope, *items: Node) -> Any:
    return np.array([_value(item, scope) for item in items])


_KINDS: dict[str, Callable[..., Any]] = {
    "number": lambda scope, number: number,
    "name": _name,
    "at": _at,
    "sum": _added,
    "cdot": _times,
    "odot": _elementwise(np.multiply),
    "oslash": _elementwise(np.true_divide),
    "ratio": _ratio,
    "power": _power,
    "elementwise power": _elementwise_power,
    "transposed": _transposed,
    "exponential": _exponential,
    "call": _call,
    "over": _over,
    "array": _array,
    "condition": lambda scope, inner: np.asarray(_value(inner, scope), float)[()],
    "cases": _cases,
    "bmatrix": _matrix,
    "compare": _compare,
    "and": lambda scope, a, b: np.logical_and(_value(a, scope), _value(b, scope)),
    "or": lambda scope, a, b: np.logical_or(_value(a, scope), _value(b, scope)),
    "not": lambda scope, a: np.logical_not(_value(a, scope)),
    "table": _numbers,
    "typed": _unread,
    "zeros": lambda scope: 0.0,
    "1": lambda scope, k: np.ones(scope.sizes[k]),
    "I": lambda scope, k: np.eye(scope.sizes[k]),
}
