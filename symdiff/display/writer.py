"""The written forms of a node: as a whole array, or by its element at an index.

A ``Form`` states the forms that it needs of its operands, and joins their texts.  Whole arrays use
matrix notation.  A contraction that is not a matrix product has no whole form, nor has a linear map
without a known name.  Such an array is written by its elements: ``x[i + 1]`` for a cut array, a
condition in brackets for written zeros, a sum over axis labels.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from symdiff import opaque_ops
from symdiff.display.book_order import BookOrder, flat_factors, taylor_terms, terms_of
from symdiff.display.elements import WITHOUT_NAMES, element, indices
from symdiff.display.forms import (
    Condition,
    Form,
    Index,
    Need,
    element_of,
    from_front,
    is_stack,
    needed,
    over,
    zero,
)
from symdiff.display.matrices import Chain, chain
from symdiff.display.notation import AND, ATOM, COMPARE, OR, POWER, PRODUCT, Notation, Piece
from symdiff.display.reading import (
    components,
    factors,
    is_reciprocal,
    rearrangement,
    repeated,
    stacked,
)
from symdiff.functions.indexing import getitem
from symdiff.graph import ops
from symdiff.graph.algebra import PRIMITIVES, size
from symdiff.graph.axes import shape_text
from symdiff.graph.leaves import number_of
from symdiff.graph.lengths import Length
from symdiff.graph.node import topological
from symdiff.scalars.vocabulary import FACTS
from symdiff.transforms.integrals import Integral, written_out

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from fractions import Fraction

    from symdiff.display.book_order import Exponent, Powers
    from symdiff.display.order import Order
    from symdiff.graph.axes import Word
    from symdiff.graph.expr import Expr
    from symdiff.graph.node import Dim
    from symdiff.graph.number import Number

Part = TypeVar("Part")

_INFIX = {name: sign for name, facts in FACTS.items() if (sign := facts.infix)}
_LEVELS = {"and": AND, "or": OR}
_MIRRORED = {"<": ">", "<=": ">="}
_EXP = PRIMITIVES["exp"]


def _shows_axes(node: Expr) -> bool:
    """Whether the text of an elementwise op's operands shows all its axes."""
    bases = [x for x, _ in factors(node)] if isinstance(node.op, ops.Product) else node.args
    ways = [repeated(x) for x in bases if not ops.is_spread(x.op)]
    if None in ways:
        return True
    new = [{k for k, i in enumerate(op.out) if i not in op.letters[0]} for op in ways if op]
    return isinstance(node.op, ops.Product) and bool(new) and not set.intersection(*new)


def _drop_summed_ones(node: Expr) -> tuple[list[Expr], tuple[Word, ...]]:
    """The operands of a contraction and their labels, without summed axes of length 1."""
    op = node.op
    assert isinstance(op, ops.Contract)
    operands, words = [], []
    for x, word in zip(node.args, op.letters, strict=True):
        used = [k in op.out or n != 1 for k, n in zip(word, x.shape, strict=True)]
        alike = all(used) or not any(used)
        operands.append(x if alike else getitem(x, tuple([slice(None) if k else 0 for k in used])))
        words.append(
            word if alike else tuple([k for k, keep in zip(word, used, strict=True) if keep])
        )
    return operands, tuple(words)


def _solved_system(node: Expr) -> tuple[Expr, Expr] | None:
    """The matrix and vector of the linear system that the node solves, or None."""
    op = node.op
    if not isinstance(op, ops.Contract) or len(op.letters) != 1:
        return None
    (x,), (word,) = node.args, op.letters
    return _system(x) if op.out == word[:1] else None


def _system(x: Expr) -> tuple[Expr, Expr] | None:
    """The matrix and vector of a linear system whose solution is the node's column, or None."""
    if not isinstance(x.op, opaque_ops.Solve) or x.ndim != 2 or x.shape[-1] != 1:
        return None
    column = getitem(x.args[1], (slice(None), 0))
    listed = components(column) if is_stack(x.args[1]) else None
    return x.args[0], column if listed is None else stacked(listed)


def _number(c: Any, notation: Notation) -> Piece:
    return Piece(notation.literal(str(c))) if isinstance(c, bool) else notation.number(c)


