"""Methods compared: dots with standard errors, and average ranks."""

import math

from markupsafe import Markup

from disambig.bench.charts import ONE_ERROR, Dot, DotPanel, DotsChart, RanksChart
from disambig.bench.wording import MISSING, score_text
from disambig.web.charts import canvas, marks
from disambig.web.markup import element, fragment

_ROW = 24.0
_ABOVE = 8.0
_BELOW = 44.0
_MOST_NAME_ROOM = 140.0
_CAP = 4.0


def dot_charts(chart: DotsChart) -> Markup:
    """Return all panels under one legend."""
    return fragment(
        marks.legend_list(chart.legend),
        element("div", {"class": "charts small"}, *map(dot_chart, chart.panels)),
    )


def dot_chart(panel: DotPanel) -> Markup:
    """Return a row for every method, and a line for every baseline."""
    is_drawn = any(math.isfinite(dot.mean) for dot in panel.dots)
    return canvas.figure(
        panel.title,
        _draw_dots(panel) if is_drawn else None,
        caption="",
        header=("method", f"{panel.x_title} {ONE_ERROR}"),
        rows=[(dot.name, _dot_text(dot)) for dot in panel.dots],
    )


def _dot_text(dot: Dot) -> str:
    value = score_text(dot.mean, dot.error) if math.isfinite(dot.mean) else MISSING
    return f"{value} ({dot.remark})" if dot.remark else value


def _draw_dots(panel: DotPanel) -> Markup:
    rows = panel.rows
    widest = max((canvas.estimated_width(dot.name) for dot in rows), default=0)
    room = min(_MOST_NAME_ROOM, widest) + 10
    plot = canvas.Plot(room, canvas.PANEL_WIDTH - 14, _ABOVE, _ABOVE + _ROW * max(1, len(rows)))
    low, high = canvas.range_of(end for dot in panel.dots for end in _ends(dot))
    scale = canvas.Scale(low, high, plot.left, plot.right)
    ticks = canvas.nice_ticks(low, high, most=5)
    places = [scale(tick) for tick in ticks]
    return canvas.drawing(
        panel.title,
        canvas.PANEL_WIDTH,
        plot.bottom + _BELOW,
        canvas.vertical_grid(plot, places),
        canvas.bottom_axis(plot, places, canvas.tick_texts(ticks), panel.x_title),
        *(_bound(dot, scale, plot) for dot in panel.bounds if math.isfinite(dot.mean)),
        *(_row(dot, i, scale, plot) for i, dot in enumerate(rows)),
    )


def _ends(dot: Dot) -> tuple[float, float]:
    error = dot.error or 0.0
    # Lines of baselines have no error in the drawing.
    return (dot.mean, dot.mean) if dot.style.is_bound else (dot.mean - error, dot.mean + error)


def _bound(dot: Dot, scale: canvas.Scale, plot: canvas.Plot) -> Markup:
    x = scale(dot.mean)
    ends = {"x1": x, "x2": x, "y1": plot.top, "y2": plot.bottom}
    line = element("line", marks.line_attributes(dot.style) | ends)
    return element("g", {"class": marks.color_class(dot.style)}, line)


def _row(dot: Dot, number: int, scale: canvas.Scale, plot: canvas.Plot) -> Markup:
    top = plot.top + number * _ROW
    y = top + _ROW / 2
    strong, end = "strong" if dot.style.is_strong else None, plot.left - 8
    parts = [canvas.text(dot.name, end, y + 4, anchor="end", classes=strong, room=end)]
    if math.isfinite(dot.mean):
        if dot.error:
            low, high = (scale(end) for end in _ends(dot))
            whiskers = f"M{low:.2f} {y:.2f}H{high:.2f}"
            caps = "".join(f"M{x:.2f} {y - _CAP:.2f}v{2 * _CAP:g}" for x in (low, high))
            width = 2.4 if dot.style.is_strong else 1.5
            parts.append(
                element("path", {"class": "line", "stroke-width": width, "d": whiskers + caps})
            )
        # All dots are circles of one colour, because rows have names.
        x, size = scale(dot.mean), marks.marker_size(dot.style)
        parts.append(marks.marker(0, x, y, size, is_hollow=bool(dot.remark)))
    whole = canvas.box(0, top, canvas.PANEL_WIDTH, top + _ROW)
    parts.append(canvas.mark(f"{dot.name}: {_dot_text(dot)}", whole))
    return element("g", None, *parts)


