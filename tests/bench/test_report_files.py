"""From a report to a folder. Jobs run in this process."""

import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from bench.small_reports import (
    CORRUPTION,
    FORMATS,
    NETWORK,
    ON_RANDOM,
    ON_TRUTH,
    assert_links_lead_somewhere,
    result_of,
    small,
    write_undrawn,
    written,
)
from bench.small_studies import diligent, write_table
from disambig._core.errors import StudyError
from disambig.bench import StudyResult, make_report, to_latex, to_markdown, write_report
from disambig.bench.formats import list_markdown
from disambig.bench.run_table import accuracy_by_epoch, study_scores


def test_every_table_every_figure_all_scores_and_a_page_are_written(tmp_path):
    entry = {"name": "glass", "corruption": CORRUPTION}
    metrics = ["accuracy", "transductive_accuracy"]
    study = small("plknn", "sure", datasets=[entry], metrics=metrics)
    report = make_report(result_of(study))
    page = write_report(report, tmp_path / "new" / "out")
    assert page == tmp_path / "new" / "out" / "report.md"
    expected = {"report.md", "jobs.csv", "study.json"}
    expected |= {f"{name}.{suffix}" for name in report.tables for suffix in FORMATS}
    expected |= {f"{name}.{suffix}" for name in report.charts for suffix in ("png", "svg")}
    assert {path.name for path in page.parent.iterdir()} == expected
    assert len(expected) == 3 + 3 * 6 + 2 * 2
    for path in page.parent.iterdir():
        if path.suffix == ".png":
            assert path.read_bytes().startswith(b"\x89PNG")
        elif path.suffix == ".svg":
            assert "<svg" in path.read_text("utf-8")
    assert_links_lead_somewhere(page)


def test_the_page_has_every_figure_every_table_and_how_it_was_made(plain, tmp_path):
    missing = ("Missing: a. Get it.", "Missing: b. Get it.")
    report = make_report(plain.result, missing=missing)
    text = write_undrawn(report, tmp_path, command="disambig study s.toml").read_text("utf-8")
    assert report.verdict.startswith("PLKNN (0.")
    assert text.startswith(
        f"# small\n\n{report.verdict}\n\nWhat there is to know.\n\nMade by `disambig study s.toml`"
    )
    assert "Protocol: 2 folds, seed 0. 8 jobs, 0 failed; [jobs.csv](jobs.csv)" in text
    for line in missing:
        assert f"\n- {line}\n" in text
    assert f"## What was found\n\n{list_markdown(report.brief)}" in text
    assert f"### In detail\n\n{list_markdown(report.findings)}" in text
    for name in report.charts:
        assert f"]({name}.svg)" in text
    for name in report.tables:
        assert (tmp_path / f"{name}.md").read_text("utf-8").strip() in text
    assert "\n\n\n" not in text
    assert "What failed" not in text
    assert text.endswith("\n")
    assert not text.endswith("\n\n")
    assert "Made with disambig" in write_undrawn(report, tmp_path).read_text("utf-8")


def test_the_same_records_give_the_same_bytes(tmp_path):
    entry = {"name": "glass", "corruption": CORRUPTION}
    result = result_of(small("plknn", "sure", datasets=[entry]))
    folders = [write_report(make_report(result), tmp_path / name).parent for name in "ab"]
    first, second = ({p.name: p.read_bytes() for p in one.iterdir()} for one in folders)
    assert first == second


def test_records_can_be_read_back(plain, tmp_path):
    frame = pd.read_csv(write_undrawn(plain, tmp_path).with_name("jobs.csv"))
    assert frame.columns.tolist() == plain.scores.columns.tolist()
    assert frame["key"].tolist() == plain.scores["key"].tolist()
    np.testing.assert_allclose(frame["accuracy"], plain.scores["accuracy"], rtol=1e-5)