def _vanishes(factors: Iterable[tuple[Piece, Exponent]]) -> bool:
    """Whether a condition makes one of the factors 0."""
    return any(piece.is_zero and p > 0 for piece, p in factors)


def _is_softmax(node: Expr) -> bool:
    """Whether the node is exp(x - logsumexp(x)), along the last axis."""
    (x, *_) = node.args
    if not node.shape or node.op is not _EXP or not isinstance(x.op, ops.Sum):
        return False
    if x.op.const or x.op.coefs != (1, -1) or not isinstance(x.args[1].op, ops.Contract):
        return False
    op = x.args[1].op
    if len(op.letters) != 1 or op.out[: len(op.letters[0])] != op.letters[0]:
        return False
    (total,) = x.args[1].args
    return isinstance(total.op, opaque_ops.LogSumExp) and total.args[0] is x.args[0]


class WithoutForm(Exception):  # no error: the node gets a name
    """Raised for an array that is an argument and has no form as a whole."""

    def __init__(self, node: Expr) -> None:
        super().__init__()
        self.node = node


def _index_from_front(step: int | str, dim: Dim) -> int | str:
    """An index of an axis of named length, counted from the front; slices stay."""
    counted = isinstance(step, int) and step < 0 and isinstance(dim, Length)
    return str(dim + step) if counted else step  # type: ignore[operator]


def _named_values_last(powers: Powers) -> Powers:
    """The factors with elements of sequences and values of functions after symbols: ``r*b[k]``."""
    symbols: dict[int, bool] = {}  # by place; whether such a value
    for k, (x, _) in enumerate(powers):
        element = None if x.shape else element_of(x)
        op = (x if element is None else element[0]).op
        if isinstance(op, ops.Symbol):
            named = element is None and op.name.isidentifier()
            symbols[k] = bool(op.dummy) and not named
    moved = iter(sorted(symbols, key=symbols.__getitem__))
    return [powers[next(moved)] if k in symbols else power for k, power in enumerate(powers)]


