"""Markers of points: thirteen shapes, so that lines can be told apart without colour."""

import math
from collections.abc import Iterable

from markupsafe import Markup

from disambig.pages.markup import element

__all__ = ["marker"]


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
