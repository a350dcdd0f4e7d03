"""What tells lines apart, in print and on pages: colour, marker and dash by number."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import count

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
_BOUND_DASHES: dict[str, tuple[Dash, ...]] = {
    "candidate_baseline": ((1, 2), (1, 4)),
    "true_label_baseline": ((8, 3), (8, 3, 1, 3)),
}
# Fixed numbers of well-known methods, so that each looks the same in every chart. Labels are
# compared without case and punctuation.
_NUMBERS = {
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
class LineStyle:
    """How a line is told from others; a baseline is grey and has no marker."""

    color: int | None  # below N_COLORS
    marker: int | None  # below N_MARKERS
    dash: Dash
    is_strong: bool = False  # broader than the others
    is_pale: bool = False  # in the background

    @property
    def is_bound(self) -> bool:
        """Whether this is a baseline, which is there for scale."""
        return self.color is None


def nth_style(number: int) -> LineStyle:
    """Return the style with this number; a line without a fixed one takes the next."""
    return LineStyle(number % N_COLORS, number % N_MARKERS, _DASHES[number % len(_DASHES)])


def method_styles(labels: Iterable[str], reference: str | None = None) -> dict[str, LineStyle]:
    """Return a style for every label, for unknown ones the next that is free.

    The reference is strong and solid.
    """
    names = {label: _plain(label) for label in labels}
    taken = {_NUMBERS[name] for name in names.values() if name in _NUMBERS}
    free = (number for number in count() if number not in taken)
    styles = {
        label: nth_style(_NUMBERS[name] if name in _NUMBERS else next(free))
        for label, name in names.items()
    }
    if reference in styles:
        styles[reference] = replace(styles[reference], dash=(), is_strong=True)
    return styles


def role_styles(roles: Mapping[str, str], reference: str | None = None) -> dict[str, LineStyle]:
    """Return a style for every method of a study, then for its baselines.

    Parameters
    ----------
    roles : mapping of str to str
        "method", "candidate_baseline" or "true_label_baseline", by label.
    reference : str, optional
        Label of the method that stands out.
    """
    styles = method_styles((name for name, role in roles.items() if role == "method"), reference)
    for role, dashes in _BOUND_DASHES.items():
        bounds = [name for name, its_role in roles.items() if its_role == role]
        for i, bound in enumerate(bounds):
            styles[bound] = LineStyle(None, None, dashes[i % len(dashes)])
    return styles


def _plain(label: str) -> str:
    """Return a label without case and punctuation, but for a plus, which tells methods apart."""
    return "".join(filter(str.isalnum, label.casefold().replace("+", "plus")))
