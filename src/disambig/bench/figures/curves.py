"""Scores against the share of corrupted rows, a panel for every dataset and r."""

from collections.abc import Mapping
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from disambig._core.errors import ParameterError
from disambig.bench.curve_limits import (
    MOST_ARROW_ROWS,
    ROW_OF_ARROWS,
    corrupted_settings,
    curve_limits,
    mean_of,
)
from disambig.bench.figures.style import (
    LineStyle,
    arrow,
    cell_styles,
    columns_for,
    hollow_entry,
    legend_entry,
    look,
    make_panels,
    settle,
    share_legend,
)
from disambig.bench.run_table import Cells, read_cells
from disambig.metrics import metric_title

__all__ = ["draw_curves"]


def draw_curves(
    scores: Any,
    metric: str = "accuracy",
    *,
    reference: str | None = None,
    r: float | None = None,
) -> Figure:
    """Return the mean over runs of every method against p.

    A row of panels for every r and a column for every dataset; with only one r, or one dataset,
    panels fill the rows in turn. Panels of a dataset share their scale, that of all its r. A
    point over fewer runs than others is hollow, a missing one interrupts its line. Where points
    far below the floor would take more than half of the height, they are arrows at the lower edge.

    Parameters
    ----------
    scores : DataFrame
        Records of a study with controlled corruption; others are left out.
    metric : str, default="accuracy"
        Column of the records.
    reference : str, optional
        Label of the method that stands out.
    r : float, optional
        Only panels of this r.
    """
    cells = read_cells(scores, metric)
    places = corrupted_settings(cells)
    if not places:
        raise ParameterError(
            "Curves need data with a share p of corrupted rows, and no record has one. "
            "Draw dots instead."
        )
    limits = curve_limits(cells, places)
    places = {data: setting for data, setting in places.items() if r in (None, setting.r)}
    if not places:
        levels = sorted({setting.r for setting in cells.settings.values() if setting.r >= 0})
        known = ", ".join(f"{level:g}" for level in levels)
        raise ParameterError(f"'r' must be one that data was corrupted with: {known}. Got {r:g}.")
    datasets = list(dict.fromkeys(setting.dataset for setting in places.values()))
    rs = sorted({setting.r for setting in places.values()})
    settled = len(datasets) > 1 and len(rs) > 1
    n_panels = len(datasets) * len(rs)
    n_columns = len(datasets) if settled else columns_for(n_panels)
    with look():
        # Few panels can be large.
        width, height = (3.3, 2.6) if n_columns < 3 else (2.6, 2.3)
        figure, panels = make_panels(n_panels, n_columns, width=width, height=height)
        styles = cell_styles(cells, reference)
        grid = [(level, dataset) for level in rs for dataset in datasets]
        has_hollow = has_arrows = False
        for i, (axes, (level, dataset)) in enumerate(zip(panels, grid, strict=True)):
            own = {
                setting.p: data
                for data, setting in places.items()
                if setting.dataset == dataset and setting.r == level
            }
            has_hollow |= _draw_panel(axes, cells, own, styles)
            if dataset in limits:
                axes.set_ylim(limits[dataset])
                has_arrows |= _draw_arrows(axes, cells, own, styles)
            axes.set_title(f"{dataset}, r = {level:g}")
            axes.set_xticks(sorted({setting.p for setting in places.values()}))
            if i % n_columns == 0:
                axes.set_ylabel(metric_title(metric))
            if i + n_columns >= n_panels:
                axes.set_xlabel("p, share of corrupted rows")
        handles = [legend_entry(cells.shown(name), style) for name, style in styles.items()]
        handles += [hollow_entry()] * has_hollow
        if has_arrows:
            handles.append(Line2D([], [], label="below the axis", **arrow("black")))
        share_legend(figure, handles)
        settle(figure)
    return figure


def _draw_panel(
    axes: Axes, cells: Cells, data: Mapping[float, str], styles: Mapping[str, LineStyle]
) -> bool:
    """Draw the lines of one panel; return whether a point is hollow."""
    has_hollow = False
    ps = sorted(data)
    for method, style in styles.items():
        means = [mean_of(cells, data[p], method) for p in ps]
        axes.plot(ps, means, **style.line())
        counts = [len(cells.values(data[p], method)) for p in ps]
        partly = [i for i, count in enumerate(counts) if 0 < count < cells.n_runs]
        if partly and style.marker:
            hollow = style.line() | {"linestyle": "", "markerfacecolor": "white", "zorder": 4}
            axes.plot([ps[i] for i in partly], [means[i] for i in partly], **hollow)
            has_hollow = True
    return has_hollow


def _draw_arrows(
    axes: Axes, cells: Cells, data: Mapping[float, str], styles: Mapping[str, LineStyle]
) -> bool:
    """Draw an arrow at the lower edge for every point below it; return whether there is one."""
    bottom, _ = axes.get_ylim()
    below = {
        method: [p for p in sorted(data) if mean_of(cells, data[p], method) < bottom]
        for method in styles
    }
    rows = [method for method, ps in below.items() if ps]
    for row, method in enumerate(rows):
        heights = [ROW_OF_ARROWS * (row % MOST_ARROW_ROWS + 0.5)] * len(below[method])
        place = axes.get_xaxis_transform()
        axes.plot(below[method], heights, transform=place, **arrow(styles[method].color))
    return bool(rows)
