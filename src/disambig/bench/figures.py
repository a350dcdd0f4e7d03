"""Charts drawn for print, with matplotlib. Nothing is computed here but where things go."""

import math
from collections.abc import Iterator, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from disambig.bench.charts import (
    ARROW_ROW_HEIGHT,
    Chart,
    CurvesChart,
    DotPanel,
    DotsChart,
    Legend,
    LineChart,
    RanksChart,
)
from disambig.bench.figure_style import (
    LEGEND_TYPE,
    arrow_keywords,
    color_of,
    figure_style,
    line_keywords,
    text_width,
)

# In inches; the legend needs so much.
_MIN_WIDTH = 5.2
# Lines of many points have so many markers, each line at other points.
_MARKERS_PER_LINE = 10


def draw_figure(chart: Chart) -> Figure:
    """Return a chart as a figure for print; it looks the same whatever matplotlib's settings.

    Parameters
    ----------
    chart : LineChart, CurvesChart, DotsChart or RanksChart
        What to draw.
    """
    with figure_style():
        if isinstance(chart, RanksChart):
            return _draw_ranks(chart)
        if isinstance(chart, CurvesChart):
            figure = _draw_curves(chart)
        elif isinstance(chart, DotsChart):
            figure = _draw_dots(chart)
        else:
            figure = _draw_lines(chart)
        if chart.legend.entries or chart.legend.has_hollow:
            _add_legend(figure, chart.legend)
        # Laid out once: laid out again for each file, parts would move by a hair between files.
        engine = figure.get_layout_engine()
        if engine is not None:
            engine.execute(figure)
        figure.set_layout_engine("none")
    return figure


def _draw_lines(chart: LineChart) -> Figure:
    figure, panels = _make_panels(1, 1, width=6.4, height=3.4)
    ((axes, _, _),) = panels
    _plot_lines(axes, chart)
    axes.set(xlabel=chart.x_title, ylabel=chart.y_title)
    xs = [x for one in chart.series for x in one.x]
    axes.set_xlim(min(xs), max(*xs, min(xs) + 1))
    return figure


def _draw_curves(chart: CurvesChart) -> Figure:
    """Draw a row for every r and a column for every dataset; one row or column is wrapped."""
    keys = [(dataset, r) for r in chart.rs for dataset in chart.datasets]
    is_grid = len(chart.datasets) > 1 and len(chart.rs) > 1
    n_columns = len(chart.datasets) if is_grid else _columns_for(len(keys))
    # Few panels can be large.
    width, height = (3.3, 2.6) if n_columns < 3 else (2.6, 2.3)
    figure, panels = _make_panels(len(keys), n_columns, width=width, height=height)
    for key, (axes, is_first, is_last) in zip(keys, panels, strict=True):
        if key not in chart.panels:
            axes.set_axis_off()
            continue
        panel = chart.panels[key]
        _plot_lines(axes, panel)
        below = [(key[0], r) for r in chart.rs if r > key[1]] if is_grid else []
        has_panel_below = any(other in chart.panels for other in below)
        if is_first:
            axes.set_ylabel(panel.y_title)
        if is_last or (is_grid and not has_panel_below):
            axes.set_xlabel(panel.x_title)
    return figure


