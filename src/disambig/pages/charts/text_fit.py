"""Texts that fit: how wide they will be, about, and how they are shortened and thinned."""

import unicodedata
from collections.abc import Sequence
from itertools import accumulate, pairwise

__all__ = ["estimated_width", "shortened", "thinned"]

# The type of charts, as in the style sheet; widths are in parts of it, on the large side, because
# which font there is only the browser knows.
_TYPE = 12.0
_NARROW = frozenset("iljtfrI.,:;|!'()[]{}/\\ -1")
_BROAD = frozenset("mwMW@%—…")
_ELLIPSIS = "…"


def estimated_width(text: str) -> float:
    """Return about how wide a text is in a chart, rather too much than too little."""
    return _TYPE * sum(map(_width, text))


def shortened(text: str, room: float) -> str:
    """Return the text, or as much of it as fits and an ellipsis."""
    if estimated_width(text) <= room:
        return text
    left = room - estimated_width(_ELLIPSIS)
    n_fitting = sum(_TYPE * width <= left for width in accumulate(map(_width, text)))
    return text[:n_fitting].rstrip() + _ELLIPSIS


def thinned(texts: Sequence[str], places: Sequence[float], *, gap: float = 6) -> list[int]:
    """Return which of centred texts to show: every one, or every second, or third, and so on.

    Parameters
    ----------
    texts : sequence of str
        In the order of their places.
    places : sequence of float
        Where their middles are.
    gap : float, default=6
        What must be free between two texts.
    """
    halves = [estimated_width(text) / 2 for text in texts]
    for step in range(1, len(texts) + 1):
        kept = list(range(0, len(texts), step))
        if all(places[b] - places[a] >= halves[a] + halves[b] + gap for a, b in pairwise(kept)):
            return kept
    return []


def _width(sign: str) -> float:
    if unicodedata.east_asian_width(sign) in "WF":
        return 1.05
    if unicodedata.combining(sign):
        return 0.0
    if sign in _NARROW:
        return 0.4
    if sign in _BROAD:
        return 1.02
    return 0.74 if sign.isupper() else 0.64
