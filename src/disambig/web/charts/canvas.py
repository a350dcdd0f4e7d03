"""What every chart is drawn on: text that fits, scales, axes, and the figure around them."""

import math
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

from markupsafe import Markup

from disambig.bench.wording import MISSING
from disambig.web.markup import element, fragment, is_numeric, note

# As wide as a phone, nearly: type of 12 is not shrunk below 10 there.
PANEL_WIDTH = 400.0
# The size of type in charts, as in the style sheet. Widths of characters are shares of it, rather
# too large, because only the browser knows which font there is.
_TYPE = 12.0
_NARROW = frozenset("iljtfrI.,:;|!'()[]{}/\\ -1")
_BROAD = frozenset("mwMW@%—…")
_ELLIPSIS = "…"
_ROUND_STEPS = (1, 2, 2.5, 5, 10)
# Share of the height that is empty above the highest and below the lowest value.
_MARGIN = 0.06


def estimated_width(text: str) -> float:
    """Return about how wide a string is in a chart, rather too much than too little."""
    return _TYPE * sum(map(_width, text))


def shortened(text: str, room: float) -> str:
    """Return the string, or as much of it as fits and an ellipsis."""
    if estimated_width(text) <= room:
        return text
    left = room - estimated_width(_ELLIPSIS)
    n_fitting = sum(_TYPE * width <= left for width in accumulate(map(_width, text)))
    return text[:n_fitting].rstrip() + _ELLIPSIS


def thinned(texts: Sequence[str], places: Sequence[float], *, gap: float = 6) -> list[int]:
    """Return which labels, centred at places, to show: every one, every second, and so on."""
    halves = [estimated_width(text) / 2 for text in texts]
    for step in range(1, len(texts) + 1):
        kept = list(range(0, len(texts), step))
        if all(places[b] - places[a] >= halves[a] + halves[b] + gap for a, b in pairwise(kept)):
            return kept
    return []


def _width(character: str) -> float:
    if unicodedata.east_asian_width(character) in "WF":
        return 1.05
    if unicodedata.combining(character):
        return 0.0
    if character in _NARROW:
        return 0.4
    if character in _BROAD:
        return 1.02
    return 0.74 if character.isupper() else 0.64


@dataclass(frozen=True)
class Scale:
    """A straight line from values, low to high, to places, start to end."""

    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: float) -> float:
        """Return the place of a value."""
        share = (value - self.low) / (self.high - self.low)
        return self.start + share * (self.end - self.start)


def range_of(values: Iterable[float]) -> tuple[float, float]:
    """Return two ends that hold all finite values with a margin; 0 and 1 if there are none."""
    finite = [value for value in values if math.isfinite(value)]
    if not finite:
        return 0.0, 1.0
    low, high = min(finite), max(finite)
    # A single value is in the middle.
    margin = _MARGIN * (high - low) or 0.1 * abs(high) or 0.5
    return low - margin, high + margin


def nice_ticks(low: float, high: float, most: int = 6, *, whole: bool = False) -> list[float]:
    """Return up to so many round values between the ends of an axis; whole ones for counts."""
    power = math.floor(math.log10((high - low) / most))
    steps = [one * 10.0**more for more in range(power, power + 3) for one in _ROUND_STEPS]
    for step in steps:
        if whole and step % 1:
            continue
        # With a tolerance, so that 0.3 is a tick of an axis that ends at 0.1 + 0.2.
        first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
        if last - first < most:
            return [number * step for number in range(first, last + 1)]
    return []


def tick_texts(ticks: Sequence[float]) -> list[str]:
    """Return ticks as strings with the same number of decimals, as few as tell them apart."""
    for decimals in range(10):
        texts = [f"{tick:,.{decimals}f}" for tick in ticks]
        if all(
            math.isclose(float(text.replace(",", "")), tick, rel_tol=1e-9, abs_tol=1e-12)
            for text, tick in zip(texts, ticks, strict=True)
        ):
            break
    else:
        texts = [f"{tick:.3g}" for tick in ticks]
    return [text.removeprefix("-") if float(text.replace(",", "")) == 0 else text for text in texts]


def value_text(value: float) -> str:
    """Return a value for a tip or a table: counts whole, others to three decimals or digits."""
    if not math.isfinite(value):
        return MISSING
    if value == round(value) and abs(value) < 1e15:
        return f"{value:,.0f}"
    return f"{value:,.3f}" if abs(value) >= 0.001 else f"{value:.3g}"


@dataclass(frozen=True)
class Plot:
    """The area inside the axes; the vertical coordinate grows downwards."""

    left: float
    right: float
    top: float
    bottom: float


def left_room(ticks: Sequence[float]) -> float:
    """Return the space that the texts of a left axis take."""
    return max(map(estimated_width, tick_texts(ticks)), default=0) + 8


