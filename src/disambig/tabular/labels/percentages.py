"""Labels with percentages, as people and models write them: ``Barolo (62%), Grignolino 28%``."""

import math
import re
from collections.abc import Collection, Iterable, Sequence

from disambig.tabular.table_cells import is_blank

_PERCENTAGE = re.compile(r"(\d{1,3}(?:[.,]\d{1,9})?)\s?%")
_SPACE = " \t\r\n"
_BEHIND_ONE = f"{_SPACE},;|)]"  # between a percentage and the next label
_BEFORE_ONE = f"{_SPACE},;|([:=~<>-\N{EN DASH}"  # between a label and a percentage
_WORD_BEHIND_ONE = re.compile(r"^(?:/|(?:and|or|[&+])\s)", re.IGNORECASE)
# The same where percentages come first.
_BEHIND_FIRST = f"{_SPACE}:=)]-\N{EN DASH}"
_BEFORE_FIRST = f"{_SPACE},;|(["
_WORD_BEFORE_FIRST = re.compile(r"(?:/|\s(?:and|or|[&+]))$", re.IGNORECASE)
# What is missing to a hundred, or beyond it, may come from rounding every number.
_ROUNDING = 1.0


def read_percentages(text: str) -> list[tuple[str, float]]:
    """Return the labels of a text and their percentages; raise ``ValueError`` if it is different.

    All percentages stand behind their labels, or all before them.
    """
    pairs = _pairs_in(text)
    whole = math.fsum(percentage for _, percentage in pairs)
    if not 0 < whole <= 100 + _ROUNDING * len(pairs):
        raise ValueError("percentages of more than the whole")
    return pairs


def _pairs_in(text: str) -> list[tuple[str, float]]:
    """Return labels and percentages, whatever they add up to."""
    found = list(_PERCENTAGE.finditer(text))
    if not found:
        raise ValueError("no percentage")
    ends = [0, *(match.end() for match in found)]
    starts = [*(match.start() for match in found), len(text)]
    between = [text[end:start] for end, start in zip(ends, starts, strict=True)]
    if between[0].strip(f"{_SPACE}(["):
        *named, rest = between
        labels = [part.lstrip(_BEHIND_ONE).rstrip(_BEFORE_ONE) for part in named]
        labels[1:] = [_WORD_BEHIND_ONE.sub("", label).strip() for label in labels[1:]]
        rest = rest.strip(f"{_BEHIND_ONE}.")
    else:
        rest = ""
        labels = [part.lstrip(_BEHIND_FIRST).rstrip(_BEFORE_FIRST) for part in between[1:]]
        labels[:-1] = [_WORD_BEFORE_FIRST.sub("", label).strip() for label in labels[:-1]]
    if rest or not all(labels) or len(set(labels)) < len(labels):
        raise ValueError("not one label for each percentage")
    percentages = [float(match[1].replace(",", ".")) for match in found]
    return list(zip(labels, percentages, strict=True))


def left_over(pairs: Sequence[tuple[str, float]]) -> float:
    """Return how many per cent no label got, which are those of all others together."""
    rest = 100 - math.fsum(percentage for _, percentage in pairs)
    return rest if rest > _ROUNDING else 0.0


def are_percentages(cells: Iterable[str], known: Collection[str] = ()) -> bool:
    """Tell whether the percentages in the cells of a column are weights of labels.

    Every cell with a percentage must be one label for each. And one must have several, or its
    label must be elsewhere without: ``milk 3%`` and ``milk 1%`` alone are two labels. ``known`` are
    the labels of a model; if one has a percentage itself, percentages are parts of labels.
    """
    if any("%" in label for label in known):
        return False
    alone: set[str] = set()
    bare = set(known)
    several = False
    for cell in cells:
        if "%" not in cell:
            if not is_blank(cell):
                bare.add(cell.strip())
            continue
        try:
            pairs = read_percentages(cell)
        except ValueError:
            return False
        several = several or len(pairs) > 1
        alone.update(label for label, _ in pairs)
    return several or not alone.isdisjoint(bare)


def that_spoil_percentages(cells: Iterable[str]) -> list[str]:
    """Return the cells that keep percentages from being weights, where they seem to be meant so.

    That is where at least half of the cells with a percentage hold one for each label, and some of
    them have several labels.
    """
    with_sign = [cell for cell in cells if "%" in cell]
    several, alike, odd = False, 0, []
    for cell in with_sign:
        try:
            pairs = _pairs_in(cell)
        except ValueError:
            odd.append(cell)
            continue
        several, alike = several or len(pairs) > 1, alike + 1
        try:
            read_percentages(cell)
        except ValueError:
            odd.append(cell)
    return odd if several and 2 * alike >= len(with_sign) else []
