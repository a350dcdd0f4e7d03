"""Figures: what is in them, that nothing covers anything, and that bytes can be reproduced."""

import itertools
import subprocess
import sys
from functools import cache

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.path import Path
from PIL import Image

from disambig import DisambigError
from disambig.bench import (
    draw_critical_difference,
    draw_curves,
    draw_dots,
    draw_epochs,
    save_figure,
)
from disambig.bench.figures.critical_difference import draw_ranks
from disambig.bench.figures.style import method_styles

METHODS = ("NCPD", "SURE", "AGGD", "IPAL", "PL-KNN", "CLPL")
MANY = (*METHODS, "M3PL", "PL-SVM", "EM", "LSB-CMM", "w/o NC", "w/o PD", "NCPD by covering rate")
BOUNDS = {"average": "floor", "oracle": "ceiling"}
DATASETS = ("glass", "ecoli", "vehicle", "segment")
PS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7)
LEGEND = [*METHODS, "average (floor)", "oracle (ceiling)"]


@cache
def study(datasets=DATASETS, ps=PS, rs=(1, 2, 3), methods=METHODS, n_folds=10):
    generator = np.random.default_rng(0)
    rows = []
    names = (*methods, *BOUNDS)
    for dataset, r, p, (i, method) in itertools.product(datasets, rs, ps, enumerate(names)):
        is_corrupted = p == p
        data = f"{dataset}, p={p:g}, r={r:g}" if is_corrupted else dataset
        base = {"average": 0.3, "oracle": 0.9}.get(method, 0.7 - 0.01 * i)
        rows += [
            {
                "dataset": dataset,
                "p": p,
                "r": r,
                "data": data,
                "method": method,
                "role": BOUNDS.get(method, "method"),
                "seed": 0,
                "fold": fold,
                "accuracy": base - (0.1 * p * r if is_corrupted else 0) + noise,
                "selection": None,
            }
            for fold, noise in enumerate(generator.normal(0, 0.03, n_folds))
        ]
    return pd.DataFrame(rows)


def uncorrupted(n_datasets, methods=METHODS):
    datasets = tuple(f"dataset {i}" for i in range(n_datasets))
    return study(datasets, (np.nan,), (np.nan,), methods, n_folds=3)


def epochs():
    generator = np.random.default_rng(0)
    labels = ("NCPD", "w/o NC", "w/o PD")
    return {label: generator.uniform(0.3, 0.5, (5, 80)) for label in labels}


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


FIGURES = {
    "12 panels": lambda: draw_curves(study()),
    "one r": lambda: draw_curves(study(rs=(1,))),
    "one dataset": lambda: draw_curves(study(datasets=("glass",))),
    "one panel": lambda: draw_curves(study(datasets=("glass",), rs=(1,))),
    "13 lines": lambda: draw_curves(study(rs=(1,), methods=MANY, n_folds=2)),
    "cut": lambda: draw_curves(sunk(2.0)),
    "dots": lambda: draw_dots(uncorrupted(5)),
    "dots of one dataset": lambda: draw_dots(uncorrupted(1)),
    "13 dots": lambda: draw_dots(uncorrupted(3, MANY)),
    "ranks of 3": lambda: draw_critical_difference(uncorrupted(2, METHODS[:3])),
    "ranks of 6": lambda: draw_critical_difference(study()),
    "ranks of 13": lambda: draw_critical_difference(uncorrupted(5, MANY)),
    "equal ranks": lambda: draw_ranks(dict.fromkeys(MANY, 7.0), 2.0, title="all alike"),
    "epochs": lambda: draw_epochs(epochs(), title="MSRCv2"),
}


@cache
def drawn(name):
    """Draw once for all tests that only look."""
    figure = FIGURES[name]()
    FigureCanvasAgg(figure).draw()
    return figure


@pytest.mark.parametrize("name", FIGURES)
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


def test_one_r_makes_two_rows_of_two_panels():
    figure = drawn("one r")
    grid = figure.axes[0].get_gridspec()
    assert (grid.nrows, grid.ncols, len(figure.axes)) == (2, 2, 4)


def test_a_curve_is_the_mean_over_folds():
    scores = study()
    (axes, *_) = drawn("12 panels").axes
    own = scores[(scores["dataset"] == "glass") & (scores["r"] == 1) & (scores["method"] == "SURE")]
    line = axes.get_lines()[1]
    np.testing.assert_allclose(line.get_xdata(), PS)
    np.testing.assert_allclose(line.get_ydata(), own.groupby("p")["accuracy"].mean())


