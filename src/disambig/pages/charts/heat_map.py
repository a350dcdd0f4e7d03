"""A heat map: how often two classes go together."""

import math
from collections.abc import Sequence

from markupsafe import Markup

from disambig._core.errors import ParameterError
from disambig.pages.charts.axes import PANEL_WIDTH, text
from disambig.pages.charts.frame import box, drawing, figure, mark
from disambig.pages.charts.scale import Scale, number_text
from disambig.pages.charts.text_fit import estimated_width, shortened
from disambig.pages.markup import element, fragment

__all__ = ["heat_map", "opacity_of"]

# As wide as other charts where that makes cells large enough, wider where it does not.
_SMALLEST_CELL, _LARGEST_CELL = 20.0, 48.0
_MOST_NAME_ROOM = 120.0
# Shares of the most up to a point are faint shades, on which type in the colour of ink can be read;
# higher ones are full shades, on which type in the colour of paper can. On those in between neither
# can, in a light and a dark scheme alike.
_FAINT = (0.06, 0.5)
_FULL = (0.85, 1.0)
_FAINT_UP_TO = 0.6


def heat_map(
    title: str,
    names: Sequence[str],
    matrix: Sequence[Sequence[float]],
    *,
    caption: str = "",
) -> Markup:
    """Return a cell for every two names, darker where the value is higher.

    Parameters
    ----------
    title, caption : str
        What it shows, and how to read it.
    names : sequence of str
        Of rows and columns.
    matrix : array of shape (n_names, n_names)
        Not negative; NaN where there is no value, and then there is no cell.
    """
    values = [[float(value) for value in row] for row in matrix]
    if len(values) != len(names) or any(len(row) != len(names) for row in values):
        raise ParameterError(f"{title!r} needs a row and a column for each of {len(names)} names.")
    rows = [(name, *map(number_text, row)) for name, row in zip(names, values, strict=True)]
    has_values = any(math.isfinite(value) for row in values for value in row)
    return figure(
        title,
        _drawn(title, names, values) if has_values else None,
        caption=caption,
        header=("", *names),
        rows=rows,
        is_wide=True,
    )


def _drawn(title: str, names: Sequence[str], values: Sequence[Sequence[float]]) -> Markup:
    room = min(_MOST_NAME_ROOM, max(map(estimated_width, names)) + 8)
    fitting = (PANEL_WIDTH - room) / len(names)
    cell = min(_LARGEST_CELL, max(_SMALLEST_CELL, fitting))
    size = cell * len(names)
    # Names of columns go up at an angle and end to the right of the last cell.
    slant = math.sqrt(0.5)
    above, beyond = room * slant + 10, max(0.0, room * slant - cell / 2)
    parts = []
    for i, name in enumerate(names):
        shown = shortened(name, room - 8)
        middle = above + (i + 0.62) * cell if cell < 26 else above + (i + 0.5) * cell + 4
        parts.append(text(shown, room - 6, middle, anchor="end"))
        turn = f"translate({room + (i + 0.5) * cell:.2f} {above - 6:.2f}) rotate(-45)"
        parts.append(element("text", {"transform": turn}, shown))
    known = [value for row in values for value in row if math.isfinite(value)]
    most = max(known)
    # Numbers are in all cells or in none.
    has_room = max(estimated_width(number_text(value)) for value in known) <= cell - 5
    for i, row in enumerate(values):
        for j, value in enumerate(row):
            if math.isfinite(value):
                tip = f"{names[i]} with {names[j]}: {number_text(value)}"
                share = value / most if most else 0.0
                shown = number_text(value) if has_room and value else ""
                parts.append(_cell(tip, share, shown, room + j * cell, above + i * cell, cell))
    width = room + size + beyond + 2
    return drawing(title, width, above + size + 2, *parts, own_size=True)


def _cell(tip: str, share: float, shown: str, x: float, y: float, size: float) -> Markup:
    own = box(x, y, x + size - 1, y + size - 1) | {"fill-opacity": opacity_of(share)}
    if not shown:
        return mark("rect", tip, own, "cell")
    place = {"x": x + (size - 1) / 2, "y": y + size / 2 + 4, "text-anchor": "middle"}
    kind = "on-faint" if share <= _FAINT_UP_TO else "on-full"
    return fragment(mark("rect", tip, own, "cell"), element("text", place | {"class": kind}, shown))


def opacity_of(share: float) -> float:
    """Return the shade of a share of the most."""
    if share <= 0:
        return 0.0
    if share <= _FAINT_UP_TO:
        return Scale(0, _FAINT_UP_TO, *_FAINT)(share)
    return Scale(_FAINT_UP_TO, 1, *_FULL)(share)
