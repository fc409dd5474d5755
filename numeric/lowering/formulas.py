"""Scalar formulas as code: ``sympy.lambdify`` with printers of our own, whose text is kept.

Each distinct formula goes through ``lambdify`` once for each target.  That gives the function that
kernels call.  What the printer wrote for it becomes a template, from which programs are assembled:
both are one text, so a program computes what the function computes, to the last bit.
"""

from __future__ import annotations

import re
from functools import lru_cache
from keyword import iskeyword
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import sympy as sp
from sympy.printing.numpy import NumPyPrinter
from sympy.printing.pycode import PythonCodePrinter

from numeric import special
from numeric.lowering.texts import ATOM, LOOSE, Template
from symdiff.errors import Unsupported
from symdiff.scalars.formula import VOCABULARY, canonical, kernel_symbol

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


class FormulaPrinter(PythonCodePrinter):  # type: ignore[misc]  # SymPy has no types
    """A code printer of SymPy's that remembers the text which it printed last.

    A target is a subclass: ``bodies`` are its functions of our vocabulary, by name, ``module`` is
    where those come from that SymPy's printer knows by itself.
    """

    bodies: ClassVar[Mapping[str, object]]
    module: ClassVar[str]

    def __init__(self) -> None:
        # The settings of lambdify's own printers.
        super().__init__(
            {
                "fully_qualified_modules": False,
                "inline": True,
                "allow_unknown_functions": True,
                "user_functions": {name: name for name in self.bodies},
            }
        )
        self.text = ""

    def doprint(self, expr: sp.Expr, assign_to: object = None) -> str:
        """The code of ``expr``, which ``text`` has from now on."""
        self.text = super().doprint(expr, assign_to)
        return self.text


class NumPyFormulas(FormulaPrinter, NumPyPrinter):  # type: ignore[misc]
    """Formulas of arrays."""

    bodies = special.NUMPY
    module = "numpy"


class MathFormulas(FormulaPrinter):
    """Formulas of Python floats."""

    bodies = special.MATH
    module = "math"

    def _print_Pow(self, expr: sp.Pow, rational: bool = False) -> str:  # noqa: N802  # SymPy's
        """``a ** b`` as ``pow(a, b)``, which raises where Python's operator would turn complex.

        Roots and reciprocals are written as SymPy writes them.
        """
        if expr.exp == -1 or abs(expr.exp) == sp.S.Half:
            return str(super()._print_Pow(expr, rational))
        power = self._module_format("math.pow")
        return f"{power}({self._print(expr.base)}, {self._print(expr.exp)})"


class Printed(NamedTuple):
    """A formula of one target: its function, its text, and what the names in the text stand for."""

    function: Callable[..., Any]
    template: Template
    names: dict[str, object]


@lru_cache(maxsize=2048)
def printed(formula: sp.Expr, arity: int, printer: type[FormulaPrinter]) -> Printed:
    """A formula over ``_0.._k``, printed and compiled by ``sympy.lambdify``.

    Raises Unsupported for a function that has no body for NumPy, or where SciPy has it and is
    missing; and for a name in the text that means nothing to the target.

    >>> x = kernel_symbol(0)
    >>> printed(x / (1 + abs(x)), 1, NumPyFormulas).template.text
    '{0}/(abs({0}) + 1)'
    >>> printed(x**3, 1, MathFormulas).template
    Template(text='pow({0}, 3)', level=5, needs=(0,), repeated=frozenset(), into='')
    """
    _require_bodies(formula)
    writer = printer()
    body = with_float_constants(canonical(formula))
    function = sp.lambdify(
        [kernel_symbol(k) for k in range(arity)],
        body,
        modules=[printer.bodies, printer.module],
        printer=writer,
    )
    text = " ".join(writer.text.split())
    names: dict[str, object] = {}
    for name in _NAME.findall(text):
        if iskeyword(name) or _OPERAND.fullmatch(name) or name in names:
            continue
        if name not in function.__globals__:
            raise Unsupported(f"{name} has no body for {_TARGETS[printer.module]}")
        names[name] = function.__globals__[name]
    return Printed(function, _template(text, arity), names)