def test_epochs_have_a_figure_for_every_setting_of_the_data(data, tmp_path):
    methods = [
        {"name": "ncpd", "parameters": NETWORK},
        {"name": "ncpd", "title": "w/o NC", "parameters": NETWORK | {"cooperation": False}},
    ]
    study = small(
        *methods,
        datasets=[data, data | {"title": "small raw", "corruption": CORRUPTION}],
        protocol={"folds": 2, "by_epoch": True},
    )
    report, page = written(study, tmp_path / "out")
    assert next(iter(report.charts)) == "epochs_small"
    epochs = {name: one for name, one in report.charts.items() if name.startswith("epochs")}
    assert list(epochs) == ["epochs_small", "epochs_small_raw_p0.2_r1", "epochs_small_raw_p0.6_r1"]
    chart = epochs["epochs_small_raw_p0.2_r1"]
    assert chart.title == "small raw, p=0.2, r=1"
    curves = accuracy_by_epoch(report.result)["small raw, p=0.2, r=1"]
    for one, runs in zip(chart.series, curves.values(), strict=True):
        np.testing.assert_allclose(one.y, np.mean(runs, axis=0))
    for name in epochs:
        rows = pd.read_csv(page.parent / f"{name}.csv").groupby("line", sort=False)
        for one, (line, points) in zip(epochs[name].series, rows, strict=True):
            assert line == one.name
            for column, values in zip(points.columns[1:], (one.x, one.y, one.errors), strict=True):
                np.testing.assert_allclose(points[column], values, rtol=1e-5)
        assert (page.parent / f"{name}.png").is_file()
        assert (page.parent / f"{name}.svg").is_file()
        assert f"({name}.svg)" in page.read_text("utf-8")
    assert_links_lead_somewhere(page)


@pytest.mark.parametrize("name", ["two words (1)", "50%41#x?y\\z"])
def test_data_with_any_name_has_figures_that_links_lead_to(name, table, tmp_path):
    odd = table.rename(tmp_path / f"{name}.csv")
    study = small(
        {"name": "ncpd", "parameters": NETWORK},
        datasets=[{"path": str(odd), "truth": "truth"}],
        protocol={"folds": 2, "by_epoch": True},
    )
    report, page = written(study, tmp_path / "out")
    assert len(report.charts) == 2
    assert [row[0] for row in report.tables["accuracy"].rows] == [name, "win/tie/loss"]
    assert_links_lead_somewhere(page)
    for path in page.parent.iterdir():
        assert not re.search(r'[<>:"/\\|?*]', path.name), "not a file name everywhere"


def test_latex_escapes_names_of_data_and_methods(table, tmp_path):
    odd = table.rename(tmp_path / "50%_&_#1 $x^2$ {y}~.csv")
    study = small(
        {"name": "plknn", "title": r"a_b & 100% \ours"},
        "sure",
        datasets=[{"path": str(odd), "truth": "truth", "corruption": CORRUPTION}],
    )
    for name, one in make_report(result_of(study)).tables.items():
        text = to_latex(one)
        assert text.isascii()
        if name != "accuracy_wins":
            assert r"a\_b \& 100\% \textbackslash{}ours" in text
        if name != "accuracy_tests":
            shown = r"50\%\_\&\_\#1 \$x\textasciicircum{}2\$ \{y\}\textasciitilde{}"
            assert f"\n{shown}, " in text
        for line in text.splitlines():
            bare = re.sub(r"\\[%&#_${}\\]", "", line)
            assert not re.search(r"[%#_~^]", bare), line
            assert bare.count("{") == bare.count("}"), line
            if line.endswith(r" \\"):
                columns = re.search(r"\\begin{tabular}{(l+r*)}", text).group(1)
                assert bare.count("&") == len(columns) - 1, line


def test_markdown_escapes_names_in_findings_and_headings_too(data, tmp_path):
    study = small({"name": "plknn", "title": "*ours*"}, "sure", datasets=[data])
    _, page = written(study, tmp_path / "out")
    lines = [line for line in page.read_text("utf-8").splitlines() if "ours" in line]
    assert len(lines) > 5
    for line in lines:
        assert re.search(r"\\\*ours\\\*", line), line


