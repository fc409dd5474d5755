"""LaTeX of random expressions and names, read by MathJax: ``python -m tests.look --random N``."""

from __future__ import annotations

import keyword
import time
from html import escape
from typing import TYPE_CHECKING, Any

import hypothesis.strategies as st
from hypothesis import HealthCheck, Phase, given, seed, settings

import symdiff as sd
from symdiff.display.notebooks import bundle
from symdiff.display.typeset import markup
from tests.look.lab import lab
from tests.support.oracles import inputs_of
from tests.support.strategies import FAMILIES, programs
from tests.symdiff.test_printing import scalars

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.look.lab import Lab

AT_ONCE = 300
"""Formulas in one output."""

# Words that LaTeX, SymPy's printer or MathJax know, and signs that names may have.
_WORDS = st.sampled_from(
    [
        *("frac", "left", "right", "begin", "end", "hbox", "text", "operatorname", "sum", "int"),
        *("alpha", "Gamma", "hat", "bar", "dot", "prime", "vec", "norm", "mathbf", "ldots"),
        *("infty", "e", "pi", "i", "I", "x", "ü", "Ω", "変数", "س", "ℵ", "µ"),
    ]
)
_SIGNS = st.text("abxyz_0123456789", max_size=3)
NAMES = (
    st.lists(_WORDS | _SIGNS, min_size=1, max_size=4)
    .map("".join)
    .filter(lambda name: name.isidentifier() and not keyword.iskeyword(name))
)


@st.composite
def _arrays(draw: Any) -> list[sd.Expr]:
    """The value of a random program, and its gradients."""
    program = draw(programs(("pointwise", draw(st.sampled_from(FAMILIES))), steps=6))
    xs = inputs_of(program)
    f = sd.constant(0) + program.ours(xs)
    return [f, *sd.vjp(f, xs, sd.symbol("u", f.shape))]


def _shown(value: Any) -> str:
    """LaTeX, as a notebook gets it."""
    return markup(value) if isinstance(value, sd.Expr) else bundle(value)["text/latex"]


KINDS = {
    "scalars": scalars.map(lambda expr: [expr, sd.diff(expr, sd.symbol("x_"), 2)]),
    "arrays": _arrays(),
    "containers": st.tuples(_arrays(), NAMES).map(
        lambda pair: [tuple(pair[0]), {pair[1]: pair[0][0], sd.symbol(pair[1]): pair[0]}]
    ),
    "names": NAMES.map(lambda name: [sd.symbol(name) ** 2, sd.symbol(name, (2, 2))[0, 1]]),
}


def drawn(strategy: st.SearchStrategy[list[Any]], count: int, number: int) -> dict[str, str]:
    """At most ``count`` different formulas, by their LaTeX: the text of each."""
    found: dict[str, str] = {}

    @seed(number)
    @settings(
        max_examples=count,
        phases=[Phase.generate],
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(strategy)
    def collect(values: list[Any]) -> None:
        for value in values:
            if len(found) < count:
                found.setdefault(_shown(value), repr(value))

    collect()
    return found


def typeset(count: int, number: int) -> int:
    """How many formulas MathJax does not read, of ``count`` of each kind."""
    wrong = 0
    with lab() as jupyter:
        for kind, strategy in KINDS.items():
            start = time.monotonic()
            formulas = drawn(strategy, count, number)
            faults = read(jupyter, kind, list(formulas))
            for latex, complaint in faults.items():
                print(f"\n{complaint}\n  {formulas.get(latex, '')}\n  {latex}")
            wrong += len(faults)
            seconds = time.monotonic() - start
            print(f"{kind}: {len(formulas)} in {seconds:.0f} s, {len(faults)} faults", flush=True)
    return wrong


def read(jupyter: Lab, name: str, formulas: Sequence[str]) -> dict[str, str]:
    """What is wrong with formulas, by their LaTeX; of a whole output, by its number."""
    chunks = [formulas[k : k + AT_ONCE] for k in range(0, len(formulas), AT_ONCE)]
    sources = [f"HTML({_html(chunk)!r})" for chunk in chunks]
    found: dict[str, str] = {}
    with jupyter.notebook(name, "from IPython.display import HTML", sources) as notebook:
        for place, chunk in enumerate(chunks, 1):
            seen = notebook.run(place)
            complaints = notebook.paragraphs(place)
            other = [fault for fault in seen.faults if not _of_formulas(fault)]
            if len(complaints) != len(chunk):
                other.append(f"{len(complaints)} paragraphs of {len(chunk)} formulas")
            if other:
                found[f"output {place} of {name}"] = "; ".join(other)
            pairs = zip(chunk, complaints, strict=False)
            found.update({latex: "; ".join(faults) for latex, faults in pairs if faults})
            print(f"  {name} {place}/{len(chunks)}: {len(chunk)} formulas", flush=True)
    return found


def _html(chunk: Sequence[str]) -> str:
    return "".join(f"<p>{escape(latex)}</p>" for latex in chunk)


def _of_formulas(fault: str) -> bool:
    """Whether a fault of an output is said of a formula as well, or is that one is wide."""
    return fault.startswith(("MathJax", "overflows", "formulas are"))
