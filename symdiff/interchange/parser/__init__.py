"""Parse text to expressions: Python's grammar with a whitelist, and without evaluation.

Parsing has three steps.  ``scan`` splits the text into words and refuses all that no formula has,
with a remedy if there is one.  It also cuts long chains of ``+`` and ``*`` into parts, because
Python's parser nests them and gives up on some thousands.  ``ast.parse`` reads each part.
``Reader`` converts its tree to nodes, without recursion: operators and scalar functions by the
tables of ``language``, functions of arrays by their own declarations (``arguments``).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from symdiff.contexts import allowance, contained
from symdiff.graph.arguments import expressions, unfit
from symdiff.graph.expr import free_symbols
from symdiff.graph.leaves import as_expr, named_size
from symdiff.graph.lengths import Length
from symdiff.interchange.parser.language import CONSTANTS
from symdiff.interchange.parser.language import FUNCTIONS as FUNCTIONS
from symdiff.interchange.parser.reader import Reader
from symdiff.interchange.parser.scanner import (
    EXACT,
    Line,
    fail,
    lines,
    normal,
    refuse_equations,
    scan,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from symdiff.graph.expr import Expr
    from symdiff.interchange.parser.reader import Terms

_MOST_CHARACTERS = 1_000_000
_MOST_LISTED = 10_000_000
_NUMBERS = CONSTANTS | {EXACT + name: CONSTANTS[name] for name in ("pi", "e")}


@contained
def parse(text: str, symbols: Mapping[str, Expr] | Iterable[Expr] = ()) -> Expr:
    """Parse ``text`` to an expression, as Python's operators build it; nothing is evaluated.

    Names are scalar symbols, equal to ``symbol(name)``, except the numbers ``pi``, ``e``, ``inf``
    and ``nan``.  Euler's number is the small ``e``, and ``E`` is a symbol; SymPy does the reverse.
    A name before a bracket is a function: ``gamma`` is a symbol, ``gamma(x)`` the function.
    Functions have their array-API, NumPy and mathematical names (``acos``, ``arccos``, ``ln``).
    Integers are exact, so ``x/3`` is a third of x; a decimal number is the float that it denotes.
    Operators are ``+ - * / // % **``, comparisons (also in chains), ``and``, ``or`` and ``not``.

    Arrays are the ``symbols`` argument, and have NumPy's notation: ``q[0]``, ``A[:, 1]``,
    ``z[[0, 2]]``, ``v[:, None]``, ``A @ b``, ``A.T`` and ``.mT``; ``[a, b]`` is a stack, also of
    numbers.  Every function of this package that makes expressions may be called as declared:
    ``sum(A, axis=0)``, and ``eigh(A)[0]`` for one of several results.  ``max(a, b)`` of scalars is
    ``maximum``.  The name of a symbolic axis is its length.  ``sd.pi`` and ``sd.e`` are the numbers
    if symbols have these names.  Earlier lines may define names for parts of the formula, such as
    ``t1 = x*y``; these names must have no other meaning.  Index notation and texts of loops are
    refused.  In index notation ``[n > 1]`` is 1 or 0, so write an array of one comparison as
    ``stack([n > 1])``.

    Args:
        text: one formula of at most a million characters, in which no number has more than 1000
        digits. symbols: other meanings of names: expressions by name, or symbols (``[symbol("e")]``
        makes e one).

    Raises ParseError for anything else, with the position marked in its message and in
    ``.position``.  For shapes that do not fit it is a ShapeError as well.  Shapes have no limit,
    because a shape is only a node.  Lists of elements (indices of gathered elements, splits,
    powers) are limited to ten million.  Raises ShapeError if a symbol of the result has the name of
    a length of another symbol.

    >>> import symdiff as sd
    >>> x, theta = sd.symbols("x theta")
    >>> parse("x*sin(theta/2)**2 + ln(x)") is x * sd.sin(theta / 2) ** 2 + sd.log(x)
    True
    >>> A, q = sd.symbol("A", (2, 3)), sd.symbol("q", 3)
    >>> parse("2*A.T @ (A @ q) + q[0]", [A, q]) is 2 * A.T @ (A @ q) + q[0]
    True
    """
    if not isinstance(text, str):
        raise TypeError(f"parse: a text is a str, not {type(text).__name__}")
    names = _NUMBERS
    lengths: dict[str, Expr] = {}
    if symbols.__class__ is not tuple or symbols:
        values, lengths = _name_meanings(symbols)
        names = _NUMBERS | lengths | values
    if len(text) > _MOST_CHARACTERS:
        reason = f"a text of {len(text)} characters; {_MOST_CHARACTERS} are the limit"
        fail(text, _MOST_CHARACTERS, reason)
    refuse_equations(text)
    with allowance(_MOST_LISTED):
        for line in lines(text):
            result = _read_formula(text, line, names)
            if not line.name:
                break
            if line.name in names:
                fail(text, line.position, f"{line.name} has a meaning already")
            names = {**names} if names is _NUMBERS else names
            names[line.name] = result
    if any(names[name] is not length for name, length in lengths.items()):
        free_symbols(result)  # raises where a symbol has the name of a length
    return result


def _read_formula(text: str, line: Line, names: Mapping[str, Expr]) -> Expr:
    earlier: list[Terms] = []
    *parts, last = scan(text, line.start, line.stop)
    for part in parts:
        earlier.append(Reader(text, part, names, earlier).terms_of_part())
    return Reader(text, last, names, earlier).whole()


def _name_meanings(
    symbols: Mapping[str, Expr] | Iterable[Expr],
) -> tuple[dict[str, Expr], dict[str, Expr]]:
    """The meanings of names: the given expressions, and the lengths of their axes."""
    if isinstance(symbols, Mapping):
        named = symbols
    else:
        named = {x.name: x for x in expressions("parse", "symbols", symbols)}
    for name in named:
        if not isinstance(name, str):
            raise unfit("parse", "symbols", "names as keys", name)
    by_name = {normal(name): as_expr(value, "parse", "symbols") for name, value in named.items()}
    dims = [dim for x in by_name.values() for dim in x.shape if isinstance(dim, Length)]
    return by_name, {name: named_size(name) for dim in dims for name in dim.names}
