"""Panels side by side, and the legend that they share."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.path import Path

from disambig.report.figures.style import LEGEND_TYPE, LineStyle
from disambig.report.figures.text_size import text_width

__all__ = [
    "arrow",
    "columns_for",
    "hollow_entry",
    "legend_entry",
    "make_panels",
    "settle",
    "share_legend",
]

# In inches, for the legend.
_LEAST_WIDTH = 5.2
# An arrow downwards, in strokes.
_ARROW = Path(
    [(0, 1), (0, -1), (-0.6, -0.2), (0, -1), (0.6, -0.2)],
    [Path.MOVETO, Path.LINETO, Path.MOVETO, Path.LINETO, Path.LINETO],
)


def columns_for(n_panels: int) -> int:
    """Return the number of columns for panels without an order of their own."""
    return {1: 1, 2: 2, 3: 3, 4: 2}.get(n_panels, 3 if n_panels <= 6 or n_panels == 9 else 4)


def make_panels(
    n_panels: int, n_columns: int, *, width: float, height: float
) -> tuple[Figure, list[Axes]]:
    """Return a figure with panels of this size in inches, row by row."""
    n_rows = -(-n_panels // n_columns)
    size = (max(_LEAST_WIDTH, n_columns * width), n_rows * height + 0.7)
    figure = Figure(figsize=size, layout="constrained")
    panels = [figure.add_subplot(n_rows, n_columns, i + 1) for i in range(n_panels)]
    return figure, panels


def share_legend(figure: Figure, handles: Sequence[Artist]) -> None:
    """Put one legend below all panels, in as few rows as there is room for."""
    widths = [text_width(str(handle.get_label()), LEGEND_TYPE) for handle in handles]
    room = figure.get_figwidth() - 0.3
    fitting = (n for n in range(len(widths), 1, -1) if _legend_width(widths, n) <= room)
    n_rows = -(-len(widths) // next(fitting, 1))
    figure.legend(
        handles=list(handles), loc="outside lower center", ncols=-(-len(widths) // n_rows)
    )


def settle(figure: Figure) -> None:
    """Give all parts their final places.

    Laid out anew whenever it is saved, a figure would move by a hair from file to file.
    """
    engine = figure.get_layout_engine()
    if engine is not None:
        engine.execute(figure)
    figure.set_layout_engine("none")


def _legend_width(widths: Sequence[float], n_columns: int) -> float:
    """Return the width of a legend in inches; entries fill it column by column."""
    longest = sum(max(column) for column in np.array_split(widths, n_columns))
    # Beside each text a line, and space: 3.6, 0.8 and 2 times the size of the type.
    return float(longest + n_columns * 6.4 * LEGEND_TYPE / 72)


def hollow_entry() -> Line2D:
    """Return what a legend says of hollow markers."""
    return Line2D(
        [],
        [],
        linestyle="",
        marker="o",
        markerfacecolor="white",
        markeredgecolor="black",
        label="hollow: some runs missing",
    )


def arrow(color: str) -> dict[str, Any]:
    """Return the keywords of a line that consists of arrows downwards."""
    return {
        "linestyle": "",
        "marker": _ARROW,
        "markersize": 7,
        "markerfacecolor": "none",
        "markeredgecolor": color,
        "markeredgewidth": 1.3,
    }


def legend_entry(label: str, style: LineStyle) -> Line2D:
    """Return a line for the legend."""
    return Line2D([], [], label=label, **style.line())
