"""Short captions of nodes: ``+``, ``①² / ②``, ``A x``, ``sum over j``.

A single operand is •; operands whose order matters are ①, ② ..., with the same signs on their
edges.  Operands of contractions have axis labels instead; the axes of the value are i, j, k ...
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

from symdiff import opaque_ops
from symdiff.display.notation import PLAIN, decimal
from symdiff.display.programs import is_program
from symdiff.graph import ops
from symdiff.graph.axes import letter_name, shape_text
from symdiff.graph.formula_nodes import is_decision, over_formula
from symdiff.scalars.vocabulary import FACTS, Facts
from symdiff.transforms.scans import Looped

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from symdiff.graph.expr import Expr
    from symdiff.graph.node import Op
    from symdiff.graph.number import Number
    from symdiff.graph.ranges import Step

_WRITTEN = 6  # the most operands in a caption

_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def lines(node: Expr) -> tuple[str, ...]:
    """The caption of ``node``, and the shape of its value unless it is a scalar."""
    kind = _KINDS.get(node.dtype) if isinstance(node.op, ops.Symbol) else None
    about = " ".join(filter(None, (shape_text(node.shape) if node.shape else "", kind)))
    return (caption(node), about) if about else (caption(node),)


_KINDS = {int: "integer", bool: "true or false"}


def family(node: Expr) -> str:
    """The family of a node, which determines its derivative rule."""
    if not node.args and not isinstance(node.op, ops.Contract):
        return "leaf"
    return next(name for kind, name in _FAMILIES.items() if isinstance(node.op, kind))


_FAMILIES: dict[type | tuple[type, ...], str] = {
    (ops.Sum, ops.Product, ops.Pointwise, ops.Strong): "pointwise",
    ops.Contract: "contraction",
    ops.Linear: "linear",
    ops.Opaque: "opaque",
    ops.Barrier: "barrier",
}


def operands(node: Expr) -> Sequence[Expr]:
    """The operands in the caption's order: subtracted operands and divisors are last.

    Operands of other ops keep their order.
    """
    return (
        [node.args[k] for k in _reading_order(node.op)]
        if _has_reading_order(node.op)
        else node.args
    )


def edges(node: Expr) -> list[str]:
    """The labels of the edges from ``operands``: axis labels, or the operand's sign."""
    op = node.op
    if isinstance(op, ops.Contract):
        named = _letters(op)
        return [",".join(letter_name(named[k]) for k in word) for word in op.letters]
    if len(node.args) == 1 or caption(node) in _SYMMETRIC:
        return [""] * len(node.args)
    return [place(k) for k in range(len(node.args))]


def caption(node: Expr) -> str:
    """Describe what ``node`` does."""
    op = node.op
    if isinstance(op, ops.Sum):
        return _sum(op, len(node.args))
    if isinstance(op, ops.Product):
        return _product(op)
    if isinstance(op, ops.Contract):
        return _contraction(node, op)
    if isinstance(op, ops.Strong):
        return "×, 0 × ∞ being 0"
    if is_decision(op):
        return over_formula(node, _slots(len(node.args)), _formula_caption)
    if isinstance(op, ops.Pointwise):
        return _function(op)
    written = _WORDS.get(op.__class__)
    if written is not None:
        return written(node, op)
    if not node.args:
        return op.name
    if is_program(node):
        return _call(_program(op), len(node.args), [])
    name, parameters = op.called(node.shape)
    return _call(name, len(node.args), parameters)


def _program(op: Op) -> str:
    """What a loop or a solution is; its body would not fit, and its text has the equations."""
    if isinstance(op, Looped):
        return f"recurrence of {op.length} steps"
    names = {"mesh": "times of a solver", "sized": "loop", "steps": "number of rounds"}
    return names.get(op.name, op.name)


# Operands -----------------------------------------------------------------------------------------


def _has_reading_order(op: Op) -> bool:
    return isinstance(op, ops.Sum | ops.Product) and len(_weights(op)) > 1


def _weights(op: ops.Sum | ops.Product) -> Sequence[Number]:
    return op.coefs if isinstance(op, ops.Sum) else op.exponents


