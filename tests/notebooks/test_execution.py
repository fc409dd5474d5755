"""What a notebook shows is saved the same each time, and another output is noticed."""

import sys
from copy import deepcopy

import nbformat
import pytest
from nbformat import v4

from tests import notebooks
from tests.notebooks import __main__ as command
from tests.notebooks import chosen
from tests.notebooks.execution import WIDGET, differences, written

SOURCES = [
    "import sys, time\nimport symdiff as sd\nx = sd.symbol('x')",
    "print(1)\nsys.stdout.flush()\ntime.sleep(0.1)\nprint(2)\nsd.sin(x).diff(x)",
    "time.perf_counter()",
    "from ipywidgets import IntSlider\nIntSlider()",
    "import os\n[key in os.environ for key in ('SYMDIFF_RECORD', 'NOWHERE')], sd.__file__",
    "from matplotlib import pyplot as plt\nplt.plot([1, 2])\nplt.title('planted')\nplt.show()",
]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """One notebook that has not run; the command finds it."""
    cells = [v4.new_code_cell(source, id=f"cell-{k}") for k, source in enumerate(SOURCES)]
    cells[2].metadata["tags"] = ["varies"]
    (tmp_path / "planted.ipynb").write_text(written(v4.new_notebook(cells=cells)))
    monkeypatch.setattr(notebooks, "FOLDER", tmp_path)
    return tmp_path


def run(monkeypatch, capsys, *arguments):
    """The status of the command, and what it prints."""
    monkeypatch.setattr(sys, "argv", ["tests.notebooks", *arguments])
    with pytest.raises(SystemExit) as done:
        command.main()
    return done.value.code, capsys.readouterr().out


@pytest.mark.slow
def test_what_is_saved_is_compared(folder, monkeypatch, capsys):
    path = folder / "planted.ipynb"
    assert run(monkeypatch, capsys)[0] == 0
    saved = nbformat.read(path, as_version=4)
    printed, shown = saved.cells[1].outputs
    assert printed.text == "1\n2\n"  # one output, however it came
    assert r"\cos" in shown.data["text/latex"]
    assert saved.cells[3].outputs == []  # the widget
    # The packages are those of this tree, and what other packages say is read.
    assert saved.cells[4].outputs[0].data["text/plain"] == repr(
        ([True, False], str(notebooks.ROOT / "symdiff" / "__init__.py"))
    )
    said, picture = saved.cells[5].outputs
    assert (said.name, said.text.splitlines()[0]) == ("stderr", "numbers along x without a label")
    assert "image/png" in picture.data

    path.write_text(path.read_text().replace("cos", "cosh"))
    before = path.read_text()
    status, said = run(monkeypatch, capsys, "--compare", "planted")
    assert status == 1
    assert "cell-1:" in said
    assert "cell-2" not in said
    assert path.read_text() == before  # nothing is saved

    path.write_text(before.replace("perf_counter", "nothing"))
    before = path.read_text()
    status, said = run(monkeypatch, capsys)
    assert status == 1
    assert "AttributeError" in said
    assert path.read_text() == before  # a notebook that fails is not saved


def test_a_name_that_no_notebook_has_is_refused(folder, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["tests.notebooks", "nothing"])
    with pytest.raises(SystemExit, match="no notebook is called nothing"):
        command.main()
    assert [path.name for path in chosen("other", "plan")] == ["planted.ipynb"]


def shown():
    """A cell that prints and shows, one that shows a picture, and one that varies."""
    data = {"text/plain": "2*x", "text/latex": "$2 x$", "text/html": "<p>2 x</p>"}
    picture = {"text/plain": "<Figure>", "image/png": "AAAA"}
    return v4.new_notebook(
        cells=[
            v4.new_code_cell(
                "",
                id="both",
                outputs=[
                    v4.new_output("stream", name="stdout", text="one\ntwo\n"),
                    v4.new_output("execute_result", data),
                ],
            ),
            v4.new_code_cell("", id="picture", outputs=[v4.new_output("display_data", picture)]),
            v4.new_code_cell(
                "",
                id="varying",
                metadata={"tags": ["varies"]},
                outputs=[v4.new_output("stream", name="stdout", text="0.1 s")],
            ),
            v4.new_code_cell(
                "",
                id="widget",
                outputs=[v4.new_output("display_data", {WIDGET: {}, "text/plain": "IntSlider()"})],
            ),
        ]
    )


def _changed(place, output, **values):
    def change(notebook):
        target = notebook.cells[place].outputs[output]
        getattr(target, "data", target).update(values)

    return change


PLANTED = {
    "nothing": (None, lambda notebook: None),
    "a printed line": ("both", _changed(0, 0, text="one\nthree\n")),
    "a line more": ("both", _changed(0, 0, text="one\ntwo\n\n")),
    "where it is printed": ("both", _changed(0, 0, name="stderr")),
    "a formula": ("both", _changed(0, 1, **{"text/latex": "$3 x$"})),
    "a text": ("both", _changed(0, 1, **{"text/plain": "3*x"})),
    "a table": ("both", _changed(0, 1, **{"text/html": "<p>3 x</p>"})),
    "the order of outputs": ("both", lambda notebook: notebook.cells[0].outputs.reverse()),
    "an output less": ("both", lambda notebook: notebook.cells[0].outputs.pop()),
    "a type more": ("both", _changed(0, 1, **{"text/markdown": ""})),
    "the bytes of a picture": (None, _changed(1, 0, **{"image/png": "BBBB"})),
    "no picture": ("picture", lambda notebook: notebook.cells[1].outputs[0].data.pop("image/png")),
    "a text that varies": (None, _changed(2, 0, text="0.2 s")),
    "nothing printed where it varies": ("varying", lambda nb: nb.cells[2].outputs.clear()),
    "a widget": (None, lambda notebook: notebook.cells[3].outputs.clear()),
}


@pytest.mark.parametrize("name", PLANTED)
def test_planted_differences_are_found(name):
    where, change = PLANTED[name]
    fresh = deepcopy(shown())
    change(fresh)
    found = differences(shown(), fresh)
    assert [said.partition(":")[0] for said in found] == [where][: where is not None]


def test_a_long_difference_is_cut():
    fresh = shown()
    fresh.cells[0].outputs[0].text = "line\n" * 100
    (said,) = differences(shown(), fresh)
    assert said.endswith("lines more")
    assert said.count("\n") < 20
