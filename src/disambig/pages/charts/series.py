"""Lines of a chart, what each looks like, and the legend that says which is which."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from markupsafe import Markup

from disambig.pages.charts.markers import marker
from disambig.pages.markup import element, fragment
from disambig.report.method_looks import Look, nth_look

__all__ = ["Series", "legend", "looks_of", "own_color", "path_of", "stroke"]

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


def legend(names: Sequence[str], looks: Sequence[Look], *extra: Markup) -> Markup:
    """Return a list of lines with their names, and whatever else there is to explain."""
    entries = [
        element("li", {"class": own_color(look)}, _sample(look), element("span", None, name))
        for name, look in zip(names, looks, strict=True)
    ]
    return element("ul", {"class": "legend"}, *entries, *extra)


def _sample(look: Look) -> Markup:
    line = element("line", stroke(look) | {"x1": 1, "x2": 37, "y1": 7, "y2": 7})
    point = "" if look.marker is None else marker(look.marker, 19, 7, marker_size(look))
    box = {"width": 38, "height": 14, "viewBox": "0 0 38 14", "aria-hidden": "true"}
    return element("svg", box, fragment(line, point))