_AXIS = 200.0
_AXIS_HEIGHT = 62.0
_MOST_RANK_NAME_ROOM = 150.0
_LABEL_STEP = 21.0
_BAR_STEP = 9.0
_GAP = 6.0
_MOST_SHRUNK = 1.05 * canvas.PANEL_WIDTH


def rank_diagram(chart: RanksChart) -> Markup:
    """Return the diagram; the better half of the methods is named on the left, best first."""
    return canvas.figure(
        chart.title,
        _draw_ranks(chart),
        caption=chart.caption,
        header=("method", "average rank"),
        rows=[(name, f"{chart.ranks[name]:.2f}") for name in chart.names],
    )


def _draw_ranks(chart: RanksChart) -> Markup:
    ranks, difference = chart.ranks, chart.difference
    short = {name: canvas.shortened(name, _MOST_RANK_NAME_ROOM) for name in ranks}
    shown = {name: f"{short[name]}  {rank:.2f}" for name, rank in ranks.items()}
    # Type of the reference is bold, and so broader.
    room = 1.08 * max(map(canvas.estimated_width, shown.values())) + 2 * _GAP
    scale = canvas.Scale(1, len(ranks), room, room + _AXIS)
    levels = chart.bar_levels(gap=14 * (len(ranks) - 1) / _AXIS)
    first_label = _AXIS_HEIGHT + 22 + _BAR_STEP * max(levels, default=0)
    parts = [_ruler(scale, difference), _axis(scale, len(ranks))]
    for (best, worst), level in zip(chart.bars, levels, strict=True):
        y = _AXIS_HEIGHT + 9 + _BAR_STEP * level
        ends = {"x1": scale(best) - 4, "x2": scale(worst) + 4, "y1": y, "y2": y}
        parts.append(element("line", {"class": "line", "stroke-width": 4} | ends))
    width = 2 * room + _AXIS
    ruler_end = scale(1 + difference) + 8 + canvas.estimated_width(_ruler_text(difference))
    for names, edge, side in ((chart.left, room, -1), (chart.right, room + _AXIS, 1)):
        for i, name in enumerate(names):
            y = first_label + i * _LABEL_STEP
            end = edge + side * _GAP
            x, anchor = end + side * 4, "end" if side < 0 else "start"
            strong = "strong" if name == chart.reference else None
            label = canvas.text(shown[name], x, y + 4, anchor=anchor, classes=strong)
            path = f"M{scale(ranks[name]):.2f} {_AXIS_HEIGHT:g}V{y:.2f}H{end:.2f}"
            parts += [element("path", {"class": "line", "stroke-width": 1, "d": path}), label]
            left, right = (0, room) if side < 0 else (room + _AXIS, width)
            whole = canvas.box(left, y - _LABEL_STEP / 2, right, y + _LABEL_STEP / 2)
            parts.append(canvas.mark(f"{name}: average rank {ranks[name]:.2f}", whole))
    height = first_label + _LABEL_STEP * len(chart.left)
    width = max(width, ruler_end)
    # Wider than a phone, it scrolls rather than shrinks.
    size, keeps_size = (round(width), round(height)), width > _MOST_SHRUNK
    return canvas.drawing(chart.title, *size, *parts, keeps_size=keeps_size)


def _ruler(scale: canvas.Scale, difference: float) -> Markup:
    """Return a line as long as the critical difference, with its length beside it."""
    start, end, y = scale(1), scale(1 + difference), 18.0
    path = f"M{start:.2f} {y - 4:g}v8m0 -4H{end:.2f}m0 -4v8"
    return fragment(
        element("path", {"class": "line", "stroke-width": 1.2, "d": path}),
        canvas.text(_ruler_text(difference), end + 8, y + 4),
    )


def _ruler_text(difference: float) -> str:
    return f"critical difference {difference:.2f}"


def _axis(scale: canvas.Scale, n_methods: int) -> Markup:
    ranks = list(range(1, n_methods + 1))
    places = [scale(rank) for rank in ranks]
    path = f"M{places[0]:.2f} {_AXIS_HEIGHT:g}H{places[-1]:.2f}" + "".join(
        f"M{x:.2f} {_AXIS_HEIGHT:g}v-6" for x in places
    )
    texts = [str(rank) for rank in ranks]
    return fragment(
        element("path", {"class": "line", "stroke-width": 1.2, "d": path}),
        *(
            canvas.text(texts[i], places[i], _AXIS_HEIGHT - 10, anchor="middle")
            for i in canvas.thinned(texts, places)
        ),
    )
