"""Figures: they show what their charts say, nothing covers anything, and bytes are reproduced."""

import itertools
import re
from dataclasses import replace
from functools import cache

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.collections import FillBetweenPolyCollection
from matplotlib.path import Path
from PIL import Image

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
from disambig.bench import (
    CurvesChart,
    RanksChart,
    curves_chart,
    dots_chart,
    draw_figure,
    epochs_chart,
    ranks_chart,
    save_figure,
)
from disambig.bench.end_labels import spread_apart
from disambig.bench.figure_style import color_of
from disambig.bench.line_styles import method_styles

FOUR_RANKS = RanksChart("ranks", {"a": 1.2, "b": 2.0, "c": 2.8, "d": 4.0}, 1.0)
CHARTS = {
    "12 panels": lambda: curves_chart(corrupted(), reference="SURE"),
    "one r": lambda: curves_chart(with_gaps()),
    "one dataset": lambda: curves_chart(corrupted(datasets=("glass",))),
    "one panel": lambda: curves_chart(corrupted(datasets=("glass",), rs=(1,))),
    "13 lines": lambda: curves_chart(corrupted(rs=(1,), methods=MANY)),
    "cut": lambda: curves_chart(sunk(2.0)),
    "dots": lambda: dots_chart(uncorrupted(5), reference="SURE"),
    "dots with gaps": lambda: dots_chart(dots_with_gaps()),
    "dots of one dataset": lambda: dots_chart(uncorrupted(1)),
    "13 dots": lambda: dots_chart(uncorrupted(3, MANY)),
    "ranks of 3": lambda: ranks_chart(uncorrupted(2, METHODS[:3])),
    "ranks of 6": lambda: ranks_chart(corrupted(), reference="SURE"),
    "ranks of 13": lambda: ranks_chart(uncorrupted(5, MANY)),
    "four ranks": lambda: FOUR_RANKS,
    "equal ranks": lambda: RanksChart("all alike", dict.fromkeys(MANY, 7.0), 2.0),
    "epochs": lambda: epochs_chart(by_epoch(), title="MSRCv2", reference="w/o NC"),
}


@cache
def drawn(name):
    """Draw once for all tests that only look."""
    figure = draw_figure(CHARTS[name]())
    FigureCanvasAgg(figure).draw()
    return figure


def legend_of(figure):
    (legend,) = figure.legends
    return [text.get_text() for text in legend.get_texts()]


def shown_texts(figure):
    """Return every text that is drawn; ticks outside of an axis are not."""
    for axes in figure.axes:
        yield axes.title
        if not axes.axison:
            yield from axes.texts
            continue
        for axis in (axes.xaxis, axes.yaxis):
            yield axis.label
            low, high = sorted(axis.get_view_interval())
            for tick in axis.get_major_ticks():
                if low <= tick.get_loc() <= high:
                    yield tick.label1
        yield from axes.texts
    for legend in figure.legends:
        yield from legend.get_texts()


def boxes_of(figure):
    renderer = figure.canvas.get_renderer()
    return {
        (i, text.get_text()): text.get_window_extent(renderer)
        for i, text in enumerate(shown_texts(figure))
        if text.get_text()
    }


@pytest.mark.parametrize("name", CHARTS)
def test_no_text_covers_another_or_is_cut_off(name):
    figure = drawn(name)
    boxes = boxes_of(figure)
    assert len(boxes) > 4
    for (one, box), (other, other_box) in itertools.combinations(boxes.items(), 2):
        overlap = min(box.x1, other_box.x1) - max(box.x0, other_box.x0)
        overlap_down = min(box.y1, other_box.y1) - max(box.y0, other_box.y0)
        assert min(overlap, overlap_down) <= 0.5, f"{one} covers {other}"
    for text, box in boxes.items():
        assert figure.bbox.x0 <= box.x0, text
        assert figure.bbox.y0 <= box.y0, text
        assert box.x1 <= figure.bbox.x1, text
        assert box.y1 <= figure.bbox.y1, text


