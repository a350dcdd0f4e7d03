"""The reliability diagram: stated confidence against the share that turned out to be right."""

from markupsafe import Markup

from disambig.bench.line_styles import nth_style
from disambig.tabular.evidence import Reliability, ReliabilityBin
from disambig.web.charts import canvas, marks
from disambig.web.markup import element, fragment

_HEIGHT = 300.0
_BELOW = 44.0
_ABOVE = 30.0
# Above 1 is the room for counts.
_TOP = 1.12
_COUNTS_AT = 1.05
_TICKS = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)
_X_TITLE = "stated confidence"
_Y_TITLE = "share right"


def reliability_diagram(reliability: Reliability) -> Markup:
    """Return a point with its 95 % interval for every bin, beside the line of perfect ones."""
    title = "Stated confidence and what is right"
    rows = [
        (
            f"{one.low:.1f} to {one.high:.1f}",
            f"{one.confidence:.3f}",
            f"{one.checked.share:.3f}",
            f"{one.checked.low:.3f} to {one.checked.high:.3f}",
            f"{one.checked.n_rows:,}",
        )
        for one in reliability.bins
    ]
    return canvas.figure(
        title,
        _draw(title, reliability),
        caption="Choices in rows with several candidates whose true label is known. Where "
        "confidences mean what they say, points lie on the dashed line. Bars are 95 % intervals; "
        "the numbers above count rows. Expected calibration error "
        f"{reliability.calibration_error:.3f}: the mean distance from the line, weighted by rows.",
        header=("confidence", "its mean", _Y_TITLE, "95 %", "rows"),
        rows=rows,
    )


def _draw(title: str, reliability: Reliability) -> Markup:
    plot = canvas.Plot(canvas.left_room(_TICKS), canvas.PANEL_WIDTH - 14, _ABOVE, _HEIGHT - _BELOW)
    across = canvas.Scale(0, 1, plot.left, plot.right)
    height = canvas.Scale(0, _TOP, plot.bottom, plot.top)
    diagonal = {"x1": across(0), "y1": height(0), "x2": across(1), "y2": height(1)}
    dashed = {"class": "line", "stroke-width": 1.3, "stroke-dasharray": "5 4"}
    style = nth_style(0)
    return canvas.drawing(
        title,
        canvas.PANEL_WIDTH,
        _HEIGHT,
        canvas.left_axis(plot, height, _TICKS, _Y_TITLE),
        canvas.bottom_axis(plot, list(map(across, _TICKS)), canvas.tick_texts(_TICKS), _X_TITLE),
        element("g", {"class": "bound"}, element("line", dashed | diagonal)),
        element(
            "g",
            {"class": marks.color_class(style)},
            *(_point(one, across, height) for one in reliability.bins),
        ),
        *_counts(reliability, across, height),
        *(_tip(one, across, plot) for one in reliability.bins),
    )


def _point(one: ReliabilityBin, across: canvas.Scale, height: canvas.Scale) -> Markup:
    x, known = across(one.confidence), one.checked
    return fragment(
        marks.error_bar(x, height(known.low), height(known.high)),
        marks.marker(0, x, height(known.share), marks.marker_size(nth_style(0))),
    )


def _counts(reliability: Reliability, across: canvas.Scale, height: canvas.Scale) -> list[Markup]:
    """Return how many rows are in the bins, as far as there is room."""
    texts = [f"{one.checked.n_rows:,}" for one in reliability.bins]
    places = [across((one.low + one.high) / 2) for one in reliability.bins]
    y = height(_COUNTS_AT)
    return [
        canvas.text(texts[i], places[i], y, anchor="middle", classes="quiet")
        for i in canvas.thinned(texts, places, gap=2)
    ]


def _tip(one: ReliabilityBin, across: canvas.Scale, plot: canvas.Plot) -> Markup:
    known = one.checked
    tip = (
        f"confidence {one.low:.1f} to {one.high:.1f}, on average {one.confidence:.3f}\n"
        f"right: {known.share:.3f} ({known.low:.3f} to {known.high:.3f}, 95 %)\n"
        f"rows: {known.n_rows:,}"
    )
    return canvas.mark(tip, canvas.box(across(one.low), plot.top, across(one.high), plot.bottom))
