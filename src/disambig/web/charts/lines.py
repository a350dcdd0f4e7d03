"""Lines: how values change over epochs, or with the share of corrupted rows."""

import math
from collections.abc import Sequence
from itertools import pairwise

from markupsafe import Markup

from disambig.bench.charts import ARROW_ROW_HEIGHT, CurvesChart, LineChart, Series
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
    range_of,
    tick_texts,
    value_text,
)
from disambig.web.charts.marks import (
    arrow,
    color_class,
    legend_list,
    line_attributes,
    marker,
    marker_size,
    path_through,
)
from disambig.web.markup import element, fragment

_HEIGHT = 260.0
_BELOW = 44.0
_ABOVE = 30.0
# With more points, only every second, or third, has a marker, or a tip and a row of the table.
_MOST_MARKERS = 12
_MOST_TIPS = 50


def curve_charts(chart: CurvesChart) -> Markup:
    """Return all panels under one legend; with several r, a block of them for each dataset."""
    blocks: dict[str, list[Markup]] = {}
    for (dataset, _), panel in sorted(chart.panels.items(), key=lambda item: item[0][1]):
        block = dataset if len(chart.rs) > 1 else ""
        blocks.setdefault(block, []).append(line_chart(panel, has_legend=False))
    return fragment(
        legend_list(chart.legend),
        *(element("div", {"class": "charts small"}, *block) for block in blocks.values()),
    )


def line_chart(chart: LineChart, *, has_legend: bool = True) -> Markup:
    """Return lines over a common axis; a tip has the values of all of them at one place.

    Parameters
    ----------
    chart : LineChart
        What to draw.
    has_legend : bool, default=True
        Whether the chart says itself which line is which; several may share one legend.
    """
    xs = sorted({x for one in chart.series for x in one.x})
    step = max(1, math.ceil(len(xs) / _MOST_TIPS))
    places = [x for i, x in enumerate(xs) if i % step == 0 or i == len(xs) - 1]
    values = [_texts_by_x(one) for one in chart.series]
    is_drawn = any(math.isfinite(y) for one in chart.series for y in one.y)
    return figure(
        chart.title,
        _draw(chart, places, values) if is_drawn else None,
        caption=chart.caption,
        header=(chart.x_title, *(one.name for one in chart.series)),
        rows=[(f"{x:g}", *(texts.get(x, MISSING) for texts in values)) for x in places],
        legend=legend_list(chart.legend) if has_legend else "",
    )


def _texts_by_x(one: Series) -> dict[float, str]:
    """Return the values of a line by place, with the remarks on them."""
    remarks = {i: f" ({remark})" for i, remark in one.remarks.items()}
    points = enumerate(zip(one.x, one.y, strict=True))
    return {x: value_text(y) + remarks.get(i, "") for i, (x, y) in points}


def _draw(chart: LineChart, places: Sequence[float], values: Sequence[dict[float, str]]) -> Markup:
    low, high = chart.y_range or range_of(y for one in chart.series for y in one.y)
    ticks = nice_ticks(low, high)
    plot = Plot(left_room(ticks), PANEL_WIDTH - 14, _ABOVE, _HEIGHT - _BELOW)
    height = Scale(low, high, plot.bottom, plot.top)
    # A single place is in the middle.
    first, last = (places[0], places[-1]) if len(places) > 1 else (places[0] - 1, places[0] + 1)
    across = Scale(first, last, plot.left + 8, plot.right)
    x_ticks = chart.x_ticks
    if x_ticks is None:
        whole = all(float(x).is_integer() for x in places)
        x_ticks = nice_ticks(first, last, whole=whole) if len(places) > 1 else places
    # Strong lines are drawn first, so that they hide none of the others.
    order = sorted(range(len(chart.series)), key=lambda i: not chart.series[i].style.is_strong)
    row_height = ARROW_ROW_HEIGHT * (plot.bottom - plot.top)
    arrows_at = {i: plot.bottom - row_height * row - 2 for i, row in chart.arrow_rows().items()}
    return drawing(
        chart.title,
        PANEL_WIDTH,
        _HEIGHT,
        left_axis(plot, height, ticks, chart.y_title),
        bottom_axis(plot, [across(x) for x in x_ticks], tick_texts(x_ticks), chart.x_title),
        *(
            _line(chart.series[i], across, height, i / len(chart.series), arrows_at.get(i))
            for i in order
        ),
        *_tips(chart, places, values, across, plot),
    )


def _line(
    one: Series, across: Scale, height: Scale, shift: float, arrows_at: float | None
) -> Markup:
    """Return a line with its markers, and an arrow for every point below the axis."""
    points = [(across(x), height(y)) for x, y in zip(one.x, one.y, strict=True)]
    path = {"d": path_through(points, height.start)}
    parts = [element("path", line_attributes(one.style) | path)]
    # Every line has its markers at other points, so that they do not cover each other.
    step = max(1, math.ceil(len(points) / _MOST_MARKERS))
    first = math.floor(shift * step)
    for i, (x, y) in enumerate(points):
        if math.isnan(y):
            continue
        if y > height.start:
            parts.append(arrow(x, arrows_at or height.start))
        elif one.style.marker is not None and (i % step == first or i in one.remarks):
            size, is_hollow = marker_size(one.style), i in one.remarks
            parts.append(marker(one.style.marker, x, y, size, is_hollow=is_hollow))
    return element("g", {"class": color_class(one.style)}, *parts)


def _tips(
    chart: LineChart,
    places: Sequence[float],
    values: Sequence[dict[float, str]],
    across: Scale,
    plot: Plot,
) -> list[Markup]:
    """Return a column for every place, whose tip has the values of all lines there."""
    middles = [(across(a) + across(b)) / 2 for a, b in pairwise(places)]
    edges = [plot.left, *middles, PANEL_WIDTH]
    columns = []
    for x, left, right in zip(places, edges, edges[1:], strict=False):
        tip = [f"{chart.x_title}: {x:g}"]
        for one, texts in zip(chart.series, values, strict=True):
            if x in texts:
                tip.append(f"{one.name}: {texts[x]}")
        columns.append(
            mark("rect", "\n".join(tip), box(left, plot.top, right, plot.bottom), "band")
        )
    return columns