@pytest.mark.parametrize("name", ["12 panels", "one panel", "dots", "epochs"])
def test_the_legend_covers_no_panel(name):
    figure = drawn(name)
    renderer = figure.canvas.get_renderer()
    (legend,) = figure.legends
    top = legend.get_window_extent(renderer).y1
    for axes in figure.axes:
        assert axes.get_tightbbox(renderer).y0 >= top


def test_all_settings_make_a_row_for_every_r_and_a_column_for_every_dataset():
    figure = drawn("12 panels")
    grid = figure.axes[0].get_gridspec()
    assert (grid.nrows, grid.ncols) == (3, 4)
    titles = [axes.get_title() for axes in figure.axes]
    assert titles == [f"{dataset}, r = {r}" for r in (1, 2, 3) for dataset in DATASETS]
    assert [bool(axes.get_xlabel()) for axes in figure.axes] == [False] * 8 + [True] * 4
    assert [bool(axes.get_ylabel()) for axes in figure.axes] == [True, False, False, False] * 3


def test_one_r_makes_two_rows_of_two_panels():
    figure = drawn("one r")
    grid = figure.axes[0].get_gridspec()
    assert (grid.nrows, grid.ncols, len(figure.axes)) == (2, 2, 4)
    assert [bool(axes.get_xlabel()) for axes in figure.axes] == [False, False, True, True]


def test_a_dataset_without_one_r_leaves_its_place_empty_and_is_named_below():
    panels = dict(curves_chart(corrupted(DATASETS[:2], rs=(1, 2))).panels)
    del panels["ecoli", 2]
    axes = draw_figure(CurvesChart(panels)).axes
    assert [one.axison for one in axes] == [True, True, True, False]
    assert [bool(one.get_xlabel()) for one in axes] == [False, True, True, False]


def test_lines_go_through_the_points_of_their_chart_on_its_scale():
    for name in ("12 panels", "one r", "epochs"):
        chart = CHARTS[name]()
        panels = list(chart.panels.values()) if isinstance(chart, CurvesChart) else [chart]
        panels.sort(key=lambda panel: panel.title.rpartition("r = ")[2])
        for panel, axes in zip(panels, drawn(name).axes, strict=True):
            assert axes.get_title() == panel.title
            for one in panel.series:
                assert any(
                    np.array_equal(line.get_xdata(), one.x)
                    and np.array_equal(line.get_ydata(), one.y, equal_nan=True)
                    for line in axes.get_lines()
                )
            if panel.y_range:
                assert axes.get_ylim() == panel.y_range


def test_the_last_panel_names_its_lines_at_their_ends_where_there_is_room():
    for name in ("12 panels", "one panel", "cut"):
        *others, last = drawn(name).axes
        assert {text.get_text() for text in last.texts} == {*METHODS, "average", "oracle"}
        assert not any(axes.texts for axes in others)
    assert not drawn("13 lines").axes[-1].texts


def test_names_at_the_ends_of_lines_have_the_order_of_the_lines():
    (axes,) = drawn("one panel").axes
    (panel,) = CHARTS["one panel"]().panels.values()
    order = sorted(panel.series, key=lambda one: one.y[-1])
    texts = sorted(axes.texts, key=lambda text: text.get_position()[1])
    assert [text.get_text() for text in texts] == [one.name for one in order]


def test_places_are_spread_no_further_than_needed():
    assert spread_apart([0.1, 0.5, 0.9], 0.2) == [0.1, 0.5, 0.9]
    np.testing.assert_allclose(spread_apart([0.1, 0.15, 0.9], 0.2), [0.1, 0.3, 0.9])
    np.testing.assert_allclose(spread_apart([0.8, 0.95, 0.96], 0.2), [0.6, 0.8, 1.0])
    assert spread_apart([], 0.2) == []


def test_a_band_of_one_error_lies_around_the_reference_alone():
    axes = drawn("12 panels").axes[0]
    (band,) = (one for one in axes.collections if isinstance(one, FillBetweenPolyCollection))
    (sure,) = (one for one in CHARTS["12 panels"]().panels["glass", 1].series if one.name == "SURE")
    corners = band.get_paths()[0].vertices
    for x, y, error in zip(sure.x, sure.y, sure.errors, strict=True):
        heights = corners[np.isclose(corners[:, 0], x), 1]
        np.testing.assert_allclose([heights.min(), heights.max()], [y - error, y + error])
    assert "SURE ± 1 standard error" in legend_of(drawn("12 panels"))
    assert not any("error" in text for text in legend_of(drawn("one panel")))


