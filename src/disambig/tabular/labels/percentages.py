"""Labels with percentages, as people and models write them: ``Barolo (62%), Grignolino 28%``."""

import math
import re
from collections.abc import Collection, Iterable, Sequence

from disambig.tabular.table_cells import is_blank

_PERCENTAGE = re.compile(r"(\d{1,3}(?:[.,]\d{1,9})?)\s?%")
_SPACE = " \t\r\n"
_BEHIND_ONE = f"{_SPACE},;|)]"  # between a percentage and the next label
_BEFORE_ONE = f"{_SPACE},;|([:=~-\N{EN DASH}"  # between a label and a percentage
# The same where percentages come first.
_BEHIND_FIRST = f"{_SPACE}:=)]-\N{EN DASH}"
_BEFORE_FIRST = f"{_SPACE},;|(["
# What is missing to a hundred, or beyond it, may come from rounding every number.
_ROUNDING = 1.0


def read_percentages(text: str) -> list[tuple[str, float]]:
    """Return the labels of a text and their percentages; raise ``ValueError`` if it is different.

    All percentages stand behind their labels, or all before them.
    """
    found = list(_PERCENTAGE.finditer(text))
    if not found:
        raise ValueError("no percentage")
    ends = [0, *(match.end() for match in found)]
    starts = [*(match.start() for match in found), len(text)]
    between = [text[end:start] for end, start in zip(ends, starts, strict=True)]
    if between[0].strip(f"{_SPACE}(["):
        *named, rest = between
        labels = [part.lstrip(_BEHIND_ONE).rstrip(_BEFORE_ONE) for part in named]
        rest = rest.strip(f"{_BEHIND_ONE}.")
    else:
        rest = ""
        labels = [part.lstrip(_BEHIND_FIRST).rstrip(_BEFORE_FIRST) for part in between[1:]]
    if rest or not all(labels) or len(set(labels)) < len(labels):
        raise ValueError("not one label for each percentage")
    percentages = [float(match[1].replace(",", ".")) for match in found]
    if not 0 < math.fsum(percentages) <= 100 + _ROUNDING * len(percentages):
        raise ValueError("percentages of more than the whole")
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
