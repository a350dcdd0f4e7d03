"""The frame of a chart: the area that is drawn in, and axes with round values."""

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from disambig.pages.charts.scale import Scale, tick_texts
from disambig.pages.charts.text_fit import estimated_width, shortened, thinned
from disambig.pages.markup import element, fragment

__all__ = ["PANEL_WIDTH", "Plot", "bottom_axis", "left_axis", "left_room", "text", "vertical_grid"]

# As wide as a phone, nearly: type of 12 is not shrunk below 10 there.
PANEL_WIDTH = 400.0
_TICK_TYPE_HEIGHT = 4.0


@dataclass(frozen=True)
class Plot:
    """The area inside the axes; the vertical coordinate grows downwards."""

    left: float
    right: float
    top: float
    bottom: float


def left_room(ticks: Sequence[float]) -> float:
    """Return the space that the texts of a left axis take."""
    return max(map(estimated_width, tick_texts(ticks)), default=0) + 8


def left_axis(plot: Plot, scale: Scale, ticks: Sequence[float], title: str) -> Markup:
    """Return lines across the plot at ticks, their texts, and the title above them."""
    parts = [text(title, 0, plot.top - 15, classes="quiet", room=plot.right)]
    for tick, words in zip(ticks, tick_texts(ticks), strict=True):
        y = scale(tick)
        line = {"class": "grid", "x1": plot.left, "x2": plot.right, "y1": y, "y2": y}
        parts.append(element("line", line))
        parts.append(text(words, plot.left - 6, y + _TICK_TYPE_HEIGHT, anchor="end"))
    return fragment(*parts)


def bottom_axis(plot: Plot, places: Sequence[float], texts: Sequence[str], title: str) -> Markup:
    """Return a line below the plot, texts at these places as far as they fit, and a title."""
    line = {"class": "axis", "x1": plot.left, "x2": plot.right}
    parts = [element("line", line | {"y1": plot.bottom, "y2": plot.bottom})]
    for i in thinned(texts, places):
        half = estimated_width(texts[i]) / 2
        # Texts at the ends stay inside the drawing.
        x = max(half, min(places[i], PANEL_WIDTH - half))
        parts.append(text(texts[i], x, plot.bottom + 16, anchor="middle"))
    middle = (plot.left + plot.right) / 2
    parts.append(
        text(
            title,
            middle,
            plot.bottom + 34,
            anchor="middle",
            classes="quiet",
            room=plot.right - plot.left,
        )
    )
    return fragment(*parts)


def vertical_grid(plot: Plot, places: Sequence[float]) -> Markup:
    """Return lines from top to bottom of the plot."""
    ends = {"class": "grid", "y1": plot.top, "y2": plot.bottom}
    return fragment(*(element("line", ends | {"x1": place, "x2": place}) for place in places))


def text(
    words: str,
    x: float,
    y: float,
    *,
    anchor: str | None = None,
    classes: str | None = None,
    room: float | None = None,
) -> Markup:
    """Return a text at a place, shortened where it has only so much room."""
    shown = words if room is None else shortened(words, room)
    return element("text", {"x": x, "y": y, "text-anchor": anchor, "class": classes}, shown)
