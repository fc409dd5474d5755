"""Every function of the scalar vocabulary is what its class says: facts are asked by using them."""

from __future__ import annotations

import numpy as np
import pytest

import numeric as nm
import symdiff as sd
from symdiff.algebra import PRIMITIVES, primitive
from symdiff.scalar import VOCABULARY

each_function = pytest.mark.parametrize("name", VOCABULARY)

# The kind of result ------------------------------------------------------------------------------

KINDS = {bool: np.bool_, int: np.integer, float: np.floating}


def kind_of_result(name, kind):
    """What a function makes of operands that are all of one kind."""
    result = PRIMITIVES[name].result
    if result is not None:
        return result
    return int if kind is bool and name != "where" else kind  # where only chooses


@each_function
@pytest.mark.parametrize("kind", KINDS)
def test_the_kind_of_result(name, kind):
    """Of numbers, integers and truth values; as a node, interpreted and lowered."""
    wanted = kind_of_result(name, kind)
    for shape in ((), (2,)):
        operands = sd.symbols("a b c d", shape, kind)[: PRIMITIVES[name].arity]
        node = primitive(name, *operands)
        assert node.dtype is wanted
        values = [np.ones(shape, kind) if shape else kind(1)] * len(operands)
        with np.errstate(all="ignore"):
            found = nm.interpret(node, dict(zip(operands, values, strict=True)))
            assert np.issubdtype(np.asarray(found).dtype, KINDS[wanted]), "interpreted"
            found = nm.lower(node, operands)(*values)
        assert np.issubdtype(np.asarray(found).dtype, KINDS[wanted]), "lowered"