def test_lines_by_epoch_end_in_a_bar_and_a_name_and_need_no_legend_for_them():
    (axes,) = drawn("epochs").axes
    chart = CHARTS["epochs"]()
    for one, (point, _, (bar,)) in zip(chart.series, axes.containers, strict=True):
        ((_, low), (_, high)) = bar.get_segments()[0]
        np.testing.assert_allclose([low, high], one.y[-1] + one.errors[-1] * np.array([-1, 1]))
        assert point.get_xdata()[0] > one.x[-1]
    assert {text.get_text() for text in axes.texts} == {one.label for one in chart.series}
    assert legend_of(drawn("epochs")) == ["± 1 standard error"]


def arrows_of(axes):
    return [line for line in axes.get_lines() if isinstance(line.get_marker(), Path)]


def test_points_below_the_axis_are_arrows_at_the_edge():
    figure = drawn("cut")
    assert legend_of(figure)[-1] == "below the axis"
    for axes in figure.axes:
        is_cut = axes.get_title().startswith("glass")
        assert [list(line.get_xdata()) for line in arrows_of(axes)] == [list(PS)] * is_cut
        for line in arrows_of(axes):
            clpl = replace(method_styles(["CLPL"])["CLPL"], is_pale=True)
            assert line.get_markeredgecolor() == color_of(clpl)
            assert max(line.get_ydata()) < 0.1  # of the height of the panel


def test_incomplete_points_are_hollow():
    hollow = [
        line for line in drawn("one r").axes[0].get_lines() if line.get_markerfacecolor() == "white"
    ]
    assert [list(line.get_xdata()) for line in hollow] == [[0.5]]
    assert legend_of(drawn("one r"))[-1] == "hollow: some runs missing"
    points = [container[0] for container in drawn("dots with gaps").axes[1].containers]
    assert len(points) == len(METHODS) - 1
    hollow = [point for point in points if point.get_markerfacecolor() == "white"]
    assert [point.get_ydata()[0] for point in hollow] == [METHODS.index("AGGD")]
    assert legend_of(drawn("dots with gaps"))[-1] == "hollow: some runs missing"


def test_the_reference_stands_out_in_every_figure():
    sure, ncpd = METHODS.index("SURE"), METHODS.index("NCPD")
    lines = drawn("12 panels").axes[0].get_lines()
    assert lines[sure].get_linewidth() > 2 * lines[ncpd].get_linewidth()
    dots = drawn("dots").axes[0].containers
    assert dots[sure][0].get_markersize() > dots[ncpd][0].get_markersize()
    labels = drawn("dots").axes[0].get_yticklabels()
    assert [label.get_fontweight() == "bold" for label in labels].index(True) == sure
    (axes,) = drawn("ranks of 6").axes
    bold = [text.get_text() for text in axes.texts if text.get_weight() == "bold"]
    assert [text.split()[0] for text in bold] == ["SURE"]
    lines = drawn("epochs").axes[0].get_lines()
    lines = [line for line in lines if len(line.get_xdata()) > 1]  # without bars at their ends
    assert [line.get_linewidth() > 2 for line in lines] == [False, True, False]


def test_dots_are_in_rows_from_the_top_with_their_error_and_all_alike():
    figure = drawn("dots")
    assert [axes.get_title() for axes in figure.axes] == [f"dataset {i}" for i in range(5)]
    names = [label.get_text() for label in figure.axes[0].get_yticklabels()]
    assert names == list(METHODS)
    low, high = figure.axes[0].get_ylim()
    assert low > high  # the first method is at the top
    assert legend_of(figure) == ["average", "oracle", "± 1 standard error"]
    points = [container[0] for axes in figure.axes for container in axes.containers]
    assert len({(point.get_color(), point.get_marker()) for point in points}) == 1
    dot = CHARTS["dots"]().panels[1].dots[2]
    point, _, (bar,) = figure.axes[1].containers[2]
    assert (point.get_xdata()[0], point.get_ydata()[0]) == (dot.mean, 2)
    (segment,) = bar.get_segments()
    np.testing.assert_allclose(segment[:, 0], dot.mean + dot.error * np.array([-1, 1]))


