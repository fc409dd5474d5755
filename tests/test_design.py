"""The design pages against the tree: each table and each sentence that can be checked."""

from __future__ import annotations

import ast
import itertools
import pickle
import re
import sys
from collections import defaultdict
from datetime import date
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
from tests.support.cases import all_cases

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
DESIGN = [DOCS / "design.md", *sorted((DOCS / "design").glob("*.md"))]
RECORDS = sorted((DOCS / "decisions").glob("[0-9]*.md"))
FILES = [path for root in ("symdiff", "numeric") for path in sorted((ROOT / root).rglob("*.py"))]
x, y, z = sd.symbols("x y z")
v, A = sd.symbol("v", 3), sd.symbol("A", (3, 3))


def section(page: str, title: str) -> str:
    """The text of a design page under a heading of the second level."""
    text = (DOCS / f"design/{page}.md").read_text()
    return text.split(f"\n## {title}\n")[1].split("\n## ")[0]


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

# Names that two worlds have, as the second table says.
GLOSSARY = (DOCS / "design/glossary.md").read_text()
SHARED = {
    "Op": {"symdiff/graph", "numeric/eager"},
    "Node": {"symdiff/graph", "numeric/eager", "numeric/autograd"},
    "Function": {"numeric/lowering", "numeric/autograd"},
}


@pytest.mark.slow
def test_a_word_is_the_name_of_one_class():
    first, _, second = GLOSSARY.partition("At most one class")
    table = rows(first)
    assert len(table) > 40
    shared = {words(name)[0]: {*words(a), *words(b)} for name, a, b in rows(second)}
    assert {
        name: {module.replace(".", "/") for module in modules} for name, modules in shared.items()
    } == SHARED
    found = classes()
    for word in (word for cell, *_ in table for word in cell.split(", ")):
        name = "".join(part[0].upper() + part[1:] for part in word.split())
        homes = [path for path, _ in found[name]]
        allowed = SHARED.get(name)
        if allowed is None:
            assert len(homes) <= 1, f"{word}: {homes}"
        else:
            assert {path.rpartition("/")[0] for path in homes} == allowed, word


def test_names_of_the_code_in_the_glossary_are_those_of_one_class():
    first, _, _ = GLOSSARY.partition("At most one class")
    named = [name for _, cell, _ in rows(first) for name in words(cell)]
    assert {"Letters", "Share", "Shadow", "Spelling"} <= set(named)
    found = classes()
    assert [name for name in named if len(found[name]) != 1] == []


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
    table = rows(section("derivatives", "Where each derivative is stated"))
    chapters = defaultdict(list)
    for _, stated, places in table:
        for word in words(stated):
            chapters[word] += words(places)
    joint = {"pulled", "pushed"}
    assert set(chapters) == {
        "pull",
        "push",
        *joint,
        "transposed",
        "differential",
        "partials",
        "fdiff",
    }
    for word, places in chapters.items():
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
    table = rows(section("lowering", "The programs of a Function"))
    described = {
        name
        for name, thing in vars(derivatives).items()
        if getattr(thing, "__annotations__", {}).get("return") == "Description"
    }
    assert sorted(word for cell, _ in table for word in words(cell)) == sorted(described)
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
    for names, what in rows(section("modules", "Folders")):
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
            folder, sub = path.parent.parent, path.parent.name
            assert f"`{sub}`" in inside[folder.relative_to(ROOT).as_posix()], sub


PAGES = [*ROOT.glob("*.md"), *DOCS.rglob("*.md")]


@all_cases("page", PAGES, ids=lambda page: page.name, least=69)
def test_files_that_a_page_names_are_there(page):
    named = re.findall(
        r"`((?:symdiff|numeric|tests|docs|benchmarks|manual)/[\w./*]+)`", page.read_text()
    )
    assert [name for name in named if not any(ROOT.glob(name.rstrip("/")))] == []


def test_a_printer_is_a_module_of_its_target():
    text = section("modules", "Folders")
    (line,) = re.findall(r"(?ms)^A target other than.*?(?=\n\n|\Z)", text)
    folder, *modules = words(line)
    there = {path.name for path in (ROOT / folder).glob("*.py")}
    planned = {"torch.py", "jax.py"}
    assert {"numpy.py", "math.py"} == set(modules) - planned
    assert set(modules) - planned <= there


def test_each_file_of_passes_has_a_row():
    """A row names a function of the file, or the file; ``lanes`` stands in the text."""
    tables = rows(section("passes", "Pipelines")) + rows(section("passes", "Outside the pipelines"))
    described = {word for cell, _ in tables for word in words(cell)}
    files = {path.stem: path for path in (ROOT / "numeric/lowering/passes").glob("[a-z]*.py")}
    functions = {
        name: set(re.findall(r"(?m)^def (\w+)", path.read_text())) for name, path in files.items()
    }
    missing = [n for n in files if n not in described and not functions[n] & described]
    assert missing == ["lanes"]
    assert described <= set(files).union(*functions.values())
    assert re.search(r"[`/]lanes(\.py)?`", "".join(path.read_text() for path in DESIGN))


# Pages --------------------------------------------------------------------------------------------

LONGEST = {"design.md": 150, "decisions": 60, "design": 200}  # lines
WIDEST = 120  # characters of a line of prose
WORDS = 25  # of a sentence


