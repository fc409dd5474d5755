"""The scalar vocabulary: real functions, each with its definition, derivative and value.

SymPy's own derivatives are exact, but not safe to evaluate: sigmoid' is nan at -800, d(x**y)/dx at
0, Abs'' is a ``DiracDelta``, floor' stays unevaluated.  Each class here states its ``partials`` in
a form that is valid wherever the function is, and that shares work with the value (cbrt' is
1/(3 cbrt²)).  Partial derivatives are formulas of this vocabulary, so all orders are safe.

Conventions at kinks and jumps, those of PyTorch where it has one:

- |x|, sign and step have derivative 0 at 0; floor, ceil, trunc, round and comparisons have
  derivative 0 everywhere;
- maximum and minimum share the derivative evenly between equal arguments;
- clip passes it on at both bounds; hypot, atan2 and norm_sqrt have derivative 0 at their
  singular point;
- a *selection* ``where(c, a, b)`` differentiates into a selection.  A branch that is not taken
  contributes exactly 0, even if its derivative is infinite.  Partial derivatives that vanish on
  a region are therefore selections with a zero branch, never 0/1 factors.

A truth value is the number 1 or 0.

facts              the base classes, and helpers of their formulas
choices            truth values, selections, and functions with jumps and kinks
regions            the regions that domains consist of
lengths            powers, lengths and angles, and the hyperbolic functions
exponentials       exponentials and logarithms, and sigmoids
entropies          entropies and divergences
gammas             the gamma and beta families, complete and incomplete
zetas              Riemann's and Hurwitz's zeta functions
error_functions    the scaled and the inverse error functions
normal             the normal distribution
integrals          exponential, sine and cosine, Fresnel's and Dawson's integrals
bessel             Bessel functions, and the cardinal sine
elliptic           the complete elliptic integrals
lambert            Lambert's function
orthogonal         the classical orthogonal polynomials
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import mpmath as mp
import sympy as sp

from symdiff.scalars.vocabulary.bessel import *  # noqa: F403
from symdiff.scalars.vocabulary.choices import *  # noqa: F403
from symdiff.scalars.vocabulary.elliptic import *  # noqa: F403
from symdiff.scalars.vocabulary.entropies import *  # noqa: F403
from symdiff.scalars.vocabulary.error_functions import *  # noqa: F403
from symdiff.scalars.vocabulary.exponentials import *  # noqa: F403
from symdiff.scalars.vocabulary.facts import *  # noqa: F403
from symdiff.scalars.vocabulary.facts import Decision, Facts, ScalarFunction, real_log
from symdiff.scalars.vocabulary.gammas import *  # noqa: F403
from symdiff.scalars.vocabulary.integrals import *  # noqa: F403
from symdiff.scalars.vocabulary.lambert import *  # noqa: F403
from symdiff.scalars.vocabulary.lengths import *  # noqa: F403
from symdiff.scalars.vocabulary.normal import *  # noqa: F403
from symdiff.scalars.vocabulary.orthogonal import *  # noqa: F403
from symdiff.scalars.vocabulary.regions import positive
from symdiff.scalars.vocabulary.zetas import *  # noqa: F403

if TYPE_CHECKING:
    from collections.abc import Callable

    from mpmath import mpf

# A class that states a value is a function; others are bases.
_OWN: tuple[type[ScalarFunction], ...] = tuple(
    cls
    for cls in list(globals().values())
    if isinstance(cls, type) and issubclass(cls, ScalarFunction) and "value" in vars(cls)
)


def _facts_for_sympy(value: Callable[..., mpf], **facts: object) -> type[Facts]:
    return type("Taken", (Facts,), {"value": staticmethod(value), **facts})


# SymPy's own classes whose derivatives are valid wherever the function is.
_SYMPY: dict[type[sp.Function], type[Facts]] = {
    sp.exp: _facts_for_sympy(mp.exp),
    sp.log: _facts_for_sympy(real_log, large=True, aliases="ln", domain=positive),
    sp.sin: _facts_for_sympy(mp.sin, finite_partials=True),
    sp.cos: _facts_for_sympy(mp.cos, finite_partials=True),
    sp.tan: _facts_for_sympy(mp.tan, finite_partials=True),
    sp.atan: _facts_for_sympy(mp.atan, large=True, finite_partials=True, aliases="arctan"),
    sp.sinh: _facts_for_sympy(mp.sinh),
    sp.cosh: _facts_for_sympy(mp.cosh),
    sp.erf: _facts_for_sympy(mp.erf, large=True, finite_partials=True),
    sp.erfc: _facts_for_sympy(mp.erfc, finite_partials=True),
}

VOCABULARY: dict[str, type[sp.Function]] = {
    cls.__name__: cls for group in (_OWN, _SYMPY) for cls in group
}
"""Every function that a formula may contain, apart from sums, products and rational powers."""

FACTS: dict[str, type[Facts]] = {
    **{cls.__name__: cls for cls in _OWN},
    **{cls.__name__: facts for cls, facts in _SYMPY.items()},
}
"""The facts about the functions of ``VOCABULARY``."""

DECISIONS: tuple[type[Decision], ...] = tuple(Decision.__subclasses__())
"""Further classes in derivatives: they print as their formulas, but are nodes of their own."""

MPMATH: dict[str, Callable[..., mpf]] = {name: facts.value for name, facts in FACTS.items()}
"""The functions of ``VOCABULARY`` as functions of mpmath numbers, at the current precision."""


@cache
def arity(name: str) -> int:
    """Return the number of arguments of the function ``name`` in ``VOCABULARY``.

    >>> arity("hypot"), arity("log")
    (2, 1)
    """
    return int(min(VOCABULARY[name].nargs))
