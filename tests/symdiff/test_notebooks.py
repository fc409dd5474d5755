"""What notebooks show of tuples, lists and dicts of expressions, and that nothing else changes."""

import os
import re
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest
import sympy

import symdiff as sd
from symdiff.display import notebooks, typeset
from symdiff.display.notebooks import bundle

x, y = sd.symbols("x y")
v, A = sd.symbol("v", 3), sd.symbol("A", (3, 3))


def assert_balanced(text):
    r"""Braces, ``\left`` with ``\right`` and environments close in the order in which they open."""
    text = re.sub(r"\\[{}]", "", text)
    stack = []
    for sign in re.findall(r"\\left|\\right|\\begin\{\w+\}|\\end\{\w+\}|[{}]", text):
        if sign in ("{", r"\left") or sign.startswith(r"\begin"):
            stack.append(sign)
        else:
            opened = stack.pop()
            assert (opened, sign) in {("{", "}"), (r"\left", r"\right")} or (
                opened.replace("begin", "end") == sign
            )
    assert not stack
    assert "\x00" not in text
    assert not re.search("[\ue000\ue001]", text)


def latex(value):
    found = bundle(value)["text/latex"]
    body = re.fullmatch(r"\$\\displaystyle (.*)\$", found, re.DOTALL).group(1)
    assert_balanced(body)
    return body


SHORT = [
    ((x, y**2), r"\left(x, \; y^{2}\right)"),
    ([x, y], r"\left[x, \; y\right]"),
    ((x,), r"\left(x,\right)"),
    ({x: y}, r"\left\{x : \; y\right\}"),
    (
        {"a_b": y, 3: x},
        r"\left\{\mathtt{\text{'}a\_b\text{'}} : \; y, \; \mathtt{3} : \; x\right\}",
    ),
    ((x, [y]), r"\left(x, \; \left[y\right]\right)"),
]


@pytest.mark.parametrize(("value", "wanted"), SHORT)
def test_short_containers_stand_in_a_line(value, wanted):
    assert latex(value) == wanted


def test_long_ones_have_several_lines():
    text = latex([(x + y) ** k / sd.sin(x) for k in range(2, 20)])
    assert text.startswith("\\begin{aligned}\n& \\bigl[ ")
    assert 2 <= text.count("\\\\\n") <= 8


def test_entries_of_several_lines_begin_beside_their_keys(monkeypatch):
    monkeypatch.setattr(typeset, "latex", lambda expr, *_: "\\begin{aligned}\na\n\\end{aligned}")
    text = latex({"a": x, "b": y})
    assert text.count(r"\text{'}} : \; \begin{aligned}[t]") == 2
    assert text.count("& ") == 2


def test_a_high_matrix_is_as_wide_as_a_row(monkeypatch):
    rows = r"\\".join(f"v_{{{k}}} & 0" for k in range(50))
    monkeypatch.setattr(
        typeset, "latex", lambda expr, *_: rf"\begin{{bmatrix}}{rows}\end{{bmatrix}}"
    )
    assert latex((x, y, v)).startswith(r"\left(\begin{bmatrix}")


def test_results_with_names_say_them():
    text = latex(sd.svd(A))
    assert all(rf"\mathtt{{{name}}} = " in text for name in sd.svd(A)._fields)


LOOP = [x]
LOOP.append(LOOP)


@pytest.mark.parametrize(
    "value",
    [
        *((), [], {}, [()], (x, 1), [x, None], {"k": 1}, {1.5: x}, {(1, 2): x}, x, "x", {x}),
        *((x, np.ones(2)), [[[[[[x]]]]]], LOOP),
    ],
    ids=repr,
)
def test_other_containers_are_left_alone(value):
    assert bundle(value) is None


@pytest.mark.slow
def test_what_is_shown_is_bounded():
    many = latex([x**k for k in range(2, 10_000)])
    assert r"\text{(9,968 more)}" in many
    assert len(many) < 2000

    def deep(n):
        expr = x
        for _ in range(n):
            expr = sd.sin(expr) + y
        return expr

    large = [deep(k) for k in range(1000, 1100)]
    assert len(latex(large)) < 60_000
    nested = [[[large] * 50] * 50] * 50  # looked at once each
    assert len(latex(nested)) < 60_000
    assert len(latex({"k" * 10_000: x})) < 200


