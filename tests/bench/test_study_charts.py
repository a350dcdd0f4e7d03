"""What charts show; how they are drawn is tested with the drawings."""

import math

import numpy as np
import pandas as pd
import pytest

from bench.made_scores import (
    DATASETS,
    MANY,
    METHODS,
    PS,
    by_epoch,
    corrupted,
    dots_with_gaps,
    sunk,
    uncorrupted,
    with_gaps,
)
from disambig import DisambigError
from disambig.bench import RanksChart, curves_chart, dots_chart, epochs_chart, ranks_chart
from disambig.bench.line_styles import method_styles

LEGEND = [*METHODS, "average", "oracle"]


def values_of(panel):
    """Return all values of a panel, by the name of the line."""
    return {one.name: list(one.y) for one in panel.series}


def test_curves_have_a_panel_for_every_dataset_and_r():
    chart = curves_chart(corrupted())
    assert (chart.datasets, chart.rs) == (list(DATASETS), [1, 2, 3])
    for (dataset, r), panel in chart.panels.items():
        assert panel.title == f"{dataset}, r = {r:g}"
        assert list(panel.x_ticks) == list(PS)
    assert len(chart.panels) == 12


def test_a_curve_is_the_mean_over_folds():
    scores = corrupted()
    one = curves_chart(scores).panels["glass", 1].series[1]
    own = scores[(scores["dataset"] == "glass") & (scores["r"] == 1) & (scores["method"] == "SURE")]
    assert one.name == "SURE"
    np.testing.assert_allclose(one.x, PS)
    np.testing.assert_allclose(one.y, own.groupby("p")["accuracy"].mean())


def test_the_band_around_the_reference_is_one_standard_error_and_inside_the_scale():
    scores = corrupted()
    chart = curves_chart(scores, reference="SURE")
    text, style = chart.legend.band
    assert (text, style.is_strong) == ("SURE ± 1 standard error", True)
    assert "band around SURE is one standard error of the mean over 3 runs" in chart.caption
    for (dataset, r), panel in chart.panels.items():
        (one,) = panel.bands
        runs = scores[
            (scores["dataset"] == dataset) & (scores["r"] == r) & (scores["method"] == "SURE")
        ].groupby("p")["accuracy"]
        np.testing.assert_allclose(one.errors, runs.std() / 3**0.5)
        lows, highs = zip(*one.band, strict=True)
        np.testing.assert_allclose(lows, runs.mean() - runs.std() / 3**0.5)
        assert panel.y_range[0] < min(lows)
        assert max(highs) < panel.y_range[1]
    without = curves_chart(scores)
    assert without.legend.band is None
    assert "band" not in without.caption


def test_methods_with_an_average_rank_in_the_lower_half_are_pale():
    # Means fall with the number of the method, by less than the noise between neighbours.
    scores = corrupted(("glass",), rs=(1,)).copy()
    scores["accuracy"] = 0.5 - 0.1 * scores["method"].map((*METHODS, "average", "oracle").index)

    def pale(reference):
        panel = curves_chart(scores, reference=reference).panels["glass", 1]
        return [one.name for one in panel.series if one.style.is_pale]

    assert pale("NCPD") == list(METHODS[3:])
    assert pale(METHODS[4]) == [METHODS[3], METHODS[5]]  # the reference never is
    assert "average rank over all settings worse than 3.5, " in curves_chart(scores).caption


def test_panels_of_a_dataset_share_their_scale_which_holds_every_point():
    chart = curves_chart(corrupted())
    for dataset in DATASETS:
        (scale,) = {chart.panels[dataset, r].y_range for r in chart.rs}
        for r in chart.rs:
            values = values_of(chart.panels[dataset, r]).values()
            assert scale[0] < min(map(min, values))
            assert max(map(max, values)) < scale[1]


def test_panels_of_one_r_keep_the_scale_of_all():
    chart = curves_chart(corrupted())
    for r in (1, 3):
        alone = chart.with_r(r)
        assert list(alone.panels) == [(dataset, r) for dataset in DATASETS]
        assert all(panel is chart.panels[key] for key, panel in alone.panels.items())
    with pytest.raises(
        DisambigError, match="must be one that data was corrupted with: 1, 2, 3. Got 4"
    ):
        chart.with_r(4)


def test_points_far_below_the_baseline_are_arrows_below_the_other_lines():
    chart = curves_chart(sunk(2.0))
    assert chart.legend.has_arrows
    for (dataset, _), panel in chart.panels.items():
        low, high = panel.y_range
        assert low > (-0.5 if dataset == "glass" else 0)
        assert panel.arrow_rows() == ({METHODS.index("CLPL"): 0} if dataset == "glass" else {})
        lowest = min(y for values in values_of(panel).values() for y in values if y > low)
        if dataset == "glass":
            assert (lowest - low) / (high - low) > 0.07


