"""Text to expressions: Python's grammar, a whitelist over its syntax tree, and nothing evaluated.

A text goes through three steps.  ``scan`` splits it into words and refuses what no formula has,
with a remedy where there is one; it also cuts long chains of ``+`` and ``*`` into parts, since
Python's parser nests them and gives up on some thousands.  ``ast.parse`` reads each part.
``Reader`` makes nodes of its tree, without recursion, from a table of the operators and functions
that a formula may use.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from symdiff.leaves import as_expr
from symdiff.parser.language import CONSTANTS
from symdiff.parser.language import FUNCTIONS as FUNCTIONS
from symdiff.parser.reader import Reader
from symdiff.parser.scanner import fail, normal, scan

if TYPE_CHECKING:
    from collections.abc import Iterable

    from symdiff.expr import Expr
    from symdiff.parser.reader import Terms

_MOST_CHARACTERS = 1_000_000


def parse(text: str, symbols: Mapping[str, Expr] | Iterable[Expr] = ()) -> Expr:
    """The expression that ``text`` writes, as Python's operators build it; nothing is evaluated.

    Names are scalar symbols, equal to ``symbol(name)``, except the numbers ``pi``, ``e``, ``inf``
    and ``nan``; Euler's number is the small ``e``, and ``E`` is a symbol, where SymPy has it the
    other way round.  A name in front of a bracket is a function: ``gamma`` is a symbol,
    ``gamma(x)`` the function.  Functions go by their array-API, NumPy and mathematical names
    (``acos``, ``arccos``, ``ln``).  Integers are exact, so that ``x/3`` is a third of x; a decimal
    number is the float that it denotes.  Operators are ``+ - * / // % **``, comparisons (also in
    chains), ``and``, ``or`` and ``not``.

    Args:
        text: one formula of at most a million characters, in which no number has more than 1000
        digits. symbols: other meanings of names: expressions by name, or symbols (``[symbol("e")]``
        makes e one).

    Raises ParseError for anything else, with the position marked in its message and given by
    ``.position``; ShapeError if array-valued ``symbols`` do not broadcast.

    >>> import symdiff as sd
    >>> x, theta = sd.symbols("x theta")
    >>> parse("x*sin(theta/2)**2 + ln(x)") is x * sd.sin(theta / 2) ** 2 + sd.log(x)
    True
    """
    if not isinstance(text, str):
        raise TypeError(f"parse: a text is a str, not {type(text).__name__}")
    named = symbols.items() if isinstance(symbols, Mapping) else ((x.name, x) for x in symbols)
    names = CONSTANTS | {normal(name): as_expr(value) for name, value in named}
    if len(text) > _MOST_CHARACTERS:
        reason = f"a text of {len(text)} characters; {_MOST_CHARACTERS} are the limit"
        fail(text, _MOST_CHARACTERS, reason)
    earlier: list[Terms] = []
    *parts, last = scan(text)
    for part in parts:
        earlier.append(Reader(text, part, names, earlier).terms_of_part())
    return Reader(text, last, names, earlier).whole()
