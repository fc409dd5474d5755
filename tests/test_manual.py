"""The reference site: every public name, page and link; what is fetched is verified."""

import base64
import hashlib
import io
import json
import re
import tarfile
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

import numeric as nm
import symdiff as sd
from manual import assets, public_modules
from symdiff.subjects import OTHERS
from tests.support.cases import all_cases
from tests.test_walks import BLOCK

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"


# Names --------------------------------------------------------------------------------------------


def reached():
    """Every module that is a public name of a module, from the two packages on."""
    found, new = [], ["symdiff", "numeric"]
    while new:
        module = new.pop()
        found.append(module)
        things = [
            (name, getattr(import_module(module), name)) for name in public_modules.names(module)
        ]
        new += [f"{module}.{name}" for name, thing in things if isinstance(thing, ModuleType)]
    return set(found)


def test_every_room_is_in_the_reference():
    assert reached() == set(public_modules.PUBLIC_MODULES)
    directives = "\n".join(page.read_text() for page in (DOCS / "reference").glob("*.rst"))
    assert {*re.findall(r"^\.\. public-module:: (\S+)$", directives, re.M)} == set(
        public_modules.PUBLIC_MODULES
    )


@pytest.mark.parametrize("module", public_modules.PUBLIC_MODULES)
def test_every_public_name_has_a_place_and_an_entry(module):
    sections = public_modules.sections(module)
    placed = [name for names in sections.values() for name in names]
    public = {name for name in import_module(module).__all__ if not name.startswith("__")}
    assert sorted(placed) == sorted(public)
    assert OTHERS not in sections, "give the new names a subject, in subjects.py"
    text = public_modules.page(module, list(sections))
    for name in public:
        entry = rf"^\.\. (auto|py:)\w+:: ({re.escape(module)}\.)?{re.escape(name)}$"
        is_module = f"{module}.{name}" in public_modules.PUBLIC_MODULES
        assert is_module or len(re.findall(entry, text, re.M)) == 1, name
        assert text.count(f" <{module}.{name}>`\n") == 1, name


@pytest.mark.parametrize("package", [sd, nm])
def test_help_lists_every_public_name_once_by_subject(package):
    assert package.__doc__ is not None
    _, _, listed = package.__doc__.partition("Every public name, by subject:\n")
    names = re.sub(r"^- [^:]*:|[,.\s]+", " ", listed, flags=re.M).split()
    assert sorted(names) == sorted(name for name in package.__all__ if name[0] != "_")
    assert all(name in package.__all__ or name.startswith("__") for name in dir(package))


def test_pages_show_all_sections_of_a_room_they_divide():
    text = (DOCS / "reference/numeric.rst").read_text()
    (without,) = re.findall(r":without: (.*)", text)
    pages = (DOCS / "reference").glob("*.rst")
    only = [title for page in pages for title in re.findall(r":only: (.*)", page.read_text())]
    assert sorted(without.split("; ")) == sorted(only)


def test_summaries_are_one_sentence_and_close_their_literals():
    for module in public_modules.PUBLIC_MODULES:
        for name in public_modules.names(module):
            told = public_modules.summary(getattr(import_module(module), name))
            assert told
            assert "\n" not in told
            assert told.count("``") % 2 == 0, f"{module}.{name}: {told}"
    assert public_modules.summary(sd.diff) == "The derivative in SymPy's calling convention"


# Pages and links ----------------------------------------------------------------------------------


def anchor(heading):
    """As GitHub makes it of a heading."""
    plain = re.sub(r"[`*]|\]\([^)]*\)|\[", "", heading).strip().lower()
    return re.sub(r"[^\w\- ]", "", plain).replace(" ", "-")


def broken(page, text):
    """The relative links of a page that lead nowhere."""
    prose = re.sub(r"(?ms)^ *```.*?^ *```$", "", text)
    links = r"\]\(([^)\s]+)\)|<img src=\"([^\"]+)\""
    for pair in re.findall(links, re.sub(r"`[^`\n]*`", "", prose)):
        target = "".join(pair)
        file, _, part = target.partition("#")
        if re.match(r"\w+:", target):
            continue
        path = (page.parent / file).resolve() if file else page
        if not path.exists() or (part and part not in anchors(path, page, text)):
            yield target


def anchors(path, page, text):
    """Those of a file; the page's own are those of its text."""
    text = text if path == page else path.read_text()
    prose = re.sub(r"(?ms)^```.*?^```$", "", text)
    return {anchor(heading) for heading in re.findall(r"(?m)^#+ (.*)$", prose)}


PAGES = [*ROOT.glob("*.md"), *DOCS.rglob("*.md")]


@all_cases("page", PAGES, ids=lambda page: page.name, least=69)
def test_links_lead_somewhere(page):
    assert list(broken(page, page.read_text())) == []


def test_broken_links_are_found():
    links = "[x](nowhere.md) [y](design.md#nothing) [z](#a-b-c) [u](#other) `[v](no.md)`"
    text = f'# A *b* `c`\n{links} <img src="no.png" alt="w"> <img src="images/speed.svg">'
    lost = ["nowhere.md", "design.md#nothing", "#other", "no.png"]
    assert list(broken(DOCS / "index.md", text)) == lost