def _reading_order(op: Op) -> list[int]:
    """The indices of the operands of a sum or product, in reading order."""
    assert isinstance(op, ops.Sum | ops.Product)
    weights = _weights(op)
    return sorted(range(len(weights)), key=lambda k: weights[k] < 0)


def place(k: int) -> str:
    """The sign of operand k."""
    return chr(ord("①") + k) if k < 10 else f"({k + 1})"  # few fonts have more


def _slots(count: int) -> list[str]:
    """The signs of the operands in a caption; … stands for the others."""
    if count == 1:
        return ["•"]
    return [place(k) for k in range(min(count, _WRITTEN))]


def _call(name: str, count: int, parameters: Sequence[str] = ()) -> str:
    if count == 1 and not parameters:
        return name
    rest = ["…"] * (count > _WRITTEN)
    return f"{name}({', '.join([*_slots(count), *rest, *parameters])})"


def _number(c: Number) -> str:
    return PLAIN.number(c).text.replace("-", "−")


def _size(c: Number) -> str:
    return _number(-c if c < 0 else c)


# Elementwise --------------------------------------------------------------------------------------

_SYMMETRIC = {"+", "×", "max", "min"}


def _sum(op: ops.Sum, count: int) -> str:
    if not count:
        return _number(op.const)
    if count > 1 and op.const == 0 and all(c == 1 for c in op.coefs):
        return "+"
    coefs = [op.coefs[k] for k in _reading_order(op)]
    terms: list[tuple[Number, str]] = [
        (c, slot if abs(c) == 1 else f"{_size(c)} × {slot}")
        for c, slot in zip(coefs, _slots(count), strict=False)
    ]
    if op.const != 0:
        terms.insert(0 if coefs[0] < 0 < op.const else len(terms), (op.const, _size(op.const)))
    text = "".join(f" − {text}" if c < 0 else f" + {text}" for c, text in terms)
    text = text[3:] if text.startswith(" + ") else f"−{text[3:]}"
    return f"{text} + …" if count > _WRITTEN else text


def _product(op: ops.Product) -> str:
    if len(op.exponents) > 1 and all(p == 1 for p in op.exponents):
        return "×"
    exponents = [op.exponents[k] for k in _reading_order(op)]
    powers = list(zip(exponents, _slots(len(exponents)), strict=True))
    over = " × ".join(_power(slot, p) for p, slot in powers if p > 0)
    under = " × ".join(_power(slot, -p) for p, slot in powers if p < 0)
    if not under:
        return over
    return f"{over or 1} / {f'({under})' if ' ' in under else under}"


def _power(slot: str, p: int | Fraction) -> str:
    if p == 1:
        return slot
    if p == Fraction(1, 2):
        return f"√{slot}"
    if p.denominator == 1:
        return slot + str(p).translate(_RAISED)
    exponent = PLAIN.number(decimal(p)).text
    return f"{slot}^({exponent})" if "/" in exponent else f"{slot}^{exponent}"


def _function(op: ops.Pointwise) -> str:
    facts = FACTS.get(op.name, Facts) if op.primitive else Facts
    if facts.infix is not None:
        return f"① {facts.infix} ②"
    return facts.caption or _call(op.name, op.arity)


def _formula_caption(part: Expr, operands: Sequence[str]) -> str:
    """The caption of a part of a formula, with the texts of its operands."""
    text = caption(part)
    slots = _slots(len(operands))
    if operands and not any(slot in text for slot in slots):
        return f"{text}({', '.join(operands)})"
    written = dict(zip(slots, operands, strict=False))
    return "".join(written.get(c, c) for c in text)


# Contractions -------------------------------------------------------------------------------------

