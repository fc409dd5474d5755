"""symdiff: array expressions and their exact derivatives, of any order.

    >>> import symdiff as sd
    >>> x, y = sd.symbols("x y")
    >>> print(sd.diff(x**2 * sd.sin(y), x, y))
    2*x*cos(y)

Expressions are immutable graphs in which equal parts are one node.  ``numeric`` turns them into
fast functions.  What users need first:

- ``symbol``, ``symbols``, ``constant``, ``function`` (an unknown one), ``parse``,
  ``from_function``, ``from_sympy`` make them;
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
from inspect import isfunction
from typing import TYPE_CHECKING

from symdiff.importing import without_collections

with without_collections():
    from symdiff import functions
    from symdiff.calculus.custom_ops import custom as custom
    from symdiff.calculus.derivative import detach as detach
    from symdiff.calculus.derivative import diff as diff
    from symdiff.calculus.derivative import gauss_newton_product as gauss_newton_product
    from symdiff.calculus.derivative import grad as grad
    from symdiff.calculus.derivative import hessian as hessian
    from symdiff.calculus.derivative import hvp as hvp
    from symdiff.calculus.derivative import jacobian as jacobian
    from symdiff.calculus.derivative import jvp as jvp
    from symdiff.calculus.derivative import total_derivative as total_derivative
    from symdiff.calculus.derivative import vjp as vjp
    from symdiff.contexts import kinks as kinks
    from symdiff.display import notebooks
    from symdiff.display.graphs import mermaid as mermaid
    from symdiff.display.printing import short as short
    from symdiff.display.printing import text as text
    from symdiff.display.typeset import latex as latex
    from symdiff.display.typeset import markup
    from symdiff.errors import ConvergenceError as ConvergenceError
    from symdiff.errors import NotAdditive as NotAdditive
    from symdiff.errors import NotDifferentiable as NotDifferentiable
    from symdiff.errors import ParseError as ParseError
    from symdiff.errors import ShapeError as ShapeError
    from symdiff.errors import Unsupported as Unsupported
    from symdiff.exact.counting import count_edges as count_edges
    from symdiff.exact.counting import count_nodes as count_nodes
    from symdiff.exact.counting import count_operations as count_operations
    from symdiff.exact.evaluation import evalf as evalf
    from symdiff.exact.sparsity import sparsity as sparsity
    from symdiff.functions import *  # noqa: F403  # its __all__ says what
    from symdiff.graph.arguments import doors, put_doors_on_methods
    from symdiff.graph.expr import Expr as Expr
    from symdiff.graph.expr import Methods
    from symdiff.graph.expr import e as e
    from symdiff.graph.expr import free_symbols as free_symbols
    from symdiff.graph.expr import nodes as nodes
    from symdiff.graph.expr import pi as pi
    from symdiff.graph.leaves import constant as constant
    from symdiff.graph.leaves import symbol as symbol
    from symdiff.graph.leaves import symbols as symbols
    from symdiff.guesses import PACKAGE, missing, without
    from symdiff.interchange.numpy_protocol import array_function, array_ufunc, astype
    from symdiff.interchange.numpy_protocol import from_function as from_function
    from symdiff.interchange.parser import parse as parse
    from symdiff.interchange.pickling import reduced
    from symdiff.interchange.sympy_bridge import from_sympy as from_sympy
    from symdiff.interchange.sympy_bridge import to_sympy as to_sympy
    from symdiff.rewriting.integration import integrate as integrate
    from symdiff.rewriting.limits import limit as limit
    from symdiff.rewriting.limits import series as series
    from symdiff.rewriting.simplification import collect as collect
    from symdiff.rewriting.simplification import expand as expand
    from symdiff.rewriting.simplification import factor as factor
    from symdiff.rewriting.simplification import simplify as simplify
    from symdiff.subjects import SUBJECTS, by_subject, home, index
    from symdiff.transforms.batching import batch as batch
    from symdiff.transforms.loops import fori_loop as fori_loop
    from symdiff.transforms.loops import scan as scan
    from symdiff.transforms.loops import while_loop as while_loop
    from symdiff.transforms.odes import odeint as odeint
    from symdiff.transforms.solutions import fixed_point as fixed_point
    from symdiff.transforms.solutions import linear_solve as linear_solve
    from symdiff.transforms.solutions import minimize as minimize
    from symdiff.transforms.solutions import root as root
    from symdiff.transforms.substitution import replaced
    from symdiff.transforms.substitution import substitute as substitute
    from symdiff.transforms.unknown_functions import function as function

try:
    __version__ = version("symdiff-numeric")
except PackageNotFoundError:  # run from a source tree that was never installed
    __version__ = "0+unknown"

# Type checkers know a name that is imported as itself, and those of `import *`; mypy reads no list
# that is made of other lists.
if not TYPE_CHECKING:
    __all__ = [
        "__version__",
        "ConvergenceError",
        "Expr",
        "NotAdditive",
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
        "fixed_point",
        "fori_loop",
        "while_loop",
        "free_symbols",
        "from_function",
        "from_sympy",
        "function",
        "gauss_newton_product",
        "grad",
        "hessian",
        "hvp",
        "integrate",
        "jacobian",
        "jvp",
        "kinks",
        "latex",
        "mermaid",
        "limit",
        "linear_solve",
        "minimize",
        "nodes",
        "odeint",
        "parse",
        "pi",
        "root",
        "scan",
        "series",
        "short",
        "simplify",
        "sparsity",
        "substitute",
        "symbol",
        "symbols",
        "text",
        "to_sympy",
        "total_derivative",
        "vjp",
        *functions.__all__,
    ]

    # Methods that need the layers above Expr.
    Expr._methods = Methods(
        **{name: globals()[name] for name in __all__ if isfunction(globals()[name])},
        array_function=array_function,
        array_ufunc=array_ufunc,
        astype=astype,
        markup=markup,
        reduced=reduced,
        replaced=replaced,
    )
    # Modules of the package call each other's functions directly: the doors are for users.
    put_doors_on_methods(Expr, globals())
    globals().update(doors(globals(), __all__))

    # Functions that are not methods.
    named = [name for name in functions.__all__ if name.islower()]
    without(Expr, "an expression", {name: f"sd.{name}(x)" for name in named})
    del named

    notebooks.register()  # where IPython runs

    _homes = {name: home(globals()[name]) for name in __all__ if name[0] != "_"}
    __doc__ += f"\n{index(by_subject(__name__, _homes, SUBJECTS))}\n"

    def __getattr__(name: str) -> object:
        raise missing("module 'symdiff'", name, PACKAGE, sys.modules[__name__])

    def __dir__() -> list[str]:
        return sorted({*__all__, *(name for name in globals() if name.startswith("__"))})