def test_panels_of_a_dataset_share_their_scale():
    axes = drawn("12 panels").axes
    assert axes[0].get_ylim() == axes[4].get_ylim() == axes[8].get_ylim()


def test_figures_of_one_r_have_the_scale_of_all():
    figures = [draw_curves(study(), r=r) for r in (1, 3)]
    assert [figure.axes[0].get_title() for figure in figures] == ["glass, r = 1", "glass, r = 3"]
    assert [len(figure.axes) for figure in figures] == [4, 4]
    scales = [[axes.get_ylim() for axes in figure.axes] for figure in figures]
    assert scales[0] == scales[1] == [axes.get_ylim() for axes in drawn("12 panels").axes[:4]]


def test_every_point_is_inside_its_panel():
    for axes in drawn("12 panels").axes:
        low, high = axes.get_ylim()
        for line in axes.get_lines():
            assert low < min(line.get_ydata())
            assert max(line.get_ydata()) < high


def test_an_r_that_is_not_there_is_refused():
    with pytest.raises(
        DisambigError, match="must be one that data was corrupted with: 1, 2, 3. Got 4"
    ):
        draw_curves(study(), r=4)


def sunk(depth, datasets=("glass", "ecoli")):
    """Return a study in which CLPL on glass is so far below the floor."""
    scores = study(datasets=datasets).copy()
    below = (scores["method"] == "CLPL") & (scores["dataset"] == "glass")
    scores.loc[below, "accuracy"] = 0.3 - depth
    return scores


def arrows_of(axes):
    return [line for line in axes.get_lines() if isinstance(line.get_marker(), Path)]


def test_points_far_below_the_floor_are_arrows_at_the_edge():
    figure = drawn("cut")
    assert legend_of(figure)[-1] == "below the axis"
    for axes in figure.axes:
        is_cut = axes.get_title().startswith("glass")
        low, _ = axes.get_ylim()
        assert low > (-0.5 if is_cut else 0)
        assert [list(line.get_xdata()) for line in arrows_of(axes)] == [list(PS)] * is_cut
        for line in arrows_of(axes):
            assert line.get_markeredgecolor() == method_styles(["CLPL"])["CLPL"].color
            assert max(line.get_ydata()) < 0.1  # of the height of the panel
    # The other lines lie above the arrows.
    axes = figure.axes[0]
    low, high = axes.get_ylim()
    others = [line for line in axes.get_lines() if line not in arrows_of(axes)]
    lowest = min(y for line in others for y in line.get_ydata() if y > low)
    assert (lowest - low) / (high - low) > 0.07


def test_however_many_methods_lie_far_below_the_rest_keeps_most_of_the_height():
    scores = study(rs=(1,), methods=MANY, n_folds=2).copy()
    scores.loc[scores["method"].isin(MANY[1:]), "accuracy"] = -2.0
    axes = draw_curves(scores).axes[0]
    assert len(arrows_of(axes)) == len(MANY) - 1
    low, high = axes.get_ylim()
    (best, *_) = axes.get_lines()
    assert -2 < low < min(best.get_ydata()) < high
    assert max(line.get_ydata()[0] for line in arrows_of(axes)) < 0.35


def test_the_axis_is_whole_where_a_cut_saves_less_than_half():
    figure = draw_curves(sunk(0.4, ("glass",)))
    assert "below the axis" not in legend_of(figure)
    assert not any(arrows_of(axes) for axes in figure.axes)
    low, _ = figure.axes[0].get_ylim()
    assert low < -0.1


def test_the_axis_is_not_cut_where_less_is_better():
    errors = sunk(2.0, ("glass",)).rename(columns={"accuracy": "brier_score"})
    assert not any(arrows_of(axes) for axes in draw_curves(errors, "brier_score").axes)


def test_the_reference_stands_out_in_every_figure():
    for reference, other in (("SURE", "NCPD"), ("NCPD", "SURE")):
        places = [METHODS.index(name) for name in (reference, other)]
        curves = draw_curves(study(("glass",), rs=(1,)), reference=reference)
        lines = curves.axes[0].get_lines()
        strong, weak = (lines[place].get_linewidth() for place in places)
        assert strong > 2 * weak
        dots = draw_dots(uncorrupted(2), reference=reference).axes[0].containers
        strong, weak = (dots[place][0].get_markersize() for place in places)
        assert strong > weak
        (axes,) = draw_critical_difference(study(), reference=reference).axes
        bold = [text.get_text() for text in axes.texts if text.get_weight() == "bold"]
        assert [text.split()[0] for text in bold] == [reference]
    lines = draw_epochs(epochs(), title="t", reference="w/o NC").axes[0].get_lines()
    assert [line.get_linewidth() > 2 for line in lines] == [False, True, False]


