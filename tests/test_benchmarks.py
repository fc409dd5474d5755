"""The benchmark measures the same numbers: every workload once, tiny, and no clock."""

import importlib.util
import json
import math
import re
from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pytest

from benchmarks import costs, page, report
from benchmarks.contestants import Failed, Local, Remote
from benchmarks.declarations import Case, Task, difference
from benchmarks.libraries import MODULES
from benchmarks.rounds import NATIVE, OURS, Effort, Outcome, Timing, measure
from benchmarks.targets import TARGETS, applies, verdicts
from benchmarks.workloads import CASES, WORKLOADS, elementwise, linear_algebra, models
from numeric.lowering import costs as lowering_costs

ONCE = Effort(rounds=1, span=0.0, pause=0.0, dear=math.inf, patience=math.inf)


def _pairs():
    for w in WORKLOADS:
        for library in w.contestants()[1:]:
            # Ten nested gradients compile for half a minute.
            long = library == "jax" and w.task is Task.DERIVATIVE
            marks = [pytest.mark.slow] if long else []
            yield pytest.param(w, library, id=f"{w.name}-{library}", marks=marks)


@pytest.mark.slow
@pytest.mark.parametrize(("workload", "library"), list(_pairs()))
@pytest.mark.filterwarnings("default")  # those of peers are theirs
def test_contestants_compute_what_ours_does(workload, library):
    module = MODULES.get(library, library)
    if importlib.util.find_spec(module) is None:
        pytest.skip(f"{module} is not installed")
    case = Case(workload, "tiny")
    assert difference(Local(OURS, case).first(), Local(library, case).first()) is None


def test_every_formula_is_also_written_by_hand_and_without_the_library():
    formulas = [w for w in WORKLOADS if w.task is not Task.PROGRAM]
    assert [w.name for w in formulas if w.hand is None] == []
    for field in (elementwise, linear_algebra, models):
        assert {"symdiff", "numeric", "sd", "nm"}.isdisjoint(vars(field))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("planted", "words"),
    [
        (lambda v, g: [v, g * (1 + 1e-6)], "array 1 differs by 1e-06"),
        (lambda v, g: [v, g + 1e-3 * (g == g[-1])], "array 1 differs by"),
        (lambda v, g: [v, g[1:]], "5 numbers instead of 6"),
        (lambda v, g: [v * np.nan, g], "array 0 is not finite"),
    ],
    ids=("slightly", "one place", "a number too few", "nan"),
)
def test_a_wrong_peer_is_refused_before_anything_is_timed(planted, words):
    chained = next(w for w in WORKLOADS if w.name == "chained Rosenbrock")
    wrong = replace(chained, hand=lambda x: planted(*chained.hand(x)))
    outcome = measure(Case(wrong, "tiny"), [OURS, "hand", "naive"], Local, ONCE)
    assert outcome.timings["hand"].refused.startswith(f"WRONG: {words}")
    assert outcome.timings["hand"].call == []
    assert outcome.wrong() == ["hand"]
    assert outcome.ratio("hand") is None
    assert len(outcome.timings["naive"].call) == len(outcome.timings[OURS].lower) == 1


def test_a_contestant_in_a_process_gives_the_same_numbers():
    case = next(case for case in CASES if case.name.startswith("6 "))
    remote = Remote("hand", case, patience=60)
    try:
        assert difference(Local(OURS, case).first(), remote.first()) is None
        assert remote.stages(1).lower is None
    finally:
        remote.close()


def test_a_contestant_that_fails_says_why():
    case = next(w for w in CASES if w.workload.task is Task.HESSIAN)
    remote = Remote("lambdify", case, patience=60)  # scalars only
    try:
        with pytest.raises(Failed, match="raises "):
            remote.first()
    finally:
        remote.close()


