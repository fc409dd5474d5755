"""symdiff: array expressions and their exact derivatives, of any order.

    >>> import symdiff as sd
    >>> x, y = sd.symbols("x y")
    >>> print(sd.diff(x**2 * sd.sin(y), x, y))
    2*x*cos(y)

Expressions are immutable graphs in which equal parts are one node.  ``numeric`` turns them into
fast functions.
"""

from __future__ import annotations

from types import SimpleNamespace

from symdiff import functions
from symdiff.batching import batch
from symdiff.blackboxes import custom
from symdiff.bridge import from_sympy, to_sympy
from symdiff.corners import kinks
from symdiff.counting import count_edges, count_nodes, count_operations
from symdiff.derivative import detach, diff, grad, hessian, hvp, jacobian, jvp, vjp
from symdiff.errors import NotDifferentiable, ParseError, ShapeError, Unsupported
from symdiff.evaluate import evalf
from symdiff.expr import Expr, e, free_symbols, nodes, pi
from symdiff.functions import *  # noqa: F403  # its __all__ says what
from symdiff.leaves import constant, symbol, symbols
from symdiff.numpy_protocol import array_function, array_ufunc, from_function
from symdiff.parser import parse
from symdiff.pickling import reduced
from symdiff.printing import short, text
from symdiff.substitution import substitute
from symdiff.typeset import latex, markup

# Methods that need the layers above Expr.
Expr._methods = SimpleNamespace(
    array_function=array_function,
    array_ufunc=array_ufunc,
    diff=diff,
    evalf=evalf,
    getitem=functions.getitem,
    latex=latex,
    markup=markup,
    matmul=functions.matmul,
    matrix_transpose=functions.matrix_transpose,
    mean=functions.mean,
    permute_dims=functions.permute_dims,
    reduced=reduced,
    reshape=functions.reshape,
    short=short,
    substitute=substitute,
    sum=functions.sum,
    text=text,
    to_sympy=to_sympy,
    transpose=functions.transpose,
)

__all__ = [
    "Expr",
    "NotDifferentiable",
    "ParseError",
    "ShapeError",
    "Unsupported",
    "batch",
    "constant",
    "count_edges",
    "count_nodes",
    "count_operations",
    "custom",
    "detach",
    "diff",
    "e",
    "evalf",
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
    "nodes",
    "parse",
    "pi",
    "short",
    "substitute",
    "symbol",
    "symbols",
    "text",
    "to_sympy",
    "vjp",
]
__all__ += functions.__all__
