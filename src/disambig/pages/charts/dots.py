"""Dots: mean scores with their spread, the methods below each other."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from disambig.pages.charts.axes import PANEL_WIDTH, Plot, bottom_axis, text, vertical_grid
from disambig.pages.charts.frame import box, drawing, figure, mark
from disambig.pages.charts.markers import marker
from disambig.pages.charts.scale import Scale, nice_ticks, range_of, tick_texts
from disambig.pages.charts.series import marker_size, own_color, stroke
from disambig.pages.charts.text_fit import estimated_width
from disambig.pages.markup import element
from disambig.report.method_looks import Look
from disambig.report.wording import MISSING, score_text

__all__ = ["Dot", "dot_chart"]

_ROW = 24.0
_ABOVE = 8.0
_BELOW = 44.0
_MOST_NAME_ROOM = 140.0
_CAP = 4.0


@dataclass(frozen=True)
class Dot:
    """A mean and its spread.

    Attributes
    ----------
    name : str
        What it is the mean of.
    mean : float
        NaN where there is none.
    spread : float or None
        Standard deviation, where there are several values.
    look : Look
        A floor or ceiling is a line from top to bottom.
    remark : str
        What the tip adds; then the marker is hollow.
    """

    name: str
    mean: float
    spread: float | None
    look: Look
    remark: str = ""

    @property
    def shown(self) -> str:
        """The value in words."""
        value = score_text(self.mean, self.spread) if math.isfinite(self.mean) else MISSING
        return f"{value} ({self.remark})" if self.remark else value


def dot_chart(title: str, dots: Sequence[Dot], *, x_title: str, caption: str = "") -> Markup:
    """Return a row for every method, and a line for every floor and ceiling.

    Parameters
    ----------
    title, caption : str
        What it shows, and how to read it.
    dots : sequence of Dot
        From top to bottom.
    x_title : str
        What the values are.
    """
    is_drawn = any(math.isfinite(dot.mean) for dot in dots)
    return figure(
        title,
        _drawn(title, dots, x_title) if is_drawn else None,
        caption=caption,
        header=("method", x_title),
        rows=[(dot.name, dot.shown) for dot in dots],
    )


def _drawn(title: str, dots: Sequence[Dot], x_title: str) -> Markup:
    methods = [dot for dot in dots if not dot.look.is_bound]
    bounds = [dot for dot in dots if dot.look.is_bound]
    widest = max((estimated_width(dot.name) for dot in methods), default=0)
    room = min(_MOST_NAME_ROOM, widest) + 10
    plot = Plot(room, PANEL_WIDTH - 14, _ABOVE, _ABOVE + _ROW * max(1, len(methods)))
    low, high = range_of(end for dot in dots for end in _ends(dot))
    scale = Scale(low, high, plot.left, plot.right)
    ticks = nice_ticks(low, high, most=5)
    places = [scale(tick) for tick in ticks]
    return drawing(
        title,
        PANEL_WIDTH,
        plot.bottom + _BELOW,
        vertical_grid(plot, places),
        bottom_axis(plot, places, tick_texts(ticks), x_title),
        *(_bound(dot, scale, plot) for dot in bounds if math.isfinite(dot.mean)),
        *(_row(dot, i, scale, plot) for i, dot in enumerate(methods)),
    )


def _ends(dot: Dot) -> tuple[float, float]:
    spread = dot.spread or 0.0
    # Lines of bounds have no spread in the drawing.
    return (dot.mean, dot.mean) if dot.look.is_bound else (dot.mean - spread, dot.mean + spread)


def _bound(dot: Dot, scale: Scale, plot: Plot) -> Markup:
    x = scale(dot.mean)
    ends = {"x1": x, "x2": x, "y1": plot.top, "y2": plot.bottom}
    return element("g", {"class": own_color(dot.look)}, element("line", stroke(dot.look) | ends))


def _row(dot: Dot, number: int, scale: Scale, plot: Plot) -> Markup:
    top = plot.top + number * _ROW
    y = top + _ROW / 2
    strong = "strong" if dot.look.is_strong else None
    parts = [text(dot.name, plot.left - 8, y + 4, anchor="end", classes=strong, room=plot.left - 8)]
    if math.isfinite(dot.mean):
        if dot.spread:
            low, high = (scale(end) for end in _ends(dot))
            whiskers = f"M{low:.2f} {y:.2f}H{high:.2f}"
            caps = "".join(f"M{x:.2f} {y - _CAP:.2f}v{2 * _CAP:g}" for x in (low, high))
            width = 2.4 if dot.look.is_strong else 1.5
            parts.append(
                element("path", {"class": "line", "stroke-width": width, "d": whiskers + caps})
            )
        if dot.look.marker is not None:
            size, is_hollow = marker_size(dot.look) + 0.6, bool(dot.remark)
            parts.append(marker(dot.look.marker, scale(dot.mean), y, size, is_hollow=is_hollow))
    whole = box(0, top, PANEL_WIDTH, top + _ROW)
    parts.append(mark("rect", f"{dot.name}: {dot.shown}", whole, "band"))
    return element("g", {"class": own_color(dot.look)}, *parts)
