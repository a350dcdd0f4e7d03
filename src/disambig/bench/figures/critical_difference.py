"""Demsar's diagram: average ranks on a line, and bars over methods that cannot be told apart."""

from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from disambig._core.errors import ParameterError
from disambig.bench.figures.style import look, text_width
from disambig.bench.ranking import bar_levels, bars_alike, rank_methods, rank_sides
from disambig.bench.run_table import read_cells
from disambig.metrics import metric_title

__all__ = ["draw_critical_difference", "draw_ranks"]

# In inches; sizes of type in points.
_AXIS = 4.6
_LABEL_STEP = 0.22
_BAR_STEP = 0.11
_GAP = 0.08
_MARGIN = 0.15
_TYPE = 9.0
_INK = "black"


def draw_critical_difference(
    scores: Any, metric: str = "accuracy", *, reference: str | None = None, alpha: float = 0.05
) -> Figure:
    """Return the diagram of the methods of a study; floors and ceilings take no part.

    Parameters
    ----------
    scores : DataFrame
        Records of a study with three methods and two datasets or more.
    metric : str, default="accuracy"
        Column of the records.
    reference : str, optional
        Label of the method that stands out.
    alpha : float, default=0.05
        Level of significance of Nemenyi's test.
    """
    cells = read_cells(scores, metric)
    ranking = rank_methods(cells, alpha)
    if ranking.critical_difference is None:
        raise ParameterError(f"A diagram of critical differences needs {ranking.lacks}.")
    ranks = {cells.shown(method): rank for method, rank in ranking.ranks.items()}
    title = f"average rank by {metric_title(metric)}, over {len(ranking.data)} {cells.unit}s"
    strong = None if reference is None else cells.shown(reference)
    return draw_ranks(ranks, ranking.critical_difference, title=title, reference=strong)


def draw_ranks(
    ranks: Mapping[str, float], difference: float, *, title: str, reference: str | None = None
) -> Figure:
    """Return the diagram for these average ranks and this critical difference.

    The better half of the methods is named on the left, best first; the others on the right. The
    reference is bold.
    """
    bars, sides = bars_alike(ranks, difference), rank_sides(ranks)
    left, right = sides.left, sides.right
    with look():
        texts = {name: f"{name}  {ranks[name]:.2f}" for name in ranks}
        side, far_side = (
            max(_width(texts[name]) for name in group) + 2 * _GAP + _MARGIN
            for group in (left, right)
        )
        scale = _AXIS / (len(ranks) - 1)
        caption = f"CD = {difference:.2f}"
        # Title and ruler begin with the axis and may end to the right of its labels.
        ruler = difference * scale + _GAP + _width(caption) + _MARGIN
        width = side + max(_AXIS + far_side, ruler, _width(title) + _MARGIN)
        levels = bar_levels(bars, gap=0.2 / scale)
        depth = 0.16 + _BAR_STEP * (max(levels, default=-1) + 1)
        above, below = 0.95, depth + _LABEL_STEP * len(left) + _MARGIN
        figure = Figure(figsize=(width, above + below))
        axes = figure.add_axes((0, 0, 1, 1), xlim=(0, width), ylim=(-below, above))
        axes.set_axis_off()

        def place(rank: float) -> float:
            return side + (rank - 1) * scale

        axes.text(place(1), above - _MARGIN, title, va="top", fontsize=_TYPE)
        _draw_ruler(axes, place(1), difference * scale, 0.48, caption)
        _draw_axis(axes, [place(rank) for rank in range(1, len(ranks) + 1)])
        for (best, worst), level in zip(bars, levels, strict=True):
            ends = [place(best) - 0.05, place(worst) + 0.05]
            height = -0.14 - _BAR_STEP * level
            axes.plot(ends, [height] * 2, color=_INK, linewidth=3.6, solid_capstyle="butt")
        for group, end, align in (
            (left, side - _GAP, "right"),
            (right, side + _AXIS + _GAP, "left"),
        ):
            text_at = end - _GAP / 2 if align == "right" else end + _GAP / 2
            for i, name in enumerate(group):
                x, y = place(ranks[name]), -depth - _LABEL_STEP * (i + 0.5)
                axes.plot([x, x, end], [0, y, y], color=_INK, linewidth=0.9)
                weight = "bold" if name == reference else "normal"
                axes.text(
                    text_at, y, texts[name], ha=align, va="center", fontsize=_TYPE, weight=weight
                )
    return figure


def _draw_axis(axes: Axes, ticks: Sequence[float]) -> None:
    axes.plot([ticks[0], ticks[-1]], [0, 0], color=_INK, linewidth=1.2)
    for rank, tick in enumerate(ticks, start=1):
        axes.plot([tick, tick], [0, 0.07], color=_INK, linewidth=1.2)
        axes.text(tick, 0.1, str(rank), ha="center", va="bottom", fontsize=_TYPE - 1)


def _draw_ruler(axes: Axes, start: float, length: float, height: float, text: str) -> None:
    axes.plot([start, start + length], [height] * 2, color=_INK, linewidth=1.2)
    for end in (start, start + length):
        axes.plot([end, end], [height - 0.05, height + 0.05], color=_INK, linewidth=1.2)
    # Beside it, where there is room for a short ruler too.
    axes.text(start + length + _GAP, height, text, ha="left", va="center", fontsize=_TYPE)


def _width(text: str) -> float:
    """Return the width of a label in inches, as if it were bold."""
    return text_width(text, _TYPE, weight="bold")
