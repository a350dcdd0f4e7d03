"""Charts drawn for print, with matplotlib. Nothing is computed here but where things go."""

import math
from collections.abc import Iterator, Sequence

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from disambig.bench.charts import (
    ARROW_ROW_HEIGHT,
    ONE_ERROR,
    Chart,
    CurvesChart,
    DotPanel,
    DotsChart,
    LineChart,
    RanksChart,
    Series,
)
from disambig.bench.end_labels import BAR_SHIFT, can_label_ends, label_ends, label_room
from disambig.bench.figure_style import (
    INK,
    LEGEND_TYPE,
    arrow_keywords,
    band_keywords,
    color_of,
    figure_style,
    line_keywords,
    text_width,
)
from disambig.bench.rank_figure import draw_ranks

# In inches; the legend needs so much.
_MIN_WIDTH = 5.2
# Lines of many points have so many markers, each line at other points.
_MARKERS_PER_LINE = 10
_LINES_HEIGHT = 3.4


def draw_figure(chart: Chart) -> Figure:
    """Return a chart as a figure for print; it looks the same whatever matplotlib's settings.

    Parameters
    ----------
    chart : LineChart, CurvesChart, DotsChart or RanksChart
        What to draw.

    See Also
    --------
    save_figure : Writes the figure as PNG and SVG.

    Examples
    --------
    >>> from disambig.bench import RanksChart, draw_figure
    >>> ranks = {"NCPD": 1.2, "SURE": 1.9, "PLKNN": 2.9}
    >>> chart = RanksChart("Ranks", ranks, difference=1.0)
    >>> figure = draw_figure(chart)
    >>> len(figure.axes)
    1
    """
    with figure_style():
        if isinstance(chart, RanksChart):
            return draw_ranks(chart)
        if isinstance(chart, CurvesChart):
            figure = _draw_curves(chart)
        elif isinstance(chart, DotsChart):
            figure = _draw_dots(chart)
        else:
            figure = _draw_lines(chart)
        handles = list(_legend_handles(chart))
        if handles:
            _add_legend(figure, handles)
        # Laid out once: laid out again for each file, parts would move by a hair between files.
        engine = figure.get_layout_engine()
        if engine is not None:
            engine.execute(figure)
        figure.set_layout_engine("none")
    return figure


def _draw_lines(chart: LineChart) -> Figure:
    figure, panels = _make_panels(1, 1, width=6.4, height=_LINES_HEIGHT)
    ((axes, _, _),) = panels
    _plot_lines(axes, chart)
    axes.set(xlabel=chart.x_title, ylabel=chart.y_title)
    xs = [x for one in chart.series for x in one.x]
    axes.set_xlim(min(xs), max(*xs, min(xs) + 1))
    if can_label_ends(chart, _LINES_HEIGHT):
        label_ends(axes, chart, _LINES_HEIGHT)
    return figure


def _draw_curves(chart: CurvesChart) -> Figure:
    """Draw a row for every r and a column for every dataset; one row or column is wrapped."""
    keys = [(dataset, r) for r in chart.rs for dataset in chart.datasets]
    is_grid = len(chart.datasets) > 1 and len(chart.rs) > 1
    n_columns = len(chart.datasets) if is_grid else _columns_for(len(keys))
    # Few panels can be large.
    width, height = (3.3, 2.6) if n_columns < 3 else (2.6, 2.3)
    last = chart.panels.get(keys[-1])
    has_labels = last is not None and can_label_ends(last, height)
    room = label_room(last) if last and has_labels else 0
    figure, panels = _make_panels(len(keys), n_columns, width=width, height=height, room=room)
    for key, (axes, is_first, is_last) in zip(keys, panels, strict=True):
        if key not in chart.panels:
            axes.set_axis_off()
            continue
        panel = chart.panels[key]
        _plot_lines(axes, panel)
        if panel is last and has_labels:
            label_ends(axes, panel, height)
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
        if chart.has_end_bars and one.errors:
            _plot_end_bar(axes, one, shift=BAR_SHIFT * (i + 1))
    for one in chart.bands:
        lows, highs = zip(*one.band, strict=True)
        axes.fill_between(one.x, lows, highs, **band_keywords(one.style))
    axes.set_title(chart.title)
    if chart.x_ticks is not None:
        axes.set_xticks(chart.x_ticks, [*chart.x_names] or None)
    if chart.y_range is None:
        return
    axes.set_ylim(chart.y_range)
    for i, row in chart.arrow_rows().items():
        one = chart.series[i]
        below = [x for x, y in zip(one.x, one.y, strict=True) if y < chart.y_range[0]]
        heights = [ARROW_ROW_HEIGHT * (row + 0.5)] * len(below)
        arrows = arrow_keywords(color_of(one.style))
        axes.plot(below, heights, transform=axes.get_xaxis_transform(), **arrows)


