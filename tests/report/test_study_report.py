"""From the records of a study to a folder with its report. Jobs run in this process."""

import csv
import io
import json
import re
from dataclasses import replace
from urllib.parse import unquote

import numpy as np
import pandas as pd
import pytest

from disambig import DisambigError
from disambig.report import make_report, to_csv, to_latex, to_markdown, write_report
from disambig.report.scores import accuracy_by_epoch, study_scores
from disambig.study import METRICS, Study, StudyResult
from disambig.study.execute import execute, failure
from disambig.study.plan import make_plan
from study.small_studies import own, write_table

NETWORK = {"hidden": 8, "epochs": 3, "ramp_epochs": 2}
CORRUPTION = {"p": [0.2, 0.6], "r": 1}
FLOOR, CEILING = "random candidate (floor)", "oracle (ceiling)"
FORMATS = {"md": to_markdown, "tex": to_latex, "csv": to_csv}


def result_of(study):
    """Run all jobs of a study here, without a store."""
    plan = make_plan(study)
    outcomes = [execute(planned.dataset, [planned.job]) for planned in plan.jobs]
    return StudyResult(plan, {record.key: record for ((record, _),) in outcomes})


def small(*methods, **settings):
    defaults = {"name": "small", "datasets": ["glass"], "protocol": {"folds": 2}}
    return Study(**{**defaults, "methods": list(methods), **settings})


def written(study, folder):
    """Run a study, write its report, and return what was made and where it is."""
    report = make_report(result_of(study))
    return report, write_report(report, folder)


def assert_links_lead_somewhere(page):
    """Check that every link is one that Markdown reads whole, and leads to a file."""
    links = re.findall(r"!?\[[^]]*\]\((.*)\)$", page.read_text("utf-8"), flags=re.MULTILINE)
    assert links
    for link in [*links, "jobs.csv"]:
        assert re.fullmatch(r"<[^<>]+>|[^\s()<>]+", link), f"Markdown ends {link!r} early"
        assert (page.parent / unquote(link.strip("<>"))).is_file(), link


def rows_of(path):
    header, *rows = csv.reader(io.StringIO(path.read_text("utf-8")))
    return header, {row[0]: dict(zip(header[1:], row[1:], strict=True)) for row in rows}


@pytest.fixture(scope="module")
def plain():
    """Return a report that several tests look at: two methods on one dataset with its own sets."""
    return make_report(result_of(small("plknn", "sure", about="What there is to know.\n")))


@pytest.fixture
def table(tmp_path):
    return write_table(tmp_path / "small.csv")


@pytest.fixture
def data(table):
    return {"path": str(table), "truth": "truth"}


# Scores ------------------------------------------------------------------------------------------


def test_there_is_a_row_of_scores_for_every_job_in_the_order_of_the_plan(data):
    entries = ["glass", data | {"corruption": CORRUPTION}]
    tuned = {"name": "plknn", "grid": {"n_neighbors": [2, 5]}}
    study = small(tuned, "sure", datasets=entries, protocol={"folds": 2, "inner_folds": 2})
    result = result_of(study)
    scores = study_scores(result)
    assert len(scores) == len(result.plan.jobs) == 3 * 4 * 2
    for (_, row), (planned, record) in zip(scores.iterrows(), result.jobs(), strict=True):
        assert row["key"] == planned.job.key
        assert row["method"] == planned.method_title
        assert row["data"] == planned.data_title
        assert (row["seed"], row["fold"]) == (planned.job.split.seed, planned.job.split.fold)
        assert {name: row[name] for name in METRICS} == record.metrics
        assert row["fit_seconds"] == record.seconds["fit"]
    assert scores["dataset"].unique().tolist() == ["glass", "small"]
    assert scores["data"].unique().tolist() == ["glass", "small, p=0.2, r=1", "small, p=0.6, r=1"]
    assert scores["p"].dropna().unique().tolist() == [0.2, 0.6]
    assert scores.loc[scores["data"] == "glass", ["p", "r"]].isna().all(axis=None)
    roles = dict(zip(scores["method"], scores["role"], strict=True))
    assert roles == {
        "PLKNN": "method",
        "SURE": "method",
        "random candidate": "floor",
        "oracle": "ceiling",
    }
    is_tuned = scores["method"] == "PLKNN"
    assert set(scores.loc[is_tuned, "selection"]) == {"covering_rate"}
    assert {json.loads(text)["n_neighbors"] for text in scores.loc[is_tuned, "chosen"]} <= {2, 5}
    assert scores.loc[~is_tuned, ["selection", "chosen"]].isna().all(axis=None)


