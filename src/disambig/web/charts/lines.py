"""Lines: how values change over epochs, or with the share of corrupted rows."""

import math
from collections.abc import Iterator, Sequence
from itertools import pairwise

from markupsafe import Markup

from disambig.bench.charts import ARROW_ROW_HEIGHT, CurvesChart, LineChart, Series
from disambig.bench.wording import MISSING
from disambig.web.charts import canvas, marks
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
        marks.legend_list(chart.legend),
        *(element("div", {"class": "charts small"}, *block) for block in blocks.values()),
    )


def line_chart(chart: LineChart, *, has_legend: bool = True) -> Markup:
    """Return lines over a common axis; a tip has the values of all of them at one place.

    Several charts may share one legend.
    """
    xs = sorted({x for one in chart.series for x in one.x})
    step = max(1, math.ceil(len(xs) / _MOST_TIPS))
    places = [x for i, x in enumerate(xs) if i % step == 0 or i == len(xs) - 1]
    values = [_texts_by_x(one) for one in chart.series]
    is_drawn = any(math.isfinite(y) for one in chart.series for y in one.y)
    return canvas.figure(
        chart.title,
        _draw(chart, places, values) if is_drawn else None,
        caption=chart.caption,
        header=(chart.x_title, *(one.name for one in chart.series)),
        rows=[(chart.name_of(x), *(texts.get(x, MISSING) for texts in values)) for x in places],
        legend=marks.legend_list(chart.legend) if has_legend else "",
    )


def _texts_by_x(one: Series) -> dict[float, str]:
    """Return the values of a line by place, with their errors and the remarks on them."""
    remarks = {i: f" ({remark})" for i, remark in one.remarks.items()}
    errors = {
        i: f" ± {canvas.value_text(error)}"
        for i, error in enumerate(one.errors)
        if math.isfinite(error)
    }
    points = enumerate(zip(one.x, one.y, strict=True))
    return {
        x: canvas.value_text(y) + errors.get(i, "") + remarks.get(i, "") for i, (x, y) in points
    }


def _draw(chart: LineChart, places: Sequence[float], values: Sequence[dict[float, str]]) -> Markup:
    low, high = chart.y_range or canvas.range_of(_heights(chart))
    ticks = canvas.nice_ticks(low, high)
    right = canvas.PANEL_WIDTH - (7 * len(chart.series) + 8 if chart.has_end_bars else 14)
    plot = canvas.Plot(canvas.left_room(ticks), right, _ABOVE, _HEIGHT - _BELOW)
    height = canvas.Scale(low, high, plot.bottom, plot.top)
    # A single place is in the middle.
    first, last = (places[0], places[-1]) if len(places) > 1 else (places[0] - 1, places[0] + 1)
    across = canvas.Scale(first, last, plot.left + 8, plot.right)
    x_ticks, x_title = chart.x_ticks, chart.x_title
    if x_ticks is None:
        whole = all(float(x).is_integer() for x in places)
        x_ticks = canvas.nice_ticks(first, last, whole=whole) if len(places) > 1 else places
    x_texts = list(chart.x_names) or canvas.tick_texts(x_ticks)
    # Strong lines are drawn first, so that they hide none of the others.
    order = sorted(range(len(chart.series)), key=lambda i: not chart.series[i].style.is_strong)
    row_height = ARROW_ROW_HEIGHT * (plot.bottom - plot.top)
    arrows_at = {i: plot.bottom - row_height * row - 2 for i, row in chart.arrow_rows().items()}
    return canvas.drawing(
        chart.title,
        canvas.PANEL_WIDTH,
        _HEIGHT,
        canvas.left_axis(plot, height, ticks, chart.y_title),
        canvas.bottom_axis(plot, list(map(across, x_ticks)), x_texts, x_title),
        *(_band(one, across, height) for one in chart.bands),
        *(
            _line(chart.series[i], across, height, i / len(chart.series), arrows_at.get(i))
            for i in order
        ),
        *(
            _end_bar(one, plot.right + 4 + 7 * i, height)
            for i, one in enumerate(chart.series)
            if chart.has_end_bars and one.errors
        ),
        *_tips(chart, places, values, across, plot),
    )


def _heights(chart: LineChart) -> Iterator[float]:
    """Return all values that must be inside the axes, the ends of bands and bars too."""
    for one in chart.series:
        yield from one.y
        if chart.has_end_bars and one.errors:
            yield from (one.y[-1] - one.errors[-1], one.y[-1] + one.errors[-1])
    for one in chart.bands:
        yield from (end for ends in one.band for end in ends)


def _band(one: Series, across: canvas.Scale, height: canvas.Scale) -> Markup:
    """Return the area around a line, cut at the lower edge."""
    known = [
        (across(x), *(min(height(end), height.start) for end in ends))
        for x, ends in zip(one.x, one.band, strict=False)
        if all(map(math.isfinite, ends))
    ]
    area = marks.band([(x, low) for x, low, _ in known], [(x, high) for x, _, high in known])
    return element("g", {"class": marks.color_class(one.style)}, area)


def _end_bar(one: Series, x: float, height: canvas.Scale) -> Markup:
    """Return the error of the last point as a bar beside the plot."""
    y, error = one.y[-1], one.errors[-1]
    if not math.isfinite(y + error):
        return Markup("")
    bar = marks.error_bar(x, height(y - error), height(y + error))
    return element("g", {"class": marks.color_class(one.style)}, bar)


def _line(
    one: Series, across: canvas.Scale, height: canvas.Scale, shift: float, arrows_at: float | None
) -> Markup:
    """Return a line with its markers, and an arrow for every point below the axis."""
    points = [(across(x), height(y)) for x, y in zip(one.x, one.y, strict=True)]
    path = {"d": marks.path_through(points, height.start)}
    parts = [element("path", marks.line_attributes(one.style) | path)]
    # Every line has its markers at other points, so that they do not cover each other.
    step = max(1, math.ceil(len(points) / _MOST_MARKERS))
    first = math.floor(shift * step)
    for i, (x, y) in enumerate(points):
        if math.isnan(y):
            continue
        if y > height.start:
            parts.append(marks.arrow(x, arrows_at or height.start))
        elif one.style.marker is not None and (i % step == first or i in one.remarks):
            size, is_hollow = marks.marker_size(one.style), i in one.remarks
            parts.append(marks.marker(one.style.marker, x, y, size, is_hollow=is_hollow))
    return element("g", {"class": marks.color_class(one.style)}, *parts)


def _tips(
    chart: LineChart,
    places: Sequence[float],
    values: Sequence[dict[float, str]],
    across: canvas.Scale,
    plot: canvas.Plot,
) -> list[Markup]:
    """Return a column for every place, whose tip has the values of all lines there."""
    middles = [(across(a) + across(b)) / 2 for a, b in pairwise(places)]
    edges = [plot.left, *middles, canvas.PANEL_WIDTH]
    columns = []
    for x, left, right in zip(places, edges, edges[1:], strict=False):
        tip = [f"{chart.x_title}: {chart.name_of(x)}"]
        for one, texts in zip(chart.series, values, strict=True):
            if x in texts:
                tip.append(f"{one.name}: {texts[x]}")
        column = canvas.box(left, plot.top, right, plot.bottom)
        columns.append(canvas.mark("\n".join(tip), column))
    return columns
