"""Lying bars, each below its name: for names that are too long for an axis."""

from collections.abc import Sequence
from typing import NamedTuple

from markupsafe import Markup

from disambig.web.charts import canvas
from disambig.web.markup import element

_ROW = 36.0
_BAR = 10.0
_GAP = 12.0


class NamedBar(NamedTuple):
    """A bar: what it is about, how long it is, and the words for that."""

    name: str
    value: float
    text: str  # beside the name
    note: str  # in the tip and the table; may be empty
    has_bar: bool = True  # what stands for many others would dwarf them


def named_bars(
    title: str, bars: Sequence[NamedBar], *, header: tuple[str, str, str], caption: str = ""
) -> Markup:
    """Return a bar for every name, on one scale that begins at 0."""
    return canvas.figure(
        title,
        _draw(title, bars) if any(bar.value > 0 for bar in bars) else None,
        caption=caption,
        header=header,
        rows=[(bar.name, bar.text, bar.note) for bar in bars],
    )


def _draw(title: str, bars: Sequence[NamedBar]) -> Markup:
    most = max((bar.value for bar in bars if bar.has_bar), default=0) or 1.0
    scale = canvas.Scale(0, most, 0, canvas.PANEL_WIDTH - 2)
    parts = []
    for i, bar in enumerate(bars):
        top = i * _ROW
        room = canvas.PANEL_WIDTH - canvas.estimated_width(bar.text) - _GAP
        parts.append(canvas.text(bar.name, 0, top + 14, room=room))
        parts.append(canvas.text(bar.text, canvas.PANEL_WIDTH - 2, top + 14, anchor="end"))
        if bar.has_bar:
            line = canvas.box(0, top + 19, scale(bar.value), top + 19 + _BAR)
            parts.append(element("rect", {"class": "bar"} | line))
        whole = canvas.box(0, top, canvas.PANEL_WIDTH, top + _ROW)
        said = f"{bar.text}, {bar.note}" if bar.note else bar.text
        parts.append(canvas.mark(f"{bar.name}\n{said}", whole))
    return canvas.drawing(title, canvas.PANEL_WIDTH, _ROW * len(bars), *parts)