def test_what_failed_has_a_row_without_metrics_that_says_why(data):
    study = small("plknn", own(fails_without=7), datasets=[data])
    scores = study_scores(result_of(study))
    failed = scores["status"] == "failed"
    assert failed.sum() == 1
    assert scores.loc[failed, "error"].tolist() == ["row 7 is not there"]
    assert scores.loc[failed, "method"].tolist() == ["DILIGENT"]
    assert scores.loc[failed, [*METRICS, "fit_seconds"]].isna().all(axis=None)
    assert scores.loc[~failed, list(METRICS)].notna().all(axis=None)
    assert scores.loc[~failed, "error"].isna().all()


def test_accuracy_by_epoch_is_there_for_methods_with_epochs_and_ends_in_the_score(data):
    methods = [
        {"name": "ncpd", "parameters": NETWORK},
        {"name": "ncpd", "title": "long", "parameters": NETWORK | {"epochs": 5}},
    ]
    result = result_of(small(*methods, datasets=[data], protocol={"folds": 2, "by_epoch": True}))
    curves = accuracy_by_epoch(result)
    assert list(curves) == ["small"]
    assert {name: np.shape(runs) for name, runs in curves["small"].items()} == {
        "NCPD": (2, 3),
        "long": (2, 5),
    }
    scores = study_scores(result).set_index(["method", "fold"])["accuracy"]
    for name, runs in curves["small"].items():
        assert [run[-1] for run in runs] == pytest.approx(scores[name].tolist())


def test_without_asking_nothing_is_known_of_epochs():
    assert accuracy_by_epoch(result_of(small("plknn"))) == {}


# Contents ----------------------------------------------------------------------------------------


def test_a_study_on_data_with_its_own_sets_has_dots_and_two_tables(plain):
    assert list(plain.tables) == ["accuracy", "accuracy_tests"]
    assert list(plain.figures) == ["accuracy_dots"]
    assert plain.tables["accuracy"].header == ("data", "PLKNN", "SURE", FLOOR, CEILING)


def test_the_table_has_the_means_of_the_scores(plain):
    header, row = plain.tables["accuracy"].header, plain.tables["accuracy"].rows[0]
    by_method = plain.scores.groupby("method")["accuracy"]
    expected = by_method.mean().map("{:.3f}".format) + " ± " + by_method.std().map("{:.3f}".format)
    for name, cell in zip(header[1:], row[1:], strict=True):
        assert cell.removesuffix(" •").removesuffix(" ◦") == expected[re.sub(r" \(.*", "", name)]


def test_a_study_on_corrupted_data_has_curves_and_counts_of_wins():
    entry = {"name": "glass", "corruption": {"p": [0.2, 0.6], "r": [1, 2]}}
    report = make_report(result_of(small("plknn", "sure", datasets=[entry])))
    assert list(report.tables) == ["accuracy_wins", "accuracy", "accuracy_tests"]
    assert list(report.figures) == ["accuracy_curves", "accuracy_curves_r1", "accuracy_curves_r2"]
    assert [row[0] for row in report.tables["accuracy_wins"].rows] == [
        "glass, r=1",
        "glass, r=2",
        "all",
    ]
    assert len(report.figures["accuracy_curves"].axes) == 2
    assert len(report.figures["accuracy_curves_r1"].axes) == 1


