"""The lines, markers and arrows of a chart, and its legend."""

import cmath
import math
from collections.abc import Sequence

from markupsafe import Markup

from disambig.bench.charts import ONE_ERROR, Legend
from disambig.bench.line_styles import LineStyle
from disambig.web.markup import element

_SIZE, _STRONG_SIZE = 3.6, 4.6
_CAP = 3.0


def _polygon(n_corners: int, turned: float = 0.0) -> list[tuple[float, float]]:
    """Return corners on a circle, the first above its centre, turned to the right by degrees."""
    angles = (math.radians(360 * i / n_corners + turned) for i in range(n_corners))
    return [(1.15 * math.sin(angle), -1.15 * math.cos(angle)) for angle in angles]


def _star() -> list[tuple[float, float]]:
    outer, inner = _polygon(5), _polygon(5, 36)
    return [
        (scale * x, scale * y)
        for pair in zip(outer, inner, strict=True)
        for scale, (x, y) in zip((1.2, 0.5), pair, strict=True)
    ]


def _cross(arm: float, turned: float) -> list[tuple[float, float]]:
    """Return a cross with arms of this width, turned by degrees."""
    corner = [complex(arm, -1.1), complex(arm, -arm), complex(1.1, -arm)]
    turn = cmath.rect(1, math.radians(turned))
    points = (point * 1j**quarter * turn for quarter in range(4) for point in corner)
    return [(point.real, point.imag) for point in points]


# In the order of the markers in print; the circle has no corners.
_SHAPES: tuple[list[tuple[float, float]] | None, ...] = (
    None,
    [(-0.9, -0.9), (0.9, -0.9), (0.9, 0.9), (-0.9, 0.9)],
    _polygon(3),
    _polygon(4),
    _polygon(3, 180),
    _cross(0.4, 0),
    _cross(0.4, 45),
    _polygon(3, -90),
    _polygon(5),
    _polygon(3, 90),
    _star(),
    _polygon(6),
    [(0, -1.3), (0.75, 0), (0, 1.3), (-0.75, 0)],
)


def marker(number: int, x: float, y: float, size: float, *, is_hollow: bool = False) -> Markup:
    """Return the marker with this number around a place; its size is about half of its width."""
    kind: dict[str, object] = {"class": "point hollow" if is_hollow else "point"}
    shape = _SHAPES[number]
    if shape is None:
        return element("circle", kind | {"cx": x, "cy": y, "r": size})
    corners = " ".join(f"{x + size * a:.2f},{y + size * b:.2f}" for a, b in shape)
    return element("polygon", kind | {"points": corners})


def color_class(style: LineStyle) -> str:
    """Return the classes of the style sheet that have the colour."""
    if style.color is None:
        return "bound"
    return f"series-{style.color} pale" if style.is_pale else f"series-{style.color}"


def marker_size(style: LineStyle) -> float:
    """Return the size of the markers of a line."""
    return _STRONG_SIZE if style.is_strong else _SIZE


def line_attributes(style: LineStyle) -> dict[str, object]:
    """Return the attributes of a line in this style."""
    width = 2.8 if style.is_strong else 1.6
    return {
        "class": "line",
        "stroke-width": 1.3 if style.is_bound else width,
        "stroke-dasharray": " ".join(f"{length * 1.3:g}" for length in style.dash) or None,
    }


def path_through(points: Sequence[tuple[float, float]], lowest: float) -> str:
    """Return the path through points; it is cut where it goes below, and where a point is missing.

    Vertical coordinates grow downwards: below the edge is what is greater than ``lowest``.
    """
    parts: list[str] = []
    for before, (x, y) in zip([(math.nan, math.nan), *points], points, strict=False):
        if math.isnan(y):
            continue
        if math.isnan(before[1]):
            parts.append(f"M{x:.2f} {min(y, lowest):.2f}")
            continue
        if before[1] > lowest and y <= lowest:
            parts.append(f"M{_crossing(before, (x, y), lowest):.2f} {lowest:.2f}")
        if y <= lowest:
            parts.append(f"L{x:.2f} {y:.2f}")
        elif before[1] <= lowest:
            parts.append(f"L{_crossing(before, (x, y), lowest):.2f} {lowest:.2f}")
    return " ".join(parts)


def _crossing(a: tuple[float, float], b: tuple[float, float], height: float) -> float:
    return a[0] + (b[0] - a[0]) * (height - a[1]) / (b[1] - a[1])


def band(lows: Sequence[tuple[float, float]], highs: Sequence[tuple[float, float]]) -> Markup:
    """Return the area between two lines that have the same places."""
    corners = [*highs, *reversed(lows)]
    return element(
        "polygon",
        {"class": "error-band", "points": " ".join(f"{x:.2f},{y:.2f}" for x, y in corners)},
    )


def error_bar(x: float, low: float, high: float) -> Markup:
    """Return an upright bar with caps."""
    path = f"M{x:.2f} {low:.2f}V{high:.2f}" + "".join(
        f"M{x - _CAP:.2f} {y:.2f}h{2 * _CAP:g}" for y in (low, high)
    )
    return element("path", {"class": "line", "stroke-width": 1.3, "d": path})


def arrow(x: float, y: float) -> Markup:
    """Return an arrow downwards that ends here: the point is below the axis."""
    return element("path", {"class": "arrow", "d": f"M{x:.2f} {y - 8:.2f}v8m-3.5 -4l3.5 4l3.5 -4"})


def legend_list(legend: Legend) -> Markup:
    """Return lines with their names; it says what bands, hollow markers and arrows are."""
    entries = [(color_class(style), _sample(style), label) for label, style in legend.entries]
    if legend.band is not None:
        label, style = legend.band
        sample = _box(band([(1, 13), (37, 13)], [(1, 1), (37, 1)]))
        entries.append((color_class(style), sample, label))
    if legend.has_bars:
        entries.append(("bound", _box(error_bar(19, 1, 13)), ONE_ERROR))
    if legend.has_hollow:
        hollow = _box(marker(0, 19, 7, _SIZE, is_hollow=True))
        entries.append(("bound", hollow, "hollow: some runs are missing"))
    if legend.has_arrows:
        entries.append(("bound", _box(arrow(19, 11)), "arrow: below the axis"))
    return element(
        "ul",
        {"class": "legend"},
        *(
            element("li", {"class": color}, sample, element("span", None, label))
            for color, sample, label in entries
        ),
    )


def _sample(style: LineStyle) -> Markup:
    line = element("line", line_attributes(style) | {"x1": 1, "x2": 37, "y1": 7, "y2": 7})
    point = "" if style.marker is None else marker(style.marker, 19, 7, marker_size(style))
    return _box(line, point)


def _box(*children: str) -> Markup:
    size = {"width": 38, "height": 14, "viewBox": "0 0 38 14", "aria-hidden": "true"}
    return element("svg", size, *children)
