"""Named axis lengths: learn them from the shapes of values, and put them into shapes.

Only this module matches a shape with the shape of a symbol, for calls and for formulas.  Only this
module substitutes the lengths that result.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from symdiff.errors import ShapeError, Unsupported
from symdiff.graph import ops
from symdiff.graph.axes import shape_text
from symdiff.graph.lengths import Length, as_length, is_natural
from symdiff.graph.node import topological

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from symdiff.graph.expr import Expr
    from symdiff.graph.node import Dim, Shape


class Sizes(dict[str, int]):
    """Numbers of lengths by name, and of formulas in these names, each computed on first use.

    >>> Sizes(n=5)["2*n - 1"]
    9
    """

    def __missing__(self, text: str) -> int:
        length = Length(text).replaced(self) if as_length(text) is not None else text
        if not isinstance(length, int):
            raise KeyError(text)
        self[text] = length
        return length


class Shaped(Protocol):
    """A symbol or an array of data: the name and shape that messages and ``bound_sizes`` use."""

    @property
    def name(self) -> str:
        """The name in messages."""

    @property
    def shape(self) -> Shape:
        """The shape, in which lengths may be names."""


# Lengths of values: ints for arrays; expressions may have named lengths, too.
Known = TypeVar("Known", bound="Dim")


def bound_sizes(
    what: str,
    symbols: Sequence[Shaped],
    shapes: Sequence[tuple[Known, ...]],
    known: Mapping[str, Known] | None = None,
) -> dict[str, Known]:
    """Match ``symbols`` with values of ``shapes``; return the length of each name and formula.

    An axis determines a name if its length is the name.  A formula that is linear in one unknown
    name determines that name, too.

    Args:
        what: the function and the kind of the symbols, for messages.
        symbols: the symbols with named lengths.
        shapes: the shapes of their values, in which lengths may be names, too.
        known: lengths by name from the caller.

    Raises ShapeError for a shape that a symbol cannot take, a length with two values, and a name
    that no axis determines.

    >>> import symdiff as sd
    >>> X, w, d = sd.symbol("X", ("n", "k")), sd.symbol("w", "k"), sd.symbol("d", "2*m - n")
    >>> bound_sizes("input", [X, w, d], [(5, 3), (3,), (1,)])
    {'n': 5, 'k': 3, 'm': 3, '2*m - n': 1}
    """
    sizes: dict[str, Any] = Sizes()
    if known:
        sizes.update(known)
    formulas: list[tuple[Shaped, Shape, Length, Dim]] = []
    for x, shape in zip(symbols, shapes, strict=True):
        if len(shape) != len(x.shape):
            raise _misfit(what, x, shape)
        for dim, length in zip(x.shape, shape, strict=True):
            if dim.__class__ is int:
                if dim != length:
                    raise _misfit(what, x, shape)
            elif not dim.is_name:  # type: ignore[union-attr]  # a length or a letter
                formulas.append((x, shape, dim, length))  # type: ignore[arg-type]
            elif sizes.setdefault(dim, length) != length:  # type: ignore[arg-type]  # a name
                raise _misfit(what, x, shape, f"; {_describe_length(dim, sizes, symbols, known)}")  # type: ignore[arg-type]
    while formulas:
        unsolved = [
            entry for entry in formulas if not _solve_length(what, symbols, known, sizes, *entry)
        ]
        if len(unsolved) == len(formulas):
            x, got, dim, _ = unsolved[0]
            raise _misfit(what, x, got, f"; {_unknown_names(dim, sizes)}")
        formulas = unsolved
    return sizes


def _solve_length(
    what: str,
    symbols: Sequence[Shaped],
    known: Mapping[str, Any] | None,
    sizes: dict[str, Any],
    x: Shaped,
    shape: Shape,
    dim: Length,
    length: Any,
) -> bool:
    """Solve a formula for its one new name; return whether ``sizes`` now has both lengths."""
    new = [name for name in dim.names if name not in sizes]
    if len(new) > 1:
        return False
    if new:
        rest = dim.replaced(sizes)
        line = rest.linear_in(new[0]) if isinstance(rest, Length) else None
        if line is None:
            return False
        there, slope = line
        try:
            value = (length - there) // slope if slope > 0 else (there - length) // -slope
        except Unsupported:
            return False
        if rest.replaced({new[0]: value}) != length or (isinstance(value, int) and value < 0):  # type: ignore[union-attr]
            raise _misfit(what, x, shape, f"; no {new[0]} >= 0 makes {dim} {length}")
        sizes[new[0]] = value
    elif (there := dim.replaced(sizes)) != length:
        stated = ", ".join(_describe_length(name, sizes, symbols, known) for name in dim.names)
        raise _misfit(what, x, shape, f"; {dim} is {there}, as {stated}")
    sizes[str(dim)] = length
    return True


def _describe_length(
    name: str,
    sizes: Mapping[str, Dim],
    symbols: Sequence[Shaped],
    known: Mapping[str, Dim] | None,
) -> str:
    """A length and its source, for messages."""
    if known and name in known:
        return f"{name} is {sizes[name]} in the lengths given"
    first = next(
        x.name
        for by_itself in (True, False)
        for x in symbols
        for dim in x.shape
        if (dim == name if by_itself else isinstance(dim, Length) and name in dim.names)
    )
    return f"{name} is {sizes[name]} in {first}"


def _unknown_names(dim: Length, sizes: Mapping[str, Dim]) -> str:
    names = [name for name in dim.names if name not in sizes]
    return (
        f"{dim} does not tell what {' and '.join(names)} {'is' if len(names) == 1 else 'are'}; "
        f"give an axis of length {names[0]}"
    )


def formulas(nodes: Collection[Expr]) -> dict[Length, str]:
    """The lengths that nodes compute and that may be negative, each with the reason it is needed.

    ``nodes`` includes all operands.
    """
    reasons: dict[Length, str] = {}
    dims = _lengths_in(nodes)
    if not dims and not any(x.op.__class__ is ops.Count for x in nodes):
        return reasons
    for x in nodes:
        for need, why in x.op.needs(*x.args):
            if isinstance(need, Length):
                reasons.setdefault(need, why)
    for dim in dims:
        if not dim.is_name:
            reasons.setdefault(dim, f"an axis of length {dim}")
    return {dim: why for dim, why in reasons.items() if not is_natural(dim)}


def names(nodes: Collection[Expr]) -> list[str]:
    """The names of lengths in shapes of nodes, in Size nodes and inside ops with bodies, each once.

    Names that nodes define are left out: their lengths follow from the computation.
    """
    sizes = [x.op.name for x in nodes if isinstance(x.op, ops.Size)]
    # A body inside a body may be the only one that needs a length: every level passes it on.
    inner = [name for x in nodes if isinstance(x.op, ops.Opaque) for name in x.op.inner_lengths]
    texts = dict.fromkeys([*sizes, *_lengths_in(nodes), *inner])
    of_results = {str(dim) for x in defining(nodes) for dim in x.shape} if texts else ()
    mentioned = dict.fromkeys([name for text in texts for name in Length(text).names])
    return [name for name in mentioned if name not in of_results]


def defining(nodes: Iterable[Expr]) -> list[Expr]:
    """The nodes that define a length when they are computed.

    >>> import symdiff as sd
    >>> v = sd.symbol("vector", 3)
    >>> [x.shape == v[v > 0].shape for x in defining(sd.nodes(v[v > 0]))]
    [True]
    """
    return [x for x in nodes if isinstance(x.op, ops.Opaque) and x.op.defines]


def definitions_first(order: Sequence[Expr]) -> list[Expr]:
    """Reorder nodes: those that define lengths come first, with their operands."""
    first = defining(order)
    if not first:
        return list(order)
    early = set(topological(first))
    return [*(x for x in order if x in early), *(x for x in order if x not in early)]


def _lengths_in(nodes: Iterable[Expr]) -> dict[Length, None]:
    shapes = dict.fromkeys([x.shape for x in nodes])
    return dict.fromkeys([dim for shape in shapes for dim in shape if isinstance(dim, Length)])


def check_lengths(what: str, wanted: Mapping[Length, str], sizes: Mapping[str, int]) -> None:
    """Raise ShapeError where a computed length is negative."""
    for dim, why in wanted.items():
        length = sizes[dim]
        if length < 0:
            stated = ", ".join(f"{name} is {sizes[name]}" for name in dim.names)
            raise ShapeError(f"{what}: {stated}: {why} is impossible, {dim} would be {length}")


def determined(shapes: Iterable[Shape]) -> set[str]:
    """The names of lengths that values of these shapes determine.

    >>> sorted(determined([(Length("n"), Length("n*m")), (Length("a*b"),), (Length("2*k + 1"),)]))
    ['k', 'm', 'n']
    """
    dims = [dim for shape in shapes for dim in shape if isinstance(dim, str)]
    solved = {dim for dim in dims if not isinstance(dim, Length) or dim.is_name}
    computed = [dim for dim in dims if isinstance(dim, Length) and not dim.is_name]
    while True:
        implied = {
            new[0]
            for dim in computed
            if len(new := [name for name in dim.names if name not in solved]) == 1
            and dim.is_linear_in(new[0])
        }
        if not implied:
            return solved
        solved |= implied


def become(x: Expr, symbols: Iterable[Expr]) -> Expr:
    """The symbol that replaces x where data fixes lengths of its axes; x itself if none does.

    >>> import symdiff as sd
    >>> w = sd.symbol("w", "k")
    >>> become(w, [sd.symbol("w", 3)]).shape, become(w, [w, sd.symbol("v", 3)]) is w
    ((3,), True)
    """
    if not any(isinstance(dim, Length) for dim in x.shape):
        return x
    candidates = [y for y in symbols if y.name == x.name and y.dtype is x.dtype]
    if len(candidates) != 1 or candidates[0] is x or candidates[0].op.dummy or x.op.dummy:  # type: ignore[attr-defined]
        return x
    try:
        bound_sizes("symbol", [x], [candidates[0].shape])
    except ShapeError:
        return x
    return candidates[0]


def _misfit(what: str, x: Shaped, shape: Shape, reason: str = "") -> ShapeError:
    text = f"{what} {x.name}: expected shape {shape_text(x.shape)}, got {shape_text(shape)}"
    if not reason and len(shape) == len(x.shape) + 1:
        reason = f"; sd.batch(f, {{{x.name}: ...}}) makes a formula for many {x.name} at once"
        if not x.shape:
            reason += ", and a lowered function of scalars takes arrays of points"
    return ShapeError(text + reason)


def bound(shape: Shape, sizes: Mapping[str, Any]) -> Shape:
    """``shape`` with the known lengths in place of their names.

    >>> bound((3, Length("n + 1"), Length("k")), {"n": 5})
    (3, 6, 'k')
    """
    return tuple(
        [
            dim
            if isinstance(dim, int)
            else dim.replaced(sizes)
            if isinstance(dim, Length)
            else sizes.get(dim, dim)
            for dim in shape
        ]
    )


def lengths(shape: Shape, sizes: Mapping[str, int]) -> tuple[int, ...]:
    """``shape`` in numbers; every name must be known.

    >>> lengths((3, Length("n")), {"n": 5})
    (3, 5)
    """
    return tuple([dim if isinstance(dim, int) else sizes[dim] for dim in shape])