def test_three_methods_on_two_datasets_have_a_diagram_of_ranks(data):
    report = make_report(
        result_of(small("plknn", "sure", "average", own(), datasets=["glass", data]))
    )
    assert list(report.figures) == ["accuracy_dots", "accuracy_ranks"]


def test_corrupted_and_uncorrupted_data_go_into_one_report(data, tmp_path):
    entries = ["glass", {"name": "glass", "corruption": CORRUPTION}, data]
    report, page = written(small("plknn", "sure", datasets=entries), tmp_path / "out")
    labels = ["glass", "glass, p=0.2, r=1", "glass, p=0.6, r=1", "small"]
    assert [row[0] for row in report.tables["accuracy"].rows] == [*labels, "win/tie/loss"]
    assert list(report.tables) == ["accuracy_wins", "accuracy", "accuracy_tests"]
    assert [row[0] for row in report.tables["accuracy_wins"].rows] == ["glass, r=1", "all"]
    assert list(report.figures) == ["accuracy_curves", "accuracy_dots"]
    titles = [axes.get_title() for axes in report.figures["accuracy_dots"].axes]
    assert titles == ["glass", "small"]
    titles = [axes.get_title() for axes in report.figures["accuracy_curves"].axes]
    assert titles == ["glass, r = 1"]
    assert "out of 4 settings" in report.findings
    notes = " ".join(report.tables["accuracy_tests"].notes)
    assert "4 settings of only 2 datasets as if they were independent" in notes
    assert_links_lead_somewhere(page)


@pytest.mark.parametrize("repeats", [1, 3])
def test_a_study_by_hold_out_is_reported(repeats, tmp_path):
    protocol = {"kind": "holdout", "test_share": 0.3, "repeats": repeats}
    report, page = written(small("plknn", "sure", protocol=protocol), tmp_path / "out")
    text = page.read_text("utf-8")
    seeds = "seed 0" if repeats == 1 else "3 times, seeds 0 to 2"
    assert f"Protocol: 30% of the rows held out, {seeds}. {4 * repeats} jobs, 0 failed" in text
    assert report.scores["seed"].unique().tolist() == list(range(repeats))
    notes = " ".join(report.tables["accuracy_tests"].notes)
    assert "each run tests on 0.3 of the rows" in notes
    cells = report.tables["accuracy"].rows[0][1:]
    assert all(("±" in cell) == (repeats > 1) for cell in cells)
    assert ("cannot be tested" in report.findings) == (repeats == 1)


def test_folds_that_are_repeated_are_tested_on_their_share():
    report = make_report(result_of(small("plknn", "sure", protocol={"folds": 4, "repeats": 2})))
    notes = " ".join(report.tables["accuracy_tests"].notes)
    assert "each run tests on 0.25 of the rows" in notes


def test_every_metric_has_its_own_tables_and_figures_and_the_first_makes_the_findings():
    metrics = ["brier_score", "accuracy"]
    report = make_report(result_of(small("plknn", "sure", metrics=metrics)))
    assert list(report.tables) == [
        "brier_score",
        "brier_score_tests",
        "accuracy",
        "accuracy_tests",
    ]
    assert list(report.figures) == ["brier_score_dots", "accuracy_dots"]
    assert report.tables["brier_score"].title.startswith("Brier score")
    assert "Less is better" in report.tables["brier_score"].notes[0]
    assert report.findings.startswith("- Best mean Brier score")


def test_one_method_with_floor_and_ceiling_is_reported_without_tests():
    report = make_report(result_of(small("plknn")))
    assert report.tables["accuracy"].header == ("data", "PLKNN", FLOOR, CEILING)
    assert "PLKNN cannot be tested against another method" in report.findings


def test_the_reference_of_the_study_is_that_of_its_tables():
    report = make_report(result_of(small("plknn", "sure", reference="SURE")))
    assert report.tables["accuracy_tests"].title.startswith("SURE against the others")
    assert report.tables["accuracy"].header[1:3] == ("PLKNN", "SURE")
    assert report.tables["accuracy"].rows[-1][2] == ""


