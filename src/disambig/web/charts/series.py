"""The lines and markers of a chart, and their legend."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from markupsafe import Markup

from disambig.bench.method_looks import Look, nth_look
from disambig.web.markup import element

__all__ = [
    "Series",
    "arrow",
    "legend",
    "looks_of",
    "marker",
    "marker_size",
    "own_color",
    "path_of",
    "stroke",
]


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
    """Return a cross whose arms are so broad, turned by degrees."""
    corner = [(arm, -1.1), (arm, -arm), (1.1, -arm)]
    points = [
        (x * cos - y * sin, x * sin + y * cos)
        for cos, sin in ((1, 0), (0, 1), (-1, 0), (0, -1))
        for x, y in corner
    ]
    angle = math.radians(turned)
    return [
        (x * math.cos(angle) - y * math.sin(angle), x * math.sin(angle) + y * math.cos(angle))
        for x, y in points
    ]


# In the order of the markers of figures; the circle has no corners.
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
    """Return a marker at a place.

    Parameters
    ----------
    number : int
        Which of the shapes, below ``N_MARKERS``.
    x, y : float
        Its centre.
    size : float
        Half of its width, about.
    is_hollow : bool, default=False
        Whether only its outline is drawn.
    """
    own: dict[str, object] = {"class": "point hollow" if is_hollow else "point"}
    shape = _SHAPES[number]
    if shape is None:
        return element("circle", own | {"cx": x, "cy": y, "r": size})
    return element(
        "polygon", own | {"points": _points((x + size * a, y + size * b) for a, b in shape)}
    )


def _points(corners: Iterable[tuple[float, float]]) -> str:
    return " ".join(f"{x:.2f},{y:.2f}" for x, y in corners)


_SIZE, _STRONG_SIZE = 3.6, 4.6


@dataclass(frozen=True)
class Series:
    """A line of a chart.

    Attributes
    ----------
    name : str
        What it is.
    x, y : sequences of float
        Its points, from left to right; the line is interrupted where y is NaN.
    look : Look, optional
        By default the next one in the order of lines.
    remarks : mapping of int to str
        What the tip adds to the value of a point, by its number; such a point is hollow.
    """

    name: str
    x: Sequence[float]
    y: Sequence[float]
    look: Look | None = None
    remarks: Mapping[int, str] = field(default_factory=dict)


def looks_of(series: Sequence[Series]) -> list[Look]:
    """Return the look of every line."""
    return [one.look or nth_look(i) for i, one in enumerate(series)]


def own_color(look: Look) -> str:
    """Return the class of the style sheet that has the colour."""
    return "bound" if look.color is None else f"series-{look.color}"


def marker_size(look: Look) -> float:
    """Return the size of the markers of a line."""
    return _STRONG_SIZE if look.is_strong else _SIZE


def stroke(look: Look) -> dict[str, object]:
    """Return the attributes of a line with this look."""
    width = 2.8 if look.is_strong else 1.6
    return {
        "class": "line",
        "stroke-width": width if not look.is_bound else 1.3,
        "stroke-dasharray": " ".join(f"{length * 1.3:g}" for length in look.dash) or None,
    }


def path_of(points: Sequence[tuple[float, float]], lowest: float) -> str:
    """Return the path through points; it is cut where it goes below, and where a point is missing.

    Parameters
    ----------
    points : sequence of (float, float)
        Places in the drawing, whose vertical coordinate grows downwards.
    lowest : float
        Lower edge.
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


def arrow(x: float, y: float) -> Markup:
    """Return an arrow downwards that ends here: the point is below the axis."""
    return element("path", {"class": "arrow", "d": f"M{x:.2f} {y - 8:.2f}v8m-3.5 -4l3.5 4l3.5 -4"})


def legend(
    names: Sequence[str],
    looks: Sequence[Look],
    *,
    has_hollow: bool = False,
    has_arrows: bool = False,
) -> Markup:
    """Return a list of lines with their names; it says what hollow markers and arrows are."""
    entries = [
        (own_color(look), _sample(look), name) for name, look in zip(names, looks, strict=True)
    ]
    if has_hollow:
        hollow = _box(marker(0, 19, 7, _SIZE, is_hollow=True))
        entries.append(("bound", hollow, "hollow: some runs are missing"))
    if has_arrows:
        entries.append(("bound", _box(arrow(19, 11)), "arrow: below the axis"))
    return element(
        "ul",
        {"class": "legend"},
        *(
            element("li", {"class": color}, sample, element("span", None, words))
            for color, sample, words in entries
        ),
    )


def _sample(look: Look) -> Markup:
    line = element("line", stroke(look) | {"x1": 1, "x2": 37, "y1": 7, "y2": 7})
    point = "" if look.marker is None else marker(look.marker, 19, 7, marker_size(look))
    return _box(line, point)


def _box(*children: str) -> Markup:
    size = {"width": 38, "height": 14, "viewBox": "0 0 38 14", "aria-hidden": "true"}
    return element("svg", size, *children)
