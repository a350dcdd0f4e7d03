"""Which tables and figures a study has. Jobs run in this process."""

import re

import pytest

from bench.small_reports import (
    CORRUPTION,
    FORMATS,
    ON_RANDOM,
    ON_TRUTH,
    assert_links_lead_somewhere,
    result_of,
    rows_of,
    small,
    written,
)
from bench.small_studies import diligent
from disambig import DisambigError
from disambig.bench import StudyResult, make_report
from disambig.bench.execute import failure

HOLDOUT = {"kind": "holdout"}


def test_a_study_on_data_with_its_own_sets_has_dots_and_two_tables(plain):
    assert list(plain.tables) == ["accuracy", "accuracy_tests"]
    assert list(plain.charts) == ["accuracy_dots"]
    assert plain.tables["accuracy"].header == ("data", "PLKNN", "SURE", ON_RANDOM, ON_TRUTH)


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
    assert list(report.charts) == ["accuracy_curves"]
    printed = report.printed_charts()
    assert list(printed) == ["accuracy_curves", "accuracy_curves_r1", "accuracy_curves_r2"]
    assert [row[0] for row in report.tables["accuracy_wins"].rows] == [
        "glass, r=1",
        "glass, r=2",
        "all",
    ]
    assert len(printed["accuracy_curves"].panels) == 2
    assert len(printed["accuracy_curves_r1"].panels) == 1


def test_a_study_with_several_miss_rates_has_curves_against_them(data):
    several = {"name": "glass", "corruption": {"p": [0.2, 0.6], "r": 1, "miss": [0, 0.1]}}
    own = data | {"corruption": {"miss": [0, 0.2]}}
    one = data | {"title": "other", "corruption": {"miss": 0.2}}
    report = make_report(result_of(small("plknn", "sure", datasets=[several, own, one])))
    assert list(report.charts) == [
        "accuracy_curves",
        "accuracy_curves_miss0.1",
        "accuracy_misses_p0.2",
        "accuracy_misses_p0.6",
        "accuracy_misses",
        "accuracy_dots",
    ]
    assert [panel.title for panel in report.charts["accuracy_dots"].panels] == ["other, miss=0.2"]
    assert [row[0] for row in report.tables["accuracy_wins"].rows] == [
        "glass, r=1",
        "glass, r=1, miss=0.1",
        "all",
    ]
    assert set(report.scores["miss"]) == {0, 0.1, 0.2}


@pytest.mark.parametrize("n_datasets", [9, 10])
def test_ten_datasets_have_a_diagram_of_ranks(n_datasets, data):
    entries = [data | {"title": f"data {i}"} for i in range(n_datasets)]
    # Many settings of one dataset count once.
    entries[0] |= {"corruption": {"p": [0.2, 0.6], "r": [1, 2]}}
    study = small("plknn", "em", "average", diligent(), datasets=entries, protocol=HOLDOUT)
    report = make_report(result_of(study))
    assert ("accuracy_ranks" in report.charts) == (n_datasets == 10)
    notes = " ".join(report.tables["accuracy_tests"].notes)
    assert ("drawn from 10 datasets on" in notes) == (n_datasets == 9)
    assert ("counting once; here it is 9." in notes) == (n_datasets == 9)


def test_corrupted_and_uncorrupted_data_go_into_one_report(data, tmp_path):
    entries = ["glass", {"name": "glass", "corruption": CORRUPTION}, data]
    report, page = written(small("plknn", "sure", datasets=entries), tmp_path / "out")
    labels = ["glass", "glass, p=0.2, r=1", "glass, p=0.6, r=1", "small"]
    assert [row[0] for row in report.tables["accuracy"].rows] == [*labels, "win/tie/loss"]
    assert list(report.tables) == ["accuracy_wins", "accuracy", "accuracy_tests"]
    assert [row[0] for row in report.tables["accuracy_wins"].rows] == ["glass, r=1", "all"]
    assert list(report.charts) == ["accuracy_curves", "accuracy_dots"]
    titles = [panel.title for panel in report.charts["accuracy_dots"].panels]
    assert titles == ["glass", "small"]
    assert list(report.charts["accuracy_curves"].panels) == [("glass", 1)]
    assert "out of 4 settings" in " ".join(report.findings)
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
    assert ("cannot be tested" in " ".join(report.findings)) == (repeats == 1)


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
    assert list(report.charts) == ["brier_score_dots", "accuracy_dots"]
    assert report.tables["brier_score"].title.startswith("Brier score")
    assert "Less is better" in report.tables["brier_score"].notes[0]
    assert report.findings[0].startswith("Best mean Brier score")


def test_one_method_with_baselines_is_reported_without_tests():
    report = make_report(result_of(small("plknn")))
    assert report.tables["accuracy"].header == ("data", "PLKNN", ON_RANDOM, ON_TRUTH)
    assert "PLKNN cannot be tested against another method" in " ".join(report.findings)


def test_the_reference_of_the_study_is_that_of_its_tables():
    report = make_report(result_of(small("plknn", "sure", reference="SURE")))
    assert report.tables["accuracy_tests"].title.startswith("SURE against the others")
    assert report.tables["accuracy"].header[1:3] == ("PLKNN", "SURE")
    assert report.tables["accuracy"].rows[-1][2] == ""


def test_a_failed_cell_is_marked_and_the_failure_told_while_the_rest_is_there(data, tmp_path):
    broken = (
        diligent(fails_without=7) | {"title": "half"},
        diligent(fails_without=-1) | {"title": "none"},
    )
    study = small("plknn", *broken, datasets=[data], protocol={"folds": 3})
    report, page = written(study, tmp_path / "out")
    header, rows = rows_of(page.with_name("accuracy.csv"))
    assert header == ["data", "PLKNN", "half", "none", ON_RANDOM, ON_TRUTH]
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
    assert "4 of 15 runs are missing" in " ".join(report.findings)


def test_a_study_whose_study_methods_all_failed_is_reported_with_its_baselines(data, tmp_path):
    report, page = written(small(diligent(fails_without=-1), datasets=[data]), tmp_path / "out")
    _, rows = rows_of(page.with_name("accuracy.csv"))
    assert rows["small"]["DILIGENT"] == "-"
    assert float(rows["small"][ON_TRUTH].split()[0]) > 0
    assert "2 of 6 runs are missing" in " ".join(report.findings)
    assert page.read_text("utf-8").count("row -1 is not there") == 2


def test_a_corrupted_study_with_failures_is_reported(data, tmp_path):
    entry = data | {"corruption": CORRUPTION}
    broken = (
        diligent(fails_without=7) | {"title": "half"},
        diligent(fails_without=-1) | {"title": "none"},
    )
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
    assert bool(re.search(mark, " ".join(report.findings))) == (selection == "oracle")
