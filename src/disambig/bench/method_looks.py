"""What tells methods apart, in figures and on pages: numbers of colours and markers, and dashes."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import count

from disambig.bench.run_table import Cells

__all__ = ["N_COLORS", "N_MARKERS", "Dash", "Look", "cell_looks", "method_looks", "nth_look"]

# Lengths of line and gap in turn; empty where the line is solid.
Dash = tuple[float, ...]

N_COLORS = 9
N_MARKERS = 13
_DASHES: tuple[Dash, ...] = (
    (5, 1.5),
    (1.5, 1.2),
    (6, 1.5, 1.5, 1.5),
    (9, 2),
    (3, 1.2, 1, 1.2, 1, 1.2),
)
_FLOOR_DASHES: tuple[Dash, ...] = ((1, 2), (1, 4))
_CEILING_DASHES: tuple[Dash, ...] = ((8, 3), (8, 3, 1, 3))
# The place of well-known labels, so that a method looks the same everywhere. Compared without case
# and punctuation.
_PLACES = {
    "ncpd": 0,
    "sure": 1,
    "aggd": 2,
    "ipal": 3,
    "plknn": 4,
    "m3pl": 5,
    "clpl": 6,
    "plsvm": 7,
    "ncpdplus": 8,
    "lsbcmm": 9,
    "wonc": 10,
    "wopd": 11,
    "em": 12,
}


@dataclass(frozen=True)
class Look:
    """How a line is told from others.

    Attributes
    ----------
    color, marker : int or None
        Numbers of one of ``N_COLORS`` and one of ``N_MARKERS``; None for a floor or ceiling, which
        is grey and has no marker.
    dash : tuple of float
        Lengths of line and gap; empty where it is solid.
    is_strong : bool
        Whether it is broader than the others.
    """

    color: int | None
    marker: int | None
    dash: Dash
    is_strong: bool = False

    @property
    def is_bound(self) -> bool:
        """Whether this is a floor or a ceiling."""
        return self.color is None


def nth_look(place: int) -> Look:
    """Return the look of what has this place among others."""
    return Look(place % N_COLORS, place % N_MARKERS, _DASHES[place % len(_DASHES)])


def method_looks(labels: Iterable[str], reference: str | None = None) -> dict[str, Look]:
    """Return a look for every label, unknown ones the next that is free.

    The reference is strong and solid.
    """
    names = {label: _plain(label) for label in labels}
    taken = {_PLACES[name] for name in names.values() if name in _PLACES}
    free = (place for place in count() if place not in taken)
    looks = {
        label: nth_look(_PLACES[name] if name in _PLACES else next(free))
        for label, name in names.items()
    }
    if reference in looks:
        looks[reference] = replace(looks[reference], dash=(), is_strong=True)
    return looks


def cell_looks(cells: Cells, reference: str | None) -> dict[str, Look]:
    """Return a look for every method of a study, then for its floors and ceilings."""
    looks = method_looks(cells.methods, reference)
    for role, dashes in (("floor", _FLOOR_DASHES), ("ceiling", _CEILING_DASHES)):
        for i, bound in enumerate(cells.in_role(role)):
            looks[bound] = Look(None, None, dashes[i % len(dashes)])
    return looks


def _plain(label: str) -> str:
    """Return a label without case and punctuation, but for a plus, which tells methods apart."""
    return "".join(filter(str.isalnum, label.casefold().replace("+", "plus")))
