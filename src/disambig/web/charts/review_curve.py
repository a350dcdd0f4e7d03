"""Errors left against rows reviewed: one falling curve, with the points where one may stop."""

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from markupsafe import Markup

from disambig._core.messages import about, about_number, plural, rough_number
from disambig._core.typing import FloatArray
from disambig.bench.line_styles import LineStyle
from disambig.web.charts import canvas, marks
from disambig.web.markup import element, fragment

_HEIGHT = 260.0
_BELOW = 44.0
_ABOVE = 30.0
_MOST_POINTS = 100
_MOST_TIPS = 50
_LINE = 16.0  # of type
# The curve ends where so little of the errors is left, if not later.
_NOTHING = 0.01
_BEYOND = 1.25
_ROWS_OF_TABLE = (0, 10, 25, 50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000, 25_000, 50_000)
_STYLE = LineStyle(color=0, marker=0, dash=(), is_strong=True)
_TITLE = "Errors left against rows reviewed"


class Stop(NamedTuple):
    """A number of rows after which one may stop, and what it is called."""

    n_rows: int
    name: str


def review_curve(left: FloatArray, stops: Sequence[Stop]) -> Markup:
    """Return the curve of the errors expected after 0, 1, 2, ... rows, with marks at stops.

    The last stop is the end of the review: the curve goes a little beyond it.
    """
    last = _last_row(left, stops)
    stops = [stop for stop in stops if 0 < stop.n_rows <= last]
    shown = sorted({*(n for n in _ROWS_OF_TABLE if n <= last), *(s.n_rows for s in stops), last})
    return canvas.figure(
        _TITLE,
        _draw(left, last, stops) if left[0] > 0 else None,
        caption="Expected errors among all labels, if the least sure rows are settled first and "
        "every decision is right. It is an estimate, as good as the confidences.",
        header=("rows reviewed", "errors left"),
        rows=[(f"{n:,}", rough_number(float(left[n]))) for n in shown],
    )


def _last_row(left: FloatArray, stops: Sequence[Stop]) -> int:
    n_rows = len(left) - 1
    nothing_left = int(np.searchsorted(-left, -_NOTHING * left[0]))
    ends = [math.ceil(_BEYOND * stop.n_rows) for stop in stops]
    return min(n_rows, max(nothing_left, *ends, 1))


def _draw(left: FloatArray, last: int, stops: Sequence[Stop]) -> Markup:
    most = float(left[0])
    ticks = canvas.nice_ticks(0, most)
    plot = canvas.Plot(canvas.left_room(ticks), canvas.PANEL_WIDTH - 14, _ABOVE, _HEIGHT - _BELOW)
    height = canvas.Scale(0, most, plot.bottom, plot.top)
    across = canvas.Scale(0, last, plot.left, plot.right)
    x_ticks = canvas.nice_ticks(0, last, whole=True)
    places = np.linspace(0, last, min(last, _MOST_POINTS) + 1).round().astype(int).tolist()
    line = [(across(n), height(float(left[n]))) for n in places]
    path = {"d": marks.path_through(line, plot.bottom)}
    return canvas.drawing(
        _TITLE,
        canvas.PANEL_WIDTH,
        _HEIGHT,
        canvas.left_axis(plot, height, ticks, "expected errors left"),
        canvas.bottom_axis(
            plot, list(map(across, x_ticks)), canvas.tick_texts(x_ticks), "rows reviewed"
        ),
        element(
            "g",
            {"class": marks.color_class(_STYLE)},
            marks.band([(x, plot.bottom) for x, _ in line], line),
            element("path", marks.line_attributes(_STYLE) | path),
            *(
                marks.marker(0, across(n), height(float(left[n])), marks.marker_size(_STYLE))
                for n, _ in stops
            ),
        ),
        _names(stops, left, across, height, plot),
        *_tips(left, places, across, plot),
    )


def _names(
    stops: Sequence[Stop],
    left: FloatArray,
    across: canvas.Scale,
    height: canvas.Scale,
    plot: canvas.Plot,
) -> Markup:
    """Return what stops are called, above the curve, joined to their points by upright lines."""
    parts = []
    above = math.inf
    # From the right, where the curve is low, each name higher than the one before.
    for n_rows, name in reversed(stops):
        said = f"{name}: {about_number(float(left[n_rows]))} left"
        x, width = across(n_rows), canvas.estimated_width(said)
        start = max(plot.left + 4, min(x + 4, plot.right - width))
        # The curve falls, so that it is highest where the name begins.
        begin = (start - across.start) / (across.end - across.start) * across.high
        curve = height(float(left[max(0, math.floor(begin))]))
        y = max(plot.top - 2, min(curve - 8, above - _LINE))
        ends: dict[str, object] = {"x1": x, "x2": x, "y1": y + 4, "y2": plot.bottom}
        parts.append(element("line", {"class": "axis", "stroke-dasharray": "3 3"} | ends))
        parts.append(canvas.text(said, start, y))
        above = y
    return fragment(*parts)


def _tips(
    left: FloatArray, places: Sequence[int], across: canvas.Scale, plot: canvas.Plot
) -> list[Markup]:
    """Return columns that say what is left after so many rows."""
    step = max(1, math.ceil(len(places) / _MOST_TIPS))
    shown = [n for i, n in enumerate(places) if i % step == 0 or i == len(places) - 1]
    middles = [(across(a) + across(b)) / 2 for a, b in pairwise(shown)]
    edges = [plot.left, *middles, plot.right]
    return [
        canvas.mark(
            f"after {plural(n, 'row')}\n{about(float(left[n]), 'error')} left",
            canvas.box(start, plot.top, end, plot.bottom),
        )
        for n, (start, end) in zip(shown, pairwise(edges), strict=True)
    ]
