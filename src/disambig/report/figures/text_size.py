"""How wide text will be, before it is drawn."""

from matplotlib.font_manager import FontProperties
from matplotlib.textpath import TextPath

__all__ = ["text_width"]


def text_width(text: str, size: float, *, weight: str = "normal") -> float:
    """Return the width in inches of a line in the type of all figures, its size in points."""
    if not text.strip():
        return 0.0
    font = FontProperties(family="DejaVu Sans", weight=weight)
    return float(TextPath((0, 0), text, size=size, prop=font).get_extents().width) / 72