def prose(page: Path) -> str:
    """The sentences of a page: no tables, headings, blocks of code or formulas."""
    text = re.sub(r"(?ms)^```.*?^```$", "", page.read_text())
    lines = [line for line in text.splitlines() if not line.startswith(("|", "#", "    "))]
    return "\n".join(lines)


def sentences(text: str) -> list[list[str]]:
    """The words of each sentence. Code counts as one word, the target of a link as none."""
    text = re.sub(r"\]\([^)]*\)", "]", re.sub(r"`[^`]+`", "code", text))
    paragraphs = re.split(r"\n\s*\n(?: *- )?|\n *- ", text)
    return [s.split() for each in paragraphs for s in re.split(r"(?<=[.?!])[*)]*\s+", each)]


@pytest.mark.parametrize("page", [*DESIGN, *RECORDS], ids=lambda page: page.stem)
def test_pages_are_short(page):
    limit = LONGEST.get(page.name) or LONGEST[page.parent.name]
    assert len(page.read_text().splitlines()) <= limit
    text = prose(page)
    assert [line for line in text.splitlines() if len(line) > WIDEST] == []
    assert [" ".join(s) for s in sentences(text) if len(s) > WORDS] == []


def test_long_sentences_are_found():
    text = f"Short one. `a b` {'word ' * WORDS}end.\n\n- {'word ' * WORDS}"
    assert [len(s) for s in sentences(text)] == [2, WORDS + 2, WORDS]


def test_the_introduction_has_one_drawing_and_links_every_page():
    text = DESIGN[0].read_text()
    assert text.count("```mermaid") == 1
    assert DESIGN[1:]
    assert [page.name for page in DESIGN[1:] if f"](design/{page.name})" not in text] == []
    assert "](decisions/index.md)" in text


def test_every_decision_has_a_number_a_date_and_a_line_in_the_index():
    listed = re.findall(
        r"(?m)^\| \[(\d+)\]\((.*?)\) \| (.*?) \| \*\*(.*?)\.\*\* .+ \|$",
        (DOCS / "decisions/index.md").read_text(),
    )
    records = []
    for path in RECORDS:
        text = path.read_text()
        parts = re.match(r"# (\d+)\. (.+)\n\nDate: (\d{4}-\d\d-\d\d)\n", text)
        assert parts, path.name
        number, title, day = parts.groups()
        assert path.name.startswith(f"{int(number):04d}-")
        assert date.fromisoformat(day)
        heads = re.findall(r"(?m)^## (.*)$", text)
        assert heads == ["Context", "Decision", "Evidence", "Consequences"], path.name
        records.append((number, path.name, day, title))
    assert listed == records
    assert [int(number) for number, *_ in records] == [*range(1, len(records) + 1)]
    days = [day for _, _, day, _ in records]
    assert days == sorted(days)


# Circles of imports -------------------------------------------------------------------------------

# The modules of the largest circle of each package, with imports for type checkers counted.
LARGEST_CIRCLE = {"symdiff": 20, "numeric": 18}


def dotted(path: Path) -> str:
    """The name of a module, of a package for its ``__init__``."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports() -> dict[str, set[str]]:
    """The modules that each module names in an import outside functions, stubs included."""
    stubs = [path for root in ("symdiff", "numeric") for path in (ROOT / root).rglob("*.pyi")]
    files = {dotted(path): path for path in [*FILES, *stubs]}
    graph: dict[str, set[str]] = {}
    for name, path in files.items():
        graph[name] = set()
        pending: list[ast.AST] = [ast.parse(path.read_text())]
        while pending:
            node = pending.pop()
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
                continue
            pending += ast.iter_child_nodes(node)
            if isinstance(node, ast.Import):
                named = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                inner = [(f"{node.module}.{alias.name}", node.module) for alias in node.names]
                named = [full if full in files else module for full, module in inner]
            else:
                continue
            graph[name] |= {module for module in named if module in files and module != name}
    return graph


def reached(graph: dict[str, set[str]], start: str) -> set[str]:
    """The modules that importing ``start`` can lead to."""
    seen: set[str] = set()
    pending = [start]
    while pending:
        for module in graph[pending.pop()] - seen:
            seen.add(module)
            pending.append(module)
    return seen


def circles(graph: dict[str, set[str]]) -> list[list[str]]:
    """The groups of modules that reach each other, the largest first."""
    reach = {module: reached(graph, module) for module in graph}
    groups = {
        tuple(sorted(other for other in reach[module] if module in reach[other]))
        for module in graph
        if module in reach[module]
    }
    return sorted(map(list, groups), key=lambda group: (-len(group), group))


def test_circles_are_groups_of_modules_that_reach_each_other():
    graph = {"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a", "e"}, "e": {"d"}, "f": {"a"}}
    assert circles(graph) == [["a", "b", "c"], ["d", "e"]]


def test_circles_of_imports_stay_small():
    graph = imports()
    assert "numeric.eager.types" in graph["numeric._tensor_methods"]  # for type checkers alone
    found = circles(graph)
    for package, bound in LARGEST_CIRCLE.items():
        largest = next(each for each in found if each[0].partition(".")[0] == package)
        assert len(largest) <= bound, f"{package}: {len(largest)} modules: {largest}"


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


@pytest.mark.slow
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
