"""What docs/design.md says of the house, held against it: each sentence that can be checked."""

from __future__ import annotations

import ast
import itertools
import pickle
import re
import sys
from collections import defaultdict
from fractions import Fraction
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import sympy as sp

import numeric as nm
import symdiff as sd
from numeric.lowering import derivatives
from symdiff.errors import ShapeError
from symdiff.graph import axes, number

ROOT = Path(__file__).parent.parent
DESIGN = (ROOT / "docs/design.md").read_text()
FILES = [path for root in ("symdiff", "numeric") for path in sorted((ROOT / root).rglob("*.py"))]
x, y, z = sd.symbols("x y z")
v, A = sd.symbol("v", 3), sd.symbol("A", (3, 3))


def section(title: str) -> str:
    """The text under a heading of the second level."""
    return DESIGN.split(f"\n## {title}\n")[1].split("\n## ")[0]


def rows(text: str) -> list[list[str]]:
    """The cells of the first table in a text, without its head."""
    lines = re.findall(r"^\|.*\|$", text.split("|\n\n")[0] + "|", re.MULTILINE)
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines[2:]]


def words(cell: str) -> list[str]:
    """What stands between backquotes."""
    return re.findall(r"`([^`]+)`", cell)


@cache
def trees() -> dict[str, ast.Module]:
    """The files of the packages, read."""
    return {path.relative_to(ROOT).as_posix(): ast.parse(path.read_text()) for path in FILES}


@cache
def classes() -> dict[str, list[tuple[str, ast.ClassDef]]]:
    """The classes of the packages by their names, with the files that they are in."""
    found = defaultdict(list)
    for path, tree in trees().items():
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                found[node.name].append((path, node))
    return found


# Vocabulary ---------------------------------------------------------------------------------------

# Words that two worlds have, as the paragraph below the table says.
SHARED = {
    "Op": {"symdiff/graph", "numeric/eager"},
    "Node": {"symdiff/graph", "numeric/eager", "numeric/autograd"},
    "Function": {"numeric/lowering", "numeric/autograd"},
}


def test_a_word_is_the_name_of_one_class():
    table = rows(section("Vocabulary"))
    assert len(table) > 40
    told = section("Vocabulary").partition("A class that bears a word")[2]
    assert set(SHARED) <= set(words(told))
    assert {room for rooms in SHARED.values() for room in rooms} == {
        word.replace(".", "/") for word in words(told) if "." in word
    }
    found = classes()
    for word in (word for cell, _ in table for word in cell.split(", ")):
        homes = [path for path, _ in found[word[0].upper() + word[1:]]]
        allowed = SHARED.get(word[0].upper() + word[1:])
        if allowed is None:
            assert len(homes) <= 1, f"{word}: {homes}"
        else:
            assert {path.rpartition("/")[0] for path in homes} == allowed, word


# Where derivatives are stated ---------------------------------------------------------------------


def stating(word: str) -> set[str]:
    """The files with classes that define a method, or declare a fact, of this name."""
    found = set()
    for path, node in (each for several in classes().values() for each in several):
        for item in node.body:
            named = getattr(item, "name", None) or getattr(item, "targets", [None])[0]
            if word in (named, getattr(named, "id", None)):
                found.add(path)
    return found


def test_derivatives_are_stated_where_the_table_says():
    table = rows(section("Derivatives"))
    rooms = defaultdict(list)
    for _, stated, places in table:
        for word in words(stated):
            rooms[word] += words(places)
    joint = {"pulled", "pushed"}
    assert set(rooms) == {"pull", "push", *joint, "transposed", "differential", "partials", "fdiff"}
    for word, places in rooms.items():
        # A node of a record runs a pullback, and a notation writes a transpose; neither states one.
        homes = {path for path in stating(word) if not path.startswith("symdiff/display/")}
        if word in joint:  # for all operands at once; what states it for each is asked for each
            homes -= {"symdiff/calculus/rules.py"}
        if word.startswith("pull"):
            homes &= stating(word.replace("pull", "push"))
        outside = [path for path in homes if not path.startswith(tuple(places))]
        assert not outside, f"{word}: {outside}"
        if word != "fdiff":
            assert all(any(path.startswith(place) for path in homes) for place in places), word


def test_numeric_states_no_derivative():
    """No class there declares one, and SymPy differentiates nothing for it."""
    for word in ("push", "transposed", "differential", "partials", "fdiff"):
        assert not [path for path in stating(word) if path.startswith("numeric/")], word
    for path, tree in trees().items():
        calls = [node.func for node in ast.walk(tree) if isinstance(node, ast.Call)]
        named = [f for f in calls if isinstance(f, ast.Attribute) and f.attr in ("diff", "fdiff")]
        of = {f.value.id for f in named if isinstance(f.value, ast.Name)}
        assert path.startswith("symdiff/") or not of & {"sp", "sympy"}, path


# Programs -----------------------------------------------------------------------------------------


