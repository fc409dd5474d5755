"""The sides of a comparison: two formulas, or a formula and a function, of the same inputs."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import TYPE_CHECKING

import sympy as sp

import symdiff as sd
from numeric.check.settings import read_inputs, tracer
from numeric.lowering.function import Function
from symdiff.graph.expr import Expr
from symdiff.graph.number import shortened

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import numpy as np

    from numeric.check.points import Input

_UNTRACEABLE = (TypeError, ValueError, NotImplementedError, AttributeError, LookupError)


@dataclass(frozen=True)
class Side:
    """One side: its formula, if there is one, and the user's function, if it is one."""

    name: str
    formula: Expr | None
    function: Callable[..., object] | None  # takes the inputs in their order


@dataclass(frozen=True)
class Sides:
    """Both sides and their inputs."""

    f: Side
    g: Side
    symbols: tuple[Expr, ...]
    inputs: tuple[Input, ...]  # the real inputs
    kept: Mapping[str, np.ndarray]  # the inputs that are data

    @classmethod
    def of(
        cls,
        f: object,
        g: object,
        inputs: Mapping[str, object] | None,
        domain: Mapping[str, tuple[float, float]] | None,
    ) -> Sides:
        """Parse the user's arguments; see ``why``."""
        if inputs is None:
            inputs = _inputs_of(f, g)
        symbols: tuple[Expr, ...] = ()
        drawn: tuple[Input, ...] = ()
        kept: dict[str, np.ndarray] = {}
        if inputs:
            symbols, drawn, kept, _ = read_inputs("why", inputs, domain)
        one, other = (_side(x, symbols) for x in (f, g))
        if one.formula is None and other.formula is None:
            raise TypeError(
                f"why: neither {one.name} nor {other.name} can be traced, so that nothing "
                "exact is known; give one of them as a formula, or write it in NumPy's functions"
            )
        return cls(one, other, symbols, drawn, kept)


def _inputs_of(f: object, g: object) -> dict[str, object]:
    """Infer the inputs by name from the symbols of the formulas."""
    known: dict[str, Expr] = {}
    formulas = sorted((f, g), key=lambda x: isinstance(x, str))  # texts last, to reuse the symbols
    for formula in formulas:
        expression = _read(formula, tuple(known.values()))
        for x in sd.free_symbols([expression]) if expression is not None else ():
            if known.setdefault(x.name, x).shape != x.shape:
                raise ValueError(
                    f"why: {x.name} has shape {x.shape} in one formula and {known[x.name].shape} "
                    "in the other"
                )
    for x in known.values():
        if x.dtype is not float or any(isinstance(n, str) for n in x.shape):
            what = "is data" if x.dtype is not float else f"has the symbolic shape {x.shape}"
            raise ValueError(f"why: {x.name} {what}; give inputs, with an example array for it")
    if not known:
        for function in (f, g):
            if callable(function) and _read(function, ()) is None:
                raise ValueError(
                    f"why: the inputs of {_name(function)} are not known; give inputs, names with "
                    "shapes, as inputs={'x': 5}"
                )
    return {name: x.shape for name, x in known.items()}


def _read(formula: object, symbols: Sequence[Expr]) -> Expr | None:
    """Return a formula as an expression; None for a function."""
    if isinstance(formula, str):
        return sd.parse(formula, symbols)
    if isinstance(formula, sp.Basic):
        return sd.from_sympy(formula)
    if isinstance(formula, Function):
        if len(formula.outputs) != 1:
            raise ValueError(
                f"why: a Function with {len(formula.outputs)} outputs; compare one of its .outputs"
            )
        return formula.outputs[0]
    if isinstance(formula, bool | int | float):
        return sd.constant(formula)
    return formula if isinstance(formula, Expr) else None


def _side(argument: object, symbols: Sequence[Expr]) -> Side:
    expression = _read(argument, symbols)
    if expression is not None:
        trace, _, name = tracer("why", expression, {})
        return Side(argument if isinstance(argument, str) else name, _numbers(trace(symbols)), None)
    name = _name(argument)
    if not callable(argument):
        raise TypeError(
            f"why: {shortened(argument)} of type {type(argument).__name__} is not a formula; give "
            "an expression, its text, a SymPy expression, or a function of NumPy arrays"
        )
    function = _arranged(argument, [x.name for x in symbols])
    trace, _, _ = tracer("why", function, {})
    try:
        formula = _numbers(trace(symbols))
    except _UNTRACEABLE:  # the function needs values, so only evaluate it
        formula = None
    return Side(name, formula, function)


def _name(function: object) -> str:
    return str(getattr(function, "__name__", repr(function)))


def _numbers(f: Expr) -> Expr:
    """Convert booleans to numbers."""
    return sd.where(f, 1, 0) if f.dtype is bool else f


def _arranged(function: Callable[..., object], names: list[str]) -> Callable[..., object]:
    """Make a function take the inputs in their order; match its parameters by name if possible."""
    try:
        parameters = [
            p.name
            for p in inspect.signature(function).parameters.values()
            if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) and p.default is p.empty
        ]
    except (TypeError, ValueError):  # functions written in C may have no signature
        return lambda *args: function(*args)
    if not set(parameters) <= set(names):
        return lambda *args: function(*args)
    places = [names.index(p) for p in parameters]
    return lambda *args: function(*[args[k] for k in places])