@pytest.mark.parametrize(
    "key", ["$", "\\", "}{", r"\frac", "a_b^c", "%&#~", "<script>alert(1)</script>", "\n\x00", "''"]
)
def test_keys_inject_nothing(key):
    text = latex({key: x})
    assert "<" not in text
    assert not re.search(r"(?<!\\)[$%#&]", text.replace(r"\begin{aligned}", "").replace("& ", ""))
    assert r"\frac" not in text


# IPython ------------------------------------------------------------------------------------------


class Printers:
    """As much of IPython's table of printers as is used."""

    def __init__(self):
        self.known = {}

    def for_type(self, kind, printer=None):
        before = self.known.get(kind)
        if printer is not None:
            self.known[kind] = printer
        return before


def stand_in(enabled=True):
    formatter = SimpleNamespace(
        formatters={"text/latex": SimpleNamespace(enabled=enabled)}, mimebundle_formatter=Printers()
    )
    return SimpleNamespace(display_formatter=formatter)


def test_what_was_registered_before_is_asked_for_the_rest():
    shell = stand_in()
    known = shell.display_formatter.mimebundle_formatter.known
    known[tuple] = lambda value: {"text/plain": f"before: {value}"}
    notebooks.register(shell)
    notebooks.register(shell)  # once is enough
    assert known[tuple]((1, 2)) == {"text/plain": "before: (1, 2)"}
    assert known[list]([1, 2]) is None
    assert set(known[tuple]((x, y))) == {"text/latex"}
    assert known[tuple].before is not None
    assert known[list].before is None


def test_terminals_are_spared():
    shell = stand_in(enabled=False)
    notebooks.register(shell)
    assert shell.display_formatter.mimebundle_formatter.known[list]([x]) is None


def test_subclasses_keep_what_they_show():
    class Own(dict):
        def _repr_mimebundle_(self, include=None, exclude=None):
            return {"text/html": "own"}

    shell = stand_in()
    notebooks.register(shell)
    assert shell.display_formatter.mimebundle_formatter.known[dict](Own(a=x)) == {
        "text/html": "own"
    }


@pytest.mark.parametrize("module", [None, SimpleNamespace(), SimpleNamespace(get_ipython=int)])
def test_without_a_shell_nothing_happens(monkeypatch, module):
    if module is not None and hasattr(module, "get_ipython"):
        module = SimpleNamespace(get_ipython=lambda: None)
    monkeypatch.setitem(sys.modules, "IPython", module)
    notebooks.register()


def test_with_the_real_formatter():
    formatters = pytest.importorskip("IPython.core.formatters")
    formatter = formatters.DisplayFormatter()
    formatter.active_types = formatter.format_types
    for kind in (tuple, list):  # as SymPy's init_printing does
        formatter.formatters["text/latex"].for_type(
            kind, lambda value: sympy.latex(value) if isinstance(value[0], sympy.Basic) else None
        )
    notebooks.register(SimpleNamespace(display_formatter=formatter))
    data, _ = formatter.format((x, y))
    assert data == {"text/latex": bundle((x, y))["text/latex"], "text/plain": "(x, y)"}
    t = sympy.Symbol("t")
    assert formatter.format([t, t**2])[0]["text/latex"] == r"\left[ t, \  t^{2}\right]"
    assert set(formatter.format([1, 2])[0]) == {"text/plain"}
    assert set(formatter.format(x)[0]) == {"text/latex", "text/plain"}
    assert formatter.format({x: y})[0]["text/plain"] == "{x: y}"


@pytest.mark.slow
def test_importing_it_in_a_shell_is_enough(tmp_path):
    pytest.importorskip("IPython")
    program = """
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance()
shell.display_formatter.active_types = shell.display_formatter.format_types
shell.run_cell("import symdiff as sd; x = sd.symbol('x')")
print(sorted(shell.display_formatter.format([shell.user_ns["x"]])[0]))
"""
    env = {**os.environ, "IPYTHONDIR": str(tmp_path), "HOME": str(tmp_path)}
    run = subprocess.run(
        [sys.executable, "-c", program], env=env, capture_output=True, text=True, check=True
    )
    assert run.stdout == "['text/latex', 'text/plain']\n"
