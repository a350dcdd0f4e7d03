"""Mean scores with their spread, a panel for every dataset: for studies without a p."""

from typing import Any

import numpy as np
from matplotlib.figure import Figure

from disambig.bench.figures.style import (
    cell_styles,
    columns_for,
    hollow_entry,
    legend_entry,
    look,
    make_panels,
    settle,
    share_legend,
)
from disambig.bench.run_table import read_cells
from disambig.metrics import metric_title

__all__ = ["draw_dots"]


def draw_dots(scores: Any, metric: str = "accuracy", *, reference: str | None = None) -> Figure:
    """Return a panel for all data: the methods below each other, mean and standard deviation.

    Floors and ceilings are vertical lines. A mean over fewer runs than others is hollow.

    Parameters
    ----------
    scores : DataFrame
        Records of a study.
    metric : str, default="accuracy"
        Column of the records.
    reference : str, optional
        Label of the method that stands out.
    """
    cells = read_cells(scores, metric)
    n_columns = columns_for(len(cells.data))
    height = 0.7 + 0.24 * len(cells.methods)
    with look():
        figure, panels = make_panels(len(cells.data), n_columns, width=2.6, height=height)
        styles = cell_styles(cells, reference)
        has_hollow = False
        for i, (axes, data) in enumerate(zip(panels, cells.data, strict=True)):
            for place, method in enumerate(cells.methods):
                values = cells.values(data, method)
                if len(values) == 0:
                    continue
                style = styles[method]
                is_hollow = not cells.is_complete(data, method)
                has_hollow |= is_hollow
                axes.errorbar(
                    np.mean(values),
                    place,
                    xerr=np.std(values, ddof=1) if len(values) > 1 else None,
                    color=style.color,
                    marker=style.marker,
                    markersize=style.size + 1,
                    markerfacecolor="white" if is_hollow else style.color,
                    linewidth=style.width,
                    capsize=2.5,
                    zorder=style.height,
                )
            for bound in cells.bounds:
                values = cells.values(data, bound)
                if len(values):
                    line = styles[bound]
                    axes.axvline(
                        float(np.mean(values)),
                        color=line.color,
                        linestyle=line.dash,
                        linewidth=line.width,
                        zorder=line.height,
                    )
            # Lines of bounds count as well, so that none lies on the edge.
            axes.margins(x=0.08)
            axes.autoscale(axis="x")
            axes.set_title(data)
            axes.set_ylim(len(cells.methods) - 0.5, -0.5)
            axes.set_yticks(range(len(cells.methods)))
            is_first = i % n_columns == 0
            axes.set_yticklabels([cells.shown(name) for name in cells.methods] if is_first else [])
            if i + n_columns >= len(cells.data):
                axes.set_xlabel(f"{metric_title(metric)}, mean ± std")
        handles = [legend_entry(cells.shown(bound), styles[bound]) for bound in cells.bounds]
        if handles or has_hollow:
            share_legend(figure, handles + [hollow_entry()] * has_hollow)
        settle(figure)
    return figure
