"""The setting of an audit: a formula, its inputs, and how they may be drawn."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import sympy as sp

import symdiff as sd
from numeric.check import points
from numeric.check.candidates import candidate, with_derivatives
from numeric.check.exact import Forward
from numeric.check.points import Input
from numeric.lowering.function import Function
from symdiff.graph import ops
from symdiff.graph.expr import Expr
from symdiff.graph.number import shortened
from symdiff.transforms.closing import closed

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numeric.check.candidates import Candidate


@dataclass(frozen=True)
class Setting:
    """A formula, its inputs, and a way to write it for other shapes."""

    forward: Expr
    symbols: tuple[Expr, ...]
    inputs: tuple[Input, ...]  # the real inputs
    kept: Mapping[str, np.ndarray]  # the inputs that are data
    by: tuple[Expr, ...]  # the symbols that derivatives are by
    dtypes: tuple[str, ...]
    text: str
    traced: Callable[[Sequence[Expr]], Expr] | None
    function: Callable[..., object] | None  # the user's function, for values

    @classmethod
    def of(
        cls,
        forward: object,
        inputs: Mapping[str, object],
        wrt: object,
        domain: Mapping[str, tuple[float, float]] | None,
        seed: int,
    ) -> Setting:
        """Parse the user's arguments; see ``audit``."""
        symbols, drawn, kept, dtypes = read_inputs("audit", inputs, domain)
        if not drawn:
            raise ValueError("audit: no input is real, so there is nothing to differentiate by")
        # A function with own derivatives is a candidate: as the forward it would test itself.
        source = with_derivatives(forward)
        if source is not None:
            raise TypeError(
                f"audit: forward is {source.name}, which brings its own derivatives; give it as "
                "gradient= or vjp=, and the function that it computes in NumPy's functions"
            )
        traced, function, text = tracer("audit", forward, kept)
        try:
            value = traced(symbols)
        except (TypeError, AttributeError) as error:
            if function is None:
                raise
            raise TypeError(
                f"audit: {text} could not be traced: {error}; a function of values alone is "
                "checked by nm.check.derivative(f, x) and nm.check.taylor(f, gradient, x)"
            ) from error
        strange = [x.name for x in sd.free_symbols([value]) if x not in frozenset(symbols)]
        if strange:
            raise ValueError(
                f"audit: the formula has a symbol {strange[0]}, which inputs does not name; they "
                f"are {', '.join(inputs)}"
            )
        # With an example in float32, the narrowest dtype decides; without examples both are tested.
        known = ("float32",) if "float32" in dtypes else ("float64",)
        setting = cls(
            value,
            symbols,
            drawn,
            kept,
            _inputs_of("audit", wrt, [x for x in symbols if x.name not in kept]),
            known if dtypes else ("float64", "float32"),
            text,
            None if isinstance(forward, Expr | sp.Basic) or dtypes or kept else traced,
            function,
        )
        return setting.in_domain(seed)

    def in_domain(self, seed: int) -> Setting:
        """Return the setting with inputs drawn where the formula has values."""
        values = Forward(self.forward, self.symbols)
        rng = np.random.default_rng(seed)

        def finite(drawn: Mapping[str, np.ndarray]) -> np.ndarray:
            results = values.values(self.with_data(drawn))
            return np.asarray(np.isfinite(results).reshape(len(results), -1).all(axis=1))

        return replace(self, inputs=tuple(points.discovered(self.inputs, finite, rng)))

    def candidate(self, gradient: object, vjp: object, jvp: object, hessian: object) -> Candidate:
        """Return the derivatives under test as NumPy callables."""
        rng = np.random.default_rng(0)
        drawn = self.with_data(points.ordinary(self.inputs, 64, rng))
        finite = np.isfinite(Forward(self.forward, self.symbols).values(drawn))
        row = int(np.argmax(finite.reshape(64, -1).all(axis=1)))
        # Candidates are called once to see what they offer, so the formula must have a value there.
        at = [drawn[x.name][row] for x in self.symbols]
        arguments = {"gradient": gradient, "vjp": vjp, "jvp": jvp, "hessian": hessian}
        under_test = candidate(self.forward, self.symbols, **arguments, at=at)
        if len(self.by) < len(self.inputs):
            for name, function in arguments.items():
                if function is not None and getattr(under_test, name) is not function:
                    raise TypeError(
                        f"audit: wrt: {name}={function!r} brings its derivatives by all inputs; "
                        "leave wrt out"
                    )
        return under_test

    def with_data(self, drawn: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Add the inputs that are data to the points."""
        return points.rounded(dict(drawn), np.float64, self.kept)


def _inputs_of(who: str, wrt: object, real: Sequence[Expr]) -> tuple[Expr, ...]:
    """Return the real inputs named by ``wrt``, in its order; all of them for None."""
    if wrt is None:
        return tuple(real)
    known = {x.name: x for x in real}
    chosen = []
    for one in wrt if isinstance(wrt, list | tuple) else [wrt]:
        name = one.name if isinstance(one, Expr) and isinstance(one.op, ops.Symbol) else one
        if not isinstance(name, str) or name not in known:
            raise ValueError(
                f"{who}: wrt: {shortened(one)} is not one of the real inputs {', '.join(known)}; "
                "give a name or a list of them"
            )
        chosen.append(known[name])
    if not chosen or len(set(chosen)) < len(chosen):
        raise ValueError(f"{who}: wrt: {shortened(wrt)} is empty or names an input twice")
    return tuple(chosen)


def read_inputs(
    who: str, inputs: Mapping[str, object], domain: Mapping[str, tuple[float, float]] | None
) -> tuple[tuple[Expr, ...], tuple[Input, ...], dict[str, np.ndarray], list[str]]:
    """Return the symbols, the real inputs as they are drawn, the data, and the examples' dtypes."""
    if not inputs:
        raise ValueError(f"{who}: inputs is empty; give names and shapes, inputs={{'x': 5}}")
    drawn: list[Input] = []
    kept: dict[str, np.ndarray] = {}
    symbols: list[Expr] = []
    dtypes: list[str] = []
    for name, value in inputs.items():
        # A length stands for a shape with one axis; True is an example, not a length.
        if isinstance(value, int) and not isinstance(value, bool):
            value = (value,)
        if isinstance(value, tuple):
            symbols.append(sd.symbol(name, value))
            drawn.append(Input(name, value, *_bounds(who, name, domain)))
            continue
        array = np.asarray(value)
        if array.dtype.kind in "iub":
            dtype = bool if array.dtype.kind == "b" else int
            symbols.append(sd.symbol(name, array.shape, dtype))
            kept[name] = array
            continue
        if array.dtype.kind != "f":
            raise TypeError(
                f"{who}: the input {name} is {shortened(value)}; give a shape (a length, or a "
                "tuple of lengths) or an example array of real numbers"
            )
        symbols.append(sd.symbol(name, array.shape))
        drawn.append(Input(name, array.shape, *_bounds(who, name, domain), example=array))
        dtypes.append(array.dtype.name)
    unknown = [name for name in domain or {} if name not in inputs]
    if unknown:
        raise ValueError(f"{who}: domain names {unknown[0]}, which is not an input")
    return tuple(symbols), tuple(drawn), kept, dtypes


def _bounds(
    who: str, name: str, domain: Mapping[str, tuple[float, float]] | None
) -> tuple[float, float]:
    low, high = map(float, (domain or {}).get(name, (-np.inf, np.inf)))
    if not low < high:
        raise ValueError(f"{who}: the domain of {name} is ({low}, {high}), which has no interior")
    return low, high


def tracer(
    who: str, forward: object, kept: Mapping[str, np.ndarray]
) -> tuple[Callable[[Sequence[Expr]], Expr], Callable[..., object] | None, str]:
    """Return a function from symbols to the formula, the user's function or None, and a text.

    Lengths that depend on conditions are closed: they are known at each point, but differ between
    points.
    """
    traced, function, text = _tracer(who, forward, kept)
    return lambda symbols: closed([traced(symbols)])[0], function, text


def _tracer(
    who: str, forward: object, kept: Mapping[str, np.ndarray]
) -> tuple[Callable[[Sequence[Expr]], Expr], Callable[..., object] | None, str]:
    if isinstance(forward, str):
        return lambda symbols: sd.parse(forward, symbols), None, forward
    if isinstance(forward, sp.Basic):
        return lambda symbols: _of_symbols(who, sd.from_sympy(forward), symbols), None, str(forward)
    if isinstance(forward, Function):
        # A lowered Function is the formula of its one output.
        (forward,) = forward.outputs
    if isinstance(forward, Expr):
        return lambda symbols: _of_symbols(who, forward, symbols), None, sd.text(forward)
    if callable(forward):
        name = getattr(forward, "__name__", repr(forward))

        def traced(symbols: Sequence[Expr]) -> Expr:
            # Pass data as they are: NumPy needs an array as an index, not an expression.
            real = [x for x in symbols if x.name not in kept]

            def of_real(*xs: object) -> Any:
                arguments = dict(zip([x.name for x in real], xs, strict=True)) | dict(kept)
                return forward(*[arguments[x.name] for x in symbols])

            formula = sd.from_function(of_real, *real)
            if not isinstance(formula, Expr):
                raise TypeError(f"{who}: {name} returns {type(formula).__name__}, not one array")
            return formula

        return traced, forward, name
    raise TypeError(
        f"{who}: forward is {shortened(forward)} of type {type(forward).__name__}; give an "
        "expression, its text, a SymPy expression, or a function of NumPy arrays"
    )


def _of_symbols(who: str, forward: Expr, symbols: Sequence[Expr]) -> Expr:
    """Replace the symbols of an expression by the given ones of the same names."""
    own = {x.name: x for x in sd.free_symbols([forward])}
    missing = [name for name in own if name not in {x.name for x in symbols}]
    if missing:
        raise ValueError(f"{who}: no input is named {missing[0]}, a symbol of the formula")
    # Parsed or user's symbols may differ from the inputs in shape or dtype.
    changed = {own[x.name]: x for x in symbols if x.name in own and own[x.name] is not x}
    return sd.substitute(forward, changed) if changed else forward
