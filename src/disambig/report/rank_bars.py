"""The bars of a diagram of ranks: methods that cannot be told apart."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from disambig.study.statistics import groups_alike

__all__ = ["RankSides", "bar_levels", "bars_alike", "rank_sides"]

Bar = tuple[float, float]


@dataclass(frozen=True)
class RankSides:
    """Methods from the best to the worst, and which of them are named on which side.

    Attributes
    ----------
    left, right : tuple of str
        The better half, the best first, and the others, the worst first.
    """

    left: tuple[str, ...]
    right: tuple[str, ...]


def rank_sides(ranks: Mapping[str, float]) -> RankSides:
    """Return which methods are named on the left and on the right of the axis, from the top."""
    names = sorted(ranks, key=lambda name: ranks[name])
    n_left = (len(names) + 1) // 2
    return RankSides(tuple(names[:n_left]), tuple(names[n_left:][::-1]))


def bars_alike(ranks: Mapping[str, float], difference: float) -> list[Bar]:
    """Return the best and the worst rank of every group that cannot be told apart."""
    ordered = sorted(ranks.values())
    return [(ordered[group[0]], ordered[group[-1]]) for group in groups_alike(ordered, difference)]


def bar_levels(bars: Sequence[Bar], gap: float) -> list[int]:
    """Return the lowest level for each bar, from left to right, where it stays clear of others."""
    ends: list[float] = []
    levels = []
    for best, worst in bars:
        free = [level for level, end in enumerate(ends) if end + gap < best]
        level = free[0] if free else len(ends)
        ends[level : level + 1] = [worst]
        levels.append(level)
    return levels
