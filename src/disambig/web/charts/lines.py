"""Lines: how values go on, over epochs or over the share of corrupted rows."""

import math
from collections.abc import Sequence
from itertools import pairwise

from markupsafe import Markup

from disambig.bench.curve_limits import MOST_ARROW_ROWS, ROW_OF_ARROWS
from disambig.bench.method_looks import Look
from disambig.bench.wording import MISSING
from disambig.web.charts.canvas import (
    PANEL_WIDTH,
    Plot,
    Scale,
    bottom_axis,
    box,
    drawing,
    figure,
    left_axis,
    left_room,
    mark,
    nice_ticks,
    number_text,
    range_of,
    tick_texts,
)
from disambig.web.charts.series import (
    Series,
    arrow,
    legend,
    looks_of,
    marker,
    marker_size,
    own_color,
    path_of,
    stroke,
)
from disambig.web.markup import element

__all__ = ["line_chart"]

_HEIGHT = 260.0
_BELOW = 44.0
_ABOVE = 30.0
# More points than these have no markers, bands and rows of their own, but every second, or third.
_MOST_POINTS = 12
_MOST_BANDS = 50


def line_chart(
    title: str,
    series: Sequence[Series],
    *,
    x_title: str,
    y_title: str,
    caption: str = "",
    y_range: tuple[float, float] | None = None,
    x_ticks: Sequence[float] | None = None,
    has_legend: bool = True,
) -> Markup:
    """Return lines over a common axis; a tip has the values of all of them at one place.

    Parameters
    ----------
    title, caption : str
        What it shows, and how to read it.
    series : sequence of Series
        The lines.
    x_title, y_title : str
        What is drawn over what.
    y_range : (float, float), optional
        Lower and upper end, by default around all values. What is below is an arrow at the edge.
    x_ticks : sequence of float, optional
        Values to name, by default round ones.
    has_legend : bool, default=True
        Whether the chart says itself which line is which; several may share one.
    """
    xs = sorted({x for one in series for x in one.x})
    step = max(1, math.ceil(len(xs) / _MOST_BANDS))
    shown = [x for i, x in enumerate(xs) if i % step == 0 or i == len(xs) - 1]
    values = [_texts_by_x(one) for one in series]
    rows = [(f"{x:g}", *(own.get(x, MISSING) for own in values)) for x in shown]
    looks = looks_of(series)
    is_drawn = any(math.isfinite(y) for one in series for y in one.y)
    return figure(
        title,
        _drawn(title, series, looks, shown, x_title, y_title, y_range, x_ticks)
        if is_drawn
        else None,
        caption=caption,
        header=(x_title, *(one.name for one in series)),
        rows=rows,
        legend=_own_legend(series, looks, y_range) if has_legend else "",
    )


def _own_legend(
    series: Sequence[Series], looks: Sequence[Look], y_range: tuple[float, float] | None
) -> Markup:
    has_arrows = y_range is not None and any(y < y_range[0] for one in series for y in one.y)
    has_hollow = any(one.remarks for one in series)
    names = [one.name for one in series]
    return legend(names, looks, has_hollow=has_hollow, has_arrows=has_arrows)


def _drawn(
    title: str,
    series: Sequence[Series],
    looks: Sequence[Look],
    bands: Sequence[float],
    x_title: str,
    y_title: str,
    y_range: tuple[float, float] | None,
    x_ticks: Sequence[float] | None,
) -> Markup:
    low, high = y_range or range_of(y for one in series for y in one.y)
    ticks = nice_ticks(low, high)
    plot = Plot(left_room(ticks), PANEL_WIDTH - 14, _ABOVE, _HEIGHT - _BELOW)
    height = Scale(low, high, plot.bottom, plot.top)
    # A single place is in the middle.
    first, last = (bands[0], bands[-1]) if len(bands) > 1 else (bands[0] - 1, bands[0] + 1)
    across = Scale(first, last, plot.left + 8, plot.right)
    if x_ticks is None:
        whole = all(float(x).is_integer() for x in bands)
        x_ticks = nice_ticks(first, last, whole=whole) if len(bands) > 1 else bands
    # Strong lines are below the others, so that they hide none of them.
    order = sorted(range(len(series)), key=lambda i: not looks[i].is_strong)
    below = [i for i, one in enumerate(series) if any(y < low for y in one.y)]
    step = ROW_OF_ARROWS * (plot.bottom - plot.top)
    rows = {i: plot.bottom - step * (row % MOST_ARROW_ROWS) - 2 for row, i in enumerate(below)}
    return drawing(
        title,
        PANEL_WIDTH,
        _HEIGHT,
        left_axis(plot, height, ticks, y_title),
        bottom_axis(plot, [across(x) for x in x_ticks], tick_texts(x_ticks), x_title),
        *(
            _line(series[i], looks[i], across, height, shift=i / len(series), arrows_at=rows.get(i))
            for i in order
        ),
        *_bands(series, bands, across, plot, x_title),
    )


def _line(
    one: Series,
    look: Look,
    across: Scale,
    height: Scale,
    *,
    shift: float,
    arrows_at: float | None,
) -> Markup:
    """Return a line with its markers, and an arrow for every point below the axis."""
    places = [(across(x), height(y)) for x, y in zip(one.x, one.y, strict=True)]
    parts = [element("path", stroke(look) | {"d": path_of(places, height.start)})]
    # Every line has its markers at other points, so that they do not cover each other.
    step = max(1, math.ceil(len(places) / _MOST_POINTS))
    first = math.floor(shift * step)
    for i, (x, y) in enumerate(places):
        if math.isnan(y):
            continue
        if y > height.start:
            parts.append(arrow(x, arrows_at or height.start))
        elif look.marker is not None and (i % step == first or i in one.remarks):
            size, is_hollow = marker_size(look), i in one.remarks
            parts.append(marker(look.marker, x, y, size, is_hollow=is_hollow))
    return element("g", {"class": own_color(look)}, *parts)


def _bands(
    series: Sequence[Series], bands: Sequence[float], across: Scale, plot: Plot, x_title: str
) -> list[Markup]:
    """Return a column for every place, whose tip has the values of all lines there."""
    places = [across(x) for x in bands]
    middles = [(a + b) / 2 for a, b in pairwise(places)]
    edges = [plot.left, *middles, PANEL_WIDTH]
    values = [_texts_by_x(one) for one in series]
    marks = []
    for i, x in enumerate(bands):
        lines = [f"{x_title}: {x:g}"]
        for one, own in zip(series, values, strict=True):
            if x in own:
                lines.append(f"{one.name}: {own[x]}")
        column = box(edges[i], plot.top, edges[i + 1], plot.bottom)
        marks.append(mark("rect", "\n".join(lines), column, "band"))
    return marks


def _texts_by_x(one: Series) -> dict[float, str]:
    """Return the value of a line by place, with what is to be remarked on it."""
    texts = {}
    for i, (x, y) in enumerate(zip(one.x, one.y, strict=True)):
        remark = f" ({one.remarks[i]})" if i in one.remarks else ""
        texts[x] = number_text(y) + remark
    return texts