def test_a_failure_with_a_long_message_stays_one_entry_of_the_list(data, tmp_path):
    result = result_of(small("plknn", diligent(fails_without=7), datasets=[data]))
    ((_, record),) = result.failed
    error = record.error | {"message": "first\udcff\n\n# second\n- third"}
    records = result.records | {record.key: replace(record, error=error)}
    page = write_undrawn(make_report(StudyResult(result.plan, records)), tmp_path / "out")
    text = page.read_text("utf-8")
    assert "\n# second" not in text
    assert "\n- third" not in text
    assert "first\\udcff" in text.partition("## What failed")[2].replace("\\\\", "\\")


def test_every_table_with_columns_of_methods_has_both_baselines():
    report = make_report(result_of(small("plknn", "sure", metrics=["accuracy", "covering_rate"])))
    for metric in ("accuracy", "covering_rate"):
        assert report.tables[metric].header[-2:] == (ON_RANDOM, ON_TRUTH)
        assert [row[0] for row in report.tables[f"{metric}_tests"].rows[-2:]] == [
            ON_RANDOM,
            ON_TRUTH,
        ]
        for render in FORMATS.values():
            assert ON_RANDOM in render(report.tables[metric])
            assert ON_TRUTH in render(report.tables[metric])


def test_published_figures_stand_beside_ours_in_a_table_of_their_own():
    published = {"glass": {"PLKNN": (0.5, 0.01)}, "elsewhere": {"PLKNN": (0.4, 0.02)}}
    report = make_report(result_of(small("plknn")), published=published)
    ours = report.tables["accuracy"].rows[0][1]
    on_random, on_truth = report.tables["accuracy"].rows[0][2:]
    assert list(report.tables) == ["accuracy", "published", "accuracy_tests"]
    assert report.tables["published"].header == ("data", "", "PLKNN", ON_RANDOM, ON_TRUTH)
    assert report.tables["published"].rows == (
        ("glass", "ours", ours, on_random, on_truth),
        ("", "paper", "0.500 ± 0.010", "-", "-"),
    )


def test_published_figures_of_other_data_have_no_table():
    published = {"elsewhere": {"PLKNN": (0.4, 0.02)}}
    report = make_report(result_of(small("plknn")), published=published)
    assert list(report.tables) == ["accuracy", "accuracy_tests"]


def test_the_page_goes_from_what_was_found_to_the_long_table(data, tmp_path):
    entry = data | {"corruption": {"p": [0.2, 0.6], "r": [1, 2]}}
    published = {"small": {"PLKNN": (0.5, 0.01)}}
    result = result_of(small("plknn", "sure", diligent(), datasets=[data, entry]))
    report = make_report(result, published=published)
    text = write_undrawn(report, tmp_path / "out").read_text("utf-8")
    parts = [
        "## What was found",
        report.brief[0],
        "### In detail",
        report.findings[0],
        f"## {report.tables['accuracy_wins'].title}",
        "](accuracy_curves_r1.svg)",
        "](accuracy_curves_r2.svg)",
        "The band around PLKNN is one standard error of the mean over 2 runs",
        "](accuracy_dots.svg)",
        "bars are one standard error of the mean over 2 runs",
        "## Accuracy beside the paper's",
        f"## {report.tables['accuracy_tests'].title}",
        f"## {report.tables['accuracy'].title}",
    ]
    places = [text.index(part) for part in parts]
    assert places == sorted(places)
    # All r in one figure are too small for a page, and a file all the same.
    assert "(accuracy_curves.svg)" not in text
    assert (tmp_path / "out" / "accuracy_curves.png").is_file()


@pytest.mark.parametrize("n_settings", [29, 30])
def test_a_table_of_more_than_thirty_rows_is_a_link(n_settings, data, tmp_path):
    ps = [round(0.01 * (i + 1), 2) for i in range(n_settings)]
    entry = data | {"corruption": {"p": ps, "r": 1}}
    study = small("plknn", datasets=[entry], protocol={"kind": "holdout"})
    report, page = written(study, tmp_path / "out")
    text, table = page.read_text("utf-8"), to_markdown(report.tables["accuracy"])
    assert len(report.tables["accuracy"].rows) == n_settings + 1
    assert (table in text) == (n_settings == 29)
    assert ("[accuracy.md](accuracy.md)" in text) == (n_settings == 30)
    assert f"## {report.tables['accuracy'].title}" in text
    assert_links_lead_somewhere(page)