def test_a_function_has_the_programs_that_are_named():
    told = section("Lowering").partition("a table of programs")[2].partition("Each is described")[0]
    described = {
        name
        for name, thing in vars(derivatives).items()
        if getattr(thing, "__annotations__", {}).get("return") == "Description"
    }
    assert set(words(told)) == described
    f = nm.lower(sd.sin(x) * y, [x, y])
    at = 0.5, 2.0
    f(*at), f.value_and_grad(*at), f.jacobian(*at), f.hessian(*at)
    f.jvp(at, (1.0, 0.0)), f.hvp(at, (1.0, 0.0))
    f.backward(f.forward(*at)[1], 1.0)
    made = [key[0].__name__ for key in f._programs._found]
    assert sorted(made) == sorted(described)
    for wrt in (x, y, [x, y]):
        f.value_and_grad(*at, wrt=wrt), f.jvp(at, (0.0, 1.0))
        f.backward(f.forward(*at)[1], 1.0, wrt=wrt)
    again = [key[0].__name__ for key in f._programs._found]
    assert [name for name in described if again.count(name) > 1] != []
    assert {name for name in described if again.count(name) > 1} == {"value_and_grad", "backward"}
    assert not f._programs._kinks
    with sd.kinks("raise"):
        f = nm.lower(sd.abs(x), x)
    f.value_and_grad(1.0)
    assert [program.name for _, program in f._programs._kinks.values()] == ["kinks"]


# Modules ------------------------------------------------------------------------------------------


def test_the_table_of_folders_is_that_of_the_tree():
    listed, inside = [], {}
    for names, what in rows(section("Modules and layers")):
        first, *others = words(names)
        root = first.partition("/")[0]
        listed += [first, *(f"{root}/{other}" for other in others)]
        inside[first] = what
    there = {
        f"{root}/{path.name}"
        for root in ("symdiff", "numeric")
        for path in (ROOT / root).iterdir()
        if not path.name.startswith("_") and (path.suffix == ".py" or path.is_dir())
    }
    assert sorted(listed) == sorted(there)
    for path in FILES:
        if path.name == "__init__.py" and len(path.relative_to(ROOT).parts) == 4:
            room, sub = path.parent.parent, path.parent.name
            assert f"`{sub}`" in inside[room.relative_to(ROOT).as_posix()], sub


