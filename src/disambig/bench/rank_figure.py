"""The critical difference diagram, drawn for print."""

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from disambig.bench.charts import RanksChart
from disambig.bench.figure_style import INK, text_width

# In inches; sizes of type in points.
_AXIS = 4.6
_LABEL_STEP = 0.22
_BAR_STEP = 0.11
_GAP = 0.08
_EDGE = 0.15
_RULER_HEIGHT = 0.48
_TYPE = 9.0


def draw_ranks(chart: RanksChart) -> Figure:
    """Draw the diagram; call it inside ``figure_style``."""
    labels = {name: f"{name}  {rank:.2f}" for name, rank in chart.ranks.items()}
    left, right = (
        max(_bold_width(labels[name]) for name in group) + 2 * _GAP + _EDGE
        for group in (chart.left, chart.right)
    )
    scale = _AXIS / (len(chart.ranks) - 1)
    ruler, ruler_label = chart.difference * scale, f"CD = {chart.difference:.2f}"
    # Title and ruler begin with the axis and may end to the right of its labels.
    ruler_room = ruler + _GAP + _bold_width(ruler_label) + _EDGE
    width = left + max(_AXIS + right, ruler_room, _bold_width(chart.title) + _EDGE)
    levels = chart.bar_levels(gap=0.2 / scale)
    depth = 0.16 + _BAR_STEP * (max(levels, default=-1) + 1)
    above, below = 0.95, depth + _LABEL_STEP * len(chart.left) + _EDGE
    figure = Figure(figsize=(width, above + below))
    axes = figure.add_axes((0, 0, 1, 1), xlim=(0, width), ylim=(-below, above))
    axes.set_axis_off()

    def place(rank: float) -> float:
        return left + (rank - 1) * scale

    axes.text(left, above - _EDGE, chart.title, va="top", fontsize=_TYPE)
    _plot_ruler(axes, left, ruler, ruler_label)
    _plot_axis(axes, [place(rank) for rank in range(1, len(chart.ranks) + 1)])
    for (best, worst), level in zip(chart.bars, levels, strict=True):
        ends = [place(best) - 0.05, place(worst) + 0.05]
        height = -0.14 - _BAR_STEP * level
        axes.plot(ends, [height] * 2, color=INK, linewidth=3.6, solid_capstyle="butt")
    for group, end, side in ((chart.left, left - _GAP, -1), (chart.right, left + _AXIS + _GAP, 1)):
        for i, name in enumerate(group):
            x, y = place(chart.ranks[name]), -depth - _LABEL_STEP * (i + 0.5)
            axes.plot([x, x, end], [0, y, y], color=INK, linewidth=0.9)
            axes.text(
                end + side * _GAP / 2,
                y,
                labels[name],
                ha="right" if side < 0 else "left",
                va="center",
                fontsize=_TYPE,
                weight="bold" if name == chart.reference else "normal",
            )
    return figure


def _plot_axis(axes: Axes, ticks: Sequence[float]) -> None:
    axes.plot([ticks[0], ticks[-1]], [0, 0], color=INK, linewidth=1.2)
    for rank, tick in enumerate(ticks, start=1):
        axes.plot([tick, tick], [0, 0.07], color=INK, linewidth=1.2)
        axes.text(tick, 0.1, str(rank), ha="center", va="bottom", fontsize=_TYPE - 1)


def _plot_ruler(axes: Axes, start: float, length: float, label: str) -> None:
    """Draw a line as long as the critical difference, with its length beside it."""
    axes.plot([start, start + length], [_RULER_HEIGHT] * 2, color=INK, linewidth=1.2)
    for end in (start, start + length):
        ends = [_RULER_HEIGHT - 0.05, _RULER_HEIGHT + 0.05]
        axes.plot([end, end], ends, color=INK, linewidth=1.2)
    # Beside it, where there is room for a short ruler too.
    axes.text(start + length + _GAP, _RULER_HEIGHT, label, ha="left", va="center", fontsize=_TYPE)


def _bold_width(text: str) -> float:
    return text_width(text, _TYPE, weight="bold")
