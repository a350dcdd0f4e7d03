"""Bars and heat maps."""

import math
from collections.abc import Sequence

from markupsafe import Markup

from disambig._core.errors import ParameterError
from disambig.web.charts.canvas import (
    PANEL_WIDTH,
    Plot,
    Scale,
    bottom_axis,
    box,
    drawing,
    estimated_width,
    figure,
    left_axis,
    left_room,
    mark,
    nice_ticks,
    shortened,
    text,
    value_text,
)
from disambig.web.markup import element, fragment

_HEIGHT = 240.0
_BELOW = 44.0
_ABOVE = 30.0
# Of the width of a category: what the bar takes of it.
_FILLED = 0.84
# Names that do not have this room are fewer, not shorter.
_LEAST_ROOM = 76.0


def bar_chart(
    title: str,
    labels: Sequence[str],
    values: Sequence[float],
    *,
    x_title: str,
    y_title: str,
    caption: str = "",
    tips: Sequence[str] | None = None,
) -> Markup:
    """Return a bar for every label, from zero up; there is none where the value is NaN.

    Labels for which there is no room are in the tips only. By default a tip has label and value.
    """
    if len(values) != len(labels) or (tips is not None and len(tips) != len(labels)):
        given = "" if tips is None else f" and {len(tips)} tips"
        raise ParameterError(
            f"{title!r} needs a value, and a tip if there are any, for each label. Got "
            f"{len(labels)} labels, {len(values)} values{given}."
        )
    rows = [(label, value_text(value)) for label, value in zip(labels, values, strict=True)]
    drawn = _draw_bars(title, labels, values, x_title, y_title, tips) if labels else None
    return figure(title, drawn, caption=caption, header=(x_title, y_title), rows=rows)


def _draw_bars(
    title: str,
    labels: Sequence[str],
    values: Sequence[float],
    x_title: str,
    y_title: str,
    tips: Sequence[str] | None,
) -> Markup:
    known = [value for value in values if math.isfinite(value)]
    top = max(known, default=0) or 1
    ticks = nice_ticks(0, top, whole=all(value == round(value) for value in known))
    plot = Plot(left_room(ticks), PANEL_WIDTH - 4, _ABOVE, _HEIGHT - _BELOW)
    scale = Scale(0, top, plot.bottom, plot.top)
    step = (plot.right - plot.left) / len(labels)
    places = [plot.left + (i + 0.5) * step for i in range(len(labels))]
    bars = []
    for i, (place, value) in enumerate(zip(places, values, strict=True)):
        tip = tips[i] if tips is not None else f"{labels[i]}: {value_text(value)}"
        if math.isfinite(value):
            half = step * _FILLED / 2
            bar = box(place - half, scale(value), place + half, plot.bottom)
            bars.append(element("rect", {"class": "bar"} | bar))
        # The tip belongs to the whole column, because small bars are hard to hit.
        column = box(place - step / 2, plot.top, place + step / 2, plot.bottom)
        bars.append(mark("rect", tip, column, "band"))
    names = [shortened(label, max(step - 6, _LEAST_ROOM)) for label in labels]
    return drawing(
        title,
        PANEL_WIDTH,
        _HEIGHT,
        left_axis(plot, scale, ticks, y_title),
        *bars,
        bottom_axis(plot, places, names, x_title),
    )


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
    """Return a cell for every two names, darker where the value is higher, none where it is NaN."""
    values = [[float(value) for value in row] for row in matrix]
    if len(values) != len(names) or any(len(row) != len(names) for row in values):
        raise ParameterError(f"{title!r} needs a row and a column for each of {len(names)} names.")
    rows = [(name, *map(value_text, row)) for name, row in zip(names, values, strict=True)]
    has_values = any(math.isfinite(value) for row in values for value in row)
    return figure(
        title,
        _draw_cells(title, names, values) if has_values else None,
        caption=caption,
        header=("", *names),
        rows=rows,
        is_wide=True,
    )


def _draw_cells(title: str, names: Sequence[str], values: Sequence[Sequence[float]]) -> Markup:
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
    has_room = max(estimated_width(value_text(value)) for value in known) <= cell - 5
    for i, row in enumerate(values):
        for j, value in enumerate(row):
            if math.isfinite(value):
                tip = f"{names[i]} with {names[j]}: {value_text(value)}"
                share = value / most if most else 0.0
                shown = value_text(value) if has_room and value else ""
                parts.append(_cell(tip, share, shown, room + j * cell, above + i * cell, cell))
    width = room + size + beyond + 2
    return drawing(title, width, above + size + 2, *parts, own_size=True)


def _cell(tip: str, share: float, shown: str, x: float, y: float, size: float) -> Markup:
    square = box(x, y, x + size - 1, y + size - 1) | {"fill-opacity": opacity_of(share)}
    if not shown:
        return mark("rect", tip, square, "cell")
    place = {"x": x + (size - 1) / 2, "y": y + size / 2 + 4, "text-anchor": "middle"}
    kind = "on-faint" if share <= _FAINT_UP_TO else "on-full"
    return fragment(
        mark("rect", tip, square, "cell"), element("text", place | {"class": kind}, shown)
    )


def opacity_of(share: float) -> float:
    """Return the shade of a share of the most."""
    if share <= 0:
        return 0.0
    if share <= _FAINT_UP_TO:
        return Scale(0, _FAINT_UP_TO, *_FAINT)(share)
    return Scale(_FAINT_UP_TO, 1, *_FULL)(share)
