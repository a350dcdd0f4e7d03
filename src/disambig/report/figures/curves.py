"""Scores against the share of corrupted rows, a panel for every dataset and r."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from disambig._core.errors import ParameterError
from disambig.report.cells import Cells, read_cells
from disambig.report.figures.panels import (
    columns_for,
    hollow_entry,
    legend_entry,
    make_panels,
    settle,
    share_legend,
)
from disambig.report.figures.style import LineStyle, cell_styles, look
from disambig.report.metric_names import metric_title

__all__ = ["draw_curves"]


def draw_curves(scores: Any, metric: str = "accuracy") -> Figure:
    """Return the mean over runs of every method against p.

    A row of panels for every r and a column for every dataset; with only one r, or one dataset,
    panels fill the rows in turn. Panels of a dataset share their scale. A point over fewer runs
    than others is hollow, a missing one interrupts its line.

    Parameters
    ----------
    scores : DataFrame
        Records of a study with controlled corruption; others are left out.
    metric : str, default="accuracy"
        Column of the records.
    """
    cells = read_cells(scores, metric)
    places = {
        data: setting for data, setting in cells.settings.items() if not math.isnan(setting.p)
    }
    if not places:
        raise ParameterError(
            "Curves need data with a share p of corrupted rows, and no record has one. "
            "Draw dots instead."
        )
    datasets = list(dict.fromkeys(setting.dataset for setting in places.values()))
    rs = sorted({setting.r for setting in places.values()})
    settled = len(datasets) > 1 and len(rs) > 1
    n_panels = len(datasets) * len(rs)
    n_columns = len(datasets) if settled else columns_for(n_panels)
    with look():
        # Few panels can be large.
        width, height = (3.3, 2.6) if n_columns < 3 else (2.6, 2.3)
        figure, panels = make_panels(n_panels, n_columns, width=width, height=height)
        styles = cell_styles(cells)
        grid = [(r, dataset) for r in rs for dataset in datasets]
        first: dict[str, Axes] = {}
        has_hollow = False
        for i, (axes, (r, dataset)) in enumerate(zip(panels, grid, strict=True)):
            own = {
                setting.p: data
                for data, setting in places.items()
                if setting.dataset == dataset and setting.r == r
            }
            has_hollow |= _draw_panel(axes, cells, own, styles)
            axes.set_title(f"{dataset}, r = {r:g}")
            if first.setdefault(dataset, axes) is not axes:
                axes.sharey(first[dataset])
            axes.set_xticks(sorted({setting.p for setting in places.values()}))
            if i % n_columns == 0:
                axes.set_ylabel(metric_title(metric))
            if i + n_columns >= n_panels:
                axes.set_xlabel("p, share of corrupted rows")
        handles = [legend_entry(cells.shown(name), style) for name, style in styles.items()]
        share_legend(figure, handles + [hollow_entry()] * has_hollow)
        settle(figure)
    return figure


def _draw_panel(
    axes: Axes, cells: Cells, data: Mapping[float, str], styles: Mapping[str, LineStyle]
) -> bool:
    """Draw the lines of one panel; return whether a point is hollow."""
    has_hollow = False
    ps = sorted(data)
    for method, style in styles.items():
        values = [cells.values(data[p], method) for p in ps]
        means = [float(np.mean(runs)) if len(runs) else math.nan for runs in values]
        axes.plot(ps, means, **style.line())
        partly = [i for i, runs in enumerate(values) if 0 < len(runs) < cells.n_runs]
        if partly and style.marker:
            hollow = style.line() | {"linestyle": "", "markerfacecolor": "white", "zorder": 4}
            axes.plot([ps[i] for i in partly], [means[i] for i in partly], **hollow)
            has_hollow = True
    return has_hollow
