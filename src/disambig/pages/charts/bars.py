"""Bars: how many there are of each, by category or by bin."""

import math
from collections.abc import Sequence

from markupsafe import Markup

from disambig._core.errors import ParameterError
from disambig.pages.charts.axes import PANEL_WIDTH, Plot, bottom_axis, left_axis, left_room
from disambig.pages.charts.frame import box, drawing, figure, mark
from disambig.pages.charts.scale import Scale, nice_ticks, number_text
from disambig.pages.charts.text_fit import shortened
from disambig.pages.markup import element

__all__ = ["bar_chart"]

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
    """Return a bar for every label, from zero up.

    Parameters
    ----------
    title, caption : str
        What it shows, and how to read it.
    labels : sequence of str
        Categories or bins, in order; those for which there is no room are in the tips only.
    values : sequence of float
        Not negative; NaN where there is none, and then there is no bar.
    x_title, y_title : str
        What labels and values are.
    tips : sequence of str, optional
        What is said of a bar, by default its label and value.
    """
    if len(values) != len(labels) or (tips is not None and len(tips) != len(labels)):
        given = "" if tips is None else f" and {len(tips)} tips"
        raise ParameterError(
            f"{title!r} needs a value, and a tip if there are any, for each label. Got "
            f"{len(labels)} labels, {len(values)} values{given}."
        )
    rows = [(label, number_text(value)) for label, value in zip(labels, values, strict=True)]
    drawn = _drawn(title, labels, values, x_title, y_title, tips) if labels else None
    return figure(title, drawn, caption=caption, header=(x_title, y_title), rows=rows)


def _drawn(
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
        tip = tips[i] if tips is not None else f"{labels[i]}: {number_text(value)}"
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
