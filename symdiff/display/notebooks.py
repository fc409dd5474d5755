r"""Notebooks: tuples, lists and dicts of expressions, as LaTeX.

Python's containers have no ``_repr_latex_``, but IPython takes a function for a type.  It is given
one where it runs already when ``symdiff`` is imported; ``symdiff`` itself never imports it.
Containers that hold anything else than expressions are shown as they would be without.
"""

from __future__ import annotations

import sys
from typing import Any

from symdiff.display.typeset import holds_expressions, typeset


def bundle(value: object) -> dict[str, str] | None:
    r"""What a notebook shows of a container: LaTeX, if it holds expressions and nothing else.

    Keys of dicts may also be strings and integers.  Of long containers the first entries are shown
    and the others counted.

    >>> import symdiff as sd
    >>> x = sd.symbol("x")
    >>> bundle((x, x**2))
    {'text/latex': '$\\displaystyle \\left(x, \\; x^{2}\\right)$'}
    >>> bundle([x, 1]) is None
    True
    """
    if not holds_expressions(value):
        return None
    return {"text/latex": rf"$\displaystyle {typeset(value)}$"}


# IPython ------------------------------------------------------------------------------------------


class _Shown:
    """What IPython asks for the representations of a container, in place of what was there."""

    def __init__(self, formatter: Any, before: Any) -> None:
        self.formatter, self.before = formatter, before

    def __call__(self, value: Any) -> Any:
        if self.formatter.formatters["text/latex"].enabled:  # not in a terminal
            mime_bundle = bundle(value)
            if mime_bundle is not None:
                return mime_bundle
        if self.before is not None:
            return self.before(value)
        method = getattr(type(value), "_repr_mimebundle_", None)  # of a subclass
        return None if method is None else method(value, include=None, exclude=None)


def register(shell: Any = None) -> None:
    """Let IPython show containers of expressions: the shell given, or the running one, if any.

    What shows them is asked first for every tuple, list and dict, and what was there before for
    those that hold anything else.  SymPy's ``init_printing``, before or after, is not disturbed.
    """
    if shell is None:
        running = getattr(sys.modules.get("IPython"), "get_ipython", None)
        shell = running() if running is not None else None
    if shell is None:
        return
    formatter = shell.display_formatter
    printers = formatter.mimebundle_formatter
    for kind in (tuple, list, dict):
        before = printers.for_type(kind)
        if not isinstance(before, _Shown):
            printers.for_type(kind, _Shown(formatter, before))