PAGES = [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_files_that_a_page_names_are_there(page):
    named = re.findall(
        r"`((?:symdiff|numeric|tests|docs|benchmarks|manual)/[\w./*]+)`", page.read_text()
    )
    assert [name for name in named if not any(ROOT.glob(name.rstrip("/")))] == []


def test_a_printer_is_a_module_of_its_target():
    line = next(line for line in DESIGN.splitlines() if line.startswith("A target that is not"))
    folder, *modules = words(line)
    there = {path.name for path in (ROOT / folder).glob("*.py")}
    planned = {"torch.py", "jax.py"}
    assert {"numpy.py", "math.py"} == set(modules) - planned
    assert set(modules) - planned <= there


# Numbers and shapes -------------------------------------------------------------------------------


def test_arithmetic_of_coefficients_never_calls_sympy():
    """Nothing of SymPy runs in it: numbers are Python's, and roots of integers are its own."""
    folder = Path(sp.__file__).parent.as_posix()
    called = []

    def watch(frame, event, _):
        if event == "call" and frame.f_code.co_filename.startswith(folder):
            called.append(frame.f_code.co_qualname)

    numbers = [3, -2, Fraction(2, 7), Fraction(-9, 4), 0.1, 1e200, 2**80, Fraction(1, 3**40)]
    pairs = [(a, b) for a in numbers for b in numbers]
    exponents = [2, -3, Fraction(1, 2), Fraction(-2, 3), Fraction(5, 4)]
    sys.setprofile(watch)
    try:
        for a, b in pairs:
            number.plus(a, b), number.times(a, b), number.reciprocal(a)
        for a, p in itertools.product(numbers, exponents):
            number.raised(a, p)
        f = sd.sum(3 * v / 7 + 0.5 * v) * Fraction(2, 3) - (4 * x) ** Fraction(1, 2) + 2 * x
        f = f + (9 * y) ** 0.5 * (x**2 * 8) ** Fraction(1, 3)
    finally:
        sys.setprofile(None)
    assert number.raised(Fraction(27, 8), Fraction(-2, 3)) == Fraction(4, 9)
    assert set(f.free_symbols) == {v, x, y}
    assert called == []


@pytest.mark.parametrize("k", [2, 3, 5, 64])
def test_roots_of_integers_are_exact(k):
    for root in (2, 3, 10, 12345, 2**30 - 1):
        assert number.raised(root**k, Fraction(1, k)) == root
        for beside in (root**k + 1, root**k - 1):
            assert sp.integer_nthroot(beside, k)[1] is False
            assert number.raised(beside, Fraction(1, k)) is None


ALIGNED = {
    "add": lambda p, q: p + q,
    "multiply": lambda p, q: p * q,
    "where": lambda p, q: sd.where(p > 0, p, q),
    "maximum": sd.maximum,
    "power": lambda p, q: sd.power(p, q),
    "hypot": sd.hypot,
    "less": lambda p, q: p < q,
    "broadcast_to": lambda p, q: sd.broadcast_to(q, p.shape),
    "broadcast_arrays": lambda p, q: sd.broadcast_arrays(p, q)[1],
    "matmul": lambda p, q: p @ sd.expand_dims(q, (0, -1)) if q.ndim == 1 else p @ q,
    "solve": lambda p, q: sd.solve(p, sd.expand_dims(q, (0, -1))),
    "cross": sd.cross,
    "take_along_axis": lambda p, q: sd.take_along_axis(p, sd.argsort(sd.expand_dims(q, (0, 1)))),
    "custom": sd.custom(np.add),
}


@pytest.mark.parametrize("name", ALIGNED)
def test_alignment_is_stated_once(name, monkeypatch):
    """Operands of unlike shapes meet by ``broadcast_shapes``, or not at all."""

    def refusing(name, *shapes):
        raise ShapeError("asked")

    p, q = sd.symbol("p", (2, 3, 3)), v
    assert ALIGNED[name](p, q).shape
    monkeypatch.setattr(axes.broadcast_shapes, "__code__", refusing.__code__)
    with pytest.raises(ShapeError, match="asked"):
        ALIGNED[name](p, q + 1)


# Graphs are walked in loops -----------------------------------------------------------------------

DEEP = 1_100  # more than Python's limit of nested calls
S = sd.symbols([f"s{k}" for k in range(DEEP)])


def nested(step, start):
    for s in S:
        start = step(start, s)
    return start


NESTED = {
    "sums": lambda: nested(lambda e, s: e + s, x),
    "differences": lambda: nested(lambda e, s: s - e, x),
    "products": lambda: nested(lambda e, s: e * s, x),
    "quotients": lambda: nested(lambda e, s: e / s, x),
    "reciprocals": lambda: nested(lambda e, s: s / e, x),
    "powers": lambda: nested(lambda e, s: (e + 1) ** 2, x),
    "roots": lambda: nested(lambda e, s: sd.sqrt(e * s), x),
    "masks": lambda: nested(lambda e, s: sd.where(s > 0, e, 0), sd.sin(x)),
    "masked products": lambda: nested(lambda e, s: sd.where(s > 0, e * y, 0), sd.sin(x)),
    "logic": lambda: sd.where(
        nested(lambda e, s: sd.logical_or(sd.logical_not(e), s > 0), x > 0), x, y
    ),
    "choices": lambda: nested(sd.maximum, x),
    "bounds": lambda: nested(lambda e, s: sd.clip(e * y, -1, 1), x),
    "matrix products": lambda: nested(lambda e, s: A @ e, v),
    "transposes": lambda: nested(lambda e, s: e.T @ A, A),
    "slices": lambda: nested(lambda e, s: sd.sin(e[1:]), sd.symbol("w", DEEP + 2)),
    "joins": lambda: nested(lambda e, s: sd.concat([e[1:], e[:1] * y]), v),
    "flips": lambda: nested(lambda e, s: sd.flip(e) * v, v),
    "updates": lambda: nested(lambda e, s: sd.index_update(e, 0, e[1] * y), v),
    "running sums": lambda: nested(lambda e, s: sd.cumsum(e) / 3, v),
    "least ones": lambda: nested(lambda e, s: e * sd.min(v * e), x),
    "equations": lambda: nested(lambda e, s: sd.solve(A, e), v),
}


@pytest.mark.parametrize("kind", NESTED)
def test_graphs_are_walked_in_loops(kind):
    """However deep: derivatives of both directions, texts, pickles, counts, programs, values."""
    assert sys.getrecursionlimit() <= 1000 < DEEP
    f = NESTED[kind]()
    assert sd.count_nodes(f) > DEEP
    by = next(s for s in (x, v, A, *f.free_symbols) if s in f.free_symbols)
    at = {
        s: np.full(s.shape, 0.75) + np.eye(*s.shape) if s.ndim == 2 else np.full(s.shape, 0.75)
        for s in f.free_symbols
    }
    g = sd.grad(sd.sum(f), by)
    (moved,) = sd.jvp([f], [by], [sd.ones(by.shape)])
    assert moved.shape == f.shape
    assert str(f)
    assert pickle.loads(pickle.dumps(f)) is f
    assert sd.count_operations(f) > 0
    assert sd.substitute(f, {by: 2 * by}).shape == f.shape
    assert sd.batch(f, {by: sd.symbol("many", (2, *by.shape))}).shape == (2, *f.shape)
    with np.errstate(all="ignore"):
        value, slope = nm.interpret(f, at), nm.interpret(g, at)
        F = nm.lower([f, g], list(at))
        for found, expected in zip(F(*at.values()), (value, slope), strict=True):
            np.testing.assert_allclose(found, expected, rtol=1e-6)