def test_lines_of_floor_and_ceiling_do_not_lie_on_the_edge_of_dots():
    for axes in drawn("dots").axes:
        low, high = axes.get_xlim()
        for line in axes.get_lines():
            assert 0.04 < (line.get_xdata()[0] - low) / (high - low) < 0.96


def test_every_method_floor_and_ceiling_is_in_the_legend_of_curves():
    assert legend_of(drawn("12 panels")) == LEGEND


def test_a_missing_point_interrupts_its_curve_and_an_incomplete_one_is_hollow():
    scores = study(rs=(1,))
    is_sure = (scores["method"] == "SURE") & (scores["dataset"] == "glass")
    gone = is_sure & (scores["p"] == 0.3)
    partly = is_sure & (scores["p"] == 0.5) & (scores["fold"] > 6)
    figure = draw_curves(scores[~gone & ~partly])
    lines = figure.axes[0].get_lines()
    assert np.flatnonzero(np.isnan(lines[1].get_ydata())).tolist() == [2]
    hollow = [line for line in lines if line.get_markerfacecolor() == "white"]
    assert [list(line.get_xdata()) for line in hollow] == [[0.5]]
    assert legend_of(figure)[-1] == "hollow: some runs missing"


def test_curves_without_corruption_are_refused():
    with pytest.raises(DisambigError, match="Draw dots instead"):
        draw_curves(uncorrupted(2))


def test_dots_have_a_panel_for_all_data_and_name_every_method_in_order():
    figure = drawn("dots")
    assert [axes.get_title() for axes in figure.axes] == [f"dataset {i}" for i in range(5)]
    names = [label.get_text() for label in figure.axes[0].get_yticklabels()]
    assert names == list(METHODS)
    low, high = figure.axes[0].get_ylim()
    assert low > high  # the first method is at the top
    assert legend_of(figure) == ["average (floor)", "oracle (ceiling)"]


def test_dots_are_means_with_standard_deviations():
    scores = uncorrupted(2)
    axes = draw_dots(scores).axes[1]
    own = scores[(scores["data"] == "dataset 1") & (scores["method"] == "AGGD")]["accuracy"]
    point, _, (bar,) = axes.containers[2]
    assert point.get_xdata()[0] == pytest.approx(own.mean())
    (segment,) = bar.get_segments()
    np.testing.assert_allclose(segment[:, 0], own.mean() + own.std() * np.array([-1, 1]))


def test_dots_leave_out_missing_cells_and_show_incomplete_ones_hollow():
    scores = uncorrupted(2)
    second = scores["data"] == "dataset 1"
    gone = second & (scores["method"] == "SURE")
    partly = second & (scores["method"] == "AGGD") & (scores["fold"] == 0)
    figure = draw_dots(scores[~gone & ~partly])
    points = [container[0] for container in figure.axes[1].containers]
    assert len(points) == len(METHODS) - 1
    hollow = [point for point in points if point.get_markerfacecolor() == "white"]
    assert [point.get_ydata()[0] for point in hollow] == [METHODS.index("AGGD")]
    assert legend_of(figure)[-1] == "hollow: some runs missing"


def test_the_diagram_of_ranks_names_every_method_once_with_its_rank():
    ranks = {"a": 1.2, "b": 2.0, "c": 2.8, "d": 4.0}
    (axes,) = draw_ranks(ranks, 1.0, title="ranks").axes
    texts = [text.get_text() for text in axes.texts]
    for name, rank in ranks.items():
        assert texts.count(f"{name}  {rank:.2f}") == 1
    assert "CD = 1.00" in texts


def test_bars_of_the_diagram_join_methods_that_cannot_be_told_apart():
    ranks = {"a": 1.2, "b": 2.0, "c": 2.8, "d": 4.0}
    (axes,) = draw_ranks(ranks, 1.0, title="ranks").axes
    bars = [line for line in axes.get_lines() if line.get_linewidth() > 3]
    # a with b, b with c; d with nobody.
    assert len(bars) == 2
    ticks = [line.get_xdata()[0] for line in axes.get_lines() if max(line.get_ydata()) == 0.07]
    scale = (ticks[-1] - ticks[0]) / 3
    ends = [(np.array(bar.get_xdata()) - ticks[0]) / scale + 1 for bar in bars]
    np.testing.assert_allclose(ends, [[1.2, 2.0], [2.0, 2.8]], atol=0.05 / scale + 1e-9)
    # Bars that touch lie at different heights.
    assert bars[0].get_ydata()[0] != bars[1].get_ydata()[0]