@pytest.mark.slow
def test_a_peer_that_is_not_installed_is_skipped_and_said_so(tmp_path, monkeypatch):
    (tmp_path / "casadi.py").write_text("raise ImportError('planted')\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    case = next(case for case in CASES if "casadi" in case.workload.peers)
    outcome = measure(case, [OURS, "casadi"], lambda *which: Remote(*which, patience=60), ONCE)
    assert outcome.timings["casadi"].refused == "is not installed (planted)"
    assert outcome.wrong() == []
    assert "is not installed" in "\n".join(report.lines(outcome))


def test_a_peer_that_takes_too_long_is_given_up():
    case = next(w for w in CASES if w.workload.task is Task.HESSIAN)
    remote = Remote("hand", case, patience=0.0)
    try:
        with pytest.raises(Failed, match="takes longer than 0 s"):
            remote.first()
    finally:
        remote.close()


def test_ours_failing_stops_the_case_and_is_told():
    def start(library, case):
        contestant = Local(library, case)
        if library == OURS:
            contestant.first = failing
        return contestant

    def failing():
        raise Failed("raises ValueError: planted")

    case = Case(next(w for w in WORKLOADS if w.naive), "tiny")
    outcome = measure(case, [OURS, "hand"], start, ONCE)
    assert outcome.wrong() == [OURS]
    assert outcome.timings["hand"].call == []


@pytest.mark.slow
def test_symbols_are_new_in_every_round():
    names = []

    def recorded(np, x):
        names.append(x.name)
        return elementwise.chained(np, x)

    chained = next(w for w in WORKLOADS if w.name == "chained Rosenbrock")
    case = Case(replace(chained, formula=recorded), "tiny")
    # Once for the check, once a round, once for the count of operations.
    measure(case, [OURS], Local, replace(ONCE, rounds=3))
    assert len(names) == len(set(names)) == 5


def test_names_are_unique_and_every_target_has_its_case_and_peer():
    assert len({case.name for case in CASES}) == len(CASES)
    for target in TARGETS:
        cases = [case for case in CASES if applies(target, case.name)]
        assert cases, target
        assert not target.than or target.than in {case.name for case in CASES}
        assert all(target.peer in case.workload.contestants() for case in cases), target


def test_ratios_are_medians_of_rounds_and_are_judged():
    case = next(case for case in CASES if case.name == "2 chained Rosenbrock n=1000")
    timings = {
        OURS: Timing(call=[1.0, 4.0, 3.0]),
        "hand": Timing(call=[2.0, 4.0, 1.0]),  # 0.5, 1, 3
        "jax": Timing(refused="is not installed"),
    }
    outcome = Outcome(case, timings, (100, 401))
    assert outcome.ratio("hand") == 1.0
    own = [v for v in verdicts([outcome]) if v.target.own == OURS]
    found = {(v.target.peer, v.target.what): v for v in own}
    assert found["hand", "call"].reached(1.1) is True
    assert found["hand", "call"].reached(0.9) is False
    assert found["jax", "call"].reached(1.0) is None
    growth = found[OURS, "operations"]
    assert growth.reached(growth.target.must) is False
    text = "\n".join(report.judged(found.values()))
    assert "must 1.1 reached" in text
    assert "must 1 not measured" in text
    assert "4.01  must 4 NOT REACHED" in text


def test_a_target_may_be_ours_at_another_case():
    target = next(target for target in TARGETS if target.than)
    cases = {case.name: case for case in CASES}
    names = next(name for name in cases if applies(target, name)), target.than
    seconds = ([6.0], [2.0])
    outcomes = [
        Outcome(cases[name], {OURS: Timing(call=calls)})
        for name, calls in zip(names, seconds, strict=True)
    ]
    for measured, found in ((outcomes, 3.0), (outcomes[:1], None)):
        (verdict,) = [v for v in verdicts(measured) if v.target == target]
        assert verdict.measured == found
    text = "\n".join(report.judged(verdicts(outcomes)))
    assert f"ours, {target.than}" in text
    assert "3  must 5 reached" in text


def test_the_table_has_ratios_of_both_back_ends():
    case = next(case for case in CASES if case.name == "2 chained Rosenbrock n=1000")
    timings = {
        OURS: Timing(call=[1.0, 4.0, 3.0]),
        NATIVE: Timing(call=[0.5, 1.0, 1.5]),
        "hand": Timing(call=[2.0, 4.0, 1.0]),
        "jax": Timing(refused="is not installed"),
    }
    heads, _, row, _, about = "\n".join(report.table([Outcome(case, timings)])).split("\n")
    assert heads == "| a call of | NumPy by hand |"
    assert row == "| chained Rosenbrock n=1000: value and gradient | 1 / 0.25 |"
    assert f"numpy {np.__version__}" in about


def test_differential_equations_of_jax_are_diffraxs():
    case = next(case for case in CASES if "diffrax" in case.workload.peers)
    timings = {OURS: Timing(call=[1.0]), NATIVE: Timing(call=[2.0]), "diffrax": Timing(call=[4.0])}
    heads, _, row, *_ = report.table([Outcome(case, timings)])
    assert heads == "| a call of | `jax.jit` |"
    assert row == f"| {report.row_name(case)} | 0.25 / 0.5 |"


@pytest.mark.slow
def test_files_are_written(tmp_path):
    case = Case(next(w for w in WORKLOADS if w.naive), "tiny")
    outcome = measure(case, [OURS, "hand", "naive"], Local, ONCE)
    recorded = report.record([outcome], list(verdicts([outcome])), ONCE)
    read = json.loads(report.write(tmp_path / "new", recorded).read_text())
    assert set(read["cases"][0]["contestants"]) == {OURS, "hand", "naive"}
    assert read["machine"]["versions"]["numpy"] == np.__version__
    picture = report.plot(tmp_path, recorded).read_bytes()
    assert picture.startswith(b"\x89PNG")


# The page on speed --------------------------------------------------------------------------------


def ratios_of(text):
    """How many ratios each line of a table has, by splitting alone."""
    rows = [line for line in text.splitlines() if line.startswith("| ")][1:]
    return [len(re.findall(r"[\d.e-]+(?= [/|])", row.split(" | ", 1)[1])) for row in rows]


def test_the_page_has_every_case_in_order_and_columns_of_the_report():
    shown = page.read(page.PAGE.read_text(encoding="utf-8"))
    cases = [case for case in CASES if case.workload.task is not Task.PROGRAM]
    assert list(shown.rows) == [report.row_name(case) for case in cases]
    assert shown.peers == [name.strip("`") for name in report._COLUMNS.values()]
    for case in cases:
        cells = dict(zip(report._COLUMNS, shown.rows[report.row_name(case)], strict=True))
        there = {*case.workload.contestants()}
        there |= {peer for peer, others in report._BY.items() if there & {*others}}
        assert {peer for peer, cell in cells.items() if cell} <= there


def test_the_chart_is_that_of_the_page():
    text = page.PAGE.read_text(encoding="utf-8")
    assert page.CHART.read_text(encoding="utf-8") == page.chart(page.read(text))
    assert f"](images/{page.CHART.name})" in text


def test_the_chart_has_a_mark_for_every_ratio():
    text = page.PAGE.read_text(encoding="utf-8")
    root = ElementTree.fromstring(page.chart(page.read(text)))
    marks = [node for node in root.iter() if node.get("class") == "ratio"]
    assert len(marks) == sum(ratios_of("\n".join(page.lines(text)))) > 200


def test_marks_stand_by_powers_of_ten_and_beyond_the_axis_are_arrows():
    rows = {"a: value": [[0.001, 1.0]], "b: value": [[100.0]], "c: value": [[1e-4, 200.0]]}
    root = ElementTree.fromstring(page.chart(page.Table(["peer"], rows)))
    marks = [node for node in root.iter() if node.get("class") == "ratio"]
    left, right = page.NAMES, page.NAMES + page.PANEL
    places = [float(mark.get("cx")) for mark in marks if mark.get("cx")]
    assert places == pytest.approx([left, left + 0.6 * page.PANEL, right], abs=0.05)
    assert [mark.get("d")[:4] for mark in marks if mark.get("d")] == [f"M{left}", f"M{right}"]
    assert "less in 2 / 0 of 3" in ElementTree.tostring(root, encoding="unicode")


def test_a_new_table_goes_into_the_page(tmp_path, monkeypatch):
    old = "# Speed\n\n| a call of | CasADi |\n|---|---:|\n| f: value | 1 / 2 |\n\nMore | text.\n"
    new = "| a call of | heyoka |\n|---|---:|\n| g: value | 0.5 |\n\nEPYC, 2 cores.\n"
    for name, text in {"PAGE": old, "CHART": "", "table": new}.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
        monkeypatch.setattr(page, name, tmp_path / name, raising=False)
    monkeypatch.setattr("sys.argv", ["page", "--table", str(tmp_path / "table")])
    page.main()
    assert page.PAGE.read_text() == (
        "# Speed\n\n| a call of | heyoka |\n|---|---:|\n| g: value | 0.5 |\n\nMore | text.\n"
    )
    assert ">heyoka<" in page.CHART.read_text()
    page.PAGE.write_text("# Speed\n")
    with pytest.raises(ValueError, match="0 tables start with"):
        page.main()


def test_each_cost_of_lowering_is_measured_or_a_choice(monkeypatch):
    monkeypatch.setattr(costs, "_OUTSIDE", 2**12)
    rows = costs.measured(0.0)
    assert all(0 < row.measured < math.inf for row in rows)
    named = {row.name for row in rows} | costs.CHOICES.keys()
    numbers = vars(lowering_costs).items()
    wanted = {name for name, value in numbers if type(value) in (int, float)}
    for name, prices in numbers:
        if isinstance(prices, lowering_costs.Costs):
            defaults = prices._field_defaults if name == "FLOATS" else {}
            wanted |= {f"{name}.{part}" for part in prices._fields if part not in defaults}
    assert named == wanted
    assert all(re.search(rf"^{row.name} ", costs.table(rows), re.MULTILINE) for row in rows)