def test_a_failed_cell_is_marked_and_the_failure_told_while_the_rest_is_there(data, tmp_path):
    broken = own(fails_without=7) | {"title": "half"}, own(fails_without=-1) | {"title": "none"}
    study = small("plknn", *broken, datasets=[data], protocol={"folds": 3})
    report, page = written(study, tmp_path / "out")
    header, rows = rows_of(page.with_name("accuracy.csv"))
    assert header == ["data", "PLKNN", "half", "none", FLOOR, CEILING]
    assert re.fullmatch(r"0\.\d{3} ± 0\.\d{3}( [•◦])? \(2 of 3\)", rows["small"]["half"])
    assert rows["small"]["none"] == "-"
    assert re.fullmatch(r"0\.\d{3} ± 0\.\d{3} \*", rows["small"]["PLKNN"])
    text = page.read_text("utf-8")
    assert "15 jobs, 4 failed" in text
    failures = text.partition("## What failed\n")[2].strip().splitlines()
    assert len(failures) == 4
    fold = next(p.job.split.fold for p, _ in report.result.failed if p.method_title == "half")
    assert failures[0].startswith(f"- half on small, seed 0, fold {fold}: ArithmeticError: ")
    assert failures[0].endswith("row 7 is not there")
    assert "4 of 15 runs are missing" in report.findings


def test_a_study_whose_own_methods_all_failed_is_reported_with_floor_and_ceiling(data, tmp_path):
    report, page = written(small(own(fails_without=-1), datasets=[data]), tmp_path / "out")
    _, rows = rows_of(page.with_name("accuracy.csv"))
    assert rows["small"]["DILIGENT"] == "-"
    assert float(rows["small"][CEILING].split()[0]) > 0
    assert "2 of 6 runs are missing" in report.findings
    assert page.read_text("utf-8").count("row -1 is not there") == 2


def test_a_corrupted_study_with_failures_is_reported(data, tmp_path):
    entry = data | {"corruption": CORRUPTION}
    broken = own(fails_without=7) | {"title": "half"}, own(fails_without=-1) | {"title": "none"}
    report, page = written(small(*broken, datasets=[entry]), tmp_path / "out")
    assert report.tables["accuracy_wins"].rows[-1][:3] == ("all", "0/0/0", "0/0/0")
    assert_links_lead_somewhere(page)


def test_there_is_no_report_of_a_study_in_which_everything_failed():
    result = result_of(small("plknn"))
    error = RuntimeError("no")
    records = {
        planned.job.key: failure(planned.dataset, planned.job, error)[0]
        for planned in result.plan.jobs
    }
    with pytest.raises(DisambigError, match="every job failed"):
        make_report(StudyResult(result.plan, records))


@pytest.mark.parametrize("selection", ["oracle", "covering_rate"])
@pytest.mark.parametrize("place", ["rival", "reference"])
def test_oracle_selection_is_named_in_every_table_and_no_other_is(selection, place, data):
    tuned = {"name": "plknn", "title": "tuned", "grid": {"n_neighbors": [2, 5]}}
    study = small(
        *(["sure", tuned] if place == "rival" else [tuned, "sure"]),
        datasets=[data | {"corruption": CORRUPTION}],
        protocol={"folds": 2, "selection": selection, "inner_folds": 2},
    )
    report = make_report(result_of(study))
    assert len(report.tables) == 3
    mark = r"tuned \(chosen by true labels\)|with true labels \(oracle selection\): tuned"
    for name, table in report.tables.items():
        for suffix, render in FORMATS.items():
            if (name, suffix, place) == ("accuracy_wins", "csv", "reference"):
                continue  # has no notes, and the reference no column
            assert bool(re.search(mark, render(table))) == (selection == "oracle"), (name, suffix)
    assert bool(re.search(mark, report.findings)) == (selection == "oracle")


# Files -------------------------------------------------------------------------------------------


