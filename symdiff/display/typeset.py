"""Expressions as LaTeX, in the notation of matrices, else of indices."""

from __future__ import annotations

from typing import TYPE_CHECKING

from symdiff.display.latex_notation import ALIGN, BREAK, Latex
from symdiff.display.printing import lines
from symdiff.leaves import as_expr

if TYPE_CHECKING:
    from collections.abc import Sequence

    from symdiff.expr import Expr

__all__ = ["latex", "markup"]


def latex(expr: Expr, full: bool = False) -> str:
    r"""``expr`` as LaTeX without dollar signs: ``2 X^\top \left(X w - y\right)``.

    Products of matrices and vectors, which are columns, stand side by side, elementwise ones with
    ``\odot`` and ``\oslash``; ``\mathbf{1}`` is a vector of ones.  What is no formula of matrices
    is written by elements, ``\left[\sum_{k} A_{i,k,j} x_k\right]_{i,j}``, arrays of at most 16
    elements as these.  Parts that are used again have names and lines of their own where the
    formula would not fit without, and of a large expression the part next to the result is shown,
    as in ``text``.  The commands are those of amsmath.

    Args:
        expr: an expression.
        full: whether to show everything, however large.

    >>> import symdiff as sd
    >>> x, y = sd.symbols("x y")
    >>> print(latex(x**2 / (2 * sd.sin(y) ** 2)))
    \frac{x^{2}}{2 \sin^{2}{\left(y \right)}}
    """
    return _joined(lines(as_expr(expr), Latex(full), full))


def markup(expr: Expr) -> str:
    r"""``latex(expr)`` between dollar signs, as notebooks display it.

    >>> import symdiff as sd
    >>> markup(sd.symbol("alpha"))
    '$\\displaystyle \\alpha$'
    """
    return rf"$\displaystyle {latex(expr)}$"


def _joined(lines: Sequence[str]) -> str:
    if len(lines) == 1 and BREAK not in lines[0]:
        return lines[0].replace(ALIGN, "")
    lines = [line.replace(BREAK, " \\\\\n&\\quad ") for line in lines]
    rows = [line.replace(ALIGN, "&") if ALIGN in line else f"& {line}" for line in lines]
    return "\\begin{aligned}\n" + " \\\\\n".join(rows) + "\n\\end{aligned}"