def test_however_many_methods_lie_far_below_the_rest_keeps_most_of_the_height():
    scores = corrupted(rs=(1,), methods=MANY).copy()
    scores.loc[scores["method"].isin(MANY[1:]), "accuracy"] = -2.0
    panel = curves_chart(scores).panels["glass", 1]
    assert list(panel.arrow_rows()) == list(range(1, len(MANY)))
    assert max(panel.arrow_rows().values()) == 4  # rows of 7 % of the height each
    low, high = panel.y_range
    best = panel.series[0].y
    assert -2 < low < min(best) < high
    assert (min(best) - low) / (high - low) > 5 * 0.07


def test_the_axis_is_whole_where_a_cut_saves_less_than_half():
    chart = curves_chart(sunk(0.4, ("glass",)))
    assert not chart.legend.has_arrows
    assert chart.panels["glass", 1].y_range[0] < -0.1


def test_the_axis_is_not_cut_where_less_is_better():
    errors = sunk(2.0, ("glass",)).rename(columns={"accuracy": "brier_score"})
    chart = curves_chart(errors, "brier_score")
    assert not chart.legend.has_arrows
    assert chart.panels["glass", 1].y_title == "Brier score"


@pytest.mark.parametrize("reference", ["SURE", "NCPD"])
def test_the_reference_stands_out_in_every_chart(reference):
    curves = curves_chart(corrupted(("glass",), rs=(1,)), reference=reference)
    strong = [one.name for one in curves.panels["glass", 1].series if one.style.is_strong]
    assert strong == [reference]
    dots = dots_chart(uncorrupted(2), reference=reference)
    assert [dot.name for dot in dots.panels[0].dots if dot.style.is_strong] == [reference]
    assert ranks_chart(corrupted(), reference=reference).reference == reference
    epochs = epochs_chart(by_epoch(), title="t", reference="w/o NC")
    assert [one.style.is_strong for one in epochs.series] == [False, True, False]


def test_every_method_and_baseline_is_in_the_legend_of_curves():
    legend = curves_chart(corrupted()).legend
    assert [label for label, _ in legend.entries] == LEGEND
    assert [style.is_bound for _, style in legend.entries] == [False] * 6 + [True] * 2
    assert not legend.has_hollow
    assert not legend.has_arrows


def test_a_missing_point_interrupts_its_curve_and_an_incomplete_one_is_hollow():
    chart = curves_chart(with_gaps())
    for (dataset, _), panel in chart.panels.items():
        is_glass = dataset == "glass"
        for one in panel.series:
            has_gaps = is_glass and one.name == "SURE"
            assert np.flatnonzero(np.isnan(one.y)).tolist() == [2] * has_gaps
            assert one.remarks == ({4: "2 of 3 runs"} if has_gaps else {})
    assert chart.legend.has_hollow


def with_misses(scores, rates=(0, 0.1, 0.3)):
    """Return the records once for every miss rate, each costing as much accuracy."""
    parts = [scores.assign(miss=rate, accuracy=scores["accuracy"] - rate) for rate in rates]
    for part, rate in zip(parts, rates, strict=True):
        if rate:
            part["data"] = part["data"] + f", miss={rate:g}"
    return pd.concat(parts, ignore_index=True)


def test_curves_against_the_miss_rate_have_a_point_for_every_rate():
    scores = with_misses(corrupted(("glass", "ecoli"), (0.7,), (1, 2)))
    chart = curves_chart(scores, by="miss")
    panel = chart.panels["glass", 2]
    assert panel.title == "glass, p = 0.7, r = 2"
    assert list(panel.x_ticks) == [0, 0.1, 0.3]
    of_sure = scores[(scores["dataset"] == "glass") & (scores["r"] == 2)]
    of_sure = of_sure[of_sure["method"] == "SURE"]
    means = of_sure.groupby("miss")["accuracy"].mean()
    np.testing.assert_allclose(values_of(panel)["SURE"], means)
    assert "against the share of training sets that miss the truth" in chart.caption


def test_own_sets_have_a_panel_of_their_own_and_no_r_in_its_title():
    chart = curves_chart(with_misses(uncorrupted(2)), by="miss")
    assert list(chart.panels) == [("dataset 0", 0), ("dataset 1", 0)]
    assert chart.panels["dataset 1", 0].title == "dataset 1"


def test_curves_need_one_score_for_each_place():
    scores = with_misses(corrupted(("glass",), rs=(1,)))
    with pytest.raises(DisambigError, match="Give the records of one miss rate"):
        curves_chart(scores)
    with pytest.raises(DisambigError, match="Give the records of one p"):
        curves_chart(scores, by="miss")
    with pytest.raises(DisambigError, match="'by' must be one of 'p', 'miss', 'groups'. Got 'r'"):
        curves_chart(scores, by="r")
    one = scores[scores["miss"] == 0.1]
    assert curves_chart(one).panels["glass", 1].title == "glass, r = 1, miss = 0.1"


def test_curves_without_corruption_are_refused():
    with pytest.raises(DisambigError, match="Draw dots instead"):
        curves_chart(uncorrupted(2))