def _plot_end_bar(axes: Axes, one: Series, *, shift: float) -> None:
    """Draw the error of the last point beside it, so that bars of several lines lie side by side.

    The shift is a share of the length of the line.
    """
    x = one.x[-1] + shift * (one.x[-1] - one.x[0])
    color = color_of(one.style)
    axes.errorbar(x, one.y[-1], yerr=one.errors[-1], color=color, capsize=2, clip_on=False)


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
        for dot, label in zip(panel.rows, axes.get_yticklabels(), strict=True):
            label.set_fontweight("bold" if dot.style.is_strong else "normal")
        if is_last:
            axes.set_xlabel(panel.x_title)
    return figure


def _plot_dots(axes: Axes, panel: DotPanel) -> None:
    """Draw all dots alike, because rows have names; that of the reference is larger."""
    for row, dot in enumerate(panel.rows):
        if math.isnan(dot.mean):
            continue
        axes.errorbar(
            dot.mean,
            row,
            xerr=dot.error,
            capsize=2.5,
            color=INK,
            marker="o",
            markersize=6 if dot.style.is_strong else 4.5,
            linewidth=2 if dot.style.is_strong else 1.3,
            markerfacecolor="white" if dot.remark else INK,
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
    n_panels: int, n_columns: int, *, width: float, height: float, room: float = 0
) -> tuple[Figure, list[tuple[Axes, bool, bool]]]:
    """Return a figure with panels of this size in inches, row by row, and room on the right.

    Beside every panel, whether it is first in its row and whether it is last in its column.
    """
    n_rows = -(-n_panels // n_columns)
    size = (max(_MIN_WIDTH, n_columns * width + room), n_rows * height + 0.7)
    figure = Figure(figsize=size, layout="constrained")
    return figure, [
        (
            figure.add_subplot(n_rows, n_columns, i + 1),
            i % n_columns == 0,
            i + n_columns >= n_panels,
        )
        for i in range(n_panels)
    ]


def _add_legend(figure: Figure, handles: Sequence[Artist]) -> None:
    """Put one legend below all panels, in as few rows as there is room for."""
    widths = [text_width(str(handle.get_label()), LEGEND_TYPE) for handle in handles]
    room = figure.get_figwidth() - 0.3
    fitting = (n for n in range(len(widths), 1, -1) if _legend_width(widths, n) <= room)
    n_rows = -(-len(widths) // next(fitting, 1))
    figure.legend(handles=handles, loc="outside lower center", ncols=-(-len(widths) // n_rows))


def _legend_handles(chart: LineChart | CurvesChart | DotsChart) -> Iterator[Artist]:
    legend = chart.legend
    has_labels = isinstance(chart, LineChart) and can_label_ends(chart, _LINES_HEIGHT)
    for label, style in () if has_labels else legend.entries:
        yield Line2D([], [], label=label, **line_keywords(style))
    if legend.band is not None:
        label, style = legend.band
        yield Patch(label=label, **band_keywords(style))
    if legend.has_bars:
        yield Line2D([], [], color=INK, linewidth=1.3, marker="|", label=ONE_ERROR)
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
