"""The section of a report about rows that come together."""

import numpy as np

from disambig._core.messages import about, percent, plural, row_count
from disambig._core.typing import BoolArray, IntArray
from disambig.candidates.groups import PromiseKind, group_numbers
from disambig.tabular.cleaned_table import CleanedTable
from disambig.tabular.labels.row_groups import groups_of
from disambig.web.markup import element, fragment
from disambig.web.shell import Section


def groups_section(rows: CleanedTable) -> list[Section]:
    """Return the section, or nothing where every row is by itself."""
    groups = rows.candidates.groups
    if groups is None:
        return []
    number = group_numbers(groups, len(rows.candidates))
    sizes = np.bincount(number)
    together = sizes > 1
    if not together.any():
        return []
    n_groups, alone = int(together.sum()), int((~together).sum())
    sentences = [
        f"{row_count(int(sizes[together].sum()))} come together in {plural(n_groups, 'group')} "
        f"({groups_of(rows.group)}) of {_range(sizes[together].min(), sizes[together].max())}"
        + (f"; {row_count(alone)} {'is' if alone == 1 else 'are'} alone." if alone else ".")
    ]
    marked = np.bincount(number[rows.second_look], minlength=len(sizes))[together]
    has_marked = int((marked > 0).sum())
    if has_marked:
        sentences.append(
            f"{plural(has_marked, 'group')} {'has' if has_marked == 1 else 'have'} rows marked for "
            "a second look: in the list of rows they stand together."
        )
    doubt = np.bincount(number, weights=1 - rows.confidence)[together]
    worst = np.sort(doubt)[::-1][: max(1, n_groups // 10)]
    if doubt.sum() >= 1 and n_groups >= 10:
        sentences.append(
            f"A tenth of the groups has {percent(float(worst.sum() / doubt.sum()))} of their "
            f"{about(float(doubt.sum()), 'expected error').removeprefix('about ')}."
        )
    parts = [element("p", None, " ".join(sentences))]
    promise = rows.candidates.promise
    if promise is not None:
        kept = _kept(rows, number, promise.kind)[together]
        meaning = {
            "cover": "every label in the sets of a group belongs to one of its rows",
            "exclusive": "no two rows of a group have the same label",
        }[promise.kind]
        parts.append(
            element(
                "p",
                None,
                f"It was believed of {percent(promise.strength)} of the groups that {meaning}. "
                f"The chosen labels keep to it in {int(kept.sum()):,} of {n_groups:,}.",
            )
        )
    return [Section("groups", "Rows that come together", fragment(*parts))]


def _range(least: int, most: int) -> str:
    return f"{most:,} rows each" if least == most else f"{least:,} to {most:,} rows"


def _kept(rows: CleanedTable, number: IntArray, kind: PromiseKind) -> BoolArray:
    """Tell in which groups the chosen labels are as promised."""
    n_groups = int(number.max()) + 1
    n_chosen = _n_labels(number, rows.chosen, n_groups)
    if kind == "exclusive":
        kept: BoolArray = n_chosen == np.bincount(number)
    else:
        row_of_pair, columns = rows.candidates.pairs()
        kept = n_chosen == _n_labels(number[row_of_pair], columns, n_groups)
    return kept


def _n_labels(number: IntArray, labels: IntArray, n_groups: int) -> IntArray:
    """Return how many different labels every group has."""
    different = np.unique(np.column_stack([number, labels]), axis=0)
    counts: IntArray = np.bincount(different[:, 0], minlength=n_groups)
    return counts
