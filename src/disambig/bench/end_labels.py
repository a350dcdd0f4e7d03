"""Names of lines beside their right ends, in figures for print."""

import math
from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.collections import LineCollection

from disambig.bench.charts import ARROW_ROW_HEIGHT, LineChart
from disambig.bench.figure_style import color_of, text_width

# Distance of error bars at the ends of lines, as a share of the width.
BAR_SHIFT = 0.012
# Size of type in points, distance of two names in inches, and what of the height
# of a panel is outside of its axes.
_LABEL_TYPE = 8.0
_LABEL_HEIGHT = 0.15
_AROUND_AXES = 0.65
# From the end of a line to its name.
_LEADER = 0.07


def can_label_ends(chart: LineChart, height: float) -> bool:
    """Whether there is room for the names of all lines beside a panel of this height."""
    return len(chart.series) * _label_gap(height) <= 1


def label_room(chart: LineChart) -> float:
    """Return the width of the longest name, in inches."""
    return max(text_width(one.label or one.name, _LABEL_TYPE) for one in chart.series)


def _label_gap(height: float) -> float:
    """Return the distance of two labels as a share of the height inside the axes."""
    return _LABEL_HEIGHT / (height - _AROUND_AXES)


def label_ends(axes: Axes, chart: LineChart, height: float) -> None:
    """Name every line at its right end, names above each other where lines end close together."""
    low, high = axes.get_ylim()
    rows = chart.arrow_rows()
    ends = {}
    for i, one in enumerate(chart.series):
        finite = [y for y in one.y if math.isfinite(y)]
        if finite:
            share = (finite[-1] - low) / (high - low)
            ends[i] = ARROW_ROW_HEIGHT * (rows[i] + 0.5) if share < 0 else share
    order = sorted(ends, key=lambda i: ends[i])
    places = spread_apart([ends[i] for i in order], _label_gap(height))
    start = 1 + (BAR_SHIFT * (len(chart.series) + 1) if chart.has_end_bars else 0.01)
    for i, place in zip(order, places, strict=True):
        one = chart.series[i]
        axes.text(
            start + _LEADER,
            place,
            one.label or one.name,
            transform=axes.transAxes,
            va="center",
            fontsize=_LABEL_TYPE,
            weight="bold" if one.style.is_strong else "normal",
        )
    leaders = LineCollection(
        [
            [(start, ends[i]), (start + _LEADER - 0.01, place)]
            for i, place in zip(order, places, strict=True)
        ],
        colors=[color_of(chart.series[i].style) for i in order],
        linewidths=1,
        transform=axes.transAxes,
        clip_on=False,
    )
    axes.add_collection(leaders, autolim=False)


def spread_apart(places: Sequence[float], gap: float, top: float = 1.0) -> list[float]:
    """Move places, from the lowest, so that all are a gap apart and none, if it can be, above."""
    spread: list[float] = []
    for place in places:
        spread.append(max(place, spread[-1] + gap) if spread else place)
    limit = top
    for i in reversed(range(len(spread))):
        spread[i] = min(spread[i], limit)
        limit = spread[i] - gap
    return spread