# Keys: the labels of the operands, sorted, and of the value; numbers begin with the value's labels.
_MATRIX = {
    ((), (0, 0)): "identity",
    (((1, 0),), (0, 1)): "Aᵀ",
    (((0, 0),), ()): "tr A",
    (((0, 0),), (0,)): "diagonal of A",
    (((0,),), (0, 0)): "diag(x)",
    (((0,), (0,)), ()): "xᵀ y",
    (((0, 1), (1,)), (0,)): "A x",
    (((1,), (1, 0)), (0,)): "Aᵀ x",
    (((0, 2), (2, 1)), (0, 1)): "A B",
    (((2, 0), (2, 1)), (0, 1)): "Aᵀ B",
    (((0, 2), (1, 2)), (0, 1)): "A Bᵀ",
    (((1, 2), (2, 0)), (0, 1)): "(A B)ᵀ",
    (((0,), (0, 1), (1,)), ()): "xᵀ A y",
    (((0,), (1,), (1, 0)), ()): "xᵀ A y",
    (((0, 1), (0, 1)), ()): "tr(Aᵀ B)",
    (((0, 1), (1, 0)), ()): "tr(A B)",
}


def _letters(op: ops.Contract) -> dict[int, int]:
    """Renumber the labels: first those of the value, then the summed ones."""
    named: dict[int, int] = {}
    for word in (op.out, *op.letters):
        for letter in word:
            named.setdefault(letter, len(named))
    return named


def _contraction(node: Expr, op: ops.Contract) -> str:
    named = _letters(op)
    words = tuple(sorted(tuple(named[k] for k in word) for word in op.letters))
    zeros = ", 0 × ∞ being 0" if any(op.kills) else ""
    special = _MATRIX.get((words, tuple(named[k] for k in op.out)))
    if special is not None and not op.created:
        return (special.replace("y", "x") if len(set(node.args)) == 1 else special) + zeros
    lengths = {
        k: n
        for word, x in zip(op.letters, node.args, strict=True)
        for k, n in zip(word, x.shape, strict=True)
    }
    gone = [k for k in named if k not in op.out]
    summed = [letter_name(named[k]) for k in gone if lengths[k] != 1]
    fresh = zip([k for k in named if k in op.out and k not in lengths], op.created, strict=True)
    created = [letter_name(named[k]) for k, n in fresh if n != 1]
    parts = []
    if len(op.letters) > 1 and not summed:
        parts.append("×")
    if summed:
        parts.append(f"sum over {', '.join(summed)}")
    if created and op.letters:
        parts.append(f"repeat along {', '.join(created)}")
    if len(set(op.out)) < len(op.out):
        parts.append("on the diagonal" if op.letters else "identity")
    if not parts:
        parts.append(_describe_move(node, op, len(gone)))
    return ", ".join(parts) + zeros


def _describe_move(node: Expr, op: ops.Contract, gone: int) -> str:
    """Describe a contraction that only moves elements, or writes a diagonal."""
    if any(len(set(word)) < len(word) for word in op.letters):
        return "diagonal"
    if gone and not op.created:
        return "without axes of length 1" if node.shape else "its only element"
    return "with axes of length 1" if op.created else "axes in another order"


# Everything else ----------------------------------------------------------------------------------


def _axis(node: Expr, axis: int) -> str:
    return f"axis {axis + node.ndim}"


def _cut(steps: Sequence[Step]) -> str:
    return f"[{', '.join(ops.steps_text(steps))}]"


def _index(op: ops.Gather | ops.Scatter) -> str:
    if op.index.size <= ops.LISTED and len(op.before) == 1:
        return str(op.index.tolist())
    return "the index"


def _data(node: Expr, op: ops.Constant) -> str:
    return str(op.value.tolist()) if op.value.size <= ops.LISTED else "data"


def _matrix_function(name: str, count: int) -> str:
    if count == 1:
        return name
    return f"derivative of {name}(①) along {', '.join(_slots(count)[1:])}"


_EXACT = {"pi": "π"}
_BARRIERS = {"detach": "derivative 0", "real": "as real numbers"}

