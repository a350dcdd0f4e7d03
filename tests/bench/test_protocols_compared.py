"""Rows and whole groups beside each other: titles, tables, sentences and the chart."""

import re

import numpy as np
import pandas as pd
import pytest

from bench.made_scores import corrupted, uncorrupted
from disambig._core.errors import ParameterError
from disambig.bench import curves_chart, findings, win_table
from disambig.bench.figures import draw_figure
from disambig.bench.protocols import on_new_groups
from disambig.bench.run_table import RunTable
from disambig.web.charts.lines import curve_charts

PROTOCOLS = {"": 0.0, "new groups": -0.1, "new groups, cover": -0.06}


def by_protocol(scores, protocols=PROTOCOLS):
    """Return scores once for every protocol, each with what it adds to the accuracy."""
    parts = []
    for groups, change in protocols.items():
        part = scores.copy()
        part["groups"] = groups
        part["data"] += f", {groups}" if groups else ""
        part["accuracy"] += change
        parts.append(part)
    return pd.concat(parts, ignore_index=True)


@pytest.fixture
def scores():
    return by_protocol(uncorrupted(2))


def test_a_panel_has_a_place_for_rows_for_groups_and_for_what_they_promise(scores):
    chart = curves_chart(scores, reference="NCPD", by="groups")
    assert chart.datasets == ["dataset 0", "dataset 1"]
    for (dataset, _), panel in chart.panels.items():
        assert panel.x_names == ["rows", "new groups", "+ cover"]
        for line in panel.series:
            mine = scores[(scores["dataset"] == dataset) & (scores["method"] == line.name)]
            means = mine.groupby("groups")["accuracy"].mean()
            np.testing.assert_allclose(line.y, [means[groups] for groups in PROTOCOLS])
    assert "with rows and with whole groups held out. A plus is before" in chart.caption


def test_print_and_page_name_the_places(scores):
    chart = curves_chart(scores, reference="NCPD", by="groups")
    axes = draw_figure(chart).axes[0]
    names = ["rows", "new groups", "+ cover"]
    assert [label.get_text() for label in axes.get_xticklabels()] == names
    page = str(curve_charts(chart))
    for name in names:
        assert len(re.findall(rf"<text[^>]*>{re.escape(name)}</text>", page)) == 2
        assert f"what is held out: {name}\n" in page
        assert len(re.findall(rf"<t[dh][^>]*>{re.escape(name)}</t[dh]>", page)) == 2


def test_a_chart_by_groups_takes_one_corruption():
    scores = by_protocol(corrupted(("glass",), rs=(1,)))
    with pytest.raises(ParameterError, match="Give the records of one p and one miss rate"):
        curves_chart(scores, by="groups")


def test_sentences_have_the_change_of_the_mean_over_methods(scores):
    runs = RunTable.from_scores(scores, "accuracy")
    groups, cover = on_new_groups(runs, "NCPD")
    before, after = (runs.mean(data, "NCPD") for data in ("dataset 0", "dataset 0, new groups"))
    assert groups.startswith(
        "With whole groups held out instead of rows, the mean accuracy of the methods is "
        f"0.100 lower on dataset 0 (NCPD: {before:.3f}, now {after:.3f}), 0.100 lower on dataset 1"
    )
    assert cover.startswith("On new groups, with 'cover' promised, the mean accuracy")
    assert "0.040 higher on dataset 0" in cover
    assert {groups, cover} <= set(findings(scores, "NCPD", test_share=1 / 3))


def test_studies_of_rows_or_of_groups_alone_have_nothing_to_compare():
    for protocols in ({"": 0.0}, {"new groups": 0.0}):
        runs = RunTable.from_scores(by_protocol(uncorrupted(2), protocols), "accuracy")
        assert on_new_groups(runs, "NCPD") == []


def test_a_method_without_scores_is_left_out_of_the_change(scores):
    lost = (scores["method"] == "SURE") & (scores["groups"] == "new groups")
    scores.loc[lost, "accuracy"] = np.nan
    sentence, _ = on_new_groups(RunTable.from_scores(scores, "accuracy"), "SURE")
    assert "is 0.100 lower on dataset 0, 0.100 lower on dataset 1." in sentence


def test_what_stays_the_same_is_neither_higher_nor_lower():
    scores = by_protocol(uncorrupted(1), {"new groups": -0.1, "new groups, cover": -0.1003})
    (sentence,) = on_new_groups(RunTable.from_scores(scores, "accuracy"), "NCPD")
    assert "of the methods is the same on dataset 0 (NCPD: " in sentence


def test_wins_on_rows_and_on_groups_are_counted_apart():
    table = win_table(by_protocol(corrupted(("glass",), rs=(1,))), reference="NCPD")
    titles = ["glass, r=1", "glass, r=1, new groups", "glass, r=1, new groups, cover", "all"]
    assert [row[0] for row in table.rows] == titles


def test_scores_that_were_read_from_a_file_have_no_empty_strings(scores, tmp_path):
    scores.to_csv(tmp_path / "jobs.csv", index=False)
    read = pd.read_csv(tmp_path / "jobs.csv")
    assert read["groups"].isna().any()
    settings = RunTable.from_scores(read, "accuracy").settings
    assert [setting.groups for setting in settings.values()] == sorted([*PROTOCOLS] * 2)