def test_bars_side_by_side_never_look_like_one():
    # The groups are far enough apart to share a height, or lie at two.
    for second in (2.1, 3.0):
        ranks = {"a": 1.98, "b": 2.02, "c": second, "d": second + 0.04}
        (axes,) = draw_ranks(ranks, 0.05, title="ranks").axes
        bars = [line for line in axes.get_lines() if line.get_linewidth() > 3]
        is_level = bars[0].get_ydata()[0] == bars[1].get_ydata()[0]
        assert is_level == (second == 3.0)


def test_a_diagram_can_do_without_a_title():
    (axes,) = draw_ranks({"a": 1.0, "b": 2.0, "c": 3.0}, 1.5, title="").axes
    assert "a  1.00" in [text.get_text() for text in axes.texts]


def test_floors_and_ceilings_are_not_ranked():
    (axes,) = drawn("ranks of 6").axes
    assert not any("average (" in text.get_text() for text in axes.texts)


@pytest.mark.parametrize(
    ("scores", "needs"),
    [(uncorrupted(1), "two datasets"), (uncorrupted(4, METHODS[:2]), "three methods")],
)
def test_a_diagram_of_too_little_is_refused(scores, needs):
    with pytest.raises(DisambigError, match=f"needs {needs}"):
        draw_critical_difference(scores)


def test_curves_of_epochs_are_means_over_folds_and_the_legend_says_where_they_end():
    curves = epochs()
    figure = draw_epochs(curves, title="MSRCv2")
    (axes,) = figure.axes
    for line, values in zip(axes.get_lines(), curves.values(), strict=True):
        np.testing.assert_allclose(line.get_ydata(), values.mean(axis=0))
        np.testing.assert_array_equal(line.get_xdata(), np.arange(1, 81))
    assert legend_of(figure) == [
        f"{label}: {values.mean(axis=0)[-1]:.3f} at the end" for label, values in curves.items()
    ]


def test_the_legend_of_epochs_takes_other_names_and_lines_keep_their_look():
    named, plain = (
        draw_epochs(epochs(), title="t", names=names)
        for names in ({"w/o NC": "w/o NC (chosen by true labels)"}, None)
    )
    assert legend_of(named)[1].startswith("w/o NC (chosen by true labels): 0.")
    colors = [
        [line.get_color() for line in figure.axes[0].get_lines()] for figure in (named, plain)
    ]
    assert colors[0] == colors[1]


@pytest.mark.parametrize("curves", [{}, {"NCPD": [0.1, 0.2]}, {"NCPD": np.empty((0, 3))}])
def test_epochs_without_a_row_for_every_fold_are_refused(curves):
    with pytest.raises(DisambigError):
        draw_epochs(curves, title="MSRCv2")


@pytest.mark.parametrize("name", ["one panel", "dots of one dataset", "ranks of 6", "epochs"])
def test_a_figure_gives_the_same_bytes_every_time(name, tmp_path):
    figure = FIGURES[name]()
    written = [
        [path.read_bytes() for path in save_figure(one, tmp_path / f"{i}")]
        for i, one in enumerate([figure, figure, FIGURES[name]()])
    ]
    assert written[0] == written[1] == written[2]


def test_settings_outside_change_neither_bytes_nor_themselves(tmp_path):
    plain = save_figure(draw_dots(uncorrupted(2)), tmp_path / "plain")
    with mpl.rc_context({"font.size": 30, "axes.facecolor": "black", "svg.hashsalt": None}):
        before = dict(mpl.rcParams)
        odd = save_figure(draw_dots(uncorrupted(2)), tmp_path / "odd")
        assert dict(mpl.rcParams) == before
    assert [path.read_bytes() for path in plain] == [path.read_bytes() for path in odd]


def test_saving_writes_a_png_and_an_svg_and_keeps_dots_in_names(tmp_path):
    paths = save_figure(draw_dots(uncorrupted(2)), tmp_path / "new" / "r=0.5")
    assert [path.name for path in paths] == ["r=0.5.png", "r=0.5.svg"]
    assert sorted(tmp_path.glob("new/*")) == sorted(paths)
    with Image.open(paths[0]) as image:
        assert image.info["dpi"] == pytest.approx((160, 160), abs=0.1)
        assert "Software" not in image.info
    assert "<dc:date>" not in paths[1].read_text()


def test_drawing_does_without_pyplot(tmp_path):
    code = (
        "import sys; from disambig.bench import draw_epochs, save_figure; "
        "save_figure(draw_epochs({'a': [[0.1, 0.2]]}, title='t'), sys.argv[1]); "
        "assert 'matplotlib.pyplot' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code, str(tmp_path / "figure")], check=True)
