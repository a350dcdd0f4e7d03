"""One look for all figures. Methods differ in colour, marker and dash: in grey print as well."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
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
# The colours of Okabe and Ito without yellow, which is too faint on white; dark and light in turn.
_COLORS = ("#D55E00", "#56B4E9", "#000000", "#E69F00", "#009E73", "#CC79A7", "#7A4A1E")
_MARKERS = ("s", "^", "D", "v", "P", "X", "<", "p", ">", "*", "h", "d")
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
    "sure": 0,
    "aggd": 1,
    "ipal": 2,
    "plknn": 3,
    "clpl": 4,
    "m3pl": 5,
    "plsvm": 6,
    "em": 7,
    "lsbcmm": 8,
    "wonc": 9,
    "wopd": 10,
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


# Broad, and below the others, so that it hides none of them.
_STRONGEST = LineStyle("#0b5fa5", "o", "-", 2.8, 6.5, 2)


@contextmanager
def look() -> Iterator[None]:
    """Draw in one look inside the block, whatever the settings outside, which stay as they were."""
    with mpl.rc_context():
        mpl.rcdefaults()
        with mpl.rc_context(_SETTINGS):
            yield


def method_styles(labels: Iterable[str]) -> dict[str, LineStyle]:
    """Return a style for every label: NCPD the strongest, unknown ones the next that is free."""
    names = {label: "".join(filter(str.isalnum, label.casefold())) for label in labels}
    taken = {_PLACES[name] for name in names.values() if name in _PLACES}
    free = (place for place in count() if place not in taken)
    return {
        label: _STRONGEST
        if name == "ncpd"
        else _style(_PLACES[name] if name in _PLACES else next(free))
        for label, name in names.items()
    }


def cell_styles(cells: Cells) -> Mapping[str, LineStyle]:
    """Return a style for every method of a study; floors and ceilings thin, grey, unmarked."""
    styles = method_styles(cells.methods)
    for role, dashes in (("floor", _FLOOR_DASHES), ("ceiling", _CEILING_DASHES)):
        for i, bound in enumerate(cells.in_role(role)):
            styles[bound] = LineStyle("#666666", "", dashes[i % len(dashes)], 1.2, 0, 1)
    return styles


def _style(place: int) -> LineStyle:
    return LineStyle(
        color=_COLORS[place % len(_COLORS)],
        marker=_MARKERS[place % len(_MARKERS)],
        dash=_DASHES[place % len(_DASHES)],
        width=1.3,
        size=4.5,
        height=3,
    )
