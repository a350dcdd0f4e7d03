"""What papers say of network methods, beside what their folds say under one protocol."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from disambig.bench.statistics import corrected_t_test

LEVEL = 0.05
Folds = Sequence[float]


class Claim(NamedTuple):
    """That one method is more accurate than others."""

    method: str
    rivals: tuple[str, ...]
    condition: str = ""  # where it is said to be: everywhere, or under a condition of ours


# Each later paper has PRODEN among its rivals; the others are those of its own time. Nearly all of
# their tables are about images. Under a condition of ours: what a method was made for.
CLAIMS = (
    Claim("ncpd", ("proden", "cc", "rc", "lws", "cavl")),
    Claim("lws", ("proden", "cc", "rc")),
    Claim("cavl", ("proden", "cc", "rc")),
    Claim("pico", ("proden", "cc", "lws")),
    Claim("crdpll", ("proden", "lws", "pico")),
    Claim("pop", ("proden", "rc", "lws", "cavl")),
    Claim("papi", ("proden", "pico", "crdpll")),
    Claim("crosel", ("proden", "pico", "crdpll")),
    Claim("dirk", ("proden", "pico", "papi")),
    Claim("conformal_cleaning", ("proden",)),
    Claim("valen", ("proden", "cc", "rc"), "instance"),
    Claim("pop", ("proden", "valen"), "instance"),
    Claim("dirk", ("proden", "valen", "pop"), "instance"),
    Claim("solar", ("proden", "lws", "pico", "valen"), "long tail"),
    Claim("records", ("proden", "crdpll", "solar"), "long tail"),
    Claim("alim", ("proden", "pico", "crdpll"), "misses"),
    Claim("abs_mae", ("proden", "abs_gce"), "misses"),
)


class Record(NamedTuple):
    """How a method did against a rival, over data and networks."""

    differences: list[float]
    better: int
    worse: int

    @property
    def verdict(self) -> str:
        """Say what is left of the claim."""
        if not self.differences:
            return "not measured"
        # Of twenty comparisons of equals, one differs by chance.
        if abs(self.better - self.worse) < len(self.differences) / 10:
            return "no difference"
        return "holds" if self.better > self.worse else "the opposite"


def difference(first: Folds, second: Folds) -> tuple[float, bool]:
    """Return by how much the first is better on average, and whether by more than chance."""
    test = corrected_t_test(np.array(first), np.array(second), test_share=1 / len(first))
    return test.difference, test.p_value < LEVEL


def record_of(pairs: Iterable[tuple[Folds, Folds]]) -> Record:
    """Count over comparisons, each of the folds of a method and of its rival."""
    found = [difference(*folds) for folds in pairs]
    return Record(
        [one for one, _ in found],
        sum(one > 0 and is_significant for one, is_significant in found),
        sum(one < 0 and is_significant for one, is_significant in found),
    )