def test_lines_of_baselines_do_not_lie_on_the_edge_of_dots():
    for axes in drawn("dots").axes:
        low, high = axes.get_xlim()
        for line in axes.get_lines():
            assert 0.04 < (line.get_xdata()[0] - low) / (high - low) < 0.96


def test_ranks_have_names_bars_and_a_ruler():
    (axes,) = drawn("four ranks").axes
    texts = [text.get_text() for text in axes.texts]
    for name, rank in FOUR_RANKS.ranks.items():
        assert texts.count(f"{name}  {rank:.2f}") == 1
    assert "CD = 1.00" in texts
    bars = [line for line in axes.get_lines() if line.get_linewidth() > 3]
    ticks = [line.get_xdata()[0] for line in axes.get_lines() if max(line.get_ydata()) == 0.07]
    scale = (ticks[-1] - ticks[0]) / 3
    ends = [(np.array(bar.get_xdata()) - ticks[0]) / scale + 1 for bar in bars]
    np.testing.assert_allclose(ends, FOUR_RANKS.bars, atol=0.05 / scale + 1e-9)
    assert bars[0].get_ydata()[0] != bars[1].get_ydata()[0]


def test_ranks_can_do_without_a_title():
    (axes,) = draw_figure(RanksChart("", {"a": 1.0, "b": 2.0, "c": 3.0}, 1.5)).axes
    assert "a  1.00" in [text.get_text() for text in axes.texts]


@pytest.mark.parametrize("name", ["one panel", "dots of one dataset", "four ranks", "epochs"])
def test_a_figure_gives_the_same_bytes_whatever_the_settings_outside(name, tmp_path):
    first = save_figure(drawn(name), tmp_path / "first")
    with mpl.rc_context({"font.size": 30, "axes.facecolor": "black", "svg.hashsalt": None}):
        before = dict(mpl.rcParams)
        second = save_figure(draw_figure(CHARTS[name]()), tmp_path / "second")
        assert dict(mpl.rcParams) == before
    assert [path.read_bytes() for path in first] == [path.read_bytes() for path in second]


def test_a_figure_saved_twice_gives_the_same_bytes(tmp_path):
    written = [
        [path.read_bytes() for path in save_figure(drawn("one panel"), tmp_path / name)]
        for name in "ab"
    ]
    assert written[0] == written[1]


def test_saving_writes_a_png_and_an_svg_and_keeps_dots_in_names(tmp_path):
    paths = save_figure(drawn("four ranks"), tmp_path / "new" / "r=0.5")
    assert [path.name for path in paths] == ["r=0.5.png", "r=0.5.svg"]
    assert sorted(tmp_path.glob("new/*")) == sorted(paths)
    with Image.open(paths[0]) as image:
        assert image.info["dpi"] == pytest.approx((160, 160), abs=0.1)
        assert "Software" not in image.info
    assert "<dc:date>" not in paths[1].read_text()


def test_an_svg_changes_every_colour_of_ours_where_the_page_is_dark_and_paints_its_ground(tmp_path):
    _, svg = save_figure(drawn("one panel"), tmp_path / "figure")
    text = svg.read_text("utf-8")
    style, drawing = text.split("</style>", 1)
    rules = style[style.index("@media (prefers-color-scheme: dark)") :]
    used = set(re.findall(r"(?:fill|stroke): (#[0-9a-f]{6})", drawing))
    changed = dict(re.findall(r'"\w+: (#\w+)"\] \{ \w+: (#\w+) !important', rules))
    assert used == set(changed)
    assert changed["#ffffff"] == "#12161b"
    assert len(set(changed.values())) >= len(changed) - 1  # black text and the last series