def left_axis(plot: Plot, scale: Scale, ticks: Sequence[float], title: str) -> Markup:
    """Return lines across the plot at ticks, their texts, and the title above them."""
    parts = [text(title, 0, plot.top - 15, classes="quiet", room=plot.right)]
    for tick, label in zip(ticks, tick_texts(ticks), strict=True):
        y = scale(tick)
        line = {"class": "grid", "x1": plot.left, "x2": plot.right, "y1": y, "y2": y}
        parts.append(element("line", line))
        parts.append(text(label, plot.left - 6, y + 4, anchor="end"))
    return fragment(*parts)


def bottom_axis(plot: Plot, places: Sequence[float], texts: Sequence[str], title: str) -> Markup:
    """Return a line below the plot, texts at these places as far as they fit, and a title."""
    line = {"class": "axis", "x1": plot.left, "x2": plot.right}
    parts = [element("line", line | {"y1": plot.bottom, "y2": plot.bottom})]
    for i in thinned(texts, places):
        half = estimated_width(texts[i]) / 2
        # Texts at the ends stay inside the drawing.
        x = max(half, min(places[i], PANEL_WIDTH - half))
        parts.append(text(texts[i], x, plot.bottom + 16, anchor="middle"))
    x, y, room = (plot.left + plot.right) / 2, plot.bottom + 34, plot.right - plot.left
    parts.append(text(title, x, y, anchor="middle", classes="quiet", room=room))
    return fragment(*parts)


def vertical_grid(plot: Plot, places: Sequence[float]) -> Markup:
    """Return lines from top to bottom of the plot."""
    ends = {"class": "grid", "y1": plot.top, "y2": plot.bottom}
    return fragment(*(element("line", ends | {"x1": place, "x2": place}) for place in places))


def text(
    content: str,
    x: float,
    y: float,
    *,
    anchor: str | None = None,
    classes: str | None = None,
    room: float | None = None,
) -> Markup:
    """Return a string at a place, shortened to the room it has."""
    shown = content if room is None else shortened(content, room)
    return element("text", {"x": x, "y": y, "text-anchor": anchor, "class": classes}, shown)


def drawing(
    label: str, width: float, height: float, *children: str, keeps_size: bool = False
) -> Markup:
    """Return an SVG that scales with the page, or keeps its size and scrolls inside a frame.

    Its parts are hidden from screen readers, for which the numbers are there as a table.
    """
    attributes = {
        "viewBox": f"0 0 {width:g} {height:g}",
        "width": width if keeps_size else None,
        "role": "group",
        "aria-roledescription": "chart",
        "aria-label": label,
        "tabindex": 0,
    }
    svg = element("svg", attributes, element("g", {"aria-hidden": "true"}, *children))
    return element("div", {"class": "scroll bare"}, svg) if keeps_size else svg


def box(left: float, top: float, right: float, bottom: float) -> dict[str, object]:
    """Return the attributes of a rectangle between these edges."""
    return {"x": left, "y": top, "width": right - left, "height": bottom - top}


def mark(tip: str, place: dict[str, object], kind: str = "band") -> Markup:
    """Return a rectangle that has a tip; its kind is a class of the style sheet."""
    return element("rect", {"class": f"mark {kind}", "data-tip": tip} | place)


def figure(
    title: str,
    drawn: Markup | None,
    *,
    caption: str,
    header: Sequence[str],
    rows: Sequence[Sequence[str]],
    legend: str = "",
    is_wide: bool = False,
) -> Markup:
    """Return a chart: heading, drawing, legend, caption, and the numbers behind it as a table.

    Where there is nothing to draw, it says so. A wide one may be as wide as the page.
    """
    body = note("There is nothing to draw.") if drawn is None else fragment(drawn, legend)
    return element(
        "figure",
        {"class": "chart wide" if is_wide else "chart"},
        element("h3", None, title),
        body,
        element("figcaption", None, caption) if caption else "",
        _numbers(title, header, rows) if rows else "",
    )


def _numbers(title: str, header: Sequence[str], rows: Sequence[Sequence[str]]) -> Markup:
    kinds = ["name" if not is_numeric(column) else None for column in zip(*rows, strict=True)]
    titles = zip(header, kinds, strict=True)
    names = (element("th", {"scope": "col", "class": kind}, name) for name, kind in titles)
    head = element("tr", None, *names)
    lines = []
    for first, *others in rows:
        cells = (
            element("td", {"class": kind}, cell)
            for cell, kind in zip(others, kinds[1:], strict=True)
        )
        lines.append(element("tr", None, element("th", {"scope": "row"}, first), *cells))
    table = element("table", None, element("thead", None, head), element("tbody", None, *lines))
    # A frame that scrolls must be reached by keyboard, and then needs a name.
    frame = {"class": "scroll", "tabindex": 0, "role": "region", "aria-label": f"Numbers: {title}"}
    return element(
        "details", None, element("summary", None, "The numbers"), element("div", frame, table)
    )