class Writer:
    """Builds the forms of nodes in a notation."""

    def __init__(
        self,
        notation: Notation,
        letter: Callable[[int], str],
        is_plain: Callable[[Expr], bool],
        taken: set[str],
        width: int | None,
        order: Order | None,
        is_named: Callable[[Expr], bool],
        in_books_order: bool,
    ) -> None:
        self.is_named, self.in_books_order = is_named, in_books_order
        self.notation, self.letter, self.is_plain = notation, letter, is_plain
        self.taken, self.width, self.order = taken, width, order
        self._wholes: dict[Expr, Form | None] = {}
        self._book = BookOrder()
        self._scalars: dict[Expr, bool] = {}

    # Indices

    def index(self, k: int) -> Index:
        """The index named by axis label ``k``."""
        return Index(((self.letter(k), 1),))

    # Forms

    def is_whole(self, form: Form) -> bool:
        """Whether all operands have the forms that are needed, or get names."""
        return form.call or all(n.index is not None or self.is_plain(n.node) for n in form.needs)

    def form(
        self, node: Expr, index: tuple[Index, ...] | None, fresh: int, elementwise: bool = False
    ) -> Form:
        """The form of a node; ``fresh`` is the first label that is free around it."""
        if index is not None and node.shape:
            return self._element(node, index, fresh)
        if ops.is_spread(node.op):
            return self._spread(node, elementwise)
        if elementwise and repeated(node) is not None:
            beside = self._repeated(node, elementwise)
            assert beside is not None, node
            return beside
        form = self.whole(node)
        if isinstance(node.op, opaque_ops.Prod):
            form = self._product_by_index(node.op, node, fresh) or form
        if form is None or not self.is_whole(form):
            if node.shape:
                raise WithoutForm(node)
            form = self._element(node, (), fresh)
        return form

    def whole(self, node: Expr) -> Form | None:
        """The form of a whole array or scalar; None if it needs axis labels."""
        if self.is_flat(node):
            return self._flat_product(node)  # its factors depend on which parts have names
        if node not in self._wholes:
            self._wholes[node] = self._whole(node)
        return self._wholes[node]

    def is_flat(self, node: Expr) -> bool:
        """Whether the node is a product that is written with the factors of its factors."""
        flat = self.in_books_order and not node.shape
        return flat and isinstance(node.op, ops.Product) and node.dtype is float

    def _flat_product(self, node: Expr) -> Form:
        powers = _named_values_last(self._book.sorted_factors(flat_factors(node, self.is_named)))
        notation = self.notation

        def build(pieces: list[Piece]) -> Piece:
            parts = [(piece, x, p) for piece, (x, p) in zip(pieces, powers, strict=True)]
            if _vanishes((piece, p) for piece, _, p in parts):
                return notation.number(0)
            return notation.quotient(1, *self._sides(parts))

        return Form(tuple([Need(x) for x, _ in powers]), build)

    def _whole(self, node: Expr) -> Form | None:
        op = node.op
        match op:
            case ops.Contract():
                return self._contract(node, op)
            case ops.Linear():
                return self._linear(node)
            case ops.Opaque():
                return self._opaque(node)
            case _ if not node.args and not isinstance(op, ops.Sum):
                return self._leaf(node)
        if not node.shape:
            return self._taylor_polynomial(node) or self._elementwise(node, None)
        if not self.notation.is_elementwise(op, node.ndim):
            return None
        if node.args and not _shows_axes(node):
            return None
        if isinstance(op, ops.Pointwise) and _is_softmax(node):
            need = Need(node.args[0].args[0])
            axis = ops.axis_text(node.ndim, node.ndim - 1)
            call = self.notation.call
            return Form((need,), lambda pieces: call("softmax", pieces, *axis).of(node.ndim))
        if node.ndim == 2 and isinstance(op, ops.Product):
            return self._weighted(node)
        return self._elementwise(node, None)

    # Leaves

    def _leaf(self, node: Expr) -> Form:
        op, notation = node.op, self.notation
        if isinstance(op, ops.Count):
            return Form((Need(size(Length(op.name))),), lambda pieces: pieces[0])
        if isinstance(op, ops.Size):
            length = replace(notation.length(op.name), leaf=True)
            return Form((), lambda _: length)
        if isinstance(op, ops.Exact):
            text = notation.exact(op.name, op.name in self.taken)
        elif not isinstance(op, ops.Constant):
            text = notation.name(op.name)
        elif op.value.size <= ops.LISTED and node.shape:
            numbers = [_number(c, notation) for c in op.value.ravel().tolist()]
            listed = notation.nested(numbers, op.value.shape)
            return Form((), lambda _: listed)
        else:
            shape = shape_text(node.shape)
            text = notation.literal(f"array(shape={shape}, dtype={op.value.dtype})")
        # The star of a solution is an exponent in LaTeX.
        level = POWER if op.name.endswith("*") else ATOM
        piece = Piece(text, level, ndim=node.ndim, leaf=True)
        return Form((), lambda _: piece)

    def _spread(self, node: Expr, elementwise: bool) -> Form:
        (x,) = node.args
        shape = shape_text(node.shape)
        if elementwise:
            return Form((Need(x),), lambda pieces: pieces[0])
        return Form(
            (Need(x),),
            lambda pieces: self.notation.filled(
                pieces[0], number_of(x), shape, node.ndim, node.dtype is int
            ),
        )

    def _repeated(self, node: Expr, elementwise: bool) -> Form | None:
        rearranged, op = rearrangement(node), node.op
        assert rearranged is not None
        assert isinstance(op, ops.Contract)
        x, word = rearranged
        if node.ndim != 2 or x.ndim != 1:
            return None
        axis, shape = op.out.index(word[0]), shape_text(node.shape)
        elementwise = elementwise or (axis == 0 and node.shape[1] == 1)
        return Form(
            (Need(x),),
            lambda pieces: self.notation.repeated(pieces[0], axis, shape, elementwise),
        )

    # Elementwise

    def _elementwise(self, node: Expr, index: tuple[Index, ...] | None) -> Form:
        needs = tuple([Need(x, index, True) for x in node.args[: self.width]])
        cut = len(needs) < len(node.args)

        def build(pieces: list[Piece]) -> Piece:
            ndim = 0 if index is not None else node.ndim
            return self._apply_op(node, pieces, cut, ndim).of(ndim)

        return Form(needs, build)

    def _taylor_polynomial(self, node: Expr) -> Form | None:
        """A Taylor polynomial in the order of its powers; None for another node."""
        op = node.op
        if not (self.in_books_order and isinstance(op, ops.Sum)) or self.width is not None:
            return None
        terms = taylor_terms(terms_of(node))
        if terms is None:
            return None
        operands = [x for _, x in terms if x is not None]

        def build(pieces: list[Piece]) -> Piece:
            given = iter(pieces)
            return self.notation.sum(
                [(c, None if x is None else next(given)) for c, x in terms], in_order=True
            )

        return Form(tuple(map(Need, operands)), build)

    def _apply_op(self, node: Expr, operands: list[Piece], cut: bool, ndim: int) -> Piece:
        op, notation = node.op, self.notation
        match op:
            case ops.Sum():
                terms: list[tuple[Number, Piece | None]] = list(
                    zip(op.coefs, operands, strict=False)
                )
                if not node.args:
                    return notation.number(op.const)
                terms = self._sort_commuting(node.args, terms, constants_last=True)
                if not cut and not ndim:
                    terms = [term for term in terms if term[1] and not term[1].is_zero]
                if op.const != 0:
                    terms.append((op.const, None))
                return notation.sum(terms, cut, ndim) if terms else notation.number(0)
            case ops.Product() if not ndim and _vanishes(zip(operands, op.exponents, strict=False)):
                return notation.number(0)
            case ops.Strong() if not ndim and _vanishes((x, 1) for x in operands):
                return notation.number(0)
            case ops.Product():
                return self._product(node, op, operands)
            case ops.Strong():
                return notation.quotient(1, operands, ())
            case ops.Barrier():
                if op in (ops.REAL, ops.NO_GRAPH):
                    return operands[0]
                return notation.call("detach", operands)
            case ops.Pointwise() if is_reciprocal(node):
                expm1 = notation.function(PRIMITIVES["expm1"], operands[1:])
                return notation.quotient(1, (), [expm1])
            case ops.Pointwise(primitive=True, name="power"):
                return notation.general_power(*operands)
            case ops.Pointwise(name="norm_sqrt"):
                return notation.norm(*operands)
            case ops.Pointwise(primitive=True, name="where") if not ndim:
                return self._known_alternative(*operands) or notation.function(op, operands)
            case ops.Pointwise(primitive=True, name="logical_not"):
                return notation.negation(*operands)
            case ops.Pointwise(primitive=True, name=name) if name in _INFIX:
                sign, level = _INFIX[name], _LEVELS.get(_INFIX[name], COMPARE)
                if sign in _MIRRORED and number_of(node.args[0]) is not None:  # 0 < x is x > 0
                    sign, operands = _MIRRORED[sign], operands[::-1]
                return notation.infix(sign, level, *operands)
        assert isinstance(op, ops.Pointwise)
        return notation.function(op, operands)

    def _known_alternative(self, condition: Piece, a: Piece, b: Piece) -> Piece | None:
        """The alternative that applies to an element at a known index, or None."""
        for number, piece in ((1, a), (0, b)):
            sides = self.notation.number(number), self.notation.number(0)
            if condition.text == self.notation.infix("!=", COMPARE, *sides).text:
                return piece
        return None

    def _sort_commuting(
        self, operands: Sequence[Expr], parts: list[Part], constants_last: bool = False
    ) -> list[Part]:
        """Sort the parts of commuting operands for reading; keep the order if some are cut."""
        if self.order is None:
            return parts
        if constants_last and self.in_books_order and self._is_scalar(operands):
            keys = [self._book.term_key(x) for x in operands]
            return [parts[k] for k in sorted(range(len(parts)), key=keys.__getitem__)]
        return [parts[k] for k in self.order.of(operands, constants_last)]

    def _is_scalar(self, operands: Sequence[Expr]) -> bool:
        """Whether operands are scalars of scalars, elements of symbols among them."""
        for x in operands:
            if x not in self._scalars:
                for node in topological([x]):
                    inside = all(self._scalars[y] for y in node.args)
                    element = element_of(node)
                    alone = element is not None and isinstance(element[0].op, ops.Symbol)
                    self._scalars[node] = not node.shape and (inside or alone)
        return all(self._scalars[x] for x in operands)

    def _product(self, node: Expr, op: ops.Product, operands: list[Piece]) -> Piece:
        parts = list(zip(operands, node.args, op.exponents, strict=False))
        ordered = self._sort_commuting(node.args, parts)
        above, below = self._sides(sorted(ordered, key=lambda x: isinstance(x[1].op, ops.Sum)))
        if all(piece.level != PRODUCT for piece in above):
            above.sort(key=lambda piece: not piece.leaf)  # y*sin(x)
        swapped = len(above) == 2 and above[0].level != PRODUCT == above[1].level
        if swapped and not above[1].divisors:  # x*(y*z) needs no brackets as y*z*x
            above.reverse()
        return self.notation.quotient(1, above, below)

    def _sides(
        self, parts: Iterable[tuple[Piece, Expr, Exponent]]
    ) -> tuple[list[Piece], list[Piece]]:
        """The factors above and below the bar, from texts of bases, the bases and exponents."""
        above: list[Piece] = []
        below: list[Piece] = []
        for piece, base, p in parts:
            if p > 0 and is_reciprocal(base):
                below.append(self.notation.power(piece.divisors[0], p))
            elif p > 0:
                above.append(self.notation.power(piece, p))
            else:
                below.append(self.notation.power(piece, -p))
        return above, below

    def _weighted(self, node: Expr) -> Form:
        """A matrix whose rows and columns are multiplied by vectors: ``diag(u) @ A``."""
        numbers: list[tuple[Expr, int | Fraction]] = []
        rows, matrices, columns = numbers[:], numbers[:], numbers[:]
        diagonal = False
        for base, p in factors(node):
            op, rearranged = repeated(base), rearrangement(base)
            identity = isinstance(base.op, ops.Contract) and base.op.out == (0, 0)
            if identity and not base.args and p > 0:
                diagonal = True
            elif ops.is_spread(base.op):
                numbers.append((base.args[0], p))
            elif op is not None and rearranged is not None and rearranged[0].ndim == 1:
                (rows if op.out[0] == rearranged[1][0] else columns).append((rearranged[0], p))
            else:
                matrices.append((base, p))
        sides = numbers, rows, matrices, columns
        notation = self.notation

        def build(pieces: list[Piece]) -> Piece:
            above: list[Piece] = []
            below: list[Piece] = []
            for x, (_, p) in zip(pieces, numbers, strict=False):
                (above if p > 0 else below).append(notation.power(x, p if p > 0 else -p))
            operands = iter(pieces[len(numbers) :])
            left, middle, right = [
                [notation.powers(next(operands), p) for _, p in side] for side in sides[1:]
            ]
            if diagonal:
                weights = [*left, *(notation.diagonal(x, 1) for x in middle), *right]
                body = notation.diagonal(notation.weights(weights), 2)
            else:
                body = notation.weighted(left, middle, right)
            return notation.quotient(1, [*above, body], below).of(2)

        return Form(tuple([Need(base) for side in sides for base, _ in side]), build)

    # Contractions

    def _contract(self, node: Expr, op: ops.Contract) -> Form | None:
        notation = self.notation
        if ops.is_spread(node.op):
            return self._spread(node, elementwise=False)
        if op.letters == ((),) and op.out == (0, 0):
            eye = notation.identity(str(node.shape[0]))
            scaled = lambda pieces: notation.quotient(1, [pieces[0], eye], ()).of(2)  # noqa: E731
            return Form((Need(node.args[0]),), scaled)
        solved = _solved_system(node)
        if solved is not None:
            needs = tuple(map(Need, solved))
            return Form(needs, lambda pieces: notation.call("solve", pieces).of(1), call=True)
        selection = element_of(node)
        if selection is not None:
            x, steps = selection
            column = steps == [":", 0] and isinstance(x.op, opaque_ops.Take)
            if column and ops.is_spread(x.args[1].op):
                row = Need(x.args[0]), Need(x.args[1].args[0])
                return Form(row, lambda pieces: notation.row(*pieces), call=True)
            if not node.shape:
                index = tuple(map(from_front, steps, x.shape))
                return Form((Need(x, index),), lambda pieces: pieces[0])
            if isinstance(x.op, ops.Symbol) and x.op.dummy:  # a sequence: b[n] is its last element
                steps = [_index_from_front(k, dim) for k, dim in zip(steps, x.shape, strict=True)]
            return Form((Need(x),), lambda pieces: notation.sliced(pieces[0], steps, node.ndim))
        if not op.letters:
            length = node.shape[0]
            is_identity = op.out == (0, 0)
            return Form((), lambda _: notation.identity(str(length))) if is_identity else None
        moved = rearrangement(node)
        if moved is not None:
            return self._rearranged(node, op, *moved)
        operands, words = _drop_summed_ones(node)
        both = self._sort_commuting(operands, list(zip(operands, words, strict=True)))
        both.sort(key=lambda pair: bool(pair[0].args))  # o @ tanh(v)
        operands, words = [x for x, _ in both], tuple([word for _, word in both])
        product = chain(words, op.out)
        if product is None or not notation.is_product(product, operands, node.ndim):
            return None
        return self._matrix_product_form(operands, product)

    def _is_product(self, node: Expr, op: ops.Contract) -> bool:
        """Whether an array is a matrix product, so that its elements are taken from the product."""
        return len(op.letters) > 1 and op.sums and bool(node.shape) and self.is_plain(node)

    def _product_by_index(self, op: ops.Opaque, node: Expr, fresh: int) -> Form | None:
        """A product of elements, in notations that write it by index."""
        (x,) = node.args[:1]
        if not isinstance(op, opaque_ops.Prod) or x.ndim != 1 or not self.notation.by_index:
            return None
        k = self.index(fresh)
        return Form(
            (Need(x, (k,)),),
            lambda pieces: self.notation.product_over(self.notation.index(k), pieces[0]),
            1,
        )

    def _rearranged(self, node: Expr, op: ops.Contract, x: Expr, word: Word) -> Form | None:
        need, notation = (Need(x),), self.notation
        if (word, op.out) == ((0, 1), (1, 0)):
            return Form(need, lambda pieces: notation.transposed(pieces[0]))
        if (word, op.out) in (((0,), (0, 0)), ((0, 0), (0,))):
            return Form(need, lambda pieces: notation.diagonal(pieces[0], node.ndim))
        return self._repeated(node, elementwise=False) if repeated(node) is not None else None

    def _matrix_product_form(self, operands: Sequence[Expr], made: Chain) -> Form:
        notation = self.notation
        same = len({*operands}) == 1

        def build(pieces: list[Piece]) -> Piece:
            inner = []
            for factor in made.factors:
                piece = notation.weights([pieces[k] for k in factor.operands])
                if factor.diagonal:
                    piece = notation.diagonal(piece, 2)
                inner.append(notation.transposed(piece) if factor.transposed else piece)
            left, right = [
                None if side is None else [pieces[k] for k in side]
                for side in (made.left, made.right)
            ]
            if made.trace:
                return notation.traced(inner, same=same and len(inner) == 2)
            return notation.chained(left, inner, right, same=same and not inner)

        return Form(tuple(map(Need, operands)), build)

    def _summed(self, node: Expr, op: ops.Contract, index: tuple[Index, ...], fresh: int) -> Form:
        """A contraction in index notation."""
        names: dict[int, Index] = {}
        equalities = []
        for inner, outer in zip(op.out, index, strict=True):
            if inner in names:
                equalities.append(Condition(names[inner], "==", outer))
            else:
                names[inner] = outer
        summed: list[tuple[Index, Dim]] = []
        operands = self._sort_commuting(node.args, list(zip(op.letters, node.args, strict=True)))
        for word, arg in operands:
            for letter, dim in zip(word, arg.shape, strict=True):
                if letter in names:
                    continue
                if dim == 1:
                    names[letter] = Index((), 0)
                    continue
                names[letter] = self.index(fresh + len(summed))
                summed.append((names[letter], dim))
        conditions = needed(equalities)
        if conditions is None:
            return zero(self.notation)
        needs = [Need(x, tuple(names[letter] for letter in word), True) for word, x in operands]
        needs = needs[: self.width]

        def build(pieces: list[Piece]) -> Piece:
            notation = self.notation
            if any(piece.is_zero for piece in pieces):
                return notation.number(0)
            equal: dict[str, tuple[Piece, int]] = {}
            for piece in pieces:
                equal[piece.text] = piece, equal.get(piece.text, (piece, 0))[1] + 1
            product = [notation.power(piece, times) for piece, times in equal.values()]
            product += map(notation.condition, conditions)
            product = [p for p in product if p.text != "1"] or product[:1]
            if len(pieces) < len(op.letters):
                product.append(Piece(notation.name("...")))
            body = product[0] if len(product) == 1 else notation.quotient(1, product, ())
            below = [over(k, dim, needs, notation) for k, dim in summed]
            return notation.sum_over(below, body) if summed else body

        return Form(tuple(needs), build, len(summed))

    # Linear maps and opaque ops

    def _linear(self, node: Expr) -> Form | None:
        op, notation = node.op, self.notation
        args = node.args[: self.width]
        needs = tuple(map(Need, args))
        match op:
            case ops.Cast():
                name = f'"{op.to}"'
                return Form(needs, lambda pieces: notation.call("astype", pieces, name))
            case ops.Slice():
                steps = [":"] * (node.ndim - len(op.steps)) + ops.steps_text(op.steps)
                return Form(needs, lambda pieces: notation.sliced(pieces[0], steps, node.ndim))
            case ops.Concat() if node.ndim == 1 and is_stack(node):
                inner = tuple([Need(x, (Index(()),)) for x in args])
                cut = len(args) < len(node.args)
                return Form(inner, lambda pieces: notation.stack(pieces, 1, cut))
            case ops.Concat() if is_stack(node) and (parts := components(node)) is not None:
                inner = tuple(map(Need, parts.ravel().tolist()))
                return Form(inner, lambda pieces: notation.nested(pieces, parts.shape))
            case ops.Concat() if op.axis == -node.ndim and is_stack(node):
                rows = tuple([Need(getitem(x, 0)) for x in args])
                cut = len(args) < len(node.args)
                return Form(rows, lambda pieces: notation.stack(pieces, node.ndim, cut), call=True)
            case ops.Concat():
                axis = node.ndim + op.axis
                return Form(
                    needs, lambda pieces: notation.joined(pieces, axis, node.ndim), call=True
                )
            case ops.Cumsum() if op.reverse:
                _, axis_named = op.called(node.shape)
                back = self._sum_from_end
                return Form(needs, lambda pieces: back(pieces[0], axis_named), call=True)
            case ops.Reshape() | ops.Flip() | ops.Cumsum() | ops.Triangle():
                return self._call_form(node)
            case ops.Gather() if len(op.before) == 1 and op.index.ndim == 1:
                if op.index.size <= ops.LISTED:
                    places = [":"] * (node.ndim - 1) + [str(op.index.tolist())]
                    return Form(needs, lambda pieces: notation.sliced(pieces[0], places, node.ndim))
        return None

    def _sum_from_end(self, x: Piece, axis: list[str]) -> Piece:
        """Running sums from the end."""
        for name in ("flip", "cumsum", "flip"):
            x = self.notation.call(name, [x], *axis).of(x.ndim)
        return x

    def _opaque(self, node: Expr) -> Form | None:
        if isinstance(node.op, WITHOUT_NAMES):
            return None
        notation, ndim = self.notation, node.ndim
        if isinstance(node.op, opaque_ops.Take):
            x, places = node.args
            axis = ops.axis_text(ndim, ndim - 1)
            if isinstance(places.op, opaque_ops.ArgSort) and places.args[0] is x:
                sort = lambda pieces: notation.call("sort", pieces, *axis).of(ndim)  # noqa: E731
                return Form((Need(x),), sort)
            if places.ndim == 1:
                return self._take_form(node, x, places)
            if places.ndim == ndim:
                needs = tuple(map(Need, node.args))
                along = lambda p: notation.call("take_along_axis", p, *axis).of(ndim)  # noqa: E731
                return Form(needs, along, call=True)
            return None
        if isinstance(node.op, ops.Unknown):
            return self._unknown(node, node.op)
        if isinstance(node.op, Integral):
            (body,), x = written_out(node)
            needs = tuple(map(Need, (body, x, *node.args[:2])))
            return Form(needs, lambda p: notation.integral(*p).of(ndim), call=True)
        return self._call_form(node)

    def _unknown(self, node: Expr, op: ops.Unknown) -> Form:
        """A derivative of an unknown function; by symbols if each is an argument by itself."""
        notation, args = self.notation, node.args[: self.width]
        by = [x for x, order in zip(node.args, op.orders, strict=True) if order]
        separate = len(args) > 1 and all(isinstance(x.op, ops.Symbol) for x in by)
        if separate:
            once = all(sum(y is x for y in node.args) == 1 for x in by)
            separate = once and not {*by} & {*topological([x for x in args if x.args])}
        cut = [Piece(notation.name("..."))] * (len(args) < len(node.args))
        needs = tuple(map(Need, args))
        return Form(needs, lambda p: notation.unknown(op, [*p, *cut], separate), call=True)

    def _take_form(self, node: Expr, x: Expr, places: Expr) -> Form:
        """The elements at indices of the last axis."""
        notation, ndim = self.notation, node.ndim
        if isinstance(places.op, ops.Places) and places.op.value.size <= ops.LISTED:
            listed = notation.table(str(places.op.value.tolist()))
            return Form((Need(x),), lambda p: notation.taken(p[0], listed, ndim))
        if isinstance(places.op, opaque_ops.PlacesOf):
            places = _condition(places.args[0])
        return Form((Need(x), Need(places)), lambda p: notation.taken(p[0], p[1], ndim), call=True)

    def _call_form(self, node: Expr) -> Form:
        args = node.args[: self.width]
        if isinstance(node.op, opaque_ops.PlacesOf):
            args = (_condition(args[0]),)
        name, parameters = node.op.called(node.shape)
        op = node.op
        if isinstance(op, ops.Opaque) and op.signature is not None and args:
            (x, *_), core = args, op.signature.core(0)
            if len(core) == 1 and len(node.args) == 1:
                turned = rearrangement(x) if x.ndim == 2 and not node.ndim > 1 else None
                if turned is not None and x.op.out == turned[1][::-1]:  # type: ignore[attr-defined]
                    args, parameters = (turned[0],), [*parameters, "axis=0"]
                else:
                    parameters = [*parameters, *ops.axis_text(x.ndim, x.ndim - 1)]

        def build(pieces: list[Piece]) -> Piece:
            if len(pieces) < len(node.args):
                pieces = [*pieces, Piece(self.notation.name("..."))]
            return self.notation.call(name, pieces, *parameters).of(node.ndim)

        return Form(tuple(map(Need, args)), build, call=True)

    def _element(self, node: Expr, index: tuple[Index, ...], fresh: int) -> Form:
        """The form of the element at an index."""
        op, notation = node.op, self.notation
        if ops.is_spread(node.op):
            return Form((Need(node.args[0]),), lambda pieces: pieces[0])
        if isinstance(op, ops.Contract) and not self._is_product(node, op):
            return self._summed(node, op, index, fresh)
        if node.args and isinstance(op, ops.Sum | ops.Product | ops.Pointwise | ops.Strong):
            return self._elementwise(node, index)
        if isinstance(op, ops.Barrier):
            return self._elementwise(node, index)
        text = element(node, index, lambda k: self.index(fresh + k), notation)
        if text is not None:
            return text
        system = _system(node)
        if system is not None and all(map(self.is_plain, system)):
            places = indices(index, node.shape[:-1], notation)
            solve = lambda p: notation.element(notation.call("solve", p).of(1), places)  # noqa: E731
            return Form(tuple(map(Need, system)), solve)
        if isinstance(op, ops.Symbol) and op.dummy:  # a sequence: b[n] is its last element
            front = [notation.index(i) for i in index]
            return Form((Need(node),), lambda pieces: notation.element(pieces[0], front))
        return Form(
            (Need(node),),
            lambda pieces: notation.element(pieces[0], indices(index, node.shape, notation)),
        )


def _condition(x: Expr) -> Expr:
    """The condition behind the numbers 1 and 0; other numbers stay."""
    if x.op is PRIMITIVES["where"] and [number_of(a) for a in x.args[1:]] == [1, 0]:
        return x.args[0]
    return x
