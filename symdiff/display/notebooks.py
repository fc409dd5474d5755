r"""Show tuples, lists and dicts of expressions as LaTeX in notebooks.

Python's containers have no ``_repr_latex_``, but IPython accepts a function for a type.  If IPython
already runs when ``symdiff`` is imported, it gets such a function; ``symdiff`` never imports
IPython.  Containers with other contents look as before.
"""

from __future__ import annotations

import sys
from typing import Any

from symdiff.display.typeset import holds_expressions, typeset


def bundle(value: object) -> dict[str, str] | None:
    r"""Return the LaTeX bundle for a notebook if a container holds only expressions, else None.

    Keys of dicts may also be strings and integers.  Long containers show their first entries and
    the number of the others.

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
    """IPython's function for the representations of a container; it wraps the earlier function."""

    def __init__(self, formatter: Any, before: Any) -> None:
        self.formatter, self.before = formatter, before

    def __call__(self, value: Any) -> Any:
        if self.formatter.formatters["text/latex"].enabled:  # not in a terminal
            mime_bundle = bundle(value)
            if mime_bundle is not None:
                return mime_bundle
        if self.before is not None:
            return self.before(value)
        method = getattr(type(value), "_repr_mimebundle_", None)  # a subclass may have one
        return None if method is None else method(value, include=None, exclude=None)


def register(shell: Any = None) -> None:
    """Make IPython show containers of expressions: the given shell, or the running one, if any.

    The new function is called first for every tuple, list and dict.  For other contents it calls
    the function that was there before.  SymPy's ``init_printing`` works before or after.
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
