"""From values to places in a chart, and the round values that an axis names."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from disambig.report.wording import MISSING

__all__ = ["Scale", "nice_ticks", "number_text", "range_of", "tick_texts"]

_ROUND_STEPS = (1, 2, 2.5, 5, 10)
# Of the height: empty parts above the highest and below the lowest value.
_MARGIN = 0.06


@dataclass(frozen=True)
class Scale:
    """A straight line from values to places.

    Attributes
    ----------
    low, high : float
        Values at both ends; they differ.
    start, end : float
        Where these are drawn.
    """

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
    # A single value is in the middle of something.
    margin = _MARGIN * (high - low) or 0.1 * abs(high) or 0.5
    return low - margin, high + margin


def nice_ticks(low: float, high: float, most: int = 6, *, whole: bool = False) -> list[float]:
    """Return round values between two others, as many as there is room for.

    Parameters
    ----------
    low, high : float
        Ends of an axis; they differ.
    most : int, default=6
        No more ticks than these.
    whole : bool, default=False
        Only whole numbers, for counts.
    """
    power = math.floor(math.log10((high - low) / most))
    steps = [one * 10.0**more for more in range(power, power + 3) for one in _ROUND_STEPS]
    for step in steps:
        if whole and step % 1:
            continue
        # A hair of room, so that 0.3 is a tick of an axis that ends at 0.1 + 0.2.
        first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
        if last - first < most:
            return [number * step for number in range(first, last + 1)]
    return []


def tick_texts(ticks: Sequence[float]) -> list[str]:
    """Return ticks as texts with the same number of decimals, no more than tell them apart."""
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


def number_text(value: float) -> str:
    """Return a value for a tip or a table: counts whole, others to three decimals, or figures."""
    if not math.isfinite(value):
        return MISSING
    if value == round(value) and abs(value) < 1e15:
        return f"{value:,.0f}"
    return f"{value:,.3f}" if abs(value) >= 0.001 else f"{value:.3g}"
