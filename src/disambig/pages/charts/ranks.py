"""Demsar's diagram of critical differences: average ranks, and which cannot be told apart."""

from collections.abc import Mapping

from markupsafe import Markup

from disambig.pages.charts.axes import PANEL_WIDTH, text
from disambig.pages.charts.frame import box, drawing, figure, mark
from disambig.pages.charts.scale import Scale
from disambig.pages.charts.text_fit import estimated_width, shortened, thinned
from disambig.pages.markup import element, fragment
from disambig.report.rank_bars import bar_levels, bars_alike, rank_sides

__all__ = ["rank_diagram"]

_AXIS = 200.0
_AXIS_HEIGHT = 62.0
_MOST_NAME_ROOM = 150.0
_LABEL_STEP = 21.0
_BAR_STEP = 9.0
_GAP = 6.0
_MOST_SHRUNK = 1.05 * PANEL_WIDTH


def rank_diagram(
    title: str,
    ranks: Mapping[str, float],
    difference: float,
    *,
    caption: str = "",
    reference: str | None = None,
) -> Markup:
    """Return the diagram for these average ranks and this critical difference.

    The better half of the methods is named on the left, best first; the others on the right.

    Parameters
    ----------
    title, caption : str
        What it shows, and how to read it.
    ranks : mapping of str to float
        Average ranks by method, 1 is best; two methods or more.
    difference : float
        Ranks that are farther apart differ significantly.
    reference : str, optional
        The method that stands out.
    """
    ordered = sorted(ranks, key=lambda name: ranks[name])
    return figure(
        title,
        _drawn(title, ranks, difference, reference),
        caption=caption,
        header=("method", "average rank"),
        rows=[(name, f"{ranks[name]:.2f}") for name in ordered],
    )


def _drawn(
    title: str, ranks: Mapping[str, float], difference: float, reference: str | None
) -> Markup:
    sides, bars = rank_sides(ranks), bars_alike(ranks, difference)
    shown = {
        name: f"{shortened(name, _MOST_NAME_ROOM)}  {rank:.2f}" for name, rank in ranks.items()
    }
    # Type of the reference is bold, and so broader.
    room = 1.08 * max(map(estimated_width, shown.values())) + 2 * _GAP
    scale = Scale(1, len(ranks), room, room + _AXIS)
    levels = bar_levels(bars, gap=14 * (len(ranks) - 1) / _AXIS)
    first_label = _AXIS_HEIGHT + 22 + _BAR_STEP * max(levels, default=0)
    parts = [_ruler(scale, difference), _axis(scale, len(ranks))]
    for (best, worst), level in zip(bars, levels, strict=True):
        y = _AXIS_HEIGHT + 9 + _BAR_STEP * level
        ends = {"x1": scale(best) - 4, "x2": scale(worst) + 4, "y1": y, "y2": y}
        parts.append(element("line", {"class": "line", "stroke-width": 4} | ends))
    width = 2 * room + _AXIS
    ruler_end = scale(1 + difference) + 8 + estimated_width(_ruler_text(difference))
    for names, edge, side in ((sides.left, room, -1), (sides.right, room + _AXIS, 1)):
        for i, name in enumerate(names):
            y = first_label + i * _LABEL_STEP
            end = edge + side * _GAP
            label = _label(shown[name], end + side * 4, y, side, is_strong=name == reference)
            path = f"M{scale(ranks[name]):.2f} {_AXIS_HEIGHT:g}V{y:.2f}H{end:.2f}"
            parts += [element("path", {"class": "line", "stroke-width": 1, "d": path}), label]
            left, right = (0, room) if side < 0 else (room + _AXIS, width)
            whole = box(left, y - _LABEL_STEP / 2, right, y + _LABEL_STEP / 2)
            parts.append(mark("rect", f"{name}: average rank {ranks[name]:.2f}", whole, "band"))
    height = first_label + _LABEL_STEP * len(sides.left)
    width = max(width, ruler_end)
    # Wider than a phone, it scrolls rather than shrinks.
    return drawing(title, round(width), round(height), *parts, own_size=width > _MOST_SHRUNK)


def _label(words: str, x: float, y: float, side: int, *, is_strong: bool) -> Markup:
    anchor = "end" if side < 0 else "start"
    return text(words, x, y + 4, anchor=anchor, classes="strong" if is_strong else None)


def _ruler(scale: Scale, difference: float) -> Markup:
    """Return a line as long as the critical difference, with its length beside it."""
    start, end, y = scale(1), scale(1 + difference), 18.0
    path = f"M{start:.2f} {y - 4:g}v8m0 -4H{end:.2f}m0 -4v8"
    return fragment(
        element("path", {"class": "line", "stroke-width": 1.2, "d": path}),
        text(_ruler_text(difference), end + 8, y + 4),
    )


def _ruler_text(difference: float) -> str:
    return f"critical difference {difference:.2f}"


def _axis(scale: Scale, n_methods: int) -> Markup:
    ranks = list(range(1, n_methods + 1))
    places = [scale(rank) for rank in ranks]
    path = f"M{places[0]:.2f} {_AXIS_HEIGHT:g}H{places[-1]:.2f}" + "".join(
        f"M{x:.2f} {_AXIS_HEIGHT:g}v-6" for x in places
    )
    texts = [str(rank) for rank in ranks]
    return fragment(
        element("path", {"class": "line", "stroke-width": 1.2, "d": path}),
        *(
            text(texts[i], places[i], _AXIS_HEIGHT - 10, anchor="middle")
            for i in thinned(texts, places)
        ),
    )
