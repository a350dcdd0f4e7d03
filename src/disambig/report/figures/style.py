"""One look for all figures. Methods differ in colour, marker and dash: in grey print as well."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import count
from typing import Any

import matplotlib as mpl

from disambig.report.cells import Cells

__all__ = ["LEGEND_TYPE", "LineStyle", "cell_styles", "look", "method_styles"]

Dash = tuple[int, tuple[float, ...]]

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
_DASHES: tuple[Dash, ...] = (
    (0, (5, 1.5)),
    (0, (1.5, 1.2)),
    (0, (6, 1.5, 1.5, 1.5)),
    (0, (9, 2)),
    (0, (3, 1.2, 1, 1.2, 1, 1.2)),
)
_FLOOR_DASHES: tuple[Dash, ...] = ((0, (1, 2)), (0, (1, 4)))
_CEILING_DASHES: tuple[Dash, ...] = ((0, (8, 3)), (0, (8, 3, 1, 3)))
# The place of well-known labels, so that a method looks the same in all figures. Compared without
# case and punctuation.
_PLACES = {
    "ncpd": 0,
    "sure": 1,
    "aggd": 2,
    "ipal": 3,
    "plknn": 4,
    "m3pl": 5,
    "clpl": 6,
    "plsvm": 7,
    "ncpdplus": 8,
    "lsbcmm": 9,
    "wonc": 10,
    "wopd": 11,
    "em": 12,
}


@dataclass(frozen=True)
class LineStyle:
    """How a method is drawn; an empty marker is none."""

    color: str
    marker: str
    dash: Dash | str
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
    names = {label: _plain(label) for label in labels}
    taken = {_PLACES[name] for name in names.values() if name in _PLACES}
    free = (place for place in count() if place not in taken)
    styles = {
        label: _style(_PLACES[name] if name in _PLACES else next(free))
        for label, name in names.items()
    }
    if reference in styles:
        styles[reference] = replace(styles[reference], dash="-", width=2.8, size=6.5, height=2)
    return styles


def cell_styles(cells: Cells, reference: str | None) -> Mapping[str, LineStyle]:
    """Return a style for every method of a study; floors and ceilings thin, grey, unmarked."""
    styles = method_styles(cells.methods, reference)
    for role, dashes in (("floor", _FLOOR_DASHES), ("ceiling", _CEILING_DASHES)):
        for i, bound in enumerate(cells.in_role(role)):
            styles[bound] = LineStyle("#666666", "", dashes[i % len(dashes)], 1.2, 0, 1)
    return styles


def _plain(label: str) -> str:
    """Return a label without case and punctuation, but for a plus, which tells methods apart."""
    return "".join(filter(str.isalnum, label.casefold().replace("+", "plus")))


def _style(place: int) -> LineStyle:
    return LineStyle(
        color=_COLORS[place % len(_COLORS)],
        marker=_MARKERS[place % len(_MARKERS)],
        dash=_DASHES[place % len(_DASHES)],
        width=1.3,
        size=4.5,
        height=3,
    )
