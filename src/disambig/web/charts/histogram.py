"""A histogram: how often values fall between edges, with a line where a decision was made."""

from collections.abc import Sequence
from itertools import pairwise

from markupsafe import Markup

from disambig._core.messages import row_count
from disambig.web.charts import canvas
from disambig.web.markup import element, fragment

_HEIGHT = 240.0
_BELOW = 44.0
_ABOVE = 30.0


def histogram(
    title: str,
    counts: Sequence[int],
    edges: Sequence[float],
    *,
    x_title: str,
    caption: str = "",
    threshold: tuple[float, str] | None = None,
) -> Markup:
    """Return a bar of rows between every two edges; the last edge has a tick of its own.

    A threshold is drawn as an upright line, with its name.
    """
    between = [f"{low:g} to {high:g}" for low, high in pairwise(edges)]
    return canvas.figure(
        title,
        _draw(title, counts, edges, between, x_title, threshold),
        caption=caption,
        header=(x_title, "rows"),
        rows=[(name, f"{count:,}") for name, count in zip(between, counts, strict=True)],
    )


def _draw(
    title: str,
    counts: Sequence[int],
    edges: Sequence[float],
    between: Sequence[str],
    x_title: str,
    threshold: tuple[float, str] | None,
) -> Markup:
    top = max(counts) or 1
    ticks = canvas.nice_ticks(0, top, whole=True)
    plot = canvas.Plot(canvas.left_room(ticks), canvas.PANEL_WIDTH - 16, _ABOVE, _HEIGHT - _BELOW)
    height = canvas.Scale(0, top, plot.bottom, plot.top)
    across = canvas.Scale(edges[0], edges[-1], plot.left, plot.right)
    x_ticks = _ticks(edges)
    parts = []
    for (low, high), count, name in zip(pairwise(edges), counts, between, strict=True):
        left, right = across(low), across(high)
        bar = canvas.box(left + 0.5, height(count), right - 0.5, plot.bottom)
        parts.append(element("rect", {"class": "bar"} | bar))
        column = canvas.box(left, plot.top, right, plot.bottom)
        parts.append(canvas.mark(f"{row_count(count)}\n{x_title} {name}", column))
    return canvas.drawing(
        title,
        canvas.PANEL_WIDTH,
        _HEIGHT,
        canvas.left_axis(plot, height, ticks, "rows"),
        *parts,
        canvas.bottom_axis(
            plot, list(map(across, x_ticks)), [f"{tick:.2f}" for tick in x_ticks], x_title
        ),
        "" if threshold is None else _line(*threshold, across, plot),
    )


def _ticks(edges: Sequence[float]) -> list[float]:
    """Return round values and the last edge, without a neighbour that would hide it."""
    low, high = edges[0], edges[-1]
    ticks = canvas.nice_ticks(low, high)
    return [tick for tick in ticks if high - tick > 0.06 * (high - low)] + [high]


def _line(value: float, name: str, across: canvas.Scale, plot: canvas.Plot) -> Markup:
    x, room = across(value), canvas.estimated_width(name)
    ends: dict[str, object] = {"x1": x, "x2": x, "y1": plot.top - 4, "y2": plot.bottom}
    is_left = x - room - 6 >= plot.left
    place = max(plot.left, x - 6) if is_left else x + 6
    return fragment(
        element("line", {"class": "axis", "stroke-dasharray": "5 3"} | ends),
        canvas.text(name, place, plot.top + 6, anchor="end" if is_left else None),
    )
