"""LaTeX has every symbol that the text has: a factor that a notation forgets is a wrong formula.

What it looks for are names, so that it shares nothing with the printer.
"""

import re

import pytest
from hypothesis import given

import symdiff as sd
from symdiff.display import printing
from tests.support.budget import sample
from tests.support.oracles import inputs_of
from tests.support.strategies import FAMILIES, programs

P, Q, R = (sd.symbol(name, 3) for name in "PQR")
s = sd.symbol("s")


def missing(expr):
    """The names, letters with a number or without, that the text has and LaTeX has not."""
    text, latex = sd.text(expr), sd.latex(expr, full=True)
    names = {x.name for x in sd.free_symbols(expr)} & set(re.findall(r"\w+", text))
    return [
        n for n in names if not re.search(rf"\b{n[0]}" + (rf"_\{{?{n[1:]}" * bool(n[1:])), latex)
    ]


@pytest.mark.parametrize(
    "expr",
    [
        *(sd.sum(P) * Q, sd.sum(P) * Q * R, sd.sum(P) * Q / R, sd.sum(P) / 3 * Q),
        *(Q - sd.sum(P), Q - sd.mean(P), sd.sum(P) * sd.outer(Q, R), s * sd.sum(P) * Q),
        *(sd.sum(P) * (Q + R), Q / sd.sum(P), sd.sum(P) * s, sd.sum(P) ** 2 * Q),
    ],
    ids=str,
)
def test_products_of_sums_and_arrays(expr):
    assert not missing(expr)


# Conditions that are literals are decided in components, which need not have every symbol.
@pytest.mark.slow
@pytest.mark.parametrize("family", [name for name in FAMILIES if name != "literal"])
def test_random_formulas(family):
    @sample(25)
    @given(programs(("pointwise", "contraction", family), steps=6))
    def run(program):
        xs = inputs_of(program)
        f = sd.constant(0) + program.ours(xs)
        for expr in (f, *sd.vjp(f, xs, sd.symbol("u", f.shape))):
            # An array without elements is written as zeros.
            if not any(0 in node.shape for node in sd.nodes(expr)):
                assert not missing(expr)

    run()


def test_an_argument_gets_a_name_when_it_is_needed(monkeypatch):
    """Also one that is made while others are written, whose need nothing could foresee."""
    A, v = sd.symbol("A_needed", (3, 4, 5)), sd.symbol("v_needed", 5)
    expr = sd.sum(sd.solve(sd.einsum("ijk,k->ij", A, v)[:, :3] * 2, sd.ones(3)))
    foreseen = sd.text(expr)
    assert foreseen.startswith("t1[")
    monkeypatch.setattr(printing.Graph, "_arguments_to_name", lambda graph: set())
    assert sd.text(expr) == foreseen