def test_dots_have_a_panel_for_all_data_with_every_method_in_order():
    chart = dots_chart(uncorrupted(5))
    assert [panel.title for panel in chart.panels] == [f"dataset {i}" for i in range(5)]
    for panel in chart.panels:
        assert [dot.name for dot in panel.rows] == list(METHODS)
        assert panel.x_title == "accuracy"
    assert "bars are one standard error of the mean over 3 runs" in chart.caption
    assert [label for label, _ in chart.legend.entries] == LEGEND[-2:]
    assert not chart.legend.has_hollow


def test_dots_are_means_with_standard_errors():
    scores = uncorrupted(2)
    dot = dots_chart(scores).panels[1].dots[2]
    own = scores[(scores["data"] == "dataset 1") & (scores["method"] == "AGGD")]["accuracy"]
    assert (dot.name, dot.mean) == ("AGGD", pytest.approx(own.mean()))
    assert dot.error == pytest.approx(own.std() / 3**0.5)
    single = dots_chart(scores[scores["fold"] == 0])
    assert {dot.error for panel in single.panels for dot in panel.dots} == {None}
    assert not single.legend.has_bars


def test_known_datasets_have_their_proper_names():
    scores = uncorrupted(2).replace({"dataset 0": "msrcv2", "dataset 1": "glass"})
    assert [panel.title for panel in dots_chart(scores).panels] == ["MSRCv2", "glass"]
    names = {"dataset": {"glass": "lost"}}
    curves = curves_chart(corrupted(("glass",), rs=(1,)).replace(names))
    assert [panel.title for panel in curves.panels.values()] == ["Lost, r = 1"]


def test_dots_leave_out_missing_cells_and_show_incomplete_ones_hollow():
    chart = dots_chart(dots_with_gaps())
    first, second = ({dot.name: dot for dot in panel.rows} for panel in chart.panels)
    assert not any(dot.remark or math.isnan(dot.mean) for dot in first.values())
    assert [name for name, dot in second.items() if math.isnan(dot.mean)] == ["SURE"]
    assert {name: dot.remark for name, dot in second.items() if dot.remark} == {
        "AGGD": "2 of 3 runs"
    }
    assert chart.legend.has_hollow


def test_ranks_name_every_method_once_best_first_and_no_baseline():
    chart = ranks_chart(corrupted())
    assert sorted(chart.names) == sorted(METHODS)
    assert [chart.ranks[name] for name in chart.names] == sorted(chart.ranks.values())
    assert chart.left + chart.right[::-1] == chart.names
    assert len(chart.left) - len(chart.right) in (0, 1)
    assert chart.title == "Average rank by accuracy, over 84 settings"
    assert "level 0.05" in chart.caption


def test_bars_join_methods_that_cannot_be_told_apart():
    chart = RanksChart("ranks", {"a": 1.2, "b": 2.0, "c": 2.8, "d": 4.0}, 1.0)
    assert chart.bars == [(1.2, 2.0), (2.0, 2.8)]  # d is alike with nobody
    # Bars that touch lie at different heights.
    assert chart.bar_levels(gap=0.1) == [0, 1]


def test_bars_side_by_side_never_look_like_one():
    # The groups are far enough apart to share a height, or lie at two.
    for second, levels in ((2.1, [0, 1]), (3.0, [0, 0])):
        ranks = {"a": 1.98, "b": 2.02, "c": second, "d": second + 0.04}
        assert RanksChart("ranks", ranks, 0.05).bar_levels(gap=0.13) == levels


@pytest.mark.parametrize(
    ("scores", "needs"),
    [(uncorrupted(1), "two datasets"), (uncorrupted(4, METHODS[:2]), "three methods")],
)
def test_ranks_of_too_little_are_refused(scores, needs):
    with pytest.raises(DisambigError, match=f"needs {needs}"):
        ranks_chart(scores)


def test_curves_of_epochs_are_means_over_runs_with_errors_and_say_where_they_end():
    curves = by_epoch()
    chart = epochs_chart(curves, title="MSRCv2")
    for one, values in zip(chart.series, curves.values(), strict=True):
        np.testing.assert_allclose(one.y, values.mean(axis=0))
        np.testing.assert_allclose(one.errors, values.std(axis=0, ddof=1) / 5**0.5)
        assert list(one.x) == list(range(1, 81))
    assert [label for label, _ in chart.legend.entries] == [
        f"{label} {values.mean(axis=0)[-1]:.3f}" for label, values in curves.items()
    ]


def test_the_legend_of_epochs_takes_other_names_and_lines_keep_their_style():
    chart = epochs_chart(by_epoch(), title="t", names={"w/o NC": "w/o NC (chosen by true labels)"})
    label, style = chart.legend.entries[1]
    assert label.startswith("w/o NC (chosen by true labels) 0.")
    assert style == method_styles(by_epoch())["w/o NC"]


@pytest.mark.parametrize("curves", [{}, {"NCPD": [0.1, 0.2]}, {"NCPD": np.empty((0, 3))}])
def test_epochs_without_a_row_for_every_run_are_refused(curves):
    with pytest.raises(DisambigError):
        epochs_chart(curves, title="MSRCv2")
