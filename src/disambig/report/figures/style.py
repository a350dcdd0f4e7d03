"""One look for all figures. Methods differ in colour, marker and dash: in grey print as well."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import matplotlib as mpl

from disambig.report.cells import Cells
from disambig.report.method_looks import Dash, Look, cell_looks, method_looks

__all__ = ["LEGEND_TYPE", "LineStyle", "cell_styles", "look", "method_styles"]

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
