"""Points at which formulas are compared: values for the symbols of an expression."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

import numeric as nm
import symdiff as sd
from symdiff.graph.axis_lengths import names

if TYPE_CHECKING:
    from collections.abc import Mapping

    from symdiff import Expr

# Different lengths, so that no axis can be taken for another; of A, (m, n), A'A is regular.
LENGTHS = {"m": 4, "n": 3, "k": 2, "d": 2, "p": 2, "q": 3, "r": 4}


def point(
    expr: Expr, seed: int, signed: bool, lengths: Mapping[str, int] = LENGTHS
) -> dict[str, Any]:
    """A value for each symbol, by its name, and the lengths of named axes."""
    rng = np.random.default_rng(seed)
    values: dict[str, Any] = dict(lengths)
    for x in sd.free_symbols(expr):
        shape = tuple(lengths.get(dim, dim) for dim in x.shape)
        size = rng.uniform(0.3, 1.7, shape)
        values[x.op.name] = size * rng.choice([-1, 1], shape) if signed else size
    return values


def evaluated(expr: Expr, values: Mapping[str, Any], lengths: Mapping[str, int] = LENGTHS) -> Any:
    """The value of ``expr`` there."""
    symbols = list(sd.free_symbols(expr))
    arguments = [values[x.op.name] for x in symbols]
    # A formula such as ones(n) has no symbol of that length.
    told = {name for x in symbols for name in x.shape}
    missing = [name for name in names(sd.nodes(expr)) if name not in told]
    symbols += [sd.symbol(f"axis_{name}", name) for name in missing]
    arguments += [np.zeros(lengths[name]) for name in missing]
    with np.errstate(all="ignore"):
        return nm.lower(expr, symbols)(*arguments)