def _plot_lines(axes: Axes, chart: LineChart) -> None:
    for i, one in enumerate(chart.series):
        keywords = line_keywords(one.style)
        step = len(one.x) // _MARKERS_PER_LINE
        markers = (i * step // len(chart.series), step) if step > 1 else None
        axes.plot(one.x, one.y, markevery=markers, **keywords)
        if one.remarks and one.style.marker is not None:
            hollow = keywords | {"linestyle": "", "markerfacecolor": "white", "zorder": 4}
            axes.plot([one.x[i] for i in one.remarks], [one.y[i] for i in one.remarks], **hollow)
    axes.set_title(chart.title)
    if chart.x_ticks is not None:
        axes.set_xticks(chart.x_ticks)
    if chart.y_range is None:
        return
    axes.set_ylim(chart.y_range)
    for i, row in chart.arrow_rows().items():
        one = chart.series[i]
        below = [x for x, y in zip(one.x, one.y, strict=True) if y < chart.y_range[0]]
        heights = [ARROW_ROW_HEIGHT * (row + 0.5)] * len(below)
        arrows = arrow_keywords(color_of(one.style))
        axes.plot(below, heights, transform=axes.get_xaxis_transform(), **arrows)


def _draw_dots(chart: DotsChart) -> Figure:
    n_rows = len(chart.panels[0].rows)
    n_columns = _columns_for(len(chart.panels))
    height = 0.7 + 0.24 * n_rows
    figure, panels = _make_panels(len(chart.panels), n_columns, width=2.6, height=height)
    for panel, (axes, is_first, is_last) in zip(chart.panels, panels, strict=True):
        _plot_dots(axes, panel)
        # Lines of bounds count as well, so that none lies on the edge.
        axes.margins(x=0.08)
        axes.autoscale(axis="x")
        axes.set_title(panel.title)
        axes.set_ylim(n_rows - 0.5, -0.5)
        axes.set_yticks(range(n_rows))
        axes.set_yticklabels([dot.name for dot in panel.rows] if is_first else [])
        if is_last:
            axes.set_xlabel(panel.x_title)
    return figure


def _plot_dots(axes: Axes, panel: DotPanel) -> None:
    for row, dot in enumerate(panel.rows):
        if math.isnan(dot.mean):
            continue
        keywords = line_keywords(dot.style)
        del keywords["linestyle"]
        axes.errorbar(
            dot.mean,
            row,
            xerr=dot.spread,
            capsize=2.5,
            markerfacecolor="white" if dot.remark else keywords["color"],
            **(keywords | {"markersize": keywords["markersize"] + 1}),
        )
    for dot in panel.bounds:
        if not math.isnan(dot.mean):
            keywords = line_keywords(dot.style)
            names = ("color", "linestyle", "linewidth", "zorder")
            axes.axvline(dot.mean, **{name: keywords[name] for name in names})


def _columns_for(n_panels: int) -> int:
    """Return the number of columns for panels that may be wrapped anywhere."""
    return {1: 1, 2: 2, 3: 3, 4: 2}.get(n_panels, 3 if n_panels <= 6 or n_panels == 9 else 4)


def _make_panels(
    n_panels: int, n_columns: int, *, width: float, height: float
) -> tuple[Figure, list[tuple[Axes, bool, bool]]]:
    """Return a figure with panels of this size in inches, row by row.

    Beside every panel, whether it is first in its row and whether it is last in its column.
    """
    n_rows = -(-n_panels // n_columns)
    size = (max(_MIN_WIDTH, n_columns * width), n_rows * height + 0.7)
    figure = Figure(figsize=size, layout="constrained")
    return figure, [
        (
            figure.add_subplot(n_rows, n_columns, i + 1),
            i % n_columns == 0,
            i + n_columns >= n_panels,
        )
        for i in range(n_panels)
    ]


def _add_legend(figure: Figure, legend: Legend) -> None:
    """Put one legend below all panels, in as few rows as there is room for."""
    handles = list(_legend_handles(legend))
    widths = [text_width(str(handle.get_label()), LEGEND_TYPE) for handle in handles]
    room = figure.get_figwidth() - 0.3
    fitting = (n for n in range(len(widths), 1, -1) if _legend_width(widths, n) <= room)
    n_rows = -(-len(widths) // next(fitting, 1))
    figure.legend(handles=handles, loc="outside lower center", ncols=-(-len(widths) // n_rows))


def _legend_handles(legend: Legend) -> Iterator[Line2D]:
    for label, style in legend.entries:
        yield Line2D([], [], label=label, **line_keywords(style))
    if legend.has_hollow:
        yield Line2D(
            [],
            [],
            linestyle="",
            marker="o",
            markerfacecolor="white",
            markeredgecolor="black",
            label="hollow: some runs missing",
        )
    if legend.has_arrows:
        yield Line2D([], [], label="below the axis", **arrow_keywords("black"))


def _legend_width(widths: Sequence[float], n_columns: int) -> float:
    """Return the width of a legend in inches; entries fill it column by column."""
    longest = sum(max(column) for column in np.array_split(widths, n_columns))
    # Beside each text a line, and space: 3.6, 0.8 and 2 times the size of the type.
    return float(longest + n_columns * 6.4 * LEGEND_TYPE / 72)


# In inches; sizes of type in points.
_AXIS = 4.6
_LABEL_STEP = 0.22
_BAR_STEP = 0.11
_GAP = 0.08
_EDGE = 0.15
_RULER_HEIGHT = 0.48
_TYPE = 9.0
_INK = "black"


def _draw_ranks(chart: RanksChart) -> Figure:
    labels = {name: f"{name}  {rank:.2f}" for name, rank in chart.ranks.items()}
    left, right = (
        max(_bold_width(labels[name]) for name in group) + 2 * _GAP + _EDGE
        for group in (chart.left, chart.right)
    )
    scale = _AXIS / (len(chart.ranks) - 1)
    ruler, ruler_label = chart.difference * scale, f"CD = {chart.difference:.2f}"
    # Title and ruler begin with the axis and may end to the right of its labels.
    ruler_room = ruler + _GAP + _bold_width(ruler_label) + _EDGE
    width = left + max(_AXIS + right, ruler_room, _bold_width(chart.title) + _EDGE)
    levels = chart.bar_levels(gap=0.2 / scale)
    depth = 0.16 + _BAR_STEP * (max(levels, default=-1) + 1)
    above, below = 0.95, depth + _LABEL_STEP * len(chart.left) + _EDGE
    figure = Figure(figsize=(width, above + below))
    axes = figure.add_axes((0, 0, 1, 1), xlim=(0, width), ylim=(-below, above))
    axes.set_axis_off()

    def place(rank: float) -> float:
        return left + (rank - 1) * scale

    axes.text(left, above - _EDGE, chart.title, va="top", fontsize=_TYPE)
    _plot_ruler(axes, left, ruler, ruler_label)
    _plot_axis(axes, [place(rank) for rank in range(1, len(chart.ranks) + 1)])
    for (best, worst), level in zip(chart.bars, levels, strict=True):
        ends = [place(best) - 0.05, place(worst) + 0.05]
        height = -0.14 - _BAR_STEP * level
        axes.plot(ends, [height] * 2, color=_INK, linewidth=3.6, solid_capstyle="butt")
    for group, end, side in ((chart.left, left - _GAP, -1), (chart.right, left + _AXIS + _GAP, 1)):
        for i, name in enumerate(group):
            x, y = place(chart.ranks[name]), -depth - _LABEL_STEP * (i + 0.5)
            axes.plot([x, x, end], [0, y, y], color=_INK, linewidth=0.9)
            axes.text(
                end + side * _GAP / 2,
                y,
                labels[name],
                ha="right" if side < 0 else "left",
                va="center",
                fontsize=_TYPE,
                weight="bold" if name == chart.reference else "normal",
            )
    return figure


def _plot_axis(axes: Axes, ticks: Sequence[float]) -> None:
    axes.plot([ticks[0], ticks[-1]], [0, 0], color=_INK, linewidth=1.2)
    for rank, tick in enumerate(ticks, start=1):
        axes.plot([tick, tick], [0, 0.07], color=_INK, linewidth=1.2)
        axes.text(tick, 0.1, str(rank), ha="center", va="bottom", fontsize=_TYPE - 1)


def _plot_ruler(axes: Axes, start: float, length: float, label: str) -> None:
    """Draw a line as long as the critical difference, with its length beside it."""
    axes.plot([start, start + length], [_RULER_HEIGHT] * 2, color=_INK, linewidth=1.2)
    for end in (start, start + length):
        ends = [_RULER_HEIGHT - 0.05, _RULER_HEIGHT + 0.05]
        axes.plot([end, end], ends, color=_INK, linewidth=1.2)
    # Beside it, where there is room for a short ruler too.
    axes.text(start + length + _GAP, _RULER_HEIGHT, label, ha="left", va="center", fontsize=_TYPE)


def _bold_width(text: str) -> float:
    return text_width(text, _TYPE, weight="bold")