def test_every_table_every_figure_all_scores_and_a_page_are_written(tmp_path):
    entry = {"name": "glass", "corruption": CORRUPTION}
    metrics = ["accuracy", "transductive_accuracy"]
    report, page = written(
        small("plknn", "sure", datasets=[entry], metrics=metrics), tmp_path / "new" / "out"
    )
    assert page == tmp_path / "new" / "out" / "report.md"
    expected = {"report.md", "jobs.csv"}
    expected |= {f"{name}.{suffix}" for name in report.tables for suffix in FORMATS}
    expected |= {f"{name}.{suffix}" for name in report.figures for suffix in ("png", "svg")}
    assert {path.name for path in page.parent.iterdir()} == expected
    assert len(expected) == 2 + 3 * 6 + 2 * 2
    for path in page.parent.iterdir():
        if path.suffix == ".png":
            assert path.read_bytes().startswith(b"\x89PNG")
        elif path.suffix == ".svg":
            assert "<svg" in path.read_text("utf-8")
    assert_links_lead_somewhere(page)


def test_the_page_has_every_figure_every_table_and_how_it_was_made(plain, tmp_path):
    missing = ("Missing: a. Get it.", "Missing: b. Get it.")
    report = make_report(plain.result, missing=missing)
    text = write_report(report, tmp_path, command="disambig study s.toml").read_text("utf-8")
    assert text.startswith("# small\n\nWhat there is to know.\n\nMade by `disambig study s.toml`")
    assert "Protocol: 2 folds, seed 0. 8 jobs, 0 failed; [jobs.csv](jobs.csv)" in text
    for line in missing:
        assert f"\n- {line}\n" in text
    assert f"## What was found\n\n{report.findings}" in text
    for name in report.figures:
        assert f"]({name}.png)" in text
    for name in report.tables:
        assert (tmp_path / f"{name}.md").read_text("utf-8").strip() in text
    assert "\n\n\n" not in text
    assert "What failed" not in text
    assert text.endswith("\n")
    assert not text.endswith("\n\n")
    assert "Made with disambig" in write_report(report, tmp_path).read_text("utf-8")


def test_the_same_records_give_the_same_bytes(tmp_path):
    entry = {"name": "glass", "corruption": CORRUPTION}
    result = result_of(small("plknn", "sure", datasets=[entry]))
    folders = [write_report(make_report(result), tmp_path / name).parent for name in "ab"]
    first, second = ({p.name: p.read_bytes() for p in one.iterdir()} for one in folders)
    assert first == second


def test_records_can_be_read_back(plain, tmp_path):
    frame = pd.read_csv(write_report(plain, tmp_path).with_name("jobs.csv"))
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
        datasets=[data, data | {"corruption": CORRUPTION}],
        protocol={"folds": 2, "by_epoch": True},
    )
    report, page = written(study, tmp_path / "out")
    assert next(iter(report.figures)) == "epochs_small"
    epochs = {name: one for name, one in report.figures.items() if name.startswith("epochs")}
    assert list(epochs) == ["epochs_small", "epochs_small_p0.2_r1", "epochs_small_p0.6_r1"]
    (axes,) = epochs["epochs_small_p0.2_r1"].axes
    assert axes.get_title() == "small, p=0.2, r=1: mean over 2 runs"
    curves = accuracy_by_epoch(report.result)["small, p=0.2, r=1"]
    for line, runs in zip(axes.get_lines(), curves.values(), strict=True):
        np.testing.assert_allclose(line.get_ydata(), np.mean(runs, axis=0))
    for name in epochs:
        assert (page.parent / f"{name}.png").is_file()
        assert (page.parent / f"{name}.svg").is_file()
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
    assert len(report.figures) == 2
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
    result = result_of(small("plknn", own(fails_without=7), datasets=[data]))
    ((_, record),) = result.failed
    error = record.error | {"message": "first\udcff\n\n# second\n- third"}
    records = result.records | {record.key: replace(record, error=error)}
    page = write_report(make_report(StudyResult(result.plan, records)), tmp_path / "out")
    text = page.read_text("utf-8")
    assert "\n# second" not in text
    assert "\n- third" not in text
    assert "first\\udcff" in text.partition("## What failed")[2].replace("\\\\", "\\")


