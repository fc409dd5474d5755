"""symdiff: array expressions and their exact derivatives, of any order.

    >>> import symdiff as sd
    >>> x, y = sd.symbols("x y")
    >>> print(sd.diff(x**2 * sd.sin(y), x, y))
    2*x*cos(y)

Expressions are immutable graphs in which equal parts are one node.  ``numeric`` turns them into
fast functions.  What users need first:

- ``symbol``, ``symbols``, ``constant``, ``parse``, ``from_function``, ``from_sympy`` make them;
- operators, NumPy's functions and those of this package (``sin``, ``where``, ``sum``, ``stack``,
  ``solve`` ...) build with them;
- ``diff``, ``grad``, ``jacobian``, ``hessian``, ``jvp``, ``vjp``, ``hvp`` differentiate;
- ``substitute`` (``f.subs``), ``evalf`` (``f.evalf``), ``latex``, ``to_sympy`` use the result, and
  ``numeric.lower`` makes a function of it;
- ``print(f)``, ``text``, ``latex`` and ``mermaid`` show it as a formula and as a graph; notebooks
  show LaTeX by themselves;
- ``simplify``, ``expand``, ``factor``, ``collect`` give it another form, ``series`` and ``limit``
  say how it is near a point.

The modules below are internal: everything public has its name here, ``symdiff.__all__``, and in
the index that follows.
"""

from __future__ import annotations

import sys
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING

from symdiff import functions
from symdiff.batching import batch as batch
from symdiff.blackboxes import custom as custom
from symdiff.bridge import from_sympy as from_sympy
from symdiff.bridge import to_sympy as to_sympy
from symdiff.contexts import kinks as kinks
from symdiff.counting import count_edges as count_edges
from symdiff.counting import count_nodes as count_nodes
from symdiff.counting import count_operations as count_operations
from symdiff.derivative import detach as detach
from symdiff.derivative import diff as diff
from symdiff.derivative import grad as grad
from symdiff.derivative import hessian as hessian
from symdiff.derivative import hvp as hvp
from symdiff.derivative import jacobian as jacobian
from symdiff.derivative import jvp as jvp
from symdiff.derivative import vjp as vjp
from symdiff.display import notebooks
from symdiff.display.graphs import mermaid as mermaid
from symdiff.display.printing import short as short
from symdiff.display.printing import text as text
from symdiff.display.typeset import latex as latex
from symdiff.display.typeset import markup
from symdiff.errors import NotDifferentiable as NotDifferentiable
from symdiff.errors import ParseError as ParseError
from symdiff.errors import ShapeError as ShapeError
from symdiff.errors import Unsupported as Unsupported
from symdiff.evaluate import evalf as evalf
from symdiff.expr import Expr as Expr
from symdiff.expr import Methods
from symdiff.expr import e as e
from symdiff.expr import free_symbols as free_symbols
from symdiff.expr import nodes as nodes
from symdiff.expr import pi as pi
from symdiff.functions import *  # noqa: F403  # its __all__ says what
from symdiff.guesses import PACKAGE, missing, without
from symdiff.leaves import constant as constant
from symdiff.leaves import symbol as symbol
from symdiff.leaves import symbols as symbols
from symdiff.limits import limit as limit
from symdiff.limits import series as series
from symdiff.numpy_protocol import array_function, array_ufunc, astype
from symdiff.numpy_protocol import from_function as from_function
from symdiff.parser import parse as parse
from symdiff.patterns import sparsity as sparsity
from symdiff.pickling import reduced
from symdiff.simplification import collect as collect
from symdiff.simplification import expand as expand
from symdiff.simplification import factor as factor
from symdiff.simplification import simplify as simplify
from symdiff.subjects import SUBJECTS, by_subject, home, index
from symdiff.substitution import replaced
from symdiff.substitution import substitute as substitute

# Methods that need the layers above Expr.
Expr._methods = Methods(
    **{name: getattr(functions, name) for name in dir(functions)},
    array_function=array_function,
    array_ufunc=array_ufunc,
    astype=astype,
    collect=collect,
    diff=diff,
    evalf=evalf,
    expand=expand,
    factor=factor,
    latex=latex,
    limit=limit,
    markup=markup,
    reduced=reduced,
    replaced=replaced,
    series=series,
    short=short,
    simplify=simplify,
    text=text,
    to_sympy=to_sympy,
)

notebooks.register()  # where IPython runs

try:
    __version__ = version("symdiff-numeric")
except PackageNotFoundError:  # run from a source tree that was never installed
    __version__ = "0+unknown"

# Type checkers know a name that is imported as itself, and those of `import *`; mypy reads no list
# that is made of other lists.
if not TYPE_CHECKING:
    __all__ = [
        "__version__",
        "Expr",
        "NotDifferentiable",
        "ParseError",
        "ShapeError",
        "Unsupported",
        "batch",
        "collect",
        "constant",
        "count_edges",
        "count_nodes",
        "count_operations",
        "custom",
        "detach",
        "diff",
        "e",
        "evalf",
        "expand",
        "factor",
        "free_symbols",
        "from_function",
        "from_sympy",
        "grad",
        "hessian",
        "hvp",
        "jacobian",
        "jvp",
        "kinks",
        "latex",
        "mermaid",
        "limit",
        "nodes",
        "parse",
        "pi",
        "series",
        "short",
        "simplify",
        "sparsity",
        "substitute",
        "symbol",
        "symbols",
        "text",
        "to_sympy",
        "vjp",
        *functions.__all__,
    ]

    # Functions that are no methods.
    named = [name for name in functions.__all__ if name.islower()]
    without(Expr, "an expression", {name: f"sd.{name}(x)" for name in named})
    del named

    _homes = {name: home(globals()[name]) for name in __all__ if name[0] != "_"}
    __doc__ += f"\n{index(by_subject(__name__, _homes, SUBJECTS))}\n"

    def __getattr__(name: str) -> object:
        raise missing("module 'symdiff'", name, PACKAGE, sys.modules[__name__])

    def __dir__() -> list[str]:
        return sorted({*__all__, *(name for name in globals() if name.startswith("__"))})
