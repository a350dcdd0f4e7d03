"""Bars and heat maps of counts."""

import math
from collections.abc import Sequence

from markupsafe import Markup

from disambig.web.charts import canvas
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
    counts: Sequence[int],
    *,
    x_title: str,
    y_title: str,
    caption: str = "",
) -> Markup:
    """Return a bar for every label; those for which there is no room are in the tips only."""
    rows = [(label, f"{count:,}") for label, count in zip(labels, counts, strict=True)]
    top = max(counts) or 1
    ticks = canvas.nice_ticks(0, top, whole=True)
    plot = canvas.Plot(canvas.left_room(ticks), canvas.PANEL_WIDTH - 4, _ABOVE, _HEIGHT - _BELOW)
    scale = canvas.Scale(0, top, plot.bottom, plot.top)
    step = (plot.right - plot.left) / len(labels)
    places = [plot.left + (i + 0.5) * step for i in range(len(labels))]
    bars = []
    for place, count, (label, text) in zip(places, counts, rows, strict=True):
        half = step * _FILLED / 2
        bar = canvas.box(place - half, scale(count), place + half, plot.bottom)
        bars.append(element("rect", {"class": "bar"} | bar))
        # The tip belongs to the whole column, because small bars are hard to hit.
        column = canvas.box(place - step / 2, plot.top, place + step / 2, plot.bottom)
        bars.append(canvas.mark(f"{label}: {text}", column))
    names = [canvas.shortened(label, max(step - 6, _LEAST_ROOM)) for label in labels]
    drawn = canvas.drawing(
        title,
        canvas.PANEL_WIDTH,
        _HEIGHT,
        canvas.left_axis(plot, scale, ticks, y_title),
        *bars,
        canvas.bottom_axis(plot, places, names, x_title),
    )
    return canvas.figure(title, drawn, caption=caption, header=(x_title, y_title), rows=rows)


# As wide as other charts where that makes cells large enough, wider where it does not.
_SMALLEST_CELL, _LARGEST_CELL = 20.0, 48.0
_MOST_NAME_ROOM = 120.0
# Shares of the most up to a point are faint shades, on which type in the colour of ink can be read;
# higher ones are full shades, on which type in the colour of paper can. On those in between neither
# can, in a light and a dark scheme alike.
_FAINT = (0.06, 0.5)
_FULL = (0.85, 1.0)
_FAINT_UP_TO = 0.6
# The table below a heat map lists pairs, the highest first; a square would be as wide as the map.
_MOST_LISTED = 30
# With more names, a map does not fit beside another chart.
_MOST_NARROW = 10


def heat_map(
    title: str,
    names: Sequence[str],
    values: Sequence[Sequence[float]],
    *,
    texts: Sequence[Sequence[str]],
    tip: str = "{} with {}",
    header: tuple[str, str, str] = ("label", "label", "rows"),
    caption: str = "",
) -> Markup:
    """Return a cell for every two names, darker where the value is higher.

    The diagonal is grey, and does not count for the scale: what a name has with itself is often
    so much more that all else would look alike. Empty texts are left out. ``tip`` has places for
    the name of the row and that of the column.
    """
    places = range(len(names))
    is_symmetric = all(values[i][j] == values[j][i] for i in places for j in range(i))
    pairs = sorted(
        (
            (values[i][j], i, j)
            for i in places
            for j in places
            if (i < j or (i > j and not is_symmetric)) and values[i][j] > 0
        ),
        key=lambda pair: -pair[0],
    )
    return canvas.figure(
        title,
        _draw_cells(title, names, values, texts, tip),
        caption=caption,
        header=header,
        rows=[(names[i], names[j], texts[i][j]) for _, i, j in pairs[:_MOST_LISTED]],
        is_wide=len(names) > _MOST_NARROW,
    )


def _draw_cells(
    title: str,
    names: Sequence[str],
    values: Sequence[Sequence[float]],
    texts: Sequence[Sequence[str]],
    tip: str,
) -> Markup:
    room = min(_MOST_NAME_ROOM, max(map(canvas.estimated_width, names)) + 8)
    fitting = (canvas.PANEL_WIDTH - room) / len(names)
    cell = min(_LARGEST_CELL, max(_SMALLEST_CELL, fitting))
    size = cell * len(names)
    # Names of columns go up at an angle and end to the right of the last cell.
    slant = math.sqrt(0.5)
    above, beyond = room * slant + 10, max(0.0, room * slant - cell / 2)
    parts = []
    for i, name in enumerate(names):
        shown = canvas.shortened(name, room - 8)
        middle = above + (i + 0.62) * cell if cell < 26 else above + (i + 0.5) * cell + 4
        parts.append(canvas.text(shown, room - 6, middle, anchor="end"))
        turn = f"translate({room + (i + 0.5) * cell:.2f} {above - 6:.2f}) rotate(-45)"
        parts.append(element("text", {"transform": turn}, shown))
    apart = (value for i, row in enumerate(values) for j, value in enumerate(row) if i != j)
    most = max(apart, default=0) or 1
    # Numbers are in all cells or in none.
    has_room = all(canvas.estimated_width(text) <= cell - 5 for row in texts for text in row)
    for i, row in enumerate(values):
        for j, value in enumerate(row):
            text = texts[i][j]
            said = f"{tip.format(names[i], names[j])}: {text}" if text else ""
            shown = text if has_room and value else ""
            share = None if i == j else value / most
            parts.append(_cell(said, share, shown, room + j * cell, above + i * cell, cell))
    return canvas.drawing(
        title, room + size + beyond + 2, above + size + 2, *parts, keeps_size=True
    )


def _cell(tip: str, share: float | None, shown: str, x: float, y: float, size: float) -> Markup:
    """Return a cell in the shade of its share of the most; without a share it is grey."""
    square = canvas.box(x, y, x + size - 1, y + size - 1)
    if share is None:
        kind, square = "cell self", square
    else:
        kind, square = "cell", square | {"fill-opacity": opacity_of(share)}
    cell = canvas.mark(tip, square, kind) if tip else element("rect", {"class": kind} | square)
    if not shown:
        return cell
    place = {"x": x + (size - 1) / 2, "y": y + size / 2 + 4, "text-anchor": "middle"}
    on = "on-faint" if (share or 0) <= _FAINT_UP_TO else "on-full"
    return fragment(cell, element("text", place | {"class": on}, shown))


def opacity_of(share: float) -> float:
    """Return the shade of a share of the most."""
    if share <= 0:
        return 0.0
    if share <= _FAINT_UP_TO:
        return canvas.Scale(0, _FAINT_UP_TO, *_FAINT)(share)
    return canvas.Scale(_FAINT_UP_TO, 1, *_FULL)(share)