def test_every_table_with_columns_of_methods_has_floor_and_ceiling():
    report = make_report(result_of(small("plknn", "sure", metrics=["accuracy", "covering_rate"])))
    for metric in ("accuracy", "covering_rate"):
        assert report.tables[metric].header[-2:] == (FLOOR, CEILING)
        assert [row[0] for row in report.tables[f"{metric}_tests"].rows[-2:]] == [FLOOR, CEILING]
        for render in FORMATS.values():
            assert FLOOR in render(report.tables[metric])
            assert CEILING in render(report.tables[metric])


def test_published_figures_stand_beside_ours_in_a_table_of_their_own():
    published = {"glass": {"PLKNN": (0.5, 0.01)}, "elsewhere": {"PLKNN": (0.4, 0.02)}}
    report = make_report(result_of(small("plknn")), published=published)
    ours = report.tables["accuracy"].rows[0][1]
    floor, ceiling = report.tables["accuracy"].rows[0][2:]
    assert list(report.tables) == ["accuracy", "published", "accuracy_tests"]
    assert report.tables["published"].header == ("data", "", "PLKNN", FLOOR, CEILING)
    assert report.tables["published"].rows == (
        ("glass", "ours", ours, floor, ceiling),
        ("", "paper", "0.500 ± 0.010", "-", "-"),
    )


def test_published_figures_of_other_data_have_no_table():
    published = {"elsewhere": {"PLKNN": (0.4, 0.02)}}
    report = make_report(result_of(small("plknn")), published=published)
    assert list(report.tables) == ["accuracy", "accuracy_tests"]


def test_the_page_goes_from_what_was_found_to_the_long_table(data, tmp_path):
    entry = data | {"corruption": {"p": [0.2, 0.6], "r": [1, 2]}}
    published = {"small": {"PLKNN": (0.5, 0.01)}}
    result = result_of(small("plknn", "sure", own(), datasets=[data, entry]))
    report = make_report(result, published=published)
    text = write_report(report, tmp_path / "out").read_text("utf-8")
    parts = [
        "## What was found",
        f"## {report.tables['accuracy_wins'].title}",
        "](accuracy_curves_r1.png)",
        "](accuracy_curves_r2.png)",
        "](accuracy_dots.png)",
        "](accuracy_ranks.png)",
        "## Accuracy beside the paper's",
        f"## {report.tables['accuracy_tests'].title}",
        f"## {report.tables['accuracy'].title}",
    ]
    places = [text.index(part) for part in parts]
    assert places == sorted(places)
    # All r in one figure are too small for a page, and a file all the same.
    assert "(accuracy_curves.png)" not in text
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
    assert list(report.figures)[:2] == ["epochs_a_b", "epochs_a_b_2"]


def test_columns_of_jobs_are_the_same_whatever_failed_first(data):
    tuned = {"name": "plknn", "grid": {"n_neighbors": [2, 5]}}
    plain = study_scores(result_of(small("plknn", datasets=[data])))
    failing = study_scores(result_of(small(own(fails_without=-1), tuned, datasets=[data])))
    assert plain.columns.tolist() == failing.columns.tolist()
    steps = ["choose_seconds", "fit_seconds", "predict_seconds"]
    first = plain.columns.tolist().index(steps[0])
    assert plain.columns.tolist()[first : first + 3] == steps
    assert plain["choose_seconds"].isna().all()


def test_the_reference_of_the_study_stands_out_in_its_figures():
    entry = {"name": "glass", "corruption": CORRUPTION}
    report = make_report(result_of(small("plknn", "sure", datasets=[entry], reference="SURE")))
    plknn, sure, *_ = report.figures["accuracy_curves"].axes[0].get_lines()
    assert sure.get_linewidth() > 2 * plknn.get_linewidth()