_TARGETS = {"numpy": "NumPy", "math": "Python floats"}

# A name that is looked up: no attribute, and not the keyword of an argument.
_NAME = re.compile(r"(?<!\.)\b[A-Za-z_]\w*\b(?!\s*=[^=])")
_OPERAND = re.compile(r"\b_(\d+)\b")


def _template(text: str, arity: int) -> Template:
    """A printed text as a template.  What the printer could not know is what operands will be.

    An operand between brackets or commas may be anything; one beside an operator has to be closed.
    """
    places = [(int(m[1]), m.start(), m.end()) for m in _OPERAND.finditer(text)]
    inside = {k for k, i, j in places if text[:i].rstrip()[-1:] not in tuple("([,")}
    inside |= {k for k, i, j in places if text[j:].lstrip()[:1] not in tuple(")],")}
    found = [k for k, _, _ in places]
    repeated = frozenset(k for k in found if found.count(k) > 1)
    needs = tuple([ATOM if k in inside else LOOSE for k in range(arity)])
    whole = _OPERAND.sub(r"{\1}", text.replace("{", "{{").replace("}", "}}"))
    return Template(whole, ATOM if _is_closed(text) else LOOSE, needs, repeated)


def _is_closed(text: str) -> bool:
    """Whether a text is one name, or one pair of brackets with at most a name before it.

    >>> _is_closed("sin(_0)"), _is_closed("sin(_0) + cos(_1)")
    (True, False)
    """
    head, bracket, _ = text.partition("(")
    if head and not head.replace(".", "_").isidentifier():
        return False
    depth = 0
    for i, char in enumerate(text):
        depth += (char == "(") - (char == ")")
        if bracket and i >= len(head) and not depth:
            return i == len(text) - 1
    return True


def of_arrays(formula: sp.Expr, arity: int) -> Callable[..., Any]:
    """The NumPy function of a formula over ``_0.._k``; raises what ``printed`` raises."""
    return printed(formula, arity, NumPyFormulas).function


def _require_bodies(formula: sp.Expr) -> None:
    for cls in functions(formula):
        name = cls.__name__
        if VOCABULARY.get(name) is cls:
            special.require_scipy(name)
        elif not hasattr(cls, "_imp_") and not hasattr(cls, "_numpycode"):
            raise Unsupported(
                f"{name} has no NumPy body: give the class a method _numpycode, "
                "or write it as a formula of functions that have one"
            )


@lru_cache(maxsize=1024)
def functions(formula: sp.Expr) -> dict[type[sp.Function], None]:
    """The function classes in the canonical form of a formula."""
    nodes = sp.preorder_traversal(canonical(formula))
    return dict.fromkeys(node.func for node in nodes if node.is_Function)


def is_known(formula: sp.Expr) -> bool:
    """Whether a formula calls functions of the vocabulary alone, and none of the user's."""
    return all(VOCABULARY.get(f.__name__) is f for f in functions(formula))


def with_float_constants(formula: sp.Expr) -> sp.Expr:
    """``formula`` with its irrational constants as floats, and all floats to their last digit.

    ``numpy.sqrt(2)`` would turn float32 into float64; SymPy prints a double to 15 digits of 17.

    >>> with_float_constants(sp.sqrt(2) * kernel_symbol(0))
    1.4142135623730951*_0
    """
    found: dict[sp.Basic, sp.Basic] = {}
    stack = [formula]
    while stack:
        node = stack.pop()
        if node.is_Symbol or node.is_Rational:
            continue
        if not node.free_symbols and node.is_number and node.is_finite:
            found[node] = sp.Float(float(node.evalf(20)), 17)
        else:
            stack += node.args
    return formula.xreplace(found) if found else formula
