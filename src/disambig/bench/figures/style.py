"""One look for all figures: panels, fonts, colours, files."""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.lines import Line2D
from matplotlib.path import Path as Outline
from matplotlib.textpath import TextPath

from disambig._core.files import written_atomically
from disambig.bench.method_looks import Dash, Look, cell_looks, method_looks
from disambig.bench.run_table import Cells

__all__ = [
    "LEGEND_TYPE",
    "LineStyle",
    "arrow",
    "cell_styles",
    "columns_for",
    "hollow_entry",
    "legend_entry",
    "look",
    "make_panels",
    "method_styles",
    "save_figure",
    "settle",
    "share_legend",
    "text_width",
]


def text_width(text: str, size: float, *, weight: str = "normal") -> float:
    """Return the width in inches of a line in the type of all figures, its size in points."""
    if not text.strip():
        return 0.0
    font = FontProperties(family="DejaVu Sans", weight=weight)
    return float(TextPath((0, 0), text, size=size, prop=font).get_extents().width) / 72


LEGEND_TYPE = 8.5
_SETTINGS: Any = {
    "font.family": ["DejaVu Sans"],
    "font.size": 9,
    "axes.titlesize": 9.5,
    "axes.labelsize": 9,
    "xtick.labelsize": 8,
    "ytick.labelsize": 8,
    "legend.fontsize": LEGEND_TYPE,
    "legend.frameon": False,
    "legend.handlelength": 3.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.alpha": 0.3,
    "grid.linewidth": 0.6,
    "lines.scale_dashes": False,
    # Laid out as finely as saved.
    "figure.dpi": 160,
    "savefig.dpi": "figure",
    # Names inside an SVG follow from its content alone.
    "svg.hashsalt": "disambig",
    "svg.fonttype": "path",
    # Labels are text; a dollar in one is a dollar.
    "text.parse_math": False,
}
# The first six, those of the methods in the paper, are apart in grey too, by a tenth of the way
# from black to white and more.
_COLORS = (
    "#0B5FA5",
    "#8B0000",
    "#00A070",
    "#000000",
    "#E07B39",
    "#78BDEF",
    "#CC79A7",
    "#7A4A1E",
    "#6A3D9A",
)
_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", "p", ">", "*", "h", "d")


@dataclass(frozen=True)
class LineStyle:
    """How a method is drawn; an empty marker is none."""

    color: str
    marker: str
    dash: tuple[int, Dash] | str
    width: float
    size: float
    height: int

    def line(self) -> dict[str, Any]:
        """Return the keywords of a line."""
        return {
            "color": self.color,
            "linestyle": self.dash,
            "linewidth": self.width,
            "marker": self.marker,
            "markersize": self.size,
            "zorder": self.height,
        }


@contextmanager
def look() -> Iterator[None]:
    """Draw in one look inside the block, whatever the settings outside, which stay as they were."""
    with mpl.rc_context():
        mpl.rcdefaults()
        with mpl.rc_context(_SETTINGS):
            yield


def method_styles(labels: Iterable[str], reference: str | None = None) -> dict[str, LineStyle]:
    """Return a style for every label, unknown ones the next that is free.

    The reference is broad and solid, and below the others, so that it hides none of them.
    """
    return {label: _style(own) for label, own in method_looks(labels, reference).items()}


def cell_styles(cells: Cells, reference: str | None) -> Mapping[str, LineStyle]:
    """Return a style for every method of a study; floors and ceilings thin, grey, unmarked."""
    return {label: _style(own) for label, own in cell_looks(cells, reference).items()}


def _style(own: Look) -> LineStyle:
    dash: tuple[int, Dash] | str = (0, own.dash) if own.dash else "-"
    if own.color is None or own.marker is None:
        return LineStyle("#666666", "", dash, width=1.2, size=0, height=1)
    color, marker = _COLORS[own.color], _MARKERS[own.marker]
    if own.is_strong:
        return LineStyle(color, marker, dash, width=2.8, size=6.5, height=2)
    return LineStyle(color, marker, dash, width=1.3, size=4.5, height=3)


# In inches, for the legend.
_LEAST_WIDTH = 5.2
# An arrow downwards, in strokes.
_ARROW = Outline(
    [(0, 1), (0, -1), (-0.6, -0.2), (0, -1), (0.6, -0.2)],
    [Outline.MOVETO, Outline.LINETO, Outline.MOVETO, Outline.LINETO, Outline.LINETO],
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


# No date and no version in a file.
_METADATA: dict[str, dict[str, Any]] = {
    "png": {"Software": None},
    "svg": {"Date": None, "Creator": None},
}


def save_figure(figure: Figure, stem: str | os.PathLike[str]) -> list[Path]:
    """Write a figure as PNG and as SVG; return both paths.

    Parameters
    ----------
    figure : Figure
        From one of the functions that draw.
    stem : path
        Path without suffix.
    """
    paths = []
    for suffix, metadata in _METADATA.items():
        path = Path(f"{os.fspath(stem)}.{suffix}")
        with look(), written_atomically(path) as temporary:
            figure.savefig(temporary, format=suffix, metadata=metadata)
        paths.append(path)
    return paths