def test_data_whose_names_make_the_same_file_name_have_figures_of_their_own(table, tmp_path):
    again = write_table(tmp_path / "a b.csv")
    odd = table.rename(tmp_path / "a?b.csv")
    study = small(
        {"name": "ncpd", "parameters": NETWORK},
        datasets=[{"path": str(path), "truth": "truth"} for path in (again, odd)],
        protocol={"folds": 2, "by_epoch": True},
    )
    report = make_report(result_of(study))
    assert list(report.charts)[:2] == ["epochs_a_b", "epochs_a_b_2"]


def test_columns_of_jobs_are_the_same_whatever_failed_first(data):
    tuned = {"name": "plknn", "grid": {"n_neighbors": [2, 5]}}
    plain = study_scores(result_of(small("plknn", datasets=[data])))
    failing = study_scores(result_of(small(diligent(fails_without=-1), tuned, datasets=[data])))
    assert plain.columns.tolist() == failing.columns.tolist()
    steps = ["choose_seconds", "fit_seconds", "predict_seconds"]
    first = plain.columns.tolist().index(steps[0])
    assert plain.columns.tolist()[first : first + 3] == steps
    assert plain["choose_seconds"].isna().all()


def test_the_reference_of_the_study_stands_out_in_its_charts():
    entry = {"name": "glass", "corruption": CORRUPTION}
    report = make_report(result_of(small("plknn", "sure", datasets=[entry], reference="SURE")))
    panel = report.charts["accuracy_curves"].panels["glass", 1]
    assert [one.name for one in panel.series if one.style.is_strong] == ["SURE"]


def test_without_matplotlib_everything_else_is_written_and_the_page_says_why(tmp_path):
    # In a process of its own, because others here draw. Then matplotlib comes, but not pyplot.
    code = """
import sys
from pathlib import Path

sys.modules["matplotlib"] = None
from bench.small_reports import result_of, small
from disambig.bench import make_report, write_report
from disambig.web import study_page

report = make_report(result_of(small("plknn", "sure")))
folder = Path(sys.argv[1])
page = write_report(report, folder / "without", html=study_page(report)).read_text("utf-8")
assert "pip install 'disambig[figures]'" in page
assert ".svg" not in page
assert not list(folder.glob("*/*.png")) + list(folder.glob("*/*.svg"))
assert (folder / "without" / "report.html").is_file()
assert (folder / "without" / "accuracy.tex").is_file()
del sys.modules["matplotlib"]
page = write_report(report, folder / "with").read_text("utf-8")
assert "disambig[figures]" not in page
assert (folder / "with" / "accuracy_dots.png").is_file()
assert "matplotlib.pyplot" not in sys.modules
"""
    tests = Path(__file__).parents[1]
    subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=True, cwd=tests)


@pytest.mark.parametrize("name", ["report.md", "accuracy.csv", "accuracy_wins.tex", "study.json"])
def test_a_file_that_no_study_wrote_is_refused(plain, tmp_path, name):
    (tmp_path / name).write_text("mine")
    with pytest.raises(StudyError, match=f"has a file {name} that no study wrote"):
        write_undrawn(plain, tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == [name]
    assert (tmp_path / name).read_text() == "mine"


def test_files_under_other_names_and_earlier_reports_are_fine(plain, tmp_path):
    (tmp_path / "notes.md").write_text("mine")
    (tmp_path / "accuracy").mkdir()
    page = write_undrawn(plain, tmp_path)
    before = page.read_bytes()
    page.write_text("an old report")
    write_undrawn(plain, tmp_path)
    assert page.read_bytes() == before
    assert (tmp_path / "notes.md").read_text() == "mine"


def test_a_report_that_was_begun_is_known_by_its_first_file(plain, tmp_path, monkeypatch):
    def stop(*_arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr("disambig.bench.report._write_figures", stop)
    with pytest.raises(KeyboardInterrupt):
        write_report(plain, tmp_path)
    assert (tmp_path / "accuracy.md").exists()
    monkeypatch.undo()
    assert write_undrawn(plain, tmp_path).exists()