def test_links_of_notebooks_lead_somewhere():
    for book in sorted((ROOT / "notebooks").glob("*.ipynb")):
        cells = json.loads(book.read_text())["cells"]
        texts = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown"]
        lost = [to for to in broken(book, "\n\n".join(texts)) if not to.endswith(".ipynb")]
        assert lost == [], book.name  # other notebooks are looked for by the build


def test_every_page_is_in_the_table_of_contents():
    blocks = re.findall(r"```\{toctree\}\n(.*?)```", (DOCS / "index.md").read_text(), re.S)
    entries = [line for block in blocks for line in block.splitlines() if line and line[0] != ":"]
    listed = set()
    for entry in entries:
        found = [path for end in ("md", "rst", "ipynb") for path in DOCS.glob(f"{entry}.{end}")]
        assert found or "*" in entry, f"{entry} is not a page"
        listed |= {path.resolve() for path in found}
    pages = {path.resolve() for end in ("md", "rst") for path in DOCS.rglob(f"*.{end}")}
    pages |= {path.resolve() for path in (ROOT / "notebooks").glob("*.ipynb")}
    assert pages - listed == {DOCS / "index.md"}


def test_the_drawing_on_the_page_is_what_is_drawn():
    x = sd.symbol("x")
    (shown,) = re.findall(r"```mermaid\n(.*?)```", (DOCS / "display.md").read_text(), re.S)
    assert shown == nm.draw(x * sd.sin(x), values={x: 2}).source


def test_code_shown_as_the_library_s_is_the_library_s():
    """But for the blocks that the walks add: ``test_walks`` puts them where they belong."""

    def line(text):
        return text.split("  #")[0].strip().rstrip(",")

    roots = ("symdiff", "numeric", "tests", "benchmarks")
    files = [path for root in roots for path in (ROOT / root).rglob("*.py")]
    there = {line(text) for path in files for text in path.read_text().splitlines()}
    pages = [ROOT / "CONTRIBUTING.md", *(DOCS / "contributing").glob("*.md")]
    texts = [BLOCK.sub("", page.read_text()) for page in pages]
    fences = [fence for text in texts for fence in re.findall(r"(?ms)^```python\n(.*?)^```", text)]
    shown = [line(text) for fence in fences if ">>>" not in fence for text in fence.splitlines()]
    assert {"class Eigh(Part):", "number=2", "def limit():"} <= {*shown}
    assert [text for text in shown if text not in there] == []


# What is fetched ----------------------------------------------------------------------------------


@pytest.fixture
def registry(tmp_path):
    """A registry with one package, its pin, and a place to put things."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as tar:
        info = tarfile.TarInfo("package/one.js")
        info.size = 3
        tar.addfile(info, io.BytesIO(b"1+1"))
    tarball = tmp_path / "registry" / "one" / "-" / "one-1.0.0.tgz"
    tarball.parent.mkdir(parents=True)
    tarball.write_bytes(packed.getvalue())
    digest = base64.b64encode(hashlib.sha512(packed.getvalue()).digest()).decode()
    pins = tmp_path / "pins.json"
    pin = {"version": "1.0.0", "integrity": f"sha512-{digest}", "files": {"package/one.js": "o.js"}}
    pins.write_text(json.dumps({"one": pin}))

    def provide():
        cache = tmp_path / "cache"
        assets.provide(tmp_path / "out", cache, pins, (tmp_path / "registry").as_uri())
        return (tmp_path / "out/o.js").read_bytes()

    return provide, tarball, tmp_path


def test_what_is_pinned_is_fetched_once(registry):
    provide, tarball, _ = registry
    assert provide() == b"1+1"
    tarball.unlink()
    assert provide() == b"1+1"


def test_a_package_with_another_hash_is_refused_and_not_kept(registry):
    provide, tarball, where = registry
    tarball.write_bytes(tarball.read_bytes() + b"\0")
    with pytest.raises(assets.AssetError, match=r"one-1\.0\.0\.tgz is not the pinned package.*sha"):
        provide()
    assert not list(where.glob("cache/*"))
    assert not list(where.glob("out/*"))


def test_a_damaged_cache_is_fetched_again(registry):
    provide, _, where = registry
    provide()
    (kept,) = where.glob("cache/*.tgz")
    kept.write_bytes(b"damaged")
    assert provide() == b"1+1"
    assert kept.read_bytes() != b"damaged"


def test_no_network_is_said_with_the_remedy(registry):
    provide, tarball, _ = registry
    tarball.unlink()
    with pytest.raises(assets.AssetError, match=r"one 1\.0\.0 could not be fetched.*put the tar"):
        provide()


def test_a_package_without_the_file_is_refused(registry):
    provide, _, where = registry
    pins = where / "pins.json"
    pins.write_text(pins.read_text().replace("one.js", "two.js"))
    with pytest.raises(assets.AssetError, match=r"has no file package/two\.js"):
        provide()


def test_pins_have_versions_and_hashes():
    for name, pin in json.loads(assets.PINS.read_text()).items():
        assert re.fullmatch(r"\d+\.\d+\.\d+", pin["version"]), name
        assert re.fullmatch(r"sha512-[A-Za-z0-9+/]{86}==", pin["integrity"]), name
