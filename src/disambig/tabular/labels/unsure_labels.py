"""Labels with a question mark, as in "Barolo?" or "Barolo (?)": probably that one."""

import re
from collections.abc import Collection, Iterable

from disambig._core.messages import percent, quote_value, row_count
from disambig.tabular.labels.label_cells import LITERAL_OPTION, CellLabels

# Of the weight of a row, what its labels get; the rest is for all other labels together.
PROBABLY = 0.75
_MARK = re.compile(r"(?<!\?)\?+$|\(\?+\)$|\[\?+\]$")


def marked_as_unsure(labels: Iterable[str], known: Collection[str] = ()) -> frozenset[str]:
    """Return the labels whose question mark means that somebody was not sure.

    There must be one that occurs without the mark as well: only then it is a sign, and not a part
    of the labels. ``known`` are the labels of a model, which are never marked.
    """
    names = {*labels, *known}
    marked = frozenset(name for name in names.difference(known) if _bare(name) != name)
    return marked if any(_bare(name) in names for name in marked) else frozenset()


def without_mark(cell: CellLabels, marked: frozenset[str]) -> CellLabels:
    """Return the labels of a cell without question marks."""
    if marked.isdisjoint(cell.plain):
        return cell
    return cell._replace(
        plain=tuple(
            dict.fromkeys(_bare(label) if label in marked else label for label in cell.plain)
        )
    )


def without_marks(cell: CellLabels, marked: frozenset[str]) -> tuple[CellLabels, bool]:
    """Return the labels of a row without question marks, and whether that leaves it unsure.

    If all of its labels are marked, they get three quarters of the weight. If some are not, the row
    says already what else it could be.
    """
    bare = without_mark(cell, marked)
    if bare is cell or cell.weighted or not marked.issuperset(cell.plain):
        return bare, False
    others = len(bare.plain) * (1 - PROBABLY) / PROBABLY
    weighted = tuple((label, 1.0) for label in bare.plain)
    return CellLabels(weighted=weighted, excluded=cell.excluded, others=others), True


def unsure_notice(marked: frozenset[str], count: int, *, votes: bool) -> str:
    """Return what a person should know of how labels with a question mark were read."""
    if votes:
        meaning = f"read as a vote like any other, in {row_count(count)}"
    elif count:
        meaning = (
            f"read as unsure: such a label has {percent(PROBABLY)} of the weight, all others the "
            f"rest, in {row_count(count)}"
        )
    else:
        meaning = "left out: its row has another label without one"
    return (
        f"A question mark behind a label, such as {quote_value(min(marked))}, was {meaning}. If it "
        f"belongs to the label, use {LITERAL_OPTION}."
    )


def _bare(label: str) -> str:
    """Return a label without question marks at its end, or as it is if nothing else is in it."""
    return _MARK.sub("", label).strip() or label
