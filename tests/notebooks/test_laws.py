"""Every notebook obeys the laws, and a notebook that breaks one is found, by that law."""

from itertools import pairwise

import pytest
from nbformat import v4

from tests.notebooks import chosen
from tests.notebooks.execution import written
from tests.notebooks.laws import LAWS, SIZE, Notebook, broken

PATHS = chosen()


@pytest.mark.parametrize("path", PATHS, ids=[path.stem for path in PATHS])
def test_notebooks_obey_the_laws(path):
    assert broken(path) == []


def test_each_notebook_leads_to_the_next_one():
    for before, after in pairwise(PATHS):
        assert f"({after.name})" in Notebook(before).cells[-1].source, before.name


CLAIMS = "\n".join(f"assert {k} + 1 > {k}" for k in range(8))


def right():
    """A notebook that obeys all laws."""
    value = v4.new_output(
        "execute_result", {"text/plain": "2", "text/latex": "$2$"}, execution_count=2
    )
    return v4.new_notebook(
        cells=[
            v4.new_markdown_cell("# Planted\n\nIt takes two minutes.", id="cell-01"),
            v4.new_code_cell(CLAIMS, id="cell-02", execution_count=1),
            v4.new_code_cell("1 + 1", id="cell-03", execution_count=2, outputs=[value]),
            v4.new_code_cell(
                "print(3)",
                id="cell-04",
                execution_count=3,
                outputs=[v4.new_output("stream", name="stdout", text="3\n")],
            ),
            v4.new_markdown_cell(
                "## Next\n\n[this](planted.ipynb#Planted), [that](other.md#two-words-heres)"
                " `[no](link)`, [all](https://numpy.org/doc/)",
                id="cell-05",
            ),
        ],
    )


def saved(tmp_path, notebook, text=None):
    path = tmp_path / "planted.ipynb"
    path.write_text(text or written(notebook), encoding="utf-8")
    (tmp_path / "other.md").write_text("# Other\n\n## Two words, here's\n", encoding="utf-8")
    return path


def test_a_notebook_as_it_should_be_breaks_none(tmp_path):
    assert broken(saved(tmp_path, right())) == []


def _set(place, **values):
    return lambda notebook: notebook.cells[place].update(values)


def _output(kind, **values):
    return _set(3, outputs=[v4.new_output(kind, **values)])


def _printed(text):
    return _output("stream", name="stdout", text=text)


def _html(text):
    return _output("display_data", data={"text/html": text, "text/plain": "<text>"})


PLANTED = {
    "a large file": ("is_written", _html("x" * SIZE)),
    "an id twice": ("has_named", _set(4, id="cell-02")),
    "an id drawn at random": ("has_named", _set(4, id="3f9a1c02")),
    "an empty cell": ("has_named", _set(3, source=" ", outputs=[])),
    "an unknown tag": ("has_named", _set(3, metadata={"tags": ["raises-exception"]})),
    "a cell that has not run": ("has_run", _set(3, execution_count=None)),
    "cells that ran in another order": ("has_run", _set(1, execution_count=5)),
    "an output of another run": (
        "has_run",
        lambda notebook: notebook.cells[2].outputs[0].update(execution_count=7),
    ),
    "a value that is not shown": ("shows_what", _set(2, outputs=[])),
    "a value, where only a print is saved": (
        "shows_what",
        _set(2, outputs=[v4.new_output("stream", name="stdout", text="2")]),
    ),
    "an error": ("has_neither", _output("error", ename="ValueError", evalue="", traceback=[])),
    "a warning": ("has_neither", _output("stream", name="stderr", text="UserWarning: planted")),
    "few assertions": ("asserts_what", _set(1, source=CLAIMS.partition("\n")[2])),
    "many cells that vary": (
        "asserts_what",
        lambda notebook: [
            notebook.cells.insert(
                4 + k,
                v4.new_code_cell(
                    "x = 1", id=f"cell-1{k}", execution_count=4 + k, metadata={"tags": ["varies"]}
                ),
            )
            for k in range(4)
        ],
    ),
    "a path that is printed": ("knows_nothing", _printed("File /home/someone/symdiff/x.py\n")),
    "a path in the code": ("knows_nothing", _set(3, source="print('/tmp/x')")),
    "an address": ("knows_nothing", _printed("<function f at 0x7f3a1c029d00>\n")),
    "an address in HTML": ("knows_nothing", _html("<p>0x7f3a1c029d00</p>")),
    "a date": ("knows_nothing", _printed("2024-05-01 12:30\n")),
    "a time in a picture": (
        "knows_nothing",
        _output("display_data", data={"image/svg+xml": "<d>2024-05-01T12:30:00</d>"}),
    ),
    "a long line": ("fits_the_page", _printed("wide" * 30)),
    "a long line of code": ("fits_the_page", _set(3, source=f"print({'3 + ' * 40}3)")),
    "a long text of a value": (
        "fits_the_page",
        _output("execute_result", data={"text/plain": "wide" * 30}, execution_count=3),
    ),
    "no title": ("begins_and_ends", _set(0, source="In two minutes\n\n# Planted")),
    "no time": ("begins_and_ends", _set(0, source="# Planted")),
    "no end": ("begins_and_ends", lambda notebook: notebook.cells.pop()),
    "an end without a link": ("begins_and_ends", _set(4, source="The end `[no](link)`")),
    "a link to no file": ("links_lead", _set(0, source="# P minutes [x](nowhere.md)")),
    "a link to no heading": ("links_lead", _set(0, source="# P minutes [x](other.md#three)")),
    "a link to no heading here": ("links_lead", _set(0, source="# P minutes [x](#Nowhere)")),
    "a link of another kind": ("links_lead", _set(0, source="# P minutes [x](http://x.org)")),
}


@pytest.mark.parametrize("name", PLANTED)
def test_planted_faults_are_found_by_their_law_alone(tmp_path, name):
    law, plant = PLANTED[name]
    notebook = right()
    plant(notebook)
    found = broken(saved(tmp_path, notebook))
    assert found
    assert all(said.startswith(law) for said in found), found


@pytest.mark.parametrize(
    "change",
    [
        lambda notebook: notebook.metadata.update(language_info={"name": "python", "version": "3"}),
        lambda notebook: notebook.metadata.update(widgets={}),
        lambda notebook: notebook.cells[1].metadata.update(execution={"iopub.execute_input": "1"}),
        lambda notebook: notebook.cells[1].metadata.update(collapsed=True),
        lambda notebook: notebook.cells[3].outputs.append(
            v4.new_output("display_data", {"application/vnd.jupyter.widget-view+json": {}})
        ),
    ],
    ids=["a version", "widgets", "timing", "more metadata", "a widget"],
)
def test_what_only_a_run_knows_is_found_in_the_file(tmp_path, change):
    notebook = right()
    change(notebook)
    found = broken(saved(tmp_path, notebook, v4.writes(notebook) + "\n"))
    assert [said.partition(":")[0] for said in found] == ["is_written_by_the_command"]


def test_every_law_has_a_planted_fault():
    laws = {law for law, _ in PLANTED.values()}
    assert all(any(law.__name__.startswith(name) for name in laws) for law in LAWS)