# One line for each op that its name and parameters do not describe.
_WORDS: dict[type, Callable[[Expr, Any], str]] = {
    ops.Constant: _data,
    ops.Places: _data,
    ops.Exact: lambda node, op: _EXACT.get(op.name, op.name),
    ops.Size: lambda node, op: f"length {op.name}",
    ops.Barrier: lambda node, op: _BARRIERS.get(op.name, op.name),
    ops.Slice: lambda node, op: f"•{_cut(op.steps)}",
    ops.Unslice: lambda node, op: f"zeros, but • at {_cut(op.steps)}",
    ops.Gather: lambda node, op: f"elements at {_index(op)}",
    ops.Scatter: lambda node, op: f"zeros, • added at {_index(op)}",
    ops.Reshape: lambda node, op: "reshape",
    ops.Concat: lambda node, op: f"join along {_axis(node, op.axis)}",
    ops.Flip: lambda node, op: f"reverse {', '.join(_axis(node, k) for k in op.axes)}",
    ops.Cumsum: lambda node, op: (
        f"running sum{' from the end' * op.reverse}, {_axis(node, op.axis)}"
    ),
    ops.Triangle: lambda node, op: (
        f"{'lower' if op.lower else 'upper'} triangle{f' from {op.diagonal}' * (op.diagonal != 0)}"
    ),
    ops.Shift: lambda node, op: f"shift by {op.offset}, zeros behind",
    ops.Windows: lambda node, op: f"windows of {op.length}",
    ops.Overlaps: lambda node, op: f"sum of windows of {op.length}",
    ops.Fourier: lambda node, op: f"Σ • {op.part}(2πjk/n)",
    ops.Cast: lambda node, op: f"as {op.to}",
    ops.ToInteger: lambda node, op: f"as {op.to}",
    ops.ToReal: lambda node, op: f"as {op.to}",
    opaque_ops.Solve: lambda node, op: "①⁻¹ ②",
    opaque_ops.SolveBanded: lambda node, op: "①⁻¹ ②, ① given by its diagonals",
    opaque_ops.Sylvester: lambda node, op: "X with ① X + X ② = ③",
    opaque_ops.Inv: lambda node, op: "A⁻¹",
    opaque_ops.Pinv: lambda node, op: "A⁺, the pseudoinverse",
    opaque_ops.Det: lambda node, op: "det",
    opaque_ops.DetSign: lambda node, op: "sign of det",
    opaque_ops.LogAbsDet: lambda node, op: "log |det|",
    opaque_ops.Cofactor: lambda node, op: "matrix of cofactors",
    opaque_ops.CofactorTangent: lambda node, op: "cofactors of ①, derivative along ②",
    opaque_ops.Cholesky: lambda node, op: "Cholesky factor L, L Lᵀ = A",
    opaque_ops.Eigvalsh: lambda node, op: "eigenvalues",
    opaque_ops.Eigvecs: lambda node, op: "eigenvectors",
    opaque_ops.Gaps: lambda node, op: f"1 / (xⱼ {'−' if op.sign < 0 else '+'} xᵢ)",
    opaque_ops.SingularValues: lambda node, op: "singular values",
    opaque_ops.LeftVectors: lambda node, op: "left singular vectors",
    opaque_ops.RightVectors: lambda node, op: "right singular vectors",
    opaque_ops.Qr: lambda node, op: "Q of A = Q R",
    opaque_ops.QrTriangle: lambda node, op: "R of A = Q R",
    opaque_ops.Expm: lambda node, op: _matrix_function(op.name, len(node.args)),
    opaque_ops.Logm: lambda node, op: _matrix_function(op.name, len(node.args)),
    opaque_ops.Prod: lambda node, op: "product of elements",
    opaque_ops.ProdOthers: lambda node, op: "product of all other elements",
    opaque_ops.LogSumExp: lambda node, op: "log Σ exp",
    opaque_ops.Take: lambda node, op: "elements of ① at ②",
    opaque_ops.Put: lambda node, op: "zeros, ① added at ②",
    opaque_ops.ArgSort: lambda node, op: "places in ascending order",
    opaque_ops.Cumprod: lambda node, op: "running product",
    opaque_ops.LogCumSumExp: lambda node, op: "running log Σ exp",
    opaque_ops.Recurrence: lambda node, op: (
        "yᵢ = ①ᵢ yᵢ₊₁ + ②ᵢ" if op.reverse else "yᵢ = ①ᵢ yᵢ₋₁ + ②ᵢ"
    ),
}
